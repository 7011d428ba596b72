"""Plan the waves of a push, or refuse it with the waves that would work; estimate its time."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import format_share, format_share_option, join_words, plural
from fabricc.base.values import replace
from fabricc.operate.change.order import CapacityModel, ShareError, Wave, compute_waves
from fabricc.operate.change.order_text import list_wave_notes
from fabricc.operate.change.resources import Effect, find_largest_keep
from fabricc.operate.push.built_tree import PushRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.operate.push.executor import Executor


def require_partners(found: CapacityModel, keep: Fraction, most: int | None) -> None:
    """Refuse a disruptive change of the last switch of a redundant set that answers.

    Raises:
        PushRefusedError: FAB9141, with the waves of the other switches.
    """
    absent = {one.redundancy: one.name for one in found.absent if one.redundancy}
    blocked = {
        member.name: absent[member.redundancy]
        for member in found.members.values()
        if member.disruptive and member.redundancy in absent
    }
    if not blocked:
        return
    name, other = next(iter(blocked.items()))
    message = f"{name} cannot be taken out of service: {other}, which backs it up, does not answer"
    repair = f"Repair {join_words(list(dict.fromkeys(blocked.values())), 4)} first"
    parting = [
        member.name
        for member in found.members.values()
        if keep and member.disruptive and not found.common.isdisjoint(member.carries)
    ]
    left_out = dict.fromkeys([*blocked, *parting])
    rest = {each: member for each, member in found.members.items() if each not in left_out}
    waves: list[Wave] = []
    with suppress(ShareError):
        waves = compute_waves(replace(found, members=rest), keep, most)
    out = join_words(list(left_out), 4)
    remedy = f"{repair}, or leave {out} out (--only): the waves of the others follow."
    if not waves:
        remedy = f"{repair}, leave {out} out (--only), or use --keep 0%."
    refusal = Diagnostic("FAB9141", Severity.ERROR, message, None, remedy)
    raise PushRefusedError.of([refusal, *list_wave_notes("FAB9141", waves)])


def plan_waves(found: CapacityModel, keep: Fraction, most: int | None) -> list[Wave]:
    """Return the waves of a plant.

    Raises:
        PushRefusedError: FAB9121, with the share that could be kept.
    """
    try:
        return compute_waves(found, keep, most)
    except ShareError as error:
        best = find_largest_keep(found, most)
        remedy = "No order keeps any capacity: split the change, or push it in a maintenance window with --keep 0%."
        if best:
            remedy = (
                f"--keep {format_share_option(best)} is the most that some order keeps: its waves follow."
            )
        left = f"{format_share(error.best)} of the paths of {error.resource}"
        message = f"no order keeps {format_share(keep)}: the change of {error.member} leaves {left}"
        refusal = Diagnostic("FAB9121", Severity.ERROR, message, None, remedy)
        possible = list_wave_notes("FAB9121", compute_waves(found, best or Fraction(0), most))
        raise PushRefusedError.of([refusal, *possible]) from None


def estimate_s(waves: Sequence[Wave], effects: Mapping[str, Effect], executor: Executor) -> tuple[float, str]:
    """Seconds that the waves may take, and what the figure rests on.

    Changes of a wave run `parallel` at a time; a disruptive one is committed three times and waits for traffic to
    leave. Gates are counted as one look; they may take up to the settle time.
    """
    options = executor.options
    seconds, count = executor.journal.commit_seconds()
    basis = f"the median of {plural(count, 'change')} on record" if count else "an assumed 15 s for a change"
    each = seconds or 15.0
    total = 0.0
    for wave in waves:
        rounds = -(-len(wave.members) // options.parallel)
        drains = any(effects[n].disruptive for n in wave.members if n in effects) and options.drain
        total += rounds * each * (3 if drains else 1) + (options.drain_s if drains else 0) + rounds * 2
    return total, basis
