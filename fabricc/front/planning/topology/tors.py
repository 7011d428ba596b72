"""Plan the ToR tier: how NIC ports are spread over ToRs, and the uplinks that the ratio requires."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.front.planning.topology import attachments, clos, layout
from fabricc.front.planning.topology.clos import Planes, planes_of
from fabricc.front.planning.topology.models import Models, UnfitError
from fabricc.front.planning.topology.shared_tors import NoCagesError, Placed, add_remedy, shared_tor_ports
from fabricc.front.planning.topology.units import largest_rack, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.model import HostModel, SwitchModel
    from fabricc.fabric.shape import Attachment
    from fabricc.front.spec.model import ClusterSpec, Tier

_MOST_NAMED = 4
MOST_HOSTS = 1024
"""Of a unit, by the schema of the spec."""
REPIN = "Undo the change, or renumber with `fabricc build --repin`; `fabricc plan --repin` shows the effect."
UP_CAGES = {False: "{}_up_cage", True: "{}_down_cage"}
"""Uplinks of a tier first (boolean) -> the pin of the cages before its other links."""


@dataclass(frozen=True, slots=True)
class TorTier:
    """The decisions about the ToR tier.

    Attributes:
        attached: host group index -> how its hosts are attached.
        lead: of these, the attachment that determines the layout of a unit.
        planes: sets of spines by rail and by NIC port; `sides`: ToRs per unit and plane.
        hosts: host group index -> ports of its hosts on a ToR.
        beside: host group index -> ports of other groups on its ToRs.
        needed: host group index -> uplinks that the ratio requires, or that the spec pins for every ToR.
        up_cage: cage position where the uplinks begin, on a panel turned to its first host where they come first.
    """

    attached: tuple[Attachment, ...]
    lead: Attachment
    slots: int
    planes: Planes
    sides: int
    hosts: tuple[layout.Block, ...]
    beside: tuple[Placed, ...]
    up_gbps: int
    needed: tuple[int, ...]
    up_cage: int
    most_uplinks: int

    @property
    def uplinks(self) -> int:
        """Uplinks that the busiest ToR needs."""
        return max(self.needed)


def bottom_of(spec: ClusterSpec, models: Models, pins: Mapping[str, int]) -> TorTier:
    """Work out the ToR tier.

    Raises:
        UnfitError: the hosts do not fit the ToR.
    """

    def plannable(other: ClusterSpec) -> bool:
        try:
            _turned_bottom(other, models, pins)
        except UnfitError:
            return False
        return True

    try:
        return _turned_bottom(spec, models, pins)
    except NoCagesError as crowded:
        attached, groups = attachments.attach_groups(spec, models), spec.gpus.groups
        home = attached[crowded.index].beside or 0
        homes = units_of(groups[home], attached[home].slots)
        raise UnfitError(add_remedy(spec, crowded, homes, plannable)) from None


def _turned_bottom(spec: ClusterSpec, models: Models, pins: Mapping[str, int]) -> TorTier:
    """Plan the ToR tier, uplinks first if requested: as many cages as they need are then before the hosts."""
    refuse_moved(spec, "tor", pins, uplinks_first=spec.tors.uplinks_first)
    if not spec.tors.uplinks_first:
        return _bottom_of(spec, models, pins)
    name, every = UP_CAGES[True].format("tor"), layout.cage_count(models.tor)
    if (before := pins.get(name)) is None:
        plain = _bottom_of(spec, models, pins)
        count = spec.spines.count if spec.spines and spec.spines.count else 1
        uplinks = layout.Block(plain.up_gbps, -(-plain.uplinks // count) * count)
        before = layout.cages_for(models.tor, uplinks) or 0
    tor = layout.rotate_cages(models.tor, before)
    try:
        return _bottom_of(spec, replace(models, tor=tor), {**pins, "tor_up_cage": every - before})
    except _UplinkCagesError as beyond:
        message = (
            f"uplinks use {before} cages of a ToR, which leaves {every - before}; hosts need {beyond.needed}"
        )
        help_ = REPIN if name in pins else "Leave it out: uplinks follow the ports of hosts."
        raise UnfitError(spec.error("FAB3020", message, "tors", "uplinks_first", help=help_)) from None


def up_pin(tier: str, requested: Tier, model: SwitchModel, up_cage: int) -> dict[str, int]:
    """Return what the lock keeps of where the uplinks of a tier begin, or the links down behind them."""
    return {
        UP_CAGES[requested.uplinks_first].format(tier): layout.cage_count(model) - up_cage
        if requested.uplinks_first
        else up_cage
    }


class _UplinkCagesError(UnfitError):
    """Hosts need the cages that uplinks begin at."""

    def __init__(self, diagnostic: Diagnostic, needed: int) -> None:
        super().__init__(diagnostic)
        self.needed = needed


def refuse_moved(spec: ClusterSpec, tier: str, pins: Mapping[str, int], *, uplinks_first: bool) -> None:
    """Refuse uplinks at the other end of the panel than those that are cabled.

    Raises:
        UnfitError: FAB3020.
    """
    if (other := UP_CAGES[not uplinks_first].format(tier)) in pins:
        where = "behind the other links" if uplinks_first else "first"
        message = f"the lock pins {other} to {pins[other]}: uplinks are cabled {where}"
        raise UnfitError(spec.error("FAB3020", message, f"{tier}s", "uplinks_first", help=REPIN))


def _bottom_of(spec: ClusterSpec, models: Models, pins: Mapping[str, int]) -> TorTier:
    attached = attachments.attach_groups(spec, models)
    lead = attached[attachments.find_leading_group(models.hosts, range(len(attached)))]
    one_tor = all(
        layout.cages_for(
            models.tor, layout.Block(each.gbps, each.hosts * each.rails + spec.tors.reserved_ports)
        )
        is not None
        for each in attached
    )
    planes = planes_of(spec, lead.rails, lead.rails_per_tor, lead.nic_ports, one_tor)
    attachments.reject_partial_rails(spec, attached, lead, planes)
    slots = max(each.hosts for each in attached)
    up_gbps = link_speed(spec, models.tor, models.spine or models.tor, spec.tors.uplink_gbps, "tors")
    hosts = tuple(layout.Block(each.gbps, each.ports) for each in attached)
    sides = lead.tors * lead.nic_ports // planes.count
    beside, needed, start, most = _tor_uplinks(spec, models, attached, hosts, up_gbps, pins)
    return TorTier(attached, lead, slots, planes, sides, hosts, beside, up_gbps, needed, start, most)


def link_speed(
    spec: ClusterSpec, low: SwitchModel, high: SwitchModel, requested: int | None, tier: str
) -> int:
    """Return the speed of the links between two tiers: the requested one, or the fastest that both models offer."""
    common = layout.port_speeds(low) & layout.port_speeds(high)
    if requested is not None and requested not in common:
        offered = ", ".join(f"{s}" for s in sorted(common)) or "none"
        message = f"{low.title} and {high.title} share no {requested}G port"
        help_ = f"Speeds they share: {offered}."
        raise UnfitError(spec.error("FAB3005", message, tier, "uplink_gbps", help=help_))
    if not common:
        raise UnfitError(
            spec.error("FAB3005", f"{low.title} and {high.title} share no port speed", tier, "model")
        )
    return requested or max(common)


def _ends_of_hosts(
    spec: ClusterSpec,
    models: Models,
    attached: tuple[Attachment, ...],
    hosts: tuple[layout.Block, ...],
    up_gbps: int,
) -> list[int]:
    """Return the cage position after the ports of each group's own hosts.

    Raises:
        UnfitError: FAB3006, a ToR has too few ports.
    """
    tier, tor = spec.tors, models.tor
    ends = []
    for index, block in enumerate(hosts):
        needed, per_tor = block.count + tier.reserved_ports, attached[index].rails_per_tor
        end = layout.cages_for(tor, layout.Block(block.speed_gbps, needed))
        if end is None:
            has = layout.ports_at(tor, block.speed_gbps)
            largest = _whole_racks(spec, models, max(0, (has - tier.reserved_ports) // per_tor))
            fitting = _whole_racks(spec, models, largest_unit(spec, tor, block.speed_gbps, up_gbps, per_tor))
            raise UnfitError(
                spec.error(
                    "FAB3006",
                    f"a ToR needs {needed} host ports at {block.speed_gbps}G; {tor.title} has {has}",
                    *spec.gpus.groups[index].path,
                    help=f"The largest number of hosts per unit without any uplink is {largest}; for "
                    f"{tier.oversubscription}:1 it is {fitting}.{_ratio_for_a_domain(models, has, per_tor, fitting)}"
                    if has
                    else _other_speeds(spec, models, models.hosts[index], block),
                )
            )
        ends.append(end)
    return ends


def _first_uplink_cage(
    spec: ClusterSpec,
    tor: SwitchModel,
    placed: tuple[Placed, ...],
    start: int,
    pins: Mapping[str, int],
) -> int:
    """Return the cage position of the first uplink: as pinned, or after all ports of hosts that adjoin.

    Raises:
        _UplinkCagesError: the ports of hosts have grown beyond the pinned position.
    """
    if "tor_up_cage" in pins:
        start = max(start, pins["tor_up_cage"])
    else:
        spans = sorted(
            (first, _end_of_block(tor, first, block)) for guests in placed for first, block in guests
        )
        for first, end in spans:
            start = max(start, end) if first <= start else start
    if "tor_up_cage" in pins and start > pins["tor_up_cage"]:
        finding = report_outgrown_pin(
            spec, "tor_up_cage", pins["tor_up_cage"], start, "host ports of a ToR", "gpus"
        )
        raise _UplinkCagesError(finding, start)
    return start


def _tor_uplinks(
    spec: ClusterSpec,
    models: Models,
    attached: tuple[Attachment, ...],
    hosts: tuple[layout.Block, ...],
    up_gbps: int,
    pins: Mapping[str, int],
) -> tuple[tuple[Placed, ...], tuple[int, ...], int, int]:
    """Place ports of other groups and uplinks on a ToR after its own hosts.

    (ports of hosts that share the ToR, uplinks by the ratio, both for each host group; cage position of the first
    uplink,
    most uplinks that fit).
    """
    tier, tor = spec.tors, models.tor
    ends = _ends_of_hosts(spec, models, attached, hosts, up_gbps)
    own = [index for index, each in enumerate(attached) if each.beside is None]
    placed = shared_tor_ports(spec, tor, attached, {index: ends[index] for index in own}, pins)
    start = _first_uplink_cage(spec, tor, placed, max(ends[index] for index in own), pins)
    behind = min((first for guests in placed for first, _ in guests if first >= start), default=None)
    most = _count_free_ports(tor, up_gbps, start, behind)
    ratio = tier.oversubscription or 1.0
    if models.spine is None:
        _check_peer_links(spec, models, hosts[0].speed_gbps, attached[0].rails_per_tor, up_gbps, most)
        return placed, tuple(0 for _ in hosts), start, most
    down = [
        sum(each.count * each.speed_gbps for each in (hosts[index], *(block for _, block in placed[index])))
        for index in (each if home.beside is None else home.beside for each, home in enumerate(attached))
    ]
    uplinks = tuple(tier.uplinks or clos.uplinks_needed(gbps, ratio, up_gbps) for gbps in down)
    if max(uplinks) > most:
        busiest = max(own, key=lambda index: down[index])
        if placed[busiest]:
            message = (
                f"a ToR of {spec.gpus.groups[busiest].name} has {down[busiest]:,} Gb/s down with the hosts beside its "
                f"own: it needs {max(uplinks)} uplinks at {up_gbps}G, {tor.title} has room for {most}"
            )
            last = max(index for index, each in enumerate(attached) if each.beside == busiest)
            raise NoCagesError(last, spec.error("FAB3073", message, *spec.gpus.groups[last].path))
        per_tor = attached[busiest].rails_per_tor
        raise UnfitError(too_many_uplinks(spec, models, hosts[busiest], per_tor, up_gbps, max(uplinks), most))
    return placed, uplinks, start, most


def _other_speeds(spec: ClusterSpec, models: Models, host: HostModel, block: layout.Block) -> str:
    """Return the ways out where a ToR has no port of the hosts' speed: planes with slower ports, and other models."""
    speeds = layout.port_speeds(models.tor)
    ways = [
        f"`planes: {ports}` gives each NIC {ports} ports of {gbps}G."
        for ports, gbps in sorted(attachments.list_port_splits(host).items())
        if layout.ports_at(models.tor, gbps) > block.count and ports > spec.planes and host.ports_per_nic == 1
    ][:1]
    fitting = sorted(
        (found, name)
        for name, model in models.known.items()
        if spec.tors.nos.name in model.nos
        and (found := layout.ports_at(model, block.speed_gbps)) >= 2 * block.count
    )
    if fitting:
        named = ", ".join(name for _, name in fitting[:_MOST_NAMED])
        ways.append(f"Models of `{spec.tors.nos.name}` with such ports: {named}.")
    offered = ", ".join(f"{speed}G" for speed in sorted(speeds))
    return " ".join([*ways, f"This one has ports of {offered} alone."])


def _check_peer_links(
    spec: ClusterSpec, models: Models, host_gbps: int, per_tor: int, gbps: int, most: int
) -> None:
    """Check that the cages behind the host ports hold the links to the other ToR.

    Raises:
        UnfitError: FAB3007.
    """
    tor = models.tor
    if spec.tors.peer_links > most:
        message = f"{spec.tors.peer_links} links of {gbps}G to the other ToR; {tor.title} has room for {most}"
        fitting = largest_unit(spec, tor, host_gbps, gbps, per_tor, spec.tors.peer_links)
        help_ = f"The largest number of hosts per unit that fits is {_whole_racks(spec, models, fitting)}."
        if most:
            help_ = f"Write `peer_links: {most}`. With {spec.tors.peer_links}: {help_[0].lower()}{help_[1:]}"
        raise UnfitError(spec.error("FAB3007", message, "tors", "peer_links", help=help_))


def _end_of_block(model: SwitchModel, start: int, block: layout.Block) -> int:
    """Return the cage position after a block that is known to fit."""
    end = layout.cages_for(model, block, start)
    assert end is not None
    return end


def _count_free_ports(model: SwitchModel, speed: int, start: int, end: int | None = None) -> int:
    """Count the ports of a speed in the cages from one position to another, or to the last cage."""
    low, high = 0, layout.ports_at(model, speed)
    while low < high:
        middle = (low + high + 1) // 2
        needs = layout.cages_for(model, layout.Block(speed, middle), start)
        low, high = (middle, high) if needs is not None and needs <= (end or needs) else (low, middle - 1)
    return low


def largest_unit(
    spec: ClusterSpec, tor: SwitchModel, speed: int, up_gbps: int, per_tor: int, stated: int = 0
) -> int:
    """Return the largest number of hosts of a unit whose host ports and uplinks fit on the ToR.

    `stated`: a number of uplinks in the place of that of the spec or of the ratio.
    """
    for hosts in range(min(MOST_HOSTS, layout.ports_at(tor, speed) // per_tor), 0, -1):
        links = hosts * per_tor
        uplinks = (
            stated
            or spec.tors.uplinks
            or clos.uplinks_needed(links * speed, spec.tors.oversubscription or 1.0, up_gbps)
        )
        end = layout.cages_for(tor, layout.Block(speed, links + spec.tors.reserved_ports))
        if end is not None and layout.cages_for(tor, layout.Block(up_gbps, uplinks), end) is not None:
            return hosts
    return 0


def _ratio_for_a_domain(models: Models, ports: int, per_tor: int, fitting: int) -> str:
    """Return the oversubscription with which the hosts of an NVLink domain fit on a ToR whose own ratio splits them."""
    domain = max(model.domain_hosts for model in models.hosts)
    up = ports - domain * per_tor
    if domain == 1 or fitting >= domain or up <= 0:
        return ""
    ratio = -(-10 * domain * per_tor // up) / 10
    return f" A rack fits with `gpus.hosts_per_unit: {domain}` and `tors.oversubscription: {ratio}`."


def _whole_racks(spec: ClusterSpec, models: Models, hosts: int) -> int:
    """Return the hosts of a unit, rounded down to whole racks, or NVLink domains, where one fits."""
    domains = max(model.domain_hosts for model in models.hosts)
    rack = max(map(largest_rack, spec.gpus.groups)) or (domains if domains > 1 else 0)
    return hosts - hosts % rack if rack and hosts >= rack else hosts


def too_many_uplinks(
    spec: ClusterSpec,
    models: Models,
    hosts: layout.Block,
    per_tor: int,
    up_gbps: int,
    uplinks: int,
    most: int,
) -> Diagnostic:
    """A ToR that has not the cages for the uplinks its ratio needs."""
    tor, speed = models.tor, hosts.speed_gbps
    largest = _whole_racks(spec, models, largest_unit(spec, tor, speed, up_gbps, per_tor))
    whole = not most or all(largest % model.domain_hosts == 0 for model in models.hosts)
    ways = [f"The largest number of hosts per unit that fits is {largest}."] if largest and whole else []
    if most:
        ratio = ceil(hosts.count * speed * 100 / (most * up_gbps)) / 100
        key = f"`tors.uplinks: {most}`" if spec.tors.uplinks else f"`tors.oversubscription: {ratio:g}`"
        ways.append(f"With {key} the {most} uplinks are enough.")
    return spec.error(
        "FAB3007",
        f"a ToR with {hosts.count} host ports at {speed}G needs {uplinks} uplinks at {up_gbps}G; "
        f"{tor.title} has room for {most}",
        "tors",
        "uplinks" if spec.tors.uplinks else "oversubscription",
        help=" ".join(ways) or "Name a ToR with more ports.",
    )


def report_outgrown_pin(
    spec: ClusterSpec, name: str, pinned: int, needed: int, what: str, *path: str | int
) -> Diagnostic:
    """Report that the spec outgrew something that the lock pins."""
    return spec.error(
        "FAB3020", f"the lock pins {name} to {pinned}, but the {what} now need {needed}", *path, help=REPIN
    )
