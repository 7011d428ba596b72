"""Files for Topograph and Terraform, held to the rules that their readers are published with."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.cli.entry import run
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path

TERRAFORM = """\
locals {
  fabric  = jsondecode(file("${path.module}/fabric.json"))
  devices = jsondecode(local.fabric.devices)
}
resource "terraform_data" "switch" {
  for_each = { for name, device in local.devices : name => device.asn if device.kind != "host" }
  input    = each.value
}
output "asns" { value = { for name, each in terraform_data.switch : name => each.output } }
"""
TWO_TIERS = """\
cluster: lab
gpus: {model: lab-host, hosts: 5, hosts_per_unit: 2, socket_interface: eth0}
tors: {model: linux-16x100, nos: frr}
spines: {model: linux-16x100, nos: frr, count: 2}
priorities: {rdma: {dscp: 26}, default: {}}
"""
DOMAINS = """\
cluster: lab
gpus: {model: gb200-nvl72, racks: [r1, r2, r3], hosts_per_rack: 18, hosts_per_unit: 18}
tors: {model: sn5600, nos: sonic-202505}
spines: {model: sn5600, nos: sonic-202505}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""
PODS = """\
cluster: lab
gpus: {model: dgx-h100, hosts: 256, hosts_per_unit: 32, socket_interface: eno3}
tors: {model: sn5600, nos: sonic-202505}
spines: {model: sn5600, nos: sonic-202505, units_per_pod: 4}
cores: {model: sn5600, nos: sonic-202505}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""


def derive_layers(model: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the switches above each node, as Topograph's loader derives them; it refuses what this asserts."""
    parents: dict[str, str] = {}
    for name, switch in model["switches"].items():
        for child in switch.get("switches", []):
            assert child not in parents, "a switch has one parent"
            parents[child] = name
    found: dict[str, tuple[str, ...]] = {}
    for block in model["blocks"]:
        assert block["switch"] in model["switches"], "a block names a known switch"
        assert block["nodes"], "a block has a node"
        for node in block["nodes"]:
            assert node not in found, "a node is in one block"
            above = [block["switch"]]
            while above[-1] in parents:
                above.append(parents[above[-1]])
                assert len(above) == len(set(above)), "no circle"
            found[node] = tuple(above)
    return found


def export_inventory(tmp_path: Path, text: str) -> dict[str, Any]:
    (tmp_path / "cluster.yaml").write_text(text)
    assert (
        run(["export", "topograph", str(tmp_path / "cluster.yaml"), "-o", str(tmp_path / "model.yaml")]) == 0
    )
    found: dict[str, Any] = json.loads((tmp_path / "model.yaml").read_text())
    return found


@pytest.mark.parametrize("text", [TWO_TIERS, DOMAINS, PODS])
def test_every_host_is_in_the_tree_once(tmp_path: Path, text: str) -> None:
    found = derive_layers(export_inventory(tmp_path, text))
    fabric = compile_spec(tmp_path / "cluster.yaml").fabric
    assert {node: above[0] for node, above in found.items()} == {
        host: unit.name for unit in fabric.units.values() for host in unit.hosts.values()
    }
    assert {above[-1] for above in found.values()} == {"lab"}


def test_domains_are_blocks(tmp_path: Path) -> None:
    blocks = export_inventory(tmp_path, DOMAINS)["blocks"]
    assert Counter(len(block["nodes"]) for block in blocks) == {18: 3}
    assert len({json.dumps(block["annotations"]) for block in blocks}) == 3
    assert "annotations" not in export_inventory(tmp_path, TWO_TIERS)["blocks"][0]


def test_pods_are_switches_between(tmp_path: Path) -> None:
    found = derive_layers(export_inventory(tmp_path, PODS))
    assert Counter(above[1] for above in found.values()) == {"lab-pod1": 128, "lab-pod2": 128}


@pytest.mark.parametrize("cluster", ["su001", "su001-fabric"])
def test_a_cluster_with_the_name_of_a_unit_keeps_its_tree(tmp_path: Path, cluster: str) -> None:
    text = (
        f"cluster: {cluster}\ngpus: {{model: lab-host, hosts: 4, hosts_per_unit: 2}}\n"
        "tors: {model: linux-16x100, nos: frr}\nspines: {model: linux-16x100, nos: frr, count: 2}\n"
        "priorities: {rdma: {dscp: 26}, default: {}}\n"
    )
    switches = export_inventory(tmp_path, text)["switches"]
    assert {"switches": ["su001", "su002"]} in switches.values()
    assert switches["su001"] == {}


def test_terraform_gets_strings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TWO_TIERS)
    assert run(["export", "terraform", str(spec)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert all(isinstance(value, str) for value in result.values()), "the protocol of `external`"
    devices = json.loads(result["devices"])
    assert devices["su001-tor1a"]["nos"] == "frr"
    assert devices["su001-host01"]["kind"] == "host"
    ends = {tuple(end) for link in json.loads(result["links"]) for end in (link["a"], link["b"])}
    assert {device for device, _ in ends} == devices.keys()
    assert {each["device"] for each in json.loads(result["addresses"])} == devices.keys()


@pytest.mark.slow
@pytest.mark.skipif(which("terraform") is None, reason="terraform is not installed")
def test_terraform_applies_the_result_and_then_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TWO_TIERS)
    assert run(["export", "terraform", str(spec)]) == 0
    (tmp_path / "fabric.json").write_text(capsys.readouterr().out)
    (tmp_path / "main.tf").write_text(TERRAFORM)

    def terraform(*words: str) -> subprocess.CompletedProcess[bytes]:
        own = {"TF_CLI_CONFIG_FILE": "/dev/null", "PATH": os.environ["PATH"], "CHECKPOINT_DISABLE": "1"}
        return subprocess.run(["terraform", *words, "-no-color"], cwd=tmp_path, env=own, capture_output=True)

    for words in (["init"], ["apply", "-auto-approve"]):
        ran = terraform(*words)
        assert ran.returncode == 0, ran.stderr.decode()
    numbers = json.loads(terraform("output", "-json", "asns").stdout)
    assert {"su001-tor1a", "spine01a"} <= numbers.keys()
    assert all(isinstance(number, int) for number in numbers.values())
    assert terraform("plan", "-detailed-exitcode").returncode == 0, "nothing changes"


def test_a_spec_with_an_error_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TWO_TIERS.replace("count: 2", "count: 0"))
    for kind in ("terraform", "topograph"):
        assert run(["export", kind, str(spec)]) == 1
        streams = capsys.readouterr()
        assert (streams.out, "error" in streams.err) == ("", True)
