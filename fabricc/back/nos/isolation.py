"""States whether anything leads from the fabric's ports to the management network, from what a reader found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.facts import format_boolean

if TYPE_CHECKING:
    import re

    from fabricc.fabric.facts import Reading

ISOLATED = "management/isolated"
_SETTING = "setting["


def state_isolation(
    reading: Reading, apart: bool, place: tuple[str, int], joins: re.Pattern[str] | None = None
) -> None:
    """State the fact, at the line that joins the two or else at `place`.

    Args:
        reading: the reading of all files, with its unknown lines.
        apart: whether the files have the statements that separate the two on this system.
        place: file and line of these statements, or of their place.
        joins: text of a line that leaks routes between the two; no plan has one, so it is unknown, or a setting that is
            reported by its words.
    """
    found: list[tuple[str, int]] = []
    if joins is not None:
        found += [(file, line) for file, line, text in reading.unknown if joins.search(text)]
        found += [reading.lines[path] for path in reading.facts if _SETTING in path and joins.search(path)]
    file, line = found[0] if found else place
    reading.put(ISOLATED, format_boolean(apart and not found), file, line)
