"""The next hop of a static route has to be in a subnet of the switch, or be reached by a route that leads there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder
from fabricc.rules.next_hops import NEXT_HOP

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic

EOS = """hostname lf1
vrf instance T1
interface Ethernet1
   no switchport
   ip address 10.66.11.1/31
interface Loopback0
   ip address 10.66.1.1/32
interface Management1
   vrf MGMT
   ip address 172.16.0.5/16
ip routing
{route}"""
NXOS = """version 10.4(3)
hostname lf1
interface Ethernet1/1
  no switchport
  ip address 10.66.11.1/31
  no shutdown
interface loopback0
  ip address 10.66.1.1/32
{route}"""
FRR = """frr version 10.1
hostname lf1
interface swp1
 ip address 10.66.11.1/31
exit
{route}"""
JUNOS = """system {{ host-name lf1; }}
interfaces {{ et-0/0/1 {{ unit 0 {{ family inet {{ address 10.66.11.1/31; }} }} }} }}
routing-options {{ {route} }}
"""
CUMULUS = """- header:
    model: sn5600
    nvue-api-version: nvue_v1
    version: Cumulus Linux 5.14.0
- set:
    system:
      hostname: lf1
    interface:
      swp1:
        ip:
          address:
            10.66.11.1/31: {{}}
        type: swp
    vrf:
      default:
        router:
          static:
{route}"""
SONIC = """{{"DEVICE_METADATA": {{"localhost": {{"hostname": "lf1"}}}},
"PORT": {{"Ethernet0": {{"lanes": "1", "speed": "100000"}}}},
"INTERFACE": {{"Ethernet0": {{}}, "Ethernet0|10.66.11.1/31": {{}}}},
{route}}}"""
FILES = {
    "eos": (EOS, "lf1.cfg", "ip route {prefix} {hop}\n"),
    "nxos": (NXOS, "lf1.cfg", "ip route {prefix} {hop}\n"),
    "frr": (FRR, "frr.conf", "ip route {prefix} {hop}\n"),
    "junos": (JUNOS, "lf1.conf", "static {{ route {prefix} next-hop {hop}; }}"),
    "cumulus": (
        CUMULUS,
        "startup.yaml",
        (
            "            {prefix}:\n              address-family: ipv4-unicast\n"
            "              via:\n                {hop}:\n                  type: ipv4-address\n"
        ),
    ),
    "sonic": (SONIC, "config_db.json", '"STATIC_ROUTE": {{"default|{prefix}": {{"nexthop": "{hop}"}}}}'),
}
NOWHERE, NEAR = "192.0.2.77", "10.66.11.0"
BGP = "router bgp 65101\n   router-id 10.66.1.1\n   neighbor 10.66.11.0 remote-as 65000\n"
SILENT = {
    "discard": "ip route 10.9.0.0/16 Null0\n",
    "by a route": "ip route 10.9.0.0/16 192.0.2.77\nip route 192.0.2.0/24 10.66.11.0\n",
    "over the management port": "ip route 0.0.0.0/0 172.16.0.1\n",
    "in another instance": "ip route vrf T1 10.9.0.0/16 192.0.2.77\n",
    "an address by DHCP": "interface Ethernet2\n   no switchport\n   ip address dhcp\nip route 10.9.0.0/16 192.0.2.7\n",
    "of the other version": "ipv6 route 2001:db8:9::/48 2001:db8::77\n",
    "link-local": "ipv6 route 2001:db8:9::/48 fe80::1\n",
}


def findings_of(folder: Path) -> list[Diagnostic]:
    """Return what the rule reports about a folder."""
    return [each for each in audit_folder(folder, jobs=1).diagnostics if each.code == NEXT_HOP]


def write(folder: Path, system: str, hop: str) -> None:
    """Write a switch with one port and one static route."""
    text, name, route = FILES[system]
    (folder / "lf1").mkdir()
    (folder / "lf1" / name).write_text(text.format(route=route.format(prefix="10.9.0.0/16", hop=hop)))


@pytest.mark.parametrize("system", FILES)
def test_a_next_hop_in_no_subnet_is_reported_at_its_line(system: str, tmp_path: Path) -> None:
    write(tmp_path, system, NOWHERE)
    found = findings_of(tmp_path)
    assert [each.severity for each in found] == [Severity.ERROR] * 2
    assert all(NOWHERE in each.message for each in found)
    (file,) = (tmp_path / "lf1").iterdir()
    lines = file.read_text().split("\n")
    texts = " ".join(lines[each.position.line - 1] for each in found if each.position)
    assert any(text in texts for text in (NOWHERE, "10.9.0.0/16", "STATIC_ROUTE"))
    assert "10.66.11.1/31" in texts  # the only port, whose subnet nothing uses


@pytest.mark.slow
def test_thousands_of_routes_are_each_looked_up_once(tmp_path: Path) -> None:
    """Each was compared with each other one, which took minutes."""
    routes = "".join(f"ip route 100.{n >> 8}.{n & 255}.0/24 192.0.{n >> 8}.{n & 255}\n" for n in range(3000))
    (tmp_path / "lf1.cfg").write_text(EOS.format(route=routes))
    found = findings_of(tmp_path)
    assert "more like it" in found[-1].message
    assert all("sends traffic for" in each.message for each in found)


@pytest.mark.parametrize("system", FILES)
def test_a_next_hop_of_a_port_is_in_order(system: str, tmp_path: Path) -> None:
    write(tmp_path, system, NEAR)
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize("case", SILENT)
def test_next_hops_that_may_be_reached_are_not_reported(case: str, tmp_path: Path) -> None:
    (tmp_path / "lf1").mkdir()
    (tmp_path / "lf1" / "lf1.cfg").write_text(EOS.format(route=SILENT[case]))
    assert findings_of(tmp_path) == []


def test_a_route_that_may_be_learned_makes_it_a_warning(tmp_path: Path) -> None:
    (tmp_path / "lf1").mkdir()
    (tmp_path / "lf1" / "lf1.cfg").write_text(EOS.format(route="ip route 10.9.0.0/16 192.0.2.77\n" + BGP))
    (found,) = findings_of(tmp_path)
    assert found.severity is Severity.WARNING


def test_policy_with_an_unknown_next_hop_is_reported(tmp_path: Path) -> None:
    bgp = BGP.replace("remote-as 65000\n", "remote-as 65000\n   neighbor 10.66.11.0 route-map M in\n")
    for hop, count in (("192.0.2.77", 1), ("10.66.11.0", 0)):
        folder = tmp_path / hop
        (folder / "lf1").mkdir(parents=True)
        text = f"route-map M permit 10\n   set ip next-hop {hop}\n"
        (folder / "lf1" / "lf1.cfg").write_text(EOS.format(route=text + bgp))
        assert len(findings_of(folder)) == count


def test_a_next_hop_that_another_device_has_is_not_reported(tmp_path: Path) -> None:
    for name, text in (
        ("lf1", EOS.format(route="ip route 10.9.0.0/16 10.66.1.2\n" + BGP)),
        (
            "lf2",
            EOS.format(route=BGP.replace("65101", "65102"))
            .replace("lf1", "lf2")
            .replace("10.66.1.1", "10.66.1.2"),
        ),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.cfg").write_text(text)
    assert findings_of(tmp_path) == []


@pytest.mark.parametrize(
    ("route", "reported"),
    [
        ('via: "10.0.0.0"', False),
        ('via: "10.0.0.4"', True),
        ('via: "10.0.0.4", on-link: true', False),
        ('via: "192.0.2.1"', False),
    ],
)
def test_a_route_of_a_host_by_the_gateway_of_another_port_is_reported(
    route: str, reported: bool, tmp_path: Path
) -> None:
    ports = (
        "    rail0: {addresses: [10.0.0.1/31], routes: [{to: 10.0.0.0/10, " + route + "}]}\n"
        "    rail1: {addresses: [10.0.0.5/31]}\n"
    )
    path = tmp_path / "hosts" / "host01" / "etc" / "netplan" / "60-fabricc.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"network:\n  version: 2\n  ethernets:\n{ports}")
    found = [each.message for each in audit_folder(tmp_path, jobs=1).findings if each.code == NEXT_HOP]
    message = "host01 rail0 sends traffic for 10.0.0.0/10 to 10.0.0.4, which is at rail1"
    assert found == [message] * reported
