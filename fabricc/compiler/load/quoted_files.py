"""The text of files that findings point into, so that their lines can be shown: of files that may be read alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.foreign.files import Folder, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.base.diagnostics import Diagnostic

_LARGEST = 4 << 20  # bytes
_LARGEST_IN_TREE = 1 << 20  # bytes
_FILES = 256


def input_texts(diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
    """Return the text of inputs, such as specs and catalog files, that diagnostics point into, by name."""
    texts = {}
    for name in sorted({d.position.file for d in diagnostics if d.position})[:_FILES]:
        with suppress(OSError):
            texts[name] = read(Path(name), limit=_LARGEST).decode(errors="replace")
    return texts


def tree_texts(diagnostics: Iterable[Diagnostic], tree: Path) -> dict[str, str]:
    """Return the text of files in a tree that diagnostics point into, by name: of as many as anybody reads about."""
    below = f"{tree}/"
    named = {d.position.file for d in diagnostics if d.position and d.position.file.startswith(below)}
    texts = {}
    with suppress(OSError), Folder(tree) as folder:
        for name in sorted(named)[:_FILES]:
            with suppress(OSError):
                text = folder.read(name.removeprefix(below), limit=_LARGEST_IN_TREE)
                texts[name] = text.decode(errors="replace")
    return texts
