"""A lab whose switches can be logged in to: what a login may touch, and what it finds."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.operate.lab import demands, lifecycle, making, state
from fabricc.operate.lab.node import MANAGEMENT_NODE, LabError
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.operate.lab.running import Lab

WAY_OUT = """\
external:
  dc-core:
    asn: 64999
    password: {secret: dc-core}
    links:
      - {at: spine01a, port: swp16, speed_gbps: 100, local: 192.0.2.0/31, peer: core-1, peer_port: e1}
"""
SWITCH = "spine01a"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a lab for logins needs {', '.join(missing)}")
    spec = specs.two_tiers(tmp_path / "spec", hosts=2, more=WAY_OUT)
    text = spec.read_text().replace("nos: frr", "nos: frr-8.4")
    spec.write_text(text.replace("count: 2", "count: 2, reserved_ports: 1"))
    place = tmp_path / "lab"
    try:
        yield lifecycle.boot_lab(spec, place, ssh=True)[0]
    finally:
        if (place / state.RECORD).exists():
            lifecycle.take_down_lab(place)


def over_ssh(lab: Lab, command: str) -> str:
    """Output of a command on the switch, by the login that the access file states."""
    access = yaml.safe_load((lab.folder / making.FOLDER / making.ACCESS).read_text())
    named = {line.split()[0] for line in Path(access["known_hosts"]).read_text().splitlines()}
    assert len(named) == len(lab.record.switches)
    address = lab.run(SWITCH, ["ip", "-4", "-o", "addr", "show", "eth0"]).stdout.split()[3].partition("/")[0]
    words = ["ssh", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={access['known_hosts']}"]
    words += ["-i", access["ssh_key"], f"{access['username']}@{address}", command]
    ran = lab.run(MANAGEMENT_NODE, words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_a_login_finds_a_switch_and_leaves_the_machine_alone(lab: Lab) -> None:
    name = socket.gethostname()
    mark = f"fabricc-{os.getpid()}"
    assert over_ssh(lab, "hostname").strip() == SWITCH
    assert {*over_ssh(lab, "ls -A /root").split()} <= {".history_frr"}, "nothing of the machine's root"
    assert "iface eth0" in over_ssh(lab, "cat /etc/network/interfaces")
    assert "Read-only file system" in over_ssh(lab, f"touch /usr/bin/{mark} 2>&1 || true")
    for place in ("/etc", "/var/lib", "/root", "/dev/shm", "/opt"):
        over_ssh(lab, f"touch {place}/{mark}")
        assert not Path(place, mark).exists(), place
    refusal = over_ssh(lab, "sysctl kernel.hostname=other 2>&1 || true")
    assert "denied" in refusal or "Read-only" in refusal
    over_ssh(lab, "sysctl -q -e -p /etc/sysctl.d/90-fabricc.conf")
    assert socket.gethostname() == name
    assert over_ssh(lab, "cat /sys/class/net/swp1/speed").strip() == "100000"


@pytest.mark.slow
def test_a_secret_has_a_value_of_the_lab_s_own(lab: Lab) -> None:
    value = (lab.folder / making.FOLDER / "secrets" / "dc-core").read_text()
    runs = over_ssh(lab, "vtysh -c 'show running-config'")
    assert f" password {value}" in runs
    assert "FABRICC-SECRET" not in runs
    assert value not in (lab.folder / state.RECORD).read_text()


def test_lab_ssh_rejects_systems_other_than_frr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demands, "require_root", lambda: None)
    monkeypatch.setattr(demands, "require_programs", lambda: None)
    monkeypatch.setattr(demands, "frr_version", lambda: "8.4.4")
    monkeypatch.setattr(making, "require_sshd", lambda: None)
    inventory = Path(__file__).parents[3] / "inventories" / "rack-zone-512" / "cluster.yaml"
    with pytest.raises(LabError) as refused:
        lifecycle.boot_lab(inventory, tmp_path / "lab", units=1, ssh=True)
    assert refused.value.diagnostic.code == "FAB8019"
    assert "frr-8.4" in refused.value.diagnostic.help
    assert not (tmp_path / "lab").exists()
