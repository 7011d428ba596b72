"""Choose the routing engine for a topology, and the subnet manager for the switches' generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.infiniband.model import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec, Infiniband

LARGE = 10_240
"""Adapters beyond which ftree is not the first choice: opensm 3.3.23 took 36 s for 8,192 and its time grows with the
square; updn, which is as free of loops, needed 133 s for 16,384 (measured on ibsim, two cores)."""


def choose_engine(
    spec: ClusterSpec, section: Infiniband, wiring: Fabric, findings: list[Diagnostic]
) -> Engine:
    """Return the engines of a fabric; a requested engine that does not fit is a finding (FAB5815).

    opensm falls back to minhop, which may deadlock, when an engine rejects a fabric, and reports it only in its log.
    Hence the second name: updn takes what ftree refuses, and is free of credit loops.
    """
    fitting, reason = _choose_engine(spec, wiring)
    requested = section.routing
    if requested in ("auto", fitting):
        return Engine(_with_fallback(fitting), reason)
    if requested == "ftree":
        message = f"ftree does not fit: {reason}"
        help_ = "opensm would fall back to minhop in silence; use `auto`."
        findings.append(spec.error("FAB5815", message, "infiniband", "routing", help=help_))
    elif requested == "minhop":
        message = f"minhop may build credit loops when links fail; {fitting} does not"
        findings.append(
            spec.warning("FAB5815", message, "infiniband", "routing", help="Use `auto`, or accept it.")
        )
    return Engine(_with_fallback(requested), "requested by the spec")


def _choose_engine(spec: ClusterSpec, wiring: Fabric) -> tuple[str, str]:
    shape, counts = wiring.shape, wiring.counts()
    tors = counts["tors"] // len(wiring.planes)
    if tors == 1:
        return "minhop", "one leaf: every path is inside it, so there is no loop and no choice of paths"
    if shape.peer_links:
        return "minhop", "two leaves: a path crosses one of the links between them, so there is no loop"
    above = [
        name
        for name, tier in (("spines", spec.spines), ("cores", spec.cores))
        if tier and tier.reserved_ports
    ]
    if above:
        return "updn", f"{' and '.join(above)} keep ports for other devices; ftree takes hosts on leaves only"
    if counts["host_cables"] // len(wiring.planes) > LARGE:
        return "updn", f"more than {LARGE:,} adapter ports: ftree computes too long after a failure"
    tiers = "three-tier" if shape.cores else "two-tier"
    return "ftree", f"a {tiers} fat tree with hosts on leaves only: ftree balances shift patterns on it"


def _with_fallback(engine: str) -> tuple[str, ...]:
    return ("ftree", "updn") if engine == "ftree" else (engine,)


NDR_LANE_GBPS = 100
"""Speed of a lane from which released versions of the open subnet manager do not suffice.

linux-rdma/opensm issue 38: on Quantum-2 larger packets fail with it and pass with NVIDIA's. Pull request 39, which
corrects that, was merged on 2026-03-30 and is in no release; the last release is 3.3.24 of 2021.
"""


def subnet_manager_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB5623 for switches of NDR and faster."""
    layouts = [*fabric.tor_layouts, fabric.spine_layout, fabric.core_layout]
    slots = [slot for layout in layouts if layout is not None for slot in layout.slots]
    lane_gbps = max(slot.speed_gbps / slot.lanes for slot in slots)
    if lane_gbps >= NDR_LANE_GBPS:
        generation = "NDR" if lane_gbps == NDR_LANE_GBPS else "XDR"
        message = (
            f"{spec.tors.model}: no released version of the open subnet manager (opensm up to 3.3.24) runs "
            f"{generation} links correctly"
        )
        help_ = "Use NVIDIA's opensm (DOCA-OFED), UFM, or the switch's own, with the files of `subnets/`."
        yield spec.note("FAB5623", message, "tors", help=help_)
