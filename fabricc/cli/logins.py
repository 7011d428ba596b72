"""The access file that verbs which speak to switches share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fabricc.cli import output
from fabricc.operate.devices.access import NAME, not_own, read_access
from fabricc.operate.push.built_tree import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.operate.devices.access import Access


def access(spec: Path, stated: Path | None) -> Access:
    """The access file named, or the one beside the spec; warns when it turns verification off.

    From here on, libraries log what switches say only to a handler that someone set up: none of it is escaped.

    Raises:
        RefusedError: FAB9101, there is none; FAB9163, the one beside the spec may be somebody else's.
        DeviceError: FAB9101 or FAB9102, it cannot be used.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    path = stated or spec.parent / NAME
    if stated is None and not path.exists():
        raise RefusedError(
            "FAB9101",
            f"there is no {path}, which says how to log in",
            "See `fabricc docs push`, or use --access.",
        )
    if stated is None and (reason := not_own(path)):
        raise RefusedError(
            "FAB9163",
            f"{path} is not taken by itself: it {reason}",
            "See what it says of secrets and addresses, and name it with --access.",
        )
    found = read_access(path)
    if found.unverified:
        output.err(f"warning: {path} turns off the verification of host keys or certificates")
    return found
