"""Check rows of the identity tables: valid ends of links, and errors about others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.document import clip
from fabricc.fabric.given_identities import Ends

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Position
    from fabricc.fabric.addresses import Pool
    from fabricc.front.spec.model import DeviceRow, LinkRow


def ends_of(
    row: LinkRow,
    a_is_upper: bool,
    pools: tuple[Pool | None, Pool | None],
    kind: str,
    findings: list[Diagnostic],
) -> Ends:
    """Return the addresses that a row assigns to a link, upper end first.

    Args:
        row: the line.
        a_is_upper: whether its first end is the upper one.
        pools: those that such links have their addresses from, IPv4 and IPv6.
        kind: such links, in words.
        findings: gets what cannot be.
    """
    pairs: list[tuple[str, str] | None] = []
    for column, (first, second), pool in zip(("a_ipv4", "a_ipv6"), (row.ipv4, row.ipv6), pools, strict=True):
        why = ""
        if first is None and second is None:
            pairs.append(None)
            continue
        if pool is None:
            why = f"{kind} have no such addresses in this fabric"
        elif first is None or second is None or not _is_link_pair(pool, int(first), int(second)):
            why = f"the ends have no two addresses of one /{pool.link_length}"
        if why:
            two = "10.1.0.1 and 10.1.0.2" if pool and pool.wide else "10.1.0.0 and 10.1.0.1"
            help_ = f"Give both ends, such as {two}, or neither."
            findings.append(error_at("FAB3126", f"{' '.join(row.a)}: {why}", row, column, help_))
            pairs.append(None)
        else:
            texts = str(first), str(second)
            pairs.append(texts if a_is_upper else (texts[1], texts[0]))
    return Ends(*pairs)


def _is_link_pair(pool: Pool, first: int, second: int) -> bool:
    """Return whether two addresses are the ends of one link of a pool, or of a similar link."""
    return first ^ second == (3 if pool.wide else 1) and not (pool.wide and first % 4 in (0, 3))


def no_link(row: LinkRow) -> Diagnostic:
    """Report FAB3125: no link joins the ends of a row."""
    help_ = "plan/cabling.csv has the links: its rows fit this table."
    told = f"no link joins {' '.join(row.a)} and {' '.join(row.b)}"
    return error_at("FAB3125", clip(told), row, "a_device", help_)


def report_duplicate_link(row: LinkRow, first: LinkRow) -> Diagnostic:
    """Report FAB3122: two rows for one link."""
    told = f"{' '.join(row.a)} has its addresses in line {line_of(first)} already"
    return error_at("FAB3122", told, row, "a_device", "Give each link one line.")


def line_of(row: LinkRow) -> int:
    """Return the line number of a row."""
    return row.positions["a_device"].line


def error_at(code: str, message: str, row: DeviceRow | LinkRow, column: str, help: str) -> Diagnostic:
    """Return an error at a cell of a row."""
    at: Position = row.positions.get(column) or next(iter(row.positions.values()))
    return Diagnostic(code, Severity.ERROR, message, at, help)
