"""An empty value, as an unset variable of a CI job gives, never stands for a default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

import fabricc
from fabricc.cli.entry import VERBS, cli

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.trust.conftest import Clone

MAY_BE_EMPTY = {"--details-url"}
"""Options that are empty by default: an empty address of a page is no page."""


def each_command(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for each, inner in command.commands.items():
            yield from each_command(inner, f"{name} {each}")


def each_parameter() -> Iterator[tuple[str, click.Parameter]]:
    context = click.Context(cli)
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        for name, each in each_command(command, verb):
            for parameter in each.params:
                text = isinstance(parameter.type, click.Path | click.types.StringParamType)
                flag = isinstance(parameter, click.Option) and parameter.is_flag
                if text and not flag:
                    yield name, parameter


@pytest.mark.parametrize(
    ("verb", "parameter"), [pytest.param(v, p, id=f"{v} {p.opts[0]}") for v, p in each_parameter()]
)
def test_every_text_and_path_rejects_an_empty_value(verb: str, parameter: click.Parameter) -> None:
    if parameter.opts[0] in MAY_BE_EMPTY:
        pytest.skip("empty by default")
    with pytest.raises(click.UsageError, match="the value is empty"):
        parameter.type.convert("", parameter, None)


@pytest.mark.parametrize(
    "words",
    [
        ("diff", "cluster.yaml", "--base", ""),
        ("diff", "cluster.yaml", "--head", ""),
        ("diff", "cluster.yaml", ""),
        ("diff", "cluster.yaml", "other.yaml", "--base="),
        ("diff", "cluster.yaml", "--label", ""),
        ("diff", "cluster.yaml", "--policy", ""),
        ("diff", ""),
        ("check", "build", "--committed", "", "--spec", "cluster.yaml"),
        ("check", "build/lab", "--spec", ""),
        ("migrate", "cluster.yaml", "--base", ""),
        ("build", "cluster.yaml", "-o", ""),
        ("build", ""),
        ("report", "cluster.yaml", "-o", ""),
        ("explain", "build/lab/manifest.json:1", "--spec", ""),
        ("upgrade", "cluster.yaml", "--to", ""),
        ("maintain", "", "spine01a", "--window", "1h"),
        ("push", "build/lab", "--tree-digest", ""),
        ("verify", "build/lab", "--spec", ""),
        ("validate", ""),
        ("fmt", ""),
    ],
    ids=" ".join,
)
def test_an_empty_value_is_a_usage_error(clone: Clone, words: tuple[str, ...]) -> None:
    status, printed = clone.reading(*words)
    assert status == 2
    assert "the value is empty" in printed


@pytest.mark.parametrize("named", [{"base": ""}, {"head": ""}, {"after": ""}, {"policy": ""}])
def test_the_python_interface_rejects_empty_texts(clone: Clone, named: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="empty text"):
        fabricc.diff(clone.top / "cluster.yaml", **named)  # type: ignore[arg-type]


def test_an_empty_path_is_not_the_working_folder(clone: Clone) -> None:
    for call in (fabricc.build, fabricc.check, fabricc.diff):
        with pytest.raises(ValueError, match="empty text"):
            call("")
    with pytest.raises(ValueError, match="empty text"):
        fabricc.build(clone.top / "cluster.yaml", "")
