"""Parser events to plain values with positions, within limits and without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass
from fabricc.front.spec.document import clip
from fabricc.front.spec.yaml_scalars import RefusedError, check_text, resolve

if TYPE_CHECKING:
    from fabricc.front.spec.model import Path

MAX_DEPTH = 64
MAX_NODES = 500_000
MAX_ALIASED_NODES = 10_000
MAX_PROBLEMS = 100


class Stop(Exception):  # noqa: N818 - not an error: ends the event loop after a diagnostic
    """Reading on is of no use."""


@dataclass(slots=True)
class _Anchor:
    """What an alias stands for; `height` is the nesting below it, `done` False while it is being read."""

    value: Any
    nodes: int = 1
    height: int = 0
    done: bool = True


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come; path None when it is read over (a refused key or its value)."""

    value: Any
    path: Path | None
    is_key: bool
    anchor: str | None
    nodes_before: int
    key: str | None = None
    have_key: bool = False
    height: int = 1


class Composer:
    """Builds values from events, one frame per open collection; no recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Any = None
        self.seen = False
        self.positions: dict[Path, Position] = {}
        self.value_positions: dict[Path, Position] = {}
        self.broken: set[Path] = set()
        self.diagnostics: list[Diagnostic] = []
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Anchor] = {}
        self.nodes = 0
        self.aliased_nodes = 0

    def report(self, code: str, message: str, position: Position, help: str = "") -> None:
        """Note an error; the hundredth ends the reading."""
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, position, help))
        if len(self.diagnostics) >= MAX_PROBLEMS:
            raise Stop

    def stop(self, code: str, message: str, position: Position, help: str = "") -> None:
        """Note an error after which reading on is of no use."""
        self.report(code, message, position, help)
        raise Stop

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
                self.stop(
                    "FAB0016",
                    "a second document begins here",
                    self._position(event),
                    "A spec is one document: one cluster per file.",
                )

    def _position(self, event: yaml.Event) -> Position:
        mark = event.start_mark
        return Position(self.file, mark.line + 1, mark.column + 1) if mark else Position(self.file, 1, 1)

    def _count(self, position: Position, nodes: int = 1) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            self.stop(
                "FAB0012",
                f"more than {MAX_NODES:,} values in one file",
                position,
                "Count hosts, do not list them.",
            )

    def _refuse_tag(self, event: Any, position: Position) -> None:
        if event.tag is not None:
            self.report(
                "FAB0015",
                f"tags are not understood: {clip(event.tag)}",
                position,
                "Remove it; quote a value to make it text.",
            )

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        position = self._position(event)
        self._count(position)
        self._refuse_tag(event, position)
        frame = self.stack[-1] if self.stack else None
        broken = False
        value: Any = event.value
        try:
            if not event.style:
                value = resolve(value)
            if type(value) is str:
                check_text(value)
        except RefusedError as refused:
            self.report(refused.code, str(refused), position, refused.help)
            value, broken = None, True
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchor(value)
        if frame is not None and not frame.have_key and type(frame.value) is dict:
            self._key(frame, value, position, plain=not event.style, broken=broken)
        else:
            path = self._place(value, position)
            if broken and path is not None:
                self.broken.add(path)

    def _key(self, frame: _Open, value: Any, position: Position, *, plain: bool, broken: bool) -> None:
        """Take a mapping's next key; a refused one leaves `frame.key` None, so its value is read over."""
        frame.have_key, frame.key = True, None
        if broken or frame.path is None:
            return
        if type(value) is not str:
            word = "nothing" if value is None else str(value).lower() if type(value) is bool else str(value)
            self.report(
                "FAB0010", f"the key {clip(word)} is not text", position, f'Put it in quotes: "{clip(word)}".'
            )
        elif plain and value == "<<":
            self.report(
                "FAB0019",
                "merge keys (`<<`) are not understood",
                position,
                "Write the entries out, or share a whole value with an anchor and an alias.",
            )
        elif (first := self.positions.get((*frame.path, value))) is not None:
            self.report(
                "FAB0009",
                f"the key '{clip(value)}' stands twice: first at {first.line}:{first.column}",
                position,
                "Keep one of the two.",
            )
        else:
            self.positions[(*frame.path, value)] = position
            frame.key = value

    def _place(self, value: Any, position: Position) -> Path | None:
        """Put a value where it belongs; returns its path, None when it is read over."""
        self.seen = True
        if not self.stack:
            self.root = value
            self.positions[()] = position
            return ()
        frame = self.stack[-1]
        path: Path | None = None
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
        if len(self.stack) >= MAX_DEPTH:
            self.stop(
                "FAB0011",
                f"nested deeper than {MAX_DEPTH} levels",
                position,
                "A spec needs six levels at most.",
            )
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        frame = self.stack[-1] if self.stack else None
        is_key = frame is not None and type(frame.value) is dict and not frame.have_key
        path = None if is_key else self._place(value, position)
        if is_key:
            self.report(
                "FAB0010", "a list or mapping cannot be a key", position, "Keys are names: quote odd ones."
            )
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
        name = clip(event.anchor or "")
        anchor = self.anchors.get(event.anchor or "")
        if anchor is None:
            self.stop(
                "FAB0017", f"no anchor &{name} stands before this alias", position, "Write the value out."
            )
            return
        if not anchor.done:
            self.stop(
                "FAB0017", f"the alias *{name} stands inside its own anchor", position, "Write the value out."
            )
        self.aliased_nodes += anchor.nodes
        if self.aliased_nodes > MAX_ALIASED_NODES or len(self.stack) + anchor.height > MAX_DEPTH:
            self.stop(
                "FAB0018",
                f"aliases expand to more than {MAX_ALIASED_NODES:,} values or {MAX_DEPTH} levels",
                position,
                "Write the values out, or count hosts instead of listing them.",
            )
        self._count(position, anchor.nodes)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and type(frame.value) is dict and not frame.have_key:
            self.report("FAB0010", "an alias cannot be a key", position, "Write the key out.")
            frame.have_key, frame.key = True, None
            return
        if frame is not None:
            frame.height = max(frame.height, anchor.height + 1)
        self._place(anchor.value, position)
