"""Cisco NX-OS: the running configuration of a Nexus 9000 switch, written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.nxos import (
    bgp,
    bgp_rows,
    interfaces,
    limits,
    non_forwarding,
    policy,
    qos,
    qos_rows,
    recognition,
    services,
    tenants,
    words,
)
from fabricc.back.nos.nxos.foreign import igp, instances, switching
from fabricc.back.nos.nxos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.nxos.words import port_name
from fabricc.back.nos.single_file import SingleFileNos
from fabricc.back.reading import Reader
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Port, Switch

DEPARTURES = (*interfaces.DEPARTURES, *qos.DEPARTURES, *bgp.DEPARTURES, *limits.DEPARTURES)
"""Facts of the Fabric that NX-OS rounds or omits."""
FILE = "running-config.cfg"
"""The whole configuration in the order in which a device prints it."""


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `running-config.j2` prints."""

    name: str
    features: list[str]
    management: services.ManagementView
    load_sharing: str
    dynamic: limits.DynamicView | None
    qos: qos.QosView
    breakouts: list[tuple[str, str]]
    ports: list[tuple[Port, interfaces.PortKind]]
    service: list[str]
    loopback4: str | None
    loopback6: str | None
    bgp: bgp.BgpView
    tenants: tenants.TenantsView
    advertisements: interfaces.Advertisements = interfaces.ADVERTISEMENTS
    service_description: str = interfaces.SERVICE_DESCRIPTION


def switch_view(switch: Switch) -> SwitchView:
    """Return the view of one switch."""
    return SwitchView(
        name=switch.name,
        features=services.used_features(switch),
        management=services.management_view(switch.management),
        load_sharing=limits.load_sharing(switch),
        dynamic=limits.dynamic_view(switch),
        qos=qos.qos_view(switch),
        breakouts=interfaces.list_breakouts(switch),
        ports=interfaces.ethernet_ports(switch),
        service=words.service_ports(switch.model),
        loopback4=switch.loopback4,
        loopback6=switch.loopback6,
        bgp=bgp.bgp_view(switch),
        tenants=tenants.tenants_view(switch),
    )


def longest_cable_m(model: SwitchModel) -> int:
    """Return how long the cables of a lossless class may be: as the platform's own buffers hold, or the catalog has."""
    rows = model.nos["nxos"].get("pause", ())
    return max((row["cable_m"] for row in rows), default=words.DEFAULT_PAUSE_M)


NXOS = SingleFileNos(
    name="nxos", releases=RELEASES, default_release=DEFAULT_RELEASE, file=FILE, template="running-config.j2",
    port_name=port_name, gaps=gaps, view=switch_view,
    reader=Reader(
        (
            qos_rows.TOPIC, interfaces.TOPIC, switching.TOPIC, services.TOPIC, limits.TOPIC, bgp_rows.TOPIC,
            policy.TOPIC, instances.TOPIC, igp.TOPIC,
        ),
        {
            **words.TYPES, **qos_rows.TYPES, **interfaces.TYPES, **switching.TYPES, **limits.TYPES,
            **bgp_rows.TYPES,
        },
        blanked=words.fold_banner,
    ),
    adjust_profile=qos.adjust_profile,
    states=(qos.state, interfaces.state, services.state, bgp.state, tenants.state),
    found=recognition,
    ignorable_reader=non_forwarding.BannerReader((non_forwarding.TOPIC,), {}),
    commands=non_forwarding.COMMANDS,
    find_exec_lines=non_forwarding.EXEC_LINES, longest_cable_m=longest_cable_m, refused=non_forwarding.REFUSED,
)  # fmt: skip
