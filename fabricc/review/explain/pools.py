"""The pools of a plan, and the rules by which addresses are given out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.fabric.out_of_band import OtherDevices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Address, IPv6Address

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric

    Address = IPv4Address | IPv6Address

HOST_RULE = (
    "Every link of a NIC port has a /31 (RFC 3021) or /127 (RFC 6164) of the hosts pool; the ToR has the even "
    "address, the host the odd one. The links of one ToR are one aligned block, its aggregate."
)
LINK_RULE = (
    "Every cable between switches has a /31 (a /30 where `link_prefix_length` sets it) or /127 of the links pool: "
    "uplinks of ToRs in its lower half, those of spines in its upper half. The upper switch has the lower address."
)
LOOPBACK_RULE = (
    "Loopbacks are numbered by tier: ToRs in the lower half of the pool, spines in its third quarter, cores in its "
    "last."
)
MANAGEMENT_RULE = (
    "The first 16 addresses of the management network are left to gateways and servers; ToRs follow in its lower "
    "half, spines in its third quarter, cores in its last."
)
SUBNET_RULE = (
    "Each subnet of such a network has as many units' ToRs, or as many numbers of spines or cores. Its first 16 "
    "addresses are left to gateways and servers; switches follow, up to the gateway where that is none of the 16."
)
ENDPOINT_RULE = (
    "Each unit has a block of its network in the order of units, those of `beside` hosts from the end on, and in it "
    "each host as many addresses by its slot: its own port, its BMC, then the BMC and the system of each DPU."
)
OOB_RULE = (
    "The first 16 addresses of the network are left to gateways and servers, the next 16 are the aggregation's; "
    "management switches follow by their numbers in the lock."
)
AGGREGATE_RULE = (
    "A ToR announces the block that its host links lie in as one prefix. Nothing above it aggregates: a spine that "
    "did would attract traffic for hosts that a failed link has cut it off from."
)
DOCS = "fabricc docs architecture, Coordinates"


class ContainingPool(NamedTuple):
    """A pool that an address lies in: its name in the plan, the pool, the key of the spec."""

    name: str
    pool: Pool
    key: str


def list_pools(fabric: Fabric) -> Iterator[ContainingPool]:
    """Yield every pool of the plan."""
    for kind in ("hosts", "links", "loopbacks"):
        for version in (4, 6):
            if (pool := fabric.pool(kind, version)) is not None:
                suffix = "" if version == 4 else "6"
                yield ContainingPool(kind, pool, f"addressing.{kind}{suffix}")
    for network in fabric.addresses.management:
        yield ContainingPool("management", network.pool, network.key)


def management_rule(fabric: Fabric, found: ContainingPool) -> str:
    """Return the rule by which a management network gives addresses out."""
    network = next((each for each in fabric.addresses.management if each.key == found.key), None)
    if network is not None and isinstance(network.tier, OtherDevices):
        return ENDPOINT_RULE if network.tier is OtherDevices.HOST else OOB_RULE
    return MANAGEMENT_RULE if found.key == "management.network" else SUBNET_RULE


def offset_in(pool: Pool, address: Address) -> int | None:
    """Return the offset of an address in a pool; None outside it."""
    if pool.version != address.version:
        return None
    offset = int(address) - pool.first
    return offset if 0 <= offset < 1 << pool.bits else None
