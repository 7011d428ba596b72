"""The vocabulary of facts: of every path its type, meaning, reason, impact and words, declared in rows of YAML.

Neutral rows are in `vocabulary.yaml` in this folder, which explains their keys. Rows of designs that are read and not
built are in `beyond.yaml`; those of one operating system are in `facts.yaml` of its back end. A path is declared with
its keys starred, `interface[*]/mtu`, and found by a look-up of that. The text of a path of a port is made once in a
process, as it is the same on every switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from fabricc.base.installation import load_package_yaml
from fabricc.base.values import dataclass

STRUCTURE = "structure/"
"""Prefixes of paths that name parts of one NOS's text.

They prove it line by line and repeat what other facts of the device state; comparisons of two fabrics leave them out.
"""

_WAIST = Path(__file__).with_name("vocabulary.yaml")
_BEYOND = Path(__file__).with_name("beyond.yaml")
_INSTANCE = re.compile(r"vrf\[[^\]]*\]/")
_KEY = re.compile(r"\[[^\]]*\]")
_REASON = frozenset({"rule", "from", "lock", "catalog", "nic", "steps", "formula", "fixed", "docs"})
_UNITED = ("is", "follows")
_ROW = _REASON | {"type", "means", "like", "impact", "theme", "words", "concern", *_UNITED}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a fact has its value.

    Attributes:
        text: the rule in words, with {names} to fill in.
        keys: of the spec, with {names} and @lists to fill in.
        strides: items of the lock.
        figures: of the switch model; `nic`: of the NIC.
        steps: labels of the worksheet, with `*`.
        formula: name of a closed form, or "".
        fixed: the same in every fabric.
        docs: page of the documentation, or "".
    """

    text: str
    keys: tuple[str, ...]
    strides: tuple[str, ...]
    figures: tuple[str, ...]
    nic: tuple[str, ...]
    steps: tuple[str, ...]
    formula: str
    fixed: bool
    docs: str


@dataclass(frozen=True, slots=True)
class Row:
    """The declaration of a fact.

    Attributes:
        path: as declared; the path itself where nobody declares it.
        type: `integer` and its unit, `boolean`, `text`, …, or the values there are; "" where nobody declares the path.
        means: the fact in a few words.
        reason: why it has its value; None where it is unknown.
        impact: name of an impact by operation or role of the port, `else` for the others.
        theme: under which a review reports a change; `words`: in which, with {names}, "" for a detail.
        tags: what else it is; see `vocabulary.yaml`.
        concern: what a review calls a fact about access, or a safeguard; "" for other facts.
        follows: sections of the spec that the fact follows from for all devices.
    """

    path: str
    type: str | tuple[str, ...]
    means: str
    reason: Reason | None
    impact: Mapping[str, str]
    theme: str
    words: str
    tags: frozenset[str]
    follows: frozenset[str]
    concern: str = ""

    @property
    def declared(self) -> bool:
        """Return whether somebody declares the path."""
        return bool(self.type)


@dataclass(frozen=True, slots=True)
class Consequence:
    """The effect of applying a change: its severity, the reason and the source.

    Attributes:
        down: whether links or BGP go down with it.
        beyond: whether what is lost lies outside the fabric, so that draining the device does not help.
    """

    impact: str
    why: str
    source: str
    down: bool
    beyond: bool


class Vocabulary:
    """The rows of one or more files; a later file adds to the rows, families and impacts of the earlier ones.

    Attributes:
        rows, families: as declared, by path and by the beginning of paths.
        impacts: by name.
        themes: in the order in which a review reports them.
        harmless: patterns of lines without a statement that have no effect on traffic or access, each with the lines
            that it is below.
        ends: patterns of such lines that end a safeguard -> its name.
        comments: a pattern of texts of several lines without a meaning.
        outside: why a port that is no part of the fabric is as it is; `external`: why one that leads out of it is.
    """

    def __init__(self, *files: Path) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.families: dict[str, list[dict[str, Any]]] = {}
        self.impacts: dict[str, Consequence] = {}
        self.themes: list[str] = []
        self.harmless: tuple[re.Pattern[str], ...] = ()
        self.comments: re.Pattern[str] | None = None
        self.ends: dict[re.Pattern[str], str] = {}
        self._reasons: dict[str, dict[str, Any]] = {}
        for file in files:
            self._add(load_package_yaml(file), file)
        self._files = files
        self._beginnings = sorted(self.families, key=len)
        self._open: dict[str, list[tuple[re.Pattern[str], str]]] = {}
        for name in self.rows:
            if not {"*", "#"}.isdisjoint(_KEY.sub("", name)):
                self._open.setdefault(_first_word(name), []).append((_path_pattern(name), name))
        self.row = lru_cache(1 << 14)(self._row)
        self.outside = _reason_text(self._reasons["outside"])
        self.external = _reason_text(self._reasons["external"])

    def with_file(self, file: Path) -> Vocabulary:
        """This vocabulary and the rows of another file."""
        return Vocabulary(*self._files, file)

    def declared(self, path: str) -> str | None:
        """Return what a path is declared as; None where nobody declares it."""
        if path in self.rows:
            return path
        if (starred := _KEY.sub("[*]", path)) in self.rows:
            return starred
        found = next(
            (name for pattern, name in self._open.get(_first_word(path), ()) if pattern.fullmatch(path)), None
        )
        if found is None and (instance := _INSTANCE.match(path)):
            return self.declared(path[instance.end() :])
        return found

    def _row(self, path: str) -> Row:
        name = self.declared(path)
        properties = self._properties_of(path, name)
        impact = properties["impact"]
        return Row(
            path=name or path,
            type=properties.get("type", ""),
            means=properties.get("means", ""),
            reason=_reason_text(properties) if "rule" in properties else None,
            impact=impact if isinstance(impact, dict) else {"else": impact},
            theme=properties["theme"],
            words=properties["words"],
            tags=properties["is"],
            follows=properties["follows"],
            concern=properties.get("concern", ""),
        )

    def _properties_of(self, path: str, name: str | None) -> dict[str, Any]:
        """Return all properties of a path, from its families and its row."""
        both = path, name or _KEY.sub("[*]", path)
        properties: dict[str, Any] = {}
        for beginning in self._beginnings:
            if both[0].startswith(beginning) or both[1].startswith(beginning):
                self._add_to(properties, self.families[beginning])
        self._add_to(properties, self.rows[name] if name else ())
        return properties

    def _add_to(self, values: dict[str, Any], rows: Iterable[dict[str, Any]]) -> None:
        """Add the properties of rows: tags and sections are merged, a reason replaces the other."""
        for row in rows:
            united = {key: values.get(key, frozenset()).union(row.get(key, ())) for key in _UNITED}
            if "rule" in row or "like" in row:
                for key in _REASON & values.keys():
                    del values[key]
            values.update(row, **self._reason_of(row["like"]) if "like" in row else {})
            values.update(united)

    def _reason_of(self, name: str) -> dict[str, Any]:
        """Return the reason that a row, a family or nothing else has by that name."""
        if name in self.rows:
            found = self._properties_of(name, name)
        else:
            self._add_to(found := {}, self.families.get(name) or [self._reasons[name]])
        return {key: found[key] for key in _REASON & found.keys()}

    def _add(self, document: dict[str, Any], file: Path) -> None:
        for kind, known in (("facts", self.rows), ("families", self.families)):
            for name, row in document.get(kind, {}).items():
                if unknown := row.keys() - _ROW:
                    raise ValueError(f"{file}: {', '.join(sorted(unknown))} in the row of {name}")
                known.setdefault(name, []).append(row)
        for name, row in document.get("impacts", {}).items():
            why = row.get("why") or self.impacts[name].why
            flags = row.get("down", False), row.get("beyond", False)
            self.impacts[name] = Consequence(row["impact"], why, row["source"], *flags)
        self._reasons |= document.get("reasons", {})
        self.themes += document.get("themes", ())
        self.harmless += tuple(map(re.compile, document.get("harmless", ())))
        self.ends |= {re.compile(line): concern for line, concern in document.get("ends", {}).items()}
        if "comments" in document:
            self.comments = re.compile(document["comments"])


@cache
def neutral_vocabulary() -> Vocabulary:
    """Return the neutral facts of switches."""
    return Vocabulary(_WAIST, _BEYOND)


def _reason_text(values: Mapping[str, Any]) -> Reason:
    fixed = values.get("fixed", False)
    return Reason(
        text=values["rule"],
        keys=tuple(values.get("from", ())),
        strides=tuple(values.get("lock", ())),
        figures=tuple(values.get("catalog", ())),
        nic=tuple(values.get("nic", ())),
        steps=tuple(values.get("steps", ())),
        formula=values.get("formula", ""),
        fixed=fixed,
        docs=values.get("docs", "fabricc docs nos-{nos}" if fixed else ""),
    )


def _first_word(path: str) -> str:
    """Return the first word of a path."""
    return path.partition("/")[0].partition("[")[0]


def _path_pattern(name: str) -> re.Pattern[str]:
    """Return a declared path with `*` for words and `#` for numbers as an expression."""
    words = re.escape(_KEY.sub("\0", name)).replace(r"\*", r"[^/\[]+").replace(r"\#", r"\d+")
    return re.compile(words.replace("\0", r"\[[^\]]*\]"))


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a device is to do and that its system cannot express on this model.

    Attributes:
        code: diagnostic code, `FAB5…`.
        feature: the setting in a few words; `reason`: why it is impossible; `remedy`: what to do.
        fatal: False when the configuration works without it, less well, or once the remedy is applied.
        section: section of the spec that causes it for every tier, reported once; empty if tiers differ.
        source: the document that states it; empty if the reason names it or none is needed.
    """

    code: str
    feature: str
    reason: str
    remedy: str
    fatal: bool = True
    section: str = ""
    source: str = ""


_Value = TypeVar("_Value")


class PortPaths(dict[str, str]):
    """The part of a path after the port, such as `mtu` or `queue[3]/scheduler` -> the whole path.

    A text that is met again has its hash, and is found in a table by being the same object.
    """

    __slots__ = ("prefix",)

    def __init__(self, port: str) -> None:
        super().__init__()
        self.prefix = f"interface[{port}]/"

    def __missing__(self, leaf: str) -> str:
        path = self[leaf] = self.prefix + leaf
        return path


@lru_cache(maxsize=4096)
def port_paths(port: str) -> PortPaths:
    """Return the paths of the facts of a port of that name."""
    return PortPaths(port)


@lru_cache(maxsize=16384)
def paths_of_port(port: str, leaves: tuple[str, ...]) -> tuple[str, ...]:
    """Some of the paths of a port, in order."""
    paths = port_paths(port)
    return tuple([paths[leaf] for leaf in leaves])


class UniformPorts(dict[str, Mapping[str, _Value]]):
    """Port -> path -> value that is equal on all ports of a kind.

    A table takes such a mapping in a third of the time of as many pairs.
    """

    __slots__ = ("leaves", "stated")

    def __init__(self, leaves: tuple[str, ...], stated: tuple[_Value, ...]) -> None:
        super().__init__()
        self.leaves = leaves
        self.stated = stated

    def __missing__(self, port: str) -> Mapping[str, _Value]:
        made = self[port] = dict(zip(paths_of_port(port, self.leaves), self.stated, strict=True))
        return made


@lru_cache(maxsize=256)
def shared_facts(leaves: tuple[str, ...], stated: tuple[_Value, ...]) -> UniformPorts[_Value]:
    """Return the same object for all switches that have such ports."""
    return UniformPorts(leaves, stated)


def compile_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """One expression for paths with `*` (anything) and `?` (one character); it matches nothing when there is none."""
    texts = [re.escape(each).replace(r"\*", ".*").replace(r"\?", ".") for each in patterns]
    return re.compile("|".join(texts) if texts else "(?!)")
