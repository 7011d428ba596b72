"""The page as HTML: one template with every value escaped, and a policy that lets nothing else run or load."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fabricc.base.foreign.formats import escape_html as escaped
from fabricc.base.foreign.formats import html_document
from fabricc.base.installation import data_folder
from fabricc.review.report.compose import compose_page

if TYPE_CHECKING:
    from fabricc.base.foreign.text import Rendered
    from fabricc.compiler.compiled import Compiled
    from fabricc.review.report.values import Page

FOLDER = "report"
GENERATOR = '<meta name="generator" content="fabricc report">'
"""The marker that distinguishes a report from any other file."""


def render_report(compiled: Compiled) -> Rendered:
    """Return the report of a planned spec; the same inputs give the same text.

    Raises:
        CompileError: the spec has errors.
        FileNotFoundError: the installation lacks the templates.
    """
    return render_page(compose_page(compiled))


def render_page(page: Page) -> Rendered:
    """Return a page as one HTML file.

    Raises:
        FileNotFoundError: the installation lacks the templates.
    """
    style, script = (_read_template(name) for name in ("page.css", "filter.js"))
    policy = (
        f"default-src 'none'; style-src {_hash_source(style)}; script-src {_hash_source(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _template_environment().get_template("page.html.j2")
    return html_document(template, page=page, style=style, script=script, policy=policy, generator=GENERATOR)


@cache
def _template_environment() -> Environment:
    """Return the templates, in an environment that escapes every value."""
    made = Environment(
        loader=FileSystemLoader(data_folder("templates") / FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters["with_code"] = _with_code
    return made


@cache
def _read_template(name: str) -> str:
    return (data_folder("templates") / FOLDER / name).read_text("utf-8")


def is_report(beginning: bytes) -> bool:
    """Return whether a file that begins so is a report, which another may replace."""
    return GENERATOR.encode() in beginning


def _with_code(text: str) -> Markup:
    """Return a text with what stands between backquotes as code; everything is escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escaped(text))))


def _hash_source(text: str) -> str:
    """Return the source expression of a text between its tags (Content Security Policy Level 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
