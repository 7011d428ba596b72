"""`fabricc explain`: an address, a device, a group of hosts, a threshold, a line or a code, traced to its origin."""

from __future__ import annotations

import dataclasses
import textwrap
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Line
from fabricc.cli import options, output
from fabricc.cli.words import complete_explained, complete_subjects
from fabricc.compiler.result import exit_status
from fabricc.review.explain.answer import answer_question, is_complete
from fabricc.review.explain.model import Explanation, Formula, Origin, Source, Statement
from fabricc.review.explain.origins import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.base.diagnostics import Position
    from fabricc.front.qos.worksheet import Row


@click.command("explain")
@click.argument("first", metavar="SPEC|TREE|FILE:LINE|CODE", shell_complete=complete_explained)
@click.argument("words", metavar="[SUBJECT] [FACT]", nargs=-1, shell_complete=complete_subjects)
@click.option(
    "--spec", type=options.PATH, help="The spec of a line's tree, if it is not found automatically."
)
@options.templates_option
@options.data_option("Text, or one JSON object with the explanation and the findings.")
def command(first: str, words: tuple[str, ...], spec: Path | None, format_: str) -> int:
    """Explain a value: its rule, its formula in numbers, and the line of the spec behind it.

    \b
    FAB4003                                  a diagnostic code
    cluster.yaml 10.0.0.6                    an address or a prefix
    cluster.yaml AS4200524288                an ASN
    cluster.yaml su001-tor1a                 a switch or a host
    cluster.yaml acme                        a unit, a rack, a tenant or a class
    cluster.yaml:24                          a line of the spec or of the lock
    cluster.yaml su001-tor1a:Ethernet8       a port
    cluster.yaml su001-tor1a:Ethernet8 ecn   some of its settings
    build/zone/switches/su001-tor1a/frr.conf:103   a line of a built tree
    """  # noqa: D301
    if not words and not is_complete(first):
        raise click.UsageError(
            f"'{first}' is neither a code nor a line of a file; with a spec, name what to explain: an address, "
            "an ASN, a device, DEVICE:PORT, a unit, a tenant or a class."
        )
    explanation: Explanation | None = None
    found: Iterable[Diagnostic]
    sources: Mapping[str, str]
    try:
        answered = answer_question(first, words, spec)
        explanation, found, sources = answered.explanation, answered.findings, answered.sources
    except FindingsError as error:
        found, sources = error.diagnostics, error.sources
    if format_ == "json":
        _print_json(explanation, found)
    else:
        output.print_findings(found, "text", sources)
        if explanation is not None:
            output.print_parts(explanation_lines(explanation, max(60, min(output.width(), 120))))
    return exit_status(found)


def _print_json(explanation: Explanation | None, found: Iterable[Diagnostic]) -> None:
    findings = [dataclasses.asdict(each) for each in found]
    whole = {"explanation": as_plain(explanation) if explanation else None, "findings": findings}
    output.print_document(json_document(whole))


_AT_LENGTH = 8
"""The number of statements in full; further ones take one line each."""
_MARGIN = 12
"""Where the fields of a statement begin."""
_NOTE = 90
_INDENT = "  "


def explanation_lines(explanation: Explanation, width: int = 100) -> Iterator[Line]:
    """Yield the lines of an explanation, wrapped to a width where possible."""
    yield Line(f"{explanation.subject}: {explanation.title}", "bold")
    labels = max((len(label) for label, _ in explanation.details), default=0)
    for label, value in explanation.details:
        yield from _field_lines(label, value, max(labels + 4, _MARGIN), width)
    if len(explanation.statements) > _AT_LENGTH:
        yield Line()
        yield from _table_lines(explanation.statements, width)
        yield Line()
        hint = "Name one, or a part of it, after the subject for its rule, numbers and sources."
        yield Line(f"{_INDENT}{hint}", "dim")
        return
    for statement in explanation.statements:
        yield Line()
        yield from _statement_lines(statement, width)


def _statement_lines(statement: Statement, width: int) -> Iterator[Line]:
    yield Line(f"{statement.name} = {statement.value}" if statement.value else statement.name, "bold cyan")
    margin = _MARGIN
    if statement.also:
        yield from _field_lines("also", _join_paths(statement.also), margin, width)
    if statement.planned is not None:
        yield from _field_lines("planned", statement.planned, margin, width)
    if statement.waist is not None:
        yield from _field_lines("computed", f"{statement.waist}; held as {statement.value}", margin, width)
    if statement.rule:
        yield from _field_lines("rule", statement.rule, margin, width)
    for formula in statement.formulas:
        yield from _formula_lines(formula, margin)
    yield from _step_lines(statement.steps, width)
    label = "from"
    for origin in statement.origins:
        yield from _field_lines(label, origin_text(origin), margin, width)
        label = ""
    if statement.docs:
        yield from _field_lines("see", statement.docs, margin, width)


def _join_paths(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1:,} more with this value"


def _formula_lines(formula: Formula, margin: int) -> Iterator[Line]:
    start = f"{_INDENT}{formula.name:<{margin - 2}}"
    yield Line(f"{start}= {formula.symbols}")
    if formula.numbers != formula.symbols and formula.numbers != formula.value:
        yield Line(f"{' ' * margin}= {formula.numbers}")
    yield Line(f"{' ' * margin}= {formula.value}")


def _step_lines(rows: Sequence[Row], width: int) -> Iterator[Line]:
    if not rows:
        return
    labels = max(len(row.label) for row in rows)
    values = max(len(f"{row.value:,}") for row in rows)
    units = max(len(row.unit) for row in rows)
    for row in rows:
        head = f"{_INDENT}{row.label:<{labels}}  {row.value:>{values},} {row.unit:<{units}}  "
        yield from _wrap_text(head, row.source, width)


def origin_text(origin: Origin) -> str:
    """Return one input of a formula as text: its place and line in the spec, or what decided it."""
    if origin.position is not None:
        return f"{place_text(origin.position)}  {origin.snippet or f'{origin.key} {origin.value}'}"
    if origin.source is Source.DEFAULT:
        return f"default  {origin.key}: {origin.value} ({SCHEMA}{_first_sentence(origin.note)})"
    if origin.source is Source.COMPUTED:
        return f"not set  {origin.key} ({origin.note.rpartition('Default: ')[2].rstrip('.')})"
    if origin.source is Source.LOCK:
        return f"lock  {origin.key} {origin.value} ({origin.note})"
    if origin.source is Source.FIXED:
        return f"{origin.note}, in every spec"
    return f"catalog  {origin.key}{f' {origin.value}' if origin.value else ''} ({origin.note or 'no source given'})"


def _first_sentence(note: str) -> str:
    """Return `: ` and the first sentence of the description of a key; "" if it is long."""
    sentence = note.partition(". ")[0].rstrip(".")
    return f": {sentence}" if sentence and len(sentence) <= _NOTE else ""


def place_text(position: Position) -> str:
    """`cluster.yaml:12:3`."""
    return f"{position.file}:{position.line}:{position.column}"


def _table_lines(statements: Sequence[Statement], width: int) -> Iterator[Line]:
    names = max(len(statement.name) for statement in statements)
    values = min(max(len(statement.value) for statement in statements), 40)
    for statement in statements:
        more = f" (and {len(statement.also)} more)" if statement.also else ""
        head = f"{_INDENT}{statement.name:<{names}}  {statement.value:<{values}}  "
        yield from _wrap_text(head, _origin_summary(statement) + more, width)


def _origin_summary(statement: Statement) -> str:
    """Return briefly where a value was decided; a place in the spec comes first."""
    for origin in statement.origins:
        if origin.position is not None and origin.source is Source.SPEC:
            return place_text(origin.position)
    kinds = dict.fromkeys(origin.source for origin in statement.origins)
    words = {Source.DEFAULT: "default", Source.LOCK: "lock", Source.CATALOG: "catalog", Source.FIXED: "fixed"}
    texts = [words[kind] for kind in kinds if kind in words]
    return ", ".join(texts) or "plan"


def _field_lines(label: str, value: str, margin: int, width: int) -> Iterator[Line]:
    yield from _wrap_text(f"{_INDENT}{label:<{margin - 2}}", value, width)


def _wrap_text(head: str, text: str, width: int) -> Iterator[Line]:
    room = max(width - len(head), 30)
    parts = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    for at, part in enumerate(parts):
        yield Line(((head if at == 0 else " " * len(head)) + part).rstrip())


def as_plain(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as mappings, lists, texts and numbers, by the names of its fields."""
    return {
        field.name: _plain_value(getattr(explanation, field.name))
        for field in dataclasses.fields(explanation)
    }


def _plain_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        items = [_plain_value(item) for item in value]
        return dict(zip(value._fields, items, strict=True)) if hasattr(value, "_fields") else items
    return value
