"""One way to every format in which programs take diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.diagnostics.model import Diagnostic
    from fabricc.base.foreign.text import Rendered

FORMATS = ("text", "json", "sarif", "github", "junit")


def document(diagnostics: Iterable[Diagnostic], format: str) -> Rendered:
    """The findings for a program, in one of `FORMATS` but `text`.

    Raises:
        ValueError: no such format.
    """
    from fabricc.base.diagnostics import formats  # XML and SARIF, which no person at a terminal waits for

    renderers = (formats.render_json, formats.render_sarif, formats.render_github, formats.render_junit)
    return renderers[FORMATS[1:].index(format)](diagnostics)
