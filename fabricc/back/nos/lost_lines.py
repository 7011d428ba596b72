"""State words of a text that take no effect: prefixes that are too long, and policies that a later line replaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Reading

_LONG = re.compile(r"/(?:3[3-9]|[4-9][0-9]|[0-9]{3})(?![\w./:-])")
_BEFORE_LENGTH = re.compile(
    r"(?:.*[^\w.:/-])?(?P<word>(?P<four>(?:[0-9]{1,3}\.){3}[0-9]{1,3})|[0-9a-f]{1,4}:[0-9a-f:]*)", re.DOTALL
)
_LONGEST, _SIX_BITS = 45, 128
"""Characters of an address, and bits of one of IPv6."""
_WORDS_OF_PEOPLE = re.compile(r"\s*(?:[!#]|/\*)|.*\b(?:description|remark|banner|message)\b")


def state_lost_lines(reading: Reading, files: Mapping[str, str]) -> Reading:
    """Add the facts of such words, with the reason, to a reading of files, and return it."""
    for file, text in files.items():
        for line, prefix in _impossible_prefixes(text):
            reading.put(f"unread[{prefix}]", "its length is larger than that of an address", file, line)
        for line, words, policy in _replaced_policies(text) if "route-map " in text else ():
            reading.put(f"unread[{words}]", f"a later line names {policy} instead", file, line)
    return reading


def _impossible_prefixes(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each prefix with a length above that of an address, outside of comments."""
    for match in _LONG.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        near = text[max(start, match.start() - _LONGEST) : match.start()]
        address = _BEFORE_LENGTH.fullmatch(near)
        if not address or not (address["four"] or int(match[0][1:]) > _SIX_BITS):
            continue
        if not _WORDS_OF_PEOPLE.match(text, start, match.start()):
            yield text.count("\n", 0, start) + 1, near[address.start("word") :] + match[0]


_POLICY = re.compile(r"route-map (\S+) (in|out)$", re.MULTILINE)
_BEFORE_POLICY = re.compile(r"( +)(neighbor \S+ )?")


class _PolicyLine(NamedTuple):
    """A line that gives a session a policy: where it begins, its text, and the policy."""

    start: int
    text: str
    policy: str


def _replaced_policies(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line and words of policies of sessions that a later line of the same block replaces, and the later one."""
    last: dict[tuple[str, str, str], _PolicyLine] = {}
    for match in _POLICY.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        if not (head := _BEFORE_POLICY.fullmatch(text, start, match.start())):
            continue
        key = head[1], head[2] or "", match[2]
        before = last.get(key)
        last[key] = _PolicyLine(start, text[start : match.end()], match[1])
        if before and before.policy != match[1]:
            between = text[before.start + len(before.text) : start].split("\n")
            if not any(_leaves_block(each, head[1]) for each in between):
                yield text.count("\n", 0, before.start) + 1, before.text.strip(), match[1]


def _leaves_block(line: str, indent: str) -> bool:
    """Return whether a line is less deep than a block."""
    return bool(line.strip(" !")) and not line.startswith(indent)
