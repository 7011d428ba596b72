"""Reads routing options and BGP: what a neighbour leaves unsaid its group says, and then the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.junos.vocabulary import HOLD_PER_KEEPALIVE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.nos.junos.read_device import Put
    from fabricc.nos.junos.read_policy import Policies
    from fabricc.nos.junos.tree import Node

_FAMILIES = {"inet": "ipv4", "inet6": "ipv6"}
_DEFAULT_HOLD_S = 90


class Shared:
    """A value that groups state each for themselves and the vocabulary knows once."""

    __slots__ = ("line", "values")

    def __init__(self) -> None:
        self.values: dict[str | int, int] = {}

    def note(self, value: str | int, line: int) -> None:
        """One group's word."""
        self.values[value] = line

    def state(self, path: str, put: Put) -> None:
        """The value when all agree, else all of them."""
        if len(self.values) == 1:
            put(path, *next(iter(self.values.items())))
        elif self.values:
            put(path, ",".join(sorted(map(str, self.values))), max(self.values.values()))


def read_bgp(root: Node, policies: Policies, put: Put) -> None:
    """State the facts of `routing-options` and `protocols bgp`."""
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
    for group in bgp.below("group"):
        _group(bgp, group, policies, shared, put)
    shared["redistribute"].state("bgp/redistribute_connected", put)
    shared["multipath"].state("bgp/multipath_relax", put)
    shared["interval"].state("bfd/interval_ms", put)
    shared["multiplier"].state("bfd/multiplier", put)


def _routing_options(root: Node, policies: Policies, put: Put) -> None:
    if router_id := root.value("routing-options", "router-id"):
        put("bgp/router_id", *router_id)
    if asn := root.number("routing-options", "autonomous-system"):
        put("bgp/asn", *asn)
    for node in root.below("routing-options", "forwarding-table", "export"):
        if node.word in policies.load_balancing:
            put("platform/load_balance", "per-packet", node.take())
    kind = "summary-only" if policies.suppressing else "with specifics"
    for words in (("routing-options",), ("routing-options", "rib", "inet6.0")):
        for route in root.below(*words, "aggregate", "route"):
            if line := route.flag("discard"):
                put(f"bgp/aggregate[{route.word}]", kind, line)


def _group(bgp: Node, group: Node, policies: Policies, shared: dict[str, Shared], put: Put) -> None:
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
        if not dynamic.flag("peer-auto-discovery", "family", "inet6", "ipv6-nd"):
            continue
        for name, line in dynamic.values("peer-auto-discovery", "interface"):
            prefix = f"bgp/neighbor[{name.removesuffix('.0')}]/"
            as_list = group.value("peer-as-list")
            members = policies.as_lists.get(as_list[0], []) if as_list else []
            if len(members) == 1 and members[0].isdecimal():
                put(prefix + "remote_asn", int(members[0][:19]), as_list[1] if as_list else line)
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
