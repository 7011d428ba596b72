"""A fault is found on one switch and on all switches; an untouched fabric has no findings."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from tests.audit.faults import routes
from tests.audit.faults.edits import replace
from tests.audit.faults.fabric import SYSTEMS, audit_altered, build_texts, tor_names
from tests.audit.faults.seeds import GROUPS, KINDS, WITH_HOSTS, name_findings, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = [(kind, system) for kind, (_, edits) in KINDS.items() for system in SYSTEMS if system in edits]
QUICK = [case for number, case in enumerate(CASES) if number % 5 == 0]
"""Every fifth case: each kind on about one system."""


def is_found(kind: str, system: str, scope: str) -> bool:
    """Plant a fault and return whether a warning or an error names a switch that has it."""
    planted = plant(kind, system, scope)
    if planted is None:
        return True
    return bool(name_findings(planted, audit_altered(system, planted.texts, hosts=kind in WITH_HOSTS)))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.spread
def test_an_untouched_fabric_is_silent(system: str) -> None:
    assert [each for each in audit_altered(system, {}) if each.severity is not Severity.NOTE] == []


@pytest.mark.spread
@pytest.mark.parametrize(("kind", "system"), QUICK)
def test_a_fault_on_all_switches_is_found(kind: str, system: str) -> None:
    assert is_found(kind, system, "all")


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["one", "tier", "all"])
@pytest.mark.parametrize(("kind", "system"), CASES)
def test_every_fault_is_found(kind: str, system: str, scope: str) -> None:
    if plant(kind, system, scope) is None:
        pytest.skip("a fault of several tiers")
    assert is_found(kind, system, scope)


MOVED = ("logins dropped first",)
"""Faults that move lines, and change none."""
PLACED = [
    ("announced without export", "frr"), ("BFD is not started", "frr"), ("a next hop that nobody has", "sonic"),
    ("import rejects all", "eos"), ("RDMA in a queue without PFC", "eos"), ("export rejects all", "nxos"),
    ("PFC of another priority", "junos"), ("RDMA in a lossy class", "junos"), ("no PFC to hosts", "nxos"),
    ("the default class is lossless", "nxos"), ("hosts kept out of BGP", "eos"), ("BFD kept from the CPU", "junos"),
    ("marking never happens", "junos"), ("hash seed of the spines", "nxos"),
    ("notifications without priority", "nxos"), ("log server of the fabric", "eos"),
    ("undefined load balancing", "junos"), ("inactive BFD", "junos"),
    ("RDMA in a queue without PFC", "junos"), ("sessions that do not notice failures", "eos"),
    ("an aggregate over other racks", "frr"), ("both ends of BFD wait", "frr"), ("half of the routes", "frr"),
    ("a confederation of nobody", "frr"), ("an undefined map of an aggregate", "frr"), ("an undefined VRF", "frr"),
    ("filter on sources of the fabric", "nxos"), ("links kept from the CPU", "junos"), ("inactive policy", "junos"),
    ("a role without an answer", "frr"), ("ports in a bridge", "frr"), ("a list of the other family", "frr"),
    ("all is denied first", "frr"), ("a default route of management", "frr"), ("a route onto a link", "frr"),
    ("spaces around a sign", "frr"),
    ("everything else is dropped", "frr"), ("sources of the fabric are dropped", "frr"),
    ("a port that ifupdown2 takes down", "frr"), ("slashes in the name", "frr"), ("BGP above a rate is dropped", "frr"),
    *((kind, "junos") for kind in (
        "headroom of one percent", "more than the whole buffer", "marking of TCP alone", "a misspelled session",
        "a misspelled section", "import by the next term", "import of strange prefixes", "an expression with nothing",
        "packets to the switch itself", "an own address as the next hop", "an empty password",
    )),
    ("a field that nothing reads", "sonic"), ("a table that nothing reads", "sonic"), ("a map of no name", "sonic"),
    ("rules of no list", "sonic"), ("no ARP", "sonic"),
    ("management is announced", "sonic"), ("own routes come back", "frr"), ("no priority", "sonic"),
    ("the own list at the import", "eos"), ("swapped policies", "junos"), ("PFC priority drops", "eos"),
]  # fmt: skip
"""Faults whose finding is not at the statement that has the wrong effect, but at the line that causes it."""
PLACED += [(kind, "frr") for kind, (_, edits) in routes.KINDS.items() if "frr" in edits and kind not in MOVED]


@pytest.mark.spread
@pytest.mark.parametrize(("kind", "system"), PLACED)
def test_a_fault_on_all_switches_is_found_at_its_line(kind: str, system: str) -> None:
    planted = plant(kind, system, "all")
    assert planted is not None
    found = audit_altered(system, planted.texts, hosts=kind in WITH_HOSTS)
    places = {(each.file, each.line) for each in name_findings(planted, found)}
    assert places & set(changed_lines(system, planted.texts))


def changed_lines(system: str, texts: dict[str, dict[str, str]]) -> Iterator[tuple[str, int]]:
    """Yield file and number of the lines that differ from those of the untouched files."""
    for name, files in texts.items():
        for file, text in files.items():
            old, new = build_texts(system)[name].get(file, "").split("\n"), text.split("\n")
            for tag, _, _, first, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
                if tag != "equal":
                    yield from ((f"{name}/{file}", number + 1) for number in range(first, end))


def test_every_kind_has_a_name_of_its_own() -> None:
    assert len(KINDS) == sum(map(len, GROUPS.values()))


@pytest.mark.spread
@pytest.mark.parametrize("system", ["frr"])
def test_a_length_that_keeps_every_aggregate_out_is_found_at_its_line(system: str) -> None:
    edit = replace(r"(FABRIC-V4 seq 5 permit \S+) ge 27 le 27", r"\1 ge 28 le 28", file="frr.conf")
    texts = {name: edit(dict(build_texts(system)[name])) for name in tor_names(system)}
    places = {(each.file, each.line) for each in audit_altered(system, texts) if each.code == "FAB6209"}
    assert places & set(changed_lines(system, texts))
