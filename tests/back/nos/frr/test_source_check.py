"""The kernel settings of a switch turn the source check off where systemd's own file turns it on per interface."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fabricc.back.nos.frr import FRR
from fabricc.operate.drivers.frr_files import FILES
from tests.back.nos.frr.variants import VARIANTS

SYSTEMD_SYSCTL = Path("/usr/lib/systemd/systemd-sysctl")
SYSTEMD_DEFAULT = """\
net.ipv4.conf.default.rp_filter = 2
net.ipv4.conf.*.rp_filter = 2
-net.ipv4.conf.all.rp_filter
"""
"""The lines about the source check in systemd's `50-default.conf`."""
VALUES = "cat /proc/sys/net/ipv4/conf/*/rp_filter"


def inside_new_namespace(script: str) -> list[str]:
    ports = "ip link add p1 type veth peer name p2 && sysctl -qw net.ipv4.conf.p1.rp_filter=2"
    result = subprocess.run(
        ["unshare", "--net", "sh", "-c", f"{ports} && {script}; {VALUES}"],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    return result.stdout.split()


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """The file of a switch, without the neighbor thresholds, which belong to the machine."""
    text = FRR.render(VARIANTS["numbered"])["sysctl.conf"]
    path = tmp_path / "90-fabricc.conf"
    path.write_text("".join(line for line in text.splitlines(True) if "gc_thresh" not in line))
    return path


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@needs_root
@pytest.mark.skipif(not SYSTEMD_SYSCTL.is_file(), reason="needs systemd-sysctl (package systemd)")
def test_no_interface_checks_sources_after_a_boot(settings: Path, tmp_path: Path) -> None:
    default = tmp_path / "50-default.conf"
    default.write_text(SYSTEMD_DEFAULT)
    assert set(inside_new_namespace(f"{SYSTEMD_SYSCTL} {default}")) == {"0", "2"}
    assert set(inside_new_namespace(f"{SYSTEMD_SYSCTL} {default} {settings}")) == {"0"}


@needs_root
@pytest.mark.skipif(shutil.which("sysctl") is None, reason="needs sysctl (package procps)")
def test_no_interface_checks_sources_after_a_push(settings: Path) -> None:
    command = FILES["sysctl.conf"][1].format(path=settings)
    assert set(inside_new_namespace(command)) == {"0"}
