"""Read the output of NIC tools: `mlnx_qos`, `ibdev2netdev`, `show_gids` and `cma_roce_tos`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.hosts.nics import code_point
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.hosts.words import Reader
    from fabricc.fabric.facts import Reading

QOS, TOS, DEVICES, GIDS = "mlnx_qos", "cma_roce_tos", "ibdev2netdev", "show_gids"
NAMES = (QOS, TOS, DEVICES, GIDS)
NAMED = re.compile(rf"(?:^|[\W_])(?:{'|'.join(NAMES)})(?![A-Za-z0-9]).*", re.DOTALL)
"""The part of a file's name that identifies the tool and the port of its text."""
_OF = {
    tool: re.compile(rf"{tool}(?:[^A-Za-z0-9\n]+{option})?[^A-Za-z0-9\n]+(?P<port>[A-Za-z]\w*?)(?:\.\w+)?(?:\s|$)")
    for tool, option in ((QOS, "(?:i|interface)"), (TOS, "d"))
}  # fmt: skip
"""In a command or a file's name: the port, or the device, that the output does not name."""
_TRUST = {"dscp": "dscp", "pcp": "cos"}
_COMMAND = re.compile(rf"(?:.*[#>$%] ?)?(?:sudo )?(?:{'|'.join(NAMES)})\b.*")
_PRIORITIES = re.compile(r"prio:([0-7]) dscp:([0-9, ]*)")
_ENABLED = re.compile(r"enabled((?:\s+[01]){8})")
_CLASS = re.compile(r"tc: ([0-7]) ratelimit: unlimited, tsa: (?:(strict)|(vendor)|ets, bw: ([0-9]{1,3})%)")
_IN_CLASS = re.compile(r"priority:\s+([0-7])")
_CABLE = re.compile(r"Cable len: ([0-9]{1,6})")
_PLAIN = re.compile(r"(DCBX mode|default priority|Receive buffer size \(bytes\)|dscp2prio mapping|PFC configuration)"
                    r":.*|(priority|buffer)(\s+[0-9]+){8}")  # fmt: skip
_DEVICE = re.compile(
    r"(?:(?P<pci>[0-9a-f]{4}:[0-9a-f:.]+) )?(?P<rdma>\S+) (?:\(.*\) )?(?:.* )?port [0-9]+ (?:\(\w+ *\) )?"
    r"==> (?P<port>\S+) \(\w+\)"
)
_LONGEST = 400  # characters of a line of a device
_GID = re.compile(
    r"(?P<rdma>\S+)\s+(?P<number>[0-9]+)\s+(?P<index>[0-9]+)\s+(?P<gid>[0-9a-f:]{39})\s+(?:(?P<ipv4>[0-9.]+)\s+)?"
    r"(?P<version>v[0-9.]+)(?:\s+(?P<port>\S+))?"
)
_GID_HEAD = re.compile(r"DEV\s+PORT\s+INDEX\s.*|---[\s-]*|n_gids_found=[0-9]+")


def output_path(path: str, text: str) -> str | None:
    """Return the name of such a text with its port; None for other texts, or if nothing identifies them."""
    if "PFC configuration:" in text and "riority" in text:
        return _name_output(QOS, path, text)
    if "n_gids_found=" in text:
        return GIDS
    if " ==> " in text and any(_match_device(line) for _, line in _numbered_lines(text)):
        return DEVICES
    if len(text) < 4096 and (TOS in text or TOS in path):
        return _name_output(TOS, path, text)
    return None


def _name_output(tool: str, path: str, text: str) -> str | None:
    command = next((line.strip() for line in text.split("\n") if line.strip()), "")
    name = path.rpartition("/")[2]
    found = (_COMMAND.fullmatch(command) and _OF[tool].search(command)) or _OF[tool].search(name)
    return f"{tool}/{found['port']}" if found and found["port"] not in ("txt", "log", "out") else None


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, without empty ones and the command."""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line and not _COMMAND.fullmatch(line):
            yield number, line


def _match_device(line: str) -> re.Match[str] | None:
    return _DEVICE.fullmatch(line) if len(line) < _LONGEST else None


def _read_qos(reading: Reading, file: str, text: str) -> None:
    """Read trust, PFC, map and shares of a port; a host states settings of the whole NIC once."""
    prefix, traffic_class = f"interface[{file.rpartition('/')[2]}]/", ""
    for number, line in _numbered_lines(text):
        head, _, rest = line.partition(": ")
        if head == "Priority trust state" and rest in _TRUST:
            reading.put(prefix + "trust", _TRUST[rest], file, number)
        elif found := _ENABLED.fullmatch(line):
            on = [str(priority) for priority, flag in enumerate(found[1].split()) if flag == "1"]
            reading.put(prefix + "pfc", ",".join(on), file, number)
        elif found := _PRIORITIES.fullmatch(line):
            for dscp in found[2].replace(",", " ").split():
                reading.put(f"qos/dscp[{int(dscp)}]/priority", int(found[1]), file, number)
        elif found := _CLASS.fullmatch(line):
            traffic_class = found[1]
            if not found[3]:  # what the vendor chose is not a share
                share = found[2] or f"dwrr {int(found[4])}"
                reading.put(f"qos/traffic_class[{traffic_class}]/scheduler", share, file, number)
        elif traffic_class and (found := _IN_CLASS.fullmatch(line)):
            reading.put(f"qos/priority[{found[1]}]/traffic_class", int(traffic_class), file, number)
        elif found := _CABLE.fullmatch(line):
            reading.put(prefix + "cable_m", int(found[1]), file, number)
        elif not _PLAIN.fullmatch(line):
            reading.unknown.append((file, number, line))


def _read_tos(reading: Reading, file: str, text: str) -> None:
    """The traffic-class byte of RDMA connections."""
    for number, line in _numbered_lines(text):
        if is_number(line) and len(line) < 4:
            reading.put("qos/rdma_dscp", code_point(line), file, number)
        else:
            reading.unknown.append((file, number, line))


def _read_devices(reading: Reading, file: str, text: str) -> None:
    """Return the RDMA device of each port."""
    for number, line in _numbered_lines(text):
        if found := _match_device(line):
            reading.put(f"interface[{found['port']}]/rdma", found["rdma"], file, number)
            if found["pci"]:
                reading.put(f"rdma[{found['rdma']}]/pci", found["pci"], file, number)
        else:
            reading.unknown.append((file, number, line))


def _read_gids(reading: Reading, file: str, text: str) -> None:
    """Versions of RoCE and addresses of each RDMA device; prefix lengths are not among them."""
    for number, line in _numbered_lines(text):
        if found := _GID.fullmatch(line):
            if port := found["port"]:
                reading.put(f"interface[{port}]/rdma", found["rdma"], file, number)
                address = found["ipv4"] or found["gid"]
                reading.put(
                    f"interface[{port}]/gid[{found['index']}]", f"{found['version']} {address}", file, number
                )
        elif not _GID_HEAD.fullmatch(line):
            reading.unknown.append((file, number, line))


READERS: Mapping[str, Reader] = {
    f"{QOS}/*": _read_qos, f"{TOS}/*": _read_tos, DEVICES: _read_devices, GIDS: _read_gids,
}  # fmt: skip
