"""Find figures of catalog models in use that differ between two plans, with sources and the devices they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.catalog.figures import format_figure, list_figures
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import HostModel, SwitchModel
from fabricc.review.diff.model import ModelFigure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import NicModel
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

_NOUNS = {"tor": "ToR", "spine": "spine", "core": "core"}
Model = SwitchModel | HostModel
Figures = dict[str, tuple[str, str]]
"""Figure -> its value in words, and its source."""


def changed_figures(before: Compiled, after: Compiled) -> tuple[ModelFigure, ...]:
    """Return the figures that differ for devices that both plans have, where one side does not use the built-in model.

    Two built-in models differ by their names, which the review shows as another model.
    """
    old, new = _used_models(before), _used_models(after)
    found: dict[tuple[str, str], list[str]] = {}
    sides: dict[tuple[str, str], tuple[tuple[str, str] | None, tuple[str, str] | None]] = {}
    for role, (model, reach) in new.items():
        was = old[role][0] if role in old else None
        if was is None or was is model or (_built_in(was) and _built_in(model)):
            continue
        ours, theirs = _model_figures(was), _model_figures(model)
        for figure in dict.fromkeys([*ours, *theirs]):
            if ours.get(figure) != theirs.get(figure):
                sides[model.name, figure] = ours.get(figure), theirs.get(figure)
                found.setdefault((model.name, figure), []).append(reach)
    nothing = None, ""
    return tuple(
        _changed_figure(name, figure, was or nothing, now or nothing, found[name, figure])
        for (name, figure), (was, now) in sides.items()
    )


def _changed_figure(
    model: str, figure: str, was: tuple[str | None, str], now: tuple[str | None, str], reach: list[str]
) -> ModelFigure:
    return ModelFigure(model, figure, was[0], was[1], now[0], now[1], tuple(reach))


def _used_models(compiled: Compiled) -> dict[tuple[str, str], tuple[Model, str]]:
    """Return the models in use by network and role, and how many devices each serves."""
    found: dict[tuple[str, str], tuple[Model, str]] = {}
    for network, each in {"": compiled, **compiled.networks}.items():
        for role, model, reach in _models_of(each.fabric):
            found[network, role] = model, f"{network}: {reach}" if network else reach
    return found


def _models_of(fabric: Fabric) -> Iterator[tuple[str, Model, str]]:
    counts = fabric.counts()
    for tier, plan in fabric.tiers.items():
        yield tier.value, plan.model, plural(counts[f"{tier.value}s"], _NOUNS[tier.value])
    for at, box in fabric.boxes.items():
        yield fabric.name(at), box.model, fabric.name(at)
    hosts: dict[int, int] = {}
    for unit in fabric.units.values():
        hosts[unit.group] = hosts.get(unit.group, 0) + len(unit.hosts)
    for group, model in enumerate(fabric.host_models):
        yield f"hosts {group}", model, plural(hosts.get(group, 0), "host")


def _model_figures(model: Model) -> Figures:
    found = _own_figures(model)
    if isinstance(model, HostModel):
        found.update({f"nic.{path}": figure for path, figure in _own_figures(model.nic).items()})
    else:
        for nos, settings in model.nos.items():
            source = model.sources.get(f"nos.{nos}", "")
            found.update(
                {f"nos.{nos}.{key}": (str(value), source) for key, value in settings.items() if key != "sku"}
            )
    return found


def _own_figures(model: Model | NicModel) -> Figures:
    return {path: (format_figure(value), source) for path, value, source in list_figures(model)}


def _built_in(model: Model) -> bool:
    catalog, _ = load_catalog([])
    kinds: Mapping[str, Model] = catalog.switches if isinstance(model, SwitchModel) else catalog.hosts
    return kinds.get(model.name) == model
