"""Load the JSON Schemas of the package, and list the violations of a document.

The `jsonschema` library explains violations, but is slow to import and to run. It runs only if a check of the few
keywords that the schemas use does not accept a document, which includes everything unknown. Measured in nine paired
runs: with this check `validate` of 24,576 GPUs takes a third of the CPU time (0.72 s instead of 2.28 s on a busy
machine).
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from fabricc.base.installation import data_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

    Schema = dict[str, Any]

MOST_PER_KEYWORD = 101
_PER_ENTRY = ("items", "additionalProperties", "propertyNames")


def schema_path(name: str) -> Path:
    """Return the file of a schema, e.g. `cluster`: inside the package in a wheel, else next to the package.

    Raises:
        FileNotFoundError: this installation does not have it.
    """
    path = data_folder("schemas") / f"{name}.schema.json"
    if not path.is_file():
        raise FileNotFoundError(path.name)
    return path


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return a schema by its short name; shared, so never to be changed."""
    return cast("dict[str, Any]", json.loads(schema_path(name).read_text("utf-8")))


def breaches(value: Any, name: str) -> Iterator[ValidationError]:
    """Yield the parts of a document that do not fit the schema of that name; a whole number has no decimal point.

    At most `MOST_PER_KEYWORD` entries of one list or mapping are reported.
    """
    return (
        iter(())
        if fits_schema(value, load_schema(name), load_schema(name))
        else schema_validator(name).iter_errors(value)
    )


@cache
def schema_validator(name: str) -> Draft202012Validator:
    """Return the library's validator of a schema."""
    from jsonschema import Draft202012Validator, validators

    # A pattern's `$` must not match before a final line break, and 128.0 is no count.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = validators.extend
    keywords = {keyword: _bound_keyword(Draft202012Validator.VALIDATORS[keyword]) for keyword in _PER_ENTRY}
    strict = extend(Draft202012Validator, {**keywords, "pattern": _check_pattern}, type_checker=types)
    made: Draft202012Validator = strict(load_schema(name))
    return made


def _bound_keyword(keyword: Any) -> Any:
    """Return the keyword, ending after enough errors: alternatives of `anyOf` are otherwise checked to the end."""
    return lambda *arguments: islice(keyword(*arguments), MOST_PER_KEYWORD)


def _check_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not compile_pattern(pattern).search(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


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


def _fits_type(value: Any, type_names: Any, _: Schema, __: Schema) -> bool:
    names = type_names if isinstance(type_names, list) else [type_names]
    return any(name in _TYPES and _TYPES[name](value) for name in names)


def _fits_reference(value: Any, reference: str, __: Schema, root: Schema) -> bool:
    start, *parts = reference.split("/")
    found: Any = root if start == "#" else {}
    for part in parts:
        found = found.get(part, {})
    return bool(found) and fits_schema(value, found, root)


def _fits_properties(value: Any, properties: Schema, _: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    return all(fits_schema(item, properties[key], root) for key, item in value.items() if key in properties)


def _fits_additional(value: Any, rule: Any, schema: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    named = schema.get("properties", {})
    return all(fits_schema(item, rule, root) for key, item in value.items() if key not in named)


def _fits_items(value: Any, item_schema: Any, _: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or all(fits_schema(item, item_schema, root) for item in value)


def _fits_names(value: Any, name_schema: Any, _: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(fits_schema(key, name_schema, root) for key in value)


def _fits_condition(value: Any, condition: Any, schema: Schema, root: Schema) -> bool:
    """`if` with its `then` and `else`; a condition that is not surely met may be met, so both have to fit then."""
    if not fits_schema(value, schema.get("then", True), root):
        return False
    return fits_schema(value, condition, root) or fits_schema(value, schema.get("else", True), root)


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
