"""Lines of a running configuration by which a switch runs a command, or reads what another file holds.

`adopt` does not carry them into a spec: whoever wrote them may be a stranger, and the next push would put them on every
switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.overlay_text import outline_text

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.base import Nos


def command_lines(back_end: Nos, files: Mapping[str, str]) -> frozenset[tuple[str, int]]:
    """Return file and line of each command in the files of a switch; none where the back end knows of none."""
    find = getattr(back_end, "command_lines", None)
    return frozenset(find(files)) if find else frozenset()


def matching_lines(file: str, text: str, shape: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """Yield file and line of each line like a pattern, and of those in the block that it opens."""
    waiting = [(node, False) for node in outline_text(text).children]
    while waiting:
        node, inside = waiting.pop()
        found = inside or shape.match(node.text) is not None
        if found:
            yield file, node.line
        waiting += ((child, found) for child in node.children)
