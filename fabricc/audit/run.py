"""Audit a folder: devices, their links and places, findings and coverage; as tables for a terminal, and as JSON."""

from __future__ import annotations

import io
import json
from collections import Counter
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from fabricc.audit.coverage import DeviceCoverage, State, coverage_of
from fabricc.audit.gather import FolderContents, gather_devices
from fabricc.audit.links import links_of
from fabricc.audit.model import FoundFabric, Link
from fabricc.audit.places import places_of
from fabricc.audit.rules import RuleResults, examine_fabric
from fabricc.base.diagnostics import Diagnostic, Position
from fabricc.base.diagnostics.formats import finding_entry, severity_summary
from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.foreign.formats import escape_json
from fabricc.base.foreign.text import Line, Part, Rendered, Table
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.result import exit_status
from fabricc.compiler.write.workers import usable_cpus
from fabricc.facts.statement import Device, Kind, Tier
from fabricc.proof.tree import read_consistently, trees_around
from fabricc.rules.answers import ACCOUNT, account_rows, accounts_by_topic
from fabricc.rules.rule import TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


class Audit:
    """The result of an audit.

    Attributes:
        folder: as given.
        found: devices, links and places.
        findings: all findings, with files below the folder, in order of codes and places.
        coverage: the coverage.
        accounts: the results of the rules by topic; `progress`: the progress of each invariant.
        files: number of files in the folder; `used`: number of files with statements about a device.
    """

    def __init__(
        self,
        folder: Path,
        gathered: FolderContents,
        found: FoundFabric,
        examined: RuleResults,
    ) -> None:
        self.folder, self.found = folder, found
        reported = (*gathered.findings, *examined.findings)
        self.findings = tuple(sorted(reported, key=lambda one: (one.code, one.file, one.line, one.message)))
        self.coverage = coverage_of(gathered.devices, gathered.understood, self.findings, examined.unchecked)
        self.accounts, self.progress = tuple(examined.accounts), tuple(examined.progress)
        self.files, self.used = gathered.files, gathered.used

    @property
    def devices(self) -> Mapping[str, Device]:
        """The devices by name."""
        return self.found.devices

    @property
    def switches(self) -> int:
        """Return how many switches there are; the other devices are hosts."""
        return sum(device.kind is Kind.SWITCH for device in self.devices.values())

    @property
    def top(self) -> str:
        """The folder that files of findings are below; of a single file the one that it is in."""
        return str(self.folder if self.folder.is_dir() else self.folder.parent)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings, of each kind the first few and how many more there are."""
        grouped = FindingGroups()
        grouped.add(self.findings)
        return tuple(grouped.diagnostics(self.top))

    @property
    def every(self) -> tuple[Diagnostic, ...]:
        """The findings, each."""
        return tuple(
            Diagnostic(
                one.code, one.severity, one.message,
                Position(f"{self.top}/{one.file}", one.line) if one.line else None, one.help,
            )
            for one in self.findings
        )  # fmt: skip

    @property
    def exit_status(self) -> int:
        """0 where nothing is wrong, 1 where something is."""
        return exit_status(self.diagnostics)


def audit_fabric(
    folder: Path, *, jobs: int | None = None, progress: Callable[[str, int, int], None] | None = None
) -> Audit:
    """Read a folder of collected files and return findings about the fabric; write nothing.

    Args:
        folder: of configurations and outputs; or one file.
        jobs: worker processes; None for one per CPU.
        progress: called with the phase, the number done and the total.

    Raises:
        OSError: the folder is not there or must not be read.
        EmitError: a worker died.
        FindingsError: FAB6020, it is a built tree that a build writes.
    """
    return read_consistently(trees_around(folder), lambda: _audit_folder(folder, jobs, progress))


def _audit_folder(folder: Path, jobs: int | None, progress: Callable[[str, int, int], None] | None) -> Audit:
    gathered = gather_devices(folder, jobs=jobs, progress=progress, packed=True)
    links = links_of(gathered.devices, gathered.placement)
    places = places_of(gathered.devices, links, gathered.placement)
    found = FoundFabric(gathered.devices, links, places)
    return Audit(
        folder, gathered, found, examine_fabric(found, jobs=jobs or usable_cpus(), progress=progress)
    )


SHOWN = 8
"""Kinds of lines that are not understood, of which a terminal shows so many."""
_TIERS = {Tier.TOR: "ToR", Tier.SPINE: "spine", Tier.CORE: "core", Tier.HOST: "host"}


def report_parts(audit: Audit) -> Iterator[Part]:
    """Yield the tables that are shown with the findings: the content of the folder, and its coverage."""
    yield Line(f"{audit.folder}: {content_line(audit)}", "bold")
    if not audit.devices:
        return
    yield Line()
    yield Table(
        "", ("system", "devices", "statements", "understood", "aside", "unknown"), list(system_rows(audit))
    )
    yield Line()
    yield Table("", ("devices, by topic", *State), list(topic_rows(audit)))
    if audit.accounts:
        yield Line()
        yield Table("", ACCOUNT, list(account_rows(audit.accounts)))
    if frequent := audit.coverage.frequent:
        yield from (Line(), Line("lines that are not understood, the most frequent first", "bold"))
        yield Table("", ("times", "devices", "line", "for instance"), list(unknown_line_rows(audit, SHOWN)))
        if len(frequent) > SHOWN:
            yield Line(f"and {plural(len(frequent) - SHOWN, 'more kind')}; --format json has them all", "dim")
    yield from (Line(), Line(summary_line(audit), "bold"))


def content_line(audit: Audit) -> str:
    """Return the content of the folder in one line."""
    tiers = Counter(place.tier for place in audit.found.places.values())
    of = ", ".join(plural(tiers[tier], word) for tier, word in _TIERS.items() if tiers[tier])
    words = [plural(audit.switches, "switch"), plural(len(audit.devices) - audit.switches, "host")]
    shown = f"{' and '.join(words)}{f' ({of})' if of else ''}"
    return f"{shown} in {plural(audit.files, 'file')}, {plural(len(audit.found.links), 'link')}"


def system_rows(audit: Audit) -> Iterator[tuple[str, ...]]:
    """Yield a row for each system and for all: devices, and understood, ignored and unknown statements."""
    for system, of in audit.coverage.systems():
        known = f"{of.understood:,} ({format_share(of.share)})"
        yield (
            system or "all",
            f"{of.devices:,}",
            f"{of.statements:,}",
            known,
            f"{of.aside:,}",
            f"{of.unknown:,}",
        )


def topic_rows(audit: Audit) -> Iterator[tuple[str, ...]]:
    """Yield a row for each topic: how many devices are in each state."""
    for topic in TOPICS:
        counts = audit.coverage.states(topic)
        if counts[State.SILENT] < len(audit.devices):
            yield topic, *(f"{counts[state]:,}" for state in State)


def unknown_line_rows(audit: Audit, most: int | None = None) -> Iterator[tuple[str, ...]]:
    """Yield a row for each kind of line that is not understood."""
    for one in audit.coverage.frequent[:most]:
        yield f"{one.times:,}", f"{one.devices:,}", one.text, f"{one.file}:{one.line}"


def summary_line(audit: Audit) -> str:
    """Return the result in one line."""
    summary = severity_summary(audit.every)
    if summary != severity_summary(audit.diagnostics):
        summary += " in all"
    summary = summary or "no fault in the statements that were understood"
    left = audit.coverage.unknown
    return f"{summary}; {plural(left, 'statement')} not understood" if left else summary


def as_json(audit: Audit, diagnostics: Sequence[Diagnostic]) -> Rendered:
    """Everything: devices with places and coverage, links with evidence, rules, findings, unknown lines."""
    before = _as_document({
        "folder": str(audit.folder),
        "files": {"all": audit.files, "used": audit.used},
        "devices": {name: _device_document(audit, name, one) for name, one in audit.coverage.devices.items()},
    })  # fmt: skip
    after = _as_document({
        "asked": [one._asdict() for one in audit.progress],
        "rules": accounts_by_topic(audit.accounts),
        "diagnostics": [finding_entry(each) for each in diagnostics],
        "unknown": [one._asdict() for one in audit.coverage.frequent],
    })  # fmt: skip
    written = io.StringIO()
    written.write(before.removesuffix("\n}") + ',\n  "links": [')
    for number, link in enumerate(audit.found.links):
        written.write(f"{',' if number else ''}\n{_encode_link(link)}")
    written.write(("\n  ]," if audit.found.links else "],") + after.removeprefix("{") + "\n")
    text = written.getvalue()
    del written, before, after
    return escape_json(text)


def _as_document(value: object) -> str:
    written = io.StringIO()
    json.dump(value, written, indent=2, ensure_ascii=False)
    return written.getvalue()


_LINK = """\
    {{
      "a": [
        {},
        {}
      ],
      "b": [
        {},
        {}
      ],
      "evidence": [
        {}
      ]
    }}"""
_quoted = lru_cache(maxsize=1 << 14)(partial(json.dumps, ensure_ascii=False))


def _encode_link(link: Link) -> str:
    """Return a link as JSON; in a large fabric most of the text is links."""
    evidence = ",\n        ".join(map(_quoted, link.evidence))
    return _LINK.format(*map(_quoted, (*link.a, *link.b)), evidence)


def _device_document(audit: Audit, name: str, covered: DeviceCoverage) -> dict[str, object]:
    device, place = audit.devices[name], audit.found.places.get(name)
    return {
        "kind": device.kind.value, "system": device.system, "box": device.box, "model": device.model,
        "release": device.release, "files": sorted(set(device.paths.values())),
        "place": place and {**place._asdict(), "tier": place.tier.value},
        "statements": dict(list(covered.counts._asdict().items())[1:]),
        "coverage": {topic: state.value for topic, state in covered.topics.items()},
        "unchecked": dict(covered.unchecked),
    }  # fmt: skip
