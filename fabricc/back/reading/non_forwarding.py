"""Lines without effect on forwarding or losslessness: banners, accounts, clocks, counters.

A back end lists them as `Silent` rows in blocks for a separate reader. Nothing follows from them: `check` and `verify`
report them like any unknown line, but an audit does not count them as not understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.reading.reader import Reader
    from fabricc.fabric.facts import Reading


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
