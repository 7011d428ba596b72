"""Hosts on further networks alone: one network states them, others share them by name, each is one host."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc import compile_spec
from fabricc.back import hosts as host_files
from fabricc.base.diagnostics import Severity
from fabricc.compiler.recheck import check_tree
from fabricc.review.explain.questions import has_name
from tests.compiler.test_networks import NETPLAN, assert_disjoint, compile_text, find_codes

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

HEAD = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 4, hosts_per_unit: 4, capacity: 16}
tors: {model: sn5600, nos: sonic}
spines: {model: sn5600, nos: sonic}
networks:
"""
STORAGE = """\
  storage:
    tors: {model: sn4700, nos: sonic, oversubscription: 2.0}
    spines: {model: sn4700, nos: sonic, count: 2}
    priorities: {storage: {dscp: 34, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
    groups: [{name: store, model: storage-2x400, hosts: 6, hosts_per_unit: 4}]
"""
FRONTEND = """\
  frontend:
    hosts_per_unit: 8
    tors: {model: sn4700, nos: cumulus}
    spines: {model: sn4700, nos: cumulus, count: 2}
    priorities: {default: {}}
    groups:
      - {name: login, model: cpu-2x100, hosts: [head, spare], hosts_per_unit: 2, beside: gpus}
      - {name: store}
"""
WHOLE = HEAD + STORAGE + FRONTEND
STORES = {f"store{number:03d}" for number in range(1, 7)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    found = compile_text(tmp_path_factory.mktemp("whole"), WHOLE)
    assert find_codes(found) == []
    return found


@pytest.fixture(scope="module")
def tree(whole: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = whole.write(tmp_path_factory.mktemp("build"), jobs=1)
    assert [d for d in result.diagnostics if d.severity is Severity.ERROR] == []
    assert result.tree is not None
    return result.tree


def test_they_are_in_their_networks_and_not_on_the_rails(whole: Compiled) -> None:
    rails = {host.name for host in whole.hosts()}
    storage = {host.name for host in whole.networks["storage"].hosts()}
    frontend = {host.name for host in whole.networks["frontend"].hosts()}
    assert len(rails) == 4
    assert storage == rails | STORES
    assert frontend == rails | STORES | {"head", "spare"}
    counts = whole.counts()
    assert (counts["gpus"], counts["hosts"], counts["hosts_without_gpus"]) == (32, 12, 8)


def test_the_rails_and_their_jobs_know_nothing_of_them(tmp_path: Path, whole: Compiled, tree: Path) -> None:
    alone = compile_text(tmp_path, HEAD.replace("networks:\n", ""))
    assert alone.fabric is not None
    sockets = alone.fabric.host_sockets  # the front end, where there is one
    assert alone.fabric == replace(whole.fabric, networks=(), host_sockets=sockets)
    for file in ("hosts.csv", "hostfile"):
        assert "store001" not in (tree / "jobs" / file).read_text()


def test_each_is_one_host_with_every_port_once_and_its_own_files_once(whole: Compiled, tree: Path) -> None:
    apart_hosts = {name: whole.files(whole.device(name)) for name in ("store001", "head", "su001-host01")}
    ports = {}
    for name, files in apart_hosts.items():
        folder = tree / "hosts" / name
        assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == files.keys()
        plans = [yaml.safe_load(text) for path, text in files.items() if path.startswith("etc/netplan/")]
        ports[name] = [port for plan in plans for port in plan["network"]["ethernets"]]
        assert "apply" in files
    assert sorted(ports["store001"]) == ["frontend0", "frontend1", "storage0", "storage1"]
    assert len(ports["head"]) == 2
    assert "etc/netplan/60-fabricc.yaml" not in apart_hosts["store001"]
    assert "etc/nccl.conf" not in apart_hosts["store001"]


def test_parts_of_a_host_state_what_is_compiled(whole: Compiled) -> None:
    parts = [
        each.fabric.host(at)
        for each in whole.networks.values()
        for at in each.fabric.host_ids()
        if each.fabric.host(at).name in ("store001", "head")
    ]
    assert sorted((part.name, part.network, part.guest) for part in parts) == [
        ("head", "frontend", False),
        ("store001", "frontend", False),
        ("store001", "storage", True),
    ]
    for part in parts:
        reading = host_files.read(host_files.render(part))
        assert reading.facts == host_files.planned(part)
        assert reading.unknown == []


def test_the_apply_script_knows_the_host_and_its_ports(tree: Path) -> None:
    """The script's own functions return the host and its addresses."""
    folder = tree / "hosts" / "store001"
    text = (folder / "apply").read_text()
    functions = text[text.index("host_name() {") : text.index("rebuild_initramfs() {")]
    reported = subprocess.run(
        ["sh", "-c", f"{functions}\nhost_name\nexpected"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert reported[0] == "store001"
    assert {line.split()[1] for line in reported if line.startswith("mtu")} == {
        "frontend0",
        "frontend1",
        "storage0",
        "storage1",
    }


@pytest.mark.skipif(NETPLAN is None, reason="netplan is not installed")
def test_netplan_takes_a_host_of_two_networks(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree / "hosts" / "store001", tmp_path / "root")
    for file in (tmp_path / "root/etc/netplan").iterdir():
        file.chmod(0o600)
    ran = subprocess.run(
        [str(NETPLAN), "--root-dir", str(tmp_path / "root")], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_no_name_nor_address_is_in_two_networks(tmp_path: Path) -> None:
    found = compile_text(tmp_path, WHOLE)
    assert_disjoint(found)
    names = [name for each in found.networks.values() for name in each.fabric.own_hosts()]
    assert len(names) == len({*names}) == 8


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("hosts/store001/etc/netplan/60-fabricc-storage.yaml", "mtu: 9000", "mtu: 1500"),
        ("hosts/store001/etc/netplan/60-fabricc-frontend.yaml", "mtu: 9000", "mtu: 1500"),
        ("hosts/head/apply", "set -eu", "set -u"),
        ("switches/storage-rack002-tor1a/frr.conf", "router bgp", "router bgp 1 "),
    ],
)
@pytest.mark.spread
def test_an_edit_is_found(whole: Compiled, tree: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    clean, _ = check_tree(tree, whole.path, jobs=1)
    assert [d.code for d in clean.diagnostics if d.severity is Severity.ERROR] == []
    assert clean.counts["hosts"] == 12
    edited = tmp_path / tree.name
    shutil.copytree(tree, edited)
    text = (edited / file).read_text()
    assert old in text
    (edited / file).write_text(text.replace(old, new, 1))
    result, _ = check_tree(edited, whole.path, jobs=1)
    assert {d.code for d in result.diagnostics if d.severity is Severity.ERROR} - {"FAB6010"}


@pytest.mark.parametrize(
    ("requested", "network"),
    [
        ("store001", "frontend"),
        ("store001:storage0", "storage"),
        ("store001:frontend1", "frontend"),
        ("head", "frontend"),
        ("head:frontend0", "frontend"),
        ("su001-host01:storage0", "storage"),
    ],
)
def test_a_host_and_its_ports_are_explained_by_their_networks(
    whole: Compiled, requested: str, network: str
) -> None:
    found = [name for name, each in whole.networks.items() if has_name(each.fabric, requested)]
    assert found == [network]


def test_named_racks_are_units_of_the_network_that_states_them(tmp_path: Path) -> None:
    text = WHOLE.replace("hosts: 6, hosts_per_unit: 4", "racks: {r1: 2, r2: [old, older]}, hosts_per_rack: 2")
    found = compile_text(tmp_path, text)
    assert find_codes(found) == []
    storage = found.networks["storage"].fabric
    assert {"storage-r1-tor1a", "storage-r2-tor1a"} < {storage.name(at) for at in storage.switch_ids()}
    assert storage.own_hosts() == []
    assert {*found.networks["frontend"].fabric.own_hosts()} >= {"r1-host01", "r1-host02", "old", "older"}


def test_capacity_of_gpus_is_of_their_hosts(tmp_path: Path) -> None:
    """Storage nodes take nothing of the room that is planned for GPU hosts."""
    less, more = (
        compile_text(tmp_path, WHOLE.replace("hosts: 6,", f"hosts: {hosts},")).networks["storage"].fabric
        for hosts in (6, 12)
    )
    assert less.shape.units_per_pod >= 4 + 2
    grown = compile_text(tmp_path, WHOLE.replace("hosts: 4,", "hosts: 16,"))
    assert find_codes(grown) == []
    assert more.strides.unit >= less.strides.unit


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("FAB3230", WHOLE.replace("- {name: store}", "- {name: store, model: cpu-2x100, hosts: 1}")),
        ("FAB3230", WHOLE.replace("{name: login,", "{name: gpus,").replace(", beside: gpus", "")),
        ("FAB3230", WHOLE.replace("- {name: store}", "- {name: store}\n      - {name: store}")),
        ("FAB3231", WHOLE.replace("- {name: store}", "- {name: stare}")),
        ("FAB3231", WHOLE.replace("- {name: store}", "- {name: gpus}")),
        ("FAB3231", WHOLE.replace("- {name: store}", "- {name: store, hosts: 4}")),
        ("FAB3232", WHOLE.replace("model: cpu-2x100", "model: hgx-8gpu")),
        ("FAB3233", WHOLE.replace("  frontend:", "  vault:")),
        ("FAB3013", WHOLE.replace("model: cpu-2x100", "model: cpu-3x100")),
        ("FAB3021", WHOLE.replace("[head, spare]", "[su001-host01, spare]")),
        ("FAB3101", WHOLE.replace("[head, spare]", "[storage-rack002-tor1a, spare]")),
        ("FAB2006", WHOLE.replace("[head, spare]", "[store001, spare]")),
        ("FAB2077", WHOLE.replace("beside: gpus", "beside: gpu")),
        ("FAB2003", WHOLE.replace(", hosts_per_unit: 4}]", "}]")),
        ("FAB2007", WHOLE.replace("    hosts_per_unit: 8\n", "    hosts_per_unit: 8\n    capacity: 9\n")),
        ("FAB2078", WHOLE.replace("- {name: store}", "- {name: store, class: storage}")),
    ],
)
def test_impossible_network_hosts_are_rejected_at_their_line(tmp_path: Path, code: str, text: str) -> None:
    found = compile_text(tmp_path, text)
    assert code in find_codes(found), [each.message for each in found.diagnostics]
    (first, *_) = [each for each in found.diagnostics if each.code == code]
    assert first.position is not None
    assert first.position.line > 1
    assert first.help


def test_adding_them_changes_nothing_of_the_hosts_that_are_there(tmp_path: Path) -> None:
    without = compile_text(tmp_path, HEAD + STORAGE[: STORAGE.index("    groups")])
    without.lock_path.write_text(without.lock_text)
    found = compile_text(tmp_path, HEAD + STORAGE.replace("hosts_per_unit: 4}]", "hosts_per_unit: 2}]"))
    assert find_codes(found) == []
    assert set(without.lock_text.splitlines()) <= set(found.lock_text.splitlines())
    now = {host.name: host for host in found.networks["storage"].hosts()}
    for host in without.networks["storage"].hosts():
        assert now[host.name].ports == host.ports


def test_a_network_that_a_host_joins_leaves_its_other_ports_alone(tmp_path: Path) -> None:
    before = compile_text(tmp_path, WHOLE.replace("      - {name: store}\n", ""))
    before.lock_path.write_text(before.lock_text)
    after = compile_text(tmp_path, WHOLE)
    assert find_codes(after) == []
    assert set(before.lock_text.splitlines()) <= set(after.lock_text.splitlines())
    old = before.files(before.device("store001"))
    new = after.files(after.device("store001"))
    differing = {path for path in old if new[path] != old[path]}
    assert differing <= {"apply"}
    assert {path for path in new if path not in old} == {
        path for path in new if host_files.network_of(path) == "frontend"
    }


def test_compiling_again_from_the_lock_gives_the_same(whole: Compiled) -> None:
    whole.lock_path.write_text(whole.lock_text)
    again = compile_spec(whole.path)
    whole.lock_path.unlink()
    assert again.lock_text == whole.lock_text
    assert again.fabric == whole.fabric
