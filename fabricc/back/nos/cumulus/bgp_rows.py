"""Read back BGP of NVUE, its policy and static routes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import tenants
from fabricc.back.nos.cumulus.bgp import CLAUSE, FAMILIES, SWITCHES, TTL_SECURITY_HOPS
from fabricc.back.nos.cumulus.startup import (
    File,
    entry_part,
    fixed_text,
    is_on,
    line_of,
    nearest_line,
    node_part,
    on_off,
    scope_at,
    table_entries_at,
    table_part,
)
from fabricc.back.reading import Block, Entry, Fact, Keep, Row, Scope
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Value, clause_text, format_boolean
from fabricc.fabric.routing import Clause, Spreading

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fabricc.back.nos.cumulus.limits import Release

_WELL_KNOWN = {"graceful-shutdown": "65535:0"}
_GROUP = ("import", "export", "maximum_prefixes")
_BFD = {
    "detect-multiplier": "bfd/multiplier",
    "min-rx-interval": "bfd/interval_ms",
    "min-tx-interval": "bfd/interval_ms",
}
_TIMERS = tuple(Keep(f"{key} <integer>", key) for key in _BFD)
_POLICY = (
    table_part("prefix-list", "<word>",
        Keep("type <ipv4|ipv6>", "type"),
        table_part("rule", "<integer>",
            fixed_text("action: permit"),
            table_part("match", "<word>", Keep("min-prefix-len <integer>", "ge"),
                Keep("max-prefix-len <integer>", "le")),
        ),
    ),
    table_part("community-list", "<word>",
        table_part("rule", "<integer>", fixed_text("action: permit"), Entry("community <community>",
            "communities", "true")),
    ),
)  # fmt: skip
TYPES = {"community": lambda text: _WELL_KNOWN.get(text, text)}


def adaptive_rows(release: Release) -> Row:
    """Return the rows of adaptive routing of a port, or of the router."""
    return node_part("adaptive-routing", *on_off(release))


def rows(release: Release) -> Sequence[Row]:
    """Return what is below `router` and `vrf`."""
    on = on_off(release)
    clause = table_part("rule", "<integer>",
        Entry("action <permit|deny>", "actions", "true"),
        node_part("match",
            Keep("ip-prefix-list <word>", "prefix_list"),
            Keep("community-list <word>", "community_list"),
            Keep("type <ipv4|ipv6>", "type"),
        ),
        node_part("set",
            Entry("community <community>", "communities", "true"),
            Keep("local-preference <integer>", "local_preference"),
            Keep(f"ipv6-nexthop-prefer-global {release.on}", "global_next_hop", "true"),
            Keep(f"ipv6-nexthop-prefer-global {release.off}", "global_next_hop", release.off),
        ),
    )  # fmt: skip
    router = [
        node_part(
            "bgp", *on, Fact("autonomous-system <asn>", "bgp/asn"), Fact("router-id <word>", "bgp/router_id")
        ),
        adaptive_rows(release),
        node_part("policy", *_POLICY, table_part("route-map", "<word>", clause)),
    ]
    bfd: tuple[Row, ...] = (*on, *_TIMERS)
    if release.bfd_profiles:
        bfd = (Keep("profile <word>", "profile"),)
        router.append(node_part("bfd", *on, table_part("profile", "<word>", *_TIMERS)))
    process = node_part("bgp",
        *on,
        node_part("timers", Fact("keepalive <integer>", "bgp/keepalive_s"), Fact("hold <integer>", "bgp/hold_s")),
        *(_switch_row(release, *path) for path in SWITCHES.values()),
        node_part("address-family",
            entry_part("<ipv4-unicast|ipv6-unicast>",
                *on,
                Keep("multipaths ebgp <integer>", "paths"),
                node_part("redistribute",
                    node_part("connected", *on, Keep("route-map <word>", "map")),
                    node_part("static", *on, Keep("route-map <word>", "map")),
                ),
                table_part("aggregate-route", "<word>",
                    Keep(f"summary-only {release.on}", "on", "true"),
                    Keep(f"summary-only {release.off}", "on", "false"),
                ),
            ),
            tenants.process_row(release),
        ),
        table_part("peer-group", "<word>",
            node_part("address-family",
                entry_part("<ipv4-unicast|ipv6-unicast>",
                    *on,
                    Keep("policy inbound route-map <word>", "import"),
                    Keep("policy outbound route-map <word>", "export"),
                    Keep("prefix-limits inbound maximum <integer>", "maximum_prefixes"),
                ),
                tenants.process_row(release),
            ),
            Keep("password <word>", "password"),
            node_part("ttl-security", *on, Keep("hops <integer>", "hops")),
            node_part("bfd", *bfd),
            here="bgp/peer_group[{0}]/configured",
        ),
        table_part("neighbor", "<word>",
            Fact("remote-as <asn>", "bgp/neighbor[{0}]/remote_asn"),
            Fact("description <word>", "bgp/neighbor[{0}]/description"),
            Keep("peer-group <word>", "group"),
            Keep("type <numbered|unnumbered>", "type"),
            node_part("address-family", entry_part(tenants.EVPN, *on)),
            here="bgp/neighbor[{0}]/configured",
        ),
    )  # fmt: skip
    default = node_part("default", node_part("router", process, tenants.STATIC_ROW))
    return (
        node_part("router", *router),
        node_part("vrf", default, Block("<word>", "tenant", tenants.vrf_rows(release))),
        *tenants.top_rows(release),
    )


def _switch_row(release: Release, *path: str) -> Row:
    *above, innermost, key = path
    row = node_part(
        innermost, Keep(f"{key} {release.on}", key, "true"), Keep(f"{key} {release.off}", key, "false")
    )
    for word in reversed(above):
        row = node_part(word, row)
    return row


class _Bgp(File):
    """BGP of one file."""

    def __init__(self, file: File, *, overlay: bool) -> None:
        super().__init__(file.document, file.release)
        self.overlay = overlay
        self.policy = scope_at(self.root, "router", "policy")

    def read(self) -> None:
        """State policy, process and neighbors."""
        root = self.root
        own, process = scope_at(root, "router", "bgp"), scope_at(root, "vrf", "default", "router", "bgp")
        for path, one in (
            (("router/bgp", own), ("vrf/default/router/bgp", process)) if own and process else ()
        ):
            if not is_on(one):  # NVIDIA's object model: "disabled by default"
                self.put(f"unread[{path}]", "BGP is not on", line_of(one))
        if own and process:
            self._put_process(process)
        else:
            self.missing(nearest_line(root, "vrf" if own else "router"), "BGP is missing")
        if adaptive := scope_at(root, "router", "adaptive-routing"):
            mode = Spreading.PACKET if is_on(adaptive) else Spreading.HASH
            self.put("load_balancing/mode", mode.value, line_of(adaptive))
        for prefix, route in table_entries_at(scope_at(root, "vrf", "default", "router"), "static").items():
            tenants.put_static(self, "", str(prefix), route)
        self._put_lists()
        for name, route_map in table_entries_at(self.policy, "route-map").items():
            clauses = table_entries_at(route_map, "rule")
            self.put(f"route_map[{name}]/rules", len(clauses), route_map.line)
            for sequence, clause in clauses.items():
                self._put_clause(f"route_map[{name}]/{sequence}", clause)
        if self.release.bfd_profiles:
            self.note_expected(("router", "bfd", "profile"), *_BFD.values())

    def _put_process(self, process: Scope) -> None:
        for attribute, (*above, key) in SWITCHES.items():
            scope = scope_at(process, *above)
            line = line_of(scope, key) if scope else nearest_line(process, *above)
            self.put(f"bgp/{attribute}", format_boolean(is_on(scope, key)), line)
        families = table_entries_at(process, "address-family")
        for family in FAMILIES.values():
            if scope := families.get(f"{family}-unicast"):
                self._put_family(family, scope)
            else:
                self.missing(process.line, f"{family}-unicast is missing")
        carrying = {
            str(name): str(each.values.get("group", ("", 0))[0])
            for name, each in table_entries_at(process, "neighbor").items()
            if not tenants.is_without_evpn(each)
        }
        if self.overlay:
            tenants.finish_sessions(self, process, carrying)
        groups = {
            str(name): self._group_values(str(name), s)
            for name, s in table_entries_at(process, "peer-group").items()
        }
        self._put_unused_group(process, groups)
        for name, neighbor in table_entries_at(process, "neighbor").items():
            self._put_neighbor(str(name), neighbor, groups, nearest_line(process, "peer-group"))
        checks = [group["ttl_security_hops"] for group in groups.values() if "ttl_security_hops" in group]
        for value, line in checks:
            checked = value == TTL_SECURITY_HOPS and len(checks) == len(groups)
            self.agree("bgp/ttl_security", format_boolean(checked), line)

    def _put_unused_group(self, process: Scope, groups: Collection[str]) -> None:
        """State a group that no neighbor names, where neighbors name an undefined one with a similar name."""
        neighbors = table_entries_at(process, "neighbor").values()
        named = {str(each.values["group"][0]) for each in neighbors if "group" in each.values}
        unused = {str(name): scope.line for name, scope in table_entries_at(process, "peer-group").items()}
        for name in named & unused.keys():
            del unused[name]
        for name in sorted(named.difference(groups)):
            for similar in get_close_matches(name, unused, n=1):
                self.put(f"unread[peer-group {similar}]", f"the neighbors name {name}", unused[similar])

    def _put_family(self, family: str, scope: Scope) -> None:
        """One address family; what it states must be what the other states."""
        release = self.release
        stored = scope.values.get("on", ("", 0))[0]
        word = {"true": release.on, "false": release.off}.get(str(stored), "default")
        self.put(f"bgp/family[{family}]", word, line_of(scope))
        if stored != "true":
            if not stored:
                self.missing(scope.line, "the address family is not on")
            return
        if "paths" in scope.values:
            self.agree("bgp/maximum_paths", *scope.values["paths"])
        else:
            self.missing(scope.line, "multipaths ebgp is missing")
        connected = scope_at(scope, "redistribute", "connected")
        route_map, line = connected.values.get("map", ("", 0)) if connected else ("", 0)
        if route_map:
            self._note_missing("route-map", str(route_map))
        if route_map and is_on(connected):
            self.agree("bgp/redistribute_connected", route_map, line)
        elif connected and is_on(connected):
            self.agree("bgp/redistribute_connected", "unfiltered", line_of(connected))
        else:
            place = line_of(connected) if connected else scope.line
            self.missing(place, "connected routes are not redistributed")
            if connected:
                self.put("bgp/setting[connected routes]", "off", place)
        static = scope_at(scope, "redistribute", "static")
        if static and is_on(static) and "map" in static.values:
            self._note_missing("route-map", str(static.values["map"][0]))
            self.agree("bgp/redistribute_static", *static.values["map"])
        elif static:
            self.missing(
                line_of(static), "the route map of static routes is missing, or they are not redistributed"
            )
        for prefix, aggregate in table_entries_at(scope, "aggregate-route").items():
            alone = is_on(aggregate)
            place = aggregate.line if alone else line_of(aggregate)
            self.put(f"bgp/aggregate[{prefix}]", "summary-only" if alone else "with specifics", place)

    def _group_values(self, name: str, group: Scope) -> dict[str, tuple[Value, int]]:
        """Return what a peer group gives its neighbors: fact below the neighbor -> value and line."""
        facts: dict[str, tuple[Value, int]] = {}
        active = []
        parts = table_entries_at(group, "address-family")
        for family in FAMILIES.values():
            part = parts.get(f"{family}-unicast")
            stored = part.values.get("on", ("", 0))[0] if part else ""
            on = stored == "true" or (family == "ipv4" and not stored)
            self.put(f"bgp/peer_group[{name}]/{family}", format_boolean(on), line_of(part or group))
            if not on:
                continue
            active.append(family)
            for fact in _GROUP:
                value, line = part.values.get(fact, ("", 0)) if part else ("", 0)
                if not line:
                    self.missing((part or group).line, f"{fact} is missing")
                    continue
                if fact != "maximum_prefixes":
                    self._note_missing("route-map", str(value))
                if facts.setdefault(fact, (value, line))[0] != value:
                    self.missing(line, f"{fact} differs between the address families")
        shut = next((line_of(each) for each in parts.values() if each.values.get("on")), 0)
        place = nearest_line(group, "address-family") if active else shut or group.line
        facts["families"] = (",".join(active), place)
        if "password" in group.values:
            facts["secret"] = group.values["password"]
        if ttl := scope_at(group, "ttl-security"):
            hops = ttl.values.get("hops")
            facts["ttl_security_hops"] = hops if is_on(ttl) and hops else ("off", line_of(ttl))
        bfd = scope_at(group, "bfd")
        facts["bfd"] = (
            format_boolean(bfd is not None and self._has_bfd(bfd)),
            line_of(bfd) if bfd else group.line,
        )
        return facts

    def _has_bfd(self, bfd: Scope) -> bool:
        """Return whether a peer group has BFD; its timers are facts of the switch."""
        timers, on, line = bfd, is_on(bfd), bfd.line
        if self.release.bfd_profiles:
            above = scope_at(self.root, "router", "bfd")
            name, line = bfd.values.get("profile", ("", bfd.line))
            found = table_entries_at(above, "profile").get(name)
            on = is_on(above)
            if not on:
                self.missing(line_of(above) if above else line, "BFD is not on")
            timers = found or Scope(line)
        for key, path in _BFD.items():
            if key in timers.values:
                self.agree(path, *timers.values[key])
            else:
                self.missing(timers.line, f"{key} is missing")
        return on

    def _put_neighbor(
        self, name: str, neighbor: Scope, groups: dict[str, dict[str, tuple[Value, int]]], above: int
    ) -> None:
        prefix, values = f"bgp/neighbor[{name}]/", neighbor.values
        by_port = name.startswith("swp")
        kind = "unnumbered" if by_port else "numbered"
        self.require(neighbor, "type", kind)
        stated, line = neighbor.values.get("type", (kind, 0))
        if stated != kind and (by_port or ":" in name or is_number(name[:1])):
            self.put(f"unread[neighbor {name}]", f"its type is {stated}, its name that of a {kind} one", line)
        if by_port:
            self.put(f"interface[{name}]/unnumbered", "true", neighbor.line)
        group = groups.get(str(values["group"][0])) if "group" in values else None
        if group is not None:
            for fact, (value, line) in group.items():
                self.put(prefix + fact, value, line)
            self.near(group["families"][1], prefix + "ttl_security_hops")
        elif "group" in values:
            self.reject(values["group"][1])
            self.put(prefix + "group", *values["group"])
            self.missing(above, f"peer-group {values['group'][0]} is not defined")

    def _put_lists(self) -> None:
        for name, scope in table_entries_at(self.policy, "prefix-list").items():
            rules = sorted(table_entries_at(scope, "rule").items())
            text = ""
            for number, rule in rules:
                if not table_entries_at(rule, "match"):
                    self.put(f"unread[prefix-list {name} rule {number}]", "it matches nothing", rule.line)
            matching = [rule for _, rule in rules if table_entries_at(rule, "match")]
            for place, rule in enumerate(matching):
                text, line = self._prefix_rule(f"prefix_list[{name}]/{place}/", rule)
                stated = scope.values.get("type", ("ipv4", 0))[0]
                whole = "::/0 le 128" if stated == "ipv6" else "0.0.0.0/0 le 32"
                self.put(f"prefix_list[{name}]/{place}", whole if text == "any" else text, line)
            self.put(f"prefix_list[{name}]/rules", len(rules), scope.line)
            if rules:
                family = "ipv6" if ":" in text else "ipv4"
                self.require(scope, "type", family)
                if "/" in text:  # `any` is of the family of its list
                    self._note_family(f"prefix-list {name}", scope, family)
        for name, scope in table_entries_at(self.policy, "community-list").items():
            listed = table_entries_at(scope, "rule")
            self.put(f"community_list[{name}]/rules", len(listed), scope.line)
            for rule in listed.values():
                communities = rule.table("communities")
                if not communities:
                    self.put(f"unread[community-list {name}]", "a rule of it matches nothing", rule.line)
                line = next((line for _, line in communities.values()), rule.line)
                self.agree(f"community_list[{name}]", " ".join(sorted(map(str, communities))), line)

    def _prefix_rule(self, path: str, rule: Scope) -> tuple[str, int]:
        """Return a rule as its fact's value, and the line of its prefix."""
        texts, line = [], rule.line
        for prefix, match in table_entries_at(rule, "match").items():
            text, line = str(prefix), match.line
            for key in ("ge", "le"):
                self.state_stored(path + key, match, key)
                text += f" {key} {match.values[key][0]}" if key in match.values else ""
            texts.append(text)
        return " or ".join(texts), line

    def _note_family(self, what: str, scope: Scope, family: str) -> None:
        """State that a list or a clause has no effect, because it is of another family than its prefixes."""
        stated, line = scope.values.get("type", (family, 0))
        if stated != family:
            self.put(f"unread[{what}]", f"it is of {stated}, its prefixes of {family}", line)

    def _note_missing(self, kind: str, name: str) -> None:
        """Note that a list or a route map is used and not there."""
        if name not in table_entries_at(self.policy, kind):
            line = nearest_line(self.root, "router", "policy", kind)
            self.missing(line, f"{kind} {name} is not defined")

    def _put_clause(self, path: str, rule: Scope) -> None:
        """State a rule of a route map; each part is also a separate fact with its line."""
        actions = rule.table("actions")
        for word, (_, line) in actions.items():
            self.put(f"{path}/action", word, line)
        match, change = scope_at(rule, "match") or Scope(rule.line), scope_at(rule, "set") or Scope(rule.line)
        stored = match.values | change.values
        for key in CLAUSE:
            self.state_stored(f"{path}/{key}", match if key.endswith("list") else change, key)
            if key.endswith("list") and key in stored:
                self._note_missing(key.replace("_", "-"), str(stored[key][0]))
        if "prefix_list" in stored:
            lists = table_entries_at(self.policy, "prefix-list").get(stored["prefix_list"][0])
            kind = lists.values.get("type", ("ipv4", 0))[0] if lists else "ipv4"
            self.require(match, "type", str(kind))
            if lists and "type" in lists.values:
                clause = path.removeprefix("route_map[").replace("]/", " ")
                self._note_family(f"clause {clause}", match, str(kind))
        elif "type" in match.values:
            self.reject(match.values["type"][1])
        communities = change.table("communities")
        for community, (_, line) in communities.items():
            self.put(f"{path}/add_community", community, line)
        self.state_stored(f"{path}/global_next_hop", change, "global_next_hop")
        text = clause_text(
            Clause(
                sequence=0,
                permit=list(actions) == ["permit"],
                prefix_list=_text_of(stored, "prefix_list"),
                community_list=_text_of(stored, "community_list"),
                local_preference=int(stored["local_preference"][0]) if "local_preference" in stored else None,
                add_community=" ".join(sorted(map(str, communities))) or None,
            )
        )
        self.put(path, text, rule.line)


def _text_of(values: Mapping[str, tuple[Value, int]], key: str) -> str | None:
    return str(values[key][0]) if key in values else None


def finish(file: File) -> None:
    """State policy, the process and its neighbors with the values of their peer groups."""
    _Bgp(file, overlay=tenants.finish_overlay(file)).read()
