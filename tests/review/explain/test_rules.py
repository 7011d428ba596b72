"""Every fact that any back end or host states has a rule, whose keys, figures, steps and pages there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos import BUILT_IN
from fabricc.front.planning.quality import worksheets
from fabricc.front.planning.strides import power_of_two
from fabricc.review.explain.closed_forms import FORMS
from fabricc.review.explain.devices import explain_facts
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.model import Source
from fabricc.review.explain.origins import description, path_of
from fabricc.review.explain.rules import rule_of, rules
from fabricc.review.explain.subject import LISTS, Subject
from fabricc.review.explain.text import lines
from tests.back.nos.feature_table import BASE, FEATURES, MODELS
from tests.front.planning.support import document
from tests.review.explain.fabrics import INVENTORIES, host_facts, inventory, samples, settings_of, subjects
from tests.review.explain.support import assert_formulas_hold, is_page, known_of

if TYPE_CHECKING:
    from fabricc.review.explain.model import Statement

KEY = re.compile(r"\[[^\]]*\]")
WORD = re.compile(r"\{[a-z_]+\}")


@pytest.mark.parametrize("nos", BUILT_IN)
def test_every_fact_of_a_back_end_has_a_rule(nos: str) -> None:
    back_end = back_ends.load(nos)
    paths: set[str] = set()
    for switch in (*samples(nos), *settings_of(nos)):
        paths |= back_end.planned(switch).keys()
    for switch in samples(nos):
        paths |= back_end.read(back_end.render(switch)).facts.keys()
    assert len(paths) > 100
    assert [path for path in sorted(paths) if rule_of(path, "switch") is None] == []


def test_every_fact_of_a_host_has_a_rule() -> None:
    paths = {path for facts in host_facts() for path in facts}
    assert len(paths) > 100
    assert [path for path in sorted(paths) if rule_of(path, "host") is None] == []


def test_no_row_is_hidden_by_the_rows_above_it() -> None:
    paths: dict[tuple[str, str], str] = {}
    for nos in BUILT_IN:
        back_end = back_ends.load(nos)
        for switch in (*samples(nos), *settings_of(nos)):
            paths |= {(KEY.sub("", path), "switch"): path for path in back_end.planned(switch)}
    for facts in host_facts():
        paths |= {(KEY.sub("", path), "host"): path for path in facts}
    lists = {("", name): f"prefix_list[{name}-V4]/0" for name in ("FABRIC", "CONNECTED", "OWN")}
    seen = {id(rule_of(path, kind)) for (_, kind), path in paths.items()}
    seen |= {
        id(rule_of(path, "switch")) for path in (*lists.values(), "link_retry", "management/access[ssh/ipv6]")
    }
    seen.add(id(rule_of("interface[Ethernet99]/mtu", "service")))
    assert [rule.pattern.pattern for rule in rules() if id(rule) not in seen] == []


def shown(statement: Statement) -> bool:
    """Whether a statement says by which rule it is so, and from where."""
    return bool(
        statement.rule
        and "{" not in statement.rule
        and (statement.origins or statement.formulas or statement.docs)
    )


@pytest.mark.parametrize("name", INVENTORIES)
def test_every_fact_of_an_inventory_is_explained(name: str) -> None:
    known = inventory(name)
    explainer = Explainer(known)
    for subject in subjects(known):
        for path, value in subject.planned.items():
            statement = explainer.fact(subject, path)
            assert shown(statement), statement
            assert (statement.value, statement.planned) == (str(value), None)
            assert_formulas_hold(statement)
            for origin in statement.origins:
                assert origin.position is None or known.snippet(origin.position), origin


def test_a_fact_of_a_third_party_says_that_the_table_has_no_row_for_it() -> None:
    known = known_of(document())
    tor = next(subjects(known))
    theirs = Subject(known, tor.at, tor.device, {"theirs/thing": "on"}, tor.waist)
    statement = Explainer(known).fact(theirs, "theirs/thing")
    assert (statement.value, statement.origins) == ("on", ())
    assert "does not come with fabricc" in statement.rule


def test_the_last_step_of_a_worksheet_gives_the_threshold() -> None:
    known = inventory("superpod-b200-4su")
    explainer = Explainer(known)
    last = {"headroom/xoff_bytes": "xoff", "headroom/xon_bytes": "xon", "headroom/size_bytes": "size"}
    last |= {
        "queue[3]/ecn_min_bytes": "Kmin",
        "queue[3]/ecn_max_bytes": "Kmax",
        "queue[3]/ecn_max_percent": "Pmax",
    }
    for subject in subjects(known):
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
        known = known_of(document(gpus=gpus, **three))
        explainer = Explainer(known)
        for subject in subjects(known):
            for key in subject.sessions:
                statement = explainer.fact(subject, f"bgp/neighbor[{key}]/maximum_prefixes")
                limit = subject.planned[f"bgp/neighbor[{key}]/maximum_prefixes"]
                assert statement.steps[-1].value == limit
                assert statement.formulas or cores or "of a ToR" in statement.steps[-1].source
                for formula in statement.formulas:
                    assert limit == max(128, power_of_two(2 * int(formula.value)))


def test_the_table_names_what_there_is() -> None:
    known = known_of(document())
    labels = {row.label for sheet in worksheets(known.spec, known.fabric) for row in sheet.rows}
    for rule in rules():
        assert rule.formula in ("", *FORMS)
        assert not rule.docs or "{nos}" in rule.docs or is_page(rule.docs), rule.docs
        assert all(key in LISTS for key in rule.keys if key.startswith("@"))
        for key in rule.keys:
            if not key.startswith("@"):
                assert description(
                    path_of(
                        WORD.sub(
                            "x", key.replace("{user}", "0").replace("{pool}", "hosts").replace("{six}", "")
                        )
                    )
                ), key
        steps = rule.steps.pattern
        assert steps == "(?!)" or any(rule.steps.fullmatch(label) for label in labels), steps


def test_a_value_is_traced_to_the_line_or_default_that_decided_it() -> None:
    text = document(mtu={"switch": 9216}, overrides={"su001-tor1a": {"ports": {"swp1": {"cable_m": 3}}}})
    known = known_of(text)
    explainer = Explainer(known)
    tor = next(subjects(known))
    said = explainer.fact(tor, "interface[swp1]/mtu").origins[0]
    assert (said.source, said.key, said.snippet) == (Source.SPEC, "mtu.switch", '"switch": 9216')
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
    tor = next(subjects(known))
    path = next(
        path for path in tor.planned if path.endswith("/queue[3]/scheduler")
    )  # of what strict ones leave
    port = path.removeprefix("interface[").partition("]")[0]
    statement = Explainer(known).fact(tor, path)
    assert (statement.waist, statement.value) == ("dwrr 90", "dwrr 85")
    explanation = explain_facts(Explainer(known), tor, port, "scheduler")
    assert f"  computed  {statement.waist}; held as {statement.value}" in [
        line.text for line in lines(explanation)
    ]
