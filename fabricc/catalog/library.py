"""Read the catalog's files, users' models before built-in ones, and suggest names for mistyped and printed ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fabricc.base.installation import load_package_yaml
from fabricc.catalog import assemble

if TYPE_CHECKING:
    from fabricc.catalog.model import HostModel, NicModel, SwitchModel

MODELS = Path(__file__).parent / "models"
SECTIONS = ("switches", "hosts", "nics", "tables", "asics")

Raw = dict[str, Any]
Model = TypeVar("Model")
MAX_EXTENDS = 8


class UnknownModelError(LookupError):
    """A model refers to another one that is in no catalog file.

    Attributes:
        section: the kind of the missing model, one of `SECTIONS`.
        name: its name.
    """

    def __init__(self, section: str, name: str) -> None:
        super().__init__(f"no {section} entry {name!r}")
        self.section, self.name = section, name


class ModelFileError(ValueError):
    """A file of the package does not define the model that it is named after, or lacks a key."""


class ExtendsTooDeepError(ValueError):
    """A model extends itself through others, or comes to its base after too many steps."""


class Library:
    """Raw models by section and name; a user's entry hides the built-in one of the same name."""

    def __init__(self) -> None:
        self._built_in = {
            section: {path.stem: path for path in sorted((MODELS / section).glob("*.yaml"))}
            for section in SECTIONS
        }
        self._users: dict[str, dict[str, Raw]] = {section: {} for section in SECTIONS}

    def add(self, section: str, name: str, raw: Raw) -> None:
        """Put a user's model, whose sources are citations already, in front of the built-in one."""
        self._users[section][name] = raw

    def remove(self, section: str, name: str) -> None:
        """Forget a user's model."""
        self._users[section].pop(name, None)

    def names(self, section: str) -> tuple[str, ...]:
        """Return all names of a section, sorted."""
        return tuple(sorted(self._built_in[section].keys() | self._users[section].keys()))

    def raw(self, section: str, name: str, seen: tuple[str, ...] = ()) -> Raw:
        """Return the mapping of a model, with what it extends merged in.

        A user's model may extend the built-in one of its own name; a built-in model knows built-in ones alone.

        Raises:
            UnknownModelError: the model, or one it extends, does not exist.
            ExtendsTooDeepError: the chain of `extends` is circular or longer than `MAX_EXTENDS`.
        """
        if len(seen) > MAX_EXTENDS:
            raise ExtendsTooDeepError(name)
        mine = self._users[section].get(name)
        if mine is None or name in seen:
            if name not in self._built_in[section]:
                raise ExtendsTooDeepError(name) if name in seen else UnknownModelError(section, name)
            return self._read(section, name)
        if "extends" not in mine:
            return mine
        base = mine["extends"]
        kind = _base_sections(section, base, self.names(section), self.names("asics"))
        return _extend_model(self.raw(kind, base, (*seen, name)), mine)

    def switch(self, name: str) -> SwitchModel:
        """Return the switch of that name.

        Raises:
            UnknownModelError: it, or a table it uses, does not exist.
        """
        return assemble.build_switch(
            name, self.raw("switches", name), lambda table: self.raw("tables", table)
        )

    def host(self, name: str) -> HostModel:
        """Return the host of that name.

        Raises:
            UnknownModelError: it, or its NIC, does not exist.
        """
        return assemble.build_host(name, self.raw("hosts", name), self.nic)

    def nic(self, name: str) -> NicModel:
        """Return the NIC of that name.

        Raises:
            UnknownModelError: it does not exist.
        """
        return assemble.build_nic(name, self.raw("nics", name))

    def _read(self, section: str, name: str) -> Raw:
        path = self._built_in[section][name]
        content = load_package_yaml(path)
        if name not in content.get(section, {}):
            raise ModelFileError(
                f"{section}/{path.name} does not define `{name}`: the key below `{section}` and the file need one name"
            )
        raw: Raw = replace_sources(content[section][name], content.get("sources", {}))
        if "extends" not in raw:
            return raw
        base = raw["extends"]
        kind = _base_sections(section, base, self._built_in[section], self._built_in["asics"])
        inherited = {key: value for key, value in self._read(kind, base).items() if key != "power"}
        return _extend_model(inherited, raw)  # another box has other power supplies


class Models(Mapping[str, Model]):
    """The models of one kind by name. Each is built at its first use."""

    def __init__(self, names: tuple[str, ...], find: Callable[[str], Model]) -> None:
        self._names = names
        self._known = frozenset(names)
        self._find = find
        self._ready: dict[str, Model] = {}

    def __getitem__(self, name: str) -> Model:
        if name not in self._known:
            raise KeyError(name)
        if name not in self._ready:
            try:
                self._ready[name] = self._find(name)
            except KeyError as missing:  # not an unknown name, which `get` would take it for
                raise ModelFileError(f"the model `{name}` lacks the key `{missing.args[0]}`") from missing
        return self._ready[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def replace_sources(raw: Any, sources: Mapping[str, str]) -> Any:
    """The same value with every source id replaced by its citation; a text that is no id is the citation itself."""
    if isinstance(raw, dict):
        return {
            key: sources.get(value, value) if key == "source" else replace_sources(value, sources)
            for key, value in raw.items()
        }
    if isinstance(raw, list):
        return [replace_sources(item, sources) for item in raw]
    return raw


def _base_sections(section: str, base: str, models: Container[str], asics: Container[str]) -> str:
    """Return where to look for what a model extends: among its own kind, and for a switch among ASICs then."""
    return "asics" if section == "switches" and base not in models and base in asics else section


def _extend_model(base: Raw, raw: Raw) -> Raw:
    return assemble.merge_values(base, {key: value for key, value in raw.items() if key != "extends"})


MAX_LENGTH = 64
"""Longer words are not compared: no catalog name comes near, and comparing costs the product of both lengths."""


def suggest_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the known names nearest to a mistyped one, best first, three at most.

    A name that contains the word, or is contained in it, counts as near (`7060x6` finds `7060x6-64pe`).
    """
    word = name.lower()
    if not word or len(word) > MAX_LENGTH:
        return ()
    known = sorted(names)
    near = get_close_matches(word, known, n=3, cutoff=0.7)
    parts = [other for other in known if len(word) >= 3 and (word in other or other in word)]
    return tuple(dict.fromkeys([*near, *parts]))[:3]


_LEAST_WORD, _MOST_NAMED = 4, 4
"""Letters and digits of a word that names of models share; most names of a remedy."""
_LEAST_PRINTED = 5
"""Letters and digits of a name that is looked for in a part number; shorter ones are in too many of them."""


@cache
def list_built_in(section: str) -> tuple[str, ...]:
    """Return the names of the built-in models of a section, such as `switches`."""
    return tuple(sorted(path.stem for path in (MODELS / section).glob("*.yaml")))


def find_printed_name(printed: str, names: Iterable[str]) -> str:
    """Return the name that a maker's part number contains, such as `DCS-7060X6-64PE-F`; the longest, or ""."""
    if len(printed) > MAX_LENGTH:
        return ""
    text = _keep_letters_and_digits(printed)
    known = [(name, _keep_letters_and_digits(name)) for name in names]
    return max(
        (name for name, word in known if word == text or (len(word) >= _LEAST_PRINTED and word in text)),
        key=len,
        default="",
    )


PRINTED_NAMES = Path(__file__).parent / "printed-names.yaml"


@cache
def load_printed_names() -> dict[str, tuple[str, ...]]:
    """Return models of the catalog by what makers print, in letters and digits."""
    table = load_package_yaml(PRINTED_NAMES)
    return {
        _keep_letters_and_digits(printed): tuple(row.get("models", ())) or (row["model"],)
        for section in SECTIONS
        for printed, row in table.get(section, {}).items()
    }


def name_models(printed: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a printed name stands for, best first, four at most; none where nothing comes near.

    One for a name that it contains, and those that `printed-names.yaml` lists for it. Otherwise those with the same
    words (`gb200` is in `gb200-nvl72`), then the similar ones.
    """
    known = tuple(names)
    text = _keep_letters_and_digits(printed)
    if not text or len(printed) > MAX_LENGTH:
        return ()
    if contained := find_printed_name(printed, known):
        return (contained,)
    listed = [
        (len(word), found)
        for word, models in load_printed_names().items()
        if (text == word or (len(word) >= _LEAST_PRINTED and word in text))
        and (found := tuple(model for model in models if model in known))
    ]
    if listed:
        return max(listed)[1]
    words = {word for word in re.split("[^a-z0-9]+", printed.lower()) if len(word) >= _LEAST_WORD}
    shared = [
        (len(words & set(name.split("-"))), name)
        for name in known
        if words & set(name.split("-")) or _keep_letters_and_digits(name).startswith(text)
    ]
    if shared:
        most = max(count for count, _ in shared)
        return tuple(name for count, name in shared if count == most)[:_MOST_NAMED]
    plain = {_keep_letters_and_digits(name): name for name in known}
    if near := get_close_matches(text, plain, 3):
        return tuple(plain[each] for each in near)
    short = set(
        re.split("[^a-z0-9]+", printed.lower())
    )  # `rtx-pro-server` shares two short words with `rtx-pro-8gpu`
    return tuple(name for name in known if len(short & set(name.split("-"))) > 1)[:_MOST_NAMED]


def explain_no_model(names: Iterable[str]) -> str:
    """Return a remedy for a name that nothing comes near: servers of all makers are planned by their board of GPUs."""
    known = set(names)
    boards = [name for name in _BOARDS if name in known]
    if not boards or not known.isdisjoint(list_built_in("switches")):
        return "`fabricc catalog` lists the models."
    return f"Name its GPU board: {', '.join(boards)} … (`fabricc catalog`), or add a model (`fabricc docs catalog`)."


_BOARDS = ("hgx-b200", "hgx-b300-2x400", "hgx-h200", "mi355x-pollara")
_ASIC = re.compile("(th|td|tomahawk|trident|jericho|spectrum|silicon)([a-z0-9]*)")
_SHORT_ASICS = {"th": "tomahawk", "td": "trident"}


def name_asic(printed: str) -> str:
    """Return the family of ASICs that a word such as `th6` or `tomahawk-6` names; else ""."""
    if found := _ASIC.fullmatch(_keep_letters_and_digits(printed)):
        return _SHORT_ASICS.get(found[1], found[1]) + found[2]
    return ""


@cache
def load_unlisted_names() -> dict[str, str]:
    """Return what to do about products that people ask for and the catalog does not have, by their first letters."""
    table = load_package_yaml(PRINTED_NAMES)
    return {_keep_letters_and_digits(name): row["instead"] for name, row in table["unlisted"].items()}


def explain_unlisted(printed: str) -> str:
    """Return what to do about a product that the catalog does not have on purpose; else ""."""
    text = _keep_letters_and_digits(printed)
    return next((instead for name, instead in load_unlisted_names().items() if text.startswith(name)), "")


_FEW = 12
"""Names that a remedy lists one by one."""


def suggest_name(printed: str, names: Iterable[str]) -> str:
    """Return what to write for an unknown name: what to do instead, the nearest names, or the known ones."""
    known = tuple(names)
    if unlisted := explain_unlisted(printed):
        return unlisted
    if near := name_models(printed, known):
        return f"Did you mean {' or '.join(near)}?"
    return f"Known: {', '.join(sorted(known))}." if len(known) <= _FEW else explain_no_model(known)


def find_titled_name(word: str, titles: Mapping[str, str]) -> str:
    """Return the name of the only model whose title contains a word, such as the chip of a NIC; else ""."""
    text = _keep_letters_and_digits(word)
    found = [name for name, title in titles.items() if text in _keep_letters_and_digits(title)]
    return found[0] if len(found) == 1 and len(text) >= _LEAST_PRINTED else ""


def _keep_letters_and_digits(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


def suggestion_remedy(name: str, names: Iterable[str], otherwise: str = "", most: int = 3) -> str:
    """Return a remedy with the `most` nearest names; `otherwise` when none is similar."""
    near = get_close_matches(name, list(names), most)
    return f"Did you mean {' or '.join(near)}?" if near else otherwise


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a remedy such as "Did you mean `sn5600`?"; empty when nothing comes near."""
    near = suggest_names(name, names)
    return f"Did you mean {' or '.join(f'`{other}`' for other in near)}?" if near else ""
