"""The stable Python names, one by one, so that a review shows each change. `UPDATE_GOLDEN=1` writes them again."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fabricc

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parent / "golden/interface.txt"
INNER = frozenset({"contents", "held", "placement", "understood"})
"""How rooms hand on what they read: no promise to anybody."""


def public_surface() -> Iterator[str]:
    """A line for each public name, function, field and method."""
    for name in fabricc.__all__:
        thing = getattr(fabricc, name)
        if inspect.isclass(thing):
            yield f"class {name}"
            lines = {line for line in class_members(thing) if re.split(r"\W", line)[0] not in INNER}
            lines |= documented_attributes(thing) - {re.split(r"\W", line)[0] for line in lines} - INNER
            yield from sorted(f"    {line}" for line in lines)
        else:
            yield (
                f"def {format_signature(name, thing)}"
                if callable(thing)
                else f"{name}: {type(thing).__name__}"
            )


def class_members(kind: type) -> Iterator[str]:
    """Fields with their types, properties, and methods with their signatures."""
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if not field.name.startswith("_"):
                yield f"{field.name}: {field.type}"
    for name, value in inspect.getmembers_static(kind):
        if name.startswith("_") or (issubclass(kind, str) and name.islower()):
            continue
        if isinstance(value, property | cached_property):
            read = value.fget if isinstance(value, property) else value.func
            yield f"{name}: {inspect.get_annotations(read)['return']}"
        elif isinstance(value, staticmethod | classmethod):
            yield format_signature(name, value.__func__)
        elif inspect.isfunction(value):
            yield format_signature(name, value)
        elif isinstance(value, str):
            yield f"{name} = {value!s}"


def documented_attributes(kind: type) -> set[str]:
    """The names below `Attributes:` of a docstring: those of classes that are no dataclass stand nowhere else."""
    section = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]
    heads = re.findall(r"^(?: {4}|.*; )([\w`, ]+):", section, re.MULTILINE)
    return {name.strip(" `") for head in heads for name in head.split(",")}


def format_signature(name: str, function: object) -> str:
    """A signature as it is written."""
    assert inspect.isroutine(function)
    return name + re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))


def test_the_public_names_and_signatures_are_those_reviewed() -> None:
    reported = "\n".join(public_surface()) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(reported)
    assert reported == GOLDEN.read_text("utf-8"), (
        "a change for users: say it in CHANGELOG.md, then UPDATE_GOLDEN=1"
    )


@pytest.mark.parametrize("name", [name for name in fabricc.__all__ if not name.startswith("_")])
def test_every_public_name_has_a_docstring(name: str) -> None:
    thing = getattr(fabricc, name)
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{name}(")


def test_no_public_name_is_hidden_by_a_module() -> None:
    package = Path(fabricc.__file__).parent
    assert not {path.stem for path in package.iterdir()} & {*fabricc.__all__}


@pytest.mark.parametrize(("former", "name"), [("Gathered", "FolderContents")])
def test_a_renamed_public_name_works_and_warns(former: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"fabricc.{former} is deprecated: use fabricc.{name}"):
        assert getattr(fabricc, former) is getattr(fabricc, name)
