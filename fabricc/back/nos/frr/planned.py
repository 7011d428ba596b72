"""The facts of a switch that plain FRR on Linux expresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.conf import group_name
from fabricc.back.nos.frr.defaults import (
    BFD_PROFILE,
    LOG_LEVEL,
    NEXT_HOP_GROUPS,
    TTL_SECURITY_HOPS,
)
from fabricc.back.nos.frr.limits import RECOVERING_GROUPS, has
from fabricc.back.nos.frr.linux import linux_facts
from fabricc.fabric.facts import neighbor_key, setting_facts, switch_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

_NOT_EXPRESSED = re.compile(
    r"qos/.*|watchdog/.*|pool/.*|user\[.*|interface\[[^\]]*\]/(speed_gbps|trust|pfc|watchdog|headroom/.*|queue\[.*)"
)


_SETTINGS = ("lldp/", "management/access", "bgp/ttl_security")


def planned_facts(switch: Switch) -> Facts:
    """The facts of the switch that its files state, and those that only this back end knows."""
    facts = {
        path: value for path, value in switch_facts(switch).items() if not _NOT_EXPRESSED.fullmatch(path)
    }
    stated = {path: value for path, value in setting_facts(switch).items() if path.startswith(_SETTINGS)}
    routing = routing_facts(switch, next_hop_lines(switch))
    return facts | stated | linux_facts(switch) | ttl_security_facts(switch) | routing


def next_hop_lines(switch: Switch) -> tuple[str, ...]:
    """What the switch's release is told about next-hop groups.

    FRR 8.4 keeps a shrunken kernel next-hop group for good after a port flap, so it is told not to use them.
    """
    return () if has(switch, RECOVERING_GROUPS) else ("no zebra nexthop kernel enable",)


def routing_facts(switch: Switch, head: Sequence[str], bfd_profile: str | None = BFD_PROFILE) -> Facts:
    """What `read_frr_conf` states beyond the vocabulary.

    `head` is the `extra_head` of `render_frr_conf`, `bfd_profile` what it is there.
    """
    facts: Facts = {
        "structure/frr_hostname": switch.name,
        "bgp/requires_policy": "true",
        "log/syslog": LOG_LEVEL,
    }
    for line in head:
        if fact := NEXT_HOP_GROUPS.get(line):
            facts[fact] = "false"
        elif line.startswith("fpm address "):
            facts["zebra/fpm_address"] = line.removeprefix("fpm address ")
    if switch.bgp.bfd_interval_ms is not None:
        if bfd_profile:
            facts[f"structure/bfd_profile[{bfd_profile}]"] = "true"
        for name in {group_name(session) for session in switch.bgp.sessions}:
            facts[f"structure/bgp_group[{name}]/bfd_on"] = "true"
            if bfd_profile:
                facts[f"structure/bgp_group[{name}]/bfd_profile"] = bfd_profile
    return facts


def ttl_security_facts(switch: Switch) -> Facts:
    """The TTL check of each session, as `read_frr_conf` states it."""
    sessions = switch.bgp.sessions if switch.bgp.ttl_security else ()
    return {
        f"bgp/neighbor[{neighbor_key(s.transport, s.remote, s.port)}]/ttl_security_hops": TTL_SECURITY_HOPS
        for s in sessions
    }
