"""`startup.yaml` as text: goldens, quoting, order, the renames between releases, and what `replace` must not drop."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.startup import format_scalar, parse_startup, write
from fabricc.back.reading.tree import find_node
from fabricc.base.numbers import natural_key
from fabricc.fabric.model import LoginServers, Switch
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.nos.cumulus.variants import VARIANTS, parallel_tor, tor, variant

if TYPE_CHECKING:
    from fabricc.back.reading.tree import Node

GOLDEN = Path(__file__).with_name("golden")
CASES = [
    ("dual", "5.14"), ("unnumbered", "5.15"), ("drained", "5.9"),
    ("settings", "5.14"), ("settings", "5.15"), ("settings", "5.10"),
    ("radius", "5.10"), ("radius", "5.14"), ("radius", "5.15"),
]  # fmt: skip


def text_of(name: str, release: str) -> str:
    return CUMULUS.render(variant(name, release))["startup.yaml"]


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_content(name: str, release: str) -> Any:
    return yaml.load(text_of(name, release), LOADER)[1]["set"]


@pytest.mark.parametrize(("name", "release"), CASES)
def test_golden(name: str, release: str) -> None:
    assert text_of(name, release) == (GOLDEN / f"{name}-{release}.yaml").read_text()


@pytest.mark.parametrize(("name", "release"), CASES)
def test_it_is_what_a_yaml_library_writes(name: str, release: str) -> None:
    text = text_of(name, release)
    assert yaml.safe_dump(yaml.safe_load(text), sort_keys=False, width=math.inf) == text


@pytest.mark.parametrize("name", VARIANTS)
def test_no_word_turns_into_a_truth_value_and_no_key_into_a_number(name: str) -> None:
    for release in CUMULUS.releases:
        todo = [load_content(name, release)]
        while todo:
            tree = todo.pop()
            assert not isinstance(tree, bool)
            if isinstance(tree, dict):
                assert all(isinstance(key, str) for key in tree)
                assert list(tree) == sorted(tree, key=natural_key)
                todo += tree.values()


def test_a_file_dumped_by_a_loader_that_takes_on_for_true_is_caught() -> None:
    switch = VARIANTS["dual"]
    spoilt = CUMULUS.render(switch)["startup.yaml"].replace("'on'", "true").replace("'off'", "false")
    reading = CUMULUS.read({"startup.yaml": spoilt})
    assert "enable: true" in {text for _, _, text in reading.unknown}
    assert reading.facts != CUMULUS.planned(switch)


def test_numbers_as_keys_are_quoted_and_as_values_are_not() -> None:
    text = text_of("dual", "5.14")
    assert "            '26':\n              switch-priority: 3\n" in text
    assert "            2x:\n              lanes-per-port: '4'\n" in text
    assert "'65535:0': {}" in text


@pytest.mark.parametrize("release", CUMULUS.releases)
def test_the_own_account_and_the_factory_part_survive_a_replace(release: str) -> None:
    system = load_content("numbered", release)["system"]
    assert system["aaa"]["user"]["cumulus"]["role"] == "system-admin"
    assert system["aaa"]["role"]["system-admin"]["class"] == {"nvapply": {}, "sudo": {}}
    assert set(system["control-plane"]["acl"]) == {"acl-default-dos", "acl-default-whitelist"}
    assert system["ssh-server"] == {"state": "enabled"}


def test_a_user_named_cumulus_gets_the_key_of_the_spec() -> None:
    users = load_content("whole-cages", "5.14")["system"]["aaa"]["user"]
    assert list(users) == ["cumulus"]
    assert users["cumulus"]["ssh"] == {
        "authorized-key": {"fabricc": {"key": "AAAAB3NzaC1yc2E", "type": "ssh-rsa"}}
    }
    assert users["cumulus"]["role"] == "system-admin"


def test_auto_save_is_a_state_from_5_10() -> None:
    assert load_content("numbered", "5.9")["system"]["config"]["auto-save"] == {"enable": "off"}
    assert load_content("numbered", "5.10")["system"]["config"]["auto-save"] == {"state": "disabled"}


def test_name_servers_move_below_system_with_5_11_and_syslog_with_5_13() -> None:
    before, after = load_content("numbered", "5.10"), load_content("numbered", "5.11")
    assert before["service"]["dns"] == {"mgmt": {"server": {"172.16.0.3": {}}}}
    assert after["system"]["dns"] == {"server": {"172.16.0.3": {"vrf": "mgmt"}}}
    before, after = load_content("numbered", "5.12"), load_content("numbered", "5.13")
    row = {"port": 514, "protocol": "udp"}
    assert before["service"]["syslog"] == {"mgmt": {"server": {"172.16.0.4": row}}}
    assert after["system"]["syslog"] == {"server": {"172.16.0.4": {**row, "vrf": "mgmt"}}}


def test_5_15_renames_addresses_switches_time_servers_and_bfd() -> None:
    before, after = load_content("dual", "5.14"), load_content("dual", "5.15")
    assert before["interface"]["swp1s0"]["ip"] == {"address": {"10.0.0.0/31": {}, "fd00::/127": {}}}
    assert after["interface"]["swp1s0"]["ipv4"] == {"address": {"10.0.0.0/31": {}}}
    assert after["interface"]["swp1s0"]["ipv6"] == {"address": {"fd00::/127": {}}}
    assert before["interface"]["eth0"]["ip"]["vrf"] == after["interface"]["eth0"]["vrf"] == "mgmt"
    assert before["service"]["ntp"] == {"mgmt": {"server": {"172.16.0.2": {"iburst": "on"}}}}
    assert after["system"]["ntp"] == {"server": {"172.16.0.2": {"iburst": "enabled"}}, "vrf": "mgmt"}
    assert before["router"]["bgp"]["enable"] == "on"
    assert after["router"]["bgp"]["state"] == "enabled"
    timers = {"detect-multiplier": 3, "min-rx-interval": 300, "min-tx-interval": 300}
    old, new = (tree["vrf"]["default"]["router"]["bgp"]["peer-group"]["UPSTREAM"] for tree in (before, after))
    assert old["bfd"] == {"enable": "on", **timers}
    assert new["bfd"] == {"profile": "fabric"}
    assert after["router"]["bfd"]["profile"] == {"fabric": timers}
    assert "reboot" not in after["system"]


def test_lldp_is_announced_as_often_as_requested_and_forgotten_after_four_times() -> None:
    timers = {"tx-hold-multiplier": 4, "tx-interval": 10}
    assert load_content("settings", "5.10")["service"]["lldp"] == timers
    assert load_content("settings", "5.11")["service"]["lldp"] == {"state": "enabled", **timers}
    assert load_content("settings", "5.15")["system"]["lldp"] == {"state": "enabled", **timers}


def test_tacacs_servers_are_named_by_their_address_from_5_12_on() -> None:
    before, after = (
        load_content("settings", release)["system"]["aaa"]["tacacs"] for release in ("5.11", "5.12")
    )
    row = {"port": 49, "secret": "FABRICC-SECRET-tacacs"}
    assert before == {
        "accounting": {"enable": "on"},
        "enable": "on",
        "server": {"1": {"host": "172.16.0.6", **row}, "2": {"host": "172.16.0.5", **row}},
        "vrf": "mgmt",
    }
    assert after == {
        "accounting": {"state": "enabled"},
        "server": {"172.16.0.5": {"priority": 2, **row}, "172.16.0.6": {"priority": 1, **row}},
        "vrf": "mgmt",
    }


def test_cumulus_5_15_lists_local_accounts_after_tacacs() -> None:
    before, after = (load_content("settings", release)["system"]["aaa"] for release in ("5.14", "5.15"))
    assert before["authentication-order"] == {"1": {"tacacs": {}}, "2": {"local": {}}}
    assert after["authentication"] == {"order": ["tacacs", "local"]}


def test_ipv6_tacacs_server_sets_its_address_family() -> None:
    switch = variant("settings")
    tacacs = LoginServers(("fd00::5",), "FABRICC-SECRET-tacacs")
    switch = replace(switch, management=replace(switch.management, tacacs=tacacs))
    text = CUMULUS.render(switch)["startup.yaml"]
    assert "prefer-ip-version: 6\n" in text
    assert CUMULUS.read({"startup.yaml": text}).facts == CUMULUS.planned(switch)


def test_the_snmp_agent_moves_below_system_with_5_11() -> None:
    before = load_content("settings", "5.10")["service"]["snmp-server"]
    after = load_content("settings", "5.11")["system"]["snmp-server"]
    assert before.pop("enable") == "on"
    assert after.pop("state") == "enabled"
    assert before == after
    assert after == {
        "listening-address": {"172.16.0.11": {"vrf": "mgmt"}},
        "readonly-community": {"FABRICC-SECRET-snmp": {"access": {"172.16.8.0/24": {}, "172.16.9.0/24": {}}}},
        "system-contact": "netops@example.net",
        "system-location": "hall-3",
        "username": {
            "monitor": {
                "auth-sha": {"FABRICC-SECRET-snmp-auth": {"encrypt-aes": {"FABRICC-SECRET-snmp-priv": {}}}}
            }
        },
    }


def test_gnmi_answers_on_the_management_address_from_5_13_on() -> None:
    server = load_content("settings", "5.13")["system"]["gnmi-server"]
    assert server == {"listening-address": {"172.16.0.11": {}}, "port": 9339, "state": "enabled"}
    assert "gnmi-server" not in load_content("settings", "5.12")["system"]


def port_actions(rules: dict[str, Any], protocol: str, port: str) -> list[tuple[str, str]]:
    """Return what the rules about a port do, in their order: the word and the source."""
    found = []
    for number in sorted(rules, key=int):
        match = rules[number]["match"]["ip"]
        if match["protocol"] == protocol and port in match[protocol]["dest-port"]:
            found.append((next(iter(rules[number]["action"])), match.get("source-ip", "any")))
    return found


@pytest.mark.parametrize(
    ("protocol", "port"), [("tcp", "22"), ("tcp", "443"), ("tcp", "8765"), ("tcp", "9339"), ("udp", "161")]
)
def test_only_access_networks_reach_management_services(protocol: str, port: str) -> None:
    tree = load_content("settings", "5.14")
    assert set(tree["system"]["control-plane"]["acl"]) == {
        "acl-default-dos", "acl-default-whitelist", "FABRICC-ACCESS", "FABRICC-ACCESS-V6",
    }  # fmt: skip
    lists = tree["acl"]
    assert port_actions(lists["FABRICC-ACCESS"]["rule"], protocol, port) == [
        ("permit", "127.0.0.0/8"), ("permit", "172.16.9.0/24"), ("permit", "172.16.8.0/24"), ("deny", "any"),
    ]  # fmt: skip
    assert port_actions(lists["FABRICC-ACCESS-V6"]["rule"], protocol, port) == [
        ("permit", "::1/128"),
        ("deny", "any"),
    ]


def test_no_rule_drops_everything_which_the_control_plane_would_not_survive() -> None:
    for name in ("settings", "open-gnmi"):
        for rows in load_content(name, "5.14")["acl"].values():
            assert all(rule["match"]["ip"].get("protocol") for rule in rows["rule"].values())


def test_a_gnmi_port_that_the_default_list_does_not_open_is_opened() -> None:
    assert port_actions(load_content("open-gnmi", "5.14")["acl"]["FABRICC-GNMI"]["rule"], "tcp", "50051") == [
        ("permit", "any")
    ]
    assert "acl" not in load_content("open-gnmi", "5.12")


def test_packets_spread_over_ports_to_switches_and_not_to_hosts() -> None:
    for release, switch_on in (("5.14", {"enable": "on"}), ("5.15", {"state": "enabled"})):
        tree = load_content("settings", release)
        assert tree["router"]["adaptive-routing"] == switch_on
        ports = {name for name, row in tree["interface"].items() if "router" in row}
        assert ports == {"swp3s0", "swp4s0"}
        assert tree["interface"]["swp3s0"]["router"] == {"adaptive-routing": switch_on}


@pytest.mark.parametrize(("release", "word"), [("5.9", "on"), ("5.14", "on"), ("5.15", "enabled")])
def test_parallel_ipv6_peerings_take_global_next_hops_where_packets_spread(release: str, word: str) -> None:
    switch = replace(parallel_tor(dual=True), release=release)
    tree = yaml.safe_load(CUMULUS.render(switch)["startup.yaml"])[1]["set"]
    maps = tree["router"]["policy"]["route-map"]
    (name,) = {group.import_map for group in switch.bgp.groups}
    reported = [rule.get("set", {}).get("ipv6-nexthop-prefer-global") for rule in maps[name]["rule"].values()]
    assert word in reported
    for rows, rules in maps.items():
        for rule in rules["rule"].values():
            output = "ipv6-nexthop-prefer-global" in rule.get("set", {})
            four = rule.get("match", {}).get("type") == "ipv4"
            assert output == (rows == name and "permit" in rule["action"] and not four)


@pytest.mark.parametrize(
    "switch",
    [replace(parallel_tor(dual=True), load_balancing=LoadBalancing()), parallel_tor(),
     parallel_tor(unnumbered=True, dual=True),
     replace(tor(dual=True), load_balancing=LoadBalancing(Spreading.PACKET))],
    ids=["hashed", "ipv4", "unnumbered", "one-link-a-spine"],
)  # fmt: skip
def test_other_peerings_keep_their_next_hops(switch: Switch) -> None:
    assert "prefer-global" not in CUMULUS.render(switch)["startup.yaml"]


def test_packets_are_trimmed_on_every_port_in_use() -> None:
    tree = load_content("settings", "5.14")
    assert tree["system"]["forwarding"]["packet-trim"] == {
        "remark": {"dscp": 48}, "size": 256, "state": "enabled", "switch-priority": 6,
    }  # fmt: skip
    ports = {name: row["packet-trim"] for name, row in tree["interface"].items() if "packet-trim" in row}
    assert set(ports) == {"swp1s0", "swp1s1", "swp2s0", "swp3s0", "swp4s0"}
    assert ports["swp1s0"] == {"egress-eligibility": {"traffic-class": {"0": {}}}}


def test_sessions_from_further_away_are_refused() -> None:
    groups = {
        release: load_content("settings", release)["vrf"]["default"]["router"]["bgp"]["peer-group"]
        for release in ("5.14", "5.15")
    }
    assert groups["5.14"]["UPSTREAM"]["ttl-security"] == {"enable": "on", "hops": 1}
    assert groups["5.15"]["UPSTREAM-V6"]["ttl-security"] == {"hops": 1, "state": "enabled"}


def test_the_hash_takes_addresses_ports_protocol_and_flow_label() -> None:
    fields = load_content("dual", "5.14")["system"]["forwarding"]["ecmp-hash"]
    assert fields == dict.fromkeys(
        ("destination-ip", "destination-port", "ip-protocol", "ipv6-label", "source-ip", "source-port"), "on"
    )


def test_text_of_another_release_does_not_pass() -> None:
    for written, claimed in (("5.14", "5.15"), ("5.15", "5.14"), ("5.12", "5.13"), ("5.10", "5.11")):
        text = text_of("dual", written).replace(f"Linux {written}.0", f"Linux {claimed}.0")
        assert CUMULUS.read({"startup.yaml": text}).unknown


def test_ports_that_lead_nowhere_are_down_and_without_lossless_service() -> None:
    port = load_content("numbered", "5.14")["interface"]["swp2s1"]
    assert port["link"]["state"] == {"down": {}}
    assert not {"ip", "qos"} & port.keys()


def test_tiers_hash_differently() -> None:
    seeds = {load_content(name, "5.14")["system"]["forwarding"]["hash-seed"] for name in ("dual", "spine")}
    assert len(seeds) == 2


def test_whole_cages_have_no_breakout() -> None:
    assert not any(
        "breakout" in row.get("link", {}) for row in load_content("whole-cages", "5.14")["interface"].values()
    )


def test_without_bfd_no_release_mentions_it() -> None:
    switch = tor()
    silent = replace(switch, bgp=replace(switch.bgp, bfd_interval_ms=None))
    for release in CUMULUS.releases:
        assert "bfd" not in CUMULUS.render(replace(silent, release=release))["startup.yaml"]


PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126))
TREES: Any = st.recursive(
    PRINTABLE | st.integers(),
    lambda inner: st.dictionaries(PRINTABLE, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(PRINTABLE, TREES, max_size=4))
def test_written_yaml_is_read_by_a_yaml_library(tree: dict[str, Any]) -> None:
    assert yaml.safe_load(write([{"set": tree}])) == [{"set": tree}]


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    if text.isascii():
        assert yaml.safe_load(f"key: {format_scalar(text)}") == {"key": text}


@given(st.dictionaries(PRINTABLE.filter(bool), TREES, max_size=4))
def test_written_yaml_is_read_by_our_own_reader(tree: dict[str, Any]) -> None:
    found = parse_startup(write([{"set": tree}]))
    assert found.faults == []
    root = find_node(found.nodes, "set")
    assert root is not None
    assert plain_values(root) == string_values(tree)


def plain_values(node: Node) -> Any:
    return (
        node.key[1]
        if node.key[1:] > ("",)
        else {child.key[0]: plain_values(child) for child in node.children or ()}
    )


def string_values(tree: Any) -> Any:
    """Return the tree as nodes: numbers as their text, and null the same as an empty mapping."""
    if isinstance(tree, dict):
        return {key: string_values(value) for key, value in tree.items()}
    return {} if tree == "" else str(tree)


@given(st.integers(2, 10**7), st.integers(1, 10**6))
def test_a_paused_group_resumes_between_empty_and_pausing_however_the_threshold_is_read(
    pause: int, xoff: int
) -> None:
    base = VARIANTS["numbered"]
    profiles = tuple(
        replace(p, headroom=replace(p.headroom, size_bytes=pause + xoff, xoff_bytes=xoff))
        for p in base.qos.profiles
    )
    text = CUMULUS.render(replace(base, qos=replace(base.qos, profiles=profiles)))["startup.yaml"]
    tree = yaml.load(text, LOADER)[1]["set"]
    for row in tree["qos"]["pfc"].values():
        stop, start = int(row["xoff-threshold"]), int(row["xon-threshold"])
        assert stop == pause
        assert 0 < start < stop
        assert 0 < stop - start < stop
        assert abs((stop - start) - start) <= 1
