"""Arista EOS: the complete running configuration of a switch, written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.eos import (
    bgp,
    evpn,
    interfaces,
    limits,
    non_forwarding,
    policy,
    qos,
    qos_rows,
    recognition,
    services,
)
from fabricc.back.nos.eos.foreign import igp, routing, switching
from fabricc.back.nos.eos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.eos.non_forwarding import blank_texts
from fabricc.back.nos.eos.words import port_name
from fabricc.back.nos.single_file import SingleFileNos
from fabricc.back.reading import Reader
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

FILE = "running-config.cfg"
"""The whole running configuration, as loaded with `configure replace`."""
OTHERS = (switching.TOPIC, igp.TOPIC, routing.TOPIC)
"""Statements of foreign designs that our fabrics never use."""
DEPARTURES = (
    *interfaces.DEPARTURES, *qos.DEPARTURES, *bgp.DEPARTURES, *limits.DEPARTURES, *evpn.DEPARTURES,
)  # fmt: skip
"""Facts of the Fabric that EOS rounds or omits."""


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `running-config.j2` prints, a part for each topic."""

    name: str
    management: services.ManagementView
    balancing: limits.BalancingView
    interfaces: interfaces.InterfacesView
    qos: qos.QosView
    bgp: bgp.BgpView
    evpn: evpn.EvpnView | None


def view(switch: Switch) -> SwitchView:
    """Return the plain objects that the templates print: every choice is made here, none there."""
    spreading = limits.balancing_view(switch)
    policy = qos.qos_view(switch)
    return SwitchView(
        name=switch.name,
        management=services.management_view(switch, spreading),
        balancing=spreading,
        interfaces=interfaces.interfaces_view(switch, policy),
        qos=policy,
        bgp=bgp.bgp_view(switch),
        evpn=evpn.evpn_view(switch),
    )


EOS = SingleFileNos(
    name="eos", releases=RELEASES, default_release=DEFAULT_RELEASE, file=FILE, template="running-config.j2",
    port_name=port_name, gaps=gaps, view=view,
    reader=Reader(
        (
            services.TOPIC, limits.TOPIC, qos_rows.TOPIC, interfaces.TOPIC, evpn.TOPIC, bgp.TOPIC, policy.TOPIC,
            *OTHERS,
        ),
        {**qos_rows.TYPES, **interfaces.TYPES, **bgp.TYPES, **routing.TYPES},
        ragged=("exit",), blanked=blank_texts,
    ),
    adjust_profile=qos.adjust_profile,
    states=(interfaces.state, qos.state, bgp.state, services.state, evpn.state),
    ignorable_reader=Reader((non_forwarding.TOPIC,), {}, blanked=blank_texts),
    commands=non_forwarding.COMMANDS,
    find_exec_lines=non_forwarding.EXEC_LINES,
    sets_headroom_pool=True,
    found=recognition,
)  # fmt: skip
