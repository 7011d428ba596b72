"""Each release gets the fields its models know, and what it lacks is refused with the source."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from fabricc.back.nos.sonic import SONIC, tables
from fabricc.back.nos.sonic.bgp import effective_switch
from fabricc.back.nos.sonic.limits import RELEASES
from fabricc.fabric.model import Direction
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.nos.sonic.variants import VARIANTS

NAMES = [name for name in VARIANTS if name != "trimming"]


@pytest.mark.parametrize("release", SONIC.releases)
@pytest.mark.parametrize("name", NAMES)
def test_rendered_configuration_of_each_release_reads_back_as_planned(release: str, name: str) -> None:
    switch = replace(VARIANTS[name], release=release)
    if release < "202405":  # FAB5841: no banner before
        switch = replace(switch, management=replace(switch.management, banner=""))
    reading = SONIC.read(SONIC.render(switch))
    assert reading.unknown == []
    assert reading.facts == SONIC.planned(switch)


@pytest.mark.parametrize("release", SONIC.releases)
def test_no_field_is_written_that_the_release_does_not_know(release: str) -> None:
    tables = json.loads(SONIC.render(replace(VARIANTS["settings"], release=release))["config_db.json"])
    for table, fields in RELEASES[release].absent.items():
        assert tables[table]
        assert not any(fields & row.keys() for row in tables[table].values())
    assert tables["VERSIONS"]["DATABASE"]["VERSION"] == RELEASES[release].schema


@pytest.mark.parametrize("release", SONIC.releases)
def test_schema_version_names_the_release(release: str) -> None:
    assert RELEASES[release].schema.split("_")[:2] == ["version", release]


def test_a_field_that_the_release_knows_is_missed() -> None:
    rendered = SONIC.render(replace(VARIANTS["numbered"], release="202405"))
    tables = json.loads(rendered["config_db.json"])
    tables["VERSIONS"]["DATABASE"]["VERSION"] = "version_202411_01"
    unknown = SONIC.read({**rendered, "config_db.json": json.dumps(tables, indent=4)}).unknown
    assert [text for _, _, text in unknown] == [
        "DEVICE_METADATA|localhost without suppress-fib-pending disabled"
    ]


def test_the_image_s_own_lines_of_zebra_are_stated() -> None:
    heads = {
        release: SONIC.render(replace(VARIANTS["numbered"], release=release))["frr.conf"].split("\n!\n")[0]
        for release in SONIC.releases
    }
    assert {r for r, head in heads.items() if "no fpm use-next-hop-groups" in head} == {*RELEASES} - {
        "202311"
    }
    assert {r for r, head in heads.items() if "no zebra nexthop kernel" in head} == {*RELEASES} - {
        "202511",
        "202605",
    }
    assert {r for r, head in heads.items() if "zebra nexthop-group keep 1" in head} == {
        "202505",
        "202511",
        "202605",
    }


@pytest.mark.parametrize("release", SONIC.releases)
def test_balancing_beyond_the_hash_is_refused_by_every_release(release: str) -> None:
    balancing = LoadBalancing(Spreading.FLOWLET, queue_pairs=True, flowlet_idle_us=64)
    switch = replace(VARIANTS["numbered"], release=release, load_balancing=balancing)
    gaps = [gap for gap in SONIC.gaps(switch) if gap.code == "FAB5324"]
    assert len(gaps) == 3
    assert all(gap.fatal and release in gap.reason for gap in gaps)


@pytest.mark.parametrize("name", ["numbered", "unnumbered", "dual", "settings", "spine"])
def test_bfd_of_links_to_switches_is_let_in_and_all_else_of_the_front_panel_is_not(name: str) -> None:
    switch = VARIANTS[name]
    rules = [
        row
        for key, row in tables(effective_switch(switch))["ACL_RULE"].items()
        if key.startswith("FABRICC_ANY")
    ]
    hosts = [port for port in switch.ports if port.direction is Direction.HOST]
    let_in = [rule for rule in rules if rule["PACKET_ACTION"] == "ACCEPT" and rule["PRIORITY"] != "1"]
    for session in switch.bgp.sessions:
        source = ip_address(session.remote or "fe80::1")
        assert any(
            source in ip_network(str(rule.get("SRC_IP", rule.get("SRC_IPV6"))))
            and rule.get("IN_PORTS", session.port) == session.port
            for rule in let_in
        )
    for port in hosts:
        for address in filter(None, (port.ipv4, port.ipv6)):
            peer = ip_interface(address).network
            assert not any(ip_network(str(rule.get("SRC_IP", "::/128"))) == peer for rule in let_in)
    kept_out = [rule for rule in rules if rule.get("IN_PORTS") == "Ethernet+"]
    assert bool(kept_out) == (not switch.management.access)
    older = replace(switch, release="202411", management=replace(switch.management, access=()))
    assert "FAB5327" in {gap.code for gap in SONIC.gaps(older)}
    assert "FAB5327" not in {gap.code for gap in SONIC.gaps(switch)}
    assert not any(key.startswith("FABRICC_ANY") for key in tables(effective_switch(older))["ACL_TABLE"])


def test_custom_lldp_interval_warns_that_sonic_ignores_it() -> None:
    found = {gap.code: gap for gap in SONIC.gaps(VARIANTS["settings"])}
    assert not found["FAB5325"].fatal
    assert "FAB5325" not in {gap.code for gap in SONIC.gaps(VARIANTS["numbered"])}


def bfd_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "bfd" in line or "FABRIC\n" in line + "\n"]


@pytest.mark.parametrize("release", SONIC.releases)
def test_bfd_is_written_where_the_image_runs_bfdd(release: str) -> None:
    switch = replace(VARIANTS["numbered"], release=release)
    files = SONIC.render(switch)
    tables = json.loads(files["config_db.json"])
    runs = release >= "202505"
    assert tables.get("SYSTEM_DEFAULTS") == ({"software_bfd": {"status": "enabled"}} if runs else None)
    assert bfd_lines(files["frr.conf"]) == (["neighbor UPSTREAM-V4 bfd"] if runs else [])
    found = {gap.code: gap for gap in SONIC.gaps(switch)}
    assert ("FAB5630" in found) is not runs
    assert "FAB5631" not in found
    planned = SONIC.planned(switch)
    assert planned.get("bfd/interval_ms") == (300 if runs else None)
    assert planned.get("daemon[bfdd]") == ("enabled" if runs else None)


def test_bfd_gap_names_the_hold_timer_as_fallback() -> None:
    (gap,) = (
        gap for gap in SONIC.gaps(replace(VARIANTS["spine"], release="202411")) if gap.code == "FAB5630"
    )
    assert not gap.fatal
    assert "hold timer" in gap.reason
    assert "202505" in gap.remedy


def test_bfd_timers_that_a_restart_forgets_are_reported() -> None:
    sample = VARIANTS["numbered"]
    switch = replace(sample, bgp=replace(sample.bgp, bfd_interval_ms=100))
    (gap,) = (gap for gap in SONIC.gaps(switch) if gap.code == "FAB5631")
    assert not gap.fatal
    assert "300 ms x 3" in gap.reason
    files = SONIC.render(switch)
    assert "bfd profile FABRIC" in files["frr.conf"]
    assert SONIC.read(files).facts == SONIC.planned(switch)


@pytest.mark.parametrize("release", SONIC.releases)
@pytest.mark.parametrize("name", ["numbered", "lossy"])
def test_marks_are_counted_where_there_are_some_and_the_release_can(release: str, name: str) -> None:
    switch = replace(VARIANTS[name], release=release)
    tables = json.loads(SONIC.render(switch)["config_db.json"])
    counted = release >= "202505" and "WRED_PROFILE" in tables
    wanted = {"WRED_ECN_QUEUE": {"FLEX_COUNTER_STATUS": "enable"}} if counted else None
    assert tables.get("FLEX_COUNTER_TABLE") == wanted
    gaps = {gap.code for gap in SONIC.gaps(switch)}
    assert ("FAB5632" in gaps) == (release < "202505" and "WRED_PROFILE" in tables)
    assert ("WRED_PROFILE" in tables) == (name == "numbered")


def test_a_device_that_counts_no_marks_or_runs_no_bfdd_differs() -> None:
    files = SONIC.render(VARIANTS["numbered"])
    tables = json.loads(files["config_db.json"])
    tables["FLEX_COUNTER_TABLE"] = {"PORT": {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"}}
    tables["SYSTEM_DEFAULTS"] = {"tunnel_qos_remap": {"status": "disabled"}}
    reading = SONIC.read({**files, "config_db.json": json.dumps(tables, indent=4)})
    assert reading.unknown == []
    missing = SONIC.planned(VARIANTS["numbered"]).keys() - reading.facts.keys()
    assert missing == {"counter[ecn_marks]", "daemon[bfdd]"}


@pytest.mark.parametrize("name", ["numbered", "dual", "spine"])
def test_frr_conf_has_what_bgpcfgd_pushes_by_itself(name: str) -> None:
    """bgpcfgd's route maps of the source address, in every routing mode: without them the files differ for ever."""
    switch = VARIANTS[name]
    text = SONIC.render(switch)["frr.conf"]
    for keyword, route_map, address in (
        ("ip", "RM_SET_SRC", switch.loopback4),
        ("ipv6", "RM_SET_SRC6", switch.loopback6),
    ):
        block = f"route-map {route_map} permit 10\n set src {address}\nexit\n"
        assert (block in text) == (address is not None)
        assert (f"\n{keyword} protocol bgp route-map {route_map}\n" in text) == (address is not None)
    assert SONIC.planned(switch)["bgp/source[ip]"] == f"{switch.loopback4} by RM_SET_SRC"


def test_a_source_that_is_not_the_loopback_is_noticed() -> None:
    files = SONIC.render(VARIANTS["dual"])
    for old, new in (
        ("set src 10.128.0.1", "set src 10.128.0.2"),
        (" set src 10.128.0.1\n", ""),
        ("ip protocol bgp route-map RM_SET_SRC\n", ""),
        ("ip protocol bgp route-map RM_SET_SRC\n", "ip protocol bgp route-map CONNECTED\n"),
    ):
        assert old in files["frr.conf"]
        reading = SONIC.read({**files, "frr.conf": files["frr.conf"].replace(old, new, 1)})
        assert reading.facts != SONIC.planned(VARIANTS["dual"])


def test_graceful_restart_is_a_tor_s_as_in_the_image() -> None:
    tor, spine = (SONIC.render(VARIANTS[name])["frr.conf"] for name in ("dual", "spine"))
    assert [line for line in tor.splitlines() if "graceful-restart" in line] == [
        " bgp graceful-restart restart-time 240",
        " bgp graceful-restart select-defer-time 45",
        " bgp graceful-restart",
        " bgp graceful-restart preserve-fw-state",
    ]
    assert "graceful-restart" not in spine
