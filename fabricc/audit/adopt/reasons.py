"""Why a build would differ from what a device states, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.facts.device import Kind

if TYPE_CHECKING:
    from fabricc.facts.device import Device
    from fabricc.proof.compare import Mismatch

_POLICY = ("route_map[", "prefix_list[", "community_list[")
_NO_WORD = "no key of a spec expresses it, and no overlay keeps it"


def mismatch_reason(device: Device, mismatch: Mismatch) -> str:
    """Return the reason for a mismatch."""
    path = mismatch.path
    if mismatch.planned is None:
        return _NO_WORD if mismatch.line else "no key of a spec expresses it, and no single line states it"
    if path.startswith(_POLICY) or path.endswith(("/import", "/export")):
        return "sessions of a built fabric filter what they send and what they take"
    vocabulary = (
        host_files.vocabulary() if device.kind is Kind.HOST else back_ends.load_vocabulary(device.system)
    )
    row = vocabulary.row(path)
    if row.reason and row.reason.text and "{" not in row.reason.text:
        return row.reason.text.rstrip(".")
    return f"{row.means} follows from the plan" if row.means else "the plan states it"
