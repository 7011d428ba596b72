"""VRFs of tenants on EOS: a VNI without a VLAN for each, and tunnels that carry code points and marks.

Sources: pyavd 6.4.0, `vxlan_interface` (`vxlan vrf`, and the four lines of `vxlan qos`); Arista's manual, "VXLAN DSCP
Mapping": EOS derives the outer code point from the traffic class and clears ECN there unless these lines configure
more, leaves the inner code point alone, and takes the class of a decapsulated packet from the outer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading import Document, Fact, Row, StoredValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.tenants import TenantVrfs

UDP_PORT = 4789
TUNNEL_ROWS: Sequence[Row] = (
    Fact("vxlan qos ecn propagation", "evpn/ecn", "carried"),
    Fact(
        "vxlan qos dscp propagation encapsulation",
        lambda: {"evpn/outer_dscp": "copied", "evpn/inner_dscp": "kept"},
    ),
    Fact("vxlan qos map dscp to traffic-class decapsulation", "evpn/class_of_outer"),
)


def state_tenants(facts: Facts, switch: Switch, tenants: TenantVrfs) -> None:
    """Add the facts of EOS about VRFs of tenants beyond the Fabric."""
    families = ",".join(tenants.families)
    for each in tenants.tenants:
        if tenants.source is None:
            facts[f"vrf[{each.name}]"] = "present"
            facts[f"vrf[{each.name}]/routed"] = "true"
            continue
        prefix = f"evpn/vrf[{each.name}]/"
        facts[prefix + "router_id"] = switch.bgp.router_id
        facts[prefix + "routed"] = families
        facts[prefix + "defined"] = facts[prefix + "redistribute_connected"] = "true"
    if tenants.source is not None:
        facts["evpn/udp_port"] = UDP_PORT
        facts["evpn/class_of_outer"] = "true"


def put_prefixes(document: Document, vrf: str, line: int) -> None:
    """State the families whose links a VRF announces; a VRF with gateways of segments announces these instead."""
    facts = document.reading.facts
    families = facts.get(f"evpn/vrf[{vrf}]/routed")
    gateways = (path for path, value in facts.items() if path.startswith("evpn/segment[") and value == vrf)
    if families is not None and not any(path.endswith("]/vrf") for path in gateways):
        document.put(f"evpn/vrf[{vrf}]/prefixes", families, line)


def put_isolated(document: Document, families: Mapping[str, Mapping[Value, StoredValue]]) -> None:
    """State the VRFs of ports that route and have no other statements but static routes."""
    facts = document.reading.facts
    used = {
        str(value)
        for path, value in facts.items()
        if path.startswith("interface[") and path.endswith("]/vrf")
    }
    for vrf, (_, line) in families["ipv4"].items():
        at = f"vrf[{vrf}]/"
        plain = (f"{at}routed", f"{at}static_route[")
        others = [path for path in facts if path.startswith(at) and not path.startswith(plain)]
        if vrf in used and f"vrf[{vrf}]" in facts and not others:
            document.put(f"tenant[{vrf}]", "isolated", line)
