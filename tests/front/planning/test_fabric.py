"""A planned fabric fits together: ports, cables, addresses, sessions and policies, seen from both ends."""

from __future__ import annotations

from dataclasses import asdict, fields
from ipaddress import IPv4Address, IPv6Address, ip_interface, ip_network
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.values import shared_attributes
from fabricc.fabric.addresses import format_ipv4, format_ipv6
from fabricc.fabric.model import Direction, Host, Switch
from fabricc.fabric.routing import OPTIONS, BgpSettings, Clause, Transport
from fabricc.fabric.shape import TierName
from tests.front.planning.support import fabric_of, make_document, planned
from tests.front.planning.test_growth import DUAL, NAMED, PLANES, RAIL, ZONES

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

CORES = {"model": "sn5400", "nos": "frr"}
SPECS: dict[str, dict[str, Any]] = {
    "rail": RAIL,
    "dual-stack": DUAL,
    "two planes": PLANES,
    "dual ToR in one plane": make_document(
        gpus={"model": "hgx-2x200", "hosts": 20, "hosts_per_unit": 16}, tors={"model": "sn5600", "uplink_gbps": 200},
        spines={"model": "sn5600"},
    ),
    "named racks": NAMED,
    "zones": ZONES,
    "split NICs": make_document(
        gpus={"model": "dgx-b300", "hosts": 40, "hosts_per_unit": 32}, planes=2,
        tors={"model": "sn5600", "uplink_gbps": 400}, spines={"model": "sn5600"},
    ),
    "three tiers": make_document(gpus={"hosts": 300}, cores=CORES),
    "unnumbered": make_document(gpus={"hosts": 40}, addressing={"fabric_links": "unnumbered", "family": "dual"}),
    "IPv6 only": make_document(gpus={"hosts": 40}, addressing={"family": "ipv6"}),
    "mixed hosts": make_document(
        gpus={
            "groups": [
                {"name": "old", "model": "dgx-h100", "hosts": 40, "hosts_per_unit": 32},
                {"name": "new", "model": "dgx-b300", "hosts": 20, "hosts_per_unit": 16},
            ],
            "model": None, "hosts": None, "hosts_per_unit": None,
        },
        tors={"model": "sn5600"}, spines={"model": "sn5600"},
    ),
    "mixed speeds": make_document(
        gpus={
            "groups": [
                {"name": "old", "model": "dgx-h100", "hosts": 24, "hosts_per_unit": 16},
                {"name": "new", "model": "dgx-b300", "hosts": 20, "hosts_per_unit": 16},
            ],
            "model": None, "hosts": None, "hosts_per_unit": None,
        },
        tors={"model": "sn5600"}, spines={"model": "sn5600"},
    ),
    "unique ASNs": make_document(gpus={"hosts": 300}, cores=CORES, routing={"spine_asn": "unique"}),
    "links of a /30": make_document(gpus={"hosts": 40}, addressing={"link_prefix_length": 30, "family": "dual"}),
    "uplinks first": make_document(
        gpus={"hosts": 300}, tors={"uplinks_first": True}, spines={"uplinks_first": True}, cores=CORES,
        addressing={"link_prefix_length": 30},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=SPECS, ids=str)
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return fabric_of(SPECS[request.param])


@pytest.fixture(scope="module")
def switches(fabric: Fabric) -> dict[str, Switch]:
    return {fabric.name(at): fabric.switch(at) for at in fabric.switch_ids()}


@pytest.fixture(scope="module")
def hosts(fabric: Fabric) -> dict[str, Host]:
    return {host.name: host for host in map(fabric.host, fabric.host_ids())}


def test_every_cable_joins_two_ports_that_know_each_other_and_no_port_has_two(
    fabric: Fabric, switches: dict[str, Switch], hosts: dict[str, Host]
) -> None:
    rows = list(fabric.cables())
    ends = [(r.a_device, r.a_port) for r in rows] + [(r.b_device, r.b_port) for r in rows]
    counts = fabric.counts()
    assert len(rows) == counts["host_cables"] + counts["spine_cables"] + counts["core_cables"]
    assert len(set(ends)) == len(ends)
    known = {
        (device.name, port.name): (port.peer, port.speed_gbps, port.cable_m, port.medium)
        for devices in (switches.values(), hosts.values())
        for device in devices
        for port in device.ports
        if port.peer
    }
    assert set(ends) == set(known)
    for row in rows:
        for near, far in (
            ((row.a_device, row.a_port), (row.b_device, row.b_port)),
            ((row.b_device, row.b_port), (row.a_device, row.a_port)),
        ):
            peer, speed, length, medium = known[near]
            assert peer is not None
            assert (peer.device, peer.port) == far
            assert (speed, length, medium) == (row.speed_gbps, row.length_m, row.medium)


def test_every_lane_is_used_once(switches: dict[str, Switch]) -> None:
    for switch in switches.values():
        lanes = {group.first + i: group.lanes for group in switch.model.cages for i in range(group.count)}
        used: dict[int, int] = {}
        for port in switch.ports:
            used[port.cage] = used.get(port.cage, 0) + port.lanes
        assert all(used[cage] <= lanes[cage] for cage in used)
        assert len({port.name for port in switch.ports}) == len(switch.ports)


def test_addresses_are_unique_and_both_ends_of_a_link_share_a_subnet(
    switches: dict[str, Switch], hosts: dict[str, Host]
) -> None:
    by_link: dict[str, set[str]] = {}
    seen: list[str] = []
    for switch in switches.values():
        seen += [a for a in (switch.loopback4, switch.loopback6, switch.management.address) if a]
        for port in switch.ports:
            for address in (port.ipv4, port.ipv6):
                if address:
                    seen.append(address.partition("/")[0])
                    by_link.setdefault(str(ip_interface(address).network), set()).add(switch.name)
    for host in hosts.values():
        for host_port in host.ports:
            for address in (host_port.ipv4, host_port.ipv6):
                if address:
                    seen.append(address.partition("/")[0])
                    by_link.setdefault(str(ip_interface(address).network), set()).add(host.name)
    assert len(set(seen)) == len(seen)
    assert all(len(ends) == 2 for ends in by_link.values())


def test_sessions_agree_on_both_ends(switches: dict[str, Switch]) -> None:
    for switch in switches.values():
        peers = {port.name: port.peer for port in switch.ports}
        for session in switch.bgp.sessions:
            peer = peers[session.port]
            assert peer is not None
            other = switches[peer.device]
            assert session.remote_asn == other.bgp.asn
            (mirror,) = (
                s for s in other.bgp.sessions if s.port == peer.port and s.transport is session.transport
            )
            assert (session.local, session.remote) == (mirror.remote, mirror.local)
            assert session.group != mirror.group


def test_host_links_lie_in_their_tors_aggregate_and_in_no_other(
    fabric: Fabric, switches: dict[str, Switch], hosts: dict[str, Host]
) -> None:
    owner = {aggregate: s.name for s in switches.values() for aggregate in s.bgp.aggregates}
    assert len(owner) == sum(len(s.bgp.aggregates) for s in switches.values())
    for host in hosts.values():
        for port in host.ports:
            for address in (port.ipv4, port.ipv6):
                if address:
                    network = ip_interface(address).network
                    bits = fabric.aggregate_bits()
                    covering = network.supernet(new_prefix=network.max_prefixlen - bits)
                    assert owner[str(covering)] == port.peer.device


def test_only_tors_aggregate(switches: dict[str, Switch]) -> None:
    assert all((s.tier is TierName.TOR) == bool(s.bgp.aggregates) for s in switches.values())


def test_every_tor_has_the_same_links_to_every_spine_of_its_pod_and_plane(
    fabric: Fabric, switches: dict[str, Switch]
) -> None:
    for switch in switches.values():
        if switch.tier is TierName.TOR:
            ups: dict[str, int] = {}
            for port in switch.ports:
                if port.direction is Direction.UP and port.peer:
                    ups[port.peer.device] = ups.get(port.peer.device, 0) + 1
            group = fabric.units[switch.unit or 0].group
            assert set(ups.values()) == {fabric.tor_links[group]}
            assert len(ups) == fabric.shape.spines
            assert {switches[name].plane for name in ups} == {switch.plane}


def test_oversubscription_is_within_the_requested_ratio(fabric: Fabric, switches: dict[str, Switch]) -> None:
    for switch in switches.values():
        if switch.tier is TierName.TOR:
            layout = fabric.tor_layouts[fabric.units[switch.unit or 0].group]
            down = sum(layout.slots[i].speed_gbps for i in layout.down)
            up = sum(port.speed_gbps for port in switch.ports if port.direction is Direction.UP)
            assert down <= up * 1.0 + 1e-9


def test_rail_g_of_every_host_of_a_unit_meets_the_same_tor(fabric: Fabric, hosts: dict[str, Host]) -> None:
    met: dict[tuple[int, int, int], set[str]] = {}
    for host in hosts.values():
        for port in host.ports:
            met.setdefault((host.unit, port.rail, port.nic_port), set()).add(port.peer.device)
    assert all(len(tors) == 1 for tors in met.values())
    if fabric.shape.rails_per_tor == 1:
        assert len({next(iter(tors)) for tors in met.values()}) == len(met)


def announce_route(
    sender: Switch, group: str, prefix: str, communities: frozenset[str]
) -> frozenset[str] | None:
    """Communities of a route after a switch's export policy, or None when it is denied."""
    name = next(g.export_map for g in sender.bgp.groups if g.name == group)
    return _pass_policy(sender, name, prefix, communities)


def _pass_policy(
    switch: Switch, name: str, prefix: str, communities: frozenset[str]
) -> frozenset[str] | None:
    maps = {m.name: m for m in switch.bgp.route_maps}
    for clause in maps[name].clauses:
        if _matches_clause(switch, clause, prefix, communities):
            if not clause.permit:
                return None
            return communities | ({clause.add_community} if clause.add_community else set())
    return None


def _matches_clause(switch: Switch, clause: Clause, prefix: str, communities: frozenset[str]) -> bool:
    if clause.community_list:
        wanted = next(c.community for c in switch.bgp.community_lists if c.name == clause.community_list)
        if wanted not in communities:
            return False
    if clause.prefix_list:
        rules = next(p.rules for p in switch.bgp.prefix_lists if p.name == clause.prefix_list)
        route = ip_network(prefix)
        return any(
            route.version == ip_network(rule.prefix).version
            and route.subnet_of(ip_network(rule.prefix))  # type: ignore[arg-type]
            and (rule.ge if rule.ge is not None else ip_network(rule.prefix).prefixlen) <= route.prefixlen
            and route.prefixlen <= (rule.le if rule.le is not None else ip_network(rule.prefix).prefixlen)
            for rule in rules
        )
    return True


def test_no_route_goes_down_and_up_again(switches: dict[str, Switch]) -> None:
    """Valley-free by policy, whatever the ASN scheme: what a switch learns from above it never announces up."""
    for switch in switches.values():
        if switch.tier is TierName.CORE or not any(g.name == "UPSTREAM" for g in switch.bgp.groups):
            continue
        other = next(s for s in switches.values() if s.tier is TierName.TOR and s.name != switch.name)
        route = other.bgp.aggregates[0]
        learned = _pass_policy(switch, "FROM-UPSTREAM", route, frozenset())
        assert learned is not None
        assert announce_route(switch, "UPSTREAM", route, learned) is None


def test_spines_take_aggregates_and_loopbacks_and_nothing_else(switches: dict[str, Switch]) -> None:
    spine = next(s for s in switches.values() if s.tier is TierName.SPINE)
    tor = next(s for s in switches.values() if s.tier is TierName.TOR)
    inward = "FROM-DOWNSTREAM"
    assert _pass_policy(spine, inward, tor.bgp.aggregates[0], frozenset()) == frozenset()
    for wrong in ("0.0.0.0/0", "10.0.0.0/31", "192.0.2.0/24", "::/0"):
        assert _pass_policy(spine, inward, wrong, frozenset()) is None


def test_a_switch_computed_alone_equals_itself_in_the_whole(
    fabric: Fabric, switches: dict[str, Switch]
) -> None:
    last = list(fabric.switch_ids())[-1]
    assert asdict(fabric.switch(last)) == asdict(switches[fabric.name(last)])


def test_unnumbered_links_have_one_session_and_no_address() -> None:
    fabric = fabric_of(SPECS["unnumbered"])
    spine = fabric.switch(next(at for at in fabric.switch_ids() if at.tier is TierName.SPINE))
    assert {s.transport for s in spine.bgp.sessions} == {Transport.UNNUMBERED}
    assert all(p.ipv4 is None and p.ipv6 is None for p in spine.ports)
    assert len(spine.bgp.sessions) == sum(p.direction is Direction.DOWN for p in spine.ports)


def test_overrides_reach_both_ends_of_the_cable_and_only_them() -> None:
    spec = make_document(
        gpus={"hosts": 40},
        overrides={
            "su001-tor1a": {
                "drain": True,
                "ports": {"swp33": {"cable_m": 5, "medium": "aec", "shutdown": True}},
            },
            "spine08a": {"cable_m": 3},
        },
    )
    fabric = fabric_of(spec)
    rows = {(r.a_device, r.a_port): r for r in fabric.cables()}
    changed = rows["su001-tor1a", "swp33"]
    assert (changed.length_m, changed.medium) == (5, "aec")
    assert {r.length_m for r in rows.values() if r.b_device == "spine08a"} == {3}
    others = [r for r in rows.values() if r.kind == "spine" and r.b_device != "spine08a" and r is not changed]
    assert {r.length_m for r in others} == {40}
    switches = {fabric.name(at): fabric.switch(at) for at in fabric.switch_ids()}
    far = next(p for p in switches[changed.b_device].ports if p.name == changed.b_port)
    near = next(p for p in switches["su001-tor1a"].ports if p.name == "swp33")
    assert (near.enabled, far.enabled) == (False, False)
    assert near.profile == far.profile == "400g-5m"
    exports = {m.name: m for m in switches["su001-tor1a"].bgp.route_maps}["TO-UPSTREAM"].clauses
    assert {clause.add_community for clause in exports} == {"65535:0"}


def test_links_of_a_spine_alone_have_no_addresses() -> None:
    fabric = fabric_of(
        make_document(gpus={"hosts": 40}, overrides={"spine02a": {"fabric_links": "unnumbered"}})
    )
    tor, spine, other = (fabric.switch(fabric.find(name)) for name in ("su001-tor1a", "spine02a", "spine01a"))
    assert {(port.ipv4, port.unnumbered) for port in spine.ports if port.peer} == {(None, True)}
    assert not any(port.unnumbered for port in other.ports)
    bare = {port.peer.device for port in tor.ports if port.peer and port.unnumbered}
    assert bare == {"spine02a"}
    kinds = {(session.peer, session.transport.value) for session in tor.bgp.sessions}
    assert {peer for peer, kind in kinds if kind == "unnumbered"} == {"spine02a"}
    assert ("spine01a", "ipv4") in kinds


def test_links_of_a_tor_to_nothing_below_are_refused() -> None:
    wrong = {"su001-tor1a": {"fabric_links": "unnumbered"}}
    problems = planned(make_document(gpus={"hosts": 40}, overrides=wrong)).diagnostics
    assert [p.code for p in problems if p.severity == "error"] == ["FAB3182"]


def test_overrides_of_what_does_not_exist_are_refused_with_what_does() -> None:
    wrong = {"su001-tor9a": {"drain": True}, "spine01a": {"ports": {"swp999": {"cable_m": 5}}}}
    problems = planned(make_document(gpus={"hosts": 40}, overrides=wrong)).diagnostics
    assert [p.code for p in problems if p.severity == "error"] == ["FAB3022", "FAB3023"]
    assert "su001-tor" in problems[0].help


@pytest.mark.parametrize(
    ("change", "code", "help_has"),
    [
        ({"gpus": {"model": "dgx-b20"}}, "FAB3013", "dgx-b200"),
        ({"tors": {"model": "sn540"}}, "FAB3013", "sn5400"),
        ({"tors": {"nos": "frx"}}, "FAB3014", "frr"),
        ({"planes": 3}, "FAB3002", "allow 1"),
        ({"gpus": {"rails_per_tor": 3}}, "FAB3004", "1, 2, 4, 8"),
        ({"tors": {"uplink_gbps": 800}}, "FAB3005", "400"),
        ({"gpus": {"hosts_per_unit": 100}}, "FAB3006", "is 32"),
        (
            {"tors": {"model": "sn2410"}, "spines": {"model": "sn2700"}},
            "FAB3006",
            "This one has ports of 25G, 50G, 100G alone",
        ),
        ({"gpus": {"hosts_per_unit": 40}}, "FAB3007", "is 32"),
        ({"gpus": {"hosts_per_unit": 40}}, "FAB3007", "`tors.oversubscription: 1.67`"),
        ({"gpus": {"model": "dgx-b300"}}, "FAB3006", "`planes: 2` gives each NIC 2 ports of 400G"),
        ({"tors": {"uplinks": 30}, "spines": {"count": 16}}, "FAB3008", "15"),
        ({"addressing": {"hosts": "10.0.0.0/24"}}, "FAB3017", "/"),
        ({"management": {"network": "172.16.0.0/28"}}, "FAB3018", "/"),
    ],
)
def test_impossible_specs_suggest_a_possible_value(change: dict[str, Any], code: str, help_has: str) -> None:
    problems = [d for d in planned(make_document(**change)).diagnostics if d.severity == "error"]
    assert [p.code for p in problems] == [code]
    assert help_has in problems[0].help


def test_uplinks_follow_the_busiest_group_of_hosts_not_the_largest_mixed_with_the_fastest() -> None:
    """32 hosts at 400G or 16 at 800G are 12.8 Tb/s either way: 16 uplinks of 800G, not 32."""
    groups = [
        {"name": "old", "model": "dgx-h100", "hosts": 40, "hosts_per_unit": 32},
        {"name": "new", "model": "dgx-b300", "hosts": 3, "hosts_per_unit": 16},
    ]
    gpus = {"groups": groups, "model": None, "hosts": None, "hosts_per_unit": None}
    fabric = fabric_of(make_document(gpus=gpus, tors={"model": "sn5600"}, spines={"model": "sn5600"}))
    assert fabric.shape.uplinks == 16
    assert [len(layout.down) for layout in fabric.tor_layouts] == [32, 16]


def test_a_pinned_spine_count_that_is_too_small_names_one_that_is_not() -> None:
    (problem,) = planned(make_document(gpus={"hosts": 128}, spines={"count": 8})).diagnostics
    assert problem.code == "FAB3011"
    assert "`spines.count: 16`" in problem.help
    assert "--repin" not in problem.help


def test_a_switch_with_longer_cables_gets_a_smaller_shared_pool_and_the_others_keep_theirs() -> None:
    """An SN4700 has 64 MiB: headroom for 100 m cables must come out of the shared pool of that switch alone."""
    box = {"model": "sn4700"}
    gpus = {"model": "dgx-h100", "hosts": 32, "hosts_per_unit": 16}
    spec = make_document(gpus=gpus, tors=box, spines=box, overrides={"su001-tor1a": {"cable_m": 100}})
    fabric = fabric_of(spec)
    pools = {fabric.name(at): fabric.switch(at).qos.pools for at in fabric.switch_ids()}
    plain = fabric_of(make_document(gpus=gpus, tors=box, spines=box))
    before = {plain.name(at): plain.switch(at).qos.pools for at in plain.switch_ids()}
    smaller = {
        name
        for name, pool in pools.items()
        if pool and (old := before[name]) and pool.ingress_lossless_bytes < old.ingress_lossless_bytes
    }
    touched = {"su001-tor1a"} | {row.b_device for row in fabric.cables() if row.a_device == "su001-tor1a"}
    assert smaller == touched
    assert all(pools[name] == before[name] for name in pools if name not in touched)


@given(st.integers(0, 2**128 - 1) | st.integers(0, 2**50) | st.integers(0, 127).map(lambda bit: 1 << bit))
def test_addresses_are_written_as_the_standard_library_writes_them(value: int) -> None:
    assert format_ipv6(value) == str(IPv6Address(value))
    assert format_ipv4(value & 0xFFFFFFFF) == str(IPv4Address(value & 0xFFFFFFFF))


def test_settings_of_bgp_reach_every_switch_as_the_spec_has_them() -> None:
    requested = {"keepalive_s": 2, "hold_s": 8, **dict.fromkeys(OPTIONS, True)}
    routing = {**requested, "bfd": {"interval_ms": 500, "multiplier": 4}}
    spec = make_document(gpus={"hosts": 300}, cores=CORES, routing=routing)
    for fabric, wanted in (
        (fabric_of(spec), requested),
        (fabric_of(make_document()), dict.fromkeys(OPTIONS, False)),
    ):
        for at in fabric.kinds():
            assert {name: getattr(fabric.switch(at).bgp, name) for name in wanted} == wanted
            assert shared_attributes(fabric.switch(at).bgp, BgpSettings) == shared_attributes(
                fabric.routing, BgpSettings
            )
    assert list(OPTIONS) == [each.name for each in fields(BgpSettings) if each.type == "bool"]
