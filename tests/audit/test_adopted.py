"""Every fabric that fabricc builds comes back from its files: the inventories, the docs' specs, every kind of shape."""

from __future__ import annotations

import copy
import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from fabricc import compile_spec
from fabricc.audit.adopt import run
from fabricc.base.diagnostics import Severity
from tests.audit.adopted import GAPS, adopt_compiled, compiled_of, specs_to_try
from tests.audit.fabrics import make_disguise
from tests.audit.test_adopt import compiled_in, given_at_random

SPECS = specs_to_try()
QUICK = ("groups, small", "a network", "segments, frr", "ways out, junos")
OTHERS = {
    "quantum2-512": "InfiniBand",
    "infiniband, 1": "InfiniBand",
    "networks, 1": "its ToRs have too few ports",
}
HUGE = ("meta-24k", "hpn-dual-plane-pod", "plan, 1")
"""Fabrics of thousands of devices; `python -m tests.audit.adopted` tries them."""


def slow_but(names, quick):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


def assert_the_same(adoption):
    made = adoption.adopted
    assert made.compiled.sound, [found.message for found in adoption.findings]
    assert {name: found for name, found in made.differences.items() if found} == {}
    assert (made.left, made.moved) == ((), ())


@cache
def adopt_plain(name):
    """A fabric and what adopting it comes to."""
    with TemporaryDirectory() as folder:
        compiled = compiled_of(SPECS[name], Path(folder))
    assert compiled.sound, [
        found.message for found in compiled.diagnostics if found.severity is Severity.ERROR
    ]
    return compiled, adopt_compiled(compiled)


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but([each for each in SPECS if each not in (*OTHERS, *HUGE)], QUICK))
def test_a_fabric_comes_back_without_a_difference(name, tmp_path):
    compiled = compiled_of(SPECS[name], tmp_path)
    assert compiled.sound, [
        found.message for found in compiled.diagnostics if found.severity is Severity.ERROR
    ]
    adoption = adopt_compiled(compiled)
    assert_the_same(adoption)
    back = adoption.adopted.compiled
    assert back.networks.keys() == compiled.networks.keys()
    assert (
        back.counts()["hosts"]
        == compiled.counts()["hosts"]
        == len(adoption.found.devices)
        - sum(1 for device in adoption.found.devices.values() if device.kind == "switch")
    )


def normalize_spec(words):
    """A spec without names: what is left is the same for a fabric and for one with other names."""
    text = copy.deepcopy(words)
    for section in (text, *text.get("networks", {}).values()):
        for key in ("identities", "overlays"):
            section.pop(key, None)
        for group in (section, section.get("gpus", {}), *section.get("gpus", {}).get("groups", ()),
                      *section.get("groups", ())):  # fmt: skip
            for key in ("hosts", "racks"):
                if isinstance(group.get(key), list | dict):
                    group[key] = len(group[key])
            for key in ("name", "beside"):
                if key in group:
                    group[key] = ""
        for party in section.get("external", {}).values():
            for link in party["links"]:
                link["at"] = ""
        for segment in section.get("evpn", {}).get("segments", {}).values():
            segment["groups"] = len(segment.get("groups", ()))
    return text


def words_of(adoption):
    return normalize_spec(yaml.safe_load(adoption.files["cluster.yaml"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    slow_but(
        ["groups, small", "groups of three kinds", "hosts of networks alone", "border leaves, RADIUS", "ways out, eos",
         "spines by rail and cores", "storage-zone", "whole-cluster-256", "tenant-front-end", "superpod-four-networks"],
        ("groups, small",),
    ),
)  # fmt: skip
def test_names_decide_nothing(name):
    compiled, same = adopt_plain(name)
    names = make_disguise(compiled)
    other = adopt_compiled(compiled, renamed=names)
    assert_the_same(other)
    assert words_of(other) == words_of(same)
    assert {row["name"] for draft in other.adopted.draft.every() for row in draft.devices} <= {
        *names.values()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spines by rail", "border leaves, RADIUS", "groups, small"])
def test_asns_and_addresses_that_follow_no_rule_stay_in_every_shape(name, tmp_path):
    compiled, _ = adopt_plain(name)
    accept = [{"code": code, "reason": "no part of what is tried"} for code in GAPS]
    given = compiled_in(tmp_path, {**SPECS[name], "accept": accept}, given_at_random(compiled))
    assert_the_same(adopt_compiled(given, renamed=make_disguise(given)))


RAIL_HOSTS = [f"h{number}" for number in range(1, 9)]
LAB = {"model": "linux-16x100", "nos": "frr"}
HOLES = {
    "a host": ({"hosts": RAIL_HOSTS, "hosts_per_unit": 4}, lambda gpus: gpus["hosts"].remove("h2")),
    "hosts of two units": (
        {"hosts": RAIL_HOSTS, "hosts_per_unit": 4},
        lambda gpus: gpus.update(hosts=[name for name in RAIL_HOSTS if name not in ("h2", "h5")]),
    ),
    "a host of a rack": (
        {"wiring": "rack", "racks": {f"r{rack}": [f"h{rack}a", f"h{rack}b"] for rack in range(4)}, "hosts_per_rack": 2},
        lambda gpus: gpus["racks"]["r1"].remove("h1a"),
    ),
    "the first rack": (
        {"wiring": "rack", "racks": {f"r{rack}": [f"h{rack}a", f"h{rack}b"] for rack in range(4)}, "hosts_per_rack": 2},
        lambda gpus: gpus["racks"].pop("r0"),
    ),
    "a rack between others": (
        {"wiring": "rack", "racks": {f"r{rack}": [f"h{rack}a", f"h{rack}b"] for rack in range(4)}, "hosts_per_rack": 2},
        lambda gpus: gpus["racks"].pop("r2"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", HOLES)
def test_removed_hosts_leave_their_slots_empty(what, tmp_path):
    gpus, leave = HOLES[what]
    words = {
        "cluster": "zone", "gpus": {"model": "lab-host", **copy.deepcopy(gpus)}, "tors": {**LAB, "uplinks": 2},
        "spines": {**LAB, "count": 2}, "priorities": {"default": {}},
    }  # fmt: skip
    before = compiled_of(words, tmp_path)
    (tmp_path / "fabricc.lock").write_text(before.lock_text)
    leave(words["gpus"])
    compiled = compiled_of(words, tmp_path)
    assert compiled.sound
    adoption = adopt_compiled(compiled)
    assert_the_same(adoption)
    assert "overlays" not in adoption.adopted.draft.words
    assert adoption.adopted.compiled.counts()["hosts"] == compiled.counts()["hosts"]


def pinned_state(compiled):
    """Return the numbers and links of a switch, which must never change."""
    found = {}
    for network in (compiled, *compiled.networks.values()):
        for switch in network.switches():
            links = {
                (port.name, port.peer.device, port.peer.port, port.ipv4) for port in switch.ports if port.peer
            }
            found[switch.name] = (switch.bgp.asn, switch.bgp.router_id, switch.management.address), links
    return found


def assert_grown(adoption, folder, grow):
    run.write_adoption(adoption, folder, {})
    before = compile_spec(folder / "cluster.yaml")
    words = yaml.safe_load((folder / "cluster.yaml").read_text())
    grow(words)
    (folder / "cluster.yaml").write_text(yaml.safe_dump(words))
    after = compile_spec(folder / "cluster.yaml")
    assert after.sound, [found.message for found in after.diagnostics if found.severity is Severity.ERROR]
    old, new = pinned_state(before), pinned_state(after)
    assert len(new) > len(old)
    for name, (numbers, links) in old.items():
        assert new[name][0] == numbers
        assert links <= new[name][1]


@pytest.mark.slow
def test_an_adopted_fabric_grows_and_nothing_renumbers(tmp_path):
    def grow(words):
        groups = {group["name"]: group for group in words["gpus"]["groups"]}
        groups["gpus"]["hosts"] += groups["gpus"]["hosts_per_unit"]
        groups["login"]["hosts"] += 1

    assert_grown(adopt_plain("groups, small")[1], tmp_path / "out", grow)


@pytest.mark.slow
def test_a_fabric_with_other_names_and_a_network_grows_and_nothing_renumbers(tmp_path):
    words = SPECS["a network"]
    wide = {**words, "tors": {**words["tors"], "uplinks": 4}}
    compiled = compiled_of(wide, tmp_path)

    def grow(words):
        chance = random.Random(1)
        words["gpus"]["hosts"] += [f"new{chance.randrange(10_000)}-{number}" for number in range(4)]

    assert_grown(adopt_compiled(compiled, renamed=make_disguise(compiled)), tmp_path / "out", grow)
