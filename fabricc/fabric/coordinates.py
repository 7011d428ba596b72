"""Remove the names, addresses and AS numbers that distinguish devices, and insert them again.

`split_switch` and `split_host` separate these coordinates, in a fixed order, from the rest of a device;
`restore_switch` and `restore_host` insert other coordinates in the same order.
"""

from __future__ import annotations

from ipaddress import ip_interface
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.values import attribute_names, replace
from fabricc.fabric.model import Host, HostPort, Management, Peer, Port, Switch
from fabricc.fabric.routing import Bgp, PrefixList, PrefixRule, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NOWHERE = Peer("", "")
ELSEWHERE = -1
"""Stands for the plane, pod, unit or slot of a device with other coordinates: its files do not contain them."""


class Coordinates(NamedTuple):
    """The coordinates of a device; "" for those that it does not have.

    Attributes:
        names: names of devices; `ports`: names of the far ends' ports.
        addresses: addresses without prefix lengths.
        asns: AS numbers, as text; `labels`: descriptions of ports and sessions from the spec.
        derived: networks without prefix lengths, and other texts in the files that follow from the addresses.
    """

    names: tuple[str, ...]
    ports: tuple[str, ...]
    addresses: tuple[str, ...]
    asns: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()


Rest = tuple[object, ...]
"""Everything of a device except its coordinates, for comparison."""


def _fields_except(kind: type, *coordinates: str) -> Callable[[Any], Any]:
    """Return a function that reads all fields of a value except its coordinates; new fields are no coordinates."""
    return attrgetter(*[name for name in attribute_names(kind) if name not in coordinates])


_OF_SWITCH = _fields_except(
    Switch,
    "name",
    "plane",
    "pod",
    "unit",
    "loopback4",
    "loopback6",
    "management",
    "ports",
    "bgp",
    "vtep",
    "tenants",
)
_OF_MANAGEMENT = _fields_except(Management, "address", "gateway")
_OF_BGP = _fields_except(Bgp, "asn", "router_id", "aggregates", "sessions", "overlay", "prefix_lists")
_OF_SESSION = _fields_except(Session, "peer", "remote_asn", "local", "remote", "label")
_OF_RULE = _fields_except(PrefixRule, "prefix")
_OF_LIST = _fields_except(PrefixList, "rules")
_OF_PORT = _fields_except(Port, "peer", "ipv4", "ipv6", "label")
_OF_HOST = _fields_except(Host, "name", "unit", "slot", "rack", "domain", "ports")
_ENDS = ("ipv4", "gateway4", "ipv6", "gateway6")
_OF_HOST_PORT = _fields_except(HostPort, "peer", *_ENDS)


def split_switch(switch: Switch, derived: Iterable[str] = ()) -> tuple[Rest, Coordinates]:
    """Return the rest of a switch, and its coordinates.

    Args:
        switch: the switch.
        derived: other texts in its files that follow from its addresses, such as networks and MAC addresses.
    """
    bgp, management, vtep, tenants = switch.bgp, switch.management, switch.vtep, switch.tenants
    own = _originated_prefixes(switch)
    rules = [rule for each in bgp.prefix_lists for rule in each.rules]
    peers = [port.peer or _NOWHERE for port in switch.ports]
    addresses = [
        *(switch.loopback4, switch.loopback6, management.address, management.gateway, bgp.router_id),
        *(
            vtep.source if vtep else "",
            tenants.source if tenants else "",
            *bgp.aggregates,
            *[rule.prefix for rule in rules if rule.prefix in own],
        ),
    ]
    for port in switch.ports:
        addresses += (port.ipv4, port.ipv6)
    every = bgp.every_session
    for session in every:
        addresses += (session.local, session.remote)
    heads, lengths = _split_addresses(addresses)
    texts, text_lengths = _split_addresses(derived)
    rest = (
        *(_OF_SWITCH(switch), _OF_MANAGEMENT(management), _OF_BGP(bgp), lengths, len(bgp.aggregates)),
        *(
            [_OF_LIST(each) for each in bgp.prefix_lists],
            [(_OF_RULE(rule), rule.prefix not in own and rule.prefix) for rule in rules],
        ),
        *([_OF_PORT(port) for port in switch.ports], [_OF_SESSION(session) for session in every]),
        vtep and replace(vtep, source=""),
        tenants and replace(tenants, source=tenants.source and ""),
        text_lengths,
    )
    return rest, Coordinates(
        (switch.name, *[peer.device for peer in peers], *[session.peer for session in every]),
        tuple([peer.port for peer in peers]),
        heads,
        (str(bgp.asn), *[str(session.remote_asn) for session in every]),
        (*[port.label for port in switch.ports], *[session.label for session in every]),
        (_network_address(management.address), *texts),
    )


def _originated_prefixes(switch: Switch) -> frozenset[str]:
    """Return the prefixes that a switch originates; all others in its prefix lists belong to the fabric."""
    return frozenset((*switch.bgp.aggregates, f"{switch.loopback4}/32", f"{switch.loopback6}/128"))


def split_host(host: Host) -> tuple[Rest, Coordinates]:
    """Return the rest of a host, and its coordinates."""
    ends = attrgetter(*_ENDS)
    addresses = [address for port in host.ports for address in ends(port)]
    heads, lengths = _split_addresses(addresses)
    return (_OF_HOST(host), lengths, [_OF_HOST_PORT(port) for port in host.ports]), Coordinates(
        (host.name, *[port.peer.device for port in host.ports]),
        tuple([port.peer.port for port in host.ports]),
        heads,
    )


def _split_addresses(addresses: Iterable[str | None]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the addresses without prefix lengths, and the lengths."""
    parts = [(each or "").partition("/") for each in addresses]
    return tuple([head for head, _, _ in parts]), tuple([length for _, _, length in parts])


def _network_address(address: str) -> str:
    """Return the first address of the network that contains an address; "" for an invalid address."""
    try:
        return str(ip_interface(address).network.network_address)
    except ValueError:
        return ""


def restore_switch(switch: Switch, coordinates: Coordinates) -> Switch:
    """Return the switch with other coordinates, in the order of `split_switch`."""
    of, bgp, management = _Others(coordinates), switch.bgp, switch.management
    vtep, tenants = switch.vtep, switch.tenants
    name, loopback4, loopback6 = of.name(), of.address(switch.loopback4), of.address(switch.loopback6)
    management = replace(
        management, address=of.address(management.address), gateway=of.address(management.gateway)
    )
    router_id, source = of.address(bgp.router_id), of.address(vtep.source if vtep else None)
    tenant_source = of.address(tenants.source if tenants else None)
    aggregates = tuple([of.address(each) for each in bgp.aggregates])
    own, lists = _originated_prefixes(switch), []
    for each in bgp.prefix_lists:
        rules = [
            replace(rule, prefix=of.address(rule.prefix)) if rule.prefix in own else rule
            for rule in each.rules
        ]
        lists.append(replace(each, rules=tuple(rules)))
    ports = []
    for port in switch.ports:
        peer, ipv4, ipv6 = Peer(of.name(), of.port()), of.address(port.ipv4), of.address(port.ipv6)
        ports.append(replace(port, peer=port.peer and peer, ipv4=ipv4, ipv6=ipv6, label=of.label()))
    asn, sessions = int(of.asn()), []
    for session in bgp.every_session:
        ends = {"local": of.address(session.local), "remote": of.address(session.remote)}
        far, far_asn, label = of.name(), int(of.asn()), of.label()
        sessions.append(replace(session, peer=far, remote_asn=far_asn, label=label, **ends))
    bgp = replace(
        bgp, asn=asn, router_id=router_id, aggregates=aggregates, prefix_lists=tuple(lists),
        sessions=tuple(sessions[: len(bgp.sessions)]), overlay=tuple(sessions[len(bgp.sessions) :]),
    )  # fmt: skip
    return replace(
        switch, name=name, plane=ELSEWHERE, pod=ELSEWHERE, unit=ELSEWHERE, loopback4=loopback4, loopback6=loopback6,
        management=management, ports=tuple(ports), bgp=bgp, vtep=vtep and replace(vtep, source=source),
        tenants=tenants and replace(tenants, source=tenant_source),
    )  # fmt: skip


def restore_host(host: Host, coordinates: Coordinates) -> Host:
    """Return the host with other coordinates, in the order of `split_host`."""
    of = _Others(coordinates)
    name, ports = of.name(), []
    for port in host.ports:
        ends = {each: of.address(getattr(port, each)) for each in _ENDS}
        ports.append(replace(port, peer=Peer(of.name(), of.port()), **ends))
    return replace(host, name=name, unit=ELSEWHERE, slot=ELSEWHERE, rack="", domain="", ports=tuple(ports))


class _Others:
    """Coordinates that replace those of another device, one after another."""

    def __init__(self, coordinates: Coordinates) -> None:
        names, ports, addresses, asns, labels = map(iter, coordinates[:-1])
        self.name, self.port, self.asn, self.label = (each.__next__ for each in (names, ports, asns, labels))
        self._address = addresses.__next__

    def address(self, own: str | None) -> Any:
        """Return the placeholder of an address, with its prefix length; None for None."""
        other = self._address()
        return own and other + own[len(own.partition("/")[0]) :]
