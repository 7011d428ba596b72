"""Read back BGP of Junos: rows, and settings that neighbors inherit from their groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.junos import filters, policy
from fabricc.back.nos.junos.bgp import DEFAULT_BFD_MULTIPLIER, DEFAULT_HOLD_S
from fabricc.back.nos.junos.policy import DISCARD
from fabricc.back.nos.junos.words import (
    BFD_INTERVAL_RANGE_MS,
    BFD_MULTIPLIER_RANGE,
    FAMILIES,
    HOLD_PER_KEEPALIVE,
    MAXIMUM_ECMP,
    ONE_HOP_TTL,
    kept_statements,
    put_refused,
    put_settings,
    secret_reference,
    verbatim_rows,
)
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Scope, StoredValue, Topic, Types
from fabricc.back.reading.rows import parse_asn
from fabricc.back.reading.scope import agreed_facts
from fabricc.fabric.facts import Value, format_boolean, static_text
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FAMILY = {
    ("inet", "unicast"): "ipv4", ("inet6", "unicast"): "ipv6", ("inet", "any"): "ipv4", ("inet6", "any"): "ipv6",
    ("inet", "labeled-unicast"): "ipv4 labeled", ("inet6", "labeled-unicast"): "ipv6 labeled",
    ("evpn", "signaling"): "evpn", ("inet-vpn", "unicast"): "vpnv4", ("inet6-vpn", "unicast"): "vpnv6",
    ("l2vpn", "signaling"): "l2vpn", ("inet", "multicast"): "ipv4 multicast", ("inet6", "multicast"): "ipv6 multicast",
}  # fmt: skip
"""Families other than plain IPv4 and IPv6, with their names in facts; others keep Junos's names."""
_FAMILIES = (
    "inet|inet6|evpn|inet-vpn|inet6-vpn|l2vpn|iso-vpn|inet-mdt|inet-mvpn|inet6-mvpn|bridge-vpn|bridge|fabric"
    "|fabric-vpn|inet-bgpmcast|inet6-bgpmcast|traffic-engineering"
)
_KINDS = (
    "unicast|any|multicast|signaling|labeled-unicast|flow|segment-routing-te|auto-discovery-mspw|mpls|transport"
    "|auto-discovery-only"
)
CHAINED = "platform/chained_next_hops"
_OPERATORS = frozenset({"(", ")", "&&", "||"})
DEFAULT_MULTIHOP_TTL = 64
_RIB = re.compile(r"(?:[^.\s]+\.)?inet6?\.0")
"""The tables of routes that packets take."""
_ADVERTISED = {
    "direct": "connected", "static": "static", "ospf": "ospf", "ospf3": "ospf", "isis": "isis",
    "aggregate": "aggregate",
}  # fmt: skip

TYPES: Types = {
    "rib": lambda word: word if _RIB.fullmatch(word) else None,
    "member": lambda word: parse_asn(word) if parse_asn(word) is not None else word,
}

_SESSION: Sequence[Row] = (
    Keep("peer-as <asn>", "remote_asn"),
    Keep("authentication-key <word>", "secret", secret_reference),
    Keep("hold-time <integer>", "hold_s"),
    Keep("local-address <address>", "update_source"),
    Keep("local-as <asn> [<below>]", lambda number, below: {"local_asn": number, f"setting local-as {below}": below}),
    Keep("multihop", "multihop", DEFAULT_MULTIHOP_TTL),
    Keep("multihop ttl <integer>", "multihop"),
    Keep("multihop no-nexthop-change", "next_hop_unchanged", "all"),
    Keep("vpn-apply-export", "vpn_export", "true"),
    Keep("cluster <word>", "cluster"),
    Keep("remove-private", "removes private"),
    Entry("remove-private <word>...", "remove private", lambda _: "true"),
    Keep("(disable|shutdown) [<below>]", "enabled", "false"),
    Entry("import <word>...", "import", lambda _: "true"),
    Entry("export <word>...", "export", lambda _: "true"),
    Block(f"family <{_FAMILIES}>", "family", (
        Block(f"<{_KINDS}>", "kind", (
            Keep("extended-nexthop", "extended"),
            Keep("prefix-limit maximum <integer>", "limit"),
            Keep("prefix-limit teardown idle-timeout forever", "for good"),
            Keep("loops <integer>", "loops"),
            *verbatim_rows("accepted-prefix-limit add-path aggregate-label aigp damping defer-initial-multipath-build "
                      "delay-route-advertisements entropy-label explicit-null extended-nexthop-color "
                      "graceful-restart idle-after-switch-over local-ipv4-address nexthop-resolution no-install "
                      "no-validate output-queue-priority per-group-label per-prefix-label prefix-limit protection "
                      "resolve-vpn rib rib-group route-age-bgp-view route-refresh-priority secondary "
                      "secondary-independent-resolution snmp-options strip-nexthop topology traffic-statistics "
                      "withdraw-priority egress-te"),
        )),
    )),
    *verbatim_rows("route-target", "family", lead="family"),
    Block("bfd-liveness-detection", "bfd", (
        Keep("minimum-interval <integer>", "interval_ms"),
        Keep("multiplier <integer>", "multiplier"),
        *verbatim_rows("authentication detection-time holddown-interval minimum-receive-interval no-adaptation "
                  "session-mode strict-bfd transmit-interval version echo echo-lite inline-disable "
                  "minimum-transmit-interval pdu-size", lead="bfd-liveness-detection"),
    )),
    Keep("as-override", "as_override", "true"),
    *verbatim_rows("accept-remote-nexthop add-path-display-ipv4-address advertise-bgp-static advertise-external "
              "advertise-inactive advertise-peer-as authentication-algorithm authentication-key-chain "
              "bgp-error-tolerance bgp-static damping disable-4byte-as egress-te egress-te-backup-paths "
              "egress-te-node-segment egress-te-set-segment enforce-first-as forwarding-context graceful-restart "
              "graceful-shutdown idle-after-switch-over include-mp-next-hop ipsec-sa keep local-interface "
              "local-preference long-lived metric-out minimum-hold-time mtu-discovery multihop+ mvpn-iana-rt-import "
              "no-advertise-peer-as no-aggregator-id no-client-reflect optimal-route-reflection out-delay "
              "outbound-route-filter output-queue-priority passive path-selection preference "
              "rfc6514-compliant-safi129 rib-sharding route-refresh-priority send-addpath-optimization snmp-options "
              "stale-labels-holddown-period tcp-aggressive-transmission tcp-connect-port tcp-mss tos "
              "unconfigured-peer-graceful-restart update-threading malformed-route-limit "
              "malformed-update-log-interval holddown traffic-statistics-labeled-path accept-prefix-sid "
              "advertise-prefix-sid advertise-srgb bgp-identifier domain-path-id ebgp-community-cleanup "
              "egress-te-adj-segment link-bandwidth message-batching nlri no-global-load-balancing "
              "route-server-client send-non-transitive-link-bandwidth tcpao-auth-mismatch"),
)  # fmt: skip
"""Settings of a neighbor, inherited from its group and then from the protocol."""
_GROUP: Sequence[Row] = (
    Keep("multipath", "multipath", "false"),
    Keep("multipath multiple-as", "multipath", "true"),
    Keep("ttl <integer>", "ttl"),
    Entry("allow <word>", "allowed"),
    *verbatim_rows("multipath+"),
    *_SESSION,
)
"""Settings of a group, inherited from the protocol."""
_ALONE: Sequence[Row] = tuple(row for row in _GROUP if row.pattern != "hold-time <integer>")
"""Settings of the protocol only: its hold time belongs to the process."""

_NONE = (None, 0)
_UNSTATED: StoredValue = ("", 0)
_SETTINGS_OF_GROUPS = (
    "remote_asn", "description", "secret", "update_source", "local_asn", "multihop", "next_hop_unchanged",
    "enabled", "vpn_export",
)  # fmt: skip
"""Facts of a session that have the names of its lines."""

_NEIGHBOR: Sequence[Row] = (
    Keep("description <word>", "description"),
    *verbatim_rows("multipath precision-timers"),
    *_SESSION,
)
_AGGREGATE: Sequence[Row] = (
    Keep(DISCARD, "discard"),
    *verbatim_rows("active as-path brief community full metric passive policy preference reject tag"),
)
_STATIC: Sequence[Row] = (
    Keep(f"<{DISCARD}|reject|receive>", "without"),
    Entry("next-hop <word>", "via"),
    Block("qualified-next-hop <word>", "hop", verbatim_rows("bfd-liveness-detection interface metric preference tag")),
    Entry("next-table <word>", "via", lambda table: f"table {table}"),
    *verbatim_rows("active as-path backup-pe-group bfd-liveness-detection color community inactive install "
                   "longest-match "
              "lsp-next-hop metric no-install no-readvertise no-resolve no-retain p2mp-lsp-next-hop passive "
              "preference readvertise resolve retain static-lsp-next-hop tag metric2"),
)  # fmt: skip
COMMON: Sequence[Row] = (
    Keep("routing-options router-id <word>", "router_id"),
    Keep("routing-options autonomous-system <asn> [<below>]",
         lambda number, below: {"asn": number, f"setting autonomous-system {below}": below}),
    Keep("routing-options autonomous-system <asn> loops <integer>",
         lambda number, times: {"asn": number, "allow_as_in": times}),
    Keep("routing-options autonomous-system loops <integer>", "allow_as_in"),
    *verbatim_rows("asdot-notation independent-domain", "routing-options autonomous-system",
        lead="autonomous-system"),
    Block("routing-options aggregate route <word>", "aggregate", _AGGREGATE),
    Block("routing-options static route <word>", "static route", _STATIC),
    Block("routing-options rib <rib>", "", (
        Block("aggregate route <word>", "aggregate", _AGGREGATE),
        Block("static route <word>", "static route", _STATIC),
        *verbatim_rows("bgp-orf-cisco-mode generate label martians maximum-paths maximum-prefixes multipath protect "
                  "backup-selection flow", lead="rib"),
    )),
    Block("protocols router-advertisement interface <unit>", "announced", (
        Keep("max-advertisement-interval <integer>", "ra_max_s"),
        Keep("min-advertisement-interval <integer>", "ra_min_s"),
        *verbatim_rows("current-hop-limit default-lifetime dns-server-address link-mtu managed-configuration "
                  "no-managed-configuration nat-prefix no-other-stateful-configuration other-stateful-configuration "
                  "preference prefix reachable-time retransmit-timer solicit-router-advertisement-unicast "
                  "virtual-router-only dns-search-list downstream downstream-mode no-link-mtu parameter-preference "
                  "passive-mode rio-prefix upstream-mode", lead="router-advertisement"),
    )),
    Block("protocols bgp", "bgp", (
        Keep("log-updown", "log_updown"),
        Keep("precision-timers", "precision_timers"),
        Keep("global-load-balancing <load-balancer-only|helper-only>", "global"),
        Keep("hold-time <integer>", "process hold_s"),
        *_ALONE,
        *verbatim_rows("global-load-balancing group-split-size bmp defaults sr-preference-override route-age "
                  "accept-prpd-connection advertise-from-main-vpn-tables description egress-te-sid-stats "
                  "holddown-all-stale-labels multipath-build-priority no-precision-timers prioritize-route-queueing "
                  "protocol-instance-name rfc8950-compliant route-age-bgp-view source-packet-routing"),
        Block("neighbor <word>", "neighbor", _NEIGHBOR),
        Block("group <word>", "group", (
            Keep("type <internal|external>", "type"),
            Keep("peer-as-list <word>", "as_list"),
            *verbatim_rows("description dynamic-neighbor precision-timers"),
            *_GROUP,
            Block("neighbor <word>", "neighbor", _NEIGHBOR),
            Block("dynamic-neighbor <word>", "dynamic", (
                Keep("peer-auto-discovery family inet6 ipv6-nd", "discovers"),
                Entry("peer-auto-discovery interface <unit>", "interfaces"),
            )),
        )),
    )),
)  # fmt: skip
ROWS: Sequence[Row] = (
    Fact("routing-options forwarding-table ecmp-fast-reroute", "platform/ecmp_fast_reroute"),
    Fact("routing-options forwarding-table chained-composite-next-hop ingress evpn", CHAINED),
    Fact("chassis maximum-ecmp <integer>", "bgp/maximum_paths"),
)


def finish(document: Document) -> None:
    """State routing options and sessions of a routing instance, with what neighbors leave to group and protocol."""
    scope = document.scope
    document.put_leaves("bgp/", scope.values, ("router_id", "asn", "allow_as_in"))
    paths = document.reading.facts.get("bgp/maximum_paths")
    if document is document.whole and isinstance(paths, int) and paths not in MAXIMUM_ECMP:
        why = f"a commit accepts 16, and steps of 32 up to {MAXIMUM_ECMP[-1]}"
        document.put("unread[chassis maximum-ecmp]", why, document.reading.lines["bgp/maximum_paths"][1])
    for prefix, route in scope.each("static route").items():
        _finish_static(document, str(prefix), route)
    for prefix, aggregate in scope.each("aggregate").items():
        kept = "summary-only" if policy.suppresses_contributors(document) else "with specifics"
        document.put(f"bgp/aggregate[{prefix}]", kept, aggregate.line)
        put_settings(document, "routing/", aggregate, lead=f"aggregate {prefix} ")
    for port, announced in scope.each("announced").items():
        for leaf in ("ra_max_s", "ra_min_s"):
            if leaf in announced.values:
                document.whole.put(port_paths(str(port))[leaf], *announced.values[leaf])
        put_settings(document.whole, port_paths(str(port)).prefix, announced)
    for bgp in scope.each("bgp").values():
        hold_s, line = bgp.values.get("process hold_s", (DEFAULT_HOLD_S, 0))
        document.put("bgp/hold_s", hold_s, line)
        document.put("bgp/keepalive_s", int(hold_s) // HOLD_PER_KEEPALIVE, line)
        document.put_kept("platform/bgp_log", bgp.values, "log_updown")
        document.put_kept("platform/bgp_precision_timers", bgp.values, "precision_timers")
        if "global" in bgp.values:
            document.put("load_balancing/global", "true", bgp.values["global"][1])
            document.put("platform/global_load_balancing", *bgp.values["global"])
        put_settings(document, "bgp/", bgp)
        _finish_sessions(document, bgp)


def _finish_static(document: Document, prefix: str, route: Scope) -> None:
    """State a route's next hops, or what becomes of packets without one."""
    without, _ = route.values.get("without", (DISCARD, 0))
    via = route.table("via")
    hops = [str(stored) if str(stored).startswith("table ") else str(hop) for hop, (stored, _) in via.items()]
    hops += map(str, route.each("hop"))
    for hop, stored in route.each("hop").items():
        put_settings(document, "routing/", stored, lead=f"static {prefix} next-hop {hop} ")
    document.put(f"static_route[{prefix}]", static_text(hops) if hops else str(without), route.line)
    put_settings(document, "routing/", route, lead=f"static {prefix} ")


def _finish_sessions(document: Document, bgp: Scope) -> None:
    """State all sessions, what all groups agree on, and whether none takes packets from further than one hop."""
    secure = True
    families: set[str] = set()
    announced = document.scope.each("announced")
    for address, neighbor in bgp.each("neighbor").items():
        _put_session(document, f"bgp/neighbor[{address}]/", neighbor.inherit_from(bgp))
        put_settings(document, f"bgp/neighbor[{address}]/", neighbor)
    for name, own in bgp.each("group").items():
        group = own.inherit_from(bgp)
        document.put_kept(f"platform/bgp_group[{name}]/ttl", group.values, "ttl")
        document.put_kept(f"platform/bgp_group[{name}]/type", own.values, "type")
        for network, (_, line) in own.table("allowed").items():
            for each in ("0.0.0.0/0", "::/0") if network == "all" else (network,):
                document.put(f"bgp/listen[{each}]", str(name), line)
                for way in ("import", "export"):
                    if chain := group.table(way):
                        names, at = _policy_chain(chain)
                        document.put(f"bgp/listen[{each}]/setting[{way}]", " ".join(names), at)
        secure = secure and group.values.get("ttl", _NONE)[0] == ONE_HOP_TTL
        for bfd in group.each("bfd").values():
            put_refused(
                document, f"{name} multiplier", bfd.values.get("multiplier", _UNSTATED), *BFD_MULTIPLIER_RANGE
            )
            put_refused(
                document,
                f"{name} minimum-interval",
                bfd.values.get("interval_ms", _UNSTATED),
                *BFD_INTERVAL_RANGE_MS,
            )
        document.agree("bgp/multipath_relax", *group.values.get("multipath", ("none", group.line)))
        for address, neighbor in own.each("neighbor").items():
            families.add("inet6" if ":" in str(address) else "inet")
            prefix = f"bgp/neighbor[{address}]/"
            whole = neighbor.inherit_from(group)
            _put_session(document, prefix, whole)
            put_settings(document, prefix, neighbor.inherit_from(own))
            numbers = [whole.values.get(each, _UNSTATED)[0] for each in ("remote_asn", "local_asn")]
            if (
                own.values.get("type", _UNSTATED)[0] == "internal"
                and all(numbers)
                and numbers[0] != numbers[1]
            ):
                why = (
                    f"the neighbor {address} has AS {numbers[0]}, not its own {numbers[1]} (Juniper, `type`)"
                )
                document.put(f"unread[type internal of group {name}]", why, own.values["type"][1])
        for dynamic_name, dynamic in own.each("dynamic").items():
            families.add("inet6")
            document.put(f"structure/bgp_group[{name}]/dynamic_neighbor", str(dynamic_name), dynamic.line)
            asn = _listed_asn(document, own)
            for interface, (_, line) in dynamic.table("interfaces").items():
                if "discovers" in dynamic.values and interface in announced:
                    group.values |= asn
                    _put_session(document, f"bgp/neighbor[{interface}]/", group, unnumbered=True)
                    put_settings(document, f"bgp/neighbor[{interface}]/", own)
                else:
                    document.reject(line)
    guarded = filters.one_hop(document)
    if families and secure and families <= guarded.keys():
        document.put("bgp/ttl_security", "true", guarded[min(families)])
    document.put_agreed()


def _listed_asn(document: Document, group: Scope) -> dict[str, StoredValue]:
    """Return the one AS number that a group's list has, as the remote one."""
    stored = group.values.get("as_list")
    as_list = document.resolve_reference("as-list", *stored) if stored else None
    members = [*as_list.table("members").values()] if as_list else []
    return {"remote_asn": members[0]} if len(members) == 1 and isinstance(members[0][0], int) else {}


def _put_session(document: Document, prefix: str, scope: Scope, *, unnumbered: bool = False) -> None:
    """State one session from its own settings, those of its group and of the protocol."""
    values, imports, exports = scope.values, scope.table("import"), scope.table("export")
    document.put_leaves(prefix, values, _SETTINGS_OF_GROUPS)
    if "remote_asn" not in values and "type" in values:
        document.put(prefix + "remote_kind", *values["type"])
    if "next_hop_unchanged" in values and "multihop" not in values:
        document.put(prefix + "multihop", DEFAULT_MULTIHOP_TTL, values["next_hop_unchanged"][1])
    private = dict(scope.table("remove private"))
    if "removes private" in values:
        private.setdefault("true", values["removes private"])
    document.put_set(prefix + "remove_private", private)
    if "hold_s" in values:
        hold_s, line = values["hold_s"]
        document.put(prefix + "hold_s", hold_s, line)
        document.put(prefix + "keepalive_s", int(hold_s) // HOLD_PER_KEEPALIVE, line)
    if imports:
        words, line = _policy_chain(imports)
        document.put(prefix + "import", " ".join(words), line)
    if exports:
        _put_exports(document, prefix, exports)
    bfd = scope.each("bfd")[""].values if scope.each("bfd") else {}
    interval_ms, line = bfd.get("interval_ms", (None, scope.line))
    document.put(prefix + "bfd", format_boolean(interval_ms is not None), line)
    if interval_ms is not None:
        document.agree("bfd/interval_ms", interval_ms, line)
        document.agree("bfd/multiplier", *bfd.get("multiplier", (DEFAULT_BFD_MULTIPLIER, line)))
    _put_families(document, prefix, scope, ipv6=unnumbered or ":" in prefix, unnumbered=unnumbered)


def _policy_chain(values: Mapping[Value, StoredValue]) -> tuple[list[str], int]:
    """Return the words of a chain of policies and its line; brackets around an expression have no meaning."""
    words = [str(word) for word in values]
    while words[:1] == ["("] and words[-1:] == [")"] and words[1:-1]:
        words = words[1:-1]
    return words, max(line for _, line in values.values())


def _put_exports(document: Document, prefix: str, exports: Mapping[Value, StoredValue]) -> None:
    """State what is sent: where the first policies of a chain choose what enters BGP, those, and the last alone."""
    words, line = _policy_chain(exports)
    if policy.selects_for_bgp(document, words[0]) and not _OPERATORS & set(words):
        before = words[:-1]
        document.put(prefix + "export", words[-1], exports[words[-1]][1])
        connected = " ".join(before) if len(before) > 2 else before[0] if before else "none"
        document.agree("bgp/redistribute_connected", connected, exports[words[0]][1])
        if len(before) == 2:
            document.agree("bgp/redistribute_static", before[1], exports[words[1]][1])
        return
    document.put(prefix + "export", " ".join(words), line)
    entering: dict[str, list[str]] = {}
    for name in words:
        for protocol in policy.accepted_protocols(document, name):
            if protocol in _ADVERTISED:
                entering.setdefault(_ADVERTISED[protocol], []).append(name)
    for protocol, names in entering.items():
        document.agree(f"bgp/redistribute[{protocol}]", " ".join(dict.fromkeys(names)), line)


def _put_families(document: Document, prefix: str, block: Scope, *, ipv6: bool, unnumbered: bool) -> None:
    """State the families of a session and their limits; IPv4 has no next hop on a link without addresses."""
    configured = block.each("family")
    families: list[str] = []
    limits: dict[Value, int] = {}
    loops: dict[Value, int] = {}
    line = block.line
    order = [
        *(name for name in FAMILIES if name in configured),
        *(name for name in configured if name not in FAMILIES),
    ]
    for family in order:
        for kind, scope in configured[family].each("kind").items():
            line, values = configured[family].line, scope.values
            put_settings(document, prefix, scope, lead=f"family {family} {kind} ")
            extended = "extended" in values
            if family == "inet" and unnumbered and not extended:
                continue
            version = _FAMILY.get((str(family), str(kind)), f"{family} {kind}")
            families.append(f"{version} over IPv6" if extended and not unnumbered else version)
            if "loops" in values:
                loops[values["loops"][0]] = values["loops"][1]
            if kind == "unicast" or "limit" in values:
                limit, at = values.get("limit", ("none", scope.line))
                limits[limit if "limit" not in values or "for good" in values else f"{limit} without end"] = (
                    at
                )
    families += [words for words, _ in kept_statements(block) if words.startswith("family route-target")]
    default = "ipv6" if ipv6 else "ipv4"  # Junos offers unicast routes of the family that carries the session
    document.put(prefix + "families", ",".join(families) or ("none" if configured else default), line)
    document.put_all(agreed_facts(prefix + "maximum_prefixes", limits))
    if loops:
        document.put(prefix + "allow_as_in", max(map(int, loops)), max(loops.values()))
    if "as_override" in block.values:
        document.put(prefix + "as_override", ",".join(families) or default, block.values["as_override"][1])
    if "cluster" in block.values:
        cluster, at = block.values["cluster"]
        document.put(prefix + "reflector_client", ",".join(families) or default, at)
        document.agree("bgp/cluster_id", cluster, at)


TOPIC = Topic(ROWS)
