"""Foreign configurations of FRR become facts, and none of them ends the reading."""

from __future__ import annotations

import random
import re
from difflib import get_close_matches
from pathlib import Path
from time import process_time

import pytest

from fabricc.back.nos import unread_lines
from fabricc.back.nos.frr import FILE, FRR, IGNORABLE, _file_readers
from fabricc.review.diff.fact_impact import vocabulary_of
from tests.audit.corpora import ROOT, devices, measure_share
from tests.back.nos.test_vocabulary import fits_type
from tests.back.reading.compiled import compiled_blocks
from tests.effort import scale_examples

TEXT = (Path(__file__).parent / "beyond" / "frr.conf").read_text()
READING = FRR.read({FILE: TEXT})
SHARES = {
    "batfish-lab-validation": 1, "batfish-networks": 1, "containerlab": 1, "ddutt-cndcn": 1, "frr-k8s": 1,
    "frr-topotests": 1, "metal-stack": 2, "metallb": 1,
}  # fmt: skip
"""Most unknown statements of a source of whole devices, percent of those that are not aside."""
OF_SONIC = re.compile(r"(vrf\[.*\]/)?(bgp/graceful_restart/|bgp/source\[|zebra/fpm|log/facility)")
"""Facts that the vocabulary declares for SONiC, whose image has them."""


def test_foreign_lines_are_understood_or_irrelevant() -> None:
    ignorable = FRR.ignorable({FILE: TEXT}, READING)
    left = [text for file, line, text in READING.unknown if (file, line) not in ignorable]
    assert left == ["network swp1"]
    assert len(ignorable) == 4


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("static_route[198.51.100.0/24]", "192.0.2.1,192.0.2.3 distance 250"),
        ("static_route[203.0.113.0/24]", "discard"),
        ("static_route[2001:db8:f::/48]", "fe80::1 swp1"),
        ("vrf[RED]/static_route[192.0.2.128/25]", "10.9.9.1 swp9"),
        ("vrf[RED]/static_route[0.0.0.0/0]", "10.9.9.254 nexthop-vrf default"),
        ("vrf[BLUE]", "present"),
        ("routing/enabled[ipv6]", "false"),
        ("loopback/ipv4", "10.255.0.7/32"),
        ("interface[lo]/secondary[10.254.0.7/32]", "10.254.0.7/32"),
        ("interface[swp1]/setting[bandwidth]", "400000"),
        ("interface[swp1]/ospf_area", "0.0.0.0"),
        ("interface[swp1]/ospf_cost", 20),
        ("interface[swp1]/ospf_network", "point-to-point"),
        ("interface[swp1]/ospf_setting[hello-interval]", "2"),
        ("interface[swp1]/ospf_setting[key]", "set"),
        ("interface[swp1]/ospfv3_area", "0.0.0.1"),
        ("interface[swp1]/ospfv3_cost", 30),
        ("interface[swp1]/isis", "CORE"),
        ("interface[swp1]/isis_metric", 15),
        ("interface[swp1]/isis_setting[network]", "point-to-point"),
        ("interface[swp2]/enabled", "false"),
        ("interface[swp9]/vrf", "RED"),
        ("interface[swp9]/gateway[10.9.9.2]", "10.9.9.2"),
        ("interface[bond3]/ethernet_segment", "3"),
        ("ospf[default]/router_id", "10.255.0.7"),
        ("ospf[default]/network[10.1.0.0/16]", "0.0.0.0"),
        ("ospf[default]/passive", "default"),
        ("ospf[default]/active", "swp1"),
        ("ospf[default]/redistribute[bgp]", "MARK"),
        ("ospf[default]/area[0.0.0.7]", "stub no-summary"),
        ("ospf[default]/maximum_paths", 8),
        ("ospf[default]/setting[auto-cost reference-bandwidth]", "800000"),
        ("vrf[RED]/ospf[default]/router_id", "10.9.9.0"),
        ("ospf[v3]/router_id", "10.255.0.7"),
        ("isis[CORE]/net", "49.0001.0102.5500.0007.00"),
        ("isis[CORE]/level", "level-2-only"),
        ("isis[CORE]/redistribute[ipv4 connected]", "LOOPBACKS"),
        ("isis[CORE]/setting[domain-password]", "set"),
        ("bgp/cluster_id", "10.255.0.1"),
        ("bgp/confederation", "65000 65001 65002"),
        ("bgp/multipath_relax", "true"),
        ("bgp/setting[bestpath compare-routerid]", "true"),
        ("bgp/network[10.255.0.7/32]", "all"),
        ("bgp/network[10.254.0.0/16]", "MARK"),
        ("bgp/redistribute[ospf]", "ipv4 MARK, ipv6 none"),
        ("bgp/multipath_ibgp", "ipv4 16, ipv6 none"),
        ("bgp/listen[10.7.0.0/16]", "SERVERS"),
        ("bgp/listen[10.7.0.0/16]/setting[remote_asn]", "65100"),
        ("bgp/neighbor[10.255.0.9]/reflector_client", "ipv4"),
        ("bgp/neighbor[10.255.0.9]/next_hop_self", "ipv4"),
        ("bgp/neighbor[10.255.0.9]/update_source", "lo"),
        ("bgp/neighbor[10.255.0.9]/secret", "set"),
        ("bgp/neighbor[192.0.2.7]/local_asn", 65333),
        ("bgp/neighbor[192.0.2.7]/multihop", 3),
        ("bgp/neighbor[192.0.2.7]/enabled", "false"),
        ("bgp/neighbor[192.0.2.7]/remove_private", "all"),
        ("bgp/neighbor[192.0.2.7]/default_originate", "MARK"),
        ("bgp/neighbor[192.0.2.7]/maximum_prefixes", 100),
        ("bgp/neighbor[192.0.2.7]/setting[ipv4 maximum-prefix]", "warning-only"),
        ("bgp/neighbor[192.0.2.8]/allow_as_in", 3),
        ("bgp/neighbor[192.0.2.8]/multihop", 255),
        ("bgp/neighbor[192.0.2.8]/next_hop_unchanged", "ipv4"),
        ("bgp/neighbor[192.0.2.8]/send_community", "false"),
        ("bgp/neighbor[swp1]/remote_kind", "external"),
        ("bgp/neighbor[swp1]/keepalive_s", 1),
        ("bgp/neighbor[swp1]/hold_s", 3),
        ("bgp/neighbor[swp1]/allow_as_in", 1),
        ("bgp/neighbor[swp1]/families", "ipv4,ipv6"),
        ("bgp/neighbor[swp1]/prefix_list_in", "ipv4 OURS, ipv6 none"),
        ("bgp/neighbor[swp1]/filter_out", "ipv4 as_path_list SHORT, ipv6 none"),
        ("bgp/neighbor[swp1]/extended_next_hop", "true"),
        ("bgp/neighbor[swp1]/setting[timers connect]", "5"),
        ("bgp/neighbor[swp2]/remote_kind", "internal"),
        ("evpn/neighbor[swp1]/import", "EVPN-IN"),
        ("evpn/setting[advertise-svi-ip]", "true"),
        ("evpn/vni[100]/route_target", "65000:100"),
        ("evpn/vrf[TENANT]/route_target", "65000:4001"),
        ("vrf[TENANT]/bgp/asn", 4200000007),
        ("vrf[TENANT]/bgp/neighbor[172.16.0.1]/remote_asn", 65555),
        ("vrf[TENANT]/bgp/redistribute_connected", "unfiltered"),
        ("vrf[TENANT]/bgp/setting[ipv4 import vrf RED]", "true"),
        ("prefix_list[OURS]/1", "deny 0.0.0.0/0 le 32"),
        ("prefix_list[OURS6]/0", "2001:db8::/32 ge 48 le 64"),
        ("access_list[VTY]/0", "permit 10.0.0.0/8"),
        ("as_path_list[SHORT]/0", "permit ^65000_"),
        ("community_list[DRAIN]", "65535:0"),
        ("community_list[large BIG]", "1:2:3"),
        (
            "route_map[MARK]/10",
            "permit prefix_list OURS match tag 7 set metric 20 set community 65000:1 on-match next",
        ),
        ("route_map[MARK]/20", "deny match as-path SHORT"),
        ("bfd/peer[192.0.2.9 interface swp1]", "profile FAST transmit 100"),
        ("bfd/setting[profile FAST echo-mode]", "true"),
        ("srv6/locator[MAIN]/prefix", "fcbb:bbbb:7::/48"),
        ("srv6/sid[fcbb:bbbb:7::/48]", "locator MAIN behavior uN"),
        ("mpls/setting[router-id]", "10.255.0.7"),
    ],
)
def test_foreign_settings_become_facts(path: str, value: object) -> None:
    assert READING.facts[path] == value


def test_settings_of_a_peer_group_stand_at_the_group_s_line() -> None:
    file, line = READING.lines["bgp/neighbor[swp1]/hold_s"]
    assert TEXT.splitlines()[line - 1].strip() == "neighbor FABRIC timers 1 3"
    assert file == FILE


def test_old_releases_state_ipv4_settings_in_the_bgp_process() -> None:
    text = (
        "router bgp 65001\n neighbor 10.0.0.1 remote-as 65002\n neighbor 10.0.0.1 route-map IN in\n"
        " network 10.9.0.0/16\n maximum-paths 4\n redistribute connected\n!\n"
    )
    reading = FRR.read({FILE: text})
    assert reading.unknown == []
    assert reading.facts["bgp/neighbor[10.0.0.1]/families"] == "ipv4"
    assert reading.facts["bgp/neighbor[10.0.0.1]/import"] == "IN"
    assert reading.facts["bgp/network[10.9.0.0/16]"] == "all"
    assert reading.facts["bgp/maximum_paths"] == 4


def test_a_routing_instance_after_an_interface_is_none_of_the_interface() -> None:
    """Where no line leaves the block, what opens another one does."""
    text = "interface swp1\n ip address 10.0.0.0/31\n!\nvrf RED\n vni 4000\nvrf BLUE\n vni 4001\n"
    reading = FRR.read({FILE: text})
    assert reading.unknown == []
    assert reading.facts["evpn/vrf[BLUE]/vni"] == 4001
    assert "interface[swp1]/vrf" not in reading.facts


def test_an_interface_with_other_words_behind_its_name_is_none() -> None:
    reading = FRR.read({FILE: "interface swp1 vfr RED\n"})
    assert reading.unknown == [(FILE, 1, "interface swp1 vfr RED")]


def test_of_several_lines_about_several_things_none_is_lost() -> None:
    text = "interface swp1\n ipv6 nd prefix 2001:db8::/64\n ipv6 nd prefix 2001:db8:1::/64 off-link\nexit\n"
    facts = FRR.read({FILE: text + "interface swp2\n vrrp 5 version 3\n vrrp 5 priority 200\nexit\n"}).facts
    assert facts == {
        "interface[swp1]/setting[ipv6 nd prefix 2001:db8::/64]": "true",
        "interface[swp1]/setting[ipv6 nd prefix 2001:db8:1::/64]": "off-link",
        "interface[swp2]/setting[vrrp 5 version]": "3",
        "interface[swp2]/setting[vrrp 5 priority]": "200",
    }


def test_no_password_is_a_fact() -> None:
    assert "hidden" in TEXT
    assert not [path for path, value in READING.facts.items() if "hidden" in f"{path}{value}"]


def test_every_fact_is_declared_and_of_its_type() -> None:
    check_declared(READING.facts)


def check_declared(facts: dict[str, str | int]) -> None:
    rows = {path: vocabulary_of("frr").row(path) for path in facts}
    assert {path for path, row in rows.items() if not row.declared and not OF_SONIC.match(path)} == set()
    of_families = re.compile(r"(ipv[46]|transmit) .+|.+, .+")
    wrong = {
        (path, str(value), str(rows[path].type))
        for path, value in facts.items()
        if rows[path].declared
        and not fits_type(rows[path].type, value)
        and not of_families.fullmatch(str(value))
    }
    assert wrong == set()


def test_all_rows_compile() -> None:
    """Blocks compile at their first use: no two may be equal."""
    assert sum(compiled_blocks(reader.start) for reader in (*_file_readers().values(), IGNORABLE)) > 50


corpora = pytest.mark.skipif(not ROOT.is_dir(), reason="the shared corpora are not here")


@corpora
@pytest.mark.parametrize("source", SHARES)
def test_configurations_of_others_are_understood(source: str) -> None:
    statements = ignorable = unknown = 0
    for files in devices("frr", source).values():
        found, _ = measure_share("frr", files)
        statements, ignorable, unknown = (
            statements + found.statements, ignorable + found.ignorable, unknown + found.unknown,
        )  # fmt: skip
        check_declared(FRR.read(files).facts)
    assert statements > 20
    assert 100 * unknown / (statements - ignorable) <= SHARES[source]


@pytest.mark.slow
@corpora
def test_no_foreign_text_is_too_broken_to_read() -> None:
    """Cut at many places, and with words of other lines in the middle."""
    chosen = random.Random(7)
    for files in devices("frr").values():
        text = files[FILE]
        words = text.split() or ["x"]
        for _ in range(scale_examples(20)):
            at = chosen.randrange(len(text) + 1)
            garbled = text[at : at + 400].replace(chosen.choice(words), chosen.choice(words) + "\x00]")
            reading = FRR.read({FILE: text[:at] + garbled})
            assert reading.lines.keys() <= reading.facts.keys()


@pytest.mark.parametrize(
    ("port", "expected"), [("6514", [6514]), ("abc", []), ("-1", []), ("9" * 23, []), ("1.5", [])]
)
def test_a_log_server_over_tls_has_a_number_as_port(port: str, expected: list[int]) -> None:
    line = (
        f'*.* action(target="192.0.2.7" type="omfwd" port="{port}" protocol="tcp" StreamDriver="gtls" '
        'StreamDriverMode="1" StreamDriverAuthMode="x509/certvalid" StreamDriver.CAFile="/etc/ssl/certs/a.pem")\n'
    )
    reading = FRR.read({FILE: "hostname a\n", "rsyslog.conf": line})
    assert [value for path, value in reading.facts.items() if path.endswith("]/port")] == expected
    assert bool(reading.unknown) is not bool(expected)


@pytest.mark.parametrize(
    ("file", "text", "subject", "line"),
    [
        (FILE, "router bgp 1\n neighbor ISL remote-as 2\n neighbor 10.0.0.1 peer-group ISL\n", "neighbor ISL", 2),
        (FILE, "router bgp 1\n neighbor LSI peer-group\n neighbor 10.0.0.1 peer-group ISL\n neighbor ISL bfd\n",
         "neighbor ISL", 2),
        (FILE, "router bgp 1\n neighbor swp1 remote-as 2\n neighbor swp2 interface remote-as 2\n", "neighbor swp1", 2),
        (FILE, "router ospf\n no passive-interface swp1\n no passive-interface swp2\n", "no passive-interface swp1", 2),
        (FILE, "router bgp 1 vrf red\n address-family l2vpn evpn\n  advertise ipv4 unicast\n",
         "the announcement of VRF red", 3),
        (FILE, "vrf red\n vni 7\nrouter bgp 1\n neighbor 10.0.0.1 remote-as 2\n address-family l2vpn evpn\n"
         "  advertise-all-vni\n", "the announcement of VNIs", 5),
        ("interfaces", "auto lo\niface x9 inet loopback\n    address 192.0.2.1/32\n", "auto lo", 2),
        ("nftables.conf", "table inet a {\n chain a {\n  type filter hook output priority 0; policy accept;\n"
         "  tcp dport 22 drop\n }\n}\n", "the list of logins", 3),
        ("nftables.conf", "table inet a {\n chain a {\n  type filter hook input priority 0; policy reject;\n }\n}\n",
         "nftables.conf line 3", 3),
    ],
)  # fmt: skip
def test_what_frr_refuses_or_never_uses_is_stated(file: str, text: str, subject: str, line: int) -> None:
    reading = FRR.read({file: text})
    assert reading.lines.get(f"unread[{subject}]") == (file, line)
    assert len([path for path in reading.facts if path.startswith("unread[")]) == 1


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (FILE, "router ospf\n no passive-interface swp1\n"),
        (FILE, "router bgp 1\n neighbor swp1 interface\n neighbor swp1 peer-group PG\n neighbor PG peer-group\n"
         " bgp listen range 10.0.0.0/8 peer-group PG\nrouter bgp 1\n neighbor swp1 bfd\n"),
        ("interfaces", "auto lo\niface lo inet loopback\n    address 192.0.2.1/32\nauto eth0\niface eth0 inet dhcp\n"),
        ("nftables.conf", "include \"/etc/x.nft\"\ntable inet a {\n chain a {\n  tcp dport 22 drop\n }\n}\n"),
        ("nftables.conf", "table netdev a {\n chain a {\n  type filter hook ingress device eth0 priority 0;\n"
         "  tcp dport 22 drop\n }\n chain b {\n  log prefix \"by policy denied\" drop\n }\n}\n"),
    ],
)  # fmt: skip
def test_what_frr_and_nft_take_is_silent(file: str, text: str) -> None:
    assert not [path for path in FRR.read({file: text}).facts if path.startswith("unread[")]


def test_a_strange_word_is_compared_with_few_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def count(word: str, known: list[str], most: int, likeness: float) -> list[str]:
        compared.append(len(known))
        return get_close_matches(word, known, most, likeness)

    monkeypatch.setattr(unread_lines, "get_close_matches", count)
    reading = FRR.read({"frr.conf": "frr version 10.1\nquiescent zeppelins\nrouetr bgp 1\n"})
    assert [value for path, value in reading.facts.items() if path.startswith("unread[")] == [
        "the word rouetr is not known, router is"
    ]
    assert compared
    assert max(compared) < 30


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("nftables.conf", "ct state " + "new," * 10_000 + "!"),
        ("interfaces", "up " + "tc filter add dev a " * 3000),
    ],
)
def test_a_long_line_is_read_at_once(file: str, line: str) -> None:
    start = process_time()
    FRR.read({file: f"auto eth0\niface eth0\n  {line}\n  tcp dport 22 drop\n"})
    assert process_time() - start < 3


def test_an_exit_before_other_lines_of_bgp_is_stated() -> None:
    text = "router bgp 65001\n bgp router-id 10.0.0.1\nexit\n neighbor swp1 interface remote-as external\n"
    assert "unread[line 3]" in FRR.read({FILE: text}).facts
    assert "unread[line 3]" not in FRR.read({FILE: text.partition("exit")[0] + "exit\n"}).facts


@pytest.mark.parametrize(
    "block",
    [
        "bgp route-map delay-timer 1\nrouter bgp 65001\n bgp router-id 10.0.0.1",
        "router bgp 65001\n segment-routing srv6\n  locator A\n  encap-behavior H_Encaps\n exit\n coalesce-time 1",
        "router isis 1\n segment-routing srv6\n  node-msd\n   max-end-pop 3\n  exit\n exit\n is-type level-1",
        "router pim\n rp 10.9.0.1 224.0.0.0/4\nrouter pim6\n rp 2001:db8::1",
        "router bgp 65001\n address-family evpn\n  neighbor 10.0.0.1 activate\n  advertise-all-vni",
    ],
)
def test_every_line_of_a_block_is_read(block: str) -> None:
    reading = FRR.read({FILE: f"{block}\n"})
    assert not reading.unknown
    assert not any(path.startswith("unread[") for path in reading.facts)


def test_files_of_daemons_are_read_in_place_of_one() -> None:
    bgp = "router bgp 65001\n neighbor 10.1.0.1 remote-as 65002\n"
    files = {"zebra.conf": "interface swp1\n ip address 10.1.0.0/31\n", "bgpd.conf": bgp, "vtysh.conf": "!\n"}
    reading = FRR.read(files)
    assert reading.lines["bgp/neighbor[10.1.0.1]/remote_asn"] == ("bgpd.conf", 2)
    assert reading.facts["interface[swp1]/ipv4"] == "10.1.0.0/31"
    assert not reading.unknown


@pytest.mark.parametrize("line", ["network 10.1.0.0/24", "maximum-paths 8", "match ip address prefix-list X"])
def test_a_line_outside_of_its_block_is_not_read(line: str) -> None:
    facts = FRR.read({FILE: f"hostname one\n!\n{line}\nrouter bgp 65001\n bgp router-id 10.0.0.1\n"}).facts
    assert "stands outside of the block" in str(facts["unread[line 3]"])
    below = FRR.read({FILE: f"hostname one\nrouter rip\n {line}\n"}).facts
    assert "unread[line 3]" not in below
