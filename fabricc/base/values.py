"""The `dataclass` of values: for the type checker the standard one, at run time one whose classes are quickly made.

The standard one compiles up to seven functions for each class and looks closely at each annotation. A build of few
devices imports some two hundred such classes, and never makes an object of most. Here nothing is compiled but the code
of constructors, once for all that take as many attributes alike, when they are first called; it does not go through
`object.__setattr__`, which takes four times as long. A class is made in 27 µs instead of 163, its constructor in 12
instead of 50 (least of several turns). Medians of runs in turn, with the first of this kind and with the standard one:
`validate` 0.22 s and 0.34 s, where 0.25 s is the target; a checked build of 24,576 GPUs 12.8 s and 14.9 s of CPU.
With `FABRICC_FROZEN=1` in the environment it is the standard one at run time too; a test builds with both.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import MISSING, Field
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_MOST = 64
"""Results that a function keeps."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
    from types import CodeType
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, but what keeps a frozen one as it is is the type checker alone."""
        if os.environ.get("FABRICC_FROZEN") == "1":
            return dataclasses.dataclass(frozen=frozen, slots=slots)
        return lambda cls: _made(cls, frozen, slots)

    def replace(value: Any, /, **other: Any) -> Any:
        """As `dataclasses.replace`, which makes a standard class to learn the attributes: 0.4 ms for each class."""
        said = getattr(value, "__said__", None)
        if said is None:
            return dataclasses.replace(value, **other)
        for name, each in said.items():
            if name not in other and (not isinstance(each, Field) or each.init):
                other[name] = getattr(value, name)
        return value.__class__(**other)


_ABSENT = object()


def attributes(kind: type) -> tuple[str, ...]:
    """Names of a dataclass's attributes, in their order; none of another class."""
    said = getattr(kind, "__said__", None)
    if said is None and dataclasses.is_dataclass(kind):
        said = [field.name for field in dataclasses.fields(kind)]
    return tuple(said or ())


def shared(value: Any, kind: type) -> dict[str, Any]:
    """The fields that a value has as one of `kind`, by name: what it hands on to another value of that kind."""
    return {name: getattr(value, name) for name in attributes(kind)}


def of_same(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """What a function makes of the same values, made once: values that many devices share.

    They are known by identity, for hashing all that is in them takes as long as the function; they are held, so that
    nothing else gets their place. Only what is never changed may be given, and by position.
    """
    known: dict[tuple[int, ...], tuple[tuple[Any, ...], _Result]] = {}

    def remembering(*given: _Given.args, **none: _Given.kwargs) -> _Result:
        key = tuple(map(id, given))
        found = known.get(key)
        if found is None:
            if len(known) == _MOST:
                known.clear()
            found = known[key] = given, function(*given, **none)
        return found[1]

    return remembering


def _made(cls: Any, frozen: bool, slots: bool) -> Any:
    """The class with what a dataclass has; another one with slots, as those have to be there when a class is made."""
    own, bases = dict(vars(cls)), cls.__mro__[:0:-1]
    said = {name: value for base in bases for name, value in vars(base).get("__said__", {}).items()}
    said |= {name: own.pop(name, MISSING) for name in own.get("__annotations__", ())}
    if slots:
        taken = {"__dict__", "__weakref__"}.union(*(vars(base).get("__slots__", ()) for base in bases))
        body = {name: value for name, value in own.items() if name not in taken}
        body["__slots__"] = tuple([name for name in said if name not in taken])
        value: Any = type(cls)(cls.__name__, cls.__bases__, body)
        value.__qualname__ = cls.__qualname__
    else:
        value = cls
        for name in [name for name, each in vars(cls).items() if isinstance(each, Field)]:
            delattr(cls, name)
            if said[name].default is not MISSING:
                setattr(cls, name, said[name].default)
    value.__said__ = said
    value.__match_args__ = tuple(said)  # type: ignore[misc]
    value.__dataclass_fields__ = _Fields()
    compared = [name for name, each in said.items() if not isinstance(each, Field) or each.compare]
    if "__init__" not in own:
        value.__init__ = _deferred(value)
    if "__eq__" not in own:
        value.__eq__ = _equality(_getter(compared))
    if own.get("__hash__") is None:
        value.__hash__ = _hashing(_getter(compared)) if frozen else None
    if "__repr__" not in own:
        value.__repr__ = _text
    return value


class _Fields:
    """What `dataclasses` knows the attributes of a class by, made when it asks: of most classes it never does."""

    def __get__(self, _value: object, cls: Any) -> dict[str, Field[Any]]:
        said, kinds = cls.__said__, dict.fromkeys(cls.__said__)
        for base in reversed(cls.__mro__):
            kinds |= {
                name: kind for name, kind in vars(base).get("__annotations__", {}).items() if name in said
            }
        body = {name: value for name, value in said.items() if value is not MISSING}
        body |= {"__module__": cls.__module__, "__annotations__": kinds, "__doc__": "Not to be worked out."}
        plain: Any = type(cls.__name__, (), body)
        standard = dataclasses.dataclass(plain, init=False, repr=False, eq=False)
        cls.__dataclass_fields__ = standard.__dataclass_fields__
        return standard.__dataclass_fields__  # type: ignore[no-any-return]


def _deferred(cls: Any) -> Callable[..., None]:
    """A constructor that makes the one that takes its place."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - installed under that name
        cls.__init__ = _constructor(cls)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _constructor(cls: Any) -> Callable[..., None]:
    """The constructor that `dataclasses` would make if the class were not frozen."""
    scope: dict[str, Any] = {"absent": _ABSENT}
    names: dict[str, str] = {}
    ways, defaults = "", []
    for at, (name, value) in enumerate(cls.__said__.items()):
        names[f"a{at}"] = name
        default = value
        if isinstance(value, Field):
            default = value.default
            if value.default_factory is not MISSING:
                scope[f"make{at}"] = value.default_factory
                default = _ABSENT if value.init else MISSING
        ways += "?" if default is _ABSENT else "!" if f"make{at}" in scope else "="
        defaults += [default] if default is not MISSING else []
    code = _code(ways, hasattr(cls, "__post_init__"))
    local, used = ([names.get(each, each) for each in part] for part in (code.co_varnames, code.co_names))
    code = code.replace(co_varnames=tuple(local), co_names=tuple(used))
    made = FunctionType(code, scope, "__init__", tuple(defaults))
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@cache
def _code(ways: str, after: bool) -> CodeType:
    """The code of constructors that get their attributes in these ways, which is compiled once for all of them.

    Args:
        ways: of each attribute, `=` given, `?` made where it is not given, `!` made.
        after: whether `__post_init__` follows.
    """
    given = [f", a{at}" for at, way in enumerate(ways) if way != "!"]
    makers = {"=": "a{0}", "?": "make{0}() if a{0} is absent else a{0}", "!": "make{0}()"}
    lines = [f"self.a{at} = {makers[way].format(at)}" for at, way in enumerate(ways)]
    lines += ["self.__post_init__()"] if after else []
    scope: dict[str, Any] = {}
    exec(f"def __init__(self{''.join(given)}):\n " + "\n ".join(lines or ["pass"]), scope)
    return scope["__init__"].__code__  # type: ignore[no-any-return]


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
    names = [name for name, each in self.__said__.items() if not isinstance(each, Field) or each.repr]
    shown = [f"{name}={getattr(self, name)!r}" for name in names]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
