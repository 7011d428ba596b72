"""A small back end with tenants, on any operating system: four hosts on four ToRs below two spines, or without."""

from __future__ import annotations

from dataclasses import replace
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
cluster: tenanted
gpus: {{model: grand-teton, hosts: {hosts}, wiring: {wiring}, hosts_per_{unit}: 2}}
tors: {{model: {model}, nos: {nos}}}
{spines}
addressing: {{family: {family}}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr x"}}
tenants:
{tenants}
"""
TENANTS = """\
  acme: {hosts: [rack001-host01, rack002-host01]}
  globex: {hosts: [rack001-host02]}
  shared: {hosts: [rack002-host02], gpus: [0-3]}
  initech: {hosts: [rack002-host02], gpus: [4, 5, 6, 7]}
"""
RAIL_TENANTS = """\
  acme: {hosts: [su001-host01]}
  globex: {hosts: [su001-host02]}
"""
EXPRESSED = ("cumulus", "eos", "frr", "junos", "nxos", "sonic")
"""Systems that have VRFs of tenants."""
UNVERIFIED = ("eos", "nxos", "sonic")
"""Systems whose switch here no source confirms, so that the spec accepts it."""
TOR, SPINE = "rack001-tor1a", "spine01a"


def spec_text(
    nos: str,
    *,
    dual: bool = False,
    spines: bool = True,
    tenants: str = "",
    more: str = "",
    accepted: bool = True,
    hosts: int = 4,
) -> str:
    """Return the spec: rack wiring with spines, or rail wiring without."""
    if nos in UNVERIFIED and spines and accepted:
        more += "\naccept: [{code: FAB3319, reason: one ToR was tested with the release}]"
    above = f"spines: {{model: {MODELS[nos]}, nos: {nos}, count: 2}}" if spines else ""
    return SPEC.format(
        model=MODELS[nos], nos=nos, family="dual" if dual else "ipv4", spines=above + more,
        wiring="rack" if spines else "rail-only", unit="rack" if spines else "unit", hosts=hosts if spines else 2,
        tenants=tenants or (TENANTS if spines else RAIL_TENANTS),
    )  # fmt: skip


@cache
def compiled(
    nos: str,
    *,
    dual: bool = False,
    spines: bool = True,
    tenants: str = "",
    more: str = "",
    accepted: bool = True,
    hosts: int = 4,
) -> Compiled:
    """Return the compiled spec, without a check of the system's gaps."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(
            spec_text(
                nos, dual=dual, spines=spines, tenants=tenants, more=more, accepted=accepted, hosts=hosts
            )
        )
        return compile_spec(spec, gaps=False)


EXITS = """
external:
  filer:
    accept: [198.51.100.0/24{v6}]
    links: [{{at: TOR, port: "{tor[0]}", speed_gbps: 400, local: 192.0.2.9/29, remote: 192.0.2.10, {at6[0]}
             peer: filer-1, peer_port: e0a}}]
  internet:
    accept: [0.0.0.0/0]
    links: [{{at: {border}, port: "{other[0]}", speed_gbps: 400, local: 192.0.2.16/31, {at6[1]}peer: r-1,
             peer_port: e0a}}]
  vault:
    accept: [198.51.100.0/24]
    links: [{{at: TOR, port: "{tor[1]}", speed_gbps: 400, local: 192.0.2.18/31, {at6[2]}peer: v-1, peer_port: e0a}}]
"""
"""Static ways out: two of acme, at a ToR and a border leaf, and one of globex at the same ToR with the same prefix."""
REACHING = """\
  acme: {{hosts: [{0}-host01], reach: [filer, internet]}}
  globex: {{hosts: [{0}-host02], reach: [vault]}}
"""


def exits_text(nos: str, *, dual: bool = False, spines: bool = True) -> str:
    """Return a spec whose tenants reach outside parties."""
    unit = "rack001" if spines else "su001"
    text = spec_text(nos, dual=dual, spines=spines, tenants=REACHING.format(unit))
    more = "reserved_ports: 2" + (", border: 1, oversubscription: 1.2}" if spines else "}")
    text = text.replace(f"nos: {nos}}}", f"nos: {nos}, {more}", 1)
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(text.replace(", reach: [filer, internet]", "").replace(", reach: [vault]", ""))
        plain = compile_spec(spec, gaps=False).fabric
    assert plain is not None
    tor, border = f"{unit}-tor1a", "border01a" if spines else f"{unit}-tor2a"
    free = {
        name: [port.name for port in plain.switch(at).ports if port.reserved][-2:]
        or [port.name for port in plain.switch(at).ports if port.direction.value == "unused"][:1]
        for at in plain.switch_ids()
        if (name := plain.name(at)) in (tor, border)
    }
    at6 = [f"local6: '2001:db8::{2 * at:x}/127', " if dual else "" for at in range(3)]
    v6 = ", '2001:db8:1::/48'" if dual else ""
    exits = EXITS.format(tor=free[tor], other=free[border], border=border, at6=at6, v6=v6)
    return text + exits.replace("at: TOR", f"at: {tor}")


@cache
def compiled_exits(nos: str, *, dual: bool = False, spines: bool = True) -> Compiled:
    """Return the compiled spec whose tenants reach outside parties."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(exits_text(nos, dual=dual, spines=spines))
        return compile_spec(spec, gaps=False)


def fabric(nos: str, *, dual: bool = False, spines: bool = True) -> Fabric:
    """Return its fabric."""
    found = compiled(nos, dual=dual, spines=spines)
    assert found.fabric is not None, found.diagnostics
    return found.fabric


def switch(nos: str, name: str, *, dual: bool = False, spines: bool = True) -> Switch:
    """Return one of its switches."""
    built = fabric(nos, dual=dual, spines=spines)
    return next(built.switch(at) for at in built.switch_ids() if built.name(at) == name)


def switches(nos: str) -> list[Switch]:
    """Return a ToR and a spine of one address family and of both, a ToR without spines, and one of a later release."""
    above = [switch(nos, name, dual=dual) for name in (TOR, SPINE) for dual in (False, True)]
    alone = fabric(nos, dual=True, spines=False)
    later = [replace(above[0], release="5.19")] if nos == "cumulus" else []  # VRFs without VLANs
    return [*above, *later, alone.switch(next(iter(alone.switch_ids()))), *exit_switches(nos)]


def exit_switches(nos: str) -> list[Switch]:
    """Return switches with links outside, of both address families: with tunnels where these are, and without."""
    found = []
    for spines in (True, False):
        built = compiled_exits(nos, dual=True, spines=spines).fabric
        assert built is not None
        found += [built.switch(at) for at in built.switch_ids() if built.external.at(built.name(at))]
    return found
