"""Identities from outside: what tables give single switches and links, mixed with what is computed."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc.fabric.model import Direction
from fabricc.front.planning import Plan, plan_fabric
from fabricc.front.spec.identities import with_identities
from fabricc.front.spec.lock import EMPTY_LOCK, Lock
from tests.front.planning.support import CATALOG, AnyNos, make_document, spec_of
from tests.front.planning.test_growth import find_identity

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch

SMALL = {"hosts": 64, "hosts_per_unit": 32, "capacity": 256}
CORES = {"model": "sn5400", "nos": "frr"}


def planned_with(
    folder: Path, devices: str = "", links: str = "", lock: Lock = EMPTY_LOCK, **sections: Any
) -> tuple[Plan, list[str]]:
    """Return the plan of a spec with these tables, and its findings by code, place and message."""
    tables = {"devices": devices, "links": links}
    named = {key: f"{key}.csv" for key, text in tables.items() if text}
    for key, file in named.items():
        (folder / file).write_text(tables[key])
    text = make_document(**({"gpus": SMALL} | sections), identities=named or None)
    spec, findings, _ = with_identities(spec_of(text), folder)
    found = plan_fabric(spec, CATALOG, lock, AnyNos())
    reported = []
    for each in (*findings, *found.diagnostics):
        if each.code in CODES and each.position:
            at = each.position
            reported.append(
                f"{Path(at.file).name}:{at.line}:{at.column} {each.code} {each.message} | {each.help}"
            )
    return found, reported


CODES = {f"FAB214{digit}" for digit in range(5, 10)} | {f"FAB312{digit}" for digit in range(1, 7)}
CODES |= {"FAB3272", "FAB3273"}


def fabric_with(folder: Path, devices: str = "", links: str = "", **sections: Any) -> Fabric:
    found, reported = planned_with(folder, devices, links, **sections)
    assert not reported
    assert found.fabric is not None, [d.message for d in found.diagnostics]
    return found.fabric


def find_switch(fabric: Fabric, name: str) -> Switch:
    at = fabric.find(name)
    assert at is not None
    assert not isinstance(at, tuple)
    return fabric.switch(at)


def test_a_switch_has_what_its_line_gives_and_the_rest_as_computed(tmp_path: Path) -> None:
    before = fabric_with(tmp_path)
    plain = find_switch(before, "su001-tor1a")
    table = (
        "device,name,asn,loopback4,management\n"
        "su001-tor1a,leaf-r07-u42,4210000007,10.128.255.7,172.16.200.7\n"
        "spine01a,,,,172.16.200.1/16\n"
    )
    fabric = fabric_with(tmp_path, table)
    found = find_switch(fabric, "leaf-r07-u42")
    assert (found.bgp.asn, found.loopback4, found.bgp.router_id) == (
        4210000007,
        "10.128.255.7",
        "10.128.255.7",
    )
    assert found.management.address == "172.16.200.7/16"
    assert found.bgp.aggregates == plain.bgp.aggregates
    assert [port.ipv4 for port in found.ports] == [port.ipv4 for port in plain.ports]
    spine = find_switch(fabric, "spine01a")
    assert spine.management.address == "172.16.200.1/16"
    assert spine.bgp.asn == find_switch(before, "spine01a").bgp.asn


def test_neighbors_hosts_and_cables_know_a_switch_by_what_it_is_given(tmp_path: Path) -> None:
    fabric = fabric_with(tmp_path, "device,name,asn\nsu001-tor1a,leaf-1,4210000007\n")
    spine = find_switch(fabric, "spine01a")
    port = next(port for port in spine.ports if port.peer and port.peer.device == "leaf-1")
    assert [s.remote_asn for s in spine.bgp.sessions if s.port == port.name] == [4210000007]
    host = fabric.host(next(iter(fabric.host_ids())))
    assert host.ports[0].peer.device == "leaf-1"
    assert any(cable.b_device == "leaf-1" for cable in fabric.cables())
    assert fabric.find("su001-tor1a") is None


def test_both_ends_of_a_link_have_the_addresses_that_its_line_gives(tmp_path: Path) -> None:
    plain = fabric_with(tmp_path)
    tor = find_switch(plain, "su001-tor1a")
    up = [port for port in tor.ports if port.direction is Direction.UP][:2]
    rows = [
        f"{tor.name},{up[0].name},{up[0].peer.device},{up[0].peer.port},192.0.2.1,192.0.2.0",  # type: ignore[union-attr]
        f"{up[1].peer.device},{up[1].peer.port},{tor.name},{up[1].name},192.0.2.3,192.0.2.2",  # type: ignore[union-attr]
    ]
    fabric = fabric_with(
        tmp_path, "", "a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n" + "\n".join(rows) + "\n"
    )
    ends = {
        (each.name, port.name): port.ipv4
        for each in map(fabric.switch, fabric.switch_ids())
        for port in each.ports
        if port.ipv4 and port.ipv4.startswith("192.0.2.")
    }
    assert ends == {
        (tor.name, up[0].name): "192.0.2.1/31",
        (up[0].peer.device, up[0].peer.port): "192.0.2.0/31",  # type: ignore[union-attr]
        (tor.name, up[1].name): "192.0.2.2/31",
        (up[1].peer.device, up[1].peer.port): "192.0.2.3/31",  # type: ignore[union-attr]
    }
    sessions = {s.port: (s.local, s.remote) for s in find_switch(fabric, tor.name).bgp.sessions}
    assert sessions[up[0].name] == ("192.0.2.1", "192.0.2.0")
    others = find_identity(fabric).items() ^ find_identity(plain).items()
    assert {key.split()[0] for key, _ in others} == {tor.name, up[0].peer.device, up[1].peer.device}  # type: ignore[union-attr]


def test_links_of_spines_to_cores_are_given_addresses_as_well(tmp_path: Path) -> None:
    plain = fabric_with(tmp_path, cores=CORES)
    spine = next(each for each in map(plain.switch, plain.switch_ids()) if each.tier == "spine")
    port = next(port for port in spine.ports if port.direction is Direction.UP)
    assert port.peer
    row = f"{spine.name},{port.name},{port.peer.device},{port.peer.port},192.0.2.1,192.0.2.0\n"
    fabric = fabric_with(tmp_path, "", "a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n" + row, cores=CORES)
    far = {each.name: each.ipv4 for each in find_switch(fabric, port.peer.device).ports}
    assert far[port.peer.port] == "192.0.2.0/31"


REFUSED = {
    "a switch that is not there": (
        "device,asn\nsu001-tor9a,4210000000\n",
        "devices.csv:2:1 FAB3121 no switch has the computed name 'su001-tor9a' | Did you mean ",
    ),
    "a host": ("device,asn\nsu001-host01,4210000000\n", "devices.csv:2:1 FAB3121 "),
    "two of one ASN": (
        "device,asn\nsu001-tor1a,4210000000\nsu001-tor2a,4210000000\n",
        "devices.csv:3:13 FAB3122 ASN 4210000000 of su001-tor2a is that of su001-tor1a, in line 2 | "
        "Assign a different one to each.",
    ),
    "a ToR's ASN that spines share": (
        "device,asn\nsu001-tor1a,4200065536\n",
        "devices.csv:2:13 FAB3123 ASN 4200065536 of su001-tor1a is that of spine01a, computed | "
        "Give another, or spine01a one as well.",
    ),
    "a name that another switch has": (
        "device,name\nspine01a,su001-tor1a\n",
        "devices.csv:2:10 FAB3123 name su001-tor1a of spine01a is that of su001-tor1a, computed",
    ),
    "a name that a host has": (
        "device,name\nspine01a,su001-host01\n",
        "devices.csv:2:10 FAB3123 name su001-host01 of spine01a is that of a host",
    ),
    "a loopback outside the pool": (
        "device,loopback4\nspine01a,192.0.2.1\n",
        "devices.csv:2:10 FAB3124 IPv4 loopback 192.0.2.1 of spine01a is not an address for a device in",
    ),
    "a loopback of a family that is not there": (
        "device,loopback6\nspine01a,2001:db8::1\n",
        "devices.csv:2:10 FAB3124 IPv6 loopback 2001:db8::1 of spine01a has no meaning",
    ),
    "a management address that is the network's": (
        "device,management\nspine01a,172.16.0.0\n",
        "devices.csv:2:10 FAB3124 management address 172.16.0.0 of spine01a is not an address for a device",
    ),
    "a management address that is computed": (
        "device,management\nspine01a,172.16.0.16\n",
        "devices.csv:2:10 FAB3123 management address 172.16.0.16 of spine01a is that of su001-tor1a, computed",
    ),
    "a public ASN": (
        "device,asn\nspine01a,3320\n",
        "devices.csv:2:10 FAB2147 asn '3320' is not a private ASN | Write a private ASN: 64512 to 65534",
    ),
    "a device twice": (
        "device,asn\nspine01a,4210000000\nspine01a,4210000001\n",
        "devices.csv:3:1 FAB2148 spine01a is defined in line 2 already",
    ),
    "another column": ("device,color\nspine01a,red\n", "devices.csv:1:1 FAB2146 "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_identities_are_rejected_at_their_cell(tmp_path: Path, case: str) -> None:
    table, expected = REFUSED[case]
    family = {"family": "ipv4"}
    _, reported = planned_with(tmp_path, table, addressing=family)
    assert len(reported) == 1, reported
    assert reported[0].startswith(expected)


def test_swapped_identities_do_not_collide(tmp_path: Path) -> None:
    fabric = fabric_with(tmp_path, "device,name\nspine01a,spine02a\nspine02a,spine01a\n")
    assert len({fabric.name(at) for at in fabric.switch_ids()}) == sum(1 for _ in fabric.switch_ids())


@pytest.mark.parametrize(("pair", "expected"), [
    (("10.64.0.2", "10.64.0.3"), "FAB3123"),  # of the next link
    (("10.0.0.0", "10.0.0.1"), "FAB3123"),  # of a host
    (("192.0.2.1", "192.0.2.2"), "FAB3126"),
    (("192.0.2.1", ""), "FAB3126"),
])  # fmt: skip
def test_addresses_of_a_link_are_a_pair_that_nothing_else_has(
    tmp_path: Path, pair: tuple[str, str], expected: str
) -> None:
    tor = find_switch(fabric_with(tmp_path), "su001-tor1a")
    up = next(port for port in tor.ports if port.direction is Direction.UP)
    assert up.peer
    assert up.ipv4 == "10.64.0.1/31"
    row = f"{tor.name},{up.name},{up.peer.device},{up.peer.port},{','.join(pair)}\n"
    _, reported = planned_with(tmp_path, "", "a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n" + row)
    assert [each.split()[1] for each in reported] == [expected]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mixture_never_collides_and_growth_renumbers_nothing(data: st.DataObject, tmp_path: Path) -> None:
    """Whatever part of the switches is given whatever small numbers: refused, or all different and kept by growth."""
    plain = planned_with(tmp_path)[0]
    assert plain.fabric is not None
    names = [plain.fabric.name(at) for at in plain.fabric.switch_ids()]
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=6))
    pool = plain.fabric.addresses.loopbacks4
    lines = ["device,asn,loopback4,management"]
    for name in chosen:
        asn = data.draw(st.sampled_from(["", *map(str, range(4210000000, 4210000020)), "4200524288"]))
        loopback = data.draw(st.one_of(st.just(-1), st.integers(0, 40)))
        management = data.draw(st.one_of(st.just(-1), st.integers(16, 60)))
        loopback4 = "" if loopback < 0 else pool.address(loopback)
        own = "" if management < 0 else str(ip_address("172.16.0.0") + management)
        lines.append(f"{name},{asn},{loopback4},{own}")
    table = "\n".join(lines) + "\n"
    found, reported = planned_with(tmp_path, table)
    assert (found.fabric is None) == bool(reported)
    if found.fabric is None:
        return
    switches = list(map(found.fabric.switch, found.fabric.switch_ids()))
    for key in (lambda s: s.loopback4, lambda s: s.management.address):
        assert len(set(map(key, switches))) == len(switches)
    tors = [each.bgp.asn for each in switches if each.tier == "tor"]
    assert len(tors) == len(set(tors))
    assert not set(tors) & {s.bgp.asn for s in switches if s.tier != "tor"}
    grown, refused = planned_with(tmp_path, table, lock=found.lock, gpus=SMALL | {"hosts": 96})
    if not refused:
        assert grown.fabric is not None
        assert find_identity(found.fabric).items() <= find_identity(grown.fabric).items()


def test_a_given_management_address_is_in_the_network_of_its_switch(tmp_path: Path) -> None:
    """Where there are several management networks, each switch answers behind the gateway of its own."""
    several = {"network": "172.16.0.0/16", "networks": [{"network": "172.20.0.0/16", "tier": "spine"}]}
    found = fabric_with(tmp_path, "device,management\nspine01a,172.20.9.9\n", management=several)
    assert find_switch(found, "spine01a").management.address == "172.20.9.9/16"
    _, reported = planned_with(tmp_path, "device,management\nspine01a,172.16.9.9\n", management=several)
    assert [each.split(" | ")[0] for each in reported] == [
        "devices.csv:2:10 FAB3124 management address 172.16.9.9 of spine01a is not an address for a device in "
        "management.networks[0] 172.20.0.0/16"
    ]


def test_a_gateway_is_no_given_management_address(tmp_path: Path) -> None:
    found, _ = planned_with(tmp_path, "device,management\nspine01a,172.16.0.1\n")
    assert "FAB3025" in {each.code for each in found.diagnostics}


def find_blocks(fabric: Fabric, name: str) -> tuple[str, ...]:
    return find_switch(fabric, name).bgp.aggregates


def test_a_tor_has_the_host_block_that_its_line_gives_and_its_hosts_live_in_it(tmp_path: Path) -> None:
    """Blocks of one length, which a new fabric takes for all of its ToRs: others keep theirs by computation."""
    family = {"family": "ipv4"}
    plain = fabric_with(tmp_path, addressing=family)
    length = find_blocks(plain, "su001-tor1a")[0].partition("/")[2]
    assert length == "26"
    table = "device,hosts4\nsu001-tor1a,10.40.7.0/24\nsu001-tor2a,10.40.8.0/24\n"
    found, reported = planned_with(tmp_path, table, addressing=family)
    assert not reported
    fabric = found.fabric
    assert fabric is not None
    assert find_blocks(fabric, "su001-tor1a") == ("10.40.7.0/24",)
    assert find_blocks(fabric, "su001-tor2a") == ("10.40.8.0/24",)
    assert {
        each.partition("/")[2] for at in fabric.switch_ids() for each in fabric.switch(at).bgp.aggregates
    } == {"24"}
    host = fabric.host(next(iter(fabric.host_ids())))
    assert (host.ports[0].ipv4, host.ports[0].gateway4) == ("10.40.7.1/31", "10.40.7.0")
    tor = next(
        port
        for port in find_switch(fabric, "su001-tor1a").ports
        if port.peer and port.peer.device == host.name
    )
    assert tor.ipv4 == "10.40.7.0/31"
    ahead = fabric_with(tmp_path, addressing=family, lock=found.lock)
    same = [at for at in fabric.switch_ids() if fabric.name(at) not in ("su001-tor1a", "su001-tor2a")]
    assert [fabric.switch(at) for at in same if at.tier == "tor"] == [
        ahead.switch(at) for at in same if at.tier == "tor"
    ]


def host_rows(fabric: Fabric, count: int, addresses: list[str]) -> str:
    """Lines of the first links of the first ToR to hosts."""
    found = [each for each in fabric.cables() if each.kind == "host" and each.b_device == "su001-tor1a"][
        :count
    ]
    rows = [
        f"{cable.a_device},{cable.a_port},{cable.b_device},{cable.b_port},{own}"
        for cable, own in zip(found, addresses, strict=True)
    ]
    return "\n".join(["a_device,a_port,b_device,b_port,a_ipv4,b_ipv4", *rows]) + "\n"


def test_a_link_to_a_host_has_the_addresses_that_its_line_gives(tmp_path: Path) -> None:
    plain = fabric_with(tmp_path)
    tor = find_switch(plain, "su001-tor1a")
    first, second = [port for port in tor.ports if port.direction is Direction.HOST][:2]
    assert (first.ipv4, second.ipv4) == ("10.0.0.0/31", "10.0.0.2/31")
    swapped = host_rows(plain, 2, ["10.0.0.2,10.0.0.3", "10.0.0.1,10.0.0.0"])
    fabric = fabric_with(tmp_path, "", swapped)
    ports = {port.name: port.ipv4 for port in find_switch(fabric, "su001-tor1a").ports}
    assert (ports[first.name], ports[second.name]) == ("10.0.0.3/31", "10.0.0.0/31")
    assert first.peer is not None
    at = fabric.find(first.peer.device)
    assert isinstance(at, tuple)
    (port,) = [each for each in fabric.host(at).ports if each.name == first.peer.port]
    assert (port.ipv4, port.gateway4) == ("10.0.0.2/31", "10.0.0.3")
    others = find_identity(fabric).items() ^ find_identity(plain).items()
    assert {key.split()[0] for key, _ in others} <= {tor.name, first.peer.device, second.peer.device}  # type: ignore[union-attr]


def test_free_positions_of_a_block_may_be_given(tmp_path: Path) -> None:
    table = "device,hosts4\nsu001-tor1a,10.40.7.0/24\n"
    plain = fabric_with(tmp_path, table)
    fabric = fabric_with(tmp_path, table, host_rows(plain, 1, ["10.40.7.200,10.40.7.201"]))
    assert find_switch(fabric, "su001-tor1a").ports[0].ipv4 == "10.40.7.201/31"


HOST_BLOCKS = {
    "of a spine": ("spine01a,10.40.7.0/26", "devices.csv:2:10 FAB3272 IPv4 host block 10.40.7.0/26 of spine01a"),
    "outside": ("su001-tor1a,192.0.2.0/26", "devices.csv:2:13 FAB3124 IPv4 host block 192.0.2.0/26 of su001-tor1a "
                "lies outside addressing.hosts 10.0.0.0/10 | "),
    "computed": ("su001-tor1a,10.0.128.0/26", "devices.csv:2:13 FAB3123 IPv4 host block 10.0.128.0/26 of su001-tor1a "
                 "is that of su001-tor2a, computed | Give another, or su001-tor2a one as well."),
    "too short": ("su001-tor1a,10.40.7.0/27",
                  "devices.csv:2:13 FAB3273 IPv4 host block 10.40.7.0/27 of su001-tor1a "
                  "is no /26, as long as the aggregate of every ToR of this fabric | Give every ToR a block of /26"),
    "no prefix": ("su001-tor1a,10.40.7.1/26",
                  "devices.csv:2:13 FAB2147 hosts4 '10.40.7.1/26' is not an IPv4 prefix | "),
    "twice": ("su001-tor1a,10.40.7.0/26\nsu001-tor2a,10.40.7.0/26",
              "devices.csv:3:13 FAB3122 IPv4 host block 10.40.7.0/26 of su001-tor2a is that of su001-tor1a, in line 2"),
    "of unequal lengths": ("su001-tor1a,10.40.7.0/24\nsu001-tor2a,10.40.8.0/24\nsu001-tor3a,10.40.9.0/25",
                           "devices.csv:4:13 FAB3273 IPv4 host block 10.40.9.0/25 of su001-tor3a is no /24"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOST_BLOCKS)
def test_a_host_block_that_cannot_be_is_refused_at_its_cell(tmp_path: Path, case: str) -> None:
    lines, expected = HOST_BLOCKS[case]
    plain = fabric_with(tmp_path, addressing={"family": "ipv4"})
    second = find_blocks(plain, "su001-tor2a")[0]
    lines, expected = lines.replace("10.0.128.0/26", second), expected.replace("10.0.128.0/26", second)
    _, reported = planned_with(tmp_path, f"device,hosts4\n{lines}\n", addressing={"family": "ipv4"})
    assert len(reported) == 1, reported
    assert reported[0].startswith(expected)


@pytest.mark.parametrize(("pairs", "expected"), [
    (["10.0.0.2,10.0.0.3"], "links.csv:2:37 FAB3123 su001-host01 rail0: 10.0.0.3 and 10.0.0.2 are computed for"),
    (["10.0.1.0,10.0.1.1"], "links.csv:2:37 FAB3124 su001-host01 rail0: 10.0.1.1 and 10.0.1.0 are not in 10.0.0.0/26"),
    (["10.0.0.9,10.0.0.10"], "links.csv:2:37 FAB3126 "),
    (["10.0.0.9,"], "links.csv:2:37 FAB3126 "),
    (["10.0.0.2,10.0.0.3"] * 2, "links.csv:3:37 FAB3122 "),
])  # fmt: skip
def test_addresses_of_a_host_link_are_a_free_pair_of_its_block(
    tmp_path: Path, pairs: list[str], expected: str
) -> None:
    rows = host_rows(fabric_with(tmp_path), len(pairs), pairs)
    _, reported = planned_with(tmp_path, "", rows)
    assert len(reported) == 1, reported
    assert reported[0].startswith(expected)


def test_a_line_for_no_link_of_a_host_is_refused(tmp_path: Path) -> None:
    row = "a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n"
    for ends in (
        "su001-host01,rail9,su001-tor1a,swp1",
        "nobody,x,nobody,y",
        "su001-host01,rail1,spine01a,x",
        "su001-host01,rail1,su001-host02,rail1",
    ):
        _, reported = planned_with(tmp_path, "", f"{row}{ends},10.0.0.2,10.0.0.3\n")
        assert [each.split()[1] for each in reported] == ["FAB3125"]


def test_the_lock_pins_the_length_of_blocks(tmp_path: Path) -> None:
    """Blocks that come when the fabric stands are as long as the ones that it has."""
    before, _ = planned_with(tmp_path)
    _, reported = planned_with(tmp_path, "device,hosts4\nsu001-tor1a,10.40.7.0/24\n", lock=before.lock)
    assert [each.split(" | ")[0] for each in reported] == [
        "devices.csv:2:13 FAB3273 IPv4 host block 10.40.7.0/24 of su001-tor1a is no /26, as long as the aggregate of "
        "every ToR of this fabric"
    ]
    after, reported = planned_with(tmp_path, "device,hosts4\nsu001-tor1a,10.40.7.0/26\n", lock=before.lock)
    assert not reported
    assert after.lock == before.lock


def test_a_block_of_one_family_leaves_the_other_as_computed(tmp_path: Path) -> None:
    both = {"family": "dual"}
    plain = find_blocks(fabric_with(tmp_path, addressing=both), "su001-tor1a")
    six = next(each for each in plain if ":" in each)
    four = next(each for each in plain if "." in each)
    given6 = f"{ip_address(six.partition('/')[0]) + (1 << 40)}/122"
    fabric = fabric_with(tmp_path, f"device,hosts6\nsu001-tor1a,{given6}\n", addressing=both)
    assert set(find_blocks(fabric, "su001-tor1a")) == {four, given6}
    port = fabric.host(next(iter(fabric.host_ids()))).ports[0]
    assert port.ipv4 == "10.0.0.1/31"
    assert port.ipv6 == f"{ip_address(given6.partition('/')[0]) + 1}/127"


def test_address_block_of_shared_hosts_is_not_reassigned(tmp_path: Path) -> None:
    groups = [
        {"name": "train", "model": "dgx-h100", "hosts": 32, "hosts_per_unit": 16},
        {"name": "login", "model": "storage-2x400", "hosts": 2, "hosts_per_unit": 2, "beside": "train"},
    ]
    gpus = {"model": None, "hosts": None, "hosts_per_unit": None, "capacity": 96, "groups": groups}
    plain = fabric_with(tmp_path, gpus=gpus, addressing={"family": "ipv4"})
    own, beside = find_blocks(plain, "su001-tor1a")
    _, reported = planned_with(
        tmp_path, f"device,hosts4\nsu001-tor2a,{beside}\n", gpus=gpus, addressing={"family": "ipv4"}
    )
    assert len(reported) == 1
    assert f"{beside} of su001-tor2a is that of the hosts of " in reported[0]
    assert "behind su001-tor1a | Give another." in reported[0]
    assert own != beside
