"""`fabricc explain` end to end: every subject, every format, nothing guessed and no traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.templating import set_template_path
from fabricc.base.installation import data_folder as installed
from tests.back.nos.feature_table import BASE, FEATURES, MODELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "review" / "explain" / "golden"
SPEC = """\
# Two units of rails, lossless, on one operating system.
cluster: zone
gpus:
  model: dgx-h100
  hosts: 6
  hosts_per_unit: 4
tors: {model: 7060x6-64pe, nos: eos-4.33}
spines: {model: 7060x6-64pe, nos: eos-4.33}
cables:
  host: {medium: dac, length_m: 3}
management:
  ntp: [172.16.0.2]
"""
CONFIG = "build/zone/switches/su001-tor1a/running-config.cfg"
SECOND = "build/zone/switches/su002-tor3a/running-config.cfg"
HOST = "build/zone/hosts/su001-host01/etc/netplan/60-fabricc.yaml"


@pytest.fixture(scope="module")
def zone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The spec and its tree, built once."""
    folder = tmp_path_factory.mktemp("zone")
    (folder / "cluster.yaml").write_text(SPEC)
    command = [sys.executable, "-m", "fabricc", "build", "cluster.yaml", "-j", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return folder


@pytest.fixture
def here(zone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(zone)
    monkeypatch.setenv("COLUMNS", "100")
    return zone


def line_of(file: Path, text: str) -> int:
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line)


def explain_as_json(fabricc: Fabricc, *arguments: str) -> dict[str, Any]:
    ran = fabricc("explain", *arguments, "--format", "json")
    assert (ran.status, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    assert found["findings"] == []
    return found["explanation"]  # type: ignore[no-any-return]


SUBJECTS = {
    "code": ["FAB4003"],
    "host-address": ["cluster.yaml", "10.0.128.11"],
    "link-address": ["cluster.yaml", "10.64.20.3"],
    "unassigned-address": ["cluster.yaml", "10.0.128.13"],
    "asn": ["cluster.yaml", "AS4200524328"],
    "spine-asn": ["cluster.yaml", "4200065536"],
    "port": ["cluster.yaml", "su001-tor1a:Ethernet2/5"],
    "headroom": ["cluster.yaml", "su001-tor1a:Ethernet1/1", "headroom/xoff_bytes"],
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_text_is_the_golden_text(name: str, here: Path, fabricc: Fabricc) -> None:
    ran = fabricc("explain", *SUBJECTS[name])
    assert (ran.status, ran.err) == (0, "")
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(ran.out)
    assert ran.out == golden.read_text()


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("line-uplink", SECOND, "ip address 10.64.20.3/31"),
        ("line-marking", CONFIG, "random-detect ecn"),
        ("line-header", CONFIG, "interface Ethernet1/1"),
        ("line-host-rule", HOST, "priority: 1003"),
    ],
)
def test_a_line_reads_as_the_golden_text(
    name: str, file: str, text: str, here: Path, fabricc: Fabricc
) -> None:
    ran = fabricc("explain", f"{file}:{line_of(here / file, text)}")
    assert (ran.status, ran.err) == (0, "")
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(ran.out)
    assert ran.out == golden.read_text()


def test_a_value_names_the_line_of_the_spec(here: Path, fabricc: Fabricc) -> None:
    explanation = explain_as_json(fabricc, "cluster.yaml", "su001-tor1a:Ethernet1/1", "cable_m")
    (statement,) = explanation["statements"]
    assert statement["value"] == "5"  # the row of the platform's table that 3 m round up to
    place = statement["origins"][0]["position"]
    assert (place["file"], place["line"], place["column"]) == ("cluster.yaml", 10, 23)
    assert statement["origins"][0]["snippet"] == "host: {medium: dac, length_m: 3}"
    assert "eos does not express it" in statement["rule"]


def test_explain_accepts_an_address_with_a_setting(here: Path, fabricc: Fabricc) -> None:
    of_port = explain_as_json(fabricc, "cluster.yaml", "10.0.128.11", "mtu")
    assert of_port["subject"] == "su002-host02:rail2 mtu"
    assert [statement["value"] for statement in of_port["statements"]] == [
        "9000",
        "9000",
    ]  # of the interface, and of its link
    assert (
        explain_as_json(fabricc, "cluster.yaml", "AS4200524328", "hold_s")["subject"] == "su002-tor3a hold_s"
    )


def test_a_tree_stands_for_its_spec(here: Path, fabricc: Fabricc) -> None:
    device = explain_as_json(fabricc, "build/zone", "su002-host01")
    assert dict(device["details"])["rail0"] == "10.0.0.9/31, su002-tor1a Ethernet1/1, 400G"


def test_explain_reports_an_edited_file_and_shows_the_plan(
    zone: Path, fabricc: Fabricc, monkeypatch: Any
) -> None:
    monkeypatch.chdir(zone)
    file = zone / CONFIG
    before = file.read_text()
    number = line_of(file, "ip address 10.64.0.1/31")
    file.write_text(before.replace("ip address 10.64.0.1/31", "ip address 10.64.0.9/31"))
    try:
        ran = fabricc("explain", f"{CONFIG}:{number}")
    finally:
        file.write_text(before)
    assert ran.status == 0
    assert "FAB6010" in ran.err
    assert "planned   10.64.0.1/31" in ran.out


def test_explain_reports_a_tree_of_another_spec_state(zone: Path, fabricc: Fabricc, monkeypatch: Any) -> None:
    monkeypatch.chdir(zone)
    other = zone / "other.yaml"
    other.write_text(SPEC.replace("length_m: 3", "length_m: 30").replace("dac", "aoc"))
    try:
        ran = fabricc("explain", f"{CONFIG}:1", "--spec", "other.yaml")
    finally:
        other.unlink()
    assert ran.status == 0
    assert "FAB6014" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "outputs"),
    [
        (["FAB4099"], "FAB9270", "FAB4016"),
        (["cluster.yaml", "su001-tor1"], "FAB9270", "su001-tor1a"),
        (["cluster.yaml", "zzz"], "FAB9270", "a device such as su001-tor1a"),
        (["cluster.yaml", "su001-tor1a:Ethernet1/99"], "FAB9270", "Ethernet1/"),
        (["cluster.yaml", "su001-host01:rail9"], "FAB9270", "rail7"),
        (["cluster.yaml", "su001-tor1a", "headrom"], "FAB9274", "headroom"),
        (["cluster.yaml", "10.0.0.0/10", "mtu"], "FAB9274", "DEVICE:PORT"),
        (["cluster.yaml", "AS4200000000", "mtu"], "FAB9274", "DEVICE:PORT"),
        (["cluster.yaml:999"], "FAB9271", "The nearest line above"),
        (["nowhere/at/all.cfg:3"], "FAB9271", "there is no such file"),
        ([f"{CONFIG}:99999"], "FAB9271", "Lines count from 1"),
        ([f"{CONFIG}:0"], "FAB9271", "Lines count from 1"),
        (["build/zone/switches/su001-tor1a/running.cfg:1"], "FAB9271", "running-config.cfg"),
        (["build/zone/plan/cabling.csv:2"], "FAB9272", "fabricc explain SPEC NAME"),
        (["build/zone/manifest.json:2"], "FAB9271", "no file manifest.json"),
        (["no-such.yaml", "10.0.0.1"], "FAB0001", "cluster.yaml"),
        (["build", "10.0.0.1"], "FAB6013", "Built trees in it: build"),
    ],
)
def test_unknown_subjects_are_diagnostics(
    arguments: list[str], code: str, outputs: str, here: Path, fabricc: Fabricc
) -> None:
    ran = fabricc("explain", *arguments)
    assert (ran.status, ran.out) == (1, "")
    assert f"error {code}" in ran.err
    assert outputs in ran.err
    machine = fabricc("explain", *arguments, "--format", "json")
    assert machine.status == 1
    found = json.loads(machine.out)
    assert found["explanation"] is None
    assert found["findings"][0]["code"] == code


@pytest.mark.parametrize("arguments", [[], ["cluster.yaml"], ["su001-tor1a"]])
def test_explain_without_a_subject_is_a_usage_error(
    arguments: list[str], here: Path, fabricc: Fabricc
) -> None:
    ran = fabricc("explain", *arguments)
    assert ran.status == 2
    assert "Error" in ran.err


def test_explain_reports_why_a_spec_cannot_be_planned(here: Path, fabricc: Fabricc, tmp_path: Path) -> None:
    bad = tmp_path / "cluster.yaml"
    bad.write_text(SPEC.replace("hosts_per_unit: 4", "hosts_per_unit: 400"))
    ran = fabricc("explain", str(bad), "10.0.0.1")
    assert (ran.status, ran.out) == (1, "")
    assert "FAB3006" in ran.err


def test_an_infiniband_fabric_has_lids_and_no_asns(fabricc: Fabricc) -> None:
    spec = str(ROOT / "inventories" / "quantum2-512" / "cluster.yaml")
    ran = fabricc("explain", spec, "AS65001")
    assert (ran.status, ran.out) == (1, "")
    assert "FAB9273" in ran.err
    ran = fabricc("explain", spec, "17")
    assert (ran.status, ran.err) == (0, "")
    assert "LID of su001-host01/rail0" in ran.out


@pytest.mark.slow
def test_a_line_of_an_overlay_and_of_a_template_are_the_users_own(repo: Path, fabricc: Fabricc) -> None:
    (repo / "own.conf").write_text("log file /var/log/frr.log\n")
    spec = repo / "cluster.yaml"
    spec.write_text(f"{spec.read_text()}overlays:\n  - {{file: own.conf, nos: frr, into: frr.conf}}\n")
    assert fabricc("build", "cluster.yaml", "-j", "1").status == 0
    file = repo / "build/lab/switches/su001-tor1a/frr.conf"
    ran = fabricc("explain", f"{file}:{line_of(file, 'log file')}")
    assert (ran.status, ran.err) == (0, "")
    assert "overlay   from own.conf: the user's own" in ran.out
    own = repo / "own" / "frr"
    own.mkdir(parents=True)
    (own / "frr.conf.j2").write_text(
        (installed("templates") / "frr" / "frr.conf.j2").read_text() + "! ours\n"
    )
    try:
        assert fabricc("build", "cluster.yaml", "--templates", "own", "-j", "1").status == 0
        last = f"{file}:{len(file.read_text().splitlines()) - 1}"
        for arguments in ([last], [last, "--templates", "own"]):
            ran = fabricc("explain", *arguments)
            assert (ran.status, ran.err) == (0, "")
            assert "does not write this line" not in ran.out
    finally:
        set_template_path(())


def test_a_link_in_the_place_of_a_file_is_not_followed(
    repo: Path, fabricc: Fabricc, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert fabricc("build", "cluster.yaml", "-j", "1").status == 0
    file = repo / "build/lab/switches/su001-tor1a/frr.conf"
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "frr.conf"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    ran = fabricc("explain", f"{file}:1")
    assert (ran.status, ran.out) == (1, "")
    assert "FAB9271" in ran.err


@pytest.mark.parametrize("nos", [name for name, _ in MODELS])
@pytest.mark.spread
def test_a_line_of_every_operating_system(
    nos: str, tmp_path: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tier = {"model": dict(MODELS)[nos], "nos": nos}
    quality = {} if nos == "frr" else FEATURES["ECN marking"]
    spec = {**BASE, "routing": {}, **quality, "tors": tier, "spines": tier}
    (tmp_path / "cluster.yaml").write_text(json.dumps(spec, indent=1))
    assert fabricc("build", "cluster.yaml", "-j", "1").status == 0
    folder = tmp_path / "build" / "table" / "switches" / "su001-tor1a"
    file = next(f for f in sorted(folder.iterdir()) if "10.64.0.1/31" in f.read_text())
    number = line_of(file, "10.64.0.1/31")
    explanation = explain_as_json(fabricc, f"{file.relative_to(tmp_path)}:{number}")
    statement = explanation["statements"][0]
    assert statement["name"].endswith("/ipv4")
    assert (statement["value"], statement["planned"]) == ("10.64.0.1/31", None)
    assert [formula["value"] for formula in statement["formulas"]] == ["0", "1", "10.64.0.1"]
    lock = [origin for origin in statement["origins"] if origin["source"] == "lock"]
    assert all(origin["position"]["file"] == "fabricc.lock" for origin in lock)
    assert lock


def test_no_golden_is_left_over() -> None:
    lines = {"line-uplink", "line-marking", "line-header", "line-host-rule"}
    assert {path.stem for path in GOLDEN.iterdir()} == {*SUBJECTS, *lines}


def test_documented_output_equals_the_command(
    tmp_path: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "rack-zone-512"
    shutil.copytree(ROOT / "inventories" / folder.name, folder, ignore=shutil.ignore_patterns("build", ".*"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    assert fabricc("build", "cluster.yaml", "-j", "1").status == 0
    page = (ROOT / "docs" / "explain.md").read_text()
    shown = re.findall(r"```\n\$ fabricc (.*)\n((?s:.*?))```", page)
    assert len(shown) == 1
    for command, text in shown:
        assert fabricc(*command.split()).out == text


def test_no_share_is_printed_of_files_that_break_the_plan(repo: Path, fabricc: Callable[..., Ran]) -> None:
    """The overlay shuts the session that would be left while the spine is out."""
    (repo / "shut.conf").write_text("router bgp *\n neighbor 10.64.0.2 shutdown\n")
    spec = repo / "cluster.yaml"
    where = "{file: shut.conf, nos: frr, into: frr.conf, devices: [su001-tor1a]}"
    spec.write_text(f"{spec.read_text()}overlays:\n  - {where}\n")
    ran = fabricc("explain", "cluster.yaml", "spine01a")
    assert "while it is out  not known: the files break the plan" in ran.out
    assert "FAB6003" in ran.err
