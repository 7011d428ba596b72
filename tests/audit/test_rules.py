"""Each kind of finding by a text that shows it: two or more devices of a few lines, read as any system's files are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.links import links_of
from fabricc.audit.model import FoundFabric
from fabricc.audit.places import places_of
from fabricc.audit.rules import find_all
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.fabric.facts import Reading
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, Kind, Place, Tier, read_statement
from fabricc.rules.duplicates import report_repeated, unique_values_of
from tests.audit import ours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Facts
    from fabricc.proof.compare import Finding


def make_device(name: str, facts: Facts, system: str = "eos") -> Device:
    """A switch that states these facts, each on a line of its own."""
    lines = {path: ("config", number) for number, path in enumerate(facts, 1)}
    text = "\n".join(f"{path} {value}" for path, value in facts.items())
    return Device(
        name, Kind.SWITCH, system, {"config": text}, {"config": name}, Contents(Reading(dict(facts), lines))
    )


def make_folder(*devices: Device) -> FoundFabric:
    """Return the devices with the links and places from their facts."""
    every = {each.name: each for each in devices}
    links = links_of(every)
    return ours.join_fabric(every, links, places_of(every, links))


def find_all_in(*devices: Device) -> list[Finding]:
    return find_all(make_folder(*devices))


def one(found: list[Finding], code: str) -> Finding:
    only = [each for each in found if each.code == code and each.severity is not Severity.NOTE]
    assert len(only) == 1, found
    return only[0]


def link_end(number: int, other: str, more: Mapping[str, str | int] | None = None) -> Facts:
    """One end of a link of two, with a session."""
    port = "interface[Ethernet1]/"
    facts: Facts = {
        "bgp/asn": 65000 + number, "bgp/router_id": f"10.9.9.{number}", f"{port}ipv4": f"10.0.0.{number}/31",
        f"{port}mtu": 9214, f"{port}description": f"{other} Ethernet1",
        f"bgp/neighbor[10.0.0.{1 - number}]/remote_asn": 65001 - number,
        f"bgp/neighbor[10.0.0.{1 - number}]/families": "ipv4",
    }  # fmt: skip
    return {**facts, **(more or {})}


def compare_pair(
    mine: Mapping[str, str | int], theirs: Mapping[str, str | int] | None = None
) -> list[Finding]:
    """Return the findings about two switches with a link of which one states something more."""
    return find_all_in(
        make_device("leaf", link_end(0, "spine", mine)), make_device("spine", link_end(1, "leaf", theirs))
    )


def test_a_sound_link_is_not_reported() -> None:
    assert [each for each in compare_pair({}) if each.severity is not Severity.NOTE] == []


def test_mtu() -> None:
    found = one(compare_pair({"interface[Ethernet1]/mtu": 1500}), "FAB9600")
    assert (found.file, found.line, found.severity) == ("leaf", 4, Severity.ERROR)
    assert "1500" in found.message
    assert "9214" in found.message


def test_pfc_at_one_end() -> None:
    lossless = {
        "interface[Ethernet1]/pfc": "3",
        "interface[Ethernet1]/watchdog": "true",
        "qos/dscp[26]/traffic_class": 3,
    }
    marked = {"interface[Ethernet1]/queue[3]/ecn_min_bytes": 1000, "interface[Ethernet1]/queue[3]/ecn_max_bytes": 2000,
              "interface[Ethernet1]/queue[3]/ecn_max_percent": 10}  # fmt: skip
    found = compare_pair({**lossless, **marked}, {"qos/dscp[26]/traffic_class": 3})
    assert one(found, "FAB9600").file == "spine"
    assert not [each for each in found if each.code == "FAB9606"]


@pytest.mark.parametrize(("meters", "reported"), [(4, True), (30, False), (40, False)])
def test_headroom_for_a_short_cable(meters: int, reported: bool) -> None:
    lossless = {"interface[Ethernet1]/pfc": "3", "interface[Ethernet1]/watchdog": "true"}
    cables: list[dict[str, str | int]] = [
        {**lossless, "interface[Ethernet1]/headroom/cable_m": each} for each in (meters, 40)
    ]
    found = [each for each in compare_pair(*cables) if "meters of cable" in each.message]
    assert [(each.code, each.file) for each in found] == [("FAB9600", "leaf")] * reported


def test_a_lone_bare_port_of_four_switches() -> None:
    every = []
    for number in range(4):
        facts: Facts = {"bgp/asn": 65000 + number}
        for port in range(1, 9):
            start = f"interface[Ethernet{port}]/"
            facts |= {f"{start}ipv4": f"10.{number}.{port}.0/31", f"{start}speed_gbps": 400}
            if (number, port) != (0, 5):
                facts |= {f"{start}pfc": "3", f"{start}headroom/cable_m": 5}
        every.append(make_device(f"leaf{number}", facts))
    found = [each for each in find_all_in(*every) if each.code == "FAB9610" and "pfc" in each.message]
    assert ["leaf0 Ethernet5" in each.message for each in found] == [True]


def test_a_prefix_longer_than_an_address() -> None:
    text = "ip prefix-list OWN\n   seq 10 permit 10.0.0.0/310\n"
    reading = back_ends.load("eos").read({"running-config.cfg": text})
    assert reading.lines["unread[10.0.0.0/310]"] == ("running-config.cfg", 2)


def test_no_watchdog_and_no_marking() -> None:
    lossless = {"interface[Ethernet1]/pfc": "3", "qos/dscp[26]/traffic_class": 3}
    found = [each for each in compare_pair(lossless, lossless) if each.code == "FAB9606"]
    assert {(each.group, each.file) for each in found} == {
        (group, file) for group in ("no watchdog", "no ECN") for file in ("leaf", "spine")
    }


def test_pauses_for_all_traffic() -> None:
    both = {"interface[Ethernet1]/pfc": "3", "interface[Ethernet1]/flow_control": "both"}
    assert one(compare_pair(both, {"interface[Ethernet1]/pfc": "3"}), "FAB9608").file == "leaf"


def test_pfc_for_a_class_that_nothing_is_mapped_to() -> None:
    lossless: Facts = {"interface[Ethernet1]/pfc": "4", "qos/dscp[26]/traffic_class": 3}
    found = [each for each in compare_pair(lossless, lossless) if each.code == "FAB9607"]
    assert {each.file for each in found} == {"leaf", "spine"}


def test_a_host_whose_code_point_of_rdma_is_sent_without_pfc() -> None:
    """Each place where a host states it counts, by the map of the host itself."""
    facts: Facts = {
        "interface[rail0]/pfc": "3", "qos/dscp[26]/priority": 3, "qos/dscp[34]/priority": 0, "qos/rdma_dscp": 26,
        "nccl/dscp": 34,
    }  # fmt: skip
    host = replace(make_device("host01", facts, "host"), kind=Kind.HOST)
    found = one(find_all_in(host), "FAB9607")
    assert (found.file, found.line, found.severity) == ("host01", 5, Severity.ERROR)
    assert "RDMA of NCCL (DSCP 34) is in priority 0" in found.message
    for sound in ({"nccl/dscp": 26}, {"interface[rail0]/pfc": ""}, {"qos/dscp[34]/priority": 3}):
        assert not [each for each in find_all_in(replace(make_device("host01", facts | sound, "host"), kind=Kind.HOST))
                    if each.code == "FAB9607"]  # fmt: skip


def test_remote_as() -> None:
    found = [
        each for each in compare_pair({"bgp/neighbor[10.0.0.1]/remote_asn": 65009}) if each.code == "FAB9601"
    ]
    assert {each.file for each in found} == {"leaf", "spine"}  # either number may be the wrong one
    assert ("leaf", 6) in {(each.file, each.line) for each in found}


def test_own_as_is_reported_where_all_neighbors_name_another() -> None:
    leaves = []
    spine: Facts = {"bgp/asn": 65500, "bgp/router_id": "10.9.9.9"}
    for number in range(3):
        port, near, far = f"interface[Ethernet{number}]/", f"10.0.{number}.0", f"10.0.{number}.1"
        spine |= {f"{port}ipv4": f"{near}/31", f"bgp/neighbor[{far}]/remote_asn": 65000 + number}
        leaves.append(make_device(f"leaf{number}", {
            "bgp/asn": 65000 + number, "bgp/router_id": f"10.9.9.{number}", "interface[Ethernet1]/ipv4": f"{far}/31",
            f"bgp/neighbor[{near}]/remote_asn": 65501,
        }))  # fmt: skip
    found = one(find_all_in(make_device("spine", spine), *leaves), "FAB9601")
    assert (found.file, found.line) == ("spine", 1)
    assert "leaf0, leaf1 and 1 more" in found.message


def test_a_session_at_one_end() -> None:
    facts = {path: value for path, value in link_end(0, "spine").items() if "neighbor" not in path}
    found = one(find_all_in(make_device("leaf", facts), make_device("spine", link_end(1, "leaf"))), "FAB9601")
    assert found.file == "leaf"
    assert "no session with spine" in found.message


def test_a_session_that_the_far_end_takes_from_a_range() -> None:
    facts = {path: value for path, value in link_end(0, "spine").items() if "neighbor" not in path}
    found = find_all_in(
        make_device("leaf", {**facts, "bgp/listen[10.0.0.0/24]": "SPINES"}),
        make_device("spine", link_end(1, "leaf")),
    )
    assert [each for each in found if each.code == "FAB9601"] == []


def test_a_neighbor_that_several_devices_could_be() -> None:
    """Two fabrics with the same addresses in one folder: the end of the link has the address that is named."""
    facts: Facts = {path: value for path, value in link_end(1, "leaf").items() if "bgp" not in path}
    found = find_all_in(
        make_device("leaf", link_end(0, "spine")), make_device("spine", facts), make_device("other", facts)
    )
    assert [each for each in found if each.code == "FAB9601"] == []


def test_bfd_timers_and_password_at_one_end() -> None:
    near = "bgp/neighbor[10.0.0.1]/"
    found = [
        each
        for each in compare_pair({f"{near}bfd": "true", f"{near}password": "[set]"})
        if each.code == "FAB9601"
    ]
    assert {each.group for each in found} == {"session BFD", "session password"}


def test_no_common_subnet() -> None:
    found = [e for e in compare_pair({"interface[Ethernet1]/ipv4": "10.0.0.2/31"}) if e.code == "FAB9602"]
    assert {each.file for each in found} == {"leaf", "spine"}


def test_vlans_of_a_trunk() -> None:
    trunk = {"interface[Ethernet1]/switchport": "trunk", "interface[Ethernet1]/vlans": "10,20"}
    found = one(compare_pair(trunk, {**trunk, "interface[Ethernet1]/vlans": "10"}), "FAB9603")
    assert "VLANs 10" in found.message


def test_an_address_twice_and_a_loopback_of_several() -> None:
    shared = {"interface[Loopback1]/ipv4": "10.1.1.1/32", "interface[Vlan10]/ipv4": "10.2.0.1/24"}
    assert [each for each in compare_pair(shared, shared) if each.code == "FAB9604"] == []
    twice = {"interface[Ethernet9]/ipv4": "10.3.0.1/24"}
    found = [each for each in compare_pair(twice, twice) if each.code == "FAB9604"]
    assert {each.file for each in found} == {"leaf", "spine"}


def test_a_name_without_a_definition() -> None:
    near = "bgp/neighbor[10.0.0.1]/"
    found = one(compare_pair({f"{near}import": "NOWHERE"}), "FAB9605")
    assert (found.file, found.line) == ("leaf", 8)
    defined = {f"{near}import": "SOME", "route_map[SOME]/10": "permit"}
    assert [each for each in compare_pair(defined) if each.code == "FAB9605"] == []


def test_a_name_that_is_an_address_is_defined_by_its_own_device_alone() -> None:
    """Definitions shared by similar devices are computed once, and the same address belongs to each device
    separately.
    """
    near, far = "bgp/neighbor[10.0.0.1]/prefix_list_in", "bgp/neighbor[10.0.0.0]/prefix_list_in"
    mine, other = {"prefix_list[10.7.0.0/16]/0": "10.7.0.0/16"}, {"prefix_list[10.8.0.0/16]/0": "10.8.0.0/16"}
    found = one(compare_pair({**mine, near: "10.7.0.0/16"}, {**other, far: "10.7.0.0/16"}), "FAB9605")
    assert found.file == "spine"
    found = one(compare_pair({**other, near: "10.7.0.0/16"}, {**mine, far: "10.7.0.0/16"}), "FAB9605")
    assert found.file == "leaf"


def test_a_description_that_names_another_port() -> None:
    odd = make_device("leaf", link_end(0, "spine", {"interface[Ethernet1]/description": "spine Ethernet7"}))
    found = one(
        find_all_in(odd, make_device("spine", link_end(1, "leaf", {"interface[Ethernet7]/mtu": 9214}))),
        "FAB9609",
    )
    assert "spine Ethernet7" in found.message


def test_designs_are_notes() -> None:
    found = compare_pair({"ospf[1]/router_id": "1.1.1.1", "vxlan/source": "Loopback1"})
    assert [each.severity for each in found if each.code == "FAB9611"] == [Severity.NOTE, Severity.NOTE]


def find_outlier(odd: int, size: int = 6) -> list[Finding]:
    every = {}
    for number in range(size):
        value = odd if number == 0 else 3
        every[f"leaf{number}"] = make_device(
            f"leaf{number}", {"qos/dscp[26]/traffic_class": value, "bgp/asn": 65000 + number}
        )
    return find_all(make_folder(*every.values()))


def test_an_outlier_and_its_peers() -> None:
    found = one(find_outlier(0), "FAB9610")
    assert (found.file, found.line) == ("leaf0", 1)
    assert "0 here, 3 on 5" in found.message
    assert one(find_outlier(0, 4), "FAB9610").file == "leaf0"
    assert [each for each in find_outlier(0, 3) if each.code == "FAB9610"] == []


def test_a_missing_setting_is_found_beside_a_line_with_a_fault() -> None:
    """Its place is the line next to which the others have it, whose own fault is another one."""
    every = [
        make_device(f"leaf{number}", {"bgp/asn": 2, "platform/load_balance": "per-packet"})
        for number in range(6)
    ]
    without = make_device("leaf0", {"bgp/asn": 2})
    found = find_all(make_folder(without, *every[1:]))
    missing = one([each for each in found if "load balance" in each.message], "FAB9610")
    assert any(
        (each.file, each.line) == (missing.file, missing.line) for each in found if each.code != "FAB9610"
    )


@pytest.mark.parametrize("areas", [1, 3])
def test_a_gateway_next_to_spines_is_not_compared_with_them(areas: int) -> None:
    """It states nothing in several areas of theirs; a switch that lost one area is compared."""
    lost: Facts = {"bfd/interval_ms": 300, "qos/trust": "dscp", "platform/load_balance": "per-packet"}
    peers = [make_device(f"leaf{number}", {"bgp/asn": 2, **lost}) for number in range(1, 6)]
    own: Facts = {"bgp/asn": 2, **dict([*lost.items()][areas:])}
    found = find_all(make_folder(make_device("leaf0", own), *peers))
    assert [each.code for each in found].count("FAB9610") == (areas == 1)


def test_bfd_is_late_only_where_a_hold_time_ends() -> None:
    for hold_s, found in ((0, False), (3, True), (9, False)):
        facts: Facts = {"bgp/asn": 65001, "bfd/interval_ms": 1000, "bfd/multiplier": 3, "bgp/hold_s": hold_s}
        messages = [each.message for each in find_all(make_folder(make_device("leaf0", facts)))]
        assert any("BFD detects after 3000 ms" in each for each in messages) is found


def open_port(number: int, more: Mapping[str, str | int] | None = None) -> Facts:
    """A lossless port to a host that the folder does not hold."""
    port = f"interface[Ethernet{number}]/"
    facts: Facts = {
        f"{port}description": f"node{number}", f"{port}unnumbered": "true", f"{port}mtu": 9100,
        f"{port}speed_gbps": 400, f"{port}pfc": "3", f"{port}watchdog": "true", f"{port}queue[3]/ecn_min_bytes": 1000,
        f"{port}headroom/cable_m": 5,
        **(more or {}),
    }  # fmt: skip
    return {path: value for path, value in facts.items() if value != ""}


def test_few_ports_of_few_devices_are_compared_together() -> None:
    """Of two switches with three ports to hosts each, neither the switches nor the ports of one are a majority."""
    odd: Facts
    for odd, word in (
        ({"interface[Ethernet3]/mtu": 8000}, "mtu: 8000 here"),
        ({"interface[Ethernet3]/pfc": "", "interface[Ethernet3]/watchdog": ""}, "pfc: nothing here"),
    ):
        sound: Facts = {**open_port(1), **open_port(2), **open_port(3)}
        spoiled: Facts = {**open_port(1), **open_port(2), **open_port(3, odd)}
        assert [
            e for e in find_all_in(make_device("a", sound), make_device("b", sound)) if e.code == "FAB9610"
        ] == []
        found = [
            e for e in find_all_in(make_device("a", spoiled), make_device("b", sound)) if e.code == "FAB9610"
        ]
        assert any(f"a Ethernet3: {word}" in each.message for each in found), found
        assert {each.file for each in found} == {"a"}


def test_a_port_that_lost_its_headroom_with_its_pfc() -> None:
    port = "interface[Ethernet2]/"
    lost = dict.fromkeys((f"{port}{leaf}" for leaf in ("pfc", "watchdog", "headroom/cable_m")), "")
    sound = {**open_port(1), **open_port(2)}
    peers = [make_device(f"leaf{number}", sound) for number in range(5)]
    assert [e for e in find_all_in(*peers) if e.code == "FAB9610"] == []
    found = [
        e
        for e in find_all_in(*peers, make_device("odd", {**open_port(1), **open_port(2, lost)}))
        if e.code == "FAB9610"
    ]
    assert ["odd Ethernet2: pfc: nothing here, 3 on 6 switches" in each.message for each in found] == [
        True
    ], found
    assert {each.file for each in found} == {"odd"}


def test_few_devices_that_differ_by_design_are_not_reported() -> None:
    small = open_port(1, {"interface[Ethernet1]/mtu": 1500})
    large: Facts = {path: value for number in range(1, 6) for path, value in open_port(number).items()}
    assert [
        e for e in find_all_in(make_device("a", small), make_device("b", large)) if e.code == "FAB9610"
    ] == []


def test_nothing_raises_on_odd_values() -> None:
    odd = {
        "interface[Ethernet1]/ipv4": "nonsense", "interface[Ethernet1]/pfc": "x,y", "bgp/asn": "one",
        "bgp/neighbor[what]/remote_asn": "two", "route_map[/5": "permit", "bgp/listen[x/y]": "z",
        "interface[Ethernet1]/secondary[300.1.1.1/99]": "x", "qos/dscp[26]/traffic_class": "three",
    }  # fmt: skip
    find_all_in(make_device("a", odd), make_device("b", {**odd, "bgp/neighbor[300.1.1.1]/remote_asn": 1}))
    first = make_device("a", odd)
    find_all(FoundFabric({}, (), {}))
    find_all_in(replace(first, files={}, paths={}))


def test_a_watchdog_on_ports_of_no_known_speed_is_held_against_no_pause() -> None:
    """The longest legal pause depends on the speed, which a configuration need not state."""
    guarded = {
        "interface[Ethernet1]/pfc": "3",
        "interface[Ethernet1]/watchdog": "true",
        "watchdog/detect_ms": 100,
    }
    assert not [each for each in compare_pair(guarded, guarded) if "legal pause" in each.message]
    slow = {**guarded, "interface[Ethernet1]/speed_gbps": 1, "watchdog/detect_ms": 10}
    assert [
        each
        for each in compare_pair(slow, slow)
        if "a legal pause lasts up to 33.55 ms at 1G" in each.message
    ]


def test_the_ends_of_a_session_are_of_one_family() -> None:
    """Two devices with a session of IPv4 and one of IPv6 on a link: neither is the other end of the other."""

    def both(number: int) -> Facts:
        other = 3 - number
        port = "interface[Ethernet1]/"
        sessions = {f"10.0.0.{other}": "ipv4", f"fd00::{other}": "ipv6"}
        return {
            "bgp/asn": 65000, f"{port}ipv4": f"10.0.0.{number}/24", f"{port}ipv6": f"fd00::{number}/64",
            **{f"bgp/neighbor[{each}]/remote_asn": 65000 for each in sessions},
            **{f"bgp/neighbor[{each}]/families": family for each, family in sessions.items()},
        }  # fmt: skip

    one, two = both(1), both(2)
    assert not [
        each
        for each in find_all_in(make_device("one", one), make_device("two", two))
        if each.code == "FAB9601"
    ]
    two["bgp/neighbor[fd00::1]/families"] = "ipv4"
    found = [
        each
        for each in find_all_in(make_device("one", one), make_device("two", two))
        if each.code == "FAB9601"
    ]
    assert ["two: neighbor fd00::1: carries no ipv6" in each.message for each in found] == [True]


def test_bridged_lossless_ports_are_reported_once_a_switch() -> None:
    """32 ports of one design give one finding, with a remedy about ports."""
    ports = {
        f"interface[Ethernet{n}]/{leaf}": value
        for n in range(2, 6)
        for leaf, value in (("pfc", "3"), ("switchport", "access"), ("routed", "false"))
    }
    found = one(compare_pair(ports), "FAB6211")
    assert found.message.startswith("leaf: Ethernet2, Ethernet3 and 2 more")
    assert "Route" in found.help
    assert "announcement" not in found.help


def test_an_outlier_is_reported_in_words_and_not_by_a_path() -> None:
    paths = {"qos/priority[3]/traffic_class": 3, "qos/dscp[26]/traffic_class": 3}
    alike = [make_device(f"leaf{n}", {"qos/dscp[26]/traffic_class": 3}) for n in range(6)]
    found = one(find_all_in(*alike, make_device("odd", paths)), "FAB9610")
    assert found.message == "odd qos priority 3 traffic class: 3 here, nothing on 6 switches"


def test_an_empty_value_is_reported_in_a_word() -> None:
    alike = [make_device(f"leaf{n}", {"qos/pfc": ""}) for n in range(6)]
    found = one(find_all_in(*alike, make_device("odd", {"qos/pfc": "3"})), "FAB9610")
    assert found.message == "odd qos pfc: 3 here, none on 6 switches"


def test_switches_without_a_known_link_are_reported_once() -> None:
    """No link means that nothing of tiers, ends and paths was compared: silence would look like praise."""
    alone = [
        make_device(f"leaf{n}", {"bgp/asn": 65000 + n, "bgp/router_id": f"10.9.9.{n}"}) for n in range(3)
    ]
    (found,) = [each for each in find_all_in(*alone) if each.code == "FAB9511"]
    assert found.severity is Severity.NOTE
    assert found.message.startswith("no link of 3 of 3 switches is known")
    assert "LLDP" in found.help or "lldp" in found.help
    assert [each for each in compare_pair({}) if each.code == "FAB9511"] == []
    assert [each for each in find_all_in(alone[0]) if each.code == "FAB9511"] == [], (
        "one switch may be all there is"
    )


def test_a_fabric_without_a_lossless_class_is_reported() -> None:
    (found,) = [each for each in compare_pair({}) if each.code == "FAB9621"]
    assert (found.severity, found.message.partition(":")[0]) == (
        Severity.NOTE, "no port of 2 switches has PFC"
    )  # fmt: skip
    assert [each for each in compare_pair({"interface[Ethernet1]/pfc": "3"}) if each.code == "FAB9621"] == []


def test_ports_may_borrow_the_address_of_a_loopback() -> None:
    mine, theirs = {"interface[Ethernet1]/ipv4": "10.7.0.1/32"}, {"interface[Ethernet1]/ipv4": "10.7.0.2/32"}
    assert [each for each in compare_pair(mine, theirs) if each.code == "FAB9602"] == []


def test_addresses_of_the_host_itself_stand_everywhere() -> None:
    mine = {"loopback/ipv4": "127.0.0.1/8", "loopback/ipv6": "::1/128"}
    assert [each for each in compare_pair(mine, mine) if each.code == "FAB9604"] == []


def test_vlans_are_compared_in_any_order() -> None:
    trunk = {"interface[Ethernet1]/switchport": "trunk"}
    mine = {**trunk, "interface[Ethernet1]/vlans": "70,31-33"}
    theirs = {**trunk, "interface[Ethernet1]/vlans": "31-33,70"}
    assert [each for each in compare_pair(mine, theirs) if each.code == "FAB9603"] == []


def test_a_member_bridges_as_its_bundle_does() -> None:
    mine: dict[str, str | int] = {
        "interface[Ethernet1]/bundle": "Port-Channel1", "interface[Ethernet1]/switchport": "access",
        "interface[Port-Channel1]/switchport": "trunk",
    }  # fmt: skip
    theirs = {**mine, "interface[Ethernet1]/switchport": "trunk"}
    assert [each for each in compare_pair(mine, theirs) if each.code == "FAB9603"] == []


def test_a_few_hops_for_one_group_are_no_matter_of_the_others() -> None:
    text = (
        "router bgp 65001\n   neighbor WAN peer group\n   neighbor WAN remote-as 65002\n"
        "   neighbor WAN ttl maximum-hops 1\n   neighbor 10.1.0.1 peer group WAN\n"
        "   neighbor 10.2.0.1 remote-as 65003\n"
    )
    reading = ours.switch_device("edge", "eos", {"running-config.cfg": text}).reading
    assert "bgp/ttl_security" not in reading.facts
    assert reading.facts["bgp/neighbor[10.1.0.1]/maximum_hops"] == 1


def _overlay_end(number: int, more: Facts | None = None) -> Device:
    """One end of a link below an IGP, with an EVPN session between loopbacks within an AS."""
    other = f"10.9.9.{1 - number}"
    facts = {
        **link_end(number, f"leaf{1 - number}"),
        "loopback/ipv4": f"10.9.9.{number}/32",
        "interface[Ethernet1]/ospf[1]/area": "0.0.0.0",
        f"bgp/neighbor[{other}]/remote_asn": 65100,
        f"bgp/neighbor[{other}]/families": "evpn",
        f"bgp/neighbor[{other}]/update_source": "Loopback0",
        f"bgp/neighbor[{other}]/setting[send-community]": "extended",
        "bgp/asn": 65100,
    }
    plain = {path: value for path, value in facts.items() if "neighbor[10.0.0." not in path}
    return make_device(f"leaf{number}", {**plain, **(more or {})})


def test_a_session_with_an_address_of_the_switch_itself_is_an_error() -> None:
    assert "FAB9679" not in {each.code for each in find_all_in(_overlay_end(0), _overlay_end(1))}
    found = [
        each
        for each in find_all_in(_overlay_end(0), _overlay_end(1, {"loopback/ipv4": "10.9.9.0/32"}))
        if each.code == "FAB9679"
    ]
    assert {(each.file, each.line) for each in found} == {("leaf1", 6), ("leaf1", 8)}
    in_vrf = {"interface[Vlan7]/ipv4": "10.9.9.0/24", "interface[Vlan7]/vrf": "RED"}
    assert "FAB9679" not in {each.code for each in find_all_in(_overlay_end(0), _overlay_end(1, in_vrf))}


def test_an_overlay_within_an_as_needs_routes_and_links_without_filters() -> None:
    denies: Facts = {"evpn/neighbor[10.9.9.0]/import": "NONE", "route_map[NONE]/10": "deny"}
    assert "permits none" in one(find_all_in(_overlay_end(0), _overlay_end(1, denies)), "FAB9664").message
    decided: Facts = {
        **denies,
        "route_map[NONE]/10": "permit",
        "bgp/neighbor[10.9.9.0]/import": "NOTHING",
        "route_map[NOTHING]/10": "deny",
    }
    assert "FAB9664" not in {each.code for each in find_all_in(_overlay_end(0), _overlay_end(1, decided))}
    dropped: Facts = {
        "interface[Ethernet1]/access_list_in": "F1",
        "access_list[F1]/10": "deny tcp any any eq bgp",
        "access_list[F1]/20": "permit ip any any",
    }
    assert "drops BGP" in one(find_all_in(_overlay_end(0), _overlay_end(1, dropped)), "FAB9662").message


def test_one_address_on_two_ports_overlaps() -> None:
    again: Facts = {"interface[Ethernet2]/ipv4": "10.0.0.1/31"}
    found = [each for each in find_all_in(_overlay_end(0), _overlay_end(1, again)) if each.code == "FAB9681"]
    assert {each.message.split(",")[0] for each in found} == {
        "leaf1 Ethernet1 has 10.0.0.1/31", "leaf1 Ethernet2 has 10.0.0.1/31",
    }  # fmt: skip


def test_a_link_that_two_other_switches_have_too_is_a_warning() -> None:
    names = ("a", "b", "c", "d")
    facts: dict[str, Facts] = {
        name: {"interface[Ethernet1]/ipv4": f"10.0.0.{number % 2}/31"} for number, name in enumerate(names)
    }
    devices = {name: make_device(name, facts[name]) for name in names}

    def severities(chosen: str) -> set[Severity]:
        owned = {
            name: unique_values_of(read_statement(devices[name], Place(Tier.TOR), {})) for name in chosen
        }
        groups = dict.fromkeys(names, "one")
        return {each.severity for each in report_repeated(owned, devices, groups)}

    assert severities("abcd") == {Severity.WARNING}
    assert severities("abc") == {Severity.ERROR}


_LONE = {"bgp/asn": 65000, "loopback/ipv4": "10.9.9.1/32", "interface[Ethernet1]/ipv4": "10.0.0.0/31"}
_PEER = {"bgp/neighbor[10.0.0.1]/remote_asn": 65001}


@pytest.mark.parametrize(
    ("code", "line", "more"),
    [
        ("FAB9695", 5, {**_PEER, "bgp/network[198.51.100.7/32]": "true"}),
        ("FAB9681", 4, {"interface[Ethernet2]/ipv4": "192.0.2.9/24", "management/address": "192.0.2.5/24"}),
        ("FAB9675", 5, {**_PEER, "interface[Ethernet1]/enabled": "false"}),
    ],
    ids=[
        "a network of nobody",
        "the network of management",
        "a shut port of a session",
    ],
)
def test_a_fault_that_one_switch_shows(code: str, line: int, more: Facts) -> None:
    assert one(find_all_in(make_device("leaf", {**_LONE, **more})), code).line == line


@pytest.mark.parametrize("hop", ["Management1", "192.0.2.1"])
def test_a_route_by_the_management_port_to_a_loopback(hop: str) -> None:
    more = {"static_route[10.9.9.2/32]": hop, "management/address": "192.0.2.5/24"}
    other = make_device("spine", {"bgp/asn": 65001, "loopback/ipv4": "10.9.9.2/32"})
    found = one(find_all_in(make_device("leaf", {**_LONE, **more}), other), "FAB9660")
    assert (found.file, found.line) == ("leaf", 4)


def test_one_address_of_two_bundles() -> None:
    ports = {f"interface[Port-Channel{each}]/ipv4": "10.0.4.0/31" for each in (1, 2)}
    found = find_all_in(make_device("leaf", ports))
    assert [each.line for each in found if each.code == "FAB9681"] == [1, 2]


def test_an_undefined_map_of_two_families_is_not_its_own_definition() -> None:
    near = "bgp/neighbor[10.0.0.1]/"
    device = make_device("leaf", link_end(0, "spine", {f"{near}import": "NOWHERE"}))
    text = device.files["config"]
    device = replace(device, files={"config": f"{text}\n{text.rpartition(chr(10))[2]}"})
    found = find_all_in(device, make_device("spine", link_end(1, "leaf")))
    assert one(found, "FAB9605").line == 8


def test_a_list_against_roce_on_a_link_of_switches_without_pfc() -> None:
    rule = {"access_list[F]/10": "deny udp any any eq 4791", "access_list[F]/20": "permit ip any any"}
    assert one(compare_pair({**rule, "interface[Ethernet1]/access_list_in": "F"}), "FAB9662").line == 8


_LOCATOR = {"srv6/locator[MAIN]/prefix": "fc00:0:20::/48", "srv6/locator[MAIN]": "present"}


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (5, {"srv6/sid[fc00:0:20::/48]": "locator MAIM behavior uN"}),
        (5, {"srv6/sid[fc00:0:21::/48]": "locator MAIN behavior uN"}),
        (5, {"srv6/sid[fc00:0:f0::/48]": "locator MAIN behavior uA interface Ethernet1 nexthop fd00::9"}),
        (5, {"srv6/source": "fd00::7"}),
    ],
    ids=["no locator", "another prefix", "another subnet", "another source"],
)
def test_an_identifier_that_leads_nowhere(line: int, more: Facts) -> None:
    port = {"interface[Ethernet1]/ipv6": "fd00:1::1/64", "bgp/asn": 65000}
    found = find_all_in(make_device("leaf", {**_LOCATOR, **port, **more}))
    assert line in [each.line for each in found if each.code == "FAB9683"]


def test_the_prefix_of_a_locator_on_two_switches() -> None:
    found = compare_pair(_LOCATOR, _LOCATOR)
    assert [each.line for each in found if each.code == "FAB9604"] == [8, 8]


def test_a_static_route_with_fewer_next_hops_than_similar_ones() -> None:
    routes = {f"static_route[10.{each}.0.0/24]": "10.0.0.1,10.0.0.3,10.0.0.5" for each in range(4)}
    more = {**routes, "static_route[10.9.0.0/24]": "10.0.0.1,10.0.0.3"}
    found = find_all_in(make_device("leaf", more))
    assert [each.line for each in found if "next hops for" in each.message] == [5]


def test_an_undefined_list_among_others_stands_on_a_line_of_its_own() -> None:
    names = "interface[Ethernet1]/access_list_in"
    more = {names: "A,B,C,NOWHERE", **{f"access_list[{each}]/10": "permit ip any any" for each in "ABC"}}
    device = make_device("leaf", {**_LONE, **more})
    text = device.files["config"].replace("A,B,C,NOWHERE", "A") + "\n" * 5 + "NOWHERE"
    device = replace(device, files={"config": text})
    assert one(find_all_in(device), "FAB9605").line == 12


@pytest.mark.parametrize(
    ("system", "path", "value"),
    [
        ("frr", "unread[frr.conf for bgpd]", "daemons does not start bgpd"),
        ("nxos", "unread[bgp]", "feature bgp is not stated"),
        ("sonic", "unread[frr.conf for vtysh]", "FEATURE|bgp state is disabled"),
        ("cumulus", "unread[vrf/default/router/bgp]", "BGP is not on"),
        ("eos", "bgp/setting[shutdown]", "on"),
    ],
)
def test_bgp_that_does_not_run_is_an_error(system: str, path: str, value: str) -> None:
    """What has no effect for the same reason is not reported again."""
    stopped = {**link_end(0, "spine1"), path: value, "unread[frr.conf for bfdd]": value}
    found = find_all_in(make_device("leaf1", stopped, system), make_device("spine1", link_end(1, "leaf1")))
    (error, *others) = [each for each in found if each.code == "FAB9060"]
    assert (error.severity, bool(others)) == (Severity.ERROR, system == "eos")
    assert error.message.endswith("1 session with switches of the fabric cannot come up")
