"""A front end with segments next to a lossless network: built as a whole, distinguished, explained and rejected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.base.diagnostics import Severity
from fabricc.compiler.recheck import check_tree
from fabricc.operate.lab.lab_fabric import read_source
from fabricc.operate.lab.node import LabError
from fabricc.review.explain.questions import explain_name
from tests.compiler.test_networks import RAILS, USERS, compile_text, find_codes
from tests.review.explain.support import known_of_front

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

FRONTEND = """\
networks:
  storage:
    hosts_per_unit: 8
    tors: {{model: sn4700, nos: frr, oversubscription: 4.0}}
    spines: {{model: sn4700, nos: frr, count: 2}}
    priorities: {{default: {{}}}}
    evpn: {{segments: {{tenant-a: {{vlan: 110, subnet: {subnet}}}}}}}
"""


def spec_text(subnet: str = "10.192.0.0/20") -> str:
    return f"{RAILS}{USERS}{FRONTEND.format(subnet=subnet)}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    found = compile_text(tmp_path_factory.mktemp("whole"), spec_text())
    assert [d for d in found.diagnostics if d.severity is Severity.ERROR] == []
    return found


def test_the_tree_is_built_and_proved(whole: Compiled, tmp_path: Path) -> None:
    result = whole.write(tmp_path, jobs=1)
    assert [each for each in result.diagnostics if each.severity is Severity.ERROR] == []
    assert result.tree is not None
    checked, _ = check_tree(result.tree, whole.path, jobs=1)
    assert [d for d in checked.diagnostics if d.severity is Severity.ERROR] == []
    files = {path.name: path for path in (result.tree / "hosts/su001-host01/etc/netplan").iterdir()}
    ports = yaml.safe_load(files["60-fabricc-storage.yaml"].read_text())["network"]["ethernets"]
    for port in ports.values():
        (address,) = port["addresses"]
        assert address.startswith("10.192.")
        assert address.endswith("/20")
        assert [(each["to"], each.get("scope"), each.get("via")) for each in port["routes"]] == [
            ("10.192.0.0/20", "link", None)
        ]


def test_the_rails_stay_as_they_are_without_it(whole: Compiled, tmp_path: Path) -> None:
    alone = compile_text(tmp_path, f"{RAILS}{USERS}").fabric
    for at in alone.switch_ids():
        assert whole.fabric.switch(at) == alone.switch(at)


def test_an_address_of_a_segment_is_explained(whole: Compiled) -> None:
    front = whole.of_network("storage")
    host = front.fabric.host(next(front.fabric.host_ids()))
    address = str(host.ports[0].ipv4).partition("/")[0]
    assert explain_name(known_of_front(front), address).title == f"{host.name} storage0"
    assert explain_name(known_of_front(front), "10.192.0.1").title == "gateway of tenant-a"
    assert explain_name(known_of_front(front), "10.192.15.254").title == "not assigned"


def test_a_subnet_in_another_network_is_refused(tmp_path: Path) -> None:
    assert "FAB3100" in find_codes(compile_text(tmp_path, spec_text("10.3.0.0/20")))


def test_the_lab_does_not_boot_it(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(spec_text())
    with pytest.raises(LabError, match="segments with EVPN-VXLAN"):
        read_source(spec, None, "8.4", network="storage")


def test_given_host_block_is_rejected_with_segments(tmp_path: Path) -> None:
    front = FRONTEND.format(subnet="10.192.0.0/20") + "    identities: {devices: devices.csv}\n"
    (tmp_path / "devices.csv").write_text("device,hosts4\nstorage-rack001-tor1a,10.198.0.0/26\n")
    assert "FAB3312" in find_codes(compile_text(tmp_path, f"{RAILS}{USERS}{front}"))


def test_the_plan_lists_segments(whole: Compiled, tmp_path: Path) -> None:
    result = whole.write(tmp_path, jobs=1)
    assert result.tree is not None
    listed = json.loads((result.tree / "plan/storage/fabric.json").read_text())["segments"]
    assert listed == [
        {"name": "tenant-a", "vlan": 110, "vni": 10110, "vrf": "tenants", "subnet": "10.192.0.0/20"}
    ]
