"""A switch with BGP routes packets of every family that its links have addresses of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.defaults import has_strict_rpf
from fabricc.fabric.facts import Reading
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, End, Kind, LinkPeer, Place, Tier, read_statement
from fabricc.interface import audit_folder
from fabricc.rules.blocked_routes import permits_nothing
from fabricc.rules.equal_paths import _one_path
from fabricc.rules.filters import _filter_findings
from fabricc.rules.forwarding import STILL, STRICT, _unnumbered_ospf
from fabricc.rules.rule import SwitchRule
from fabricc.rules.sessions import sessions_of
from fabricc.rules.static_routes import NOWHERE, RULES, _partly_dropped
from fabricc.rules.unknown_peers import OPEN

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.facts import Value

EOS = """service routing protocols model multi-agent
hostname {name}
interface Ethernet1
   description {peer} Ethernet1
   no switchport
   ip address {address}
{routing}router bgp {asn}
   router-id 10.66.1.{number}
   neighbor {far} remote-as {other}
"""
FRR = """frr version 10.1
hostname {name}
{routing}interface swp1
 description {peer} swp1
 ip address {address}
exit
router bgp {asn}
 neighbor {far} remote-as {other}
exit
"""
UNNUMBERED = """frr version 10.1
hostname {name}
no ipv6 forwarding
interface swp1
 description {peer} swp1
 ipv6 nd ra-interval 5
 no ipv6 nd suppress-ra
exit
router bgp {asn}
 neighbor swp1 interface remote-as external
{routing}exit
"""
CASES = {
    "IPv4 over ports without numbers": (UNNUMBERED, "frr.conf", "", False),
    "IPv6 over ports without numbers": (
        UNNUMBERED,
        "frr.conf",
        " address-family ipv6 unicast\n  neighbor swp1 activate\n exit-address-family\n",
        True,
    ),
    "routes": (EOS, "lf.cfg", "ip routing\n", False),
    "switched off": (EOS, "lf.cfg", "no ip routing\n", True),
    "not stated in a whole file": (EOS, "lf.cfg", "", True),
    "not stated in an excerpt": (
        EOS.replace("service routing protocols model multi-agent\n", ""),
        "lf.cfg",
        "",
        False,
    ),
    "IPv6 that no link has": (EOS, "lf.cfg", "ip routing\nno ipv6 unicast-routing\n", False),
    "FRR without a statement": (FRR, "frr.conf", "", False),
    "FRR switched off": (FRR, "frr.conf", "no ip forwarding\n", True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_switch_that_does_not_route_is_reported(case: str, tmp_path: Path) -> None:
    text, file, routing, wrong = CASES[case]
    for number, (name, peer) in enumerate((("lf1", "lf2"), ("lf2", "lf1"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(
            text.format(name=name, peer=peer, address=f"10.66.11.{number}/31", far=f"10.66.11.{1 - number}",
                        asn=65101 + number, other=65102 - number, number=number + 1, routing=routing)
        )  # fmt: skip
    found = [each.code for each in audit_folder(tmp_path, jobs=1).diagnostics if each.code == STILL]
    assert len(found) == (2 if wrong else 0)


OWN_NUMBERS = """frr version 10.1
frr defaults datacenter
hostname {name}
interface lo
 ip address 10.66.1.{number}/32
exit
{ports}router bgp 65000
{sessions} address-family ipv4 unicast
  network 10.66.1.{number}/32
 exit-address-family
exit
"""


def test_routes_between_sessions_with_numbers_of_their_own_are_not_followed(tmp_path: Path) -> None:
    """The number of the process is in no path, so no loop is detected where all switches have one."""
    links = {"lf1": [("x01", 0)], "lf2": [("x01", 2)], "x01": [("lf1", 1), ("lf2", 3)]}
    numbers = {"lf1": 65101, "lf2": 65102, "x01": 65200}
    for index, (name, ends) in enumerate(links.items(), 1):
        ports = "".join(
            f"interface swp{at}\n description {peer} swp{index if peer == 'x01' else 1}\n"
            f" ip address 10.66.11.{end}/31\nexit\n"
            for at, (peer, end) in enumerate(ends, 1)
        )
        sessions = "".join(
            f" neighbor 10.66.11.{end ^ 1} remote-as {numbers[peer]}\n"
            f" neighbor 10.66.11.{end ^ 1} local-as {numbers[name]} no-prepend replace-as\n"
            for peer, end in ends
        )
        (tmp_path / name).mkdir()
        text = OWN_NUMBERS.format(name=name, number=index, ports=ports, sessions=sessions)
        (tmp_path / name / "frr.conf").write_text(text)
    found = audit_folder(tmp_path, jobs=1).diagnostics
    assert [each.message for each in found if each.code == "FAB6209"] == []


BGP = """frr version 10.1
hostname {name}
interface swp1
 description {peer} swp1
 ip address {address}
exit
interface swp2
 description {peer} swp2
 ip address {second}
exit
{more}router bgp {asn}
{session} neighbor {far} remote-as {other}
 neighbor {far} timers 3 9
exit
"""


def findings_of(
    folder: Path, code: str, more: str = "", session: str = "", file: dict[str, str] | None = None
) -> int:
    """Return how often a code is reported of two switches with two links and these lines."""
    for number, (name, peer) in enumerate((("lf1", "lf2"), ("lf2", "lf1"))):
        (folder / name).mkdir(parents=True)
        text = BGP.format(
            name=name, peer=peer, address=f"10.66.11.{number}/31", second=f"10.66.12.{number}/31",
            far=f"10.66.11.{1 - number}", asn=65101 + number, other=65102 - number,
            more=more, session=session.format(far=f"10.66.11.{1 - number}"),
        )  # fmt: skip
        (folder / name / "frr.conf").write_text(text)
        for other, content in (file or {}).items():
            (folder / name / other).write_text(content)
    return sum(1 for each in audit_folder(folder, jobs=1).diagnostics if each.code == code)


def test_sessions_from_everywhere_are_reported(tmp_path: Path) -> None:
    lines = " neighbor G peer-group\n neighbor G remote-as external\n bgp listen range {} peer-group G\n"
    assert findings_of(tmp_path / "open", OPEN, session=lines.format("0.0.0.0/0")) == 2
    assert findings_of(tmp_path / "closed", OPEN, session=lines.format("10.66.0.0/16")) == 0


@pytest.mark.parametrize(("value", "count"), [("1", 2), ("2", 0), ("0", 0)])
def test_a_strict_check_of_sources_is_reported(value: str, count: int, tmp_path: Path) -> None:
    sysctl = {"sysctl.conf": f"net.ipv4.conf.all.rp_filter = {value}\n"}
    assert findings_of(tmp_path, STRICT, file=sysctl) == count


@pytest.mark.parametrize(
    ("path", "value", "strict"),
    [
        ("setting[ip verify unicast]", "source reachable-via rx", True),
        ("setting[ip verify unicast]", "source reachable-via any", False),
        ("setting[rpf-check]", "true", True),
        ("setting[rpf-check mode]", "loose", False),
        ("kernel[net.ipv4.conf.eth0.rp_filter]", 1, False),
    ],
)
def test_a_check_of_sources_is_strict_or_loose(path: str, value: object, strict: bool) -> None:
    assert has_strict_rpf(path, value) is strict


DEFAULTS = {
    "no default route": ("", "spine", 1),
    "one of its own": ("static_route[0.0.0.0/0]", "spine", 0),
    "to a device of its tier": ("", "tor", 1),
    "with a session out": ("", "", 0),
    "one that drops": ("discard", "spine", 1),
    "one that drops and is announced": ("announced", "spine", 1),
}


@pytest.mark.parametrize("case", DEFAULTS)
def test_a_default_route_needs_a_way_out(case: str) -> None:
    own, tier, count = DEFAULTS[case]
    facts: dict[str, Value] = {
        "bgp/asn": 65101, "bgp/neighbor[10.66.11.0]/remote_asn": 65000, "interface[swp1]/ipv4": "10.66.11.1/31",
    }  # fmt: skip
    if own in ("discard", "announced"):
        facts["static_route[0.0.0.0/0]"] = "discard"
    elif own:
        facts[own] = "10.66.11.0"
    if own != "discard":
        facts["bgp/neighbor[10.66.11.0]/default_originate"] = "all"
    device = Device("lf1", Kind.SWITCH, "frr", {}, {}, Contents(Reading(facts)))
    fars = {"swp1": LinkPeer(End("x01", "swp1"), Tier(tier), known=True)} if tier else {}
    statement = read_statement(device, Place(Tier.TOR), fars)
    rules = (each for each in RULES if isinstance(each, SwitchRule))
    found = [each for rule in rules for each in rule.find(statement, sessions_of(statement))]
    assert [each.code for each in found] == [NOWHERE] * count


@pytest.mark.parametrize(
    ("network", "length", "count"),
    [("broadcast", 32, 1), (None, 32, 1), ("point-to-point", 32, 0), ("broadcast", 31, 0)],
)
def test_ospf_without_a_subnet_needs_a_point_to_point_link(
    network: str | None, length: int, count: int
) -> None:
    facts: dict[str, Value] = {
        "interface[swp1]/ospf_area": "0.0.0.0", "interface[swp1]/ipv4": f"10.0.0.11/{length}",
        **({"interface[swp1]/ospf_network": network} if network else {}),
    }  # fmt: skip
    device = Device("lf1", Kind.SWITCH, "frr", {}, {}, Contents(Reading(facts)))
    statement = read_statement(device, Place(Tier.TOR), {})
    found = list(_unnumbered_ospf(statement, sessions_of(statement)))
    assert [each.code for each in found] == ["FAB9675"] * count


@pytest.mark.parametrize(
    ("leaf", "value", "count"),
    [("mtu", 9000, 1), ("ipv6", "fd00::1/64", 0), ("address_from", "lo", 0), ("enabled", "false", 0)],
)
def test_a_port_with_ospf_needs_an_address(leaf: str, value: Value, count: int) -> None:
    facts: dict[str, Value] = {
        "interface[swp1]/ospf_area": "0.0.0.0", "interface[swp1]/ipv4": "10.0.0.0/31",
        "interface[swp2]/ospf_area": "0.0.0.0", f"interface[swp2]/{leaf}": value,
    }  # fmt: skip
    device = Device("lf1", Kind.SWITCH, "frr", {}, {}, Contents(Reading(facts)))
    statement = read_statement(device, Place(Tier.TOR), {})
    found = list(_unnumbered_ospf(statement, sessions_of(statement)))
    assert [each.code for each in found] == ["FAB9675"] * count


@pytest.mark.parametrize(("outer", "inner", "count"), [(64, 1, 1), (64, 2, 0), (1, 1, 0)])
def test_one_path_in_a_tenant_is_reported(outer: int, inner: int, count: int) -> None:
    facts: dict[str, Value] = {
        "bgp/asn": 65101, "bgp/maximum_paths": outer, "vrf[red]/bgp/asn": 65101,
        "vrf[red]/bgp/maximum_paths": inner,
    }  # fmt: skip
    device = Device("lf1", Kind.SWITCH, "frr", {}, {}, Contents(Reading(facts)))
    statement = read_statement(device, Place(Tier.TOR), {})
    found = list(_one_path(statement, sessions_of(statement)))
    assert [each.code for each in found] == ["FAB6209"] * count


@pytest.mark.parametrize("system", ["eos", "nxos"])
def test_a_route_beside_a_drop_is_reported_at_the_drop(system: str) -> None:
    lines = ("hostname a", "ip route 10.9.0.0/16 10.0.0.1", "ip route 10.9.0.0/16 Null0",
             "ip route 10.7.0.0/16 10.0.0.1", "ip route 10.7.0.0/16 Null0 250")  # fmt: skip
    files = {"running-config.cfg": "\n".join((*lines, ""))}
    device = Device("a", Kind.SWITCH, system, files, {}, Contents(load(system).read(files)))
    statement = read_statement(device, Place(Tier.TOR), {})
    found = list(_partly_dropped(statement, sessions_of(statement)))
    assert [(each.code, each.line) for each in found] == [("FAB9660", 3)]


FILTERED = {
    "RoCE on a lossless port to hosts": ({"interface[swp1]/pfc": "3"}, "host", "RoCE"),
    "RoCE on a port to hosts without PFC": ({}, "host", ""),
    "BGP of a party outside": ({"bgp/neighbor[10.66.11.0]/remote_asn": 65000}, "", "BGP"),
    "BGP with all traffic of a party outside": (
        {"bgp/neighbor[10.66.11.0]/remote_asn": 65000, "access_list[K]/0": "deny ip any any"},
        "",
        "",
    ),
    "BGP on a port without a session": ({}, "", ""),
    "BGP of the Internet, over which IPsec leads": (
        {"bgp/neighbor[10.66.11.0]/remote_asn": 65000, "access_list[K]/2": "permit udp any any eq isakmp"},
        "",
        "",
    ),
    "BGP on a shut port": (
        {"bgp/neighbor[10.66.11.0]/remote_asn": 65000, "interface[swp1]/enabled": "false"},
        "",
        "",
    ),
}


@pytest.mark.parametrize("case", FILTERED)
def test_a_filter_is_judged_by_what_its_port_carries(case: str) -> None:
    own, tier, dropped = FILTERED[case]
    facts: dict[str, Value] = {
        "bgp/asn": 65101, "interface[swp1]/ipv4": "10.66.11.1/31", "interface[swp1]/access_list_in": "K",
        "access_list[K]/0": "deny udp any any eq 4791" if "RoCE" in case else "deny tcp any any eq 179",
        "access_list[K]/1": "permit ip any any", **own,
    }  # fmt: skip
    device = Device("lf1", Kind.SWITCH, "eos", {}, {}, Contents(Reading(facts)))
    fars = {"swp1": LinkPeer(End("h01", "eth0"), Tier(tier), known=True)} if tier else {}
    statement = read_statement(device, Place(Tier.TOR), fars)
    found = list(_filter_findings(statement, sessions_of(statement)))
    assert [each.message.split()[-1] for each in found] == [dropped] * bool(dropped)


@pytest.mark.parametrize(
    ("clauses", "closed"),
    [
        (("deny match protocol direct", "deny"), True),
        (("deny", "permit match protocol direct"), True),
        (("permit match protocol direct continue", "deny"), True),
        (("permit match protocol direct", "deny"), False),
        (("deny match protocol bgp",), False),
    ],
)
def test_a_called_policy_that_denies_everything_permits_nothing(
    clauses: tuple[str, ...], closed: bool
) -> None:
    facts: dict[str, Value] = {f"route_map[P]/{at}0": text for at, text in enumerate(clauses, 1)}
    device = Device("lf1", Kind.SWITCH, "junos", {}, {}, Contents(Reading(facts)))
    assert permits_nothing(read_statement(device, Place(Tier.TOR), {}), "P") is closed
