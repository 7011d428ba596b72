"""VRFs of tenants on SONiC: a VNI for each, and a VLAN interface without addresses for the VNI.

Sources: SONiC EVPN VXLAN HLD (type-5 routes need an L3VNI and a VLAN interface in the VRF), sonic-vrf.yang,
sonic-vxlan.yang and sonic-vlan.yang of sonic-buildimage. FRR has the routes, in `frr.conf`. No table has DSCP or ECN of
VXLAN: vxlanorch leaves both to SAI, whose defaults copy the code point and follow RFC 6040 (saitunnel.h). What an
adapter does with them is the capability table's matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.back.nos.sonic.config_db import Tables, rows_of, value_of
from fabricc.back.nos.sonic.words import parse_number
from fabricc.base.values import replace
from fabricc.fabric.tenants import NO_VLAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.reading import Document
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch

PREFIX = "Vrf"
"""Prefix of names of VRFs (sonic-vrf.yang)."""
TUNNEL, NVO = "vtep", "nvo"
_QOS_MODE, _UNIFORM = "qos-mode", "uniform"  # fields of Enterprise SONiC


# --- what SONiC makes of the Fabric's statements ------------------------------------------------------


def name_vrfs(switch: Switch) -> Switch:
    """Return the switch with the VRFs of its tenants as SONiC names them."""
    if switch.tenants is None:
        return switch
    named = tuple(replace(each, name=PREFIX + each.name) for each in switch.tenants.tenants)
    ports = tuple(replace(port, vrf=PREFIX + port.vrf) if port.vrf else port for port in switch.ports)
    return replace(switch, ports=ports, tenants=replace(switch.tenants, tenants=named))


def tenant_tables(switch: Switch) -> Tables:
    """Return the tables of VRFs and tunnels, of a switch whose VRFs have SONiC's names."""
    tenants = switch.tenants
    if tenants is None:
        return {}
    if tenants.source is None:
        return {"VRF": {each.name: {} for each in tenants.tenants}}
    vlans = {each: f"Vlan{each.vlan}" for each in tenants.tenants}
    return {
        "VLAN": {name: {"mtu": str(tenants.mtu), "vlanid": str(each.vlan)} for each, name in vlans.items()},
        "VLAN_INTERFACE": {name: {"vrf_name": each.name} for each, name in vlans.items()},
        "VRF": {each.name: {"vni": str(each.vni)} for each in tenants.tenants},
        "VXLAN_EVPN_NVO": {NVO: {"source_vtep": TUNNEL}},
        "VXLAN_TUNNEL": {TUNNEL: {"src_ip": tenants.source}},
        "VXLAN_TUNNEL_MAP": {
            f"{TUNNEL}|map_{each.vni}_{name}": {"vlan": name, "vni": str(each.vni)}
            for each, name in vlans.items()
        },
    }


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the facts of VLANs that carry the VNIs of VRFs."""
    tenants = switch.tenants
    if tenants is None or tenants.source is None:
        return
    for each in tenants.tenants:
        facts[f"evpn/vrf[{each.name}]/vlan"] = each.vlan
        facts[f"structure/vrf[{each.name}]/vni"] = each.vni
        facts[f"structure/vrf[{each.name}]/mtu"] = tenants.mtu


# --- and back -----------------------------------------------------------------------------------------


def routed_vlans(document: Document) -> Mapping[str, str]:
    """Return the VLANs that carry VNIs of VRFs, by the VRF; empty where VLANs have ports, as foreign designs do."""
    if not rows_of(document, "VXLAN_EVPN_NVO") or rows_of(document, "VLAN_MEMBER"):
        return {}
    vnis = {
        value_of(row, "vni"): name for name, row in rows_of(document, "VRF").items() if "vni" in row.values
    }
    interfaces = rows_of(document, "VLAN_INTERFACE")
    addressed = {key.partition("|")[0] for key in interfaces if "|" in key}
    carried = {
        vnis.get(value_of(row, "vni")): value_of(row, "vlan")
        for row in rows_of(document, "VXLAN_TUNNEL_MAP").values()
    }
    return {
        vrf: vlan
        for vrf, vlan in carried.items()
        if vrf
        and vlan not in addressed
        and vlan in interfaces
        and value_of(interfaces[vlan], "vrf_name") == vrf
    }


def is_tenant_design(document: Document) -> bool:
    """Return whether VRFs have VNIs and no VLAN has a port: then no VXLAN segment is bridged."""
    routed = any("vni" in row.values for row in rows_of(document, "VRF").values())
    return routed and bool(rows_of(document, "VXLAN_EVPN_NVO")) and not rows_of(document, "VLAN_MEMBER")


def finish_tunnels(document: Document) -> None:
    """State VRFs with VNIs and the tunnels between them, in a design without bridged VLANs."""
    vlans, mapped = routed_vlans(document), rows_of(document, "VXLAN_TUNNEL_MAP").values()
    for name, row in rows_of(document, "VRF").items():
        if "vni" not in row.values:
            continue
        vni, line = row.values["vni"]
        document.put(f"structure/vrf[{name}]/vni", parse_number(str(vni)), line)
        vlan = vlans.get(name)
        line = next((each.line for each in mapped if value_of(each, "vlan") == vlan), line)
        number = parse_number(vlan.removeprefix("Vlan")) if vlan else NO_VLAN
        document.put(f"evpn/vrf[{name}]/vlan", number, line)
        own = rows_of(document, "VLAN").get(vlan or "")
        if own and "mtu" in own.values:
            mtu, line = own.values["mtu"]
            document.put(f"structure/vrf[{name}]/mtu", parse_number(str(mtu)), line)
    sources = {value_of(row, "source_vtep") for row in rows_of(document, "VXLAN_EVPN_NVO").values()}
    for name, row in rows_of(document, "VXLAN_TUNNEL").items():
        if name not in sources or "src_ip" not in row.values:
            continue
        document.put("evpn/source", *row.values["src_ip"])
        mode, line = row.values.get(_QOS_MODE, (_UNIFORM, row.line))
        document.put("evpn/outer_dscp", "copied" if mode == _UNIFORM else str(mode), line)
        document.put("evpn/inner_dscp", "kept", line)
        document.put("evpn/ecn", "carried", line)


def finish_names(document: Document, reading: Reading) -> None:
    """Give facts about VRFs of tenants the names of the tenants, after all files have been read."""
    if is_tenant_design(document):
        own = {name for name in rows_of(document, "VRF") if name.startswith(PREFIX)}
    else:
        own = {name for name in rows_of(document, "VRF") if _is_isolated(document, name, reading)}
        for name in own:
            line = reading.lines.pop(f"vrf[{name}]")[1]
            del reading.facts[f"vrf[{name}]"]
            document.put(f"tenant[{name}]", "isolated", line)
    if own:
        _rename(reading.facts, own)
        _rename(reading.lines, own)
        for path, value in reading.facts.items():
            if value in own and path.startswith("interface[") and path.endswith("]/vrf"):
                reading.facts[path] = str(value).removeprefix(PREFIX)


def _is_isolated(document: Document, name: str, reading: Reading) -> bool:
    """Return whether a VRF has ports and nothing else: no VNI, and no routing but static routes."""
    row = rows_of(document, "VRF")[name]
    at = f"vrf[{name}]"
    others = any(
        path.startswith((f"{at}/", f"evpn/{at}/")) and not path.startswith(f"{at}/static_route[")
        for path in reading.facts
    )
    used = any(value_of(each, "vrf_name") == name for each in rows_of(document, "INTERFACE").values())
    plain = "vni" not in row.values and value_of(row, "fallback") != "true" and at in reading.facts
    return name.startswith(PREFIX) and used and plain and not others


def _rename(table: dict[str, Any], names: set[str]) -> None:
    """Rename VRFs in the paths of a table."""
    for path in [path for path in table if f"[{PREFIX}" in path]:
        before, _, rest = path.partition("[")
        name, _, after = rest.partition("]")
        if name in names and before.rpartition("/")[2] in ("vrf", "tenant"):
            table[f"{before}[{name.removeprefix(PREFIX)}]{after}"] = table.pop(path)
