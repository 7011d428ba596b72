"""Check invariants 1, 7, 8, 9, 11, 19 and 20 on one switch.

Ports: lanes, routed ports, MTU, and names in use. Sessions: the AS number, failure detection, one on every link.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.fabric.vocabulary import port_paths
from fabricc.proof.invariants.rules import Breach
from fabricc.proof.invariants.view import LinkPort, SwitchView, address_families, as_int, between_switches

if TYPE_CHECKING:
    from collections.abc import Iterator


def closure_breaches(seen: SwitchView) -> Iterator[Breach]:
    """References without a definition, and ports that are neither planned nor shut."""
    reported: set[str] = set()
    for neighbor, attributes in seen.neighbors.items():
        for leaf in ("import", "export"):
            name = attributes.get(leaf)
            if name is not None and name not in seen.maps and str(name) not in reported:
                reported.add(str(name))
                message = f"route map {name} of neighbor {neighbor} does not exist"
                yield Breach(20, message, f"bgp/neighbor[{neighbor}]/{leaf}")
    connected = seen.facts.get("bgp/redistribute_connected")
    if connected not in (None, "unfiltered") and connected not in seen.maps:
        yield Breach(20, f"route map {connected} does not exist", "bgp/redistribute_connected")
    for name, clauses in seen.maps.items():
        for sequence, clause in clauses.items():
            yield from _check_references(seen, name, sequence, clause)
    planned = {port.name: port for port in seen.switch.ports}
    for name in seen.enabled:
        port = planned.get(name)
        if port is None or port.peer is None:
            yield Breach(20, f"{name} is unused and not shut", f"interface[{name}]/enabled")


def _check_references(seen: SwitchView, name: str, sequence: int, clause: str) -> Iterator[Breach]:
    words = clause.split()
    for keyword, known in (("prefix_list", seen.lists), ("community_list", seen.communities)):
        if keyword in words[:-1] and (named := words[words.index(keyword) + 1]) not in known:
            message = f"route map {name} {sequence} matches {keyword.replace('_', ' ')} {named}, which does not exist"
            yield Breach(20, message, f"route_map[{name}]/{sequence}")


def port_breaches(seen: SwitchView) -> Iterator[Breach]:
    """Invariants 1, 11 and 19 as far as one switch's ports show them."""
    yield from _check_lanes(seen)
    yield from far_ends(seen)
    yield from _check_flooding(seen)
    yield from _check_mtu(seen)


def _check_lanes(seen: SwitchView) -> Iterator[Breach]:
    """Check that no lane serves two ports, and no cage provides more than its capacity."""
    switch, facts = seen.switch, seen.facts
    room = {number: group.lanes for group in switch.model.cages for number in group.numbers}
    used: Counter[int] = Counter()
    owner: dict[str, str] = {}
    for port in switch.ports:
        if port.peer is None:
            continue
        stated = facts.get(port_paths(port.name)["lanes"], port.lanes)
        if isinstance(stated, int):
            used[port.cage] += stated
            continue
        lanes = str(stated).split(",")
        used[port.cage] += len(lanes)
        for lane in lanes:
            if (other := owner.setdefault(lane, port.name)) != port.name:
                message = f"{port.name} uses lane {lane}, which is {other}'s"
                yield Breach(1, message, f"interface[{port.name}]/lanes")
                break
    for cage, lanes_used in used.items():
        if lanes_used > room.get(cage, 0):
            names = [p.name for p in switch.ports if p.cage == cage and p.peer]
            message = f"cage {cage} has {room.get(cage, 0)} lanes, its ports use {lanes_used}"
            yield Breach(1, message, f"interface[{names[-1]}]/lanes")


def far_ends(seen: SwitchView) -> Iterator[Breach]:
    """No two ports lead to one port of a neighbor."""
    first: dict[tuple[str, str], str] = {}
    for link in seen.links:
        peer = link.port.peer
        if peer is None:
            continue
        other = first.setdefault((peer.device, peer.port), link.port.name)
        if other != link.port.name:
            message = f"{link.port.name} and {other} both lead to {peer.device} {peer.port}"
            yield Breach(1, message, link.path + "description")


def _check_flooding(seen: SwitchView) -> Iterator[Breach]:
    """Check that lossless ports are routed: flooded lossless frames form hidden cycles (Guo et al., SIGCOMM 2016)."""
    for link in seen.links:
        if not (link.enabled and link.lossless.pfc):
            continue
        if not link.routed or not (link.ipv4 or link.ipv6 or link.unnumbered):
            message = f"{link.port.name} is lossless and not routed, so lossless frames can be flooded"
            yield Breach(11, message, link.path + ("pfc" if link.routed else "routed"))


def _check_mtu(seen: SwitchView) -> Iterator[Breach]:
    """Check that all links between switches have one MTU, and those to hosts at least that."""
    values = Counter(link.mtu for link in seen.links if between_switches(link) and link.mtu is not None)
    if len(values) > 1:
        usual = values.most_common(1)[0][0]
        for link in seen.links:
            if between_switches(link) and link.mtu not in (None, usual):
                message = f"{link.port.name} has an MTU of {link.mtu}, the other links of the switch {usual}"
                yield Breach(19, message, link.path + "mtu")


PRIVATE_ASNS = (range(64_512, 65_535), range(4_200_000_000, 4_294_967_295))
"""RFC 6996; the last of each block is reserved (RFC 7300)."""


def is_private_asn(asn: int) -> bool:
    """Return whether an AS number is for private use."""
    return any(asn in block for block in PRIVATE_ASNS)


def session_breaches(seen: SwitchView) -> Iterator[Breach]:
    """Invariants 7 to 9 as far as one switch's sessions show them."""
    asn = seen.number("bgp/asn")
    if asn is not None and not is_private_asn(asn):
        yield Breach(7, f"AS {asn} is not for private use (RFC 6996)", "bgp/asn")
    for neighbor, attributes in seen.neighbors.items():
        if asn is not None and attributes.get("remote_asn") == asn:
            message = f"neighbor {neighbor} has the switch's own AS {asn}, so routes stop there"
            yield Breach(7, message, f"bgp/neighbor[{neighbor}]/remote_asn")
    yield from _check_detection(seen)
    yield from _check_paths(seen)


_USUAL_HOLDS_S = (9, 30, 90, 180)
"""Hold times of vendors' defaults and guides: with one of them, the keepalive is at fault."""
_SHORTEST_HOLD_S = 3
"""Shorter hold times are none, but for 0, which never ends (RFC 4271 section 4.2)."""


_MOST_LOST = 10
"""Lost packets after which detection is late by their number, whatever the interval: systems have 3 by default."""


def _check_detection(seen: SwitchView) -> Iterator[Breach]:
    """Check that BFD detects a failure before BGP's hold timer expires, otherwise it is useless."""
    interval, hold = seen.number("bfd/interval_ms"), seen.number("bgp/hold_s")
    multiplier = seen.number("bfd/multiplier") or 3
    if interval is not None and hold and interval * multiplier >= hold * 1000:
        message = f"BFD detects after {interval * multiplier} ms, BGP holds for {hold} s already"
        path = "bfd/multiplier" if multiplier > _MOST_LOST else "bfd/interval_ms"
        yield Breach(8, message, "bgp/hold_s" if hold < _SHORTEST_HOLD_S else path)
    keepalive = seen.number("bgp/keepalive_s")
    if keepalive is not None and hold is not None and 0 < hold < 3 * keepalive:
        message = f"hold time of {hold} s is below three keepalives of {keepalive} s (RFC 4271 section 10)"
        yield Breach(8, message, "bgp/keepalive_s" if hold in _USUAL_HOLDS_S else "bgp/hold_s")


def _check_paths(seen: SwitchView) -> Iterator[Breach]:
    """Check that every enabled link to a switch has a session per family, and that uplinks fit into maximum-paths."""
    if seen.number("bgp/asn") is None:
        return
    ports = seen.by_neighbor
    carried: dict[str, set[str]] = {}
    remote: dict[str, set[int]] = {"up": set(), "down": set()}
    per_peer: dict[tuple[str, str], int] = {}
    for neighbor, attributes in seen.neighbors.items():
        link = ports.get(neighbor)
        if link is None or link.port.peer is None or not link.enabled:
            continue
        families = address_families(attributes.get("families"))
        carried.setdefault(link.port.name, set()).update(families)
        direction = link.port.direction.value
        remote.setdefault(direction, set()).add(as_int(attributes.get("remote_asn")) or 0)
        to = "above" if direction == "up" else link.port.peer.device
        for family in families:
            per_peer[to, family] = per_peer.get((to, family), 0) + 1
    needed = {f for have in carried.values() for f in have if f}
    yield from _missing_sessions(seen, carried, needed)
    most = seen.number("bgp/maximum_paths")
    widest = max(per_peer.values(), default=0)
    if most is not None and most < widest:
        yield Breach(9, f"{widest} equal paths and maximum-paths {most}", "bgp/maximum_paths")
    if len(remote["up"]) > 1 and seen.facts.get("bgp/multipath_relax") != "true":
        message = (
            f"uplinks lead to {len(remote['up'])} AS numbers without multipath-relax, so one of them is used"
        )
        yield Breach(9, message, "bgp/multipath_relax")


def _missing_sessions(seen: SwitchView, carried: dict[str, set[str]], families: set[str]) -> Iterator[Breach]:
    for link in _enabled_links(seen):
        for family in sorted(families - carried.get(link.port.name, set())):
            message = f"{link.port.name} is up and has no session for {family}, so its path is not used"
            yield Breach(9, message, _find_stray(seen) or link.path + "description")


def _find_stray(seen: SwitchView) -> str:
    """Return the fact of the only session that leads to none of the ports, but is otherwise like one that does.

    Its address is wrong. Returns "" without one.
    """
    linked = {
        attributes.get("remote_asn")
        for name, attributes in seen.neighbors.items()
        if name in seen.by_neighbor
    }
    strays = [
        f"bgp/neighbor[{neighbor}]/configured"
        for neighbor, attributes in seen.neighbors.items()
        if neighbor not in seen.by_neighbor
        and "configured" in attributes
        and attributes.get("remote_asn") in linked
        and not {"update_source", "multihop"} & attributes.keys()
    ]
    return strays[0] if len(strays) == 1 else ""


def _enabled_links(seen: SwitchView) -> Iterator[LinkPort]:
    return (link for link in seen.links if link.enabled and between_switches(link))
