"""A catalog entry in the making: its cages, and its text as YAML."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.schema import breaches
from fabricc.base.values import dataclass
from fabricc.catalog.library import Library, replace_sources
from fabricc.catalog.load import switch_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH = 118
SERVICE_CAGES, SERVICE_SHARE = 4, 4
"""A last run of so few cages, with so small a share of the speed of others, is for service."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9][A-Za-z0-9_./-]*)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

Raw = dict[str, Any]


class FoldedWords(str):
    """Words that may occur in several lines."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The user's values for a switch; None where the folder or file defines them.

    Attributes:
        name: catalog name of the entry.
        asic: catalog name of the ASIC.
        sku: hardware SKU of a SONiC platform.
        since: first release of SONiC that runs on it.
    """

    name: str | None = None
    asic: str | None = None
    sku: str | None = None
    since: str | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import: the text of a catalog file, and findings, worst first."""

    text: str
    found: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Cages:
    """A run of equal cages: lanes of each, and what each can be, as the catalog writes it."""

    count: int
    lanes: int
    breakouts: tuple[str, ...]
    service: bool = False


def import_failure(code: str, message: str, remedy: str) -> ImportResult:
    """No entry, and why."""
    return ImportResult("", (Diagnostic(code, Severity.ERROR, message, None, remedy),))


def missing_data(code: str, message: str, remedy: str) -> Diagnostic:
    """Return what an entry lacks, or assumes."""
    return Diagnostic(code, Severity.WARNING, message, None, remedy)


def unknown_asic(asic: str | None) -> ImportResult:
    """Return the failure of an entry whose ASIC is unknown or not in the catalog."""
    message = f"the catalog has no ASIC {asic!r}" if asic else "no file identifies the ASIC"
    return import_failure(
        "FAB2122", message, f"Name it with `--asic`: {', '.join(Library().names('asics'))}."
    )


def in_runs(cages: Sequence[tuple[int, tuple[str, ...]]]) -> list[Cages]:
    """Cages (lanes, uses) in panel order as runs; a short last run of slow ones is for service."""
    found = [Cages(len(list(equal)), *cage) for cage, equal in groupby(cages)]
    last, speeds = found[-1], [max(map(_use_gbps, run.breakouts)) for run in found]
    if last.count <= SERVICE_CAGES and speeds[-1] * SERVICE_SHARE <= max(speeds):
        found[-1] = Cages(last.count, last.lanes, last.breakouts, service=True)
    return found


def _use_gbps(use: str) -> int:
    children, _, speed = use.partition("/")[0].partition("x")
    return int(children) * int(speed)


def render_cages(runs: Sequence[Cages], **origin: Any) -> list[Raw]:
    """Return the `cages` of an entry; panels are numbered from 1."""
    first, found = 1, []
    for run in runs:
        service = {"fabric": False} if run.service else {}
        found.append({"first": first, "count": run.count, "lanes": run.lanes, **service, **origin,
                      "breakouts": list(run.breakouts)})  # fmt: skip
        first += run.count
    return found


def as_name(text: str) -> str:
    """Return a catalog name of a maker's words."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:63]


def finish_entry(name: str, entry: Raw, found: Sequence[Diagnostic]) -> ImportResult:
    """Return the text of a catalog file with one switch, or why the catalog would refuse it."""
    for breach in breaches(entry, "catalog"):
        place = ".".join(map(str, breach.absolute_path))
        return contradiction_error(f"{place}: {breach.message[:200]}")
    library = Library()
    for section in ("tables", "switches"):
        for key, raw in entry.get(section, {}).items():
            library.add(section, key, replace_sources(raw, entry["sources"]))
    for _, message, _ in switch_findings(library.switch(name)):
        return contradiction_error(message)
    return ImportResult("\n".join(_render_block(entry, 0)) + "\n", tuple(found))


def contradiction_error(message: str) -> ImportResult:
    """No entry, because tables cannot be expressed or contradict themselves."""
    remedy = "Write this entry by hand, or import another SKU with `--sku`."
    return import_failure("FAB2123", message, remedy)


def _render_block(value: Any, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for name, item in value.items():
        key = (
            name if re.search("[a-z]", name.replace("e", "")) else json.dumps(name)
        )  # 7050 and 1e5 are numbers
        line = f"{pad}{key}: {_render_flow(item)}"
        if isinstance(item, FoldedWords):
            yield f"{pad}{key}: >-"
            yield from _fold_text(item, pad + "  ")
        elif not isinstance(item, dict | list) or (depth > 1 and len(line) <= WIDTH):
            yield line
        elif isinstance(item, dict):
            yield f"{pad}{key}:"
            yield from _render_block(item, depth + 1)
        else:
            yield f"{pad}{key}:"
            yield from (f"{pad}  - {_render_flow(each)}" for each in item)


def _fold_text(text: str, pad: str) -> Iterator[str]:
    line = pad
    for word in text.split():
        if line != pad and len(line) + len(word) + 1 > WIDTH:
            yield line
            line = pad
        line += word if line == pad else f" {word}"
    yield line


def _render_flow(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_render_flow(key)}: {_render_flow(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_render_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if isinstance(value, str) and re.fullmatch(r"[1248]x[0-9]+(/[0-9]+)?", value):
        return value
    return json.dumps(value)
