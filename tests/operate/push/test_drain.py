"""The drained form of what a switch runs, and what the journal keeps of it."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.design import DeviceChange
from fabricc.fabric.fabric import Fabric
from fabricc.fabric.shape import TierName
from fabricc.operate.devices import DeviceError, running
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.identity import Roster
from fabricc.operate.devices.login import Device, Login
from fabricc.operate.push.built_tree import BuiltTree, PushRefusedError, Snapshot, read_source
from fabricc.operate.push.drain import drain_files, patch_text
from fabricc.operate.push.executor import Executor
from fabricc.operate.push.journal import Journal, State
from fabricc.operate.push.options import Options
from fabricc.operate.push.ownership import hold_switches
from tests.audit.faults.fabric import spec_of
from tests.operate.lab import specs
from tests.operate.push.network import build_spec
from tests.outward import MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

SPEC = """\
cluster: zone
gpus: {{model: dgx-h100, hosts: 4, hosts_per_unit: 4}}
tors: {{model: {model}, nos: {nos}}}
spines: {{model: {model}, nos: {nos}}}
addressing: {{family: {family}}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  default: {{}}
"""
INVENTORIES = Path(__file__).parents[3] / "inventories"


@pytest.mark.parametrize(
    ("nos", "inventory"),
    [
        ("frr", "lab-smallest"),
        ("nxos", "lab-smallest"),
        ("eos", "rack-zone-512"),
        ("sonic", "superpod-b200-4su"),
    ],
)
def test_an_older_state_is_drained_as_its_own_rendering_would_be(nos: str, inventory: str) -> None:
    back_end, fabric = (
        back_ends.load(nos),
        compile_spec(INVENTORIES / inventory / "cluster.yaml", gaps=False).fabric,
    )
    assert isinstance(fabric, Fabric)
    place = next(at for at in fabric.switch_ids() if at.tier is TierName.SPINE)
    drain = DeviceChange(None, None, drained=True, cable_m=None, ports={})
    both = fabric.switch(place), replace(fabric, changes={fabric.name(place): drain}).switch(place)
    new, shut = (replace(switch, nos=nos, release=back_end.default_release) for switch in both)
    older, older_shut = (replace(s, bgp=replace(s.bgp, hold_s=30, keepalive_s=10)) for s in (new, shut))
    render = back_end.render
    assert drain_files(new.name, nos, render(older), render(new), render(shut)) == render(older_shut)
    assert drain_files(new.name, nos, render(older_shut), render(new), render(shut)) == render(older_shut)


def test_a_box_without_sessions_has_nothing_to_drain(tmp_path: Path) -> None:
    tree = tree_of(specs.source(specs.two_tiers(tmp_path / "spec")).fabric)
    new = {"frr.conf": "frr version 8.4\nhostname new\n", "hostname": "new\n"}
    for name in tree.places:
        assert (
            drain_files(name, "frr", new, *tree.render_states(name, running.address_versions("frr", new)))
            == new
        )


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ("ipv4", "dual"),
        ("dual", "ipv6"),
        pytest.param("ipv6", "dual", marks=pytest.mark.slow),
        pytest.param("dual", "ipv4", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_a_switch_of_other_address_families_is_drained_in_each_that_it_runs(
    tmp_path: Path, nos: str, runs: str, wanted: str
) -> None:
    check_drain(*(planned(tmp_path / family, nos, family) for family in (runs, wanted)))


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        ("dual", "dual"),
        pytest.param("ipv4", "ipv4", marks=pytest.mark.slow),
        pytest.param("ipv6", "dual", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_a_switch_whose_links_have_no_addresses_is_drained_in_each_family_that_it_runs(
    tmp_path: Path, nos: str, runs: str, wanted: str
) -> None:
    families = (f"{family}, fabric_links: unnumbered" for family in (runs, wanted))
    check_drain(*(planned(tmp_path / str(step), nos, family) for step, family in enumerate(families)))


def planned(folder: Path, nos: str, family: str) -> Fabric:
    spec = specs.write(folder, SPEC.format(model=MODELS[nos], nos=nos, family=family))
    found = compile_spec(spec, gaps=False).fabric
    assert isinstance(found, Fabric)
    return found


def tree_of(fabric: Fabric) -> BuiltTree:
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    return BuiltTree(Snapshot(Path(), None, "", {}), Path(), fabric, places, {}, Roster(fabric, places))  # type: ignore[arg-type]


def check_drain(before: Fabric, after: Fabric) -> None:
    """The running configuration is drained before it changes, as the plan of a drained switch has it."""
    tree = tree_of(after)
    for name, place in tree.places.items():
        nos = after.tiers[place.tier].nos
        old, shut = (render_switch(fabric.switch(place)) for fabric in (before, in_drain(before, name)))
        assert old != shut
        assert (
            drain_files(name, nos, old, *tree.render_states(name, running.address_versions(nos, old))) == shut
        )


def in_drain(fabric: Fabric, name: str) -> Fabric:
    return replace(fabric, changes={name: DeviceChange(None, None, drained=True, cable_m=None, ports={})})


def test_text_without_a_single_place_for_the_change_is_left_alone() -> None:
    assert patch_text("a\nb\nc\n", "a\nb\n", "a\nx\nb\n") == "a\nx\nb\nc\n"
    assert patch_text("q\n", "a\nb\n", "a\nx\nb\n") is None


def test_equal_places_are_distinguished_by_their_order() -> None:
    old = "one\nset\nend\ntwo\nset\nend\n".replace("set", "a\nb\nc\nd\nset\ne\nf\ng\nh")
    new = old.replace("two\na\nb\nc\nd\nset", "two\na\nb\nc\nd\nset\nshut")
    assert patch_text(f"older\n{old}", old, new) == f"older\n{new}"
    assert patch_text(f"{old}three\n{old}", old, new) is None


def test_journal_records_the_last_state_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal.sqlite"
    journal = Journal(path)
    for end, known in ((State.CONFIRMED, "new"), (State.ROLLED_BACK, "old"), (State.UNKNOWN, "")):
        run = journal.begin("push", "tree", "digest", {}, iter(["a"]))
        journal.record_plan(run, "a", "old", "new", disruptive=False, baseline={}, secrets={})
        journal.record_intent(run, "a", "change")
        assert not journal.entry(run, "a").settled
        journal.record_state(run, "a", end)
        assert journal.entry(run, "a").settled
        assert journal.read_last_tree(Device("a", "tor", "eos", "", "")) == known
        assert journal.read_last_tree(Device("b", "tor", "eos", "", "", former="a")) == known
        assert journal.read_last_tree(Device("b", "tor", "eos", "", "")) == ""
    journal.close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_pushes_at_once_are_refused(tmp_path: Path) -> None:
    with (
        hold_switches(tmp_path / "journal", "small", "192.0.2.1"),
        pytest.raises(PushRefusedError) as refusal,
        hold_switches(tmp_path / "journal", "small", "192.0.2.1"),
    ):
        pass
    assert refusal.value.diagnostics[0].code == "FAB9123"


def test_a_tree_of_another_lock_is_refused(tmp_path: Path) -> None:
    spec = specs.two_tiers(tmp_path / "spec")
    source = build_spec(spec, tmp_path / "out")
    (spec.parent / "fabricc.lock").unlink()
    with pytest.raises(PushRefusedError) as refusal:
        read_source(source.tree, spec)
    assert refusal.value.diagnostics[0].code == "FAB9120"


@pytest.mark.slow
def test_parts_that_an_overlay_takes_out_of_service_are_reported(tmp_path: Path) -> None:
    """A port of NX-OS is shut without `no shutdown`; the shares of waves would count its link."""
    spec, overlay = (
        tmp_path / "cluster.yaml",
        "{file: shut.cfg, nos: nxos, devices: [rack001-tor1a], removes: true}",
    )
    spec.write_text(spec_of("nxos"))
    assert build_spec(spec, tmp_path / "sound").remarks == ()
    spec.write_text(f"{spec_of('nxos')}overlays:\n  - {overlay}\n")
    (tmp_path / "shut.cfg").write_text("interface Ethernet1/9\n  no shutdown\n")
    found = build_spec(spec, tmp_path / "out").remarks
    assert ("FAB9600", Severity.ERROR) in [(each.code, each.severity) for each in found]
    assert any("Ethernet1/9 is shut" in each.message for each in found)


def executor_of(folder: Path, source: BuiltTree, target: Callable[[str], dict[str, str]]) -> Executor:
    journal = Journal(folder / "journal")
    return Executor(source, Access(Login()), journal, 1, Options(drain_s=7), target, threading.Event())


STOCK = {
    "frr.conf": "frr version 8.4.4\nrouter bgp 65100\n neighbor 192.0.2.200 remote-as 65200\nexit\n!\nend\n",
    "hostname": "sonic\n",
}
"""A session of the maker's image, whose neighbor does not exist."""


def test_a_new_switch_without_a_session_that_is_up_is_not_drained_and_can_be_rolled_back(
    tmp_path: Path,
) -> None:
    source = build_spec(specs.two_tiers(tmp_path / "spec"), tmp_path / "out")
    executor = executor_of(tmp_path, source, lambda _: STOCK)
    for measured in ({}, {"sessions": {"192.0.2.200": [True, 5]}}):
        with pytest.raises(DeviceError) as refusal:
            executor._drain_running_files("spine01a", STOCK, measured)
        assert refusal.value.diagnostic.code == "FAB9122"
    down = {"sessions": {"192.0.2.200": [False, 0]}}
    assert executor._drain_running_files("spine01a", STOCK, down) == STOCK
    assert executor._drain_target_files("spine01a") == STOCK
    (planned, *_) = source.switch("spine01a").bgp.sessions
    other = STOCK["frr.conf"].replace("192.0.2.200", planned.remote)
    executor.target = lambda _: {**STOCK, "frr.conf": other}
    with pytest.raises(DeviceError):
        executor._drain_target_files("spine01a")
    executor.journal.close()


def test_the_short_configuration_of_a_new_switch_is_its_main_file() -> None:
    """Its other files may be longer, as `interfaces` of a new FRR switch is."""
    planned = {
        "frr.conf": "hostname a\n",
        "interfaces": "auto lo\niface lo inet loopback\n",
        "hostname": "a\n",
    }
    assert running.unpack_files("frr", "hostname b\n", planned) == {"frr.conf": "hostname b\n"}
    assert running.unpack_files("eos", "hostname b\n", {"running-config.cfg": ""}) == {
        "running-config.cfg": "hostname b\n"
    }


@pytest.mark.parametrize(
    ("nos", "seconds"), [("frr", 12), ("sonic", 12), ("cumulus", 12), ("eos", 7), ("junos", 7)]
)
def test_traffic_has_its_time_from_when_the_system_announces_the_drain(
    tmp_path: Path, nos: str, seconds: float
) -> None:
    source = build_spec(specs.two_tiers(tmp_path / "spec"), tmp_path / "out")
    devices = {name: replace(device, nos=nos) for name, device in source.devices.items()}
    executor = executor_of(tmp_path, replace(source, devices=devices), source.files)
    assert executor.leaving_s(["spine01a", "su001-tor1a"]) == seconds
    assert executor.leaving_s([]) == 7
    assert executor.settling_s(["spine01a", "su001-tor1a"]) == seconds - 7
    executor.options = replace(executor.options, confirm_s=10)
    assert executor.settling_s(["spine01a"]) == min(seconds - 7, 2.5), "most of the time stays for the gate"
    executor.journal.close()
