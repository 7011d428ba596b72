"""VRFs of tenants on FRR and Linux: each has a VXLAN device, a VLAN interface for it, and a route to nowhere.

The route ends what the VRF has no route for; without it, Linux uses the main table next (kernel documentation,
networking/vrf). The VLAN interface has no address, not even a link-local one (FRR user guide, BGP EVPN). VXLAN devices
copy TOS into the outer header; the kernel carries ECN in and out as in RFC 6040 and leaves the inner DSCP alone.
ifupdown2 has `vxlan-tos` from 3.1 on and Debian 12 has 3.0, so that a command sets it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.words import FIRST_TABLE
from fabricc.fabric.evpn import Vrf, Vtep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Document, Scope
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

LAST_METRIC = 4278198272
"""Metric of the route to nowhere, behind every other one (kernel documentation, networking/vrf)."""
_FAMILIES = {"-4": "ipv4", "-6": "ipv6"}
_NOWHERE = re.compile(rf"ip (-[46]) route replace unreachable default metric {LAST_METRIC} table (\d{{1,4}})")
_INHERIT = re.compile(r"ip link set dev (vni\d{1,8}) type vxlan tos inherit")
_TUNNEL = {"evpn/outer_dscp": "copied", "evpn/inner_dscp": "kept", "evpn/ecn": "carried"}


def local_vtep(switch: Switch) -> Vtep | None:
    """Return the VTEP of a ToR: that of its segments, or that of its tenants."""
    tenants = switch.tenants
    if tenants is None or tenants.source is None:
        return switch.vtep
    vrfs = tuple(Vrf(each.name, each.vlan, each.vni) for each in tenants.tenants)
    return Vtep(tenants.source, (), vrfs, "", tenants.mtu)


def tenants_view(switch: Switch) -> dict[str, object]:
    """Return the tenant input of `interfaces.j2` except the VTEP: VRFs with their tables, and the last route."""
    tenants = switch.tenants
    return {
        "tenant_vrfs": {each.name: FIRST_TABLE + each.vlan for each in tenants.tenants} if tenants else {},
        "families": _FAMILIES,
        "last_metric": LAST_METRIC,
    }


def state_tenants(facts: Facts, switch: Switch) -> None:
    """Add the facts of the tenants' devices other than their VTEP."""
    tenants = switch.tenants
    for each in tenants.tenants if tenants else ():
        facts[f"structure/vrf[{each.name}]/table"] = FIRST_TABLE + each.vlan
        for family in _FAMILIES.values():
            facts[f"structure/vrf[{each.name}]/unreachable_{family}"] = FIRST_TABLE + each.vlan
        if tenants and tenants.source:
            facts[f"structure/vrf[{each.name}]/addressless"] = "true"


def read_command(text: str) -> dict[str, str | int] | None:
    """Return what a command of a device does, of those that fabricc writes."""
    if found := _NOWHERE.fullmatch(text):
        return {f"unreachable_{_FAMILIES[found[1]]}": int(found[2])}
    if found := _INHERIT.fullmatch(text):
        return {"inherits": found[1]}
    return None


def put_tunnels(document: Document, devices: Mapping[str, Scope]) -> None:
    """State that tunnels carry code points and marks, where every VXLAN device copies TOS."""
    tunnels = {name: scope for name, scope in devices.items() if "vni" in scope.values}
    own = [scope.values["inherits"] for name, scope in tunnels.items() if "inherits" in scope.values]
    named = [
        value == name
        for name, scope in tunnels.items()
        for value, _ in (scope.values.get("inherits", ("", 0)),)
    ]
    if own and all(named):
        for path, value in _TUNNEL.items():
            document.put(path, value, own[-1][1])


def put_isolated(document: Document, devices: Mapping[str, Scope], vnis: Sequence[object]) -> None:
    """State the VRFs that no VXLAN device joins with another ToR and that have a route to nowhere."""
    for name, scope in devices.items():
        if "table" not in scope.values:
            continue
        leaves = [f"unreachable_{family}" for family in _FAMILIES.values()]
        document.put_leaves(f"structure/vrf[{name}]/", scope.values, leaves)
        if not vnis and all(leaf in scope.values for leaf in leaves):
            document.put(f"tenant[{name}]", "isolated", scope.values["table"][1])


def take_prefixes(tenant: Scope) -> tuple[list[str], int]:
    """Return the address families whose connected routes a VRF announces as EVPN routes, and the line that states it.

    What that consists of leaves the scope, so that nothing else interprets it.
    """
    found: list[str] = []
    line = 0
    if tenant.scopes or not tenant.tables.keys() <= {"imports", "exports"}:
        return found, line  # sessions or prefixes of its own
    for family in _FAMILIES.values():
        taken, announced = f"{family} connected", f"evpn setting[advertise {family} unicast]"
        values = tenant.values
        if values.get(taken, ("", 0))[0] == "unfiltered" and announced in values:
            found.append(family)
            line = values[announced][1]
            for leaf in (taken, announced, family):
                values.pop(leaf, None)
    return found, line
