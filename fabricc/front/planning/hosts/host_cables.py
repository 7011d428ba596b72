"""Choose the medium of host cables where the spec names none: one that is sold for the cages of hosts and ToRs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.catalog.cable_choice import find_fits, reach_of
from fabricc.catalog.model import Breakout
from fabricc.catalog.optics import End, cage_form, host_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.model import CableKind
    from fabricc.fabric.shape import Attachment, PortLayout
    from fabricc.front.planning.topology.models import Models
    from fabricc.front.spec.model import ClusterSpec

MEDIUM = ("cables", "host", "medium")
MEDIA = ("aec", "mmf", "smf")
"""Media of host cables where the spec names none: the default of the schema, then those that join two cages that are
both split, as of a DGX, where no copper cable does; in order of their price."""


def host_cable(
    spec: ClusterSpec, models: Models, layouts: Sequence[PortLayout], attached: Sequence[Attachment]
) -> CableKind:
    """Return the spec's cable between hosts and ToRs, of another medium where only the default one cannot be bought.

    Args:
        spec: whose cables.
        models: of hosts and ToRs.
        layouts: host group index -> port layout of its ToRs.
        attached: host group index -> how its hosts are attached.
    """
    cable = spec.cables.host
    if MEDIUM in spec.positions:
        return cable
    for medium in MEDIA:
        groups = zip(models.hosts, layouts, attached, strict=False)
        if all(
            _has_cable(host, models.tor, layout, medium, cable.length_m, each)
            for host, layout, each in groups
        ):
            return replace(cable, medium=medium)
    return cable


def with_host_cable(spec: ClusterSpec, planned: CableKind) -> ClusterSpec:
    """Return the spec with the medium of the planned host cable as the default that was taken."""
    if planned.medium == spec.cables.host.medium:
        return spec
    return replace(
        spec,
        cables=replace(spec.cables, host=planned),
        assumptions={**spec.assumptions, ".".join(MEDIUM): planned.medium},
    )


def _has_cable(
    host: HostModel, tor: SwitchModel, layout: PortLayout, medium: str, metres: float, attached: Attachment
) -> bool:
    """Return whether a product in the catalog connects each host port, as its cage is split, to a cage of the host."""
    whole = attached.nic_ports == 1 and not host.cages  # one cable can carry all ports of a cage of the host
    near = host_ends(host, attached.ports_per_nic, attached.gbps)
    used = [layout.slots[index] for index in layout.down[: len(layout.down) - layout.reserved]]
    ports = {(slot.cage, Breakout(slot.children, slot.speed_gbps, slot.lanes)) for slot in used}
    ends = {
        End(_form_of_cage(tor, cage), use, tor.vendor)
        for cage, use in ports
        if use.speed_gbps == attached.gbps
    }
    return not near or all(any(_has_reach(one, far, medium, metres, whole) for one in near) for far in ends)


def _has_reach(near: End, far: End, medium: str, metres: float, whole: bool) -> bool:
    alone = near.use.children == 1 or whole
    return any(reach_of(fit) >= metres for fit in find_fits(near, far, medium, alone=alone))


def _form_of_cage(tor: SwitchModel, cage: int) -> str:
    return next(cage_form(group) for group in tor.cages if group.first <= cage < group.first + group.count)
