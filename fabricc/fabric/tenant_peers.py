"""Find the switches that meet in the VRF of each tenant."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.model import Switch


def plan_peers(switches: Iterable[Switch]) -> dict[str, dict[str, str]]:
    """Return for the VNI of each tenant the ToRs that have ports in use in its VRF: VTEP address -> name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for switch in switches:
        if switch.tenants and switch.tenants.source:
            used = {port.vrf for port in switch.ports if port.enabled}
            for tenant in switch.tenants.tenants:
                if tenant.name in used:
                    found[str(tenant.vni)][switch.tenants.source] = switch.name
    return found
