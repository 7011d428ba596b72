"""The text is the device's own: golden files, the order of sections and the traps of Junos.

`UPDATE_GOLDEN=1 pytest tests/back/nos/junos/test_render.py` rewrites the golden files.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.junos import FILE, JUNOS
from fabricc.back.nos.junos.words import port_name
from fabricc.catalog import load_catalog
from fabricc.fabric.shape import TierName
from tests.back.nos.junos.variants import GOLDENS, VARIANTS, large_switch, make_model, variant
from tests.effort import count_calls

GOLDEN = Path(__file__).parent / "golden"
SECTIONS = [
    "system", "chassis", "security", "interfaces", "snmp", "forwarding-options", "policy-options", "class-of-service",
    "firewall", "routing-instances", "routing-options", "protocols",
]  # fmt: skip


def text_of(name: str = "evo-numbered") -> str:
    return JUNOS.render(variant(name))[FILE]


def cut_section(text: str, start: str) -> str:
    """From a line to the brace that closes it, inclusive."""
    begin = text.index(start)
    indent = re.match(" *", text[begin:])
    assert indent
    return text[begin : text.index(f"\n{indent[0]}}}\n", begin)]


@pytest.mark.parametrize("name", GOLDENS)
def test_the_text_is_the_golden_text(name: str) -> None:
    golden = GOLDEN / f"{name}.conf"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text_of(name), encoding="utf-8")
    assert text_of(name) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VARIANTS)
def test_sections_come_in_the_order_of_a_device_and_braces_balance(name: str) -> None:
    text = text_of(name)
    sections = [
        name for name in SECTIONS if name not in ("security", "snmp", "firewall") or name in text.split()
    ]
    assert [line.removesuffix(" {") for line in text.splitlines() if line[0] not in " }"] == sections
    depth = 0
    for line in text.splitlines():
        depth -= line.strip() == "}"
        assert line == " " * 4 * depth + line.strip()
        assert line.endswith((";", "{", "}"))
        depth += line.endswith("{")
    assert depth == 0


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_is_commented_and_no_line_is_blank(name: str) -> None:
    for line in text_of(name).splitlines():
        assert line.strip()
        assert not re.search(r"(^|\s)(#|/\*)", line)


def test_a_commit_finds_a_root_authentication_but_root_has_no_way_in() -> None:
    text = text_of()
    assert '    root-authentication {\n        ssh-ed25519 "ssh-ed25519 AAAA' in text
    assert "            root-login deny;\n" in text
    assert "password" not in text


def test_an_interface_s_mtu_counts_the_header_and_a_family_s_does_not() -> None:
    port = cut_section(text_of(), "    et-0/0/1:0 {")
    assert "        mtu 9114;\n" in port
    assert "                mtu 9100;\n" in port


def test_an_evolved_switch_splits_a_cage_under_interfaces_and_a_classic_one_under_chassis() -> None:
    split = "number-of-sub-ports 2;"
    evolved, classic = text_of("evo-numbered"), text_of("classic-numbered")
    assert split in cut_section(evolved, "    et-0/0/1 {")
    assert split not in cut_section(evolved, "chassis {")
    assert cut_section(classic, "chassis {").count(split) == 4
    assert split not in cut_section(classic, "interfaces {")
    assert "    re0:mgmt-0 {\n" in evolved
    assert "    em0 {\n" in classic


def test_an_unused_port_is_disabled_and_has_no_unit() -> None:
    assert cut_section(text_of(), "    et-0/0/2:1 {") == (
        "    et-0/0/2:1 {\n        description reserved;\n        disable;"
    )


def test_notifications_go_first_but_cannot_starve_the_others() -> None:
    text = text_of()
    strict = cut_section(text, "        S-CNP {")
    assert "transmit-rate percent 5;" in strict
    assert "priority strict-high;" in strict
    for scheduler_map in re.findall(r"SM-\S+ \{", text_of()):
        names = re.findall(r"scheduler (\S+);", cut_section(text_of(), f"        {scheduler_map}"))
        rates = [
            int(rate)
            for name in names
            for rate in re.findall(r"transmit-rate percent (\d+);", cut_section(text, f"        {name} {{"))
        ]
        assert len(rates) == 3
        assert sum(rates) <= 100


def test_a_model_without_a_figure_shapes_notifications_and_leaves_the_shares_alone() -> None:
    text = text_of("classic-numbered")
    strict = cut_section(text, "        S-CNP {")
    assert "transmit-rate" not in strict
    assert "shaping-rate percent 5;\n            priority strict-high;" in strict
    assert "transmit-rate percent 10;" in cut_section(text, "        S-DEFAULT {")
    assert "shaping-rate" not in text_of("evo-numbered")


def test_a_strict_class_other_than_that_of_notifications_is_not_shaped() -> None:
    switch = variant("classic-numbered")
    classes = tuple(
        replace(each, cnp=False, strict=True) if each.cnp else each for each in switch.qos.classes
    )
    text = JUNOS.render(replace(switch, qos=replace(switch.qos, classes=classes)))[FILE]
    assert "priority strict-high;" in text
    assert "shaping-rate" not in text


def test_the_kernel_sends_keepalives_of_a_short_hold_time_where_junos_has_the_statement() -> None:
    assert "        precision-timers;\n        hold-time 9;" in text_of("classic-numbered")
    assert "precision-timers" not in text_of("evo-numbered")
    switch = variant("classic-numbered")
    slower = replace(switch, bgp=replace(switch.bgp, hold_s=20))
    assert "precision-timers" not in JUNOS.render(slower)[FILE]


@pytest.mark.parametrize("name", VARIANTS)
def test_no_spanning_tree_runs(name: str) -> None:
    assert "    rstp {\n        disable;\n    }\n" in cut_section(text_of(name), "protocols {") + "\n"


def test_snmp_uses_the_management_instance() -> None:
    snmp = cut_section(text_of("evo-settings"), "snmp {")
    assert "authorization read-only;\n        routing-instance mgmt_junos;" in snmp
    assert snmp.endswith("    routing-instance-access;")


def terms_of(text: str, name: str) -> list[tuple[str, str]]:
    """The names and actions of the terms of a filter, in order."""
    body = cut_section(text, f"        filter {name} {{")
    return re.findall(r"term (\S+) \{[\s\S]*?(accept|discard);", body)


def test_with_access_networks_the_filter_ends_with_a_discard() -> None:
    text = text_of("evo-settings")
    assert terms_of(text, "PROTECT") == [
        ("TTL-SECURITY", "discard"), ("ACCESS", "accept"), ("LOGIN", "discard"), ("QUERIES", "discard"),
        ("BGP", "accept"), ("BFD", "accept"), ("ICMP", "accept"), ("REPLIES", "accept"), ("SESSIONS", "accept"),
        ("OTHERS", "discard"),
    ]  # fmt: skip
    assert terms_of(text, "PROTECT-V6") == [term for term in terms_of(text, "PROTECT") if term[0] != "ACCESS"]
    assert "protocol tcp;\n                    tcp-established;" in text
    assert "next-header icmp6;" in cut_section(text, "        filter PROTECT-V6 {")


def test_without_access_networks_the_filter_only_looks_at_the_ttl() -> None:
    switch = variant("evo-settings")
    switch = replace(switch, management=replace(switch.management, access=()))
    files = JUNOS.render(switch)
    assert terms_of(files[FILE], "PROTECT") == [("TTL-SECURITY", "discard"), ("OTHERS", "accept")]
    assert JUNOS.read(files).facts == JUNOS.planned(switch)


def test_buffer_shares_follow_the_catalog() -> None:
    text = text_of()
    assert re.findall(r"percent (\d+);", cut_section(text, "    dedicated-buffer {")) == ["15", "30"]
    assert "buffer-monitor-enable;" in cut_section(text, "chassis {")
    classic = text_of("classic-numbered")
    assert "dedicated-buffer" not in classic
    assert "buffer-monitor-enable" not in classic
    assert "buffer-monitor-enable" not in text_of("evo-lossy")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_lost_path_is_replaced_in_the_forwarding_table_itself(name: str) -> None:
    table = cut_section(text_of(name), "    forwarding-table {")
    assert table.endswith("export PFE-LB;\n        ecmp-fast-reroute;")


def test_all_paths_are_used_only_with_a_policy_on_the_forwarding_table() -> None:
    text = text_of()
    assert "    policy-statement PFE-LB {\n        then {\n            load-balance per-packet;" in text
    assert "    forwarding-table {\n        export PFE-LB;" in text
    assert "            multipath {\n                multiple-as;" in text
    assert "    maximum-ecmp 64;\n" in text


def test_contributing_routes_are_suppressed_before_other_policy_terms() -> None:
    policy = cut_section(text_of(), "    policy-statement CONNECTED {")
    terms = re.findall(r"term (\S+) \{", policy)
    assert terms == ["SUMMARY-ONLY", "AGGREGATES", "BGP", "10", "DEFAULT"]
    assert "from {\n                aggregate-contributor;" in policy
    assert "export [ CONNECTED TO-UPSTREAM ];" in text_of()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_policy_ends_by_rejecting_the_rest(name: str) -> None:
    text = text_of(name)
    for policy in re.findall(r"    policy-statement (\S+) \{\n        term", text):
        body = cut_section(text, f"    policy-statement {policy} {{")
        assert body.endswith(
            "        term DEFAULT {\n            then {\n                reject;\n            }\n        }"
        )


def test_unnumbered_links_find_their_neighbors_by_router_advertisements() -> None:
    text = text_of("evo-unnumbered")
    announced = cut_section(text, "        interface et-0/0/3:0.0 {")
    assert "max-advertisement-interval 10;" in announced
    assert "min-advertisement-interval 3;" in announced
    group = cut_section(text, "        group UPSTREAM-UN-4200001000 {")
    assert "extended-nexthop;" in group
    assert "peer-as-list AS-4200001000;" in group
    assert "neighbor 1" not in group


def test_unnumbered_neighbors_of_other_as_numbers_have_a_group_of_their_own() -> None:
    switch = variant("evo-unnumbered")
    first, second = switch.bgp.sessions
    bgp = replace(switch.bgp, sessions=(first, replace(second, remote_asn=65_001)))
    switch = replace(switch, bgp=bgp)
    files = JUNOS.render(switch)
    assert re.findall(r"group (\S+) \{", files[FILE]) == ["UPSTREAM-UN-4200001000", "UPSTREAM-UN-65001"]
    assert JUNOS.read(files).facts == JUNOS.planned(switch)


def test_code_points_are_six_bits_and_priorities_three() -> None:
    profile = cut_section(text_of(), "    congestion-notification-profile PFC-400G-40M {")
    assert "code-point 011010 {" in profile
    assert "code-point 011 {\n                    flow-control-queue 3;" in profile


def test_management_over_ipv6_has_its_route_in_the_table_of_the_instance() -> None:
    switch = variant("evo-numbered")
    management = replace(switch.management, address="2001:db8::b/64", gateway="2001:db8::1")
    switch = replace(switch, management=management)
    files = JUNOS.render(switch)
    assert "rib mgmt_junos.inet6.0 {" in files[FILE]
    assert JUNOS.read(files).facts == JUNOS.planned(switch)


def test_tiers_hash_with_seeds_of_their_own() -> None:
    switch = variant("evo-numbered")
    texts = [JUNOS.render(replace(switch, tier=tier))[FILE] for tier in TierName]
    assert len({re.findall(r"hash-seed \d+", text)[0] for text in texts}) == 3


def test_the_back_end_is_found_by_name() -> None:
    back_end = load("junos")
    assert back_end.name == JUNOS.name
    assert back_end.default_release in back_end.releases


def test_cages_count_as_on_the_panel_and_children_from_zero() -> None:
    switch = make_model("evo")
    assert port_name(switch, 1, 1, 1) == "et-0/0/1"
    assert port_name(switch, 4, 4, 4) == "et-0/0/4:3"
    for cage, child, children in ((9, 1, 1), (1, 3, 2), (1, 0, 2), (1, 1, 16)):
        with pytest.raises(ValueError):
            port_name(switch, cage, child, children)


@pytest.mark.parametrize("name", ["qfx5220-32cd", "qfx5230-64cd", "qfx5240-64od"])
def test_the_switches_of_the_catalog_are_evolved_and_start_at_cage_0(name: str) -> None:
    switch = load_catalog()[0].switches[name]
    assert JUNOS.supports(switch)
    assert switch.nos["junos"]["flavour"] == "evo"
    assert JUNOS.port_name(switch, 0, 1, 1) == "et-0/0/0"
    assert JUNOS.port_name(switch, 31, 2, 2) == "et-0/0/31:1"


def test_rendering_costs_in_proportion_to_the_ports() -> None:
    few, many = large_switch(32), large_switch(128)
    assert count_calls(lambda: JUNOS.render(many)) < 5 * count_calls(lambda: JUNOS.render(few))
