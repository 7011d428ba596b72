"""Find wrong announcements: ToRs without any, foreign or missing loopbacks, and more than a limit accepts."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import is_number
from fabricc.facts.paths import first_key, outer_key
from fabricc.facts.statement import POLICY_OF_FAMILY, Statement, Tier
from fabricc.proof.invariants.policy import DENYING, Policy, Route
from fabricc.proof.invariants.prefixes import Block, parse_block
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    UPPER,
    Sessions,
    is_address,
)
from fabricc.rules.summary import CONNECTED, STATICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.proof.compare import Finding
    from fabricc.rules.records import Attached, Summary


SILENT, LIMIT = "FAB9676", "FAB9677"


def _silent_tors(fabric: Switches) -> Iterator[Report]:
    """Report ToRs with sessions to other switches that do not announce the subnets of their hosts."""
    for name, summary in fabric.summaries.items():
        attached, policy = summary.attached, fabric.policy(name)
        if attached is None or summary.tier is not Tier.TOR:
            continue
        if policy is None or not policy.followed or not attached.sure:
            lost = None if _may_announce(attached) else attached.prefixes[0]
        else:
            lost = _lost_family(attached, policy)
        if lost is None:
            continue
        where = f"no other switch reaches its hosts ({lost})"
        message, paths = (
            f"{name} announces no route of its own in BGP: {where}",
            [*STATICS, "bgp/asn", "bgp/router_id"],
        )
        word = ""
        if attached.maps and policy is not None:
            denying = [
                each for each in attached.maps if not _enters(attached, policy, parse_block(lost), each)
            ]
            if denying:
                message = f"{name}: {denying[0][0]} keeps subnets of hosts out of BGP: {where}"
                paths = [*_deciding_paths(policy, denying[0][0], parse_block(lost)), denying[0][1]]
                word = "" if paths[0].startswith("prefix_list[") else DENYING[0]
            else:
                message = f"{name} has no aggregate, and exports no subnet of hosts: {where}"
                paths = [denying[1] for denying in attached.maps]
        remedy = "Announce the prefix of the hosts, by an aggregate or by redistribution with a policy."
        paths.append(attached.path)
        group, grade = "nothing announced", Severity.WARNING
        yield Report(SILENT, name, tuple(paths), message, group, grade, remedy, word)


def _may_announce(attached: Attached) -> bool:
    return bool(attached.maps or attached.networks or attached.aggregates or attached.unstated)


def _lost_family(attached: Attached, policy: Policy) -> str | None:
    """Return a subnet of hosts of a family of which no subnet is announced; None where each family has one."""
    found: dict[int, list[tuple[str, bool]]] = {}
    for text in attached.prefixes:
        if (block := parse_block(text)) is not None:
            found.setdefault(block.family, []).append((text, _is_announced(attached, policy, block)))
    return next((texts[0][0] for texts in found.values() if not any(known for _, known in texts)), None)


def _is_announced(attached: Attached, policy: Policy, block: Block) -> bool:
    """Return whether a subnet is announced itself, or by an aggregate, which other rules follow."""
    exports = [
        stance.exports
        for stance in policy.stances
        if stance.direction in ("up", "peer") and block.family in stance.families
    ]
    entered = (
        attached.unstated
        or str(block) in attached.networks
        or any(_enters(attached, policy, block, each) for each in attached.maps)
    )
    if not exports:
        return True
    if not entered:
        return False
    if any((whole := parse_block(text)) and whole.covers(block) for text in attached.aggregates):
        return True
    return any(policy.apply(name, Route(block, True, frozenset())) is not None for name in exports)


def _enters(attached: Attached, policy: Policy, block: Block | None, way: tuple[str, str]) -> bool:
    """Return whether a policy puts a connected subnet into BGP."""
    if block is None or attached.unstated:
        return True
    return policy.apply(way[0], Route(block, True, frozenset())) is not None


def _deciding_paths(policy: Policy, name: str, lost: Block | None) -> Iterator[str]:
    """Yield the paths of the first list, or of the first clause, of a policy that does not permit a prefix."""
    clauses = policy.maps.get(name, ())
    if clauses and not clauses[0].permit:
        yield f"route_map[{name}]/{clauses[0].sequence}"
    lists = [each.prefix_list for each in clauses if each.permit and each.prefix_list]
    others = {each.prefix_list for other, some in policy.maps.items() if other != name for each in some}
    if lists and lists[0] in others:  # other maps use the list, so the clause may name a wrong one
        yield from (f"route_map[{name}]/{each.sequence}" for each in clauses if each.prefix_list == lists[0])
    for each in lists[:1]:
        words = next(iter(policy.lists.get(each, ())), "").split()
        whole = parse_block(words[0]) if words else None
        longest = int(words[-1]) if words[-2:-1] == ["le"] else 128
        if words[:1] == ["deny"] or (whole and lost and not whole.covers(lost)):
            yield f"prefix_list[{each}]/0"
        bound = "/le" if lost and longest < lost.length else "/ge"
        yield from (f"prefix_list[{each}]/0{leaf}" for leaf in (bound, ""))
    yield from (f"route_map[{name}]/{each.sequence}" for each in clauses[:1])


_TERMS = "platform/policy["


_ACTIONS = ("reject", "accept", "next policy", "next term")


def _rejected_protocols(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report export policies that reject the aggregates of a ToR, or the learned routes of a spine or core."""
    upper = statement.place.tier in UPPER
    if upper or statement.facts_below("bgp/aggregate["):
        kind, what = ("bgp", "no route of other switches") if upper else ("aggregate", "no aggregate")
        for path in (f"{_TERMS}{value}]" for value in connected_maps(statement)):
            terms = str(statement.rest.get(path, "")).split("; ")
            at = _find_rejection(terms, kind)
            if at is not None and sessions.stated:
                name = outer_key(path)
                message = f"{statement.name} announces {what}: {name} rejects the protocol {kind}"
                remedy = "Pass these routes on to the next policy in a term of their own."
                named = [*statement.facts_below(f"structure/policy[{name}]/term[")]
                own = sum(not is_number(each.partition(" ")[0]) for each in terms[:at])
                paths = (*named[own : own + 1], path)
                yield finding_at(
                    SILENT, statement.device, paths, message, "rejected protocol", Severity.WARNING, remedy
                )


def _find_rejection(terms: list[str], protocol: str) -> int | None:
    """Return the number of the first of some terms that matches all routes of a protocol, if it rejects them."""
    for number, term in enumerate(terms):
        action = next((each for each in _ACTIONS if term.endswith(each)), "")
        condition = term.removesuffix(action).split()
        if condition == [protocol] or not condition:
            if action != "next term":
                return number if action == "reject" else None
        elif protocol in condition:
            return None
    return None


def connected_maps(statement: Statement) -> set[str]:
    """Return the policies by which connected routes enter BGP."""
    return {str(value) for path, value in statement.facts_below("bgp/r").items() if CONNECTED.fullmatch(path)}


_LISTED = re.compile(r"\bprefix_list (\S+)")


_LOOPBACK = "loopback/enabled"
"""The fact of a switch whose files state its loopback with all that it has."""


def _foreign_loopback(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report that connected routes pass a list of host routes, none of which is an address of the switch.

    Another file than that of the routing daemon may state the loopback. The loopback is wrong where the list has the
    identifier of the router.
    """
    stated = statement.facts_below("loopback/ip")
    whole = defaults.states_addresses_in_one_file(statement.device.system) and any(
        statement.addresses.values()
    )
    if not (whole or stated or _LOOPBACK in statement.rest):
        return
    maps = connected_maps(statement)
    clauses = [str(v) for path, v in statement.facts_below("route_map[").items() if first_key(path) in maps]
    for name in dict.fromkeys(
        each for clause in clauses if clause.startswith("permit") for each in _LISTED.findall(clause)
    ):
        listed = {
            p: str(v) for p, v in statement.facts_below(f"prefix_list[{name}]/").items() if "/" in str(v)
        }
        single = {
            p: v.partition("/")[0] for p, v in listed.items() if v.endswith(("/32", "/128")) and " " not in v
        }
        if single and sessions.addresses.isdisjoint(single.values()):
            path, address = next(iter(single.items()))
            message = f"{statement.name} announces {address} of its connected routes, which is not one of its addresses"
            remedy = "Name the address of the loopback in the list."
            if (
                not stated or statement.rest.get("bgp/router_id") == address
            ):  # the loopback has another address
                path = "loopback/ipv6" if ":" in address else "loopback/ipv4"
            yield finding_at(
                SILENT, statement.device, path, message, "foreign loopback", Severity.WARNING, remedy
            )


def _promised_prefixes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report own prefixes that lists of exports name, and that no line puts into BGP."""
    system = statement.device.system
    entering = any(map(statement.facts_below, _BESIDE))
    if entering or defaults.exports_connected(system) or defaults.may_announce_loopback(system):
        return
    maps = {str(values.get("export")) for values in statement.sessions.values()} - {"None"}
    lists = {str(values.get("prefix_list_out")) for values in statement.sessions.values()}
    for path, value in statement.facts_below("route_map[").items() if maps else ():
        if first_key(path) in maps and str(value).startswith("permit"):
            lists.update(_LISTED.findall(str(value)))
    stated = [
        block
        for path in _ORIGINS
        for each in statement.facts_below(path)
        if (block := parse_block(first_key(each)))
    ]
    own = {
        str(net)
        for port, texts in statement.addresses.items()
        for text in texts
        if statement.of(port, "vrf") is None and (net := parse_block(text)) and net.length not in _OF_LINKS
    }
    own |= {str(statement.rest.get(f"loopback/ipv{version}")) for version in (4, 6)}
    for path, value in statement.facts_below("prefix_list[").items() if lists and own else ():
        if str(value) in own and first_key(path) in lists:
            block = parse_block(str(value))
            if block is not None and not any(each.covers(block) for each in stated):
                why = f"{first_key(path)} permits it, and no line puts it into BGP"
                message = f"{statement.name} does not announce {value}: {why}"
                remedy = "Announce the prefix by a network statement, or remove it from the list."
                paths = ("bgp/asn", path)
                yield finding_at(
                    SILENT, statement.device, paths, message, "nothing announced", Severity.WARNING, remedy
                )
                return


_BESIDE = (
    "bgp/redistribute",
    "bgp/setting[redistribute",
    "bgp/static",
    "bgp/advertise",
    "bgp/import",
    "bgp/setting[import",
)
_ORIGINS = ("bgp/network[", "bgp/aggregate[")
_OF_LINKS = (30, 31, 126, 127)


def _unannounced_loopbacks(fabric: Switches) -> Iterator[Report]:
    """Report addresses that other switches need, and no network statement, redistribution or static route leads to.

    These are loopbacks with which others have sessions, and those of VTEPs.
    """
    wanted: dict[tuple[str, str], str] = {}
    vteps = [name for name, summary in fabric.summaries.items() if summary.vtep]
    for name, summary in fabric.summaries.items() if not fabric.planned else ():
        for address in summary.distant if summary.joined else ():
            owners = fabric.owners(address)
            if len(owners) == 1 and owners[0] != name and not _is_defaulted(fabric, summary):
                effect = f"with which {name} has a session: it never comes up"
                wanted.setdefault((owners[0], address), effect)
        if summary.vtep and vteps != [name]:
            wanted.setdefault((name, summary.vtep), "the source of its tunnels: no other VTEP reaches it")
    known = {text for summary in fabric.summaries.values() for text in _led_to(summary)} if wanted else set()
    for (name, address), effect in wanted.items():
        far = fabric.summaries.get(name)
        if far is None or not far.alone or _contains(known, address):
            continue
        if not (far.joined or (far.remote and not any(map(is_address, far.remote)))):
            continue
        message, word = f"{name} does not announce {address}, {effect}", ""
        remedy = "Announce the loopback by a network statement, or redistribute connected routes."
        paths = [_NO_ENTRY, *(f"bgp/network[{text}]" for text in far.prefixes), "bgp/router_id", "bgp/asn"]
        if far.maps:
            policy = fabric.policy(name)
            if policy is None or permits_address(policy, far.maps, address):
                continue
            denying = far.maps[0]
            message = f"{name}: {denying[0]} keeps {address} out of BGP, {effect}"
            mine = parse_block(f"{address}/{128 if ':' in address else 32}")
            paths = [*_deciding_paths(policy, denying[0], mine), denying[1]]
            word = "" if paths[0].startswith("prefix_list[") else DENYING[0]
        yield Report(SILENT, name, tuple(paths), message, "loopback", Severity.WARNING, remedy, word)


_NO_ENTRY = "bgp/setting[connected routes]"
"""The fact that a line disables their redistribution."""


def permits_address(policy: Policy, maps: Iterable[tuple[str, str]], address: str) -> bool:
    """Return whether one of some policies of connected routes permits an address."""
    family = "ipv6" if ":" in address else "ipv4"
    mine = parse_block(f"{address}/{128 if ':' in address else 32}")
    route = mine and Route(mine, True, frozenset())
    names = [dict(POLICY_OF_FAMILY.findall(name)).get(family, name) for name, _ in maps]
    return route is None or any(policy.apply(name, route) is not None for name in names if name != "none")


def _led_to(summary: Summary) -> Iterator[str]:
    """Yield the prefixes that a switch announces or has static routes to, but for that of all addresses."""
    yield from summary.prefixes
    yield from (prefix for prefix, _, _ in summary.routes if not prefix.endswith("/0"))


def _is_defaulted(fabric: Switches, summary: Summary) -> bool:
    """Return whether a static route for all addresses leads to a device that is known, and not out of band."""
    return any(
        prefix.endswith("/0") and any(map(fabric.owners, re.split(r"[\s,]+", via)))
        for prefix, via, _ in summary.routes
    )


def _contains(prefixes: Iterable[str], address: str) -> bool:
    """Return whether an address is in one of some prefixes."""
    mine = parse_block(f"{address}/{128 if ':' in address else 32}")
    return mine is None or any((whole := parse_block(text)) and whole.covers(mine) for text in prefixes)


def _small_limits(fabric: Switches) -> Iterator[Report]:
    """Report limits on sessions to upper switches below the number of ToRs whose prefixes come over them."""
    announcing = {
        name
        for name, each in fabric.summaries.items()
        if each.tier is Tier.TOR
        and (
            each.prefixes
            or ((each.attached is None or _may_announce(each.attached)) and _has_peers(fabric, each))
            or (each.maps and not each.joined and any(fabric.linked(name)))  # over ports without addresses
        )
    }
    small = []
    joined: dict[str, int] = {}
    lowest = min((each.limit[0] for each in fabric.summaries.values() if each.limit), default=None)
    each_announces = 1
    if lowest is not None and lowest < _PER_TOR * len(announcing):
        sample = next(
            (policy for name in announcing if (policy := fabric.policy(name)) and policy.followed), None
        )
        each_announces = max(1, _announced(sample, "up")) if sample else 1
    for name, summary in fabric.summaries.items():
        if summary.tier is not Tier.TOR or not summary.limit:
            continue
        others = (len(announcing) - (name in announcing)) * each_announces
        if summary.limit[0] < others:
            if name not in joined:
                part = fabric.reachable({name})
                joined |= dict.fromkeys(part, len(announcing & part))
            others = (joined[name] - (name in announcing)) * each_announces
        if summary.limit[0] < others:
            small.append((name, summary.limit, others))
    yield from _small_limits_beside(fabric)
    if not small or _are_aggregated(fabric):
        return
    for name, (limit, path), others in small:
        message = (
            f"{name} ends a session at more than {limit:,} prefixes: {others // each_announces:,} other ToRs announce "
            f"{'one' if each_announces == 1 else each_announces} each"
        )
        remedy = "Raise the limit well above the number of prefixes of the fabric."
        yield Report(LIMIT, name, (path,), message, "limit of prefixes", Severity.ERROR, remedy)


def _small_limits_beside(fabric: Switches) -> Iterator[Report]:
    """Report limits on sessions to another ToR below the number of prefixes that the other one announces."""
    for name, summary in fabric.summaries.items():
        for limit, path, other in summary.beside_limits:
            policy = fabric.policy(other)
            if policy is None or not policy.followed or limit >= (count := _announced(policy, "peer")):
                continue
            message = (
                f"{name} ends a session at more than {plural(limit, 'prefix')}: {other} announces {count:,}"
            )
            remedy = "Raise the limit well above the number of prefixes of the other ToR."
            yield Report(LIMIT, name, (path,), message, "limit of prefixes", Severity.ERROR, remedy)
            break


_PER_TOR = 8
"""More prefixes than a ToR of a fabric announces: limits above this many for each ToR need no count."""


def _announced(policy: Policy, direction: str) -> int:
    """Return the number of own prefixes of one family that a ToR announces in a direction."""
    counts = Counter(
        prefix.family
        for stance in policy.stances
        if stance.direction == direction and stance.exports in policy.maps
        for prefix in policy.originates
        if prefix.family in stance.families
        and policy.apply(stance.exports, Route(prefix, True, frozenset())) is not None
    )
    return max(counts.values(), default=0)


def _has_peers(fabric: Switches, summary: Summary) -> bool:
    return summary.joined or any(map(fabric.owners, summary.remote))


def _are_aggregated(fabric: Switches) -> bool:
    """Return whether an upper switch announces a prefix that contains one of a ToR, and so may stand for many."""

    def blocks(upper: bool) -> set[Block]:
        texts = (
            text
            for each in fabric.summaries.values()
            if (each.tier in UPPER if upper else each.tier is Tier.TOR)
            for text in each.prefixes
        )
        return {block for text in texts if (block := parse_block(text))}

    below = blocks(upper=False)
    return any(above.covers(block) for above in blocks(upper=True) for block in below)


RULES = (
    SwitchRule(SILENT, POLICY, (Input.BGP,), _foreign_loopback),
    SwitchRule(SILENT, POLICY, (Input.BGP,), _promised_prefixes),
    FabricRule(SILENT, POLICY, (Input.BGP, Input.TIER), _silent_tors),
    FabricRule(SILENT, POLICY, (Input.BGP,), _unannounced_loopbacks),
    SwitchRule(SILENT, POLICY, (Input.BGP, Input.TIER), _rejected_protocols),
    FabricRule(LIMIT, POLICY, (Input.BGP, Input.TIER), _small_limits),
)
