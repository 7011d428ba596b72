"""Statements of NVUE that others make ineffective: types of ports, logins, ports of services, policy routing.

The words are those of NVIDIA's NVUE reference; a packet that no rule of `acl-default-whitelist` permits is dropped
(NVIDIA, "Firewall Rules").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.foreign.beyond import list_statements
from fabricc.back.nos.cumulus.foreign.port_qos import state_misspelled
from fabricc.back.nos.cumulus.services import ACCESS
from fabricc.back.nos.cumulus.words import (
    CONTROL_PLANE_LISTS,
    LOOPBACK,
    MANAGEMENT,
    MTU_RANGE,
    OWN_ACCOUNT,
    POLLING_RANGE_MS,
    ROBUSTNESS_RANGE,
)
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Reading

    _Words = tuple[str, ...]
    _Lines = Mapping[str, Mapping[_Words, int]]

_FRONT = re.compile(r"swp\d+(?:s\d+)?")
_PLAIN = re.compile(r"[\w.-]+")
_SSH, _API = ("system", "ssh-server"), ("system", "api")
_SSH_VRF = re.compile(r"ssh-server(?: vrf|:\s(?:\s+[\w-]+: [\w-]+\n)*\s+vrf:)")
_USER = ("system", "aaa", "user")
_AAA = ("system", "aaa")
_PROTOCOLS = ("tacacs", "radius")
_SERVERS = tuple((*_AAA, protocol) for protocol in (*_PROTOCOLS, "ldap"))
_OPENED = ("22", "80", "179", "443", "8765", "9339")
"""Ports of services that the default list opens."""
_LOGINS = frozenset({"22", "ssh", "443", "https", "8765"})
"""Ports of SSH and the API, about which lists for administrators are."""
_SSH_PORTS, _TCP = frozenset({"22", "ssh", "ANY"}), frozenset({"tcp", "6", "ANY"})
_EVERY_SOURCE = frozenset({"ANY", "any", "0.0.0.0/0", "::/0"})
_WHITELIST = CONTROL_PLANE_LISTS[1]
_PORT = ("match", "ip", "tcp", "dest-port")
_ROUTER_ID = ("router", "bgp", "router-id")
_NOBODY = "0.0.0.0"


def state_idle(text: str, file: str, reading: Reading) -> None:
    """Add a fact for each statement without effect; no plan has one."""
    for start, subject, why in _impossible_values(text):
        if (path := f"unread[{subject}]") not in reading.facts:
            reading.put(path, why, file, text.count("\n", 0, start) + 1)
    unread = [(each[0], each[1], each[2].partition(":")[0].strip(" '-")) for each in reading.unknown]
    state_misspelled(reading, (each for each in unread if each[0] == file), _KEYS)
    finders = [find for words, find in _FINDERS if any(word in text for word in words)]
    if text.count("router-id") > 1 or _ZERO.search(text):
        finders.append(_find_identifiers)
    if _MANY_PATHS.search(text):
        finders.append(_find_paths)
    guarded = ("acl" in text and "dest-port" in text) or _SSH_VRF.search(text)
    if not finders and not guarded:
        return
    lines: dict[str, dict[_Words, int]] = {}
    for node in list_statements(text):
        if node.key:
            lines.setdefault(node.key[0], {}).setdefault(node.key, node.line)
    for find in finders:
        for subject, why, line in find(lines):
            if (path := f"unread[{subject}]") not in reading.facts:
                reading.put(path, why, file, line)
    if guarded:
        _state_guards(lines, file, reading)


def _select(lines: _Lines, *start: str) -> Iterator[tuple[_Words, int]]:
    """Yield what follows some words, and the line."""
    for words, line in lines.get(start[0], {}).items():
        if words[: len(start)] == start and len(words) > len(start):
            yield words[len(start) :], line


def _find_types(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    bonds = {words[0] for words, _ in _select(lines, "interface") if words[1:2] == ("bond",)}
    for words, line in _select(lines, "interface"):
        if words[1:] == ("type", "bond") and _FRONT.fullmatch(words[0]) and words[0] not in bonds:
            yield f"type bond of {words[0]}", "the name is that of a port, and it has no members", line
        if words[1:] == ("type", "swp") and words[0].startswith("swp") and not _FRONT.fullmatch(words[0]):
            yield f"interface {words[0]}", "no port has such a name", line


def _find_logins(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield lists of who may log in over SSH that leave accounts of the switch without their purpose."""
    allowed = {words[0]: line for words, line in _select(lines, *_SSH, "allow-users")}
    denied = {words[0]: line for words, line in _select(lines, *_SSH, "deny-users")}
    accounts = {words[0] for words, _ in _select(lines, *_USER)} | {OWN_ACCOUNT}
    keyed = {words[0] for words, _ in _select(lines, *_USER) if words[1:3] == ("ssh", "authorized-key")}
    others = any(
        words[:3] in _SERVERS for words in lines.get(_AAA[0], ())
    )  # accounts of servers are not in the file
    if keyed and not others and accounts.isdisjoint(allowed) and all(map(_PLAIN.fullmatch, allowed)):
        for line in [*allowed.values()][:1]:
            yield "ssh-server allow-users", "no account of the switch is among them", line
    for name in sorted(keyed & {*denied}):
        yield f"the SSH key of {name}", "the SSH server denies the account", denied[name]


def _find_servers(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield servers for logins without a secret, whichever key of the release names them."""
    for protocol in _PROTOCOLS:
        above = (*_AAA, protocol)
        servers: dict[str, list[tuple[_Words, int]]] = {}
        for words, line in _select(lines, *above, "server"):
            servers.setdefault(words[0], []).append((words[1:], line))
        for words, line in _select(lines, *above, "enable") if servers else ():
            if words[-1] in _OFF:
                yield f"{protocol} servers", "logins ask none of them", line
        if any(words[0] == "secret" for words, _ in _select(lines, *above)):
            continue
        for name, stated in servers.items():
            if not any(words[:1] == ("secret",) for words, _ in stated):
                host = next((words[1] for words, _ in stated if words[:1] == ("host",) and words[1:]), name)
                yield f"{protocol} server {host}", "it has no secret", stated[0][1]


def _find_services(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield other ports of SSH and the API that no list opens before the default one drops the rest."""
    bound = {words[0] for words, _ in _select(lines, "system", "control-plane", "acl") if "inbound" in words}
    if _WHITELIST not in bound:
        return
    opened = {*_OPENED}
    for name in bound - {*CONTROL_PLANE_LISTS}:
        rules: dict[str, list[_Words]] = {}
        for words, _ in _select(lines, "acl", name, "rule"):
            rules.setdefault(words[0], []).append(words[1:])
        for rule in rules.values():
            if ("action", "permit") in (words[:2] for words in rule):
                ports = {words[4] for words in rule if words[:4] == _PORT and len(words) > 4}
                if not ports or not all(map(is_number, ports)):
                    return  # a rule about more than single ports
                opened |= ports
    for what, above in (("ssh-server", _SSH), ("api", _API)):
        for words, line in _select(lines, *above, "port"):
            if is_number(words[0]) and words[0] not in opened:
                yield f"{what} port {words[0]}", f"no access list opens it before {_WHITELIST}", line


def _state_guards(lines: _Lines, file: str, reading: Reading) -> None:
    """State who reaches SSH: in the VRF of the fabric, and through lists with names that no plan has."""
    for words, line in _select(lines, *_SSH, "vrf"):
        if words[:1] == ("default",):
            reading.put("management/open[SSH]", "default", file, line)
    bound: dict[str, list[tuple[_Words, int]]] = {}
    for above in (("system", "control-plane"), ("interface", MANAGEMENT)):
        for words, line in _select(lines, *above, "acl"):
            bound.setdefault(words[0], []).append((words, line))
    used = {words[2] for words in lines.get("interface", ()) if words[2:3] and words[1] == "acl"} | {*bound}
    for name in dict.fromkeys(words[0] for words, _ in _select(lines, "acl")):
        rules: dict[int, list[tuple[_Words, int]]] = {}
        for words, line in _select(lines, "acl", name, "rule"):
            if is_number(words[0]):
                rules.setdefault(int(words[0]), []).append((words[1:], line))
        ports = {words[-1] for rule in rules.values() for words, _ in rule if "dest-port" in words}
        if name.startswith(ACCESS) or ports.isdisjoint(_LOGINS):
            continue
        first = min(line for rule in rules.values() for _, line in rule)
        inbound = any("inbound" in words for words, _ in bound.get(name, ()))
        if name not in used:
            reading.put(f"unread[acl/{name}]", "neither a port nor the control plane names it", file, first)
        elif name in bound and not inbound:
            reading.put(f"unread[acl/{name}]", "it filters what leaves the port", file, bound[name][0][1])
        elif inbound and "management/access" not in reading.facts:
            value, place = _reached_by([rules[number] for number in sorted(rules)])
            reading.put("management/access", value, file, place or first)


def _reached_by(rules: list[list[tuple[_Words, int]]]) -> tuple[str, int]:
    """Return who reaches SSH through a list, and the line by which everyone does, or of the first one; 0 for none."""
    sources: dict[str, int] = {}
    for rule in rules:
        words = dict(rule)
        ports = {each[-1] for each in words if "dest-port" in each}
        protocols = {each[-1] for each in words if each[-2:-1] == ("protocol",)} or {"tcp"}
        if (ports and ports.isdisjoint(_SSH_PORTS)) or protocols.isdisjoint(_TCP):
            continue
        action = next((each[1] for each in words if each[0] == "action" and each[1:]), "")
        named = {each[-1]: line for each, line in words.items() if each[-2:-1] == ("source-ip",)}
        if not named or not _EVERY_SOURCE.isdisjoint(named):
            if action == "permit":
                return "0.0.0.0/0", next(iter(named.values()), rule[-1][1])
            return ",".join(sources), next(iter(sources.values()), 0)
        if action == "permit":
            sources |= named
    return ",".join(sources) + ", and everyone else", next(iter(sources.values()), 0)


def _find_policy_routing(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield maps of policy routing that are not defined, or lead to a group that is not."""
    maps = {words[0] for words, _ in _select(lines, "router", "pbr", "map")}
    groups = {word for words in lines.get("router", ()) if "nexthop" in "".join(words[1:2]) for word in words}
    for words, line in _select(lines, "router", "pbr", "map"):
        match words:
            case (name, "rule", _, "action", "nexthop-group", group, *_) if group not in groups:
                yield f"pbr map {name}", f"the next-hop group {group} is not defined", line
    for words, line in _select(lines, "interface"):
        match words:
            case (_, "router", "pbr", "map", name, *_) if name not in maps:
                yield f"pbr map {name}", "no map has this name", line


def _find_identifiers(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield identifiers of zero, which no router has (RFC 6286), and one of the default VRF that no address backs."""
    stated: dict[_Words, tuple[str, int]] = {}
    for words, line in (*lines.get("router", {}).items(), *lines.get("vrf", {}).items()):
        if words[:-1] == _ROUTER_ID or (words[0] == "vrf" and words[2:-1] == _ROUTER_ID):
            stated[words[:-1]] = words[-1], line
            if words[-1] == _NOBODY:
                yield f"router-id {_NOBODY}", "no router has this identifier (RFC 6286)", line
    own, inner = stated.get(_ROUTER_ID), stated.get(("vrf", "default", *_ROUTER_ID))
    if own and inner and inner[0] not in (own[0], _NOBODY):
        addresses = {
            (words[0], words[-1].partition("/")[0])
            for words, _ in _select(lines, "interface")
            if "address" in words
        }
        if (LOOPBACK, own[0]) in addresses and inner[0] not in {address for _, address in addresses}:
            yield (
                "router bgp router-id",
                f"the default VRF has {inner[0]}, no address of the switch",
                inner[1],
            )


_KEYS = frozenset({
    "access", "action", "address", "address-family", "autonomous-system", "breakout", "bridge", "bw-percent",
    "cable-length", "community-list", "congestion-control", "connected", "dest-port", "dscp",
    "egress-queue-mapping", "egress-scheduler", "enable", "flooding", "gateway", "inbound", "ip-prefix-list",
    "keepalive", "mapping", "match", "max-threshold", "memory-percent", "min-threshold", "multipaths", "neighbor",
    "outbound", "password", "peer-group", "policy", "port-buffer", "prefix-list", "probability", "profile",
    "protocol", "redistribute", "remote-as", "route-map", "route-target", "router", "router-id", "server", "source",
    "source-ip", "speed", "static", "switch-priority", "traffic-class", "traffic-pool", "trust", "unnumbered",
    "xoff-threshold", "xon-threshold",
})  # fmt: skip
"""Keys of many files, which a misspelled key may be meant for."""
_OFF = ("off", "disabled")
_EVPN = "l2vpn-evpn"


def _find_tunnels(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield what turns EVPN or VXLAN off while the rest of the file uses it."""
    sessions = [words for words, _ in _select(lines, "vrf", "default", "router", "bgp") if _EVPN in words]
    active = any(words[0] != "address-family" and words[-1] not in _OFF for words in sessions)
    tunnels = any(words[0] == "source" for words, _ in _select(lines, "nve", "vxlan"))
    for above in (("evpn",), ("nve", "vxlan")):
        for words, line in _select(lines, *above):
            if words[0] in ("enable", "state") and words[-1] in _OFF and (active or tunnels):
                yield " ".join((*above, *words)), "the sessions and the tunnels of the file need it", line
    family = ("vrf", "default", "router", "bgp", "address-family", _EVPN)
    for words, line in _select(lines, *family) if active else ():
        if words[0] in ("enable", "state") and words[-1] in _OFF:
            yield f"{_EVPN} {' '.join(words)}", "sessions of the file carry this family", line
    numbered = {words[0] for words, _ in _select(lines, "vrf") if words[1:3] == ("evpn", "vni")}
    for words, line in _select(lines, "vrf"):
        if words[1:3] == ("evpn", "enable") and words[-1] in _OFF and words[0] in numbered:
            yield f"evpn of {words[0]}", "it is off, and the VRF has a VNI", line
    carried = [
        line
        for words, line in _select(lines, "vrf", "default", "router", "bgp")
        if _EVPN in words and words[0] != "address-family" and words[-1] not in _OFF
    ]
    if carried and not any(_select(lines, *family)):
        yield f"{_EVPN} of the sessions", "the VRF has no such family", carried[0]
    elif carried and tunnels and not any(_select(lines, "evpn")):
        yield f"{_EVPN} of the sessions", "evpn is not enabled", carried[0]


def _find_gateways(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield virtual addresses of gateways that are those of the switch itself, or that VRR does not serve."""
    virtual = {
        (words[0], words[4]): line
        for words, line in _select(lines, "interface")
        if words[1:4] == ("ip", "vrr", "address") and words[4:]
    }
    for words, line in _select(lines, "router", "vrr"):
        if virtual and words[-1] in _OFF:
            yield "router vrr", "gateways of VLANs need it", line
    for words, line in _select(lines, "interface"):
        if words[1:3] == ("ip", "address") and (words[0], words[3]) in virtual:
            yield f"vrr of {words[0]}", f"the switch has {words[3]} itself", line


def _find_pairs(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield what turns MLAG off while bonds of the file are those of a pair."""
    bonds = [words for words, _ in _select(lines, "interface") if words[1:4] == ("bond", "mlag", "id")]
    for words, line in _select(lines, "mlag"):
        if bonds and words[0] in ("enable", "state") and words[-1] in _OFF:
            yield f"mlag {' '.join(words)}", "bonds of the pair need it", line


def _find_vrfs(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield VRFs of ports that are nowhere defined."""
    defined = {words[1] for words in lines.get("vrf", ()) if words[1:]} | {"default", "mgmt"}
    for words, line in _select(lines, "interface"):
        if words[1:3] == ("ip", "vrf") and words[3:] and words[3] not in defined:
            yield f"vrf {words[3]}", "no VRF has this name", line


def _find_misplaced(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield keys of ports, VRFs, groups and neighbors that stand a level too high."""
    for words, line in (*lines.get("interface", {}).items(), *lines.get("vrf", {}).items()):
        of_session = words[2:4] == ("router", "bgp") and words[4:5] in _SESSIONS
        at, kind = (6, "session") if of_session else (2, words[0])
        if words[at:] and (below := _PLACES[kind].get(words[at])):
            yield f"{words[at]} of {words[at - 1]}", f"it stands below {below}", line


def _find_paths(lines: _Lines) -> Iterator[tuple[str, str, int]]:
    """Yield numbers of paths that no release takes."""
    for words, line in lines.get("vrf", {}).items():
        if "multipaths" in words and is_number(words[-1]) and int(words[-1]) > _MOST_PATHS:
            yield " ".join(words[-3:]), f"NVUE takes {_MOST_PATHS} paths at most", line


def _impossible_values(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the places of numbers that NVUE rejects, and of prefixes that are longer than an address."""
    for match in _NUMBERS.finditer(text):
        low, high = _RANGES[match[1]]
        if not low <= int(match[2]) <= high:
            yield match.start(), f"{match[1]} {match[2]}", f"NVUE takes {low:,} to {high:,}"
    for match in _PREFIX.finditer(text):
        if int(match[2]) > (32 if "." in match[1] else 128):
            yield match.start(), match[0], "an address has fewer bits"


_PREFIX = re.compile(r"(?<![\w.:])(\d+\.\d+\.\d+\.\d+|[\da-f]*:[\da-f]*:[\da-f:]*)/(\d{2,9})(?![\w/])")
_RANGES = {
    "mtu": MTU_RANGE, "switch-priority": (0, 7), "traffic-class": (0, 7), "port-default-sp": (0, 7), "dscp": (0, 63),
    "memory-percent": (0, 100), "bw-percent": (0, 100), "probability": (0, 100), "max-prefix-len": (0, 128),
    "min-prefix-len": (0, 128), "detect-multiplier": (2, 255), "min-rx-interval": (50, 60_000),
    "min-tx-interval": (50, 60_000), "polling-interval": POLLING_RANGE_MS, "robustness": ROBUSTNESS_RANGE,
    "lanes-per-port": (1, 8),
}  # fmt: skip
"""Key -> the least and the largest number that NVUE's object model has for it."""
_NUMBERS = re.compile(rf"(?<![\w-])({'|'.join(_RANGES)})['\"]?(?::[^\S\n]+| )['\"]?(\d{{1,9}})(?![\w.-])")
_MANY_PATHS = re.compile(r"\b[ei]bgp:? ['\"]?\d{3,}\b")
_MOST_PATHS = 256
_ZERO = re.compile(r"router-id:? ['\"]?0\.0\.0\.0")
_PLACES = {
    "interface": {
        **dict.fromkeys(("mtu", "speed", "fec", "auto-negotiate", "breakout", "state"), "link"),
        **dict.fromkeys(("address", "gateway", "vrr"), "ip"),
        **dict.fromkeys(("pfc", "congestion-control", "pfc-watchdog"), "qos"),
    },
    "vrf": dict.fromkeys(("bgp", "ospf", "static", "neighbor", "peer-group"), "router"),
    "session": dict.fromkeys(("policy", "prefix-limits", "aspath", "route-map"), "address-family"),
}
"""Kind of a node -> key -> the key below it that the former belongs to."""
_SESSIONS = (("neighbor",), ("peer-group",))
_FINDERS = (
    (("bond", "swp"), _find_types),
    (("allow-users", "deny-users"), _find_logins),
    (_PROTOCOLS, _find_servers),
    ((" port:", " port "), _find_services),
    ((" pbr",), _find_policy_routing),
    (("evpn", "nve"), _find_tunnels),
    (("vrr",), _find_gateways),
    (("mlag",), _find_pairs),
    (("vrf",), _find_vrfs),
    (("interface", "vrf"), _find_misplaced),
)
"""Words of which a text has one where a function may find a fault, and the function."""
