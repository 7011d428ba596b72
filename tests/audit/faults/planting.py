"""Plant faults at the places of facts, audit the changed folder, and decide whether the fault is found at its line.

Each fault changes or adds lines at the place of a fact, so it fits any text that a reader understands. It counts as
found if the audit reports a warning or an error at a changed line that it does not report of the untouched folder, or
one at the other end of a link or session that names the switch and the changed value. A fault that only removes lines
is found if its switch is reported.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache
from ipaddress import ip_address, ip_interface
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.gather import gather_devices
from fabricc.audit.rules import find_all
from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import Kind, Tier
from tests.audit import corpora, ours
from tests.audit.faults import fabric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.audit.model import FoundFabric
    from fabricc.facts.statement import Device
    from fabricc.proof.compare import Finding

    Texts = dict[str, str]
    Fault = Callable[[FoundFabric, Device, bool], Texts | None]

OWN = "own"
"""The folder name of fabrics of ours: `own/SYSTEM/FORM`, see `fabric.FORMS`."""


class Untouched(NamedTuple):
    """A folder without faults: what was read, and what the audit reports."""

    found: FoundFabric
    findings: frozenset[str]


@cache
def audit_untouched(folder: str) -> Untouched:
    """Read and audit a folder."""
    if folder.startswith(f"{OWN}/"):
        _, system, form = folder.split("/")
        found = ours.infer_fabric(fabric.read_sound(system, form=form).devices)
    else:
        found = ours.infer_fabric(gather_devices(corpora.ROOT / folder, jobs=1).devices)
    return Untouched(found, frozenset(map(_finding_key, find_all(found))))


def _finding_key(finding: Finding) -> str:
    return f"{finding.code} {finding.severity} {finding.message}"


def edit_lines(device: Device, edits: dict[tuple[str, int], Callable[[str], str]]) -> Texts | None:
    """Return the files of a device with some lines changed; None without a change."""
    texts = {name: text.split("\n") for name, text in device.files.items()}
    for (file, line), change in edits.items():
        if file in texts and 0 < line <= len(texts[file]):
            texts[file][line - 1] = change(texts[file][line - 1])
    found = {name: "\n".join(lines) for name, lines in texts.items()}
    return found if found != device.files else None


def link_ports(found: FoundFabric, device: Device) -> list[str]:
    """Return the ports of a device that lead to other switches."""
    switches = {name for name, each in found.devices.items() if each.kind is Kind.SWITCH}
    ends = [(near, far) for link in found.links for near, far in link.ways]
    return [near.port for near, far in ends if near.device == device.name and far.device in switches]


def inner_sessions(found: FoundFabric, device: Device) -> list[str]:
    """Return the neighbors of a device that are addresses of other switches of the folder."""
    inside = {
        str(value).partition("/")[0]
        for name, each in found.devices.items() if name != device.name
        for path, value in each.reading.facts.items()
        if path.endswith("/ipv4")
    }  # fmt: skip
    pattern = re.compile(r"bgp/neighbor\[([\d.]+)\]/remote_asn")
    facts = device.reading.facts
    near = [
        str(facts[f"interface[{port}]/ipv4"])
        for port in link_ports(found, device)
        if f"interface[{port}]/ipv4" in facts
    ]
    subnets = [ip_interface(each).network for each in near]
    names = [m[1] for path in facts if (m := pattern.fullmatch(path)) and m[1] in inside]
    return sorted(names, key=lambda name: not any(ip_address(name) in subnet for subnet in subnets))


def at_fact(paths: Callable[[FoundFabric, Device], list[str]], change: Callable[[str, str], str]) -> Fault:
    """Change the lines of facts: of the first one that a line states, or of all."""

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        edits = {}
        for path in paths(found, device):
            place, value = device.reading.lines.get(path), str(device.reading.facts.get(path))
            if place and path in device.reading.facts:
                line = device.files.get(place[0], "").split("\n")[place[1] - 1 : place[1]]
                if line and change(line[0], value) != line[0]:
                    edits[place] = lambda text, value=value: change(text, value)
                    if not every:
                        break
        return edit_lines(device, edits) if edits else None

    return plant


def of_links(leaf: str) -> Callable[[FoundFabric, Device], list[str]]:
    return lambda found, device: [f"interface[{port}]/{leaf}" for port in link_ports(found, device)]


def of_sessions(leaf: str) -> Callable[[FoundFabric, Device], list[str]]:
    return lambda found, device: [f"bgp/neighbor[{each}]/{leaf}" for each in inner_sessions(found, device)]


def line_below(line: str, **added: str) -> str:
    """Add a line below one, with its indentation."""
    indent = line[: len(line) - len(line.lstrip())]
    return f"{line}\n{indent}{added['text']}"


def in_port(text: str, systems: tuple[str, ...]) -> Fault:
    """Add a line to the ports of links, below their addresses."""
    plain = at_fact(of_links("ipv4"), lambda line, _: line_below(line, text=text))
    return lambda found, device, every: plain(found, device, every) if device.system in systems else None


def to_session(texts: Mapping[str, str], top: Mapping[str, str] | None = None) -> Fault:
    """Add a line to sessions with other switches; `top`: lines of the whole file besides."""

    def change(system: str) -> Callable[[str, str], str]:
        def add(line: str, _: str) -> str:
            match = re.search(r"neighbor (\S+)", line)
            if match is None or system in ("junos", "cumulus"):
                inside = system in ("junos", "cumulus", "nxos")
                return line_below(line, text=texts[system].strip()) if inside else line
            return line_below(line, text=texts[system].format(match[1]))

        return add

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        if device.system not in texts or (
            "password" in texts[device.system] and any("password" in t for t in device.files.values())
        ):
            return None
        made = at_fact(of_sessions("remote_asn"), change(device.system))(found, device, every)
        if made and device.system in ("eos", "frr", "sonic"):
            made = {name: _added_last(text, device.files[name]) for name, text in made.items()}
        if made and top:
            name = "frr.conf" if "frr.conf" in made else next(iter(made))
            before = r"^(?<=policy-options \{\n)" if device.system == "junos" else r"^(?=router bgp)"
            made[name] = re.sub(before, top[device.system], made[name], count=1, flags=re.MULTILINE)
        return made

    return plant


def _added_last(text: str, old: str) -> str:
    """Move each added line about a neighbor behind the other lines about it, which would take its effect away."""
    if text == old:
        return text
    lines, before, at = text.split("\n"), old.split("\n"), 0
    for number, line in enumerate(list(lines)):
        if at < len(before) and line == before[at]:
            at += 1
            continue
        match = re.match(r"( *)(?:no )?neighbor (\S+) ", line)
        if match is None:
            continue
        last = number
        while last + 1 < len(lines) and re.match(
            rf"{match[1]}(?:no )?neighbor {re.escape(match[2])} ", lines[last + 1]
        ):
            last += 1
        lines.insert(last, lines.pop(number))
    return "\n".join(lines)


def on_top(text: str, systems: tuple[str, ...], before: str = r"^router bgp") -> Fault:
    """Add lines before BGP; `{other}` is the loopback of another device."""

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        others = [
            str(each.reading.facts["loopback/ipv4"]).partition("/")[0]
            for name, each in found.devices.items()
            if name != device.name and "loopback/ipv4" in each.reading.facts
        ]
        if device.system not in systems or ("{other}" in text and not others):
            return None
        lines = (
            "".join(text.format(other=each) for each in (others if every else others[-1:]))
            if "{other}" in text
            else text
        )
        name = "frr.conf" if "frr.conf" in device.files else next(iter(device.files))
        made = re.sub(rf"(?m){before}", lambda m: lines + m[0], device.files[name], count=1)
        return {**device.files, name: made} if made != device.files[name] else None

    return plant


def match_paths(pattern: str) -> Callable[[FoundFabric, Device], list[str]]:
    """Return the paths of facts that match a pattern."""
    return lambda _, device: [path for path in device.reading.facts if re.fullmatch(pattern, path)]


def replace_lines(systems: tuple[str, ...], *pairs: tuple[str, str]) -> Fault:
    """Replace what expressions match, on the first place of a device or on every one."""

    def plant(_: FoundFabric, device: Device, every: bool) -> Texts | None:
        if device.system not in systems:
            return None
        made = dict(device.files)
        for name, text in device.files.items():
            for pattern, new in pairs:
                text, count = re.subn(pattern, new, text, count=0 if every else 1, flags=re.MULTILINE)
                if count and not every:
                    return {**made, name: text} if text != device.files[name] else None
            made[name] = text
        return made if made != device.files else None

    return plant


def first_of(*faults: Fault) -> Fault:
    """Plant the first of several faults that a device can have."""

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        return next((made for each in faults if (made := each(found, device, every)) is not None), None)

    return plant


def number(new: str) -> Callable[[str, str], str]:
    """Return a change of a value of a line into another one."""
    return lambda line, value: re.sub(rf"(?<![\d.]){re.escape(value)}(?![\d.])", new, line)


def always_fault(_: FoundFabric, __: Device) -> bool:
    """Return that a change is a fault on every switch."""
    return True


class FaultKind(NamedTuple):
    """A kind of fault.

    Attributes:
        plant: returns the changed texts of a switch; None where it has nothing to change.
        scopes: in which the change is a fault; two ends or all switches of a tier with the same value may be in order.
        fits: whether the change is a fault on a switch of a fabric.
    """

    plant: Fault
    scopes: tuple[str, ...] = ("one", "tier", "all")
    fits: Callable[[FoundFabric, Device], bool] = always_fault


def plant_fault(folder: str, kind: FaultKind, scope: str) -> dict[str, Texts]:
    """Return the texts of the switches that have the fault; empty where none can state it."""
    found, texts = audit_untouched(folder).found, dict[str, dict[str, str]]()
    if scope not in kind.scopes:
        return {}
    tiers = {place.tier for place in found.places.values()} & {Tier.TOR, Tier.SPINE}
    for name, device in found.devices.items():
        if device.kind is not Kind.SWITCH or (scope == "one" and texts):
            continue
        if (
            scope == "tier"
            and tiers
            and found.places[name].tier is not (Tier.TOR if Tier.TOR in tiers else Tier.SPINE)
        ):
            continue
        if not kind.fits(found, device):
            continue
        if (made := kind.plant(found, device, scope != "one")) is not None:
            texts[name] = made
    return texts


def new_findings(folder: str, texts: dict[str, Texts]) -> list[Finding]:
    """Return what the audit reports of the changed folder and not of the untouched one."""
    whole = audit_untouched(folder)
    with TemporaryDirectory() as scratch:
        for name, files in texts.items():
            for file, text in files.items():
                path = Path(scratch, name, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        altered = gather_devices(Path(scratch), jobs=1).devices
        findings = find_all(ours.infer_fabric({**whole.found.devices, **altered}))
        return [each for each in findings if _finding_key(each) not in whole.findings]


def changed_lines(folder: str, texts: dict[str, Texts]) -> dict[str, dict[int, str]]:
    """Return the changed lines of each file, by number in the new text."""
    devices, found = audit_untouched(folder).found.devices, dict[str, dict[int, str]]()
    for name, files in texts.items():
        for file, text in files.items():
            old, new = devices[name].files[file].split("\n"), text.split("\n")
            if len(old) == len(new):
                blocks = [("replace", at, at + 1, at, at + 1) for at in range(len(new)) if old[at] != new[at]]
            else:
                blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            lines = {
                at: new[at - 1] for tag, _, _, a, b in blocks if tag != "equal" for at in range(a + 1, b + 1)
            }
            if old != new and all(tag in ("equal", "delete") for tag, *_ in blocks):
                lines = dict.fromkeys(range(len(new) + 1), "")
            found[f"{name}/{file}"] = lines
    return found


def is_at_line(folder: str, texts: dict[str, Texts], findings: list[Finding]) -> bool:
    """Return whether a warning or an error is at a changed line, or names a changed switch and a changed value."""
    changed = changed_lines(folder, texts)
    old = {
        name: set(_split_words("\n".join(audit_untouched(folder).found.devices[name].files.values())))
        for name in texts
    }
    for each in findings:
        if each.severity is Severity.NOTE:
            continue
        if each.line in changed.get(each.file, {}):
            return True
        for path, lines in changed.items():
            name, words = path.partition("/")[0], set(_split_words(each.message))
            new = set(_split_words("\n".join(lines.values()))) - old[name]
            if name != each.file.partition("/")[0] and name.lower() in words and words & new:
                return True
    return False


def _split_words(text: str) -> list[str]:
    words = (word.strip(".:") for word in re.findall(r"[\w.:/-]+", text))
    return [part.lower() for word in words for part in (word, *word.split("/"))]
