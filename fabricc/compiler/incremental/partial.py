"""Rebuild after a change: render, prove and patch a few devices if only these can change, else the whole tree.

The few are tried when the last build's record still describes the tree and only the spec changed. The result equals
that of a whole build byte for byte; when that is not certain, the whole build runs.

Measured with 24,576 GPUs: one override takes 0.37 s of CPU, a whole build with its proof 3.0 s (docs/performance.md).
"""

from __future__ import annotations

import os
from collections import deque
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from fabricc.back import hosts as host_files
from fabricc.back.jobs.files import job_files
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.foreign.files import STREAMED, Folder
from fabricc.base.foreign.formats import csv_text
from fabricc.base.values import replace
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.incremental import ledger as ledgers
from fabricc.compiler.incremental import record
from fabricc.compiler.incremental.ledger import Ledger, altered_devices, fabric_outline
from fabricc.compiler.incremental.record import LastBuild, LastCheck, split_path
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.compiler.load.spec_location import tree_texts
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.write.device import Work, put_text
from fabricc.compiler.write.outcome import Outcome, plan_folder, plan_texts
from fabricc.compiler.write.whole_tree import write_tree
from fabricc.compiler.write.workers import usable_cpus
from fabricc.front.spec.load import apply_severities
from fabricc.paperwork.plan_tables import SIZED, qos_text
from fabricc.proof.invariants import CODES
from fabricc.proof.invariants.rules import declared_ratios, soften_breaches
from fabricc.rules.census import changed_attributes
from fabricc.tree import EmitError
from fabricc.tree import manifest as manifests
from fabricc.tree.exclusive import hold_lock
from fabricc.tree.patch import Patch, complete_patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.compiler.result import BuildResult
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import DeviceId as Device
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.tree.stage import StagedFile

_LARGEST_SHARE = 4
"""Of the devices, one in so many may be concerned; from there on a whole build is as quick."""
_INLINE_DEVICES = 12
_JOB_FOLDERS = ("jobs", "acceptance")
_FILES = b'\n  "files": {'
"""The text in a manifest between the digests of the inputs and those of the files."""
_CHUNK = 1 << 16


class _WholeBuildError(Exception):
    """The patch cannot be sure to come to the same as a whole build."""


def patch_tree(
    look: LastCheck,
    plan: Callable[[], Compiled],
    jobs: int | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[Compiled | None, BuildResult | None]:
    """Patch the tree of the last build.

    Args:
        look: at the last build, of the same spec with the same options.
        plan: reads and plans the spec.
        jobs: processes to use; None for one per usable CPU.
        check: read back and prove what is rendered.
        progress: called as `driver.build_tree` does.

    Returns:
        The plan, and what the build came to; what could not be had is None, and a whole build has to be done.
    """
    tree = look.last.tree
    try:
        with hold_lock(tree):
            complete_patch(tree)
            if not look.last.states.has(manifests.NAME):
                return None, None  # a build has changed the tree since: each that does changes that
            several = usable_cpus() if jobs is None else jobs
            return _patch_locked(look, plan, several, check, progress)
    except EmitError:
        return None, None  # the whole build meets the error again and reports it


def _patch_locked(
    look: LastCheck,
    plan: Callable[[], Compiled],
    jobs: int,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[Compiled, BuildResult | None]:
    """Patch the tree as `patch_tree` does, while the caller holds its lock."""
    compiled = plan()
    if not compiled.sound or compiled.planned is None or compiled.lock_text != compiled.lock_before:
        return compiled, None
    last = look.last
    known = ledgers.load_ledgers(last.tree.parent, last.tree.name, last.ledger) if look.same_tool() else None
    every = (compiled, *compiled.networks.values())
    if known is None or known.keys() != {each.fabric.network for each in every}:
        return compiled, None
    patch = Patch.open(last.tree)
    try:
        patching = _Patching(last, compiled.spec, patch)
        parts = [_Part(patching, each.spec, each.fabric, known[each.fabric.network]) for each in every]
        return compiled, _build_parts(patching, parts, compiled, jobs, check, look.unedited, progress)
    except _WholeBuildError:
        return compiled, None
    finally:
        patch.abandon()


def _build_parts(
    patching: _Patching,
    parts: Sequence[_Part],
    compiled: Compiled,
    jobs: int,
    check: bool,
    unedited: Callable[[], bool],
    progress: Callable[[str, int, int], None] | None,
) -> BuildResult:
    """Render, prove and commit what is concerned, network by network.

    Raises:
        _WholeBuildError: before anything of the tree has changed.
    """
    last = patching.last
    concerned = sum(len(part.places) for part in parts)
    if concerned * _LARGEST_SHARE > sum(len(part.ledger.sizes) for part in parts):
        raise _WholeBuildError
    outcomes = [part.render_part(jobs, check, progress) for part in parts]
    amended = {
        part.fabric.network: part.with_changes(outcome) for part, outcome in zip(parts, outcomes, strict=True)
    }
    found: list[Diagnostic] = []
    for part, outcome in zip(parts, outcomes, strict=True):
        ledger = amended[part.fabric.network]
        found += part.list_findings(ledger, outcome) if check else []
        part.write_others(outcome, ledger)
    patching.manifest(compiled)
    if not unedited():
        raise _WholeBuildError
    patching.patch.commit(patching.sums)
    result = replace(
        last.result(),
        diagnostics=(*compiled.diagnostics, *found),
        counts=compiled.counts(),
        written=len(patching.sums),
        up_to_date=False,
        proved=concerned,
    )
    lock = str(compiled.lock_path.resolve())
    inputs = {**compiled.inputs, lock: last.stated["inputs"][lock]}
    digest = ledgers.store_ledgers(last.tree.parent, last.tree.name, amended)
    record.amend_build(last, result, inputs, patching.sums, digest)
    return result


class _Patching:
    """A patch that is being made.

    Attributes:
        last: the build that wrote the tree.
        spec: the whole spec, which contains the acceptances.
        sums: digest of every changed file.
    """

    def __init__(self, last: LastBuild, spec: ClusterSpec, patch: Patch) -> None:
        self.last = last
        self.spec = spec
        self.patch = patch
        self.present = Folder(last.tree)
        self.sums: dict[str, str] = {}

    def manifest(self, compiled: Compiled) -> None:
        """Write the new digests into the manifest; it already contains every name."""
        stated = [*_manifest_entries(manifest_inputs(compiled)), (_FILES, b""), *_manifest_entries(self.sums)]
        if not self.sums:
            text = self.present.read(manifests.NAME, limit=manifests.LIMIT)
            if b"".join(_replace_entries([text], stated)) == text:
                return
        with self.present.open(manifests.NAME, limit=manifests.LIMIT) as file:
            chunks = iter(partial(file.read, _CHUNK), b"")
            self.sums[manifests.NAME] = self.patch.write(manifests.NAME, _replace_entries(chunks, stated))

    def put(self, path: str, content: bytes) -> None:
        """Stage a file if it changed."""
        self.take(self.patch.put(path, content))

    def take(self, written: StagedFile) -> None:
        """Record a staged file if it changed."""
        if written.changed:
            self.sums[written.path] = written.sha256


class _Part:
    """One network of a patch.

    Attributes:
        places: the devices that are concerned, in the fabric's order, and the number of each.
    """

    def __init__(self, patching: _Patching, spec: ClusterSpec, fabric: Fabric, ledger: Ledger) -> None:
        self._patching = patching
        self._spec = spec
        self._now = fabric_outline(fabric)
        self.fabric = fabric
        self.ledger = ledger
        self.places = self._device_places(altered_devices(ledger.outline, self._now, fabric))

    def render_part(
        self, jobs: int, check: bool, progress: Callable[[str, int, int], None] | None
    ) -> Outcome:
        """Render the affected devices into the patch."""
        work = Work(self.fabric, [[device] for device in self.places], self._patching.patch, None, check)
        outcome = Outcome(work, jobs if len(self.places) > _INLINE_DEVICES else 1)
        outcome.run(progress, "switches and hosts")
        written = outcome.written
        self._patching.sums |= {
            path: digest for path, digest in written.sums.items() if path not in written.kept
        }
        self._refuse_other_files(set(written.sums))
        return outcome

    def write_others(self, outcome: Outcome, ledger: Ledger) -> None:
        """Stage what belongs to no device and is other now."""
        self._patch_tables(outcome, ledger)
        for path, text in plan_texts(self._spec, self.fabric):
            self._patching.put(path, text.encode())
        if not self.fabric.network and any(isinstance(device, tuple) for device in self.places):
            files = job_files(self.fabric)
            self._refuse_other_jobs(files)
            for path, text in files.items():
                self._patching.take(put_text(self._patching.patch, path, text))

    def _device_places(self, devices: Sequence[Device] | None) -> dict[Device, int]:
        if devices is None:
            raise _WholeBuildError
        wanted = set(devices)
        every = enumerate([*self.fabric.switch_ids(), *self.fabric.host_ids()]) if wanted else ()
        return {device: number for number, device in every if device in wanted}

    def _refuse_other_files(self, written: set[str]) -> None:
        """Refuse to patch a device with another set of files; this needs a whole build."""
        listing, before = self._patching.last.states.listing, set()
        for device in self.places:
            folder = self._device_folder(device)
            own: Iterable[str] = listing.names(folder)
            if isinstance(device, tuple):
                own = host_files.of_part(dict.fromkeys(own, ""), self.fabric.host(device))
            before |= {f"{folder}/{name}" for name in own}
        if before != written:
            raise _WholeBuildError

    def _refuse_other_jobs(self, files: Iterable[str]) -> None:
        """Refuse to patch another set of job files, such as those of a tenant with its first host."""
        listing = self._patching.last.states.listing
        before = {
            (folder, name)
            for folder in listing.folders
            if folder.partition("/")[0] in _JOB_FOLDERS
            for name in listing.names(folder)
        }
        if before != {place for place in map(split_path, files) if place[0]}:
            raise _WholeBuildError

    def _device_folder(self, device: Device) -> str:
        if isinstance(device, tuple):
            return f"hosts/{self.fabric.units[device[0]].hosts[device[1]]}"
        return f"switches/{self.fabric.name(device)}"

    def with_changes(self, outcome: Outcome) -> Ledger:
        """Return the ledger with the new contributions of the devices.

        Their link ends must be unchanged: the other ends, which agreed with them, were not compared again.
        """
        fresh, old = outcome.ledger(self._now), self.ledger
        numbers, switches = list(self.places.values()), len(old.shares)
        hosts = [number - switches for number in numbers if number >= switches]
        own = [number for number in numbers if number < switches]
        if (
            outcome.findings.kept
            or any(code == "FAB6101" for code, *_ in self._patching.last.stated["diagnostics"])
            or [old.ends[at] for at in numbers] != fresh.ends
            or (old.hosts and [old.hosts[at] for at in hosts] != fresh.hosts)
            or (old.summaries and [old.summaries[at] for at in own] != fresh.summaries)
        ):
            raise _WholeBuildError
        sizes, shares = list(old.sizes), list(old.shares)
        for at, size in zip(numbers, fresh.sizes, strict=True):
            sizes[at] = size
        for at, share in zip(numbers, fresh.shares, strict=False):
            shares[at] = share
        census = old.census.with_changes(fresh.census.switches, fresh.census.policies)
        return replace(old, outline=self._now, sizes=sizes, shares=shares, census=census)

    def list_findings(self, ledger: Ledger, outcome: Outcome) -> list[Diagnostic]:
        """Return the findings about the whole fabric; errors are reported by a whole build.

        If the last build had none, only the rules that use changed values run.
        """
        changed = None
        if not any(code in CODES for code, *_ in self._patching.last.stated["diagnostics"]):
            names = {switch.name for switch in outcome.census.switches}
            before, now = ([s for s in census.switches if s.name in names]
                           for census in (self.ledger.census, ledger.census))  # fmt: skip
            changed = changed_attributes(before, now)
        grouped = FindingGroups()
        counts, wired = self.fabric.counts(), self.fabric.wired()
        groups, declared = self.fabric.groups(), declared_ratios(self._spec)
        grouped.add(ledger.census.findings(counts, wired, groups, declared, changed))
        findings = soften_breaches(grouped.diagnostics(str(self._patching.last.tree)), self._patching.spec)
        found = apply_severities(findings, self._patching.spec.accept)
        if any(d.severity is Severity.ERROR for d in found):
            raise _WholeBuildError
        return list(found)

    def _patch_tables(self, outcome: Outcome, ledger: Ledger) -> None:
        """Replace the rows of these devices in the tables."""
        for table, (name, header) in enumerate(SIZED):
            rows = [*outcome.rows(table)]
            sizes = (size[table] for size in self.ledger.sizes)
            starts = [*accumulate(sizes, initial=len(csv_text([header])))]
            spans = [(starts[number], starts[number + 1]) for number in self.places.values()]
            path = f"{plan_folder(self.fabric)}/{name}.csv"
            with self._patching.present.open(path, limit=STREAMED) as file:
                if os.fstat(file.fileno()).st_size != starts[-1]:
                    raise _WholeBuildError
                if all(_read_part(file, *span) == row for span, row in zip(spans, rows, strict=True)):
                    continue
                file.seek(0)
                text = file.read()
            ends = [0, *(end for _, end in spans)]
            kept = [text[at:start] for at, (start, _) in zip(ends, spans, strict=False)]
            parts = [part for pair in zip(kept, rows, strict=True) for part in pair]
            self._patching.put(path, b"".join([*parts, text[ends[-1] :]]))
        if ledger.shares != self.ledger.shares:
            self._patching.put(f"{plan_folder(self.fabric)}/qos.csv", qos_text(ledger.shares).encode())


def _read_part(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _manifest_entries(digests: Mapping[str, str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield for each name the start of its manifest entry and its digest."""
    return ((f'\n    "{name}": "'.encode(), digest.encode()) for name, digest in sorted(digests.items()))


def _replace_entries(chunks: Iterable[bytes], stated: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """A text with other bytes behind some of its words, part by part, so that what was read is still near when written.

    Args:
        chunks: the text.
        stated: the words in the order in which they come, and the bytes that take the place of as many behind them.

    Raises:
        _WholeBuildError: a word does not come.
    """
    left, text = deque(stated), b""
    for chunk in chunks:
        text += chunk
        at = len(text)
        while left:
            words, value = left[0]
            at = text.find(words)
            end = at + len(words)
            if at < 0 or end + len(value) > len(text):
                at = max(0, len(text) - len(words) + 1) if at < 0 else at
                break
            yield text[:end]
            yield value
            text = text[end + len(value) :]
            at = len(text)
            left.popleft()
        yield text[:at]
        text = text[at:]
    if left:
        raise _WholeBuildError


def rebuild_tree(
    spec_path: Path,
    out: Path,
    look: LastCheck | None,
    *,
    jobs: int | None,
    frozen: bool,
    repin: Sequence[str] | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
    before: Callable[[Compiled], None] | None,
) -> tuple[BuildResult, dict[str, str]]:
    """Patch the tree of the last build if only the spec changed since, or write all; see `driver.build_tree`."""
    compiled = None
    if look is not None:
        compiled, done = patch_tree(look, lambda: compile_spec(spec_path), jobs, check, progress)
        if done is not None:
            return done, dict(compiled.sources) if compiled else {}
    compiled = compiled or compile_spec(spec_path, repin=repin)
    outcome = partial(before, compiled) if before is not None else None
    result = write_tree(compiled, out, jobs, frozen, check, progress, outcome)
    rejected = {} if result.tree else tree_texts(result.diagnostics, out / f".{result.cluster}.rejected")
    return result, {**compiled.sources, **rejected}
