"""Find addresses, routes and rules of a host's rails that lead RDMA elsewhere or nowhere.

Each rule compares statements of one host, as those of `host_settings.py` do.
"""

from __future__ import annotations

from ipaddress import collapse_addresses, ip_address, ip_interface, ip_network
from itertools import pairwise
from typing import TYPE_CHECKING

from fabricc.back.hosts.interfaces import may_route
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import outer_key
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.proof.invariants.view import as_int, parse_priorities
from fabricc.rules.host_settings import SETTING, Fault, rails_of, report_faults
from fabricc.rules.next_hops import parse_addresses
from fabricc.rules.rule import HOSTS, HostRule
from fabricc.rules.sessions import is_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Interface, IPv6Interface

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding

_RDMA_MTU = 4160
"""Bytes of an RDMA packet of 4,096 bytes with its headers."""
_LINK = 4
"""Addresses of the subnet of a link between two devices; in a larger one other hosts may be near."""


def find_address_settings(statement: Statement) -> Iterator[Finding]:
    """Yield the faults of the addresses and routes of a host's rails."""
    return report_faults(statement, (_refused_values, _rail_addresses, _rail_routes))


_BOOLEANS = ("true", "false")
_NETPLAN_VALUES = {
    "renderer": ("networkd", "NetworkManager"), "optional": _BOOLEANS, "dhcp4": _BOOLEANS, "dhcp6": _BOOLEANS,
    "accept_ra": _BOOLEANS, "ignore_carrier": _BOOLEANS, "link_local": ("none", "ipv4", "ipv6", "ipv4,ipv6"),
}  # fmt: skip
_NETPLAN_NUMBERS = ("table", "metric", "priority")


def _refused_values(statement: Statement) -> Iterator[Fault]:
    """Find values for which netplan refuses all its files (src/parse.c), so that no port has its addresses."""
    for path, why, word in _refusals(statement):
        if statement.device.reading.lines.get(path, ("", 0))[0].startswith("etc/netplan/"):
            message = f"{why}: netplan refuses all its files"
            yield Fault((path,), message, "Correct the value.", Severity.ERROR, word=word)


def _refusals(statement: Statement) -> Iterator[tuple[str, str, str]]:
    """Yield the path of each value that netplan does not take, the reason, and words of its line."""
    version = statement.rest.get("netplan/version")
    if version is not None and version != _NETPLAN_VERSION:
        yield "netplan/version", f"the version of the format is {version}, not {_NETPLAN_VERSION}", ""
    for port, values in statement.ports.items():
        for leaf, value in values.items():
            path = f"{PORT}{port}]/{leaf}"
            if str(value) not in _NETPLAN_VALUES.get(leaf, (str(value),)) or (
                leaf == "mtu" and as_int(value) is None
            ):
                yield path, f"{port}: {leaf.replace('_', '-')} is {value}", ""
            elif leaf in ("ipv4", "ipv6"):
                for each in str(value).split(","):
                    if "/" in each and not parse_addresses((each,)):
                        yield path, f"{port}: {each} is no address", each
            elif leaf.startswith(("route[", "main_route[", "rule[")):
                kind, end = ("rule", "source") if leaf.startswith("rule[") else ("route", "destination")
                pairs = dict(pairwise(str(value).split()))
                odd = [
                    f"{key}: {pairs[key]}" for key in _NETPLAN_NUMBERS if not is_number(pairs.get(key, "0"))
                ]
                if not outer_key(leaf):
                    yield path, f"{port}: a {kind} without a {end}", ""
                elif "via" in pairs and not is_address(pairs["via"]):
                    yield path, f"{port}: {pairs['via']} is no next hop", pairs["via"]
                elif odd:
                    yield path, f"{port}: a {kind} with `{odd[0]}`", odd[0]


_NETPLAN_VERSION = 2


def _has_dynamic_addresses(statement: Statement, port: str) -> bool:
    values = statement.ports.get(port, {})
    return any(str(values.get(leaf)) == "true" for leaf in ("dhcp4", "dhcp6", "accept_ra")) or any(
        str(values.get(leaf, "")) == "auto" for leaf in ("ipv4_method", "ipv6_method")
    )


def _is_configured(statement: Statement, port: str) -> bool:
    """Return whether a file about addresses has the port."""
    return any(
        leaf in statement.ports.get(port, {}) for leaf in ("dhcp4", "mtu", "ipv4_method", "link_local")
    )


def _rail_addresses(statement: Statement) -> Iterator[Fault]:
    """Find rails without an address, with addresses from two sources, or with small packets."""
    rails = rails_of(statement)
    if "roce/procedure" not in statement.rest and not any(_is_configured(statement, port) for port in rails):
        return
    bare = [
        port for port in rails
        if not statement.addresses.get(port) and not _has_dynamic_addresses(statement, port)
        and "bundle" not in statement.ports[port]
    ]  # fmt: skip
    if bare:
        message = f"{join_words(bare, 2)}: an RDMA device and no address: RoCE has none either"
        paths = [f"{PORT}{bare[0]}]/{leaf}" for leaf in ("dhcp4", "mtu", "rdma")]
        yield Fault(tuple(paths), message, "Give the port its address.", Severity.ERROR)
    mixed = [
        (port, leaf) for port in rails for leaf in ("dhcp4", "dhcp6", "accept_ra")
        if statement.addresses.get(port) and str(statement.of(port, leaf)) == "true"
    ]  # fmt: skip
    for port, leaf in (
        (port, f"{family}_method") for port in rails for family in ("ipv4", "ipv6")
        if family in statement.ports[port] and str(statement.of(port, f"{family}_method")) == "auto"
    ):  # fmt: skip
        mixed.append((port, leaf))
    if mixed:
        port, leaf = mixed[0]
        message = (
            f"{port} has a fixed address and takes others ({leaf}), with a default route, from the network"
        )
        yield Fault((f"{PORT}{port}]/{leaf}",), message, "Turn it off on ports for RDMA.")
    for leaf, effect in (
        ("connection/autoconnect", "does not come up at boot"), ("managed", "is left to other tools"),
    ):  # fmt: skip
        off = [port for port in rails if str(statement.ports[port].get(leaf)) == "false"]
        if off and any("ipv4_method" in statement.ports[port] for port in off):
            message = f"{join_words(off, 2)}: by this setting of NetworkManager the port {effect}"
            yield Fault((f"{PORT}{off[0]}]/{leaf}",), message, "Let NetworkManager have the port.")
    for port in rails:
        low, mtu = (as_int(statement.ports[port].get(leaf)) for leaf in ("link_mtu", "mtu"))
        if low is not None and mtu is not None and low < min(mtu, _RDMA_MTU):
            message = f"{port}: an MTU of {low:,} bytes here and of {mtu:,} where it has its address"
            yield Fault((f"{PORT}{port}]/link_mtu",), message, "Use one MTU.")
    paused = [port for port in rails if parse_priorities(statement.of(port, "pfc"))]
    small = {
        port: as_int(statement.of(port, "mtu")) for port in paused if _is_configured(statement, port)
        if (as_int(statement.of(port, "mtu")) or 0) < _RDMA_MTU
    }  # fmt: skip
    if small:
        port, mtu = next(iter(small.items()))
        size = "no MTU, which is 1,500 bytes then" if mtu is None else f"an MTU of {mtu:,} bytes"
        message = f"{join_words(list(small), 2)}: {size}; RDMA packets of 4,096 bytes need {_RDMA_MTU:,}"
        places = (f"{PORT}{port}]/mtu", f"{PORT}{port}]/dhcp4")
        yield Fault(places, message, "Raise the MTU to that of the fabric, such as 9,000 bytes.")


def _routes(statement: Statement) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield port, leaf, prefix, next hop and table of each route of a port; "" for the main table."""
    for port, values in statement.ports.items():
        for leaf, value in values.items():
            if leaf.startswith(("route[", "main_route[")):
                words = str(value).split()
                pairs = dict(pairwise(words))
                via = pairs.get("via", "")
                near = via if is_address(via) and "onlink" not in words else ""
                yield port, leaf, outer_key(leaf), near, pairs.get("table", "")


def _narrow_routes(
    statement: Statement, ports: set[str], routes: list[tuple[str, str, str, str, str]]
) -> Iterator[Fault]:
    """Find a rail whose routes and subnet leave out a part of the prefix in which NCCL looks for other hosts."""
    wide = str(statement.rest.get("nccl/address_range", ""))
    whole = parse_block(wide) if "/" in wide else None
    if whole is None:
        return
    for port in sorted(ports):
        mine = [block for text in statement.addresses[port] if (block := parse_block(text))]
        ways = [(leaf, parse_block(prefix)) for name, leaf, prefix, *_ in routes if name == port]
        parts = [*mine, *(block for _, block in ways if block is not None)]
        if not ways or any(block is None or block.covers(whole) for _, block in ways):
            continue
        inside = [ip_network(str(each)) for each in parts if whole.covers(each)]
        joined = collapse_addresses(inside)  # type: ignore[type-var]
        if (
            any(map(whole.covers, mine))
            and sum(each.num_addresses for each in joined) < whole.last - whole.first + 1
        ):
            message = f"{port} has a route for a part of {wide} alone, where NCCL looks for other hosts"
            yield Fault((f"{PORT}{port}]/{ways[0][0]}",), message, "Add a route for the whole prefix.")
            return


def _lost_ways(statement: Statement, ports: set[str]) -> Iterator[Fault]:
    """Find routes and rules of a rail that are about no prefix, or whose packets do not get to the ToR."""
    for port in sorted(ports):
        own = parse_addresses(statement.addresses.get(port, ()))
        for leaf, value in statement.ports[port].items():
            if not leaf.startswith(("route[", "rule[")):
                continue
            prefix, words = outer_key(leaf), str(value).split()
            via = dict(pairwise(words)).get("via", "")
            block = parse_block(prefix) if "/" in prefix else None
            path = (f"{PORT}{port}]/{leaf}",)
            if "/" in prefix and block is None:
                message = f"{port}: {prefix} is no prefix, so its {leaf.partition('[')[0]} does not exist"
                yield Fault(path, message, "Correct the prefix.", Severity.ERROR)
            elif leaf.startswith("rule[") and block is not None and not block.length:
                message = (
                    f"{port}: a rule about {prefix} leads the packets of all ports to the table of this one"
                )
                yield Fault(path, message, "Write the rule for the port's own address.", Severity.ERROR)
            elif is_address(via) and ip_address(via) in {each.ip for each in own}:
                message = f"{port} sends traffic for {prefix} to {via}, which is its own address"
                yield Fault(path, message, "Name the address of the ToR.", Severity.ERROR, word=via)
            elif (
                leaf.startswith("route[")
                and not via and "scope" not in words and "onlink" not in words and block is not None and own
                and all(each.network.num_addresses <= _LINK for each in own)
                and not any(covers.covers(block) for each in own if (covers := parse_block(str(each))))
            ):  # fmt: skip
                message = f"{port} has a route for {prefix} without a next hop, as if all its hosts were on the link"
                yield Fault(path, message, "Name the address of the ToR.", Severity.ERROR)


def _rail_routes(statement: Statement) -> Iterator[Fault]:
    """Find rails whose traffic to other racks no route, table or rule leads out by that rail."""
    rails, routes = rails_of(statement), list(_routes(statement))
    tables = {table for *_, table in routes if table}
    rules: dict[tuple[str, str], str] = {}
    late: list[tuple[str, str, str]] = []
    for port, values in statement.ports.items():
        for leaf, value in values.items():
            words = str(value).split()
            if leaf.startswith("rule[") and words[:1] == ["table"]:
                rules[port, leaf] = words[1]
                late += [(port, leaf, words[-1])] if port in rails and _is_late(words) else ()
    if late:
        port, leaf, number = late[0]
        message = (
            f"{port}: a rule of priority {number} comes after the main table, whose routes are used first"
        )
        yield Fault((f"{PORT}{port}]/{leaf}",), message, f"Use a priority below {_MAIN:,}.", word=number)
    plain = {
        port
        for port in rails
        if statement.addresses.get(port) and not _has_dynamic_addresses(statement, port)
    }
    unread = any(may_route(text) for *_, text in statement.device.unknown)
    routed = {each[0] for each in routes}
    lost = [
        port for port in plain - routed
        if not unread and (own := parse_addresses(statement.addresses[port]))
        and all(each.network.num_addresses <= _LINK for each in own)
    ]  # fmt: skip
    if lost:
        port = min(lost)
        message = f"{join_words(sorted(lost), 2)}: no route by the rail, so it reaches its own subnet alone"
        path = f"{PORT}{port}]/ipv"
        yield Fault((f"{path}4", f"{path}6"), message, "Add a route for the other racks by the ToR.")
    yield from _narrow_routes(statement, plain, routes)
    yield from _lost_ways(statement, plain)
    for port, leaf, prefix, via, _ in routes:
        own = parse_addresses(statement.addresses.get(port, ()))
        if port in plain and via and own and not any(ip_address(via) in each.network for each in own):
            if any(
                ip_address(via) in each.network
                for other, some in statement.addresses.items()
                if other != port
                for each in parse_addresses(some)
            ):
                continue  # the rule about next hops at another port reports it
            if _is_odd_address(via, port, own, rules):
                message = f"{port} has {own[0]}, and its next hop {via} and its rule are of another subnet"
                path = f"{PORT}{port}]/ipv{own[0].version}"
                yield Fault((path,), message, "Correct the address.", Severity.ERROR, word=str(own[0]))
                continue
            message = f"{port} sends traffic for {prefix} to {via}, which is not in its subnet"
            path = f"{PORT}{port}]/{leaf}"
            yield Fault((path,), message, "Correct the next hop.", Severity.ERROR, word=via)
    for (port, leaf), table in rules.items():
        source = outer_key(leaf).partition("/")[0]
        texts = [each.partition("/")[0] for each in statement.addresses.get(port, ())]
        if table not in tables and port in rails and not unread:
            message = f"{port}: a rule leads to table {table}, which has no route"
            path = f"{PORT}{port}]/{leaf}"
            yield Fault((path,), message, "Use the table of the rail's routes.", word=table)
        elif port in plain and not unread and table not in {each[4] for each in routes if each[0] == port}:
            message = f"{port}: a rule leads to table {table}, whose routes are by another port"
            path = f"{PORT}{port}]/{leaf}"
            yield Fault((path,), message, "Use the table of the rail's routes.", word=table)
        elif texts and source not in texts and port in plain:
            message = f"{port}: a rule is about {source}, which is not its address"
            yield Fault((f"{PORT}{port}]/{leaf}",), message, "Write the rule for the port's own address.")
    unused = [each for each in routes if each[0] in plain and each[4] and each[4] not in rules.values()]
    if unused and not unread:
        port, leaf, prefix, _, table = unused[0]
        message = f"{port}: no rule leads to table {table}, so its route for {prefix} is never used"
        path = f"{PORT}{port}]/{leaf}"
        yield Fault((path,), message, "Add a rule for the address of the rail.", word=table)
    general = [each for each in routes if each[2] in _EVERYWHERE and each[0] in plain and not each[4]]
    if general and tables:
        port, leaf, prefix, *_ = general[0]
        message = f"{port} has a default route, and other rails have routes in tables of their own"
        yield Fault(
            (f"{PORT}{port}]/{leaf}",), message, "Write a route in the table of the rail.", word=prefix
        )
    yield from _wide_subnets(statement, plain)
    first: dict[tuple[str, str], str] = {}
    for port, leaf, prefix, _, table in routes:
        if table and (other := first.setdefault((prefix, table), port)) != port:
            message = f"{port}: table {table} has a route for {prefix} by {other} too: one replaces the other"
            yield Fault((f"{PORT}{port}]/{leaf}",), message, "Use a table of its own for each rail.")
            break


_MAIN = 32_766
"""Priority of the rule that leads to the main table (ip-rule(8))."""
_EVERYWHERE = ("0.0.0.0/0", "::/0", "default")


def _is_late(words: list[str]) -> bool:
    """Return whether a rule, by the words of its fact, has a priority after that of the main table."""
    number = dict(pairwise(words)).get("priority", "")
    return is_number(number) and int(number) >= _MAIN


def _is_odd_address(
    via: str, port: str, own: list[IPv4Interface | IPv6Interface], rules: Mapping[tuple[str, str], str]
) -> bool:
    """Return whether a next hop and a rule of a port agree on a subnet of the same size that its address is not in."""
    sources = [outer_key(leaf).partition("/")[0] for name, leaf in rules if name == port]
    near = {
        ip_interface(f"{source}/{own[0].network.prefixlen}").network
        for source in sources
        if is_address(source) and ip_address(source).version == own[0].version
    }
    return any(ip_address(via) in each for each in near)


def _wide_subnets(statement: Statement, ports: set[str]) -> Iterator[Fault]:
    """Find a rail whose subnet has the address of another rail of the host in another subnet."""
    own = {port: parse_addresses(statement.addresses.get(port, ())) for port in sorted(ports)}
    for port, mine in own.items():
        for each in mine:
            inner = [
                other
                for other, found in own.items()
                for far in found
                if other != port and far.ip in each.network and far.network != each.network
                and far.network.prefixlen >= each.network.prefixlen
            ]  # fmt: skip
            if inner:
                message = f"{port} has the subnet {each.network}, which contains the address of {inner[0]}"
                path = f"{PORT}{port}]/ipv{each.version}"
                yield Fault((path,), message, "Correct the prefix length.", Severity.ERROR, word=str(each))


RULES = (HostRule(SETTING, HOSTS, find_address_settings),)
