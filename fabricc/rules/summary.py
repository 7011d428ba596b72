"""The summary of one switch: what it states that rules compare with other switches."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.facts.frame import PORT
from fabricc.facts.statement import Tier, session_path
from fabricc.proof.invariants.view import as_int
from fabricc.rules.next_hops import unresolved_hops
from fabricc.rules.records import OuterSession, Summary
from fabricc.rules.segments import distinguishers, segment_settings
from fabricc.rules.sessions import UPPER, carries_evpn, exchanging_sessions, external_sessions, has_policy
from fabricc.rules.tenants import overlay_of

if TYPE_CHECKING:
    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Key, Sessions

ACCESS = "management/access"
OWN_AS = "bgp/allow_as_in"
SERVICES = {
    "management/ntp": "NTP server", "management/syslog": "log server", ACCESS: "limit on who reaches its management",
}  # fmt: skip
"""Path -> what a switch lacks without it."""
_LIST = "access_list["
_STATIC = "static_route["
_ORIGINS = ("bgp/aggregate[", "bgp/network[")
_ENTERING = (*_ORIGINS, "bgp/redistribute", "bgp/setting[redistribute", "bgp/static", "bgp/advertise")
_SEED = re.compile(r"[/[](?:ecmp_)?hash_seed\]?$")
BESIDE = ("management/access", "management/tacacs", "management/radius")
"""Beginnings of paths that only a complete configuration states in addition to its services."""


def summarize(statement: Statement, sessions: Sessions) -> Summary:
    """Return the facts of a switch that are compared with others."""
    routes, prefixes, services = [], [], []
    seed: tuple[str, object] | None = None
    for path, value in statement.rest.items():
        if path.startswith(_STATIC) and path.endswith("]"):
            routes.append((path[len(_STATIC) : -1], str(value), path))
        elif path.startswith(_ORIGINS) and path.endswith("]"):
            prefixes.append(path.partition("[")[2][:-1])
        elif path in SERVICES:
            services.append(path)
        elif _SEED.search(path):
            seed = path, value
    beside = [path for path in statement.rest if path.startswith(BESIDE)]
    outer, loops = [], ""
    limits: list[tuple[int, str]] = []
    upward = False
    for key, values in external_sessions(statement):
        far = statement.fars.get(sessions.near.get(key, ""))
        if far is not None and far.declared:
            continue
        if far is None or not far.known:
            bare = tuple(way for way in ("import", "export") if not has_policy(values, way))
            outer.append(OuterSession(key, str(values.get("import", "")), bare))
        elif values.get("allow_as_in") not in (None, 0, "0") and far.tier in UPPER:
            loops = loops or session_path(key, "allow_as_in")
        if far is not None and far.known and far.tier in UPPER:
            upward = upward or "ipv" in str(values.get("families", ""))
            if limit := as_int(values.get("maximum_prefixes")):
                limits.append((limit, session_path(key, "maximum_prefixes")))
    if upward and statement.rest.get(OWN_AS) not in (None, 0, "0"):
        loops = loops or OWN_AS
    for key, values in exchanging_sessions(statement, sessions):
        if (
            carries_evpn(sessions, key)
            and not sessions.near.get(key)
            and (limit := as_int(values.get("maximum_prefixes")))
        ):
            limits.append((limit, session_path(key, "maximum_prefixes")))
    inner = {key: _leads_in(statement, sessions, key) for key in sessions.stated if not key[0]}
    remote = tuple(neighbor for (_, neighbor), leads in inner.items() if not leads)
    silent = _host_prefix(statement) if upward and not _puts_into_bgp(statement) else None
    return Summary(
        statement.place.tier, as_int(statement.rest.get("bgp/asn")),
        str(statement.rest.get("bgp/router_id", "")).partition("/")[0], tuple(routes), tuple(prefixes), tuple(services),
        tuple(beside), _unbound_list(statement), seed, loops, tuple(outer),
        silent, min(limits, default=None), any(inner.values()), remote, unresolved_hops(statement),
        segment_settings(statement), overlay_of(statement, sessions), distinguishers(statement),
    )  # fmt: skip


def _puts_into_bgp(statement: Statement) -> bool:
    """Return whether a switch puts routes into BGP, or may do so by a way that is not read."""
    return any(path.startswith(_ENTERING) or "import" in path for path in statement.rest if "bgp" in path)


def _host_prefix(statement: Statement) -> tuple[str, str] | None:
    """Return the subnet and the path of the address of a routed port to a host."""
    hosts = [port for port, far in statement.fars.items() if far.tier is Tier.HOST]
    for port in (*hosts, *statement.open_ports()):
        if statement.of(port, "vrf") is None:
            for leaf in ("ipv4", "ipv6"):
                if isinstance(text := statement.of(port, leaf), str) and "/" in text:
                    return str(ip_interface(text).network), f"{PORT}{port}]/{leaf}"
    return None


def _unbound_list(statement: Statement) -> str:
    bound = {
        name
        for values in statement.ports.values()
        for leaf in ("access_list_in", "access_list_out")
        for name in str(values.get(leaf, "")).replace(",", " ").split()
    }
    lists = ((path, path[len(_LIST) :].partition("]")[0]) for path in statement.facts_below(_LIST))
    return next((path for path, name in lists if name not in bound), "")


def _leads_in(statement: Statement, sessions: Sessions, key: Key) -> bool:
    """Return whether a link to a known device leads to a neighbor."""
    far = statement.fars.get(sessions.near.get(key, ""))
    return far is not None and far.known
