"""Correct designs of other networks: policies by AS path and by protocol, two fabrics with one address plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder
from tests.audit import corpora
from tests.review.diff.edits import SYSTEMS, built_tree

if TYPE_CHECKING:
    from pathlib import Path

POLICIES = {
    "own routes": ("permit ^$", False),
    "every route": ("permit .*", None),
}


def frr_text(name: str, asn: int, links: dict[str, tuple[str, str, int]], policy: str) -> str:
    """Return an FRR configuration: port -> own address, address and AS number of the neighbor."""
    lines = ["frr version 10.1", f"hostname {name}", f"bgp as-path access-list LOCAL seq 5 {policy}"]
    for port, (own, _, _) in links.items():
        lines += [f"interface {port}", f" ip address {own}/31", "exit"]
    lines += [f"router bgp {asn}", f" bgp router-id {links['swp1'][0]}"]
    lines += [f" neighbor {far} remote-as {remote}" for _, far, remote in links.values()]
    lines += [" address-family ipv4 unicast", "  network 10.9.0.0/24" if asn < 65100 else "  maximum-paths 4"]
    way = "route-map OUT out" if asn < 65100 else "route-map ALL out"
    lines += [f"  neighbor {far} {way}" for _, far, _ in links.values()]
    lines += [f"  neighbor {far} route-map ALL in" for _, far, _ in links.values()]
    lines += [" exit-address-family", "exit", "route-map OUT permit 10", " match as-path LOCAL", "exit"]
    return "\n".join([*lines, "route-map ALL permit 10", "exit", ""])


def write_fabric(folder: Path, policy: str) -> None:
    """Write two leaves and two spines with AS numbers of their own."""
    for at in (1, 2):
        leaf = {f"swp{s}": (f"10.0.{at}.{s * 2}", f"10.0.{at}.{s * 2 + 1}", 65100 + s) for s in (1, 2)}
        spine = {f"swp{t}": (f"10.0.{t}.{at * 2 + 1}", f"10.0.{t}.{at * 2}", 65000 + t) for t in (1, 2)}
        for name, asn, links in ((f"leaf{at}", 65000 + at, leaf), (f"spine{at}", 65100 + at, spine)):
            (folder / name).mkdir()
            (folder / name / "frr.conf").write_text(frr_text(name, asn, links, policy))


@pytest.mark.parametrize(("policy", "leaks"), POLICIES.values(), ids=POLICIES)
def test_a_policy_by_as_path_is_followed_or_not_judged(
    policy: str, leaks: bool | None, tmp_path: Path
) -> None:
    write_fabric(tmp_path, policy)
    found = audit_folder(tmp_path, jobs=1)
    codes = {each.code for each in found.findings if each.severity is not Severity.NOTE}
    assert not codes & {"FAB6210", "FAB6211"}
    answers = {each.code: each for each in found.progress}
    assert (answers["FAB6210"].unproved == 0) is (leaks is not None)


def test_a_link_decides_between_two_devices_with_one_address(tmp_path: Path) -> None:
    for fabric, password in (("a", "  neighbor {far} password 7 00\n"), ("b", "")):
        for name, own, far, asn, remote in (("leaf", 1, 0, 65001, 65101), ("spine", 0, 1, 65101, 65001)):
            other = "spine" if name == "leaf" else "leaf"
            line = password.format(far=f"10.44.0.{far}").replace("  ", "   ", 1)
            (tmp_path / f"{fabric}{name}.cfg").write_text(
                f"hostname {fabric}{name}\n!\nip routing\n!\ninterface Ethernet1\n"
                f"   description {fabric}{other}_Ethernet1\n   no switchport\n   ip address 10.44.0.{own}/31\n!\n"
                f"router bgp {asn}\n   router-id 10.44.1.{own}\n   neighbor 10.44.0.{far} remote-as {remote}\n"
                f"{line}!\nend\n"
            )
    found = audit_folder(tmp_path, jobs=1)
    assert len(found.found.links) == 2
    assert [each.message for each in found.findings if each.code == "FAB9601"] == []


EVPN = "  address-family l2vpn evpn\n  neighbor {far} activate\n exit-address-family\n"


@pytest.mark.parametrize("both", [True, False], ids=["both ends", "one end"])
def test_evpn_of_frr_is_a_family_of_the_session(both: bool, tmp_path: Path) -> None:
    for name, own, far, asn, remote in (("a", 1, 0, 65001, 65101), ("b", 0, 1, 65101, 65001)):
        evpn = EVPN.format(far=f"10.3.0.{far}") if both or name == "a" else ""
        (tmp_path / name).mkdir()
        (tmp_path / name / "frr.conf").write_text(
            f"frr version 10.1\nhostname {name}\ninterface swp1\n ip address 10.3.0.{own}/31\nexit\n"
            f"router bgp {asn}\n bgp router-id 10.3.1.{own}\n neighbor 10.3.0.{far} remote-as {remote}\n{evpn}exit\n"
        )
    found = [each.message for each in audit_folder(tmp_path, jobs=1).findings if each.code == "FAB9601"]
    assert [("carries no evpn" in message, message[0]) for message in found] == (
        [] if both else [(True, "b")]
    )


PROTOCOLS = {
    "ospf": "ospf {{ area 0.0.0.0 {{ interface lo0.0; {} }} }}",
    "ospf3": "ospf3 {{ area 0.0.0.0 {{ interface lo0.0; {} }} }}",
    "isis": "isis {{ interface lo0.0; {} }}",
}


def junos_text(name: str, ports: dict[str, str], routing: str) -> str:
    """Return a Junos configuration: port -> address."""
    text = "".join(
        f"{port} {{ unit 0 {{ family inet{'6' if ':' in address else ''} {{ address {address}; }} }} }}\n"
        for port, address in ports.items()
    )
    return f"system {{ host-name {name}; }}\ninterfaces {{\n{text}}}\n{routing}\n"


@pytest.mark.parametrize("protocol", [*PROTOCOLS, ""])
def test_a_junos_port_without_passive_shows_a_link_state_protocol(protocol: str, tmp_path: Path) -> None:
    links = ["et-0/0/0", "et-0/0/1"]
    running = (
        PROTOCOLS[protocol].format("".join(f"interface {port}.0; " for port in links)) if protocol else ""
    )
    for end, name in enumerate(("r1", "r2")):
        ports = {port: f"10.5.{at}.{end}/31" for at, port in enumerate(links)} | {"lo0": f"10.5.9.{end}/32"}
        ports |= {"et-0/0/2": "10.5.2.0/31"} if name == "r1" else {}
        inside = f"group over {{ type internal; local-address 10.5.9.{end}; neighbor 10.5.9.{1 - end}; }}"
        outside = "group ext { type external; neighbor 10.5.2.1 { peer-as 65200; } }" if name == "r1" else ""
        routing = f"protocols {{ bgp {{ {inside} {outside} }} {running} }}"
        (tmp_path / f"{name}.conf").write_text(
            junos_text(name, ports, f"routing-options {{ autonomous-system 65100; }}\n{routing}")
        )
    (tmp_path / "x1.conf").write_text(
        junos_text(
            "x1",
            {"et-0/0/0": "10.5.2.1/31"},
            "routing-options { autonomous-system 65200; }\n"
            "protocols { bgp { group up { type external; neighbor 10.5.2.0 { peer-as 65100; } } } }",
        )
    )
    found = audit_folder(tmp_path, jobs=1).findings
    assert any(each.code == "FAB6209" for each in found) is not bool(protocol)
    assert any("link-state" in each.message for each in found) is bool(protocol)


@pytest.mark.parametrize("family", ["", "family inet { unicast; }"], ids=["default", "IPv4 alone"])
def test_a_junos_session_without_a_family_carries_that_of_its_address(family: str, tmp_path: Path) -> None:
    (tmp_path / "j.conf").write_text(
        junos_text(
            "j",
            {"et-0/0/0": "2001:db8:7::/127"},
            "routing-options { router-id 10.7.7.1; autonomous-system 65001; }\n"
            f"protocols {{ bgp {{ group six {{ type external; {family} "
            "neighbor 2001:db8:7::1 { peer-as 65002; } } } }",
        )
    )
    (tmp_path / "e.cfg").write_text(
        "hostname e\n!\nip routing\n!\nipv6 unicast-routing\n!\ninterface Ethernet1\n   no switchport\n"
        "   ipv6 address 2001:db8:7::1/127\n!\nrouter bgp 65002\n   router-id 10.7.7.2\n"
        "   no bgp default ipv4-unicast\n   neighbor 2001:db8:7:: remote-as 65001\n   !\n"
        "   address-family ipv6\n      neighbor 2001:db8:7:: activate\n!\nend\n"
    )
    found = audit_folder(tmp_path, jobs=1)
    assert any("carries no ipv6" in each.message for each in found.findings) is bool(family)


@pytest.mark.parametrize("overlay", [True, False], ids=["between loopbacks", "nowhere"])
def test_evpn_between_loopbacks_is_no_missing_path_of_a_link(overlay: bool, tmp_path: Path) -> None:
    for name, far, numbers in (
        ("lf1", "10.66.0.1", {1: 65000}),
        ("lf2", "10.66.0.1", {2: 65000}),
        ("sp1", "", {1: 65101, 2: 65102}),
    ):
        leaf = name.startswith("lf")
        loopback = f"10.66.1.{name[2]}" if leaf else "10.66.0.1"
        lines = [
            f"hostname {name}",
            "ip routing",
            "vlan 20",
            "interface Loopback0",
            f"   ip address {loopback}/32",
        ]
        for at in numbers:
            lines += [
                f"interface Ethernet{at}",
                "   no switchport",
                f"   ip address 10.66.1{at}.{int(leaf)}/31",
            ]
        lines += (
            ["interface Vxlan1", "   vxlan source-interface Loopback0", "   vxlan vlan 20 vni 10020"]
            if leaf
            else []
        )
        lines += [
            f"router bgp {65100 + int(name[2]) if leaf else 65000}",
            f"   router-id {loopback}",
            "   maximum-paths 4",
        ]
        lines += [f"   neighbor 10.66.1{at}.{1 - int(leaf)} remote-as {asn}" for at, asn in numbers.items()]
        active = []
        for at, asn in numbers.items() if overlay else ():
            peer = far or f"10.66.1.{at}"
            lines += [f"   neighbor {peer} remote-as {asn}", f"   neighbor {peer} update-source Loopback0"]
            lines += [f"   neighbor {peer} ebgp-multihop 3", f"   neighbor {peer} send-community extended"]
            lines += [] if leaf else [f"   neighbor {peer} next-hop-unchanged"]
            active.append(f"      neighbor {peer} activate")
        lines += ["   redistribute connected"]
        vlan = [
            "   vlan 20",
            f"      rd {loopback}:20",
            "      route-target both 20:20",
            "      redistribute learned",
        ]
        lines += [*(vlan if leaf else ()), "   address-family evpn", *active]
        (tmp_path / f"{name}.cfg").write_text("\n".join([*lines, "end", ""]))
    found = audit_folder(tmp_path, jobs=1).findings
    assert (
        any("do not get routes of each other, such as EVPN" in each.message for each in found) is not overlay
    )


AS_OVERRIDE = {
    "frr": ("  network 10.9.{n}.0/24\n", "  neighbor {far} as-override\n"),
    "eos": ("   network 10.9.{n}.0/24\n", "   neighbor {far} as-path remote-as replace out\n"),
}
FRAMES = {
    "frr": (
        "frr version 10.1\nfrr defaults datacenter\nhostname {name}\n",
        "interface swp{at}\n ip address {own}/31\nexit\n",
        "router bgp {asn}\n no bgp ebgp-requires-policy\n", " neighbor {far} remote-as {remote}\n",
        " address-family ipv4 unicast\n", " exit-address-family\nexit\n",
    ),
    "eos": (
        "hostname {name}\n!\nip routing\n!\n",
        "interface Ethernet{at}\n   no switchport\n   ip address {own}/31\n!\n",
        "router bgp {asn}\n   maximum-paths 4 ecmp 4\n", "   neighbor {far} remote-as {remote}\n", "", "!\nend\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("override", [True, False], ids=["as-override", "plain"])
@pytest.mark.parametrize("system", FRAMES)
def test_a_spine_that_replaces_the_as_of_its_leaves_loses_no_route(
    system: str, override: bool, tmp_path: Path
) -> None:
    head, port, process, session, family, end = FRAMES[system]
    network, replaced = AS_OVERRIDE[system]
    for name, asn, remote in (
        ("lf1", 65001, 65100),
        ("lf2", 65001, 65100),
        ("sp1", 65100, 65001),
        ("sp2", 65100, 65001),
    ):
        n, leaf = int(name[-1]), name[:2] == "lf"
        links = [(f"10.0.{n if leaf else k}.{k * 2 if leaf else n * 2}", k) for k in (1, 2)]
        ends = [(own, own[: own.rindex(".") + 1] + str(int(own.rsplit(".", 1)[1]) + 1)) for own, _ in links]
        ends = ends if leaf else [(far, own) for own, far in ends]
        text = head.format(name=name)
        text += "".join(port.format(at=at, own=own) for at, (own, _) in enumerate(ends, 1))
        text += (
            process.format(asn=asn)
            + "".join(session.format(far=far, remote=remote) for _, far in ends)
            + family
        )
        text += network.format(n=n) if leaf else ""
        text += "".join(replaced.format(far=far) for _, far in ends) if override and not leaf else ""
        (tmp_path / f"{name}.cfg").write_text(text + end)
    found = audit_folder(tmp_path, jobs=1)
    assert len(found.found.links) == 4
    lost = [each.message for each in found.findings if "such as 10.9." in each.message]
    assert bool(lost) is not override


IRBS = {
    "a": {10: ("10.7.10.0/31", "b irb.10"), 20: ("10.7.20.0/31", "c irb.20")},
    "b": {10: ("10.7.10.1/31", "a irb.10")},
    "c": {20: ("10.7.20.1/31", "a irb.20")},
}


def test_units_of_irb_are_ports_of_their_own(tmp_path: Path) -> None:
    for name, units in IRBS.items():
        text = "".join(
            f'unit {unit} {{ description "{far}"; family inet {{ address {at}; }} }}\n'
            for unit, (at, far) in units.items()
        )
        (tmp_path / f"{name}.conf").write_text(
            f"system {{ host-name {name}; }}\ninterfaces {{\nirb {{ mtu 9000;\n{text}}}\n}}\n"
        )
    assert [each.message for each in audit_folder(tmp_path, jobs=1).findings if each.code == "FAB9609"] == []


def test_sessions_join_a_link_that_descriptions_alone_show(tmp_path: Path) -> None:
    for name, other, asn, own, far in (("lf1", "sp1", 65001, 0, 1), ("sp1", "lf1", 65100, 1, 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "frr.conf").write_text(
            f"frr version 10.1\nhostname {name}\ninterface swp1\n description {other} swp1\nexit\n"
            f"router bgp {asn}\n bgp router-id 10.9.1.{own}\n"
            f" neighbor 10.9.0.{far} remote-as {130101 - asn}\n exit\n"
        )
    found = audit_folder(tmp_path, jobs=1)
    assert len(found.found.links) == 1
    assert [each.message for each in found.findings if each.code == "FAB9601"] == []


COMMUNITY_LISTS = {
    "frr": (
        "frr version 10.1\nhostname a\n",
        "bgp {kind}-list standard C seq {seq} permit {entry}\n",
    ),
    "eos": (
        "! device: a (DCS-7060DX5-64S, EOS-4.32.2F)\nhostname a\n!\n",
        "ip {kind}-list C permit {entry}\n",
    ),
    "nxos": (
        "!Command: show running-config\nversion 10.4(3) Bios:version\nhostname a\nfeature bgp\n",
        "ip {kind}-list standard C seq {seq} permit {entry}\n",
    ),
}
ENTRIES = (
    ("community", "65000:1"), ("community", "65000:2"), ("extcommunity", "rt 65000:1"),
    ("large-community", "65000:1:1"),
)  # fmt: skip


@pytest.mark.parametrize("system", COMMUNITY_LISTS)
def test_community_lists_are_one_fact_on_every_system(system: str, tmp_path: Path) -> None:
    head, entry = COMMUNITY_LISTS[system]
    text = "".join(
        entry.format(kind=kind, seq=at * 5, entry=output) for at, (kind, output) in enumerate(ENTRIES, 1)
    )
    (tmp_path / "a.cfg").write_text(head + text + "router bgp 65001\n")
    device = audit_folder(tmp_path, jobs=1).found.devices["a"]
    lists = {
        path: value for path, value in device.reading.facts.items() if path.startswith("community_list[")
    }
    assert lists == {
        "community_list[C]": "65000:1, 65000:2",
        "community_list[extended C]": "rt 65000:1",
        "community_list[large C]": "65000:1:1",
    }


@pytest.mark.parametrize(
    "nos", [pytest.param(each, marks=() if each == "sonic" else pytest.mark.slow) for each in SYSTEMS]
)
def test_a_port_to_a_router_outside_is_not_compared_with_ports_to_hosts(nos: str) -> None:
    found = audit_folder(built_tree(nos) / "switches", jobs=1)
    assert [each.message for each in found.findings if each.code == "FAB9610"] == []


@pytest.mark.slow
@pytest.mark.skipif(not corpora.ROOT.is_dir(), reason="the configurations that others wrote are not here")
def test_ports_and_policies_of_validated_designs_of_juniper_are_like_their_peers():
    """Members of bundles, ports of VRFs to routers outside, and policies that others name in `from policy`."""
    designs = corpora.ROOT / "junos/juniper-jvd"
    for design in (
        "adc-5stage_evpn_vxlan",
        "aidc-aiml_inference_frontend",
        "service_provider-low_latency_queueing",
    ):
        found = audit_folder(designs / design, jobs=1).findings
        odd = [each for each in found if each.code in ("FAB9610", "FAB9664")]
        assert {each.message for each in odd if each.severity is not Severity.NOTE} <= {
            "leaf002-001-1 qos pfc priority 3 queue: 5 here, nothing on 5 ToRs"
        }
