"""What devices say of their ports, in one pass over their facts, and ports found by any spelling of their names."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Kind
from fabricc.back.nos.ports import PLAIN, PortKind, parser
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.audit.model import Device
    from fabricc.back.nos.ports import PortName
    from fabricc.fabric.facts import Value

_PORT, _NEIGHBOUR = "interface[", "bgp/neighbor["
_LEAVES = frozenset(
    ("ipv4", "ipv6", "unnumbered", "description", "enabled", "mtu", "bundle", "alias", "switchport", "access_vlan",
     "kind", "address_from")
)  # fmt: skip
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
    """What a device says of its ports.

    Attributes:
        ports: port as the facts name it -> what they say of it, by the last word of the path.
        neighbours: BGP neighbour, an address or a port -> what the facts say of it that tells where it is.
        canonical: port in the one spelling of its system -> as the facts name it; aliases too.
        parsed: takes a name of this device's system apart.
    """

    device: Device
    ports: Mapping[str, dict[str, Value]]
    neighbours: Mapping[str, dict[str, Value]]
    canonical: Mapping[str, str]
    parsed: Callable[[str], PortName]

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
    """What a device says of its ports."""
    ports: dict[str, dict[str, Value]] = {}
    neighbours: dict[str, dict[str, Value]] = {}
    for path, value in device.reading.facts.items():
        if path.startswith(_PORT):
            port, _, leaf = path[len(_PORT) :].partition("]/")
            if leaf in _LEAVES or leaf.startswith(_SECONDARY):
                ports.setdefault(port, {})[leaf] = value
        elif _NEIGHBOUR in path:
            name, _, leaf = path.partition(_NEIGHBOUR)[2].partition("]/")
            if leaf in ("remote_asn", "description"):
                neighbours.setdefault(name, {})[leaf] = value
    parsed = PLAIN.parsed if device.kind is Kind.HOST else parser(device.system)
    canonical: dict[str, str] = {}
    for port, says in ports.items():
        if not (spelled := parsed(port)).unit:
            canonical[spelled.port] = port
        if (alias := says.get("alias")) is not None:
            canonical.setdefault(str(alias).lower(), port)
    for port in ports:
        if (spelled := parsed(port)).unit:
            canonical.setdefault(spelled.port, port.rpartition(".")[0] or port)
    return Said(device, ports, neighbours, canonical, parsed)
