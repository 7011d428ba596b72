"""Read the names of a spec and of the user's GUID file: ports of each tenant, and real GUIDs of planned devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import Rules
from fabricc.base.documents.reader import parse_document
from fabricc.base.foreign import files
from fabricc.catalog.library import suggestion_remedy
from fabricc.fabric.infiniband import DEFAULT_PKEY, Partition
from fabricc.fabric.tenants import NOBODY, assign_numbers
from fabricc.front.planning.networks.tenants import assign_rails
from fabricc.front.spec.tenants import SECTION

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from fabricc.base.documents.document import Document
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec, Infiniband, PartitionSpec


_PLAIN = re.compile(r"(?:0[xX])?([0-9a-fA-F]{16})")
_SEPARATED = re.compile(r"[0-9a-fA-F]{2,4}(?:[:-][0-9a-fA-F]{2,4}){3,7}")
_MULTICAST_OCTET = 0x01  # EUI-64: the first bit of the first octet marks a group
MAX_BYTES = 8 * 1024 * 1024


_FORM = "Its lines read `su001-tor1a: 0x506b4b0300a1b2c3`; names are those of plan/lids.csv."


def read_guids(
    path: Path, planned_names: Collection[str], named_at: Position | None = None, folder: Path | None = None
) -> tuple[Mapping[str, int], list[Diagnostic]]:
    """Return GUID by name, and every problem in the file (FAB5813); never raise for its content.

    Args:
        path: a mapping `name: GUID`; a GUID is written as ibstat prints it, or with colons as labels have it.
        planned_names: names that the plan has: switches (`su001-tor1a`) and host ports (`su001-host01/rail0`).
        named_at: where the spec names the file.
        folder: that of the spec, out of which no link may lead; None for that of the file.
    """
    start = Position(str(path), 1, 1)
    try:
        document = parse_document(
            files.read(path, root=folder and files.root_below(folder, path), limit=MAX_BYTES).decode(
                "utf-8-sig"
            ),
            str(path),
            _RULES,
        )
    except files.TooLargeError as error:
        return {}, [_guid_error(f"the file of GUIDs is {error.strerror}", start, _FORM)]
    except OSError as error:
        message = f"the file of GUIDs cannot be read: {path}: {error.strerror}"
        return {}, [_guid_error(message, named_at or start, "Its path counts from the spec's folder.")]
    except UnicodeDecodeError:
        return {}, [_not_yaml(None, "", str(path))]
    if not document.usable or document.value is None:
        return {}, list(document.diagnostics)
    if not isinstance(document.value, dict):
        return {}, [_guid_error("the file of GUIDs is not a mapping `name: GUID`", start, _FORM)]
    found, problems = _read_entries(document, planned_names)
    return found, sorted([*document.diagnostics, *problems], key=lambda each: each.position or start)


def _read_entries(
    document: Document, planned_names: Collection[str]
) -> tuple[Mapping[str, int], list[Diagnostic]]:
    found: dict[str, int] = {}
    owners: dict[int, str] = {}
    problems: list[Diagnostic] = []
    for name, value in document.value.items():
        at = document.key_position((name,))
        guid = _parse_guid(value) if isinstance(value, str) else None
        if name not in planned_names:
            problems.append(
                _guid_error(f"the plan has no device {name[:60]!r}", at, _suggest_device(name, planned_names))
            )
        elif guid is None:
            problems.append(_guid_error(f"{name}: not a GUID", at, "For example: 0x506b4b0300a1b2c3."))
        elif (owner := owners.setdefault(guid, name)) != name:
            problems.append(_guid_error(f"{name} has the GUID of {owner}", at, "Every port has its own."))
        else:
            found[name] = guid
    return found, problems


def _parse_guid(text: str) -> int | None:
    """Return the number, or None for text that is not a unicast EUI-64."""
    if match := _PLAIN.fullmatch(text):
        digits = match[1]
    elif _SEPARATED.fullmatch(text):
        digits = re.sub("[:-]", "", text)
    else:
        return None
    guid = int(digits, 16) if len(digits) == 16 else 0
    return guid if guid and not (guid >> 56) & _MULTICAST_OCTET else None


def _suggest_device(name: str, planned_names: Collection[str]) -> str:
    near = [each for each in planned_names if each[:1] == name[:1] and abs(len(each) - len(name)) < 3][:2000]
    return suggestion_remedy(name[:60], near, "Names are those of plan/lids.csv.", 1)


def _guid_error(message: str, at: Position, remedy: str = "") -> Diagnostic:
    return Diagnostic("FAB5813", Severity.ERROR, message, at, remedy)


def _not_yaml(_: Exception | None, __: str, file: str) -> Diagnostic:
    return _guid_error("the file of GUIDs is not YAML", Position(file, 1, 1), _FORM)


_NOT_YAML = ("FAB5813", "the file of GUIDs is not YAML", _FORM)
_KEY = ("FAB5813", "the plan has no device {shown!r}", "Names are those of plan/lids.csv.")
_RULES = Rules(
    words={
        "twice": ("FAB5813", "{shown} appears twice", "Remove one of the lines."),
        "key": _KEY,
        "collection as key": ("FAB5813", "the plan has no device ''", "Names are those of plan/lids.csv."),
    }
    | dict.fromkeys(("too deep", "too many", "tag", "second document", "alias"), _NOT_YAML),
    plain=str,
    check=lambda _: None,
    syntax=_not_yaml,
    longest_key=128,
    max_depth=32,
    max_nodes=1_000_000,
    max_aliased_nodes=0,
    max_problems=100,
)
"""Everything is text: `50600000000000e5` is a GUID and no number."""


MOST_OF_A_PORT = 127
"""Tenants of one host: an adapter's table has 128 P_Keys (data sheet figure, assumed), one is the default's."""


def tenant_partitions(
    spec: ClusterSpec, wiring: Fabric, pinned: Mapping[str, int], findings: list[Diagnostic]
) -> tuple[tuple[Partition, ...], dict[str, int]]:
    """Return a partition for each entry of `tenants`, and the numbers of tenants for the lock.

    The P_Key of a tenant is its number, which it keeps. `pinned`: numbers that the lock has.
    """
    numbers = assign_numbers([each.name for each in spec.tenants], pinned)
    if beyond := [name for name, number in numbers.items() if number >= DEFAULT_PKEY]:
        message = f"{beyond[0]} needs a P_Key above 0x{DEFAULT_PKEY - 1:04x}"
        help_ = "Delete the lines of tenants that left from the lock; their numbers are free then."
        findings.append(spec.error("FAB3320", message, SECTION, beyond[0], help=help_))
    ports = assign_rails(spec, wiring, findings)
    order = [host for unit in wiring.units.values() for host in unit.hosts.values()]
    found = []
    for index, request in enumerate(spec.tenants):
        rails = {
            host: tuple(rail for rail, owner in enumerate(ports[host]) if owner == index)
            for host in order
            if index in ports.get(host, ())
        }
        some = {host: own for host, own in rails.items() if len(own) < len(ports[host])}
        found.append(Partition(request.name, numbers[request.name], tuple(rails), None, some))
    if idle := [host for host in order if NOBODY in ports.get(host, (NOBODY,))]:
        more = f" and {len(idle) - 1} more" if idle[1:] else ""
        message = f"{idle[0]}{more}: ports in no partition, which reach no host"
        help_ = "Name them in a tenant, unless they are spare hosts."
        findings.append(spec.note("FAB5625", message, SECTION, help=help_))
    return tuple(found), numbers


def partitions_of(
    spec: ClusterSpec, section: Infiniband, wiring: Fabric, findings: list[Diagnostic]
) -> tuple[Partition, ...]:
    """Return the tenants with their hosts in topological order; unknown names are findings (FAB5809)."""
    levels = {each.name: each.sl for each in section.classes}
    units = {unit.name: tuple(unit.hosts.values()) for unit in wiring.units.values()}
    places = {
        host: (coordinate, slot)
        for coordinate, unit in wiring.units.items()
        for slot, host in unit.hosts.items()
    }
    found = []
    load: dict[str, int] = {}
    for each in section.partitions:
        members = _resolve_members(spec, each, units, places, findings)
        for host in members:
            load[host] = load.get(host, 0) + 1
        level = levels.get(each.priority) if each.priority else None
        found.append(Partition(each.name, each.pkey, members, level))
    busiest = max(load.items(), key=lambda item: item[1], default=("", 0))
    if busiest[1] > MOST_OF_A_PORT:
        message = f"{busiest[0]} is in {busiest[1]} partitions; an adapter supports {MOST_OF_A_PORT} and the default"
        findings.append(spec.error("FAB5809", message, "infiniband", "partitions", help="Join some tenants."))
    if found and (alone := [host for host in places if host not in load]):
        more = f" and {len(alone) - 1} more" if alone[1:] else ""
        message = f"{alone[0]}{more}: in no partition, so they reach no host"
        help_ = "Add them to a partition, unless they are spare hosts."
        findings.append(spec.note("FAB5625", message, "infiniband", "partitions", help=help_))
    return tuple(found)


def _resolve_members(
    spec: ClusterSpec,
    each: PartitionSpec,
    units: dict[str, tuple[str, ...]],
    places: dict[str, tuple[int, int]],
    findings: list[Diagnostic],
) -> tuple[str, ...]:
    members: set[str] = set()
    for key, names, known in (("units", each.units, units), ("hosts", each.hosts, places)):
        for index, name in enumerate(names):
            if name in known:
                members.update(units[name] if key == "units" else (name,))
                continue
            other, others = ("hosts", places) if key == "units" else ("units", units)
            otherwise = f"They are named like {next(iter(known))}."
            remedy = suggestion_remedy(name, list(known)[:5000], otherwise, 1)
            if name in others:
                remedy = f"It is one of the {other}: write `{other}: [{name}]`."
            findings.append(
                spec.error(
                    "FAB5809",
                    f"partition '{each.name}': there is no {key[:-1]} '{name}'",
                    *("infiniband", "partitions", each.name, key, index),
                    help=remedy,
                )
            )
    return tuple(sorted(members, key=lambda host: places[host]))
