"""BGP, its policy and BFD read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.routing import TTL_SECURITY_HOPS
from fabricc.back.nos.cumulus.source import number
from fabricc.fabric.facts import boolean, clause_text
from fabricc.fabric.routing import Clause, Spreading

if TYPE_CHECKING:
    from fabricc.back.nos.cumulus.source import Source
    from fabricc.back.nos.cumulus.yaml_nodes import Node
    from fabricc.fabric.facts import Value

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

_CLAUSE_FACTS = {
    "prefix_list": ("match", "ip-prefix-list"),
    "community_list": ("match", "community-list"),
    "local_preference": ("set", "local-preference"),
}

GroupFacts = dict[str, "tuple[Value, Node]"]
"""What a peer group gives its neighbours: fact below the neighbour -> value and node."""


def read_routing(source: Source) -> None:
    """Policy, the process and its neighbours."""
    source.expect(source.root, ("vrf", "default", "router", "bgp"), "bgp/process")
    source.expect(source.root, ("router",), "load_balancing/mode")
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
        source.lacks(source.root.children.get("vrf" if bgp else "router", source.root), "BGP is missing")
    adaptive = source.root.get("router", "adaptive-routing")
    if adaptive:
        mode = Spreading.PACKET if source.switched_on(adaptive) else Spreading.HASH
        source.put("load_balancing/mode", mode.value, source.switch_of(adaptive))
    policy = source.root.get("router", "policy")
    if policy:
        _read_lists(source, policy)
        for name, node in policy.items("route-map"):
            rules = list(node.items("rule"))
            source.put(f"route_map[{name}]/rules", len(rules), node)
            for sequence, rule in rules:
                path = f"route_map[{name}]/{sequence}"
                source.put(path, _clause(source, path, rule), rule)
                source.expect(rule, ("set",), f"{path}/global_next_hop")
                if prefer := rule.get("set", "ipv6-nexthop-prefer-global"):
                    on = prefer.value == source.release.on
                    source.put(f"{path}/global_next_hop", "true" if on else prefer.value or "", prefer)


def read_port_balancing(source: Source, prefix: str, port: Node) -> None:
    """Whether a port takes part in adaptive routing."""
    adaptive = port.get("router", "adaptive-routing")
    if adaptive:
        taking_part = boolean(source.switched_on(adaptive))
        source.put(prefix + "adaptive_routing", taking_part, source.switch_of(adaptive))


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
            _read_family(source, family, node)
    groups: dict[str, GroupFacts] = {}
    for name, node in process.items("peer-group"):
        source.put(f"bgp/peer_group[{name}]/configured", "true", node)
        groups[name] = _group(source, name, node)
    for key, node in process.items("neighbor"):
        _read_neighbor(source, key, node, groups, process.children.get("peer-group", process))
    checks = [group["ttl_security_hops"] for group in groups.values() if "ttl_security_hops" in group]
    for value, place in checks:
        checked = value == TTL_SECURITY_HOPS and len(checks) == len(groups)
        source.agree("bgp/ttl_security", boolean(checked), place)


def _read_family(source: Source, family: str, node: Node) -> None:
    """One address family; what it states must be what the other states."""
    word = node.text(source.release.enable)
    source.put(f"bgp/family[{family}]", word or "default", source.switch_of(node))
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
    if route_map and route_map.value:
        _refer(source, "route-map", route_map.value)
    if route_map and route_map.value and source.switched_on(connected):
        source.agree("bgp/redistribute_connected", route_map.value, route_map)
    else:
        source.lacks(source.switch_of(connected or node), "connected routes are not redistributed")
    for prefix, aggregate in node.items("aggregate-route"):
        alone = source.switched_on(aggregate, "summary-only")
        place = aggregate if alone else source.switch_of(aggregate, "summary-only")
        source.put(f"bgp/aggregate[{prefix}]", "summary-only" if alone else "with specifics", place)


def _group(source: Source, name: str, node: Node) -> GroupFacts:
    facts: GroupFacts = {}
    families = []
    for family in _FAMILIES:
        part = node.get("address-family", f"{family}-unicast")
        place = source.switch_of(part) if part else node
        by_default = family == "ipv4" and (part is None or source.release.enable not in part.children)
        active = source.switched_on(part) or by_default
        source.put(f"bgp/peer_group[{name}]/{family}", boolean(active), place)
        if not active:
            continue
        families.append(family)
        for fact, path in _GROUP_FACTS.items():
            leaf = part.get(*path) if part else None
            if leaf is None or leaf.value is None:
                source.lacks(part or node, f"{fact} is missing")
                continue
            if fact in ("import", "export"):
                _refer(source, "route-map", leaf.value)
            if facts.setdefault(fact, (number(leaf.value), leaf))[0] != number(leaf.value):
                source.lacks(leaf, f"{fact} differs between the address families")
    facts["families"] = (",".join(families), node.get("address-family") or node)
    if ttl := node.get("ttl-security"):
        hops = ttl.get("hops")
        if source.switched_on(ttl) and hops and hops.value:
            facts["ttl_security_hops"] = (number(hops.value), hops)
        else:
            facts["ttl_security_hops"] = ("off", source.switch_of(ttl))
    bfd = node.get("bfd")
    facts["bfd"] = (boolean(_read_bfd(source, bfd)), source.switch_of(bfd) if bfd else node)
    return facts


def _read_bfd(source: Source, bfd: Node | None) -> bool:
    """Whether a peer group has BFD; its timers are facts of the switch."""
    if bfd is None:
        return False
    on = True
    if source.release.bfd_profiles:
        source.expect(source.root, ("router", "bfd", "profile"), *_BFD_FACTS.values())
        above = source.root.get("router", "bfd")
        profile = above.get("profile", bfd.text("profile") or "") if above else None
        on = source.switched_on(above, "state")
        if not on:
            source.lacks(source.switch_of(above or bfd, "state"), "BFD is not on")
        timers = profile
        bfd = bfd.children.get("profile", bfd)
    else:
        on = source.switched_on(bfd)
        timers = bfd
    for key, path in _BFD_FACTS.items():
        leaf = timers.get(key) if timers else None
        if leaf and leaf.value:
            source.agree(path, number(leaf.value), leaf)
        else:
            source.lacks(timers or bfd, f"{key} is missing")
    return on


def _read_neighbor(
    source: Source, key: str, node: Node, groups: dict[str, GroupFacts], groups_node: Node
) -> None:
    prefix = f"bgp/neighbor[{key}]/"
    source.put(f"bgp/neighbor[{key}]/configured", "true", node)
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
        source.expect(group["families"][1], (), prefix + "ttl_security_hops")
    elif member and member.value:
        source.lacks(groups_node, f"peer-group {member.value} is not defined")


def _read_lists(source: Source, policy: Node) -> None:
    for name, node in policy.items("prefix-list"):
        rules = sorted(node.items("rule"), key=lambda item: (len(item[0]), item[0]))
        written = [
            _prefix_rule(source, f"prefix_list[{name}]/{at}/", rule) for at, (_, rule) in enumerate(rules)
        ]
        for index, ((text, place), (_, rule)) in enumerate(zip(written, rules, strict=True)):
            source.put(f"prefix_list[{name}]/{index}", text, place or rule)
        source.put(f"prefix_list[{name}]/rules", len(rules), node)
        if written:
            source.require(node, "type", "ipv6" if ":" in written[0][0] else "ipv4")
    for name, node in policy.items("community-list"):
        rules = list(node.items("rule"))
        source.put(f"community_list[{name}]/rules", len(rules), node)
        for _, rule in rules:
            source.require(rule, "action", "permit")
            named = list(rule.items("community"))
            communities = " ".join(sorted(_WELL_KNOWN.get(item, item) for item, _ in named))
            source.agree(f"community_list[{name}]", communities, named[0][1] if named else rule)


def _refer(source: Source, kind: str, name: str) -> None:
    """Note that a list or a route map is used and not there."""
    router = source.root.children.get("router", source.root)
    policy = router.children.get("policy", router)
    lists = policy.children.get(kind, policy)
    if name not in lists.children:
        source.lacks(lists, f"{kind} {name} is not defined")


def _prefix_rule(source: Source, path: str, rule: Node) -> tuple[str, Node | None]:
    """A rule as its fact's value, and the node of its prefix."""
    source.require(rule, "action", "permit")
    texts, place = [], None
    for prefix, node in rule.items("match"):
        low, high = node.text("min-prefix-len"), node.text("max-prefix-len")
        source.scalar(path + "ge", node, "min-prefix-len")
        source.scalar(path + "le", node, "max-prefix-len")
        texts.append(prefix + (f" ge {low}" if low else "") + (f" le {high}" if high else ""))
        place = node
    return " or ".join(texts), place


def _clause(source: Source, path: str, rule: Node) -> str:
    """A rule of a route map as its fact's value; each part is a fact of its own too, to be named by its line."""
    actions = [word for word, _ in rule.items("action")]
    for word, node in rule.items("action"):
        source.put(f"{path}/action", word, node)
    for fact, keys in _CLAUSE_FACTS.items():
        source.scalar(f"{path}/{fact}", rule, *keys)
    prefix_list = rule.text("match", "ip-prefix-list")
    if prefix_list and (match := rule.get("match")):
        lists = source.root.get("router", "policy", "prefix-list", prefix_list)
        kind = lists.children.get("type") if lists else None
        source.require(match, "type", (kind and kind.value) or "ipv4")
        _refer(source, "prefix-list", prefix_list)
    if community_list := rule.text("match", "community-list"):
        _refer(source, "community-list", community_list)
    communities = []
    for item, node in rule.items("set", "community"):
        communities.append(_WELL_KNOWN.get(item, item))
        source.put(f"{path}/add_community", communities[-1], node)
    preference = rule.get("set", "local-preference")
    level = number(preference.value or "") if preference else None
    if preference and not isinstance(level, int):
        preference.seen = False
    return clause_text(
        Clause(
            sequence=0,
            permit=actions == ["permit"],
            prefix_list=prefix_list,
            community_list=community_list,
            local_preference=level if isinstance(level, int) else None,
            add_community=" ".join(sorted(communities)) or None,
        )
    )
