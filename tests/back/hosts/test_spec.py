"""The host settings of a spec reach the hosts: operating system and NIC, for all groups or for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.back.hosts.variants import SYSTEMS
from tests.cli.conftest import fabricc as fabricc

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

SPEC = """\
cluster: mixed
gpus:
{gpus}
  groups:
    - {{name: a, model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}}
    - {{name: b, model: hgx-8gpu, hosts: 2, hosts_per_unit: 2{b}}}
tors: {{model: sn5600, nos: sonic-202505}}
spines: {{model: sn5600, nos: sonic-202505}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
"""


def build_hosts(fabricc: Fabricc, tmp_path: Path, gpus: str, b: str = "") -> tuple[int, str, Path]:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(gpus=gpus, b=b))
    done = fabricc("build", str(spec), "-o", str(tmp_path / "build"), "-j", "1")
    return done.status, done.err + done.out, tmp_path / "build/mixed/hosts"


@pytest.mark.parametrize("os", SYSTEMS)
@pytest.mark.spread
def test_a_build_checks_hosts_of_every_system(fabricc: Fabricc, tmp_path: Path, os: str) -> None:
    status, text, hosts = build_hosts(fabricc, tmp_path, f"  os: {os}", ", nic: thor2")
    assert status == 0, text
    folders = sorted(hosts.iterdir())
    assert len(folders) == 4
    assert all(f"SYSTEM={os}\n" in (folder / "apply").read_text() for folder in folders)
    scripts = [(folder / "usr/local/sbin/fabricc-roce").read_text() for folder in folders]
    assert ["mlnx_qos" in script for script in scripts] == [True, True, False, False]
    assert ["bnxt_re_r0" in script for script in scripts] == [False, False, True, True]


def test_a_group_has_its_own_system_and_the_others_the_common_one(fabricc: Fabricc, tmp_path: Path) -> None:
    status, text, hosts = build_hosts(fabricc, tmp_path, "  nic: pollara", ", os: rhel-9")
    assert status == 0, text
    assert "FAB5606" in text
    has = [(folder / "etc/NetworkManager").exists() for folder in sorted(hosts.iterdir())]
    assert has == [False, False, True, True]


@pytest.mark.parametrize(
    ("gpus", "b", "code"),
    [
        ("  os: debian-12", "", "FAB1004"),
        ("  nic: thor", "", "FAB3041"),  # 200G at most, and the hosts have 400G
        ("  nic: connectx7", "", "FAB3013"),
        ("  wiring: rail", ", nic: e810", "FAB3041"),
    ],
)
def test_unknown_or_unfit_models_are_rejected(
    fabricc: Fabricc, tmp_path: Path, gpus: str, b: str, code: str
) -> None:
    status, text, _ = build_hosts(fabricc, tmp_path, gpus, b)
    assert status == 1
    assert code in text
