"""Management, services and hashing of Junos: who may log in, what watches the switch, how it spreads flows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.junos import words
from fabricc.back.nos.junos.foreign.instances import GATEWAYS
from fabricc.back.nos.junos.words import SETTING, verbatim_rows
from fabricc.back.nos.management import leads_to_management, state_isolation, state_keys
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, StoredValue, Topic, Types
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, join_banner, setting_facts
from fabricc.fabric.routing import Reassignment, Spreading
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.model import Account, Snmp, SnmpTraps, SnmpUser, Switch

# One seed per tier, so that a tier does not repeat the choice of the one below: odd and widely spaced.
HASH_SEEDS = (2_654_435_769, 1_013_904_223, 3_668_339_987)
DYNAMIC = {Spreading.FLOWLET: "flowlet", Spreading.PACKET: "per-packet"}

ROLE = "super-user"
TEMPLATE_CLASS = "read-only"
SNMP_GROUP = "FABRICC"  # of SNMPv3 users, and the view that they read
SNMP_PROTOCOLS = {"aes128": "aes-128"}
PROTOCOL_WORDS = {"tacacs": "tacplus", "radius": "radius"}
ACCOUNTED = ("login", "change-log", "interactive-commands")

DEFAULT_LLDP_S = 30
DEFAULT_LLDP_MULTIPLIER = 4
DEFAULT_LLDP_DELAY_S = 2

DEPARTURES = (Departure("load_balancing/queue_pairs", LEFT_OUT, "hashed without a statement (FAB5522)"),)


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class UserView(NamedTuple):
    """A login account; `statement` names the kind of its key, `key` is quoted."""

    name: str
    statement: str
    key: str
    password: str


class SnmpView(NamedTuple):
    """Read-only SNMP; texts are quoted, None where there is none; `group` of SNMPv3 users, and the view they read."""

    community: str
    location: str | None
    contact: str | None
    users: tuple[SnmpUser, ...]
    traps: SnmpTraps | None
    group: str = SNMP_GROUP


class BalancingView(NamedTuple):
    """The spreading of ECMP.

    Attributes:
        seed: that of the tier.
        dynamic: the mode of dynamic load balancing; None for hashing.
        idle_us: the pause that ends a flowlet, in microseconds.
        reassignment: when a flow moves without a pause.
    """

    seed: int
    dynamic: str | None
    idle_us: int | None
    reassignment: Reassignment | None


@dataclass(frozen=True, slots=True)
class ServicesView:
    """Values of Junos in addition to a switch's `Management`.

    Attributes:
        instance, interface: of the out-of-band side; `family` and `default`: of its address and default route.
        root: whose key satisfies `root-authentication`; None without users.
        login_word: what Junos calls the protocol whose servers check logins; "" without servers.
        login_servers, login_key: those servers in the order of use, and a reference to their key.
        template_user: account whose rights users get that have no account; None where no server checks logins.
        accounted: the events that are reported to the servers.
        certificate: name of the certificate that gNMI shows.
        lldp_s, lldp_delay_s: None at Junos's defaults.
    """

    instance: str
    interface: str
    family: str
    default: str
    users: list[UserView]
    root: UserView | None
    login_word: str
    login_servers: tuple[str, ...]
    login_key: str
    ca_group: str
    template_user: str | None
    template_class: str
    accounted: tuple[str, ...]
    snmp: SnmpView | None
    certificate: str
    lldp_s: int | None
    lldp_delay_s: int | None


def services_view(switch: Switch) -> ServicesView:
    """Return what Junos makes of a switch's management."""
    management = switch.management
    ipv6 = ":" in management.address
    users = [_user_view(user) for user in management.users]
    protocol, requested = management.login or ("", None)
    return ServicesView(
        instance=words.MANAGEMENT_INSTANCE,
        interface=words.MANAGEMENT_INTERFACES[words.junos_flavor(switch)],
        family="inet6" if ipv6 else "inet",
        default="::/0" if ipv6 else "0.0.0.0/0",
        users=users,
        root=users[0] if users else None,
        login_word=PROTOCOL_WORDS.get(protocol, ""),
        login_servers=requested.servers if requested else (),
        login_key=requested.key if requested else "",
        ca_group=words.CA_GROUP,
        template_user=words.TEMPLATE_USER if requested else None,
        template_class=TEMPLATE_CLASS,
        accounted=ACCOUNTED,
        snmp=_snmp_view(management.snmp) if management.snmp else None,
        certificate=words.CERTIFICATE,
        lldp_s=management.lldp_interval_s if management.lldp_interval_s != DEFAULT_LLDP_S else None,
        lldp_delay_s=_lldp_delay_s(management.lldp_interval_s),
    )


def balancing_view(switch: Switch) -> BalancingView:
    """Return how a switch spreads flows; without a mode Junos chooses by flow."""
    balancing = switch.load_balancing
    return BalancingView(
        HASH_SEEDS[switch.tier_index],
        DYNAMIC.get(balancing.mode),
        balancing.flowlet_idle_us,
        balancing.reassignment,
    )


def _snmp_view(snmp: Snmp) -> SnmpView:
    location, contact = (words.quote_text(text) if text else None for text in (snmp.location, snmp.contact))
    return SnmpView(snmp.community, location, contact, snmp.users, snmp.traps)


def _user_view(user: Account) -> UserView:
    """`gaps` reports a kind of key that Junos does not take."""
    kind = user.ssh_key.partition(" ")[0]
    return UserView(
        user.name, words.KEY_STATEMENTS.get(kind, kind), words.quote_text(user.ssh_key), user.password
    )


def _lldp_delay_s(interval_s: int) -> int | None:
    """`transmit-delay` of LLDP in seconds, at most a quarter of the interval (IEEE 802.1AB-2005, txDelay).

    None where Junos's own 2 s fit.
    """
    return None if interval_s >= 4 * DEFAULT_LLDP_DELAY_S else max(1, interval_s // 4)


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add settings and further facts of Junos about the device."""
    facts |= setting_facts(switch)
    facts.pop("load_balancing/queue_pairs", None)
    for port in switch.ports:
        if not port.trusted:
            del facts[port_paths(port.name)["set_dscp"]]
    management, view = switch.management, services_view(switch)
    facts |= {
        "platform/log[messages]/any": "notice",
        "platform/log[messages]/authorization": "info",
        "platform/root_login": "deny",
        "platform/netconf": "ssh",
        "platform/management_instance": "true",
        "platform/management_interface": view.interface,
        "platform/hash_seed": balancing_view(switch).seed,
        "platform/lldp/ports": "all",
        "platform/spanning_tree": words.NONE,
        "platform/lldp/port_id": "interface-name",
        "platform/lldp/hold_s": DEFAULT_LLDP_MULTIPLIER * management.lldp_interval_s,
    }
    facts |= {f"user[{user.name}]/role": ROLE for user in view.users}
    facts |= {f"platform/syslog[{server}]/any": "notice" for server in management.syslog}
    if management.syslog and management.syslog_tls:
        facts[f"platform/ca_profile[{management.syslog_tls.ca}]"] = management.syslog_tls.ca
    if view.users:
        facts["platform/root_ssh_key"] = management.users[0].ssh_key
    if view.lldp_delay_s is not None:
        facts["platform/lldp/delay_s"] = view.lldp_delay_s
    if view.snmp:
        facts["platform/snmp/instances"] = "true"
        if view.snmp.community:
            facts["platform/snmp/community_instance"] = view.instance
        for user in view.snmp.users:
            facts[f"platform/snmp/group[{user.name}]"] = view.snmp.group
        if view.snmp.users:
            facts[f"platform/snmp/view[{view.snmp.group}]"] = ".1 include"
            facts[f"platform/snmp/access[{view.snmp.group}]"] = f"privacy read-view {view.snmp.group}"
        if traps := view.snmp.traps:
            group = view.snmp.group
            facts[f"platform/snmp/notify_view[{group}]"] = f"privacy {group}"
            facts |= {
                f"platform/snmp/target[{group}]/message-processing-model": "v3",
                f"platform/snmp/target[{group}]/security-model": "usm",
                f"platform/snmp/target[{group}]/security-level": "privacy",
                f"platform/snmp/target[{group}]/security-name": traps.user,
                f"platform/snmp/notify[{group}]/type": "trap",
                f"platform/snmp/notify[{group}]/tag": group,
            }
            for server in traps.servers:
                facts[f"platform/snmp/receiver[{server}]/tag-list"] = group
                facts[f"platform/snmp/receiver[{server}]/routing-instance"] = view.instance
                facts[f"platform/snmp/receiver[{server}]/target-parameters"] = group
    if management.gnmi_port is not None:
        facts["platform/gnmi/certificate"] = view.certificate
        facts["platform/gnmi/pki"] = "true"
        facts["platform/gnmi/instance"] = view.instance
    if management.login:
        for server in view.login_servers:
            facts[f"platform/{management.login[0]}[{server}]/instance"] = view.instance
            facts[f"platform/{management.login[0]}[{server}]/secret"] = view.login_key
        facts[f"user[{view.template_user}]/role"] = view.template_class
        facts["platform/authentication_order"] = f"{view.login_word},password"
        facts["platform/accounting/events"] = ",".join(sorted(view.accounted))
        facts["platform/accounting/destination"] = view.login_word


# --- and back -----------------------------------------------------------------------------------------

_HERE = f"routing-instance {words.MANAGEMENT_INSTANCE}"
_GRPC = "system services extension-service request-response grpc"
_SNMP_V3 = "snmp v3"
_SHA2 = ("sha224", "sha256", "sha384", "sha512")
_OF_MODE = "flowset-table-size|sampling-rate|ether-type"
_HASHING = "forwarding-options enhanced-hash-key"
_LEAK = re.compile(r"\b(instance-import|rib-groups?|next-table)\b")
_ROUTE = "static_route["
TYPES: Types = {
    "mode": {word: mode.value for mode, word in DYNAMIC.items()},
    "authentication": {f"authentication-{word}": word for word in ("md5", "sha", *_SHA2)},
    "privacy": {f"privacy-{word}": word for word in ("aes128", "aes192", "aes256", "3des", "des")},
}


def _ssh_key(kind: str, key: str) -> str | None:
    """Return an SSH key, where it stands under the word for its kind."""
    return key if words.KEY_STATEMENTS.get(key.partition(" ")[0]) == kind else None


def _snmp_password(protocol: str, password: str) -> str:
    """Return a protocol of an SNMPv3 user, with its reference; the key that a password becomes is only `set`."""
    return f"{protocol} {words.secret_reference(password)}"


ROWS: Sequence[Row] = (
    Fact("version <word>", "platform/version"),
    Fact("system host-name <word>", "system/hostname"),
    Fact("system root-authentication <word> <word>", "platform/root_ssh_key", _ssh_key),
    Fact("system login message <word>", "management/banner", join_banner),
    Fact("system login user <word> class <word>", "user[{0}]/role"),
    Fact("system login user <word> authentication encrypted-password <word>", "user[{0}]/secret",
         lambda _user, password: words.secret_reference(password) if password else None),
    Fact("system login user <word> authentication <word> <word>", "user[{0}]/ssh_key",
         lambda _user, kind, key: _ssh_key(kind, key)),
    Fact("system services ssh", "platform/ssh"),
    Fact("system services ssh root-login <word>", "platform/root_login"),
    Fact("system services netconf ssh", "platform/netconf", "ssh"),
    Fact("system services telnet", "management/telnet", "on"),
    Fact("system management-instance", "platform/management_instance"),
    Fact("system syslog file <word> <word> <word>", "platform/log[{0}]/{1}"),
    Block("system syslog host <word>", "syslog", (
        Keep("any <word>", "any"),
        Keep(_HERE, "here"),
        Keep("port <integer>", "port"),
        Keep("transport tls", "tls"),
        Keep("tlsdetails trusted-ca-group <word> ca-profiles <word>", "ca", lambda _group, profile: profile),
    )),
    Fact("security pki ca-profile <word> ca-identity <word>", "platform/ca_profile[{0}]"),
    Entry(f"system ntp server <word> [key <integer>] {_HERE}", "ntp", lambda _server, key: key or 0),
    Entry("system ntp authentication-key <integer> type <word> value <word>", "ntp keys",
          lambda _number, kind, key: f"{kind} {words.secret_reference(key)}"),
    Entry("system ntp trusted-key <word>", "ntp trusted"),
    Entry(f"system name-server <word> {_HERE}", "dns"),
    # Who authenticates, and what watches.
    *(
        Block(f"system {word}-server <word>", protocol, (
            Keep("routing-instance <word>", "instance"),
            Keep("secret <word>", "secret", words.secret_reference),
        ))
        for protocol, word in PROTOCOL_WORDS.items()
    ),
    Entry("system authentication-order <word>", "authentication order"),
    Entry("system accounting events <word>", "accounted"),
    Fact("system accounting destination <word>", "platform/accounting/destination"),
    Fact("snmp community <word> authorization read-only", "management/snmp/secret", words.community_name),
    Entry("snmp community <word> client-list-name <word>", "snmp lists", lambda _community, name: name),
    Fact("snmp community <word> routing-instance <word>", "platform/snmp/community_instance",
         lambda _community, instance: instance),
    Block(f"{_SNMP_V3} usm local-engine user <word>", "snmp user", (
        Keep("<authentication> (authentication-password|authentication-key) <word>", "auth", _snmp_password),
        Keep("<privacy> (privacy-password|privacy-key) <word>", "privacy", _snmp_password),
    )),
    Fact(f"{_SNMP_V3} vacm security-to-group security-model usm security-name <word> group <word>",
         "platform/snmp/group[{0}]"),
    Fact(f"{_SNMP_V3} vacm access group <word> default-context-prefix security-model usm security-level <word> "
         "read-view <word>", "platform/snmp/access[{0}]", "{1} read-view {2}"),
    Fact(f"{_SNMP_V3} vacm access group <word> default-context-prefix security-model usm security-level <word> "
         "notify-view <word>", "platform/snmp/notify_view[{0}]", "{1} {2}"),
    Block(f"{_SNMP_V3} target-address <word>", "snmp receiver", (
        Keep("address <word>", "address"),
        Keep("tag-list <word>", "tag-list"),
        Keep("routing-instance <word>", "routing-instance"),
        Keep("target-parameters <word>", "target-parameters"),
    )),
    Fact(f"{_SNMP_V3} target-parameters <word> parameters <word> <word>", "platform/snmp/target[{0}]/{1}", "{2}"),
    Fact(f"{_SNMP_V3} notify <word> <type|tag> <word>", "platform/snmp/notify[{0}]/{1}", "{2}"),
    Fact("snmp view <word> oid <word> <include|exclude>", "platform/snmp/view[{0}]", "{1} {2}"),
    Fact("snmp <location|contact> <word>", "management/snmp/{0}"),
    Fact("snmp routing-instance-access", "platform/snmp/instances"),
    Fact(f"{_GRPC} ssl port <integer>", "management/gnmi_port"),
    Fact(f"{_GRPC} ssl local-certificate <word>", "platform/gnmi/certificate"),
    Fact(f"{_GRPC} ssl use-pki", "platform/gnmi/pki"),
    Fact(f"{_GRPC} routing-instance <word>", "platform/gnmi/instance"),
    Block("protocols lldp", "lldp", (
        Fact("port-id-subtype <word>", "platform/lldp/port_id"),
        Fact("interface all", "platform/lldp/ports", "all"),
        Fact("[interface all] disable", "lldp/enabled", "false"),
        Keep("advertisement-interval <integer>", "interval_s"),
        Keep("hold-multiplier <integer>", "multiplier"),
        Fact("transmit-delay <integer>", "platform/lldp/delay_s"),
    )),
    # How flows are spread.
    Fact(f"{_HASHING} hash-seed <integer>", "platform/hash_seed"),
    Fact(f"{_HASHING} ecmp-dlb <mode>", "load_balancing/mode"),
    Fact(f"{_HASHING} ecmp-dlb <mode> inactivity-interval <integer>",
         {"load_balancing/mode": "{0}", "load_balancing/flowlet_idle_us": "{1}"}),
    Fact(f"{_HASHING} ecmp-dlb <mode> reassignment prob-threshold <integer>",
         {"load_balancing/mode": "{0}", "load_balancing/reassignment/probability": "{1}"}),
    Fact(f"{_HASHING} ecmp-dlb <mode> reassignment quality-delta <integer>",
         {"load_balancing/mode": "{0}", "load_balancing/reassignment/quality_delta": "{1}"}),
    Keep(f"{_HASHING} ecmp-dlb <mode> <{_OF_MODE}> [<below>]",
         lambda _mode, word, below: {f"{SETTING} ecmp-dlb {word} {below or 'true'}": "true"}),
    *verbatim_rows("assigned-flow ether-type sampling-rate egress-quantization", f"{_HASHING} ecmp-dlb",
        lead="ecmp-dlb"),
)  # fmt: skip


_WILDCARDS = set("*[?")
_SEED, _LARGEST_SEED = "platform/hash_seed", 2**32 - 1
_LLDP_PORT, _LLDP_PORTS = "protocols lldp interface ", ("platform/lldp/ports", "lldp/enabled")


def finish(document: Document) -> None:
    """State servers that are reached through the management instance, LLDP's timers, and whether it is separate."""
    scope, lines = document.scope, document.reading.lines
    if _SEED in lines:
        words.put_refused(
            document, "hash-seed", (document.reading.facts[_SEED], lines[_SEED][1]), 0, _LARGEST_SEED
        )
    _finish_accounts(document)
    for kind in ("ntp", "dns"):
        document.put_set(f"management/{kind}", scope.table(kind))
    _finish_ntp_keys(document)
    document.put_set("platform/accounting/events", scope.table("accounted"))
    if order := scope.table("authentication order"):
        methods = ",".join(map(str, order))
        document.put("platform/authentication_order", methods, max(line for _, line in order.values()))
    logging, authorities = dict[Value, StoredValue](), dict[Value, StoredValue]()
    for host, stored in scope.each("syslog").items():
        if {"any", "here"} <= stored.values.keys():
            logging[str(host)] = (stored.values["any"][0], stored.line)
            document.put(f"platform/syslog[{host}]/any", *stored.values["any"])
        elif "any" in stored.values:
            document.reject(stored.values["any"][1])
        authorities |= _finish_syslog_tls(document, str(host), stored.values)
    document.put_set("management/syslog", logging)
    document.put_set("management/syslog_ca", authorities)
    for protocol in PROTOCOL_WORDS:
        _finish_login_servers(document, protocol)
    _finish_snmp_users(document)
    _finish_traps(document)
    _finish_management(document)
    for lldp in scope.each("lldp").values():
        named = {
            text.split()[3]: line for _, line, text in document.reading.unknown if text.startswith(_LLDP_PORT)
        }
        ports = scope.each("interface")
        for name, line in named.items() if ports else ():
            if name.partition(".")[0] not in ports and not set(name) & _WILDCARDS:
                why = "`interfaces` has no such port"
                document.put(f"unread[protocols lldp interface {name}]", why, line)
        if not named and document.reading.facts.keys().isdisjoint(_LLDP_PORTS):
            why = "it names no interface (Juniper, `edit protocols lldp interface`)"
            document.put("unread[protocols lldp]", why, lldp.line)
            continue
        interval_s, line = lldp.values.get("interval_s", (DEFAULT_LLDP_S, lldp.line))
        document.put("lldp/interval_s", interval_s, line)
        times, line = lldp.values.get("multiplier", (DEFAULT_LLDP_MULTIPLIER, line))
        document.put("platform/lldp/hold_s", int(interval_s) * int(times), line)


def _finish_accounts(document: Document) -> None:
    """State accounts without a key or a password, where no server knows the people either."""
    facts = document.reading.facts
    known = "platform/authentication_order" in facts or document.scope.table("authentication order")
    roles = [path for path in facts if path.startswith("user[") and path.endswith("]/role")]
    for path in roles if not known else ():
        account = path.removesuffix("role")
        if f"{account}ssh_key" not in facts and f"{account}secret" not in facts:
            why = "it has no key and no password"
            document.put(f"unread[account {account[5:-2]}]", why, document.reading.lines[path][1])


def _finish_syslog_tls(
    document: Document, host: str, values: Mapping[str, StoredValue]
) -> dict[Value, StoredValue]:
    """State the port of a log server over TLS and return its CA; a port or a CA without TLS stays unread."""
    over_tls = {word: values[word] for word in ("port", "ca", "tls") if word in values}
    if over_tls.keys() == {"port", "ca", "tls"}:
        document.put(f"management/syslog_tls[{host}]/port", *over_tls["port"])
        return {over_tls["ca"][0]: over_tls["ca"]}
    for _, line in over_tls.values():
        document.reject(line)
    return {}


def _finish_ntp_keys(document: Document) -> None:
    """State the keys; Junos requires authentication of a server that has a trusted key."""
    scope = document.scope
    keys = {
        str(number): (str(stored).partition(" ")[0], str(stored).partition(" ")[2], line)
        for number, (stored, line) in scope.table("ntp keys").items()
    }
    trusted = {str(number): line for number, (_, line) in scope.table("ntp trusted").items()}
    servers = {str(server): stored for server, stored in scope.table("ntp").items()}
    state_keys(document.put, keys, servers, trusted, max(trusted.values(), default=None))


def _finish_management(document: Document) -> None:
    """State the gateway, that of the address's family, and whether the port's routes are separate."""
    facts, lines = document.reading.facts, document.reading.lines
    inet6 = ":" in str(facts.get("management/address", ""))
    routes = document.scope.each(GATEWAYS)
    for prefix, route in routes.items():
        line = max([route.line, *(line for _, line in route.table("via").values())])
        if len(routes) == 1 or (":" in str(prefix)) is inet6:
            document.put("management/gateway", ",".join(map(str, route.table("via"))), line)
            if "management/address" not in facts and not any(path.endswith("]/dhcp") for path in facts):
                document.put("unread[management gateway]", "the management port has no address", line)
        else:
            hops = ",".join(map(str, route.table("via")))
            document.put(f"vrf[{words.MANAGEMENT_INSTANCE}]/static_route[{prefix}]", hops, line)
            stated = [path for path in facts if path.startswith("management/address/also[")]
            if not any((":" in each) == (":" in str(prefix)) for each in (*stated, "" if not inet6 else ":")):
                document.put(
                    f"unread[gateway {hops}]", "the management port has no address of its family", line
                )
    using = next((path for path, value in facts.items() if value == words.MANAGEMENT_INSTANCE), "")
    if using in lines and "platform/management_instance" not in facts:
        why = "`system management-instance` is not stated"
        document.put(f"unread[routing-instance {words.MANAGEMENT_INSTANCE}]", why, lines[using][1])
    for name, line in document.scope.table("snmp lists").values():
        listed = document.scope.each("prefix list").get(str(name))
        if listed and "0.0.0.0/0" in map(str, listed.table("prefixes")):
            document.put("access[snmp]", "0.0.0.0/0", line)
    leading = (path for path, via in facts.items() if _ROUTE in path and leads_to_management(via))
    leak = next((lines[path] for path in leading if path in lines), None)
    joins = any(_LEAK.search(path) and words.MANAGEMENT_INSTANCE in f"{path} {facts[path]}" for path in facts)
    if "management/address" in facts or leak or joins:
        instance = lines.get("platform/management_instance")
        place = instance or lines.get("management/address", ("", 0))
        apart = instance is not None and leak is None
        state_isolation(document.reading, apart, leak or place, _LEAK, words.MANAGEMENT_INSTANCE)


def _finish_snmp_users(document: Document) -> None:
    """State users with both protocols; `none` stands for one that a user lacks."""
    for name, user in document.scope.each("snmp user").items():
        prefix, level, line = f"management/snmp/user[{name}]/", [], user.line
        for kind in ("auth", "privacy"):
            stored, line = user.values.get(kind, ("none", line))
            protocol, _, secret = str(stored).partition(" ")
            level.append(SNMP_PROTOCOLS.get(protocol, protocol))
            if secret:
                document.put(f"{prefix}{kind}/secret", secret, line)
        document.put(prefix + "level", " ".join(level), line)


def _finish_traps(document: Document) -> None:
    """State the receivers of traps by address, and the user of their parameters."""
    facts = document.reading.facts
    for receiver in document.scope.each("snmp receiver").values():
        values = dict(receiver.values)
        address, line = values.pop("address", ("", receiver.line))
        for word, stored in values.items():
            document.put(f"platform/snmp/receiver[{address}]/{word}", *stored)
        parameters = values.get("target-parameters", ("", line))[0]
        if user := facts.get(f"platform/snmp/target[{parameters}]/security-name"):
            document.put(f"management/snmp_trap[{address}]/user", user, line)


def _finish_login_servers(document: Document, protocol: str) -> None:
    """State the servers of one protocol in their order, and their key if they share one."""
    servers: list[tuple[str, int]] = []
    keys: dict[Value, int] = {}
    for name, server in document.scope.each(protocol).items():
        for word, stored in server.values.items():
            document.put(f"platform/{protocol}[{name}]/{word}", *stored)
        if server.values.get("instance", ("", 0))[0] == words.MANAGEMENT_INSTANCE:
            servers.append((str(name), server.line))
        if "secret" in server.values:
            keys.setdefault(*server.values["secret"])
    if servers:
        names = ",".join(name for name, _ in servers)
        document.put(f"management/{protocol}/servers", names, servers[-1][1])
    if keys:
        key = next(iter(keys)) if len(keys) == 1 else ""
        document.put(f"management/{protocol}/secret", key, max(keys.values()))


TOPIC = Topic(ROWS, finish)
