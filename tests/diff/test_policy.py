from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.diff.model import Impact
from fabricc.diff.policy import Policy, load_policy, read_policy, violations

if TYPE_CHECKING:
    from pathlib import Path

    from tests.diff.conftest import Bench


def codes(policy: Policy, review: object, *labels: str) -> list[str]:
    return [d.code for d in violations(policy, review, frozenset(labels), "cluster.yaml")]  # type: ignore[arg-type]


def test_renumbering_is_forbidden_only_when_asked(bench: Bench) -> None:
    review = bench.review("rack-zone-512", ("{family: dual}", "{family: dual, hosts: 10.192.0.0/11}"))
    assert codes(Policy(), review) == []
    assert codes(Policy(forbid_renumbering=True), review) == ["FAB9010"]
    assert codes(Policy(max_gpus_affected=511), review) == ["FAB9011"]
    assert codes(Policy(max_gpus_affected=512), review) == []


def test_a_lossless_change_needs_its_label_and_other_changes_do_not(bench: Bench) -> None:
    review = bench.review("superpod-b200-4su", ("dscp: 26", "dscp: 34"))
    policy = Policy(require_label_for_lossless="lossless-ok")
    assert codes(policy, review) == ["FAB9013"]
    assert codes(policy, review, "lossless-ok") == []
    assert codes(Policy(max_impact=Impact.HITLESS), review) == ["FAB9012"]


def test_a_violation_stands_at_the_line_that_causes_it(bench: Bench) -> None:
    review = bench.review("superpod-b200-4su", ("dscp: 26", "dscp: 34"))
    (found,) = violations(Policy(max_gpus_affected=0, file="p"), review, frozenset(), "cluster.yaml")
    assert found.position is not None
    assert found.position.line == 12


def test_a_drain_breaks_no_policy(bench: Bench) -> None:
    review = bench.review("rack-zone-512", more="overrides: {spine03a: {drain: true}}\n")
    strict = Policy(True, 0, Impact.HITLESS, "lossless-ok", True)
    assert codes(strict, review) == []


@pytest.mark.parametrize(
    "text",
    [
        "forbid_renumbring: true",
        "max_gpus_affected: many",
        "max_impact: terrible",
        "- a",
        "a: [",
        "max_gpus_affected: -1",
    ],
)
def test_a_policy_that_is_not_valid_is_an_error(text: str) -> None:
    _, wrong = read_policy(text.encode(), "fabricc-policy.yaml")
    assert wrong
    assert {d.code for d in wrong} <= {"FAB9023", "FAB0007"}


def test_no_policy_forbids_nothing_and_a_named_one_must_exist(tmp_path: Path) -> None:
    assert load_policy(None, tmp_path) == (Policy(), ())
    assert [d.code for d in load_policy(tmp_path / "p.yaml", tmp_path)[1]] == ["FAB9023"]


def test_every_key_is_read() -> None:
    text = b"""
forbid_renumbering: true
max_gpus_affected: 8
max_impact: session-reset
require_label_for_lossless: ok
forbid_removal: true
"""
    policy, wrong = read_policy(text, "p")
    assert wrong == ()
    assert policy == Policy(True, 8, Impact.SESSION_RESET, "ok", True, "p")
