"""Turns Junos text into the XML that Juniper's YANG models describe, so that a schema can judge it.

Text does not mark which words are keys and which are values, so the tables below do, for the product's output. A word
that they do not know becomes an element of its own, which the models then refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from fabricc.back.reading.tree import braces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.back.reading import tree

# Lists with the key `name`, by the last elements of their path.
LISTS = {
    "login/user", "system/name-server", "ntp/server", "ntp/authentication-key", "syslog/host", "syslog/file",
    "tlsdetails/trusted-ca-group", "pki/ca-profile",
    "chassis/fpc", "fpc/pic", "pic/port", "root-authentication/ssh-ed25519", "authentication/ssh-ed25519",
    "authentication/ssh-rsa", "root-authentication/ssh-rsa", "interface/unit", "inet/address", "inet6/address",
    "policy-options/route-filter-list", "from/route-filter-list", "policy-options/policy-statement",
    "policy-statement/term", "policy-options/community", "policy-options/as-list", "classifiers/dscp",
    "dscp/forwarding-class", "forwarding-class/loss-priority", "class-of-service/drop-profiles",
    "ingress/buffer-partition", "egress/buffer-partition", "forwarding-classes/class",
    "class-of-service/congestion-notification-profile", "dscp/code-point", "ieee-802.1/code-point",
    "class-of-service/scheduler-maps", "scheduler-maps/forwarding-class", "class-of-service/schedulers",
    "routing-options/rib", "static/route", "aggregate/route", "router-advertisement/interface", "bgp/group",
    "group/neighbor", "group/dynamic-neighbor", "peer-auto-discovery/interface", "lldp/interface",
    "system/tacplus-server", "system/radius-server", "snmp/community", "community/routing-instance", "filter/term",
    "from/source-address",
    "local-engine/user", "security-to-group/security-model", "security-model/security-name", "access/group",
    "default-context-prefix/security-model", "security-model/security-level", "snmp/view", "view/oid",
    "v3/target-address", "v3/target-parameters", "v3/notify",
    "instance/interface",
}  # fmt: skip
# Lists whose own name Junos does not print.
HIDDEN_LISTS = {
    "configuration/interfaces": "interface",
    "class-of-service/interfaces": "interface",
    "configuration/routing-instances": "instance",
}
VALUES = {
    "host-name", "class", "routing-instance", "root-login", "maximum-ecmp", "number-of-sub-ports", "speed",
    "description", "mtu", "fec", "protocol", "members", "code-points", "fill-level", "drop-probability", "percent",
    "dynamic-threshold", "pfc-priority", "queue-num", "poll-interval", "detection", "recovery", "watchdog-action",
    "cable-length", "mru", "xon", "flow-control-queue", "congestion-notification-profile", "scheduler-map",
    "scheduler", "priority", "next-hop", "router-id", "export", "import", "hold-time", "type", "maximum",
    "peer-as-list", "minimum-interval", "multiplier", "peer-as", "port-id-subtype", "next",
    "secret", "authentication-order", "events", "port", "local-certificate", "location", "contact", "authorization",
    "advertisement-interval", "transmit-delay", "inactivity-interval", "ttl", "ttl-except", "hop-limit-except",
    "next-header", "destination-port", "source-port", "max-advertisement-interval", "min-advertisement-interval",
    "authentication-key", "forwarding-class", "group", "read-view", "authentication-password", "privacy-password",
    "instance-type", "key", "value", "trusted-key", "encrypted-password",
    "prob-threshold", "quality-delta", "message", "advertise", "encapsulation", "transport",
    "ca-profiles", "ca-identity", "notify-view", "address", "tag", "tag-list", "target-parameters", "security-model",
    "security-level", "security-name", "message-processing-model", "vni", "local-address",
}  # fmt: skip
# Containers whose value stands without a word of its own.
WORDLESS = {
    "hash-seed": "seed-value",
    "autonomous-system": "as-number",
    "then/local-preference": "local-preference",
    "filter/input": "filter-name",
    "route-distinguisher": "rd-type",
    "vrf-target": "community",
}
FACILITIES = {"any", "authorization"}


class Node:
    """One word below the words before it."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.children: dict[str, Node] = {}

    def below(self, word: str) -> Iterator[Node]:
        return iter(self.children[word].children.values() if word in self.children else ())

    def add(self, nodes: Sequence[tree.Node]) -> Node:
        for node in nodes:
            end = self
            for word in node.key:
                end = end.children.setdefault(word, Node(word))
            end.add(node.children or ())
        return self


def as_xml(text: str, namespace: str, sections: set[str]) -> str:
    """The top-level `sections` of the configuration as XML under `namespace` (`…/conf`)."""
    root = Element("configuration", xmlns=f"{namespace}/root")
    for node in Node("").add(braces(text).nodes).children.values():
        if node.word in sections:
            top = SubElement(root, node.word, xmlns=f"{namespace}/{node.word}")
            _fill_element(top, node, "configuration", top)
    return tostring(root, encoding="unicode")


def _fill_element(element: Element, node: Node, above: str, parent: Element) -> None:
    """Fill `element`, which stands for `node`, from the words below it."""
    path = f"{above}/{node.word}"
    if path in HIDDEN_LISTS:
        for child in node.children.values():
            _fill_entry(SubElement(element, HIDDEN_LISTS[path]), child, HIDDEN_LISTS[path])
        return
    for child in node.children.values():
        _add_child(element, child, node.word)


def _add_child(parent: Element, node: Node, above: str) -> None:
    path = f"{above}/{node.word}"
    if path in LISTS or (node.word == "filter" and "input" not in node.children):
        for key in node.children.values():
            _fill_entry(SubElement(parent, node.word), key, node.word)
    elif node.word in FACILITIES and above in ("host", "file"):
        contents = SubElement(parent, "contents")
        SubElement(contents, "name").text = node.word
        for level in node.children:
            SubElement(contents, level)
    elif node.word == "drop-profile-map":
        _drop_profile_map(SubElement(parent, node.word), node)
    elif path == "then/community":
        for name in node.below("add"):
            added = SubElement(parent, "community")
            SubElement(added, "choice-ident").text = "add"
            SubElement(added, "choice-value")
            SubElement(added, "community-name").text = name.word
    elif (wordless := WORDLESS.get(path) or WORDLESS.get(node.word)) is not None:
        container = SubElement(parent, node.word)
        for value in node.children:
            SubElement(container, wordless).text = value
    elif node.word in VALUES or path in ("from/community", "from/family", "from/policy"):
        for value in node.children:
            SubElement(parent, node.word).text = value
    else:
        _fill_element(SubElement(parent, node.word), node, above, parent)


def _fill_entry(entry: Element, key: Node, name: str) -> None:
    SubElement(entry, "name").text = key.word
    for child in key.children.values():
        if name == "route-filter-list":
            _route_filters(entry, key)
            return
        _add_child(entry, child, name)


def _route_filters(entry: Element, filters: Node) -> None:
    for prefix in filters.children.values():
        for kind in prefix.children.values():
            for value in kind.children or [""]:
                found = SubElement(entry, "rf_list")
                SubElement(found, "address").text = prefix.word
                SubElement(found, "choice-ident").text = kind.word
                SubElement(found, "choice-value").text = value


def _drop_profile_map(element: Element, node: Node) -> None:
    """A list with two keys, all on one line: words and values take turns."""
    while node.children:
        word = next(iter(node.children.values()))
        node = next(iter(word.children.values()))
        SubElement(element, word.word).text = node.word
