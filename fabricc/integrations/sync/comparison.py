"""Compare the records of a plan with the objects of a server: changes, and objects of others that are in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_interface
from typing import NamedTuple

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.document import clip
from fabricc.integrations.sync.records import OWNED, SHARED, Key, Record, Value

_LONGEST = 160
_PLACES = ("device", "interface")
"""Kinds that servers delete with the cables and addresses on them."""
_USED_HELP = (
    "Move it or delete it, then run the command again; sync deletes only objects with the tag of the cluster."
)


class ServerObject(NamedTuple):
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
    found: ServerObject | None
    before: Mapping[str, Value]

    @property
    def action(self) -> str:
        """`create`, `update` or `delete`."""
        return "create" if self.found is None else "delete" if self.record is None else "update"


def compare(
    planned: Sequence[Record], found: Sequence[ServerObject]
) -> tuple[list[Change], list[Diagnostic]]:
    """Return the changes in an order that a server accepts, and FAB2152 for objects of others that are in the way.

    An object without the tag of the cluster is never changed or deleted, and a device that differs gets no interface,
    address or cable: it may be another one of that name. Interfaces and cables of devices that have the tag are
    an exception, where the plan has them: servers create interfaces of new devices from templates, and Nautobot 3.2
    creates cables without their tags.

    Args:
        planned: the records of the plan.
        found: the objects of the server.
    """
    comparison = _Comparison(planned, found)
    gone = comparison.select_gone()
    made = [each for record in planned for each in comparison.compare_record(record)]
    deletions = [each for each in made if each.record is None]
    deletions += [Change(each.kind, each.key, None, each, {}) for each in gone]
    deletions.sort(key=lambda each: -OWNED.index(each.kind))
    return deletions + [each for each in made if each.record is not None], comparison.findings


class _Comparison:
    """The objects of a server by what they are compared with, and the findings so far."""

    def __init__(self, planned: Sequence[Record], found: Sequence[ServerObject]) -> None:
        self.findings: list[Diagnostic] = []
        self._found = found
        self._wanted = {(record.kind, record.key) for record in planned}
        self._there: dict[tuple[str, Key], ServerObject] = {}
        for each in found:
            at = (each.kind, each.key)
            if at not in self._there or each.owned:
                self._there[at] = each
        others = [each for each in found if not each.owned]
        self._occupied = {end for each in others if each.kind == "cable" for end in _list_ends(each.key)}
        self._numbers = {_number_of(each): each for each in others if each.kind == "address"}
        self._own_devices = {each.key for each in found if each.kind == "device" and each.owned}
        self._foreign: set[Key] = set()
        """Devices and addresses of others that differ from the plan."""
        self._deleted: set[Key] = set()
        """Devices and interfaces."""
        self._replaced: set[Key] = set()
        """Addresses that devices lose as their main one."""

    def select_gone(self) -> list[ServerObject]:
        """Return the objects of ours that the plan has no longer; one that others use stays, with a finding."""
        gone = [
            each
            for each in self._found
            if each.owned and each.kind in OWNED and (each.kind, each.key) not in self._wanted
        ]
        used = dict.fromkeys(self._occupied, "a cable") | {
            end: "an address" for each in self._numbers.values() if (end := _end_of(each))
        }
        users = used | {end[:1]: what for end, what in used.items()}
        kept = {(each.kind, each.key) for each in gone if each.kind in _PLACES and each.key in users}
        self.findings += [
            _used_finding(kind, key, users[key])
            for kind, key in sorted(kept)
            if kind == "device" or ("device", key[:1]) not in kept
        ]
        gone = [each for each in gone if (each.kind, each.key) not in kept]
        self._deleted = {each.key for each in gone if each.kind in _PLACES}
        return gone

    def compare_record(self, record: Record) -> Iterator[Change]:
        """Yield the changes of a record."""
        present = self._there.get((record.kind, record.key))
        is_foreign = not self._foreign.isdisjoint(_parts_of(record))
        if is_foreign and (record.kind == "primary" or (present is None and record.kind != "cable")):
            return
        if present is None:
            if (finding := self._find_obstacle(record)) is None:
                if not is_foreign:
                    self._replaced.update([record.key[:1]] if record.kind == "assignment" else [])
                    yield Change(record.kind, record.key, record, None, {})
            else:
                self.findings.append(finding)
                self._foreign.update([record.key[:1]] if record.kind in ("address", "assignment") else [])
            return
        if record.kind in SHARED:
            return
        before = {name: present.fields.get(name) for name, value in record.fields.items()
                  if present.fields.get(name) != value}  # fmt: skip
        if record.kind == "primary" and (str(present.fields["address"]),) in self._replaced:
            before = dict(present.fields)
        ours = present.owned or self._is_part(record)
        if before and not ours:
            self.findings.append(_conflict(record, before))
            if record.kind in ("device", "address"):
                self._foreign.add(record.key)
        elif record.kind == "address" and before and self._is_lost(record, present):
            self._replaced.add(record.key)
            yield Change(record.kind, record.key, None, present, {})
            yield Change(record.kind, record.key, record, None, {})
        elif before or (ours and not present.owned):
            yield Change(record.kind, record.key, record, present, before)

    def _is_part(self, record: Record) -> bool:
        """Return whether an object is an interface or a cable of the plan, of devices that have the tag."""
        return record.kind in ("interface", "cable") and self._own_devices.issuperset(_parts_of(record))

    def _is_lost(self, record: Record, present: ServerObject) -> bool:
        """Return whether an address goes with its interface, or may be the main one of another device.

        NetBox deletes addresses with their interface, and moves no main address to another device.
        """
        end = _end_of(present)
        return end is not None and (end[0] != record.fields.get("device") or end in self._deleted)

    def _find_obstacle(self, record: Record) -> Diagnostic | None:
        """Return the finding of an object of others that takes the place of one that is not there."""
        if record.kind == "cable":
            end = next((each for each in _list_ends(record.key) if each in self._occupied), None)
            return None if end is None else _occupied_finding(record, end)
        if record.kind == "address":
            other = self._numbers.get(_number_of(record))
            return (
                None
                if other is None
                else _report_taken_address(record.key[0], "there", f"{other.key[0]} belongs")
            )
        if record.kind == "assignment":
            other = self._there.get(("address", record.key[:1]))
            if other is not None and not other.owned:
                return _report_taken_address(record.key[0], f"on {' '.join(record.key[1:])}", "it belongs")
        return None


def _number_of(address: Record | ServerObject) -> tuple[object, Value]:
    """Return an address without its length, and its VRF: servers permit it once."""
    try:
        return ip_interface(address.key[0]).ip, address.fields.get("vrf")
    except ValueError:  # of a server
        return address.key[0], None


def _end_of(address: ServerObject) -> Key | None:
    """Return the interface of an address, where the product has one."""
    device, interface = address.fields.get("device"), address.fields.get("interface")
    return None if device is None else (str(device), str(interface))


def _parts_of(record: Record) -> Sequence[Key]:
    """Return the devices and addresses to which an object belongs, or that it joins."""
    if record.kind == "address":
        return [(str(record.fields.get("device")),)]
    if record.kind == "primary":
        return [record.key, (str(record.fields["address"]),)]
    places = {"interface": (0,), "assignment": (0, 1), "cable": (0, 2)}
    return [(record.key[at],) for at in places.get(record.kind, ())]


def _list_ends(key: Key) -> tuple[Key, Key]:
    return key[:2], key[2:]


def _used_finding(kind: str, key: Key, what: str) -> Diagnostic:
    message = f"{kind} {' '.join(key)} is not deleted: {what} of somebody else is on it"
    return Diagnostic("FAB2152", Severity.WARNING, clip(message, _LONGEST), None, _USED_HELP)


def _occupied_finding(record: Record, end: Key) -> Diagnostic:
    message = f"cable {' '.join(record.key)} is not there: another cable is in {' '.join(end)}"
    remedy = (
        "Remove the other cable, or correct the spec; sync deletes only cables with the tag of the cluster."
    )
    return Diagnostic("FAB2152", Severity.WARNING, clip(message, _LONGEST), None, remedy)


def _report_taken_address(address: str, place: str, reason: str) -> Diagnostic:
    message = f"address {address} is not {place}: {reason} to somebody else"
    remedy = "Delete the other address or add the tag of the cluster to it, or correct the spec."
    return Diagnostic("FAB2152", Severity.WARNING, clip(message, _LONGEST), None, remedy)


def _conflict(record: Record, before: Mapping[str, Value]) -> Diagnostic:
    differences = ", ".join(f"{name} {before[name]!a} (plan: {record.fields[name]!a})" for name in before)
    message = f"{record.kind} {' '.join(record.key)} belongs to somebody else and differs: {differences}"
    remedy = "Add the tag of the cluster to it so that sync may change it, or correct the spec."
    return Diagnostic("FAB2152", Severity.WARNING, clip(message, _LONGEST), None, remedy)
