"""The results of reading a text: values that wait in the scopes of their blocks, and facts."""

from __future__ import annotations

from ipaddress import IPv6Address
from operator import itemgetter
from typing import TYPE_CHECKING

from fabricc.back.reading.tree import Tree, statements_at
from fabricc.fabric.facts import Reading, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.back.reading.rows import Captured
    from fabricc.back.reading.trie import Effect

StoredValue = tuple[Value, int]
"""A value and the line that states it."""

_NOTHING = (None, 0)
_NEIGHBOR = "bgp/neighbor["


class OnceValues(dict[str, "StoredValue"]):
    """Values of a block that states each of them once; a line that repeats one is listed."""

    __slots__ = ("_document", "_listed")

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._document = document
        self._listed = 0

    def __setitem__(self, name: str, stored: StoredValue) -> None:
        if name in self and stored[1] != self._listed:
            self._listed = stored[1]
            self._document.reject(stored[1])
        super().__setitem__(name, stored)


class Scope:
    """The values from the lines of a block.

    Attributes:
        line: line that first opened it, 0 for a whole text.
        values: name -> (value, line).
        tables: name -> key -> (value, line) of entries.
        scopes: name -> key -> scope of the blocks in it.
        used: whether something refers to it.
    """

    __slots__ = ("line", "scopes", "tables", "used", "values")

    def __init__(self, line: int) -> None:
        self.line = line
        self.values: dict[str, StoredValue] = {}
        self.tables: dict[str, dict[Value, StoredValue]] = {}
        self.scopes: dict[str, dict[Captured, Scope]] = {}
        self.used = False

    def table(self, name: str) -> dict[Value, StoredValue]:
        """Return the entries of a table in the order of their first lines; empty without such lines."""
        return self.tables.get(name, {})

    def ordered_entries(self, name: str) -> list[StoredValue]:
        """Return the entries of a table in the order of their keys, such as sequence numbers."""
        return [entry for _, entry in sorted(self.table(name).items())]

    def each(self, name: str) -> dict[Captured, Scope]:
        """Return the scopes of that name by key; statements about several things apply to each."""
        found = self.scopes.get(name, {})
        if tuple not in map(type, found):
            return found
        single: dict[Captured, Scope] = {}
        for key, scope in found.items():
            for one in key if isinstance(key, tuple) else (key,):
                single.setdefault(one, Scope(scope.line)).take(scope)
        return single

    def take(self, other: Scope) -> None:
        """Add the values of another scope of the same thing; of two values that of the later line counts."""
        for name, value in other.values.items():
            self.values[name] = max(self.values.get(name, value), value, key=itemgetter(1))
        for name, table in other.tables.items():
            self.tables.setdefault(name, {}).update(table)
        for name, scopes in other.scopes.items():
            for key, scope in scopes.items():
                self.scopes.setdefault(name, {}).setdefault(key, Scope(scope.line)).take(scope)

    def inherit_from(self, outer: Scope) -> Scope:
        """Return the values of a block, completed from the outer one: single values, and tables as a whole."""
        merged = Scope(self.line)
        merged.values = outer.values | self.values
        merged.tables = outer.tables | self.tables
        merged.scopes = outer.scopes | self.scopes
        return merged

    def stored_values(self) -> Iterator[StoredValue]:
        """Yield everything that was kept here and in the scopes below."""
        yield from self.values.values()
        for table in self.tables.values():
            yield from table.values()
        for scopes in self.scopes.values():
            for scope in scopes.values():
                yield from scope.stored_values()


def agreed_facts(path: str, values: Mapping[Value, int]) -> Iterator[tuple[str, Value, int]]:
    """Yield one fact for a value that several blocks state; `stored_values` has the line of each value.

    If the values differ, each becomes a fact of its own at its line.
    """
    if len(values) == 1:
        yield path, *next(iter(values.items()))
    elif values:
        yield path, ",".join(sorted(map(str, values))), max(values.values())
        for value, line in values.items():
            yield f"{path}[{value}]", value, line


def usual_neighbor(path: str) -> str:
    """Return a path whose IPv6 neighbor is written as RFC 5952 does: `::0` is `::`."""
    before, opening, rest = path.partition(_NEIGHBOR)
    name, closing, after = rest.partition("]")
    try:
        usual = str(IPv6Address(name))
    except ValueError:
        return path
    return f"{before}{opening}{usual}{closing}{after}"


class Document:
    """A file during reading.

    Attributes:
        scope: values of its lines outside of blocks with their own scopes.
        reading: facts, their lines, and unknown lines.
        tree: None for lines by indentation.
        once: whether a repeated value is listed.
        inherits: whether lines only supply values that others do not state.
        root: the scope of the whole text with the definitions; `whole`: the file that contains this part, or itself.
    """

    __slots__ = (
        "_agreements", "_lines", "_listed", "_statements", "file", "inherits", "once", "reading", "root", "scope",
        "text", "tree", "whole",
    )  # fmt: skip

    def __init__(
        self, file: str, text: str, reading: Reading, tree: Tree | None = None, *, once: bool = False
    ) -> None:
        self.file = file
        self.text = text
        self.reading = reading
        self.scope = self.root = Scope(0)
        self.tree = tree
        self.whole = self
        self.inherits = False
        self.once = once
        self._agreements: dict[str, dict[Value, int]] = {}
        self._listed: set[tuple[int, str]] = set()
        self._lines: list[str] = []
        self._statements: dict[int, list[str]] = {}

    def put(self, path: str, value: Value, line: int) -> None:
        """State a fact; line 0 means a default without a line. An IPv6 neighbor has the usual form of its address."""
        if ":" in path and _NEIGHBOR in path:
            path = usual_neighbor(path)
        self.reading.facts[path] = value
        if line:
            self.reading.lines[path] = (self.file, line)

    def put_also(self, path: str, value: Value, line: int) -> None:
        """State a fact in addition to a different one, for systems that add instead of replace."""
        same = self.reading.facts.get(path, value) == value
        self.put(*((path, value) if same else (f"{path}/also[{value}]", "true")), line)

    def apply_effect(self, effect: Effect, scope: Scope, line: int) -> Scope:
        """Apply the effect of a line in a scope; return the scope in which it ends."""
        _, opens, facts, keeps, entries, _, _ = effect
        for name, key, once in opens:
            named = scope.scopes.setdefault(name, {})
            known = named.get(key)
            if known is None:
                known = named[key] = Scope(line)
                if once:
                    known.values = OnceValues(self)
            scope = known
        inherits, once = self.inherits, self.once
        if keeps:
            values = scope.values
            for name, value in keeps:
                if inherits and name in values:
                    continue
                if once and values.get(name, _NOTHING)[0] not in (None, value):
                    self.reject(values[name][1])
                values[name] = (value, line)
        if facts:
            stated, lines, place = self.reading.facts, self.reading.lines, (self.file, line)
            for path, value in facts:
                if ":" in path and _NEIGHBOR in path:
                    path = usual_neighbor(path)
                if inherits and path in stated:
                    continue
                if once and stated.get(path, value) != value and lines[path][0] == self.file:
                    self.reject(lines[path][1])
                stated[path] = value
                lines[path] = place
        for name, key, value in entries:
            table = scope.tables.get(name)
            if table is None:
                table = scope.tables[name] = {}
            if not (inherits and key in table):
                table[key] = (value, line)
        return scope

    def default(self, path: str, value: Value) -> None:
        """State a default, which applies if no line states another value."""
        if ":" in path and _NEIGHBOR in path:
            path = usual_neighbor(path)
        self.reading.facts.setdefault(path, value)

    def put_all(self, facts: Iterable[tuple[str, Value, int]]) -> None:
        """State facts: path, value, line."""
        for fact in facts:
            self.put(*fact)

    def put_kept(self, path: str, values: Mapping[str, StoredValue], name: str) -> None:
        """State the value kept under a name, if a line has it."""
        if name in values:
            self.put(path, *values[name])

    def put_leaves(self, prefix: str, values: Mapping[str, StoredValue], leaves: Iterable[str]) -> None:
        """State what was kept under the names of facts below `prefix`."""
        for leaf in leaves:
            if leaf in values:
                self.put(prefix + leaf, *values[leaf])

    def put_places(self, path: str, values: Iterable[tuple[Value, int]]) -> None:
        """State each of a list by its place below `path`."""
        for place, (value, line) in enumerate(values):
            self.put(f"{path}/{place}", value, line)

    def put_set(self, path: str, table: Mapping[Value, StoredValue]) -> None:
        """State the keys of a table as one fact, at its last line, where it has any."""
        if table:
            self.put(path, ",".join(sorted(map(str, table))), max(line for _, line in table.values()))

    def agree(self, path: str, value: Value, line: int) -> None:
        """Record a value that several blocks each state; `put_agreed` states them all."""
        self._agreements.setdefault(path, {})[value] = line

    def put_agreed(self) -> None:
        """State what was noted, each as one fact where all agree."""
        for path, stated in self._agreements.items():
            self.put_all(agreed_facts(path, stated))
        self._agreements.clear()

    def resolve_reference(self, kind: str, name: Value, line: int, ending: Value = "") -> Scope | None:
        """Return the definition of a kind that a line refers to; reject a reference to nothing."""
        found = self.root.scopes.get(kind, {}).get(name)
        if found is None:
            self.reject(line, ending)
        else:
            found.used = True
        return found

    def reject_unused(self, *kinds: str) -> None:
        """List all lines of definitions that nothing refers to."""
        for kind in kinds:
            for scope in self.scope.each(kind).values():
                if not scope.used:
                    self.reject_all(scope)

    def reject(self, line: int, ending: Value = "") -> None:
        """List a line whose words are known but whose combination with other lines is not.

        If a tree has several statements on that line, those that end in the word `ending` are listed.
        """
        for text in self._statement_texts(line):
            if text.endswith(str(ending)) and (line, text) not in self._listed:
                self._listed.add((line, text))
                self.reading.unknown.append((self.file, line, text))

    def reject_all(self, scope: Scope) -> None:
        """List all lines that kept something in a scope or below."""
        for line in sorted({line for _, line in scope.stored_values()}):
            self.reject(line)

    @property
    def lines(self) -> list[str]:
        """Return the lines of the text, which is split once for all of its parts."""
        whole = self.whole
        whole._lines = whole._lines or whole.text.split("\n")
        return whole._lines

    def _statement_texts(self, line: int) -> list[str]:
        """Return the statements on a line; those of a tree with the words above them."""
        known = self.whole._statements
        if line not in known:
            if self.tree is None:
                known[line] = [" ".join(self.lines[line - 1].split())]
            else:
                nodes = self.tree.nodes if self.tree.text is None else self.tree.text
                known[line] = list(statements_at(nodes, line))
        return known[line]


class Part(Document):
    """A part of a file that is like a whole file, such as a routing instance: its facts have a prefix."""

    __slots__ = ("prefix",)

    def __init__(self, whole: Document, prefix: str, scope: Scope) -> None:
        super().__init__(whole.file, whole.text, whole.reading, whole.tree, once=whole.once)
        self.prefix = prefix
        self.scope, self.root, self._listed = scope, whole.root, whole._listed
        self.whole: Document = whole.whole

    def put(self, path: str, value: Value, line: int) -> None:
        """State a fact of the part."""
        super().put(self.prefix + path, value, line)
