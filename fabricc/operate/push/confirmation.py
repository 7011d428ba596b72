"""Check before the start how long switches can wait for the confirmation of their change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.numbers import group_pairs
from fabricc.operate.devices.running import RevertTimes, reverting_of_driver
from fabricc.operate.push.built_tree import PushRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.operate.push.setting import Setting


def report_revert_limits(setting: Setting, names: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Report before the start how switches revert by themselves, one finding for each NOS.

    FAB9126, they cannot; FAB9134, their driver takes another time than the one wanted.
    """
    wanted = setting.options.confirm_s
    found = []
    for (nos, driver), chosen in _group_by_reverting(setting, names).items():
        taken = driver.time(wanted)
        if not taken:
            text = (
                f"{nos} cannot revert a commit by itself ({plural(len(chosen), 'switch')}): after a change that cuts a "
                "switch off, only the console can restore it"
            )
            found.append(Diagnostic("FAB9126", Severity.WARNING, text))
        elif taken != wanted:
            of = plural(len(chosen), "switch")
            text = f"{nos} reverts a commit after {taken} s ({of}): it counts in {driver.step} s"
            found.append(Diagnostic("FAB9134", Severity.NOTE, text))
    return tuple(found)


def require_revert_time(setting: Setting, names: Sequence[str]) -> None:
    """Refuse a time for the confirmation that a driver would refuse in the midst of the change.

    Raises:
        RefusedError: FAB9133, a finding for each NOS, with the times that its driver takes.
    """
    wanted = setting.options.confirm_s
    findings = []
    for (nos, driver), chosen in _group_by_reverting(setting, names).items():
        if limits := driver.refuses(wanted):
            of = f"{plural(len(chosen), 'switch')}, such as {chosen[0]}"
            text = f"{nos} reverts a commit within {limits}, not {wanted} s ({of})"
            remedy = f"--confirm-within must be {limits} for them; --only pushes to some switches."
            findings.append(Diagnostic("FAB9133", Severity.ERROR, text, None, remedy))
    if findings:
        raise PushRefusedError.of(findings)


def _group_by_reverting(setting: Setting, names: Sequence[str]) -> dict[tuple[str, RevertTimes], list[str]]:
    """Return the switches of each NOS and way to go back, sorted by NOS."""
    devices = [setting.source.devices[name] for name in names]
    ways = ((each.nos, reverting_of_driver(each.nos, setting.access.login(each))) for each in devices)
    found = group_pairs(zip(ways, names, strict=True))
    return dict(sorted(found.items(), key=lambda item: item[0][0]))
