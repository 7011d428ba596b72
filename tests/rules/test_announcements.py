"""A limit of prefixes leaves room for what the other ToRs announce, unless a switch above aggregates it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.rules import find_all
from fabricc.back import nos as back_ends
from fabricc.facts.statement import Tier
from fabricc.rules.announcements import LIMIT
from fabricc.rules.records import Summary
from fabricc.rules.registry import run_fabric_rules
from fabricc.rules.rule import Switches
from tests.audit import ours

if TYPE_CHECKING:
    from pathlib import Path

ABOVE = {
    "nothing": ((), 1),
    "its own loopback": (("10.255.0.1/32",), 1),
    "an aggregate of the ToRs": (("10.1.0.0/16",), 0),
    "a default route": (("0.0.0.0/0",), 0),
}
"""Prefixes of the spine -> how many ToRs have too small a limit."""


def make_summary(tier: Tier, prefixes: tuple[str, ...], limit: tuple[int, str] | None = None) -> Summary:
    """Return the summary of a switch that announces prefixes."""
    return Summary(tier, None, "", (), prefixes, (), (), "", None, "", (), None, limit, False, ())


@pytest.mark.parametrize("case", ABOVE)
def test_a_limit_is_compared_with_the_prefixes_of_other_tors(case: str) -> None:
    prefixes, count = ABOVE[case]
    summaries = {f"lf{n}": make_summary(Tier.TOR, (f"10.1.{n}.0/24",)) for n in range(1, 5)}
    summaries["lf1"] = summaries["lf1"]._replace(limit=(2, "bgp/neighbor[10.66.0.0]/maximum_prefixes"))
    summaries["x01"] = make_summary(Tier.SPINE, prefixes)
    fabric = Switches(summaries, lambda _: summaries, lambda _: (), lambda _: None)
    found = [each.device for each in run_fabric_rules(fabric) if each.code == LIMIT]
    assert found == ["lf1"] * count


@pytest.mark.parametrize("planned", [False, True])
def test_tors_of_other_planes_announce_nothing_to_a_tor(*, planned: bool) -> None:
    limit = (2, "bgp/neighbor[10.66.0.0]/maximum_prefixes")
    planes = {"a": 3, "b": 4}
    switches = {
        f"lf{n}{plane}": make_summary(Tier.TOR, (f"10.1.{n}.0/24",), limit)
        for plane, tors in planes.items()
        for n in range(tors)
    }
    above = {f"x{plane}": make_summary(Tier.SPINE, ()) for plane in planes}
    fabric = Switches(
        switches | above,
        lambda name: [each for each in switches | above if each[-1] == name[-1] and each != name],
        lambda _: (),
        lambda _: None,
        planned=planned,
    )
    found = [each for each in run_fabric_rules(fabric) if each.code == LIMIT]
    assert [each.device for each in found] == [f"lf{n}b" for n in range(4)]
    assert all("3 other ToRs" in each.message for each in found)


PAIR = """\
cluster: pair
gpus: {model: dgx-b200, hosts: 2, hosts_per_unit: 2, rails_per_tor: 4}
tors: {model: linux-64x400, nos: frr, peer_links: 2}
priorities: {default: {}}
"""


@pytest.mark.parametrize(("limit", "count"), [(1, 2), (2, 0)])
def test_a_limit_is_compared_with_the_prefixes_of_the_joined_tor(
    tmp_path: Path, limit: int, count: int
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(PAIR)
    devices = {}
    for switch in ours.switches_of(path):
        texts = back_ends.load("frr").render(switch)
        texts["frr.conf"] = re.sub(r"(maximum-prefix) \d+", rf"\1 {limit}", texts["frr.conf"])
        devices[switch.name] = ours.switch_device(switch.name, "frr", texts)
    found = [each for each in find_all(ours.infer_fabric(devices)) if each.code == LIMIT]
    assert len(found) == count
