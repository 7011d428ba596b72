"""The ToR tier: how hosts and their NIC ports are shared out over ToRs, and the uplinks that the ratio asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.front.planning import topology
from fabricc.front.planning.layout import Block, arrange, cages_for, ports_at, speeds
from fabricc.front.planning.models import UnfitError
from fabricc.front.planning.planes import planes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.front.planning.models import Models
    from fabricc.front.planning.planes import Planes
    from fabricc.front.spec.model import ClusterSpec


REPIN = "Undo the change, or renumber with `fabricc build --repin`; `fabricc plan --repin` shows what that touches."


@dataclass(frozen=True, slots=True)
class Bottom:
    """What the ToR tier decides.

    Attributes:
        planes: sets of spines by rail and by NIC port; `sides`: ToRs per unit and plane.
        needed: host group index -> uplinks that the ratio asks for, or that the spec does of every ToR.
    """

    rails: int
    nic_ports: int
    per_tor: int
    slots: int
    planes: Planes
    sides: int
    hosts: tuple[Block, ...]
    up_gbps: int
    needed: tuple[int, ...]
    up_cage: int
    most_uplinks: int

    @property
    def uplinks(self) -> int:
        """Uplinks that the busiest ToR needs."""
        return max(self.needed)


def bottom_of(spec: ClusterSpec, models: Models, pins: Mapping[str, int]) -> Bottom:
    """Work out the ToR tier.

    Raises:
        UnfitError: the hosts do not fit the ToR.
    """
    rails, nic_ports, host_gbps = _nics(spec, models)
    per_tor = spec.gpus.rails_per_tor or rails
    if rails % per_tor:
        fitting = ", ".join(str(d) for d in topology.divisors(rails))
        raise UnfitError(
            spec.error(
                "FAB3004",
                f"{rails} rails cannot be shared out {per_tor} to a ToR",
                "gpus",
                "rails_per_tor",
                help=f"Use one of {fitting}.",
            )
        )
    one_tor = all(
        cages_for(models.tor, Block(speed, group.hosts_per_unit * rails + spec.tors.reserved_ports))
        is not None
        for group, speed in zip(spec.gpus.groups, host_gbps, strict=True)
    )
    planes = planes_of(spec, rails, per_tor, nic_ports, one_tor)
    slots = max(group.hosts_per_unit for group in spec.gpus.groups)
    up_gbps = link_speed(spec, models.tor, models.spine or models.tor, spec.tors.uplink_gbps, "tors")
    groups = spec.gpus.groups
    hosts = tuple(
        Block(speed, group.hosts_per_unit * per_tor) for group, speed in zip(groups, host_gbps, strict=True)
    )
    tors = _tor_uplinks(spec, models, hosts, per_tor, up_gbps, pins)
    sides = rails // per_tor * nic_ports // planes.count
    return Bottom(rails, nic_ports, per_tor, slots, planes, sides, hosts, up_gbps, *tors)


def _nics(spec: ClusterSpec, models: Models) -> tuple[int, int, tuple[int, ...]]:
    """Rails, cabled NIC ports after splitting, and the speed of one of them per host group."""
    rails = {model.rails for model in models.hosts}
    if len(rails) > 1:
        names = ", ".join(f"{m.name} {m.rails}" for m in models.hosts)
        raise UnfitError(
            spec.error(
                "FAB3001",
                f"host models differ in their number of rails: {names}",
                "gpus",
                help="Put models of different rail counts into fabrics of their own.",
            )
        )
    ports, gbps = set(), []
    for model in models.hosts:
        options = splits(model)
        fitting = {count: speed for count, speed in options.items() if count % spec.planes == 0}
        if not fitting:
            possible = ", ".join(str(n) for n in sorted({d for c in options for d in topology.divisors(c)}))
            raise UnfitError(
                spec.error(
                    "FAB3002",
                    f"{model.title} cannot be spread over {spec.planes} planes",
                    "planes",
                    help=f"Its NICs allow {possible}.",
                )
            )
        count = model.ports_per_nic if model.ports_per_nic in fitting else min(fitting)
        ports.add(count)
        gbps.append(fitting[count])
    if len(ports) > 1:
        raise UnfitError(
            spec.error(
                "FAB3003",
                "host models differ in their number of ports per NIC",
                "gpus",
                help="Put them into fabrics of their own.",
            )
        )
    return rails.pop(), ports.pop(), tuple(gbps)


def splits(model: HostModel) -> dict[int, int]:
    """Ports of one NIC -> speed of each, unsplit and split."""
    options = {model.ports_per_nic: model.port_gbps}
    for split in model.nic.port_splits:
        if split.children * split.speed_gbps == model.port_gbps:
            options[model.ports_per_nic * split.children] = split.speed_gbps
    return options


def link_speed(spec: ClusterSpec, low: SwitchModel, high: SwitchModel, asked: int | None, tier: str) -> int:
    """The speed of the links between two tiers: the one asked for, or the fastest that both models offer."""
    common = speeds(low) & speeds(high)
    if asked is not None and asked not in common:
        offered = ", ".join(f"{s}" for s in sorted(common)) or "none"
        raise UnfitError(
            spec.error(
                "FAB3005",
                f"{low.title} and {high.title} share no {asked}G port",
                tier,
                "uplink_gbps",
                help=f"Speeds they share: {offered}.",
            )
        )
    if not common:
        raise UnfitError(
            spec.error("FAB3005", f"{low.title} and {high.title} share no port speed", tier, "model")
        )
    return asked or max(common)


def _tor_uplinks(
    spec: ClusterSpec,
    models: Models,
    hosts: tuple[Block, ...],
    per_tor: int,
    up_gbps: int,
    pins: Mapping[str, int],
) -> tuple[tuple[int, ...], int, int]:
    """(uplinks by the ratio of each host group, cage position of the first, most uplinks that fit) of a ToR."""
    tier, tor = spec.tors, models.tor
    ends = []
    for index, block in enumerate(hosts):
        needed = block.count + tier.reserved_ports
        end = cages_for(tor, Block(block.speed_gbps, needed))
        if end is None:
            has = ports_at(tor, block.speed_gbps)
            largest = max(0, (has - tier.reserved_ports) // per_tor)
            fitting = largest_unit(spec, tor, block.speed_gbps, up_gbps, per_tor)
            raise UnfitError(
                spec.error(
                    "FAB3006",
                    f"a ToR needs {needed} host ports at {block.speed_gbps}G; {tor.title} has {has}",
                    *spec.gpus.groups[index].path,
                    help=f"The largest number of hosts per unit without any uplink is {largest}; for "
                    f"{tier.oversubscription}:1 it is {fitting}.",
                )
            )
        ends.append(end)
    start = max(pins.get("tor_up_cage", 0), *ends)
    if "tor_up_cage" in pins and start > pins["tor_up_cage"]:
        raise UnfitError(
            pinned(spec, "tor_up_cage", pins["tor_up_cage"], start, "host ports of a ToR", "gpus")
        )
    most = _room(tor, up_gbps, start)
    ratio = tier.oversubscription or 1.0
    if models.spine is None:
        return tuple(0 for _ in hosts), start, most
    uplinks = tuple(
        tier.uplinks or topology.uplinks_needed(block.count * block.speed_gbps, ratio, up_gbps)
        for block in hosts
    )
    if max(uplinks) > most:
        busiest = max(hosts, key=lambda block: block.count * block.speed_gbps)
        raise UnfitError(too_many_uplinks(spec, tor, busiest, per_tor, up_gbps, max(uplinks), most))
    return uplinks, start, most


def _room(model: SwitchModel, speed: int, start: int) -> int:
    """Ports of a speed in the cages from a position on."""
    low, high = 0, ports_at(model, speed)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if cages_for(model, Block(speed, middle), start) is not None else (low, middle - 1)
        )
    return low


def largest_unit(spec: ClusterSpec, tor: SwitchModel, speed: int, up_gbps: int, per_tor: int) -> int:
    """Most hosts of a unit for which the ToR has the host ports and the uplinks of its ratio."""
    for hosts in range(ports_at(tor, speed) // per_tor, 0, -1):
        links = hosts * per_tor
        uplinks = spec.tors.uplinks or topology.uplinks_needed(
            links * speed, spec.tors.oversubscription or 1.0, up_gbps
        )
        if arrange(tor, Block(speed, links + spec.tors.reserved_ports), Block(up_gbps, uplinks)):
            return hosts
    return 0


def too_many_uplinks(
    spec: ClusterSpec, tor: SwitchModel, hosts: Block, per_tor: int, up_gbps: int, uplinks: int, most: int
) -> Diagnostic:
    """A ToR that has not the cages for the uplinks its ratio needs."""
    speed = hosts.speed_gbps
    largest = largest_unit(spec, tor, speed, up_gbps, per_tor)
    ratio = (
        f"; with {most} uplinks the ratio is {hosts.count * speed / (most * up_gbps):.3g}:1" if most else ""
    )
    return spec.error(
        "FAB3007",
        f"a ToR with {hosts.count} host ports at {speed}G needs {uplinks} uplinks at {up_gbps}G; "
        f"{tor.title} has room for {most}",
        "tors",
        "uplinks" if spec.tors.uplinks else "oversubscription",
        help=f"The largest number of hosts per unit that fits is {largest}{ratio}.",
    )


def pinned(spec: ClusterSpec, name: str, pinned: int, needed: int, what: str, *path: str | int) -> Diagnostic:
    """The spec outgrew something that the lock pins."""
    return spec.error(
        "FAB3020",
        f"the lock pins {name} to {pinned}, but the {what} now need {needed}",
        *path,
        help=REPIN,
    )
