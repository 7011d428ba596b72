"""The facts of a switch as NVUE can hold them: what it rounds, what it adds, and what it has no words for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.facts import switch_facts
from fabricc.fabric.model import Direction
from fabricc.nos.cumulus.document import hash_seed, ssh_key
from fabricc.nos.cumulus.naming import cage_name
from fabricc.nos.cumulus.ports import fec
from fabricc.nos.cumulus.qos import (
    LOSSY_PERCENT,
    PRIORITIES,
    port_default,
    resume_bytes,
    shared_alpha,
    timers,
    used_profiles,
)
from fabricc.nos.cumulus.release import ADMINISTRATOR, OWN_ACCOUNT, release_of

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

_NOT_EXPRESSED = ("pool/", "watchdog/", "user[")
"""Pools are shares here, the watchdog has one interval for all, and a key has no comment: all are stated anew."""


def planned_facts(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives."""
    facts = {
        path: value
        for path, value in switch_facts(switch).items()
        if not path.startswith(_NOT_EXPRESSED) and not path.endswith("/headroom/xon_offset_bytes")
    }
    if not switch.bgp.sessions:  # timers are those of a peer group or its profile
        for path in [path for path in facts if path.startswith("bfd/")]:
            del facts[path]
    _add_system(facts, switch)
    _add_qos(facts, switch)
    _add_ports(facts, switch)
    return facts


def _add_system(facts: Facts, switch: Switch) -> None:
    facts["system/model"] = str(switch.model.nos["cumulus"]["model"]).lower()
    facts["system/api_version"] = "nvue_v1"
    facts["system/release"] = release_of(switch.release).name
    facts["system/hash_seed"] = hash_seed(switch.tier_index)
    keys = {account.name: " ".join(ssh_key(account)) for account in switch.management.users}
    for name in {OWN_ACCOUNT, *keys}:
        facts[f"user[{name}]/role"] = ADMINISTRATOR
        facts[f"user[{name}]/password"] = "stated"
        if name in keys:
            facts[f"user[{name}]/ssh_key"] = keys[name]


def _add_qos(facts: Facts, switch: Switch) -> None:
    qos = switch.qos
    facts["qos/untagged/traffic_class"] = port_default(qos)
    facts["qos/queue[0]/ecn"] = "disable"
    if qos.lossless:
        lossless = {c.priority for c in qos.lossless}
        facts["pool/lossless_percent"] = 100 - LOSSY_PERCENT
        facts["pool/lossless_priorities"] = ",".join(map(str, sorted(lossless)))
        facts["pool/lossy_percent"] = LOSSY_PERCENT
        facts["pool/lossy_priorities"] = ",".join(str(p) for p in PRIORITIES if p not in lossless)
    if not used_profiles(switch):  # nobody pauses, and nothing says what would
        for path in [path for path in facts if path.endswith("/priority_group") or "/pfc_priority[" in path]:
            del facts[path]
    if qos.watchdog:
        held = timers(qos.watchdog)
        facts["watchdog/poll_ms"] = held.polling_ms
        facts["watchdog/detect_ms"] = held.detect_ms
        facts["watchdog/action"] = "drop"


def _add_ports(facts: Facts, switch: Switch) -> None:
    profiles = used_profiles(switch)
    alpha = shared_alpha(profiles)
    resume = {profile.name: resume_bytes(profile.headroom) for profile in profiles}
    for port in switch.ports:
        prefix = f"interface[{port.name}]/"
        facts[prefix + "fec"] = fec(port)
        facts[prefix + "mtu"] = port.mtu
        if port.children > 1:
            facts[f"breakout[{cage_name(switch.model, port.cage)}]"] = f"{port.children}x {port.lanes}"
        if alpha is not None and port.profile in resume:
            facts[prefix + "headroom/dynamic_th"] = alpha
            facts[prefix + "headroom/xon_bytes"] = resume[port.profile]
        if port.direction is Direction.UNUSED:  # classification and scheduling are the same on every port
            facts[prefix + "trust"] = "dscp"
            for c in switch.qos.classes:
                share = "strict" if c.strict else f"dwrr {c.weight_percent}"
                facts[f"{prefix}queue[{c.priority}]/scheduler"] = share
