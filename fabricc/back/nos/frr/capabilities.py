"""What plain FRR on Linux expresses of a switch, and what it cannot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.base import Gap
from fabricc.back.nos.frr.conf import group_name
from fabricc.back.nos.frr.defaults import (
    BFD_PROFILE,
    LOG_LEVEL,
    MULTIPATH_LIMIT,
    NEXT_HOP_GROUPS,
    TTL_SECURITY_HOPS,
)
from fabricc.back.nos.frr.linux import linux_facts
from fabricc.back.nos.frr.release import lacking
from fabricc.fabric.facts import SETTINGS, neighbor_key, setting_facts, switch_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    routing = routing_facts(switch, next_hop_lines(switch.release))
    return facts | stated | linux_facts(switch) | ttl_security_facts(switch) | routing


def next_hop_lines(release: str) -> tuple[str, ...]:
    """What a release is told about next-hop groups.

    FRR 8.4 keeps a shrunken kernel next-hop group for good after a port flap (corrected upstream by FRRouting
    pull request 13413), so that release is told not to use them.
    """
    return ("no zebra nexthop kernel enable",) if release == "8.4" else ()


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


def find_gaps(switch: Switch) -> list[Gap]:
    """What the switch is to do and these files leave undone, gravest first."""
    found = []
    if lossless := switch.qos.lossless:
        names = ", ".join(traffic_class.name for traffic_class in lossless)
        found.append(
            Gap(
                "FAB5201",
                f"lossless class {names}",
                "plain FRR on Linux has no PFC: priorities, headroom and watchdog are the ASIC driver's affair, "
                "and iproute2's dcb works only where a driver implements it",
                "use sonic or eos, or accept FAB5201 with a reason, as a lab does",
            )
        )
    if switch.bgp.maximum_paths > MULTIPATH_LIMIT:
        found.append(
            Gap(
                "FAB5205",
                f"{switch.bgp.maximum_paths} equal-cost paths",
                f"FRR packages are built with --enable-multipath={MULTIPATH_LIMIT} and refuse a larger number",
                f"lower the maximum to {MULTIPATH_LIMIT}, or use a NOS with its own build of FRR",
            )
        )
    if len(switch.qos.classes) > 1:
        found.append(
            Gap(
                "FAB5202",
                "classification, scheduling and ECN",
                "queues of the switching ASIC have no setting common to Linux drivers",
                "use sonic or eos where the classes matter; routing works without them",
                fatal=False,
            )
        )
    if any(port.children > 1 for port in switch.ports):
        found.append(
            Gap(
                "FAB5203",
                "breakout and speed of ports",
                "a cage is split with `devlink port split` by the driver's own indexes, before interfaces exist",
                "split the cages once when the switch is installed; names follow as swp3s0, swp3s1",
                fatal=False,
            )
        )
    if switch.management.users:
        found.append(
            Gap(
                "FAB5204",
                "local accounts",
                "accounts and their keys belong to the Debian installation, not to FRR",
                "create them with the installer, for instance preseed or cloud-init",
                fatal=False,
            )
        )
    lacks = (Gap(c.code, c.feature, c.source, c.remedy) for c in lacking(switch))
    return [*found, *_services(switch), *lacks]


def _services(switch: Switch) -> Iterator[Gap]:
    management = switch.management
    asked = {
        "management/tacacs/": management.tacacs is not None,
        "management/snmp/": management.snmp is not None,
        "management/gnmi_port": management.gnmi_port is not None,
    }
    for setting in (setting for setting, wanted in asked.items() if wanted):
        yield Gap(
            "FAB5207",
            SETTINGS[setting],
            "it is a package of the Debian installation, configured apart from FRR",
            "install and configure it with the system, for instance by the same means as the accounts",
            fatal=False,
        )
