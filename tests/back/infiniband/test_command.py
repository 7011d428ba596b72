"""The verbs on an InfiniBand spec: validate, plan, build, check; other verbs reject it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from fabricc.proof.infiniband.sim.processes import missing_programs
from tests.back.infiniband.support import CLASSES, TENANTS, make_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command line; its exit status, and both streams joined."""

    def command(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        status = run([str(each) for each in arguments])
        streams = capsys.readouterr()
        return status, streams.out + streams.err

    return command


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(make_document(priorities=CLASSES, infiniband=TENANTS), indent=1))
    return path


def test_validate_reports_known_infiniband_findings(call: Call, spec: Path) -> None:
    status, output = call("validate", spec)
    assert status == 0, output
    assert "FAB5814" in output


def test_plan_shows_engines_lids_and_tenants(call: Call, spec: Path, tmp_path: Path) -> None:
    status, output = call("plan", spec, "--csv", tmp_path / "csv")
    assert status == 0, output
    for words in ("ftree, then updn", "tenant-a", "49,151", "4 x 106.25 PAM4"):
        assert words in output
    assert (tmp_path / "csv" / "cabling.csv").read_text().count("\n") == 1 + 64 + 64
    plan = json.loads(call("plan", spec, "--format", "json")[1])["plan"]
    assert plan["routing"]["engines"] == ["ftree", "updn"]


def test_plan_names_the_options_that_only_ethernet_has(call: Call, spec: Path, tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    status, shown = call("plan", spec, "--propose-places", places, "--qos")
    assert (status, places.exists()) == (2, False)
    assert "only Ethernet has --qos and --propose-places. Write the table" in " ".join(shown.split())


def test_build_twice_and_check(call: Call, spec: Path, tmp_path: Path) -> None:
    status, output = call("build", spec, "-o", tmp_path / "build")
    assert status == 0, output
    assert "128 links agree at both ends" in output
    assert "all up to date" in call("build", spec, "-o", tmp_path / "build")[1]
    tree = tmp_path / "build" / "test"
    assert call("check", tree)[0] == 0
    root = tree / "subnets" / "a" / "etc" / "opensm" / "root-guids.conf"
    root.write_text("0x02fab30000000000\n")
    status, output = call("check", tree)
    assert status == 1
    assert "FAB6010" in output
    assert "FAB6305" in output


@pytest.mark.slow
def test_check_runs_the_subnet_manager_on_request(call: Call, spec: Path, tmp_path: Path) -> None:
    if missing_programs():
        pytest.skip(f"not installed: {', '.join(missing_programs())}")
    call("build", spec, "-o", tmp_path / "build")
    status, output = call("check", "--sim", tmp_path / "build" / "test")
    assert status == 0, output
    assert "FAB6329" in output


def test_connected_mode_is_built_once_it_is_accepted(call: Call, tmp_path: Path) -> None:
    accept = [{"code": "FAB5806", "reason": "Old storage clients need large datagrams."}]
    path = tmp_path / "cluster.yaml"
    path.write_text(json.dumps(make_document(infiniband={"ipoib": {"mode": "connected"}}, accept=accept)))
    status, output = call("build", path, "-o", tmp_path / "build")
    assert status == 0, output
    host = tmp_path / "build" / "test" / "hosts" / "su001-host01" / "etc"
    assert "ipoib_enhanced=0" in (host / "modprobe.d" / "fabricc-ipoib.conf").read_text()
    assert "mtu: 65520" in (host / "netplan" / "60-fabricc-ipoib.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["lab", "up", "SPEC"], "fabricc check --sim"),
        (["maintain", "su001-tor1a", "SPEC", "--window", "4h"], "fabricc explain"),
        (["migrate", "SPEC", "SPEC"], "fabricc diff"),
        (["upgrade", "SPEC", "--to", "cumulus-5.15"], "tools"),
        (["export", "openconfig", "SPEC"], "`plan/`"),
        (["build", "SPEC", "--only", "su001-tor1a"], "`fabricc build`"),
    ],
)
def test_verbs_without_infiniband_name_what_does_their_job(
    call: Call, spec: Path, words: list[str], instead: str
) -> None:
    status, output = call(*(str(spec) if word == "SPEC" else word for word in words))
    assert (status, "FAB5817" in output, instead in output) == (1, True, True), output


def test_push_names_the_files_to_copy(call: Call, spec: Path, tmp_path: Path) -> None:
    assert call("build", spec, "-o", tmp_path / "build")[0] == 0
    status, output = call("push", tmp_path / "build" / "test", "--plan")
    assert (status, "FAB5817" in output, "Copy `subnets/` to the subnet managers" in output) == (
        1,
        True,
        True,
    )


@pytest.mark.slow
def test_doctor_looks_at_a_spec_of_infiniband(call: Call, spec: Path) -> None:
    output = call("doctor", spec)[1]
    assert "FAB5817" not in output
    assert "`fabricc verify TREE` reads the subnets" in output


def test_a_fabric_of_ethernet_has_no_subnet_manager_to_simulate(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    box = {"model": "linux-16x100", "nos": "frr"}
    gpus = {"model": "lab-host", "hosts": 2, "hosts_per_unit": 1}
    classes = {"rdma": {"dscp": 26}, "default": {}}
    spec = {"cluster": "lab", "gpus": gpus, "tors": box, "spines": box, "priorities": classes}
    path.write_text(json.dumps(spec))
    assert call("build", path, "-o", tmp_path / "build")[0] == 0
    status, output = call("check", "--sim", tmp_path / "build" / "lab")
    assert status == 1
    assert "FAB6016" in output
