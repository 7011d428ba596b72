"""Which subnet manager runs a fabric of the switches' generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

NDR_LANE_GBPS = 100
"""Speed of a lane from which released versions of the open subnet manager do not suffice.

linux-rdma/opensm issue 38: on Quantum-2 larger packets fail with it and pass with NVIDIA's. Pull request 39, which
corrects that, was merged on 2026-03-30 and is in no release; the last release is 3.3.24 of 2021.
"""


def subnet_manager_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB5623 for switches of NDR and faster."""
    layouts = [*fabric.tor_layouts, fabric.spine_layout, fabric.core_layout]
    slots = [slot for layout in layouts if layout is not None for slot in layout.slots]
    if any(slot.speed_gbps >= NDR_LANE_GBPS * slot.lanes for slot in slots):
        message = (
            f"{spec.tors.model}: no released version of the open subnet manager (opensm up to 3.3.24) runs NDR "
            "links correctly"
        )
        help_ = "Use NVIDIA's opensm (DOCA-OFED), UFM, or the switch's own, with the files of `subnets/`."
        yield spec.note("FAB5623", message, "tors", help=help_)
