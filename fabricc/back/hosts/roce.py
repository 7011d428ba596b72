"""The script that gives a port its RDMA settings, written from the fabric's classes and read back, and its unit."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabricc.back.hosts.classes import PRIORITIES, nic_qos, traffic_classes
from fabricc.back.hosts.nics import FAMILIES, IWARP
from fabricc.back.hosts.numbers import decimal
from fabricc.back.hosts.templating import fill, fill_text, template, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.catalog.model import NicModel
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import HostPort
    from fabricc.fabric.qos import TrafficClass

SCRIPT = "usr/local/sbin/fabricc-roce"
UNIT = "etc/systemd/system/fabricc-roce@.service"
HOOK = "etc/udev/rules.d/70-fabricc-roce.rules"

_TEMPLATE = "fabricc-roce.sh.j2"
_PROCEDURE = "\n# --- the procedure, the same on every host ---\n"
_PER_LINE = 16  # code points per line of the script's table

PortRow = tuple[str, str, int, int]
"""What the script knows of a port: netdev, RDMA device, cable length in metres, port of its NIC from 0."""


def row(port: HostPort) -> PortRow:
    """The port's row."""
    return port.name, port.rdma, port.cable_m, port.nic_port


@lru_cache(maxsize=256)
def hook(names: tuple[str, ...]) -> str:
    """The udev rule that starts the unit for each port that appears."""
    return fill("roce-hook.rules.j2", names="|".join(map(word, names)))


def rdma_dscp(classes: tuple[TrafficClass, ...], nic: NicModel) -> int | None:
    """The code point of RDMA; None without a lossless class, and for RDMA over TCP, which is ordinary traffic."""
    return None if nic.transport == IWARP else nic_qos(classes).rdma_dscp


def cnp(classes: tuple[TrafficClass, ...], nic: NicModel) -> tuple[int, int] | None:
    """Code point and priority of congestion notifications; RDMA over TCP has none."""
    return None if nic.transport == IWARP else nic_qos(classes).cnp


def congestion(classes: tuple[TrafficClass, ...], nic: NicModel) -> tuple[tuple[str, int], ...]:
    """The NIC's congestion parameters; none where no class is marked."""
    return nic.congestion if any(nic_qos(classes).ecn) else ()


def firmware(
    classes: tuple[TrafficClass, ...], nic: NicModel, spread: bool = False
) -> tuple[tuple[str, int], ...]:
    """Settings that a ConnectX keeps: the catalog's, which classes it controls and how it marks notifications.

    Where switches spread packets (`spread`) it supports adaptive routing of RDMA, which `mlxconfig` shows as off.
    """
    settings = dict(nic.firmware)
    if settings:
        qos = nic_qos(classes)
        settings["ROCE_CC_PRIO_MASK"] = sum(1 << p for p in PRIORITIES if qos.ecn[p])
        if qos.cnp:
            settings["CNP_DSCP"], settings["CNP_802P_PRIO"] = qos.cnp
        if spread:
            settings["ROCE_ADAPTIVE_ROUTING_EN"] = 1
    return tuple(sorted(settings.items()))


@lru_cache(maxsize=256)
def script(
    classes: tuple[TrafficClass, ...], nic: NicModel, ports: tuple[PortRow, ...], spread: bool = False
) -> str:
    """The script for these classes, NICs and ports."""
    qos = nic_qos(classes)
    of_priority, schedulers = traffic_classes(classes, nic.traffic_classes)
    pairs = [f"{dscp},{priority}" for dscp, priority in enumerate(qos.dscp_priority)]
    rows = [
        f"{word(name)}) rdma={word(rdma)} cable_m={cable_m} port={nic_port + 1} ;;"
        for name, rdma, cable_m, nic_port in ports
    ]
    cnp_dscp, cnp_priority = cnp(classes, nic) or ("", "")
    data_dscp = rdma_dscp(classes, nic)
    head, _, body = template(_TEMPLATE).partition(_PROCEDURE)
    filled = fill_text(
        head,
        title=word(nic.name),
        transport=nic.transport,
        trust="dscp",
        dscp_to_priority="\n".join(" ".join(pairs[i : i + _PER_LINE]) for i in range(0, 64, _PER_LINE)),
        priority_to_tc=",".join(map(str, of_priority)),
        tc_scheduler=",".join("strict" if weight is None else "ets" for weight in schedulers),
        tc_weight=",".join(str(weight or 0) for weight in schedulers),
        strict_rate_limit=nic.strict_rate_limit,
        pfc=",".join("1" if on else "0" for on in qos.pfc),
        ecn_priorities=" ".join(str(p) for p in PRIORITIES if qos.ecn[p]),
        cnp_dscp=cnp_dscp,
        cnp_priority=cnp_priority,
        roce_tos="" if data_dscp is None else data_dscp << 2 | FAMILIES[nic.driver].ecn_bits,
        read_request_bytes=nic.read_request_bytes,
        congestion="".join(f"{key}={value}\n" for key, value in congestion(classes, nic)),
        firmware="".join(f"{key}={value}\n" for key, value in firmware(classes, nic, spread)),
        ports="\n".join(rows),
        names=" ".join(name for name, _, _, _ in ports),
    )
    return filled + _PROCEDURE + body.replace("{{ family }}\n", _family(nic.driver))


@cache
def _family(driver: str) -> str:
    return "".join(template(name) for name in FAMILIES[driver].procedure)


_ASSIGNMENT = re.compile(r"([A-Z_]+)=('?)([^']*)('?)")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9_/-]*)=([0-9]+)")
_PORT_ROW = re.compile(r"(\S+)\) rdma=(\S+) cable_m=([0-9]+) port=([0-9]+) ;;")
_PFC_LIST = re.compile(r"[01](,[01]){7}")
_PAIR = re.compile(r"([0-9]+),([0-9]+)")
_USAGE = "echo 'usage:"
_BLOCKS = {"CONGESTION='": "congestion", "FIRMWARE='": "firmware", "DSCP_TO_PRIORITY='": "map"}
_CODE = frozenset(
    (
        "#!/bin/sh",
        "# shellcheck disable=SC2034  # no family of NICs uses all of these",
        "set -eu",
        "mode=apply",
        "case ${1:-} in",
        "--check | --firmware)",
        "mode=${1#--}",
        "shift",
        "*)",
        "exit 2",
        ";;",
        "esac",
    )
)
_FRAME = _CODE | {"'", *_BLOCKS}


def procedure_digest(text: str) -> str:
    """A short digest of all that the script fixes for every host: an edited procedure does not pass as ours."""
    head, _, body = text.partition(_PROCEDURE)
    frame = [line.strip() for line in head.split("\n")]
    fixed = "\n".join([*(line for line in frame if line in _FRAME), body])
    return sha256(fixed.encode(errors="surrogatepass")).hexdigest()[:16]


@cache
def planned_procedure(driver: str) -> str:
    """The digest that a script for this driver's NICs has when nobody edited it."""
    text = template(_TEMPLATE).replace("{{ congestion }}'", "'").replace("{{ firmware }}'", "'")
    return procedure_digest(text.replace("{{ family }}\n", _family(driver)))


def planned(
    classes: tuple[TrafficClass, ...], nic: NicModel, spread: bool = False
) -> Iterator[tuple[str, str | int]]:
    """The facts that are the same for all ports."""
    qos = nic_qos(classes)
    of_priority, schedulers = traffic_classes(classes, nic.traffic_classes)
    yield "roce/procedure", planned_procedure(nic.driver)
    yield "roce/transport", nic.transport
    yield "roce/strict_rate_limit", nic.strict_rate_limit
    yield "roce/read_request_bytes", nic.read_request_bytes
    for dscp, priority in enumerate(qos.dscp_priority):
        yield f"qos/dscp[{dscp}]/priority", priority
    for priority, number in enumerate(of_priority):
        yield f"qos/priority[{priority}]/traffic_class", number
    for number, weight in enumerate(schedulers):
        yield f"qos/traffic_class[{number}]/scheduler", "strict" if weight is None else f"dwrr {weight}"
    if (data_dscp := rdma_dscp(classes, nic)) is not None:
        yield "qos/rdma_dscp", data_dscp
    if marks := cnp(classes, nic):
        yield "qos/cnp_dscp", marks[0]
        yield "qos/cnp_priority", marks[1]
    for key, value in congestion(classes, nic):
        yield f"congestion/{key}", value
    for key, value in firmware(classes, nic, spread):
        yield f"firmware/{key}", value


def port_facts(facts: Facts, prefix: str, known: PortRow, classes: tuple[TrafficClass, ...]) -> None:
    """Add the facts of one port of the script's table."""
    qos = nic_qos(classes)
    facts[prefix + "rdma"] = known[1]
    facts[prefix + "cable_m"] = known[2]
    facts[prefix + "firmware_port"] = known[3] + 1
    facts[prefix + "trust"] = "dscp"
    facts[prefix + "pfc"] = _set(qos.pfc)
    facts[prefix + "ecn"] = _set(qos.ecn)
    facts[prefix + "started_unit"] = "fabricc-roce"


def _set(flags: tuple[bool, ...]) -> str:
    return ",".join([str(priority) for priority in PRIORITIES if flags[priority]])


def read_script(reading: Reading, file: str, text: str) -> None:
    """Add the facts that the script's variables and port table state, and the digest of its procedure."""
    head, _, _ = text.partition(_PROCEDURE)
    reading.put("roce/procedure", procedure_digest(text), file, head.count("\n") + 2)
    values: dict[str, tuple[str, int]] = {}
    ports: list[tuple[str, str, str | int, str | int, int]] = []
    block = ""
    for number, line in enumerate(head.split("\n"), 1):
        stripped = line.strip()
        if stripped in _BLOCKS:
            block = _BLOCKS[stripped]
        elif stripped == "'":
            block = ""
        elif block:
            _read_block(reading, block, stripped, file, number)
        elif stripped in _FRAME or not stripped or stripped.startswith(("# ", _USAGE)):
            continue
        elif found := _PORT_ROW.fullmatch(stripped):
            ports.append((found[1], found[2], decimal(found[3]), decimal(found[4]), number))
        elif match := _ASSIGNMENT.fullmatch(stripped):
            values[match[1]] = (match[3], number)
        else:
            reading.unknown.append((file, number, stripped))
    unset = [name for name in (*_PLAIN, *_LISTS) if name not in values]
    reading.unknown += [(file, head.count("\n") + 1, f"{name} is not set") for name in unset]
    _put_qos(reading, file, values)
    for name, rdma, cable_m, port, number in ports:
        prefix = f"interface[{name}]/"
        reading.put(prefix + "rdma", rdma, file, number)
        reading.put(prefix + "cable_m", cable_m, file, number)
        reading.put(prefix + "firmware_port", port, file, number)
        for key, variable in (("trust", "TRUST"), ("pfc", "PFC"), ("ecn", "ECN_PRIORITIES")):
            value, line_number = values.get(variable, ("", number))
            reading.put(prefix + key, _priority_set(variable, value), file, line_number)


def _read_block(reading: Reading, block: str, line: str, file: str, number: int) -> None:
    """A line of the DSCP table, of the congestion parameters or of the firmware's settings."""
    if block == "map":
        for pair in line.split():
            if match := _PAIR.fullmatch(pair):
                reading.put(f"qos/dscp[{decimal(match[1])}]/priority", decimal(match[2]), file, number)
            else:
                reading.unknown.append((file, number, line))
    elif match := _SETTING.fullmatch(line):
        reading.put(f"{block}/{match[1]}", decimal(match[2]), file, number)
    elif line:
        reading.unknown.append((file, number, line))


def _priority_set(variable: str, value: str) -> str:
    """PFC's list of eight and the list of ECN priorities as facts spell sets; other values as they are."""
    if variable == "PFC" and _PFC_LIST.fullmatch(value):
        return ",".join(str(p) for p, on in enumerate(value.split(",")) if on == "1")
    if variable == "ECN_PRIORITIES":
        return ",".join(sorted(value.split()))
    return value


_PLAIN = {
    "TRANSPORT": ("roce/transport", 0),
    "STRICT_RATE_LIMIT": ("roce/strict_rate_limit", 0),
    "READ_REQUEST_BYTES": ("roce/read_request_bytes", 0),
    "CNP_DSCP": ("qos/cnp_dscp", 0),
    "CNP_PRIORITY": ("qos/cnp_priority", 0),
    "ROCE_TOS": ("qos/rdma_dscp", 2),
}
"""Variable -> path of its fact, and by how many bits it is shifted."""


_LISTS = ("TRUST", "PRIORITY_TO_TC", "TC_SCHEDULER", "TC_WEIGHT", "PFC", "ECN_PRIORITIES")
"""The variables that hold lists, and the mode of trust; a script stops (`set -u`) where it uses one that is not set."""


def _put_qos(reading: Reading, file: str, values: dict[str, tuple[str, int]]) -> None:
    for variable, (path, shift) in _PLAIN.items():
        text, number = values.get(variable, ("", 0))
        value = decimal(text)
        if text:
            reading.put(path, value >> shift if isinstance(value, int) else value, file, number)
    tcs, number = values.get("PRIORITY_TO_TC", ("", 0))
    for priority, tc in enumerate(tcs.split(",")):
        reading.put(f"qos/priority[{priority}]/traffic_class", decimal(tc), file, number)
    schedulers, _ = values.get("TC_SCHEDULER", ("", 0))
    weights, number = values.get("TC_WEIGHT", ("", 0))
    for tc_number, (kind, weight) in enumerate(zip(schedulers.split(","), weights.split(","), strict=False)):
        text = kind if kind != "ets" and weight == "0" else f"{'dwrr' if kind == 'ets' else kind} {weight}"
        reading.put(f"qos/traffic_class[{tc_number}]/scheduler", text, file, number)
