"""Turn specs, trees, or a spec and its revisions into the two sides of a review, and find what only the newer has.

These are findings of the proof and the rules on the newer side that the older side does not have.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.nos.templating import set_template_path, template_path, use_template_path
from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.foreign import files
from fabricc.base.foreign.git_objects import visible_path
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.load import spec_search
from fabricc.compiler.load.revision import Comparison, SpecHistory, choose_comparison, revision_finding
from fabricc.compiler.load.revision_templates import extract_templates, have_same_templates
from fabricc.compiler.load.spec_location import POLICY_NAME
from fabricc.compiler.recheck import group_findings, has_own_text, list_proof_findings
from fabricc.compiler.write.fabric_rules import find_plan_findings
from fabricc.front.spec.load import read_spec
from fabricc.review.diff.causes import changed_figures, normalize_findings, spec_changes
from fabricc.review.diff.control_files import (
    changed_files_beside,
    find_control_files,
)
from fabricc.review.diff.infiniband import planned_side
from fabricc.review.diff.model import LOCK_LOST, TEMPLATES, find_new_faults
from fabricc.review.diff.other_clusters import report_other_clusters
from fabricc.review.diff.review_policy import Policy, spec_policy
from fabricc.review.diff.run import Context
from fabricc.review.diff.sides import Cluster, Side, SpecSide, merge_networks, parts_of, share_objects
from fabricc.review.diff.trees import read_tree
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.base.documents.document import Document
    from fabricc.base.foreign.git import Change
    from fabricc.proof.compare import Finding


_HEAD_TEMPLATES, _BASE_TEMPLATES = "head-templates", "base-templates"


class InputError(FindingsError):
    """The sides cannot be had."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Both sides, and the other inputs of a review.

    The policy of the older side applies to a change; the change's own policy only if there is no older one.

    Attributes:
        policies: name for people -> bytes of the policy files in the present base revision.
        spec_policy: the policy in the spec of the present base revision, else of the older side, else of the newer.
    """

    base: Side
    head: Side
    context: Context
    policies: Mapping[str, bytes] = field(default_factory=dict)
    spec_policy: Policy | None = None


@contextmanager
def open_inputs(
    first: Path, second: Path | None, base: str | None, head: str | None, check_status: int | None = None
) -> Iterator[Inputs]:
    """Yield the sides for `diff FIRST SECOND` or `diff SPEC --base REVISION [--head REVISION]`.

    `check_status` is that of `check --committed` on the tree of the head, None if it did not run yet.

    Raises:
        TreeError: a folder is no tree.
        InputError: something named cannot be read, or does not compile.
    """
    with files.scratch_folder() as scratch:
        if second is not None:
            yield _two_inputs(first, second)
            return
        try:
            yield _revision_inputs(first, base or "HEAD", head, scratch, check_status)
        except GitError as error:
            raise InputError.of([revision_finding(error)]) from None
        except EmitError as error:
            raise _name_templates(error, scratch) from None
        finally:
            set_template_path(template_path())  # those in the scratch folder are read no more


def _name_templates(error: EmitError, scratch: Path) -> EmitError:
    """Return the error with the folder of the user's templates in place of the scratch folder."""
    found, position = error.diagnostic, error.diagnostic.position
    for name in (_HEAD_TEMPLATES, _BASE_TEMPLATES):
        for number, folder in enumerate(template_path()):
            own = f"{scratch / name / str(number)}/"
            if position is not None and position.file.startswith(own):
                position = replace(position, file=f"{folder}/{position.file.removeprefix(own)}")
    return EmitError(found.code, found.message, found.help, position)


def _two_inputs(first: Path, second: Path) -> Inputs:
    if not first.is_dir() and not second.is_dir():
        return _spec_inputs(
            _compile_side(first, str(first)), _compile_side(second, str(second)), str(first), str(second)
        )
    specs = {path: _compile_side(path, str(path)) for path in (first, second) if not path.is_dir()}
    trees = {path: read_tree(path) for path in (first, second) if path not in specs}
    sides = [
        spec_side(str(path), specs[path]) if path in specs else trees[path][0] for path in (first, second)
    ]
    beside = () if specs else changed_files_beside(trees[first][1], trees[second][1])
    policy = _stated_policy(*map(_read_document, specs.values()))
    from fabricc.review.diff.tree_findings import find_new  # a review of specs needs no rules of `audit`

    return Inputs(sides[0], sides[1], Context(findings=find_new(*sides), control_files=beside), {}, policy)


def _revision_inputs(
    spec: Path, base: str, head: str | None, scratch: Path, check_status: int | None
) -> Inputs:
    history = SpecHistory.of(spec)
    for folder in ("merge", "head", "base", _HEAD_TEMPLATES, _BASE_TEMPLATES):
        (scratch / folder).mkdir()
    chosen = choose_comparison(history, spec, base, head, scratch / "merge")
    templates = _choose_templates(history, chosen, scratch)
    with use_template_path(templates.head):
        new, text = _newer_side(chosen, history, spec, head, scratch / "head")
    if chosen.head:
        newer = chosen.head_history, chosen.head
        found = spec_search.find_base_spec(
            history,
            chosen.base,
            spec.name,
            text,
            spec_search.read_in(*newer),
            lambda: spec_search.specs_of(*newer, spec.name)[0],
        )
    else:
        found = spec_search.find_base_of_file(history, chosen.base, spec, text)
    notices, missing = chosen.findings, ""
    if found is None:
        sides = _spec_inputs(
            None, new, f"{chosen.base_label}, which has no such spec", chosen.head_label, str(spec)
        )
    else:
        path = found.history.extract(chosen.base, Path(found.name), scratch / "base")
        if path is None:
            raise GitError(f"{base} has no {found.history.prefix}{found.name}")
        shown = f"{base}:{found.history.prefix}{found.name}"
        with use_template_path(templates.base):
            before = _compile_side(path, shown, shown, older=True)
        before, missing = _with_own_templates(before, templates)
        notices = (*notices, *found.findings, *_lost_lock(before, new, found, chosen.base))
        notices += tuple(_unpinned_base(before, new, chosen.base_label))
        sides = _spec_inputs(before, new, chosen.base_label, chosen.head_label, str(spec))
    commit = history.commit(head) if head is not None else ""
    control, trees, changes = find_control_files(
        history, chosen, commit, spec, new.spec.cluster, check_status
    )
    notices += tuple(_unknown_templates(history, changes, missing, chosen))
    own = frozenset((new.spec.cluster, sides.base.cluster.name))
    notices += tuple(report_other_clusters(history, chosen, changes, own))
    context = replace(
        sides.context,
        findings=notices + sides.context.findings,
        control_files=control,
        committed_trees=trees,
    )
    sides = replace(sides, context=context)
    places = [spec_search.FoundSpec(history, spec.name), *([found] if found else [])]
    if chosen.tip != chosen.base and history.file(chosen.tip, spec.name) is None:
        places += spec_search.places_of_cluster(history, chosen.tip, spec.name, text)
    return _under_policies_of_base(sides, chosen.tip, base, places)


def _newer_side(
    chosen: Comparison, history: SpecHistory, spec: Path, head: str | None, folder: Path
) -> tuple[Compiled, bytes]:
    """Compile the newer spec.

    Returns:
        The compiled spec and its text.

    Raises:
        BaseError: FAB9036, the newer side has no such spec, and the base has one.
        GitError: it has none, and the base neither.
        InputError: it does not compile.
    """
    if chosen.head is None:
        if not spec.exists() and (
            gone := spec_search.gone_spec(history, chosen.base, spec.name, "the work tree")
        ):
            raise gone
        new = _compile_side(spec, str(spec))
        return new, _spec_bytes(new)
    assert head is not None
    before_merge = history.file(history.commit(head), spec.name)
    if before_merge is None:
        raise spec_search.gone_spec(history, chosen.base, spec.name, head) or GitError(
            f"{head} has no {visible_path(history.prefix + spec.name)}"
        )
    place, name = chosen.head_history, spec.name
    merged = place.file(chosen.head, name)
    if merged is not None and spec_search.cluster_of(merged) != spec_search.cluster_of(before_merge):
        # The base has another cluster at this path: the merge has this one elsewhere, or under another name.
        others = spec_search.places_of_cluster(place, chosen.head, name, before_merge)
        if len(others) > 1:
            raise GitError(f"a merge of {head} has several specs of the cluster in {name}")
        place, name = (others[0].history, others[0].name) if others else (place, name)
    elif merged is None:  # a merge moves files into a folder that the base has renamed
        found = spec_search.find_base_spec(place, chosen.head, name, before_merge, lambda _: before_merge)
        if found is None:
            raise GitError(f"a merge of {head} has no {spec.name}")
        place, name = found.history, found.name
    path = place.extract(chosen.head, Path(name), folder)
    if path is None:
        raise GitError(f"{head} has no {visible_path(place.prefix + name)}")
    new = _compile_side(path, str(spec), f"{head}:{place.prefix}{name}")
    return new, _spec_bytes(new)


def _spec_bytes(compiled: Compiled) -> bytes:
    """Return the bytes of a spec that compiles."""
    return next(iter(compiled.sources.values())).encode()


def _lost_lock(
    before: Compiled, after: Compiled, found: spec_search.FoundSpec, commit: str
) -> Iterator[Diagnostic]:
    """FAB9037: the newer side has no lock, or lacks lines of the base's, so that a build chooses numbers anew."""
    if before.lock_before is None:
        return
    if after.lock_before is not None:
        old, new, needed = (
            dict.fromkeys(line for line in text.splitlines() if line and not line.startswith("#"))
            for text in (before.lock_before, after.lock_before, after.lock_text)
        )
        if lost := [line for line in old if line not in new and line in needed]:
            message = (
                f"{after.lock_path.name} lacks {plural(len(lost), 'line')} that the plan needs: {lost[0]}"
            )
            yield Diagnostic(LOCK_LOST, Severity.ERROR, message, None, "Restore the lines of the base.")
        return
    lock = f"{found.history.prefix}{before.lock_path.name}"
    message = f"there is no {after.lock_path.name} next to the spec; the base has its numbers in {lock}"
    source, target = shell_word(f"{commit[:12]}:{lock}"), shell_path(after.lock_path.name)
    remedy = f"Restore it next to the spec: `git show {source} > {target}`."
    yield Diagnostic(LOCK_LOST, Severity.ERROR, message, None, remedy)


@dataclass(frozen=True, slots=True)
class _Templates:
    """Folders with templates of the user's own for each side; `missing`: why those of the base cannot be had."""

    base: tuple[Path, ...]
    head: tuple[Path, ...]
    missing: str = ""


def _choose_templates(history: SpecHistory, chosen: Comparison, scratch: Path) -> _Templates:
    """Return the folders of each side; the same ones where both sides have the same templates."""
    used = template_path()
    if not used:
        return _Templates((), ())
    head = used
    if chosen.head is not None:
        newer = chosen.head_history.repository
        head = extract_templates(newer, chosen.head, used, scratch / _HEAD_TEMPLATES)
    try:
        base = extract_templates(history.repository, chosen.base, used, scratch / _BASE_TEMPLATES)
        same = have_same_templates(base, head)
    except (GitError, OSError) as error:
        return _Templates(head, head, str(error))
    return _Templates(head if same else base, head)


def _with_own_templates(before: Compiled, templates: _Templates) -> tuple[Compiled, str]:
    """Return the older side with its own templates, else with those of the newer side and the reason.

    One device of each kind is rendered here, since a template that a change repairs fails on the older side.
    """
    missing = templates.missing
    if not missing and templates.base != templates.head:
        try:
            for part in parts_of(spec_side("", before)).values():
                for name in {kind: name for name, kind in part.kinds.items()}.values():
                    part.files(name)
        except EmitError as error:
            missing = error.diagnostic.message
    if not missing:
        return before, ""
    networks = {name: replace(part, templates=templates.head) for name, part in before.networks.items()}
    return replace(before, templates=templates.head, networks=networks), missing


def _unknown_templates(
    history: SpecHistory, changes: Iterable[Change], missing: str, chosen: Comparison
) -> Iterator[Diagnostic]:
    """FAB9055: templates of the user's own change, and both sides are rendered with those of the newer one."""
    files = [(each.path, history.top / each.path) for each in changes]
    changed = [
        path
        for path, file in files
        for folder in map(Path.absolute, template_path())
        if file.is_relative_to(folder) or folder.is_relative_to(file)
    ]
    if missing and changed:
        message = f"{plural(len(changed), 'template')} of your own changed with unknown effect: {changed[0]}"
        remedy = f"Make those of {chosen.base_label} usable, then review again: {missing}."
        yield Diagnostic(TEMPLATES, Severity.WARNING, message, None, remedy)


def _unpinned_base(before: Compiled, after: Compiled, label: str) -> Iterator[Diagnostic]:
    """FAB9038: numbers change, and the base has no lock, so that possibly nothing is deployed from it."""
    if before.lock_before is not None or before.spec is None or after.spec is None:
        return
    if any(line.startswith("-") for line in lock_lines(before.lock_text, after.lock_text)):
        message = (
            f"{label} has no {before.lock_path.name}: no build was committed there, and no number is pinned"
        )
        remedy = "If no switch has a configuration yet, commit the lock of `fabricc build` first."
        yield Diagnostic("FAB9038", Severity.WARNING, message, None, remedy)


def _under_policies_of_base(
    sides: Inputs, tip: str, base: str, places: Iterable[spec_search.FoundSpec]
) -> Inputs:
    """Return the sides under the policies that the base has now, also where the branch is older than a policy.

    Args:
        sides: the sides, under the policy of a spec of theirs.
        tip: the commit of the base revision.
        base: the base revision, for people.
        places: where the spec is, and where the base has it.
    """
    policies: dict[str, bytes] = {}
    stated: Policy | None = None
    for place in places:
        content, text = place.history.file(tip, POLICY_NAME), place.history.file(tip, place.name)
        if content is not None:
            policies[f"{base}:{place.history.prefix}{POLICY_NAME}"] = content
        if stated is None and text is not None and read_spec(text, place.name).spec is not None:
            stated = spec_policy(parse_yaml(text, place.name))
    return replace(sides, policies=policies, spec_policy=stated or sides.spec_policy)


def _compile_side(path: Path, shown: str, where: str = "", *, older: bool = False) -> Compiled:
    """Return the planned spec of a work tree or of `where` in Git, named `shown` in diagnostics.

    Raises:
        InputError: it does not compile.
    """
    compiled = compile_spec(path)
    if where:
        compiled = _rename_folder(compiled, path.parent, shown)
    if compiled.sound:
        return compiled
    found = compiled.diagnostics
    if where:
        fix = (
            "correct the newer side against it" if older else "commit a spec and a lock that `build` accepts"
        )
        remedy = f"`git show {shell_word(where)}` is the compiled text; {fix}."
        found += (Diagnostic("FAB9022", Severity.ERROR, f"{where} does not compile", None, remedy),)
    raise InputError.of(found, compiled.sources)


def _rename_folder(compiled: Compiled, folder: Path, shown: str) -> Compiled:
    """Return the compiled spec with the user's folder name instead of that of the scratch folder everywhere."""
    parent = shown.rpartition("/")[0]

    def name(text: str) -> str:
        return text.replace(f"{folder}/", f"{parent}/" if parent else "")

    def move_position(position: Position | None) -> Position | None:
        return position and replace(position, file=name(position.file))

    known = compiled.diagnostics
    found = tuple(replace(d, message=name(d.message), position=move_position(d.position)) for d in known)
    sources = {name(file): text for file, text in compiled.sources.items()}
    return replace(compiled, diagnostics=found, sources=sources)


def _spec_inputs(before: Compiled | None, after: Compiled, base: str, head: str, spec: str = "") -> Inputs:
    spec = spec or head
    rules = _stated_policy(_read_document(before) if before else None, _read_document(after, spec))
    context = compare_specs(before, after, spec)
    if before is None:
        return Inputs(Side(base, Cluster(), {}), spec_side(head, after), context, {}, rules)
    return Inputs(spec_side(base, before), spec_side(head, after, before), context, {}, rules)


def compare_specs(before: Compiled | None, after: Compiled, spec: str) -> Context:
    """Return what a review contains besides the devices: changed keys, the lock, and the findings of the newer side.

    Args:
        before: the older side; None where there is none.
        after: the newer side.
        spec: the name of its spec.
    """
    known = set(normalize_findings(before)) if before else set()
    stated = zip(after.diagnostics, normalize_findings(after), strict=True)
    new = tuple(finding for finding, key in stated if key not in known)
    return Context(
        spec,
        spec_changes(_read_document(before), _read_document(after, spec)) if before else (),
        lock_lines(before.lock_text if before else "", after.lock_text),
        after.lock_before != after.lock_text,
        after.lock_path.name,
        new + new_proof_findings(before, after),
        changed_figures(before, after) if before else (),
    )


def _stated_policy(*documents: Document | None) -> Policy | None:
    """Return the policy of the first spec that states one."""
    found = (spec_policy(document) for document in documents if document is not None)
    return next((policy for policy in found if policy is not None), None)


def _read_document(compiled: Compiled, name: str = "") -> Document:
    file, text = next(iter(compiled.sources.items()))
    return parse_yaml(text, name or file)


def lock_lines(before: str, after: str) -> tuple[str, ...]:
    """Numbers that leave (`-`) and join (`+`) the lock."""
    old, new = (
        {line for line in text.splitlines() if not line.startswith(("#", "version ", "cluster "))}
        for text in (before, after)
    )
    return (*(f"-{line}" for line in sorted(old - new)), *(f"+{line}" for line in sorted(new - old)))


def new_proof_findings(before: Compiled | None, after: Compiled) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings of `check` that only the newer side has.

    Args:
        before: the older side; None where there is none.
        after: the newer side.
    """
    if before is not None and (before.inputs, before.templates) == (after.inputs, after.templates):
        return ()
    if not has_own_text(after) and not (before and before.templates):
        return _new_rule_findings(before, after)
    found = list_proof_findings(after)
    return tuple(find_new_faults(found, list_proof_findings(before) if found and before else ()))


def _new_rule_findings(before: Compiled | None, after: Compiled) -> tuple[Diagnostic, ...]:
    """Return what the rules find on the newer side alone; the older side also judges the switches that they name."""
    found = list(find_plan_findings(after))
    if not found:
        return ()
    known: Iterable[Finding] = ()
    if before is not None:
        names = {word.strip(":,") for each in found for word in each.message.split()}
        known = find_plan_findings(before, sorted(names))
    new = {(each.code, each.message) for each in find_new_faults(found, known)}
    located = find_plan_findings(after, located=True) if new else ()
    return group_findings(after, [each for each in located if (each.code, each.message) in new])


def spec_side(label: str, compiled: Compiled, base: Compiled | None = None) -> Side:
    """The side of a planned spec; what is equal to the base's is taken from it, so that it compares quickly."""
    if compiled.infiniband is not None:
        return planned_side(label, compiled, compiled.infiniband)
    before = _compiled_networks(base) if base and base.infiniband is None else {}
    parts: dict[str, Side] = {}
    for network, each in _compiled_networks(compiled).items():
        fabric = share_objects(before[network].fabric, each.fabric) if network in before else each.fabric
        parts[network] = SpecSide.of(label, each, fabric)
    return merge_networks(parts)


def _compiled_networks(compiled: Compiled) -> dict[str, Compiled]:
    return {"": compiled, **compiled.networks}
