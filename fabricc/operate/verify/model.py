"""Findings and the report of a verification."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.operate.drivers.lossless import Counters
    from fabricc.operate.verify.cable_moves import Move


class Aspect(StrEnum):
    """The aspects that are compared, in the order of the report. `--only` chooses among all but the identity."""

    IDENTITY = "identity"
    CABLING = "cabling"
    BGP = "bgp"
    ROUTES = "routes"
    TENANTS = "tenants"
    INTERFACES = "interfaces"
    QOS = "qos"
    CONFIG = "config"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One difference from the plan.

    Attributes:
        device: the switch it was found on.
        port_down: its port whose link carries no traffic because of it, "" for none.
    """

    aspect: Aspect
    device: str
    diagnostic: Diagnostic
    port_down: str = ""


def make_finding(
    aspect: Aspect,
    device: str,
    code: str,
    message: str,
    *,
    remedy: str = "",
    severity: Severity = Severity.ERROR,
    position: Position | None = None,
    port_down: str = "",
) -> Deviation:
    """Return a finding whose message names the device."""
    finding = Diagnostic(code, severity, f"{device}: {message}", position, remedy)
    return Deviation(aspect, device, finding, port_down)


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a whole verification.

    Attributes:
        tree: the tree it was compared with.
        compared: aspect -> how many things were compared on each switch that could be.
        unasked: switch -> why it, or an aspect of it, could not be read.
        unanswered: aspect -> switches whose driver has no getter for it.
        found: all differences from the plan.
        moves: for each disturbance of the cabling, the fewest moves that end it, in their order.
        unknown_lines: lines of running configurations that no reader knows.
        remarks: what was left out, and why.
        counters: switch -> counters of lossless classes; empty when they were not read.
        noun: what the names are of: switches, or also adapters of InfiniBand.
    """

    tree: str
    aspects: tuple[Aspect, ...]
    compared: Mapping[Aspect, Mapping[str, int]]
    unread: Mapping[str, tuple[Diagnostic, ...]]
    unanswered: Mapping[Aspect, tuple[str, ...]]
    found: tuple[Deviation, ...]
    moves: tuple[tuple[Move, ...], ...] = ()
    unknown_lines: int = 0
    remarks: tuple[str, ...] = field(default=())
    counters: Mapping[str, Counters] = field(default_factory=dict)
    noun: str = "switches"

    @property
    def empty(self) -> bool:
        """Return whether nothing was compared on any switch."""
        return not any(self.compared.values())

    @property
    def exit_status(self) -> int:
        """0 when all is as planned, 1 for differences, 3 when a switch could not be read or nothing was compared."""
        if self.unread or self.empty:
            return 3
        return 1 if any(one.diagnostic.severity is Severity.ERROR for one in self.found) else 0
