"""Management, services and hashing of EOS: who may log in, what watches the switch, how it spreads flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.order import in_address_order
from fabricc.back.nos.departures import LEFT_OUT, Departure
from fabricc.back.nos.eos import words
from fabricc.back.nos.eos.limits import HASH_SEED, has
from fabricc.back.nos.eos.words import control_plane
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Scope, Silent, Topic
from fabricc.base.order import natural_key
from fabricc.base.values import dataclass
from fabricc.fabric.facts import setting_facts
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Account, Snmp, Switch, Tacacs

DEFAULT_ACCOUNT = "admin"  # without a password; `rollback clean-config` brings it back
ACCESS_LIST = "FABRICC-ACCESS"
NOBODY_LIST = "FABRICC-NOBODY"  # who may log in over IPv6 from the fabric: access networks are IPv4
NOBODY = "nobody"
CONTROL_PLANE_LIST = "FABRICC-CONTROL-PLANE"
SERVER_GROUP = "FABRICC"
SNMP_GROUP = "FABRICC"  # of SNMPv3 users, and the view that they read
SNMP_PROTOCOLS = {"sha": "sha", "aes": "aes-128", "aes128": "aes-128"}
ROLE = "network-admin"
UNTYPEABLE = "untypeable"  # a password that no text fits, for accounts with a key alone
GNMI_PROVIDER = "eos-native"  # the paths of EOS itself, in addition to those of OpenConfig
ROUTING_AGENTS = "multi-agent"
QUEUE_MONITOR = "length"  # what EOS samples of its queues
DEFAULT_LLDP_S = 30
DEFAULT_LLDP_HOLD_S = 120
LLDP_HOLD = 4  # announcements that may be lost until a neighbour forgets, IEEE 802.1AB msgTxHold

# Without it a session opens unprivileged, whatever the account's level (Arista, Common AAA Requirements).
LOCAL_AAA = {"authorization exec default": "local"}
# `aaa` statements about the group of TACACS+ servers; local accounts answer when no server does.
AAA = {
    "authentication login default": f"group {SERVER_GROUP} local",
    "authorization exec default": f"group {SERVER_GROUP} local",
    "authorization commands all default": f"group {SERVER_GROUP} local",
    "accounting exec default": f"start-stop group {SERVER_GROUP}",
    "accounting commands all default": f"start-stop group {SERVER_GROUP}",
}
# Destination queue pair in the base transport header (InfiniBand Architecture 1.4, 9.2.1): bytes 5 to 7 after the
# 8 bytes of UDP. The trident family takes one byte a line, counted from the UDP header.
QUEUE_PAIR_OFFSETS = (13, 14, 15)
QUEUE_PAIR_BYTES = "5-7"
QUEUE_PAIR_PROFILE = "ROCE-QP"
ROCE_PORT = 4791
QUEUE_PAIR_PAYLOAD = f"udp {ROCE_PORT} payload {QUEUE_PAIR_BYTES}"
# One hash seed per tier, from 1, as EOS's own is 0 and not printed; `trident` takes up to 5 (EOS user manual, IPv4).
HASH_SEEDS = (1, 2, 3)

DEPARTURES = (
    Departure("load_balancing/mode", LEFT_OUT, "the sand family has no dynamic load balancing (FAB5117)"),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "nor its pause (FAB5118)"),
    Departure("load_balancing/global", LEFT_OUT, "switches report no loads (FAB5117)"),
)


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
        lldp_s, lldp_hold_s: announcements, and until a neighbour forgets; `lldp_printed`: those not at the default.
    """

    vrf: str
    interface: str
    access_list: str | None
    nobody_list: str | None
    access: list[str]
    aaa: list[tuple[str, str]]
    server_group: str
    tacacs: Tacacs | None
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
    ntp: list[str]
    dns: list[str]
    syslog: list[str]
    users: list[Account]
    removes_default_account: bool


@dataclass(frozen=True, slots=True)
class BalancingView:
    """How packets are routed and flows spread.

    Attributes:
        unnumbered: whether IPv4 is routed over interfaces with IPv6 alone; `ipv6`: whether IPv6 is routed.
        seed: the tier's, None where EOS has no word for it.
        mode: of dynamic load balancing, None where it is off.
        flowlet_idle_us: after how long a pause a flow may move; None for EOS's own.
        queue_pair_fields: (Ethernet type, offset) of each byte hashed of the queue pair, trident family.
        queue_pair_profile: name of the hash profile that does so, sand family.
    """

    unnumbered: bool
    ipv6: bool
    seed: int | None
    mode: Spreading | None
    per_packet: bool
    flowlet_idle_us: int | None
    queue_pair_fields: list[tuple[str, int]]
    queue_pair_profile: str | None


def balancing_view(switch: Switch) -> BalancingView:
    """What EOS makes of routing and load balancing."""
    asked, trident = switch.load_balancing, words.is_trident(switch)
    unnumbered = True in [port.unnumbered for port in switch.ports]
    types = [name for name, used in (("IPv4", switch.bgp.ipv4), ("IPv6", switch.bgp.ipv6)) if used]
    dynamic = trident and asked.mode is not Spreading.HASH
    return BalancingView(
        unnumbered=unnumbered,
        ipv6=unnumbered or switch.bgp.ipv6,
        seed=HASH_SEEDS[switch.tier_index] if has(switch, HASH_SEED) else None,
        mode=asked.mode if dynamic else None,
        per_packet=dynamic and asked.mode is Spreading.PACKET,
        flowlet_idle_us=asked.flowlet_idle_us if trident else None,
        queue_pair_fields=[(name, at) for name in types for at in QUEUE_PAIR_OFFSETS]
        if asked.queue_pairs and trident
        else [],
        queue_pair_profile=QUEUE_PAIR_PROFILE if asked.queue_pairs and not trident else None,
    )


def management_view(switch: Switch, balancing: BalancingView) -> ManagementView:
    """What EOS makes of the out-of-band side."""
    management = switch.management
    lldp_s = management.lldp_interval_s
    lldp = (("timer", lldp_s, DEFAULT_LLDP_S), ("hold-time", LLDP_HOLD * lldp_s, DEFAULT_LLDP_HOLD_S))
    return ManagementView(
        vrf=words.MANAGEMENT_VRF,
        interface=words.management_interface(switch),
        access_list=ACCESS_LIST if management.access else None,
        nobody_list=NOBODY_LIST if management.access and balancing.ipv6 else None,
        access=in_address_order(management.access),
        aaa=list((AAA if management.tacacs else LOCAL_AAA).items()),
        server_group=SERVER_GROUP,
        tacacs=management.tacacs,
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
        ntp=in_address_order(management.ntp),
        dns=in_address_order(management.dns),
        syslog=in_address_order(management.syslog),
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
    _state_balancing(facts, balancing)
    facts["platform/management_vrf"] = facts["platform/http_api"] = view.vrf
    facts["platform/routing_agents"] = ROUTING_AGENTS
    facts["management/queue_monitor"] = QUEUE_MONITOR
    facts["lldp/hold_s"] = view.lldp_hold_s
    for user in view.users:
        facts[f"user[{user.name}]/role"] = ROLE
        facts[f"user[{user.name}]/password"] = UNTYPEABLE
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
            facts[f"management/snmp_group[{group}]"] = f"priv read {group}"
            facts |= {f"management/snmp/user[{user.name}]/group": group for user in view.snmp.users}
    if view.gnmi_port is not None:
        profile = view.ssl_profile
        facts["management/gnmi"] = view.vrf
        facts["management/gnmi_provider"] = GNMI_PROVIDER
        facts["management/gnmi_ssl_profile"] = profile
        facts[f"management/gnmi_certificate[{profile}]"] = f"{profile}.crt {profile}.key"
        facts |= {f"management/control_plane/{at}": rule for at, rule in enumerate(view.control_plane)}
    if view.tacacs:
        facts["management/tacacs/group"] = view.server_group
        facts["management/tacacs/source"] = view.interface
        facts |= {f"management/tacacs[{server}]/secret": view.tacacs.key for server in view.tacacs.servers}


def _state_balancing(facts: Facts, view: BalancingView) -> None:
    facts["platform/routing"] = "ipv6 interfaces" if view.unnumbered else "ip"
    if view.ipv6:
        facts["platform/routing_ipv6"] = "true"
    if view.seed is not None:
        facts["platform/hash_seed"] = view.seed
    facts.pop("load_balancing/global", None)
    if view.mode is None:
        facts.pop("load_balancing/mode", None)
    if view.flowlet_idle_us is None:
        facts.pop("load_balancing/flowlet_idle_us", None)
    for kind in {kind for kind, _ in view.queue_pair_fields}:
        facts[f"load_balancing/hash_bytes[{kind}]"] = ",".join(map(str, QUEUE_PAIR_OFFSETS))
    if view.queue_pair_profile:
        facts["load_balancing/hash_profile"] = view.queue_pair_profile
        facts[f"load_balancing/hash_profile[{view.queue_pair_profile}]"] = QUEUE_PAIR_PAYLOAD


# --- and back -----------------------------------------------------------------------------------------

_VRF = f"vrf {words.MANAGEMENT_VRF}"
_DYNAMIC = "ip hardware fib load-balance distribution dynamic"
_GUARDED = ("http", "snmp", "gnmi", "ssh", "ssh/default", "ssh/ipv6")
_NETWORKS = (Entry("<integer> permit <word>", "networks"), Keep("10 deny any", "nobody", NOBODY))


def _key_value(_server: str, kind: str, key: str) -> str:
    """A key of type 0 is as the administrator knows it."""
    return key if kind == "0" else f"{kind} {key}"


def _snmp_user_facts(
    user: str, group: str, _engine: str | None, auth: str, password: str, privacy: str, key: str
) -> dict[str, str]:
    """Return the facts of an SNMPv3 user; a localized key stands in the place of the password that it is made of."""
    prefix = f"management/snmp/user[{user}]/"
    protocols = [SNMP_PROTOCOLS.get(word, word) for word in (auth, privacy)]
    return {
        prefix + "group": group,
        prefix + "level": " ".join(protocols),
        prefix + "auth/secret": password,
        prefix + "privacy/secret": key,
    }


ROWS: Sequence[Row] = (
    Fact("hostname <word>", "system/hostname"),
    Fact(f"no username {DEFAULT_ACCOUNT}", "management/default_account", "removed"),
    Fact("username <word> ssh-key <rest>", "user[{0}]/ssh_key"),
    Fact(f"username <word> privilege 15 role {ROLE} nopassword",
        {"user[{0}]/role": ROLE, "user[{0}]/password": "none"}),
    Fact(f"username <word> privilege 15 role {ROLE} secret *",
        {"user[{0}]/role": ROLE, "user[{0}]/password": UNTYPEABLE}),
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
    Fact(f"logging {_VRF} source-interface <word>", "management/source[syslog]"),
    Entry(f"ntp server {_VRF} <word> [prefer] [iburst]", "ntp"),
    Fact(f"ntp local-interface [{_VRF}] <word>", "management/source[ntp]"),
    Entry(f"ip name-server {_VRF} <word>...", "dns"),
    Silent("spanning-tree mode mstp"),
    Silent("end"),
    # Routing and hashing.
    Fact("ip routing", "platform/routing", "ip"),
    Fact("ip routing ipv6 interfaces", "platform/routing", "ipv6 interfaces"),
    Fact("ipv6 unicast-routing", "platform/routing_ipv6"),
    Silent(f"no ip routing {_VRF}"),
    Fact(f"ip route {_VRF} 0.0.0.0/0 <word>", "management/gateway"),
    Fact(f"ipv6 route {_VRF} ::/0 <word>", "management/gateway"),
    Fact("ip load-sharing trident <integer>", "platform/hash_seed"),
    Keep(_DYNAMIC, "dynamic"),
    Keep(f"{_DYNAMIC} inactivity-threshold <integer> microseconds", "dynamic pause"),
    Keep(f"{_DYNAMIC} member-selection optimal always", "dynamic packet"),
    Each("port-channel load-balance trident udf eth-type <word> ip-protocol udp header outer l4", "hashed", (
        Entry("offset <integer> mask 0xFF", "offsets"),
    )),
    Fact("port-channel load-balance sand profile <word>", "load_balancing/hash_profile"),
    Block("load-balance policies", "", (
        Block("load-balance sand profile <word>", "", (
            Block("fields udp dst-port <word>", "", (
                Fact("payload bytes <word>", "load_balancing/hash_profile[{0}]", "udp {1} payload {2}"),
            )),
        )),
    )),
    # Services that can be queried, and their clients.
    Block("ip access-list standard <word>", "access list", _NETWORKS),
    Block("ipv6 access-list standard <word>", "access list", _NETWORKS),
    Block("ip access-list <word>", "rules", (Entry("<integer> <permit|deny> <rest>", "rules", "{2} {3}"),)),
    Block("system control-plane", "", (Keep(f"ip access-group <word> {_VRF} in", "control plane"),)),
    Fact("vrf instance MGMT", "platform/management_vrf", words.MANAGEMENT_VRF),
    Block("management ssh", "", (
        Keep(f"ip access-group <word> {_VRF} in", "access ssh"),
        Keep("ip access-group <word> in", "access ssh/default"),
        Keep("ipv6 access-group <word> in", "access ssh/ipv6"),
        Fact("shutdown", "management/ssh[default]", "off"),
        Fact("no shutdown", "management/ssh[default]", "on"),
        Block("vrf <word>", "", (
            Fact("no shutdown", "management/ssh", "{0}"),
            Fact("shutdown", "management/ssh[{0}]", "off"),
        )),
    )),
    Block("management api http-commands", "", (
        Silent("protocol https"),
        Silent("no shutdown"),
        Block("vrf <word>", "", (
            Fact("no shutdown", "platform/http_api", "{0}"),
            Keep("ip access-group <word>", "access http"),
        )),
    )),
    Block("management api gnmi", "", (
        Fact(f"provider {GNMI_PROVIDER}", "management/gnmi_provider", GNMI_PROVIDER),
        Block("transport grpc <word>", "", (
            Fact("ssl profile <word>", "management/gnmi_ssl_profile"),
            Keep("port <0-65535>", "gnmi port"),
            Keep("vrf <word>", "gnmi vrf"),
            Keep("ip access-group <word>", "access gnmi"),
        )),
    )),
    Block("management security", "", (
        Block("ssl profile <word>", "", (
            Fact("certificate <word> key <word>", "management/gnmi_certificate[{0}]", "{1} {2}"),
        )),
    )),
    Fact("snmp-server vrf <word>", "management/snmp[{0}]", "on"),
    Fact("no snmp-server vrf <word>", "management/snmp[{0}]", "off"),
    Keep(f"snmp-server ipv4 access-list <word> {_VRF}", "access snmp"),
    Fact("snmp-server contact <rest>", "management/snmp/contact"),
    Fact("snmp-server location <rest>", "management/snmp/location"),
    Fact("snmp-server community <word> ro", "management/snmp/secret"),
    Fact("snmp-server view <word> <word> <included|excluded>", "management/snmp_view[{0}]", "{1} {2}"),
    Fact("snmp-server group <word> v3 <rest>", "management/snmp_group[{0}]"),
    Fact("snmp-server user <word> <word> v3 [localized <word>] auth <word> <word> priv <word> <word>",
        _snmp_user_facts),
    *(Fact(f"aaa {statement} <rest>", f"management/aaa[{statement}]") for statement in AAA),
    Fact("aaa group server tacacs+ <word>", "management/tacacs/group"),
    Block("aaa group server tacacs+ <word>", "", (Entry(f"server <word> {_VRF}", "tacacs servers"),)),
    Entry(f"tacacs-server host <word> {_VRF} key <word> <word>", "tacacs keys", _key_value),
    Fact(f"ip tacacs {_VRF} source-interface <word>", "management/tacacs/source"),
)  # fmt: skip


def finish(document: Document) -> None:
    """State facts that need several lines, and defaults without a line."""
    for kind in ("ntp", "dns", "syslog"):
        document.put_set(f"management/{kind}", document.scope.table(kind))
    document.default("lldp/interval_s", DEFAULT_LLDP_S)
    document.default("lldp/hold_s", DEFAULT_LLDP_HOLD_S)
    _finish_access(document)
    _finish_tacacs(document)
    _finish_balancing(document)


def _finish_access(document: Document) -> None:
    scope = document.scope
    values, lists = scope.values, scope.each("access list")
    for service in _GUARDED:
        if f"access {service}" not in values:
            continue
        name, line = values[f"access {service}"]
        path = "management/access" if service == "ssh" else f"management/access[{service}]"
        listed = lists[name] if name in lists else Scope(line)
        listed.used = True
        networks = [*listed.ordered_entries("networks"), *filter(None, [listed.values.get("nobody")])]
        last = max((at for _, at in networks), default=line)
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


def _finish_tacacs(document: Document) -> None:
    """A group whose servers do not share one key has none."""
    keys, servers = document.scope.table("tacacs keys"), document.scope.table("tacacs servers")
    for host, said in keys.items():
        document.put(f"management/tacacs[{host}]/secret", *said)
    if servers:
        line = max(line for _, line in servers.values())
        document.put("management/tacacs/servers", ",".join(map(str, servers)), line)
        used = [keys.get(server, ("", 0)) for server in servers]
        one = len({key for key, _ in used}) == 1
        document.put("management/tacacs/secret", used[0][0] if one else "", min(line for _, line in used))


def _finish_balancing(document: Document) -> None:
    values, facts = document.scope.values, document.reading.facts
    if "dynamic" in values:
        mode = "packet" if "dynamic packet" in values else "flowlet"
        document.put("load_balancing/mode", mode, values.get("dynamic packet", values["dynamic"])[1])
        if "dynamic pause" in values:
            document.put("load_balancing/flowlet_idle_us", *values["dynamic pause"])
    else:
        for _, line in (values[name] for name in ("dynamic pause", "dynamic packet") if name in values):
            document.reject(line)
    for kind, hashed in document.scope.each("hashed").items():
        offsets = hashed.table("offsets")
        line = max(line for _, line in offsets.values())
        document.put(f"load_balancing/hash_bytes[{kind}]", ",".join(map(str, sorted(offsets))), line)
        if sorted(offsets) == list(QUEUE_PAIR_OFFSETS):
            document.put("load_balancing/queue_pairs", "true", line)
    path = "load_balancing/hash_profile"
    if path in facts and facts.get(f"{path}[{facts[path]}]") == QUEUE_PAIR_PAYLOAD:
        document.put("load_balancing/queue_pairs", "true", document.reading.lines[path][1])


TOPIC = Topic(ROWS, finish)
