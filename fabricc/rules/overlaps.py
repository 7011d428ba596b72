"""Find overlapping blocks of addresses, and addresses that two have.

Blocks are those of all owners of a plan, subnets of ports that are not ends of one link, and subnets of the default VRF
that hold links of tenants and are announced outside of them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.back.nos.ports import PortKind, cached_parser
from fabricc.back.nos.route_blocks import refused_blocks
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import path_pattern
from fabricc.proof.invariants.prefixes import Block, blocks_with_lines, parse_block
from fabricc.proof.invariants.rules import breach_finding
from fabricc.rules.findings import finding_at
from fabricc.rules.records import Subnet, Subnets
from fabricc.rules.rule import ADDRESSES, FabricRule, Report, Switches, SwitchRule
from fabricc.rules.segments import RELAYED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

OVERLAP = "FAB9681"
_REMEDY = "Correct the address or the prefix length of the port with the wrong one."


def subnets_of(statement: Statement) -> Subnets:
    """Return the subnets of the ports of a device that are up; no addresses alone and no management."""
    return statement.remember(subnets_of, _find_subnets)


def _find_subnets(statement: Statement) -> Subnets:
    texts, ports = [], []
    for port, addresses in statement.addresses.items():
        if statement.of(port, "enabled") == "false":
            continue
        if statement.parse_name(statement.parse_name(port).port).kind is PortKind.MANAGEMENT:
            continue
        vrf = str(statement.of(port, "vrf") or "")
        for text in addresses:
            address, _, length = text.partition("/")
            if length in ("", "32", "128") or address.lower().startswith(("fe80:", "169.254.", "127.")):
                continue
            texts.append(f"{vrf} {text}")
            ports.append(port)
    return Subnets("\n".join(texts), tuple(ports))


class _OwnedBlock(NamedTuple):
    """A block of an owner of a plan, and the file and line that state it."""

    vrf: str
    block: Block
    line: int
    owner: str
    file: str


P = TypeVar("P", Subnet, _OwnedBlock)


def _covering_pairs(placed: Iterable[P]) -> Iterator[tuple[P, P]]:
    """Yield each block that is inside another one, or equal to it, after that one: the smallest that contains it.

    Blocks of prefixes that overlap contain each other, so the sorted blocks around the current one suffice.
    """
    around: list[P] = []
    for mine in sorted(placed):
        while around and (around[-1].vrf != mine.vrf or not around[-1].block.covers(mine.block)):
            around.pop()
        if around:
            yield around[-1], mine
        if not around or around[-1].block != mine.block:
            around.append(mine)


def overlapping_blocks(owners: Iterable[tuple[str, str, bytes]]) -> Iterator[Finding]:
    """Yield breaches of invariant 6: blocks of a plan that overlap; `owners` are (device, file, its packed blocks)."""
    owned = [
        _OwnedBlock("", block, line, name, file)
        for name, file, packed in owners
        for block, line in blocks_with_lines(packed)
    ]
    for outer, inner in _covering_pairs(owned):
        message = f"{inner.owner}: {inner.block} overlaps {outer.block} of {outer.owner}"
        yield breach_finding(6, message, inner.file, inner.line)


def _own_overlaps(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report two ports of a switch with addresses in overlapping subnets, or two routed ports with one address."""
    pairs = [
        (outer, inner)
        for outer, inner in _covering_pairs(subnets_of(statement).of(statement.name))
        if outer.port != inner.port
        and (
            outer.text != inner.text or all(_is_routed_port(statement, each.port) for each in (outer, inner))
        )
    ]
    for port, message in _messages(pairs):
        paths = (*port.paths, f"{PORT}{port.port}]/")
        yield finding_at(OVERLAP, statement.device, paths, message, "overlap", remedy=_REMEDY)


def _is_routed_port(statement: Statement, port: str) -> bool:
    kind = statement.parse_name(statement.parse_name(port).port).kind
    stated = str(statement.ports.get(port, {}).get("kind", ""))
    return (kind is PortKind.PORT and not stated) or (kind is PortKind.BUNDLE and stated in ("", "bond"))


def _managed_subnets(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a port of the default VRF with an address in the network of the management port."""
    isolated = statement.rest.get("management/isolated") == "true"
    texts = [] if isolated else str(statement.rest.get("management/address", "")).split(",")
    managed = [block for text in texts if (block := parse_block(text)) and block.length < block.bits]
    for each in subnets_of(statement).of(statement.name) if managed else ():
        if each.vrf == "" and any(net.covers(each.block) or each.block.covers(net) for net in managed):
            message = f"{statement.name} {each.port} has {each.text}, in the network of the management port"
            remedy = "Give the port an address of the fabric."
            yield finding_at(OVERLAP, statement.device, each.paths, message, "overlap", remedy=remedy)


def _refused_addresses(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report blocks of which the switch accepts no route, and in which its own addresses are."""
    for path, text in refused_blocks(statement.facts_below("routing/")):
        block = parse_block(text)
        own = [*statement.addresses.items(), ("the loopback", [str(statement.rest.get("loopback/ipv4", ""))])]
        inside = next(
            (f"{port} ({each})" for port, texts in own for each in texts
             if block and block.length and (mine := parse_block(each.partition("/")[0])) and block.covers(mine)), "",
        )  # fmt: skip
        if inside:
            message = f"{statement.name}: no route in {text} is accepted, where {inside} is: paths to others are lost"
            remedy = "Leave the blocks of the fabric out of the list."
            yield finding_at(
                OVERLAP, statement.device, path, message, "refused block", Severity.WARNING, remedy
            )


def _messages(pairs: list[tuple[Subnet, Subnet]]) -> Iterator[tuple[Subnet, str]]:
    """Yield the ports to report and the message: the larger subnet, and the smaller one if it is alone."""
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
            yield one, message


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
    for one, message in _messages(near):
        yield Report(OVERLAP, one.device, one.paths, message, "overlap", Severity.ERROR, _REMEDY)


LEFTOVER = "FAB9688"
_TENANT = path_pattern("(?:evpn|vxlan)/vrf[*]/vni")
_ANNOUNCES = ("bgp/redistribute[connected]", "bgp/redistribute_connected")
_LEFTOVER_REMEDY = "Remove the subnet from the default VRF, or put the port into the VRF of the tenant."


def _find_leftovers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a subnet of the default VRF that covers a link of a VRF with a VNI, where connected routes enter BGP."""
    tenants = {match[1] for path in statement.rest if (match := _TENANT.fullmatch(path))}
    if not tenants or not any(path in statement.rest for path in _ANNOUNCES):
        return
    subnets = list(subnets_of(statement).of(statement.name))
    inside, pair = [each for each in subnets if each.vrf in tenants], statement.facts_below("mlag/")
    found: list[tuple[Subnet, Subnet]] = []
    for outer in subnets:
        if outer.vrf == "":
            covered = [inner for inner in inside if outer.block.covers(inner.block)]
            covered = [  # but for the VRF's own part of the same link, with the same addresses
                inner
                for inner in covered
                if inner.text != outer.text or outer.port not in statement.chain(inner.port)
            ]
            if pair:  # whose two switches often have one subnet for their link in every VRF
                covered = [inner for inner in covered if inner.block != outer.block]
            found += [(outer, inner) for inner in covered[:1]]
    if not found:
        return
    outer, inner = found[0]
    more = f" (and {len(found) - 1} subnets more)" if len(found) > 1 else ""
    message = (
        f"{statement.name} {outer.port} has {outer.text} in the default VRF, which holds {inner.port} of VRF "
        f"{inner.vrf} ({inner.text}): others reach the tenant's prefix{more}"
    )
    yield finding_at(
        LEFTOVER, statement.device, outer.paths, message, "leftover", Severity.WARNING, _LEFTOVER_REMEDY
    )


def _shared_loopback(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a loopback with the address of a port; one of a port without a subnet is that of an unnumbered link."""
    for path in ("loopback/ipv4", "loopback/ipv6"):
        own = str(statement.rest.get(path, "")).partition("/")[0]
        for port, texts in statement.addresses.items() if own else ():
            if any(text.startswith(f"{own}/") and not text.endswith(_WHOLE) for text in texts):
                message = f"{statement.name}: the loopback has {own}, the address of {port}"
                remedy = "Give the loopback an address of its own."
                yield finding_at(
                    OVERLAP, statement.device, path, message, "loopback of port", Severity.WARNING, remedy
                )


_WHOLE = ("/32", "/128")
_LINK_BITS = 3
"""Bits of the host part of the longest subnets that are no links."""


def _repeated_gateways(fabric: Switches) -> Iterator[Report]:
    """Report one gateway on several switches that share no VLAN, where that VLAN of others has subnets of their own."""
    placed: defaultdict[str, defaultdict[str, list[Subnet]]] = defaultdict(lambda: defaultdict(list))
    for name, subnets in fabric.subnets().items() if not fabric.planned else ():
        summary = fabric.summaries.get(name)
        if summary is None or summary.vtep or summary.overlay or summary.pair:
            continue
        if any(each.kind != RELAYED for each in summary.segments):  # the switches share VLANs
            continue
        for each in subnets.of(name):
            virtual = cached_parser(summary.system)(each.port).kind is PortKind.VIRTUAL
            if virtual and each.block.length < each.block.bits - _LINK_BITS:
                placed[f"{each.vrf} {each.port}"][each.text].append(each)
    for by_text in placed.values():
        shared = [found for found in by_text.values() if len(found) > 1]
        if len(shared) != 1 or len(by_text) == 1:
            continue
        for each in shared[0]:
            others = join_words([other.device for other in shared[0] if other.device != each.device], 2)
            message = f"{each.device} {each.port} has {each.text} of {others}: both announce the same hosts"
            remedy = "Give each switch a subnet of its own, or join the VLANs by VXLAN."
            yield Report(OVERLAP, each.device, each.paths, message, "gateway", Severity.WARNING, remedy)


RULES = (
    SwitchRule(OVERLAP, ADDRESSES, (), _own_overlaps),
    SwitchRule(OVERLAP, ADDRESSES, (), _managed_subnets),
    SwitchRule(OVERLAP, ADDRESSES, (), _refused_addresses),
    FabricRule(OVERLAP, ADDRESSES, (), _overlaps_between),
    SwitchRule(LEFTOVER, ADDRESSES, (), _find_leftovers),
    SwitchRule(OVERLAP, ADDRESSES, (), _shared_loopback),
    FabricRule(OVERLAP, ADDRESSES, (), _repeated_gateways),
)
