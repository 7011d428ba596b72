"""The difference between the plan and a source of truth: objects to create, to change and to delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.document import clip
from fabricc.integrations.sync.records import OWNED, SHARED, Key, Record, Value

_LONGEST = 160


class Found(NamedTuple):
    """An object of the server.

    Attributes:
        id: its number or UUID.
        owned: it carries the tag of the cluster.
        tags: identifiers of all its tags.
    """

    kind: str
    key: Key
    id: str | int
    owned: bool
    fields: Mapping[str, Value]
    tags: tuple[str | int, ...] = ()


class Change(NamedTuple):
    """One change: an object to create (`found` is None), to change, or to delete (`record` is None).

    Attributes:
        before: values of the server that the plan has otherwise.
    """

    kind: str
    key: Key
    record: Record | None
    found: Found | None
    before: Mapping[str, Value]

    @property
    def action(self) -> str:
        """`create`, `update` or `delete`."""
        return "create" if self.found is None else "delete" if self.record is None else "update"


def compare(planned: Sequence[Record], found: Sequence[Found]) -> tuple[list[Change], list[Diagnostic]]:
    """Return the changes in an order that a server accepts, and FAB2152 for objects of others that are in the way.

    An object without the tag of the cluster is never changed or deleted. An interface of a device that has the tag is
    an exception, where the plan has it: servers create interfaces of new devices from templates.

    Args:
        planned: the records of the plan.
        found: the objects of the server.
    """
    there: dict[tuple[str, Key], Found] = {}
    for each in found:
        at = (each.kind, each.key)
        if at not in there or each.owned:
            there[at] = each
    occupied = _occupied_ends(found)
    own_devices = {each.key for each in found if each.kind == "device" and each.owned}
    made: list[Change] = []
    findings: list[Diagnostic] = []
    for record in planned:
        present = there.get((record.kind, record.key))
        if present is None:
            if record.kind == "cable" and (
                end := next((e for e in _ends(record.key) if e in occupied), None)
            ):
                findings.append(_occupied_finding(record, end))
                continue
            made.append(Change(record.kind, record.key, record, None, {}))
            continue
        if record.kind in SHARED:
            continue
        before = {name: present.fields.get(name) for name, value in record.fields.items()
                  if present.fields.get(name) != value}  # fmt: skip
        ours = present.owned or (record.kind == "interface" and record.key[:1] in own_devices)
        if before and not ours:
            findings.append(_conflict(record, before))
        elif before or (ours and not present.owned):
            made.append(Change(record.kind, record.key, record, present, before))
    wanted = {(record.kind, record.key) for record in planned}
    gone = [
        each for each in found if each.owned and each.kind in OWNED and (each.kind, each.key) not in wanted
    ]
    made = [Change(each.kind, each.key, None, each, {}) for each in _deletion_order(gone)] + made
    return made, findings


def _ends(key: Key) -> tuple[Key, Key]:
    return key[:2], key[2:]


def _occupied_ends(found: Sequence[Found]) -> set[Key]:
    """Return the interfaces that a cable of somebody else is in."""
    others = (each for each in found if each.kind == "cable" and not each.owned)
    return {end for each in others for end in _ends(each.key)}


def _occupied_finding(record: Record, end: Key) -> Diagnostic:
    message = f"cable {' '.join(record.key)} is not there: another cable is in {' '.join(end)}"
    remedy = (
        "Remove the other cable, or correct the spec; sync deletes only cables with the tag of the cluster."
    )
    return Diagnostic("FAB2152", Severity.WARNING, clip(message, _LONGEST), None, remedy)


def _deletion_order(gone: Sequence[Found]) -> list[Found]:
    """Return objects to delete, those that refer to others first."""
    return sorted(gone, key=lambda each: -OWNED.index(each.kind))


def _conflict(record: Record, before: Mapping[str, Value]) -> Diagnostic:
    differences = ", ".join(f"{name} {before[name]!a} (plan: {record.fields[name]!a})" for name in before)
    message = f"{record.kind} {' '.join(record.key)} belongs to somebody else and differs: {differences}"
    remedy = "Add the tag of the cluster to it so that sync may change it, or correct the spec."
    return Diagnostic("FAB2152", Severity.WARNING, clip(message, _LONGEST), None, remedy)
