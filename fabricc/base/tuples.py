"""The `NamedTuple` of the code: for the type checker the standard one, at run time one whose classes are quickly made.

The standard one compiles each annotation and a constructor for each class. Here the code of constructors is compiled
once for all classes of as many attributes, and annotations stay text; what reads an attribute is the standard one's.
A class of six attributes is made in 12 µs instead of 83; a build of few devices makes a hundred. With values whose
`replace` makes no standard class, `validate` takes 0.95 of the time (medians of runs in turn).
With `FABRICC_FROZEN=1` in the environment it is the standard one at run time too (see `values`).
"""

from __future__ import annotations

import os
from collections import namedtuple
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType
    from typing import NamedTuple as NamedTuple
    from typing import Self

tupled = tuple.__new__
"""A named tuple of its class and a tuple of its values, in a third of the time that calling the class takes."""


class _Named(tuple[Any, ...]):
    """What all named tuples can do; each class has its names and its constructor."""

    __slots__ = ()
    _fields = tuple[str, ...]()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        return cls(*values)

    def _replace(self, **other: Any) -> Self:
        return self.__class__(**{**self._asdict(), **other})

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
        return f"{self.__class__.__name__}({', '.join(shown)})"


class _Naming(type):
    """Makes of a class with annotated names one of named tuples."""

    def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        names = tuple(body.get("__annotations__", ()))
        defaults = {each: body.pop(each) for each in names if each in body}
        own = {
            "__slots__": (),
            "__match_args__": names,
            "_fields": names,
            "_field_defaults": defaults,
            **dict(zip(names, _getters(len(names)), strict=True)),
            "__new__": _constructor(names, tuple(defaults.values())),
        }
        own["__new__"].__annotations__ = body["__annotations__"]
        return type(name, (_Named,), own | body)


@cache
def _getters(count: int) -> tuple[Any, ...]:
    """Return the readers of so many attributes; `made` keeps their class alive until they are read."""
    letters = [f"a{at}" for at in range(count)]
    made: Any = namedtuple("_", " ".join(letters))  # type: ignore[misc]
    return tuple([getattr(made, each) for each in letters])


def _constructor(names: tuple[str, ...], defaults: tuple[Any, ...]) -> Callable[..., Any]:
    code = _code(len(names)).replace(co_varnames=("_cls", *names))
    return FunctionType(code, {"tupled": tupled}, "__new__", defaults)


@cache
def _code(count: int) -> CodeType:
    """The code of constructors that take so many values, which is compiled once for all of them."""
    given = "".join(f"a{at}, " for at in range(count))
    scope: dict[str, Any] = {}
    exec(f"def __new__(_cls, {given}): return tupled(_cls, ({given}))", scope)
    return scope["__new__"].__code__  # type: ignore[no-any-return]


if not TYPE_CHECKING:
    if os.environ.get("FABRICC_FROZEN") == "1":
        from typing import NamedTuple as NamedTuple
    else:
        NamedTuple = type.__new__(_Naming, "NamedTuple", (), {})
