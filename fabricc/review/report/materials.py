"""List the parts to buy and plug in: switches, hosts, cables by kind, and the cages that they occupy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.order import group_pairs
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import TierName
from fabricc.review.report.kinds import host_port_gbps
from fabricc.review.report.values import Prose, Section, Table
from fabricc.review.report.wording import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.review.report.kinds import Cable, Kind
    from fabricc.review.report.values import Row

LINKS = {"host": "host to ToR", "spine": "ToR to spine", "core": "spine to core", "peer": "ToR to ToR"}
_TIERS = {TierName.TOR: "ToR", TierName.SPINE: "spine", TierName.CORE: "core"}
_WAYS = {
    Direction.HOST: "towards hosts", Direction.DOWN: "down", Direction.UP: "up", Direction.PEER: "to the other ToR",
}  # fmt: skip
MEDIA = {
    "dac": "passive copper, both ends attached",
    "aec": "active copper, both ends attached",
    "aoc": "active optical, both ends attached",
    "mmf": "multi-mode fibre and a transceiver at each end",
    "smf": "single-mode fibre and a transceiver at each end",
}
"""What a medium of the spec means to who buys it, as the schema of the spec has it."""


class Cages(NamedTuple):
    """Cages with the same use: place, number and speed of their ports, medium."""

    tier: TierName
    way: Direction
    children: int
    speed_gbps: int
    medium: str


def occupied_cages(found: tuple[Kind, ...]) -> dict[Cages, tuple[int, int]]:
    """Return the occupied cages of switches, each counted once, and the number of used ports."""
    counted: dict[Cages, tuple[int, int]] = {}
    for kind in found:
        slots = kind.layout.slots
        used = group_pairs(((slots[link.slot].cage, link.direction), link) for link in kind.links)
        for (_, way), links in used.items():
            slot = slots[links[0].slot]
            media = "/".join(sorted({link.medium for link in links}))
            use = Cages(kind.tier, way, slot.children, slot.speed_gbps, media)
            number, ports = counted.get(use, (0, 0))
            counted[use] = (number + kind.count, ports + kind.count * len(links))
    return counted


def materials_section(
    fabric: Fabric, kinds: tuple[Kind, ...], cables: Mapping[Cable, int], where: str
) -> Section:
    """Return the bill of materials; `where` names the file with every single cable."""
    counts = fabric.counts()
    total = sum(cables.values())
    parts = (
        _cable_table(cables, where),
        Table(
            "cages",
            "Cages and NIC ports to fill",
            ("where", "use", "medium", "cages", "ports in use"),
            tuple(_cage_rows(fabric, kinds)),
            note="A cage that is split takes one transceiver, or one end of a splitter cable, for all its ports; so "
            "the ends to buy are the cages, not the ports. Spares are not counted.",
        ),
        Table("devices", "Devices", ("device", "model", "number"), tuple(_device_rows(fabric, counts))),
        Prose(
            "The catalog knows ports, lanes and speeds, no part numbers of transceivers: take those from the makers' "
            "lists for the model, speed, medium and length named here."
        ),
    )
    lead = f"{plural(total, 'cable')} in {plural(len(cables), 'kind')}."
    return Section("cables", "Cables and parts", lead, parts)


def _cable_table(cables: Mapping[Cable, int], where: str) -> Table:
    order = tuple(LINKS)
    ordered = sorted(cables.items(), key=lambda each: (order.index(each[0].kind), each[0]))
    rows = [
        (LINKS[kind], count, f"{speed}G", medium, MEDIA.get(medium, ""), length, count * length)
        for (kind, speed, medium, length), count in ordered
    ]
    return Table(
        "cabling",
        "Cables",
        ("link", "cables", "speed", "medium", "what that is", "length, m", "together, m"),
        tuple(rows),
        note=f"Lengths are those of the spec or, where it names none, assumed. Counted are "
        f"links: where a cage is split, one splitter cable serves several. Every link with both ends: {where}.",
    )


def _cage_rows(fabric: Fabric, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    yield from _nic_rows(fabric, kinds)
    order = list(TierName)
    found = occupied_cages(kinds).items()
    for use, counted in sorted(found, key=lambda each: (order.index(each[0].tier), each[0][1:])):
        name = f"{_TIERS[use.tier]}, {_WAYS[use.way]}"
        yield name, _describe_use(use.children, use.speed_gbps), use.medium, *counted


def _nic_rows(fabric: Fabric, kinds: tuple[Kind, ...]) -> Iterator[Row]:
    """Yield the NICs' cages of each host group, by the medium of their links."""
    ports: Counter[tuple[int, str]] = Counter()
    of_host = {name: unit.group for unit in fabric.units.values() for name in unit.hosts.values()}
    for kind in kinds:
        for link in kind.links:
            if link.direction is Direction.HOST:
                ports[of_host[link.peer], link.medium] += kind.count
    for (group, medium), count in sorted(ports.items()):
        model = fabric.host_models[group]
        split = fabric.attachments[group].ports_per_nic // model.ports_per_nic
        use = _describe_use(split, host_port_gbps(fabric, group))
        yield f"{model.title}, NIC", use, medium, ceil(Fraction(count, split)), count


def _describe_use(children: int, speed: int) -> str:
    return format_count(children, f"{speed}G") if children > 1 else f"{speed}G"


def _device_rows(fabric: Fabric, counts: Mapping[str, int]) -> Iterator[Row]:
    for tier, plan in fabric.tiers.items():
        yield _TIERS[tier], plan.model.title, counts[f"{tier.value}s"]
    for group, model in enumerate(fabric.host_models):
        hosts = sum(len(unit.hosts) for unit in fabric.units.values() if unit.group == group)
        yield "host", f"{model.title}, {model.nic.title}", hosts
