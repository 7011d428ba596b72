"""A live fabric of FRR switches: what is wrong with it is found over SSH, with the moves that fix it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.lab import demands, kernel, lifecycle, observe, state
from fabricc.operate.lab.node import MANAGEMENT_NODE
from tests.operate.push.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_S = 120
"""For what comes to be in seconds on an idle machine."""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *(one for one in ("sshd", "lldpd") if not shutil.which(one))]:
        pytest.skip(f"a lab to verify needs {', '.join(missing)}")
    try:
        yield Live.start(tmp_path)
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.take_down_lab(tmp_path / "lab")


def verify(live: Live, *options: str) -> tuple[int, dict[str, Any]]:
    """Run `fabricc verify` in the management namespace: exit status and its JSON."""
    words = [
        "ip",
        "netns",
        "exec",
        live.lab.record.namespace(MANAGEMENT_NODE),
        sys.executable,
        "-m",
        "fabricc",
    ]
    access = live.spec.with_name("fabricc-access.yaml")
    words += ["verify", str(live.source.tree), "--access", str(access), "--format", "json", *options]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    ran = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def verify_until(live: Live, good: Callable[[dict[str, Any]], bool]) -> tuple[int, dict[str, Any]]:
    """Verify again until the report is good, or the limit is over."""
    limit = time.monotonic() + LIMIT_S
    while True:
        status, report = verify(live)
        if good(report) or time.monotonic() > limit:
            return status, report
        time.sleep(2)  # reading takes a second of the machine that the switches run on


def sort_findings(report: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Findings by code and switch."""
    return {(one["code"], one["device"]): one for one in report["findings"]}


def routes_gone(report: dict[str, Any]) -> bool:
    """Return whether the switch with a shut session is reported to lack next hops."""
    return any((code, "su002-tor1a") in sort_findings(report) for code in ("FAB9221", "FAB9222"))


def cross_cables(live: Live, switch: str, one: str, other: str) -> None:
    """Exchange the cables in two ports of a switch, as a hand would."""
    namespace = live.lab.record.namespace(switch)
    kernel.ip_batch(
        [f"link set {port} down" for port in (one, other)]
        + [f"link set {one} name held", f"link set {other} name {one}", f"link set held name {other}"],
        namespace,
    )
    port = {p.name: p for p in live.source.switch(switch).ports}
    lines = []
    for name, came_from in ((one, other), (other, one)):
        lines += [f"addr del {port[came_from].ipv4} dev {name}", f"addr add {port[name].ipv4} dev {name}"]
        lines += [f"link set {name} up"]
    kernel.ip_batch(lines, namespace, force=True)


@pytest.mark.slow
def test_a_miswire_a_shut_session_and_a_drifted_line_are_found_with_their_fix(live: Live) -> None:
    observe.wait_for_neighbors(live.lab, live.network.neighbors(), LIMIT_S)
    status, report = verify_until(live, lambda report: not report["findings"])
    assert report["findings"] == []
    assert status == 0
    assert set(report["compared"]["cabling"]) == set(live.source.devices)

    victim = "su001-tor1a"
    ups = [p.name for p in live.source.switch(victim).ports if p.direction.value == "up"]
    cross_cables(live, victim, ups[0], ups[1])
    crossed = live.network.neighbors()
    crossed[victim] = {ups[0]: crossed[victim][ups[1]], ups[1]: crossed[victim][ups[0]]}
    for port, (spine, far) in crossed[victim].items():
        crossed[spine][far] = (victim, port)
    assert observe.wait_for_neighbors(live.lab, crossed, LIMIT_S)[victim] == crossed[victim]
    session = live.source.switch("su002-tor1a").bgp.sessions[0]
    asn = live.source.switch("su002-tor1a").bgp.asn
    shut = [f"router bgp {asn}", f"neighbor {session.remote} shutdown"]
    for lines in (shut, [f"interface {session.port}", "description somewhere else"]):
        words = [word for line in ("configure", *lines) for word in ("-c", line)]
        live.lab.run("su002-tor1a", ["vtysh", *words])
    wanted = {("FAB9201", victim), ("FAB9211", "su002-tor1a"), ("FAB9251", "su002-tor1a")}
    # The spines keep the announcements until their time to live ends; routes of the session go a little later.
    status, report = verify_until(
        live,
        lambda report: (
            bool(report["moves"]) and sort_findings(report).keys() >= wanted and routes_gone(report)
        ),
    )
    assert status == 1
    assert [[move["words"] for move in moves] for moves in report["moves"]] == [
        [f"swap the cables in ports {ups[0]} and {ups[1]} of {victim}"]
    ]
    assert sort_findings(report).keys() >= wanted
    assert "is shut down" in sort_findings(report)["FAB9211", "su002-tor1a"]["message"]
    drifted = sort_findings(report)["FAB9251", "su002-tor1a"]
    assert "/description runs somewhere else, the tree has spine0" in drifted["message"]
    ours = Path(drifted["file"]).read_text().splitlines()[drifted["line"] - 1]
    assert ours.strip().startswith("description spine0")
    assert routes_gone(report)

    live.management("spine01a", "down")
    status, report = verify(live, "--only", "interfaces", "--devices", "spine01a,spine02a")
    assert status == 3
    assert list(report["not_asked"]) == ["spine01a"]
    codes = {(one["device"], one["code"]) for one in report["findings"]}
    assert codes == set()
