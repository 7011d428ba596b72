"""What a running fabric is, from its devices' own configurations: nothing of it needs a spec.

`from fabricc.audit import audit` is the entry for Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricc.audit.run import Audit, audit

__all__ = ["Audit", "audit"]


def __getattr__(name: str) -> Any:
    """One of the public names, imported when it is first asked for (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fabricc.audit import run  # modules of this package are imported for less than a whole audit

    return getattr(run, name)
