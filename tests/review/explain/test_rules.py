"""Every declared fact has a rule, whose keys, figures, steps and pages there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import BUILT_IN
from fabricc.cli.explain import explanation_lines
from fabricc.fabric.vocabulary import compile_patterns
from fabricc.front.planning.quality import list_worksheets
from fabricc.front.planning.topology.strides import power_of_two
from fabricc.review.diff.fact_impact import vocabulary_of
from fabricc.review.explain.devices import explain_facts
from fabricc.review.explain.facts import FORMS, Explainer
from fabricc.review.explain.model import Source
from fabricc.review.explain.origins import key_description, path_of
from fabricc.review.explain.subject import LISTS, Subject
from tests.back.nos.feature_table import BASE, FEATURES, MODELS
from tests.front.planning.support import make_document
from tests.review.explain.fabrics import INVENTORIES, pick_subjects, plan_inventory
from tests.review.explain.support import assert_formulas_hold, is_page, known_of

if TYPE_CHECKING:
    from fabricc.fabric.vocabulary import Reason
    from fabricc.review.explain.model import Statement

OF_REVIEWS = {
    "device/model", "device/platform", "device/drained", "link[*]", "link[*] left", "bgp/neighbor[*] beside",
    "bgp/neighbor[*] gone",
    "interface[*]/port", "interface[*]/peer", "interface[*]/cable/length_m", "interface[*]/cable/medium", "text",
    "text/ended[*]", "text/harmless", "text/vouched"}  # fmt: skip
"""Facts that a review adds; no file states them, so nobody explains them."""
WORD = re.compile(r"\{[a-z_]+\}")


def example_path(path: str) -> str:
    """A path that is declared so; lists of prefixes have their reasons by name."""
    return path.replace("prefix_list[*]", "prefix_list[OWN-V4]").replace("*", "x").replace("#", "10")


def find_reasons(nos: str) -> list[Reason]:
    """Every reason that rows, families and ports outside the fabric have."""
    words = vocabulary_of(nos)
    rows = [words.row(path) for path in (*map(example_path, words.rows), *words.families)]
    return [words.outside, *(row.reason for row in rows if row.reason)]


@pytest.mark.parametrize("nos", ["host", *BUILT_IN])
def test_every_declared_fact_has_a_rule(nos: str) -> None:
    words = vocabulary_of(nos)
    silent = {path for path in words.rows if words.row(example_path(path)).reason is None}
    assert silent - OF_REVIEWS == set()


def has_rule_and_origin(statement: Statement) -> bool:
    """Return whether a statement has its rule and its origin."""
    return bool(
        statement.rule
        and "{" not in statement.rule
        and (statement.origins or statement.formulas or statement.docs)
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("meta-24k", "hpn-dual-plane-pod")))
        for name in INVENTORIES
    ],
)
@pytest.mark.spread
def test_every_fact_of_an_inventory_is_explained(name: str) -> None:
    known = plan_inventory(name)
    explainer = Explainer(known)
    for subject in pick_subjects(known):
        for path, value in subject.planned.items():
            statement = explainer.fact(subject, path)
            assert has_rule_and_origin(statement), statement
            assert (statement.value, statement.planned) == (str(value), None)
            assert_formulas_hold(statement)
            for origin in statement.origins:
                assert origin.position is None or known.snippet(origin.position), origin


def test_undeclared_fact_is_explained_as_unknown() -> None:
    known = known_of(make_document())
    tor = next(pick_subjects(known))
    theirs = Subject(known, tor.at, tor.device, {"theirs/thing": "on"}, tor.waist)
    statement = Explainer(known).fact(theirs, "theirs/thing")
    assert (statement.value, statement.origins) == ("on", ())
    assert "does not come with fabricc" in statement.rule


def test_the_last_step_of_a_worksheet_gives_the_threshold() -> None:
    known = plan_inventory("superpod-b200-4su")
    explainer = Explainer(known)
    last = {"headroom/xoff_bytes": "xoff", "headroom/xon_bytes": "xon", "headroom/size_bytes": "size"}
    last |= {
        "queue[3]/ecn_min_bytes": "Kmin",
        "queue[3]/ecn_max_bytes": "Kmax",
        "queue[3]/ecn_max_percent": "Pmax",
    }
    for subject in pick_subjects(known):
        for port in subject.ports:
            for leaf, label in last.items():
                path = f"interface[{port}]/{leaf}"
                if path in subject.planned:
                    steps = {row.label: row.value for row in explainer.fact(subject, path).steps}
                    assert steps[label] == subject.planned[path]


@pytest.mark.parametrize("cores", [False, True])
def test_a_prefix_limit_follows_from_the_switches_that_can_announce(cores: bool) -> None:
    three = {"spines": {"units_per_pod": 2}, "cores": {"model": "sn5400", "nos": "frr"}} if cores else {}
    for hosts in (16, 40, 64):
        gpus = {"model": "dgx-b200", "hosts": hosts, "hosts_per_unit": 8}
        known = known_of(make_document(gpus=gpus, **three))
        explainer = Explainer(known)
        for subject in pick_subjects(known):
            for key in subject.sessions:
                statement = explainer.fact(subject, f"bgp/neighbor[{key}]/maximum_prefixes")
                limit = subject.planned[f"bgp/neighbor[{key}]/maximum_prefixes"]
                assert statement.steps[-1].value == limit
                assert statement.formulas or cores or "of a ToR" in statement.steps[-1].source
                for formula in statement.formulas:
                    assert limit == max(128, power_of_two(2 * int(formula.value)))


@pytest.mark.parametrize("nos", ["host", *BUILT_IN])
def test_rows_name_what_there_is(nos: str) -> None:
    known = known_of(make_document())
    labels = {row.label for sheet in list_worksheets(known.spec, known.fabric) for row in sheet.rows}
    for rule in find_reasons(nos):
        assert rule.formula in ("", *FORMS)
        assert not rule.docs or "{nos}" in rule.docs or is_page(rule.docs), rule.docs
        assert all(key in LISTS for key in rule.keys if key.startswith("@"))
        for key in rule.keys:
            if not key.startswith("@"):
                assert key_description(
                    path_of(
                        WORD.sub(
                            "x",
                            key.replace("{user}", "0")
                            .replace("{snmp_user}", "0")
                            .replace("{pool}", "hosts")
                            .replace("{six}", ""),
                        )
                    )
                ), key
        wanted = compile_patterns(rule.steps)
        assert not rule.steps or any(wanted.fullmatch(label) for label in labels), rule.steps


def test_a_value_is_traced_to_the_line_or_default_that_decided_it() -> None:
    text = make_document(mtu={"switch": 9216}, overrides={"su001-tor1a": {"ports": {"swp1": {"cable_m": 3}}}})
    known = known_of(text)
    explainer = Explainer(known)
    tor = next(pick_subjects(known))
    output = explainer.fact(tor, "interface[swp1]/mtu").origins[0]
    assert (output.source, output.key, output.snippet) == (Source.SPEC, "mtu.switch", '"switch": 9216')
    default = explainer.fact(tor, "bgp/hold_s").origins[0]
    assert (default.source, default.key, default.value) == (Source.DEFAULT, "routing.hold_s", "9")
    fixed = explainer.fact(tor, "bgp/multipath_relax").origins[0]
    assert fixed.source is Source.FIXED
    pinned = explainer.fact(tor, "bgp/asn").origins[-1]
    assert (pinned.source, pinned.key) == (Source.LOCK, "stride nic_port")
    cable = explainer.fact(tor, "interface[swp1]/headroom/cable_m")
    assert cable.origins[0].key == "overrides.su001-tor1a.ports.swp1.cable_m"
    assert "frr does not express it" in cable.rule


def test_a_value_that_the_system_holds_otherwise_shows_both() -> None:
    tier = {"model": dict(MODELS)["junos"], "nos": "junos"}
    known = known_of({**BASE, **FEATURES["ECN marking"], "tors": tier, "spines": tier})
    tor = next(pick_subjects(known))
    path = next(
        path for path in tor.planned if path.endswith("/queue[3]/scheduler")
    )  # of what strict ones leave
    port = path.removeprefix("interface[").partition("]")[0]
    statement = Explainer(known).fact(tor, path)
    assert (statement.waist, statement.value) == ("dwrr 90", "dwrr 85")
    explanation = explain_facts(Explainer(known), tor, port, "scheduler")
    assert f"  computed  {statement.waist}; held as {statement.value}" in [
        line.text for line in explanation_lines(explanation)
    ]


def test_link_local_setting_comes_from_the_host_system() -> None:
    reason = vocabulary_of("host").row("interface[rail0]/link_local").reason
    assert reason
    assert reason.keys == ("@os",)


def test_buffers_left_to_the_platform_follow_from_no_step_of_the_worksheet() -> None:
    reason = vocabulary_of("nxos").row("interface[Ethernet1/1]/headroom/default_to_m").reason
    assert reason
    assert not reason.steps
