"""Checks of the switches: reachability, login, identity of the release, and the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.catalog.support import release_numbers
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.device import devices_by_name
from fabricc.operate.devices.failure import DeviceError
from fabricc.operate.devices.fanout import for_each
from fabricc.operate.doctor.model import Check, State

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.devices.access import Access
    from fabricc.operate.devices.connection import Connection
    from fabricc.operate.devices.device import Device

MOST_SKEW_S = 5
"""Seconds between the clocks of a switch and of this machine that logs can still be compared with."""
_PATIENCE_S = 30.0


class _Answer(NamedTuple):
    """The release of a switch and the seconds that its clock is ahead; None where it does not report them."""

    release: str = ""
    ahead_s: float | None = None
    failure: DeviceError | None = None


def check_switches(
    fabric: Fabric, access: Access, workers: int, progress: Callable[[int, int], None] = lambda *_: None
) -> Iterator[Check]:
    """Yield login, release and clock of every switch; nothing on them changes.

    Args:
        fabric: the plan.
        access: how to log in.
        workers: connections at once.
        progress: called with the number of switches that are done, and of all.
    """
    devices = devices_by_name(fabric)
    answers = for_each(
        devices, lambda name: _ask(devices[name], access), workers, progress, patience_s=_PATIENCE_S
    )
    for name, answer in answers.items():
        yield from _checks(devices[name], answer)


def _ask(device: Device, access: Access) -> _Answer:
    try:
        with open_connection(device, access) as connection:
            facts = _read(connection, "get_facts") or {}
            before = time.time()
            clock = _read(connection, "get_clock")
            middle = (before + time.time()) / 2
            ahead = None if clock is None else float(clock) - middle
            return _Answer(str(facts.get("os_version") or ""), ahead)
    except DeviceError as error:
        return _Answer(failure=error)


def _read(connection: Connection, getter: str) -> Any:
    """Return the result of a getter; None where the switch does not answer it, although the login works."""
    try:
        return connection.getter(getter)
    except DeviceError:
        return None


def _checks(device: Device, answer: _Answer) -> Iterator[Check]:
    name = device.name
    if answer.failure is not None:
        found = answer.failure.diagnostic
        yield Check(
            name, State.ERROR, found.message, found.help or f"`fabricc explain {found.code}` shows causes."
        )
        return
    yield Check(name, State.OK, f"login works at {device.address}", "`fabricc verify` compares its state.")
    planned = release_numbers(device.release)
    system = f"{device.nos} {device.release}".strip()
    remedy = f"Set `nos: {device.nos}-RELEASE` in the spec, or plan the change with `fabricc upgrade`."
    if not answer.release or not planned:
        yield Check(name, State.SKIPPED, f"the release is not known; the spec has {system}", remedy)
    elif release_numbers(answer.release)[: len(planned)] == planned:
        yield Check(name, State.OK, f"runs {answer.release}, as the spec has it", remedy)
    else:
        yield Check(name, State.WARNING, f"runs {answer.release}, but the spec has {system}", remedy)
    remedy = "Set `management.ntp` in the spec, and check that the servers answer."
    if answer.ahead_s is None:
        yield Check(name, State.SKIPPED, f"the clock of {device.nos} was not read", remedy)
    elif abs(answer.ahead_s) > MOST_SKEW_S:
        ahead = f"{abs(answer.ahead_s):,.0f} s {'ahead of' if answer.ahead_s > 0 else 'behind'} this machine"
        yield Check(name, State.WARNING, f"its clock is {ahead}", remedy)
    else:
        yield Check(name, State.OK, f"its clock is within {MOST_SKEW_S} s of this machine", remedy)
