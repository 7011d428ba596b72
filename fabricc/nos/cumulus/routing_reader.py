"""BGP, its policy and BFD read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.facts import boolean, clause_text
from fabricc.fabric.model import Clause
from fabricc.nos.cumulus.source import number

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value
    from fabricc.nos.cumulus.source import Source
    from fabricc.nos.cumulus.yaml_nodes import Node

_WELL_KNOWN = {"graceful-shutdown": "65535:0"}
_BFD_FACTS = {
    "detect-multiplier": "bfd/multiplier",
    "min-rx-interval": "bfd/interval_ms",
    "min-tx-interval": "bfd/interval_ms",
}
_FAMILIES = ("ipv4", "ipv6")
_GROUP_FACTS = {
    "import": ("policy", "inbound", "route-map"),
    "export": ("policy", "outbound", "route-map"),
    "maximum_prefixes": ("prefix-limits", "inbound", "maximum"),
}

GroupFacts = dict[str, "tuple[Value, Node]"]
"""What a peer group gives its neighbours: fact below the neighbour -> value and node."""


def read_routing(source: Source) -> None:
    """Policy, the process and its neighbours."""
    bgp = source.root.get("router", "bgp")
    process = source.root.get("vrf", "default", "router", "bgp")
    if bgp and process:
        for node in (bgp, process):
            if not source.switched_on(node):
                source.lacks(source.switch_of(node), "BGP is not on")
        source.scalar("bgp/asn", bgp, "autonomous-system")
        source.scalar("bgp/router_id", bgp, "router-id")
        _read_process(source, process)
    else:
        source.lacks(source.root, "BGP is missing")
    policy = source.root.get("router", "policy")
    if policy:
        _read_lists(source, policy)
        for name, node in policy.items("route-map"):
            for sequence, rule in node.items("rule"):
                source.put(f"route_map[{name}]/{sequence}", _clause(source, rule), rule)


def _read_process(source: Source, process: Node) -> None:
    source.scalar("bgp/keepalive_s", process, "timers", "keepalive")
    source.scalar("bgp/hold_s", process, "timers", "hold")
    path = ("path-selection", "multipath", "aspath-ignore")
    relaxed = source.switched_on(process, *path)
    source.put("bgp/multipath_relax", boolean(relaxed), source.switch_of(process, *path))
    for family in _FAMILIES:
        node = process.get("address-family", f"{family}-unicast")
        if node is None:
            source.lacks(process, f"{family}-unicast is missing")
        else:
            _read_family(source, node)
    groups = {name: _group(source, node) for name, node in process.items("peer-group")}
    for key, node in process.items("neighbor"):
        _read_neighbor(source, key, node, groups)


def _read_family(source: Source, node: Node) -> None:
    """One address family; what it states must be what the other states."""
    word = node.text(source.release.enable)
    if not source.switched_on(node):
        if word != source.release.off:
            source.lacks(source.switch_of(node), "the address family is not on")
        return
    paths = node.get("multipaths", "ebgp")
    if paths and paths.value:
        source.agree("bgp/maximum_paths", number(paths.value), paths)
    else:
        source.lacks(node, "multipaths ebgp is missing")
    connected = node.get("redistribute", "connected")
    route_map = connected.get("route-map") if connected else None
    if route_map and route_map.value and source.switched_on(connected):
        source.agree("bgp/redistribute_connected", route_map.value, route_map)
    else:
        source.lacks(source.switch_of(connected or node), "connected routes are not redistributed")
    for prefix, aggregate in node.items("aggregate-route"):
        alone = source.switched_on(aggregate, "summary-only")
        place = source.switch_of(aggregate, "summary-only")
        source.put(f"bgp/aggregate[{prefix}]", "summary-only" if alone else "with specifics", place)


def _group(source: Source, node: Node) -> GroupFacts:
    facts: GroupFacts = {}
    families = []
    for family in _FAMILIES:
        part = node.get("address-family", f"{family}-unicast")
        by_default = family == "ipv4" and (part is None or source.release.enable not in part.children)
        if not (source.switched_on(part) or by_default):
            continue
        families.append(family)
        for fact, path in _GROUP_FACTS.items():
            leaf = part.get(*path) if part else None
            if leaf is None or leaf.value is None:
                source.lacks(part or node, f"{fact} is missing")
            elif facts.setdefault(fact, (number(leaf.value), leaf))[0] != number(leaf.value):
                source.lacks(leaf, f"{fact} differs between the address families")
    facts["families"] = (",".join(families), node.get("address-family") or node)
    bfd = node.get("bfd")
    facts["bfd"] = (boolean(_read_bfd(source, bfd)), source.switch_of(bfd) if bfd else node)
    return facts


def _read_bfd(source: Source, bfd: Node | None) -> bool:
    """Whether a peer group has BFD; its timers are facts of the switch."""
    if bfd is None:
        return False
    on = True
    if source.release.bfd_profiles:
        above = source.root.get("router", "bfd")
        profile = above.get("profile", bfd.text("profile") or "") if above else None
        on = source.switched_on(above, "state")
        if not on:
            source.lacks(source.switch_of(above or bfd, "state"), "BFD is not on")
        timers = profile
    else:
        on = source.switched_on(bfd)
        timers = bfd
    for key, path in _BFD_FACTS.items():
        leaf = timers.get(key) if timers else None
        if leaf and leaf.value:
            source.agree(path, number(leaf.value), leaf)
        else:
            source.lacks(bfd, f"{key} is missing")
    return on


def _read_neighbor(source: Source, key: str, node: Node, groups: dict[str, GroupFacts]) -> None:
    prefix = f"bgp/neighbor[{key}]/"
    source.scalar(prefix + "remote_asn", node, "remote-as")
    source.scalar(prefix + "description", node, "description")
    source.require(node, "type", "unnumbered" if key.startswith("swp") else "numbered")
    if key.startswith("swp"):
        source.put(f"interface[{key}]/unnumbered", "true", node)
    member = node.children.get("peer-group")
    group = groups.get(member.value or "") if member else None
    if member and group is not None:
        member.seen = True
        for fact, (value, place) in group.items():
            source.put(prefix + fact, value, place)


def _read_lists(source: Source, policy: Node) -> None:
    for name, node in policy.items("prefix-list"):
        rules = sorted(node.items("rule"), key=lambda item: (len(item[0]), item[0]))
        written = [_prefix_rule(source, rule) for _, rule in rules]
        for index, ((text, place), (_, rule)) in enumerate(zip(written, rules, strict=True)):
            source.put(f"prefix_list[{name}]/{index}", text, place or rule)
        if written:
            source.require(node, "type", "ipv6" if ":" in written[0][0] else "ipv4")
    for name, node in policy.items("community-list"):
        for _, rule in node.items("rule"):
            source.require(rule, "action", "permit")
            communities = [_WELL_KNOWN.get(item, item) for item, _ in rule.items("community")]
            source.agree(f"community_list[{name}]", " ".join(sorted(communities)), rule)


def _prefix_rule(source: Source, rule: Node) -> tuple[str, Node | None]:
    """A rule as its fact's value, and the node of its prefix."""
    source.require(rule, "action", "permit")
    texts, place = [], None
    for prefix, node in rule.items("match"):
        low, high = node.text("min-prefix-len"), node.text("max-prefix-len")
        texts.append(prefix + (f" ge {low}" if low else "") + (f" le {high}" if high else ""))
        place = node
    return " or ".join(texts), place


def _clause(source: Source, rule: Node) -> str:
    """A rule of a route map as its fact's value."""
    actions = [word for word, _ in rule.items("action")]
    prefix_list = rule.text("match", "ip-prefix-list")
    if prefix_list and (match := rule.get("match")):
        lists = source.root.get("router", "policy", "prefix-list", prefix_list)
        kind = lists.children.get("type") if lists else None
        source.require(match, "type", (kind and kind.value) or "ipv4")
        if lists is None:
            source.lacks(rule, f"prefix list {prefix_list} is not defined")
    communities = [_WELL_KNOWN.get(item, item) for item, _ in rule.items("set", "community")]
    preference = rule.get("set", "local-preference")
    level = number(preference.value or "") if preference else None
    if preference and not isinstance(level, int):
        preference.seen = False
    return clause_text(
        Clause(
            sequence=0,
            permit=actions == ["permit"],
            prefix_list=prefix_list,
            community_list=rule.text("match", "community-list"),
            local_preference=level if isinstance(level, int) else None,
            add_community=" ".join(sorted(communities)) or None,
        )
    )
