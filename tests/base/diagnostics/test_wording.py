"""Texts of fabricc follow docs/messages.md: findings, titles, causes, remedies and helps."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

import fabricc
from fabricc.base.diagnostics import TITLES
from fabricc.base.diagnostics.formats import render_text
from fabricc.cli.entry import VERBS, cli
from fabricc.compiler.render.overlays import _gap_finding
from fabricc.fabric.vocabulary import Gap
from fabricc.review.explain.codes import code_causes

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(fabricc.__file__).parent
PAGE = PACKAGE.parent / "docs" / "messages.md"
CODE = re.compile(r"FAB[0-9]{4}")
MOST_CHARACTERS = 160
"""Characters of the literal part of a message, a remedy, a reason or a source."""
DIAGNOSTIC_CALL = re.compile(
    r"(Error|Exception|Breach|Report|Gap|Finding|Diagnostic|Limit|Reservation|Departure|failure)$|finding|error|warning"
)
"""Names of functions and classes that take texts which users read, with or without a code."""
LONGEST = 30
"""Words of a sentence, or of what stands between colons and semicolons."""
QUOTED = re.compile(r"`[^`]*`|'[^']*'")
AVOIDED = re.compile(
    r"\b(?i:please|sorry|oops|simply|just|obviously|easily|invalid|illegal|bogus|sanity|dummy|abort\w*|whitelist\w*"
    r"|blacklist\w*|utili[sz]e\w*|via|e\.g\.|i\.e\.|etc\.|[gmkt]bps|[gmkt]bit(?:/s)?|msecs?|secs?|\w+n't)(?!\w)"
    r"|\b(?<!border )leafs?\b(?!-spine)|\b(?:TOR|KB|Kb|Mb)\b|!(?![=r])"
)
"""Words that docs/messages.md has another one for, or none."""


class Text(NamedTuple):
    """A text of fabricc: its place, its kind (a message, a remedy, …), and the text, values as `{}`."""

    place: str
    kind: str
    text: str


def text_of(node: ast.expr | None) -> str | None:
    """The text of a literal, its values as `{}`; None for what is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None and right is None else (left or "{}") + (right or "{}")
    return None


def each_scope(node: ast.AST) -> Iterator[list[ast.AST]]:
    """Yield the nodes of each outermost function, and those outside of functions."""
    outside: list[ast.AST] = []
    waiting = [node]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield [*ast.walk(child)]
            else:
                outside.append(child)
                waiting.append(child)
    yield outside


def assigned_values(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """Name -> what it is given in a function."""
    named: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named.setdefault(node.targets[0].id, []).append(node.value)
    return named


def said_in(nodes: list[ast.AST], place: str) -> Iterator[Text]:
    """Yield the texts next to a code: literals, and those of names that got them in the same function."""
    named = assigned_values(nodes)
    for node in nodes:
        given: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Call):
            given = [("", each) for each in node.args]
            given += [(f"{each.arg}=", each.value) for each in node.keywords]
        elif isinstance(node, ast.Tuple):
            given = [("", each) for each in node.elts]
        if not any(isinstance(each, ast.Constant) and CODE.fullmatch(str(each.value)) for _, each in given):
            continue
        for kind, each in given:
            known = named.get(each.id, []) if isinstance(each, ast.Name) else []
            for name, value in [
                (kind, each),
                *((each.id, one) for one in known if isinstance(each, ast.Name)),
            ]:
                if " " in (text := text_of(value) or ""):
                    yield Text(f"{place}:{value.lineno}", name, text)


class SourceTexts(NamedTuple):
    """The texts in the source of the package."""

    coded: tuple[Text, ...]
    """Those next to a code."""
    passed: tuple[Text, ...]
    """Those of calls that take their code from elsewhere."""
    remedies: tuple[Text, ...]


@cache
def read_sources() -> SourceTexts:
    """Read every module once."""
    coded: dict[Text, None] = {}
    passed: dict[Text, None] = {}
    remedies: list[Text] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = str(path.relative_to(PACKAGE))
        for nodes in each_scope(ast.parse(path.read_text("utf-8"))):
            coded |= dict.fromkeys(said_in(nodes, place))
            passed |= dict.fromkeys(passed_in(nodes, place))
            remedies += remedies_in(nodes, place)
    return SourceTexts(tuple(coded), tuple(passed), tuple(remedies))


def passed_in(nodes: list[ast.AST], place: str) -> Iterator[Text]:
    """Yield the texts of calls that make a finding, with or without a code."""
    for node in nodes:
        function = getattr(node, "func", None)
        name = str(getattr(function, "id", None) or getattr(function, "attr", ""))
        if isinstance(node, ast.Call) and DIAGNOSTIC_CALL.search(name):
            given = [("", each) for each in node.args]
            given += [(f"{each.arg}=", each.value) for each in node.keywords]
            for kind, each in given:
                if " " in (text := text_of(each) or ""):
                    yield Text(f"{place}:{each.lineno}", kind, text)


def finding_texts() -> tuple[Text, ...]:
    """Return every text of the package next to a code."""
    return read_sources().coded


def messages() -> tuple[Text, ...]:
    """Return the texts of `finding_texts`, and those of calls that take their code from elsewhere."""
    return tuple(dict.fromkeys((*finding_texts(), *read_sources().passed)))


def title_texts() -> list[Text]:
    """Every code's title."""
    return [Text(code, "title", title) for code, title in TITLES.items()]


def explained_texts() -> list[Text]:
    """Every code's cause and remedy."""
    return [Text(code, "explained", text) for code, pair in code_causes().items() for text in pair]


def help_texts() -> list[Text]:
    """Return the texts of `--help` for verbs and options; examples are after a line of their own."""

    def of(command: click.Command, name: str) -> Iterator[Text]:
        yield Text(name, "verb", (command.help or "").partition("\b")[0].strip())
        for option in command.params:
            if isinstance(option, click.Option) and option.help:
                yield Text(f"{name} {option.opts[0]}", "option", option.help)
        for inner in getattr(command, "commands", {}).values():
            yield from of(inner, f"{name} {inner.name}")

    context = click.Context(cli)
    verbs = [(name, cli.get_command(context, name)) for name in VERBS]
    found = [each for name, command in verbs if command is not None for each in of(command, name)]
    return [*found, *(Text(name, "verb", text) for name, text in VERBS.items())]


def all_texts() -> list[Text]:
    """All of it."""
    return [*finding_texts(), *title_texts(), *explained_texts(), *help_texts()]


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Every verb, and those below it, by what is typed."""
    context = click.Context(cli)
    waiting = [(name, cli.get_command(context, name)) for name in VERBS]
    while waiting:
        name, command = waiting.pop()
        if command is not None:
            yield name, command
            waiting += [(f"{name} {inner}", each) for inner, each in getattr(command, "commands", {}).items()]


def longest_sentence(text: str) -> int:
    """Words of the longest sentence or part of one, what is in backquotes being one word."""
    parts = re.split(r"[.?;:]\s|\s\(", re.sub(r"`[^`]*`", "it", text))
    return max(len(part.split()) for part in parts)


@pytest.mark.slow
def test_the_texts_are_found() -> None:
    assert len(finding_texts()) > 1500
    assert len(title_texts()) == len(TITLES) == len(explained_texts()) / 2
    assert len(help_texts()) > 150


def test_no_sentence_is_too_long() -> None:
    assert [each for each in all_texts() if longest_sentence(each.text) > LONGEST] == []


def test_the_literal_part_of_a_message_has_at_most_160_characters() -> None:
    assert len(messages()) > 2500
    long = [each for each in messages() if len(re.sub(r"\{[^{}]*\}", "", each.text)) > MOST_CHARACTERS]
    assert long == []


def test_a_cited_source_is_on_its_own_line() -> None:
    spec = PACKAGE.parent / "inventories/lab-smallest/cluster.yaml"
    gap = Gap("FAB5401", "ports of 30 Gb/s", "NX-OS has no such speed", "use 25 Gb/s", source="a manual")
    found = _gap_finding(fabricc.compile_spec(spec).spec, gap, "nxos", ("tors", "nos"))
    assert found.message == "nxos: ports of 30 Gb/s: NX-OS has no such speed"
    assert "help: Use 25 Gb/s.\n        Source: a manual." in render_text([found], {})


def test_words_are_those_of_the_field() -> None:
    wrong = {each: AVOIDED.findall(QUOTED.sub("", each.text)) for each in all_texts()}
    assert {each: words for each, words in wrong.items() if words} == {}


def test_help_describes_every_option_within_80_columns() -> None:
    found = dict(verbs())
    assert {"lab test", "import netbox", "push"} < found.keys()
    for name, command in found.items():
        silent = [each.opts for each in command.params if isinstance(each, click.Option) and not each.help]
        assert silent == [], name
        assert re.findall(r"(?i)exit status(?!: 0 )", command.help or "") == [], name
        page = command.get_help(click.Context(command, info_name=f"fabricc {name}", terminal_width=80))
        assert [line for line in page.splitlines() if len(line) > 80] == [], name
        assert "..." not in page.partition("\n\n")[2], f"{name}: a sentence is cut"


def test_titles_start_with_a_capital_and_have_no_final_stop() -> None:
    names = ("gNMI", "gNOI")
    assert [
        each
        for each in title_texts()
        if each.text.endswith(".") or (each.text[0].islower() and not each.text.startswith(names))
    ] == []


def test_causes_remedies_and_helps_end_with_a_full_stop() -> None:
    ends = re.compile(r"[.\])]$")
    assert [each for each in explained_texts() if not each.text.endswith(".")] == []
    assert [each for each in help_texts() if each.text and not ends.search(each.text)] == []
    helped = [each for each in finding_texts() if each.kind in ("help=", "help_", "remedy")]
    assert len(helped) > 200
    assert helped == [
        each for each in helped if each.text.endswith((".", "{}")) or each.text.startswith("For example: ")
    ]


def test_messages_have_no_final_stop() -> None:
    messages = [each for each in finding_texts() if each.kind == "message"]
    assert len(messages) > 150
    assert [each for each in messages if each.text.endswith(".")] == []


def remedies_in(nodes: list[ast.AST], place: str) -> Iterator[Text]:
    """Yield the remedy of each `Diagnostic` and of each error with a code: a literal, or what its name was assigned."""
    named = assigned_values(nodes)
    for node in nodes:
        name = getattr(getattr(node, "func", None), "id", "")
        if isinstance(node, ast.Call) and (name == "Diagnostic" or name.endswith("Error")):
            given = node.args[4:] if name == "Diagnostic" else node.args[2:]
            coded = node.args and isinstance(node.args[0], ast.Constant) and str(node.args[0].value)
            for each in given if coded and CODE.fullmatch(coded) else ():
                for value in named.get(each.id, []) if isinstance(each, ast.Name) else [each]:
                    if " " in (text := text_of(value) or ""):
                        yield Text(f"{place}:{value.lineno}", name, text)


def is_sentence(text: str) -> bool:
    """Return whether a remedy is one, or gives a value."""
    return not text[0].islower() and (text.endswith(".") or text.startswith("For example: "))


def test_remedies_are_sentences() -> None:
    found = read_sources().remedies
    assert len(found) > 150
    assert [each for each in found if not is_sentence(each.text.replace("{}", "It."))] == []


@pytest.mark.parametrize("name", ["superpod-b200-4su", "gb200-nvl72-su", "whole-cluster-256"])
def test_findings_of_limits_have_remedies_that_are_sentences(name: str) -> None:
    spec = PACKAGE.parent / "inventories" / name / "cluster.yaml"
    found = [each for each in fabricc.compile_spec(spec).diagnostics if each.help]
    assert found
    assert [each for each in found if not is_sentence(each.help)] == []


@pytest.mark.parametrize("text", ["Please wait", "an invalid name", "400 Gbps", "done!", "it isn't", "9 KB"])
def test_wording_check_finds_avoided_words(text: str) -> None:
    assert AVOIDED.search(text)
