"""Names that are allowed in an output tree, so that nothing is ever written outside it."""

from __future__ import annotations

import re

from fabricc.tree.failure import EmitError

_COMPONENT = r"[A-Za-z0-9_@+][A-Za-z0-9._@+:,=-]{0,199}"
_PATH = re.compile(f"{_COMPONENT}(?:/{_COMPONENT})*")
_CLUSTER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def is_path(path: str) -> bool:
    """Return whether every component of a relative path is plain: not `..`, not hidden, no unusual characters."""
    return _PATH.fullmatch(path) is not None


def is_cluster(name: str) -> bool:
    """Return whether a cluster's name can be the name of a folder."""
    return _CLUSTER.fullmatch(name) is not None


def checked_path(path: str) -> str:
    """Return the path, when every component is a plain name.

    Raises:
        EmitError: FAB7004, it is absolute, climbs (`..`), is hidden or has unusual characters.
    """
    if is_path(path):
        return path
    raise EmitError(
        "FAB7004", f"{path!r} is no file name for an output tree", "Rename the device or cluster."
    )


def checked_cluster(name: str) -> str:
    """Return the cluster's name, when it can name a folder.

    Raises:
        EmitError: FAB7004.
    """
    if is_cluster(name):
        return name
    remedy = "Use letters, digits, `.`, `_` and `-`, starting with a letter or digit, 63 at most."
    raise EmitError("FAB7004", f"{name!r} cannot name an output folder", remedy)
