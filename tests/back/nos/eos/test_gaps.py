"""Gaps of EOS are reported with a remedy, and values are rounded in the same way in text and plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.eos import EOS, FILE
from fabricc.fabric.model import LoginServers
from fabricc.fabric.qos import Watchdog
from tests.back.nos.changed import (
    with_bgp,
    with_class,
    with_management,
    with_port,
    with_profile,
    with_watchdog,
)
from tests.back.nos.eos.variants import VARIANTS, variant

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

FATAL = {
    "FAB5101",
    "FAB5102",
    "FAB5103",
    "FAB5105",
    "FAB5106",
    "FAB5109",
    "FAB5110",
    "FAB5114",
    "FAB5116",
    "FAB5671",
    "FAB5677",
}


def fitting_switch() -> Switch:
    """A switch EOS expresses fully: the sample with servers that check passwords."""
    switch = with_watchdog(variant("trident-numbered"), Watchdog(200, 400, 100, "drop"))
    tacacs = LoginServers(("172.16.0.5",), "FABRICC-SECRET-tacacs")
    return replace(switch, management=replace(switch.management, tacacs=tacacs))


def with_pool(headroom_bytes: int) -> Switch:
    switch = fitting_switch()
    assert switch.qos.pools
    pools = replace(switch.qos.pools, headroom_bytes=headroom_bytes)
    return replace(switch, qos=replace(switch.qos, pools=pools))


def by_delay(step_us: int) -> Switch:
    """Marks by delay; 40 us of 400G are Kmax of the longer cable, 20 us of the shorter."""
    switch = variant("delay-numbered")
    eos = {**switch.model.nos["eos"], "ecn_delay": {"step_us": step_us}}
    first, *_ = switch.qos.profiles
    qos = replace(switch.qos, profiles=(first,))
    ports = tuple(replace(port, profile=port.profile and first.name) for port in switch.ports)
    return replace(switch, model=replace(switch.model, nos={"eos": eos}), qos=qos, ports=ports)


CASES = {
    "FAB5101": with_port(fitting_switch(), speed_gbps=800, lanes=2),
    "FAB5102": with_port(fitting_switch(), mtu=9216),
    "FAB5103": with_class(fitting_switch(), "rdma", priority=8),
    "FAB5104": with_class(fitting_switch(), "cnp", priority=7),
    "FAB5105": with_class(fitting_switch(), "default", weight_percent=0),
    "FAB5106": with_profile(fitting_switch(), ecn={"max_percent": 0}),
    "FAB5107": variant("sand-numbered"),
    "FAB5108": with_profile(fitting_switch(), headroom={"dynamic_th": 4}),
    "FAB5109": with_watchdog(variant("trident-numbered"), Watchdog(61_000, 400, 100, "drop")),
    "FAB5110": with_watchdog(variant("trident-numbered"), Watchdog(200, 400, 4, "drop")),
    "FAB5111": with_watchdog(variant("trident-numbered"), Watchdog(200, 400, 200, "drop")),
    "FAB5112": with_watchdog(variant("trident-numbered"), Watchdog(200, 400, 100, "forward")),
    "FAB5113": with_class(fitting_switch(), "rdma", strict=True, weight_percent=0),
    "FAB5114": with_bgp(fitting_switch(), maximum_paths=601),
    "FAB5115": with_management(fitting_switch(), users=()),
    "FAB5116": with_bgp(fitting_switch(), bfd_interval_ms=10),
    "FAB5670": with_management(fitting_switch(), gnmi_port=6030),
    "FAB5671": with_management(
        fitting_switch(), address="2001:db8::b/64", gateway="2001:db8::1", gnmi_port=9339
    ),
    "FAB5672": with_management(fitting_switch(), tacacs=None),
    "FAB5673": with_pool(33_554_433),
    "FAB5674": by_delay(1000),
    "FAB5675": by_delay(1),
    "FAB5676": by_delay(100),
    "FAB5677": replace(by_delay(1), release="4.32"),
}


def test_a_switch_that_fits_has_no_gap() -> None:
    assert EOS.gaps(fitting_switch()) == []
    assert EOS.gaps(with_pool(33_554_432)) == []


@pytest.mark.parametrize("code", CASES)
def test_each_gap_is_found_with_reason_and_remedy(code: str) -> None:
    found = [gap for gap in EOS.gaps(CASES[code]) if gap.code == code]
    assert len(found) == 1
    assert found[0].fatal == (code in FATAL)
    assert found[0].feature
    assert found[0].reason
    assert found[0].remedy


@pytest.mark.parametrize("code", sorted(CASES.keys() - FATAL))
def test_settings_with_warnings_read_back_as_planned(code: str) -> None:
    switch = CASES[code]
    reading = EOS.read(EOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == EOS.planned(switch)


@pytest.mark.parametrize("name", VARIANTS)
def test_no_sample_has_a_fatal_gap(name: str) -> None:
    assert not [gap for gap in EOS.gaps(variant(name)) if gap.fatal]


def test_the_watchdog_polls_at_most_at_half_of_its_shorter_timer() -> None:
    facts = EOS.planned(with_watchdog(variant("trident-numbered"), Watchdog(205, 400, 200, "drop")))
    assert facts["watchdog/detect_ms"] == 210
    assert facts["watchdog/poll_ms"] == 105


def test_a_platform_without_an_absolute_resume_point_keeps_eos_s_own() -> None:
    switch = with_profile(fitting_switch(), headroom={"xon_bytes": 0})
    first = switch.ports[4].profile
    text = EOS.render(switch)[FILE]
    assert first == switch.qos.profiles[0].name
    assert "resume 0" not in text
    assert text.count("ingress resume") == len(switch.qos.profiles) - 1
    assert EOS.read({FILE: text}).facts == EOS.planned(switch)


def test_an_alpha_beyond_the_list_becomes_the_nearest() -> None:
    facts = EOS.planned(CASES["FAB5108"])
    assert facts["interface[Ethernet3/1]/headroom/dynamic_th"] == 3


def test_whole_milliseconds_and_a_delay_before_kmax_need_no_trial_and_are_not_late() -> None:
    whole = {gap.code for gap in EOS.gaps(by_delay(1000))}
    short = {gap.code for gap in EOS.gaps(by_delay(1))}
    assert "FAB5675" not in whole
    assert "FAB5676" not in short
    assert not {"FAB5674", "FAB5675", "FAB5676"} & {gap.code for gap in EOS.gaps(variant("sand-numbered"))}


def test_a_family_that_counts_bytes_has_no_delay() -> None:
    switch = by_delay(1)
    model = replace(switch.model, nos={"eos": {**switch.model.nos["eos"], "family": "trident"}})
    assert "FAB5677" in {gap.code for gap in EOS.gaps(replace(switch, model=model))}
