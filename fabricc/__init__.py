"""fabricc: the compiler for lossless AI fabrics; `from fabricc import compile_spec` is its entry for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.version import __version__

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled, CompileError, compile_spec


__all__ = ["CompileError", "Compiled", "__version__", "compile_spec"]


def __getattr__(name: str) -> Any:
    """One of the public names, imported when it is first asked for (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fabricc.compiler import compiled  # every start of the command imports this module

    return getattr(compiled, name)
