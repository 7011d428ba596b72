"""BGP, BFD and routing policy of EOS: peer groups per transport, neighbors, policy lists in EOS's order."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from fabricc.back.nos import cli_dialect
from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.eos import evpn
from fabricc.back.nos.eos.foreign import peering
from fabricc.back.nos.eos.foreign.igp import SECRET
from fabricc.back.nos.eos.words import COMMUNITY_NAMES, COMMUNITY_OF, DISCARD, secret_reference, setting_rows
from fabricc.back.reading import Block, Each, Fact, Keep, Silent, Topic
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, Value, neighbor_key
from fabricc.fabric.routing import Bgp, PeerGroup, Transport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Captured, Document, Row, Scope, StoredValue
    from fabricc.fabric.model import Switch

DEFAULT_TIMERS_S = (60, 180)
# A direct neighbor's packets arrive with the TTL they left with, which passes for any number of hops.
GTSM_HOPS = 1

DEPARTURES = (
    Departure(
        "bgp/neighbor[*]/description", LEFT_OUT, "`neighbor interface` takes none: for unnumbered neighbors"
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


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process; `timers` is None at EOS's defaults, `maximum_hops` where the TTL is not checked.

    Attributes:
        evpn: whether any group carries EVPN routes.
    """

    process: Bgp
    timers: tuple[int, int] | None
    maximum_hops: int | None
    static_routes: list[tuple[str, str, str]]
    aggregates: list[str]
    groups: list[GroupView]
    neighbors: list[cli_dialect.NeighborView]
    interfaces: list[cli_dialect.NeighborView]
    prefix_lists: list[cli_dialect.PrefixListView]
    community_lists: list[cli_dialect.CommunityListView]
    clauses: list[cli_dialect.ClauseView]
    evpn: bool


def bgp_view(switch: Switch) -> BgpView:
    """Return the view of one BGP process, its policy, and the static routes."""
    bgp = switch.bgp
    timers = (bgp.keepalive_s, bgp.hold_s)
    groups = [_group_view(bgp, group, transport) for group, transport in cli_dialect.groups_in_use(bgp)]
    return BgpView(
        process=bgp,
        timers=None if timers == DEFAULT_TIMERS_S else timers,
        maximum_hops=GTSM_HOPS if bgp.ttl_security else None,
        static_routes=cli_dialect.static_lines(switch.static_routes, DISCARD),
        aggregates=cli_dialect.in_address_order(bgp.aggregates),
        groups=groups,
        neighbors=list(map(cli_dialect.neighbor_view, cli_dialect.numbered_sessions(bgp))),
        interfaces=list(map(cli_dialect.neighbor_view, cli_dialect.unnumbered_sessions(bgp))),
        prefix_lists=cli_dialect.prefix_lists(bgp),
        community_lists=cli_dialect.community_lists(bgp, COMMUNITY_NAMES),
        clauses=cli_dialect.clause_views(bgp, COMMUNITY_NAMES),
        evpn=any(group.evpn for group in groups),
    )


def _group_view(bgp: Bgp, group: PeerGroup, transport: Transport) -> GroupView:
    unnumbered = transport is Transport.UNNUMBERED
    carried = None if transport is Transport.IPV6 else group.evpn
    return GroupView(
        name=cli_dialect.group_name(group.name, transport),
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


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of sessions to the values of EOS, and add its further facts."""
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
_NONE = (None, 0)
_LIKENESS = 0.8
"""Of a name of a peer group that is misspelled, or the same one."""
_VALUE = itemgetter(0)
_OURS = {
    "bfd", "evpn active", "evpn import", "evpn export", "evpn next_hop", "ipv4", "ipv6", "group", "is a group",
    "next_hop", "remote_asn", "description", "import", "export", "maximum_prefixes", "send_community",
    "maximum_hops", "secret",
}  # fmt: skip
"""Statements of sessions in our own fabrics."""
_STATED = (
    "remote_asn", "description", "import", "export", "maximum_prefixes", "send_community", "maximum_hops", "secret",
)  # fmt: skip


def _is_peer(name: str) -> bool:
    """Return whether a neighbor is named by its address, as groups are not."""
    return ":" in name or is_number(name.replace(".", ""))


TYPES = {"community": lambda text: COMMUNITY_OF.get(text, text)}


def _bfd_interval(interval_ms: int, receive_ms: int, multiplier: int) -> dict[str, Value | None]:
    """Return the interval of the slower direction, and how many packets may be lost."""
    return {"bfd/interval_ms": max(interval_ms, receive_ms), "bfd/multiplier": multiplier}


def _path_limit(paths: int, ecmp: int) -> Value:
    return paths if paths == ecmp else f"{paths} ecmp {ecmp}"


def _linked_group(group: str, asn: int) -> dict[str, Value | None]:
    return {"group": group, "remote_asn": asn}


_NEIGHBOR = (
    Keep("(peer group|peer-group)", "is a group"),
    Keep("(peer group|peer-group) <word>", "group"),
    Keep("remote-as <asn>", "remote_asn"),
    Keep("description <rest>", "description"),
    Keep("bfd", "bfd"),
    Keep("send-community", "send_community"),
    Keep("password <0|7|8a> <word>", "secret", lambda _kind, password: secret_reference(password)),
    Keep("password <word>", "secret", secret_reference),
    Keep("password shared-secret profile <rest>", "secret", lambda _profile: SECRET),
    Keep("ttl maximum-hops <0-254>", "maximum_hops"),
    Keep("route-map <word> in", "import"),
    Keep("route-map <word> out", "export"),
    Keep("maximum-routes <integer>", "maximum_prefixes"),
)
_LINKED = (
    Keep("(peer group|peer-group) <word> remote-as <asn>", _linked_group),
    Keep("(peer group|peer-group) <word>", "group"),
    Keep("(peer group|peer-group) <word> peer-filter <word>", lambda group, _peers: {"group": group}),
)
_IPV4 = (
    Keep("activate", "ipv4"),
    Keep("next-hop address-family ipv6 originate", "next_hop"),
    Keep("next-hop address-family ipv6", "next_hop"),
    Keep("route-map <word> in", "import"),
    Keep("route-map <word> out", "export"),
)
_IPV6 = (
    Keep("activate", "ipv6"),
    Keep("route-map <word> in", "ipv6 import"),
    Keep("route-map <word> out", "ipv6 export"),
)


def _family_row(name: str, rows: Sequence[Row], at: str, outer: int) -> Row:
    """Return an address family of a process behind so many captures; IPv4's values are those of the neighbor."""
    return Block(f"address-family {name}", "", partial(_of_family, name, rows, at, outer))


def _of_family(name: str, rows: Sequence[Row], at: str, outer: int) -> Sequence[Row]:
    own = "" if name == "ipv4" else f"{name} "
    stored, off = (*rows, *peering.of_family(own, outer + 1)), peering.no_neighbor(own)
    return (
        Each("neighbor <word>", "neighbor", stored),
        Each("neighbor interface <ports>", "interface", stored),
        Each("no neighbor <word>", "neighbor", (Keep("activate", name, "false"), *off)),
        Each("default neighbor <word>", "neighbor", (Keep("activate", name, peering.UNSET), *off)),
        *peering.process_rows(at, outer),
        Fact("redistribute connected route-map <word>", f"{at}bgp/redistribute_connected"),
        Fact("redistribute static route-map <word>", f"{at}bgp/redistribute_static"),
        Fact("aggregate-address <prefix> summary-only", f"{at}bgp/aggregate[{{{outer}}}]", "summary-only"),
    )


def _process_rows(at: str, outer: int) -> tuple[Row, ...]:
    """Return lines of a process of any routing instance."""
    return (
        Fact("aggregate-address <prefix> summary-only", f"{at}bgp/aggregate[{{{outer}}}]", "summary-only"),
        Fact("redistribute connected route-map <word>", f"{at}bgp/redistribute_connected"),
        Fact("redistribute static route-map <word>", f"{at}bgp/redistribute_static"),
        Each("neighbor <word>", "neighbor", (*_NEIGHBOR, *peering.neighbor_rows(outer + 1))),
        *(Each(f"{word} neighbor <word>", "neighbor", peering.no_neighbor()) for word in ("no", "default")),
        Each("neighbor interface <ports>", "interface", _LINKED),
        _family_row("ipv4", _IPV4, at, outer),
        _family_row("ipv6", _IPV6, at, outer),
        *peering.process_rows(at, outer),
        *peering.other_families(at, outer),
    )


def _of_instance() -> Sequence[Row]:
    """Return lines of a process in a routing instance."""
    return (
        Fact("local-as <asn>", "vrf[{1}]/bgp/asn"),
        Fact("update wait-install", "vrf[{1}]/bgp/setting[update wait-install]", "true"),
        Fact(
            "timers bgp <integer> <integer>",
            {"vrf[{1}]/bgp/keepalive_s": "{2}", "vrf[{1}]/bgp/hold_s": "{3}"},
        ),
        Fact("maximum-paths <integer> ecmp <integer>", "vrf[{1}]/bgp/maximum_paths", _path_limit),
        *_process_rows("vrf[{1}]/", 2),
    )


ROWS: Sequence[Row] = (
    *cli_dialect.static_rows(DISCARD),
    Block("router bfd", "", (
        Fact("interval <integer> min-rx <integer> multiplier <integer> default", _bfd_interval),
        *setting_rows("bfd/setting", 0, (
            "interval <rest>", "multihop <rest>", "session ...", "local-address <rest>", "slow-timer <rest>",
            "sbfd ...", "hardware ...", "vrf ...",
        )),
        Block("sbfd", "", setting_rows("bfd/setting", 0, ("local-interface <rest>", "reflector <rest>"))),
    )),
    Fact("bfd interval <integer> (min-rx|min_rx) <integer> multiplier <integer> default", _bfd_interval),
    *setting_rows("bfd/setting", 0, ("bfd interval <rest>", "bfd multihop <rest>", "bfd slow-timer <rest>")),
    Block("peer-filter <word>", "", setting_rows("bgp/setting", 1, ("<integer> match <rest>",))),
    Fact("router bgp <asn>", "bgp/asn"),
    Block("router bgp <asn>", "bgp", (
        Silent("bgp asn notation (asplain|asdot)"),
        *(Fact(f"bgp missing-policy direction in action {word}", "bgp/requires_policy", "true")
          for word in ("deny", "deny-in-out")),
        Fact("router-id <address4>", "bgp/router_id"),
        Fact("update wait-install", "platform/wait_install"),
        Keep("bgp default ipv4-unicast", "default_ipv4", "true"),
        Keep("no bgp default ipv4-unicast", "default_ipv4", "false"),
        Keep("timers bgp <integer> <integer>", {"keepalive_s": "{1}", "hold_s": "{2}"}),
        Keep("timers bgp <integer> <integer> <rest>", {"keepalive_s": "{1}", "hold_s": "{2}"}),
        Fact("maximum-paths <integer> ecmp <integer>", "bgp/maximum_paths", _path_limit),
        Keep("bgp bestpath as-path multipath-relax", "multipath_relax", "true"),
        Keep("no bgp bestpath as-path multipath-relax", "multipath_relax", "false"),
        *_process_rows("", 1),
        Block("vrf <word>", "vrf", _of_instance),
        *evpn.BGP_ROWS,
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State routes, timers, and sessions with the values of their peer groups; the last process counts."""
    cli_dialect.state_static(document)
    for bgp in [*document.scope.each("bgp").values()][-1:]:
        evpn.finish_process(document, bgp)
        keepalive_s, hold_s = DEFAULT_TIMERS_S
        values, line = bgp.values, bgp.line
        document.put("bgp/keepalive_s", *values.get("keepalive_s", (keepalive_s, line)))
        document.put("bgp/hold_s", *values.get("hold_s", (hold_s, line)))
        document.put("bgp/multipath_relax", *values.get("multipath_relax", ("true", line)))
        neighbors = bgp.each("neighbor")
        peers = [each.values for name, each in neighbors.items() if _is_peer(str(name))]
        peers += [each.values for each in bgp.each("interface").values()]
        hops = [
            _without_unset(_inherit_group(neighbors, peer)).get("maximum_hops", ("", 0)) for peer in peers
        ]
        if hops and all(isinstance(number, int) for number, _ in hops):
            document.put("bgp/ttl_security", "true", max(at for _, at in hops))
        _put_sessions(document, bgp, bgp, neighbors, "")
        for name, vrf in bgp.each("vrf").items():
            _put_sessions(document, bgp, vrf, neighbors, f"vrf[{name}]/")


def _put_sessions(
    document: Document, bgp: Scope, process: Scope, groups: Mapping[Captured, Scope], at: str
) -> None:
    """State the sessions of a routing instance, which take from groups of the whole process."""
    for name, neighbor in process.each("neighbor").items():
        if _is_peer(str(name)):
            _put_session(document, bgp, groups, at, str(name), neighbor.values)
        elif name not in groups or "is a group" not in groups[name].values:
            document.reject_all(neighbor)
            used = {_VALUE(each.values.get("group", _NONE)) for each in process.each("neighbor").values()}
            if get_close_matches(str(name), map(str, used), 1, _LIKENESS):
                document.put(f"unread[neighbor {name}]", "no peer group has this name", neighbor.line)
    for prefix, (listening, line) in process.table("listen").items():
        _put_listen(document, groups, f"{at}bgp/listen[{prefix}]", str(listening).split(), line)
    for name, neighbor in process.each("interface").items():
        _put_session(document, bgp, groups, at, str(name), neighbor.values, linked=True)


def _put_listen(
    document: Document, groups: Mapping[Captured, Scope], path: str, listening: Sequence[str], line: int
) -> None:
    """State a range of neighbors, with the values of its group, and the AS numbers that they may have."""
    group, *peers = listening
    document.put(path, group, line)
    for key, (value, at) in groups[group].values.items() if group in groups else ():
        if key in _STATED or key in peering.STATED:
            document.put(f"{path}/setting[{key}]", str(value), at)
    for asn in peers:
        document.put(f"{path}/setting[remote_asn]", asn, line)


def _inherit_group(groups: Mapping[Captured, Scope], own: dict[str, StoredValue]) -> dict[str, StoredValue]:
    """Return the values of a neighbor, completed from its group, with those that a line takes away."""
    group = groups.get(own["group"][0]) if "group" in own else None
    return group.values | own if group is not None else own


def _without_unset(values: dict[str, StoredValue]) -> dict[str, StoredValue]:
    if peering.UNSET in map(_VALUE, values.values()):
        return {name: each for name, each in values.items() if each[0] != peering.UNSET}
    return values


def _put_session(
    document: Document,
    bgp: Scope,
    groups: Mapping[Captured, Scope],
    at: str,
    name: str,
    own: dict[str, StoredValue],
    *,
    linked: bool = False,
) -> None:
    """State a session over an address, or `linked` over the link-local ones of an interface."""
    inherited = _inherit_group(groups, own)
    stored = _without_unset(inherited)
    off = {key: line for key, (value, line) in inherited.items() if value in (peering.UNSET, "false")}
    prefix = f"{at}bgp/neighbor[{name}]/"
    default = {"ipv4": bgp.values.get("default_ipv4", ("true", 0))}
    active = {f: stored.get(f) or default.get(f, ("false", 0)) for f in _FAMILIES}
    families = [f for f, (value, _) in active.items() if value == "true"]
    if linked and "next_hop" not in stored:
        families = [f for f in families if f != "ipv4"]
    active_at = max((stored[f][1] for f in families if f in stored), default=bgp.line)
    line = max((off[f] for f in _FAMILIES if f in off), default=active_at)
    ours = stored.keys() <= _OURS
    further = _further_families(stored) if not ours or "evpn active" in stored else ()
    document.put(prefix + "families", ",".join((*families, *further)), line)
    document.put(prefix + "bfd", *stored.get("bfd", ("false", off.get("bfd", bgp.line))))
    for key in _STATED:
        if key in stored:
            document.put(prefix + key, *stored[key])
    if "group" in own and own["group"][0] not in groups:
        document.put(prefix + "group", *own["group"])
    if "next_hop" in stored and not linked:
        document.put(prefix + "extended_next_hop", *stored["next_hop"])
    if not ours:
        _put_beyond(document, prefix, stored)
    if not at:
        evpn.finish_session(document, name, stored)


def _further_families(values: Mapping[str, StoredValue]) -> list[str]:
    """Read address families that no built fabric uses, or only with separate filters."""
    found = ["evpn"] if "evpn active" in values and "evpn import" not in values else []
    return found + [
        name.removeprefix("family ")
        for name, (value, _) in values.items()
        if name.startswith("family ") and value == "true"
    ]


def _put_beyond(document: Document, prefix: str, values: Mapping[str, StoredValue]) -> None:
    """State values that sessions of our own fabrics never have."""
    for key, (value, line) in values.items():
        if key in peering.STATED or key.startswith("setting["):
            document.put(prefix + key, value, line)
        elif key.startswith("ipv6 "):
            leaf = key.removeprefix("ipv6 ")
            if values.get(leaf, (value, 0))[0] != value:
                leaf = f"{leaf}[ipv6]"
            document.put(prefix + leaf, value, line)


TOPIC = Topic(ROWS, finish)
