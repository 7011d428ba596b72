"""Names that the lock and the spec give in the place of computed ones, and what devices were called before.

The lock keeps such names (`name spine03a spine-east`), so that an entry of `moved` may go once it is built. A table of
identities goes before it.
"""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.fabric.given_identities import NOTHING, Moves, ReplacedDevice
from fabricc.fabric.naming import computed_name
from fabricc.front.planning.identity.lock_renames import of_unit
from fabricc.front.spec.document import join_words
from fabricc.front.spec.identities import kinds_of, list_renames, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Unit
    from fabricc.front.planning.topology import units
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec, HostGroup

Names = dict[str, str]


def apply_names(
    spec: ClusterSpec,
    locked_names: Mapping[str, str],
    identify: Callable[[Mapping[str, str]], units.Identities],
) -> tuple[units.Identities, Names]:
    """Return the identities of a spec whose counted units and hosts have the names of the lock and the spec.

    Args:
        spec: the spec.
        locked_names: computed name -> the one that is given in its place, by the lock.
        identify: the identities under such names.

    Returns:
        The identities, and the names with those that the spec adds or takes back.
    """
    names, found, kinds = dict(locked_names), identify(locked_names), kinds_of(spec)
    wanted = (
        {of_unit(old, kinds.racks): new for old, new in kinds.devices.items()} if not spec.network else {}
    )
    if here := {unit.name for unit in found.units.values() if _counted_unit(spec, unit)} & wanted.keys():
        own = {old: wanted[old] for old in here}
        names = {of_unit(key, own): name for key, name in names.items()}
        _assign_names(names, own)
        found = identify(names)
        wanted = {of_unit(old, own): new for old, new in wanted.items()}
    hosts = {
        host
        for unit in found.units.values()
        if _has_computed_names(spec, unit)
        for host in unit.hosts.values()
    } & wanted.keys()
    if hosts:
        _assign_names(names, {old: wanted[old] for old in hosts})
        found = identify(names)
    return found, names


def _assign_names(names: Names, own: Mapping[str, str]) -> None:
    """Give things another name: who gets the computed one back needs no line."""
    computed = {name: key for key, name in names.items()}
    for old, new in own.items():
        key = computed.get(old, old)
        names[key] = new
        if key == new:
            del names[key]


def _group_of_unit(spec: ClusterSpec, unit: Unit) -> HostGroup | None:
    """Return the host group of a unit; border leaves have none."""
    return spec.gpus.groups[unit.group] if unit.border is None else None


def _counted_unit(spec: ClusterSpec, unit: Unit) -> bool:
    """Return whether the unit's own name is computed."""
    group = _group_of_unit(spec, unit)
    return group is not None and unit.beside is None and not group.racks


def _has_computed_names(spec: ClusterSpec, unit: Unit) -> bool:
    """Return whether the names of a unit's hosts are computed."""
    group = _group_of_unit(spec, unit)
    return group is not None and not group.host_names and not group.racks.get(unit.name)


def with_moves(
    spec: ClusterSpec, fabric: Fabric, names: Names, findings: list[Diagnostic]
) -> tuple[Fabric, Names]:
    """Return the fabric with the switch names of lock and spec, the former names of its devices, and the names.

    FAB3401 of a name that is still in use, FAB3409 of one that two devices would have.
    """
    if not (names or spec.moved or spec.replaced):
        return fabric, names
    wanted, past = kinds_of(spec).devices, _former_fabric(spec, fabric)
    computed = {computed_name(fabric, at): at for at in fabric.switch_ids()}
    given = fabric.given.switches
    tabled = {key for key, at in computed.items() if given.get(at, NOTHING).name is not None}
    names = {key: name for key, name in names.items() if key not in tabled}
    present = {names.get(key, key): key for key in computed.keys() - tabled}
    present = {computed_name(past, at): key for key, at in computed.items() if key in present} | present
    _assign_names(names, {present[old]: new for old, new in wanted.items() if old in present})
    switches = {
        computed[key]: replace(given.get(computed[key], NOTHING), name=name)
        for key, name in names.items()
        if key in computed
    }
    fabric = replace(fabric, given=replace(fabric.given, switches={**given, **switches}))
    devices = Counter(_list_names(fabric))
    findings += _find_clashes(spec, fabric, devices, names)
    findings += [
        spec.error(
            "FAB3401",
            f"'{old}' is still the name of a device",
            *path_of(spec, old),
            help=f"Remove this entry, or name the device '{new}' in the table of devices.",
        )
        for old, new in list_renames(spec).items()
        if old in devices
    ]
    return replace(fabric, moves=_collect_moves(spec, fabric, devices)), names


def with_former_names(spec: ClusterSpec, fabric: Fabric) -> Fabric:
    """Return the fabric with the former names of its hosts; names of its switches are computed alone (FAB3414)."""
    if not (spec.moved or spec.replaced):
        return fabric
    return replace(fabric, moves=_collect_moves(spec, fabric, Counter(_list_names(fabric))))


def _list_names(fabric: Fabric) -> Iterator[str]:
    yield from (fabric.name(at) for at in fabric.switch_ids())
    yield from (host for unit in fabric.units.values() for host in unit.hosts.values())


def _find_clashes(
    spec: ClusterSpec, fabric: Fabric, present: Mapping[str, int], names: Names
) -> Iterator[Diagnostic]:
    stated = {new: old for old, new in list_renames(spec).items()}
    for name in sorted({name for name in (*names.values(), *stated) if present.get(name, 0) > 1}):
        path = path_of(spec, stated[name]) if name in stated else ("cluster",)
        help_ = "Give the one that moved another name; `fabricc plan` lists those in use."
        yield spec.error(
            "FAB3409", f"two devices of {fabric.cluster} would have the name '{name}'", *path, help=help_
        )


def _former_fabric(spec: ClusterSpec, fabric: Fabric) -> Fabric:
    """The fabric under the former names of its network, racks and units, which those of their devices follow from."""
    kinds, before = kinds_of(spec), {new: old for old, new in list_renames(spec).items()}
    names = {new: old for old, new in (*kinds.racks.items(), *kinds.devices.items())}
    units = {at: replace(unit, name=names.get(unit.name, unit.name)) for at, unit in fabric.units.items()}
    return replace(fabric, units=units, network=before.get(fabric.network, fabric.network))


def _collect_moves(spec: ClusterSpec, fabric: Fabric, present: Mapping[str, int]) -> Moves:
    kinds, past = kinds_of(spec), _former_fabric(spec, fabric)
    before = {new: old for old, new in list_renames(spec).items()}
    groups = {new: old for old, new in kinds.groups.items()}
    hosts = {new: old for old, new in kinds.hosts.items()} | before
    renamed: Names = {}
    for at in fabric.switch_ids():
        name = fabric.name(at)
        former = before.get(name) or (name if name != computed_name(fabric, at) else computed_name(past, at))
        renamed[name] = former
    for coordinate, unit in fabric.units.items():
        stem, rest = past.units[coordinate].name, len(unit.name)
        for host in unit.hosts.values():
            former = hosts.get(host, host)
            if former == host and _has_computed_names(spec, unit) and host.startswith(f"{unit.name}-"):
                group = spec.gpus.groups[unit.group].name
                own = host[rest:].replace(
                    f"-{group}", f"-{groups.get(group, group)}", unit.beside is not None
                )
                former = stem + own
            renamed[host] = former
    boxes = {
        old.by: ReplacedDevice(name, old.serial) for name, old in spec.replaced.items() if old.by in renamed
    }
    known = {*present, *(unit.name for unit in fabric.units.values()), fabric.network}
    parties = {new: old for old, new in kinds.parties.items()}
    return Moves(
        {new: old for new, old in renamed.items() if old != new and new not in boxes},
        boxes,
        parties,
        before.get(fabric.network),
        {new: old for old, new in kinds.racks.items()}
        | {
            unit.name: past.units[at].name
            for at, unit in fabric.units.items()
            if unit.name != past.units[at].name
        },
        (
            *(old for old, new in list_renames(spec).items() if new in known or new in parties),
            *(old for old, new in spec.replaced.items() if new.by in known),
        ),
    )


def report_unknown_names(spec: ClusterSpec, fabrics: Iterable[Fabric], lock: Lock) -> Iterator[Diagnostic]:
    """FAB3402 for every former name of which nothing came: no device of any network has the new name.

    Args:
        spec: what the top level describes.
        fabrics: that of the rails and those of further networks.
        lock: what moved and left since has its place there.
    """
    if not (spec.moved or spec.replaced):
        return
    every = tuple(fabrics)
    kinds = kinds_of(spec)
    settled = {old for fabric in every for old in fabric.moves.settled}
    settled |= {*kinds.networks, *kinds.groups, *kinds.racks, *kinds.hosts, *kinds.parties, *kinds.tenants}
    left = {
        name
        for part in (lock, *lock.networks.values())
        for name in (*part.names.values(), *part.hosts, *(key.rpartition("/")[2] for key in part.units))
    }
    present = [name for fabric in every for name in _list_names(fabric)]
    for old in dict.fromkeys((*spec.moved, *spec.replaced)):
        if old in settled:
            continue
        new = spec.moved.get(old) or spec.replaced[old].by
        if new in left:
            continue
        what = f"'{old}'" if old == new else f"'{old}', nor '{new}'"
        near = get_close_matches(old, present, 3, 0.6) or get_close_matches(new, present, 3, 0.6)
        help_ = (
            f"Did you mean {join_words(near)}?" if near else "`fabricc plan` lists the names of all devices."
        )
        yield spec.error(
            "FAB3402", f"{spec.cluster} has nothing named {what}", *path_of(spec, old), help=help_
        )
