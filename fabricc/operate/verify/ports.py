"""Compare state, speed, MTU and errors of every planned port."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Severity
from fabricc.operate.verify.model import Aspect, Found, make_finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.model import Port, Switch

LAYER_2_BYTES = 22
"""Bytes that an operating system may add to an IP MTU: Ethernet header (14), VLAN tag (4), checksum (4)."""
_MBIT = 1000
_wrong = partial(make_finding, Aspect.INTERFACES)
_ERRORS = ("rx_errors", "tx_errors")


def compare_ports(
    switch: Switch, told: Mapping[str, Any], counters: Mapping[str, Any] | None, errors: int
) -> tuple[list[Found], int]:
    """Return the findings and the number of ports that were compared.

    `counters` is None when the driver has none; fewer `errors` of a port since they were last cleared are not worth a
    word.
    """
    findings: list[Found] = []
    planned = [port for port in switch.ports if port.peer]
    for port in planned:
        one = told.get(port.name)
        if one is None:
            message = f"there is no port {port.name}"
            findings.append(_wrong(switch.name, "FAB9231", message, port_down=port.name))
            continue
        findings += _compare_port(switch.name, port, one)
        counted = (counters or {}).get(port.name, {})
        bad = sum(max(0, int(counted.get(kind, 0))) for kind in _ERRORS)
        if bad > errors:
            message = f"port {port.name} counts {bad} errors"
            remedy = "Clean or change transceivers and cable; lost frames cost a whole collective."
            findings.append(_wrong(switch.name, "FAB9234", message, remedy=remedy, severity=Severity.WARNING))
    return findings, len(planned)


def _compare_port(device: str, port: Port, one: Mapping[str, Any]) -> Iterator[Found]:
    far = f"{port.peer.device} {port.peer.port}" if port.peer else ""
    if bool(one.get("is_enabled")) != port.enabled:
        state = "is shut, planned is in use" if port.enabled else "is in use, planned is shut"
        down = port.name if port.enabled else ""
        yield _wrong(device, "FAB9231", f"port {port.name} to {far} {state}", port_down=down)
        return
    if not port.enabled:
        return
    if not one.get("is_up"):
        yield _wrong(device, "FAB9231", f"port {port.name} to {far} is down", port_down=port.name)
        return
    speed = float(one.get("speed", -1))
    if speed > 0 and round(speed) != port.speed_gbps * _MBIT:
        message = f"port {port.name} runs at {speed / _MBIT:g} Gb/s, planned {port.speed_gbps}"
        yield _wrong(device, "FAB9232", message)
    mtu = int(one.get("mtu", -1))
    if mtu > 0 and not port.mtu <= mtu <= port.mtu + LAYER_2_BYTES:
        yield _wrong(device, "FAB9233", f"port {port.name} has MTU {mtu}, planned {port.mtu}")
