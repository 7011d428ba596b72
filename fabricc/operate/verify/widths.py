"""Compute the equal-cost next hops of every prefix on a switch from the shape of the fabric.

The closed form holds where nothing is drained or shut on purpose. Then all switches of a tier are equal, except for
the links of ToRs to each spine, which their host group sets. A route leads straight up to a common switch and straight
down (RFC 7938, section 5.2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.expand_bgp import originated_prefixes
from fabricc.fabric.shape import Shape, SwitchId, TierName
from fabricc.operate.lab.predict import predict_network

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

LARGEST_SOLVED = 256
"""Switches up to which routes are computed one by one where something is drained or shut: our judgment."""


@dataclass(frozen=True, slots=True)
class Widths:
    """The owner of each prefix, and the number of next hops to it.

    Attributes:
        owners: prefix -> switch.
        solved: switch -> prefix -> width, where the closed form does not hold.
    """

    fabric: Fabric
    owners: dict[str, SwitchId]
    solved: dict[str, dict[str, int]] | None = None

    @classmethod
    def of(cls, fabric: Fabric) -> Widths | None:
        """Return the widths of a fabric; None for a large one in which something is drained or shut."""
        owners = {prefix: at for at in fabric.switch_ids() for prefix in originated_prefixes(fabric, at)}
        if not _is_disturbed(fabric):
            return cls(fabric, owners)
        places = list(fabric.switch_ids())
        if len(places) > LARGEST_SOLVED:
            return None
        return cls(fabric, owners, predict_network(fabric.switch(at) for at in places).widths)

    def count_next_hops(self, at: SwitchId) -> dict[str, int]:
        """Return the number of next hops of each prefix on a switch."""
        if self.solved is not None:
            return self.solved[self.fabric.name(at)]
        limit, fabrics = self.fabric.routing.maximum_paths, self.fabric.fabrics
        found = {}
        for prefix, owner in self.owners.items():
            joined = owner.plane % fabrics == at.plane % fabrics
            if joined and owner != at and (width := _compute_width(self.fabric, at, owner)):
                found[prefix] = min(width, limit)
        return found

    def kind(self, at: SwitchId, prefix: str) -> str:
        """Return the class of a prefix, as seen from a switch: `ToR aggregates of other pods`."""
        owner = self.owners[prefix]
        tier = {TierName.TOR: "ToR", TierName.SPINE: "spine", TierName.CORE: "core"}[owner.tier]
        what = "loopbacks" if prefix.endswith(("/32", "/128")) else "aggregates"
        if TierName.CORE in (owner.tier, at.tier) or not self.fabric.shape.cores:
            return f"{tier} {what}"
        if owner.pod != at.pod:
            return f"{tier} {what} of other pods"
        return f"{tier} {what} of its own pod" + (", other rails" if owner.plane != at.plane else "")


def _is_disturbed(fabric: Fabric) -> bool:
    """Return whether something is drained or shut, or a unit has no host whose links it could aggregate."""
    shut = any(
        change.drained or any(port[2] for port in change.ports.values()) for change in fabric.changes.values()
    )
    return shut or any(not unit.hosts for unit in fabric.units.values())


def _compute_width(fabric: Fabric, at: SwitchId, owner: SwitchId) -> int:
    """Return the number of links toward a connected switch; 0 where no route may lead."""
    shape = fabric.shape
    if at.tier is TierName.TOR:
        return _from_tor(shape, _links_of_tor(fabric, at), at, owner)
    if at.tier is TierName.SPINE:
        return _from_spine(fabric, at, owner)
    if owner.tier is TierName.TOR:
        return shape.spines_per_core_group * shape.links_per_core
    joined = owner.tier is TierName.SPINE and _spine_group(shape, owner) == _core_group(shape, at)
    return shape.links_per_core if joined else 0


def _links_of_tor(fabric: Fabric, tor: SwitchId) -> int:
    """Return the number of links of a ToR to each spine."""
    return fabric.tor_links[fabric.units[tor.unit].group]


def _from_tor(shape: Shape, links: int, at: SwitchId, owner: SwitchId) -> int:
    if owner.tier is TierName.TOR:
        return shape.peer_links or shape.spines * links
    if owner.tier is TierName.SPINE and _spine_set_of(owner) == _spine_set_of(at):
        return links
    return shape.spines_per_core_group * links


def _from_spine(fabric: Fabric, at: SwitchId, owner: SwitchId) -> int:
    shape = fabric.shape
    if owner.tier is TierName.TOR:
        return (
            _links_of_tor(fabric, owner) if _spine_set_of(owner) == _spine_set_of(at) else shape.spine_uplinks
        )
    if owner.tier is TierName.CORE:
        return shape.links_per_core if _core_group(shape, owner) == _spine_group(shape, at) else 0
    apart = _spine_set_of(owner) != _spine_set_of(at) and _spine_group(shape, owner) == _spine_group(
        shape, at
    )
    return shape.spine_uplinks if apart else 0


def _spine_set_of(at: SwitchId) -> tuple[int, int]:
    """Return the set of spines that a ToR or spine belongs to."""
    return at.pod, at.plane


def _spine_group(shape: Shape, spine: SwitchId) -> int:
    return spine.index // shape.spines_per_core_group


def _core_group(shape: Shape, core: SwitchId) -> int:
    return core.index // shape.cores_per_group
