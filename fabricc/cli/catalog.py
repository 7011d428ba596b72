"""`fabricc catalog`: the known hardware, a page for each model, and where each figure comes from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.text import Part, Rendered, Table
from fabricc.base.numbers import is_number
from fabricc.catalog import figures
from fabricc.catalog.importing import import_switch
from fabricc.catalog.importing.draft import ImportOptions
from fabricc.catalog.importing.sonic import Branch, compare_branch
from fabricc.catalog.library import ModelFileError, suggest_name
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import CageGroup, Catalog, HeadroomRow, HostModel, NicModel, SwitchModel
from fabricc.cli import options, output
from fabricc.cli.words import complete_models
from fabricc.compiler.load.spec_location import input_texts
from fabricc.compiler.result import exit_status
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@click.command("import")
@click.argument("path", type=options.FilePath(exists=True, path_type=Path))
@click.option("--sku", help="Hardware SKU of a SONiC platform; its default SKU otherwise.")
@click.option("--asic", help="The ASIC, by its name in the catalog, if the folder does not name it.")
@click.option("--name", help="Name of the entry.")
@click.option("--since", metavar="RELEASE", help="First release of SONiC that runs on it.")
@click.option("-o", "--output", "target", type=options.FilePath(path_type=Path), default="-", show_default=True,
              help="Catalog file to write; - for standard output.")  # fmt: skip
def imports(
    path: Path, sku: str | None, asic: str | None, name: str | None, since: str | None, target: Path
) -> int:
    """Make a catalog entry of PATH, a SONiC platform folder or a NetBox device type, and list what it lacks."""
    made = import_switch(path, ImportOptions(name, asic, sku, since))
    output.print_findings(made.found, "text", {})
    if made.text and str(target) == "-":
        output.print_verbatim(*made.text.splitlines())
    elif made.text:
        write_file(target, made.text.encode())
        output.err(f"{target}: written; name it in the `catalog` of a spec")
    return exit_status(made.found)


@click.command("compare")
@click.argument("repository", type=options.FilePath(exists=True, file_okay=False, path_type=Path))
@click.option("--branch", "branches", multiple=True, metavar="RELEASE[=REVISION]",
              help="A release of SONiC; its branch, unless another revision is named. Repeatable; by default the "
              "commits that the catalog was compared with.")  # fmt: skip
def compare(repository: Path, branches: tuple[str, ...]) -> int:
    """Compare lossless tables and pools of the catalog with branches of a clone of sonic-buildimage.

    Ends with 1 if a table or a pool differs from what a branch ships.
    """
    catalog, _ = load_catalog()
    differs = False
    recorded = [
        f"{branch}={commit}" for branch, commit in figures.branch_commits().items() if is_number(branch)
    ]
    for text in branches or recorded:
        release, _, revision = text.partition("=")
        try:
            branch = Branch(repository.resolve(), revision or release)
        except GitError as error:
            raise click.UsageError(f"{error}. {error.help}") from None
        name = release
        if not is_number(release):  # `master` becomes the release after the newest one
            release = str(int(back_ends.load("sonic").releases[-1]) + 1)
        rows = list(compare_branch(branch, release, catalog.switches))
        differs = differs or any(row.differs for row in rows)
        title = (
            f"{name} at {branch.commit[:12]} ({sum(row.differs for row in rows)} of {len(rows)} SKUs differ)"
        )
        cells = [(row.model, row.hwsku, row.table, row.pools) for row in rows]
        output.print_parts([Table(title, ("model", "hardware SKU", "lossless table", "pools"), cells)])
    return int(differs)


_PARTS = {"import": imports, "compare": compare}


class _CatalogCommand(click.Command):
    """The command, or `catalog import` or `catalog compare`, which have separate options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and (part := _PARTS.get(args[0])):
            return part.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("catalog", cls=_CatalogCommand)
@click.argument("name", required=False, shell_complete=complete_models)
@click.option("--add", "extra", multiple=True, type=options.PATH, metavar="FILE",
              help="A catalog file of your own; may be given several times.")  # fmt: skip
@options.data_option()
def command(name: str | None, extra: tuple[Path, ...], format_: str) -> int:
    """List every switch, host and NIC, or show model NAME: each figure with its source.

    `fabricc catalog import --help` explains how to make an entry of your own from published data, and
    `fabricc catalog compare --help` how to compare the catalog with branches of SONiC.
    """
    catalog, found = load_catalog(list(extra))
    output.print_findings(found, "text", input_texts(found))
    if name is None:
        if format_ == "json":
            output.print_document(_encode_list(catalog))
        else:
            output.print_parts(_list_models(catalog))
        return exit_status(found)
    try:
        model = catalog.switches.get(name) or catalog.hosts.get(name) or catalog.nics.get(name)
    except ModelFileError as error:
        raise click.UsageError(str(error)) from None
    if model is None and found:
        return exit_status(found)  # the file that defines it may be the one that was left out
    if model is None:
        known = [*catalog.switches, *catalog.hosts, *catalog.nics]
        raise click.UsageError(f"no model '{name}' in the catalog. {suggest_name(name, known)}")
    if format_ == "json":
        rows = [
            {"figure": path, "value": value, "source": figures.cite_commit(source)}
            for path, value, source in figures.list_figures(model)
        ]
        output.print_document(json_document({"name": model.name, "title": model.title, "figures": rows}))
    else:
        output.out(*render_model(model))
    return exit_status(found)


def _list_models(catalog: Catalog) -> Iterator[Part]:
    for heading, models in _catalog_sections(catalog):
        rows = [(model.name, model.title, _model_line(model)) for _, model in sorted(models.items())]
        yield Table(f"{heading} ({len(rows)})", ("model", "name", "what it is"), rows)
    systems = list(_count_systems(catalog).items())
    yield Table("systems, and on how many switches each runs", ("system", "switches"), systems)


def _count_systems(catalog: Catalog) -> dict[str, int]:
    """Return name of each system -> number of switches that it runs on; `none` for those only listed."""
    return dict(
        sorted(Counter(nos for model in catalog.switches.values() for nos in model.nos or ("none",)).items())
    )


def _encode_list(catalog: Catalog) -> Rendered:
    table: dict[str, object] = {
        heading: [
            {"name": m.name, "title": m.title, "summary": _model_line(m)} for _, m in sorted(models.items())
        ]
        for heading, models in _catalog_sections(catalog)
    }
    return json_document(table | {"systems": _count_systems(catalog)})


def _catalog_sections(catalog: Catalog) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "switches", catalog.switches
    yield "hosts", catalog.hosts
    yield "nics", catalog.nics


def _model_line(model: SwitchModel | HostModel | NicModel) -> str:
    """Return one line about a model."""
    if isinstance(model, SwitchModel):
        cages = [
            f"{group.count} x {max(b.children * b.speed_gbps for b in group.breakouts)}G"
            for group in model.cages
            if group.fabric
        ]
        return f"{' + '.join(cages)}, {model.asic}, {', '.join(sorted(model.nos)) or 'listed'}"
    if isinstance(model, HostModel):
        ports = f"{model.rails * model.ports_per_nic} x {model.port_gbps}G"
        gpus = plural(model.gpus, "GPU") if model.gpus else "no GPU"
        return f"{gpus}, {ports}, {model.nic.name}"
    return model.driver


_CAGE_WIDTH = 60
_WIDEST = 40
_TABLED = ("buffers.rows", "buffers.siblings", "cages", "nos.")
_COLUMNS = (
    ("xoff", "xoff_bytes", "buffer for packets that arrive after a pause frame"),
    ("size", "size_bytes", "reserved for the priority group"),
)


def render_model(model: SwitchModel | HostModel | NicModel) -> list[str]:
    """Return the lines of a model's page; sources are numbered and listed at its end."""
    sources: dict[str, int] = {}
    lines = [f"{model.name}: {model.title}"]
    if isinstance(model, SwitchModel):
        lines += [*_support_lines(model, sources), "", "cages"]
        lines += [
            f"  {_cages(group):<{_CAGE_WIDTH}}  {_mark(sources, source)}".rstrip()
            for index, group in enumerate(model.cages)
            for source in [figures.source_of(model.sources, f"cages.{index}")]
        ]
        for title, field, meaning in _COLUMNS:
            lines += [
                "",
                f"lossless table, {title} in bytes: {meaning}",
                *_lossless_table(model.buffers.rows, field),
            ]
        tables = dict.fromkeys(
            figures.source_of(model.sources, path)
            for path, _ in figures.figure_leaves(model)
            if "rows." in path
        )
        lines += [f"  {_mark(sources, source)}" for source in tables]
    lines += ["", "figures"]
    rows = [
        (path, figures.format_figure(value), source)
        for path, value, source in figures.list_figures(model)
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
            *(f"  [{number}] {figures.cite_commit(source)}" for source, number in sources.items()),
        ]
    return lines


def _support_lines(model: SwitchModel, sources: dict[str, int]) -> Iterator[str]:
    """Yield the first release of each NOS on the switch, and the files of the SKU that belong together."""
    if not model.nos:
        yield f"runs: no system that fabricc renders{': ' if model.listed else ''}{model.listed}"
    for nos in sorted(model.nos):
        since = f" since {model.support[nos]}" if nos in model.support else ""
        yield f"runs: {nos}{since}  {_mark(sources, model.sources.get(f'nos.{nos}.support', ''))}".rstrip()
        if sku := model.nos[nos].get("sku"):
            parts = {"lossless table": sku.get("lookup"), "pools": sku.get("pools"), "SDK": sku["sdk"]}
            files = ", ".join(f"{what} {file or 'none'}" for what, file in parts.items())
            words = f"  {model.nos[nos]['hwsku']}: {sku['port_table']}, {files}"
            yield f"{words}  {_mark(sources, model.sources[f'nos.{nos}.sku'])}"
        for each in model.releases.get(nos, ()):
            source = _mark(sources, each.sources["figures"])
            yield f"  {each.releases}: lossless table {each.lookup or 'none'}  {source}"


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
