"""Find the installed folders of fabricc (templates, schemas, docs), and load the YAML files of the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

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


@cache
def load_package_yaml(path: Path) -> Any:
    """Return the values of a YAML 1.1 file of the package. Callers share them and must not change them."""
    import yaml  # few verbs read such a file

    return yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
