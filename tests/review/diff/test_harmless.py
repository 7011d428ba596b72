"""Pull requests that change nothing that matters are not red, and harmful ones that look like them are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.review.diff.model import Impact
from fabricc.review.diff.view import is_used
from fabricc.review.diff.wording import drain_steps, key_figures
from tests.review.diff.conftest import compare_specs
from tests.review.diff.disguised import DISGUISED
from tests.review.diff.edits import HARMLESS as EDITS
from tests.review.diff.edits import SYSTEMS, before_end, replace_lines, review_edit, try_edits
from tests.review.diff.harmless import HARMLESS as TEXTS
from tests.review.diff.harmless_specs import HARMFUL as HARMFUL_SPECS
from tests.review.diff.harmless_specs import HARMLESS as SPECS
from tests.review.diff.harmless_specs import base_folder

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import Review
    from fabricc.review.diff.view import DeviceView

SPREAD = 3
"""The ordinary run tries one kind of three on each system, another one on each, and the slow runs all rules too."""
NO_ACCOUNTS = {
    "frr": {"a key exchanged in a reformatted list", "a TACACS+ server exchanged", "a location and a contact"},
    "sonic": {"a key exchanged in a reformatted list"},
}  # fmt: skip
"""Kinds without an effect on a system: FRR has no accounts, login servers and SNMP here, and SONiC no SSH keys."""


def test_there_are_forty_harmless_kinds() -> None:
    assert len(TEXTS) + len(SPECS) + len(EDITS.keys() - TEXTS.keys()) >= 40


@pytest.mark.spread
@pytest.mark.parametrize(
    "share", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, SPREAD))]
)
@pytest.mark.parametrize("nos", SYSTEMS)
def test_layout_comments_and_descriptions_are_never_red(nos: str, share: int) -> None:
    kinds = [each for each in TEXTS.items() if nos in each[1]]
    found = dict(try_edits(nos, kinds[(SYSTEMS.index(nos) + share) % SPREAD :: SPREAD], rules=share > 0))
    assert [kind for kind, review in found.items() if review is None] == []
    assert {
        kind: review.risk for kind, review in found.items() if review and review.risk not in ("none", "low")
    } == {}


def _spread_cases(kinds: dict[str, object]) -> list[object]:
    """Each kind on one system in the ordinary run, on the others in the slow one."""
    return [
        pytest.param(kind, nos, marks=() if at % len(SYSTEMS) == number else pytest.mark.slow)
        for at, kind in enumerate(kinds)
        for number, nos in enumerate(SYSTEMS)
        if kind not in NO_ACCOUNTS.get(nos, ())
    ]


def _reviewed_spec(folder: Path, nos: str, edits: dict[str, object], kind: str) -> Review:
    base, head = (base_folder(folder / side / "zone", nos) for side in ("base", "head"))
    edits[kind](head.parent)  # type: ignore[operator]
    return compare_specs(base, head)


@pytest.mark.parametrize(("kind", "nos"), _spread_cases({**SPECS}))
@pytest.mark.spread
def test_a_harmless_edit_of_a_spec_is_never_red(kind: str, nos: str, tmp_path: Path) -> None:
    review = _reviewed_spec(tmp_path, nos, {**SPECS}, kind)
    assert review.risk in ("none", "low"), [line.statement for group in review.groups for line in group.lines]


@pytest.mark.parametrize(("kind", "nos"), _spread_cases({**HARMFUL_SPECS}))
@pytest.mark.spread
def test_a_harmful_edit_of_a_spec_among_harmless_ones_is_seen(kind: str, nos: str, tmp_path: Path) -> None:
    assert _reviewed_spec(tmp_path, nos, {**HARMFUL_SPECS}, kind).risk in ("medium", "high")


@pytest.mark.spread
@pytest.mark.parametrize(
    ("kind", "nos"), [(kind, nos) for kind, systems in DISGUISED.items() for nos in systems]
)
def test_harm_in_the_shape_of_layout_is_seen(kind: str, nos: str, tmp_path: Path) -> None:
    review = review_edit(nos, DISGUISED[kind][nos], tmp_path)
    assert review is not None
    assert review.risk in ("medium", "high")


def test_a_review_of_trees_has_the_findings_of_the_rules(tmp_path: Path) -> None:
    """The rules judge all switches of both trees: a fault that each of them has is no outlier."""
    edit = replace_lines((r"^route-map CONNECTED permit 10", "route-map CONNECTED deny 10"), file="frr.conf")
    review = review_edit("frr", edit, tmp_path, rules=True)
    assert review is not None
    found = review.proof_findings
    assert {each.code for each in found} == {"FAB9676", "FAB9695"}
    assert all(each.position and each.position.file.endswith("/frr.conf") for each in found)
    assert review.impact is Impact.TRAFFIC_LOSS
    assert not any("No drain" in step for step in drain_steps(review))


def test_an_error_of_the_rules_is_never_without_effect(tmp_path: Path) -> None:
    keep = "destination-port [ 3784 3785 4784 ];"
    review = review_edit(
        "junos", replace_lines((re.escape(keep), keep.replace("3784 ", ""))), tmp_path, rules=True
    )
    assert review is not None
    assert {each.code for each in review.proof_findings} == {"FAB9662"}
    assert (review.impact, review.risk) == (Impact.TRAFFIC_LOSS, "high")
    assert drain_steps(review) == [
        "Correct the new findings first: they show what happens to traffic afterwards."
    ]
    assert key_figures(review) == "", "figures of a plan that the files break"


def test_a_review_counts_the_switches_on_which_no_rule_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricc.review.diff.tree_findings._MOST", 1)
    edit = replace_lines((r"^route-map CONNECTED permit 10", "route-map CONNECTED deny 10"), file="frr.conf")
    review = review_edit("frr", edit, tmp_path, rules=True)
    assert review is not None
    (partial,) = (each for each in review.findings if each.code == "FAB9054")
    assert re.fullmatch(r"no rule ran on \d+ of \d+ changed devices", partial.message)


def test_a_long_list_is_looked_for_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each search passes over all facts of both sides."""
    searched: list[str] = []

    def find(name: str, *views: DeviceView) -> bool:
        searched.append(name)
        return is_used(name, *views)

    monkeypatch.setattr("fabricc.review.diff.compare.is_used", find)
    rules = "".join(f"   {10 * at} deny udp any any eq {5000 + at}\n" for at in range(1, 40))
    review = review_edit("eos", before_end(f"ip access-list SPARE\n{rules}!\n"), tmp_path)
    assert review is not None
    assert review.risk in ("none", "low")
    assert set(searched) == {"SPARE"}
    assert len(searched) < 10  # once for each kind of device
