"""Identity and management services of SONiC: logins, servers, access; and the hash fields of the ASIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.sonic.limits import release_of
from fabricc.back.nos.sonic.words import CERTIFICATES, DEFAULT_LLDP_S, ROLES, Platform
from fabricc.fabric.facts import Facts, setting_facts

if TYPE_CHECKING:
    from fabricc.back.nos.sonic.config_db import Row, Table, Tables
    from fabricc.fabric.model import Management, SnmpUser, Switch

SERVICES = {"SSH": "FABRICC_SSH", "SNMP": "FABRICC_SNMP", "EXTERNAL_CLIENT": "FABRICC_GNMI"}
"""Services that `caclmgrd` guards -> name of the access list; gNMI is an external client on its port."""
FIRST_PRIORITY = 9999
DROP_RULE = "DEFAULT_RULE"
DROP_PRIORITY = 1
IPV4 = "0x0800"
AAA = {
    "tacacs": {"authentication": "tacacs+,local", "accounting": "tacacs+,local"},
    "radius": {"authentication": "radius,local"},
}
"""Protocol -> the methods of each row; `hostcfgd` has authorization and accounting by TACACS+ alone."""
LLDP_HOLD = 4  # announcements that may be lost until a neighbor forgets, IEEE 802.1AB msgTxHold
SNMP_USER: Row = {
    "SNMP_USER_TYPE": "Priv",
    "SNMP_USER_PERMISSION": "RO",
    "SNMP_USER_AUTH_TYPE": "SHA",
    "SNMP_USER_ENCRYPTION_TYPE": "AES",
}
"""Fields of every SNMPv3 user (sonic-snmp.yang; `CreateUser` of docker-snmp's snmpd.conf.j2)."""
HASH_FIELDS = ("SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT")
CONVENTIONS = {
    "buffer_model": "traditional", "docker_routing_config_mode": "split-unified",
    "frr_mgmt_framework_config": "false", "synchronous_mode": "enable", "suppress-fib-pending": "disabled",
    "default_pfcwd_status": "disable",
}  # fmt: skip
"""Fields of `DEVICE_METADATA` that are the same on every switch: frr.conf and the buffer rows are fabricc's own."""

_UNWRITTEN = ("management/ntp_key", "management/syslog_", "management/snmp_trap[")
DEPARTURES = (
    Departure("user[*]/*", LEFT_OUT, "CONFIG_DB has no table for accounts or SSH keys (FAB5310)"),
    Departure("management/ntp_key*", LEFT_OUT, "NTP_KEY holds keys in base64 (FAB5841)"),
    Departure("management/syslog_*", LEFT_OUT, "SYSLOG_SERVER has UDP and TCP only (FAB5841)"),
    Departure("management/snmp_trap[*]/user", LEFT_OUT, "SNMP_TRAP_CONFIG has no users (FAB5841)"),
    Departure("load_balancing/*", LEFT_OUT, "no release has more than the hash of flows (FAB5324)"),
)


# --- what SONiC makes of the Fabric's statements ------------------------------------------------------


def identity_tables(switch: Switch) -> Tables:
    """Return what the switch is, and of which release its file is."""
    platform = Platform.of(switch.model)
    row: Row = {
        "hostname": switch.name, "hwsku": platform.hwsku, "platform": platform.platform,
        "type": ROLES[switch.tier_index], "bgp_asn": str(switch.bgp.asn), **CONVENTIONS,
    }  # fmt: skip
    versions: Row = {"VERSION": release_of(switch).schema}
    return {"DEVICE_METADATA": {"localhost": row}, "VERSIONS": {"DATABASE": versions}}


def service_tables(management: Management) -> Tables:
    """Return the services; tables of those that are off are empty."""
    tacacs, radius, snmp = management.tacacs, management.radius, management.snmp
    guards = guarded_services(management)
    return {
        "NTP": {"global": {"admin_state": "enabled", "src_intf": "eth0", "vrf": "mgmt"}}
        if management.ntp
        else {},
        "NTP_SERVER": {
            server: {"association_type": "server", "iburst": "on", "resolve_as": server}
            for server in management.ntp
        },
        "DNS_NAMESERVER": {server: {} for server in management.dns},
        "SYSLOG_SERVER": {
            server: {"port": "514", "protocol": "udp", "severity": "notice", "vrf": "mgmt"}
            for server in management.syslog
        },
        "TACPLUS": {"global": {"passkey": tacacs.key}} if tacacs else {},
        "TACPLUS_SERVER": _tacacs_servers(tacacs.servers) if tacacs else {},
        "RADIUS": {"global": {"passkey": radius.key}} if radius else {},
        "RADIUS_SERVER": _radius_servers(radius.servers) if radius else {},
        "AAA": {kind: {"login": login} for kind, login in _login_fields(management).items()},
        "SNMP": {key.upper(): {key: text} for key, text in _snmp_texts(management).items()},
        "SNMP_COMMUNITY": {snmp.community: {"TYPE": "RO"}} if snmp and snmp.community else {},
        "SNMP_USER": {user.name: _snmp_user(user) for user in management.snmp_users},
        "SNMP_AGENT_ADDRESS_CONFIG": {f"{_snmp_address(management)}|161|mgmt": {}} if snmp else {},
        "GNMI": _gnmi_table(management.gnmi_port) if management.gnmi_port is not None else {},
        "LLDP": _lldp_table(management.lldp_interval_s),
        "ACL_TABLE": {SERVICES[service]: _access_list(service) for service in guards},
        "ACL_RULE": {
            key: rule for service in guards for key, rule in _rule_table(service, management).items()
        },
    }


def banner_tables(management: Management) -> Tables:
    """Return the lines before a login."""
    if not management.banner:
        return {}
    return {"BANNER_MESSAGE": {"global": {"state": "enabled", "login": management.banner}}}


def hash_tables() -> Tables:
    """Return what the ASIC hashes of a packet."""
    return {"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": list(HASH_FIELDS)}}}


def guarded_services(management: Management) -> list[str]:
    """Return the services that only the access networks may reach."""
    on = {
        "SSH": True,
        "SNMP": management.snmp is not None,
        "EXTERNAL_CLIENT": management.gnmi_port is not None,
    }
    return [service for service in SERVICES if on[service] and management.access]


def _tacacs_servers(servers: tuple[str, ...]) -> Table:
    """Used from the highest priority down (`hostcfgd`)."""
    count = len(servers)
    return {
        server: {"priority": str(count - index), "tcp_port": "49", "vrf": "mgmt"}
        for index, server in enumerate(servers)
    }


def _radius_servers(servers: tuple[str, ...]) -> Table:
    """Return the servers, used from the highest priority down.

    `hostcfgd` takes an IPv4 address of `src_intf` for every server, so the VRF alone chooses the source.
    """
    count = len(servers)
    return {
        server: {"priority": str(count - index), "auth_port": "1812", "vrf": "mgmt"}
        for index, server in enumerate(servers)
    }


def _login_fields(management: Management) -> dict[str, str]:
    """Local accounts serve when no server answers; one that a server refuses is refused (`common-auth-sonic.j2`).

    `failthrough` would let a refused user try the local accounts, `authorization` would contact the servers for every
    command.
    """
    return AAA[management.login[0]] if management.login else {}


def _snmp_texts(management: Management) -> dict[str, str]:
    snmp = management.snmp
    texts = {"Location": snmp.location, "Contact": snmp.contact} if snmp else {}
    return {key: text for key, text in texts.items() if text}


def _snmp_user(user: SnmpUser) -> Row:
    return {
        **SNMP_USER,
        "SNMP_USER_AUTH_PASSWORD": user.auth,
        "SNMP_USER_ENCRYPTION_PASSWORD": user.privacy,
    }


def _snmp_address(management: Management) -> str:
    return management.address.partition("/")[0]


def _gnmi_table(port: int) -> Table:
    return {"certs": {**CERTIFICATES}, "gnmi": {"client_auth": "true", "log_level": "2", "port": str(port)}}


def _lldp_table(interval_s: int) -> Table:
    if interval_s == DEFAULT_LLDP_S:
        return {}
    return {"GLOBAL": {"hello_time": str(interval_s), "multiplier": str(LLDP_HOLD)}}


def _access_list(service: str) -> Row:
    return {
        "policy_desc": f"who may ask {service}",
        "services": [service],
        "stage": "ingress",
        "type": "CTRLPLANE",
    }


def _rule_table(service: str, management: Management) -> Table:
    """Return a rule for each network, and at last one that drops."""
    name = SERVICES[service]
    port: Row = {"L4_DST_PORT": str(management.gnmi_port)} if service == "EXTERNAL_CLIENT" else {}
    rows: Table = {
        f"{name}|RULE_{index + 1}": {
            "ETHER_TYPE": IPV4,
            "PACKET_ACTION": "ACCEPT",
            "PRIORITY": str(FIRST_PRIORITY - index),
            "SRC_IP": network,
            **port,
        }
        for index, network in enumerate(management.access)
    }
    drop: Row = {"ETHER_TYPE": IPV4, "PACKET_ACTION": "DROP", "PRIORITY": str(DROP_PRIORITY), **port}
    return {**rows, f"{name}|{DROP_RULE}": drop}


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the settings that SONiC expresses, the identity of the switch, and further facts of its services."""
    management, platform = switch.management, Platform.of(switch.model)
    for path in [path for path in facts if path.startswith("user[")]:
        del facts[path]
    for path, value in setting_facts(switch).items():
        if path.startswith(("management/", "lldp/")) and not path.startswith(_UNWRITTEN):
            facts[path] = value
    facts["system/hwsku"] = platform.hwsku
    facts["system/platform"] = platform.platform
    facts["system/type"] = ROLES[switch.tier_index]
    facts |= {f"aaa[{kind}]": login for kind, login in _login_fields(management).items()}
    if management.snmp:
        facts["snmp/address"] = _snmp_address(management)
    if management.gnmi_port is not None:
        facts["gnmi/certificates"] = ",".join(CERTIFICATES.values())
    if _lldp_table(management.lldp_interval_s):
        facts["lldp/hold_intervals"] = LLDP_HOLD
    facts |= {
        f"access[{service}]": ",".join(sorted(management.access)) for service in guarded_services(management)
    }
