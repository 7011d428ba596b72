"""Find the installed folders of fabricc: templates, schemas and docs."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def data_folder(name: str) -> Path:
    """The folder of that name: inside the package, with `_` before it, in a wheel; next to it in a source checkout.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    for found in (PACKAGE / f"_{name}", PACKAGE.parent / name):
        if found.is_dir():
            return found
    raise FileNotFoundError(f"no {name} next to or inside {PACKAGE.name}")
