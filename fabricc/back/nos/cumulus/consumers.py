"""Check that the requirements of NVUE settings are fulfilled, after NVIDIA's documentation."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.startup import expand_members, parse_startup
from fabricc.back.nos.cumulus.words import CONTROL_PLANE_LISTS, GLOBAL
from fabricc.back.reading import Block, block_rows
from fabricc.back.reading.tree import find_node
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.back.reading import Document, Node, Row
    from fabricc.fabric.facts import Reading

    Keys = tuple[str, ...]

ANY = "*"
_FOR_ALL_PORTS = ("egress-queue-mapping", "advance-buffer-config")
"""Kinds of profiles that no port can name."""
_WORD, _KEY = re.compile(r"[a-z][a-z0-9-]+"), re.compile(r"(?:ipv[46]-|l2)?[a-z][a-z_-]{3,}")
_UNREAD_KEYS = frozenset({
    "anycast-id", "aspath-list", "authentication-port", "authentication-retries", "counters", "egress-lossy-buffer",
    "encrypt-des", "ext-community-rt", "ext-community-soo", "ingress-lossy-buffer", "interfaces",
    "large-community-delete-list", "passwd", "police", "poll-interval", "protocols", "rates", "route-advertisement",
    "route-tag", "router-advertisement", "systemd",
})  # fmt: skip
"""Keys of NVUE's object model that no row knows and that look like one which a row knows."""
_LETTERS, _ALIKE = 4, 0.85
"""Share of two words that is the same, of those that differ in one or two letters."""
_WITH_PORTS = ("tcp", "udp")
_SWITCHES = ("enable", "state")
_OFF = frozenset({"off", "disable", "disabled"})


@dataclass(frozen=True, slots=True)
class Need:
    """The documented requirement of everything enabled below `top`.

    Attributes:
        otherwise: the effect if it is missing.
        page: page of the documentation.
        at: paths of which one has a value of `holds`, or any where there are none; `*` is the key that it stands for
            in `top`.
        unless: a path without which nothing is needed; empty where something always is.
        beside: keys below `top` without this requirement.
    """

    top: str
    otherwise: str
    page: str
    at: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset()
    unless: str = ""
    beside: frozenset[str] = frozenset()


NEEDS = (
    Need("interface/*/router/adaptive-routing", "adaptive routing of the switch is off",
        "Equal Cost Multipath Load Sharing (adaptive routing is enabled globally and on ports)",
        at=("router/adaptive-routing/enable", "router/adaptive-routing/state"),
        holds=frozenset({"on", "enabled"})),
    Need("interface/*/qos/pfc-watchdog", "the port has no PFC",
        "Quality of Service (a watchdog can only be configured on a port with PFC or link pause)",
        at=("interface/*/qos/pfc/profile", "qos/roce/enable", "qos/roce/state")),
    Need("interface/*/packet-trim", "trimming of the switch is off",
        "Packet Trimming (set the packet trimming state to enabled)",
        at=("system/forwarding/packet-trim/state",), holds=frozenset({"enabled"})),
    Need("system/forwarding/packet-trim", "dropped packets of buffers are monitored",
        "Packet Trimming (not with buffer drops monitored by WJH)", unless="system/wjh/channel/buffer"),
    Need("system/aaa/user/*/ssh", "the SSH server is off",
        "SSH for Remote Access (enabled by default)",
        at=("system/ssh-server/state",), holds=frozenset({"enabled"}), unless="system/ssh-server/state"),
    Need("qos", "RoCE's own profile is on",
        "RDMA over Converged Ethernet - RoCE (one command sets trust, maps, PFC, ECN, scheduling and pools of its own)",
        at=("qos/roce/enable", "qos/roce/state"), holds=_OFF, unless="qos/roce",
        beside=frozenset({"roce", "pfc-watchdog", "pfc", "congestion-control", "traffic-pool", "mapping",
                          "egress-queue-mapping"})),
)  # fmt: skip


def finish(document: Document) -> None:
    """State what has no effect; no plan has such a fact."""
    root = find_node(parse_startup(document.text).nodes, "set")
    for path, line, why in report_unread(root) if root else ():
        document.put(f"unread[{path}]", why, line)


def state_misspelled(reading: Reading, known: frozenset[str]) -> None:
    """State unknown keys that differ from one of the `known` keys in a letter or two: NVUE rejects the file."""
    known |= _UNREAD_KEYS
    for file, line, text in list(reading.unknown):
        words = (
            text.removeprefix("nv set ").split() if text.startswith("nv set ") else [text.partition(":")[0]]
        )
        for word in words:
            if not _KEY.fullmatch(word) or word in known:
                continue
            alike = [each for each in known if each[0] == word[0] and abs(len(each) - len(word)) < _LETTERS]
            near = get_close_matches(word, alike, 1, _ALIKE)
            if near and _differs_in_letters(word, near[0]) and f"unread[{word}]" not in reading.facts:
                reading.put(f"unread[{word}]", f"NVUE has no such key, but {near[0]}", file, line)


def _differs_in_letters(word: str, near: str) -> bool:
    """Return whether two keys have the same first letter, and neither extends the other after a hyphen."""
    return word[0] == near[0] and not (word.startswith(f"{near}-") or near.startswith(f"{word}-"))


def keys_of(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the words of the patterns of rows and of what stands below them."""
    for row in rows:
        yield from _WORD.findall(row.pattern)
        if isinstance(row, Block):
            yield from keys_of(block_rows(row.rows))


def report_unread(root: Node) -> Iterator[tuple[str, int, str]]:
    """Path, its line, and why it has no effect, for everything below `set` that is switched on."""
    tree = _Tree(root)
    for need in NEEDS:
        for names, node in tree.find_nodes(need.top):
            if any(
                child.key[0] in _SWITCHES and _OFF & _value_words(child)
                for child in node.children or ()
                if child.key
            ):
                continue
            keys = [(child.key[0], child.line) for child in node.children or () if child.key]
            idle = [line for key, line in keys if key not in need.beside]
            if need.beside and not idle:
                continue
            if not tree.holds(need, names):
                left = iter(names)
                path = "/".join(next(left) if key == ANY else key for key in need.top.split("/"))
                contrary = next(tree.find_nodes(need.unless, names), None) if need.unless else None
                line = contrary[1].line if contrary else node.line
                yield path, idle[0] if need.beside and len(idle) <= _FEW else line, need.otherwise
    yield from _unused_profiles(tree)
    yield from _unusable_lists(tree)


_FEW = 2
"""Largest number of statements that are reported themselves; of more, the requirement that they break is reported."""


def _unusable_lists(tree: _Tree) -> Iterator[tuple[str, int, str]]:
    """Yield lists of the control plane that are not there or have no rule, and rules of lists that match nothing."""
    lists = {name: _node_below(node, ("rule",)) for (name,), node in tree.find_nodes("acl/*")}
    for (name,), node in tree.find_nodes("system/control-plane/acl/*"):
        rules = lists.get(name)
        if name in lists and not (rules and rules.children):
            yield f"acl/{name}", node.line, "the access list has no rule"
        elif name not in (*lists, *CONTROL_PLANE_LISTS):
            yield f"system/control-plane/acl/{name}", node.line, "no access list has this name"
    for name, rules in lists.items():
        for rule in _named_children(rules):
            path = f"acl/{name}/rule/{rule.key[0]}"
            action, match = _node_below(rule, ("action",)), _node_below(rule, ("match", "ip"))
            if action is None or not _value_words(action):
                yield path, rule.line, "it has no action"
            ports = {child.key[0] for child in _named_children(match)} & {*_WITH_PORTS}
            protocol = _node_below(match, ("protocol",)) if match and ports else None
            words = _value_words(protocol) if protocol else frozenset()
            if protocol and words and words <= {*_WITH_PORTS} - ports:
                what = f"no packet of {min(words)} has ports of {min(ports)}"
                yield f"{path}/match", protocol.line, what


def _named_children(node: Node | None) -> list[Node]:
    """Return what stands below a node, without items of lists that have no key."""
    return [child for child in (node.children if node else None) or () if child.key]


def _unused_profiles(tree: _Tree) -> Iterator[tuple[str, int, str]]:
    """Yield profiles of quality of service that apply to no port, and those of PFC that name no priority."""
    maps = {names[0]: node for names, node in tree.find_nodes("qos/mapping/*")}
    bound = {
        word for _, node in tree.find_nodes("interface/*/qos/mapping/profile") for word in _value_words(node)
    }
    for name, node in maps.items() if GLOBAL not in maps else ():
        if name not in bound:
            yield f"qos/mapping/{name}", node.line, "no port uses it"
    for kind in _FOR_ALL_PORTS:
        for (name,), node in tree.find_nodes(f"qos/{kind}/*"):
            if name != GLOBAL:
                yield f"qos/{kind}/{name}", node.line, f"only {GLOBAL} applies to ports"
    for (name,), node in tree.find_nodes("qos/pfc/*/switch-priority"):
        if not node.children:
            yield f"qos/pfc/{name}", node.line, "it names no priority"


def _value_words(node: Node) -> frozenset[str]:
    """Return what a key has for its value, or below it."""
    return frozenset([*node.key[1:], *(child.key[0] for child in node.children or () if child.key)])


class _Tree:
    """The tree of one file, where a key with ranges stands for each name in it."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._named: dict[Keys, dict[str, list[Node]]] = {}

    def holds(self, need: Need, names: Keys) -> bool:
        """Return whether what is needed is there for what `*` stands for."""
        if need.unless and not any(self.find_nodes(need.unless, names)):
            return True
        return any(
            need.holds & words if need.holds else words
            for path in need.at
            for _, node in self.find_nodes(path, names)
            for words in (_value_words(node),)
        )

    def find_nodes(self, path: str, names: Keys = ()) -> Iterator[tuple[Keys, Node]]:
        """Yield the nodes at a path and what its `*` stands for there: the name given, or any."""
        keys = tuple(path.split("/"))
        if ANY not in keys:
            if (node := _node_below(self.root, keys)) is not None:
                yield (), node
            return
        place = keys.index(ANY)
        known = self._by_name(keys[:place])
        for name in names or known:
            for child in known.get(name, ()):
                if (node := _node_below(child, keys[place + 1 :])) is not None:
                    yield (name,), node

    def _by_name(self, path: Keys) -> dict[str, list[Node]]:
        """Return the nodes below a path by the names that their keys stand for."""
        known = self._named.get(path)
        if known is None:
            known = self._named[path] = {}
            above = _node_below(self.root, path)
            for node in (above.children if above else None) or ():
                for name in expand_members(node.key[0]) if node.key else ():
                    known.setdefault(name, []).append(node)
        return known


def _node_below(node: Node, path: Keys) -> Node | None:
    """Return the node at a path below one."""
    for key in path:
        for child in node.children or ():
            if child.key and child.key[0] == key:
                node = child
                break
        else:
            return None
    return node
