"""Find settings of a host that work against RDMA or against each other, whatever other hosts have.

Each rule compares statements of one host: classes, notifications, congestion control, addresses and routes of rails,
settings of NCCL, limits, and services. Where a host states only one side, nothing is reported.
"""

from __future__ import annotations

from collections import Counter
from ipaddress import collapse_addresses, ip_address, ip_network
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.hosts.interfaces import may_route
from fabricc.back.hosts.nccl import find_harm
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, outer_key
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.proof.invariants.view import CODE_POINTS, as_int, parse_priorities
from fabricc.rules.findings import finding_at
from fabricc.rules.next_hops import parse_addresses
from fabricc.rules.rule import HOSTS, HostRule
from fabricc.rules.sessions import is_address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding

SETTING = "FAB9696"
_RDMA, _CNP = "qos/rdma_dscp", "qos/cnp_dscp"
_RDMA_MTU = 4160
"""Bytes of an RDMA packet of 4,096 bytes with its headers."""
_SHORT_TIMEOUT = 14
"""The default of NCCL before 2.14, 4.096 us * 2**14: shorter ones end connections while routes change."""
_SMALL_READ = 512
"""The read request size that a PCI device has without any setting."""
_LEAST_LOCKED_KB = 1 << 20
"""Locked memory that any job with RDMA exceeds: 1 GiB."""
_ROCE_V2 = 2
_LINK = 4
"""Addresses of the subnet of a link between two devices; in a larger one other hosts may be near."""


_JOBS = ("*", "root")
"""Accounts whose limits are those of jobs."""


class _Fault(NamedTuple):
    """What is wrong with a host, where, and what to do."""

    paths: tuple[str, ...]
    message: str
    remedy: str
    severity: Severity = Severity.WARNING
    line: tuple[str, int] | None = None


def find_host_settings(statement: Statement) -> Iterator[Finding]:
    """Yield the faults of a host's settings."""
    for search in _SEARCHES:
        for each in search(statement):
            found = finding_at(
                SETTING,
                statement.device,
                each.paths,
                f"{statement.name}: {each.message}",
                "host setting",
                each.severity,
                each.remedy,
            )
            if each.line is not None:
                file, line = each.line
                found = found._replace(file=statement.device.paths[file], line=line)
            yield found


def _rails(statement: Statement) -> dict[str, str]:
    """Return the ports with an RDMA device, and the device."""
    return {port: str(values["rdma"]) for port, values in statement.ports.items() if "rdma" in values}


def _paused(statement: Statement) -> frozenset[int]:
    """Return the priorities for which a port sends and honors pauses."""
    found = (parse_priorities(values.get("pfc")) for values in statement.ports.values())
    return frozenset(priority for each in found for priority in each)


def _priority(statement: Statement, dscp: int | None) -> int | None:
    return as_int(statement.rest.get(f"qos/dscp[{dscp}]/priority"))


def _scheduler(statement: Statement, priority: int) -> tuple[str, str]:
    """Return the scheduler of a priority's class, and its path."""
    number = as_int(statement.rest.get(f"qos/priority[{priority}]/traffic_class"))
    path = f"qos/traffic_class[{priority if number is None else number}]/scheduler"
    return str(statement.rest.get(path, "")), path


def _is_weighted(statement: Statement, priority: int) -> bool:
    return _scheduler(statement, priority)[0].startswith("dwrr")


def _classes(statement: Statement) -> Iterator[_Fault]:
    """Find classes of RDMA that others share, that have no share of the link, or all of it."""
    paused = _paused(statement)
    mapped = bool(statement.facts_below("qos/dscp["))
    odd = [port for port in _rails(statement) if mapped and statement.of(port, "trust") not in (None, "dscp")]
    if odd:
        message = (
            f"{join_words(odd, 2)}: the port does not trust DSCP, so the map of code points has no effect"
        )
        yield _Fault((f"{PORT}{odd[0]}]/trust",), message, "Trust DSCP on ports for RDMA.", Severity.ERROR)
    used = {found for dscp in range(CODE_POINTS) if (found := _priority(statement, dscp)) is not None}
    shares = [
        int(words[1])
        for path, value in statement.facts_below("qos/traffic_class[").items()
        if path.endswith("/scheduler") and (words := str(value).split())[0] == "dwrr" and is_number(words[-1])
    ]
    weighted = sum(weight > 0 for weight in shares)
    notified = _priority(statement, as_int(statement.rest.get(_CNP)))
    for priority in sorted(paused & used):
        path = f"qos/priority[{priority}]/traffic_class"
        number = statement.rest.get(path)
        others = [
            each for each in sorted(used - paused)
            if number is not None and statement.rest.get(f"qos/priority[{each}]/traffic_class") == number
        ]  # fmt: skip
        if others:
            message = f"RDMA (priority {priority}) shares traffic class {number} with priority {others[0]}"
            yield _Fault((path,), message, "Give the priority with PFC a traffic class of its own.")
        scheduler, place = _scheduler(statement, priority)
        weight = int(scheduler.split()[-1]) if scheduler.startswith("dwrr ") else None
        if scheduler.startswith("strict"):
            message = f"RDMA (priority {priority}) is sent before all other classes, which starve"
            yield _Fault((place,), message, "Give the class of RDMA a weight.")
        elif weight is not None and weighted and weight * weighted < sum(shares):
            message = f"RDMA (priority {priority}) has {weight} % of the link, less than with equal weights"
            yield _Fault((place,), message, "Give the class of RDMA a larger weight.")
    if notified is not None and notified in used - paused:
        scheduler, place = _scheduler(statement, notified)
        if scheduler == "dwrr 0":
            message = f"congestion notifications (priority {notified}) have no share of the link"
            yield _Fault((place,), message, "Give their class strict priority, or a weight.")


def _notifications(statement: Statement) -> Iterator[_Fault]:
    """Find the odd one of the statements about the code point and the priority of congestion notifications."""
    dscp = as_int(statement.rest.get(_CNP))
    for paths, decider, what in (
        ((_CNP, "firmware/CNP_DSCP"), "nccl/control_dscp", "DSCP"),
        ((f"qos/dscp[{dscp}]/priority", "qos/cnp_priority", "firmware/CNP_802P_PRIO"), "", "priority"),
    ):
        stated = {path: number for path in paths if (number := as_int(statement.rest.get(path))) is not None}
        votes = Counter(stated.values())
        votes.update(filter(None, [as_int(statement.rest.get(decider))]))
        if len(set(stated.values())) > 1:
            usual = votes.most_common(1)[0][0]
            odd = next(path for path, number in stated.items() if number != usual)
            message = f"congestion notifications have {what} {stated[odd]} here, {usual} in other settings"
            yield _Fault((odd,), message, f"Use one {what} for congestion notifications.")
    paused = _paused(statement)
    for path, what in (("nccl/control_dscp", "control messages of NCCL"), (_CNP, "congestion notifications")):
        point = as_int(statement.rest.get(path))
        priority = _priority(statement, point)
        if priority is None or not paused:
            continue
        place = (path,) if path != _CNP else (f"qos/dscp[{point}]/priority",)
        if path == _CNP and priority in paused:
            message = f"{what} (DSCP {point}) are in priority {priority}, whose pauses delay them"
            yield _Fault(place, message, "Lead them to a priority without PFC.")
        elif path != _CNP and point != dscp and priority not in paused and _is_weighted(statement, priority):
            message = f"{what} (DSCP {point}) are in priority {priority}, sent without PFC: RDMA drops"
            yield _Fault(place, message, "Use the code point of a class with PFC, or one sent first.")


def _congestion(statement: Statement) -> Iterator[_Fault]:
    """Find RDMA without the congestion control that other settings of the host prepare."""
    priority = _priority(statement, as_int(statement.rest.get(_RDMA)))
    if priority is None:
        return
    mask = as_int(statement.rest.get("firmware/ROCE_CC_PRIO_MASK"))
    prepared = bool(statement.facts_below("congestion/roce_rp/"))
    rails = _rails(statement)
    marked = {port: parse_priorities(statement.of(port, "ecn")) for port in rails}
    remedy = "Run congestion control for the priority of RDMA, or take its parameters away."
    bare = [
        port for port, found in marked.items()
        if priority not in found and priority in parse_priorities(statement.of(port, "pfc"))
    ]  # fmt: skip
    if bare and (mask or 0) & (1 << priority):
        message = f"{join_words(bare, 2)}: no congestion control for RDMA (priority {priority})"
        paths = [f"{PORT}{bare[0]}]/{leaf}" for leaf in ("ecn", "pfc", "rdma")]
        yield _Fault(tuple(paths), message, remedy)
    if mask is not None and prepared and not mask & (1 << priority):
        message = f"the NIC's firmware runs no congestion control for RDMA (priority {priority})"
        yield _Fault(("firmware/ROCE_CC_PRIO_MASK",), message, remedy)


def _devices(statement: Statement) -> Iterator[_Fault]:
    """Find NICs that are no Ethernet ports, read little at once, or have one device for two rails."""
    rest, rails = statement.rest, _rails(statement)
    if rest.get("roce/transport") not in (None, "rocev2", "iwarp"):
        message = f"RDMA uses {rest['roce/transport']}, which no router forwards"
        yield _Fault(("roce/transport",), message, "Use RoCE v2.", Severity.ERROR)
    if rails and rest.get("firmware/LINK_TYPE") == 1:
        yield _Fault(
            ("firmware/LINK_TYPE",), "the NIC's firmware makes its ports InfiniBand ports",
            "Set LINK_TYPE to Ethernet (2).", Severity.ERROR,
        )  # fmt: skip
    size = as_int(rest.get("roce/read_request_bytes"))
    if size is not None and size < _SMALL_READ:
        message = f"the NIC reads {size} bytes of memory at once, which slows RDMA"
        yield _Fault(("roce/read_request_bytes",), message, "Let it read 4,096 bytes at once.")
    if (limit := as_int(rest.get("roce/strict_rate_limit"))) and any(
        value == "strict" for value in statement.facts_below("qos/traffic_class[").values()
    ):
        message = f"classes with strict priority are limited to {limit} Gb/s, congestion notifications too"
        yield _Fault(("roce/strict_rate_limit",), message, "Set no limit for strict classes.")
    first: dict[str, str] = {}  # a device may have several ports, but not in the script of rails
    for port, device in rails.items() if "roce/procedure" in rest else ():
        if (other := first.setdefault(device, port)) != port:
            message = f"{port} has the RDMA device {device}, which is that of {other}"
            yield _Fault((f"{PORT}{port}]/rdma",), message, "Correct the device.", Severity.ERROR)


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


def _rail_addresses(statement: Statement) -> Iterator[_Fault]:
    """Find rails without an address, with addresses from two sources, or with small packets."""
    rails = _rails(statement)
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
        yield _Fault(tuple(paths), message, "Give the port its address.", Severity.ERROR)
    mixed = [
        (port, leaf) for port in rails for leaf in ("dhcp4", "dhcp6", "accept_ra")
        if statement.addresses.get(port) and str(statement.of(port, leaf)) == "true"
    ]  # fmt: skip
    if mixed:
        port, leaf = mixed[0]
        message = (
            f"{port} has a fixed address and takes others ({leaf}), with a default route, from the network"
        )
        yield _Fault((f"{PORT}{port}]/{leaf}",), message, "Turn it off on ports for RDMA.")
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
        yield _Fault(places, message, "Raise the MTU to that of the fabric, such as 9,000 bytes.")


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
) -> Iterator[_Fault]:
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
            yield _Fault((f"{PORT}{port}]/{ways[0][0]}",), message, "Add a route for the whole prefix.")
            return


def _rail_routes(statement: Statement) -> Iterator[_Fault]:
    """Find rails whose traffic to other racks no route, table or rule leads out by that rail."""
    rails, routes = _rails(statement), list(_routes(statement))
    tables = {table for *_, table in routes if table}
    rules: dict[tuple[str, str], str] = {}
    for port, values in statement.ports.items():
        for leaf, value in values.items():
            words = str(value).split()
            if leaf.startswith("rule[") and words[:1] == ["table"]:
                rules[port, leaf] = words[1]
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
        paths = (f"{PORT}{port}]/ipv4", f"{PORT}{port}]/ipv6")
        yield _Fault(paths, message, "Add a route for the other racks by the ToR.")
    yield from _narrow_routes(statement, plain, routes)
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
            message = f"{port} sends traffic for {prefix} to {via}, which is not in its subnet"
            yield _Fault((f"{PORT}{port}]/{leaf}",), message, "Correct the next hop.", Severity.ERROR)
    for (port, leaf), table in rules.items():
        source = outer_key(leaf).partition("/")[0]
        texts = [each.partition("/")[0] for each in statement.addresses.get(port, ())]
        if table not in tables and port in rails:
            message = f"{port}: a rule leads to table {table}, which has no route"
            yield _Fault((f"{PORT}{port}]/{leaf}",), message, "Use the table of the rail's routes.")
        elif texts and source not in texts and port in plain:
            message = f"{port}: a rule is about {source}, which is not its address"
            yield _Fault((f"{PORT}{port}]/{leaf}",), message, "Write the rule for the port's own address.")
    unused = [each for each in routes if each[0] in plain and each[4] and each[4] not in rules.values()]
    if unused:
        port, leaf, prefix, _, table = unused[0]
        message = f"{port}: no rule leads to table {table}, so its route for {prefix} is never used"
        yield _Fault((f"{PORT}{port}]/{leaf}",), message, "Add a rule for the address of the rail.")
    first: dict[tuple[str, str], str] = {}
    for port, leaf, prefix, _, table in routes:
        if table and (other := first.setdefault((prefix, table), port)) != port:
            message = f"{port}: table {table} has a route for {prefix} by {other} too: one replaces the other"
            yield _Fault((f"{PORT}{port}]/{leaf}",), message, "Use a table of its own for each rail.")
            break


def _nccl(statement: Statement) -> Iterator[_Fault]:
    """Find settings of NCCL that leave rails, their addresses or their class unused."""
    rest, rails = statement.rest, _rails(statement)
    if not rails or not statement.facts_below("nccl/"):
        return
    words = str(rest.get("nccl/hca", ""))
    wide = str(rest.get("nccl/address_range", ""))
    within = _parse_range(wide)
    addresses = {port: parse_addresses(statement.addresses.get(port, ())) for port in rails}
    own = {
        port for port, found in addresses.items()
        if within is None or any(each.version == within.version and each.ip in within for each in found)
    }  # fmt: skip
    if words and not words.startswith("^"):
        named = {each.strip().partition(":")[0].rstrip("*") for each in words.split(",")}
        unknown = [
            each for each in sorted(named) if not any(device.startswith(each) for device in rails.values())
        ]
        left = [
            port for port in rails
            if within is not None and port in own and not any(rails[port].startswith(each) for each in named)
        ]  # fmt: skip
        if unknown or left:
            message = (
                f"NCCL uses {join_words(unknown, 2)}, which no port here has"
                if unknown
                else f"NCCL does not use {join_words(left, 2)}"
            )
            yield _Fault(("nccl/hca",), message, "Name the RDMA devices of all rails.")
    elif words:
        barred = {each.partition(":")[0].rstrip("*") for each in words[1:].split(",")}
        left = [port for port in rails if rails[port] in barred]
        if left and any(port in own for port in left):
            yield _Fault(("nccl/hca",), f"NCCL does not use {join_words(left, 2)}", "Use all rails.")
    stated = any(addresses.values())
    if within is not None and stated and not own:
        message = f"NCCL looks for addresses in {wide}, and no rail has one there"
        yield _Fault(("nccl/address_range",), message, "Name the prefix of the rails.", Severity.ERROR)
    family = {"ipv4": 4, "ipv6": 6}.get(str(rest.get("nccl/address_family")))
    if (
        family
        and stated
        and not any(each.version == family for found in addresses.values() for each in found)
    ):
        message = f"NCCL looks for addresses of IPv{family}, and no rail has one"
        yield _Fault(("nccl/address_family",), message, "Name the family of the rails.", Severity.ERROR)
    yield from _nccl_transport(statement)


def _parse_range(text: str) -> IPv4Network | IPv6Network | None:
    """Return the prefix in which NCCL looks for addresses, None for every address and for a text that is no prefix."""
    block = parse_block(text) if "/" in text else None
    return ip_network(str(block)) if block is not None and block.length else None


def _nccl_transport(statement: Statement) -> Iterator[_Fault]:
    rest = statement.rest
    if rest.get("nccl/ib_disable") == 1:
        yield _Fault(("nccl/ib_disable",), "NCCL does not use RDMA", "Remove the setting.")
    version = as_int(rest.get("nccl/roce_version"))
    if version is not None and version != _ROCE_V2:
        message = f"NCCL uses RoCE v{version}, which no router forwards"
        yield _Fault(("nccl/roce_version",), message, "Use RoCE v2.", Severity.ERROR)
    timeout = as_int(rest.get("nccl/timeout"))
    if timeout and timeout < _SHORT_TIMEOUT:
        message = f"NCCL waits 4.096 us * 2**{timeout} for an answer: a change of routes ends its connections"
        yield _Fault(("nccl/timeout",), message, "Use a timeout of 20 or more.")
    for file, line, text in statement.device.unknown:
        if harm := find_harm(text):
            yield _Fault(("nccl/hca",), harm, "Remove the setting.", line=(file, line))
    paused = _paused(statement)
    if paused and "nccl/hca" in rest and "nccl/dscp" not in rest and _RDMA in rest:
        priority = _priority(statement, 0)
        if priority is not None and priority not in paused:
            message = f"NCCL sets no traffic class: its RDMA is in priority {priority}, sent without PFC"
            slips = [
                (file, line) for file, line, text in statement.device.unknown if text.startswith("NCCL_IB_T")
            ]
            yield _Fault(
                ("nccl/hca",),
                message,
                "Set the traffic class of RDMA.",
                Severity.ERROR,
                next(iter(slips), None),
            )
    points = {path: point for path in ("nccl/dscp", _RDMA) if (point := as_int(rest.get(path))) is not None}
    if len(set(points.values())) > 1 and _priority(statement, points["nccl/dscp"]) in paused:
        message = f"RDMA of NCCL has DSCP {points['nccl/dscp']}, that of connections {points[_RDMA]}"
        yield _Fault(("nccl/dscp",), message, "Use one code point for RDMA.")


def _limits(statement: Statement) -> Iterator[_Fault]:
    """Find limits of locked memory that end RDMA's registration of buffers."""
    if not _rails(statement):
        return
    for path, value in (
        *statement.facts_below("limit[").items(),
        *statement.facts_below("service_limit[").items(),
    ):
        text = str(value)
        locks = "memlock" in path.lower() and (path.startswith("service") or first_key(path) in _JOBS)
        divisor = 1024 if path.startswith("service") else 1
        if locks and is_number(text) and int(text) // divisor < _LEAST_LOCKED_KB:
            message = f"a limit of {text} for locked memory: RDMA cannot register its buffers"
            yield _Fault((path,), message, "Set no limit for locked memory.")


def _services(statement: Statement) -> Iterator[_Fault]:
    """Find rails whose RDMA settings nothing applies."""
    rails = _rails(statement)
    started = [port for port in rails if "started_unit" in statement.ports[port]]
    run = str(statement.rest.get("roce/unit/exec_start", ""))
    command = run.split()[0].rpartition("/")[2] if run else ""
    names = {str(values["started_unit"]) for values in statement.ports.values() if "started_unit" in values}
    if run and names and command not in names:
        message = f"the service of the rails runs {run.split()[0]}, not the script of their settings"
        yield _Fault(("roce/unit/exec_start",), message, "Run the script in the service.", Severity.ERROR)
    if run and names == {command} and "roce/procedure" not in statement.rest:
        message = f"no file has {run.split()[0]}, the script with the RDMA settings"
        yield _Fault(("roce/unit/exec_start",), message, "Add the script.", Severity.ERROR)
    units = sorted({str(statement.ports[port]["started_unit"]) for port in started})
    if units and not run and "roce/procedure" in statement.rest:
        message = f"no file has the service {units[0]}, which has to apply the RDMA settings"
        yield _Fault((f"{PORT}{started[0]}]/started_unit",), message, "Add the service.", Severity.ERROR)
    missing = [port for port in rails if port not in started]
    if missing and (started or run) and "roce/procedure" in statement.rest:
        message = f"{join_words(missing, 2)}: nothing starts the service with the RDMA settings of the port"
        other = [port for port, values in statement.ports.items() if "started_unit" in values]
        paths = [f"{PORT}{port}]/started_unit" for port in (*started[:1], *other)]
        paths += [*statement.facts_below("roce/representor["), "roce/unit/exec_start"]
        yield _Fault(tuple(paths), message, "Start the service when the port appears.", Severity.ERROR)


_SEARCHES = (
    _classes, _notifications, _congestion, _devices, _rail_addresses, _rail_routes, _nccl, _limits, _services,
)  # fmt: skip

RULES = (HostRule(SETTING, HOSTS, find_host_settings),)
