"""A filter drops BGP, BFD or RoCE by its first rule that matches, in the words of each system."""

from __future__ import annotations

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos.control_plane import filters_before_cpu, limits_before_cpu
from fabricc.back.nos.packet_filters import dropped_services, expand_groups, lone_target

DROPPED = {
    ("deny tcp any any eq bgp", "permit ip any any"): {"BGP"},
    ("permit icmp any any",): {"BGP", "BFD", "RoCE"},
    ("deny udp 0.0.0.0 255.255.255.255 any eq 4791", "permit ip any any"): {"RoCE"},
    ("permit ospf any any", "permit tcp any any"): {"BFD", "RoCE"},
    ("deny icmp any any", "permit ip any any"): set(),
    ("discard protocol tcp,udp destination-port 4791", "accept"): {"RoCE"},
    ("discard protocol tcp port bgp", "accept"): {"BGP"},
    ("discard protocol tcp source-port 179", "accept"): {"BGP"},
    ("discard protocol tcp source-port 179 source-address 192.0.2.1", "accept"): set(),
    ("accept protocol icmp", "discard"): {"BGP", "BFD", "RoCE"},
    ("accept protocol 89", "discard protocol 17", "accept"): {"BFD", "RoCE"},
    ("permit tcp any any established", "deny ip any any"): {"BFD", "RoCE"},
    ("deny udp any any dscp 1", "permit ip any any"): set(),
    ("deny tcp any any eq ssh telnet bgp", "permit ip any any"): {"BGP"},
    ("discard protocol-except icmp", "accept"): {"BGP", "BFD", "RoCE"},
    ("deny any",): {"BGP", "BFD", "RoCE"},
}
"""Rules of a list that drops what no rule matches -> the services that it drops."""
OPEN = {
    ("FORWARD IP_PROTOCOL=1", "DROP SRC_IP=0.0.0.0/0"): {"BGP", "BFD", "RoCE"},
    ("DROP IP_PROTOCOL=1",): set(),
    ("redirect Ethernet0 IP_PROTOCOL 17 L4_DST_PORT 4791", "DROP ETHER_TYPE 0x0800"): {"BGP", "BFD"},
    ("DROP IP_PROTOCOL=17 L4_SRC_PORT=4791",): set(),
}
"""The same of a list that forwards what no rule matches."""
ONE_WAY = {
    "redirect Ethernet0 IP_PROTOCOL 17 L4_DST_PORT 4791": "Ethernet0",
    "redirect 10.0.0.1": "10.0.0.1",
    "redirect 10.0.0.1,10.0.0.3 IP_PROTOCOL 17": "",
    "redirect Ethernet0 IP_PROTOCOL 6": "",
    "redirect Ethernet0 DST_IP 10.9.0.1/32": "",
    "permit match ip address ROCE, set ip next-hop 10.0.0.1": "10.0.0.1",
    "permit match ip address ROCE, set ip next-hop 10.0.0.1 10.0.0.3": "",
    "forward IP_PROTOCOL 17": "",
}
"""A rule -> the only port or next hop to which it sends RoCE."""
NFTABLES = {
    "tcp dport 179 drop": {"BGP"},
    "tcp dport bgp reject": {"BGP"},
    "tcp dport { 179, 646 } counter drop": {"BGP"},
    "udp dport 3700-3800 drop": {"BFD"},
    'udp dport > 4096 log prefix "x" drop': {"RoCE"},
    "udp dport != 3784 drop": {"RoCE"},
    "ip protocol udp drop": {"BFD", "RoCE"},
    "meta l4proto { tcp, udp } th dport 4791 drop": {"RoCE"},
    "meta l4proto tcp drop": {"BGP"},
    "drop": {"BGP", "BFD", "RoCE"},
    "tcp dport 179 ip saddr 192.0.2.0/24 drop": set(),
    "tcp sport 179 drop": set(),
    "ip protocol icmp drop": set(),
    "udp dport 67 drop": set(),
}
"""A rule of nftables for ports of the fabric -> the services that it drops."""
CHAIN = """table inet fabricc {
    chain input {
        type filter hook input priority filter; policy accept;
        iifname "lo" accept
%s        tcp dport 22 drop
    }
}
"""


@pytest.mark.parametrize("rules", DROPPED)
def test_a_list_drops_what_its_first_rule_drops(rules: tuple[str, ...]) -> None:
    assert {service for service, _ in dropped_services(rules, "eos")} - {"VXLAN"} == DROPPED[rules]


def test_a_list_drops_vxlan_by_its_name_and_its_port() -> None:
    for port in ("vxlan", "4789"):
        rules = (f"deny udp any any eq {port}", "permit ip any any")
        assert [*dropped_services(rules, "eos")] == [("VXLAN", 0)]


@pytest.mark.parametrize("rules", OPEN)
def test_a_list_that_is_open_drops_what_a_rule_drops(rules: tuple[str, ...]) -> None:
    assert {service for service, _ in dropped_services(rules, "sonic")} - {"VXLAN"} == OPEN[rules]


@pytest.mark.parametrize("rule", ONE_WAY)
def test_a_rule_that_sends_roce_one_way_is_found(rule: str) -> None:
    assert lone_target([rule])[1] == ONE_WAY[rule]


def nftables_services(*lines: str) -> dict[str, set[str]]:
    """Return what each of two ports drops by a chain with these lines."""
    rules = "".join(f"        {line}\n" for line in lines)
    interfaces = "auto swp1\niface swp1\n    mtu 9100\n\nauto swp2\niface swp2\n    mtu 9100\n"
    facts = back_ends.load("frr").read({"interfaces": interfaces, "nftables.conf": CHAIN % rules}).facts
    found = {}
    for port in ("swp1", "swp2"):
        name = facts.get(f"interface[{port}]/access_list_in")
        texts = [str(value) for path, value in facts.items() if path.startswith(f"access_list[{name}]/")]
        found[port] = {service for service, _ in dropped_services(texts, "frr")} - {"VXLAN"}
    return found


@pytest.mark.parametrize("rule", NFTABLES)
def test_a_rule_of_nftables_drops_its_services(rule: str) -> None:
    assert nftables_services(f'iifname "swp*" {rule}') == {"swp1": NFTABLES[rule], "swp2": NFTABLES[rule]}


def test_a_rule_of_nftables_concerns_its_ports() -> None:
    assert nftables_services('iifname { "swp2", "swp3" } tcp dport 179 drop') == {
        "swp1": set(),
        "swp2": {"BGP"},
    }
    assert nftables_services('iifname "swp1" accept', "tcp dport 179 drop") == {
        "swp1": set(),
        "swp2": {"BGP"},
    }


def test_the_list_of_logins_is_no_filter_on_links() -> None:
    line = 'iifname "eth0" tcp dport 22 ip saddr { 192.0.2.0/24 } accept'
    assert nftables_services(line) == {"swp1": set(), "swp2": set()}


def test_a_term_of_junos_with_an_unknown_condition_drops_nothing_for_certain() -> None:
    """As `ttl-except 255` of TTL security, and lists of prefixes."""
    for condition in ("ttl_except", "source_prefix_list"):
        (found,) = filters_before_cpu(
            {
                "platform/filter_input[lo0 inet]": "PROTECT",
                "platform/filter[PROTECT]/0/action": "discard",
                "platform/filter[PROTECT]/0/protocol": "tcp",
                f"platform/filter[PROTECT]/0/{condition}": "255",
                "platform/filter[PROTECT]/0/port": "bgp",
                "platform/filter[PROTECT]/1/action": "accept",
            }
        )
        assert list(dropped_services([text for _, text in found.rules], "junos")) == []


def test_only_the_policy_of_the_cpu_drops_what_arrives_for_it() -> None:
    facts = {"access_list[BGP]/0": "permit tcp any any eq bgp"}
    lines = [
        "class-map type control-plane match-any BGP", "match access-group name BGP",
        "policy-map type control-plane OWN", "class BGP", "police cir 4 kbps conform transmit violate drop",
        "policy-map type police OTHER", "class BGP", "police cir 4 kbps conform drop violate drop",
        "service-policy input OWN",
    ]  # fmt: skip
    unknown = [("running", number, line) for number, line in enumerate(lines, 1)]
    assert [(each.pps, each.line) for each in limits_before_cpu(facts, unknown)] == [(5, 5)]
    assert {each.line for each in limits_before_cpu(facts, [*unknown[:4], *unknown[7:]])} == {8}


def test_limits_of_the_cpu_are_packets_in_a_second() -> None:
    """A shape in kbps that lets packets pass, and a policer that is off, limit nothing that can be counted."""
    facts = {
        "qos/setting[policy-map copp-system-policy class copp-system-bgp shape]": "kbps 2500",
        "qos/setting[policy-map copp-system-policy class copp-system-bfd shape]": "pps 10",
        "platform/setting[policer bgp rate]": "10",
        "platform/setting[policer bgp state]": "off",
        "platform/setting[policer bfd rate]": "20",
        "platform/setting[ddos-protection protocols bfdv6 aggregate bandwidth]": "30",
        "platform/setting[rate-limiter bfd 0]": "on",
    }
    found = {(each.service, each.pps) for each in limits_before_cpu(facts, [])}
    assert found == {("BFD", 10), ("BFD", 20), ("BFD", 30), ("BFD", 0)}


@pytest.mark.parametrize("value", ["", " ", "pps", "true"])
def test_a_limit_without_a_figure_limits_nothing(value: str) -> None:
    assert list(limits_before_cpu({"platform/setting[policer bgp rate]": value}, [])) == []


@pytest.mark.parametrize("member", ["range 5", "eq", "", "eq 5 6", "range 5 9 10", "host"])
def test_a_group_whose_members_are_incomplete_stays_a_name(member: str) -> None:
    assert expand_groups("deny udp any any portgroup G", {"G": [member]}) == "deny udp any any portgroup G"


def test_filters_of_vlans_are_those_of_their_interfaces() -> None:
    """An action `drop` turns what a list permits into what it denies (NX-OS security guide, VLAN ACLs)."""
    text = (
        "ip access-list B\n  10 permit tcp any any eq bgp\ninterface Vlan10\n  ip address 10.0.0.1/24\n"
        "vlan access-map V 10\n  match ip address B\n  action drop\nvlan filter V vlan-list 9-10\n"
    )
    reading = back_ends.load("nxos").read({"running-config.cfg": text})
    assert reading.facts["interface[Vlan10]/access_list_in"] == "vlan-access-map:V"
    path = "access_list[vlan-access-map:V]/0"
    assert reading.facts[path] == "deny tcp any any eq bgp"
    assert reading.lines[path][1] == 1 + text[: text.index("action")].count("\n")


@pytest.mark.parametrize(
    ("line", "rate"), [("police pps 5", 5), ("police cir 0 bps", 0), ("police cir 1 kbps bc 1 kbytes", 1)]
)
def test_the_rate_of_a_class_of_all_other_packets_is_that_of_bgp(line: str, rate: int) -> None:
    lines = ["policy-map type control-plane P", "class class-default", line, "service-policy input P"]
    found = limits_before_cpu({}, [("running", number, each) for number, each in enumerate(lines)])
    assert {each.pps for each in found if each.service == "BGP"} == {rate}
