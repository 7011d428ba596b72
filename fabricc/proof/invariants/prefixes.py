"""Invariant 6: the blocks of addresses that a switch owns; `rules/overlaps.py` compares those of all."""

from __future__ import annotations

import csv
import socket
import struct
from functools import lru_cache
from socket import AF_INET, AF_INET6
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number
from fabricc.fabric.model import Direction
from fabricc.fabric.vocabulary import paths_of_port
from fabricc.proof.invariants.rules import Breach
from fabricc.proof.invariants.view import sibling_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabricc.proof.invariants.view import LinkPort, SwitchView

_BLOCK = struct.Struct(">B16sBI")
"""Family, first address, prefix length, line: sorts as blocks do, larger ones first."""


_FAMILIES = ("ipv4", "ipv6")
_NOWHERE = ("", 0)

EVPN = 25
"""Address family of EVPN routes (L2VPN, RFC 7432), all of which one block stands for."""


class Block(NamedTuple):
    """A prefix as numbers."""

    family: int
    first: int
    length: int

    @property
    def last(self) -> int:
        """Return its last address."""
        return self.first | ((1 << (self.bits - self.length)) - 1)

    @property
    def bits(self) -> int:
        """Length of an address of its family."""
        return 32 if self.family == 4 else 128

    def covers(self, other: Block) -> bool:
        """Return whether every address of `other` is in this block."""
        spare = self.bits - self.length
        return (
            self.family == other.family
            and self.length <= other.length
            and self.first >> spare == other.first >> spare
        )

    def shorten(self, length: int) -> Block:
        """Return the block of a shorter length that contains this one."""
        spare = self.bits - length
        return Block(self.family, self.first >> spare << spare, length)

    def __str__(self) -> str:
        if self.family == EVPN:
            return "EVPN routes"
        packed = self.first.to_bytes(self.bits // 8)
        family = socket.AF_INET if self.family == 4 else socket.AF_INET6
        return f"{socket.inet_ntop(family, packed)}/{self.length}"


def parse_block(text: str) -> Block | None:
    """Return the block of an address with prefix length; None for a text that is no prefix and no planned fact."""
    address, _, length = text.partition("/")
    family, inet, bits = (6, AF_INET6, 128) if ":" in address else (4, AF_INET, 32)
    try:
        packed = socket.inet_pton(inet, address)
    except (OSError, ValueError):
        return None
    spare = _host_bits(length, bits)
    return None if spare is None else Block(family, int.from_bytes(packed) >> spare << spare, bits - spare)


@lru_cache(maxsize=512)
def _host_bits(length: str, bits: int) -> int | None:
    """Return the number of bits after a prefix of a length; none without one, None for an invalid length."""
    if not length:
        return 0
    if is_number(length) and len(length) < 4 and int(length) <= bits:
        return bits - int(length)
    return None


_SERVERS = tuple(
    f"management/{kind}" for kind in ("ntp", "dns", "syslog", "tacacs/servers", "radius/servers")
)
"""Facts that name machines of the management network, comma-separated."""
_SERVER_PATHS = ("management/gateway", *_SERVERS)


def address_breaches(seen: SwitchView) -> Iterator[Breach]:
    """On one switch: a ToR's host links lie inside its aggregates, and its own address is no gateway's or server's.

    And no route leads from its ports to the management network.
    """
    yield from _check_management_address(seen)
    yield from _check_separation(seen)
    blocks = [parse_block(text) for text in seen.aggregates]
    aggregates = [found for found in blocks if found]
    if not aggregates:
        return
    for link in seen.links:
        if link.port.direction is not Direction.HOST:
            continue
        for family, text in (("ipv4", link.ipv4), ("ipv6", link.ipv6)):
            if text and (mine := parse_block(text)) and not any(a.covers(mine) for a in aggregates):
                if sibling_address(text) in seen.neighbors:
                    continue  # what has a session announces itself
                message = f"{link.port.name} has {text}, outside every aggregate, so its host is unreachable"
                half = [
                    text
                    for text, a in zip(seen.aggregates, blocks, strict=True)
                    if a and a.length and a.shorten(a.length - 1).covers(mine)
                ]
                yield Breach(6, message, f"bgp/aggregate[{half[0]}]" if half else link.path + family)


def _check_management_address(seen: SwitchView) -> Iterator[Breach]:
    """Check that the switch's management address differs from the gateways and servers that it names."""
    mine = str(seen.facts.get("management/address", "")).partition("/")[0]
    for path in _SERVER_PATHS if mine else ():
        if mine in str(seen.facts.get(path, "")).split(","):
            yield Breach(6, f"its management address {mine} is also {path.rpartition('/')[2]}", path)


def management_servers(seen: SwitchView) -> frozenset[str]:
    """Return the machines of the management network that a switch names, but for its gateway."""
    named = (str(seen.facts.get(path, "")).split(",") for path in _SERVERS)
    return frozenset(name for names in named for name in names) - {""}


def lie_in_aggregates(texts: Sequence[str], aggregates: Iterable[str]) -> bool:
    """Return whether the addresses of links are in aggregates that are canonical blocks larger than a link."""
    blocks = [found for text in aggregates if (found := parse_block(text))]
    if [*map(str, blocks)] != [*aggregates]:
        return False
    for family, inet in ((4, AF_INET), (6, AF_INET6)):
        left = [
            int.from_bytes(socket.inet_pton(inet, text.partition("/")[0]))
            for text in texts
            if (":" in text) == (family == 6)
        ]
        for each in blocks:
            spare = each.bits - each.length
            if each.family == family and spare > 2:
                left = [address for address in left if (address ^ each.first) >> spare]
        if left:
            return False
    return True


def _check_separation(seen: SwitchView) -> Iterator[Breach]:
    """Check that the files have the statements with which their system separates the management network."""
    path = "management/isolated"
    if seen.facts.get(path, "true") != "true":
        message = "routes lead from the fabric's ports to the management network, so that any host reaches it"
        yield Breach(6, message, path)


def owned_blocks(seen: SwitchView) -> dict[str, str]:
    """Return the blocks of a switch: aggregates, loopbacks, links up and out; host links only without an aggregate.

    Includes its management address, whatever the length of the subnet. Path -> text.
    """
    facts = seen.facts
    texts = {f"bgp/aggregate[{text}]": text for text in seen.aggregates}
    texts |= {path: str(facts[path]) for path in ("loopback/ipv4", "loopback/ipv6") if path in facts}
    if "management/address" in facts:
        texts["management/address"] = str(facts["management/address"]).partition("/")[0]
    directions = {Direction.UP, Direction.EXTERNAL} | (set() if seen.aggregates else {Direction.HOST})
    for link in seen.links:
        if link.port.direction in directions or _owns_peer_link(seen, link):
            for path, text in zip(
                paths_of_port(link.port.name, _FAMILIES), (link.ipv4, link.ipv6), strict=True
            ):
                if text:
                    texts[path] = text
    return texts


def _owns_peer_link(seen: SwitchView, link: LinkPort) -> bool:
    """Return whether a link leads to a switch of the same tier that comes later by name; the first end owns it."""
    peer = link.port.peer
    return link.port.direction is Direction.PEER and peer is not None and seen.switch.name < peer.device


def packed_blocks(texts: Iterable[str], lines: Iterable[int]) -> bytes:
    """Blocks that texts state on those lines."""
    return b"".join(
        [
            _BLOCK.pack(mine.family, mine.first.to_bytes(16), mine.length, line)
            for text, line in zip(texts, lines, strict=True)
            if (mine := parse_block(text))
        ]
    )


def own_blocks(seen: SwitchView) -> bytes:
    """Return the blocks that the switch owns."""
    texts, lines = owned_blocks(seen), seen.reading.lines
    return packed_blocks(texts.values(), [lines.get(path, _NOWHERE)[1] for path in texts])


def endpoint_blocks(text: str, file: str) -> Iterator[tuple[str, str, bytes]]:
    """Owner, file and packed block of every line of the table of out-of-band addresses, read back from its text."""
    for line, cells in enumerate(csv.reader(text.splitlines()), start=1):
        if line > 1 and len(cells) > 2 and (mine := parse_block(cells[2].partition("/")[0])):
            packed = _BLOCK.pack(mine.family, mine.first.to_bytes(16), mine.length, line)
            yield f"{cells[0]} {cells[1]}", file, packed


def blocks_with_lines(packed: bytes) -> Iterator[tuple[Block, int]]:
    """Yield the blocks, each with its line."""
    for family, first, length, line in _BLOCK.iter_unpack(packed):
        yield Block(family, int.from_bytes(first), length), line
