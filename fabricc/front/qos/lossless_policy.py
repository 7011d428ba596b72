"""Plan the lossless policy of one kind of switch, once per distinct set of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.catalog.model import TABLE_MTU_BYTES, Buffers, Limits, SwitchModel
from fabricc.fabric.qos import Ecn, Headroom, PortProfile, SwitchQos, TrafficClass, VendorPolicy, Watchdog
from fabricc.front.qos import ecn, pools
from fabricc.front.qos.fit import QosFinding, Request, fit_findings, floor_findings
from fabricc.front.qos.headroom import find_headroom, longest_listed_m
from fabricc.front.qos.wire import down_to_cell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction


STEP_MS = 200
DETECT_LIMITS_MS = (100, 5000)
RESTORE_LIMITS_MS = (100, 60_000)
POLL_LIMITS_MS = (100, 1000)
MAX_PAUSE_QUANTA = 65_535
_QUANTUM_BITS = 512


def watchdog_timers(port_count: int, limits: Limits | None = None) -> Watchdog:
    """Timers for a switch of `port_count` ports, action drop.

    Detection and restoration as in sonic-utilities `pfcwd start_default`: 200 ms per started group of 32 ports.
    Polls are twice as frequent, so that a stall is seen by two of them, as EOS requires (polling at most half of
    the shorter timer) and Junos does (detection after two polls). Limits are those of sonic-swss and its YANG
    model, the polling limit that of release 202511, which the earlier ones contain; a platform's own replace them.

    Raises:
        ValueError: `port_count` is less than 1.
    """
    if port_count < 1:
        raise ValueError(f"a switch has at least one port, not {port_count}")
    scaled = STEP_MS * ((port_count - 1) // 32 + 1)
    detect = _clamp_value(scaled, (limits and limits.detect_ms) or DETECT_LIMITS_MS)
    restore = _clamp_value(scaled, (limits and limits.restore_ms) or RESTORE_LIMITS_MS)
    poll = _clamp_value(detect // 2, (limits and limits.poll_ms) or POLL_LIMITS_MS)
    return Watchdog(detect, restore, poll, "drop")


def longest_pause_ns(speed_gbps: int) -> int:
    """Time that one pause frame can stop a port: 65,535 quanta of 512 bit times (IEEE 802.3 annex 31B)."""
    return MAX_PAUSE_QUANTA * _QUANTUM_BITS // speed_gbps


def _clamp_value(value: int, limits: tuple[int, int]) -> int:
    low, high = limits
    return min(max(value, low), high)


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
    marking: ecn.Marking = ecn.DCQCN,
    oversubscription: Fraction | None = None,
    pool_settable: bool = True,
    longest_cable_m: int | None = None,
    all_ports: Mapping[int, int] | None = None,
    vendor: VendorPolicy | None = None,
) -> tuple[SwitchQos, tuple[QosFinding, ...], Mapping[LinkKind, str]]:
    """Return the policy, its findings, and the profile name of every kind of link.

    Kinds of link whose cables round up to the same listed length share a profile named `<speed>g-<length>m`; its
    marking thresholds follow the longest round trip among them. A kind without headroom figures has no profile
    name, which is an error. Without a class that is marked, profiles have no thresholds. Without a lossless class
    the profiles only mark, see `_marking_policy`.

    Args:
        classes: the fabric's traffic classes.
        model: the switch.
        links: kind of link -> ports of it that are in use.
        mtu: port MTU in bytes.
        base_rtt_ns: round trip of the longest unloaded path over a kind of link, or one figure for all.
        port_count: all ports the NOS knows, for the watchdog; by default the used ones, or the cages if more.
        marking: how the congestion control wants its marks.
        oversubscription: of the headroom pool, as declared; None for the platform's own division.
        pool_settable: whether the system of the switch takes a size of the headroom pool.
        longest_cable_m: of a lossless class that the system has figures for; None where it sets no limit.
        all_ports: speed in Gb/s -> ports of that speed that the switch can have.
        vendor: the system's own policy, of which `classes` are the classes; headroom is that of its cable length.
    """
    lossless = sum(c.lossless for c in classes)
    if not links:
        return SwitchQos(classes, (), None, None), (), {}
    if not lossless:
        return _marking_policy(classes, model, links, mtu, base_rtt_ns, marking)
    findings = [*_limit_findings(model, lossless)]
    found: dict[LinkKind, Headroom] = {}
    for kind in sorted(links):
        length = vendor.cable_m if vendor else kind[1]
        figures = headroom_of_kind(model, (kind[0], length), mtu, oversubscription)
        if figures is None:
            findings.append(_no_headroom(model, kind, longest_cable_m))
        else:
            found[kind] = figures
    if not found:
        return SwitchQos(classes, (), None, None), tuple(findings), {}
    groups = port_groups(model, links, found)
    findings += _row_findings(model, groups, mtu)
    findings += floor_findings(model, groups, mtu)
    marked = any(c.ecn for c in classes)
    request = Request(
        model.buffers, groups, lossless, mtu, oversubscription, marked, pool_settable, all_ports or {}
    )
    divided, overflow = fit_findings(request)
    findings += overflow
    findings += _unused_oversubscription(model, oversubscription)
    names = {kind: pools.profile_name(kind[0], figures.cable_m) for kind, figures in found.items()}
    profiles = [_profile_without_ecn(group) for group in groups if not marked]
    if marked:
        lossy_alpha = model.buffers.pools.lossy_egress_alpha
        pause = pools.smallest_pause_point_bytes(divided.shared_bytes, groups, lossless, lossy_alpha)
        for group in groups:
            kinds = [kind for kind, name in names.items() if name == pools.group_name(group)]
            rtt = max(round_trip_ns(base_rtt_ns, kind) for kind in kinds)
            profile, wrong = _profile_of_group(model, group, marking, pause, mtu, rtt)
            findings += wrong
            profiles.append(profile)
    findings += _profile_findings(model, profiles)
    ports = port_count or max(sum(links.values()), sum(g.count for g in model.cages if g.fabric))
    qos = SwitchQos(
        classes=classes,
        profiles=tuple(sorted(profiles, key=lambda p: p.name)),
        watchdog=watchdog_timers(ports, model.buffers.limits),
        pools=divided.pools,
        vendor=vendor,
    )
    return qos, tuple(findings), names


def _marking_policy(
    classes: tuple[TrafficClass, ...],
    model: SwitchModel,
    links: Mapping[LinkKind, int],
    mtu: int,
    base_rtt_ns: Mapping[LinkKind, int] | int,
    marking: ecn.Marking,
) -> tuple[SwitchQos, tuple[QosFinding, ...], Mapping[LinkKind, str]]:
    """Return the policy of a fabric without a lossless class: thresholds by port speed where a class is marked.

    A lossy queue has to be marked before it drops. Its share of the buffer is the one that it has when every marked
    queue of the switch is as full as it (`drop_point_bytes`).
    """
    marked = sum(c.ecn for c in classes)
    if not marked:
        return SwitchQos(classes, (), None, None), (), {}
    drop, cell = drop_point_bytes(model, links, marked), model.buffers.cell_bytes
    profiles: list[PortProfile] = []
    findings: list[QosFinding] = []
    for speed in sorted({speed for speed, _ in links}):
        kinds = [kind for kind in links if kind[0] == speed]
        rtt = max(round_trip_ns(base_rtt_ns, kind) for kind in kinds)
        keep = _keeps_thresholds(model, marking)
        thresholds = ecn.ecn_thresholds(
            speed, rtt, drop, mtu=mtu, cell_bytes=cell, marking=marking, keep=keep
        )
        if thresholds is None:
            findings.append(_no_thresholds(model, speed, drop))
            continue
        profile = PortProfile(f"{speed}g", speed, max(length for _, length in kinds), None, thresholds)
        bound = f"{model.title} may drop on {profile.name} ports"
        findings += _marking_findings(model, profile, thresholds, marking, drop, mtu, rtt, bound)
        profiles.append(profile)
    named = {profile.speed_gbps: profile.name for profile in profiles}
    policy = SwitchQos(classes, tuple(sorted(profiles, key=lambda p: p.name)), None, None)
    return policy, tuple(findings), {kind: named[kind[0]] for kind in links if kind[0] in named}


def drop_point_bytes(model: SwitchModel, links: Mapping[LinkKind, int], marked_classes: int) -> int:
    """Return the bytes that a marked lossy queue may hold while all of them on the switch are as full.

    The whole packet buffer is shared with alpha 1, the smallest that the stock configurations give to lossy queues.
    """
    return ecn.pause_point_bytes(model.buffers.total_bytes, 0, marked_classes * sum(links.values()))


def _no_thresholds(model: SwitchModel, speed_gbps: int, drop_bytes: int) -> QosFinding:
    message = (
        f"{model.title}: no ECN thresholds fit a {speed_gbps}G queue of {drop_bytes:,} bytes (all are full)"
    )
    return QosFinding(
        "FAB4016", Severity.ERROR, message, "use fewer ports, or leave `ecn` out of the lossy classes"
    )


def headroom_of_kind(
    model: SwitchModel, kind: LinkKind, mtu: int, oversubscription: Fraction | None
) -> Headroom | None:
    """Return the headroom of a kind of link on a switch, private or from the declared pool."""
    return find_headroom(
        model.buffers,
        *kind,
        mtu,
        lanes=most_lanes(model, kind[0]),
        shared_pool=pools.has_shared_headroom(model.buffers, oversubscription),
    )


def most_lanes(model: SwitchModel, speed_gbps: int) -> int:
    """Return the most SerDes lanes a port of this speed can have on the switch; 8 when it has no such port."""
    of_speed = (b.lanes for g in model.cages if g.fabric for b in g.breakouts if b.speed_gbps == speed_gbps)
    return max(of_speed, default=8)


def port_groups(
    model: SwitchModel, links: Mapping[LinkKind, int], found: Mapping[LinkKind, Headroom]
) -> tuple[pools.PortGroup, ...]:
    """Return ports by speed and looked-up length, ascending."""
    ports: dict[LinkKind, int] = {}
    figures: dict[LinkKind, Headroom] = {}
    for (speed, length), headroom_of_kind in found.items():
        key = (speed, headroom_of_kind.cable_m)
        ports[key] = ports.get(key, 0) + links[speed, length]
        figures[key] = headroom_of_kind
    return tuple(
        pools.PortGroup(key[0], ports[key], most_lanes(model, key[0]), figures[key]) for key in sorted(ports)
    )


def round_trip_ns(base_rtt_ns: Mapping[LinkKind, int] | int, kind: LinkKind) -> int:
    """Return the round trip of a kind of link."""
    return base_rtt_ns if isinstance(base_rtt_ns, int) else base_rtt_ns[kind]


def _profile_without_ecn(group: pools.PortGroup) -> PortProfile:
    return PortProfile(
        pools.group_name(group), group.speed_gbps, group.headroom.cable_m, group.headroom, None
    )


def _profile_of_group(
    model: SwitchModel, group: pools.PortGroup, marking: ecn.Marking, pause: int, mtu: int, rtt_ns: int
) -> tuple[PortProfile, list[QosFinding]]:
    """Return the profile of a group, without thresholds when none fit below PFC (the budget reports it)."""
    name, cell = pools.group_name(group), model.buffers.cell_bytes
    keep = _keeps_thresholds(model, marking)
    thresholds = ecn.ecn_thresholds(
        group.speed_gbps, rtt_ns, pause, mtu=mtu, cell_bytes=cell, marking=marking, keep=keep
    )
    if thresholds is None:
        return _profile_without_ecn(group), []
    profile = PortProfile(name, group.speed_gbps, group.headroom.cable_m, group.headroom, thresholds)
    bound = f"on {name} ports of {model.title} PFC acts first"
    return profile, _marking_findings(model, profile, thresholds, marking, pause, mtu, rtt_ns, bound)


def _marking_findings(
    model: SwitchModel,
    profile: PortProfile,
    thresholds: Ecn,
    marking: ecn.Marking,
    most_bytes: int,
    mtu: int,
    rtt_ns: int,
    bound: str,
) -> list[QosFinding]:
    """Return findings about the thresholds of a profile.

    `most_bytes` is the occupancy at which PFC acts, or a lossy queue drops; `bound` shows which of the two, and where.
    """
    name, speed, cell = profile.name, profile.speed_gbps, model.buffers.cell_bytes
    findings = []
    if isinstance(marking, ecn.FixedMarking):
        requested = ecn.wanted_thresholds(marking, speed, rtt_ns, mtu=mtu, cell_bytes=cell)
        given = (thresholds.min_bytes, thresholds.max_bytes)
        if thresholds.above_pause or requested != given:
            highest = ecn.ceiling_bytes(most_bytes, mtu, cell)
            findings.append(_beyond_bound(model, bound, marking, (requested, given), highest))
    bdp = ecn.bdp_bytes(speed, rtt_ns)
    share = (
        min(ecn.LOW_BDP_SHARE, marking.min_bdp)
        if isinstance(marking, ecn.MarkingProfile)
        else ecn.LOW_BDP_SHARE
    )
    if thresholds.min_bytes < down_to_cell(int(share * bdp), cell):
        message = (
            f"{model.title} starts marking on {name} ports at {thresholds.min_bytes:,} bytes already, below "
            f"{_format_share(share)} of the path's bandwidth-delay product of {bdp:,} bytes"
        )
        advice = "shorten the path, use fewer ports of the switch, or one with a larger buffer, to keep the throughput"
        findings.append(QosFinding("FAB4006", Severity.WARNING, message, advice))
    return findings


def _format_share(share: Fraction) -> str:
    return "a fifth" if share == ecn.LOW_BDP_SHARE else f"{float(share):.2f}"


def _keeps_thresholds(model: SwitchModel, marking: ecn.Marking) -> bool:
    """Return whether fixed thresholds stay as they are although PFC may act first.

    The numbers of a spec are never changed. A preset is kept where its maker publishes it for this switch, and where
    the buffer figures are assumed: an assumption does not outweigh a published setting.
    """
    if not isinstance(marking, ecn.FixedMarking):
        return False
    return marking.stated or bool(_reason_to_keep(model, marking))


def _reason_to_keep(model: SwitchModel, marking: ecn.FixedMarking) -> str:
    """Why thresholds above the bound are kept with a warning; empty where there is no reason."""
    if marking.of_system:
        return f"the system has them ({marking.source})"
    if source := ecn.published_by(model.vendor, marking):
        return f"the maker publishes these thresholds ({source})"
    if model.sources.get("buffers.pools", "").startswith("assumed"):
        return "the buffer pools of the switch are assumed"
    return ""


def _beyond_bound(
    model: SwitchModel,
    bound: str,
    marking: ecn.FixedMarking,
    thresholds: tuple[tuple[int, int], tuple[int, int]],
    highest: int,
) -> QosFinding:
    """Report fixed thresholds beyond what a queue may hold: an error for the spec's own, unless a maker has them."""
    (low, high), (new_low, new_high) = thresholds
    bound = f"{bound} above {highest:,} bytes in the worst case"
    code = "FAB4010" if marking.stated else "FAB4009"
    preset = "" if marking.of_system else "the preset "
    requested = "marking" if marking.stated else f"{preset}{marking.name} marks"
    if reason := _reason_to_keep(model, marking):
        message = f"{requested} from {low:,} to {high:,} bytes is kept, because {reason}; {bound}"
        if not marking.stated:
            message = f"{requested} from {low:,} to {high:,} bytes, which is kept, because {reason}; {bound}"
        advice = f"for marks before PFC acts, set `max_kb` to {highest // 1000} at most"
        return QosFinding(code, Severity.WARNING, message, advice)
    if marking.stated:
        message = f"marking from {low:,} to {high:,} bytes is requested; {bound}"
        below = ", with a `min_kb` below it" if low >= highest else ""
        advice = f"the largest max_kb that fits is {highest // 1000}{below}; or accept {code} with a reason"
        return QosFinding(code, Severity.ERROR, message, advice)
    message = f"{requested} from {low:,} to {high:,} bytes; {bound}"
    return QosFinding(code, Severity.WARNING, message, f"{new_low:,} to {new_high:,} bytes are used instead")


def _unused_oversubscription(model: SwitchModel, oversubscription: Fraction | None) -> list[QosFinding]:
    if oversubscription is None or pools.has_shared_headroom(model.buffers, oversubscription):
        return []
    message = f"{model.title} has no shared headroom pool, so an oversubscription of it has no effect"
    return [QosFinding("FAB4013", Severity.WARNING, message, "remove it where no switch has such a pool")]


def _profile_findings(model: SwitchModel, profiles: list[PortProfile]) -> list[QosFinding]:
    """Alphas and numbers of profiles beyond the platform's."""
    findings = []
    limits = model.buffers.limits
    if limits.alpha_exponents is not None:
        least, most = limits.alpha_exponents
        for profile, exponent in [(p, p.headroom.dynamic_th) for p in profiles if p.headroom]:
            if not least <= exponent <= most:
                message = (
                    f"alpha of {profile.name} is 2**{exponent}, {model.title} has 2**{least} to 2**{most}"
                )
                nearest = min(max(exponent, least), most)
                advice = f"the nearest that fits is {nearest}; correct the row in a catalog file of your own"
                findings.append(QosFinding("FAB4011", Severity.ERROR, message, advice))
    most_profiles = limits.port_profiles
    if most_profiles is not None and len(profiles) > most_profiles:
        message = f"{len(profiles)} kinds of lossless port on one switch, {model.title} holds {most_profiles}"
        advice = "use fewer cable lengths and speeds: lengths that round up to one table row share a profile"
        findings.append(QosFinding("FAB4014", Severity.ERROR, message, advice))
    return findings


def _limit_findings(model: SwitchModel, lossless: int) -> list[QosFinding]:
    limit = model.buffers.max_lossless_classes
    if lossless <= limit:
        return []
    message = f"{lossless} lossless classes are requested, {model.title} supports {limit}"
    lossy = f"make {lossless - limit} of them lossy" if limit else "make all classes lossy"
    advice = f"{lossy}, or state `buffers.max_lossless_classes` of a model in a catalog file of your own"
    return [QosFinding("FAB4001", Severity.ERROR, message, advice)]


def _no_headroom(model: SwitchModel, kind: LinkKind, most_m: int | None) -> QosFinding:
    speed, length = kind
    message = f"{model.title} has no headroom figures for a {length} m cable at {speed}G"
    longest = longest_listed_m(model.buffers, speed)
    if longest is not None:
        fitting = longest if most_m is None else min(longest, most_m)
        return QosFinding(
            "FAB4002", Severity.ERROR, message, f"set `length_m` in `cables` to {fitting} at most"
        )
    return QosFinding("FAB4002", Severity.ERROR, message, _listed_speeds(model.buffers, speed))


def _listed_speeds(buffers: Buffers, speed_gbps: int) -> str:
    speeds = sorted({row.speed_gbps for row in buffers.rows})
    if not speeds:
        return "add rows to the switch's catalog entry, or make all classes lossy"
    listed = ", ".join(f"{speed}G" for speed in speeds)
    near = max((speed for speed in speeds if speed < speed_gbps), default=speeds[0])
    between = f"for links between switches write `uplink_gbps: {near}` in `tors` or `spines`"
    return f"its table lists {listed}; {between}; for hosts name another `tors.model`"


def _row_findings(model: SwitchModel, groups: tuple[pools.PortGroup, ...], mtu: int) -> list[QosFinding]:
    """Report table rows that do not hold for this MTU, or that hold less than they promise."""
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
                f"the {pools.group_name(group)} row of {model.title} gives a size of {row.size_bytes:,} bytes, "
                f"{short:,} less than its xon and xoff together"
            )
            advice = "the maker's table is short here; a catalog file of your own can correct the row"
            findings.append(QosFinding("FAB4008", Severity.WARNING, message, advice))
    return findings
