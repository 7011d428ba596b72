"""Read a configuration by the rows of a back end: facts, values stored in scopes, unknown lines, and silent lines.

Silent lines have no effect on forwarding or losslessness: banners, accounts, clocks, counters. A back end lists them as
`Silent` rows in blocks for a separate reader. Nothing follows from them: `check` and `verify` report them like any
unknown line, but an audit does not count them as not understood.
"""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.reading.matching import UNKNOWN, fill_effect, match_line
from fabricc.back.reading.scope import Document, Scope
from fabricc.back.reading.tree import Node, Tree, is_broken, leaf_paths, leaf_statements
from fabricc.back.reading.trie import Effect, State, compile_rows
from fabricc.fabric.facts import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fabricc.back.reading.rows import Captures, Row, Types

    Words = tuple[str, ...]
    Place = tuple[State, Scope, Captures, Words]
    """Position of the reader: state, scope, captures of the blocks around it, and the words above."""

_LONGEST_LINE = 4096
_LONGEST_KEPT = 200
_MOST_KEPT = 2048
"""Lines of one place that are remembered; then they are forgotten, all but what comes again."""


_NEW = (-1, UNKNOWN)
"""Start column and effect of a line that was not seen before."""


class Topic(NamedTuple):
    """A topic of a reader: its rows, and a function that relates their values after all lines are read."""

    rows: Sequence[Row]
    finish: Callable[[Document], None] | None = None


_BEFORE = Effect(None)
"""The state before the first line."""
_NOWHERE: Place = (State(), Scope(0), (), ())
"""Children of a line that opens no block are unknown."""


class Reader:
    """Reads texts of one syntax.

    Lines by indentation, as EOS and NX-OS print them, are read in order: deeper lines belong to the line above, and `!`
    begins a comment. With words that leave a block, indentation has no meaning and rows decide, as
    in vtysh: a line that a block does not know is tried in the outer blocks, and `!` or `#` begins a comment. Any other
    syntax is a tree first. There a block may be split anywhere: a node that leads to others states nothing, and an
    unknown one is reported with the words above it.

    Attributes:
        topics: whose rows are compiled at the first reading, and whose `finish` are called in this order.
        types: of the captures, in addition to those of every pattern.
        tree: what makes the tree, one of `fabricc.back.reading.tree`; None for lines.
        leave: lines that leave a block, such as `exit`; None where indentation does.
        ragged: the same of lines by indentation that no system printed: where one is less deep than the line before and
            as deep as none around, somebody typed them, and all are read without indentation.
        blanked: removes verbatim parts of a text, such as banners; lines keep their numbers.
        once: whether the earlier of two lines with different values is listed as unknown.
        describe: formats the words of an unknown node of the tree, from the outermost.
        whole: whether an unknown node of a tree is reported once, as its line, and not for each leaf.
    """

    def __init__(
        self,
        topics: Sequence[Topic],
        types: Types,
        tree: Callable[[str], Tree] | None = None,
        *,
        leave: Collection[str] | None = None,
        ragged: Collection[str] | None = None,
        blanked: Callable[[str], str] | None = None,
        once: bool = False,
        describe: Callable[[Words], str] = " ".join,
        whole: bool = False,
    ) -> None:
        self.topics = topics
        self.types = types
        self.tree = tree
        self.once = once
        self.describe = describe
        self.whole = whole
        self.leave = leave
        self.ragged = ragged
        self.blanked = blanked

    @cached_property
    def start(self) -> State:
        """The compiled rows of all topics."""
        return compile_rows([row for topic in self.topics for row in topic.rows], self.types)

    @cached_property
    def typed(self) -> State:
        """Return the state of lines whose indentation has no meaning.

        The memory of a line depends on how it was read.
        """
        return compile_rows([row for topic in self.topics for row in topic.rows], self.types)

    def read(self, files: Mapping[str, str]) -> Reading:
        """Return the facts of a device's files; lines that no row matches are listed in `unknown`."""
        reading = Reading()
        for file, text in files.items():
            self.read_file(file, text, reading)
        return reading

    def read_file(self, file: str, text: str, reading: Reading) -> Document:
        """Add the facts of one file; what its lines kept, for who relates several files."""
        text = self.blanked(text) if self.blanked else text
        found = Reading(reading.facts, reading.lines)
        tree = self.tree(text) if self.tree else None
        document = Document(file, text, found, None if self.whole else tree, once=self.once)
        place: Place = (self.start, document.scope, (), ())
        if self.leave is not None:
            _read_nested(document, place, self.leave)
        elif tree is None:
            before = dict(reading.facts), dict(reading.lines)
            if not _read_lines(document, place, ragged=self.ragged is None):
                reading.facts, reading.lines = before
                return self._read_typed(file, text, reading, self.ragged or ())
        else:
            for line, words in tree.faults:
                if self.whole and not is_broken(words):
                    document.reject(line)
                else:
                    found.unknown.append((file, line, words))
            _read_nodes(document, tree.nodes, place, None if self.whole else self.describe)
            if tree.inherited:
                _read_inherited(document, tree.inherited, place)
        return self._finish_document(document, reading)

    def _read_typed(self, file: str, text: str, reading: Reading, leave: Collection[str]) -> Document:
        """Read lines whose indentation has no meaning."""
        document = Document(file, text, Reading(reading.facts, reading.lines), once=self.once)
        _read_nested(document, (self.typed, document.scope, (), ()), leave)
        return self._finish_document(document, reading)

    def _finish_document(self, document: Document, reading: Reading) -> Document:
        for topic in self.topics:
            if topic.finish is not None:
                topic.finish(document)
        reading.unknown += sorted(document.reading.unknown, key=itemgetter(1))
        return document


def _read_lines(document: Document, place: Place, *, ragged: bool) -> bool:
    """Read lines by indentation; those met before in the same place cost one look-up.

    It ends, and gives False, at a line that is less deep than the one before and as deep as none around; not if
    `ragged`.

    That is why no tree is made of them: making it takes as long as all the rest.
    """
    file, unknown = document.file, document.reading.unknown
    above: list[tuple[int, Place, Effect, Scope]] = []
    column, effect, inner = 0, _BEFORE, document.scope
    state, scope, outer, _ = place
    memo, values = state.memo, scope.values
    for number, raw in enumerate(document.text.split("\n"), 1):
        begins, known = memo.get(raw, _NEW)
        if begins != column:
            if raw == "!":
                continue
            key = raw.strip()
            if not key or key[0] == "!":
                continue
            indent = raw.index(key[0])
            if indent != column:
                deeper = indent > column
                while above and indent < column:
                    column, place, effect, inner = above.pop()
                if indent > column and not (deeper or ragged):
                    return False
                if indent > column and (above or effect is not _BEFORE):
                    above.append((column, place, effect, inner))
                    place = _place_below(place, effect, inner)
                state, scope, outer, _ = place
                memo, values, column = state.memo, scope.values, indent
            begins, known = memo.get(raw, _NEW)
            if begins != column:
                known = match_line(state, key, outer) if len(key) <= _LONGEST_LINE else UNKNOWN
                _remember_line(state, raw, column, known)
        effect = known
        if effect.plain:
            inner = scope
            for name, value in effect.keeps:
                values[name] = (value, number)
            continue
        if effect.late and effect.match is not None:
            effect = fill_effect(effect.match, outer)
        if effect.match is None:
            unknown.append((file, number, " ".join(raw.split())))
        else:
            inner = document.apply_effect(effect, scope, number)
    return True


def _read_nested(document: Document, place: Place, leave: Collection[str]) -> None:
    """Read lines that continue the innermost block that has a row for them; repeated lines cost one look-up."""
    places = [place]
    state, scope, outer, _ = place
    for number, raw in enumerate(document.text.split("\n"), 1):
        begins, effect = state.memo.get(raw, _NEW)
        if begins < 0:
            line = raw.strip()
            if not line or line[0] in "!#":
                continue
            if line in leave:
                del places[max(1, len(places) - 1) :]
                state, scope, outer, _ = places[-1]
                continue
            if state.each and _begins_alike(state, scope, outer, line, number):
                continue
            effect = _match_remembered(state, raw, outer)
        if effect.late and effect.match is not None:
            effect = fill_effect(effect.match, outer)
        if effect.match is None:
            effect = _match_outer(places, raw)
            if effect.match is None:
                document.reading.unknown.append((document.file, number, " ".join(raw.split())))
                continue
            state, scope, outer, _ = places[-1]
        block = effect.match.state.inner
        if effect.plain and block is None:
            for name, value in effect.keeps:
                scope.values[name] = (value, number)
            continue
        inner = document.apply_effect(effect, scope, number)
        if block is not None and block.below:
            state, scope, outer = block.state, inner, outer + effect.match.captures
            places.append((state, scope, outer, ()))


def _begins_alike(state: State, scope: Scope, outer: Captures, line: str, number: int) -> bool:
    """Keep the statement of a line about the thing that its second word names; return False if there is more to it.

    The rest of such a line occurs again with other things; the whole line does not.
    """
    words = line.split(None, 2)
    each = state.each.get(words[0])
    if each is None or len(words) < 3 or not each.inline or each.once:
        return False
    effect = _match_remembered(each.state, words[2], (*outer, words[1]))
    if not effect.plain or effect.match is None or effect.match.state.inner is not None:
        return False
    named = scope.scopes.setdefault(each.scope, {})
    about = named.get(words[1])
    if about is None:
        about = named[words[1]] = Scope(number)
    for name, value in effect.keeps:
        about.values[name] = (value, number)
    return True


def _match_outer(places: list[Place], raw: str) -> Effect:
    """Return the effect of a line in the outer blocks; the blocks inside the matching one are left."""
    for depth in range(len(places) - 1, 0, -1):
        state, _, outer, _ = places[depth - 1]
        effect = _match_remembered(state, raw, outer)
        if effect.late and effect.match is not None:
            effect = fill_effect(effect.match, outer)
        if effect.match is not None:
            del places[depth:]
            return effect
    return UNKNOWN


def _match_remembered(state: State, raw: str, outer: Captures) -> Effect:
    """Return the effect of a line in a state at any column, from memory if it was seen there."""
    begins, known = state.memo.get(raw, _NEW)
    if begins < 0:
        known = match_line(state, raw.strip(), outer) if len(raw) <= _LONGEST_LINE else UNKNOWN
        _remember_line(state, raw, 0, known)
    return known


def _place_below(place: Place, effect: Effect, scope: Scope) -> Place:
    """Return the place in which the lines below a line are read."""
    block = effect.match.state.inner if effect.match else None
    if effect.match is None or block is None or not block.below:
        return _NOWHERE
    return block.state, scope, place[2] + effect.match.captures, ()


def _remember_line(state: State, key: str | tuple[str, ...], column: int, effect: Effect) -> None:
    """Remember the effect of a line in its place if it was seen before."""
    if len(key) > _LONGEST_KEPT:
        return
    if key in state.seen:
        if len(state.memo) >= _MOST_KEPT:
            state.memo.clear()
        state.memo[key] = (column, effect)
    else:
        if len(state.seen) >= _MOST_KEPT:
            state.seen.clear()
        state.seen.add(key)


def _read_nodes(
    document: Document, nodes: Sequence[Node], place: Place, describe: Callable[[Words], str] | None
) -> None:
    """Read the nodes of a tree; `describe` is None if an unknown one is reported once, as its line."""
    state, scope, outer, above = place
    memo, leading, values, once = state.memo, state.leading, scope.values, document.once
    for node in nodes:
        key, line, children = node.key, node.line, node.children
        begins, effect = (memo if children is None else leading).get(key, _NEW)
        if begins < 0:
            effect = match_line(state, key, outer, joined=True, leaf=children is None)
            if children is None:
                _remember_line(state, key, 0, effect)
            elif len(leading) < _MOST_KEPT and len(key) <= _LONGEST_KEPT:
                leading[key] = (0, effect)
        inner = scope
        if effect.plain and not once:
            for name, value in effect.keeps:
                values[name] = (value, line)
        else:
            if effect.late and effect.match:
                effect = fill_effect(effect.match, outer)
            if effect.match is None:
                if describe is None:
                    document.reject(line)
                    continue
                found = leaf_statements([node], above, describe)
                document.reading.unknown += [(document.file, *each) for each in found]
                _open_blocks(document, node, place)
                continue
            inner = document.apply_effect(effect, scope, line)
        if children is not None and effect.match is not None:
            match = effect.match
            if match.state.whole:
                parts = [Node(words, at) for at, words in leaf_paths([node])]
                _read_nodes(document, parts, place, describe)
                continue
            ends = match.state.inner.state if match.state.inner else match.state
            words = above if describe is None else above + key
            _read_nodes(document, children, (ends, inner, outer + match.captures, words), describe)


def _read_inherited(document: Document, nodes: Sequence[Node], place: Place) -> None:
    """Read statements that apply only where no other statement does.

    An unknown line is reported once, as in the text.
    """
    unknown = document.reading.unknown
    before = len(unknown)
    document.inherits = True
    _read_nodes(document, nodes, place, " ".join)
    document.inherits = False
    lines = {line for _, line, _ in unknown[before:]}
    del unknown[before:]
    for line in sorted(lines):
        document.reject(line)


def _open_blocks(document: Document, node: Node, place: Place) -> None:
    """Open the blocks that an unknown statement is in, if its first words alone open them."""
    state, scope, outer, _ = place
    for end in range(len(node.key) - 1, 0, -1):
        within = match_line(state, node.key[:end], outer, joined=True, leaf=False)
        if within.match is not None:
            document.apply_effect(fill_effect(within.match, outer), scope, node.line)
            return


def recognized_lines(
    reading: Reading, files: Mapping[str, str], readers: Mapping[str, Reader]
) -> frozenset[tuple[str, int]]:
    """Return file and line of each unknown line of a reading that these readers recognize.

    Args:
        reading: the result of the back end's own reader.
        files: name -> text, as read.
        readers: by file.
    """
    found: set[tuple[str, int]] = set()
    for name, reader in readers.items():
        unknown = {line for file, line, _ in reading.unknown if file == name}
        if unknown and name in files:
            known = reader.read({name: files[name]}).unknown
            found |= {(name, line) for line in unknown - {line for _, line, _ in known}}
    return frozenset(found)
