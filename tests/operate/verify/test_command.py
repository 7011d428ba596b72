"""`fabricc verify` as a user runs it, against simulated switches over real sockets, and single comparisons."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.cli.entry import run
from fabricc.fabric.qos import SwitchQos
from fabricc.operate.verify import verify_switch
from fabricc.operate.verify.widths import Widths
from tests import tenanted
from tests.operate.lab import specs
from tests.operate.push.network import SIMULATED, Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.fabric.model import Switch
    from fabricc.operate.verify.model import Deviation


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    monkeypatch.syspath_prepend(str(SIMULATED))
    found = Network.start(tmp_path)
    yield found
    found.stop()


@pytest.fixture
def verify(network: Network, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*options: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = run(["verify", str(network.source.tree), "--access", str(network.access), *options])
        reported = capsys.readouterr()
        return status, reported.out, reported.err

    return call


def test_the_command_from_end_to_end(network: Network, verify: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = verify()
    assert status == 0, out
    assert "6 switches without it" in out, "the simulated driver has no LLDP"
    assert "all compared facts are as planned" in out

    text = network.runs("spine01a").replace("maximum-prefix 16", "maximum-prefix 99")
    assert text != network.runs("spine01a")
    network.ask("load", "spine01a", text=text)
    network.ask("commit", "spine01a", revert_in=None)
    status, out, _ = verify("--format", "json", "--only", "config,bgp")
    report = json.loads(out)
    assert status == report["exit_status"] == 1
    assert {one["device"] for one in report["findings"]} == {"spine01a"}
    one = report["findings"][0]
    assert one["code"] == "FAB9251"
    assert "maximum_prefixes runs 99, the tree has 16" in one["message"]
    assert "maximum-prefix 16" in Path(one["file"]).read_text().splitlines()[one["line"] - 1]
    assert list(report["compared"]) == ["bgp", "config"]
    assert verify("--devices", "spine02a,su001-tor1a")[0] == 0, "the others are not contacted"

    network.ask("cut", "spine02a")
    status, out, _ = verify("--format", "junit")
    assert status == 3
    root = ElementTree.fromstring(out.encode())
    assert {case.get("name") for case in root.iterfind(".//testcase[error]")} == {"spine02a"}
    assert {case.get("name") for case in root.iterfind(".//testcase[failure]")} == {"spine01a"}
    assert root.get("tests") == str(len(list(root.iter("testcase"))))
    status, out, _ = verify("--format", "markdown")
    assert f"- spine02a ({network.source.devices['spine02a'].address}) cannot be logged in to" in out
    assert "See that it is up" in out
    assert "help: See that it is up" in verify()[1]
    assert "| config | 5 |" in out


def test_nothing_is_as_planned_of_which_nothing_was_compared(
    network: Network, verify: Callable[..., tuple[int, str, str]]
) -> None:
    status, out, _ = verify("--only", "cabling")
    assert status == 3, "the simulated driver has no LLDP"
    assert "nothing was compared" in out
    network.stop()
    for format_ in ("table", "markdown", "json"):
        status, out, _ = verify("--format", format_)
        assert status == 3
        assert "as planned" not in out
    assert "nothing was compared" in verify("--format", "markdown")[1]
    assert "nothing was compared" in verify()[1]


def test_verify_rejects_unknown_devices_and_aspects(
    network: Network, verify: Callable[..., tuple[int, str, str]]
) -> None:
    assert "FAB9127" in verify("--devices", "nobody")[2]
    assert verify("--only", "weather")[0] == 2
    (network.spec.parent / "fabricc-access.yaml").unlink()
    assert "FAB9101" in verify()[2]


@pytest.fixture
def planned(tmp_path: Path) -> Switch:
    return next(one for one in specs.network(specs.two_tiers(tmp_path)).switches if one.name == "spine01a")


def finding_messages(result: tuple[list[Deviation], int]) -> list[str]:
    return [one.diagnostic.message for one in result[0]]


def test_sessions(planned: Switch) -> None:
    peers: dict[str, Any] = {
        str(one.remote): {"is_up": True, "remote_as": one.remote_asn} for one in planned.bgp.sessions
    }
    assert finding_messages(verify_switch.compare_sessions(planned, {"global": {"peers": peers}})) == []
    first, second, third = (str(one.remote) for one in planned.bgp.sessions[:3])
    wrong = {**peers, first: {"is_up": False, "is_enabled": True}, second: {"is_up": True, "remote_as": 7}}
    del wrong[third]
    output = finding_messages(
        verify_switch.compare_sessions(
            planned, {"global": {"peers": {**wrong, "192.0.2.9": {"is_up": True}}}}
        )
    )
    assert [text.split(") ", 1)[1] for text in output] == [
        "is down",
        f"is with AS 7, planned is {planned.bgp.sessions[1].remote_asn}",
        "is not configured",
        "is not planned",
    ]


def test_interfaces(planned: Switch) -> None:
    right = {
        port.name: {
            "is_up": True,
            "is_enabled": True,
            "speed": port.speed_gbps * 1000.0,
            "mtu": port.mtu + 14,
        }
        for port in planned.ports
        if port.peer
    }
    assert finding_messages(verify_switch.compare_ports(planned, right, None, 0)) == []
    a, b, c, d = list(right)[:4]
    wrong = {**right, a: {**right[a], "is_up": False}, b: {**right[b], "mtu": 1500, "speed": 40000.0}}
    wrong[c] = {**right[c], "is_enabled": False}
    counted = {d: {"rx_errors": 90, "tx_errors": 11}}
    found, count = verify_switch.compare_ports(planned, wrong, counted, 100)
    assert count == 4
    assert [one.diagnostic.code for one in found] == ["FAB9231", "FAB9232", "FAB9233", "FAB9231", "FAB9234"]
    assert found[-1].diagnostic.severity is Severity.WARNING
    assert [one.port_down for one in found] == [a, "", "", c, ""]


def test_counters_of_lossless_classes(planned: Switch) -> None:
    port, other = [one.name for one in planned.ports if one.peer][:2]
    assert planned.qos.lossless[0].priority == 3
    reported = {
        "pfc_rx": {port: {"3": 12, "4": 5}, other: {"all": 7}},
        "storms": {port: {"3": 2}},
        "dropped": {port: {"0": 1000, "3": 4}, other: {"0": 9}},
    }
    found, count = verify_switch.compare_counters(planned, reported)
    assert [one.diagnostic.message for one in found] == [
        f"spine01a: port {port} was sent PFC frames of classes that are not lossless: 5 for priority 4",
        f"spine01a: the PFC watchdog of port {port} detected 2 storms",
        f"spine01a: port {port} dropped 4 packets of lossless classes",
    ]
    assert [one.diagnostic.severity for one in found] == [Severity.ERROR, Severity.WARNING, Severity.WARNING]
    assert count == 2
    lossy = replace(planned, qos=SwitchQos((), (), None, None))
    assert [one.diagnostic.code for one in verify_switch.compare_counters(lossy, reported)[0]] == [
        "FAB9241",
        "FAB9242",
    ]


def test_counters_are_shown_the_worst_first_and_what_is_not_stated_as_such() -> None:
    calm = {"pfc_rx": {"swp1": {"3": 1000}}, "storms": {"swp1": {"3": 0}}}
    sick = {"pfc_rx": {"swp1": {"3": 1, "4": 1}, "swp2": {"all": 1}}, "storms": {"swp1": {"3": 1}}}
    assert dict(verify_switch.sum_counters({"calm": calm, "sick": sick})) == {
        "sick": [3, None, None, 1, None],
        "calm": [1000, None, None, 0, None],
    }
    assert next(iter(verify_switch.sum_counters({"calm": calm, "sick": sick})))[0] == "sick"


def test_routes_are_reported_by_class(tmp_path: Path) -> None:
    fabric = specs.network(specs.two_tiers(tmp_path)).fabric
    widths = Widths.of(fabric)
    assert widths is not None
    at = next(fabric.switch_ids())
    reported = widths.count_next_hops(at)
    assert verify_switch.compare_routes("x", at, widths, reported) == ([], len(reported))
    aggregates = [prefix for prefix in reported if widths.kind(at, prefix) == "ToR aggregates"]
    wrong = {**reported, aggregates[0]: 1, aggregates[1]: 1, "192.0.2.0/24": 2}
    del wrong[aggregates[2]]
    assert finding_messages(verify_switch.compare_routes("x", at, widths, wrong)) == [
        f"x: 2 of 3 ToR aggregates have 1 next hop, planned 2: {aggregates[0]}, {aggregates[1]}",
        f"x: 1 of 3 ToR aggregates is not reached: {aggregates[2]}",
        "x: 1 BGP route that the plan does not have: 192.0.2.0/24",
    ]


def test_sessions_between_loopbacks_are_compared_too() -> None:
    spine = tenanted.switch("junos", tenanted.SPINE)
    up = {
        each.remote: {"is_up": True, "remote_as": each.remote_asn}
        for each in spine.bgp.every_session
        if each.remote is not None
    }
    assert verify_switch.compare_sessions(spine, {"global": {"peers": up}}) == ([], len(up))
    (away,) = (each for each in spine.bgp.overlay if each.peer == tenanted.TOR)
    del up[str(away.remote)]
    found, _ = verify_switch.compare_sessions(spine, {"global": {"peers": up}})
    assert [each.diagnostic.code for each in found] == ["FAB9211"]
