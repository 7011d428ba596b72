"""Ways out of further networks: a front end is where a cluster meets the rest of the data center."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.base.diagnostics import Severity
from fabricc.compiler.recheck import check_tree
from fabricc.review.explain.questions import has_name
from tests.compiler.test_networks import RAILS, STORAGE, USERS, compile_text, find_codes

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

FRONTEND = """\
  frontend:
    hosts_per_unit: 8
    tors: {{model: 7060dx5-32, nos: eos, oversubscription: 2.0}}
    spines: {{model: 7060dx5-32, nos: eos, count: 2, reserved_ports: 2}}
    priorities: {{default: {{}}}}
    external:
      dc-core:
        asn: 64999
        accept: [0.0.0.0/0, {accept}]
        links:
          - {{at: frontend-spine01a, port: Ethernet32/1, speed_gbps: 400, local: {local}, peer: core-1, peer_port: e1}}
          - {{at: frontend-spine02a, port: Ethernet32/1, speed_gbps: 400, local: 192.0.2.2/31, peer: c, peer_port: e}}
"""
OUTSIDE = "198.18.0.0/16"


def spec_text(storage: str = STORAGE, accept: str = f"{OUTSIDE} le 24", local: str = "192.0.2.0/31") -> str:
    return f"{RAILS}{USERS}networks:\n{storage}{FRONTEND.format(accept=accept, local=local)}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    found = compile_text(tmp_path_factory.mktemp("whole"), spec_text())
    assert find_codes(found) == []
    return found


@pytest.fixture(scope="module")
def tree(whole: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = whole.write(tmp_path_factory.mktemp("build"), jobs=1)
    assert [each for each in result.diagnostics if each.severity is Severity.ERROR] == []
    assert result.tree is not None
    return result.tree


def test_the_links_are_on_the_cabling_list_of_their_network_alone(tree: Path) -> None:
    outside = {
        path.parent.name: [row for row in csv.DictReader(path.open()) if row["kind"] == "external"]
        for path in tree.glob("plan/**/cabling.csv")
    }
    assert {name: len(rows) for name, rows in outside.items()} == {"plan": 0, "storage": 0, "frontend": 2}


def test_hosts_reach_outside_through_that_network_alone(tree: Path) -> None:
    files = {path.name: path.read_text() for path in (tree / "hosts/su001-host01/etc/netplan").iterdir()}
    assert [name for name, content in files.items() if OUTSIDE in content] == ["60-fabricc-frontend.yaml"]
    ports = yaml.safe_load(files["60-fabricc-frontend.yaml"])["network"]["ethernets"]
    routes = {
        name: [each.get("table", "main") for each in port["routes"] if each["to"] == OUTSIDE]
        for name, port in ports.items()
    }
    assert routes == {"frontend0": [1100, "main"], "frontend1": [1101, "main"]}


@pytest.mark.slow
def test_they_are_proved_from_the_files(whole: Compiled, tree: Path) -> None:
    def wrong() -> set[str]:
        result, _ = check_tree(tree, whole.path, jobs=1)
        return {each.code for each in result.diagnostics if each.severity is Severity.ERROR} - {"FAB6010"}

    assert wrong() == set()
    config = tree / "switches/frontend-spine01a/running-config.cfg"
    stated = config.read_text()
    line = next(each for each in stated.splitlines() if f"permit {OUTSIDE}" in each)
    config.write_text(stated.replace(line, line.replace("198.18", "198.17")))
    try:
        assert wrong()
    finally:
        config.write_text(stated)


def test_an_end_of_such_a_link_is_explained_by_its_network(whole: Compiled) -> None:
    for address in ("192.0.2.0", "192.0.2.3"):
        assert [name for name, each in whole.networks.items() if has_name(each.fabric, address)] == [
            "frontend"
        ]
        assert not has_name(whole.fabric, address)


STORAGE_OUT = f"""{STORAGE.replace("count: 2}", "count: 2, reserved_ports: 1}")}\
    external:
      filer:
        accept: [198.51.100.0/24]
        links:
          - {{at: storage-spine01a, port: Ethernet248, speed_gbps: 400, local: 192.0.2.4/31, peer: f, peer_port: e0}}
"""
MARKED = "accept: [{code: FAB5725, reason: the filer clears code points}]\n"


@pytest.mark.parametrize(
    ("changed", "output"),
    [
        (spec_text(local="10.0.0.0/31"),
            "10.0.0.0/31 overlaps addressing.hosts of the network of the rails 10.0.0.0/10"),
        (spec_text(local="172.18.0.0/31"),
            "172.18.0.0/31 overlaps management.network of network 'storage' 172.18.0.0/16"),
        (spec_text(accept="10.0.0.0/12"),
            "10.0.0.0/12 overlaps addressing.hosts of the network of the rails 10.0.0.0/10"),
        (spec_text(STORAGE_OUT, accept="198.51.100.0/24"), "198.51.100.0/24 leads out of network 'frontend' already"),
        (spec_text(STORAGE_OUT, local="192.0.2.4/31"),
            "192.0.2.4/31 overlaps a link of network 'frontend' 192.0.2.4/31"),
    ],
    ids=["link in the rails", "link in a management network", "prefix of the rails", "two ways", "a link twice"],
)  # fmt: skip
def test_external_links_of_networks_do_not_overlap(tmp_path: Path, changed: str, output: str) -> None:
    found = compile_text(tmp_path, changed + MARKED)
    wrong = [each for each in found.diagnostics if each.severity is Severity.ERROR]
    assert [each.code for each in wrong] == ["FAB3180"]
    assert wrong[0].message.startswith(output)
    assert wrong[0].help
    assert wrong[0].position is not None
    stated = changed.splitlines()[wrong[0].position.line - 1]
    assert output.split()[0] in stated


def test_a_far_port_takes_the_link_of_one_network(tmp_path: Path) -> None:
    again = STORAGE_OUT.replace("peer: f, peer_port: e0", "peer: core-1, peer_port: e1")
    assert find_codes(compile_text(tmp_path, spec_text(again) + MARKED)) == ["FAB3181"]


def test_two_networks_with_ways_of_their_own_are_planned(tmp_path: Path) -> None:
    assert find_codes(compile_text(tmp_path, spec_text(STORAGE_OUT) + MARKED)) == []
