"""The reader takes whatever a device, or an editor, makes of `startup.yaml`."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.startup import expand_members
from tests.back.nos.cumulus.variants import VARIANTS, variant
from tests.wrecks import draw_damaged, draw_texts

FILE = "startup.yaml"
SWITCH = VARIANTS["dual"]
TEXT = CUMULUS.render(SWITCH)[FILE]


def with_entry(path: str, value: Any) -> str:
    """The rendered file with one more entry, at a dotted path below `set`."""
    document = yaml.load(TEXT, Loader=yaml.BaseLoader)
    tree = document[1]["set"]
    *above, last = path.split("/")
    for key in above:
        tree = tree.setdefault(key, {})
    tree[last] = value
    return yaml.safe_dump(document, sort_keys=False)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("evpn/enable", "on"),
        ("bridge/domain/br_default/vlan", {"10": {}}),
        ("qos/roce", {"enable": "on", "mode": "lossless"}),
        ("qos/pfc/default-global", {"switch-priority": {"3": {}}}),
        ("qos/congestion-control/other", {"traffic-class": {"3": {"ecn": "enable"}}}),
        ("qos/mapping/default-global/pcp", {"3": {"switch-priority": "3"}}),
        ("interface/swp1s0/link/auto-negotiate", "off"),
        ("interface/swp1s0/ip/address/10.9.9.9/31", {}),
        ("interface/swp1s0/ip/vrf", "RED"),
        ("interface/swp1s0/qos/mapping", {"profile": "other"}),
        ("interface/swp1s0/qos/pfc/profile", "ghost"),
        ("interface/swp1/link/breakout/4x", {"lanes-per-port": "2"}),
        ("interface/vlan10/type", "svi"),
        ("router/bgp/graceful-shutdown", "on"),
        ("router/adaptive-routing", {"enable": "yes"}),
        ("system/aaa/authentication-order", {"1": {"local": {}}}),
        ("system/snmp-server", {"state": "disabled"}),
        ("system/gnmi-server", {"state": "disabled"}),
        ("system/forwarding/packet-trim", {"state": "disabled"}),
        ("system/forwarding/ecmp-hash/gtp-teid", "on"),
        ("system/control-plane/acl/acl-default-dos", {}),
        ("vrf/default/router/bgp/neighbor/10.64.0.0/shutdown", "on"),
        ("vrf/default/router/bgp/neighbor/10.64.0.0/peer-group", "GHOST"),
        ("vrf/default/router/bgp/address-family/ipv4-unicast/redistribute/static", {"enable": "on"}),
        ("vrf/default/router/static/0.0.0.0/0", {"via": {"10.0.0.1": {}}}),
        ("vrf/RED/router/bgp/enable", "on"),
        ("system/aaa/tacacs/secret", "x"),
        ("service/ntp/default/server/192.0.2.1", {}),
    ],
)
def test_unplanned_settings_are_listed(path: str, value: Any) -> None:
    text = with_entry(path, value)
    reading = CUMULUS.read({FILE: text})
    assert reading.unknown
    lines = text.split("\n")
    notes = re.compile(r"missing|not defined|ones too|second one|second breakout")
    for file, line, shown in reading.unknown:
        assert file == FILE
        assert shown == lines[line - 1].strip() or notes.search(shown)


def test_a_key_that_stands_twice_is_listed() -> None:
    text = TEXT.replace("          mtu: 9100\n", "          mtu: 9100\n          mtu: 1500\n", 1)
    reading = CUMULUS.read({FILE: text})
    assert (FILE, text[: text.index("mtu: 1500")].count("\n") + 1, "mtu: 1500") in reading.unknown
    assert reading.facts["interface[swp1s0]/mtu"] == 1500


def test_another_account_is_a_fact_that_is_not_planned() -> None:
    reading = CUMULUS.read({FILE: with_entry("system/aaa/user/guest", {"role": "nvue-monitor"})})
    assert reading.facts["user[guest]/role"] == "nvue-monitor"


@pytest.mark.parametrize(
    ("path", "value", "fact"),
    [
        ("router/adaptive-routing", {"enable": "on"}, "load_balancing/mode"),
        ("acl/MINE/type", "ipv4", "acl[MINE]/type"),
        ("system/snmp-server/readonly-community/public/access/any", {}, "management/snmp/secret"),
        ("system/gnmi-server", {"state": "enabled", "port": "9339"}, "management/gnmi_port"),
        ("system/aaa/tacacs/server/192.0.2.9/priority", "1", "management/tacacs/servers"),
    ],
)
def test_a_setting_that_the_plan_lacks_is_a_fact(path: str, value: Any, fact: str) -> None:
    reading = CUMULUS.read({FILE: with_entry(path, value)})
    assert fact in reading.facts.keys() - CUMULUS.planned(SWITCH).keys()


def test_access_list_that_permits_everyone_is_read_as_open() -> None:
    switch = variant("settings")
    text = CUMULUS.render(switch)[FILE]
    planned = CUMULUS.planned(switch)["management/access"]
    assert planned == "172.16.8.0/24,172.16.9.0/24"
    unbound = text.replace("          FABRICC-ACCESS:\n            inbound: {}\n", "")
    open_at_the_end = text.replace("deny: {}", "permit: {}", 2)
    for changed in (unbound, open_at_the_end):
        assert changed != text
        reading = CUMULUS.read({FILE: changed})
        assert reading.facts["management/access"] == f"{planned}, and everyone else"


def test_the_access_list_is_read_in_the_order_of_its_rules() -> None:
    text = CUMULUS.render(variant("settings"))[FILE]
    start = text.index("FABRICC-ACCESS:")
    denial = text.rindex("'", start, text.rindex("':\n", start, text.index("deny: {}", start)))
    first = f"{text[:denial]}'1{text[text.index(chr(39) + ':', denial + 1) :]}"
    assert CUMULUS.read({FILE: first}).facts["management/access"] == ""
    elsewhere = text.replace("'22': {}", "'2222': {}")
    assert "everyone else" in str(CUMULUS.read({FILE: elsewhere}).facts["management/access"])


def test_a_port_that_the_plan_lacks_is_a_fact() -> None:
    reading = CUMULUS.read({FILE: with_entry("interface/swp9", {"type": "swp"})})
    assert reading.facts["interface[swp9]/enabled"] == "true"


def test_a_bare_tree_as_the_api_gives_it_is_read() -> None:
    document = yaml.load(TEXT, Loader=yaml.BaseLoader)
    reading = CUMULUS.read({FILE: yaml.safe_dump(document[1]["set"])})
    assert reading.unknown == []
    assert reading.facts["bgp/asn"] == SWITCH.bgp.asn


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("swp1", ["swp1"]),
        ("swp1-3", ["swp1", "swp2", "swp3"]),
        ("swp1s0-1", ["swp1s0", "swp1s1"]),
        ("swp1-2s0-1", ["swp1s0", "swp1s1", "swp2s0", "swp2s1"]),
        ("swp1,3-4", ["swp1", "swp3", "swp4"]),
        ("swp1,swp3,eth0", ["swp1", "swp3", "eth0"]),
        ("0-2,4", ["0", "1", "2", "4"]),
        ("br-lan", ["br-lan"]),
        ("5-1", ["5-1"]),
    ],
)
def test_ranges_in_keys(key: str, names: list[str]) -> None:
    assert list(expand_members(key)) == names


@pytest.mark.parametrize(
    "text",
    ["", "\n", "{", "- set", "- set:", "- set: {}", "a: b: c", "[" * 100_000, "%", "- - - a: 1", "set: on",
     "interface: ", "- ", "- set:\n    interface: \n", "swp1-1023s0-1023x0-1023: {}", "0-" + "9" * 5000 + ": {}",
     "- header:\n    version: Cumulus Linux " + "9" * 5000 + ".1\n- set: {}", "[\ud800]",
     "- set:\n  - interface\n", "- set:\n    interface: *x\n", "? [a]\n: b\n", "- set:\n    qos: 3\n",
     "a: &a [1, *a]", "swp0-999999999999: {}", "- header:\n    version: 7\n- set:\n    router: {}\n", "\t- set:\n"],
)  # fmt: skip
def test_no_text_makes_it_fail(text: str) -> None:
    assert CUMULUS.read({FILE: text}).unknown


def test_aliases_that_expand_without_bound_are_one_broken_line() -> None:
    levels = "".join(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}\n" for n in range(1, 40))
    reading = CUMULUS.read({FILE: "a0: &a0 {x: 1}\n" + levels})
    assert reading.unknown[0] == (FILE, 1, "a0: &a0 {x: 1}")


KEYS = sorted({line.strip(" -:").partition(":")[0] for line in TEXT.split("\n") if line})
VALUES = st.text(max_size=8) | st.integers() | st.none() | st.booleans() | st.just({})
WRECKS: Any = st.recursive(
    VALUES,
    lambda inner: (
        st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
        | st.lists(inner, max_size=2)
    ),
    max_leaves=12,
)


@given(WRECKS)
def test_no_yaml_makes_it_fail(document: Any) -> None:
    CUMULUS.read({FILE: yaml.safe_dump([{"set": document}])})


@given(st.data())
def test_no_damage_makes_it_fail(data: st.DataObject) -> None:
    lines = TEXT.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(st.sampled_from(lines) | st.text(max_size=12))
    CUMULUS.read({FILE: "\n".join(lines)})


@given(draw_texts(KEYS))
@example("\x85:: ")
@example("a: 1\rb: 2")
def test_no_arbitrary_text_makes_it_fail(text: str) -> None:
    CUMULUS.read({FILE: text})


@given(st.sampled_from([CUMULUS.render(switch)[FILE] for switch in VARIANTS.values()]).flatmap(draw_damaged))
def test_no_damage_within_a_line_makes_it_fail(text: str) -> None:
    CUMULUS.read({FILE: text})


@pytest.mark.parametrize(
    "path",
    ["qos/traffic-pool/default-lossless/switch-priority", "qos/egress-queue-mapping/default-global/switch-priority",
     "interface/swp1s0/packet-trim/egress-eligibility/traffic-class", "system/aaa/tacacs/server"],
)  # fmt: skip
def test_a_number_without_end_is_no_number(path: str) -> None:
    CUMULUS.read({FILE: with_entry(path, {"9" * 5000: {"host": "192.0.2.1", "priority": "9" * 5000}})})


@pytest.mark.parametrize("word", ["disable", "disabled", "off"])
def test_a_profile_that_does_not_mark_states_no_thresholds(word: str) -> None:
    """The thresholds of a queue mean nothing while its marking is off."""
    off = re.sub(r"(?m)ecn: enable$", f"ecn: '{word}'", TEXT)
    stated, expected = CUMULUS.read({FILE: off}).facts, CUMULUS.read({FILE: TEXT}).facts
    assert any("ecn_min_bytes" in path for path in expected)
    assert not [path for path in stated if "ecn_" in path]


def test_a_printed_star_is_loaded_again_as_the_planned_hash() -> None:
    """`nv config show` prints a star in place of any hash, and a locked account has a star of its own."""
    planned = CUMULUS.render(VARIANTS["settings"])[FILE]
    printed = re.sub(r"(hashed-password: ).*", r"\1'*'", planned)
    assert printed.count("'*'") > planned.count("'*'") > 0
    assert CUMULUS.restore_unprinted({FILE: printed}, {FILE: planned}) == {FILE: planned}
    other = planned.replace("hashed-password: FABRICC", "hashed-password: $6$it\\1is$another # FABRICC")
    for text in (
        other,
        "",
        "- set: {system: {aaa: {user: {}}}}\n",
        "hostname: [",
        "nv set system aaa user a\n",
    ):
        assert CUMULUS.restore_unprinted({FILE: text}, {FILE: planned}) == {FILE: text}
    assert CUMULUS.restore_unprinted({FILE: printed}, {FILE: ""}) == {FILE: printed}
    assert CUMULUS.restore_unprinted({}, {FILE: planned}) == {}


def test_servers_of_another_vrf_are_facts_in_both_forms() -> None:
    server = "nv set system syslog server 192.0.2.20 vrf {}\n"
    for vrf, expected in (("mgmt", None), ("default", "default")):
        text = f"- set: {{system: {{syslog: {{server: {{192.0.2.20: {{vrf: {vrf}}}}}}}}}}}\n"
        for form in (text, server.format(vrf)):
            assert (
                CUMULUS.read({FILE: form}).facts.get("management/server_vrf[syslog 192.0.2.20]") == expected
            )


@pytest.mark.parametrize("profile", [{}, "p", None, ["p"], {"p": {}}, {"p": {"traffic-class": None}}])
@pytest.mark.parametrize("kind", ["egress-scheduler", "egress-shaper", "link-pause", "remark"])
def test_a_profile_of_a_port_may_be_empty(kind: str, profile: object) -> None:
    bound = {"swp1": {"type": "swp", "qos": {kind: {"profile": "p"}}}}
    text = yaml.safe_dump([{"set": {"interface": bound, "qos": {kind: profile}}}], sort_keys=False)
    assert CUMULUS.read({FILE: text}).facts[f"interface[swp1]/qos_setting[{kind}]"] == "profile p"


def test_the_profile_of_all_ports_is_always_there() -> None:
    kinds = ("egress-scheduler", "egress-shaper", "link-pause", "remark", "pfc", "congestion-control")
    bound = {"swp1": {"type": "swp", "qos": {kind: {"profile": "default-global"} for kind in kinds}}}
    text = yaml.safe_dump([{"set": {"interface": bound}}], sort_keys=False)
    assert not any(path.startswith("unread[qos") for path in CUMULUS.read({FILE: text}).facts)
