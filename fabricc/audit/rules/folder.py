"""Rules over what several switches of a folder state: static routes, peers, AS numbers, hash seeds, services."""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Tier
from fabricc.audit.rules.access import ACCESS, OPEN, SERVICES
from fabricc.audit.rules.routing import LOOPS, POLICY, external_sessions, has_policy
from fabricc.audit.rules.sheet import session_path, told
from fabricc.base.diagnostics import Severity
from fabricc.proof.invariants.policy import Route
from fabricc.proof.invariants.prefixes import Block, block
from fabricc.proof.invariants.view import as_int

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.audit.model import Found
    from fabricc.audit.rules.meeting import Meeting
    from fabricc.audit.rules.sessions import Key, Sessions
    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.policy import Policy

STATIC, SEEDS, MISSING = "FAB9660", "FAB9670", "FAB9674"
_STATIC = "static_route["
_ORIGINS = ("bgp/aggregate[", "bgp/network[")
_SEED = re.compile(r"[/[](?:ecmp_)?hash_seed\]?$")
_DROPS = ("discard", "reject")
_UPPER = (Tier.SPINE, Tier.CORE)
_FIRST = ("management/ntp",)
"""Services that a switch needs which has another one: the times in its log are wrong without."""
_BESIDE = ("management/access", "management/tacacs")
"""What a configuration states that is meant to be complete."""


class Outer(NamedTuple):
    """A session with another AS, and its policies as far as it has any."""

    key: Key
    imports: str
    exports: str
    bare: tuple[str, ...]


class Stated(NamedTuple):
    """The facts of one switch that are compared with others.

    Attributes:
        routes: prefix, next hops and path of each static route of the default routing instance.
        prefixes: prefixes that it originates in BGP: aggregates and networks.
        services: paths of its services; `beside`: paths of further statements of a complete configuration.
        seed: path and value of its hash seed.
        loops: path by which it accepts its own AS number from switches above it; "" for none.
        outer: its sessions with other AS numbers.
    """

    tier: Tier
    asn: int | None
    routes: tuple[tuple[str, str, str], ...]
    prefixes: tuple[str, ...]
    services: tuple[str, ...]
    beside: tuple[str, ...]
    seed: tuple[str, object] | None
    loops: str
    outer: tuple[Outer, ...]


def stated(sheet: Sheet, sessions: Sessions) -> Stated:
    """Return the facts of a switch that are compared with others."""
    routes, prefixes, services = [], [], []
    seed: tuple[str, object] | None = None
    for path, value in sheet.rest.items():
        if path.startswith(_STATIC) and path.endswith("]"):
            routes.append((path[len(_STATIC) : -1], str(value), path))
        elif path.startswith(_ORIGINS) and path.endswith("]"):
            prefixes.append(path.partition("[")[2][:-1])
        elif path in SERVICES:
            services.append(path)
        elif _SEED.search(path):
            seed = path, value
    beside = [path for path in sheet.rest if path.startswith(_BESIDE)]
    outer, loops = [], ""
    for key, says in external_sessions(sheet):
        bare = tuple(way for way in ("import", "export") if not has_policy(says, way))
        outer.append(Outer(key, str(says.get("import", "")), str(says.get("export", "")), bare))
        far = sheet.fars.get(sessions.near.get(key, ""))
        if says.get("allow_as_in") not in (None, 0, "0") and far is not None and far.tier in _UPPER:
            loops = loops or session_path(key, "allow_as_in")
    return Stated(
        sheet.place.tier, as_int(sheet.rest.get("bgp/asn")), tuple(routes), tuple(prefixes), tuple(services),
        tuple(beside), seed, loops, tuple(outer),
    )  # fmt: skip


def folder_findings(
    found: Found, switches: Mapping[str, Stated], meeting: Meeting, policies: Mapping[str, Policy]
) -> Iterator[Finding]:
    """Report what is wrong with statements of several switches.

    Args:
        found: the folder.
        switches: switch -> what it states.
        meeting: all sessions.
        policies: switch -> its routing policy, of those whose sessions are known.
    """
    origins = _origins(switches)
    yield from _static_routes(found, switches, origins, meeting)
    yield from _unknown_peers(found, switches, origins, meeting, policies)
    yield from _loops(found, switches)
    yield from _seeds(found, switches)
    yield from _services(found, switches)


def _origins(switches: Mapping[str, Stated]) -> dict[Block, set[str]]:
    """Return originated prefixes, longer than a pool and shorter than an address -> the originating switches."""
    origins: dict[Block, set[str]] = {}
    for name, says in switches.items():
        for text in says.prefixes:
            if (mine := block(text)) and 0 < mine.length < mine.bits:
                origins.setdefault(mine, set()).add(name)
    return origins


def _static_routes(
    found: Found, switches: Mapping[str, Stated], origins: Mapping[Block, set[str]], meeting: Meeting
) -> Iterator[Finding]:
    """Report static routes that take traffic for the prefix of another switch from its path."""
    by_length: dict[tuple[int, int], dict[int, Block]] = {}
    for each in origins:
        by_length.setdefault((each.family, each.length), {})[each.first] = each
    for name, says in switches.items():
        for prefix, via, path in says.routes:
            mine = block(prefix)
            whole = _covering(mine, by_length) if mine else None
            if whole is None or name in origins[whole]:
                continue
            owner = min(origins[whole])
            if via in _DROPS:
                message = f"{name} drops traffic for {prefix}, which is of {owner} ({whole})"
                severity = Severity.ERROR
            elif _hops(via) and not any(_reaches(meeting, hop, origins[whole]) for hop in _hops(via)):
                message = f"{name} sends traffic for {prefix}, which is of {owner} ({whole}), to {via} alone"
                severity = Severity.WARNING
            else:
                continue
            remedy = "Remove the static route, so that BGP's routes are used."
            yield told(STATIC, found.devices[name], path, message, "static route", severity, remedy)


def _covering(mine: Block, by_length: Mapping[tuple[int, int], Mapping[int, Block]]) -> Block | None:
    """Return the longest prefix that contains a block."""
    for length in range(mine.length, 0, -1):
        known = by_length.get((mine.family, length))
        first = mine.first >> (mine.bits - length) << (mine.bits - length)
        if known and first in known:
            return known[first]
    return None


def _hops(via: str) -> list[str]:
    """Return the next hops that are addresses."""
    hops = []
    for word in via.replace(",", " ").split():
        try:
            ip_address(word)
        except ValueError:
            continue
        hops.append(word)
    return hops


def _reaches(meeting: Meeting, hop: str, owners: set[str]) -> bool:
    """Return whether a next hop is an address of one of these switches, or of no device in the folder."""
    having = meeting.owners.get(hop, ())
    return not having or any(name in owners for name in having)


def _unknown_peers(
    found: Found, switches: Mapping[str, Stated], origins: Mapping[Block, set[str]], meeting: Meeting,
    policies: Mapping[str, Policy],
) -> Iterator[Finding]:  # fmt: skip
    """Report sessions with devices that the folder does not hold, which may announce the fabric's own prefixes."""
    tors = sorted((each for each in origins if each.family == 4), key=lambda each: (each.length, each.first))
    for name, says in switches.items():
        if says.tier not in (Tier.TOR, *_UPPER) or not _has_known_peer(meeting, name):
            continue
        for key, imports, _, bare in says.outer:
            if not _unknown(meeting, name, key):
                continue
            message = ""
            if bare == ("import", "export"):
                message = "takes and announces every route, without a policy"
            elif "import" in bare:
                message = "takes every route, without a policy"
            elif "export" in bare:
                message = "announces every route, without a policy"
            elif tors and _takes(policies.get(name), imports, tors[0]):
                message = f"takes {tors[0]} by {imports}, which is the fabric's,"
            if message:
                text = f"{name} {message} on its session with {key[1]}, which no switch of the folder has"
                paths = [
                    session_path(key, leaf) for leaf in ("import", "remote_asn", "remote_kind", "families")
                ]
                remedy = "Permit on this session the prefixes that are meant, in both directions."
                yield told(POLICY, found.devices[name], paths, text, "unknown peer", Severity.WARNING, remedy)


def _has_known_peer(meeting: Meeting, name: str) -> bool:
    """Whether some session of a switch leads to a device of the folder."""
    return any(not _unknown(meeting, name, key) for key in meeting.sessions[name].said if not key[0])


def _takes(policy: Policy | None, imports: str, prefix: Block) -> bool:
    """Return whether a route map accepts a prefix that another switch announces."""
    if policy is None or imports not in policy.maps:
        return False
    return policy.apply(imports, Route(prefix, False, frozenset())) is not None


def _unknown(meeting: Meeting, name: str, key: Key) -> bool:
    """Return whether no device of the folder has the address of a neighbor, and no link leads to one of them."""
    try:
        ip_address(key[1])
    except ValueError:
        return False
    port = meeting.sessions[name].near.get(key, "")
    return key[1] not in meeting.owners and meeting.far(name, port) is None


def _loops(found: Found, switches: Mapping[str, Stated]) -> Iterator[Finding]:
    """Report ToRs that accept their own AS number, which no other ToR has."""
    numbers = Counter(says.asn for says in switches.values() if says.tier is Tier.TOR)
    for name, says in switches.items():
        if (
            says.tier is Tier.TOR
            and says.loops
            and says.asn is not None
            and numbers[says.asn] == 1
            and len(numbers) > 1
        ):
            message = f"{name} accepts routes with AS {says.asn} in the path, which no other ToR has: these are loops"
            remedy = "Remove it; only switches that share an AS number need it."
            yield told(
                LOOPS, found.devices[name], says.loops, message, "own AS accepted", Severity.WARNING, remedy
            )


def _seeds(found: Found, switches: Mapping[str, Stated]) -> Iterator[Finding]:
    """Report switches of an upper tier that hash with the seed of the tier below them."""
    below: dict[object, str] = {}
    linked = _neighbors(found)
    for name, says in sorted(switches.items()):
        if says.tier not in _UPPER or says.seed is None:
            continue
        path, seed = says.seed
        lower = Tier.TOR if says.tier is Tier.SPINE else Tier.SPINE
        below = {
            other.seed[1]: each
            for each in sorted(linked.get(name, ()))
            if (other := switches.get(each)) and other.tier is lower and other.seed is not None
        }
        if seed in below:
            message = (
                f"{name} hashes with the seed {seed}, as {below[seed]} below it does: flows that one switch puts on a "
                "link are put on one link again"
            )
            remedy = "Give each tier a hash seed of its own."
            yield told(SEEDS, found.devices[name], path, message, "hash seed", Severity.WARNING, remedy)


def _neighbors(found: Found) -> dict[str, set[str]]:
    linked: dict[str, set[str]] = {}
    for link in found.links:
        linked.setdefault(link.a.device, set()).add(link.b.device)
        linked.setdefault(link.b.device, set()).add(link.a.device)
    return linked


def _services(found: Found, switches: Mapping[str, Stated]) -> Iterator[Finding]:
    """Report a service that most switches have and some lack, or that none has although others are configured."""
    counts = Counter(path for says in switches.values() for path in says.services)
    for path, service in SERVICES.items():
        lacking = [name for name, says in switches.items() if path not in says.services]
        most = counts[path] * 2 > len(switches)
        tended = [name for name in lacking if _tended(switches[name], path)]
        for name in lacking if most else tended:
            others = f", which {counts[path]:,} of {len(switches):,} switches have" if most else ""
            message = f"{name} has no {service}{others}"
            says = switches[name]
            paths = (path, *says.services, *says.beside, "management/address", "system/hostname")
            yield told(
                OPEN if path == ACCESS else MISSING, found.devices[name], paths, message, f"no {service}",
                Severity.WARNING,
                f"Configure the {service}.",
            )  # fmt: skip


def _tended(says: Stated, path: str) -> bool:
    """Return whether a switch states what a complete configuration states with a service."""
    return path != ACCESS and (bool(says.beside) or (bool(says.services) and path in _FIRST))
