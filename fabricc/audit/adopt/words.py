"""The words of a spec, read back from what devices state: only those that are not the default."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_interface, ip_network
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.adopt.out_of_band import several
from fabricc.audit.adopt.segments import evpn
from fabricc.audit.model import Kind, Tier
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.front.spec.networks import ADDRESSES, free_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import Device, Found
    from fabricc.fabric.facts import Value

Words = dict[str, Any]
Network = IPv4Network | IPv6Network

_DSCP = re.compile(r"qos/dscp\[(\d+)\]/(?:traffic_class|priority)")
_MARKED = re.compile(r"interface\[[^\]]*\]/queue\[[^\]]*\]/ecn_.*")
_SHARE = re.compile(r"dwrr (\d+)")
_KEY = re.compile(r"user\[([^\]]+)\]/ssh_key")
_ANY_PORT = re.compile(r"interface\[[^\]]*\]/(.*)")
_POOLS = {
    "hosts": "10.0.0.0/10", "links": "10.64.0.0/10", "loopbacks": "10.128.0.0/12",
    "hosts6": "fd00::/48", "links6": "fd00:0:1::/48", "loopbacks6": "fd00:0:2::/48",
}  # fmt: skip
_USUAL_MTU, USUAL_SWITCH_MTU = 9000, 9100
_SPARE = ("10.192.0.0/10", "10.128.0.0/10", "10.64.0.0/10", "100.64.0.0/10")
"""Pools in the place of usual ones that overlap what is there."""
_TWO_BYTES = 64_512
_SHARED = IPv4Network("100.64.0.0/10")
"""Addresses that fabrics may use beside private ones (RFC 6598)."""
_WIDE = 30
"""The other length that subnets of links between switches may have."""
_OUT_OF_BAND = (
    "172.16.0.0/16",
    "172.31.0.0/16",
    "192.168.0.0/16",
    "100.127.0.0/16",
    "10.255.0.0/16",
    "172.24.0.0/16",
)
"""The usual out-of-band network, and others that are taken where it overlaps one of the fabric and none is stated."""
_BLOCKS, _MOST_NETWORKS = 7, 64
"""Further networks whose pools are all different, and how many a lock numbers."""
_LEVELS = ((26, "rdma"), (34, "storage"))


class Sides:
    """The devices of a fabric by tier, and what most of them state."""

    def __init__(self, found: Found, order: Order) -> None:
        self.tiers = {
            tier: [found.devices[name] for name in order.tier(tier)]
            for tier in (Tier.TOR, Tier.SPINE, Tier.CORE)
        }
        self.switches = [device for devices in self.tiers.values() for device in devices]
        self.host_ports = {(cable.peer, cable.peer_port) for host in order.hosts for cable in host.cables}
        self.links = {(name, cable.port) for name, cables in order.cables.items() for cable in cables}
        self.hosts = [device for device in found.devices.values() if device.kind is Kind.HOST]

    def most(self, path: str, devices: Iterable[Device] | None = None) -> Value | None:
        """What most devices that state a fact state."""
        stated = (
            device.reading.facts.get(path) for device in (self.switches if devices is None else devices)
        )
        counted = Counter(value for value in stated if value is not None)
        return counted.most_common(1)[0][0] if counted else None

    def of_ports(self, leaf: str, devices: Iterable[Device]) -> Value | None:
        """What most ports that state a fact state, over some devices."""
        counted: Counter[Value] = Counter()
        for device in devices:
            for path, value in device.reading.facts.items():
                if path.endswith(f"]/{leaf}") and _ANY_PORT.fullmatch(path):
                    counted[value] += 1
        return counted.most_common(1)[0][0] if counted else None


class Usual(NamedTuple):
    """What a spec says where it says nothing.

    Attributes:
        pools: key of `addressing` -> pool; `out_of_band`: the management network.
        services: of `management`, which further networks have from the top level.
    """

    pools: Mapping[str, str] = _POOLS
    out_of_band: str = _OUT_OF_BAND[0]
    services: Mapping[str, Any] = MappingProxyType({})


def usual(number: int, rails: Mapping[str, Any]) -> Usual:
    """What is said of a further network with a number where its section says nothing, beside the words of the rails."""
    free = free_numbers(number, _EVERY)
    pools = {key: value for (section, key), value in free.items() if section == "addressing"}
    services = {key: value for key, value in rails.get("management", {}).items() if key not in ADDRESSES}
    return Usual(pools, free["management", "network"], services)


_EVERY: Words = {"addressing": {"family": "dual"}, "spines": {}}
"""Of a network that takes addresses from every pool."""


def number_of(sides: Sides, taken: Collection[int]) -> int:
    """The number of a further network: the one whose pool of hosts it has, else the lowest that no other has."""
    stated = _stated(sides, "hosts")
    free = (number for number in range(1, _MOST_NETWORKS) if number not in taken)
    pools = {free_numbers(number, _EVERY)["addressing", "hosts"]: number for number in range(_BLOCKS, 0, -1)}
    number = pools.get(stated or "")
    return number if number is not None and number not in taken else next(free)


def settings(sides: Sides, found: Found, order: Order, usual: Usual) -> Words:
    """Everything of a spec but the shape: what does not depend on how switches and hosts are cabled."""
    words: Words = {
        "evpn": evpn(found, order),
        "priorities": priorities(sides),
        "congestion": _congestion(sides),
        "addressing": addressing(sides, usual.pools),
        "routing": routing(sides, found, order),
        "load_balancing": _load_balancing(sides),
        "management": management(sides, usual, several(found, order)),
        "mtu": _mtu(sides),
    }
    return {key: value for key, value in words.items() if value}


def priorities(sides: Sides) -> Words:
    """Classes by their code points, PFC and scheduling; hosts say it where switches do not."""
    devices: list[Device] = [*sides.tiers[Tier.TOR], *sides.hosts]
    speaking = next((d for d in devices if any(map(_DSCP.fullmatch, d.reading.lines))), None)
    if speaking is None:
        return {"default": {}}
    facts = speaking.reading.facts
    points: dict[int, list[int]] = defaultdict(list)
    for path, value in facts.items():
        if (match := _DSCP.fullmatch(path)) and isinstance(value, int):
            points[value].append(int(match[1]))
    lossless = _numbers(sides.of_ports("pfc", [speaking]))
    strict = {number for number in range(8) if _is_strict(sides, speaking, number)}
    rest = max(points, key=lambda number: (len(points[number]), -number))
    found: Words = {}
    for number, own in sorted(points.items(), key=lambda item: (item[0] == rest, item[0])):
        named: Words = {}
        if number != rest:
            named["dscp"] = own[0] if len(own) == 1 else sorted(own)
        if number in lossless:
            named["lossless"] = True
            sends = sides.most("qos/rdma_dscp", sides.hosts)
            if len(own) > 1 and number != rest and sends in own and sends != min(own):
                named["sends"] = sends
        if number in strict:
            named["strict"] = True
        if number != (0 if number == rest else min(own) // 8):
            named["priority"] = number
        found[_class_name(found, named, number == rest)] = named
    return found


def weights(sides: Sides, classes: Words) -> Words | None:
    """The classes with the shares that their queues have, where these come to 100."""
    device = next(iter(sides.tiers[Tier.TOR]))
    shares = {}
    for name, words in classes.items():
        usual = (
            0
            if "dscp" not in words
            else min(words["dscp"]) // 8
            if isinstance(words["dscp"], list)
            else words["dscp"] // 8
        )
        number = words.get("priority", usual)
        share = sides.most(f"qos/traffic_class[{number}]/scheduler", sides.hosts)
        share = share if share is not None else sides.of_ports(f"queue[{number}]/scheduler", [device])
        if (match := _SHARE.fullmatch(str(share))) is not None:
            shares[name] = int(match[1])
    if sum(shares.values()) != 100:
        return None
    return {
        name: words | ({"weight_percent": shares[name]} if name in shares else {})
        for name, words in classes.items()
    }


def _class_name(taken: Words, words: Words, rest: bool) -> str:
    names = ["default"] if rest else ["rdma", "storage"] if "lossless" in words else ["cnp", "control"]
    first = words.get("dscp")
    named = [name for dscp, name in _LEVELS if name in names and dscp == first]
    spare = (f"class{number}" for number in range(8))
    return next(name for name in (*named, *names, *spare) if name not in taken)


def _is_strict(sides: Sides, device: Device, number: int) -> bool:
    leaves = (f"queue[{number}]/scheduler",)
    if any(sides.of_ports(leaf, [device]) == "strict" for leaf in leaves):
        return True
    return device.reading.facts.get(f"qos/traffic_class[{number}]/scheduler") == "strict"


def _numbers(value: Value | None) -> set[int]:
    return {int(each) for each in str(value or "").split(",") if each.isdigit()}


def _congestion(sides: Sides) -> Words:
    tors = sides.tiers[Tier.TOR][:1]
    lossless = _numbers(sides.of_ports("pfc", tors))
    marked = any(_MARKED.fullmatch(path) for device in tors for path in device.reading.facts)
    words: Words = {"profile": "pfc-only"} if lossless and not marked else {}
    if any("trimming/size_bytes" in device.reading.facts for device in tors):
        words["trimming"] = {"class": "cnp", "size_bytes": sides.most("trimming/size_bytes")}
    if sides.most("link_retry") == "true":
        words["link_retry"] = True
    return words


def addressing(sides: Sides, pools: Mapping[str, str]) -> Words:
    """Families, and the pools: the default ones where they hold what is there."""
    words: Words = {}
    networks = _networks(sides)
    four, six = (
        any(key in networks for key in ("hosts", "links")),
        "hosts6" in networks or "links6" in networks,
    )
    if not four and "loopbacks" in networks and not six:
        four = True
    if six:
        words["family"] = "dual" if four else "ipv6"
    if any(path.endswith("]/unnumbered") for device in sides.switches for path in device.reading.facts):
        words["fabric_links"] = "unnumbered"
    lengths = Counter(each.prefixlen for each in networks.get("links", ()))
    if lengths[_WIDE] > lengths.total() / 2:
        words["link_prefix_length"] = _WIDE
    if _segmented(sides):
        networks = {key: each for key, each in networks.items() if not key.startswith("hosts")}
    taken = {key: list(collapse_addresses(each)) for key, each in networks.items()}  # type: ignore[type-var]
    out_of_band = [ip_interface(each).network for each in _management_addresses(sides) if "/" in each]
    for key, usual in pools.items():
        if key.endswith("6") and not six:
            continue
        rivals: list[Network] = [
            *out_of_band,
            *(ip_network(pool) for name, pool in words.items() if name in _POOLS),
        ]
        rivals += [each for name, some in taken.items() if name != key for each in some]
        words[key] = _pool(key, _stated(sides, key), taken.get(key, []), usual, rivals)
    return {key: value for key, value in words.items() if value != pools.get(key)}


def _pool(key: str, stated: str | None, inside: list[Network], usual: str, rivals: list[Network]) -> str:
    """A pool: as filters state it, or the usual one, or the largest that holds what is there and nothing of others."""
    if stated is not None:
        return stated
    free = not any(_overlap(ip_network(usual), each) for each in rivals)
    if free and all(_within(each, ip_network(usual)) for each in inside):
        return usual
    if inside:
        return _widened(covering(inside), rivals)
    spare = () if key.endswith("6") else _SPARE
    return next((each for each in spare if not any(_overlap(ip_network(each), one) for one in rivals)), usual)


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def _widened(network: Network, others: Iterable[Network]) -> str:
    """The largest private block that begins where a network does and holds nothing of the others."""
    others = list(others)
    while (above := network.supernet()).network_address == network.network_address and (
        above.is_private or _within(above, _SHARED)
    ):
        if above.prefixlen < 8 or any(_overlap(above, each) for each in others):
            break
        network = above
    return str(network)


def _management_addresses(sides: Sides) -> list[str]:
    return [str(a) for d in sides.switches if (a := d.reading.facts.get("management/address")) is not None]


def _networks(sides: Sides) -> dict[str, list[Network]]:
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


def _stated(sides: Sides, key: str) -> str | None:
    """The pool that filters of our own making name."""
    kinds = {"loopbacks": 0} if _segmented(sides) else {"hosts": 0, "loopbacks": 1}
    number = kinds.get(key.removesuffix("6"))
    if number is None:
        return None
    family = "V6" if key.endswith("6") else "V4"
    rules = sides.most(f"prefix_list[FABRIC-{family}]/{number}")
    return str(rules).partition(" ")[0] if rules is not None else None


def _segmented(sides: Sides) -> bool:
    """Whether hosts are in segments, whose addresses are no part of the pools."""
    return any(
        path.startswith("evpn/segment[") for tor in sides.tiers[Tier.TOR][:1] for path in tor.reading.facts
    )


def _within(one: Network, other: Network) -> bool:
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]


def covering(networks: Iterable[Network]) -> Network:
    """The smallest block that holds them all."""
    some = list(networks)
    first = min(int(each.network_address) for each in some)
    last = max(int(each.broadcast_address) for each in some)
    block = min(some, key=lambda each: int(each.network_address))
    while int(block.network_address) > first or int(block.broadcast_address) < last:
        block = block.supernet()
    return block


def _asn(found: Found, name: str) -> Value | None:
    return found.devices[name].reading.facts.get("bgp/asn")


def routing(sides: Sides, found: Found, order: Order) -> Words:
    """BGP: ASNs, timers, BFD."""
    words: Words = {}
    asns = [a for d in sides.switches if isinstance(a := d.reading.facts.get("bgp/asn"), int)]
    if asns and max(asns) < 1 << 16:
        words["asn_base"] = _TWO_BYTES
    if any(len({_asn(found, name) for name in names}) > 1 for names in order.spines.values()):
        words["spine_asn"] = "unique"
    for key, usual in (("keepalive_s", 3), ("hold_s", 9)):
        value = sides.most(f"bgp/{key}")
        if isinstance(value, int) and value != usual:
            words[key] = value
    bfd = {key: sides.most(f"bfd/{key}") for key in ("interval_ms", "multiplier")}
    runs = any(
        value == "true"
        for d in sides.switches
        for path, value in d.reading.facts.items()
        if path.endswith("]/bfd")
    )
    if not runs and not any(value is not None for value in bfd.values()):
        words["bfd"] = False
    elif changed := {
        k: v for k, v in bfd.items() if v is not None and v != {"interval_ms": 300, "multiplier": 3}[k]
    }:
        words["bfd"] = changed
    if sides.most("bgp/ttl_security") == "true":
        words["ttl_security"] = True
    return words


def _load_balancing(sides: Sides) -> Words:
    mode, idle = sides.most("load_balancing/mode"), sides.most("load_balancing/flowlet_idle_us")
    words: Words = {"mode": mode} if mode in ("flowlet", "packet") else {}
    if sides.most("load_balancing/queue_pairs") == "true":
        words["queue_pairs"] = True
    if mode == "flowlet" and isinstance(idle, int):
        words["flowlet_idle_us"] = idle
    return words


def management(sides: Sides, usual: Usual, networks: list[Words]) -> Words:
    """The out-of-band network and the services on it."""
    words: Words = {}
    if not any("management/address" in device.reading.facts for device in sides.switches):
        taken = [each for some in _networks(sides).values() for each in some]
        words["network"] = next(
            each
            for each in (usual.out_of_band, *_OUT_OF_BAND)
            if not any(ip_network(each).overlaps(one) for one in taken if one.version == 4)
        )
        words = {key: value for key, value in words.items() if value != usual.out_of_band}
    addresses = _management_addresses(sides)
    counted = Counter(str(ip_interface(each).network) for each in addresses if "/" in each)
    if networks:
        words["networks"] = networks
    elif counted and (network := counted.most_common(1)[0][0]) != usual.out_of_band:
        words["network"] = network
    if counted and not networks:
        block = ip_network(counted.most_common(1)[0][0])
        held = {each.partition("/")[0] for each in addresses}
        free = next((str(each) for each in (block[1], block[-2]) if str(each) not in held), None)
        gateway = sides.most("management/gateway") or free
        if gateway is not None and gateway != str(block[1]):
            words["gateway"] = gateway
    for kind in ("ntp", "dns", "syslog", "access"):
        if (value := sides.most(f"management/{kind}")) is not None:
            words[kind] = str(value).split(",")
    servers, key = sides.most("management/tacacs/servers"), sides.most("management/tacacs/secret")
    if servers is not None:
        words["tacacs"] = {"servers": str(servers).split(","), "key": {"secret": _secret(key, "tacacs")}}
    if (community := sides.most("management/snmp/secret")) is not None:
        words["snmp"] = {"community": {"secret": _secret(community, "snmp")}} | {
            kind: value
            for kind in ("location", "contact")
            if (value := sides.most(f"management/snmp/{kind}"))
        }
    if (port := sides.most("management/gnmi_port")) is not None:
        words["telemetry"] = {"gnmi_port": port}
    interval = sides.most("lldp/interval_s")
    if interval is not None and interval != 30:
        words["lldp"] = {"interval_s": interval}
    if users := _users(sides.switches):
        words["users"] = users
    return {key: value for key, value in words.items() if value != usual.services.get(key)}


def _secret(value: Value | None, usual: str) -> str:
    return str(value).removeprefix(SECRET_PREFIX) if str(value).startswith(SECRET_PREFIX) else usual


def _users(devices: Iterable[Device]) -> list[Words]:
    keys: dict[str, str] = {}
    for device in devices:
        for path, value in device.reading.facts.items():
            if match := _KEY.fullmatch(path):
                keys.setdefault(match[1], str(value))
    return [{"name": name, "ssh_key": key} for name, key in sorted(keys.items())]


def _mtu(sides: Sides) -> Words:
    words: Words = {}
    for key, devices, usual in (
        ("host", sides.hosts, _USUAL_MTU),
        ("switch", sides.tiers[Tier.SPINE] or sides.switches, USUAL_SWITCH_MTU),
    ):
        value = sides.of_ports("mtu", devices)
        if isinstance(value, int) and value != usual:
            words[key] = value
    if "switch" in words and "host" not in words and words["switch"] < _USUAL_MTU:
        words["host"] = words["switch"]
    return words
