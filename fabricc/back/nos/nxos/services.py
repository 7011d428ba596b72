"""Services of NX-OS: features, accounts, who may reach the switch, TACACS+, RADIUS, SNMP and LLDP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import in_address_order
from fabricc.back.nos.management import state_keys
from fabricc.back.nos.nxos.limits import state_balancing
from fabricc.back.nos.nxos.policy import rules_in_order
from fabricc.back.nos.nxos.tenants import used_features as tenant_features
from fabricc.back.nos.nxos.words import MANAGEMENT_INTERFACE, MANAGEMENT_VRF, ONCE, state_defined
from fabricc.back.reading import (
    Block,
    Document,
    Each,
    Entry,
    Fact,
    Keep,
    Row,
    Scope,
    Silent,
    StoredValue,
    Topic,
    rows,
)
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.facts import SNMP_LEVEL, Facts, Value, setting_facts
from fabricc.fabric.model import SECRET_PREFIX, Account, Management, Switch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


FEATURES = ("nxapi", "scp-server", "grpc", "openconfig", "tacacs+", "bgp", "lldp", "bfd")
"""In the order a device prints them; the first two are what NAPALM 5.2 needs to replace a configuration. Without
`openconfig` the gRPC agent knows Cisco's own paths alone (Cisco Network as Code, nxos.system.grpc)."""
USER_ROLE = "network-admin"
NO_PASSWORD = "!"
SYSLOG_SEVERITY = 6
ACCESS_LIST = "FABRICC-ACCESS"
ACCESS_LIST_V6 = "FABRICC-ACCESS-V6"
API_ACCESS_LIST = "FABRICC-API"
EVERYONE = "0.0.0.0/0"
SNMP_ROLE = "network-operator"  # reads, and changes nothing
HTTPS_PORT = 443  # of the NX-API by default
GRPC_PORT = 50051  # of the gRPC agent unless `grpc port` sets another

SERVER_GROUP = "FABRICC"
# `aaa` statements about the group of servers; local accounts answer when no server does.
TACACS_AAA = {
    "authentication login default": f"group {SERVER_GROUP} local",
    "authorization config-commands default": f"group {SERVER_GROUP} local",
    "authorization commands default": f"group {SERVER_GROUP} local",
    "accounting default": f"group {SERVER_GROUP}",
}
# RADIUS authorizes no command: an answer names the roles of the user (Cisco, Configuring RADIUS).
RADIUS_AAA = {
    statement: TACACS_AAA[statement] for statement in ("authentication login default", "accounting default")
}
AAA = {"tacacs": TACACS_AAA, "radius": RADIUS_AAA}

GROUP_TYPES = {"tacacs": "tacacs+", "radius": "radius"}
SERVER_PATHS = {
    "tacacs": ("management/aaa/server", "management/aaa/host"),
    "radius": ("management/aaa/radius", "management/aaa/radius_host"),
}
"""Protocol -> where the servers of its group are stated by place, and by address."""

LLDP_HOLD = 4  # announcements that may be lost until a neighbor forgets, IEEE 802.1AB msgTxHold
DEFAULT_LLDP_S = 30
DEFAULT_LLDP_HOLD_S = 120


# --- what NX-OS makes of the Fabric's statements ------------------------------------------------------


def used_features(switch: Switch) -> list[str]:
    """Return the features that the configuration uses, in the order a device prints them."""
    idle = {
        "bfd": switch.bgp.bfd_interval_ms is None,
        "grpc": switch.management.gnmi_port is None,
        "openconfig": switch.management.gnmi_port is None,
        "tacacs+": switch.management.tacacs is None,
    }
    return [*(name for name in FEATURES if not idle.get(name, False)), *tenant_features(switch)]


def access_lists(management: Management) -> dict[tuple[str, str], list[str]]:
    """Return (family, name) -> rules of the lists behind `management.access`; none if access is open.

    SSH and SNMP answer in every VRF, so lists of their own guard them, over IPv6 from everyone. The NX-API and the
    gRPC agent have no such list: that of the management interface guards their ports, and passes all other packets,
    the answers of servers among them.
    """
    if not management.access:
        return {}
    networks = ["any" if net == EVERYONE else net for net in in_address_order(management.access)]
    ports = [HTTPS_PORT] if management.gnmi_port is None else [HTTPS_PORT, management.gnmi_port]
    return {
        ("ip", ACCESS_LIST): [f"permit ip {network} any" for network in networks],
        ("ip", API_ACCESS_LIST): [
            *(f"permit tcp {network} any eq {port}" for port in ports for network in networks),
            *(f"deny tcp any any eq {port}" for port in ports),
            "permit ip any any",
        ],
        ("ipv6", ACCESS_LIST_V6): ["deny ipv6 any any"],
    }


@dataclass(frozen=True, slots=True)
class ManagementView:
    """The out-of-band side; servers ascending, but those of logins in the order of use.

    Attributes:
        requested: the services of the fabric: TACACS+, RADIUS, SNMP, gNMI, address and gateway.
        access_lists: (family, name) -> rules, empty if access is open; `access_list` and `access_list_v6` guard
            SSH and SNMP, `api_access_list` the interface.
        aaa: (statement, methods) of each `aaa` line.
        lldp_s, lldp_hold_s: None at NX-OS's defaults.
    """

    requested: Management
    access_lists: Mapping[tuple[str, str], list[str]]
    lldp_s: int | None
    lldp_hold_s: int | None
    ipv6: bool
    ntp: list[str]
    dns: list[str]
    syslog: list[str]
    users: list[Account]
    aaa: list[tuple[str, str]]
    role: str = USER_ROLE
    vrf: str = MANAGEMENT_VRF
    interface: str = MANAGEMENT_INTERFACE
    access_list: str = ACCESS_LIST
    access_list_v6: str = ACCESS_LIST_V6
    api_access_list: str = API_ACCESS_LIST
    server_group: str = SERVER_GROUP
    snmp_role: str = SNMP_ROLE
    severity: int = SYSLOG_SEVERITY

    @property
    def asked(self) -> Management:
        """Return `requested` by its former name, for templates of users."""
        return self.requested


def management_view(management: Management) -> ManagementView:
    """Return the view of the management side of a switch."""
    interval = management.lldp_interval_s
    hold = LLDP_HOLD * interval
    return ManagementView(
        requested=management,
        access_lists=access_lists(management),
        lldp_s=None if interval == DEFAULT_LLDP_S else interval,
        lldp_hold_s=None if hold == DEFAULT_LLDP_HOLD_S else hold,
        ipv6=":" in management.address,
        ntp=in_address_order(management.ntp),
        dns=in_address_order(management.dns),
        syslog=in_address_order(management.syslog),
        users=sorted(management.users, key=lambda user: natural_key(user.name.lower())),
        aaa=list(AAA[management.login[0]].items()) if management.login else [],
    )


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """The settings that NX-OS expresses, and what it states of services beyond the neutral facts.

    All settings but hashing queue pairs, and dynamic paths where the ASIC has them.
    """
    management = switch.management
    facts |= setting_facts(switch)
    facts.pop("management/syslog_ca", None)
    state_balancing(facts, switch)
    for user in management.snmp_users:
        facts[f"management/snmp/user[{user.name}]/role"] = SNMP_ROLE
    if management.snmp and management.snmp.traps:
        facts |= {
            f"management/snmp_trap[{server}]/vrf": MANAGEMENT_VRF for server in management.snmp.traps.servers
        }
    facts["management/lldp_hold_s"] = LLDP_HOLD * management.lldp_interval_s
    state_defined(facts, "management_vrf", {"gateway": management.gateway})
    facts |= {f"system/feature[{feature}]": "on" for feature in used_features(switch)}
    facts |= {f"user[{user.name}]/role": USER_ROLE for user in management.users}
    facts |= {"platform/source_route": "off", "platform/cdp": "off"}
    for kind in ("ntp", "dns", "syslog"):
        facts |= {f"structure/{kind}/{server}": ONCE for server in getattr(management, kind)}
    if management.ntp:
        facts["management/ntp_source"] = MANAGEMENT_INTERFACE
    if management.syslog:
        facts["management/syslog_severity"] = SYSLOG_SEVERITY
    if management.access:
        _state_guards(facts, management)
    if management.login:
        protocol, requested = management.login
        facts["management/aaa/group"] = SERVER_GROUP
        facts["management/aaa/use-vrf"] = MANAGEMENT_VRF
        facts["management/aaa/source-interface"] = MANAGEMENT_INTERFACE
        facts |= {f"management/aaa/{statement}": methods for statement, methods in AAA[protocol].items()}
        server_path, host_path = SERVER_PATHS[protocol]
        for index, server in enumerate(requested.servers):
            facts[f"{server_path}[{index}]"] = server
            facts[f"{host_path}[{server}]/secret"] = requested.key


def _state_guards(facts: Facts, management: Management) -> None:
    """State the access lists, and where they stand."""
    for (_, name), rules in access_lists(management).items():
        facts[f"management/access_list[{name}]/rules"] = len(rules)
        facts |= {f"management/access_list[{name}]/{index}": rule for index, rule in enumerate(rules)}
    facts["management/nxapi_vrf"] = MANAGEMENT_VRF
    facts["management/vty/access-class"] = ACCESS_LIST
    facts["management/vty/ipv6 access-class"] = ACCESS_LIST_V6
    facts["structure/mgmt0/access-group"] = API_ACCESS_LIST
    if management.snmp:
        if management.snmp.community:
            facts["management/snmp/use-ipv4acl"] = ACCESS_LIST
            facts["management/snmp/use-ipv6acl"] = ACCESS_LIST_V6
            facts["management/snmp/guarded/secret"] = management.snmp.community
        for user in management.snmp.users:
            facts[f"management/snmp/user[{user.name}]/use-ipv4acl"] = ACCESS_LIST
            facts[f"management/snmp/user[{user.name}]/use-ipv6acl"] = ACCESS_LIST_V6


# --- and back -----------------------------------------------------------------------------------------

_VTY = "management/vty/"
_SNMP = "management/snmp/"
_GATEWAY = ("management/gateway", "structure/management_vrf/gateway")


def _secret_value(kind: str, key: str) -> str:
    """Parse a key; type 0 is clear text."""
    key = key.strip('"')
    return key if kind == "0" else f"{kind} {key}"


def _server_rows(protocol: str, group_type: str) -> tuple[Row, ...]:
    """Return the rows about servers of one protocol that check logins."""
    return (
        Each(f"{protocol}-server host <word>", f"{protocol} host", (
            Keep("key <word> <word> [authentication accounting]", "secret", _secret_value),
        ), once=True),
        Fact(f"aaa group server {group_type} <word>", "management/aaa/group"),
        Block(f"aaa group server {group_type} <word>", f"{protocol} group", (
            Entry("server <word>", "servers"),
            Fact("use-vrf <word>", "management/aaa/use-vrf"),
            Fact("source-interface <word>", "management/aaa/source-interface"),
        )),
    )  # fmt: skip


def _banner_text(text: str) -> Mapping[str, Value] | None:
    """Return the banner between its delimiters; None for a text that has no end."""
    text = text.strip()
    return {"management/banner": text[1:-1].strip()} if len(text) > 1 and text[0] == text[-1] else None


def _account_role(user: str, password: str, role: str) -> Mapping[str, Value]:
    """Return the role of an account; one with a password and no key is the switch's own, see `finish`."""
    if password == NO_PASSWORD:
        return {f"user[{user}]/role": role}
    return {f"user[{user}]/device_role": role, f"user[{user}]/device_secret": password}


def _snmp_user_facts(user: str, role: str, password: str, key: str) -> Mapping[str, Value]:
    """Return the facts of an SNMPv3 user; a localized key replaces the password from which it is derived.

    NX-OS writes `md5` for the SNMP users that it makes of accounts; those are no users of the plan.
    """
    prefix = f"{_SNMP}user[{user}]/"
    return {
        prefix + "role": role,
        prefix + "level": SNMP_LEVEL,
        prefix + "auth/secret": password.strip('"'),
        prefix + "privacy/secret": key.strip('"'),
    }


_USE_VRF = f"use-vrf {MANAGEMENT_VRF}"
_FACILITY = "|".join(f"facility local{number}" for number in range(8))

ROWS: Sequence[Row] = (
    Fact("(hostname|switchname) <word>", "system/hostname"),
    Fact("feature <rest>", "system/feature[{0}]", "on"),
    Fact("no feature lldp", "system/feature[lldp]", "off"),
    Fact("no feature ssh", "system/feature[ssh]", "off"),
    Entry("no feature <rest>", "features off"),
    Fact("username <word> sshkey <rest>", lambda user, key: {f"user[{user}]/ssh_key": key.strip('"')}),
    Fact("username <word> password [5|8|9] <word> role <word>", _account_role),
    Fact("username <word> role <word>", "user[{0}]/role"),
    Silent("username <word> passphrase <rest>"),
    Fact("banner motd <rest>", _banner_text),
    Silent("ip domain-lookup"),
    Fact("no ip source-route", "platform/source_route", "off"),
    Fact("ip source-route", "platform/source_route", "on"),
    Fact("no cdp enable", "platform/cdp", "off"),
    Entry(f"ip name-server <word>... {_USE_VRF}", "dns"),
    Entry(f"ntp server <word> [prefer] {_USE_VRF} [key <integer>]", "ntp", lambda _server, key: key or 0),
    Entry("ntp authentication-key <integer> md5 <word> [0|7]", "ntp keys"),
    Entry("ntp trusted-key <integer>", "ntp trusted"),
    Keep("ntp authenticate", "ntp authenticate"),
    Fact("ntp source-interface <word>", "management/ntp_source"),
    Entry(f"logging server <word> <0-7> {_USE_VRF} [{_FACILITY}]", "syslog"),
    Entry(f"logging server <word> <0-7> port <integer> secure {_USE_VRF} [{_FACILITY}]", "syslog tls", "{1} {2}"),
    Fact(f"vrf context {MANAGEMENT_VRF}", "structure/management_vrf/defined", ONCE),
    Block(f"vrf context {MANAGEMENT_VRF}", "", (
        Fact("ip route 0.0.0.0/0 <address>", dict.fromkeys(_GATEWAY, "{0}")),
        Fact("ip route 0.0.0.0/0 (Null0|null0)", _GATEWAY[0], "discard"),
        Fact("ipv6 route (::/0|0::/0) <word>", dict.fromkeys(_GATEWAY, "{0}")),
        Entry("ip name-server <word>...", "dns"),
    )),
    *(row for protocol, group_type in GROUP_TYPES.items() for row in _server_rows(protocol, group_type)),
    *(Fact(f"aaa {statement} <rest>", f"management/aaa/{statement}") for statement in TACACS_AAA),
    Block("(ip|ipv6) access-list <word>", "access list", (
        Entry("<integer> <permit|deny> <ip|ipv6> <word> any", "rules", "{2} {3} {4} any"),
        Entry("<integer> <permit|deny> tcp <word> any eq <integer>", "rules", "{2} tcp {3} any eq {4}"),
    )),
    Block("line vty", "", (
        Fact("access-class <word> in", _VTY + "access-class"),
        Fact("ipv6 access-class <word> in", _VTY + "ipv6 access-class"),
        Silent("(exec-timeout|session-limit) <integer>"),
    )),
    Fact("snmp-server contact <rest>", _SNMP + "contact"),
    Fact("snmp-server location <rest>", _SNMP + "location"),
    Fact(f"snmp-server community <word> group {SNMP_ROLE}", _SNMP + "secret"),
    Fact("snmp-server community <word> use-ipv4acl <word> [use-ipv6acl <word>]",
        {_SNMP + "guarded/secret": "{0}", _SNMP + "use-ipv4acl": "{1}", _SNMP + "use-ipv6acl": "{2}"}),
    Fact("snmp-server community <word> use-ipv6acl <word>",
        {_SNMP + "guarded/secret": "{0}", _SNMP + "use-ipv6acl": "{1}"}),
    Fact("snmp-server user <word> <word> auth sha <word> priv aes-128 <word> [localizedkey|localizedV2key]",
        _snmp_user_facts),
    Fact("snmp-server host <word> traps version 3 priv <word>", "management/snmp_trap[{0}]/user"),
    Fact("snmp-server host <word> use-vrf <word>", "management/snmp_trap[{0}]/vrf"),
    Fact("snmp-server user <word> use-ipv4acl <word> [use-ipv6acl <word>]",
        {_SNMP + "user[{0}]/use-ipv4acl": "{1}", _SNMP + "user[{0}]/use-ipv6acl": "{2}"}),
    Fact("snmp-server user <word> use-ipv6acl <word>", _SNMP + "user[{0}]/use-ipv6acl"),
    Keep("lldp timer <integer>", "lldp/interval_s"),
    Keep("lldp holdtime <integer>", "management/lldp_hold_s"),
    Keep("grpc port <integer>", "grpc port"),
    Fact("grpc use-vrf <word>", "management/grpc_vrf[{0}]", "on"),
    Fact("nxapi use-vrf <word>", "management/nxapi_vrf"),
    Silent("(boot|rmon) <rest>"),
    Block("vdc <rest>", "", (Silent("<rest>"),)),
    Block("line console", "", (Silent("<rest>"),)),
)  # fmt: skip
_GUARDS = (_VTY + "access-class", _VTY + "ipv6 access-class", _SNMP + "use-ipv4acl", _SNMP + "use-ipv6acl")


def finish(document: Document) -> None:
    """State facts that need several lines."""
    facts, lines, scope = document.reading.facts, document.reading.lines, document.scope
    for path in [path for path in facts if path.endswith("/device_role")]:
        account = path.removesuffix("/device_role")
        secret, place = facts.pop(f"{account}/device_secret"), lines.pop(f"{account}/device_secret")
        if f"{account}/ssh_key" in facts:
            facts[f"{account}/role"], lines[f"{account}/role"] = facts.pop(path), lines.pop(path)
            shown = secret if str(secret).startswith(SECRET_PREFIX) else "set"
            facts[f"{account}/secret"], lines[f"{account}/secret"] = shown, place
    syslog: dict[Value, StoredValue] = dict(scope.table("syslog"))
    for server, (stored, line) in scope.table("syslog tls").items():
        level, port = map(int, str(stored).split())
        document.put(f"management/syslog_tls[{server}]/port", port, line)
        syslog[server] = level, line
    for kind, servers in (("ntp", scope.table("ntp")), ("dns", scope.table("dns")), ("syslog", syslog)):
        document.put_set(f"management/{kind}", servers)
        for server, (_, line) in servers.items():
            document.put(f"structure/{kind}/{server}", ONCE, line)
    keys = {
        str(number): ("md5", str(key).strip('"'), line)
        for number, (key, line) in scope.table("ntp keys").items()
    }
    for number, (_, line) in scope.table("ntp trusted").items():
        if str(number) not in keys:
            document.reject(line)
    timed = {str(server): stored for server, stored in scope.table("ntp").items()}
    trusted = {str(number) for number in scope.table("ntp trusted")}
    state_keys(document.put, keys, timed, trusted, scope.values.get("ntp authenticate", ("", None))[1])
    for severity, line in syslog.values():
        document.put("management/syslog_severity", severity, line)
    _finish_access(document)
    for protocol in GROUP_TYPES:
        _finish_login_servers(document, protocol)
    groups = {
        *GROUP_TYPES.values(),
        "ldap",
        *(name for each in GROUP_TYPES for name in scope.each(f"{each} group")),
    }
    for path, value in [*facts.items()]:
        words = str(value).split() if path.startswith("management/aaa/a") else []
        for name in words[words.index("group") + 1 :] if "group" in words else ():
            if name not in groups and name not in _METHODS:
                document.put(f"unread[aaa group {name}]", "no group of servers has this name", lines[path][1])
    hidden = {"lldp/interval_s": DEFAULT_LLDP_S, "management/lldp_hold_s": DEFAULT_LLDP_HOLD_S}
    on = {
        name: lines[f"system/feature[{name}]"][1]
        for name in ("lldp", "grpc")
        if f"system/feature[{name}]" in facts
    }
    for path, default in hidden.items() if "lldp" in on else ():
        document.put(path, *scope.values.get(path, (default, on["lldp"])))
    if "grpc" in on:
        document.put("management/gnmi_port", *scope.values.get("grpc port", (GRPC_PORT, on["grpc"])))


_METHODS = ("group", "local", "none")
"""Words of an `aaa` line besides names of groups."""


def _finish_access(document: Document) -> None:
    """State the access lists and the admitted sources; a missing list that guards something would guard nothing."""
    facts, lines = document.reading.facts, document.reading.lines
    lists = document.scope.each("access list")
    guards = {path: (facts[path], lines[path][1]) for path in _GUARDS if path in facts}
    port = document.scope.each("interface").get(MANAGEMENT_INTERFACE)
    if port is not None and "access_list" in port.values:
        guards[f"structure/{MANAGEMENT_INTERFACE}/access-group"] = port.values["access_list"]
    used = {name for name, _ in guards.values()}
    for name, listed in lists.items():
        path = f"management/access_list[{name}]" if name in used else f"access_list[{name}]"
        rules = rules_in_order(listed)
        document.put(f"{path}/rules", len(rules), listed.line)
        document.put_places(path, rules)
    for path, (name, line) in guards.items():
        document.put(path, name, line)
        if name not in lists:
            document.reading.unknown.append((document.file, line, f"access list {name}"))
        elif path == _GUARDS[0]:
            networks = _admitted_networks(lists[name])
            everyone = next((at for network, at in networks if network == EVERYONE), 0)
            first = next((at for _, at in rules_in_order(lists[name])), line)
            place = everyone or (line if networks else first)
            document.put("management/access", ",".join(sorted(network for network, _ in networks)), place)


_SSH_PORT = "22"


def _admitted_networks(listed: Scope) -> list[tuple[str, int]]:
    """Return the networks whose every packet, or SSH, a list permits before it denies one, and the line of each."""
    found = []
    for text, line in rules_in_order(listed):
        action, protocol, network, host, *rest = [*str(text).split(), "", "", ""]
        network = f"{host}/32" if network == "host" else network
        if protocol == "tcp" and _SSH_PORT not in rest:
            continue
        if not (network == "any" or rows.parse_prefix(network)):
            continue
        if action == "deny":
            break
        found.append((EVERYONE if network == "any" else network, line))
    return found


def _finish_login_servers(document: Document, protocol: str) -> None:
    """State the servers of the groups of one protocol, and their key if they share one."""
    hosts, (server_path, host_path) = document.scope.each(f"{protocol} host"), SERVER_PATHS[protocol]
    for host, scope in hosts.items():
        secret, line = scope.values["secret"]
        document.put(f"{host_path}[{host}]/secret", secret, line)
    for group in document.scope.each(f"{protocol} group").values():
        servers = group.table("servers")
        for index, (server, line) in enumerate(servers.values()):
            document.put(f"{server_path}[{index}]", server, line)
        if servers:
            last = max(line for _, line in servers.values())
            document.put(f"management/{protocol}/servers", ",".join(map(str, servers)), last)
            keys = [hosts[server].values["secret"] if server in hosts else ("", 0) for server in servers]
            first, line = min(keys, key=lambda each: each[1])
            document.put(
                f"management/{protocol}/secret", first if len({key for key, _ in keys}) == 1 else "", line
            )


TOPIC = Topic(ROWS, finish)
