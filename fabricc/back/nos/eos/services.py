"""Management and services of EOS: who may log in, what watches the switch."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import in_address_order
from fabricc.back.nos.eos import words
from fabricc.back.nos.eos.limits import BalancingView, balancing_view, state_balancing
from fabricc.back.nos.eos.words import control_plane
from fabricc.back.nos.management import state_keys
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Scope, Silent, StoredValue, Topic
from fabricc.base.numbers import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, setting_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.model import Account, NtpKey, Snmp, Switch, SyslogTls

DEFAULT_ACCOUNT = "admin"  # without a password; `rollback clean-config` brings it back
ACCESS_LIST = "FABRICC-ACCESS"
NOBODY_LIST = "FABRICC-NOBODY"  # who may log in over IPv6 from the fabric: access networks are IPv4
NOBODY = "nobody"
CONTROL_PLANE_LIST = "FABRICC-CONTROL-PLANE"
SERVER_GROUP = "FABRICC"
SNMP_GROUP = "FABRICC"  # of SNMPv3 users, and the view that they read
SNMP_PROTOCOLS = {"sha": "sha", "aes": "aes-128", "aes128": "aes-128"}
ROLE = "network-admin"
HASHED = "hashed"  # by SHA-512
UNTYPEABLE = "untypeable"  # a password that no text fits, for accounts with a key alone
GNMI_PROVIDER = "eos-native"  # the paths of EOS itself, in addition to those of OpenConfig
ROUTING_AGENTS = "multi-agent"
QUEUE_MONITOR = "length"  # what EOS samples of its queues
DEFAULT_LLDP_S = 30
DEFAULT_LLDP_HOLD_S = 120
LLDP_HOLD = 4  # announcements that may be lost until a neighbor forgets, IEEE 802.1AB msgTxHold

# Without it a session opens unprivileged, whatever the account's level (Arista, Common AAA Requirements).
LOCAL_AAA = {"authorization exec default": "local"}
# `aaa` statements about the group of servers; local accounts answer when no server does.
TACACS_AAA = {
    "authentication login default": f"group {SERVER_GROUP} local",
    "authorization exec default": f"group {SERVER_GROUP} local",
    "authorization commands all default": f"group {SERVER_GROUP} local",
    "accounting exec default": f"start-stop group {SERVER_GROUP}",
    "accounting commands all default": f"start-stop group {SERVER_GROUP}",
}
# The roles that an answer names authorize commands, since RADIUS has no request for one (RFC 2865; published
# configurations of Arista Test Drive).
RADIUS_AAA = {
    "authentication login default": f"group {SERVER_GROUP} local",
    "authorization exec default": f"group {SERVER_GROUP} local",
    "authorization commands all default": "local",
    "accounting exec default": f"start-stop group {SERVER_GROUP}",
}
AAA = {"tacacs": TACACS_AAA, "radius": RADIUS_AAA}
GROUP_TYPES = {"tacacs": "tacacs+", "radius": "radius"}


# --- what EOS makes of the Fabric's statements --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ManagementView:
    """The out-of-band side; servers in the order EOS prints them.

    Attributes:
        control_plane: rules of the list in front of the CPU; none where EOS's own serves.
        access_list: name of the list that guards the services; None if they are open to everyone.
        nobody_list: name of the list that keeps everyone out over IPv6; None where there is none to keep out.
        removes_default_account: whether EOS's own `admin` goes; it stays where nobody else could log in, and where
            the spec has an account of that name.
        aaa: (statement, methods) of each `aaa` line.
        login_protocol: `tacacs` or `radius`, whose servers check logins; "" without servers.
        lldp_s, lldp_hold_s: announcements, and until a neighbor forgets; `lldp_printed`: those not at the default.
    """

    vrf: str
    interface: str
    access_list: str | None
    nobody_list: str | None
    access: list[str]
    aaa: list[tuple[str, str]]
    server_group: str
    login_protocol: str
    login_servers: tuple[str, ...]
    login_key: str
    group_type: str
    snmp: Snmp | None
    snmp_group: str
    gnmi_port: int | None
    ssl_profile: str
    control_plane_list: str
    control_plane: list[str]
    lldp_s: int
    lldp_hold_s: int
    lldp_printed: list[tuple[str, int]]
    address: str
    gateway: str
    ipv6: bool
    banner: str
    ntp: list[str]
    ntp_key: NtpKey | None
    dns: list[str]
    syslog: list[str]
    syslog_tls: SyslogTls | None
    syslog_profile: str
    users: list[Account]
    removes_default_account: bool


def management_view(switch: Switch, balancing: BalancingView) -> ManagementView:
    """Return what EOS makes of the out-of-band side."""
    management = switch.management
    lldp_s = management.lldp_interval_s
    protocol, requested = management.login or ("", None)
    lldp = (("timer", lldp_s, DEFAULT_LLDP_S), ("hold-time", LLDP_HOLD * lldp_s, DEFAULT_LLDP_HOLD_S))
    return ManagementView(
        vrf=words.MANAGEMENT_VRF,
        interface=words.management_interface(switch),
        access_list=ACCESS_LIST if management.access else None,
        nobody_list=NOBODY_LIST if management.access and balancing.ipv6 else None,
        access=in_address_order(management.access),
        aaa=list(AAA.get(protocol, LOCAL_AAA).items()),
        server_group=SERVER_GROUP,
        login_protocol=protocol,
        login_servers=requested.servers if requested else (),
        login_key=requested.key if requested else "",
        group_type=GROUP_TYPES.get(protocol, ""),
        snmp=management.snmp,
        snmp_group=SNMP_GROUP,
        gnmi_port=management.gnmi_port,
        ssl_profile=words.SSL_PROFILE,
        control_plane_list=CONTROL_PLANE_LIST,
        control_plane=control_plane(management),
        lldp_s=lldp_s,
        lldp_hold_s=LLDP_HOLD * lldp_s,
        lldp_printed=[(word, seconds) for word, seconds, default in lldp if seconds != default],
        address=management.address,
        gateway=management.gateway,
        ipv6=":" in management.address,
        banner=management.banner,
        ntp=in_address_order(management.ntp),
        ntp_key=management.ntp_key,
        dns=in_address_order(management.dns),
        syslog=in_address_order(management.syslog),
        syslog_tls=management.syslog_tls,
        syslog_profile=words.SYSLOG_PROFILE,
        users=sorted(management.users, key=lambda user: natural_key(user.name.lower())),
        removes_default_account=bool(management.users)
        and DEFAULT_ACCOUNT not in {u.name for u in management.users},
    )


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the settings that EOS expresses, and its further facts."""
    balancing = balancing_view(switch)
    view = management_view(switch, balancing)
    facts |= setting_facts(switch)
    state_balancing(facts, balancing)
    facts["platform/management_vrf"] = facts["platform/http_api"] = view.vrf
    facts["platform/routing_agents"] = ROUTING_AGENTS
    facts["management/queue_monitor"] = QUEUE_MONITOR
    facts["lldp/hold_s"] = view.lldp_hold_s
    for user in view.users:
        facts[f"user[{user.name}]/role"] = ROLE
        facts[f"user[{user.name}]/password"] = HASHED if user.password else UNTYPEABLE
    sources = {"syslog": view.syslog, "ntp": view.ntp}
    facts |= {
        f"management/source[{service}]": view.interface for service, servers in sources.items() if servers
    }
    facts |= {f"management/aaa[{statement}]": methods for statement, methods in view.aaa}
    if view.access_list:
        guarded = {"http": True, "snmp": view.snmp, "gnmi": view.gnmi_port, "ssh/default": True}
        facts |= {
            f"management/access[{s}]": facts["management/access"] for s, used in guarded.items() if used
        }
    facts["management/ssh"] = view.vrf
    facts["management/ssh[default]"] = "off"
    if view.removes_default_account:
        facts["management/default_account"] = "removed"
    if view.nobody_list:
        facts["management/access[ssh/ipv6]"] = NOBODY
    if view.snmp:
        facts |= {"management/snmp[default]": "off", f"management/snmp[{view.vrf}]": "on"}
        if view.snmp.users:
            group = view.snmp_group
            facts[f"management/snmp_view[{group}]"] = "iso included"
            notify = f" notify {group}" if view.snmp.traps else ""
            facts[f"management/snmp_group[{group}]"] = f"priv read {group}{notify}"
            facts |= {f"management/snmp/user[{user.name}]/group": group for user in view.snmp.users}
        if view.snmp.traps:
            facts["management/snmp/notifications"] = "on"
    if view.gnmi_port is not None:
        profile = view.ssl_profile
        facts["management/gnmi"] = view.vrf
        facts["management/gnmi_provider"] = GNMI_PROVIDER
        facts["management/gnmi_ssl_profile"] = profile
        facts[f"management/gnmi_certificate[{profile}]"] = f"{profile}.crt {profile}.key"
        facts |= {f"management/control_plane/{at}": rule for at, rule in enumerate(view.control_plane)}
    if view.syslog and view.syslog_tls:
        facts[f"management/ssl_trust[{view.syslog_profile}]"] = f"{view.syslog_tls.ca}.crt"
    if view.login_protocol:
        path = f"management/{view.login_protocol}"
        facts[f"{path}/group"] = view.server_group
        facts[f"{path}/source"] = view.interface
        facts |= {f"{path}[{server}]/secret": view.login_key for server in view.login_servers}


# --- and back -----------------------------------------------------------------------------------------

_VRF = f"vrf {words.MANAGEMENT_VRF}"
_GUARDED = ("http", "snmp", "gnmi", "ssh", "ssh/default", "ssh/ipv6")


def _network(_number: object, address: str, wildcard: str = "0.0.0.0") -> str:
    """Return the network of an address with a wildcard mask, or of a host."""
    try:
        length = 32 - int(ip_address(wildcard)).bit_count()
        return str(ip_network(f"{address}/{length}", strict=False))
    except ValueError:
        return f"{address}/{wildcard}"


_NETWORKS = (
    Entry("<integer> permit <word>", "networks"),
    Entry("<integer> permit host <word>", "networks", _network),
    Entry("<integer> permit <word> <word>", "networks", _network),
    Keep("10 deny any", "nobody", NOBODY),
)


def _key_value(_server: str, kind: str, key: str) -> str:
    """Parse a key; type 0 is clear text."""
    return key if kind == "0" else f"{kind} {key}"


def _snmp_user_facts(
    user: str, group: str, _engine: str | None, auth: str, password: str, privacy: str, key: str
) -> dict[str, str]:
    """Return the facts of an SNMPv3 user; a localized key replaces the password from which it is derived."""
    prefix = f"management/snmp/user[{user}]/"
    protocols = [SNMP_PROTOCOLS.get(word, word) for word in (auth, privacy)]
    return {
        prefix + "group": group,
        prefix + "level": " ".join(protocols),
        prefix + "auth/secret": password,
        prefix + "privacy/secret": key,
    }


def _server_rows(protocol: str, group_type: str) -> tuple[Row, ...]:
    """Return the rows about servers of one protocol that check logins."""
    return (
        Fact(f"aaa group server {group_type} <word>", f"management/{protocol}/group"),
        Block(
            f"aaa group server {group_type} <word>",
            "",
            (Entry(f"server <word> {_VRF}", f"{protocol} servers"),),
        ),
        Entry(f"{protocol}-server host <word> {_VRF} key <word> <word>", f"{protocol} keys", _key_value),
        Fact(f"ip {protocol} {_VRF} source-interface <word>", f"management/{protocol}/source"),
    )


ROWS: Sequence[Row] = (
    Fact("hostname <word>", "system/hostname"),
    Fact(f"no username {DEFAULT_ACCOUNT}", "management/default_account", "removed"),
    Fact("username <word> ssh-key <rest>", "user[{0}]/ssh_key"),
    Fact(f"username <word> privilege 15 role {ROLE} nopassword",
        {"user[{0}]/role": ROLE, "user[{0}]/password": "none"}),
    Fact("username <word> privilege <1-15> nopassword", {"user[{0}]/password": "none"}),
    Fact("username <word> role <word> nopassword", {"user[{0}]/role": "{1}", "user[{0}]/password": "none"}),
    Fact("username <word> nopassword", {"user[{0}]/password": "none"}),
    Fact(f"username <word> privilege 15 role {ROLE} secret *",
        {"user[{0}]/role": ROLE, "user[{0}]/password": UNTYPEABLE}),
    Fact(f"username <word> privilege 15 role {ROLE} secret sha512 <word>",
        lambda user, secret: {f"user[{user}]/role": ROLE, f"user[{user}]/password": HASHED,
            f"user[{user}]/secret": words.secret_reference(secret)}),
    Fact("banner login <rest>", "management/banner"),
    Silent("no aaa root"),
    Silent("no enable password"),
    Fact("service routing protocols model <word>", "platform/routing_agents"),
    Block("management telnet", "", (
        Fact("no shutdown", "management/telnet", "on"),
        Silent("shutdown"),
        Silent("idle-timeout <rest>"),
        Block("vrf <word>", "", (Fact("no shutdown", "management/telnet", "on"), Silent("shutdown"))),
    )),
    Fact("queue-monitor <word>", "management/queue_monitor"),
    Fact("lldp timer <integer>", "lldp/interval_s"),
    Fact("lldp hold-time <integer>", "lldp/hold_s"),
    Entry(f"logging {_VRF} host <word>", "syslog"),
    Entry(f"logging {_VRF} host <word> <integer> protocol tls ssl-profile <word>", "syslog tls", "{1} {2}"),
    Fact(f"logging {_VRF} source-interface <word>", "management/source[syslog]"),
    Entry(f"ntp server {_VRF} <word> [prefer] [iburst] [key <integer>]", "ntp", lambda _server, key: key or 0),
    Entry("ntp authentication-key <integer> <word> [0|7|8a] <word>", "ntp keys", "{1} {2}"),
    Entry("ntp trusted-key <word>", "ntp trusted"),
    Keep("ntp authenticate [servers]", "ntp authenticate"),
    Fact(f"ntp local-interface [{_VRF}] <word>", "management/source[ntp]"),
    Entry(f"ip name-server {_VRF} <word>...", "dns"),
    Silent("spanning-tree mode mstp"),
    Silent("end"),
    Silent(f"no ip routing {_VRF}"),
    Fact(f"ip route {_VRF} 0.0.0.0/0 <word>", "management/gateway"),
    Fact(f"ipv6 route {_VRF} ::/0 <word>", "management/gateway"),
    # Services that can be queried, and their clients.
    Block("ip access-list standard <word>", "access list", _NETWORKS),
    Block("ipv6 access-list standard <word>", "access list", _NETWORKS),
    Block("ip access-list <word>", "rules", (Entry("<integer> <permit|deny> <rest>", "rules", "{2} {3}"),)),
    Block("(system control-plane|control-plane)", "", (
        Fact("ip access-group <word> vrf default in", "control_plane/access_list_in"),
        Keep(f"ip access-group <word> {_VRF} in", "control plane"),
        Fact("ip access-group <word> in", "control_plane/access_list_in"),
        Fact("ipv6 access-group <word> in", "control_plane/ipv6_access_list_in"),
    )),
    Fact("vrf instance MGMT", "platform/management_vrf", words.MANAGEMENT_VRF),
    Block("management ssh", "", (
        Keep(f"ip access-group <word> {_VRF} in", "access ssh"),
        Keep("ip access-group <word> [vrf default] in", "access ssh/default"),
        Keep("ipv6 access-group <word> in", "access ssh/ipv6"),
        Fact("shutdown", "management/ssh[default]", "off"),
        Fact("no shutdown", "management/ssh[default]", "on"),
        Entry("vrf <word>", "vrfs of services"),
        Block("vrf <word>", "", (
            Fact("no shutdown", "management/ssh", "{0}"),
            Fact("shutdown", "management/ssh[{0}]", "off"),
        )),
    )),
    Block("management api http-commands", "", (
        Silent("protocol https"),
        Silent("no shutdown"),
        Block("vrf default", "", (Fact("no shutdown", "management/open[http]", "default"),)),
        Entry("vrf <word>", "vrfs of services"),
        Block("vrf <word>", "", (
            Fact("no shutdown", "platform/http_api", "{0}"),
            Keep("ip access-group <word>", "access http"),
        )),
    )),
    Block("management api gnmi", "", (
        Fact(f"provider {GNMI_PROVIDER}", "management/gnmi_provider", GNMI_PROVIDER),
        Block("transport grpc <word>", "grpc", (
            Fact("ssl profile <word>", "management/gnmi_ssl_profile"),
            Keep("port <0-65535>", "gnmi port"),
            Keep("vrf <word>", "gnmi vrf"),
            Keep("ip access-group <word>", "access gnmi"),
        )),
    )),
    Block("management security", "", (
        Block("ssl profile <word>", "", (
            Fact("certificate <word> key <word>", "management/gnmi_certificate[{0}]", "{1} {2}"),
            Fact("trust certificate <word>", "management/ssl_trust[{0}]"),
        )),
    )),
    Fact("snmp-server vrf <word>", "management/snmp[{0}]", "on"),
    Fact("no snmp-server vrf <word>", "management/snmp[{0}]", "off"),
    Keep(f"snmp-server ipv4 access-list <word> {_VRF}", "access snmp"),
    Fact("snmp-server contact <rest>", "management/snmp/contact"),
    Fact("snmp-server location <rest>", "management/snmp/location"),
    Fact("snmp-server community <word> ro", "management/snmp/secret"),
    Fact("snmp-server community <word> <ro|rw> <word>", "management/snmp/use-ip", lambda _name, _right, listed: listed),
    Fact("snmp-server view <word> <word> <included|excluded>", "management/snmp_view[{0}]", "{1} {2}"),
    Fact("snmp-server group <word> v3 <rest>", "management/snmp_group[{0}]"),
    Fact("snmp-server user <word> <word> v3 [localized <word>] auth <word> <word> priv <word> <word>",
        _snmp_user_facts),
    Fact(f"snmp-server host <word> {_VRF} version 3 priv <word>", "management/snmp_trap[{0}]/user"),
    Fact("snmp-server enable traps", "management/snmp/notifications", "on"),
    *(Fact(f"aaa {statement} <rest>", f"management/aaa[{statement}]") for statement in TACACS_AAA),
    *(row for protocol, group_type in GROUP_TYPES.items() for row in _server_rows(protocol, group_type)),
)  # fmt: skip


def finish(document: Document) -> None:
    """State facts that need several lines, and defaults without a line."""
    for kind in ("ntp", "dns"):
        document.put_set(f"management/{kind}", document.scope.table(kind))
    _finish_syslog(document)
    _finish_ntp_keys(document)
    document.default("lldp/interval_s", DEFAULT_LLDP_S)
    document.default("lldp/hold_s", DEFAULT_LLDP_HOLD_S)
    _finish_access(document)
    for protocol in GROUP_TYPES:
        _finish_login_servers(document, protocol)


def _finish_syslog(document: Document) -> None:
    """State the log servers, and of those over TLS the port and the certificate that their profile trusts.

    A server whose profile trusts none stays unread.
    """
    facts, lines = document.reading.facts, document.reading.lines
    over_tls, authorities = document.scope.table("syslog tls"), dict[Value, StoredValue]()
    document.put_set("management/syslog", {**document.scope.table("syslog"), **over_tls})
    for server, (stored, line) in over_tls.items():
        port, _, profile = str(stored).partition(" ")
        trust = f"management/ssl_trust[{profile}]"
        if trust not in facts:
            document.reject(line)
            continue
        document.put(f"management/syslog_tls[{server}]/port", int(port), line)
        authorities[str(facts[trust]).removesuffix(".crt")] = "", lines[trust][1]
    document.put_set("management/syslog_ca", authorities)


def _finish_ntp_keys(document: Document) -> None:
    scope = document.scope
    keys = {
        str(number): (str(stored).partition(" ")[0], str(stored).partition(" ")[2], line)
        for number, (stored, line) in scope.table("ntp keys").items()
    }
    servers = {str(server): stored for server, stored in scope.table("ntp").items()}
    trusted = ",".join(map(str, scope.table("ntp trusted"))).split(",")
    state_keys(document.put, keys, servers, trusted, scope.values.get("ntp authenticate", ("", None))[1])


def _finish_access(document: Document) -> None:
    scope = document.scope
    values, lists = dict(scope.values), scope.each("access list")
    for transport in scope.each("grpc").values():
        values |= transport.values
        if transport.values.keys().isdisjoint(("gnmi vrf", "access gnmi")):
            document.put("management/open[gnmi]", "default", transport.line)
    for service in _GUARDED:
        if f"access {service}" not in values:
            continue
        name, line = values[f"access {service}"]
        path = "management/access" if service == "ssh" else f"management/access[{service}]"
        listed = lists[name] if name in lists else Scope(line)
        listed.used = True
        networks = [*listed.ordered_entries("networks"), *filter(None, [listed.values.get("nobody")])]
        if rules := scope.each("rules").get(name):  # a list has one kind, so both blocks are its own
            rules.used = True
            networks += [
                (source, at)
                for rule, at in rules.ordered_entries("rules")
                for source in _permitted(str(rule))
            ]
        last = max((at for _, at in networks), default=listed.line)
        document.put(path, ",".join(sorted(str(network) for network, _ in networks)), last)
    applied = scope.each("rules").get(values["control plane"][0]) if "control plane" in values else None
    if applied is not None:
        applied.used = True
    for place, (rule, line) in enumerate(applied.ordered_entries("rules") if applied else ()):
        document.put(f"management/control_plane/{place}", rule, line)
    if "gnmi vrf" in values:
        name, line = values["gnmi vrf"]
        document.put("management/gnmi", name, line)
        document.put("management/gnmi_port", *values.get("gnmi port", (words.GRPC_PORT, line)))


def _permitted(rule: str) -> Iterator[str]:
    """Yield the source that a rule of an extended list permits, as a standard list states it."""
    action, _, source, wildcard = (*rule.split(), "", "", "", "")[:4]
    if action == "permit" and source == "host":
        yield _network("", wildcard)
    elif action == "permit" and source:
        yield source if source == "any" or "/" in source else _network("", source, wildcard)


def _finish_login_servers(document: Document, protocol: str) -> None:
    """State the servers of the group of one protocol, and their key if they share one."""
    keys, servers = document.scope.table(f"{protocol} keys"), document.scope.table(f"{protocol} servers")
    path = f"management/{protocol}"
    for host, stored in keys.items():
        document.put(f"{path}[{host}]/secret", *stored)
    if servers:
        line = max(line for _, line in servers.values())
        document.put(f"{path}/servers", ",".join(map(str, servers)), line)
        used = [keys.get(server, ("", 0)) for server in servers]
        one = len({key for key, _ in used}) == 1
        document.put(f"{path}/secret", used[0][0] if one else "", min(line for _, line in used))


TOPIC = Topic(ROWS, finish)
