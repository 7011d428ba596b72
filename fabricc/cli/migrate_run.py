"""Run `fabricc migrate`: plan both specs, prepare the steps, and report."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.back.nos.templating import template_path, use_template_path
from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.reader import MAX_BYTES
from fabricc.base.foreign import files
from fabricc.base.foreign.git_process import GitError
from fabricc.cli import output
from fabricc.compiler.compiled import Compiled, compile_ethernet
from fabricc.compiler.load.revision import SpecHistory, revision_finding
from fabricc.compiler.load.revision_templates import extract_templates, have_same_templates
from fabricc.compiler.load.spec_search import find_base_of_file
from fabricc.compiler.result import exit_status
from fabricc.operate.migrate.prepare import prepare_migration
from fabricc.operate.migrate.report import WORKSHEET, as_json, format_worksheet, render_migration
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction


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
        with use_template_path(templates):
            old = _compile_sound(path)
        new = _compile_sound(second or first)
        with output.progress() as bars:
            found = prepare_migration(old, new, keep, write, bars or (lambda *_: None))
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
