"""VRFs of tenants on Junos without tunnels: a virtual router for each, which has ports and nothing else.

Source: Juniper, `instance-type virtual-router`: a routing table of its own, without route distinguisher and targets.
Over spines Junos exchanges EVPN routes between loopbacks (`multihop no-nexthop-change`, Juniper's validated design
JVD-AICLUSTERDC-EVPNType5), which fabricc does not plan yet (FAB3300).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.back.reading import Document, Scope
    from fabricc.fabric.model import Switch

KIND = "virtual-router"


def instance_views(switch: Switch) -> list[tuple[str, list[str]]]:
    """Return name and interfaces of the virtual routers of tenants."""
    ports: dict[str, list[str]] = {each.name: [] for each in switch.tenants.tenants} if switch.tenants else {}
    for port in switch.ports:
        if port.vrf in ports:
            ports[port.vrf].append(f"{port.name}.0")
    return [*ports.items()]


def put_isolated(document: Document, name: str, instance: Scope) -> bool:
    """State a virtual router that has ports and nothing else; return whether it is one."""
    kind, line = instance.values.get("kind", ("", 0))
    alone = instance.values.keys() == {"kind"} and instance.tables.keys() == {"ports"} and not instance.scopes
    if kind != KIND or not alone:
        return False
    document.put(f"tenant[{name}]", "isolated", line)
    return True
