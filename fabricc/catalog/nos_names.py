"""Find the word of a spec for a system and release as its maker prints them: `NXOS: version 10.6(2)` is `nxos-10.6`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fabricc.base.installation import load_package_yaml
from fabricc.base.numbers import is_number
from fabricc.catalog.library import explain_unlisted
from fabricc.catalog.support import load_flavors

TABLE = Path(__file__).parent / "printed-systems.yaml"
_LONGEST = 200
"""Most characters of a text that are searched."""


class Form(NamedTuple):
    """A way to print a release, and the words of a spec for it."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]


@cache
def load_forms() -> tuple[Form, ...]:
    """Return the forms in which makers print releases, in the order in which they count."""
    return tuple(
        Form(re.compile(row["form"]), tuple(row["words"])) for row in load_package_yaml(TABLE)["forms"]
    )


@cache
def load_words() -> dict[str, tuple[str, ...]]:
    """Return the words of a spec for names of makers and products."""
    return {word: tuple(names) for word, names in load_package_yaml(TABLE)["words"].items()}


@cache
def _list_systems() -> frozenset[str]:
    return frozenset(name.partition("-")[0] for names in load_words().values() for name in names)


def name_releases(printed: str) -> tuple[str, ...]:
    """Return the words of a spec for a printed release, such as `sonic-enterprise-4.5`; none for another text."""
    text = printed.lower()[:_LONGEST]
    first, *others = load_forms()
    flavor, form = _name_flavor(text), _fill_first(tuple(others), text)
    if form and flavor and flavor[0].partition("-")[0] not in text:  # `nvidia-5.18` is no SONiC
        flavor = ()
    return _fill_form(first, text) or flavor or form


def name_systems(printed: str) -> tuple[str, ...]:
    """Return the words of a spec for a printed system, with or without a release; none for another text."""
    text = printed.lower()[:_LONGEST]
    words = load_words()
    if found := words.get(text) or name_releases(text):
        return found
    tokens = _split_words(text)
    if own := [token for token in tokens if token in _list_systems()]:
        return (own[0],)
    return next((words[token] for token in tokens if token in words), ())


def explain_system(printed: str) -> str:
    """Return the remedy for a text that stands in the place of a system: the words of a spec, or ""."""
    return explain_unlisted(printed) or _propose(name_systems(printed))


def explain_release(system: str, release: str) -> str:
    """Return the remedy for a release that a system does not have: the words of a spec, or ""."""
    if named := explain_unlisted(release) or _propose(name_releases(f"{system}-{release}")):
        return named
    return _propose((system,)) if release.lower() in load_words() else ""


def _propose(names: tuple[str, ...]) -> str:
    return f"Write {' or '.join(f'`{name}`' for name in names)}." if names else ""


def _fill_first(forms: tuple[Form, ...], text: str) -> tuple[str, ...]:
    return next((words for form in forms if (words := _fill_form(form, text))), ())


def _fill_form(form: Form, text: str) -> tuple[str, ...]:
    found = form.pattern.search(text)
    return tuple(word.format(*found.groups()) for word in form.words) if found else ()


def _name_flavor(text: str) -> tuple[str, ...]:
    """Return how a spec names the build that people call `enterprise-sonic-4.4` or `dell-sonic`."""
    words = _split_words(text)
    for flavor in load_flavors().values():
        alone = words[:1] == [flavor.name] and not _list_systems() & set(words)
        if {flavor.name, *flavor.also} & set(words) and (flavor.system in text or alone):
            version = [word for word in words if is_number(word[:1])]
            return ("-".join([flavor.system, flavor.name, *version[:1]]),)
    return ()


def _split_words(text: str) -> list[str]:
    return [word for word in re.split("[^a-z0-9.]+", text) if word]
