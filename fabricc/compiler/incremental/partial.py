"""A build that concerns a few devices: those are rendered, proved and patched into the tree, the rest stands.

It is tried when the last build's record still describes the tree and nothing was read that changed but the spec. What
it leaves is byte for byte what a whole build leaves; whenever it cannot be sure of that, the whole build is done.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from fabricc.back.jobs.files import job_files
from fabricc.base.diagnostics import Severity
from fabricc.base.foreign.files import STREAMED, Folder
from fabricc.base.foreign.text import csv_text
from fabricc.compiler.device import Work
from fabricc.compiler.gathered import put_text
from fabricc.compiler.grouped import Grouped
from fabricc.compiler.incremental import ledger as ledgers
from fabricc.compiler.incremental import record
from fabricc.compiler.incremental.altered import altered, outline
from fabricc.compiler.inputs import manifest_inputs
from fabricc.compiler.outcome import Outcome, plan_texts
from fabricc.compiler.tables import SIZED, qos_text
from fabricc.compiler.workers import beside, usable_cpus
from fabricc.front.spec.load import accepted
from fabricc.proof.invariants import CODES
from fabricc.proof.invariants.census import changed_attributes
from fabricc.proof.invariants.declared import declared_ratios, softened
from fabricc.tree import EmitError
from fabricc.tree import manifest as manifests
from fabricc.tree.exclusive import exclusive
from fabricc.tree.patch import Patch, complete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler.compiled import Compiled
    from fabricc.compiler.incremental.altered import Outline
    from fabricc.compiler.incremental.ledger import Ledger
    from fabricc.compiler.incremental.record import Last
    from fabricc.compiler.result import BuildResult
    from fabricc.fabric.fabric import DeviceId as Device
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.tree.stage import Written

_LARGEST_SHARE = 4
"""Of the devices, one in so many may be concerned; from there on a whole build is as quick."""
_INLINE_DEVICES = 12
_HEX = 64  # characters of a SHA-256


class _WholeBuildError(Exception):
    """The patch cannot be sure to come to the same as a whole build."""


def patched(
    last: Last,
    plan: Callable[[], Compiled],
    jobs: int | None,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[Compiled | None, BuildResult | None]:
    """Patch the tree of the last build.

    Args:
        last: the last build, of the same spec with the same options.
        plan: reads and plans the spec.
        jobs: processes to use; None for one per usable CPU.
        check: read back and prove what is rendered.
        progress: called as `driver.build` does.

    Returns:
        The plan, and what the build came to; what could not be had is None, and a whole build has to be done.
    """
    tree = last.tree
    try:
        with exclusive(tree.with_name(f".{tree.name}.lock"), tree):
            complete(tree)
            return _patched(last, plan, usable_cpus() if jobs is None else jobs, check, progress)
    except EmitError:
        return None, None  # the whole build meets it again and tells


def _patched(
    last: Last,
    plan: Callable[[], Compiled],
    jobs: int,
    check: bool,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[Compiled, BuildResult | None]:
    """As `patched`, for who holds the tree's lock."""
    with ExitStack() as stack:
        unedited: Callable[[], bool] = last.unedited
        if jobs > 1 and last.large:
            unedited = stack.enter_context(beside(lambda: last.unedited(alone=True)))
        compiled = plan()
        if not compiled.sound or compiled.planned is None or compiled.lock_text != compiled.lock_before:
            return compiled, None
        if compiled.networks:  # no ledger is kept of several
            return compiled, None
        ledger = ledgers.load(last.tree.parent, last.tree.name, last.ledger)
        if ledger is None:
            return compiled, None
        patch = Patch.open(last.tree)
        try:
            part = _Part(last, compiled.spec, compiled.fabric, ledger, patch)
            return compiled, part.build(compiled, jobs, check, unedited, progress)
        except _WholeBuildError:
            return compiled, None
        finally:
            patch.abandon()


class _Part:
    """One patch in the making."""

    def __init__(self, last: Last, spec: ClusterSpec, fabric: Fabric, ledger: Ledger, patch: Patch) -> None:
        self._last = last
        self._spec = spec
        self._fabric = fabric
        self._ledger = ledger
        self._patch = patch
        self._sums: dict[str, str] = {}
        self._present = Folder(last.tree)

    def build(
        self,
        compiled: Compiled,
        jobs: int,
        check: bool,
        unedited: Callable[[], bool],
        progress: Callable[[str, int, int], None] | None,
    ) -> BuildResult:
        """Render, prove and commit what is concerned.

        Raises:
            _WholeBuildError: before anything of the tree has changed.
        """
        now = outline(self._fabric)
        places = self._places(altered(self._ledger.outline, now, self._fabric))
        work = Work(self._fabric, [[device] for device in places], self._patch, None, check)
        outcome = Outcome(work, jobs if len(places) > _INLINE_DEVICES else 1)
        outcome.run(progress, "switches and hosts")
        self._sums = {each.path: each.sha256 for each in outcome.written if each.changed}
        self._refuse_other_files(places, {each.path for each in outcome.written})
        ledger = self._amended(now, outcome, places)
        with ledgers.kept(self._last.tree.parent, self._last.tree.name, ledger) as digest:
            found = self._found(ledger, outcome) if check else []
            self._write_others(outcome, ledger, places)
            self._manifest(compiled)
            if not unedited():
                raise _WholeBuildError
            self._patch.commit(self._sums)
            result = replace(
                self._last.result(),
                diagnostics=(*compiled.diagnostics, *found),
                counts=self._fabric.counts(),
                written=len(self._sums),
                up_to_date=False,
                proved=len(places),
            )
            lock = str(compiled.lock_path.resolve())
            inputs = {**compiled.inputs, lock: self._last.stated["inputs"][lock]}
            record.amend(self._last, result, inputs, self._sums, digest())
        return result

    def _write_others(self, outcome: Outcome, ledger: Ledger, places: Mapping[Device, int]) -> None:
        """Stage what belongs to no device and is other now."""
        self._tables(outcome, ledger, places)
        for path, text in plan_texts(self._spec, self._fabric):
            self._put(path, text.encode())
        if any(isinstance(device, tuple) for device in places):
            for path, text in job_files(self._fabric).items():
                self._take(put_text(self._patch, path, text))

    def _places(self, devices: Sequence[Device] | None) -> dict[Device, int]:
        """The devices that are concerned, in the fabric's order, and the number of each."""
        counts = self._fabric.counts()
        total = counts["tors"] + counts["spines"] + counts["cores"] + counts["hosts"]
        if devices is None or len(devices) * _LARGEST_SHARE > total:
            raise _WholeBuildError
        wanted = set(devices)
        every = enumerate([*self._fabric.switch_ids(), *self._fabric.host_ids()]) if wanted else ()
        return {device: number for number, device in every if device in wanted}

    def _refuse_other_files(self, places: Mapping[Device, int], written: set[str]) -> None:
        """A device that has other files than before needs a tree put together anew."""
        files = self._last.paths[-self._last.stated["files"] :]
        before = set()
        for device in places:
            folder = self._folder(device)
            before.update(files[bisect_left(files, folder + "/") : bisect_left(files, folder + "0")])
        if before != written:
            raise _WholeBuildError

    def _folder(self, device: Device) -> str:
        if isinstance(device, tuple):
            return f"hosts/{self._fabric.units[device[0]].hosts[device[1]]}"
        return f"switches/{self._fabric.name(device)}"

    def _amended(self, now: Outline, outcome: Outcome, places: Mapping[Device, int]) -> Ledger:
        """The ledger with what the devices brought now.

        Their ends of links have to be what they were: the other ends, which agreed with those, were not looked at.
        """
        fresh, old = outcome.ledger(now), self._ledger
        numbers, switches = list(places.values()), len(old.shares)
        hosts = [number - switches for number in numbers if number >= switches]
        if (
            outcome.findings.kept
            or [old.ends[at] for at in numbers] != fresh.ends
            or (old.hosts and [old.hosts[at] for at in hosts] != fresh.hosts)
        ):
            raise _WholeBuildError
        sizes, shares = list(old.sizes), list(old.shares)
        for at, size in zip(numbers, fresh.sizes, strict=True):
            sizes[at] = size
        for at, share in zip(numbers, fresh.shares, strict=False):
            shares[at] = share
        census = old.census.amended(fresh.census.switches, fresh.census.policies)
        return replace(old, outline=now, sizes=sizes, shares=shares, census=census)

    def _found(self, ledger: Ledger, outcome: Outcome) -> list[Diagnostic]:
        """What is wrong with the fabric as a whole; errors are told by a whole build.

        When all was well, only rules are asked again that look at what is other now.
        """
        changed = None
        if not any(code in CODES for code, *_ in self._last.stated["diagnostics"]):
            names = {switch.name for switch in outcome.census.switches}
            before, now = ([s for s in census.switches if s.name in names]
                           for census in (self._ledger.census, ledger.census))  # fmt: skip
            changed = changed_attributes(before, now)
        grouped = Grouped()
        counts, wired = self._fabric.counts(), self._fabric.wired()
        groups, declared = self._fabric.groups(), declared_ratios(self._spec)
        grouped.add(ledger.census.findings(counts, wired, groups, declared, changed))
        told = softened(grouped.diagnostics(str(self._last.tree)), self._spec)
        found = accepted(told, self._spec.accept)
        if any(d.severity is Severity.ERROR for d in found):
            raise _WholeBuildError
        return list(found)

    def _tables(self, outcome: Outcome, ledger: Ledger, places: Mapping[Device, int]) -> None:
        """Put the devices' rows in the place of those they had."""
        for table, (name, header) in enumerate(SIZED):
            rows = [each.encode() for each in outcome.rows(table)]
            sizes = (size[table] for size in self._ledger.sizes)
            starts = [*accumulate(sizes, initial=len(csv_text([header])))]
            spans = [(starts[number], starts[number + 1]) for number in places.values()]
            path = f"plan/{name}.csv"
            with self._present.open(path, limit=STREAMED) as file:
                if os.fstat(file.fileno()).st_size != starts[-1]:
                    raise _WholeBuildError
                if all(_part(file, *span) == row for span, row in zip(spans, rows, strict=True)):
                    continue
                file.seek(0)
                text = file.read()
            ends = [0, *(end for _, end in spans)]
            kept = [text[at:start] for at, (start, _) in zip(ends, spans, strict=False)]
            parts = [part for pair in zip(kept, rows, strict=True) for part in pair]
            self._put(path, b"".join([*parts, text[ends[-1] :]]))
        if ledger.shares != self._ledger.shares:
            self._put("plan/qos.csv", qos_text(ledger.shares).encode())

    def _manifest(self, compiled: Compiled) -> None:
        """State the digests of what changed; every name is in the manifest already."""
        text = self._present.read(manifests.NAME, limit=manifests.LIMIT)
        files = text.index(b'\n  "files": {')
        parts = [*_restated(text, 0, files, manifest_inputs(compiled)),
                 *_restated(text, files, len(text), self._sums)]  # fmt: skip
        if self._sums or b"".join(parts) != text:
            self._sums[manifests.NAME] = self._patch.write(manifests.NAME, parts)

    def _put(self, path: str, content: bytes) -> None:
        self._take(self._patch.put(path, content))

    def _take(self, written: Written) -> None:
        if written.changed:
            self._sums[written.path] = written.sha256


def _part(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _restated(text: bytes, at: int, end: int, digests: Mapping[str, str]) -> Iterator[bytes]:
    """A stretch of the manifest with other digests for these names, in parts."""
    for name, digest in sorted(digests.items()):
        key = f'\n    "{name}": "'.encode()
        start = text.find(key, at, end) + len(key)
        if start < len(key):
            raise _WholeBuildError
        yield text[at:start]
        yield digest.encode()
        at = start + _HEX
    yield text[at:end]
