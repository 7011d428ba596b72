"""Getters that return another kind than they promise are a finding with a place, and never a defect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.connection import Connection
from fabricc.operate.devices.getter_types import GETTERS
from fabricc.operate.push import gates
from fabricc.operate.push.options import Options
from fabricc.operate.verify import neighbors, verify_switch
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.model import Switch

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3)
NAMES = st.sampled_from(
    [
        "global",
        "peers",
        "is_up",
        "address_family",
        "received_prefixes",
        "sent_prefixes",
        "rx_errors",
        "3",
        "pfc_rx",
        "swp1",
        "mtu",
    ]
)
ANYTHING = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES | LEAVES, below, max_size=3)
)
HONEST: dict[str, Any] = {
    "get_facts": {"hostname": "spine01a", "vendor": "ours", "model": "box", "os_version": "1"},
    "get_alarms": ["fan 1"],
    "get_bgp_neighbors": {
        "global": {
            "router_id": "192.0.2.1",
            "peers": {
                "192.0.2.2": {
                    "is_up": True,
                    "address_family": {
                        "ipv4": {"received_prefixes": 7, "sent_prefixes": 3},
                        "ipv6": {"received_prefixes": 0, "sent_prefixes": 0},
                        "l2vpn": {"received_prefixes": -1, "sent_prefixes": -1},
                    },
                },
                "192.0.2.3": {"address_family": {"ipv4": {"sent_prefixes": None}, "ipv6": {}}},
            },
        }
    },
    "get_clock": 1_700_000_000,
    "get_ecmp_widths": {"10.0.0.0/30": 2},
    "get_interfaces": {
        "swp1": {"is_up": True, "is_enabled": True, "speed": 1e5, "mtu": 9216, "mac_address": ""}
    },
    "get_interfaces_counters": {"swp1": {"rx_errors": 1, "tx_errors": -1, "rx_octets": None}},
    "get_lldp_neighbors_detail": {"swp1": [{"remote_system_name": "a", "remote_port": "swp2"}]},
    "get_lossless_counters": {"pfc_rx": {"swp1": {"3": 5}}},
    "get_router_macs": {"20001": {"10.128.0.4": "02:00:0a:80:00:04"}},
}


class Driver:
    """A driver whose getters return the values of a test."""

    def __init__(self, **reported: Any) -> None:
        for name, value in reported.items():
            setattr(self, name, lambda value=value: value)


def make_connection(**reported: Any) -> Connection:
    return Connection("spine01a", Driver(**reported), str)


@pytest.fixture(scope="module")
def spine(tmp_path_factory: pytest.TempPathFactory) -> Switch:
    fabric = specs.source(specs.two_tiers(tmp_path_factory.mktemp("spec"))).fabric
    return fabric.switch(next(at for at in fabric.switch_ids() if fabric.name(at) == "spine01a"))


def test_getter_results_arrive_in_measurements() -> None:
    assert HONEST.keys() == GETTERS.keys()
    found = gates.measure_switch(make_connection(**HONEST))
    assert found["sessions"] == {"192.0.2.2": [True, 7], "192.0.2.3": [False, 0]}
    assert found["announced"] == {"192.0.2.2": {"ipv4": 3, "ipv6": 0}}, (
        "a driver that has no number states none"
    )
    assert (found["errors"], found["widths"], found["alarms"]) == ({"swp1": 1}, {"10.0.0.0/30": 2}, ["fan 1"])


@pytest.mark.parametrize(
    ("method", "reported", "where"),
    [
        (
            "get_interfaces_counters",
            {"swp1": {"rx_errors": "many"}},
            "get_interfaces_counters.swp1.rx_errors",
        ),
        ("get_lossless_counters", {"pfc_rx": {"swp1": {"3": [1]}}}, "get_lossless_counters.pfc_rx.swp1.3"),
        ("get_lossless_counters", [], "get_lossless_counters is []"),
        ("get_bgp_neighbors", {"global": {"peers": {"a": {"is_up": "yes"}}}}, "peers.a.is_up"),
        ("get_ecmp_widths", {"10.0.0.0/30": float("nan")}, "10.0.0.0/30"),
        ("get_alarms", "fan 1", "get_alarms"),
    ],
)
def test_another_kind_is_a_finding_with_its_place(method: str, reported: Any, where: str) -> None:
    with pytest.raises(DeviceError) as error:
        gates.measure_switch(make_connection(**{method: reported}))
    assert error.value.code == "FAB9105"
    assert where in str(error.value)


def test_digits_and_nothing_are_numbers() -> None:
    reported = {"swp1": {"rx_errors": "5", "tx_errors": None}}
    assert gates.read_counters(make_connection(get_interfaces_counters=reported))["errors"] == {"swp1": 5}


@pytest.mark.parametrize("method", sorted(GETTERS))
def test_malformed_getter_results_are_measured_or_rejected(method: str, spine: Switch) -> None:
    judge: dict[str, Callable[[Any], Any]] = {
        "get_bgp_neighbors": lambda reported: verify_switch.compare_sessions(spine, reported),
        "get_interfaces": lambda reported: verify_switch.compare_ports(spine, reported, None, 0),
        "get_interfaces_counters": lambda reported: verify_switch.compare_ports(spine, {}, reported, 0),
        "get_lldp_neighbors_detail": lambda reported: neighbors.read_lldp_view(spine, reported),
    }
    before = gates.measure_switch(make_connection(**HONEST))

    @given(ANYTHING)
    def hold(reported: Any) -> None:
        requested = make_connection(**{**HONEST, method: reported})
        try:
            now = gates.measure_switch(requested)
            if method in judge:
                judge[method](requested.getter(method))
        except DeviceError:
            return
        for old, new in ((before, now), (now, before)):
            gates.find_regressions(spine, old, new, (), (), widths=True)
            gates.find_silent_sessions(spine, old, new, ())
            gates.find_lasting_errors(spine, old, new, Options())
            gates.find_congestion(spine, old, new, Options())

    hold()


@given(ANYTHING | st.dictionaries(st.sampled_from(["running", "startup"]), ANYTHING))
def test_a_configuration_that_is_no_text_is_a_finding(answer: Any) -> None:
    class Printer:
        def get_config(self, **_: str) -> Any:
            return answer

    printed = Connection("tor1", Printer(), str)
    if isinstance(answer, dict) and isinstance(answer.get("running"), str):
        found = printed.configurations()
        assert all(isinstance(text, str) for text in found.values())
        assert found["running"] == answer["running"]
    else:
        with pytest.raises(DeviceError) as refused:
            printed.configurations()
        assert refused.value.diagnostic.code == "FAB9105"


@pytest.mark.parametrize("part", ["x\n", ";", "{", "a,"])
def test_a_configuration_with_more_statements_than_any_is_refused(part: str) -> None:
    class Printer:
        def get_config(self, **_: str) -> dict[str, str]:
            return {"running": "hostname tor1\n", "startup": part * 1_000_001}

    with pytest.raises(DeviceError, match="the startup configuration has more than 1,000,000 lines or st"):
        Connection("tor1", Printer(), str).configurations()
