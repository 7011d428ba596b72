"""Overrides: what single devices do differently, checked against the devices and ports that exist."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.fabric import links
from fabricc.fabric.fabric import DeviceChange
from fabricc.front.planning.models import nos_release

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId
    from fabricc.front.planning.models import Naming
    from fabricc.front.spec.model import ClusterSpec


def changes(spec: ClusterSpec, fabric: Fabric, naming: Naming, findings: list[Diagnostic]) -> Fabric:
    """The fabric with the spec's overrides; what they name and does not exist is a finding."""
    if not spec.overrides:
        return fabric
    switches = {fabric.name(at): at for at in fabric.switch_ids() if fabric.name(at) in spec.overrides}
    found: dict[str, DeviceChange] = {}
    for name, override in spec.overrides.items():
        at = switches.get(name)
        if at is None:
            findings.append(_unknown_device(spec, fabric, name))
            continue
        tier = fabric.tiers[at.tier]
        release = None
        if override.nos:
            path = ("overrides", name, "nos")
            release = nos_release(spec, naming, override.nos, tier.model, findings, *path)
            if release is None:
                continue
        found[name] = DeviceChange(
            nos=override.nos.name if override.nos else None,
            release=release,
            drained=override.drain,
            cable_m=override.cable_m,
            ports={
                port: (change.cable_m, change.medium, change.shutdown)
                for port, change in override.ports.items()
            },
        )
    changed = replace(fabric, changes=found)
    for name in found:
        findings.extend(_unknown_ports(spec, changed, name, switches[name]))
    return changed


def _unknown_device(spec: ClusterSpec, fabric: Fabric, name: str) -> Diagnostic:
    known = [fabric.name(at) for at in fabric.switch_ids()]
    close = get_close_matches(name, known, n=3, cutoff=0.6)
    return spec.error(
        "FAB3022",
        f"no switch is named {name!r}",
        "overrides",
        name,
        help=f"Did you mean {' or '.join(close)}?"
        if close
        else f"Switches are named like {known[0]} and {known[-1]}.",
    )


def _like(names: set[str]) -> str:
    return f"Its ports with links are named like {min(names)}." if names else "No port of it has a link."


def _unknown_ports(spec: ClusterSpec, fabric: Fabric, name: str, at: SwitchId) -> list[Diagnostic]:
    names = links.port_names(fabric, at)
    used = {names[link.slot] for link in links.links(fabric, at)}
    used |= {each.port for outsider in spec.external for each in outsider.links if each.at == name}
    wrong = []
    for port in spec.overrides[name].ports:
        if port in used:
            continue
        close = get_close_matches(port, sorted(used), n=3, cutoff=0.6)
        what = "carries no link" if port in names else "does not exist"
        wrong.append(
            spec.error(
                "FAB3023",
                f"port {port} of {name} {what}",
                "overrides",
                name,
                "ports",
                port,
                help=f"Did you mean {' or '.join(close)}?" if close else _like(used),
            )
        )
    return wrong
