"""What lines that no row reads state all the same: addresses, names in use, and statements of Junos not in force."""

from __future__ import annotations

import re
from bisect import bisect_left
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos
from fabricc.back.reading.rows import words_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.back.reading import Reader

_ON_LINK = re.compile(r"on-?link", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:no )?(?:ip |ipv6 )?(?:address|unnumbered|dhcp client)\b|type: unnumbered"
    r"|(?:logical-systems \S+ )?interfaces? .*\b(?:address|dhcp)\b"
)
_EMPTY_LIST = re.compile(r"access list (\S+)")
_DEFINITION = re.compile(r"firewall(?: family \S+)?(?: filter \S+)?|policy-options(?: \S+ \S+)?")
_SESSIONS = re.compile(r"protocols bgp(?: group \S+)?(?: neighbor (\S+))?(?: (?:peer-as|type) \S+)?")
_PORT = re.compile(r"(?:class-of-service )?interfaces (?!lo0\b|interface-range\b)(\S*\d\S*)(?: .*)?")
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
)
_PARTS = ("unit", "family", "address", "filter", "mtu", "number-of-sub-ports")
"""Words that follow the name of a port in a statement without which the port is up and carries nothing."""


def allows_on_link(text: str) -> bool:
    """Return whether a line states that next hops of a route need not be in a subnet of the port."""
    return _ON_LINK.search(text) is not None


def begins_address(text: str) -> bool:
    """Return whether a line gives a port an address."""
    return _ADDRESS.match(text.strip()) is not None


def undefined_list(text: str, files: Mapping[str, str]) -> str:
    """Return the access list that a line refers to and that no file defines, "" for none.

    Back ends name a reference to a list without rules among the lines that no row reads.
    """
    match = _EMPTY_LIST.fullmatch(text)
    if match is None:
        return ""
    defined = re.compile(rf"access-list (?:\S+ )?{re.escape(match[1])}\s*$", re.MULTILINE)
    return "" if any(map(defined.search, files.values())) else match[1]


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
        match = _PORT.fullmatch(self.words)
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


_WORD = re.compile(r"[a-z][a-z0-9_-]{4,}")
_OF_ROWS = re.compile(r"[a-z][a-z0-9-]+")
_NAMING = re.compile(
    r"group|neighbor|policy-statement|term|filter|community|prefix-list|route-filter-list|as-path"
    r"|as-path-group|user|interface|interfaces|unit|vlans|members|export|import|class|forwarding-class"
    r"|scheduler|scheduler-maps|schedulers|classifiers|dscp|drop-profiles|drop-profile"
    r"|congestion-notification-profile|routing-instances|instance|groups|apply-groups|host|file"
    r"|description|policer|policy|condition|interface-range|member|encrypted-password|version|name"
    r"|host-name|domain-name|location|contact|authentication|traffic-control-profiles"
)
"""Words of Junos behind which a name stands, or a text."""


def misspelled_word(system: str, text: str) -> tuple[str, str] | None:
    """Return a word of a line that no row reads which is nearly one of the system's, and this one.

    It is as long or longer than `group`, differs in one letter or two that are exchanged, and is no name.
    """
    if system != "junos":
        return None
    known, first = _words_of(system)
    words = text.split()
    for at, word in enumerate(words):
        among = known if at else first
        if _WORD.fullmatch(word) and word not in among and not (at and _NAMING.fullmatch(words[at - 1])):
            right = next((each for each in sorted(_variants(word)) if each in among), None)
            return (word, right) if right else None
    return None


def _variants(word: str) -> Iterator[str]:
    """Yield the words that differ from one by one letter, or by two neighboring letters in the other order."""
    letters = "abcdefghijklmnopqrstuvwxyz-"
    for at in range(len(word) + 1):
        start, rest = word[:at], word[at:]
        yield from (f"{start}{letter}{rest}" for letter in letters)
        if rest:
            yield start + rest[1:]
            yield from (f"{start}{letter}{rest[1:]}" for letter in letters)
        if len(rest) > 1:
            yield f"{start}{rest[1]}{rest[0]}{rest[2:]}"


@cache
def _words_of(system: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of all rows of a system, and those with which a path of words begins."""
    back_end = nos.load(system)
    found, first = set[str](), set[str]()
    for reader in (getattr(back_end, "reader", None), getattr(back_end, "ignorable_reader", None)):
        rows = [row for topic in (reader.topics if reader else ()) for row in topic.rows]
        first.update(word for row in rows for word in _OF_ROWS.findall(row.pattern)[:1])
        while rows:
            row = rows.pop()
            found.update(_OF_ROWS.findall(row.pattern))
            rows += getattr(row, "rows", ())
    return frozenset(found), frozenset(first)


_GROUP = re.compile(r"groups (\S+) .*")


def unapplied_group(system: str, text: str, files: Mapping[str, str]) -> str:
    """Return the group that an unread line is of, which no `apply-groups` of the files names; "" for none."""
    match = _GROUP.fullmatch(text) if system == "junos" else None
    if match is None or _BUILT_IN.fullmatch(match[1]):
        return ""
    applied = re.compile(rf"apply-groups (?:\[[^\]]*)?(?<![\w-]){re.escape(match[1])}(?![\w-])")
    return "" if any(map(applied.search, files.values())) else match[1]


class Reference(NamedTuple):
    """A use of a name: the kind of what it stands for, and the name."""

    kind: str
    name: str


_COS = "class-of-service "
_FORMS = (
    ("classifier", re.compile(_COS + r"interfaces \S+ unit \S+ classifiers dscp (\S+)")),
    ("scheduler map", re.compile(_COS + r"interfaces \S+(?: unit \S+)? scheduler-map (\S+)")),
    ("profile of PFC", re.compile(_COS + r"interfaces \S+ congestion-notification-profile (\S+)")),
    ("forwarding class", re.compile(_COS + r"scheduler-maps \S+ forwarding-class (\S+) scheduler \S+")),
    ("scheduler", re.compile(_COS + r"scheduler-maps \S+ forwarding-class \S+ scheduler (\S+)")),
    ("drop profile", re.compile(_COS + r"schedulers \S+ drop-profile-map .*drop-profile (\S+)")),
    ("forwarding class", re.compile(_COS + r"classifiers dscp \S+ forwarding-class (\S+) .+")),
    ("group", re.compile(r"(?:.* )?apply-groups (\S+)")),
    ("class map", re.compile(r"class (?!class-|copp-|c-)(\S+)")),
)
_BUILT_IN = re.compile(
    r"default|dscp-\S+|ieee8021p-\S+|junos\S*|re[01]|node\d+|member\d+|\S+-(?:effort|forwarding|control)"
)
"""Names that a system defines itself (Junos CLI reference, "Default CoS settings" and `apply-groups`)."""


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the names that a line without a row uses, but those that the system defines."""
    found = ((kind, form.fullmatch(text)) for kind, form in _FORMS)
    return tuple(
        Reference(kind, match[1].strip("[]"))
        for kind, match in found
        if match and not _BUILT_IN.fullmatch(match[1])
    )


_SHORTEST = 4
"""Letters of a word whose likeness to another one is no coincidence."""
_LIKENESS = 0.79


@cache
def _read_words(reader: Reader) -> frozenset[str]:
    """Return the words that the rows of a reader read."""
    return words_of_rows(row for topic in reader.topics for row in topic.rows)


def near_words(word: str, known: frozenset[str], most: int, likeness: float) -> list[str]:
    """Return what `get_close_matches` finds among known words that are like a word without some two letters."""
    shorter = _shortened_words(known)
    found = {each for part in _without_letters(word) for each in shorter.get(part, ())}
    return get_close_matches(word, sorted(found), most, likeness)


@cache
def _shortened_words(known: frozenset[str]) -> Mapping[str, list[str]]:
    """Return what is left of known words without up to two letters -> these words."""
    found: dict[str, list[str]] = {}
    for word in known:
        for part in _without_letters(word):
            found.setdefault(part, []).append(word)
    return found


def _without_letters(word: str) -> set[str]:
    once = {word[:at] + word[at + 1 :] for at in range(len(word))} if len(word) < _LONGEST else set()
    return {word, *once, *(each[:at] + each[at + 1 :] for each in once for at in range(len(each)))}


_LONGEST = 32
"""Letters of a word up to which it is compared."""


class Misspelling(NamedTuple):
    """A word of a line that no row reads, and the known one in its place with which a row reads the line."""

    line: int
    word: str
    meant: str


def find_misspellings(
    reader: Reader, blocks: tuple[str, ...], file: str, unknown: Iterable[tuple[str, int, str]]
) -> Iterator[Misspelling]:
    """Yield misspelled words of a file.

    Args:
        reader: of the file; a word that is the beginning of a known one may be an abbreviation of it.
        blocks: the lines that open the blocks in which the lines may stand, "" for none.
        file: its name.
        unknown: file, line and text of what no row reads.
    """
    for name, line, text in unknown:
        if name == file and (found := _find_misspelling(reader, blocks, text)):
            yield Misspelling(line, *found)


@lru_cache(1 << 10)
def _find_misspelling(reader: Reader, blocks: tuple[str, ...], text: str) -> tuple[str, str] | None:
    known = _read_words(reader)
    words = text.split()
    for at, word in enumerate(words):
        near = near_words(word, known, 2, _LIKENESS) if len(word) >= _SHORTEST else []
        if near and any(each.startswith(word) for each in known):
            continue
        for meant in near:
            line = " ".join((*words[:at], meant, *words[at + 1 :]))
            if any(not reader.read({"": f"{block}\n{line}\n"}).unknown for block in blocks):
                return word, meant
    return None
