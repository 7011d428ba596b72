"""Report what a change does to access: accounts, keys, login servers, services and networks that may connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.review.diff.impact import is_access, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.review.diff.model import Group, SpecChange

_SPEC = (
    "management.users",
    "management.access",
    "management.tacacs",
    "management.snmp",
    "management.telemetry",
)
_PLACES = ("location", "contact")
_OPERATIONS = {"~": "changed", "+": "new", "-": "gone"}


def access_changes(groups: Sequence[Group], changes: Sequence[SpecChange]) -> dict[str, int]:
    """Return what changes about who can log in or change a device -> how many devices it reaches.

    Args:
        groups: devices on which the same changes.
        changes: values of the spec that differ; they count where no device is known to have them.
    """
    found: dict[str, int] = {}
    for group in groups:
        words = {
            _words(line.statement.subject, line.statement.op, group.nos)
            for line in group.lines
            if is_access(line.statement.subject, group.nos)
        }
        for word in sorted(words):
            found[word] = found.get(word, 0) + len(group.devices)
    stated = [each.path for each in changes if _is_access_path(each.path)]
    return found or dict.fromkeys((f"{path} of the spec" for path in stated), 0)


def _is_access_path(path: str) -> bool:
    return path.startswith(_SPEC) and not path.endswith(_PLACES)


def _words(subject: str, op: str, nos: str) -> str:
    """A fact in words: `public key of an account (ops), new`."""
    means = row_of(subject, nos).means or subject
    key = subject.partition("[")[2].rpartition("]")[0]
    named = f" ({key})" if key and not key.startswith("*") else ""
    return f"{means}{named}, {_OPERATIONS[op]}"
