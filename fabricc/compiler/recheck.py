"""The check of a tree on disk: its bytes against its manifest, its meaning against a fresh plan; and without a tree."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.jobs.files import job_files
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import replace
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.load.input_digests import TEMPLATES, manifest_inputs
from fabricc.compiler.load.spec_location import find_spec, tree_texts
from fabricc.compiler.prove.device_proof import DEPARTED
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.result import BuildResult
from fabricc.compiler.write.device import Work, job_count, pieces_of
from fabricc.compiler.write.fabric_rules import find_plan_findings
from fabricc.compiler.write.outcome import Outcome, plan_folder, plan_texts
from fabricc.compiler.write.workers import run_in_background
from fabricc.front.spec.load import apply_severities
from fabricc.paperwork.plan_tables import OUT_OF_BAND_ADDRESS_FILE, SIZED
from fabricc.proof import tree as tree_proof
from fabricc.proof.invariants.rules import declared_ratios, soften_breaches
from fabricc.rules.answers import Answers, account_topics
from fabricc.rules.forwarding import IDLE
from fabricc.rules.links import DIFFER
from fabricc.rules.session_pairs import SESSION
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.proof.compare import Finding
    from fabricc.tree.manifest import Manifest


def check_tree(
    tree: Path,
    spec_path: Path | None = None,
    *,
    lock: Path | None = None,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    simulate: bool = False,
) -> tuple[BuildResult, dict[str, str]]:
    """Prove the tree's files against the plan of its spec.

    Args:
        tree: what `build` wrote, `build/<cluster>`.
        spec_path: its spec; None to search for it at the place of the last build and above the tree.
        lock: its lock; None for the one next to the spec.
        jobs: worker processes; None for one per usable CPU.
        progress: called as `build` does.
        simulate: also run the subnet manager on simulated switches (InfiniBand only).

    Returns:
        The findings, and the text of the files that diagnostics point into, by name.
    """
    try:
        result, sources = tree_proof.read_consistently(
            [tree],
            lambda: _check_tree(tree, spec_path, lock, jobs, progress, simulate=simulate),
            lambda found: found[0].exit_status != 0,
        )
    except tree_proof.TreeError as error:
        return BuildResult(diagnostics=error.diagnostics), {}
    return result, {**tree_texts(result.diagnostics, tree), **sources}


def _check_tree(
    tree: Path,
    spec_path: Path | None,
    lock: Path | None,
    jobs: int | None,
    progress: Callable[[str, int, int], None] | None,
    *,
    simulate: bool,
) -> tuple[BuildResult, Mapping[str, str]]:
    try:
        manifest = tree_proof.read_manifest(tree)
    except tree_proof.TreeError as error:
        return BuildResult(diagnostics=error.diagnostics), {}
    spec_path = spec_path or find_spec(tree, manifest)
    if spec_path is None:
        message = f"the spec {manifest.spec} of {tree} is neither at its former path nor above the tree"
        remedy = f"Name it: `fabricc check {shell_path(tree)} --spec PATH`."
        return BuildResult(diagnostics=(Diagnostic("FAB6015", Severity.ERROR, message, None, remedy),)), {}
    compiled = compile_spec(spec_path, lock_path=lock)
    of_plan, sources = compiled.diagnostics, compiled.sources
    if not compiled.sound:  # what a system cannot express is reported, and the rest is proved
        compiled = compile_spec(spec_path, gaps=False, lock_path=lock)
    if not compiled.sound:
        return BuildResult(diagnostics=compiled.diagnostics), sources
    if compiled.infiniband is not None:
        from fabricc.compiler.write.infiniband import check_infiniband  # no fabric of Ethernet needs it

        return check_infiniband(compiled, tree, manifest, progress, simulate=simulate), sources
    if simulate:
        message = "`--sim` runs a subnet manager, which only an InfiniBand fabric has"
        help_ = "`fabricc lab` boots a fabric of Ethernet."
        return BuildResult(
            diagnostics=(Diagnostic("FAB6016", Severity.ERROR, message, None, help_),)
        ), sources
    spec = compiled.spec
    found: list[Diagnostic] = []
    inputs = manifest_inputs(compiled)
    if not _same_inputs(inputs, manifest.inputs):
        message = f"{tree} was built from another state of {spec_path}, its lock or its catalog"
        found.append(Diagnostic("FAB6014", Severity.WARNING, message, None, "Build again."))
    files, links = tree_proof.DeviceFiles.of(tree, manifest), 0
    verified: dict[str, list[Diagnostic]] = {}
    answers: Counter[Answers] = Counter()
    codes: Counter[str] = Counter()
    with _walk_tree(tree, manifest, several=job_count(compiled.fabric, jobs) > 1) as unstated:
        for part in (compiled, *compiled.networks.values()):
            workers = job_count(part.fabric, jobs)
            pieces, same = pieces_of(part.fabric, workers), inputs == manifest.inputs
            work = Work(part.fabric, pieces, None, files.read_verified, expected=same)
            table = "" if part.fabric.network else files.text(f"plan/{OUT_OF_BAND_ADDRESS_FILE}")
            outcome = Outcome(work, workers, table)
            try:
                outcome.run(progress, "devices read back")
                found += outcome.diagnostics(str(tree), declared_ratios(part.spec))
            except EmitError as error:
                found.append(error.diagnostic)
            links += outcome.links.links
            verified |= outcome.verified
            answers += outcome.answers
            codes += outcome.findings.by_code()
        found += tree_proof.verify_manifest(tree, manifest, verified, unstated(), _shared_files(compiled))
    found = apply_severities(soften_breaches([*found, *of_plan], spec), spec.accept)
    counts, total = compiled.counts(), len(manifest.files) + 1
    accounts = tuple(account_topics(answers, codes))
    result = BuildResult(spec.cluster, tree, tuple(found), counts, total, links=links, accounts=accounts)
    return result, sources


def _shared_files(compiled: Compiled) -> set[str]:
    """Return the paths of the files of no device that a build of the spec writes."""
    paths = set(job_files(compiled.fabric))
    for part in (compiled, *compiled.networks.values()):
        folder = plan_folder(part.fabric)
        paths |= {path for path, _ in plan_texts(part.spec, part.fabric)}
        paths |= {f"{folder}/{name}.csv" for name in ("classes", "qos", *dict(SIZED))}
    return paths


@contextmanager
def _walk_tree(tree: Path, manifest: Manifest, *, several: bool) -> Iterator[Callable[[], list[str]]]:
    """Yield a function that returns the files missing from the manifest.

    With several processes the search runs meanwhile.
    """

    def walk() -> list[str]:
        return tree_proof.unstated_files(tree, manifest)

    if not several:
        yield walk
        return
    with run_in_background(walk) as found:
        yield found


def _same_inputs(now: Mapping[str, str], then: Mapping[str, str]) -> bool:
    """Return whether the inputs are the same; the user's templates count only if a check has any."""
    if not any(name.startswith(TEMPLATES) for name in now):
        then = {name: digest for name, digest in then.items() if not name.startswith(TEMPLATES)}
    return now == then


def has_own_text(compiled: Compiled) -> bool:
    """Return whether a spec has text or figures of the user's own: overlays, removals, templates and catalog files."""
    specs = compiled.spec, *compiled.spec.networks.values()
    return bool(compiled.templates) or any(each.overlays or each.catalog_files for each in specs)


_DOWN = re.compile(r" is shut, |\bno session\b|/enabled is false")
"""Words in findings about links and sessions of which one end is shut, or no session comes up."""
NO_SHARE = Diagnostic(
    "FAB9121",
    Severity.ERROR,
    "no share of paths can be kept: the files break the plan, or take parts out of service that the plan counts",
    None,
    "Correct the findings, or shut and drain these parts in the spec, so that the plan counts them.",
)


def breaks_shares(compiled: Compiled, findings: Iterable[Diagnostic]) -> bool:
    """Return whether the files break the plan, or take parts out of service that it counts: no share holds then."""
    found = tuple(findings)
    return any(each.severity is Severity.ERROR for each in found) or bool(_find_lost_parts(compiled, found))


def _find_lost_parts(compiled: Compiled, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings of parts that text of the user's own takes out of service; the plan counts what it shuts."""
    lost = [
        each
        for each in findings
        if each.code == IDLE or (each.code in (DIFFER, SESSION, DEPARTED) and _DOWN.search(each.message))
    ]
    if not lost or not has_own_text(compiled):
        return []
    planned = {each.message for each in find_plan_findings(compiled)}
    return [each for each in lost if each.message.partition(" (and ")[0] not in planned]


def find_obstacles(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """Return what the proof finds, or what keeps the spec from a plan, and the warnings of the spec and its plan.

    Where no share holds, the last finding is an error that states this.
    """
    if not compiled.sound:
        return compiled.diagnostics
    found = drop_positions(list_proof_findings(compiled))
    refused = (NO_SHARE,) if breaks_shares(compiled, found) else ()
    return (*_list_plan_warnings(compiled), *found, *refused)


def _list_plan_warnings(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """Return the warnings of the spec and its plan; what a system cannot express does not change with an outage."""
    return tuple(
        each
        for each in compiled.diagnostics
        if each.severity is Severity.WARNING and each.code.startswith(_OF_PLAN)
    )


_OF_PLAN = ("FAB2", "FAB3")


def list_proof_findings(compiled: Compiled) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings of `check` on the tree of a spec, without the tree.

    The files are rendered and proved where the spec has text of its own; else the rules run on the planned facts.
    Warnings of the plan itself are not among them.
    """
    if not has_own_text(compiled):
        return group_findings(compiled, find_plan_findings(compiled))
    try:
        found = compiled.proof()
    except EmitError as error:
        found = (error.diagnostic,)
    return tuple(each for each in found if each.severity is not Severity.NOTE)


def list_device_findings(compiled: Compiled, name: str) -> tuple[Diagnostic, ...]:
    """Return the errors of `check` on a spec, and warnings about one device, of the plan too; none for other names."""
    parts = (compiled, *compiled.networks.values()) if compiled.infiniband is None else ()
    places = [(part.fabric, at) for part in parts if (at := part.fabric.find(name)) is not None]
    if not places:
        return ()
    planned = _select_findings(_list_plan_warnings(compiled), name)
    if not has_own_text(compiled):
        found = group_findings(compiled, find_plan_findings(compiled, [name]))
        return (*planned, *_select_findings(found, name))
    alone: list[Diagnostic] = []
    for fabric, at in places:
        outcome = Outcome(Work(fabric, [[at]], None), 1)  # a group of many devices does not name them all
        with suppress(EmitError):
            outcome.run(None, "")
        alone += outcome.among_themselves(compiled.spec.cluster)
    alone = apply_severities(soften_breaches(alone, compiled.spec), compiled.spec.accept)
    whole = _select_findings(list_proof_findings(compiled), name)
    known = {each.code for each in whole}
    return (*planned, *whole, *(each for each in _select_findings(alone, name) if each.code not in known))


def _select_findings(found: Iterable[Diagnostic], name: str) -> tuple[Diagnostic, ...]:
    """Return the errors, and the warnings whose message names a device."""
    return drop_positions(
        each
        for each in found
        if each.severity is Severity.ERROR
        or (each.severity is Severity.WARNING and name in re.findall(r"[\w.-]+", each.message))
    )


def drop_positions(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return findings about files that are in no repository, without their positions."""
    return tuple(replace(each, position=None) for each in found)


def group_findings(compiled: Compiled, found: Iterable[Finding]) -> tuple[Diagnostic, ...]:
    """Return findings as `check` reports them: in groups, and with what the spec accepts."""
    grouped, spec = FindingGroups(), compiled.spec
    grouped.add(found)
    new = apply_severities(soften_breaches(grouped.diagnostics(spec.cluster), spec), spec.accept)
    return tuple(each for each in new if each.severity is not Severity.NOTE)
