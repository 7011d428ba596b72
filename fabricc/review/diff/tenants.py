"""Describe which tenants gain and lose GPUs by a change, and the effect on other tenants."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.fabric.shape import HostId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.review.diff.model import Rail

_RailOfHost = tuple[str, int]


class _Share(NamedTuple):
    """Rails that a tenant gains or loses: their GPUs, ports and ToRs."""

    gpus: Fraction
    ports: int
    tors: int


def describe_tenants(base: Fabric, head: Fabric, reach: Iterable[Rail], sessions: int) -> tuple[str, ...]:
    """Return a sentence for each tenant that gains or loses GPUs, and one about others that lose service.

    Args:
        base: the fabric before the change.
        head: the fabric after it.
        reach: rails that lose service while the change is applied.
        sessions: BGP sessions that go down.
    """
    before, after = _tenants_of_rails(base), _tenants_of_rails(head)
    if before == after:
        return ()
    moves: dict[tuple[str, str], list[_RailOfHost]] = defaultdict(list)
    for rail in before.keys() | after.keys():
        old, new = before.get(rail, ""), after.get(rail, "")
        if old != new:
            moves[old, "loses"].append(rail)
            moves[new, "gains"].append(rail)
    resets = (
        "no session of another tenant resets"
        if not sessions
        else f"{plural(sessions, 'BGP session')} of all tenants reset"
    )
    lines = []
    for (tenant, verb), rails in sorted(moves.items()):
        if tenant:
            share = _share(head if verb == "gains" else base, rails)
            lines.append(
                f"tenant {tenant} {verb} {plural(round(share.gpus), 'GPU')}: {plural(share.ports, 'port')} on "
                f"{plural(share.tors, 'ToR')}, {resets}"
            )
    moved = {tenant for tenant, _ in moves}
    reached = {before[host, rail] for host, rail, network in reach if not network and (host, rail) in before}
    if noticed := sorted(reached - moved):
        lines.append(f"other tenants lose service while it is applied: {', '.join(noticed)}")
    return tuple(lines)


def find_moves(base: Fabric, head: Fabric) -> tuple[str, ...]:
    """Return the hosts with GPUs that go from one tenant to another, with both."""
    before, after = _tenants_of_rails(base), _tenants_of_rails(head)
    moved = sorted(
        (host, before[host, rail], tenant)
        for (host, rail), tenant in after.items()
        if before.get((host, rail), tenant) != tenant
    )
    return tuple(dict.fromkeys(f"{host} from {old} to {new}" for host, old, new in moved))


def _tenants_of_rails(fabric: Fabric) -> dict[_RailOfHost, str]:
    """Return (host, rail) -> tenant; empty without tenants."""
    tenancy = fabric.tenancy
    if tenancy is None:
        return {}
    return {
        (host, rail): tenancy.tenants[index].name
        for host, rails in tenancy.of_host.items()
        for rail, index in enumerate(rails)
        if index >= 0
    }


def _share(fabric: Fabric, rails: Iterable[_RailOfHost]) -> _Share:
    """Return what some rails of hosts consist of."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for name, rail in rails:
        wanted[name].add(rail)
    gpus, ports, tors = Fraction(0), 0, set[str]()
    for place, group in _places(fabric, wanted.keys()):
        model, attached = fabric.host_models[group], fabric.attachments[group]
        host = fabric.host(place)
        own = [port for port in host.ports if port.rail in wanted[host.name]]
        gpus += Fraction(model.gpus, attached.rails) * len(wanted[host.name])
        ports += len(own)
        tors |= {port.peer.device for port in own}
    return _Share(gpus, ports, len(tors))


def _places(fabric: Fabric, hosts: Iterable[str]) -> Iterator[tuple[HostId, int]]:
    wanted = set(hosts)
    for coordinate, unit in fabric.units.items():
        for slot, name in unit.hosts.items():
            if name in wanted:
                yield HostId(coordinate, slot), unit.group
