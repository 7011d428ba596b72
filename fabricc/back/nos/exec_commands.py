"""Find lines of configuration that do harm when a switch loads them: commands, prompts, removals, open texts.

A line that removes what another line of the same file sets leaves the switch without both, while a reader takes it for
a printed default; a statement of Junos may be inactive. `adopt` carries no line into a spec by which a switch runs a
command or reads another file: whoever wrote it may be a stranger, and the next push would put it on every switch.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos
from fabricc.back.nos.overlay_text import Node, outline_text
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.back.nos.base import Nos

_COMMENT = ("!", "#")
_LEAVES = re.compile(r"(?i)exi(?:t)?|qui(?:t)?")
_OPENS = re.compile(
    r"(?i)(?:route-map|interface|router|vrf|ip access-list|ipv6 access-list|class-map|policy-map|key chain|line"
    r"|nexthop-group|pbr-map|pseudowire|vlan|control-plane)\b.*|bfd|segment-routing|rpki"
)
"""Lines that open a block, which may be empty: an `exit` after one of them closes it."""
PROMPT = re.compile(
    r"(?:[\w.-]{1,64}@)?[\w.-]{1,64}(?::\S{1,64})?(?:\([\w./:@+ -]{1,64}\))?[#>$](?:\s.*|[A-Za-z].*)?"
)
"""A prompt, as in a pasted terminal session, and what was typed behind it."""

_NEGATIONS = ("no", "default")
_WHOLE = frozenset({"switchport", "ip routing", "ipv6 unicast-routing"})
"""Commands whose negation leaves longer ones of the same beginning as they are."""


@dataclass(frozen=True, slots=True)
class VerbatimText:
    """Lines that a configuration holds as they were typed, such as a banner.

    Attributes:
        begins: the line before them. Its group 1, if it has one, is the mark that ends them.
        end: the mark that ends them, if `begins` has no group.
    """

    begins: re.Pattern[str]
    end: str = ""


@dataclass(frozen=True, slots=True)
class ExecLine:
    """A line that no configuration of the switch holds.

    Attributes:
        number: from 1.
        text: without indentation.
        unclosed: whether it begins a text that nothing ends, so that later lines would be part of that text.
        unfinished: whether it is a statement that lacks its mark at the end, so that the next line would be part of it.
        surplus: whether it closes a block that nothing opens.
        misplaced: whether it is a configuration command in a file of statements, which no way of loading takes.
    """

    number: int
    text: str
    unclosed: bool = False
    unfinished: bool = False
    surplus: bool = False
    misplaced: bool = False


def exec_pattern(words: str, alone: str = "", more: str = "(?!)") -> re.Pattern[str]:
    """Return a pattern of exec commands, in any case.

    Args:
        words: first words of commands; `rel~oad` may be shortened to `rel`.
        alone: words that are commands only if nothing follows them.
        more: a pattern of other commands.
    """
    first, single = (
        "|".join(map(_shorten_word, words.split())),
        "|".join(map(_shorten_word, alone.split())) or "(?!)",
    )
    return re.compile(rf"(?i)(?:{first})(?:\s.*)?|(?:{single})(?:\s*!.*)?|{more}")


def _shorten_word(word: str) -> str:
    least, _, rest = word.partition("~")
    return "".join((re.escape(least), *(f"(?:{letter}" for letter in rest), ")?" * len(rest)))


def exec_lines(
    text: str, words: re.Pattern[str], verbatim_texts: tuple[VerbatimText, ...] = ()
) -> Iterator[ExecLine]:
    """Yield each line that is an exec command, a pasted prompt, or an `exit` that leaves no indented block.

    Args:
        text: lines of a configuration.
        words: exec commands of the system.
        verbatim_texts: texts in which such lines are no commands.
    """
    nested, until, opened = (
        False,
        "",
        ExecLine(0, "", unclosed=True),
    )  # nested: below a line that opens a block
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if until:
            until = "" if until in line else until
            continue
        if not line or line.startswith(_COMMENT):
            continue
        for each in verbatim_texts:
            if begun := each.begins.fullmatch(line):
                until, opened = each.end or begun[1], ExecLine(number, line, unclosed=True)
        indented = raw[:1].isspace()
        flat = not indented and not nested and _LEAVES.fullmatch(line)
        if flat or words.fullmatch(line) or PROMPT.fullmatch(line):
            yield ExecLine(number, line)
        nested = indented or _OPENS.fullmatch(line) is not None
    if until:
        yield opened


def command_lines(back_end: Nos, files: Mapping[str, str]) -> frozenset[tuple[str, int]]:
    """Return file and line of each command in the files of a switch; empty if the back end has no commands."""
    find = getattr(back_end, "command_lines", None)
    return frozenset(find(files)) if find else frozenset()


def matching_lines(file: str, text: str, shape: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """Yield file and line of each line like a pattern, and of those in the block that it opens."""
    waiting = [(node, False) for node in outline_text(text).children]
    while waiting:
        node, inside = waiting.pop()
        found = inside or shape.match(node.text) is not None
        if found:
            yield file, node.line
        waiting += ((child, found) for child in node.children)


@dataclass(frozen=True, slots=True)
class Reversal:
    """A line that removes or disables what the file sets.

    Attributes:
        line: from 1; `text`: without indentation.
        other: the line that sets it; None where the line itself does.
    """

    line: int
    text: str
    other: int | None = None


def negating_lines(text: str) -> Iterator[Reversal]:
    """Yield each `no …` and `default …` whose command, or the beginning of it, is another line of the same block.

    Commands have no case and may be shortened, as a switch takes them. Also yield a command that an earlier line of its
    block negates, as the reader may keep the negation, and a line that shuts the whole process of BGP.
    """
    if not any(f"{word} " in text.lower() for word in (*_NEGATIONS, "bgp")):
        return
    waiting = [[outline_text(text)]]
    while waiting:
        above = waiting.pop()
        children = [child for node in above for child in node.children]
        yield from _reversed_siblings(children)
        if _PROCESS.fullmatch(above[0].text):
            yield from (Reversal(each.line, each.text) for each in children if _SHUT.fullmatch(each.text))
        blocks: dict[str, list[Node]] = {}
        for child in children:
            if child.children:
                blocks.setdefault(_block_name(child.text), []).append(child)
        waiting += blocks.values()


_PROCESS = re.compile(r"(?i)router bgp\b.*")
_SHUT = re.compile(r"(?i)(?:bgp )?shut(?:d(?:o(?:w(?:n)?)?)?)?(?: .*)?")
_PORT = re.compile(r"(?i)int(?:e(?:r(?:f(?:a(?:c(?:e)?)?)?)?)?)?\s+([a-z]{2})[a-z-]*\s*(\S*\d\S*)")
_KEYWORD = re.compile(r"[a-z][a-z-]*")
_LEAST_LETTERS = 2


def _block_name(line: str) -> str:
    """Return a line that opens a block so that all names of one port are equal: `int et1` is `interface Ethernet1`."""
    port = _PORT.fullmatch(line)
    return f"interface {port[1]}{port[2]}".lower() if port else line


def _reversed_siblings(siblings: list[Node]) -> Iterator[Reversal]:
    negations = [(node, found) for node in siblings if (found := _negated_command(node.text))]
    if not negations:
        return
    begun: dict[str, int] = {}
    for node in siblings:
        words = _block_name(node.text).lower().split()
        if words[0] not in _NEGATIONS:
            for count in range(1, len(words) + 1):
                start = " ".join(words[:count])
                if count == len(words) or start not in _WHOLE:
                    begun.setdefault(start, node.line)
    for node, command in negations:
        other = begun.get(command)
        if other is None:
            words = command.split()
            other = next((line for start, line in begun.items() if _shortens(words, start.split())), None)
        if other is not None:
            yield Reversal(node.line, node.text, other)


def _shortens(words: list[str], whole: list[str]) -> bool:
    """Return whether words are those of a command with shortened keywords."""
    return len(words) == len(whole) and all(
        word == full
        or (
            len(word) >= _LEAST_LETTERS
            and full.startswith(word)
            and _KEYWORD.fullmatch(word) is not None
            and _KEYWORD.fullmatch(full) is not None
        )
        for word, full in zip(words, whole, strict=True)
    )


def _negated_command(text: str) -> str:
    """Return the command that a line negates, in small letters, "" for any other line."""
    word, _, command = text.lower().partition(" ")
    return " ".join(_block_name(command).split()) if word in _NEGATIONS else ""


_DEFINITION = re.compile(r"firewall(?: family \S+)?(?: filter \S+)?|policy-options \S+ \S+")
_SESSIONS = re.compile(r"protocols bgp(?: group \S+)?(?: neighbor (\S+))?(?: (?:peer-as|type) \S+)?")
_GROUP_OF_SESSIONS = re.compile(r"protocols bgp group \S+")
_PORT_STATEMENT = re.compile(
    r"(?:class-of-service )?interfaces (?!lo0\b|interface-range\b)(\S*\d\S*)(?: .*)?"
)
_SERVICES = {"system ntp": "management/ntp", "system syslog host": "management/syslog"}
_MARK = "inactive: "
_DELETE = "delete "
_COMMANDS = (_DELETE, "deactivate ")
_LAST = chr(0x10FFFF)
"""Sorts behind all that begins with the same words."""
_SECTIONS = (
    "protocols bgp",
    "class-of-service",
    "policy-options",
    "routing-options",
    "firewall",
    "forwarding-options",
    "routing-instances mgmt_junos",
    "protocols lldp",
    "system ntp server",
    "system syslog host",
    "system management-instance",
    "interfaces lo0",
    "groups",
    "apply-groups",
)
_PARTS = ("unit", "family", "address", "filter", "mtu", "number-of-sub-ports")
"""Words that follow the name of a port in a statement without which the port is up and carries nothing."""


class Inactive(NamedTuple):
    """An inactive statement: its file and line, its words, and how many lines it turns off."""

    file: str
    line: int
    words: str
    lines: int

    @property
    def is_bgp(self) -> bool:
        """Whether it is about BGP."""
        return self.words.startswith("protocols bgp")

    @property
    def is_group(self) -> bool:
        """Whether it is a whole group of sessions."""
        return _GROUP_OF_SESSIONS.fullmatch(self.words) is not None

    @property
    def defined(self) -> str:
        """The name of the filter or the policy that it defines, "" for anything else."""
        return self.words.split()[-1] if _DEFINITION.fullmatch(self.words) else ""

    @property
    def neighbor(self) -> str | None:
        """The neighbor whose session is down without it, "" for those of a group; None for anything else."""
        match = _SESSIONS.fullmatch(self.words)
        return (match[1] or "") if match else None

    @property
    def service(self) -> str:
        """The fact that another statement about the same service makes, "" for anything else."""
        return next((path for start, path in _SERVICES.items() if self.words.startswith(start)), "")

    @property
    def port(self) -> str:
        """The port that it is about, without its unit; "" for none."""
        match = _PORT_STATEMENT.fullmatch(self.words)
        return match[1].partition(".")[0] if match else ""


def find_inactive(
    system: str, files: Mapping[str, str], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[Inactive]:
    """Yield the inactive statements about sessions, policies, classes, filters, and addresses of ports.

    Junos keeps a statement with the tag `inactive:` and commits without it (CLI User Guide, "Deactivate").
    """
    back_end = nos.load(system) if system == "junos" else None
    if back_end is None or not hasattr(back_end, "reversals"):
        return
    inside: dict[str, list[tuple[int, str]]] = {}
    for file, number, text in unknown:
        if text.startswith((_MARK, *_COMMANDS)):
            inside.setdefault(file, []).append((number, text))
    for file, found in inside.items():
        off = [(number, f"{text.removeprefix(_MARK)} ") for number, text in found if text.startswith(_MARK)]
        commands = [
            (number, words)
            for number, text in found
            if text.startswith(_COMMANDS) and (words := text.partition(" ")[2])
            if any(
                each.startswith(f"{words} ") and (line < number or not text.startswith(_DELETE))
                for line, each in off
            )
        ]
        ordered = sorted(words for _, words in commands)
        for number, words in commands:
            if _carries_traffic(words):
                below = bisect_left(ordered, f"{words}{_LAST}") - bisect_left(ordered, words)
                yield Inactive(file, number, words, below)
        heads = [each.line for each in back_end.reversals(file, files.get(file, ""))] if not commands else []
        for first, after in pairwise((*heads, len(files.get(file, "")) + 1)):
            own = sorted(text.partition(" ")[2] for number, text in found if first <= number < after)
            if words := next(filter(_carries_traffic, own), ""):
                yield Inactive(file, first, words, len(own))


def _carries_traffic(words: str) -> bool:
    section, _, rest = words.partition(" ")
    return words.startswith(_SECTIONS) or (
        section == "interfaces" and not set(_PARTS).isdisjoint(rest.split()[1:])
    )


def inactive_addresses(unknown: Iterable[tuple[str, int, str]], port: str) -> Iterator[str]:
    """Yield the addresses of a port that are inactive."""
    start = f"inactive: interfaces {port} "
    for _, _, text in unknown:
        if text.startswith(start) and " address " in text:
            yield text.rpartition(" ")[2].partition("/")[0]
