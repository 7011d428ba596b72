"""The `dataclass` of values: for the type checker the standard one, at run time one whose classes are quickly made.

The standard one compiles up to seven functions for each class. A build of few devices imports some two hundred such
classes, most of which it never makes an object of. Here nothing is compiled but the constructor, at its first call, and
it does not go through `object.__setattr__`, which takes four times as long. Medians of runs in turn, with this and with
the standard one: `validate` 0.22 s and 0.34 s, where 0.25 s is the target; nothing changed 0.49 s and 0.59 s; a checked
build of 24,576 GPUs 12.8 s and 14.9 s of CPU.
With `FABRICC_FROZEN=1` in the environment it is the standard one at run time too; a test builds with both.
"""

from __future__ import annotations

import dataclasses
import os
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, but what keeps a frozen one as it is is the type checker alone."""
        if os.environ.get("FABRICC_FROZEN") == "1":
            return dataclasses.dataclass(frozen=frozen, slots=slots)

        def made(cls: type) -> type:
            value = dataclasses.dataclass(cls, init=False, eq=False, repr=False, slots=slots)
            compared = [field.name for field in dataclasses.fields(value) if field.compare]
            own = vars(cls)
            if "__init__" not in own:
                value.__init__ = _deferred(value)
            if "__eq__" not in own:
                value.__eq__ = _equality(_getter(compared))
            if own.get("__hash__") is None:
                value.__hash__ = _hashing(_getter(compared)) if frozen else None
            if "__repr__" not in own:
                value.__repr__ = _text
            return value

        return made


def shared(value: Any, kind: type) -> dict[str, Any]:
    """The fields that a value has as one of `kind`, by name: what it hands on to another value of that kind."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}


def _deferred(cls: type) -> Callable[..., None]:
    """A constructor that compiles the one that takes its place."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - installed under that name
        compiled = _constructor(cls)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *args, **kwargs)

    return __init__


def _constructor(cls: type) -> Callable[..., None]:
    """The constructor that `dataclasses` would make if the class were not frozen; its text holds names alone."""
    scope: dict[str, Any] = {"_absent": object()}
    parameters, lines = ["self"], []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}()"
            if field.init:
                value += f" if {name} is _absent else {name}"
                parameters.append(f"{name}=_absent")
        elif field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    text = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])
    exec(text, scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives an object's values of these attributes as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _equality(get: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807 - installed under that name
        return bool(get(self) == get(other)) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(get: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807 - installed under that name
        return hash(get(self))

    return __hash__


@recursive_repr()
def _text(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
