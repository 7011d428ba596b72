"""The text is the device's own: golden files, the canonical order and the traps of EOS's syntax.

`UPDATE_GOLDEN=1 pytest tests/back/nos/eos/test_render.py` rewrites the golden files.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.eos import EOS, FILE
from fabricc.catalog import load_catalog
from fabricc.fabric.model import Account, Direction
from fabricc.fabric.routing import LoadBalancing, Spreading
from fabricc.fabric.shape import TierName
from tests.back.nos.eos.variants import GOLDENS, VARIANTS, large_switch, make_chassis, variant
from tests.effort import count_calls

GOLDEN = Path(__file__).parent / "golden"
# The order of the blocks in a device's running configuration, by the first words of the block.
ORDER = (
    "(no )?username", "hardware counter",
    "service routing", "queue-monitor", "load-balance policies", "lldp", "logging",
    "platform trident mmu queue", "hostname", "ip name-server", "qos profile",
    "port-channel load-balance sand", "(no )?snmp-server", "port-channel load-balance trident", "vrf instance",
    "banner login", "Authorized", "EOF", "management api", "management security",
    "(tacacs|radius)-server", "aaa", "interface",
    "ipv6 access-list", "ip access-list",
    "ip routing", "ip hardware fib",
    "ip load-sharing", "no ip routing",
    "ip community-list", "ip prefix-list", "ipv6 prefix-list", "ipv6 unicast-routing",
    "system control-plane", "ip route", "ntp", "qos map",
    "priority-flow-control", "ip radius", "route-map", "router bfd", "router bgp", "ip tacacs",
    r"platform trident mmu queue profile \S+ apply",
    "platform trident mmu headroom-pool", "management ssh", "end",
)  # fmt: skip


def lines(name: str) -> list[str]:
    return EOS.render(variant(name))[FILE].splitlines()


@pytest.mark.parametrize("name", GOLDENS)
def test_the_text_is_the_golden_text(name: str) -> None:
    text = EOS.render(variant(name))[FILE]
    golden = GOLDEN / f"{name}.cfg"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VARIANTS)
def test_blocks_come_in_the_order_of_a_running_configuration(name: str) -> None:
    def rank(line: str) -> int:
        found = [i for i, start in enumerate(ORDER) if re.match(rf"{start}( |$)", line)]
        assert found, line
        return found[-1]

    ranks = [rank(line) for line in lines(name) if line[0] not in " !"]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("name", VARIANTS)
def test_separators_are_the_only_comments_and_no_line_is_blank(name: str) -> None:
    for line in lines(name):
        assert line.strip()
        assert line == line.rstrip()
        assert not line.strip().startswith("!") or line.strip() == "!"


@pytest.mark.parametrize("name", VARIANTS)
def test_only_one_form_of_ip_routing_is_written(name: str) -> None:
    forms = [line for line in lines(name) if line.startswith("ip routing")]
    assert forms == (["ip routing ipv6 interfaces"] if "unnumbered" in name else ["ip routing"])


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_of_a_profile_follows_its_queues(name: str) -> None:
    in_queue = False
    for line in lines(name):
        if line[0] != " ":
            in_queue = False
        elif re.match(r" {3}(uc-)?tx-queue", line):
            in_queue = True
        elif in_queue and line != "   !":
            assert line.startswith("      "), line


def test_ports_without_a_buffer_profile_get_the_one_with_most_headroom() -> None:
    text = lines("trident-numbered")
    at = text.index("platform trident mmu queue profile MMU-400G-40M apply")
    assert text[at : at + 3] == [text[at], "!", "management ssh"]


def test_each_family_has_its_queue_word_and_only_trident_its_buffer_profiles() -> None:
    trident, sand = ("\n".join(lines(f"{family}-numbered")) for family in ("trident", "sand"))
    assert "   uc-tx-queue 3\n" in trident
    assert "   platform trident mmu queue interface-profile MMU-400G-40M\n" in trident
    assert "uc-tx-queue" not in sand
    assert "   tx-queue 3\n" in sand
    assert "platform trident" not in sand


def test_classes_reach_queues_by_the_word_that_names_the_queues() -> None:
    assert "qos map traffic-class 3 to uc-tx-queue 3" in lines("trident-numbered")
    assert "qos map traffic-class 3 to tx-queue 3" in lines("sand-numbered")


def test_the_ingress_threshold_is_that_of_the_lossless_priority_groups_alone() -> None:
    switch = variant("trident-numbered")
    first, *others = switch.qos.classes
    both = replace(first, lossless=True)
    text = EOS.render(replace(switch, qos=replace(switch.qos, classes=(both, *others))))[FILE]
    body = text.split("\nplatform trident mmu queue profile MMU-400G-5M\n")[1].split("\n!")[0]
    assert body.split("\n") == [
        "    ingress headroom bytes 231424",
        "    ingress resume 19456",
        f"    ingress priority-group {both.priority} threshold 1",
        "    ingress priority-group 3 threshold 1",
        f"    egress unicast queue {both.priority} threshold 8",
        "    egress unicast queue 3 threshold 8",
    ]


@pytest.mark.parametrize("family", ["trident", "sand"])
def test_marks_are_counted_where_packets_are_marked_and_queues_are_watched(family: str) -> None:
    text = lines(f"{family}-numbered")
    marking = [at for at, line in enumerate(text) if "random-detect ecn minimum" in line]
    assert marking
    assert [text[at + 1] for at in marking] == ["      random-detect ecn count"] * len(marking)
    assert text.count("      random-detect ecn count") == len(marking)
    assert "queue-monitor length" in text


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_numbered_neighbor_is_active_in_its_own_family_only(family: str) -> None:
    text = "\n".join(lines("trident-dual"))
    body = text.split(f"address-family {family}\n")[1].split("\n   !")[0].split("\n!")[0]
    assert body.split("\n") == [f"      neighbor UPSTREAM{'' if family == 'ipv4' else '-V6'} activate"]


@pytest.mark.parametrize("family", ["trident", "sand"])
def test_a_watched_queue_has_its_weight_and_the_least_guarantee(family: str) -> None:
    watched = variant(f"{family}-numbered")
    unwatched = replace(watched, qos=replace(watched.qos, watchdog=None))
    both = "      bandwidth percent 90\n      bandwidth guaranteed percent 1\n"
    assert EOS.render(watched)[FILE].count(both) == 2
    assert "guaranteed" not in EOS.render(unwatched)[FILE]
    assert "pause watchdog" not in EOS.render(unwatched)[FILE]


def test_a_shared_headroom_pool_is_limited_in_bytes() -> None:
    switch = variant("trident-numbered")
    assert switch.qos.pools
    pools = replace(switch.qos.pools, headroom_bytes=8_965_632)
    text = EOS.render(replace(switch, qos=replace(switch.qos, pools=pools)))[FILE]
    assert "platform trident mmu headroom-pool limit bytes 8965632\n" in text


def test_only_the_access_networks_log_in_over_the_fabric_too() -> None:
    text = "\n".join(lines("trident-settings"))
    body = text.split("\nmanagement ssh\n")[1].split("\n!")[0]
    assert body.split("\n")[:3] == [
        "   ip access-group FABRICC-ACCESS vrf MGMT in",
        "   ip access-group FABRICC-ACCESS in",
        "   ipv6 access-group FABRICC-NOBODY in",
    ]
    reading = EOS.read({FILE: text.replace("   10 deny any\n", "")})
    assert reading.facts["management/access[ssh/ipv6]"] == ""


def test_a_session_opens_with_the_privileges_of_its_account() -> None:
    assert "aaa authorization exec default local" in lines("trident-numbered")


def test_each_tier_hashes_with_its_own_seed() -> None:
    tor = variant("trident-numbered")
    for tier, seed in ((TierName.TOR, 1), (TierName.SPINE, 2), (TierName.CORE, 3)):
        assert f"\nip load-sharing trident {seed}\n" in EOS.render(replace(tor, tier=tier))[FILE]
    assert "load-sharing" not in EOS.render(variant("sand-numbered"))[FILE]


def test_spraying_follows_the_line_that_turns_dynamic_load_balancing_on() -> None:
    switch = replace(variant("trident-numbered"), load_balancing=LoadBalancing(Spreading.PACKET))
    text = EOS.render(switch)[FILE]
    start = "ip hardware fib load-balance distribution dynamic"
    assert f"\n{start}\n{start} member-selection optimal always\n" in text
    reading = EOS.read({FILE: text})
    assert (reading.unknown, reading.facts) == ([], EOS.planned(switch))
    alone = EOS.read({FILE: text.replace(f"{start}\n", "", 1)})
    assert alone.unknown
    assert "load_balancing/mode" not in alone.facts


def test_defaults_that_a_device_hides_are_not_written() -> None:
    switch = variant("trident-numbered")
    ports = tuple(replace(port, mtu=1500) for port in switch.ports)
    bgp = replace(switch.bgp, keepalive_s=60, hold_s=180)
    text = EOS.render(replace(switch, ports=ports, bgp=bgp))[FILE]
    assert "mtu" not in text
    assert "timers" not in text


def test_servers_and_users_come_in_the_order_a_device_prints() -> None:
    switch = variant("trident-numbered")
    management = replace(
        switch.management,
        ntp=("10.0.0.10", "2001:db8::1", "10.0.0.2"),
        users=(Account("zoe", "ssh-ed25519 AAAAz"), Account("ann", "ssh-ed25519 AAAAa")),
    )
    text = EOS.render(replace(switch, management=management))[FILE]
    assert re.findall(r"ntp server vrf MGMT (\S+)", text) == ["10.0.0.2", "10.0.0.10", "2001:db8::1"]
    assert re.findall(r"username (\S+) ssh-key", text) == ["ann", "zoe"]


def test_management_over_ipv6_has_an_ipv6_default_route() -> None:
    switch = variant("trident-numbered")
    management = replace(switch.management, address="2001:db8::b/64", gateway="2001:db8::1")
    switch = replace(switch, management=management)
    files = EOS.render(switch)
    assert "   ipv6 address 2001:db8::b/64\n" in files[FILE]
    assert "ipv6 route vrf MGMT ::/0 2001:db8::1\n" in files[FILE]
    assert EOS.read(files).facts == EOS.planned(switch)


def test_account_with_only_a_key_has_an_unusable_password() -> None:
    text = EOS.render(variant("trident-numbered"))[FILE]
    assert "username netops privilege 15 role network-admin secret *\nusername netops ssh-key ssh-" in text
    assert "nopassword" not in text
    open_one = EOS.read({FILE: text.replace("secret *", "nopassword")})
    assert open_one.unknown == []
    assert (open_one.facts["user[netops]/role"], open_one.facts["user[netops]/password"]) == (
        "network-admin",
        "none",
    )


def test_the_cpu_accepts_telemetry_at_the_requested_port() -> None:
    body = "\n".join(lines("trident-settings"))
    assert "\nsystem control-plane\n   ip access-group FABRICC-CONTROL-PLANE vrf MGMT in\n" in body
    rules = body.split("\nip access-list FABRICC-CONTROL-PLANE\n")[1].split("\n!")[0].split("\n")
    ports = [rule.rpartition(" eq ")[2] for rule in rules if " eq " in rule]
    assert ports == ["ssh", "https", "snmp", "ntp", "9339"]
    assert not any("deny" in rule for rule in rules)


def test_telemetry_at_eos_s_own_port_leaves_eos_s_own_list_in_place() -> None:
    switch = variant("trident-settings")
    switch = replace(switch, management=replace(switch.management, gnmi_port=6030))
    files = EOS.render(switch)
    assert "control-plane" not in files[FILE].lower()
    assert "6030" not in files[FILE]
    assert EOS.read(files).facts == EOS.planned(switch)


def test_telemetry_never_runs_in_the_clear() -> None:
    text = "\n".join(lines("trident-settings"))
    assert "   transport grpc MGMT\n      ssl profile FABRICC\n" in text
    assert "\n   ssl profile FABRICC\n      certificate FABRICC.crt key FABRICC.key\n" in text
    clear = EOS.read({FILE: text.replace("      ssl profile FABRICC\n", "")})
    assert clear.facts != EOS.planned(variant("trident-settings"))
    assert clear.unknown == []


def test_log_servers_over_tls_need_a_profile_that_trusts_a_certificate() -> None:
    text = "\n".join(lines("trident-settings"))
    line = next(
        each for each in text.split("\n") if each.endswith(" 6514 protocol tls ssl-profile FABRICC-SYSLOG")
    )
    edited = line.replace("FABRICC-SYSLOG", "OTHER")
    found = EOS.read({FILE: text.replace(line, edited)})
    assert f"management/syslog_tls[{line.split()[4]}]/port" not in found.facts
    assert [each[2] for each in found.unknown] == [edited]


def test_a_chassis_is_managed_at_the_address_of_its_active_supervisor() -> None:
    switch = make_chassis()
    files = EOS.render(switch)
    assert set(re.findall(r"Management\d\S*", files[FILE])) == {"Management0"}
    for line in (
        "interface Management0\n   vrf MGMT\n   ip address",
        "logging vrf MGMT source-interface Management0",
        "ntp local-interface vrf MGMT Management0",
        "ip tacacs vrf MGMT source-interface Management0",
    ):
        assert f"\n{line}" in files[FILE]
    reading = EOS.read(files)
    assert (reading.unknown, reading.facts) == ([], EOS.planned(switch))
    assert EOS.planned(switch) != EOS.planned(variant("sand-settings"))


def test_the_catalog_knows_which_models_have_two_supervisors() -> None:
    models = {name: model for name, model in load_catalog()[0].switches.items() if "eos" in model.nos}
    named = {name: model.nos["eos"].get("management_interface") for name, model in models.items()}
    assert named == {name: "Management0" if model.chassis else None for name, model in models.items()}
    assert set(named.values()) == {"Management0", None}


def test_the_back_end_is_found_by_name() -> None:
    back_end = load("eos")
    assert back_end.name == EOS.name
    assert back_end.default_release in back_end.releases


def test_rendering_costs_in_proportion_to_the_ports() -> None:
    few, many = large_switch(32), large_switch(128)
    assert count_calls(lambda: EOS.render(many)) < 5 * count_calls(lambda: EOS.render(few))


def test_default_account_is_removed_when_another_account_can_log_in() -> None:
    """It has no password, and a replace brings it back."""
    switch = variant("trident-numbered")
    assert "no username admin" in lines("trident-numbered")
    named = Account("admin", switch.management.users[0].ssh_key)
    for users in ((), (named,)):
        other = replace(switch, management=replace(switch.management, users=users))
        text = EOS.render(other)[FILE]
        assert "no username admin" not in text
        assert "management/default_account" not in EOS.planned(other)
    text = EOS.render(switch)[FILE].replace("no username admin\n", "")
    assert "management/default_account" not in EOS.read({FILE: text}).facts


@pytest.mark.parametrize("name", VARIANTS)
def test_ssh_and_the_api_answer_in_the_management_vrf_alone(name: str) -> None:
    text = "\n".join(lines(name))
    ssh = text.split("\nmanagement ssh\n")[1].split("\n!")[0].split("\n")
    assert ssh[-4:] == ["   shutdown", "   !", "   vrf MGMT", "      no shutdown"]
    api = text.split("\nmanagement api http-commands\n")[1].split("\n!")[0]
    assert [line for line in api.split("\n") if "vrf" in line] == ["   vrf MGMT"]
    facts = EOS.read({FILE: text}).facts
    assert (facts["management/ssh"], facts["management/ssh[default]"]) == ("MGMT", "off")
    opened = EOS.read({FILE: text.replace("   shutdown\n   !\n   vrf MGMT", "   !\n   vrf MGMT")}).facts
    assert "management/ssh[default]" not in opened, "EOS answers in the default VRF unless it is shut there"


@pytest.mark.parametrize("family", ["trident", "sand"])
def test_marks_are_counted_on_ports_before_4_31(family: str) -> None:
    switch = replace(variant(f"{family}-numbered"), release="4.30")
    text = EOS.render(switch)[FILE]
    profiles = text.split("\nqos profile ")[1:]
    assert all("ecn count" not in one.split("\n!")[0] for one in profiles)
    word = {"trident": "uc-tx-queue", "sand": "tx-queue"}[family]
    marked = [c.priority for c in switch.qos.marked]
    port = text.split("\ninterface Ethernet1/1\n")[1].split("\n!")[0]
    assert [int(n) for n in re.findall(rf"   {word} (\d)\n      random-detect ecn count", port)] == marked
    reading = EOS.read({FILE: text})
    assert {k: str(v) for k, v in reading.facts.items()} == {
        k: str(v) for k, v in EOS.planned(switch).items()
    }


def test_sand_platforms_enable_ecn_mark_counters() -> None:
    assert "hardware counter feature ecn out" in lines("sand-numbered")
    for name in ("trident-numbered", "trident-lossy", "sand-lossy"):
        marks = any("random-detect ecn" in line for line in lines(name))
        expected = marks and name.startswith("sand")
        assert ("hardware counter feature ecn out" in lines(name)) is expected


def block_of(text: str, name: str) -> list[str]:
    """The lines of an interface."""
    body = text[text.index(f"\ninterface {name}\n") + 1 :].split("\n!", 1)[0]
    return [line.strip() for line in body.splitlines()[1:]]


def test_unnumbered_ports_advertise_often_and_ports_to_hosts_never() -> None:
    switch = variant("trident-dual-unnumbered")
    text = EOS.render(switch)[FILE]
    for port in switch.ports:
        lines = block_of(text, port.name)
        host = port.direction is Direction.HOST and port.ipv6 is not None
        assert ("ipv6 nd ra disabled all" in lines) is host
        assert ("ipv6 nd ra interval msec 10000" in lines) is port.unnumbered
    assert text.count("ra disabled all") == sum(port.direction is Direction.HOST for port in switch.ports)
    assert "ipv6 nd" not in EOS.render(variant("trident-numbered"))[FILE]


def test_numbered_links_between_switches_advertise_as_eos_does() -> None:
    switch = variant("trident-dual")
    text = EOS.render(switch)[FILE]
    for port in switch.ports:
        if port.direction is Direction.UP:
            assert not any(line.startswith("ipv6 nd") for line in block_of(text, port.name))
