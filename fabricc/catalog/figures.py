"""The figures of a catalog model, one by one, each with its source, and sums of power over several devices."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fabricc.base.installation import load_package_yaml
from fabricc.catalog.model import HeadroomRow, HostModel, HostPorts, NicModel, Power, SwitchModel

_HIDDEN = ("sources", "nos", "support", "releases", "listed", "name", "title", "vendor")
_BRANCHES = Path(__file__).parent / "sonic-branches.yaml"
_CITED_BRANCH = re.compile(r"\((\d{6}|master)(?=[,)])")


def list_figures(model: SwitchModel | HostModel | NicModel) -> Iterator[tuple[str, object, str]]:
    """Return the path, value and source of every figure; a source stands for everything below its path."""
    sources: Mapping[str, str] = getattr(model, "sources", {})
    for path, value in figure_leaves(model):
        yield path, value, source_of(sources, path)
    if isinstance(model, SwitchModel):
        for nos in sorted(model.nos):
            if nos in model.support:
                yield f"nos.{nos}.support", model.support[nos], source_of(sources, f"nos.{nos}.support")
            for part, file in model.nos[nos].get("sku", {}).items():
                yield f"nos.{nos}.sku.{part}", file, source_of(sources, f"nos.{nos}.sku")
            yield from _release_figures(model, nos)


def _release_figures(model: SwitchModel, nos: str) -> Iterator[tuple[str, object, str]]:
    """Return the figures of single releases that differ from those of the switch, under the releases in words."""
    usual = dict(_walk_leaves(model.buffers, "buffers"))
    for figures in model.releases.get(nos, ()):
        path = f"nos.{nos}.figures.{figures.releases}"
        yield f"{path}.lookup", figures.lookup or "none", source_of(model.sources, f"nos.{nos}.sku")
        for leaf, value in _walk_leaves(figures.buffers, "buffers"):
            if usual.get(leaf) != value:
                yield f"{path}.{leaf}", value, source_of(figures.sources, leaf)


@cache
def branch_commits() -> Mapping[str, str]:
    """Return branch of sonic-buildimage -> the commit that the catalog was compared with."""
    commits: Mapping[str, str] = load_package_yaml(_BRANCHES)["branches"]
    return commits


def cite_commit(source: str) -> str:
    """Return a citation with the commit after the branch that it names: `… (202605 at 10ae4708751b)`."""
    commits = branch_commits()
    return _CITED_BRANCH.sub(
        lambda found: f"({found[1]} at {commits[found[1]][:12]}" if found[1] in commits else found[0], source
    )


def source_of(sources: Mapping[str, str], path: str) -> str:
    """Return the source of the figure at a path, or of the nearest table around it; "" where none is stated."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        if (found := sources.get(".".join(parts[:length]))) is not None:
            return found
    return ""


def figure_leaves(model: SwitchModel | HostModel | NicModel) -> Iterator[tuple[str, object]]:
    """Return the path and value of every figure of a model."""
    return _walk_leaves(model, "")


def format_figure(value: object) -> str:
    """Return a figure in words: `yes` and `no`, and numbers with separators."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _walk_leaves(value: Any, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, HostPorts):
        for field in dataclasses.fields(value):
            if (part := getattr(value, field.name)) is None:
                continue
            yield f"{path}.{field.name}", value.nic.name if field.name == "nic" else _format_list(part)
    elif isinstance(value, Mapping) and any(isinstance(item, HostPorts) for item in value.values()):
        for name, item in value.items():
            yield from _walk_leaves(item, f"{path}.{name}")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if path or field.name not in _HIDDEN:
                below = f"{path}.{field.name}" if path else field.name
                yield from _walk_leaves(getattr(value, field.name), below)
    elif isinstance(value, tuple) and any(dataclasses.is_dataclass(item) for item in value):
        for index, item in enumerate(value):
            key = f"{item.speed_gbps}.{item.cable_m}" if isinstance(item, HeadroomRow) else str(index)
            yield f"{path}.{key}", _format_item(item)
    elif isinstance(value, tuple | list | Mapping):
        yield path, _format_list(value)
    elif value is not None:
        yield path, value


def _format_list(value: Any) -> str:
    """Return a figure as text: `0, 4, 8`, `LINK_TYPE=2, NUM_OF_VFS=8`, or lists with semicolons between them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_format_list(item)}" for key, item in value.items())
    if not isinstance(value, tuple | list):
        return format_figure(value) if isinstance(value, bool) else str(value)
    if value and all(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in value
    ):
        return _format_list(dict(value))
    nested = any(isinstance(item, tuple | list | Mapping) for item in value)
    return ("; " if nested else ", ").join(map(_format_list, value))


def _format_item(item: Any) -> str:
    """Return a small value on one line: `children=2 speed_gbps=400 lanes=4`."""
    parts = []
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        if isinstance(value, tuple):
            inner = "; ".join(
                _format_item(one) if dataclasses.is_dataclass(one) else str(one) for one in value
            )
            value = f"({inner})"
        if value is not None:
            parts.append(f"{field.name}={value}")
    return " ".join(parts)


class Draw(NamedTuple):
    """Sums over those devices whose figure the catalog has, W.

    Attributes:
        devices: all of them. typical_of, maximum_of: those that are in the sums.
    """

    devices: int = 0
    typical_w: float = 0
    typical_of: int = 0
    maximum_w: float = 0
    maximum_of: int = 0

    @property
    def words(self) -> str:
        """Return how many devices the sums include: `known of 12 of 14 devices`."""
        if self.typical_of == self.maximum_of:
            return f"known of {self.maximum_of:,} of {self.devices:,} devices"
        return f"typical known of {self.typical_of:,}, maximum of {self.maximum_of:,} of {self.devices:,} devices"


def total_draw(found: Iterable[tuple[Power, int]]) -> Draw:
    """Return the sum over devices of so many each."""
    devices = typical_of = maximum_of = 0
    typical_w = maximum_w = 0.0
    for power, count in found:
        devices += count
        if power.typical_w is not None:
            typical_w, typical_of = typical_w + power.typical_w * count, typical_of + count
        if power.maximum_w is not None:
            maximum_w, maximum_of = maximum_w + power.maximum_w * count, maximum_of + count
    return Draw(devices, _round_watts(typical_w), typical_of, _round_watts(maximum_w), maximum_of)


def _round_watts(watts: float) -> float:
    """To a tenth, as an integer where it is one."""
    found = round(watts, 1)
    return int(found) if found == int(found) else found
