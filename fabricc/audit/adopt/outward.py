"""Ways out, read back: ports whose subnet holds a BGP neighbor or a next hop that no device of the folder is."""

from __future__ import annotations

import re
from collections import defaultdict
from ipaddress import ip_address, ip_interface
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.ends import placement_of
from fabricc.back.nos.ports import PortKind
from fabricc.base.numbers import is_number
from fabricc.fabric.external import GROUP
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.facts.paths import path_pattern
from fabricc.facts.statement import Device, End, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fabricc.audit.model import FoundFabric
    from fabricc.fabric.facts import Facts

_ADDRESS = path_pattern("bgp/neighbor[*]/remote_asn")
_ROUTE = path_pattern("(?:vrf[*]/)?static_route[*]")
_RULE = path_pattern(r"prefix_list[*]/(\d{1,9})")
_WORD = re.compile(r"[^a-z0-9]+")
_BEYOND_LABEL = re.compile(r"[^A-Za-z0-9@._-]+")
_LABEL = 64
_NAME, _MAXIMUM_PREFIXES = 16, 16
_FROM = f"FROM-{GROUP}"


class ExternalPort(NamedTuple):
    """A port that leads outside.

    Attributes:
        remotes: addresses at the far end by IP version; `local` of the port, with prefix lengths.
        asn: of the far end, None of static routes; `prefixes` that lead there by these.
        policy: what takes the far end's routes.
    """

    switch: str
    port: str
    local: Mapping[int, str]
    remotes: Mapping[int, str]
    asn: int | None
    prefixes: tuple[str, ...]
    policy: str


def exits_of(found: FoundFabric) -> tuple[ExternalPort, ...]:
    """Return the ways out of all switches."""
    inside = {
        address
        for device in found.devices.values()
        for path, value in device.reading.facts.items()
        if path.endswith(("/ipv4", "/ipv6"))
        for address in [str(value).partition("/")[0]]
    }
    linked = {end for link in found.links for end in (link.a, link.b)}
    return tuple(
        way
        for device in found.devices.values()
        if device.kind is Kind.SWITCH
        for way in _of_switch(device, inside, linked)
    )


def _of_switch(switch: Device, inside: Collection[str], linked: Collection[End]) -> Iterator[ExternalPort]:
    facts, device = switch.reading.facts, placement_of(switch)
    peers = {each: asn for each, asn in _external_peers(facts).items() if each not in inside}
    static = {
        vrf: {hop: prefixes for hop, prefixes in hops.items() if hop not in inside}
        for vrf, hops in _static_hops(facts).items()
    }
    for port in device.ports if peers or any(static.values()) else ():
        if End(switch.name, port) in linked or device.kind(port) is not PortKind.PORT:
            continue
        local = {address.version: str(device.ports[port][leaf]) for leaf, address in device.addresses(port)
                 if leaf in ("ipv4", "ipv6")}  # fmt: skip
        hops = static.get(str(facts.get(f"interface[{port}]/vrf", "")), {})
        to_peers, to_hops = _addresses_in_subnet(local, peers), _addresses_in_subnet(local, hops)
        if to_peers:
            first = next(iter(to_peers.values()))
            policy = str(facts.get(f"bgp/neighbor[{first}]/import", ""))
            yield ExternalPort(switch.name, port, local, to_peers, peers[first], (), policy)
        elif to_hops:
            prefixes = tuple(dict.fromkeys(prefix for hop in to_hops.values() for prefix in hops[hop]))
            yield ExternalPort(switch.name, port, local, to_hops, None, prefixes, "")


def _external_peers(facts: Facts) -> dict[str, int]:
    return {match[1]: value for path, value in facts.items()
            if (match := _ADDRESS.fullmatch(path)) and isinstance(value, int)}  # fmt: skip


def _static_hops(facts: Facts) -> dict[str, dict[str, list[str]]]:
    """Return VRF, "" for none -> next hop of static routes -> their prefixes."""
    hops: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, value in facts.items():
        if match := _ROUTE.fullmatch(path):
            for hop in re.split(r"[\s,]+", str(value)):
                if is_number(hop[:1]) or ":" in hop:
                    hops[match[1] or ""][hop].append(match[2])
    return hops


def _addresses_in_subnet(local: Mapping[int, str], remotes: Iterable[str]) -> dict[int, str]:
    """Return IP version -> the given address that is in the subnet of a port."""
    found: dict[int, str] = {}
    for remote in remotes:
        try:
            address = ip_address(remote)
        except ValueError:
            continue
        if address.version in local and address in ip_interface(local[address.version]).network:
            found.setdefault(address.version, remote)
    return found


def infer_parties(
    found: FoundFabric,
    exits: Iterable[ExternalPort],
    switch_mtu: int,
    tenants: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> dict[str, dict[str, Any]]:
    """Return the section `external`; switches under their present names.

    External links with one AS number and policy are one party, and so are those with the same static routes. Links of
    two tenants are two parties; `tenants`: (switch, port) -> the tenant of a link.
    """
    grouped: dict[tuple[object, ...], list[ExternalPort]] = defaultdict(list)
    for way in exits:
        tenant = tenants.get((way.switch, way.port), "")
        grouped[way.asn, way.policy, way.prefixes, tenant].append(way)
    accepted = accepted_prefixes(found, [ways[0].switch for ways in grouped.values()])
    made: dict[str, dict[str, Any]] = {}
    stated = {key: _party_prefixes(found, ways[0]) for key, ways in grouped.items()}
    ordered = sorted(grouped, key=lambda key: min((accepted.get(p, 0) for p in stated[key]), default=0))
    for key in ordered:
        name = _party_name(found, grouped[key][0], list(made))
        made[name] = _party_section(found, grouped[key], stated[key], switch_mtu)
    return made


def accepted_prefixes(found: FoundFabric, switches: Iterable[str]) -> dict[str, int]:
    """Return external prefix -> its place among all, as in lists of our own making."""
    places: dict[str, int] = {}
    for switch in switches:
        for path, value in found.devices[switch].reading.facts.items():
            if (match := _RULE.fullmatch(path)) and match[1] in _family_names("OUTSIDE"):
                places.setdefault(str(value), int(match[2]))
    return places


def _party_prefixes(found: FoundFabric, way: ExternalPort) -> tuple[str, ...]:
    """Return the prefixes of a party: from its static routes, or from the policy of its sessions."""
    if way.asn is None:
        return way.prefixes
    name = f"ACCEPT-{way.policy.removeprefix(_FROM)}"
    facts = found.devices[way.switch].reading.facts
    return tuple(
        str(value)
        for path, value in facts.items()
        if (match := _RULE.fullmatch(path)) and match[1] in _family_names(name)
    )


def _party_name(found: FoundFabric, way: ExternalPort, used_names: list[str]) -> str:
    """Return a name: from a policy of our own making, else AS number or far end; static ones by list order."""
    if way.policy.startswith(_FROM):
        name = way.policy.removeprefix(_FROM).lower()
    elif way.asn is not None:
        name = f"as{way.asn}"
    else:
        words = _WORD.sub("-", _far_end(found, way)[0].lower()).strip("-").rstrip("0123456789").strip("-")
        name = words if words[:1].isalpha() else "outside"
        if used_names and name < used_names[-1]:
            name = f"{used_names[-1][: _NAME - 4]}-{name[:3]}".strip("-")
    name = name[:_NAME].strip("-")
    return name if name not in used_names else f"{name[: _NAME - 3]}-{len(used_names)}"


def _far_end(found: FoundFabric, way: ExternalPort) -> tuple[str, str]:
    """Return the device at the far end and its port, from descriptions."""
    facts = found.devices[way.switch].reading.facts
    first, _, rest = str(facts.get(f"interface[{way.port}]/description", "")).partition(" ")
    port = rest.split(" ")[0] if rest else ""
    name = _BEYOND_LABEL.sub("-", first).strip("-@._")[:_LABEL]
    return (
        name or f"beyond-{_WORD.sub('-', way.switch.lower())}",
        port or f"of-{_WORD.sub('-', way.port.lower())}",
    )


def _party_section(
    found: FoundFabric, ways: list[ExternalPort], accept: tuple[str, ...], switch_mtu: int
) -> dict[str, Any]:
    first = ways[0]
    facts = found.devices[first.switch].reading.facts
    words: dict[str, Any] = {}
    if first.asn is not None:
        words["asn"] = first.asn
        neighbor = f"bgp/neighbor[{next(iter(first.remotes.values()))}]"
        if (secret := facts.get(f"{neighbor}/secret")) is not None:
            own = str(secret).startswith(SECRET_PREFIX)
            words["password"] = {"secret": str(secret).removeprefix(SECRET_PREFIX) if own else "external"}
        limit = facts.get(f"{neighbor}/maximum_prefixes", _MAXIMUM_PREFIXES)
        if limit != _MAXIMUM_PREFIXES:
            words["maximum_prefixes"] = limit
    usual = {prefix for family, prefix in ((4, "0.0.0.0/0"), (6, "::/0")) if family in first.local}
    if accept and set(accept) != usual:
        words["accept"] = list(accept)
    port = f"interface[{first.port}]"
    if facts.get(f"{port}/trust") == "dscp":
        words["lossless" if facts.get(f"{port}/pfc") else "trust_dscp"] = True
    if (mtu := facts.get(f"{port}/mtu", switch_mtu)) != switch_mtu:
        words["mtu"] = mtu
    words["links"] = [_link_section(found, way) for way in ways]
    return words


def _link_section(found: FoundFabric, way: ExternalPort) -> dict[str, Any]:
    facts = found.devices[way.switch].reading.facts
    peer, peer_port = _far_end(found, way)
    speed = facts.get(f"interface[{way.port}]/speed_gbps")
    words: dict[str, Any] = {"at": way.switch, "port": way.port, "speed_gbps": speed}
    for family, local in sorted(way.local.items()):
        key, remote = ("local", "remote") if family == 4 else ("local6", "remote6")
        words[key] = local
        own = ip_interface(local)
        others = {each for each in own.network if each != own.ip} if own.network.num_addresses <= 4 else set()
        inner = others - ({own.network[0], own.network[-1]} if own.network.num_addresses == 4 else set())
        if family in way.remotes and inner != {ip_address(way.remotes[family])}:
            words[remote] = way.remotes[family]
    words |= {"peer": peer, "peer_port": peer_port}
    length = facts.get(f"interface[{way.port}]/headroom/cable_m", facts.get(f"interface[{way.port}]/cable_m"))
    if isinstance(length, int):
        words["length_m"] = length
    return words


def rename_switches(external: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the section with other names of switches; links at unnamed switches are left out."""
    parted = {}
    for party, words in external.items():
        links = [{**link, "at": names[link["at"]]} for link in words["links"] if link["at"] in names]
        if links:
            parted[party] = {**words, "links": links}
    return parted


def _family_names(name: str) -> tuple[str, str]:
    """Return the names of the prefix lists of both families."""
    return f"{name}-V4", f"{name}-V6"
