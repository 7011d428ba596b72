"""Run `fabricc migrate`: plan both specs, prepare the steps, and print them as text or JSON."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.back.nos.templating import template_path, use_template_path
from fabricc.base.diagnostics import FindingsError
from fabricc.base.diagnostics.wording import format_share, join_words, plural
from fabricc.base.documents.reader import MAX_BYTES
from fabricc.base.foreign import files
from fabricc.base.foreign.formats import csv_text, json_document
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path
from fabricc.base.foreign.text import Line, Part, Rendered, Table
from fabricc.cli import output
from fabricc.compiler.compiled import Compiled, compile_ethernet
from fabricc.compiler.load.revision import SpecHistory, revision_finding
from fabricc.compiler.load.revision_templates import extract_templates, have_same_templates
from fabricc.compiler.load.spec_search import find_base_of_file
from fabricc.compiler.result import exit_status
from fabricc.operate.change.order_text import describe_review, describe_wave, encode_review, encode_wave
from fabricc.operate.migrate.cables import group_switches_by_round
from fabricc.operate.migrate.prepare import prepare_migration
from fabricc.review.diff import wording
from fabricc.review.diff.unread import list_unread_text
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from fabricc.operate.migrate.cables import Ends
    from fabricc.operate.migrate.prepare import Migration, Stage
    from fabricc.operate.migrate.waves import Order
    from fabricc.review.diff.model import Review


_INSTEAD = (
    "Review the change with `fabricc diff`, and copy `subnets/` of the new tree to the subnet managers."
)
"""What does the job for InfiniBand."""


def run_migration(
    first: Path, second: Path | None, base: str, keep: Fraction, write: Path | None, format_: str
) -> int:
    """Prepare and report, with the arguments of the command; return the exit status.

    Raises:
        FindingsError: a spec has errors, or a step is not possible.
    """
    with _deployed_spec(first, second, base) as (path, templates):
        new = _compile_sound(second or first)
        with use_template_path(templates):
            old = _compile_sound(path)
        with output.progress() as bars:
            found = prepare_migration(old, new, keep, write, bars or (lambda *_: None))
    output.print_findings(list_unread_text(new), "text", {})
    for stage in found.stages:
        if stage.spec and stage.moves:
            write_file(stage.spec.parent / WORKSHEET, format_worksheet(stage).encode())
    if format_ == "json":
        output.print_document(as_json(found))
    else:
        output.print_parts(render_migration(found))
    return exit_status([each for stage in found.stages for each in stage.review.findings])


@contextmanager
def _deployed_spec(first: Path, second: Path | None, base: str) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """Yield the deployed spec, the first of two or a revision of the only one, and its folders of own templates."""
    used = template_path()
    if second is not None:
        yield first, used
        return
    with TemporaryDirectory(prefix="fabricc-deployed-") as scratch:
        folder = Path(scratch)
        try:
            history = SpecHistory.of(first)
            commit = history.commit(base)
            found = find_base_of_file(history, commit, first, files.read(first, limit=MAX_BYTES))
            path = found.history.extract(commit, Path(found.name), folder) if found else None
            before = extract_templates(history.repository, commit, used, folder / "templates")
        except GitError as error:
            raise FindingsError.of([revision_finding(error)]) from None
        if found is None or path is None:
            remedy = "Name the spec that is deployed, then this one."
            raise FindingsError("FAB9451", f"{first} is not in {base}", remedy)
        output.print_findings(found.findings, "text", {})
        yield path, used if have_same_templates(before, used) else before


def _compile_sound(path: Path) -> Compiled:
    compiled = compile_ethernet(path, _INSTEAD)
    if not compiled.sound:
        raise FindingsError.of(compiled.diagnostics, compiled.sources)
    return compiled


FORMAT = 1
_SHOWN, _NAMED = 12, 4
WORKSHEET = "recabling.csv"
_HEAD = ("round", "device", "port", "far_device", "far_port", "new_device", "new_port", "new_far_device",
         "new_far_port", "least_links_left")  # fmt: skip


def render_migration(found: Migration) -> Iterator[Part]:
    """Render the migration as lines and tables."""
    yield Line(f"{found.cluster}: {plural(len(found.stages), 'step')}", "bold")
    yield Line()
    rows = [
        (f"{stage.number}", stage.step.name, *_format_effect(stage.review), _format_cable_count(stage))
        for stage in found.stages
    ]
    rows.append(("", "all at once", *_format_effect(found.at_once), ""))
    yield Table(
        "", ("step", "name", "worst effect", "risk", "devices", "GPUs that lose service", "cables"), rows
    )
    for stage in found.stages:
        yield Line()
        yield Line(f"{stage.number}. {stage.step.what}", "bold")
        if stage.step.before:
            yield Line(f"  First {stage.step.before}.")
        _, *findings = describe_review(stage.review)
        yield from (Line(each) for each in findings)
        for sentence in _list_drains(stage):
            yield Line(f"  {sentence}")
        yield from _render_rounds(stage)
        for order in stage.orders:
            yield from _render_waves(order)
        if stage.spec:
            yield Line(f"  fabricc build {shell_path(stage.spec)}")
        if stage.step.after:
            yield Line(f"  Then wait {stage.step.after}.")


def _list_drains(stage: Stage) -> list[str]:
    """Return what to drain; of both ends in one window no word where the waves of a push keep an order.

    Where cables move between switches that stay, the rounds list the drains instead.
    """
    if stage.moves and not stage.orders:
        return []
    ordered = stage.orders and not any(order.refused for order in stage.orders)
    return [each for each in wording.drain_steps(stage.review) if not (ordered and each == wording.BOTH_ENDS)]


def _render_rounds(stage: Stage) -> Iterator[Line]:
    """Yield how cables move: where boxes stay, what is drained, recabled and pushed, in order."""
    if not stage.moves:
        return
    keeps, found = {move.round: move.keeps for move in stage.moves}, group_switches_by_round(stage.moves)
    cables = f"{_format_cable_count(stage)} in {plural(len(found), 'round')}"
    if stage.orders:
        least = format_share(min(keeps.values()))
        yield Line(f"  {cables}; until it is pushed, a switch has {least} of its links")
        return
    yield Line(f"  {cables}: push new switches first, the others after the last round. In each round")
    yield Line("  drain its switches, move their cables, and push the switches by --only:")
    for number, names in islice(found.items(), _SHOWN):
        share = f"keeps {format_share(keeps[number])} of a switch's links"
        yield Line(f"    {number}: {join_words(names, _NAMED) or 'new cables alone'}, {share}")
    if len(found) > _SHOWN:
        yield Line(f"    and {len(found) - _SHOWN:,} more; --format json has them all")


def _render_waves(order: Order) -> Iterator[Line]:
    label = f"  {order.network}: " if order.network else "  "
    if order.refused:
        yield Line(f"{label}{order.refused}")
        yield from (Line(f"    {each}") for each in order.possible)
        return
    yield Line(f"{label}A push takes it in {plural(len(order.waves), 'wave')}:")
    for number, wave in enumerate(order.waves[:_SHOWN], 1):
        yield Line(f"    {describe_wave(number, wave, _NAMED)}")
    if len(order.waves) > _SHOWN:
        yield Line(f"    and {len(order.waves) - _SHOWN:,} more; --format json has them all")


def _format_effect(review: Review) -> tuple[str, ...]:
    devices = sum(len(group.devices) for group in review.groups)
    return review.impact.label, review.risk, f"{devices:,}", f"{review.gpus_affected:,}"


def _format_cable_count(stage: Stage) -> str:
    """Return how many cables move, as a repinning counts them, and how many are new or removed."""
    counts = {
        "moved": sum(1 for move in stage.moves if move.was and move.now),
        "new": sum(1 for move in stage.moves if move.was is None),
        "removed": sum(1 for move in stage.moves if move.now is None),
    }
    if not stage.moves:
        return ""
    parts = ", ".join(f"{number:,} {word}" for word, number in counts.items() if number)
    return f"{plural(len(stage.moves), 'cable')} ({parts})"


def format_worksheet(stage: Stage) -> str:
    """Return the cables of a step in the order of their rounds, as CSV; empty cells where a cable goes or is new."""
    rows = (
        (one.round, *_format_ends(one.was), *_format_ends(one.now), f"{float(one.keeps):.2f}")
        for one in stage.moves
    )
    return csv_text([_HEAD, *rows])


def _format_ends(ends: Ends | None) -> tuple[str, ...]:
    return (*ends[0], *ends[1]) if ends else ("",) * 4


def as_json(found: Migration) -> Rendered:
    """Return the migration as JSON."""
    return json_document(
        {
            "format": FORMAT,
            "cluster": found.cluster,
            "steps": [
                {
                    "number": stage.number,
                    "name": stage.step.name,
                    "what": stage.step.what,
                    "first": stage.step.before or None,
                    "then_wait": stage.step.after or None,
                    "spec": str(stage.spec) if stage.spec else None,
                    "review": {**encode_review(stage.review), "drain": _list_drains(stage)},
                    "waves": {
                        order.network or "compute": {
                            "refused": order.refused or None,
                            "possible": list(order.possible),
                            "order": list(map(encode_wave, order.waves)),
                        }
                        for order in stage.orders
                    },
                    "rounds": [
                        {
                            "switches": list(names),
                            "kept": min(float(m.keeps) for m in stage.moves if m.round == at),
                        }
                        for at, names in group_switches_by_round(stage.moves).items()
                    ],
                    "cables": [
                        {"round": move.round, "was": _encode_ends(move.was), "now": _encode_ends(move.now)}
                        for move in stage.moves
                    ],
                }
                for stage in found.stages
            ],
            "at_once": encode_review(found.at_once),
        }
    )


def _encode_ends(ends: Ends | None) -> list[str] | None:
    return [":".join(end) for end in ends] if ends else None
