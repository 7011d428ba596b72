"""A back end of a third party: installed with fabricc, found by its entry point, and subject to the same proof."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.proof.compare import compare
from tests.samples import tor

if TYPE_CHECKING:
    from fabricc.back.nos.base import Nos

PROJECT = Path(__file__).parent / "openconfig"
FILE = "openconfig.json"
SPEC = """\
cluster: lab
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 2}
tors: {model: linux-16x100, nos: openconfig-2024}
spines: {model: linux-16x100, nos: frr}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
"""
KEYS = {
    "name", "index", "username", "address", "host", "ip", "identifier", "prefix", "neighbor-address",
    "src-protocol", "afi-safi-name",
}  # fmt: skip
ACCEPT = """\
accept:
  - {code: FAB5900, reason: the ToRs of this lab have no queues}
  - {code: FAB5201, reason: the spines of this lab have no queues}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as an installer leaves it: its modules, and its metadata with the entry points."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    for package in ("fabricc_openconfig",):
        shutil.copytree(PROJECT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = folder / f"fabricc_openconfig-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def back_end(site: Path, monkeypatch: pytest.MonkeyPatch) -> Nos:
    monkeypatch.syspath_prepend(str(site))
    found: Nos = importlib.import_module("fabricc_openconfig").OPENCONFIG
    return found


def fabricc(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabricc", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{Path(__file__).parents[4]}"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_without_the_package_there_is_no_such_nos(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + ACCEPT)
    ran = fabricc(tmp_path, tmp_path, "build", "cluster.yaml")
    assert ran.returncode == 1
    assert "FAB3014" in ran.stderr


def test_third_party_gap_stops_the_build_with_its_name(site: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC)
    ran = fabricc(site, tmp_path, "build", "cluster.yaml")
    assert ran.returncode == 1
    assert "cluster.yaml:3:29: error FAB5900: openconfig 2024 on linux-16x100: a lossless class" in ran.stderr
    assert not (tmp_path / "build").exists()


def test_a_release_that_it_does_not_have_uses_the_nearest_one(site: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC.replace("openconfig-2024", "openconfig-2031"))
    ran = fabricc(site, tmp_path, "validate", "cluster.yaml")
    assert "warning FAB3090" in ran.stderr
    assert "2024" in ran.stderr


def test_a_setting_that_it_does_not_state_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + ACCEPT + "routing: {ttl_security: true}\n")
    ran = fabricc(site, tmp_path, "validate", "cluster.yaml")
    assert "FAB5001: openconfig 2024 on linux-16x100: BGP TTL security" in ran.stderr


@pytest.mark.slow
def test_it_builds_is_read_back_and_checked_next_to_another_nos(site: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + ACCEPT)
    ran = fabricc(site, tmp_path, "build", "cluster.yaml", "-j", "2")
    assert ran.returncode == 0, ran.stderr
    assert "every file read back, 16 links agree at both ends" in ran.stdout
    checked = fabricc(site, tmp_path, "check", "build/lab")
    assert checked.returncode == 0
    assert "FAB2900" not in checked.stderr
    file = tmp_path / "build/lab/switches/su001-tor1a" / FILE
    text = file.read_text()
    line = next(at for at, each in enumerate(text.split("\n"), 1) if '"hold-time"' in each)
    file.write_text(text.replace('"hold-time": ', '"hold-time": 1'))
    ran = fabricc(site, tmp_path, "check", "build/lab")
    assert ran.returncode == 1
    assert f"su001-tor1a/{FILE}:{line}:1: error FAB6002: su001-tor1a: bgp/hold_s is 1" in ran.stderr


@pytest.mark.slow
def test_an_overlay_goes_into_its_file_too(site: Path, tmp_path: Path) -> None:
    overlay = '{"openconfig-system:system": {"config": {"login-banner": "Authorized use only"}}}\n'
    (tmp_path / "banner.json").write_text(overlay)
    (tmp_path / "cluster.yaml").write_text(
        SPEC + ACCEPT + "overlays: [{file: banner.json, nos: openconfig}]\n"
    )
    ran = fabricc(site, tmp_path, "build", "cluster.yaml")
    assert ran.returncode == 0, ran.stderr
    assert "FAB6004" not in ran.stderr
    assert "login-banner" in (tmp_path / "build/lab/switches/su001-tor1a" / FILE).read_text()


@pytest.mark.parametrize("drained", [False, True])
def test_third_party_reading_equals_its_plan(back_end: Nos, drained: bool) -> None:
    switch = tor(nos="openconfig", drained=drained)
    reading = back_end.read(back_end.render(switch))
    assert reading.unknown == []
    assert reading.facts == back_end.planned(switch)


@pytest.mark.slow
def test_no_changed_value_goes_unnoticed_and_its_line_is_named(back_end: Nos) -> None:
    switch = tor(nos="openconfig")
    lines = back_end.render(switch)[FILE].split("\n")
    planned = back_end.planned(switch)
    policy = next(at for at, line in enumerate(lines) if "openconfig-routing-policy" in line)
    tried = 0
    for at, line in enumerate(lines):
        value = line.strip().partition(": ")[2].rstrip(",")
        silent = ('"index"', '"dst-protocol"', '"method"', '"options"', '"name": "static"', '"name": "BGP"')
        if not value or value in "{[" or value.startswith("[") or any(word in line for word in silent):
            continue
        if '"name": "aggregates"' in line:
            continue
        changed = {"true": "false", "false": "true"}.get(value)
        changed = changed or (f'"{value[1:-1]}x"' if value.startswith('"') else f"1{value}")
        text = "\n".join([*lines[:at], line.replace(value, changed), *lines[at + 1 :]])
        reading = back_end.read({FILE: text})
        assert reading.unknown or reading.facts != planned, line
        places = {mismatch.line for mismatch in compare(planned, reading)} | {
            place for _, place, _ in reading.unknown
        }
        key = line.strip().partition('"')[2].partition('"')[0]
        reach = 20 if at > policy or key in KEYS else 0
        assert any(abs(place - at - 1) <= reach for place in places), line
        tried += 1
    assert tried > 100


def test_it_uses_the_waist_and_the_protocol_alone() -> None:
    waist = {f"fabricc.fabric.{name}" for name in ("facts", "model", "qos", "routing")}
    known = {*waist, "fabricc.back.nos.base", "fabricc.catalog.model"}
    for file in (PROJECT / "fabricc_openconfig").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fabricc."):
                assert node.module in known
