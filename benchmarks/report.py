"""The results as a table, as JSON that another run compares itself with, and as a plot of how builds grow."""

from __future__ import annotations

import json
import math
import platform
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.cases import Result, Size
    from benchmarks.peers import Comparison

EXPONENT = 1.05
PER_SWITCH = 200.0


@dataclass(slots=True)
class Report:
    """Everything measured.

    Attributes:
        gpus: size of the fabric of most cases.
        calibration_s: CPU seconds of the calibration loop on this machine.
        baseline: name of a case -> its CPU seconds in calibration loops, of an earlier run.
    """

    gpus: int
    calibration_s: float
    baseline: Mapping[str, float] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    peers: list[Comparison] = field(default_factory=list)

    def print(self) -> None:
        """The tables on the terminal."""
        from rich.console import Console
        from rich.table import Table

        console = Console(width=None if sys.stdout.isatty() else 120)
        table = Table(title=f"{self.gpus:,} GPUs; calibration loop {self.calibration_s:.3f} s CPU")
        for column in ("case", "wall s", "target", "CPU s", "MiB", "MB out", "runs", "to baseline"):
            table.add_column(column, justify="left" if column == "case" else "right")
        for r in self.results:
            f = r.figures
            target = "" if r.target is None else f"{r.target:g} {'ok' if f.wall_s <= r.target else 'MISSED'}"
            before = self.baseline.get(r.name)
            ratio = f"{f.cpu_s / self.calibration_s / before:.2f}" if before else ""
            size = f"{r.megabytes:.0f}" if r.megabytes else ""
            table.add_row(
                r.name,
                f"{f.wall_s:.2f}",
                target,
                f"{f.cpu_s:.2f}",
                f"{f.peak_mib:.0f}",
                size,
                str(f.runs),
                ratio,
            )
        console.print(table)
        for line in (*self.ratios(), *self.growth(), *self.against()):
            console.print(line, highlight=False)

    def ratios(self) -> list[str]:
        """Return what is held against another case of the same run: copying the tree, and EOS."""
        by_name = {r.name: r for r in self.results}
        lines = []
        cold, copy = by_name.get("build cold"), by_name.get("cp -r of that tree")
        if cold and copy:
            times = cold.figures.cpu_s / copy.figures.cpu_s
            lines.append(f"a cold build takes {times:.1f} times the CPU of `cp -r` (target 3)")
        for r in self.results:
            if cold and r.system and r.megabytes:
                times = (r.figures.cpu_s / r.megabytes) / (cold.figures.cpu_s / cold.megabytes)
                lines.append(f"{r.system} takes {times:.1f} times the CPU of EOS per MB (target 3)")
        return lines

    def growth(self) -> list[str]:
        """Return how time grows with ports and files."""
        if len(self.sizes) < 2:
            return []
        last = exponent(self.sizes[-2:])
        all_sizes = " ".join(f"{s.gpus:,}: {1e6 * s.figures.cpu_s / s.work:.0f}" for s in self.sizes)
        return [
            f"CPU per port and file, us: {all_sizes}",
            f"growth: exponent {exponent(self.sizes):.2f} over all sizes, {last:.2f} over the last two "
            f"(target {EXPONENT})",
        ]

    def against(self) -> list[str]:
        """The peers."""
        return [
            f"{p.peer}, {p.switches} switches, {p.features}: {1000 * p.theirs_s / p.switches:.1f} ms CPU a switch, "
            f"fabricc {1000 * p.ours_s / p.switches:.1f} ms: {p.ratio:.0f} times (target {PER_SWITCH:g}); "
            f"largest process {p.theirs.peak_mib:.0f} MiB, fabricc {p.ours.peak_mib:.0f} MiB"
            for p in self.peers
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything, to be stored."""
        return {
            "python": platform.python_version(),
            "gpus": self.gpus,
            "calibration_s": round(self.calibration_s, 4),
            "cases": {
                r.name: {**r.figures.as_json(), "target_s": r.target, "megabytes": round(r.megabytes, 1)}
                for r in self.results
            },
            "sizes": [{"gpus": s.gpus, "work": s.work, **s.figures.as_json()} for s in self.sizes],
            "peers": [
                {"peer": p.peer, "switches": p.switches, "theirs_s": p.theirs_s, "ours_s": p.ours_s}
                for p in self.peers
            ],
        }

    def plot(self, path: Path) -> None:
        """The scaling plot, CPU seconds over GPUs on logarithmic scales."""
        import matplotlib as mpl

        mpl.use("agg")
        from matplotlib import pyplot

        gpus = [s.gpus for s in self.sizes]
        measured = [s.figures.cpu_s for s in self.sizes]
        per_work = measured[-1] / self.sizes[-1].work
        figure, axes = pyplot.subplots(figsize=(7, 4.5))
        axes.loglog(gpus, measured, "o-", label="build, CPU")
        axes.loglog(gpus, [s.figures.wall_s for s in self.sizes], "s-", label="build, wall")
        axes.loglog(
            gpus, [per_work * s.work for s in self.sizes], ":", label="proportional to ports and files"
        )
        axes.set_xlabel("GPUs")
        axes.set_ylabel("seconds")
        axes.set_xticks(gpus, [f"{g:,}" for g in gpus])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
        axes.legend()
        figure.tight_layout()
        figure.savefig(path, dpi=120)


def exponent(sizes: list[Size]) -> float:
    """The least-squares slope of log CPU over log of ports and files."""
    points = [(math.log(s.work), math.log(s.figures.cpu_s)) for s in sizes]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return covariance / sum((x - mean_x) ** 2 for x, _ in points)


def baseline(path: Path, gpus: int) -> dict[str, float]:
    """The CPU seconds of each case of a stored run, in calibration loops of the machine that ran it.

    Nothing where there is no such file, or it is of a fabric of another size.
    """
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if stored.get("gpus") != gpus:
        return {}
    return {name: case["cpu_s"] / stored["calibration_s"] for name, case in stored["cases"].items()}
