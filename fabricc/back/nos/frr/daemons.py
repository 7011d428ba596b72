"""The grammar of FRR's `daemons` file: assignments of known names, and no other shell.

frrinit.sh sources the file as root (tools/frrcommon.sh.in of FRR), so a line that is more than an assignment of plain
words is a command that runs on the switch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.reading.tree import Node, Tree, assignments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = "daemons"
_DAEMON = (
    "(?:zebra|staticd|mgmtd|bgpd|bfdd|ospfd|ospf6d|ripd|ripngd|isisd|pimd|pim6d|ldpd|nhrpd|eigrpd|babeld|sharpd|pbrd"
    "|fabricd|vrrpd|pathd)"
)
_WORD = r"[A-Za-z0-9_.:,%-]+"
_WORDS = rf"[ \t]*(?:{_WORD}[ \t]+)*(?:{_WORD})?"
_LINE = re.compile(
    r"[ \t]*(?:#[^\r]*)?"
    rf"|[ \t]*(?P<name>{_DAEMON}|vtysh_enable|watchfrr_enable|{_DAEMON}_options|watchfrr_options|{_DAEMON}_instances"
    r"|MAX_FDS|FRR_NO_ROOT|frr_profile)="
    rf"(?:(?P<word>(?:{_WORD})?)|\"(?P<double>{_WORDS})\"|'(?P<single>{_WORDS})')(?:[ \t]+#[^\r]*|[ \t]*)"
)
_ALWAYS = ("zebra", "staticd")
_STARTED = (*_ALWAYS, "bfdd", "bgpd")
_OPTIONS = {
    **dict.fromkeys(("-A", "-P", "-M", "-e", "-l", "-p", "-s", "-K"), True),
    **dict.fromkeys(("-r", "--v6-rr-semantics"), False),
}
"""Options of daemons that name no file, user or process -> whether a word follows."""
_FILES = re.compile(r"[0-9]{2,6}")
_FEWEST_FILES = 1024


def is_started(value: str) -> bool:
    """Return whether FRR starts a daemon: any word but `no` and `0` does (frrcommon.sh, `daemon_list`)."""
    return value not in ("", "no", "0")


class DaemonsError(Exception):
    """The file requires something that a lab does not start; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class Startup(NamedTuple):
    """The daemons that the file starts.

    Attributes:
        open_files: file descriptors that each daemon may hold.
        daemons: those that run in their order -> words of their options.
    """

    open_files: int
    daemons: Mapping[str, tuple[str, ...]]


def foreign_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not an assignment of plain words to a known name."""
    for number, line in enumerate(text.split("\n"), 1):
        if not _LINE.fullmatch(line):
            yield number, line


def idle_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and name, in lower case, of lines that assign something in another form, the last first."""
    lines = [*enumerate(text.split("\n"), 1)]
    for number, line in reversed(lines):
        if match := _IDLE.match(line):
            yield number, match[1].lower()


_IDLE = re.compile(r"[ \t#]*([A-Za-z]+) *=")


def read_assignments(text: str) -> Tree:
    """Return the assignments of the file; each other line is an unknown node."""
    foreign = dict(foreign_lines(text))
    lines = ("" if number in foreign else line for number, line in enumerate(text.split("\n"), 1))
    nodes = [
        *assignments("\n".join(lines)).nodes,
        *(Node((line.strip(),), at) for at, line in foreign.items()),
    ]
    return Tree(sorted(nodes, key=lambda node: node.line))


def read_startup(text: str) -> Startup:
    """Return what the file starts.

    Raises:
        DaemonsError: a line is not an assignment, or an option names a file, a user or something unknown.
    """
    values: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise DaemonsError(
                number, f"not an assignment of plain words to a known variable: {line.strip()[:60]!r}"
            )
        if name := found["name"]:
            values[name] = number, found["word"] or found["double"] or found["single"] or ""
    at, files = values.get("MAX_FDS", (0, str(_FEWEST_FILES)))
    if not _FILES.fullmatch(files):
        raise DaemonsError(at, f"MAX_FDS is not a number from 10 to 999999: {files!r}")
    started = [name for name in _STARTED if name in _ALWAYS or is_started(values.get(name, (0, ""))[1])]
    return Startup(
        int(files), {name: _split_options(*values.get(f"{name}_options", (0, ""))) for name in started}
    )


def _split_options(line: int, text: str) -> tuple[str, ...]:
    words = tuple(text.split())
    waiting = False
    for word in words:
        if waiting:
            waiting = False
        elif word not in _OPTIONS:
            raise DaemonsError(line, f"the option {word!r} is not supported for daemons in a lab")
        else:
            waiting = _OPTIONS[word]
    if waiting:
        raise DaemonsError(line, f"no value follows the option {words[-1]!r}")
    return words
