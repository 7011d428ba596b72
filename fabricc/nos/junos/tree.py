"""Reads Junos text, in curly braces or as `set` commands, into one tree of words with the line of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(/\*)|(#.*)|([{};\[\]])|([^\s{};\[\]"]+)|(")')
_ESCAPE = re.compile(r"\\(.)")
_SET_VERBS = {"set", "delete", "activate", "deactivate", "protect", "unprotect", "insert", "annotate"}
_INACTIVE = "inactive:"
_MARKERS = {"protect:", "active:"}
_LIST = "\x00"  # stands for an opening bracket among the words of a statement
_LONGEST_LINE = 65_536
_DEEPEST = 64


class Node:
    """One word below the words before it; both forms of a configuration give the same tree.

    Attributes:
        ends: True when a statement ends here.
        used: True once a reader has understood the statement that ends here.
    """

    __slots__ = ("children", "ends", "line", "used", "word")

    def __init__(self, word: str, line: int) -> None:
        self.word = word
        self.line = line
        self.ends = False
        self.used = False
        self.children: dict[str, Node] = {}

    def get(self, *words: str) -> Node | None:
        """The node at the end of these words, or None."""
        node: Node | None = self
        for word in words:
            node = node.children.get(word) if node else None
        return node

    def below(self, *words: str) -> Iterator[Node]:
        """The nodes one word below the end of these words, in order."""
        node = self.get(*words)
        return iter(node.children.values() if node else ())

    def take(self) -> int:
        """Understand the statement that ends here; its line, or 0 when none does."""
        if not self.ends:
            return 0
        self.used = True
        return self.line

    def flag(self, *words: str) -> int:
        """Understand the statement that ends with these words; its line, or 0."""
        node = self.get(*words)
        return node.take() if node else 0

    def value(self, *words: str) -> tuple[str, int] | None:
        """The one word that follows these, and its line; of several the last, as a later `set` replaces."""
        found = None
        for node in self.below(*words):
            if node.ends and not node.children:
                found = node
        return (found.word, found.take()) if found else None

    def number(self, *words: str) -> tuple[int, int] | None:
        """As `value`, when it is a decimal number; another word stays unknown."""
        found = None
        for node in self.below(*words):
            if node.ends and node.word.isdecimal() and len(node.word) < 20:
                found = node
        return (int(found.word), found.take()) if found else None

    def values(self, *words: str) -> list[tuple[str, int]]:
        """All words that follow these, and their lines."""
        return [(node.word, node.take()) for node in self.below(*words) if node.ends]

    def unread(self) -> Iterator[tuple[int, str]]:
        """(line, statement) of everything not understood."""
        stack: list[tuple[Node, str]] = [(self, "")]
        while stack:
            node, path = stack.pop()
            if node.ends and not node.used:
                yield node.line, path
            stack += [(child, f"{path} {child.word}".lstrip()) for child in node.children.values()]


class Text:
    """A configuration as a tree, with the statements that do not count."""

    __slots__ = ("ignored", "root")

    def __init__(self, text: str) -> None:
        self.root = Node("", 0)
        self.ignored: list[tuple[int, str]] = []
        deactivated: list[tuple[str, ...]] = []
        tokens = list(_tokens(text))
        first = next((token for token, _, quote in tokens if not quote), "")
        if first in _SET_VERBS:
            self._commands(text, deactivated)
        else:
            self._braces(tokens)
        for path in deactivated:
            self._deactivate(path)

    def _add(self, words: list[str], line: int) -> None:
        node = self.root
        for word in words[:_DEEPEST]:
            node = node.children.setdefault(word, Node(word, line))
        node.ends, node.line = True, line

    def _statement(self, words: list[str], line: int, active: bool) -> None:
        """Add a statement; a list in brackets is one statement for each of its words."""
        if _LIST in words:
            at = words.index(_LIST)
            for word in words[at + 1 :]:
                self._statement([*words[:at], word], line, active)
        elif active and words:
            self._add(words, line)
        elif words:
            self.ignored.append((line, f"{_INACTIVE} {' '.join(words)}"))

    def _braces(self, tokens: list[tuple[str, int, bool]]) -> None:
        path: list[str] = []
        depths: list[tuple[int, bool]] = []
        words: list[str] = []
        active, begun, empty = True, True, False
        for token, line, quote in tokens:
            if quote or token not in "{};[]":
                if not words and not quote and token == _INACTIVE:
                    begun = False
                elif words or quote or token not in _MARKERS:
                    words.append(token)
                empty = False
            elif token == "[":
                words.append(_LIST)
            elif token == "{":
                depths.append((len(path), active))
                path += words
                active = active and begun
                words, begun, empty = [], True, True
            elif token == ";":
                self._statement(path + words, line, active and begun)
                words, begun, empty = [], True, False
            elif token == "}":
                if words:
                    self.ignored.append((line, " ".join(path + words)))
                elif empty:
                    self._statement(path, line, active)
                if depths:
                    length, active = depths.pop()
                    del path[length:]
                words, begun, empty = [], True, False
        if words:
            self.ignored.append((tokens[-1][1], " ".join(words)))

    def _commands(self, text: str, deactivated: list[tuple[str, ...]]) -> None:
        for number, raw in enumerate(text.split("\n"), 1):
            words = [
                _LIST if token == "[" and not quote else token
                for token, _, quote in _tokens(raw)
                if quote or token not in "{};]"
            ]
            if not words:
                continue
            if words[0] == "set" and len(words) > 1:
                self._statement(words[1:], number, active=True)
            elif words[0] == "deactivate":
                deactivated.append(tuple(words[1:]))
                self.ignored.append((number, " ".join(words)))
            else:
                self.ignored.append((number, " ".join(words)))

    def _deactivate(self, path: tuple[str, ...]) -> None:
        above = self.root.get(*path[:-1])
        node = above.children.pop(path[-1], None) if above and path else None
        if node:
            start = " ".join(path)
            self.ignored += [(line, f"{_INACTIVE} {start} {rest}".strip()) for line, rest in node.unread()]


def _tokens(text: str) -> Iterator[tuple[str, int, bool]]:
    """(token, line, whether it stood in quotes) without comments; over-long lines give one token."""
    comment = False
    for number, raw in enumerate(text.split("\n"), 1):
        at = 0
        if len(raw) > _LONGEST_LINE:
            yield raw[:80], number, True
            continue
        while at < len(raw):
            if comment:
                end = raw.find("*/", at)
                comment = end < 0
                at = len(raw) if comment else end + 2
                continue
            match = _TOKEN.search(raw, at)
            if match is None:
                break
            at = match.end()
            text_in_quotes, opening, remark, mark, word, stray = match.groups()
            if text_in_quotes is not None:
                yield _ESCAPE.sub(r"\1", text_in_quotes), number, True
            elif opening:
                comment = True
            elif not remark:
                yield mark or word or stray, number, False
