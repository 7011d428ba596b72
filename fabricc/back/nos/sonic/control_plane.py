"""The access to a SONiC switch itself: control-plane access lists for every service, and their reader.

`caclmgrd` (sonic-host-services) turns these lists into iptables rules. Without any list it drops what arrives for the
even address of a /31, BFD with it, and answers GPU hosts at the odd one. With a list it accepts ICMP, DHCP and BGP,
then the rules of the lists, and drops all else, IPv6 too. BFD of FRR is no service of its own, so links to other
switches are let in whole. Lists come with 202505: before, caclmgrd does not read the port of a rule, and no bfdd runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from ipaddress import IPv4Interface, IPv6Interface, collapse_addresses, ip_interface
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back.nos.sonic.config_db import (
    Row,
    Table,
    Tables,
    line_of_keys,
    report_strange,
    rows_of,
    value_of,
)
from fabricc.back.nos.sonic.limits import KEEPING_OUT, has
from fabricc.back.nos.sonic.odd_rows import odd_field, odd_lack, table_rows
from fabricc.base.documents.document import clip
from fabricc.base.numbers import whole_number
from fabricc.fabric.model import Direction, Switch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.back.nos.sonic.odd_rows import OddRow, Rows
    from fabricc.back.reading import Document, Scope
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.routing import Session

LISTS = {4: "FABRICC_ANY", 6: "FABRICC_ANY6"}
"""Names of the lists for every service, by IP version: a list has one."""
SERVICE = "ANY"
SOURCE = {4: "SRC_IP", 6: "SRC_IPV6"}
FRONT_PORTS = "Ethernet+"
"""All ports of the front panel: iptables reads `+` as any ending, and the model takes any text."""
LINK_LOCAL = "fe80::/10"
ETHER_TYPE = {4: "0x0800", 6: "0x86DD"}
FIRST_PRIORITY, LAST_PRIORITY = 9999, 1
LAST_RULE = "DEFAULT_RULE"
_EVERYONE = "everyone else"


class Rule(NamedTuple):
    """One rule: the network and the port that it matches, "" for any, and what happens."""

    network: str
    port: str
    action: str


def _to_switches(switch: Switch) -> list[Session]:
    hosts = {port.name for port in switch.ports if port.direction is Direction.HOST}
    return [session for session in switch.bgp.sessions if session.port not in hosts]


def _bfd_sources(run: Switch, version: int) -> list[Rule]:
    """Return the far ends of BGP sessions with BFD: as few networks as possible, and unnumbered ports."""
    if run.bgp.bfd_interval_ms is None:
        return []
    sessions = _to_switches(run)
    numbered = {session.port for session in sessions if session.remote is not None}
    texts = (port.ipv4 if version == 4 else port.ipv6 for port in run.ports if port.name in numbered)
    networks = collapse_addresses(ip_interface(text).network for text in texts if text)  # type: ignore[type-var]
    found = [Rule(str(network), "", "ACCEPT") for network in networks]
    if version == 6:
        found += [Rule(LINK_LOCAL, one.port, "ACCEPT") for one in sessions if one.remote is None]
    return found


def joined_networks(run: Switch) -> tuple[str, ...]:
    """Return the networks of several links that rules of the lists contain."""
    rules = [rule for version in LISTS for rule in _ordered_rules(run, version)]
    return tuple(rule.network for rule in rules if rule.network and not rule.port)


def _ordered_rules(run: Switch, version: int) -> list[Rule]:
    """Return the rules in the order of evaluation."""
    if not has(run, KEEPING_OUT):
        return []
    found = _bfd_sources(run, version)
    if version == 4 and not run.management.access:
        found += [Rule("", FRONT_PORTS, "DROP"), Rule("", "", "ACCEPT")]
    return found


def control_plane_tables(run: Switch) -> Tables:
    """Return the lists of a switch as it is run, and their rules."""
    lists: Table = {}
    rules: Table = {}
    for version, name in LISTS.items():
        rows = _ordered_rules(run, version)
        if not rows:
            continue
        lists[name] = {
            "services": [SERVICE],
            "type": "CTRLPLANE",
        }
        for index, rule in enumerate(rows):
            row: Row = {"ETHER_TYPE": ETHER_TYPE[version], "PACKET_ACTION": rule.action}
            if rule.port:
                row["IN_PORTS"] = rule.port
            if rule.network:
                row[SOURCE[version]] = rule.network
            last = not rule.port and not rule.network
            row["PRIORITY"] = str(LAST_PRIORITY if last else FIRST_PRIORITY - index)
            rules[f"{name}|{LAST_RULE if last else f'RULE_{index + 1}'}"] = row
    return {"ACL_TABLE": lists, "ACL_RULE": rules}


def state(facts: Facts, run: Switch) -> None:
    """Add the facts of the lists."""
    for version, name in LISTS.items():
        if rules := _ordered_rules(run, version):
            facts[f"control_plane[{name}]"] = _rules_text(rules)


def _rules_text(rules: Iterable[Rule]) -> str:
    """Return the rules in order: `10.64.0.0/27 ACCEPT, by Ethernet+ DROP, everyone else ACCEPT`."""
    return ", ".join(
        " ".join([*filter(None, [rule.network, rule.port and f"by {rule.port}"])] or [_EVERYONE])
        + f" {rule.action}"
        for rule in rules
    )


def read_list(document: Document, name: str, row: Scope, rules: Iterable[tuple[str, Scope]]) -> None:
    """State a list for every service; a rule that matches more than source and port is reported as unknown."""
    found = []
    ours = name in LISTS.values()
    for index, (key, rule) in enumerate(sorted(rules, key=lambda each: -_rule_priority(each[1]))):
        source = next((field for field in SOURCE.values() if field in rule.values), "")
        version = next((number for number, field in SOURCE.items() if field == source), None)
        types = [ETHER_TYPE[version]] if version else list(ETHER_TYPE.values())
        matches = rule.values.keys() - {"ETHER_TYPE", "PACKET_ACTION", "PRIORITY", "IN_PORTS", source}
        last = not source and "IN_PORTS" not in rule.values
        planned = LAST_PRIORITY if last else FIRST_PRIORITY - index
        numbered = _rule_priority(rule) == planned if ours else _rule_priority(rule)
        if matches or value_of(rule, "ETHER_TYPE") not in types or not numbered:
            report_strange(document, rule.line, f"ACL_RULE|{key}: not as planned")
        network = value_of(rule, source) if source else ""
        port = value_of(rule, "IN_PORTS") if "IN_PORTS" in rule.values else ""
        found.append(Rule(network, port, value_of(rule, "PACKET_ACTION")))
    document.put(f"control_plane[{name}]", _rules_text(found), row.line)


def _rule_priority(rule: Scope) -> int:
    return whole_number(value_of(rule, "PRIORITY", "0")) or 0


def lists_of(document: Document) -> dict[str, Scope]:
    """Return the lists of the control plane that a device has for every service."""
    return {
        name: row
        for name, row in rows_of(document, "ACL_TABLE").items()
        if value_of(row, "type", "CTRLPLANE") == "CTRLPLANE"
        and SERVICE in value_of(row, "services").split(",")
    }


_BFD = re.compile(r"bgp/neighbor\[([0-9a-fA-F.:]+)\]/bfd")
_ADDRESS = re.compile(r"interface\[([^]]+)\]/ipv[46]")


def find_dropped_bfd(
    raw: Mapping[str, Any], reading: Reading
) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield path, neighbor and reason of each session whose BFD packets `caclmgrd` drops, and the keys of the rule.

    Args:
        raw: `config_db.json` as parsed.
        reading: the facts of both files.
    """
    sessions = [
        (path, match[1])
        for path, value in reading.facts.items()
        if value == "true" and (match := _BFD.fullmatch(path))
    ]
    if not sessions:
        return
    rules = sorted(_service_rules(raw), key=lambda each: -each[0])
    by_version = {version: [rule for _, own, rule in rules if version in own] for version in LISTS}
    has_list = any(True for _ in _control_plane_rules(raw))
    ports = {}
    for path, value in reading.facts.items():
        if (match := _ADDRESS.fullmatch(path)) and (own := _parse_address(str(value))):
            ports[own.network] = (match[1], own)
    lengths = {(network.version, network.prefixlen) for network in ports}
    for path, neighbor in sessions:
        far = _parse_address(neighbor)
        if far is None:
            continue
        fitting = (length for version, length in lengths if version == far.version)
        near = (ports.get(ip_interface((far.ip, length)).network) for length in fitting)
        for port, own in filter(None, near):
            why, rule = _explain_drop(far, port, own, by_version[far.version], has_list=has_list)
            if why:
                yield path, neighbor, why, _keys_of_rule(raw, rule)


def _keys_of_rule(raw: Mapping[str, Any], rule: Rule | None) -> tuple[str, ...]:
    """Return table, key and field by which a rule drops, or passes other packets; none without a rule."""
    if rule is None:
        return ()
    for key, row in raw["ACL_RULE"].items():
        if isinstance(row, dict) and row.get("PACKET_ACTION") == rule.action:
            field = next((each for each in SOURCE.values() if row.get(each) == rule.network), "")
            if field:
                return "ACL_RULE", key, field if rule.action == "ACCEPT" else "PACKET_ACTION"
    return ()


def _parse_address(text: str) -> IPv4Interface | IPv6Interface | None:
    try:
        return ip_interface(text)
    except ValueError:
        return None


def _explain_drop(
    far: IPv4Interface | IPv6Interface,
    port: str,
    own: IPv4Interface | IPv6Interface,
    rules: Iterable[Rule],
    *,
    has_list: bool,
) -> tuple[str, Rule | None]:
    """Return why BFD packets of a neighbor do not arrive, "" where they do, and the rule that decides.

    Without a list, caclmgrd drops what is for the first address of a network, of a VLAN for its first host.
    """
    for rule in rules:
        near = _parse_address(rule.network)
        is_here = not rule.port or fnmatchcase(port, rule.port.replace("+", "*"))
        if is_here and (not rule.network or (near is not None and far.ip in near.network)):
            return "" if rule.action == "ACCEPT" else "a control-plane list drops it", rule
    if has_list:
        others = (rule for rule in rules if rule.action == "ACCEPT" and rule.network)
        return "control-plane lists drop what no list accepts", next(others, None)
    blocked = next(own.network.hosts()) if port.startswith("Vlan") else own.network.network_address
    return f"caclmgrd drops it at {own.ip} without a list" if own.ip == blocked else "", None


def _control_plane_rules(
    raw: Mapping[str, Any], service: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield list and rule of control-plane lists, of one service or of any."""
    lists, rows = raw.get("ACL_TABLE"), raw.get("ACL_RULE")
    if not isinstance(lists, dict) or not isinstance(rows, dict):
        return
    for key, rule in rows.items():
        name = key.partition("|")[0]
        own = lists.get(name)
        if isinstance(own, dict) and isinstance(rule, dict) and own.get("type") == "CTRLPLANE":
            services = own.get("services")
            if not service or (isinstance(services, list) and service in services):
                yield name, rule


def _service_rules(raw: Mapping[str, Any]) -> Iterator[tuple[int, frozenset[int], Rule]]:
    """Yield priority, IP versions and rule of the lists for every service: iptables and ip6tables have their own."""
    rules = [*_control_plane_rules(raw, SERVICE)]
    of_list: defaultdict[str, set[int]] = defaultdict(set)
    for name, rule in rules:
        of_list[name] |= _versions_of(rule)
    for name, rule in rules:
        network = str(rule.get("SRC_IP") or rule.get("SRC_IPV6") or "")
        port, action = str(rule.get("IN_PORTS") or ""), str(rule.get("PACKET_ACTION"))
        versions = frozenset(_versions_of(rule) or of_list[name] or LISTS)
        yield whole_number(str(rule.get("PRIORITY"))) or 0, versions, Rule(network, port, action)


def _versions_of(rule: Mapping[str, Any]) -> set[int]:
    """Return the IP version that a rule states by its source or Ethernet type; none without either."""
    stated = str(rule.get("ETHER_TYPE")).lower()
    return {
        version
        for version, field in SOURCE.items()
        if rule.get(field) or stated == ETHER_TYPE[version].lower()
    }


_TRAPS = {
    "bgp": "queue4_group1", "bfd": "", "arp_req": "queue4_group2", "lldp": "queue4_group3", "ip2me": "queue1_group1",
}  # fmt: skip
"""Services of the CPU -> the group of their trap in copp_cfg.json of the image, where CONFIG_DB has no own trap."""


_LEAST = 10
"""Packets per second below which the neighbors of a switch of a fabric are lost; the image has 600 and more."""


def dropping_groups(text: str, tables: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield each service whose packets a group of CoPP drops before they reach the CPU, and the line of the reason.

    A group drops by its action, by that of its green packets, or at a rate near 0 whose red packets it drops; CONFIG_DB
    overrides the rows of the image (sonic-copp.yang, files/image_config/copp/copp_cfg.j2 of sonic-buildimage).
    """
    traps, groups = tables.get("COPP_TRAP"), tables.get("COPP_GROUP")
    if not isinstance(groups, dict):
        return
    rows = [row for row in traps.values() if isinstance(row, dict)] if isinstance(traps, dict) else []
    for service, group in _TRAPS.items():
        own = [row for row in rows if service in str(row.get("trap_ids", "")).split(",")]
        name = str(own[0].get("trap_group", group)) if own else group
        row = groups.get(name)
        if not isinstance(row, dict):
            continue
        drops = {each for each in ("trap_action", "green_action") if row.get(each) == "drop"}
        rate = whole_number(str(row.get("cir")))
        if row.get("red_action") == "drop" and rate is not None and rate < _LEAST:
            drops.add("cir")
        if drops:
            yield service, line_of_keys(text, "COPP_GROUP", name, min(drops))


_SSH = "22"
_REMOTE = {"tacacs+": "TACPLUS", "radius": "RADIUS"}
_LISTED = ("SSH", "SNMP", "NTP")
_SERVICES = (*_LISTED, "EXTERNAL_CLIENT", "ANY")
"""Services of control-plane lists; caclmgrd passes over all others (sonic-host-services, ACL_SERVICES)."""
_WORDS = re.compile(r"[A-Z]+")
_UNCHECKED = (
    ("TELEMETRY", "client_auth", "false"), ("GNMI", "client_auth", "false"), ("RESTAPI", "client_auth", "false"),
    ("RESTAPI", "allow_insecure", "true"),
)  # fmt: skip
"""Settings by which an interface accepts clients without a certificate (restapi.sh, gnmi-native.sh)."""


def find_odd_access(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield rows by which a list protects nothing, nobody logs in, or everybody reads."""
    lists = table_rows(tables, "ACL_TABLE")
    guarded: set[str] = set()
    for key, row in lists.items():
        services = row.get("services")
        services = [services] if isinstance(services, str) else services if isinstance(services, list) else []
        services = [*map(str, services)]
        if not services:
            continue
        guarded |= set(services) if row.get("type") == "CTRLPLANE" else set()
        if row.get("type") != "CTRLPLANE":
            yield odd_field(
                "ACL_TABLE", key, row, "type", "caclmgrd passes over the list, which is for services"
            )
        elif unknown := [each for each in services if each not in _SERVICES and each.isidentifier()]:
            yield odd_field("ACL_TABLE", key, row, "services", f"caclmgrd does not know {clip(unknown[0])}")
        named = set(_WORDS.findall(key.upper())) & set(_LISTED)
        if len(named) == 1 and named.isdisjoint(services) and set(services) <= set(_LISTED):
            yield odd_field("ACL_TABLE", key, row, "services", f"the list does not protect {min(named)}")
    for key, row in table_rows(tables, "SSH_SERVER").items():
        ports = [each.strip() for each in str(row.get("ports") or _SSH).split(",")]
        if "SSH" in guarded and any(port != _SSH for port in ports):
            effect = f"the list for SSH, which is for port {_SSH}, does not protect it"
            yield odd_field("SSH_SERVER", key, row, "ports", effect)
        if row.get("permit_root_login") == "yes":
            yield odd_field("SSH_SERVER", key, row, "permit_root_login", "root logs in over the network")
    for name, field, value in _UNCHECKED:
        for key, row in table_rows(tables, name).items():
            if row.get(field) == value:
                yield odd_field(name, key, row, field, "clients need no certificate")
    yield from _odd_order(tables, lists)
    yield from _odd_logins(tables)
    yield from _odd_marks(tables)
    for key, row in table_rows(tables, "SNMP_USER").items():
        if str(row.get("SNMP_USER_TYPE")).lower() == "noauthnopriv":
            yield odd_field("SNMP_USER", key, row, "SNMP_USER_TYPE", "everyone who knows its name reads")


def _odd_logins(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield methods of login whose servers are not there (sonic-host-services, common-auth-sonic.j2)."""
    known = {each.partition("|")[0] for name in tables for each in table_rows(tables, name) if "PORT" in name}
    for kind in _REMOTE.values():
        for key, row in table_rows(tables, kind).items():
            source = str(row.get("src_intf") or "")
            if source.startswith("Ethernet") and known and source not in known:
                yield odd_field(kind, key, row, "src_intf", "the switch has no such port")
    for key, row in table_rows(tables, "AAA").items():
        methods = [each for each in str(row.get("login", "")).split(",") if each]
        remote = [each for each in methods if each in _REMOTE]
        missing = [each for each in remote if not table_rows(tables, f"{_REMOTE[each]}_SERVER")]
        if key == "authentication" and missing and missing == methods:
            yield odd_field("AAA", key, row, "login", "nobody but root logs in: no such server is stated")
        elif key == "authentication" and missing:
            yield odd_field("AAA", key, row, "login", f"{missing[0]} asks nobody: no such server is stated")
        asked = str(table_rows(tables, "AAA"))
        for each, kind in _REMOTE.items() if key == "authentication" and methods else ():
            host = next(iter(table_rows(tables, f"{kind}_SERVER")), "")
            if host and each not in asked:
                yield odd_field("AAA", key, row, "login", f"nothing asks {kind}_SERVER {host}")
        for each in remote if key == "authentication" else ():
            table = f"{_REMOTE[each]}_SERVER"
            common = table_rows(tables, _REMOTE[each]).get("global", {}).get("passkey")
            for name, server in table_rows(tables, table).items():
                if not (server.get("passkey") or common):
                    yield odd_lack(table, name, "passkey", "no login by it succeeds")


def _odd_order(tables: Mapping[str, Any], lists: Rows) -> Iterator[OddRow]:
    """Yield rules of a control-plane list that another one of the same priority replaces (caclmgrd, acl_rules)."""
    found: dict[tuple[str, str], str] = {}
    for key, row in table_rows(tables, "ACL_RULE").items():
        name, priority = key.partition("|")[0], str(row.get("PRIORITY", ""))
        if lists.get(name, {}).get("type") == "CTRLPLANE" and priority:
            first = found.setdefault((name, priority), key)
            if first != key:
                yield odd_field(
                    "ACL_RULE", key, row, "PRIORITY", f"{first}, which has the same, is passed over"
                )


def _odd_marks(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield rules that write another code point on RoCE than one of a class with PFC."""
    lossless = {
        each
        for row in table_rows(tables, "PORT_QOS_MAP").values()
        for each in str(row.get("pfc_enable")).split(",")
    }
    points = {
        dscp
        for row in table_rows(tables, "DSCP_TO_TC_MAP").values()
        for dscp, each in row.items()
        if str(each) in lossless
    }
    for key, row in table_rows(tables, "ACL_RULE").items():
        written = str(row.get("DSCP_ACTION", ""))
        everything = _ACTIONS.issuperset(row) and str(row.get("IP_PROTOCOL", _UDP)) == _UDP
        about = str(row.get("L4_DST_PORT")) == _ROCE or str(row.get("DSCP")) in points or everything
        if written and points and written not in points and about:
            yield odd_field("ACL_RULE", key, row, "DSCP_ACTION", "RoCE leaves its class without drops")


_ROCE = "4791"
_UDP = "17"
_ACTIONS = frozenset({"PRIORITY", "DSCP_ACTION", "PACKET_ACTION", "IP_TYPE", "IP_PROTOCOL"})
"""Fields of a rule that choose no packets, or all of RoCE."""
