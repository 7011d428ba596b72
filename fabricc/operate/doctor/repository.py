"""Checks of a spec and the Git repository around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_history import is_shallow
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path
from fabricc.operate.devices.access import NAME
from fabricc.operate.doctor.model import Check, State

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled


def check_spec(compiled: Compiled) -> Iterator[Check]:
    """Yield whether the spec compiles, and whether it has a lock."""
    name = str(compiled.path)
    word = shell_path(name)
    errors = sum(each.severity is Severity.ERROR for each in compiled.diagnostics)
    warnings = sum(each.severity is Severity.WARNING for each in compiled.diagnostics)
    counts = f"{plural(errors, 'error')}, {plural(warnings, 'warning')}"
    state = State.ERROR if errors else State.WARNING if warnings else State.OK
    yield Check(name, state, counts, f"`fabricc validate {word}` lists them.")
    pinned = compiled.lock_before is not None
    message = "pins addresses and names" if pinned else "missing: nothing is pinned, so growth may renumber"
    remedy = (
        f"`fabricc lock --check {word}` compares it."
        if pinned
        else f"Run `fabricc build {word}` and commit it."
    )
    yield Check(compiled.lock_path.name, State.OK if pinned else State.WARNING, message, remedy)


def check_repository(spec: Path) -> Iterator[Check]:
    """Yield the state of the repository that has the spec."""
    try:
        repository = Repository.of(spec.resolve().parent)
        head = repository.commit("HEAD")
    except GitError as error:
        remedy = error.help or "Run `git init`, and commit the spec, the lock and the tree."
        yield Check("repository", State.WARNING, f"{error}: changes cannot be reviewed", remedy)
        return
    yield Check("repository", State.OK, f"at commit {head[:12]}", "`git log` shows its history.")
    try:
        for name, why in (
            (spec.name, "diff has nothing to compare with"),
            ("fabricc.lock", "other clones renumber"),
        ):
            tracked = repository.tracks(name)
            message = "tracked by Git" if tracked else f"not tracked by Git: {why}"
            yield Check(
                name,
                State.OK if tracked else State.WARNING,
                message,
                f"`git add {shell_path(name)}` adds it.",
            )
        committed = repository.tracks(NAME)
        message = (
            "committed: everyone with the repository can read how to log in" if committed else "not committed"
        )
        remedy = (
            f"`git rm --cached {NAME}`, and add it to .gitignore." if committed else "Keep it in .gitignore."
        )
        yield Check(NAME, State.ERROR if committed else State.OK, message, remedy)
        shallow = is_shallow(repository)
        message = "shallow: diff may miss the common ancestor" if shallow else "has the whole history"
        yield Check(
            "clone", State.WARNING if shallow else State.OK, message, "`git fetch --unshallow` completes it."
        )
    except GitError as error:
        yield Check("repository", State.WARNING, str(error), error.help or "Repair it: `git fsck`.")
