"""A limit of prefixes leaves room for what the other ToRs announce, unless a switch above aggregates it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.rules import find_all
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import Tier
from fabricc.interface import audit_folder
from fabricc.rules.announcements import LIMIT, permits_address
from fabricc.rules.records import Summary
from fabricc.rules.registry import run_fabric_rules
from fabricc.rules.rule import Switches
from tests.audit import ours

if TYPE_CHECKING:
    from pathlib import Path

ABOVE = {
    "nothing": ((), 1),
    "its own loopback": (("10.255.0.1/32",), 1),
    "an aggregate of the ToRs": (("10.1.0.0/16",), 0),
    "a default route": (("0.0.0.0/0",), 0),
}
"""Prefixes of the spine -> how many ToRs have too small a limit."""


def make_summary(tier: Tier, prefixes: tuple[str, ...], limit: tuple[int, str] | None = None) -> Summary:
    """Return the summary of a switch that announces prefixes."""
    return Summary(tier, None, "", (), prefixes, (), (), "", None, "", (), None, limit, False, ())


@pytest.mark.parametrize("case", ABOVE)
def test_a_limit_is_compared_with_the_prefixes_of_other_tors(case: str) -> None:
    prefixes, count = ABOVE[case]
    summaries = {f"lf{n}": make_summary(Tier.TOR, (f"10.1.{n}.0/24",)) for n in range(1, 5)}
    summaries["lf1"] = summaries["lf1"]._replace(limit=(2, "bgp/neighbor[10.66.0.0]/maximum_prefixes"))
    summaries["x01"] = make_summary(Tier.SPINE, prefixes)
    fabric = Switches(summaries, lambda _: summaries, lambda _: (), lambda _: None)
    found = [each.device for each in run_fabric_rules(fabric) if each.code == LIMIT]
    assert found == ["lf1"] * count


@pytest.mark.parametrize("planned", [False, True])
def test_tors_of_other_planes_announce_nothing_to_a_tor(*, planned: bool) -> None:
    limit = (2, "bgp/neighbor[10.66.0.0]/maximum_prefixes")
    planes = {"a": 3, "b": 4}
    switches = {
        f"lf{n}{plane}": make_summary(Tier.TOR, (f"10.1.{n}.0/24",), limit)
        for plane, tors in planes.items()
        for n in range(tors)
    }
    above = {f"x{plane}": make_summary(Tier.SPINE, ()) for plane in planes}
    fabric = Switches(
        switches | above,
        lambda name: [each for each in switches | above if each[-1] == name[-1] and each != name],
        lambda _: (),
        lambda _: None,
        planned=planned,
    )
    found = [each for each in run_fabric_rules(fabric) if each.code == LIMIT]
    assert [each.device for each in found] == [f"lf{n}b" for n in range(4)]
    assert all("3 other ToRs" in each.message for each in found)


PAIR = """\
cluster: pair
gpus: {model: dgx-b200, hosts: 2, hosts_per_unit: 2, rails_per_tor: 4}
tors: {model: linux-64x400, nos: frr, peer_links: 2}
priorities: {default: {}}
"""


@pytest.mark.parametrize(("limit", "count"), [(1, 2), (2, 0)])
def test_a_limit_is_compared_with_the_prefixes_of_the_joined_tor(
    tmp_path: Path, limit: int, count: int
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(PAIR)
    devices = {}
    for switch in ours.switches_of(path):
        texts = back_ends.load("frr").render(switch)
        texts["frr.conf"] = re.sub(r"(maximum-prefix) \d+", rf"\1 {limit}", texts["frr.conf"])
        devices[switch.name] = ours.switch_device(switch.name, "frr", texts)
    found = [each for each in find_all(ours.infer_fabric(devices)) if each.code == LIMIT]
    assert len(found) == count


BARE = """\
log syslog informational
router bgp {asn}
 bgp router-id 10.0.0.{number}
 no bgp default ipv4-unicast
 no bgp ebgp-requires-policy
 neighbor ISL peer-group
 neighbor ISL remote-as external
{ports}{session} address-family ipv4 unicast
  neighbor ISL activate
  redistribute connected route-map LOOPBACKS
{family} exit-address-family
!
route-map LOOPBACKS permit 10
 match interface lo
!
{more}line vty
"""
NEAR = {"leaf1": "64901", "leaf2": "64902", "leaf3": "64903", "spine1": "64900", "spine2": "64900"}
IN_BARE_FABRICS = {
    "nothing": ("leaf1", "", "", "", ""),
    "a password": ("leaf1", " neighbor ISL password lab\n", "", "", "demands a password"),
    "TTL security": ("spine1", " neighbor ISL ttl-security hops 1\n", "", "", "demands TTL security"),
    "no capabilities": ("leaf1", " neighbor ISL dont-capability-negotiate\n", "", "", "offers no capabilities"),
    "own AS": ("leaf1", "", "  neighbor ISL allowas-in 3\n", "", "which no other switch has: a loop"),
    "own AS on a spine": ("spine1", "", "  neighbor ISL allowas-in 3\n", "", "loops are not detected"),
    "hidden AS": ("leaf1", "", "  neighbor ISL remove-private-AS all\n", "", "no loop is detected"),
    "small limit": ("leaf1", "", "  neighbor ISL maximum-prefix 1\n", "", "prefix"),
    "denied paths": ("leaf1", "", "  neighbor ISL filter-list NO out\n",
                     "bgp as-path access-list NO deny .*\n", "AS paths NO permits none"),
    "tag": ("leaf1", "", "  neighbor ISL route-map T out\n", "route-map T permit 10\n match tag 9\n", "has this tag"),
    "kept routes": ("spine1", "", "  neighbor ISL route-map T in\n",
                    "route-map T permit 10\n set community no-export\n", "does not pass the routes of others on"),
    "stranger": ("leaf1", " neighbor 192.0.2.1 remote-as 64999\n",
                 "  neighbor 192.0.2.1 activate\n  neighbor 192.0.2.1 route-map ANY in\n"
                 "  neighbor 192.0.2.1 prefix-list NO out\n",
                 "ip prefix-list NO deny any\nroute-map ANY permit 10\n", "takes every route by ANY"),
    "a mark of nobody": ("leaf1", "", "  neighbor ISL route-map T in\n",
                         "bgp community-list standard C permit 65000:9\nroute-map T permit 10\n match community C\n",
                         "no switch sets it"),
    "a denied list of all": ("leaf1", "", "  neighbor ISL route-map T in\n",
                             "ip prefix-list A permit any\nroute-map T deny 10\n match ip address prefix-list A\n"
                             "route-map T permit 20\n", "permits none"),
    "a list that denies": ("leaf1", "", "  redistribute static route-map T\n",
                           "ip prefix-list A deny 10.0.0.1/32\nroute-map T permit 10\n"
                           " match ip address prefix-list A\n", "no route enters BGP by the map T"),
    "a shut session": ("leaf1", " neighbor swp1 shutdown\n", "", "", "shut session with swp1"),
    "an unknown condition": ("leaf1", "", "  neighbor ISL route-map T in\n",
                             "route-map T permit 10\n match intf-name swp1\n", "no condition is called intf-name"),
    "no log": ("leaf1", "", "", "no log syslog\n", "its log server gets nothing"),
    "drain": ("leaf1", " neighbor ISL graceful-shutdown\n", "", "", "is in graceful shutdown"),
}  # fmt: skip


@pytest.mark.parametrize("case", IN_BARE_FABRICS)
def test_sessions_over_ports_without_addresses_are_followed(case: str) -> None:
    where, session, family, more, message = IN_BARE_FABRICS[case]
    devices = {}
    for number, (name, asn) in enumerate(NEAR.items(), 1):
        own = (session, family, more) if name == where else ("", "", "")
        text = BARE.format(
            asn=asn, number=number, session=own[0], family=own[1], more=own[2],
            ports="".join(f" neighbor swp{each} interface peer-group ISL\n" for each in range(1, 4)),
        )  # fmt: skip
        devices[name] = ours.switch_device(name, "frr", {"frr.conf": text})
    found = [each for each in find_all(ours.infer_fabric(devices)) if each.severity is not Severity.NOTE]
    assert [each.message for each in found if message not in each.message] == []
    assert {each.file.split("/")[0] for each in found} == ({where} if message else set())


class _Denying:
    """A policy of which one map denies every route."""

    def apply(self, name: str, route: object) -> object | None:
        return None if name == "NOTHING" else route


@pytest.mark.parametrize(
    ("stated", "permits"),
    [
        ("NOTHING", False),
        ("ipv4 NOTHING, ipv6 ALL", False),
        ("ipv4 ALL, ipv6 none", True),
        ("ipv6 ALL, ipv4 none", False),
    ],
)
def test_the_policy_of_the_family_of_an_address_decides(stated: str, permits: bool) -> None:
    maps = [(stated, "bgp/redistribute_connected")]
    assert permits_address(_Denying(), maps, "10.0.0.1") is permits  # type: ignore[arg-type]


TIERS = {
    "sp1": "set policy-options policy-statement OUT term A then community add UP\n"
    "set policy-options policy-statement OUT term A then accept\nset protocols bgp group D export OUT\n",
    "lf1": "set policy-options policy-statement OUT term A from community UP\n"
    "set policy-options policy-statement OUT term A then reject\nset protocols bgp group U export OUT\n",
}


@pytest.mark.parametrize(("device", "gone", "verb"), [("sp1", " community add UP", "has no use of"),
    ("sp1", "community add", "deletes"), ("lf1", " from community UP", "has no use of"), ("", "", "")])  # fmt: skip
def test_a_community_that_one_tier_no_longer_uses_is_found(
    device: str, gone: str, verb: str, tmp_path: Path
) -> None:
    for name, text in TIERS.items():
        changed = (
            text.replace(gone, "community delete" if verb == "deletes" else " family inet")
            if name == device
            else text
        )
        known = f"set system host-name {name}\nset policy-options community UP members 0:15\n{changed}"
        (tmp_path / f"{name}.conf").write_text(known)
    found = [
        each.message
        for each in audit_folder(tmp_path, jobs=1).diagnostics
        if "the community 0:15" in each.message
    ]
    assert [each.split(" the ")[0] for each in found] == ([f"{device} {verb}"] if device else [])
