"""States of NVUE's revisions, in the forms that NVIDIA's public tests and published clients show."""

from __future__ import annotations

from typing import Any

import pytest

from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.nvue_views import describe_issues, find_applied, parse_revisions

OLD = "changeset/admin/2022-08-01_07.51.40_HN1G"


def revision_entry(rev_id: str, message: str = "Config update by admin via CLI") -> dict[str, Any]:
    details = {
        "method": "CLI",
        "reason": "Config update",
        "rev_id": rev_id,
        "state_controls": {},
        "user": "admin",
    }
    ref = "apply/2022-08-01_07.51.45_HN1H/done"
    return {
        "apply-id": "n/2",
        "apply-meta": details,
        "date": "2022-08-01T10:51:46+03:00",
        "message": message,
        "ref": ref,
    }


@pytest.mark.parametrize(
    ("states", "names", "expected"),
    [
        ({OLD: "applied"}, [OLD], OLD),
        ({"1": "applied_and_saved", "2": "applied_and_saved"}, ["2", "1"], "2"),
        ({"1": "applied_and_saved", "2": "applied_and_saved"}, ["1", "2", "1"], "1"),
        ({"1": "applied", "2": "apply_fail", "3": "confirm_fail"}, ["3", "2", "1"], "1"),
        ({"1": "applied", "2": "auto_saving"}, ["2", "1"], "2"),
    ],
)
def test_the_newest_apply_that_took_effect_is_applied(
    states: dict[str, str], names: list[str], expected: str
) -> None:
    revisions = parse_revisions({name: {"state": state} for name, state in states.items()})
    assert (
        find_applied([revision_entry(name, "fix what failed: error") for name in names], revisions)
        == expected
    )


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([], "no applied revision"),
        ({}, "not a list"),
        ([1], "not a list"),
        ([revision_entry("9")], "unknown"),
        ([{}], "unknown"),
        ([revision_entry("2"), revision_entry("1")], "state confirm"),
    ],
)
def test_a_history_that_names_no_applied_revision_is_an_error(history: Any, problem: str) -> None:
    with pytest.raises(AnswerError, match=problem):
        find_applied(history, {"1": {"state": "applied"}, "2": {"state": "confirm"}})


@pytest.mark.parametrize("answer", [None, [], {}, "x", {"1": {}}, {"1": "applied"}, {"1": {"state": 3}}])
def test_an_answer_without_states_is_an_error(answer: Any) -> None:
    with pytest.raises(AnswerError):
        parse_revisions(answer)


def test_only_errors_among_the_issues_are_described() -> None:
    issues = {
        "0": {"severity": "warning", "code": "sample", "message": "restarts switchd"},
        "1": {"severity": "error", "code": "client_error", "message": "password S3CRET is too short"},
    }
    text = describe_issues({"state": "invalid", "transition": {"progress": "", "issue": issues}}, "S3CRET")
    assert text.startswith("state invalid; ")
    assert "switchd" not in text
    assert "S3CRET" not in text
