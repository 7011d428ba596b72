"""Reads routing options and BGP: what a neighbour leaves unsaid its group says, and then the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import HOLD_PER_KEEPALIVE, ONE_HOP_TTL

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from fabricc.back.nos.junos.read_device import Put
    from fabricc.back.nos.junos.read_policy import Policies
    from fabricc.back.nos.junos.tree import Node

_FAMILIES = {"inet": "ipv4", "inet6": "ipv6"}
_DEFAULT_HOLD_S = 90
_ADVERTISED = {"max-advertisement-interval": "ra_max_s", "min-advertisement-interval": "ra_min_s"}


class Shared:
    """A value that groups state each for themselves and the vocabulary knows once."""

    __slots__ = ("line", "values")

    def __init__(self) -> None:
        self.values: dict[str | int, int] = {}

    def note(self, value: str | int, line: int) -> None:
        """One group's word."""
        self.values[value] = line

    def state(self, path: str, put: Put) -> None:
        """The value when all agree, else all of them, and each by itself where it is said."""
        if len(self.values) == 1:
            put(path, *next(iter(self.values.items())))
        elif self.values:
            put(path, ",".join(sorted(map(str, self.values))), max(self.values.values()))
            for value, line in self.values.items():
                put(f"{path}[{value}]", value, line)


def read_bgp(root: Node, policies: Policies, one_hop: Mapping[str, int], put: Put) -> None:
    """State the facts of `routing-options` and `protocols bgp`.

    `one_hop` has the families whose BGP packets from further than one hop are refused, with the line that does.
    """
    _routing_options(root, policies, put)
    bgp = root.get("protocols", "bgp")
    if bgp is None:
        return
    if line := bgp.flag("log-updown"):
        put("platform/bgp_log", "true", line)
    hold, line = bgp.number("hold-time") or (_DEFAULT_HOLD_S, 0)
    put("bgp/hold_s", hold, line)
    put("bgp/keepalive_s", hold // HOLD_PER_KEEPALIVE, line)
    shared = {key: Shared() for key in ("redistribute", "multipath", "interval", "multiplier")}
    announced = _announced(root, put)
    for group in bgp.below("group"):
        _group(bgp, group, policies, announced, shared, put)
    _ttl_security(bgp, one_hop, put)
    shared["redistribute"].state("bgp/redistribute_connected", put)
    shared["multipath"].state("bgp/multipath_relax", put)
    shared["interval"].state("bfd/interval_ms", put)
    shared["multiplier"].state("bfd/multiplier", put)


def _announced(root: Node, put: Put) -> set[str]:
    """The interfaces that announce themselves as routers; how often they do is stated."""
    names = set()
    for node in root.below("protocols", "router-advertisement", "interface"):
        names.add(node.word)
        for word, fact in _ADVERTISED.items():
            if seconds := node.number(word):
                put(f"interface[{node.word.removesuffix('.0')}]/{fact}", *seconds)
    return names


def _routing_options(root: Node, policies: Policies, put: Put) -> None:
    if router_id := root.value("routing-options", "router-id"):
        put("bgp/router_id", *router_id)
    if asn := root.number("routing-options", "autonomous-system"):
        put("bgp/asn", *asn)
    for node in root.below("routing-options", "forwarding-table", "export"):
        if balancing := policies.load_balancing.get(node.word):
            put("platform/load_balance", "per-packet", node.take())
            balancing.take()
    if line := root.flag("routing-options", "forwarding-table", "ecmp-fast-reroute"):
        put("platform/ecmp_fast_reroute", "true", line)
    kind = "summary-only" if policies.suppressing else "with specifics"
    for words in (("routing-options",), ("routing-options", "rib", "inet6.0")):
        for route in root.below(*words, "aggregate", "route"):
            if line := route.flag("discard"):
                put(f"bgp/aggregate[{route.word}]", kind, line)


def _ttl_security(bgp: Node, one_hop: Mapping[str, int], put: Put) -> None:
    """State the TTL that each group sends with, and TTL security when all send the largest and take no other."""
    secure = []
    families: set[str] = set()
    for group in bgp.below("group"):
        ttl = group.number("ttl") or bgp.number("ttl")
        if ttl:
            put(f"platform/bgp_group[{group.word}]/ttl", *ttl)
        secure.append(ttl is not None and ttl[0] == ONE_HOP_TTL)
        families |= {"inet6" if ":" in neighbor.word else "inet" for neighbor in group.below("neighbor")}
        if group.get("dynamic-neighbor"):
            families.add("inet6")
    if families and all(secure) and families <= one_hop.keys():
        put("bgp/ttl_security", "true", one_hop[min(families)])


def _group(
    bgp: Node,
    group: Node,
    policies: Policies,
    announced: Container[str],
    shared: dict[str, Shared],
    put: Put,
) -> None:
    """State the facts of a group; interfaces that are not `announced` to the other end find no neighbour there."""
    if kind := group.value("type"):
        put(f"platform/bgp_group[{group.word}]/type", *kind)
    relax, line = "none", group.line
    for node in (group.get("multipath"), bgp.get("multipath")):
        if node is not None and relax == "none":
            multiple = node.flag("multiple-as")
            relax, line = ("true", multiple) if multiple else ("false", node.take())
    shared["multipath"].note(relax, line)
    for neighbor in group.below("neighbor"):
        levels = (neighbor, group, bgp)
        prefix = f"bgp/neighbor[{neighbor.word}]/"
        for remote in (level.number("peer-as") for level in levels):
            if remote:
                put(prefix + "remote_asn", *remote)
                break
        if description := neighbor.value("description"):
            put(prefix + "description", *description)
        _session(prefix, levels, shared, put, unnumbered=False)
    for dynamic in group.below("dynamic-neighbor"):
        put(f"structure/bgp_group[{group.word}]/dynamic_neighbor", dynamic.word, dynamic.line)
        if not dynamic.flag("peer-auto-discovery", "family", "inet6", "ipv6-nd"):
            continue
        as_list = group.reference(policies.as_lists, "peer-as-list")
        members = policies.as_lists[as_list[0]].values("members") if as_list else []
        for interface in dynamic.below("peer-auto-discovery", "interface"):
            if interface.word not in announced or not interface.take():
                continue
            prefix = f"bgp/neighbor[{interface.word.removesuffix('.0')}]/"
            if len(members) == 1 and members[0][0].isdecimal():
                put(prefix + "remote_asn", int(members[0][0][:19]), members[0][1])
            _session(prefix, (group, bgp), shared, put, unnumbered=True)


def _session(
    prefix: str, levels: tuple[Node, ...], shared: dict[str, Shared], put: Put, *, unnumbered: bool
) -> None:
    own = levels[0]
    imports = _inherited(levels, "import")
    if imports:
        put(prefix + "import", " ".join(name for name, _ in imports), imports[-1][1])
    exports = _inherited(levels, "export")
    if exports:
        put(prefix + "export", exports[-1][0], exports[-1][1])
        redistributed = " ".join(name for name, _ in exports[:-1]) or "none"
        shared["redistribute"].note(redistributed, exports[0][1])
    bfd = next((n for level in levels if (n := level.get("bfd-liveness-detection"))), None)
    interval = bfd.number("minimum-interval") if bfd else None
    put(prefix + "bfd", "true" if interval else "false", interval[1] if interval else own.line)
    if bfd and interval:
        shared["interval"].note(*interval)
        shared["multiplier"].note(*(bfd.number("multiplier") or (3, interval[1])))
    _families(prefix, levels, put, unnumbered)


def _inherited(levels: Iterable[Node], word: str) -> list[tuple[str, int]]:
    """The policy chain of the nearest level that has one."""
    for level in levels:
        if chain := level.values(word):
            return chain
    return []


def _families(prefix: str, levels: tuple[Node, ...], put: Put, unnumbered: bool) -> None:
    families = []
    limits = Shared()
    line = levels[0].line
    level = next((level for level in levels if level.get("family")), None)
    for name, fact in _FAMILIES.items():
        unicast = level.get("family", name, "unicast") if level else None
        if unicast is None:
            continue
        line = unicast.take() or unicast.line
        hop = unicast.flag("extended-nexthop")
        if name == "inet" and unnumbered and not hop:
            continue
        families.append(fact if not hop or unnumbered else f"{fact} over IPv6")
        limit = unicast.number("prefix-limit", "maximum")
        if limit and unicast.flag("prefix-limit", "teardown", "idle-timeout", "forever"):
            limits.note(*limit)
        elif limit:
            limits.note(f"{limit[0]} without end", limit[1])
        else:
            limits.note("none", line)
    put(prefix + "families", ",".join(families) or ("ipv4" if level is None else "none"), line)
    limits.state(prefix + "maximum_prefixes", put)
