"""Faults of access and services: who may log in, by which protocols, and which services a switch lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import add, chain_edits, edit_nvue, edit_tables, replace, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _open() -> Fault:
    """Let everybody reach the switch."""
    return {
        "eos": replace(r"10 permit 192\.0\.2\.0/24", "10 permit any"),
        "nxos": replace(r"10 permit ip 192\.0\.2\.0/24 any", "10 permit ip any any"),
        "junos": replace(r"192\.0\.2\.0/24;", "0.0.0.0/0;"),
        "sonic": edit_tables(
            lambda tables: tables["ACL_RULE"]["FABRICC_SSH|RULE_1"].update(SRC_IP="0.0.0.0/0")
        ),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, "acl", "FABRICC-ACCESS", "rule", "20", "match", "ip").update(
                {"source-ip": "0.0.0.0/0"}
            )
        ),
        "frr": replace(r"192\.0\.2\.0/24", "0.0.0.0/0", file="nftables.conf"),
    }


def _remove_access_list() -> Fault:
    """Take away the list that limits access."""
    return {
        "eos": replace(r"^ +ip access-group FABRICC-ACCESS.*\n", ""),
        "nxos": chain_edits(
            replace(r"^  access-class FABRICC-ACCESS in\n", ""),
            replace(r"^  ipv6 access-class FABRICC-ACCESS-V6 in\n", ""),
        ),
        "junos": replace(r"^ +filter \{\n +input PROTECT;\n +\}\n", ""),
        "sonic": edit_tables(
            lambda tables: [
                tables["ACL_TABLE"].pop("FABRICC_SSH"),
                [tables["ACL_RULE"].pop(k) for k in list(tables["ACL_RULE"]) if k.startswith("FABRICC_SSH")],
            ]
        ),
        "cumulus": edit_nvue(lambda tree: walk(tree, "system", "control-plane", "acl").pop("FABRICC-ACCESS")),
        "frr": replace(r"^        (?:iifname \"eth0\" )?tcp dport 22.*\n", "", file="nftables.conf"),
    }


def _enable_telnet() -> Fault:
    return {
        "eos": add("management telnet\n   no shutdown\n   vrf MGMT\n      no shutdown\n", before="^end"),
        "nxos": add("feature telnet\n", before="^feature bgp"),
        "junos": add("        telnet;\n", after=r"^    services \{"),
        "frr": replace(r"-A 127\.0\.0\.1", "-A 0.0.0.0", file="daemons"),
    }


def _add_community() -> Fault:
    return {
        "eos": add("snmp-server community public ro\n", before="^vrf instance"),
        "nxos": add("snmp-server community public group network-operator\n", before="^ntp server"),
        "junos": add(
            "snmp {\n    community public {\n        authorization read-only;\n    }\n}\n", before=r"^chassis"
        ),
        "sonic": edit_tables(lambda tables: tables.update(SNMP_COMMUNITY={"public": {"TYPE": "RO"}})),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, "system", "snmp-server").update(
                {
                    "state": "enabled",
                    "readonly-community": {"public": {"access": {"any": {}}}},
                    "listening-address": {"all": {}},
                }
            )
        ),
    }


def _no_password() -> Fault:
    return {
        "eos": add(
            "username eve privilege 15 role network-admin nopassword\n", before="^username netops privilege"
        ),
        "cumulus": edit_nvue(
            lambda tree: walk(tree, "system", "aaa", "user").update(
                eve={"hashed-password": "", "role": "system-admin"}
            )
        ),
    }


def _no_ntp() -> Fault:
    return {
        "eos": replace(r"^ntp server.*\n", ""),
        "nxos": replace(r"^ntp server.*\n", ""),
        "junos": replace(r"^    ntp \{\n.*\n    \}\n", ""),
        "sonic": edit_tables(lambda tables: tables.pop("NTP_SERVER")),
        "cumulus": edit_nvue(lambda tree: walk(tree, "service").pop("ntp")),
        "frr": replace(r"^NTP=.*\n", "", file="timesyncd.conf"),
    }


def _no_syslog() -> Fault:
    return {
        "eos": replace(r"^logging vrf MGMT host.*\n", ""),
        "nxos": replace(r"^logging server.*\n", ""),
        "junos": replace(r"^        host 192\.0\.2\.20 \{\n(?:.*;\n)+        \}\n", ""),
        "sonic": edit_tables(lambda tables: tables.pop("SYSLOG_SERVER")),
        "cumulus": edit_nvue(lambda tree: walk(tree, "system").pop("syslog")),
        "frr": replace(r"^\*\.\*.*\n", "", file="rsyslog.conf"),
    }


def _no_lldp() -> Fault:
    return {
        "eos": add("no lldp run\n", before="^vrf instance"),
        "nxos": replace(r"^feature lldp\n", ""),
        "junos": replace(r"^    lldp \{\n(?: {8}.*\n)+    \}\n", ""),
        "sonic": edit_tables(lambda tables: tables.update(FEATURE={"lldp": {"state": "disabled"}})),
        "cumulus": edit_nvue(lambda tree: walk(tree, "service", "lldp").update(state="disabled")),
        "frr": replace(
            r"^(configure lldp tx-interval)", r"configure lldp status disabled\n\1", file="lldpd.conf"
        ),
    }


def _not_isolated() -> Fault:
    return {
        "eos": replace(r"(interface Management1\n)   vrf MGMT\n", r"\1"),
        "junos": replace(r"^    management-instance;\n", ""),
        "sonic": edit_tables(lambda tables: tables.pop("MGMT_VRF_CONFIG")),
        "cumulus": edit_nvue(lambda tree: tree["interface"]["eth0"]["ip"].pop("vrf")),
        "frr": replace(r"^    (?:ip-forward off|ip6-forward off|up ip.*)\n", "", file="interfaces"),
    }


def _in_fabric(eos: str) -> Callable[[Files], Files]:
    """Let a service of EOS answer in the VRF of the fabric."""
    return add(f"{eos}\n!\n", before="^aaa authorization")


KINDS: dict[str, tuple[str, Fault]] = {
    "API in the VRF of the fabric": ("tor", {
        "eos": _in_fabric("management api http-commands\n   vrf default\n      no shutdown"),
        "nxos": replace(r"^nxapi use-vrf management\n", "")}),
    "API without a list": ("tor", {
        "eos": replace(r"^      ip access-group FABRICC-ACCESS\n", ""),
        "nxos": replace(r"^  ip access-group FABRICC-API in\n", "")}),
    "API list that permits everyone": ("tor", {
        "nxos": replace(r"^(  20) deny tcp any any eq 443", r"\1 permit tcp any any eq 443")}),
    "NETCONF in the VRF of the fabric": ("tor", {
        "eos": _in_fabric("management api netconf\n   transport ssh default")}),
    "gNMI in the VRF of the fabric": ("tor", {
        "eos": _in_fabric("management api gnmi\n   transport grpc default"),
        "nxos": add("feature grpc\ngrpc use-vrf default\n", before="^line vty")}),
    "SSH in the VRF of the fabric": ("tor", {
        "eos": replace(r"^(management ssh\n(?:   ip.*\n)*   )shutdown\n", r"\1no shutdown\n")}),
    "log server without its VRF": ("tor", {"nxos": replace(r"^(logging server .*) use-vrf management", r"\1")}),
    "access from everywhere": ("tor", _open()),
    "access without a list": ("tor", _remove_access_list()),
    "telnet": ("tor", _enable_telnet()),
    "SNMP community public": ("tor", _add_community()),
    "user without password": ("tor", _no_password()),
    "no NTP server": ("tor", _no_ntp()),
    "no syslog server": ("tor", _no_syslog()),
    "no LLDP": ("tor", _no_lldp()),
    "management not isolated": ("tor", _not_isolated()),
}  # fmt: skip
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system."""
