"""The words of `management.networks`, read back from the subnets that switches have their management addresses in."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_interface
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.facts.device import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import Found


class _Subnet(NamedTuple):
    """A subnet of a tier; of ToRs with the number of its first unit and how many have it."""

    network: IPv4Network
    gateway: str
    first: int = 0
    units: int = 0


def list_networks(found: Found, order: Order) -> list[dict[str, Any]]:
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


def _of_units(found: Found, order: Order) -> list[_Subnet]:
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


def _subnets_of(found: Found, names: Sequence[str]) -> list[_Subnet]:
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
