"""Expand `~` in paths that people write; never raises for an unknown home."""

from __future__ import annotations

import os
from pathlib import Path


def expand_home(path: str | Path) -> Path:
    """Return a path with a leading `~` or `~user` replaced; it stays as it is where that user has no home.

    `Path.expanduser` raises a RuntimeError for an unknown user.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - see above


def home_folder() -> Path:
    """Return the user's home with all links resolved."""
    return Path(os.path.realpath(expand_home("~")))
