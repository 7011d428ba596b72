"""Prepare a migration: prove and review every step, and plan the cable moves."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError
from fabricc.base.values import dataclass
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.operate.change.variant import edit_spec, prove_spec, review_variant, write_spec
from fabricc.operate.migrate.cables import Move, find_exchanged_switches, plan_moves
from fabricc.operate.migrate.steps import WANTED, Step, find_steps
from fabricc.operate.migrate.waves import Order, order_networks
from fabricc.operate.push.origin import compute_state
from fabricc.operate.push.sequence import FILE, Place
from fabricc.operate.push.sequence import format_place as written_place
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
    from fabricc.review.diff.model import Review

    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """One prepared step.

    Attributes:
        number: from 1.
        review: what goes from the stage before to this one.
        spec: where it is written; None when it is not.
        moves: cables to move, in order.
        orders: the waves in which a push takes it, of networks where traffic would notice a switch; none where cables
            move between boxes that stay, for their rounds are its order.
    """

    number: int
    step: Step
    review: Review
    spec: Path | None
    moves: tuple[Move, ...]
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """A prepared migration; `at_once` is the review of the change in a single step."""

    cluster: str
    stages: tuple[Stage, ...]
    at_once: Review


def prepare_migration(
    old: Compiled, new: Compiled, keep: Fraction, write: Path | None, progress: Progress
) -> Migration:
    """Find the steps, compile and review each; with `write`, also prove each and write it to its own folder.

    Both are sound and have the same lock; `keep` is the share of its paths that every rail, plane and switch keeps.

    Raises:
        FindingsError: FAB9450, a step does not compile or hold its proof.
        EmitError: a file cannot be written.
    """
    text, file = old.sources[str(old.path)], str(old.path)
    way = [*find_steps(old, new, keep), Step(WANTED, "the spec that is wanted", {})]
    stages: list[Stage] = []
    with TemporaryDirectory(prefix="fabricc-migrate-") as scratch:
        top = write or Path(scratch)
        before, label = old, "as it is"
        for number, step in enumerate(way, 1):
            progress("steps", number - 1, len(way))
            folder = top / f"{number}-{step.name}"
            last = step.name == WANTED
            like, now = (
                (new, new.sources[str(new.path)]) if last else (old, edit_spec(text, file, step.changes))
            )
            try:
                after = write_spec(like, now, folder, step.files)
                if write is not None:
                    prove_spec(after)
            except FindingsError as error:
                raise _wrap_step_error(step, error) from error
            told = review_variant(before, after, (label, step.name))
            if write is not None:
                _write_place(after, step, before, way[number - 2] if number > 1 else None)
            spec, moved = after.path if write else None, plan_moves(before.fabric, after.fabric, keep)
            recabled = moved and not find_exchanged_switches(before.fabric, after.fabric)
            waves = () if recabled else order_networks(told, after, keep)
            stages.append(Stage(number, step, told, spec, moved, waves))
            before, label = after, step.name
        progress("steps", len(way), len(way))
        at_once = review_variant(old, new, ("as it is", WANTED))
    return Migration(old.fabric.cluster, tuple(stages), at_once)


def _write_place(after: Compiled, step: Step, before: Compiled, last: Step | None) -> None:
    """Write a file next to the spec that names the previous step, so that a push can check the order."""
    if last is not None:
        states = [compute_state(manifest_inputs(each)) for each in (after, before)]
        place = Place(step.name, states[0], last.name, states[1])
        write_file(after.path.with_name(FILE), written_place(place).encode())


def _wrap_step_error(step: Step, error: FindingsError) -> FindingsError:
    """Put an error that names the failed step before the errors of its spec."""
    remedy = "Make room for it, or make the change in one window: `fabricc diff` shows what it affects."
    own = FindingsError(
        "FAB9450", f"the step {step.name} cannot be taken: {step.what}", f"Its errors follow. {remedy}"
    )
    return FindingsError.of([own.diagnostic, *error.diagnostics], error.sources)
