"""The closed forms of `fabric.addresses` and `fabric.links` with their numbers filled in.

Every value comes from the function that the planner calls; its text is for reading, and a property test computes it
again. `^` is a power.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.fabric import addresses as adr
from fabricc.fabric import links
from fabricc.fabric.management import management_offset
from fabricc.fabric.shape import Strides, SwitchId, TierName
from fabricc.review.explain.model import Formula

if TYPE_CHECKING:
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.out_of_band import ManagementNetwork

_WORD = re.compile(r"[a-z][a-z_]*[a-z0-9_]*")
_FUNCTIONS = frozenset({"log2"})

Numbers = dict[str, "int | str"]


def make_formula(name: str, symbols: str, numbers: Numbers, value: object) -> Formula:
    """Return a step of a closed form; every word of `symbols` is one of `numbers`."""

    def fill_word(word: re.Match[str]) -> str:
        return word[0] if word[0] in _FUNCTIONS else str(numbers[word[0]])

    return Formula(name, symbols, _WORD.sub(fill_word, symbols), str(value))


def stride_numbers(strides: Strides, *names: str) -> Numbers:
    """`host_stride` -> its value, and so on, of some strides."""
    return {f"{name}_stride": getattr(strides, name) for name in names}


def number_formula(fabric: Fabric, at: SwitchId) -> Formula:
    """Return a switch's number within its tier, see `links.number`."""
    value, strides = links.tier_number(fabric, at), fabric.strides
    if at.tier is TierName.TOR:
        numbers = stride_numbers(strides, "group", "nic_port")
        numbers |= {"unit": at.unit, "group": at.index, "nic_port": at.nic_port}
        symbols = "(unit * group_stride + group) * nic_port_stride + nic_port"
        return make_formula("number", symbols, numbers, value)
    numbers = stride_numbers(strides, "spine", "plane")
    if at.tier is TierName.SPINE:
        numbers |= {"pod": at.pod, "spine": at.index, "plane": at.plane}
        return make_formula("number", "(pod * spine_stride + spine) * plane_stride + plane", numbers, value)
    numbers |= {"core": at.index, "plane": at.plane}
    return make_formula("number", "core * plane_stride + plane", numbers, value)


NUMBER_STRIDES = {
    TierName.TOR: ("group", "nic_port"),
    TierName.SPINE: ("spine", "plane"),
    TierName.CORE: ("plane",),
}
"""The strides that a switch's number is made with."""


def block_formula(fabric: Fabric, at: SwitchId, unit: int, pool: Pool) -> Formula:
    """Return the offset in a hosts pool of a ToR's block for the hosts of a unit, see `links.host_blocks`.

    Units that share ToRs count from the end of the stride.
    """
    own = links.host_blocks(fabric, at, unit)[pool.version == 6]
    if given_block(fabric, at, unit, pool.version):
        return make_formula(
            "block", "given - pool", {"given": pool.address(own), "pool": pool.address(0)}, own
        )
    numbers = stride_numbers(fabric.strides, "nic_port", "unit", "rail", "host")
    numbers |= {"group": at.index, "nic_port": at.nic_port, "unit": adr.unit_number(fabric.strides, unit)}
    symbols = "((group * nic_port_stride + nic_port) * unit_stride + unit) * rail_stride * host_stride * 2"
    return make_formula("block", symbols, numbers, own)


def given_block(fabric: Fabric, at: SwitchId, unit: int, version: int) -> bool:
    """Return whether a ToR's block for the hosts of a unit is given."""
    given = fabric.given.of(at)
    return unit == at.unit and (given.hosts4 if version == 4 else given.hosts6) is not None


def host_link_formulas(
    fabric: Fabric, at: SwitchId, unit: int, slot: int, rail: int, end: int, pool: Pool
) -> tuple[Formula, ...]:
    """Return offset of one end of a host link in its hosts pool.

    Args:
        fabric: the fabric.
        at: the ToR.
        unit: that of the host.
        slot: among the hosts of that unit behind the ToR; `rail`: among the rails that it serves.
        rail: see there.
        end: 1 at the host.
        pool: of its family.
    """
    block = block_formula(fabric, at, unit, pool)
    value = int(block.value) + adr.in_block(fabric.strides, slot, rail) + end
    numbers: Numbers = {"block": block.value, "rail_in_tor": rail, "slot": slot, "end": end}
    numbers |= stride_numbers(fabric.strides, "host")
    symbols = "block + (rail_in_tor * host_stride + slot) * 2 + end"
    return block, make_formula("offset", symbols, numbers, value)


def uplink_formulas(fabric: Fabric, at: SwitchId, uplink: int, end: int) -> tuple[Formula, ...]:
    """Return offset of one end of an uplink in the links pool; `end` is 1 at the lower switch."""
    number = number_formula(fabric, at)
    numbers: Numbers = {"number": number.value, "uplink": uplink, "end": end}
    if at.tier is TierName.TOR:
        numbers |= stride_numbers(fabric.strides, "uplink")
        value = adr.tor_link_offset(fabric.strides, int(number.value), uplink) + end
        return number, make_formula("offset", "(number * uplink_stride + uplink) * 2 + end", numbers, value)
    bits = link_pool_bits(fabric)
    numbers |= stride_numbers(fabric.strides, "spine_uplink") | {"bits": bits}
    value = adr.spine_link_offset(fabric.strides, bits, int(number.value), uplink) + end
    symbols = "2^(bits - 1) + (number * spine_uplink_stride + uplink) * 2 + end"
    return number, make_formula("offset", symbols, numbers, value)


def link_pool_bits(fabric: Fabric) -> int:
    """Bits of the links pool that halves are counted with: the IPv4 pool's where there is one."""
    pool = fabric.addresses.links4 or fabric.addresses.links6
    return pool.end_bits if pool else 0


def loopback_formulas(fabric: Fabric, at: SwitchId, pool: Pool) -> tuple[Formula, ...]:
    """Return offset of a switch's loopback (or router ID) in a loopback pool."""
    number = number_formula(fabric, at)
    numbers: Numbers = {"number": number.value, "bits": pool.bits}
    own = int(number.value)
    if at.tier is TierName.TOR:
        return number, make_formula("offset", "number", numbers, own)
    if at.tier is TierName.SPINE:
        value = adr.spine_loopback_offset(pool.bits, own)
        return number, make_formula("offset", "2^(bits - 1) + number", numbers, value)
    value = adr.core_loopback_offset(pool.bits, own)
    return number, make_formula("offset", "3 * 2^(bits - 2) + number", numbers, value)


def management_formulas(fabric: Fabric, at: SwitchId, network: ManagementNetwork) -> tuple[Formula, ...]:
    """Return offset of a switch's management address in its network."""
    shape, value = fabric.shape, management_offset(fabric, at, network)
    numbers: Numbers = {"reserved": adr.MANAGEMENT_RESERVED}
    if at.tier is TierName.TOR:
        numbers |= {
            "unit": at.unit, "tors_per_unit": shape.tors_per_unit,
            "group": at.index, "nic_ports": shape.nic_ports, "nic_port": at.nic_port,
        }  # fmt: skip
        unit, subnet = "unit", ""
        if network.first:
            numbers["first"], unit = network.first, "(unit - first)"
        if network.units:
            numbers |= {"size": network.size, "units": network.units}
            subnet, unit = f"{unit} // units * size + ", f"{unit} % units"
        symbols = f"{subnet}reserved + {unit} * tors_per_unit + group * nic_ports + nic_port"
        return (make_formula("offset", symbols, numbers, value),)
    number = number_formula(fabric, at)
    if network.tier is not None:
        numbers |= {"number": number.value, "size": network.size, "numbers": network.numbers}
        return number, make_formula(
            "offset", "number // numbers * size + reserved + number % numbers", numbers, value
        )
    numbers = {"number": number.value, "bits": network.pool.bits}
    half = "2^(bits - 1)" if at.tier is TierName.SPINE else "3 * 2^(bits - 2)"
    return number, make_formula("offset", f"{half} + number", numbers, value)


def address_formula(pool: Pool, offset: int) -> Formula:
    """The last step: a pool's first address and an offset give the address; of a /30 the two inner ones are used."""
    numbers: Numbers = {"pool": pool.address(0), "offset": offset}
    if pool.wide:
        address = pool.pair(offset & ~1)[offset & 1]
        return make_formula("address", "pool + offset // 2 * 4 + offset % 2 + 1", numbers, address)
    return make_formula("address", "pool + offset", numbers, pool.address(offset))


def aggregate_formulas(fabric: Fabric, at: SwitchId, unit: int, pool: Pool) -> tuple[Formula, ...]:
    """Return a ToR's aggregate for the hosts of a unit: where its block begins, and how long it is."""
    block = block_formula(fabric, at, unit, pool)
    return block, address_formula(pool, int(block.value)), length_formula(fabric, pool)


def length_formula(fabric: Fabric, pool: Pool) -> Formula:
    """Return the length of every ToR's aggregate."""
    full = 32 if pool.version == 4 else 128
    numbers = stride_numbers(fabric.strides, "rail", "host") | {"full": full}
    value = full - fabric.aggregate_bits()
    return make_formula("length", "full - log2(rail_stride * host_stride * 2)", numbers, value)


def asn_formulas(fabric: Fabric, at: SwitchId) -> tuple[Formula, ...]:
    """Return a switch's ASN, see `links.asn`."""
    bits, value = fabric.routing.asns.bits, links.switch_asn(fabric, at)
    numbers: Numbers = {"asn_base": fabric.routing.asn_base, "pod": at.pod, "plane": at.plane}
    if at.tier is not TierName.TOR and not fabric.routing.unique_spine_asn:
        numbers |= stride_numbers(fabric.strides, "plane")
        spine = at.tier is TierName.SPINE
        above = f"asn_base + 2^{bits - 4} + pod * plane_stride + plane"
        symbols = above if spine else "asn_base + plane"
        return (make_formula("asn", symbols, numbers, value),)
    number = number_formula(fabric, at)
    numbers["number"] = number.value
    power = bits - {TierName.TOR: 1, TierName.SPINE: 2, TierName.CORE: 3}[at.tier]
    return number, make_formula("asn", f"asn_base + 2^{power} + number", numbers, value)
