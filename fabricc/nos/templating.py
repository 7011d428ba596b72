"""The Jinja2 environments of the back ends: one per NOS and process, the user's own templates searched first."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jinja2 import Environment

_PACKAGE = Path(__file__).resolve().parent.parent
_overrides: tuple[Path, ...] = ()


@cache
def built_in() -> Path:
    """The folder of the templates that come with the product.

    An installed wheel carries it inside the package; a source checkout has it beside the package.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    for folder in (_PACKAGE / "_templates", _PACKAGE.parent / "templates"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no templates beside or inside {_PACKAGE.name}")


def set_template_path(folders: Iterable[str | Path]) -> None:
    """Search these folders before the built-in templates, in the order given.

    Each holds a folder per NOS, such as `eos/bgp.j2`; a file there replaces the built-in one of that name.
    """
    global _overrides
    _overrides = tuple(Path(folder) for folder in folders)


def environment(nos: str) -> Environment:
    """The environment that renders the templates of one NOS; the same object at every call.

    Names that a template uses and its view lacks are errors (`jinja2.UndefinedError`), never empty text.
    """
    return _environment(nos, _overrides)


@cache
def _environment(nos: str, overrides: tuple[Path, ...]) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder / nos for folder in (*overrides, built_in())]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=False,
    )
