"""List the hosts of a fabric for job files: those with GPUs in topological order, one of each kind in full, the others.

The scripts below `templates/jobs/` are the same in every fabric.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from fabricc.base import installation
from fabricc.base.values import dataclass, replace
from fabricc.fabric import addresses as adr
from fabricc.fabric.links import host_links, tor_id
from fabricc.fabric.naming import host_port_name
from fabricc.fabric.shape import HostId
from fabricc.fabric.tenants import NOBODY, Tenancy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fabricc.fabric.fabric import Fabric

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class JobHost:
    """A host by name and coordinates.

    Attributes:
        unit: name of its scalable unit, whose hosts share their ToRs.
        pod: name of its pod in a three-tier fabric, else None.
        kind: index of its `Roster.kinds`.
        model: name of its host model.
        at: its coordinates, (unit, slot).
        rack: the one that it stands in, where racks are named and have no ToR, else "".
        domain: its NVLink domain, or "" where that ends with the host.
    """

    name: str
    unit: str
    pod: str | None
    kind: int
    model: str
    gpus: int
    at: HostId
    rack: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class PortAddress:
    """The addresses of one port of a host, without prefix length; `gateway` is its ToR's."""

    host: str
    address: str
    gateway: str


@dataclass(frozen=True, slots=True)
class Roster(Generic[Kind]):
    """The hosts with GPUs of a fabric of Ethernet or InfiniBand, which differ in what a host in full is.

    Attributes:
        hosts: in topological order: pod, unit, NVLink domain, slot.
        kinds: one host of every host group that has hosts, in the spec's order; what differs between hosts of one
            group is only names, addresses and far ends.
        tiers: of switches.
        others: the hosts without GPUs, of no kind.
    """

    cluster: str
    hosts: tuple[JobHost, ...]
    kinds: tuple[Kind, ...]
    tiers: int
    others: tuple[JobHost, ...] = ()

    def units(self) -> dict[str, list[JobHost]]:
        """Return the hosts by unit, both in topological order."""
        table: dict[str, list[JobHost]] = {}
        for host in self.hosts:
            table.setdefault(host.unit, []).append(host)
        return table

    def hosts_by_domain(self) -> dict[str, list[JobHost]]:
        """Return the hosts by NVLink domain in topological order; without hosts whose domain ends with the host."""
        found = by_domain(self.hosts)
        found.pop("", None)
        return found


def tenant_rosters(tenancy: Tenancy, hosts: Roster[Kind]) -> dict[str, Roster[Kind]]:
    """Return the hosts of each tenant that has whole ones; a host whose GPUs several tenants have is in none."""
    found: dict[str, list[JobHost]] = {}
    for host in hosts.hosts:
        owners = set(tenancy.of_host.get(host.name, (NOBODY,)))
        if len(owners) == 1 and NOBODY not in owners:
            found.setdefault(tenancy.tenants[owners.pop()].name, []).append(host)
    return {name: part_of(hosts, members) for name, members in found.items()}


def part_of(hosts: Roster[Kind], members: list[JobHost]) -> Roster[Kind]:
    """Return some of the hosts, with the kinds that these are of."""
    used = sorted({host.kind for host in members})
    kinds = tuple(hosts.kinds[kind] for kind in used)
    return Roster(
        hosts.cluster,
        tuple(replace(host, kind=used.index(host.kind)) for host in members),
        kinds,
        hosts.tiers,
    )


def by_domain(hosts: Iterable[JobHost]) -> dict[str, list[JobHost]]:
    """Hosts by NVLink domain, in the order of the first of each; "" where it ends with the host."""
    table: dict[str, list[JobHost]] = {}
    for host in hosts:
        table.setdefault(host.domain, []).append(host)
    return table


def nvlink_parts(unit: str, members: Iterable[JobHost]) -> dict[str, list[JobHost]]:
    """Split a unit's hosts into named parts that share NVLink; empty if the whole unit is one part."""
    domains = by_domain(members)
    return {f"{unit}-{name}": each for name, each in domains.items()} if len(domains) > 1 else {}


def list_hosts(fabric: Fabric, in_full: Callable[[HostId], Kind]) -> Roster[Kind]:
    """Return the hosts with GPUs and the other hosts, in time proportional to their number.

    Args:
        fabric: that of the rails.
        in_full: a host by its coordinates.
    """
    shape = fabric.shape
    kinds: list[Kind] = []
    index_of: dict[int, int] = {}
    hosts: list[JobHost] = []
    others: list[JobHost] = []
    for coordinate, unit in fabric.units.items():
        model = fabric.host_models[unit.group]
        pod = f"pod{unit.home // shape.units_per_pod + 1}" if shape.cores else None
        if not model.gpus:
            home = fabric.units[unit.home].name
            others += [
                JobHost(name, home, pod, -1, model.name, 0, HostId(coordinate, slot))
                for slot, name in unit.hosts.items()
            ]
            continue
        members = []
        for slot, name in unit.hosts.items():
            if unit.group not in index_of:
                index_of[unit.group] = len(kinds)
                kinds.append(in_full(HostId(coordinate, slot)))
            at, kind = HostId(coordinate, slot), index_of[unit.group]
            rack, domain = fabric.racks.get(name, ""), fabric.domain(unit, name)
            members.append(JobHost(name, unit.name, pod, kind, model.name, model.gpus, at, rack, domain))
        for each in by_domain(members).values():
            hosts += each
    return Roster(fabric.cluster, tuple(hosts), tuple(kinds), len(fabric.tiers), tuple(others))


def port_addresses(fabric: Fabric, hosts: Roster[Kind], rail: int, nic_port: int) -> Iterator[PortAddress]:
    """Yield the addresses of one port of every host; IPv4 where the fabric has it."""
    pool = fabric.addresses.hosts4 or fabric.addresses.hosts6
    if pool is None:
        return
    strides, given = fabric.strides, fabric.given
    for host in hosts.hosts:
        unit, slot = host.at
        attached = fabric.attachments[fabric.units[unit].group]
        of_set, number = attached.seat(slot)
        share, rail_in_tor = divmod(rail, attached.rails_per_tor)
        group = of_set * attached.tors + share
        if given.switches or given.hosts:
            home = fabric.units[unit]
            tor = tor_id(fabric, home.home, group, nic_port)
            (link,) = host_links(fabric, tor, home, (slot,), (rail,))
            yield PortAddress(host.name, link.remote4 or link.remote6 or "", link.local4 or link.local6 or "")
            continue
        block = adr.tor_block(strides, unit, group, nic_port)
        offset = block + adr.in_block(strides, number, rail_in_tor)
        yield PortAddress(host.name, pool.address(offset + 1), pool.address(offset))


def port_names(fabric: Fabric) -> Iterator[tuple[str, int, int]]:
    """Yield every port of a host: name, rail, port of the NIC."""
    shape = fabric.shape
    present = sorted({port for attached in fabric.attachments for port in attached.present})
    for rail in range(shape.rails):
        for nic_port in present:
            yield host_port_name(shape.nic_ports, rail, nic_port), rail, nic_port


@cache
def read_scripts(folder: str) -> dict[str, str]:
    """Return name -> text of the files in `templates/jobs/<folder>`."""
    files = sorted((installation.data_folder("templates") / "jobs" / folder).iterdir())
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".sh")}
