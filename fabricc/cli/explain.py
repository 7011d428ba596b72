"""`fabricc explain`: an address, an ASN, a device, a threshold, an output line or a code, traced to its origin."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.back.hosts import network_of
from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.foreign.screen import Line
from fabricc.base.foreign.text import json_document
from fabricc.cli import options, output
from fabricc.cli.words import explained, subjects
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.result import exit_status
from fabricc.front.spec.lock import lines_of
from fabricc.proof.tree import read_manifest
from fabricc.review.explain import trees
from fabricc.review.explain.ask import explain, holds, subject_of
from fabricc.review.explain.codes import explain_code
from fabricc.review.explain.explanation_json import plain
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.lines import explain_line
from fabricc.review.explain.model import SubjectError
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.text import lines
from fabricc.review.explain.trees import line_named, spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.compiler.compiled import Compiled
    from fabricc.review.explain.model import Explanation

_CODE = re.compile(r"FAB[0-9]{4}", re.IGNORECASE)
_STYLES = {"title": "bold", "name": "bold cyan", "label": "dim", "plain": ""}


@click.command("explain")
@click.argument("first", metavar="SPEC|TREE|FILE:LINE|CODE", shell_complete=explained)
@click.argument("words", metavar="[SUBJECT] [FACT]", nargs=-1, shell_complete=subjects)
@click.option("--spec", type=options.PATH, help="The spec of a line's tree, if it is not found by itself.")
@options.templates_option
@options.data_option("Text for people, or one JSON object with the explanation and the findings.")
def command(first: str, words: tuple[str, ...], spec: Path | None, format_: str) -> int:
    """Say why a value is what it is: its rule, its formula in numbers, and the line of the spec behind it.

    \b
    FAB4003                                  a diagnostic code
    cluster.yaml 10.0.0.6                    an address or a prefix
    cluster.yaml AS4200524288                an ASN
    cluster.yaml su001-tor1a                 a switch or a host
    cluster.yaml su001-tor1a:Ethernet8       a port
    cluster.yaml su001-tor1a:Ethernet8 ecn   some of its settings
    build/zone/switches/su001-tor1a/running-config.cfg:103   a line of a built tree
    """  # noqa: D301
    found: list[Diagnostic] = []
    sources: dict[str, str] = {}
    explanation: Explanation | None = None
    try:
        explanation = _explained(first, words, spec, found, sources)
    except FindingsError as error:
        found += error.diagnostics
    if format_ == "json":
        _tell_json(explanation, found)
    else:
        output.tell(found, "text", sources)
        if explanation is not None:
            _show(explanation)
    return exit_status(found)


def _explained(
    first: str, words: tuple[str, ...], spec: Path | None, found: list[Diagnostic], sources: dict[str, str]
) -> Explanation:
    """The explanation; findings and the texts they point into are added to `found` and `sources`.

    Raises:
        SubjectError: there is nothing of that name.
    """
    code = words[0] if len(words) == 1 and _CODE.fullmatch(words[0]) else first if not words else ""
    if _CODE.fullmatch(code):
        return explain_code(code.upper())
    if not words and (place := line_named(first)) is not None:
        return _line(first, *place, spec, found, sources)
    if not words:
        raise click.UsageError(
            f"'{first}' is neither a code nor a line of a built tree; of a spec, say what to explain: an address, "
            "an ASN, a device or DEVICE:PORT."
        )
    return _of_any(_front(_spec(Path(first)), sources), words[0], words[1:])


def _of_any(compiled: Compiled, name: str, words: Sequence[str]) -> Explanation:
    """The explanation by the network whose pool, ASNs or devices hold what is named; else by that of the rails.

    Raises:
        SubjectError: there is nothing of that name.
    """
    part = next((each for each in compiled.networks.values() if holds(each.fabric, name)), compiled)
    return explain(_known(part), name, words)


def _spec(path: Path) -> Path:
    """The spec itself, or that of a built tree.

    Raises:
        TreeError: a folder that is no tree.
        SubjectError: one whose spec is not found.
    """
    if not path.is_dir():
        return path
    return spec_of(path, read_manifest(path))


def _front(spec: Path, sources: dict[str, str]) -> Compiled:
    """The planned spec.

    Raises:
        SubjectError: it cannot be planned, or is of InfiniBand (FAB9273).
    """
    compiled = compile_spec(spec, gaps=False)
    sources.update(compiled.sources)
    if compiled.infiniband is not None:
        message = (
            f"{spec} is of an InfiniBand fabric, whose subnet manager gives out addresses: no line to trace"
        )
        help_ = "`fabricc plan` shows its GUIDs, LIDs and cables; a code is explained without a spec."
        raise SubjectError("FAB9273", message, help_)
    if not compiled.sound:
        raise SubjectError.of(each for each in compiled.diagnostics if each.severity is Severity.ERROR)
    return compiled


def _known(compiled: Compiled) -> PlanSources:
    fabric = compiled.fabric
    lock = lines_of(compiled.lock_text, fabric.network)
    return PlanSources(compiled.spec, fabric, compiled.sources, str(compiled.lock_path), lock)


def _line(
    shown: str, file: Path, number: int, spec: Path | None, found: list[Diagnostic], sources: dict[str, str]
) -> Explanation:
    line = trees.find_line(file, number, spec)
    compiled = _front(line.spec, sources)
    found += trees.stale(line, compiled)
    name = line.folder.partition("/")[2]
    known = _known(_part(compiled, name, line.place.file))
    at = known.fabric.find(name)
    if at is None:
        message = f"{line.spec} as it is now has no device {name}"
        raise SubjectError("FAB9270", message, "Build again.")
    subject = subject_of(known, at)
    return explain_line(Explainer(known), subject, trees.texts_of(line, subject), line.place, shown)


def _part(compiled: Compiled, device: str, file: str) -> Compiled:
    """The network that a device's file is of."""
    if (network := network_of(file)) in compiled.networks:
        return compiled.networks[network]
    every = (compiled, *compiled.networks.values())
    return next((each for each in every if each.fabric.find(device) is not None), compiled)


def _tell_json(explanation: Explanation | None, found: Iterable[Diagnostic]) -> None:
    findings = [dataclasses.asdict(each) for each in found]
    whole = {"explanation": plain(explanation) if explanation else None, "findings": findings}
    output.document(json_document(whole))


def _show(explanation: Explanation) -> None:
    told = lines(explanation, max(60, min(output.width(), 120)))
    output.show(Line(each.text, _STYLES[each.style]) for each in told)
