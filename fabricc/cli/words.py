"""Words that a shell completes: models, codes, releases, devices of a spec or a tree, and nodes of a lab.

Completion runs at every key press of a user who may be half done: what cannot be read completes to nothing.
"""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from fabricc.back import nos
from fabricc.base.diagnostics.codes import TITLES
from fabricc.catalog.library import Library

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

    from fabricc.operate.lab.state import Record

_MOST = 1000
"""Words offered at most; a shell asks again with more letters."""


def models(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Switches, hosts and NICs of the catalog."""
    library = Library()
    names = chain.from_iterable(library.names(section) for section in ("switches", "hosts", "nics"))
    return _fitting(names, begun)


def explained(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """What `explain` takes first: a code, or a file."""
    codes = [CompletionItem(code, help=title) for code, title in TITLES.items()]
    fitting = [item for item in codes if begun and item.value.startswith(begun.upper())]
    return fitting or [CompletionItem(begun, type="file")]


def subjects(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Devices of the spec that was named first."""
    return [] if context.params.get("words") else _fitting(_devices(context.params.get("first")), begun)


def maintained(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Devices of `cluster.yaml`, as the spec is named behind them; else the spec itself."""
    fitting = _fitting(_devices(context.params.get("spec") or "cluster.yaml"), begun) if begun else []
    return fitting or [CompletionItem(begun, type="file")]


def planned(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Devices of the spec that was named."""
    spec = context.params.get("spec") or next(iter(context.args), "")  # see `switches`
    return _fitting(_devices(spec), begun)


def releases(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Systems with the releases that are known of each."""
    every = (f"{name}-{release}" for name in nos.names() for release in nos.load(name).releases)
    return _fitting(every, begun)


def _devices(spec: object) -> Iterable[str]:
    """Switches and hosts of a spec, each once; none of what does not plan."""
    from fabricc.compiler.compiled import compile_spec  # the other words need no plan

    path = Path(str(spec or ""))
    fabric = compile_spec(path, gaps=False, ethernet_only=True).planned if path.is_file() else None
    if fabric is None:
        return ()
    every = (fabric, *fabric.networks)
    switches = (each.name(at) for each in every for at in each.switch_ids())
    hosts = (name for each in every for unit in each.units.values() for name in unit.hosts.values())
    return dict.fromkeys(chain(switches, hosts))


def switches(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Switches of the built tree that was named; behind the last comma of a list."""
    tree = context.params.get("tree") or next(
        iter(context.args), ""
    )  # not parsed yet behind an option without value
    folder = Path(str(tree)) / "switches"
    before, comma, last = begun.rpartition(",")
    try:
        names = sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
    return [CompletionItem(f"{before}{comma}{item.value}") for item in _fitting(names, last)]


def labs(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Labs of this machine."""
    from fabricc.operate.lab import state  # the other words need no lab

    return _fitting(sorted(file.parent.name for file in state.DEFAULT.glob(f"*/{state.RECORD}")), begun)


def nodes(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Switches and hosts of the lab meant."""
    lab = _lab(context)
    return _fitting([*lab.switches, *lab.hosts], begun) if lab else []


def targets(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """What can be broken in the lab meant: switches, and from a colon on both ends of each cable."""
    lab = _lab(context)
    if lab is None:
        return []
    if ":" not in begun:
        return _fitting(lab.switches, begun)
    ends = chain.from_iterable((cable[0:2], cable[2:4]) for cable in lab.cables)
    return _fitting(sorted(f"{device}:{port}" for device, port in ends), begun)


def _lab(context: click.Context) -> Record | None:
    from fabricc.operate.lab import failure, state  # the other words need no lab

    named = context.params.get("state")
    try:
        return state.load(state.folder_of(context.params.get("name"), Path(named) if named else None))
    except (failure.LabError, OSError):
        return None


def _fitting(words: Iterable[str], begun: str) -> list[CompletionItem]:
    return [
        CompletionItem(word) for word in islice((each for each in words if each.startswith(begun)), _MOST)
    ]
