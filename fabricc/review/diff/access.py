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
    counts: dict[str, int] = {}
    ways: dict[str, set[str]] = {}
    for group in groups:
        concerns = set()
        for line in group.lines:
            if is_access(line.statement.subject, group.nos):
                concern = row_of(line.statement.subject, group.nos).concern or line.statement.subject
                ways.setdefault(concern, set()).add(line.statement.op)
                concerns.add(concern)
        for concern in sorted(concerns):
            counts[concern] = counts.get(concern, 0) + len(group.devices)
    found = {
        f"{concern}, {_OPERATIONS[_merge_operations(ways[concern])]}": count
        for concern, count in counts.items()
    }
    stated = [each.path for each in changes if _is_access_path(each.path)]
    return found or dict.fromkeys((f"{path} of the spec" for path in stated), 0)


def _is_access_path(path: str) -> bool:
    return path.startswith(_SPEC) and not path.endswith(_PLACES)


def _merge_operations(operations: set[str]) -> str:
    """Return the operation of a concern: several together are a change."""
    return next(iter(operations)) if len(operations) == 1 else "~"
