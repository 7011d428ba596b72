"""No harmful change is rated hitless and low, in trees and in overlays, and no harmless one is red."""
# ruff: noqa: E501  (an edit is one line)

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.cli.diff import as_diagnostics
from fabricc.review.diff import wording
from fabricc.review.diff.markdown import FORGES, render
from fabricc.review.diff.model import Impact
from fabricc.review.diff.review_json import as_json
from fabricc.review.diff.review_policy import Policy, policy_violations
from tests.outward import spec_text
from tests.review.diff.conftest import compare_specs
from tests.review.diff.edits import (
    ACCESS,
    HARMFUL,
    HARMLESS,
    ROUTING,
    SERVICES,
    SYSTEMS,
    replace_lines,
    review_edit,
    try_edits,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import Review

SPREAD = 4
"""The ordinary run tries one kind of four on each system, another one on each; the slow run tries them all."""


@pytest.mark.spread
@pytest.mark.parametrize(
    "share", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, SPREAD))]
)
@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_harmful_change_of_all_switches_is_never_low(nos: str, share: int) -> None:
    kinds = list(HARMFUL.items())[(SYSTEMS.index(nos) + share) % SPREAD :: SPREAD]
    found = dict(try_edits(nos, kinds))
    assert len(found) >= len(kinds) // 2
    assert [kind for kind, review in found.items() if review is None] == []
    missed = {
        kind: review.risk
        for kind, review in found.items()
        if review and review.risk not in ("medium", "high")
    }
    assert missed == {}


@pytest.mark.parametrize("nos", SYSTEMS)
@pytest.mark.spread
def test_a_harmless_change_is_never_red(nos: str) -> None:
    risks = {kind: review.risk for kind, review in try_edits(nos, HARMLESS.items()) if review}
    assert len(risks) >= 6
    assert set(risks.values()) <= {"none", "low"}, risks


def review_effect(review: Review | None) -> tuple[object, ...]:
    assert review is not None
    return (
        review.risk,
        review.impact,
        {*review.safeguards_lost},
        {*review.access_changes},
        {*review.unknown_lines},
    )


SAME = {
    **{kind: SERVICES[kind] for kind in (
        "no log servers", "a log server less", "no time servers", "no name servers", "no LLDP",
    )},
    **{kind: ACCESS[kind] for kind in ("another key", "another TACACS+ server")},
    **{kind: ROUTING[kind] for kind in (
        "own prefixes replaced", "accepted prefixes widened", "export denied", "import denied", "static route gone",
        "static route to nowhere", "discard of hosts", "no BFD", "a prefix limit of one",
    )},
}  # fmt: skip
"""Changes that every reader understands."""


@pytest.mark.spread
@pytest.mark.parametrize("kind", SAME)
def test_one_change_has_the_same_class_and_words_on_every_system(kind: str, tmp_path: Path) -> None:
    found = {nos: review_effect(review_edit(nos, edit, tmp_path / nos)) for nos, edit in SAME[kind].items()}
    assert len(found) >= 4
    first = next(iter(found.values()))
    assert {nos: each for nos, each in found.items() if each != first} == {}


def test_sessions_reset_only_where_some_go_down(tmp_path: Path) -> None:
    for nos, edit in ROUTING["a session less"].items():
        review = review_edit(nos, edit, tmp_path / nos)
        assert review is not None
        assert (review.impact, review.sessions > 0) == (Impact.SESSION_RESET, True), nos
        subjects = [line.statement.subject for group in review.groups for line in group.lines]
        assert all("gone" in each for each in subjects if each.startswith("session[")), subjects


@pytest.mark.parametrize("kind", ["access for all", "access lists gone"])
def test_management_opened_to_all_is_access_on_every_system(kind: str, tmp_path: Path) -> None:
    for nos, edit in ACCESS[kind].items():
        review = review_edit(nos, edit, tmp_path / nos)
        assert review is not None
        assert review.risk in ("medium", "high"), nos
        assert "fabric:access" in wording.review_labels(review)
        assert any(what.startswith("networks that may connect") for what in review.access_changes), nos


LINES = {
    "eos": ("o.cfg", "event-handler X\n   trigger on-boot\n   action bash FastCli -p15 -c reload\n"),
    "nxos": ("o.cfg", "cli alias name show reload\n"),
    "junos": ("o.conf", "event-options {\n    policy X {\n        events RPD_STOP;\n    }\n}\n"),
    "cumulus": ("o.yaml", "- set:\n    system:\n      docker:\n        state: enabled\n"),
    "frr": ("o.conf", "agentx\n"),
    "sonic": ("o.json", '{"AUTO_TECHSUPPORT": {"GLOBAL": {"state": "enabled"}}}\n'),
}
INTO = {"frr": ", into: frr.conf", "sonic": ", into: config_db.json"}
ACCEPTED = "".join(
    f'{{code: {code}, reason: "a lab of six systems"}}, '
    for code in ("FAB5321", "FAB5717", "FAB5725", "FAB5680", "FAB5505", "FAB5507")
)


def write_overlay(folder: Path, nos: str, text: str = "", *, removes: str = "", accept: str = "") -> Path:
    """A spec with an overlay, and one that takes lines away."""
    folder.mkdir()
    path, entries = folder / "cluster.yaml", []
    for name, content, more in (
        (LINES[nos][0], text, ""),
        (f"without-{LINES[nos][0]}", removes, ", removes: true"),
    ):
        if content:
            (folder / name).write_text(content, "utf-8")
            entries.append(f"{{file: {name}, nos: {nos}{INTO.get(nos, '')}{more}}}")
    spec = spec_text(nos).replace("accept: [{", f"accept: [{accept}{ACCEPTED}{{", 1)
    path.write_text(spec + (f"overlays: [{', '.join(entries)}]\n" if entries else ""), "utf-8")
    return path


@pytest.mark.parametrize("nos", LINES)
@pytest.mark.spread
def test_uninterpreted_overlay_line_has_the_highest_impact(nos: str, tmp_path: Path) -> None:
    review = compare_specs(
        write_overlay(tmp_path / "base", nos), write_overlay(tmp_path / "head", nos, LINES[nos][1])
    )
    assert (review.risk, review.impact) == ("high", Impact.RELOAD)
    assert wording.verdict_line(review).startswith("HIGH risk, ")
    assert "not interpret change on 4 devices (effect unknown)" in wording.verdict_line(review).split(", ")[1]
    assert {"fabric:access", "risk:high", "needs-drain"} <= {*wording.review_labels(review)}
    assert not any("No drain is needed" in step for step in wording.drain_steps(review))
    policy = Policy(max_impact=Impact.TRAFFIC_LOSS, require_label_for_lossless="ok")
    assert {d.code for d in policy_violations([policy], review, frozenset(), "s")} == {"FAB9012", "FAB9013"}
    assert "FAB9065" in {d.code for d in as_diagnostics(review)}
    assert as_json(review)["unknown_lines"]


def test_a_spec_vouches_for_a_line_and_the_comment_repeats_the_reason(tmp_path: Path) -> None:
    entry = '{code: FAB9065, line: "cli alias name *", reason: "an alias of the help desk"}, '
    line = LINES["nxos"][1]
    before = write_overlay(tmp_path / "base", "nxos")
    brought = compare_specs(before, write_overlay(tmp_path / "head", "nxos", line, accept=entry))
    assert (brought.risk, brought.impact, brought.unknown_lines) == ("medium", Impact.HITLESS, {})
    comment = render(brought, FORGES["github"])
    assert (
        "`cli alias name *`: an alias of the help desk (4 devices, the entry comes with this change)"
        in comment
    )
    known = compare_specs(
        write_overlay(tmp_path / "known", "nxos", accept=entry), tmp_path / "head" / "cluster.yaml"
    )
    assert (known.risk, "an alias of the help desk (4 devices)" in render(known, FORGES["github"])) == (
        "low",
        True,
    )
    other = compare_specs(
        before, write_overlay(tmp_path / "other", "nxos", "alias exec-time on\n", accept=entry)
    )
    assert other.risk == "high"


REMOVALS = {
    "eos": ("router bgp *\n   maximum-paths * ecmp *\n", "FAB6007"),
    "frr": ("router bgp *\n address-family ipv4 unicast\n  maximum-paths *\n", "FAB6007"),
    "nxos": ("router bgp *\n  address-family ipv4 unicast\n    maximum-paths *\n", "FAB6007"),
}


@pytest.mark.spread
@pytest.mark.parametrize("nos", REMOVALS)
def test_the_review_lists_what_the_proof_of_the_newer_side_alone_finds(nos: str, tmp_path: Path) -> None:
    text, code = REMOVALS[nos]
    before, after = write_overlay(tmp_path / "base", nos), write_overlay(tmp_path / "head", nos, removes=text)
    review = compare_specs(before, after)
    assert code in {d.code for d in review.findings}
    assert review.risk in ("medium", "high")
    assert "that the older side lacks" in wording.verdict_line(review)
    assert code in render(review, FORGES["github"])
    again = compare_specs(after, write_overlay(tmp_path / "again", nos, removes=f"{text}"))
    assert not again.proof_findings


def test_a_removal_that_the_build_refuses_is_an_error_of_the_review(tmp_path: Path) -> None:
    removed = write_overlay(
        tmp_path / "head", "eos", removes="qos profile ROCE*\n   priority-flow-control on\n"
    )
    review = compare_specs(write_overlay(tmp_path / "base", "eos"), removed)
    assert any(d.severity is Severity.ERROR for d in review.proof_findings)
    assert review.risk == "high"


@pytest.mark.parametrize(
    ("text", "impact"),
    [
        ("lldp timer 20\n", Impact.NONE),
        ("lldp timer 20\ninterface Ethernet1/1\n   mtu 1500\n", Impact.TRAFFIC_LOSS),
    ],
)
def test_an_error_of_the_proof_has_the_effect_of_its_fact(text: str, impact: Impact, tmp_path: Path) -> None:
    """A service that is not as planned is an error, and no traffic is lost by it."""
    review = compare_specs(
        write_overlay(tmp_path / "base", "eos"), write_overlay(tmp_path / "head", "eos", text)
    )
    assert {d.severity for d in review.proof_findings if "lldp" in d.message} == {Severity.ERROR}
    assert (review.risk, review.impact) == ("high", impact)


def test_an_overlay_that_undoes_a_drain_is_no_hitless_change(tmp_path: Path) -> None:
    drain = "overrides: {spine01a: {drain: true}}\n"
    removal = "route-map TO-DOWNSTREAM permit *\n   set community GSHUT additive\n"
    before = write_overlay(tmp_path / "base", "eos")
    after = write_overlay(tmp_path / "head", "eos", removes=removal)
    for path in (before, after):
        path.write_text(path.read_text("utf-8") + drain, "utf-8")
    review = compare_specs(before, after)
    assert review.risk != "low"
    assert "FAB6007" in {d.code for d in review.findings}


def test_an_entry_with_a_line_and_another_code_is_refused(tmp_path: Path) -> None:
    from fabricc.compiler.compiled import compile_spec

    entry = '{code: FAB5202, line: "cli alias", reason: "an alias of the help desk"}, '
    assert "FAB9066" in {
        d.code for d in compile_spec(write_overlay(tmp_path / "a", "nxos", accept=entry)).diagnostics
    }
    bare = '{code: FAB9065, reason: "an alias of the help desk"}, '
    assert "FAB9066" in {
        d.code for d in compile_spec(write_overlay(tmp_path / "b", "nxos", accept=bare)).diagnostics
    }


ACCOUNTS = {
    "eos": replace_lines((r"^(username netops privilege .*)$", r"\1\nusername eve privilege 15 role network-admin secret sha512 $6$a$b")),
    "nxos": replace_lines((r"^(username netops password .*)$", r"\1\nusername eve password 5 $5$a$b role network-admin")),
}  # fmt: skip


@pytest.mark.parametrize("nos", ACCOUNTS)
def test_an_account_with_a_password_is_access_and_no_traffic(nos: str, tmp_path: Path) -> None:
    review = review_edit(nos, ACCOUNTS[nos], tmp_path)
    assert review is not None
    assert (review.impact, review.risk) == (Impact.NONE, "medium")
    assert [*review.access_changes] == ["accounts, new"]
