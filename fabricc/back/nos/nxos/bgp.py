"""BGP on NX-OS and its policy: peer templates per transport, neighbours, prefix lists, community lists, route maps."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.order import natural, numbered_sessions, unnumbered_sessions
from fabricc.back.nos.cli_dialect.policy import (
    LISTS,
    clause_said,
    denies_all,
    route_maps,
    state_lists,
    state_maps,
)
from fabricc.back.nos.cli_dialect.policy_view import (
    CommunityListView,
    community_lists,
    group_name,
    groups_in_use,
    length_words,
)
from fabricc.back.nos.cli_dialect.static import state_static, static_lines, static_rows
from fabricc.back.nos.departures import ROUNDED, Departure
from fabricc.back.nos.nxos.words import ONCE, define, part, state_part
from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Each, Entry, Fact, Keep
from fabricc.back.nos.reading.scope import Scope
from fabricc.base.values import dataclass
from fabricc.fabric.facts import neighbor_key
from fabricc.fabric.routing import Clause, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Said
    from fabricc.back.nos.reading.types import Captured, Types
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp

    Stated = tuple[str, Value, int]

DEPARTURES = (
    Departure("bgp/neighbor[*]/families", ROUNDED, "a session over link-local addresses has both families"),
)

DEFAULT_TIMERS_S = (60, 180)
GTSM_HOPS = 1
FAMILY_SUFFIXES = {"ipv4": "-V4", "ipv6": "-V6"}
"""Of the names of route maps, where each family has its own."""

# RFC 1997 and RFC 8326 values that NX-OS takes by name; the last it prints as a number.
COMMUNITY_NAMES = {
    "65535:65281": "no-export",
    "65535:65282": "no-advertise",
    "65535:65283": "local-AS",
}
COMMUNITY_OF = {name: value for value, name in COMMUNITY_NAMES.items()} | {"graceful-shutdown": "65535:0"}

DISCARD = "Null0"
_WORDS = {"ipv4": "ip", "ipv6": "ipv6"}
_FAMILIES = {
    Transport.IPV4: ("ipv4",),
    Transport.IPV6: ("ipv6",),
    Transport.UNNUMBERED: ("ipv4", "ipv6"),
}
"""A session over link-local addresses has both families, also where one of them carries nothing."""


# --- what NX-OS makes of the Fabric's statements ------------------------------------------------------


def families(bgp: Bgp) -> dict[str, bool]:
    """The process's families: those the fabric carries, and both for unnumbered sessions -> whether it carries them."""
    unnumbered = any(s.transport is Transport.UNNUMBERED for s in bgp.sessions)
    stated = {"ipv4": bgp.ipv4, "ipv6": bgp.ipv6}
    return {family: carried for family, carried in stated.items() if carried or unnumbered}


def map_name(bgp: Bgp, name: str, family: str) -> str:
    """What a route map is called in a family: where the process has two, each has maps of its own.

    What a clause that matches IPv4 addresses does with an IPv6 route is not published, so none ever meets one.
    """
    return name + FAMILY_SUFFIXES[family] if len(families(bgp)) > 1 else name


def clauses(bgp: Bgp) -> Iterator[tuple[str, str, Clause]]:
    """(name of the map, family, clause) of all maps; a family that no clause is about is denied as a whole."""
    apart = len(families(bgp)) > 1
    for route_map in bgp.route_maps:
        for family, carried in families(bgp).items() if apart else ():
            if route_map.name in (bgp.redistribute_map, bgp.static_map) and not carried:
                continue
            own = [c for c in route_map.clauses if c.prefix_list is None or _family(c) == family]
            for clause in own or [Clause(10, False)]:
                yield map_name(bgp, route_map.name, family), family, clause
        if not apart:
            yield from ((route_map.name, _family(clause), clause) for clause in route_map.clauses)


def _family(clause: Clause) -> str:
    return "ipv6" if clause.family == 6 else "ipv4"


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What one address family of a peer template accepts and announces by."""

    name: str
    import_map: str
    export_map: str


@dataclass(frozen=True, slots=True)
class TemplateView:
    """One peer template: the sessions of one group and one transport, since families belong to it."""

    name: str
    families: list[PolicyView]
    maximum_prefixes: int
    password: str | None


@dataclass(frozen=True, slots=True)
class NeighborView:
    """One session; `name` is an address, or an interface for its link-local neighbour."""

    name: str
    template: str
    remote_asn: int
    description: str


@dataclass(frozen=True, slots=True)
class FamilyView:
    """One address family of the process; a map is None where the fabric carries no such routes."""

    name: str
    redistribute_map: str | None
    static_map: str | None
    aggregates: list[str]


@dataclass(frozen=True, slots=True)
class PrefixRuleView:
    """One entry; `family` is `ip` or `ipv6`, `lengths` the words after the prefix, with their leading space."""

    family: str
    list: str
    sequence: int
    prefix: str
    lengths: str


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One step of a route map; `family` is `ip` or `ipv6`, `community` the word for the one that it adds."""

    route_map: str
    family: str
    clause: Clause
    community: str | None


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process; `timers` is None at NX-OS's defaults, `ttl_hops` where the TTL is not checked."""

    process: Bgp
    static_routes: list[tuple[str, str, str]]
    timers: tuple[int, int] | None
    ttl_hops: int | None
    families: list[FamilyView]
    templates: list[TemplateView]
    neighbors: list[NeighborView]
    rules: list[PrefixRuleView]
    community_lists: list[CommunityListView]
    clauses: list[ClauseView]


def bgp_view(switch: Switch) -> BgpView:
    """The view of one BGP process, the policy it uses, and the static routes beside it."""
    bgp = switch.bgp
    timers = (bgp.keepalive_s, bgp.hold_s)
    return BgpView(
        process=bgp,
        static_routes=static_lines(switch.static_routes, DISCARD),
        timers=None if timers == DEFAULT_TIMERS_S else timers,
        ttl_hops=GTSM_HOPS if bgp.ttl_security else None,
        families=[
            FamilyView(
                family,
                map_name(bgp, bgp.redistribute_map, family) if carried else None,
                map_name(bgp, bgp.static_map, family) if carried and bgp.static_map else None,
                sorted((a for a in bgp.aggregates if (":" in a) == (family == "ipv6")), key=_order),
            )
            for family, carried in families(bgp).items()
        ],
        templates=[
            TemplateView(
                group_name(group.name, transport),
                [
                    PolicyView(f, map_name(bgp, group.import_map, f), map_name(bgp, group.export_map, f))
                    for f in _FAMILIES[transport]
                ],
                group.maximum_prefixes,
                group.password,
            )
            for group, transport in groups_in_use(bgp)
        ],
        neighbors=[
            NeighborView(s.remote or s.port, group_name(s.group, s.transport), s.remote_asn, s.peer)
            for s in (*numbered_sessions(bgp), *unnumbered_sessions(bgp))
        ],
        rules=[
            PrefixRuleView(
                "ipv6" if listed.family == 6 else "ip",
                listed.name,
                10 * index,
                rule.prefix,
                length_words(rule),
            )
            for listed in sorted(bgp.prefix_lists, key=lambda p: (p.family, natural(p.name)))
            for index, rule in enumerate(listed.rules, 1)
        ],
        community_lists=community_lists(bgp, COMMUNITY_NAMES),
        clauses=[
            ClauseView(name, _WORDS[family], clause, _word(clause.add_community))
            for name, family, clause in sorted(clauses(bgp), key=lambda c: (natural(c[0]), c[2].sequence))
        ],
    )


def _order(prefix: str) -> tuple[int, int]:
    network = ip_network(prefix, strict=False)
    return int(network.network_address), network.prefixlen


def _word(community: str | None) -> str | None:
    return COMMUNITY_NAMES.get(community, community) if community else None


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """What NX-OS states beyond the neutral facts: each family, what each template sends, each line of a clause."""
    bgp = switch.bgp
    define(facts, "bgp", {"log-neighbor-changes": ONCE})
    for family, carried in families(bgp).items():
        facts[f"bgp/family[{family}]"] = "true"
        facts[f"bgp/family[{family}]/maximum_paths"] = bgp.maximum_paths
        for kind, name in (("connected", bgp.redistribute_map), ("static", bgp.static_map)):
            if carried and name:
                facts[f"bgp/family[{family}]/redistribute_{kind}"] = map_name(bgp, name, family)
    for session in bgp.sessions:
        neighbor = f"neighbor[{neighbor_key(session.transport, session.remote, session.port)}]"
        template = group_name(session.group, session.transport)
        define(facts, f"peer_template[{template}]")
        define(facts, neighbor, {"template": template})
        facts[f"bgp/{neighbor}/send_community"] = "true"
        facts[f"bgp/{neighbor}/families"] = ",".join(_FAMILIES[session.transport])
        if bgp.ttl_security:
            facts[f"bgp/{neighbor}/ttl_security_hops"] = GTSM_HOPS
    for name, family, clause in clauses(bgp):
        said = {
            "action": "permit" if clause.permit else "deny",
            "community_list": clause.community_list,
            f"{_WORDS[family]} prefix-list": clause.prefix_list,
            "local_preference": clause.local_preference,
            "add_community": _word(clause.add_community),
        }
        lines = {_LINES[about]: value for about, value in said.items() if value is not None}
        facts |= {
            f"structure/route_map[{name}]/{clause.sequence}/{start}": form.format(value)
            for (start, form), value in lines.items()
        }


_LINES = {
    "action": ("action", "{}"),
    "community_list": ("match community", "{}"),
    "ip prefix-list": ("match ip address", "prefix-list {}"),
    "ipv6 prefix-list": ("match ipv6 address", "prefix-list {}"),
    "local_preference": ("set local-preference", "{}"),
    "add_community": ("set community", "{} additive"),
}
"""What a line of a clause says -> how it begins and goes on."""


# --- and back -----------------------------------------------------------------------------------------


def _bfd(interval_ms: int, again_ms: int, multiplier: int) -> Mapping[str, Value] | None:
    """The one interval of both directions; two are not known."""
    return {"bfd/interval_ms": interval_ms, "bfd/multiplier": multiplier} if interval_ms == again_ms else None


TYPES: Types = {"community": lambda word: COMMUNITY_OF.get(word, word)}
_PEER = (
    Keep("inherit peer <word>", "template"),
    Keep("remote-as <asn>", "remote_asn"),
    Keep("description <rest>", "description"),
    Keep("bfd", "bfd"),
    Keep("ttl-security hops <integer>", "ttl_security_hops"),
    Keep("password (0|3|7) <word>", "secret"),
    Block("address-family <ipv4|ipv6> unicast", "family", (
        Keep("send-community [standard]", "send_community"),
        Keep("route-map <word> in", "import"),
        Keep("route-map <word> out", "export"),
        Keep("maximum-prefix <integer>", "maximum_prefixes"),
    )),
)  # fmt: skip
ROWS: Sequence[Row] = (
    *static_rows(DISCARD),
    *part("router bgp <asn>", "bgp", (
        Fact("router-id <word>", "bgp/router_id"),
        Keep("timers bgp <integer> <integer>", {"keepalive_s": "{1}", "hold_s": "{2}"}),
        Keep("bestpath as-path multipath-relax", "multipath_relax"),
        Keep("log-neighbor-changes", "log-neighbor-changes", ONCE),
        Block("address-family <ipv4|ipv6> unicast", "family", (
            Keep("redistribute direct route-map <word>", "redistribute_connected"),
            Keep("redistribute static route-map <word>", "redistribute_static"),
            Keep("maximum-paths <integer>", "maximum_paths"),
            Entry("aggregate-address <prefix> summary-only", "aggregates"),
        )),
        *part("template peer <word>", "template", _PEER, once=True),
        *part("neighbor <word>", "neighbor", _PEER),
        Each("neighbor <word>", "neighbor", (*_PEER, Block("remote-as <asn>", "", _PEER))),
    )),
    Fact("bfd interval <integer> min_rx <integer> multiplier <integer>", _bfd),
    *LISTS,
    route_maps(once=True),
)  # fmt: skip


def finish(document: Document) -> None:
    """State lists, routes, route maps, and the process with what neighbours inherit of templates."""
    state_static(document)
    maps = {str(name): scope.each("clause") for name, scope in document.scope.each("route-map").items()}
    united = _united(maps)
    state_lists(document)
    state_maps(document, united)
    for name, steps in maps.items():
        for sequence, clause in steps.items():
            for about, (value, line) in clause.values.items():
                word = _word(str(value)) if about == "add_community" else value
                start, form = _LINES[about]
                document.put(f"structure/route_map[{name}]/{sequence}/{start}", form.format(word), line)
    for asn, process in document.scope.each("bgp").items():
        _state_process(document, asn, process, united)


def _united(maps: Mapping[str, Mapping[Captured, Scope]]) -> dict[object, str]:
    """Maps of one family each that are stated as one -> its name: all whose clauses are of the family in their name.

    A clause without a prefix list is of both, and has to be in both maps; one that denies all the rest says nothing.
    """
    suffixes = FAMILY_SUFFIXES.values()
    stems = {name[: -len(suffix)] for name in maps for suffix in suffixes if name.endswith(suffix)}
    united: dict[object, str] = {}
    for stem in stems - maps.keys():
        pair = {word: maps.get(stem + FAMILY_SUFFIXES[family], {}) for family, word in _WORDS.items()}
        if all(_of_family(pair[one], pair[other], one) for one, other in (("ip", "ipv6"), ("ipv6", "ip"))):
            united |= {stem + suffix: stem for suffix in suffixes if stem + suffix in maps}
    return united


def _of_family(own: Mapping[Captured, Scope], other: Mapping[Captured, Scope], word: str) -> bool:
    """Whether a map judges routes of its family alone, but for clauses that the map of the other family has too."""
    for sequence, clause in own.items():
        if denies_all(clause) or f"{word} prefix-list" in clause.values:
            continue
        if other and (sequence not in other or clause_said(other[sequence])[0] != clause_said(clause)[0]):
            return False
        if any(about.endswith(" prefix-list") for about in clause.values):
            return False
    return True


def _state_process(document: Document, asn: Captured, process: Scope, united: Mapping[object, str]) -> None:
    """State the process: timers, what the families do, templates and sessions."""
    put, line = document.put, process.line
    keepalive_s, hold_s = DEFAULT_TIMERS_S
    put("bgp/asn", asn, line)  # type: ignore[arg-type]
    defaults: Facts = {"keepalive_s": keepalive_s, "hold_s": hold_s, "multipath_relax": "false"}
    for leaf, default in defaults.items():
        put(f"bgp/{leaf}", *process.values.get(leaf, (default, line)))
    state_part(document, "bgp", process, "log-neighbor-changes")
    for family, scope in sorted(process.each("family").items(), reverse=True):
        put(f"bgp/family[{family}]", "true", scope.line)
        for leaf in ("redistribute_connected", "redistribute_static", "maximum_paths"):
            if leaf in scope.values:
                value, line = scope.values[leaf]
                put(f"bgp/family[{family}]/{leaf}", value, line)
                put(f"bgp/{leaf}", _map(united, family, value), line)
        for prefix, (_, line) in scope.table("aggregates").items():
            if (":" in str(prefix)) != (family == "ipv6"):
                document.reject(line)
            else:
                put(f"bgp/aggregate[{prefix}]", "summary-only", line)
    templates = {
        name: (scope, list(_policy(scope, scope, united))) for name, scope in process.each("template").items()
    }
    for name, (template, _) in templates.items():
        state_part(document, f"peer_template[{name}]", template)
    for name, peer in process.each("neighbor").items():
        template, policy = templates.get(peer.values.get("template", _NONE)[0], (_NOTHING, []))
        if peer.each("family") or template is _NOTHING:
            policy = list(_policy(template, peer, united))
        _state_session(document, str(name), peer, template.values | peer.values, policy)


def _state_session(
    document: Document, name: str, peer: Scope, values: Mapping[str, Said], policy: Sequence[Stated]
) -> None:
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    prefix = f"bgp/neighbor[{name}]/"
    state_part(document, f"neighbor[{name}]", peer, "template")
    if "ttl_security_hops" in values:
        document.put("bgp/ttl_security", "true", values["ttl_security_hops"][1])
    own = [(leaf, *values[leaf]) for leaf in _OF_PEER if leaf in values]
    own += [(leaf, default, peer.line) for leaf, default in _OF_NONE.items() if leaf not in values]
    for leaf, value, line in (*own, *policy):
        path = prefix + leaf
        facts[path] = value
        lines[path] = (file, line)


_OF_PEER = ("remote_asn", "description", "bfd", "ttl_security_hops", "secret")
_OF_NONE = {"bfd": "false", "families": ""}
"""What is said of a peer that says nothing of it."""
_NONE = ("", 0)
_NOTHING = Scope(0)


def _policy(template: Scope, peer: Scope, united: Mapping[object, str]) -> Iterator[Stated]:
    """(leaf, value, line) of a peer's families, its own word before its template's; one value where all agree."""
    found: dict[str, tuple[Mapping[str, Said], int]] = {}
    for family in ("ipv4", "ipv6"):
        inherited, own = (side.each("family").get(family) for side in (template, peer))
        if last := own or inherited:
            values = (inherited.values if inherited else {}) | (own.values if own else {})
            found[family] = values, last.line
    if found:
        yield "families", ",".join(found), max(line for _, line in found.values())
    for leaf in ("import", "export", "maximum_prefixes", "send_community"):
        said = {
            family: (_map(united, family, values[leaf][0]), values[leaf][1])
            for family, (values, _) in found.items()
            if leaf in values
        }
        if len(said) == len(found) and len({value for value, _ in said.values()}) == 1:
            yield leaf, *next(iter(said.values()))
        elif said:
            *_, (_, line) = said.values()
            yield leaf, " ".join(f"{family} {said.get(family, ('none', 0))[0]}" for family in found), line
            for family, each in said.items():
                yield f"{leaf}[{family}]", *each


def _map(united: Mapping[object, str], family: Captured, name: Value) -> Value:
    """The name of a map of that family without its suffix, where it is stated so."""
    own = str(name).endswith(FAMILY_SUFFIXES[str(family)])
    return united.get(name, name) if own else name


TOPIC = Topic(ROWS, finish)
