"""Find the spec of a cluster in a revision, also where it was moved or renamed since."""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.reader import MAX_BYTES, parse_yaml
from fabricc.base.foreign import files, git_index
from fabricc.base.foreign.git_objects import SUBMODULE, Entry, visible_path
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import dataclass
from fabricc.compiler.load.revision import BaseError, SpecHistory
from fabricc.tree import manifest as manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping


_SUFFIXES = (".yaml", ".yml")
_LARGEST = 256 << 20
_MOST_FILES = 1_000_000
_ALIKE = 0.5
"""Share of equal lines from which on Git takes a file for another one renamed (`git diff -M`)."""
_CLUSTER = re.compile(rb"""(?m)^[ \t]*["']?cluster["']?[ \t]*:[ \t]*["']?([a-z0-9][a-z0-9-]{0,31})""")
_KEYS = frozenset(("gpus", "tors", "infiniband"))
"""Keys of which a spec has one; other YAML files may have a key `cluster`, too."""
_LOCK = re.compile(rb"(?m)^cluster ([a-z0-9][a-z0-9-]{0,31})\s*$")


@dataclass(frozen=True, slots=True)
class FoundSpec:
    """The spec of a cluster in a revision.

    Attributes:
        history: the history of its folder; `name`: its name in that folder.
        findings: a warning if it is not at the requested path.
    """

    history: SpecHistory
    name: str
    findings: tuple[Diagnostic, ...] = ()


def find_base_spec(
    history: SpecHistory,
    commit: str,
    name: str,
    text: bytes,
    newer_file: Callable[[str], bytes | None],
    newer_places: Callable[[], Iterable[str]] = tuple,
) -> FoundSpec | None:
    """Find the spec in the base that a spec of today was.

    The spec of the same cluster counts before the one at the same path, and a spec that is gone and has mostly the
    same lines is taken for the former one under another name.

    Args:
        history: the history of the folder of the spec of today.
        commit: the base.
        name: the name of the spec in its folder.
        text: the spec of today.
        newer_file: returns the bytes of a file of the newer side by its path, None where it has no such file.
        newer_places: returns paths of the newer side that may be specs: those that the base lacks count as well.

    Returns:
        None for a cluster that is new.

    Raises:
        GitError: an object of the base is not here.
        BaseError: FAB9035, the base had this cluster, or a spec that is gone, and which one it was is not clear.
    """
    _reject_other_repository(history, commit)
    path, cluster = f"{history.prefix}{name}", cluster_of(text)
    before = history.file(commit, name)
    if before is not None and cluster_of(before) in (cluster, None):
        return FoundSpec(history, name)
    specs, entries = specs_of(history, commit, name)
    same = [each for each, (of, _) in specs.items() if of == cluster and each != path]
    gone = [each for each in same if cluster_of(newer_file(each) or b"") != cluster]
    if len(chosen := gone if before is not None or len(same) > 1 else same) == 1:
        return _find_renamed(history, chosen[0], path)
    if same:
        raise _unclear_base(f"the base has several specs of cluster '{cluster}'", same, path)
    vanished = _vanished_specs(specs, newer_file)
    if before is not None:
        places = [*specs, *newer_places()]
        return _find_renamed_cluster(history, name, specs, vanished, newer_file, places)
    if (alike := _most_alike(text, vanished)) is not None:
        return _find_renamed(history, alike, path)
    if vanished:
        raise _unclear_base(f"the base has no {visible_path(path)}, and a spec of it is gone", vanished, path)
    if left := _cluster_traces(history, cluster, entries):
        raise _unclear_base(f"the base has no spec of cluster '{cluster}', but files of it", left, path)
    return None


def find_base_of_file(history: SpecHistory, commit: str, spec: Path, text: bytes) -> FoundSpec | None:
    """Find the spec in the base that a file of the work tree was, as `find_base_spec` does.

    Raises:
        GitError: also FAB9049, or FAB9020 below a repository of dotfiles: the base does not have the file, and the
            repository tracks nothing in its folder. An archive may have been unpacked there, and the revisions,
            policies and approvals of that repository do not concern it, even if it has a cluster of the same name.
    """
    newer = read_here(history.top)
    found = find_base_spec(history, commit, spec.name, text, newer, partial(_list_here, history.top))
    if found is not None:
        former = f"{found.history.prefix}{found.name}"
        if former == f"{history.prefix}{spec.name}" or cluster_of(newer(former) or b"") != cluster_of(text):
            return found  # it is at its place, or was moved
    folder = spec.parent.resolve()
    if folder == history.top or git_index.owns_path(history.top, folder):
        return found
    problem = f"{folder} is in the repository of {history.top}, which tracks nothing in it"
    add = f"git -C {shell_path(history.top)} add {shell_path(spec.resolve())}"
    remedy = f"Compare two specs: `fabricc diff OLD NEW`. If it belongs to that repository: `{add}`."
    raise GitError(problem, remedy, "FAB9020" if git_index.is_above_home(history.top) else "FAB9049")


def _vanished_specs(
    specs: Mapping[str, tuple[str, bytes]], newer_file: Callable[[str], bytes | None]
) -> dict[str, bytes]:
    """Return the specs of the base that the newer side lacks: gone, or replaced by one from another path."""
    texts = {path: newer_file(path) for path in specs}
    present = {path: cluster_of(text) for path, text in texts.items() if text is not None}
    known = {of for of, _ in specs.values()}
    return {
        path: content
        for path, (of, content) in specs.items()
        if of not in present.values() and (path not in present or present[path] in known)
    }


def _find_renamed_cluster(
    history: SpecHistory,
    name: str,
    specs: Mapping[str, tuple[str, bytes]],
    vanished: Mapping[str, bytes],
    newer_file: Callable[[str], bytes | None],
    places: Iterable[str],
) -> FoundSpec:
    """Find the spec that a cluster with another name was: the one at its path, unless that one is elsewhere now.

    Raises:
        BaseError: FAB9035, it is elsewhere, and no other spec, or more than one, is gone.
    """
    path = f"{history.prefix}{name}"
    former = specs[path][0] if path in specs else None
    if former not in {cluster_of(newer_file(each) or b"") for each in places if each != path}:
        return FoundSpec(history, name)
    if len(vanished) == 1:
        return _find_renamed(history, next(iter(vanished)), path)
    problem = f"the base has cluster '{former}' at {visible_path(path)}, which is at another path now"
    raise _unclear_base(problem, vanished or specs, path)


def places_of_cluster(history: SpecHistory, commit: str, name: str, text: bytes) -> list[FoundSpec]:
    """Return every place where a commit has a spec of the same cluster.

    Raises:
        GitError: as `specs_of`.
    """
    cluster = cluster_of(text)
    specs, _ = specs_of(history, commit, name)
    paths = [path for path, (of, _) in specs.items() if of == cluster]
    return [FoundSpec(history.in_folder_of(path), posixpath.basename(path)) for path in paths]


def gone_spec(history: SpecHistory, base: str, name: str, revision: str) -> BaseError | None:
    """Return FAB9036 for a spec that a revision lacks and its base has; None where the base lacks it, too.

    Raises:
        GitError: an object is not here.
    """
    before = history.file(base, name)
    if before is None:
        return None
    path, cluster = f"{history.prefix}{name}", cluster_of(before)
    message = f"{visible_path(path)} is in the base and not in {revision}: it was moved or deleted"
    commit = history.commit("HEAD") if revision == "the work tree" else history.commit(revision)
    specs, _ = specs_of(history, commit, name)
    moved = [each for each, (of, _) in specs.items() if of == cluster and each != path]
    if moved:
        return BaseError(
            "FAB9036", message, f"Name the spec of cluster '{cluster}' there: {visible_path(moved[0])}."
        )
    remedy = f"Every device of cluster '{cluster}' would leave. To retire it, remove the spec from CI's list before."
    return BaseError("FAB9036", message, remedy)


def cluster_of(text: bytes) -> str | None:
    """Return the cluster of a spec, also of one with errors; None of any other file."""
    if b"cluster" not in text:
        return None
    document = parse_yaml(text, "spec")
    if not document.usable:
        found = _CLUSTER.search(text)
        return found[1].decode() if found and any(key.encode() in text for key in _KEYS) else None
    if not isinstance(document.value, dict) or _KEYS.isdisjoint(document.value):
        return None
    cluster = document.value.get("cluster")
    return cluster if isinstance(cluster, str) else None


def cluster_of_lock(text: bytes) -> str | None:
    """Return the cluster of a lock; None of any other file."""
    found = _LOCK.search(text)
    return found[1].decode() if found else None


def specs_of(
    history: SpecHistory, commit: str, name: str
) -> tuple[dict[str, tuple[str, bytes]], list[Entry]]:
    """Return path -> (cluster, text) of every spec outside of built trees, and everything that the commit has.

    Raises:
        GitError: an object is not here, or the YAML files have more than 256 MiB together.
    """
    entries = history.repository.all_entries(commit)
    stated = [
        each
        for each in entries
        if each.plain
        and posixpath.basename(each.path) == manifests.NAME
        and (each.size or 0) <= manifests.LIMIT
    ]
    trees = {
        posixpath.dirname(each.path)
        for each, text in history.repository.blobs(stated)
        if manifests.is_manifest(text)
    }
    suffixes = (*_SUFFIXES, posixpath.splitext(name)[1] or name)
    wanted = [
        each
        for each in entries
        if each.plain and each.path.endswith(suffixes) and (each.size or 0) <= MAX_BYTES
        if not _is_in_tree(each.path, trees)
    ]
    if sum(each.size or 0 for each in wanted) > _LARGEST:
        message = (
            "the YAML files of the base have more than 256 MiB, so fabricc does not look for the spec in them"
        )
        raise GitError(message, "Compare two specs: `fabricc diff OLD NEW`.")
    found = {}
    for entry, content in history.repository.blobs(wanted):
        if (cluster := cluster_of(content)) is not None:
            found[entry.path] = cluster, content
    return found, entries


def _is_in_tree(path: str, trees: Container[str]) -> bool:
    """Return whether a path is in one of a tree's own folders; a spec next to a manifest is in none of them."""
    names = path.split("/")
    return any(
        name in manifests.FOLDERS and "/".join(names[:at]) in trees for at, name in enumerate(names[:-1])
    )


def _parent_folders(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _reject_other_repository(history: SpecHistory, commit: str) -> None:
    """Raise FAB9035 where the base has a submodule in the place of a folder of the spec."""
    for folder in _parent_folders(history.prefix):
        entry = history.repository.entry(commit, folder)
        if entry is not None and entry.mode == SUBMODULE:
            message = f"in the base, {visible_path(folder)} is a submodule, whose files this repository does not have"
            raise BaseError("FAB9035", message, "Compare two specs: `fabricc diff OLD NEW`.")


def _find_renamed(history: SpecHistory, former: str, path: str) -> FoundSpec:
    message = (
        f"the spec {visible_path(path)} is at {visible_path(former)} in the base: compared with that one"
    )
    warning = Diagnostic("FAB9034", Severity.WARNING, message)
    return FoundSpec(history.in_folder_of(former), posixpath.basename(former), (warning,))


def _most_alike(text: bytes, others: Mapping[str, bytes]) -> str | None:
    """Return the file with the most lines in common, None where less than half of the lines are."""
    lines = text.split(b"\n")
    shares = {
        path: SequenceMatcher(None, content.split(b"\n"), lines).ratio() for path, content in others.items()
    }
    best = max(shares, key=lambda path: (shares[path], path), default=None)
    return best if best is not None and shares[best] >= _ALIKE else None


def _cluster_traces(history: SpecHistory, cluster: str | None, entries: Iterable[Entry]) -> list[str]:
    """Return the locks and built trees of a cluster."""
    if cluster is None:
        return []
    trees = [each.path for each in entries if each.path.endswith(f"/{cluster}/manifest.json")]
    locks = [
        each
        for each in entries
        if each.plain and each.path.endswith(".lock") and (each.size or 0) <= MAX_BYTES
    ]
    own = [
        entry.path
        for entry, content in history.repository.blobs(locks)
        if cluster_of_lock(content) == cluster
    ]
    return own + trees


def _unclear_base(problem: str, paths: Iterable[str], path: str) -> BaseError:
    first, *more = sorted(paths)
    rest = f" and {len(more)} more" if more else ""
    remedy = (
        f"Compare on purpose: `git worktree add ../base REVISION`, then `fabricc diff "
        f"../base/OLD {shell_path(path)}`."
    )
    return BaseError("FAB9035", f"{problem}: {visible_path(first)}{rest}", remedy)


def read_here(top: Path) -> Callable[[str], bytes | None]:
    """Return a function that reads a file of the work tree; one that cannot be read is there, and empty."""

    def read(path: str) -> bytes | None:
        if not os.path.lexists(top / path):
            return None
        with suppress(OSError):
            return files.read(top / path, limit=MAX_BYTES)
        return b""

    return read


def _list_here(top: Path) -> Iterator[str]:
    """Yield the paths of the YAML files of the work tree, without those of built trees.

    Raises:
        GitError: it has more files than any repository of specs.
    """
    left = _MOST_FILES
    for folder, below, names in os.walk(top):
        built = manifests.FOLDERS if manifests.NAME in names else ()
        below[:] = sorted(name for name in below if name != ".git" and name not in built)
        left -= len(names)
        if left < 0:
            message = f"the work tree has more than {_MOST_FILES:,} files; fabricc does not look for the spec in them"
            raise GitError(message, "Compare two specs: `fabricc diff OLD NEW`.")
        place = Path(folder).relative_to(top)
        yield from ((place / name).as_posix() for name in names if name.endswith(_SUFFIXES))


def read_in(history: SpecHistory, tree: str) -> Callable[[str], bytes | None]:
    """Return a function that reads a file of a commit or tree."""

    def read(path: str) -> bytes | None:
        entry = history.repository.entry(tree, path)
        if entry is None:
            return None
        return history.repository.blob(entry) if entry.plain else b""

    return read
