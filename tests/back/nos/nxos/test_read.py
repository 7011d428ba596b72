"""The reader: what is rendered reads back as planned, and so does what a device prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.nxos import FILE, NXOS
from fabricc.back.nos.nxos.words import BREAKOUTS, SPEEDS_GBPS
from fabricc.fabric.model import Account, Switch
from fabricc.fabric.qos import BufferPools, Headroom
from fabricc.fabric.shape import TierName
from tests.back.nos.changed import NAMES, POSITIVE, any_bgp, any_qos, any_rules, shared_out
from tests.back.nos.nxos.variants import VARIANTS, large_switch, variant
from tests.effort import scale_examples

SAMPLES = Path(__file__).parents[5] / "shared" / "reference" / "nos-samples"


def text_of(name: str = "cloudscale/numbered") -> str:
    return NXOS.render(variant(name))[FILE]


def read(text: str) -> dict[str, str | int]:
    reading = NXOS.read({FILE: text})
    assert reading.unknown == []
    return reading.facts


@pytest.mark.parametrize("name", VARIANTS)
def test_rendered_configuration_reads_back_as_planned(name: str) -> None:
    switch = variant(name)
    reading = NXOS.read(NXOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == NXOS.planned(switch)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_fact_of_a_rendered_file_has_its_line(name: str) -> None:
    reading = NXOS.read(NXOS.render(variant(name)))
    assert reading.facts.keys() == reading.lines.keys()
    assert all(file == FILE and line > 0 for file, line in reading.lines.values())


def test_a_fact_has_the_line_that_states_it() -> None:
    text = text_of("cloudscale/long")
    at = {number: line.strip() for number, line in enumerate(text.splitlines(), 1)}
    lines = NXOS.read({FILE: text}).lines

    def read_line_of(path: str) -> str:
        return at[lines[path][1]]

    assert read_line_of("system/hostname") == "hostname su001-tor1a"
    assert read_line_of("interface[Ethernet1/1/2]/ipv4") == "ip address 10.0.0.2/31"
    assert (
        read_line_of("interface[Ethernet1/1/2]/speed_gbps")
        == "interface breakout module 1 port 1-4 map 400g-2x"
    )
    assert read_line_of("interface[Ethernet1/1/1]/headroom/default_to_m") == "priority-flow-control mode on"
    assert read_line_of("interface[Ethernet1/3/1]/headroom/xoff_bytes").startswith("pause buffer-size")
    assert read_line_of("interface[Ethernet1/3/1]/queue[3]/scheduler") == "bandwidth remaining percent 90"
    assert read_line_of("qos/dscp[26]/traffic_class") == "match dscp 26"
    assert (
        read_line_of("qos/dscp[27]/traffic_class")
        == read_line_of("qos/traffic_class[0]/queue")
        == "set qos-group 0"
    )
    assert read_line_of("bgp/neighbor[10.64.0.0]/import") == "route-map FROM-UPSTREAM in"
    assert read_line_of("route_map[FROM-UPSTREAM]/10") == "set local-preference 0"


@st.composite
def draw_switches(draw: st.DrawFn) -> Switch:
    """Sample switches with other figures and names everywhere."""
    switch = variant(draw(st.sampled_from(VARIANTS)))
    headrooms = st.builds(
        Headroom, st.just(5), POSITIVE, POSITIVE, POSITIVE, st.none() | POSITIVE, st.integers(-9, 9), st.just("drawn")
    )  # fmt: skip
    lossless = bool(switch.qos.profiles)
    shared = shared_out(draw, switch.qos.classes) if lossless else switch.qos.classes
    priorities = draw(st.permutations(range(8)))
    classes = [replace(c, priority=priority) for c, priority in zip(shared, priorities, strict=False)]
    qos = replace(
        any_qos(draw, switch.qos, headrooms, least_ms=1),
        classes=tuple(sorted(classes, key=lambda c: c.priority)),
        pools=BufferPools(draw(POSITIVE), draw(POSITIVE), 1, None, False) if lossless else None,
    )
    bgp = any_bgp(draw, switch.bgp, any_rules(12), paths=128, bfd_ms=(50, 999), bfd_multiplier=(1, 50))
    split = draw(st.sampled_from([gbps for children, gbps in BREAKOUTS if children == 2]))
    ports = []
    for port in switch.ports:
        gbps = split if port.children == 2 else draw(st.sampled_from(SPEEDS_GBPS))
        mtu = draw(st.integers(1280, 9216))
        ports.append(replace(port, speed_gbps=gbps, lanes=draw(st.sampled_from([1, 2, 4, 8])), mtu=mtu))
    users = tuple(Account(name, f"ssh-ed25519 {name}") for name in draw(st.sets(NAMES, max_size=3)))
    networks = st.sampled_from(["0.0.0.0/0", "10.0.0.0/8", "172.16.8.0/24", "172.16.8.9/32", "192.0.2.0/31"])
    management = replace(
        switch.management,
        users=users,
        ntp=(),
        dns=("10.9.0.10", "10.9.0.9"),
        access=tuple(draw(st.lists(networks, unique=True))),
        gnmi_port=draw(st.none() | st.integers(1024, 65535)),
        lldp_interval_s=draw(st.integers(5, 63)),
    )
    tier = draw(st.sampled_from(TierName))
    return replace(
        switch, name=draw(NAMES), tier=tier, qos=qos, bgp=bgp, ports=tuple(ports), management=management
    )


@settings(max_examples=scale_examples(150), deadline=None)
@given(draw_switches())
def test_any_figures_read_back_as_planned(switch: Switch) -> None:
    reading = NXOS.read(NXOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == NXOS.planned(switch)


def test_a_large_switch_reads_back_as_planned() -> None:
    switch = large_switch()
    reading = NXOS.read(NXOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == NXOS.planned(switch)


# --- as a device prints it ---------------------------------------------------------------------------


def blocks_of(text: str) -> list[str]:
    """The top-level lines, each with its body."""
    return re.findall(r"^\S.*\n(?: .*\n)*", text, re.MULTILINE)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_header_other_block_order_and_carriage_returns_change_nothing(name: str) -> None:
    text = text_of(name)
    header = (
        "!Command: show running-config\n!Running configuration last done at: Fri Nov 21 05:00:00 2025\n"
        "!Time: Fri Nov 21 05:27:24 2025\n\nversion 10.4(3) Bios:version 01.07 \n"
    )
    added = (
        "vdc su001-tor1a id 1\n  limit-resource vlan minimum 16 maximum 4094\n"
        "rmon event 1 log trap public description FATAL(1) owner PMON@FATAL\n"
        "line console\nline vty\nboot nxos bootflash:/nxos64-cs.10.4.3.F.bin\n"
        "username admin password 5 $5$SALT$HASH  role network-admin\n"
        "username netops passphrase  lifetime 99999 warntime 14 gracetime 3\n"
    )
    blocks = blocks_of(text)
    assert "".join(blocks) == "".join(line + "\n" for line in text.splitlines() if line)
    shuffled = "".join([header, *reversed(blocks), added]).replace("\n", "\r\n")
    facts = read(shuffled)
    assert facts.pop("user[admin]/device_role") == "network-admin"
    assert facts == read(text)


def test_defaults_that_a_device_hides_are_understood() -> None:
    hidden = text_of()
    for line in (
        "  timers bgp 3 9\n",
        "  mtu 9100\n",
        "  shutdown\n",
        "priority-flow-control watch-dog interval 200\n",
        "priority-flow-control watch-dog shutdown-multiplier 1\n",
        "priority-flow-control auto-restore multiplier 2\n",
    ):
        assert line in hidden
        hidden = hidden.replace(line, "")
    before, after = read(text_of()), read(hidden)
    changed = {path: value for path, value in after.items() if before.get(path) != value}
    used = ("Ethernet1/1/1", "Ethernet1/1/2", "Ethernet1/2/1", "Ethernet1/3/1", "Ethernet1/4/1")
    assert changed == {
        "bgp/keepalive_s": 60,
        "bgp/hold_s": 180,
        "watchdog/poll_ms": 100,
        "watchdog/detect_ms": 100,
        "watchdog/restore_ms": 1000,
        **{f"interface[{port}]/mtu": 1500 for port in used},
    }
    assert after.keys() == before.keys()


def test_routed_port_without_no_shutdown_is_disabled() -> None:
    facts = read(text_of().replace("  no shutdown\n", ""))
    assert facts["interface[Ethernet1/1/1]/enabled"] == "false"


def test_passwords_are_not_compared() -> None:
    text = text_of()
    hashed = text.replace("password 5 !  role", "password 5 $5$ABCDEF$0123456789  role")
    assert hashed != text
    there, here = read(hashed), read(text)
    assert {path for path in there if here.get(path) != there[path]} == {"user[netops]/secret"}
    assert here.keys() <= there.keys(), "the hash of a device is a secret, which no comparison reports"


def test_other_spellings_are_understood() -> None:
    text = text_of("cloudscale/drained")
    other = text
    for old, new in (
        ("256000 bytes maximum-threshold 1024000 bytes", "256 kbytes maximum-threshold 1024 kbytes"),
        ("permit 10.0.0.0/26 eq 31", "permit 10.0.0.0/26 ge 31 le 31"),
        ("match dscp 26", "match dscp af31"),
        ("match dscp 48", "match dscp cs6"),
        ("standard GRACEFUL-SHUTDOWN seq 10 permit 65535:0", "standard GRACEFUL-SHUTDOWN permit graceful-shutdown"),
        ("asn 4200001000", "asn 64086.60904"),
        ("sshkey ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample",
         'sshkey "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample"'),
        ("ip name-server 172.16.0.3 use-vrf management\n", ""),
        ("vrf context management\n", "vrf context management\n  ip name-server 172.16.0.3\n"),
        ("  neighbor 10.64.0.0\n", "  neighbor 10.64.0.0 remote-as 4200001000\n"),
        ("port 1-4 map", "port 1,2-3,4 map"),
        ("use-vrf management\nip load", "use-vrf management facility local7\nip load"),
        ("router bgp 4200100000", "router bgp 64088.28832"),
        ("policy-map type queuing PM-OUT-400G-5M", "policy-map type queuing match-any PM-OUT-400G-5M"),
    ):  # fmt: skip
        assert old in other or old.startswith("asn"), old
        other = other.replace(old, new)
    assert read(other) == read(text)


def test_prefix_rules_follow_their_numbers_and_not_their_lines() -> None:
    text = text_of()
    one = "ip prefix-list FABRIC-V4 seq 10 permit 10.0.0.0/10 eq 26\n"
    two = "ip prefix-list FABRIC-V4 seq 20 permit 10.128.0.0/12 eq 32\n"
    assert one + two in text
    assert read(text.replace(one + two, two + one)) == read(text)
    swapped = text.replace(one, one.replace("10 permit", "30 permit"))
    assert read(swapped)["prefix_list[FABRIC-V4]/0"] == "10.128.0.0/12 ge 32 le 32"


def test_empty_interfaces_add_no_facts() -> None:
    text = text_of()
    more = text.replace("interface Ethernet1/1/2\n", "interface Ethernet1/9\n\ninterface Ethernet1/1/2\n")
    assert read(more) == read(text)


def test_policies_of_the_system_hold_where_a_port_names_none() -> None:
    text = text_of()
    named = "  service-policy type queuing output PM-OUT-400G-5M\n"
    assert named in text
    facts = read(text.replace(named, ""))
    assert facts["interface[Ethernet1/1/1]/queue[3]/ecn_max_bytes"] == 2_048_000
    text = text_of("cloudscale/long")
    applied = "system qos\n  service-policy type queuing input PM-IN-400G-200M\n"
    named = "  service-policy type queuing input PM-IN-400G-200M\n"
    assert named in text
    facts = read(text.replace(named, "").replace("system qos\n", applied))
    assert facts["interface[Ethernet1/3/1]/headroom/xoff_bytes"] == 1_100_000
    assert facts["interface[Ethernet1/1/1]/headroom/xoff_bytes"] == 1_100_000


def test_maps_of_two_families_are_one_only_while_each_keeps_to_its_family() -> None:
    text = text_of("cloudscale/dual-unnumbered")
    assert read(text)["bgp/neighbor[Ethernet1/3/1]/import"] == "FROM-UPSTREAM"
    list_, other = "match ipv6 address prefix-list FABRIC-V6", "match ip address prefix-list FABRIC-V4"
    strayed = text.replace(f"  {list_}\n", f"  {other}\n")
    assert strayed != text
    assert (
        read(strayed)["bgp/neighbor[Ethernet1/3/1]/import"] == "ipv4 FROM-UPSTREAM-V4 ipv6 FROM-UPSTREAM-V6"
    )
    swapped = text.replace("      route-map FROM-UPSTREAM-V6 in\n", "      route-map FROM-UPSTREAM-V4 in\n")
    assert read(swapped)["bgp/neighbor[Ethernet1/3/1]/import"] == "ipv4 FROM-UPSTREAM ipv6 FROM-UPSTREAM-V4"


def test_a_watchdog_needs_the_switch_and_the_port() -> None:
    text = text_of()
    everywhere = "\npriority-flow-control watch-dog-interval on\n"
    facts = read(text.replace(everywhere, "\n"))
    assert facts["interface[Ethernet1/1/1]/watchdog"] == "false"
    assert "watchdog/detect_ms" not in facts
    facts = read(text.replace("  priority-flow-control watch-dog-interval on\n", ""))
    assert facts["interface[Ethernet1/1/1]/watchdog"] == "false"
    facts = read(text.replace("  priority-flow-control watch-dog-interval on\n",
                              "  priority-flow-control watch-dog-interval on disable-action\n"))  # fmt: skip
    assert facts["interface[Ethernet1/1/1]/watchdog"] == "false"


def test_a_neighbor_has_its_own_word_over_its_template_s() -> None:
    own = "    description spine01a\n    address-family ipv4 unicast\n      route-map OTHER in\n"
    facts = read(text_of().replace("    description spine01a\n", own))
    assert facts["bgp/neighbor[10.64.0.0]/import"] == "OTHER"
    assert facts["bgp/neighbor[10.64.0.0]/export"] == "TO-UPSTREAM"
    assert facts["bgp/neighbor[10.64.0.2]/import"] == "FROM-UPSTREAM"


def test_families_that_differ_are_distinguished() -> None:
    text = text_of("cloudscale/dual-unnumbered")
    first = text.replace("      route-map FROM-UPSTREAM-V4 in\n", "", 1)
    facts = read(first)
    assert facts["bgp/neighbor[Ethernet1/3/1]/import"] == "ipv4 none ipv6 FROM-UPSTREAM"


def test_lines_of_unknown_meaning_are_listed_with_their_numbers() -> None:
    text = "hostname a\nip http server\n!\nrouter rift 1\n  max-metric router-lsa\nbanner motd @\nhello there\n@\n"
    reading = NXOS.read({FILE: text})
    assert reading.facts["management/banner"] == "hello there"
    assert reading.unknown == [
        (FILE, 2, "ip http server"),
        (FILE, 4, "router rift 1"),
        (FILE, 5, "max-metric router-lsa"),
    ]


@pytest.mark.parametrize("name", ["nxos-leaf.cfg", "nxos-spine.cfg"])
def test_a_configuration_written_by_others_is_mostly_understood(name: str) -> None:
    sample = SAMPLES / name
    if not sample.is_file():
        pytest.skip("the reference samples are not beside this checkout")
    text = sample.read_text(encoding="utf-8")
    reading = NXOS.read({FILE: text})
    heads = {" ".join(line.split()[:2]) for _, _, line in reading.unknown}
    assert heads <= {
        "graceful-restart restart-time", "random-detect threshold",
    }  # fmt: skip
    assert reading.facts["qos/dscp[26]/traffic_class"] == 3
    assert reading.facts["interface[Ethernet1/1]/pfc"] == "3"
    assert reading.facts["interface[Ethernet1/1]/watchdog"] == "true"
    assert reading.facts["interface[Ethernet1/1]/mtu"] == 9216


def test_the_services_of_a_configuration_written_by_others_are_understood() -> None:
    sample = SAMPLES / "nxos-leaf.cfg"
    if not sample.is_file():
        pytest.skip("the reference samples are not beside this checkout")
    facts = NXOS.read({FILE: sample.read_text(encoding="utf-8")}).facts
    assert facts["management/tacacs/servers"] == "198.51.100.20"
    assert facts["management/tacacs/secret"] == "set"
    assert facts["management/aaa/authentication login default"] == "group TAC local"
    assert facts["management/snmp/secret"] == "set"
    assert facts["management/gnmi_port"] == 50051
    assert facts["lldp/interval_s"] == 30
    assert facts["load_balancing/mode"] == "flowlet"
    assert facts["load_balancing/flowlet_idle_us"] == 600
    assert facts["load_balancing/interfaces"] == "Ethernet1/1,Ethernet1/2"


def test_services_as_a_device_prints_them() -> None:
    text = text_of("cloudscale/settings")
    other = text
    for old, new in (
        ("dlb-interface Eth1/3/1,Eth1/4/1\n",
         "dlb-interface Ethernet1/3/1 , Ethernet1/4/1\n  mac-address 00:CC:CC:CC:CC:CC\n"),
        ("  10 permit ip 172.16.8.0/24 any\n  20 permit ip", "  7 permit ip 172.16.8.0/24 any\n  8 permit ip"),
        ("line vty\n", "line console\n  exec-timeout 0\nline vty\n  exec-timeout 30\n  session-limit 16\n"),
        ("snmp-server user monitor use-ipv4acl FABRICC-ACCESS use-ipv6acl FABRICC-ACCESS-V6",
         "snmp-server user monitor use-ipv4acl FABRICC-ACCESS\n"
         "snmp-server user monitor use-ipv6acl FABRICC-ACCESS-V6"),
        ("FABRICC-SECRET-snmp use-ipv4acl FABRICC-ACCESS use-ipv6acl FABRICC-ACCESS-V6",
         "FABRICC-SECRET-snmp use-ipv4acl FABRICC-ACCESS\n"
         "snmp-server community FABRICC-SECRET-snmp use-ipv6acl FABRICC-ACCESS-V6"),
        ("ntp server 172.16.0.2 use-vrf management key 1\n", "ntp server 172.16.0.2 use-vrf management key 1\n" * 2),
        ("ntp authentication-key 1 md5 FABRICC-SECRET-ntp 0\n", "ntp authentication-key 1 md5 FABRICC-SECRET-ntp 7\n"),
        ("    use-vrf management\n    source-interface mgmt0\n",
         "    source-interface mgmt0\n    use-vrf management\n"),
    ):  # fmt: skip
        assert old in other, old
        other = other.replace(old, new)
    assert read(other) == read(text)


def test_a_key_that_the_device_has_scrambled_is_no_part_of_the_facts() -> None:
    text = text_of("cloudscale/settings")
    facts = read(text.replace("key 0 FABRICC-SECRET-tacacs", 'key 7 "wawy1234"'))
    assert facts["management/tacacs/secret"] == "set"
    one = text.replace("172.16.0.5 key 0 FABRICC-SECRET-tacacs", '172.16.0.5 key 7 "wawy1234"')
    assert read(one)["management/tacacs/secret"] == ""


def test_services_without_their_feature_are_off() -> None:
    text = text_of("cloudscale/settings")
    assert "lldp/interval_s" not in read(text.replace("feature lldp\n", ""))
    assert "management/gnmi_port" not in read(text.replace("feature grpc\n", ""))
    assert read(text.replace("grpc port 9339\n", ""))["management/gnmi_port"] == 50051


def test_access_list_with_a_leading_deny_permits_nothing() -> None:
    text = text_of("cloudscale/settings")
    first = "ip access-list FABRICC-ACCESS\n"
    assert read(text.replace(first, first + "  5 deny ip any any\n"))["management/access"] == ""
    assert read(text.replace(first, first + "  5 permit ip any any\n"))["management/access"] == (
        "0.0.0.0/0,172.16.8.0/24,172.16.9.0/24"
    )


def test_a_list_that_is_not_there_is_reported() -> None:
    text = text_of("cloudscale/settings").replace("access-class FABRICC-ACCESS in", "access-class OTHER in")
    reading = NXOS.read({FILE: text})
    assert "management/access" not in reading.facts
    assert [line for _, _, line in reading.unknown] == ["access list OTHER"]


def test_repeated_interface_is_reported_at_both_places() -> None:
    text = text_of().replace("interface Ethernet1/1/1\n", "interface Ethernet1/1/2\n")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line == "interface Ethernet1/1/2"]
    assert [number for _, number, _ in NXOS.read({FILE: text}).unknown] == lines


@pytest.mark.parametrize(
    ("words", "ports"),
    [
        ("Eth1/1,Eth1/3", "Ethernet1/1,Ethernet1/3"),
        ("Eth1/1-3", "Ethernet1/1,Ethernet1/2,Ethernet1/3"),
        ("all", "all"),
        ("Eth1/3-1", None),
        ("Eth1/1-99999999", None),
        ("mgmt0", None),
    ],
)
def test_lists_of_ports_are_understood(words: str, ports: str | None) -> None:
    reading = NXOS.read({FILE: f"hardware profile dlb\n  dlb-interface {words}\n"})
    assert reading.facts.get("load_balancing/interfaces") == ports
    assert len(reading.unknown) == (ports is None)


WORDS = sorted({word for name in VARIANTS for word in text_of(name).split()})
INDENTS = st.sampled_from(["", " ", "  ", "    ", "      "])
LINES = st.builds(
    lambda indent, words: indent + " ".join(words),
    INDENTS,
    st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=7),
)


@settings(max_examples=scale_examples(200), deadline=None)
@given(st.lists(LINES, max_size=30))
def test_no_text_makes_the_reader_fail(lines: list[str]) -> None:
    reading = NXOS.read({FILE: "\n".join(lines)})
    assert len(reading.unknown) <= sum(line.count("\n") + 1 for line in lines)


@settings(max_examples=scale_examples(60), deadline=None)
@given(st.data())
def test_no_damage_to_a_line_makes_the_reader_fail(data: st.DataObject) -> None:
    lines = text_of("cloudscale/dual").splitlines()
    for _ in range(8):
        index = data.draw(st.integers(0, len(lines) - 1))
        words = lines[index].split(" ")
        cut = data.draw(st.integers(0, len(words)))
        lines[index] = " ".join(words[:cut])
    NXOS.read({FILE: "\n".join(lines)})


@pytest.mark.parametrize(
    "line",
    ["router bgp ", "  mtu ", "ip prefix-list A seq ", "bfd interval 5 min_rx 5 multiplier ", "match dscp "],
)
def test_endless_numbers_do_no_harm(line: str) -> None:
    assert NXOS.read({FILE: line + "9" * 100_000}).unknown[0][1] == 1


def test_unnumbered_ports_advertise_themselves_and_others_are_left_alone() -> None:
    """Neighbors find each other by advertisements; no device prints that it sends them, but that it does not."""
    unnumbered, host = (text_of(f"cloudscale/{name}") for name in ("unnumbered", "dual"))
    ports = unnumbered.count("ipv6 address use-link-local-only")
    assert ports == unnumbered.count("  no ipv6 nd suppress-ra\n") > 0
    assert host.count("  ipv6 nd suppress-ra\n") == host.count("description su") > 0
    printed = unnumbered.replace("  no ipv6 nd suppress-ra\n", "")
    assert read(printed) == read(unnumbered)
    silent = printed.replace(
        "  ipv6 link-local use-bia\n", "  ipv6 link-local use-bia\n  ipv6 nd suppress-ra\n", 1
    )
    assert set(read(silent).items()) - set(read(printed).items()) == {
        ("interface[Ethernet1/3/1]/ra", "suppressed")
    }


def test_typed_forms_give_the_same_facts_as_printed_forms() -> None:
    text = text_of("cloudscale/dual")
    for old, new in (
        (
            "  neighbor 10.64.0.0\n    inherit peer UPSTREAM\n    remote-as 4200001000\n",
            "  neighbor 10.64.0.0 remote-as 4200001000\n    inherit peer UPSTREAM\n",
        ),
        ("  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\n",
         "  class type network-qos c-8q-nq3\n      pause pfc-cos 3\n      mtu 9216\n"),
        ("interface breakout module 1 port 1-4 map 400g-2x\n",
         "interface breakout module 1 port 3-4 map 400g-2x\ninterface breakout module 1 port 1,2 map 400g-2x\n"),
        ("vrf context management\n", "interface Ethernet1/1/1-2\n  no ipv6 redirects\nvrf context management\n"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    assert read(text) == read(text_of("cloudscale/dual"))


def test_a_range_of_interfaces_is_each_of_them() -> None:
    facts = read(
        "interface Ethernet1/5-6,Ethernet1/8\n  no switchport\n  mtu 9216\ninterface Ethernet1/6\n  no shutdown\n"
    )
    assert {path: value for path, value in facts.items() if path.endswith(("mtu", "enabled"))} == {
        **{f"interface[Ethernet1/{cage}]/mtu": 9216 for cage in (5, 6, 8)},
        **{f"interface[Ethernet1/{cage}]/enabled": "false" for cage in (5, 8)},
        "interface[Ethernet1/6]/enabled": "true",
    }


def test_all_priorities_of_a_paused_class_are_stated() -> None:
    text = text_of().replace("    pause pfc-cos 3\n", "    pause pfc-cos 3-4\n")
    facts = read(text)
    assert facts["interface[Ethernet1/1/1]/pfc"] == "3,4"
    assert facts["qos/pfc_priority[4]/queue"] == 3


@pytest.mark.parametrize(("mask", "address"), [
    ("255.255.255.254", "10.9.0.1/31"), ("255.255.255.0", "10.9.0.1/24"), ("0.0.0.255", None), ("255.0.255.0", None),
])  # fmt: skip
def test_a_subnet_mask_is_a_prefix_length(mask: str, address: str | None) -> None:
    files = {"running-config.cfg": f"interface Ethernet1/1\n  no switchport\n  ip address 10.9.0.1 {mask}\n"}
    reading = NXOS.read(files)
    assert reading.facts.get("interface[Ethernet1/1]/ipv4") == address
    assert bool(reading.unknown) == (address is None)
