"""Statements of devices about their ports, collected in one pass, and ports found by any form of their names."""

from __future__ import annotations

import pickle
import socket
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back.nos.ports import PLAIN, PortKind, PortName, cached_parser
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.facts.frame import NEIGHBOR, SECONDARY, VRF, SharedTable, pack_value, parts_of, value_of
from fabricc.facts.paths import outer_key
from fabricc.facts.statement import HOST, Device, Kind, Neighbor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.facts.frame import Frame, Parts

Values = dict[str, "Value"]
"""The statements about a port or a neighbor, by the last word of the path."""
_OWN = frozenset(("ipv4", "ipv6", "description"))
"""Statements that differ on each port of each device; secondary addresses too."""
_LIKE = frozenset(
    (
        "unnumbered",
        "enabled",
        "mtu",
        "bundle",
        "alias",
        "switchport",
        "access_vlan",
        "kind",
        "address_from",
        "vrf",
    )
)
_OF_NEIGHBORS = ("remote_asn", "remote_kind", "setting[remote-as]", "description")
_NUMBERED: Values = {}
"""Statements of a neighbor that are stored by its address."""
_WHOLE = frozenset(
    ("bgp/asn", "bgp/cluster_id", "evpn/source", "vxlan/source", "mlag/domain", "mlag/mac", "mlag/peer_link")
)
_WHOLE_STARTS = ("evpn/port[", "bgp/aggregate[")
_LINK_LOCAL = 0xFE80 >> 6
_JOINED = (PortKind.PORT, PortKind.BUNDLE)
"""Interfaces that have cables, and interfaces that represent several of them."""
SERVED, OUTWARD = 1, 2
Row = tuple[int, str, str, str, int]
"""An address: subnet as a number, port, port that this is on ("" where no cable is), word of its path, number."""
PortClaim = tuple[str, int, str, bool]
"""A neighbor: its name, its address as a number, the port whose subnet it is in, and whether that is one of two."""
DescribedEnd = tuple[str, str, bool, str]
"""A description: of which port, the port that this is on, whether it may name the far end, and the text."""


class Address(NamedTuple):
    """An address with its prefix length."""

    version: int
    value: int
    length: int

    @property
    def number(self) -> int:
        """It and its version as one."""
        return self.value if self.version == 4 else self.value | 1 << 128

    def subnet(self, length: int) -> int:
        """Return the subnet of a prefix length that contains it, as one number."""
        above = (32 if self.version == 4 else 128) - length
        return self.value >> above << above << 9 | length << 1 | (self.version == 6)

    def first_addresses(self) -> range:
        """Return the addresses of its subnet as numbers; only the first ones of a large subnet."""
        bits = (32 if self.version == 4 else 128) - self.length
        first = self.number >> bits << bits
        return range(first, first + min(1 << bits, 4))


def is_link_subnet(subnet: int) -> bool:
    """Return whether a subnet, as `Address.subnet` gives it, has room for a link of two and no more."""
    return (subnet >> 1 & 255) in ((127, 126) if subnet & 1 else (31, 30))


class Shape:
    """Statements about ports that similar devices share.

    Attributes:
        content: port -> its statements without `_OWN`, packed; `ports`: the same, unpacked.
        canonical: canonical port name of its system -> name in the facts; aliases too.
        bundles: bundle -> its members; `unnumbered`: ports that have the addresses of others.
        in_vrfs: ports with cables that are in VRFs, with all that is on them.
        parse_name: parses a name of the system.
    """

    __slots__ = (
        "_bases", "_kinds", "bundles", "canonical", "content", "in_vrfs", "parse_name", "ports", "system",
        "unnumbered",
    )  # fmt: skip

    def __init__(self, system: str, content: bytes) -> None:
        self.system, self.content = system, content
        self._kinds: dict[str, PortKind] = {}
        self._bases: dict[str, str] = {}
        self.parse_name = parsed = PLAIN.parse_name if system == HOST else cached_parser(system)
        self.ports: Mapping[str, Values] = pickle.loads(content)
        self.canonical: dict[str, str] = {}
        for port, values in self.ports.items():
            if not (spelled := parsed(port)).unit:
                self.canonical[spelled.port] = port
            if (alias := values.get("alias")) is not None:
                self.canonical.setdefault(str(alias).lower(), port)
        for port in self.ports:
            if (spelled := parsed(port)).unit:
                self.canonical.setdefault(spelled.port, port.rpartition(".")[0] or port)
        self.bundles: dict[str, list[str]] = {}
        for port, values in self.ports.items():
            if (bundle := values.get("bundle")) is not None:
                name = str(bundle)
                self.bundles.setdefault(self.port(name) or name, []).append(port)
        self.unnumbered = [
            port for port, values in self.ports.items() if "unnumbered" in values or "address_from" in values
        ]
        self.in_vrfs = frozenset(self._ports_in_vrfs())

    def _ports_in_vrfs(self) -> Iterator[str]:
        if not any("vrf" in values for values in self.ports.values()):
            return
        units: dict[str, list[str]] = {}
        for port in self.ports:
            units.setdefault(self.base(port), []).append(port)
        for base, ports in units.items():
            logical = [port for port in ports if port != base] or ports
            if "vrf" in self.ports.get(base, {}) or all("vrf" in self.ports[port] for port in logical):
                yield base

    def port(self, name: str) -> str | None:
        """Return the port for a name, as the facts name it; None if the device states nothing about it."""
        found = self.canonical.get(self.parse_name(name).port)
        return found if found is not None else self.canonical.get(name.strip().lower())

    def base(self, port: str) -> str:
        """Return the port below a logical interface."""
        found = self._bases.get(port)
        if found is None:
            found = self._bases[port] = self.canonical.get(self.parse_name(port).port, port)
        return found

    def kind(self, port: str) -> PortKind:
        """Return the kind of a port; see `Placement.kind`."""
        found = self._kinds.get(port)
        if found is None:
            kind = self.ports.get(port, {}).get("kind")
            found = (
                self.parse_name(port).kind
                if kind is None
                else PortKind.BUNDLE
                if kind == "bond"
                else PortKind.VIRTUAL
            )
            self._kinds[port] = found
        return found


@dataclass(frozen=True, slots=True)
class Placement:
    """The statements of a device that determine its links and its place.

    Attributes:
        shape: the part shared with similar devices; `own`: its other statements about ports and neighbors, packed.
        rows, claims, described: input of the search for links, each packed: see `address_rows`, `port_claims` and
            `described_ends`.
        unnumbered: neighbors without address, packed; empty where there are none.
        routed: ports that route, with an address, on themselves or above them, or with a neighbor that has none.
        used: ports in use without a known link: `OUTWARD` to a neighbor, `SERVED` to hosts, or both.
        announced: the LLDP neighbors.
        facts: facts of the whole device that show its place.
    """

    shape: Shape
    own: bytes
    rows: bytes
    claims: bytes
    described: bytes
    unnumbered: bytes
    routed: SharedTable[str, bool]
    used: SharedTable[str, int]
    announced: tuple[Neighbor, ...]
    facts: Facts

    def __reduce__(self) -> tuple[object, ...]:
        """With the shape as what it is made of, so that it is shared where it arrives."""
        shape, packed = self.shape, (self.own, self.rows, self.claims, self.described, self.unnumbered)
        shared = shape.system, shape.content
        return _restore_statements, (*shared, *packed, self.routed, self.used, self.announced, self.facts)

    @property
    def neighbors(self) -> Mapping[str, Values]:
        """Return BGP neighbor (an address or a port) -> for a port, the facts that show its place."""
        return _open_statements(self.shape, self.own)[1]

    @property
    def ports(self) -> Mapping[str, Values]:
        """Return port as the facts name it -> its statements, by the last word of the path."""
        return _open_statements(self.shape, self.own)[0]

    def address_rows(self) -> Sequence[Row]:
        """Return the addresses except those of management."""
        found: Sequence[Row] = value_of(self.rows)
        return found

    def port_claims(self) -> Sequence[PortClaim]:
        """Return the neighbors behind a single port."""
        found: Sequence[PortClaim] = value_of(self.claims)
        return found

    def described_ends(self) -> Sequence[DescribedEnd]:
        """Return the descriptions of ports."""
        found: Sequence[DescribedEnd] = value_of(self.described)
        return found

    def without_address(self) -> Mapping[str, Values]:
        """The neighbors that are ports."""
        found: Mapping[str, Values] = value_of(self.unnumbered) if self.unnumbered else {}
        return found

    def port(self, name: str) -> str | None:
        """Return the port for a name, as the facts name it; None if the device states nothing about it."""
        return self.shape.port(name)

    def parse_name(self, name: str) -> PortName:
        """Parse a port name of its system."""
        return self.shape.parse_name(name)

    def base(self, port: str) -> str:
        """Return the port below a logical interface."""
        return self.shape.base(port)

    def kind(self, port: str) -> PortKind:
        """Return the kind of a port; interfaces that the device defines as bridge, VLAN or similar are no ports."""
        return self.shape.kind(port)

    def addresses(self, port: str) -> Iterator[tuple[str, Address]]:
        """Yield its addresses by the last word of their paths, without link-local and invalid ones."""
        return _port_addresses(self.ports.get(port, {}))

    def bundles(self) -> Mapping[str, list[str]]:
        """Return bundle -> its members."""
        return self.shape.bundles


def _port_addresses(values: Values) -> Iterator[tuple[str, Address]]:
    """Yield addresses; see `Placement.addresses`."""
    for leaf, value in values.items():
        if leaf in ("ipv4", "ipv6"):
            address = address_of(str(value))
        elif leaf.startswith(SECONDARY) and leaf.endswith("]"):
            address = address_of(outer_key(leaf))
        else:
            continue
        if address is not None and not (address.version == 6 and address.value >> 118 == _LINK_LOCAL):
            yield leaf, address


@lru_cache(maxsize=1 << 12)
def address_of(text: str) -> Address | None:
    """Return the address of a text with its prefix length, all of it where none is given; None for what is none."""
    host, slash, length = text.partition("/")
    version, family, most = (6, socket.AF_INET6, 128) if ":" in host else (4, socket.AF_INET, 32)
    try:
        value = int.from_bytes(socket.inet_pton(family, host))
    except (OSError, ValueError):
        return None
    if slash and not (is_number(length) and len(length) < 4 and int(length) <= most):
        return None
    return Address(version, value, int(length) if slash else most)


def placement_of(device: Device) -> Placement:
    """Return the statements of a device about its place."""
    return place_statements(
        HOST if device.kind is Kind.HOST else device.system, parts_of(device.held), device.neighbors
    )


def place_statements(system: str, parts: Parts, announced: tuple[Neighbor, ...]) -> Placement:
    """Return the statements of a device about its place, from the facts of its system."""
    shape = _shape_of(system, parts.frame)
    own: dict[str, Values] = {}
    for port, stated in parts.statements_of_ports():
        if values := {leaf: value for leaf, value in stated if leaf in _OWN or leaf.startswith(SECONDARY)}:
            own[port] = values
    neighbors: dict[str, Values] = {}
    peers: dict[str, Address] = {}
    facts: Facts = {}
    for (vrf, name), values in parts.sessions().items():
        if named := {leaf: values[leaf] for leaf in _OF_NEIGHBORS if leaf in values}:
            if name not in peers and (address := address_of(name)) is not None:
                peers[name] = address
            neighbors[name] = _NUMBERED if name in peers else neighbors.get(name, {}) | named
        if "reflector_client" in values:
            scope = f"{VRF}{vrf}]/" if vrf else ""
            facts[f"{scope}{NEIGHBOR}{name}]/reflector_client"] = values["reflector_client"]
    for path, value in parts.rest().facts.items():
        if path in _WHOLE or path.startswith(_WHOLE_STARTS) or path.endswith("/reflector_client"):
            facts[path] = value
    addresses = {port: found for port, values in own.items() if (found := tuple(_port_addresses(values)))}
    rows = _address_rows(shape, addresses)
    described = [
        (port, shape.base(port), _names_its_end(shape, own, port), str(values["description"]))
        for port in shape.ports
        if "description" in (values := own.get(port, {}))
        and shape.kind(port) not in (PortKind.MANAGEMENT, PortKind.VIRTUAL)
    ]
    numbers = frozenset([each.number for each in peers.values()])
    unnumbered = {name: values for name, values in neighbors.items() if name not in peers}
    return Placement(
        shape, pack_value((own, neighbors)), pack_value(rows), pack_value(_facing_neighbors(rows, peers)),
        pack_value(described), pack_value(unnumbered) if unnumbered else b"",
        _routed_ports(shape, tuple(addresses), tuple(unnumbered)),
        _used_ports(shape, addresses, tuple(unnumbered), numbers, facts), announced, facts,
    )  # fmt: skip


def _address_rows(shape: Shape, addresses: Mapping[str, Sequence[tuple[str, Address]]]) -> list[Row]:
    """Return the addresses of all ports except those of management."""
    found: list[Row] = []
    for port, some in addresses.items():
        if (kind := shape.kind(port)) is not PortKind.MANAGEMENT:
            base = shape.base(port) if kind in _JOINED else ""
            found += [(each.subnet(each.length), port, base, leaf, each.number) for leaf, each in some]
    return found


def _facing_neighbors(rows: Sequence[Row], peers: Mapping[str, Address]) -> list[PortClaim]:
    """Return the neighbors in the subnet of exactly one port."""
    near: dict[int, list[str]] = {}
    for subnet, _, base, _, _ in rows:
        near.setdefault(subnet, []).append(base)
    lengths = {(subnet & 1, subnet >> 1 & 255) for subnet in near}
    found: list[PortClaim] = []
    for name, there in peers.items():
        around = [
            there.subnet(length)
            for six, length in lengths
            if six == (there.version == 6) and length < there.length
        ]
        here = [(subnet, base) for subnet in around for base in near.get(subnet, ())]
        if len(here) == 1 and here[0][1]:
            found.append((name, there.number, here[0][1], is_link_subnet(here[0][0])))
    return found


def _names_its_end(shape: Shape, own: Mapping[str, Values], port: str) -> bool:
    """Return whether a description is of a port itself, and not of a bundle whose members have their own."""
    return not any("description" in own.get(member, {}) for member in shape.bundles.get(port, ()))


@lru_cache(maxsize=64)
def _routed_ports(
    shape: Shape, addressed: tuple[str, ...], named_ports: tuple[str, ...]
) -> SharedTable[str, bool]:
    """Return the ports that route, for a device with addresses on some and neighbors on others."""
    found = {shape.port(each) or each for each in named_ports}
    found.update(map(shape.base, (*shape.unnumbered, *addressed)))
    members = [port for bundle, ports in shape.bundles.items() if bundle in found for port in ports]
    return SharedTable(dict.fromkeys(sorted({*found, *members}), True))


def _used_ports(
    shape: Shape,
    addresses: Mapping[str, Sequence[tuple[str, Address]]],
    named_ports: tuple[str, ...],
    peers: frozenset[int],
    facts: Facts,
) -> SharedTable[str, int]:
    """Return used ports, see `Placement.used`; ports that are shut or in a bundle are left out."""
    outward = {shape.port(each) for each in named_ports}
    found: dict[str, int] = {}
    for port, values in shape.ports.items():
        some = addresses.get(port, ())
        if values.get("enabled") == "false" or "bundle" in values or shape.kind(port) not in _JOINED:
            continue
        if port in outward or any(not peers.isdisjoint(each.first_addresses()) for _, each in some):
            use = OUTWARD
        elif some or "switchport" in values or f"evpn/port[{port}]" in facts:
            use = SERVED
        else:
            continue
        base = shape.base(port)
        found[base] = found.get(base, 0) | use
    return _share_table(tuple(found.items()))


@lru_cache(maxsize=64)
def _share_table(items: tuple[tuple[str, int], ...]) -> SharedTable[str, int]:
    return SharedTable(items)


def _shape_of(system: str, frame: Frame) -> Shape:
    """Return the shape of devices of a system with a frame."""
    if (Shape, system) not in frame.memo:
        own = {
            port
            for port, slots in frame.sorted.of_ports.items()
            if any(leaf in _OWN if isinstance(leaf, str) else SECONDARY in leaf.head for leaf, _ in slots)
        }
        likes = {
            port: {leaf: value for leaf, value in values.items() if leaf in _LIKE}
            for port, values in frame.sorted.ports.items()
            if port in own or not _LIKE.isdisjoint(values)
        }
        frame.memo[Shape, system] = _shape(system, pickle.dumps(likes, pickle.HIGHEST_PROTOCOL))
    found: Shape = frame.memo[Shape, system]
    return found


def _restore_statements(system: str, content: bytes, *rest: Any) -> Placement:
    return Placement(_shape(system, content), *rest)


_shape = lru_cache(maxsize=1 << 12)(Shape)


@lru_cache(maxsize=64)
def _open_statements(shape: Shape, own: bytes) -> tuple[Mapping[str, Values], Mapping[str, Values]]:
    """Return the statements about each port, and about neighbors."""
    mine, neighbors = value_of(own)
    ports = {
        port: {**values, **mine[port]} if port in mine else values for port, values in shape.ports.items()
    }
    return ports, neighbors
