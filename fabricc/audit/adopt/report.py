"""The report of an adoption: a text for the spec's folder, the same as JSON, and lines for a terminal."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt.run import Adoption, mismatch_reason
from fabricc.audit.adopt.trial import DRAFT, SPEC
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Line, Part, Rendered, Table
from fabricc.facts.paths import replace_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.audit.adopt.adoption import LostLine

TEXT, JSON = "adoption.txt", "adoption.json"
_FEW = 8
"""Places of equal lines that are listed."""


def report_parts(adoption: Adoption) -> Iterator[Part]:
    """Yield the tables that are shown with the findings."""
    adopted, found, drafts = adoption.adopted, adoption.found, adoption.adopted.draft.every()
    yield Line(
        f"{adoption.folder}: {plural(len(found.devices), 'device')}, {plural(len(found.links), 'link')}",
        "bold",
    )
    rows = [("devices of the spec", len(adopted.differences)), ("of these the same as they are", adoption.same),
            ("devices that the spec does not contain", len(adopted.left)),
            ("facts that a build would change, add or remove", sum(map(len, adopted.differences.values()))),
            ("lines without a fact that a build does not write", sum(map(len, adopted.lost.values()))),
            ("switches with names or numbers by table", sum(len(each.devices) for each in drafts)),
            ("links with addresses by table", sum(len(each.links) for each in drafts)),
            ("overlays", sum(len(each.words.get("overlays", ())) for each in drafts))]  # fmt: skip
    yield Table("", ("what came of it", "number"), [(words, f"{number:,}") for words, number in rows])
    yield Line(summary_line(adoption), "bold")


def summary_line(adoption: Adoption) -> str:
    """Return the result in one line."""
    adopted = adoption.adopted
    every = plural(len(adoption.found.devices), "device")
    if not adopted.usable:
        return f"No spec that can be built holds these devices: {every} not adopted. {DRAFT} comes closest."
    remainder = []
    if adopted.left:
        remainder.append(f"leaves out {plural(len(adopted.left), 'device')}")
    if other := len(adopted.differences) - adoption.same:
        remainder.append(f"would differ on {plural(other, 'device')}")
    if lines := sum(map(len, adopted.lost.values())):
        remainder.append(f"does not write {plural(lines, 'line')} without a fact")
    states = f"A build of {SPEC} states what {adoption.same:,} of {every} state"
    return f"{states}, and {' and '.join(remainder)}: see {TEXT}." if remainder else f"{states}."


def as_text(adoption: Adoption) -> str:
    """Return the report: assumptions, and differences of a build, merged over devices of the same kind."""
    adopted = adoption.adopted
    lines = [f"# Result of `fabricc adopt` for {adoption.folder}", "", summary_line(adoption), ""]
    if adopted.assumed:
        lines += ["## Assumed", "", *(f"- {words}" for words in adopted.assumed), ""]
    if adopted.left:
        lines += [
            "## Devices that the spec does not contain",
            "",
            *(f"- {name}" for name in adopted.left),
            "",
        ]
    if adopted.moved:
        lines += ["## Links that a build would have on other ports", ""]
        moves = (f"- {each.switch} {each.port} to {each.peer}: {each.planned}" for each in adopted.moved)
        lines += [*moves, ""]
    lines += _lost_section(adopted.lost)
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, mismatches in adopted.differences.items():
        for each in mismatches:
            kind = "adds" if each.found is None else "takes away" if each.planned is None else "changes"
            groups[kind, replace_keys(each.path), mismatch_reason(adoption.found.devices[name], each)].append(
                name
            )
    if groups:
        lines += ["## Facts that a build would change", ""]
        for (kind, path, why), names in sorted(groups.items()):
            devices = list(dict.fromkeys(names))
            shown = ", ".join(devices[:8]) + (f" and {len(devices) - 8:,} more" if len(devices) > 8 else "")
            counted = f"{plural(len(names), 'time')} on {plural(len(devices), 'device')}"
            lines.append(f"- {kind} {path}, {counted}: {why}. On {shown}.")
        lines.append("")
    return "\n".join(lines)


def _lost_section(lost: Mapping[str, list[LostLine]]) -> list[str]:
    """Return the section about lines that a build does not write, with equal lines of devices together."""
    if not lost:
        return []
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, some in lost.items():
        for each in some:
            groups[each.file, each.text].append(f"{name}:{each.line}")
    rows = []
    for (file, text), places in groups.items():
        more = f" and {len(places) - _FEW:,} more" if len(places) > _FEW else ""
        rows.append(f"- {file}: `{text}` ({', '.join(places[:_FEW])}{more})")
    return ["## Lines without a fact that a build does not write", "", *rows, ""]


def as_json(adoption: Adoption) -> Rendered:
    """Return the same, device by device."""
    adopted = adoption.adopted
    document: dict[str, Any] = {
        "folder": str(adoption.folder),
        "buildable": adopted.usable,
        "devices": len(adoption.found.devices),
        "same": adoption.same,
        "assumed": list(adopted.assumed),
        "left": list(adopted.left),
        "moved": [each._asdict() for each in adopted.moved],
        "lost": {name: [each._asdict() for each in lines] for name, lines in adopted.lost.items()},
        "differences": {
            name: [
                {"path": each.path, "found": each.found, "built": each.planned, "file": each.file, "line": each.line,
                 "reason": mismatch_reason(adoption.found.devices[name], each)}
                for each in mismatches
            ]
            for name, mismatches in adopted.differences.items()
            if mismatches
        },
    }  # fmt: skip
    return json_document(document)
