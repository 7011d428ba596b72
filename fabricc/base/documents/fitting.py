"""Accept valid documents quickly, with the few keywords that the schemas use.

The `jsonschema` library explains violations, but is slow to import and to run. It runs only if this check does not
accept a document, which includes everything unknown. Measured in nine paired runs: with this check `validate` of 24,576
GPUs takes a third of the CPU time (0.72 s instead of 2.28 s on a busy machine).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Schema = dict[str, Any]

_NOTES = frozenset({
    "$defs", "$id", "$schema", "default", "description", "examples", "patternErrorMessage", "title", "then", "else",
})  # fmt: skip
_TYPES: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "null": lambda value: value is None,
    "number": lambda value: type(value) in (int, float),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def fits_schema(value: Any, schema: Any, root: Schema) -> bool:
    """Return whether a value surely fits a schema; `root` is the document of its references."""
    if not isinstance(schema, dict):
        return schema is True
    for keyword, wanted in schema.items():
        if keyword not in _NOTES:
            rule = _RULES.get(keyword)
            if rule is None or not rule(value, wanted, schema, root):
                return False
    return True


@cache
def compile_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of the schema; its `$` does not match before a final line break."""
    return re.compile(re.sub(r"\$$", r"\\Z", text))


def _fits_type(value: Any, wanted: Any, _: Schema, __: Schema) -> bool:
    names = wanted if isinstance(wanted, list) else [wanted]
    return any(name in _TYPES and _TYPES[name](value) for name in names)


def _fits_reference(value: Any, wanted: str, __: Schema, root: Schema) -> bool:
    start, *parts = wanted.split("/")
    found: Any = root if start == "#" else {}
    for part in parts:
        found = found.get(part, {})
    return bool(found) and fits_schema(value, found, root)


def _fits_properties(value: Any, wanted: Schema, _: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    return all(fits_schema(item, wanted[key], root) for key, item in value.items() if key in wanted)


def _fits_additional(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    named = schema.get("properties", {})
    return all(fits_schema(item, wanted, root) for key, item in value.items() if key not in named)


def _fits_items(value: Any, wanted: Any, _: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or all(fits_schema(item, wanted, root) for item in value)


def _fits_names(value: Any, wanted: Any, _: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(fits_schema(key, wanted, root) for key in value)


def _fits_condition(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    """`if` with its `then` and `else`; a condition that is not surely met may be met, so both have to fit then."""
    if not fits_schema(value, schema.get("then", True), root):
        return False
    return fits_schema(value, wanted, root) or fits_schema(value, schema.get("else", True), root)


def _limit_check(kinds: type | tuple[type, ...], within: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    return lambda value, wanted, _, __: not isinstance(value, kinds) or within(value, wanted)


_RULES: dict[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "$ref": _fits_reference,
    "additionalProperties": _fits_additional,
    "anyOf": lambda value, wanted, _, root: any(fits_schema(value, each, root) for each in wanted),
    "const": lambda value, wanted, _, __: type(value) is type(wanted) is str and value == wanted,
    "enum": lambda value, wanted, _, __: any(type(value) is type(each) and value == each for each in wanted),
    "if": _fits_condition,
    "items": _fits_items,
    "maxItems": _limit_check(list, lambda value, most: len(value) <= most),
    "maxLength": _limit_check(str, lambda value, most: len(value) <= most),
    "maxProperties": _limit_check(dict, lambda value, most: len(value) <= most),
    "maximum": _limit_check((int, float), lambda value, most: value <= most),
    "minItems": _limit_check(list, lambda value, least: len(value) >= least),
    "minLength": _limit_check(str, lambda value, least: len(value) >= least),
    "minProperties": _limit_check(dict, lambda value, least: len(value) >= least),
    "minimum": _limit_check((int, float), lambda value, least: value >= least),
    "pattern": _limit_check(str, lambda value, text: compile_pattern(text).search(value) is not None),
    "properties": _fits_properties,
    "propertyNames": _fits_names,
    "required": _limit_check(dict, lambda value, keys: all(key in value for key in keys)),
    "type": _fits_type,
    "uniqueItems": _limit_check(list, lambda value, _: len({*map(repr, value)}) == len(value)),
}
