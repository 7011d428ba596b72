"""From a key of the spec, the lock or the catalog to where its value was decided."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Position
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.front.spec.document import cluster_schema, format_path, resolve_schema
from fabricc.review.explain.model import Origin, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.catalog.model import HostModel, NicModel, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

    Model = SwitchModel | HostModel | NicModel

_ITEM = re.compile(r"\[(\d+)\]")
_PORT = re.compile(r"overrides\.([^.]+)\.ports\.(.+)\.([a-z_]+)")
_LONGEST = 90
SCHEMA = "schemas/cluster.schema.json"
"""Where defaults are written down."""


@dataclass(frozen=True, slots=True)
class PlanSources:
    """Everything that explanations draw on.

    Attributes:
        spec, fabric: the plan.
        sources: file -> text, of the spec and the lock.
        lock_file: name of the lock.
        lock_text: the lock as this plan needs it, whether it is written or not.
    """

    spec: ClusterSpec
    fabric: Fabric
    sources: Mapping[str, str]
    lock_file: str = "fabricc.lock"
    lock_text: str = ""

    def snippet(self, position: Position) -> str:
        """Return the line at a place, clipped."""
        return clip(_line_at(self.sources.get(position.file, ""), position.line), _LONGEST)

    def spec_origin(self, key: str) -> Origin | None:
        """Return the place where a key of the spec was decided: the file, or its default; None without either."""
        path = path_of(key)
        if (position := self.spec.positions.get(path)) is not None:
            return Origin(Source.SPEC, key, "", position, self.snippet(position), key_description(path))
        taken = self.spec.assumptions
        if key in taken:
            return Origin(Source.DEFAULT, key, text_of(taken[key]), None, "", key_description(path))
        below = {name: value for name, value in taken.items() if name.startswith((f"{key}.", f"{key}["))}
        if below:
            shown = ", ".join(f"{name.removeprefix(key + '.')} {text_of(v)}" for name, v in below.items())
            return Origin(Source.DEFAULT, key, clip(shown, _LONGEST), None, "", key_description(path))
        if (above := self._find_origin_above(path)) is not None:
            return above
        if (description := key_description(path)) and " Default: " in f" {description}":
            return Origin(Source.COMPUTED, key, "", None, "", description)
        return None

    def _find_origin_above(self, path: KeyPath) -> Origin | None:
        """Return the nearest enclosing key that is no mapping in the file, such as `bfd: false`."""
        for length in range(len(path) - 1, 1, -1):
            position = self.spec.positions.get(path[:length])
            if position is not None and self.snippet(position).rstrip(" ,}").endswith("false"):
                return Origin(Source.SPEC, format_path(path[:length]), "", position, self.snippet(position))
        return None

    def lock_origin(self, name: str, value: object) -> Origin:
        """Where an item of the lock stands, such as `stride host` -> 32; it is chosen now where none is written."""
        text = self.sources.get(self.lock_file, "")
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith(f"{name} "):
                return Origin(Source.LOCK, name, str(value), Position(self.lock_file, number, 1), line)
        note = "chosen by this plan; `fabricc build` pins it"
        return Origin(Source.LOCK, name, str(value), None, "", note)

    def all_of(self, keys: Iterable[str]) -> tuple[Origin, ...]:
        """Return the origins of those keys that were decided anywhere, each once."""
        found = (self.spec_origin(key) for key in dict.fromkeys(keys))
        return tuple(dict.fromkeys(origin for origin in found if origin is not None))


def stride_origins(plan: PlanSources, *names: str) -> tuple[Origin, ...]:
    """Return the lock's items of some strides."""
    values = plan.fabric.strides
    return tuple(plan.lock_origin(f"stride {name}", getattr(values, name)) for name in names)


def catalog_origin(model: Model, figure: str) -> Origin:
    """Return a figure of a model with the source that the catalog gives for it, or for what it is part of."""
    cited: Mapping[str, str] = getattr(model, "sources", {})
    parts = figure.split(".")
    beginnings = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    below = (note for name, note in cited.items() if name.startswith(f"{figure}."))
    note = next((cited[name] for name in beginnings if name in cited), next(below, ""))
    value: Any = model
    for part in parts:
        value = getattr(value, part, None) if not isinstance(value, dict) else value.get(part)
    shown = text_of(value) if isinstance(value, int | str | bool | float) else ""
    return Origin(Source.CATALOG, f"{model.name} {figure}", shown, None, "", note)


def path_of(key: str) -> KeyPath:
    """`gpus.groups[0].model` as a path; of all names in keys, those of ports alone may have dots."""
    if (override := _PORT.fullmatch(key)) is not None:
        return ("overrides", override[1], "ports", override[2], override[3])
    parts: list[str | int] = []
    for word in key.split("."):
        name, *indices = _ITEM.split(word)
        parts.append(name)
        parts += [int(index) for index in indices if is_number(index)]
    return tuple(parts)


def key_description(path: KeyPath) -> str:
    """Return the description of a key in the schema; "" without one."""
    schema: dict[str, Any] = cluster_schema()
    for part in path:
        schema = _object_schema(resolve_schema(schema))
        below = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        below = below or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return ""
        schema = below
    return str(resolve_schema(schema).get("description", ""))


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    branches: Iterator[dict[str, Any]] = map(resolve_schema, schema.get("anyOf", ()))
    return next((branch for branch in branches if branch.get("type") in ("object", "array")), schema)


def text_of(value: Any) -> str:
    """Return a value as YAML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text_of, value))}]"
    return "{}" if value == {} else str(value)


def _line_at(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
