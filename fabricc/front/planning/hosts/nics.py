"""Report what a plan needs of NICs and the catalog does not state of them: port speeds, and reordering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def nic_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3350 for ports faster than the NIC's Ethernet ports, FAB3351 for NICs that may not reorder packets."""
    if spec.infiniband is not None:
        return
    for group, model, attached in zip(spec.gpus.groups, fabric.host_models, fabric.attachments, strict=False):
        most = model.nic.ethernet_gbps
        if most is not None and attached.gbps > most:
            yield spec.warning(
                "FAB3350",
                f"{model.nic.title} has no Ethernet port of {attached.gbps}G, but of {most}G at the most",
                *group.path,
                "model",
                help="Spread the ports of each NIC over `planes`, or take a host model with more and slower ports.",
            )
        if not model.gpus or model.nic.out_of_order:
            continue
        help_ = "state `out_of_order` of the NIC in a catalog file."
        unknown = f"no source states that {model.nic.title} takes packets out of order"
        if spec.load_balancing.mode is Spreading.PACKET:
            message = f"switches spread packets, and {unknown}"
            remedy = f"Use `mode: flowlet` or `hash`, or {help_}"
            yield spec.warning("FAB3351", message, "load_balancing", "mode", help=remedy)
        elif spec.load_balancing.reassignment is not None:
            message = f"flows move without a pause, and {unknown}"
            remedy = f"Remove `reassignment`, or {help_}"
            yield spec.warning("FAB3351", message, "load_balancing", "reassignment", help=remedy)
