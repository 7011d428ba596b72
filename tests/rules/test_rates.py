"""The share of a queue with PFC is compared with equal weights and with queues that may drop, not with a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.facts import Reading
from fabricc.rules import protection
from fabricc.rules.planned import planned_statement
from fabricc.rules.registry import run_switch_rules
from fabricc.rules.sessions import sessions_of
from tests.audit.faults.fabric import spec_of

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value
    from fabricc.fabric.model import Switch


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Switch:
    """Return a ToR of a planned fabric."""
    spec = tmp_path_factory.mktemp("rates") / "cluster.yaml"
    spec.write_text(spec_of("eos"))
    fabric = compile_spec(spec).fabric
    return fabric.switch(next(iter(fabric.switch_ids())))


@pytest.mark.parametrize(
    ("weights", "small"),
    [
        ({3: 90, 0: 10}, False),
        ({3: 50, 0: 50}, False),
        ({3: 40, 0: 60}, True),
        ({3: 1, 0: 99}, True),
        ({3: 11, 0: 1, 1: 1, 2: 1, 4: 1, 5: 1, 6: 1, 7: 1}, False),
        ({3: 15, 4: 15, 0: 14, 1: 14, 2: 14, 5: 14, 6: 14}, False),
        ({3: 30, 0: 60, 1: 5, 2: 5}, False),
        ({3: 0, 0: 100}, True),
        ({3: 100}, False),
    ],
)
def test_a_queue_with_pfc_gets_no_less_than_with_equal_weights(
    switch: Switch, weights: dict[int, int], small: bool
) -> None:
    facts = back_ends.load(switch.nos).planned(switch)
    ports = {path.partition("]")[0] for path in facts if path.endswith("/pfc") and facts[path] == "3"}
    assert ports
    facts = {path: value for path, value in facts.items() if not path.endswith("]/scheduler")}
    for port in ports:
        facts |= {f"{port}]/queue[{queue}]/scheduler": f"dwrr {weight}" for queue, weight in weights.items()}
    statement = planned_statement(switch, Reading(facts), {})
    found = [
        each for each in run_switch_rules(statement, sessions_of(statement)) if each.code == protection.SLOW
    ]
    assert [each.group for each in found] == (["small share"] if small else [])


LIMITS = {
    ("qos_setting[shape rate]", "1 percent"): True,
    ("qos_setting[shape rate]", "60 percent"): False,
    ("qos_setting[shape rate]", "1000000"): True,
    ("queue[3]/shaping_percent", 10): True,
    ("queue[3]/shaping_percent", 100): False,
    ("queue[6]/shaping_percent", 5): False,
    ("queue[3]/scheduler", "dwrr 90 meter_type bytes pir 125000000"): True,
    ("queue[3]/scheduler", "dwrr 90 meter_type bytes pir 100000000000"): False,
    ("queue[3]/scheduler", "dwrr 90"): False,
    ("qos/setting[OUT c-out-8q-q3 shape]", "min 1 gbps max 1 gbps"): True,
    ("qos/setting[OUT c-out-8q-q3 shape]", "min 1 gbps max 390 gbps"): False,
    ("qos/setting[OUT c-out-8q-q6 shape]", "min 1 gbps max 1 gbps"): False,
}
"""Fact of a port, or of all, and its value -> whether RDMA may use less than half of a link."""


@pytest.mark.parametrize(("leaf", "value"), LIMITS)
def test_a_limit_leaves_half_of_the_link_to_rdma(switch: Switch, leaf: str, value: Value) -> None:
    facts = back_ends.load(switch.nos).planned(switch)
    ports = {path.partition("]")[0] for path in facts if path.endswith("/pfc") and facts[path] == "3"}
    for port in ports:
        facts[f"{port}]/speed_gbps"] = 400
        if not leaf.startswith("qos/"):
            facts[f"{port}]/{leaf}"] = value
    if leaf.startswith("qos/"):
        facts[leaf] = value
    statement = planned_statement(switch, Reading(facts), {})
    found = [
        each for each in run_switch_rules(statement, sessions_of(statement)) if each.code == protection.SLOW
    ]
    limited = LIMITS[leaf, value]
    assert [each.group for each in found if each.group == "rate limit"] == (["rate limit"] if limited else [])


@pytest.mark.parametrize(("size", "constant"), [(2, True), (4000, True), (8320, False), (1_421_638, False)])
def test_marking_leaves_room_for_a_packet(switch: Switch, size: int, constant: bool) -> None:
    facts = back_ends.load(switch.nos).planned(switch)
    paths = [path for path in facts if path.endswith("queue[3]/ecn_max_bytes")]
    assert paths
    facts |= dict.fromkeys(paths, size)
    statement = planned_statement(switch, Reading(facts), {})
    groups = {
        each.group
        for each in run_switch_rules(statement, sessions_of(statement))
        if each.code == protection.SLOW
    }
    assert ("constant marking" in groups) is constant
