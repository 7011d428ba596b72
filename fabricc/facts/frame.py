"""Split the facts of a device into a frame, which similar devices share, and its own values; pack both.

Its own are names of BGP neighbors and addresses in paths, and the values of addresses, descriptions, AS numbers and
prefix lists. A fabric has a handful of frames: conclusions from a frame alone are computed once for all of its devices.
Packed facts take a few kB, so that thousands of devices stay in memory: without compression, an audit of 1,024 EOS
configurations takes 165 MiB in place of 146, and as much CPU (three paired runs).
"""

from __future__ import annotations

import pickle
import re
import zlib
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fabricc.fabric.facts import Facts, Reading, Value

if TYPE_CHECKING:
    from collections.abc import Iterator


PORT, NEIGHBOR, VRF, SECONDARY = "interface[", "bgp/neighbor[", "vrf[", "secondary["
KEPT = 64
"""Frames that are remembered, each some hundred kB."""
_ADDRESS = re.compile(r"(.*?\[)((?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?|[0-9a-fA-F]*:[0-9a-fA-F:.]*(?:/\d+)?)(\].*)")
_OWN = (
    "/ipv4",
    "/ipv6",
    "/description",
    "/remote_asn",
    "/asn",
    "/router_id",
    "/hostname",
    "/address",
    "/gateway",
)
_OWN_STARTS = "prefix_list["
_DEFINED = ("_list[", "_map[")
"""Before the name of a definition, which values refer to: no own one even where it is an address."""


class NameSplit(NamedTuple):
    """A text with an own name in it: what is before, which name, and what is behind."""

    head: str
    name: int
    tail: str

    def fill_in(self, names: tuple[str, ...]) -> str:
        """Return the text."""
        return f"{self.head}{names[self.name]}{self.tail}"


Places = tuple[tuple[str, int] | None, ...]
Slot = tuple[str | NameSplit, int]
"""Rest of the path after the port or neighbor, and the fact."""


class Frame:
    """Facts that devices share; equal frames are one object while cached.

    Attributes:
        paths: of the facts, `#3` for the name of that number; `cuts`: these paths with their parts.
        values: of the facts, None for own ones; `own`: which these are.
        memo: conclusions from it, by function.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        cuts: tuple[tuple[int, NameSplit], ...],
        values: tuple[Value | None, ...],
    ) -> None:
        self.paths, self.cuts, self.values = paths, cuts, values
        self.own = _own_numbers(paths)
        self.memo: dict[Any, Any] = {}

    @cached_property
    def sorted(self) -> SortedFacts:
        """The facts by what they are about."""
        return SortedFacts(self)


class SortedFacts:
    """The facts of a frame by subject.

    Attributes:
        ports: port -> shared statements; `of_ports`: the own statements of ports, in order.
        sessions: routing instance, number of the neighbor's name, shared and own statements.
        rest: path of every other fact, and its number.
    """

    def __init__(self, frame: Frame) -> None:
        self.ports: dict[str, dict[str, Value]] = {}
        self.of_ports: dict[str, list[Slot]] = {}
        self.rest: list[Slot] = []
        sessions: dict[tuple[str, int], tuple[dict[str, Value], list[tuple[str, int]]]] = {}
        cuts = dict(frame.cuts)
        for at, (path, value) in enumerate(zip(frame.paths, frame.values, strict=True)):
            cut = cuts.get(at)
            if path.startswith(PORT):
                port, _, leaf = path[len(PORT) :].partition("]/")
                leaves = self.ports.setdefault(port, {})
                if cut is not None:
                    behind = cut._replace(head=cut.head[len(PORT) + len(port) + 2 :])
                    self.of_ports.setdefault(port, []).append((behind, at))
                elif value is None:
                    self.of_ports.setdefault(port, []).append((leaf, at))
                else:
                    leaves[leaf] = value
            elif cut is not None and cut.head.endswith(NEIGHBOR):
                scope = cut.head.removesuffix(NEIGHBOR)
                if scope == "" or scope.startswith(VRF):
                    leaves, own = sessions.setdefault((scope[len(VRF) : -len("]/")], cut.name), ({}, []))
                    leaf = cut.tail.removeprefix("]/")
                    if value is None:
                        own.append((leaf, at))
                    else:
                        leaves[leaf] = value
            else:
                self.rest.append((path if cut is None else cut, at))
        self.sessions = [(vrf, name, leaves, own) for (vrf, name), (leaves, own) in sessions.items()]


class Parts:
    """The facts of a device.

    Attributes:
        names: the own ones in its paths, by number; `values`: of the facts that are its own.
        places: file and line of each fact, None where it has none.
        all: the values of all facts.
    """

    __slots__ = ("all", "frame", "names", "places", "values")

    def __init__(
        self, frame: Frame, names: tuple[str, ...], values: tuple[Value, ...], places: Places
    ) -> None:
        self.frame, self.names, self.values, self.places = frame, names, values, places
        self.all: list[Any] = list(frame.values)
        for at, value in zip(frame.own, values, strict=True):
            self.all[at] = value

    def paths(self) -> list[str]:
        """Return the paths of the facts, in the order in which they were read."""
        paths = list(self.frame.paths)
        for at, cut in self.frame.cuts:
            paths[at] = cut.fill_in(self.names)
        return paths

    def facts(self) -> Facts:
        """Return path -> value."""
        return dict(zip(self.paths(), self.all, strict=True))

    def ports(self) -> dict[str, dict[str, Value]]:
        """Return port -> its statements, by the rest of the path; shared, so callers must not change it."""
        ports = dict(self.frame.sorted.ports)
        for port, own in self.statements_of_ports():
            ports[port] = ports[port] | dict(own)
        return ports

    def statements_of_ports(self) -> Iterator[tuple[str, list[tuple[str, Value]]]]:
        """Yield ports with statements, and these: rest of the path and value."""
        names, values = self.names, self.all
        for port, slots in self.frame.sorted.of_ports.items():
            yield (
                port,
                [(leaf if isinstance(leaf, str) else leaf.fill_in(names), values[at]) for leaf, at in slots],
            )

    def sessions(self) -> dict[tuple[str, str], dict[str, Value]]:
        """Return routing instance ("" for the default one) and neighbor -> statements, by the rest of the path."""
        names, values = self.names, self.all
        return {
            (vrf, names[name]): leaves | {leaf: values[at] for leaf, at in own}
            for vrf, name, leaves, own in self.frame.sorted.sessions
        }

    def rest(self) -> Reading:
        """Return the facts of no port and no neighbor."""
        names, values, places = self.names, self.all, self.places
        rest = [
            (path if isinstance(path, str) else path.fill_in(names), at)
            for path, at in self.frame.sorted.rest
        ]
        lines = {path: place for path, at in rest if (place := places[at])}
        return Reading({path: values[at] for path, at in rest}, lines)


def split_facts(reading: Reading) -> Parts:
    """Split the facts of a device into the two parts."""
    facts, lines = reading.facts, reading.lines
    paths, names = list(facts), dict[str, int]()
    cuts: list[tuple[int, NameSplit]] = []
    several = SECONDARY in "".join(paths)
    for at in [at for at, path in enumerate(paths) if several or not path.startswith(PORT)]:
        path = paths[at]
        if path.startswith(NEIGHBOR):
            name, close, leaf = path[len(NEIGHBOR) :].partition("]/")
            cut = _cut(NEIGHBOR, names.setdefault(name, len(names)), close + leaf)
        elif found := _find_own_name(path):
            head, name, tail = found
            cut = _cut(head, names.setdefault(name, len(names)), tail)
        else:
            continue
        cuts.append((at, cut))
        paths[at] = _cut_template(cut)
    alike, values = tuple(paths), list[Any](facts.values())
    own = _own_numbers(alike)
    mine = tuple([values[at] for at in own])
    for at in own:
        values[at] = None
    places = tuple([place if (place := lines.get(path)) and place[1] else None for path in facts])
    return Parts(_frame(alike, tuple(cuts), tuple(values)), tuple(names), mine, places)


@lru_cache(maxsize=1 << 14)
def _find_own_name(path: str) -> tuple[str, str, str] | None:
    """Return the text before the own name in a path, the name, and the text after it; None without one."""
    head, found, rest = path.partition(NEIGHBOR)
    if found:
        name, close, leaf = rest.partition("]/")
        return head + found, name, close + leaf
    address = _ADDRESS.fullmatch(path) if "[" in path else None
    return None if address is None or address[1].endswith(_DEFINED) else (address[1], address[2], address[3])


_cut = lru_cache(maxsize=1 << 15)(NameSplit)


@lru_cache(maxsize=1 << 15)
def _cut_template(cut: NameSplit) -> str:
    return f"{cut.head}#{cut.name}{cut.tail}"


@lru_cache(maxsize=KEPT)
def _own_numbers(paths: tuple[str, ...]) -> tuple[int, ...]:
    return tuple([at for at, path in enumerate(paths) if path.endswith(_OWN) or path.startswith(_OWN_STARTS)])


_frame = lru_cache(maxsize=KEPT)(Frame)


K = TypeVar("K")
V = TypeVar("V")
_OPEN = 64
"""Devices whose contents stay unpacked, each some hundred kB."""
_QUICK = 1
"""Level of compression: a higher one takes three times as long for a tenth less."""


class Contents(NamedTuple):
    """The content of the files of a device.

    Attributes:
        ignorable: file and line of unknown lines without effect on forwarding or losslessness.
    """

    reading: Reading
    ignorable: frozenset[tuple[str, int]] = frozenset()


class PackedContents(NamedTuple):
    """Packed contents: frame and places are shared by similar devices."""

    frame: bytes
    places: bytes
    own: bytes

    def share_contents(self, alike: dict[bytes, bytes]) -> PackedContents:
        """Return the same with a frame and places that are one object with equal ones in `alike`."""
        frame, places, own = self
        return PackedContents(alike.setdefault(frame, frame), alike.setdefault(places, places), own)


def pack_contents(contents: Contents, parts: Parts) -> PackedContents:
    """Pack contents, with their facts in two parts."""
    frame = parts.frame
    if _BYTES not in frame.memo:
        frame.memo[_BYTES] = pack_value((frame.paths, frame.cuts, frame.values))
    own = (
        parts.names,
        parts.values,
        contents.reading.unknown,
        contents.ignorable,
        _lines_apart(contents, parts),
    )
    return PackedContents(frame.memo[_BYTES], _places(parts.places), pack_value(own))


def _lines_apart(contents: Contents, parts: Parts) -> dict[str, tuple[str, int]]:
    """Return the places of facts that are not stated: the lines by which they are missing."""
    facts, lines = contents.reading.facts, contents.reading.lines
    if len(lines) == len(parts.places) - parts.places.count(None):
        return {}
    return {path: place for path, place in lines.items() if path not in facts}


def unpack_contents(contents: PackedContents) -> Contents:
    """Return the contents that `pack_contents` packed."""
    _, _, unknown, ignorable, apart = _own_values(contents.own)
    facts, places = _unpack_parts(contents).facts(), _opened_places(contents.places)
    lines = {path: place for path, place in zip(facts, places, strict=True) if place}
    return Contents(Reading(facts, lines | apart, unknown), ignorable)


def pack_value(value: object) -> bytes:
    """Return a value as few bytes."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), _QUICK)


def value_of(content: bytes) -> Any:
    """Return the value that `pack_value` made these bytes of."""
    return pickle.loads(zlib.decompress(content))


class SharedTable(dict[K, V]):
    """A table that similar devices share, also after it arrives from workers; callers must not change it."""

    __slots__ = ("_content",)

    def __reduce__(self) -> tuple[object, ...]:
        if not hasattr(self, "_content"):
            self._content = pickle.dumps(dict(self), pickle.HIGHEST_PROTOCOL)
        return _restore_shared, (self._content,)


@lru_cache(maxsize=KEPT)
def _restore_shared(content: bytes) -> SharedTable[Any, Any]:
    return SharedTable(pickle.loads(content))


_BYTES = "packed"
"""Key of the bytes of a frame among its derived values."""
_places = lru_cache(maxsize=KEPT)(pack_value)
_opened_places = lru_cache(maxsize=KEPT)(value_of)


@lru_cache(maxsize=KEPT)
def _restore_frame(content: bytes) -> Frame:
    return Frame(*value_of(content))


def parts_of(contents: Contents | PackedContents) -> Parts:
    """Return the facts in two parts: those that similar devices share, and a device's own."""
    return _unpack_parts(contents) if isinstance(contents, PackedContents) else split_facts(contents.reading)


def unknown_lines(contents: Contents | PackedContents) -> list[tuple[str, int, str]]:
    """Return file, number and text of the unknown lines, without unpacking the facts."""
    return _own_values(contents.own)[2] if isinstance(contents, PackedContents) else contents.reading.unknown


_own_values = lru_cache(maxsize=_OPEN)(value_of)
"""Returns names, values, unknown and ignorable lines, and places of missing facts of one device."""


@lru_cache(maxsize=_OPEN)
def _unpack_parts(contents: PackedContents) -> Parts:
    names, values, *_ = _own_values(contents.own)
    return Parts(_restore_frame(contents.frame), names, values, _opened_places(contents.places))


unpacked = lru_cache(maxsize=_OPEN)(unpack_contents)
"""`unpack_contents` with a cache of the last few devices."""
