"""Hosts that are on further networks and not on the rails: stated by one network, shared with others by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.front.spec.document import format_path, join_words
from fabricc.front.spec.gpus import build_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.front.spec.document import Findings
    from fabricc.front.spec.model import HostGroup

_SHARED = ("name", "hosts_per_unit", "rails_per_tor", "class", "beside")
"""Keys that a network may set for hosts that another one defines."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The groups that a network's section has.

    Attributes:
        network: its name.
        groups: as the document has them.
        wiring: of the network.
        hosts_per_unit: of the network, or None.
        findings: of its section, where paths begin with `groups`.
    """

    network: str
    groups: Sequence[Mapping[str, Any]]
    wiring: str
    hosts_per_unit: int | None
    findings: Findings


def groups_of(sections: Sequence[Stated], rails: Iterable[str], os: str) -> dict[str, tuple[HostGroup, ...]]:
    """Network -> its groups, each host of them with its name.

    `rails` are names of the groups of `gpus`, `os` is that of a group that names none.
    """
    homes = dict.fromkeys(rails, "")
    stated = {
        (each.network, index): _read_stated_group(each, index, homes, os)
        for each in sections
        for index, raw in enumerate(each.groups)
        if "model" in raw
    }
    known = {group.name: group for group in stated.values() if group is not None}
    _refuse_twice(sections, stated)
    found: dict[str, tuple[HostGroup, ...]] = {}
    for each in sections:
        groups = [
            stated[each.network, index] if "model" in raw else _read_joining_group(each, index, known, homes)
            for index, raw in enumerate(each.groups)
        ]
        found[each.network] = tuple(group for group in groups if group is not None)
    return found


def _read_stated_group(section: Stated, index: int, homes: dict[str, str], os: str) -> HostGroup | None:
    raw, path = section.groups[index], ("groups", index)
    home = homes.setdefault(raw["name"], section.network)
    if home != section.network or any(each["name"] == raw["name"] for each in section.groups[:index]):
        of = f"network '{home}'" if home else "gpus"
        message = f"group '{raw['name']}' is stated in {of} already"
        help_ = (
            "Give these hosts a group of another name."
            if not home or home == section.network
            else f"The same hosts are `{{name: {raw['name']}}}` here, without model and hosts; others need another "
            "name."
        )
        section.findings.error("FAB3230", message, *path, "name", help=help_)
        return None
    whole = {"os": os} | dict(raw)
    if section.hosts_per_unit is not None and not whole.keys() & {"hosts_per_unit", "hosts_per_rack"}:
        whole["hosts_per_unit"] = section.hosts_per_unit
    group = build_group(whole, path, section.wiring, section.findings)
    return group and _name_hosts(replace(group, alone=True))


def _name_hosts(group: HostGroup) -> HostGroup:
    """With a name for every host, so that it is the same in each network."""
    if group.racks:
        racks = {
            rack: names or tuple(f"{rack}-host{number:02d}" for number in range(1, group.hosts_per_unit + 1))
            for rack, names in group.racks.items()
        }
        return replace(group, racks=racks)
    if group.host_names:
        return group
    stem = f"{group.name}-" if is_number(group.name[-1]) else group.name
    return replace(group, host_names=tuple(f"{stem}{n:03d}" for n in range(1, group.hosts + 1)))


def _read_joining_group(
    section: Stated, index: int, known: Mapping[str, HostGroup], homes: Mapping[str, str]
) -> HostGroup | None:
    """Return a group that another network states, as it is attached in this one."""
    raw, path = section.groups[index], ("groups", index)
    name, own = raw["name"], next((key for key in raw if key not in _SHARED), None)
    if own is not None:
        told = f"{format_path(path)}.{own} without a model"
        help_ = f"Set it where group '{name}' has its model, or add the model here."
        section.findings.error("FAB3231", told, *path, own, help=help_)
    elif not homes.get(name):
        what, help_ = (
            "is of `gpus`, whose hosts are in every network that they have ports for",
            "Leave it out.",
        )
        if name not in homes:
            others = join_words([f"`{each}`" for each in sorted(known)])
            what = "has no model"
            help_ = f"Add `model` and `hosts`{f', or name {others}' if others else ''}."
        section.findings.error("FAB3231", f"group '{name}' {what}", *path, "name", help=help_)
    elif any(each["name"] == name for each in section.groups[:index]):
        help_ = "Delete one of them."
        section.findings.error("FAB3230", f"group '{name}' appears twice", *path, "name", help=help_)
    elif (group := known.get(name)) is not None:
        each = raw.get("hosts_per_unit", section.hosts_per_unit)
        beside, rdma_class, rails = (raw.get(key) for key in ("beside", "class", "rails_per_tor"))
        attached = replace(group, path=path, beside=beside, rdma_class=rdma_class, rails_per_tor=rails)
        if each is None and attached.beside is None:
            return attached
        names = group.host_names or tuple(host for hosts in group.racks.values() for host in hosts)
        return replace(attached, hosts_per_unit=each or group.hosts_per_unit, host_names=names, racks={})
    return None


def _refuse_twice(sections: Iterable[Stated], stated: Mapping[tuple[str, int], HostGroup | None]) -> None:
    """FAB2006: two hosts, or two racks, of one name."""
    findings = {each.network: each.findings for each in sections}
    first: dict[tuple[str, str], str] = {}
    for (network, _), group in stated.items():
        if group is None:
            continue
        for kind, name in _list_names(group):
            if (kind, name) in first:
                message = f"{kind} '{name}' is named twice"
                help_ = f"Group '{first[kind, name]}' has it already."
                findings[network].error("FAB2006", message, *group.path, help=help_)
                break
            first[kind, name] = group.name


def _list_names(group: HostGroup) -> Iterator[tuple[str, str]]:
    yield from (("rack", rack) for rack in group.racks)
    yield from (("host", host) for hosts in group.racks.values() for host in hosts)
    yield from (("host", host) for host in group.host_names)
