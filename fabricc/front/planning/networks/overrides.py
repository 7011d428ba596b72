"""Overrides: what single devices do differently, checked against the devices and ports that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.catalog.library import suggestion_remedy
from fabricc.catalog.support import model_at_release
from fabricc.fabric import links
from fabricc.fabric.design import DeviceChange
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.planning.topology.boxes import box_of
from fabricc.front.planning.topology.models import Models, Naming, nos_release
from fabricc.front.spec.device_model import NosChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.given_identities import SingleModel
    from fabricc.front.spec.model import ClusterSpec


def apply_overrides(
    spec: ClusterSpec, fabric: Fabric, models: Models, naming: Naming, findings: list[Diagnostic]
) -> Fabric:
    """Return the fabric with the spec's overrides; unknown devices and ports are findings."""
    if not spec.overrides:
        return fabric
    switches = {fabric.name(at): at for at in fabric.switch_ids() if fabric.name(at) in spec.overrides}
    found: dict[str, DeviceChange] = {}
    boxes: dict[SwitchId, SingleModel] = {}
    for name, override in spec.overrides.items():
        at = switches.get(name)
        if at is None:
            findings.append(unknown_switch(spec, fabric, "FAB3022", name, ("overrides", name)))
            continue
        tier = fabric.tiers[at.tier]
        if override.unnumbered and at.tier is TierName.TOR:
            message = f"{name} is a ToR, with no switches below it"
            help_ = "Set it on the spines, or for all links: `addressing: {fabric_links: unnumbered}`."
            findings.append(spec.error("FAB3182", message, "overrides", name, "fabric_links", help=help_))
        release, model = None, models.boxes.get(name, tier.model)
        if override.nos or model is not tier.model:
            path = ("overrides", name, "nos" if override.nos else "model")
            own = override.nos or NosChoice(tier.nos, tier.release)
            release = nos_release(spec, naming, own, model, findings, *path)
            if release is None:
                continue
        if model is not tier.model:
            nos = override.nos.name if override.nos else tier.nos
            model = model_at_release(model, nos, release or tier.release)
            box = box_of(spec, fabric, at, model, findings)
            if box is None:
                continue
            boxes[at] = box
        found[name] = DeviceChange(
            nos=override.nos.name if override.nos else None,
            release=release,
            drained=override.drain,
            cable_m=override.cable_m,
            ports={
                port: (change.cable_m, change.medium, change.shutdown)
                for port, change in override.ports.items()
            },
            unnumbered=override.unnumbered,
        )
    changed = replace(fabric, changes=found)
    if boxes:
        names = _port_names(changed, boxes, naming)
        changed = replace(changed, boxes=boxes, port_names={**fabric.port_names, **names})
    for name in found:
        findings.extend(_unknown_ports(spec, changed, name, switches[name]))
    return changed


def _port_names(
    fabric: Fabric, boxes: Mapping[SwitchId, SingleModel], naming: Naming
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the slot names of single boxes, as the NOS of each defines them."""
    found = {}
    for at, box in boxes.items():
        nos = fabric.changes[fabric.name(at)].nos or fabric.tiers[at.tier].nos
        slots = box.layout.slots
        found[nos, box.key] = tuple(naming.port_name(nos, box.model, slot) for slot in slots)
    return found


def unknown_switch(spec: ClusterSpec, fabric: Fabric, code: str, name: str, path: KeyPath) -> Diagnostic:
    """Return the error for an unknown switch, with similar names."""
    known = [fabric.name(at) for at in fabric.switch_ids()]
    help_ = suggestion_remedy(name, known, f"Switches are named like {known[0]} and {known[-1]}.")
    return spec.error(code, f"no switch is named {name!r}", *path, help=help_)


def _unknown_ports(spec: ClusterSpec, fabric: Fabric, name: str, at: SwitchId) -> list[Diagnostic]:
    names = links.port_names(fabric, at)
    used = {names[link.slot] for link in links.switch_links(fabric, at)}
    used |= {each.port for outsider in spec.external for each in outsider.links if each.at == name}
    like = f"Its ports with links are named like {min(used)}." if used else "No port of it has a link."
    wrong = []
    for port in spec.overrides[name].ports:
        if port in used:
            continue
        what = "carries no link" if port in names else "does not exist"
        message = f"port {port} of {name} {what}"
        help_ = suggestion_remedy(port, sorted(used), like)
        wrong.append(spec.error("FAB3023", message, "overrides", name, "ports", port, help=help_))
    return wrong
