"""A small fabric with every kind of way out, on any operating system: BGP at both spines, static routes at a ToR."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.catalog.load import load_catalog
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch

SPEC = """
cluster: outward
gpus: {{model: grand-teton, racks: 2, hosts_per_rack: 1, wiring: rack}}
tors: {{model: {model}, nos: {nos}, reserved_ports: 2}}
spines: {{model: {model}, nos: {nos}, count: 2, reserved_ports: 8}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
addressing: {{family: {family}}}
routing: {{spine_asn: {asn}}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr x"}}
accept: [{{code: FAB5201, reason: "a lab without PFC"}}]
external:
  dc-core:
    asn: 64999
    password: {{secret: dc-core}}
    accept: {accept}
    links:
      - {{at: spine01a, port: "{last}", speed_gbps: 400, peer: core-1, peer_port: et-0/0/1, {first}}}
      - {{at: spine02a, port: "{last}", speed_gbps: 400, peer: core-2, peer_port: et-0/0/1, {second}}}
{filer}"""
FILER = """
  filer:
    accept: [198.51.100.0/24]
    mtu: 9000
    links:
      - {{at: rack001-tor1a, port: "{last}", speed_gbps: 400, local: 192.0.2.9/29, remote: 192.0.2.10, peer: filer-1,
         peer_port: e0a, medium: dac, length_m: 2}}
"""
MODELS = {
    "frr": "sn4700",
    "sonic": "sn4700",
    "cumulus": "sn4700",
    "eos": "7060dx5-64s",
    "nxos": "9332d-gx2b",
    "junos": "qfx5230-64cd",
}
TOR, SPINE = "rack001-tor1a", "spine01a"


def spec_text(nos: str, *, dual: bool = False, asn: str = "shared") -> str:
    """The spec; the ways out are at the last cage of each switch."""
    catalog, _ = load_catalog()
    model = catalog.switches[MODELS[nos]]
    cage = max(group.first + group.count - 1 for group in model.cages if group.fabric)
    last = back_ends.load(nos).port_name(model, cage, 1, 1)
    ends = ["local: 192.0.2.0/31", "local: 192.0.2.2/31"]
    if dual:
        ends = [f"{end}, local6: '2001:db8::{2 * at:x}/127'" for at, end in enumerate(ends)]
    return SPEC.format(
        model=model.name, nos=nos, asn=asn, last=last, first=ends[0], second=ends[1], family="dual" if dual else "ipv4",
        accept="['0.0.0.0/0', '::/0']" if dual else "[0.0.0.0/0, 203.0.113.0/24 le 28]",
        filer="" if dual else FILER.format(last=last),
    )  # fmt: skip


@cache
def compiled(nos: str, *, dual: bool = False, asn: str = "shared") -> Compiled:
    """Return the compiled spec, without a check of the system's gaps."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(spec_text(nos, dual=dual, asn=asn))
        return compile_spec(spec, gaps=False)


def outward_fabric(nos: str, *, dual: bool = False, asn: str = "shared") -> Fabric:
    """Return its fabric."""
    return compiled(nos, dual=dual, asn=asn).fabric


def switch(nos: str, name: str, *, dual: bool = False) -> Switch:
    """One of its switches."""
    built = outward_fabric(nos, dual=dual)
    return next(built.switch(at) for at in built.switch_ids() if built.name(at) == name)


def switches(nos: str) -> list[Switch]:
    """Return those with a way out, of both address families."""
    return [switch(nos, TOR), switch(nos, SPINE), switch(nos, SPINE, dual=True)]
