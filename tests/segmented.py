"""A small front end with segments, on any operating system: two groups of hosts on four ToRs below two spines."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.compiler.compiled import compile_spec
from tests.outward import MODELS

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch

SPEC = """
cluster: segmented
gpus:
  wiring: rack
  groups:
    - {{name: gpu, model: grand-teton, racks: 2, hosts_per_rack: 1}}
    - {{name: cpu, model: grand-teton, racks: 2, hosts_per_rack: 1}}
tors: {{model: {model}, nos: {nos}}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities: {{default: {{}}}}
addressing: {{family: {family}, fabric_links: {links}}}
routing: {{spine_asn: {asn}}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr x"}}
evpn:
  segments:
    tenant-a: {{vlan: 110, subnet: 10.20.0.0/22, groups: [gpu]{six_a}}}
    tenant-b: {{vlan: 120, subnet: 10.20.4.0/22{six_b}}}
"""
EXPRESSED = ("eos", "frr")
"""Systems that have segments."""
TOR, SPINE = "rack001-tor1a", "spine01a"


def spec_text(nos: str, *, dual: bool = False, asn: str = "shared", links: str = "numbered") -> str:
    """The spec."""
    return SPEC.format(
        model=MODELS[nos], nos=nos, asn=asn, links=links, family="dual" if dual else "ipv4",
        six_a=", subnet6: 'fd00:110::/64'" if dual else "", six_b=", subnet6: 'fd00:120::/64'" if dual else "",
    )  # fmt: skip


@cache
def compile_segmented(
    nos: str, *, dual: bool = False, asn: str = "shared", links: str = "numbered"
) -> Compiled:
    """Return the compiled spec, without a check of the system's gaps."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(spec_text(nos, dual=dual, asn=asn, links=links))
        return compile_spec(spec, gaps=False)


def segmented_fabric(nos: str, *, dual: bool = False, asn: str = "shared", links: str = "numbered") -> Fabric:
    """Return its fabric."""
    found = compile_segmented(nos, dual=dual, asn=asn, links=links)
    assert found.fabric is not None, found.diagnostics
    return found.fabric


def segmented_switch(nos: str, name: str, *, dual: bool = False, links: str = "numbered") -> Switch:
    """One of its switches."""
    built = segmented_fabric(nos, dual=dual, links=links)
    return next(built.switch(at) for at in built.switch_ids() if built.name(at) == name)


def segmented_switches(nos: str) -> list[Switch]:
    """A ToR and a spine, of one address family and of both."""
    return [segmented_switch(nos, name, dual=dual) for name in (TOR, SPINE) for dual in (False, True)]
