"""One model of the catalog as a page: what it is, its cages, its lossless table, every figure with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.catalog.figures import cite_commit, figure_leaves, format_figure, list_figures, source_of
from fabricc.catalog.model import SwitchModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.catalog.model import CageGroup, HeadroomRow, HostModel, NicModel

_CAGE_WIDTH = 60
_WIDEST = 40
_TABLED = ("buffers.rows", "buffers.siblings", "cages", "nos.")
_COLUMNS = (
    ("xoff", "xoff_bytes", "room for what arrives after a pause was sent"),
    ("size", "size_bytes", "reserved for the priority group"),
)


def render_model(model: SwitchModel | HostModel | NicModel) -> list[str]:
    """Return the lines of a model's page; sources are numbered and listed at its end."""
    sources: dict[str, int] = {}
    lines = [f"{model.name}: {model.title}"]
    if isinstance(model, SwitchModel):
        lines += [*_support_lines(model, sources), "", "cages"]
        lines += [
            f"  {_cages(group):<{_CAGE_WIDTH}}  {_mark(sources, source_of(model.sources, f'cages.{index}'))}".rstrip()
            for index, group in enumerate(model.cages)
        ]
        for title, field, meaning in _COLUMNS:
            lines += [
                "",
                f"lossless table, {title} in bytes: {meaning}",
                *_lossless_table(model.buffers.rows, field),
            ]
        tables = dict.fromkeys(
            source_of(model.sources, path) for path, _ in figure_leaves(model) if "rows." in path
        )
        lines += [f"  {_mark(sources, source)}" for source in tables]
    lines += ["", "figures"]
    rows = [
        (path, format_figure(value), source)
        for path, value, source in list_figures(model)
        if not path.startswith(_TABLED)
    ]
    widths = [max((len(row[i]) for row in rows if len(row[i]) <= _WIDEST), default=0) for i in range(2)]
    lines += [
        f"  {path:<{widths[0]}}  {value:>{widths[1]}}  {_mark(sources, source)}".rstrip()
        for path, value, source in rows
    ]
    if sources:
        lines += [
            "",
            "sources",
            *(f"  [{number}] {cite_commit(source)}" for source, number in sources.items()),
        ]
    return lines


def _support_lines(model: SwitchModel, sources: dict[str, int]) -> Iterator[str]:
    """Yield the first release of each NOS on the switch, and the files of the SKU that belong together."""
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
        for figures in model.releases.get(nos, ()):
            source = _mark(sources, figures.sources["figures"])
            yield f"  {figures.releases}: lossless table {figures.lookup or 'none'}  {source}"


def _cages(group: CageGroup) -> str:
    """Return `1-64: lanes 8, 1x400 2x200 4x100`."""
    last = group.first + group.count - 1
    uses = " ".join(f"{b.children}x{b.speed_gbps}" for b in group.breakouts)
    service = "" if group.fabric else " (service)"
    return f"{group.first}-{last}: lanes {group.lanes}, {uses}{service}"


def _lossless_table(rows: tuple[HeadroomRow, ...], field: str) -> Iterator[str]:
    """Yield the lossless rows: a line for each speed, a column for each length of cable."""
    cells = {(row.speed_gbps, row.cable_m): f"{getattr(row, field):,}" for row in rows}
    lengths = sorted({row.cable_m for row in rows})
    yield "  " + f"{'cable':>8}" + "".join(f"{f'{length} m':>12}" for length in lengths)
    for speed in sorted({row.speed_gbps for row in rows}):
        yield f"  {f'{speed}G':>8}" + "".join(f"{cells.get((speed, length), '-'):>12}" for length in lengths)


def _mark(sources: dict[str, int], source: str) -> str:
    """Return the number of a source, or the words of an assumption."""
    if not source or source.startswith("assumed"):
        return source
    return f"[{sources.setdefault(source, len(sources) + 1)}]"
