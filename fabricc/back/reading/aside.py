"""Lines that are known to say nothing about forwarding or losslessness: banners, accounts, clocks, counters.

A back end lists them as rows of `Silent` lines in blocks, read by a reader of their own. Nothing follows from them, so
`check` and `verify` tell of them as of any line that no fact describes; an audit does not count them as not understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.reading.reader import Reader
    from fabricc.fabric.facts import Reading


def aside(
    reading: Reading, files: Mapping[str, str], readers: Mapping[str, Reader]
) -> frozenset[tuple[str, int]]:
    """File and line of each unknown line of a reading that the readers of such lines know.

    Args:
        reading: what the back end's own reader made of the files.
        files: name -> text, as they were read.
        readers: by file.
    """
    found: set[tuple[str, int]] = set()
    for name, reader in readers.items():
        unknown = {line for file, line, _ in reading.unknown if file == name}
        if unknown and name in files:
            known = reader.read({name: files[name]}).unknown
            found |= {(name, line) for line in unknown - {line for _, line, _ in known}}
    return frozenset(found)
