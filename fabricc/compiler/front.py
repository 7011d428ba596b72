"""The front half of a build: spec, catalog and lock read, the fabric planned, back ends asked what they cannot do."""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.naming import Naming
from fabricc.compiler.quoting import input_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.back.nos.base import Nos
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.gap import Gap
    from fabricc.fabric.infiniband.model import InfinibandFabric
    from fabricc.fabric.model import Switch
    from fabricc.front.planning.repin import Repinned
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec

LOCK_NAME = "fabricc.lock"
"""The lock of the specs of a folder that have none of their own."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Front:
    """What the front half found.

    Attributes:
        spec, fabric: None when the diagnostics say why there is none.
        lock_path, lock_text: the lock file and what it must hold after this build.
        lock_before: what it holds now; None when there is no such file.
        diagnostics: with the spec's acceptances applied.
        sources: file name -> text, for snippets.
        inputs: file -> SHA-256 of its bytes, of everything that was read.
        draft: the fabric with its errors, to explain them by; None where none took shape.
        infiniband: the fabric of a spec with `fabric: infiniband`, in the place of `fabric`.
        repinned: what a repinning changes, None where none was asked for or none helps.
    """

    spec: ClusterSpec | None
    fabric: Fabric | None
    lock_path: Path
    lock_text: str
    lock_before: str | None
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    draft: Fabric | None = None
    infiniband: InfinibandFabric | None = None
    repinned: Repinned | None = None

    @property
    def sound(self) -> bool:
        """Whether there is a fabric and no error."""
        planned = self.fabric is not None or self.infiniband is not None
        return planned and not any(d.severity is Severity.ERROR for d in self.diagnostics)


def own_lock(spec_path: Path) -> Path:
    """Where the lock of a spec alone is: `zone-b.lock` beside `zone-b.yaml`."""
    return spec_path.with_suffix(".lock")


def lock_of(spec_path: Path) -> Path:
    """The lock of a spec: its own where there is one, else that of its folder."""
    own = own_lock(spec_path)
    return own if os.path.lexists(own) else spec_path.parent / LOCK_NAME


def run_front(
    spec_path: Path,
    *,
    repin: Sequence[str] | None = None,
    gaps: bool = True,
    infiniband: bool = False,
    lock_path: Path | None = None,
) -> Front:
    """Everything up to the fabric; problems are diagnostics, never exceptions.

    Args:
        spec_path: the spec.
        repin: pins of the lock to choose afresh, so that addresses and ports may change, () for the least that
            suffices; None keeps all. Identities stay.
        gaps: also ask every back end in use what it cannot express.
        infiniband: plan an InfiniBand spec too; without, it is refused (FAB5817).
        lock_path: the lock; by default as `lock_of` has it.
    """
    from fabricc.catalog.load import load_catalog
    from fabricc.compiler.accept import settled
    from fabricc.compiler.repinning import Repinning
    from fabricc.front.planning import plan
    from fabricc.front.planning.touched import touched
    from fabricc.front.spec.load import load_spec
    from fabricc.front.spec.lock import EMPTY_LOCK, parse_lock, renewed

    loaded = load_spec(spec_path)
    sources = {str(spec_path): loaded.text}
    lock_path = lock_path or lock_of(spec_path)
    diagnostics = list(loaded.diagnostics)
    spec = loaded.spec
    if spec is None:
        return Front(None, None, lock_path, "", None, tuple(diagnostics), sources)
    extra = [spec_path.parent / name for name in spec.catalog_files]
    named_at = [spec.position("catalog", index) for index in range(len(extra))]
    catalog, found = load_catalog(extra, named_at)
    diagnostics += found
    sources |= input_texts(found)
    lock_before, unread = read_lock(lock_path)
    diagnostics += unread
    lock: Lock = EMPTY_LOCK
    if lock_before is not None:
        lock, found = parse_lock(lock_before, str(lock_path), spec.cluster)
        diagnostics += found
        sources[str(lock_path)] = lock_before
    repinning = Repinning(lock, lock_path, lock_before or "", repin)
    diagnostics += repinning.unknown()
    if any(d.severity is Severity.ERROR for d in diagnostics):
        return Front(spec, None, lock_path, "", lock_before, tuple(diagnostics), sources)
    if spec.infiniband is not None:
        from fabricc.compiler.infiniband import infiniband_front

        known = Front(spec, None, lock_path, "", lock_before, tuple(diagnostics), sources)
        return infiniband_front(known, spec_path, catalog, repinning, wanted=infiniband)
    planned, repinned = repinning.run(
        lambda pinned: plan(spec, catalog, pinned, Naming()),
        lambda after: touched(spec, catalog, lock, after.fabric),
    )
    diagnostics += [*planned.diagnostics, *repinning.told(repinned)]
    if planned.fabric is not None and gaps:
        diagnostics += capability_gaps(spec, planned.fabric)
    fabric = planned.fabric
    if fabric is not None and spec.overlays:
        from fabricc.compiler.overlays import read_overlays

        fabric, unfit, texts = read_overlays(spec, spec_path.parent, fabric)
        diagnostics += unfit
        sources |= texts
    if fabric is not None:
        diagnostics = settled(spec, diagnostics, gaps=gaps)
    overlays = [spec_path.parent / entry.file for entry in spec.overlays]
    inputs = digests([spec_path, *extra, *overlays, lock_path])
    text = renewed(planned.lock, spec.cluster, lock_before)
    return Front(
        spec,
        fabric,
        lock_path,
        text,
        lock_before,
        tuple(diagnostics),
        sources,
        inputs,
        planned.draft,
        repinned=repinned,
    )


def read_lock(path: Path) -> tuple[str | None, list[Diagnostic]]:
    """The lock's text, None when there is no lock; FAB7010 when it cannot be read."""
    try:
        return files.read(path).decode(), []
    except FileNotFoundError:
        return None, []
    except OSError as error:
        why = f"cannot read {path}: {error.strerror}"
    except UnicodeDecodeError:
        why = f"{path} is not UTF-8 text"
    at = Position(str(path), 1)
    return None, [Diagnostic("FAB7010", Severity.ERROR, why, at, "Take it from Git again.")]


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Absolute path -> SHA-256 of the bytes; "" for a file that is not there."""
    table = {}
    for path in paths:
        try:
            table[str(path.resolve())] = files.digest(path)
        except OSError:
            table[str(path.resolve())] = ""
    return table


def capability_gaps(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """What switches and hosts are to do and their back ends cannot express, each thing once."""
    from fabricc.back import nos as back_ends

    told: set[tuple[str, str, str]] = set()
    for switch_id in fabric.kinds():
        switch = fabric.switch(switch_id)
        back_end = back_ends.load(switch.nos)
        gaps = back_end.gaps(switch)
        for gap in [*gaps, *unexpressed(switch, back_end, gaps)]:
            key = (switch.tier.value, gap.code, gap.feature)
            if key in told:
                continue
            told.add(key)
            who = f"{switch.nos} {switch.release}".strip() + f" on {switch.model.name}"
            overridden = ("overrides", switch.name) in spec.positions
            at = ("overrides", switch.name) if overridden else (f"{switch.tier.value}s", "nos")
            yield _gap(spec, gap, who, at)
    yield from _host_gaps(spec, fabric)


def unexpressed(switch: Switch, back_end: Nos, known: Iterable[Gap]) -> Iterator[Gap]:
    """Settings of the switch that its back end states no fact of, unless one of its `known` gaps says why."""
    from fabricc.fabric.facts import SETTINGS, congestion_facts, setting_facts
    from fabricc.fabric.gap import Gap

    told = {gap.feature for gap in known}
    wanted = setting_facts(switch) | congestion_facts(switch.qos)
    asked = {path for path in wanted if path.startswith(tuple(SETTINGS))}
    missing = asked and asked - back_end.planned(switch).keys()
    for beginning, feature in SETTINGS.items():
        if feature not in told and any(path.startswith(beginning) for path in missing):
            yield Gap(
                "FAB5001",
                feature,
                f"fabricc knows no configuration of {switch.nos} for it",
                "leave it out, or choose another NOS",
            )


def _host_gaps(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    from fabricc.back.hosts import back_end as host_files

    groups: set[int] = set()
    for host_id in fabric.host_ids():
        group = fabric.units[host_id[0]].group
        if group not in groups:
            groups.add(group)
            host = fabric.host(host_id)
            for gap in host_files.gaps(host):
                yield _gap(spec, gap, host.model.name, spec.gpus.groups[group].path)


def _gap(spec: ClusterSpec, gap: Gap, who: str, at: tuple[str | int, ...]) -> Diagnostic:
    severity = Severity.ERROR if gap.fatal else Severity.WARNING
    message = f"{who}: {gap.feature}: {gap.reason}"
    return Diagnostic(gap.code, severity, message, spec.position(*at), gap.remedy)


def second_lock(front: Front) -> Diagnostic | None:
    """FAB2075 when a lock of its own would be new and the folder's lock holds, or may hold, the cluster's numbers."""
    from fabricc.front.spec.lock import parse_lock

    shared = front.lock_path.with_name(LOCK_NAME)
    if front.spec is None or front.lock_before is not None or shared == front.lock_path:
        return None
    text, unread = read_lock(shared)
    if text is None:
        return unread[0] if unread else None
    owner = parse_lock(text, str(shared))[0].cluster
    if owner and owner != front.spec.cluster:
        return None
    cluster = front.spec.cluster
    known = f"the numbers of cluster '{cluster}' stand in {shared.name}"
    message = (
        known if owner else f"{shared.name} names no cluster, so its numbers may be those of '{cluster}'"
    )
    remedy = f"Rename it: `git mv {shared.name} {front.lock_path.name}`; no number changes."
    return Diagnostic("FAB2075", Severity.ERROR, message, Position(str(shared), 1), remedy)


def lock_change(front: Front) -> Diagnostic:
    """FAB3900: what `--frozen` says when the lock is not what this spec needs, or not there."""
    if front.lock_before is None:
        message = (
            f"there is no {front.lock_path}: nothing is deployed from this spec yet, or it was not committed"
        )
        remedy = "Run `fabricc build` without `--frozen` and commit the lock that it writes with the spec."
        return Diagnostic("FAB3900", Severity.ERROR, message, None, remedy)
    before = set((front.lock_before or "").splitlines())
    after = set(front.lock_text.splitlines())
    changes = [f"+{line}" for line in sorted(after - before)] + [
        f"-{line}" for line in sorted(before - after)
    ]
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    message = f"{front.lock_path} would change: {', '.join(changes[:_SHOWN]) or 'its layout'}{more}"
    remedy = "Run `fabricc build` without `--frozen` and commit the lock with the spec."
    return Diagnostic("FAB3900", Severity.ERROR, message, None, remedy)
