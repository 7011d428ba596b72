"""A fabric that runs becomes a spec whose build states what its devices state, whatever their names and numbers."""

from __future__ import annotations

import copy
import csv
import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fabricc import compile_spec
from fabricc.audit.adopt import outward, report, run
from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.fabric.model import Direction
from fabricc.fabric.naming import computed_name
from fabricc.proof.compare import Mismatch
from fabricc.proof.invariants.rules import CODES
from tests.audit.fabrics import collect_devices, compile_inventory, each_device, found_of, make_disguise

MODELS = {
    "eos": "7060x6-64pe", "nxos": "9364d-gx2a", "junos": "qfx5240-64od", "cumulus": "sn5600", "sonic": "sn5600",
    "frr": "linux-64x400",
}  # fmt: skip
PRIORITIES = {"rdma": {"dscp": 26, "lossless": True}, "cnp": {"dscp": 48, "strict": True}, "default": {}}
GAPS = {"junos": ("FAB5510", "FAB5513"), "frr": ("FAB5201", "FAB5202")}
WHY = "what the system cannot say is no part of this test"


def small_spec(nos, gpus=None, spines=None, **more):
    """Eight hosts of eight rails; what is given goes before."""
    words = {
        "cluster": "zone",
        "gpus": {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4, **(gpus or {})},
        "tors": {"model": MODELS[nos], "nos": nos, "uplinks": 8},
        "spines": {"model": MODELS[nos], "nos": nos, "count": 2, **(spines or {})},
        "priorities": PRIORITIES,
        "cables": {"host": {"medium": "smf", "length_m": 7}, "spine": {"medium": "smf", "length_m": 35}},
        **more,
    }
    if nos in GAPS:
        words["accept"] = [{"code": code, "reason": WHY} for code in GAPS[nos]]
    return words


def add_cores(nos):
    return {
        "spines": {"uplinks": 4, "units_per_pod": 1},
        "cores": {"model": MODELS[nos], "nos": nos, "count": 2},
    }


OWN_NUMBERS = {
    "addressing": {"hosts": "10.96.0.0/16", "links": "192.168.0.0/16", "loopbacks": "172.30.0.0/16"},
    "routing": {"asn_base": 64512, "keepalive_s": 5, "hold_s": 15, "bfd": False},
    "mtu": {"switch": 9200, "host": 8500},
    "management": {"network": "10.200.0.0/22", "gateway": "10.200.3.254", "ntp": ["10.200.0.2"]},
}
TWO_LOSSLESS = {
    "rdma": {"dscp": [24, 26], "lossless": True, "sends": 26},
    "storage": {"dscp": 34, "lossless": True},
    "cnp": {"dscp": 48, "strict": True, "priority": 7},
    "default": {},
}
RACKS = {"hosts": None, "hosts_per_unit": None, "racks": 4, "hosts_per_rack": 2, "wiring": "rack"}
WEIGHTS = {
    **PRIORITIES,
    "rdma": {"dscp": 26, "lossless": True, "weight_percent": 60},
    "default": {"weight_percent": 40},
}
OTHER_BGP = {"spine_asn": "unique", "bfd": {"interval_ms": 200, "multiplier": 4}, "asn_base": 4210000000}
FABRICS = {
    "numbers of its own": small_spec("eos", **OWN_NUMBERS),
    "racks": small_spec("nxos", gpus=RACKS),
    "cumulus, unnumbered": small_spec("cumulus", addressing={"fabric_links": "unnumbered"}),
    "cores": small_spec("eos", **add_cores("eos")),
    "changes of single switches": small_spec(
        "eos", overrides={"spine01a": {"drain": True}, "su001-tor2a": {"cable_m": 20},
                          "su002-tor1a": {"ports": {"Ethernet1/1": {"shutdown": True}}}}),
    **{f"{nos}, plain": small_spec(nos) for nos in MODELS},
    **{f"{nos}, unnumbered": small_spec(nos, addressing={"fabric_links": "unnumbered"}) for nos in MODELS},
    **{f"{nos}, dual stack": small_spec(nos, addressing={"family": "dual"}) for nos in MODELS},
    "IPv6": small_spec("eos", addressing={"family": "ipv6"}),
    "unique ASNs": small_spec("sonic", routing=OTHER_BGP),
    "planes": small_spec("sonic", gpus={"model": "hgx-2x200"}, planes=2),
    "planes and cores": small_spec("sonic", gpus={"model": "hgx-2x200"}, planes=2, **add_cores("sonic")),
    "rails apart": small_spec("eos", gpus={"wiring": "rail-only"}),
    "two lossless classes": small_spec("eos", priorities=TWO_LOSSLESS),
    "marking said": small_spec("eos", congestion={"ecn": {"min_kb": 400, "max_kb": 1200, "max_percent": 10}}),
    "PFC alone": small_spec("sonic", congestion={"profile": "pfc-only"}),
    "weights": small_spec("junos", priorities=WEIGHTS),
}  # fmt: skip


def compiled_in(folder, words, tables=None):
    words = copy.deepcopy(words)
    words["gpus"] = {key: value for key, value in words["gpus"].items() if value is not None}
    for key, (name, rows) in (tables or {}).items():
        words.setdefault("identities", {})[key] = name
        with (folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    (folder / "cluster.yaml").write_text(yaml.safe_dump(words))
    compiled = compile_spec(folder / "cluster.yaml")
    assert compiled.sound, [
        found.message for found in compiled.diagnostics if found.severity is Severity.ERROR
    ]
    return compiled


def adopt_compiled(compiled, **kept):
    return run.adopted_of(found_of(collect_devices(compiled, **kept)), Path("folder"), "zone")


def assert_the_same(adoption, devices):
    assert adoption.adopted.compiled.sound, [found.message for found in adoption.findings]
    assert {name: found for name, found in adoption.adopted.differences.items() if found} == {}
    assert adoption.same == devices


@pytest.mark.slow
@pytest.mark.parametrize("words", FABRICS.values(), ids=FABRICS)
def test_a_fabric_comes_back_without_a_difference(words, tmp_path):
    compiled = compiled_in(tmp_path, words)
    adoption = adopt_compiled(compiled)
    assert_the_same(adoption, compiled.counts()["hosts"] + sum(1 for _ in compiled.switches()))
    back = adoption.adopted.compiled
    assert back.counts() == compiled.counts()
    assert adoption.adopted.draft.devices == adoption.adopted.draft.links == ()
    assert [each.model.name for each in back.switches()] == [each.model.name for each in compiled.switches()]


@pytest.mark.parametrize(
    "name",
    [
        "lab-smallest",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("rack-zone-512", "gb200-nvl72-su", "superpod-b200-4su")
        ),
    ],
)
def test_an_inventory_comes_back_behind_other_names(name):
    compiled = compile_inventory(name)
    names = make_disguise(compiled)
    adoption = adopt_compiled(compiled, renamed=names)
    assert_the_same(adoption, len(names))
    assert {row["name"] for row in adoption.adopted.draft.devices} == {
        names[each.name] for each in compiled.switches()
    }


def given_at_random(compiled, seed=7):
    """Names, ASNs, loopbacks and addresses of links that no closed form would give."""
    chance = random.Random(seed)
    fabric = compiled.fabric
    numbers = chance.sample(range(4_200_000_000, 4_200_900_000), 64)
    loopbacks = chance.sample(range(1, 16_000), 64)
    pairs = iter(chance.sample(range(1, 30_000), 600))
    devices, links = [], []
    for at in fabric.switch_ids():
        asn, loopback = numbers.pop(), loopbacks.pop()
        row = {
            "device": computed_name(fabric, at),
            "name": f"sw{asn % 100_000}",
            "asn": asn if at.unit >= 0 else "",
        }
        devices.append(row | {"loopback4": f"10.128.{loopback >> 8}.{loopback & 255}"})
        for port in fabric.switch(at).ports:
            if port.direction is Direction.UP:
                number = next(pairs) * 2
                ends = {
                    "a_device": computed_name(fabric, at),
                    "a_port": port.name,
                    "b_device": port.peer.device,
                }
                a, b = (f"100.64.{each >> 8}.{each & 255}" for each in (number, number + 1))
                links.append({**ends, "b_port": port.peer.port, "a_ipv4": a, "b_ipv4": b})
    return {"devices": ("devices.csv", devices), "links": ("links.csv", links)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "nos",
    ["eos", pytest.param("sonic", marks=pytest.mark.slow), pytest.param("junos", marks=pytest.mark.slow)],
)
def test_names_asns_and_addresses_that_follow_no_rule_stay(nos, tmp_path):
    plain = compiled_in(tmp_path, small_spec(nos))
    compiled = compiled_in(tmp_path, small_spec(nos), given_at_random(plain))
    adoption = adopt_compiled(compiled)
    assert_the_same(adoption, compiled.counts()["hosts"] + sum(1 for _ in compiled.switches()))


@pytest.mark.parametrize("name", ["lab-smallest", pytest.param("rack-zone-512", marks=pytest.mark.slow)])
def test_adopt_infers_hosts_without_files_from_ports(name):
    compiled = compile_inventory(name)
    adoption = adopt_compiled(compiled, hosts=False)
    assert_the_same(adoption, sum(1 for _ in compiled.switches()))
    assert adoption.adopted.compiled.counts()["hosts"] == compiled.counts()["hosts"]
    assert any("no files of hosts" in words for words in adoption.adopted.assumed)


@pytest.mark.slow
def test_adopted_files_build_and_are_never_overwritten(tmp_path):
    adoption = adopt_compiled(compile_inventory("lab-smallest"))
    reports = {report.TEXT: report.as_text(adoption), report.JSON: str(report.as_json(adoption))}
    target = tmp_path / "out"
    assert run.write_adoption(adoption, target, reports) == [
        "adoption.json",
        "adoption.txt",
        "cluster.yaml",
        "fabricc.lock",
    ]
    compiled = compile_spec(target / "cluster.yaml")
    assert compiled.sound
    assert compiled.lock_text == (target / "fabricc.lock").read_text()
    assert json.loads((target / "adoption.json").read_text())["same"] == 10
    with pytest.raises(FindingsError) as refused:
        run.write_adoption(adoption, target, reports)
    assert refused.value.diagnostics[0].code == "FAB9701"


@pytest.mark.slow
def test_a_file_that_is_not_read_is_reported(tmp_path):
    compiled = compile_inventory("lab-smallest")
    for network, each in each_device(compiled):
        for file, text in network.files(each).items():
            (tmp_path / each.name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / each.name / file).write_text(text, "utf-8")
    with (tmp_path / "more.cfg").open("wb") as huge:
        huge.truncate(33 << 20)
    found = run.adopt(tmp_path, jobs=1)
    assert ("FAB9502", "more.cfg") in [(each.code, each.file) for each in found.findings]


def test_a_folder_without_a_fabric_is_refused(tmp_path):
    with pytest.raises(FindingsError) as refused:
        run.adopt(tmp_path)
    assert refused.value.diagnostics[0].code == "FAB9700"


LEAF = """hostname leaf{n}
vlan internal order ascending range 1006 1199
spanning-tree mode none
username admin secret sha512 $6$aaaa
interface Ethernet1/1
   description gpu{n}1 rail0
   mtu 9100
   no switchport
   ip address 10.1.{n}.2/31
interface Ethernet2/1
   description gpu{n}2 rail0
   mtu 9100
   no switchport
   ip address 10.1.{n}.4/31
interface Ethernet31/1
   description to spine1 Ethernet{n}/1
   mtu 9100
   no switchport
   ip address 100.64.0.{low}/31
interface Ethernet32/1
   description to spine2 Ethernet{n}/1
   mtu 9100
   no switchport
   ip address 100.64.1.{low}/31
interface Loopback0
   ip address 10.200.0.{n}/32
interface Loopback100
   ip address 10.250.0.{n}/32
interface Management1
   vrf MGMT
   ip address 10.9.0.{n}/24
ip routing
router bgp 6510{n}
   router-id 10.200.0.{n}
   maximum-paths 4
   neighbor 100.64.0.{high} remote-as 65100
   neighbor 100.64.1.{high} remote-as 65100
   redistribute connected
"""
SPINE = """hostname spine{s}
interface Loopback0
   ip address 10.200.0.10{s}/32
interface Management1
   vrf MGMT
   ip address 10.9.0.10{s}/24
{ports}ip routing
router bgp 65100
   router-id 10.200.0.10{s}
{sessions}   redistribute connected
"""


def of_others():
    """Two leaves and two spines as somebody else would have configured them, uplinks on the last two cages."""
    from tests.audit.fabrics import device

    texts = {f"leaf{n}": LEAF.format(n=n, low=2 * n + 1, high=2 * n) for n in (1, 2)}
    for s in (1, 2):
        port = "interface Ethernet{n}/1\n   mtu 9100\n   no switchport\n   ip address 100.64.{net}.{low}/31\n"
        ports = "".join(port.format(n=n, net=s - 1, low=2 * n) for n in (1, 2))
        sessions = "".join(f"   neighbor 100.64.{s - 1}.{2 * n + 1} remote-as 6510{n}\n" for n in (1, 2))
        texts[f"spine{s}"] = SPINE.format(s=s, ports=ports, sessions=sessions)
    return found_of({name: device(name, "eos", {"running-config.cfg": text}) for name, text in texts.items()})


@pytest.fixture(scope="module")
def foreign():
    return run.adopted_of(of_others(), Path("folder"), "theirs")


@pytest.mark.slow
def test_a_fabric_of_others_keeps_names_numbers_addresses_and_ports(foreign):
    compiled = foreign.adopted.compiled
    assert compiled.sound, [found.message for found in foreign.findings]
    assert foreign.adopted.left == foreign.adopted.moved == ()
    switches = {each.name: each for each in compiled.switches()}
    assert {name: each.bgp.asn for name, each in switches.items()} == {
        "leaf1": 65101, "leaf2": 65102, "spine1": 65100, "spine2": 65100
    }  # fmt: skip
    ports = {port.name: (port.ipv4, port.peer.device) for port in switches["leaf2"].ports if port.peer}
    assert ports == {
        "Ethernet1/1": ("10.1.2.2/31", "gpu21"), "Ethernet2/1": ("10.1.2.4/31", "gpu22"),
        "Ethernet31/1": ("100.64.0.5/31", "spine1"), "Ethernet32/1": ("100.64.1.5/31", "spine2"),
    }  # fmt: skip
    assert switches["spine2"].management.address == "10.9.0.102/24"
    assert not [found for found in compiled.proof(jobs=1) if found.severity is Severity.ERROR]


@pytest.mark.slow
def test_adopt_writes_lines_without_a_key_as_overlays_and_no_secrets(foreign):
    kept = "".join(text for name, text in foreign.files.items() if name.startswith("overlays/"))
    assert "vlan internal order ascending range 1006 1199" in kept
    assert "spanning-tree mode none" in kept
    assert "Loopback100" in kept
    assert "secret" not in kept
    assert "redistribute connected\n" in kept, "as it runs, and each build tells that filters are gone"


@pytest.mark.slow
def test_an_invariant_that_what_runs_breaks_is_accepted_and_reported(foreign):
    accepted = {each["code"] for each in foreign.adopted.draft.accept}
    proof = foreign.adopted.compiled.proof(jobs=1)
    broken = {f.code for f in proof} & CODES
    assert broken == accepted - {"FAB6007"}
    for code in broken:
        assert any(code in each.message for each in foreign.findings if each.code == "FAB9705")


def test_adopted_spec_explains_its_sections_and_lists_each_overlay(foreign):
    lines = foreign.files["cluster.yaml"].split("\n")
    assert lines[0].startswith("# The running fabric, as `fabricc adopt` read it")
    at = lines.index("overlays:")
    assert lines[at - 1].startswith("# Lines that no key of the spec expresses")
    entries = yaml.safe_load(foreign.files["cluster.yaml"])["overlays"]
    assert all(line.startswith("- {file: ") for line in lines[at + 1 : at + 1 + len(entries)])


def test_every_difference_is_reported_with_its_line_and_reason(foreign):
    wrong = Mismatch("bgp/maximum_paths", 64, 4, "running-config.cfg", 7)
    reported = run.Adoption(
        foreign.folder, foreign.found, replace(foreign.adopted, differences={"leaf1": [wrong]}), {}, ()
    )
    (output,) = json.loads(str(report.as_json(reported)))["differences"]["leaf1"]
    assert (output["found"], output["built"], output["line"]) == (4, 64, 7)
    assert "equal path" in output["reason"]
    assert "Facts that a build would change" in report.as_text(reported)
    assert foreign.same == len(foreign.found.devices)


@pytest.mark.slow
def test_links_on_ports_that_no_layout_has_are_reported(foreign):
    found = of_others()
    names = {"Ethernet31/1": "Ethernet5/1", "Ethernet32/1": "Ethernet31/1"}
    texts = {name: each.files["running-config.cfg"] for name, each in found.devices.items()}
    for old, new in names.items():
        texts["leaf1"] = texts["leaf1"].replace(f"interface {old}\n", f"interface {new}\n")
    from tests.audit.fabrics import device

    moved = found_of(
        {name: device(name, "eos", {"running-config.cfg": text}) for name, text in texts.items()}
    )
    adoption = run.adopted_of(moved, Path("folder"), "theirs")
    assert {each.switch for each in adoption.adopted.moved} & {"leaf1", "leaf2"}
    assert "FAB9708" in {each.code for each in adoption.findings}


def test_prefixes_of_parties_have_the_places_of_their_rules():
    facts = {"prefix_list[OUTSIDE-V4]/20": "198.51.100.0/24", "prefix_list[OUTSIDE-V6]/10": "2001:db8::/32"}
    facts |= {"prefix_list[OUTSIDE-V4]/20/ge": 25, "prefix_list[OWN-V4]/30": "10.0.0.0/8"}
    found = SimpleNamespace(devices={"spine": SimpleNamespace(reading=SimpleNamespace(facts=facts))})
    assert outward.accepted_prefixes(found, ["spine"]) == {"198.51.100.0/24": 20, "2001:db8::/32": 10}
