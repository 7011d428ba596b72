"""Nornir's own `InitNornir` on a spec: switches, groups, data and logins, through the entry point of the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nornir import InitNornir
from nornir.core.filter import F
from nornir.core.plugins.inventory import InventoryPluginRegister
from nornir.core.task import Result, Task

from fabricc import CompileError, FindingsError, compile_spec
from fabricc.cli.entry import run

if TYPE_CHECKING:
    from nornir.core import Nornir

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/nornir.md"
SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
management: {network: 172.16.0.0/12}
overrides: {su002-tor1a: {drain: true}}
"""
ACCESS = """\
username: ann
password: {env: FABRICC_TEST_PASSWORD}
nos: {eos: {port: 8443, timeout_s: 20}}
devices: {su001-tor1a: {address: 192.0.2.7, username: bob}}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec with its access file, and the package's entry points as an installation states them."""
    (tmp_path / "cluster.yaml").write_text(SPEC)
    (tmp_path / "access.yaml").write_text(ACCESS)
    monkeypatch.setenv("FABRICC_TEST_PASSWORD", "s3cret")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    group = "nornir.plugins.inventory"
    stated = tmp_path / "installed/stated-0.dist-info/entry_points.txt"
    stated.parent.mkdir(parents=True)
    stated.write_text("".join([f"[{group}]\n", *(f"{name} = {at}\n" for name, at in points[group].items())]))
    monkeypatch.syspath_prepend(tmp_path / "installed")
    monkeypatch.setattr(InventoryPluginRegister, "available", {})
    return tmp_path / "cluster.yaml"


def start_nornir(spec: Path, **options: object) -> Nornir:
    found = {"plugin": "FabriccInventory", "options": {"spec": str(spec), **options}}
    return InitNornir(inventory=found, logging={"enabled": False}, runner={"plugin": "serial"})


def test_every_switch_is_a_host_with_what_its_files_state(spec: Path) -> None:
    nornir = start_nornir(spec)
    switches = {switch.name: switch for switch in compile_spec(spec).switches()}
    assert nornir.inventory.hosts.keys() == switches.keys()
    for name, switch in switches.items():
        host = nornir.inventory.hosts[name]
        assert host.hostname == switch.management.address.partition("/")[0]
        reported = (
            host["asn"],
            host["loopback4"],
            host["loopback6"],
            host["model"],
            host["nos"],
            host["release"],
        )
        assert reported == (
            switch.bgp.asn, switch.loopback4, switch.loopback6, switch.model.name, switch.nos, switch.release,
        )  # fmt: skip
        assert (host["tier"], host["plane"], host["drained"]) == (
            switch.tier.value,
            switch.plane,
            switch.drained,
        )
        assert host["cluster"] == "zone"
    assert sum(host["drained"] for host in nornir.inventory.hosts.values()) == 1


def test_groups_select_by_tier_unit_rail_plane_and_system(spec: Path) -> None:
    nornir = start_nornir(spec)

    def named(*groups: str) -> set[str]:
        return set(nornir.filter(F(groups__all=list(groups))).inventory.hosts)

    assert named("tier_spine") == named("nos_eos") == {"spine01a", "spine02a"}
    assert named("rail_2") == {"su001-tor3a", "su002-tor3a"}
    assert named("rail_2", "unit_su002") == {"su002-tor3a"}
    assert len(named("plane_0")) == 18
    ran = nornir.filter(F(groups__all=["rail_2"])).run(task=read_tier)
    assert {name: each[0].result for name, each in ran.items()} == dict.fromkeys(ran, "tor") != {}


def read_tier(task: Task) -> Result:
    return Result(host=task.host, result=task.host["tier"])


def test_logins_are_those_of_the_access_file(spec: Path) -> None:
    hosts = start_nornir(spec, access_file=str(spec.parent / "access.yaml")).inventory.hosts
    own, spine = (hosts[name].get_connection_parameters("napalm") for name in ("su001-tor1a", "spine01a"))
    assert (own.hostname, own.username, own.password, own.port) == ("192.0.2.7", "bob", "s3cret", None)
    assert own.platform == "sonic"
    assert (spine.username, spine.port, spine.platform) == ("ann", 8443, "fabricc_eos")
    assert spine.extras == {
        "timeout": 20,
        "optional_args": {"ssh_strict": True, "ssl_verify": True, "port": 8443},
    }
    without = start_nornir(
        spec, access_file=str(spec.parent / "access.yaml"), passwords=False
    ).inventory.hosts
    assert without["spine01a"].password is None


def test_nornir_inventory_has_no_logins_without_an_access_file(spec: Path) -> None:
    hosts = start_nornir(spec).inventory.hosts
    assert {host.username for host in hosts.values()} == {None}
    assert hosts["spine01a"].platform == "fabricc_eos"


def test_a_file_next_to_the_spec_is_not_used_before_it_is_trusted(spec: Path) -> None:
    beside = spec.parent / "fabricc-access.yaml"
    beside.write_text(ACCESS)
    with pytest.raises(FindingsError, match="it is not trusted yet"):
        start_nornir(spec)
    assert run(["trust", str(beside)]) == 0
    assert start_nornir(spec).inventory.hosts["spine01a"].username == "ann"


def test_a_file_that_turns_verification_off_is_warned_of(spec: Path) -> None:
    file = spec.parent / "access.yaml"
    file.write_text(f"{ACCESS}verify: false\n")
    with pytest.warns(UserWarning, match="turns off the verification"):
        start_nornir(spec, access_file=str(file))


def test_nornir_inventory_reports_errors_of_the_spec(spec: Path) -> None:
    spec.write_text(SPEC.replace("sn5600", "sn5601"))
    with pytest.raises(CompileError, match="FAB"):
        start_nornir(spec)
    with pytest.raises(CompileError, match="FAB5817"):
        start_nornir(ROOT / "inventories/quantum2-512/cluster.yaml")


def test_a_further_network_is_named(spec: Path) -> None:
    spec = ROOT / "inventories/superpod-four-networks/cluster.yaml"
    hosts = start_nornir(spec, network="storage").inventory.hosts
    assert {host["network"] for host in hosts.values()} == {"storage"}
    with pytest.raises(FindingsError, match="takes one network"):
        start_nornir(spec)


def test_the_page_shows_what_runs(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(spec.parent)
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/nornir.md", "exec"), {})
    assert capsys.readouterr().out.startswith("{'su001-tor4a': 42")
