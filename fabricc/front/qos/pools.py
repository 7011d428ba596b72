"""The buffer budget of one switch: what headroom takes, and what is left to share."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace, shared_attributes
from fabricc.catalog.model import Buffers, SpectrumFigures
from fabricc.fabric.qos import BufferPools, Headroom
from fabricc.front.qos.ecn import pause_point_bytes
from fabricc.front.qos.headroom import spectrum_xon_bytes
from fabricc.front.qos.wire import down_to_cell, up_to_cell

if TYPE_CHECKING:
    from collections.abc import Sequence


SPECTRUM_PORT_OVERHEAD_BYTES = 20 * 1024
"""Overhead per port besides priority groups: 10 KiB for egress mirroring and 10 KiB of private headroom."""

SPECTRUM_PRIVATE_BYTES = 10 * 1024
"""The private part of that, which comes off the headroom that ports share."""

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


def profile_name(speed_gbps: int, cable_m: int) -> str:
    """Return the name of a port profile, e.g. `400g-40m`."""
    return f"{speed_gbps}g-{cable_m}m"


def group_name(group: PortGroup) -> str:
    """Return the name of the profile of a group of ports."""
    return profile_name(group.speed_gbps, group.headroom.cable_m)


@dataclass(frozen=True, slots=True)
class Budget:
    """The division of the buffer, bytes.

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
        """Return whether everything has a place."""
        return self.used_bytes <= self.capacity_bytes and self.shared_bytes > 0


def group_headroom_bytes(figures: Headroom) -> int:
    """Headroom of one priority group that shares it with no other.

    `size` counts xoff in on Spectrum and leaves it out on Broadcom, where it is a small guarantee.
    """
    size, xoff = figures.size_bytes, figures.xoff_bytes
    return size if size >= xoff else size + xoff


def has_shared_headroom(buffers: Buffers, oversubscription: Fraction | None) -> bool:
    """Return whether priority groups take headroom from a pool: by the platform, or by request on a Spectrum."""
    requested = oversubscription is not None and isinstance(buffers.formula, SpectrumFigures)
    return buffers.pools.headroom_bytes > 0 or requested


def divide_buffer(
    buffers: Buffers,
    groups: Sequence[PortGroup],
    lossless_classes: int,
    oversubscription: Fraction | None = None,
) -> Budget:
    """Divides the buffer of one switch, by the platform's own way of accounting.

    - Spectrum formula and no shared headroom pool: the whole buffer is the egress lossless pool; headroom and the
      reserves of every port come off it and the rest is the ingress pool, as sonic-swss buffer_pool_mellanox.lua
      has it. (Its reserves explain the shipped lossy pools of SN5600-C224O8, SN5600-C256S1, both SN5610N and
      SN5640 to the byte.)
    - Spectrum with a declared oversubscription: the same, and headroom is one pool of demand over ratio.
    - Other platforms: the pools are the catalog's, and have to fit together with the headroom that is not in them.
      A declared oversubscription sets the headroom pool; what that frees or takes is the ingress pool's.

    `oversubscription`: headroom demand over headroom pool, as declared; None for the platform's own division.
    """
    if isinstance(buffers.formula, SpectrumFigures) and not buffers.pools.headroom_bytes:
        return _divide_spectrum(buffers, groups, lossless_classes, oversubscription)
    pools = buffers.pools
    if pools.headroom_bytes:
        return _with_headroom_pool(buffers, groups, lossless_classes, oversubscription)
    demand = sum(lossless_classes * g.ports * group_headroom_bytes(g.headroom) for g in groups)
    inside = demand if pools.size_includes_headroom else 0
    used = pools.ingress_lossless_bytes + demand - inside
    shared = pools.ingress_lossless_bytes - inside
    return Budget(_catalog_pools(buffers), buffers.total_bytes, used, demand, shared, None)


def _divide_spectrum(
    buffers: Buffers, groups: Sequence[PortGroup], classes: int, oversubscription: Fraction | None
) -> Budget:
    """Return what reserves and headroom leave is the ingress pool; lossy traffic shares it."""
    capacity = min(buffers.total_bytes, buffers.pools.egress_lossless_bytes)
    taken = spectrum_reserved_bytes(buffers, groups)
    if oversubscription is None:
        pool, ratio = 0, None
        demand = sum(classes * g.ports * group_headroom_bytes(g.headroom) for g in groups)
        taken += demand
    else:
        private = sum(g.ports for g in groups) * SPECTRUM_PRIVATE_BYTES
        demand = max(0, sum(classes * g.ports * g.headroom.xoff_bytes for g in groups) - private)
        pool = _headroom_pool(buffers, groups, demand, oversubscription)
        ratio = Fraction(demand, pool)
        taken += pool + sum(classes * g.ports * g.headroom.size_bytes for g in groups)
    left = down_to_cell(capacity - taken, buffers.cell_bytes)
    lossy = None if buffers.pools.egress_lossy_bytes is None else left
    divided = replace(
        _catalog_pools(buffers), ingress_lossless_bytes=left, egress_lossy_bytes=lossy, headroom_bytes=pool
    )
    return Budget(divided, capacity, taken, demand, left, ratio)


def _headroom_pool(
    buffers: Buffers, groups: Sequence[PortGroup], demand: int, oversubscription: Fraction
) -> int:
    """Return the pool of a declared ratio in whole cells; never less than the largest single group can need."""
    largest = max(g.headroom.xoff_bytes for g in groups)
    return up_to_cell(max(demand / oversubscription, Fraction(largest)), buffers.cell_bytes)


def spectrum_reserved_bytes(buffers: Buffers, groups: Sequence[PortGroup]) -> int:
    """Return the memory that a Spectrum switch reserves in addition to lossless groups and pools.

    Per port one lossy and one management priority group of xon each and a fixed overhead; per switch the
    management pool.

    Raises:
        ValueError: the platform has no Spectrum figures.
    """
    if not isinstance(buffers.formula, SpectrumFigures):
        raise ValueError("the reserves of a platform without Spectrum figures are not known")
    per_switch = SPECTRUM_MANAGEMENT_BYTES
    for group in groups:
        reserved = 2 * spectrum_xon_bytes(buffers.formula, group.lanes) + SPECTRUM_PORT_OVERHEAD_BYTES
        per_switch += group.ports * reserved
    return per_switch


def smallest_pause_point_bytes(
    shared_bytes: int, groups: Sequence[PortGroup], lossless_classes: int, lossy_alpha: int | None = None
) -> int:
    """Return the lowest occupancy at which any ingress of the switch pauses: every lossless queue as full as it.

    Where alphas differ the smallest counts for all, so that queues that stay below it cannot pause anyone.
    `lossy_alpha` is the exponent of a lossy queue that is congested too; None where there is none.
    """
    queues = lossless_classes * sum(g.ports for g in groups)
    return min(pause_point_bytes(shared_bytes, g.headroom.dynamic_th, queues, lossy_alpha) for g in groups)


def _with_headroom_pool(
    buffers: Buffers, groups: Sequence[PortGroup], classes: int, oversubscription: Fraction | None
) -> Budget:
    """Shared headroom: only its pool counts, while each group's `size` is guaranteed out of the ingress pool."""
    pools = _catalog_pools(buffers)
    demand = sum(classes * g.ports * g.headroom.xoff_bytes for g in groups)
    guaranteed = sum(classes * g.ports * g.headroom.size_bytes for g in groups)
    includes = buffers.pools.size_includes_headroom
    if oversubscription is not None:
        pool = _headroom_pool(buffers, groups, demand, oversubscription)
        left = pools.ingress_lossless_bytes + (0 if includes else pools.headroom_bytes - pool)
        pools = replace(pools, headroom_bytes=pool, ingress_lossless_bytes=left)
    inside = pools.headroom_bytes if includes else 0
    return Budget(
        pools=pools,
        capacity_bytes=buffers.total_bytes,
        used_bytes=pools.ingress_lossless_bytes + pools.headroom_bytes - inside,
        demand_bytes=demand,
        shared_bytes=pools.ingress_lossless_bytes - inside - guaranteed,
        oversubscription=Fraction(demand, pools.headroom_bytes),
    )


def _catalog_pools(buffers: Buffers) -> BufferPools:
    return BufferPools(**shared_attributes(buffers.pools, BufferPools))
