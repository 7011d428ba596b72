"""The words of `evpn`, read back from what ToRs state of VLANs, their gateways and VRFs."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Any

from fabricc.facts.device import Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import Found
    from fabricc.fabric.facts import Value

_SEGMENT = re.compile(r"evpn/segment\[(\d{1,9})\]/(\w+)")
_VRF = re.compile(r"evpn/vrf\[([^\]]+)\]/(\w+)")
_VNI_BASE, _ANYCAST_MAC, _VRFS = 10_000, "00:00:5e:00:01:01", {"tenants": {"vlan": 3001}}


def infer_evpn(found: Found, order: Order) -> dict[str, Any]:
    """Return the section for the segments of the first ToR if every ToR has them; empty without segments."""
    facts = found.devices[order.tier(Tier.TOR)[0]].reading.facts
    segments, vrfs = _facts_by_key(_SEGMENT, facts), _facts_by_key(_VRF, facts)
    segments = {vlan: values for vlan, values in segments.items() if {"vni", "ipv4"} <= values.keys()}
    if not segments:
        return {}
    first = next(iter(segments))
    base = _parse_number(segments[first]["vni"]) - int(first)
    words: dict[str, Any] = {"vni_base": base} if base != _VNI_BASE else {}
    if (mac := facts.get("evpn/anycast_mac", _ANYCAST_MAC)) != _ANYCAST_MAC:
        words["anycast_mac"] = mac
    stated = {
        name: {"vlan": _parse_number(values["vni"]) - base}
        for name, values in vrfs.items()
        if "vni" in values
    }
    if stated != _VRFS:
        words["vrfs"] = stated
    members = _segment_groups(found, order)
    made = {}
    for vlan, values in segments.items():
        segment: dict[str, Any] = {"vlan": int(vlan), "subnet": _subnet_of(values["ipv4"])}
        if "ipv6" in values:
            segment["subnet6"] = _subnet_of(values["ipv6"])
        if len(stated) > 1 and "vrf" in values:
            segment["vrf"] = values["vrf"]
        if len(segments) > 1 and (groups := members.get(int(vlan))):
            segment["groups"] = groups
        made[str(values.get("name", f"vlan{vlan}"))] = segment
    return {"segments": made, **words}


def _facts_by_key(form: re.Pattern[str], facts: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Return thing -> the facts of one form about it."""
    found: dict[str, dict[str, Value]] = {}
    for path, value in facts.items():
        if match := form.fullmatch(path):
            found.setdefault(match[1], {})[match[2]] = value
    return found


def _parse_number(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _subnet_of(gateway: Value) -> str:
    return str(ip_interface(str(gateway)).network)


def _segment_groups(found: Found, order: Order) -> dict[int, list[str]]:
    """Return VLAN -> the groups whose hosts are in it."""
    members: dict[int, list[str]] = {}
    for group in order.groups:
        cable = group.hosts[0].cables[0]
        vlan = found.devices[cable.peer].reading.facts.get(f"evpn/port[{cable.peer_port}]")
        if isinstance(vlan, int):
            members.setdefault(vlan, []).append("gpus" if len(order.groups) == 1 else group.name)
    return members
