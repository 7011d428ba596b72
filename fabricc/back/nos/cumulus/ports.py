"""Interfaces in NVUE's words: management, loopback, ports and the cages that are broken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import TRIMMING, has
from fabricc.back.nos.cumulus.naming import cage_name
from fabricc.back.nos.cumulus.qos import port_qos
from fabricc.back.nos.cumulus.routing import adaptive_routing
from fabricc.back.nos.cumulus.words import FABRIC
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.yaml_text import Tree
    from fabricc.fabric.model import Port, Switch

MANAGEMENT = "eth0"
LOOPBACK = "lo"
MANAGEMENT_VRF = "mgmt"


def fec(port: Port) -> str:
    """Reed-Solomon from 25 Gb/s a lane up (IEEE 802.3 clauses 91, 119, 134, 161, 172), none below."""
    return "rs" if port.speed_gbps >= 25 * port.lanes else "off"


def interfaces(switch: Switch, release: Release) -> Tree:
    """Everything below `interface`."""
    management = switch.management
    rows: Tree = {
        MANAGEMENT: {
            "type": "eth",
            **_addresses(release, (management.address,), management.gateway, MANAGEMENT_VRF),
        },
        LOOPBACK: {
            "type": "loopback",
            **_addresses(
                release,
                (
                    switch.loopback4 and f"{switch.loopback4}/32",
                    switch.loopback6 and f"{switch.loopback6}/128",
                ),
            ),
        },
    }
    profiles = port_qos(switch)
    adaptive = adaptive_routing(switch, release)
    trimmed = switch.qos.trimming if has(switch, TRIMMING) else None
    eligible: Tree = {str(queue): {} for queue in trimmed.queues} if trimmed else {}
    for port in switch.ports:
        if port.children > 1:
            rows[cage_name(switch.model, port.cage)] = {
                "link": {"breakout": {f"{port.children}x": {"lanes-per-port": str(port.lanes)}}},
                "type": "swp",
            }
        rows[port.name] = row = _port(port, release)
        if port.profile in profiles:
            row["qos"] = profiles[port.profile]
        if adaptive and port.direction in FABRIC:
            row["router"] = adaptive
        if eligible and port.direction is not Direction.UNUSED:
            row["packet-trim"] = {"egress-eligibility": {"traffic-class": eligible}}
    return rows


def _port(port: Port, release: Release) -> Tree:
    row: Tree = {
        "description": port.description,
        "link": {
            "fec": fec(port),
            "mtu": port.mtu,
            "speed": f"{port.speed_gbps}G",
            "state": {"up" if port.enabled else "down": {}},
        },
        "type": "swp",
    }
    if port.direction is not Direction.UNUSED:
        row.update(_addresses(release, (port.ipv4, port.ipv6)))
    return row


def _addresses(release: Release, addresses: tuple[str | None, ...], gateway: str = "", vrf: str = "") -> Tree:
    """An interface's addresses, gateway and VRF, where the release has them."""
    present = [address for address in addresses if address]
    if not release.family_addresses:
        row: Tree = {"address": {address: {} for address in present}} if present else {}
        if gateway:
            row["gateway"] = {gateway: {}}
        if vrf:
            row["vrf"] = vrf
        return {"ip": row} if row else {}
    rows: Tree = {"vrf": vrf} if vrf else {}
    for family, colon in (("ipv4", False), ("ipv6", True)):
        own = [address for address in present if (":" in address) is colon]
        part: Tree = {"address": {address: {} for address in own}} if own else {}
        if gateway and (":" in gateway) is colon:
            part["gateway"] = {gateway: {}}
        if part:
            rows[family] = part
    return rows
