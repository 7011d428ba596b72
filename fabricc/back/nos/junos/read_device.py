"""Reads the device around its ports: system, chassis, load balancing and the management instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import (
    DYNAMIC,
    KEY_STATEMENTS,
    MANAGEMENT_INSTANCE,
    MANAGEMENT_INTERFACES,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.back.nos.junos.tree import Node
    from fabricc.fabric.facts import Value

    Put = Callable[[str, Value, int], None]

_INSTANCE = ("routing-instance", MANAGEMENT_INSTANCE)


def read_device(root: Node, put: Put) -> None:
    """State the facts of everything that is neither port, policy, routing nor class of service."""
    if name := root.value("system", "host-name"):
        put("system/hostname", *name)
    _accounts(root, put)
    _services(root, put)
    _servers(root, put)
    _management(root, put)
    if ecmp := root.number("chassis", "maximum-ecmp"):
        put("bgp/maximum_paths", *ecmp)
    if line := root.flag("chassis", "fpc", "0", "traffic-manager", "buffer-monitor-enable"):
        put("platform/buffer_monitor", "true", line)
    _balancing(root, put)


def _balancing(root: Node, put: Put) -> None:
    hashing = root.get("forwarding-options", "enhanced-hash-key")
    if hashing is None:
        return
    if seed := hashing.number("hash-seed"):
        put("platform/hash_seed", *seed)
    for mode, word in DYNAMIC.items():
        if node := hashing.get("ecmp-dlb", word):
            idle = node.number("inactivity-interval")
            if idle:
                put("load_balancing/flowlet_idle_us", *idle)
            if line := node.take() or (idle[1] if idle else 0):
                put("load_balancing/mode", mode.value, line)


def _accounts(root: Node, put: Put) -> None:
    if root_key := _key(root.get("system", "root-authentication")):
        put("platform/root_ssh_key", *root_key)
    for user in root.below("system", "login", "user"):
        if role := user.value("class"):
            put(f"user[{user.word}]/role", *role)
        if key := _key(user.get("authentication")):
            put(f"user[{user.word}]/ssh_key", *key)


def _key(node: Node | None) -> tuple[str, int] | None:
    """The one SSH key below a node, when it stands under the word for its kind."""
    for child in node.children.values() if node else ():
        if child.word not in KEY_STATEMENTS.values():
            continue
        for key in child.children.values():
            if KEY_STATEMENTS.get(key.word.partition(" ")[0]) == child.word and (line := key.take()):
                return key.word, line
    return None


def _services(root: Node, put: Put) -> None:
    if login := root.value("system", "services", "ssh", "root-login"):
        put("platform/root_login", *login)
    if line := root.flag("system", "services", "ssh"):
        put("platform/ssh", "true", line)
    if line := root.flag("system", "services", "netconf", "ssh"):
        put("platform/netconf", "ssh", line)
    if line := root.flag("system", "management-instance"):
        put("platform/management_instance", "true", line)
    for log in root.below("system", "syslog", "file"):
        for facility in log.children.values():
            for level, line in log.values(facility.word):
                put(f"platform/log[{log.word}]/{facility.word}", level, line)


def _servers(root: Node, put: Put) -> None:
    ntp = [(s.word, s.flag(*_INSTANCE)) for s in root.below("system", "ntp", "server")]
    dns = [(s.word, s.flag(*_INSTANCE)) for s in root.below("system", "name-server")]
    syslog = []
    for host in root.below("system", "syslog", "host"):
        level = host.value("any")
        if level and host.flag(*_INSTANCE):
            syslog.append((host.word, level[1]))
            put(f"platform/syslog[{host.word}]/any", *level)
    for kind, servers in (("ntp", ntp), ("dns", dns), ("syslog", syslog)):
        found = [(server, line) for server, line in servers if line]
        if found:
            put(f"management/{kind}", ",".join(sorted(server for server, _ in found)), found[-1][1])


def _management(root: Node, put: Put) -> None:
    for name in MANAGEMENT_INTERFACES.values():
        for family in ("inet", "inet6"):
            if address := root.value("interfaces", name, "unit", "0", "family", family, "address"):
                put("management/address", *address)
                put("platform/management_interface", name, address[1])
    options = ("routing-instances", MANAGEMENT_INSTANCE, "routing-options")
    tables = ((), ("rib", f"{MANAGEMENT_INSTANCE}.inet6.0"))
    for table, default in zip(tables, ("0.0.0.0/0", "::/0"), strict=True):
        if gateway := root.value(*options, *table, "static", "route", default, "next-hop"):
            put("management/gateway", *gateway)
