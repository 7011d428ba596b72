"""The summary of one switch: what it states that rules compare with other switches."""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos import defaults, evpn_defaults, qos_defaults, service_defaults
from fabricc.back.nos.ports import PortKind
from fabricc.back.nos.route_blocks import accepts_by_default, tags_of
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, outer_key, split_list_path
from fabricc.facts.statement import Statement, Tier, session_path, used_policies
from fabricc.proof.invariants.view import as_int
from fabricc.rules.classes import lossless_ports
from fabricc.rules.duplicates import distinguishers
from fabricc.rules.next_hops import routes_to_hosts, unresolved_hops
from fabricc.rules.records import Attached, OuterSession, Pair, Summary, set_communities, wanted_communities
from fabricc.rules.routing import requirement_of
from fabricc.rules.segments import segment_settings
from fabricc.rules.sessions import (
    UPPER,
    carries_evpn,
    exchanging_sessions,
    external_sessions,
    has_policy,
    is_address,
    lone_demands,
    open_policies,
    sessions_to_switches,
)
from fabricc.rules.tenants import overlay_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.rules.sessions import Key, Sessions

ACCESS = "management/access"
OWN_AS = "bgp/allow_as_in"
SERVICES = {
    "management/ntp": "NTP server", "management/syslog": "log server", ACCESS: "limit on who reaches its management",
}  # fmt: skip
"""Path -> what a switch lacks without it."""
COMMON = {
    "lldp/interval_s": ("LLDP", "Enable LLDP."),
    "platform/management_instance": ("routing instance for management",
        "Put the management port into a routing instance of its own."),
    "management/gateway": ("gateway of management", "Name the gateway of the management network."),
    "management/address": ("management address", "Set the address of the management port."),
    "log/syslog": ("log of its routing daemons", "Let them write to syslog."),
    "management/dns": ("name server", "Name the servers."),
    "management/tacacs/servers": ("TACACS+ server", "Name the servers."),
    "management/radius/servers": ("RADIUS server", "Name the servers."),
    "management/snmp/secret": ("SNMP community", "Configure the community or the user of the others."),
}  # fmt: skip
"""Path -> what switches of one system share, and how one without gets it."""
_LIST = "access_list["
_STATIC = "static_route["
_ORIGINS = ("bgp/aggregate[", "bgp/network[")
_ENTERING = (*_ORIGINS, "bgp/redistribute", "bgp/setting[redistribute", "bgp/static", "bgp/advertise")
_OTHERS = ("eigrp", "rip", "mpls", "bgp/import", "bgp/setting[import", "routing/")
"""Beginnings of facts about other ways by which routes enter BGP, or get around it."""
_BESIDE_PREFIXES = (*_ENTERING, *_OTHERS)
_SEED = re.compile(r"[/[](?:ecmp_)?hash_seed\]?$")
NAMES = "management/dns"
BESIDE = ("management/access", "management/tacacs", "management/radius")
"""Beginnings of paths that only a complete configuration states in addition to its services."""


def summarize(statement: Statement, sessions: Sessions) -> Summary:
    """Return the facts of a switch that are compared with others."""
    routes, prefixes, services = [], [], []
    system = statement.device.system
    by_itself = defaults.exports_connected(system) or (
        defaults.may_announce_loopback(system)  # places of facts are unpacked for these systems alone
        and defaults.announces_loopback(
            statement.device.reading.lines.get("bgp/asn", ("", 0))[0], statement.rest
        )
    )
    alone = not by_itself and not statement.has_link_state
    maps: list[tuple[str, str]] = []
    seed: tuple[str, object] | None = None
    for path, value in statement.rest.items():
        if path.startswith(_STATIC) and path.endswith("]"):
            if "/setting[" not in path and not _is_reserve(statement, path):
                first, _, more = str(value).partition(" ")  # a tag or a distance takes nothing from a drop
                via = first if first in _DROPS and "," not in more else str(value)
                routes.append((outer_key(path), via, path))
        elif path.startswith(_ORIGINS) and path.endswith("]"):
            prefixes.append(outer_key(path))
        elif path.startswith(_BESIDE_PREFIXES) and not defaults.leads_nowhere(path):
            if CONNECTED.fullmatch(path):
                maps.append((str(value), path))
            elif path not in STATICS:
                alone = False
        elif path in SERVICES:
            services.append(path)
        elif "hash_seed" in path and _SEED.search(path):
            seed = path, value
        elif (of_role := qos_defaults.seed_of_role(path, value)) is not None and lossless_ports(statement):
            seed = seed or (path, of_role)
    named = (service_defaults.server_of_fabric(text) for _, _, text in statement.device.unknown)
    services += {found[0] for found in named if found and (services or statement.fars)}
    part = service_defaults.is_part_of_switch(statement.rest)
    services = services or ([*SERVICES] if part else [])
    beside = [path for path in statement.rest if path.startswith((*BESIDE, NAMES))]
    outer, loops = [], ""
    limits: list[tuple[int, str]] = []
    upward = joined = False
    beside_limits: list[tuple[int, str, str]] = []
    unknown = {key for key, _ in sessions_to_switches(statement, sessions)} if not statement.fars else ()
    for key, values in external_sessions(statement):
        far = statement.fars.get(sessions.near.get(key, ""))
        if far is not None and far.declared:
            continue
        if far is None or not far.known:
            outer.append(_outer_session(statement, key, values))
        above = key in unknown if far is None else far.known and far.tier in UPPER
        unplaced = statement.place.tier is Tier.OTHER and far is not None and far.known
        if (above or unplaced) and values.get("allow_as_in") not in (None, 0, "0"):
            loops = loops or session_path(key, "allow_as_in")
        if far is not None and far.known and far.tier is statement.place.tier is Tier.TOR:
            joined = joined or "ipv" in str(values.get("families", ""))
            if limit := defaults.ending_limit(values):
                beside_limits.append((limit, _limit_path(key, values), far.end.device))
        upward = upward or (far is not None and above and "ipv" in str(values.get("families", "")))
        if above and (limit := defaults.ending_limit(values)):
            limits.append((limit, _limit_path(key, values)))
    outer = _mark_alike(statement, sessions, outer)
    if upward and statement.rest.get(OWN_AS) not in (None, 0, "0"):
        loops = loops or OWN_AS
    for key, values in exchanging_sessions(statement, sessions):
        if (
            carries_evpn(sessions, key)
            and not sessions.near.get(key)
            and (limit := defaults.ending_limit(values))
        ):
            limits.append((limit, _limit_path(key, values)))
    demands = {
        what: (session_path(key, leaf), key[1])
        for key in sorted(unknown, reverse=True) if not is_address(key[1])
        for what, leaf in lone_demands(sessions, key, as_int(statement.rest.get("bgp/asn"))).items()
    }  # fmt: skip
    inner = {key: _leads_in(statement, sessions, key) for key in sessions.stated if not key[0]}
    remote = tuple(neighbor for (_, neighbor), leads in inner.items() if not leads)
    return Summary(
        statement.place.tier, as_int(statement.rest.get("bgp/asn")),
        str(statement.rest.get("bgp/router_id", "")).partition("/")[0], tuple(routes), tuple(prefixes), tuple(services),
        tuple(beside), _unbound_list(statement), seed, loops, tuple(outer),
        _attached_hosts(statement, sessions) if upward or joined else None, min(limits, default=None),
        any(inner.values()), remote, tuple(beside_limits), unresolved_hops(statement), segment_settings(statement),
        overlay_of(statement, sessions), distinguishers(statement), routes_to_hosts(statement),
        _loopback_addresses(statement), system,
        tuple([path for path in COMMON if part or _states(statement, path)]), alone, _tunnel_source(statement),
        tuple(maps), tuple(each for each in remote if not sessions.near.get(("", each))),
        None if _sets_metric(statement) else _metric_conditions(statement, sessions),
        tuple(_narrow_imports(statement, sessions)), _lone_ends(statement), _pair_of(statement),
        () if statement.expected.planned else _host_addresses(statement),
        tuple([(what, *each) for what, each in demands.items()]),
        _mute_process(statement, sessions, bool(prefixes or maps)), set_communities(statement),
        () if statement.expected.planned else tuple(wanted_communities(statement, sessions)),
        any(prefix.endswith("/0") for prefix in (*prefixes, *(prefix for prefix, _, _ in routes)))
        or "default_originate" in statement.session_leaves,
        tags_of(statement.facts_below("community_list["), statement.facts_below("route_map[")),
        requirement_of(statement, sessions),
    )  # fmt: skip


def _mute_process(statement: Statement, sessions: Sessions, announcing: bool) -> str:
    """Return the path of BGP if it announces routes to nobody, or has its sessions over ports in VRFs alone."""
    if "bgp/asn" in statement.rest:
        idle = announcing and not sessions.listens and all(vrf for vrf, _ in sessions.stated)
        return "bgp/asn" if idle else ""
    most = Counter(vrf for vrf, _ in sessions.stated).most_common(1)
    return next((f"vrf[{vrf}]/bgp/asn" for vrf, count in most if count > 1), "")


_PROTOCOLS = ("ospf_area", "isis")


def _lone_ends(statement: Statement) -> tuple[tuple[str, str], ...]:
    """Return ports on which OSPF or IS-IS looks for a neighbor that no known switch is, and their addresses."""
    if statement.port_leaves.isdisjoint(_PROTOCOLS):
        return ()
    listed = {str(value) for path, value in statement.rest.items() if path.endswith("]/passive")}
    active = {str(value) for path, value in statement.rest.items() if path.endswith("]/active")}
    quiet, loud = ({each for text in texts for each in text.split(",")} for texts in (listed, active))
    return tuple(
        (port, str(values["ipv4"]))
        for port, values in statement.ports.items()
        if "ipv4" in values and port not in statement.fars and not set(_PROTOCOLS).isdisjoint(values)
        if statement.parse_name(port).kind in (PortKind.PORT, PortKind.BUNDLE) and "vrf" not in values
        if port not in quiet and ("default" not in quiet or port in loud)
        if not any("passive" in leaf for leaf in values) and values.get("enabled") != "false"
    )


def _outer_session(statement: Statement, key: Key, values: Mapping[str, Value]) -> OuterSession:
    ways = ("import", "export") if "ipv" in str(values.get("families", "ipv4")) else ()
    bare = tuple(way for way in ways if not has_policy(values, way))
    imports, neighbor = str(values.get("import", "")), key[1]
    block = neighbor.rpartition(":" if ":" in neighbor else ".")[0]
    kind = str(values.get("group") or values.get("remote_asn", "port" if not is_address(neighbor) else ""))
    kinds = frozenset((kind, f"{block} {imports} {bare}"))
    opened = open_policies(statement, values, "import"), open_policies(statement, values, "export")
    return OuterSession(key, imports, bare, kinds, grouped="group" in values, opened=opened)


def _mark_alike(statement: Statement, sessions: Sessions, outer: list[OuterSession]) -> list[OuterSession]:
    """Mark the sessions with unknown devices that are like one with a known device."""
    if not any(each.bare for each in outer):
        return outer
    known: set[str] = set()
    for key, values in external_sessions(statement):
        far = statement.fars.get(sessions.near.get(key, ""))
        if far is not None and far.known and not far.declared:
            known |= _outer_session(statement, key, values).kinds
    return [each._replace(alike=not known.isdisjoint(each.kinds)) for each in outer]


def _states(statement: Statement, path: str) -> bool:
    """Return whether a switch states a fact, or lines for it that another finding reports to be without effect."""
    if path == "management/address" and "management/gateway" in statement.rest:
        return True
    return path in statement.rest or any(
        service_defaults.reported_part(each) == path for each in statement.facts_below("unread[")
    )


def _limit_path(key: Key, values: Mapping[str, Value]) -> str:
    """Return the path of the limit on the prefixes of a session."""
    own = (leaf for leaf in values if "prefix-limit maximum" in leaf)
    return session_path(
        key, "maximum_prefixes" if values.get("maximum_prefixes", "none") != "none" else next(own, "")
    )


_DROPS = ("discard", "reject")
_DISTANCE = re.compile(r"(?:distance|preference) (\d+)")
_FARTHEST = 200
"""The largest preference of routes of BGP by default, iBGP's of FRR and all of EOS and NX-OS."""


def _is_reserve(statement: Statement, path: str) -> bool:
    """Return whether a static route has a worse preference than learned routes."""
    stated = [str(value) for value in statement.facts_below(f"{path}/setting[").values()]
    stated.append(str(statement.rest.get(f"routing/setting[static {outer_key(path)} preference]", "")))
    stated += _DISTANCE.findall(str(statement.rest[path]))
    return any(is_number(text) and int(text) > _FARTHEST for text in stated)


class StrayServer(NamedTuple):
    """A server that a switch looks for in the routing table of the fabric, with the path of its service."""

    path: str
    address: str
    file: str
    line: int


def stray_servers(statement: Statement, sessions: Sessions) -> list[StrayServer]:
    """Return servers that only the separate routing instance of management leads to, on lines that do not name it.

    Other lines must show that this instance leads to servers, and no port or static route of the fabric to these.
    """
    rest = statement.rest
    if rest.get("management/isolated") != "true" or rest.keys().isdisjoint(_LEADING):
        return []
    found = []
    leads_out = any(not _leads_in(statement, sessions, key) for key in sessions.stated if not key[0])
    for file, line, text in statement.device.unknown:
        row = service_defaults.row_of_fabric(text)
        server = row or service_defaults.server_of_fabric(text)
        if (
            not server
            or (server[0] in rest and not row)
            or (leads_out and service_defaults.may_use_management(text))
        ):
            continue
        if not _leads_to(statement, server[1]):
            found.append(StrayServer(*server, file, line))
    for path in statement.facts_below(_SERVER_VRF):
        service, _, address = first_key(path).partition(" ")
        if not _leads_to(statement, address):
            found.append(StrayServer(f"management/{service}", address, *statement.device.reading.lines[path]))
    return found


_SERVER_VRF = "management/server_vrf["
"""Begins the facts about servers that are in another VRF than that of management."""
_LEADING = ("management/ntp", "management/syslog", "management/gateway")


def _leads_to(statement: Statement, server: str) -> bool:
    """Return whether a port or a static route of the fabric leads to an address."""
    try:
        address = ip_address(server)
    except ValueError:
        return True  # a name, of whose address nothing is known
    stated = (split_list_path(path, "static_route") for path in statement.facts_below(_STATIC))
    subnets = [prefix for prefix, leaf in stated if not leaf]
    subnets += [str(values.get("ipv4", "")) for values in statement.ports.values() if "vrf" not in values]
    return any("/" in each and address in ip_interface(each).network for each in subnets)


def _loopback_addresses(statement: Statement) -> tuple[str, ...]:
    texts = (statement.rest.get(f"loopback/{family}") for family in ("ipv4", "ipv6"))
    return tuple(text for text in texts if isinstance(text, str))


def _tunnel_source(statement: Statement) -> str:
    """Return the address of the VTEP of a switch, "" without one."""
    source = str(statement.rest.get("evpn/source") or statement.rest.get("vxlan/source") or "")
    texts = [source, *statement.addresses.get(source, ())]
    if source:
        texts.append(str(statement.rest.get("loopback/ipv4", "")))
    return next((found for text in texts if is_address(found := text.partition("/")[0])), "")


def _narrow_imports(statement: Statement, sessions: Sessions) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the policies of imports from upper switches whose permitting clauses all name their prefixes.

    Words after a prefix say that it stands for longer ones too.
    """
    fars = (
        (values, statement.fars.get(sessions.near.get(key, "")))
        for key, values in external_sessions(statement)
    )
    joined = [values for values, far in fars if far is not None and far.known and far.tier in UPPER]
    for name in map(str, {values.get("prefix_list_in") for values in joined} - {None}):
        listed = statement.facts_below(f"prefix_list[{name}]/")
        permitted = tuple(str(value) for value in listed.values() if not str(value).startswith("deny"))
        if permitted:
            yield name, next(iter(listed)), permitted
    for name in map(str, {values.get("import") for values in joined} - {None}):
        prefixes: list[str] = []
        clauses = statement.facts_below(f"route_map[{name}]/")
        if accepts_by_default(statement.device.system) and "deny" not in clauses.values():
            continue
        for value in map(str, clauses.values()):
            if value.startswith("permit"):
                lists = _OF_LIST.findall(value)
                longer = "prefix-list-filter" in value
                found = [
                    f"{entry} or longer" if longer else str(entry)
                    for each in lists
                    for entry in statement.facts_below(f"prefix_list[{each}]/").values()
                    if not str(entry).startswith("deny")
                ] + [each.removesuffix(" exact") for each in _OF_CLAUSE.findall(value)]
                found += [
                    f"{text.removeprefix('permit ')} or longer"
                    for each in _OF_ACCESS.findall(value)
                    for text in map(str, statement.facts_below(f"access_list[{each}]/").values())
                    if text.startswith("permit") and "/" in text
                ]
                if not found:
                    break
                prefixes += found
        else:
            if prefixes:
                yield name, next(iter(clauses)), tuple(prefixes)


_OF_LIST = re.compile(r"(?:prefix_list|match prefix-list-filter) (\S+)")
_OF_ACCESS = re.compile(r"match ip address access-list (\S+)")
_OF_CLAUSE = re.compile(r"match route-filter (\S+(?: \S+)?)")


STATICS = ("bgp/redistribute_static", "bgp/redistribute[static]")
CONNECTED = re.compile(r"bgp/redistribute(?:_connected|\[(?:connected|direct)\])")


def _attached_hosts(statement: Statement, sessions: Sessions) -> Attached | None:
    """Return the subnets of hosts and how they enter BGP; None without any, or if a way is not followed."""
    ports = [port for port, far in statement.fars.items() if far.tier is Tier.HOST]
    lossless = lossless_ports(statement)
    unstated = not qos_defaults.states_pfc(statement.device.system)  # its ports to hosts have no PFC either
    sure = [*ports, *(port for port in statement.open_ports() if unstated or port in lossless)]
    prefixes = _host_prefixes(statement, sure or statement.open_ports(), frozenset(sessions.near.values()))
    if not prefixes:
        return None
    maps, origins = [], []
    for path, value in statement.rest.items():
        if "bgp" not in path:
            continue
        if CONNECTED.fullmatch(path):
            maps.append((str(value), path))
        elif path.startswith(_ORIGINS) and path.endswith("]"):
            origins.append(path)
        elif path in STATICS and not statement.facts_below("static_route["):
            continue
        elif path.startswith(_ENTERING) or "import" in path:
            return None
    networks, aggregates = (
        tuple([outer_key(path) for path in origins if path.startswith(start)]) for start in _ORIGINS[::-1]
    )
    chosen = [text for texts in prefixes.values() for text, _ in (texts[0], texts[-1])]
    subnets = tuple(dict.fromkeys(str(ip_interface(text).network) for text in chosen))
    path = next(iter(prefixes.values()))[0][1]
    return Attached(
        subnets,
        path,
        tuple(maps),
        networks,
        aggregates,
        defaults.exports_connected(statement.device.system),
        bool(sure),
    )


def _host_prefixes(
    statement: Statement, ports: Iterable[str], used: frozenset[str]
) -> dict[str, list[tuple[str, str]]]:
    """Return of each family the addresses of routed ports in use over which no session leads, and their paths."""
    found: dict[str, list[tuple[str, str]]] = {}
    for port in ports:
        shut = statement.of(port, "enabled") == "false"
        if not shut and statement.of(port, "vrf") is None and port not in used:
            for leaf in ("ipv4", "ipv6"):
                text = statement.of(port, leaf)
                if isinstance(text, str) and "/" in text and not text.startswith("fe80"):
                    found.setdefault(leaf, []).append((text, f"{PORT}{port}]/{leaf}"))
    return found


def _unbound_list(statement: Statement) -> str:
    bound = {
        name
        for values in statement.ports.values()
        for leaf in ("access_list_in", "access_list_out")
        for name in str(values.get(leaf, "")).replace(",", " ").split()
    }
    lists = ((path, first_key(path)) for path in statement.facts_below(_LIST))
    return next((path for path, name in lists if name not in bound), "")


def _leads_in(statement: Statement, sessions: Sessions, key: Key) -> bool:
    """Return whether a link to a known device leads to a neighbor."""
    far = statement.fars.get(sessions.near.get(key, ""))
    return far is not None and far.known


_METRIC = re.compile(r"\bmatch metric ([1-9]\d*)")


def _metric_conditions(statement: Statement, sessions: Sessions) -> tuple[tuple[str, str], ...]:
    """Return path and metric of the conditions on metrics in policies of sessions with other switches."""
    texts = {
        path: match[1]
        for path, value in statement.facts_below("route_map[").items()
        if (match := _METRIC.search(str(value))) and str(value).startswith("permit")
    }
    joined = sessions_to_switches(statement, sessions) if texts else ()
    used = used_policies(joined, "import", "export")
    return tuple((path, wanted) for path, wanted in texts.items() if first_key(path) in used)


_SETS_METRIC = re.compile(r"(?:^|[ \[])(?:set )?(?:metric|med)\b")


def _sets_metric(statement: Statement) -> bool:
    """Return whether a route of a switch may have a metric: a policy sets one, or a protocol other than BGP does."""
    texts = (_METRIC.sub("", str(value)) for value in statement.facts_below("route_map[").values())
    return (
        statement.has_link_state
        or any(map(_SETS_METRIC.search, texts))
        or any("metric" in path or path.startswith(("eigrp", "rip")) for path in statement.rest)
    )


def _pair_of(statement: Statement) -> Pair | None:
    """Return what a switch states about the other one of its pair; None without one."""
    facts = statement.rest
    if "mlag/peer" not in facts:
        return None
    static = {
        str(values.get("bundle")): f"{PORT}{port}]/bundle_mode"
        for port, values in statement.ports.items()
        if values.get("bundle_mode") == "on"
    }
    bundles = {
        str(values["mlag"]): (
            str(values.get("vlans", values.get("access_vlan", ""))),
            f"{PORT}{port}]/",
            static.get(port, ""),
        )
        for port, values in statement.ports.items()
        if "mlag" in values
    }
    domain, mac = (str(facts.get(path, "")) for path in ("mlag/domain", "mlag/mac"))
    shares = evpn_defaults.shares_vtep(statement.device.system) and "vxlan/source_mlag" not in facts
    shared, backup, managed = (
        str(facts.get(path, "")).partition("/")[0]
        for path in ("vxlan/source_mlag", "mlag/backup", "management/address")
    )
    return Pair(str(facts["mlag/peer"]), domain, mac, bundles, shares, shared, backup, managed)


_LOOPBACK = re.compile(r"lo(?:opback)?\d*(?:\.\d+)?", re.IGNORECASE)
_ALONE = "/32"


def _host_addresses(statement: Statement) -> tuple[tuple[str, str], ...]:
    """Return name and IPv4 address of each loopback of the default routing instance."""
    first = str(statement.rest.get("loopback/ipv4", ""))
    found = [("loopback", first)] if first.endswith(_ALONE) else []
    found += [
        (port, texts[0])
        for port, texts in statement.addresses.items()
        if texts[0].endswith(_ALONE) and _LOOPBACK.fullmatch(port) and statement.of(port, "vrf") is None
    ]
    return tuple(found)
