"""Measure how much of foreign configurations the readers understand: `python -m tests.audit.corpora eos [SOURCE]`.

Prints a row for each source, and with a source the unknown lines that come most often, with placeholders for numbers
and names.
A statement is a line that is not empty, no comment and more than brackets; *aside* are known lines without effect on
forwarding or losslessness, *unknown* those that no row matches; both out of all statements.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from fabricc.back import nos as back_ends

_CHECKOUT = Path(__file__).parents[2]
ROOT = next(
    (path for above in _CHECKOUT.parents[:2] if (path := above / "shared" / "corpora").is_dir()),
    _CHECKOUT.parent / "shared" / "corpora",
)
"""The configurations, next to the checkout or one folder further up."""
FILES = {
    "cumulus": "startup.yaml", "eos": "running-config.cfg", "frr": "frr.conf", "junos": "junos.conf",
    "nxos": "running-config.cfg",
}  # fmt: skip


class Share(NamedTuple):
    """Of one device or source."""

    devices: int = 0
    facts: int = 0
    statements: int = 0
    unknown: int = 0
    ignorable: int = 0

    def plus(self, other: Share) -> Share:
        return Share(*map(sum, zip(self, other, strict=True)))

    @property
    def percent(self) -> float:
        """Unknown statements among those that are not aside."""
        return 100 * self.unknown / max(1, self.statements - self.ignorable)


def devices(nos: str, source: str = "*") -> dict[str, dict[str, str]]:
    """Path of each device -> its files as the back end calls them."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / nos).glob(f"{source}/**/*")):
        if not path.is_file():
            continue
        key = path.parent if nos == "sonic" else path
        name = path.name if nos == "sonic" else file_name(nos)
        found.setdefault(str(key.relative_to(ROOT)), {})[name] = path.read_text(errors="replace")
    return found


def file_name(nos: str) -> str:
    return getattr(back_ends.load(nos), "file", None) or FILES[nos]


def statements(text: str, nos: str) -> int:
    comment = "#" if nos in ("junos", "cumulus") else "!#" if nos == "frr" else "!"
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line.strip("{}[],; ") and line[0] not in comment)


def measure_share(nos: str, files: dict[str, str]) -> tuple[Share, list[str]]:
    """Return what one device comes to, and its unknown lines."""
    back_end = back_ends.load(nos)
    reading = back_end.read(files)
    ignorable = back_end.ignorable(files, reading) if hasattr(back_end, "ignorable") else frozenset()
    left = [text for file, line, text in reading.unknown if (file, line) not in ignorable]
    count = sum(statements(text, nos) for text in files.values())
    return Share(1, len(reading.facts), count, len(left), len(reading.unknown) - len(left)), left


def mask_numbers(line: str) -> str:
    line = re.sub(r"\d+\.\d+\.\d+\.\d+(/\d+)?", "<ip>", line)
    return re.sub(r"\d+", "#", line)


def main(nos: str, source: str = "*") -> None:
    by_source: dict[str, Share] = {}
    often: Counter[str] = Counter()
    for path, files in devices(nos, source).items():
        found, left = measure_share(nos, files)
        name = path.split("/")[1]
        by_source[name] = by_source.get(name, Share()).plus(found)
        often.update(map(mask_numbers, left))
    every = Share()
    for each in by_source.values():
        every = every.plus(each)
    by_source["all"] = every
    print(f"{'source':32}{'devices':>8}{'facts':>8}{'statements':>11}{'ignorable':>7}{'unknown':>8}{'%':>7}")
    for name, each in by_source.items():
        print(
            f"{name:32}{each.devices:8}{each.facts:8}{each.statements:11}{each.ignorable:7}{each.unknown:8}{each.percent:7.1f}"
        )
    for line, times in often.most_common(120 if source != "*" else 60):
        print(f"{times:6}  {line[:150]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
