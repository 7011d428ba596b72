"""Runs a command as a user would and measures the whole process: wall, CPU and the largest process of its tree."""

from __future__ import annotations

import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

KIB = 1024
CALIBRATION_ROUNDS = 300_000


@dataclass(frozen=True, slots=True)
class Run:
    """One run: seconds on the clock, seconds of CPU (user and system, children too), MiB of the largest process."""

    wall_s: float
    cpu_s: float
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The medians of several runs, and how many there were."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    runs: int

    @classmethod
    def of(cls, runs: Sequence[Run | Figures]) -> Figures:
        """The medians."""
        wall_s, cpu_s, peak_mib = (
            statistics.median(getattr(run, name) for run in runs) for name in ("wall_s", "cpu_s", "peak_mib")
        )
        return cls(wall_s, cpu_s, peak_mib, len(runs))

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)


def run(command: Sequence[str], folder: Path, status: int = 0) -> Run:
    """Run a command in a folder, its output to `out.log` there.

    Raises:
        RuntimeError: it exited with another status; the message has the end of its output.
    """
    log = folder / "out.log"
    started = time.perf_counter()
    with log.open("wb") as output:
        child = os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(folder), *command],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), descriptor) for descriptor in (1, 2)],
        )
        _, ended, used = os.wait4(child, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(ended) != status:
        tail = log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(ended)}:\n{tail}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / KIB)


def repeat_command(
    command: Sequence[str], folder: Path, count: int, before: Callable[[], None] | None = None
) -> Figures:
    """The medians of `count` runs; `before` prepares each and is not measured."""
    runs = []
    for _ in range(count):
        if before is not None:
            before()
        runs.append(run(command, folder))
    return Figures.of(runs)


def calibration() -> float:
    """CPU seconds of a fixed loop of Python: what other figures are divided by to compare machines; best of five."""

    def once() -> float:
        started = time.process_time()
        total = 0
        words = []
        for number in range(CALIBRATION_ROUNDS):
            total += number % 7
            words.append(f"{number >> 8}.{number & 255}")
        assert total
        assert len("\n".join(words)) > CALIBRATION_ROUNDS
        return time.process_time() - started

    return min(once() for _ in range(5))


def fabricc(*arguments: str) -> list[str]:
    """The command line of the fabricc that runs this."""
    return [sys.executable, "-m", "fabricc", *arguments]
