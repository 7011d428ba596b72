"""`fabricc catalog`: the hardware known, and where each figure comes from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import Catalog, HostModel, NicModel, SwitchModel

_HIDDEN = ("sources", "nos", "name", "title", "vendor")


@click.command("catalog", short_help="List the hardware known, or one model with its figures and sources.")
@click.argument("name", required=False)
@click.option("--add", "extra", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
              help="A catalog file of your own; may be given several times.")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(name: str | None, extra: tuple[Path, ...], format_: str) -> int:
    """List every switch, host and NIC, or show model NAME: each figure with its source."""
    from fabricc.build.result import exit_status
    from fabricc.catalog.load import load_catalog

    catalog, found = load_catalog(list(extra))
    output.tell(found, "text", {})
    if name is None:
        click.echo(_list_json(catalog) if format_ == "json" else _list_text(catalog))
        return exit_status(found)
    model = catalog.switches.get(name) or catalog.hosts.get(name) or catalog.nics.get(name)
    if model is None:
        from difflib import get_close_matches

        known = [*catalog.switches, *catalog.hosts, *catalog.nics]
        near = get_close_matches(name, known, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise click.UsageError(f"no model '{name}' in the catalog.{hint} `fabricc catalog` lists them.")
    figures = list(_figures(model))
    if format_ == "json":
        rows = [{"figure": path, "value": value, "source": source} for path, value, source in figures]
        click.echo(json.dumps({"name": model.name, "title": model.title, "figures": rows}, indent=2))
    else:
        click.echo(f"{model.name}: {model.title}\n{_columns([(p, str(v), s) for p, v, s in figures])}")
    return exit_status(found)


def _list_text(catalog: Catalog) -> str:
    parts = []
    for heading, models in _sections(catalog):
        rows = [(model.name, model.title, _gist(model)) for _, model in sorted(models.items())]
        parts.append(f"{heading}\n{_columns(rows)}")
    return "\n\n".join(parts)


def _list_json(catalog: Catalog) -> str:
    table = {
        heading: [{"name": m.name, "title": m.title, "summary": _gist(m)} for _, m in sorted(models.items())]
        for heading, models in _sections(catalog)
    }
    return json.dumps(table, indent=2)


def _sections(catalog: Catalog) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "switches", catalog.switches
    yield "hosts", catalog.hosts
    yield "nics", catalog.nics


def _gist(model: SwitchModel | HostModel | NicModel) -> str:
    """One line about a model."""
    from fabricc.catalog.model import HostModel, SwitchModel

    if isinstance(model, SwitchModel):
        cages = [
            f"{group.count} x {max(b.children * b.speed_gbps for b in group.breakouts)}G"
            for group in model.cages
            if group.fabric
        ]
        return f"{' + '.join(cages)}, {model.asic}, {', '.join(sorted(model.nos))}"
    if isinstance(model, HostModel):
        ports = f"{model.rails * model.ports_per_nic} x {model.port_gbps}G"
        return f"{output.plural(model.gpus, 'GPU')}, {ports}, {model.nic.name}"
    return model.driver


def _figures(model: SwitchModel | HostModel | NicModel) -> Iterator[tuple[str, object, str]]:
    """Figure path, value and source; a source stands for everything below its path."""
    sources: Mapping[str, str] = getattr(model, "sources", {})
    for path, value in _leaves(model, ""):
        yield path, value, _source(sources, path)


def _source(sources: Mapping[str, str], path: str) -> str:
    parts = path.replace("[", ".").replace("]", "").split(".")
    for length in range(len(parts), 0, -1):
        if (found := sources.get(".".join(parts[:length]))) is not None:
            return found
    return ""


def _leaves(value: Any, path: str) -> Iterator[tuple[str, object]]:
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if path or field.name not in _HIDDEN:
                below = f"{path}.{field.name}" if path else field.name
                yield from _leaves(getattr(value, field.name), below)
    elif isinstance(value, tuple) and any(dataclasses.is_dataclass(item) for item in value):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", _short(item)
    elif isinstance(value, tuple):
        yield path, ", ".join(str(item) for item in value)
    elif value is not None:
        yield path, value


def _short(item: Any) -> str:
    """A small value on one line: `children=2 speed_gbps=400 lanes=4`."""
    parts = []
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        if isinstance(value, tuple):
            value = "; ".join(
                _short(inner) if dataclasses.is_dataclass(inner) else str(inner) for inner in value
            )
            value = f"({value})"
        if value is not None:
            parts.append(f"{field.name}={value}")
    return " ".join(parts)


def _columns(rows: list[tuple[str, str, str]]) -> str:
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    return "\n".join(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)
