"""A cable is no longer than its medium reaches at the speed of the ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.catalog.optics import find_reach, load_reaches
from fabricc.compiler.compiled import compile_spec
from tests.front.planning.support import make_document, planned

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic


def find_wrong_cables(model: str = "sn5600", **cables: dict[str, object]) -> list[Diagnostic]:
    """FAB3026 of a fabric of that switch: sn5600 has 400G on four lanes, sn4700 on eight."""
    switch = {"model": model, "nos": "frr"}
    gpus = {"hosts": 32, "hosts_per_unit": 16}
    result = planned(make_document(gpus=gpus, tors=switch, spines=switch, cables=cables))
    return [d for d in result.diagnostics if d.code == "FAB3026"]


@pytest.mark.parametrize(
    ("model", "kind", "medium", "fits", "beyond"),
    [
        ("sn5600", "host", "dac", 2, 3),
        ("sn4700", "host", "dac", 3, 4),
        ("sn5600", "spine", "mmf", 100, 120),
    ],
)
def test_the_reach_follows_the_speed_of_a_lane(
    model: str, kind: str, medium: str, fits: int, beyond: int
) -> None:
    assert find_wrong_cables(model, **{kind: {"medium": medium, "length_m": fits}}) == []
    (wrong,) = find_wrong_cables(model, **{kind: {"medium": medium, "length_m": beyond}})
    assert f"it reaches {fits} m (IEEE 802.3" in wrong.message
    assert wrong.severity.value == "warning"


def test_the_remedy_names_a_medium_that_reaches() -> None:
    (wrong,) = find_wrong_cables(host={"medium": "dac", "length_m": 5})
    assert wrong.help == "Use aec, or a cable of at most 2 m."
    assert find_wrong_cables(host={"medium": "aec", "length_m": 5}) == []


def test_faster_lanes_of_copper_never_reach_farther() -> None:
    metres = [row.metres for row in load_reaches()["dac"]]
    assert metres == sorted(metres, reverse=True)


def test_every_reach_has_a_source() -> None:
    assert all(row.source for rows in load_reaches().values() for row in rows)
    assert find_reach("dac", 400).metres == find_reach("dac", 200).metres


@pytest.mark.parametrize(
    ("host", "tor", "nos", "remedy"),
    [
        ("hgx-h200", "7220-h6-64", "sonic-202605", "`2x400/4` as its only 400G breakout"),
        ("hgx-h200", "own", "sonic-202605", ""),
        ("gb300-nvl72-2x400", "sn6600", "sonic-202605", "`extends: sn6600`"),
        ("hgx-h200", "7220-h6-128", "sonic-202605", ""),
        ("hgx-h200", "sn4700", "sonic-202505", ""),
        ("lab-host", "linux-16x100", "frr", ""),
    ],
)
def test_lanes_of_other_speeds_without_a_part_between_them_are_reported(
    tmp_path: Path, host: str, tor: str, nos: str, remedy: str
) -> None:
    cages = "[{first: 1, count: 64, lanes: 8, breakouts: [1x800/8, 2x400/4], assumed: true}]"
    (tmp_path / "own.yaml").write_text(
        f"switches: {{own: {{extends: 7220-h6-64, title: Own, cages: {cages}}}}}\n"
    )
    path = tmp_path / "cluster.yaml"
    path.write_text(
        f"cluster: z\ngpus: {{model: {host}, hosts: 4, hosts_per_unit: 4, rails_per_tor: 0}}\n"
        f"tors: {{model: {tor}, nos: {nos}}}\npriorities: {{default: {{}}}}\ncatalog: [own.yaml]\n"
    )
    planned = compile_spec(path, gaps=False)
    found = [each for each in planned.diagnostics if each.code == "FAB3354"]
    assert planned.fabric is not None
    assert [each.severity for each in found] == ([Severity.WARNING] if remedy else [])
    assert all(remedy in each.help for each in found)
