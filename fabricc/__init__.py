"""fabricc: the compiler for lossless AI fabrics; what is named here is its stable interface for Python."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fabricc.version import __version__

if TYPE_CHECKING:
    from fabricc.audit.gather import FolderContents
    from fabricc.audit.run import Audit
    from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
    from fabricc.compiler.compiled import Compiled, compile_spec
    from fabricc.compiler.planned_spec import CompileError
    from fabricc.compiler.result import BuildResult
    from fabricc.fabric.model import Host, Switch
    from fabricc.facts.statement import Device
    from fabricc.interface import assign_tenant, audit_folder, build, check, diff, explain, read_folder
    from fabricc.review.diff.model import Review
    from fabricc.review.explain.answer import Answer
    from fabricc.review.explain.model import Explanation


__all__ = [
    "Answer",
    "Audit",
    "BuildResult",
    "CompileError",
    "Compiled",
    "Device",
    "Diagnostic",
    "Explanation",
    "FindingsError",
    "FolderContents",
    "Host",
    "Position",
    "Review",
    "Severity",
    "Switch",
    "__version__",
    "assign_tenant",
    "audit_folder",
    "build",
    "check",
    "compile_spec",
    "diff",
    "explain",
    "read_folder",
]

_HOMES = {
    "audit.gather": ("FolderContents",),
    "facts.statement": ("Device",),
    "audit.run": ("Audit",),
    "base.diagnostics": ("Diagnostic", "FindingsError", "Position", "Severity"),
    "compiler.compiled": ("Compiled", "compile_spec"),
    "compiler.planned_spec": ("CompileError",),
    "compiler.result": ("BuildResult",),
    "fabric.model": ("Host", "Switch"),
    "interface": ("assign_tenant", "audit_folder", "build", "check", "diff", "explain", "read_folder"),
    "review.diff.model": ("Review",),
    "review.explain.answer": ("Answer",),
    "review.explain.model": ("Explanation",),
}
"""Module -> the public names that it has."""

_RENAMED = {"Gathered": "FolderContents"}
"""Former public name -> its name now; a former name works with a `DeprecationWarning`."""


def __getattr__(name: str) -> Any:
    """Return a public name and import its module on first use (PEP 562)."""
    if name in _RENAMED:
        message = f"fabricc.{name} is deprecated: use fabricc.{_RENAMED[name]}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"fabricc.{home}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
