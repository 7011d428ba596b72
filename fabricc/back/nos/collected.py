"""The knowledge of a back end about collected texts: its own ones, device, release, LLDP neighbors.

Each back end has a module `found` in its package, which implements `Collected` and is its attribute `found`. A third
party's may lack it; then an audit does not search for its configurations.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DIVIDES = ("begins", "again")
_READ = 1 << 17
"""The number of characters of a text from which its system is determined."""


class Claim(NamedTuple):
    """A match of a text with a system: the file name in `Nos.read`, and the score."""

    file: str
    weight: int


class Identity(NamedTuple):
    """The identity that a device states; "" for missing values.

    Attributes:
        name: of the device; `box`: the product as the device names it; `release`: of the system.
        products: names under which a table of products may have the box, the best first.
    """

    name: str = ""
    box: str = ""
    release: str = ""
    products: tuple[str, ...] = ()

    def or_else(self, other: Identity) -> Identity:
        """Return the values stated here, completed from the other; the product names belong to its box."""
        box = self if self.box or not other.box else other
        return Identity(self.name or other.name, box.box, self.release or other.release, box.products)


class SeenNeighbor(NamedTuple):
    """An LLDP neighbor: the local port, the neighbor, its port, and the line that states it."""

    port: str
    device: str
    far_port: str
    line: int


class Output(NamedTuple):
    """The content of a command's output."""

    identity: Identity = Identity()
    neighbors: tuple[SeenNeighbor, ...] = ()


class Collected(Protocol):
    """The module `found` of a back end.

    Attributes:
        FILE: its main file, with the name of `Nos.read`.
        COMMENTS: prefix of comment lines; "" without comments.
        NAMES: of files with the same name on every device, without the suffix.
    """

    FILE: str
    COMMENTS: str
    NAMES: frozenset[str]

    def takes(self, path: str, text: str) -> Claim | None:
        """Return whether a text is a configuration of this system; `path` is where it was found."""
        ...

    def identity(self, files: Mapping[str, str]) -> Identity:
        """Return the identity of the device in configurations outside of facts, such as in their first comments."""
        ...

    def output(self, text: str) -> Output | None:
        """Return the version or the neighbors in a command's output; None for any other text."""
        ...

    def products(self, box: str) -> tuple[str, ...]:
        """Return names under which a table of products may list the device's name for its box, the best first."""
        ...

    def port(self, spelling: str) -> str:
        """Return a port as configurations spell it, of how outputs abbreviate it."""
        ...


# --- which system ------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def line_starts(text: str) -> frozenset[str]:
    """The first word and the first two words of each line, after `> ` where it is indented; `indent 2` and the like."""
    lines = [line for line in text.lstrip("\n")[:_READ].split("\n") if line and not line.isspace()]
    below = {line for above, line in pairwise([".", *lines]) if line[0].isspace() and not above[0].isspace()}
    found = {f"indent {len(line) - len(line.lstrip())}" for line in below}
    for line in set(lines):
        words = line.split(None, 2)
        first = f"> {words[0]}" if line[0].isspace() else words[0]
        found.add(first)
        if len(words) > 1:
            found.add(f"{first} {words[1]}")
    return frozenset(found)


def weigh_signs(text: str, signs: Mapping[str, int]) -> int:
    """Return the score of a system by the first words of its lines; indentation alone is not sufficient."""
    found = signs.keys() & line_starts(text)
    if all(start.startswith("indent ") for start in found):
        return 0
    return sum(signs[start] for start in found)


def make_claim(file: str, found: int, least: int = 3) -> Claim | None:
    """Return a claim if there is this much evidence for it."""
    return Claim(file, found) if found >= least else None


def by_signs(file: str, signs: Mapping[str, int]) -> Callable[[str, str], Claim | None]:
    """Return `Collected.takes` of a system whose texts are recognized by starts of lines that only it prints."""
    return lambda _path, text: make_claim(file, weigh_signs(text, signs))


# --- content of outputs --------------------------------------------------------------------------------

_LONGEST = 300
"""Characters of a line of `show version`; a host name has 255 at most."""
_LONGEST_ROW = 1000
"""Characters of a line about neighbors; LLDP limits a name and a port to 255 bytes each (IEEE 802.1AB)."""
_GAP = re.compile(r"\s{80}")
"""Blanks that no table has between two columns. Patterns of rows cost the square of their number."""


@lru_cache(maxsize=2)
def _short_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if len(line) <= _LONGEST)


def _is_row(line: str) -> bool:
    return len(line) <= _LONGEST_ROW and not _GAP.search(line.rstrip())


def match_patterns(text: str, patterns: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
    """Name -> the first thing that its pattern finds, stripped; those that find nothing are absent."""
    short = _short_lines(text)
    found = {name: pattern.search(short) for name, pattern in patterns.items()}
    return {name: match[match.lastindex or 0].strip() for name, match in found.items() if match}


def parse_details(text: str, line: re.Pattern[str]) -> tuple[SeenNeighbor, ...]:
    """Return the neighbors of an output with a block of lines for each.

    Args:
        text: the output.
        line: matches a line without its indent, with a group for its value: `port`, `device`, `far_port`, `chassis`
            (identifies it without a name), `begins` where another neighbor begins, or `again` where it is another
            one of the same port.
    """
    found: list[SeenNeighbor] = []
    block: dict[str, str] = {}
    at = 0

    def end() -> None:
        who = block.get("device") or block.get("chassis", "")
        if block.get("port") and (who or block.get("far_port")):
            found.append(SeenNeighbor(block["port"], who, block.get("far_port", ""), at))

    for number, each in enumerate(text.split("\n"), 1):
        if not _is_row(each) or not (match := line.match(each.strip())) or not (kind := match.lastgroup):
            continue
        if kind in _DIVIDES or (kind == "port" and "port" in block):
            end()
            block = {"port": block["port"]} if kind == "again" and "port" in block else {}
        if kind in ("port", "again"):
            at = number
        block |= {
            name: clean_value(value)
            for name, value in match.groupdict().items()
            if value and name not in _DIVIDES
        }
    end()
    return tuple(found)


def parse_table(text: str, header: re.Pattern[str], row: re.Pattern[str]) -> tuple[SeenNeighbor, ...]:
    """Neighbors of an output with a row for each, below its header; `row` has the groups of `SeenNeighbor`.

    A name too long for its column stands on a line of its own, above the rest of its row.
    """
    found: list[SeenNeighbor] = []
    below, before = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not _is_row(line):
            continue
        line = line.rstrip()
        if not below:
            below = bool(header.search(line))
            continue
        if match := row.match(line) or (row.match(f"{before} {line}") if before else None):
            found.append(
                SeenNeighbor(
                    match["port"], clean_value(match["device"]), clean_value(match["far_port"]), number
                )
            )
        words = line.split()
        before = words[0] if len(words) == 1 else ""
    return tuple(found)


def clean_value(text: str) -> str:
    """Return the value of a column or a field, "" for placeholders of no value."""
    text = text.strip().strip('"')
    return "" if text.lower() in ("not advertised", "-", "none", "null", "n/a") else text


def own_name(box: str) -> tuple[str, ...]:
    """`Collected.products` where tables of products have a box as the device calls it; none for no box."""
    return (box,) if box else ()


def in_full(spelling: str) -> str:
    """`Collected.port` of a system that abbreviates none."""
    return spelling


def expand_port(spelling: str, names: Mapping[str, str]) -> str:
    """Return a port whose kind is abbreviated, in full: `Et1/1` with `{"Et": "Ethernet"}`."""
    letters = re.match(r"[A-Za-z-]+(?=\d)", spelling)
    return names.get(letters[0], letters[0]) + spelling[letters.end() :] if letters else spelling
