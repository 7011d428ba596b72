"""The lines of `frr.conf` that are understood, block by block, and what each does to the reader.

Each function takes one line and returns False when it does not understand the line after all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.defaults import (
    DATACENTER_TIMERS,
    NEXT_HOP_GROUPS,
    RA_INTERVAL_S,
    TRADITIONAL_TIMERS,
    any_prefix,
    community_number,
)
from fabricc.back.nos.frr.process import BfdProfile, Process
from fabricc.fabric.routing import Clause

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.back.nos.frr.process import Stated
    from fabricc.back.nos.frr.reader import Parser

    Line = Callable[[Parser, re.Match[str], int], bool]

PARENT = {"interface": "", "route-map": "", "bfd": "", "profile": "bfd", "bgp": "", "family": "bgp"}


def _defaults(p: Parser, m: re.Match[str], _: int) -> bool:
    p.timers = DATACENTER_TIMERS if m[1] == "datacenter" else TRADITIONAL_TIMERS
    return m[1] == "datacenter"


def _hostname(p: Parser, m: re.Match[str], n: int) -> bool:
    p.put("system/hostname", m[1], n)
    p.reading.put("structure/frr_hostname", m[1], p.file, n)
    return True


def _next_hops(p: Parser, m: re.Match[str], n: int) -> bool:
    p.reading.put(NEXT_HOP_GROUPS[m[0]], "false", p.file, n)
    return True


def _log(p: Parser, m: re.Match[str], n: int) -> bool:
    p.reading.put(f"log/{m[1]}", m[2], p.file, n)
    return True


def _fpm(p: Parser, m: re.Match[str], n: int) -> bool:
    p.reading.put("zebra/fpm_address", m[1], p.file, n)
    return True


def _interface(p: Parser, m: re.Match[str], _: int) -> bool:
    p.block, p.interface = "interface", m[1]
    return True


def _address(p: Parser, m: re.Match[str], n: int) -> bool:
    family = "ipv6" if m[1] == "ipv6" else "ipv4"
    owner = "loopback" if p.interface == "lo" else f"interface[{p.interface}]"
    p.put(f"{owner}/{family}", m[2], n)
    return (":" in m[2]) == (family == "ipv6")


def _description(p: Parser, m: re.Match[str], n: int) -> bool:
    p.reading.put(f"interface[{p.interface}]/description", m[1], p.file, n)
    return True


def _shutdown(p: Parser, _: re.Match[str], n: int) -> bool:
    p.reading.put(f"interface[{p.interface}]/enabled", "false", p.file, n)
    return True


def _advertise(p: Parser, _: re.Match[str], n: int) -> bool:
    p.put(f"interface[{p.interface}]/unnumbered", "true", n)
    return True


def _ra_interval(_: Parser, m: re.Match[str], __: int) -> bool:
    return int(m[1]) == RA_INTERVAL_S


def _prefix_list(p: Parser, m: re.Match[str], n: int) -> bool:
    family = 6 if m[1] == "ipv6" else 4
    rules = p.lists.setdefault((m[2], family), {})
    sequence = int(m[3]) if m[3] else max(rules, default=0) + 5
    text = any_prefix(family) if m[5] == "any" else m[5]
    rules[sequence] = (text if m[4] == "permit" else f"deny {text}", n)
    return (":" in text) == (family == 6)


def _community_list(p: Parser, m: re.Match[str], n: int) -> bool:
    text = " ".join(map(community_number, m[3].split()))
    p.communities.setdefault(m[1], []).append((text if m[2] == "permit" else f"deny {text}", n))
    return True


def _route_map(p: Parser, m: re.Match[str], n: int) -> bool:
    p.block, p.clause = "route-map", (m[1], int(m[3]))
    p.clauses.setdefault(p.clause, (Clause(int(m[3]), m[2] == "permit"), n))
    return True


def _match_prefix(p: Parser, m: re.Match[str], _: int) -> bool:
    if p.clauses[p.clause][0].prefix_list:
        return False
    p.edit(prefix_list=m[2], family=6 if m[1] == "ipv6" else 4)
    return True


def _match_community(p: Parser, m: re.Match[str], _: int) -> bool:
    p.edit(community_list=m[1])
    return True


def _local_preference(p: Parser, m: re.Match[str], _: int) -> bool:
    p.edit(local_preference=int(m[1]))
    return True


def _set_community(p: Parser, m: re.Match[str], _: int) -> bool:
    p.edit(add_community=" ".join(map(community_number, m[1].split())))
    return True


def _set_source(p: Parser, m: re.Match[str], _: int) -> bool:
    p.sources[p.clause] = m[1]
    return True


def _bound(p: Parser, m: re.Match[str], n: int) -> bool:
    p.bound[m[1]] = (m[2], n)
    return True


def _bfd(p: Parser, _: re.Match[str], __: int) -> bool:
    p.block = "bfd"
    return True


def _profile(p: Parser, m: re.Match[str], n: int) -> bool:
    p.block = "profile"
    p.profile = p.profiles.setdefault(m[1], BfdProfile(n))
    return True


def _bfd_timer(p: Parser, m: re.Match[str], _: int) -> bool:
    names = {
        "detect-multiplier": "multiplier",
        "transmit-interval": "transmit_ms",
        "receive-interval": "receive_ms",
    }
    setattr(p.profile, names[m[1]], int(m[2]))
    return True


def _router_bgp(p: Parser, m: re.Match[str], n: int) -> bool:
    p.block = "bgp"
    if p.process is None:
        p.process = Process(int(m[1]), n)
    return p.process.asn == int(m[1])


def _router_id(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).router_id = (m[1], n)
    return True


def _policy_required(p: Parser, _: re.Match[str], n: int) -> bool:
    p.reading.put("bgp/requires_policy", "true", p.file, n)
    return True


def _no_default_ipv4(p: Parser, _: re.Match[str], __: int) -> bool:
    _process(p).default_ipv4 = False
    return True


def _graceful(p: Parser, m: re.Match[str], n: int) -> bool:
    p.reading.put(f"bgp/graceful_restart/{'keeps_routes' if m[1] else 'on'}", "true", p.file, n)
    return True


def _graceful_time(p: Parser, m: re.Match[str], n: int) -> bool:
    name = "restart_s" if m[1] == "restart" else "defer_s"
    p.reading.put(f"bgp/graceful_restart/{name}", int(m[2]), p.file, n)
    return True


def _relax(p: Parser, _: re.Match[str], n: int) -> bool:
    _process(p).relax_line = n
    return True


def _timers(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).timers = (int(m[1]), int(m[2]), n)
    return True


def _peer_group(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).groups.add(m[1])
    _process(p).speaker(m[1], n)
    return True


def _member(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).speaker(m[1], n).group = m[2]
    return True


def _remote_as(p: Parser, m: re.Match[str], n: int) -> bool:
    asn = int(m[2]) if m[2].isdecimal() else m[2]
    _process(p).speaker(m[1], n).settings["remote_asn"] = (asn, n)
    return True


def _neighbor_description(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).speaker(m[1], n).settings["description"] = (m[2], n)
    return True


def _neighbor_bfd(p: Parser, m: re.Match[str], n: int) -> bool:
    settings = _process(p).speaker(m[1], n).settings
    settings["bfd_profile" if m[2] else "bfd_on"] = (m[2] or "true", n)
    if m[2] or "bfd" not in settings:
        settings["bfd"] = (m[2] or "", n)
    return True


def _ttl_security(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).speaker(m[1], n).settings["ttl_security_hops"] = (int(m[2]), n)
    return True


def _family(p: Parser, m: re.Match[str], _: int) -> bool:
    p.block, p.family = "family", m[1]
    _process(p).families.setdefault(m[1], {})
    return True


def _aggregate(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).aggregates[m[1]] = (m[2].strip() or "with its more specifics", n)
    return (":" in m[1]) == (p.family == "ipv6")


def _connected(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).families[p.family]["connected"] = (m[1] or "unfiltered", n)
    return True


def _maximum_paths(p: Parser, m: re.Match[str], n: int) -> bool:
    _process(p).families[p.family]["paths"] = (int(m[1]), n)
    return True


def _activate(p: Parser, m: re.Match[str], n: int) -> bool:
    _in_family(p, m[2], n)["activate"] = ("false" if m[1] else "true", n)
    return True


def _maximum_prefix(p: Parser, m: re.Match[str], n: int) -> bool:
    _in_family(p, m[1], n)["maximum_prefixes"] = (int(m[2]), n)
    return True


def _policy(p: Parser, m: re.Match[str], n: int) -> bool:
    _in_family(p, m[1], n)["import" if m[3] == "in" else "export"] = (m[2], n)
    return True


def _process(p: Parser) -> Process:
    if p.process is None:
        raise AssertionError("the block of a line of `router bgp` is open")
    return p.process


def _in_family(p: Parser, name: str, n: int) -> dict[str, Stated]:
    return _process(p).speaker(name, n).families.setdefault(p.family, {})


def _compile(*lines: tuple[str, Line]) -> tuple[tuple[re.Pattern[str], Line], ...]:
    return tuple((re.compile(pattern), line) for pattern, line in lines)


GRAMMAR = {
    "": _compile(
        (r"frr defaults (\S+)", _defaults),
        (r"hostname (\S+)", _hostname),
        ("|".join(NEXT_HOP_GROUPS), _next_hops),
        (r"fpm address (\S+)", _fpm),
        (r"log (syslog|facility) (\S+)", _log),
        (r"(ip|ipv6) protocol bgp route-map (\S+)", _bound),
        (r"interface (\S+)", _interface),
        (
            r"(ip|ipv6) prefix-list (\S+)(?: seq (\d{1,10}))? (permit|deny) "
            r"(any|[\da-f.:]+/\d+(?: ge \d+)?(?: le \d+)?)",
            _prefix_list,
        ),
        (r"bgp community-list standard (\S+)(?: seq \d+)? (permit|deny) (.+)", _community_list),
        (r"route-map (\S+) (permit|deny) (\d{1,10})", _route_map),
        (r"bfd", _bfd),
        (r"router bgp (\d{1,10})", _router_bgp),
    ),
    "interface": _compile(
        (r"(ip|ipv6) address (\S+/\d+)", _address),
        (r"description (.+)", _description),
        (r"shutdown", _shutdown),
        (r"no ipv6 nd suppress-ra", _advertise),
        (r"ipv6 nd ra-interval (\d{1,10})", _ra_interval),
    ),
    "route-map": _compile(
        (r"match (ip|ipv6) address prefix-list (\S+)", _match_prefix),
        (r"match community (\S+)", _match_community),
        (r"set local-preference (\d{1,10})", _local_preference),
        (r"set community (.+) additive", _set_community),
        (r"set src (\S+)", _set_source),
    ),
    "bfd": _compile((r"profile (\S+)", _profile)),
    "profile": _compile((r"(detect-multiplier|transmit-interval|receive-interval) (\d{1,10})", _bfd_timer)),
    "bgp": _compile(
        (r"neighbor (\S+) remote-as (\d{1,10}|external|internal)", _remote_as),
        (r"neighbor (\S+) (?:interface (?:v6only )?)?peer-group (\S+)", _member),
        (r"neighbor (\S+) description (.+)", _neighbor_description),
        (r"neighbor (\S+) peer-group", _peer_group),
        (r"neighbor (\S+) interface remote-as (\d{1,10}|external|internal)", _remote_as),
        (r"neighbor (\S+) bfd(?: profile (\S+))?", _neighbor_bfd),
        (r"neighbor (\S+) ttl-security hops (\d{1,3})", _ttl_security),
        (r"address-family (ipv4|ipv6) unicast", _family),
        (r"bgp router-id (\S+)", _router_id),
        (r"bgp ebgp-requires-policy", _policy_required),
        (r"no bgp default ipv4-unicast", _no_default_ipv4),
        (r"bgp graceful-restart(?: (preserve-fw-state))?", _graceful),
        (r"bgp graceful-restart (restart|select-defer)-time (\d{1,5})", _graceful_time),
        (r"bgp bestpath as-path multipath-relax", _relax),
        (r"timers bgp (\d{1,10}) (\d{1,10})", _timers),
    ),
    "family": _compile(
        (r"(no )?neighbor (\S+) activate", _activate),
        (r"neighbor (\S+) maximum-prefix (\d{1,10})", _maximum_prefix),
        (r"neighbor (\S+) route-map (\S+) (in|out)", _policy),
        (r"aggregate-address (\S+)(.*)", _aggregate),
        (r"redistribute connected(?: route-map (\S+))?", _connected),
        (r"maximum-paths (\d{1,10})", _maximum_paths),
    ),
}
