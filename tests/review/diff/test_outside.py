"""Prefixes outside that come and go: what comes is hitless, what goes is a loss of what was reached."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from fabricc.review.diff import wording
from fabricc.review.diff.fact_impact import judge_statement
from fabricc.review.diff.model import Impact
from tests.outward import MODELS, spec_text
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import Review

MARKED = "{code: FAB5725, reason: the far end clears code points}"
ACCEPTED = "[0.0.0.0/0, 203.0.113.0/24 le 28]"


def review_party(folder: Path, nos: str, accept: str, before: str = ACCEPTED) -> Review:
    """Return what becomes of the fabric when the party that BGP leads to is accepted with other prefixes."""
    paths = []
    for side, prefixes in (("base", before), ("head", accept)):
        path = folder / side / "cluster.yaml"
        path.parent.mkdir()
        path.write_text(
            spec_text(nos).replace(ACCEPTED, prefixes).replace("accept: [{", f"accept: [{MARKED}, {{")
        )
        paths.append(path)
    return compare_specs(paths[0], paths[1])


def list_statements(review: Review) -> set[tuple[str, str, str | None, str | None]]:
    """Every statement: its subject, operation and values."""
    return {tuple(line.statement) for group in review.groups for line in group.lines}


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_a_prefix_more_is_a_route_more_on_every_host_and_disturbs_none(tmp_path: Path, nos: str) -> None:
    review = review_party(tmp_path, nos, "[0.0.0.0/0, 198.18.0.0/16, 203.0.113.0/24 le 28]")
    assert (review.impact, review.risk, review.gpus_affected) == (Impact.HITLESS, "low", 0)
    assert {group.kind for group in review.groups} == {"tor", "spine", "host"}
    assert {(s[1], s[2], s[3]) for s in list_statements(review)} == {
        ("+", None, "198.18.0.0/16"),
        ("+", None, None),
    }
    assert wording.drain_steps(review) == ["No drain is needed: present traffic is not affected."]


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_a_prefix_that_leaves_is_lost_to_every_host(tmp_path: Path, nos: str) -> None:
    review = review_party(tmp_path, nos, "[0.0.0.0/0]")
    assert (review.impact, review.risk, review.gpus_affected) == (Impact.TRAFFIC_LOSS, "high", 16)
    assert {(s[1], s[2]) for s in list_statements(review)} == {("-", "203.0.113.0/24 le 28"), ("-", None)}
    (step,) = wording.drain_steps(review)
    assert step.startswith("Drain jobs from 2 hosts first")


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_a_default_route_that_leaves_is_lost_too_though_no_host_has_it(tmp_path: Path, nos: str) -> None:
    review = review_party(tmp_path, nos, "[203.0.113.0/24 le 28]")
    assert (review.impact, review.risk, review.gpus_affected) == (Impact.TRAFFIC_LOSS, "high", 16)
    assert {group.kind for group in review.groups} == {"tor", "spine"}
    assert {(s[1], s[2]) for s in list_statements(review)} == {("-", "0.0.0.0/0")}
    assert not review.sessions
    assert not any("one at a time" in step for step in wording.drain_steps(review))


@pytest.mark.parametrize(
    ("before", "after", "impact"),
    [
        ("203.0.113.0/24", "203.0.113.0/24 le 28", Impact.HITLESS),
        ("203.0.113.0/24 le 26", "203.0.113.0/24 le 28", Impact.HITLESS),
        ("203.0.113.0/24 le 28", "203.0.113.0/24 le 26", Impact.TRAFFIC_LOSS),
        ("203.0.113.0/24 le 28", "203.0.113.0/24", Impact.TRAFFIC_LOSS),
    ],
)
def test_longer_prefixes_in_it_count_as_they_come_or_go(
    tmp_path: Path, before: str, after: str, impact: Impact
) -> None:
    review = review_party(tmp_path, "frr", f"[0.0.0.0/0, {after}]", f"[0.0.0.0/0, {before}]")
    assert review.impact is impact
    assert {(s[1], s[2], s[3]) for s in list_statements(review)} == {("~", before, after)}


def test_order_of_accepted_prefixes_is_no_change(tmp_path: Path) -> None:
    review = review_party(tmp_path, "frr", "[203.0.113.0/24 le 28, 0.0.0.0/0]")
    assert review.impact <= Impact.HITLESS
    assert all("prefix_list" not in subject for subject, *_ in list_statements(review))


def test_a_route_to_other_next_hops_is_still_what_it_was() -> None:
    assert judge_statement("interface[rail]/route[10.0.0.0/10]", "~", "host").impact is Impact.TRAFFIC_LOSS
    assert judge_statement("interface[rail]/route[10.0.0.0/10]", "-", "host").impact is Impact.TRAFFIC_LOSS


def test_a_session_with_another_number_of_its_party_stays_down() -> None:
    outside, inside = (
        judge_statement(f"session[{role}]/remote_asn", "~", "eos") for role in ("external", "up")
    )
    assert (outside.impact, outside.down) == (Impact.TRAFFIC_LOSS, True)
    assert inside.impact is Impact.SESSION_RESET


@pytest.mark.parametrize(
    ("gpus", "affected", "others", "text"),
    [
        (0, 0, ("a", "b"), "2 hosts without GPUs lose"),
        (0, 0, ("a",), "1 host without GPUs loses"),
        (8, 1, (), "1 of 8 GPUs loses"),
        (8, 0, ("a",), "0 of 8 GPUs and 1 host without GPUs lose"),
    ],
)
def test_hosts_without_gpus_lose_service_too(
    gpus: int, affected: int, others: tuple[str, ...], text: str
) -> None:
    review = SimpleNamespace(gpus_total=gpus, gpus_affected=affected, other_hosts=others)
    assert wording.describe_loss(cast("Review", review)) == text
