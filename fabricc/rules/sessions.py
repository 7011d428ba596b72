"""The BGP sessions of a device, wherever they lead: on a link, between loopbacks, unnumbered."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.defaults import states_confederation_members
from fabricc.back.nos.harmful_settings import STRICT_ROLE
from fabricc.back.nos.route_blocks import fact_of_waiting, sends_from_loopback
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.facts.frame import pack_value, value_of
from fabricc.facts.paths import first_key, split_list_path
from fabricc.facts.statement import Statement, Tier, scope_of
from fabricc.proof.invariants.view import as_int, sibling_address

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value

_OPEN = 512
"""Devices whose sessions stay unpacked, each some 20 kB."""
Key = tuple[str, str]
_LISTEN = "bgp/listen["
_EVPN = "evpn/neighbor["
ONE_HOP = ("ttl_security_hops", "maximum_hops")
"""Statements of a session that limit the number of hops of its packets."""
_ONE_HOP = frozenset(ONE_HOP)
_WAITS = frozenset({"setting[passive]", "setting[passive-mode]", "setting[transport connection-mode]"})
_OFF = (None, "off", "false")
UNSET = (None, "", "off", "false")
UPPER = (Tier.SPINE, Tier.CORE)
_POLICIES = {
    "import": ("import", "prefix_list_in", "filter_in", "distribute_in"),
    "export": ("export", "prefix_list_out", "filter_out", "distribute_out"),
}
_FUNCTIONS = {"import": "setting[rcf in ", "export": "setting[rcf out "}
"""Direction -> what of a session counts as a policy (RFC 8212 section 2), and what that of a function begins with."""
_LOOPBACKS = ("lo", "loopback0")
"""Names of the interface whose addresses are stated as those of the switch."""


_NEAR_HOP = 1
"""The number of hops of a session over a link, as without a statement."""


class SessionValues(NamedTuple):
    """The statements of one end of a session; equal ones are one object.

    Attributes:
        asn: its own AS number as the other end sees it; None without one.
        remote: that of the other end: a number, `internal` or `external`.
        passive: whether it waits for the other end to connect; `multihop`: whether it counts several hops.
        role: its role in the exchange of routes (RFC 9234); `bfd_waits`: whether its BFD waits for the other end.
        source: addresses that its packets come from, if it states them.
    """

    asn: int | None
    remote: Value | None
    families: Value | None
    bfd: Value | None
    timers: tuple[Value | None, Value | None]
    password: bool
    ttl: bool
    enabled: bool
    passive: bool = False
    source: tuple[str, ...] = ()
    multihop: bool = False
    role: str = ""
    bfd_waits: bool = False


@dataclass(slots=True)
class Sessions:
    """The sessions of a device.

    Attributes:
        stated: routing instance and neighbor -> statements.
        near: the same -> port that leads there, "" without one.
        listens: ranges from which unnamed neighbors are accepted.
        runs_bgp: whether it runs BGP; `addresses`: all that it has.
        accords: of sessions over a subnet of two, a digest of the statements that the other end must match; see
            `_session_digest`.
        numbered: whether its links have addresses, one of which a session without a source comes from.
    """

    runs_bgp: bool
    stated: dict[Key, SessionValues] = field(default_factory=dict)
    near: dict[Key, str] = field(default_factory=dict)
    listens: tuple[str, ...] = ()
    addresses: frozenset[str] = frozenset()
    accords: dict[Key, bytes] = field(default_factory=dict)
    numbered: bool = False


def sessions_of(statement: Statement) -> Sessions:
    """Return the sessions of a device; sessions with equal statements are one object."""
    facts, alike = statement.rest, dict[SessionValues, SessionValues]()
    if not statement.sessions and "bgp/asn" not in facts:
        runs_bgp = any(path.endswith("]/bgp/asn") for path in statement.rest)
        return Sessions(runs_bgp, addresses=frozenset(_own_addresses(statement)))
    listens = tuple(first_key(path[path.find(_LISTEN) :]) for path in statement.rest if _LISTEN in path)
    by_address, subnets = _ports_by_reach(statement)
    federated = any(path.endswith("bgp/confederation") for path in statement.rest)
    listed = states_confederation_members(statement.device.system)
    carrying = {split_list_path(path, "evpn/neighbor")[0] for path in facts if path.startswith(_EVPN)}
    found = Sessions(True, listens=listens, addresses=frozenset(_own_addresses(statement)))
    found.numbered = any(
        not text.endswith(("/32", "/128"))
        for port in statement.fars
        for text in statement.addresses.get(statement.carrier(port), ())
    )
    usual = _LOOPBACKS[0] if sends_from_loopback(facts) else ""
    bfd_waits = bool(fact_of_waiting(facts))
    processes: dict[str, _Process] = {}
    for key, values in statement.sessions.items():
        vrf, neighbor = key
        scope = scope_of(vrf)
        if vrf not in processes:
            processes[vrf] = _Process(*[_process_value(facts, scope, leaf) for leaf in _Process._fields])
        process, near = processes[vrf], by_address.get(neighbor) or _covering_port(neighbor, subnets)
        end = SessionValues(
            asn=_own_number(facts, scope, values, listed) if listed or not federated else None,
            remote=values.get("remote_asn", values.get("remote_kind")),
            families=_families(values.get("families"), vrf == "" and neighbor in carrying),
            bfd=values.get("bfd"),
            timers=(
                values.get("keepalive_s", process.keepalive_s),
                values.get("hold_s", process.hold_s),
            ),
            password="secret" in values or "password" in values,
            ttl=not _ONE_HOP.isdisjoint(values) or process.ttl_security == "true",
            enabled=values.get("enabled") != "false",
            passive=not _WAITS.isdisjoint(values) and _waits_for_peer(values),
            source=_source_addresses(statement, str(values.get("update_source", "" if near else usual))),
            multihop=values.get("multihop", _NEAR_HOP) != _NEAR_HOP,
            role=str(values.get("setting[local-role]", "")),
            bfd_waits=bfd_waits,
        )
        found.stated[key] = alike.setdefault(end, end)
        found.near[key] = near
        own = opposite_address(neighbor)
        apart = own in found.addresses and neighbor not in found.addresses
        if apart and (accord := _session_digest(vrf, own, neighbor, end)):
            found.accords[key] = accord
    return found


def _own_number(
    facts: Mapping[str, Value], scope: str, values: Mapping[str, Value], listed: bool
) -> int | None:
    """Return the AS number that the other end of a session sees: outside of a confederation that of the whole."""
    own = as_int(values.get("local_asn", _process_value(facts, scope, "asn")))
    if listed and (stated := _process_value(facts, scope, "confederation")) is not None:
        whole, *members = str(stated).split()
        remote = str(values.get("remote_asn", values.get("remote_kind")))
        return own if remote in (*members, str(own), "internal") else as_int(int(whole))
    return own


def _waits_for_peer(values: Mapping[str, Value]) -> bool:
    return any("passive" in f"{leaf} {values[leaf]}" for leaf in _WAITS if values.get(leaf) not in _OFF)


def _source_addresses(statement: Statement, source: str) -> tuple[str, ...]:
    """Return the addresses of an interface, or the address itself; nothing for an unknown interface."""
    if not source:
        return ()
    if is_address(source):
        return (source,)
    texts = [*statement.addresses.get(source, [])]
    if source.lower() in _LOOPBACKS:
        stated = (statement.rest.get(path) for path in ("loopback/ipv4", "loopback/ipv6"))
        texts += [str(text) for text in stated if text is not None]
    return tuple(text.partition("/")[0] for text in texts)


def is_address(text: str) -> bool:
    """Return whether a text is an IP address without a length."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def _families(stated: Value | None, evpn: bool) -> Value | None:
    """Return the families of a session in one order; some systems state EVPN in a section of its own."""
    if stated is None and not evpn:
        return None
    names = {*str(stated or "").split(","), *(["evpn"] if evpn else [])}
    return ",".join(sorted(names - {""}))


def opposite_address(neighbor: str) -> str:
    """Return the other address of a neighbor's subnet of two; "" if the neighbor is not an address."""
    return sibling_address(f"{neighbor}/127" if ":" in neighbor else f"{neighbor}/31")


def _session_digest(vrf: str, own: str, neighbor: str, values: SessionValues) -> bytes:
    """Return the matching statements of two ends of a sound session in 16 bytes; empty if more must be compared."""
    asn, remote = values.asn, values.remote
    if not values.enabled or values.passive or values.source or asn is None or not isinstance(remote, int):
        return b""
    ends = (own, asn, neighbor, remote) if own < neighbor else (neighbor, remote, own, asn)
    if values.role or values.bfd_waits:
        return b""
    rest = values.families, values.bfd, values.timers, values.password, values.ttl, values.multihop
    return blake2b(repr((vrf, ends, rest)).encode(), digest_size=16).digest()


class _Process(NamedTuple):
    """Statements about the BGP process of a routing instance that its sessions inherit."""

    keepalive_s: Value | None
    hold_s: Value | None
    ttl_security: Value | None


def _process_value(facts: Mapping[str, Value], scope: str, leaf: str) -> Value | None:
    """Return a statement about the BGP process of a routing instance, else of the default one."""
    value = facts.get(f"{scope}bgp/{leaf}")
    return facts.get(f"bgp/{leaf}") if value is None else value


def _own_addresses(statement: Statement) -> Iterator[str]:
    for texts in statement.addresses.values():
        for text in texts:
            yield text.partition("/")[0]
    for family in ("ipv4", "ipv6"):
        if (loopback := statement.rest.get(f"loopback/{family}")) is not None:
            yield str(loopback).partition("/")[0]


def _ports_by_reach(
    statement: Statement,
) -> tuple[dict[str, str], list[tuple[IPv4Network | IPv6Network, str]]]:
    """Return port by the address at its other end, and ports by their larger subnets."""
    subnets = []
    exact: dict[str, str] = {port: port for port in statement.ports}
    for port, texts in statement.addresses.items():
        for text in texts:
            if other := sibling_address(text):
                exact[other] = port
            elif not text.endswith(("/32", "/128")):
                try:
                    subnets.append((ip_interface(text).network, port))
                except ValueError:
                    continue
    return exact, subnets


def _covering_port(neighbor: str, subnets: list[tuple[IPv4Network | IPv6Network, str]]) -> str:
    try:
        address = ip_address(neighbor)
    except ValueError:
        return ""
    return next((port for network, port in subnets if address in network), "")


_ROLES = {"provider": "customer", "customer": "provider", "rs-server": "rs-client", "rs-client": "rs-server",
          "peer": "peer"}  # fmt: skip
"""Role -> that of the other end (RFC 9234, section 4.1)."""


def roles_agree(own: str, its: str) -> bool:
    """Return whether two ends may have these roles: a strict one requires that the other end has one too."""
    if own and its:
        return _ROLES.get(own.split()[0]) == its.split()[0]
    return STRICT_ROLE not in f"{own} {its}"


def is_within(address: str, network: str) -> bool:
    """Return whether an address is in a network."""
    try:
        return ip_address(address) in ip_network(network, strict=False)
    except ValueError:
        return False


class PackedSessions(Mapping[str, Sessions]):
    """The sessions of all devices, packed: both ends of a session are looked at soon after each other."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}

    def add(self, name: str, content: bytes) -> None:
        """Add the packed sessions of a device."""
        self._packed[name] = content

    def __getitem__(self, name: str) -> Sessions:
        return _unpack_sessions(self._packed[name])

    def __contains__(self, name: object) -> bool:
        return name in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def pack_sessions(sessions: Sessions) -> bytes:
    """Pack the sessions of a device."""
    return pack_value(sessions)


@lru_cache(maxsize=_OPEN)
def _unpack_sessions(content: bytes) -> Sessions:
    found: Sessions = value_of(content)
    return found


def external_sessions(statement: Statement) -> list[tuple[Key, Mapping[str, Value]]]:
    """Return the sessions of the default routing instance with another AS, but for those that are shut."""
    return statement.remember(
        external_sessions,
        lambda one: [(key, values) for key, values in open_sessions(one) if not _is_internal(one, values)],
    )


def sessions_to_switches(statement: Statement, sessions: Sessions) -> list[tuple[Key, Mapping[str, Value]]]:
    """Return the sessions over links to other switches that are known, also those within an AS.

    Where no link of its sessions is known, those over ports without an address count, of which a fabric's switch has
    several, and those with one AS over several ports with a subnet of two: the files of the upper switches are
    elsewhere. Sessions over parts of a port lead to routers beside the fabric.
    """

    def find(one: Statement) -> list[tuple[Key, Mapping[str, Value]]]:
        every = list(open_sessions(one))
        if not any(sessions.near.get(key) in one.fars for key, _ in every):
            bare = [each for each in every if not is_address(each[0][1]) and _BARE.fullmatch(each[0][1])]
            if len(bare) > 1 or not one.fars:
                return bare if len(bare) > 1 else _sessions_with_one_number(one, sessions, every)
        return [
            (key, values)
            for key, values in every
            if (far := one.fars.get(sessions.near.get(key, ""))) is not None
            and far.known
            and far.tier is not Tier.HOST
        ]

    return statement.remember(sessions_to_switches, find)


_BARE = re.compile(r"[^./]+")
"""A port by name, not a part of one, nor a range of addresses."""
_PAIR = re.compile(r".*/(?:3[01]|12[67])")
"""An address in a subnet of two."""


def _sessions_with_one_number(
    statement: Statement, sessions: Sessions, every: list[tuple[Key, Mapping[str, Value]]]
) -> list[tuple[Key, Mapping[str, Value]]]:
    """Return the sessions over ports with subnets of two whose AS number several of them name."""
    found: defaultdict[object, list[tuple[Key, Mapping[str, Value]]]] = defaultdict(list)
    for key, values in every:
        texts = statement.addresses.get(sessions.near.get(key, ""), ())
        if any(map(_PAIR.fullmatch, texts)):
            found[values.get("remote_asn")].append((key, values))
    return [each for some in found.values() if len(some) > 1 for each in some]


def exchanging_sessions(statement: Statement, sessions: Sessions) -> list[tuple[Key, Mapping[str, Value]]]:
    """Return the same, and those with EVPN within an AS, which exchange the routes of all tenants."""
    return statement.remember(
        exchanging_sessions,
        lambda one: [
            (key, values)
            for key, values in open_sessions(one)
            if not _is_internal(one, values) or carries_evpn(sessions, key)
        ],
    )


def carries_evpn(sessions: Sessions, key: Key) -> bool:
    """Return whether a session has the family EVPN."""
    return key in sessions.stated and "evpn" in str(sessions.stated[key].families).split(",")


def open_sessions(statement: Statement) -> Iterator[tuple[Key, Mapping[str, Value]]]:
    """Yield the sessions of the default routing instance, but for those that are shut."""
    return (
        (key, values)
        for key, values in statement.sessions.items()
        if not key[0] and values.get("enabled") != "false"
    )


def _is_internal(statement: Statement, values: Mapping[str, Value]) -> bool:
    own = values.get("local_asn", statement.rest.get("bgp/asn"))
    return values.get("remote_asn", values.get("remote_kind")) in (None, "internal", own)


def has_policy(values: Mapping[str, Value], direction: str) -> bool:
    """Return whether a session has a policy in a direction."""
    return any(leaf in values for leaf in _POLICIES[direction]) or any(
        leaf.startswith(_FUNCTIONS[direction]) for leaf in values
    )


def open_policies(statement: Statement, values: Mapping[str, Value], direction: str) -> str:
    """Return the policies of a session in a direction if each permits every route; "" if one may not, or is missing."""
    stated = [(leaf, str(values[leaf])) for leaf in _POLICIES[direction] if leaf in values]
    routed = all(
        permits_all(statement, name) if leaf == direction else is_open_list(statement, name)
        for leaf, name in stated
    )
    return " and ".join(name.rpartition(" ")[2] for _, name in stated) if routed else ""


def permits_all(statement: Statement, name: str) -> bool:
    """Return whether the first clause of a route map permits every route, also by a list that does."""
    clauses = {
        int(number): str(value).split()
        for path, value in statement.facts_below(f"route_map[{name}]/").items()
        if is_number(number := path.rpartition("/")[2])
    }
    first = clauses[min(clauses)] if clauses else []
    if first[:2] == ["permit", "prefix_list"]:
        return is_open_list(statement, first[2]) and len(clauses) == 1
    return first[:1] == ["permit"] and _CONDITIONS.isdisjoint(first)


def is_open_list(statement: Statement, name: str) -> bool:
    """Return whether the first entry of a list permits everything."""
    name = name.rpartition(" ")[2]
    paths = (f"{kind}[{name}]/0" for kind in ("prefix_list", "as_path_list", "access_list"))
    return any(str(statement.rest.get(path)).replace('"', "") in _ALL for path in paths)


_ALL = ("0.0.0.0/0 le 32", "::/0 le 128", "permit .*", "permit any", "permit any any")
_CONDITIONS = frozenset({
    "match", "prefix_list", "community_list", "as_path_list", "prefix-list", "call", "on-match", "continue",
})  # fmt: skip
"""Words of a clause that does not decide about every route."""


def lone_demands(sessions: Sessions, key: Key, own: int | None) -> dict[str, str]:
    """Return what an end of a session demands of the other end, and the leaves that state it.

    These are a password, TTL security (RFC 5082), a role (RFC 9234), and the same AS number.
    """
    values = sessions.stated[key]
    stated = {
        "a password": values.password and "secret",
        "TTL security": values.ttl and "ttl_security_hops",
        "a role": STRICT_ROLE in values.role and "setting[local-role]",
        f"AS {own}": values.remote == "internal" and "remote_kind",
    }
    return {what: str(leaf) for what, leaf in stated.items() if leaf}
