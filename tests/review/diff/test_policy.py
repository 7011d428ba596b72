from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.base.documents.schema import schema_path
from fabricc.front.spec.document import cluster_schema
from fabricc.review.diff.model import Impact
from fabricc.review.diff.review_policy import Policy, load_policy, policy_violations, read_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.review.diff.conftest import Bench


def violation_codes(policy: Policy, review: object, *labels: str) -> list[str]:
    return [d.code for d in policy_violations([policy], review, frozenset(labels), "cluster.yaml")]  # type: ignore[arg-type]


def test_renumbering_is_forbidden_only_on_request(bench: Bench) -> None:
    review = bench.review("rack-zone-512", ("{family: dual}", "{family: dual, hosts: 10.192.0.0/11}"))
    assert violation_codes(Policy(), review) == []
    assert violation_codes(Policy(forbid_renumbering=True), review) == ["FAB9010"]
    assert violation_codes(Policy(max_gpus_affected=511), review) == ["FAB9011"]
    assert violation_codes(Policy(max_gpus_affected=512), review) == []


def test_a_lossless_change_needs_its_label_and_other_changes_do_not(bench: Bench) -> None:
    review = bench.review("superpod-b200-4su", ("dscp: 26", "dscp: 34"))
    policy = Policy(require_label_for_lossless="lossless-ok")
    assert violation_codes(policy, review) == ["FAB9013"]
    assert violation_codes(policy, review, "lossless-ok") == []
    assert violation_codes(Policy(max_impact=Impact.HITLESS), review) == ["FAB9012"]


def test_a_violation_stands_at_the_line_that_causes_it(bench: Bench) -> None:
    review = bench.review("superpod-b200-4su", ("dscp: 26", "dscp: 34"))
    (found,) = policy_violations([Policy(max_gpus_affected=0, file="p")], review, frozenset(), "cluster.yaml")
    assert found.position is not None
    assert found.position.line == 12


def test_a_drain_breaks_no_policy(bench: Bench) -> None:
    review = bench.review("rack-zone-512", more="overrides: {spine03a: {drain: true}}\n")
    strict = Policy(True, 0, Impact.HITLESS, "lossless-ok", True)
    assert violation_codes(strict, review) == []


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


def test_the_specs_own_section_and_the_file_have_the_same_schema() -> None:
    section = {**cluster_schema()["properties"]["policy"]}
    section.pop("examples")
    whole = json.loads(schema_path("policy").read_text("utf-8"))
    same = ("type", "additionalProperties", "properties")
    assert {key: section[key] for key in same} == {key: whole[key] for key in same}


OLD = "policy: {forbid_renumbering: true}\n"
POOL = ("{family: dual}", "{family: dual, hosts: 10.192.0.0/11}")


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (OLD, "", 1),  # a change cannot lift the policy that forbids it
        (OLD, "policy: {forbid_renumbering: false}\n", 1),
        ("", OLD, 1),
        ("policy: {max_gpus_affected: 4096}\n", OLD, 0),
        ("", "", 0),
    ],
)
@pytest.mark.spread
def test_the_policy_in_the_older_spec_counts(
    bench: Bench, fabricc: Callable[..., tuple[int, str, str]], base: str, head: str, expected: int
) -> None:
    older = bench.spec("rack-zone-512", "base", more=base)
    newer = bench.spec("rack-zone-512", "head", POOL, more=head)
    status, out, _ = fabricc("diff", str(older), str(newer), "--format", "github")
    assert status == expected
    line = newer.read_text("utf-8").splitlines().index("addressing: " + POOL[1]) + 1
    assert (f"::error file={newer},line={line}," in out) == ("FAB9010" in out) == bool(expected)


def test_a_spec_with_a_policy_that_is_not_valid_is_not_valid(
    bench: Bench, fabricc: Callable[..., tuple[int, str, str]]
) -> None:
    spec = bench.spec(
        "lab-smallest", "base", more="policy: {max_impact: terrible, forbid_renumbring: true}\n"
    )
    status, out, _ = fabricc("validate", str(spec), "--format", "json")
    assert status == 1
    assert "'forbid_renumbering'" in out
    assert "'terrible'" in out


def test_a_policy_is_no_assumption(bench: Bench) -> None:
    from fabricc.front.spec.load import load_spec

    loaded = load_spec(bench.spec("lab-smallest", "base", more="policy: {max_gpus_affected: 8}\n")).spec
    assert loaded is not None
    assert not [path for path in loaded.assumptions if path.startswith("policy")]


def test_policy_file_with_a_policy_key_gets_a_remedy() -> None:
    policy, found = read_policy(b"policy:\n  forbid_removal: true\n", "fabricc-policy.yaml")
    assert policy == Policy()
    assert [each.code for each in found] == ["FAB9023"]
    assert "policy:" in found[0].help
