"""Invariants 7, 8 and 9 on one switch: its AS number, failure detection, and a session on every link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.proof.invariants.rules import Breach
from fabricc.proof.invariants.view import address_families, as_int, between_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.proof.invariants.view import LinkPort, SwitchView

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


def _check_detection(seen: SwitchView) -> Iterator[Breach]:
    """Check that BFD detects a failure before BGP's hold timer expires, otherwise it is useless."""
    interval, hold = seen.number("bfd/interval_ms"), seen.number("bgp/hold_s")
    multiplier = seen.number("bfd/multiplier") or 3
    if interval is not None and hold is not None and interval * multiplier >= hold * 1000:
        message = f"BFD detects after {interval * multiplier} ms, BGP holds for {hold} s already"
        yield Breach(8, message, "bfd/interval_ms")
    keepalive = seen.number("bgp/keepalive_s")
    if keepalive is not None and hold is not None and 0 < hold < 3 * keepalive:
        message = f"hold time of {hold} s is below three keepalives of {keepalive} s (RFC 4271 section 10)"
        yield Breach(8, message, "bgp/hold_s")


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
            f"up-links lead to {len(remote['up'])} AS numbers without multipath-relax, so one of them is used"
        )
        yield Breach(9, message, "bgp/multipath_relax")


def _missing_sessions(seen: SwitchView, carried: dict[str, set[str]], families: set[str]) -> Iterator[Breach]:
    for link in _enabled_links(seen):
        for family in sorted(families - carried.get(link.port.name, set())):
            message = f"{link.port.name} is up and has no session for {family}, so its path is not used"
            yield Breach(9, message, link.path + "description")


def _enabled_links(seen: SwitchView) -> Iterator[LinkPort]:
    return (link for link in seen.links if link.enabled and between_switches(link))
