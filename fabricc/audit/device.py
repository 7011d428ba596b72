"""One device out of its texts, as a worker reads it and sends it on."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.coverage import Understood, measure_understood
from fabricc.audit.ends import Placement, address_of, place_statements
from fabricc.audit.texts import LEAST, collected_systems, report_unknown
from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.back.hosts import recognition as host_files
from fabricc.back.nos import answers, lldpd
from fabricc.back.nos.answers import other_system
from fabricc.back.nos.collected import Identity, Output
from fabricc.base.diagnostics import Severity
from fabricc.fabric.facts import Reading
from fabricc.facts.device import Neighbor
from fabricc.facts.frame import KEPT, split_facts
from fabricc.facts.packed import Contents, Held, pack_contents
from fabricc.proof import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.audit.texts import Part
    from fabricc.facts.frame import Frame, Parts


_ADDRESSES = ("/ipv4", "/ipv6", "management/address", "bgp/router_id")
"""Ends of paths whose value is an address, perhaps with its prefix length, or a word such as `dhcp`."""
_DIGIT = re.compile(r"\d")


class Read(NamedTuple):
    """A device as a worker sends it: its contents packed, and of them what the folder as a whole is looked at by."""

    key: str
    name: str
    system: str
    places: dict[str, tuple[str, int]]
    held: Held
    placement: Placement
    understood: Understood
    identity: Identity


def devices_of(key: str, parts: list[Part]) -> tuple[list[Read], set[str], list[Finding]]:
    """Return the devices of one name's texts, their paths, and the findings about the others."""
    findings: list[Finding] = []
    left, found = parts, []
    while (chosen := _choose_system(left)) is not None:
        system, texts = chosen
        left = [part for part in left if part not in texts.values()]
        found.append((system, texts))
    taken = {part.path for _, texts in found for part in texts.values()}
    outputs: list[list[tuple[Part, Output]]] = [[] for _ in found]
    for part in left:
        at = next((n for n, (_, texts) in enumerate(found) if _is_in_same_place(part, texts)), 0)
        output = _read_output(part.text, found[at][0] if found else None)
        if output is None:
            continue
        taken.add(part.path)
        if found:
            outputs[at].append((part, output))
        else:
            findings.append(
                Finding("FAB9505", f"{part.path} lists {key or 'a device'}, whose configuration is not here",
                        part.path, part.first, "alone", Severity.WARNING, "Add its running configuration.")
            )  # fmt: skip
    for part in left:
        if part.path not in taken:
            taken.add(part.path)
            findings.append(report_unknown(part.path, _explain_doubt(part)))
    known = taken - {finding.file for finding in findings if finding.code == "FAB9501"}
    devices = []
    for (system, texts), printed in zip(found, outputs, strict=True):
        device, wrong = _read_device(key, system, texts, printed)
        devices.append(device)
        findings += wrong
    return devices, known, findings


def _choose_system(parts: Sequence[Part]) -> tuple[str, dict[str, Part]] | None:
    """Return the system and files of a device: the text with the strongest evidence, and others of its system.

    None with too little evidence, or with the same evidence for two systems.
    """
    sure = [
        (weights[0], part) for part in parts if (weights := _system_weights(part)) and not _is_tied(weights)
    ]
    if not sure:
        return None
    (_, system), main = max(sure, key=lambda each: each[0][0])
    if main.claims[system].weight < LEAST:
        return None
    texts = {main.claims[system].file: main}
    for part in sorted(parts, key=lambda part: _part_folder(part) != _part_folder(main)):
        claim = part.claims.get(system)
        if claim and 2 * claim.weight >= _system_weights(part)[0][0]:
            texts.setdefault(claim.file, part)
    return system, texts


def _system_weights(part: Part) -> list[tuple[int, str]]:
    """Return the evidence for each system, the strongest first."""
    return sorted(((claim.weight, system) for system, claim in part.claims.items()), reverse=True)


def _is_tied(weights: Sequence[tuple[int, str]]) -> bool:
    return len(weights) > 1 and weights[0][0] == weights[1][0]


def _part_folder(part: Part) -> str:
    return part.path.rpartition("/")[0]


def _is_in_same_place(part: Part, texts: Mapping[str, Part]) -> bool:
    return any(_part_folder(part) == _part_folder(other) for other in texts.values())


def _explain_doubt(part: Part) -> str:
    """Return why a text belongs to no device."""
    if name := other_system(part.text):
        return f"it is a configuration of {name}, which fabricc does not read"
    weights = _system_weights(part)
    if weights and _is_tied(weights):
        return f"it may be of {weights[0][1]} or of {weights[1][1]}"
    return "it is no configuration, LLDP or version output of a system that is known"


def _read_output(text: str, system: str | None) -> Output | None:
    """Return the content of an output as the device's own system reads it, else as any system does."""
    own = collected_systems().get(system or "")
    if own and (output := own.output(text)):
        return output
    if output := answers.read_getter(text, own.products if own else lambda box: (box,)):
        return output
    if neighbors := lldpd.parse_lldpd(text):
        return Output(neighbors=neighbors)
    return next(
        (output for one in collected_systems().values() if one is not own and (output := one.output(text))),
        None,
    )


def _read_device(
    key: str, system: str, texts: Mapping[str, Part], outputs: Sequence[tuple[Part, Output]]
) -> tuple[Read, list[Finding]]:
    """Return one device, read."""
    findings: list[Finding] = []
    files = {file: part.text for file, part in texts.items()}
    found = collected_systems().get(system)
    reading, aside = Reading(), frozenset[tuple[str, int]]()
    try:
        if found is None:
            reading = hosts.read(files)
        else:
            back_end = back_ends.load(system)
            reading = back_end.read(files)
            aside = back_end.aside(files, reading) if hasattr(back_end, "aside") else aside
    except Exception as error:
        path = next(iter(texts.values())).path
        findings.append(
            Finding("FAB9508", f"the reader of {system} failed on {path}: {type(error).__name__}", path, 1, "failed",
                    help="This is a defect of fabricc or of the back end: report it with the file.")
        )  # fmt: skip
    identity = found.identity(files) if found else Identity()
    for _, output in outputs:
        identity = identity.or_else(output.identity)
    neighbors = tuple(
        Neighbor(seen.port, seen.device, seen.far_port, part.path, seen.line)
        for part, output in outputs
        for seen in output.neighbors
    )
    comments = found.COMMENTS if found else host_files.COMMENTS
    name = str(reading.facts.get("system/hostname") or identity.name or key)
    parts = split_facts(reading)
    if any(_no_addresses(parts)):
        reading = without_no_addresses(reading, next(iter(files)))
        parts = split_facts(reading)
    return Read(
        key, name, system,
        {file: (part.path, part.first) for file, part in texts.items()},
        pack_contents(Contents(reading, aside), parts), place_statements(system, parts, neighbors),
        measure_understood(system, parts, reading.unknown, aside, sum(count_statements(text,
            comments) for text in files.values())),
        identity,
    ), findings  # fmt: skip


def without_no_addresses(reading: Reading, file: str) -> Reading:
    """A reading whose addresses are some: `10.0.0.999/31` is understood by nobody; without a line it is of `file`."""
    paths = list(reading.facts)
    wrong = [paths[at] for at in _no_addresses(split_facts(reading))]
    if not wrong:
        return reading
    facts, lines, unknown = dict(reading.facts), dict(reading.lines), list(reading.unknown)
    for path in wrong:
        place, line = lines.pop(path, (file, 1))
        unknown.append((place, line, f"{path} {facts.pop(path)}"))
    return Reading(facts, lines, unknown)


def _no_addresses(parts: Parts) -> Iterator[int]:
    """Yield the facts whose value is to be an address and is none."""
    return (
        at
        for at in _of_addresses(parts.frame)
        if address_of(text := str(parts.all[at])) is None and _DIGIT.search(text)
    )


@lru_cache(maxsize=KEPT)
def _of_addresses(frame: Frame) -> list[int]:
    return [at for at, path in enumerate(frame.paths) if path.endswith(_ADDRESSES)]


def count_statements(text: str, comments: str) -> int:
    """Count lines that are not empty, no comment and more than brackets."""
    lines = ((line.strip(" \t{}[],;"), times) for line, times in Counter(text.split("\n")).items())
    return sum(times for line, times in lines if line and line[0] not in comments)
