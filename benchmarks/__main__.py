"""`python -m benchmarks`: time everything and print the table; see docs/performance.md."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks import cases, peers, push
from benchmarks.measure import calibration
from benchmarks.report import Report, baseline

STORED = Path(__file__).with_name("baseline.json")
QUICK_GPUS = 4096
SIZES = (1024, 4096, 8192, 24_576, 65_536, 131_072)


def main() -> None:
    """Run the requested cases."""
    options = _options()
    if options.push:
        _measure_pushes(options.push, options.scratch)
        return
    gpus = QUICK_GPUS if options.quick else cases.LARGE
    report = Report(gpus, calibration(), baseline(options.baseline, gpus))
    if options.scratch:
        options.scratch.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="fabricc-bench-", dir=options.scratch))
    try:
        bench = cases.Bench(scratch, options.runs, str(len(os.sched_getaffinity(0))))
        groups = (
            cases.everyday(bench), cases.large(bench, gpus), cases.systems(bench, gpus), cases.audits(bench, gpus)
        )  # fmt: skip
        for group in groups:
            for result in group:
                print(f"{result.name}: {result.figures.cpu_s:.2f} s CPU", flush=True)
                report.results.append(result)
        sizes = [size for size in SIZES if not options.quick or size <= QUICK_GPUS]
        for size in cases.growth(bench, sizes):
            print(f"{size.gpus:,} GPUs: {size.figures.cpu_s:.2f} s CPU", flush=True)
            report.sizes.append(size)
        if len(report.sizes) == len(SIZES):
            report.results += cases.huge(bench, report.sizes[-1])
        if options.million:
            report.results += cases.million(bench)
        if options.peers:
            folder = options.scratch or scratch
            report.peers += [peers.against_pyavd(folder, bench.runs), peers.against_netlab(folder, 1)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    report.print()
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
    if options.plot:
        report.plot(options.plot)


def _measure_pushes(count: int, folder: Path | None) -> None:
    """Print what a push to each system takes, and what it takes when some switches are silent."""
    with tempfile.TemporaryDirectory(prefix="fabricc-push-", dir=folder) as scratch:
        for nos in push.SYSTEMS:
            for silent in (0, -(-count * push.SILENT_PERCENT // 100)):
                place = Path(scratch) / f"{nos}-{silent}"
                print(push.measure_push(place, count, silent, nos).line(), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each case, of which the median counts")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_GPUS:,} GPUs instead of {cases.LARGE:,}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="store everything measured")
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", default=STORED, help="a stored run to compare with"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="draw how builds grow (needs matplotlib)"
    )
    parser.add_argument(
        "--peers", action="store_true", help="install pyavd and netlab, and compare with them"
    )
    parser.add_argument(
        "--push",
        type=int,
        metavar="COUNT",
        help="push to that many local switches of each system, and nothing else",
    )
    parser.add_argument(
        "--million", action="store_true", help="1,048,576 GPUs too: 16 GB, 3.4 million files and folders"
    )
    parser.add_argument(
        "--scratch", type=Path, metavar="FOLDER", help="where to build, such as a file system in memory"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
