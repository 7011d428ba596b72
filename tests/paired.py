"""A small fabric of two ToRs that are joined without spines, on any operating system."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch

SPEC = """
cluster: paired
gpus: {{model: dgx-h100, hosts: {hosts}, hosts_per_unit: {room}, {wiring}}}
tors: {{model: {model}, nos: {nos}{peers}}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
addressing: {{family: {family}, fabric_links: {links}}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr x"}}
accept: [{{code: FAB5201, reason: "a lab without PFC"}}]
{more}"""
MODELS = {
    "frr": "sn5600",
    "sonic": "sn5600",
    "cumulus": "sn5600",
    "eos": "7060x6-64pe",
    "nxos": "9364d-gx2a",
    "junos": "qfx5240-64od",
}
RAILS, RACKS, APART = "rails_per_tor: 4", "rails_per_tor: 0", "rails_per_tor: 4, wiring: rail-only"
"""Both ToRs in one unit, each for half of the rails; a unit each, for half of the hosts; not joined."""


def spec_text(
    nos: str,
    *,
    peers: int = 3,
    wiring: str = RAILS,
    hosts: int = 2,
    family: str = "ipv4",
    links: str = "numbered",
    more: str = "",
) -> str:
    """The spec; `peers`: links between the two ToRs, 0 for none."""
    room = hosts // 2 if wiring == RACKS else hosts
    return SPEC.format(
        nos=nos, model=MODELS[nos], wiring=wiring, hosts=hosts, room=room, family=family, links=links, more=more,
        peers=f", peer_links: {peers}" if peers else "",
    )  # fmt: skip


@cache
def compile_paired(nos: str, **words: object) -> Compiled:
    """Return the compiled spec, without a check of the system's gaps."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(spec_text(nos, **words))  # type: ignore[arg-type]
        return compile_spec(spec, gaps=False)


def paired_fabric(nos: str, **words: object) -> Fabric:
    """Return the planned fabric."""
    found = compile_paired(nos, **words)
    assert found.fabric is not None, [each.message for each in found.diagnostics]
    return found.fabric


def paired_switches(nos: str, **words: object) -> list[Switch]:
    """Return both ToRs."""
    built = paired_fabric(nos, **words)
    return [built.switch(at) for at in built.switch_ids()]
