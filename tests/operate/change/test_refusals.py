"""A refusal of waves lists a plan that works: each verb accepts the plan that it proposes."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.capacity.hosts import find_newly_parted_hosts
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.shape import TierName
from fabricc.operate.change.order import compute_waves
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.plan_waves import plan_waves
from fabricc.operate.push.run import report_parted
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Run = Callable[..., Ran]

SPEC = """\
cluster: small
gpus: {model: hgx-8gpu, hosts: 4, hosts_per_unit: 2}
tors: {model: sn4700, nos: sonic-202305, uplinks: 4}
spines: {model: sn4700, nos: sonic-202305, count: 4}
routing: {bfd: false}
priorities: {rdma: {dscp: 26, lossless: true}, default: {}}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "now" / "cluster.yaml"
    path.parent.mkdir()
    path.write_text(SPEC)
    return path


def proposed_share(text: str) -> str:
    """The share that a refusal proposes."""
    (share,) = set(re.findall(r"--keep ([\d.]+%)", text)) - {"0%"}
    return share


def wave_lines(text: str) -> list[str]:
    return re.findall(r"wave (\d+(?: \(canary\))?: .*)", text)


def test_push_accepts_the_waves_that_its_refusal_lists(spec: Path, tmp_path: Path, fabricc: Run) -> None:
    tree = tmp_path / "out" / "small"
    assert fabricc("build", str(spec), "-o", str(tmp_path / "out")).status == 0
    words = ("push", str(tree), "--spec", str(spec), "--journal", str(tmp_path / "j"), "--plan")
    refused = fabricc(*words, "--keep", "90%")
    assert (refused.status, "FAB9121" in refused.err) == (1, True)
    accepted = fabricc(*words, "--keep", proposed_share(refused.err), "--format", "json")
    assert accepted.status == 0, accepted.err
    waves = json.loads(accepted.out)["waves"]
    assert len(wave_lines(refused.err)) == len(waves) > 1
    for line, wave in zip(wave_lines(refused.err), waves, strict=True):
        assert wave[0] in line


def test_upgrade_accepts_the_waves_that_its_refusal_lists(spec: Path, fabricc: Run) -> None:
    words = ("upgrade", str(spec), "--to", "sonic-202311")
    refused = fabricc(*words, "--keep", "90%")
    assert (refused.status, "FAB9121" in refused.err) == (1, True)
    accepted = fabricc(*words, "--keep", proposed_share(refused.err), "--format", "json")
    assert accepted.status == 0, accepted.err
    waves = json.loads(accepted.out)["waves"]["compute"]
    assert len(wave_lines(refused.err)) == len(waves) > 1


@pytest.mark.slow
def test_migrate_accepts_the_waves_that_its_refusal_lists(spec: Path, tmp_path: Path, fabricc: Run) -> None:
    wanted = tmp_path / "wanted" / "cluster.yaml"
    wanted.parent.mkdir()
    assert fabricc("build", str(spec), "-o", str(tmp_path / "out")).status == 0
    lock = spec.with_name("fabricc.lock")
    wanted.write_text(SPEC.replace("{bfd: false}", "{bfd: false, hold_s: 30, keepalive_s: 5}"))
    wanted.with_name(lock.name).write_bytes(lock.read_bytes())
    words = ("migrate", str(spec), str(wanted), "--format", "json")
    (refused,) = json.loads(fabricc(*words, "--keep", "90%").out)["steps"]
    order = refused["waves"]["compute"]
    assert (order["order"], len(order["possible"]) > 1) == ([], True)
    (accepted,) = json.loads(fabricc(*words, "--keep", proposed_share(order["refused"])).out)["steps"]
    assert accepted["waves"]["compute"]["refused"] is None
    assert len(accepted["waves"]["compute"]["order"]) == len(order["possible"])
    shown = fabricc(*words[:3], "--keep", "90%").out
    assert all(line in shown for line in order["possible"])


def rounds_of(text: str) -> list[list[str]]:
    return [re.split(r", | and ", each) for each in re.findall(r"round \d+: (.*) out, keeps", text)]


@pytest.mark.parametrize(
    ("devices", "keep", "count"),
    [
        (("spine01a", "spine02a", "spine03a"), "50%", 2),
        (("spine01a", "spine02a"), "90%", 2),
        (("su001-tor1a:UPLINK",), "99%", 1),
        (("su001-tor1a", "su001-tor2a", "spine01a"), "75%", 1),
    ],
)
@pytest.mark.spread
def test_maintain_accepts_the_rounds_that_its_refusal_lists(
    spec: Path, fabricc: Run, devices: tuple[str, ...], keep: str, count: int
) -> None:
    uplink = Wiring(compile_spec(spec).fabric).ports("su001-tor1a")[-1]
    devices = tuple(each.replace("UPLINK", uplink) for each in devices)
    words = ("maintain", "--window", "30m")
    refused = fabricc(*words, *devices, "--keep", keep, str(spec))
    assert refused.status == 1
    text = refused.out + refused.err
    assert "FAB9404" in text
    share = proposed_share(text) if "--keep" in text else keep
    rounds = rounds_of(text)
    assert (len(rounds), {name for each in rounds for name in each} >= {*devices}) == (count, True)
    for each in rounds:
        accepted = fabricc(*words, *each, "--keep", share, str(spec))
        assert accepted.status == 0, (each, share, accepted.out, accepted.err)


@pytest.mark.parametrize("absent", [True, False], ids=["absent", "drained"])
def test_a_wave_parts_no_hosts_from_those_behind_a_dead_tor(tmp_path: Path, absent: bool) -> None:
    """Hosts behind a dead ToR have one plane left, to which other ToRs lead; a drained ToR carries its hosts."""
    out, spec = "su001-tor1a", tmp_path / "cluster.yaml"
    drained = "" if absent else f"overrides: {{{out}: {{drain: true}}}}\n"
    spec.write_text(
        SPEC.replace("hgx-8gpu", "hgx-2x200").replace("4}\nspines", "4}\nplanes: 2\nspines") + drained
    )
    fabric = compile_spec(spec).fabric
    wiring = Wiring(fabric)
    standing = wiring.shut | Outage(gone=frozenset({out} if absent else ()))
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    apart = [name for name, at in places.items() if at.tier is TierName.TOR and at.unit != places[out].unit]
    parting = {
        name
        for name in apart
        if find_newly_parted_hosts(
            Remainder(wiring, standing | Outage(gone=frozenset({name}))), Remainder(wiring, standing)
        )
    }
    assert parting == {name for name in apart if absent and places[name].plane % 2}
    for name in apart:
        model = build_capacity_model(
            fabric, places, {name: Effect("x", Impact.TRAFFIC_LOSS)}, [out] if absent else []
        )
        (wave,) = compute_waves(model, Fraction(0))
        (found,) = report_parted([wave]) or (None,)
        assert (found is not None) == (wave.kept == 0) == (name in parting)
        if name in parting:
            with pytest.raises(PushRefusedError, match="0 % of the paths of plane b to su001-host0"):
                plan_waves(model, Fraction(1, 10), None)
        else:
            assert plan_waves(model, Fraction(1, 10), None)
