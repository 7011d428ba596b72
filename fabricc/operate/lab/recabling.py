"""Move cables of a running lab as the worksheet of a migration lists them."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import replace
from fabricc.operate.lab import faults, growth, kernel, logins, making, state
from fabricc.operate.lab.blueprint import build_blueprint
from fabricc.operate.lab.failure import LabError
from fabricc.operate.lab.running import Lab

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fabricc.operate.lab.blueprint import Blueprint
    from fabricc.operate.lab.state import Cable
    from fabricc.operate.lab.steady import Network

_WAS = ("device", "port", "far_device", "far_port")


class Row(NamedTuple):
    """A cable of a worksheet: unplugged at `was`, plugged at `now`."""

    round: int
    was: Cable | None
    now: Cable | None


def read_worksheet(worksheet: Path) -> list[Row]:
    """Return the rows of a worksheet.

    Raises:
        LabError: FAB9480, it is none.
    """
    try:
        with worksheet.open(newline="") as text:
            return [
                Row(int(row["round"]), _parse_cable(row, ""), _parse_cable(row, "new_"))
                for row in csv.DictReader(text)
            ]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        remedy = "`fabricc migrate --write DIR` writes DIR/N-NAME/recabling.csv."
        raise LabError("FAB9480", f"{worksheet} is no worksheet of cables: {error}", remedy) from None


def _parse_cable(row: Mapping[str, str | None], which: str) -> Cable | None:
    device, port, far, far_port = (row[f"{which}{name}"] for name in _WAS)
    if device and port and far and far_port:
        return device, port, far, far_port
    if device or port or far or far_port:
        raise ValueError(f"half of a cable in round {row['round']}")
    return None


def recable_lab(network: Network, rows: Iterable[Row], number: int | None = None) -> Network:
    """Carry out the rounds of a worksheet, or one of them: all its cables are pulled before any is plugged.

    A row that was carried out already costs nothing.

    The lab's plan has the cables as they are to be.

    Raises:
        LabError: FAB8015, something is broken on purpose; FAB9481, the lab's plan has no such cable, or a port of it is
            not free.
    """
    faults.require_none(network.lab)
    plan, lab = build_blueprint(network.fabric), network.lab
    chosen = [row for row in rows if number in (None, row.round)]
    for turn in sorted({row.round for row in chosen}):
        lab = _carry_out_round(lab, plan, [row for row in chosen if row.round == turn])
    return replace(network, lab=lab)


def _carry_out_round(lab: Lab, plan: Blueprint, rows: Sequence[Row]) -> Lab:
    had = set(lab.record.cables)
    pulled = {row.was for row in rows if row.was} & had
    plugged = [row.now for row in rows if row.now and row.now not in had]
    _require_free(plan, had - pulled, plugged)
    for cable in sorted(pulled):
        making.unplug_ports(lab, state.ends_of_cables([cable]))
        lab = _record_cables(lab, [one for one in lab.record.cables if one != cable])
    kernel.ip_batches(growth.port_commands(lab, plan.nodes, state.ends_of_cables(pulled)))
    for cable in plugged:
        ends = state.ends_of_cables([cable])
        making.unplug_ports(lab, ends, dark=False)
        making.plug_cables(lab, [cable])
        kernel.ip_batches(growth.port_commands(lab, plan.nodes, ends))
        lab = _record_cables(lab, [*lab.record.cables, cable])
        if lab.record.ssh:
            logins.set_port_speeds(lab, plan.switches, ends)
    return lab


def _require_free(plan: Blueprint, left: Iterable[Cable], plugged: Sequence[Cable]) -> None:
    """Raise FAB9481 where a cable cannot be plugged as the plan has it."""
    at = {end: cable for cable in left for end in state.ends_of_cables([cable])}
    known = set(state.cable_ends(plan.cables))
    for cable in plugged:
        words = ":".join(cable[:2]) + " to " + ":".join(cable[2:])
        if cable not in known:
            remedy = "Run `fabricc lab grow --cable` with the spec of the worksheet first."
            raise LabError("FAB9481", f"the lab's spec has no cable from {words}", remedy)
        for end in state.ends_of_cables([cable]):
            if end in at:
                message = f"no cable from {words}: {':'.join(end)} has another"
                raise LabError("FAB9481", message, "Carry out the rounds in their order.")


def _record_cables(lab: Lab, cables: Iterable[Cable]) -> Lab:
    record = replace(lab.record, cables=tuple(cables))
    state.save_record(lab.folder, record)
    return Lab(lab.folder, record)
