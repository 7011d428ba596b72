"""Report Ethernet ports that a NIC does not have, although the fabric is planned with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def nic_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3350 where ports of hosts are faster than the Ethernet ports of their NIC."""
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
