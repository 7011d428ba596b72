"""Further networks of the same hosts: each section as a spec of its own, with pools and ASNs that no other has.

Hosts that are on further networks and not on the rails are stated by one network, and shared with others by name.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.fabric.addresses import ASN_BLOCK
from fabricc.front.spec import document as spec_document
from fabricc.front.spec.gpus import build_group
from fabricc.front.spec.model import ClusterSpec, HostGroup, Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Position
    from fabricc.base.documents.document import Document, KeyPath
    from fabricc.fabric.fabric import Fabric

INHERITED = ("cluster", "catalog", "accept", "moved", "replaced")
_OWN = ("ports", "wiring", "rails_per_tor", "hosts_per_unit", "capacity", "groups")
"""Keys of a network that the top level has not, or has in `gpus`."""
_WIRED = (("gpus", "wiring"), ("gpus", "rails_per_tor"))
ADDRESSES = ("network", "gateway", "networks", "switches")
"""Keys of `management` that a network has for itself."""
NUMBERED = ("addressing", "routing", "management")
"""Sections with defaults that follow from the number of a network."""
_BLOCKS = (192, 208, 224, 240, 144, 160, 176)
"""Second octet of the /12 of 10.0.0.0/8 that the pools of each network come from; the top level's have the others."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of `networks` as the document of a spec, but for its hosts.

    Attributes:
        groups: hosts that are not on the rails, as the section has them.
        assumptions: the defaults that follow from the network's number.
    """

    document: Document
    network: Network
    groups: Sequence[Mapping[str, Any]]
    wiring: str
    rails_per_tor: int
    assumptions: spec_document.Assumptions


def number_networks(names: Mapping[str, Any], locked_numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the number of each network: the known one, or the lowest that none ever had, in the order of names."""
    free = (number for number in count(1) if number not in locked_numbers.values())
    return {name: locked_numbers[name] if name in locked_numbers else next(free) for name in sorted(names)}


def section_of(document: Document, name: str, number: int) -> Section:
    """Return the section of one network, in whose document paths and places are those of a spec of its own."""
    stated: Mapping[str, Any] = document.value["networks"][name]
    value = {key: document.value[key] for key in INHERITED if key in document.value}
    value |= {key: part for key, part in stated.items() if key not in _OWN}
    services = {k: v for k, v in document.value.get("management", {}).items() if k not in ADDRESSES}
    value["management"] = services | stated.get("management", {})
    assumptions = spec_document.Assumptions()
    for path, part in free_numbers(number, value).items():
        section, key = path
        if key not in stated.get(section, {}):
            value[section] = {**value.get(section, {}), key: part}
            assumptions.add_default(part, *path)
    wiring = stated.get("wiring", "rack")
    units, capacity = stated.get("hosts_per_unit"), stated.get("capacity")
    network = Network(name, number, stated.get("ports", name), units, capacity)
    nowhere = {
        (key,): document.key_position(("networks", name))
        for key in (*spec_document.cluster_schema()["properties"], *_OWN)
    }
    places, of_values = (
        _map_positions(each, name) for each in (document.positions, document.value_positions)
    )
    own = replace(
        document, value=value, positions=nowhere | places, value_positions=of_values, diagnostics=()
    )
    rails_per_tor = stated.get("rails_per_tor", 1 if wiring == "rail" else 0)
    return Section(own, network, stated.get("groups", ()), wiring, rails_per_tor, assumptions)


def as_network(document: Document, assumptions: spec_document.Assumptions) -> tuple[Document, Network]:
    """Return the document of a spec that is one network of the hosts, with the pools of its number, and the network."""
    stated: Mapping[str, Any] = document.value["network"]
    network = Network(stated["name"], stated.get("number", 1), stated.get("ports", stated["name"]), None)
    value = {key: part for key, part in document.value.items() if key != "network"}
    if value.get("fabric") == "infiniband":
        return replace(document, value=_with_ipoib_pool(value, network.number, assumptions)), network
    for path, part in free_numbers(network.number, value).items():
        section, key = path
        if key not in value.get(section, {}):
            value[section] = {**value.get(section, {}), key: part}
            assumptions.add_default(part, *path)
    return replace(document, value=value), network


def _with_ipoib_pool(
    value: Mapping[str, Any], number: int, assumptions: spec_document.Assumptions
) -> dict[str, Any]:
    """Return the document of an InfiniBand spec with a pool of IPoIB that no other network of the hosts has."""
    section = value.get("infiniband", {})
    ipoib = section.get("ipoib", {})
    if ipoib is False or "pool" in ipoib:
        return dict(value)
    pool = f"10.{_BLOCKS[(number - 1) % len(_BLOCKS)]}.0.0/12"
    assumptions.add_default(pool, "infiniband", "ipoib", "pool")
    return {**value, "infiniband": {**section, "ipoib": {**ipoib, "pool": pool}}}


def with_network(spec: ClusterSpec, network: Network, stated: Mapping[str, Any]) -> ClusterSpec:
    """Return a spec whose hosts another spec describes as one of a network of them, wired as `stated` has it."""
    wiring = stated.get("wiring", "rack")
    rails = stated.get("rails_per_tor", 1 if wiring == "rail" else 0)
    gpus = replace(spec.gpus, wiring=wiring, rails_per_tor=rails, rails_apart=False)
    return replace(spec, gpus=gpus, network=replace(network, rails_elsewhere=spec.gpus.wiring))


def free_numbers(number: int, value: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Path -> the default of a network that no other has."""
    octet, third = _BLOCKS[(number - 1) % len(_BLOCKS)], 16 * number
    pools = {
        "hosts": f"10.{octet}.0.0/13",
        "links": f"10.{octet + 8}.0.0/14",
        "loopbacks": f"10.{octet + 12}.0.0/14",
        **{pool: f"fd00:0:{third + index:x}::/48" for index, pool in enumerate(spec_document.IPV6_POOLS)},
    }
    stated = value.get("addressing", {})
    defaults = spec_document.cluster_schema()["properties"]["addressing"]["properties"]
    unused = spec_document.unused_pools(
        {key: stated.get(key, defaults[key]["default"]) for key in ("family", "fabric_links")},
        joined=spec_document.joins_switches(value),
    )
    base = spec_document.cluster_schema()["properties"]["routing"]["properties"]["asn_base"]["default"]
    return {
        **{
            ("addressing", pool): pools[pool]
            for pool in spec_document.IPV4_POOLS + spec_document.IPV6_POOLS
            if pool not in unused
        },
        ("routing", "asn_base"): base + number * ASN_BLOCK,
        ("management", "network"): f"172.{17 + (number - 1) % 15}.0.0/16",
    }


def _map_positions(positions: Mapping[KeyPath, Position], name: str) -> dict[KeyPath, Position]:
    """The places of a network's values, and of what it has from the top level, by the paths of its own document."""
    own, inherited = ("networks", name), {(key,) for key in (*INHERITED, "gpus")}
    found = {
        path: place
        for path, place in positions.items()
        if (path[:1] in inherited and path not in _WIRED)
        or (path[:1] == ("management",) and path[1:2] not in tuple((k,) for k in ADDRESSES))
    }
    for path, place in positions.items():
        if path[:2] == own:
            found[path[2:]] = place
    return found


def _shared_hosts_per_unit(spec: ClusterSpec, group: HostGroup, requested: int | None) -> int:
    """Return the hosts of a group in each unit of another: as on the rails, and more in proportion to the unit."""
    home = next((each.hosts_per_unit for each in spec.gpus.groups if each.name == group.beside), 0)
    if requested is None or not home:
        return group.hosts_per_unit
    return max(group.hosts_per_unit, -(-group.hosts_per_unit * requested // home))


def hosts_of(spec: ClusterSpec, fabric: Fabric, left_out: frozenset[int]) -> ClusterSpec:
    """The spec of a further network with its hosts: those of the fabric, as racks or units that have their names.

    Hosts of the network alone follow them. `left_out`: groups whose hosts have no ports of this network.
    """
    assert spec.network is not None
    wanted, groups = spec.network.hosts_per_unit, list[HostGroup]()
    classes = {each.name for each in spec.priorities}
    there = {group.name for index, group in enumerate(spec.gpus.groups) if index not in left_out}
    for index, group in enumerate(spec.gpus.groups):
        if index in left_out:
            continue
        units = [unit for unit in fabric.units.values() if unit.group == index]
        racks = {unit.name: tuple(unit.hosts.values()) for unit in units}
        beside = group.beside if group.beside in there else None
        whole = HostGroup(
            group.name, group.model, sum(map(len, racks.values())), group.hosts_per_unit,
            racks=racks, path=group.path, os=group.os, beside=beside,
            rdma_class=group.rdma_class if group.rdma_class in classes else None,
            leave_out=group.leave_out, nic_mode=group.nic_mode,
        )  # fmt: skip
        if wanted is not None or group.beside is not None or fabric.attachments[index].sets > 1:
            names = tuple(host for hosts in racks.values() for host in hosts)
            each = _shared_hosts_per_unit(spec, group, wanted) if wanted is None or beside else wanted
            whole = replace(whole, hosts_per_unit=each, host_names=names, racks={})
        groups.append(whole)
    groups += [replace(group, alone=spec.network.capacity is None) for group in spec.network.groups]
    capacity = spec.gpus.capacity if spec.network.capacity is None else spec.network.capacity
    return replace(spec, gpus=replace(spec.gpus, groups=tuple(groups), capacity=capacity))


_SHARED = ("name", "hosts_per_unit", "rails_per_tor", "class", "beside")
"""Keys that a network may set for hosts that another one defines."""


@dataclass(frozen=True, slots=True)
class StatedGroups:
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
    findings: spec_document.Findings


def groups_of(
    sections: Sequence[StatedGroups], rails: Iterable[str], os: str
) -> dict[str, tuple[HostGroup, ...]]:
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


def _read_stated_group(section: StatedGroups, index: int, homes: dict[str, str], os: str) -> HostGroup | None:
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
    section: StatedGroups, index: int, groups: Mapping[str, HostGroup], homes: Mapping[str, str]
) -> HostGroup | None:
    """Return a group that another network states, as it is attached in this one."""
    raw, path = section.groups[index], ("groups", index)
    name, own = raw["name"], next((key for key in raw if key not in _SHARED), None)
    if own is not None:
        message = f"{spec_document.format_path(path)}.{own} without a model"
        help_ = f"Set it where group '{name}' has its model, or add the model here."
        section.findings.error("FAB3231", message, *path, own, help=help_)
    elif not homes.get(name):
        what, help_ = (
            "is of `gpus`, whose hosts are in every network that they have ports for",
            "Leave it out.",
        )
        if name not in homes:
            others = spec_document.join_words([f"`{each}`" for each in sorted(groups)])
            what = "has no model"
            help_ = f"Add `model` and `hosts`{f', or name {others}' if others else ''}."
        section.findings.error("FAB3231", f"group '{name}' {what}", *path, "name", help=help_)
    elif any(each["name"] == name for each in section.groups[:index]):
        help_ = "Delete one of them."
        section.findings.error("FAB3230", f"group '{name}' appears twice", *path, "name", help=help_)
    elif (group := groups.get(name)) is not None:
        each = raw.get("hosts_per_unit", section.hosts_per_unit)
        beside, rdma_class, rails = (raw.get(key) for key in ("beside", "class", "rails_per_tor"))
        attached = replace(group, path=path, beside=beside, rdma_class=rdma_class, rails_per_tor=rails)
        if each is None and attached.beside is None:
            return attached
        names = group.host_names or tuple(host for hosts in group.racks.values() for host in hosts)
        return replace(attached, hosts_per_unit=each or group.hosts_per_unit, host_names=names, racks={})
    return None


def _refuse_twice(
    sections: Iterable[StatedGroups], stated: Mapping[tuple[str, int], HostGroup | None]
) -> None:
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
