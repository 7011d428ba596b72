"""Devices and ports: their own numbers, their counts, and facts chosen by a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.fabric.model import Direction, Switch
from fabricc.front.planning.topology.strides import power_of_two
from fabricc.review.explain.devices import (
    explain_device,
    explain_facts,
    explain_port,
    explain_spines,
    explain_uplinks,
)
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.model import SubjectError
from fabricc.review.explain.questions import explain_name, subject_of
from tests.front.planning.support import make_document
from tests.front.planning.test_shapes import SHAPES
from tests.review.explain.fabrics import INVENTORIES, pick_subjects, plan_inventory
from tests.review.explain.support import assert_formulas_hold, known_of
from tests.review.explain.test_addresses import uneven_spec

if TYPE_CHECKING:
    from fabricc.review.explain.origins import PlanSources


@pytest.fixture(scope="module", params=INVENTORIES)
def known(request: pytest.FixtureRequest) -> PlanSources:
    return plan_inventory(request.param)


def test_a_device_is_explained_by_its_own_numbers(known: PlanSources) -> None:
    explainer = Explainer(known)
    for subject in pick_subjects(known):
        explanation = explain_device(explainer, subject)
        assert explanation.subject == subject.device.name
        values = {statement.name: statement.value for statement in explanation.statements}
        if not isinstance(subject.device, Switch):
            assert values == {"name": subject.device.name}
            continue
        assert values["bgp/asn"] == str(subject.device.bgp.asn)
        assert values["management/address"] == subject.device.management.address
        assert subject.device.bgp.router_id in " ".join(values.values())
        for statement in explanation.statements:
            assert_formulas_hold(statement)


def test_a_tray_is_explained_with_its_rack_and_nvlink_domain() -> None:
    known = plan_inventory("gb200-nvl72-su")
    details = dict(explain_name(known, "a03-host07").details)
    assert (details["rack"], details["NVLink domain"]) == ("a03", "a03")


def test_the_counts_are_those_of_the_plan(known: PlanSources) -> None:
    tor = known.fabric.switch(next(known.fabric.switch_ids()))
    up = [port for port in tor.ports if port.direction is Direction.UP]
    assert explain_uplinks(known).value == str(len(up))
    assert_formulas_hold(explain_uplinks(known))
    per_plane = len({port.peer.device for port in up if port.peer})
    assert explain_spines(known).value == str(per_plane)
    steps = {row.label: row.value for row in explain_uplinks(known).steps}
    assert steps.get("uplinks that it needs", steps.get("requested uplinks", 0)) <= len(up)


def test_uplinks_are_explained_by_the_hosts_of_their_own_tor() -> None:
    known = known_of(make_document(gpus=uneven_spec(4), spines={"count": 4}))
    assert known.fabric.tor_links == (1, 2)
    for group, own in enumerate(known.fabric.tor_links):
        reported = explain_uplinks(known, group)
        assert_formulas_hold(reported)
        steps = {row.label: row.value for row in reported.steps}
        assert reported.value == str(4 * own) == str(steps["uplinks that it needs"])
        assert steps["to hosts, with every slot taken"] == 400 * 4 * own
        assert (steps.get("links to each spine"), steps.get("positions kept for each spine")) == (
            (None, None) if own == 2 else (1, 2)
        )


def test_the_maximum_of_paths_follows_from_its_figures(known: PlanSources) -> None:
    subject = next(pick_subjects(known))
    steps = [row.value for row in Explainer(known).fact(subject, "bgp/maximum_paths").steps]
    of_tor, of_spine, stride, held, planned = map(int, steps)
    paths = max(of_tor, of_spine, known.fabric.shape.links_per_spine)
    assert planned == min(held, max(64, power_of_two(paths), stride)) == subject.planned["bgp/maximum_paths"]


def test_a_port_is_explained_with_all_that_is_stated_of_it(known: PlanSources) -> None:
    explainer = Explainer(known)
    for subject in pick_subjects(known):
        name = next(iter(subject.ports))
        explanation = explain_port(explainer, subject, name)
        reported = {statement.name for statement in explanation.statements}
        assert {path for path in subject.planned if path.startswith(f"interface[{name}]/")} <= reported
        peer = subject.ports[name].peer
        assert peer is None or dict(explanation.details)["far end"] == f"{peer.device} {peer.port}"


KNOWN = known_of(make_document())


def test_a_word_or_a_path_chooses_facts() -> None:
    whole = explain_name(KNOWN, "su001-tor1a", ["bgp/hold_s"])
    assert [statement.name for statement in whole.statements] == ["bgp/hold_s"]
    timers = explain_name(KNOWN, "su001-tor1a", ["HOLD"])
    assert "bgp/hold_s" in [statement.name for statement in timers.statements]
    port = explain_name(KNOWN, "su001-tor1a", ["swp1", "mtu"])
    assert port.subject == "su001-tor1a:swp1 mtu"


def test_explain_covers_facts_that_a_system_omits() -> None:
    subject = subject_of(KNOWN, next(KNOWN.fabric.switch_ids()))
    explanation = explain_facts(Explainer(KNOWN), subject, "swp1", "xoff")
    (statement,) = explanation.statements
    assert statement.value == str(subject.waist["interface[swp1]/headroom/xoff_bytes"])
    assert statement.rule.endswith("frr does not express it.")
    assert statement.steps[-1].label == "xoff"


@pytest.mark.parametrize(
    "name", ["su001-tor1", "SU001-TOR1A", "", "10.0.0.0/99", "su001-tor1a:swp999", "fe80::zz"]
)
def test_a_name_that_nothing_has_is_a_diagnostic(name: str) -> None:
    with pytest.raises(SubjectError) as refused:
        explain_name(KNOWN, name)
    assert [diagnostic.code for diagnostic in refused.value.diagnostics] == ["FAB9270"]
    assert refused.value.diagnostics[0].help


@pytest.mark.parametrize("name", SHAPES)
def test_devices_of_every_shape_are_explained(name: str) -> None:
    known = known_of(SHAPES[name])
    explainer = Explainer(known)
    for subject in pick_subjects(known):
        explanation = explain_device(explainer, subject)
        assert explanation.subject == subject.device.name
        for statement in explanation.statements:
            assert_formulas_hold(statement)
        if isinstance(subject.device, Switch) and subject.device.tier == "tor":
            up = [port for port in subject.device.ports if port.direction is Direction.UP]
            assert explain_uplinks(known).value == str(len(up))
