"""The terminal after a push: the bars are gone, and all messages remain."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import threading

import pytest

from tests.operate.push.network import FABRICC, HERE, HITLESS, SIMULATED, Network

MOVE = re.compile(r"\x1b\[(\d*)([A-K])|\x1b\[[\d;?]*[a-z]")


@pytest.fixture
def network(network: Network) -> Network:
    network.edit(HITLESS)
    return network


def render_screen(output: str) -> str:
    """Return what a terminal shows after all of this was written to it, by the sequences that rich uses."""
    lines, row, column = [""], 0, 0
    at = 0
    while at < len(output):
        if move := MOVE.match(output, at):
            count = int(move[1] or 1) if move[2] in ("A", "B") else 0
            if move[2] == "A":
                row = max(0, row - count)
            elif move[2] == "K":
                lines[row] = "" if move[1] == "2" else lines[row][:column]
            at = move.end()
            continue
        letter = output[at]
        at += 1
        if letter == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif letter == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column].ljust(column) + letter + lines[row][column + 1 :]
            column += 1
    return "\n".join(lines)


def on_terminal(network: Network, *options: str) -> tuple[int, str]:
    """Run the command on a terminal of its own; its status, and what the screen shows."""
    ours, theirs = pty.openpty()
    words = [
        *FABRICC,
        "push",
        str(network.source.tree),
        "--spec",
        str(network.spec),
        "--access",
        str(network.access),
        "--journal",
        str(network.journal),
        "--settle",
        "2",
    ]
    environment = {
        **os.environ, "PYTHONPATH": f"{SIMULATED}:{HERE.parents[2]}", "TERM": "xterm", "COLUMNS": "200", "LINES": "50",
    }  # fmt: skip
    output = bytearray()

    def read() -> None:
        try:
            while part := os.read(ours, 65536):
                output.extend(part)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    ran = subprocess.run(
        [*words, "--keep", "50%", *options], stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
        timeout=120, check=False,
    )  # fmt: skip
    os.close(theirs)
    reader.join(10)
    os.close(ours)
    return ran.returncode, render_screen(output.decode("utf-8", "replace"))


@pytest.mark.slow
def test_a_push_leaves_its_waves_and_its_outcome_on_the_screen(network: Network) -> None:
    status, shown = on_terminal(network, "--adopt")
    assert status == 0, shown
    assert re.search(r"(?m)^tree .* sha256 [0-9a-f]{64}$", shown)
    assert "wave 1 of" in shown
    assert re.search(r"(?m)^run 1: 6 confirmed", shown)
    assert "━" not in shown, "no bar is left"


@pytest.mark.slow
def test_interrupt_prints_what_was_done(network: Network) -> None:
    network.fault("spine01a", "commit_config", 1, "after", "interrupt")
    status, shown = on_terminal(network, "--adopt", "--only", "spine01a")
    assert status == 130, shown
    assert "Stopping: switches that are being changed are rolled back first." in shown
    assert "bringing back spine01a" in shown
    assert re.search(r"(?m)^run 1: 1 rolled-back", shown)
    assert "━" not in shown, "no bar is left"


@pytest.mark.spread
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("where", ["full device", "closed pipe", "closed"])
def test_run_ends_once_when_output_fails(network: Network, where: str, unbuffered: str) -> None:
    words = [
        *FABRICC,
        "push",
        str(network.source.tree),
        "--spec",
        str(network.spec),
        "--adopt",
        "--keep",
        "0%",
    ]
    words += [
        "--journal",
        str(network.journal),
        "--settle",
        "2",
        "--only",
        "spine01a",
        "--access",
        str(network.access),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SIMULATED}:{HERE.parents[2]}",
        "PYTHONUNBUFFERED": unbuffered,
    }
    if where == "closed":
        words = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *words]
        ends = subprocess.Popen(words, env=environment)
    elif where == "full device":
        with open("/dev/full", "w") as full:  # noqa: PTH123
            ends = subprocess.Popen(words, env=environment, stdout=full, stderr=full)
    else:
        reading, writing = os.pipe()
        os.close(reading)
        ends = subprocess.Popen(words, env=environment, stdout=writing, stderr=writing)
        os.close(writing)
    assert ends.wait(120) == {"full device": 3, "closed pipe": 141, "closed": 0}[where]
    assert network.states() == {"spine01a": "confirmed"}
    runs = json.loads(network.push("--status", "--format", "json", status=0).stdout)["runs"]
    assert [run["outcome"] for run in runs] == ["done"]


@pytest.mark.parametrize("sign", ["interrupt", "hangup"])
@pytest.mark.parametrize("words", [(), ("--dry-run",)])
@pytest.mark.slow
def test_push_interrupted_while_reading_has_not_started(
    network: Network, words: tuple[str, ...], sign: str
) -> None:
    network.fault("spine01a", "get_config", 1, "before", sign)
    network.direct = False
    ran = network.push("--adopt", "--parallel", "1", *words, status=130)
    assert "FAB9118" in ran.stderr
    assert network.states() == {}, "no run is left behind"
    network.push("--adopt", status=0)


@pytest.mark.slow
@pytest.mark.slow
def test_a_hangup_takes_the_switch_back_and_ends_the_run(network: Network) -> None:
    network.fault("spine01a", "commit_config", 1, "after", "hangup")
    network.direct = False
    network.push("--adopt", "--only", "spine01a", status=130)
    assert network.states() == {"spine01a": "rolled-back"}
    runs = json.loads(network.push("--status", "--format", "json", status=0).stdout)["runs"]
    assert [run["outcome"] for run in runs] == ["interrupted"]
