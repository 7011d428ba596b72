"""Links and upper switches that get other numbers a few at a time: tables of identities for the specs in between."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import listed
from fabricc.fabric.links import UP, asn, links, port_names
from fabricc.fabric.model import TierName
from fabricc.front.spec.identities import LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId

ADDRESSES, ASNS = "migration-links.csv", "migration-devices.csv"
_NAMED = 4


class Part(NamedTuple):
    """One step of it: what gets other numbers, in words, and the table of all that has them by then."""

    what: str
    table: str


def addresses(old: Compiled, new: Compiled, keep: Fraction) -> Iterator[Part]:
    """Links with addresses of another pool, those of a few upper switches at a time; nothing where that cannot be."""
    before, after = old.fabric, new.fabric
    pools = [(each.addresses.links4, each.addresses.links6) for each in (before, after)]
    numbered = before.addresses.numbered and after.addresses.numbered
    if old.spec.given_links or new.spec.given_links or not numbered or not _same_links(before, after):
        return
    if pools[0] == pools[1] or any(_meet(one, other) for one, other in zip(*pools, strict=True)):
        return
    done: set[str] = set()
    for batch in _batches(before, keep):
        done.update(batch)
        yield Part(f"links of {listed(batch, _NAMED)} from the other pool", _links_table(before, after, done))


def asns(old: Compiled, new: Compiled, keep: Fraction) -> Iterator[Part]:
    """Spines and cores with other ASNs, a few at a time; nothing where that cannot be."""
    before, after = old.fabric, new.fabric
    if old.spec.given_devices or new.spec.given_devices or not _same_links(before, after):
        return
    theirs = {at: asn(before, at) for at in before.switch_ids()}
    wanted = {at: asn(after, at) for at in _uppers(before)}
    moving = {before.name(at): number for at, number in wanted.items() if number != theirs[at]}
    if not moving or {*moving.values()} & {*theirs.values()}:
        return
    if len({(number, theirs[at]) for at, number in wanted.items()}) > len({*wanted.values()}):
        return  # no table gives one number to switches that have numbers of their own
    done: dict[str, int] = {}
    for batch in _batches(before, keep):
        if changing := {name: moving[name] for name in batch if name in moving}:
            done |= changing
            yield Part(
                f"{listed([*changing], _NAMED)} with the other ASN", _table(("device", "asn"), done.items())
            )


def _same_links(before: Fabric, after: Fabric) -> bool:
    return before.shape == after.shape and before.strides == after.strides and before.units == after.units


def _meet(one: Pool | None, other: Pool | None) -> bool:
    """Whether two pools have addresses in common, or one is not there."""
    if one is None or other is None:
        return one is not other
    return one.first < other.first + (1 << other.bits) and other.first < one.first + (1 << one.bits)


def _uppers(fabric: Fabric) -> list[SwitchId]:
    return [at for at in fabric.switch_ids() if at.tier is not TierName.TOR]


def _batches(fabric: Fabric, keep: Fraction) -> Iterator[list[str]]:
    """Upper switches, spines before cores: of each plane and pod as many at a time as may be out."""
    shape = fabric.shape
    for tier, count in ((TierName.SPINE, shape.spines), (TierName.CORE, shape.cores)):
        size = max(1, int(count * (1 - keep)))
        members = [at for at in _uppers(fabric) if at.tier is tier]
        for first in range(0, count, size):
            yield [fabric.name(at) for at in members if first <= at.index < first + size]


def _links_table(before: Fabric, after: Fabric, uppers: set[str]) -> str:
    """The links to some upper switches, with the addresses that the later fabric gives them."""
    rows = []
    for at in before.switch_ids():
        name, ports = before.name(at), port_names(before, at)
        for one, other in zip(links(before, at), links(after, at), strict=True):
            if one.direction is UP and one.peer in uppers:
                ends = (name, ports[one.slot], one.peer, one.peer_port)
                rows.append((*ends, other.local4, other.remote4, other.local6, other.remote6))
    return _table(LINKS, rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()
