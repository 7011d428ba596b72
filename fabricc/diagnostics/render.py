"""One way to every format in which diagnostics are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.diagnostics.model import Diagnostic

FORMATS = ("text", "json", "sarif", "github", "junit")


def render(
    diagnostics: Iterable[Diagnostic], format: str, sources: Mapping[str, str], *, colour: bool = False
) -> str:
    """The findings in one of `FORMATS`; `sources` (file -> text) and `colour` matter for `text` only.

    Raises:
        ValueError: no such format.
    """
    from fabricc.diagnostics import machine, text

    match format:
        case "text":
            return text.render_text(diagnostics, sources, colour=colour)
        case "json":
            return machine.render_json(diagnostics)
        case "sarif":
            return machine.render_sarif(diagnostics)
        case "github":
            return machine.render_github(diagnostics)
        case "junit":
            return machine.render_junit(diagnostics)
        case _:
            raise ValueError(f"no such format: {format}")
