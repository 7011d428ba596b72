"""A spec tried out: written into a folder, compiled, and held against what devices state."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, Any

import yaml

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.base.secret_words import secrets_by_line
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.fabric.model import SECRET_PREFIX, Host, Switch
from fabricc.fabric.shape import HostId, SwitchId
from fabricc.facts.statement import Device, Kind, Tier
from fabricc.front.spec.lock import VERSION
from fabricc.proof.compare import Mismatch, compare
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.audit.adopt.found_tiers import FoundTiers
    from fabricc.audit.adopt.groups import FoundHost
    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import FoundFabric
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Facts, Value

SPEC, LOCK, DEVICES, LINKS, CATALOG = "cluster.yaml", "fabricc.lock", "devices.csv", "links.csv", "hosts.yaml"
SWITCHES, DRAFT = "switches.yaml", "cluster.draft.yaml"


_WIDTH, _UNBROKEN = 118, 1 << 20
_HEAD = "# The running fabric, as `fabricc adopt` read it; adoption.txt lists the assumptions and the differences.\n"
_COMMENTS = {
    "catalog": "# Models that no output named, made from the existing ports: replace them by the real models.\n",
    "overlays": "# Lines that no key of the spec expresses; removed lines come first, and each build reports them.\n",
    "identities": "# Names and numbers that follow no rule.\n",
    "accept": "# Notes of each build: correct them one after the other, or keep them.\n",
}
_OUTWARD = re.compile(r"FAB(?:308|318|325)\d")
"""Errors about ways out, which show only where all else can be planned."""
_FAR = 1000
EMPTY_LOCK = f"version {VERSION}\n"


@dataclass(frozen=True, slots=True)
class Draft:
    """The files of a trial: the spec's words, the tables of identities, own models, overlays, the lock.

    Attributes:
        words: of the spec, or of the section of a further network.
        more: file -> text, of overlays and catalog files that the words name.
        lock: the lock's text, with that of all networks; "" for none.
        accept: accepted gaps of systems.
        networks: name of a further network -> its draft.
    """

    words: Mapping[str, Any]
    devices: Sequence[Mapping[str, str]] = ()
    links: Sequence[Mapping[str, str]] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    lock: str = ""
    accept: Sequence[Mapping[str, str]] = ()
    networks: Mapping[str, Draft] = field(default_factory=dict)

    def every(self) -> list[Draft]:
        """Return this draft and those of further networks."""
        return [self, *self.networks.values()]

    def files(self) -> dict[str, str]:
        """Return file -> text."""
        words, files = self._section_words("")
        sections = {name: each._section_words(f"{name}-") for name, each in self.networks.items()}
        if sections:
            words["networks"] = {name: section for name, (section, _) in sections.items()}
        accepted = {one["code"]: dict(one) for each in self.every() for one in each.accept}
        if accepted:
            words["accept"] = list(accepted.values())
        more = {name: text for _, own in sections.values() for name, text in own.items()}
        return {
            SPEC: _HEAD + "".join(_section_text(*each) for each in words.items()),
            **files,
            **more,
            **({LOCK: self.lock} if self.lock else {}),
        }

    def _section_words(self, before: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the words with the tables that they name, and these tables and other files."""
        tables = {"devices": (before + DEVICES, self.devices), "links": (before + LINKS, self.links)}
        given = {key: name for key, (name, rows) in tables.items() if rows}
        words = dict(self.words) | ({"identities": given} if given else {})
        return words, {**{name: _format_csv(rows) for name, rows in tables.values() if rows}, **self.more}


@dataclass(frozen=True, slots=True)
class Site:
    """A network as it was found, and the folder that drafts of it are compiled in.

    Attributes:
        network: its name; "" of the one that the top level of the spec describes.
        around: the draft of the networks before it, which that of a further one is put into.
        rails: the order of the network of the rails, for a further one.
        number: of a further network, by which it has its usual pools.
        needs: host -> further network -> how many ports it has there, and their speed.
    """

    found: FoundFabric
    order: Order
    sides: FoundTiers
    folder: Path
    network: str = ""
    around: Draft | None = None
    rails: Order | None = None
    number: int = 0
    needs: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)

    def whole(self, draft: Draft) -> Draft:
        """Return the draft of this network with those before it."""
        if self.around is None:
            return draft
        networks = {**self.around.networks, self.network: replace(draft, lock="")}
        lock = draft.lock or f"{self.around.lock or EMPTY_LOCK}network {self.network} {self.number}\n"
        return replace(self.around, networks=networks, lock=lock)

    def compile_draft(self, draft: Draft) -> Compiled:
        """Return this network of its draft, compiled, with the findings of the whole."""
        whole = compiled_of(self.whole(draft), self.folder)
        if not self.network:
            return whole
        part = whole.networks.get(self.network)
        if part is None:
            return replace(whole, planned=None)
        return replace(part, diagnostics=whole.diagnostics)


def _section_text(key: str, value: Any) -> str:
    """Return a section as people would write it: a line for each entry of a list, and why it is there."""
    if not (isinstance(value, list) and all(isinstance(each, dict) for each in value)):
        nested = isinstance(value, dict | list)
        return _COMMENTS.get(key, "") + _format_yaml({key: value}, None if nested else False, _WIDTH)
    entries = "".join(f"- {_format_yaml(each, True, _UNBROKEN)}" for each in value)
    return f"{_COMMENTS.get(key, '')}{key}:\n{entries}"


def _format_yaml(value: Any, flow: bool | None, width: int) -> str:
    text = yaml.safe_dump(value, sort_keys=False, default_flow_style=flow, width=width, allow_unicode=True)
    return str(text)


def _format_csv(rows: Sequence[Mapping[str, str]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def compiled_of(draft: Draft, folder: Path) -> Compiled:
    """Return the draft compiled, in its own folder."""
    for file in folder.glob("*.csv"):
        file.unlink()
    (folder / LOCK).unlink(missing_ok=True)
    for name, text in draft.files().items():
        make_folder((folder / name).parent)
        write_file(folder / name, text.encode())
    return compile_spec(folder / SPEC, ethernet_only=True)


def error_codes(compiled: Compiled) -> list[str]:
    """Return the codes of errors that prevent a build."""
    return [found.code for found in compiled.diagnostics if found.severity is Severity.ERROR]


def match_switches(compiled: Compiled, order: Order) -> dict[SwitchId, str]:
    """Return coordinates -> the existing switch, as far as plan and folder have the same number."""
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
    """Return the coordinates of units with ToRs, in their order."""
    return sorted(coordinate for coordinate, unit in fabric.units.items() if unit.beside is None)


def planned_facts(device: Switch | Host) -> Facts:
    """Return what the files of a planned device will state."""
    return (
        back_ends.load(device.nos).planned(device)
        if isinstance(device, Switch)
        else host_files.planned(device)
    )


def built_files(compiled: Compiled, found: FoundFabric) -> dict[str, dict[str, str]]:
    """Return device of a network -> its built files; for a host those of this network."""
    planned: list[Switch | Host] = [*compiled.switches(), *compiled.hosts()]
    return {
        each.name: compiled.files(each) if isinstance(each, Switch) else host_files.render(each)
        for each in planned
        if each.name in found.devices and _is_alike(each, found.devices[each.name])
    }


def compare_with_device(planned: Facts, device: Device) -> list[Mismatch]:
    """Return the facts that differ; of a secret counts only whether there is one, and none is shown."""
    wrong = compare(planned, device.reading)
    if device.kind is not Kind.SWITCH:
        return wrong
    row = back_ends.load_vocabulary(device.system).row
    shown = (
        each._replace(found="set") if _holds_key(row(each.path).tags, each.found) else each for each in wrong
    )
    return [each for each in shown if each.found != "set" or not is_reference(each.planned)]


def secret_places(device: Device) -> set[tuple[str, int]]:
    """Return files and lines that state a secret itself instead of a reference to one."""
    row = back_ends.load_vocabulary(device.system).row
    facts = device.reading.facts
    places = {at for path, at in device.reading.lines.items() if _holds_key(row(path).tags, facts.get(path))}
    return places | {(file, line) for file, text in device.files.items() for line, _ in secrets_by_line(text)}


def _holds_key(tags: Collection[str], value: Value | None) -> bool:
    return "secret" in tags and value is not None and not is_reference(value)


def is_reference(value: Value | None) -> bool:
    """Return whether the value of a fact is a reference to a secret."""
    return str(value).startswith(SECRET_PREFIX)


def find_mismatches(files: Mapping[str, Mapping[str, str]], found: FoundFabric) -> dict[str, list[Mismatch]]:
    """Return device -> differences between its built files and its facts, in files that the folder has."""
    rows = {}
    for name, texts in files.items():
        device = found.devices[name]
        read = back_ends.load(device.system).read if device.kind is Kind.SWITCH else host_files.read
        reading, held = read(texts), ("", *device.files)
        rows[name] = [
            each
            for each in compare_with_device(reading.facts, device)
            if each.found is not None or reading.lines.get(each.path, ("", 0))[0] in held
        ]
    return rows


def _is_alike(planned: Switch | Host, device: Device) -> bool:
    return isinstance(planned, Switch) == (device.kind is Kind.SWITCH)


def trial_distance(
    compiled: Compiled, found: FoundFabric, order: Order, special: Collection[str] = ()
) -> tuple[int, float]:
    """Return the distance of a trial from the found fabric: errors, then differing facts on one device per kind.

    `special`: switches that are not like the others of their kind.

    A closer number counts less, so that thresholds show the direction in which to change a length.
    """
    if compiled.planned is None or not compiled.sound:
        codes = error_codes(compiled)
        return (len(codes) or 1) + _FAR * (not all(map(_OUTWARD.fullmatch, codes))), 0
    at = match_switches(compiled, order)
    first: Counter[object] = Counter()
    total = 0.0
    for coordinates, name in at.items():
        unit = compiled.fabric.units.get(coordinates.unit)
        kind = (coordinates.tier, coordinates.plane, unit.group if unit else None)
        if not first[kind] or name in special:
            first[kind] += 1
            total += _difference_weight(compiled.fabric.switch(coordinates), found.devices[name])
    for planned, host in first_hosts(compiled, order):
        if host.name in found.devices:
            total += _difference_weight(compiled.fabric.host(planned), found.devices[host.name])
    return 0, round(total, 4)


def first_hosts(compiled: Compiled, order: Order) -> Iterator[tuple[HostId, FoundHost]]:
    """Return the first planned host of each group, with the host that is there."""
    fabric, coordinates = compiled.fabric, homes_of(compiled.fabric)
    names = [group.name for group in compiled.spec.gpus.groups]
    for group in order.groups:
        index = names.index(group.name) if group.name in names else 0
        number, hosts = next(iter(group.units.items()))
        for unit in fabric.units.values():
            if unit.group == index and number < len(coordinates) and unit.home == coordinates[number]:
                yield HostId(unit.coordinate, min(unit.hosts)), hosts[0]


def _difference_weight(planned: Switch | Host, device: Device) -> float:
    total = 0.0
    for mismatch in compare_with_device(planned_facts(planned), device):
        one, two = mismatch.planned, mismatch.found
        if isinstance(one, int) and isinstance(two, int):
            total += 0.5 + 0.5 * abs(one - two) / max(abs(one), abs(two))
        else:
            total += 1
    return total
