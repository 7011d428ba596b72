"""A setting is harmful from the value on at which something stops to work, and harmless below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.harmful_settings import Scale, harm_of_session, harm_of_switch

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value

SCALE = Scale(sessions=4, neighbors=20, prefixes=2, hold_s=9, upper=True)


@pytest.mark.parametrize(
    ("leaf", "harmful", "harmless"),
    [
        ("setting[advertisement-interval]", "600", "30"),
        ("setting[timers connect]", "65535", "120"),
        ("setting[port]", "1179", "179"),
        ("setting[ipv4 maximum-prefix-out]", "1", "2"),
        ("setting[ipv4 attribute-unchanged as-path]", "true", "false"),
        ("setting[ipv6 route-server-client]", "true", "false"),
        ("setting[graceful-shutdown activate]", "on", "off"),
        ("maximum_prefixes", "1", "2"),
    ],
)
def test_a_setting_of_a_session_is_harmful_from_a_value_on(leaf: str, harmful: str, harmless: str) -> None:
    assert harm_of_session(leaf, harmful, SCALE)
    assert harm_of_session(leaf, harmless, SCALE) is None


@pytest.mark.parametrize(
    ("path", "harmful", "harmless"),
    [
        ("bgp/setting[update-delay]", "3600", "120"),
        ("bgp/setting[max-med]", "administrative", "on-startup 300"),
        ("bgp/setting[minimum-holdtime]", "10", "9"),
        ("qos/setting[hardware profile pfc mmu]", "buffer-reservation 0", "buffer-reservation 40"),
        ("kernel[net.ipv4.conf.swp1.forwarding]", 0, 1),
        ("kernel[net.ipv4.conf.all.arp_ignore]", 8, 1),
        ("kernel[net.ipv6.neigh.default.gc_thresh3]", 8, 20),
        ("kernel[net.ipv4.conf.all.accept_source_route]", 1, 0),
        ("daemon[zebra]/netlink_bytes", 1000, 90_000_000),
        ("daemon/open_files", 16, 1024),
    ],
)
def test_a_setting_of_a_switch_is_harmful_from_a_value_on(path: str, harmful: Value, harmless: Value) -> None:
    assert harm_of_switch(path, harmful, SCALE)
    assert harm_of_switch(path, harmless, SCALE) is None


def test_the_worst_metric_of_the_only_spine_is_harmless() -> None:
    assert harm_of_switch("bgp/setting[max-med]", "administrative", Scale(upper=False)) is None
