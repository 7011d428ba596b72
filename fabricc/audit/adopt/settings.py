"""Derive sections of a spec from what devices state: only values other than the default.

`evpn` follows from VLANs, gateways and VRFs of ToRs, `management.networks` from the subnets of management addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import IPv4Network, ip_interface, ip_network
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.adopt import found_tiers
from fabricc.base.numbers import natural_key
from fabricc.fabric.facts import SNMP_LEVEL, Value, split_banner
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.facts.paths import path_pattern
from fabricc.facts.statement import Tier
from fabricc.front.spec.networks import ADDRESSES, free_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import FoundFabric

_SNMP_USER = path_pattern("management/snmp/user[*]/level")
_SNMP_TRAP = path_pattern("management/snmp_trap[*]/user")
_BANNER = re.compile(r"(?!EOF$)[A-Za-z0-9]([A-Za-z0-9 .,:()/!-]{0,198}[A-Za-z0-9.!)])?")
_NTP_KEY = re.compile(r"(\d{1,5}) for all servers")
_CA = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]")
_SECRET_NAME = re.compile(r"[a-z][a-z0-9-]{0,14}[a-z0-9]")
_KEY = path_pattern("user[*]/ssh_key")
_USUAL_TLS_PORT = 6514
UNNAMED_CA = "syslog-ca"
_USUAL_MTU, USUAL_SWITCH_MTU = 9000, 9100
_USUAL_BFD = {"interval_ms": 300, "multiplier": 3}
_TWO_BYTES = 64_512
_OUT_OF_BAND = (
    "172.16.0.0/16",
    "172.31.0.0/16",
    "192.168.0.0/16",
    "100.127.0.0/16",
    "10.255.0.0/16",
    "172.24.0.0/16",
)
"""The usual out-of-band network, and others that are taken where it overlaps one of the fabric and none is stated."""


class SpecDefaults(NamedTuple):
    """The defaults of a spec.

    Attributes:
        pools: key of `addressing` -> pool; `out_of_band`: the management network.
        services: of `management`, which further networks have from the top level.
    """

    pools: Mapping[str, str] = found_tiers.POOLS
    out_of_band: str = _OUT_OF_BAND[0]
    services: Mapping[str, Any] = MappingProxyType({})


def network_defaults(number: int, rails: Mapping[str, Any]) -> SpecDefaults:
    """Return the defaults of a further network with a number, in addition to the words of the rails."""
    free = free_numbers(number, found_tiers.EVERY)
    pools = {key: value for (section, key), value in free.items() if section == "addressing"}
    services = {key: value for key, value in rails.get("management", {}).items() if key not in ADDRESSES}
    return SpecDefaults(pools, free["management", "network"], services)


def infer_settings(
    sides: found_tiers.FoundTiers, found: FoundFabric, order: Order, usual: SpecDefaults
) -> found_tiers.Words:
    """Return all settings of a spec except the shape: those that do not depend on cabling."""
    words: found_tiers.Words = {
        "evpn": infer_evpn(found, order),
        "priorities": found_tiers.infer_classes(sides),
        "congestion": found_tiers.infer_congestion(sides),
        "addressing": found_tiers.infer_addressing(sides, usual.pools),
        "routing": infer_routing(sides, found, order),
        "load_balancing": _load_balancing(sides),
        "management": infer_management(sides, usual, list_networks(found, order)),
        "mtu": _mtu_words(sides),
    }
    return {key: value for key, value in words.items() if value}


def infer_routing(sides: found_tiers.FoundTiers, found: FoundFabric, order: Order) -> found_tiers.Words:
    """Return BGP settings: ASNs, timers, BFD."""
    words: found_tiers.Words = {}
    asns = {name: device.reading.facts.get("bgp/asn") for name, device in found.devices.items()}
    own = [asn for device in sides.switches if isinstance(asn := asns[device.name], int)]
    if own and max(own) < 1 << 16:
        words["asn_base"] = _TWO_BYTES
    if any(len({asns[name] for name in names}) > 1 for names in order.spines.values()):
        words["spine_asn"] = "unique"
    for key, usual in (("keepalive_s", 3), ("hold_s", 9)):
        value = sides.most(f"bgp/{key}")
        if isinstance(value, int) and value != usual:
            words[key] = value
    stated = {key: value for key in _USUAL_BFD if (value := sides.most(f"bfd/{key}")) is not None}
    if changed := {key: value for key, value in stated.items() if value != _USUAL_BFD[key]}:
        words["bfd"] = changed
    elif not stated and not any(
        value == "true" and path.endswith("]/bfd")
        for device in sides.switches
        for path, value in device.reading.facts.items()
    ):
        words["bfd"] = False
    if sides.most("bgp/ttl_security") == "true":
        words["ttl_security"] = True
    return words


def _load_balancing(sides: found_tiers.FoundTiers) -> found_tiers.Words:
    mode, idle = sides.most("load_balancing/mode"), sides.most("load_balancing/flowlet_idle_us")
    words: found_tiers.Words = {"mode": mode} if mode in ("flowlet", "packet", "cluster") else {}
    if sides.most("load_balancing/queue_pairs") == "true":
        words["queue_pairs"] = True
    if mode == "flowlet" and isinstance(idle, int):
        words["flowlet_idle_us"] = idle
    moves = {
        key: sides.most(f"load_balancing/reassignment/{key}") for key in ("probability", "quality_delta")
    }
    if mode == "flowlet" and all(isinstance(each, int) for each in moves.values()):
        words["reassignment"] = moves
    return words


def infer_management(
    sides: found_tiers.FoundTiers, usual: SpecDefaults, networks: list[found_tiers.Words]
) -> found_tiers.Words:
    """Return the out-of-band network and its services."""
    addresses = sides.management_addresses()
    counted = Counter(str(ip_interface(each).network) for each in addresses if "/" in each)
    if counted:
        network = counted.most_common(1)[0][0]
    else:
        network = usual.out_of_band if addresses else _free_network(sides, usual)
    words: found_tiers.Words = {"networks": networks} if networks else {"network": network}
    if words == {"network": usual.out_of_band}:
        words = {}
    if counted and not networks:
        block, held = ip_network(network), {each.partition("/")[0] for each in addresses}
        free = next((str(each) for each in (block[1], block[-2]) if str(each) not in held), None)
        gateway = sides.most("management/gateway") or free
        if gateway is not None and gateway != str(block[1]):
            words["gateway"] = gateway
    for kind in ("ntp", "dns", "syslog", "access"):
        if (value := sides.most(f"management/{kind}")) is not None:
            words[kind] = str(value).split(",")
    banner = split_banner(str(sides.most("management/banner") or ""))
    if all(map(_BANNER.fullmatch, banner)):
        words["banner"] = banner if len(banner) > 1 else banner[0]
    if ntp := _ntp_words(sides):
        words["ntp_authentication"] = ntp
    if tls := _syslog_tls_words(sides, words.get("syslog", [])):
        words["syslog_tls"] = tls
    for protocol in ("tacacs", "radius"):
        servers = sides.most(f"management/{protocol}/servers")
        if servers is not None and "tacacs" not in words:
            key = _secret_words(sides.most(f"management/{protocol}/secret"), protocol)
            words[protocol] = {"servers": str(servers).split(","), "key": {"secret": key}}
    if snmp := _snmp_words(sides):
        words["snmp"] = snmp
    if (port := sides.most("management/gnmi_port")) is not None:
        words["telemetry"] = {"gnmi_port": port}
    interval = sides.most("lldp/interval_s")
    if interval is not None and interval != 30:
        words["lldp"] = {"interval_s": interval}
    if users := _user_words(sides):
        words["users"] = users
    return {key: value for key, value in words.items() if value != usual.services.get(key)}


def _free_network(sides: found_tiers.FoundTiers, usual: SpecDefaults) -> str:
    """Return the first out-of-band network that no other is in."""
    taken = [each for some in found_tiers.networks_of(sides).values() for each in some if each.version == 4]
    networks = (usual.out_of_band, *_OUT_OF_BAND)
    return next(each for each in networks if not any(map(ip_network(each).overlaps, taken)))


def _secret_words(value: Value | None, usual: str) -> str:
    return str(value).removeprefix(SECRET_PREFIX) if str(value).startswith(SECRET_PREFIX) else usual


def _ntp_words(sides: found_tiers.FoundTiers) -> found_tiers.Words:
    """Return the key that all time servers must answer with; empty where not all do, or by another hash."""
    match = _NTP_KEY.fullmatch(str(sides.most("management/ntp_key/use") or ""))
    kind = sides.most(f"management/ntp_key[{match[1]}]/type") if match else None
    if match is None or kind not in ("md5", "sha1"):
        return {}
    secret = sides.most(f"management/ntp_key[{match[1]}]/secret")
    words: found_tiers.Words = {"key_id": int(match[1]), "key": {"secret": _secret_words(secret, "ntp")}}
    return words | ({"type": kind} if kind != "sha1" else {})


def lacks_log_ca(sides: found_tiers.FoundTiers) -> bool:
    """Return whether switches send messages over TLS and no file names the CA of the servers, as those of NX-OS."""
    servers = str(sides.most("management/syslog") or "").split(",")
    over_tls = any(sides.most(f"management/syslog_tls[{server}]/port") is not None for server in servers)
    return over_tls and sides.most("management/syslog_ca") is None


def _syslog_tls_words(sides: found_tiers.FoundTiers, servers: Sequence[str]) -> found_tiers.Words:
    """Return how log servers receive messages over TLS; empty if they differ."""
    ports = {sides.most(f"management/syslog_tls[{server}]/port") for server in servers}
    ca = str(sides.most("management/syslog_ca") or UNNAMED_CA)
    if len(ports) != 1 or None in ports or not _CA.fullmatch(ca):
        return {}
    port = ports.pop()
    return {"ca": ca} | ({"port": port} if port != _USUAL_TLS_PORT else {})


def _snmp_words(sides: found_tiers.FoundTiers) -> found_tiers.Words:
    """Return the section of SNMP; empty without a community and without a user that a spec can describe."""
    community = sides.most("management/snmp/secret")
    words: found_tiers.Words = (
        {"community": {"secret": _secret_words(community, "snmp")}} if community is not None else {}
    )
    levels = {
        match[1]: sides.most(path)
        for device in sides.switches
        for path in device.reading.facts
        if (match := _SNMP_USER.fullmatch(path))
    }
    users = [name for name, level in sorted(levels.items()) if level == SNMP_LEVEL]
    if users:
        words["users"] = [
            {"name": name}
            | {
                kind: {
                    "secret": _secret_words(sides.most(f"management/snmp/user[{name}]/{kind}/secret"), usual)
                }
                for kind, usual in (("auth", "snmp-auth"), ("privacy", "snmp-privacy"))
            }
            for name in users
        ]
        receivers = {
            match[1]: sides.most(path)
            for device in sides.switches
            for path in device.reading.facts
            if (match := _SNMP_TRAP.fullmatch(path))
        }
        if len(used := set(receivers.values())) == 1 and used <= set(users):
            words["traps"] = {"servers": sorted(receivers, key=natural_key), "user": used.pop()}
    texts = {
        kind: value for kind in ("location", "contact") if (value := sides.most(f"management/snmp/{kind}"))
    }
    return words | texts if words else {}


def _user_words(sides: found_tiers.FoundTiers) -> list[found_tiers.Words]:
    keys: dict[str, str] = {}
    for device in sides.switches:
        for path, value in device.reading.facts.items():
            if match := _KEY.fullmatch(path):
                keys.setdefault(match[1], str(value))
    users: list[found_tiers.Words] = [{"name": name, "ssh_key": key} for name, key in sorted(keys.items())]
    for number, user in enumerate(users, 1):
        if (secret := sides.most(f"user[{user['name']}]/secret")) is not None:
            own = f"{user['name']}-hash"
            usual = own if _SECRET_NAME.fullmatch(own) else f"user-{number}-hash"
            user["password"] = {"secret": _secret_words(secret, usual)}
    return users


def _mtu_words(sides: found_tiers.FoundTiers) -> found_tiers.Words:
    words: found_tiers.Words = {}
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


_SEGMENT = path_pattern(r"evpn/segment[#]/(\w+)")
_VRF = path_pattern(r"evpn/vrf[*]/(\w+)")
_VNI_BASE, _ANYCAST_MAC, _VRFS = 10_000, "00:00:5e:00:01:01", {"tenants": {"vlan": 3001}}


def infer_evpn(found: FoundFabric, order: Order) -> dict[str, Any]:
    """Return the section for the segments of the first ToR if every ToR has them; empty without segments."""
    facts = found.devices[order.tier(Tier.TOR)[0]].reading.facts
    segments, vrfs = _facts_by_key(_SEGMENT, facts), _facts_by_key(_VRF, facts)
    segments = {vlan: values for vlan, values in segments.items() if {"vni", "ipv4"} <= values.keys()}
    if not segments:
        return {}
    first = next(iter(segments))
    base = _parse_number(segments[first]["vni"]) - int(first)
    words: dict[str, Any] = {"vni_base": base} if base != _VNI_BASE else {}
    if (mac := facts.get("evpn/anycast_mac", _ANYCAST_MAC)) != _ANYCAST_MAC:
        words["anycast_mac"] = mac
    stated = {
        name: {"vlan": _parse_number(values["vni"]) - base}
        for name, values in vrfs.items()
        if "vni" in values
    }
    if stated != _VRFS:
        words["vrfs"] = stated
    members = _segment_groups(found, order)
    made = {}
    for vlan, values in segments.items():
        segment: dict[str, Any] = {"vlan": int(vlan), "subnet": _subnet_of(values["ipv4"])}
        if "ipv6" in values:
            segment["subnet6"] = _subnet_of(values["ipv6"])
        if len(stated) > 1 and "vrf" in values:
            segment["vrf"] = values["vrf"]
        if len(segments) > 1 and (groups := members.get(int(vlan))):
            segment["groups"] = groups
        made[str(values.get("name", f"vlan{vlan}"))] = segment
    return {"segments": made, **words}


def _facts_by_key(form: re.Pattern[str], facts: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Return thing -> the facts of one form about it."""
    found: dict[str, dict[str, Value]] = {}
    for path, value in facts.items():
        if match := form.fullmatch(path):
            found.setdefault(match[1], {})[match[2]] = value
    return found


def _parse_number(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _subnet_of(gateway: Value) -> str:
    return str(ip_interface(str(gateway)).network)


def _segment_groups(found: FoundFabric, order: Order) -> dict[int, list[str]]:
    """Return VLAN -> the groups whose hosts are in it."""
    members: dict[int, list[str]] = {}
    for group in order.groups:
        cable = group.hosts[0].cables[0]
        vlan = found.devices[cable.peer].reading.facts.get(f"evpn/port[{cable.peer_port}]")
        if isinstance(vlan, int):
            members.setdefault(vlan, []).append("gpus" if len(order.groups) == 1 else group.name)
    return members


class _Subnet(NamedTuple):
    """A subnet of a tier; of ToRs with the number of its first unit and how many have it."""

    network: IPv4Network
    gateway: str
    first: int = 0
    units: int = 0


def list_networks(found: FoundFabric, order: Order) -> list[dict[str, Any]]:
    """Return the networks if switches are in more than one; ToRs in the order of units, then spines and cores."""
    tors = _of_units(found, order)
    above = [(tier, _subnets_of(found, order.tier(tier))) for tier in (Tier.SPINE, Tier.CORE)]
    every = {each.network for each in tors} | {each.network for _, some in above for each in some}
    if len(every) < 2 or not tors or any(len(some) > 1 for _, some in above):
        return []
    made = _of_tors(tors)
    own = {each.network for each in tors}
    for tier, some in above:
        for each in some:
            if each.network not in own:
                made.append({"tier": tier.value} | _network_words(each, each.network))
    return made


def _of_units(found: FoundFabric, order: Order) -> list[_Subnet]:
    """Return the subnets of ToRs: units in a row that share one."""
    subnets = [_subnets_of(found, unit.names) for unit in order.units]
    if any(len(each) != 1 for each in subnets):
        return []
    numbered = [(each[0], number) for number, each in enumerate(subnets)]
    made = []
    for subnet, members in groupby(numbered, key=lambda pair: pair[0]):
        numbers = [number for _, number in members]
        made.append(subnet._replace(first=numbers[0], units=len(numbers)))
    return made


def _subnets_of(found: FoundFabric, names: Sequence[str]) -> list[_Subnet]:
    """Return the subnets of some switches."""
    subnets: dict[_Subnet, None] = {}
    for name in names:
        facts = found.devices[name].reading.facts
        address, gateway = str(facts.get("management/address", "")), str(facts.get("management/gateway", ""))
        if "/" in address and isinstance(network := ip_interface(address).network, IPv4Network):
            subnets[_Subnet(network, gateway)] = None
    return list(subnets)


def _of_tors(subnets: list[_Subnet]) -> list[dict[str, Any]]:
    """Return one network in subnets where they follow each other, else a network for each."""
    first, *others = subnets
    alike = all(each.units == first.units for each in subnets[:-1]) and subnets[-1].units <= first.units
    size = first.network.num_addresses
    starts = [int(each.network.network_address) for each in subnets]
    following = all(two - one == size for one, two in pairwise(starts))
    whole = IPv4Network((starts[0], first.network.prefixlen - max(0, len(others)).bit_length()), strict=False)
    if others and alike and following and int(whole.network_address) == starts[0]:
        parts = {"prefix_length": first.network.prefixlen, "units": first.units}
        return [_network_words(first, whole) | parts]
    last = len(subnets) - 1
    return [
        _network_words(each, each.network) | ({"units": each.units} if number < last else {})
        for number, each in enumerate(subnets)
    ]


def _network_words(subnet: _Subnet, network: IPv4Network) -> dict[str, Any]:
    words: dict[str, Any] = {"network": str(network)}
    return words | ({"gateway": subnet.gateway} if subnet.gateway not in ("", str(network[1])) else {})
