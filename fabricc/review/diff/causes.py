"""Find the causes of changes: values of the spec with their places, and figures of catalog models with their sources.

The changes of devices that follow from each are listed with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.wording import plural
from fabricc.catalog.figures import format_figure, list_figures
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import HostModel, NicModel, SwitchModel
from fabricc.review.diff.fact_impact import row_of
from fabricc.review.diff.model import ModelFigure, SpecChange
from fabricc.review.diff.view import is_secret, mask_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fabricc.base.documents.document import Document, KeyPath
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

_MOST = 200


def spec_changes(before: Document | None, after: Document) -> tuple[SpecChange, ...]:
    """Values that differ, in the order of the new file; those that left stand where they would be.

    Mappings are compared by key, so that order does not count; so are lists of mappings that have names.
    """
    old = dict(_leaf_values(before.value if before else None))
    new = dict(_leaf_values(after.value))
    changes = []
    for path in [*new, *(path for path in old if path not in new)]:
        if path in old and path in new and old[path] == new[path]:
            continue
        shown = [None if path not in side else _value_text(path, side[path]) for side in (old, new)]
        position = after.key_position(_index_path(path, after.value))
        changes.append(SpecChange(_dotted_path(path), shown[0], shown[1], position))
    return tuple(changes[:_MOST])


def _leaf_values(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaf_values(item, (*path, key))
    elif (
        isinstance(value, list)
        and value
        and all(isinstance(item, dict) and _item_name(item) for item in value)
    ):
        for item in value:
            yield from _leaf_values(item, (*path, f"[{_item_name(item)}]"))
    elif path:
        yield path, value


def _item_name(item: dict[str, Any]) -> str:
    return str(item.get("name") or item.get("code") or "")


def _index_path(path: KeyPath, value: Any) -> KeyPath:
    """Return the path with places instead of names of list items, as far as the file has it."""
    found: list[str | int] = []
    for part in path:
        if isinstance(value, list):
            names = [f"[{_item_name(item)}]" if isinstance(item, dict) else "" for item in value]
            if part not in names:
                break
            index = names.index(str(part))
            found.append(index)
            value = value[index]
        elif isinstance(value, dict) and part in value:
            found.append(part)
            value = value[part]
        else:
            break
    return tuple(found)


def _dotted_path(path: KeyPath) -> str:
    return ".".join(str(part) for part in path).replace(".[", "[")


def _value_text(path: KeyPath, value: Any) -> str:
    if is_secret(_dotted_path(path)):
        return "(not shown)"
    text = "true" if value is True else "false" if value is False else "null" if value is None else str(value)
    return mask_secrets(text if len(text) <= 60 else text[:57] + "...")


def find_causes(
    kind: str, nos: str, devices: AbstractSet[str], subjects: AbstractSet[str], changes: Sequence[SpecChange]
) -> tuple[str, ...]:
    """Return paths of the spec that may cause a change of these devices, the nearest first; all without a rule."""
    follows = frozenset().union(*(row_of(subject, nos).follows for subject in subjects))
    near = [change.path for change in changes if _names_devices(change.path, kind, devices)]
    far = [
        change.path
        for change in changes
        if change.path not in near and _leads_to(change.path, subjects, follows)
    ]
    return tuple([*near, *far] or [change.path for change in changes])


def _names_devices(path: str, kind: str, devices: AbstractSet[str]) -> bool:
    """Return whether the path is about these devices or their tier."""
    top, _, rest = path.partition(".")
    return top == f"{kind}s" or (
        top == "overrides" and (rest in devices or rest.partition(".")[0] in devices)
    )


def _leads_to(path: str, subjects: AbstractSet[str], follows: AbstractSet[str]) -> bool:
    top = path.partition(".")[0]
    if top in ("tors", "spines", "cores"):
        return any(subject.startswith(("link[", "interface[", "session[")) for subject in subjects)
    if top in ("gpus", "planes"):
        return any(s.startswith("link[") or s.endswith(("/peer", "/port")) for s in subjects)
    if top == "overrides":
        return any(s.startswith(("link[", "interface[")) for s in subjects)
    return top in follows


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
        fabric = each.fabric if each.infiniband is None else each.infiniband.wiring
        for role, model, reach in _models_of(fabric):
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
                {
                    f"nos.{nos}.{key}": (_setting_text(value), source)
                    for key, value in settings.items()
                    if key != "sku"
                }
            )
    return found


def _setting_text(value: object) -> str:
    """Return a setting as text; the order of its keys has no effect."""
    return str(dict(sorted(value.items())) if isinstance(value, dict) else value)


def _own_figures(model: Model | NicModel) -> Figures:
    return {path: (format_figure(value), source) for path, value, source in list_figures(model)}


def _built_in(model: Model) -> bool:
    catalog, _ = load_catalog([])
    kinds: Mapping[str, Model] = catalog.switches if isinstance(model, SwitchModel) else catalog.hosts
    return kinds.get(model.name) == model


def normalize_findings(compiled: Compiled) -> Iterator[tuple[str, str]]:
    """Yield code and message of each finding, to compare those of two specs.

    Paths are below the folder of the spec, systems without their release, and models have their names: a gap that the
    next release of a system still has is not new, neither is that of a model with another title.
    """
    fabrics = [] if compiled.infiniband is not None else [compiled.fabric, *compiled.fabric.networks]
    switches = [fabric.switch(at) for fabric in fabrics for at in fabric.kinds()]
    releases = sorted(
        {f"{each.nos} {each.release}" for each in switches if each.release}, key=len, reverse=True
    )
    release = re.compile(rf"\b({'|'.join(map(re.escape, releases))})(?![\w.-])", re.IGNORECASE)
    titles = {model.title: model.name for fabric in fabrics for _, model, _ in _models_of(fabric)}
    folder = f"{compiled.path.parent}/"
    for each in compiled.diagnostics:
        message = each.message.replace(folder, "")
        for title, name in titles.items():
            message = message.replace(title, name)
        if releases:
            message = release.sub(lambda found: found[0].partition(" ")[0].lower(), message)
        yield each.code, message
