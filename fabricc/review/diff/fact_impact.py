"""Rate a changed fact: which way it goes, and what the vocabulary declares for that on the system of the device.

The vocabulary declares an impact for each direction. A direction is one of the operations `+`, `-` and `~`, or a word:
`less` (routes or a protection are lost), `leak` (routes pass that did not, or compete with the
fabric's own) and `far` (a figure is more than doubled or halved).
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.back.infiniband import device_reading
from fabricc.base.numbers import is_number, whole_number
from fabricc.fabric.infiniband import PLATFORM
from fabricc.facts.paths import first_key, first_word, path_pattern
from fabricc.review.diff.model import Impact, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Facts, Reading, Value
    from fabricc.fabric.vocabulary import Row, Vocabulary


OUTSIDE = "]/entry["
"""The key of a prefix-list entry by its network; its place has no effect if every entry permits."""
OUTSIDE_ROUTE = "outside"
"""The tag of routes to outside parties, which traffic between hosts does not need."""
_FROM_OUTSIDE = ("OUTSIDE-", "ACCEPT-", "STATIC-")
_BEYOND = (*_FROM_OUTSIDE, "AGGREGATES-")
"""Beginnings of the names of prefix lists about routes from and to outside parties."""
_DRAIN = "add_community 65535:0"
_FROM_ABOVE = "add_community 65000:1", "deny community_list FROM-ABOVE"
"""The mark of routes from above, and the clause that never sends them up again; see `fabric/routing_policy.py`."""
_ENTRY = re.compile(r"(?P<deny>deny )?(?P<network>\S+)(?: ge (?P<ge>\d+))?(?: le (?P<le>\d+))?")
_LIST = re.compile(r"(?<= prefix_list )\S+")
_ROUTE = path_pattern("(?:vrf[_]/)?static_route[*]")
_OWNER = path_pattern("evpn/(?:vrf|neighbor)[_]/")
_TERM = re.compile(r"\d+ (?:\S+ )?(?:accept|reject|next policy)")
_DISCARD = "discard"
_FAMILY = re.compile(r"-V[46]$")
_FACTOR = 2
_POLICIES = ("]/export", "]/import", "/redistribute_connected", "/redistribute_static")
_SEVERITIES = (
    "none", "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug", "any",
)  # fmt: skip
"""Severities of log lines as Junos names them, from the fewest lines to all."""
_OFF = ("false", "off", "disabled")


class DeviceStates(NamedTuple):
    """The facts of the device before and after.

    Attributes:
        pools: entries of the fabric's prefix lists that the newer spec plans; none where there is no plan.
    """

    before: Facts
    after: Facts
    pools: frozenset[str] = frozenset()


class Prefixes(NamedTuple):
    """The match of a prefix list entry: the prefixes in a network whose lengths are in a range."""

    network: ipaddress.IPv4Network | ipaddress.IPv6Network
    shortest: int
    longest: int
    permits: bool

    def covers(self, other: Prefixes) -> bool:
        """Return whether some prefix matches both."""
        if self.network.version != other.network.version or not self.network.overlaps(other.network):
            return False
        return self.shortest <= other.longest and other.shortest <= self.longest

    def covers_addresses(self, other: Prefixes) -> bool:
        """Return whether the network contains the other one."""
        same = self.network.version == other.network.version
        return (
            same
            and self.network.overlaps(other.network)
            and self.network.prefixlen <= other.network.prefixlen
        )


def change_direction(
    subject: str,
    before: Value | None,
    after: Value | None,
    sides: DeviceStates,
    row: Row,
) -> str:
    """Return the direction of a change: its operation, or a word of the module's first paragraph.

    Args:
        subject: the fact, its port by role.
        before: the value on the older side; None for none.
        after: the value on the newer side; None for none.
        sides: all facts of the device, for what an entry or clause refers to.
        row: what is declared of the fact.
    """
    impacts = row.impact
    operation = "+" if before is None else "-" if after is None else "~"
    name = first_word(subject)
    if name == "prefix_list" and "leak" in impacts:
        return _of_entry(subject, before, after, sides)
    if name == "route_map" and "leak" in impacts:
        upwards = tuple(
            subject.startswith((f"route_map[{each}-UPSTREAM]", f"route_map[{each}-PEER]"))
            for each in ("FROM", "TO")
        )
        clauses = str(before or ""), str(after or "")
        if upwards[0] and all(clauses) and _FROM_ABOVE[0] not in clauses[0]:
            clauses = clauses[0], clauses[1].replace(f" {_FROM_ABOVE[0]}", "")
        if upwards[1] and clauses == ("", _FROM_ABOVE[1]):
            return "+"
        return _of_clause(*clauses, sides)
    route = _ROUTE.match(subject)
    if route and "leak" in impacts:
        return _of_route(route, before, after, sides)
    if name.startswith("evpn/") and "less" in impacts and operation != "~":
        return (
            "less"
            if _has_overlay(subject, sides.before) and _has_overlay(subject, sides.after)
            else operation
        )
    if subject.endswith(_POLICIES) and operation == "~":
        # a system may divide a map by family
        renamed = _FAMILY.sub("", str(before)) == _FAMILY.sub("", str(after))
        same = _map_clauses(sides.before, before) == _map_clauses(sides.after, after)
        return operation if renamed or same else "less"
    if subject.endswith(
        _POLICIES[:2]
    ):  # a session that stays loses its policy, or gets one that it did not have
        return (
            "less" if _configured_sessions(sides.before) == _configured_sessions(sides.after) else operation
        )
    if name == "platform/policy" and "less" in impacts:
        alike = _default_action(before) == _default_action(after) and not _is_reordered(before, after)
        return operation if alike else "less"
    if subject.startswith("session[") and subject.endswith("]/enabled"):
        return "~" if after == "false" else "+"
    if operation == "~" and subject.endswith("]/enabled"):
        return "+" if after == "true" else operation
    if operation == "~" and subject.startswith("bgp/family["):
        return "+" if after == "on" else operation
    if "far" in impacts:
        return "far" if _is_far(before, after) else operation
    if "less" in impacts and _is_less(before, after):
        return "less"
    if "limit" in row.tags:
        return operation if after is None or _is_raised(before, after) else "less"
    return "less" if "safeguard" in row.tags and _is_off(before, after, row.type) else operation


def _has_overlay(subject: str, facts: Facts) -> bool:
    """Return whether a device has the VRF or the neighbor of a fact, or EVPN at all, apart from that fact."""
    owner = _OWNER.match(subject)
    beginning = owner[0].replace("evpn/neighbor", "bgp/neighbor") if owner else "evpn/"
    return any(path.startswith(beginning) and path != subject for path in facts)


def _of_entry(subject: str, before: Value | None, after: Value | None, sides: DeviceStates) -> str:
    """Return an entry of a prefix list: `-` and `less` for prefixes that it matches no longer."""
    name = first_key(subject) or subject
    old = None if before is None else _parse_prefixes(str(before))
    if old is not None and _is_gone(old, sides):
        return "+"
    if after is None:
        return "leak" if str(before).startswith("deny ") else "-"
    new = _parse_prefixes(str(after))
    if new is None:
        return "less"
    if not new.permits:
        return "less"
    if name.startswith(_FROM_OUTSIDE) and any(new.covers(own) for own in _own_prefixes(sides.before)):
        return "leak"
    planned = name.startswith(_BEYOND) or str(after) in sides.pools
    if before is None:
        known = any(path.startswith(f"prefix_list[{name}]/") for path in sides.before)
        return "+" if not known or planned else "leak"
    if old is None or not old.permits or not new.covers_addresses(old):
        return "-"
    if new.longest < old.longest or new.shortest > old.shortest:
        return "-"
    return "+" if planned else "leak"


def _is_gone(entry: Prefixes, sides: DeviceStates) -> bool:
    """Return whether an entry is about a loopback that the device has no longer."""
    before, after = (
        {str(value) for path, value in facts.items() if path.startswith("loopback/")} for facts in sides[:2]
    )
    return str(entry.network) in before - after


def _of_clause(before: str, after: str, sides: DeviceStates) -> str:
    """A clause of a route map: `less` for routes that it passes no longer, `leak` for those that it passes now."""
    if not after:
        return "leak" if before.startswith("deny") else "less"
    if not before:
        if after.startswith("deny"):
            return "less"
        lists = _LIST.findall(after)
        new = [name for name in lists if not _has_list(sides.before, name)]
        return "+" if lists and all(n in new or n.startswith(_BEYOND) for n in lists) else "leak"
    return "~" if _without_drain(before) == _without_drain(after) else "less"


def _without_drain(clause: str) -> str:
    return " ".join(clause.replace(_DRAIN, "").split())


def _has_list(facts: Facts, name: str) -> bool:
    return f"prefix_list[{name}]/0" in facts


def _configured_sessions(facts: Facts) -> set[str]:
    """Return the configured sessions."""
    return {path for path in facts if path.startswith("bgp/neighbor[") and path.endswith("]/remote_asn")}


def _map_clauses(facts: Facts, name: Value | None) -> list[Value]:
    """Return the clauses of a route map in order; two maps with the same clauses are one policy under two names."""
    beginning = f"route_map[{name}]/"
    found = {
        path.removeprefix(beginning): value for path, value in facts.items() if path.startswith(beginning)
    }
    numbers = sorted((int(key), value) for key, value in found.items() if is_number(key))
    return [value for _, value in numbers] or [str(name)]


def _of_route(key: re.Match[str], before: Value | None, after: Value | None, sides: DeviceStates) -> str:
    """Return the direction of a static route.

    `less`: it goes or leads nowhere. `leak`: it takes traffic from other routes, or leaves by a port or another VRF.
    """
    if before is not None:
        return "less"
    new = _parse_prefixes(key[1])
    if new is None:
        return "leak"
    taken = any(
        each.covers(new) or (each.network.overlaps(new.network) and each.shortest <= new.network.prefixlen)
        for each in (*_own_prefixes(sides.before), *_outside_prefixes(sides.before))
        if each.network.version == new.network.version
    )
    if taken:
        return "leak"
    if str(after) != _DISCARD:
        return "+" if all(map(_is_address, re.split(r"[ ,]+", str(after)))) else "leak"
    own = any(new.covers_addresses(each) for each in _device_networks(sides.after))
    pools = [
        each.network for each in _own_prefixes(sides.after) if each.network.version == new.network.version
    ]
    inside = any(pool.prefixlen <= new.network.prefixlen and pool.overlaps(new.network) for pool in pools)
    return "+" if own and inside else "leak"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _own_prefixes(facts: Facts) -> Iterator[Prefixes]:
    """Yield the prefixes of the fabric itself."""
    for path, value in facts.items():
        if path.startswith("prefix_list[FABRIC-") and (found := _parse_prefixes(str(value))):
            yield found


def _outside_prefixes(facts: Facts) -> Iterator[Prefixes]:
    """Yield the prefixes that are reached outside."""
    for path, value in facts.items():
        if path.startswith("prefix_list[OUTSIDE-") and (found := _parse_prefixes(str(value))):
            yield found


def _device_networks(facts: Facts) -> Iterator[Prefixes]:
    """Yield the networks of the device's ports and loopback, and of the fabric's prefix lists."""
    for path, value in facts.items():
        own = path.startswith(("interface[", "loopback/")) and path.endswith(("/ipv4", "/ipv6"))
        if own and (found := _parse_prefixes(str(value))):
            yield found
    yield from _own_prefixes(facts)


@lru_cache(1 << 12)
def _parse_prefixes(text: str) -> Prefixes | None:
    """Read an entry of a prefix list, or an address; None for what is neither."""
    match = _ENTRY.fullmatch(text)
    if match is None:
        return None
    try:
        network = ipaddress.ip_network(match["network"], strict=False)
    except ValueError:
        return None
    ge, le = whole_number(match["ge"] or ""), whole_number(match["le"] or "")
    shortest = network.prefixlen if ge is None else ge
    longest = le if le is not None else network.prefixlen if ge is None else network.max_prefixlen
    return Prefixes(network, shortest, longest, match["deny"] is None)


def _default_action(policy: Value | None) -> list[str] | None:
    """Return the action of a policy of terms for routes that its numbered terms (clauses) leave."""
    if policy is None:
        return None
    return [term for term in str(policy).split("; ") if not _TERM.fullmatch(term)]


def _is_reordered(before: Value | None, after: Value | None) -> bool:
    """Return whether terms that both policies have come in another order, so another one decides first."""
    old, new = ([*str(policy).split("; ")] if policy is not None else [] for policy in (before, after))
    return [term for term in old if term in new] != [term for term in new if term in old]


def _is_far(before: Value | None, after: Value | None) -> bool:
    if after is None or before is None:
        return after is None
    if not (is_number(str(before)) and is_number(str(after))):
        return True
    old, new = int(before), int(after)
    return max(old, new) > _FACTOR * min(old, new)


def _is_raised(before: Value | None, after: Value | None) -> bool:
    """Return whether a limit is higher than before; a new one may be below the default."""
    old, new = str(before).rpartition(" "), str(after).rpartition(" ")
    return old[0] == new[0] and is_number(old[2]) and is_number(new[2]) and int(new[2]) > int(old[2])


def _is_off(before: Value | None, after: Value | None, kind: str | tuple[str, ...]) -> bool:
    """Return whether a safeguard is gone, off or does something else, or a list of servers is without one of them."""
    if not isinstance(kind, str) and before in kind and after not in kind:
        return True
    if before is None or after is None:
        return after is None or after in _OFF
    return after in _OFF or (kind == "addresses" and _is_less(before, after))


def _is_less(before: Value | None, after: Value | None) -> bool:
    """Return whether a protection is gone, off, lower, or covers fewer things of a list."""
    if before is None or after is None:
        return after is None or after == "false"
    old, new = str(before), str(after)
    if is_number(old) and is_number(new):
        return int(new) < int(old)
    if old in _SEVERITIES and new in _SEVERITIES:
        return _SEVERITIES.index(new) < _SEVERITIES.index(old)
    if {old, new} <= {"true", "false"}:
        return new == "false"
    return not set(re.split(r"[ ,]+", old)) <= set(re.split(r"[ ,]+", new))


UNUSED = "interface[unused]"
_ADDRESS = re.compile(r"/(ipv[46]|secondary\[|gateway\[)")
"""Addresses that a switch answers itself, on an interface without a cable too, such as a loopback or a VLAN."""
_RESETS = (Impact.SESSION_RESET, Impact.RELOAD)


@cache
def vocabulary_of(nos: str) -> Vocabulary:
    """Return the facts of devices of a NOS (`host` for hosts)."""
    if nos == PLATFORM:
        return device_reading.vocabulary()
    return hosts.vocabulary() if nos == "host" else back_ends.load_vocabulary(nos)


def read_files(nos: str, files: Mapping[str, str]) -> Reading:
    """Return what the files of a device state (`host` for hosts)."""
    if nos == PLATFORM:
        return device_reading.read_device(files)
    return hosts.read(files) if nos == "host" else back_ends.load(nos).read(files)


@lru_cache(1 << 14)
def row_of(subject: str, nos: str) -> Row:
    """Return what is declared of a subject: a fact whose port stands by its role, and whose neighbor is a session."""
    return vocabulary_of(nos).row(subject.replace("session[", "bgp/neighbor[", 1))


def is_access(subject: str, nos: str) -> bool:
    """Return whether a fact decides who can log in or change the device, or from where."""
    return "access" in row_of(subject, nos).tags


@lru_cache(1 << 14)
def judge_statement(subject: str, direction: str, nos: str) -> Verdict:
    """Return the impact of a statement on a NOS (`host` for hosts); see `change_direction`."""
    declared = row_of(subject, nos).impact
    role = first_key(subject)
    name = declared.get(direction) or declared.get(role) or declared["else"]
    if subject.startswith(UNUSED) and nos != "host":
        name = "own address" if direction == "+" and _ADDRESS.match(subject, len(UNUSED)) else "idle"
    found = vocabulary_of(nos).impacts[name]
    impact = Impact[found.impact.upper().replace("-", "_")]
    return Verdict(impact, found.why, found.source, found.down or impact in _RESETS, found.beyond)


def gravest_impact(path: str, nos: str) -> Impact:
    """Return the gravest impact that is declared for a fact of a NOS, whichever way it changes."""
    impacts = vocabulary_of(nos).impacts
    found = (impacts[name].impact for name in row_of(path, nos).impact.values())
    return max(Impact[name.upper().replace("-", "_")] for name in found)
