"""Load the JSON Schemas of the package, and list the violations of a document."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from fabricc.base.documents.fitting import compile_pattern, fits_schema
from fabricc.base.installation import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

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


def _check_pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and not compile_pattern(wanted).search(value):
        yield ValidationError(f"{value!r} does not match {wanted!r}")
