"""Gaps of NX-OS are reported with a remedy, and values are rounded in the same way in text and plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabricc.back.nos.nxos import NXOS
from fabricc.base.diagnostics import TITLES
from fabricc.compiler.render.overlays import find_unexpressed
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.model import Account, NtpKey, Switch
from fabricc.fabric.qos import Ecn, Watchdog
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.nos.changed import (
    with_bgp,
    with_class,
    with_management,
    with_port,
    with_profile,
    with_watchdog,
)
from tests.back.nos.nxos.variants import PAUSE, VARIANTS, variant, with_cable_length

NOT_FATAL = {"FAB9045", "FAB5411", "FAB5412", "FAB5415", "FAB5416", "FAB5417", "FAB5419", "FAB5685"}


def fitting_switch(name: str = "cloudscale/numbered") -> Switch:
    return variant(name)


def with_pause(**changes: Any) -> Switch:
    switch = variant("cloudscale/long")
    settings = {**switch.model.nos["nxos"], "pause": [{**PAUSE[0], **changes}]}
    return replace(switch, model=replace(switch.model, nos={"nxos": settings}))


def with_users(*users: Account) -> Switch:
    switch = fitting_switch()
    return replace(switch, management=replace(switch.management, users=users))


def with_balancing(name: str, balancing: LoadBalancing) -> Switch:
    return replace(variant(name), load_balancing=balancing)


CASES = {
    "FAB5401": with_port(fitting_switch(), children=1, speed_gbps=1600),
    "FAB5402": with_port(fitting_switch(), children=4, speed_gbps=200, lanes=2),
    "FAB5403": with_port(fitting_switch(), mtu=9217),
    "FAB5404": with_class(fitting_switch(), "rdma", priority=8),
    "FAB5405": with_class(fitting_switch(), "default", weight_percent=11),
    "FAB5406": with_profile(fitting_switch(), ecn=Ecn(1000, 999, 10)),
    "FAB5407": with_pause(resume_bytes=900_001),
    "FAB5410": with_watchdog(fitting_switch(), Watchdog(10_001, 400, 200, "drop")),
    "FAB5411": with_watchdog(fitting_switch(), Watchdog(250, 400, 200, "drop")),
    "FAB5412": with_watchdog(fitting_switch(), Watchdog(200, 400, 200, "forward")),
    "FAB5413": with_bgp(fitting_switch(), maximum_paths=65),
    "FAB5414": with_bgp(fitting_switch(), bfd_interval_ms=1000),
    "FAB5415": with_users(),
    "FAB5416": replace(variant("silicon-one/numbered"), release="10.4"),
    "FAB5417": with_users(Account("ann", "sk-ssh-ed25519@openssh.com AAAAa")),
    "FAB5418": with_balancing("cloudscale/numbered", LoadBalancing(Spreading.PACKET)),
    "FAB5419": with_balancing("cloudscale/settings", LoadBalancing(Spreading.FLOWLET)),
    "FAB5420": with_balancing("cloudscale/numbered", LoadBalancing(queue_pairs=True)),
    "FAB5421": with_management(fitting_switch(), lldp_interval_s=64),
    "FAB5422": with_management(fitting_switch(), access=("172.16.8.0/24",), address="2001:db8::b/64"),
    "FAB5685": fitting_switch(),
    "FAB5686": with_cable_length(fitting_switch(), 301),
    "FAB9045": fitting_switch(),
}


@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("cloudscale")])
def test_a_switch_that_fits_has_no_gap(name: str) -> None:
    reported = {gap.code for gap in NXOS.gaps(variant(name))}
    expected = {"FAB5419", "FAB5844"} if name.endswith("settings") else set()
    if not name.endswith(("settings", "radius")):  # whose servers check the login of a push
        expected = {"FAB9045", "FAB5843"}
    assert reported == expected | (set() if name.endswith("lossy") else {"FAB5685"})


@pytest.mark.parametrize("code", CASES)
def test_each_gap_is_found_with_reason_and_remedy(code: str) -> None:
    found = [gap for gap in NXOS.gaps(CASES[code]) if gap.code == code]
    assert len(found) == 1
    assert found[0].fatal == (code not in NOT_FATAL)
    assert found[0].feature
    assert found[0].reason
    assert found[0].remedy


def test_every_code_of_the_back_end_has_a_case() -> None:
    assert {
        code for code in TITLES if code.startswith(("FAB54", "FAB5685", "FAB5686", "FAB9045"))
    } == CASES.keys()


@pytest.mark.parametrize("code", sorted(NOT_FATAL))
def test_settings_with_warnings_read_back_as_planned(code: str) -> None:
    switch = CASES[code]
    reading = NXOS.read(NXOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == NXOS.planned(switch)


@pytest.mark.parametrize(
    ("requested", "held"),
    [
        (Watchdog(200, 400, 200, "drop"), (200, 400, 200)),
        (Watchdog(200, 400, 100, "drop"), (200, 400, 100)),
        (Watchdog(200, 400, 50, "drop"), (200, 400, 100)),
        (Watchdog(250, 450, 100, "drop"), (300, 500, 100)),
        (Watchdog(5_000, 400, 100, "drop"), (5_000, 500, 500)),
        (Watchdog(200, 30_000, 200, "drop"), (300, 30_000, 300)),
    ],
)
def test_the_watchdog_acts_no_earlier_than_requested(requested: Watchdog, held: tuple[int, int, int]) -> None:
    facts = NXOS.planned(with_watchdog(fitting_switch(), requested))
    names = ("detect_ms", "restore_ms", "poll_ms")
    assert tuple(facts[f"watchdog/{name}"] for name in names) == held
    assert "FAB5410" not in {gap.code for gap in NXOS.gaps(with_watchdog(fitting_switch(), requested))}


@pytest.mark.parametrize(
    ("name", "release", "has"),
    [
        ("cloudscale/settings", "10.3", False),
        ("cloudscale/settings", "10.4", False),
        ("cloudscale/settings", "10.5", True),
        ("cloudscale/settings", "10.6", True),
        ("silicon-one/settings", "10.6", False),
    ],
)
def test_dynamic_load_balancing_is_there_from_a_release_on(name: str, release: str, has: bool) -> None:
    switch = replace(
        with_balancing(name, LoadBalancing(Spreading.FLOWLET, flowlet_idle_us=500)), release=release
    )
    refused = [gap.feature for gap in NXOS.gaps(switch) if gap.code == "FAB5418"]
    assert refused == (
        [] if has else [SETTINGS["load_balancing/mode"], SETTINGS["load_balancing/flowlet_idle_us"]]
    )
    assert ("hardware profile dlb" in NXOS.render(switch)["running-config.cfg"]) == has
    assert list(find_unexpressed(switch, NXOS, NXOS.gaps(switch))) == []


def test_every_setting_is_expressed_or_has_its_own_gap() -> None:
    for name in ("cloudscale/settings", "silicon-one/settings"):
        switch = with_balancing(name, LoadBalancing(Spreading.FLOWLET, queue_pairs=True, flowlet_idle_us=500))
        assert list(find_unexpressed(switch, NXOS, NXOS.gaps(switch))) == []


def test_a_key_of_another_type_is_reported_once() -> None:
    key = NtpKey(1, "sha1", "secret:ntp")
    switch = with_management(fitting_switch(), ntp=("172.16.0.2",), ntp_key=key)
    gaps = NXOS.gaps(switch)
    assert [gap.code for gap in gaps if "type sha1" in gap.reason] == ["FAB5841"]
    assert list(find_unexpressed(switch, NXOS, gaps)) == []
