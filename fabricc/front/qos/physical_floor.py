"""Headroom below the physical floor, and published rows that their neighbors or siblings contradict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.front.qos.finding import QosFinding
from fabricc.front.qos.floor import adjacent_rows, floor_bytes, is_steep
from fabricc.front.qos.headroom import listed_row
from fabricc.front.qos.pools import group_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.catalog.model import HeadroomRow, SwitchModel
    from fabricc.front.qos.pools import PortGroup


def floor_findings(model: SwitchModel, groups: Sequence[PortGroup], mtu: int) -> Iterator[QosFinding]:
    """Report problems with the headroom of each group of ports, from whichever source."""
    for group in groups:
        row = listed_row(model.buffers, group.speed_gbps, group.headroom.cable_m)
        least = floor_bytes(group.speed_gbps, group.headroom.cable_m, mtu)
        if group.headroom.xoff_bytes < least:
            yield _report_low_headroom(model, group, least)
        elif row is not None and group.headroom.xoff_bytes > row.xoff_bytes:
            yield _report_replaced_row(model, group, row, least)
        elif row is not None:
            yield from _report_steps(model, group, row, mtu)


def _report_low_headroom(model: SwitchModel, group: PortGroup, least: int) -> QosFinding:
    figures = group.headroom
    message = (
        f"{group_name(group)} ports of {model.title} have {figures.xoff_bytes:,} bytes of headroom "
        f"({_source_of_headroom(model, group)}); {least:,} arrive after a pause is due"
    )
    advice = "correct the row in a catalog file of your own, use another cable or switch, or accept it with a reason"
    return QosFinding("FAB5650", Severity.ERROR, message, advice)


def _report_replaced_row(model: SwitchModel, group: PortGroup, row: HeadroomRow, least: int) -> QosFinding:
    where = model.sources.get(f"buffers.rows.{row.speed_gbps}.{row.cable_m}", "catalog")
    why = "in a table whose figures for shorter cables are too small or larger"
    if row.xoff_bytes < least:
        why = f"less than the {least:,} that arrive after a pause is due"
    message = (
        f"the {group_name(group)} row of {model.title} gives {row.xoff_bytes:,} bytes of headroom ({where}), {why}; "
        f"{group.headroom.xoff_bytes:,} are used instead ({_source_of_headroom(model, group)})"
    )
    return QosFinding("FAB5651", Severity.WARNING, message, "none needed; the plan has the larger figure")


def _report_steps(model: SwitchModel, group: PortGroup, row: HeadroomRow, mtu: int) -> Iterator[QosFinding]:
    buffers = model.buffers
    siblings = [r for r in buffers.siblings if (r.speed_gbps, r.cable_m) == (row.speed_gbps, row.cable_m)]
    sound = [r for r in siblings if r.xoff_bytes >= floor_bytes(r.speed_gbps, r.cable_m, mtu)]
    for other in (*adjacent_rows(row, buffers.rows), *sound):
        if not is_steep(row, other, buffers.cell_bytes):
            continue
        message = (
            f"headroom on {group_name(group)} ports of {model.title} is {row.xoff_bytes:,} bytes ({row.table}) and "
            f"{other.xoff_bytes:,} for {other.cable_m} m ({other.table}): the cables do not explain the step"
        )
        advice = "ask the vendor which one is right, and correct the other in your own catalog file"
        yield QosFinding("FAB5652", Severity.WARNING, message, advice)


def _source_of_headroom(model: SwitchModel, group: PortGroup) -> str:
    figures = group.headroom
    path = f"buffers.rows.{group.speed_gbps}.{figures.cable_m}"
    cited = model.sources.get(path if figures.source.startswith("table") else "buffers.formula")
    return f"{figures.source}: {cited}" if cited else figures.source
