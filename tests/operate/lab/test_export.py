"""Exported topologies: exactly the cabling plan, in the words of containerlab and netlab."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from fabricc.back import nos
from fabricc.back.nos.emulation import EMULATIONS
from fabricc.cli.lab import command
from fabricc.operate.lab.export import (
    Topology,
    build_topology,
    export_topology,
    render_containerlab,
    render_netlab,
)
from fabricc.operate.lab.lab_fabric import plan_fabric
from fabricc.tree import EmitError
from tests.operate.lab import specs
from tests.operate.lab.specs import INVENTORIES, SPECS

SCHEMA = Path(__file__).with_name("containerlab") / "clab.schema.json"
"""containerlab's own, under the license next to it."""


def make_sample(spec: Path) -> Topology:
    fabric, _ = plan_fabric(spec, 1, sample=True)
    return build_topology(fabric)


def read(files: dict[str, str], name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(files[name], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def render_clab(found: Topology) -> dict[str, Any]:
    return read(render_containerlab(found), f"{found.fabric.cluster}.clab.yml")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema without the patterns of Unicode classes, which Python's `re` does not know."""

    def understood(node: Any) -> Any:
        if isinstance(node, dict):
            return {k: understood(v) for k, v in node.items() if k != "pattern" or "\\p{" not in str(v)}
        return [understood(item) for item in node] if isinstance(node, list) else node

    return understood(json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("spec", SPECS)
def test_containerlabs_schema_accepts_every_inventory(spec: Path, schema: dict[str, Any]) -> None:
    jsonschema.validators.validator_for(schema)(schema).validate(render_clab(make_sample(spec)))


def test_containerlabs_schema_refuses_what_is_no_topology(tmp_path: Path, schema: dict[str, Any]) -> None:
    document = render_clab(make_sample(specs.two_tiers(tmp_path)))
    document["topology"]["nodes"]["spine01a"]["startup-konfig"] = "x"
    with pytest.raises(jsonschema.ValidationError, match="startup-konfig"):
        jsonschema.validators.validator_for(schema)(schema).validate(document)


@pytest.mark.parametrize("spec", SPECS)
def test_every_cable_is_exported_once_and_no_port_twice(spec: Path) -> None:
    found = make_sample(spec)
    ends = [end for link in render_clab(found)["topology"]["links"] for end in link["endpoints"]]
    assert len(ends) == len(set(ends)) == 2 * len(found.cables)
    devices = Counter(end.partition(":")[0] for end in ends)
    assert devices == Counter(device for cable in found.cables for device, _ in cable)
    links = read(render_netlab(found), "topology.yml")["links"]
    cables = [
        sorted(key for key in link if key not in ("mtu", "bgp.advertise", "ipv4", "ipv6")) for link in links
    ]
    assert cables == [sorted(device for device, _ in cable) for cable in found.cables]


def test_frr_keeps_the_plans_port_names_and_what_it_needs_from_outside(tmp_path: Path) -> None:
    found = make_sample(specs.two_tiers(tmp_path))
    files = render_containerlab(found)
    document = read(files, "small.clab.yml")
    assert {tuple(link["endpoints"]) for link in document["topology"]["links"]} == {
        (f"{a}:{ap}", f"{b}:{bp}") for (a, ap), (b, bp) in found.cables
    }
    node = document["topology"]["nodes"]["su001-tor1a"]
    assert node["binds"][0] == "su001-tor1a/frr.conf:/etc/frr/frr.conf"
    assert "ip link set swp3 mtu 9100" in node["exec"]
    assert not any("eth0" in line for line in node["exec"]), "containerlab addresses the management port"
    assert not any("gc_thresh" in name for name in document["topology"]["groups"]["frr-10.0"]["sysctls"])
    host = document["topology"]["nodes"]["su001-host01"]
    assert "ip rule add from 10.0.0.1/32 table 100 priority 1000" in host["exec"]


@pytest.mark.parametrize("spec", SPECS)
def test_every_switch_boots_from_its_own_emitted_files(spec: Path) -> None:
    found = make_sample(spec)
    files = render_containerlab(found)
    for name, node in read(files, f"{found.fabric.cluster}.clab.yml")["topology"]["nodes"].items():
        if name in found.switches:
            switch = found.switches[name].switch
            rendered = nos.load(switch.nos).render(switch)
            assert {path: files[f"{name}/{path}"] for path in rendered} == rendered
            named = [node["startup-config"]] if "startup-config" in node else []
            named += [bind.partition(":")[0] for bind in node.get("binds", ())]
            assert named
            assert set(named) <= files.keys()


def test_containerlab_port_map_uses_configured_names() -> None:
    spec = next(path for path in INVENTORIES if path.parent.name == "rack-zone-512")
    files = render_containerlab(make_sample(spec))
    mapping = json.loads(files["spine01a/EosIntfMapping.json"])
    text = files["spine01a/running-config.cfg"]
    assert mapping["EthernetIntf"]["eth1"] == "Ethernet1/1"
    for port in [*mapping["EthernetIntf"].values(), *mapping["ManagementIntf"].values()]:
        assert re.search(rf"^interface {re.escape(port)}$", text, re.M)


def test_every_built_in_system_has_an_emulation_with_its_assumptions() -> None:
    for name in nos.BUILT_IN:
        found = EMULATIONS.get(name)
        assert found is not None
        assert found.unverified
        assert found.startup or found.binds or any("start-up" in line for line in found.unverified)


def test_an_export_is_a_tree_of_its_own_and_replaces_no_foreign_folder(tmp_path: Path) -> None:
    spec = specs.two_tiers(tmp_path / "spec")
    out = tmp_path / "out"
    first = export_topology(spec, "containerlab", out)
    assert first.topology == out / "small-containerlab" / "small.clab.yml"
    assert (first.nodes, first.links) == (10, 16)
    before = first.topology.read_bytes()
    assert export_topology(spec, "containerlab", out).topology.read_bytes() == before
    (out / "small-netlab").mkdir()
    (out / "small-netlab" / "mine.txt").write_text("mine")
    with pytest.raises(EmitError):
        export_topology(spec, "netlab", out)
    assert (out / "small-netlab" / "mine.txt").read_text() == "mine"


def test_netlab_carries_the_plans_addresses_and_as_numbers(tmp_path: Path) -> None:
    found = make_sample(specs.two_tiers(tmp_path))
    document = read(render_netlab(found), "topology.yml")
    assert document["nodes"]["su001-tor1a"]["bgp"] == {
        "as": found.switches["su001-tor1a"].switch.bgp.asn,
        "router_id": "10.128.0.0",
        "originate": ["10.0.0.0/30"],
    }
    link = next(link for link in document["links"] if "spine01a" in link)
    assert link["su001-tor1a"] == {"ifname": "swp3", "ipv4": "10.64.0.1/31"}
    assert link["spine01a"] == {"ifname": "swp1", "ipv4": "10.64.0.0/31"}


def test_unnumbered_links_stay_so(tmp_path: Path) -> None:
    found = make_sample(
        specs.two_tiers(tmp_path, more="addressing: {family: dual, fabric_links: unnumbered}")
    )
    link = next(link for link in read(render_netlab(found), "topology.yml")["links"] if "spine01a" in link)
    assert link["ipv4"] is link["ipv6"] is True
    assert link["spine01a"] == {"ifname": "swp1"}


def test_lab_export_prints_the_file_and_its_assumptions(tmp_path: Path) -> None:
    spec = specs.two_tiers(tmp_path / "spec")
    ran = CliRunner().invoke(
        command, ["export", "--format", "containerlab", str(spec), "--units", "1", "-o", str(tmp_path)]
    )
    assert ran.exit_code == 0
    assert "small.clab.yml: 6 nodes, 8 links" in ran.output
    assert "note: assumed: frr:" in ran.output
    assert "note: 1 of 2 units; every spine of theirs" in ran.output
