"""What lines that no row reads state all the same: addresses, names in use, and words that are nearly known ones."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos
from fabricc.back.nos.lost_lines import BUILT_IN
from fabricc.back.reading import Block, Each, Reader, Row, Topic, block_rows
from fabricc.back.reading.rows import Rows, word_variants, words_of_rows
from fabricc.back.reading.tree import braces, commands, leaf_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

_ON_LINK = re.compile(r"on-?link", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:no )?(?:ip |ipv6 )?(?:address|unnumbered|dhcp client)\b|type: unnumbered"
    r"|(?:logical-systems \S+ )?interfaces? .*\b(?:address|dhcp)\b"
)
_EMPTY_LIST = re.compile(r"access list (\S+)")


def allows_on_link(text: str) -> bool:
    """Return whether a line states that next hops of a route need not be in a subnet of the port."""
    return _ON_LINK.search(text) is not None


_QUAD = re.compile(r"(?<![\w.:/-])\d{1,4}(?:\.\d{1,4}){3}(?![\w.:-])")
_OCTET = 255


_ACTION = re.compile(
    r"(?:route-map \S+|ip(?:v6)? prefix-list \S+(?: seq \d+)?|ip(?:v6)? access-list (?:standard |extended )?\S+"
    r"(?: seq \d+)?) (allow|accept|pass|block|drop|reject|forbid)\b.*"
)


def foreign_action(text: str) -> str:
    """Return the word of a list or map of EOS, NX-OS and FRR in place of `permit` or `deny`, "" for any other line."""
    match = _ACTION.fullmatch(text.strip())
    return match[1] if match else ""


_BARE_ADDRESS = re.compile(r"ip address (\d+(?:\.\d+){3})(?: /\d+)?")


def impossible_address(text: str) -> str:
    """Return an address of a line with an octet that is too large, or of a port without a length; "" without one."""
    quads = (match[0] for match in _QUAD.finditer(text))
    bare = _BARE_ADDRESS.fullmatch(text.strip())
    large = (each for each in quads if any(int(octet) > _OCTET for octet in each.split(".")))
    return next(large, f"{bare[1]} without a length" if bare else "")


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


class Misspelling(NamedTuple):
    """A word of a line that no row reads, and the known one in its place with which a row reads the line."""

    line: int
    word: str
    meant: str


_MOST_TRIED = 100
"""Different lines of a device that are read again with another word."""


def misspelled_words(
    system: str,
    files: Mapping[str, str],
    unknown: Iterable[tuple[str, int, str]],
    loose: Collection[tuple[str, int]],
) -> Iterator[tuple[str, Misspelling]]:
    """Yield file and misspelling of lines.

    Args:
        system: whose rows read the lines.
        files: their texts.
        unknown: file, line and text of what no row reads.
        loose: file and line of what rows read that take any words, if it is doubtful.
    """
    unread = {(file, line): text for file, line, text in unknown}
    doubtful = [place for place, text in unread.items() if is_doubtful(system, text)]
    doubtful += sorted(place for place in loose if place not in unread)
    trees = dict[str, dict[int, list[str]]]()
    for file, line in doubtful[:_MOST_TRIED]:
        lines, strictly = files.get(file, "").split("\n")[:line], (file, line) in loose
        if system in _INDENTED:
            above = _lines_above(lines) if len(lines) == line else []
            around = _joined(lines, above)
            heads = any((file, at) in unread for at in above)
            if not heads and (found := _misspelled_in_block(system, around, lines[-1].strip(), strictly)):
                yield file, Misspelling(line, *found)
            continue
        if strictly and file not in trees:
            trees[file] = _statements_by_line(files.get(file, ""))
        texts = trees[file].get(line, ()) if strictly else (unread[file, line],)
        for text in texts:
            words = (
                _misspelled_in_block(system, "", f"set {text}", True)
                if strictly
                else _misspelled_in_path(text)
            )
            if words:
                split = (_BRACES.sub(" ", each).split() for each in reversed(lines))
                up = next((at for at, each in enumerate(split) if words[0] in each), 0)
                yield file, Misspelling(line - up, *words)


_BRACES = re.compile(r"[][{};]")


def _statements_by_line(text: str) -> dict[int, list[str]]:
    """Return the statements of Junos by line."""
    found: dict[int, list[str]] = {}
    tree = commands(text) if _SET.search(text) else braces(text)
    for line, words in leaf_statements(tree.nodes):
        found.setdefault(line, []).append(words)
    return found


_SET = re.compile(r"^set ", re.MULTILINE)


@lru_cache(1 << 12)
def _misspelled_in_path(text: str) -> tuple[str, str] | None:
    """Return a word of a statement of Junos that no row reads which is nearly a known one, and this one.

    It is as long or longer than `group`, differs in one letter or two that are exchanged, and is no name.
    """
    known, first = _words_of("junos")
    words = text.split()
    if found := _misspelled_in_block("junos", "", f"set {text}", False):
        return found
    for at, word in enumerate(words):
        among = known if at else first
        long = (_WORD if at else _SHORT_WORD).fullmatch(word)
        if long and word not in among and not (at and _NAMING.fullmatch(words[at - 1])):
            right = next((each for each in sorted(word_variants(word)) if each in among), None)
            return (word, right) if right and _same_digits(word, right) else None
    return None


_INDENTED = ("eos", "nxos")
"""Systems whose blocks are known by indentation, and which accept the beginning of a word for it."""
_SHORT_WORD = re.compile(r"[a-z][a-z0-9_-]+")


def _lines_above(lines: list[str]) -> list[int]:
    """Return the numbers of the lines that open the blocks around the last one, from the outermost."""
    found, column = list[int](), len(lines[-1]) - len(lines[-1].lstrip())
    for number in range(len(lines) - 1, 0, -1):
        line = lines[number - 1].lstrip()
        if line and line[0] != "!" and (at := len(lines[number - 1]) - len(line)) < column:
            found.insert(0, number)
            column = at
        if not column:
            break
    return found


def _joined(lines: list[str], above: list[int]) -> str:
    """Return the text of lines that open blocks in each other."""
    return "\n".join(f"{' ' * depth}{lines[at - 1].strip()}" for depth, at in enumerate(above))


@lru_cache(1 << 12)
def is_doubtful(system: str, text: str) -> bool:
    """Return whether a word of a text may stand for one of a system."""
    if system == "junos" and _misspelled_in_path(text):
        return True
    known = _row_readers(system)[-1] if system in (*_INDENTED, "junos") else frozenset()
    return any(_words_like(word, known) for word in text.split() if known)


@lru_cache(1 << 12)
def _words_like(word: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the known words that differ in one letter or in two exchanged ones, and the most similar others.

    One with other digits is of another version, such as `dhcpv6-client`; one with other capitals is the same word.
    """
    if word in known or not _SHORT_WORD.fullmatch(word):
        return ()
    near = near_words(word, known, 2, _LIKENESS) if len(word) >= _SHORTEST else []
    found = dict.fromkeys((*sorted(known.intersection(word_variants(word))), *near))
    alike = (each for each in found if _same_digits(word, each) and each.lower() != word)
    return (*(each for each in _SYNONYMS.get(word, ()) if each in known), *alike)


_SYNONYMS = {
    "remote-as": ("peer-as",), "peer-as": ("remote-as",), "neighbor-as": ("peer-as", "remote-as"),
    "ipv4": ("inet",), "ip": ("inet",), "ipv6": ("inet6",), "vlan": ("vlans",), "interface": ("interfaces",),
}  # fmt: skip
"""Word of another system -> those of the same meaning."""


def _same_digits(word: str, other: str) -> bool:
    return _DIGITS.findall(word) == _DIGITS.findall(other)


@lru_cache(1 << 12)
def _misspelled_in_block(system: str, above: str, text: str, strictly: bool) -> tuple[str, str] | None:
    """Return a word of a line and the one in its place with which a row reads the line, below those above.

    Strictly: by a row that names each of its words.
    """
    loose, strict, known = _row_readers(system)
    return _replaced_word(strict if strictly else loose, known, (above,), text)


def _replaced_word(
    readers: tuple[Reader, ...], known: frozenset[str], blocks: tuple[str, ...], text: str
) -> tuple[str, str] | None:
    """Return a word and the one in its place with which a reader reads a line in a block; see `Misspelling`.

    A word with which it reads the line as the beginning of a longer one is none. Blocks that know the line are others.
    """
    words = text.split()
    blocks = tuple(each for each in blocks if not _is_read(readers, (each,), words))
    for at, word in enumerate(words):
        meant = _words_like(word, known)
        longer = [each for each in known if each.startswith(word)] if meant else []
        for each in (*longer, *meant):
            if _is_read(readers, blocks, [*words[:at], each, *words[at + 1 :]]):
                return None if each in longer else (word, each)
    return None


def misplaced_lines(
    system: str, files: Mapping[str, str], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[tuple[str, int, str]]:
    """Yield file and number of lines that a row reads in another block of the device, and the line that opens this."""
    unread = {(file, line): text for file, line, text in unknown} if system in (*_INDENTED, "junos") else {}
    if system == "junos":
        for (file, line), text in islice(unread.items(), _MOST_TRIED):
            if found := _section_of(text):
                yield file, line, found
        return
    for file, line in islice(unread, _MOST_TRIED):
        lines = files.get(file, "").split("\n")
        above = _lines_above(lines[:line]) if len(lines) >= line else []
        if any((file, at) in unread for at in above):
            continue
        opening = lines[above[0] - 1] if above else ""
        tried = dict[str, None]()
        for each in lines:
            if (head := _HEAD.match(each)) and not opening.startswith(head[1]):
                tried.setdefault(_DIGITS.sub("1", each) if head[1] == "interface" else each.strip())
        text = lines[line - 1].strip()
        found = next((each for each in tried if _is_strictly_read(system, each, text)), "")
        if found and not _is_strictly_read(system, _joined(lines, above), text):
            yield file, line, found


_SECTIONS = (
    "routing-options", "routing-options forwarding-table", "protocols", "protocols bgp", "protocols bgp group 1",
    "system", "system services", "chassis", "forwarding-options", "policy-options", "class-of-service",
)  # fmt: skip
"""Sections of Junos where a statement may stand in place of another one."""
_GROUP_NAME = re.compile(r"(?<=^protocols bgp group )\S+")


@lru_cache(1 << 12)
def _section_of(text: str) -> str:
    """Return a section of Junos, with a word behind it, in which a row reads what stands in another one; "" without."""
    text = _GROUP_NAME.sub("1", text)
    for section in _SECTIONS:
        words = text.removeprefix(f"{section} ").split()
        if text.startswith(f"{section} ") and " ".join([section, words[0]]) not in _SECTIONS:
            others = (each for each in _SECTIONS if each != section)
            if found := next(
                (e for e in others if _is_strictly_read("junos", "", f"set {e} {' '.join(words)}")), ""
            ):
                return f"{found} {words[0]}"
    return ""


_HEAD = re.compile(r"(router bgp|router ospf|router isis|interface) ?\S.*")


@lru_cache(1 << 12)
def _is_strictly_read(system: str, block: str, text: str) -> bool:
    """Return whether a row that names each word matches a line in a block."""
    return _is_read(_row_readers(system)[1], (block,), text.split())


_NUMBER = re.compile(r"(?<![\w.:-])\d{2,9}(?![\w.:/-])|(?<=/)\d{2,3}(?= |$)")
_DIGITS = re.compile(r"\d+")
_LARGE, _LARGER = 4, "1500"
"""Digits of numbers such as an MTU, and one."""


def wrong_numbers(
    system: str, files: Mapping[str, str], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[tuple[str, Misspelling]]:
    """Yield file and number of the lines that a row reads only with one digit less or more: a value in its range."""
    unread = {(file, line): text for file, line, text in unknown} if system in _INDENTED else {}
    tried = [place for place, text in unread.items() if _NUMBER.search(text)][:_MOST_TRIED]
    for file, line in tried:
        lines = files.get(file, "").split("\n")[:line]
        above = _lines_above(lines) if len(lines) == line else []
        heads, around = any((file, at) in unread for at in above), _joined(lines, above)
        if not heads and (found := _number_out_of_range(system, around, lines[-1].strip())):
            yield file, Misspelling(line, *found)


def _number_out_of_range(system: str, above: str, text: str) -> tuple[str, str] | None:
    """Return a number of a line, and one with a digit less or more with which a row reads the line below others."""
    around = _DIGITS.sub(_usual_number, above)
    if any(_reads_like(system, around, _DIGITS.sub(each, text)) for each in (_usual_number, _LARGER)):
        readers = _row_readers(system)[0]
        for match in _NUMBER.finditer(text):
            for other in (match[0][:-1], f"{match[0]}0"):
                changed = f"{text[: match.start()]}{other}{text[match.end() :]}"
                if _is_read(readers, (above,), changed.split()) and not _is_read(
                    readers, (above,), text.split()
                ):
                    return match[0], other
    return None


def _usual_number(match: re.Match[str]) -> str:
    """Return a small number in place of a small one, and one of the size of an MTU in place of a large one."""
    return _LARGER if len(match[0]) >= _LARGE else "1"


@lru_cache(1 << 12)
def _reads_like(system: str, above: str, text: str) -> bool:
    """Return whether a row reads a line with other numbers."""
    return _is_read(_row_readers(system)[0], (above,), text.split())


def _is_read(readers: tuple[Reader, ...], blocks: tuple[str, ...], words: list[str]) -> bool:
    """Return whether a row matches a line below one of the blocks."""
    for block in blocks:
        depth = block.count("\n") + 1 if block else 0
        text = f"{block}\n{' ' * depth}{' '.join(words)}\n" if block else " ".join(words)
        if any(all(line != depth + 1 for _, line, _ in each.read({"": text}).unknown) for each in readers):
            return True
    return False


@cache
def _row_readers(system: str) -> tuple[tuple[Reader, ...], tuple[Reader, ...], frozenset[str]]:
    """Return the readers of a system without what follows from several lines, those of strict rows, and all words."""
    back_end = nos.load(system)
    readers: list[Reader] = [each for name in _READERS if (each := getattr(back_end, name, None))]
    strict = _rows_alone(readers[0], _strict_rows)
    loose = tuple(_rows_alone(each, block_rows) for each in readers)
    return loose, (strict,), frozenset().union(*map(_read_words, loose))


def _rows_alone(reader: Reader, of: Callable[[Rows], Sequence[Row]]) -> Reader:
    """Return a reader of some of the rows, without what follows from several lines."""
    return Reader([Topic(of(topic.rows)) for topic in reader.topics], reader.types, reader.tree)


_ANY_WORDS = ("<rest>", "<below>", "...")


def _strict_rows(rows: Rows) -> list[Row]:
    """Return the rows, and those of their blocks, but what takes any words."""
    return [
        row._replace(rows=partial(_strict_rows, row.rows)) if isinstance(row, Block | Each) else row
        for row in block_rows(rows)
        if not any(each in row.pattern for each in _ANY_WORDS)
    ]


_READERS = ("reader", "ignorable_reader")


@cache
def _words_of(system: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of all rows of a system, and those with which a path of words begins."""
    back_end = nos.load(system)
    found, first = set[str](), set[str]()
    for reader in (getattr(back_end, name, None) for name in _READERS):
        rows = [row for topic in (reader.topics if reader else ()) for row in topic.rows]
        first.update(word for row in rows for word in _OF_ROWS.findall(row.pattern)[:1])
        while rows:
            row = rows.pop()
            found.update(_OF_ROWS.findall(row.pattern))
            rows += getattr(row, "rows", ())
    return frozenset(found), frozenset(first)


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


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the names that a line without a row uses, but those that the system defines."""
    found = ((kind, form.fullmatch(text)) for kind, form in _FORMS)
    return tuple(
        Reference(kind, match[1].strip("[]"))
        for kind, match in found
        if match and not BUILT_IN.fullmatch(match[1])
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


def is_known_word(reader: Reader, word: str) -> bool:
    """Return whether some row of a reader has a word."""
    return word in _read_words(reader)


def is_read_in(reader: Reader, block: str, text: str) -> bool:
    """Return whether a row of a reader matches a line in a block, which the lines of a text open."""
    return _is_read((reader,), (block,), text.split())


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
    known = _read_words(reader)
    mine = ((line, text) for name, line, text in unknown if name == file)
    doubtful = ((line, text) for line, text in mine if any(_words_like(word, known) for word in text.split()))
    for line, text in islice(doubtful, _MOST_TRIED):
        if found := _find_misspelling(reader, blocks, text):
            yield Misspelling(line, *found)


@lru_cache(1 << 10)
def _find_misspelling(reader: Reader, blocks: tuple[str, ...], text: str) -> tuple[str, str] | None:
    return _replaced_word((reader,), _read_words(reader), blocks, text)
