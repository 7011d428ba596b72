"""The image step of a push: a real program, called for each drained switch, whatever it does."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.operate.push.network import PASSWORD, Network

if TYPE_CHECKING:
    from pathlib import Path

HOOK = """\
#!{python}
import json, os, socket, sys, time, signal
told = json.load(sys.stdin)
with socket.create_connection(("127.0.0.1", {port})) as channel, channel.makefile("rwb") as line:
    line.write(json.dumps({{"act": "running", "device": told["address"], "password": {password!r}}}).encode() + b"\\n")
    line.flush()
    running = json.loads(line.readline())["answer"]
told |= {{"argv": sys.argv[1:], "named": os.environ["FABRICC_SWITCH"]}}
told["drained"] = "graceful-shutdown additive" in running
with open({log!r}, "a") as log:
    log.write(json.dumps(told) + "\\n")
{more}
"""


@pytest.fixture
def upgrading(network: Network) -> Network:
    """Switches that run one release, and the tree of the next."""
    network.spec.write_text(network.more.replace("nos: frr", "nos: frr-9.1"))
    network.more = network.spec.read_text()
    network.edit("")
    network.extra += ["--confirm-within", "60", "--adopt"]
    return network


def write_hook(network: Network, more: str = "") -> Path:
    path = network.folder / "hook"
    log = str(network.folder / "called")
    path.write_text(
        HOOK.format(python=sys.executable, port=network.port, password=PASSWORD, log=log, more=more)
    )
    path.chmod(0o755)
    return path


def hook_calls(network: Network) -> list[dict[str, Any]]:
    log = network.folder / "called"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def write_images(network: Network) -> Path:
    (network.folder / "frr.img").write_bytes(b"image")
    digest = hashlib.sha256(b"image").hexdigest()
    table = network.folder / "images.csv"
    table.write_text(f"nos,release,model,file,sha256\nfrr,9.1,*,frr.img,{digest}\n")
    return table


@pytest.mark.slow
def test_every_switch_is_drained_while_its_image_is_installed_and_called_once(upgrading: Network) -> None:
    table = write_images(upgrading)
    options = ("--hook", str(write_hook(upgrading)), "--images", str(table))
    assert "spine01a" in upgrading.push(*options, "--plan", status=0).stdout
    assert hook_calls(upgrading) == []
    ran = upgrading.push(*options, status=0)
    assert "6 of 6 switches to change, 6 disruptively" in ran.stderr
    reported = hook_calls(upgrading)
    assert sorted(one["switch"] for one in reported) == sorted(upgrading.source.devices)
    assert reported[0]["switch"] == "spine01a", "the canary"
    assert all(one["drained"] for one in reported)
    assert reported[0]["argv"] == ["install", "spine01a"]
    assert (reported[0]["named"], reported[0]["nos"], reported[0]["release"]) == ("spine01a", "frr", "9.1")
    assert reported[0]["image"] == {"file": "frr.img", "sha256": hashlib.sha256(b"image").hexdigest()}
    assert set(upgrading.states().values()) == {"undrained"}
    assert not any("+shut" in upgrading.interval(name) for name in upgrading.source.devices)

    assert "FAB9433" in upgrading.push("--rollback", "1", status=1).stderr
    before = len(reported)
    upgrading.push(*options, "--rollback", "1", status=0)
    reported = hook_calls(upgrading)[before:]
    assert {one["action"] for one in reported} == {"return"}
    assert len(reported) == 6


@pytest.mark.slow
def test_a_hook_that_fails_ends_the_push_with_the_switch_back_in_service(upgrading: Network) -> None:
    failing = write_hook(upgrading, "if told['action'] == 'install': print('no space'); sys.exit(4)")
    ran = upgrading.push("--hook", str(failing), status=3)
    assert "FAB9430" in ran.stderr
    assert "spine01a: hook install ended with status 4: no space" in ran.stderr
    assert [(one["switch"], one["action"]) for one in hook_calls(upgrading)] == [
        ("spine01a", "install"),
        ("spine01a", "return"),
    ]
    states = upgrading.states()
    assert states.pop("spine01a") == "rolled-back"
    assert set(states.values()) == {"planned"}
    assert "+shut" not in upgrading.interval("spine01a")


@pytest.mark.slow
def test_a_hook_that_hangs_is_ended_with_all_that_it_started(upgrading: Network) -> None:
    more = "import subprocess\nif told['action'] == 'install': subprocess.run(['sleep', '600'])"
    ran = upgrading.push("--hook", str(write_hook(upgrading, more)), "--hook-timeout", "2", status=3)
    assert "FAB9431" in ran.stderr
    assert upgrading.states()["spine01a"] == "rolled-back"


@pytest.mark.slow
def test_a_way_back_that_fails_too_is_reported_as_unknown(upgrading: Network) -> None:
    ran = upgrading.push("--hook", str(write_hook(upgrading, "sys.exit(1)")), status=3)
    assert "FAB9119" in ran.stderr
    assert upgrading.states()["spine01a"] == "unknown"


@pytest.mark.slow
def test_a_push_killed_while_an_image_is_installed_is_ended_by_resume(upgrading: Network) -> None:
    upgrading.direct = False
    once = upgrading.folder / "once"
    more = f"if not os.path.exists({str(once)!r}): open({str(once)!r}, 'w'); os.kill(os.getppid(), signal.SIGKILL)"
    options = ("--hook", str(write_hook(upgrading, more)))
    assert upgrading.push(*options).returncode == -9
    assert upgrading.states()["spine01a"] == "drained (image)"
    assert "FAB9433" in upgrading.push("--resume", status=1).stderr
    upgrading.push(*options, "--resume", status=0)
    assert [one["action"] for one in hook_calls(upgrading) if one["switch"] == "spine01a"] == [
        "install",
        "return",
        "install",
    ]
    assert set(upgrading.states().values()) == {"undrained"}


@pytest.mark.slow
def test_image_with_a_wrong_checksum_is_not_installed(upgrading: Network) -> None:
    table = write_images(upgrading)
    (upgrading.folder / "frr.img").write_bytes(b"other")
    ran = upgrading.push("--hook", str(write_hook(upgrading)), "--images", str(table), status=1)
    assert "FAB9425" in ran.stderr
    table.write_text("nos,release,model,file,sha256\n")
    assert (
        "FAB9424"
        in upgrading.push("--hook", str(write_hook(upgrading)), "--images", str(table), status=1).stderr
    )
    assert hook_calls(upgrading) == []
    (upgrading.folder / "hook").chmod(0o644)
    ran = upgrading.push("--hook", str(upgrading.folder / "hook"), status=3)
    assert "FAB9432" in ran.stderr
