"""A review from what the user named, held to the policies that count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.review.diff import review_policy
from fabricc.review.diff.inputs import InputError, Inputs, open_inputs
from fabricc.review.diff.run import compare_sides

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fabricc.review.diff.model import Review


def review_change(
    first: Path,
    second: Path | None = None,
    base: str | None = None,
    head: str | None = None,
    *,
    policy: Path | None = None,
    labels: Iterable[str] = (),
    any_case: bool = False,
    check_status: int | None = None,
    jobs: int | None = None,
) -> Review:
    """Review the changes from `first` to `second`, or of the spec `first` since a Git revision, with policy violations.

    Args:
        first: a spec or a built tree, the older one of two.
        second: the newer one.
        base: revision of the spec to compare with, where the head left it; None for HEAD.
        head: revision instead of the present files; None for these.
        policy: the policy; None for the spec's own, and the file in its folder.
        labels: labels of the change, for policies that require one.
        any_case: whether names of labels that differ in case alone are one label, as on GitHub.
        check_status: exit status of `check --committed` on the tree of `head`; None to run it if needed.
        jobs: worker processes; None for one per usable CPU.

    Raises:
        FindingsError: a side cannot be read or does not compile, or a policy is not valid.
    """
    spec = second or first
    with open_inputs(first, second, base, head, check_status) as sides:
        rules = _find_policies(sides, policy, spec)
        found = compare_sides(sides.base, sides.head, sides.context, jobs)
    present = review_policy.as_policies_write(labels, rules) if any_case else frozenset(labels)
    return replace(found, violations=review_policy.policy_violations(rules, found, present, str(spec)))


def _find_policies(sides: Inputs, named: Path | None, spec: Path) -> tuple[review_policy.Policy, ...]:
    """Return the policies in force: the named one, else that of the spec and that of the policy file.

    Raises:
        InputError: a policy file is not valid.
    """
    if named is None and sides.policies:
        read = [review_policy.read_policy(content, name) for name, content in sides.policies.items()]
    else:
        read = [review_policy.load_policy(named, spec.parent)]
    if wrong := [each for _, found in read for each in found]:
        raise InputError.of(wrong)
    rules = tuple(policy for policy, _ in read)
    found = rules if named or sides.spec_policy is None else (sides.spec_policy, *rules)
    if unusable := review_policy.own_labels(found, str(spec)):
        raise InputError.of(unusable)
    return found
