"""The lossless policy: one PFC and one marking profile per port profile, everything else global; and trimming."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.cumulus import words
from fabricc.back.nos.cumulus.limits import TRIMMING, has, release_of
from fabricc.back.nos.cumulus.roce import VENDOR_POLICY, adjust_to_profile, state_profile, vendor_tree
from fabricc.fabric.facts import Facts, Value, congestion_facts
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.back.nos.cumulus.startup import Tree
    from fabricc.fabric.qos import Ecn, Headroom, PortProfile, SwitchQos, Trimming

    Stated = tuple[str, Value | None, int]
    """Rest of the path of a port's fact, its value (None if not stated), and its line or place."""

LOSSLESS_POOL = "default-lossless"
LOSSY_POOL = "default-lossy"
LOSSY_PERCENT = 10
"""Memory of the lossy pool; the lossless one has the rest, as in NVIDIA's reference configurations of GPU fabrics."""

EGRESS_ALPHA = "alpha_infinity"
"""Lossless queues are held back by PFC alone, never by their own share of the buffer."""

BOTH_WAYS: Tree = {"rx": "enable", "tx": "enable"}
PRIORITIES = range(8)

DEPARTURES = (
    Departure("interface[*]/set_dscp", LEFT_OUT, "what arrives keeps its code point (FAB5725)"),
    Departure("interface[*]/headroom/dynamic_th", ROUNDED, "one alpha for all lossless groups (FAB5707)"),
    Departure(
        "interface[*]/headroom/xon_bytes", LEFT_OUT, "how far below the pause point, of its own choice"
    ),
    Departure("interface[*]/headroom/xon_offset_bytes", LEFT_OUT, "NVUE takes one figure to resume at"),
    Departure("pool/*", LEFT_OUT, "pools are shares of the memory, not bytes"),
    Departure("qos/*", LEFT_OUT, "of ports without PFC: no line states which priorities would pause"),
    Departure("watchdog/detect_ms", ROUNDED, "a whole number of polls (FAB5710)"),
    Departure("watchdog/action", ROUNDED, "it drops and does nothing else (FAB5711)"),
    Departure("watchdog/restore_ms", LEFT_OUT, "NVUE has no setting for it"),
    Departure("link_retry", LEFT_OUT, "NVUE has no setting for it (FAB5724)"),
)


# --- what NVUE makes of the Fabric's statements ----------------------------------------------------------


WATCHED: Tree = {"pfc-watchdog": {"state": "enable"}}
UNTRUSTED = "untrusted"
"""The mapping of ports that put what arrives into the default class, whatever its code point."""


def profile_name(profile: PortProfile) -> str:
    """Return the name of a port profile's PFC and marking profiles."""
    return f"roce-{profile.name}"


def resume_distance_bytes(headroom: Headroom) -> int:
    """Return the distance below the pause point at which a group resumes: half, by both readings.

    NVIDIA's page (Quality of Service, Cumulus Linux 5.14) shows `xon-threshold` as switchd's `xon_delta`, the bytes
    by which occupancy falls below `xoff-threshold`; the command reference calls it a threshold. Half of the pause
    point is as far from it as from zero.
    """
    return words.pause_bytes(headroom) // 2


def marked_classes(qos: SwitchQos, profile: PortProfile) -> tuple[int, ...]:
    """Return the traffic classes that the profile's ports mark."""
    return tuple(c.priority for c in qos.classes if c.ecn) if profile.ecn else ()


def port_default(qos: SwitchQos) -> int:
    """Return the switch priority of what has no code point: that of code point 0."""
    return next((c.priority for c in qos.classes if 0 in c.dscps), 0)


def port_qos(switch: Switch) -> dict[str, Tree]:
    """Per port profile, what its ports have below `qos`."""
    qos = switch.qos
    rows: dict[str, Tree] = {}
    for profile in words.used_profiles(switch):
        name = profile_name(profile)
        row: Tree = {"pfc": {"profile": name}} if profile.headroom else {}
        if marked_classes(qos, profile):
            row["congestion-control"] = {"profile": name}
        if qos.vendor:
            row = {}
        if qos.watchdog:
            row |= WATCHED
        rows[profile.name] = row
    return rows


def qos_tree(switch: Switch) -> Tree:
    """Everything below `qos`."""
    qos, profiles = switch.qos, words.used_profiles(switch)
    if qos.vendor:
        tree = vendor_tree(qos.vendor, common_ecn(switch), release_of(switch.release))
        return tree | _watchdog_tree(qos)
    lowest: Tree = {"port-default-sp": qos.default.priority, "trust": "port"}
    untrusted: Tree = {} if all(port.trusted for port in switch.ports) else {UNTRUSTED: lowest}
    tree = {
        "congestion-control": _marking_tree(qos, profiles),
        "egress-queue-mapping": {
            words.GLOBAL: {
                "switch-priority": {str(c.priority): {"traffic-class": c.priority} for c in qos.classes}
            }
        },
        "egress-scheduler": {
            words.GLOBAL: {
                "traffic-class": {
                    str(c.priority): {"mode": "strict"}
                    if c.strict
                    else {"mode": "dwrr", "bw-percent": c.weight_percent}
                    for c in qos.classes
                }
            }
        },
        "mapping": {
            words.GLOBAL: {
                "dscp": {str(dscp): {"switch-priority": c.priority} for c in qos.classes for dscp in c.dscps},
                "port-default-sp": port_default(qos),
                "trust": "l3",
            },
            **untrusted,
        },
    }
    alpha = words.shared_alpha(profiles)
    if alpha is not None:
        tree["advance-buffer-config"] = {
            words.GLOBAL: {
                "egress-lossless-buffer": {"shared-alpha": EGRESS_ALPHA},
                "ingress-lossless-buffer": {"shared-alpha": words.ALPHAS[alpha]},
            }
        }
        tree["pfc"] = {
            profile_name(profile): _pfc_tree(qos, profile.headroom)
            for profile in profiles
            if profile.headroom
        }
    if qos.lossless:
        tree["traffic-pool"] = _pool_tree(qos)
    return tree | _watchdog_tree(qos)


def common_ecn(switch: Switch) -> Ecn:
    """Return the marking thresholds of the RoCE profile, which are the same on all ports."""
    return next((profile.ecn for profile in switch.qos.profiles if profile.ecn), VENDOR_POLICY.ecn)


def _watchdog_tree(qos: SwitchQos) -> Tree:
    if not qos.watchdog:
        return {}
    held = words.watchdog_timers(qos.watchdog)
    return {"pfc-watchdog": {"polling-interval": held.polling_ms, "robustness": held.robustness}}


def active_trimming(switch: Switch) -> Trimming | None:
    """Return what trims packets, where the release has it."""
    return switch.qos.trimming if has(switch, TRIMMING) else None


def packet_trim(switch: Switch) -> Tree:
    """Return the trimming of the whole switch, below `system forwarding`; each port states its trimmed queues."""
    cut = active_trimming(switch)
    if cut is None:
        return {}
    return {
        "packet-trim": {
            "remark": {"dscp": cut.dscp},
            "size": cut.size_bytes,
            "state": "enabled",
            "switch-priority": cut.queue,
        }
    }


def _marking_tree(qos: SwitchQos, profiles: Iterable[PortProfile]) -> Tree:
    """Marking profiles; the global one marks in queue 0 out of the box, which is taken back."""
    tree: Tree = {words.GLOBAL: {"traffic-class": {"0": {"ecn": "disable"}}}}
    for profile in profiles:
        if profile.ecn and marked_classes(qos, profile):
            thresholds: Tree = {
                "ecn": "enable",
                "max-threshold": profile.ecn.max_bytes,
                "min-threshold": profile.ecn.min_bytes,
                "probability": profile.ecn.max_percent,
                "red": "disable",
            }
            tree[profile_name(profile)] = {
                "traffic-class": {str(priority): thresholds for priority in marked_classes(qos, profile)}
            }
    return tree


def _pfc_tree(qos: SwitchQos, headroom: Headroom) -> Tree:
    return {
        "cable-length": headroom.cable_m,
        "port-buffer": headroom.size_bytes,
        **BOTH_WAYS,
        "switch-priority": {str(c.priority): {} for c in qos.lossless},
        "xoff-threshold": words.pause_bytes(headroom),
        "xon-threshold": resume_distance_bytes(headroom),
    }


def _pool_tree(qos: SwitchQos) -> Tree:
    lossless = {c.priority for c in qos.lossless}
    return {
        LOSSLESS_POOL: {
            "memory-percent": 100 - LOSSY_PERCENT,
            "switch-priority": {str(priority): {} for priority in sorted(lossless)},
        },
        LOSSY_POOL: {
            "memory-percent": LOSSY_PERCENT,
            "switch-priority": {str(priority): {} for priority in PRIORITIES if priority not in lossless},
        },
    }


# --- the facts of that -----------------------------------------------------------------------------------

_WITHOUT_PAUSE = ("/priority_group", "/pfc_priority[")


def adjust_profile(switch: Switch, shared: Facts, profile: PortProfile | None) -> None:
    """Change what ports of a profile state to what NVUE holds of it."""
    if switch.qos.vendor:
        adjust_to_profile(switch.qos.vendor, shared)
        return
    shared.pop("headroom/xon_bytes", None)
    shared.pop("headroom/xon_offset_bytes", None)
    profiles = words.used_profiles(switch)
    alpha = words.shared_alpha(profiles)
    if alpha is not None and profile in profiles and profile is not None and profile.headroom:
        shared["headroom/dynamic_th"] = alpha
        shared["headroom/resume_distance_bytes"] = resume_distance_bytes(profile.headroom)


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the whole switch to the values of NVUE, and add its further facts."""
    qos, profiles = switch.qos, words.used_profiles(switch)
    for path in [path for path in facts if path.startswith(("pool/", "watchdog/"))]:
        del facts[path]
    if qos.vendor:
        state_profile(facts, switch, qos.vendor, common_ecn(switch))
        _state_watchdog(facts, qos)
        return
    facts["qos/untagged/traffic_class"] = port_default(qos)
    facts["qos/queue[0]/ecn"] = "disable"
    facts[f"qos/marking[{words.GLOBAL}]/queue[0]"] = "stated"
    for profile in profiles:
        for queue in marked_classes(qos, profile):
            facts[f"qos/marking[{profile_name(profile)}]/queue[{queue}]"] = "stated"
    for c in qos.classes:
        facts[f"qos/mapped[{words.GLOBAL}]/priority[{c.priority}]"] = "true"
        facts[f"qos/scheduled[{words.GLOBAL}]/queue[{c.priority}]"] = "true"
    if qos.lossless:
        _state_pools(facts, qos)
    if not any(profile.headroom for profile in profiles):  # no port pauses, and no profile names priorities
        for path in [path for path in facts if any(part in path for part in _WITHOUT_PAUSE)]:
            del facts[path]
    _state_watchdog(facts, qos)
    cut = active_trimming(switch)
    for port in switch.ports:
        paths = port_paths(port.name)
        if port.direction is Direction.UNUSED:  # classification and scheduling are the same on every port
            facts[paths["trust"]] = "dscp"
            for c in qos.classes:
                share = "strict" if c.strict else f"dwrr {c.weight_percent}"
                facts[paths[f"queue[{c.priority}]/scheduler"]] = share
        for queue in cut.queues if cut and port.direction is not Direction.UNUSED else ():
            facts[paths[f"trimmed/queue[{queue}]"]] = "true"
    if cut:
        wanted = congestion_facts(qos)
        facts.update((path, value) for path, value in wanted.items() if path.startswith("trimming/"))


def _state_watchdog(facts: Facts, qos: SwitchQos) -> None:
    if qos.watchdog:
        held = words.watchdog_timers(qos.watchdog)
        facts["watchdog/poll_ms"] = held.polling_ms
        facts["watchdog/detect_ms"] = held.detect_ms
        facts["watchdog/action"] = "drop"


def _state_pools(facts: Facts, qos: SwitchQos) -> None:
    lossless = {c.priority for c in qos.lossless}
    for kind, percent in (("lossless", 100 - LOSSY_PERCENT), ("lossy", LOSSY_PERCENT)):
        inside = [p for p in PRIORITIES if (p in lossless) == (kind == "lossless")]
        facts[f"pool/{kind}_percent"] = percent
        facts[f"pool/{kind}_priorities"] = ",".join(map(str, inside))
        facts.update((f"pool[{kind}]/priority[{priority}]", "true") for priority in inside)
