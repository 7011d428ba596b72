"""The impact of a change on a switch and its links, from the running and the new configuration."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.render.switch_files import render_switch
from fabricc.operate.change.order import CapacityModel, Member, compute_waves
from fabricc.operate.change.resources import build_capacity_model
from fabricc.operate.devices.login import devices_by_name
from fabricc.operate.push.impact import assess_effect
from fabricc.review.diff.compare import application_words
from fabricc.review.diff.model import Impact
from fabricc.review.diff.requested_review import review_change
from tests import tenanted
from tests.operate.lab import specs

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.operate.change.resources import Effect

ALL = {"su001-tor1a", "su001-tor2a", "su002-tor1a", "su002-tor2a"}


def effect_of(folder: Path, before: str, after: str) -> Effect:
    """Of another state of the spec on the first spine."""
    states = []
    for name, more in (("before", before), ("after", after)):
        fabric = specs.source(specs.two_tiers(folder / name, more=more)).fabric
        at = next(at for at in fabric.switch_ids() if fabric.name(at) == "spine01a")
        states.append((fabric.switch(at), devices_by_name(fabric)["spine01a"]))
    (old, _), (new, device) = states
    return assess_effect(device, new, render_switch(old), render_switch(new))


@pytest.mark.parametrize(
    ("before", "after", "hitless", "breaks"),
    [
        ("family: ipv4", "family: dual", True, set()),
        ("family: dual", "family: ipv6", False, set()),
        ("family: ipv4", "family: ipv6", False, ALL),
        ("family: ipv4", "fabric_links: unnumbered", False, ALL),
        ("family: ipv4", "links: 100.64.0.0/10", False, ALL),
    ],
)
def test_a_link_breaks_where_nothing_stays_that_both_ends_have(
    tmp_path: Path, before: str, after: str, hitless: bool, breaks: set[str]
) -> None:
    found = effect_of(tmp_path, f"addressing: {{{before}}}", f"addressing: {{{after}}}")
    assert (found.impact is Impact.HITLESS, found.breaks) == (hitless, breaks)


def test_another_asn_breaks_every_link(tmp_path: Path) -> None:
    assert effect_of(tmp_path, "", "routing: {spine_asn: unique, asn_base: 4210000000}").breaks == ALL


TOR = "su001-tor1a"
SONIC = """\
cluster: w
gpus: {{model: dgx-h100, hosts: 2, hosts_per_unit: 2}}
tors: {{model: sn5600, nos: sonic}}
spines: {{model: sn5600, nos: sonic, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
{more}
"""


def test_what_a_switch_keeps_of_its_own_is_no_change(tmp_path: Path) -> None:
    """NX-OS prints VLAN 1 and `admin`, which no replace removes: a hitless change drained each such switch."""
    text = SONIC.replace("sn5600", "9332d-gx2b").replace("sonic", "nxos")
    states = []
    for name, more in (("old", ""), ("new", "routing: {bfd: {multiplier: 5}}")):
        compiled = compile_spec(specs.write(tmp_path / name, text.format(more=more)))
        states.append(compiled.fabric)
    at = next(at for at in states[0].switch_ids() if states[0].name(at) == "spine01a")
    device = devices_by_name(states[1])["spine01a"]
    plans = [render_switch(fabric.switch(at)) for fabric in states]
    frame = "username admin password 5 $5$A  role network-admin\nvlan 1\n"
    runs = {name: f"{frame}{each}" for name, each in plans[0].items()}
    effects = [assess_effect(device, states[1].switch(at), runs, each) for each in plans]
    assert [one.impact for one in effects] == [Impact.NONE, Impact.HITLESS]
    assert [one.access for one in effects] == [(), ()]


@pytest.mark.parametrize(
    ("more", "impact", "way"),
    [
        ("", Impact.NONE, ""),
        (
            "overrides: {su001-tor1a: {ports: {Ethernet0: {shutdown: true}}}}",
            Impact.TRAFFIC_LOSS,
            "config replace in 2 steps, at most 6 minutes",
        ),
        (
            "cables: {host: {medium: dac, length_m: 3}, spine: {medium: smf, length_m: 300}}",
            Impact.RELOAD,
            "config reload (access file: `reload: true`), at most 20 minutes",
        ),
    ],
)
def test_review_and_push_agree_on_the_way_of_a_change(
    tmp_path: Path, more: str, impact: Impact, way: str
) -> None:
    paths, switches = [], []
    for name, text in (("old", ""), ("new", more)):
        path = tmp_path / name / "cluster.yaml"
        path.parent.mkdir()
        path.write_text(SONIC.format(more=text))
        fabric = compile_spec(path).fabric
        at = next(at for at in fabric.switch_ids() if fabric.name(at) == TOR)
        paths.append(path)
        switches.append(fabric.switch(at))
    old, new = switches
    pushed = assess_effect(devices_by_name(fabric)[TOR], new, render_switch(old), render_switch(new))
    assert (pushed.impact, pushed.way.partition(";")[0]) == (impact, way)
    groups = [group for group in review_change(*paths).groups if TOR in group.devices]
    shown = [application_words(group.application) for group in groups if group.application is not None]
    assert (shown or [""])[0] == pushed.way
    assert [group.impact for group in groups] == ([impact] if way else [])


BEFORE = """\
  acme: {hosts: [rack001-host01, rack002-host01]}
  globex: {hosts: [rack001-host02, rack002-host02]}
"""
MOVED = """\
  acme: {hosts: [rack001-host01, rack001-host02]}
  globex: {hosts: [rack002-host01, rack002-host02]}
"""


def effects_of_a_move(nos: str, more: str = "") -> dict[str, Effect]:
    """ToR -> the effect of moves of hosts between tenants, and of another change of the spec."""
    old, new = (
        tenanted.compiled(nos, tenants=tenants, more=text).fabric
        for tenants, text in ((BEFORE, ""), (MOVED, more))
    )
    assert old is not None
    assert new is not None
    devices, found = devices_by_name(new), {}
    for at in new.switch_ids():
        texts = [render_switch(fabric.switch(at)) for fabric in (old, new)]
        if texts[0] != texts[1]:
            found[new.name(at)] = assess_effect(devices[new.name(at)], new.switch(at), *texts)
    return found


@pytest.mark.parametrize("nos", ["cumulus", "eos", "nxos", "sonic"])
def test_a_host_that_changes_its_tenant_drains_nothing_and_takes_one_wave(nos: str) -> None:
    found = effects_of_a_move(nos)
    assert len(found) > 1
    assert {effect.impact for effect in found.values()} == {Impact.TRAFFIC_LOSS}
    assert all(effect.confined and not effect.disruptive for effect in found.values())
    members = {
        name: Member(name, 0, "x", effect.disruptive, "", {"rail 0": 1}, confined=effect.confined)
        for name, effect in found.items()
    }
    (wave,) = compute_waves(CapacityModel(members, {"rail 0": len(members)}), Fraction(3, 4))
    assert (set(wave.members), wave.drained, wave.kept, wave.risked) == (set(found), (), 1, 0)


@pytest.mark.parametrize("nos", ["cumulus", "eos", "nxos", "sonic"])
def test_a_move_next_to_another_disruptive_change_is_drained(nos: str) -> None:
    found = effects_of_a_move(nos, "\nmtu: {host: 4000, switch: 9000}")
    assert [effect for effect in found.values() if effect.disruptive]
    assert not [effect for effect in found.values() if effect.confined]


@pytest.mark.parametrize("nos", tenanted.EXPRESSED)
def test_a_way_out_that_changes_its_tenant_drains_no_switch(nos: str, tmp_path: Path) -> None:
    """Traffic between hosts does not notice it, and nobody else has the link: it counts as the party's own loss."""
    before = tenanted.compiled_exits(nos).fabric
    text = tenanted.exits_text(nos).replace("reach: [filer, internet]", "reach: [filer]")
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text.replace("reach: [vault]", "reach: [vault, internet]"))
    fabric = compile_spec(spec, gaps=False).fabric
    assert before is not None
    assert fabric is not None
    (at,) = (at for at in fabric.switch_ids() if fabric.name(at) == "border01a")
    texts = [render_switch(each.switch(at)) for each in (before, fabric)]
    effect = assess_effect(devices_by_name(fabric)["border01a"], fabric.switch(at), *texts)
    assert (effect.impact, effect.confined, effect.disruptive) == (Impact.TRAFFIC_LOSS, False, False)
    assert effect.outside == set(fabric.external.at("border01a"))
    capacity = build_capacity_model(fabric, {"border01a": at}, {"border01a": effect})
    (wave,) = compute_waves(capacity, Fraction(3, 4))
    assert (wave.drained, wave.kept, wave.unreachable) == ((), 1, ("links to internet",))
