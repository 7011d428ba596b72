"""A spec tried out: written into a folder, compiled, and held against what devices state."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Any

import yaml

from fabricc.audit.model import Kind, Tier
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.fabric import HostId
from fabricc.fabric.model import Switch
from fabricc.proof.compare import compare
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.audit.adopt.groups import FoundHost
    from fabricc.audit.adopt.order import Order
    from fabricc.audit.adopt.words import Sides
    from fabricc.audit.model import Device, Found
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Host
    from fabricc.fabric.shape import SwitchId
    from fabricc.proof.compare import Mismatch

SPEC, LOCK, DEVICES, LINKS, CATALOG = "cluster.yaml", "fabricc.lock", "devices.csv", "links.csv", "hosts.yaml"


@dataclass(frozen=True, slots=True)
class Site:
    """What was found, and the folder that drafts of it are compiled in."""

    found: Found
    order: Order
    sides: Sides
    folder: Path


@dataclass(frozen=True, slots=True)
class Draft:
    """What is written beside each other: the spec's words, the tables of identities, own models, overlays, the lock.

    Attributes:
        more: file -> text, of overlays and catalog files that the words name.
        lock: the lock's text; "" for none.
    """

    words: Mapping[str, Any]
    devices: Sequence[Mapping[str, str]] = ()
    links: Sequence[Mapping[str, str]] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    lock: str = ""

    def files(self) -> dict[str, str]:
        """File -> text."""
        words = dict(self.words)
        tables = {"devices": (DEVICES, self.devices), "links": (LINKS, self.links)}
        given = {key: name for key, (name, rows) in tables.items() if rows}
        found = {name: _csv(rows) for name, rows in tables.values() if rows}
        if given:
            words["identities"] = given
        text = yaml.safe_dump(words, sort_keys=False, default_flow_style=None, width=118, allow_unicode=True)
        return {SPEC: text, **found, **self.more, **({LOCK: self.lock} if self.lock else {})}


def _csv(rows: Sequence[Mapping[str, str]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def compiled_of(draft: Draft, folder: Path) -> Compiled:
    """The draft compiled, in a folder of its own."""
    for name in (LOCK, DEVICES, LINKS):
        (folder / name).unlink(missing_ok=True)
    for name, text in draft.files().items():
        make_folder((folder / name).parent)
        write_file(folder / name, text.encode())
    return compile_spec(folder / SPEC, ethernet_only=True)


def errors(compiled: Compiled) -> list[str]:
    """Codes of what keeps a spec from being built."""
    return [found.code for found in compiled.diagnostics if found.severity is Severity.ERROR]


def matched(compiled: Compiled, order: Order) -> dict[SwitchId, str]:
    """Coordinates -> the switch that is there, as far as the plan has as many as were found."""
    fabric = compiled.fabric
    tors: dict[tuple[int, int], list[SwitchId]] = {}
    above: dict[tuple[Tier, int, int], list[SwitchId]] = {}
    for at in fabric.switch_ids():
        if at.tier.value == Tier.TOR.value:
            tors.setdefault((at.unit, at.plane), []).append(at)
        else:
            tier = Tier(at.tier.value)
            above.setdefault((tier, at.pod if tier is Tier.SPINE else 0, at.plane), []).append(at)
    found: dict[SwitchId, str] = {}
    for coordinate, unit in zip(homes_of(fabric), order.units, strict=False):
        for plane, names in unit.tors.items():
            found |= dict(zip(tors.get((coordinate, plane), ()), names, strict=False))
    for (pod, plane), names in order.spines.items():
        found |= dict(zip(above.get((Tier.SPINE, pod, plane), ()), names, strict=False))
    for plane, names in order.cores.items():
        found |= dict(zip(above.get((Tier.CORE, 0, plane), ()), names, strict=False))
    return found


def homes_of(fabric: Fabric) -> list[int]:
    """The coordinates of units with ToRs, in their order."""
    return sorted(coordinate for coordinate, unit in fabric.units.items() if unit.beside is None)


def planned_facts(device: Switch | Host) -> Facts:
    """What the files of a planned device will state."""
    return (
        back_ends.load(device.nos).planned(device)
        if isinstance(device, Switch)
        else host_files.planned(device)
    )


def built(compiled: Compiled, found: Found) -> dict[str, dict[str, str]]:
    """Device of the folder -> the files that the build gives it."""
    planned: list[Switch | Host] = [*compiled.switches(), *compiled.hosts()]
    return {
        each.name: compiled.files(each)
        for each in planned
        if each.name in found.devices and _alike(each, found.devices[each.name])
    }


def mismatches(files: Mapping[str, Mapping[str, str]], found: Found) -> dict[str, list[Mismatch]]:
    """Device -> where what its built files state and what it states differ."""
    told = {}
    for name, texts in files.items():
        device = found.devices[name]
        read = back_ends.load(device.system).read if device.kind is Kind.SWITCH else host_files.read
        told[name] = compare(read(texts).facts, device.reading)
    return told


def _alike(planned: Switch | Host, device: Device) -> bool:
    return isinstance(planned, Switch) == (device.kind is Kind.SWITCH)


def distance(compiled: Compiled, found: Found, order: Order) -> tuple[int, float]:
    """How far a trial is from what was found: errors, then facts that differ on one device of each kind.

    A number counts the less the closer it is, so that thresholds show in which direction a length is to be changed.
    """
    if compiled.planned is None or not compiled.sound:
        return len(errors(compiled)) or 1, 0
    at = matched(compiled, order)
    first: Counter[object] = Counter()
    total = 0.0
    for coordinates, name in at.items():
        unit = compiled.fabric.units.get(coordinates.unit)
        kind = (coordinates.tier, coordinates.plane, unit.group if unit else None)
        if not first[kind]:
            first[kind] += 1
            total += _weight(compiled.fabric.switch(coordinates), found.devices[name])
    for planned, host in first_hosts(compiled.fabric, order):
        if host.name in found.devices:
            total += _weight(compiled.fabric.host(planned), found.devices[host.name])
    return 0, round(total, 4)


def first_hosts(fabric: Fabric, order: Order) -> Iterator[tuple[HostId, FoundHost]]:
    """Of each group of hosts the first that is planned, with the one that is there."""
    coordinates = homes_of(fabric)
    for index, group in enumerate(order.groups):
        number, hosts = next(iter(group.units.items()))
        for unit in fabric.units.values():
            if unit.group == index and number < len(coordinates) and unit.home == coordinates[number]:
                yield HostId(unit.coordinate, min(unit.hosts)), hosts[0]


def _weight(planned: Switch | Host, device: Device) -> float:
    total = 0.0
    for mismatch in compare(planned_facts(planned), device.reading):
        one, two = mismatch.planned, mismatch.found
        if isinstance(one, int) and isinstance(two, int):
            total += 0.5 + 0.5 * abs(one - two) / max(abs(one), abs(two))
        else:
            total += 1
    return total
