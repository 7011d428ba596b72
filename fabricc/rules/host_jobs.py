"""Find settings of a host that keep jobs from RDMA: those of NCCL, limits of memory, and services.

Each rule compares statements of one host, as those of `host_settings.py` do.
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back.hosts import qos
from fabricc.back.hosts.nccl import find_harm
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.proof.invariants.view import as_int
from fabricc.rules.host_settings import (
    RDMA_POINT,
    SETTING,
    Fault,
    network_of,
    paused_priorities,
    priority_of,
    rails_of,
    report_faults,
)
from fabricc.rules.next_hops import parse_addresses
from fabricc.rules.rule import HOSTS, HostRule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding

_SHORT_TIMEOUT = 14
"""The default of NCCL before 2.14, 4.096 us * 2**14: shorter ones end connections while routes change."""
_LEAST_LOCKED_KB = 1 << 20
"""Locked memory that any job with RDMA exceeds: 1 GiB."""
_ROCE_V2 = 2
_JOBS = ("*", "root")
"""Accounts whose limits are those of jobs."""


def find_job_settings(statement: Statement) -> Iterator[Finding]:
    """Yield the faults of a host's settings for jobs."""
    return report_faults(statement, _SEARCHES)


def _nccl(statement: Statement) -> Iterator[Fault]:
    """Find settings of NCCL that leave rails, their addresses or their class unused."""
    rest, rails = statement.rest, rails_of(statement)
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
            yield Fault(("nccl/hca",), message, "Name the RDMA devices of all rails.")
    elif words:
        barred = {each.partition(":")[0].rstrip("*") for each in words[1:].split(",")}
        left = [port for port in rails if rails[port] in barred]
        if left and any(port in own for port in left):
            yield Fault(("nccl/hca",), f"NCCL does not use {join_words(left, 2)}", "Use all rails.")
    stated = any(addresses.values())
    if within is not None and stated and not own:
        message = f"NCCL looks for addresses in {wide}, and no rail has one there"
        yield Fault(("nccl/address_range",), message, "Name the prefix of the rails.", Severity.ERROR)
    family = {"ipv4": 4, "ipv6": 6}.get(str(rest.get("nccl/address_family")))
    if (
        family
        and stated
        and not any(each.version == family for found in addresses.values() for each in found)
    ):
        message = f"NCCL looks for addresses of IPv{family}, and no rail has one"
        yield Fault(("nccl/address_family",), message, "Name the family of the rails.", Severity.ERROR)
    yield from _nccl_values(statement)
    yield from _nccl_transport(statement)


def _parse_range(text: str) -> IPv4Network | IPv6Network | None:
    """Return the prefix in which NCCL looks for addresses, None for every address and for a text that is no prefix."""
    block = parse_block(text) if "/" in text else None
    return ip_network(str(block)) if block is not None and block.length else None


_RANGES = {
    "cross_nic": (0, 2), "qps_per_connection": (1, 128), "timeout": (1, 31), "split_data_on_qps": (0, 1),
    "pxn_disable": (0, 1), "adaptive_routing": (0, 1),
}  # fmt: skip
"""Setting of NCCL -> its range (NCCL user guide, environment variables)."""
_ALONE = re.compile(r"(?:lo|docker|virbr|veth|cni)[\w*]*")
"""Interfaces that lead to no other host."""


def _nccl_values(statement: Statement) -> Iterator[Fault]:
    """Find values that NCCL does not have, and sockets over ports that do not reach other hosts."""
    rest, rails = statement.rest, rails_of(statement)
    wide = str(rest.get("nccl/address_range", ""))
    if "/" in wide and parse_block(wide) is None:
        message = f"{wide} is no prefix, so NCCL takes any address of a port"
        yield Fault(("nccl/address_range",), message, "Name the prefix of the rails.")
    for leaf, (least, most) in _RANGES.items():
        number = as_int(rest.get(f"nccl/{leaf}"))
        if number is not None and not least <= number <= most:
            message = f"a setting of NCCL is {number}, outside of {least} to {most}"
            yield Fault((f"nccl/{leaf}",), message, "Use a value of the user guide of NCCL.")
    words = str(rest.get("nccl/socket_ifname", "")).split(",")
    apart = [
        port for port, values in statement.ports.items() if port in rails
        and not any(leaf.startswith("main_route[") for leaf in values)
        and any(leaf.startswith("route[") and " table " in str(value) for leaf, value in values.items())
    ]  # fmt: skip
    bad = [each for each in words if _ALONE.fullmatch(each) or each.rstrip("*") in apart]
    if bad and len(bad) == len(words):
        message = f"NCCL opens its sockets over {bad[0]}, by which no other host is reached"
        yield Fault(("nccl/socket_ifname",), message, "Name the interface of the management network.")
    ports = [each.strip().split(":") for each in str(rest.get("nccl/hca", "")).rstrip("*").split(",")]
    for device, place in [each[:2] for each in ports if len(each) > 1]:
        if device in rails.values() and device.startswith("mlx5") and place != "1":
            message = f"NCCL uses port {place} of {device}, which has port 1 alone"
            yield Fault(("nccl/hca",), message, "Use port 1.")


def _nccl_transport(statement: Statement) -> Iterator[Fault]:
    rest = statement.rest
    if rest.get("nccl/ib_disable") == 1 and rest.get("roce/transport") != "iwarp":
        yield Fault(("nccl/ib_disable",), "NCCL does not use RDMA", "Remove the setting.")
    version = as_int(rest.get("nccl/roce_version"))
    if version is not None and version != _ROCE_V2:
        message = f"NCCL uses RoCE v{version}, which no router forwards"
        yield Fault(("nccl/roce_version",), message, "Use RoCE v2.", Severity.ERROR)
    timeout = as_int(rest.get("nccl/timeout"))
    if timeout and timeout < _SHORT_TIMEOUT:
        message = f"NCCL waits 4.096 us * 2**{timeout} for an answer: a change of routes ends its connections"
        yield Fault(("nccl/timeout",), message, "Use a timeout of 20 or more.")
    for file, line, text in statement.device.unknown:
        if harm := find_harm(text):
            yield Fault(("nccl/hca",), harm, "Remove the setting.", line=(file, line))
    paused = paused_priorities(statement)
    if paused and "nccl/hca" in rest and "nccl/dscp" not in rest and RDMA_POINT in rest:
        priority = priority_of(statement, 0)
        if priority is not None and priority not in paused:
            message = f"NCCL sets no traffic class: its RDMA is in priority {priority}, sent without PFC"
            slips = [
                (file, line) for file, line, text in statement.device.unknown if text.startswith("NCCL_IB_T")
            ]
            yield Fault(
                ("nccl/hca",),
                message,
                "Set the traffic class of RDMA.",
                Severity.ERROR,
                next(iter(slips), None),
            )
    points = {
        path: point for path in ("nccl/dscp", RDMA_POINT) if (point := as_int(rest.get(path))) is not None
    }
    if len(set(points.values())) > 1 and priority_of(statement, points["nccl/dscp"]) in paused:
        message = f"RDMA of NCCL has DSCP {points['nccl/dscp']}, that of connections {points[RDMA_POINT]}"
        yield Fault(("nccl/dscp",), message, "Use one code point for RDMA.")


def _limits(statement: Statement) -> Iterator[Fault]:
    """Find limits of locked memory that end RDMA's registration of buffers."""
    if not rails_of(statement):
        return
    stated = statement.facts_below("limit[")
    for path in stated:
        if not path.startswith(tuple([f"limit[{first_key(path)}]/{kind}/" for kind in _LIMIT_KINDS])):
            yield Fault((path,), "no kind of limit, so nothing reads the line", "Write soft or hard.")
    for account in _JOBS:
        kinds = [kind for kind in _LIMIT_KINDS if f"limit[{account}]/{kind}/memlock" in stated]
        if kinds in (["soft"], ["hard"]):
            message = (
                f"a {kinds[0]} limit of locked memory for {account}, and no other: a job has the smaller one"
            )
            yield Fault((f"limit[{account}]/{kinds[0]}/memlock",), message, "Set both limits.")
    for path, value in (
        *stated.items(),
        *statement.facts_below("service_limit[").items(),
    ):
        text = _expand_size(str(value)) if path.startswith("service") else str(value)
        locks = "memlock" in path.lower() and (path.startswith("service") or first_key(path) in _JOBS)
        divisor = 1024 if path.startswith("service") else 1
        if locks and not is_number(text) and text.lower() not in _NO_LIMIT:
            message = f"{value} is no limit for locked memory, so that of the system counts"
            yield Fault((path,), message, "Write `unlimited`, or for a service of systemd `infinity`.")
        elif locks and is_number(text) and int(text) // divisor < _LEAST_LOCKED_KB:
            message = f"a limit of {value} for locked memory: RDMA cannot register its buffers"
            yield Fault((path,), message, "Set no limit for locked memory.")


_LIMIT_KINDS = ("soft", "hard", "-")
_NO_LIMIT = ("unlimited", "infinity", "-1")


def _unit(statement: Statement) -> Iterator[Fault]:
    """Find a service of the rails that does not run once for each appearance of a port."""
    if "roce/unit/exec_start" not in statement.rest:
        return
    for path, wanted in qos.UNIT_NEEDS.items():
        value = str(statement.rest.get(path, ""))
        if wanted not in value.split():
            message = (
                f"the service of the rails {f'has {value}' if value else 'lacks a setting'}, not {wanted}"
            )
            yield Fault((path, "roce/unit/exec_start"), message, "Run it once when the port appears.")


_UNITS = "KMGT"


def _expand_size(text: str) -> str:
    """Return the bytes of a size with the suffix of systemd; another text as it is."""
    number, unit = text[:-1], text[-1:].upper()
    return str(int(number) << 10 * (_UNITS.index(unit) + 1)) if is_number(number) and unit in _UNITS else text


def _files(statement: Statement) -> Iterator[Fault]:
    """Find files and modules that the host's other files need."""
    texts, left = statement.device.files, str(statement.rest.get("roce/leaves_out", "")).split()
    if host_files.APPLY in texts:
        wanted = host_files.required_beside(texts, texts.__getitem__)
        if host_files.MODULES in wanted and host_files.LOCKED_MEMORY not in left:
            wanted.update(host_files.LIMIT_FILES)
        if missing := sorted(wanted - texts.keys()):
            message = f"no {missing[0]}, which belongs to its other files"
            yield Fault(("apply/procedure",), message, "Add the file.", Severity.ERROR)
    loaded = {first_key(path) for path in statement.facts_below("module[")}
    if loaded:
        modules = host_files.listed_modules(texts.get(host_files.MODULES, ""))
        absent = [each for each in modules if each not in loaded and each not in left]
        if absent:
            message = f"nothing loads the module {absent[0]} at boot"
            yield Fault((f"module[{min(loaded)}]",), message, "Load it.")


_DRIVERS = {
    "mlx5": "mlx5_core mlx5_ib",
    "bnxt": "bnxt_en bnxt_re",
    "irdma": "ice irdma",
    "ionic": "ionic ionic_rdma",
}
"""Beginning of the names of RDMA devices -> modules of their driver."""
_COMMON = ("ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm")
"""Modules that others load: `blacklist` keeps them from nothing but a loading by themselves (modprobe.d(5))."""


def _barred_modules(statement: Statement) -> Iterator[Fault]:
    """Find modules of RDMA that another file keeps from being loaded."""
    barred = statement.facts_below("modprobe[")
    devices = rails_of(statement).values() if barred else ()
    own = {each for begins, names in _DRIVERS.items() for each in names.split()
           if any(device.startswith(begins) for device in devices)}  # fmt: skip
    loaded = {first_key(path) for path in statement.facts_below("module[")}
    for path, value in barred.items():
        name, always = first_key(path), str(value).startswith("install")
        if devices and (name in own or name in loaded or (always and name in _COMMON)):
            message = f"{name}, which RDMA needs, is not loaded: {value}"
            yield Fault((path,), message, "Remove the line.", Severity.ERROR)


def _kernel(statement: Statement) -> Iterator[Fault]:
    """Find settings of the kernel by which a host answers for another rail, or takes the addresses of a rail away."""
    settings = {first_key(path): as_int(value) for path, value in statement.facts_below("sysctl[").items()}
    built = host_files.APPLY in statement.device.files
    if not settings and not built:
        return
    left = str(statement.rest.get("roce/leaves_out", "")).split()
    rails = rails_of(statement)
    nets: dict[str, list[str]] = {}
    for port in rails:
        for each in parse_addresses(statement.addresses.get(port, ())):
            if each.version == _IPV4 and each.network.num_addresses > _LINK:
                nets.setdefault(str(each.network), []).append(port)
            keys = [f"net.ipv6.conf.{scope}.disable_ipv6" for scope in (port, "*", "all", "default")]
            off = [key for key in keys if settings.get(key) == 1 and each.version != _IPV4]
            if settings.get(keys[0]) == 0:
                off = []
            if off:
                message = f"{port} has {each}, and IPv6 is turned off"
                yield Fault((f"sysctl[{off[0]}]",), message, "Leave IPv6 on.", Severity.ERROR)
    shared = [] if host_files.KERNEL_SETTINGS in left else [each for each in nets.values() if len(each) > 1]
    for port in (port for ports in shared for port in ports):
        for leaf, least, most in _SHARED:
            keys = [f"net.ipv4.conf.{scope}.{leaf}" for scope in (port, "*", "default", "all")]
            own = [found for key in keys[:-1] if (found := settings.get(key)) is not None]
            values = [*own[:1], *filter(None, [settings.get(keys[-1])])]  # the kernel uses the larger one
            if not least <= max(values, default=0) <= most:
                message = f"{port} is in one subnet with another rail, and {leaf} is {max(values, default=0)}"
                near = [*(f"sysctl[{key}]" for key in (*keys, *settings)), f"{PORT}{port}]/ipv4"]
                yield Fault(tuple(near), f"{message}: it answers for that one", f"Set {keys[0]} to {most}.")
                return


_IPV4, _LINK = 4, 4
_SHARED = (("arp_ignore", 1, 8), ("arp_announce", 1, 2))
"""Setting of the kernel -> its values with which a port answers for its own addresses alone."""


def _services(statement: Statement) -> Iterator[Fault]:
    """Find rails whose RDMA settings nothing applies."""
    rails = rails_of(statement)
    yield from _unit(statement)
    started = [port for port in rails if "started_unit" in statement.ports[port]]
    run = str(statement.rest.get("roce/unit/exec_start", ""))
    command = run.split()[0].rpartition("/")[2] if run else ""
    names = {str(values["started_unit"]) for values in statement.ports.values() if "started_unit" in values}
    script = statement.lines.get("roce/procedure", ("", 0))[0].rpartition("/")[2]
    network = network_of(statement, "roce/unit/exec_start")
    hooked = [
        port
        for port in started
        if statement.ports[port]["started_unit"] != command
        and network_of(statement, f"{PORT}{port}]/started_unit") == network
    ]
    if hooked and script == command:
        message = (
            f"{hooked[0]} starts {statement.ports[hooked[0]]['started_unit']}, and the service is {command}"
        )
        path = f"{PORT}{hooked[0]}]/started_unit"
        yield Fault((path,), message, "Start the service of the rails.", Severity.ERROR)
    elif run and names and command not in names:
        message = f"the service of the rails runs {run.split()[0]}, not the script of their settings"
        yield Fault(("roce/unit/exec_start",), message, "Run the script in the service.", Severity.ERROR)
    if run and names == {command} and "roce/procedure" not in statement.rest:
        message = f"no file has {run.split()[0]}, the script with the RDMA settings"
        yield Fault(("roce/unit/exec_start",), message, "Add the script.", Severity.ERROR)
    units = sorted({str(statement.ports[port]["started_unit"]) for port in started})
    if units and not run and "roce/procedure" in statement.rest:
        message = f"no file has the service {units[0]}, which has to apply the RDMA settings"
        yield Fault((f"{PORT}{started[0]}]/started_unit",), message, "Add the service.", Severity.ERROR)
    missing = [port for port in rails if port not in started]
    if missing and (started or run) and "roce/procedure" in statement.rest:
        message = f"{join_words(missing, 2)}: nothing starts the service with the RDMA settings of the port"
        other = [port for port, values in statement.ports.items() if "started_unit" in values]
        paths = [f"{PORT}{port}]/started_unit" for port in (*started[:1], *other)]
        paths += [*statement.facts_below("roce/representor["), "roce/unit/exec_start"]
        yield Fault(tuple(paths), message, "Start the service when the port appears.", Severity.ERROR)


_SEARCHES = (_nccl, _limits, _files, _barred_modules, _kernel, _services)
RULES = (HostRule(SETTING, HOSTS, find_job_settings),)
