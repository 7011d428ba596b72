"""A diagnostic code: what it means, what causes it and what to do about it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import TITLES
from fabricc.base.installation import load_package_yaml
from fabricc.review.explain.model import Explanation, SubjectError

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).with_name("codes.yaml")
_TOPICS = TABLE.with_name("topics.yaml")
_NEAR = 3


def explain_code(code: str) -> Explanation:
    """Return a code such as `FAB4003`.

    Raises:
        SubjectError: FAB9270, there is no such code.
    """
    title = TITLES.get(code)
    if title is None:
        numbers = sorted(TITLES, key=lambda known: (abs(int(known[3:]) - int(code[3:])), known))[:_NEAR]
        near = ", ".join(f"{known} ({TITLES[known]})" for known in sorted(numbers))
        message = f"no diagnostic has the code {code}"
        raise SubjectError("FAB9270", message, f"Nearest: {near}.")
    about, page = about_code(code)
    rows = zip(("cause", "remedy"), code_causes().get(code, ()), strict=False)
    details = (("about", about), *rows, ("see", page))
    return Explanation("code", code, title, details)


def about_code(code: str) -> tuple[str, str]:
    """Return what a code is about, and the page of the documentation: the longest beginning that fits counts."""
    topics: dict[str, list[str]] = load_package_yaml(_TOPICS)
    topic, page = next(topics[code[:length]] for length in range(len(code), 3, -1) if code[:length] in topics)
    return topic, page


@cache
def code_causes() -> Mapping[str, tuple[str, str]]:
    """Return code -> cause and remedy."""
    table: dict[str, list[str]] = load_package_yaml(TABLE)
    return {code: (cause, remedy) for code, (cause, remedy) in table.items()}
