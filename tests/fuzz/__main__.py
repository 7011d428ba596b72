"""`python -m tests.fuzz --inputs 100000 [--seed N] [--only KIND]`: exit status 1 when an input broke something."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.arena import Arena
from tests.fuzz.campaign import run_campaign
from tests.fuzz.targets import CORPORA, TARGETS


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Change every kind of file at random."
    )
    parser.add_argument("--inputs", type=int, default=100_000, help="inputs in all [%(default)s]")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="the same seed tries the same inputs"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="KIND", help=f"repeatable: {', '.join(TARGETS)}"
    )
    parser.add_argument(
        "--keep", action="store_true", help="write inputs that break something to regressions/"
    )
    stated = parser.parse_args()
    if not CORPORA.is_dir():
        print(f"skipped: no published configurations at {CORPORA} (FABRICC_CORPORA names another folder)")
    print(f"seed {stated.seed}")
    with tempfile.TemporaryDirectory(prefix="fabricc-fuzz-") as folder:
        result = run_campaign(
            Arena(Path(folder)),
            stated.inputs,
            stated.seed,
            stated.only,
            report=lambda line: print(line, flush=True),
            keep=stated.keep,
        )
    print(
        f"{sum(result.inputs.values()):,} inputs, {sum(result.seconds.values()):.0f} s, {len(result.failures)} failures"
    )
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
