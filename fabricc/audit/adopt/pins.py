"""Infer strides for the lock from the numbers of a fabric: the distance of neighboring coordinates."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_address
from itertools import pairwise
from typing import TYPE_CHECKING

from fabricc.audit.adopt.models import panel_of
from fabricc.audit.adopt.shape import ports_of, uplinks_first
from fabricc.audit.adopt.tables import blocks_of
from fabricc.audit.adopt.trial import match_switches
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from fabricc.facts.device import Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import Found
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId


_ABOVE = {Tier.TOR: Tier.SPINE, Tier.SPINE: Tier.CORE}


def infer_strides(compiled: Compiled, found: Found, order: Order) -> dict[str, int]:
    """Return pins of the lock for strides that differ by the loopbacks, links and blocks of hosts."""
    fabric = compiled.fabric
    facts = {at: found.devices[name].reading.facts for at, name in match_switches(compiled, order).items()}
    first = fabric.addresses.loopbacks4.first
    numbers = {
        at: int(ip_address(str(own["bgp/router_id"]))) - first
        for at, own in facts.items()
        if "bgp/router_id" in own
    }
    tors = {at: number for at, number in numbers.items() if at.tier is TierName.TOR}
    shown = _of_tors(tors) | _of_spines({at: n for at, n in numbers.items() if at.tier is TierName.SPINE})
    shown |= _of_links(fabric, {at: facts[at] for at in tors}, tors)
    shown |= _cage_pins(compiled, found, order)
    names, held = match_switches(compiled, order), blocks_of(found, order)
    blocks = {at: held[names[at]][0] for at in tors}
    shown = {name: value for name, value in shown.items() if name.endswith("_cage") or _of_two(value)}
    more = _of_blocks(fabric, blocks, shown.get("nic_port", fabric.strides.nic_port))
    return shown | {name: value for name, value in more.items() if _of_two(value)}


def _of_two(number: int) -> bool:
    """Return whether a stride can be that number: a power of two."""
    return number & (number - 1) == 0


def _cage_pins(compiled: Compiled, found: Found, order: Order) -> dict[str, int]:
    """Return the number of cages before the uplinks, or between these and other links, if a tier agrees."""
    shown = {}
    for tier, above in _ABOVE.items():
        if (plan := compiled.fabric.tiers.get(TierName(tier.value))) is None:
            continue
        ports = {
            name: {c.port for c in order.cables.get(name, ()) if found.places[c.peer].tier is above}
            for name in order.tier(tier)
        }
        pin = f"{tier.value}_up_cage"
        if uplinks_first(order, ports):
            pin, ports = f"{tier.value}_down_cage", ports_of(order, ports)
        firsts = set()
        for name, some in ports.items():
            known = panel_of(found.devices[name].system, plan.model)
            cages = {use.cage for port in some for use in known.get(port, ())}
            firsts |= {min(cages)} if cages else set()
        if len(firsts) == 1:
            shown[pin] = firsts.pop() - min(group.first for group in plan.model.cages if group.fabric)
    return shown


def _constant_step(pairs: Iterable[tuple[int, int]]) -> int | None:
    """Return the increment of a number per coordinate, if it is constant."""
    ordered = sorted(set(pairs))
    steps = {(two[1] - one[1]) / (two[0] - one[0]) for one, two in pairwise(ordered) if two[0] != one[0]}
    step = steps.pop() if len(steps) == 1 else 0
    return int(step) if step >= 1 and step == int(step) else None


def _of_tors(tors: Mapping[SwitchId, int]) -> dict[str, int]:
    """ToR numbers count NIC ports, then groups, then units."""
    if not tors:
        return {}
    start = min(tors, key=lambda at: (at.unit, at.index, at.nic_port))
    by_unit = _constant_step(
        (at.unit, n) for at, n in tors.items() if (at.index, at.nic_port) == (start.index, start.nic_port)
    )
    by_group = _constant_step(
        (at.index, n) for at, n in tors.items() if (at.unit, at.nic_port) == (start.unit, start.nic_port)
    )
    found = {"nic_port": by_group} if by_group else {}
    if by_unit and by_group and by_unit % by_group == 0:
        found["group"] = by_unit // by_group
    return found


def _of_spines(spines: Mapping[SwitchId, int]) -> dict[str, int]:
    """Spine numbers count planes, then spines, then pods."""
    if not spines:
        return {}
    start = min(spines, key=lambda at: (at.pod, at.plane, at.index))
    by_index = _constant_step(
        (at.index, n) for at, n in spines.items() if (at.pod, at.plane) == (start.pod, start.plane)
    )
    by_pod = _constant_step(
        (at.pod, n) for at, n in spines.items() if (at.index, at.plane) == (start.index, start.plane)
    )
    found = {"plane": by_index} if by_index else {}
    if by_pod and by_index and by_pod % by_index == 0:
        found["spine"] = by_pod // by_index
    return found


def _of_links(
    fabric: Fabric, facts: Mapping[SwitchId, Mapping[str, object]], tors: Mapping[SwitchId, int]
) -> dict[str, int]:
    """The first uplink of a ToR is a subnet's size times the stride after that of the ToR before it."""
    pairs = []
    pool = fabric.addresses.links4
    size = 1 << 32 - pool.link_length if pool else 2
    for at, number in tors.items():
        port = next((port for port in fabric.switch(at).ports if port.direction is Direction.UP), None)
        address = facts[at].get(f"interface[{port.name}]/ipv4") if port else None
        if address is not None:
            pairs.append((number, int(ip_address(str(address).partition("/")[0])) // size))
    step = _constant_step(pairs)
    return {"uplink": step} if step else {}


def _of_blocks(fabric: Fabric, blocks: Mapping[SwitchId, str], nic_port: int) -> dict[str, int]:
    """Blocks of hosts count units within a NIC port and group; a block's length is that of its rails and hosts."""
    firsts = {at: IPv4Network(block) for at, block in blocks.items() if block}
    if len({block.prefixlen for block in firsts.values()}) != 1:
        return {}
    bits = 32 - next(iter(firsts.values())).prefixlen
    by_group = _constant_step(
        (at.index, int(block.network_address) >> bits)
        for at, block in firsts.items()
        if at.unit == 0 and at.nic_port < 1
    )
    found = {"unit": by_group // nic_port} if by_group and by_group % nic_port == 0 else {}
    half, rails = (1 << bits) // 2, fabric.strides.rail
    return found | ({"host": half // rails} if half >= rails else {})
