"""Find ports with overlapping subnets: on one switch, or on two that are not the ends of one link."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.facts.frame import PORT
from fabricc.proof.invariants.prefixes import Block, parse_block
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import ADDRESSES, FabricRule, Report, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.rule import Switches
    from fabricc.rules.sessions import Sessions

OVERLAP = "FAB9681"
_REMEDY = "Correct the address or the prefix length of the port with the wrong one."


class Subnet(NamedTuple):
    """The subnet of a port: `vrf` is its routing instance, `text` its address with prefix length."""

    vrf: str
    block: Block
    device: str
    port: str
    text: str

    @property
    def path(self) -> str:
        """Return the path of the address, or of the port."""
        return f"{PORT}{self.port}]/ipv{self.block.family}"


class Subnets(NamedTuple):
    """The subnets of a device as text, which thousands of devices keep.

    Attributes:
        texts: a line for each: routing instance and address with prefix length.
        ports: of each; one object for devices with the same.
    """

    texts: str = ""
    ports: tuple[str, ...] = ()

    def of(self, device: str) -> Iterator[Subnet]:
        """Yield the subnets of a device."""
        for line, port in zip(self.texts.split("\n"), self.ports, strict=False):
            vrf, _, text = line.partition(" ")
            if block := parse_block(text):
                yield Subnet(vrf, block, device, port, text)


def subnets_of(statement: Statement) -> Subnets:
    """Return the subnets of the ports of a device that are up; no addresses alone and no management."""
    texts, ports = [], []
    for port, addresses in statement.addresses.items():
        if statement.of(port, "enabled") == "false":
            continue
        if statement.parsed(statement.parsed(port).port).kind is PortKind.MANAGEMENT:
            continue
        vrf = str(statement.of(port, "vrf") or "")
        for text in addresses:
            address, _, length = text.partition("/")
            if length in ("", "32", "128") or address.lower().startswith(("fe80:", "169.254.", "127.")):
                continue
            texts.append(f"{vrf} {text}")
            ports.append(port)
    return Subnets("\n".join(texts), tuple(ports))


def _covering_pairs(subnets: Iterable[Subnet]) -> Iterator[tuple[Subnet, Subnet]]:
    """Yield each subnet that is inside another one, or equal to it, after that one: the smallest that contains it."""
    around: list[Subnet] = []
    for mine in sorted(subnets, key=lambda each: (each.vrf, each.block, each.device, each.port)):
        while around and (around[-1].vrf != mine.vrf or not around[-1].block.covers(mine.block)):
            around.pop()
        if around:
            yield around[-1], mine
        if not around or around[-1].block != mine.block:
            around.append(mine)


def _own_overlaps(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report two ports of a switch with different addresses in overlapping subnets."""
    pairs = [
        (outer, inner)
        for outer, inner in _covering_pairs(subnets_of(statement).of(statement.name))
        if outer.port != inner.port and outer.text != inner.text
    ]
    for port, path, message in _messages(pairs):
        yield finding_at(
            OVERLAP, statement.device, (path, f"{PORT}{port.port}]/"), message, "overlap", remedy=_REMEDY
        )


def _messages(pairs: list[tuple[Subnet, Subnet]]) -> Iterator[tuple[Subnet, str, str]]:
    """Yield the ports to report, the path and the message: the larger subnet, and the smaller one if it is alone."""
    inside: dict[Subnet, list[Subnet]] = {}
    for outer, inner in pairs:
        inside.setdefault(outer, []).append(inner)
    for outer, smaller in inside.items():
        for one, other in ((outer, smaller[0]), *(((smaller[0], outer),) if len(smaller) == 1 else ())):
            more = f" and of {len(smaller) - 1} more" if len(smaller) > 1 else ""
            message = (
                f"{one.device} {one.port} has {one.text}, whose subnet overlaps that of {other.device} {other.port} "
                f"({other.text}){more}"
            )
            yield one, one.path, message


def _overlaps_between(fabric: Switches) -> Iterator[Report]:
    """Report subnets of different sizes that overlap on two devices which links join.

    A device without a known link counts as joined: the wrong prefix length may be what hides its link.
    Equal subnets are those of links and of shared segments; FAB9602 and FAB9604 compare their addresses.
    """
    subnets = [each for name, mine in fabric.subnets().items() for each in mine.of(name)]
    pairs = [
        (outer, inner)
        for outer, inner in _covering_pairs(subnets)
        if outer.device != inner.device and outer.block != inner.block
    ]
    joined: dict[str, set[str]] = {}
    near = []
    for outer, inner in pairs:
        if outer.device not in joined:
            joined[outer.device] = fabric.reachable({outer.device})
        alone = outer.vrf == "" and not (fabric.linked(outer.device) and fabric.linked(inner.device))
        if alone or inner.device in joined[outer.device]:
            near.append((outer, inner))
    for one, path, message in _messages(near):
        yield Report(OVERLAP, one.device, (path,), message, "overlap", Severity.ERROR, _REMEDY)


RULES = (
    SwitchRule(OVERLAP, ADDRESSES, (), _own_overlaps),
    FabricRule(OVERLAP, ADDRESSES, (), _overlaps_between),
)
