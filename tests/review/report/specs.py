"""Specs that differ in everything that a report distinguishes: wiring, planes, tiers, parallel links, groups,
overrides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.compiler.compiled import Compiled, compile_spec

if TYPE_CHECKING:
    from pathlib import Path

PRIORITIES = "priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}\n"
CORES = "cores: {model: linux-16x100, nos: frr}\n"
LAB = "accept: [{code: FAB5201, reason: a lab of namespaces}, {code: FAB5202, reason: a lab of namespaces}]\n"


def lab_spec(hosts: int, per_unit: int, uplinks: int, spines: int, more: str = "") -> str:
    """Hosts of two rails on switches of 16 ports of 100G."""
    return (
        f"cluster: lab\ngpus: {{model: lab-host, hosts: {hosts}, hosts_per_unit: {per_unit}}}\n"
        f"tors: {{model: linux-16x100, nos: frr, uplinks: {uplinks}}}\n"
        f"spines: {{model: linux-16x100, nos: frr, count: {spines}{more}}}\n{PRIORITIES}{LAB}"
    )


def two_ports(hosts: int, per_unit: int, planes: int, wiring: str = "rail") -> str:
    """Hosts with eight NICs of two ports on switches whose cages are split."""
    return (
        f"cluster: two-ports\ngpus: {{model: hgx-2x200, hosts: {hosts}, hosts_per_unit: {per_unit}, "
        f"wiring: {wiring}}}\n"
        f"planes: {planes}\ntors: {{model: 7060x6-64pe, nos: eos, uplinks: 4, uplink_gbps: 400}}\n"
        f"spines: {{model: 7060x6-64pe, nos: eos, count: 2}}\n{PRIORITIES}"
    )


SMALL = {
    "single links": lab_spec(4, 2, 2, 2),
    "parallel links": lab_spec(4, 2, 4, 2),
    "oversubscribed": lab_spec(8, 4, 2, 2),
    "four units": lab_spec(8, 2, 2, 2),
    "cores": lab_spec(8, 2, 2, 2, ", units_per_pod: 2, uplinks: 4")
    + "cores: {model: linux-16x100, nos: frr}\n",
    "two planes": two_ports(4, 2, 2),
    "two ToRs a host": two_ports(4, 2, 1),
    "racks": two_ports(4, 2, 1, "rack"),
}
"""Fabrics small enough to follow every cable; their units are equal and even in number."""

MIXED = f"""\
cluster: mixed
gpus:
  groups:
    - {{name: old, model: dgx-h100, hosts: 5, hosts_per_unit: 4}}
    - {{name: new, model: dgx-b300, hosts: 3, hosts_per_unit: 4}}
tors: {{model: sn5600, nos: sonic-202505, uplinks: 8, reserved_ports: 2}}
spines: {{model: sn5600, nos: sonic-202505}}
addressing: {{family: dual}}
cables: {{host: {{medium: dac, length_m: 3}}, spine: {{medium: aoc, length_m: 30}}}}
overrides:
  spine01a: {{cable_m: 100}}
  su001-tor2a: {{drain: true, ports: {{Ethernet0: {{cable_m: 1, medium: dac}}, Ethernet4: {{medium: mmf}}}}}}
{PRIORITIES}"""

MIXED_SPEEDS = f"""\
cluster: speeds
gpus:
  wiring: rack
  groups:
    - {{name: old, model: dgx-h100, racks: [a1, a2], hosts_per_rack: 4}}
    - {{name: new, model: dgx-b300, racks: [b1, b2], hosts_per_rack: 4}}
tors: {{model: sn5600, nos: sonic-202505, uplink_gbps: 400}}
spines: {{model: sn5600, nos: sonic-202505, count: 8}}
{PRIORITIES}"""
"""Racks that send 12.8 and 25.6 Tb/s, to eight spines by four links of 400G each and by eight."""

UNNUMBERED = lab_spec(4, 2, 2, 2) + "addressing: {family: ipv6, fabric_links: unnumbered}\n"


def front_of(folder: Path, text: str) -> Compiled:
    """A spec that must be plannable, compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster.yaml").write_text(text)
    front = compile_spec(folder / "cluster.yaml")
    assert front.sound, [f"{d.code} {d.message} {d.help}" for d in front.diagnostics]
    return front
