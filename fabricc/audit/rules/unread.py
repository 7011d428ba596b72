"""Settings that no daemon reads, or that cannot take effect, as the back end states them: facts `unread[...]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.audit.rules.sheet import told
from fabricc.base.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding

UNREAD = "FAB9060"
_FACT = "unread["


def unread(sheet: Sheet) -> Iterator[Finding]:
    """Report each of them with its reason, at the line that states it."""
    for path, why in sheet.rest.items():
        if path.startswith(_FACT):
            subject = path.removeprefix(_FACT).rpartition("]")[0]
            message = f"{sheet.name}: {subject} has no effect: {why}"
            remedy = "Meet the condition, or remove the setting."
            yield told(UNREAD, sheet.device, path, message, f"no effect: {subject}", Severity.WARNING, remedy)
