"""Plan further networks of the same hosts, and check that no two networks overlap."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from itertools import combinations
from typing import TYPE_CHECKING

from netaddr import IPNetwork

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.catalog.library import suggest_name
from fabricc.fabric import links
from fabricc.fabric.addresses import ASN_BLOCK, Pool
from fabricc.fabric.naming import host_port_name
from fabricc.fabric.shape import HostId
from fabricc.front.planning.networks.external import find_shared_ends
from fabricc.front.planning.networks.tenants import with_closed_ports
from fabricc.front.spec.document import format_path
from fabricc.front.spec.evpn import SECTION, list_subnets
from fabricc.front.spec.external import UsedNetworks, own_networks
from fabricc.front.spec.gpus import find_misplaced
from fabricc.front.spec.networks import hosts_of
from fabricc.front.spec.pools import free_pool
from fabricc.front.spec.semantics import PRIVATE_ASNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import Catalog
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def with_hosts(
    network: ClusterSpec, rails: Fabric, catalog: Catalog
) -> tuple[ClusterSpec | None, tuple[Diagnostic, ...]]:
    """Return the spec of a further network with its hosts, those that have ports for it; None where no host has.

    Args:
        network: its spec.
        rails: the fabric of the network that the top level describes.
        catalog: the models of the hosts.
    """
    assert network.network is not None
    name, ports = network.network.name, network.network.ports
    groups = network.gpus.groups
    models = [catalog.hosts[group.model] for group in groups]
    without = frozenset(index for index, model in enumerate(models) if ports not in model.networks)
    if len(without) == len(groups) and not network.network.groups:
        known = tuple(sorted({each for model in models for each in model.networks}))
        remedy = (
            suggest_name(ports, known)
            if known
            else f"Give the host model `networks: {{{ports}: …}}` in a catalog file."
        )
        titles = ", ".join(dict.fromkeys(model.title for model in models))
        message = f"the catalog has no ports {ports!r} of {titles}"
        return None, (network.error("FAB3104", message, "ports", help=remedy),)
    findings = [
        network.warning(
            "FAB3105",
            f"{plural(groups[index].hosts, 'host')} of group '{groups[index].name}' are not in network '{name}': "
            f"the catalog has no ports {ports!r} of {models[index].title}",
            "ports",
            help=f"Give the host model `networks: {{{ports}: …}}` in a catalog file, or accept this.",
        )
        for index in sorted(without)
    ]
    whole = hosts_of(network, rails, without)
    unfit = tuple(_check_own_hosts(whole, catalog))
    return None if unfit else whole, (*findings, *unfit)


def _check_own_hosts(network: ClusterSpec, catalog: Catalog) -> Iterator[Diagnostic]:
    """Report errors about the capacity of a further network, and about its hosts that are not on the rails."""
    assert network.network is not None
    groups, capacity = network.gpus.groups, network.network.capacity
    for group in network.network.groups:
        if (model := catalog.hosts.get(group.model)) is not None and model.gpus:
            text = f"{model.title} has GPUs, and group '{group.name}' is not on the rails"
            help_ = (
                "Move the group to `gpus.groups`: its hosts are in every network that they have ports for."
            )
            yield network.error("FAB3232", text, *group.path, "model", help=help_)
    for group, message, remedy in find_misplaced(groups):
        yield network.error("FAB2077", message, *group.path, "beside", help=remedy)
    present = sum(group.hosts for group in groups if group.beside is None)
    if capacity is not None and capacity < present:
        message = f"capacity {capacity} is less than the {present} hosts present"
        yield network.error("FAB2007", message, "capacity", help=f"The least that fits is {present}.")


def shared_ports(networks: Iterable[ClusterSpec], catalog: Catalog) -> Iterator[Diagnostic]:
    """Report FAB3233: hosts that are not on the rails have ports for one network, and for more only by name."""
    taken: dict[str, str] = {}
    for spec in networks:
        assert spec.network is not None
        for group in spec.network.groups:
            model = catalog.hosts.get(group.model)
            if model is None or spec.network.ports in model.networks:
                continue
            first = taken.setdefault(group.name, spec.network.name)
            if first != spec.network.name:
                yield spec.error(
                    "FAB3233",
                    f"network '{first}' has the ports of {model.title}, and the catalog has no others for "
                    f"network '{spec.network.name}'",
                    *group.path,
                    help=f"Give the host model `networks: {{{spec.network.ports}: …}}` in a catalog file.",
                )


def join_networks(spec: ClusterSpec, rails: Fabric, others: Sequence[Fabric]) -> Fabric:
    """The fabric of the rails with the further networks, each host of which has its files from the first it is in.

    Ports to hosts of tenants of the spec that do not reach a network are shut there.
    """
    known = {name for unit in rails.units.values() for name in unit.hosts.values()}
    placed: list[Fabric] = []
    own: list[set[str]] = []
    for fabric in others:
        places = {
            name: HostId(coordinate, slot)
            for coordinate, unit in fabric.units.items()
            for slot, name in unit.hosts.items()
        }
        guests = {name: at for name, at in places.items() if name in known}
        former = {name: old for name, old in rails.moves.renamed.items() if name in places}
        moves = replace(fabric.moves, renamed={**former, **fabric.moves.renamed})
        placed.append(with_closed_ports(spec, rails, replace(fabric, guests=guests, moves=moves)))
        own.append({*placed[-1].own_hosts()})
        known |= own[-1]
    for index in reversed(range(len(placed))):
        sharing = tuple(each for each in placed[index + 1 :] if not own[index].isdisjoint(each.guests))
        placed[index] = replace(placed[index], networks=sharing)
    return replace(rails, networks=tuple(placed))


FRONT_END = "frontend"
"""Names in host models of ports for users, storage and sockets of jobs."""


def with_front_end(rails: Fabric, networks: Mapping[str, ClusterSpec]) -> Fabric:
    """Return the fabric of the rails, where sockets of jobs use the front end of hosts that have one.

    An interface that the spec names goes before it.
    """
    sockets = list(rails.host_sockets)
    for fabric in rails.networks:
        section = networks[fabric.network].network
        if section is None or section.ports != FRONT_END:
            continue
        for unit in rails.units.values():
            at = next((fabric.guests[name] for name in unit.hosts.values() if name in fabric.guests), None)
            if at is not None and not sockets[unit.group]:
                attached = fabric.attachments[fabric.units[at.unit].group]
                sockets[unit.group] = host_port_name(attached.nic_ports, 0, 0, fabric.network)
    return replace(rails, host_sockets=tuple(sockets))


def check_networks(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """Check that two networks of one cluster do not share addresses, names, ASNs or ports of hosts."""
    yield from _check_addresses(specs, fabrics)
    yield from _ways_out(specs, fabrics)
    yield from find_shared_ends(specs)
    yield from _given_links(specs, fabrics)
    yield from _check_asns(specs, fabrics)
    yield from _check_ports(specs, fabrics)
    yield from _check_host_names(specs, fabrics)
    named = any(group.host_names or group.racks for group in specs[0].gpus.groups)
    alone = any(spec.network and spec.network.groups for spec in specs)
    if named or alone or any(spec.given_devices for spec in specs):
        yield from _check_switch_names(specs, fabrics)


def _check_addresses(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    blocks = []
    for index, fabric in enumerate(fabrics):
        for name, pool in _pools_by_name(fabric).items():
            if fabric.addresses.numbered or not name.startswith("links"):
                blocks.append((pool.version, pool.first, -pool.length, index, name, pool))
    blocks.sort(key=lambda block: block[:5])
    reach: tuple[int, int, int, str] = (0, -1, 0, "")
    for version, first, _, index, name, pool in blocks:
        last = first + (1 << pool.bits) - 1
        if version == reach[0] and first <= reach[1] and index != reach[2]:
            later, other = ((index, name), reach[2:]) if index > reach[2] else (reach[2:], (index, name))
            spec, path = specs[later[0]], _path_of_pool(later[1])
            mine, theirs = (IPNetwork(str(_pools_by_name(fabrics[at])[key])) for at, key in (later, other))
            taken = [IPNetwork(str(each)) for every in fabrics for each in _pools_by_name(every).values()]
            message = (
                f"{format_path(path)} {mine} of network '{fabrics[later[0]].network}' overlaps "
                f"{format_path(_path_of_pool(other[1]))} {theirs} of {_owner_name(fabrics[other[0]])}"
            )
            yield spec.error("FAB3100", message, *path, help=free_pool(taken, mine))
        if version != reach[0] or last > reach[1]:
            reach = (version, last, index, name)


def _given_links(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """FAB3122 and FAB3123: a given link has addresses that another network gives, or computes from its pools."""
    owners: dict[int, int] = {}
    for index, spec in enumerate(specs):
        others = [
            (at, pool)
            for at, fabric in enumerate(fabrics)
            for pool in fabric.addresses.pools().values()
            if at != index
        ]
        for row in spec.given_links:
            for column, ends in (("a_ipv4", row.ipv4), ("a_ipv6", row.ipv6)):
                if ends[0] is None or ends[1] is None:
                    continue
                first, version = min(int(ends[0]), int(ends[1])), ends[0].version
                inside = (
                    at
                    for at, pool in others
                    if pool.version == version and first - pool.first in range(1 << pool.bits)
                )
                given = owners.setdefault(first, index)
                owner = given if given != index else next(inside, None)
                if owner is not None:
                    message = f"{' '.join(row.a)}: {ends[0]} belongs to {_owner_name(fabrics[owner])}"
                    code = "FAB3122" if given != index else "FAB3123"
                    help_ = "Give a block that no other network has."
                    yield Diagnostic(code, Severity.ERROR, message, row.positions[column], help_)


def _pools_by_name(fabric: Fabric) -> dict[str, Pool]:
    """The pools of a fabric by name, see `AddressPlan.pools`, and the subnets of its segments by their paths."""
    evpn = {".".join(map(str, path)): pool for path, pool in list_subnets(fabric.evpn)} if fabric.evpn else {}
    return fabric.addresses.pools() | evpn


def _path_of_pool(name: str) -> KeyPath:
    """Return the path of a pool in the spec."""
    if name.startswith(SECTION):
        return tuple(name.split("."))
    if name.startswith("management.networks["):
        return "management", "networks", int(name[20:-1]), "network"
    return ("management", "network") if name == "management" else ("addressing", name.removesuffix("4"))


def _owner_name(fabric: Fabric) -> str:
    return f"network '{fabric.network}'" if fabric.network else "the network of the rails"


def _ways_out(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """FAB3180: what leads out of a network is in no other, and hosts have one way to a prefix outside."""
    names = [_owner_name(fabric) for fabric in fabrics]
    linked, accepted = UsedNetworks(), dict[str, str]()
    for spec, name in zip(specs, names, strict=True):
        inside = UsedNetworks()
        for other, whose in zip(specs, names, strict=True):
            joined = other.spines is not None or other.tors.peer_links > 0
            own = own_networks(other.addressing, other.management, joined=joined)
            for key, network in own.items() if other is not spec else ():
                inside.add(network, f"{key} of {whose}")
        for party in spec.external:
            for family, text in party.networks:
                key = "network6" if family == 6 else "network"
                if found := inside.overlapping(ip_network(text)) or linked.overlapping(ip_network(text)):
                    help_ = "Use a network for the links that the cluster does not use."
                    yield spec.error(
                        "FAB3180", f"{text} overlaps {found}", "external", party.name, key, help=help_
                    )
                linked.add(ip_network(text), f"the links of {name} to {party.name}")
            for index, link in enumerate(party.links):
                for key, address in (("local", link.ipv4), ("local6", link.ipv6)):
                    if address is None or any(
                        ip_interface(address) in ip_network(text) for _, text in party.networks
                    ):
                        continue
                    subnet = ip_interface(address).network
                    if found := inside.overlapping(subnet) or linked.overlapping(subnet):
                        at = ("external", party.name, "links", index, key)
                        help_ = "Use a network for the link that the cluster does not use."
                        yield spec.error("FAB3180", f"{subnet} overlaps {found}", *at, help=help_)
                    linked.add(subnet, f"a link of {name}")
            for index, rule in enumerate(party.accept):
                prefix, path = ip_network(rule.prefix), ("external", party.name, "accept", index)
                if prefix.prefixlen and (found := inside.overlapping(prefix)):
                    help_ = "Use prefixes without addresses of the cluster, or a default route."
                    yield spec.error(
                        "FAB3180", f"{prefix} overlaps {found}, which is inside", *path, help=help_
                    )
                elif prefix.prefixlen and spec.network and accepted.setdefault(str(prefix), name) != name:
                    help_ = "Hosts take one way to a prefix: leave it to one of the networks."
                    message = f"{prefix} leads out of {accepted[str(prefix)]} already"
                    yield spec.error("FAB3180", message, *path, help=help_)


def _check_asns(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """FAB3102: they do not meet as long as no session leaves a network."""
    for one, other in combinations(range(len(fabrics)), 2):
        given = any(fabrics[index].given.switches for index in (one, other))
        far = abs(fabrics[one].routing.asn_base - fabrics[other].routing.asn_base) >= ASN_BLOCK
        if far and not given:
            continue
        mine, theirs = (
            {links.switch_asn(fabrics[index], at) for at in fabrics[index].switch_ids()}
            for index in (other, one)
        )
        if shared := mine & theirs:
            free = max(PRIVATE_ASNS[0], ASN_BLOCK + max(fabric.routing.asn_base for fabric in fabrics))
            message = (
                f"network '{fabrics[other].network}' has {plural(len(shared), 'ASN')} of {_owner_name(fabrics[one])}, "
                f"such as {min(shared)}"
            )
            help_ = f"Write `asn_base: {free}`, or accept this if the networks are never connected."
            yield specs[other].warning("FAB3102", message, "routing", "asn_base", help=help_)


def _check_ports(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """FAB3103: a port of a host is cabled to one network."""
    taken: dict[tuple[str, str], str] = {}
    for spec, fabric in zip(specs[1:], fabrics[1:], strict=True):
        assert spec.network is not None
        reported = set[str]()
        for group, model in zip(
            spec.gpus.groups, fabric.host_models, strict=False
        ):  # border leaves have no hosts
            functions = [*_pci_functions(model.pci, model.ports_per_nic), *model.second_pci]
            ports = [spec.network.ports, *functions]
            again = [port for port in ports if (group.name, port) in taken]
            if again and model.name not in reported:
                reported.add(model.name)
                first = taken[group.name, again[0]]
                has = f"ports of {model.name} that network '{first}' has"
                message = f"network '{fabric.network}' has {has}: {again[-1]}"
                yield spec.error("FAB3103", message, "ports", help="Name other ports of the host model.")
            taken |= {(group.name, port): fabric.network for port in ports}


def _pci_functions(pci: Sequence[str], ports: int) -> list[str]:
    """Return the PCI functions of some NICs: port n is function n of its first."""
    return [f"{each[:-1]}{int(each[-1]) + port}" for each in pci for port in range(ports)]


def _check_host_names(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """FAB3021: hosts of two groups have one name; one is on the rails, as others were compared when they were read."""
    rails = {name for unit in fabrics[0].units.values() for name in unit.hosts.values()}
    reported = set[str]()
    for spec in specs[1:]:
        assert spec.network is not None
        for group in spec.network.groups:
            names = group.host_names or tuple(name for hosts in group.racks.values() for name in hosts)
            again = next((name for name in names if name in rails), None)
            if again is not None and again not in reported:
                reported.add(again)
                message = (
                    f"two hosts would be named {again!r}, one of group '{group.name}' and one on the rails"
                )
                yield spec.error("FAB3021", message, *group.path, help="Rename one of them.")


def _check_switch_names(specs: Sequence[ClusterSpec], fabrics: Sequence[Fabric]) -> Iterator[Diagnostic]:
    """FAB3101: a host, or a switch of another network, has the name that a switch of a further network gets."""
    hosts = (name for each in fabrics for unit in each.units.values() for name in unit.hosts.values())
    owners = dict.fromkeys(hosts, "host")
    for fabric in fabrics:
        names = [fabric.name(at) for at in fabric.switch_ids()]
        for name in names if fabric.network else ():
            if (owner := owners.get(name)) is not None:
                message = f"a {owner} has the name of a switch of network '{fabric.network}': {name!r}"
                help_ = "Rename the host, or the network." if owner == "host" else "Give one another name."
                yield specs[0].error("FAB3101", message, "gpus", help=help_)
        owners |= dict.fromkeys(names, "switch of another network")
