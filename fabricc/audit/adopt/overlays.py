"""Lines that the spec has no words for, as overlays: what is put into built files, and what is taken out of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.adopt import edits
from fabricc.audit.adopt.json_edits import Path, find_edits, format_edits, laid_out
from fabricc.audit.adopt.trial import built_files, compare_with_device, find_mismatches, secret_places
from fabricc.back import nos as back_ends
from fabricc.back.nos.exec_commands import command_lines
from fabricc.back.nos.overlay import OverlayError, merge_overlay
from fabricc.back.nos.overlay_text import Node, outline_text
from fabricc.base.diagnostics import Severity
from fabricc.base.values import replace
from fabricc.compiler.render import switch_files
from fabricc.fabric.model import Overlay, Switch
from fabricc.facts.frame import Contents
from fabricc.proof.compare import Mismatch, compare
from fabricc.proof.invariants.rules import CODES
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.audit.adopt.trial import Draft, Site
    from fabricc.compiler.compiled import Compiled
    from fabricc.facts.statement import Device

    Texts = Mapping[str, str]
    Files = Mapping[str, list[edits.Edit]]

REASON = "The fabric runs so; adopted as it is."
ENDS = "FAB6101"
_UNLIKE = "Hosts are known by ports of ToRs alone: their files have addresses of the plan, and these ports keep others."
_ROUNDS = 3
DEPARTED = "FAB6007"


class OverlayResult(NamedTuple):
    """The result of overlays.

    Attributes:
        differences: device -> where its build would still differ.
        accepted: codes of the invariants that what runs breaks, which the spec accepts.
        refused: overlays that are written and not named by the spec, as the proof of a build fails with them.
    """

    draft: Draft
    compiled: Compiled
    differences: dict[str, list[Mismatch]]
    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def add_overlays(site: Site, draft: Draft, compiled: Compiled) -> OverlayResult:
    """Return a sound draft with overlays on the switches that come closer by them.

    Invariants that the result breaks are accepted, because the fabric runs this way. If the proof of a build fails
    otherwise, the overlays are dropped.
    """
    files = built_files(compiled, site.found)
    plain = OverlayResult(draft, compiled, find_mismatches(files, site.found))
    switches = {each.name: each for each in compiled.switches() if each.name in files}
    wanted = {
        name: chosen
        for name, switch in switches.items()
        if (chosen := _closest_edits(site.found.devices[name], files[name], switch))
    }
    if not wanted:
        return plain
    words, more = overlay_entries(wanted, switches, files, f"{site.network}-" if site.network else "")
    tried = replace(draft, words={**draft.words, "overlays": words}, more={**draft.more, **more})
    codes: set[str] = set()
    if any(each.get("removes") for each in words):
        tried = _accept_breaches(tried, [DEPARTED])
    made = site.compile_draft(tried)
    for _ in range(_ROUNDS if made.sound else 0):
        wrong = {each.code for each in made.proof(jobs=1) if each.severity is Severity.ERROR}
        if not wrong:
            after = find_mismatches(built_files(made, site.found), site.found)
            return OverlayResult(tried, made, after, tuple(sorted(codes)))
        if not wrong <= CODES | {ENDS}:
            break
        codes |= wrong
        tried = _accept_breaches(tried, codes, REASON if site.sides.hosts else _UNLIKE)
        made = site.compile_draft(tried)
    refused = {name.replace("overlays/", "overlays/aside/"): text for name, text in more.items()}
    return plain._replace(draft=replace(draft, more={**draft.more, **refused}), refused=tuple(refused))


def _accept_breaches(draft: Draft, codes: Iterable[str], ends: str = REASON) -> Draft:
    """Return the draft with breaches of invariants accepted; `ends`: why ends of links disagree."""
    new = sorted({*codes} - {each["code"] for each in draft.accept})
    reasons = ({"code": code, "reason": ends if code == ENDS else REASON} for code in new)
    return replace(draft, accept=[*draft.accept, *reasons])


def _closest_edits(device: Device, built_files: Texts, switch: Switch) -> Files:
    """Return file -> the fewest edits after which a device's built files state the found facts."""
    device, built_files = _laid_out(device, built_files)
    read = back_ends.load(device.system).read
    best: tuple[int, Files] = (len(compare_with_device(read(built_files).facts, device)), {})
    for reach in edits.EditScope:
        found = _complete_edits(device, built_files, switch, reach)
        left = _remaining_facts(device, built_files, found)
        if left is not None and (left < best[0] or (left == best[0] and not best[1])):
            best = (left, found)
        if best[0] == 0 and best[1]:
            break
    return best[1]


def _complete_edits(device: Device, built_files: Texts, switch: Switch, reach: edits.EditScope) -> Files:
    """Return edits that also take away the built lines whose facts the added lines change."""
    own = replace(switch, overlays=())
    strays: dict[str, set[int]] = defaultdict(set)
    found: Files = {}
    for _ in range(_ROUNDS):
        found = _file_edits(device, built_files, reach, strays)
        more = _stray_lines(own, built_files, found)
        if all(lines <= strays[file] for file, lines in more.items()):
            break
        for file, lines in more.items():
            strays[file] |= lines
    return found


def _stray_lines(switch: Switch, built_files: Texts, found: Files) -> dict[str, set[int]]:
    """Return the built lines of facts that a build would report as missing or unplanned after the edits."""
    edited = replace(switch, overlays=tuple(_overlays_of(found)))
    back_end = back_ends.load(switch.nos)
    try:
        merged, stated = switch_files.render_switch(edited), switch_files.overlay_departures(edited)
    except EmitError:
        return {}
    planned = {
        path: value for path, value in {**back_end.planned(switch), **stated}.items() if value is not None
    }
    _, own = switch_files.overlay_lines(edited, merged)
    before = back_end.read(built_files).lines
    strays: dict[str, set[int]] = defaultdict(set)
    for each in compare(planned, back_end.read(merged)):
        if (each.file, each.line) in own and each.planned is None:
            continue
        file, line = before.get(each.path, ("", 0))
        if not line and each.file in built_files:
            file, line = each.file, _line_before(built_files[each.file], merged[each.file], each.line)
        if line:
            strays[file].add(line)
    return strays


def _line_before(built: str, merged: str, line: int) -> int:
    """Return the number in the built text of a line of the merged one; 0 if it is new."""

    def walk(node: Node, path: Path) -> Iterator[tuple[Path, int]]:
        for child in node.children:
            own = (*path, child.text)
            yield own, child.line
            yield from walk(child, own)

    path = next((path for path, at in walk(outline_text(merged), ()) if at == line), None)
    return next((at for own, at in walk(outline_text(built), ()) if own == path), 0)


def _overlays_of(found: Files) -> Iterator[Overlay]:
    """Yield the edits as overlays of a single switch, removals first."""
    for removes in (True, False):
        for file, some in found.items():
            if chosen := [edit for edit in some if edit.removes is removes]:
                yield Overlay("", file, _edits_text(file, chosen), removes)


def _laid_out(device: Device, built_files: Texts) -> tuple[Device, Texts]:
    """Both with a line for each key of their JSON files."""
    if not any(name.endswith(".json") for name in built_files):
        return device, built_files
    built_files, files = (
        {name: laid_out(text) if name.endswith(".json") else text for name, text in each.items()}
        for each in (built_files, device.files)
    )
    back_end = back_ends.load(device.system)
    reading = back_end.read(files)
    ignorable = back_end.ignorable(files, reading) if hasattr(back_end, "ignorable") else frozenset()
    return replace(device, files=files, held=Contents(reading, ignorable)), built_files


def _file_edits(
    device: Device, built_files: Texts, reach: edits.EditScope, strays: Mapping[str, Collection[int]]
) -> Files:
    """Return the edits of each text file that has any; `strays`: file -> built lines that must not stay."""
    reading = back_ends.load(device.system).read(built_files)
    wrong = compare_with_device(reading.facts, device)
    built_lines: dict[str, set[int]] = defaultdict(set)
    found_lines: dict[str, set[int]] = defaultdict(set)
    for each in wrong:
        for lines, places in ((built_lines, reading.lines), (found_lines, device.reading.lines)):
            file, line = places.get(each.path, ("", 0))
            lines[file].add(line)
    for file, line, _ in device.unknown:
        if (file, line) not in device.ignorable:
            found_lines[file].add(line)
    found = {}
    barred = {*command_lines(back_ends.load(device.system), device.files), *secret_places(device)}
    for file, stray in strays.items():
        built_lines[file] |= {*stray}
    for file in built_files.keys() & device.files.keys():
        ignorable = {line for at, line in device.ignorable if at == file}
        sides = edits.FilePair(
            built_files[file], device.files[file], built_lines[file], found_lines[file], ignorable, reach,
            keyed=file.endswith((".yaml", ".yml")), barred={line for at, line in barred if at == file},
            renewed=strays.get(file, ()),
        )  # fmt: skip
        if some := find_edits(sides) if file.endswith(".json") else edits.compute_edits(sides):
            found[file] = some
    return found


def _remaining_facts(device: Device, built_files: Texts, found: Files) -> int | None:
    """Return how many facts still differ after the edits; None if the edits do not fit the files."""
    files = dict(built_files)
    try:
        for overlay in _overlays_of(found):
            files = merge_overlay(files, overlay)
    except OverlayError:
        return None
    return len(compare_with_device(back_ends.load(device.system).read(files).facts, device))


def overlay_entries(
    planned_files: Mapping[str, Files],
    switches: Mapping[str, Switch],
    files: Mapping[str, Texts],
    before: str = "",
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the spec's `overlays` and their files: for all switches of a system, for a tier, for single ones.

    Args:
        planned_files: switch -> file -> edits.
        switches: all with files.
        files: theirs, as built without overlays.
        before: prefix of the names of overlays.
    """
    words: list[dict[str, Any]] = []
    more: dict[str, str] = {}
    for nos, into in sorted(
        {(switches[name].nos, into) for name, each in planned_files.items() for into in each}
    ):
        every = {
            name: planned_files.get(name, {}).get(into, [])
            for name, each in switches.items()
            if each.nos == nos
        }
        if into.endswith(".json"):
            common = every
        else:
            tops = {name: [node.text for node in outline_text(files[name][into]).children] for name in every}
            common = edits.generalize_edits(every, tops)
        for removes in (True, False):
            for who, where, some in _share_edits(common, switches, removes):
                file = f"overlays/{before}{nos}-{who}{'-without' if removes else ''}/{into}"
                words.append(
                    {"file": file, "nos": nos, "into": into} | ({"removes": True} if removes else {}) | where
                )
                more[file] = _edits_text(into, some)
    return [each for each in words if each.get("removes")] + [
        each for each in words if "removes" not in each
    ], more


def _edits_text(file: str, some: Sequence[edits.Edit]) -> str:
    """Return the edits of a file as the text of an overlay."""
    return format_edits(some) if file.endswith(".json") else edits.overlay_text(some)


def _share_edits(
    every: Files, switches: Mapping[str, Switch], removes: bool
) -> Iterator[tuple[str, dict[str, Any], list[edits.Edit]]]:
    """Yield the owners of shared edits as a word and as keys of an entry, with the edits; single owners last."""
    owners: dict[edits.Edit, set[str]] = defaultdict(set)
    for name, some in every.items():
        for edit in some:
            if edit.removes is removes:
                owners[edit].add(name)
    tiers: dict[str, set[str]] = defaultdict(set)
    for name in every:
        tiers[switches[name].tier.value].add(name)
    groups: list[tuple[str, dict[str, Any], set[str]]] = [("all", {}, set(every))]
    groups += [(f"{tier}s", {"tiers": [tier]}, names) for tier, names in tiers.items()]
    left = dict(owners)
    for who, where, names in groups if len(every) > 1 else ():
        if common := [edit for edit, own in left.items() if own >= names]:
            yield who, where, common
        for edit in common:
            left[edit] = left[edit] - names
    for name in every:
        if own := [edit for edit, names in left.items() if name in names]:
            yield name, {"devices": [name]}, own
