"""Check whether the buffer of a switch satisfies a request, and find the nearest request that fits.

Headroom below the physical floor, and published rows that their neighbors or siblings contradict, are reported.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass, replace
from fabricc.catalog.model import Buffers, HeadroomRow, SpectrumFigures, SwitchModel
from fabricc.front.qos import pools as buffer_pools
from fabricc.front.qos.ecn import leaves_room
from fabricc.front.qos.headroom import find_headroom, headroom_source, listed_row
from fabricc.front.qos.wire import adjacent_rows, floor_bytes, is_steep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class QosFinding:
    """A finding about the lossless settings of one kind of switch; the caller adds the position.

    Attributes:
        code: `FAB4001` too many lossless classes, `FAB4002` no headroom for a link, `FAB4003` buffer over
            budget, `FAB4004` shared headroom pool oversubscribed, `FAB4005` no room for ECN below PFC, `FAB4006`
            marking starts far below the path's BDP, `FAB4007` MTU above the table's, `FAB4008` table row short of
            its own xon + xoff, `FAB4009` a preset's marks lowered below PFC, `FAB4010` stated marks above PFC,
            `FAB4011` alpha outside the platform's, `FAB4012` egress pool below the ingress share, `FAB4013`
            oversubscription without a pool, `FAB4014` more profiles than the platform holds,
            `FAB4015` trimming to a size that the platform does not have, `FAB4018` a class that the system's own
            policy does not have.
        message, help: as in a `Diagnostic`.
    """

    code: str
    severity: Severity
    message: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the buffer of one switch, and the search for the nearest request that fits.

    Attributes:
        classes: lossless classes.
        mtu: port MTU in bytes.
        oversubscription: of the headroom pool, as declared; None for the platform's own.
        marked: whether ECN needs room below the pause point.
        pool_settable: whether the system of the switch takes a size of the headroom pool.
        all_ports: speed in Gb/s -> ports of that speed that the switch can have.
    """

    buffers: Buffers
    groups: tuple[buffer_pools.PortGroup, ...]
    classes: int
    mtu: int
    oversubscription: Fraction | None = None
    marked: bool = True
    pool_settable: bool = True
    all_ports: Mapping[int, int] = field(default_factory=dict)

    def budget(self) -> buffer_pools.Budget:
        """Return the buffer as divided for this request."""
        return buffer_pools.divide_buffer(self.buffers, self.groups, self.classes, self.oversubscription)

    @property
    def acceptable(self) -> bool:
        """Return whether it fits, is oversubscribed no more than shipped, and leaves room for ECN below PFC."""
        divided = self.budget()
        if not divided.fits:
            return False
        pool = divided.pools.headroom_bytes
        if pool and max(g.headroom.xoff_bytes for g in self.groups) > pool:
            return False
        if (
            divided.oversubscription is not None
            and divided.oversubscription > buffer_pools.MOST_OVERSUBSCRIBED
        ):
            return False
        return not self.marked or leaves_room(self.pause_point(), self.mtu, self.buffers.cell_bytes)

    @property
    def proposable(self) -> bool:
        """Return whether it is acceptable, with no more lossless classes than the switch supports."""
        return self.classes <= self.buffers.max_lossless_classes and self.acceptable

    def pause_point(self) -> int:
        """Return where an ingress pauses at the earliest, a lossy queue congested too."""
        lossy_alpha = self.buffers.pools.lossy_egress_alpha
        return buffer_pools.smallest_pause_point_bytes(
            self.budget().shared_bytes, self.groups, self.classes, lossy_alpha
        )

    def remedy(self) -> str:
        """Return the largest class count, cable length and port count that fit, each with the rest unchanged."""
        options = [
            option
            for option in (self._largest_class_count(), self._cable_remedy(), self._port_count())
            if option
        ]
        pool = self._least_oversubscription()
        if options:
            text = f"the largest that fits is {'; or '.join(options)}"
            return f"{text}; or headroom as a pool, {pool}" if pool else text
        if pool:
            return f"headroom as a pool fits, {pool}"
        return "no similar plan fits: use a switch with a larger buffer, or fewer ports and lossless classes"

    def _largest_class_count(self) -> str:
        for classes in range(self.classes - 1, 0, -1):
            if replace(self, classes=classes).proposable:
                return format_count(classes, "lossless class")
        return ""

    def _cable_remedy(self) -> str:
        beyond = max(g.headroom.cable_m for g in self.groups)
        for length in self._shorter_lengths():
            if self._with_cables(length).proposable:
                return f"cables of {self._longest_cable(length, beyond)} m"
            beyond = length
        return ""

    def _longest_cable(self, fits: int, beyond: int) -> int:
        """The longest cable that fits, between a length that does and one that does not; a formula takes any."""
        while beyond - fits > 1:
            middle = (fits + beyond) // 2
            fits, beyond = (middle, beyond) if self._with_cables(middle).proposable else (fits, middle)
        return fits

    def _with_cables(self, length: int) -> Request:
        """Return the same request with no cable longer than so many metres."""
        shared = buffer_pools.has_shared_headroom(self.buffers, self.oversubscription)
        groups = []
        for group in self.groups:
            found = group.headroom
            if found.cable_m > length:
                nearer = find_headroom(
                    self.buffers, group.speed_gbps, length, self.mtu, lanes=group.lanes, shared_pool=shared
                )
                found = nearer or found
            groups.append(replace(group, headroom=found))
        return replace(self, groups=tuple(groups))

    def _shorter_lengths(self) -> Iterator[int]:
        """Listed lengths below the longest in use, longest first."""
        longest = max(g.headroom.cable_m for g in self.groups)
        speeds = {g.speed_gbps for g in self.groups}
        listed = {row.cable_m for row in self.buffers.rows if row.speed_gbps in speeds}
        yield from sorted((length for length in listed if length < longest), reverse=True)

    def _port_count(self) -> str:
        """Fewer ports in the group that demands most."""
        at = max(range(len(self.groups)), key=lambda i: _group_demand(self.groups[i]))
        group = self.groups[at]
        for ports in range(group.ports - 1, 0, -1):
            changed = list(self.groups)
            changed[at] = replace(group, ports=ports)
            if replace(self, groups=tuple(changed)).proposable:
                fewer = f"{ports} ports at {group.speed_gbps}G with {group.headroom.cable_m} m"
                total = self.all_ports.get(group.speed_gbps, 0)
                alone = len(self.groups) == 1 and total > ports  # reserved ports are no uplinks
                return f"{fewer} (`reserved_ports: {total - ports}` of the tier)" if alone else fewer
        return ""

    def _least_oversubscription(self) -> str:
        """Return the least oversubscription in whole numbers, above the present one, with which the request fits."""
        spectrum = isinstance(self.buffers.formula, SpectrumFigures)
        if not self.pool_settable or not (spectrum or self.buffers.pools.headroom_bytes):
            return ""
        groups = self.groups
        if spectrum:
            groups = tuple(
                replace(g, headroom=replace(g.headroom, size_bytes=g.headroom.xon_bytes)) for g in groups
            )
        for ratio in range(1, int(buffer_pools.MOST_OVERSUBSCRIBED) + 1):
            if self.oversubscription is not None and ratio <= self.oversubscription:
                continue
            if replace(self, groups=groups, oversubscription=Fraction(ratio)).proposable:
                return f"`buffers: {{headroom_oversubscription: {ratio}}}`"
        return ""


def fit_findings(request: Request) -> tuple[buffer_pools.Budget, tuple[QosFinding, ...]]:
    """Return the budget, and findings about what does not fit with the nearest request that would."""
    divided = request.budget()
    found = _first_misfit(request, divided)
    return divided, (found,) if found else ()


def _first_misfit(request: Request, divided: buffer_pools.Budget) -> QosFinding | None:
    groups, pools = request.groups, divided.pools
    if not divided.fits:
        message = (
            f"headroom of {format_count(request.classes, 'lossless class')} on {_list_ports(groups)} takes the "
            f"buffer to {divided.used_bytes:,} of {divided.capacity_bytes:,} bytes"
        )
        return QosFinding("FAB4003", Severity.ERROR, message, request.remedy())
    largest, pool = max(g.headroom.xoff_bytes for g in groups), pools.headroom_bytes
    if pool and largest > pool:
        message = f"one priority group needs {largest:,} bytes of headroom, the shared pool has {pool:,}"
        return QosFinding("FAB4003", Severity.ERROR, message, request.remedy())
    pause = buffer_pools.smallest_pause_point_bytes(divided.shared_bytes, groups, request.classes)
    held = pause * request.classes * sum(g.ports for g in groups)
    if pools.egress_lossless_bytes < held:
        message = (
            f"ingress ports hold up to {held:,} bytes of lossless traffic before they pause, the egress pool "
            f"{pools.egress_lossless_bytes:,}: the rest is dropped"
        )
        advice = f"the egress pool of lossless traffic needs {held:,} bytes; correct it in a catalog file of your own"
        return QosFinding("FAB4012", Severity.ERROR, message, advice)
    if divided.oversubscription is not None and divided.oversubscription > buffer_pools.MOST_OVERSUBSCRIBED:
        message = (
            f"the shared headroom pool of {pool:,} bytes is oversubscribed {float(divided.oversubscription):.1f} "
            f"times by {_list_ports(groups)}; the most that a maker is known to ship is "
            f"{float(buffer_pools.MOST_OVERSUBSCRIBED):.1f}"
        )
        return QosFinding("FAB4004", Severity.ERROR, message, request.remedy())
    if not request.acceptable:
        pause = request.pause_point()
        message = (
            f"with every lossless queue of {_list_ports(groups)} congested an ingress pauses at {pause:,} bytes, "
            "too early for ECN to mark before PFC acts"
        )
        return QosFinding("FAB4005", Severity.ERROR, message, request.remedy())
    return None


def _group_demand(group: buffer_pools.PortGroup) -> int:
    return group.ports * buffer_pools.group_headroom_bytes(group.headroom)


def _list_ports(groups: Sequence[buffer_pools.PortGroup]) -> str:
    return ", ".join(f"{g.ports} x {g.speed_gbps}G {g.headroom.cable_m} m" for g in groups)


def format_count(number: int, noun: str) -> str:
    """`1 lossless class`, `2 lossless classes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}es"


def floor_findings(
    model: SwitchModel, groups: Sequence[buffer_pools.PortGroup], mtu: int
) -> Iterator[QosFinding]:
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


def _report_low_headroom(model: SwitchModel, group: buffer_pools.PortGroup, least: int) -> QosFinding:
    figures = group.headroom
    message = (
        f"{buffer_pools.group_name(group)} ports of {model.title} have {figures.xoff_bytes:,} bytes of headroom "
        f"({headroom_source(model, group.speed_gbps, group.headroom)}); {least:,} arrive after a pause is due"
    )
    advice = "correct the row in a catalog file of your own, use another cable or switch, or accept it with a reason"
    return QosFinding("FAB5650", Severity.ERROR, message, advice)


def _report_replaced_row(
    model: SwitchModel, group: buffer_pools.PortGroup, row: HeadroomRow, least: int
) -> QosFinding:
    where = model.sources.get(f"buffers.rows.{row.speed_gbps}.{row.cable_m}", "catalog")
    why = "in a table whose figures for shorter cables are too small or larger"
    if row.xoff_bytes < least:
        why = f"less than the {least:,} that arrive after a pause is due"
    name = buffer_pools.group_name(group)
    message = (
        f"the {name} row of {model.title} gives {row.xoff_bytes:,} bytes of headroom ({where}), {why}; "
        f"{group.headroom.xoff_bytes:,} are used instead ({headroom_source(model, group.speed_gbps, group.headroom)})"
    )
    return QosFinding("FAB5651", Severity.WARNING, message, "none needed; the plan has the larger figure")


def _report_steps(
    model: SwitchModel, group: buffer_pools.PortGroup, row: HeadroomRow, mtu: int
) -> Iterator[QosFinding]:
    buffers = model.buffers
    siblings = [r for r in buffers.siblings if (r.speed_gbps, r.cable_m) == (row.speed_gbps, row.cable_m)]
    sound = [r for r in siblings if r.xoff_bytes >= floor_bytes(r.speed_gbps, r.cable_m, mtu)]
    name = buffer_pools.group_name(group)
    for other in (*adjacent_rows(row, buffers.rows), *sound):
        if not is_steep(row, other, buffers.cell_bytes):
            continue
        message = (
            f"headroom on {name} ports of {model.title} is {row.xoff_bytes:,} bytes ({row.table}) and "
            f"{other.xoff_bytes:,} for {other.cable_m} m ({other.table}): the cables do not explain the step"
        )
        advice = "confirm the correct figure with the vendor, and set it in your own catalog file"
        yield QosFinding("FAB5652", Severity.WARNING, message, advice)
