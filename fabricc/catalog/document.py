"""A user's catalog file: YAML text to plain values with positions, within limits and without exceptions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import Rules
from fabricc.base.documents.reader import parse_document
from fabricc.base.documents.scalars import RefusedError, resolve_1_1
from fabricc.base.foreign import files

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.base.documents.document import Document

MAX_BYTES = 4 * 1024 * 1024


def catalog_error(code: str, message: str, position: Position | None, remedy: str = "") -> Diagnostic:
    """Return an error of the catalog's code range."""
    return Diagnostic(code, Severity.ERROR, message, position, remedy)


def read_document(
    path: Path, named_at: Position | None = None, root: Path | None = None
) -> Document | Diagnostic:
    """Read a user's file; whatever is wrong with it comes back as one diagnostic, FAB2101 or FAB2102.

    Args:
        path: the file.
        named_at: where it is named, the place of what is wrong with the name.
        root: the folder out of which no link may lead; None for that of the file.
    """
    file = str(path)
    try:
        content = files.read(path, root=root, limit=MAX_BYTES)
        document = parse_document(content.decode("utf-8-sig"), file, _RULES)
    except files.TooLargeError:
        message = f"the catalog file {file} is larger than 4 MB"
        return catalog_error("FAB2101", message, named_at, "Split it, or check the path.")
    except UnicodeDecodeError as failure:
        line = content[: failure.start].count(b"\n") + 1
        return catalog_error(
            "FAB2101", "the catalog file is not UTF-8 text", Position(file, line), "Save it as UTF-8."
        )
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or "not a usable path"
        remedy = "Check the path; `catalog` of a spec names files relative to the spec."
        return catalog_error("FAB2101", f"cannot read the catalog file {file}: {reason}", named_at, remedy)
    return document.diagnostics[0] if document.diagnostics else document


def _not_yaml(failure: Exception, _: str, file: str) -> Diagnostic:
    problem = getattr(failure, "problem", None) or getattr(failure, "reason", None) or "not valid YAML"
    mark = getattr(failure, "problem_mark", None)
    place = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file, 1, 1)
    return catalog_error("FAB2102", f"YAML: {problem}", place)


def _check_text(text: str) -> None:
    if not text.isprintable():
        message = "text over several lines or with control characters"
        raise RefusedError("FAB2102", message, "Write it in one line, or folded with `>-`.")


_KEY = ("FAB2102", "a key must be a short word", "Write a plain text key.")
_RULES = Rules(
    words={
        "twice": ("FAB2102", "duplicate key {text!r}", "Remove one of them."),
        "key": _KEY,
        "collection as key": _KEY,
        "too deep": ("FAB2102", "nested deeper than {most} levels", "Flatten it."),
        "too many": ("FAB2102", "more than {most} values", "Split the file."),
        "tag": ("FAB2102", "the tag {text!r:.60} is refused", "Remove the tag."),
        "second document": ("FAB2102", "more than one YAML document", "Keep one document per file."),
        "alias": ("FAB2102", "aliases are refused in catalog files", "Write the value out."),
    },
    plain=partial(resolve_1_1, code="FAB2102"),
    check=_check_text,
    syntax=_not_yaml,
    longest_key=128,
    max_depth=32,
    max_nodes=200_000,
    max_aliased_nodes=0,
    max_problems=1,
)
