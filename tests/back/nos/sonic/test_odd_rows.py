# ruff: noqa: E501  (a case is one line)
"""Rows of `config_db.json` that defeat the rest of it are found at the field that does, in any order of the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.contradictions import read_contradiction
from fabricc.back.nos.sonic import rows_with_faults
from fabricc.back.nos.sonic.config_db import line_of_keys
from tests.audit.faults.fabric import build_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    Tables = dict[str, Any]


find_odd_rows = rows_with_faults


PORTS = ("Ethernet64", "Ethernet72", "Ethernet80", "Ethernet88")


def _edit(table: str, key: str, **fields: object) -> Callable[[Tables], None]:
    return lambda tables: tables.setdefault(table, {}).setdefault(key, {}).update(fields)


def _drop(table: str, key: str, field: str) -> Callable[[Tables], None]:
    return lambda tables: tables[table][key].pop(field)


def _both(*edits: Callable[[Tables], object]) -> Callable[[Tables], None]:
    def change(tables: Tables) -> None:
        for edit in edits:
            edit(tables)

    return change


def _rule(**fields: str) -> Callable[[Tables], None]:
    table = _edit("ACL_TABLE", "DATA", type="UNDERLAY_SET_DSCP", ports=list(PORTS))
    return _both(table, _edit("ACL_RULE", "DATA|R1", PRIORITY="1", **fields))


_NEIGHBOR = _both(
    _edit("DEVICE_METADATA", "localhost", docker_routing_config_mode="separated"),
    _edit("BGP_NEIGHBOR", "10.9.0.1", asn="65001"),
)
"""A neighbor of bgpcfgd."""

CASES: dict[str, tuple[str, Callable[[Tables], object]]] = {
    "two ports of one alias": ("PORT|Ethernet4 alias", _edit("PORT", "Ethernet4", alias="etp1a")),
    "one lane for 800G": ("PORT|Ethernet64 lanes", _edit("PORT", "Ethernet64", lanes="64")),
    "no lanes": ("PORT|Ethernet64 without lanes", _drop("PORT", "Ethernet64", "lanes")),
    "no table of pools": ("BUFFER_PROFILE|", lambda tables: tables.pop("BUFFER_POOL")),
    "FEC of slow links": ("PORT|Ethernet64 fec", _edit("PORT", "Ethernet64", fec="fc")),
    "advertises another speed": ("PORT|Ethernet64 adv_speeds", _edit("PORT", "Ethernet64", autoneg="on", adv_speeds="100000")),
    "a cage of one port": ("BREAKOUT_CFG|Ethernet0 brkout_mode", _edit("BREAKOUT_CFG", "Ethernet0", brkout_mode="1x800G[400G]")),
    "a line card": ("DEVICE_METADATA|localhost switch_type", _edit("DEVICE_METADATA", "localhost", switch_type="voq")),
    "another box": ("DEVICE_METADATA|localhost hwsku", _edit("DEVICE_METADATA", "localhost", hwsku="ACS-MSN2700")),
    "no hardware": ("DEVICE_METADATA|localhost ", _drop("DEVICE_METADATA", "localhost", "hwsku")),
    "metadata of nobody": ("DEVICE_METADATA|local ", lambda tables: tables.update(DEVICE_METADATA={"local": tables["DEVICE_METADATA"]["localhost"]})),
    "all sessions shut": ("DEVICE_METADATA|localhost default_bgp_status", _both(_edit("DEVICE_METADATA", "localhost", default_bgp_status="down"), _edit("BGP_NEIGHBOR", "10.0.0.1", asn="65001"))),
    "no such speed": ("PORT|Ethernet64 speed", _edit("PORT", "Ethernet64", speed="400")),
    "no such MTU": ("PORT|Ethernet64 mtu", _edit("PORT", "Ethernet64", mtu="99999")),
    "a bundle of shut ports": ("PORT|Ethernet64 admin_status", _both(_edit("PORTCHANNEL", "PortChannel1", admin_status="up"), _edit("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet64"), _edit("PORT", "Ethernet64", admin_status="down"))),
    "a bundle with another MTU": ("PORTCHANNEL|PortChannel1 mtu", _both(_edit("PORTCHANNEL", "PortChannel1", mtu="1500"), _edit("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet64"))),
    "a queue with a profile of others": ("BUFFER_QUEUE|Ethernet64|0 has", _edit("BUFFER_QUEUE", "Ethernet64|0", profile="egress_lossless_profile")),
    "a port of no VRF": ("INTERFACE|Ethernet64 vrf_name", _edit("INTERFACE", "Ethernet64", vrf_name="Vrf9")),
    "a VLAN of another number": ("VLAN|Vlan10 vlanid", _edit("VLAN", "Vlan10", vlanid="20")),
    "no broadcasts": ("PORT_STORM_CONTROL|Ethernet64|broadcast kbps", _edit("PORT_STORM_CONTROL", "Ethernet64|broadcast", kbps="1")),
    "a tunnel from nowhere": ("VXLAN_TUNNEL|vtep ", _edit("VXLAN_TUNNEL", "vtep")),
    "EVPN of no tunnel": ("VXLAN_EVPN_NVO|nvo source_vtep", _edit("VXLAN_EVPN_NVO", "nvo", source_vtep="vtep9")),
    "a VNI of no VLAN": ("VXLAN_TUNNEL_MAP|vtep|map vlan", _edit("VXLAN_TUNNEL_MAP", "vtep|map", vlan="Vlan9", vni="9")),
    "a pool without size": ("BUFFER_POOL|ingress_lossless_pool ", _drop("BUFFER_POOL", "ingress_lossless_pool", "size")),
    "a pool of some packets": ("BUFFER_POOL|ingress_lossless_pool size", _edit("BUFFER_POOL", "ingress_lossless_pool", size="4096")),
    "a small queue of PFC": ("BUFFER_PROFILE|egress_lossless_x static_th", _edit("BUFFER_PROFILE", "egress_lossless_x", pool="egress_lossless_pool", static_th="1000")),
    "a cable without length": ("CABLE_LENGTH|AZURE ", _drop("CABLE_LENGTH", "AZURE", "Ethernet64")),
    "a neighbor of no port": ("BGP_NEIGHBOR|10.9.0.1 local_addr", _edit("BGP_NEIGHBOR", "10.9.0.1", asn="65001", local_addr="10.9.0.0")),
    "two AS numbers": ("BGP_NEIGHBOR|10.9.0.1 asn", _both(_edit("BGP_NEIGHBOR", "10.9.0.1", asn="65001", name="T1"), _edit("BGP_NEIGHBOR", "fc00::1", asn="65002", name="T1"))),
    "a neighbor without a loopback": ("BGP_NEIGHBOR|10.9.0.1 without an IPv4", _both(_NEIGHBOR, lambda tables: tables.pop("LOOPBACK_INTERFACE"))),
    "a neighbor of a switch of no type": ("DEVICE_METADATA|localhost without type", _both(_NEIGHBOR, _drop("DEVICE_METADATA", "localhost", "type"))),
    "a neighbor of no VRF": ("DEVICE_METADATA|localhost frr_mgmt_framework_config", _both(_NEIGHBOR, _edit("DEVICE_METADATA", "localhost", frr_mgmt_framework_config="true"))),
    "an idle link": ("PORTCHANNEL_INTERFACE|PortChannel4|10.9.0.6/31 ", _both(lambda tables: tables.pop("INTERFACE"), *(_edit("PORTCHANNEL_INTERFACE", f"PortChannel{each}|10.9.0.{2 * each - 2}/31") for each in (1, 2, 3, 4)), *(_edit("BGP_NEIGHBOR", f"10.9.0.{2 * each - 1}", local_addr=f"10.9.0.{2 * each - 2}") for each in (1, 2, 3)))),
    "the fabric by the management port": ("MGMT_INTERFACE|eth0|", lambda tables: next(iter(tables["MGMT_INTERFACE"].values())).update(forced_mgmt_routes=["10.0.0.0/8"])),
    "logins by the fabric": ("TACPLUS_SERVER|192.0.2.60 without vrf", _both(_edit("TACPLUS_SERVER", "192.0.2.60", passkey="a"), _edit("AAA", "authentication", login="tacacs+,local"))),
    "headroom of all groups": ("BUFFER_PG|Ethernet64|0-7 profile", _edit("BUFFER_PG", "Ethernet64|0-7", profile="pg_lossless_800000_40m_profile")),
    "one port with tags": ("VLAN_MEMBER|Vlan10|Ethernet9 tagging_mode", _both(_edit("VLAN", "Vlan10", vlanid="10"), *(_edit("VLAN_MEMBER", f"Vlan10|Ethernet{each}", tagging_mode="untagged") for each in range(5)), _edit("VLAN_MEMBER", "Vlan10|Ethernet9", tagging_mode="tagged"))),
    "passes nothing on": ("BGP_ALLOWED_PREFIXES|DEPLOYMENT_ID|0 default_action", _both(_edit("DEVICE_METADATA", "localhost", type="LeafRouter"), _edit("BGP_ALLOWED_PREFIXES", "DEPLOYMENT_ID|0", default_action="deny", prefixes_v4=["10.99.0.0/16 le 32"]))),
    "few neighbors of a VLAN": ("BGP_PEER_RANGE|hosts ip_range", _both(_edit("VLAN_INTERFACE", "Vlan10|10.8.0.1/24"), *(_edit("VLAN_MEMBER", f"Vlan10|Ethernet{each}") for each in range(5)), _edit("BGP_PEER_RANGE", "hosts", ip_range=["10.8.0.0/30"]))),
    "hash without ports": ("ECMP_LOADSHARE_TABLE_IPV4|ipv4 ipv4_l4_src_port", _edit("ECMP_LOADSHARE_TABLE_IPV4", "ipv4", ipv4_dst_ip="true", ipv4_l4_dst_port="true", ipv4_l4_src_port="false")),
    "one gateway": ("MGMT_INTERFACE|eth0|10.7.0.1/24 ", _both(_edit("MGMT_INTERFACE", "eth0|10.7.0.1/24"), _edit("MGMT_INTERFACE", "eth0|fd00::1/64", gwaddr="fd00::2"))),
    "a clock without its port": ("NTP|global src_intf", _edit("NTP", "global", src_intf="Loopback9")),
    "bundles without their program": ("FEATURE|teamd state", _both(_edit("FEATURE", "teamd", state="disabled"), _edit("PORTCHANNEL", "PortChannel1", mtu="9100"))),
    "swss is off": ("FEATURE|swss state", _edit("FEATURE", "swss", state="disabled")),
    "loopback in a VRF": ("LOOPBACK_INTERFACE|Loopback0 vrf_name", _edit("LOOPBACK_INTERFACE", "Loopback0", vrf_name="Vrf_red")),
    "no address of the loopback": ("LOOPBACK_INTERFACE|Loopback0 without an address", lambda tables: tables["LOOPBACK_INTERFACE"].pop("Loopback0|10.128.0.4/32")),
    "management is down": ("MGMT_PORT|eth0 admin_status", _edit("MGMT_PORT", "eth0", admin_status="down")),
    "no VRF of management": ("NTP|global vrf", lambda tables: tables.pop("MGMT_VRF_CONFIG")),
    "clock in the fabric": ("NTP|global vrf", _edit("NTP", "global", vrf="default")),
    "clock from the loopback": ("NTP|global src_intf", _edit("NTP", "global", src_intf="Loopback0")),
    "no clock in use": ("NTP_SERVER|192.0.2.10 admin_state", _edit("NTP_SERVER", "192.0.2.10", admin_state="disabled")),
    "another clock": ("NTP_SERVER|192.0.2.10 resolve_as", _edit("NTP_SERVER", "192.0.2.10", resolve_as="10.0.0.99")),
    "logs of nothing": ("SYSLOG_SERVER|192.0.2.20 severity", _edit("SYSLOG_SERVER", "192.0.2.20", severity="none")),
    "logs of nobody": ("SYSLOG_SERVER|192.0.2.20 source", _edit("SYSLOG_SERVER", "192.0.2.20", source="10.9.9.9")),
    "no logs": ("SYSLOG_SERVER|192.0.2.20 filter_regex", _edit("SYSLOG_SERVER", "192.0.2.20", filter="exclude", filter_regex=".*")),
    "a list of packets": ("ACL_TABLE|FABRICC_SSH type", _edit("ACL_TABLE", "FABRICC_SSH", type="L3")),
    "a list of SNMP": ("ACL_TABLE|FABRICC_SSH services", _edit("ACL_TABLE", "FABRICC_SSH", services=["SNMP"])),
    "a list of nothing": ("ACL_TABLE|FABRICC_SSH services", _edit("ACL_TABLE", "FABRICC_SSH", services=["SHH"])),
    "two rules of one priority": ("ACL_RULE|FABRICC_SSH|RULE_0 PRIORITY", _edit("ACL_RULE", "FABRICC_SSH|RULE_0", PRIORITY="9999", PACKET_ACTION="ACCEPT", SRC_IP="0.0.0.0/0")),
    "root over SSH": ("SSH_SERVER|POLICIES permit_root_login", _edit("SSH_SERVER", "POLICIES", permit_root_login="yes")),
    "no key of TACACS": ("TACPLUS_SERVER|192.0.2.30 without passkey", _both(_edit("TACPLUS_SERVER", "192.0.2.30", priority="1"), _edit("AAA", "authentication", login="tacacs+,local"))),
    "SSH at another port": ("SSH_SERVER|POLICIES ports", _edit("SSH_SERVER", "POLICIES", ports="2222")),
    "one of two methods without a server": ("AAA|authentication login", _edit("AAA", "authentication", login="tacacs+,local")),
    "servers of no login": ("AAA|authentication login", _both(_edit("AAA", "authentication", login="local"), _edit("TACPLUS_SERVER", "192.0.2.7", passkey="x"))),
    "logins from no port": ("TACPLUS|global src_intf", _edit("TACPLUS", "global", src_intf="Ethernet500")),
    "a family of nobody": ("BGP_PEER_GROUP_AF|default|UP|ipv4 ", _edit("BGP_PEER_GROUP_AF", "default|UP|ipv4")),
    "VNIs of no NVO": ("VXLAN_TUNNEL_MAP|vtep|map_10 without", _both(_edit("BGP_PEER_GROUP_AF", "default|UP|l2vpn_evpn"), _edit("VXLAN_TUNNEL_MAP", "vtep|map_10", vni="10"))),
    "VNIs that nobody announces": ("BGP_GLOBALS_AF|default|l2vpn_evpn advertise-all-vni", _both(_edit("BGP_GLOBALS_AF", "default|l2vpn_evpn", **{"advertise-all-vni": "false"}), _edit("VXLAN_TUNNEL_MAP", "vtep|map_10", vni="10"))),
    "a weight of nothing": ("SCHEDULER|rdma weight", _edit("SCHEDULER", "rdma", weight="0")),
    "an absurd share": ("BUFFER_PROFILE|pg_lossless_400000_5m_profile dynamic_th", _edit("BUFFER_PROFILE", "pg_lossless_400000_5m_profile", dynamic_th="30")),
    "RDMA in the pool of others": ("BUFFER_PROFILE|egress_lossless_profile pool", _edit("BUFFER_PROFILE", "egress_lossless_profile", pool="egress_lossy_pool")),
    "no server of logins": ("AAA|authentication login", _edit("AAA", "authentication", login="tacacs+")),
    "a user without a password": ("SNMP_USER|mon SNMP_USER_TYPE", _edit("SNMP_USER", "mon", SNMP_USER_TYPE="noAuthNoPriv")),
    "telemetry for everyone": ("TELEMETRY|gnmi client_auth", _edit("TELEMETRY", "gnmi", client_auth="false")),
    "REST for everyone": ("RESTAPI|config allow_insecure", _edit("RESTAPI", "config", client_auth="true", allow_insecure="true")),
    "a length without a unit": ("CABLE_LENGTH|AZURE Ethernet0", _edit("CABLE_LENGTH", "AZURE", Ethernet0="40")),
    "a cable of nothing": ("CABLE_LENGTH|AZURE Ethernet0", _edit("CABLE_LENGTH", "AZURE", Ethernet0="0m")),
    "a threshold of no pool": ("WRED_PROFILE|800g-40m green_max_threshold", _edit("WRED_PROFILE", "800g-40m", green_max_threshold="1000000000")),
    "RoCE loses its mark": ("ACL_RULE|DATA|R1 DSCP_ACTION", _rule(L4_DST_PORT="4791", DSCP_ACTION="0")),
    "random paths": ("SWITCH_HASH|GLOBAL ecmp_hash_algorithm", _edit("SWITCH_HASH", "GLOBAL", ecmp_hash_algorithm="RANDOM")),
    "inner headers": ("SWITCH_HASH|GLOBAL ecmp_hash", _edit("SWITCH_HASH", "GLOBAL", ecmp_hash=["INNER_SRC_IP"])),
    "all queues stopped": ("PFC_WD|GLOBAL BIG_RED_SWITCH", _edit("PFC_WD", "GLOBAL", BIG_RED_SWITCH="enable")),
    "no restoration": ("PFC_WD|Ethernet0 without restoration_time", lambda tables: tables["PFC_WD"].update(Ethernet0={"detection_time": "400"})),
    "no start of marking": ("WRED_PROFILE|800g-40m without green_min_threshold", _drop("WRED_PROFILE", "800g-40m", "green_min_threshold")),
    "rewritten code points": ("TC_TO_DSCP_MAP|AZURE 3", _both(_edit("TC_TO_DSCP_MAP", "AZURE", **{"3": "0"}), _edit("PORT_QOS_MAP", "Ethernet0", tc_to_dscp_map="AZURE"))),
    "no paused queue": ("MAP_PFC_PRIORITY_TO_QUEUE|AZURE without 3", lambda tables: tables["MAP_PFC_PRIORITY_TO_QUEUE"].update(AZURE={"4": "4"})),
    "no pausing group": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|AZURE without 3", lambda tables: tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"].update(AZURE={"4": "4"})),
    "no group of the class": ("TC_TO_PRIORITY_GROUP_MAP|AZURE without 3", _drop("TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3")),
    "another group of the class": ("TC_TO_PRIORITY_GROUP_MAP|AZURE 3", _edit("TC_TO_PRIORITY_GROUP_MAP", "AZURE", **{"3": "0"})),
    "another group of the pauses": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|AZURE 3", _edit("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "AZURE", **{"3": "4"})),
    "classes of VLAN tags": ("PORT_QOS_MAP|Ethernet64 dot1p_to_tc_map", _both(_drop("PORT_QOS_MAP", "Ethernet64", "dscp_to_tc_map"), _edit("PORT_QOS_MAP", "Ethernet64", dot1p_to_tc_map="AZURE"))),
    "another queue marks": ("QUEUE|Ethernet64|1 wred_profile", _both(_drop("QUEUE", "Ethernet64|3", "wred_profile"), _edit("QUEUE", "Ethernet64|1", wred_profile="800g-40m"))),
    "more links than members": ("PORTCHANNEL|PortChannel1 min_links", _both(_edit("PORTCHANNEL", "PortChannel1", min_links="2"), _edit("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet64"))),
    "a slow port": ("PORT_QOS_MAP|Ethernet0 scheduler", _both(_edit("SCHEDULER", "port", meter_type="bytes", pir="1250000"), lambda tables: tables["PORT_QOS_MAP"].update(Ethernet0={"scheduler": "port"}))),
    "no pool of egress": ("BUFFER_PROFILE|egress_lossy_profile pool", lambda tables: tables["BUFFER_POOL"].pop("egress_lossy_pool")),
    "an egress pool of ingress": ("BUFFER_POOL|egress_lossless_pool type", _edit("BUFFER_POOL", "egress_lossless_pool", type="ingress")),
    "a queue without PFC": ("BUFFER_QUEUE|Ethernet0 has a profile for PFC", _drop("PORT_QOS_MAP", "Ethernet0", "pfc_enable")),
    "another speed of a cage": ("BREAKOUT_CFG|Ethernet64 brkout_mode", _edit("BREAKOUT_CFG", "Ethernet64", brkout_mode="4x200G[100G]")),
    "logs into no VRF": ("SYSLOG_SERVER|192.0.2.20 vrf", _edit("SYSLOG_SERVER", "192.0.2.20", vrf="mgtm")),
    "the module of another port": ("PORT|Ethernet0 index", _edit("PORT", "Ethernet0", index="10")),
    "other lanes of a module": ("PORT|Ethernet0 subport", _edit("PORT", "Ethernet0", subport="2")),
    "headroom of another cable": ("CABLE_LENGTH|AZURE Ethernet", _both(*(_edit("CABLE_LENGTH", "AZURE", **{each: "4m"}) for each in PORTS))),
    "headroom of another speed": ("BUFFER_PG|Ethernet64|3 profile", _edit("BUFFER_PG", "Ethernet64|3", profile="pg_lossless_400000_5m_profile")),
    "queues in a pool of ingress": ("BUFFER_PROFILE|egress_lossless_profile pool", _edit("BUFFER_PROFILE", "egress_lossless_profile", pool="ingress_lossless_pool")),
    "a profile in no pool": ("BUFFER_PROFILE|egress_lossy_profile without pool", _drop("BUFFER_PROFILE", "egress_lossy_profile", "pool")),
    "no limit": ("BUFFER_PROFILE|pg_lossless_400000_5m_profile without dynamic_th", _drop("BUFFER_PROFILE", "pg_lossless_400000_5m_profile", "dynamic_th")),
    "a limit of no packet": ("BUFFER_PROFILE|pg_lossless_400000_5m_profile static_th", _edit("BUFFER_PROFILE", "pg_lossless_400000_5m_profile", static_th="1000")),
    "reservations above the pool": ("BUFFER_PROFILE|egress_lossy_profile size", _edit("BUFFER_PROFILE", "egress_lossy_profile", size="99999999")),
    "a lossy queue of PFC": ("BUFFER_QUEUE|Ethernet0|3 profile", _edit("BUFFER_QUEUE", "Ethernet0|3", profile="egress_lossy_profile")),
    "trimmed RDMA": ("BUFFER_PROFILE|egress_lossless_profile packet_discard_action", _edit("BUFFER_PROFILE", "egress_lossless_profile", packet_discard_action="trim")),
    "an undefined profile": ("BUFFER_QUEUE|Ethernet0|3 profile", _edit("BUFFER_QUEUE", "Ethernet0|3", profile="lossless")),
    "no buffer of a group": ("BUFFER_PG|Ethernet64|0 profile", _edit("BUFFER_PG", "Ethernet64|0", profile="ingress_lossy_pg_zero_profile")),
    "headroom of unmarked packets": ("BUFFER_PG|Ethernet64|0 profile", _edit("BUFFER_PG", "Ethernet64|0", profile="pg_lossless_800000_40m_profile")),
    "no buffer of a port": ("BUFFER_PORT_INGRESS_PROFILE_LIST|Ethernet64 profile_list", _edit("BUFFER_PORT_INGRESS_PROFILE_LIST", "Ethernet64", profile_list="ingress_lossless_zero_profile")),
    "a list of lossy profiles": ("BUFFER_PORT_EGRESS_PROFILE_LIST|Ethernet64 profile_list", _edit("BUFFER_PORT_EGRESS_PROFILE_LIST", "Ethernet64", profile_list="egress_lossy_profile")),
    "a list of undefined profiles": ("BUFFER_PORT_EGRESS_PROFILE_LIST|Ethernet64 profile_list", _edit("BUFFER_PORT_EGRESS_PROFILE_LIST", "Ethernet64", profile_list="egress_loss_profile")),
}  # fmt: skip
"""Fault -> beginning of the text of its first row, and edit."""


def _tables() -> Tables:
    tables: Tables = json.loads(build_texts("sonic")["rack002-leaf"]["config_db.json"])
    return tables


def test_every_switch_of_a_sound_fabric_has_no_odd_row() -> None:
    for files in build_texts("sonic").values():
        assert list(find_odd_rows(json.loads(files["config_db.json"]))) == []


@pytest.mark.parametrize("case", CASES)
def test_an_odd_row_is_found_with_its_effect(case: str) -> None:
    start, edit = CASES[case]
    tables = _tables()
    edit(tables)
    found = [each for each in find_odd_rows(tables) if each.text.startswith(start)]
    assert found
    fault = read_contradiction(found[0].text)
    assert fault is not None
    assert fault.name == found[0].key
    assert ", so " in fault.effect


def test_a_long_value_is_cut_and_its_effect_is_found() -> None:
    tables = _tables()
    tables["SYSLOG_SERVER"]["192.0.2.20"].update(severity="none")
    tables["PORT"]["Ethernet64"].update(autoneg="on", adv_speeds="x, so\n" * 9999)
    for found in find_odd_rows(tables):
        assert len(found.text) < 200
        assert read_contradiction(found.text) is not None


def test_the_line_is_that_of_the_item_of_a_list() -> None:
    tables = _tables()
    tables["ACL_TABLE"]["FABRICC_SSH"]["services"] = ["SNMP"]
    tables["SNMP"] = {"LOCATION": {"Location": "x"}}
    text = json.dumps(tables, indent=4)
    (found,) = find_odd_rows(tables)
    line = line_of_keys(text, found.table, found.key, found.field, item=found.item)
    assert text.split("\n")[line - 1].strip() == '"SNMP"'


@pytest.mark.parametrize(
    "edit",
    [
        _rule(DSCP_ACTION="0", IP_PROTOCOL="1"),
        _rule(DSCP_ACTION="0", SRC_IPV6="2001:db8::/32"),
        _rule(DSCP_ACTION="0", L4_DST_PORT_RANGE="1-1024"),
        _both(
            _edit("LOOPBACK_INTERFACE", "Loopback0|FC00:1::32/128"),
            _edit("SYSLOG_SERVER", "192.0.2.20", source="fc00:1::32"),
        ),
        _edit("NTP_SERVER", "2001:DB8::5", resolve_as="2001:db8::5"),
        _both(_edit("NTP", "global", vrf="default"), _drop("NTP", "global", "src_intf")),
        _both(
            lambda tables: tables["SYSLOG_SERVER"].pop("192.0.2.20"),
            _edit("SYSLOG_SERVER", "10.9.0.5", vrf="default"),
        ),
        _both(
            _edit(
                "BUFFER_PROFILE",
                "pg_lossless_800000_5m_gearbox_profile",
                pool="ingress_lossless_pool",
                dynamic_th="0",
            ),
            _edit("BUFFER_PG", "Ethernet64|3", profile="pg_lossless_800000_5m_gearbox_profile"),
        ),
        _edit("DEVICE_METADATA", "localhost", platform="x86_64-arista_7800_sup", hwsku="Arista-7808R3-FM"),
        _edit(
            "DEVICE_METADATA", "localhost", platform="x86_64-ew_es6220_x48q2h4-r0", hwsku="ES6428A-X48Q2H4"
        ),
        _edit("BREAKOUT_CFG", "Ethernet" + "9" * 5000, brkout_mode="9" * 5000 + "x100G"),
        _edit("ACL_TABLE", "X", type="CTRLPLANE", services=[["SSH"]]),
        _both(
            _edit("DEVICE_METADATA", "localhost", type="LeafRouter"),
            _edit(
                "BGP_ALLOWED_PREFIXES", "DEPLOYMENT_ID|0", default_action="deny", prefixes_v4=["10.0.0.0/8"]
            ),
        ),
        _both(
            _edit("TACPLUS_SERVER", "192.0.2.60", passkey="a"), _edit("TACPLUS", "global", src_intf="eth0")
        ),
    ],
)
def test_rows_that_defeat_nothing_are_silent(edit: Callable[[Tables], object]) -> None:
    tables = _tables()
    edit(tables)
    assert [*find_odd_rows(tables)] == []


@pytest.mark.parametrize(
    "value", [None, "text", 5, ["a"], {"row": "text"}, {"row": None}, {"row": {"ports": 5}}]
)
def test_tables_of_a_wrong_form_are_passed_over(value: object) -> None:
    names = (
        "PORT",
        "SSH_SERVER",
        "ACL_TABLE",
        "BUFFER_POOL",
        "BUFFER_PROFILE",
        "PORT_QOS_MAP",
        "WRED_PROFILE",
        "BGP_NEIGHBOR",
        "BGP_PEER_RANGE",
        "NTP",
        "VLAN_INTERFACE",
    )
    assert not any(each.table == "PORT" for each in find_odd_rows(dict.fromkeys(names, value)))
