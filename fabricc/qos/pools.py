"""The buffer budget of one switch: what headroom takes, what is left to share, and what would fit instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.diagnostics import Severity
from fabricc.fabric.model import BufferPools, Headroom
from fabricc.qos.ecn import leaves_room, pause_point_bytes
from fabricc.qos.finding import QosFinding
from fabricc.qos.headroom import headroom, xon_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.catalog.model import Buffers

SPECTRUM_PORT_OVERHEAD_BYTES = 20 * 1024
"""Per port, beside priority groups: 10 KiB for egress mirroring and 10 KiB of private headroom."""

SPECTRUM_MANAGEMENT_BYTES = 256 * 1024
"""Per switch: the pool of the management traffic."""

MOST_OVERSUBSCRIBED = Fraction(16, 3)
"""The highest ratio of headroom demand to shared headroom pool that a maker ships (7060X6-64PE-O128S2: 5.33)."""


@dataclass(frozen=True, slots=True)
class PortGroup:
    """Ports of one speed and cable class."""

    speed_gbps: int
    ports: int
    lanes: int
    headroom: Headroom


@dataclass(frozen=True, slots=True)
class Budget:
    """How the buffer is divided, bytes.

    Attributes:
        capacity_bytes: what the pools and the headroom have to fit into.
        used_bytes: everything that is taken of it.
        demand_bytes: headroom of all lossless priority groups together.
        shared_bytes: what lossless queues share beyond headroom and guarantees; negative when over budget.
        oversubscription: demand over the shared headroom pool; None without such a pool.
    """

    pools: BufferPools
    capacity_bytes: int
    used_bytes: int
    demand_bytes: int
    shared_bytes: int
    oversubscription: Fraction | None

    @property
    def fits(self) -> bool:
        """Whether everything has a place."""
        return self.used_bytes <= self.capacity_bytes and self.shared_bytes > 0


def group_headroom_bytes(figures: Headroom) -> int:
    """Headroom of one priority group that shares it with no other.

    `size` counts xoff in on Spectrum and leaves it out on Broadcom, where it is a small guarantee.
    """
    size, xoff = figures.size_bytes, figures.xoff_bytes
    return size if size >= xoff else size + xoff


def budget(buffers: Buffers, groups: Sequence[PortGroup], lossless_classes: int) -> Budget:
    """Divides the buffer of one switch, by the platform's own way of accounting.

    - Spectrum formula and no shared headroom pool: the whole buffer is the egress lossless pool; headroom and the
      reserves of every port come off it and the rest is the ingress pool, as sonic-swss buffer_pool_mellanox.lua
      has it. (Its reserves explain the shipped lossy pools of SN5600-C224O8, SN5600-C256S1, both SN5610N and
      SN5640 to the byte.)
    - Other platforms: the pools are the catalog's, and have to fit together with the headroom that is not in them.
    """
    pools = buffers.pools
    if pools.headroom_bytes:
        return _with_headroom_pool(buffers, groups, lossless_classes)
    demand = sum(lossless_classes * g.ports * group_headroom_bytes(g.headroom) for g in groups)
    if buffers.formula is not None:
        capacity = min(buffers.total_bytes, pools.egress_lossless_bytes)
        reserved = spectrum_reserved_bytes(buffers, groups)
        left = (capacity - reserved - demand) // buffers.cell_bytes * buffers.cell_bytes
        lossy = None if pools.egress_lossy_bytes is None else left
        divided = replace(_catalog_pools(buffers), ingress_lossless_bytes=left, egress_lossy_bytes=lossy)
        return Budget(divided, capacity, reserved + demand, demand, left, None)
    inside = demand if pools.size_includes_headroom else 0
    used = pools.ingress_lossless_bytes + demand - inside
    shared = pools.ingress_lossless_bytes - inside
    return Budget(_catalog_pools(buffers), buffers.total_bytes, used, demand, shared, None)


def spectrum_reserved_bytes(buffers: Buffers, groups: Sequence[PortGroup]) -> int:
    """What a Spectrum switch reserves beside lossless groups and pools.

    Per port one lossy and one management priority group of xon each and a fixed overhead; per switch the
    management pool.

    Raises:
        ValueError: the platform has no Spectrum figures.
    """
    if buffers.formula is None:
        raise ValueError("the reserves of a platform without Spectrum figures are not known")
    per_switch = SPECTRUM_MANAGEMENT_BYTES
    for group in groups:
        per_switch += group.ports * (
            2 * xon_bytes(buffers.formula, group.lanes) + SPECTRUM_PORT_OVERHEAD_BYTES
        )
    return per_switch


def smallest_pause_point_bytes(shared_bytes: int, groups: Sequence[PortGroup], lossless_classes: int) -> int:
    """The lowest occupancy at which any ingress of the switch pauses: every lossless queue as full as it.

    Where alphas differ the smallest counts for all, so that queues that stay below it cannot pause anyone.
    """
    queues = lossless_classes * sum(g.ports for g in groups)
    return min(pause_point_bytes(shared_bytes, g.headroom.dynamic_th, queues) for g in groups)


def pool_findings(
    buffers: Buffers, groups: Sequence[PortGroup], lossless_classes: int, mtu: int
) -> tuple[Budget, tuple[QosFinding, ...]]:
    """The budget, and what does not fit together with the nearest request that would."""
    divided = budget(buffers, groups, lossless_classes)
    request = _Request(buffers, tuple(groups), lossless_classes, mtu)
    if not divided.fits:
        message = (
            f"headroom of {_count(lossless_classes, 'lossless class')} on {_ports(groups)} takes the buffer to "
            f"{divided.used_bytes:,} of {divided.capacity_bytes:,} bytes"
        )
        return divided, (QosFinding("FAB4003", Severity.ERROR, message, request.remedy()),)
    largest = max(g.headroom.xoff_bytes for g in groups)
    pool = divided.pools.headroom_bytes
    if pool and largest > pool:
        message = f"one priority group needs {largest:,} bytes of headroom, the shared pool has {pool:,}"
        return divided, (QosFinding("FAB4003", Severity.ERROR, message, request.remedy()),)
    ratio = divided.oversubscription
    if ratio is not None and ratio > MOST_OVERSUBSCRIBED:
        message = (
            f"the shared headroom pool of {pool:,} bytes is oversubscribed {float(ratio):.1f} times by "
            f"{_ports(groups)}; the most that a maker is known to ship is {float(MOST_OVERSUBSCRIBED):.1f}"
        )
        return divided, (QosFinding("FAB4004", Severity.WARNING, message, request.remedy()),)
    if not request.acceptable(groups, lossless_classes):
        pause = smallest_pause_point_bytes(divided.shared_bytes, groups, lossless_classes)
        message = (
            f"with every lossless queue of {_ports(groups)} congested an ingress pauses at {pause:,} bytes, "
            "too early for ECN to mark before PFC acts"
        )
        return divided, (QosFinding("FAB4005", Severity.ERROR, message, request.remedy()),)
    return divided, ()


def _with_headroom_pool(buffers: Buffers, groups: Sequence[PortGroup], lossless_classes: int) -> Budget:
    """Shared headroom: only its pool counts, while each group's `size` is guaranteed out of the ingress pool."""
    pools = buffers.pools
    demand = sum(lossless_classes * g.ports * g.headroom.xoff_bytes for g in groups)
    guaranteed = sum(lossless_classes * g.ports * g.headroom.size_bytes for g in groups)
    inside = pools.headroom_bytes if pools.size_includes_headroom else 0
    return Budget(
        pools=_catalog_pools(buffers),
        capacity_bytes=buffers.total_bytes,
        used_bytes=pools.ingress_lossless_bytes + pools.headroom_bytes - inside,
        demand_bytes=demand,
        shared_bytes=pools.ingress_lossless_bytes - inside - guaranteed,
        oversubscription=Fraction(demand, pools.headroom_bytes),
    )


def _catalog_pools(buffers: Buffers) -> BufferPools:
    pools = buffers.pools
    return BufferPools(
        ingress_lossless_bytes=pools.ingress_lossless_bytes,
        headroom_bytes=pools.headroom_bytes,
        egress_lossless_bytes=pools.egress_lossless_bytes,
        egress_lossy_bytes=pools.egress_lossy_bytes,
        egress_lossless_static=pools.egress_lossless_static,
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that does not fit, and the search for the nearest ones that do."""

    buffers: Buffers
    groups: tuple[PortGroup, ...]
    classes: int
    mtu: int

    def acceptable(self, groups: Sequence[PortGroup], classes: int) -> bool:
        """Whether a request fits, is oversubscribed no more than shipped, and leaves room for ECN below PFC."""
        divided = budget(self.buffers, groups, classes)
        if not divided.fits:
            return False
        pool = divided.pools.headroom_bytes
        if pool and max(g.headroom.xoff_bytes for g in groups) > pool:
            return False
        if divided.oversubscription is not None and divided.oversubscription > MOST_OVERSUBSCRIBED:
            return False
        pause = smallest_pause_point_bytes(divided.shared_bytes, groups, classes)
        return leaves_room(pause, self.mtu, self.buffers.cell_bytes)

    def remedy(self) -> str:
        """The largest class count, cable length and port count that fit, each with the rest unchanged."""
        options = [option for option in (self._classes(), self._cable(), self._port_count()) if option]
        if not options:
            return (
                "nothing near it fits: use a switch with a larger buffer, or fewer ports and lossless classes"
            )
        return f"the largest that fits is {'; or '.join(options)}"

    def _classes(self) -> str:
        for classes in range(self.classes - 1, 0, -1):
            if self.acceptable(self.groups, classes):
                return _count(classes, "lossless class")
        return ""

    def _cable(self) -> str:
        for length in self._shorter():
            groups = []
            for group in self.groups:
                found = group.headroom
                if found.cable_m > length:
                    nearer = headroom(self.buffers, group.speed_gbps, length, self.mtu, lanes=group.lanes)
                    found = nearer or found
                groups.append(replace(group, headroom=found))
            if self.acceptable(groups, self.classes):
                return f"cables of {length} m"
        return ""

    def _shorter(self) -> Iterator[int]:
        """Listed lengths below the longest in use, longest first."""
        longest = max(g.headroom.cable_m for g in self.groups)
        speeds = {g.speed_gbps for g in self.groups}
        listed = {row.cable_m for row in self.buffers.rows if row.speed_gbps in speeds}
        yield from sorted((length for length in listed if length < longest), reverse=True)

    def _port_count(self) -> str:
        """Fewer ports in the group that demands most."""
        at = max(range(len(self.groups)), key=lambda i: _group_demand(self.groups[i]))
        group = self.groups[at]

        def with_ports(ports: int) -> list[PortGroup]:
            changed = list(self.groups)
            changed[at] = replace(group, ports=ports)
            return changed

        for ports in range(group.ports - 1, 0, -1):
            if self.acceptable(with_ports(ports), self.classes):
                return f"{ports} ports at {group.speed_gbps}G with {group.headroom.cable_m} m"
        return ""


def _group_demand(group: PortGroup) -> int:
    return group.ports * group_headroom_bytes(group.headroom)


def _ports(groups: Sequence[PortGroup]) -> str:
    return ", ".join(f"{g.ports} x {g.speed_gbps}G {g.headroom.cable_m} m" for g in groups)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}es"
