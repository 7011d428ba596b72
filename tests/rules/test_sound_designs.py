# ruff: noqa: E501  (an edit is one line)
"""Correct designs of other networks, made of the switches of a sound fabric, have no finding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.audit.rules import find_all
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from tests.audit import ours
from tests.audit.faults.edits import add, chain_edits, edit_nvue, edit_tables, replace, walk
from tests.audit.faults.fabric import audit_altered, build_texts, collect_texts, spine_names, tor_names
from tests.audit.faults.traffic import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.audit.faults.edits import Files

_LIST = r"maximum-paths 64"
_CLAUSE = r"^route-map FROM-UPSTREAM permit 10"


def _serve_own_packets(tables: dict[str, Any]) -> None:
    tables["TC_TO_QUEUE_MAP"]["AZURE"]["7"] = "7"
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["7"] = "0"
    ports = [name.partition("|")[0] for name in tables["QUEUE"] if name.endswith("|6")]
    tables["QUEUE"] |= {f"{port}|7": {"scheduler": "cnp"} for port in ports}


def _announce_service(files: Files) -> Files:
    """Announce the address of a service, which is a subnet at the first rack and behind a host at others."""
    files = add("  network 10.77.0.0/24\n", after=_LIST)(files)
    if "hostname rack001" in files["frr.conf"]:
        return add("interface swp1\n ip address 10.77.0.1/24 secondary\nexit\n", before="^router bgp")(files)
    host = re.findall(r"^ ip address (10\.0\.\S+)\.(\d+)/31", files["frr.conf"], re.MULTILINE)[0]
    return add(f"ip route 10.77.0.0/24 {host[0]}.{int(host[1]) + 1}\n", before="^router bgp")(files)


def _commands(*rules: str) -> Callable[[Files], Files]:
    return add("".join(f"    up iptables {each}\n" for each in rules), after="^iface eth0", file="interfaces")


FRR: dict[str, tuple[str, Callable[[Files], Files]]] = {
    "a spine takes the parts of its aggregate": ("spine", chain_edits(
        add("  aggregate-address 10.0.0.0/8\n  neighbor DOWNSTREAM-V4 prefix-list PODS in\n", after=_LIST),
        add("ip prefix-list PODS seq 5 permit 10.0.0.0/8 ge 24\n", before="^router bgp"))),
    "some prefixes are denied, the rest is permitted": ("tor", chain_edits(
        add("route-map FROM-UPSTREAM deny 5\n match ip address prefix-list OTHERS\nexit\n", before=_CLAUSE),
        replace(r"^ip prefix-list FABRIC-V4 seq 5 .*\n.*", "ip prefix-list FABRIC-V4 seq 5 permit 0.0.0.0/0 le 32\nip prefix-list OTHERS seq 5 permit 127.0.0.0/8 le 32"))),
    "a source that is a second address of the loopback": ("tor", add(
        "interface lo\n ip address 10.99.0.1/32\nexit\nroute-map SRC permit 10\n set src 10.99.0.1\nexit\nip protocol bgp route-map SRC\n", before="^router bgp")),
    "a list of AS paths with repetitions of repetitions": ("tor", chain_edits(
        add("  neighbor UPSTREAM-V4 filter-list DEEP in\n", after=_LIST),
        add(f"bgp as-path access-list DEEP seq 5 deny (4+)+x\nbgp as-path access-list DEEP seq 10 permit _{'4' * 26}_\n",
            before="^router bgp"))),
    "routes that an operator marks to be dropped": ("tor", add(
        "route-map TO-UPSTREAM permit 5\n match tag 666\n set community blackhole additive\nexit\n", before="^route-map TO-UPSTREAM permit 20")),
    "a shut profile that no session uses": ("tor", add("bfd\n profile MAINT\n  shutdown\n exit\nexit\n")),
    "sessions shut by default, and each one enabled": ("tor", chain_edits(
        add(" bgp default shutdown\n", after="^router bgp"),
        replace(r"^( neighbor (\S+) remote-as \d+)$", r"\1\n no neighbor \2 shutdown"))),
    "commands that accept ports before the policy": ("tor", _commands("-P INPUT DROP", "-A INPUT -i swp+ -j ACCEPT")),
    "a command that accepts ports before others": ("tor", _commands("-A INPUT -j DROP", "-I INPUT -i swp+ -j ACCEPT")),
    "commands that accept services": ("tor", _commands(
        "-A INPUT -p tcp -m tcp --dport 179 -j ACCEPT", "-A INPUT -p udp -m multiport --dports 3784,4784 -j ACCEPT",
        "-A INPUT -p icmp -j ACCEPT", "-P INPUT DROP")),
    "commands that drop invalid packets": ("tor", _commands(
        "-A INPUT -m conntrack --ctstate INVALID -j DROP", "-A INPUT -s 127.0.0.0/8 ! -i lo -j DROP")),
    "commands that accept all but the management port": ("tor", _commands("-A INPUT ! -i eth0 -j ACCEPT", "-P INPUT DROP")),
    "commands that forward between ports": ("tor", _commands("-P FORWARD DROP", "-A FORWARD -i swp+ -o swp+ -j ACCEPT")),
}  # fmt: skip
"""Design -> tier of the switches and edit."""
HELPERS = {
    "nxos": add("  graceful-shutdown aware\n", after="^router bgp .*"),
    "junos": add("    graceful-shutdown {\n        receiver {\n            local-preference 0;\n        }\n    }\n", after=r"^    bgp \{"),
}  # fmt: skip
"""System -> the statement by which it avoids neighbors in graceful shutdown."""


OTHERS: dict[str, tuple[str, Callable[[Files], Files]]] = {
    "headroom for frames of RDMA": ("junos", replace("mru 9114", "mru 4500")),
    "an inactive filter": ("junos", add("inactive: firewall {\n    family inet {\n        filter OLD {\n            term a {\n                then accept;\n            }\n        }\n    }\n}\n", before=r"^class-of-service")),
    "an inactive policy": ("junos", add("    inactive: policy-statement DRAIN {\n        term a {\n            then reject;\n        }\n    }\n", after=r"^policy-options")),
    "an inactive spare port": ("junos", add('    et-0/0/60 {\n        inactive: unit 0 {\n            family inet {\n                address 10.250.0.0/31;\n            }\n        }\n    }\n', after=r"^interfaces \{")),
    "a neighbor in reserve": ("junos", add("            inactive: neighbor 10.64.200.0 {\n                peer-as 4200065536;\n            }\n", after=r"^        group UPSTREAM")),
    "a spare port": ("eos", replace(r"^(interface Ethernet1/1\n   description ).*\n((?: .*\n)*?)   ip address .*\n", r"\1spare\n\2")),
    "a host in the first VLAN": ("eos", replace(r"^(interface Ethernet1/1\n(?: .*\n)*?)   no switchport\n   ip address .*\n", r"\1")),
    "an agent that forwards logs": ("eos", replace(r"192\.0\.2\.20", "127.0.0.1")),
    "a host port that borrows an address": ("junos", replace(r"address 10\.0\.\d+\.\d+/31;", "unnumbered-address lo0.0;", count=1)),
    "logins from local addresses of IPv6": ("junos", replace(r"192\.0\.2\.0/24;", "fd00::/8;")),
    "a queue for packets of the switch": ("sonic", edit_tables(_serve_own_packets)),
}  # fmt: skip
"""Design -> system and edit."""


def find_faults(system: str, tier: str, edit: Callable[[Files], Files]) -> list[str]:
    names = tor_names(system) if tier == "tor" else spine_names(system)
    texts = build_texts(system)
    found = audit_altered(system, {name: edit(dict(texts[name])) for name in names})
    return [each.message for each in found if each.severity is not Severity.NOTE]


@pytest.mark.spread
@pytest.mark.parametrize("design", FRR)
def test_a_correct_design_of_frr_is_silent(design: str) -> None:
    assert find_faults("frr", *FRR[design]) == []


def test_a_network_with_a_route_to_a_host_is_no_foreign_one() -> None:
    assert not [each for each in find_faults("frr", "tor", _announce_service) if "whose subnets are" in each]


@pytest.mark.parametrize("system", HELPERS)
def test_avoiding_neighbors_in_graceful_shutdown_is_no_shutdown(system: str) -> None:
    assert find_faults(system, "tor", HELPERS[system]) == []


@pytest.mark.spread
@pytest.mark.parametrize("design", OTHERS)
def test_a_correct_design_of_another_system_is_silent(design: str) -> None:
    system, edit = OTHERS[design]
    assert find_faults(system, "tor", edit) == []


@pytest.mark.parametrize("system", ["eos", "sonic"])
def test_a_tor_alone_has_ports_with_sessions_and_no_hosts_there(system: str, tmp_path: Path) -> None:
    name = tor_names(system)[0]
    devices = collect_texts(tmp_path, {name: build_texts(system)[name]})
    found = find_all(ours.infer_fabric(dict(devices)))
    assert [each.message for each in found if each.severity is not Severity.NOTE] == []


OPEN = {
    "nxos": replace(r"^ +route-map (?:FROM|TO)-\S+ (?:in|out)\n", ""),
    "junos": replace(r"^ +import (?:FROM|TO)-.*\n", ""),
}  # fmt: skip
"""System -> what makes its switches take every route, as published designs of fabrics do."""


@pytest.mark.parametrize("system", OPEN)
def test_a_switch_without_files_is_no_unknown_peer(system: str, tmp_path: Path) -> None:
    missing, stranger = spine_names(system)[0], KINDS["session to an unknown peer"][1][system]
    texts = {
        name: OPEN[system](dict(files)) for name, files in build_texts(system).items() if name != missing
    }
    found = _find_unknown_peers(tmp_path / "half", texts)
    assert found == []
    joined = spine_names(system)[1]
    texts[joined] = stranger(dict(texts[joined]))
    (message,) = _find_unknown_peers(tmp_path / "joined", texts)
    assert "198.51.100.1" in message


def _lead_out(files: Files, neighbor: str, firewall: str = "") -> Files:
    """Lead a default route to a firewall, if there is one, and in reserve to a neighbor."""
    ways = [firewall, f"{neighbor} 5"] if firewall else [f"{neighbor} 5"]
    port = "interface Ethernet60/1\n   no switchport\n   ip address 198.51.100.0/31\n"
    routes = "".join(f"ip route 0.0.0.0/0 {each}\n" for each in ways)
    return add(f"{port if firewall else ''}{routes}", before=r"^ip route vrf MGMT")(files)


@pytest.mark.parametrize("firewall", ["198.51.100.1", ""])
def test_defaults_in_reserve_circle_where_nothing_else_leads_out(firewall: str) -> None:
    texts = build_texts("eos")
    altered = {
        "x01": _lead_out(dict(texts["x01"]), "10.64.0.1", firewall),
        "rack001-leaf": _lead_out(dict(texts["rack001-leaf"]), "10.64.0.0"),
    }
    found = [each for each in audit_altered("eos", altered) if each.severity is not Severity.NOTE]
    assert [each.code for each in found] == ([] if firewall else ["FAB9680"] * 2)


def _find_unknown_peers(folder: Path, texts: dict[str, Files]) -> list[str]:
    found = find_all(ours.infer_fabric(dict(collect_texts(folder, texts))))
    return [each.message for each in found if "which no known switch has" in each.message]


def test_frr_conf_alone_does_not_state_the_loopback(tmp_path: Path) -> None:
    texts = {name: {"frr.conf": files["frr.conf"]} for name, files in build_texts("frr").items()}
    found = find_all(ours.infer_fabric(dict(collect_texts(tmp_path, texts))))
    assert [each.message for each in found if each.severity is not Severity.NOTE] == []


def test_a_spine_of_cumulus_redistributes_no_ports() -> None:
    edit = edit_nvue(lambda tree: _unicast(tree).pop("redistribute"))
    assert find_faults("cumulus", "spine", edit) == []


def _unicast(tree: dict[str, Any]) -> dict[str, Any]:
    return walk(tree, "vrf", "default", "router", "bgp", "address-family", "ipv4-unicast")


DRAINS = {
    "frr": replace(r"^(route-map TO-UPSTREAM .*\n match .*\n)", r"\1 set community graceful-shutdown additive\n"),
    "cumulus": edit_nvue(lambda tree: [
        rule.setdefault("set", {}).update(community={"65535:0": {}})
        for rule in walk(tree, "router", "policy", "route-map")["TO-UPSTREAM"]["rule"].values()
    ]),
}  # fmt: skip
"""System -> the mark by which a ToR is drained (RFC 8326)."""


@pytest.mark.parametrize("system", DRAINS)
def test_a_drained_switch_is_a_note(system: str) -> None:
    """Trees of a planned drain have it, so a review of them has no warning."""
    name = tor_names(system)[0]
    found = audit_altered(system, {name: DRAINS[system](dict(build_texts(system)[name]))})
    of_switch = {
        (each.code, each.severity) for each in found if name in each.message and "65535:0" in each.message
    }
    assert of_switch == {("FAB9610", Severity.NOTE)}
    assert {each.severity for each in found} == {Severity.NOTE}


DESIGNS = {
    "another priority": ("rdma: {dscp: 26, lossless: true}", "rdma: {dscp: 26, lossless: true, priority: 5}"),
    "PFC alone": ("management:\n", "congestion: {profile: pfc-only}\nmanagement:\n"),
}
"""Designs of lossless classes that only hosts show to be meant."""


def find_warnings(path: Path, hosts: bool) -> set[str]:
    """Return the codes of warnings and errors about the built files of a spec, without its plan."""
    found = find_all(ours.infer_fabric(ours.found_in(path, hosts=hosts).devices))
    return {each.code for each in found if each.severity is not Severity.NOTE}


@pytest.mark.parametrize(("design", "code"), [("another priority", "FAB9607"), ("PFC alone", "FAB9606")])
@pytest.mark.parametrize("system", ["eos", "junos"])
@pytest.mark.spread
def test_hosts_show_the_design_of_lossless_classes(
    system: str, design: str, code: str, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.yaml"
    services = "  ntp: [192.0.2.10]\n  syslog: [192.0.2.20]\n"
    text = ours.spec_of(system).replace("accept:\n", f"{services}accept:\n")
    path.write_text(text.replace(*DESIGNS[design]))
    assert find_warnings(path, hosts=True) == set()
    assert find_warnings(path, hosts=False) == {code}


def test_switches_without_marking_are_reported_where_hosts_expect_it(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(ours.spec_of("eos"))
    files = {
        switch.name: {"running-config.cfg": re.sub(r"(?m)^.*random-detect ecn.*\n", "", text)}
        for switch in ours.switches_of(path)
        for text in back_ends.load("eos").render(switch).values()
    }
    found = ours.found_in(path, files, hosts=True)
    assert "FAB9606" in {each.code for each in find_all(found)}


def test_a_family_without_addresses_is_not_missed(tmp_path: Path) -> None:
    """A session of NX-OS over link-local addresses offers both families, other systems the used one."""
    path = tmp_path / "cluster.yaml"
    text = ours.spec_of("nxos", more="addressing: {fabric_links: unnumbered}\n")
    spines = "spines: {model: 9364e-sg2, nos: nxos"
    assert spines in text
    path.write_text(
        text.replace(spines, "spines: {model: sn5600, nos: cumulus").replace("uplinks: 4", "uplinks: 2")
    )
    assert "FAB9601" not in find_warnings(path, hosts=False)
