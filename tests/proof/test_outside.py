"""Ways out are proved from the files: each planted fault at the edge is caught, by the invariant that it is about."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.proof.invariants.rules import Ratio
from tests.outward import SPINE, TOR, outward_fabric
from tests.proof.fabrics import Fault, find_breaches

if TYPE_CHECKING:
    from pathlib import Path

    from tests.proof.fabrics import Files

RATIOS = {0: Ratio(Fraction(1))}
DENY = r"route-map {} deny 10\n match community [A-Z-]+\nexit\n!\n"


def text_fault(device: str, *changes: tuple[str, str]) -> Fault:
    """A fault in the `frr.conf` of the devices whose names begin so."""

    def edit(name: str, files: Files) -> Files:
        if not name.startswith(device):
            return files
        body = files["frr.conf"]
        for pattern, into in changes:
            changed = re.sub(pattern, into, body)
            assert changed != body, f"{pattern} is not in the file of {device}"
            body = changed
        return {**files, "frr.conf": body}

    return Fault(edit=edit)


def list_findings(fault: Fault, asn: str = "unique") -> list[str]:
    return sorted(
        {
            f"{each.code} {each.message}"
            for each in find_breaches(outward_fabric("frr", asn=asn), fault, RATIOS)
        }
    )


@pytest.mark.parametrize("asn", ["shared", "unique"])
def test_a_fabric_with_ways_out_breaks_no_invariant(asn: str) -> None:
    assert list_findings(Fault(), asn) == []


EVERYBODYS = (r"(prefix-list AGGREGATES-V4 seq 5 permit) \S+ ge \d+ le \d+", r"\1 0.0.0.0/0 le 32")
FAULTS = {
    "addresses leak": (
        text_fault(SPINE, EVERYBODYS),
        "FAB6221", "announce the address 10.136.0.0/32 of spine01a outside (TO-EXTERNAL)",
    ),
    "transit": (
        text_fault(SPINE, EVERYBODYS, (DENY.format("TO-EXTERNAL"), "")),
        "FAB6221", "announce 0.0.0.0/0, which came from outside, to a party outside (TO-EXTERNAL)",
    ),
    "the fabric's own is taken": (
        text_fault(SPINE, (r"(prefix-list ACCEPT-DC-CORE-V4 seq 5 permit 0.0.0.0/0)", r"\1 le 32")),
        "FAB6221", "from outside (FROM-EXTERNAL-DC-CORE), which is the fabric's",
    ),
    "no filter inwards": (
        text_fault(SPINE, (r"  neighbor EXTERNAL-DC-CORE-V4 route-map \S+ in\n", "")),
        "FAB6221", "have no route map on what a session with a party outside takes",
    ),
    "no filter outwards": (
        text_fault(SPINE, (r"  neighbor EXTERNAL-DC-CORE-V4 route-map \S+ out\n", "")),
        "FAB6221", "have no route map on what a session with a party outside sends",
    ),
    "no aggregates": (
        text_fault(SPINE, (r"(prefix-list AGGREGATES-V4 seq 5 permit \S+ ge) \d+ le \d+", r"\1 25 le 25")),
        "FAB6221", "outside, so no answer comes back",
    ),
    "no password": (
        text_fault(SPINE, (r" neighbor EXTERNAL-DC-CORE-V4 password \S+\n", "")),
        "FAB6221", "the session with 192.0.2.1 has no password",
    ),
    "a password in the file": (
        text_fault(SPINE, (r"password FABRICC-SECRET-dc-core", "password opensesame")),
        "FAB6221", "the password of the session with 192.0.2.1 is in the file",
    ),
    "nothing is dropped": (
        text_fault(SPINE, (r"ip route 10.0.0.0/10 blackhole\n", "")),
        "FAB6221", "have a route to 0.0.0.0/0 outside and none that drops the fabric's own",
    ),
    "discards are announced": (
        text_fault(TOR, (r"(prefix-list STATIC-V4 seq 5 permit) \S+", r"\1 0.0.0.0/0 le 32")),
        "FAB6221", "which they drop (STATIC)",
    ),
    "nothing is routed to the filer": (
        text_fault(TOR, (r"ip route 198.51.100.0/24 \S+\n", "")),
        "FAB6221", "leads to filer-1 e0a, and no route uses it",
    ),
    "the default route stops at the spine": (
        text_fault("spine", (r"route-map TO-DOWNSTREAM permit 110\n.*\nexit\n!\n", "")),
        "FAB6221", "do not get 0.0.0.0/0 from outside over any switch above",
    ),
    "a valley": (
        text_fault(TOR, (DENY.format("TO-UPSTREAM"), "")),
        "FAB6210", "rack001-tor1a announce upwards routes from above (TO-UPSTREAM 120 permits ",
    ),
    "an address of the management network": (
        text_fault(SPINE, (r"192\.0\.2\.0/31", "172.16.128.0/31"), (r"192\.0\.2\.1\b", "172.16.128.1")),
        "FAB6206", "of the management network 172.16.0.0/16",
    ),
    "an address of another link": (
        text_fault(SPINE, (r"192\.0\.2\.0/31", "192.0.2.2/31"), (r"192\.0\.2\.1\b", "192.0.2.3")),
        "FAB6206", "192.0.2.2/31 overlaps 192.0.2.2/31 of spine01a",
    ),
    "an AS number of the fabric": (
        text_fault(SPINE, (r"remote-as 64999", "remote-as 4200524288")),
        "FAB6207", "spine01a has a neighbor outside with AS 4200524288, which is that of rack001-tor1a",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_at_the_edge_is_caught(name: str) -> None:
    fault, code, message = FAULTS[name]
    found = list_findings(fault)
    assert [each for each in found if each.startswith(code) and message in each], found


THREE_TIERS = """
cluster: three
gpus: {{model: grand-teton, racks: 4, hosts_per_rack: 1, wiring: rack}}
tors: {{model: 7060dx5-64s, nos: eos, reserved_ports: 2}}
spines: {{model: 7060dx5-64s, nos: eos, count: 2, oversubscription: 2, units_per_pod: 2, reserved_ports: 4}}
cores: {{model: 7060dx5-64s, nos: eos, count: 2, reserved_ports: 4}}
routing: {{spine_asn: {asn}}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
external:
  one:
    asn: 65001
    links:
      - {{at: {one}, port: Ethernet64/1, speed_gbps: 400, local: 192.0.2.0/31, peer: r1, peer_port: p1}}
  two:
    asn: 65002
    accept: [198.51.100.0/24]
    links:
      - {{at: {two}, port: Ethernet64/1, speed_gbps: 400, local: 192.0.2.2/31, peer: r2, peer_port: p1}}
"""


@pytest.mark.parametrize("asn", ["shared", "unique"])
@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("core01a", "core02a"),
        ("pod1-spine01a", "core01a"),
        ("pod1-spine02a", "pod2-spine01a"),
        ("rack001-tor1a", "rack003-tor1a"),
        ("rack001-tor1a", "pod2-spine01a"),
        ("rack001-tor1a", "core01a"),
    ],
)
def test_two_parties_at_any_two_tiers_break_no_invariant(
    one: str, two: str, asn: str, tmp_path: Path
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(THREE_TIERS.format(one=one, two=two, asn=asn))
    built = compile_spec(spec, gaps=False).fabric
    assert find_breaches(built, Fault(), {**RATIOS, 1: Ratio(Fraction(2))}) == []
