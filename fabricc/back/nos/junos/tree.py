"""Reads Junos text, in curly braces or as `set` commands, into one tree of words with the line of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# Words first, as most tokens are; comments are tokens too, for the lines that they take up.
_TOKEN = re.compile(
    r'[^\S\n]*([^\s{};\[\]"#/][^\s{};\[\]"]*|[{};\[\]\n]|"(?:[^"\\\n]|\\.)*"'
    r'|/\*[\s\S]*?(?:\*/|\Z)|#.*|/[^\s{};\[\]"]*|")'
)
_MARKS = frozenset("{};[]")
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

    def reference(self, known: Container[str], *words: str) -> tuple[str, int] | None:
        """As `value`, when it is a known name; a name of nothing stays unknown."""
        found = None
        for node in self.below(*words):
            if node.ends and node.word in known:
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
        if not self.has_unread():
            return
        stack: list[tuple[Node, tuple[str, ...]]] = [(self, ())]
        while stack:
            node, path = stack.pop()
            if node.ends and not node.used:
                yield node.line, " ".join(path)
            stack += [(child, (*path, child.word)) for child in node.children.values()]

    def has_unread(self) -> bool:
        """Whether anything is not understood."""
        stack = [self]
        while stack:
            node = stack.pop()
            if node.ends and not node.used:
                return True
            stack += node.children.values()
        return False

    def add(self, words: list[str], line: int) -> None:
        """Add a statement of so many words below; a list in brackets is one statement for each of its words."""
        if _LIST in words:
            at = words.index(_LIST)
            for word in words[at + 1 :]:
                self.add([*words[:at], word], line)
            return
        node = self.open(words, line)
        node.ends, node.line = True, line

    def open(self, words: list[str], line: int) -> Node:
        """The node at the end of these words, which is made where it is missing; words too deep are left out."""
        node = self
        for word in words if len(words) <= _DEEPEST else words[:_DEEPEST]:
            children = node.children
            if word in children:
                node = children[word]
            else:
                node = children[word] = Node(word, line)
        return node


class Text:
    """A configuration as a tree, with the statements that do not count."""

    __slots__ = ("ignored", "root")

    def __init__(self, text: str) -> None:
        self.root = Node("", 0)
        self.ignored: list[tuple[int, str]] = []
        tokens = _tokens(text)
        if next((token for token in tokens if token != "\n"), "") in _SET_VERBS:
            self._commands(tokens)
        else:
            self._braces(tokens)

    def _braces(self, tokens: list[str]) -> None:
        node = self.root
        path: list[str] = []
        above: list[tuple[Node, int, bool]] = []
        words: list[str] = []
        active, begun, empty = True, True, False
        number = 1
        for token in tokens:
            if token == "\n":
                number += 1
            elif token not in _MARKS:
                if words or (token not in _MARKERS and token != _INACTIVE):
                    words.append(token if token[0] != '"' else _unquoted(token))
                elif token == _INACTIVE:
                    begun = False
                empty = False
            elif token == ";":
                self._statement(node, path, words, number, active and begun)
                words, begun, empty = [], True, False
            elif token == "{":
                above.append((node, len(path), active))
                path += words
                active = active and begun
                if active and len(above) < _DEEPEST:
                    node = node.open(words, number)
                words, begun, empty = [], True, True
            elif token == "}":
                if words:
                    self.ignored.append((number, " ".join(path + words)))
                elif empty:
                    self._statement(node, path, [], number, active)
                if above:
                    node, length, active = above.pop()
                    del path[length:]
                words, begun, empty = [], True, False
            elif token == "[":
                words.append(_LIST)
        if words:
            self.ignored.append((number, " ".join(words)))

    def _statement(self, node: Node, path: list[str], words: list[str], line: int, active: bool) -> None:
        """A statement of `words` below `node`, which is at `path`."""
        if active and (path or words):
            node.add(words, line)
        elif path or words:
            self.ignored.append((line, f"{_INACTIVE} {' '.join(path + words)}"))

    def _commands(self, tokens: list[str]) -> None:
        deactivated: list[list[str]] = []
        words: list[str] = []
        number = 1
        for token in (*tokens, "\n"):
            if token == "[":
                words.append(_LIST)
            elif token not in _MARKS and token != "\n":
                words.append(_unquoted(token))
            elif token == "\n":
                if words[:1] == ["set"] and len(words) > 1:
                    self.root.add(words[1:], number)
                elif words:
                    self.ignored.append((number, " ".join(words)))
                    if words[0] == "deactivate":
                        deactivated.append(words[1:])
                words = []
                number += 1
        for path in deactivated:
            self._deactivate(path)

    def _deactivate(self, path: list[str]) -> None:
        above = self.root.get(*path[:-1])
        node = above.children.pop(path[-1], None) if above and path else None
        if node:
            start = " ".join(path)
            self.ignored += [(line, f"{_INACTIVE} {start} {rest}".strip()) for line, rest in node.unread()]


def _tokens(text: str) -> list[str]:
    """The tokens of a text without comments, with every end of a line; an over-long line is one in quotes."""
    if any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        text = "\n".join(f'"{line[:80]}"' if len(line) > _LONGEST_LINE else line for line in text.split("\n"))
    tokens: list[str] = _TOKEN.findall(text.rstrip())
    if "#" not in text and "/*" not in text:
        return tokens
    found: list[str] = []
    for token in tokens:
        if token.startswith("/*"):
            found += ["\n"] * token.count("\n")
        elif token[0] != "#":
            found.append(token)
    while found and found[-1] == "\n":
        found.pop()
    return found


def _unquoted(token: str) -> str:
    """What a token says: a text in quotes without them."""
    if token[0] != '"' or len(token) < 2:
        return token
    text = token[1:-1]
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
