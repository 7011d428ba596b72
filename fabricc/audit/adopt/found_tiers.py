"""Group the devices of a fabric by tier, find what most of them state, and derive addressing and priorities from that.

`addressing` is read from addresses and filters (families, links, pools), `priorities` and `congestion` from code
points, queues and PFC.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_interface, ip_network
from itertools import chain
from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import path_pattern, split_list_path
from fabricc.facts.statement import Device, Kind, Tier
from fabricc.front.spec.networks import free_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import FoundFabric
    from fabricc.fabric.facts import Value

Words = dict[str, Any]


class FoundTiers:
    """The switches by tier, and the hosts; `tors` are the switches below, `links` and `host_ports` their cables."""

    def __init__(self, found: FoundFabric, order: Order) -> None:
        self.tiers = {
            tier: [found.devices[name] for name in order.tier(tier)]
            for tier in (Tier.TOR, Tier.SPINE, Tier.CORE)
        }
        self.tors = self.tiers[Tier.TOR]
        self.switches = [device for devices in self.tiers.values() for device in devices]
        self.host_ports = {(cable.peer, cable.peer_port) for host in order.hosts for cable in host.cables}
        self.links = {(name, cable.port) for name, cables in order.cables.items() for cable in cables}
        self.hosts = [device for device in found.devices.values() if device.kind is Kind.HOST]

    def most(self, path: str, devices: Iterable[Device] | None = None) -> Value | None:
        """Return the most common value of a fact on some devices, or on all switches."""
        stated = [each.reading.facts.get(path) for each in (self.switches if devices is None else devices)]
        return _most_common(value for value in stated if value is not None)

    def of_ports(self, leaf: str, devices: Iterable[Device]) -> Value | None:
        """Return what most ports that state a fact state, over some devices; cabled ports first."""
        stated = [
            ((device.name, split_list_path(path, "interface")[0]), value)
            for device in devices
            for path, value in device.reading.facts.items()
            if path.startswith(PORT) and split_list_path(path, "interface")[1] == leaf
        ]
        cabled = self.links | self.host_ports
        return _most_common([value for port, value in stated if port in cabled] or [v for _, v in stated])

    def management_addresses(self) -> list[str]:
        """Return the management addresses of switches, with prefix lengths where these are known."""
        stated = [device.reading.facts.get("management/address") for device in self.switches]
        return [str(address) for address in stated if address is not None]


def _most_common(values: Iterable[Value]) -> Value | None:
    counted = Counter(values)
    return counted.most_common(1)[0][0] if counted else None


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


def number_of(sides: FoundTiers, used_numbers: Collection[int]) -> int:
    """The number of a further network: the one whose pool of hosts it has, else the lowest that no other has."""
    stated = _stated_pool(sides, "hosts")
    own = [n for n in range(1, _BLOCKS + 1) if free_numbers(n, EVERY)["addressing", "hosts"] == stated]
    return next(number for number in chain(own, range(1, _MOST_NETWORKS)) if number not in used_numbers)


def infer_addressing(sides: FoundTiers, pools: Mapping[str, str]) -> Words:
    """Infer families and pools: the default pools if they contain the addresses."""
    words: Words = {}
    networks = networks_of(sides)
    six = "hosts6" in networks or "links6" in networks
    if six:
        words["family"] = "dual" if "hosts" in networks or "links" in networks else "ipv6"
    if any(
        f"interface[{port}]/unnumbered" in device.reading.facts
        for device in sides.switches
        for name, port in sides.links
        if name == device.name
    ):
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


def networks_of(sides: FoundTiers) -> dict[str, list[Network]]:
    """Name of a pool -> the networks that are to lie in it."""
    found: dict[str, list[Network]] = defaultdict(list)
    for device in (*sides.switches, *sides.hosts):
        for path, value in device.reading.facts.items():
            for family, six in (("ipv4", ""), ("ipv6", "6")):
                if path == f"loopback/{family}":
                    found["loopbacks" + six].append(ip_interface(str(value)).network)
                elif path.startswith(PORT) and split_list_path(path, "interface")[1] == family:
                    port = split_list_path(path, "interface")[0]
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


def _stated_pool(sides: FoundTiers, key: str) -> str | None:
    """Return the pool that filters of our own making name."""
    alone = _has_segments(sides) or _has_tenants(sides)
    kinds = {"loopbacks": 0} if alone else {"hosts": 0, "loopbacks": 1}
    number = kinds.get(key.removesuffix("6"))
    if number is None:
        return None
    family = "V6" if key.endswith("6") else "V4"
    rules = sides.most(f"prefix_list[FABRIC-{family}]/{number}")
    return str(rules).partition(" ")[0] if rules is not None else None


def _has_tenants(sides: FoundTiers) -> bool:
    """Return whether ports to hosts are in VRFs, so that the underlay carries loopbacks alone."""
    return any(path.startswith(("evpn/vrf[", "tenant[")) for tor in sides.tors for path in tor.reading.facts)


def _has_segments(sides: FoundTiers) -> bool:
    """Return whether hosts are in segments, whose addresses are not part of the pools."""
    return any(path.startswith("evpn/segment[") for tor in sides.tors[:1] for path in tor.reading.facts)


_DSCP = path_pattern("qos/dscp[#]/(?:traffic_class|priority)")
_MARKED = path_pattern("interface[_]/queue[_]/ecn_.*")
_SHARE = re.compile(r"dwrr (\d+)")
_CODE_POINTS = 64  # of six bits, RFC 2474
_LEVELS = ((26, "rdma"), (34, "storage"))


def infer_classes(sides: FoundTiers) -> Words:
    """Infer classes from code points, PFC and scheduling; hosts provide them if switches do not."""
    devices = [*sides.tors, *sides.hosts]
    speaking = next((d for d in devices if any(map(_DSCP.fullmatch, d.reading.lines))), None)
    if speaking is None:
        return {"default": {}}
    points: dict[int, list[int]] = defaultdict(list)
    for path, value in speaking.reading.facts.items():
        if (match := _DSCP.fullmatch(path)) and isinstance(value, int):
            points[value].append(int(match[1]))
    lossless = _number_set(sides.of_ports("pfc", [speaking]))
    groups = {
        number: group
        for number in points
        if (group := speaking.reading.facts.get(f"qos/traffic_class[{number}]/priority_group")) is not None
    }
    rest = _class_of_rest(points)
    points.setdefault(rest, [])
    found: Words = {}
    for number, own in sorted(points.items(), key=lambda item: (item[0] == rest, item[0])):
        named: Words = {}
        if number != rest:
            named["dscp"] = own[0] if len(own) == 1 else sorted(own)
        if groups.get(number, None if groups else number) in lossless:
            named["lossless"] = True
            sends = sides.most("qos/rdma_dscp", sides.hosts)
            if len(own) > 1 and number != rest and sends in own and sends != min(own):
                named["sends"] = sends
        if _is_strict(sides, speaking, number):
            named["strict"] = True
        if number != (0 if number == rest else min(own) // 8):
            named["priority"] = number
        found[_class_name(found, named, number == rest)] = named
    return found


def infer_weights(sides: FoundTiers, classes: Words) -> Words | None:
    """Return the classes with the shares of their queues, if these sum to 100."""
    shares = {}
    for name, words in classes.items():
        points = words.get("dscp", 0)
        number = words.get("priority", (min(points) if isinstance(points, list) else points) // 8)
        share = sides.most(f"qos/traffic_class[{number}]/scheduler", sides.hosts)
        if share is None:
            share = sides.of_ports(f"queue[{number}]/scheduler", sides.tors[:1])
        if (match := _SHARE.fullmatch(str(share))) is not None:
            shares[name] = {"weight_percent": int(match[1])}
    if sum(share["weight_percent"] for share in shares.values()) != 100:
        return None
    return {name: words | shares.get(name, {}) for name, words in classes.items()}


def infer_congestion(sides: FoundTiers) -> Words:
    """Infer congestion control from the first ToR."""
    tors = sides.tors[:1]
    marked = any(_MARKED.fullmatch(path) for device in tors for path in device.reading.facts)
    words: Words = {"profile": "pfc-only"} if _number_set(sides.of_ports("pfc", tors)) and not marked else {}
    if any("trimming/size_bytes" in device.reading.facts for device in tors):
        words["trimming"] = {"class": "cnp", "size_bytes": sides.most("trimming/size_bytes")}
    if sides.most("link_retry") == "true":
        words["link_retry"] = True
    return words


def _class_of_rest(points: Mapping[int, list[int]]) -> int:
    """Return the class of most code points, or class 0 where the devices state only exceptions from it."""
    if 0 not in points and sum(map(len, points.values())) < _CODE_POINTS:
        return 0
    return max(points, key=lambda number: (len(points[number]), -number))


def _class_name(named_classes: Words, words: Words, rest: bool) -> str:
    names = ["default"] if rest else ["rdma", "storage"] if "lossless" in words else ["cnp", "control"]
    first = words.get("dscp")
    named = [name for dscp, name in _LEVELS if name in names and dscp == first]
    spare = (f"class{number}" for number in range(8))
    return next(name for name in (*named, *names, *spare) if name not in named_classes)


def _is_strict(sides: FoundTiers, device: Device, number: int) -> bool:
    stated = device.reading.facts.get(f"qos/traffic_class[{number}]/scheduler")
    return "strict" in (stated, sides.of_ports(f"queue[{number}]/scheduler", [device]))


def _number_set(value: Value | None) -> set[int]:
    return {int(each) for each in str(value or "").split(",") if is_number(each)}
