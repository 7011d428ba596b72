"""Generate the page of every code, by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import TITLES
from fabricc.base.order import group_pairs
from fabricc.review.explain.codes import about_code, code_causes

if TYPE_CHECKING:
    from collections.abc import Iterator


def render_codes() -> str:
    """Return the meaning, cause and remedy of each code, in the order of the numbers of each subject."""
    return "".join(_render_subjects())


def _render_subjects() -> Iterator[str]:
    yield "# Every code\n\nThe meaning, cause and remedy of each finding. `fabricc explain CODE` shows one of them.\n"
    known = code_causes()
    subjects = group_pairs((about_code(code), code) for code in TITLES)
    for (about, page), codes in subjects.items():
        topic = page.rpartition(" ")[2]
        yield f"\n## {about[0].upper()}{about[1:]}: {page}\n\nSee [{topic}]({topic}.md).\n"
        for code in codes:
            yield f"\n### {code}\n\n**{TITLES[code]}.**"
            yield "".join(f" {sentence}" for sentence in known.get(code, ())) + "\n"
