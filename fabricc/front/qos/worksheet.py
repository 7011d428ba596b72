"""The worksheet: every step from speed and cable to the thresholds of a port, for an engineer to check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.catalog.model import TABLE_MTU_BYTES, SwitchModel
from fabricc.front.qos import ecn, lossless_policy
from fabricc.front.qos.headroom import compute_headroom, headroom_source
from fabricc.front.qos.pools import divide_buffer, group_name, has_shared_headroom, smallest_pause_point_bytes
from fabricc.front.qos.wire import QUANTUM_BYTES, Step, cable_bytes, floor_bytes, floor_steps, pause_quanta

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from fabricc.fabric.qos import Headroom, PortProfile, SwitchQos
    from fabricc.front.qos.pools import Budget, PortGroup


class Row(NamedTuple):
    """One line: what, how much, in which unit, and by which rule or source."""

    label: str
    value: int | float
    unit: str
    source: str


class _Case(NamedTuple):
    """The inputs that all profiles of one switch share."""

    model: SwitchModel
    mtu: int
    classes: int
    divided: Budget
    queues: int
    threshold: int
    pause: int
    marking: ecn.Marking | None
    oversubscription: Fraction | None

    def citation(self, key: str) -> str:
        """Return what the catalog has a figure of the model from."""
        return self.model.sources.get(key, "catalog")


def build_worksheet(
    qos: SwitchQos,
    model: SwitchModel,
    links: Mapping[lossless_policy.LinkKind, int],
    mtu: int,
    base_rtt_ns: Mapping[lossless_policy.LinkKind, int] | int,
    *,
    marking: ecn.Marking = ecn.DCQCN,
    oversubscription: Fraction | None = None,
) -> Mapping[str, tuple[Row, ...]]:
    """Profile name -> its lines, for the policy that `switch_qos` gave for the same arguments."""
    tables = {
        kind: lossless_policy.headroom_of_kind(model, kind, mtu, oversubscription) for kind in sorted(links)
    }
    found = {kind: figures for kind, figures in tables.items() if figures is not None}
    profiles = {p.name: p for p in qos.profiles}
    groups = lossless_policy.port_groups(model, links, found) if profiles else ()
    classes = len(qos.lossless)
    if not classes:
        return _marking_sheets(qos, model, links, mtu, base_rtt_ns, marking)
    if not groups:
        return {}
    divided = divide_buffer(model.buffers, groups, classes, oversubscription)
    queues = classes * sum(group.ports for group in groups)
    lossy_alpha = model.buffers.pools.lossy_egress_alpha
    pause = smallest_pause_point_bytes(divided.shared_bytes, groups, classes, lossy_alpha)
    wanted_marks = marking if any(c.ecn for c in qos.classes) else None
    least = min(group.headroom.dynamic_th for group in groups)
    case = _Case(model, mtu, classes, divided, queues, least, pause, wanted_marks, oversubscription)
    sheets: dict[str, tuple[Row, ...]] = {}
    for group in groups:
        if (profile := profiles.get(group_name(group))) is None or profile.headroom is None:
            continue
        kinds = [k for k, f in found.items() if (k[0], f.cable_m) == (group.speed_gbps, profile.cable_m)]
        rtt = max(lossless_policy.round_trip_ns(base_rtt_ns, kind) for kind in kinds)
        longest = max(length for _, length in kinds)
        steps = (
            *_link_steps(group, longest),
            *_floor_steps(case, group),
            *_formula_steps(case, group),
            *_headroom_steps(case, profile.speed_gbps, profile.headroom),
            *_pool_steps(case),
            *_marking_steps(case, profile, rtt),
            *_watchdog_steps(qos),
        )
        sheets[profile.name] = tuple(Row(s.label, format_number(s.value), s.unit, s.source) for s in steps)
    return dict(sorted(sheets.items()))


def _marking_sheets(
    qos: SwitchQos,
    model: SwitchModel,
    links: Mapping[lossless_policy.LinkKind, int],
    mtu: int,
    base_rtt_ns: Mapping[lossless_policy.LinkKind, int] | int,
    marking: ecn.Marking,
) -> Mapping[str, tuple[Row, ...]]:
    """Return the lines of the profiles of a fabric without a lossless class, which only mark."""
    drop, cell = lossless_policy.drop_point_bytes(model, links, len(qos.marked)), model.buffers.cell_bytes
    sheets: dict[str, tuple[Row, ...]] = {}
    for profile in qos.profiles:
        kinds = [kind for kind in links if kind[0] == profile.speed_gbps]
        rtt = max(lossless_policy.round_trip_ns(base_rtt_ns, kind) for kind in kinds)
        low, high = ecn.wanted_thresholds(marking, profile.speed_gbps, rtt, mtu=mtu, cell_bytes=cell)
        rule = f"{marking.name}: {marking.source}"
        buffer = model.sources.get("buffers.total_bytes", "catalog")
        steps = [
            Step("speed", profile.speed_gbps, "Gb/s", "spec"),
            Step("cable", profile.cable_m, "m", "spec, the longest of these ports"),
            Step("ports", sum(links[kind] for kind in kinds), "", "plan"),
            Step("base round trip", rtt, "ns", "cables, forwarding and NICs"),
            Step("BDP", ecn.bdp_bytes(profile.speed_gbps, rtt), "B", "rate * round trip"),
            Step("packet buffer", model.buffers.total_bytes, "B", buffer),
            Step("marked queues", len(qos.marked) * sum(links.values()), "", "marked classes of all ports"),
            Step("drop point", drop, "B", "buffer / (1 + queues): alpha 1, all of them as full"),
            Step("buffer cell", cell, "B", model.sources.get("buffers.cell_bytes", "catalog")),
            Step(
                "highest Kmax",
                ecn.ceiling_bytes(drop, mtu, cell),
                "B",
                "drop point less one packet or 64 cells",
            ),
            Step("Kmin as wanted", low, "B", rule),
            Step("Kmax as wanted", high, "B", rule),
        ]
        if profile.ecn is not None:
            steps += [
                Step(
                    "Kmin", profile.ecn.min_bytes, "B", "as wanted; half of Kmax at most where drops are near"
                ),
                Step("Kmax", profile.ecn.max_bytes, "B", "as wanted, at most the highest"),
                Step("Pmax", profile.ecn.max_percent, "%", rule),
            ]
        sheets[profile.name] = tuple(Row(s.label, format_number(s.value), s.unit, s.source) for s in steps)
    return dict(sorted(sheets.items()))


def _link_steps(group: PortGroup, longest_m: int) -> Iterator[Step]:
    speed, length = group.speed_gbps, group.headroom.cable_m
    yield Step("speed", speed, "Gb/s", "spec")
    yield Step("cable", longest_m, "m", "spec, the longest of these ports")
    yield Step("cable, looked up", length, "m", group.headroom.source)
    yield Step("ports", group.ports, "", "plan")
    yield Step("on the cable, both ways", cable_bytes(speed, length), "B", "198,000 km/s")
    yield Step(
        "longest pause", lossless_policy.longest_pause_ns(speed), "ns", "65,535 quanta, IEEE 802.3 annex 31B"
    )
    if (quanta := pause_quanta(speed)) is not None:
        yield Step("pause response", quanta, "quanta", "IEEE 802.3 31B.3.7")
        yield Step("pause response, bytes", quanta * QUANTUM_BYTES, "B", "quanta * 512 bit")


def _floor_steps(case: _Case, group: PortGroup) -> Iterator[Step]:
    """Yield the data that arrives after a pause is due, with any equipment."""
    at = (group.speed_gbps, group.headroom.cable_m, case.mtu)
    for step in floor_steps(*at):
        yield step._replace(label=f"floor: {step.label}")
    yield Step(
        "floor", floor_bytes(*at), "B", "the data that arrives after a pause is due, with any equipment"
    )


def _formula_steps(case: _Case, group: PortGroup) -> Iterator[Step]:
    """Return the steps of the formula if the ASIC has one; next to a table row they serve as a comparison."""
    formula = case.model.buffers.formula
    if formula is None:
        return
    tabled = group.headroom.source.startswith("table")
    mtu = TABLE_MTU_BYTES if tabled else case.mtu
    pooled = has_shared_headroom(case.model.buffers, case.oversubscription)
    kind = group.speed_gbps, group.headroom.cable_m
    result = compute_headroom(formula, *kind, mtu, lanes=group.lanes, shared_pool=pooled)
    if result is None:
        return
    for step in result.steps:
        yield step._replace(label=f"formula: {step.label}")
    source = result.name + (", to compare with the table" if tabled else "")
    yield Step("formula: xoff before rounding", result.xoff_exact, "B", source)
    yield Step("formula: xoff", result.xoff_bytes, "B", source)


def _headroom_steps(case: _Case, speed_gbps: int, figures: Headroom) -> Iterator[Step]:
    source = headroom_source(case.model, speed_gbps, figures)
    yield Step("xoff", figures.xoff_bytes, "B", source)
    yield Step("xon", figures.xon_bytes, "B", source)
    if figures.xon_offset_bytes is not None:
        yield Step("xon offset", figures.xon_offset_bytes, "B", source)
    yield Step("size", figures.size_bytes, "B", source)
    yield Step("dynamic threshold", figures.dynamic_th, "", "alpha = 2**this, of the platform's table")
    if (limits := case.model.buffers.limits.alpha_exponents) is not None:
        cited = case.citation("buffers.limits.alpha_exponents")
        yield Step("dynamic threshold, least", limits[0], "", cited)
        yield Step("dynamic threshold, most", limits[1], "", cited)


def _pool_steps(case: _Case) -> Iterator[Step]:
    divided, most = case.divided, case.model.buffers.max_lossless_classes
    yield Step("lossless classes", case.classes, "", "spec")
    yield Step("lossless classes, most", most, "", case.citation("buffers.max_lossless_classes"))
    yield Step("headroom of all ports", divided.demand_bytes, "B", "sum over the switch's ports and classes")
    yield Step("buffer taken", divided.used_bytes, "B", "headroom, reserves and pools")
    yield Step("packet buffer", case.model.buffers.total_bytes, "B", case.citation("buffers.total_bytes"))
    yield Step("buffer", divided.capacity_bytes, "B", "the limit for pools and headroom")
    yield Step("shared by lossless queues", divided.shared_bytes, "B", "ingress pool without headroom")
    pools = divided.pools
    yield Step("ingress pool", pools.ingress_lossless_bytes, "B", "the rest of the buffer, or catalog")
    if pools.headroom_bytes and case.model.buffers.pools.size_includes_headroom:
        reading = case.citation("buffers.pools.size_includes_headroom")
        together = pools.ingress_lossless_bytes + pools.headroom_bytes
        yield Step("ingress pool, if headroom were separate", together, "B", reading)
    yield Step("egress lossless pool", pools.egress_lossless_bytes, "B", "catalog")
    if pools.egress_lossy_bytes is not None:
        yield Step("egress lossy pool", pools.egress_lossy_bytes, "B", "as the ingress pool, or catalog")
    if divided.oversubscription is not None:
        declared = "spec" if case.oversubscription is not None else "catalog"
        yield Step("headroom pool", pools.headroom_bytes, "B", declared)
        yield Step("headroom pool oversubscription", divided.oversubscription, "", "demand / pool")


def _marking_steps(case: _Case, profile: PortProfile, rtt_ns: int) -> Iterator[Step]:
    marking, cell = case.marking, case.model.buffers.cell_bytes
    yield Step("base round trip", rtt_ns, "ns", "cables, forwarding and NICs")
    yield Step("BDP", ecn.bdp_bytes(profile.speed_gbps, rtt_ns), "B", "rate * round trip")
    yield Step("congested queues", case.queues, "", "every lossless queue")
    if (lossy := case.divided.pools.lossy_egress_alpha) is not None:
        rule = case.citation("buffers.pools")
        yield Step("lossy queue, congested too", lossy, "", f"alpha = 2**this: {rule}")
    rule = "least alpha * shared / (1 + alpha * queues + lossy)"
    yield Step("pause point", case.pause, "B", rule)
    if marking is None:
        return
    highest = ecn.ceiling_bytes(case.pause, case.mtu, cell)
    low, high = ecn.wanted_thresholds(marking, profile.speed_gbps, rtt_ns, mtu=case.mtu, cell_bytes=cell)
    rule = f"{marking.name}: {marking.source}"
    floor = "" if isinstance(marking, ecn.FixedMarking) else f"; {ecn.FLOOR_MTUS} MTU at least"
    yield Step("buffer cell", cell, "B", case.citation("buffers.cell_bytes"))
    yield Step("highest Kmax", highest, "B", "pause point less one packet or 64 cells")
    yield Step("Kmin as wanted", low, "B", rule + floor)
    yield Step("Kmax as wanted", high, "B", rule)
    if profile.ecn is None:
        return
    yield Step("Kmin", profile.ecn.min_bytes, "B", "as wanted; half of Kmax at most where PFC is near")
    yield Step("Kmax", profile.ecn.max_bytes, "B", "as wanted, at most the highest")
    yield Step("Pmax", profile.ecn.max_percent, "%", rule)
    if lossy is not None and profile.ecn.max_bytes:
        shared = case.divided.shared_bytes
        most = ecn.most_lossy_queues(profile.ecn.max_bytes, shared, case.threshold, case.queues, lossy)
        rule = "congested at the same time; with one more the switch pauses before it marks everything"
        yield Step("lossy queues, congested, most", most, "", rule)


def _watchdog_steps(qos: SwitchQos) -> Iterator[Step]:
    if qos.watchdog is not None:
        rule = "200 ms per started group of 32 ports, within the platform's limits"
        yield Step("watchdog, detect", qos.watchdog.detect_ms, "ms", rule)
        yield Step("watchdog, restore", qos.watchdog.restore_ms, "ms", rule)
        yield Step("watchdog, poll", qos.watchdog.poll_ms, "ms", "half of the time to detect")


def format_number(value: Fraction | int) -> int | float:
    """Return a number for people: whole, or with three decimals."""
    number = round(float(value), 3)
    return int(number) if number.is_integer() else number
