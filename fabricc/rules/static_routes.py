"""Find static and default routes that lead traffic astray.

A static route for the prefix of another switch takes traffic from its path. A switch that announces a default route to
the switches above it must have one itself.
"""

from __future__ import annotations

from collections import Counter
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.facts.paths import first_key, outer_key
from fabricc.facts.statement import Statement, Tier, session_path
from fabricc.proof.invariants.prefixes import Block, parse_block
from fabricc.rules.access import ISOLATED
from fabricc.rules.findings import finding_at
from fabricc.rules.next_hops import parse_addresses
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import (
    Key,
    Sessions,
    carries_evpn,
    external_sessions,
    is_address,
    permits_all,
    sessions_to_switches,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.proof.compare import Finding

STATIC = "FAB9660"
DROPS = ("discard", "reject", "receive")
"""What becomes of packets without a next hop; `receive` of Junos gives them to the switch itself."""


def _static_routes(fabric: Switches) -> Iterator[Report]:
    if not any(summary.routes for summary in fabric.summaries.values()):
        return
    origins = find_origins(fabric)
    by_length = _sort_by_length(origins)
    attached = _attached_subnets(fabric)
    by_subnet = _sort_by_length(attached)
    for name, summary in fabric.summaries.items():
        for prefix, via, path in summary.routes:
            mine = parse_block(prefix)
            whole = _covering(mine, by_length) if mine else None
            if via.startswith(_TABLE) and whole is None:
                yield from _misled_address(fabric, name, prefix, path, via)
            if whole is None and mine and mine.length == mine.bits and path in summary.to_hosts:
                yield from _misled_address(fabric, name, prefix, path, "a host" if _next_hops(via) else via)
            dropped = mine if whole is None and via in DROPS else None
            known = False
            if dropped and dropped.length == dropped.bits:
                found = [*_dropped_address(fabric, name, prefix, path)]
                known = bool(found)
                yield from found
            if mine and mine.length == mine.bits and via not in DROPS:
                yield from _detour(fabric, name, prefix, via, path)
            subnet = _covering(dropped, by_subnet) if dropped and not known else None
            if subnet is not None:
                yield from _dropped_subnet(fabric, name, prefix, path, subnet, attached[subnet])
            if whole is None or name in origins[whole]:
                continue
            owner = min(origins[whole])
            if via in DROPS:
                message = f"{name} drops traffic for {prefix}, which is of {owner} ({whole})"
                severity = Severity.ERROR
            elif path in summary.to_hosts or (
                _next_hops(via)
                and not any(_is_reachable(fabric, hop, origins[whole]) for hop in _next_hops(via))
            ):
                message = f"{name} sends traffic for {prefix}, which is of {owner} ({whole}), to {via} alone"
                severity = Severity.WARNING
            else:
                continue
            remedy = "Remove the static route, so that BGP's routes are used."
            yield Report(STATIC, name, (path,), message, "static route", severity, remedy)


_TABLE = "table "
"""Begins a next hop that is another routing table."""


def _sort_by_length(blocks: Iterable[Block]) -> dict[tuple[int, int], dict[int, Block]]:
    """Return family and length -> first address -> block."""
    found: dict[tuple[int, int], dict[int, Block]] = {}
    for each in blocks:
        found.setdefault((each.family, each.length), {})[each.first] = each
    return found


def _attached_subnets(fabric: Switches) -> dict[Block, set[str]]:
    """Return subnets of ports of the default routing instance -> their switches, if some switch drops packets."""
    found: dict[Block, set[str]] = {}
    if any(via in DROPS for summary in fabric.summaries.values() for _, via, _ in summary.routes):
        for name, mine in fabric.subnets().items():
            for each in mine.of(name) if name in fabric.summaries else ():
                if not each.vrf:
                    found.setdefault(each.block, set()).add(name)
    return found


def _dropped_subnet(
    fabric: Switches, name: str, prefix: str, path: str, subnet: Block, owners: set[str]
) -> Iterator[Report]:
    """Report a route that drops traffic for the subnet of a port of another switch, which links lead to."""
    near = sorted(owners & fabric.reachable({name}))
    if near and name not in owners and prefix not in fabric.summaries[name].prefixes:
        message = f"{name} drops traffic for {prefix}, which is of {near[0]} ({subnet})"
        remedy = "Remove the static route, so that learned routes are used."
        yield Report(STATIC, name, (path,), message, "static route", Severity.ERROR, remedy)


def _dropped_address(fabric: Switches, name: str, prefix: str, path: str) -> Iterator[Report]:
    """Report a route that drops traffic for an address of other switches, such as a loopback or an identifier."""
    address = prefix.partition("/")[0]
    named = [each for each, summary in fabric.summaries.items() if summary.router_id == address]
    owners = sorted(fabric.owners(address)) or named
    if owners and name not in owners:
        message = f"{name} drops traffic for {prefix}, which is an address of {owners[0]}"
        remedy = "Remove the static route, so that BGP's routes are used."
        yield Report(STATIC, name, (path,), message, "static route", Severity.ERROR, remedy)


def _detour(fabric: Switches, name: str, prefix: str, via: str, path: str) -> Iterator[Report]:
    """Report a route to an address of a linked switch by way of others, which send the packets back."""
    owners = set(fabric.owners(prefix.partition("/")[0]))
    hops = {far for hop in _next_hops(via) for far in fabric.owners(hop)}
    if hops and owners & {*fabric.linked(name)} and not hops & {*owners, name} and name not in owners:
        message = f"{name} sends traffic for {prefix}, which is of {min(owners)} next to it, to {min(hops)}"
        remedy = "Remove the static route, so that BGP's routes are used."
        yield Report(STATIC, name, (path,), message, "static route", Severity.WARNING, remedy)
    joined = owners & fabric.reachable({name})
    if joined and name not in owners and _next_hops(via) and not any(map(fabric.owners, _next_hops(via))):
        message = (
            f"{name} sends traffic for {prefix}, which is of {min(joined)}, to {via}, which no switch has"
        )
        remedy = "Remove the static route, so that BGP's routes are used."
        yield Report(STATIC, name, (path,), message, "static route", Severity.WARNING, remedy)


def _misled_address(fabric: Switches, name: str, prefix: str, path: str, via: str) -> Iterator[Report]:
    """Report a route to an address of another switch, such as a loopback, by a host, a table or the management."""
    owners = sorted(fabric.owners(prefix.partition("/")[0]))
    if owners and name not in owners:
        message = f"{name} sends traffic for {prefix}, which is an address of {owners[0]}, to {via}"
        remedy = "Remove the static route, so that BGP's routes are used."
        yield Report(STATIC, name, (path,), message, "static route", Severity.WARNING, remedy)


def find_origins(fabric: Switches) -> dict[Block, set[str]]:
    """Return originated prefixes, longer than a pool and shorter than an address -> the originating switches."""
    origins: dict[Block, set[str]] = {}
    for name, summary in fabric.summaries.items():
        for text in summary.prefixes:
            if (mine := parse_block(text)) and 0 < mine.length < mine.bits:
                origins.setdefault(mine, set()).add(name)
    return origins


def _covering(own: Block, by_length: Mapping[tuple[int, int], Mapping[int, Block]]) -> Block | None:
    """Return the longest prefix that contains a block."""
    for length in range(own.length, 0, -1):
        known = by_length.get((own.family, length))
        first = own.first >> (own.bits - length) << (own.bits - length)
        if known and first in known:
            return known[first]
    return None


def _next_hops(via: str) -> list[str]:
    """Return the next hops that are addresses."""
    hops = []
    for word in via.replace(",", " ").split():
        try:
            ip_address(word)
        except ValueError:
            continue
        hops.append(word)
    return hops


def _is_reachable(fabric: Switches, hop: str, owners: set[str]) -> bool:
    """Return whether a next hop is an address of one of these switches, or of no known device."""
    having = fabric.owners(hop)
    return not having or any(name in owners for name in having)


NOWHERE = "FAB9683"
_DEFAULTS = ("static_route[0.0.0.0/0]", "static_route[::/0]")
_HALVES = tuple(f"static_route[{half}/1]" for half in ("0.0.0.0", "128.0.0.0", "::", "8000::"))
"""The two parts of a default route, which take its place."""


def _default_to_nowhere(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a default route for other switches where no way out of the fabric is known."""
    origins = [path for path in (*_ORIGINS, *_WHOLE) if path in statement.rest]
    families = {each for says in statement.sessions.values() for each in str(says.get("families")).split(",")}
    dropped = [
        path
        for family, path in zip(("ipv4", "ipv6"), _DEFAULTS, strict=True)
        if str(statement.rest.get(path, "")).split(" ")[0] in DROPS and family in families
    ]
    entering = {str(statement.rest[path]) for path in _STATICS if path in statement.rest} if dropped else ()
    if any(name in _UNFILTERED or permits_all(statement, name) for name in entering):
        origins += dropped
    if not origins and "default_originate" not in statement.session_leaves:
        return
    joined = sessions_to_switches(statement, sessions)
    known = {key for key, _ in joined}
    if any(_leads_out(statement, path) for path in _DEFAULTS) or any(
        key not in known and not carries_evpn(sessions, key) for key, _ in external_sessions(statement)
    ):
        return
    sent = [
        session_path(key, "default_originate")
        for key, values in joined
        if values.get("default_originate") not in (None, "off")
    ]
    if joined and (paths := [*sent, *origins]):
        message = f"{statement.name} announces a default route and has none, so it drops that traffic"
        remedy = "Remove the default route, or announce it on the switches that lead out of the fabric."
        yield finding_at(
            NOWHERE, statement.device, paths[0], message, "default route", Severity.WARNING, remedy
        )


def _leads_out(statement: Statement, path: str) -> bool:
    """Return whether a static default route leads anywhere but to the management network."""
    hops = _next_hops(str(statement.rest.get(path, "")))
    try:
        network = ip_interface(str(statement.rest.get("management/address", ""))).network
    except ValueError:
        network = None
    drops = statement.rest.get(path) is None or str(statement.rest[path]).split(" ")[0] in DROPS
    return not drops and not (hops and network and all(ip_address(hop) in network for hop in hops))


def _dropped_neighbors(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report static routes that drop packets to the neighbor of a session, in place of the subnet that it is in."""
    routes = statement.facts_below("static_route[")
    dropping = [path for path, value in routes.items() if path.endswith("]") and str(value) in DROPS]
    for path in dropping:
        block = parse_block(outer_key(path))
        hit = [
            key
            for key in statement.sessions
            if block and not key[0] and _covers_alone(statement, sessions, key, block)
        ]
        if hit:
            message = f"{statement.name} drops packets to {hit[0][1]}, with which it has a session"
            remedy = "Remove the static route."
            yield finding_at(
                STATIC, statement.device, path, message, "dropped neighbor", Severity.ERROR, remedy
            )


def _covers_alone(statement: Statement, sessions: Sessions, key: Key, block: Block) -> bool:
    """Return whether a block contains the neighbor of a session, and is longer than each subnet of the port there."""
    mine = parse_block(f"{key[1]}/{128 if ':' in key[1] else 32}") if is_address(key[1]) else None
    texts = statement.addresses.get(sessions.near.get(key, ""), ())
    subnets = [each for each in map(parse_block, texts) if each and mine and each.covers(mine)]
    return bool(
        mine
        and block.covers(mine)
        and block.length > max((each.length for each in subnets), default=mine.length - 1)
    )


_ORIGINS = ("bgp/network[0.0.0.0/0]", "bgp/network[::/0]")
_WHOLE = ("bgp/aggregate[0.0.0.0/0]", "bgp/aggregate[::/0]")
_UNFILTERED = ("all", "unfiltered")
_LIST = "prefix_list["
_POLICY, _ABOUT_DEFAULTS = ("route_map[", _LIST, "platform/policy["), ("static", "0.0.0.0/0", "::/0")
_STATICS = ("bgp/redistribute_static", "bgp/redistribute[static]")


def _import_policies(statement: Statement) -> set[str]:
    """Return the route maps by which routes are received alone, and the lists that they alone name."""
    names = {
        way: {name for says in statement.sessions.values() for name in str(says.get(way, "")).split()}
        for way in ("import", "export")
    }
    entering = set(map(str, statement.facts_below("bgp/r").values()))
    maps = names["import"] - names["export"] - entering
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for path, value in statement.facts_below("route_map[").items():
        named[first_key(path) in maps].update(str(value).split())
    return maps | (named[True] - named[False])


def _dropped_default(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a default route that drops packets on a switch that announces no default route.

    As a static route it takes the place of a default route of BGP.
    """
    paths = [
        path
        for path in (*_DEFAULTS, *_HALVES)
        if any(word in DROPS for word in str(statement.rest.get(path, "")).split(","))
    ]
    if not paths:
        return
    sent = [says.get("default_originate") not in (None, "off") for says in statement.sessions.values()]
    filtered = bool(statement.sessions) and all("export" in says for says in statement.sessions.values())
    received = _import_policies(statement)
    policies = [
        *statement.facts_below("route_map[").values(),
        *statement.facts_below("platform/policy[").values(),
    ]
    bound = [value for says in statement.sessions.values() for value in says.values()]
    used = {word for value in (*policies, *bound) for word in str(value).split()}
    announced = any(sent) or any(
        path.startswith(_ORIGINS)
        or "default-information" in path
        or (path.startswith(_STATICS) and not filtered)
        or (
            path.startswith(_POLICY)
            and any(word in str(value) for word in _ABOUT_DEFAULTS)
            and first_key(path) not in received
            and (not path.startswith(_LIST) or first_key(path) in used)
        )
        for path, value in statement.rest.items()
    )
    inner = not statement.fars or any(
        far.known and far.tier is not Tier.HOST for far in statement.fars.values()
    )
    if paths and inner and sessions.stated and not announced:
        message = f"{statement.name} drops packets by a static default route, which it prefers to one of BGP"
        remedy = "Remove the static route."
        yield finding_at(
            NOWHERE, statement.device, paths[0], message, "dropped default", Severity.WARNING, remedy
        )


def _partly_dropped(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report static routes that lead to a next hop and drop packets at the same time."""
    for path, value in statement.facts_below("static_route[").items():
        if path.endswith("]"):
            ways = str(value).split(",")
            if len(ways) > 1 and any(way in DROPS for way in ways):
                prefix = outer_key(path)
                message = (
                    f"{statement.name} sends packets for {prefix} to a next hop and drops others of them"
                )
                remedy = "Remove one of the two routes, or give the drop a worse preference."
                yield finding_at(
                    STATIC, statement.device, path, message, "partly dropped", Severity.WARNING, remedy
                )


def _routes_to_management(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report static routes from ports of the fabric into the management network, which other lines separate."""
    routes, own = statement.facts_below("static_route["), statement.facts_below("bgp/network[")
    if not (routes or own):
        return
    for path in _DEFAULTS if statement.sessions or statement.has_link_state else ():
        way = str(routes.get(path, ""))
        ports = [each for each in way.split() if statement.parse_name(each).kind is PortKind.MANAGEMENT]
        if ports and "vrf" not in way:
            message = f"{statement.name} sends packets of the fabric by default out of {ports[0]}, its management port"
            remedy = "Put the route into the routing instance or table of management."
            yield finding_at(
                ISOLATED, statement.device, path, message, "management route", Severity.WARNING, remedy
            )
    managed = [port for port in statement.addresses if statement.parse_name(port).kind is PortKind.MANAGEMENT]
    texts = [*(text for port in managed for text in statement.addresses[port]), ""]
    try:
        network = ip_interface(str(statement.rest.get("management/address", texts[0]))).network
    except ValueError:
        return
    others = [each for port, each in statement.addresses.items() if port not in managed] if own else []
    attached = [parse_block(text) for each in others for text in each]
    for path in own:
        if outer_key(path) == str(network) and parse_block(str(network)) not in attached:
            message = f"{statement.name} announces the management network {network} to the fabric"
            remedy = "Remove the announcement, so that no host finds a way there."
            yield finding_at(
                ISOLATED, statement.device, path, message, "management route", Severity.WARNING, remedy
            )
    for path, value in routes.items() if statement.rest.get("management/isolated") == "true" else ():
        inside = [hop for hop in _next_hops(str(value)) if ip_address(hop) in network]
        if inside and path.endswith("]"):
            message = f"{statement.name} sends packets of the fabric for {outer_key(path)} to the management network"
            remedy = "Put the route into the routing instance or table of management."
            yield finding_at(
                ISOLATED, statement.device, path, message, "management route", Severity.WARNING, remedy
            )


def _routes_onto_links(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report static routes onto a link to a switch without a next hop, in whose subnet the destination is not."""
    for path, value in statement.facts_below("static_route[").items():
        port, far = str(value), statement.fars.get(str(value))
        block = parse_block(outer_key(path))
        own = [each for text in statement.addresses.get(port, ()) if (each := parse_block(text))]
        if (
            block and block.length < block.bits and far is not None and far.known and own and path.endswith("]")
            and all(each.family == block.family and not each.covers(block) for each in own)
        ):  # fmt: skip
            message = (
                f"{statement.name} looks for {block} in the subnet of {port}, where only {far.end.device} is"
            )
            remedy = "Name the next hop, or remove the static route."
            yield finding_at(
                STATIC, statement.device, path, message, "route onto a link", Severity.WARNING, remedy
            )


_SIMILAR = 4
"""Static routes with the same next hops, from which one with fewer of them differs by mistake."""


def _narrow_routes(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report the static route that lacks next hops which all similar ones have."""
    stated = statement.facts_below("static_route[")
    if len(stated) <= _SIMILAR:
        return
    hops = {path: frozenset(str(value).split(",")) for path, value in stated.items() if path.endswith("]")}
    usual, count = Counter(hops.values()).most_common(1)[0]
    narrow = [path for path, mine in hops.items() if mine < usual and len(usual) <= 2 * len(mine)]
    if len(usual) > 1 and count >= _SIMILAR and len(narrow) == 1:
        path = narrow[0]
        message = (
            f"{statement.name} has {len(hops[path])} next hops for {first_key(path)}, {len(usual)} for {count} similar "
            "prefixes: paths are unused"
        )
        remedy = "Add the missing next hop."
        yield finding_at(STATIC, statement.device, path, message, "narrow route", Severity.WARNING, remedy)


_SID, _LOCATOR = "srv6/sid[", "srv6/locator["


def _segment_identifiers(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report identifiers of SRv6 of no locator, or by ports without the next hop, and a source that is no address."""
    locators = {
        first_key(path): parse_block(str(value))
        for path, value in statement.facts_below(_LOCATOR).items()
        if path.endswith("]/prefix")
    }
    for path, value in statement.facts_below(_SID).items():
        words = str(value).split()
        stated = dict(zip(words[::2], words[1::2], strict=False))
        locator, port, hop = stated.get("locator", ""), stated.get("interface", ""), stated.get("nexthop", "")
        nets = [each.network for each in parse_addresses(statement.addresses.get(port, []))]
        texts = [] if nets else [text for some in statement.addresses.values() for text in some]
        others = [each.network for each in parse_addresses(texts)]
        mine = parse_block(first_key(path))
        if locators and locator not in locators:
            why = f"there is no locator {locator}"
        elif stated.get("behavior") == "uN" and mine and locators.get(locator) not in (None, mine):
            why = f"it is not the prefix of the locator {locator}"
        elif (
            is_address(hop)
            and not any(ip_address(hop) in net for net in nets)
            and (nets or any(ip_address(hop) in net for net in others))
        ):
            why = f"{port} has no address in the subnet of {hop}"
        else:
            continue
        message = f"{statement.name}: {first_key(path)} of SRv6 leads nowhere: {why}"
        remedy = "Correct the locator, the port or the next hop."
        named = [path]
        if locator not in locators:
            named += [f"{_LOCATOR}{each}]" for each in locators]
        elif not port:
            named.append(f"{_LOCATOR}{locator}]/prefix")
        for each in named:
            yield finding_at(NOWHERE, statement.device, each, message, "identifier", Severity.WARNING, remedy)
        if locator not in locators:
            break
    source = str(statement.rest.get("srv6/source", ""))
    if is_address(source) and str(ip_address(source)) not in _written(sessions.addresses):
        message = f"{statement.name}: packets of SRv6 come from {source}, which is not one of its addresses"
        remedy = "Name the address of the loopback."
        yield finding_at(
            NOWHERE, statement.device, "srv6/source", message, "identifier", Severity.WARNING, remedy
        )


def _written(addresses: Iterable[str]) -> set[str]:
    """Return addresses in one spelling."""
    return {str(ip_address(each)) for each in addresses if is_address(each)}


RULES = (
    SwitchRule(ISOLATED, POLICY, (), _routes_to_management),
    SwitchRule(STATIC, POLICY, (Input.LINKS,), _routes_onto_links),
    FabricRule(STATIC, POLICY, (), _static_routes),
    SwitchRule(NOWHERE, POLICY, (Input.BGP, Input.LINKS), _default_to_nowhere),
    SwitchRule(NOWHERE, POLICY, (Input.BGP,), _dropped_default),
    SwitchRule(STATIC, POLICY, (), _partly_dropped),
    SwitchRule(STATIC, POLICY, (), _narrow_routes),
    SwitchRule(NOWHERE, POLICY, (), _segment_identifiers),
    SwitchRule(STATIC, POLICY, (Input.BGP,), _dropped_neighbors),
)
