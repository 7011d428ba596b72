"""Management services in NVUE's words: NTP, DNS, syslog, LLDP, TACACS+, SNMP, gNMI, and who may reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import GNMI_SERVER, has
from fabricc.back.nos.cumulus.ports import MANAGEMENT_VRF
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.yaml_text import Tree
    from fabricc.fabric.model import Management, Snmp

SYSLOG: Tree = {"port": 514, "protocol": "udp"}
LLDP_HOLD = 4
"""Announcements that may be lost until a neighbour forgets (IEEE 802.1AB, msgTxHold)."""

LOGIN_METHODS = ("tacacs", "local")
TACACS_PORT = 49

ACCESS, ACCESS_V6, OPEN = "FABRICC-ACCESS", "FABRICC-ACCESS-V6", "FABRICC-GNMI"
LIST_TYPES = {ACCESS: "ipv4", ACCESS_V6: "ipv6", OPEN: "ipv4"}
ITSELF = {"ipv4": "127.0.0.0/8", "ipv6": "::1/128"}
"""What a switch asks itself from; a list of the control plane filters that too (NVIDIA, Control Plane ACLs)."""

SSH, SNMP, HTTPS, API, GNMI = 22, 161, 443, 8765, 9339
"""Ports that `acl-default-whitelist` opens for SSH, SNMP, the web server, NVUE's API and gNMI."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of an access list: what happens to packets of a protocol to some ports.

    Attributes:
        source: network the packets come from; None for any.
    """

    permit: bool
    protocol: str
    ports: tuple[int, ...]
    source: str | None


def services(management: Management, release: Release) -> tuple[Tree, Tree]:
    """What stands below `service` and what below `system`, but for TACACS+."""
    places: dict[str, Tree] = {"service": {}, "system": {}}
    rows: dict[str, tuple[str, Tree]] = {
        "ntp": (release.ntp, {server: {"iburst": release.on} for server in management.ntp}),
        "dns": (release.dns, {server: {} for server in management.dns}),
        "syslog": (release.syslog, dict.fromkeys(management.syslog, SYSLOG)),
    }
    for name, (place, servers) in rows.items():
        if not servers:
            continue
        if place == "service":
            places[place][name] = {MANAGEMENT_VRF: {"server": servers}}
        elif name == "ntp":
            places[place][name] = {"server": servers, "vrf": MANAGEMENT_VRF}
        else:
            in_vrf: Tree = {
                server: {**(row if isinstance(row, dict) else {}), "vrf": MANAGEMENT_VRF}
                for server, row in servers.items()
            }
            places[place][name] = {"server": in_vrf}
    places[release.lldp]["lldp"] = _lldp(management, release)
    if management.snmp:
        places[release.snmp]["snmp-server"] = _snmp(management, management.snmp, release)
    if (port := gnmi_port(management, release)) is not None:
        places["system"]["gnmi-server"] = {
            "listening-address": {host_address(management): {}},
            "port": port,
            "state": "enabled",
        }
    return places["service"], places["system"]


def host_address(management: Management) -> str:
    """The management address without its prefix length."""
    return management.address.partition("/")[0]


def gnmi_port(management: Management, release: Release) -> int | None:
    """The port of the gNMI server; None where there is none."""
    return management.gnmi_port if has(release.name, GNMI_SERVER) else None


def _lldp(management: Management, release: Release) -> Tree:
    tree: Tree = {"tx-hold-multiplier": LLDP_HOLD, "tx-interval": management.lldp_interval_s}
    return {"state": "enabled", **tree} if release.lldp_state else tree


def snmp_sources(management: Management) -> tuple[str, ...]:
    """Whom the SNMP agent answers: the access networks, or `any`."""
    return management.access or ("any",)


def _snmp(management: Management, snmp: Snmp, release: Release) -> Tree:
    key, word = release.snmp_switch
    tree: Tree = {
        key: word,
        "listening-address": {host_address(management): {"vrf": MANAGEMENT_VRF}},
        "readonly-community": {
            snmp.community: {"access": {source: {} for source in snmp_sources(management)}}
        },
    }
    for name, text in (("system-contact", snmp.contact), ("system-location", snmp.location)):
        if text:
            tree[name] = text
    return tree


def login(management: Management, release: Release) -> Tree:
    """What TACACS+ adds below `system aaa`: the servers, accounting, and local accounts when none answers."""
    if management.tacacs is None:
        return {}
    servers: Tree = {}
    for rank, server in enumerate(management.tacacs.servers, 1):
        row: Tree = {"port": TACACS_PORT, "secret": management.tacacs.key}
        if ":" in server:
            row["prefer-ip-version"] = 6
        if release.tacacs_by_address:
            servers[server] = {**row, "priority": rank}
        else:
            servers[str(rank)] = {**row, "host": server}
    tree: Tree = {"server": servers, "vrf": MANAGEMENT_VRF, **login_switches(release)}
    if release.login_list:
        return {"tacacs": tree, "authentication": {"order": LOGIN_METHODS}}
    order: Tree = {str(rank): {method: {}} for rank, method in enumerate(LOGIN_METHODS, 1)}
    return {"tacacs": tree, "authentication-order": order}


def login_switches(release: Release) -> Tree:
    """What switches TACACS+ and its accounting on."""
    if release.tacacs_by_address:
        return {"accounting": {"state": "enabled"}}
    return {"accounting": {"enable": release.on}, "enable": release.on}


def access_rules(management: Management, release: Release) -> dict[str, tuple[Rule, ...]]:
    """The access lists of the control plane: name -> rules in order.

    They come before `acl-default-whitelist` (NVIDIA, Firewall Rules), which stays for everything else: a port
    that it does not open needs a list of its own.
    """
    port = gnmi_port(management, release)
    tcp = (SSH, HTTPS, API) if port is None else tuple(sorted({SSH, HTTPS, API, port}))
    if management.access:
        services_by_protocol = {"tcp": tcp} | ({"udp": (SNMP,)} if management.snmp else {})
        return {
            ACCESS: tuple(_guard((ITSELF["ipv4"], *management.access), services_by_protocol)),
            ACCESS_V6: tuple(_guard((ITSELF["ipv6"],), services_by_protocol)),
        }
    if port is not None and port != GNMI:
        return {OPEN: (Rule(True, "tcp", (port,), None),)}
    return {}


def _guard(sources: tuple[str, ...], ports: dict[str, tuple[int, ...]]) -> Iterator[Rule]:
    for source in sources:
        for protocol, numbers in ports.items():
            yield Rule(True, protocol, numbers, source)
    for protocol, numbers in ports.items():
        yield Rule(False, protocol, numbers, None)


def numbered(rules: tuple[Rule, ...]) -> Iterator[tuple[str, Rule]]:
    """Rules with their numbers, from 10 in steps of 10."""
    return ((str(10 * at), rule) for at, rule in enumerate(rules, 1))


def access_lists(management: Management, release: Release) -> Tree:
    """Everything below `acl`."""
    return {
        name: {"rule": {number: _rule(rule) for number, rule in numbered(rules)}, "type": LIST_TYPES[name]}
        for name, rules in access_rules(management, release).items()
    }


def _rule(rule: Rule) -> Tree:
    match: Tree = {
        "protocol": rule.protocol,
        rule.protocol: {"dest-port": {str(port): {} for port in rule.ports}},
    }
    if rule.source:
        match["source-ip"] = rule.source
    return {"action": {"permit" if rule.permit else "deny": {}}, "match": {"ip": match}}
