"""Plain FRR on Linux: its models, its port names, and the settings that it cannot express."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.frr import FRR
from fabricc.fabric.qos import TrafficClass, Trimming
from fabricc.proof.invariants.lossless import lossless_breaches
from fabricc.proof.invariants.view import make_view
from tests.back.nos.frr.variants import MODEL, VARIANTS, sample
from tests.samples import switch_model


@pytest.mark.parametrize(
    ("cage", "child", "children", "name"),
    [(3, 1, 1, "swp3"), (3, 1, 2, "swp3s0"), (3, 2, 2, "swp3s1"), (64, 4, 4, "swp64s3")],
)
def test_ports_are_named_as_the_kernel_names_them(cage: int, child: int, children: int, name: str) -> None:
    assert FRR.port_name(MODEL, cage, child, children) == name
    assert len(name) <= 15


def test_it_runs_on_models_whose_linux_names_the_catalog_knows() -> None:
    assert FRR.supports(MODEL)
    assert not FRR.supports(switch_model())


def test_it_is_found_by_its_name() -> None:
    assert load("frr") is FRR
    assert FRR.default_release in FRR.releases


def test_a_lossless_class_is_a_fatal_gap() -> None:
    (fatal,) = (gap for gap in FRR.gaps(VARIANTS["numbered"]) if gap.fatal)
    assert (fatal.code, fatal.feature) == ("FAB5201", "lossless class rdma")
    assert "FAB5201" in fatal.remedy


def test_without_lossless_classes_it_is_usable_with_reservations() -> None:
    gaps = FRR.gaps(sample(lossless=False))
    assert {gap.code for gap in gaps} == {"FAB5203", "FAB5204", "FAB5843"}
    assert not any(gap.fatal for gap in gaps)


def test_marking_of_a_lossy_class_is_a_fatal_gap() -> None:
    switch = sample(lossless=False)
    marked = TrafficClass(
        "ai", 2, (18,), 18, lossless=False, strict=False, weight_percent=100, ecn=True, cnp=False
    )
    switch = replace(switch, qos=replace(switch.qos, classes=(marked,)))
    (fatal,) = (gap for gap in FRR.gaps(switch) if gap.fatal)
    assert (fatal.code, fatal.feature) == ("FAB5201", "marking of lossy class ai")
    assert "`ecn`" in fatal.remedy
    # Whoever accepts that has no queues that the proof could look at.
    switch = replace(switch, qos=replace(switch.qos, profiles=sample().qos.profiles), ports=sample().ports)
    files = FRR.render(switch)
    assert not [
        breach for breach in lossless_breaches(make_view(switch, FRR.read(files))) if breach.number == 17
    ]


def test_more_paths_than_the_build_holds_is_a_fatal_gap() -> None:
    switch = sample(lossless=False)
    switch = replace(switch, bgp=replace(switch.bgp, maximum_paths=257))
    assert [gap.code for gap in FRR.gaps(switch) if gap.fatal] == ["FAB5205"]


def test_unknown_release_is_a_fatal_gap() -> None:
    assert [(gap.code, gap.fatal) for gap in FRR.gaps(replace(sample(), release="7.5"))] == [
        ("FAB5206", True)
    ]


def test_only_the_release_with_the_next_hop_group_fault_avoids_kernel_groups() -> None:
    line = "no zebra nexthop kernel enable\n"
    texts = {r: FRR.render(replace(sample(), release=r))["frr.conf"] for r in FRR.releases}
    assert {release for release, text in texts.items() if line in text} == {"8.4"}


def test_planned_facts_leave_out_what_is_not_expressed() -> None:
    paths = FRR.planned(VARIANTS["numbered"])
    assert not any(path.startswith(("qos/", "watchdog/", "pool/", "user[")) for path in paths)
    assert not any(path.endswith(("/speed_gbps", "/pfc", "/trust")) for path in paths)
    assert paths["interface[swp1s0]/ipv4"] == "10.0.0.0/31"
    assert paths["bgp/maximum_paths"] == 64


def test_neighbor_tables_grow_with_the_ports() -> None:
    switch = VARIANTS["numbered"]
    large = replace(switch, ports=switch.ports * 100)
    key = "kernel[net.ipv4.neigh.default.gc_thresh3]"
    assert FRR.planned(switch)[key] == 8192
    assert FRR.planned(large)[key] == 32 * 600


def test_services_of_the_installation_are_named_and_load_balancing_is_refused() -> None:
    gaps = [gap for gap in FRR.gaps(VARIANTS["settings"]) if gap.code in ("FAB5207", "FAB5208")]
    assert [(gap.feature, gap.fatal) for gap in gaps] == [
        ("TACACS+", False),
        ("SNMP", False),
        ("SNMP traps", False),
        ("gNMI telemetry", False),
        ("NTP authentication", False),
        ("a login banner", False),
        ("load balancing other than by flow", True),
        ("hashing of RoCE queue pairs", True),
    ]


def test_trimming_and_link_layer_retry_are_refused() -> None:
    switch = sample(lossless=False)
    qos = replace(switch.qos, trimming=Trimming(256, 10, 4, (0,)), link_retry=True)
    gaps = [gap for gap in FRR.gaps(replace(switch, qos=qos)) if gap.fatal]
    assert [gap.code for gap in gaps] == ["FAB5209", "FAB5209"]


def test_logins_over_fabric_ports_are_blocked() -> None:
    rendered = FRR.render(VARIANTS["settings"])
    rules = rendered["nftables.conf"].split("policy accept;\n")[1].split("\n")
    assert [line.strip() for line in rules[:3]] == [
        'iifname "lo" accept',
        'iifname "eth0" tcp dport 22 ip saddr { 172.16.8.0/24, 172.16.9.0/24 } accept',
        "tcp dport 22 drop",
    ]
    accept, drop = rules[1], rules[2]
    swapped = rendered["nftables.conf"].replace(f"{accept}\n{drop}", f"{drop}\n{accept}")
    assert FRR.read({**rendered, "nftables.conf": swapped}).facts["management/access"] == ""
