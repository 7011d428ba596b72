"""Find the catalog models that a switch or host can be by its ports, and the strides of the lock by its numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from ipaddress import IPv4Network, ip_address
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.adopt.shape import ports_of, uplinks_first
from fabricc.audit.adopt.tables import blocks_of
from fabricc.audit.adopt.trial import match_switches
from fabricc.audit.ends import placement_of
from fabricc.back import nos as back_ends
from fabricc.back.nos.ports import PortKind
from fabricc.catalog.load import load_catalog
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.facts.statement import Device, Tier

if TYPE_CHECKING:
    from fabricc.audit.adopt.groups import Group
    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import FoundFabric
    from fabricc.catalog.model import Catalog, HostModel, HostPorts, SwitchModel
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Value


class Use(NamedTuple):
    """A port name on a model: its cage, its number among how many children, and the possible speeds."""

    cage: int
    child: int
    children: int
    speeds: frozenset[int]


class Lab(NamedTuple):
    """The port names of virtual switches of a system, the first number, and further settings of their model."""

    pattern: str
    first: int
    since: str
    words: Mapping[str, str]


_LABS = {
    "eos": Lab("Ethernet{cage}", 1, "4.30", {"family": "trident"}),
    "frr": Lab("eth{cage}", 1, "8.4", {}),
    "junos": Lab("ge-0/0/{cage}", 0, "19.4", {"flavour": "classic", "child": '"ge-0/0/{cage}:{child}"'}),
}


@cache
def shipped_catalog() -> Catalog:
    """Return the catalog that comes with fabricc."""
    return load_catalog((), ())[0]


@cache
def panel_names(system: str, model: str) -> Mapping[str, tuple[Use, ...]]:
    """Return every name that a port of a catalog model can have -> its meaning."""
    return panel_of(system, shipped_catalog().switches[model])


def panel_of(system: str, switch: SwitchModel) -> Mapping[str, tuple[Use, ...]]:
    """Return every name that a port of a model can have -> what it means."""
    found: dict[str, list[Use]] = {}
    back_end = back_ends.load(system)
    for group in switch.cages:
        children: dict[int, set[int]] = {}
        for breakout in group.breakouts:
            children.setdefault(breakout.children, set()).add(breakout.speed_gbps)
        for cage in group.numbers:
            for count, speeds in children.items():
                for child in range(1, count + 1):
                    names: dict[str, set[int]] = {}
                    for speed in speeds:
                        name = back_ends.port_name_at_speed(back_end, switch, cage, child, count, speed)
                        names.setdefault(name, set()).add(speed)
                    for name, each in names.items():
                        found.setdefault(name, []).append(Use(cage, child, count, frozenset(each)))
    return {name: tuple(uses) for name, uses in found.items()}


@cache
def _of_system(system: str) -> tuple[str, ...]:
    back_end, known = back_ends.load(system), shipped_catalog().switches
    return tuple(name for name in known if back_end.supports(known[name]))


def switch_models(devices: Iterable[Device]) -> list[str]:
    """The models that switches of a tier can be, the likeliest first: their ports, all of them, at their speeds."""
    some = list(devices)
    named = Counter(device.model for device in some if device.model)
    if named:
        return [name for name, _ in named.most_common()]
    device = max(some, key=lambda each: len(placement_of(each).ports))
    placement = placement_of(device)
    ports = {
        port: device.reading.facts.get(f"interface[{port}]/speed_gbps")
        for port in placement.ports
        if placement.kind(port) is PortKind.PORT and not placement.parse_name(port).unit
        if f"platform/sub_ports[{port}]" not in device.reading.facts
    }
    scored = sorted(
        (_count_mismatches(device.system, name, ports), name) for name in _of_system(device.system)
    )
    return [name for strange, name in scored if strange == scored[0][0]]


def _count_mismatches(system: str, model: str, ports: Mapping[str, Value | None]) -> tuple[int, int]:
    """Count the ports of a switch that a model cannot have: unknown names and speeds, cages not mentioned."""
    known = panel_names(system, model)
    children = Counter(
        use.cage for port in ports for use in {use.cage: use for use in known.get(port, ())}.values()
    )
    unlike = sum(
        1
        for port, speed in ports.items()
        if not any(
            (use.children == children[use.cage] and speed in use.speeds) if isinstance(speed, int) else True
            for use in known.get(port, ())
        )
    )
    shown = {use.cage for port in ports for use in known.get(port, ())}
    groups = shipped_catalog().switches[model].cages
    cages = {at for group in groups if group.fabric for at in group.numbers}
    return unlike, len(cages - shown)


Needs = Mapping[str, tuple[int, int]]
"""Further network -> how many ports a host has there, and their speed."""


def host_models(group: Group, gbps: int | None, needs: Needs) -> list[str]:
    """The models that have so many NICs, with ports of that speed, where one is known, or ones that split into it.

    Ports of a host without GPUs belong to none, so any number of NICs may have them.
    """
    nics, ports = _usual_ports(group)
    found = []
    for name, model in shipped_catalog().hosts.items():
        own = model.rails * model.ports_per_nic
        wired = model.rails == nics or not (model.gpus or group.gpus)
        if (
            wired
            and own <= ports
            and gbps in (None, own * model.port_gbps / ports)
            and _has_needed_ports(model, needs)
        ):
            found.append(name)
    return sorted(found, key=lambda name: bool(shipped_catalog().hosts[name].gpus) != group.gpus)


def guest_models(needs: Needs) -> list[str]:
    """Return the models of hosts that are on further networks alone: their own ports are for one of them at most."""
    models = shipped_catalog().hosts
    return [
        name for name in models if not models[name].gpus and _has_needed_ports(models[name], needs, own=True)
    ]


def ports_named(names: Iterable[str], network: str, needs: Needs) -> list[str]:
    """Return port names of host models with equal ports, if no model has a port of the network's name."""
    every = [shipped_catalog().hosts[name].networks for name in names if name in shipped_catalog().hosts]
    if network not in needs or any(network in each for each in every):
        return []
    return sorted(
        {word for each in every for word, ports in each.items() if _fits_need(ports, needs[network])}
    )


def _usual_ports(group: Group) -> tuple[int, int]:
    """Return the NICs and ports that most hosts of a group have."""
    return Counter((host.nics, len(host.cables)) for host in group.hosts).most_common(1)[0][0]


def _has_needed_ports(model: HostModel, needs: Needs, *, own: bool = False) -> bool:
    """Return whether a host has the ports that it needs for further networks, whatever the model calls them.

    `own`: its own ports belong to one of the networks for which it names none.
    """
    unnamed = [need for network, need in needs.items() if network not in model.networks]
    if own and (model.rails * model.ports_per_nic, model.port_gbps) in unnamed:
        unnamed.remove((model.rails * model.ports_per_nic, model.port_gbps))
    named = all(_fits_need(model.networks[each], needs[each]) for each in needs if each in model.networks)
    return named and all(
        any(_fits_need(ports, need) for ports in model.networks.values()) for need in unnamed
    )


def _fits_need(ports: HostPorts, need: tuple[int, int]) -> bool:
    return (ports.nics * ports.ports_per_nic, ports.port_gbps) == need


def generic_switch(devices: Iterable[Device]) -> str | None:
    """Return a catalog file with a model that has the port names of lab switches; None if one does not fit."""
    some = list(devices)
    lab = _LABS.get(some[0].system) if len({device.system for device in some}) == 1 else None
    if lab is None:
        return None
    numbers = set()
    for device in some:
        placement = placement_of(device)
        for port in (port for port in placement.ports if placement.kind(port) is PortKind.PORT):
            match = re.fullmatch(lab.pattern.replace("{cage}", r"(\d{1,9})"), port)
            if match is None:
                return None
            numbers.add(int(match[1]))
    if not numbers:
        return None
    reason = 'assumed: true, reason: "ports as a lab switch has them"'
    count = max(32, 1 << max(numbers).bit_length())
    words = "".join(f"        {key}: {value}\n" for key, value in lab.words.items())
    return f"""\
sources: {{}}
switches:
  {GENERIC_SWITCH}:
    extends: trident3
    title: Switch of the adopted fabric
    vendor: generic
    cages:
      - {{first: {lab.first}, count: {count}, lanes: 4, {reason}, breakouts: [1x{_LAB_GBPS}/4]}}
    nos:
      {some[0].system}:
        {reason.replace(", ", chr(10) + "        ", 1)}
        support: {{since: "{lab.since}", {reason}}}
        port: "{lab.pattern}"
{words}"""


def whole_gbps(system: str, model: str, port: str) -> int | None:
    """The speed of NICs that a port has where its cage is not divided; None for another, or no cage called so."""
    if model == GENERIC_SWITCH:
        return _LAB_GBPS
    speeds = (use.speeds for use in panel_names(system, model).get(port, ()) if use.children == 1)
    return max((speed for some in speeds for speed in some if speed in dict(_NICS)), default=None)


GENERIC_SWITCH = "adopted-switch"
"""Name of the model of lab switches, whose ports no box of the catalog has."""
_LAB_GBPS = 100
GENERIC = "adopted-host"
"""Name of the model of hosts that no file describes; a number follows where there are several."""
_NICS = ((100, "connectx-6-dx"), (200, "connectx-7"), (400, "connectx-7"), (800, "connectx-8"))
_SLOWEST_GBPS = 50
"""Below this speed no NIC of the catalog has ports."""


def generic_hosts(groups: Iterable[tuple[Group, int]]) -> str:
    """A catalog file with a model for each group of hosts, that have as many ports of a speed as ToRs keep for them."""
    lines = ["sources: {}", "hosts:"]
    rails = 0
    slow: dict[int, None] = {}
    for number, (group, gbps) in enumerate(groups):
        nics, ports = _usual_ports(group)
        rails = rails or nics
        slow |= {gbps: None} if gbps < _SLOWEST_GBPS else {}
        lines += _generic_models(generic_name(number), nics if nics == rails else 0, (nics, ports), gbps)
    lines += [] if not slow else ["nics:", *(line for gbps in slow for line in _slow_nic(gbps))]
    return "\n".join(lines) + "\n"


def _slow_nic(gbps: int) -> list[str]:
    """Return the lines of a NIC whose ports are slower than those of any NIC in the catalog."""
    reason = "ports as fast as those of the ToRs; no file of a host was there"
    return [
        f"  {_slow_nic_name(gbps)}:",
        "    extends: connectx-6-dx",
        f"    title: NIC of the adopted fabric, {gbps}G",
        f'    ports: {{splits: [1x{gbps}/1], assumed: true, reason: "{reason}"}}',
    ]


def _slow_nic_name(gbps: int) -> str:
    return f"adopted-nic-{gbps}g"


def generic_name(number: int) -> str:
    """Return the name of the model of a group's hosts."""
    return f"{GENERIC}{number + 1}" if number else GENERIC


def _generic_models(name: str, gpus: int, wired: tuple[int, int], gbps: int) -> list[str]:
    nics, ports = wired
    nic = next((name for speed, name in _NICS if gbps <= speed), "connectx-8")
    nic = _slow_nic_name(gbps) if gbps < _SLOWEST_GBPS else nic
    figures = {
        "gpus": gpus, "rails": nics, "nic": nic, "ports_per_nic": ports // nics, "port_gbps": gbps,
        "management_interface": "eth0",
    }  # fmt: skip
    reason = "read from the ports of ToRs; no file of a host was there"
    return [
        f"  {name}:",
        "    title: Host of the adopted fabric",
        "    vendor: generic",
        *(
            f'    {key}: {{value: {value}, assumed: true, reason: "{reason}"}}'
            for key, value in figures.items()
        ),
    ]


_ABOVE = {Tier.TOR: Tier.SPINE, Tier.SPINE: Tier.CORE}


def infer_strides(compiled: Compiled, found: FoundFabric, order: Order) -> dict[str, int]:
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


def _cage_pins(compiled: Compiled, found: FoundFabric, order: Order) -> dict[str, int]:
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
    ordered = sorted(tors, key=lambda at: (at.unit, at.index, at.nic_port))
    return _nested_steps(
        [(at.unit, at.nic_port, at.index, tors[at]) for at in ordered], inner="nic_port", middle="group"
    )


def _of_spines(spines: Mapping[SwitchId, int]) -> dict[str, int]:
    """Spine numbers count planes, then spines, then pods."""
    ordered = sorted(spines, key=lambda at: (at.pod, at.plane, at.index))
    return _nested_steps(
        [(at.pod, at.plane, at.index, spines[at]) for at in ordered], inner="plane", middle="spine"
    )


def _nested_steps(rows: Sequence[tuple[int, int, int, int]], *, inner: str, middle: str) -> dict[str, int]:
    """Return the steps of numbers in rows of outer, inner and middle coordinate and number."""
    if not rows:
        return {}
    first = rows[0]
    by_middle = _constant_step((row[2], row[3]) for row in rows if row[:2] == first[:2])
    by_outer = _constant_step((row[0], row[3]) for row in rows if row[1:3] == first[1:3])
    found = {inner: by_middle} if by_middle else {}
    if by_outer and by_middle and by_outer % by_middle == 0:
        found[middle] = by_outer // by_middle
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
