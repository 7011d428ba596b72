"""Find settings of a host's NICs that work against RDMA or against each other, whatever other hosts have.

Each rule compares statements of one host: classes, notifications, congestion control, and devices. Where a host states
only one side, nothing is reported. `host_addresses.py` and `host_jobs.py` have the other settings.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import hosts as host_files
from fabricc.back.reading.rows import word_variants
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.proof.invariants.view import CODE_POINTS, as_int, parse_priorities
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import HOSTS, HostRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding

SETTING = "FAB9696"
RDMA_POINT, _CNP = "qos/rdma_dscp", "qos/cnp_dscp"
_PRIORITIES, _WHOLE = 8, 100
_SMALL_READ = 512
"""The read request size that a PCI device has without any setting."""
_READ_SIZES = tuple(128 << step for step in range(6))
"""Sizes of a read request that PCI Express has."""
_LEAST_STRICT = 10
"""Gb/s that the guide of AMD's Pollara leaves to the class of notifications."""
_LONGEST_M = 2000
"""The longest cable of a transceiver for hosts, FR4, in meters."""


class Fault(NamedTuple):
    """What is wrong with a host, where, and what to do."""

    paths: tuple[str, ...]
    message: str
    remedy: str
    severity: Severity = Severity.WARNING
    line: tuple[str, int] | None = None
    word: str = ""


def find_host_settings(statement: Statement) -> Iterator[Finding]:
    """Yield the faults of a host's NICs."""
    return report_faults(statement, _SEARCHES)


def report_faults(
    statement: Statement, searches: Iterable[Callable[[Statement], Iterator[Fault]]]
) -> Iterator[Finding]:
    """Yield the faults of a host that some searches find, with their files and lines."""
    for search in searches:
        for each in search(statement):
            found = finding_at(
                SETTING,
                statement.device,
                each.paths,
                f"{statement.name}: {each.message}",
                "host setting",
                each.severity,
                each.remedy,
                word=each.word,
            )
            if each.line is not None:
                file, line = each.line
                found = found._replace(file=statement.device.paths[file], line=line)
            yield found


def rails_of(statement: Statement) -> dict[str, str]:
    """Return the ports with an RDMA device, and the device."""
    return {port: str(values["rdma"]) for port, values in statement.ports.items() if "rdma" in values}


def paused_priorities(statement: Statement) -> frozenset[int]:
    """Return the priorities for which a port sends and honors pauses."""
    found = (parse_priorities(values.get("pfc")) for values in statement.ports.values())
    return frozenset(priority for each in found for priority in each)


def network_of(statement: Statement, path: str) -> str:
    """Return the network whose file states a fact: each has a service and a map of its own."""
    return host_files.network_of(statement.lines.get(path, ("", 0))[0])


def priority_of(statement: Statement, dscp: int | None) -> int | None:
    """Return the priority into which the host's map leads a code point."""
    return as_int(statement.rest.get(f"qos/dscp[{dscp}]/priority"))


def _scheduler(statement: Statement, priority: int) -> tuple[str, str]:
    """Return the scheduler of a priority's class, and its path."""
    number = as_int(statement.rest.get(f"qos/priority[{priority}]/traffic_class"))
    path = f"qos/traffic_class[{priority if number is None else number}]/scheduler"
    return str(statement.rest.get(path, "")), path


def _weight(scheduler: str) -> int | None:
    """Return the share of a class in percent; None of one without a share."""
    words = scheduler.split()
    return int(words[1]) if len(words) > 1 and words[0] == "dwrr" and is_number(words[1]) else None


def _weights(statement: Statement) -> dict[str, int]:
    """Return the share in percent of each class that has one, by the path of its scheduler."""
    stated = statement.facts_below("qos/traffic_class[").items()
    return {path: weight for path, value in stated if (weight := _weight(str(value))) is not None}


def _is_weighted(statement: Statement, priority: int) -> bool:
    return _scheduler(statement, priority)[0].startswith("dwrr")


def _classes(statement: Statement) -> Iterator[Fault]:
    """Find classes of RDMA that others share, that have no share of the link, or all of it."""
    paused = paused_priorities(statement)
    mapped = bool(statement.facts_below("qos/dscp["))
    odd = [
        port for port in rails_of(statement) if mapped and statement.of(port, "trust") not in (None, "dscp")
    ]
    if odd:
        message = (
            f"{join_words(odd, 2)}: the port does not trust DSCP, so the map of code points has no effect"
        )
        yield Fault((f"{PORT}{odd[0]}]/trust",), message, "Trust DSCP on ports for RDMA.", Severity.ERROR)
    used = {found for dscp in range(CODE_POINTS) if (found := priority_of(statement, dscp)) is not None}
    network = network_of(statement, next(iter(statement.facts_below("qos/dscp[")), ""))
    mine = {
        port: parse_priorities(values.get("pfc"))
        for port, values in statement.ports.items()
        if network_of(statement, f"{PORT}{port}]/pfc") == network
    }
    if used and (idle := sorted({each for found in mine.values() for each in found} - used)):
        port = next(port for port, found in mine.items() if found)
        message = f"PFC for priority {join_words([*map(str, idle)], 2)}, into which no code point leads"
        yield Fault((f"{PORT}{port}]/pfc",), message, "Use PFC for the priority of RDMA alone.")
    yield from _incomplete_maps(statement)
    shares = list(_weights(statement).values())
    weighted = sum(weight > 0 for weight in shares)
    own = [
        weight for each in paused & used if (weight := _weight(_scheduler(statement, each)[0])) is not None
    ]
    small = sum(own) * weighted < sum(shares) * len(own)  # the classes with PFC together
    notified = priority_of(statement, as_int(statement.rest.get(_CNP)))
    for priority in sorted(paused & used):
        path = f"qos/priority[{priority}]/traffic_class"
        number = statement.rest.get(path)
        others = [
            each for each in sorted(used - paused)
            if number is not None and statement.rest.get(f"qos/priority[{each}]/traffic_class") == number
        ]  # fmt: skip
        if others:
            message = f"RDMA (priority {priority}) shares traffic class {number} with priority {others[0]}"
            yield Fault((path,), message, "Give the priority with PFC a traffic class of its own.")
        scheduler, place = _scheduler(statement, priority)
        weight = _weight(scheduler)
        if scheduler.startswith("strict"):
            message = f"RDMA (priority {priority}) is sent before all other classes, which starve"
            yield Fault((place,), message, "Give the class of RDMA a weight.")
        elif weight is not None and small and weight * weighted < sum(shares):
            message = f"RDMA (priority {priority}) has {weight} % of the link, less than with equal weights"
            yield Fault((place,), message, "Give the class of RDMA a larger weight.")
    if notified is not None and notified in used - paused:
        scheduler, place = _scheduler(statement, notified)
        if scheduler == "dwrr 0":
            message = f"congestion notifications (priority {notified}) have no share of the link"
            yield Fault((place,), message, "Give their class strict priority, or a weight.")


def _incomplete_maps(statement: Statement) -> Iterator[Fault]:
    """Find lists that the tools of NICs refuse: of code points, of classes, and of shares that are not 100 %."""
    points = [dscp for dscp in range(CODE_POINTS) if priority_of(statement, dscp) is not None]
    if CODE_POINTS // 2 < len(points) < CODE_POINTS:
        lost = min({*range(CODE_POINTS)}.difference(points))
        place = f"qos/dscp[{min(points, key=lambda each: abs(each - lost))}]/priority"
        yield Fault((place,), f"the map has no priority for DSCP {lost}", "Add the code point.")
    classes = statement.facts_below("qos/priority[")
    if 0 < len(classes) < _PRIORITIES:
        message = f"{len(classes)} of {_PRIORITIES} priorities have a traffic class"
        yield Fault((next(iter(classes)),), message, "Name the class of each priority.")
    for begins, leaf in (("qos/dscp[", "/priority"), ("qos/priority[", "/traffic_class")):
        for path, value in statement.facts_below(begins).items():
            number = as_int(value)
            if path.endswith(leaf) and (number is None or not 0 <= number < _PRIORITIES):
                message = (
                    f"{begins[4:-1]} {first_key(path)} has {leaf[1:].replace('_', ' ')} {value or 'none'}"
                )
                remedy = f"Use a number from 0 to {_PRIORITIES - 1}."
                yield Fault((path,), f"{message}: the NIC has 0 to {_PRIORITIES - 1}", remedy, Severity.ERROR)
    for path, value in statement.facts_below("qos/traffic_class[").items():
        if str(value).split()[:1] != ["strict"] and _weight(str(value)) is None:
            message = f"traffic class {first_key(path)} has no scheduler: {value or 'nothing'} is none"
            yield Fault((path,), message, "Write a weight in percent, or strict priority.", Severity.ERROR)
    weights = _weights(statement)
    if any(weights.values()) and sum(weights.values()) != _WHOLE:
        message = f"the shares of the classes are {sum(weights.values())} % together"
        yield Fault((next(iter(weights)),), message, "Divide 100 % among the classes with a weight.")


def _notifications(statement: Statement) -> Iterator[Fault]:
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
            yield Fault((odd,), message, f"Use one {what} for congestion notifications.")
    paused = paused_priorities(statement)
    for path, what in (("nccl/control_dscp", "control messages of NCCL"), (_CNP, "congestion notifications")):
        point = as_int(statement.rest.get(path))
        priority = priority_of(statement, point)
        if priority is None or not paused:
            continue
        place = (path,) if path != _CNP else (f"qos/dscp[{point}]/priority",)
        if path == _CNP and priority in paused:
            message = f"{what} (DSCP {point}) are in priority {priority}, whose pauses delay them"
            yield Fault(place, message, "Lead them to a priority without PFC.")
        elif path != _CNP and point != dscp and priority not in paused and _is_weighted(statement, priority):
            message = f"{what} (DSCP {point}) are in priority {priority}, sent without PFC: RDMA drops"
            yield Fault(place, message, "Use the code point of a class with PFC, or one sent first.")


def _congestion(statement: Statement) -> Iterator[Fault]:
    """Find RDMA without the congestion control that other settings of the host prepare."""
    priority = priority_of(statement, as_int(statement.rest.get(RDMA_POINT)))
    if priority is None:
        return
    mask = as_int(statement.rest.get("firmware/ROCE_CC_PRIO_MASK"))
    prepared = bool(statement.facts_below("congestion/roce_rp/"))
    rails = rails_of(statement)
    marked = {port: parse_priorities(statement.of(port, "ecn")) for port in rails}
    remedy = "Run congestion control for the priority of RDMA, or take its parameters away."
    bare = [
        port for port, found in marked.items()
        if priority not in found and priority in parse_priorities(statement.of(port, "pfc"))
    ]  # fmt: skip
    if bare and (mask or 0) & (1 << priority):
        message = f"{join_words(bare, 2)}: no congestion control for RDMA (priority {priority})"
        paths = [f"{PORT}{bare[0]}]/{leaf}" for leaf in ("ecn", "pfc", "rdma")]
        yield Fault(tuple(paths), message, remedy)
    if mask is not None and prepared and not mask & (1 << priority):
        message = f"the NIC's firmware runs no congestion control for RDMA (priority {priority})"
        yield Fault(("firmware/ROCE_CC_PRIO_MASK",), message, remedy)


def _devices(statement: Statement) -> Iterator[Fault]:
    """Find NICs that are no Ethernet ports, read little at once, or have one device for two rails."""
    rest, rails = statement.rest, rails_of(statement)
    yield from _other_functions(statement)
    yield from _parameters(statement)
    for port, values in statement.ports.items():
        pauses = [leaf for leaf in _PAUSES if str(values.get(leaf)) in _ON]
        if pauses and (port in rails or "link_mtu" in values):
            message = f"{port}: pause of the whole link is on, which stops every class and excludes PFC"
            yield Fault((f"{PORT}{port}]/{pauses[0]}",), message, "Turn it off.", Severity.ERROR)
        length = as_int(values.get("cable_m"))
        if length is not None and not 0 < length <= _LONGEST_M:
            message = f"{port}: a cable of {length:,} m, by which the NIC sizes its headroom"
            yield Fault((f"{PORT}{port}]/cable_m",), message, "Write the length of the cable.")
    if rest.get("roce/transport") not in (None, "rocev2", "iwarp"):
        message = f"RDMA uses {rest['roce/transport']}, which no router forwards"
        yield Fault(("roce/transport",), message, "Use RoCE v2.", Severity.ERROR)
    if rails and rest.get("firmware/LINK_TYPE") == 1:
        yield Fault(
            ("firmware/LINK_TYPE",), "the NIC's firmware makes its ports InfiniBand ports",
            "Set LINK_TYPE to Ethernet (2).", Severity.ERROR,
        )  # fmt: skip
    size = as_int(rest.get("roce/read_request_bytes"))
    if size is not None and size not in _READ_SIZES:
        message = f"a read request of {size} bytes, which PCI Express does not have"
        yield Fault(("roce/read_request_bytes",), message, "Use 4,096 bytes.")
    elif size is not None and size < _SMALL_READ:
        message = f"the NIC reads {size} bytes of memory at once, which slows RDMA"
        yield Fault(("roce/read_request_bytes",), message, "Let it read 4,096 bytes at once.")
    limit = as_int(rest.get("roce/strict_rate_limit"))
    if (
        limit
        and limit < _LEAST_STRICT
        and any(value == "strict" for value in statement.facts_below("qos/traffic_class[").values())
    ):
        message = f"classes with strict priority are limited to {limit} Gb/s, congestion notifications too"
        yield Fault(("roce/strict_rate_limit",), message, "Set no limit for strict classes.")
    first: dict[str, str] = {}  # a device may have several ports, but not in the script of rails
    for port, device in rails.items() if "roce/procedure" in rest else ():
        if (other := first.setdefault(device, port)) != port:
            message = f"{port} has the RDMA device {device}, which is that of {other}"
            yield Fault((f"{PORT}{port}]/rdma",), message, "Correct the device.", Severity.ERROR)


_PAUSES = ("pause_rx", "pause_tx", "pause_autoneg")
_ON = ("yes", "true", "on", "1")


def _other_functions(statement: Statement) -> Iterator[Fault]:
    """Find names of ports and of RDMA devices that are fixed to different PCI functions."""
    rails, stated = rails_of(statement), statement.facts_below("rdma[")
    functions = {port: str(values["pci"]) for port, values in statement.ports.items() if "pci" in values}
    remedy = "Name the port and its RDMA device by one PCI address."
    for port, device in rails.items():
        mine, named = functions.get(port), stated.get(f"rdma[{device}]/pci")
        if mine is None:
            if (
                functions
                and functions.keys().isdisjoint((port,))
                and (lone := sorted(functions.keys() - rails.keys()))
            ):
                message = (
                    f"no file names {port} by its PCI address, but {lone[0]}, which has no RDMA settings"
                )
                yield Fault((f"{PORT}{lone[0]}]/pci",), message, remedy, word=f"Name={lone[0]}")
            continue
        number = as_int(statement.ports[port].get("firmware_port"))
        if number is not None and is_number(mine[-1:]) and number != int(mine[-1]) + 1:
            message = f"{port}: port {number} of the NIC, and function {mine[-1]} of it by its PCI address"
            yield Fault((f"{PORT}{port}]/firmware_port",), message, "Correct the number of the port.")
        if not stated or named == mine:
            continue
        owner = next((path for path, pci in stated.items() if pci == mine), "")
        twice = [each for each, pci in functions.items() if pci == mine and each != port]
        message = (
            f"{port} is PCI function {mine}, and its RDMA device {device} "
            f"{f'is {named}' if named else 'has no address'}"
        )
        slips = [(file, line) for file, line, text in statement.device.unknown if mine in text]
        path = f"{PORT}{port}]/rdma"
        if twice:
            path = f"{PORT}{port}]/pci"
        elif named and [*stated.values()].count(named) > 1:
            path = f"rdma[{device}]/pci"
        elif owner and not named and device in str(statement.rest.get("nccl/hca", "")):
            path = owner
        yield Fault((path,), message, remedy, Severity.ERROR, next(iter(slips), None))


_RANGES = {
    "congestion/roce_rp/dce_tcp_g": (0, 1023), "congestion/roce_rp/dce_tcp_rtt": (1, 131_071),
    "congestion/roce_rp/rpg_min_dec_fac": (0, 99), "congestion/roce_rp/rpg_min_rate": (1, 1 << 31),
    "congestion/roce_rp/rpg_gd": (0, 11), "congestion/roce_rp/rpg_ai_rate": (1, 1 << 31),
    "congestion/roce_rp/rpg_hai_rate": (1, 1 << 31), "congestion/roce_rp/rpg_threshold": (1, 31),
    "congestion/roce_rp/rpg_byte_reset": (1, 32_767), "congestion/roce_rp/rpg_time_reset": (1, 131_071),
    "congestion/roce_rp/rate_reduce_monitor_period": (1, 1 << 32),
    "congestion/roce_np/min_time_between_cnps": (0, 4095),
}  # fmt: skip
"""Parameter of DCQCN -> its range (NVIDIA, DCQCN parameters); a factor of 100 % prevents every reduction."""


def _parameters(statement: Statement) -> Iterator[Fault]:
    """Find parameters of congestion control that the NIC refuses, or with which it never slows down."""
    for path, value in statement.facts_below("congestion/").items():
        least, most = _RANGES.get(path, (None, None))
        number = as_int(value)
        if near := sorted(_RANGES.keys() & {*word_variants(path)}) if least is None else []:
            name, meant = (each.removeprefix("congestion/") for each in (path, near[0]))
            yield Fault((path,), f"the NIC has no parameter {name}", f"Write {meant} if that is meant.")
        if least is not None and most is not None and number is not None and not least <= number <= most:
            message = f"{path.removeprefix('congestion/')} is {number:,}, outside of {least:,} to {most:,}"
            yield Fault((path,), message, "Use the default of the NIC.")


def _misspelled_keys(statement: Statement) -> Iterator[Fault]:
    """Find keys that a program does not know but one that is nearly the same, and variables that a script lacks."""
    device = statement.device
    unread = [(file, line, text) for file, line, text in device.unknown]
    unread += [
        (*statement.lines[path], f"{first_key(path)} =" if path[0] == "s" else f"{path.rpartition('/')[2]} =")
        for begins in ("sysctl[", "limit[")
        for path in statement.facts_below(begins)
        if path in statement.lines
    ]
    meant = set[str]()
    for file, line, text in unread:
        if found := host_files.similar_key(file, text):
            message = f"nothing reads `{found[0]}` in {file}"
            remedy = f"Write `{found[1]}` if that is meant."
            meant.add(found[1])
            yield Fault((), message, remedy, line=(file, line))
    for file, line, text in unread:
        name = text.removesuffix(host_files.NOT_SET)
        if name != text and name not in meant:
            message = f"the script of the NICs stops before it does anything: {text}"
            yield Fault((), message, f"Set {name}.", Severity.ERROR, line=(file, line))


_SEARCHES = (
    _classes, _notifications, _congestion, _devices, _misspelled_keys,
)  # fmt: skip

RULES = (HostRule(SETTING, HOSTS, find_host_settings),)
