"""The worksheet: every step from speed and cable to the thresholds of a port, for an engineer to check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.qos.ecn import DCQCN, FLOOR_MTUS, bdp_bytes, ceiling_bytes
from fabricc.qos.headroom import (
    QUANTUM_BYTES,
    TABLE_MTU_BYTES,
    cable_bytes,
    headroom,
    pause_quanta,
    spectrum_headroom_bytes,
)
from fabricc.qos.policy import LinkKind, group_name, lanes, port_groups, round_trip_ns
from fabricc.qos.pools import budget, smallest_pause_point_bytes
from fabricc.qos.watchdog import longest_pause_ns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import PortProfile, SwitchQos
    from fabricc.qos.pools import Budget, PortGroup


class Row(NamedTuple):
    """One line: what, how much, in which unit, and by which rule or source."""

    label: str
    value: int | float
    unit: str
    source: str


def worksheet(
    qos: SwitchQos,
    model: SwitchModel,
    links: Mapping[LinkKind, int],
    mtu: int,
    base_rtt_ns: Mapping[LinkKind, int] | int,
) -> Mapping[str, tuple[Row, ...]]:
    """Profile name -> its lines, for the policy that `switch_qos` gave for the same arguments."""
    found = {}
    for kind in sorted(links):
        if (figures := headroom(model.buffers, *kind, mtu, lanes=lanes(model, kind[0]))) is not None:
            found[kind] = figures
    profiles = {p.name: p for p in qos.profiles}
    groups = port_groups(model, links, found) if profiles else ()
    classes = len(qos.lossless)
    divided = budget(model.buffers, groups, classes)
    queues = classes * sum(group.ports for group in groups)
    sheets: dict[str, tuple[Row, ...]] = {}
    if not groups:
        return sheets
    pause = smallest_pause_point_bytes(divided.shared_bytes, groups, classes)
    for group in groups:
        if (profile := profiles.get(group_name(group))) is None:
            continue
        kinds = [k for k, f in found.items() if (k[0], f.cable_m) == (group.speed_gbps, profile.cable_m)]
        rtt = max(round_trip_ns(base_rtt_ns, kind) for kind in kinds)
        sheets[profile.name] = (
            *_link_rows(group, max(length for _, length in kinds)),
            *_formula_rows(model, group, mtu),
            *_headroom_rows(profile),
            *_pool_rows(divided, classes),
            *_marking_rows(model, profile, (queues, pause), mtu, rtt),
        )
    return dict(sorted(sheets.items()))


def _link_rows(group: PortGroup, longest_m: int) -> tuple[Row, ...]:
    speed, length = group.speed_gbps, group.headroom.cable_m
    rows = [
        Row("speed", speed, "Gb/s", "spec"),
        Row("cable", longest_m, "m", "spec, the longest of these ports"),
        Row("cable, looked up", length, "m", group.headroom.source),
        Row("ports", group.ports, "", "plan"),
        Row("on the cable, both ways", _rounded(cable_bytes(speed, length)), "B", "198,000 km/s"),
        Row("longest pause", longest_pause_ns(speed), "ns", "65,535 quanta, IEEE 802.3 annex 31B"),
    ]
    if (quanta := pause_quanta(speed)) is not None:
        rows.append(Row("pause response", quanta, "quanta", "IEEE 802.3 31B.3.7"))
        rows.append(Row("pause response, bytes", quanta * QUANTUM_BYTES, "B", "quanta * 512 bit"))
    return tuple(rows)


def _formula_rows(model: SwitchModel, group: PortGroup, mtu: int) -> tuple[Row, ...]:
    """The steps of the formula where the ASIC has one; beside a table row they are there to compare."""
    if model.buffers.formula is None or pause_quanta(group.speed_gbps) is None:
        return ()
    tabled = group.headroom.source.startswith("table")
    steps = spectrum_headroom_bytes(
        model.buffers.formula,
        group.speed_gbps,
        group.headroom.cable_m,
        TABLE_MTU_BYTES if tabled else mtu,
        lanes=group.lanes,
        shared_pool=model.buffers.pools.headroom_bytes > 0,
    )
    source = f"Spectrum formula {steps.version.name}" + (", to compare" if tabled else "")
    return (
        Row("formula: MTU", steps.mtu_bytes, "B", "of the table" if tabled else "spec"),
        Row("formula: MAC and PHY", _rounded(steps.mac_phy_bytes), "B", "ASIC table"),
        Row("formula: tile", _rounded(steps.tile_bytes), "B", "speed * 120 ns"),
        Row("formula: worst cell factor", _rounded(steps.cell_factor), "", "cell / 64 B"),
        Row("formula: occupancy", _rounded(steps.occupancy), "", "cell factor by share of small packets"),
        Row("formula: xoff before rounding", _rounded(steps.xoff_exact), "B", source),
        Row("formula: xoff", steps.xoff_bytes, "B", "up to a KiB"),
    )


def _headroom_rows(profile: PortProfile) -> tuple[Row, ...]:
    figures = profile.headroom
    rows = [
        Row("xoff", figures.xoff_bytes, "B", figures.source),
        Row("xon", figures.xon_bytes, "B", figures.source),
        Row("size", figures.size_bytes, "B", figures.source),
        Row("dynamic threshold", figures.dynamic_th, "", "alpha = 2**this, of the platform's table"),
    ]
    if figures.xon_offset_bytes is not None:
        rows.insert(2, Row("xon offset", figures.xon_offset_bytes, "B", figures.source))
    return tuple(rows)


def _pool_rows(divided: Budget, classes: int) -> tuple[Row, ...]:
    rows = [
        Row("lossless classes", classes, "", "spec"),
        Row("headroom of all ports", divided.demand_bytes, "B", "sum over the switch's ports and classes"),
        Row("buffer taken", divided.used_bytes, "B", "headroom, reserves and pools"),
        Row("buffer", divided.capacity_bytes, "B", "catalog"),
        Row("shared by lossless queues", divided.shared_bytes, "B", "ingress pool without headroom"),
    ]
    if divided.oversubscription is not None:
        ratio = _rounded(divided.oversubscription)
        rows.append(Row("headroom pool", divided.pools.headroom_bytes, "B", "catalog"))
        rows.append(Row("headroom pool oversubscription", ratio, "", "demand / pool"))
    return tuple(rows)


def _marking_rows(
    model: SwitchModel, profile: PortProfile, crowd: tuple[int, int], mtu: int, rtt_ns: int
) -> tuple[Row, ...]:
    queues, pause = crowd
    cell = model.buffers.cell_bytes
    minimum, ratio = f"max(BDP, {FLOOR_MTUS} MTU), to the cell", DCQCN.max_ratio
    return (
        Row("base round trip", rtt_ns, "ns", "cables, forwarding and NICs"),
        Row("BDP", bdp_bytes(profile.speed_gbps, rtt_ns), "B", "rate * round trip"),
        Row("congested queues", queues, "", "every lossless queue"),
        Row("pause point", pause, "B", "alpha * shared / (1 + alpha * queues), least of the switch"),
        Row("highest Kmax", ceiling_bytes(pause, mtu, cell), "B", "pause point less one packet or 64 cells"),
        Row("Kmin", profile.ecn.min_bytes, "B", f"{DCQCN.name}: {minimum}"),
        Row("Kmax", profile.ecn.max_bytes, "B", f"{DCQCN.name}: {ratio} Kmin, at most the highest"),
        Row("Pmax", profile.ecn.max_percent, "%", f"{DCQCN.name}"),
    )


def _rounded(value: Fraction) -> int | float:
    number = round(float(value), 3)
    return int(number) if number.is_integer() else number
