"""Read the GPU section: hosts, racks and groups as typed values, and their rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.values import replace
from fabricc.front.spec.document import Assumptions, Findings, format_path, join_words
from fabricc.front.spec.model import Gpus, HostGroup, Priority
from fabricc.front.spec.priorities import CNP, default_network_class, default_rdma_class
from fabricc.front.spec.validate import load_catalog_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.base.documents.document import Document, KeyPath
    from fabricc.catalog.model import HostModel, SwitchModel


ALL_RAILS = 0


def build_gpus(raw: Mapping[str, Any], findings: Findings, assumptions: Assumptions) -> Gpus | None:
    """Return the section as values; None when a group is unusable."""
    rails_apart = raw["wiring"] == "rail-only"
    wiring: str = "rail" if rails_apart else raw["wiring"]
    shared = {
        key: raw.get(key) for key in ("os", "nic", "class", "socket_interface", "leave_out", "nic_mode")
    }
    groups = [
        build_group({**shared, **part}, path, wiring, findings) for part, path in _group_parts(raw, findings)
    ]
    if "groups" not in raw:
        groups = [group and replace(group, rails_per_tor=None) for group in groups]
    known = [group for group in groups if group is not None]
    _check_names(raw, known, findings)
    _check_shared_group(known, findings)
    if len(known) < len(groups) or not groups:
        return None
    rails_per_tor = raw.get("rails_per_tor")
    if rails_per_tor is None:
        rails_per_tor = 1 if wiring == "rail" else ALL_RAILS
        assumptions.add_default(rails_per_tor, "gpus", "rails_per_tor")
    if "capacity" not in raw:
        assumptions.add_default(
            sum(group.hosts for group in known if group.beside is None), "gpus", "capacity"
        )
    return Gpus(tuple(known), wiring, rails_per_tor, _read_capacity(raw, known, findings), rails_apart)


def _group_parts(raw: Mapping[str, Any], findings: Findings) -> Iterator[tuple[Mapping[str, Any], KeyPath]]:
    own = [key for key in ("model", "hosts", "racks", "hosts_per_unit", "hosts_per_rack") if key in raw]
    if "groups" in raw:
        for key in own:
            message = f"gpus.{key} beside gpus.groups"
            findings.error("FAB2002", message, "gpus", key, help=f"Move '{key}' into each group.")
        for index, part in enumerate(raw["groups"]):
            yield part, ("gpus", "groups", index)
    elif "model" not in raw:
        help_ = "Add `model: dgx-b200`, or `groups` for mixed models."
        findings.error("FAB2002", "gpus names no host model", "gpus", help=help_)
    else:
        yield {"name": "gpus", **raw}, ("gpus",)


def build_group(raw: Mapping[str, Any], path: KeyPath, wiring: str, findings: Findings) -> HostGroup | None:
    """Return a group of hosts; None when it is unusable."""
    group = _read_group(raw, path, wiring, findings)
    further: dict[str, Any] = {key: raw.get(key) for key in ("os", "nic", "rails_per_tor", "beside")}
    further["socket_interface"] = raw.get("socket_interface") or ""
    further["leave_out"] = tuple(sorted(raw.get("leave_out") or ()))
    further["nic_mode"] = raw.get("nic_mode") or ""
    return group and replace(group, rdma_class=raw.get("class"), **further)


def _read_group(raw: Mapping[str, Any], path: KeyPath, wiring: str, findings: Findings) -> HostGroup | None:
    where = format_path(path)
    per_unit = _hosts_per_unit(raw, path, wiring, findings)
    if "beside" in raw and "racks" in raw:
        message = f"{where} has 'racks' and is `beside` {raw['beside']}"
        help_ = f"Give `hosts`: they are dealt out over the racks of {raw['beside']}, hosts_per_rack to each."
        findings.error("FAB2076", message, *path, "racks", help=help_)
        return None
    if ("hosts" in raw) == ("racks" in raw):
        have = "both 'hosts' and 'racks'" if "hosts" in raw else "neither 'hosts' nor 'racks'"
        message = f"{where} has {have}"
        help_ = "Give one: `hosts: 128` (or names), or `racks: 16` (or names) with wiring: rack."
        findings.error("FAB2001", message, *path, *(["racks"] if "racks" in raw else []), help=help_)
        return None
    if "racks" in raw and wiring != "rack":
        return _rail_racks(raw, per_unit, path, findings)
    if per_unit is None:
        return None
    name, model = raw["name"], raw["model"]
    if "hosts" in raw:
        hosts = raw["hosts"]
        if isinstance(hosts, int):
            return HostGroup(name, model, hosts, per_unit, path=path)
        return HostGroup(name, model, len(hosts), per_unit, tuple(hosts), path=path)
    racks = raw["racks"]
    if isinstance(racks, int):
        return HostGroup(name, model, racks * per_unit, per_unit, path=path)
    if isinstance(racks, list):
        _check_rack_list(racks, path, findings)
        racks = dict.fromkeys(racks, ())
        return HostGroup(name, model, len(racks) * per_unit, per_unit, racks=racks, path=path)
    named = _sort_racks(raw, racks, per_unit, path, findings)
    total = sum(len(hosts) or per_unit for hosts in named.values())
    return HostGroup(name, model, total, per_unit, racks=named, path=path)


def _rail_racks(
    raw: Mapping[str, Any], per_unit: int | None, path: KeyPath, findings: Findings
) -> HostGroup | None:
    """Racks that hold hosts and no ToR: their hosts fill units in the order of the racks."""
    racks, per_rack = raw["racks"], raw.get("hosts_per_rack")
    if isinstance(racks, int):
        message = (
            f"{format_path(path)}.racks: {racks} has no meaning with rail wiring, where racks have no ToR"
        )
        help_ = "Name the racks, add `wiring: rack` to gpus, or give `hosts`."
        findings.error("FAB2004", message, *path, "racks", help=help_)
        return None
    if isinstance(racks, list):
        _check_rack_list(racks, path, findings)
        if per_rack is None:
            message = f"{format_path(path)} does not state the number of hosts in a rack"
            help_ = f"Add `hosts_per_rack: 4`, or write the number of each: `{{{racks[0]}: 4, …}}`."
            findings.error("FAB3056", message, *path, "racks", help=help_)
            return None
        racks = dict.fromkeys(racks, per_rack)
    rack_of: dict[str, str] = {}
    names: list[str] = []
    for rack in sorted(racks, key=_natural_key):
        hosts = racks[rack]
        named = hosts
        if isinstance(hosts, int):
            named = [f"{rack}-host{number:02d}" for number in range(1, hosts + 1)]
        if per_rack is not None and len(named) > per_rack:
            message = f"rack '{rack}' has {len(named)} hosts, more than hosts_per_rack {per_rack}"
            help_ = _overfull_help(raw, len(named), per_rack, findings)
            findings.error("FAB2005", message, *path, "racks", rack, help=help_)
        names += named
        rack_of |= dict.fromkeys(named, rack)
    if per_unit is None:
        return None
    name, model = raw["name"], raw["model"]
    return HostGroup(name, model, len(names), per_unit, tuple(names), path=path, rack_of=rack_of)


def _hosts_per_unit(raw: Mapping[str, Any], path: KeyPath, wiring: str, findings: Findings) -> int | None:
    key = "hosts_per_rack" if wiring == "rack" else "hosts_per_unit"
    where = format_path(path)
    if wiring == "rack" and "hosts_per_unit" in raw and "hosts_per_rack" in raw:
        message = f"{where} has both 'hosts_per_unit' and 'hosts_per_rack'"
        findings.error("FAB2003", message, *path, "hosts_per_rack", help=f"They mean the same: keep '{key}'.")
        return None
    if "hosts_per_rack" in raw and wiring == "rail" and "racks" not in raw:
        message = f"{where}.hosts_per_rack needs rack wiring"
        help_ = "Write hosts_per_unit (hosts behind one set of rail ToRs), or add `wiring: rack` to gpus."
        findings.error("FAB2003", message, *path, "hosts_per_rack", help=help_)
        return None
    in_rack = raw.get("hosts_per_rack") if wiring == "rack" else None
    per_unit: int | None = raw.get("hosts_per_unit") if in_rack is None else in_rack
    if per_unit is None:
        racks = raw.get("racks")
        counts = [each for each in racks.values() if isinstance(each, int)] if isinstance(racks, dict) else []
        size = (
            max(counts, default=0)
            or (path[0] == "gpus" and _size_of_one_unit(findings.document.value, raw, wiring))
            or propose_size(findings.document, raw.get("model"), wiring)
        )
        example = f"{key}: {size}"
        place = "rack" if wiring == "rack" else "set of rail ToRs"
        reason = f"ports and addresses of each {place} are reserved for that many hosts, present or not"
        findings.error("FAB2003", f"{where} needs '{key}': {reason}", *path, help=f"Add `{example}`.")
    return per_unit


def _check_rack_list(racks: list[str], path: KeyPath, findings: Findings) -> None:
    first: dict[str, int] = {}
    for index, rack in enumerate(racks):
        if rack in first:
            help_ = f"It is defined at {format_path((*path, 'racks', first[rack]))} already."
            findings.error("FAB2006", f"rack '{rack}' is listed twice", *path, "racks", index, help=help_)
        first.setdefault(rack, index)


def _sort_racks(
    raw: Mapping[str, Any],
    racks: Mapping[str, int | list[str]],
    per_unit: int,
    path: KeyPath,
    findings: Findings,
) -> dict[str, tuple[str, ...]]:
    """Racks by name, in natural order of their names, so that the order in the file means nothing."""
    result: dict[str, tuple[str, ...]] = {}
    for rack in sorted(racks, key=_natural_key):
        hosts = racks[rack]
        count = hosts if isinstance(hosts, int) else len(hosts)
        result[rack] = () if isinstance(hosts, int) else tuple(hosts)
        if count > per_unit:
            message = f"rack '{rack}' has {count} hosts, more than hosts_per_rack {per_unit}"
            help_ = _overfull_help(raw, count, per_unit, findings)
            findings.error("FAB2005", message, *path, "racks", rack, help=help_)
        elif isinstance(hosts, int) and count < per_unit:
            message = f"rack '{rack}' is counted with {count} hosts of {per_unit}"
            help_ = (
                "Name the hosts of a rack that is not full, so that more hosts rename none: "
                f"`{rack}: [{rack}-h1, …]`."
            )
            findings.error("FAB2005", message, *path, "racks", rack, help=help_)
    return result


def _overfull_help(raw: Mapping[str, Any], count: int, most: int, findings: Findings) -> str:
    """Return what to do about a rack with more hosts than planned; NVLink joins no more than its domain has."""
    move = f"Move {count - most} to another rack, by name where it is not full"
    host = load_catalog_of(findings.document)[0].hosts.get(raw.get("model", ""))
    if host is not None and 1 < host.domain_hosts < count:
        return f"{move}: NVLink joins {host.domain_hosts} hosts of {host.name}."
    return f"{move}, or raise hosts_per_rack to {count}."


def _natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return (*((0, int(part, 16), part) if part[0] in "0123456789" else (1, 0, part) for part in parts),)


def _check_names(raw: Mapping[str, Any], groups: list[HostGroup], findings: Findings) -> None:
    """Group, rack and host names stand once in the whole section."""
    first: dict[tuple[str, str], KeyPath] = {}

    def once(kind: str, name: str, *path: str | int) -> None:
        earlier = first.setdefault((kind, name), path)
        if earlier != path:
            at = findings.document.key_position(earlier)
            help_ = f"It is defined at {format_path(earlier)} ({at.line}:{at.column}) already."
            findings.error("FAB2006", f"{kind} '{name}' is named twice", *path, help=help_)

    for index, part in enumerate(raw.get("groups", ())):
        once("group", part["name"], "gpus", "groups", index, "name")
    for group in groups:
        for index, host in enumerate(group.host_names):
            once("host", host, *group.path, "hosts", index)
        for rack, hosts in group.racks.items():
            once("rack", rack, *group.path, "racks", rack)
            for index, host in enumerate(hosts):
                once("host", host, *group.path, "racks", rack, index)


def _check_shared_group(groups: Sequence[HostGroup], findings: Findings) -> None:
    for group, message, remedy in find_misplaced(groups):
        findings.error("FAB2077", message, *group.path, "beside", help=remedy)


def find_misplaced(groups: Sequence[HostGroup]) -> Iterator[tuple[HostGroup, str, str]]:
    """Return groups that share the ToRs of one without units of its own, each with the problem and remedy (FAB2077)."""
    names = {group.name: group for group in groups}
    own = join_words([f"`beside: {group.name}`" for group in groups if group.beside is None])
    for group in groups:
        if group.beside is None:
            continue
        home = names.get(group.beside)
        if home is None or home.beside is not None:
            what = "is not a host group" if home is None else f"is `beside` {home.beside} itself"
            remedy = f"Write {own}." if own else "Leave it out: one group at least has units of its own."
            yield group, f"{group.beside} {what}", remedy


def check_classes(groups: Iterable[HostGroup], priorities: Iterable[Priority], findings: Findings) -> None:
    """The class that a group names for its RDMA is one with a code point, and not that of notifications."""
    fitting = {each.name for each in priorities if each.dscps and each.name != CNP}
    for group in groups:
        if group.rdma_class is not None and group.rdma_class not in fitting:
            names = join_words([f"`{name}`" for name in sorted(fitting)])
            message = f"the class '{group.rdma_class}' is not an RDMA class"
            help_ = (
                f"Classes with a code point: {names}." if names else "Give a class of `priorities` a `dscp`."
            )
            findings.error("FAB2078", message, *group.path, "class", help=help_)


def check_senders(groups: Sequence[HostGroup], priorities: Sequence[Priority], findings: Findings) -> None:
    """Report RDMA that no class carries, and classes for RDMA that no host sends in."""
    default = default_rdma_class(priorities)
    used = {group.rdma_class or default for group in groups}
    if "" in used:
        names = [f"`{each.name}`" for each in priorities if each.dscps and not each.strict]
        message = "hosts have no class for RDMA: no class is lossless, and " + (
            f"{len(names)} have a code point" if names else "none has a code point"
        )
        help_ = (
            f"Write `class` in `gpus`, one of {join_words(names)}."
            if names
            else "Add `rdma: {dscp: 26, lossless: true}`."
        )
        findings.warning("FAB2025", message, "priorities", help=help_)
    _check_unused_classes(used, priorities, findings)


def check_network_senders(
    groups: Iterable[HostGroup], priorities: Sequence[Priority], findings: Findings
) -> None:
    """Report classes for RDMA of a further network that no host sends in; such a network may carry no RDMA at all."""
    used = {group.rdma_class for group in groups if group.rdma_class} | {default_network_class(priorities)}
    _check_unused_classes(used, priorities, findings)


def _check_unused_classes(used: set[str], priorities: Sequence[Priority], findings: Findings) -> None:
    for each in priorities:
        if (each.lossless or each.ecn) and each.name not in used and each.name != CNP:
            kind = "lossless" if each.lossless else "marked"
            message = f"no host sends its RDMA in the {kind} class '{each.name}'"
            help_ = f"Write `class: {each.name}` in the host group that uses it, or leave the class out."
            findings.warning("FAB2026", message, "priorities", each.name, help=help_)


def _read_capacity(raw: Mapping[str, Any], groups: list[HostGroup], findings: Findings) -> int | None:
    """Return the hosts to plan for, without those of groups that share ToRs."""
    present = sum(group.hosts for group in groups if group.beside is None)
    capacity: int | None = raw.get("capacity")
    if capacity is not None and capacity < present:
        message = f"gpus.capacity {capacity} is less than the {present} hosts present"
        findings.error("FAB2007", message, "gpus", "capacity", help=f"The least that fits is {present}.")
    return capacity


_SIZES = (32, 16, 8, 4, 2, 1)
"""Sizes for hosts without NVLink domains; 32 as in NVIDIA's reference architectures."""


def _size_of_one_unit(spec: Mapping[str, Any], raw: Mapping[str, Any], wiring: str) -> int:
    """Return the hosts of a unit where no spines would join several; 0 where the spec leaves that open."""
    count = spec.get("gpus", {}).get("capacity") or raw.get("hosts")
    if "spines" in spec or wiring == "rack" or not isinstance(count, int) or isinstance(count, bool):
        return 0
    joined = "peer_links" in (spec.get("tors") or {}) and raw.get("rails_per_tor") == 0
    return -(-count // 2) if joined else count


def propose_size(document: Document, model: object, wiring: str) -> int:
    """Return how many hosts of a model fit on the ToRs of a spec, whose ports also lead to spines where it has some.

    Without a model of the host or the ToR it is that of a usual unit.

    Args:
        document: the spec as written, which may have other errors.
        model: name of the host model.
        wiring: `rail`, `rack` or `rail-only`.
    """
    usual = 8 if wiring == "rack" else _SIZES[0]
    spec = document.value
    tors = spec.get("tors")
    name = tors.get("model") if isinstance(tors, dict) else None
    if not (isinstance(model, str) and isinstance(name, str)):
        return usual
    catalog, _ = load_catalog_of(document)
    if model not in catalog.hosts or name not in catalog.switches:
        return usual
    host, tor = catalog.hosts[model], catalog.switches[name]
    room = next(_hosts_of_a_tor(spec, host, tor, wiring), 0)
    domain = host.domain_hosts
    if domain > 1:
        return max(domain, min(room, _SIZES[0]) // domain * domain)
    return next((size for size in _SIZES if size <= min(room, usual)), usual)


def _hosts_of_a_tor(spec: Mapping[str, Any], host: HostModel, tor: SwitchModel, wiring: str) -> Iterator[int]:
    """Yield the hosts of a ToR for each way to split a NIC, its own ports first."""
    gpus = spec.get("gpus")
    per_tor = gpus.get("rails_per_tor") if isinstance(gpus, dict) else None
    rails = per_tor if isinstance(per_tor, int) else 0 if wiring == "rack" else 1
    share = 2 if "spines" in spec or "peer_links" in (spec.get("tors") or {}) else 1
    planes = spec.get("planes") if isinstance(spec.get("planes"), int) else 1
    for ports, gbps in _port_splits(host).items():
        if planes and ports % planes == 0:
            yield _count_ports(tor, gbps) // share // (rails or host.rails)


def _port_splits(host: HostModel) -> dict[int, int]:
    """Return the number of ports of one NIC -> speed of each."""
    options = {host.ports_per_nic: host.port_gbps}
    for split in host.nic.port_splits:
        if split.children * split.speed_gbps == host.port_gbps:
            options[host.ports_per_nic * split.children] = split.speed_gbps
    return options


def _count_ports(tor: SwitchModel, gbps: int) -> int:
    """Return the ports of this speed that the cages of a switch have."""
    return sum(
        group.count * max((each.children for each in group.breakouts if each.speed_gbps == gbps), default=0)
        for group in tor.cages
        if group.fabric
    )
