"""SONiC's own bgpcfgd, caclmgrd, hostcfgd and start script of the bgp container take the files as they are planned."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.sonic import SONIC
from fabricc.back.nos.sonic.limits import RELEASES
from tests.back.nos.sonic import bfd_link
from tests.back.nos.sonic.makers import (
    has_jq,
    needs_sources,
    run_bgpcfgd,
    run_caclmgrd,
    run_hostcfgd,
    start_bgp,
)
from tests.back.nos.sonic.variants import VARIANTS

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.model import Switch

KINDS = ("numbered", "unnumbered", "dual", "spine")
EACH = [(name, release) for name in KINDS for release in RELEASES]
SOFTWARE_BFD = "202505"
"""The first release in which bgpcfgd starts bfdd."""


def render_variant(name: str, release: str) -> tuple[Switch, dict[str, str]]:
    """Return a variant for a release, without a key of time servers and a banner that the release refuses."""
    needs_sources()
    switch = replace(VARIANTS[name], release=release)
    if name == "settings":
        banner = switch.management.banner if release >= "202405" else ""
        switch = replace(switch, management=replace(switch.management, ntp_key=None, banner=banner))
    if any(gap.fatal for gap in SONIC.gaps(switch)):
        pytest.skip("the release refuses it")
    return switch, SONIC.render(switch)


@pytest.mark.parametrize(("name", "release"), EACH)
def test_bgpcfgd_pushes_only_lines_that_the_plan_has(name: str, release: str, tmp_path: Path) -> None:
    """A line that it pushed besides would be a difference at each comparison, and go with each reload of FRR."""
    _, files = render_variant(name, release)
    pushed, started = run_bgpcfgd(release, tmp_path, files)
    planned = [line.strip() for line in files["frr.conf"].splitlines()]
    assert any("RM_SET_SRC" in line for line in pushed), "its managers ran"
    assert [line for line in pushed if line.strip() not in planned and line.strip() != "exit"] == []
    bfd = re.search(r"^ neighbor \S+ bfd", files["frr.conf"], re.MULTILINE)
    assert started == (["/usr/lib/frr/bfdd"] if bfd and release >= SOFTWARE_BFD else [])


@pytest.mark.parametrize(("name", "release"), EACH)
def test_the_bgp_container_starts_with_our_frr_conf_as_it_is(name: str, release: str, tmp_path: Path) -> None:
    _, files = render_variant(name, release)
    if not has_jq():
        pytest.skip("the start script needs jq")
    etc = start_bgp(release, tmp_path, files)
    assert (etc / "frr/frr.conf").read_text() == files["frr.conf"], "nothing is appended, nothing deleted"
    assert (etc / "frr/vtysh.conf").read_text() == "service integrated-vtysh-config\n"
    assert not (etc / "frr/bgpd.conf").exists()
    programs = set(re.findall(r"\[program:(\w+)\]", (etc / "supervisor/conf.d/supervisord.conf").read_text()))
    assert {"zebra", "bgpd", "vtysh_b"} <= programs
    managers = re.findall(
        r"command=\S*?(bgpcfgd|frrcfgd)\b", (etc / "supervisor/conf.d/supervisord.conf").read_text()
    )
    assert managers == ["bgpcfgd"]


def find_verdict(commands: list[str], program: str, **packet: Any) -> str:
    """Return what the first fitting rule of the chain INPUT does with a packet from a port of the front panel."""
    for command in commands:
        words = command.split()
        if words[0] != program or "INPUT" not in words or words[1] not in ("-A", "-I") or "-t" in words:
            continue
        output = dict(zip(words, [*words[1:], ""], strict=True))
        if any(word in words for word in ("conntrack", "ttl", "hl", "icmp", "icmpv6", "!")):
            continue
        port = output.get("-i", packet["port"])
        ports = output.get("--dport", "").partition(":")
        if (
            ((port.endswith("+") and packet["port"].startswith(port[:-1])) or port == packet["port"])
            and ("-s" not in output or packet["source"] in ipaddress.ip_network(output["-s"]))
            and ("-d" not in output or packet["target"] in ipaddress.ip_network(output["-d"]))
            and output.get("-p", packet["protocol"]) == packet["protocol"]
            and (not ports[0] or int(ports[0]) <= packet["to"] <= int(ports[2] or ports[0]))
        ):
            return output["-j"]
    return "ACCEPT"


def wrong_verdicts(switch: Switch, commands: list[str]) -> set[str]:
    """Return `PORT bfd` where BFD of a far switch is dropped, `PORT ssh` where a host reaches SSH at any address."""
    sessions = {session.port for session in switch.bgp.sessions}
    links = [
        (port, ipaddress.ip_interface(text))
        for port in switch.ports
        for text in filter(None, (port.ipv4, port.ipv6, "fe80::2/64" if port.unnumbered else None))
    ]
    wrong = set()
    for port, own in links:
        far = next(one for one in own.network if one != own.ip)
        for _, address in links:
            if address.version != own.version:
                continue
            program = "iptables" if own.version == 4 else "ip6tables"
            at = {"port": port.name, "source": far, "target": address.ip}
            if (
                port.name not in sessions
                and find_verdict(commands, program, protocol="tcp", to=22, **at) != "DROP"
            ):
                wrong.add(f"{port.name} ssh")
            bfd = find_verdict(commands, program, protocol="udp", to=3784, **at)
            if port.name in sessions and address == own and bfd != "ACCEPT":
                wrong.add(f"{port.name} bfd")
    return wrong


@pytest.mark.parametrize("release", [one for one in RELEASES if one >= SOFTWARE_BFD])
@pytest.mark.parametrize("name", KINDS)
def test_caclmgrd_lets_bfd_in_on_each_link_and_keeps_hosts_out(
    name: str, release: str, tmp_path: Path
) -> None:
    switch, files = render_variant(name, release)
    assert switch.bgp.sessions
    tables = json.loads(files["config_db.json"])
    assert wrong_verdicts(switch, run_caclmgrd(release, tmp_path, tables)) == set()


def test_without_the_lists_caclmgrd_drops_bfd_at_even_addresses_and_answers_hosts(tmp_path: Path) -> None:
    switch, files = render_variant("numbered", "202505")
    tables = {**json.loads(files["config_db.json"]), "ACL_TABLE": {}}
    found = wrong_verdicts(switch, run_caclmgrd("202505", tmp_path, tables))
    assert {one for one in found if one.endswith("ssh")} == {f"Ethernet{number} ssh" for number in (0, 4, 8)}
    even = replace(
        switch,
        ports=tuple(replace(port, ipv4=other_end(port.ipv4) if port.ipv4 else None) for port in switch.ports),
    )
    tables = {**json.loads(SONIC.render(even)["config_db.json"]), "ACL_TABLE": {}}
    folder = tmp_path / "even"
    folder.mkdir()
    assert "Ethernet16 bfd" in wrong_verdicts(even, run_caclmgrd("202505", folder, tables))


@pytest.mark.parametrize("release", [one for one in RELEASES if one >= SOFTWARE_BFD])
@pytest.mark.parametrize("name", ["numbered", "dual"])
def test_bfdd_comes_up_behind_the_rules_of_caclmgrd(name: str, release: str, tmp_path: Path) -> None:
    """The even address is the one that caclmgrd takes for a network and drops."""
    if reason := bfd_link.why_missing():
        pytest.skip(reason)
    switch, _ = render_variant(name, release)
    session = next(one for one in switch.bgp.sessions if ":" not in one.remote)
    port = next(one for one in switch.ports if one.name == session.port)
    assert port.ipv4
    own, far = sorted((port.ipv4, other_end(port.ipv4)), key=lambda text: int(ipaddress.ip_interface(text)))
    even = replace(
        switch,
        ports=tuple(replace(one, ipv4=own) if one.name == port.name else one for one in switch.ports),
    )
    tables = json.loads(SONIC.render(even)["config_db.json"])
    with bfd_link.BfdLink(port.name, own, far, run_caclmgrd(release, tmp_path, tables)) as link:
        assert link.comes_up()
    without = tmp_path / "without"
    without.mkdir()
    with bfd_link.BfdLink(
        port.name, own, far, run_caclmgrd(release, without, {**tables, "ACL_TABLE": {}})
    ) as link:
        assert not link.comes_up()
        assert link.dropped()


@pytest.mark.parametrize("release", RELEASES)
def test_hostcfgd_takes_each_row_of_a_first_push(release: str, tmp_path: Path) -> None:
    switch, files = render_variant("settings", release)
    tables = json.loads(files["config_db.json"])
    found = run_hostcfgd(release, tmp_path, tables)
    assert found["errors"] == []
    read = set(found["tables"]) & tables.keys()
    requested = {
        "AAA",
        "DEVICE_METADATA",
        "MGMT_VRF_CONFIG",
        "NTP",
        "NTP_SERVER",
        "SYSLOG_SERVER",
        "TACPLUS_SERVER",
    }
    assert {table for table in requested if tables.get(table)} <= read
    restarted = " ".join(found["commands"])
    for service in ("interfaces-config", "hostname-config", "rsyslog-config"):
        assert service in restarted
    login = re.findall(
        r"^auth\s.*?(pam_\w+)\.so(.*)", found["files"]["/etc/pam.d/common-auth-sonic"], re.MULTILINE
    )
    assert switch.management.tacacs
    servers = switch.management.tacacs.servers
    assert [name for name, _ in login[: len(servers) + 1]] == [*("pam_tacplus",) * len(servers), "pam_unix"]
    for server, (_, words) in zip(servers, login, strict=False):
        assert f"server={server}:49 secret=FABRICC-SECRET-tacacs " in words
        assert "vrf=mgmt" in words
    accounts = re.findall(r"^server=(\S+)", found["files"]["/etc/tacplus_nss.conf"], re.MULTILINE)
    assert [line.partition(":")[0] for line in accounts] == [*servers]


@pytest.mark.parametrize("release", RELEASES)
def test_hostcfgd_asks_radius_servers_in_order_and_local_accounts_after_them(
    release: str, tmp_path: Path
) -> None:
    switch, files = render_variant("radius", release)
    tables = json.loads(files["config_db.json"])
    found = run_hostcfgd(release, tmp_path, tables)
    assert found["errors"] == []
    assert {"RADIUS", "RADIUS_SERVER"} <= set(found["tables"])
    text = found["files"]["/etc/pam.d/common-auth-sonic"]
    login = re.findall(r"^auth\s.*?(pam_radius_auth|pam_unix)\.so(.*)", text, re.MULTILINE)
    assert switch.management.radius
    servers = switch.management.radius.servers
    assert [name for name, _ in login] == [*("pam_radius_auth",) * len(servers), "pam_unix"]
    for server, (_, words) in zip(servers, login, strict=False):
        assert f"/{server}_1812.conf " in words
        assert "protocol=pap" in words
        row = found["files"][f"/etc/pam_radius_auth.d/{server}_1812.conf"]
        assert re.search(
            rf"^\[{re.escape(server)}\]:1812\s+FABRICC-SECRET-radius\s.*\bmgmt$", row, re.MULTILINE
        )


def test_a_priority_that_is_no_number_ends_hostcfgd(tmp_path: Path) -> None:
    _, files = render_variant("settings", "202505")
    tables = json.loads(files["config_db.json"])
    tables["TACPLUS_SERVER"]["172.16.0.5"]["priority"] = "first"
    with pytest.raises(AssertionError, match="invalid literal"):
        run_hostcfgd("202505", tmp_path, tables)


def other_end(address: str) -> str:
    """Return the other end's address of a link."""
    own = ipaddress.ip_interface(address)
    return f"{next(one for one in own.network if one != own.ip)}/{own.network.prefixlen}"


@pytest.mark.parametrize("release", ["202305", "202605"])
def test_tsa_of_bgpcfgd_changes_nothing(release: str, tmp_path: Path) -> None:
    """It isolates route maps with V4 or V6 in their names; `fabricc maintain` drains instead (docs/nos-sonic.md)."""
    _, files = render_variant("numbered", release)
    tables = json.loads(files["config_db.json"])
    tables["BGP_DEVICE_GLOBAL"] = {"STATE": {"tsa_enabled": "true", "wcmp_enabled": "false"}}
    isolated = {**files, "config_db.json": json.dumps(tables)}
    named = {**isolated, "frr.conf": files["frr.conf"].replace("TO-UPSTREAM", "TO-UPSTREAM_V4")}
    pushed = []
    for name, each in (("usual", files), ("isolated", isolated), ("named", named)):
        (tmp_path / name).mkdir()
        pushed.append(run_bgpcfgd(release, tmp_path / name, each)[0])
    assert pushed[0] == pushed[1] != pushed[2]
