"""Reads a running configuration line by line: a top-level line opens a block, indented lines belong to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from fabricc.fabric.facts import Reading, Value

    Put = Callable[[str, Value, int], None]
    Match = tuple[str, int, int, str]

_LONGEST_LINE = 4096


class Block(Protocol):
    """The body of one top-level line."""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """Take one line of the body; False when its meaning is not known."""
        ...


class Document:
    """One file while it is read: what its blocks said, until the end relates them to each other.

    Attributes:
        community_of: communities that the dialect knows by name.
        matches: (prefix list, family, line number, line) of each line of a route map that names a prefix list.
    """

    __slots__ = ("file", "matches", "reading", "servers")

    community_of: ClassVar[Mapping[str, str]] = {}

    def __init__(self, file: str, reading: Reading) -> None:
        self.file = file
        self.reading = reading
        self.servers: dict[str, list[tuple[str, int]]] = {}
        self.matches: list[Match] = []

    def put(self, path: str, value: Value, line: int) -> None:
        """State a fact; line 0 stands for a default that no line says."""
        self.reading.facts[path] = value
        if line:
            self.reading.lines[path] = (self.file, line)

    def parse(self, text: str, openers: Mapping[str, Callable[[Self, list[str], int], Block | bool]]) -> None:
        """Read all lines; those that nobody knows are listed in the reading's `unknown`.

        `openers` are looked up by the first word of a top-level line. Each returns the block that takes the indented
        lines below, True for a line that stands alone, or False for one of no known meaning.
        """
        unknown = self.reading.unknown
        block: Block | None = None
        for number, raw in enumerate(text.split("\n"), 1):
            words = raw.split()
            if not words or words[0][0] == "!":
                continue
            if len(raw) > _LONGEST_LINE:
                known = False
            elif raw[0] == " ":
                known = block is not None and block.line(words, raw, number)
            else:
                opener = openers.get(words[0])
                opened = opener(self, words, number) if opener else False
                known = opened is not False
                block = None if isinstance(opened, bool) else opened
            if not known:
                unknown.append((self.file, number, " ".join(words)))

    def server(self, kind: str, name: str, number: int) -> bool:
        """Note one server of a kind; always known."""
        self.servers.setdefault(kind, []).append((name, number))
        return True

    def state_servers(self) -> None:
        """State the servers of each kind; one that is said twice is one server."""
        for kind, servers in self.servers.items():
            self.put(f"management/{kind}", ",".join(sorted({name for name, _ in servers})), servers[-1][1])

    def check_matches(self, family_of: Callable[[str], int | None]) -> None:
        """List lines of route maps that match a prefix list of the other family; `family_of` None is no such list."""
        for name, family, number, line in self.matches:
            if (family_of(name) or family) != family:
                self.reading.unknown.append((self.file, number, line))


def hostname(document: Document, words: list[str], number: int) -> bool:
    """`hostname NAME`."""
    document.put("system/hostname", words[-1], number)
    return len(words) == 2
