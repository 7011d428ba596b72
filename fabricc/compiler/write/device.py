"""Build a few devices in a worker: render, stage, read back, compare, and reduce to rows and link ends."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.hosts import mode
from fabricc.back.jobs.files import is_executable
from fabricc.base.values import dataclass
from fabricc.compiler.prove.device_proof import host_findings, switch_findings
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.prove.likeness import CommonFacts, survey_device
from fabricc.compiler.prove.substitution import DeviceKind, PatternCache
from fabricc.compiler.render.switch_files import render_switch
from fabricc.compiler.write.workers import usable_cpus
from fabricc.fabric.links import port_layout
from fabricc.fabric.shape import DeviceId, HostId, PortLayout
from fabricc.paperwork.plan_tables import Fragments, device_rows
from fabricc.proof import Finding
from fabricc.proof.finding_places import Text
from fabricc.proof.invariants import Survey
from fabricc.rules.answers import Answers, planned_answers
from fabricc.rules.findings import without_repeats
from fabricc.rules.planned import (
    common_summary,
    is_common,
    neighbor_signature,
    planned_host,
    planned_statement,
)
from fabricc.rules.registry import run_host_rules, run_switch_rules
from fabricc.rules.sessions import sessions_of
from fabricc.rules.summary import summarize
from fabricc.tree import EmitError
from fabricc.tree.stage import Content, MemoryStage, Stage, StagedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import FileContents
    from fabricc.fabric.model import Host, Switch
    from fabricc.rules.planned_links import LinkEnd
    from fabricc.rules.records import Summary
    from fabricc.tree.patch import Patch


@dataclass(slots=True)
class TreeFiles:
    """Files of the tree to be.

    Attributes:
        sums: path -> SHA-256 (hex).
        kept: those that do not differ from the present tree.
        edited: paths that somebody changed by hand since the last build.
    """

    sums: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    edited: list[str] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """Return the number of files that differ from the present tree."""
        return len(self.sums) - len(self.kept)

    def add_staged(self, written: Iterable[StagedFile]) -> None:
        """Add staged files.

        Raises:
            EmitError: FAB7004, a path occurs twice.
        """
        for path, digest, changed, edited in written:
            if path in self.sums:
                raise _duplicate_path(path)
            self.sums[path] = digest
            if not changed:
                self.kept.add(path)
            if edited:
                self.edited.append(path)

    def join(self, other: TreeFiles) -> None:
        """Add the files of another collection.

        Raises:
            EmitError: FAB7004, as `add_staged`.
        """
        if not self.sums.keys().isdisjoint(other.sums):
            raise _duplicate_path(min(self.sums.keys() & other.sums.keys()))
        self.sums |= other.sums
        self.kept |= other.kept
        self.edited += other.edited


def _duplicate_path(path: str) -> EmitError:
    return EmitError("FAB7004", f"two files of one build have the name {path}")


def put_text(stage: Stage | Patch | MemoryStage, path: str, text: str) -> StagedFile:
    """Stage a file that belongs to no device."""
    return stage.put(path, text.encode(), mode=0o755 if is_executable(path, text) else 0o644)


def put_device(
    stage: Stage | Patch | MemoryStage, folder: str, files: Mapping[str, str]
) -> Iterable[StagedFile]:
    """Stage the files of a device: path below its folder -> text."""
    contents = [Content(name, *_encode_file(files[name]), mode) for name, mode in _file_modes(tuple(files))]
    if isinstance(stage, Stage):
        return stage.put_folder(folder, contents)
    return [stage.put(f"{folder}/{name}", content, mode=mode, sha256=sha256)
            for name, content, sha256, mode in contents]  # fmt: skip


@lru_cache(maxsize=128)
def _encode_file(text: str) -> tuple[bytes, str]:
    """Return the bytes of a file and their SHA-256 (hex); cached, because hosts share most files."""
    content = text.encode(errors="surrogatepass")  # a template can print half a character: FAB6052
    return content, sha256(content).hexdigest()


@lru_cache(maxsize=256)
def _file_modes(names: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return the names of a device's files in order with their modes; cached, because devices share them."""
    return [(name, mode(name)) for name in sorted(names)]


_MAX_PIECE = 24
_PIECES_PER_JOB = 12
_INLINE_DEVICES = 48


@dataclass(slots=True)
class Piece:
    """The result of one piece of the work.

    Attributes:
        written: files that were staged; `ends`: the ends of each device's links.
        devices: number of devices done.
        survey: the input of rules about the whole fabric.
        verified: folders of devices whose existing files were read, and the problems of their bytes.
        answers: which rules had their inputs -> number of switches, of existing files.
        altered: switches whose files state more or something else than the plan -> their signature, see
            `neighbor_signature`.
    """

    devices: int = 0
    written: TreeFiles = field(default_factory=TreeFiles)
    findings: FindingGroups = field(default_factory=FindingGroups)
    ends: list[list[LinkEnd]] = field(default_factory=list)
    rows: Fragments = field(default_factory=Fragments)
    survey: Survey = field(default_factory=Survey)
    summaries: dict[str, Summary] = field(default_factory=dict)
    verified: dict[str, list[Diagnostic]] = field(default_factory=dict)
    answers: Counter[Answers] = field(default_factory=Counter)
    altered: dict[str, bytes] = field(default_factory=dict)

    def survey_device(
        self, device: Switch | Host, reading: FileContents, folder: str, common: CommonFacts | None
    ) -> list[Finding]:
        """Collect the input of the whole-fabric rules from a device."""
        wrong, ends = survey_device(device, reading, folder, self.survey, common)
        self.findings.add(wrong)
        self.ends.append(ends)
        return wrong

    def run_rules(
        self,
        switch: Switch,
        reading: FileContents,
        files: Mapping[str, str],
        kind: DeviceKind | None,
        reported: Iterable[Finding],
        *,
        count_answers: bool,
        as_planned: bool,
    ) -> None:
        """Run the rules that need no plan on a switch; of switches of a kind, on one that is in order.

        Args:
            switch: the plan.
            reading: its facts.
            files: its files.
            kind: of the switches that differ in coordinates alone.
            reported: findings of the invariants, which are not reported twice.
            count_answers: whether to count which rules had their inputs.
            as_planned: whether its files state what is planned and nothing else.
        """
        if kind is not None and kind.summary is not None and kind.first is not None:
            self.summaries[switch.name] = common_summary(kind.summary, kind.first, switch)
            if kind.answers is not None:
                self.answers[kind.answers] += 1
            return
        statement = planned_statement(switch, reading, files, f"switches/{switch.name}")
        sessions = sessions_of(statement)
        found = [*run_switch_rules(statement, sessions)]
        self._add_findings(found, reported)
        self.summaries[switch.name] = summary = summarize(statement, sessions)
        answers = planned_answers(switch, reading, statement, sessions) if count_answers else None
        if answers is not None:
            self.answers[answers] += 1
        if not as_planned:
            self.altered[switch.name] = neighbor_signature(statement, sessions)
        if kind is not None and not found and is_common(summary):
            kind.summary, kind.first, kind.answers = summary, switch, answers

    def run_host_rules(
        self,
        host: Host,
        reading: FileContents,
        files: Mapping[str, str],
        kind: DeviceKind | None,
        reported: Iterable[Finding],
    ) -> None:
        """Run the rules about one host; of hosts of a kind, on one that is in order. Arguments as of `run_rules`."""
        if kind is not None and kind.in_order:
            return
        found = [*run_host_rules(planned_host(host, reading, files, f"hosts/{host.name}"))]
        self._add_findings(found, reported)
        if kind is not None:
            kind.in_order = not found

    def _add_findings(self, found: Iterable[Finding], reported: Iterable[Finding]) -> None:
        """Add findings of rules, except where an invariant reports the same."""
        known = list(reported)
        places = {(each.code, each.file, each.line) for each in known}
        new = (each for each in found if (each.code, each.file, each.line) not in places)
        self.findings.add(without_repeats(new, known))


def pieces_of(fabric: Fabric, jobs: int) -> list[list[DeviceId]]:
    """Return all devices cut into runs small enough to balance over the jobs, in the fabric's order."""
    devices: list[DeviceId] = [*fabric.switch_ids(), *fabric.host_ids()]
    size = max(1, min(_MAX_PIECE, len(devices) // (jobs * _PIECES_PER_JOB)))
    while len(devices) // size > 8000:
        size *= 2
    return [devices[at : at + size] for at in range(0, len(devices), size)]


def job_count(fabric: Fabric, jobs: int | None) -> int:
    """Return the number of processes: the requested number, else one per CPU; one for a small fabric."""
    if jobs is not None:
        return max(1, jobs)
    counts = fabric.counts()
    devices = counts["tors"] + counts["spines"] + counts["cores"] + counts["hosts"]
    return 1 if devices < _INLINE_DEVICES else usable_cpus()


@dataclass(frozen=True, slots=True)
class Work:
    """The work for every piece; called in a worker with the number of the piece.

    Attributes:
        stage: where files are written, or None to take the files of `existing` instead of rendering.
        existing: folder of a device (`switches/x`) -> its files by path below that folder, and which of them are not
            those that the build wrote.
        check: read back and compare.
        expected: whether the build that wrote the existing files was one of this plan: otherwise each line counts.
        whole: the files that belong to no device, done as the piece after the last; None for none.
    """

    fabric: Fabric
    pieces: Sequence[Sequence[DeviceId]]
    stage: Stage | Patch | MemoryStage | None
    existing: Callable[[str], tuple[Mapping[str, str], list[Diagnostic]]] | None = None
    check: bool = True
    expected: bool = False
    whole: Callable[[], Iterable[tuple[str, str]]] | None = None
    alike: PatternCache = field(default_factory=PatternCache)

    def __call__(self, number: int) -> Piece:
        """Do one piece."""
        piece = Piece()
        if number == len(self.pieces):
            if self.whole is not None and self.stage is not None:
                piece.written.add_staged([put_text(self.stage, path, text) for path, text in self.whole()])
            return piece
        devices, piece.devices = self._work_devices(number, piece), len(self.pieces[number])
        if not self.check:
            piece.ends = [[] for _ in range(piece.devices)]
        if self.stage is not None:
            piece.rows = device_rows(devices)
        else:
            deque(devices, 0)
        return piece

    def _work_devices(self, number: int, piece: Piece) -> Iterator[tuple[Switch, PortLayout] | Host]:
        """Yield the devices of a piece, each after its work is done, so that no more than one is held."""
        for device in self.pieces[number]:
            if isinstance(device, HostId):
                host = self.fabric.host(device)
                self._work_host(host, piece)
                yield host
            else:
                switch = self.fabric.switch(device)
                self._work_switch(switch, piece)
                yield switch, port_layout(self.fabric, device)

    def _work_switch(self, switch: Switch, piece: Piece) -> None:
        back_end = back_ends.load(switch.nos)
        folder = f"switches/{switch.name}"
        files = self._existing_files(folder, piece) if self.existing else render_switch(switch)
        self._write_device(folder, files, piece)
        if not self.check:
            return
        reading, common = self.alike.reading(switch, files) or (None, None)
        as_planned = not switch.overlays
        if reading is None:
            reading = back_end.read(files)
            fresh, altered = self.existing is not None, self.expected and bool(piece.verified.get(folder))
            wrong = [*switch_findings(switch, Text(files, reading), fresh=fresh, altered=altered)]
            piece.findings.add(_place_below(folder, wrong))
            as_planned = as_planned and not wrong
            if not wrong:
                common = self.alike.learn(switch, files, reading)
        known = piece.survey_device(switch, reading, folder, common)
        count_answers = self.existing is not None
        piece.run_rules(
            switch, reading, files, common, known, count_answers=count_answers, as_planned=as_planned
        )

    def _work_host(self, host: Host, piece: Piece) -> None:
        folder = f"hosts/{host.name}"
        existing = self._existing_files(folder, piece) if self.existing else None
        files = host_files.render(host) if existing is None else host_files.of_part(existing, host)
        self._write_device(folder, files, piece)
        if not self.check:
            return
        reading, common = self.alike.reading(host, files) or (None, None)
        if reading is None:
            reading = host_files.read(files)
            fresh, altered = self.existing is not None, self.expected and bool(piece.verified.get(folder))
            wrong = [*host_findings(host, Text(files, reading), fresh=fresh, altered=altered)]
            piece.findings.add(_place_below(folder, wrong))
            if not wrong:
                common = self.alike.learn(host, files, reading)
        known = piece.survey_device(host, reading, folder, common)
        piece.run_host_rules(host, reading, files, common, known)

    def _existing_files(self, folder: str, piece: Piece) -> Mapping[str, str]:
        assert self.existing is not None
        files, piece.verified[folder] = self.existing(folder)
        return files

    def _write_device(self, folder: str, files: Mapping[str, str], piece: Piece) -> None:
        if self.stage is not None:
            piece.written.add_staged(put_device(self.stage, folder, files))
        elif not files:
            message = f"{folder} has no files"
            piece.findings.add([Finding("FAB6011", message, folder, group="no files")])


def _place_below(folder: str, wrong: Iterable[Finding]) -> Iterator[Finding]:
    for finding in wrong:
        yield finding._replace(file=f"{folder}/{finding.file}" if finding.file else "")
