"""Foreign fabrics on EOS: bridging, other routing, overlays, lists, classes of other releases."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fabricc.back.nos.eos import EOS, FILE
from fabricc.review.diff.fact_impact import vocabulary_of
from tests.audit import corpora
from tests.back.nos.test_vocabulary import fits_type
from tests.back.reading.compiled import compiled_blocks

HERE = Path(__file__).parent / "beyond"
TEXT = (HERE / "leaf.cfg").read_text("utf-8")
READING = EOS.read({FILE: TEXT})
MOST_UNKNOWN = {
    "aristanetworks-avd": 0.1,
    "aristanetworks-avd-features": 1,
    "batfish-lab-validation": 0.1,
    "batfish-networks": 0.1,
    "batfish-parser": 1,
    "raufarshad-ai-rocev2-lab": 1.5,
    "rbmacd-frey": 0.1,
}
"""Per cent of what is not aside."""


def read(text: str) -> dict[str, str | int]:
    reading = EOS.read({FILE: text})
    assert reading.unknown == []
    return reading.facts


def check_declared(facts: dict[str, str | int]) -> None:
    rows = {path: vocabulary_of("eos").row(path) for path in facts}
    assert {
        path for path, row in rows.items() if not row.declared and not path.startswith("unread[")
    } == set()
    named = {"management/ntp", "management/syslog"}
    wrong = {
        (path, str(value))
        for path, value in facts.items()
        if path not in named and not fits_type(rows[path].type, value)
    }
    assert wrong == set()


def test_every_line_of_a_foreign_leaf_has_its_facts() -> None:
    """The facts of a leaf of another design, each checked by hand against its line."""
    lines = TEXT.split("\n")
    output = {
        path: (READING.facts[path], lines[line - 1].strip()) for path, (_, line) in READING.lines.items()
    }
    expected = dict[str, str]()
    for row in (HERE / "leaf.facts").read_text("utf-8").splitlines():
        path, _, value = row.partition(" = ")
        expected[path] = value
    assert {path: str(value) for path, (value, _) in output.items()} == expected


def test_only_lines_about_the_system_itself_are_left() -> None:
    ignorable = EOS.ignorable({FILE: TEXT}, READING)
    assert [line for file, line, _ in READING.unknown if (file, line) not in ignorable] == []
    assert {text.split()[0] for _, _, text in READING.unknown} == {
        "idle-timeout",
        "ip",
        "ntp",
    }


def test_inherited_neighbor_settings_point_to_the_group_line() -> None:
    lines = TEXT.split("\n")
    _, at = READING.lines["bgp/neighbor[10.1.0.0]/export"]
    assert lines[at - 1].strip() == "neighbor SPINES route-map TO-SPINES out"
    _, at = READING.lines["vrf[RED]/bgp/neighbor[10.100.0.0]/remote_asn"]
    assert lines[at - 1].strip() == "neighbor SPINES remote-as 65100"


def test_no_key_and_no_password_is_a_fact() -> None:
    assert TEXT.count("0123456789") > 1
    assert [path for path, value in READING.facts.items() if "0123456789" in f"{path}{value}"] == []


def test_every_fact_is_declared_and_of_its_type() -> None:
    check_declared(READING.facts)


def test_all_rows_compile() -> None:
    """Blocks compile at their first use: no two may be equal."""
    assert EOS.ignorable_reader is not None
    assert compiled_blocks(EOS.reader.start) > 100
    assert compiled_blocks(EOS.ignorable_reader.start) > 100


def test_neighbors_do_not_inherit_settings_that_they_negate() -> None:
    group = (
        "router bgp 1\n   neighbor G peer group\n   neighbor G route-map OUT out\n   neighbor G remote-as 2\n"
    )
    one = group + "   neighbor 10.0.0.1 peer group G\n"
    assert read(one)["bgp/neighbor[10.0.0.1]/export"] == "OUT"
    assert "bgp/neighbor[10.0.0.1]/export" not in read(f"{one}   no neighbor 10.0.0.1 route-map OUT out\n")


def test_a_vlan_is_a_segment_where_bgp_speaks_of_it() -> None:
    vlan = "vlan 10\n   name A\ninterface Ethernet1\n   switchport access vlan 10\n"
    vxlan = f"{vlan}interface Vxlan1\n   vxlan vlan 10 vni 10010\n"
    assert read(vlan)["interface[Ethernet1]/access_vlan"] == 10
    assert read(vlan)["vlan[10]/name"] == "A"
    assert read(vxlan)["vxlan/vlan[10]/vni"] == 10010
    facts = read(f"{vxlan}router bgp 1\n   vlan 10\n      rd 1:1\n")
    assert facts["evpn/segment[10]/vni"] == 10010
    assert facts["evpn/segment[10]/name"] == "A"
    assert facts["evpn/port[Ethernet1]"] == 10


@pytest.mark.parametrize("word", ["backup-link Ethernet5", "backup interface Ethernet5"])
def test_a_backup_of_a_port_is_read(word: str) -> None:
    facts = read(f"interface Ethernet1\n   switchport {word} prefer vlan 10\n")
    assert any("backup" in path or "backup" in str(value) for path, value in facts.items())


def test_a_range_of_vlans_has_a_range_of_vnis() -> None:
    facts = read("interface Vxlan1\n   vxlan vlan 10-12 vni 20010-20012\n")
    assert [facts[f"vxlan/vlan[{vlan}]/vni"] for vlan in (10, 11, 12)] == [20010, 20011, 20012]


def test_a_route_from_another_instance_joins_it() -> None:
    text = "vrf instance OOB\ninterface Management1\n   vrf OOB\n   ip address 192.0.2.1/24\n"
    assert read(text)["management/isolated"] == "true"
    joined = EOS.read(
        {FILE: f"{text}router general\n   vrf RED\n      leak routes source-vrf OOB subscribe-policy X\n"}
    )
    assert joined.facts["management/isolated"] == "false"
    assert joined.lines["management/isolated"] == (FILE, 7)


@pytest.mark.parametrize("unit", ["segments", "milliseconds", "microseconds"])
def test_marking_in_other_units_than_bytes_is_marking(unit: str) -> None:
    limits = f"minimum-threshold 20 {unit} maximum-threshold 90 {unit} max-mark-probability 20 weight 0"
    lines = "qos profile R\n   uc-tx-queue 3\n      random-detect ecn " + limits
    facts = read(f"{lines}\n!\ninterface Ethernet1\n   no switchport\n   service-profile R\n")
    assert facts["interface[Ethernet1]/queue[3]/ecn"].startswith(f"from 20 {unit} to 90 {unit}")


@pytest.mark.parametrize("percent", ["", " max-mark-probability 20"])
@pytest.mark.parametrize("weight", ["", " weight 0", " weight 10"])
def test_marking_by_an_average_is_marking(percent: str, weight: str) -> None:
    thresholds = f"minimum-threshold 320 kbytes maximum-threshold 640 kbytes{percent}{weight}"
    lines = "qos profile R\n   uc-tx-queue 3\n      random-detect ecn " + thresholds
    facts = read(f"{lines}\n!\ninterface Ethernet1\n   no switchport\n   service-profile R\n")
    assert facts["interface[Ethernet1]/queue[3]/ecn_min_bytes"] == 320_000
    assert facts.get("interface[Ethernet1]/queue[3]/ecn_max_percent") == (20 if percent else None)
    averaged = facts.get("interface[Ethernet1]/qos_setting[queue 3 weight]")
    assert averaged == (10 if weight == " weight 10" else None)


there = pytest.mark.skipif(
    not (corpora.ROOT / "eos").is_dir(), reason="the configurations of others are not beside the checkout"
)


@there
@pytest.mark.parametrize("source", MOST_UNKNOWN)
@pytest.mark.spread
def test_configurations_of_others_are_understood(source: str) -> None:
    whole = corpora.Share()
    for files in corpora.devices("eos", source).values():
        whole = whole.plus(corpora.measure_share("eos", files)[0])
        check_declared(EOS.read(files).facts)
    assert whole.devices
    assert whole.percent <= MOST_UNKNOWN[source]


@pytest.mark.slow
@there
@pytest.mark.parametrize("often", [5, 20])
def test_no_text_of_others_is_too_broken_to_read(often: int) -> None:
    """Cut at so many places, with words of one line in place of others, and at another indentation."""
    chance = random.Random(19)
    for path, files in corpora.devices("eos").items():
        text = files[FILE]
        words = text.split() or ["x"]
        for _ in range(often if len(text) < 8_000 else often // 5):
            at = chance.randrange(len(text) + 1)
            rest = text[at : at + 600].replace(
                chance.choice(words), chance.choice([*words, "9" * 30, "\x00]"])
            )
            files = {FILE: text[:at] + chance.choice(["", "\n", "\n  ", "EOF\n"]) + rest}
            reading = EOS.read(files)
            assert reading.lines.keys() <= reading.facts.keys(), path
            EOS.ignorable(files, reading)


@pytest.mark.parametrize(
    ("rule", "permitted"),
    [
        ("permit tcp 192.0.2.0/24 any range ssh telnet", "192.0.2.0/24"),
        ("permit tcp 192.0.2.0 0.0.0.255 any eq ssh", "192.0.2.0/24"),
        ("permit ip host 192.0.2.7 any", "192.0.2.7/32"),
        ("permit tcp any any eq ssh", "any"),
        ("deny ip any any", ""),
    ],
)
def test_an_extended_list_permits_its_sources_to_log_in(rule: str, permitted: str) -> None:
    text = f"ip access-list SSH\n   10 {rule}\n!\nmanagement ssh\n   ip access-group SSH vrf MGMT in\n"
    assert read(text)["management/access"] == permitted
    both = text + "ip access-list standard SSH\n   5 permit 198.51.100.0/24\n"
    assert read(both)["management/access"] == ",".join(
        sorted({*filter(None, [permitted]), "198.51.100.0/24"})
    )
