"""One tree for the text of every syntax but command lines: braces, `set` commands, assignments, YAML and JSON."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from yaml.nodes import Node as YamlNode


MAX_DEPTH = 32
"""Nesting beyond that of any configuration."""


def compose_yaml(text: str) -> YamlNode | None:
    """Return the root node of a YAML text; None when it is empty.

    Raises:
        yaml.YAMLError: the text is not YAML, or nested deeper than `MAX_DEPTH`: libyaml composes recursively and
            without a limit of its own, so that deeper text would end the process.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    found: YamlNode | None = yaml.compose(text, Loader=loader)
    return found


_DEEPEST = 64
_LONGEST_TOKEN = 65_536
_MOST_NODES = 200_000
_QUOTE, _MOST_QUOTES = '\\"', 64
# Words first, as most tokens are; comments are tokens too, for the lines that they take up.
_TOKEN = re.compile(
    r'[^\S\n]*([^\s{};\[\]"#/][^\s{};\[\]"]*|[{};\[\]\n]|"(?:[^"\\\n]|\\.)*"'
    r'|/\*[\s\S]*?(?:\*/|\Z)|#.*|/[^\s{};\[\]"]*|")'
)
_ESCAPE = re.compile(r"\\([^n])")  # `\n` of a text of several lines stays
_MARKS = frozenset("{};[]\n")
_MARKERS = frozenset({"protect:", "active:"})
_INACTIVE = "inactive:"
_line = attrgetter("line")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Node:
    """A statement, or a part of one, with what is below it.

    Attributes:
        key: its words.
        line: where it stands, from 1.
        children: the nodes below; None where there are none, for most have none.
    """

    __slots__ = ("children", "key", "line")

    def __init__(self, key: tuple[str, ...], line: int) -> None:
        self.key = key
        self.line = line
        self.children: list[Node] | None = None

    @property
    def text(self) -> str:
        """The words with a blank between each."""
        return " ".join(self.key)

    def add(self, node: Node) -> Node:
        """Add a node below and return it."""
        if self.children is None:
            self.children = [node]
        else:
            self.children.append(node)
        return node


class Tree(NamedTuple):
    """The content of a text.

    Attributes:
        nodes: the top-level nodes, in the order of their lines.
        faults: (line, text) of parts that are not in force.
        inherited: inherited nodes, which other nodes override; their lines are those of their group.
        text: the nodes of the text, if `nodes` lacks some of them; used to report lines.
    """

    nodes: Sequence[Node]
    faults: Sequence[tuple[int, str]] = ()
    inherited: Sequence[Node] = ()
    text: Sequence[Node] | None = None


def leaf_paths(nodes: Sequence[Node], above: tuple[str, ...] = ()) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (line, words) of every leaf, with the words of the path."""
    stack = [(node, (*above, *node.key)) for node in reversed(nodes)]
    while stack:
        node, words = stack.pop()
        if node.children is None:
            yield node.line, words
        else:
            stack += [(child, (*words, *child.key)) for child in reversed(node.children)]


def find_node(nodes: Sequence[Node] | None, *words: str) -> Node | None:
    """Return the first node at a path."""
    found = None
    for word in words:
        found = next((node for node in nodes or () if node.key[:1] == (word,)), None)
        nodes = found.children if found else None
    return found


def leaf_statements(
    nodes: Sequence[Node], above: tuple[str, ...] = (), describe: Callable[[tuple[str, ...]], str] = " ".join
) -> Iterator[tuple[int, str]]:
    """Yield (line, words) of every leaf, with the words formatted by `describe`."""
    return ((line, describe(words)) for line, words in leaf_paths(nodes, above))


def statements_at(nodes: Sequence[Node], line: int, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the statements on a line, with the words above them, in the order of their lines."""
    first = bisect_left(nodes, line, key=_line) - 1
    for node in nodes[max(0, first) : bisect_right(nodes, line, key=_line)]:
        words = (*above, *node.key)
        if node.children is not None:
            yield from statements_at(node.children, line, words)
        elif node.line == line:
            yield " ".join(words)


def braces(text: str) -> Tree:
    """Parse statements as Junos prints them: `words;` and `words { … }`; a list in brackets gives one each.

    Statements after `inactive:` do not count, nor unterminated ones.
    """
    root = Node((), 0)
    faults: list[tuple[int, str]] = []
    above: list[tuple[Node, bool]] = []
    path: list[tuple[str, ...]] = []
    node, active = root, True
    words: list[str] = []
    listed, begun, number = -1, True, 1
    for token in _tokenize(text):
        if token not in _MARKS:
            if words or (token not in _MARKERS and token != _INACTIVE):
                words.append(token if token[0] != '"' else _strip_quotes(token))
            else:
                begun = begun and token != _INACTIVE
        elif token == "\n":
            number += 1
        elif token == ";":
            if not (active and begun):
                if words:
                    faults.append((number, _inactive_text(path, words)))
            elif listed < 0:
                node.add(Node(tuple(words), number))
            else:
                for each in _expand_list(words, listed):
                    node.add(Node(each, number))
            words, listed, begun = [], -1, True
        elif token == "{":
            key = tuple(words)
            above.append((node, active))
            path.append(key)
            active = active and begun
            if active and len(above) < _DEEPEST:
                node = node.add(Node(key, number))
            words, listed, begun = [], -1, True
        elif token == "}":
            if words:
                faults.append((number, _join_path(path, words)))
            elif not active and path and path[-1]:
                faults.append((number, _inactive_text(path, ())))
            if above:
                node, active = above.pop()
                path.pop()
            words, listed, begun = [], -1, True
        elif token == "[":
            listed = len(words)
    if words:
        faults.append((number, " ".join(words)))
    return Tree(root.children or (), faults)


def commands(text: str) -> Tree:
    """Parse `set` lines of Junos and NVUE, each a path of words.

    Statements under `deactivate` do not count, nor those before a `delete` of them.
    """
    nodes: list[Node] = []
    faults: list[tuple[int, str]] = []
    off: set[tuple[str, ...]] = set()
    words: list[str] = []
    number, listed = 1, -1
    for token in (*_tokenize(text), "\n"):
        if token == "[":
            listed = len(words)
        elif token not in ("\n", "]", "{", "}", ";"):
            words.append(_strip_quotes(token))
        elif token == "\n":
            if words[:1] == ["set"] and len(words) > 1:
                nodes += [Node(each[:_DEEPEST], number) for each in _expand_list(words[1:], listed - 1)]
            elif words:
                faults.append((number, " ".join(words)))
                if words[0] == "deactivate":
                    off.add(tuple(words[1:]))
                elif words[0] == "delete" and len(words) > 1:
                    key = tuple(words[1:])
                    gone = [node for node in nodes if node.key[: len(key)] == key]
                    faults += [(node.line, f"{_INACTIVE} {node.text}") for node in gone]
                    nodes = [node for node in nodes if node.key[: len(key)] != key]
            words, listed = [], -1
            number += 1
    if not off:
        return Tree(nodes, faults)
    kept = []
    for node in nodes:
        if any(node.key[:end] in off for end in range(1, len(node.key) + 1)):
            faults.append((node.line, f"{_INACTIVE} {node.text}"))
        else:
            kept.append(node)
    return Tree(kept, faults)


def assignments(text: str) -> Tree:
    """Parse lines `name = words`, as in sysctl.conf and shell variables; `[name]` opens a section, as in systemd.

    A value may be in quotes; `#` and `;` begin a comment.
    """
    root = node = Node((), 0)
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        name, equals, value = line.partition("=")
        if line[0] == "[" and line[-1] == "]":
            node = root.add(Node((line[1:-1],), number))
        elif equals:
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            node.add(Node((name.strip(), "=", *(value[1:-1] if quoted else value).split()), number))
        else:
            node.add(Node(tuple(line.split()), number))
    return Tree(root.children or ())


def _expand_list(words: list[str], at: int) -> list[tuple[str, ...]]:
    """Return a statement, or one for each word from `at` on; -1 (or less) for no list."""
    return [tuple(words)] if at < 0 else [(*words[:at], word) for word in words[at:]]


def _join_path(path: Sequence[tuple[str, ...]], words: Sequence[str]) -> str:
    return " ".join([word for part in (*path, words) for word in part])


def _inactive_text(path: Sequence[tuple[str, ...]], words: Sequence[str]) -> str:
    return f"{_INACTIVE} {_join_path(path, words)}"


def _tokenize(text: str) -> list[str]:
    """Return the tokens of a text without comments, with every end of a line.

    A line that is too long, or has too many escaped quotes, is one token: a quote that nothing ends costs the square.
    """
    text = text.rstrip()
    lines = text.split("\n")
    if max(map(len, lines)) > _LONGEST_TOKEN or text.count(_QUOTE) > _MOST_QUOTES:
        text = "\n".join([f'"{line[:80]}"' if _is_too_long(line) else line for line in lines])
    tokens: list[str] = _TOKEN.findall(text)
    if "#" not in text and "/*" not in text:
        return tokens
    found: list[str] = []
    for token in tokens:
        if token[0] not in "#/":
            found.append(token)
        elif token[:2] == "/*":
            found += ["\n"] * token.count("\n")
        elif token[0] == "/":
            found.append(token)
    return found


def _is_too_long(line: str) -> bool:
    return len(line) > _LONGEST_TOKEN or line.count(_QUOTE) > _MOST_QUOTES


def _strip_quotes(token: str) -> str:
    """Return the value of a token: a quoted text without its quotes."""
    return token if token[0] != '"' or len(token) < 2 else _ESCAPE.sub(r"\1", token[1:-1])


_BREAKS = dict.fromkeys(map(ord, "\r\x85\u2028\u2029"), " ")
"""Breaks of YAML 1.1 (section 5.4) that end no line elsewhere: line numbers are those of the text."""


_BROKEN = ("no structured text", "not JSON")


def is_broken(unknown: str) -> bool:
    """Return whether the text of an unknown line is the reader's own, about a file that is no YAML or JSON."""
    return unknown.startswith(_BROKEN)


def parse_structured_text(text: str) -> Tree:
    """Parse YAML, including JSON: a key is a word, a scalar the last word, and list items are siblings.

    A mapping in a list is a node without words; its content continues at the place of the list. Null is no word.

    A repeated key (the later one counts) and text that is no YAML are reported by line.
    """
    import yaml

    try:
        composed = compose_yaml(text.translate(_BREAKS))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        return Tree((), [(min(line, text.count("\n") + 1), f"{_BROKEN[0]} from here on")])
    except (yaml.YAMLError, RecursionError, UnicodeError):  # half a surrogate pair has no UTF-8
        return Tree((), [(1, _BROKEN[0])])
    root, faults = Node((), 0), list[tuple[int, str]]()
    budget = _MOST_NODES
    stack: list[tuple[Node, YamlNode]] = [(root, composed)] if composed is not None else []
    while stack:
        above, value = stack.pop()
        lines: dict[str, int] = {}
        below: list[tuple[Node, YamlNode]] = []
        items = value.value if not isinstance(value, yaml.ScalarNode) else ()
        budget -= len(items)
        if budget < 0:  # aliases expand to more than any configuration holds
            return Tree((), [(1, "no configuration is as large")])
        for item in items:
            key, member = item if isinstance(item, tuple) else (None, item)
            line = (key or member).start_mark.line + 1
            name: tuple[str, ...] = ()
            if key is not None:
                if not isinstance(key, yaml.ScalarNode):
                    faults.append((line, "no key"))
                    continue
                if key.value in lines:
                    faults += ((at, f"duplicate key: {key.value[:80]}") for at in (lines[key.value], line))
                lines[key.value] = line
                name = (key.value,)
            if not isinstance(member, yaml.ScalarNode):
                below.append((above.add(Node(name, line)), member))
            elif not member.style and member.value in _NULLS:
                above.add(Node(name, line))
            else:
                above.add(Node((*name, member.value), line))
        stack += reversed(below)
    return Tree(root.children or (), faults)
