"""One switch of another model in a tier: its own ports and buffers, the same links, and nobody else's bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.driver import build_tree
from fabricc.fabric.links import switch_links
from fabricc.fabric.model import Direction, Switch
from fabricc.paperwork.materials import list_materials
from fabricc.review.diff.model import Impact
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = {
    "sonic": ("sn5600", "sonic-202505", "7060x6-64pe"),
    "cumulus": ("sn5600", "cumulus", "sn5640"),
    "eos": ("7060x6-64pe", "eos", "7060dx5-64s"),
    "nxos": ("9364e-sg2", "nxos", "9332d-gx2b"),
    "junos": ("qfx5240-64od", "junos", "ptx10002-36qdd"),
    "frr": ("linux-16x100", "frr", "sn3700"),
}
"""System -> model of the tier, system with its release, and model of the single switch."""


def spec_file(folder: Path, nos: str, **more: Any) -> Path:
    model, system, _ = PAIRS[nos]
    gpus = {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 2, "rails_per_tor": 8}
    if nos == "frr":
        gpus = {"model": "lab-host", "hosts": 4, "hosts_per_unit": 2}
    tier: dict[str, Any] = {"model": model, "nos": system}
    spec = {
        "cluster": "zone",
        "gpus": gpus,
        "tors": tier | {"uplinks": 4, "uplink_gbps": 100 if nos == "frr" else 400},
        "spines": tier | {"count": 2},
        "priorities": {
            "rdma": {"dscp": 26, "lossless": True},
            "cnp": {"dscp": 48, "strict": True},
            "default": {},
        },
        "addressing": {"family": "ipv4"},
        "accept": [
            {"code": code, "reason": "of no concern here"} for code in ("FAB5513", "FAB5201", "FAB5202")
        ],
        **more,
    }  # fmt: skip
    path = folder / "cluster.yaml"
    path.write_text(json.dumps(spec, indent=1))
    return path


def find_errors(compiled: Compiled) -> list[str]:
    return [f"{d.code} {d.message}. {d.help}" for d in compiled.diagnostics if d.severity is Severity.ERROR]


def link_ends(switch: Switch) -> list[tuple[object, ...]]:
    """Every link in order: far end, address, speed."""
    return [
        (p.direction, p.peer.device, p.ipv4, p.speed_gbps)
        for p in sorted(switch.ports, key=lambda p: (p.direction, p.cage, p.child))
        if p.peer
    ]


@pytest.mark.spread
@pytest.mark.parametrize("name", ["spine02a", "su002-tor1a"])
@pytest.mark.parametrize("nos", PAIRS)
def test_a_single_model_is_built_proved_and_has_the_same_links(tmp_path: Path, nos: str, name: str) -> None:
    before_folder = tmp_path / "before"
    before_folder.mkdir()
    before = compile_spec(spec_file(before_folder, nos))
    assert before.sound, find_errors(before)
    path = spec_file(tmp_path, nos, overrides={name: {"model": PAIRS[nos][2]}})
    after = compile_spec(path)
    if not after.sound and all("FAB3411" in each or "FAB3016" in each for each in find_errors(after)):
        pytest.fail(f"another pair of models is needed: {find_errors(after)}")
    assert after.sound, find_errors(after)
    assert after.lock_text == before.lock_text
    old, new = before.device(name), after.device(name)
    assert isinstance(old, Switch)
    assert isinstance(new, Switch)
    assert new.model.name == PAIRS[nos][2]
    assert link_ends(new) == link_ends(old)
    near = {p.peer.device for p in new.ports if p.peer}
    for at in after.fabric.switch_ids():
        other = after.fabric.name(at)
        if other != name and other not in near:
            assert after.files(after.device(other)) == before.files(before.device(other))
    for peer in near:
        far = after.device(peer)
        back = {(p.name, p.peer.port): p.speed_gbps for p in far.ports if p.peer and p.peer.device == name}
        assert set(back) == {(p.peer.port, p.name) for p in new.ports if p.peer and p.peer.device == peer}
    result, _ = build_tree(path, tmp_path / "out", jobs=1)
    assert result.exit_status == 0, [d.message for d in result.diagnostics]
    plan = json.loads((tmp_path / "out/zone/plan/fabric.json").read_text())
    assert plan["models"] == {name: PAIRS[nos][2]}
    bill = list_materials(after.fabric).bill
    assert sum(n for item, n in bill.items() if new.model.title in item) == 1
    review = compare_specs(before_folder / "cluster.yaml", path)
    assert review.renumbering.addresses == review.renumbering.asns == 0
    assert review.impact is Impact.RELOAD
    tree = compare_specs(tmp_path / "out/zone", path)
    assert not tree.differs, [(g.devices, [li.statement for li in g.lines]) for g in tree.groups]


def test_growth_moves_no_port_of_it(tmp_path: Path) -> None:
    overrides = {"spine02a": {"model": "7060x6-64pe"}, "su001-tor1a": {"model": "7060x6-64pe"}}
    small = compile_spec(spec_file(tmp_path, "sonic", overrides=overrides))
    small.lock_path.write_text(small.lock_text)
    gpus = {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 2, "rails_per_tor": 8}
    large = compile_spec(spec_file(tmp_path, "sonic", overrides=overrides, gpus=gpus))
    assert large.sound, find_errors(large)
    for name in overrides:
        kept = {p.name: p.peer for p in small.device(name).ports if p.peer}
        assert kept.items() <= {p.name: p.peer for p in large.device(name).ports if p.peer}.items()


@pytest.mark.parametrize(
    ("override", "reported"),
    [
        ({"spine01a": {"model": "sn2010"}}, "FAB3411 links of spine01a run at 400G"),
        ({"spine01a": {"model": "sn5400"}}, "FAB3411 links of spine01a run at 400G over 4 lanes over copper"),
        ({"spine01a": {"model": "sn56000"}}, "FAB3013"),
        ({"spine01a": {"model": "qfx5240-64od"}}, "FAB3016"),
    ],
)
def test_override_model_with_too_few_ports_is_rejected_with_numbers(
    tmp_path: Path, override: dict[str, Any], reported: str
) -> None:
    copper = {"spine": {"medium": "dac", "length_m": 2}}
    found = find_errors(compile_spec(spec_file(tmp_path, "sonic", overrides=override, cables=copper)))
    assert any(each.startswith(reported) for each in found), found


def test_too_few_ports_are_counted(tmp_path: Path) -> None:
    gpus = {"model": "dgx-h100", "hosts": 32, "hosts_per_unit": 4, "rails_per_tor": 8}
    tier = {"model": "sn5400", "nos": "sonic-202505"}
    more = {
        "gpus": gpus,
        "tors": tier | {"uplinks": 32, "uplink_gbps": 400},
        "spines": tier | {"count": 4},
        "overrides": {"spine01a": {"model": "sn4700"}},
    }
    (found,) = find_errors(compile_spec(spec_file(tmp_path, "sonic", **more)))
    assert found.startswith("FAB3410 spine01a has 64 ports at 400G down, and NVIDIA SN4700 has 32 at 400G"), (
        found
    )
    fewer = {**more, "gpus": gpus | {"hosts": 16}}
    compiled = compile_spec(spec_file(tmp_path, "sonic", **fewer))
    assert compiled.sound, find_errors(compiled)
    at = compiled.fabric.find("spine01a")
    assert at is not None
    assert sum(link.direction is Direction.DOWN for link in switch_links(compiled.fabric, at)) == 32  # type: ignore[arg-type]
