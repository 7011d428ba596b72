"""Find words of a text without effect: too long prefixes, replaced policies, lost classes, marks of a merge."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
        for line, words, why in _lost_classes(text) if "policy-map type q" in text else ():
            reading.put(f"unread[{words}]", why, file, line)
    return reading


def state_refused_lines(reading: Reading, refused: Iterable[tuple[str, str]], file: str = "") -> None:
    """State the unknown lines of a file, or of all files, whose form a system refuses, with the reason."""
    for name, line, text in reading.unknown:
        if file in ("", name) and (
            why := next((why for form, why in refused if re.fullmatch(form, text)), "")
        ):
            reading.put(f"unread[line {line}]", why, name, line)


_BLOCK = re.compile(
    r"(class-map|policy-map) type (?:qos|quality-of-service)(?: match-\w+)? (\S+)|ip access-list (\S+)"
)
_CLASS = re.compile(r"\s+(?:\d+ )?class (?!class-default|built-in)(\S+)")
_PAUSED = re.compile(r"^\s+priority-flow-control priority (\d) no-drop", re.MULTILINE)
_TRUSTED = re.compile(r"^\s+qos trust dscp", re.MULTILINE)
_RDMA = re.compile(r"\b(?:match dscp (?:.* )?(?:24|26|cs3|af31)\b|eq 4791\b)")
_BOUND = re.compile(r"^\s+service-policy type qos input (\S+)", re.MULTILINE)
_LOSS = re.compile(r"drop|police .*")
_POINT = re.compile(r"set dscp (\d+)")


def _lost_classes(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, words and reason of classes by which a policy of EOS does not put RDMA into the class that is paused.

    A class without a match is of no packet, and a policy classifies where ports do not trust code points (EOS user
    manual, "Quality of Service").
    """
    blocks = _blocks_of_classes(text)
    maps = {name: lines for kind, name, lines in blocks if kind != "policy-map"}
    paused, trusted = {int(each) for each in _PAUSED.findall(text)}, _TRUSTED.search(text)
    for name, lines in ((name, lines) for kind, name, lines in blocks if kind == "policy-map"):
        if name not in _BOUND.findall(text):
            continue
        classes = dict[str, list[tuple[int, str]]]()
        for line, words in lines[1:]:
            if match := _CLASS.fullmatch(words):
                classes[match[1]] = [(line, words)]
            elif classes and not words.strip().startswith("class "):
                classes[[*classes][-1]].append((line, words))
            else:
                classes.setdefault("", []).append((line, words))
        classes.pop("", None)
        filled = False
        of_rdma = lines[0][0]
        for each, inside in classes.items():
            if each not in maps:
                yield inside[0][0], f"class {each}", "no class map has this name"
            elif not any("match" in words for _, words in maps[each][1:]):
                yield maps[each][0][0], f"class map {each}", "it has no condition, so it is of no packet"
            sets = {words.split()[-1]: line for line, words in inside if "set traffic-class" in words}
            about = "\n".join(words for _, words in maps.get(each, ()))
            lists = [
                words
                for listed, found in maps.items()
                if f"access-group {listed}" in about
                for _, words in found
            ]
            if any(map(_RDMA.search, (about, *lists))):
                of_rdma = next(iter(sets.values()), inside[0][0])
            if paused & {*map(int, filter(is_number, sets))}:
                filled = True
                for line, words in inside[1:]:
                    point = _POINT.fullmatch(words.strip())
                    if _LOSS.fullmatch(words.strip()):
                        yield (
                            line,
                            f"class {each}",
                            f"`{words.strip()}` drops packets of a class that is paused",
                        )
                    elif point and int(point[1]) >> 3 not in paused:
                        yield (
                            line,
                            f"class {each}",
                            f"`{words.strip()}`: next switches take its packets for others",
                        )
        if paused and classes and not filled and not trusted:
            yield (
                of_rdma,
                f"policy-map {name}",
                f"it puts no packets into traffic class {min(paused)}, which is paused",
            )


def _blocks_of_classes(text: str) -> list[tuple[str, str, list[tuple[int, str]]]]:
    """Return kind, name, and numbered lines of each class map, policy map and list."""
    found: list[tuple[str, str, list[tuple[int, str]]]] = []
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if match := _BLOCK.match(line):
            inside = True
            found.append((match[1] or "list", match[2] or match[3], [(number, line)]))
        elif inside and line.startswith(" ") and line.strip() != "!":
            found[-1][2].append((number, line))
        elif line.strip() != "!" or not line.startswith(" "):
            inside = False
    return found


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


_LEFT_OVER = re.compile(
    r"^\s*(?:<{7}|>{7}|={7})(?: .*)?$|^(?!\s*(?:[!#/]|description|banner)).*(?:\{\{.*\}\}|\{%.*%\})",
    re.MULTILINE,
)


def left_over_lines(files: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield file, number and text of marks of a merge with conflicts, and of variables that no template filled in."""
    for file, text in files.items():
        if "<<<" in text or ">>>" in text or "{{" in text or "{%" in text:
            for match in _LEFT_OVER.finditer(text):
                yield file, text.count("\n", 0, match.start()) + 1, match[0].strip()


NAMES_AS = re.compile(r"\b(?:peer|remote|neighbor)[-_]?as\b", re.IGNORECASE)
"""A line about the AS number of a neighbor, in the words of any system."""


NAMES_ADDRESS = re.compile(r"(?<![\w-])addre?s{0,2}\b(?! virtual)", re.IGNORECASE)
"""A line about an address of a port, also one that is commented out or misspelled."""
_FAMILY = re.compile(r"\s*address-family (\S+)")
_LOST = re.compile(r"\s*(?:[!#]+\s*|no )neighbor (\S+) activate\s*")


def lost_activation(text: str, neighbor: str, family: str) -> int:
    """Return the line by which a session or its group does not carry a family, or a comment that did; 0 without one."""
    groups = re.findall(
        rf"^\s*neighbor {re.escape(neighbor)} (?:interface )?peer[ -]group (\S+)", text, re.MULTILINE
    )
    inside, names = "", {neighbor, *groups}
    for number, line in enumerate(text.split("\n"), 1):
        if match := _FAMILY.match(line):
            inside = match[1]
        elif inside == family and (match := _LOST.fullmatch(line)) and match[1] in names:
            return number
    return 0


BUILT_IN = re.compile(
    r"default|dscp-\S+|ieee8021p-\S+|junos\S*|re[01]|node\d+|member\d+|\S+-(?:effort|forwarding|control)"
)
"""Names that a system defines itself (Junos CLI reference, "Default CoS settings" and `apply-groups`)."""
_GROUP = re.compile(r"groups (\S+) .*")


def unapplied_group(system: str, text: str, files: Mapping[str, str]) -> str:
    """Return the group that an unread line is of, which no `apply-groups` of the files names; "" for none."""
    match = _GROUP.fullmatch(text) if system == "junos" else None
    if match is None or BUILT_IN.fullmatch(match[1]):
        return ""
    applied = re.compile(rf"^(?:set |[^#\n:]*[{{;}})]?\s*){_applies(match[1])}", re.MULTILINE)
    return "" if any(applied.search(_COMMENT.sub("", each)) for each in files.values()) else match[1]


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def _applies(group: str) -> str:
    return rf"apply-groups (?:\[[^\]]*)?(?<![\w-]){re.escape(group)}(?![\w-])"


def line_of_group(group: str, text: str) -> int:
    """Return the line that applied a group, in a comment or with another word; 0 without one."""
    named = re.compile(rf"\bapply-\w+(?:-except)? (?:\[.*)?{re.escape(group)}\b")
    return next((at for at, line in enumerate(text.split("\n"), 1) if named.search(line)), 0)
