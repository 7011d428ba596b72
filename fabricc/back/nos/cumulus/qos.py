"""The lossless policy in NVUE's words: one PFC and one marking profile per port profile, everything else global."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import TRIMMING, has
from fabricc.back.nos.cumulus.words import ALPHAS, pause_bytes, shared_alpha, timers, used_profiles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.yaml_text import Tree
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import Headroom, PortProfile, SwitchQos

GLOBAL = "default-global"
"""The profile of all ports that name no other; the only one of some nodes."""

LOSSLESS_POOL = "default-lossless"
LOSSY_POOL = "default-lossy"
LOSSY_PERCENT = 10
"""Memory of the lossy pool; the lossless one has the rest, as in NVIDIA's reference configurations of GPU fabrics."""

EGRESS_ALPHA = "alpha_infinity"
"""Lossless queues are held back by PFC alone, never by their own share of the buffer."""

PRIORITIES = range(8)


def profile_name(profile: PortProfile) -> str:
    """The name of a port profile's PFC and marking profiles."""
    return f"roce-{profile.name}"


def resume_distance_bytes(headroom: Headroom) -> int:
    """How far below the pause point a group resumes: half of it, which means the same to both readings of the word.

    NVIDIA's page (Quality of Service, Cumulus Linux 5.14) shows `xon-threshold` as switchd's `xon_delta`, the bytes
    by which occupancy falls below `xoff-threshold`; the command reference calls it a threshold. Half of the pause
    point is as far from it as from zero.
    """
    return pause_bytes(headroom) // 2


def marked(qos: SwitchQos, profile: PortProfile) -> tuple[int, ...]:
    """The traffic classes that the profile's ports mark."""
    return tuple(c.priority for c in qos.classes if c.ecn) if profile.ecn else ()


def port_default(qos: SwitchQos) -> int:
    """The switch priority of what has no code point: that of code point 0."""
    return next((c.priority for c in qos.classes if 0 in c.dscps), 0)


def port_qos(switch: Switch) -> dict[str, Tree]:
    """Per port profile, what its ports have below `qos`."""
    qos = switch.qos
    rows: dict[str, Tree] = {}
    for profile in used_profiles(switch):
        name = profile_name(profile)
        row: Tree = {"pfc": {"profile": name}}
        if marked(qos, profile):
            row["congestion-control"] = {"profile": name}
        if qos.watchdog:
            row["pfc-watchdog"] = {"state": "enable"}
        rows[profile.name] = row
    return rows


def qos_tree(switch: Switch) -> Tree:
    """Everything below `qos`."""
    qos, profiles = switch.qos, used_profiles(switch)
    tree: Tree = {
        "congestion-control": _marking(qos, profiles),
        "egress-queue-mapping": {
            GLOBAL: {"switch-priority": {str(c.priority): {"traffic-class": c.priority} for c in qos.classes}}
        },
        "egress-scheduler": {
            GLOBAL: {
                "traffic-class": {
                    str(c.priority): {"mode": "strict"}
                    if c.strict
                    else {"mode": "dwrr", "bw-percent": c.weight_percent}
                    for c in qos.classes
                }
            }
        },
        "mapping": {
            GLOBAL: {
                "dscp": {str(dscp): {"switch-priority": c.priority} for c in qos.classes for dscp in c.dscps},
                "port-default-sp": port_default(qos),
                "trust": "l3",
            }
        },
    }
    alpha = shared_alpha(profiles)
    if alpha is not None:
        tree["advance-buffer-config"] = {
            GLOBAL: {
                "egress-lossless-buffer": {"shared-alpha": EGRESS_ALPHA},
                "ingress-lossless-buffer": {"shared-alpha": ALPHAS[alpha]},
            }
        }
        tree["pfc"] = {profile_name(profile): _pfc(qos, profile) for profile in profiles}
    if qos.lossless:
        tree["traffic-pool"] = _pools(qos)
    if qos.watchdog:
        held = timers(qos.watchdog)
        tree["pfc-watchdog"] = {"polling-interval": held.polling_ms, "robustness": held.robustness}
    return tree


def packet_trim(qos: SwitchQos, release: Release) -> Tree:
    """What trims packets switch-wide, below `system forwarding`; which queues' packets is said at each port."""
    cut = qos.trimming if has(release.name, TRIMMING) else None
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


def _marking(qos: SwitchQos, profiles: Iterable[PortProfile]) -> Tree:
    """Marking profiles; the global one marks in queue 0 out of the box, which is taken back."""
    tree: Tree = {GLOBAL: {"traffic-class": {"0": {"ecn": "disable"}}}}
    for profile in profiles:
        if profile.ecn and marked(qos, profile):
            thresholds: Tree = {
                "ecn": "enable",
                "max-threshold": profile.ecn.max_bytes,
                "min-threshold": profile.ecn.min_bytes,
                "probability": profile.ecn.max_percent,
                "red": "disable",
            }
            tree[profile_name(profile)] = {
                "traffic-class": {str(priority): thresholds for priority in marked(qos, profile)}
            }
    return tree


def _pfc(qos: SwitchQos, profile: PortProfile) -> Tree:
    headroom = profile.headroom
    return {
        "cable-length": headroom.cable_m,
        "port-buffer": headroom.size_bytes,
        "rx": "enable",
        "switch-priority": {str(c.priority): {} for c in qos.lossless},
        "tx": "enable",
        "xoff-threshold": pause_bytes(headroom),
        "xon-threshold": resume_distance_bytes(headroom),
    }


def _pools(qos: SwitchQos) -> Tree:
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
