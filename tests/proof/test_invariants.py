"""Each invariant catches the fault that it is about, and none of the others cries with it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back import nos
from fabricc.back.nos.nxos.qos import qos_groups
from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId
from fabricc.proof.invariants import CODES, RULES, Survey
from fabricc.proof.invariants.rules import Ratio
from fabricc.proof.invariants.view import make_view
from tests.back.nos.nxos.variants import variant
from tests.proof.fabrics import ABOVE, SPEC, Fault, find_breaches, finding_codes, make_fabric
from tests.review.report.specs import MIXED_SPEEDS, front_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.model import Host, Switch
    from fabricc.proof import Finding
    from tests.proof.fabrics import Files

TOR, OTHER_TOR, SPINE, HOST = "rack001-tor1a", "rack002-tor1a", "pod1-spine01a", "rack001-host01"
UNIQUE = {"asn": "unique"}
FLAT = {"asn": "unique", "tiers": "2"}


def text_fault(device: str, pattern: str, into: str, count: int = 1) -> Fault:
    """A fault in the text of one device's files: the first `count` matches replaced."""

    def edit(name: str, files: Files) -> Files:
        if name != device:
            return files
        changed = {file: re.sub(pattern, into, body, count=count) for file, body in files.items()}
        assert changed != files, f"{pattern} is not in the files of {device}"
        return changed

    return Fault(edit=edit)


def config_db(change: Callable[[dict[str, Any]], None], device: str = TOR) -> Fault:
    """A fault in the tables of a SONiC switch."""

    def edit(name: str, files: Files) -> Files:
        if name != device:
            return files
        tables = json.loads(files["config_db.json"])
        change(tables)
        return {**files, "config_db.json": json.dumps(tables, indent=4) + "\n"}

    return Fault(edit=edit)


def entry_fault(table: str, key: str, field: str, value: str) -> Fault:
    """One field of one entry of a SONiC switch's tables."""
    return config_db(lambda tables: tables[table][key].__setitem__(field, value))


def combine_faults(*faults: Fault) -> Fault:
    """Several faults in text at once."""

    def edit(name: str, files: Files) -> Files:
        for fault in faults:
            files = fault.edit(name, files)
        return files

    return Fault(edit=edit)


def uplink_moved(switch: Switch) -> Switch:
    """One of a ToR's uplinks cabled to a port of the other spine that is free."""
    if switch.name != TOR:
        return switch
    ups = [p for p in switch.ports if p.direction is Direction.UP]
    last = ups[-1].peer
    assert last
    moved = replace(ups[0], peer=replace(last, port="Ethernet64/1"))
    return replace(switch, ports=tuple(moved if p is ups[0] else p for p in switch.ports))


def without_a_tor(switch: Switch) -> Switch | None:
    return None if switch.name == TOR else switch


def rail_astray(host: Host) -> Host:
    """A NIC cabled to the ToR of the next rack."""
    if host.name != HOST:
        return host
    astray = replace(host.ports[0], peer=replace(host.ports[0].peer, device=OTHER_TOR))
    return replace(host, ports=(astray, *host.ports[1:]))


def slow_uplinks(tables: dict[str, Any]) -> None:
    for port in tables["PORT"].values():
        if "spine" in port["description"]:
            port["speed"] = "200000"


def no_headroom(tables: dict[str, Any]) -> None:
    del tables["BUFFER_PG"]["Ethernet0|3"]


def marked_notifications(tables: dict[str, Any]) -> None:
    profile = tables["QUEUE"]["Ethernet0|3"]["wred_profile"]
    tables["QUEUE"]["Ethernet0|6"]["wred_profile"] = profile


def little_headroom(tables: dict[str, Any]) -> None:
    for name, profile in tables["BUFFER_PROFILE"].items():
        if name.startswith("pg_lossless"):
            profile["xoff"] = "1024"


def taken_loopback(tables: dict[str, Any]) -> None:
    loopbacks = tables["LOOPBACK_INTERFACE"]
    mine = f"Loopback0|{device(TOR).loopback4}/32"
    loopbacks[f"Loopback0|{device(OTHER_TOR).loopback4}/32"] = loopbacks.pop(mine)


def gateway_of_its_own(tables: dict[str, Any]) -> None:
    for key, attributes in tables["MGMT_INTERFACE"].items():
        attributes["gwaddr"] = key.partition("|")[2].partition("/")[0]


def taken_management_address(tables: dict[str, Any]) -> None:
    """The address that the other ToR has, in a subnet of another length."""
    mine, other = (f"eth0|{device(name).management.address}" for name in (TOR, OTHER_TOR))
    ports = tables["MGMT_INTERFACE"]
    ports[other.replace("/16", "/24")] = ports.pop(mine)


def device(name: str) -> Switch:
    """A switch of the fabric as planned."""
    at = make_fabric().find(name)
    assert at is not None
    assert isinstance(at, SwitchId)
    return make_fabric().switch(at)


LEAK = (r"(route-map TO-UPSTREAM permit 20\n match ip address prefix-list )OWN-V4", r"\1FABRIC-V4")
OTHER_ASN = str(device("rack003-tor1a").bgp.asn)
SAME_ASN = combine_faults(
    text_fault(TOR, r"router bgp \d+", f"router bgp {OTHER_ASN}"),
    entry_fault("DEVICE_METADATA", "localhost", "bgp_asn", OTHER_ASN),
)

CASES: list[tuple[int, str, dict[str, str], Fault]] = [
    (1, "a lane used twice", {}, entry_fault("PORT", "Ethernet0", "lanes", "8,9,10,11,12,13,14,15")),
    (1, "error correction off at one end", {}, entry_fault("PORT", "Ethernet128", "fec", "none")),
    (2, "an uplink cabled to another spine", {}, Fault(alter=uplink_moved)),
    (3, "a ToR without files", {}, Fault(alter=without_a_tor)),
    (4, "uplinks at half their speed", {}, config_db(slow_uplinks)),
    (5, "a rail cabled to the next rack's ToR", {}, Fault(alter_host=rail_astray)),
    (6, "a loopback used twice", {}, config_db(taken_loopback)),
    (6, "a switch with the gateway's address", {}, config_db(gateway_of_its_own)),
    (6, "a management address used twice", {}, config_db(taken_management_address)),
    (7, "two ToRs of one AS", {}, SAME_ASN),
    (7, "a public AS number", {}, text_fault(SPINE, r"router bgp \d+", "router bgp 3320")),
    (8, "another hold time at one end", {}, text_fault(SPINE, "timers bgp 3 9", "timers bgp 3 12")),
    (8, "another hold time of the neighbors at one end", {},
     text_fault(SPINE, " timers bgp 3 9\n", " timers bgp 3 9\n neighbor DOWNSTREAM timers 3 12\n")),
    (8, "BFD slower than BGP", {}, text_fault(SPINE, "interval 300 min-rx 300", "interval 3000 min-rx 3000")),
    (9, "fewer paths than uplinks", {}, text_fault(TOR, r"maximum-paths \d+", "maximum-paths 4")),
    (10, "a ToR that announces everything upwards", FLAT, text_fault(TOR, *LEAK)),
    (10, "a spine that sends up what came from above", UNIQUE,
        text_fault(SPINE, "TO-UPSTREAM deny 10", "OTHER deny 10")),
    (11, "a lossless port that is bridged", {}, text_fault(SPINE, "   no switchport\n", "   switchport\n")),
    (12, "RDMA in the default class on one ToR", {}, entry_fault("DSCP_TO_TC_MAP", "AZURE", "26", "0")),
    (12, "NCCL with another traffic class", {}, text_fault(HOST, r"NCCL_IB_TC=\d+", "NCCL_IB_TC=96")),
    (13, "PFC without headroom", {}, config_db(no_headroom)),
    (14, "marked notifications", {}, config_db(marked_notifications)),
    (15, "headroom of a kilobyte", {}, config_db(little_headroom)),
    (16, "a pool larger than the chip", {}, entry_fault("BUFFER_POOL", "ingress_lossless_pool", "size", "90000000")),
    (16, "egress that drops first", {}, entry_fault("BUFFER_POOL", "egress_lossless_pool", "size", "900000")),
    (17, "marking after the pause point", {},
        entry_fault("WRED_PROFILE", "400g-5m", "green_max_threshold", "50000000")),
    (18, "a watchdog that polls too slowly", {}, entry_fault("PFC_WD", "GLOBAL", "POLL_INTERVAL", "1000")),
    (18, "NICs that give up before the watchdog acts", {},
        text_fault(HOST, "NCCL_IB_TIMEOUT=22", "NCCL_IB_TIMEOUT=14")),
    (19, "a spine with small packets", {}, text_fault(SPINE, "mtu 9100", "mtu 8000", count=0)),
    (20, "a list that does not exist", {}, text_fault(TOR, "bgp community-list standard GRACEFUL.*\n", "")),
    (20, "an unused port that is open", {}, text_fault(SPINE, "(description unused\n)   shutdown\n", r"\1")),
]  # fmt: skip


@pytest.mark.parametrize(("number", "fault", "kind", "planted"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_each_fault_breaks_the_invariant_it_is_about(
    number: int, fault: str, kind: dict[str, str], planted: Fault
) -> None:
    found = find_breaches(make_fabric(**kind), planted)
    assert finding_codes(found) & CODES == {RULES[number].code}, [f.message for f in found]
    breach = next(f for f in found if f.code in CODES)
    assert breach.severity is Severity.ERROR
    assert breach.help


@pytest.mark.slow
@pytest.mark.parametrize("links", [3, 8])
def test_tors_are_compared_with_those_of_their_own_hosts(tmp_path: Path, links: int) -> None:
    """Four links to each spine below 400G, eight below 800G; neither three nor eight at one of the first."""
    built = front_of(tmp_path, MIXED_SPEEDS.replace("a2]", "a2, a3]")).fabric
    assert built is not None
    assert built.tor_links == (4, 8)
    assert not finding_codes(find_breaches(built, Fault())) & CODES
    other = replace(built, tor_links=(links, 8))
    at = built.find("a1-tor1a")
    assert isinstance(at, SwitchId)

    def alter(switch: Switch) -> Switch:
        return other.switch(at) if switch.name == "a1-tor1a" else switch

    found = [each for each in find_breaches(built, Fault(alter=alter)) if each.code == "FAB6202"]
    assert f"a1-tor1a has 8 x {links} links up, others of its tier and plane 8 x 4" in {
        f.message for f in found
    }


@pytest.mark.parametrize(
    ("asn", "family", "links"),
    [
        ("shared", "ipv4", "numbered"),
        ("unique", "dual", "numbered"),
        ("shared", "ipv6", "numbered"),
        ("unique", "ipv4", "unnumbered"),
    ],
)
def test_a_fabric_as_built_breaks_none(asn: str, family: str, links: str) -> None:
    assert find_breaches(make_fabric(asn, family, links), Fault()) == []


def test_a_first_rack_of_several_planes_breaks_none(tmp_path: Path) -> None:
    """Each plane has one ToR, whose loopback no ToR of another plane gets."""
    text = SPEC.format(asn="shared", family="dual", links="numbered", above=ABOVE["2"])
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text.replace("racks: 4", "racks: 1") + "planes: 2\n")
    fabric = compile_spec(spec, gaps=False).fabric
    assert fabric is not None
    assert fabric.counts()["tors"] == 2
    assert find_breaches(fabric, Fault()) == []


def test_every_invariant_has_a_fault_and_a_section() -> None:
    elsewhere = {
        21,
        22,
        23,
    }  # test_outside.py, test_segments.py, test_tenants.py: no fabric of these cases has what they are about
    assert {number for number, *_ in CASES} | elsewhere == set(RULES)
    pages = Path(__file__).parents[2].joinpath("docs", "invariants.md").read_text("utf-8")
    for number, rule in RULES.items():
        assert f"## {number}. {rule.title}" in pages
        assert rule.code in pages


def test_findings_point_at_the_line_at_fault() -> None:
    found = find_breaches(make_fabric(**FLAT), text_fault(TOR, *LEAK))
    (valley,) = [f for f in found if f.code == "FAB6210"]
    assert valley.file == f"switches/{TOR}/frr.conf"
    assert "TO-UPSTREAM 20" in valley.message
    lines = nos.load("sonic").render(device(TOR))["frr.conf"].splitlines()
    assert lines[valley.line - 1] == "route-map TO-UPSTREAM permit 20"


def test_shared_spine_asns_stop_a_leaking_tor() -> None:
    """RFC 7938: spines of one AS drop each other's routes, so the leak makes no valley."""
    assert finding_codes(find_breaches(make_fabric(), text_fault(TOR, *LEAK))) == set()


def test_two_leaking_tors_can_deadlock_and_the_circle_is_named() -> None:
    found = find_breaches(
        make_fabric(**FLAT), combine_faults(text_fault(TOR, *LEAK), text_fault(OTHER_TOR, *LEAK))
    )
    assert finding_codes(found) == {"FAB6210", "FAB6211"}
    (circle,) = [f for f in found if f.code == "FAB6211"]
    path = circle.message.partition("circle: ")[2].split(" -> ")
    assert path[0] == path[-1]
    assert set(path) == {TOR, OTHER_TOR, "spine01a", "spine02a"}


def test_below_cores_one_leaking_tor_is_enough_for_a_deadlock() -> None:
    """After failures spine 2 reaches spine 1 over a core, and spine 1 reaches spine 2 over the ToR."""
    assert finding_codes(find_breaches(make_fabric(**UNIQUE), text_fault(TOR, *LEAK))) == {
        "FAB6210",
        "FAB6211",
    }


def test_pfc_off_at_one_end_also_breaks_the_contract() -> None:
    fault = entry_fault("PORT_QOS_MAP", "Ethernet0", "pfc_enable", "")
    assert {"FAB6212", "FAB6213"} <= finding_codes(find_breaches(make_fabric(), fault))


def test_n_minus_1_is_judged_by_what_is_cabled() -> None:
    """Half of the bandwidth up leaves with one of two spines: 2:1 holds then, 1:1 does not."""
    for limit, breaches in ((1, {"FAB6204"}), (2, set())):
        found = find_breaches(make_fabric(**FLAT), Fault(), {0: Ratio(Fraction(limit), n_minus_1=True)})
        assert finding_codes(found) == breaches
        assert all("with spine02a lost" in f.message for f in found)


def trim_into_queue(queue: int = 6, dscp: int = 48) -> Fault:
    """A SONiC ToR that trims best-effort packets into a queue."""

    def change(tables: dict[str, Any]) -> None:
        lossy = tables["BUFFER_PROFILE"]["egress_lossy_profile"]
        tables["BUFFER_PROFILE"]["q_lossy_trim_profile"] = {**lossy, "packet_discard_action": "trim"}
        for key, row in tables["BUFFER_QUEUE"].items():
            if key.endswith("|0-2"):
                row["profile"] = "q_lossy_trim_profile"
        settings = {"size": "256", "dscp_value": str(dscp), "queue_index": str(queue)}
        tables["SWITCH_TRIMMING"] = {"GLOBAL": settings}

    return config_db(change)


@pytest.mark.parametrize(
    ("planted", "wrong"),
    [
        (trim_into_queue(), ""),
        (trim_into_queue(queue=3, dscp=26), "PFC can stop"),
        (trim_into_queue(queue=6, dscp=0), "on the next switch"),
    ],
)
def test_trimmed_packets_are_control_traffic(planted: Fault, wrong: str) -> None:
    found = [f for f in find_breaches(make_fabric(), planted) if f.code == "FAB6214"]
    assert bool(found) == bool(wrong)
    assert not wrong or any(wrong in f.message for f in found)


def test_shut_uplinks_only_warn() -> None:
    fault = config_db(lambda tables: tables["PORT"]["Ethernet128"].__setitem__("admin_status", "down"))
    (breach,) = [f for f in find_breaches(make_fabric(), fault) if f.code == "FAB6204"]
    assert breach.severity is Severity.WARNING


def switch_with_renumbered_queues() -> Switch:
    """A Nexus whose plan puts a weighted class above a strict one, which its queues have the other way round."""
    switch = variant("cloudscale/numbered")
    default, rdma, cnp = switch.qos.classes
    classes = (default, replace(cnp, priority=1), rdma)
    return replace(switch, qos=replace(switch.qos, classes=classes))


def breaches(switch: Switch, *, replaced: tuple[str, str] = ("", "")) -> list[Finding]:
    """Return the findings of the rules for one device about its files, with one text in them replaced."""
    back_end = nos.load(switch.nos)
    files = {
        name: re.sub(*replaced, body) if replaced[0] else body
        for name, body in back_end.render(switch).items()
    }
    return [
        f
        for f in Survey().add_switch(make_view(switch, back_end.read(files)), "switches/x")
        if f.code in CODES
    ]


def test_queues_that_a_nos_numbers_otherwise_raise_no_alarm() -> None:
    switch = switch_with_renumbered_queues()
    assert qos_groups(switch.qos.classes) == {0: 0, 1: 7, 3: 3}
    wanted = {"FAB6214", "FAB6217", "FAB6212", "FAB6213"}
    assert [f for f in breaches(switch) if f.code in wanted] == []


def test_notifications_in_a_renumbered_queue_are_still_judged() -> None:
    found = breaches(
        switch_with_renumbered_queues(),
        replaced=(
            r"(class type queuing c-out-8q-q7\n)( +)priority level 1",
            r"\1\2bandwidth remaining percent 0",
        ),
    )
    assert "FAB6214" in {f.code for f in found}
