"""One model of the catalog as a page: what it is, its cages, its lossless table, every figure with its source."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fabricc.catalog.model import HeadroomRow, HostPorts, SwitchModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.catalog.model import CageGroup, HostModel, NicModel

_HIDDEN = ("sources", "nos", "support", "listed", "name", "title", "vendor")
_CAGE_WIDTH = 60
_WIDEST = 40
_TABLED = ("buffers.rows", "buffers.siblings", "cages", "nos.")
_COLUMNS = (
    ("xoff", "xoff_bytes", "room for what arrives after a pause was sent"),
    ("size", "size_bytes", "reserved for the priority group"),
)


def page(model: SwitchModel | HostModel | NicModel) -> list[str]:
    """The lines of a model's page; sources are numbered and stand at its end."""
    sources: dict[str, int] = {}
    lines = [f"{model.name}: {model.title}"]
    if isinstance(model, SwitchModel):
        lines += [*_runs(model, sources), "", "cages"]
        lines += [
            f"  {_cages(group):<{_CAGE_WIDTH}}  {_mark(sources, _source(model.sources, f'cages.{index}'))}".rstrip()
            for index, group in enumerate(model.cages)
        ]
        for title, field, meaning in _COLUMNS:
            lines += ["", f"lossless table, {title} in bytes: {meaning}", *_table(model.buffers.rows, field)]
        tables = dict.fromkeys(
            _source(model.sources, path) for path, _ in _leaves(model, "") if "rows." in path
        )
        lines += [f"  {_mark(sources, source)}" for source in tables]
    lines += ["", "figures"]
    rows = [
        (path, _cell(value), source) for path, value, source in figures(model) if not path.startswith(_TABLED)
    ]
    widths = [max((len(row[i]) for row in rows if len(row[i]) <= _WIDEST), default=0) for i in range(2)]
    lines += [
        f"  {path:<{widths[0]}}  {value:>{widths[1]}}  {_mark(sources, source)}".rstrip()
        for path, value, source in rows
    ]
    if sources:
        lines += ["", "sources", *(f"  [{number}] {source}" for source, number in sources.items())]
    return lines


def _runs(model: SwitchModel, sources: dict[str, int]) -> Iterator[str]:
    """Since when each NOS runs on the switch, and the files of the SKU that belong together."""
    if not model.nos:
        yield f"runs: nothing that fabricc renders{': ' if model.listed else ''}{model.listed}"
    for nos in sorted(model.nos):
        since = f" since {model.support[nos]}" if nos in model.support else ""
        yield f"runs: {nos}{since}  {_mark(sources, model.sources.get(f'nos.{nos}.support', ''))}".rstrip()
        if sku := model.nos[nos].get("sku"):
            parts = {"lossless table": sku.get("lookup"), "pools": sku.get("pools"), "SDK": sku["sdk"]}
            files = ", ".join(f"{what} {file or 'none'}" for what, file in parts.items())
            words = f"  {model.nos[nos]['hwsku']}: {sku['port_table']}, {files}"
            yield f"{words}  {_mark(sources, model.sources[f'nos.{nos}.sku'])}"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _cages(group: CageGroup) -> str:
    """`1-64: lanes 8, 1x400 2x200 4x100`."""
    last = group.first + group.count - 1
    uses = " ".join(f"{b.children}x{b.speed_gbps}" for b in group.breakouts)
    service = "" if group.fabric else " (service)"
    return f"{group.first}-{last}: lanes {group.lanes}, {uses}{service}"


def _table(rows: tuple[HeadroomRow, ...], field: str) -> Iterator[str]:
    """The lossless rows, a line for each speed and a column for each length of cable."""
    cells = {(row.speed_gbps, row.cable_m): f"{getattr(row, field):,}" for row in rows}
    lengths = sorted({row.cable_m for row in rows})
    yield "  " + f"{'cable':>8}" + "".join(f"{f'{length} m':>12}" for length in lengths)
    for speed in sorted({row.speed_gbps for row in rows}):
        yield f"  {f'{speed}G':>8}" + "".join(f"{cells.get((speed, length), '-'):>12}" for length in lengths)


def _mark(sources: dict[str, int], source: str) -> str:
    """A source's number, or the words of an assumption."""
    if not source or source.startswith("assumed"):
        return source
    return f"[{sources.setdefault(source, len(sources) + 1)}]"


def figures(model: SwitchModel | HostModel | NicModel) -> Iterator[tuple[str, object, str]]:
    """Figure path, value and source; a source stands for everything below its path."""
    sources: Mapping[str, str] = getattr(model, "sources", {})
    for path, value in _leaves(model, ""):
        yield path, value, _source(sources, path)
    if isinstance(model, SwitchModel):
        for nos in sorted(model.nos):
            if nos in model.support:
                yield f"nos.{nos}.support", model.support[nos], _source(sources, f"nos.{nos}.support")
            for part, file in model.nos[nos].get("sku", {}).items():
                yield f"nos.{nos}.sku.{part}", file, _source(sources, f"nos.{nos}.sku")


def _source(sources: Mapping[str, str], path: str) -> str:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        if (found := sources.get(".".join(parts[:length]))) is not None:
            return found
    return ""


def _leaves(value: Any, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, HostPorts):
        for field in dataclasses.fields(value):
            part = getattr(value, field.name)
            yield f"{path}.{field.name}", value.nic.name if field.name == "nic" else _listed(part)
    elif isinstance(value, Mapping) and any(isinstance(item, HostPorts) for item in value.values()):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if path or field.name not in _HIDDEN:
                below = f"{path}.{field.name}" if path else field.name
                yield from _leaves(getattr(value, field.name), below)
    elif isinstance(value, tuple) and any(dataclasses.is_dataclass(item) for item in value):
        for index, item in enumerate(value):
            key = f"{item.speed_gbps}.{item.cable_m}" if isinstance(item, HeadroomRow) else str(index)
            yield f"{path}.{key}", _short(item)
    elif isinstance(value, tuple | list | Mapping):
        yield path, _listed(value)
    elif value is not None:
        yield path, value


def _listed(value: Any) -> str:
    """What a figure holds in words: `0, 4, 8`, `LINK_TYPE=2, NUM_OF_VFS=8`, or lists with semicolons between them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_listed(item)}" for key, item in value.items())
    if not isinstance(value, tuple | list):
        return _cell(value) if isinstance(value, bool) else str(value)
    if value and all(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in value
    ):
        return _listed(dict(value))
    nested = any(isinstance(item, tuple | list | Mapping) for item in value)
    return ("; " if nested else ", ").join(map(_listed, value))


def _short(item: Any) -> str:
    """A small value on one line: `children=2 speed_gbps=400 lanes=4`."""
    parts = []
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        if isinstance(value, tuple):
            inner = "; ".join(_short(one) if dataclasses.is_dataclass(one) else str(one) for one in value)
            value = f"({inner})"
        if value is not None:
            parts.append(f"{field.name}={value}")
    return " ".join(parts)
