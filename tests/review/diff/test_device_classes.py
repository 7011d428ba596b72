"""One device of a class speaks for the others: the review is the one that comparing every device gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.review.diff import run
from fabricc.review.diff.device_classes import device_classes
from fabricc.review.diff.inputs import open_inputs
from fabricc.review.diff.run import compare_device

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import DeviceDiff
    from fabricc.review.diff.sides import Side
    from tests.review.diff.conftest import Bench, Edit

POD, ZONE, LAB = "superpod-b200-4su", "rack-zone-512", "lab-smallest"
TIMERS = "{family: dual}\nrouting: {keepalive_s: 5, hold_s: 15}\nmtu: {host: 8000}"
THREE_TIERS = """\
cluster: small
gpus: {model: dgx-h100, hosts: 32, hosts_per_unit: 4}
tors: {model: 7060x6-64pe, nos: eos}
spines: {model: 7060x6-64pe, nos: eos, count: 2, units_per_pod: 2, uplink_gbps: 400}
cores: {model: 7060x6-64pe, nos: eos}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
management: {network: 172.16.0.0/16}
"""
DRAIN = "overrides: {rack003-tor1a: {drain: true, cable_m: 5}}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inventory", "edits", "same", "alike"),
    [
        (LAB, [("dscp: 26", "dscp: 34")], "", True),
        (POD, [("sonic-202505", "sonic-202411")], "", True),
        (ZONE, [("length_m: 40", "length_m: 120")], "", True),
        (ZONE, [("dscp: 26", "dscp: 34")], DRAIN, True),
        (
            ZONE,
            [("{family: dual}", "{family: dual}\nrouting: {keepalive_s: 5, hold_s: 15}\nmtu: {host: 8000}")],
            "",
            True,
        ),
        (ZONE, [("{family: dual}", "{family: dual}\nrouting: {asn_base: 4210000000}")], "", False),
    ],
)
def test_classes_change_nothing_but_the_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, inventory: str, edits: list[Edit], same: str, alike: bool
) -> None:
    base = bench.spec(inventory, "base", more=same)
    head = bench.spec(inventory, "head", *edits, more=same)
    with open_inputs(base, head, None, None) as sides:
        assert bool(device_classes(sides.base, sides.head)) is alike
        quick = run.compare_sides(sides.base, sides.head, sides.context, 1)
        monkeypatch.setattr(run, "device_classes", lambda *_: {})
        thorough = run.compare_sides(sides.base, sides.head, sides.context, 1)
    assert quick.differs
    assert quick == thorough


@pytest.mark.spread
@pytest.mark.parametrize("kind", ["host", "spine", "core"])
def test_one_of_a_class_speaks_for_the_ports_that_a_cable_change_disturbs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Some ports of a device, and with them some of its sessions and rails: one device of each class is compared."""
    compared: list[str] = []

    def counting(base: Side, head: Side, name: str) -> DeviceDiff | None:
        compared.append(name)
        return compare_device(base, head, name)

    base, head = tmp_path / "base.yaml", tmp_path / "head.yaml"
    base.write_text(THREE_TIERS, encoding="utf-8")
    head.write_text(f"{THREE_TIERS}cables: {{{kind}: {{length_m: 1}}}}\n", encoding="utf-8")
    with open_inputs(base, head, None, None) as sides:
        alike = device_classes(sides.base, sides.head)
        monkeypatch.setattr(run, "compare_device", counting)
        quick = run.compare_sides(sides.base, sides.head, sides.context, 1)
        monkeypatch.setattr(run, "device_classes", lambda *_: {})
        requested, compared = compared, []
        thorough = run.compare_sides(sides.base, sides.head, sides.context, 1)
    assert quick.differs
    assert quick == thorough
    assert len(requested) == len(compared) - sum(map(len, alike.values()))
    assert 4 * len(requested) <= len(compared)
