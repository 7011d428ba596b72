"""Allowed content of an InfiniBand spec, and the errors for Ethernet settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabricc.front.spec.load import read_spec
from tests.back.infiniband.support import CLASSES, TENANTS, find_codes, make_document, plan_spec, plan_subnets


def test_five_lines_are_a_fabric() -> None:
    assert find_codes(make_document()) == {"FAB5623"}


@pytest.mark.parametrize(
    "section",
    [
        {"addressing": {"family": "dual"}},
        {"routing": {"spine_asn": "shared"}},
        {"mtu": {"host": 9000}},
        {"congestion": {"profile": "dcqcn"}},
        {"buffers": {}},
        {"management": {"network": "172.16.0.0/16"}},
        {"load_balancing": {"mode": "hash"}},
        {"priorities": {"rdma": {"dscp": 26}, "default": {}}},
        {"priorities": {"rdma": {"lossless": True}, "default": {}}},
        {"tors": {"model": "qm9700", "nos": "sonic-202505"}},
        {"overrides": {"su001-tor1a": {"drain": True}}},
    ],
)
def test_ethernet_keys_are_rejected_with_a_reason(section: dict[str, Any]) -> None:
    loaded = read_spec(json.dumps({**make_document(), **section}).encode(), "cluster.yaml")
    reported = [d for d in loaded.diagnostics if d.code == "FAB5801"]
    assert loaded.spec is None
    assert reported
    assert all(
        "has no meaning on InfiniBand: " in d.message and d.help.startswith("Remove it.") for d in reported
    )


def test_a_spec_of_ethernet_still_needs_its_nos_and_knows_no_infiniband_section() -> None:
    box = {"model": "sn5600"}
    spec = {**make_document(tors=box, spines=box), "fabric": "roce", "infiniband": {}}
    loaded = read_spec(json.dumps(spec).encode(), "cluster.yaml")
    reported = [(d.code, d.message) for d in loaded.diagnostics]
    assert ("FAB1002", "tors needs 'nos'") in reported
    assert ("FAB1002", "spines needs 'nos'") in reported
    assert "FAB5802" in dict(reported)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"priorities": {"default": {}, "rdma": {"priority": 0}}}, "FAB5803"),
        ({"priorities": {"rdma": {"strict": True}}}, "FAB5816"),
        ({"priorities": {"default": {"weight_percent": 80}, "rdma": {"weight_percent": 70}}}, "FAB2021"),
        ({"priorities": {"default": {}, "rdma": {"strict": True, "weight_percent": 70}}}, "FAB2019"),
        ({"overrides": {"su001-tor1a": {"ports": {"99/1": {"shutdown": True}}}}}, "FAB3023"),
        ({"infiniband": {"guids": "none.yaml"}}, "FAB5813"),
        ({"infiniband": {"partitions": {"a": {"pkey": 1}}}}, "FAB5804"),
        ({"infiniband": {"partitions": {n: {"pkey": 1, "units": ["su001"]} for n in "ab"}}}, "FAB5804"),
        ({"infiniband": {"partitions": {"a": {"pkey": 1, "units": ["su001"], "priority": "x"}}}}, "FAB5804"),
        ({"infiniband": {"partitions": {"a": {"pkey": 1, "hosts": ["su001-host99"]}}}}, "FAB5809"),
        ({"infiniband": {"partitions": {"a": {"pkey": 32767, "units": ["su001"]}}}}, "FAB1005"),
        ({"infiniband": {"ipoib": {"mtu": 9000}}}, "FAB5805"),
        ({"infiniband": {"ipoib": {"mode": "connected"}}}, "FAB5806"),
        ({"infiniband": {"ipoib": {"pool": "10.0.0.0/27"}}}, "FAB5810"),
        ({"infiniband": {"ipoib": {"pool": "10.0.0.1/10"}}}, "FAB2031"),
        ({"infiniband": {"ipoip": False}}, "FAB1001"),
        ({"infiniband": {"routing": "minhop"}}, "FAB5815"),
        ({"infiniband": {"routing": "ftree"}, "spines": {"model": "qm9700", "reserved_ports": 1}}, "FAB5815"),
        (
            {
                "gpus": {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4, "os": "ubuntu-22.04"},
                "infiniband": {"partitions": {"a": {"pkey": 1, "units": ["su001"]}}},
            },
            "FAB5818",
        ),
        ({"tors": {"model": "sn5600"}}, "FAB5811"),
        ({"gpus": {"model": "dgx-h100", "nic": "thor2", "hosts": 8, "hosts_per_unit": 4}}, "FAB5812"),
        ({"gpus": {"model": "storage-2x400", "hosts": 8, "hosts_per_unit": 4}}, "FAB3075"),
    ],
)
def test_impossible_specs_are_reported(more: dict[str, Any], code: str) -> None:
    assert code in find_codes(make_document(**more))


@pytest.mark.parametrize(
    ("members", "remedy"),
    [
        ({"hosts": ["su001"]}, "It is one of the units: write `units: [su001]`."),
        ({"units": ["su001-host01"]}, "It is one of the hosts: write `hosts: [su001-host01]`."),
        ({"hosts": ["su001-host[01-08]"]}, "Name each one: this key has no ranges."),
    ],
)
def test_a_member_in_the_wrong_form_gets_the_right_one(members: dict[str, Any], remedy: str) -> None:
    spec = make_document(infiniband={"partitions": {"a": {"pkey": 1, **members}}})
    loaded = read_spec(json.dumps(spec).encode(), "cluster.yaml")
    reported = loaded.diagnostics if loaded.spec is None else plan_spec(spec).diagnostics
    assert remedy in [each.help for each in reported]


def test_classes_have_levels_and_lanes_in_their_order() -> None:
    ib = plan_subnets(make_document(priorities=CLASSES, infiniband=TENANTS))
    assert [(each.name, each.sl) for each in ib.classes] == [("default", 0), ("rdma", 1), ("control", 2)]
    assert sum(each.weight_percent for each in ib.classes) == 100
    assert [(each.name, each.sl, len(each.hosts)) for each in ib.partitions] == [
        ("tenant-a", 1, 4), ("tenant-b", None, 4),
    ]  # fmt: skip


def test_assumptions_speak_of_infiniband_only() -> None:
    loaded = read_spec(json.dumps(make_document()).encode(), "cluster.yaml")
    assert loaded.spec is not None
    sections = {path.split(".")[0] for path in loaded.spec.assumptions}
    assert "infiniband" in sections
    assert not sections & {"addressing", "routing", "mtu", "management", "congestion", "buffers"}
