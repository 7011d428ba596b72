"""Find the origin of a configuration line: the built-in template with its line, or the serializer."""

from __future__ import annotations

import re
from functools import cache

from fabricc.base.installation import data_folder

_PART = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_LEAST = 2
"""Letters of its own that a line of a template must have to be taken for the origin of a line."""


def find_printer(nos: str, file: str, line: str) -> str:
    """`template eos/bgp.j2:24`, or the module that writes such files where a system has no templates.

    Of several lines of templates that give this one, the one with the most letters of its own is named.
    """
    text = line.strip()
    best = max(
        (
            (own, name, number)
            for own, pattern, name, number in _template_patterns(nos)
            if pattern.fullmatch(text)
        ),
        default=None,
    )
    if best is None and file == "frr.conf" and nos != "frr":
        return find_printer("frr", file, line)
    if best is not None:
        return f"template {best[1]}:{best[2]}"
    return "no built-in template" if _template_patterns(nos) else f"the serializer fabricc.back.nos.{nos}"


@cache
def _template_patterns(nos: str) -> tuple[tuple[int, re.Pattern[str], str, int], ...]:
    """Return lines of the templates of a system: letters of their own, what they give, file and line."""
    templates = data_folder("templates")
    found = []
    for path in sorted((templates / nos).glob("**/*.j2")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            own = _PART.split(line.strip())
            letters = sum(len(part.strip()) for part in own)
            if letters >= _LEAST:
                pattern = re.compile(".*".join(re.escape(part) for part in own))
                found.append((letters, pattern, path.relative_to(templates).as_posix(), number))
    return tuple(found)
