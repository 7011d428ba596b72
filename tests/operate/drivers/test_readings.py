"""Counters of lossless classes, next hops and alarms, through the real driver of every system, over real sockets."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree
from napalm import get_network_driver
from napalm.base.exceptions import ConnectAuthError, ConnectionClosedException

from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.connection import Connection
from fabricc.operate.devices.getter_types import GETTERS
from fabricc.operate.drivers import DRIVERS, linux_views, nvue_views
from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.eos_views import read_cooling, read_temperature
from fabricc.operate.drivers.junos_views import read_alarms
from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, KINDS, PFC_RX, PFC_TX, STORMS, CounterTotals
from fabricc.operate.push.gates import list_getters, measure_health, measure_switch
from tests.operate.drivers.servers.eos import eos_switch
from tests.operate.drivers.servers.junos import junos_switch
from tests.operate.drivers.servers.linux_switch import linux_switch
from tests.operate.drivers.servers.nxos import nxos_switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fabricc.operate.drivers.lossless import Counters

SERVERS: dict[str, Callable[[Path], Any]] = {
    "eos": eos_switch,
    "nxos": nxos_switch,
    "junos": junos_switch,
    "sonic": lambda folder: linux_switch(folder, "sonic", '{"DEVICE_METADATA": {"localhost": {}}}'),
    "cumulus": lambda folder: linux_switch(folder, "cumulus", "- header: {}\n"),
}
PORTS = {
    "eos": ("Ethernet1/1", "Ethernet2/1"),
    "nxos": ("Ethernet1/1", "Ethernet1/2/1"),
    "junos": ("et-0/0/0", "et-0/0/32:1"),
    "sonic": ("Ethernet0", "Ethernet8"),
    "cumulus": ("swp1", "swp2s0"),
}
UNSTATED = {"junos": {STORMS}}
"""Values that a system does not report."""
TOGETHER = {"eos": {PFC_RX, PFC_TX}}
"""Counters that a system has for all classes together."""
REFUSED: dict[str, dict[str, set[str]]] = {
    "eos": {"show priority-flow-control counters": {PFC_RX, PFC_TX, STORMS}, "show qos": {ECN_MARKED}},
    "nxos": {"show queuing pfc": {STORMS}, "show queuing tabular": {ECN_MARKED}},
    "junos": {"show interfaces queue": {DROPPED, ECN_MARKED}, "get-interface": {PFC_RX, PFC_TX}},
}
"""A beginning of commands that a platform does not have, and what it does not state then."""


@contextmanager
def open_driver(folder: Path, nos: str) -> Iterator[tuple[Any, Any]]:
    """A server and a driver that is connected to it."""
    with SERVERS[nos](folder) as server, server.device.connect(timeout=20) as driver:
        yield server, driver


def find_grown(before: Counters, now: Counters) -> dict[str, dict[str, dict[str, int]]]:
    """Return what differs."""
    return {
        kind: {
            port: {name: n for name, n in counts.items() if n != before[kind].get(port, {}).get(name, 0)}
            for port, counts in ports.items()
            if counts != before[kind].get(port, {}) and any(counts.values())
        }
        for kind, ports in now.items()
    }


@pytest.mark.parametrize("nos", SERVERS)
@pytest.mark.spread
def test_counters_are_returned_by_kind_port_and_class(nos: str, tmp_path: Path) -> None:
    first, second = PORTS[nos]
    with open_driver(tmp_path, nos) as (server, driver):
        counted = server.counted
        counted.ports = PORTS[nos]
        before = driver.get_lossless_counters()
        assert set(before) == set(KINDS) - UNSTATED.get(nos, set())
        assert not any(sum(counts.values()) for ports in before.values() for counts in ports.values())
        counted.pfc_rx, counted.pfc_tx = {first: {3: 11}}, {second: {3: 12}}
        counted.marked, counted.storms, counted.dropped = {first: {3: 13}}, {second: {3: 2}}, {first: {3: 15}}
        wanted = {PFC_RX: (first, 11), PFC_TX: (second, 12), ECN_MARKED: (first, 13), STORMS: (second, 2)}
        wanted[DROPPED] = (first, 15)
        assert find_grown(before, driver.get_lossless_counters()) == {
            kind: {port: {"all" if kind in TOGETHER.get(nos, ()) else "3": count}}
            for kind, (port, count) in wanted.items()
            if kind not in UNSTATED.get(nos, ())
        }


@pytest.mark.parametrize("nos", SERVERS)
def test_get_alarms_returns_failed_parts(nos: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        assert driver.get_alarms() == []
        server.counted.alarms = {"power supply 1": "failed"}
        (alarm,) = driver.get_alarms()
        assert "1" in alarm
        assert "supply" in alarm


@pytest.mark.parametrize("nos", SERVERS)
def test_next_hops_of_a_route_are_counted(nos: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        server.counted.routes = {"10.1.0.0/24": 4, "10.2.0.1/32": 1}
        if nos in ("sonic", "cumulus"):
            server.tell()
        assert driver.get_ecmp_widths() == {"10.1.0.0/24": 4, "10.2.0.1/32": 1}


@pytest.mark.parametrize(("nos", "refused"), [(nos, one) for nos, table in REFUSED.items() for one in table])
def test_missing_counters_are_absent_instead_of_zero(nos: str, refused: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        server.counted.ports = PORTS[nos]
        server.counted.refused = (refused,)
        reported = set(driver.get_lossless_counters())
        assert reported == set(KINDS) - UNSTATED.get(nos, set()) - REFUSED[nos][refused]
        server.counted.refused = ("show", "get-interface")
        with pytest.raises(NotImplementedError):
            driver.get_lossless_counters()


@pytest.mark.parametrize("nos", ["eos", "nxos"])
def test_unreported_health_raises_not_implemented(nos: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        server.counted.refused = ("show system environment", "show environment")
        with pytest.raises(NotImplementedError):
            driver.get_alarms()


@pytest.mark.parametrize("nos", ["eos", "nxos"])
def test_a_refused_login_is_an_error_and_no_absence(nos: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        server.faults.refuse_login = True
        with pytest.raises(ConnectAuthError):
            driver.get_lossless_counters()
    assert server.faults.refusals == 1, "the end of the session tries no other login"


def test_a_lost_connection_is_an_error_and_no_absence(tmp_path: Path) -> None:
    with junos_switch(tmp_path) as switch:
        driver = switch.device.connect(timeout=5)
        driver.open()
    with pytest.raises(
        (ConnectionClosedException, OSError)
    ):  # whichever of the session's threads sees it first
        driver.get_lossless_counters()


@pytest.mark.parametrize("nos", DRIVERS)
def test_every_driver_has_the_getters_of_push_and_verify(nos: str) -> None:
    wanted = {"get_ecmp_widths", "get_lossless_counters", "get_alarms", "get_router_macs"}
    assert wanted <= GETTERS.keys()
    lacking = {name for name in wanted if not hasattr(get_network_driver(DRIVERS[nos]), name)}
    assert lacking == ({"get_alarms"} if nos == "frr" else set())


def test_a_nexus_qos_group_is_reported_as_the_priority_that_it_pauses(tmp_path: Path) -> None:
    from fabricc.operate.drivers import nxos_views

    tally, classes = CounterTotals(), nxos_views.Classes(str)
    watched = {
        "eq-qosgrp": "5",
        "pfc-cos": "3",
        "TABLE_qosgrp_stats_entry": {"ROW_qosgrp_stats_entry": {"q-shutdown": "1"}},
    }
    row = {"if_name_str": "Ethernet1/1", "TABLE_qosgrp_stats": {"ROW_qosgrp_stats": watched}}
    nxos_views.read_watchdog({"TABLE_queuing_interface": {"ROW_queuing_interface": row}}, classes, tally)
    marks = {"counter_name_str": "uc-ecn-mark-pkts", "qos_group_5": "8"}
    row = {"if_name_str": "Ethernet1/1", "TABLE_queuing_counter": {"ROW_queuing_counter": marks}}
    nxos_views.read_marks({"TABLE_queuing_interface": [{"ROW_queuing_interface": [row]}]}, classes, tally)
    assert tally.counters() == {STORMS: {"Ethernet1/1": {"3": 1}}, ECN_MARKED: {"Ethernet1/1": {"3": 8}}}


def test_frames_that_nvue_counts_are_read_in_full() -> None:
    """A table has `75.19 KB` for these 76,993 frames; what is rounded counts all the same, and `-` does not."""
    tally = CounterTotals()
    for count in ("75.19 KB", "1.5 MB", "2 KB", "3 Bytes", "-", "n/a", "1.2.3 KB", "9.1 parsecs"):
        tally.add(DROPPED, "swp9", 0, count)
    assert tally.counters() == {DROPPED: {"swp9": {"0": 76994 + 1572864 + 2048 + 3}}}
    tally = CounterTotals()
    queues = {"3": {"tx-frames": 9, "tx-uc-buffer-discards": 76993, "ecn-marked-frames": 12}}
    answer = json.dumps({"egress-queue-stats": queues, "pfc-stats": {"3": {"rx-pause-frames": "7"}}})
    nvue_views.read_lossless(f"==> swp1 <==\n{answer}\n==> swp1.storms <==\n\n==> swp2 <==\n\n", tally)
    assert tally.counters() == {
        PFC_RX: {"swp1": {"3": 7}},
        DROPPED: {"swp1": {"3": 76993}},
        ECN_MARKED: {"swp1": {"3": 12}},
    }
    with pytest.raises(AnswerError, match="counters of swp1"):
        nvue_views.read_lossless("==> swp1 <==\nTraceback (most recent call last)\n", tally)


def test_linux_counts_pauses_where_its_driver_does() -> None:
    tally = CounterTotals()
    spectrum = (
        "NIC statistics:\n     rx_pause_prio_3: 5\n     tx_pause_duration_prio_3: 9\n     ecn_marked: 7\n"
    )
    linux_views.read_lossless(f"==> lo <==\n\n==> swp1 <==\n{spectrum}\n", tally)
    assert tally.counters() == {PFC_RX: {"swp1": {"3": 5}}, ECN_MARKED: {"swp1": {"all": 7}}}


def test_a_machine_without_pfc_states_none() -> None:
    reported = subprocess.run(linux_views.ETHTOOL, capture_output=True, text=True, check=True).stdout
    tally = CounterTotals()
    linux_views.read_lossless(reported, tally)
    with pytest.raises(NotImplementedError):
        tally.counters()


@pytest.mark.parametrize(("read", "word"), [(read_temperature, "Temperature"), (read_cooling, "Cooling")])
def test_a_virtual_switch_without_sensors_has_no_alarm(read: Any, word: str) -> None:
    """vEOS answers so (napalm issue 90); a real switch whose sensors are not read has one."""
    answer = {"systemStatus": f"unknown{word}AlarmLevel", "tempSensors": [], "powerSupplySlots": []}
    assert list(read(answer)) == []
    broken = {**answer, "powerSupplySlots": [{"label": "1"}]}
    assert list(read(broken)) == [f"{word.lower()}: unknown{word}AlarmLevel"]
    assert list(read({**answer, "systemStatus": "overheating"})) != []


def test_reminders_of_a_new_junos_switch_are_no_alarms() -> None:
    """They would stop every first push, or take it back: BGP without a license adds one after the commit."""
    detail = (
        "<alarm-detail><alarm-class>Minor</alarm-class><alarm-description>{}</alarm-description>"
        "<alarm-type>{}</alarm-type></alarm-detail>"
    )
    answer = "".join(
        detail.format(*one)
        for one in (
            ("Rescue configuration is not set", "Configuration"),
            ("Autorecovery information needs to be saved", "Autorecovery"),
            ("BGP Routing Protocol(47) usage requires a license", "System"),
            ("IPsec VPN tunneling usage requires a license", "System"),
            ("PEM 0 No Power", "Chassis"),
            ("License grace period for feature BGP has expired", "System"),
        )
    )
    found = read_alarms(etree.fromstring(f"<alarm-information>{answer}</alarm-information>"))
    assert list(found) == ["Minor: PEM 0 No Power", "Minor: License grace period for feature BGP has expired"]


@pytest.mark.parametrize("nos", ["eos", "nxos", "junos"])
def test_answers_of_a_gate_that_failed_serve_no_later_gate(nos: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        live = Connection("tor1", driver, str)
        server.counted.ports, port = PORTS[nos], PORTS[nos][0]
        server.neighbors = lambda: {"192.0.2.1": "many"}
        with pytest.raises(DeviceError, match="get_bgp_neighbors"):
            measure_switch(live)
        server.neighbors = lambda: {"192.0.2.1": 5}
        server.counted.alarms = {"power supply 1": "failed"}
        server.counted.dropped = {port: {3: 9}}
        health = measure_health(live)
        assert health["alarms"]
        assert health["lossless"].get(DROPPED, {}).get(port, {}).get("3") == 9


def test_counters_of_junos_share_one_request(tmp_path: Path) -> None:
    with open_driver(tmp_path, "junos") as (server, driver):
        getters = ("get_lossless_counters", "get_interfaces_counters")
        server.counted.ports = PORTS["junos"]
        apart = [getattr(driver, name)() for name in getters]
        before = server.requests
        driver.read_ahead(getters)
        assert [getattr(driver, name)() for name in getters] == apart
        assert server.requests - before == 2, "the counters of ports, and those of queues"
        driver.drop_ahead()
        driver.get_interfaces_counters()
        assert server.requests - before == 3


def test_junos_has_all_requests_of_a_gate_before_the_first_answer_is_needed(tmp_path: Path) -> None:
    """Each getter uses the answer to the request that was sent for it, so that they take one round trip together."""
    with open_driver(tmp_path, "junos") as (server, driver):
        server.counted.ports = PORTS["junos"]
        getters = ("get_holds", "get_identity", *list_getters(tunnels=False))
        apart = {name: getattr(driver, name)() for name in getters}
        running = driver.get_config(retrieve="running")
        driver._forget()
        before = server.requests
        driver.read_ahead((*getters, "get_config"))
        until = time.monotonic() + 10
        while server.requests < before + 10 and time.monotonic() < until:
            time.sleep(0.01)
        assert {name: getattr(driver, name)() for name in getters} == apart
        assert driver.get_config(retrieve="running") == running
        assert server.requests == before + 10
        driver.get_alarms()
        assert server.requests == before + 12, "an answer serves one getter"


@pytest.mark.parametrize("nos", ["eos", "nxos"])
def test_answers_that_no_getter_has_used_are_dropped(nos: str, tmp_path: Path) -> None:
    with open_driver(tmp_path, nos) as (server, driver):
        server.counted.ports = PORTS[nos]
        driver.read_ahead(("get_alarms", "get_lossless_counters"))
        server.counted.alarms = {"power supply 1": "failed"}
        driver.read_ahead(("get_lossless_counters",))
        assert driver.get_alarms()
        server.counted.alarms = {}
        driver.read_ahead(("get_alarms",))
        server.counted.alarms = {"power supply 1": "failed"}
        driver.drop_ahead()
        assert driver.get_alarms()
