"""Rows of BGP in NVUE statements of foreign designs: processes, neighbors, groups, lists and route maps in all forms.

They are stated as those of FRR.
"""

from __future__ import annotations

import re

from fabricc.back.nos.cumulus.words import ENABLE, gather_settings, place_of, setting_rows
from fabricc.back.nos.frr import bgp, sessions
from fabricc.back.reading import Document, Each, Entry, Keep, Row, Scope, Silent
from fabricc.base.numbers import is_number, natural_key
from fabricc.fabric.facts import clause_text
from fabricc.fabric.routing import Clause

MULTIPATH_LIMIT = 128
"""Next hops that Cumulus Linux installs by default (NVIDIA's user guide, Equal Cost Multipath)."""
_SESSION: tuple[Row, ...] = (
    Keep("remote-as <asn>", "remote_asn"),
    Keep("remote-as <external|internal>", "remote_kind"),
    Keep("remote-as auto", "setting[remote-as]", "auto"),
    Silent("type <word>"),
    Keep("peer-group <word>", "group"),
    Keep("description <rest>", "description"),
    Keep("password <rest>", "secret"),
    Keep(f"{ENABLE} <switch>", "enabled"),
    Keep("shutdown on", "enabled", "false"),
    Keep("shutdown enabled", "enabled", "false"),
    Keep("multihop-ttl <integer>", "multihop"),
    Keep("update-source <word>", "update_source"),
    Keep("local-as asn <asn>", "local_asn"),
    Silent(f"local-as {ENABLE} [<rest>]"),
    Keep("timers keepalive <integer>", "keepalive_s"),
    Keep("timers hold <integer>", "hold_s"),
    Keep("capabilities extended-nexthop <switch>", "extended_next_hop"),
    Keep(f"bfd {ENABLE} on", "bfd_on", "true"),
    Keep(f"bfd {ENABLE} enabled", "bfd_on", "true"),
    Keep("bfd profile <word>", "bfd_profile"),
    Silent("bfd enable off"),
    Keep("ttl-security hops <integer>", "ttl_security_hops"),
    *setting_rows("bfd detect-multiplier", "bfd min-rx-interval", "bfd min-tx-interval", "timers connection-retry",
               "timers route-advertisement", "nexthop-connected-check", "passive-mode", "enforce-first-as",
               "graceful-restart mode", "graceful-shutdown", "local-as prepend", "local-as replace",
               "capabilities source-address", "ttl-security", "v6only"),
    Each("address-family <family>", "family", (
        Keep(f"{ENABLE} <switch>", "active"),
        Keep("policy inbound route-map <word>", "import"),
        Keep("policy outbound route-map <word>", "export"),
        Keep("policy inbound prefix-list <word>", "prefix_list_in"),
        Keep("policy outbound prefix-list <word>", "prefix_list_out"),
        Keep("policy inbound aspath-list <word>", "filter_in", "as_path_list {0}".format),
        Keep("policy outbound aspath-list <word>", "filter_out", "as_path_list {0}".format),
        Keep("prefix-limits inbound maximum <integer>", "maximum_prefixes"),
        Keep("aspath allow-my-asn (enable|state) <on|enabled>", "allowed", "true"),
        Keep("aspath allow-my-asn occurrences <integer>", "allow_as_in"),
        Keep("aspath private-as remove", "remove_private", "true"),
        Keep("aspath private-as replace", "remove_private", "replace"),
        Keep("aspath replace-peer-as <on|enabled>", "as_override", "true"),
        Keep("route-reflector-client <on|enabled>", "reflector_client", "true"),
        Keep("attribute-mod nexthop <on|enabled>", "next_hop_unchanged", "true"),
        Keep("nexthop-setting self [<rest>]", "next_hop_self", lambda _: "true"),
        Keep("default-route-origination (enable|state) <on|enabled>", "originated", "true"),
        Keep("default-route-origination policy <word>", "default_originate"),
        Keep("community-advertise regular <off|disabled>", "send_community", lambda _: "false"),
        Keep("conditional-advertise advertise-map <word>", "announced"),
        Keep("conditional-advertise exist-map <word>", "condition", "exist-map {0}".format),
        Keep("conditional-advertise non-exist-map <word>", "condition", "non-exist-map {0}".format),
        *setting_rows("add-path-tx", "aspath", "attribute-mod", "community-advertise", "conditional-advertise",
                   "default-route-origination", "nexthop-setting", "policy outbound unsuppress-map",
                   "prefix-limits", "route-reflector-client", "route-server-client", "soft-reconfiguration", "weight",
                   "soo"),
    )),
    Silent("address-family <family>"),
)  # fmt: skip
PROCESS: tuple[Row, ...] = (
    Keep("autonomous-system <asn>", "asn"),
    Keep("router-id <address4>", "router_id"),
    Silent(f"{ENABLE} [<rest>]"),
    Keep("timers keepalive <integer>", "keepalive_s"),
    Keep("timers hold <integer>", "hold_s"),
    Keep("path-selection multipath aspath-ignore <switch>", "multipath_relax"),
    Keep("confederation id <integer>", "confederation", str),
    Keep("confederation member-as <rest>", "confederation peers"),
    Keep("route-reflection cluster-id <word>", "cluster_id"),
    Entry("dynamic-neighbor listen-range <prefix> peer-group <word>", "listen", lambda _, group: group),
    *setting_rows("confederation", "convergence-wait", "dynamic-neighbor", "graceful-restart", "graceful-shutdown",
               "maintenance-mode", "path-selection", "rd", "route-export", "route-import", "route-reflection",
               "soft-reconfiguration", "timers", "dynamic-peer", "nexthop-tracking", "wait-for-install",
               "wait-for-install-time", "default-as-set", "l2vpn-evpn"),
    Each("address-family <family>", "family", (
        Keep(f"{ENABLE} <switch>", "on"),
        Entry("network <prefix>", "networks", "all"),
        Entry("network <prefix> route-map <word>", "networks", lambda _, name: name),
        Entry("aggregate-route <prefix> [<rest>]", "aggregates",
              lambda _, rest: "summary-only" if (rest or "") in ("summary-only on", "summary-only enabled") else
              rest or "with its more specifics"),
        Keep("redistribute <word> (enable|state) <on|enabled>", lambda kind, _: {f"redistribute[{kind}]": "true"}),
        Keep("redistribute <word> route-map <word>", lambda kind, name: {f"map[{kind}]": name}),
        Keep("admin-distance external <integer>", "setting[distance bgp]", str),
        Keep("multipaths ebgp <integer>", "paths"),
        Keep("multipaths ibgp <integer>", "ibgp paths"),
        *setting_rows("add-path-rx", "admin-distance", "convergence", "label", "multipaths", "nexthop-tracking",
                   "redistribute", "rib-filter", "route-export", "route-import", "soft-reconfiguration", "advertise",
                   "advertise-default-gw", "advertise-svi-ip"),
    )),
    Silent("address-family <family>"),
    Each("neighbor <word>", "neighbor", _SESSION),
    Silent("neighbor <word>"),
    Each("peer-group <word>", "peer group", _SESSION),
    Silent("peer-group <word>"),
)  # fmt: skip


_OF_VRF = {"rd": "distinguisher", "route-import": "import", "route-export": "export"}
"""Statements of BGP in a VRF -> leaves of its facts."""
_TARGET = re.compile(r"(?:ANY|[\d.]+):\d+")


def finish(document: Document, process: Scope, prefix: str) -> None:
    """State a process and its sessions as those of FRR, which is what runs."""
    frr = Scope(process.line)
    frr.values = {**process.values, **gather_settings(process)}
    frr.tables = {"listen": process.tables.get("listen", {})}
    for family, scope in process.each("family").items():
        name = str(family)
        if scope.values.get("on", ("true", 0))[0] == "true" and name in sessions.FAMILIES:
            frr.values[name] = ("true", scope.line)
        for key in ("paths", "ibgp paths"):
            if key in scope.values:
                frr.values[f"{name} {key}"] = scope.values[key]
        for table in ("networks", "aggregates"):
            frr.tables.setdefault(table, {}).update(scope.table(table))
        for key, (_, line) in scope.values.items():
            if key.startswith("redistribute["):
                kind = key[len("redistribute[") : -1]
                own = kind in ("connected", "static")
                value, at = scope.values.get(f"map[{kind}]", ("unfiltered" if own else "all", line))
                frr.values[f"{name} {kind}" if own else f"{name} {key}"] = (value, at)
        frr.values |= {f"{name} {key}": stored for key, stored in gather_settings(scope).items()}
    speakers = frr.scopes.setdefault("neighbor", {})
    for kind in ("neighbor", "peer group"):
        for speaker, session in process.each(kind).items():
            speakers[speaker] = _session_scope(session, group=kind == "peer group")
    for name, leaf in _OF_VRF.items() if prefix else ():
        text, line = frr.values.get(f"setting[{name}]", ("", 0))
        if found := sorted(_TARGET.findall(str(text))):
            document.put(prefix + leaf, ",".join(found), line)
    bgp.finish_process(document, frr, MULTIPATH_LIMIT, prefix)
    sessions.finish(document, frr, prefix)


def _session_scope(session: Scope, *, group: bool) -> Scope:
    """Return a neighbor or a group under the names that FRR's own lines are kept under."""
    found = Scope(session.line)
    found.values = {**session.values, **gather_settings(session)}
    found.values["is a group" if group else "is a port"] = ("true", session.line)
    for family, scope in session.each("family").items():
        stored = dict(scope.values)
        if "originated" in stored:
            stored.setdefault("default_originate", ("all", stored.pop("originated")[1]))
        if "announced" in stored and "condition" in stored:
            (own, first), (others, second) = stored.pop("announced"), stored.pop("condition")
            stored["setting[advertise-map]"] = f"{own} {others}", min(first, second)
        if "allowed" in stored:
            stored.setdefault("allow_as_in", (sessions.ALLOWED_AS, stored.pop("allowed")[1]))
        found.values |= {
            f"{family} {leaf}": value for leaf, value in {**stored, **gather_settings(scope)}.items()
        }
    return found


_LIST_RULE: tuple[Row, ...] = (
    Keep("action <word>", "action"),
    Entry("match <word>", "matches", "true"),
    Each("match <word>", "bounds", (
        Keep("min-prefix-len <integer>", "ge"), Keep("max-prefix-len <integer>", "le"),
    )),
    Entry("(community|large-community|rt|soo) <word>", "matches", "true"),
    Entry("aspath-exp <rest>", "matches", "true"),
)  # fmt: skip
_LISTS = ("prefix-list", "community-list", "large-community-list", "ext-community-list", "as-path-list")
ROWS: tuple[Row, ...] = (
    Each("router policy route-map <word>", "route-map", (
        Each("rule <word>", "clause", (
            *(Keep(f"action {action}", "action", action) for action in ("permit", "deny")),
            *(Keep(f"{word} <rest>", f"{word} {{2}}", "true") for word in ("match", "set", "exit-policy", "continue")),
            Silent("description <rest>"),
        )),
    )),
    *(Each(f"router policy {kind} <word>", kind, (
        Keep("type <ipv4|ipv6>", "type"), Each("rule <word>", "rule", _LIST_RULE), Silent("description <rest>"),
    )) for kind in _LISTS),
)  # fmt: skip
_IN_CLAUSES = {
    "match ip-prefix-list": "prefix_list", "match community-list": "community_list",
    "set local-preference": "local_preference", "set community": "add_community",
}  # fmt: skip
"""Lines of clauses that a plan has -> what `Clause` calls them."""
_APART = (["match", "type"], ["set", "ipv6-nexthop-prefer-global"])
"""Lines that do not affect which routes pass, or have their own fact."""
_WELL_KNOWN = {"graceful-shutdown": "65535:0"}


def finish_policy(document: Document, unknown: frozenset[int]) -> None:
    """State clauses and rules, each at the first of its lines that is unknown."""
    scope = document.scope
    for name, route_map in scope.each("route-map").items():
        for sequence, clause in route_map.each("clause").items():
            action, _ = clause.values.get("action", ("permit", 0))
            document.put(
                f"route_map[{name}]/{sequence}", _clause_text(str(action), clause), place_of(clause, unknown)
            )
    for kind in _LISTS:
        for name, each in scope.each(kind).items():
            rules = [
                _rule_text(kind, str(each.values.get("type", ("ipv4", 0))[0]), rule, unknown)
                for _, rule in sorted(each.each("rule").items(), key=lambda item: natural_key(str(item[0])))
            ]
            texts = [(text, line) for text, line in rules if text]
            if kind == "prefix-list" or kind == "as-path-list":
                document.put_places(f"{kind.replace('-', '_')}[{name}]", texts)
            elif texts:
                before = {"large-community-list": "large ", "ext-community-list": "extended "}.get(kind, "")
                document.put(
                    f"community_list[{before}{name}]", ", ".join(text for text, _ in texts), texts[0][1]
                )


def _clause_text(action: str, clause: Scope) -> str:
    """Return a clause as its fact's value; lines that a plan has none of stand as they are."""
    stored: dict[str, str] = {}
    communities: list[str] = []
    further: list[str] = []
    for text in (name for name in clause.values if name != "action"):
        words = text.split()
        key = _IN_CLAUSES.get(" ".join(words[:2]), "")
        if key == "add_community" and words[2:] not in ([], ["none"]):
            communities.append(_WELL_KNOWN.get(words[2], words[2]))
        elif key and key != "add_community" and len(words) == 3:
            stored[key] = words[2]
        elif words[:2] == ["match", "as-path-list"] and len(words) == 3:
            further.append(f"as_path_list {words[2]}")
        elif words[:2] not in _APART:
            further.append(text)
    planned = Clause(
        0,
        action == "permit",
        prefix_list=stored.get("prefix_list"),
        community_list=stored.get("community_list"),
        local_preference=int(stored["local_preference"])
        if is_number(stored.get("local_preference", ""))
        else None,
        add_community=" ".join(sorted(communities)) or None,
    )
    return " ".join([clause_text(planned), *further])


def _rule_text(kind: str, family: str, rule: Scope, unknown: frozenset[int]) -> tuple[str, int]:
    """Return a rule of a list as its fact's value; prefixes of one rule are one after the other."""
    action = str(rule.values.get("action", ("permit", 0))[0])
    matches = {str(text): line for text, (_, line) in rule.table("matches").items()}
    texts: list[str] = []
    for text in dict.fromkeys([*matches, *map(str, rule.each("bounds"))]):
        bounds = rule.each("bounds").get(text)
        stored = [
            f"{word} {bounds.values[word][0]}" for word in ("ge", "le") if bounds and word in bounds.values
        ]
        prefix = (
            {"ipv4": "0.0.0.0/0 le 32", "ipv6": "::/0 le 128"}.get(family, text) if text == "any" else text
        )
        texts.append(" ".join([prefix, *stored]))
    if kind == "as-path-list":
        return f"{action} {' '.join(texts)}".rstrip(), place_of(rule, unknown)
    text = " or ".join(texts) if kind == "prefix-list" else " ".join(texts)
    return (text if action == "permit" else f"deny {text}") if texts else "", place_of(rule, unknown)
