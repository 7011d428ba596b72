"""`fabricc build`: deterministic, incremental, frozen, proved before it is put in place."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back import hosts as host_files
from fabricc.back.nos import load
from fabricc.tree.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]


def tree_bytes(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()}


def test_first_build_writes_tree_and_lock_and_prints_a_summary(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("build", "cluster.yaml")
    assert ran.status == 0
    assert "8 in 4 hosts" in ran.out
    assert "16 links agree at both ends" in ran.out
    assert "warning" in ran.err
    assert (repo / "fabricc.lock").is_file()
    tree = repo / "build/lab"
    assert sorted(p.name for p in tree.iterdir()) == [
        "acceptance",
        "hosts",
        "jobs",
        "manifest.json",
        "plan",
        "switches",
    ]
    stated = Manifest.parse((tree / "manifest.json").read_bytes())
    found = {path: hashlib.sha256(content).hexdigest() for path, content in tree_bytes(tree).items()}
    assert found.pop("manifest.json")
    assert found == stated.files
    cables = (tree / "plan/cabling.csv").read_text().splitlines()
    assert len(cables) == 1 + json.loads((tree / "plan/fabric.json").read_text())["counts"]["host_cables"] + 8


def test_the_same_spec_gives_the_same_bytes_elsewhere_in_any_order_with_any_jobs(
    repo: Path, fabricc: Fabricc, tmp_path: Path
) -> None:
    assert fabricc("build", "cluster.yaml", "--jobs", "1").status == 0
    other = tmp_path / "far/away"
    other.mkdir(parents=True)
    lines = (repo / "cluster.yaml").read_text().splitlines()
    head, priorities = lines[1:5], lines[5:]
    (other / "cluster.yaml").write_text("\n".join([*priorities, *reversed(head), "# the end", ""]))
    assert fabricc("build", str(other / "cluster.yaml"), "-o", str(other / "out"), "--jobs", "3").status == 0
    assert tree_bytes(repo / "build/lab") == tree_bytes(other / "out/lab")
    assert (repo / "fabricc.lock").read_bytes() == (other / "fabricc.lock").read_bytes()


def test_a_build_without_a_change_plans_nothing(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fabricc("build", "cluster.yaml")
    monkeypatch.setattr("fabricc.compiler.compiled.compile_spec", None)
    again = fabricc("build", "cluster.yaml")
    assert again.status == 0
    assert "all up to date" in again.out
    assert again.err == first.err


@pytest.mark.parametrize("what", ["edit", "remove", "spec"])
def test_any_change_of_inputs_or_files_is_seen(repo: Path, fabricc: Fabricc, what: str) -> None:
    fabricc("build", "cluster.yaml")
    before = tree_bytes(repo / "build/lab")
    conf = repo / "build/lab/switches/spine01a/frr.conf"
    if what == "edit":
        conf.write_text(conf.read_text().replace("router bgp", "router bgq"))
    elif what == "remove":
        conf.unlink()
    else:
        (repo / "cluster.yaml").write_text((repo / "cluster.yaml").read_text() + "# more\n")
    ran = fabricc("build", "cluster.yaml")
    assert ran.status == 0
    assert "all up to date" not in ran.out
    assert ("FAB7006" in ran.err) == (what == "edit")
    assert tree_bytes(repo / "build/lab") == before
    assert "all up to date" in fabricc("build", "cluster.yaml").out


def test_growth_touches_only_what_it_must(repo: Path, fabricc: Fabricc) -> None:
    spec = (repo / "cluster.yaml").read_text().replace("hosts_per_unit: 2", "hosts_per_unit: 2, capacity: 8")
    (repo / "cluster.yaml").write_text(spec)
    fabricc("build", "cluster.yaml")
    inodes = {p: p.stat().st_ino for p in (repo / "build/lab/hosts").rglob("*") if p.is_file()}
    (repo / "cluster.yaml").write_text(spec.replace("hosts: 4", "hosts: 6"))
    assert fabricc("build", "cluster.yaml").status == 0
    assert all(p.stat().st_ino == inode for p, inode in inodes.items())
    assert len(list((repo / "build/lab/hosts").iterdir())) == 6
    (repo / "cluster.yaml").write_text(spec)
    fabricc("build", "cluster.yaml")
    assert len(list((repo / "build/lab/hosts").iterdir())) == 4


def test_frozen_refuses_a_lock_that_would_change(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("build", "cluster.yaml", "--frozen")
    assert ran.status == 1
    assert "FAB3900" in ran.err
    assert not (repo / "fabricc.lock").exists()
    assert not (repo / "build/lab").exists()
    fabricc("build", "cluster.yaml")
    assert fabricc("build", "cluster.yaml", "--frozen").status == 0


def test_build_with_a_faulty_renderer_installs_nothing(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fabricc("build", "cluster.yaml").status == 0
    before = tree_bytes(repo / "build/lab")
    back_end = load("frr")
    right = type(back_end).render

    def wrong(self: Any, switch: Any) -> dict[str, str]:
        return {
            name: text.replace("maximum-paths", "maximum-paths 1 !")
            for name, text in right(self, switch).items()
        }

    monkeypatch.setattr(type(back_end), "render", wrong)
    (repo / "cluster.yaml").write_text((repo / "cluster.yaml").read_text() + "mtu: {switch: 9200}\n")
    ran = fabricc("build", "cluster.yaml", "--jobs", "1")
    assert ran.status == 1
    assert "FAB6002" in ran.err or "FAB6001" in ran.err
    assert "nothing written" in ran.err
    assert tree_bytes(repo / "build/lab") == before
    assert (repo / "build/.lab.rejected/switches/spine01a/frr.conf").exists()
    monkeypatch.undo()
    monkeypatch.chdir(repo)
    assert fabricc("build", "cluster.yaml").status == 0
    assert not (repo / "build/.lab.rejected").exists()


def test_ends_that_disagree_are_caught_even_when_plan_and_file_agree(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fabricc.fabric.fabric import Fabric

    right = Fabric.switch

    def wrong(self: Fabric, switch_id: Any) -> Any:
        from dataclasses import replace

        switch = right(self, switch_id)
        if switch.tier.value != "spine":
            return switch
        return replace(switch, ports=tuple(replace(port, mtu=1500) for port in switch.ports))

    monkeypatch.setattr(Fabric, "switch", wrong)
    ran = fabricc("build", "cluster.yaml", "--jobs", "1")
    assert ran.status == 1
    assert "FAB6101" in ran.err
    assert "MTU" in ran.err
    assert "more like it" in ran.err


def test_check_proves_a_tree_and_finds_a_planted_fault(repo: Path, fabricc: Fabricc) -> None:
    fabricc("build", "cluster.yaml")
    ran = fabricc("check", "build/lab")
    assert (ran.status, "proved" in ran.out) == (0, True)
    conf = repo / "build/lab/switches/spine01a/frr.conf"
    conf.write_text(conf.read_text().replace("remote-as 4200", "remote-as 4201", 1))
    ran = fabricc("check", "build/lab", "--format", "json")
    assert ran.status == 1
    assert {"FAB6010", "FAB6002", "FAB6101"} <= {
        code for code in ("FAB6010", "FAB6002", "FAB6101") if code in ran.out
    }


def test_check_names_each_line_that_was_altered_and_shows_it_first(repo: Path, fabricc: Fabricc) -> None:
    fabricc("build", "cluster.yaml")
    tree = repo / "build/lab"
    conf, script = (next(tree.glob(name)) for name in ("switches/*tor*/frr.conf", "hosts/*/etc/nccl.conf"))
    lines = conf.read_text().split("\n")
    integrated = lines.index("service integrated-vtysh-config")
    hold = next(number for number, line in enumerate(lines) if line.startswith(" bgp router-id"))
    lines[hold] += "9"
    del lines[integrated]
    conf.write_text("\n".join(lines))
    settings = script.read_text().split("\n")
    (timeout,) = (number for number, line in enumerate(settings) if line.startswith("NCCL_IB_TIMEOUT"))
    settings[timeout] = "NCCL_IB_TIMEOUT=1"
    script.write_text("\n".join(settings))
    ran = fabricc("check", "build/lab", "--format", "json")
    found = [(each["code"], each["file"], each["line"]) for each in json.loads(ran.out)["diagnostics"]]
    places = {(str(conf.relative_to(repo)), hold), (str(script.relative_to(repo)), timeout + 1)}
    assert {found[0][1:], found[1][1:]} == places
    assert ("FAB6006", str(conf.relative_to(repo)), integrated) in found
    of_tree = [code for code, file, _ in found if not file.endswith("cluster.yaml")]
    assert of_tree[-2:] == ["FAB6010", "FAB6010"]


def test_check_finds_the_spec_of_a_moved_tree(repo: Path, fabricc: Fabricc) -> None:
    (repo / ".git").mkdir()
    fabricc("build", "cluster.yaml")
    shutil.copytree(repo / "build/lab", repo / "deep/er/lab")
    assert fabricc("check", "deep/er/lab").status == 0
    (repo / "cluster.yaml").rename(repo / "other.yaml")
    ran = fabricc("check", "deep/er/lab")
    assert (ran.status, "FAB6015" in ran.err) == (1, True)
    assert fabricc("check", "deep/er/lab", "--spec", "other.yaml").status == 0


def test_scripts_run_and_private_files_are_private(repo: Path, fabricc: Fabricc) -> None:
    fabricc("build", "cluster.yaml")
    host = next((repo / "build/lab/hosts").iterdir())
    modes = {str(f.relative_to(host)): f.stat().st_mode & 0o777 for f in host.rglob("*") if f.is_file()}
    assert modes == {name: host_files.mode(name) for name in modes}
    assert (modes["apply"], modes["etc/netplan/60-fabricc.yaml"]) == (0o755, 0o600)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.spread
def test_an_interrupted_build_leaves_the_last_tree(repo: Path, fabricc: Fabricc, how: int) -> None:
    fabricc("build", "cluster.yaml")
    before = tree_bytes(repo / "build/lab")
    text = (repo / "cluster.yaml").read_text()
    shutil.copytree(repo, repo / "copy")
    (repo / "copy/cluster.yaml").write_text(text.replace("26", "34"))
    assert fabricc("build", "copy/cluster.yaml", "-o", "copy/build").status == 0
    wanted = tree_bytes(repo / "copy/build/lab")
    assert wanted != before
    (repo / "cluster.yaml").write_text(text.replace("26", "34"))
    for delay in (0, 0.02, 0.1, 0.2):
        command = [sys.executable, "-m", "fabricc", "build", "cluster.yaml", "--jobs", "2"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        builder = subprocess.Popen(
            command, cwd=repo, env=environment, stdout=-3, stderr=subprocess.PIPE, text=True
        )
        while builder.poll() is None and (repo / "build/.lab.lock").read_text() != f"{builder.pid}\n":
            time.sleep(0.005)
        time.sleep(delay)
        builder.send_signal(how)
        _, err = builder.communicate(timeout=20)
        assert "Traceback" not in err
        assert tree_bytes(repo / "build/lab") in (before, wanted)
    assert fabricc("build", "cluster.yaml").status == 0
    assert tree_bytes(repo / "build/lab") == wanted


def test_build_with_no_check_writes_and_prints_not_checked(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("build", "cluster.yaml", "--no-check")
    assert ran.status == 0
    assert "not checked" in ran.out
    assert "all up to date" not in fabricc("build", "cluster.yaml").out


def test_a_build_that_finds_nothing_to_do_imports_no_planning(repo: Path) -> None:
    words = (sys.executable, "-X", "importtime", "-m", "fabricc", "build", "cluster.yaml")
    first, second = (subprocess.run(words, cwd=repo, capture_output=True, text=True) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert "fabricc.front.planning.plan" in first.stderr
    assert not re.search(r"\| +(?:fabricc\.(?:front|fabric|rules|catalog|operate)|yaml)\b", second.stderr)
