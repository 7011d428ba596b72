"""Render diagnostics in the formats for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.base.diagnostics.model import Diagnostic
    from fabricc.base.foreign.text import Rendered

FORMATS = ("text", "json", "sarif", "github", "junit", "gitlab")


def render_document(
    diagnostics: Iterable[Diagnostic], format: str, advice: Mapping[str, tuple[str, str]] | None = None
) -> Rendered:
    """Return the findings for a program, in one of `FORMATS` but `text`.

    Args:
        diagnostics: the findings.
        format: the format.
        advice: code -> its cause and its remedy, which SARIF shows with the rule.

    Raises:
        ValueError: no such format.
    """
    from fabricc.base.diagnostics import formats  # XML and SARIF, which no person at a terminal waits for

    if format == "sarif":
        return formats.render_sarif(diagnostics, advice)
    renderers = {
        "json": formats.render_json,
        "github": formats.render_github,
        "junit": formats.render_junit,
        "gitlab": formats.render_gitlab,
    }
    if format not in renderers:
        raise ValueError(format)
    return renderers[format](diagnostics)
