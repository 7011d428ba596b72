"""The text is the device's own: golden files, the canonical order and the traps of NX-OS's syntax.

`UPDATE_GOLDEN=1 pytest tests/back/nos/nxos/test_render.py` rewrites the golden files.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.nxos import FILE, NXOS
from fabricc.fabric.model import Account
from fabricc.fabric.routing import LoadBalancing, Spreading
from fabricc.fabric.shape import TierName
from tests.back.nos.nxos.variants import GOLDENS, VARIANTS, large_switch, variant
from tests.effort import count_calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.model import Switch

GOLDEN = Path(__file__).parent / "golden"
# The order of the blocks in a device's running configuration, by the first words of the block.
ORDER = (
    "hostname", "policy-map type network-qos", "feature", "username", "banner motd", "no ip source-route",
    "ip domain-lookup",
    "ip name-server",
    "tacacs-server", "radius-server", "aaa group", "ip access-list", "ipv6 access-list",
    "class-map type qos", "policy-map type qos", "policy-map type queuing", "system qos", "copp",
    "priority-flow-control", "no cdp enable", "lldp", "snmp-server", "ntp", "aaa a", "logging", "ip load-sharing",
    "ip prefix-list",
    "ipv6 prefix-list", "ip community-list", "route-map", "vrf context", "bfd", "hardware profile",
    "interface breakout", "interface Ethernet", "interface mgmt0", "interface loopback0", "line vty", "nxapi", "grpc",
    "router bgp",
)  # fmt: skip
NEEDS = {"router bgp": "bgp", "bfd interval": "bfd"}


def text_of(name: str) -> str:
    return NXOS.render(variant(name))[FILE]


def render_lines(name: str) -> list[str]:
    return text_of(name).splitlines()


@pytest.mark.parametrize("name", GOLDENS)
def test_the_text_is_the_golden_text(name: str) -> None:
    text = text_of(name)
    golden = GOLDEN / f"{name.partition('/')[2]}.cfg"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VARIANTS)
def test_blocks_come_in_the_order_of_a_running_configuration(name: str) -> None:
    def rank(line: str) -> int:
        found = [i for i, start in enumerate(ORDER) if line.startswith(start)]
        assert found, line
        return found[-1]

    ranks = [rank(line) for line in render_lines(name) if line and line[0] != " "]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("name", VARIANTS)
def test_modes_are_two_spaces_deep_and_entered_one_at_a_time(name: str) -> None:
    before = 0
    for line in render_lines(name):
        depth = (len(line) - len(line.lstrip())) // 2
        if line.startswith("aaa group"):
            depth = 1  # a device prints the lines of a server group four columns deep
        assert line == line.rstrip()
        assert len(line) - len(line.lstrip()) in (2 * depth, 0)
        assert not line or depth <= before + 1, line
        before = depth if line else before


@pytest.mark.parametrize("name", VARIANTS)
def test_a_feature_is_on_before_anything_uses_it(name: str) -> None:
    text = render_lines(name)
    for start, feature in NEEDS.items():
        used = next(i for i, line in enumerate(text) if line.startswith(start))
        assert f"feature {feature}" in text[:used]
    assert {"feature nxapi", "feature scp-server"} <= set(text)


@pytest.mark.parametrize("choice", ["dual", "unnumbered", "dual-unnumbered"])
def test_no_route_meets_a_clause_about_the_other_family(choice: str) -> None:
    text = text_of(f"cloudscale/{choice}")
    version, used = "", {}
    for line in text.splitlines():
        if found := re.fullmatch(r" +address-family ipv([46]) unicast", line):
            version = found[1]
        elif found := re.fullmatch(r" +(?:redistribute direct )?route-map (\S+)(?: in| out)?", line):
            used.setdefault(found[1], set()).add(version)
    assert used
    for name, versions in used.items():
        assert versions == {name[-1]}
        clauses = re.findall(rf"^route-map {name} \S+ \d+\n((?:  .*\n)*)", text, re.MULTILINE)
        assert clauses, f"{name} is not defined, and would permit everything"
        other = "  match ipv6 address" if versions == {"4"} else "  match ip address"
        assert not any(other in clause for clause in clauses)


def test_a_process_of_one_family_has_one_map() -> None:
    assert "-V4 in" not in text_of("cloudscale/numbered")


def test_gnmi_knows_openconfig_s_paths() -> None:
    assert "feature grpc\nfeature openconfig\n" in text_of("cloudscale/settings")
    assert "openconfig" not in text_of("cloudscale/numbered")


@pytest.mark.parametrize("family", ["cloudscale", "silicon-one"])
def test_unnumbered_ports_are_found_within_seconds_and_distinguished(family: str) -> None:
    text = text_of(f"{family}/unnumbered")
    output = (
        "  ipv6 address use-link-local-only\n  ipv6 link-local use-bia\n  no ipv6 nd suppress-ra\n"
        "  ipv6 nd ra-interval 4 min 3\n  ipv6 nd ra-lifetime 10\n"
    )
    assert text.count(output) == text.count("use-link-local-only") == 2
    assert "ra-interval" not in text_of(f"{family}/dual")


def test_without_bfd_its_feature_is_off() -> None:
    switch = variant("cloudscale/numbered")
    text = NXOS.render(replace(switch, bgp=replace(switch.bgp, bfd_interval_ms=None)))[FILE]
    assert "bfd" not in text


@pytest.mark.parametrize("name", VARIANTS)
def test_both_mtus_are_jumbo(name: str) -> None:
    text = text_of(name)
    classes = re.findall(r"^  class type network-qos \S+\n    mtu (\d+)$", text, re.MULTILINE)
    assert classes
    assert set(classes) == {"9216"}
    interfaces = text.count("  no shutdown\n")
    assert len(re.findall(r"^  mtu 9100$", text, re.MULTILINE)) == interfaces == 5


@pytest.mark.parametrize("name", VARIANTS)
def test_the_default_queue_has_its_own_name(name: str) -> None:
    text = text_of(name)
    assert "q0" not in text
    assert "  class type queuing c-out-8q-q-default\n" in text
    assert "  class type network-qos c-8q-nq-default\n" in text


@pytest.mark.parametrize("name", VARIANTS)
def test_each_egress_policy_names_eight_queues_whose_shares_are_a_hundred(name: str) -> None:
    policies = re.findall(r"^policy-map type queuing PM-OUT\S+\n((?: .*\n)+)", text_of(name), re.MULTILINE)
    assert policies
    for body in policies:
        assert len(re.findall(r"class type queuing c-out-8q-q", body)) == 8
        assert sum(int(n) for n in re.findall(r"remaining percent (\d+)", body)) == 100


@pytest.mark.parametrize("name", VARIANTS)
def test_every_policy_applied_is_defined_and_every_one_defined_is_applied(name: str) -> None:
    text = text_of(name)
    defined = set(re.findall(r"^policy-map type (.*)$", text, re.MULTILINE))
    applied = set(re.findall(r"^  service-policy type (.*)$", text, re.MULTILINE))
    assert {line.replace(" input", "").replace(" output", "") for line in applied} == defined


def test_only_lossless_ports_pause() -> None:
    assert text_of("cloudscale/numbered").count("priority-flow-control mode on") == 5
    lossy = text_of("cloudscale/lossy")
    assert "pause" not in lossy
    assert lossy.count("priority-flow-control mode off") == lossy.count("priority-flow-control") == 5


def test_classes_without_marking_have_none() -> None:
    switch = variant("cloudscale/numbered")
    profiles = tuple(replace(profile, ecn=None) for profile in switch.qos.profiles)
    switch = replace(switch, qos=replace(switch.qos, profiles=profiles))
    files = NXOS.render(switch)
    assert "random-detect" not in files[FILE]
    assert NXOS.read(files).facts == NXOS.planned(switch)


def test_breakout_lines_group_cages_and_precede_their_ports() -> None:
    text = render_lines("cloudscale/numbered")
    assert text.index("interface breakout module 1 port 1-4 map 400g-2x") < text.index(
        "interface Ethernet1/1/1"
    )
    whole = render_lines("silicon-one/numbered")
    assert "interface breakout module 1 port 1-2 map 400g-2x" in whole
    block = whole[whole.index("interface Ethernet1/3") :]
    assert block.index("  speed 800000") < block.index("")
    assert "  speed" not in "\n".join(text)


def test_an_unnumbered_port_forwards_ipv4_without_an_address() -> None:
    text = text_of("cloudscale/unnumbered")
    assert text.count("  ip forward\n  ipv6 address use-link-local-only\n") == 2
    assert "  neighbor Ethernet1/3/1\n    inherit peer UPSTREAM-UN\n" in text


def test_each_tier_hashes_with_its_own_seed() -> None:
    switch = variant("cloudscale/numbered")
    texts = [NXOS.render(replace(switch, tier=tier))[FILE] for tier in TierName]
    seeds = [re.findall(r"^ip load-sharing .* universal-id (\d+)$", text, re.MULTILINE) for text in texts]
    assert len({seed for (seed,) in seeds}) == 3


def test_defaults_that_a_device_hides_are_not_written() -> None:
    switch = variant("cloudscale/numbered")
    ports = tuple(replace(port, mtu=1500) for port in switch.ports)
    bgp = replace(switch.bgp, keepalive_s=60, hold_s=180)
    assert switch.qos.watchdog
    qos = replace(switch.qos, watchdog=replace(switch.qos.watchdog, poll_ms=100))
    text = NXOS.render(replace(switch, ports=ports, bgp=bgp, qos=qos))[FILE]
    assert "  mtu 1500" not in text
    assert "timers" not in text
    assert "watch-dog interval" not in text


def test_servers_and_users_come_in_order() -> None:
    switch = variant("cloudscale/numbered")
    management = replace(
        switch.management,
        ntp=("10.0.0.10", "2001:db8::1", "10.0.0.2"),
        users=(Account("zoe", "ssh-ed25519 AAAAz"), Account("ann", "ssh-ed25519 AAAAa")),
    )
    text = NXOS.render(replace(switch, management=management))[FILE]
    assert re.findall(r"ntp server (\S+)", text) == ["10.0.0.2", "10.0.0.10", "2001:db8::1"]
    assert re.findall(r"username (\S+) sshkey", text) == ["ann", "zoe"]


def test_management_over_ipv6_has_an_ipv6_default_route() -> None:
    switch = variant("cloudscale/numbered")
    management = replace(switch.management, address="2001:db8::b/64", gateway="2001:db8::1")
    switch = replace(switch, management=management)
    files = NXOS.render(switch)
    assert "interface mgmt0\n  vrf member management\n  ipv6 address 2001:db8::b/64\n" in files[FILE]
    assert "vrf context management\n  ipv6 route ::/0 2001:db8::1\n" in files[FILE]
    assert NXOS.read(files).facts == NXOS.planned(switch)


def settings_text(**changes: object) -> str:
    switch = variant("cloudscale/settings")
    return NXOS.render(replace(switch, management=replace(switch.management, **changes)))[FILE]


def test_tacacs_servers_keep_their_order() -> None:
    text = settings_text()
    assert re.findall(r"^    server (\S+)$", text, re.MULTILINE) == ["172.16.0.6", "172.16.0.5"]
    assert "feature tacacs+\n" in text
    assert text.index("tacacs-server host") < text.index("aaa group") < text.index("aaa authentication")


def test_only_the_networks_named_reach_a_service() -> None:
    text = settings_text(access=("172.16.9.0/24",))
    assert "ip access-list FABRICC-ACCESS\n  10 permit ip 172.16.9.0/24 any\nip access-list" in text
    assert (
        "ip access-list FABRICC-API\n  10 permit tcp 172.16.9.0/24 any eq 443\n"
        "  20 permit tcp 172.16.9.0/24 any eq 9339\n  30 deny tcp any any eq 443\n  40 deny tcp any any eq 9339\n"
        "  50 permit ip any any\n"
    ) in text
    assert "line vty\n  access-class FABRICC-ACCESS in\n  ipv6 access-class FABRICC-ACCESS-V6 in\n" in text
    assert "  ip access-group FABRICC-API in\n" in text


def test_without_networks_nothing_is_guarded() -> None:
    text = settings_text(access=())
    assert not re.search("access-list|access-class|access-group|acl|nxapi use-vrf", text)
    assert "snmp-server community FABRICC-SECRET-snmp group network-operator\n" in text


def test_unrequested_services_are_disabled() -> None:
    text = settings_text(tacacs=None, snmp=None, gnmi_port=None)
    assert not re.search("tacacs|aaa|snmp|grpc", text)


def test_a_neighbor_forgets_after_four_announcements() -> None:
    assert "lldp holdtime 40\nlldp timer 10\n" in settings_text()
    assert "lldp t" not in settings_text(lldp_interval_s=30)


def test_dynamic_load_balancing_is_for_the_ports_with_sessions() -> None:
    switch = variant("cloudscale/settings")
    assert (
        "  mode flowlet\n  dlb-interface Eth1/3/1,Eth1/4/1\n  flowlet-aging 256\n"
        in NXOS.render(switch)[FILE]
    )
    sprayed = replace(switch, load_balancing=LoadBalancing(Spreading.PACKET))
    assert "  mode per-packet\n  dlb-interface Eth1/3/1,Eth1/4/1\ninterface" in NXOS.render(sprayed)[FILE]


def test_the_back_end_is_found_by_name() -> None:
    back_end = load("nxos")
    assert back_end.name == NXOS.name
    assert back_end.default_release in back_end.releases


@pytest.mark.parametrize("work", [NXOS.render, NXOS.planned, lambda switch: NXOS.read(NXOS.render(switch))])
def test_effort_is_in_proportion_to_the_ports(work: Callable[[Switch], object]) -> None:
    few, many = large_switch(32), large_switch(128)
    work(few)
    assert count_calls(lambda: work(many)) < 5 * count_calls(lambda: work(few))
