"""What devices say of their ports, in one pass over their facts, and ports found by any spelling of their names."""

from __future__ import annotations

import pickle
import socket
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.frame import NEIGHBOUR, SECONDARY, VRF
from fabricc.audit.model import HOST, Kind
from fabricc.audit.packed import few_bytes, parts_of, value_of
from fabricc.back.nos.ports import PLAIN, PortKind, parser
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.audit.frame import Frame, Parts
    from fabricc.audit.model import Device, Neighbour
    from fabricc.back.nos.ports import PortName
    from fabricc.fabric.facts import Facts, Value

Says = dict[str, "Value"]
"""What is said of a port or a neighbour, by the last word of the path."""
_OWN = frozenset(("ipv4", "ipv6", "description"))
"""What each port of each device says otherwise; secondary addresses too."""
_LIKE = frozenset(
    ("unnumbered", "enabled", "mtu", "bundle", "alias", "switchport", "access_vlan", "kind", "address_from")
)
_NUMBERED: Says = {}
"""What is kept of a neighbour by its address."""
_WHOLE = frozenset(
    ("bgp/asn", "bgp/cluster_id", "evpn/source", "vxlan/source", "mlag/domain", "mlag/mac", "mlag/peer_link")
)
_WHOLE_STARTS = ("evpn/port[", "bgp/aggregate[")
_LINK_LOCAL = 0xFE80 >> 6


class Network(NamedTuple):
    """A subnet: IP version, first address, prefix length."""

    version: int
    first: int
    length: int

    @property
    def room(self) -> int:
        """Addresses in it."""
        return int(1 << ((32 if self.version == 4 else 128) - self.length))

    def few(self) -> range:
        """Its addresses, of a large one the first."""
        return range(self.first, self.first + min(self.room, 4))

    @property
    def of_two(self) -> bool:
        """Whether it has room for a link of two and no more."""
        return self.length in ((31, 30) if self.version == 4 else (127, 126))


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
        """The subnet of a prefix length that it is in, as one number."""
        above = (32 if self.version == 4 else 128) - length
        return self.value >> above << above << 9 | length << 1 | (self.version == 6)

    def network(self, length: int | None = None) -> Network:
        """The subnet that it is in, of its own prefix length or another."""
        length = self.length if length is None else length
        bits = (32 if self.version == 4 else 128) - length
        return Network(self.version, self.value >> bits << bits, length)


class Shape:
    """What devices that are built alike say alike of their ports; they share it.

    Attributes:
        content: port -> what is said of it, but for `_OWN`, packed; `ports`: the same.
        canonical: port in the one spelling of its system -> as the facts name it; aliases too.
        bundles: bundle -> its members.
        parsed: takes a name of the system apart.
    """

    __slots__ = ("_kinds", "bundles", "canonical", "content", "parsed", "ports", "system")

    def __init__(self, system: str, content: bytes) -> None:
        self.system, self.content = system, content
        self._kinds: dict[str, PortKind] = {}
        self.parsed = parsed = PLAIN.parsed if system == HOST else parser(system)
        self.ports: Mapping[str, Says] = pickle.loads(content)
        self.canonical: dict[str, str] = {}
        for port, says in self.ports.items():
            if not (spelled := parsed(port)).unit:
                self.canonical[spelled.port] = port
            if (alias := says.get("alias")) is not None:
                self.canonical.setdefault(str(alias).lower(), port)
        for port in self.ports:
            if (spelled := parsed(port)).unit:
                self.canonical.setdefault(spelled.port, port.rpartition(".")[0] or port)
        self.bundles: dict[str, list[str]] = {}
        for port, says in self.ports.items():
            if (bundle := says.get("bundle")) is not None:
                name = str(bundle)
                self.bundles.setdefault(self.port(name) or name, []).append(port)

    def port(self, name: str) -> str | None:
        """The port that a name means, as the facts name it; None where the device says nothing of such a port."""
        found = self.canonical.get(self.parsed(name).port)
        return found if found is not None else self.canonical.get(name.strip().lower())

    def base(self, port: str) -> str:
        """The port that a logical interface is on."""
        return self.canonical.get(self.parsed(port).port, port)

    def kind(self, port: str) -> PortKind:
        """See `Said.kind`."""
        found = self._kinds.get(port)
        if found is None:
            kind = self.ports.get(port, {}).get("kind")
            found = (
                self.parsed(port).kind
                if kind is None
                else PortKind.BUNDLE
                if kind == "bond"
                else PortKind.VIRTUAL
            )
            self._kinds[port] = found
        return found


@dataclass(frozen=True, slots=True)
class Said:
    """What a device says of where it stands: all that links and places are found by.

    Attributes:
        shape: what it shares with devices that are built alike; `own`: the rest of what it says of its ports, their
            addresses, and its neighbours, packed.
        heard: what LLDP told.
        facts: of the device as a whole, those that tell where it stands.
    """

    shape: Shape
    own: bytes
    heard: tuple[Neighbour, ...]
    facts: Facts

    def __reduce__(self) -> tuple[object, ...]:
        """With the shape as what it is made of, so that it is shared where it arrives."""
        shape = self.shape
        return _said, (shape.system, shape.content, self.own, self.heard, self.facts)

    @property
    def neighbours(self) -> Mapping[str, Says]:
        """BGP neighbour, an address or a port -> of a port what the facts say of it that tells where it is."""
        return _opened(self.shape, self.own)[2]

    @property
    def ports(self) -> Mapping[str, Says]:
        """Port as the facts name it -> what they say of it, by the last word of the path."""
        return _opened(self.shape, self.own)[0]

    def port(self, name: str) -> str | None:
        """The port that a name means, as the facts name it; None where the device says nothing of such a port."""
        return self.shape.port(name)

    def parsed(self, name: str) -> PortName:
        """A name of its system taken apart."""
        return self.shape.parsed(name)

    def base(self, port: str) -> str:
        """The port that a logical interface is on."""
        return self.shape.base(port)

    def kind(self, port: str) -> PortKind:
        """What a port is; interfaces that the device says are a bridge, a VLAN or the like are no port."""
        return self.shape.kind(port)

    def addresses(self, port: str) -> Iterator[tuple[str, Address]]:
        """Its addresses by the last word of their paths, link-local ones and what is none left out."""
        for leaf, *address in _opened(self.shape, self.own)[1].get(port, ()):
            yield leaf, Address(*address)

    def every_address(self) -> Iterator[tuple[str, str, Address]]:
        """Port, last word of the path, and address, as `addresses`."""
        for port, found in _opened(self.shape, self.own)[1].items():
            for leaf, *address in found:
                yield port, leaf, Address(*address)

    def bundles(self) -> Mapping[str, list[str]]:
        """Bundle -> its members."""
        return self.shape.bundles


def _addresses(says: Says) -> Iterator[tuple[str, int, int, int]]:
    """Addresses of a port of which this is said, after the last word of their paths; see `Said.addresses`."""
    for leaf, value in says.items():
        if leaf in ("ipv4", "ipv6"):
            address = address_of(str(value))
        elif leaf.startswith(SECONDARY):
            address = address_of(leaf[len(SECONDARY) : -1])
        else:
            continue
        if address is not None and not (address.version == 6 and address.value >> 118 == _LINK_LOCAL):
            yield leaf, *address


@lru_cache(maxsize=1 << 12)
def address_of(text: str) -> Address | None:
    """The address of a text with its prefix length, all of it where none is given; None for what is none."""
    host, slash, length = text.partition("/")
    version, family, most = (6, socket.AF_INET6, 128) if ":" in host else (4, socket.AF_INET, 32)
    try:
        value = int.from_bytes(socket.inet_pton(family, host))
    except (OSError, ValueError):
        return None
    if slash and not (length.isascii() and length.isdigit() and len(length) < 4 and int(length) <= most):
        return None
    return Address(version, value, int(length) if slash else most)


def said(device: Device) -> Said:
    """What a device says of where it stands."""
    return said_by(
        HOST if device.kind is Kind.HOST else device.system, parts_of(device.held), device.neighbours
    )


def said_by(system: str, parts: Parts, heard: tuple[Neighbour, ...]) -> Said:
    """What a device of a system says of where it stands, by its facts."""
    own: dict[str, Says] = {}
    addresses: dict[str, Sequence[tuple[str, int, int, int]]] = {}
    for port, stated in parts.own_of_ports():
        if says := {leaf: value for leaf, value in stated if leaf in _OWN or leaf.startswith(SECONDARY)}:
            own[port] = says
            if found := tuple(_addresses(says)):
                addresses[port] = found
    neighbours: dict[str, Says] = {}
    facts: Facts = {}
    for (vrf, name), says in parts.sessions().items():
        if told := {leaf: says[leaf] for leaf in ("remote_asn", "description") if leaf in says}:
            numbered = neighbours.get(name) is _NUMBERED or address_of(name) is not None
            neighbours[name] = _NUMBERED if numbered else neighbours.get(name, {}) | told
        if "reflector_client" in says:
            scope = f"{VRF}{vrf}]/" if vrf else ""
            facts[f"{scope}{NEIGHBOUR}{name}]/reflector_client"] = says["reflector_client"]
    for path, value in parts.rest().facts.items():
        if path in _WHOLE or path.startswith(_WHOLE_STARTS) or path.endswith("/reflector_client"):
            facts[path] = value
    packed = few_bytes((own, addresses, neighbours))
    return Said(_shape_of(system, parts.frame), packed, heard, facts)


def _shape_of(system: str, frame: Frame) -> Shape:
    """The shape of devices of a system with a frame."""
    if (Shape, system) not in frame.memo:
        own = {
            port
            for port, slots in frame.sorted.of_ports.items()
            if any(leaf in _OWN if isinstance(leaf, str) else SECONDARY in leaf.head for leaf, _ in slots)
        }
        likes = {
            port: {leaf: value for leaf, value in says.items() if leaf in _LIKE}
            for port, says in frame.sorted.ports.items()
            if port in own or not _LIKE.isdisjoint(says)
        }
        frame.memo[Shape, system] = _shape(system, pickle.dumps(likes, pickle.HIGHEST_PROTOCOL))
    found: Shape = frame.memo[Shape, system]
    return found


def _said(system: str, content: bytes, own: bytes, heard: tuple[Neighbour, ...], facts: Facts) -> Said:
    return Said(_shape(system, content), own, heard, facts)


_shape = lru_cache(maxsize=1 << 12)(Shape)


@lru_cache(maxsize=64)
def _opened(
    shape: Shape, own: bytes
) -> tuple[Mapping[str, Says], Mapping[str, Sequence[tuple[str, int, int, int]]], Mapping[str, Says]]:
    """What is said of each port, its addresses, and what is said of neighbours."""
    mine, addresses, neighbours = value_of(own)
    ports = {port: {**says, **mine[port]} if port in mine else says for port, says in shape.ports.items()}
    return ports, addresses, neighbours
