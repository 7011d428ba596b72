"""The proof of what is pushed: each file of a switch against the text that its spec and its lock give now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.compiler.render.switch_files import render_switch
from fabricc.operate.push.built_tree import SWITCHES, RefusedError
from fabricc.tree import EmitError
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.operate.push.built_tree import BuiltTree

_SHOWN = 5
_LONGEST = 80


def prove_files(source: BuiltTree, names: Iterable[str]) -> None:
    """Render switches anew and compare every byte: a manifest can be forged together with the files that it states.

    Raises:
        RefusedError: FAB9150 for the files that differ, with the first line of each; FAB7012, a template is at fault.
    """
    wrong: list[Diagnostic] = []
    for name in names:
        try:
            wanted = render_switch(source.switch(name))
        except EmitError as error:
            raise RefusedError.of([error.diagnostic]) from None
        if (held := source.files(name)) != wanted:
            wrong += _compare_files(source, name, held, wanted)
    if not wrong:
        return
    if len(wrong) > _SHOWN:
        more = f"and {len(wrong) - _SHOWN} more files"
        wrong = [*wrong[:_SHOWN], Diagnostic("FAB9150", Severity.ERROR, more)]
    raise RefusedError.of(wrong)


def _compare_files(
    source: BuiltTree, name: str, held: dict[str, str], wanted: dict[str, str]
) -> Iterator[Diagnostic]:
    """Yield a finding for each file of a switch that is not as rendered, at its first line."""
    by = source.held.manifest.version
    remedy = "Build again, review the difference, and push the new tree."
    if by != __version__:
        remedy = (
            f"Build again with this version ({__version__}; the tree is of {by}), or name the digest of the tree that "
            "was proved: --tree-digest."
        )
    for file in sorted(held.keys() | wanted.keys()):
        text, plan = held.get(file), wanted.get(file)
        if text == plan:
            continue
        path = f"{SWITCHES}{name}/{file}"
        line = 1
        if text is None:
            message = f"{path} is in the plan and not in the tree"
        elif plan is None:
            message = f"{path} is in the tree and not in the plan"
        else:
            line, says, planned = _find_first_difference(text, plan)
            message = f"{path} has {says}, and the plan has {planned}"
        yield Diagnostic("FAB9150", Severity.ERROR, message, Position(str(source.tree / path), line), remedy)


def _find_first_difference(text: str, plan: str) -> tuple[int, str, str]:
    """Return the number of the first line that differs, from 1, and that line in each text."""
    lines, planned = text.splitlines(keepends=True), plan.splitlines(keepends=True)
    shared = min(len(lines), len(planned))
    at = next((at for at in range(shared) if lines[at] != planned[at]), shared)
    return at + 1, _quote_line(lines, at), _quote_line(planned, at)


def _quote_line(lines: list[str], at: int) -> str:
    if at >= len(lines):
        return "nothing"
    return repr(lines[at].strip()[:_LONGEST])
