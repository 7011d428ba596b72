"""Packet trimming: which queues it serves, what the rest of a packet is given, and whether the chip can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.fabric.qos import TrafficClass, Trimming
from fabricc.front.qos.finding import QosFinding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.catalog.model import SwitchModel


def plan_trimming(classes: Iterable[TrafficClass], carrier: str, size_bytes: int) -> Trimming | None:
    """Trimming with what is left traveling in the class `carrier`; None when there is no such class.

    Trimmed are the lossy classes that share bandwidth: lossless ones are paused before they are dropped, and
    strict ones carry control, of which Ultra Ethernet trims nothing (UEC 1.0: TRIMMABLE and CONTROL are two
    code points).
    """
    known = list(classes)
    found = next((c for c in known if c.name == carrier), None)
    if found is None:
        return None
    queues = sorted(c.priority for c in known if c is not found and not c.lossless and not c.strict)
    return Trimming(size_bytes, found.data_dscp, found.priority, tuple(queues))


def trimming_findings(wanted: Trimming | None, model: SwitchModel) -> tuple[QosFinding, ...]:
    """Return a size that the chip's maker does not list; nothing where no figure is known."""
    limit = model.buffers.limits.trim_bytes
    if wanted is None or limit is None or limit[0] <= wanted.size_bytes <= limit[1]:
        return ()
    least, most = limit
    message = f"packets trimmed to {wanted.size_bytes} bytes are requested, {model.title} trims to {least} to {most}"
    nearest = min(max(wanted.size_bytes, least), most)
    return (QosFinding("FAB4015", Severity.ERROR, message, f"the nearest that fits is {nearest}"),)
