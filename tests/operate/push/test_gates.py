"""Gates: the measurements that stop a push, and those that do not."""

from __future__ import annotations

import time
from contextlib import nullcontext
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.values import replace
from fabricc.fabric import expand_bgp
from fabricc.fabric.design import DeviceChange
from fabricc.fabric.model import plan_peers
from fabricc.fabric.shape import TierName
from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, KINDS, PFC_RX, PFC_TX, STORMS, describe_gaps
from fabricc.operate.lab.predict import Route, apply_route_map
from fabricc.operate.push.drain import list_sessions
from fabricc.operate.push.gates import (
    find_congestion,
    find_lasting_errors,
    find_lost_peers,
    find_regressions,
    find_silent_sessions,
    list_unstated,
    read_counters,
)
from fabricc.operate.push.options import Options
from tests import outward
from tests.operate.lab import specs
from tests.operate.push.network import build_spec
from tests.operate.push.test_drain import SPEC
from tests.outward import MODELS
from tests.tenanted import TOR, compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fabricc.fabric.model import Switch


@pytest.fixture
def spine(tmp_path: Path) -> Switch:
    fabric = specs.source(specs.two_tiers(tmp_path)).fabric
    return fabric.switch(next(at for at in fabric.switch_ids() if fabric.name(at) == "spine01a"))


def test_a_session_that_was_up_must_be_up_also_to_a_switch_that_changes_later(spine: Switch) -> None:
    first = spine.bgp.sessions[0]
    before = {"sessions": {session.remote: [True, 4] for session in spine.bgp.sessions}}
    now = {"sessions": {**before["sessions"], first.remote: [False, 0]}}
    assert find_regressions(spine, before, before, (), (), widths=True) == []
    later = {first.peer}
    assert len(find_regressions(spine, before, now, (), later, widths=True)) == 1
    assert find_regressions(spine, before, now, later, later, widths=True) == [], "both ends must agree first"
    down = {"sessions": {**before["sessions"], first.remote: [False, 0]}}
    assert find_regressions(spine, down, down, (), (), widths=True) == [], "it was down before"


def test_a_rollback_to_a_configuration_without_a_session_does_not_wait_for_it(spine: Switch) -> None:
    first, *others = (session.remote for session in spine.bgp.sessions)
    before = {"sessions": {key: [True, 4] for key in (first, *others)}, "widths": {"10.0.0.0/30": 2}}
    now = {"sessions": {key: [True, 4] for key in others}, "widths": {}}
    (down, *_) = find_regressions(spine, before, now, (), (), widths=True, configured=[first, *others])
    assert down.endswith(f"({first}) is down")
    assert find_regressions(spine, before, now, (), (), widths=True, configured=others) == []
    worse = {"sessions": {key: [False, 0] for key in others}, "widths": {}}
    assert len(find_regressions(spine, before, worse, (), (), widths=True, configured=others)) == len(others)


@pytest.mark.parametrize("nos", MODELS)
def test_sessions_of_the_plan_are_those_of_its_files(nos: str, tmp_path: Path) -> None:
    text = SPEC.format(model=MODELS[nos], nos=nos, family="dual")
    fabric = specs.source(specs.write(tmp_path / nos, text)).fabric
    switch = fabric.switch(next(at for at in fabric.switch_ids() if at.tier is TierName.SPINE))
    sessions = {one.remote or one.port for one in switch.bgp.sessions}
    assert list_sessions(nos, back_ends.load(nos).render(switch)) == sessions


@pytest.mark.slow
def test_only_unplanned_prefixes_may_disappear(tmp_path: Path) -> None:
    """Another block of hosts leaves its own ToR and its neighbors; a host block that is planned has to stay."""
    spec = specs.two_tiers(tmp_path)
    source = build_spec(spec, tmp_path / "out")
    stays = next(
        prefix for prefix in expand_bgp.originated_prefixes(source.fabric, source.places["su001-tor1a"])
    )
    outside = {"0.0.0.0/0": 2, "192.0.2.0/24": 1}
    widths = {stays: 2, "10.63.0.0/30": 1, "10.143.255.255/32": 2, **outside}
    tor = source.switch("su002-tor1a")

    def missed(now: dict[str, int]) -> set[str]:
        before, after = ({"sessions": {}, "widths": each} for each in (widths, now))
        output = find_regressions(tor, before, after, (), (), widths=True, leaving=source.leaving)
        return {line.split()[0] for line in output if "next hops" in line}

    assert missed({stays: 1, **outside}) == {stays}
    assert missed({}) == {stays, *outside}


def test_a_new_session_must_come_up_once_both_ends_have_it(spine: Switch) -> None:
    first, *others = spine.bgp.sessions
    before = {"sessions": {session.remote: [True, 4] for session in others}}
    now = {"sessions": {**before["sessions"], first.remote: [False, 0]}}
    assert find_regressions(spine, before, now, (), {first.peer}, widths=True) == []
    assert len(find_regressions(spine, before, now, (), (), widths=True)) == 1


def test_fewer_prefixes_and_fewer_next_hops_are_reported(spine: Switch) -> None:
    up = {session.remote: [True, 10] for session in spine.bgp.sessions}
    before = {"sessions": up, "widths": {"10.0.0.0/30": 2}}
    few = {**up, spine.bgp.sessions[0].remote: [True, 8]}
    now = {"sessions": few, "widths": {"10.0.0.0/30": 1}}
    assert len(find_regressions(spine, before, now, (), (), widths=True)) == 2
    assert len(find_regressions(spine, before, now, (), (), widths=False)) == 1
    assert find_regressions(spine, before, now, (), (), widths=False, received=False) == []


def test_a_session_that_announced_prefixes_must_announce_some_again(spine: Switch) -> None:
    first, *others = (session.remote for session in spine.bgp.sessions)
    peers = [session.peer for session in spine.bgp.sessions]
    up = {"sessions": {remote: [True, 4] for remote in (first, *others)}}

    def measured(count: int, *keys: str | None, family: str = "ipv4") -> dict[str, Any]:
        return {**up, "announced": {key: {family: count} for key in keys}}

    before = measured(7, first, *others)
    silent = measured(0, first, *others)
    assert find_silent_sessions(spine, before, before, ()) == []
    assert find_silent_sessions(spine, before, measured(1, first, *others), ()) == [], "it announces some"
    (message,) = find_silent_sessions(spine, before, silent, ())
    assert message.startswith(f"it announces no IPv4 prefix to {peers[0]}, {peers[1]}")
    assert len(f"{spine.name}: {message}") < 160
    assert find_silent_sessions(spine, before, silent, peers) == [], "their links are down"
    assert find_silent_sessions(spine, up, silent, ()) == [], "nothing was stated before"
    assert find_silent_sessions(spine, before, up, ()) == [], "nothing is stated now"
    assert find_silent_sessions(spine, silent, silent, ()) == [], "it announced none before"
    other = measured(7, first, family="ipv6"), measured(0, first, family="ipv6")
    assert find_silent_sessions(spine, *other, ()) == [], "the plan has no such family"
    down = {**silent, "sessions": {key: [False, 0] for key in (first, *others)}}
    assert find_silent_sessions(spine, before, down, ()) == [], "another finding is about it"
    (spared,) = find_silent_sessions(spine, before, {**silent, "sessions": {first: [True, 4]}}, ())
    assert spared.endswith(f"to {peers[0]} any more")


def test_a_switch_may_announce_nothing_to_an_outside_party() -> None:
    switch = outward.switch("frr", outward.SPINE, dual=True)
    keys = {session.remote or session.port: session.group for session in switch.bgp.sessions}
    up = {"sessions": {key: [True, 4] for key in keys}}
    before, now = (
        {**up, "announced": {key: {"ipv4": count, "ipv6": count} for key in keys}} for count in (4, 0)
    )
    assert any(group.startswith("EXTERNAL-") for group in keys.values())
    found = " ".join(find_silent_sessions(switch, before, now, ()))
    assert "no IPv4 prefix" in found
    assert "no IPv6 prefix" in found
    assert "core" not in found


@pytest.mark.parametrize("drained", [False, True])
def test_the_plan_announces_a_loopback_to_every_neighboring_switch(drained: bool) -> None:
    """What `find_silent_sessions` presumes, of a drained switch too."""
    fabric = outward.outward_fabric("frr", dual=True)
    change = DeviceChange(None, None, drained=drained, cable_m=None, ports={})
    fabric = replace(fabric, changes={fabric.name(at): change for at in fabric.switch_ids()})
    for switch in map(fabric.switch, fabric.switch_ids()):
        maps = {group.name: group.export_map for group in switch.bgp.groups}
        own = [ip_network(address) for address in (switch.loopback4, switch.loopback6) if address]
        for session in switch.bgp.sessions:
            for prefix in own:
                route = Route((), frozenset(), 100, switch.name, "")
                announced = apply_route_map(switch.bgp, maps[session.group], prefix, route) is not None
                assert announced is not session.group.startswith("EXTERNAL-")


def test_routes_of_a_family_that_a_switch_leaves_may_go(spine: Switch) -> None:
    before: dict[str, Any] = {"widths": {"10.0.0.0/30": 2, "fd00::/126": 2}}
    found = find_regressions(spine, before, {"widths": {}}, (), (), widths=True)
    assert found == ["10.0.0.0/30 has 0 next hops, 2 before"], "the spine runs IPv4"


def test_a_neighbor_that_the_plan_has_no_longer_takes_its_next_hops_along(spine: Switch) -> None:
    sessions = {session.remote: [True, 4] for session in spine.bgp.sessions}
    before: dict[str, Any] = {
        "sessions": {**sessions, "10.64.9.1": [True, 4]},
        "widths": {"10.0.9.0/30": 1, "10.0.0.0/30": 2, "10.0.1.0/30": 2},
    }
    now = {"sessions": sessions, "widths": {"10.0.0.0/30": 1, "10.0.1.0/30": 0}}
    found = find_regressions(spine, before, now, (), (), widths=True)
    assert found == ["10.0.1.0/30 has 0 next hops, 2 before"]
    stays = {**before, "sessions": sessions}
    assert len(find_regressions(spine, stays, now, (), (), widths=True)) == 3


def test_only_new_alarms_are_reported(spine: Switch) -> None:
    before, now = {"alarms": ["fan 1"]}, {"alarms": ["fan 1", "fan 2"]}
    assert find_regressions(spine, before, now, (), (), widths=True) == ["alarm: fan 2"]
    assert find_regressions(spine, now, before, (), (), widths=True) == []


def test_counters_that_disappear_are_reported(spine: Switch) -> None:
    before = {"alarms": [], "lossless": {kind: {} for kind in KINDS}}
    now = {"alarms": [], "lossless": {kind: {} for kind in KINDS if kind != STORMS}}
    assert find_regressions(spine, before, now, (), (), widths=True) == [
        "the device no longer states PFC watchdog storms"
    ]
    assert find_regressions(spine, now, before, (), (), widths=True) == []


def test_errors_storms_and_drops_are_never_cured_by_waiting(spine: Switch) -> None:
    def counted(errors: int, storms: int, dropped: int, lossy: int) -> dict[str, Any]:
        reported = {STORMS: {"swp1": {"3": storms}}, DROPPED: {"swp1": {"3": dropped, "0": lossy}}}
        return {"errors": {"swp2": errors}, "lossless": reported}

    before = counted(5, 7, 9, 0)
    assert find_lasting_errors(spine, before, before, Options()) == []
    assert find_lasting_errors(spine, before, counted(105, 7, 9, 1000), Options()) == [], "what may drop does"
    assert find_lasting_errors(spine, before, counted(106, 8, 10, 0), Options()) == [
        "swp2 counts 101 more errors",
        "the PFC watchdog of swp1 detected 1 storm",
        "swp1 dropped 1 packets of lossless classes",
    ]
    assert find_lasting_errors(spine, before, counted(5, 7, 19, 0), Options(drops=10)) == []
    assert len(find_lasting_errors(spine, before, counted(5, 2, 9, 0), Options())) == 1, (
        "cleared, and two storms since"
    )
    first = {"lossless": {STORMS: {}}}
    assert find_lasting_errors(spine, first, counted(0, 1, 1, 0), Options()) == [
        "the PFC watchdog of swp1 detected 1 storm"
    ]


def test_congestion_is_a_rate(spine: Switch) -> None:
    def counted(at: float, received: int, sent: int, marked: int, boot: str = "a") -> dict[str, Any]:
        reported = {
            PFC_RX: {"swp1": {"all": received}},
            PFC_TX: {"swp1": {"3": sent}},
            ECN_MARKED: {"swp1": {"3": marked}},
        }
        return {"at": at, "boot": boot, "lossless": reported}

    before, options = counted(100.0, 50, 50, 50), Options(pauses=10, marks=1000)
    assert find_congestion(spine, before, counted(120.0, 150, 150, 20050), options) == []
    assert find_congestion(spine, before, counted(120.0, 150, 151, 20051), options) == [
        "swp1 counts 10 PFC frames a second",
        "swp1 counts 1,000 ECN marks a second",
    ]
    assert (
        find_congestion(spine, {"lossless": before["lossless"]}, counted(120.0, 10**9, 0, 0), options) == []
    )
    assert find_congestion(spine, before, counted(120.0, 10**9, 0, 0, boot="b"), options) == [], (
        "this machine was restarted, which begins its clock anew"
    )


class _Idle:
    """A switch without counters."""

    def reading_ahead(self, *names: str) -> AbstractContextManager[None]:
        return nullcontext()

    def getter(self, name: str) -> None: ...


def test_a_rate_does_not_depend_on_a_clock_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jump of the wall clock made a rate of anything: too high, which stopped a push, or too low to be found."""
    first = read_counters(_Idle())  # type: ignore[arg-type]
    monkeypatch.setattr(time, "time", lambda: 4e9)
    second = read_counters(_Idle())  # type: ignore[arg-type]
    assert 0 <= second["at"] - first["at"] < 60
    assert first["boot"] == second["boot"] != ""


def test_missing_measurements_have_names(spine: Switch) -> None:
    assert list_unstated(
        {"sessions": {}, "widths": {}, "errors": {}, "lossless": {kind: {} for kind in KINDS}}
    ) == ["alarms"]
    assert list_unstated({"alarms": []}, lossless=False) == ["BGP sessions", "next hops", "interface errors"]
    assert len(list_unstated({})) == 4 + len(KINDS)
    assert describe_gaps([("frr", ["alarms"]), ("eos", []), ("frr", ["alarms", "next hops"])], "watched") == [
        "not stated by frr, so not watched: alarms (2), next hops (1)"
    ]


def test_a_vrf_that_joins_needs_the_router_macs_of_its_peers() -> None:
    fabric = compiled("frr").fabric
    tor = next(each for at in fabric.switch_ids() if (each := fabric.switch(at)).name == TOR)
    assert tor.tenants is not None
    first, second = (str(tenant.vni) for tenant in tor.tenants.tenants)
    peers = plan_peers(map(fabric.switch, fabric.switch_ids()))
    (vtep, far), *_ = ((vtep, name) for vtep, name in peers[first].items() if name != TOR)
    whole = {vni: dict.fromkeys(peers[vni], "02:00:00:00:00:01") for vni in (first, second)}
    before = {"router_macs": whole}
    routes = {f"{other}/32": 2 for other in peers[first]}

    def lost(old: dict[str, Any], new: dict[str, Any], later: Sequence[str] = ()) -> list[str]:
        now = {"router_macs": new, "widths": routes}
        return find_lost_peers(tor, peers, {"router_macs": old}, now, later)

    assert lost(whole, whole) == []
    without = {**whole, first: {other: mac for other, mac in whole[first].items() if other != vtep}}
    assert [far in each for each in lost(whole, without)] == [True]
    assert lost(whole, without, [far]) == [], "it changes later"
    assert lost(without, without) == [], "it was so before"
    assert len(lost({second: whole[second]}, without)) == 1, "the VRF joins"
    routes.pop(f"{vtep}/32")
    assert lost(whole, without) == [], "there is no route to it"
    assert find_lost_peers(tor, peers, before, {}, ()) == []
