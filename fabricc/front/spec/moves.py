"""Read the renames of a spec: moved, replaced and retired things, and the kind of each."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.front.spec.device_model import Replacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.base.documents.document import KeyPath
    from fabricc.front.spec.document import Findings
    from fabricc.front.spec.model import ClusterSpec

KINDS = {"networks": "network", "groups": "host group", "racks": "rack", "hosts": "host", "parties": "party",
         "tenants": "tenant"}  # fmt: skip
"""Kinds of things that the spec names, as `Kinds` has them -> in words."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Former name -> present name, by the kind of thing; `devices` are named by the plan and not by the spec."""

    networks: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    racks: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    parties: Mapping[str, str] = field(default_factory=dict)
    tenants: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)


def build_replaced(raw: Mapping[str, Any]) -> dict[str, Replacement]:
    """Return the section as values."""
    return {
        name: Replacement(part.get("by", name), part.get("serial", "")) for name, part in sorted(raw.items())
    }


def check_moves(
    moved: Mapping[str, str], replaced: Mapping[str, Replacement], retired: Iterable[str], findings: Findings
) -> None:
    """Check that every name has one successor, and that no two become one (FAB3400, FAB3405)."""
    stated: list[tuple[str, str, KeyPath]] = [(old, new, ("moved", old)) for old, new in moved.items()]
    stated += [(old, new.by, ("replaced", old)) for old, new in replaced.items()]
    stated += [(old, "", ("retired", index)) for index, old in enumerate(retired)]
    olds: dict[str, KeyPath] = {}
    news: dict[str, str] = {}
    for old, new, path in stated:
        if old in olds:
            message = f"'{old}' is {olds[old][0]} and {path[0]}"
            findings.error("FAB3405", message, *path, help="Keep one of the two entries.")
            continue
        olds[old] = path
        if new and news.setdefault(new, old) != old:
            message = f"'{old}' and '{news[new]}' become '{new}'"
            findings.error("FAB3400", message, *path, help="Keep the entry of the one that it was last.")
    for old, new, path in stated:
        if new and new != old and new in olds:
            message = f"'{old}' becomes '{new}', which {olds[new][0]} has as well"
            help_ = "Write the built name and the new name in one step, and remove entries that are already built."
            findings.error("FAB3400", message, *path, help=help_)
        elif path[0] == "moved" and new == old:
            findings.error("FAB3400", f"'{old}' becomes itself", *path, help="Leave it out.")


def list_renames(spec: ClusterSpec) -> dict[str, str]:
    """Return every former name that the spec gives -> the present one, of what moved and of what was replaced."""
    return {**spec.moved, **{old: new.by for old, new in spec.replaced.items() if new.by != old}}


def path_of(spec: ClusterSpec, old: str) -> KeyPath:
    """Return the path of a former name in the spec."""
    return ("moved", old) if old in spec.moved else ("replaced", old)


def names_of(spec: ClusterSpec) -> dict[str, frozenset[str]]:
    """Return the names that the spec gives, by kind."""
    groups = tuple(group for each in (spec, *spec.networks.values()) for group in each.gpus.groups)
    return {
        "networks": frozenset(spec.networks),
        "groups": frozenset(group.name for group in groups),
        "racks": frozenset(rack for group in groups for rack in (*group.racks, *group.rack_of.values())),
        "hosts": frozenset(
            host
            for group in groups
            for host in (*group.host_names, *(each for hosts in group.racks.values() for each in hosts))
        ),
        "parties": frozenset(
            party.name for each in (spec, *spec.networks.values()) for party in each.external
        ),
        "tenants": frozenset(each.name for each in spec.tenants),
    }


def kinds_of(spec: ClusterSpec) -> Kinds:
    """Return the kind of each renamed thing: what the spec has under the new name, and not under the old one."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in (*KINDS, "devices")}
    names = names_of(spec) if spec.moved or spec.replaced else {}
    for old, new in list_renames(spec).items():
        kind = next(fitting_kinds(names, old, new), "devices")
        found[kind][old] = new
    found["hosts"] |= {
        old + host.removeprefix(new): host
        for old, new in found["racks"].items()
        for group in spec.gpus.groups
        for host, rack in group.rack_of.items()
        if rack == new
        and host.startswith(f"{new}-host")
        and old + host.removeprefix(new) not in list_renames(spec)
    }
    return Kinds(**found)


def fitting_kinds(names: Mapping[str, frozenset[str]], old: str, new: str) -> Iterator[str]:
    """Yield the kinds of things that have the new name and not the old one."""
    return (kind for kind, known in names.items() if new in known and old not in known)
