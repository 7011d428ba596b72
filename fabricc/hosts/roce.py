"""NIC settings of a ConnectX host: the script that applies them, its unit and hook, and the names of the ports."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabricc.hosts.classes import PRIORITIES, nic_qos, tos_byte
from fabricc.hosts.templating import fill, template, word

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading
    from fabricc.fabric.model import HostPort, TrafficClass

SCRIPT = "usr/local/sbin/fabricc-roce"
UNIT = "etc/systemd/system/fabricc-roce@.service"
HOOK = "etc/udev/rules.d/70-fabricc-roce.rules"
RDMA_NAMES = "etc/udev/rules.d/60-rdma-persistent-naming.rules"
LINKS = "etc/systemd/network/10-fabricc-"

_PROCEDURE = "\n# --- the procedure, the same on every host ---\n"
_PER_LINE = 16  # code points per line of the script's table

PortRow = tuple[str, str, int]
"""What the script knows of a port: netdev, RDMA device, cable length in metres."""


def pci_function(port: HostPort) -> str:
    """PCI address of a port, "" when unknown: port n of a ConnectX is function n of its NIC."""
    if not port.pci or not port.nic_port:
        return port.pci
    device, _, function = port.pci.rpartition(".")
    return f"{device}.{int(function) + port.nic_port}"


@lru_cache(maxsize=1024)
def link_file(name: str, pci: str, mtu: int) -> str:
    """The systemd .link file that names a port by its PCI address, turns 802.3x pause off and enlarges its rings."""
    return fill("rail.link.j2", name=word(name), pci=word(pci), mtu=mtu)


@lru_cache(maxsize=256)
def rdma_names(devices: tuple[tuple[str, str], ...]) -> str:
    """The udev rules that give each (PCI address, RDMA device name) its fixed name."""
    rules = (
        f'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="{word(pci)}", '
        f'PROGRAM="rdma_rename %k NAME_FIXED {word(name)}"'
        for pci, name in devices
    )
    return fill("rdma-naming.rules.j2", rules="\n".join(rules))


@lru_cache(maxsize=256)
def hook(names: tuple[str, ...]) -> str:
    """The udev rule that starts the unit for each port that appears."""
    return fill("roce-hook.rules.j2", names="|".join(map(word, names)))


@lru_cache(maxsize=256)
def script(classes: tuple[TrafficClass, ...], ports: tuple[PortRow, ...]) -> str:
    """The script for these classes and ports."""
    qos = nic_qos(classes)
    pairs = [f"{dscp},{priority}" for dscp, priority in enumerate(qos.dscp_priority)]
    rows = [f"{word(name)}) rdma={word(rdma)} cable_m={cable_m} ;;" for name, rdma, cable_m in ports]
    cnp_dscp, cnp_priority = qos.cnp or ("", "")
    return fill(
        "fabricc-roce.sh.j2",
        trust="dscp",
        dscp_to_priority="\n".join(" ".join(pairs[i : i + _PER_LINE]) for i in range(0, 64, _PER_LINE)),
        priority_to_tc=",".join(map(str, PRIORITIES)),
        tc_scheduler=",".join("strict" if weight is None else "ets" for weight in qos.schedulers),
        tc_weight=",".join(str(weight or 0) for weight in qos.schedulers),
        pfc=",".join("1" if on else "0" for on in qos.pfc),
        ecn_priorities=" ".join(str(p) for p in PRIORITIES if qos.ecn[p]),
        cnp_dscp=cnp_dscp,
        cnp_priority=cnp_priority,
        roce_tos="" if qos.rdma_dscp is None else tos_byte(qos.rdma_dscp),
        ports="\n".join(rows),
        names=" ".join(name for name, _, _ in ports),
    )


_ASSIGNMENT = re.compile(r"([A-Z_]+)=('?)([^']*)('?)")
_PORT_ROW = re.compile(r"(\S+)\) rdma=(\S+) cable_m=(\d+) ;;")
_PFC_LIST = re.compile(r"[01](,[01]){7}")
_PAIR = re.compile(r"(\d+),(\d+)")
_USAGE = "echo 'usage:"
_TABLE = "DSCP_TO_PRIORITY='"
_FRAME = frozenset({"", "#!/bin/sh", "set -eu", "case ${1:-} in", "*)", "exit 2", ";;", "esac", _TABLE, "'"})


def procedure_digest(text: str) -> str:
    """A short digest of all that the script fixes for every host: an edited procedure does not pass as ours."""
    head, _, body = text.partition(_PROCEDURE)
    frame = [line.strip() for line in head.split("\n")]
    fixed = "\n".join([*(line for line in frame if line in _FRAME), body])
    return sha256(fixed.encode()).hexdigest()[:16]


@cache
def planned_procedure() -> str:
    """The digest that a script has when nobody edited it."""
    return procedure_digest(template("fabricc-roce.sh.j2"))


def read_script(reading: Reading, file: str, text: str) -> None:
    """Add the facts that the script's variables and port table state, and the digest of its procedure."""
    head, _, _ = text.partition(_PROCEDURE)
    procedure_line = head.count("\n") + 2
    reading.put("roce/procedure", procedure_digest(text), file, procedure_line)
    values: dict[str, tuple[str, int]] = {}
    ports: list[tuple[str, str, int, int]] = []
    for number, line in enumerate(head.split("\n"), 1):
        stripped = line.strip()
        if stripped in _FRAME or stripped.startswith(("#", _USAGE)):
            continue
        if row := _PORT_ROW.fullmatch(stripped):
            ports.append((row[1], row[2], int(row[3]), number))
        elif _PAIR.match(stripped):
            for pair in stripped.split():
                if match := _PAIR.fullmatch(pair):
                    reading.put(f"qos/dscp[{int(match[1])}]/priority", int(match[2]), file, number)
                else:
                    reading.unknown.append((file, number, stripped))
        elif match := _ASSIGNMENT.fullmatch(stripped):
            values[match[1]] = (match[3], number)
        else:
            reading.unknown.append((file, number, stripped))
    _put_qos(reading, file, values)
    for name, rdma, cable_m, number in ports:
        prefix = f"interface[{name}]/"
        reading.put(prefix + "rdma", rdma, file, number)
        reading.put(prefix + "cable_m", cable_m, file, number)
        for key, variable in (("trust", "TRUST"), ("pfc", "PFC"), ("ecn", "ECN_PRIORITIES")):
            value, line_number = values.get(variable, ("", number))
            reading.put(prefix + key, _priority_set(variable, value), file, line_number)


def _priority_set(variable: str, value: str) -> str:
    """PFC's list of eight and the list of ECN priorities as facts spell sets; other values as they are."""
    if variable == "PFC" and _PFC_LIST.fullmatch(value):
        return ",".join(str(p) for p, on in enumerate(value.split(",")) if on == "1")
    if variable == "ECN_PRIORITIES":
        return ",".join(sorted(value.split()))
    return value


def _put_qos(reading: Reading, file: str, values: dict[str, tuple[str, int]]) -> None:
    for variable, path, shift in (
        ("CNP_DSCP", "qos/cnp_dscp", 0),
        ("CNP_PRIORITY", "qos/cnp_priority", 0),
        ("ROCE_TOS", "qos/rdma_dscp", 2),
    ):
        value, number = values.get(variable, ("", 0))
        if value.isdigit():
            reading.put(path, int(value) >> shift, file, number)
        elif value:
            reading.put(path, value, file, number)
    tcs, number = values.get("PRIORITY_TO_TC", ("", 0))
    for priority, tc in enumerate(tcs.split(",")):
        reading.put(f"qos/priority[{priority}]/traffic_class", int(tc) if tc.isdigit() else tc, file, number)
    schedulers, _ = values.get("TC_SCHEDULER", ("", 0))
    weights, number = values.get("TC_WEIGHT", ("", 0))
    for tc_number, (kind, weight) in enumerate(zip(schedulers.split(","), weights.split(","), strict=False)):
        text = kind if kind != "ets" and weight == "0" else f"{'dwrr' if kind == 'ets' else kind} {weight}"
        reading.put(f"qos/traffic_class[{tc_number}]/scheduler", text, file, number)
