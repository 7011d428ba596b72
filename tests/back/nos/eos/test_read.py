"""The reader: what is rendered reads back as planned, and so does what a device prints."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.eos import EOS, FILE
from fabricc.back.nos.eos.words import SPEEDS
from fabricc.fabric.model import Account, Switch
from fabricc.fabric.qos import BufferPools, Headroom
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.nos.changed import NAMES, POSITIVE, any_bgp, any_qos, any_rules, shared_out
from tests.back.nos.eos.variants import VARIANTS, large_switch, variant
from tests.effort import scale_examples


def text_of(name: str = "trident-numbered") -> str:
    return EOS.render(variant(name))[FILE]


def read(text: str) -> dict[str, str | int]:
    reading = EOS.read({FILE: text})
    assert reading.unknown == []
    return reading.facts


@pytest.mark.parametrize("name", VARIANTS)
def test_rendered_configuration_reads_back_as_planned(name: str) -> None:
    switch = variant(name)
    reading = EOS.read(EOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == EOS.planned(switch)


# Facts that hold by default, without a line.
HIDDEN = ("lldp/interval_s", "lldp/hold_s")


@pytest.mark.parametrize("name", VARIANTS)
def test_every_fact_of_a_rendered_file_has_its_line(name: str) -> None:
    reading = EOS.read(EOS.render(variant(name)))
    missing = reading.facts.keys() - reading.lines.keys()
    assert missing <= {p for p in reading.facts if p.startswith(("qos/traffic_class[", *HIDDEN))}
    assert all(file == FILE and line > 0 for file, line in reading.lines.values())


def test_a_fact_has_the_line_that_states_it() -> None:
    text = text_of()
    at = {number: line.strip() for number, line in enumerate(text.splitlines(), 1)}
    lines = EOS.read({FILE: text}).lines

    def read_line_of(path: str) -> str:
        return at[lines[path][1]]

    assert read_line_of("system/hostname") == "hostname su001-tor1a"
    assert read_line_of("interface[Ethernet1/5]/ipv4") == "ip address 10.0.0.2/31"
    assert read_line_of("interface[Ethernet1/5]/headroom/xoff_bytes") == "ingress headroom bytes 231424"
    assert read_line_of("interface[Ethernet3/1]/queue[3]/scheduler") == "bandwidth percent 90"
    assert read_line_of("interface[Ethernet3/1]/queue[3]/guaranteed") == "bandwidth guaranteed percent 1"
    assert read_line_of("qos/dscp[26]/traffic_class") == "qos map dscp 26 to traffic-class 3"
    assert read_line_of("bgp/neighbor[10.64.0.0]/import") == "neighbor UPSTREAM route-map FROM-UPSTREAM in"
    assert read_line_of("route_map[FROM-UPSTREAM]/10") == "set local-preference 0"


@st.composite
def draw_switches(draw: st.DrawFn) -> Switch:
    """Sample switches with other figures and names everywhere."""
    switch = variant(draw(st.sampled_from(VARIANTS)))
    headrooms = st.builds(
        Headroom, st.just(5), st.just(1), POSITIVE, POSITIVE, st.none(), st.integers(-9, 9), st.just("drawn")
    )
    qos = replace(
        any_qos(draw, switch.qos, headrooms),
        classes=shared_out(draw, switch.qos.classes),
        pools=BufferPools(1, draw(st.integers(0, 10**8)), 1, None, False) if switch.qos.profiles else None,
    )
    bgp = any_bgp(draw, switch.bgp, any_rules(4), paths=600, bfd_ms=(50, 60_000), bfd_multiplier=(3, 50))
    speeds = st.sampled_from(sorted(SPEEDS))
    ports = []
    for port in switch.ports:
        speed_gbps, lanes = draw(speeds)
        mtu = draw(st.integers(1280, 9214))
        ports.append(replace(port, speed_gbps=speed_gbps, lanes=lanes, mtu=mtu))
    users = tuple(Account(name, f"ssh-ed25519 {name}") for name in draw(st.sets(NAMES, max_size=3)))
    management = replace(switch.management, users=users, ntp=(), dns=("10.9.0.10", "10.9.0.9"))
    return replace(switch, name=draw(NAMES), qos=qos, bgp=bgp, ports=tuple(ports), management=management)


@settings(max_examples=scale_examples(150), deadline=None)
@given(draw_switches())
def test_any_figures_read_back_as_planned(switch: Switch) -> None:
    reading = EOS.read(EOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == EOS.planned(switch)


def test_a_large_switch_reads_back_as_planned() -> None:
    switch = large_switch()
    reading = EOS.read(EOS.render(switch))
    assert reading.unknown == []
    assert reading.facts == EOS.planned(switch)


# --- as a device prints it ---------------------------------------------------------------------------


def test_comments_other_block_order_and_carriage_returns_change_nothing() -> None:
    text = text_of()
    blocks = text.split("\n!\n")
    shuffled = [
        "! Command: show running-config\n! device: x (DCS-7060X6-64PE, EOS-4.32.1F)",
        *reversed(blocks),
    ]
    assert read("\r\n!\r\n".join(block.replace("\n", "\r\n") for block in shuffled)) == read(text)


def test_defaults_that_a_device_hides_are_understood() -> None:
    text = text_of()
    hidden = text
    for line in (
        "qos map dscp 24 to traffic-class 0\n",
        "qos map traffic-class 3 to uc-tx-queue 3\n",
        "   protocol https\n",
        "   bgp bestpath as-path multipath-relax\n",
        "   timers bgp 3 9\n",
        "   mtu 9100\n",
        "      priority strict\n",
    ):
        assert line in hidden
        hidden = hidden.replace(line, "")
    before, after = read(text), read(hidden)
    changed = {path: value for path, value in after.items() if before.get(path) != value}
    used = ("Ethernet1/1", "Ethernet1/5", "Ethernet2/1", "Ethernet3/1", "Ethernet4/1")
    assert changed == {
        "qos/dscp[24]/traffic_class": 3,
        "bgp/keepalive_s": 60,
        "bgp/hold_s": 180,
        **{f"interface[{port}]/mtu": 1500 for port in used},
    }
    assert after.keys() == before.keys()


def test_grouped_code_points_kilobytes_and_ranges_are_understood() -> None:
    text = text_of()
    ones = "".join(f"qos map dscp {dscp} to traffic-class 0\n" for dscp in range(8))
    grouped = text.replace(ones, "qos map dscp 0 1 2 3 4 5 6 7 to traffic-class 0\n")
    grouped = grouped.replace("512000 bytes", "512 kbytes").replace("2048000 bytes", "2048 kbytes")
    grouped = grouped.replace("permit 10.0.0.0/26 eq 31", "permit 10.0.0.0/26 ge 31 le 31")
    assert grouped != text
    assert read(grouped) == read(text)


def test_older_spellings_and_dotted_numbers_are_understood() -> None:
    text = text_of()
    older = text.replace("peer group", "peer-group").replace("remote-as 4200001000", "remote-as 64086.60904")
    older = older.replace("notation asplain", "notation asdot").replace("permit GSHUT", "permit 65535:0")
    assert older != text
    assert read(older) == read(text)


def test_empty_interfaces_add_no_facts() -> None:
    text = text_of()
    more = text.replace("interface Ethernet1/5\n", "interface Ethernet1/2\n!\ninterface Ethernet1/5\n")
    assert read(more) == read(text)


def test_a_buffer_profile_applied_to_all_ports_is_each_port_s() -> None:
    text = text_of("trident-numbered")
    own = "   platform trident mmu queue interface-profile MMU-400G-5M\n"
    assert own in text
    default = "\nplatform trident mmu queue profile MMU-400G-{}M apply"
    everywhere = text.replace(own, "").replace(default.format(40), default.format(5))
    facts = read(everywhere)
    assert facts["interface[Ethernet1/1]/headroom/xoff_bytes"] == 231424
    assert facts["interface[Ethernet3/1]/headroom/xoff_bytes"] == 283648


def test_the_spellings_of_queues_and_buffer_profiles_mean_the_same() -> None:
    text = text_of()
    other = text.replace("interface-profile MMU-400G-5M", "profile MMU-400G-5M apply")
    other = other.replace("to uc-tx-queue", "to tx-queue").replace("headroom bytes", "headroom")
    assert other != text
    assert read(other) == read(text)


def test_port_threshold_differs_from_a_priority_group_threshold() -> None:
    text = text_of()
    whole = read(text.replace("ingress priority-group 3 threshold 1", "ingress threshold 1"))
    port = "interface[Ethernet1/1]/headroom/"
    assert (whole[port + "dynamic_th"], whole[port + "priority_groups"]) == (0, "all")
    assert {p for p, v in read(text).items() if whole[p] != v} == {
        p for p in whole if p.endswith("headroom/priority_groups")
    }


def test_a_second_ingress_threshold_of_a_profile_is_not_overlooked() -> None:
    text = text_of().replace("group 3 threshold 1\n", "group 3 threshold 1\n    ingress threshold 1/4\n", 1)
    assert [line for _, _, line in EOS.read({FILE: text}).unknown] == ["ingress threshold 1/4"]


def test_a_watchdog_without_guaranteed_bandwidth_does_not_count() -> None:
    facts = read(text_of().replace("      bandwidth guaranteed percent 1\n", ""))
    assert facts["interface[Ethernet1/1]/watchdog"] == "false"
    assert facts["interface[Ethernet1/1]/queue[3]/scheduler"] == "dwrr 90"


@pytest.mark.parametrize(
    ("line", "amount"),
    [("10000000", "10000000 kbps"), ("10000 mbps", "10000 mbps"), ("percent 10", "10 percent")],
)
def test_a_guarantee_is_understood_in_every_unit(line: str, amount: str) -> None:
    facts = read(text_of().replace("guaranteed percent 1\n", f"guaranteed {line}\n"))
    assert facts["interface[Ethernet1/1]/queue[3]/guaranteed"] == amount
    assert facts["interface[Ethernet1/1]/queue[3]/scheduler"] == "dwrr 90"
    assert facts["interface[Ethernet1/1]/watchdog"] == "true"


def test_marks_counted_on_an_interface_are_those_counted_in_its_profile() -> None:
    text = text_of()
    bare = text.replace("      random-detect ecn count\n", "")
    own = "   uc-tx-queue 3\n      random-detect ecn count\n"
    counted = bare.replace("   no switchport\n   ip", f"{own}   no switchport\n   ip")
    assert len({text, bare, counted}) == 3
    assert "interface[Ethernet1/1]/queue[3]/ecn_count" not in read(bare)
    assert read(counted) == read(text)


def test_the_order_of_lines_in_a_block_does_not_matter() -> None:
    text = text_of("trident-dual-unnumbered")
    turned = []
    for block in text.split("\n!\n"):
        first, *below = block.split("\n")
        flat = below and all(line[:3] == "   " != line[3:6] for line in below)
        turned.append("\n".join([first, *(reversed(below) if flat else below)]))
    other = "\n!\n".join(turned)
    assert other != text
    assert read(other) == read(text)


def test_lines_of_a_whole_configuration_may_come_in_any_order() -> None:
    switch = replace(variant("trident-settings"), load_balancing=LoadBalancing(Spreading.PACKET, True, 128))
    switch = replace(switch, management=replace(switch.management, banner=""))  # a text has an order
    text = EOS.render(switch)[FILE]
    turned = "\n!\n".join(
        "\n".join(reversed(block.split("\n"))) if "\n " not in block else block
        for block in text.split("\n!\n")
    )
    assert turned != text
    assert read(turned) == read(text) == EOS.planned(switch)


def test_a_statement_about_several_interfaces_is_one_about_each() -> None:
    text = text_of()
    mtu = "   mtu 9100\n"
    used = "Ethernet1/1,1/5,2/1,2/5,3/1"
    ranged = text.replace(mtu, "") + f"interface {used}\n{mtu}"
    ports = [f"Ethernet{place}" for place in ("1/1", "1/5", "2/1", "2/5", "3/1")]
    facts = read(ranged)
    assert {facts[f"interface[{port}]/mtu"] for port in ports} == {9100}
    assert read(f"{ranged}interface Ethernet1/1\n   mtu 9000\n")["interface[Ethernet1/1]/mtu"] == 9000
    bgp = "router bgp 1\n   neighbor G peer group\n   neighbor interface {} peer-group G remote-as 65001\n"
    assert read(bgp.format("Ethernet1-3"))["bgp/neighbor[Ethernet2]/remote_asn"] == 65001


def test_explicit_defaults_add_no_facts() -> None:
    text = text_of("trident-dual")
    aloud = text.replace("   no switchport\n", "   no switchport\n   no priority-flow-control priority 1\n")
    aloud += "no aaa root\nspanning-tree mode mstp\nlldp timer 30\nlldp hold-time 120\n"
    assert read(aloud) == read(text)


def test_a_neighbor_that_is_not_active_carries_no_family() -> None:
    text = text_of("trident-dual")
    off = text.replace("      neighbor UPSTREAM activate\n", "      no neighbor UPSTREAM activate\n")
    assert off != text
    facts, before = read(off), read(text)
    changed = {path for path in before if facts[path] != before[path]}
    assert changed == {
        path for path, value in before.items() if path.endswith("/families") and value == "ipv4"
    }
    assert {facts[path] for path in changed} == {""}


def test_a_session_that_is_shut_with_a_reason_is_shut() -> None:
    text = text_of().replace(
        "   neighbor UPSTREAM bfd\n", "   neighbor UPSTREAM shutdown reason new optics\n"
    )
    facts = read(text)
    shut = {path for path, value in facts.items() if path.endswith("/enabled") and path.startswith("bgp/")}
    assert shut
    assert {facts[path] for path in shut} == {"false"}


def test_a_line_of_another_vrf_is_not_taken_for_one_of_the_fabric() -> None:
    text = text_of()
    other = "   !\n   vrf OTHER\n      router-id 10.9.9.9\n      neighbor 10.9.9.1 remote-as 65001\n"
    at = text.index("\n!\n", text.index("\nrouter bgp "))
    reading = EOS.read({FILE: f"{text[:at]}\n{other.rstrip()}{text[at:]}"})
    theirs = {path for path in reading.facts if path.startswith("vrf[OTHER]/")}
    assert "vrf[OTHER]/bgp/router_id" in theirs
    assert reading.facts["vrf[OTHER]/bgp/neighbor[10.9.9.1]/remote_asn"] == 65001
    before = EOS.read({FILE: text}).facts
    assert {path: value for path, value in reading.facts.items() if path not in theirs} == before
    assert reading.unknown == []


def test_a_prefix_list_may_stand_on_single_lines() -> None:
    block = "ip prefix-list A\n   seq 20 permit 10.1.0.0/16\n   seq 10 permit 10.0.0.0/16 ge 17\n"
    lines = "ip prefix-list A seq 20 permit 10.1.0.0/16\nip prefix-list A seq 10 permit 10.0.0.0/16 ge 17\n"
    assert read(block) == read(lines)
    assert read(block)["prefix_list[A]/0"] == "10.0.0.0/16 ge 17"


def test_a_rule_without_a_number_follows_those_above_it() -> None:
    text = "ip access-list A\n   deny udp any any eq 4791\n   100 permit ip any any\n   deny ip any any\n"
    facts = read(text)
    rules = ["deny udp any any eq 4791", "permit ip any any", "deny ip any any"]
    assert [facts[f"access_list[A]/{at}"] for at in range(3)] == rules


@pytest.mark.parametrize(
    ("lines", "paused"),
    [
        ("priority-flow-control on\n   priority-flow-control priority 3 no-drop", "3"),
        (
            "priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   no priority-flow-control",
            None,
        ),
        (
            "no priority-flow-control\n   priority-flow-control priority 3 no-drop\n   priority-flow-control on",
            "3",
        ),
    ],
)
def test_the_later_of_two_lines_about_pausing_counts(lines: str, paused: str | None) -> None:
    facts = read(f"interface Ethernet1\n   {lines}\n")
    assert facts.get("interface[Ethernet1]/pfc") == paused
    assert any(path.startswith("unread[no-drop") for path in facts) == (paused is None)


CLASSES = """\
class-map type qos match-any ROCE
   match dscp 26
policy-map type quality-of-service IN
   class ROCE
      set traffic-class 3
interface Ethernet1
   service-policy type qos input IN
   priority-flow-control on
   priority-flow-control priority 3 no-drop
"""


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("", "", []),
        ("   class ROCE", "   class ROCEE", ["class ROCEE"]),
        ("   match dscp 26\n", "", ["class map ROCE"]),
        ("traffic-class 3", "traffic-class 1", ["policy-map IN"]),
        ("      set traffic-class 3\n", "", ["policy-map IN"]),
        ("traffic-class 3", "traffic-class 3\n      drop", ["class ROCE"]),
        ("traffic-class 3", "traffic-class 3\n      set dscp 0", ["class ROCE"]),
    ],
)
def test_a_class_that_does_not_fill_the_paused_one_has_no_effect(old: str, new: str, lost: list[str]) -> None:
    facts = EOS.read({FILE: CLASSES.replace(old, new, 1)}).facts
    assert [path[7:-1] for path in facts if path.startswith("unread[")] == lost


def test_lines_of_unknown_meaning_are_listed_with_their_numbers() -> None:
    text = "hostname a\nip http client source\n!\nrouter frob 1\n   max-lsa 12000\nbanner motd\nhello there\nEOF\n"
    assert EOS.read({FILE: text}).unknown == [
        (FILE, 2, "ip http client source"),
        (FILE, 4, "router frob 1"),
        (FILE, 5, "max-lsa 12000"),
        (FILE, 6, "banner motd"),
    ]


WORDS = sorted({word for name in VARIANTS for word in text_of(name).split()})
INDENTS = st.sampled_from(["", " ", "   ", "      "])
LINES = st.builds(
    lambda indent, words: indent + " ".join(words),
    INDENTS,
    st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=7),
)


@settings(max_examples=scale_examples(200), deadline=None)
@given(st.lists(LINES, max_size=30))
def test_no_text_makes_the_reader_fail(lines: list[str]) -> None:
    reading = EOS.read({FILE: "\n".join(lines)})
    assert len(reading.unknown) <= sum(line.count("\n") + 1 for line in lines)


@settings(max_examples=scale_examples(60), deadline=None)
@given(st.data())
def test_no_damage_to_a_line_makes_the_reader_fail(data: st.DataObject) -> None:
    lines = text_of("trident-dual").splitlines()
    for _ in range(8):
        index = data.draw(st.integers(0, len(lines) - 1))
        words = lines[index].split(" ")
        cut = data.draw(st.integers(0, len(words)))
        lines[index] = " ".join(words[:cut])
    EOS.read({FILE: "\n".join(lines)})


def test_endless_numbers_are_unknown_lines() -> None:
    assert EOS.read({FILE: "router bgp " + "9" * 100_000}).unknown[0][1] == 1


def test_a_banner_is_no_configuration() -> None:
    text = "banner motd\nhostname impostor\nrouter bgp 1\nEOF\nhostname a\n"
    reading = EOS.read({FILE: text})
    assert reading.facts["system/hostname"] == "a"
    assert "bgp/asn" not in reading.facts
    assert reading.unknown == [(FILE, 1, "banner motd")]


@pytest.mark.parametrize(
    ("text", "banner"),
    [
        ("banner login\nAuthorized use only.\nEOF\n", "Authorized use only."),
        ("banner login\nhostname impostor\n\n  no lldp run\nEOF\n", "hostname impostor |  | no lldp run"),
        ("banner login\nEOF\n", None),
        ("banner login\nhostname impostor\n", None),
    ],
)
def test_a_login_banner_is_read_whole(text: str, banner: str | None) -> None:
    assert EOS.read({FILE: f"{text}"}).facts.get("management/banner") == banner


def test_typed_lines_are_read_with_any_indentation() -> None:
    printed = """\
interface Ethernet1
   no switchport
   ip address 10.0.0.1/31
interface Loopback0
   ip address 10.9.9.9/32
router bgp 65100
   router-id 10.9.9.9
   no bgp default ipv4-unicast
   neighbor LEAF peer group
   neighbor 10.0.0.0 peer group LEAF
   neighbor 10.0.0.0 remote-as 65000
   address-family ipv4
      neighbor LEAF activate
      network 10.9.9.9/32
"""
    typed = """\
interface eth1
      no switchport
         ip address 10.0.0.1/31
   exit
interface lo0
   ip address 10.9.9.9/32
router bgp 65100
         router-id 10.9.9.9
      no bgp default ipv4-unicast
     neighbor LEAF peer group
   address-family ipv4
     neighbor LEAF activate
        network 10.9.9.9/32
   router bgp 65100
         neighbor 10.0.0.0 peer group LEAF
   neighbor 10.0.0.0 remote-as 65000
"""
    assert read(typed) == read(printed)
    assert read(printed)["bgp/neighbor[10.0.0.0]/families"] == "ipv4"


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("ipv6 nd ra interval 5", "ra_max_s", 5),
        ("ipv6 nd ra interval msec 30000", "ra_max_s", 30),
        ("ipv6 nd ra interval msec 2500", "setting[ipv6 nd ra interval msec]", 2500),
        ("ipv6 nd ra disabled all", "ra", "suppressed"),
        ("ipv6 nd ra disabled", "setting[ipv6 nd ra disabled]", "true"),
    ],
)
def test_router_advertisements_are_read_in_both_units(line: str, path: str, value: object) -> None:
    text = f"interface Ethernet1/1\n   no switchport\n   ipv6 enable\n   {line}\n"
    assert read(text)[f"interface[Ethernet1/1]/{path}"] == value


def test_a_class_in_a_priority_group_of_another_number_is_stated() -> None:
    facts = read("qos map traffic-class 5 to priority 4\nqos map traffic-class 3 to priority-group 3\n")
    assert facts["qos/traffic_class[5]/priority_group"] == 4
    assert "qos/traffic_class[3]/priority_group" not in facts
