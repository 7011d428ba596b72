"""Turn parser events into plain values with positions, within limits and without recursion; resolve plain scalars."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class StopReadingError(Exception):
    """Stop reading after a diagnostic that makes the rest meaningless."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The allowed content of a kind of file, and the messages for anything else.

    Attributes:
        words: what is wrong -> code, message, help; the texts name `{most}`, `{shown}`, `{text}`, `{first}`, `{depth}`.
        plain: the value of a plain scalar; raises `ScalarError`.
        check: raises it for a text that the file may not hold.
        syntax: the message for a text that is no YAML.
        longest_key: in characters, of keys that are text as they are written; None where a plain number or truth value
            is no key.
        max_depth: levels of nesting.
        max_nodes: values.
        max_aliased_nodes: values that aliases expand to; 0 for no aliases.
        max_problems: so many are collected, then reading ends.
    """

    words: Mapping[str, tuple[str, str, str]]
    plain: Callable[[str], Any]
    check: Callable[[str], None]
    syntax: Callable[[Exception, str, str], Diagnostic]
    longest_key: int | None
    max_depth: int
    max_nodes: int
    max_aliased_nodes: int
    max_problems: int


@dataclass(slots=True)
class _Anchor:
    """The node of an alias; `height` is the nesting below it, `done` False while it is being read."""

    value: Any
    nodes: int = 1
    height: int = 0
    done: bool = True


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come; path None when it is read over (a refused key or its value)."""

    value: Any
    path: KeyPath | None
    is_key: bool
    anchor: str | None
    nodes_before: int
    key: str | None = None
    have_key: bool = False
    height: int = 1


class Composer:
    """Builds values from events, one frame per open collection; no recursion."""

    def __init__(self, file: str, rules: Rules) -> None:
        self.file = file
        self.rules = rules
        self.root: Any = None
        self.seen = False
        self.positions: dict[KeyPath, Position] = {}
        self.value_positions: dict[KeyPath, Position] = {}
        self.broken: set[KeyPath] = set()
        self.diagnostics: list[Diagnostic] = []
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Anchor] = {}
        self.nodes = 0
        self.aliased_nodes = 0

    def report(self, code: str, message: str, position: Position, help: str = "") -> None:
        """Note an error; the last one that the rules allow ends the reading."""
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, position, help))
        if len(self.diagnostics) >= self.rules.max_problems:
            raise StopReadingError

    def note(self, what: str, position: Position, **values: object) -> None:
        """Add the diagnostic that the rules define for a problem."""
        code, message, help = self.rules.words[what]
        self.diagnostics.append(
            Diagnostic(code, Severity.ERROR, message.format(**values), position, help.format(**values))
        )

    def add_error(self, what: str, position: Position, **values: object) -> None:
        """Note an error in the words that the rules have for it."""
        self.note(what, position, **values)
        if len(self.diagnostics) >= self.rules.max_problems:
            raise StopReadingError

    def stop(self, what: str, position: Position, **values: object) -> NoReturn:
        """Note an error after which reading on is of no use."""
        self.add_error(what, position, **values)
        raise StopReadingError

    def feed(self, event: yaml.Event) -> None:
        """Take the next event."""
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent() if self.seen:
                self.stop("second document", self._position(event))

    def _position(self, event: yaml.Event) -> Position:
        mark = event.start_mark
        return Position(self.file, mark.line + 1, mark.column + 1) if mark else Position(self.file, 1, 1)

    def _count(self, position: Position, nodes: int = 1) -> None:
        self.nodes += nodes
        if self.nodes > self.rules.max_nodes:
            self.stop("too many", position, most=self.rules.max_nodes)

    def _refuse_tag(self, event: Any, position: Position) -> None:
        if event.tag is not None:
            self.add_error("tag", position, text=event.tag, shown=clip(event.tag))

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        position = self._position(event)
        self._count(position)
        self._refuse_tag(event, position)
        frame = self.stack[-1] if self.stack else None
        is_key = frame is not None and not frame.have_key and type(frame.value) is dict
        broken = False
        value: Any = event.value
        try:
            if not event.style and not (is_key and self.rules.longest_key):
                value = self.rules.plain(value)
            if type(value) is str and not (is_key and self.rules.longest_key):
                self.rules.check(value)
        except ScalarError as refused:
            self.report(refused.code, str(refused), position, refused.help)
            value, broken = None, True
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchor(value)
        if is_key and frame is not None:
            self._key(frame, value, position, plain=not event.style, broken=broken)
        else:
            path = self._place(value, position)
            if broken and path is not None:
                self.broken.add(path)

    def _key(self, frame: _Open, value: Any, position: Position, *, plain: bool, broken: bool) -> None:
        """Take a mapping's next key; a refused one leaves `frame.key` None, so its value is read over."""
        frame.have_key, frame.key = True, None
        longest = self.rules.longest_key
        if broken or frame.path is None:
            return
        if type(value) is not str:
            word = "nothing" if value is None else str(value).lower() if type(value) is bool else str(value)
            self.add_error("key", position, shown=clip(word))
        elif longest and (len(value) > longest or not value.isprintable()):
            self.add_error("key", position, shown=clip(value))
        elif plain and value == "<<" and not longest:
            self.add_error("merge", position)
        elif (first := self.positions.get((*frame.path, value))) is not None:
            place = f"{first.line}:{first.column}"
            self.add_error("twice", position, text=value, shown=clip(value), first=place)
        else:
            self.positions[(*frame.path, value)] = position
            frame.key = value

    def _place(self, value: Any, position: Position) -> KeyPath | None:
        """Put a value where it belongs; returns its path, None when it is read over."""
        self.seen = True
        if not self.stack:
            self.root = value
            self.positions[()] = position
            return ()
        frame = self.stack[-1]
        path: KeyPath | None = None
        if type(frame.value) is list:
            if frame.path is not None:
                path = (*frame.path, len(frame.value))
                self.positions[path] = position
            frame.value.append(value)
        else:
            if frame.path is not None and frame.key is not None:
                path = (*frame.path, frame.key)
                self.value_positions[path] = position
                frame.value[frame.key] = value
            frame.have_key = False
        return path

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        position = self._position(event)
        self._count(position)
        self._refuse_tag(event, position)
        if len(self.stack) >= self.rules.max_depth:
            self.stop("too deep", position, most=self.rules.max_depth)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        frame = self.stack[-1] if self.stack else None
        is_key = frame is not None and type(frame.value) is dict and not frame.have_key
        path = None if is_key else self._place(value, position)
        if is_key:
            self.add_error("collection as key", position)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchor(value, done=False)
        self.stack.append(_Open(value, path, is_key, event.anchor, self.nodes))

    def _close(self) -> None:
        frame = self.stack.pop()
        if self.stack:
            parent = self.stack[-1]
            parent.height = max(parent.height, frame.height + 1)
            if frame.is_key:
                parent.have_key, parent.key = True, None
        if frame.anchor is not None:
            nodes = self.nodes - frame.nodes_before + 1
            self.anchors[frame.anchor] = _Anchor(frame.value, nodes, frame.height)

    def _alias(self, event: yaml.AliasEvent) -> None:
        position = self._position(event)
        rules = self.rules
        name = clip(event.anchor or "")
        if not rules.max_aliased_nodes:
            self.stop("alias", position, shown=name)
        anchor = self.anchors.get(event.anchor or "")
        if anchor is None:
            self.stop("no anchor", position, shown=name)
        if not anchor.done:
            self.stop("own anchor", position, shown=name)
        self.aliased_nodes += anchor.nodes
        if self.aliased_nodes > rules.max_aliased_nodes or len(self.stack) + anchor.height > rules.max_depth:
            self.stop("aliases", position, most=rules.max_aliased_nodes, depth=rules.max_depth)
        self._count(position, anchor.nodes)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and type(frame.value) is dict and not frame.have_key:
            self.add_error("alias as key", position)
            frame.have_key, frame.key = True, None
            return
        if frame is not None:
            frame.height = max(frame.height, anchor.height + 1)
        self._place(anchor.value, position)


MAX_DIGITS = 18
MAX_TEXT = 4096

# Line-breaking, invisible and text-reordering characters have no place in a spec, comments included.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class ScalarError(ValueError):
    """A scalar that the file cannot hold."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code = code
        self.help = help


def resolve_scalar(text: str) -> Any:
    """Return the value of a plain scalar.

    Raises:
        PushRefusedError: not a finite number, or a number of more digits than any quantity of a spec has.
    """
    if text in WORDS:
        return WORDS[text]
    if text[0] not in "-+.0123456789":
        return text
    if NOT_FINITE.fullmatch(text):
        message = f"{text} is not a finite number"
        raise ScalarError("FAB0014", message, "Write a finite number.")
    if INTEGER.fullmatch(text) or FLOAT.fullmatch(text):
        digits = sum(character.isdigit() for character in text)
        number: float = math.inf
        if digits <= MAX_DIGITS:
            number = int(text) if INTEGER.fullmatch(text) else float(text)
        if math.isinf(number):
            message = f"the number {clip(text)} is beyond every quantity of a spec ({digits} digits)"
            raise ScalarError("FAB0013", message, "Check it, or put it in quotes if it is a name.")
        return number
    return text


def check_text(text: str) -> None:
    """Refuse a text that is too long or could break a line.

    Raises:
        PushRefusedError: it is, or it could.
    """
    if len(text) > MAX_TEXT:
        message = f"a text of {len(text):,} characters; the longest allowed has {MAX_TEXT:,}"
        raise ScalarError("FAB0020", message, "Shorten it.")
    if text.isprintable():
        return
    if (bad := re.search("[\t\n\r]", text) or FORBIDDEN.search(text)) is not None:
        what = "a line break or tab" if bad[0] in "\t\n\r" else f"the control character U+{ord(bad[0]):04X}"
        message = f"the text {clip(repr(text))} holds {what}"
        remedy = "Write the value on one line. `management.banner` takes a list of lines; other text is an overlay."
        raise ScalarError("FAB0005", message, remedy)


def resolve_1_1(text: str, code: str) -> Any:
    """Return the value of a plain scalar by YAML 1.1, where `yes` and `off` are truth values; dates are text.

    Raises:
        PushRefusedError: `code`, a number that is not decimal, not finite, or of more than 18 characters.
    """
    kind = _build_resolver().resolve(yaml.ScalarNode, text, (True, False)).removeprefix("tag:yaml.org,2002:")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int":
        if not text.lstrip("+-").isdecimal() or len(text) > MAX_DIGITS:
            raise ScalarError(code, f"{text[:40]!r} is not a plain decimal number", "Write plain digits.")
        return int(text)
    if kind == "float":
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ScalarError(code, f"{text[:40]!r} is not a finite number", "Write a plain number.")
        return number
    return text


@cache
def _build_resolver() -> Any:
    return yaml.resolver.Resolver()
