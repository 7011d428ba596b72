"""Apply the renames and removals of the spec to the lock.

No number changes: whatever moved keeps its place under its present name. What was carried before stays as it is, so
that the entries of the spec may stay, or go, once they are built.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from fabricc.base.numbers import is_number
from fabricc.base.values import replace
from fabricc.front.planning.topology.shared_tors import PIN
from fabricc.front.planning.topology.units import retired_units
from fabricc.front.spec.document import join_words
from fabricc.front.spec.identities import (
    KINDS,
    Kinds,
    fitting_kinds,
    kinds_of,
    list_renames,
    names_of,
    path_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec

T = TypeVar("T")
_MANAGEMENT = "oob-"
"""Prefix of the names of management switches; their rack or unit, a hyphen and a number follow."""
_COMPUTED = r"(?:tor\d+[a-z]+|host\d+)"
"""Suffixes, after the name of a unit and a hyphen, in the names of its ToRs and counted hosts."""


def carry_lock(spec: ClusterSpec, lock: Lock) -> tuple[Lock, list[Diagnostic]]:
    """Return the lock with its lines renamed and released, also those of further networks, and the findings."""
    if not (spec.moved or spec.replaced or spec.retired):
        return lock, []
    kinds = kinds_of(spec)
    findings = [
        *_check_names(spec, lock),
        *_check_unknown_names(spec, lock, kinds),
        *_not_retired(spec, lock),
    ]
    networks = {kinds.networks.get(name, name): part for name, part in lock.networks.items()}
    networks = {
        name: _release_retired(spec, _rename_lines(part, kinds, name)) if name in spec.networks else part
        for name, part in networks.items()
    }
    own = _place_listed_hosts(spec, _release_retired(spec, _rename_lines(lock, kinds)), kinds)
    return replace(own, networks=networks), findings


def with_hosts_called(lock: Lock, former: Mapping[str, str]) -> Lock:
    """Return the lock of a further network with hosts and units named as in the network of the rails.

    `former`: present name of each that has another now -> the former one.
    """
    present = {old: new for new, old in former.items()}
    hosts = _rekey_items(lock.hosts, lambda host: present.get(host, host))
    units = _rekey_items(lock.units, lambda key: _with_rack(key, present))
    return replace(lock, hosts=hosts, units=units)


def with_switches_called(numbers: Mapping[str, int], former: Mapping[str, str]) -> dict[str, int]:
    """Return the numbers of management switches by present names, which follow the names of units or racks.

    `former`: present name of a unit or rack -> the former one.
    """
    present = {old: new for new, old in former.items()}

    def rename_switch(name: str) -> str:
        place, _, rest = name.removeprefix(_MANAGEMENT).rpartition("-")
        return f"{_MANAGEMENT}{present[place]}-{rest}" if place in present else name

    return _rekey_items(numbers, rename_switch)


def _rename_lines(lock: Lock, kinds: Kinds, network: str = "") -> Lock:
    def unit(key: str) -> str:
        group, slash, own = key.partition("/")
        return f"{kinds.groups.get(group, group)}{slash}{kinds.racks.get(own, own)}"

    def pin(key: str) -> str:
        group = key.removeprefix(PIN)
        return PIN + kinds.groups.get(group, group) if key.startswith(PIN) else key

    def computed_key(key: str) -> str:
        key = of_unit(key, kinds.racks)
        old = next((old for old, new in kinds.networks.items() if new == network), "")
        return network + key.removeprefix(old) if old and key.startswith(f"{old}-") else key

    units = {**kinds.racks, **kinds.devices}

    def outward(key: str) -> str:
        party, at, port = key.split("/", 2)
        return f"{kinds.parties.get(party, party)}/{kinds.devices.get(at) or of_unit(at, units)}/{port}"

    return replace(
        lock,
        strides=_rekey_items(lock.strides, pin),
        links=_rekey_items(lock.links, lambda key: outward(key) if key.count("/") > 1 else key),
        units=_rekey_items(lock.units, unit),
        hosts=_rekey_items(lock.hosts, lambda host: kinds.hosts.get(host, host)),
        names=_rekey_items(lock.names, computed_key),
        tenants=_rekey_items(lock.tenants, lambda tenant: kinds.tenants.get(tenant, tenant)),
    )


def _with_rack(key: str, present: Mapping[str, str]) -> str:
    group, slash, own = key.partition("/")
    return f"{group}{slash}{present.get(own, own)}"


def of_unit(key: str, units: Mapping[str, str]) -> str:
    """Return a computed name with the present name of its unit."""
    match = re.fullmatch(rf"(.+)-({_COMPUTED})", key)
    return f"{units[match[1]]}-{match[2]}" if match and match[1] in units else key


def _rekey_items(items: Mapping[str, T], renamed: Callable[[str], str]) -> dict[str, T]:
    """Return the items by their present keys; an item that has its present key already takes precedence."""
    found = {renamed(key): value for key, value in items.items() if renamed(key) not in items}
    return found | {
        key: value for key, value in items.items() if renamed(key) == key or renamed(key) in items
    }


def _place_listed_hosts(spec: ClusterSpec, lock: Lock, kinds: Kinds) -> Lock:
    """Keep the places of racks and hosts that were counted before and are now listed by other names.

    What is listed by the name that it had when it was counted has that place too.
    """
    prefix = spec.unit_prefix
    units, hosts = dict(lock.units), dict(lock.hosts)
    before = {new: old for old, new in (*kinds.racks.items(), *kinds.hosts.items())}
    computed = {name: key for key, name in lock.names.items()}

    def number(group: str, unit: str) -> int | None:
        """Return the coordinate of a unit by its former name."""
        match = re.fullmatch(rf"{prefix}([0-9]{{1,6}})", computed.get(unit, unit))
        found = units.get(f"{group}/{unit}")
        return found if found is not None or match is None else int(match[1]) - 1

    for group in spec.gpus.groups:
        counted = [rack for rack in group.racks if before.get(rack, "").startswith(prefix)]
        for rack in group.racks if counted else ():
            at = number(group.name, before.get(rack, rack))
            key = next((key for key, own in units.items() if own == at), None)
            digits = key is not None and is_number(key.removeprefix(f"{group.name}/"))
            if at is not None and f"{group.name}/{rack}" not in units and (key is None or digits):
                units = {each: own for each, own in units.items() if each != key} | {
                    f"{group.name}/{rack}": at
                }
        named = group.host_names or tuple(host for each in group.racks.values() for host in each)
        stays = [host for host in named if host in hosts]
        for host in named if before.keys() & set(named) and not stays else ():
            old = computed.get(before.get(host, host), before.get(host, host))
            unit, dash, slot = old.rpartition("-host")
            at = number(group.name, unit) if dash and is_number(slot) else None
            if at is None or (place := (at, int(slot) - 1)) in hosts.values():
                continue
            hosts[host] = place
            for each in range(at + 1) if group.host_names else ():
                if each not in units.values():
                    units[f"{group.name}/{each}"] = each
    return replace(lock, units=units, hosts=hosts)


def _release_retired(spec: ClusterSpec, lock: Lock) -> Lock:
    """Return the lock without what retired: hosts, racks and the units of whole groups, with all their hosts."""
    if not spec.retired:
        return lock
    gone, names = frozenset(spec.retired), names_of(spec)
    leaving = gone.difference(*names.values())
    units = {key: at for key, at in lock.units.items() if not leaving & set(key.split("/"))}
    units = _close_gaps(spec, units, retired_units(spec, lock.names))
    free = set(lock.units.values()) - set(units.values())
    hosts = {name: at for name, at in lock.hosts.items() if name not in leaving and at[0] not in free}
    strides = {name: pin for name, pin in lock.strides.items() if name.removeprefix(PIN) not in leaving}
    computed = {
        key: name
        for key, name in lock.names.items()
        if not {key.rpartition("-")[0], name, name.rpartition("-")[0]} & leaving
    }
    return replace(lock, units=units, hosts=hosts, strides=strides, names=computed)


def _close_gaps(spec: ClusterSpec, units: dict[str, int], gone: Collection[int]) -> dict[str, int]:
    """Remove counted units at some coordinates: the others move up and keep their own coordinates."""
    for group in spec.gpus.groups if gone else ():
        own = {key: at for key, at in units.items() if is_number(key.removeprefix(f"{group.name}/"))}
        units = {key: at for key, at in units.items() if key not in own}
        if group.beside is not None:
            units |= {key: at for key, at in own.items() if int(key.rpartition("/")[2]) not in gone}
            continue
        order = sorted(own, key=lambda key: int(key.rpartition("/")[2]))
        stay = [own[key] for key in order if own[key] not in gone]
        units |= {f"{group.name}/{number}": at for number, at in enumerate(stay)}
    return units


def _known_names(lock: Lock) -> dict[str, frozenset[str]]:
    """Return the names in the lock by kind."""
    keys = [key.partition("/") for key in lock.units]
    return {
        "networks": frozenset(lock.networks),
        "groups": frozenset(group for group, _, _ in keys),
        "racks": frozenset(own for _, _, own in keys if not is_number(own)),
        "hosts": frozenset(lock.hosts),
        "tenants": frozenset(lock.tenants),
    }


def _check_names(spec: ClusterSpec, lock: Lock) -> Iterator[Diagnostic]:
    """Report FAB3401 and FAB3403: names that are still in use, or that belong or belonged to something else."""
    names = names_of(spec)
    known = _known_names(lock)
    for old, new in list_renames(spec).items():
        still = [KINDS[kind] for kind, each in names.items() if old in each]
        kinds = list(fitting_kinds(names, old, new))
        if still and not kinds:
            message = f"'{old}' is still there: the spec has a {still[0]} of that name"
            help_ = f"Name it '{new}' there, or remove this entry."
            yield spec.error("FAB3401", message, *path_of(spec, old), help=help_)
        elif len(kinds) > 1:
            message = f"'{new}' is {join_words(['a ' + KINDS[kind] for kind in kinds], 'and')}"
            help_ = f"Rename one of them, so that it is clear which '{old}' became."
            yield spec.error("FAB3403", message, *path_of(spec, old), help=help_)
        elif old in spec.replaced and kinds and kinds[0] != "hosts":
            message = f"'{new}' is a {KINDS[kinds[0]]}, no host and no switch"
            help_ = "Replace its switches and hosts one by one. For a new name, use `moved`."
            yield spec.error("FAB3408", message, *path_of(spec, old), help=help_)
        elif kinds and kinds[0] in known and {old, new} <= known[kinds[0]]:
            message = f"'{new}' is another {KINDS[kinds[0]]} than '{old}': the lock has a place for each"
            help_ = f"Remove this entry, or list '{new}' under `retired` in a build before this one."
            yield spec.error("FAB3403", message, *path_of(spec, old), help=help_)


def _check_unknown_names(spec: ClusterSpec, lock: Lock, kinds: Kinds) -> Iterator[Diagnostic]:
    """Report FAB3404 where the lock contains neither name, though it has others of the kind."""
    names, known = names_of(spec), _known_names(lock)
    for kind, there in known.items():
        for old, new in getattr(kinds, kind).items():
            if {old, new} & there or not there or old not in list_renames(spec):
                continue
            left = sorted(there - names[kind])
            message = f"the lock has no {KINDS[kind]} named '{old}' or '{new}'"
            yield spec.error("FAB3404", message, *path_of(spec, old), help=_suggest_names(old, left))


def _not_retired(spec: ClusterSpec, lock: Lock) -> Iterator[Diagnostic]:
    """Report FAB3406 and FAB3407: retired names that are still in the spec, and likely typing errors."""
    names, known = names_of(spec), _known_names(lock)
    for index, name in enumerate(spec.retired):
        kind = next((kind for kind, each in names.items() if name in each), None)
        if kind is not None:
            message = f"'{name}' is still there: the spec has a {KINDS[kind]} of that name"
            yield spec.error("FAB3406", message, "retired", index, help="Remove one of the two.")
            continue
        left = sorted(
            {each for of in known.values() for each in of} - {each for of in names.values() for each in of}
        )
        if name not in left and get_close_matches(name, left, 1, 0.75):
            message = f"no place in the lock belongs to '{name}'"
            yield spec.error("FAB3407", message, "retired", index, help=_suggest_names(name, left))


def _suggest_names(name: str, names: list[str]) -> str:
    """Suggest names similar to one that does not exist."""
    near = get_close_matches(name, names, 3, 0.6) or names[:3]
    return (
        f"Of what left, the lock has {join_words(near, 'and')}."
        if near
        else "Everything in the lock is in the spec."
    )
