"""BGP, BFD and routing policy of FRR: a peer group per direction and transport, the timers' profile, lists and maps."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect import clause_view
from fabricc.back.nos.frr import evpn, policy, sessions, words
from fabricc.back.nos.frr.evpn import take_prefixes
from fabricc.back.nos.frr.foreign import igp, routing
from fabricc.back.nos.frr.sessions import FAMILIES, join_families
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Scope, Silent, Topic, Types
from fabricc.fabric.facts import Facts, Value, neighbor_key
from fabricc.fabric.routing import Bgp, PrefixRule, Session, Transport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.model import Switch

TTL_SECURITY_HOPS = 1  # of a neighbor on the same cable
_GROUP_SUFFIX = {Transport.IPV4: "-V4", Transport.IPV6: "-V6", Transport.UNNUMBERED: ""}


# --- what FRR makes of the Fabric's statements --------------------------------------------------------


class GracefulRestart(NamedTuple):
    """Seconds for which neighbors of a restarting router, and the router itself, keep its routes (RFC 4724).

    Attributes:
        restart_s: until neighbors drop the routes of one that has not come back.
        defer_s: until it chooses routes, though neighbors still send theirs.
    """

    restart_s: int
    defer_s: int


class GroupView(NamedTuple):
    """One FRR peer group: one per transport, because all members of a group have the same families."""

    name: str
    families: tuple[str, ...]
    import_map: str
    export_map: str
    maximum_prefixes: int
    password: str | None
    evpn: tuple[str, str] | None


def bgp_view(bgp: Bgp, multipath_limit: int, profile: str | None) -> dict[str, object]:
    """Return what `frr.conf.j2` prints of one BGP process and the policy it uses; None for what FRR leaves out."""
    groups = _group_views(bgp)
    timers = {
        "profile": profile,
        "multiplier": bgp.bfd_multiplier if bgp.bfd_multiplier != words.BFD_MULTIPLIER else None,
        "interval_ms": bgp.bfd_interval_ms if bgp.bfd_interval_ms != words.BFD_INTERVAL_MS else None,
    }
    return {
        "bgp": bgp,
        "bfd": timers if bgp.bfd_interval_ms is not None else None,
        "ttl_security_hops": TTL_SECURITY_HOPS if bgp.ttl_security else None,
        "timers": (bgp.keepalive_s, bgp.hold_s) != words.DATACENTER_TIMERS,
        "groups": groups,
        "neighbors": [
            {
                "name": _neighbor_name(session),
                "unnumbered": session.transport is Transport.UNNUMBERED,
                "group": session.group + _GROUP_SUFFIX[session.transport],
                "remote_asn": session.remote_asn,
                "description": session.description,
            }
            for session in bgp.sessions
        ],
        "families": [
            {
                "name": name,
                "aggregates": [prefix for prefix in bgp.aggregates if (":" in prefix) == (name == "ipv6")],
                "groups": [group for group in groups if name in group.families],
                "maximum_paths": bgp.maximum_paths if bgp.maximum_paths != multipath_limit else None,
            }
            for name in bgp.families
        ],
        "prefix_lists": [
            {
                "family": f"ip{'v6' if each.family == 6 else ''}",
                "name": each.name,
                "rules": [*map(_print_rule, each.rules)],
            }
            for each in bgp.prefix_lists
        ],
        "community_lists": [
            {"name": each.name, "community": words.COMMUNITY_NAMES.get(each.community, each.community)}
            for each in bgp.community_lists
        ],
        "clauses": [
            clause_view(each.name, clause, words.COMMUNITY_NAMES)
            for each in bgp.route_maps
            for clause in each.clauses
        ],
    }


def _group_views(bgp: Bgp) -> list[GroupView]:
    return [
        GroupView(
            group.name + _GROUP_SUFFIX[transport],
            bgp.families if transport is Transport.UNNUMBERED else (transport.value,),
            group.import_map,
            group.export_map,
            group.maximum_prefixes,
            group.password,
            None if transport is Transport.IPV6 else group.evpn,
        )
        for group, transport in bgp.groups_in_use
    ]


def _neighbor_name(session: Session) -> str:
    return neighbor_key(session.transport, session.remote, session.port)


def _print_rule(rule: PrefixRule) -> str:
    text = rule.prefix
    text += f" ge {rule.ge}" if rule.ge is not None else ""
    text += f" le {rule.le}" if rule.le is not None else ""
    return "any" if text in words.ANY.values() else text


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch, profile: str | None = words.BFD_PROFILE) -> None:
    """Add further facts of FRR: that policy is required, and the users of each BFD profile."""
    facts["bgp/requires_policy"] = "true"
    if switch.bgp.bfd_interval_ms is None:
        return
    if profile:
        facts[f"structure/bfd_profile[{profile}]"] = "true"
    for group in _group_views(switch.bgp):
        facts[f"structure/bgp_group[{group.name}]/bfd_on"] = "true"
        if profile:
            facts[f"structure/bgp_group[{group.name}]/bfd_profile"] = profile


def ttl_security_facts(switch: Switch) -> Facts:
    """Return the TTL check of each session."""
    sessions = switch.bgp.sessions if switch.bgp.ttl_security else ()
    return {f"bgp/neighbor[{_neighbor_name(s)}]/ttl_security_hops": TTL_SECURITY_HOPS for s in sessions}


# --- and back -----------------------------------------------------------------------------------------

_TAKEN = ("connected", "static")
_KIND = "<babel|eigrp|isis|kernel|local|nhrp|openfabric|ospf|ospf6|rip|ripng|sharp|vnc>"
TYPES: Types = {**policy.TYPES, **sessions.TYPES, **igp.TYPES}


def _redistribution_rows(family: str) -> tuple[Row, ...]:
    """Return lines by which routes of others enter an address family."""
    further = "[metric <integer>] [route-map <word>]"

    def route_values(kind: str, metric: int | None, name: str | None) -> dict[str, Value | None]:
        own = kind in _TAKEN
        return {
            f"{family} {kind}" if own else f"{family} redistribute[{kind}]": name
            or ("unfiltered" if own else "all"),
            f"setting[redistribute {family} {kind} metric]": None if metric is None else str(metric),
        }

    return (
        *(Keep(f"redistribute {kind} {further}", partial(route_values, kind)) for kind in _TAKEN),
        Keep(f"redistribute {_KIND} {further}", route_values),
        Keep(f"redistribute <ospf|table|table-direct> <integer> {further}", lambda kind, number, metric,
            name: route_values(
            f"{kind} {number}", metric, name)),
    )  # fmt: skip


def _of_unicast(family: str) -> tuple[Row, ...]:
    """Return lines of an address family; IPv4 lines may be in the process itself, as in old releases."""
    return (
        Entry(
            f"aggregate-address <prefix{family[-1]}> [<rest>]", "aggregates",
            lambda _, rest: rest or "with its more specifics",
        ),
        *_redistribution_rows(family),
        Entry(f"network <prefix{family[-1]}> [<rest>]", "networks", _announced_map),
        Keep("maximum-paths <integer>", f"{family} paths"),
        Keep("maximum-paths ibgp <integer> [equal-cluster-length]", f"{family} ibgp paths"),
        *words.setting_rows(
            "bgp dampening", "bgp nexthop resolve-via-default", "distance bgp", "distance", "export vpn", "import vpn",
            "import vrf route-map", "label vpn export", "nexthop vpn export", "rd vpn export", "route-map vpn export",
            "route-map vpn import", "rt vpn both", "rt vpn export", "rt vpn import", "sid export", "sid vpn export",
            "table-map", under=f"{family} setting",
        ),
        Keep("import vrf <word>", lambda name: {f"{family} setting[import vrf {name}]": "true"}),
        *sessions.of_family(family),
    )  # fmt: skip


def _announced_map(_: str, rest: str | None) -> str:
    """Return the route map of a prefix that is announced, or `all`."""
    options = (rest or "").split()
    return options[options.index("route-map") + 1] if "route-map" in options[:-1] else "all"


def _address_family(family: str) -> tuple[Row, ...]:
    opened = f"address-family {family} [unicast|uni]"
    return Keep(opened, family), Block(opened, "", _of_unicast(family))


def _further_row(family: str) -> Row:
    return Block(f"address-family {family}", "", sessions.of_family(family))


_PROCESS: tuple[Row, ...] = (
    Keep("no bgp default ipv4-unicast", "no default"),
    Keep("bgp default ipv6-unicast", "ipv6 default"),
    Silent("bgp default ipv4-unicast"),
    Keep("bgp bestpath as-path multipath-relax [as-set|no-as-set]", "multipath_relax", "true"),
    Keep("no bgp bestpath as-path multipath-relax", "multipath_relax", "false"),
    Keep("timers bgp <integer> <integer>", lambda keepalive, hold: {"keepalive_s": keepalive, "hold_s": hold}),
    Entry("bgp listen range <prefix> peer-group <word>", "listen", lambda _, group: group),
    Keep("bgp cluster-id <word>", "cluster_id"),
    Keep("bgp confederation identifier <asn>", "confederation", str),
    Keep("bgp confederation peers <asn>...", "confederation peers", lambda members: " ".join(map(str, members))),
    Keep("distance bgp <integer> <integer> <integer>", "distance", "{0} {1} {2}".format),
    *words.setting_rows(
        "allow-martian-nexthop", "always-compare-med", "bestpath aigp", "bestpath as-path confed",
        "bestpath as-path ignore", "bestpath bandwidth", "bestpath compare-routerid", "bestpath med",
        "bestpath peer-type multipath-relax", "client-to-client reflection", "cluster-id", "coalesce-time",
        "conditional-advertisement timer", "default l2vpn-evpn", "default local-preference", "default shutdown",
        "default show-hostname", "default show-nexthop-hostname", "default software-version-capability",
        "default subgroup-pkt-queue-max", "default-originate timer", "deterministic-med",
        "disable-ebgp-connected-route-check", "enforce-first-as", "fast-convergence", "fast-external-failover",
        "graceful-restart-disable", "graceful-restart disable-eor", "graceful-restart notification",
        "graceful-restart rib-stale-time", "graceful-restart stalepath-time", "graceful-shutdown",
        "hard-administrative-reset", "ipv6-auto-ra", "long-lived-graceful-restart", "default link-local-capability",
        "labeled-unicast", "listen limit", "lu-sid", "max-med",
        "minimum-holdtime", "network import-check", "per-source-nhg", "reject-as-sets", "route-map delay-timer",
        "route-reflector allow-outbound-policy", "rpki strict", "session-dscp", "shutdown",
        "suppress-duplicates", "suppress-fib-pending", "tcp-keepalive", "update-delay",
        before="bgp ",
    ),
    *words.setting_rows(
        "coalesce-time", "read-quanta", "segment-routing srv6", "sid vpn per-vrf export", "timers bgp",
        "update-delay", "write-quanta",
    ),
    Block("segment-routing srv6", "", words.setting_rows("encap-behavior", "locator", "srv6-only")),
    Silent("[no] bgp log-neighbor-changes"),
    Each("neighbor <word>", "neighbor", sessions.SESSION),
    Each("no neighbor <word>", "neighbor", sessions.NEGATED),
    *_of_unicast("ipv4"),
    *(row for family in FAMILIES for row in _address_family(family)),
    *map(_further_row, sessions.FURTHER),
    Silent("exit-address-family"),
)  # fmt: skip
"""Lines of a process, in whatever routing instance."""

ROWS: Sequence[Row] = (
    Keep("frr defaults datacenter", "datacenter"),
    Keep("frr defaults traditional", "traditional"),
    *policy.ROWS,
    *routing.ROWS,
    *igp.ROWS,
    Block("router bgp <asn>", "bgp", (
        Fact("bgp router-id <address4>", "bgp/router_id"),
        Fact("bgp ebgp-requires-policy", "bgp/requires_policy"),
        Fact("no bgp ebgp-requires-policy", "bgp/requires_policy", "false"),
        Fact("bgp graceful-restart", "bgp/graceful_restart/on"),
        Fact("bgp graceful-restart preserve-fw-state", "bgp/graceful_restart/keeps_routes"),
        Fact("bgp graceful-restart restart-time <integer>", "bgp/graceful_restart/restart_s"),
        Fact("bgp graceful-restart select-defer-time <integer>", "bgp/graceful_restart/defer_s"),
        *_PROCESS,
        *evpn.ROUTE_ROWS,
    )),
    Keep("router bgp <asn> vrf <word>", "asn", "{0}"),
    Block("router bgp <asn> vrf <word>", "tenant", (
        Keep("bgp router-id <address4>", "router_id"),
        Keep("bgp ebgp-requires-policy", "requires_policy"),
        Keep("no bgp ebgp-requires-policy", "requires_policy", "false"),
        *words.setting_rows(
            "graceful-restart", "graceful-restart preserve-fw-state", "graceful-restart restart-time",
            "graceful-restart select-defer-time", before="bgp ",
        ),
        *_PROCESS,
        *evpn.TENANT_ROWS,
    )),
)  # fmt: skip


def bgp_topic(multipath_limit: int) -> Topic:
    """Return the rows, and what makes facts of them, for a build of FRR that holds so many next hops."""
    return Topic(ROWS, partial(_finish, multipath_limit))


def _requires_policy_by_default(document: Document) -> bool:
    """Return whether FRR requires policies by default: in this profile since 7.4 (bgp_vty.c, user guide, BGP)."""
    release = _RELEASE.search(document.text)
    old = release is not None and (int(release[1]), int(release[2])) < (7, 4)
    return "traditional" in document.scope.values and not old


_RELEASE = re.compile(r"^frr version (\d{1,4})\.(\d{1,4})", re.MULTILINE)


def _finish(multipath_limit: int, document: Document) -> None:
    """State lists, maps, timers, and sessions with the values of their peer groups; the first process counts."""
    scope = document.scope
    policy.finish(document)
    routing.finish(document)
    igp.finish(document)
    processes = [*scope.each("bgp").items()]
    for number, bgp in processes[:1]:
        document.put("bgp/asn", number, bgp.line)  # type: ignore[arg-type]
        if _requires_policy_by_default(document) and "bgp/requires_policy" not in document.reading.facts:
            document.put("bgp/requires_policy", "true", document.scope.values["traditional"][1])
        finish_process(document, bgp, multipath_limit)
        evpn.finish_routes(document, bgp)
        tunnels = any("vni" in vrf.values for vrf in scope.each("vrf").values()) or any(
            path.startswith(("vxlan/vlan[", "evpn/vni[")) for path in document.reading.facts
        )
        if tunnels and "evpn" in bgp.values and evpn.ALL_VNIS not in document.text:
            why = f"without {evpn.ALL_VNIS} no VNI is announced"
            document.put("unread[address-family l2vpn evpn]", why, bgp.values["evpn"][1])
        speakers = bgp.each("neighbor").values()
        if (
            (tunnels or evpn.ALL_VNIS in document.text)
            and speakers
            and not any(speaker.values.get("evpn active", ("false",))[0] == "true" for speaker in speakers)
        ):
            why = "no session carries EVPN (`neighbor … activate` in its address family)"
            document.put("unread[the announcement of VNIs]", why, bgp.values.get("evpn", ("", bgp.line))[1])
        sessions.finish(document, bgp)
    for _, bgp in processes[1:]:
        document.reject(bgp.line)
    for name, tenant in scope.each("tenant").items():
        take_prefixes(tenant)
        if _does_route(tenant):
            prefix = f"vrf[{name}]/"
            document.put(f"{prefix}bgp/asn", *tenant.values["asn"])
            document.put_leaves(f"{prefix}bgp/", tenant.values, ("router_id", "requires_policy"))
            finish_process(document, tenant, multipath_limit, prefix)
            sessions.finish(document, tenant, prefix)
    evpn.finish_tenants(document)


def _does_route(tenant: Scope) -> bool:
    """Return whether a process of a routing instance does more than name what EVPN makes of it."""
    return not tenant.values.keys() <= {
        "asn",
        "router_id",
        "distinguisher",
        "prefixes",
        "static_map",
    } or bool(tenant.scopes or tenant.tables.keys() - {"imports", "exports"})


_PROFILES = ("datacenter", "traditional")


def finish_process(document: Document, bgp: Scope, multipath_limit: int, prefix: str = "") -> None:
    """State the values of a process, of the default routing instance or below `prefix`."""
    values, line = bgp.values, bgp.line
    timers = words.DATACENTER_TIMERS if "datacenter" in document.scope.values else words.TRADITIONAL_TIMERS
    stated_profile = [document.scope.values[each][1] for each in _PROFILES if each in document.scope.values]
    chosen = stated_profile[0] if stated_profile else line
    defaults: dict[str, tuple[Value, int]] = {
        "keepalive_s": (timers[0], chosen), "hold_s": (timers[1], chosen), "multipath_relax": ("false", line),
    }  # fmt: skip
    for leaf, value in defaults.items():
        document.put(f"{prefix}bgp/{leaf}", *values.get(leaf, value))
    document.put_leaves(f"{prefix}bgp/", values, ("cluster_id", "distance"))
    if "confederation" in values:
        identifier, at = values["confederation"]
        members, _ = values.get("confederation peers", ("", 0))
        document.put(f"{prefix}bgp/confederation", f"{identifier} {members}".rstrip(), at)
    for leaf, table in (("aggregate", "aggregates"), ("network", "networks")):
        for key, stored in bgp.table(table).items():
            document.put(f"{prefix}bgp/{leaf}[{key}]", *stored)
    opened = [f for f in FAMILIES if f in values or any(name.startswith(f"{f} ") for name in values)]
    paths = {family: values.get(f"{family} paths", (multipath_limit, line)) for family in opened}
    stated = join_families("maximum_paths", paths)
    stated |= join_families(
        "multipath_ibgp", {family: values.get(f"{family} ibgp paths") for family in opened}
    )
    for kind in _TAKEN:
        stated |= join_families(
            f"redistribute_{kind}", {family: values.get(f"{family} {kind}") for family in opened}
        )
    others = dict.fromkeys(
        name.partition(" ")[2] for f in opened for name, _ in words.settings_in(values, f"{f} redistribute")
    )
    for name in others:
        stated |= join_families(name, {family: values.get(f"{family} {name}") for family in opened})
    for leaf, stored in stated.items():
        document.put(f"{prefix}bgp/{leaf}", *stored)
    words.put_settings(document, f"{prefix}bgp/", values)
    for family in opened:
        for name, stored in words.settings_in(values, f"{family} setting"):
            document.put(f"{prefix}bgp/setting[{family} {name.partition('[')[2]}", *stored)
