"""An InfiniBand fabric on its way through a build: rendered, read back and proved, written; and a check of its tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.infiniband.cabling import plan_files
from fabricc.back.infiniband.host_files import HostFiles, mode_of, tenants_by_host
from fabricc.back.infiniband.job_files import job_files
from fabricc.back.infiniband.sm_files import sm_files, subnet_folder
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.compiler.render.switch_files import with_templates
from fabricc.compiler.result import BuildResult
from fabricc.compiler.write.device import TreeFiles, put_text
from fabricc.fabric.infiniband_wiring import Subnet, expand_hosts
from fabricc.front.spec.load import apply_severities
from fabricc.proof.infiniband.sim.run import simulate_tree
from fabricc.proof.infiniband.subnets import prove_host, prove_subnet
from fabricc.proof.tree import DeviceFiles, verify_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.compiler.planned_spec import PlannedSpec
    from fabricc.fabric.infiniband import InfinibandFabric
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.proof import Finding
    from fabricc.tree.manifest import Manifest
    from fabricc.tree.stage import Stage

_MOST_LISTED = 5
"""The number of findings of one code that are listed; the others are counted."""


@dataclass(slots=True)
class InfinibandRun:
    """One pass over the subnets and hosts and what it gathers; the build drives it as it does that of Ethernet."""

    spec: ClusterSpec
    ib: InfinibandFabric
    stage: Stage
    check: bool
    progress: Callable[[str, int, int], None] | None
    gathered: TreeFiles = field(default_factory=TreeFiles)
    links: int = 0
    found: list[Diagnostic] = field(default_factory=list)
    ledgers: None = None

    @property
    def counts(self) -> Mapping[str, int]:
        """Devices, GPUs and cables."""
        return self.ib.counts()

    def devices(self) -> None:
        """Render and write every subnet and host, and prove them if requested."""
        tree = str(self.stage.target)
        findings: list[tuple[str, Finding]] = []
        for number in range(self.ib.subnets):
            folder, subnet = subnet_folder(number), Subnet(self.ib, number)
            files = with_templates(folder, partial(dict, sm_files(subnet)))
            self._write_folder(folder, files)
            if self.check:
                findings += [(folder, found) for found in prove_subnet(subnet, files)]
                self.links += _link_rows(self.ib)
        tenants = tenants_by_host(self.ib)
        renderer, total = HostFiles(self.ib), self.ib.wiring.counts()["hosts"]
        for number, host in enumerate(expand_hosts(self.ib), 1):
            folder = f"hosts/{host.name}"
            files = with_templates(host.name, partial(dict, renderer.render(host)))
            self._write_folder(folder, files, mode_of)
            if self.check:
                findings += [
                    (folder, found) for found in prove_host(self.ib, host, files, tenants.get(host.name, ()))
                ]
            if self.progress is not None and (number == total or number % 64 == 0):
                self.progress("hosts", number, total)
        self.found = list(diagnostics_of(findings, tree))

    def plan_files(self) -> None:
        """Write the plan's tables and summary, and what schedulers, launchers and collective libraries read."""
        for path, text in _shared_texts(self.ib, self.spec).items():
            self.gathered.add_staged([put_text(self.stage, path, text)])

    def _write_folder(
        self, folder: str, files: Mapping[str, str], mode: Callable[[str], int] = lambda _: 0o644
    ) -> None:
        for name, text in sorted(files.items()):
            self.gathered.add_staged([self.stage.put(f"{folder}/{name}", text.encode(), mode=mode(name))])


def prove_rendered(plan: PlannedSpec) -> list[Diagnostic]:
    """Render the files of every subnet and host, prove them and return the findings; write nothing."""
    ib = plan.infiniband
    if ib is None:
        raise ValueError("not an InfiniBand fabric")
    findings: list[tuple[str, Finding]] = []
    for number in range(ib.subnets):
        folder, subnet = subnet_folder(number), Subnet(ib, number)
        files = with_templates(folder, partial(dict, sm_files(subnet)))
        findings += [(folder, found) for found in prove_subnet(subnet, files)]
    tenants, renderer = tenants_by_host(ib), HostFiles(ib)
    for host in expand_hosts(ib):
        files = with_templates(host.name, partial(dict, renderer.render(host)))
        proved = prove_host(ib, host, files, tenants.get(host.name, ()))
        findings += [(f"hosts/{host.name}", found) for found in proved]
    return list(diagnostics_of(findings, plan.spec.cluster))


def _shared_texts(ib: InfinibandFabric, spec: ClusterSpec) -> dict[str, str]:
    """Return path and text of the files of no device and no subnet."""
    return {f"plan/{path}": text for path, text in plan_files(ib, spec.assumptions)} | job_files(ib)


def _link_rows(ib: InfinibandFabric) -> int:
    counts = ib.wiring.counts()
    cables = sum(count for name, count in counts.items() if name.endswith("_cables"))
    return cables // ib.subnets


def diagnostics_of(findings: Iterable[tuple[str, Finding]], tree: str) -> Iterator[Diagnostic]:
    """Findings as diagnostics of files in the tree: a few of each code and folder, then how many more."""
    seen: Counter[tuple[str, str]] = Counter()
    for folder, found in findings:
        seen[folder, found.code] += 1
        if seen[folder, found.code] <= _MOST_LISTED:
            at = Position(f"{tree}/{folder}/{found.file}", max(1, found.line)) if found.file else None
            yield Diagnostic(found.code, found.severity, found.message, at, found.help)
    for (folder, code), number in sorted(seen.items()):
        if number > _MOST_LISTED:
            yield Diagnostic(code, Severity.ERROR, f"{folder}: {number - _MOST_LISTED} more of this kind")


def check_infiniband(
    plan: PlannedSpec,
    tree: Path,
    manifest: Manifest,
    progress: Callable[[str, int, int], None] | None,
    *,
    simulate: bool,
) -> BuildResult:
    """The check of a tree on disk: its bytes, its meaning, and with `simulate` what a subnet manager makes of it."""
    spec, ib = plan.spec, plan.infiniband
    if ib is None:
        raise ValueError("not an InfiniBand fabric")
    found = [*plan.diagnostics, *verify_manifest(tree, manifest, expected=_shared_texts(ib, spec))]
    if manifest_inputs(plan) != dict(manifest.inputs):
        message = f"{tree} was built from another state of {spec.file}, its lock or its catalog"
        found.append(Diagnostic("FAB6014", Severity.WARNING, message, None, "Build again."))
    found += prove_tree(ib, tree, manifest)
    if simulate:
        found += simulate_tree(ib, tree, progress)
    counts, files = ib.counts(), len(manifest.files) + 1
    links = ib.subnets * _link_rows(ib)
    return BuildResult(
        spec.cluster, tree, tuple(apply_severities(found, spec.accept)), counts, files, links=links
    )


def prove_tree(ib: InfinibandFabric, tree: Path, manifest: Manifest) -> list[Diagnostic]:
    """Everything wrong with the files of a tree that a build wrote earlier."""
    files = DeviceFiles.of(tree, manifest)
    findings: list[tuple[str, Finding]] = []
    for number in range(ib.subnets):
        folder = subnet_folder(number)
        findings += [(folder, found) for found in prove_subnet(Subnet(ib, number), files(folder))]
    tenants = tenants_by_host(ib)
    for host in expand_hosts(ib):
        folder = f"hosts/{host.name}"
        findings += [
            (folder, found) for found in prove_host(ib, host, files(folder), tenants.get(host.name, ()))
        ]
    return list(diagnostics_of(findings, str(tree)))
