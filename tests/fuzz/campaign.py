"""Inputs for every kind, one after another; a failing one is minimized, reported with its seed, and saved."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.fuzz.arena import Broken
from tests.fuzz.mutate import mutate_input
from tests.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.fuzz.arena import Arena
    from tests.fuzz.targets import Target

REGRESSIONS = Path(__file__).parent / "regressions"
_TRIES = 300
_SHRINKING_S = 5.0
_SAME = 60
"""Characters of a reason by which two failures are one."""


@dataclass(frozen=True)
class Failure:
    """An input that broke something, made small."""

    kind: str
    seed: str
    reason: str
    data: bytes


@dataclass
class Result:
    """Inputs, CPU time and failures by kind."""

    inputs: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def open_input(arena: Arena, target: Target, data: bytes) -> str:
    """Open one input; return why it failed, "" if it did not."""
    try:
        with arena.inside(), arena.judged():
            target.open(arena, data)
    except KeyboardInterrupt:
        raise
    except Broken as broken:
        return str(broken) or "broken"
    except BaseException as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at else ""
        return f"{type(error).__name__} in {place}: {str(error)[:300]}"
    return ""


def run_campaign(
    arena: Arena,
    inputs: int,
    seed: int,
    kinds: Iterable[str] = (),
    *,
    report: Callable[[str], None] = lambda _: None,
    keep: bool = False,
) -> Result:
    """Open inputs of every kind, the same ones for the same seed.

    Args:
        inputs: in all, spread so that kinds take about the same time.
        kinds: only those, by their names or the part before the colon; empty for all.
    """
    targets = [
        one
        for one in TARGETS.values()
        if not kinds or one.name in kinds or one.name.partition(":")[0] in kinds
    ]
    share = inputs / sum(1 / target.cost for target in targets)
    result = Result()
    for target in targets:
        begun = time.process_time()
        count = max(1, round(share / target.cost))
        with arena.inside():
            seeds = target.seeds(arena)
        known: set[str] = set()
        for number in range(count):
            data = mutate_input(Random(f"{seed}/{target.name}/{number}"), seeds, target.shape)
            if (why := open_input(arena, target, data)) and (reason := _common_reason(why)) not in known:
                known.add(reason)
                failure = _minimize_failure(arena, target, data, why, f"{seed}/{target.name}/{number}")
                result.failures.append(failure)
                report(_format_failure(failure, save_regression(failure) if keep else None))
        result.inputs[target.name] = count
        result.seconds[target.name] = time.process_time() - begun
        report(
            f"{target.name:20} {count:7,} inputs {result.seconds[target.name]:8.1f} s  {len(known)} failures"
        )
    return result


def _common_reason(why: str) -> str:
    """Return the part of a reason that two failures of the same cause share."""
    words = [word for word in why.split() if not any(c in word for c in "/0123456789")]
    return " ".join(words)[-_SAME:] if "FAB7999" not in why else why[why.index("FAB7999") :][:_SAME]


def _minimize_failure(arena: Arena, target: Target, data: bytes, why: str, seed: str) -> Failure:
    """Return the same failure with less input: remove whole lines, then bytes."""
    until, tries = time.monotonic() + _SHRINKING_S, 0
    reason = _common_reason(why)
    for separator in (b"\n", b""):
        parts: Sequence[bytes] = data.split(separator) if separator else [bytes([one]) for one in data]
        if not separator and len(parts) > 2000:
            continue
        size = max(1, len(parts) // 2)
        while size and tries < _TRIES and time.monotonic() < until:
            at = 0
            while at < len(parts) and tries < _TRIES and time.monotonic() < until:
                fewer = [*parts[:at], *parts[at + size :]]
                tries += 1
                if (now := open_input(arena, target, separator.join(fewer))) and _common_reason(
                    now
                ) == reason:
                    parts, why = fewer, now
                else:
                    at += size
            size //= 2
        data = separator.join(parts)
    return Failure(target.name, seed, why, data)


def save_regression(failure: Failure) -> Path:
    """Write the input to the folder whose inputs `test_fuzz` opens again."""
    name = f"{failure.kind.replace(':', '.')}--{hashlib.sha256(failure.data).hexdigest()[:10]}"
    path = REGRESSIONS / name
    path.write_bytes(failure.data)
    return path


def _format_failure(failure: Failure, path: Path | None) -> str:
    where = f"\n  kept as {path}" if path else ""
    return f"FAILED {failure.kind}, seed {failure.seed}: {failure.reason}{where}\n  input: {failure.data[:400]!r}"


def load_regression(path: Path) -> tuple[Target, bytes]:
    """The kind and the input of a file in `regressions/`."""
    return TARGETS[path.name.partition("--")[0].replace(".", ":", 1)], path.read_bytes()
