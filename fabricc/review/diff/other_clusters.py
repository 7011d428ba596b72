"""Report other clusters whose files a change has too: the review of one spec does not compare them."""

from __future__ import annotations

import posixpath
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.reader import MAX_BYTES
from fabricc.base.foreign.git_objects import Entry, visible_path
from fabricc.compiler.load.spec_search import cluster_of, cluster_of_lock, read_here
from fabricc.review.diff.model import OTHER_CLUSTER
from fabricc.tree.manifest import NAME, Manifest, ManifestError, is_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from fabricc.base.foreign.git import Change, Repository
    from fabricc.compiler.load.revision import Comparison, SpecHistory

_REMEDY = "Review its spec as well; in CI, list every spec."


def report_other_clusters(
    history: SpecHistory, chosen: Comparison, changes: Iterable[Change], clusters: frozenset[str]
) -> Iterator[Diagnostic]:
    """Report the other clusters whose specs, locks or built trees change, once each.

    Args:
        history: the spec's folder in its repository.
        chosen: what is compared.
        changes: files that differ between the two sides.
        clusters: the name of the cluster on both sides.

    Raises:
        GitError: an object is not here.
    """
    changed = [change.path for change in changes]
    before = {entry.path: entry for entry in history.repository.all_entries(chosen.base)}
    touched = dict(
        _clusters_of_files(history.repository, (before[path] for path in changed if path in before))
    )
    trees = _other_trees(history.repository, before, changed, clusters)
    if chosen.head is None:
        read = read_here(history.top)
        texts = ((path, read(path) or b"") for path in changed if _may_name_cluster(path))
        after = {path: found for path, text in texts if (found := _cluster_of_file(path, text))}
    else:
        newer = chosen.head_history.repository
        entries = {entry.path: entry for entry in newer.all_entries(chosen.head)}
        after = dict(_clusters_of_files(newer, (entries[path] for path in changed if path in entries)))
        trees |= _other_trees(newer, entries, changed, clusters)
    files: dict[str, set[str]] = {}
    for path, cluster in (*touched.items(), *after.items(), *trees.items()):
        if cluster not in clusters:
            files.setdefault(cluster, set()).add(path)
    for cluster, paths in sorted(files.items()):
        first, *more = sorted(paths)
        rest = f" and {len(more)} more" if more else ""
        message = f"cluster '{cluster}' changes too, and is not compared here: {visible_path(first)}{rest}"
        yield Diagnostic(OTHER_CLUSTER, Severity.WARNING, message, None, _REMEDY)


def _may_name_cluster(path: str) -> bool:
    return path.endswith((".yaml", ".yml", ".lock"))


def _cluster_of_file(path: str, text: bytes) -> str | None:
    """Return the cluster of a spec or lock; None of any other file."""
    return cluster_of_lock(text) if path.endswith(".lock") else cluster_of(text)


def _clusters_of_files(repository: Repository, entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the paths of specs and locks with their clusters."""
    wanted = [
        each
        for each in entries
        if each.plain and _may_name_cluster(each.path) and (each.size or 0) <= MAX_BYTES
    ]
    for entry, text in repository.blobs(wanted):
        if (cluster := _cluster_of_file(entry.path, text)) is not None:
            yield entry.path, cluster


def clusters_of_changes(
    *sides: tuple[Repository, Iterable[Entry]], changes: Iterable[Change]
) -> frozenset[str]:
    """Return the names of the clusters whose spec or lock changes.

    Raises:
        GitError: an object is not here.
    """
    changed = {change.path for change in changes}
    return frozenset(
        cluster
        for repository, entries in sides
        for _, cluster in _clusters_of_files(repository, (each for each in entries if each.path in changed))
    )


def _other_trees(
    repository: Repository, entries: Mapping[str, Entry], changed: Iterable[str], clusters: frozenset[str]
) -> dict[str, str]:
    """Return the folder of each built tree with a changed file -> its cluster."""
    return {
        folder: posixpath.basename(folder)
        for folder, content in _other_manifests(repository, entries, changed, clusters)
        if is_manifest(content)
    }


def list_files_of_trees(
    repository: Repository, entries: Mapping[str, Entry], changed: Iterable[str], cluster: str
) -> Iterator[tuple[str, AbstractSet[str]]]:
    """Yield the folder of each tree of another cluster that has a changed file, and the files in its manifest.

    Args:
        repository: the repository of the files.
        entries: the files of a commit, by their paths.
        changed: paths of files that differ between the two sides.
        cluster: the one that is reviewed.

    Raises:
        GitError: an object is not here.
    """
    for folder, content in _other_manifests(repository, entries, changed, frozenset((cluster,))):
        with suppress(ManifestError):
            manifest = Manifest.parse(content)
            if manifest.cluster == posixpath.basename(folder):
                yield folder, manifest.files.keys()


def _other_manifests(
    repository: Repository, entries: Mapping[str, Entry], changed: Iterable[str], clusters: frozenset[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the folder and the content of each manifest beside or above a changed file."""
    manifests = {
        posixpath.dirname(path): entry
        for path, entry in entries.items()
        if posixpath.basename(path) == NAME and entry.plain and (entry.size or 0) <= MAX_BYTES
    }
    touched = {folder for path in changed for folder in _parents(path) if folder in manifests}
    wanted = [manifests[folder] for folder in sorted(touched) if posixpath.basename(folder) not in clusters]
    for entry, content in repository.blobs(wanted):
        yield posixpath.dirname(entry.path), content


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path
