"""`fabricc explain`: an address, a device, a group of hosts, a threshold, a line or a code, traced to its origin."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Line
from fabricc.cli import options, output
from fabricc.cli.words import complete_explained, complete_subjects
from fabricc.compiler.result import exit_status
from fabricc.review.explain.answer import answer_question, is_complete
from fabricc.review.explain.text import as_plain, explanation_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.review.explain.model import Explanation

_STYLES = {"title": "bold", "name": "bold cyan", "label": "dim", "plain": ""}


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
            _show_explanation(explanation)
    return exit_status(found)


def _print_json(explanation: Explanation | None, found: Iterable[Diagnostic]) -> None:
    findings = [dataclasses.asdict(each) for each in found]
    whole = {"explanation": as_plain(explanation) if explanation else None, "findings": findings}
    output.print_document(json_document(whole))


def _show_explanation(explanation: Explanation) -> None:
    lines = explanation_lines(explanation, max(60, min(output.width(), 120)))
    output.print_parts(Line(each.text, _STYLES[each.style]) for each in lines)
