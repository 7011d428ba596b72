"""The report of an adoption: a text for the spec's folder, the same as JSON, and lines for a terminal."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt.reasons import mismatch_reason
from fabricc.audit.adopt.trial import SPEC
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.screen import Line, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.adopt.run import Adoption
    from fabricc.base.foreign.screen import Part
    from fabricc.base.foreign.text import Rendered

_KEYS = re.compile(r"\[[^\[\]]*\]")
TEXT, JSON = "adoption.txt", "adoption.json"


def report_parts(adoption: Adoption) -> Iterator[Part]:
    """Yield the tables that are shown with the findings."""
    adopted, found, drafts = adoption.adopted, adoption.found, adoption.adopted.draft.every()
    yield Line(
        f"{adoption.folder}: {plural(len(found.devices), 'device')}, {plural(len(found.links), 'link')}",
        "bold",
    )
    rows = [("devices of the spec", len(adopted.differences)), ("of these the same as they are", adoption.same),
            ("facts that a build would change, add or take away", sum(map(len, adopted.differences.values()))),
            ("switches with names or numbers by table", sum(len(each.devices) for each in drafts)),
            ("links with addresses by table", sum(len(each.links) for each in drafts)),
            ("overlays", sum(len(each.words.get("overlays", ())) for each in drafts))]  # fmt: skip
    yield Table("", ("what came of it", "number"), [(words, f"{number:,}") for words, number in rows])
    yield Line(summary_line(adoption), "bold")


def summary_line(adoption: Adoption) -> str:
    """Return the result in one line."""
    adopted = adoption.adopted
    if not adopted.compiled.sound:
        return "The spec that fits best cannot be built as it stands; the findings say what is in the way."
    other = len(adopted.differences) - adoption.same
    if not other:
        every = f"{adoption.same:,} of {plural(len(adoption.found.devices), 'device')}"
        return f"A build of {SPEC} states what {every} state."
    return f"A build of {SPEC} would differ on {plural(other, 'device')}; {TEXT} lists each fact with its reason."


def as_text(adoption: Adoption) -> str:
    """Return the report: assumptions, and differences of a build, merged over devices of the same kind."""
    adopted = adoption.adopted
    lines = [f"# What `fabricc adopt` made of {adoption.folder}", "", summary_line(adoption), ""]
    if adopted.assumed:
        lines += ["## Assumed", "", *(f"- {words}" for words in adopted.assumed), ""]
    if adopted.left:
        lines += ["## Devices that the spec does not hold", "", *(f"- {name}" for name in adopted.left), ""]
    if adopted.moved:
        lines += ["## Links that a build would have on other ports", ""]
        moves = (f"- {each.switch} {each.port} to {each.peer}: {each.planned}" for each in adopted.moved)
        lines += [*moves, ""]
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, mismatches in adopted.differences.items():
        for each in mismatches:
            kind = "adds" if each.found is None else "takes away" if each.planned is None else "changes"
            groups[
                kind, _KEYS.sub("[]", each.path), mismatch_reason(adoption.found.devices[name], each)
            ].append(name)
    if groups:
        lines += ["## What a build would do otherwise", ""]
        for (kind, path, why), names in sorted(groups.items()):
            devices = list(dict.fromkeys(names))
            shown = ", ".join(devices[:8]) + (f" and {len(devices) - 8:,} more" if len(devices) > 8 else "")
            counted = f"{plural(len(names), 'time')} on {plural(len(devices), 'device')}"
            lines.append(f"- {kind} {path}, {counted}: {why}. On {shown}.")
        lines.append("")
    return "\n".join(lines)


def as_json(adoption: Adoption) -> Rendered:
    """The same, device by device."""
    adopted = adoption.adopted
    document: dict[str, Any] = {
        "folder": str(adoption.folder),
        "buildable": adopted.compiled.sound,
        "devices": len(adoption.found.devices),
        "same": adoption.same,
        "assumed": list(adopted.assumed),
        "left": list(adopted.left),
        "moved": [each._asdict() for each in adopted.moved],
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
