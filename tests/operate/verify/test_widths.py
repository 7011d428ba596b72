"""The closed form of ECMP widths agrees with routes computed one by one under the planned policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.operate.verify.widths import Widths
from tests.operate.lab import specs

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "priorities: {rdma: {dscp: 26, lossless: true}, default: {}}\n"
ACCEPT = (
    "accept: [{code: FAB5201, reason: a lab has no queues}, {code: FAB5202, reason: a lab has no queues}]\n"
)
LINUX = "{model: linux-16x100, nos: frr"


def spec_text(gpus: str, tors: str, spines: str = "", cores: str = "", more: str = "") -> str:
    text = f"cluster: small\ngpus: {{{gpus}}}\ntors: {LINUX}, {tors}}}\n"
    text += f"spines: {LINUX}, {spines}}}\n" if spines else ""
    return text + (f"cores: {LINUX}{cores}}}\n" if cores else "") + more + HEAD + ACCEPT


SPECS = {
    "two tiers": specs.TWO_TIERS.format(cluster="small", hosts=4, more=""),
    "two families": specs.TWO_TIERS.format(cluster="small", hosts=4, more="addressing: {family: dual}"),
    "parallel links": spec_text("model: lab-host, hosts: 4, hosts_per_unit: 2", "uplinks: 4", "count: 2"),
    "three tiers": specs.THREE_TIERS,
    "groups of cores": spec_text(
        "model: lab-host, hosts: 4, hosts_per_unit: 1",
        "uplinks: 4",
        "count: 4, uplinks: 2, units_per_pod: 2",
        ", count: 4",
    ),
    "rails of their own": spec_text(
        "model: lab-host, hosts: 4, hosts_per_unit: 2, wiring: rail-only", "uplinks: 2", "count: 2"
    ),
    "sets of rails": spec_text(
        "model: lab-host, hosts: 4, hosts_per_unit: 1",
        "uplinks: 2",
        "count: 2, uplinks: 2, units_per_pod: 2, rails: 1",
        ", count: 2",
    ),
    "no spines": spec_text(
        "model: lab-host, hosts: 2, hosts_per_unit: 2, wiring: rail-only", "reserved_ports: 0"
    ),
    "drained": specs.TWO_TIERS.format(cluster="small", hosts=4, more="overrides: {spine01a: {drain: true}}"),
}


@pytest.mark.parametrize("name", SPECS)
def test_widths_are_those_of_the_policy(tmp_path: Path, name: str) -> None:
    network = specs.network(specs.write(tmp_path, SPECS[name]))
    widths = Widths.of(network.fabric)
    assert widths is not None
    assert (widths.solved is not None) == (name == "drained")
    predicted = network.predict().widths
    for at in network.fabric.switch_ids():
        assert widths.count_next_hops(at) == predicted[network.fabric.name(at)]


def test_prefixes_have_classes(tmp_path: Path) -> None:
    fabric = specs.network(specs.write(tmp_path, specs.THREE_TIERS)).fabric
    widths = Widths.of(fabric)
    assert widths is not None
    at = next(fabric.switch_ids())
    kinds = {widths.kind(at, prefix): width for prefix, width in widths.count_next_hops(at).items()}
    assert kinds == {
        "ToR aggregates of its own pod": 2,
        "ToR loopbacks of its own pod": 2,
        "ToR aggregates of other pods": 2,
        "ToR loopbacks of other pods": 2,
        "spine loopbacks of its own pod": 1,
        "spine loopbacks of other pods": 2,
        "core loopbacks": 2,
    }
