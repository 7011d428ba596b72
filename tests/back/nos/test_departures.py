"""A NOS expresses every fact of the Fabric except those that it declares as rounded or left out."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import translate
from functools import cache
from pathlib import Path
from re import compile as pattern_of
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import BUILT_IN, load
from fabricc.back.nos.base import LEFT_OUT
from fabricc.back.nos.cumulus import DEPARTURES as CUMULUS_DEPARTURES
from fabricc.back.nos.eos import DEPARTURES as EOS_DEPARTURES
from fabricc.back.nos.frr import DEPARTURES as FRR_DEPARTURES
from fabricc.back.nos.junos import DEPARTURES as JUNOS_DEPARTURES
from fabricc.back.nos.nxos import DEPARTURES as NXOS_DEPARTURES
from fabricc.back.nos.sonic import DEPARTURES as SONIC_DEPARTURES
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.facts import congestion_facts, setting_facts, switch_facts
from fabricc.fabric.model import Direction
from fabricc.fabric.qos import Trimming, Watchdog
from fabricc.fabric.routing import LoadBalancing, PrefixList, PrefixRule, Reassignment, Spreading
from tests import outward, segmented, tenanted
from tests.back.nos.cumulus.variants import VARIANTS as CUMULUS_VARIANTS
from tests.back.nos.cumulus.variants import variant as cumulus_variant
from tests.back.nos.eos.variants import VARIANTS as EOS_VARIANTS
from tests.back.nos.eos.variants import variant as eos_variant
from tests.back.nos.frr.variants import VARIANTS as FRR_VARIANTS
from tests.back.nos.junos.variants import VARIANTS as JUNOS_VARIANTS
from tests.back.nos.junos.variants import variant as junos_variant
from tests.back.nos.nxos.variants import VARIANTS as NXOS_VARIANTS
from tests.back.nos.nxos.variants import variant as nxos_variant
from tests.back.nos.sonic.variants import EDGES as SONIC_EDGES
from tests.back.nos.sonic.variants import VARIANTS as SONIC_VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.back.nos.base import Departure
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

DECLARED: dict[str, Sequence[Departure]] = {
    "cumulus": CUMULUS_DEPARTURES,
    "eos": EOS_DEPARTURES,
    "frr": FRR_DEPARTURES,
    "junos": JUNOS_DEPARTURES,
    "nxos": NXOS_DEPARTURES,
    "sonic": SONIC_DEPARTURES,
}
VARIANTS = {
    "cumulus": [cumulus_variant(name) for name in CUMULUS_VARIANTS],
    "eos": [eos_variant(name) for name in EOS_VARIANTS],
    "frr": [*FRR_VARIANTS.values()],
    "junos": [junos_variant(name) for name in JUNOS_VARIANTS],
    "nxos": [nxos_variant(name) for name in NXOS_VARIANTS],
    "sonic": [*SONIC_VARIANTS.values(), *SONIC_EDGES],
}
INVENTORIES = sorted(Path(__file__).parents[3].glob("inventories/*/cluster.yaml"))


def odd_switches(switch: Switch) -> Iterator[Switch]:
    """The switch with figures and settings that few systems can hold."""
    qos = switch.qos
    profiles = tuple(
        replace(p, headroom=replace(p.headroom, dynamic_th=-8, xon_bytes=0)) for p in qos.profiles
    )
    yield replace(switch, qos=replace(qos, profiles=profiles, link_retry=True))
    if qos.profiles:
        watched = Watchdog(205, 401, 333, "forward")
        strict = tuple(replace(c, strict=True) for c in qos.classes)
        yield replace(switch, qos=replace(qos, watchdog=watched, trimming=Trimming(256, 10, 1, (3,))))
        yield replace(switch, qos=replace(qos, watchdog=watched, classes=strict))
        marked = tuple(replace(p, headroom=replace(p.headroom, xon_offset_bytes=4096)) for p in qos.profiles)
        yield replace(switch, qos=replace(qos, profiles=marked))
    lists = (*switch.bgp.prefix_lists, PrefixList("ODD", 4, (PrefixRule("10.0.0.0/8", 24, None),)))
    bgp = replace(switch.bgp, keepalive_s=4, hold_s=10, maximum_paths=63, prefix_lists=lists)
    yield replace(switch, bgp=bgp)
    alone = tuple(port for port in switch.ports if port.direction in (Direction.HOST, Direction.UNUSED))
    yield replace(switch, ports=alone, bgp=replace(switch.bgp, sessions=(), groups=()))
    for mode in (Spreading.PACKET, Spreading.FLOWLET):
        yield replace(switch, load_balancing=LoadBalancing(mode, True, 128, True, Reassignment(3, 6)))


@cache
def planned_inventories() -> tuple[Switch, ...]:
    """A switch of each kind of every inventory."""
    fabrics = [compile_spec(path, gaps=False).planned for path in INVENTORIES]
    return tuple(fabric.switch(kind) for fabric in fabrics if fabric for kind in fabric.kinds())


def each_switch(nos: str) -> Iterator[Switch]:
    for switch in VARIANTS[nos]:
        yield switch
        yield from odd_switches(switch)
    yield from (switch for switch in planned_inventories() if switch.nos == nos)
    yield from outward.switches(nos)
    if nos in segmented.EXPRESSED:
        yield from segmented.segmented_switches(nos)
    if nos in tenanted.EXPRESSED:
        yield from tenanted.switches(nos)


def neutral_facts(switch: Switch) -> Facts:
    return switch_facts(switch) | setting_facts(switch) | congestion_facts(switch.qos)


def differing_paths(nos: str) -> Iterator[tuple[str, bool]]:
    """(path, whether it is left out) of every neutral fact that the NOS does not hold as it is."""
    for switch in each_switch(nos):
        planned = load(nos).planned(switch)
        for path, value in neutral_facts(switch).items():
            if planned.get(path) != value:
                yield path, path not in planned


def test_every_system_declares() -> None:
    assert set(BUILT_IN) == DECLARED.keys()


@pytest.mark.parametrize("nos", sorted(BUILT_IN))
def test_planned_facts_differ_only_by_declared_departures(nos: str) -> None:
    found = set(differing_paths(nos))
    shapes = {
        departure: pattern_of(translate(departure.path.replace("[", "[[]"))) for departure in DECLARED[nos]
    }
    used = {
        d
        for d, shape in shapes.items()
        for path, left in found
        if left is (d.kind is LEFT_OUT) and shape.match(path)
    }
    undeclared = {
        (path, left)
        for path, left in found
        if not any(left is (d.kind is LEFT_OUT) and shape.match(path) for d, shape in shapes.items())
    }
    assert undeclared == set()
    assert [departure for departure in shapes if departure not in used] == []
