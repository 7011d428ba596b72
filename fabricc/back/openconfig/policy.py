"""openconfig-routing-policy with openconfig-bgp-policy: prefix sets, community sets, and route maps as policies."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from fabricc.back.openconfig.interfaces import list_entry
from fabricc.fabric.facts import Facts, clause_text
from fabricc.fabric.routing import Clause, PrefixRule

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

TOP = "openconfig-routing-policy:routing-policy"
_BGP = "openconfig-bgp-policy:"
_SETS, _CONDITIONS, _ACTIONS = f"{_BGP}bgp-defined-sets", f"{_BGP}bgp-conditions", f"{_BGP}bgp-actions"
_ANY = {"match-set-options": "ANY"}


def render(switch: Switch) -> dict[str, Any]:
    """Return the policies that the sessions of a switch apply, with their sets."""
    bgp = switch.bgp
    prefixes = [
        list_entry(
            ("name",),
            {"name": each.name, "mode": f"IPV{each.family}"},
            prefixes={"prefix": [_prefix_entry(rule) for rule in each.rules]},
        )
        for each in bgp.prefix_lists
    ]
    communities = [
        list_entry(
            ("community-set-name",), {"community-set-name": each.name, "community-member": [each.community]}
        )
        for each in bgp.community_lists
    ]
    policies = [
        list_entry(
            ("name",),
            {"name": each.name},
            statements={"statement": [_policy_statement(c) for c in each.clauses]},
        )
        for each in bgp.route_maps
    ]
    sets: dict[str, Any] = {"prefix-sets": {"prefix-set": prefixes}}
    if communities:
        sets[_SETS] = {"community-sets": {"community-set": communities}}
    return {TOP: {"defined-sets": sets, "policy-definitions": {"policy-definition": policies}}}


def read(document: dict[str, Any]) -> Facts:
    """Return the facts of routing policy."""
    facts: Facts = {}
    sets = document[TOP]["defined-sets"]
    for each in sets["prefix-sets"]["prefix-set"]:
        for index, prefix in enumerate(each["prefixes"]["prefix"]):
            facts[f"prefix_list[{each['name']}]/{index}"] = _prefix_rule(prefix)
    for each in sets.get(_SETS, {}).get("community-sets", {}).get("community-set", ()):
        (member,) = each["config"]["community-member"]
        facts[f"community_list[{each['community-set-name']}]"] = member
    for each in document[TOP]["policy-definitions"]["policy-definition"]:
        for statement in each["statements"]["statement"]:
            facts[f"route_map[{each['name']}]/{statement['name']}"] = clause_text(_parse_clause(statement))
    return facts


def _prefix_entry(rule: PrefixRule) -> dict[str, Any]:
    """Return a prefix with its range of lengths, `exact` or `FROM..TO`."""
    network = ip_network(rule.prefix)
    lengths = "exact"
    if rule.ge is not None or rule.le is not None:
        lengths = f"{rule.ge or network.prefixlen}..{rule.le or network.max_prefixlen}"
    return list_entry(
        ("ip-prefix", "masklength-range"), {"ip-prefix": rule.prefix, "masklength-range": lengths}
    )


def _prefix_rule(prefix: dict[str, Any]) -> str:
    """Return the same in the form of a fact; bounds that the prefix or its family imply are omitted."""
    text, lengths = prefix["ip-prefix"], prefix["masklength-range"]
    if lengths == "exact":
        return str(text)
    network = ip_network(text)
    least, most = map(int, lengths.split(".."))
    text += f" ge {least}" if least != network.prefixlen else ""
    bounded = most != network.max_prefixlen or least in (network.prefixlen, most)
    return f"{text} le {most}" if bounded else str(text)


def _policy_statement(clause: Clause) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    if clause.prefix_list:
        conditions["match-prefix-set"] = {"config": {"prefix-set": clause.prefix_list, **_ANY}}
    if clause.community_list:
        written = {"community-set": clause.community_list, **_ANY}
        conditions[_CONDITIONS] = {"match-community-set": {"config": written}}
    actions: dict[str, Any] = {
        "config": {"policy-result": "ACCEPT_ROUTE" if clause.permit else "REJECT_ROUTE"}
    }
    sets: dict[str, Any] = {}
    if clause.local_preference is not None:
        sets["config"] = {"set-local-pref": clause.local_preference}
    if clause.add_community:
        sets["set-community"] = {
            "config": {"method": "INLINE", "options": "ADD"},
            "inline": {"config": {"communities": [clause.add_community]}},
        }
    if sets:
        actions[_ACTIONS] = sets
    return list_entry(("name",), {"name": str(clause.sequence)}, conditions=conditions, actions=actions)


def _parse_clause(statement: dict[str, Any]) -> Clause:
    conditions, actions = statement.get("conditions", {}), statement["actions"]
    sets = actions.get(_ACTIONS, {})
    matched = conditions.get(_CONDITIONS, {}).get("match-community-set", {}).get("config", {})
    added = sets.get("set-community", {}).get("inline", {}).get("config", {}).get("communities", [None])
    return Clause(
        int(statement["name"]),
        actions["config"]["policy-result"] == "ACCEPT_ROUTE",
        prefix_list=conditions.get("match-prefix-set", {}).get("config", {}).get("prefix-set"),
        community_list=matched.get("community-set"),
        local_preference=sets.get("config", {}).get("set-local-pref"),
        add_community=added[0],
    )
