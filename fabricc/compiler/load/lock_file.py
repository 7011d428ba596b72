"""The lock of a spec: read before planning, compared and written before the tree that depends on it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign import files
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path
from fabricc.compiler.load.spec_location import LOCK_NAME, find_recorded_spec
from fabricc.front.spec.load import load_spec
from fabricc.front.spec.lock import describe_network, parse_lock, report_other_kind, report_unnamed_network
from fabricc.tree import manifest as manifests
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fabricc.compiler.planned_spec import PlannedSpec
    from fabricc.front.spec.model import ClusterSpec

_SHOWN = 3


def read_lock(path: Path) -> tuple[str | None, list[Diagnostic]]:
    """Return the lock's text, None when there is no lock; FAB7010 when it cannot be read."""
    try:
        return files.read(path).decode(), []
    except FileNotFoundError:
        return None, []
    except OSError as error:
        why = f"cannot read {path}: {error.strerror}"
    except UnicodeDecodeError:
        why = f"{path} is not UTF-8 text"
    at = Position(str(path), 1)
    return None, [Diagnostic("FAB7010", Severity.ERROR, why, at, "Restore it from Git.")]


def lost_lock(plan: PlannedSpec, trees: Iterable[Path]) -> Diagnostic | None:
    """Return FAB9037 where there is no lock, although Git has it or a built tree of the cluster stands.

    FAB0084, a warning, where there is a repository and Git cannot read whether it has the lock.

    Args:
        plan: the planned spec.
        trees: folders that may have a tree of its cluster.
    """
    if plan.lock_before is not None or plan.loaded is None or os.path.lexists(plan.lock_path):
        return None
    tracked, unread = _is_tracked(plan.lock_path)
    if tracked:
        where = "Git has one"
    else:
        places = (folder / plan.loaded.cluster for folder in trees)
        standing = next((each for each in places if os.path.lexists(each / manifests.NAME)), None)
        if standing is None:
            return unread
        where = f"{standing} was built with one"
    message = f"there is no {plan.lock_path}, and {where}: without it, a build would renumber the fabric"
    lock = shell_path(plan.lock_path)
    remedy = f"Restore it: `git checkout HEAD -- {lock}`. To choose all numbers again, remove the built tree first."
    return Diagnostic("FAB9037", Severity.ERROR, message, Position(str(plan.path), 1), remedy)


def _is_tracked(lock: Path) -> tuple[bool, Diagnostic | None]:
    """Return whether Git has a lock, and FAB0084 if Git cannot read the repository."""
    try:
        return Repository.of(lock.parent).tracks(lock.name), None
    except GitError as error:
        if files.clone_of(lock) is None:
            return False, None
        message = f"there is no {lock}, and Git cannot read whether it had one: {error}"
        remedy = (
            "If the fabric is deployed, put the lock back before you build: a new one renumbers the fabric."
        )
        return False, Diagnostic("FAB0084", Severity.WARNING, message, None, remedy)


def lock_change(plan: PlannedSpec) -> Diagnostic:
    """Return FAB3900, the error of `--frozen` when the lock is missing or does not match the spec."""
    if plan.lock_before is None:
        message = (
            f"there is no {plan.lock_path}: nothing is deployed from this spec yet, or it was not committed"
        )
        remedy = "Run `fabricc build` without `--frozen` and commit the lock that it writes with the spec."
        return Diagnostic("FAB3900", Severity.ERROR, message, None, remedy)
    before = set(plan.lock_before.splitlines())
    after = set(plan.lock_text.splitlines())
    changes = [f"+{line}" for line in sorted(after - before)] + [
        f"-{line}" for line in sorted(before - after)
    ]
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    message = f"{plan.lock_path} would change: {', '.join(changes[:_SHOWN]) or 'its layout'}{more}"
    remedy = "Run `fabricc build` without `--frozen` and commit the lock with the spec."
    return Diagnostic("FAB3900", Severity.ERROR, message, None, remedy)


def second_lock(plan: PlannedSpec) -> Diagnostic | None:
    """Return FAB2075 if an own lock would be new while the folder's lock may hold the cluster's numbers.

    FAB2070 if it holds those of another network of the cluster: the built trees would replace each other.
    """
    shared = plan.lock_path.with_name(LOCK_NAME)
    if plan.loaded is None or plan.lock_before is not None or shared == plan.lock_path:
        return None
    text, unread = read_lock(shared)
    if text is None:
        return unread[0] if unread else None
    cluster = plan.loaded.cluster
    lock, found = parse_lock(text, str(shared), cluster, plan.loaded.network_name)
    owner = lock.cluster
    if owner and owner != cluster:
        return None
    infiniband = plan.loaded.infiniband is not None
    found = (*found, *report_other_kind(lock, str(shared), infiniband=infiniband))
    changed = report_unnamed_network(text, plan.lock_text, str(shared), cluster, plan.loaded.network_name)
    if other := next((each for each in (*found, *changed) if each.code == "FAB2070"), None):
        return other
    known = f"the numbers of cluster '{cluster}' are in {shared.name}"
    message = (
        known if owner else f"{shared.name} names no cluster, so its numbers may be those of '{cluster}'"
    )
    names = f"{shell_path(shared.name)} {shell_path(plan.lock_path.name)}"
    remedy = f"Rename it: `git mv {names}`; no number changes."
    return Diagnostic("FAB2075", Severity.ERROR, message, Position(str(shared), 1), remedy)


def other_tree(plan: PlannedSpec, out: Path) -> Diagnostic | None:
    """Return FAB2071 if the tree that a build would replace is of another network or kind of fabric.

    Only a spec that still exists is compared: beside this one, or where this user built the tree from.
    """
    if plan.loaded is None:
        return None
    tree = out / plan.loaded.cluster
    path = _built_from(tree, plan.path)
    if path is None or not path.is_file() or path.resolve() == plan.path.resolve():
        return None
    other = load_spec(path, {}).spec
    if other is None or other.cluster != plan.loaded.cluster:
        return None
    ours, theirs = _describe_fabric(plan.loaded), _describe_fabric(other)
    if ours == theirs:
        return None
    message = f"{tree} has {theirs} of cluster '{other.cluster}' ({path}), and the spec describes {ours}"
    remedy = "Give each spec its own `cluster` name, and this one its own lock (`fabricc lock --own SPEC`)."
    return Diagnostic("FAB2071", Severity.ERROR, message, Position(str(plan.path), 1), remedy)


def _built_from(tree: Path, spec: Path) -> Path | None:
    """Return where the spec of a standing tree may be: on this user's record, or next to the spec of the build."""
    if not os.path.lexists(tree / manifests.NAME):
        return None
    if (recorded := find_recorded_spec(tree)) is not None:
        return recorded
    with suppress(OSError, ValueError):
        return spec.parent / manifests.Manifest.parse(files.read(tree / manifests.NAME)).spec
    return None


def _describe_fabric(spec: ClusterSpec) -> str:
    kind = "InfiniBand" if spec.infiniband is not None else "Ethernet"
    return f"{describe_network(spec.network_name)} ({kind})"


def write_lock(plan: PlannedSpec) -> bool:
    """Write the lock when it must change, before the tree that depends on it; whether it did.

    Raises:
        EmitError: it cannot be written.
    """
    if plan.lock_text == plan.lock_before:
        return False
    return write_file(plan.lock_path, plan.lock_text.encode())
