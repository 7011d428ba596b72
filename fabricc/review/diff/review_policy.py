"""Gates on a change: `policy:` of the spec or a policy file forbids changes, or requires a label for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.reader import MAX_BYTES, parse_yaml
from fabricc.base.documents.schema import breaches
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.load.spec_location import POLICY_NAME
from fabricc.review.diff.fact_impact import is_access, row_of
from fabricc.review.diff.model import Group, Impact, Review
from fabricc.review.diff.phrases import fold_names
from fabricc.review.diff.wording import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from fabricc.base.documents.document import Document

_APPROVALS = ("require_label_for_lossless", "require_label_for_access", "require_label_for_control_files")


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits for one change; None and False forbid nothing.

    Attributes:
        max_gpus_affected: GPUs that one change may take out of service.
        max_impact: the gravest impact allowed.
        require_label_for_lossless: label that a change of classes, PFC, ECN or buffers must have.
        require_label_for_access: label that a change of logins must have.
        require_label_for_control_files: label that a change of files which control pushes or reviews must have.
        forbid_removal: whether removing devices is forbidden.
        forbid_access_changes: whether changes of logins are forbidden.
        forbid_tenant_moves: whether moving GPUs or outside parties between tenants is forbidden.
        file: the file that contains it, for messages.
    """

    forbid_renumbering: bool = False
    max_gpus_affected: int | None = None
    max_impact: Impact | None = None
    require_label_for_lossless: str | None = None
    forbid_removal: bool = False
    file: str = ""
    forbid_access_changes: bool = False
    require_label_for_access: str | None = None
    require_label_for_control_files: str | None = None
    forbid_tenant_moves: bool = False


def load_policy(path: Path | None, folder: Path) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """Return the policy at `path`, else the one in the folder, else one without limits; FAB9023 for errors in it."""
    named = path or folder / POLICY_NAME
    try:
        raw = files.read(named, limit=MAX_BYTES)
    except FileNotFoundError:
        if path is None:
            return Policy(), ()
        return Policy(), (_policy_error(f"there is no policy {path}", Position(str(path), 1)),)
    except OSError as error:
        return Policy(), (_policy_error(f"cannot read {named}: {error.strerror}", Position(str(named), 1)),)
    return read_policy(raw, str(named))


def read_policy(raw: bytes, file: str) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """Return the policy in `raw`; messages name it `file`."""
    document = parse_yaml(raw, file)
    if not document.usable or document.diagnostics:
        return Policy(), document.diagnostics
    if isinstance(document.value, dict) and "policy" in document.value:
        message = "a policy file has no key `policy`; only a spec has one"
        remedy = "Remove the line `policy:` and indent the lines below it by two spaces less."
        place = document.key_position(("policy",))
        return Policy(), (Diagnostic("FAB9023", Severity.ERROR, message, place, remedy),)
    wrong = tuple(
        _policy_error(f"policy: {breach.message}", document.key_position(tuple(breach.absolute_path)))
        for breach in breaches(document.value, "policy")
    )
    return (Policy(), wrong) if wrong else (_parse_policy(document.value, document.file), ())


def as_policies_write(labels: Iterable[str], policies: Iterable[Policy]) -> frozenset[str]:
    """Return the labels in the spelling of the policies: labels that differ only in case are the same."""
    written = {
        label.casefold(): label
        for policy in policies
        for key in _APPROVALS
        if (label := getattr(policy, key))
    }
    return frozenset(written.get(label.casefold(), label) for label in labels)


def own_labels(policies: Iterable[Policy], spec: str) -> tuple[Diagnostic, ...]:
    """Report FAB9044 for each required label that CI sets itself, so that it approves nothing."""
    remedy = "Name a label that only people set"
    return tuple(
        Diagnostic(
            "FAB9044",
            Severity.ERROR,
            f"`{key}: {label}`: fabricc itself sets this label, so it is not an approval",
            Position(spec, 1),
            f"{remedy} ({policy.file}).",
        )
        for policy in policies
        for key in _APPROVALS
        if (label := getattr(policy, key)) is not None and label.casefold() in LABELS
    )


def spec_policy(document: Document) -> Policy | None:
    """Return the policy that a spec which compiles has under `policy`, None when it has none."""
    stated = document.value.get("policy")
    if stated is None:
        return None
    return _parse_policy(stated, f"policy at {document.file}:{document.key_position(('policy',)).line}")


def _parse_policy(stated: dict[str, Any], file: str) -> Policy:
    worst = stated.get("max_impact")
    impact = Impact[worst.upper().replace("-", "_")] if worst else None
    return Policy(**{**stated, "max_impact": impact, "file": file})


def policy_violations(
    policies: Iterable[Policy], review: Review, labels: AbstractSet[str], spec: str
) -> tuple[Diagnostic, ...]:
    """Report the violations of policies, at the value of the spec that causes them."""
    found = {
        (code, message): Diagnostic(
            code, Severity.ERROR, message, _violation_place(code, review, spec), f"{help} ({policy.file})"
        )
        for policy in policies
        for code, message, help in _broken_rules(policy, review, labels)
    }
    return tuple(found.values())


def _violation_place(code: str, review: Review, spec: str) -> Position:
    """Return the cause of the first group that breaks the rule, else the first changed value of the spec."""
    places = {change.path: change.position for change in review.spec_changes}
    guilty = [group for group in review.groups if _breaks_rule(code, group, review)]
    causes = [places.get(cause) for group in guilty for cause in group.causes]
    return next((place for place in (*causes, *places.values()) if place), Position(spec, 1))


def _breaks_rule(code: str, group: Group, review: Review) -> bool:
    if code == "FAB9013":
        return _changes_lossless(group)
    if code in ("FAB9040", "FAB9041"):
        return any(is_access(line.statement.subject, group.nos) for line in group.lines)
    return {"FAB9011": group.gpus > 0, "FAB9012": group.impact is review.impact}.get(code, False)


def _broken_rules(policy: Policy, review: Review, labels: AbstractSet[str]) -> Iterator[tuple[str, str, str]]:
    count = review.renumbering
    if policy.forbid_renumbering and count.total:
        stated = f"{plural(count.addresses, 'address')}, {plural(count.asns, 'ASN')}, {plural(count.ports, 'port')}"
        message = f"the policy forbids renumbering: {stated} would change"
        yield "FAB9010", message, "Keep the lock and the pools."
    limit = policy.max_gpus_affected
    if limit is not None and review.gpus_affected > limit:
        message = f"{review.gpus_affected:,} GPUs lose service, the policy allows {limit:,} at once"
        yield "FAB9011", message, "Split the change, for example with `overrides` unit by unit."
    if policy.max_impact is not None and review.impact > policy.max_impact:
        message = f"the worst effect is {review.impact.label}, the policy allows {policy.max_impact.label}"
        yield "FAB9012", message, "Move the severe part into a separate, scheduled change."
    needed = policy.require_label_for_lossless
    if needed and needed not in labels and changes_lossless(review):
        message = f"a change of classes, PFC, ECN or buffers needs the label {needed!r}"
        yield "FAB9013", message, "Have the owners of the lossless policy approve it."
    needed = policy.require_label_for_access
    if needed and needed not in labels and review.access_changes:
        message = f"a change of logins needs the label {needed!r}"
        yield "FAB9040", message, "Have the owners of accounts and management services approve it."
    if policy.forbid_access_changes and review.access_changes:
        message = f"the policy forbids changes of logins: {fold_names(list(review.access_changes), 3)}"
        yield "FAB9041", message, "Make it in a separate change with another policy."
    needed = policy.require_label_for_control_files
    if needed and needed not in labels and review.steering_files:
        paths = fold_names([each.path for each in review.steering_files], 3)
        message = f"a change of files that control pushes or reviews needs the label {needed!r}: {paths}"
        yield "FAB9042", message, "Have the owners of these files approve it."
    if policy.forbid_tenant_moves and review.tenant_moves:
        moves = fold_names(list(review.tenant_moves), 3)
        message = f"the policy forbids moves between tenants: {moves}"
        yield (
            "FAB9048",
            message,
            "Take them out of one tenant first, and add them to the other one later.",
        )
    if policy.forbid_removal and review.removed.count:
        message = f"the policy forbids removal: {plural(review.removed.count, 'device')} would leave"
        yield "FAB9014", message, "Remove devices in a separate change with another policy."


def changes_lossless(review: Review) -> bool:
    """Return whether anything lossless changes on a device that stays."""
    return any(_changes_lossless(group) for group in review.groups)


def _changes_lossless(group: Group) -> bool:
    return any("lossless" in row_of(line.statement.subject, group.nos).tags for line in group.lines)


def _policy_error(message: str, position: Position) -> Diagnostic:
    remedy = "`schemas/policy.schema.json` has every key."
    return Diagnostic("FAB9023", Severity.ERROR, message, position, remedy)
