"""The plan as records of a source of truth, without any API: devices, interfaces, cables, prefixes and addresses."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, Switch

SHARED = (
    "tag", "tenant", "manufacturer", "device_type", "role", "location_type", "location", "platform", "custom_field",
)  # fmt: skip
"""Kinds of records that others use too: a missing one is created, and none is changed or deleted."""
OWNED = ("vrf", "prefix", "vrf_prefix", "device", "interface", "address", "assignment", "primary", "cable")
"""Kinds of records that carry the tag of the cluster, in the order in which they are created."""
MANAGEMENT, LOOPBACK = "management", "loopback"
"""Names of ports without a cable, as in `plan/addresses.csv`."""
_TYPES = {
    1: "1000base-t", 10: "10gbase-x-sfpp", 25: "25gbase-x-sfp28", 40: "40gbase-x-qsfpp", 50: "50gbase-x-sfp28",
    100: "100gbase-x-qsfp28", 200: "200gbase-x-qsfp56", 400: "400gbase-x-osfp", 800: "800gbase-x-osfp",
}  # fmt: skip
"""Gb/s -> type of an interface that both products have (NetBox and Nautobot, InterfaceTypeChoices)."""

Key = tuple[str, ...]
Value = str | int | bool | None


class Record(NamedTuple):
    """An object of a source of truth.

    Attributes:
        kind: one of `SHARED` or `OWNED`.
        key: what identifies it among its kind, such as the name of a device, or device and interface.
        fields: values that are compared; names of other records stand for them.
        initial: values that are written when the object is created, and belong to others from then on.
    """

    kind: str
    key: Key
    fields: Mapping[str, Value]
    initial: Mapping[str, Value]


class Scope(NamedTuple):
    """The mark and the location of the records of a cluster.

    Attributes:
        location: the site or location of the devices.
        tenant: the tenant of the devices; "" for none.
        tag: the tag of everything that synchronization owns.
    """

    location: str
    tenant: str
    tag: str


def planned_records(fabrics: Sequence[Fabric], scope: Scope) -> list[Record]:
    """Return the records of a cluster, each once, in an order in which they can be created.

    Args:
        fabrics: the networks of the cluster.
        scope: marks and places.
    """
    found: dict[tuple[str, Key], Record] = {}
    for record in _all_records(fabrics, scope):
        found.setdefault((record.kind, record.key), record)
    order = {kind: number for number, kind in enumerate((*SHARED, *OWNED))}
    return sorted(found.values(), key=lambda each: order[each.kind])


def cable_key(ends: Iterable[Key]) -> Key:
    """Return the key of a cable between two interfaces, in either order."""
    (first, second) = sorted(ends)
    return (*first, *second)


def _all_records(fabrics: Sequence[Fabric], scope: Scope) -> Iterator[Record]:
    yield _make_shared("tag", scope.tag)
    yield _make_shared("custom_field", "asn")
    yield _make_shared("location_type", "Site")
    yield _make_shared("location", scope.location)
    if scope.tenant:
        yield _make_shared("tenant", scope.tenant)
    for fabric in fabrics:
        vrfs = yield from _segment_records(fabric)
        for name, pool in fabric.addresses.pools().items():
            yield _prefix(str(pool), f"{fabric.cluster} {fabric.network} {name}".replace("  ", " "), "")
        for at in fabric.switch_ids():
            yield from _switch_records(fabric.switch(at), scope)
        for host_id in fabric.host_ids():
            yield from _host_records(fabric.host(host_id), scope, vrfs)
        for row in fabric.cables():
            if row.kind != "external":
                ends = (row.a_device, row.a_port), (row.b_device, row.b_port)
                yield Record("cable", cable_key(ends), {}, {})


def _make_shared(kind: str, name: str, **initial: Value) -> Record:
    return Record(kind, (name,), {}, initial)


def _prefix(text: str, description: str, vrf: str) -> Record:
    return Record("prefix", (str(ip_network(text)),), {"description": description, "vrf": vrf or None}, {})


def _segment_records(fabric: Fabric) -> Generator[Record, None, dict[str, str]]:
    """Yield VRFs and subnets of segments; return subnet -> VRF."""
    vrfs: dict[str, str] = {}
    if fabric.evpn is not None:
        for vrf in fabric.evpn.vrfs:
            yield _make_shared("tenant", vrf.name)
            yield Record("vrf", (vrf.name,), {"tenant": vrf.name}, {})
        for segment in fabric.evpn.segments:
            for subnet in (segment.subnet4, segment.subnet6):
                if subnet is not None:
                    vrfs[str(subnet)] = segment.vrf
                    yield _prefix(str(subnet), f"{fabric.cluster} segment {segment.name}", segment.vrf)
                    yield Record("vrf_prefix", (segment.vrf, str(subnet)), {}, {})
    return vrfs


def _switch_records(switch: Switch, scope: Scope) -> Iterator[Record]:
    model = switch.model
    yield from _device(
        switch.name, model.vendor, model.title, switch.tier.value, switch.nos, switch.bgp.asn, scope
    )
    yield _interface(switch.name, MANAGEMENT, 1, 1500, management=True)
    yield from _address(switch.name, MANAGEMENT, switch.management.address, "")
    yield Record("primary", (switch.name,), {"address": str(ip_interface(switch.management.address))}, {})
    yield _interface(switch.name, LOOPBACK, 0, None)
    for loopback in (switch.loopback4, switch.loopback6):
        if loopback:
            yield from _address(switch.name, LOOPBACK, str(ip_interface(loopback)), "")
    for port in switch.ports:
        yield _interface(switch.name, port.name, port.speed_gbps, port.mtu, enabled=port.enabled)
        for address in (port.ipv4, port.ipv6):
            if address:
                yield from _address(switch.name, port.name, address, "")


def _host_records(host: Host, scope: Scope, vrfs: Mapping[str, str]) -> Iterator[Record]:
    model = host.model
    yield from _device(
        host.name, model.vendor, model.title, "gpu-host" if model.gpus else "host", host.os, None, scope
    )
    for port in host.ports:
        yield _interface(host.name, port.name, port.speed_gbps, port.mtu)
        for address in (port.ipv4, port.ipv6):
            if address:
                vrf = vrfs.get(str(ip_interface(address).network), "")
                yield from _address(host.name, port.name, address, vrf)


def _device(
    name: str, vendor: str, model: str, role: str, platform: str, asn: int | None, scope: Scope
) -> Iterator[Record]:
    maker = vendor or "generic"
    yield _make_shared("manufacturer", maker)
    yield _make_shared("device_type", model, manufacturer=maker)
    yield _make_shared("role", role)
    yield _make_shared("platform", platform)
    fields = {
        "device_type": model, "role": role, "location": scope.location, "platform": platform,
        "tenant": scope.tenant or None, "asn": asn,
    }  # fmt: skip
    yield Record("device", (name,), fields, {})


def _interface(
    device: str, name: str, gbps: int, mtu: int | None, *, management: bool = False, enabled: bool = True
) -> Record:
    kind = _TYPES.get(gbps, "other") if gbps else "virtual"
    fields = {"mtu": mtu, "enabled": enabled, "mgmt_only": management}
    return Record("interface", (device, name), fields, {"type": kind})


def _address(device: str, interface: str, address: str, vrf: str) -> Iterator[Record]:
    text = str(ip_interface(address))
    yield Record("address", (text,), {"device": device, "interface": interface, "vrf": vrf or None}, {})
    yield Record("assignment", (text, device, interface), {}, {})
