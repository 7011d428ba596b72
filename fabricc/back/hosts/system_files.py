"""Readers of the small system files of a host: .link, udev rules, units, sysctls, limits and modules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.hosts.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Reading

_LINK_FACTS = {
    "Match.Path": "pci",
    "Link.MTUBytes": "link_mtu",
    "Link.RxFlowControl": "pause_rx",
    "Link.TxFlowControl": "pause_tx",
    "Link.AutoNegotiationFlowControl": "pause_autoneg",
    "Link.RxBufferSize": "ring_rx",
    "Link.TxBufferSize": "ring_tx",
}
_UNIT_FACTS = {
    "Unit.BindsTo": "binds_to",
    "Unit.After": "after",
    "Service.Type": "type",
    "Service.RemainAfterExit": "remain_after_exit",
    "Service.ExecStart": "exec_start",
}
_RDMA_RULE = re.compile(
    r'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="([^"]+)", PROGRAM="rdma_rename %k NAME_FIXED ([^" ]+)"'
)
_HOOK_RULE = re.compile(
    r'ACTION!="remove", SUBSYSTEM=="net", KERNEL=="([^"]+)", TAG\+="systemd", '
    r'ENV\{SYSTEMD_WANTS\}\+="([^"]+)@%k\.service"'
)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and stripped[0] not in "#;":
            yield number, stripped


def _settings(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Line number, `Section.Key`, value and the line of each setting of a systemd file."""
    section = ""
    for number, line in _statements(text):
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
            continue
        key, _, value = line.partition("=")
        yield number, f"{section}.{key}", value, line


def read_link(reading: Reading, file: str, text: str) -> None:
    """Add the facts of a systemd .link file, under the name that it gives."""
    settings = list(_settings(text))
    name = next((value for _, key, value, _ in settings if key == "Link.Name"), "")
    for number, key, value, line in settings:
        if name and key in _LINK_FACTS:
            known = decimal(value.removeprefix("pci-"))
            reading.put(f"interface[{name}]/{_LINK_FACTS[key]}", known, file, number)
        elif key != "Link.Name":
            reading.unknown.append((file, number, line))


def read_rdma_names(reading: Reading, file: str, text: str) -> None:
    """Add the facts of the RDMA naming rules."""
    for number, line in _statements(text):
        if match := _RDMA_RULE.fullmatch(line):
            reading.put(f"rdma[{match[2]}]/pci", match[1], file, number)
        else:
            reading.unknown.append((file, number, line))


def read_hook(reading: Reading, file: str, text: str) -> None:
    """Add, per port, which unit its appearance starts."""
    for number, line in _statements(text):
        if match := _HOOK_RULE.fullmatch(line):
            for name in match[1].split("|"):
                reading.put(f"interface[{name}]/started_unit", match[2], file, number)
        else:
            reading.unknown.append((file, number, line))


def read_unit(reading: Reading, file: str, text: str) -> None:
    """Add the facts of the unit that applies the NIC settings."""
    for number, key, value, line in _settings(text):
        if key in _UNIT_FACTS:
            reading.put(f"roce/unit/{_UNIT_FACTS[key]}", value, file, number)
        elif key != "Unit.Description":
            reading.unknown.append((file, number, line))


def read_sysctl(reading: Reading, file: str, text: str) -> None:
    """Add one fact per kernel setting."""
    for number, line in _statements(text):
        key, equals, value = line.partition("=")
        if equals:
            reading.put(f"sysctl[{key.strip()}]", decimal(value.strip()), file, number)
        else:
            reading.unknown.append((file, number, line))


def read_limits(reading: Reading, file: str, text: str) -> None:
    """Add one fact per limit."""
    for number, line in _statements(text):
        words = line.split()
        if len(words) == 4:
            domain, kind, item, value = words
            reading.put(f"limit[{domain}]/{kind}/{item}", decimal(value), file, number)
        else:
            reading.unknown.append((file, number, line))


def read_service_limits(reading: Reading, file: str, text: str) -> None:
    """Add one fact per default limit of services."""
    for number, key, value, line in _settings(text):
        if key.startswith("Manager.DefaultLimit"):
            reading.put(f"service_limit[{key.removeprefix('Manager.')}]", value, file, number)
        else:
            reading.unknown.append((file, number, line))


def read_modules(reading: Reading, file: str, text: str) -> None:
    """Add one fact per module loaded at boot."""
    for number, line in _statements(text):
        reading.put(f"module[{line}]", "load", file, number)
