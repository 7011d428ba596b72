"""The tables of management services: who may log in, TACACS+, SNMP, gNMI and LLDP; written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.back.nos.sonic.document import Row, Table, Tables
    from fabricc.back.nos.sonic.reader import Source
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Management, Switch

SERVICES = {"SSH": "FABRICC_SSH", "SNMP": "FABRICC_SNMP", "EXTERNAL_CLIENT": "FABRICC_GNMI"}
"""Services that `caclmgrd` guards -> name of the access list; gNMI is an external client on its port."""
FIRST_PRIORITY = 9999
DROP_RULE = "DEFAULT_RULE"
DROP_PRIORITY = 1
IPV4 = "0x0800"
AAA_LOGIN = "tacacs+,local"
AAA_KINDS = ("authentication", "accounting")
DEFAULT_LLDP_S = 30
LLDP_HOLD = 4  # announcements that may be lost until a neighbour forgets, IEEE 802.1AB msgTxHold
LLDP_RANGE_S = (5, 254)  # sonic-lldp.yang, hello_time
CERTIFICATES = {
    "ca_crt": "/etc/sonic/telemetry/dsmsroot.cer",
    "server_crt": "/etc/sonic/telemetry/streamingtelemetryserver.cer",
    "server_key": "/etc/sonic/telemetry/streamingtelemetryserver.key",
}
"""Where the gNMI container looks for its certificates (sonic-gnmi.yang; sonic-buildimage, gnmi-native.sh)."""


def service_tables(management: Management) -> Tables:
    """The tables; those of services that are off are empty."""
    tacacs, snmp = management.tacacs, management.snmp
    tables: Tables = {
        "TACPLUS": {"global": {"passkey": tacacs.key}} if tacacs else {},
        "TACPLUS_SERVER": _tacacs_servers(tacacs.servers) if tacacs else {},
        "AAA": _aaa() if tacacs else {},
        "SNMP": {},
        "SNMP_COMMUNITY": {snmp.community: {"TYPE": "RO"}} if snmp else {},
        "SNMP_AGENT_ADDRESS_CONFIG": (
            {f"{management.address.partition('/')[0]}|161|mgmt": {}} if snmp else {}
        ),
        "GNMI": _gnmi(management.gnmi_port) if management.gnmi_port is not None else {},
        "LLDP": {},
        "ACL_TABLE": {},
        "ACL_RULE": {},
    }
    if snmp and snmp.location:
        tables["SNMP"]["LOCATION"] = {"Location": snmp.location}
    if snmp and snmp.contact:
        tables["SNMP"]["CONTACT"] = {"Contact": snmp.contact}
    if management.lldp_interval_s != DEFAULT_LLDP_S:
        hello = {"hello_time": str(management.lldp_interval_s), "multiplier": str(LLDP_HOLD)}
        tables["LLDP"]["GLOBAL"] = {**hello}
    for service in guarded(management):
        _guard(tables, service, management)
    return tables


def guarded(management: Management) -> list[str]:
    """The services that only the access networks may ask."""
    on = {
        "SSH": True,
        "SNMP": management.snmp is not None,
        "EXTERNAL_CLIENT": management.gnmi_port is not None,
    }
    return [service for service in SERVICES if on[service] and management.access]


def _tacacs_servers(servers: tuple[str, ...]) -> Table:
    """Asked from the highest priority down (`hostcfgd`)."""
    count = len(servers)
    return {
        server: {"priority": str(count - index), "tcp_port": "49", "vrf": "mgmt"}
        for index, server in enumerate(servers)
    }


def _aaa() -> Table:
    """Local accounts serve when no server answers; one that a server refuses is refused (`common-auth-sonic.j2`).

    `failthrough` would let a refused user try the local accounts, `authorization` ask the servers for every command.
    """
    return {kind: {"login": AAA_LOGIN} for kind in AAA_KINDS}


def _gnmi(port: int) -> Table:
    return {
        "certs": {**CERTIFICATES},
        "gnmi": {"client_auth": "true", "log_level": "2", "port": str(port)},
    }


def _guard(tables: Tables, service: str, management: Management) -> None:
    name = SERVICES[service]
    tables["ACL_TABLE"][name] = {
        "policy_desc": f"who may ask {service}",
        "services": [service],
        "stage": "ingress",
        "type": "CTRLPLANE",
    }
    port: Row = {"L4_DST_PORT": str(management.gnmi_port)} if service == "EXTERNAL_CLIENT" else {}
    for index, network in enumerate(management.access):
        tables["ACL_RULE"][f"{name}|RULE_{index + 1}"] = {
            "ETHER_TYPE": IPV4,
            "PACKET_ACTION": "ACCEPT",
            "PRIORITY": str(FIRST_PRIORITY - index),
            "SRC_IP": network,
            **port,
        }
    tables["ACL_RULE"][f"{name}|{DROP_RULE}"] = {
        "ETHER_TYPE": IPV4,
        "PACKET_ACTION": "DROP",
        "PRIORITY": str(DROP_PRIORITY),
        **port,
    }


def service_facts(switch: Switch) -> Facts:
    """What the tables state beyond the common settings."""
    management = switch.management
    facts: Facts = {}
    if management.tacacs:
        facts |= {f"aaa[{kind}]": AAA_LOGIN for kind in AAA_KINDS}
    if management.snmp:
        facts["snmp/address"] = management.address.partition("/")[0]
    if management.gnmi_port is not None:
        facts["gnmi/certificates"] = ",".join(CERTIFICATES.values())
    if management.lldp_interval_s != DEFAULT_LLDP_S:
        facts["lldp/hold_intervals"] = LLDP_HOLD
    for service in guarded(management):
        facts[f"access[{service}]"] = ",".join(sorted(management.access))
    return facts


def read_services(source: Source) -> None:
    """Every fact of the services."""
    _read_tacacs(source)
    _read_snmp(source)
    _read_gnmi(source)
    _read_lldp(source)
    _read_access(source)


def _read_tacacs(source: Source) -> None:
    for field, value in source.fields("TACPLUS", "global"):
        if field == "passkey":
            source.put("management/tacacs/secret", value, "TACPLUS", "global", field)
    if servers := source.rows("TACPLUS_SERVER"):
        ranks = {name: int(rank) if (rank := str(row.get("priority", "1"))).isdecimal() else 0
                 for name, row in servers.items()}  # fmt: skip
        order = sorted(servers, key=lambda name: -ranks[name])
        source.put("management/tacacs/servers", ",".join(order), "TACPLUS_SERVER", order[-1], "priority")
    for kind, row in source.rows("AAA").items():
        value = str(row.get("login", ""))
        if row.get("failthrough") == "True":
            value += " failthrough"
        source.put(f"aaa[{kind}]", value, "AAA", kind, "login")


def _read_snmp(source: Source) -> None:
    for row, field in (("LOCATION", "Location"), ("CONTACT", "Contact")):
        for name, value in source.fields("SNMP", row):
            if name == field:
                source.put(f"management/snmp/{field.lower()}", value, "SNMP", row, field)
    if names := sorted(source.rows("SNMP_COMMUNITY")):
        source.put("management/snmp/secret", ",".join(names), "SNMP_COMMUNITY", names[0])
    for key in source.rows("SNMP_AGENT_ADDRESS_CONFIG"):
        address, _, rest = key.partition("|")
        if rest == "161|mgmt":
            source.put("snmp/address", address, "SNMP_AGENT_ADDRESS_CONFIG", key)
        else:
            source.strange(f"SNMP_AGENT_ADDRESS_CONFIG|{key}", "SNMP_AGENT_ADDRESS_CONFIG", key)


def _read_gnmi(source: Source) -> None:
    certificates = dict(source.fields("GNMI", "certs"))
    if certificates:
        value = ",".join(certificates.get(field, "") for field in CERTIFICATES)
        source.put("gnmi/certificates", value, "GNMI", "certs")
    for field, value in source.fields("GNMI", "gnmi"):
        if field == "port":
            port = int(value) if value.isdecimal() else value
            source.put("management/gnmi_port", port, "GNMI", "gnmi", field)
    client = source.rows("GNMI").get("gnmi")
    if client is not None and client.get("client_auth") != "true":
        text = f"GNMI|gnmi client_auth: {client.get('client_auth', 'not stated')}"
        source.strange(text, "GNMI", "gnmi", "client_auth")


def _read_lldp(source: Source) -> None:
    stated = dict(source.fields("LLDP", "GLOBAL"))
    hello = stated.get("hello_time", str(DEFAULT_LLDP_S))
    source.put("lldp/interval_s", int(hello) if hello.isdecimal() else hello, "LLDP", "GLOBAL", "hello_time")
    if hold := stated.get("multiplier"):
        value = int(hold) if hold.isdecimal() else hold
        source.put("lldp/hold_intervals", value, "LLDP", "GLOBAL", "multiplier")


def _read_access(source: Source) -> None:
    """A service's networks are stated when all others are dropped after them, on the right port."""
    for name, table in source.rows("ACL_TABLE").items():
        services = table.get("services", [])
        for service in services if isinstance(services, list) else ():
            value = _permitted(source, name, service)
            source.put(f"access[{service}]", value, "ACL_TABLE", name)
            if service == "SSH":
                source.put("management/access", value, "ACL_TABLE", name)
    known = source.rows("ACL_TABLE")
    for key in source.rows("ACL_RULE"):
        if key.partition("|")[0] not in known:
            source.strange(f"ACL_RULE|{key} of no table", "ACL_RULE", key)


def _permitted(source: Source, table: str, service: str) -> str:
    port = source.reading.facts.get("management/gnmi_port") if service == "EXTERNAL_CLIENT" else None
    wanted = None if port is None else str(port)
    networks, dropped = [], False
    rules = {k: r for k, r in source.rows("ACL_RULE").items() if k.partition("|")[0] == table}
    for key, rule in sorted(rules.items(), key=lambda each: -_rank(each[1])):
        if rule.get("L4_DST_PORT") != wanted or rule.get("ETHER_TYPE") != IPV4 or not _rank(rule) or dropped:
            source.strange(f"ACL_RULE|{key}: not as planned", "ACL_RULE", key)
        elif rule.get("PACKET_ACTION") == "ACCEPT" and "SRC_IP" in rule:
            networks.append(str(rule["SRC_IP"]))
        elif rule.get("PACKET_ACTION") == "DROP" and "SRC_IP" not in rule:
            dropped = True
        else:
            source.strange(f"ACL_RULE|{key}: not as planned", "ACL_RULE", key)
    return ",".join(sorted(networks)) + ("" if dropped else ", and everyone else")


def _rank(rule: Row) -> int:
    """A rule's priority, the highest first; 0 for one that states none, which `caclmgrd` cannot take."""
    text = str(rule.get("PRIORITY", "0"))
    return int(text) if text.isdecimal() else 0
