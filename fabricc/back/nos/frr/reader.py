"""Reads `frr.conf`, or what `show running-config` prints, back to facts with the lines they stand on.

As in vtysh, a line that the current block does not know is tried in the blocks around it.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.defaults import MULTIPATH_LIMIT, TRADITIONAL_TIMERS
from fabricc.back.nos.frr.grammar import GRAMMAR, PARENT
from fabricc.back.nos.frr.process import BfdProfile, Process
from fabricc.base.values import dataclass
from fabricc.fabric.facts import clause_text

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading
    from fabricc.fabric.routing import Clause

_SILENT = re.compile(
    r"""frr\ version\ .*|service\ integrated-vtysh-config|ip\ forwarding|ipv6\ forwarding|line\ vty
    |log\ (?:commands|file|record-priority|stdout|timestamp\ precision|unique-id)\b.*
    |Building\ configuration\.\.\.|Current\ configuration:""",
    re.VERBOSE,
)


def read_frr_conf(text: str, file: str, reading: Reading, *, multipath_limit: int = MULTIPATH_LIMIT) -> None:
    """Add the facts of one `frr.conf` to `reading`, and its unknown lines.

    A host name or an address of an interface beside a different one that `reading` has already is a fact of its own,
    see `put_also`.

    Args:
        text: the file, or the output of `show running-config`.
        file: its name, for the lines of the facts.
        reading: what has been read so far.
        multipath_limit: what `maximum-paths` is when the text is silent, see `render_frr_conf`.
    """
    parser = Parser(file, reading)
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line and line[0] not in "!#":
            parser.read(line, number)
    parser.finish(multipath_limit)


def put_also(reading: Reading, path: str, value: str, file: str, line: int) -> None:
    """State a fact; what differs from the value that is already there is stated beside it, as Linux adds addresses."""
    if reading.facts.get(path, value) == value:
        reading.put(path, value, file, line)
    else:
        reading.put(f"{path}/also[{value}]", "true", file, line)


@dataclass(slots=True)
class Parser:
    """Where the reader stands, and what is complete only at the end of the text.

    Attributes:
        block: the innermost open block, a key of `GRAMMAR`.
        interface, family, profile, clause: which one of its kind is open.
        timers: BGP keepalive and hold of the configuration profile, seconds.
        clauses: (route map, sequence) -> clause and line.
        lists: (prefix list, family) -> sequence -> rule and line.
        communities: community list -> entries and lines.
        sources: clause -> source address that it sets.
        bound: `ip` or `ipv6` -> route map that BGP's routes pass on their way to zebra, and its line.
    """

    file: str
    reading: Reading
    block: str = ""
    interface: str = ""
    family: str = ""
    timers: tuple[int, int] = TRADITIONAL_TIMERS
    process: Process | None = None
    profile: BfdProfile = field(default_factory=lambda: BfdProfile(0))
    profiles: dict[str, BfdProfile] = field(default_factory=dict)
    clause: tuple[str, int] = ("", 0)
    clauses: dict[tuple[str, int], tuple[Clause, int]] = field(default_factory=dict)
    lists: dict[tuple[str, int], dict[int, tuple[str, int]]] = field(default_factory=dict)
    communities: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    sources: dict[tuple[str, int], str] = field(default_factory=dict)
    bound: dict[str, tuple[str, int]] = field(default_factory=dict)

    def read(self, line: str, number: int) -> None:
        """Take one stripped line that is neither empty nor a comment."""
        if line in ("exit", "quit", "exit-address-family"):
            self.block = PARENT.get(self.block, "")
            return
        if line == "end" or _SILENT.fullmatch(line):
            self.block = ""
            return
        block: str | None = self.block
        while block is not None:
            for pattern, state in GRAMMAR[block]:
                match = pattern.fullmatch(line)
                if match:
                    self.block = block
                    if not state(self, match, number):
                        self.reading.unknown.append((self.file, number, line))
                    return
            block = PARENT.get(block)
        self.reading.unknown.append((self.file, number, line))

    def put(self, path: str, value: str, number: int) -> None:
        """State a fact, next to those that other files state; see `put_also`."""
        put_also(self.reading, path, value, self.file, number)

    def edit(self, **changes: str | int) -> None:
        """Change the open route-map clause."""
        clause, line = self.clauses[self.clause]
        self.clauses[self.clause] = (replace(clause, **changes), line)  # type: ignore[arg-type]

    def finish(self, multipath_limit: int) -> None:
        """Put the facts that need the whole text."""
        put, file = self.reading.put, self.file
        for (name, _), rules in sorted(self.lists.items()):
            for index, sequence in enumerate(sorted(rules)):
                put(f"prefix_list[{name}]/{index}", rules[sequence][0], file, rules[sequence][1])
        for name, entries in self.communities.items():
            put(f"community_list[{name}]", ", ".join(text for text, _ in entries), file, entries[0][1])
        self._sources()
        for (name, sequence), (clause, line) in self.clauses.items():
            wrong = clause.prefix_list and (clause.prefix_list, 10 - (clause.family or 4)) in self.lists
            text = clause_text(clause) + (f" as an IPv{clause.family} list" if wrong else "")
            put(f"route_map[{name}]/{sequence}", text, file, line)
        for name, profile in self.profiles.items():
            put(f"structure/bfd_profile[{name}]", "true", file, profile.line)
        if self.process:
            self.process.state(self.reading, file, self.timers, multipath_limit, self.profiles)

    def _sources(self) -> None:
        """State the source address of BGP's routes, where a bare clause of the map that they pass sets it."""
        for keyword, (name, line) in self.bound.items():
            own = [key for key in self.clauses if key[0] == name]
            if len(own) == 1 and own[0] in self.sources and clause_text(self.clauses[own[0]][0]) == "permit":
                address = self.sources.pop(own[0])
                put_also(self.reading, f"bgp/source[{keyword}]", f"{address} by {name}", self.file, line)
                del self.clauses[own[0]]
            else:
                self.reading.unknown.append((self.file, line, f"{keyword} protocol bgp route-map {name}"))
        for (name, sequence), address in self.sources.items():
            line = self.clauses[name, sequence][1]
            self.reading.unknown.append((self.file, line, f"route-map {name} {sequence}: set src {address}"))
