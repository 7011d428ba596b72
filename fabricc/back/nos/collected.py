"""What a back end knows of texts that people collect: which are its own, what box and release they tell, who LLDP sees.

Each back end says it in a module `found` of its package, which fulfils `Collected` and is its attribute `found`. A
third party's may lack it: then an audit does not look for its configurations.
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
"""Characters of a text by which its system is told."""


class Claim(NamedTuple):
    """That a text is a configuration of a system: its file as `Nos.read` calls it, and how much speaks for it."""

    file: str
    weight: int


class Identity(NamedTuple):
    """What a device says it is; "" for what it does not say.

    Attributes:
        name: of the device; `box`: the product as the device names it; `release`: of the system.
        products: names under which a table of products may have the box, the best first.
    """

    name: str = ""
    box: str = ""
    release: str = ""
    products: tuple[str, ...] = ()

    def or_else(self, other: Identity) -> Identity:
        """What is said here, and what only the other says; the names of a product come with its box."""
        box = self if self.box or not other.box else other
        return Identity(self.name or other.name, box.box, self.release or other.release, box.products)


class Seen(NamedTuple):
    """A neighbour by LLDP: of which port, who, by which of its ports, and the line that says so."""

    port: str
    device: str
    far_port: str
    line: int


class Output(NamedTuple):
    """What the output of a command says."""

    identity: Identity = Identity()
    neighbours: tuple[Seen, ...] = ()


class Collected(Protocol):
    """The module `found` of a back end.

    Attributes:
        FILE: its main file, as `Nos.read` calls it.
        COMMENTS: what a line begins with that states nothing; "" where there are no comments.
        NAMES: of files that are called alike on every device, without what follows the last full stop.
    """

    FILE: str
    COMMENTS: str
    NAMES: frozenset[str]

    def takes(self, path: str, text: str) -> Claim | None:
        """Whether a text is a configuration of this system; `path` is where it was found."""
        ...

    def identity(self, files: Mapping[str, str]) -> Identity:
        """What configurations say of the device outside of facts, such as in their first comments."""
        ...

    def output(self, text: str) -> Output | None:
        """What the output of a command says of the version or of neighbours; None for any other text."""
        ...

    def products(self, box: str) -> tuple[str, ...]:
        """Names under which a table of products may have what the device calls its box, the best first."""
        ...

    def port(self, spelling: str) -> str:
        """A port as configurations spell it, of how outputs abbreviate it."""
        ...


# --- which system ------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def starts(text: str) -> frozenset[str]:
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


def weight(text: str, signs: Mapping[str, int]) -> int:
    """How much speaks for a system, by the starts of lines that it prints; how far they are indented does not alone."""
    found = signs.keys() & starts(text)
    if all(start.startswith("indent ") for start in found):
        return 0
    return sum(signs[start] for start in found)


def claim(file: str, found: int, least: int = 3) -> Claim | None:
    """A claim where at least so much speaks for it."""
    return Claim(file, found) if found >= least else None


def by_signs(file: str, signs: Mapping[str, int]) -> Callable[[str, str], Claim | None]:
    """`Collected.takes` of a system whose texts tell themselves by starts of lines that only it prints."""
    return lambda _path, text: claim(file, weight(text, signs))


# --- what outputs say --------------------------------------------------------------------------------


def told(text: str, patterns: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
    """Name -> the first thing that its pattern finds, stripped; those that find nothing are absent."""
    found = {name: pattern.search(text) for name, pattern in patterns.items()}
    return {name: match[match.lastindex or 0].strip() for name, match in found.items() if match}


def details(text: str, line: re.Pattern[str]) -> tuple[Seen, ...]:
    """Neighbours of an output with a block of lines for each.

    Args:
        text: the output.
        line: matches a line without its indent, with a group for what it says: `port`, `device`, `far_port`, `chassis`
            (who it is where no name is told), `begins` where another neighbour begins, or `again` where it is another
            one of the same port.
    """
    found: list[Seen] = []
    block: dict[str, str] = {}
    at = 0

    def end() -> None:
        who = block.get("device") or block.get("chassis", "")
        if block.get("port") and (who or block.get("far_port")):
            found.append(Seen(block["port"], who, block.get("far_port", ""), at))

    for number, each in enumerate(text.split("\n"), 1):
        if not (match := line.match(each.strip())) or not (kind := match.lastgroup):
            continue
        if kind in _DIVIDES or (kind == "port" and "port" in block):
            end()
            block = {"port": block["port"]} if kind == "again" and "port" in block else {}
        if kind in ("port", "again"):
            at = number
        block |= {
            name: said(value) for name, value in match.groupdict().items() if value and name not in _DIVIDES
        }
    end()
    return tuple(found)


def table(text: str, header: re.Pattern[str], row: re.Pattern[str]) -> tuple[Seen, ...]:
    """Neighbours of an output with a row for each, below its header; `row` has the groups of `Seen`.

    A name too long for its column stands on a line of its own, above the rest of its row.
    """
    found: list[Seen] = []
    below, before = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not below:
            below = bool(header.search(line))
            continue
        if match := row.match(line) or (row.match(f"{before} {line}") if before else None):
            found.append(Seen(match["port"], said(match["device"]), said(match["far_port"]), number))
        words = line.split()
        before = words[0] if len(words) == 1 else ""
    return tuple(found)


def said(text: str) -> str:
    """What a device says in a column or a field, "" where that is nothing."""
    text = text.strip().strip('"')
    return "" if text.lower() in ("not advertised", "-", "none", "null", "n/a") else text


def itself(box: str) -> tuple[str, ...]:
    """`Collected.products` where tables of products have a box as the device calls it; none for no box."""
    return (box,) if box else ()


def in_full(spelling: str) -> str:
    """`Collected.port` of a system that abbreviates none."""
    return spelling


def expanded(spelling: str, names: Mapping[str, str]) -> str:
    """A port whose kind is abbreviated, in full: `Et1/1` with `{"Et": "Ethernet"}`."""
    letters = re.match(r"[A-Za-z-]+(?=\d)", spelling)
    return names.get(letters[0], letters[0]) + spelling[letters.end() :] if letters else spelling
