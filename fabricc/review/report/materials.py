"""List the parts to buy and plug in, and the origins of the plan.

Parts are switches, hosts, cables by kind, and the cages that they occupy. Origins are defaults taken, exceptions of
single devices, and findings with spec lines.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.shell import shell_path
from fabricc.base.numbers import group_pairs, is_number
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from fabricc.review.report.values import Cable, Kind, Prose, Row, Section, Table, format_count, host_port_gbps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

LINKS = {"host": "host to ToR", "spine": "ToR to spine", "core": "spine to core", "peer": "ToR to ToR"}
_TIERS = {TierName.TOR: "ToR", TierName.SPINE: "spine", TierName.CORE: "core"}
_WAYS = {
    Direction.HOST: "towards hosts", Direction.DOWN: "down", Direction.UP: "up", Direction.PEER: "to the other ToR",
}  # fmt: skip
MEDIA = {
    "dac": "passive copper, both ends attached",
    "aec": "active copper, both ends attached",
    "aoc": "active optical, both ends attached",
    "mmf": "multi-mode fibre and a transceiver at each end",
    "smf": "single-mode fibre and a transceiver at each end",
}
"""What a medium of the spec means to who buys it, as the schema of the spec has it."""


class Cages(NamedTuple):
    """Cages with the same use: place, number and speed of their ports, medium."""

    tier: TierName
    way: Direction
    children: int
    speed_gbps: int
    medium: str


def occupied_cages(found: tuple[Kind, ...]) -> dict[Cages, tuple[int, int]]:
    """Return the occupied cages of switches, each counted once, and the number of used ports."""
    counted: dict[Cages, tuple[int, int]] = {}
    for kind in found:
        slots = kind.layout.slots
        used = group_pairs(((slots[link.slot].cage, link.direction), link) for link in kind.links)
        for (_, way), links in used.items():
            slot = slots[links[0].slot]
            media = "/".join(sorted({link.medium for link in links}))
            use = Cages(kind.tier, way, slot.children, slot.speed_gbps, media)
            number, ports = counted.get(use, (0, 0))
            counted[use] = (number + kind.count, ports + kind.count * len(links))
    return counted


def materials_section(
    fabric: Fabric, kinds: tuple[Kind, ...], cables: Mapping[Cable, int], where: str
) -> Section:
    """Return the bill of materials; `where` names the file with every single cable."""
    counts = fabric.counts()
    total = sum(cables.values())
    parts = (
        _cable_table(cables, where),
        Table(
            "cages",
            "Cages and NIC ports to fill",
            ("where", "use", "medium", "cages", "ports in use"),
            tuple(_cage_rows(fabric, kinds)),
            note="A cage that is split takes one transceiver, or one end of a splitter cable, for all its ports; so "
            "the ends to buy are the cages, not the ports. Spares are not counted.",
        ),
        Table("devices", "Devices", ("device", "model", "number"), tuple(_device_rows(fabric, counts))),
        Prose(
            "The catalog has ports, lanes and speeds, but no part numbers of transceivers: see the makers' "
            "lists for this model, speed, medium and length."
        ),
    )
    lead = f"{plural(total, 'cable')} in {plural(len(cables), 'kind')}."
    return Section("cables", "Cables and parts", lead, parts)


def _cable_table(cables: Mapping[Cable, int], where: str) -> Table:
    order = tuple(LINKS)
    ordered = sorted(cables.items(), key=lambda each: (order.index(each[0].kind), each[0]))
    rows = [
        (LINKS[kind], count, f"{speed}G", medium, MEDIA.get(medium, ""), length, count * length)
        for (kind, speed, medium, length), count in ordered
    ]
    return Table(
        "cabling",
        "Cables",
        ("link", "cables", "speed", "medium", "what that is", "length, m", "together, m"),
        tuple(rows),
        note=f"Lengths are those of the spec or, where it names none, assumed. Counted are "
        f"links: where a cage is split, one splitter cable serves several. Every link with both ends: {where}.",
    )


def _cage_rows(fabric: Fabric, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    yield from _nic_rows(fabric, kinds)
    order = list(TierName)
    found = occupied_cages(kinds).items()
    for use, counted in sorted(found, key=lambda each: (order.index(each[0].tier), each[0][1:])):
        name = f"{_TIERS[use.tier]}, {_WAYS[use.way]}"
        yield name, _describe_use(use.children, use.speed_gbps), use.medium, *counted


def _nic_rows(fabric: Fabric, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Yield the NICs' cages of each host group, by the medium of their links."""
    ports: Counter[tuple[int, str]] = Counter()
    of_host = {name: unit.group for unit in fabric.units.values() for name in unit.hosts.values()}
    for kind in kinds:
        for link in kind.links:
            if link.direction is Direction.HOST:
                ports[of_host[link.peer], link.medium] += kind.count
    for (group, medium), count in sorted(ports.items()):
        model = fabric.host_models[group]
        split = fabric.attachments[group].ports_per_nic // model.ports_per_nic
        use = _describe_use(split, host_port_gbps(fabric, group))
        yield f"{model.title}, NIC", use, medium, ceil(Fraction(count, split)), count


def _describe_use(children: int, speed: int) -> str:
    return format_count(children, f"{speed}G") if children > 1 else f"{speed}G"


def _device_rows(fabric: Fabric, counts: Mapping[str, int]) -> Iterator[Row]:
    for tier, plan in fabric.tiers.items():
        yield _TIERS[tier], plan.model.title, counts[f"{tier.value}s"]
    for group, model in enumerate(fabric.host_models):
        hosts = sum(len(unit.hosts) for unit in fabric.units.values() if unit.group == group)
        yield "host", f"{model.title}, {model.nic.title}", hosts


MOST_ROWS = 200
"""Findings or devices that the page lists one by one."""
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def findings_section(spec: ClusterSpec, found: Sequence[Diagnostic], folder: str) -> Section:
    """Return the section on findings, gravest first; file names are relative to `folder`."""
    if not found:
        return Section("findings", "Findings", "The plan has no findings.", ())
    ordered = sorted(found, key=lambda each: _ORDER.index(each.severity))
    rows = tuple(
        (each.severity.value, each.code, _without_folder(each.message, folder), _format_place(each.position, folder),
         _without_folder(each.help, folder))
        for each in ordered[:MOST_ROWS]
    )  # fmt: skip
    rest = len(ordered) - len(rows)
    lead = f"{count_findings(found)}. An accepted finding is a note with its reason."
    note = f"{rest:,} more: `fabricc validate {shell_path(spec_name(spec))}` lists all." if rest else ""
    head = ("severity", "code", "what", "where", "remedy")
    table = Table("found", "Every finding", head, rows, codes=(1, 3), note=note, severity=True)
    return Section("findings", "Findings", lead, (table,))


def count_findings(found: Sequence[Diagnostic]) -> str:
    """Return the numbers of findings."""
    counted = [(sum(1 for each in found if each.severity is severity), severity.value) for severity in _ORDER]
    return ", ".join(plural(count, name) for count, name in counted if count) or "no findings"


def assumptions_section(spec: ClusterSpec, folder: str) -> Section:
    """Return the section on defaults and on devices that differ."""
    taken = tuple(
        (path, _format_value(value), _nearest_place(spec, path, folder))
        for path, value in spec.assumptions.items()
    )
    lead = f"{plural(len(taken), 'default')} taken where the spec has no value. Write the key to choose another one."
    tables = [Table("assumed", "Defaults taken", ("key", "value", "where it belongs"), taken, codes=(0, 1))]
    if spec.overrides:
        names = sorted(spec.overrides)
        rest = len(names) - MOST_ROWS
        rows = tuple(
            (
                name,
                ", ".join(_device_differences(spec, name)),
                _format_place(spec.position("overrides", name), folder),
            )
            for name in names[:MOST_ROWS]
        )
        note = f"{rest:,} more are in the spec under `overrides`." if rest > 0 else ""
        head = ("device", "what differs", "where")
        tables.append(Table("overrides", "Single devices", head, rows, (0, 2), note))
    return Section("assumptions", "Assumptions", lead, tuple(tables))


def _device_differences(spec: ClusterSpec, name: str) -> Iterator[str]:
    """Yield the deviations of a device, in words."""
    change = spec.overrides[name]
    if change.model:
        yield f"is a {change.model}"
    if change.nos:
        yield f"runs {change.nos.name} {change.nos.release or ''}".strip()
    if change.drain:
        yield "drained: announces its routes as last resort"
    if change.cable_m:
        yield f"cables of {change.cable_m} m"
    for port, other in change.ports.items():
        parts = [f"{other.cable_m} m"] if other.cable_m else []
        parts += [other.medium] if other.medium else []
        parts += ["shut"] if other.shutdown else []
        yield f"{port}: {' '.join(parts)}"


def _nearest_place(spec: ClusterSpec, path: str, folder: str) -> str:
    """Return the place of the innermost mapping in the spec to which the key would be added."""
    keys = tuple(int(key) if is_number(key) else key for key in path.split("."))
    if not any(keys[:length] in spec.positions for length in range(1, len(keys) + 1)):
        return "the top level" if len(keys) == 1 else f"a new section, {keys[0]}"
    return _format_place(spec.position(*keys), folder)


def _format_place(position: Position | None, folder: str) -> str:
    """Return file and line, the file relative to the spec's folder."""
    return f"{_without_folder(position.file, folder)}:{position.line}" if position else ""


def _without_folder(text: str, folder: str) -> str:
    """Return a text without the folder of the spec, which differs from machine to machine."""
    return text.replace(folder + "/", "") if folder not in ("", ".") else text


def spec_name(spec: ClusterSpec) -> str:
    """Return the spec's file without its folder."""
    return spec.file.rpartition("/")[2]


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
