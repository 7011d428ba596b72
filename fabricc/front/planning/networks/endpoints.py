"""Plan the out-of-band network of a cluster: management switches, and addresses of BMCs and DPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.values import replace
from fabricc.catalog.library import did_you_mean
from fabricc.fabric import management, out_of_band
from fabricc.fabric.addresses import MANAGEMENT_RESERVED, Pool
from fabricc.front.planning.networks import management_switches
from fabricc.front.planning.topology.models import Naming, UnfitError
from fabricc.front.spec.document import format_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.catalog.model import Catalog
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Unit
    from fabricc.front.spec.device_model import ManagementRow
    from fabricc.front.spec.model import ClusterSpec


class Endpoints(NamedTuple):
    """The result: the fabric, None where there is none; numbers for the lock; findings."""

    fabric: Fabric | None
    numbers: Mapping[str, int]
    diagnostics: tuple[Diagnostic, ...]


def has_endpoints(*specs: ClusterSpec) -> bool:
    """Return whether any spec configures more of the out-of-band network than the addresses of switches."""
    return any(
        each.management.switches is not None
        or each.given_management
        or any(isinstance(network.tier, out_of_band.OtherDevices) for network in each.management.networks)
        for each in specs
    )


def with_out_of_band(
    specs: Sequence[ClusterSpec], fabric: Fabric, catalog: Catalog, locked: Mapping[str, int], naming: Naming
) -> Endpoints:
    """Return the fabric with its out-of-band network.

    Args:
        specs: of the top level and of further networks.
        fabric: of the rails, joined with the further networks.
        catalog: the models.
        locked: management switch -> its number in the lock.
        naming: the interface to network operating systems.
    """
    spec, findings = specs[0], list[Diagnostic]()
    racks = {device: rack for each in specs for device, rack in each.given_racks.items()}
    fabric = replace(fabric, out_of_band=out_of_band.OutOfBand(racks=racks))
    numbers = dict(locked)
    try:
        for further in specs[1:]:
            _refuse_further(further)
        _refuse_narrow(spec, fabric)
        if (request := spec.management.switches) is not None:
            switches = management_switches.planned_switches(
                spec, request, fabric, catalog, locked, naming, findings
            )
            _refuse_unaddressed(spec, fabric, switches)
            numbers |= switches.numbers
            fabric = replace(fabric, out_of_band=replace(fabric.out_of_band, switches=switches))
    except UnfitError as unfit:
        return Endpoints(None, locked, (*findings, *unfit.diagnostics))
    fabric = _apply_given_addresses(spec, fabric, findings)
    findings += _check_servers(spec, fabric)
    return Endpoints(fabric, numbers, tuple(findings))


def _refuse_further(spec: ClusterSpec) -> None:
    """Report FAB3210: BMCs and management switches in a further network, whose hosts are those of the top level."""
    section, help_ = spec.management, "Set it at the top level: it is for all networks of the cluster."
    named: list[KeyPath] = [("management", "switches")] if section.switches is not None else []
    named += [
        management_switches.network_path(each)
        for each in section.networks
        if isinstance(each.tier, out_of_band.OtherDevices)
    ]
    named += [("identities", "management")] if spec.given_management else []
    label = f"{spec.network.name}: " if spec.network else ""
    if named:
        message = f"{label}{format_path(named[0])} belongs to the part that all networks of the cluster share"
        raise UnfitError(spec.error("FAB3210", message, *named[0], help=help_))


def _refuse_narrow(spec: ClusterSpec, fabric: Fabric) -> None:
    """Report FAB3211 to FAB3213: hosts in no network, with more addresses than reserved, or without room for them."""
    networks = [each for each in fabric.addresses.management if each.tier is out_of_band.OtherDevices.HOST]
    if not networks:
        return
    units: dict[str, list[Unit]] = {each.key: [] for each in networks}
    for unit in fabric.units.values():
        if not unit.hosts:
            continue
        if (network := management.host_network(fabric, unit.home)) is None:
            message = f"hosts of {unit.name} are in no network with `tier: host`"
            start = fabric.units[unit.home].coordinate + 1
            help_ = f"Add `{{tier: host, from: {start}, network: …}}` to `management.networks`."
            raise UnfitError(spec.error("FAB3213", message, "management", "networks", help=help_))
        units[network.key].append(unit)
        model = fabric.host_models[unit.group]
        most = max((each.number + 1 for each in out_of_band.management_endpoints(model)), default=0)
        if most > network.per_host:
            key = format_path(management_switches.network_path(network))
            message = f"{key} keeps {network.per_host} addresses for a host; {model.title} takes {most}"
            help_ = f"Write `per_host: {1 << (most - 1).bit_length()}`."
            raise UnfitError(
                spec.error(
                    "FAB3211", message, *management_switches.network_path(network), "per_host", help=help_
                )
            )
    for network in networks:
        if not _has_room(fabric, network, units[network.key]):
            raise UnfitError(_report_narrow_network(spec, fabric, network, units[network.key]))


def _has_room(fabric: Fabric, network: out_of_band.ManagementNetwork, units: Sequence[Unit]) -> bool:
    """Return whether the blocks of all units lie in the network and are distinct."""
    size, seen = management.host_block(fabric, network), set[tuple[int, int]]()
    for unit in units:
        subnet, block = management.unit_place(fabric, network, unit)
        inside = 0 <= subnet < network.subnets and block >= 0 and (block + 1) * size <= network.room
        if not inside or (subnet, block) in seen:
            return False
        seen.add((subnet, block))
    return True


def _report_narrow_network(
    spec: ClusterSpec, fabric: Fabric, network: out_of_band.ManagementNetwork, units: Sequence[Unit]
) -> Diagnostic:
    """Report FAB3212 with a tested length that holds all hosts."""
    size, several = management.host_block(fabric, network), network.subnets > 1
    wider = (_of_length(network, length, several) for length in range(network.length - 1, 7, -1))
    fits = next((each for each in wider if _has_room(fabric, each, units)), None)
    what = f"a subnet of /{network.length} of {network.pool}" if several else str(network.pool)
    where = format_path(management_switches.network_path(network))
    message = (
        f"{where}: {what} has {network.room} addresses; {plural(len(units), 'unit')} "
        f"{'takes' if len(units) == 1 else 'take'} {size} each, {network.per_host} for each host"
    )
    help_ = "Give more units networks of their own."
    if fits is not None:
        whole = f" of a /{fits.pool.length}" if several else ""
        help_ = f"Use {'subnets of' if several else 'a'} /{fits.length}{whole}, or larger."
    return spec.error("FAB3212", message, *management_switches.network_path(network), "network", help=help_)


def _of_length(
    network: out_of_band.ManagementNetwork, length: int, several: bool
) -> out_of_band.ManagementNetwork:
    """Return the network with longer subnets, as many of them, at the block of its first address."""
    whole = max(8, network.pool.length - (network.length - length)) if several else length
    bits = 32 - whole
    pool = Pool(network.pool.first >> bits << bits, whole, network.pool.version)
    return replace(network, pool=pool, length=length)


def _refuse_unaddressed(spec: ClusterSpec, fabric: Fabric, switches: out_of_band.ManagementSwitches) -> None:
    """Report FAB3213 and FAB3212: management switches in no network, or in one without room for their numbers."""
    needed = management_switches.numbers_needed(switches)
    if (network := management.switch_network(fabric)) is None:
        length = 32 - (needed + MANAGEMENT_RESERVED).bit_length()
        message = f"{len(switches.names)} management switches are in no network"
        help_ = f"Add `{{tier: oob, network: …}}` of /{length} or larger to `management.networks`."
        raise UnfitError(spec.error("FAB3213", message, "management", "networks", help=help_))

    def holds(each: out_of_band.ManagementNetwork) -> bool:
        return each.numbers * each.subnets >= needed

    if holds(network):
        return
    several = network.subnets > 1
    tried = (_of_length(network, length, several) for length in range(network.length - 1, 7, -1))
    fits = next((each.length for each in tried if holds(each)), 8)
    where = management_switches.network_path(network)
    message = (
        f"{format_path(where)}: {network.pool} has {network.numbers * network.subnets} addresses for "
        f"{needed} numbers of management switches, {len(switches.numbers)} of them in use"
    )
    help_ = f"Use {'subnets of' if several else 'a'} /{fits}, or larger."
    raise UnfitError(spec.error("FAB3212", message, *where, "network", help=help_))


def _apply_given_addresses(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> Fabric:
    """Return the fabric with the addresses from the table; collisions are findings."""
    if not spec.given_management:
        return fabric
    computed = {(each.device, each.endpoint): each for each in management.address_owners(fabric)}
    rows: dict[tuple[str, str], ManagementRow] = {}
    for row in spec.given_management:
        if (owner := computed.get((row.device, row.port))) is None:
            message = f"nothing has a management address as {clip(f'{row.device} {row.port}')!r}"
            ports = [port for device, port in computed if device == row.device]
            known = {device for device, _ in computed}
            help_ = f"It has {', '.join(ports)}." if ports else did_you_mean(row.device, known)
            findings.append(_error_at_row("FAB3121", message, row, "device", help_))
        elif _offset_of_row(owner, row) is None:
            network = owner.place.network
            where = f"{network.key} {network.pool}"
            message = f"{row.address} of {row.device} {row.port} is not an address for a device in {where}"
            help_ = "The gateway is in that network: widen it, or give an address in it."
            findings.append(_error_at_row("FAB3124", message, row, "address", help_))
        else:
            rows[row.device, row.port] = row
    given = {key: _offset_of_row(computed[key], row) or 0 for key, row in rows.items()}
    changed = replace(fabric, out_of_band=replace(fabric.out_of_band, given=given))
    findings += _find_collisions(changed, rows)
    return changed


def _offset_of_row(owner: management.Owner, row: ManagementRow) -> int | None:
    """Return the offset of a given address in the owner's network, or None where no device can have it."""
    network = owner.place.network
    offset = int(row.address) - network.pool.first
    within = offset % network.size
    usable = 0 <= offset < 1 << network.pool.bits and within not in (0, network.size - 1, network.gateway)
    return offset if usable else None


def _find_collisions(fabric: Fabric, rows: Mapping[tuple[str, str], ManagementRow]) -> Iterator[Diagnostic]:
    """Report FAB3122 and FAB3123: an address with two owners, one of which the table defines."""
    first: dict[str, management.Owner] = {}
    for each in sorted(management.address_owners(fabric), key=lambda owner: not owner.given):
        address = each.place.address
        other = first.setdefault(address, each)
        if other is each:
            continue
        row = rows[other.device, other.endpoint]
        message = f"{address} of {row.device} {row.port} is that of {each.device} {each.endpoint}"
        if each.given:
            yield _error_at_row("FAB3122", message, row, "address", "Assign a different one to each.")
        else:
            help_ = f"Give another, or {each.device} {each.endpoint} one as well."
            yield _error_at_row("FAB3123", f"{message}, computed", row, "address", help_)


def _error_at_row(code: str, message: str, row: ManagementRow, column: str, help: str) -> Diagnostic:
    at = row.positions.get(column) or next(iter(row.positions.values()))
    return Diagnostic(code, Severity.ERROR, message, at, help)


def _check_servers(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report FAB3025 for each management server whose address a BMC, DPU or management switch has."""
    named = {text: path for path, text in management_switches.named_addresses(spec)}
    for each in management.address_owners(fabric):
        if (path := named.get(each.place.address)) is not None:
            message = (
                f"{format_path(path)} {each.place.address} is the address of {each.device} {each.endpoint}"
            )
            help_ = f"Keep to the first {MANAGEMENT_RESERVED - 1} addresses of a subnet, which are reserved."
            yield spec.error("FAB3025", message, *path, help=help_)
