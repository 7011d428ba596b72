"""The facts of a device packed into a few kB: thousands are kept in memory and used more than once."""

from __future__ import annotations

import pickle
import zlib
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from fabricc.fabric.facts import Reading
from fabricc.facts.frame import KEPT, Frame, Parts, split_facts

K = TypeVar("K")
V = TypeVar("V")
_OPEN = 64
"""Devices whose contents stay unpacked, each some hundred kB."""
_QUICK = 1
"""Level of compression: a higher one takes three times as long for a tenth less."""


class Contents(NamedTuple):
    """The content of the files of a device.

    Attributes:
        aside: file and line of unknown lines without effect on forwarding or losslessness.
    """

    reading: Reading
    aside: frozenset[tuple[str, int]] = frozenset()


class Held(NamedTuple):
    """Packed contents: frame and places are shared by similar devices."""

    frame: bytes
    places: bytes
    own: bytes

    def shared(self, alike: dict[bytes, bytes]) -> Held:
        """Return the same with a frame and places that are one object with equal ones in `alike`."""
        frame, places, own = self
        return Held(alike.setdefault(frame, frame), alike.setdefault(places, places), own)


def pack_contents(contents: Contents, parts: Parts) -> Held:
    """Pack contents, with their facts in two parts; only the lines of facts are kept."""
    frame = parts.frame
    if _BYTES not in frame.memo:
        frame.memo[_BYTES] = few_bytes((frame.paths, frame.cuts, frame.values))
    own = parts.names, parts.values, contents.reading.unknown, contents.aside
    return Held(frame.memo[_BYTES], _places(parts.places), few_bytes(own))


def unpack_contents(held: Held) -> Contents:
    """Unpack the contents that `packed` packed."""
    names, values, unknown, aside = value_of(held.own)
    places = _opened_places(held.places)
    facts = Parts(_restore_frame(held.frame), names, values, places).facts()
    lines = {path: place for path, place in zip(facts, places, strict=True) if place}
    return Contents(Reading(facts, lines, unknown), aside)


def few_bytes(value: object) -> bytes:
    """Return a value as few bytes."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), _QUICK)


def value_of(content: bytes) -> Any:
    """Return the value that `few_bytes` made these bytes of."""
    return pickle.loads(zlib.decompress(content))


class Shared(dict[K, V]):
    """A table that similar devices share, also after it arrives from workers; callers must not change it."""

    __slots__ = ("_content",)

    def __reduce__(self) -> tuple[object, ...]:
        if not hasattr(self, "_content"):
            self._content = pickle.dumps(dict(self), pickle.HIGHEST_PROTOCOL)
        return _restore_shared, (self._content,)


@lru_cache(maxsize=KEPT)
def _restore_shared(content: bytes) -> Shared[Any, Any]:
    return Shared(pickle.loads(content))


_BYTES = "packed"
"""Key of the bytes of a frame among its derived values."""
_places = lru_cache(maxsize=KEPT)(few_bytes)
_opened_places = lru_cache(maxsize=KEPT)(value_of)


@lru_cache(maxsize=KEPT)
def _restore_frame(content: bytes) -> Frame:
    return Frame(*value_of(content))


def parts_of(held: Contents | Held) -> Parts:
    """Return the facts in two parts: those that similar devices share, and a device's own."""
    return _unpack_parts(held) if isinstance(held, Held) else split_facts(held.reading)


@lru_cache(maxsize=_OPEN)
def _unpack_parts(held: Held) -> Parts:
    names, values, _, _ = value_of(held.own)
    return Parts(_restore_frame(held.frame), names, values, _opened_places(held.places))


unpacked = lru_cache(maxsize=_OPEN)(unpack_contents)
"""`opened`, the last few remembered."""
