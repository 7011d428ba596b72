"""The lossless policy of every kind of switch, from the links it has."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic
from fabricc.base.diagnostics.wording import as_sentence
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front import qos
from fabricc.front.planning.topology.layout import ports_at
from fabricc.front.qos.ecn import DCQCN, Marking
from fabricc.front.spec.document import join_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.qos import PortProfile, SwitchQos, TrafficClass, VendorPolicy
    from fabricc.front.planning.topology.models import Naming
    from fabricc.front.spec.model import ClusterSpec

LinkKinds = Counter[tuple[int, int]]
"""(speed in Gb/s, cable length in m) -> ports."""


class QosWorksheet(NamedTuple):
    """The worksheet of one lossless profile on one kind of switch, and what its plot needs."""

    switches: str
    model: SwitchModel
    profile: PortProfile
    rows: tuple[qos.Row, ...]


def plan_quality(spec: ClusterSpec, fabric: Fabric, naming: Naming, findings: list[Diagnostic]) -> Fabric:
    """Return the fabric with its quality of service; what does not fit is a finding at its place in the spec."""
    classes = qos.traffic_classes(spec.priorities, marked=spec.congestion.marked)
    vendor = _vendor_policy(spec, fabric, naming, findings) if spec.vendor_qos else None
    if vendor is not None:
        classes, unfit = qos.fit_vendor_classes(spec.priorities, classes, vendor)
        findings.extend(_locate_findings(spec, classes, dict.fromkeys(unfit)))
    rtt_ns, marking = _round_trip_ns(spec, fabric), _requested_marking(spec, vendor)
    policies: dict[str, SwitchQos] = {}
    profiles: dict[tuple[str, int, int], PortProfile] = {}
    found: dict[qos.QosFinding, None] = {}

    @cache
    def policy_of(
        number: int, kinds: frozenset[tuple[tuple[int, int], int]]
    ) -> tuple[SwitchQos, Mapping[tuple[int, int], str]]:
        longest = max((length for (_, length), _ in kinds), default=0)
        own = vendor and replace(vendor, cable_m=max(vendor.cable_m, longest))
        policy, wrong, names = qos.switch_qos(
            classes,
            models[number],
            dict(kinds),
            spec.switch_mtu,
            rtt_ns,
            vendor=own,
            marking=marking,
            oversubscription=spec.headroom_oversubscription,
            pool_settable=pool_settable,
            longest_cable_m=longest_cable_m,
            all_ports={speed: ports_at(models[number], speed) for (speed, _), _ in kinds},
        )
        found.update(dict.fromkeys(wrong))
        return policy, names

    every = (*(plan.model for plan in fabric.tiers.values()), *(box.model for box in fabric.boxes.values()))
    models = {id(model): model for model in every}  # one model has other figures on another release
    systems = {plan.nos for plan in fabric.tiers.values()}
    pool_settable = all(map(naming.sets_headroom_pool, systems))
    limits = [naming.longest_cable_m(plan.nos, plan.model) for plan in fabric.tiers.values()]
    longest_cable_m = min(filter(None, limits), default=None)
    request = spec.congestion.trimming
    cut = qos.plan_trimming(classes, request.class_name, request.size_bytes) if request else None
    for model in models.values():
        found.update(dict.fromkeys(qos.trimming_findings(cut, model)))
    for owner, key, model, kinds in _list_switch_kinds(spec, fabric):
        policy, names = policy_of(id(model), frozenset(kinds.items()))
        by_name = {profile.name: profile for profile in policy.profiles}
        for kind, name in names.items():
            profiles.setdefault((key, *kind), by_name[name])
        policies[owner] = replace(policy, trimming=cut, link_retry=spec.congestion.link_retry)
    findings.extend(_locate_findings(spec, classes, found))
    return replace(fabric, qos=policies, profiles=profiles)


def _vendor_policy(
    spec: ClusterSpec, fabric: Fabric, naming: Naming, findings: list[Diagnostic]
) -> VendorPolicy | None:
    """Return the policy that the command of every system of the fabric sets; a system without one is a finding."""
    found: dict[str, VendorPolicy] = {}
    plans = {tier.value: plan.nos for tier, plan in fabric.tiers.items()}
    others = {f"overrides.{name}": change.nos for name, change in fabric.changes.items() if change.nos}
    for place, nos in (plans | others).items():
        if (policy := naming.vendor_policy(nos)) is not None:
            found[nos] = policy
            continue
        others_with = [name for name in naming.names() if naming.vendor_policy(name) is not None]
        message = f"{place}: fabricc has no command of {nos} that sets a whole lossless policy"
        help_ = (
            "Leave `qos: vendor` out: the computed policy uses published buffer tables. "
            f"Systems with such a command: {join_words(others_with, 'and')}."
        )
        findings.append(spec.error("FAB4017", message, "qos", help=help_))
    if len(set(found.values())) > 1:
        message = f"{join_words(sorted(found), 'and')} set different lossless policies"
        findings.append(spec.error("FAB4017", message, "qos", help="Leave `qos: vendor` out."))
    policy = next(iter(found.values()), None)
    findings.extend(_settings_beside_vendor(spec, policy) if policy else ())
    return policy


def _settings_beside_vendor(spec: ClusterSpec, policy: VendorPolicy) -> Iterator[Diagnostic]:
    """Yield settings of the spec that replace a part of the policy, which its command has no word for."""
    beside = {
        ("congestion", "profile"): spec.congestion.profile != DCQCN.name,
        ("congestion", "ecn", "preset"): spec.congestion.preset is not None,
        ("congestion", "trimming"): spec.congestion.trimming is not None,
        ("buffers", "headroom_oversubscription"): spec.headroom_oversubscription is not None,
    }
    for path, stated in beside.items():
        if stated:
            message = f"{'.'.join(path)} has no place under {policy.command}"
            help_ = "Remove it, or leave `qos: vendor` out. `congestion.ecn` may state numbers."
            yield spec.error("FAB4018", message, *path, help=help_)


def list_worksheets(spec: ClusterSpec, fabric: Fabric) -> tuple[QosWorksheet, ...]:
    """The worksheet of every lossless profile of a planned fabric, by kind of switch, or switch, and profile."""
    rtt_ns = _round_trip_ns(spec, fabric)
    sheets = []
    for owner, _, model, kinds in _list_switch_kinds(spec, fabric):
        policy = fabric.qos[owner]
        marking = _requested_marking(spec, policy.vendor)
        rows = qos.build_worksheet(
            policy,
            model,
            kinds,
            spec.switch_mtu,
            rtt_ns,
            marking=marking,
            oversubscription=spec.headroom_oversubscription,
        )
        by_name = {profile.name: profile for profile in policy.profiles}
        label = TierName.TOR.value if owner == "tor0" and len(fabric.tor_layouts) == 1 else owner
        sheets += [QosWorksheet(label, model, by_name[name], lines) for name, lines in rows.items()]
    return tuple(sheets)


def _requested_marking(spec: ClusterSpec, vendor: VendorPolicy | None) -> Marking:
    """Return the marking that the spec requests: its own numbers, a preset, the system's, or the congestion control's.

    A class that is marked although the congestion control does not, which the spec's rules refuse, would get
    those of DCQCN.
    """
    if (own := spec.congestion.thresholds) is not None:
        return qos.FixedMarking(
            "spec", own.min_bytes, own.max_bytes, own.max_percent, "congestion.ecn", stated=True
        )
    if spec.congestion.preset is not None:
        return qos.PRESETS[spec.congestion.preset]
    if vendor is not None:
        ecn = vendor.ecn
        return qos.FixedMarking(
            vendor.command, ecn.min_bytes, ecn.max_bytes, ecn.max_percent, vendor.source, of_system=True
        )
    return qos.PROFILES.get(spec.congestion.profile, DCQCN)


def _locate_findings(
    spec: ClusterSpec, classes: tuple[TrafficClass, ...], found: dict[qos.QosFinding, None]
) -> list[Diagnostic]:
    """Findings with a place: the lossless class, or the cables for what depends on their length."""
    lossless = next((c.name for c in classes if c.lossless), "")
    marked = next((c.name for c in classes if c.ecn), "")
    places = {
        "FAB4002": ("cables",),
        "FAB4007": ("mtu",),
        "FAB4009": ("congestion", "ecn"),
        "FAB4010": ("congestion", "ecn"),
        "FAB4013": ("buffers", "headroom_oversubscription"),
        "FAB4015": ("congestion", "trimming"),
        "FAB4016": ("priorities", marked),
        "FAB4018": ("priorities",),
    }
    return [
        Diagnostic(
            f.code,
            f.severity,
            f.message,
            spec.position(*places.get(f.code, ("priorities", lossless))),
            as_sentence(f.help),
        )
        for f in found
    ]


def _round_trip_ns(spec: ClusterSpec, fabric: Fabric) -> int:
    """Base round trip of the longest path between two hosts."""
    host, spine, core = (cable.length_m for cable in (spec.cables.host, spec.cables.spine, spec.cables.core))
    latency = {tier: plan.model.forwarding_latency_ns for tier, plan in fabric.tiers.items()}
    tor = latency[TierName.TOR]
    if TierName.SPINE not in latency:
        if fabric.shape.peer_links:
            return qos.base_rtt_ns([host, spec.cables.peer.length_m, host], [tor, tor])
        return qos.base_rtt_ns([host, host], [tor])
    middle = latency[TierName.SPINE]
    if TierName.CORE not in latency:
        return qos.base_rtt_ns([host, spine, spine, host], [tor, middle, tor])
    top = latency[TierName.CORE]
    return qos.base_rtt_ns([host, spine, core, core, spine, host], [tor, middle, top, middle, tor])


def _full_switches(spec: ClusterSpec, fabric: Fabric) -> dict[str, tuple[TierName, LinkKinds]]:
    """Layout key -> tier and links of a switch with a link in every position that the shape keeps for one.

    Buffers are made for these, so that neither more units nor a host group that becomes faster takes a reload.
    """
    shape = fabric.shape
    host, spine, core = (cable.length_m for cable in (spec.cables.host, spec.cables.spine, spec.cables.core))
    found: dict[str, tuple[TierName, LinkKinds]] = {}
    for group, layout in enumerate(fabric.tor_layouts):
        if fabric.attachments[group].beside is not None:
            continue
        served = layout.down[: len(layout.down) - layout.reserved]
        kinds: LinkKinds = Counter((layout.slots[index].speed_gbps, host) for index in served)
        if shape.spines:
            kinds[shape.uplink_gbps, spine] += shape.uplinks
        if shape.peer_links:
            kinds[shape.uplink_gbps, spec.cables.peer.length_m] += shape.peer_links
        found[f"tor{group}"] = (TierName.TOR, kinds)
    if not shape.spines:
        return found
    kinds = Counter({(shape.uplink_gbps, spine): len(fabric.spine_layout.down)})
    if shape.cores and fabric.core_layout:
        kinds[shape.core_link_gbps, core] += shape.spine_uplinks
        found["core"] = (TierName.CORE, Counter({(shape.core_link_gbps, core): len(fabric.core_layout.down)}))
    found["spine"] = (TierName.SPINE, kinds)
    return found


def _list_switch_kinds(
    spec: ClusterSpec, fabric: Fabric
) -> Iterator[tuple[str, str, SwitchModel, LinkKinds]]:
    """(owner of a policy, layout key, model, links): every kind of switch, then the switches that overrides change."""
    full = {
        key: (fabric.tiers[tier].model, kinds) for key, (tier, kinds) in _full_switches(spec, fabric).items()
    }
    whole = replace(fabric, boxes={})
    full |= {box.key: (box.model, full[links.layout_key(whole, at)][1]) for at, box in fabric.boxes.items()}
    for key, (model, kinds) in full.items():
        yield key, key, model, kinds
    if not fabric.changes and not fabric.external.exits:
        return
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    for name, difference in _changed_links(fabric, switches).items():
        key = links.layout_key(fabric, switches[name])
        model, usual = full[key]
        kinds = Counter(usual)
        kinds.update(difference)
        yield name, key, model, +kinds


def _changed_links(fabric: Fabric, switches: Mapping[str, SwitchId]) -> dict[str, LinkKinds]:
    """Switch -> ports gained (and, below zero, lost) by kind of link: changed cables, and lossless links outside."""
    found: dict[str, LinkKinds] = {}
    seen: set[tuple[str, str]] = set()
    for name in fabric.changes:
        at = switches[name]
        slots, names = links.port_layout(fabric, at).slots, links.port_names(fabric, at)
        for link in links.switch_links(fabric, at):
            speed, planned = slots[link.slot].speed_gbps, fabric.cable_kinds[link.kind].length_m
            if link.cable_m == planned or (name, names[link.slot]) in seen:
                continue
            seen.add((link.peer, link.peer_port))
            for end in (name,) if link.direction is Direction.HOST else (name, link.peer):
                change = found.setdefault(end, Counter())
                change[speed, planned] -= 1
                change[speed, link.cable_m] += 1
    for name, exits in fabric.external.exits.items():
        for outsider, way in exits.values():
            if outsider.lossless:
                found.setdefault(name, Counter())[way.speed_gbps, way.cable_m] += 1
    return found
