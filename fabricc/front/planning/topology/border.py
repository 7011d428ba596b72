"""Border leaves: ToRs without hosts, for links that leave the fabric.

They fill units of their own, as many to a unit and plane as a host's rails have ToRs, and have the ASNs, loopbacks,
spine ports and link addresses of those ToRs; of the hosts pool they have nothing. The lock pins their units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.fabric.shape import Attachment, Shape
from fabricc.front.planning.topology.attachments import find_leading_group
from fabricc.front.planning.topology.layout import Block, arrange_ports
from fabricc.front.planning.topology.models import Models, UnfitError
from fabricc.front.planning.topology.units import border_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning.topology.shape import Sizing
    from fabricc.front.spec.model import ClusterSpec


def with_border(spec: ClusterSpec, models: Models, sizing: Sizing) -> Sizing:
    """Return the shape with a layout for the border leaves of each of their units, after those of the host groups.

    Raises:
        UnfitError: FAB3088, more links to a spine than there are positions; FAB3089, spines by rail.
    """
    shape, leaves = sizing.shape, border_units(spec, models.hosts, sizing.bottom.attached)
    if not leaves:
        return sizing
    if spec.tors.border_links > shape.links_per_spine:
        message = (
            f"a border leaf is to have {plural(spec.tors.border_links, 'link')} to each spine; spines keep "
            f"ports for {shape.links_per_spine} to each ToR"
        )
        help_ = f"Write `border_links: {shape.links_per_spine}`."
        raise UnfitError(spec.error("FAB3088", message, *("tors", "border_links"), help=help_))
    if shape.rail_planes > 1:
        message = "a border leaf joins all rails, and each set of spines is of some rails alone"
        help_ = "Remove it, and lead out from spines or cores."
        raise UnfitError(spec.error("FAB3089", message, *("tors", "border"), help=help_))
    up = Block(shape.uplink_gbps, shape.uplinks)
    layout = arrange_ports(models.tor, Block(shape.uplink_gbps, 0), up, sizing.tor_up_cage,
                     uplinks_first=spec.tors.uplinks_first)  # fmt: skip
    assert layout is not None
    return replace(sizing, tor_layouts=sizing.tor_layouts + (layout,) * len(leaves))


def border_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3370 (a note) where the units of border leaves keep more ports of each spine than these have links."""
    shape, units = fabric.shape, [unit for unit in fabric.places() if unit.border is not None]
    kept = len(units) * shape.tors_per_unit_plane * shape.links_per_spine
    idle = kept - spec.tors.border * spec.tors.border_links
    if not units or not idle:
        return
    most = (
        len(units)
        * fabric.attachments[find_leading_group(fabric.host_models, range(len(spec.gpus.groups)))].tors
    )
    leaves = "a border leaf" if spec.tors.border == 1 else f"{spec.tors.border} border leaves"
    more = ""
    if spec.tors.border < most:
        more = f"border: {most}"
    elif spec.tors.border_links < shape.links_per_spine:
        more = f"border_links: {shape.links_per_spine}"
    where = "each spine of their pods" if shape.cores else "each spine"
    yield spec.note(
        "FAB3370",
        f"{leaves} to each plane: {plural(kept, 'port')} kept at {where}, as of "
        f"{plural(len(units), 'unit')} of hosts, {idle} of them without a link",
        *("tors", "border"),
        help=f"`{more}` takes no port more."
        if more
        else "Lead out from spines or ToRs of hosts if ports are short.",
    )


def leaf_attachments(shape: Shape, leaves: Sequence[int]) -> tuple[Attachment, ...]:
    """Return attachments for units with border leaves: no hosts, and ToRs for as many rails as leaves per plane."""
    return tuple(
        Attachment(count, shape.port_planes, 1, shape.uplink_gbps, shape.port_planes, slots=0, hosts=1)
        for count in leaves
    )


def with_leaves(spec: ClusterSpec, models: Models, fabric: Fabric) -> Fabric:
    """Return the fabric with what its host groups have, for the units of border leaves too."""
    shape, leaves = fabric.shape, border_units(spec, models.hosts, fabric.attachments)
    return replace(
        fabric,
        host_models=fabric.host_models + fabric.host_models[:1] * len(leaves),
        attachments=fabric.attachments + leaf_attachments(shape, leaves),
        host_systems=fabric.host_systems + fabric.host_systems[:1] * len(leaves),
        host_classes=fabric.host_classes + fabric.host_classes[:1] * len(leaves),
        host_sockets=fabric.host_sockets + fabric.host_sockets[:1] * len(leaves),
        host_leave_outs=fabric.host_leave_outs + fabric.host_leave_outs[:1] * len(leaves),
        tor_links=fabric.tor_links + (spec.tors.border_links,) * len(leaves),
    )
