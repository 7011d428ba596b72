"""`startup.yaml` as text: goldens, quoting, order, the renames between releases, and what `replace` must not drop."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.nos.cumulus import CUMULUS
from fabricc.nos.cumulus.yaml_nodes import Node, parse
from fabricc.nos.cumulus.yaml_text import natural, scalar, write
from tests.nos.cumulus.variants import VARIANTS, tor

GOLDEN = Path(__file__).with_name("golden")
CASES = [("dual", "5.14"), ("unnumbered", "5.15"), ("drained", "5.9")]


def text_of(name: str, release: str) -> str:
    return CUMULUS.render(replace(VARIANTS[name], release=release))["startup.yaml"]


def content(name: str, release: str) -> Any:
    return yaml.safe_load(text_of(name, release))[1]["set"]


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
        todo = [content(name, release)]
        while todo:
            tree = todo.pop()
            assert not isinstance(tree, bool)
            if isinstance(tree, dict):
                assert all(isinstance(key, str) for key in tree)
                assert list(tree) == sorted(tree, key=natural)
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
    system = content("numbered", release)["system"]
    assert system["aaa"]["user"]["cumulus"]["role"] == "system-admin"
    assert system["aaa"]["role"]["system-admin"]["class"] == {"nvapply": {}, "sudo": {}}
    assert set(system["control-plane"]["acl"]) == {"acl-default-dos", "acl-default-whitelist"}
    assert system["ssh-server"] == {"state": "enabled"}


def test_a_user_named_cumulus_gets_the_key_of_the_spec() -> None:
    users = content("whole-cages", "5.14")["system"]["aaa"]["user"]
    assert list(users) == ["cumulus"]
    assert users["cumulus"]["ssh"] == {
        "authorized-key": {"fabricc": {"key": "AAAAB3NzaC1yc2E", "type": "ssh-rsa"}}
    }
    assert users["cumulus"]["role"] == "system-admin"


def test_auto_save_is_a_state_from_5_10() -> None:
    assert content("numbered", "5.9")["system"]["config"]["auto-save"] == {"enable": "on"}
    assert content("numbered", "5.10")["system"]["config"]["auto-save"] == {"state": "enabled"}


def test_name_servers_move_below_system_with_5_11_and_syslog_with_5_13() -> None:
    before, after = content("numbered", "5.10"), content("numbered", "5.11")
    assert before["service"]["dns"] == {"mgmt": {"server": {"172.16.0.3": {}}}}
    assert after["system"]["dns"] == {"server": {"172.16.0.3": {"vrf": "mgmt"}}}
    before, after = content("numbered", "5.12"), content("numbered", "5.13")
    row = {"port": 514, "protocol": "udp"}
    assert before["service"]["syslog"] == {"mgmt": {"server": {"172.16.0.4": row}}}
    assert after["system"]["syslog"] == {"server": {"172.16.0.4": {**row, "vrf": "mgmt"}}}


def test_5_15_renames_addresses_switches_time_servers_and_bfd() -> None:
    before, after = content("dual", "5.14"), content("dual", "5.15")
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


def test_text_of_another_release_does_not_pass() -> None:
    for written, claimed in (("5.14", "5.15"), ("5.15", "5.14"), ("5.12", "5.13"), ("5.10", "5.11")):
        text = text_of("dual", written).replace(f"Linux {written}.0", f"Linux {claimed}.0")
        assert CUMULUS.read({"startup.yaml": text}).unknown


def test_ports_that_lead_nowhere_are_down_and_without_lossless_service() -> None:
    port = content("numbered", "5.14")["interface"]["swp2s1"]
    assert port["link"]["state"] == {"down": {}}
    assert not {"ip", "qos"} & port.keys()


def test_tiers_hash_differently() -> None:
    seeds = {content(name, "5.14")["system"]["forwarding"]["hash-seed"] for name in ("dual", "spine")}
    assert len(seeds) == 2


def test_whole_cages_have_no_breakout() -> None:
    assert not any(
        "breakout" in row.get("link", {}) for row in content("whole-cages", "5.14")["interface"].values()
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
def test_whatever_is_written_is_read_back_by_a_yaml_library(tree: dict[str, Any]) -> None:
    assert yaml.safe_load(write([{"set": tree}])) == [{"set": tree}]


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    if text.isascii():
        assert yaml.safe_load(f"key: {scalar(text)}") == {"key": text}


@given(st.dictionaries(PRINTABLE.filter(bool), TREES, max_size=4))
def test_whatever_is_written_is_read_back_here(tree: dict[str, Any]) -> None:
    root, broken = parse(write([{"set": tree}]))
    assert broken == []
    assert plain(root.children["set"]) == strings(tree)


def plain(node: Node) -> Any:
    return node.value or {key: plain(child) for key, child in node.children.items()}


def strings(tree: Any) -> Any:
    """The tree as nodes show it: numbers as their text, and nothing told apart from an empty mapping."""
    if isinstance(tree, dict):
        return {key: strings(value) for key, value in tree.items()}
    return {} if tree == "" else str(tree)
