"""What is timed, each a whole process started as a user would, and the target it is held against."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.measure import Figures, fabricc, repeat_command
from benchmarks.specs import MILLION, Fabric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

LARGE, SMALL, HUGE = 24_576, 1024, 131_072
OTHER_SYSTEMS = ("sonic", "cumulus", "nxos", "junos")
DRAINED = "su001-tor1a"


@dataclass(frozen=True, slots=True)
class Result:
    """The cost of one case.

    Attributes:
        target: seconds of wall time, None where only a ratio counts.
        megabytes: size of the tree written, 0 where none is.
        system: the switches' system, where it is to be held against EOS.
    """

    name: str
    figures: Figures
    target: float | None = None
    megabytes: float = 0.0
    system: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """A cold build of one size; `work` is its ports and files."""

    gpus: int
    work: int
    figures: Figures


class Bench:
    """A scratch folder with a spec for each fabric, and the number of runs a case gets."""

    def __init__(self, scratch: Path, runs: int, jobs: str) -> None:
        self.scratch = scratch
        self.runs = runs
        self.jobs = jobs

    def folder(self, fabric: Fabric) -> Path:
        """The folder of a fabric, with its spec and, after the first build, its lock."""
        folder = self.scratch / f"{fabric.system}-{fabric.gpus}"
        folder.mkdir(parents=True, exist_ok=True)
        spec = folder / "cluster.yaml"
        if not spec.exists():
            spec.write_text(fabric.spec(), encoding="utf-8")
        return folder

    def build(self, fabric: Fabric, *options: str, runs: int = 0) -> Figures:
        """A cold build: the tree is removed before each run."""
        folder = self.folder(fabric)
        command = fabricc("build", "cluster.yaml", "-o", "out", "--jobs", self.jobs, *options)
        return repeat_command(command, folder, runs or self.runs, _without(folder / "out"))

    def megabytes(self, fabric: Fabric) -> float:
        """Size of the tree last written."""
        tree = self.folder(fabric) / "out"
        return sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) / 1e6


def _without(tree: Path) -> Callable[[], None]:
    return lambda: shutil.rmtree(tree, ignore_errors=True)


def everyday(bench: Bench) -> Iterator[Result]:
    """What a person waits for at a terminal or in an editor."""
    small = bench.folder(Fabric(SMALL))
    runs = max(bench.runs, 5)
    yield Result("python -c pass", repeat_command([fabricc()[0], "-c", "pass"], small, runs))
    yield Result("--help", repeat_command(fabricc("--help"), small, runs), 0.15)
    yield Result("validate, 20 lines", repeat_command(fabricc("validate", "cluster.yaml"), small, runs), 0.25)
    yield Result(f"plan, {SMALL:,} GPUs", repeat_command(fabricc("plan", "cluster.yaml"), small, runs))


def large(bench: Bench, gpus: int) -> Iterator[Result]:
    """A large fabric on EOS: cold, proved, unchanged, one override, reviewed; and copying the tree as the floor.

    The targets are those of 24,576 GPUs.
    """
    fabric = Fabric(gpus)
    folder = bench.folder(fabric)
    figures = bench.build(fabric, "--no-check")
    yield Result("build cold", figures, 2.0, bench.megabytes(fabric))
    copy = repeat_command(["cp", "-r", "out", "copy"], folder, bench.runs, _without(folder / "copy"))
    yield Result("cp -r of that tree", copy)
    _without(folder / "copy")()
    yield Result("build cold, checked", bench.build(fabric), 4.0)
    again = fabricc("build", "cluster.yaml", "-o", "out", "--jobs", bench.jobs)
    yield Result("build, nothing changed", repeat_command(again, folder, max(bench.runs, 3)), 0.18)
    yield Result("check", repeat_command(fabricc("check", "out/bench"), folder, bench.runs), 4.0)
    yield from _one_change(bench, fabric, again)
    yield from _changes_of_all(bench, fabric)
    yield from _questions(bench, fabric)
    _without(folder / "out")()


def _one_change(bench: Bench, fabric: Fabric, again: list[str]) -> Iterator[Result]:
    folder = bench.folder(fabric)
    spec, before = folder / "cluster.yaml", fabric.spec()
    texts = iter([fabric.spec(DRAINED), before] * bench.runs)

    def turn() -> None:
        spec.write_text(next(texts), encoding="utf-8")

    yield Result("build, one override on one ToR", repeat_command(again, folder, 2 * bench.runs, turn), 0.35)
    (folder / "changed.yaml").write_text(fabric.spec(DRAINED), encoding="utf-8")
    difference = fabricc("diff", "cluster.yaml", "changed.yaml")
    yield Result("diff, one ToR drained", repeat_command(difference, folder, bench.runs), 3.0)


def _changes_of_all(bench: Bench, fabric: Fabric) -> Iterator[Result]:
    folder, before = bench.folder(fabric), fabric.spec()
    changed = {
        "another code point": before.replace("dscp: 26", "dscp: 34"),
        "other cables": f"{before}cables: {{spine: {{length_m: 60}}}}\n",
    }
    for name, after in changed.items():
        (folder / "changed.yaml").write_text(after, encoding="utf-8")
        difference = fabricc("diff", "cluster.yaml", "changed.yaml")
        yield Result(f"diff, {name}", repeat_command(difference, folder, bench.runs), 1.5)


def _questions(bench: Bench, fabric: Fabric) -> Iterator[Result]:
    """Run the commands used during design: they write nothing but a page."""
    folder = bench.folder(fabric)
    asked = {
        "plan --alternatives": (("plan", "cluster.yaml", "--alternatives"), 3.0),
        "explain, one ToR": (("explain", "cluster.yaml", DRAINED), 1.0),
        "report": (("report", "cluster.yaml", "-o", "report.html"), 1.0),
    }
    for name, (words, target) in asked.items():
        yield Result(name, repeat_command(fabricc(*words), folder, bench.runs), target)


def systems(bench: Bench, gpus: int) -> Iterator[Result]:
    """The same fabric on every other system, to be held against EOS by time per megabyte."""
    for system in OTHER_SYSTEMS:
        fabric = Fabric(gpus, system)
        figures = bench.build(fabric, "--no-check")
        yield Result(f"build cold, {system}", figures, None, bench.megabytes(fabric), system)
        _without(bench.folder(fabric) / "out")()


def audits(bench: Bench, gpus: int) -> Iterator[Result]:
    """The switches of a fabric as a folder that nobody here wrote; the target is that of 5,000 configurations."""
    for size, target in ((gpus, None), (HUGE, 60.0)) if gpus == LARGE else ((gpus, None),):
        fabric = Fabric(size)
        folder = bench.folder(fabric)
        bench.build(fabric, "--no-check", runs=1)
        switches = folder / "out" / "bench" / "switches"
        command = fabricc(
            "audit", str(switches), "--format", "json", "-o", "audit.json", "--jobs", bench.jobs
        )
        name = f"audit, {sum(1 for _ in switches.iterdir()):,} configurations"
        yield Result(name, repeat_command(command, folder, 1 if size == HUGE else bench.runs), target)
        _without(folder / "out")()


def growth(bench: Bench, sizes: Iterable[int]) -> Iterator[Size]:
    """Cold builds from small to large."""
    for gpus in sizes:
        fabric = Fabric(gpus)
        figures = bench.build(fabric, "--no-check")
        tree = bench.folder(fabric) / "out"
        files = sum(1 for path in tree.rglob("*") if path.is_file())
        yield Size(gpus, fabric.ports + files, figures)
        _without(tree)()


def million(bench: Bench) -> Iterator[Result]:
    """The whole tree of 1,048,576 GPUs once, without the proof: 1.35 million files, in 16 GB and 3.4 million inodes."""
    folder = bench.scratch / "million"
    folder.mkdir()
    (folder / "cluster.yaml").write_text(MILLION, encoding="utf-8")
    command = fabricc("build", "cluster.yaml", "-o", "out", "--jobs", bench.jobs, "--no-check")
    yield Result("build cold, 1,048,576 GPUs", repeat_command(command, folder, 1), 120.0)
    _without(folder)()


def huge(bench: Bench, size: Size) -> Iterator[Result]:
    """The largest size as rows of the table: without the proof, which was timed to see how time grows, and with it."""
    yield Result(f"build cold, {size.gpus:,} GPUs", size.figures, 10.0)
    fabric = Fabric(size.gpus)
    yield Result(f"build cold, checked, {size.gpus:,} GPUs", bench.build(fabric, runs=1), 20.0)
    _without(bench.folder(fabric) / "out")()
