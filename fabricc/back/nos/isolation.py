"""States whether anything leads from the fabric's ports to the management network, from what a reader found."""

from __future__ import annotations

import re

from fabricc.fabric.facts import Reading, format_boolean

ISOLATED = "management/isolated"
_SETTING = "setting["
_WORD = re.compile(r"[\w-]+")


def state_isolation(
    reading: Reading,
    isolated: bool,
    place: tuple[str, int],
    joins: re.Pattern[str] | None = None,
    instance: str = "",
) -> None:
    """State the fact, at the line that joins the two or else at `place`.

    Args:
        reading: the reading of all files, with its unknown lines.
        isolated: whether the files have the statements that separate the two on this system.
        place: file and line of these statements, or of their place.
        joins: text of a line that leaks routes between the two; no plan has one, so it is unknown, or a setting that is
            reported by its words.
        instance: name of the routing instance of the management port; settings that lead from one other instance to
            another do not count. "" to count all.
    """
    found: list[tuple[str, int]] = []
    if joins is not None:
        found += [(file, line) for file, line, text in reading.unknown if joins.search(text)]
        settings = (path for path in reading.facts if _SETTING in path and joins.search(path))
        found += [reading.lines[path] for path in settings if _concerns(reading, path, instance)]
    file, line = found[0] if found else place
    reading.put(ISOLATED, format_boolean(isolated and not found), file, line)


def _concerns(reading: Reading, path: str, instance: str) -> bool:
    """Return whether a setting, or a policy that it names, names a routing instance."""
    words = _WORD.findall(f"{path} {reading.facts[path]}")
    if not instance or instance in words:
        return True
    maps = tuple(f"route_map[{word}]/" for word in words)
    return any(
        known.startswith(maps) and instance in _WORD.findall(str(value))
        for known, value in reading.facts.items()
    )
