"""Compare two releases of a system by its rows of `LIMITS`."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.base.documents.reader import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from fabricc.back.nos.limits import Limit
    from fabricc.fabric.model import Switch

_FIELD = re.compile(r"\{[^{}]*\}")
_IMAGES = "images.yaml"


class Feature(NamedTuple):
    """Something that one of two releases has and the other lacks.

    Attributes:
        name: a few words.
        setting: prefix of its facts, "" if it is none of the settings.
        comes: whether the later of the two has it.
        words: commands, tables or files that carry it; `source`: where this is documented.
    """

    name: str
    setting: str
    comes: bool
    words: str
    source: str


class ImageStep(NamedTuple):
    """The image step of a system and its reversal; fabricc runs none of it.

    Attributes:
        check: command that verifies the checksum of a file on the switch.
        install, back: commands in their order; `back` is empty where the maker states no way.
        limits: what the way back needs, and what it does not do.
        sources: documents; `assumed` names the parts without a manual of the maker.
    """

    nos: str
    check: str
    install: tuple[str, ...]
    back: tuple[str, ...]
    limits: tuple[str, ...]
    sources: tuple[str, ...]
    assumed: tuple[str, ...]


def image_step(nos: str, before: str, after: str) -> ImageStep | None:
    """Return the image step of a system between two of its releases; None of a third party's.

    Commands that a release lacks are left out: it installs by those of the one that runs, and goes back by those of the
    new one.
    """
    row = _image_steps().get(nos)
    if row is None:
        return None
    order = back_ends.load(nos).releases
    lacks = {
        part
        for part, runs in (("install", before), ("back", after))
        if (since := row.get("since", {}).get(part)) and order.index(runs) < order.index(since)
    }
    ways = {part: () if part in lacks else tuple(row[part]) for part in ("install", "back")}
    limits, sources, assumed = (tuple(row.get(part, ())) for part in ("limits", "sources", "assumed"))
    return ImageStep(nos, row["check"], ways["install"], ways["back"], limits, sources, assumed)


@cache
def _image_steps() -> Mapping[str, Any]:
    """Return the table of images, by system."""
    text = (resources.files("fabricc.back.nos") / _IMAGES).read_text(encoding="utf-8")
    found: Mapping[str, Any] = parse_yaml(text, _IMAGES).value
    return found


def changed_features(before: Switch, after: Switch) -> tuple[Feature, ...]:
    """Return the features that a switch gains and loses between two releases; none for third-party systems."""
    module = _load_limits(after.nos)
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
    """Return what going back from a release to an earlier one does not bring back; "" where nothing is known."""
    module = _load_limits(nos)
    function = getattr(module, "one_way", None)
    return function(before, after) if function else ""


def _load_limits(nos: str) -> ModuleType | None:
    if nos not in back_ends.BUILT_IN:
        return None
    return import_module(f"{back_ends.BUILT_IN[nos].partition(':')[0]}.limits")
