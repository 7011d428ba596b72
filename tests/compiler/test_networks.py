"""Further networks of the same hosts: fabrics of their own, and one set of files on each host."""

from __future__ import annotations

import shutil
import subprocess
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from netaddr import IPNetwork

from fabricc import compile_spec
from fabricc.back import hosts as host_files
from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.compiler.driver import build_tree
from fabricc.compiler.recheck import check_tree
from fabricc.fabric import links
from fabricc.front.spec.lock import parse_lock
from fabricc.operate.lab import lab_fabric
from fabricc.operate.push import built_tree
from fabricc.review.explain.questions import has_name
from fabricc.review.report.page import render_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

RAILS = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: sn5600, nos: sonic}
"""
STORAGE = """\
  storage:
    tors: {model: sn4700, nos: sonic, oversubscription: 2.0}
    spines: {model: sn4700, nos: sonic, count: 2}
    priorities: {storage: {dscp: 34, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
"""
FRONTEND = """\
  frontend:
    hosts_per_unit: 8
    tors: {model: sn4700, nos: cumulus}
    spines: {model: sn4700, nos: cumulus}
    priorities: {default: {}}
"""
USERS = (
    'management: {users: [{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7example"}]}\n'
)
WHOLE = f"{RAILS}{USERS}networks:\n{STORAGE}{FRONTEND}"
NETPLAN = next(
    (p for p in ("/usr/libexec/netplan/generate", "/usr/lib/netplan/generate") if Path(p).exists()), None
)


def compile_text(folder: Path, text: str) -> Compiled:
    folder.mkdir(exist_ok=True)
    (folder / "cluster.yaml").write_text(text)
    return compile_spec(folder / "cluster.yaml")


def find_codes(found: Compiled, severity: Severity = Severity.ERROR) -> list[str]:
    return [each.code for each in found.diagnostics if each.severity is severity]


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


def all_fabrics(found: Compiled) -> list[Fabric]:
    return [found.fabric, *(each.fabric for each in found.networks.values())]


def test_each_network_is_a_fabric_of_its_own(whole: Compiled) -> None:
    storage, frontend = whole.networks["storage"], whole.networks["frontend"]
    assert storage.fabric.counts()["hosts"] == frontend.fabric.counts()["hosts"] == 8
    assert [tor for tor in map(storage.fabric.name, storage.fabric.switch_ids()) if "-tor" in tor] == [
        "storage-su001-tor1a",
        "storage-su002-tor1a",
    ]
    assert {switch.nos for switch in storage.switches()} == {"sonic"}
    assert {switch.nos for switch in frontend.switches()} == {"cumulus"}
    lossless = [
        [c.name for c in each.host(next(each.host_ids())).classes if c.lossless]
        for each in all_fabrics(whole)
    ]
    assert lossless == [["rdma"], [], ["storage"]]


@pytest.mark.slow
def test_the_rails_are_what_they_are_without_other_networks(tmp_path: Path, tree: Path) -> None:
    alone = compile_text(tmp_path / "alone", RAILS + USERS)
    result = alone.write(tmp_path / "build", jobs=1)
    assert result.tree is not None
    same = [path.relative_to(result.tree) for path in result.tree.rglob("*") if path.is_file()]
    differing = {
        str(path.name if path.parts[0] == "hosts" else path)
        for path in same
        if (result.tree / path).read_bytes() != (tree / path).read_bytes()
    }
    assert len(same) > 200
    # `apply` looks for the scripts of other networks, and jobs open their sockets on the front end.
    assert differing == {
        "apply",
        "manifest.json",
        "nccl.conf",
        "jobs/nccl.conf",
        "jobs/nvshmem.env",
        "jobs/rccl.conf",
    }


def test_no_name_nor_address_is_in_two_networks(whole: Compiled) -> None:
    assert_disjoint(whole)


def assert_disjoint(found: Compiled) -> None:
    every = all_fabrics(found)
    names = [name for fabric in every for name in map(fabric.name, fabric.switch_ids())]
    hosts = {name for unit in found.fabric.units.values() for name in unit.hosts.values()}
    assert len(names) == len({*names}) > len(every)
    assert hosts.isdisjoint(names)
    addresses = [list(_host_addresses(fabric)) for fabric in every]
    assert all(addresses)
    assert len(list(chain(*addresses))) == len({*chain(*addresses)})
    asns = [{links.switch_asn(fabric, at) for at in fabric.switch_ids()} for fabric in every]
    assert sum(map(len, asns)) == len(set().union(*asns))
    for host in hosts:
        ports = [port for fabric in every for port in fabric.host(_find_place(fabric, host)).ports]
        for attribute in ("name", "rdma", "table", "ipv4"):
            values = [getattr(port, attribute) for port in ports]
            assert len(values) == len({*values})


def _find_place(fabric: Fabric, host: str) -> object:
    return next(at for at in fabric.host_ids() if fabric.units[at.unit].hosts[at.slot] == host)


def _host_addresses(fabric: Fabric) -> Iterator[str]:
    for switch in map(fabric.switch, fabric.switch_ids()):
        yield from (address for address in (switch.loopback4, switch.management.address) if address)
        yield from (port.ipv4 for port in switch.ports if port.ipv4)
    for host in map(fabric.host, fabric.host_ids()):
        yield from (port.ipv4 for port in host.ports if port.ipv4)


@given(
    names=st.lists(st.sampled_from(["storage", "frontend"]), min_size=1, unique=True),
    hosts=st.integers(1, 12),
    per_unit=st.sampled_from([2, 4, 8]),
    own_units=st.booleans(),
    wiring=st.sampled_from(["rail", "rack"]),
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_and_numbers_of_networks_are_disjoint(
    tmp_path: Path, names: list[str], hosts: int, per_unit: int, own_units: bool, wiring: str
) -> None:
    networks = "".join(
        f"  {name}:\n    wiring: {wiring}\n"
        + ("    hosts_per_unit: 6\n" if own_units else "")
        + "    tors: {model: sn4700, nos: sonic}\n    spines: {model: sn4700, nos: sonic}\n"
        for name in names
    )
    rails = RAILS.replace("hosts: 8, hosts_per_unit: 4", f"hosts: {hosts}, hosts_per_unit: {per_unit}")
    found = compile_text(tmp_path / "any", f"{rails}networks:\n{networks}")
    assert find_codes(found) == []
    assert_disjoint(found)


def test_check_proves_a_built_tree_again(whole: Compiled, tree: Path) -> None:
    result, _ = check_tree(tree, whole.path, jobs=1)
    assert [d for d in result.diagnostics if d.severity is Severity.ERROR] == []
    switches = sum(
        fabric.counts()[f"{tier}s"] for fabric in all_fabrics(whole) for tier in ("tor", "spine", "core")
    )
    assert sum(result.counts[f"{tier}s"] for tier in ("tor", "spine", "core")) == switches
    assert (result.counts["hosts"], result.counts["gpus"]) == (8, 64)
    assert result.links == sum(
        sum(fabric.counts()[f"{kind}_cables"] for kind in ("host", "spine", "core"))
        for fabric in all_fabrics(whole)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("hosts/su001-host01/etc/netplan/60-fabricc-storage.yaml", "mtu: 9000", "mtu: 1500"),
        ("hosts/su001-host01/usr/local/sbin/fabricc-roce-storage", "PFC=0", "PFC=1"),
        ("hosts/su001-host01/etc/netplan/60-fabricc-storage.yaml", "metric: 100", "metric: 300"),
        ("switches/frontend-rack001-tor1a/startup.yaml", "4201", "4202"),
        ("switches/storage-su001-tor1a/frr.conf", "router bgp", "router bgp 1 "),
    ],
)
def test_an_edit_in_a_further_network_is_found(
    whole: Compiled, tree: Path, tmp_path: Path, file: str, old: str, new: str
) -> None:
    edited = tmp_path / tree.name
    shutil.copytree(tree, edited)
    text = (edited / file).read_text()
    assert old in text
    (edited / file).write_text(text.replace(old, new, 1))
    result, _ = check_tree(edited, whole.path, jobs=1)
    meant = {d.code for d in result.diagnostics if d.severity is Severity.ERROR} - {"FAB6010"}
    assert meant


def test_a_host_has_every_port_once_and_no_file_twice(whole: Compiled, tree: Path) -> None:
    host = whole.device("su001-host01")
    files = whole.files(host)  # type: ignore[arg-type]
    folder = tree / "hosts" / "su001-host01"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == files.keys()
    plans = [yaml.safe_load(text) for path, text in files.items() if path.startswith("etc/netplan/")]
    named = [port for plan in plans for port in plan["network"]["ethernets"]]
    assert sorted(named) == sorted({*named})
    assert len(named) == 8 + 2 + 2
    for port in named:
        assert f"etc/systemd/network/10-fabricc-{port}.link" in files
    scripts = [path for path in files if path.startswith("usr/local/sbin/")]
    assert len(scripts) == 3
    configured = [
        name for path in scripts for name in named if f"\n{name}) rdma=" in files[path].replace("    ", "")
    ]
    assert sorted(configured) == sorted(named)
    assert "storage" not in files["etc/nccl.conf"]
    lines = [line for line in files["etc/nccl.conf"].splitlines() if "frontend" in line]
    assert lines == ["NCCL_SOCKET_IFNAME==frontend0"], "sockets use the front end, RDMA does not"


def test_tools_call_the_second_port_of_a_card_by_its_number(whole: Compiled) -> None:
    ports = {}
    for fabric in all_fabrics(whole):
        facts = host_files.planned(fabric.host(next(iter(fabric.host_ids()))))
        ports |= {path: value for path, value in facts.items() if path.endswith("/firmware_port")}
    assert {value for path, value in ports.items() if "frontend" in path} == {2}
    assert {value for path, value in ports.items() if "frontend" not in path} == {1}


def test_host_files_name_their_network(whole: Compiled) -> None:
    for fabric in all_fabrics(whole):
        host = fabric.host(next(iter(fabric.host_ids())))
        assert {host_files.network_of(path) for path in host_files.render(host)} == {fabric.network}


@pytest.mark.parametrize("system", ["ubuntu-24.04", "rhel-9"])
def test_parts_of_a_host_state_what_is_planned(tmp_path: Path, system: str) -> None:
    text = WHOLE.replace("hosts_per_unit: 4}", f"hosts_per_unit: 4, os: {system}}}")
    for fabric in all_fabrics(compile_text(tmp_path / "os", text)):
        host = fabric.host(next(iter(fabric.host_ids())))
        reading = host_files.read(host_files.render(host))
        assert reading.facts == host_files.planned(host)
        assert reading.unknown == []


def test_sockets_find_a_further_network_without_an_address_of_their_own(whole: Compiled) -> None:
    storage = whole.networks["storage"].fabric
    facts = host_files.planned(storage.host(next(iter(storage.host_ids()))))
    routes = {path: value for path, value in facts.items() if "/main_route[" in path}
    assert len(routes) == 2
    assert len({str(value).split()[-1] for value in routes.values()}) == 2
    rails = whole.fabric.host(next(iter(whole.fabric.host_ids())))
    assert not any("/main_route[" in path for path in host_files.planned(rails))


@pytest.mark.skipif(NETPLAN is None, reason="netplan is not installed")
def test_netplan_takes_all_networks_of_a_host_together(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree / "hosts" / "su001-host01", tmp_path / "root")
    for file in (tmp_path / "root/etc/netplan").iterdir():
        file.chmod(0o600)
    ran = subprocess.run(
        [str(NETPLAN), "--root-dir", str(tmp_path / "root")], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    units = {path.name for path in (tmp_path / "root/run/systemd/network").glob("*.network")}
    assert {
        "10-netplan-rail7.network",
        "10-netplan-storage1.network",
        "10-netplan-frontend0.network",
    } <= units
    storage = (tmp_path / "root/run/systemd/network/10-netplan-storage0.network").read_text()
    assert "Metric=100" in storage
    assert "Table=2100" in storage


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_takes_the_scripts(tree: Path) -> None:
    folder = tree / "hosts" / "su001-host01"
    scripts = [str(folder / "apply"), *map(str, (folder / "usr/local/sbin").iterdir())]
    subprocess.run(["shellcheck", "-s", "sh", *scripts], check=True)


def test_adding_a_network_changes_nothing_of_the_others(tmp_path: Path) -> None:
    one = compile_text(tmp_path, f"{RAILS}networks:\n{STORAGE}")
    one.lock_path.write_text(one.lock_text)
    both = compile_text(tmp_path, f"{RAILS}networks:\n{FRONTEND}{STORAGE}")
    assert find_codes(both) == []
    assert {name: each.spec.network.number for name, each in both.networks.items() if each.spec.network} == {
        "storage": 1,
        "frontend": 2,
    }
    assert set(one.lock_text.splitlines()) < set(both.lock_text.splitlines())
    before = {switch.name: switch for switch in one.networks["storage"].switches()}
    assert before == {switch.name: switch for switch in both.networks["storage"].switches()}


def test_a_network_that_left_keeps_its_number(tmp_path: Path) -> None:
    one = compile_text(tmp_path, f"{RAILS}networks:\n{STORAGE}")
    one.lock_path.write_text(one.lock_text)
    none = compile_text(tmp_path, RAILS)
    assert none.lock_text == one.lock_text
    other = compile_text(tmp_path, f"{RAILS}networks:\n{FRONTEND}")
    assert parse_lock(other.lock_text, "")[0].numbers == {"storage": 1, "frontend": 2}


def test_hosts_that_come_later_renumber_nothing(tmp_path: Path) -> None:
    few = RAILS.replace("hosts: 8,", "hosts: 6, capacity: 16,")
    before = compile_text(tmp_path, f"{few}networks:\n{STORAGE}{FRONTEND}")
    before.lock_path.write_text(before.lock_text)
    after = compile_text(tmp_path, f"{few.replace('hosts: 6', 'hosts: 12')}networks:\n{STORAGE}{FRONTEND}")
    assert find_codes(after) == []
    for name, network in before.networks.items():
        grown = {host.name: host for host in after.networks[name].hosts()}
        assert len(grown) == 12
        for host in network.hosts():
            assert [port.ipv4 for port in grown[host.name].ports] == [port.ipv4 for port in host.ports]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("FAB3100", f"{RAILS}networks:\n{STORAGE}    addressing: {{hosts: 10.0.0.0/12}}\n"),
        ("FAB3100", f"{RAILS}networks:\n{STORAGE}    management: {{network: 172.16.0.0/20}}\n"),
        ("FAB3100", f"{RAILS}management: {{network: 172.16.0.0/12}}\nnetworks:\n{STORAGE}"),
        ("FAB3103", f"{RAILS}networks:\n{STORAGE}{FRONTEND}    ports: storage\n"),
        ("FAB3104", f"{RAILS}networks:\n{STORAGE}    ports: storrage\n"),
        ("FAB3104", f"{RAILS.replace('dgx-h100', 'lab-host')}networks:\n{STORAGE}"),
        ("FAB3021", f"{RAILS.replace('hosts: 8', 'hosts: [a, storage-su001-tor1a]')}networks:\n{STORAGE}"),
        ("FAB1006", f"{RAILS}networks:\n{STORAGE.replace('storage:', 'eth:', 1)}"),
        ("FAB1002", f"{RAILS}networks: {{storage: {{spines: {{model: sn4700, nos: sonic}}}}}}\n"),
        ("FAB1001", f"{RAILS}networks:\n{STORAGE}    gpus: {{}}\n"),
    ],
)
def test_impossible_networks_are_rejected_at_their_line(tmp_path: Path, code: str, text: str) -> None:
    found = compile_text(tmp_path, text)
    assert code in find_codes(found)
    assert not found.sound
    (first, *_) = [each for each in found.diagnostics if each.code == code]
    assert first.position is not None
    assert first.position.line > 1
    assert first.help


def test_the_pool_that_a_remedy_names_can_be_planned(tmp_path: Path) -> None:
    text = f"{RAILS}networks:\n{STORAGE}    addressing: {{hosts: %s}}\n"
    found = compile_text(tmp_path, text % "10.0.0.0/12")
    (refused,) = [each for each in found.diagnostics if each.code == "FAB3100"]
    free = refused.help.split()[-1].rstrip(".")
    assert IPNetwork(free).prefixlen == 12
    assert find_codes(compile_text(tmp_path, text % free)) == []


def test_asns_of_two_networks_are_reported_when_they_are_the_same(tmp_path: Path) -> None:
    text = f"{RAILS}networks:\n{STORAGE}    routing: {{asn_base: 4200000000}}\n"
    found = compile_text(tmp_path, text)
    assert "FAB3102" in find_codes(found, Severity.WARNING)
    assert find_codes(found) == []
    (reported,) = [each for each in found.diagnostics if each.code == "FAB3102"]
    base = reported.help.split("`")[1]
    again = compile_text(tmp_path, text.replace("asn_base: 4200000000", base))
    assert "FAB3102" not in find_codes(again, Severity.WARNING)


def test_hosts_without_the_ports_are_left_out_and_reported(tmp_path: Path) -> None:
    ports = (
        "{nic: connectx-7, nics: 2, ports_per_nic: 1, port_gbps: 200, assumed: true, reason: for this test}"
    )
    model = f"sources: {{}}\nhosts: {{vaulted: {{extends: dgx-h100, networks: {{vault: {ports}}}}}}}\n"
    (tmp_path / "own.yaml").write_text(model)
    text = f"catalog: [own.yaml]\n{mixed_spec('vaulted', 'hgx-8gpu')}    ports: vault\n"
    found = compile_text(tmp_path, text)
    assert "FAB3105" in find_codes(found, Severity.WARNING), found.diagnostics
    assert found.networks["storage"].fabric.counts()["hosts"] == 4


def mixed_spec(*models: str) -> str:
    """A spec of groups of four hosts of these models, with a network for storage."""
    groups = ", ".join(f"{{name: {each}, model: {each}, hosts: 4, hosts_per_unit: 4}}" for each in models)
    lines = RAILS.splitlines(keepends=True)
    return f"{lines[0]}gpus: {{groups: [{groups}]}}\n{''.join(lines[2:])}networks:\n{STORAGE}"


def test_hosts_of_other_numbers_of_ports_share_a_network(tmp_path: Path) -> None:
    """Ports for storage are no rails: two on one model, one on another, each with the ToR of its rack."""
    found = compile_text(
        tmp_path,
        mixed_spec("dgx-h100", "mi300x-cx7").replace("  storage:\n", "  storage:\n    ports: frontend\n"),
    )
    assert find_codes(found) == []
    ports = {host.model.name: len(host.ports) for host in found.networks["storage"].hosts()}
    assert ports == {"dgx-h100": 2, "mi300x-cx7": 1}


def test_a_network_of_one_tor_needs_no_spines(tmp_path: Path) -> None:
    small = RAILS.replace("hosts: 8,", "wiring: rail, hosts: 4,")
    found = compile_text(tmp_path, f"{small}networks: {{storage: {{tors: {{model: sn4700, nos: sonic}}}}}}\n")
    assert find_codes(found) == []
    assert [switch.name for switch in found.networks["storage"].switches()] == ["storage-su001-tor1a"]


def test_networks_together_with_infiniband_are_refused(tmp_path: Path) -> None:
    text = f"{RAILS.replace('sn5600, nos: sonic', 'qm9700')}fabric: infiniband\nnetworks:\n{STORAGE}"
    assert "FAB2114" in find_codes(compile_text(tmp_path, text))


def test_secrets_and_services_are_those_of_the_top_level(tmp_path: Path) -> None:
    text = f"{RAILS}management: {{ntp: [172.16.0.3]}}\nnetworks:\n{STORAGE}    management: {{network: 172.30.0.0/16}}\n"
    found = compile_text(tmp_path, text)
    switch = next(found.networks["storage"].switches())
    assert switch.management.ntp == ("172.16.0.3",)
    assert switch.management.address.startswith("172.30.")
    assert switch.management.gateway == "172.30.0.1"


@pytest.mark.parametrize("word", ["address", "prefix", "asn", "port", "device"])
def test_explain_covers_further_networks(whole: Compiled, word: str) -> None:
    storage = whole.networks["storage"].fabric
    tor = storage.switch(next(iter(storage.switch_ids())))
    host = storage.host(next(iter(storage.host_ids())))
    requested = {
        "address": (host.ports[0].ipv4 or "").partition("/")[0],
        "prefix": host.ports[0].ipv4 or "",
        "asn": f"AS{tor.bgp.asn}",
        "port": f"{host.name}:storage0",
        "device": tor.name,
    }[word]
    assert [has_name(fabric, requested) for fabric in all_fabrics(whole)[1:]] == [False, True]


def test_network_option_lists_existing_networks(whole: Compiled, tmp_path: Path) -> None:
    assert whole.of_network("compute") is whole
    assert whole.of_network("storage") is whole.networks["storage"]
    for name in (None, "oob"):
        with pytest.raises(FindingsError) as refused:
            whole.of_network(name)
        assert refused.value.code == "FAB3110"
        assert "compute, frontend and storage" in refused.value.diagnostic.help
    alone = compile_text(tmp_path, RAILS)
    assert alone.of_network(None) is alone


@pytest.mark.parametrize("name", ["compute", "storage", "frontend"])
def test_a_lab_and_a_report_are_of_one_network(whole: Compiled, name: str) -> None:
    lab = lab_fabric.read_source(whole.path, None, "10", network=name)
    names = {switch.name for switch in map(lab.fabric.switch, lab.fabric.switch_ids())}
    assert names == {switch.name for switch in whole.of_network(name).switches()}
    assert all(lab.fabric.switch(at).nos == "frr" for at in lab.fabric.kinds())
    page = str(render_report(whole.of_network(name)))
    title = "zone" if name == "compute" else f"zone {name}"
    assert f"<h1>{title}</h1>" in page
    with pytest.raises(FindingsError):
        lab_fabric.read_source(whole.path, None, "10")


@pytest.mark.slow
def test_a_push_takes_the_switches_of_one_network(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(WHOLE)
    result = compile_spec(tmp_path / "cluster.yaml").write(tmp_path / "build", jobs=1)
    assert result.tree is not None
    source = built_tree.read_source(result.tree, network="storage")
    assert list(source.places) == [
        "storage-su001-tor1a",
        "storage-su002-tor1a",
        "storage-spine01a",
        "storage-spine02a",
    ]
    assert all(source.files(name) == source.render_states(name, {4})[0] for name in source.places)
    with pytest.raises(FindingsError):
        built_tree.read_source(result.tree)


@pytest.mark.slow
def test_builds_one_after_another_are_as_one_alone(tmp_path: Path) -> None:
    spec, drained = tmp_path / "cluster.yaml", "    overrides: {storage-su001-tor1a: {drain: true}}\n"
    trees = []
    for out, texts in (("again", [RAILS, f"{RAILS}networks:\n{STORAGE}", f"{RAILS}networks:\n{STORAGE}{drained}"]),
                       ("once", [f"{RAILS}networks:\n{STORAGE}{drained}"])):  # fmt: skip
        for text in texts:
            spec.write_text(text)
            result, _ = build_tree(spec, tmp_path / out, jobs=1)
            assert result.exit_status == 0
            assert result.tree is not None
        trees.append(
            {
                path.relative_to(result.tree): path.read_bytes()
                for path in result.tree.rglob("*")
                if path.is_file()
            }
        )  # type: ignore[arg-type]
    assert trees[0] == trees[1]
    assert b"GRACEFUL" in trees[0][Path("switches/storage-su001-tor1a/frr.conf")].upper()


@pytest.mark.slow
def test_removing_a_network_takes_its_switches_and_files_of_hosts_away(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    for text in (f"{RAILS}networks:\n{STORAGE}", RAILS):
        spec.write_text(text)
        result, _ = build_tree(spec, tmp_path / "build", jobs=1)
        assert result.exit_status == 0
        assert result.tree is not None
    assert [path for path in result.tree.rglob("*storage*") if path.is_file()] == []  # type: ignore[union-attr]
