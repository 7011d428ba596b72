"""Gaps of Junos are reported with a remedy, and values are rounded in the same way in text and plan."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.junos import FILE, JUNOS
from fabricc.back.nos.junos.bgp import maximum_ecmp
from fabricc.back.nos.junos.qos import percent_of, queue_bytes
from fabricc.compiler.render.overlays import find_unexpressed
from fabricc.fabric.model import Account, LoginServers
from fabricc.fabric.qos import Ecn, Watchdog
from fabricc.fabric.routing import LoadBalancing, PrefixList, PrefixRule
from tests.back.nos.changed import (
    with_bgp,
    with_class,
    with_management,
    with_port,
    with_profile,
    with_watchdog,
)
from tests.back.nos.junos.variants import VARIANTS, variant

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

FATAL = {
    "FAB5501", "FAB5502", "FAB5503", "FAB5504", "FAB5506", "FAB5510", "FAB5511", "FAB5513", "FAB5514", "FAB5515",
    "FAB5516", "FAB5518", "FAB5519", "FAB5521", "FAB5523", "FAB5681",
}  # fmt: skip
ALWAYS = {"FAB5505", "FAB5507", "FAB5843"}  # of every lossless switch without access networks


def fitting_switch() -> Switch:
    """The sample with timers that Junos can hold: polls twice as frequent as detection, BFD once a second."""
    return with_timers(with_watchdog(variant("evo-numbered"), Watchdog(200, 400, 100, "drop")))


def with_timers(switch: Switch) -> Switch:
    """A switch with timers of BGP and BFD that Junos can hold."""
    return replace(switch, bgp=replace(switch.bgp, keepalive_s=3, hold_s=9, bfd_interval_ms=1000))


def with_users(*keys: str) -> Switch:
    switch = fitting_switch()
    users = tuple(Account(f"user{index}", key) for index, key in enumerate(keys))
    return replace(switch, management=replace(switch.management, users=users))


def with_assumed_figures(switch: Switch) -> Switch:
    """A switch whose headroom figures are those of another maker's box."""
    sources = {"buffers.formula": "assumed: those of another box"}
    return replace(switch, model=replace(switch.model, sources=sources))


def on_express(switch: Switch) -> Switch:
    """A switch with the ASIC of a PTX10002."""
    return replace(switch, model=replace(switch.model, asic_family="express"))


OVERLAPPING = PrefixList("POOL", 4, (PrefixRule("10.1.0.0/16", 24, 24), PrefixRule("10.0.0.0/8", 32, 32)))
CASES = {
    "FAB5501": with_port(fitting_switch(), speed_gbps=1600),
    "FAB5502": with_port(fitting_switch(), mtu=9216),
    "FAB5503": with_class(fitting_switch(), "rdma", priority=8),
    "FAB5504": with_class(fitting_switch(), "default", weight_percent=0),
    "FAB5505": fitting_switch(),
    "FAB5506": with_profile(fitting_switch(), ecn={"max_percent": 0}),
    "FAB5507": fitting_switch(),
    "FAB5508": variant("classic-numbered"),
    "FAB5509": with_profile(fitting_switch(), headroom={"dynamic_th": -2}),
    "FAB5510": with_profile(fitting_switch(), headroom={"xoff_bytes": 30_000_000}),
    "FAB5524": with_assumed_figures(with_profile(fitting_switch(), headroom={"xoff_bytes": 30_000_000})),
    "FAB5511": with_watchdog(variant("evo-numbered"), Watchdog(200, 400, 50, "drop")),
    "FAB5512": with_watchdog(variant("evo-numbered"), Watchdog(250, 400, 100, "drop")),
    "FAB5513": with_users(),
    "FAB5514": with_users("ssh-dss AAAA"),
    "FAB5515": with_bgp(fitting_switch(), maximum_paths=513),
    "FAB5516": with_bgp(fitting_switch(), bfd_multiplier=0),
    "FAB5517": with_bgp(fitting_switch(), keepalive_s=5),
    "FAB5518": with_bgp(fitting_switch(), prefix_lists=(OVERLAPPING,)),
    "FAB5519": with_management(
        fitting_switch(), access=("172.16.8.0/24",), address="2001:db8::b/64", gateway="2001:db8::1"
    ),
    "FAB5520": with_management(fitting_switch(), gnmi_port=9339),
    "FAB5521": with_management(
        fitting_switch(),
        users=(Account("remote", "ssh-ed25519 AAAA"),),
        tacacs=LoginServers(("172.16.0.5",), "FABRICC-SECRET-t"),
    ),
    "FAB5522": replace(fitting_switch(), load_balancing=LoadBalancing(queue_pairs=True)),
    "FAB5523": replace(variant("classic-settings"), release="21.4"),
    "FAB5527": on_express(with_class(fitting_switch(), "default", strict=True, weight_percent=0)),
    "FAB5680": with_bgp(fitting_switch(), bfd_interval_ms=300),
    "FAB5681": with_bgp(fitting_switch(), bfd_interval_ms=300, keepalive_s=1, hold_s=3),
}


def test_a_switch_that_fits_has_only_the_gaps_of_every_lossless_switch() -> None:
    assert {gap.code for gap in JUNOS.gaps(fitting_switch())} == ALWAYS
    assert {gap.code for gap in JUNOS.gaps(with_timers(variant("evo-lossy")))} == {"FAB5843"}


def test_an_interval_that_is_assumed_for_a_ptx_is_reported_as_assumed() -> None:
    slow = with_bgp(fitting_switch(), bfd_interval_ms=300)
    reasons = [
        gap.reason for each in (slow, on_express(slow)) for gap in JUNOS.gaps(each) if gap.code == "FAB5680"
    ]
    assert ["by assumption this one" in reason for reason in reasons] == [False, True]


@pytest.mark.parametrize("code", CASES)
def test_each_gap_is_found_with_reason_and_remedy(code: str) -> None:
    found = [gap for gap in JUNOS.gaps(CASES[code]) if gap.code == code]
    assert len(found) == 1
    assert found[0].fatal == (code in FATAL)
    assert found[0].feature
    assert found[0].reason
    assert found[0].remedy


@pytest.mark.parametrize("code", sorted(CASES.keys() - FATAL))
def test_settings_with_warnings_read_back_as_planned(code: str) -> None:
    switch = CASES[code]
    reading = JUNOS.read(JUNOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == JUNOS.planned(switch)


@pytest.mark.parametrize(
    ("rules", "hidden"),
    [
        ([("0.0.0.0/0", None, None), ("198.18.0.0/16", None, None)], ""),
        ([("0.0.0.0/0", None, None), ("198.18.0.0/16", None, 24), ("198.18.4.0/22", None, 24)], ""),
        ([("198.18.0.0/16", None, None), ("198.18.0.0/16", 24, 24)], ""),
        ([("0.0.0.0/0", None, 16), ("198.18.0.0/16", None, None), ("198.18.9.0/24", None, None)], ""),
        ([("0.0.0.0/0", None, 24), ("198.18.0.0/16", None, None)], "198.18.0.0/16 lies within 0.0.0.0/0 "),
        ([("10.0.0.0/8", 32, 32), ("10.1.0.0/16", None, None), ("10.9.0.0/16", 32, None)], "10.1.0.0/16 lies within"),
        ([("10.0.0.0/8", None, 24), ("10.1.0.0/16", None, 24), ("10.9.0.0/16", None, 20)], "10.9.0.0/16 lies within"),
        ([("::/0", None, None), ("2001:db8::/32", None, 48)], ""),
        ([("::/0", 48, None), ("2001:db8::/32", None, 48)], "2001:db8::/32 lies within ::/0 "),
    ],
)  # fmt: skip
def test_a_prefix_within_another_is_refused_where_it_permits_less(
    rules: list[tuple[str, int | None, int | None]], hidden: str
) -> None:
    listed = PrefixList("OUTSIDE", 6 if ":" in rules[0][0] else 4, tuple(PrefixRule(*rule) for rule in rules))
    found = [
        gap.feature
        for gap in JUNOS.gaps(with_bgp(fitting_switch(), prefix_lists=(listed,)))
        if gap.code == "FAB5518"
    ]
    assert len(found) == bool(hidden)
    assert all(hidden in feature for feature in found)


@pytest.mark.parametrize(("requested", "written"), [(300, 1000), (1000, 1000), (1500, 1500), (None, None)])
def test_bfd_is_no_faster_than_the_platform_supports(requested: int | None, written: int | None) -> None:
    switch = with_bgp(fitting_switch(), bfd_interval_ms=requested)
    text = JUNOS.render(switch)[FILE]
    assert re.findall(r"minimum-interval (\d+);", text) == ([] if written is None else [str(written)])
    reported = {gap.code for gap in JUNOS.gaps(switch)} - ALWAYS
    assert reported == ({"FAB5680"} if written != requested else set())


@pytest.mark.parametrize("name", VARIANTS)
def test_no_sample_has_a_fatal_gap(name: str) -> None:
    assert not [gap for gap in JUNOS.gaps(variant(name)) if gap.fatal]


@pytest.mark.parametrize("name", ["evo-settings", "evo-settings-unnumbered", "classic-settings"])
def test_no_setting_is_passed_over(name: str) -> None:
    switch = variant(name)
    assert list(find_unexpressed(switch, load("junos"), JUNOS.gaps(switch))) == []


def test_an_older_release_lacks_what_its_model_has_not() -> None:
    def features(name: str, release: str) -> list[str]:
        gaps = JUNOS.gaps(replace(variant(name), release=release))
        return [gap.feature for gap in gaps if gap.code == "FAB5523"]

    unnumbered, gnmi, tls = "BGP sessions over unnumbered links", "gNMI telemetry", "syslog over TLS"
    assert features("classic-settings-unnumbered", "20.4") == [unnumbered, gnmi, tls]
    assert features("classic-settings-unnumbered", "21.4") == [gnmi]
    assert features("classic-settings-unnumbered", "22.4") == []
    assert features("evo-numbered", "22.4") == ["Junos OS Evolved", "a watchdog for PFC"]
    assert features("evo-settings-unnumbered", "23.4") == []


def test_queue_pairs_are_refused_where_nothing_is_published() -> None:
    switch = variant("classic-settings")
    balancing = replace(switch.load_balancing, queue_pairs=True)
    gaps = JUNOS.gaps(replace(switch, load_balancing=balancing))
    assert [(g.code, g.fatal) for g in gaps if g.feature == "hashing of RoCE queue pairs"] == [
        ("FAB5523", True)
    ]


def test_a_queue_that_is_not_marked_has_no_thresholds() -> None:
    switch = fitting_switch()
    profiles = tuple(replace(profile, ecn=None) for profile in switch.qos.profiles)
    switch = replace(switch, qos=replace(switch.qos, profiles=profiles))
    assert "FAB5505" not in {gap.code for gap in JUNOS.gaps(switch)}
    assert not any("ecn" in path for path in JUNOS.planned(switch))
    assert "explicit-congestion-notification" not in JUNOS.render(switch)["juniper.conf"]


def test_fill_levels_ascend_from_one_percent_and_round_towards_early_marking() -> None:
    marking = Ecn(550, 896, 20)
    assert (percent_of(marking, 1000).low, percent_of(marking, 1000).high) == (55, 89)
    assert (percent_of(marking, 10**9).low, percent_of(marking, 10**9).high) == (1, 2)
    assert (percent_of(marking, 1).low, percent_of(marking, 1).high) == (99, 100)
    assert (percent_of(Ecn(499, 501, 20), 1000).low, percent_of(Ecn(499, 501, 20), 1000).high) == (49, 50)


def test_a_queue_holds_its_share_of_the_pool() -> None:
    switch = fitting_switch()
    assert switch.qos.pools
    assert queue_bytes(switch) == switch.qos.pools.egress_lossless_bytes // 5
    assert queue_bytes(variant("evo-lossy")) == 0


def test_equal_cost_groups_come_in_steps() -> None:
    assert [maximum_ecmp(paths) for paths in (1, 16, 17, 33, 512)] == [16, 16, 32, 64, 512]


def test_headroom_shares_the_smallest_threshold_of_all_ports() -> None:
    facts = JUNOS.planned(CASES["FAB5509"])
    assert {value for path, value in facts.items() if path.endswith("/dynamic_th")} == {-2}


def test_xon_is_counted_in_cells() -> None:
    facts = JUNOS.planned(with_profile(fitting_switch(), headroom={"xon_offset_bytes": 1920}))
    assert facts["interface[et-0/0/3:0]/headroom/xon_offset_cells"] == 10
