"""One way to every format in which diagnostics are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.text import render_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.base.diagnostics.model import Diagnostic
    from fabricc.base.foreign.text import Rendered, Safe

FORMATS = ("text", "json", "sarif", "github", "junit")


def render(
    diagnostics: Iterable[Diagnostic], format: str, sources: Mapping[str, str], *, colour: bool = False
) -> Safe:
    """The findings in one of `FORMATS`; `sources` (file -> text) and `colour` matter for `text` only.

    Raises:
        ValueError: no such format.
    """
    if format == "text":
        return render_text(diagnostics, sources, colour=colour)
    return document(diagnostics, format)


def document(diagnostics: Iterable[Diagnostic], format: str) -> Rendered:
    """The findings for a program, in one of `FORMATS` but `text`.

    Raises:
        ValueError: no such format.
    """
    from fabricc.base.diagnostics import formats

    match format:
        case "json":
            return formats.render_json(diagnostics)
        case "sarif":
            return formats.render_sarif(diagnostics)
        case "github":
            return formats.render_github(diagnostics)
        case "junit":
            return formats.render_junit(diagnostics)
        case _:
            raise ValueError(f"no such format: {format}")
