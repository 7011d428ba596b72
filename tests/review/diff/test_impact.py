"""Impacts: there is one for what back ends state, and a careful one for what nobody declares."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric import facts
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.review.diff.fact_impact import judge_statement, row_of, vocabulary_of
from fabricc.review.diff.model import Impact
from fabricc.review.diff.view import DeviceView, PortView, filtered_ports, host_view, switch_view
from tests.review.diff.conftest import INVENTORIES

UNKNOWN = "no rule describes it"
ETHERNET = sorted(
    spec.parent.name
    for spec in INVENTORIES.glob("*/cluster.yaml")
    if "fabric: infiniband" not in spec.read_text("utf-8")
)

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts


def view_subjects(view: DeviceView) -> set[str]:
    found = set()
    for path in view.facts:
        if path.startswith(STRUCTURE):
            continue
        word, role, _, rest = view.place(path)
        found.add(f"{word}[{role}]{rest}" if word else path)
    return found


@pytest.mark.parametrize("inventory", ETHERNET)
def test_every_fact_of_every_inventory_has_its_own_impact(inventory: str) -> None:
    fabric = compile_spec(INVENTORIES / inventory / "cluster.yaml").fabric
    assert fabric is not None
    stated: set[tuple[str, str]] = set()
    for place in fabric.kinds():
        switch = fabric.switch(place)
        view = switch_view(switch, back_ends.load(switch.nos).planned(switch), 1)  # type: ignore[arg-type]
        stated |= {(subject, switch.nos) for subject in view_subjects(view)}
    host = fabric.host(next(fabric.host_ids()))
    view = host_view(host, host_files.planned(host), 1)  # type: ignore[arg-type]
    stated |= {(subject, "host") for subject in view_subjects(view)}
    assert len(stated) > 100
    assert {
        (subject, nos) for subject, nos in stated if judge_statement(subject, "~", nos).why == UNKNOWN
    } == set()


@pytest.mark.parametrize("nos", ["host", *sorted(back_ends.list_names())])
def test_every_declared_fact_has_its_own_impact(nos: str) -> None:
    rows = [
        vocabulary_of(nos).row(path) for path in vocabulary_of(nos).rows if not path.startswith(STRUCTURE)
    ]
    assert len(rows) > 100
    assert {row.path for row in rows if "unknown" in row.impact.values()} == set()


def test_a_row_of_an_access_list_carries_no_traffic() -> None:
    assert judge_statement("acl[FABRICC-ACCESS]/rule[40]/source", "~", "cumulus").impact is Impact.NONE
    assert judge_statement("access[SSH]", "~", "sonic").impact is Impact.NONE


@pytest.mark.parametrize("nos", sorted(back_ends.list_names()))
def test_requested_settings_have_an_impact_on_every_system(nos: str) -> None:
    keyed = {
        "bgp/neighbor[": "x]/secret",
        "interface[": "x]/set_dscp",
        "static_route[": "x]",
        "tenant[": "x]",
    }
    for path in facts.SETTINGS:
        found = judge_statement(path + keyed.get(path, "x" if path.endswith("/") else ""), "~", nos)
        assert found.source
        assert found.why != UNKNOWN


def test_unknown_paths_are_rated_as_traffic_loss() -> None:
    assert judge_statement("flux/capacitor", "~", "sonic").impact is Impact.TRAFFIC_LOSS


@pytest.mark.parametrize(
    ("subject", "op", "nos", "impact"),
    [
        ("interface[up]/headroom/size_bytes", "~", "sonic", Impact.RELOAD),
        ("interface[up]/headroom/size_bytes", "~", "eos", Impact.TRAFFIC_LOSS),
        ("interface[host]/description", "~", "eos", Impact.NONE),
        ("interface[up]/ipv4", "~", "eos", Impact.SESSION_RESET),
        ("interface[host]/ipv4", "~", "eos", Impact.TRAFFIC_LOSS),
        ("session[up]/maximum_prefixes", "~", "frr", Impact.HITLESS),
        ("session[up]/remote_asn", "~", "frr", Impact.SESSION_RESET),
        ("link[down]", "+", "eos", Impact.HITLESS),
        ("link[down]", "-", "eos", Impact.TRAFFIC_LOSS),
        ("route_map[TO-UPSTREAM]/20", "~", "eos", Impact.HITLESS),
        ("management/ntp", "~", "eos", Impact.NONE),
        ("nccl/dscp", "~", "host", Impact.TRAFFIC_LOSS),
        ("platform/setting[tcam region ing-racl 256]", "+", "nxos", Impact.RELOAD),
    ],
)
def test_rules(subject: str, op: str, nos: str, impact: Impact) -> None:
    assert judge_statement(subject, op, nos).impact is impact


def test_a_list_of_ports_alone_disturbs_these_ports_alone() -> None:
    ports = {"e1": PortView("host", "h1", "rail0", 0), "e2": PortView("host", "h2", "rail0", 0)}
    facts: Facts = {"access_list[A]/0": "deny udp", "interface[e2]/access_list_in": "A"}

    def view(more: Facts, unread: tuple[str, ...] = ()) -> DeviceView:
        both = {**facts, **more}
        return DeviceView("t", "tor", "eos", "eos", "m", both, ports, {}, Fraction(1), unread=unread)

    assert filtered_ports("A", view({}), view({})) == [{"e2"}, {"e2"}]
    assert filtered_ports("A", view({}), view({"control_plane/access_list_in": "A"})) == []
    assert filtered_ports("A", view({}), view({}, ("class-map A",))) == []


def test_how_long_a_neighbor_is_remembered_is_not_reported_as_the_interval() -> None:
    reported = {path: row_of(path, "eos").words for path in ("lldp/interval_s", "lldp/hold_s")}
    assert reported == {"lldp/interval_s": "LLDP interval~s", "lldp/hold_s": "LLDP hold time~s"}
    assert "interval" not in row_of("lldp/hold_intervals", "frr").words
