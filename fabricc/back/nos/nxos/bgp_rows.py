"""Read back BGP of NX-OS: rows, route maps and the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import (
    PREFIX_LISTS,
    clause_with_line,
    denies_all,
    route_maps,
    state_lists,
    state_maps,
    state_static,
    static_rows,
)
from fabricc.back.nos.nxos import sessions
from fabricc.back.nos.nxos.bgp import (
    COMMUNITY_OF,
    DEFAULT_TIMERS_S,
    LINES,
    WORDS,
    community_word,
)
from fabricc.back.nos.nxos.policy import state_communities
from fabricc.back.nos.nxos.tenants import NEXT_HOP, tenant_vrfs
from fabricc.back.nos.nxos.words import (
    DISCARD,
    FAMILY_SUFFIXES,
    ONCE,
    defined_part,
    split_beginnings,
    split_name,
    state_part,
)
from fabricc.back.reading import Block, Each, Entry, Fact, Keep, Scope, Silent, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Captured, Document, Row, Types
    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value, int]


def _bfd_values(interval_ms: int, again_ms: int, multiplier: int) -> Mapping[str, Value]:
    """Return the interval of the slower direction, and how many packets may be lost."""
    return {"bfd/interval_ms": max(interval_ms, again_ms), "bfd/multiplier": multiplier}


TYPES: Types = {
    "community": lambda word: COMMUNITY_OF.get(word, word),
    "bare family": {name: name for name in ("ipv4", "ipv6", "link-state")},
    "ipv4 family": {name: f"ipv4-{name}" for name in ("multicast", "mvpn", "labeled-unicast")},
    "ipv6 family": {name: f"ipv6-{name}" for name in ("multicast", "mvpn", "labeled-unicast")},
    "l2vpn family": {"evpn": "evpn", "vpls": "vpls"},
}
DEFAULT_ALLOW_AS_IN = 3


def _family_blocks(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the blocks of all address families."""
    kinds = ("<ipv4|ipv6> unicast", "<bare family>", "ipv4 <ipv4 family>", "ipv6 <ipv6 family>", "l2vpn <l2vpn family>",
             "<vpnv4|vpnv6> unicast")  # fmt: skip
    return tuple(Block(f"address-family {kind}", "family", rows) for kind in kinds)


_SETTING = "of process "
"""Before the name of a setting of the process."""


def _named_rows(head: str, before: str = "") -> tuple[Row, ...]:
    """Return rows of lines that begin so, kept by their beginnings and the next word."""

    def row_values(rest: str) -> Mapping[str, Value]:
        name, value = split_name(head, rest)
        return {f"{before}{name}": value}

    return Keep(head, f"{before}{head}"), Keep(f"{head} <rest>", row_values)


_SWITCHED = split_beginnings("""
    route-reflector-client, next-hop-self, next-hop-third-party, as-override, disable-peer-as-check,
    suppress-inactive, rewrite-evpn-rt-asn, advertise-gw-ip, send-label, no-ebgp-policy
""")  # fmt: skip
_PEER_FAMILY: Sequence[Row] = (
    Keep("send-community [standard]", "send_community"),
    Keep("send-community both", {"send_community": "true", "send-community extended": "true"}),
    Keep("send-community extended", "send-community extended"),
    Keep("route-map <word> in", "import"),
    Keep("route-map <word> out", "export"),
    Keep("maximum-prefix <integer>", "maximum_prefixes"),
    Keep("maximum-prefix <integer> <rest>", "maximum-prefix", lambda count, rest: f"{count} {rest}"),
    Keep("prefix-list <word> in", "prefix_list_in"),
    Keep("prefix-list <word> out", "prefix_list_out"),
    Keep("filter-list <word> in", "filter_in"),
    Keep("filter-list <word> out", "filter_out"),
    Keep("allowas-in", "allow_as_in", DEFAULT_ALLOW_AS_IN),
    Keep("allowas-in <integer>", "allow_as_in"),
    Keep("default-originate", "default_originate", "all"),
    Keep("default-originate route-map <word>", "default_originate"),
    *(Keep(line, line, "true") for line in _SWITCHED),
    Keep("next-hop-self all", "next-hop-self", "true"),
    *(
        row
        for head in split_beginnings("""
            filter-list, soft-reconfiguration, unsuppress-map, weight, advertise-map, capability, encapsulation,
            import, soo, next-hop-self route-map,  advertise, graceful-shutdown,
            advertisement-interval
        """)
        for row in _named_rows(head)
    ),
    *(Silent(f"no {head} [<rest>]") for head in (
        *_SWITCHED, "send-community", "route-map", "default-originate", "soft-reconfiguration", "maximum-prefix",
            "allowas-in", "filter-list",
        "prefix-list", "weight", "capability", "unsuppress-map", "advertise-map", "soo", "inherit", "encapsulation")),
    Entry("inherit peer-policy <word> [<integer>]", "policies", lambda _, place: place or 0),
)  # fmt: skip
_PEER: Sequence[Row] = (
    Keep("inherit peer <word>", "template"),
    Keep("inherit peer-session <word>", "session"),
    Keep("remote-as <asn>", "remote_asn"),
    Keep("remote-as <internal|external>", "remote_kind"),
    Keep("remote-as route-map <word>", "of peer remote-as route-map"),
    Keep("description <rest>", "description"),
    Keep("bfd", "bfd"),
    Keep("no bfd", "bfd", "false"),
    Keep("ttl-security hops <integer>", "ttl_security_hops"),
    Keep("password (0|3|7) <word>", "secret"),
    Keep("password <rest>", "secret", "set"),
    Keep("shutdown", "enabled", "false"),
    Keep("no shutdown", "enabled", "true"),
    Keep("local-as <asn> [<rest>]", lambda asn, more: {"local_asn": asn, "of peer local-as": more}),
    Keep("update-source <interface>", "update_source"),
    Keep("ebgp-multihop <integer>", "multihop"),
    Keep("timers <integer> <integer>", lambda keepalive, hold: {"keepalive_s": keepalive, "hold_s": hold}),
    Keep("remove-private-as", "remove_private", "true"),
    Keep("remove-private-as <all|replace-as>", "remove_private"),
    Keep("capability extended-nexthop", "extended_next_hop", "true"),
    *(
        row
        for head in split_beginnings("""
            dynamic-capability, disable-connected-check, transport, capability, dont-capability-negotiate,
            maximum-peers, peer-type, log-neighbor-changes, low-memory, path-attribute, affinity-group,
            enforce-first-as, graceful-shutdown, disable-policy-batching, as-override, logging,
            bmp-activate-server, port, dscp, bfd multihop, bfd singlehop
        """)
        for row in _named_rows(head, sessions.OF_PEERS)
    ),
    *(Silent(f"no {head} [<rest>]") for head in split_beginnings("""
        bfd multihop, bfd singlehop, dynamic-capability, disable-connected-check, transport, capability,
        dont-capability-negotiate, log-neighbor-changes, low-memory, remove-private-as, ttl-security, ebgp-multihop,
        password, local-as, update-source, timers, description, inherit, enforce-first-as, affinity-group, peer-type,
        disable-policy-batching
    """)),
    *_family_blocks(_PEER_FAMILY),
)  # fmt: skip
_SOURCES = ("ospf", "ospfv3", "isis", "eigrp", "rip", "hmm", "icmpv6", "am", "nat", "lisp", "amt")
_PROCESS_FAMILY: Sequence[Row] = (
    Keep("redistribute direct route-map <word>", "redistribute_connected"),
    Keep("redistribute static route-map <word>", "redistribute_static"),
    Keep("redistribute direct", "redistribute_connected", "all"),
    Keep("redistribute static", "redistribute_static", "all"),
    *(
        row
        for source in _SOURCES
        for row in (
            Keep(f"redistribute {source} <word> route-map <word>", lambda tag, name,
                source=source: {f"redistribute[{source} {tag}]": name}),
            Keep(f"redistribute {source} route-map <word>", lambda name,
                source=source: {f"redistribute[{source}]": name}),
        )
    ),
    Entry("network <prefix>", "networks", "all"),
    Entry("network <prefix> route-map <word>", "networks", lambda _, name: name),
    Keep("network <address4> mask <address4> [route-map <word>]", lambda net, mask,
        name: {f"network[{net} {mask}]": name or "all"}),
    Keep("maximum-paths <integer>", "maximum_paths"),
    Keep("maximum-paths ibgp <integer>", "multipath_ibgp"),
    Keep("maximum-paths (eibgp|mixed) <integer>", lambda paths: {"maximum_paths": paths, "multipath_ibgp": paths}),
    Entry("aggregate-address <prefix> summary-only", "aggregates"),
    Keep("aggregate-address <prefix>", lambda prefix: {f"aggregate[{prefix}]": "announced with its parts"}),
    Keep("aggregate-address <prefix> <rest>", lambda prefix, rest: {f"aggregate[{prefix}]": rest}),
    Keep("distance <integer> <integer> <integer>", "distance", lambda *numbers: " ".join(map(str, numbers))),
    Keep("retain route-target all", "route targets", "all"),
    *(
        row
        for head in split_beginnings("""
            default-information originate, default-metric, dampening, nexthop, table-map, advertise,
            advertise-pip, advertise-system-mac, retain, additional-paths, client-to-client, suppress-inactive,
            dampen-igp-metric, wait-igp-convergence, inject-map, timers, label, allocate-label, import, export,
            export-gateway-ip, synchronization, redistribute maximum-prefix, maximum-paths local, vni, bestpath,
            network-import-check, prefix-priority, advertise-only-active-routes
        """)
        for row in _named_rows(head, _SETTING)
    ),
    *(Silent(f"no {head} [<rest>]") for head in split_beginnings("""
        default-information, dampening, nexthop, client-to-client, suppress-inactive, wait-igp-convergence,
        synchronization, additional-paths, advertise, redistribute, maximum-paths, dampen-igp-metric,
        advertise-pip, auto-summary
    """)),
)  # fmt: skip
_PROCESS: Sequence[Row] = (
    Keep("router-id <address4>", "router_id"),
    Keep("cluster-id <word>", "cluster_id"),
    Keep("confederation identifier <word>", "confederation"),
    Keep("confederation peers <rest>", "confederation peers"),
    Keep("local-as <asn>", "of process local-as"),
    Keep("timers bgp <integer> <integer>", lambda keepalive, hold: {"keepalive_s": keepalive, "hold_s": hold}),
    Keep("bestpath as-path multipath-relax", "multipath_relax"),
    Keep("log-neighbor-changes", "log-neighbor-changes", ONCE),
    *(
        row
        for head in split_beginnings("""
            bestpath always-compare-med, bestpath compare-routerid, bestpath compare-neighborid, bestpath med,
            bestpath cost-community, bestpath as-path ignore, bestpath igp-metric, bestpath origin-as, bestpath
            aigp, bestpath prefix-validate, graceful-restart, graceful-restart-helper, enforce-first-as,
            fast-external-fallover, fabric-soo, flush-routes, isolate, maxas-limit, neighbor-down,
            reconnect-interval, shutdown, suppress-fib-pending, dynamic-med-interval, nsr, timers
            bestpath-limit, timers bestpath-timeout, timers prefix-peer-timeout, timers prefix-peer-wait,
            disable-policy-batching, rd, allocate-index, evpn, bfd, affinity-group, bmp, no-ebgp-policy,
            graceful-shutdown, rpki, security-parameter-index
        """)
        for row in _named_rows(head, _SETTING)
    ),
    *(Keep(f"no {head}", f"{_SETTING}{head}", "off") for head in (
        "graceful-restart", "graceful-restart-helper", "enforce-first-as", "fast-external-fallover",
        "suppress-fib-pending", "log-neighbor-changes")),
    *(Silent(f"no {head} [<rest>]") for head in split_beginnings("""
        shutdown, isolate, flush-routes, event-history, neighbor-down, maxas-limit, nsr,
        disable-policy-batching, confederation, cluster-id, dynamic-med-interval, bestpath, timers,
        reconnect-interval
    """)),
    Silent("event-history <rest>"),
    *_family_blocks(_PROCESS_FAMILY),
    *defined_part("template peer <word>", "template", _PEER, once=True),
    Block("template peer-session <word>", "peer-session", _PEER),
    Block("template peer-policy <word>", "peer-policy", _PEER_FAMILY),
    *defined_part("neighbor <word>", "neighbor", _PEER),
    Each("neighbor <word>", "neighbor", (
        *_PEER,
        *(Block(f"remote-as {whose}", "", _PEER) for whose in ("<asn>", "<internal|external>", "route-map <word>")),
    )),
    Silent("no neighbor <word> [<rest>]"),
)  # fmt: skip
ROWS: Sequence[Row] = (
    *static_rows(DISCARD),
    *defined_part("router bgp <asn>", "bgp", (
        *_PROCESS,
        *defined_part("vrf <word>", "vrf", _PROCESS),
    )),
    Fact("bfd interval <integer> min_rx <integer> multiplier <integer>", _bfd_values),
    *PREFIX_LISTS,
    route_maps(once=True, further=(Keep(NEXT_HOP, "next_hop", "unchanged"),)),
)  # fmt: skip


def finish(document: Document) -> None:
    """State lists, routes, route maps, and the process with what neighbors inherit of templates."""
    state_static(document)
    maps = {str(name): scope.each("clause") for name, scope in document.scope.each("route-map").items()}
    united = _unite_maps(maps)
    state_lists(document)
    state_communities(document, COMMUNITY_OF)
    state_maps(document, united)
    for name, steps in maps.items():
        for sequence, clause in steps.items():
            for about, (value, line) in clause.values.items():
                word = community_word(str(value)) if about == "add_community" else value
                start, form = LINES[about]
                document.put(f"structure/route_map[{name}]/{sequence}/{start}", form.format(word), line)
    for asn, process in document.scope.each("bgp").items():
        _state_process(document, asn, process, united)


def _unite_maps(maps: Mapping[str, Mapping[Captured, Scope]]) -> dict[object, str]:
    """Return maps of one family each that are stated as one -> its name: all clauses are of the family in their name.

    A clause without a prefix list is of both, and has to be in both maps; one that denies all the rest is ignored.
    """
    suffixes = FAMILY_SUFFIXES.values()
    stems = {name[: -len(suffix)] for name in maps for suffix in suffixes if name.endswith(suffix)}
    united: dict[object, str] = {}
    for stem in stems - maps.keys():
        pair = {word: maps.get(stem + FAMILY_SUFFIXES[family], {}) for family, word in WORDS.items()}
        if all(_of_family(pair[one], pair[other], one) for one, other in (("ip", "ipv6"), ("ipv6", "ip"))):
            united |= {stem + suffix: stem for suffix in suffixes if stem + suffix in maps}
    return united


def _of_family(own: Mapping[Captured, Scope], other: Mapping[Captured, Scope], word: str) -> bool:
    """Return whether a map has clauses of its family only, apart from clauses that both families share."""
    for sequence, clause in own.items():
        if clause.tables:
            return False
        if denies_all(clause) or f"{word} prefix-list" in clause.values:
            continue
        if other and (
            sequence not in other or clause_with_line(other[sequence])[0] != clause_with_line(clause)[0]
        ):
            return False
        if any(about.endswith(" prefix-list") for about in clause.values):
            return False
    return True


def _state_process(
    document: Document, asn: Captured, process: Scope, united: Mapping[object, str], path: str = ""
) -> None:
    """State the process: timers, what the families do, templates and sessions; `path` is that of a routing instance."""
    put, line, base = document.put, process.line, f"{path}bgp"
    put(f"{base}/asn", asn, line)  # type: ignore[arg-type]
    if not path:
        state_part(document, "bgp", process, "log-neighbor-changes")
        for leaf, default in _OF_PROCESS.items():
            put(f"bgp/{leaf}", *process.values.get(leaf, (default, line)))
    for leaf, stored in process.values.items():
        if leaf in _STATED_OF_PROCESS:
            put(f"{base}/{leaf}", *stored)
        elif leaf.startswith(_SETTING):
            put(f"{base}/setting[{leaf.removeprefix(_SETTING)}]", *stored)
    if "confederation" in process.values and "confederation peers" in process.values:
        own, peers = (process.values[leaf] for leaf in ("confederation", "confederation peers"))
        put(f"{base}/confederation", f"{own[0]}: {peers[0]}", peers[1])
    for family, scope in sorted(process.each("family").items(), reverse=True):
        _state_family(document, path, str(family), scope, united)
    templates = {
        name: (template, list(sessions.family_policy(template, template, united)))
        for name, scope in process.each("template").items()
        for template in [sessions.inherit_templates(scope, process)]
    }
    for name, (template, _) in templates.items() if not path else ():
        state_part(document, f"peer_template[{name}]", template)
    for name, scope in process.each("neighbor").items():
        peer = sessions.inherit_templates(scope, process)
        named, line = peer.values.get("template", ("", 0))
        template, policy = templates.get(named, (sessions.NO_TEMPLATE, []))
        if named and template is sessions.NO_TEMPLATE:
            put(f"unread[inherit peer {named}]", "no template has this name", line)
        if peer.each("family") or template is sessions.NO_TEMPLATE:
            policy = list(sessions.family_policy(template, peer, united))
        sessions.state_session(document, path, str(name), peer, template.values | peer.values, policy)
    tenants = tenant_vrfs(document)
    for name, instance in process.each("vrf").items():
        if name in tenants:
            continue
        inner = f"vrf[{name}]/"
        if name in document.scope.each("vrf"):
            put(f"vrf[{name}]", "present", instance.line)
        for kind in ("template", "peer-session", "peer-policy"):
            if kind in process.scopes:
                instance.scopes.setdefault(kind, process.scopes[kind])
        _state_process(document, asn, instance, united, inner)


_OF_PROCESS: Mapping[str, Value] = {
    "keepalive_s": DEFAULT_TIMERS_S[0], "hold_s": DEFAULT_TIMERS_S[1], "multipath_relax": "false",
}  # fmt: skip
_STATED_OF_PROCESS = frozenset({*_OF_PROCESS, "router_id", "cluster_id", "confederation"})
_OF_FAMILY = ("redistribute_connected", "redistribute_static", "maximum_paths")


def _state_family(
    document: Document, path: str, family: str, scope: Scope, united: Mapping[object, str]
) -> None:
    """State what the process does in an address family."""
    put, base = document.put, f"{path}bgp"
    put(f"{base}/family[{family}]", "true", scope.line)
    for leaf, (value, line) in scope.values.items():
        if leaf in _OF_FAMILY:
            put(f"{base}/family[{family}]/{leaf}", value, line)
            if family in sessions.UNICAST:
                put(f"{base}/{leaf}", sessions.map_name(united, family, value), line)
        elif leaf.startswith(_SETTING):
            put(f"{base}/setting[{family} {leaf.removeprefix(_SETTING)}]", value, line)
        elif leaf == "route targets":
            put(f"{path}evpn/route_targets", value, line)
        else:
            put(f"{base}/{leaf}", value, line)
    for prefix, (value, line) in scope.table("networks").items():
        put(f"{base}/network[{prefix}]", value, line)
    for prefix, (_, line) in scope.table("aggregates").items():
        if (":" in str(prefix)) != (family == "ipv6"):
            document.reject(line)
        else:
            put(f"{base}/aggregate[{prefix}]", "summary-only", line)


TOPIC = Topic(ROWS, finish)
