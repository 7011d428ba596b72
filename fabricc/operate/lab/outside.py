"""Outside parties in a lab: each is a box at the far ends of its links, which announces its accepted prefixes."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.fabric.external import family_of
from fabricc.operate.lab.endpoints import Endpoint
from fabricc.operate.lab.node import HOST_QUIET, Node
from fabricc.operate.lab.predict import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.external import ExternalLink, Outsider
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import CableRow, Switch

_DAEMONS = "zebra=yes\nbgpd=yes\nbfdd=yes\nstaticd=yes\n"


def name_of(party: Outsider) -> str:
    """Return the name of the box of a party."""
    return f"outside-{party.name}"


def links_of(fabric: Fabric) -> dict[Outsider, list[ExternalLink]]:
    """Return the links of each party at switches that the lab has; parties without any are left out."""
    present = {fabric.name(at) for at in fabric.switch_ids()}
    found: dict[Outsider, list[ExternalLink]] = {party: [] for party in fabric.external.outsiders}
    for switch, exits in fabric.external.exits.items():
        for way in exits.values() if switch in present else ():
            found[way.outsider].append(way.link)
    return {party: links for party, links in found.items() if links}


def outside_cables(fabric: Fabric) -> Iterator[CableRow]:
    """Yield the cables between outside parties and switches."""
    for party, links in links_of(fabric).items():
        for number, link in enumerate(links):
            yield replace(link.cable, b_device=name_of(party), b_port=f"out{number}")


def outside_answers(fabric: Fabric) -> dict[tuple[str, str], Outside]:
    """Return the outside party at each (switch, port)."""
    return {
        (link.at, link.port): Outside(
            name_of(party), party.asn, tuple(ip_network(rule.prefix) for rule in party.accept)
        )
        for party, links in links_of(fabric).items()
        for link in links
    }


def outside_endpoints(fabric: Fabric) -> list[Endpoint]:
    """Return an address in every prefix that hosts have a route to, at the box of the party that announces it."""
    return [
        Endpoint(name_of(party), "lo", _address_inside(rule.prefix), name_of(party), rule.prefix)
        for party in links_of(fabric)
        for rule in party.accept
        if not rule.prefix.endswith("/0")
    ]


def outside_nodes(fabric: Fabric, switches: Sequence[Switch]) -> Iterator[Node]:
    """Yield a box for each party: a router with its AS number, or for static routes one with return routes alone."""
    known = {switch.name: switch for switch in switches}
    pools = fabric.addresses.pools()
    for number, (party, links) in enumerate(links_of(fabric).items()):
        commands = ["link set lo up"]
        commands += [
            f"addr add {each.address}/{128 if family_of(each.address) == 6 else 32} dev lo"
            for each in outside_endpoints(fabric)
            if each.node == name_of(party)
        ]
        for at, link in enumerate(links):
            commands.append(f"link set out{at} mtu {party.mtu}")
            for own, remote in _address_pairs(link):
                commands.append(f"addr add {remote}/{own.partition('/')[2]} dev out{at}")
            commands.append(f"link set out{at} up")
        if party.asn is None:
            hosts = [str(pool) for name, pool in pools.items() if name.startswith("hosts")]
            commands += [command for pool in hosts for command in _return_routes(pool, links)]
            yield Node(name_of(party), HOST_QUIET, tuple(commands), {})
        else:
            files = {"hostname": f"{name_of(party)}\n", "daemons": _DAEMONS}
            files["frr.conf"] = _router_configuration(fabric, party, links, known, number)
            yield Node(name_of(party), HOST_QUIET, tuple(commands), files)


def _return_routes(pool: str, links: Sequence[ExternalLink]) -> Iterator[str]:
    """Yield the route of a party without BGP to the hosts, over all its links."""
    hops = [
        f"nexthop via {own.partition('/')[0]}"
        for link in links
        for own, _ in _address_pairs(link)
        if family_of(own) == family_of(pool)
    ]
    if hops:
        yield f"route add {pool} {' '.join(hops)}"


def _address_pairs(link: ExternalLink) -> Iterator[tuple[str, str]]:
    """(the switch's address with prefix length, the party's) of each family."""
    for own, remote in ((link.ipv4, link.remote4), (link.ipv6, link.remote6)):
        if own and remote:
            yield own, remote


def _router_configuration(
    fabric: Fabric, party: Outsider, links: Sequence[ExternalLink], known: Mapping[str, Switch], number: int
) -> str:
    """Its `frr.conf`: sessions with the settings of the fabric's, and the accepted prefixes as static routes."""
    routing = fabric.routing
    prefixes = [rule.prefix for rule in party.accept]
    lines = ["frr defaults datacenter", f"hostname {name_of(party)}", "service integrated-vtysh-config"]
    lines += [f"{'ipv6' if family_of(each) == 6 else 'ip'} route {each} blackhole" for each in prefixes]
    lines += [f"router bgp {party.asn}", f" bgp router-id 192.0.0.{number + 1}"]
    lines += [" no bgp ebgp-requires-policy", " no bgp default ipv4-unicast"]
    peers: dict[int, list[str]] = {4: [], 6: []}
    for link in links:
        for own, _ in _address_pairs(link):
            address = own.partition("/")[0]
            peers[family_of(own)].append(address)
            lines.append(f" neighbor {address} remote-as {known[link.at].bgp.asn}")
            lines += [f" neighbor {address} bfd"] if routing.bfd_interval_ms is not None else []
            lines += [f" neighbor {address} ttl-security hops 1"] if routing.ttl_security else []
            lines += [f" neighbor {address} password {party.password}"] if party.password else []
    for family, addresses in peers.items():
        if addresses:
            lines.append(f" address-family ipv{family} unicast")
            lines.append("  redistribute static")
            lines += [f"  neighbor {address} activate" for address in addresses]
            lines.append(" exit-address-family")
    return "\n".join([*lines, "exit", ""])


def _address_inside(prefix: str) -> str:
    """Return an address in a prefix: its second, or the only one."""
    network = ip_network(prefix)
    return str(network[min(1, network.num_addresses - 1)])
