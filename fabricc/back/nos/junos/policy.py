"""The reader of Junos routing policy: lists, communities, AS paths, and policy statements term by term.

A foreign policy is a route map whose clauses are its terms in order, numbered in steps of ten: Junos uses their order
and not their names (Juniper, "Routing Policy Terms").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.junos.words import COMMUNITY_OF, FROM, THEN, TO, kept_statements, verbatim_rows
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope, StoredValue, Topic, Types
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


ACCEPT, REJECT, NEXT = "accept", "reject", "next policy"
DISCARD = "discard"
SUMMARY_TERM = "SUMMARY-ONLY"
AGGREGATES_TERM = "AGGREGATES"
BGP_TERM = "BGP"
STATIC_TERM = "STATIC"
OTHERS_TERM = "OTHERS"
DEFAULT_TERM = "DEFAULT"
OWN_TERMS = frozenset({SUMMARY_TERM, AGGREGATES_TERM, BGP_TERM, STATIC_TERM, OTHERS_TERM, DEFAULT_TERM})
"""Terms other than numbered ones in route maps of fabricc."""
_STEP = 10
_RANGE = re.compile(r"/(\d{1,3})-/(\d{1,3})")
_UPTO = re.compile(r"/(\d{1,3})")
_PROTOCOLS = (
    "aggregate|bgp|direct|static|local|ospf|ospf2|ospf3|isis|evpn|l2vpn|ldp|rsvp|rip|ripng|access|access-internal|arp|frr"
    "|arpvpn|l-isis|bgp-static|spring-te|dvmrp|pim|msdp|esis|anchor|vpls|dhcp"
)


TYPES: Types = {
    "upto": lambda word: f" le {found[1]}" if (found := _UPTO.fullmatch(word)) else None,
    "between": lambda word: f" ge {found[1]} le {found[2]}" if (found := _RANGE.fullmatch(word)) else None,
    "community": lambda word: COMMUNITY_OF.get(word, word),
}

_TERM: Sequence[Row] = (
    Entry(f"from protocol <{_PROTOCOLS}>", "protocols"),
    Keep("from aggregate-contributor", "contributes"),
    Entry("from (route-filter-list|prefix-list) <word>", "prefix_list"),
    Entry("from community <word>", "community_list"),
    Entry("from policy <word>...", "policies", lambda _: "true"),
    *verbatim_rows("area as-path as-path-calc-length as-path-group as-path-neighbors as-path-origins as-path-transits "
              "as-path-unique-count bgp-output-queue-priority color color2 community-count condition evpn-esi "
              "evpn-mac-route evpn-tag external family instance interface internal level local-preference "
              "mac-filter-list metric metric2 multicast-scope multipath neighbor next-hop nlri-route-type origin "
              "preference preference2 prefix-list-filter prefix-segment programmed rib rib-list route-distinguisher "
              "route-filter route-filter-list route-target route-type rtf-prefix-list source-address-filter "
              "source-address-filter-list state tag tag2 traffic-engineering validation-database "
              "validation-database-instance tunnel-type srte-color segment-list optional prefix-list "
              "bgp-srte-discriminator bridge-domain-id igp-instance igp-instance-regex instance-any instance-list "
              "large-community-count lsp lsp-regex metric3 metric4 next-hop-type nexthop-ecmp nexthop-weight "
              "source-routing-path", "from", FROM),
    *verbatim_rows("area color evpn-esi family instance interface level local-preference metric multicast-scope "
                   "neighbor "
              "next-hop origin policy preference protocol rib tag as-path as-path-group bgp-srte-discriminator "
              "color2 community external igp-instance igp-instance-regex instance-any instance-list lsp lsp-regex "
              "metric2 metric3 metric4 nexthop-ecmp nexthop-weight preference2 programmed source-routing-path "
              "srte-color tag2 validation-database validation-database-instance", "to", TO),
    Keep("then local-preference <0-4294967295>", "local_preference"),
    Entry("then community (add|+) <word>", "add_community"),
    *verbatim_rows("add subtract", "then local-preference", THEN, "local-preference"),
    Keep("then <accept|reject>", "action"),
    Keep("then next policy", "action", NEXT),
    Keep("then next term", "action", "next term"),
    Keep("then load-balance per-packet", "per-packet"),
    *verbatim_rows("add-path aggregate-bandwidth aigp-adjust aigp-originate analyze apply-groups as-path-expand "
              "as-path-prepend bgp-output-queue-priority class color color2 community cos-next-hop-map damping "
              "default-action destination-class dynamic-tunnel-attributes external forwarding-class get-route-range "
              "install-nexthop label label-allocation limit-bandwidth load-balance map-to-interface metric metric2 "
              "multipath-resolve next-hop no-backup no-entropy-label-capability no-route-localize origin "
              "p2mp-lsp-root preference preference2 prefix-segment priority resolution-map source-checking "
              "source-class ssm-source srte-color tag tag2 trace tunnel-attribute tunnel-end-point-address "
              "validation-state set-down-bit advertise-locator assisted-replication auto-link-bandwidth credibility "
              "fib-install-priority filter ignore-service-label install-to-fib ipv4-source-router-id "
              "ipv6-source-router-id label-allocation-fallback-reject metric3 metric4 mhop-bfd-port "
              "no-install-to-fib prefix-attribute-flags request-acknowledgements request-long-lived-ack "
              "selected-mldp-egress send-withdrawal-on-route-change slice source-based-forwarding "
              "source-routing-path-template srv6 strip-as-path", "then", THEN),
)  # fmt: skip
_REJECTED = "reject"
"""Action of an entry: routes for which it is the longest match are rejected (Junos policy user guide)."""
_LENGTHS: Sequence[Row] = (
    Entry("<exact|orlonger|longer>", "lengths"),
    Entry("upto <upto>", "lengths"),
    Entry("prefix-length-range <between>", "lengths"),
    Entry("<exact|orlonger|longer> reject", "lengths", _REJECTED),
    Entry("upto <upto> reject", "lengths", _REJECTED),
    Entry("prefix-length-range <between> reject", "lengths", _REJECTED),
    Entry("through <prefix>", "lengths", lambda last: f" through {last}"),
    Entry("address-mask <word>", "lengths", lambda mask: f" mask {mask}"),
)

ROWS: Sequence[Row] = (
    Entry("routing-options forwarding-table export <word>", "forwarding policies"),
    Block("policy-options", "", (
        Block("route-filter-list <word>", "filter list", (Block("<prefix>", "prefix", _LENGTHS),)),
        Block("prefix-list <word>", "prefix list", (
            Entry("<prefix>", "prefixes"),
            Entry("<address>", "prefixes"),
            Entry("apply-path <word>", "prefixes", lambda path: path),
        )),
        Block("community <word>", "community", (
            Entry("members <community>", "members"),
            Keep("invert-match", "inverted"),
        )),
        Block("as-list <word>", "as-list", (Entry("members <member>", "members"),)),
        Entry("as-path <word> <below>", "as paths", lambda _name, path: path),
        Block("as-path-group <word>", "as path group", (
            Entry("as-path <word> <below>", "as paths", lambda _name, path: path),
        )),
        *(row for word in ("condition", "damping", "mac-list", "tunnel-attribute", "rtf-prefix-list", "defaults",
                           "resolution-map", "redundancy-policy", "next-hop-group", "route-distinguisher",
                           "source-address-filter-list", "rib-list", "application-maps")
          for row in verbatim_rows(word, lead="policy-options")),
        Block("policy-statement <word>", "policy", (
            Block("term <word>", "term", _TERM),
            *verbatim_rows("defaults"),
            *_TERM,
        )),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State lists, communities, AS paths and policies, and the policies of the forwarding table."""
    scope = document.scope
    for name, listed in scope.each("filter list").items():
        rules = [
            rule
            for prefix, each in listed.each("prefix").items()
            for rule in _prefix_rules(str(prefix), each)
        ]
        document.put_places(f"prefix_list[{name}]", rules)
    for name, listed in scope.each("prefix list").items():
        for index, (prefix, (stored, line)) in enumerate(listed.table("prefixes").items()):
            document.put(
                f"prefix_list[{name}]/{index}", prefix if stored == prefix else f"apply-path {stored}", line
            )
    for name, community in scope.each("community").items():
        if members := community.table("members"):
            line = max(line for _, line in members.values())
            inverted = "not " if "inverted" in community.values else ""
            document.put(f"community_list[{name}]", inverted + ",".join(map(str, members)), line)
    for name, (path, line) in scope.table("as paths").items():
        document.put(f"as_path_list[{name}]/0", path, line)
    for name, group in scope.each("as path group").items():
        document.put_places(f"as_path_list[{name}]", group.table("as paths").values())
    for name, statement in scope.each("policy").items():
        if not statement.each("term") and statement.values.keys() == {"per-packet"}:
            if name not in scope.table("forwarding policies"):
                document.reject_all(statement)
        elif _as_written(statement):
            _put_numbered(document, str(name), statement)
        else:
            _put_ordered(document, str(name), statement)
    for name, (_, line) in scope.table("forwarding policies").items():
        exported = scope.each("policy").get(name)
        if exported is None and scope.each("policy"):
            document.put(f"unread[forwarding-table export {name}]", "no policy has this name", line)
        elif exported is None:
            document.reject(line, name)
        elif spreading := [
            e for e in (exported, *exported.each("term").values()) if "per-packet" in e.values
        ]:
            other = [_other_protocol(each) for each in spreading]
            if all(other):
                document.put(
                    f"unread[load-balance of {name}]", "its term is not about routes of BGP", other[0]
                )
            else:
                document.put("platform/load_balance", "per-packet", line)
        else:
            document.put("routing/setting[forwarding-table export]", str(name), line)


def _other_protocol(term: Scope) -> int:
    """Return the line by which a term is about routes of other protocols than BGP alone, 0 if it is not."""
    protocols = term.table("protocols")
    return 0 if "bgp" in protocols else max((line for _, line in protocols.values()), default=0)


def _prefix_rules(prefix: str, scope: Scope) -> Iterator[StoredValue]:
    """Yield the rules of one prefix, one for each way it is matched."""
    longest = 128 if ":" in prefix else 32
    own = prefix.partition("/")[2]
    words = {"exact": "", "orlonger": f" le {longest}", "longer": f" ge {int(own) + 1} le {longest}"}
    for lengths, (action, line) in scope.table("lengths").items():
        denied = "deny " if action == _REJECTED else ""
        yield denied + prefix + words.get(str(lengths), str(lengths)), line


def suppresses_contributors(document: Document) -> bool:
    """Return whether some policy suppresses the contributing routes of an aggregate."""
    return any(
        "contributes" in term.values and _term_action(term) == REJECT
        for statement in document.root.each("policy").values()
        for term in statement.each("term").values()
    )


def selects_for_bgp(document: Document, name: str) -> bool:
    """Return whether a policy chooses what may enter BGP and leaves the rest to the next one of the chain."""
    statement = document.root.each("policy").get(name)
    terms = statement.each("term").values() if statement else ()
    return any("direct" in term.table("protocols") and _term_action(term) == NEXT for term in terms)


def accepted_protocols(document: Document, name: str, depth: int = 3) -> Iterator[str]:
    """Yield the protocols whose routes a policy accepts by name, directly or through policies that it references."""
    statement = document.root.each("policy").get(name)
    for term in (*statement.each("term").values(), statement) if statement and depth else ():
        if _term_action(term) == ACCEPT:
            yield from map(str, term.table("protocols"))
            for other in term.table("policies"):
                yield from accepted_protocols(document, str(other), depth - 1)


def _term_action(term: Scope) -> object:
    return term.values.get("action", (None, 0))[0]


def _as_written(statement: Scope) -> bool:
    """Return whether a policy is a route map of fabricc: numbered terms, and some terms of fabricc."""
    names = [str(name) for name in statement.each("term")]
    rest = statement.values or statement.tables
    return bool(names) and not rest and all(is_number(name) or name in OWN_TERMS for name in names)


def _put_numbered(document: Document, name: str, statement: Scope) -> None:
    """State a route map by the numbers of its terms, and all terms in short."""
    terms = statement.each("term")
    stated = [_put_term(document, name, str(term), each) for term, each in terms.items()]
    document.put(f"platform/policy[{name}]", "; ".join([text for text, _ in stated]), stated[0][1])


def _put_ordered(document: Document, name: str, statement: Scope) -> None:
    """State a policy by the order of its terms; statements outside of terms come last."""
    terms = [(str(term), each) for term, each in statement.each("term").items()]
    if statement.values or statement.tables:
        terms.append(("", statement))
    for number, (term_name, term) in enumerate(terms, 1):
        if term_name:
            document.put(f"structure/policy[{name}]/term[{term_name}]", "true", term.line)
        text, line = _term_clause(document, number * _STEP, term)
        document.put(f"route_map[{name}]/{number * _STEP}", text, max(line, term.line))


def _put_term(document: Document, policy: str, name: str, term: Scope) -> tuple[str, int]:
    """State a term; return its summary and the line of its action. Only a numbered term becomes a clause."""
    action, line = term.values.get("action", ("next term", term.line))
    kinds = ["aggregate-contributor"] if "contributes" in term.values else []
    summary = " ".join([*kinds, *map(str, term.table("protocols")), str(action)])
    if is_number(name):
        text, last = _term_clause(document, int(name[:9]), term, as_written=True)
        if preference := term.values.get("local_preference"):
            document.put(f"platform/route_map[{policy}]/{name}/local_preference", *preference)
        document.put(f"route_map[{policy}]/{name}", text, max(line, last))
        return f"{name} {summary}", line
    document.put(f"structure/policy[{policy}]/term[{name}]", "true", line)
    for at in (
        {at for _, at in term.stored_values()} - {at for _, at in term.table("protocols").values()} - {line}
    ):
        if not ("contributes" in term.values and term.values["contributes"][1] == at):
            document.reject(at)
    return summary, line


def _term_clause(
    document: Document, number: int, term: Scope, *, as_written: bool = False
) -> tuple[str, int]:
    """Return a term as a clause, and the last line that contributes to it.

    With `as_written`, protocols are stated elsewhere.
    """
    preference = term.values.get("local_preference")
    action = _term_action(term)
    named = {kind: _join_names(document, term, kind, of) for kind, of in _NAMED.items()}
    added = named["add_community"]
    clause = Clause(
        number,
        action != REJECT,
        prefix_list=named["prefix_list"],
        community_list=named["community_list"],
        local_preference=int(preference[0]) if preference else None,
        add_community=",".join(_community_members(document, name) for name in added.split(","))
        if added
        else None,
    )
    parts = [clause_text(clause)]
    if not as_written and term.table("protocols"):
        parts.append("match protocol " + ",".join(map(str, term.table("protocols"))))
    if not as_written and "contributes" in term.values:
        parts.append("match aggregate-contributor")
    if term.table("policies"):
        parts.append("match policy " + " ".join(map(str, term.table("policies"))))
    parts += [f"match {words}" for words, _ in kept_statements(term, FROM)]
    parts += [f"match to {words}" for words, _ in kept_statements(term, TO)]
    parts += [f"set {words}" for words, _ in kept_statements(term, THEN)]
    if "per-packet" in term.values:
        parts.append("set load-balance per-packet")
    if action is None or action == "next term":
        parts.append("continue")
    return " ".join(parts), max([line for _, line in term.stored_values()], default=term.line)


_NAMED = {
    "prefix_list": ("filter list", "prefix list"),
    "community_list": ("community",),
    "add_community": ("community",),
}
"""Conditions and actions of a term, and their names in facts."""


def _join_names(document: Document, term: Scope, kind: str, of: Sequence[str]) -> str | None:
    """Return the names of a kind, joined; undefined names are included."""
    found = term.table(kind)
    for name, (_, line) in found.items():
        if not any(name in document.root.each(each) for each in of):
            document.reject(line, name)
    return ",".join(map(str, found)) or None


def _community_members(document: Document, community: str) -> str:
    named = document.root.each("community").get(community)
    return ",".join(map(str, named.table("members"))) if named else community


TOPIC = Topic(ROWS, finish)
