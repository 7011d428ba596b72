"""The lossless policy of every kind of switch, from the links it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fabricc.diagnostics import Diagnostic
from fabricc.fabric import links
from fabricc.fabric.model import Direction, TierName
from fabricc.qos import base_rtt_ns, switch_qos, traffic_classes

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import PortProfile, SwitchQos, TrafficClass
    from fabricc.planning.models import Models
    from fabricc.qos import QosFinding
    from fabricc.spec.model import ClusterSpec

LinkKinds = Counter[tuple[int, int]]
"""(speed in Gb/s, cable length in m) -> ports."""


def quality(spec: ClusterSpec, fabric: Fabric, models: Models, findings: list[Diagnostic]) -> Fabric:
    """The fabric with its quality of service; what does not fit is a finding at its place in the spec."""
    classes = traffic_classes(spec.priorities)
    rtt_ns = base_rtt_ns(*_longest_path(spec, models))
    qos: dict[str, SwitchQos] = {}
    profiles: dict[tuple[str, int, int], PortProfile] = {}
    found: dict[QosFinding, None] = {}
    switches = {TierName.TOR: models.tor, TierName.SPINE: models.spine, TierName.CORE: models.core}
    kinds = _full_switches(spec, fabric)
    changed = _changed_links(fabric)
    for key, (tier, full) in kinds.items():
        model = switches[tier]
        if model is None:
            continue
        policy, wrong, _ = switch_qos(classes, model, full, spec.switch_mtu, rtt_ns)
        found.update(dict.fromkeys(wrong))
        everything = full | changed.get(key, Counter())
        if everything.keys() != full.keys():
            wider, wrong, names = switch_qos(classes, model, everything, spec.switch_mtu, rtt_ns)
            found.update(dict.fromkeys(wrong))
            policy = replace(policy, profiles=wider.profiles)
        else:
            _, _, names = switch_qos(classes, model, full, spec.switch_mtu, rtt_ns)
        by_name = {profile.name: profile for profile in policy.profiles}
        profiles.update({(key, *kind): by_name[name] for kind, name in names.items()})
        qos[key] = policy
    findings.extend(_positioned(spec, classes, found))
    return replace(fabric, qos=qos, profiles=profiles)


def _positioned(
    spec: ClusterSpec, classes: tuple[TrafficClass, ...], found: dict[QosFinding, None]
) -> list[Diagnostic]:
    """Findings with a place: the lossless class, or the cables for what depends on their length."""
    lossless = next((c.name for c in classes if c.lossless), "")
    places = {"FAB4002": ("cables",), "FAB4007": ("mtu",)}
    return [
        Diagnostic(
            f.code,
            f.severity,
            f.message,
            spec.position(*places.get(f.code, ("priorities", lossless))),
            f.help,
        )
        for f in found
    ]


def _longest_path(spec: ClusterSpec, models: Models) -> tuple[list[int], list[int]]:
    """Cable lengths and forwarding latencies of the longest path between two hosts, one way."""
    host, spine, core = (cable.length_m for cable in (spec.cables.host, spec.cables.spine, spec.cables.core))
    tor, middle = models.tor.forwarding_latency_ns, models.spine.forwarding_latency_ns
    if models.core is None:
        return [host, spine, spine, host], [tor, middle, tor]
    top = models.core.forwarding_latency_ns
    return [host, spine, core, core, spine, host], [tor, middle, top, middle, tor]


def _full_switches(spec: ClusterSpec, fabric: Fabric) -> dict[str, tuple[TierName, LinkKinds]]:
    """Layout key -> tier and links of a switch with every planned link in place."""
    shape = fabric.shape
    host, spine, core = (cable.length_m for cable in (spec.cables.host, spec.cables.spine, spec.cables.core))
    found: dict[str, tuple[TierName, LinkKinds]] = {}
    for group, layout in enumerate(fabric.tor_layouts):
        kinds: LinkKinds = Counter()
        kinds[layout.slots[layout.down[0]].speed_gbps, host] += shape.hosts_per_unit * shape.rails_per_tor
        kinds[shape.uplink_gbps, spine] += shape.uplinks
        found[f"tor{group}"] = (TierName.TOR, kinds)
    kinds = Counter({(shape.uplink_gbps, spine): len(fabric.spine_layout.down)})
    if shape.cores and fabric.core_layout:
        kinds[shape.core_link_gbps, core] += shape.spine_uplinks
        found["core"] = (
            TierName.CORE,
            Counter({(shape.core_link_gbps, core): len(fabric.core_layout.down)}),
        )
    found["spine"] = (TierName.SPINE, kinds)
    return found


def _changed_links(fabric: Fabric) -> dict[str, LinkKinds]:
    """Layout key -> kinds of link that overrides bring, at both ends of each cable."""
    found: dict[str, LinkKinds] = {}
    if not fabric.changes:
        return found
    for at in fabric.switch_ids():
        if fabric.name(at) not in fabric.changes:
            continue
        slots = links.layout(fabric, at).slots
        for link in links.links(fabric, at):
            kind = (slots[link.slot].speed_gbps, link.cable_m)
            keys = {links.layout_key(fabric, at)}
            if link.direction is not Direction.HOST:
                keys |= _peer_keys(fabric, at.tier, link.direction)
            for key in keys:
                found.setdefault(key, Counter())[kind] = 1
    return found


def _peer_keys(fabric: Fabric, tier: TierName, direction: Direction) -> set[str]:
    """Layout keys of the switches at the far end of a switch's links."""
    tors = {f"tor{group}" for group in range(len(fabric.tor_layouts))}
    if tier is TierName.TOR or (tier is TierName.CORE and direction is Direction.DOWN):
        return {"spine"}
    return {"core"} if direction is Direction.UP else tors
