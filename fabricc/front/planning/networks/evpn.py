"""Assign hosts to segments, and check that the subnets hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.fabric.addresses import unit_number
from fabricc.fabric.evpn import Evpn, Segment, bits_for, host_offset
from fabricc.fabric.links import served_slots
from fabricc.front.spec.evpn import SECTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Unit
    from fabricc.front.spec.model import ClusterSpec, EvpnRequest


def with_segments(spec: ClusterSpec, fabric: Fabric, findings: list[Diagnostic]) -> Fabric:
    """Return the fabric with the spec's segments; a host that cannot be in one is a finding."""
    request = spec.evpn
    if request is None:
        return fabric
    if (apart := fabric.fabrics) > 1:
        message = f"no switch joins the {apart} planes, so a segment cannot span them"
        help_ = "Leave the network routed, or give it one plane: `planes: 1`, and no `wiring: rail-only`."
        findings.append(spec.error("FAB3310", message, SECTION, help=help_))
    given = fabric.given
    if given.hosts or any((each.hosts4, each.hosts6) != (None, None) for each in given.switches.values()):
        message = "identity tables set addresses of host links, which hosts in segments do not have"
        help_ = "Remove these addresses from the tables: those of a segment follow from `subnet`."
        findings.append(spec.error("FAB3312", message, SECTION, help=help_))
    of_group = _of_groups(spec, request, findings)
    planned = replace(
        fabric, evpn=Evpn(request.segments, request.vrfs, request.anycast_mac, of_group, request.mtu)
    )
    findings.extend(_too_small(spec, planned, of_group))
    return planned


def _of_groups(spec: ClusterSpec, request: EvpnRequest, findings: list[Diagnostic]) -> tuple[int, ...]:
    """Return the index of the segment of each host group."""
    names = [group.name for group in spec.gpus.groups]
    segment_of_group: dict[str, int] = {}
    for index, segment in enumerate(request.segments):
        for at, group in enumerate(request.groups.get(segment.name, ())):
            path = (SECTION, "segments", segment.name, "groups", at)
            if group not in names:
                help_ = f"Groups are {', '.join(names)}."
                findings.append(spec.error("FAB3309", f"no host group is named {group}", *path, help=help_))
            elif segment_of_group.setdefault(group, index) != index:
                other = request.segments[segment_of_group[group]].name
                message = f"hosts of {group} are in {other} already: a port can be in only one segment"
                findings.append(spec.error("FAB3309", message, *path, help="Name the group once."))
    rest = [index for index, segment in enumerate(request.segments) if segment.name not in request.groups]
    for group in names:
        if group not in segment_of_group and len(rest) != 1:
            message = f"no segment contains the hosts of {group}"
            open_ = "None takes the other hosts" if not rest else f"{len(rest)} take the other hosts"
            help_ = f"{open_}: name `groups: [{group}]` in one."
            findings.append(spec.error("FAB3309", message, SECTION, "segments", help=help_))
    return tuple(segment_of_group.get(group, rest[0] if rest else 0) for group in names)


def _too_small(spec: ClusterSpec, fabric: Fabric, of_group: tuple[int, ...]) -> Iterator[Diagnostic]:
    """Report FAB3311: a subnet that does not hold the addresses of its hosts."""
    assert spec.evpn is not None
    for index, segment in enumerate(spec.evpn.segments):
        units = [
            unit
            for unit in fabric.units.values()
            if unit.border is None and of_group[unit.group] == index and unit.hosts
        ]
        last = max(units, key=lambda unit: unit_number(fabric.strides, unit.coordinate), default=None)
        if last is None:
            continue
        offsets = list(_host_offsets(fabric, last))
        for key, subnet in (("subnet", segment.subnet4), ("subnet6", segment.subnet6)):
            if subnet is not None and (needed := bits_for(offsets, subnet.version)) > subnet.bits:
                yield _report_small_subnet(
                    spec, segment, key, last, max(offsets), subnet.length + subnet.bits - needed
                )


def _report_small_subnet(
    spec: ClusterSpec, segment: Segment, key: str, last: Unit, offset: int, length: int
) -> Diagnostic:
    subnet = segment.subnet4 if key == "subnet" else segment.subnet6
    assert subnet is not None
    message = (
        f"hosts of {last.name} have addresses up to the {offset + 1:,}th of {segment.name}, and {subnet} has "
    )
    message += f"{1 << subnet.bits:,}"
    help_ = f"A /{length} holds them; addresses follow from units, so growth changes none."
    return spec.error("FAB3311", message, SECTION, "segments", segment.name, key, help=help_)


def _host_offsets(fabric: Fabric, unit: Unit) -> Iterator[int]:
    """Return the offsets of the addresses of a unit's hosts."""
    attached = fabric.attachments[unit.group]
    for tor in fabric.tor_ids(unit.home):
        for served_unit, slots, rails in served_slots(fabric, tor):
            if served_unit.coordinate != unit.coordinate:
                continue
            for slot in slots:
                number = attached.seat(slot)[1]
                for rail in rails:
                    yield host_offset(
                        fabric.strides,
                        unit.coordinate,
                        tor.index,
                        tor.nic_port,
                        number,
                        rail % attached.rails_per_tor,
                    )
