"""Ends of sessions and links that an overlay changes are compared by each verb; sessions over bare ports are judged."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.rules import find_all
from fabricc.base.diagnostics import Severity
from fabricc.interface import audit_folder, build, check, diff
from tests.audit import ours
from tests.rules.test_small_networks import network_of
from tests.rules.test_verbs import SPEC

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic

FAULTS = {
    "hops": ("   neighbor UPSTREAM ttl maximum-hops 1\n", "", "has TTL security"),
    "source": ("   neighbor UPSTREAM update-source Loopback0\n", "", "connects from"),
    "passive": (
        "   neighbor UPSTREAM passive\n", "   neighbor DOWNSTREAM passive\n", "both ends wait for the other one"
    ),
}  # fmt: skip
"""Fault -> lines of the BGP process of a ToR and of the spine, and a part of the message."""
HARMLESS = "banner login\nauthorized users only\nEOF\n"


TOR, SPINE = "router bgp 4200524288\n", "router bgp 4200065536\n"


def spec_with(folder: Path, name: str, tor: str, spine: str = "") -> Path:
    """Write a spec with overlays for one ToR and for the spines."""
    rows = ""
    for device, text in (("rack001-tor1a", tor), ("spine01a", spine)):
        if text:
            (folder / f"{name}-{device}.cfg").write_text(text)
            rows += f"  - {{file: {name}-{device}.cfg, nos: eos, devices: [{device}]}}\n"
    (folder / f"{name}.yaml").write_text(f"{SPEC}overlays:\n{rows}")
    return folder / f"{name}.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a spec without overlays and its tree."""
    top = tmp_path_factory.mktemp("neighbors")
    (top / "cluster.yaml").write_text(SPEC)
    assert build(top / "cluster.yaml", top / "out", jobs=1).exit_status == 0
    return top


def found_errors(diagnostics: Iterable[Diagnostic], text: str) -> int:
    """Return the number of errors about a session with a text in the message."""
    return sum(1 for each in diagnostics if each.code == "FAB9601" and text in each.message)


@pytest.mark.parametrize("fault", FAULTS)
def test_build_and_diff_compare_both_ends(fault: str, folder: Path) -> None:
    tor, spine, text = FAULTS[fault]
    spec = spec_with(folder, fault, TOR + tor, spine and SPINE + spine)
    assert found_errors(build(spec, folder / fault, jobs=1).diagnostics, text)
    assert found_errors(diff(folder / "cluster.yaml", spec, jobs=1).proof_findings, text)


@pytest.mark.parametrize("fault", [*FAULTS, "password"])
def test_check_and_audit_compare_both_ends(fault: str, folder: Path) -> None:
    password = "   neighbor UPSTREAM password 0 Fabric1\n", "", "has password"
    tor, spine, text = FAULTS.get(fault, password)
    tree = folder / f"{fault}-edited/rules"
    shutil.copytree(folder / "out/rules", tree)
    for device, head, lines in (("rack001-tor1a", TOR, tor), ("spine01a", SPINE, spine)):
        file = tree / "switches" / device / "running-config.cfg"
        file.write_text(file.read_text().replace(head, head + lines))
    assert found_errors(check(tree, folder / "cluster.yaml", jobs=1).diagnostics, text)
    assert found_errors(audit_folder(tree / "switches", jobs=1).diagnostics, text)


def test_a_harmless_overlay_is_not_reported(folder: Path) -> None:
    built = build(spec_with(folder, "banner", HARMLESS), folder / "banner", jobs=1)
    assert not [each for each in built.diagnostics if each.code.startswith("FAB96")]
    assert built.tree is not None


def test_check_and_audit_find_a_repeated_router_identifier(folder: Path) -> None:
    """Two ToRs, which have no link or session with each other."""
    tree = folder / "identifier/rules"
    shutil.copytree(folder / "out/rules", tree)
    files = [tree / "switches" / name / "running-config.cfg" for name in ("rack001-tor1a", "rack002-tor1a")]
    first, second = [file.read_text() for file in files]
    line = next(line for line in first.splitlines() if "router-id" in line)
    own = next(line for line in second.splitlines() if "router-id" in line)
    files[1].write_text(second.replace(own, line))
    for found in (check(tree, folder / "cluster.yaml", jobs=1), audit_folder(tree / "switches", jobs=1)):
        assert [
            each.message.partition(" has")[0] for each in found.diagnostics if each.code == "FAB9604"
        ] == [
            "rack001-tor1a", "rack002-tor1a",
        ]  # fmt: skip


LEAF = """\
interface lo
 ip address 10.255.0.{number}/32
interface vlan10
 ip address 172.16.{number}.1/24
router bgp 6500{number}
 bgp router-id 10.255.0.{number}
 no bgp default ipv4-unicast
 neighbor FABRIC peer-group
 neighbor FABRIC remote-as external
 neighbor swp1 interface peer-group FABRIC
 neighbor swp2 interface peer-group FABRIC
 address-family ipv4 unicast
  redistribute connected route-map OWN
  neighbor FABRIC activate
route-map OWN permit 10
 match interface lo
route-map OWN permit 20
 match interface vlan10
"""
BARE_FAULTS = {
    "an unknown neighbor of the own AS": (
        " no bgp default", " neighbor 203.0.113.9 remote-as 6500{number}\n no bgp default",
        "neighbor 203.0.113.9 remote-as"),
    "a loopback as the source": (
        "neighbor FABRIC peer-group\n", "neighbor FABRIC peer-group\n neighbor FABRIC update-source lo\n",
        "neighbor FABRIC update-source lo"),
    "one path": ("  redistribute", "  maximum-paths 1\n  redistribute", "maximum-paths 1"),
    "the other family": ("address-family ipv4", "address-family ipv6", "address-family ipv6 unicast"),
    "own numbers": (
        "FABRIC activate\n", "FABRIC activate\n  neighbor FABRIC allowas-in\n", "neighbor FABRIC allowas-in"),
    "an idle policy": ("connected route-map OWN", "connected", "redistribute connected"),
    "no own route": ("  redistribute connected route-map OWN\n", "", "router bgp 6500"),
    "a family that is none": ("address-family ipv4", "address-family ip", "address-family ip unicast"),
    "a process in a comment": ("router bgp", "#router bgp", "#router bgp"),
    "an activation in a comment": ("  neighbor FABRIC activate", "  !neighbor FABRIC activate", "!neighbor FABRIC"),
    "an option that is none": (
        "neighbor FABRIC peer-group\n", "neighbor FABRIC peer-group\n neighbor FABRIC bfd enable\n",
        "neighbor FABRIC bfd"),
    "a prefix around the loopback": (
        "route-map OWN\n", "route-map OWN\n  network 10.255.0.0/24\n", "network 10.255.0.0/24"),
    "a prefix around a port": ("route-map OWN\n", "route-map OWN\n  network 172.16.0.0/16\n", "network 172.16.0.0/16"),
    "a promised loopback": (
        "redistribute connected route-map OWN\n",
        "network 172.16.{number}.0/24\n  neighbor FABRIC prefix-list OUT out\n"
        "ip prefix-list OUT permit 10.255.0.{number}/32\n"
        "router bgp 6500{number}\n address-family ipv4 unicast\n", "router bgp 6500"),
    "the port of management": (
        "interface vlan10", "vrf mgmt\n ip route 0.0.0.0/0 192.0.2.254\nexit-vrf\ninterface eth0\n"
        " ip address 192.0.2.{number}/24\ninterface vlan10", "interface eth0"),
}  # fmt: skip
"""Fault -> text of a leaf, text in its place, and how the line begins that is found."""


def places_of(texts: dict[str, str]) -> set[tuple[str, str]]:
    """Return switch and line of each warning and error about switches of FRR."""
    devices = {name: ours.switch_device(name, "frr", {"frr.conf": text}) for name, text in texts.items()}
    found = [each for each in find_all(ours.infer_fabric(devices)) if each.severity is not Severity.NOTE]
    return {
        (name := each.file.partition("/")[0], texts[name].split("\n")[each.line - 1].strip())
        for each in found
    }


@pytest.mark.parametrize("fault", BARE_FAULTS)
def test_a_fault_of_leaves_whose_spines_are_not_here_is_found_on_all(fault: str) -> None:
    old, new, line = BARE_FAULTS[fault]
    sound = {f"leaf{n}": LEAF.format(number=n) for n in (1, 2, 3)}
    altered = {f"leaf{n}": LEAF.replace(old, new, 1).format(number=n) for n in (1, 2, 3)}
    assert places_of(sound) == set()
    assert {name for name, text in places_of(altered) if text.startswith(line)} == set(altered)


PAIR = """\
interface lo
 ip address 10.255.0.{number}/32
interface swp1
 ip address 10.0.0.{number}/31
router bgp 6500{number}
 bgp router-id 10.255.0.{number}
 no bgp ebgp-requires-policy
 neighbor 10.0.0.{other} remote-as 6500{other}
"""


def test_a_switch_that_requires_policies_as_the_other_does_not_is_found() -> None:
    texts = network_of(PAIR)
    assert places_of(texts) == set()
    texts["left"] = texts["left"].replace(" no bgp ebgp-requires-policy\n", "")
    assert places_of(texts) == {("left", "neighbor 10.0.0.1 remote-as 65001")}
