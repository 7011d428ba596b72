"""What devices say of their ports, in one pass over their facts, and ports found by any spelling of their names."""

from __future__ import annotations

import socket
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import HOST, Kind
from fabricc.back.nos.ports import PLAIN, PortKind, parser
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.audit.model import Device, Neighbour
    from fabricc.back.nos.ports import PortName
    from fabricc.fabric.facts import Facts, Value

_PORT, _NEIGHBOUR = "interface[", "bgp/neighbor["
_LEAVES = frozenset(
    ("ipv4", "ipv6", "unnumbered", "description", "enabled", "mtu", "bundle", "alias", "switchport", "access_vlan",
     "kind", "address_from")
)  # fmt: skip
_WHOLE = frozenset(
    ("bgp/asn", "bgp/cluster_id", "evpn/source", "vxlan/source", "mlag/domain", "mlag/mac", "mlag/peer_link")
)
_WHOLE_STARTS = ("evpn/port[", "bgp/aggregate[")
_SECONDARY = "secondary["
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

    def network(self, length: int | None = None) -> Network:
        """The subnet that it is in, of its own prefix length or another."""
        length = self.length if length is None else length
        bits = (32 if self.version == 4 else 128) - length
        return Network(self.version, self.value >> bits << bits, length)


@dataclass(frozen=True, slots=True)
class Said:
    """What a device says of where it stands: all that links and places are found by.

    Attributes:
        system: as of a `Device`.
        ports: port as the facts name it -> what they say of it, by the last word of the path.
        neighbours: BGP neighbour, an address or a port -> what the facts say of it that tells where it is.
        heard: what LLDP told.
        facts: of the device as a whole, those that tell where it stands.
        canonical: port in the one spelling of its system -> as the facts name it; aliases too.
        parsed: takes a name of this device's system apart.
    """

    system: str
    ports: Mapping[str, dict[str, Value]]
    neighbours: Mapping[str, dict[str, Value]]
    heard: tuple[Neighbour, ...]
    facts: Facts
    canonical: Mapping[str, str]
    parsed: Callable[[str], PortName]

    def __reduce__(self) -> tuple[object, ...]:
        """Without what follows from the rest."""
        return _said, (self.system, self.ports, self.neighbours, self.heard, self.facts)

    def port(self, name: str) -> str | None:
        """The port that a name means, as the facts name it; None where the device says nothing of such a port."""
        found = self.canonical.get(self.parsed(name).port)
        return found if found is not None else self.canonical.get(name.strip().lower())

    def base(self, port: str) -> str:
        """The port that a logical interface is on."""
        return self.canonical.get(self.parsed(port).port, port)

    def kind(self, port: str) -> PortKind:
        """What a port is; interfaces that the device says are a bridge, a VLAN or the like are no port."""
        kind = self.ports.get(port, {}).get("kind")
        if kind is not None:
            return PortKind.BUNDLE if kind == "bond" else PortKind.VIRTUAL
        return self.parsed(port).kind

    def addresses(self, port: str) -> Iterator[tuple[str, Address]]:
        """Its addresses by the last word of their paths, link-local ones and what is none left out."""
        for leaf, value in self.ports[port].items():
            if leaf in ("ipv4", "ipv6"):
                address = address_of(str(value))
            elif leaf.startswith(_SECONDARY):
                address = address_of(leaf[len(_SECONDARY) : -1])
            else:
                continue
            if address is not None and not (address.version == 6 and address.value >> 118 == _LINK_LOCAL):
                yield leaf, address

    def bundles(self) -> dict[str, list[str]]:
        """Bundle -> its members."""
        found: dict[str, list[str]] = {}
        for port, says in self.ports.items():
            if (bundle := says.get("bundle")) is not None:
                name = str(bundle)
                found.setdefault(self.port(name) or name, []).append(port)
        return found


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
        HOST if device.kind is Kind.HOST else device.system, device.reading.facts, device.neighbours
    )


def said_by(system: str, stated: Facts, heard: tuple[Neighbour, ...]) -> Said:
    """What a device of a system says of where it stands; `stated` is all that it says."""
    ports: dict[str, dict[str, Value]] = {}
    neighbours: dict[str, dict[str, Value]] = {}
    facts: Facts = {}
    for path, value in stated.items():
        if path.startswith(_PORT):
            port, leaf = port_leaf(path)
            if leaf in _LEAVES or leaf.startswith(_SECONDARY):
                ports.setdefault(port, {})[leaf] = value
        elif _NEIGHBOUR in path:
            name, _, leaf = path.partition(_NEIGHBOUR)[2].partition("]/")
            if leaf in ("remote_asn", "description"):
                neighbours.setdefault(name, {})[leaf] = value
            elif leaf == "reflector_client":
                facts[path] = value
        elif path in _WHOLE or path.startswith(_WHOLE_STARTS) or path.endswith("/reflector_client"):
            facts[path] = value
    return _said(system, ports, neighbours, heard, facts)


@lru_cache(maxsize=1 << 15)
def port_leaf(path: str) -> tuple[str, str]:
    """The port that a fact of a port is about, and the rest of its path."""
    port, _, leaf = path[len(_PORT) :].partition("]/")
    return intern(port), intern(leaf)


def _said(
    system: str,
    ports: Mapping[str, dict[str, Value]],
    neighbours: Mapping[str, dict[str, Value]],
    heard: tuple[Neighbour, ...],
    facts: Facts,
) -> Said:
    aliases = tuple([(port, str(says["alias"])) for port, says in ports.items() if "alias" in says])
    return Said(
        system, ports, neighbours, heard, facts, _canonical(system, tuple(ports), aliases), _parser(system)
    )


def _parser(system: str) -> Callable[[str], PortName]:
    return PLAIN.parsed if system == HOST else parser(system)


@lru_cache(maxsize=1 << 12)
def _canonical(
    system: str, ports: tuple[str, ...], aliases: tuple[tuple[str, str], ...]
) -> Mapping[str, str]:
    """Ports in the one spelling of their system; devices with the same ports share it."""
    parsed, told = _parser(system), dict(aliases)
    canonical: dict[str, str] = {}
    for port in ports:
        if not (spelled := parsed(port)).unit:
            canonical[spelled.port] = port
        if port in told:
            canonical.setdefault(told[port].lower(), port)
    for port in ports:
        if (spelled := parsed(port)).unit:
            canonical.setdefault(spelled.port, port.rpartition(".")[0] or port)
    return canonical
