"""Texts as reviewers see them: a change of output shows here. `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabricc.back.infiniband import host_files, sm_files
from fabricc.back.infiniband.host_files import HostFiles
from fabricc.fabric.infiniband_wiring import expand_hosts
from tests.back.infiniband.support import CLASSES, TENANTS, make_document, plan_subnets, render_subnet

SHOWN = (host_files.NCCL, host_files.RULES, host_files.SCRIPT)
GOLDEN = Path(__file__).parent / "golden"


def golden_texts() -> dict[str, str]:
    """File name below `golden` -> text, of a small fabric with tenants on two operating systems and one without."""
    found = {}
    plain = plan_subnets(make_document(hosts=2, per_unit=1))
    for path, text in render_subnet(plain).items():
        if path in (sm_files.CONF, sm_files.PARTITIONS):
            found[f"plain/{path.rsplit('/', 1)[1]}"] = text
    for system in ("ubuntu-24.04", "rhel-9"):
        gpus = {"model": "dgx-h100", "hosts": 2, "hosts_per_unit": 1, "os": system}
        ib = plan_subnets(make_document(gpus=gpus, priorities=CLASSES, infiniband=TENANTS))
        if system == "rhel-9":
            found |= {
                f"tenants/{path.rsplit('/', 1)[1]}": text
                for path, text in render_subnet(ib).items()
                if path in (sm_files.CONF, sm_files.PARTITIONS, sm_files.POLICY)
            }
        files = HostFiles(ib).render(next(iter(expand_hosts(ib))))
        found |= {
            f"{system}/{path.rsplit('/', 1)[1]}": text
            for path, text in files
            if path in SHOWN or "ib0" in path
        }
    found["plain/60-fabricc-ipoib.yaml"] = dict(HostFiles(plain).render(next(iter(expand_hosts(plain)))))[
        "etc/netplan/60-fabricc-ipoib.yaml"
    ]
    return found


TEXTS = golden_texts()


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXTS[name], "utf-8")
    assert TEXTS[name] == path.read_text("utf-8")


def test_no_golden_is_left_over() -> None:
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()} == set(TEXTS)
