"""What plain FRR on Linux expresses of a switch, and what it cannot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.fabric.facts import switch_facts
from fabricc.nos.base import Gap
from fabricc.nos.frr.defaults import MULTIPATH_LIMIT
from fabricc.nos.frr.linux import linux_facts

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

_NOT_EXPRESSED = re.compile(
    r"qos/.*|watchdog/.*|pool/.*|user\[.*|interface\[[^\]]*\]/(speed_gbps|trust|pfc|watchdog|headroom/.*|queue\[.*)"
)


def planned_facts(switch: Switch) -> Facts:
    """The facts of the switch that its files state, and those that only this back end knows."""
    facts = {
        path: value for path, value in switch_facts(switch).items() if not _NOT_EXPRESSED.fullmatch(path)
    }
    return facts | linux_facts(switch)


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
    return found
