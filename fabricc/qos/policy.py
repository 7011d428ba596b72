"""The lossless policy of one kind of switch: what the planner asks once per distinct set of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.diagnostics import Severity
from fabricc.fabric.model import PortProfile, SwitchQos, TrafficClass
from fabricc.qos.ecn import LOW_BDP_SHARE, bdp_bytes, ecn
from fabricc.qos.finding import QosFinding
from fabricc.qos.headroom import TABLE_MTU_BYTES, headroom, longest_listed_m
from fabricc.qos.pools import PortGroup, pool_findings, smallest_pause_point_bytes
from fabricc.qos.watchdog import watchdog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import Buffers, SwitchModel
    from fabricc.fabric.model import Headroom

LinkKind = tuple[int, int]
"""Speed in Gb/s and cable length in metres."""


def switch_qos(
    classes: tuple[TrafficClass, ...],
    model: SwitchModel,
    links: Mapping[LinkKind, int],
    mtu: int,
    base_rtt_ns: Mapping[LinkKind, int] | int,
    *,
    port_count: int | None = None,
) -> tuple[SwitchQos, tuple[QosFinding, ...], Mapping[LinkKind, str]]:
    """The policy, what is wrong with it, and the profile name of every kind of link.

    Kinds of link whose cables round up to the same listed length share a profile named `<speed>g-<length>m`; its
    marking thresholds follow the longest round trip among them. A kind without headroom figures has no profile
    name, and an error says so.

    Args:
        classes: the fabric's traffic classes.
        model: the switch.
        links: kind of link -> ports of it that are in use.
        mtu: port MTU in bytes.
        base_rtt_ns: round trip of the longest unloaded path over a kind of link, or one figure for all.
        port_count: all ports the NOS knows, for the watchdog; by default the used ones, or the cages if more.
    """
    lossless = sum(c.lossless for c in classes)
    if not lossless or not links:
        return SwitchQos(classes, (), None, None), (), {}
    findings = [*_limit_findings(model, lossless)]
    found: dict[LinkKind, Headroom] = {}
    for kind in sorted(links):
        figures = headroom(model.buffers, *kind, mtu, lanes=lanes(model, kind[0]))
        if figures is None:
            findings.append(_no_headroom(model, kind))
        else:
            found[kind] = figures
    if not found:
        return SwitchQos(classes, (), None, None), tuple(findings), {}
    groups = port_groups(model, links, found)
    findings += _row_findings(model, groups, mtu)
    divided, overflow = pool_findings(model.buffers, groups, lossless, mtu)
    findings += overflow
    names = {kind: profile_name(kind[0], figures.cable_m) for kind, figures in found.items()}
    pause = smallest_pause_point_bytes(divided.shared_bytes, groups, lossless)
    profiles = []
    for group in groups:
        kinds = [kind for kind, name in names.items() if name == group_name(group)]
        rtt = max(round_trip_ns(base_rtt_ns, kind) for kind in kinds)
        profile, warnings = _profile(model, group, pause, mtu, rtt)
        findings += warnings
        if profile is not None:
            profiles.append(profile)
    ports = port_count or max(sum(links.values()), sum(g.count for g in model.cages if g.fabric))
    kept = {p.name for p in profiles}
    qos = SwitchQos(
        classes=classes,
        profiles=tuple(sorted(profiles, key=lambda p: p.name)),
        watchdog=watchdog(ports),
        pools=divided.pools,
    )
    return qos, tuple(findings), {kind: name for kind, name in names.items() if name in kept}


def profile_name(speed_gbps: int, cable_m: int) -> str:
    """The name of a port profile, e.g. `400g-40m`."""
    return f"{speed_gbps}g-{cable_m}m"


def group_name(group: PortGroup) -> str:
    """The name of the profile of a group of ports."""
    return profile_name(group.speed_gbps, group.headroom.cable_m)


def lanes(model: SwitchModel, speed_gbps: int) -> int:
    """The most SerDes lanes a port of this speed can have on the switch; 8 when it has no such port."""
    of_speed = (b.lanes for g in model.cages if g.fabric for b in g.breakouts if b.speed_gbps == speed_gbps)
    return max(of_speed, default=8)


def port_groups(
    model: SwitchModel, links: Mapping[LinkKind, int], found: Mapping[LinkKind, Headroom]
) -> tuple[PortGroup, ...]:
    """Ports by speed and looked-up length, ascending."""
    ports: dict[LinkKind, int] = {}
    figures: dict[LinkKind, Headroom] = {}
    for (speed, length), looked_up in found.items():
        key = (speed, looked_up.cable_m)
        ports[key] = ports.get(key, 0) + links[speed, length]
        figures[key] = looked_up
    return tuple(PortGroup(key[0], ports[key], lanes(model, key[0]), figures[key]) for key in sorted(ports))


def round_trip_ns(base_rtt_ns: Mapping[LinkKind, int] | int, kind: LinkKind) -> int:
    """The round trip of a kind of link."""
    return base_rtt_ns if isinstance(base_rtt_ns, int) else base_rtt_ns[kind]


def _profile(
    model: SwitchModel, group: PortGroup, pause: int, mtu: int, rtt_ns: int
) -> tuple[PortProfile | None, list[QosFinding]]:
    """The profile of a group; None when no marking threshold fits below PFC (the budget's finding tells)."""
    name = group_name(group)
    marking = ecn(group.speed_gbps, rtt_ns, pause, mtu=mtu, cell_bytes=model.buffers.cell_bytes)
    if marking is None:
        return None, []
    profile = PortProfile(name, group.speed_gbps, group.headroom.cable_m, group.headroom, marking)
    bdp = bdp_bytes(group.speed_gbps, rtt_ns)
    if marking.min_bytes >= LOW_BDP_SHARE * bdp:
        return profile, []
    message = (
        f"{model.title} can start marking on {name} ports at {marking.min_bytes:,} bytes only, below a fifth of "
        f"the path's bandwidth-delay product of {bdp:,} bytes"
    )
    advice = (
        "shorten the path, use fewer ports of the switch, or one with a larger buffer, to keep the throughput"
    )
    return profile, [QosFinding("FAB4006", Severity.WARNING, message, advice)]


def _limit_findings(model: SwitchModel, lossless: int) -> list[QosFinding]:
    limit = model.buffers.max_lossless_classes
    if lossless <= limit:
        return []
    message = f"{lossless} lossless classes are asked for, {model.title} supports {limit}"
    advice = f"make {lossless - limit} of them lossy" if limit else "make all classes lossy"
    return [QosFinding("FAB4001", Severity.ERROR, message, advice)]


def _no_headroom(model: SwitchModel, kind: LinkKind) -> QosFinding:
    speed, length = kind
    message = f"{model.title} has no headroom figures for a {length} m cable at {speed}G"
    longest = longest_listed_m(model.buffers, speed)
    if longest is not None:
        return QosFinding("FAB4002", Severity.ERROR, message, f"the largest that fits is {longest} m")
    return QosFinding("FAB4002", Severity.ERROR, message, _listed_speeds(model.buffers))


def _listed_speeds(buffers: Buffers) -> str:
    speeds = sorted({row.speed_gbps for row in buffers.rows})
    if not speeds:
        return "add rows to the switch's catalog entry, or make all classes lossy"
    return f"its table lists {', '.join(f'{speed}G' for speed in speeds)}"


def _row_findings(model: SwitchModel, groups: tuple[PortGroup, ...], mtu: int) -> list[QosFinding]:
    """Whether the table rows in use hold for this MTU, and hold what they promise."""
    from_table = [g for g in groups if g.headroom.source.startswith("table")]
    findings = []
    if from_table and mtu > TABLE_MTU_BYTES:
        message = (
            f"an MTU of {mtu} bytes exceeds {TABLE_MTU_BYTES}, which the headroom of {model.title} is for"
        )
        advice = f"the largest that fits is {TABLE_MTU_BYTES}"
        findings.append(QosFinding("FAB4007", Severity.ERROR, message, advice))
    if model.buffers.pools.headroom_bytes:
        return findings
    for group in from_table:
        row = group.headroom
        if row.xoff_bytes <= row.size_bytes < row.xon_bytes + row.xoff_bytes:
            short = row.xon_bytes + row.xoff_bytes - row.size_bytes
            message = (
                f"the {group_name(group)} row of {model.title} gives a size of {row.size_bytes:,} bytes, "
                f"{short:,} less than its xon and xoff together"
            )
            advice = "the maker's table is short here; a catalog file of your own can correct the row"
            findings.append(QosFinding("FAB4008", Severity.WARNING, message, advice))
    return findings
