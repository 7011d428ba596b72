"""Correct designs of other networks: policies by AS path and by protocol, two fabrics with one address plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder

if TYPE_CHECKING:
    from pathlib import Path

POLICIES = {
    "own routes": ("permit ^$", False),
    "every route": ("permit .*", None),
}


def frr(name: str, asn: int, links: dict[str, tuple[str, str, int]], policy: str) -> str:
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
            (folder / name / "frr.conf").write_text(frr(name, asn, links, policy))


@pytest.mark.parametrize(("policy", "leaks"), POLICIES.values(), ids=POLICIES)
def test_a_policy_by_as_path_is_followed_or_not_judged(
    policy: str, leaks: bool | None, tmp_path: Path
) -> None:
    write_fabric(tmp_path, policy)
    found = audit_folder(tmp_path, jobs=1)
    codes = {each.code for each in found.findings if each.severity is not Severity.NOTE}
    assert not codes & {"FAB6210", "FAB6211"}
    answers = {each.code: each for each in found.asked}
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
