"""Read the first line of the record of a tree's last build: the spec that this user built it from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fabricc.tree.state import state_of

FORMAT = 4


def find_recorded_spec(tree: Path) -> Path | None:
    """Find the spec that this user last built the tree from; None when it is not on record."""
    real = Path(os.path.realpath(tree))
    state = state_of(real.parent)
    try:
        if state is None:
            return None
        with (state / f"{real.name}.record").open("rb") as file:
            stated = parse_head(file.readline())
    except OSError:
        return None
    return Path(stated["spec"]) if stated and isinstance(stated.get("spec"), str) else None


def parse_head(line: bytes) -> dict[str, Any] | None:
    """Parse the first line of a record; None for a line of another format."""
    try:
        stated = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return stated if isinstance(stated, dict) and stated.get("format") == FORMAT else None
