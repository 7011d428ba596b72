"""BGP, BFD and routing policy of FRR: a peer group per direction and transport, the timers' profile, lists and maps."""

from __future__ import annotations

import re
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect.policy_view import clause_view
from fabricc.back.nos.cli_dialect.static import state_static, static_rows
from fabricc.back.nos.frr import evpn
from fabricc.back.nos.frr.words import (
    ANY,
    BFD_INTERVAL_MS,
    BFD_MULTIPLIER,
    BFD_PROFILE,
    COMMUNITY_NAMES,
    COMMUNITY_OF,
    DATACENTER_TIMERS,
    TRADITIONAL_TIMERS,
)
from fabricc.back.nos.reading.reader import Topic
from fabricc.back.nos.reading.rows import Block, Each, Entry, Fact, Keep, Silent
from fabricc.back.nos.reading.scope import Scope
from fabricc.back.nos.reading.types import asn
from fabricc.fabric.facts import clause_text, neighbor_key
from fabricc.fabric.routing import Clause, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fabricc.back.nos.reading.rows import Row
    from fabricc.back.nos.reading.scope import Document, Said
    from fabricc.back.nos.reading.types import Captured
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, PrefixRule, Session

DISCARD = "blackhole"
TTL_SECURITY_HOPS = 1  # of a neighbour on the same cable
_GROUP_SUFFIX = {Transport.IPV4: "-V4", Transport.IPV6: "-V6", Transport.UNNUMBERED: ""}


# --- what FRR makes of the Fabric's statements --------------------------------------------------------


class GracefulRestart(NamedTuple):
    """How long a restarting router's neighbours keep its routes, and it its own (RFC 4724), seconds.

    Attributes:
        restart_s: until neighbours drop the routes of one that has not come back.
        defer_s: until it chooses routes, though neighbours still send theirs.
    """

    restart_s: int
    defer_s: int


class GroupView(NamedTuple):
    """One FRR peer group: per transport, since a group carries the same families for all members."""

    name: str
    families: tuple[str, ...]
    import_map: str
    export_map: str
    maximum_prefixes: int
    password: str | None
    evpn: tuple[str, str] | None


def bgp_view(bgp: Bgp, multipath_limit: int, profile: str | None) -> dict[str, object]:
    """What `frr.conf.j2` prints of one BGP process and the policy it uses; None for what FRR leaves out."""
    groups = _groups(bgp)
    timers = {
        "profile": profile,
        "multiplier": bgp.bfd_multiplier if bgp.bfd_multiplier != BFD_MULTIPLIER else None,
        "interval_ms": bgp.bfd_interval_ms if bgp.bfd_interval_ms != BFD_INTERVAL_MS else None,
    }
    return {
        "bgp": bgp,
        "bfd": timers if bgp.bfd_interval_ms is not None else None,
        "ttl_security_hops": TTL_SECURITY_HOPS if bgp.ttl_security else None,
        "timers": (bgp.keepalive_s, bgp.hold_s) != DATACENTER_TIMERS,
        "groups": groups,
        "neighbors": [
            {
                "name": _neighbor(session),
                "unnumbered": session.transport is Transport.UNNUMBERED,
                "group": session.group + _GROUP_SUFFIX[session.transport],
                "remote_asn": session.remote_asn,
                "description": session.peer,
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
                "rules": [*map(_printed, each.rules)],
            }
            for each in bgp.prefix_lists
        ],
        "community_lists": [
            {"name": each.name, "community": COMMUNITY_NAMES.get(each.community, each.community)}
            for each in bgp.community_lists
        ],
        "clauses": [
            clause_view(each.name, clause, COMMUNITY_NAMES)
            for each in bgp.route_maps
            for clause in each.clauses
        ],
    }


def _groups(bgp: Bgp) -> list[GroupView]:
    used = {(session.group, session.transport) for session in bgp.sessions}
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
        for group in bgp.groups
        for transport in Transport
        if (group.name, transport) in used
    ]


def _neighbor(session: Session) -> str:
    return neighbor_key(session.transport, session.remote, session.port)


def _printed(rule: PrefixRule) -> str:
    text = rule.prefix
    text += f" ge {rule.ge}" if rule.ge is not None else ""
    text += f" le {rule.le}" if rule.le is not None else ""
    return "any" if text in ANY.values() else text


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch, profile: str | None = BFD_PROFILE) -> None:
    """Add what FRR says beyond the Fabric: that policy is required, and who uses which profile of BFD."""
    facts["bgp/requires_policy"] = "true"
    if switch.bgp.bfd_interval_ms is None:
        return
    if profile:
        facts[f"structure/bfd_profile[{profile}]"] = "true"
    for group in _groups(switch.bgp):
        facts[f"structure/bgp_group[{group.name}]/bfd_on"] = "true"
        if profile:
            facts[f"structure/bgp_group[{group.name}]/bfd_profile"] = profile


def ttl_security_facts(switch: Switch) -> Facts:
    """The TTL check of each session."""
    sessions = switch.bgp.sessions if switch.bgp.ttl_security else ()
    return {f"bgp/neighbor[{_neighbor(s)}]/ttl_security_hops": TTL_SECURITY_HOPS for s in sessions}


# --- and back -----------------------------------------------------------------------------------------

_FAMILIES = ("ipv4", "ipv6")
_TAKEN = ("connected", "static")
_BFD = ("bfd_on", "bfd_profile")
_OWN = ("remote_asn", "description", "ttl_security_hops", "secret")
_MEMBER = frozenset({"group", "remote_asn", "description"})
"""What a member of a peer group says for itself, as a rule."""
_TIMERS = {"transmit": BFD_INTERVAL_MS, "receive": BFD_INTERVAL_MS, "multiplier": BFD_MULTIPLIER}
_RULE = re.compile(r"(any|[\da-f.:]+/\d+)(( ge \d+)?( le \d+)?)")


def _remote_asn(text: str) -> str | int | None:
    """An AS number, or whether it is another than the own one."""
    return text if text in ("external", "internal") else asn(text)


TYPES = {"community": lambda text: COMMUNITY_OF.get(text, text), "remote asn": _remote_asn}


def _rule(keyword: str, action: str, text: str) -> str | None:
    """A rule of a prefix list as its fact's value; None of one of the other family."""
    found = _RULE.fullmatch(" ".join(text.split()))
    if found is None:
        return None
    rule = ANY[keyword] if found[1] == "any" else found[0]
    if (":" in rule) != (keyword == "ipv6"):
        return None
    return rule if action == "permit" else f"deny {rule}"


def _communities(action: str, text: str) -> str:
    numbers = " ".join([COMMUNITY_OF.get(name, name) for name in text.split()])
    return numbers if action == "permit" else f"deny {numbers}"


def _list(pattern: str, scope: str, value: Callable[[str, str], str | None]) -> Row:
    """Entries of a list, with a number or without."""
    return Each(f"{pattern} <word>", scope, (
        Entry("seq <integer> <permit|deny> <rest>", "numbered", lambda _, action, rest: value(action, rest)),
        Entry("permit <rest>", "permit", partial(value, "permit")),
        Entry("deny <rest>", "deny", partial(value, "deny")),
    ))  # fmt: skip


def _address_family(family: str) -> tuple[Row, ...]:
    opened = f"address-family {family} [unicast]"
    return Keep(opened, family), Block(opened, "", (
        Entry(
            f"aggregate-address <prefix{family[-1]}> [<rest>]", "aggregates",
            lambda _, rest: rest or "with its more specifics",
        ),
        *(
            Keep(f"redistribute {kind} [route-map <word>]", f"{family} {kind}", lambda m: m or "unfiltered")
            for kind in _TAKEN
        ),
        Keep("maximum-paths <integer>", f"{family} paths"),
        Each("neighbor <word>", "neighbor", (
            Keep("activate", f"{family} active"),
            Keep("maximum-prefix <integer>", f"{family} maximum_prefixes"),
            Keep("route-map <word> in", f"{family} import"),
            Keep("route-map <word> out", f"{family} export"),
        )),
        Each("no neighbor <word>", "neighbor", (Keep("activate", f"{family} active", "false"),)),
    ))  # fmt: skip


ROWS: Sequence[Row] = (
    Keep("frr defaults datacenter", "datacenter"),
    *(_list(f"{keyword} prefix-list", f"{keyword} prefix-list", partial(_rule, keyword)) for keyword in ANY),
    _list("bgp community-list standard", "community-list", _communities),
    *(Keep(f"{keyword} protocol bgp route-map <word>", f"{keyword} source") for keyword in ANY),
    *static_rows("(blackhole|Null0)"),
    Each("route-map <word>", "route-map", (
        Keep("<permit|deny> <integer>", "action", "{1}"),
        Block("<permit|deny> <integer>", "clause", (
            *(Keep(f"match {keyword} address prefix-list <word>", keyword) for keyword in ANY),
            Keep("match community <word>", "community_list"),
            Keep("set local-preference <integer>", "local_preference"),
            Keep("set community <community>... additive", "add_community", " ".join),
            Keep("set src <address>", "source"),
        )),
    )),
    Block("bfd", "", (
        Block("profile <word>", "profile", (
            Keep("detect-multiplier <integer>", "multiplier"),
            Keep("transmit-interval <integer>", "transmit"),
            Keep("receive-interval <integer>", "receive"),
        )),
    )),
    Block("router bgp <asn>", "bgp", (
        Fact("bgp router-id <address4>", "bgp/router_id"),
        Fact("bgp ebgp-requires-policy", "bgp/requires_policy"),
        Fact("no bgp ebgp-requires-policy", "bgp/requires_policy", "false"),
        Keep("no bgp default ipv4-unicast", "no default"),
        Fact("bgp graceful-restart", "bgp/graceful_restart/on"),
        Fact("bgp graceful-restart preserve-fw-state", "bgp/graceful_restart/keeps_routes"),
        Fact("bgp graceful-restart restart-time <integer>", "bgp/graceful_restart/restart_s"),
        Fact("bgp graceful-restart select-defer-time <integer>", "bgp/graceful_restart/defer_s"),
        Keep("bgp bestpath as-path multipath-relax", "multipath_relax"),
        Keep("timers bgp <integer> <integer>", {"keepalive_s": "{1}", "hold_s": "{2}"}),
        Each("neighbor <word>", "neighbor", (
            Keep("peer-group", "is a group"),
            Keep("[interface [v6only]] peer-group <word>", "group"),
            Keep("[interface [v6only]] remote-as <remote asn>", "remote_asn"),
            Keep("description <rest>", "description"),
            Keep("bfd", "bfd_on"),
            Keep("bfd profile <word>", "bfd_profile"),
            Keep("password <word>", "secret"),
            Keep("ttl-security hops <1-254>", "ttl_security_hops"),
        )),
        *(row for family in _FAMILIES for row in _address_family(family)),
        *evpn.ROUTE_ROWS,
        Silent("exit-address-family"),
    )),
    *evpn.ROUTER_ROWS,
)  # fmt: skip


def topic(multipath_limit: int) -> Topic:
    """The rows, and what makes facts of them, for a build of FRR that holds so many next hops."""
    return Topic(ROWS, partial(_finish, multipath_limit))


def _finish(multipath_limit: int, document: Document) -> None:
    """State lists, maps, timers, and sessions with what their peer groups say; the first process counts."""
    scope = document.scope
    _finish_policy(document)
    state_static(document)
    for name, profile in scope.each("profile").items():
        document.put(f"structure/bfd_profile[{name}]", "true", profile.line)
    processes = [*scope.each("bgp").items()]
    for number, bgp in processes[:1]:
        document.put("bgp/asn", number, bgp.line)  # type: ignore[arg-type]
        _finish_process(document, bgp, multipath_limit)
        evpn.finish_routes(document, bgp)
        _finish_sessions(document, bgp)
    for _, bgp in processes[1:]:
        document.reject(bgp.line)
    evpn.finish_tenants(document)


def _finish_process(document: Document, bgp: Scope, multipath_limit: int) -> None:
    values, line = bgp.values, bgp.line
    timers = DATACENTER_TIMERS if "datacenter" in document.scope.values else TRADITIONAL_TIMERS
    defaults: dict[str, Value] = {"keepalive_s": timers[0], "hold_s": timers[1], "multipath_relax": "false"}
    for leaf, value in defaults.items():
        document.put(f"bgp/{leaf}", *values.get(leaf, (value, line)))
    for prefix, said in bgp.table("aggregates").items():
        document.put(f"bgp/aggregate[{prefix}]", *said)
    opened = [family for family in _FAMILIES if family in values]
    paths = {family: values.get(f"{family} paths", (multipath_limit, line)) for family in opened}
    stated = _joint("maximum_paths", paths)
    for kind in _TAKEN:
        stated |= _joint(
            f"redistribute_{kind}", {family: values.get(f"{family} {kind}") for family in opened}
        )
    for leaf, said in stated.items():
        document.put(f"bgp/{leaf}", *said)


def _finish_sessions(document: Document, bgp: Scope) -> None:
    """State sessions with what their peer groups say; most members of a group say nothing of what it does."""
    speakers = {str(name): speaker for name, speaker in bgp.each("neighbor").items()}
    ipv4: Said = ("false" if "no default" in bgp.values else "true", 0)
    members: dict[str, list[tuple[str, Value, int]]] = {}
    used: dict[Value, int] = {}
    for name, speaker in speakers.items():
        own = speaker.values
        if "ttl_security_hops" in own:
            document.put("bgp/ttl_security", "true", own["ttl_security_hops"][1])
        if "is a group" in own:
            for key in _BFD:
                if key in own:
                    document.put(f"structure/bgp_group[{name}]/{key}", *own[key])
            continue
        of = str(own["group"][0]) if "group" in own else ""
        said = speakers[of].values | own if of in speakers else own
        stated = members.get(of) if own.keys() <= _MEMBER else None
        if stated is None:
            stated = _stated(said, {"ipv4": ipv4})
            if own.keys() <= _MEMBER:
                members[of] = stated
        prefix = f"bgp/neighbor[{name}]/"
        for key, value, line in stated:
            document.put(prefix + key, value, line or speaker.line)
        for key in _OWN:
            if key in said:
                document.put(prefix + key, *said[key])
        document.put_all(evpn.session_facts(name, said))
        if "bfd_on" in said or "bfd_profile" in said:
            profile, line = said.get("bfd_profile") or ("", said["bfd_on"][1])
            used[profile] = line
    _finish_bfd(document, used)


def _stated(said: Mapping[str, Said], default: Mapping[str, Said]) -> list[tuple[str, Value, int]]:
    """What a session states beside its far end, (name, value, line), by the families that it carries or not by default.

    The line is 0 where none says it.
    """
    carried = {f: said.get(f"{f} active") or default.get(f, ("false", 0)) for f in _FAMILIES}
    active = [f for f in _FAMILIES if carried[f][0] == "true"]
    found: dict[str, Said] = {"bfd": ("false", 0)}
    for key in _BFD:
        if key in said:
            found["bfd"] = ("true", said[key][1])
    if active:
        found["families"] = (",".join(active), carried[active[0]][1])
    for key in ("import", "export", "maximum_prefixes"):
        found |= _joint(key, {f: said.get(f"{f} {key}") for f in active})
    return [(key, value, line) for key, (value, line) in found.items()]


def _finish_bfd(document: Document, used: Mapping[Value, int]) -> None:
    """State the timers of the profiles that neighbours use, or of all when no neighbour runs BFD."""
    profiles = document.scope.each("profile")
    found: dict[tuple[Value, Value], int] = {}
    for name, line in (used or {str(name): profile.line for name, profile in profiles.items()}).items():
        profile = profiles.get(name, Scope(line))
        transmit, receive, multiplier = (profile.values.get(key, (own, 0))[0] for key, own in _TIMERS.items())
        interval = transmit if receive == transmit else f"transmit {transmit} receive {receive}"
        found.setdefault((interval, multiplier), profile.line)
    if found:
        line = next(iter(found.values()))
        document.put("bfd/interval_ms", _one_or_all({interval for interval, _ in found}), line)
        document.put("bfd/multiplier", _one_or_all({multiplier for _, multiplier in found}), line)


def _joint(name: str, by_family: Mapping[str, Said | None]) -> dict[str, Said]:
    """One value for all families, or each family's own where they differ; nothing when none says one."""
    said = [each for each in by_family.values() if each]
    if not said:
        return {}
    if len({each[0] if each else None for each in by_family.values()}) == 1:
        return {name: said[0]}
    text = ", ".join(f"{family} {each[0] if each else 'none'}" for family, each in by_family.items())
    return {name: (text, said[0][1])}


def _one_or_all(values: Iterable[Value]) -> Value:
    found = sorted(values, key=str)
    return found[0] if len(found) == 1 else ", ".join(map(str, found))


def _finish_policy(document: Document) -> None:
    """State rules by their places and clauses as a whole; a list of the other family is not known."""
    scope = document.scope
    families: dict[object, set[str]] = {}
    for keyword in ANY:
        for name, rules in scope.each(f"{keyword} prefix-list").items():
            families.setdefault(name, set()).add(keyword)
            for place, rule in enumerate(_in_order(rules)):
                document.put(f"prefix_list[{name}]/{place}", *rule)
    for name, entries in scope.each("community-list").items():
        texts = _in_order(entries)
        document.put(f"community_list[{name}]", ", ".join(str(text) for text, _ in texts), texts[0][1])
    maps = {name: each.each("clause") for name, each in scope.each("route-map").items()}
    for keyword in ANY:
        if f"{keyword} source" in scope.values:
            _finish_source(document, keyword, maps)
    for name, clauses in maps.items():
        for sequence, clause in clauses.items():
            said = clause.values
            for at, keyword in enumerate(keyword for keyword in ANY if keyword in said):
                prefix_list, line = said[keyword]
                if at or keyword not in families.get(prefix_list, {keyword}):
                    document.reject(line)
            if "source" in said:
                document.reject(said["source"][1])
            document.put(f"route_map[{name}]/{sequence}", _clause_text(said), clause.line)


def _clause_text(said: Mapping[str, Said]) -> str:
    values = {name: value for name, (value, _) in said.items()}
    clause = Clause(
        0,
        values["action"] == "permit",
        prefix_list=values.get("ip", values.get("ipv6")),  # type: ignore[arg-type]
        community_list=values.get("community_list"),  # type: ignore[arg-type]
        local_preference=values.get("local_preference"),  # type: ignore[arg-type]
        add_community=values.get("add_community"),  # type: ignore[arg-type]
    )
    return clause_text(clause)


def _finish_source(document: Document, keyword: str, maps: dict[Captured, dict[Captured, Scope]]) -> None:
    """State the source address of BGP's routes, where a bare clause of the map that they pass sets it."""
    name, line = document.scope.values[f"{keyword} source"]
    clauses = [clause.values for clause in maps.get(name, {}).values()]
    bare = len(clauses) == 1 and clauses[0].keys() == {"action", "source"}
    if bare and clauses[0]["action"][0] == "permit":
        document.put(f"bgp/source[{keyword}]", f"{clauses[0]['source'][0]} by {name}", line)
        del maps[name]
    else:
        document.reject(line)


def _in_order(entries: Scope) -> list[Said]:
    """Entries by their numbers; one without has the next after those above it."""
    tables = [entries.table(name).items() for name in ("numbered", "permit", "deny")]
    said = [(line, key, value) for table in tables for key, (value, line) in table]
    found: dict[int, Said] = {}
    for line, key, value in sorted(said, key=itemgetter(0)):
        found[key if isinstance(key, int) else max(found, default=0) + 5] = (value, line)
    return [found[number] for number in sorted(found)]
