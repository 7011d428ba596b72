"""Load YAML files that the package contains."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@cache
def load_package_yaml(path: Path) -> Any:
    """Return the values of a YAML 1.1 file of the package. Callers share them and must not change them."""
    import yaml  # few verbs read such a file

    return yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
