"""A tree that a clone brought makes the subnet manager run nothing: its files are run only as a build writes them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from fabricc.proof.infiniband.sim import processes, run
from tests.back.infiniband.support import make_document

if TYPE_CHECKING:
    from tests.trust.conftest import Clone


@pytest.mark.parametrize("line", ["event_plugin_name evil", "dump_files_dir /home", "# nothing"])
def test_a_setting_of_opensm_that_no_build_writes_is_not_run(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (clone.top / "cluster.yaml").write_text(json.dumps(make_document(), indent=1))
    (clone.top / "fabricc.lock").unlink()
    assert clone.fabricc("build", "cluster.yaml")[0] == 0
    ran: list[object] = []
    monkeypatch.setattr(processes, "missing_programs", list)

    def simulated(*_: object) -> run.Report:
        ran.append(1)
        return run.Report()

    monkeypatch.setattr(run, "simulate_subnet", simulated)
    tree = clone.top / "build" / "test"
    assert "not simulated" not in clone.reading("check", "--sim", "build/test")[1]
    sound = len(ran)
    ran.clear()
    conf, manifest = tree / "subnets/a/etc/opensm/opensm.conf", tree / "manifest.json"
    before = hashlib.sha256(conf.read_bytes()).hexdigest()
    conf.write_text(f"{conf.read_text()}{line}\n")
    manifest.write_text(manifest.read_text().replace(before, hashlib.sha256(conf.read_bytes()).hexdigest()))
    status, reported = clone.reading("check", "--sim", "build/test")
    assert status != 0
    assert "FAB6022" in reported
    assert len(ran) == sound - 1
