"""OpenConfig documents state what the plan states, by the published models, and what they do not carry is counted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc import compile_spec
from fabricc.back import openconfig
from fabricc.cli.entry import run
from tests.outward import compiled as with_ways_out

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch

ROOT = Path(__file__).parents[3]
OF_OPENCONFIG = Path(
    os.environ.get("FABRICC_OPENCONFIG") or ROOT.parent / "shared" / "validators" / "openconfig-yang"
)
"""Folder with the models of openconfig/public, `release/models` and `third_party`, in any arrangement."""
INVENTORIES = ("lab-smallest", "rack-zone-512", "storage-zone", "superpod-four-networks", "tenant-front-end")
SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
"""
MORE = {
    "": "",
    "IPv6": "addressing: {family: ipv6}\n",
    "two families": "addressing: {family: dual}\n",
    "unnumbered": "addressing: {family: dual, fabric_links: unnumbered}\n",
    "drained": "overrides: {su001-tor1a: {drain: true}, spine01a: {drain: true}}\n",
    "BFD": "routing: {bfd: {interval_ms: 500}, hold_s: 12}\n",
}
CARRIED = re.compile(
    r"interface\[[^\]]*\]/(enabled|description|speed_gbps|mtu|ipv4|ipv6)|loopback/|lldp/|bfd/|prefix_list\[|route_map\[|"
    r"community_list\[|bgp/(asn|router_id|keepalive_s|hold_s|maximum_paths|multipath_relax|redistribute_)|"
    r"bgp/neighbor\[[0-9a-f.:]+\]/(remote_asn|description|bfd|import|export|maximum_prefixes|families)"
)


@cache
def make_fabric(name: str) -> Fabric:
    """The fabric of an inventory, of a text above, or one with ways out."""
    if name in INVENTORIES:
        return compile_spec(ROOT / f"inventories/{name}/cluster.yaml", gaps=False).fabric
    return with_ways_out("frr").fabric


def pick_samples(of: Fabric) -> list[Switch]:
    """A switch of each tier and system, the first and the last."""
    ids = list(of.switch_ids())
    chosen = {(of.tiers[at.tier].nos, at.tier): at for at in ids}
    return [of.switch(at) for at in dict.fromkeys((ids[0], *chosen.values()))]


def check(switch: Switch) -> dict[str, Any]:
    """The document, after every fact in it was held against the plan's."""
    document = json.loads(json.dumps(openconfig.render(switch)))
    carried, stated = openconfig.read(document), openconfig.neutral_facts(switch)
    assert {path: stated.get(path) for path in carried} == carried
    missing = [path for path in stated.keys() - carried.keys() if CARRIED.match(path)]
    routed = {port.name for port in switch.ports if port.ipv4 or port.ipv6}
    assert [path for path in missing if path.partition("[")[2].partition("]")[0] in routed] == []
    assert {path.rpartition("/")[2] for path in missing} <= {"mtu"}, "of ports that are not routed"
    assert "FABRICC-SECRET" not in json.dumps(document)
    return document  # type: ignore[no-any-return]


EACH = pytest.mark.parametrize(
    "name", ["ways out", *(pytest.param(name, marks=pytest.mark.slow) for name in INVENTORIES)]
)


@EACH
def test_openconfig_document_states_the_plan(name: str) -> None:
    for switch in pick_samples(make_fabric(name)):
        check(switch)


@pytest.mark.parametrize("more", MORE)
def test_settings_are_carried(more: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + MORE[more])
    found = compile_spec(tmp_path / "cluster.yaml", gaps=False)
    for switch in pick_samples(found.fabric):
        document = check(switch)
        text = json.dumps(document)
        assert ("enable-bfd" in text) == bool(switch.bgp.bfd_interval_ms)
        assert ("neighbor-address" in text) == any(session.remote for session in switch.bgp.sessions)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published models in one folder."""
    if not OF_OPENCONFIG.is_dir():
        pytest.skip(f"no models of OpenConfig: neither FABRICC_OPENCONFIG nor {OF_OPENCONFIG}")
    if shutil.which("yanglint") is None:
        pytest.skip("yanglint is not installed")
    folder = tmp_path_factory.mktemp("models")
    for path in sorted(OF_OPENCONFIG.rglob("*.yang")):
        shutil.copy(path, folder)
    # The models want a `set-med-action` also where no MED is set, so that no policy with actions would be valid.
    policy = folder / "openconfig-bgp-policy.yang"
    text = policy.read_text().replace('must "(set-med != ', 'must "not(set-med) or (set-med != ')
    policy.write_text(text)
    return folder


def validate_document(models: Path, document: Path) -> str:
    """Return the errors of libyang about a document by the models."""
    names = [
        *(
            "types",
            "interfaces",
            "if-ethernet",
            "if-ip",
            "lldp",
            "bfd",
            "bgp-types",
            "bgp-policy",
            "policy-types",
        ),
        *("network-instance", "network-instance-types"),
    ]
    files = [str(models / f"openconfig-{name}.yang") for name in names]
    ran = subprocess.run(
        ["yanglint", "-p", str(models), "-t", "config", "-i", *files, str(models / "iana-if-type.yang"), str(document)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    errors = [line for line in ran.stderr.splitlines() if "warn" not in line]
    assert bool(errors) == bool(ran.returncode)
    return "\n".join(errors)


@EACH
def test_the_published_models_accept_it(name: str, models: Path, tmp_path: Path) -> None:
    for switch in pick_samples(make_fabric(name)):
        file = tmp_path / f"{switch.name}.json"
        file.write_text(json.dumps(openconfig.render(switch)))
        assert validate_document(models, file) == ""


@pytest.mark.slow
def test_the_judge_notices_what_no_model_has(models: Path, tmp_path: Path) -> None:
    text = json.dumps(openconfig.render(pick_samples(make_fabric("lab-smallest"))[0]))
    file = tmp_path / "switch.json"
    file.write_text(text)
    assert validate_document(models, file) == ""
    for old, new in (
        ("SPEED_", "SPEEED_"),
        ('"import-policy": ["', '"import-policy": ["NO'),
        ('"as":', '"asn":'),
    ):
        file.write_text(text.replace(old, new, 1))
        assert text != file.read_text()
        assert validate_document(models, file) != ""


def test_the_command_counts_what_is_not_carried(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC)
    out, spec = tmp_path / "out", str(tmp_path / "cluster.yaml")
    assert run(["export", "openconfig", spec, "-o", str(out), "--format", "json", "-j", "1"]) == 0
    reported = json.loads(capfdbinary.readouterr().out)
    switches = [openconfig.neutral_facts(switch) for switch in compile_spec(spec).switches()]
    assert len(list((out / "switches").iterdir())) == reported["switches"] == len(switches)
    assert (
        reported["facts"]
        == sum(map(len, switches))
        == reported["carried"] + sum(one["count"] for one in reported["not_carried"])
    )
    missing = {one["fact"]: one for one in reported["not_carried"]}
    assert {"interface[*]/pfc", "interface[*]/queue[*]/ecn_min_bytes"} < missing.keys()
    assert missing["interface[*]/pfc"]["count"] == sum(
        path.endswith("/pfc") for one in switches for path in one
    )
    assert missing["interface[*]/pfc"]["means"]
    (note,) = reported["findings"]
    assert (note["code"], note["severity"]) == ("FAB0081", "note")
    assert json.loads((out / "not-carried.json").read_text())["not_carried"] == reported["not_carried"]
    assert run(["export", "openconfig", spec, "-o", str(out), "--only", "no-such"]) == 1
    assert b"FAB0080" in capfdbinary.readouterr().err
    assert (
        run(["export", "openconfig", str(ROOT / "inventories/quantum2-512/cluster.yaml"), "-o", str(out)])
        == 1
    )
    assert b"FAB5817" in capfdbinary.readouterr().err


def test_documents_go_with_their_switches_and_nothing_else_does(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec, out = tmp_path / "cluster.yaml", tmp_path / "out"

    def exported(text: str, *options: str) -> tuple[set[str], int]:
        spec.write_text(text)
        command = ["export", "openconfig", str(spec), "-o", str(out), "--format", "json", "-j", "1", *options]
        assert run(command) == 0
        reported = json.loads(capfd.readouterr().out)
        return {path.stem for path in (out / "switches").iterdir()}, reported["removed"]

    less = SPEC.replace("count: 2", "count: 1")
    names, _ = exported(SPEC)
    for path in (tmp_path / "mine.json", out / "switches/mine.json", out / "mine.json"):
        path.write_text("of somebody else")
    assert exported(SPEC, "--only", "spine01a") == ({*names, "mine"}, 0)
    before = (out / "not-carried.json").read_bytes()
    assert exported(less, "--only", "spine01a") == ({*names, "mine"} - {"spine02a"}, 1)
    (out / "switches/spine02a.json").write_text("on no record of an earlier run")
    assert exported(less) == ({*names, "mine"}, 0)
    wrong = {**json.loads(before), "documents": ["../mine", "mine/../../mine", "/etc/passwd", 3, "spine03a"]}
    (out / "not-carried.json").write_text(json.dumps(wrong))
    (out / "switches/spine03a.json").symlink_to(tmp_path / "mine.json")
    assert exported(less)[1] == 0
    assert (tmp_path / "mine.json").exists()
    assert (out / "mine.json").exists()
    (out / "not-carried.json").write_text("[" * 100_000)
    assert exported(less)[1] == 0


@pytest.mark.slow
def test_networks_share_a_folder(tmp_path: Path) -> None:
    spec = str(ROOT / "inventories/superpod-four-networks/cluster.yaml")
    for network in ("compute", "storage"):
        assert run(["export", "openconfig", spec, "-o", str(tmp_path), "--network", network]) == 0
    compiled = compile_spec(spec)
    names = {switch.name for each in (compiled, compiled.networks["storage"]) for switch in each.switches()}
    assert {path.stem for path in (tmp_path / "switches").iterdir()} == names
