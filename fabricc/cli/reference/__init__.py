"""Reference pages that fabricc generates from its data: keys, verbs, models, limits of systems, codes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.nos import BUILT_IN
from fabricc.cli.reference.models import render_limits, render_models
from fabricc.cli.reference.pages import render_codes, render_spec, render_verbs

if TYPE_CHECKING:
    from collections.abc import Callable

FEATURES = Path(__file__).parent / "features.md"
"""The features that each system supports by release; a test compares it with the back ends."""


def _read_features() -> str:
    return FEATURES.read_text("utf-8")


GENERATED: dict[str, Callable[[], str]] = {
    "codes": render_codes,
    "features": _read_features,
    **{f"limits-{nos}": partial(render_limits, nos) for nos in BUILT_IN},
    "models": render_models,
    "spec": render_spec,
    "verbs": render_verbs,
}
"""Topic -> the function that renders its page as Markdown."""

TITLES = {
    "codes": "Every code",
    "features": "What each system supports",
    **{f"limits-{nos}": f"Limits of {nos} by release" for nos in BUILT_IN},
    "models": "Hardware models",
    "spec": "Keys of the spec",
    "verbs": "Verbs and options",
}
"""The titles, so that a list of topics renders no page."""
