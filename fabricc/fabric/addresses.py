"""Addresses and ASNs in closed form: integers from coordinates and strides, and their text."""

from __future__ import annotations

import socket
from functools import lru_cache
from ipaddress import IPv6Address

from fabricc.base.values import dataclass
from fabricc.fabric.shape import GUEST_UNITS, Strides

ASN_BLOCK = 1 << 20
"""ASNs from a 4-byte base upwards that the closed form may use."""
TWO_BYTES = 1 << 16
MANAGEMENT_RESERVED = 16
"""First addresses of the management network, left to gateways and servers."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A block of addresses: first address as an integer, prefix length, IP version.

    Attributes:
        wide: its links have a /30 each, whose two inner addresses they take, in the place of a /31.
    """

    first: int
    length: int
    version: int
    wide: bool = False

    @property
    def bits(self) -> int:
        """Host bits: the pool holds 2**bits addresses."""
        return (32 if self.version == 4 else 128) - self.length

    @property
    def end_bits(self) -> int:
        """The pool holds the addresses of 2**end_bits ends of links."""
        return self.bits - self.wide

    @property
    def link_length(self) -> int:
        """Prefix length of a link's subnet."""
        return (31 if self.version == 4 else 127) - self.wide

    def address(self, offset: int) -> str:
        """Text of the address at `offset`."""
        return format_ipv4(self.first + offset) if self.version == 4 else format_ipv6(self.first + offset)

    def pair(self, offset: int) -> tuple[str, str]:
        """Text of the addresses of a link; `offset` counts the ends of links before it, and is even."""
        first = self.first + (2 * offset + 1 if self.wide else offset)
        if self.version == 4:
            start = _three_octets(first >> 8)
            return start + _OCTETS[first & 255], start + _OCTETS[(first & 255) + 1]
        return format_ipv6(first), format_ipv6(first + 1)

    def end(self, address: int) -> int | None:
        """Return which end of a link, counted as `pair` does, has an address; None for a /30's first and last one."""
        offset = address - self.first
        if not self.wide:
            return offset
        subnet, place = divmod(offset, 4)
        return 2 * subnet + place - 1 if place in (1, 2) else None

    def prefix(self, offset: int, bits: int) -> str:
        """Text of the prefix of 2**bits addresses that starts at `offset`."""
        return f"{self.address(offset)}/{(32 if self.version == 4 else 128) - bits}"

    def __str__(self) -> str:
        return f"{self.address(0)}/{self.length}"


@dataclass(frozen=True, slots=True)
class AsnBlock:
    """ASNs from a base upwards that the closed form may use, halved: ToRs, unique spines, unique cores, shared ones.

    Attributes:
        first: the base.
        bits: 20, or with a 16-bit base as many as fit below 65536.
    """

    first: int
    bits: int

    @property
    def last(self) -> int:
        """The last ASN of the block; 65535 is reserved (RFC 7300)."""
        last = self.first + (1 << self.bits) - 1
        return last - (last == TWO_BYTES - 1)

    @property
    def tors(self) -> int:
        """Offset of the first ToR's."""
        return 1 << self.bits - 1

    @property
    def spines(self) -> int:
        """Offset of the first spine's where every spine has its own."""
        return 1 << self.bits - 2

    @property
    def cores(self) -> int:
        """Offset of the first core's where every core has its own."""
        return 1 << self.bits - 3

    @property
    def shared_spines(self) -> int:
        """Offset of the first that spines of a pod and plane share; below it, those that cores of a plane share."""
        return 1 << self.bits - 4


def asn_block(base: int) -> AsnBlock:
    """Return the block of ASNs that begins at a base."""
    bits = ASN_BLOCK if base >= TWO_BYTES else TWO_BYTES - base
    return AsnBlock(base, bits.bit_length() - 1)


_OCTETS = tuple(str(value) for value in range(256))


def format_ipv4(value: int) -> str:
    """Dotted-quad text of an IPv4 address."""
    return f"{_OCTETS[value >> 24]}.{_OCTETS[value >> 16 & 255]}.{_OCTETS[value >> 8 & 255]}.{_OCTETS[value & 255]}"


@lru_cache(maxsize=4096)
def _three_octets(value: int) -> str:
    return f"{_OCTETS[value >> 16]}.{_OCTETS[value >> 8 & 255]}.{_OCTETS[value & 255]}."


def format_ipv6(value: int) -> str:
    """Canonical text of an IPv6 address (RFC 5952)."""
    if value >> 48 == 0:  # inet_ntop would write the last 32 bits as IPv4
        return str(IPv6Address(value))
    return socket.inet_ntop(socket.AF_INET6, value.to_bytes(16))


def tor_number(strides: Strides, unit: int, group: int, nic_port: int) -> int:
    """Return a ToR's number: below half of the block of ASNs by the choice of strides."""
    return (unit * strides.group + group) * strides.nic_port + nic_port


def spine_number(strides: Strides, pod: int, spine: int, plane: int) -> int:
    """Return a spine's number: below a quarter of that block by the choice of strides."""
    return (pod * strides.spine + spine) * strides.plane + plane


def core_number(strides: Strides, core: int, plane: int) -> int:
    """Return a core's number: below an eighth of that block by the choice of strides."""
    return core * strides.plane + plane


def in_block(strides: Strides, slot: int, rail_in_tor: int) -> int:
    """Return offset of a link in its ToR's block; the ToR has the even address of its /31 or /127."""
    return (rail_in_tor * strides.host + slot) * 2


def tor_block(strides: Strides, unit: int, group: int, nic_port: int) -> int:
    """Return offset in the host pool of a ToR's aggregate, 2 * strides.rail * strides.host addresses long.

    The order of coordinates makes the links of one ToR to the hosts of one unit one aligned block.
    """
    number = (group * strides.nic_port + nic_port) * strides.unit + unit_number(strides, unit)
    return number * strides.rail * strides.host * 2


def unit_number(strides: Strides, unit: int) -> int:
    """Return a unit's number among host addresses: units of guests count from the end of the stride."""
    return unit if unit < GUEST_UNITS else strides.unit - 1 - (unit - GUEST_UNITS)


def block_bits(strides: Strides) -> int:
    """Return host bits of a ToR's aggregate."""
    return (strides.rail * strides.host * 2).bit_length() - 1


def tor_link_offset(strides: Strides, tor: int, uplink: int) -> int:
    """Return offset in the link pool of a ToR uplink; the spine has the even address."""
    return (tor * strides.uplink + uplink) * 2


def spine_link_offset(strides: Strides, end_bits: int, spine: int, uplink: int) -> int:
    """Return offset in the link pool (its upper half) of a spine uplink; the core has the even address."""
    return (1 << (end_bits - 1)) + (spine * strides.spine_uplink + uplink) * 2


def spine_loopback_offset(pool_bits: int, spine: int) -> int:
    """Return offset of a spine's loopback: the third quarter of the pool; ToRs have the first half."""
    return (1 << (pool_bits - 1)) + spine


def core_loopback_offset(pool_bits: int, core: int) -> int:
    """Return offset of a core's loopback: the last quarter of the pool."""
    return (3 << (pool_bits - 2)) + core
