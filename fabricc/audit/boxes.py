"""Which model of the catalog a box is, by what the box calls itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.catalog.model import SwitchModel

_PARTS = re.compile(r"[^a-z0-9]+")
_SETTINGS = ("model", "hwsku", "platform")
"""Settings of a system in the catalog that name the box as the system does."""


class Boxes:
    """The models of a catalog by every name that they have there."""

    def __init__(self, models: Mapping[str, SwitchModel]) -> None:
        self._models = models
        self._names = {_name_words(name): name for name in models}
        self._all: Mapping[tuple[str, ...], str] | None = None

    def model(self, products: Iterable[str]) -> str | None:
        """Return the model with one of these names, or whose longest name is contained in one, word for word."""
        wanted = [_name_words(product) for product in products]
        for names in (lambda: self._names, self._all_names):
            for product in wanted:
                if found := _longest_match(product, names()):
                    return found
        return None

    def _all_names(self) -> Mapping[tuple[str, ...], str]:
        """Return all names of models: titles without the maker, and product names of systems."""
        if self._all is None:
            found: dict[tuple[str, ...], str] = {}
            for name, model in self._models.items():
                title = model.title.partition(" (")[0]
                said = [setting.get(key, "") for setting in model.nos.values() for key in _SETTINGS]
                for text in (title, title.partition(" ")[2], *map(str, said)):
                    if parts := _name_words(text):
                        found.setdefault(parts, name)
            self._all = found
        return self._all


def _longest_match(product: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> str | None:
    spans = sorted(
        (
            (end - start, start, end)
            for start in range(len(product))
            for end in range(start + 1, len(product) + 1)
        ),
        key=lambda span: (-span[0], span[1]),
    )
    return next((names[part] for _, start, end in spans if (part := product[start:end]) in names), None)


@lru_cache(maxsize=1 << 12)
def _name_words(text: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(text.lower()) if part)
