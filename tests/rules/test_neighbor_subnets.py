"""A session of one hop needs a neighbor in a subnet of the switch; others, and sessions in VRFs, are not judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.audit.gather import gather_devices
from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import Place, Tier, read_statement
from fabricc.interface import audit_folder, build, check, diff
from fabricc.rules.neighbor_subnets import OFF_LINK
from fabricc.rules.registry import run_switch_rules
from fabricc.rules.sessions import sessions_of
from tests.rules.test_verbs import SPEC

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.proof.compare import Finding

EOS = """hostname lf1
interface Ethernet1
   no switchport
   ip address {own}
{port}interface Loopback0
   ip address 10.66.1.1/32
{more}router bgp 65101
   router-id 10.66.1.1
   neighbor 10.66.11.0 remote-as 65000
{session}"""
NXOS = """version 10.4(3)
hostname lf1
feature bgp
interface Ethernet1/1
  no switchport
  ip address {own}
{port}interface loopback0
  ip address 10.66.1.1/32
{more}router bgp 65101
  router-id 10.66.1.1
  neighbor 10.66.11.0
    remote-as 65000
{session}"""
FRR = """frr version 10.1
hostname lf1
interface swp1
 ip address {own}
{port}exit
interface lo
 ip address 10.66.1.1/32
exit
{more}router bgp 65101
 bgp router-id 10.66.1.1
 neighbor 10.66.11.0 remote-as 65000
{session}exit
"""
JUNOS = """system {{ host-name lf1; }}
interfaces {{
    et-0/0/1 {{ unit 0 {{ family inet {{ address {own}; {port} }} }} }}
    lo0 {{ unit 0 {{ family inet {{ address 10.66.1.1/32; }} }} }}
    {more}
}}
routing-options {{ router-id 10.66.1.1; autonomous-system 65101; }}
protocols {{ bgp {{ group up {{ type external; {session} neighbor 10.66.11.0 {{ peer-as 65000; }} }} }} }}
"""
TEXTS = {
    "eos": (EOS, "lf1.cfg"),
    "nxos": (NXOS, "lf1.cfg"),
    "frr": (FRR, "frr.conf"),
    "junos": (JUNOS, "lf1.conf"),
}
RIGHT, WRONG = "10.66.11.1/31", "192.0.2.77/31"
SILENT = {
    "multihop": ("eos", "", "", "   neighbor 10.66.11.0 ebgp-multihop 3\n"),
    "TTL security": ("eos", "", "", "   neighbor 10.66.11.0 ttl maximum-hops 2\n"),
    "loopback as source": ("eos", "", "", "   neighbor 10.66.11.0 update-source Loopback0\n"),
    "shut": ("eos", "", "", "   neighbor 10.66.11.0 shutdown\n"),
    "secondary address": ("eos", "   ip address 10.66.11.1/31 secondary\n", "", ""),
    "address of a VLAN": ("eos", "", "interface Vlan10\n   ip address 10.66.11.1/24\n", ""),
    "unnumbered port": ("eos", "", "interface Ethernet2\n   no switchport\n   ip address unnumbered Loopback0\n", ""),
    "address by DHCP": ("eos", "", "interface Ethernet2\n   no switchport\n   ip address dhcp\n", ""),
    "no check": ("frr", "", "", " neighbor 10.66.11.0 disable-connected-check\n"),
    "no check of any": ("frr", "", "", " bgp disable-ebgp-connected-route-check\n"),
    "borrowed address": ("frr", "", "interface swp2\n ip address 10.66.1.1/32\nexit\n", ""),
    "multihop of NX-OS": ("nxos", "", "", "    ebgp-multihop 2\n"),
    "no check on NX-OS": ("nxos", "", "", "    disable-connected-check\n"),
    "source on NX-OS": ("nxos", "", "", "    update-source loopback0\n"),
    "secondary on NX-OS": ("nxos", "  ip address 10.66.11.1/31 secondary\n", "", ""),
    "multihop of Junos": ("junos", "", "", "multihop { ttl 2; }"),
    "source on Junos": ("junos", "", "", "local-address 10.66.1.1;"),
    "second address on Junos": ("junos", "address 10.66.11.1/31;", "", ""),
}  # fmt: skip
"""Why a wrong address is harmless or unproved -> system, lines of the port, of the file and of the session."""
OTHER_SESSIONS = {
    "internal": EOS.replace("remote-as 65000", "remote-as 65101"),
    "in a VRF": EOS.replace("   neighbor", "   vrf T1\n      neighbor"),
    "by port": FRR.replace("neighbor 10.66.11.0 remote-as 65000", "neighbor swp1 interface remote-as 65000"),
    "link-local": FRR.replace("10.66.11.0", "fe80::1"),
    "dynamic": EOS.replace(
        "neighbor 10.66.11.0 remote-as 65000", "bgp listen range 10.66.11.0/24 peer-group G remote-as 65000"
    ),
    "ports of the file have none": FRR.replace(" ip address {own}\n", ""),
}


def findings_of(folder: Path) -> list[Finding]:
    """Return what the rule reports about the only switch of a folder."""
    (device,) = gather_devices(folder, jobs=1).devices.values()
    statement = read_statement(device, Place(Tier.OTHER), {})
    found = run_switch_rules(statement, sessions_of(statement))
    return [each for each in found if each.code == OFF_LINK]


def write(folder: Path, system: str, own: str, port: str = "", more: str = "", session: str = "") -> Path:
    """Write the configuration of a switch with one port and one session."""
    text, name = TEXTS[system]
    path = folder / "lf1" / name
    path.parent.mkdir()
    path.write_text(text.format(own=own, port=port, more=more, session=session))
    return path


@pytest.mark.parametrize("system", TEXTS)
def test_a_wrong_address_of_a_port_is_reported_at_its_line(system: str, tmp_path: Path) -> None:
    path = write(tmp_path, system, WRONG)
    (found,) = findings_of(tmp_path)
    assert found.severity is Severity.ERROR
    assert "10.66.11.0" in found.message
    assert WRONG in path.read_text().split("\n")[found.line - 1]


def test_a_routed_port_without_an_address_is_reported(tmp_path: Path) -> None:
    (tmp_path / "lf1").mkdir()
    text = EOS.replace("   ip address {own}\n", "").format(port="", more="", session="")
    (tmp_path / "lf1" / "lf1.cfg").write_text(text)
    (found,) = findings_of(tmp_path)
    assert "has no address" in found.message


@pytest.mark.parametrize("system", TEXTS)
def test_a_neighbor_in_the_subnet_of_a_port_is_in_order(system: str, tmp_path: Path) -> None:
    write(tmp_path, system, RIGHT)
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize("case", SILENT)
def test_neighbors_that_may_be_elsewhere_are_not_judged(case: str, tmp_path: Path) -> None:
    system, port, more, session = SILENT[case]
    write(tmp_path, system, WRONG, port, more, session)
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize("case", OTHER_SESSIONS)
def test_other_kinds_of_sessions_are_not_judged(case: str, tmp_path: Path) -> None:
    text = OTHER_SESSIONS[case].format(own=WRONG, port="", more="", session="")
    (tmp_path / "lf1").mkdir()
    (tmp_path / "lf1" / ("frr.conf" if "frr version" in text else "lf1.cfg")).write_text(text)
    assert findings_of(tmp_path) == []


IN_A_VRF = {
    "eos": ("   vrf T1\n", "interface Ethernet2\n   no switchport\n   ip address 10.66.12.1/31\n"),
    "nxos": ("  vrf member T1\n", "interface Ethernet1/2\n  no switchport\n  ip address 10.66.12.1/31\n"),
}


@pytest.mark.parametrize("system", IN_A_VRF)
def test_a_neighbor_in_the_subnet_of_another_instance_is_reported(system: str, tmp_path: Path) -> None:
    port, more = IN_A_VRF[system]
    path = write(tmp_path, system, RIGHT, port, more)
    (found,) = findings_of(tmp_path)
    assert path.read_text().split("\n")[found.line - 1] == port.strip("\n")


def test_neighbors_of_a_switch_with_all_ports_in_another_instance_are_reported(tmp_path: Path) -> None:
    write(tmp_path, "eos", RIGHT, "   vrf T1\n")
    assert len(findings_of(tmp_path)) == 1


def test_a_neighbor_next_to_idle_ports_is_reported_at_its_session(tmp_path: Path) -> None:
    more = "interface Ethernet2\n   no switchport\n   ip address 10.66.12.1/31\n"
    path = write(tmp_path, "eos", WRONG, more=more)
    (found,) = findings_of(tmp_path)
    assert "neighbor 10.66.11.0 remote-as" in path.read_text().split("\n")[found.line - 1]


@pytest.mark.slow
def test_every_verb_reports_it(tmp_path: Path) -> None:
    spec, overlay = tmp_path / "cluster.yaml", tmp_path / "overlay.cfg"
    spec.write_text(SPEC)
    overlay.write_text("router bgp 4200065536\n   neighbor 192.0.2.77 remote-as 64999\n")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(f"{SPEC}overlays:\n  - {{file: overlay.cfg, nos: eos, devices: [spine01a]}}\n")
    built = build(wrong, tmp_path / "out", jobs=1)
    assert OFF_LINK in {each.code for each in built.diagnostics}
    assert OFF_LINK in {each.code for each in diff(spec, wrong, jobs=1).proof_findings}
    assert build(spec, tmp_path / "sound", jobs=1).exit_status == 0
    tree = tmp_path / "sound/rules"
    assert OFF_LINK not in {each.code for each in check(tree, spec, jobs=1).diagnostics}
    file = tree / "switches/spine01a/running-config.cfg"
    file.write_text(file.read_text().replace("router bgp 4200065536\n", overlay.read_text()))
    for found in (check(tree, spec, jobs=1), audit_folder(tree / "switches", jobs=1)):
        assert OFF_LINK in {each.code for each in found.diagnostics}
