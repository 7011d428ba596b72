"""BGP, BFD and routing policy of EOS: peer groups per transport, neighbours, policy lists in EOS's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect.order import (
    in_address_order,
    natural,
    numbered_sessions,
    unnumbered_sessions,
)
from fabricc.back.nos.cli_dialect.policy_view import (
    clauses,
    community_lists,
    group_name,
    groups_in_use,
    length_words,
)
from fabricc.back.nos.cli_dialect.static import state_static, static_lines, static_rows
from fabricc.back.nos.departures import LEFT_OUT, Departure
from fabricc.back.nos.eos import evpn
from fabricc.back.nos.eos.words import COMMUNITY_NAMES, COMMUNITY_OF
from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Each, Fact, Keep, Silent
from fabricc.base.values import dataclass
from fabricc.fabric.facts import neighbor_key
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.nos.cli_dialect.policy_view import ClauseView, CommunityListView
    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Said, Scope
    from fabricc.back.nos.reading.types import Captured
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, PeerGroup, PrefixList, Session

DISCARD = "Null0"
DEFAULT_TIMERS_S = (60, 180)
# A direct neighbour's packets arrive with the TTL they left with, which passes for any number of hops.
GTSM_HOPS = 1

DEPARTURES = (
    Departure(
        "bgp/neighbor[*]/description", LEFT_OUT, "`neighbor interface` takes none: of unnumbered neighbours"
    ),
)


# --- what EOS makes of the Fabric's statements --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupView:
    """One EOS peer group: the sessions of one group and one transport, since activation is per group."""

    name: str
    import_map: str
    export_map: str
    maximum_routes: int
    ipv4: bool
    ipv6: bool
    next_hop_ipv6: bool
    password: str | None
    evpn: tuple[str, str] | None
    keeps_next_hop: bool


class NeighborView(NamedTuple):
    """One session over an address, or over an interface's link-local addresses."""

    name: str
    group: str
    remote_asn: int
    description: str


@dataclass(frozen=True, slots=True)
class PrefixRuleView:
    """One entry; `lengths` are the words after the prefix, with their leading space."""

    sequence: int
    prefix: str
    lengths: str


@dataclass(frozen=True, slots=True)
class PrefixListView:
    """One prefix list."""

    name: str
    rules: list[PrefixRuleView]


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process; `timers` is None at EOS's defaults, `maximum_hops` where the TTL is not checked."""

    asn: int
    router_id: str
    timers: tuple[int, int] | None
    maximum_paths: int
    multipath_relax: bool
    ipv4: bool
    ipv6: bool
    bfd_interval_ms: int | None
    bfd_multiplier: int
    maximum_hops: int | None
    redistribute_map: str
    static_map: str | None
    static_routes: list[tuple[str, str, str]]
    aggregates: list[str]
    groups: list[GroupView]
    neighbors: list[NeighborView]
    interfaces: list[NeighborView]
    prefix_lists4: list[PrefixListView]
    prefix_lists6: list[PrefixListView]
    community_lists: list[CommunityListView]
    clauses: list[ClauseView]


def bgp_view(switch: Switch) -> BgpView:
    """The view of one BGP process, the policy it uses, and the static routes beside it."""
    bgp = switch.bgp
    timers = (bgp.keepalive_s, bgp.hold_s)
    return BgpView(
        asn=bgp.asn,
        router_id=bgp.router_id,
        timers=None if timers == DEFAULT_TIMERS_S else timers,
        maximum_paths=bgp.maximum_paths,
        multipath_relax=bgp.multipath_relax,
        ipv4=bgp.ipv4,
        ipv6=bgp.ipv6,
        bfd_interval_ms=bgp.bfd_interval_ms,
        bfd_multiplier=bgp.bfd_multiplier,
        maximum_hops=GTSM_HOPS if bgp.ttl_security else None,
        redistribute_map=bgp.redistribute_map,
        static_map=bgp.static_map,
        static_routes=static_lines(switch.static_routes, DISCARD),
        aggregates=in_address_order(bgp.aggregates),
        groups=[_group(bgp, group, transport) for group, transport in groups_in_use(bgp)],
        neighbors=[_neighbor(str(s.remote), s) for s in numbered_sessions(bgp)],
        interfaces=[_neighbor(s.port, s) for s in unnumbered_sessions(bgp)],
        prefix_lists4=_prefix_lists(bgp, 4),
        prefix_lists6=_prefix_lists(bgp, 6),
        community_lists=community_lists(bgp, COMMUNITY_NAMES),
        clauses=clauses(bgp, COMMUNITY_NAMES),
    )


def _neighbor(name: str, session: Session) -> NeighborView:
    group = group_name(session.group, session.transport)
    return NeighborView(name, group, session.remote_asn, session.peer)


def _group(bgp: Bgp, group: PeerGroup, transport: Transport) -> GroupView:
    unnumbered = transport is Transport.UNNUMBERED
    carried = None if transport is Transport.IPV6 else group.evpn
    return GroupView(
        name=group_name(group.name, transport),
        import_map=group.import_map,
        export_map=group.export_map,
        maximum_routes=group.maximum_prefixes if carried is None else evpn.NO_LIMIT,
        ipv4=transport is Transport.IPV4 or (unnumbered and bgp.ipv4),
        ipv6=transport is Transport.IPV6 or (unnumbered and bgp.ipv6),
        next_hop_ipv6=unnumbered,
        password=group.password,
        evpn=carried,
        keeps_next_hop=bgp.evpn_transit,
    )


def _prefix_lists(bgp: Bgp, family: int) -> list[PrefixListView]:
    lists = sorted((p for p in bgp.prefix_lists if p.family == family), key=lambda p: natural(p.name))
    return [PrefixListView(p.name, _rules(p)) for p in lists]


def _rules(prefix_list: PrefixList) -> list[PrefixRuleView]:
    return [
        PrefixRuleView(10 * index, rule.prefix, length_words(rule))
        for index, rule in enumerate(prefix_list.rules, 1)
    ]


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of sessions to what EOS holds of them, and add what it says beyond the Fabric."""
    for session in switch.bgp.sessions:
        prefix = f"bgp/neighbor[{neighbor_key(session.transport, session.remote, session.port)}]/"
        facts[prefix + "send_community"] = "true"
        if switch.bgp.ttl_security:
            facts[prefix + "maximum_hops"] = GTSM_HOPS
        if session.transport is Transport.UNNUMBERED:
            del facts[prefix + "description"]
    facts["platform/wait_install"] = "true"


# --- and back -----------------------------------------------------------------------------------------

_FAMILIES = ("ipv4", "ipv6")
_STATED = (
    "remote_asn", "description", "import", "export", "maximum_prefixes", "send_community", "maximum_hops", "secret",
)  # fmt: skip


def _community(text: str) -> str:
    return COMMUNITY_OF.get(text, text)


TYPES = {"community": _community}


def _bfd(interval_ms: int, receive_ms: int, multiplier: int) -> dict[str, Value | None] | None:
    """One interval for both directions; two are of no known meaning."""
    if interval_ms != receive_ms:
        return None
    return {"bfd/interval_ms": interval_ms, "bfd/multiplier": multiplier}


def _paths(paths: int, ecmp: int) -> Value:
    return paths if paths == ecmp else f"{paths} ecmp {ecmp}"


_NEIGHBOR = (
    Keep("(peer group|peer-group)", "is a group"),
    Keep("(peer group|peer-group) <word>", "group"),
    Keep("remote-as <asn>", "remote_asn"),
    Keep("description <rest>", "description"),
    Keep("bfd", "bfd"),
    Keep("send-community", "send_community"),
    Keep("password 0 <word>", "secret"),
    Keep("password 7 <word>", "secret"),
    Keep("ttl maximum-hops <0-254>", "maximum_hops"),
    Keep("route-map <word> in", "import"),
    Keep("route-map <word> out", "export"),
    Keep("maximum-routes <integer>", "maximum_prefixes"),
)
_IPV4 = (Keep("activate", "ipv4"), Keep("next-hop address-family ipv6 originate", "next_hop"))
_IPV6 = (Keep("activate", "ipv6"),)

ROWS: Sequence[Row] = (
    *static_rows(DISCARD),
    Block("router bfd", "", (Fact("interval <integer> min-rx <integer> multiplier <integer> default", _bfd),)),
    Fact("router bgp <asn>", "bgp/asn"),
    Block("router bgp <asn>", "bgp", (
        Silent("bgp asn notation (asplain|asdot)"),
        Fact("router-id <address4>", "bgp/router_id"),
        Fact("update wait-install", "platform/wait_install"),
        Keep("bgp default ipv4-unicast", "default_ipv4", "true"),
        Keep("no bgp default ipv4-unicast", "default_ipv4", "false"),
        Keep("timers bgp <integer> <integer>", {"keepalive_s": "{1}", "hold_s": "{2}"}),
        Fact("maximum-paths <integer> ecmp <integer>", "bgp/maximum_paths", _paths),
        Keep("bgp bestpath as-path multipath-relax", "multipath_relax", "true"),
        Keep("no bgp bestpath as-path multipath-relax", "multipath_relax", "false"),
        Fact("aggregate-address <prefix> summary-only", "bgp/aggregate[{1}]", "summary-only"),
        Fact("redistribute connected route-map <word>", "bgp/redistribute_connected"),
        Fact("redistribute static route-map <word>", "bgp/redistribute_static"),
        Each("neighbor <word>", "neighbor", _NEIGHBOR),
        Each("neighbor interface <ports>", "interface", (
            Keep("(peer group|peer-group) <word> remote-as <asn>", {"group": "{2}", "remote_asn": "{3}"}),
        )),
        Block("address-family ipv4", "", (
            Each("neighbor <word>", "neighbor", _IPV4),
            Each("no neighbor <word>", "neighbor", (Keep("activate", "ipv4", "false"),)),
        )),
        Block("address-family ipv6", "", (
            Each("neighbor <word>", "neighbor", _IPV6),
            Each("no neighbor <word>", "neighbor", (Keep("activate", "ipv6", "false"),)),
        )),
        *evpn.BGP_ROWS,
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State routes, timers, and sessions with what their peer groups say; the last process counts."""
    state_static(document)
    for bgp in [*document.scope.each("bgp").values()][-1:]:
        evpn.finish_process(document, bgp)
        keepalive_s, hold_s = DEFAULT_TIMERS_S
        values, line = bgp.values, bgp.line
        document.put("bgp/keepalive_s", *values.get("keepalive_s", (keepalive_s, line)))
        document.put("bgp/hold_s", *values.get("hold_s", (hold_s, line)))
        document.put("bgp/multipath_relax", *values.get("multipath_relax", ("true", line)))
        neighbors = bgp.each("neighbor")
        hops = [
            each.values["maximum_hops"][1] for each in neighbors.values() if "maximum_hops" in each.values
        ]
        if hops:
            document.put("bgp/ttl_security", "true", max(hops))
        for name, neighbor in neighbors.items():
            if "is a group" not in neighbor.values:
                _session(document, bgp, neighbors, str(name), neighbor.values)
        for name, neighbor in bgp.each("interface").items():
            _session(document, bgp, neighbors, str(name), neighbor.values, linked=True)


def _session(
    document: Document,
    bgp: Scope,
    groups: Mapping[Captured, Scope],
    name: str,
    own: dict[str, Said],
    *,
    linked: bool = False,
) -> None:
    """State a session over an address, or `linked` over the link-local ones of an interface."""
    group = groups.get(own["group"][0]) if "group" in own else None
    said = group.values | own if group is not None else own
    default = {"ipv4": bgp.values.get("default_ipv4", ("true", 0))}
    active = {f: said.get(f) or default.get(f, ("false", 0)) for f in _FAMILIES}
    families = [f for f, (value, _) in active.items() if value == "true"]
    if linked and "next_hop" not in said:
        families = [f for f in families if f != "ipv4"]
    prefix = f"bgp/neighbor[{name}]/"
    line = max((said[f][1] for f in families if f in said), default=bgp.line)
    document.put(prefix + "families", ",".join(families), line)
    document.put(prefix + "bfd", *said.get("bfd", ("false", bgp.line)))
    for key in _STATED:
        if key in said:
            document.put(prefix + key, *said[key])
    evpn.finish_session(document, name, said)


TOPIC = Topic(ROWS, finish)
