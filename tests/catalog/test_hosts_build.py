"""Every built-in host plans and builds in a small fabric, and netplan takes the files of its hosts."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.catalog.load import load_catalog
from fabricc.compiler.driver import build_tree

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = load_catalog()[0].hosts
SPEC = """cluster: small
gpus: {{model: {model}, hosts: 4, hosts_per_unit: 2}}
planes: {planes}
tors: {{model: sn5600, nos: sonic-202505}}
spines: {{model: sn5600, nos: sonic-202505, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
"""


WITH_GPUS = [name for name in HOSTS if HOSTS[name].gpus]
FIRST = {
    (HOSTS[name].rails, HOSTS[name].ports_per_nic, HOSTS[name].nic.name, HOSTS[name].port_gbps): name
    for name in reversed(WITH_GPUS)
}.values()
"""The first host of each number and kind of ports; in the long run all of them."""


@pytest.mark.spread
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FIRST)) for name in WITH_GPUS]
)
def test_a_host_builds_and_its_files_are_right(name: str, tmp_path: Path) -> None:
    model = HOSTS[name]
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model=name, planes=model.ports_per_nic))
    result, _ = build_tree(spec, tmp_path / "build")
    assert [d for d in result.diagnostics if d.severity is Severity.ERROR] == []
    files = sorted((tmp_path / "build" / "small" / "hosts").glob("*/etc/netplan/60-fabricc.yaml"))
    assert len(files) == 4
    if not shutil.which("netplan"):
        pytest.skip("netplan is not installed: built, not judged")
    target = tmp_path / "root" / "etc" / "netplan" / "60-fabricc.yaml"
    target.parent.mkdir(parents=True)
    shutil.copy(files[0], target)
    target.chmod(0o600)
    done = subprocess.run(
        ["netplan", "generate", "--root-dir", str(tmp_path / "root")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    units = list((tmp_path / "root" / "run/systemd/network").glob("*.network"))
    assert len(units) == model.rails * model.ports_per_nic
