"""The words of `addressing`, read back from addresses and filters: families, links, and the pools that hold them."""

from __future__ import annotations

from collections import Counter, defaultdict
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_interface, ip_network
from itertools import chain
from typing import TYPE_CHECKING

from fabricc.facts.device import Kind
from fabricc.front.spec.networks import free_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fabricc.audit.adopt.sides import Sides, Words

Network = IPv4Network | IPv6Network

POOLS = {
    "hosts": "10.0.0.0/10", "links": "10.64.0.0/10", "loopbacks": "10.128.0.0/12",
    "hosts6": "fd00::/48", "links6": "fd00:0:1::/48", "loopbacks6": "fd00:0:2::/48",
}  # fmt: skip
"""Key of `addressing` -> pool of a spec that names none."""
EVERY: Words = {"addressing": {"family": "dual"}, "spines": {}}
"""Of a network that takes addresses from every pool."""
_SPARE = ("10.192.0.0/10", "10.128.0.0/10", "10.64.0.0/10", "100.64.0.0/10")
"""Pools in the place of usual ones that overlap what is there."""
_SHARED = IPv4Network("100.64.0.0/10")
"""The shared address space, which fabrics may use in addition to private addresses (RFC 6598)."""
_WIDE = 30
"""The other length that subnets of links between switches may have."""
_BLOCKS, _MOST_NETWORKS = 7, 64
"""Further networks whose pools are all different, and how many a lock numbers."""


def number_of(sides: Sides, taken: Collection[int]) -> int:
    """The number of a further network: the one whose pool of hosts it has, else the lowest that no other has."""
    stated = _stated_pool(sides, "hosts")
    own = [n for n in range(1, _BLOCKS + 1) if free_numbers(n, EVERY)["addressing", "hosts"] == stated]
    return next(number for number in chain(own, range(1, _MOST_NETWORKS)) if number not in taken)


def infer_addressing(sides: Sides, pools: Mapping[str, str]) -> Words:
    """Infer families and pools: the default pools if they contain the addresses."""
    words: Words = {}
    networks = networks_of(sides)
    six = "hosts6" in networks or "links6" in networks
    if six:
        words["family"] = "dual" if "hosts" in networks or "links" in networks else "ipv6"
    if any(path.endswith("]/unnumbered") for device in sides.switches for path in device.reading.facts):
        words["fabric_links"] = "unnumbered"
    lengths = Counter(each.prefixlen for each in networks.get("links", ()))
    if lengths[_WIDE] > lengths.total() / 2:
        words["link_prefix_length"] = _WIDE
    if _has_segments(sides):
        networks = {key: each for key, each in networks.items() if not key.startswith("hosts")}
    taken = {key: list(collapse_addresses(each)) for key, each in networks.items()}  # type: ignore[type-var]
    out_of_band = [ip_interface(each).network for each in sides.management_addresses() if "/" in each]
    chosen: dict[str, str] = {}
    for key, usual in pools.items():
        if key.endswith("6") and not six:
            continue
        others = [each for name, some in taken.items() if name != key for each in some]
        rivals = [*out_of_band, *map(ip_network, chosen.values()), *others]
        chosen[key] = _choose_pool(key, _stated_pool(sides, key), taken.get(key, []), usual, rivals)
    return words | {key: pool for key, pool in chosen.items() if pool != pools[key]}


def _choose_pool(
    key: str, stated: str | None, inside: list[Network], usual: str, rivals: list[Network]
) -> str:
    """Return a pool: that of filters, the default one, or the largest that contains these addresses and no others."""
    if stated is not None:
        return stated
    if _is_free(ip_network(usual), rivals) and all(_is_within(each, ip_network(usual)) for each in inside):
        return usual
    if inside:
        return _widen_block(covering_block(inside), rivals)
    spare = () if key.endswith("6") else _SPARE
    return next((each for each in spare if _is_free(ip_network(each), rivals)), usual)


def _is_free(network: Network, others: Iterable[Network]) -> bool:
    """Return whether a network contains no foreign address."""
    return not any(network.version == each.version and network.overlaps(each) for each in others)


def _is_within(one: Network, other: Network) -> bool:
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]


def _widen_block(network: Network, others: list[Network]) -> str:
    """Return the largest private block at the start of a network that contains no foreign address."""
    while (above := network.supernet()).network_address == network.network_address and (
        above.is_private or _is_within(above, _SHARED)
    ):
        if above.prefixlen < 8 or not _is_free(above, others):
            break
        network = above
    return str(network)


def covering_block(networks: Iterable[Network]) -> Network:
    """Return the smallest block that contains all networks."""
    some = list(networks)
    last = max(int(each.broadcast_address) for each in some)
    block = min(some, key=lambda each: int(each.network_address))
    while int(block.broadcast_address) < last:
        block = block.supernet()
    return block


def networks_of(sides: Sides) -> dict[str, list[Network]]:
    """Name of a pool -> the networks that are to lie in it."""
    found: dict[str, list[Network]] = defaultdict(list)
    for device in (*sides.switches, *sides.hosts):
        for path, value in device.reading.facts.items():
            for family, six in (("ipv4", ""), ("ipv6", "6")):
                if path == f"loopback/{family}":
                    found["loopbacks" + six].append(ip_interface(str(value)).network)
                elif path.endswith(f"]/{family}") and path.startswith("interface["):
                    port = path[len("interface[") : -len(f"]/{family}")]
                    of_host = device.kind is Kind.HOST or (device.name, port) in sides.host_ports
                    if not of_host and (device.name, port) not in sides.links:
                        continue
                    kind = "hosts" if of_host else "links"
                    network = ip_interface(str(value)).network
                    if device.kind is Kind.HOST or network.num_addresses <= (4 if kind == "links" else 2):
                        found[kind + six].append(network)
        router = device.reading.facts.get("bgp/router_id")
        if router is not None:
            found["loopbacks"].append(ip_network(str(router)))
    return found


def _stated_pool(sides: Sides, key: str) -> str | None:
    """Return the pool that filters of our own making name."""
    kinds = {"loopbacks": 0} if _has_segments(sides) else {"hosts": 0, "loopbacks": 1}
    number = kinds.get(key.removesuffix("6"))
    if number is None:
        return None
    family = "V6" if key.endswith("6") else "V4"
    rules = sides.most(f"prefix_list[FABRIC-{family}]/{number}")
    return str(rules).partition(" ")[0] if rules is not None else None


def _has_segments(sides: Sides) -> bool:
    """Return whether hosts are in segments, whose addresses are not part of the pools."""
    return any(path.startswith("evpn/segment[") for tor in sides.tors[:1] for path in tor.reading.facts)
