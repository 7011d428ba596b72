"""Traffic classes on switches and hosts, lossless profiles, and the worksheet of each with its sources."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.hosts.nics import host_qos, tos_byte
from fabricc.base.diagnostics.wording import plural, ranges
from fabricc.base.numbers import is_number
from fabricc.fabric.shape import HostId, TierName
from fabricc.front.qos.plot import panel_of, panel_svg
from fabricc.paperwork import plan_tables as tables
from fabricc.review.report.values import NONE, Picture, Prose, Section, Table, format_count, format_span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, Switch
    from fabricc.fabric.qos import TrafficClass
    from fabricc.front.planning.quality import QosWorksheet
    from fabricc.review.report.values import Kind, Part, Row

MOST_SHEETS = 24
"""Worksheets that the page holds; a fabric with more different ports has them all in the plan's file."""
_PROFILE = (
    "switches", "model and NOS", "profile", "ports", "group size, B", "xon, B", "headroom (xoff), B", "alpha, 2^",
    "Kmin, B", "Kmax, B", "Pmax, %",
)  # fmt: skip
_STEP = ("step", "value", "unit", "rule or source")
_HOST = (
    "host", "NIC", "system", "hosts", "ports", "MTU", "RDMA DSCP", "RDMA ToS", "CNP DSCP", "CNP priority", "QPs",
)  # fmt: skip
_FIGURES = (
    "ports", "size_bytes", "xon_bytes", "xoff_bytes", "dynamic_th", "ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent",
)  # fmt: skip


def classes_section(fabric: Fabric, switch: Switch) -> Section:
    """Return the section on traffic classes, which every switch and NIC of a fabric shares."""
    lossless = [c.name for c in switch.qos.lossless]
    protected = f"PFC protects {', '.join(lossless)}" if lossless else "No class is lossless"
    lead = f"{plural(len(switch.qos.classes), 'class')}, the same on every switch and every NIC. {protected}."
    on_switches = Table(
        "classes",
        "On every switch and NIC",
        ("class", "DSCP", "priority", "queue", "PFC", "ECN", "served", "weight, %"),
        tuple(_class_row(c) for c in switch.qos.classes),
        right=(7,),
        note="Priority is at once 802.1p priority, PFC priority, priority group, traffic class and queue; a system "
        "that numbers queues otherwise maps them itself. Weights share the bandwidth that strict classes leave.",
    )
    on_hosts = Table(
        "hosts",
        "On hosts",
        _HOST,
        tuple(_host_rows(fabric)),
        note="ToS is the byte in which the DSCP travels, ECN-capable (RFC 2474, RFC 3168). QPs: queue pairs per "
        "connection that use the fabric's parallel paths.",
    )
    return Section("classes", "Traffic classes", lead, (on_switches, on_hosts))


def _class_row(c: TrafficClass) -> Row:
    served = "strict, before all others" if c.strict else "by weight"
    weight: str | int = NONE if c.strict else c.weight_percent
    pfc, ecn = ("lossless" if c.lossless else "no"), ("marked" if c.ecn else "no")
    name = f"{c.name} (congestion notifications)" if c.cnp else c.name
    return name, ranges(c.dscps), c.priority, c.priority, pfc, ecn, served, weight


def _host_rows(fabric: Fabric) -> Iterator[Row]:
    seen: dict[int, Host] = {}
    number: dict[int, int] = {}
    for coordinate, unit in fabric.units.items():
        number[unit.group] = number.get(unit.group, 0) + len(unit.hosts)
        if unit.group not in seen and unit.hosts:
            seen[unit.group] = fabric.host(HostId(coordinate, next(iter(unit.hosts))))
    for group, host in sorted(seen.items()):
        qos = host_qos(host)
        port = host.ports[0]
        dscp = qos.rdma_dscp
        rdma: tuple[str | int, str] = (NONE, NONE) if dscp is None else (dscp, f"0x{tos_byte(dscp):02x}")
        cnp: tuple[str | int, str | int] = qos.cnp or (NONE, NONE)
        ports = format_count(len(host.ports), f"{port.speed_gbps}G")
        yield (
            host.model.title, host.nic.title, host.os, number[group], ports, port.mtu, *rdma, *cnp,
            host.recommended_qps,
        )  # fmt: skip


def buffers_section(
    fabric: Fabric, kinds: tuple[Kind, ...], worksheets: Sequence[QosWorksheet], where: str
) -> Section:
    """Return the section on lossless buffers: one row per profile, then the worksheet and picture of each."""
    if not worksheets:
        text = "No class is lossless on these switches, so there are no thresholds to compute."
        return Section("buffers", "Lossless buffers", text, ())
    shares = [(tables.switch_share(fabric.switch(kind.at)), kind.count) for kind in kinds]
    grouped = _equal_sheets(fabric, worksheets)
    lead = (
        "Headroom is the buffer for packets that arrive after a pause frame; marks come before pauses. Each worksheet "
        f"names every step, its unit and its source: {plural(len(grouped), 'kind')} of lossless port."
    )
    parts: list[Part] = [
        Table(
            "profiles",
            "Lossless profiles",
            _PROFILE,
            tuple(_profile_rows(shares)),
            codes=(2,),
            right=(8, 9, 10),
            note="group size: the reserve of a priority group, without xoff if groups share a headroom pool. "
            "alpha: a queue may take this power of two times the free shared buffer. Kmin, Kmax and Pmax are "
            "the ECN marking thresholds.",
        )
    ]
    for number, (names, sheet) in enumerate(list(grouped)[:MOST_SHEETS], 1):
        title = f"{format_span(names)}, {sheet.model.title}: {sheet.profile.name}"
        panel = panel_of(title, sheet.profile, sheet.rows)
        caption = f"{title}. Marking probability against the fill of a lossless queue, every queue as full."
        rows = tuple((row.label, row.value, row.unit, row.source) for row in sheet.rows)
        parts += [
            Picture(f"thresholds{number}", panel_svg(panel, f"thresholds{number}"), caption),
            Table(f"worksheet{number}", f"Worksheet: {title}", _STEP, rows, folded=True),
        ]
    if len(grouped) > MOST_SHEETS:
        parts.append(Prose(f"{len(grouped) - MOST_SHEETS} more kinds are in {where}."))
    else:
        parts.append(Prose(f"The same as a table: {where}."))
    return Section("buffers", "Lossless buffers", lead, tuple(parts))


def _equal_sheets(fabric: Fabric, worksheets: Sequence[QosWorksheet]) -> list[tuple[list[str], QosWorksheet]]:
    """Return worksheets with equal values for one model and profile, with the names of all their switches."""
    found: dict[object, tuple[list[str], QosWorksheet]] = {}
    for sheet in worksheets:
        key = (sheet.model.name, sheet.profile, sheet.rows)
        found.setdefault(key, ([], sheet))[0].append(_sheet_owner(fabric, sheet.switches))
    return list(found.values())


def _sheet_owner(fabric: Fabric, name: str) -> str:
    """Return the owner of a worksheet: a tier, the ToRs of a host group, or a single switch."""
    group = name.removeprefix(TierName.TOR.value)
    if name == TierName.TOR.value:
        return "ToR"
    if is_number(group) and not fabric.attachments[int(group)].slots:
        return "border leaf"
    return f"ToR of {fabric.host_models[int(group)].title}" if is_number(group) else name


def _profile_rows(shares: Sequence[tuple[tables.Share, int]]) -> Iterator[Row]:
    ports = Counter[tables.Row]()
    for share, switches in shares:
        for row, count in share:
            ports[row] += count * switches
    for row in tables.qos_rows(ports):
        of = dict(zip(tables.QOS, row, strict=True))
        tier = str(of["tier"])
        figures = [figure if isinstance(figure := of[name], int) else "off" for name in _FIGURES]
        name = "ToR" if tier == TierName.TOR.value else tier
        yield name, f"{of['model']}, {of['nos']}", str(of["profile"]), *figures
