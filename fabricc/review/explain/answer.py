"""From a question as a user words it to its answer: a code, a line of a built tree, or what a spec's fabric has."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.hosts import network_of
from fabricc.base.diagnostics import FindingsError, Severity
from fabricc.base.values import dataclass
from fabricc.compiler.compiled import compile_spec
from fabricc.front.spec.lock import lines_of
from fabricc.proof.tree import read_consistently, read_manifest
from fabricc.review.explain import trees
from fabricc.review.explain.codes import explain_code
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.lines import explain_line
from fabricc.review.explain.model import SubjectError
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.questions import explain_name, has_name, subject_of
from fabricc.review.explain.trees import line_named, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler.compiled import Compiled
    from fabricc.review.explain.model import Explanation

_CODE = re.compile(r"FAB[0-9]{4}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """An explanation, and what was found on the way to it.

    Attributes:
        findings: that a line's tree is of another state of the spec, or the file edited since.
        sources: file name -> text, of the files that findings point into.
    """

    explanation: Explanation
    findings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


def is_complete(first: str) -> bool:
    """Return whether a word is a question without further words: a code, or FILE:LINE."""
    return _CODE.fullmatch(first) is not None or line_named(first) is not None


def answer_question(first: str, words: Sequence[str] = (), spec: Path | None = None) -> Answer:
    """Answer a question.

    Args:
        first: a spec, a built tree, a line of one, or a code.
        words: for a spec or a tree, the subject and words that choose its facts.
        spec: the spec of a line's tree; None to search for it.

    Raises:
        FindingsError: nothing has this name (SubjectError), or there is no such tree or spec.
        ValueError: `first` alone is no question.
    """
    code = words[0] if len(words) == 1 and _CODE.fullmatch(words[0]) else first if not words else ""
    if _CODE.fullmatch(code):
        return Answer(explain_code(code.upper()))
    if not words and (place := line_named(first)) is not None:
        return _answer_line(first, *place, spec)
    if not words:
        raise ValueError(f"'{first}' is neither a code nor a line of a built tree")
    compiled = _plan_spec(_find_spec(Path(first)))
    try:
        return Answer(of_any(compiled, words[0], words[1:]), (), compiled.sources)
    except FindingsError as error:
        raise SubjectError.of(error.diagnostics, compiled.sources) from None


def of_any(compiled: Compiled, name: str, words: Sequence[str]) -> Explanation:
    """The explanation by the network whose pool, ASNs or devices hold what is named; else by that of the rails.

    Raises:
        SubjectError: there is nothing of that name.
    """
    part = next((each for each in compiled.networks.values() if has_name(each.fabric, name)), compiled)
    return explain_name(plan_sources(part), name, words)


def plan_sources(compiled: Compiled) -> PlanSources:
    """Return the sources for explanations of a network."""
    fabric = compiled.fabric
    lock = lines_of(compiled.lock_text, fabric.network)
    return PlanSources(compiled.spec, fabric, compiled.sources, str(compiled.lock_path), lock)


def _find_spec(path: Path) -> Path:
    """Return the spec itself, or that of a built tree.

    Raises:
        TreeError: a folder that is no tree.
        SubjectError: one whose spec is not found.
    """
    if not path.is_dir():
        return path
    return spec_of(path, read_manifest(path))


def _plan_spec(spec: Path) -> Compiled:
    """Return the planned spec.

    Raises:
        SubjectError: it cannot be planned, or is of InfiniBand (FAB9273).
    """
    compiled = compile_spec(spec, gaps=False)
    if compiled.infiniband is not None:
        message = f"{spec} is an InfiniBand fabric: its subnet manager assigns addresses"
        help_ = "`fabricc plan` shows its GUIDs, LIDs and cables; a code is explained without a spec."
        raise SubjectError("FAB9273", message, help_)
    if not compiled.sound:
        errors = (each for each in compiled.diagnostics if each.severity is Severity.ERROR)
        raise SubjectError.of(errors, compiled.sources)
    return compiled


def _answer_line(shown: str, file: Path, number: int, spec: Path | None) -> Answer:
    above = trees.tree_above(file.absolute())
    return read_consistently([above] if above else [], lambda: _read_line(shown, file, number, spec))


def _read_line(shown: str, file: Path, number: int, spec: Path | None) -> Answer:
    line = trees.find_line(file, number, spec)
    compiled = _plan_spec(line.spec)
    stale = tuple(trees.report_stale(line, compiled))
    name = line.folder.partition("/")[2]
    plan = plan_sources(_network_of(compiled, name, line.place.file))
    try:
        if (at := plan.fabric.find(name)) is None:
            message = f"{line.spec} as it is now has no device {name}"
            raise SubjectError("FAB9270", message, "Build again.")
        subject = subject_of(plan, at)
        found = explain_line(Explainer(plan), subject, trees.texts_of(line, subject), line.place, shown)
    except FindingsError as error:
        raise SubjectError.of((*stale, *error.diagnostics), compiled.sources) from None
    return Answer(found, stale, compiled.sources)


def _network_of(compiled: Compiled, device: str, file: str) -> Compiled:
    """Return the network that contains a device's file."""
    if (network := network_of(file)) in compiled.networks:
        return compiled.networks[network]
    every = (compiled, *compiled.networks.values())
    return next((each for each in every if each.fabric.find(device) is not None), compiled)
