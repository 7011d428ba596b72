"""Assign ports of hosts to tenants, number the tenants, and report what their switches may not be able to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.catalog.support import Verdict, find_capability, list_systems_with_loopback_sessions
from fabricc.fabric import links
from fabricc.fabric import tenants as fabric_tenants
from fabricc.fabric.design import DeviceChange
from fabricc.fabric.shape import SwitchId, TierName, Unit
from fabricc.front.spec.document import join_words
from fabricc.front.spec.tenants import SECTION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import HostModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec, TenantRequest

_NAMED = 3  # hosts that a message lists


def with_tenants(
    spec: ClusterSpec, fabric: Fabric, pinned: Mapping[str, int], findings: list[Diagnostic]
) -> tuple[Fabric, dict[str, int]]:
    """Return the fabric with the spec's tenants, and the numbers of tenants for the lock.

    `pinned`: numbers of tenants that the lock has.
    """
    if not spec.tenants:
        return fabric, dict(pinned)
    numbers = fabric_tenants.assign_numbers([each.name for each in spec.tenants], pinned)
    tenants = tuple(
        fabric_tenants.Tenant(each.name, numbers[each.name], each.numbers, each.vrf) for each in spec.tenants
    )
    if (last := max(tenants, key=lambda each: each.number)).number > fabric_tenants.MOST:
        most = f"the last number is {fabric_tenants.MOST:,}"
        message = f"{last.name} is the {last.number:,}th tenant that the lock counts, and {most}"
        help_ = "Delete the lines of tenants that left from the lock; their numbers are free then."
        findings.append(spec.error("FAB3320", message, SECTION, last.name, help=help_))
    tunnels = fabric.shape.spines > 0 or fabric.shape.peer_links > 0
    of_host = assign_rails(spec, fabric, findings)
    mtu = fabric_tenants.port_mtu(fabric.switch_mtu, tunnels=tunnels)
    loopbacks = tunnels and _choose_loopbacks(spec, fabric, findings)
    tenancy = fabric_tenants.Tenancy(
        tenants, of_host, tunnels, mtu, assign_exits(spec, fabric, mtu, findings), loopbacks
    )
    findings.extend(_report_numbers(spec, tenants, tunnels=tunnels))
    findings.extend(_report_unassigned(spec, fabric, tenancy))
    findings.extend(_report_capability(spec, fabric, tunnels=tunnels))
    findings.extend(_report_packet_gaps(spec, fabric) if tunnels else ())
    return replace(fabric, tenancy=tenancy), numbers


def assign_rails(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> dict[str, tuple[int, ...]]:
    """Return host -> the index of the tenant of each of its rails, `NOBODY` for none; report what cannot be."""
    seats = {host: unit for unit in fabric.units.values() for host in unit.hosts.values()}
    racks = _hosts_by_rack(fabric)
    found: dict[str, list[int]] = {}
    by_rack: dict[str, tuple[str, str]] = {}
    for index, request in enumerate(spec.tenants):
        wanted = dict.fromkeys(request.hosts, (SECTION, request.name, "hosts"))
        whole: dict[str, str] = {}
        for rack in request.racks:
            if rack not in racks:
                message = f"{request.name}: no rack or unit is named {rack}"
                help_ = f"There are for example {', '.join(list(racks)[:_NAMED])}."
                findings.append(spec.error("FAB3313", message, SECTION, request.name, "racks", help=help_))
            for host in racks.get(rack, ()):
                wanted.setdefault(host, (SECTION, request.name, "racks"))
                whole[host] = rack
        for host, path in wanted.items():
            if (unit := seats.get(host)) is None:
                message = f"{request.name}: no host is named {host}"
                help_ = f"There are for example {', '.join(list(seats)[:_NAMED])}."
                findings.append(spec.error("FAB3313", message, *path, help=help_))
                continue
            gpus = request.parts.get(host, request.gpus) if path[-1] == "hosts" else None
            if host in whole:
                if gpus is not None and len({*gpus}) < fabric.host_models[unit.group].gpus:
                    where = (SECTION, request.name, "gpus", *([host] if host in request.parts else []))
                    message = (
                        f"{request.name} has single GPUs of {host} by `gpus`, and all of them by the rack "
                        f"{whole[host]}"
                    )
                    help_ = "Remove the host from `hosts` and `gpus`, or the rack from `racks`."
                    findings.append(spec.error("FAB3316", message, *where, help=help_))
                gpus = None
            rails = _rails_of(spec, fabric, unit, host, request, gpus, findings)
            own = found.setdefault(host, [fabric_tenants.NOBODY] * fabric.attachments[unit.group].rails)
            taken = sorted({own[rail] for rail in rails} - {fabric_tenants.NOBODY, index})
            if taken:
                other = spec.tenants[taken[0]].name
                message = f"{host} belongs to {other} and to {request.name}: a port can be in only one tenant"
                help_ = "Name the host in one of them, or divide it by `gpus`."
                if host in by_rack or host in whole:
                    owner, rack = by_rack.get(host) or (request.name, whole[host])
                    help_ = f"Write the other `hosts` of {rack} in {owner}, in place of the rack."
                findings.append(spec.error("FAB3314", message, *path, help=help_))
            for rail in rails:
                own[rail] = index
        by_rack |= {host: (request.name, rack) for host, rack in whole.items()}
    return {host: tuple(rails) for host, rails in found.items()}


def assign_exits(spec: ClusterSpec, fabric: Fabric, mtu: int, findings: list[Diagnostic]) -> dict[str, int]:
    """Return outside party -> index of the tenant that reaches it; report FAB3302 and FAB3304 for what cannot be.

    A link to a party is in the VRF of one tenant, so that no two tenants meet there.
    """
    found: dict[str, int] = {}
    for party in fabric.external.outsiders:
        path: KeyPath = ("external", party.name)
        reaching = [at for at, each in enumerate(spec.tenants) if party.name in each.reach]
        problem = ""
        if not reaching:
            problem = "no tenant reaches it, so its links are in no VRF"
            help_ = f"Write `reach: [{party.name}]` in a tenant, or remove the party."
        elif len(reaching) > 1:
            first, second = (spec.tenants[at].name for at in reaching[:2])
            problem = f"{first} and {second} reach it, and a link is in the VRF of one tenant"
            help_ = "Write a party with links of its own for each tenant."
        elif party.asn is not None:
            problem = "fabricc configures no BGP sessions in VRFs of tenants"
            help_ = "Remove `asn` and its settings: `accept` becomes static routes of the VRF."
            path = (*path, "asn")
        if problem:
            findings.append(spec.error("FAB3302", f"external.{party.name}: {problem}", *path, help=help_))
            continue
        found[party.name] = reaching[0]
        if party.mtu > mtu:
            message = f"external.{party.name}: packets of {party.mtu} bytes do not fit links between switches in VXLAN"
            findings.append(spec.error("FAB3304", message, *path, "mtu", help=f"Write `mtu: {mtu}` or less."))
        for at, link in enumerate(party.links):
            where = fabric.find(link.at)
            if isinstance(where, SwitchId) and where.tier is not TierName.TOR:
                message = f"external.{party.name}: {link.at} is no ToR, and VRFs of tenants are on ToRs"
                help_ = "Use a port of a ToR, or of a border leaf (`tors: {border: 2}`)."
                findings.append(spec.error("FAB3302", message, *path, "links", at, "at", help=help_))
    return found


def _choose_loopbacks(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> bool:
    """Return whether EVPN routes go between loopbacks; report FAB3300 where only some of the switches do that."""
    systems: dict[bool, str] = {}
    known = list_systems_with_loopback_sessions()
    for at in fabric.switch_ids():
        change = fabric.changes.get(fabric.name(at))
        nos = (change and change.nos) or fabric.tiers[at.tier].nos
        systems.setdefault(nos in known, nos)
    if len(systems) > 1:
        message = f"{systems[True]} exchanges the routes of tenants between loopbacks, and {systems[False]} over links"
        findings.append(
            spec.error("FAB3300", message, SECTION, help="Use one of the two systems on all switches.")
        )
    return True in systems


def _hosts_by_rack(fabric: Fabric) -> dict[str, list[str]]:
    """Return the hosts of every rack and unit, by its name."""
    units = {unit.name: list(unit.hosts.values()) for unit in fabric.units.values() if unit.hosts}
    return {**units, **fabric.rack_hosts()}


def _rails_of(
    spec: ClusterSpec,
    fabric: Fabric,
    unit: Unit,
    host: str,
    request: TenantRequest,
    gpus: Sequence[int] | None,
    findings: list[Diagnostic],
) -> list[int]:
    """Return the rails of GPUs of a host: all of them where `gpus` is None."""
    model, rails = fabric.host_models[unit.group], fabric.attachments[unit.group].rails
    if gpus is None:
        return list(range(rails))
    path = (SECTION, request.name, "gpus")
    if missing := [gpu for gpu in gpus if gpu >= model.gpus]:
        message = f"{request.name}: {host} has {plural(model.gpus, 'GPU')}, and no GPU {missing[0]}"
        findings.append(spec.error("FAB3316", message, *path, help="Name GPUs from 0 that the hosts have."))
        return []
    if (shared := _divided_rail(model, rails, gpus)) is not None:
        message = f"{request.name}: GPU {shared[0]} of {host} shares a NIC with GPU {shared[1]}: a NIC has one tenant"
        findings.append(spec.error("FAB3316", message, *path, help="Name all GPUs of a NIC, or none."))
        return []
    return sorted({rail for gpu in gpus for rail in _rails_of_gpu(model, rails, gpu)})


def _rails_of_gpu(model: HostModel, rails: int, gpu: int) -> range:
    """Return the rails of a GPU: one, several, or one that it shares."""
    first = gpu * rails // model.gpus
    return range(first, max((gpu + 1) * rails // model.gpus, first + 1))


def _divided_rail(model: HostModel, rails: int, gpus: Sequence[int]) -> tuple[int, int] | None:
    """Return a GPU of `gpus` and one that is not, where both share a NIC."""
    for gpu in gpus:
        own = set(_rails_of_gpu(model, rails, gpu))
        for other in range(model.gpus):
            if other not in gpus and not own.isdisjoint(_rails_of_gpu(model, rails, other)):
                return gpu, other
    return None


def _report_numbers(
    spec: ClusterSpec, tenants: Sequence[fabric_tenants.Tenant], *, tunnels: bool
) -> Iterator[Diagnostic]:
    """Report FAB3322: numbers or names that two tenants have, or numbers that VRFs without tunnels do not have."""
    holders: dict[tuple[str, object], str] = {}
    for tenant in tenants:
        other = holders.setdefault(("vrf", tenant.vrf.lower()), tenant.name)
        if other != tenant.name:
            message = f"{tenant.name} has the VRF {tenant.vrf}, which {other} has too"
            where = (SECTION, tenant.name, *(["vrf"] if tenant.own_vrf else []))
            yield spec.error("FAB3322", message, *where, help="Write another `vrf` for one of the two.")
        of_vrf = (tenant.vni, tenant.route_target, tenant.distinguisher(""))
        for key, value, own in zip(fabric_tenants.TenantNumbers._fields, of_vrf, tenant.own, strict=True):
            where = (SECTION, tenant.name, *([key] if own is not None else []))
            other = holders.setdefault((key, value), tenant.name)
            if own is not None and not tunnels:
                message = f"{tenant.name}: VRFs have no VNI and no EVPN routes here, and {key} is stated"
                yield spec.error("FAB3322", message, *where, help=f"Remove `{key}`.")
            elif other != tenant.name:
                named = str(value).removeprefix(":")
                message = f"{tenant.name} has the {_NUMBERS[key]} {named}, which {other} has too"
                yield spec.error(
                    "FAB3322", message, *where, help=f"Write another `{key}` for one of the two."
                )


_NUMBERS = {"vni": "VNI", "route_target": "route target", "distinguisher": "number of route distinguishers"}


def _report_unassigned(
    spec: ClusterSpec, fabric: Fabric, tenancy: fabric_tenants.Tenancy
) -> Iterator[Diagnostic]:
    """Report FAB3315: hosts with ports of no tenant, which are shut."""
    hosts = [host for unit in fabric.units.values() for host in unit.hosts.values()]
    idle = [
        host for host in hosts if fabric_tenants.NOBODY in tenancy.of_host.get(host, (fabric_tenants.NOBODY,))
    ]
    if idle:
        named = ", ".join(idle[:_NAMED]) + (" and others" if len(idle) > _NAMED else "")
        message = f"ports of no tenant on {plural(len(idle), 'host')}, which are shut: {named}"
        yield spec.warning(
            "FAB3315", message, SECTION, help="Name them in a tenant, or accept it with a reason."
        )


def _report_capability(spec: ClusterSpec, fabric: Fabric, *, tunnels: bool) -> Iterator[Diagnostic]:
    """Report FAB3318 and FAB3319: ToRs of which sources deny or do not confirm that they route VRFs over VXLAN."""
    if not tunnels:
        return
    requested: dict[tuple[str, str], str] = {}
    for at in fabric.switch_ids():
        if at.tier is TierName.TOR:
            name = fabric.name(at)
            change = fabric.changes.get(name)
            nos = (change and change.nos) or fabric.tiers[at.tier].nos
            requested.setdefault((nos, fabric.model(at).name), name)
    for nos, model in requested:
        box = next(fabric.model(at) for at in fabric.switch_ids() if fabric.model(at).name == model)
        found = find_capability(nos, box)
        where = f"{nos} on {model} as VTEP of tenants"
        if found.verdict is Verdict.CONTRADICTED:
            help_ = "Use ToRs that terminate routed VRFs (`fabricc docs tenants`)."
            yield spec.error("FAB3318", f"{where}: {found.reason}", "tors", "model", help=help_)
        elif found.verdict is Verdict.UNVERIFIED:
            help_ = (
                "Confirm it with the vendor, test one ToR, and accept FAB3319 with the result as the reason."
            )
            yield spec.error("FAB3319", f"{where}: {found.reason}", "tors", "model", help=help_)


def _report_packet_gaps(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report FAB3323: NICs that send as fast as their link, so that VXLAN makes more of it than an uplink carries."""
    for group, model in zip(spec.gpus.groups, fabric.host_models, strict=False):
        if gap := model.nic.tunnel_packet_gap:
            message = f"{model.nic.title}: VXLAN makes packets longer behind the ToR; fabricc sets no gap of the NIC"
            help_ = f"Set its inter-packet gap to {gap}; NVIDIA's NIC operator does with `overlay: l3`."
            yield spec.note("FAB3323", message, *group.path, "model", help=help_)


def reach_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report FAB3317 and FAB3321: further networks that tenants do not reach, or where tenants meet."""
    tenancy = fabric.tenancy
    if tenancy is None:
        return
    networks = [each.network for each in fabric.networks]
    known = [*networks, *(party.name for party in fabric.external.outsiders)]
    for request in spec.tenants:
        for at, name in enumerate(request.reach):
            if known.count(name) > 1:
                message = f"{request.name} reaches {name}, which is a network and a party of `external`"
                yield spec.error(
                    "FAB3317", message, SECTION, request.name, "reach", at, help="Rename one of the two."
                )
            elif name not in known:
                message = f"{request.name} reaches {name}, which is neither a further network nor a party of `external`"
                help_ = f"There are: {join_words(known)}." if known else "The spec has no `networks`."
                findings = spec.error("FAB3317", message, SECTION, request.name, "reach", at, help=help_)
                yield findings
    for network in fabric.networks:
        members = _tenants_in(tenancy, network.guests)
        closed = hosts_without_reach(spec, tenancy, network)
        for request in spec.tenants:
            if request.name not in members or network.network in request.reach:
                continue
            own = [host for host in members[request.name] if host in closed]
            half = [host for host in members[request.name] if host not in closed]
            if own:
                named = ", ".join(own[:_NAMED]) + (" and others" if len(own) > _NAMED else "")
                message = f"{network.network}: {request.name} does not reach it, so ports are shut on "
                message += f"{plural(len(own), 'host')}: {named}"
                help_ = f"Write `reach: [{network.network}]`, or accept it with a reason."
                yield spec.warning("FAB3317", message, SECTION, request.name, help=help_)
            if half:
                message = (
                    f"{half[0]} of {request.name} is in network {network.network} by another tenant, and "
                )
                message += f"{request.name} does not reach that"
                help_ = f"Write `reach: [{network.network}]`, or give the host to one tenant."
                yield spec.error("FAB3317", message, SECTION, request.name, help=help_)
        meeting = [name for name, hosts in members.items() if any(host not in closed for host in hosts)]
        if len(meeting) > 1:
            message = f"{meeting[0]} and {meeting[1]} meet in network {network.network}, which does not isolate tenants"
            help_ = "Give each its own network, or accept FAB3321 and name the isolation there as the reason."
            yield spec.error("FAB3321", message, SECTION, meeting[1], help=help_)


def hosts_without_reach(spec: ClusterSpec, tenancy: fabric_tenants.Tenancy, network: Fabric) -> set[str]:
    """Return the hosts of tenants that have ports in a further network, of whose tenants none reaches it."""
    reaching = {each.name for each in spec.tenants if network.network in each.reach}
    allowed = {index for index, tenant in enumerate(tenancy.tenants) if tenant.name in reaching} | {
        fabric_tenants.NOBODY
    }
    return {
        host
        for host in network.guests
        if (rails := set(tenancy.of_host.get(host, ())) - {fabric_tenants.NOBODY})
        and rails.isdisjoint(allowed)
    }


def with_closed_ports(spec: ClusterSpec, rails: Fabric, network: Fabric) -> Fabric:
    """Return a further network that shuts its ports to hosts of tenants that do not reach it.

    Args:
        spec: with the tenants.
        rails: the fabric with the hosts of the tenants.
        network: with its `guests`.
    """
    closed = hosts_without_reach(spec, rails.tenancy, network) if rails.tenancy else set[str]()
    changes = dict(network.changes)
    for tor in network.switch_ids() if closed else ():
        if tor.tier is not TierName.TOR:
            continue
        name, names = network.name(tor), links.port_names(network, tor)
        own = changes.get(name, _UNCHANGED)
        ports = dict(own.ports)
        for unit, slots, served in links.served_slots(network, tor):
            without = [slot for slot in slots if unit.hosts[slot] in closed]
            for link in links.host_links(network, tor, unit, without, served):
                cable_m, medium, _ = ports.get(names[link.slot], (None, None, False))
                ports[names[link.slot]] = cable_m, medium, True
        if ports != own.ports:
            changes[name] = replace(own, ports=ports)
    return replace(network, changes=changes) if closed else network


_UNCHANGED = DeviceChange(None, None, drained=False, cable_m=None, ports={})


def _tenants_in(tenancy: fabric_tenants.Tenancy, hosts: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the tenants of some hosts, each with its hosts among them."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        for index in dict.fromkeys(tenancy.of_host.get(host, ())):
            if index != fabric_tenants.NOBODY:
                found.setdefault(tenancy.tenants[index].name, []).append(host)
    return found
