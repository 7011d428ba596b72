"""The parts of the invariants by themselves: sorting blocks, finding cycles, following policy, declaring ratios."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from ipaddress import ip_network
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back import nos
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.front.spec.device_model import Acceptance
from fabricc.proof.invariants import Survey
from fabricc.proof.invariants.contract import Contracts
from fabricc.proof.invariants.outside import Kind, follow_all
from fabricc.proof.invariants.policy import LEARNED, Clause, NeighborPolicy, Policy, Route
from fabricc.proof.invariants.prefixes import _BLOCK, parse_block
from fabricc.proof.invariants.rules import Ratio, declared_ratios, soften_breaches
from fabricc.proof.invariants.transit import find_cycle
from fabricc.proof.invariants.view import make_view
from fabricc.rules.census import RULES_OF_THE_WHOLE, Census, FabricInputs, changed_attributes
from fabricc.rules.overlaps import overlapping_blocks
from tests.front.planning.support import make_document, spec_of
from tests.proof.fabrics import make_fabric

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.proof.invariants.clos import SwitchDigest

PREFIXES = st.builds(
    lambda value, length: str(ip_network((value << 24, length), strict=False)),
    st.integers(0, 255),
    st.integers(4, 12),
)


def pack_text(text: str) -> bytes:
    found = parse_block(text)
    return _BLOCK.pack(found.family, found.first.to_bytes(16), found.length, 1)


@given(st.lists(PREFIXES, max_size=8))
def test_sorting_finds_an_overlap_exactly_when_some_pair_has_one(prefixes: list[str]) -> None:
    owners = [(f"d{n}", "f", pack_text(text)) for n, text in enumerate(prefixes)]
    pairs = combinations([ip_network(text) for text in prefixes], 2)
    assert bool(list(overlapping_blocks(owners))) == any(a.overlaps(b) for a, b in pairs)


@pytest.mark.parametrize("text", ["10.0.0.1/31", "fd00::1/127", "192.0.2.0/24", "::/0"])
def test_blocks_read_as_the_standard_library_reads_them(text: str) -> None:
    network = ip_network(text, strict=False)
    assert str(parse_block(text)) == str(network)
    assert parse_block(text).last == int(network[-1])


EDGES = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14)


@given(EDGES)
def test_a_cycle_is_found_exactly_when_there_is_one(edges: set[tuple[int, int]]) -> None:
    graph: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for a, b in edges:
        graph.setdefault((a, a), set()).add((b, b))
    found = find_cycle(graph)
    for at, channel in enumerate(found):
        assert found[(at + 1) % len(found)] in graph[channel]
    reach = set(edges)
    for middle in range(6):
        reach |= {(a, d) for a, b in reach if b == middle for c, d in reach if c == middle}
    assert bool(found) == any(a == b for a, b in reach)


def make_policy(**changes: Any) -> Policy:
    maps = {
        "OUT": (
            Clause(10, False, "", "ABOVE", "", 1),
            Clause(20, True, "OWN", "", "65000:7", 2),
        )
    }
    lists = {"OWN": ("own 4 27", "10.128.0.0/12 ge 32 le 32")}
    base = Policy(
        0, 0, -1, False, (), maps, lists, {"ABOVE": "65000:1"}, (parse_block("10.0.0.0/27"),), "tor", "f"
    )
    return replace(base, **changes)


@pytest.mark.parametrize(
    ("prefix", "own", "communities", "passes"),
    [
        ("10.0.0.0/27", True, (), True),
        ("10.0.0.0/27", False, (), False),
        ("10.0.0.0/28", True, (), False),
        ("10.128.7.7/32", False, (), True),
        ("10.128.7.0/31", False, (), False),
        ("10.128.7.7/32", False, ("65000:1",), False),
        ("10.128.7.7/32", False, ("65000:2",), True),
    ],
)
def test_a_route_map_decides_by_its_first_matching_step(
    prefix: str, own: bool, communities: tuple[str, ...], passes: bool
) -> None:
    result = make_policy().apply("OUT", Route(parse_block(prefix), own, frozenset(communities)))
    assert (result is not None) == passes
    if result:
        assert "65000:7" in result[0]
        assert result[1] is not None
        assert result[1].sequence == 20


def test_a_map_that_is_missing_permits_everything_so_that_no_route_is_forgotten() -> None:
    assert make_policy().apply("NOPE", Route(parse_block("0.0.0.0/0"), False, frozenset())) == (
        frozenset(),
        None,
    )


EXPRESSION = {
    "FILTER": (Clause(10, False, "", "ABOVE", "", 1, LEARNED), Clause(20, True, "", "", "65000:9", 2)),
    "SELECT": (Clause(10, True, "OWN", "", "65000:8", 3), Clause(20, False, "", "", "", 4)),
}


@pytest.mark.parametrize(
    ("prefix", "own", "communities", "passes"),
    [
        ("10.128.7.7/32", False, (), True),
        ("10.128.7.7/32", False, ("65000:1",), False),
        ("10.0.0.0/27", True, ("65000:1",), True),
        ("10.99.0.0/16", False, (), False),
    ],
)
def test_policies_of_an_expression_must_all_permit_a_route(
    prefix: str, own: bool, communities: tuple[str, ...], passes: bool
) -> None:
    held = make_policy(maps=EXPRESSION)
    result = held.apply("FILTER && SELECT", Route(parse_block(prefix), own, frozenset(communities)))
    assert (result is not None) == passes
    if result:
        assert {"65000:8", "65000:9"} <= result[0]


@pytest.mark.parametrize(
    ("exports", "followed"),
    [("FILTER && SELECT", True), ("FILTER SELECT", False), ("FILTER || SELECT", False), ("FILTER", True)],
)
def test_chains_and_other_expressions_are_not_followed(exports: str, followed: bool) -> None:
    held = make_policy(maps=EXPRESSION, stances=(NeighborPolicy("up", frozenset({4}), "", exports, True),))
    assert held.followed is followed


def make_kind(tier: int, name: str, asns: set[int], up: set[int], down: set[int], **changes: Any) -> Kind:
    both = [NeighborPolicy(d, frozenset({4}), "", "", True) for d, to in (("up", up), ("down", down)) if to]
    held = make_policy(tier=tier, name=name, maps={}, stances=tuple(both), **changes)
    return Kind(held, len(asns), [f"{name}{n}" for n in range(len(asns))], asns, {"up": up, "down": down})


def test_a_default_route_from_above_turns_traffic_round() -> None:
    tors = make_kind(0, "tor", {1, 2}, {1}, set())
    spines = make_kind(1, "spine", {9}, set(), {0}, originates=(parse_block("0.0.0.0/0"),))
    assert set(follow_all([tors, spines]).covering) == {0}


@pytest.mark.parametrize(("spine_asns", "valley"), [({9}, False), ({8, 9}, True)])
def test_without_filters_only_a_shared_asn_keeps_routes_valley_free(
    spine_asns: set[int], valley: bool
) -> None:
    tors, spines = (
        make_kind(0, "tor", {1, 2}, {1}, set()),
        make_kind(1, "spine", spine_asns, set(), {0}, originates=()),
    )
    result = follow_all([tors, spines])
    assert bool(result.valleys) == valley
    assert bool(find_cycle(result.dependencies)) == valley


def test_the_fabrics_function_is_that_of_most_devices() -> None:
    right, wrong = bytes([3] * 128), bytes([3] * 26 + [255] + [3] * 101)
    contracts = Contracts()
    for name in ("a", "b", "c"):
        contracts.add(name, [(right, "f", 1)])
    contracts.add("d", [(wrong, "g", 7)])
    (finding,) = contracts.findings()
    assert (finding.file, finding.line) == ("g", 7)
    assert "d: DSCP 26 is in no PFC priority, elsewhere in PFC priority 3" in finding.message


def test_pinned_uplinks_declare_no_ratio_unless_it_is_written() -> None:
    wanted = {"model": "sn5400", "nos": "frr", "uplinks": 16}
    assert declared_ratios(spec_of(make_document(tors=wanted))) == {}
    written = declared_ratios(spec_of(make_document(tors={**wanted, "oversubscription": 1.5})))
    assert written == {0: Ratio(Fraction(3, 2))}
    spared = declared_ratios(spec_of(make_document(tors={**wanted, "n_minus_1": True})))
    assert spared == {0: Ratio(Fraction(1), n_minus_1=True)}
    assert declared_ratios(spec_of(make_document())) == {0: Ratio(Fraction(1))}


def test_only_accepted_invariants_are_softened() -> None:
    spec = replace(
        spec_of(make_document()), accept=(Acceptance("FAB6204", "repair"), Acceptance("FAB6001", "no"))
    )
    found = [Diagnostic(code, Severity.ERROR, "m") for code in ("FAB6204", "FAB6210", "FAB6001")]
    assert [d.severity for d in soften_breaches(found, spec)] == [
        Severity.WARNING,
        Severity.ERROR,
        Severity.ERROR,
    ]


def survey_fabric(built: Fabric) -> Survey:
    """Return what is seen of a fabric's switches, each read from its own files."""
    survey = Survey()
    for switch_id in built.switch_ids():
        switch = built.switch(switch_id)
        back_end = nos.load(switch.nos)
        list(
            survey.add_switch(
                make_view(switch, back_end.read(back_end.render(switch))), f"switches/{switch.name}"
            )
        )
    return survey


class Watched:
    """A digest that notes which of its attributes are read."""

    def __init__(self, digest: SwitchDigest, read: set[str]) -> None:
        self._digest, self._read = digest, read

    def __getattr__(self, name: str) -> Any:
        self._read.add(name)
        return getattr(self._digest, name)


@pytest.mark.parametrize("number", range(len(RULES_OF_THE_WHOLE)))
def test_fabric_rules_read_only_their_declared_attributes(number: int) -> None:
    built = make_fabric()
    census = Census()
    census.add(survey_fabric(built))
    attributes, rule = RULES_OF_THE_WHOLE[number]
    read: set[str] = set()
    watched: Any = [Watched(digest, read) for digest in sorted(census.switches, key=lambda s: s.name)]
    list(rule(FabricInputs(census, watched, built.counts(), 1, built.groups(), {0: Ratio(Fraction(1))})))
    assert not attributes or read <= attributes | {"name", "file", "line"}


def test_digests_differ_by_facts_and_not_by_places() -> None:
    built = make_fabric()
    survey = Survey()
    switch = built.switch(next(iter(built.switch_ids())))
    back_end = nos.load(switch.nos)
    list(survey.add_switch(make_view(switch, back_end.read(back_end.render(switch))), "switches/x"))
    (digest,) = survey.switches
    contracts = tuple((*contract[:2], 9) for contract in digest.contracts)
    elsewhere = digest._replace(line=digest.line + 1, contracts=contracts)
    assert not changed_attributes([digest], [elsewhere])
    assert changed_attributes([digest], [digest._replace(asn=1, detect_ms=1)]) == {"asn", "detect_ms"}
    assert changed_attributes([digest], [digest._replace(blocks=b"")]) == {"blocks"}


def test_a_census_that_was_kept_is_the_same() -> None:
    census = Census()
    assert pickle.loads(pickle.dumps(census)) == census
    census.add(survey_fabric(make_fabric()))
    assert len(census.switches) > 1
    for kept in (census, census.compact_census()):
        found = pickle.loads(pickle.dumps(kept))
        assert found == census
        assert {type(switch) for switch in found.switches} == {type(census.switches[0])}
