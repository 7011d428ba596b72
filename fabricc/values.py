"""The `dataclass` of values: for the type checker the standard one, at run time one whose classes are quickly made.

The standard one compiles six functions for each frozen class. With a hundred such classes that takes a third of the
time that `fabricc validate` has, and constructors that go through `object.__setattr__` take four times as long. With
`FABRICC_FROZEN=1` in the environment it is the standard one at run time too; a test builds with both.
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
        if not frozen or os.environ.get("FABRICC_FROZEN") == "1":
            return dataclasses.dataclass(frozen=frozen, slots=slots)

        def made(cls: type) -> type:
            value = dataclasses.dataclass(cls, eq=False, repr=False, slots=slots)
            compared = [field.name for field in dataclasses.fields(value) if field.compare]
            own = vars(cls)
            if "__eq__" not in own:
                value.__eq__ = _equality(_getter(compared))
            if own.get("__hash__") is None:
                value.__hash__ = _hashing(_getter(compared))
            if "__repr__" not in own:
                value.__repr__ = _text
            return value

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
