"""What differs between two releases of a system, as its own rows of `LIMITS` have it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends

if TYPE_CHECKING:
    from types import ModuleType

    from fabricc.back.nos.limits import Limit
    from fabricc.fabric.model import Switch

_FIELD = re.compile(r"\{[^{}]*\}")


class Feature(NamedTuple):
    """Something that one of two releases has and the other lacks.

    Attributes:
        name: a few words.
        setting: what facts of it begin with, "" where it is none of the settings.
        comes: whether the later of the two has it.
        words: commands, tables or files that carry it; `source`: who says so.
    """

    name: str
    setting: str
    comes: bool
    words: str
    source: str


def features(before: Switch, after: Switch) -> tuple[Feature, ...]:
    """What a switch gains and loses when it goes from one release of a system to another; none of a third party's."""
    module = _limits(after.nos)
    if module is None or before.nos != after.nos:
        return ()
    rows: tuple[Limit, ...] = module.LIMITS
    held = ((limit, module.has(before, limit), module.has(after, limit)) for limit in rows)
    return tuple(
        dict.fromkeys(
            Feature(_FIELD.sub("…", limit.title()), limit.setting, comes, limit.words, limit.source)
            for limit, had, comes in held
            if had != comes
        )
    )


def one_way(nos: str, before: str, after: str) -> str:
    """What going back from a release to an earlier one does not bring back; "" where nothing is known."""
    module = _limits(nos)
    told = getattr(module, "one_way", None)
    return told(before, after) if told else ""


def _limits(nos: str) -> ModuleType | None:
    if nos not in back_ends.BUILT_IN:
        return None
    return import_module(f"{back_ends.BUILT_IN[nos].partition(':')[0]}.limits")
