"""Write tables of identities and pins of a lock for values that the closed form does not give."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.adopt.found_tiers import Network, covering_block
from fabricc.audit.adopt.trial import match_switches
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.naming import computed_name
from fabricc.facts.paths import split_list_path
from fabricc.facts.statement import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.adopt.order import Order
    from fabricc.audit.model import FoundFabric
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.facts import Facts

Row = dict[str, str]


class MovedLink(NamedTuple):
    """A link that the plan has on another port of a switch than it is on."""

    switch: str
    peer: str
    port: str
    planned: str


def device_rows(compiled: Compiled, found: FoundFabric, order: Order) -> list[Row]:
    """Return a line for each switch that is called, numbered or addressed otherwise than it would be."""
    rows = []
    blocks = blocks_of(found, order)
    for at, name in match_switches(compiled, order).items():
        switch, computed = compiled.fabric.switch(at), computed_name(compiled.fabric, at)
        facts = found.devices[name].reading.facts
        row = {"name": name} if name != computed else {}
        row |= _number_row(switch, facts, blocks.get(name, ("", "")))
        if row:
            rows.append({"device": computed} | row)
    return rows


def _number_row(switch: Switch, facts: Facts, blocks: tuple[str, str]) -> Row:
    row: Row = {}
    asn = facts.get("bgp/asn")
    if asn is not None and asn != switch.bgp.asn:
        row["asn"] = str(asn)
    router = facts.get("bgp/router_id", str(facts.get("loopback/ipv4", "")).partition("/")[0])
    if router and router != switch.bgp.router_id:
        row["loopback4"] = str(router)
    loopback6 = str(facts.get("loopback/ipv6", "")).partition("/")[0]
    if loopback6 and loopback6 != switch.loopback6:
        row["loopback6"] = loopback6
    management = str(facts.get("management/address", ""))
    if management and management != switch.management.address:
        row["management"] = management.partition("/")[0]
    for column, block in zip(("hosts4", "hosts6"), blocks, strict=True):
        if block and not _is_planned_block(switch, block):
            row[column] = block
    return row


def _is_planned_block(switch: Switch, block: str) -> bool:
    """Return whether a ToR announces a block of hosts, or has it without announcing it, as with tenants."""
    if switch.tenants is None or switch.bgp.aggregates:
        return block in switch.bgp.aggregates
    network = ip_network(block)
    ports = [port for port in switch.ports if port.direction is Direction.HOST]
    addresses = [each for port in ports for each in (port.ipv4, port.ipv6) if each]
    same = [ip for each in addresses if (ip := ip_interface(each).ip).version == network.version]
    return bool(same) and all(ip in network for ip in same)


def blocks_of(found: FoundFabric, order: Order) -> dict[str, tuple[str, str]]:
    """Return ToR -> its blocks of hosts: the announced ones, else the smallest of one length around its links.

    Of several, the one with the links of a unit's own hosts; blocks of hosts from other groups are computed.
    """
    own = {host.name for unit in order.units for host in unit.hosts}
    blocks: dict[str, list[str]] = {name: ["", ""] for name in order.tier(Tier.TOR)}
    for at, family in enumerate(("ipv4", "ipv6")):
        held: dict[str, list[Network]] = {}
        for cable in (cable for host in order.hosts if host.name in own for cable in host.cables):
            stated = found.devices[cable.peer].reading.facts.get(f"interface[{cable.peer_port}]/{family}")
            if stated is not None and (network := ip_interface(str(stated)).network).num_addresses == 2:
                held.setdefault(cable.peer, []).append(network)
        covers = {name: covering_block(networks) for name, networks in held.items()}
        length = min((cover.prefixlen for cover in covers.values()), default=0)
        for name in blocks:
            paths, kind = found.devices[name].reading.facts, "bgp/aggregate"
            named = [split_list_path(path, kind) for path in paths if path.startswith(f"{kind}[")]
            fitting = [block for block, leaf in named if not leaf and (":" in block) == bool(at)]
            if len(fitting) > 1:
                fitting = [
                    block
                    for block in fitting
                    if any(_is_within(each, block) for each in held.get(name, ())[:1])
                ]
            if len(fitting) == 1:
                blocks[name][at] = fitting[0]
            elif not fitting and name in covers:
                blocks[name][at] = str(covers[name].supernet(new_prefix=length))
    return {name: (four, six) for name, (four, six) in blocks.items()}


def _is_within(link: Network, block: str) -> bool:
    return ip_interface(f"{link.network_address}").ip in ip_network(block)


def link_rows(compiled: Compiled, found: FoundFabric, order: Order) -> list[Row]:
    """Return a line for each link whose addresses are others, by the names of switches as they are given."""
    rows = []
    names = match_switches(compiled, order)
    real = {compiled.fabric.name(at): name for at, name in names.items()}
    for at, name in names.items():
        switch = compiled.fabric.switch(at)
        facts = found.devices[name].reading.facts
        for port in switch.ports:
            if port.peer is None or port.direction not in (Direction.UP, Direction.HOST):
                continue
            far = found.devices.get(real.get(port.peer.device, port.peer.device))
            row: Row = {}
            for family, own in (("ipv4", port.ipv4), ("ipv6", port.ipv6)):
                stated = facts.get(f"interface[{port.name}]/{family}")
                if stated is None or own is None or stated == own or not _same_length(str(stated), own):
                    continue
                row[f"a_{family}"] = str(stated).partition("/")[0]
                there = far.reading.facts.get(f"interface[{port.peer.port}]/{family}") if far else None
                row[f"b_{family}"] = str(there).partition("/")[0] if there else _other_address(str(stated))
            if row:
                ends = {"a_device": switch.name, "a_port": port.name, "b_device": port.peer.device}
                rows.append(ends | {"b_port": port.peer.port} | row)
    return rows


def _same_length(address: str, planned: str) -> bool:
    """Return whether an address is in a subnet of the planned length."""
    return address.partition("/")[2] == planned.partition("/")[2]


def _other_address(address: str) -> str:
    """Return the other address of a link with two addresses."""
    held = ip_interface(address)
    return next((str(each) for each in held.network.hosts() if each != held.ip), "")


def misplaced_links(compiled: Compiled, order: Order) -> Iterator[MovedLink]:
    """Yield links that are on other ports than planned."""
    fabric = compiled.fabric
    names = match_switches(compiled, order)
    real = {fabric.name(at): name for at, name in names.items()}
    for at, name in names.items():
        there: dict[str, list[str]] = {}
        for cable in order.cables.get(name, ()):
            there.setdefault(cable.peer, []).append(cable.port)
        planned: dict[str, list[str]] = {}
        for port in fabric.switch(at).ports:
            if port.peer and port.direction in (Direction.UP, Direction.DOWN):
                planned.setdefault(real.get(port.peer.device, ""), []).append(port.name)
        for peer, ports in planned.items():
            for mine, theirs in zip(ports, there.get(peer, ()), strict=False):
                if mine != theirs:
                    yield MovedLink(name, peer, theirs, mine)
