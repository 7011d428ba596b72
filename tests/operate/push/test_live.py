"""A live fabric of FRR switches taken from one state to the next over SSH, with traffic running."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc.operate.lab import demands, lifecycle, making, scenarios, state
from fabricc.operate.lab.flows import Stream
from tests.operate.push import live_matrix, matrix
from tests.operate.push.live import PRIVATE, Live
from tests.operate.push.matrix import Case
from tests.operate.push.network import DISRUPTIVE, HITLESS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.operate.lab.steady import Network

VICTIM = "spine01a"
ONLY = ("--adopt", "--only", VICTIM)


@pytest.fixture(params=[4])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a push to a lab needs {', '.join(missing)}")
    try:
        yield Live.start(tmp_path, request.param)
    finally:
        if (tmp_path / "lab" / state.RECORD).exists():
            lifecycle.take_down_lab(tmp_path / "lab")


def pushed_under_traffic(live: Live, *options: str, between: Network | None = None) -> int:
    """Push, and return how many datagrams of 64 flows, of all hosts or those of a smaller network, were lost."""
    network = between or live.network
    ended: list[tuple[int, str]] = []
    with Stream(live.lab, scenarios.surviving_pairs(network, network.predict())) as stream:
        stream.start()
        scenarios.while_running(lambda: ended.append(live.push(*options)), stream)
        stream.recover(60)
        outage = stream.outage()
    assert ended[0][0] == 0, ended[0][1]
    assert outage.silent == 0
    print(f"{outage.lost} of {outage.sent} datagrams lost, longest gap {outage.worst_s * 1000:.0f} ms")
    return outage.lost


@pytest.mark.slow
@pytest.mark.parametrize("live", [2], indirect=True)
def test_a_push_killed_in_the_midst_of_a_commit_leaves_a_whole_fabric_and_is_ended_by_resume(
    live: Live,
) -> None:
    row = live_matrix.play(live, Case("committed", "commit_config", 1, "before", "kill-within"))
    assert row.wrong == ""
    assert (row.status, row.after, row.then) == (-9, "candidate", "confirmed")


@pytest.mark.slow
@pytest.mark.parametrize("live", [2], indirect=True)
def test_frr_itself_checks_a_candidate_refuses_planted_lines_and_runs_on_as_it_was(live: Live) -> None:
    live.edit(DISRUPTIVE)
    status, output = live.push("--try", "--adopt")
    assert (status, output.count("takes all")) == (0, 2), output
    before = live.runs(VICTIM)
    path = live.source.tree / "switches" / VICTIM / "frr.conf"
    lines = path.read_text().splitlines()
    timers = next(at for at, line in enumerate(lines) if line.strip().startswith("timers bgp"))
    lines[timers] = " timers bgp 3 99999999"
    lines.append("of nobody's grammar")
    digest = vouch_for_text(live, "\n".join(lines) + "\n")
    status, output = live.push("--try", "--only", VICTIM, "--tree-digest", digest)
    reported = " ".join(output.split())
    assert status == 1, output
    assert output.count("FAB9164") == 2
    for at, words in ((timers + 1, "timers bgp 3 99999999"), (len(lines), "of nobody's grammar")):
        assert f"frr.conf:{at}:" in reported
        assert re.search(rf"% Unknown command\[\d+\]: +{words}", reported), reported
    assert "printed by template frr/" in reported
    assert "printed by no built-in template" in reported
    assert "cluster.yaml" in reported.split("behind it: ")[1]
    assert live.runs(VICTIM) == before
    assert live.states() == {}
    left = live.lab.run(VICTIM, ["ls", PRIVATE]).stdout.split()
    assert not {"candidate.json", "lock.json", "frr.conf"} & set(left), left
    assert live.push("--adopt", "--dry-run", "--tree-digest", digest)[0] != 0


def vouch_for_text(live: Live, text: str) -> str:
    """Replace a switch's configuration in the tree by a text, and return the tree's digest."""
    path, manifest = live.source.tree / "switches" / VICTIM / "frr.conf", live.source.tree / "manifest.json"
    path.write_text(text)
    stated = json.loads(manifest.read_text())
    stated["files"][f"switches/{VICTIM}/frr.conf"] = hashlib.sha256(text.encode()).hexdigest()
    manifest.write_text(json.dumps(stated))
    return hashlib.sha256(manifest.read_bytes()).hexdigest()


@pytest.mark.slow
def test_live_fabric_survives_faults_at_every_step(
    tmp_path: Path,
) -> None:
    if os.geteuid() != 0 or demands.missing_programs() or not shutil.which("sshd"):
        pytest.skip("a lab needs root, FRR and sshd")
    rows = list(live_matrix.run(live_matrix.all_cases(), tmp_path))
    assert [matrix.line(row) for row in rows if row.wrong] == []


@pytest.mark.slow
@pytest.mark.parametrize("live", [2], indirect=True)
def test_the_guard_of_a_dead_push_does_not_undo_the_push_of_another_machine(live: Live) -> None:
    live.edit(DISRUPTIVE)
    times = ("--settle", "10", "--confirm-within", "10")
    guard_s = 2 * (10 + 10) + 60
    dead = live.begin(*ONLY, *times, "--drain-wait", "60")
    until = time.monotonic() + 120
    while live.states() != {VICTIM: "drained"} and time.monotonic() < until:
        time.sleep(0.1)
    dead.kill()
    dead.communicate()
    assert live.states() == {VICTIM: "drained"}

    live.edit(HITLESS)
    other = (*ONLY, "--spec", str(live.spec))
    status, output = live.push(*other, machine="-2")
    assert (status, "FAB9136" in output) == (1, True), output
    (session,) = set(re.findall(r"fabricc-1-[0-9a-f]{8}[-A-Za-z0-9]*", output))
    status, output = live.push(*other, "--take-over", session, machine="-2")
    assert (status, "FAB9137" in output or session in output) == (0, True), output
    assert "guard.json" not in live.lab.run(VICTIM, ["ls", PRIVATE]).stdout
    time.sleep(guard_s)  # until it would have acted
    assert "transmit-interval 500" in live.runs(VICTIM)
    assert "timers bgp 3 12" not in live.runs(VICTIM)
    assert "graceful-shutdown additive" not in live.runs(VICTIM)
    saved = live.lab.run(VICTIM, ["cat", "/etc/frr/frr.conf"]).stdout
    assert "transmit-interval 500" in saved
    status, output = live.push(*other, machine="-2")
    assert (status, "1 unchanged" in output) == (0, True), output

    # The first machine detects that its run is over, and changes nothing without a new order.
    live.edit(DISRUPTIVE)
    status, output = live.push("--resume")
    assert status == 3, output
    assert "transmit-interval 500" in live.runs(VICTIM)


@pytest.mark.slow
@pytest.mark.parametrize("live", [2], indirect=True)
def test_another_switch_at_an_address_is_refused(live: Live) -> None:
    """Swapped addresses, also of a switch without a name; two names on one switch; with every way to push."""
    fabric, places = live.source.fabric, live.source.places
    addresses = {name: str(fabric.switch(places[name]).management.address) for name in live.source.devices}
    spines = sorted(name for name in addresses if name.startswith("spine"))
    other = next(name for name in spines if name != VICTIM)

    def lead_to(name: str) -> dict[str, Any]:
        return {"address": addresses[name].partition("/")[0], "options": {}}

    live.edit(HITLESS)
    before = {name: live.runs(name) for name in spines}
    swaps = {
        "swapped": ({VICTIM: lead_to(other), other: lead_to(VICTIM)}, ONLY),
        "two names": ({VICTIM: lead_to(other)}, ("--adopt",)),
    }
    for hostname in ("", "localhost"):
        if hostname:
            words = ["nsenter", "-t", str(live.lab.process(other)), "-u", "hostname", hostname]
            subprocess.run(words, check=True)
            live.lab.run(other, ["vtysh", "-c", "configure", "-c", f"hostname {hostname}"])
            before[other] = live.runs(other)
        for kind, (devices, options) in swaps.items():
            live.access(devices=devices)
            for more in ((), ("--try",), ("--dry-run",)):
                status, output = live.push(*options, *more)
                assert status in (1, 3), (kind, hostname, more, output)
                assert "FAB9106" in output or "FAB9107" in output, (kind, hostname, more, output)
    assert {name: live.runs(name) for name in spines} == before


@pytest.mark.slow
def test_a_spine_is_drained_and_changed_over_ssh_and_no_datagram_is_lost(live: Live) -> None:
    live.edit(DISRUPTIVE)
    assert pushed_under_traffic(live, *ONLY) == 0
    assert live.states() == {VICTIM: "undrained"}
    assert "timers bgp 3 12" in live.runs(VICTIM)
    assert "graceful-shutdown additive" not in live.runs(VICTIM)


@pytest.mark.slow
def test_a_drained_spine_that_its_hook_takes_off_the_network_loses_no_datagram(live: Live) -> None:
    hook = live.folder / "hook"
    access = yaml.safe_load((live.lab.folder / making.FOLDER / making.ACCESS).read_text())
    login = f"-o UserKnownHostsFile={access['known_hosts']} -i {access['ssh_key']}"
    hook.write_text(
        "#!/bin/sh\nset -e\n"
        """address=$(sed 's/.*"address": "\\([0-9.]*\\)".*/\\1/')\n"""
        f"echo $1 $2 >> {live.folder / 'called'}\n"
        f"ssh -o BatchMode=yes {login} root@$address "
        '\'set -e; vtysh -c "show running-config" | grep -q "graceful-shutdown additive"; '
        "for way in down up; do "
        "for port in /sys/class/net/swp*; do ip link set ${port##*/} $way; done; sleep 3; done'\n"
    )
    hook.chmod(0o755)
    live.edit(DISRUPTIVE)
    assert pushed_under_traffic(live, *ONLY, "--hook", str(hook), "--hook-timeout", "60") == 0
    assert (live.folder / "called").read_text() == f"install {VICTIM}\n"
    assert live.states() == {VICTIM: "undrained"}
    assert "timers bgp 3 12" in live.runs(VICTIM)
    assert "graceful-shutdown additive" not in live.runs(VICTIM)


@pytest.mark.slow
def test_the_whole_fabric_goes_from_one_state_to_the_next_and_no_datagram_is_lost(live: Live) -> None:
    live.edit(HITLESS)
    assert pushed_under_traffic(live, "--adopt") == 0
    assert set(live.states().values()) == {"confirmed"}
    assert all("transmit-interval 500" in live.runs(name) for name in live.source.devices)
    live.settle()


@pytest.mark.slow
def test_a_unit_joins_a_live_fabric_by_push_and_no_datagram_is_lost(live: Live) -> None:
    before = live.network
    live.grow(hosts=6)
    assert pushed_under_traffic(live, "--adopt", between=before) == 0
    states = live.states()
    assert {states[name] for name in states if "spine" in name} <= {"confirmed", "undrained"}
    assert {states[name] for name in states if name.startswith("su003")} == {"unchanged"}
    live.settle()
