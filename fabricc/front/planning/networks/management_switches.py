"""Plan the out-of-band networks and their switches: how many each rack or unit needs, their numbers and aggregation.

An out-of-band network holds every switch, and no gateway or server that the spec names has its address.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.catalog.library import suggest_name
from fabricc.fabric.addresses import MANAGEMENT_RESERVED
from fabricc.fabric.management import management_network, management_place
from fabricc.fabric.out_of_band import MOST_AGGREGATES, Bank, ManagementNetwork, ManagementSwitches, Port
from fabricc.fabric.out_of_band_cables import aggregate_name, management_sites, switch_name
from fabricc.fabric.shape import Slot, TierName
from fabricc.front.planning.topology.models import Naming, UnfitError, nos_release
from fabricc.front.spec.document import format_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import Catalog, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning.topology.strides import NarrowSubnets
    from fabricc.front.spec.device_model import ManagementRequest, ManagementTier
    from fabricc.front.spec.model import ClusterSpec

_AT = ("management", "switches")
_ABOVE = (*_AT, "aggregation")
_DEVICE_GBPS = 1


class Uplinks(NamedTuple):
    """Ports of a speed on management switches and on those that aggregate them."""

    gbps: int
    lower: Sequence[Slot]
    upper: Sequence[Slot]


def planned_switches(
    spec: ClusterSpec,
    request: ManagementRequest,
    fabric: Fabric,
    catalog: Catalog,
    locked: Mapping[str, int],
    naming: Naming,
    findings: list[Diagnostic],
) -> ManagementSwitches:
    """Return the management switches of a whole cluster.

    Args:
        spec: of the top level.
        request: its section `management.switches`.
        fabric: of the rails, joined with the further networks.
        catalog: the models.
        locked: switch -> its number in the lock.
        naming: the interface to network operating systems.
        findings: added to.

    Raises:
        UnfitError: they cannot be, with the reason.
    """
    model = _find_model(spec, catalog, request.tier, naming, findings, _AT)
    down = _ports_of_speed(model, _DEVICE_GBPS)
    if not down:
        able = ", ".join(
            sorted(name for name, each in catalog.switches.items() if _ports_of_speed(each, _DEVICE_GBPS))
        )
        message = f"{model.title} has no ports of {_DEVICE_GBPS}G, which BMCs and management ports have"
        raise UnfitError(spec.error("FAB3214", message, *_AT, "model", help=f"Models that have: {able}."))
    counts = _count_switches(spec, request, fabric, model, len(down))
    names = [switch_name(place, index) for place, count in counts.items() for index in range(count)]
    numbers = _number_switches(names, locked)
    most = max(numbers.values(), default=-1) + 1
    above = request.aggregation
    aggregation: Bank | None = None
    aggregates: tuple[str, ...] = ()
    if above is None:
        lower = _uplinks_outside(spec, request, model, len(names), findings)
    else:
        count = above.count or 1
        aggregates = tuple(aggregate_name(index) for index in range(count))
        upper_model = _find_model(spec, catalog, above, naming, findings, _ABOVE)
        lower, upper, last = _join_aggregation(spec, request, catalog, (model, upper_model), most, count)
        aggregation = Bank(
            upper_model,
            _name_ports(upper[:last], upper_model, above, naming),
            _name_ports(upper[last:], upper_model, above, naming),
        )
    _refuse_clashes(spec, fabric, (*aggregates, *names))
    return ManagementSwitches(
        Bank(
            model,
            _name_ports(down, model, request.tier, naming),
            _name_ports(lower, model, request.tier, naming),
        ),
        aggregation,
        numbers,
        aggregates,
        request.outside,
        request.cable,
        request.uplink,
        request.by_unit,
        request.row,
    )


def _uplinks_outside(
    spec: ClusterSpec,
    request: ManagementRequest,
    model: SwitchModel,
    number: int,
    findings: list[Diagnostic],
) -> Sequence[Slot]:
    """Return the uplinks of management switches without aggregation; none where the spec has no way out.

    Raises:
        UnfitError: the model has too few ports.
    """
    uplinks = request.tier.uplinks or len(request.outside)
    speed = max((_unsplit_speeds(model) - {_DEVICE_GBPS}), default=0)
    up = _ports_of_speed(model, speed)[:uplinks]
    if len(up) < uplinks:
        raise UnfitError(_report_few_ports(spec, model, len(up), uplinks))
    if not request.outside:
        findings.append(_report_isolated(spec, number))
        return ()
    return up


def _join_aggregation(
    spec: ClusterSpec,
    request: ManagementRequest,
    catalog: Catalog,
    models: tuple[SwitchModel, SwitchModel],
    most: int,
    count: int,
) -> tuple[Sequence[Slot], Sequence[Slot], int]:
    """Return the uplinks of management switches, the ports of aggregation, and how many of these lead down.

    Args:
        spec: of the top level.
        request: its section `management.switches`, with an aggregation.
        catalog: the models.
        models: of the management switches, and of the aggregation.
        most: management switches to make room for.
        count: aggregation switches.

    Raises:
        UnfitError: the two models have no ports of one speed that suffice.
    """
    above = request.aggregation
    assert above is not None
    uplinks = request.tier.uplinks or count
    out = (above.uplinks or len(request.outside)) if request.outside else 0
    joined = _find_uplink_speed(*models, uplinks, _needed_ports(most, uplinks, count) + out)
    if joined is None:
        raise UnfitError(_report_unjoined(spec, catalog, models, (most, uplinks, count, out)))
    return joined.lower[:uplinks], joined.upper, len(joined.upper) - out


def _find_model(
    spec: ClusterSpec,
    catalog: Catalog,
    tier: ManagementTier,
    naming: Naming,
    findings: list[Diagnostic],
    path: tuple[str, ...],
) -> SwitchModel:
    if (model := catalog.switches.get(tier.model)) is None:
        message = f"the catalog has no switch model {tier.model!r}"
        help_ = suggest_name(tier.model, tuple(catalog.switches))
        raise UnfitError(spec.error("FAB3013", message, *path, "model", help=help_))
    unfit: list[Diagnostic] = []
    if tier.nos is not None and nos_release(spec, naming, tier.nos, model, unfit, *path, "nos") is None:
        raise UnfitError(*unfit)
    findings += unfit
    return model


def _ports_of_speed(model: SwitchModel, gbps: int) -> tuple[Slot, ...]:
    """The cages that can be one port of a speed, in panel order."""
    return tuple(
        Slot(cage, 1, 1, use.lanes, gbps)
        for group in model.cages
        if group.fabric
        for use in group.breakouts
        if (use.children, use.speed_gbps) == (1, gbps)
        for cage in group.numbers
    )


def _unsplit_speeds(model: SwitchModel) -> set[int]:
    return {
        use.speed_gbps
        for group in model.cages
        if group.fabric
        for use in group.breakouts
        if use.children == 1
    }


def _name_ports(
    slots: Iterable[Slot], model: SwitchModel, tier: ManagementTier, naming: Naming
) -> tuple[Port, ...]:
    """Return ports as the system names them, or by the number on the front panel."""
    return tuple(
        Port(naming.port_name(tier.nos.name, model, slot) if tier.nos else str(slot.cage), slot)
        for slot in slots
    )


def _count_switches(
    spec: ClusterSpec, request: ManagementRequest, fabric: Fabric, model: SwitchModel, ports: int
) -> dict[str, int]:
    """Return place -> its switches; report FAB3215 where the given count is too small."""
    found = {
        place: site.count_switches(ports)
        for place, site in management_sites(fabric, request.by_unit, request.row).items()
    }
    if (count := request.tier.count) is None:
        return found
    small = [place for place, needed in found.items() if needed > count]
    if small:
        site = management_sites(fabric, request.by_unit, request.row)[small[0]]
        message = (
            f"{small[0]} has {len(site.switches) + len(site.hosts)} management ports"
            + (f", and keeps {site.room} for the hosts of its unit" if site.room > len(site.hosts) else "")
            + f"; {count} x {model.title} {'has' if count == 1 else 'have'} {count * ports}"
        )
        others = f" So do {plural(len(small) - 1, 'other place')}." if len(small) > 1 else ""
        help_ = f"Write `count: {max(found.values())}`, or leave it out for as many as each needs.{others}"
        raise UnfitError(spec.error("FAB3215", message, *_AT, "count", help=help_))
    return dict.fromkeys(found, count)


def _number_switches(names: Iterable[str], locked: Mapping[str, int]) -> dict[str, int]:
    """Return the number of every switch: the one in the lock, or the next unused one."""
    found: dict[str, int] = {}
    following = max(locked.values(), default=-1) + 1
    for name in names:
        found[name] = locked.get(name, following)
        following += name not in locked
    return found


def _find_uplink_speed(lower: SwitchModel, upper: SwitchModel, uplinks: int, needed: int) -> Uplinks | None:
    """Return the fastest speed at which both have enough ports."""
    for gbps in sorted(_unsplit_speeds(lower) & _unsplit_speeds(upper) - {_DEVICE_GBPS}, reverse=True):
        found = Uplinks(gbps, _ports_of_speed(lower, gbps), _ports_of_speed(upper, gbps))
        if len(found.lower) >= uplinks and len(found.upper) >= needed:
            return found
    return None


def _needed_ports(numbers: int, uplinks: int, count: int) -> int:
    """Return the ports of each aggregation switch, over which uplinks are distributed in turn."""
    return -(-numbers * uplinks // count)


def _report_unjoined(
    spec: ClusterSpec,
    catalog: Catalog,
    models: tuple[SwitchModel, SwitchModel],
    counts: tuple[int, int, int, int],
) -> Diagnostic:
    """Report FAB3216: no speed at which both have enough ports, with a remedy.

    Args:
        spec: of the top level.
        catalog: where other models are.
        models: of the switches in racks, and of the aggregation.
        counts: numbers of the first, uplinks of each; how many of the second, uplinks of each.
    """
    (lower, upper), (numbers, uplinks, count, out) = models, counts
    needed = _needed_ports(numbers, uplinks, count) + out
    speeds = sorted(_unsplit_speeds(lower) & _unsplit_speeds(upper) - {_DEVICE_GBPS}, reverse=True)
    have = "; ".join(
        f"at {gbps}G {len(_ports_of_speed(lower, gbps))} and {len(_ports_of_speed(upper, gbps))}"
        for gbps in speeds
    )
    message = (
        f"{plural(uplinks, 'uplink')} of each {lower.title} take {needed} ports of each of {count} {upper.title}: "
        + (f"they have {have}" if have else "they share no speed")
    )
    able = sorted(
        (len(found.upper), name)
        for name, model in catalog.switches.items()
        if not model.chassis and (found := _find_uplink_speed(lower, model, uplinks, needed))
    )
    more = next(
        (
            number
            for number in range(count + 1, MOST_AGGREGATES + 1)
            if _find_uplink_speed(lower, upper, uplinks, _needed_ports(numbers, uplinks, number) + out)
        ),
        None,
    )
    ways = [f"Write `count: {more}` here and `uplinks: {uplinks}` above."] if more else []
    ways += [f"Models with ports enough: {', '.join(name for _, name in able[:3])}."] if able else []
    help_ = " ".join(ways) or "Use fewer uplinks, or take another model in racks."
    return spec.error("FAB3216", message, *_ABOVE, "model", help=help_)


def _report_few_ports(spec: ClusterSpec, model: SwitchModel, ports: int, uplinks: int) -> Diagnostic:
    message = f"each management switch needs {plural(uplinks, 'uplink')}, and {model.title} has {ports} uplink ports"
    help_ = f"Write `uplinks: {ports}`." if ports else "Name `aggregation`."
    return spec.error("FAB3216", message, *_AT, "uplinks", help=help_)


def _report_isolated(spec: ClusterSpec, count: int) -> Diagnostic:
    message = f"the {plural(count, 'management switch')} have no uplinks and are not connected to each other"
    return spec.warning(
        "FAB3217", message, *_AT, help="Name an `aggregation`, or the devices above them in `to`."
    )


def _refuse_clashes(spec: ClusterSpec, fabric: Fabric, names: Sequence[str]) -> None:
    """FAB3218: a host, a switch of the fabric or a device outside has a management switch's name."""
    taken = {host: "host" for unit in fabric.units.values() for host in unit.hosts.values()}
    for network in (fabric, *fabric.networks):
        taken |= {network.name(at): "switch of the fabric" for at in network.switch_ids()}
    request = spec.management.switches
    taken |= dict.fromkeys(request.outside if request else (), "device outside")
    twice = (
        {name for index, name in enumerate(names) if name in names[:index]}
        if len({*names}) < len(names)
        else ()
    )
    if clash := next((name for name in names if name in taken or name in twice), None):
        message = (
            f"a {taken.get(clash, 'second management switch')} has the name of a management switch: {clash!r}"
        )
        raise UnfitError(
            spec.error("FAB3218", message, *_AT, help="Rename the one, or the rack of the other.")
        )


def numbers_needed(switches: ManagementSwitches) -> int:
    """Addresses that they take, with those kept for an aggregation."""
    return MOST_AGGREGATES + max(switches.numbers.values(), default=-1) + 1


def narrow_subnets(spec: ClusterSpec, narrow: NarrowSubnets, everything: str) -> Diagnostic:
    """FAB3018: a management network that is too small for its switches; `everything` counts all of the fabric."""
    network = narrow.network
    path = network_path(network)
    if network.tier is None:
        message = (
            f"the management network {network.pool} is too small for {everything} by the strides of the plan"
        )
        return spec.error("FAB3018", message, *path, help=f"Use a /{narrow.length} or larger.")
    what = plural(narrow.wanted, "ToR")
    if network.tier is not TierName.TOR:
        what = f"{narrow.wanted} numbers of {network.tier}s by the strides of the plan"
    several = network.subnets > 1
    where = f"a subnet of /{network.length} of {network.pool}" if several else str(network.pool)
    message = f"{format_path(path)}: {where} has {network.room} addresses for {what}"
    help_ = f"Use {'as many subnets of ' if several else 'a '}/{narrow.length}, or larger."
    return spec.error("FAB3018", message, *path, help=help_)


def network_path(network: ManagementNetwork) -> KeyPath:
    """Return the path of a management network in the spec."""
    key = network.key.removeprefix("management.")
    return ("management", key) if key == "network" else ("management", "networks", int(key[9:-1]))


def refuse_unmanaged(spec: ClusterSpec, fabric: Fabric) -> None:
    """Every switch is in a management network.

    Raises:
        UnfitError: FAB3111, with the number of those that are in none.
    """
    without = [at for at in fabric.switch_ids() if management_network(fabric, at) is None]
    if not without:
        return
    first = without[0]
    missing = f"tier: {first.tier}" + (f", from: {first.unit + 1}" if first.tier is TierName.TOR else "")
    message = (
        f"{plural(len(without), 'switch')} {'is' if len(without) == 1 else 'are'} in no management "
        f"network, {fabric.name(first)} the first"
    )
    help_ = f"Add a network with `{missing}`, or give `network` for all that no other takes."
    raise UnfitError(spec.error("FAB3111", message, "management", "networks", help=help_))


def out_of_band_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3025 for each gateway or server of the management section whose address a switch has."""
    reserved = 0 if fabric.given.switches else MANAGEMENT_RESERVED
    named: dict[str, tuple[KeyPath, str]] = {}
    for path, text in named_addresses(spec):
        if any(_is_switch_address(network, text, reserved) for network in fabric.addresses.management):
            named[text] = (path, text)
    if not named:
        return
    for at in fabric.switch_ids():
        place = management_place(fabric, at)
        if found := named.get(place.address):
            path, text = found
            subnet = place.offset // place.network.size * place.network.size
            first, last = (place.network.pool.address(subnet + n) for n in (1, MANAGEMENT_RESERVED - 1))
            message = f"{format_path(path)} {text} is the management address of {fabric.name(at)}"
            help_ = f"Keep to {first} to {last}, which no switch gets, or to an address outside the network."
            yield spec.error("FAB3025", message, *path, help=help_)


def named_addresses(spec: ClusterSpec) -> Iterator[tuple[KeyPath, str]]:
    """Return the paths in the spec of each address (or name) of an out-of-band network."""
    services = spec.management.services
    if spec.management.gateway is not None:
        yield ("management", "gateway"), str(spec.management.gateway)
    for service in ("ntp", "dns", "syslog"):
        for index, server in enumerate(getattr(services, service)):
            yield ("management", service, index), server
    for protocol, requested in (("tacacs", services.tacacs), ("radius", services.radius)):
        for index, server in enumerate(requested.servers if requested else ()):
            yield ("management", protocol, "servers", index), server


def _is_switch_address(network: ManagementNetwork, text: str, reserved: int) -> bool:
    """Return whether an address could be a switch's, past the reserved ones of its subnet.

    Not for a name, or an address of the other IP version.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    offset = int(address) - network.pool.first
    inside = address.version == network.pool.version and 0 <= offset < 1 << network.pool.bits
    return inside and offset % network.size >= reserved
