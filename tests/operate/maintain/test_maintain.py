"""The result of a maintenance equals what routing predicts, what its specs build, and what schedulers accept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from jsonschema import Draft202012Validator

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.compiler import recheck
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.capacity.hosts import find_affected_hosts
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.operate.lab import scenarios
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fabricc.operate.lab.predict import End
    from fabricc.operate.lab.steady import Network
    from tests.cli.conftest import Ran

INVENTORIES = Path(__file__).parents[3] / "inventories"
SCHEMA = Path(__file__).parents[3] / "schemas" / "maintain.schema.json"
SUPERPOD = INVENTORIES / "superpod-b200-4su" / "cluster.yaml"
TWO_PORTS = """\
cluster: twin
gpus: {{model: hgx-2x200, hosts: 64, hosts_per_unit: 32}}
{planes}tors: {{model: 7060x6-64pe, nos: eos}}
spines: {{model: 7060x6-64pe, nos: eos, count: 4}}
priorities:
  rdma: {{dscp: 34, lossless: true}}
  default: {{}}
"""


def make_wiring(spec: Path) -> Wiring:
    return Wiring(compile_spec(spec).fabric)


def read_answer(ran: Ran) -> dict[str, object]:
    assert ran.status in (0, 1), ran.err
    found = json.loads(ran.out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    return found  # type: ignore[no-any-return]


def ends_of(network: Network, names: Iterable[str]) -> frozenset[End]:
    return frozenset(
        (switch.name, port.name)
        for switch in network.switches
        if switch.name in names
        for port in switch.ports
    )


def test_links_that_are_left_are_the_next_hops_that_routing_predicts(tmp_path: Path) -> None:
    network = specs.network(specs.two_tiers(tmp_path))
    known = Wiring(network.fabric)
    spines = [name for name in known.switches if name.startswith("spine")]
    checked = 0
    for gone, drained in (
        (a, b) for n in (0, 1, 2) for a in combinations(spines, n) for b in ((), *((s,) for s in spines))
    ):
        at = network
        for name in drained:
            at = scenarios.drained_network(at, name)
        reported = at.predict(ends_of(network, gone))
        out = Outage(frozenset(gone), frozenset(drained))
        for tor in known.tors:
            widths = {reported.widths[tor].get(far.prefix, 0) for far in network.rails() if far.tor != tor}
            assert widths == {Remainder(known, out).share(tor).links}, (gone, drained, tor)
            checked += 1
    assert checked > 20


@pytest.mark.slow
def test_a_drained_spine_next_to_one_that_is_down_leaves_what_both_leave(fabricc: Callable[..., Ran]) -> None:
    ran = fabricc(
        "maintain", "spine03a", "--window", "2h", "--down", "spine01a", "--format", "json", str(SUPERPOD)
    )
    found = read_answer(ran)
    (network,) = found["networks"]
    left = {moment: share["left"] for moment, share in network["parts"]["plane a"].items()}
    assert left == {"before": 15 / 16, "drained": 14 / 16, "out": 14 / 16, "back": 15 / 16}
    assert len(network["switches"]) == 32, "every ToR has a link to every spine"
    assert network["worst_next"]["out"]["left"] == 13 / 16
    assert network["worst_next"]["usual"]["left"] == 15 / 16
    assert {host["how"] for host in network["hosts"]} == {"fewer paths"}
    assert (found["slurm"], found["kubernetes"]) == ({}, {})
    assert [one["code"] for one in found["findings"]] == ["FAB9403"]
    assert ran.status == 0
    assert (
        fabricc(
            "maintain", "spine03a", "--window", "2h", "--down", "spine01a", "--keep", "90%", str(SUPERPOD)
        ).status
        == 1
    )


def test_a_tor_takes_a_rail_of_its_hosts_and_jobs_must_leave_them(fabricc: Callable[..., Ran]) -> None:
    found = read_answer(fabricc("maintain", "su002-tor3a", "--window", "90m", "--at", "2026-11-23T22:00",
                           "--format", "json", str(SUPERPOD)))  # fmt: skip
    (network,) = found["networks"]
    assert network["gpus_without_port"] == {"before": 0, "drained": 0, "out": 32, "back": 0}
    assert {(host["how"], *host["rails"]) for host in network["hosts"]} == {("rail lost", 2)}
    nodes = found["jobs"]["nodes"]
    assert [(node["name"], node["first_rank"]) for node in (nodes[0], nodes[-1])] == [
        ("su002-host01", 256),
        ("su002-host32", 504),
    ]
    assert found["slurm"]["create"].endswith(
        "StartTime=2026-11-23T22:00 Duration=90 Users=root Flags=MAINT Nodes=su002-host[01-32]"
    )
    assert found["kubernetes"]["cordon"].split()[2:] == [node["name"] for node in nodes]
    assert [one["code"] for one in found["findings"]] == ["FAB9409"]


@pytest.mark.slow
@pytest.mark.parametrize("planes", ["", "planes: 2\n"])
def test_two_tors_of_the_same_nics_cut_them_off_together_and_not_one_at_a_time(
    tmp_path: Path,
    fabricc: Callable[..., Ran],
    planes: str,
) -> None:
    spec = specs.write(tmp_path, TWO_PORTS.format(planes=planes))
    one, both = ("su001-tor1a",), ("su001-tor1a", "su001-tor1b")
    found = read_answer(fabricc("maintain", *one, "--window", "1h", "--format", "json", str(spec)))
    assert found["networks"][0]["gpus_without_port"]["out"] == 0
    assert {host["how"] for host in found["networks"][0]["hosts"]} == {"port lost"}
    worst = found["networks"][0]["worst_next"]["out"]
    assert (worst["cuts"], worst["gpus"]) == ("su001-tor1b", 32)
    found = read_answer(fabricc("maintain", *both, "--window", "1h", "--format", "json", str(spec)))
    assert found["networks"][0]["gpus_without_port"]["out"] == 32
    assert "FAB9407" in [finding["code"] for finding in found["findings"]]
    ran = fabricc("maintain", *one, "--window", "1h", "--down", "su001-tor1b", "--format", "json", str(spec))
    found = read_answer(ran)
    assert "FAB9402" in [finding["code"] for finding in found["findings"]]
    assert ran.status == 1


@pytest.mark.parametrize(("other", "parted"), [("su002-tor1b", True), ("su002-tor1a", False)])
@pytest.mark.spread
def test_hosts_behind_tors_of_two_planes_have_no_plane_in_common(
    tmp_path: Path, fabricc: Callable[..., Ran], other: str, parted: bool
) -> None:
    """Each host keeps a port, but those of one rack reach only the plane that the others have lost."""
    small = TWO_PORTS.replace("64,", "4,").replace("unit: 32", "unit: 2")
    spec = str(specs.write(tmp_path, small.format(planes="planes: 2\n")))
    for devices, severity in (([other], "warning"), (["--down", other], "error")):
        ran = fabricc(
            "maintain", "su001-tor1a", *devices, "--window", "1h", "--keep", "10%", "--format", "json", spec
        )
        found = read_answer(ran)
        pairs = found["networks"][0]["no_common_plane"]
        assert [(pair["hosts"][0], pair["others"][-1]) for pair in pairs] == (
            [("su002-host01", "su001-host02")] if parted else []
        )
        known = {one["code"]: one["severity"] for one in found["findings"]}
        assert all(
            "leave NICs of " in one["message"] for one in found["findings"] if one["code"] == "FAB9410"
        )
        assert known.get("FAB9410") == (severity if parted else None)
        assert ran.status == (parted and severity == "error")
        assert known.keys().isdisjoint({"FAB9402", "FAB9407"})


def test_maintain_counts_outages_found_by_verify(tmp_path: Path, fabricc: Callable[..., Ran]) -> None:
    reported = {
        "not_asked": {"spine01a": [{"code": "FAB9110", "message": "no answer"}]},
        "findings": [
            {"device": "su001-tor1a", "code": "FAB9231", "port_down": "Ethernet272"},
            {"device": "su001-tor2a", "code": "FAB9233"},
        ],
    }
    file = tmp_path / "verify.json"
    file.write_text(json.dumps(reported))
    ran = fabricc(
        "maintain", "spine03a", "--window", "1h", "--verified", str(file), "--format", "json", str(SUPERPOD)
    )
    found = read_answer(ran)
    assert found["down"][0] == "spine01a"
    assert "su001-tor1a:Ethernet272" in found["down"]
    links = found["networks"][0]["switches"]["su001-tor1a"]["before"]["links"]
    assert links == 29, "two to the spine and the port"
    file.write_text("{}")
    ran = fabricc("maintain", "spine03a", "--window", "1h", "--verified", str(file), str(SUPERPOD))
    assert (ran.status, "FAB9405" in ran.err) == (1, True)


def test_a_link_is_shut_and_parallel_ones_carry_no_more_than_hashing_gives_them(
    fabricc: Callable[..., Ran],
) -> None:
    found = read_answer(
        fabricc("maintain", "su001-tor1a:Ethernet256", "--window", "1h", "--format", "json", str(SUPERPOD))
    )
    share = found["networks"][0]["switches"]["su001-tor1a"]["out"]
    assert (share["links"], share["of"]) == (31, 32)
    assert share["left"] == 0.5, "each of 16 spines gets as much as the one with a link of two"
    assert found["specs"]["words"] == ["overrides.spine01a.ports.Ethernet0.shutdown: true"]


@pytest.mark.slow
def test_further_networks_have_parts_of_their_own(fabricc: Callable[..., Ran]) -> None:
    spec = str(INVENTORIES / "whole-cluster-256" / "cluster.yaml")
    found = read_answer(fabricc("maintain", "su001-host03", "--window", "1h", "--format", "json", spec))
    assert [each["name"] for each in found["networks"]] == ["compute", "frontend", "storage"]
    assert found["jobs"]["leave"] == ["su001-host03"]
    storage = compile_spec(spec).networks["storage"].fabric
    tor = storage.name(next(iter(storage.switch_ids())))
    found = read_answer(
        fabricc("maintain", tor, "--network", "storage", "--window", "1h", "--format", "json", spec)
    )
    assert [each["name"] for each in found["networks"]] == ["storage"]
    assert found["specs"]["words"] == [f"networks.storage.overrides.{tor}.drain: true"]
    assert found["specs"]["reviews"]["drain"]["impact"] == "hitless"
    assert fabricc("maintain", tor, "--network", "frontend", "--window", "1h", spec).status == 1


def test_cores_narrow_every_pod(fabricc: Callable[..., Ran], tmp_path: Path) -> None:
    spec = specs.write(tmp_path, specs.THREE_TIERS.replace("frr", "frr-8.4"))
    found = read_answer(fabricc("maintain", "core01a", "--window", "1h", "--format", "json", str(spec)))
    network = found["networks"][0]
    narrowed = {name for name, shares in network["parts"].items() if shares["out"]["left"] < 1}
    assert narrowed == {"pod1 plane a to cores", "pod2 plane a to cores"}
    assert len(network["hosts"]) == 4


@pytest.mark.slow
def test_specs_that_are_written_build_drain_and_end_as_they_began(
    tmp_path: Path,
    fabricc: Callable[..., Ran],
) -> None:
    folder = tmp_path / "repo"
    shutil.copytree(SUPERPOD.parent, folder)
    spec, out = folder / "cluster.yaml", tmp_path / "window"
    spec.write_text(
        spec.read_text() + "overrides:\n  spine02a: {drain: true}  # bad fan\n  spine04a: {cable_m: 30}\n"
    )
    ran = fabricc(
        "maintain",
        "spine02a",
        "spine04a",
        "su001-tor1a:Ethernet256",
        "--window",
        "1h",
        "--write",
        str(out),
        str(spec),
    )
    assert ran.status == 0, ran.err
    assert "FAB9406" in ran.err
    drain, undrain = (compile_spec(out / name / "cluster.yaml") for name in ("drain", "undrain"))
    assert {name for name, change in drain.fabric.changes.items() if change.drained} == {
        "spine02a",
        "spine04a",
    }
    assert Wiring(drain.fabric).shut.ends == {("su001-tor1a", "Ethernet256")}
    assert drain.fabric.changes["spine04a"].cable_m == 30
    assert not any(change.drained for change in undrain.fabric.changes.values())
    assert "bad fan" in (out / "drain" / "cluster.yaml").read_text()
    assert drain.lock_before == drain.lock_text
    assert (
        fabricc(
            "build", str(out / "drain" / "cluster.yaml"), "--output", str(tmp_path / "b"), "--frozen"
        ).status
        == 0
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [(["spine99z"], "FAB9400"), (["spine01a:nowhere"], "FAB9401"), (["spine01a", "--down", "x"], "FAB9400")],
)
def test_maintain_rejects_unknown_devices_with_suggestions(
    fabricc: Callable[..., Ran], words: list[str], code: str
) -> None:
    ran = fabricc("maintain", *words, "--window", "1h", str(SUPERPOD))
    assert (ran.status, code in ran.err) == (1, True)


@pytest.mark.parametrize(
    "arguments", [("maintain", "spine01a", "--window", "1h"), ("upgrade", "--to", "frr-10.2")]
)
def test_no_share_and_no_effect_is_printed_of_files_that_break_the_plan(
    arguments: tuple[str, ...], fabricc: Callable[..., Ran], tmp_path: Path
) -> None:
    """The overlay shuts the session that would be left while the spine is out."""
    shutil.copytree(INVENTORIES / "lab-smallest", tmp_path, dirs_exist_ok=True)
    (tmp_path / "shut.conf").write_text("router bgp *\n neighbor 10.64.0.2 shutdown\n")
    spec = tmp_path / "cluster.yaml"
    where = "{file: shut.conf, nos: frr, into: frr.conf, devices: [su001-tor1a]}"
    spec.write_text(f"{spec.read_text()}overlays:\n  - {where}\n")
    ran = fabricc(*arguments, str(spec))
    assert (ran.status, ran.out) == (1, "")
    assert "FAB6003" in ran.err


def test_what_the_files_take_out_of_service_leaves_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan counts what the spec itself shuts."""
    texts = (("FAB9675", "spine01a is isolated"), ("FAB9675", "tor1 p1: shut (and 1 more)"), ("FAB6007", "x"))
    lost, planned, other = found = tuple(Diagnostic(code, Severity.WARNING, text) for code, text in texts)
    monkeypatch.setattr(recheck, "list_proof_findings", lambda _: found)
    monkeypatch.setattr(recheck, "has_own_text", lambda _: True)
    monkeypatch.setattr(recheck, "find_plan_findings", lambda _: [SimpleNamespace(message="tor1 p1: shut")])
    drained, gap = (Diagnostic(code, Severity.WARNING, "of the plan") for code in ("FAB3031", "FAB5630"))
    spec = cast("Any", SimpleNamespace(sound=True, diagnostics=(drained, gap)))
    assert recheck.find_obstacles(spec) == (drained, *found, recheck.NO_SHARE)
    removed = Diagnostic(
        "FAB6007", Severity.WARNING, "tor1: by an overlay interface[p1]/enabled is false, and true"
    )
    assert recheck.breaks_shares(spec, [removed])
    assert recheck.breaks_shares(spec, [lost])
    assert not recheck.breaks_shares(spec, [planned, other])


@pytest.mark.parametrize("window", ["2", "h", "0m", "-1h"])
def test_a_window_is_a_time(fabricc: Callable[..., Ran], window: str) -> None:
    assert fabricc("maintain", "spine01a", "--window", window, str(SUPERPOD)).status == 2


def test_hosts_that_keep_all_their_ports_and_paths_are_not_touched() -> None:
    known = make_wiring(SUPERPOD)
    whole = Remainder(known, Outage())
    assert find_affected_hosts(whole, whole) == []
    out = Outage(ends=frozenset({known.nic_end(known.nics("su001-tor1a")[0])}))
    (only,) = find_affected_hosts(whole, Remainder(known, out))
    assert (only.name, only.how, only.gpus, only.kept) == ("su001-host01", "rail lost", 1, Fraction(1))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
def test_slurm_takes_the_reservation_and_gives_it_back(tmp_path: Path, fabricc: Callable[..., Ran]) -> None:
    found = read_answer(fabricc("maintain", "su002-tor3a", "--window", "90m", "--at", "2099-11-23T22:00",
                           "--format", "json", str(SUPERPOD)))  # fmt: skip
    (tmp_path / "state").mkdir()
    port = 20000 + (os.getpid() + 7) % 20000
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        f"ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser=root\n"
        f"AuthType=auth/none\nCredType=cred/none\nStateSaveLocation={tmp_path}/state\n"
        f"SlurmctldPidFile={tmp_path}/slurmctld.pid\nSelectType=select/cons_tres\n"
        "NodeName=su002-host[01-32] NodeAddr=127.0.0.1 CPUs=8\nPartitionName=all Nodes=ALL Default=YES\n"
    )
    environment = {**os.environ, "SLURM_CONF": str(conf)}

    def run_command(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command.split(), capture_output=True, text=True, env=environment, timeout=20, check=False
        )

    with subprocess.Popen(["timeout", "-k", "1", "60", "slurmctld", "-D", "-c", "-f", str(conf)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:  # fmt: skip
        try:
            until = time.monotonic() + 30
            while run_command("scontrol ping").returncode and time.monotonic() < until:
                time.sleep(0.2)
            made = run_command(found["slurm"]["create"])
            assert made.returncode == 0, made.stdout + made.stderr
            shown = run_command("scontrol -o show reservation").stdout
            assert "Nodes=su002-host[01-32]" in shown
            assert "Duration=01:30:00" in shown
            assert "StartTime=2099-11-23T22:00:00" in shown
            assert run_command(found["slurm"]["delete"]).returncode == 0
            assert "su002" not in run_command("scontrol -o show reservation").stdout
        finally:
            daemon.terminate()
