"""The tree that a Git revision has, compared whole with a fresh build of the spec that the same revision has."""

from __future__ import annotations

import hashlib
import os
import posixpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.back.nos.templating import template_path, use_template_path
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.reader import MAX_BYTES, parse_yaml
from fabricc.base.foreign.git_objects import Entry, describe_entry, visible_path
from fabricc.base.foreign.git_process import GitError
from fabricc.base.foreign.signers import Kind
from fabricc.base.values import dataclass, replace
from fabricc.compiler.driver import build_tree
from fabricc.compiler.load.revision import SpecHistory, revision_finding
from fabricc.compiler.load.revision_templates import extract_templates
from fabricc.compiler.result import BuildResult
from fabricc.tree.manifest import NAME as MANIFEST
from fabricc.tree.manifest import Manifest, ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.base.foreign.git import Repository


_SHOWN = 10
_SPECS = 100
_REMEDIES = {
    "FAB6030": "Run `fabricc build` and commit the tree with the spec and the lock.",
    "FAB6031": "Commit the whole tree; `git status --ignored` shows ignored files.",
    "FAB6032": "Remove it from the revision, and put settings of devices into the spec.",
    "FAB6033": "Remove it from the revision and commit the file of the build.",
}


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the fresh build; `digest` is SHA-256 in hex."""

    executable: bool
    size: int
    digest: str


def check_committed(
    folder: Path,
    revision: str,
    spec: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[BuildResult, dict[str, str]]:
    """Compare what a revision has at `folder` with a fresh build; the work tree is neither read nor written.

    Args:
        folder: the tree, `build/<cluster>`, or the folder of trees, in which nothing but its signature may be then.
        revision: the Git revision that has the spec, its lock and the tree.
        spec: where the spec is in the work tree, if it is there.
        jobs: worker processes; None for one per usable CPU.
        progress: called as `build` does.

    Returns:
        What was found, and the text of the files that diagnostics point into, by name.
    """
    with TemporaryDirectory(prefix="fabricc-committed-") as scratch:
        inputs, out, templates = (Path(scratch) / name for name in ("inputs", "build", "templates"))
        inputs.mkdir()
        try:
            history = SpecHistory.of(spec)
            commit = history.commit(revision)
            path = _path_below(history.top, folder)
            if (own := history.extract(commit, spec, inputs)) is None:
                raise GitError(f"{revision} has no {visible_path(history.prefix + spec.name)}")
            with use_template_path(extract_templates(history.repository, commit, template_path(), templates)):
                built, texts = build_tree(own, out, jobs=jobs, frozen=True, progress=progress)
            own_folders = {templates / str(number): folder for number, folder in enumerate(template_path())}
            tree = folder if folder.name == built.cluster else folder / built.cluster
            rejected = {out / f".{built.cluster}.rejected": tree}
            result, sources = _with_own_folders(
                built, texts, {inputs: spec.parent, **own_folders, **rejected}
            )
            if built.tree is None:
                return replace(result, tree=None), sources
            found = _compare_commit(history.repository, commit, path, _tree_files(built.tree), built.cluster)
        except GitError as error:
            return BuildResult(diagnostics=(revision_finding(error),)), {}
        return replace(result, tree=folder, diagnostics=(*result.diagnostics, *found)), sources


def _compare_commit(
    repository: Repository, commit: str, path: str, fresh: Mapping[str, _File], cluster: str
) -> list[Diagnostic]:
    """Report the differences below `path`, by code."""
    entries = repository.entries(commit, path)
    if not entries:
        message = f"{commit[:12]} has nothing at {visible_path(path)}"
        remedy = "Name the folder that the build writes to, and commit it."
        return [Diagnostic("FAB6034", Severity.ERROR, message, None, remedy)]
    tree = path if path.rpartition("/")[2] == cluster else f"{path}/{cluster}"
    others = () if tree == path else _other_trees(repository, commit, path, cluster, entries)
    wrong: dict[str, list[str]] = {code: [] for code in _REMEDIES}
    same_size = []
    signatures = {f"{tree}.{kind}" for kind in Kind}
    for entry in entries:
        if (entry.plain and entry.path in signatures) or entry.path.startswith(others):
            continue
        file = fresh.get(entry.path.removeprefix(f"{tree}/")) if entry.path.startswith(f"{tree}/") else None
        if not entry.plain:
            wrong["FAB6033"].append(f"{visible_path(entry.path)} is {describe_entry(entry)}")
        elif file is None:
            wrong["FAB6032"].append(f"{visible_path(entry.path)} is not of the build")
        elif file.executable != (entry.mode == "100755"):
            wrong["FAB6033"].append(f"{visible_path(entry.path)} is {describe_entry(entry)}")
        elif entry.size == file.size:
            same_size.append(entry)
        else:
            wrong["FAB6030"].append(_describe_other(entry))
    for entry, digest in repository.digests(same_size):
        if digest != fresh[entry.path.removeprefix(f"{tree}/")].digest:
            wrong["FAB6030"].append(_describe_other(entry))
    missing = sorted(fresh.keys() - {entry.path.removeprefix(f"{tree}/") for entry in entries})
    wrong["FAB6031"] = [f"{tree}/{name} is not committed" for name in missing]
    return [each for code, messages in wrong.items() for each in _limit_findings(code, messages)]


def _other_trees(
    repository: Repository, commit: str, folder: str, cluster: str, entries: Sequence[Entry]
) -> tuple[str, ...]:
    """Return where the trees and signatures of other clusters begin, whose specs the commit has.

    A tree whose manifest names no cluster of such a spec belongs to nobody, so that its files are not of the build.
    """
    depth = folder.count("/") + 1
    manifests = [
        entry
        for entry in entries
        if entry.plain and entry.path.count("/") == depth + 1 and entry.path.endswith(f"/{MANIFEST}")
    ]
    found: list[str] = []
    for manifest in manifests:
        name = manifest.path.split("/")[depth]
        if name != cluster and _has_spec(repository, commit, name, repository.blob(manifest)):
            found += [f"{folder}/{name}/", *(f"{folder}/{name}.{signature}" for signature in Kind)]
    return tuple(found)


def _has_spec(repository: Repository, commit: str, cluster: str, content: bytes) -> bool:
    """Return whether a commit has a spec of the cluster under the file name in the manifest."""
    try:
        manifest = Manifest.parse(content)
    except ManifestError:
        return False
    if manifest.cluster != cluster:
        return False
    specs = [
        entry
        for entry in repository.all_entries(commit)
        if entry.plain and posixpath.basename(entry.path) == manifest.spec and (entry.size or 0) <= MAX_BYTES
    ]
    documents = (parse_yaml(repository.blob(entry), entry.path) for entry in specs[:_SPECS])
    return any(each.usable and each.value.get("cluster") == cluster for each in documents)


def _describe_other(entry: Entry) -> str:
    return f"{visible_path(entry.path)} differs from a fresh build"


def _limit_findings(code: str, messages: list[str]) -> Iterator[Diagnostic]:
    """Yield the first findings of a code and the number of the others."""
    for message in messages[:_SHOWN]:
        yield Diagnostic(code, Severity.ERROR, message, None, _REMEDIES[code])
    if (more := len(messages) - _SHOWN) > 0:
        yield Diagnostic(code, Severity.ERROR, f"and {plural(more, 'file')} more like these")


def _tree_files(tree: Path) -> dict[str, _File]:
    """Return the files of a tree that this process built."""
    found = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            status = path.stat()
            found[path.relative_to(tree).as_posix()] = _File(
                bool(status.st_mode & 0o100), status.st_size, digest
            )
    return found


def _path_below(top: Path, folder: Path) -> str:
    """Return the folder's path below the top of the repository by name; links in the work tree are not followed."""
    for path in (Path(os.path.normpath(Path.cwd() / folder)), folder.parent.resolve() / folder.name):
        if path != top and path.is_relative_to(top):
            return path.relative_to(top).as_posix()
    raise GitError(f"{folder} is not in the repository of the spec")


def _with_own_folders(
    result: BuildResult, sources: Mapping[str, str], folders: Mapping[Path, Path]
) -> tuple[BuildResult, dict[str, str]]:
    """Return the result with the folders of the spec and of the templates in place of the scratch folders."""
    names = {f"{scratch}/": "" if own == Path() else f"{own}/" for scratch, own in folders.items()}

    def rename_text(text: str) -> str:
        for scratch, own in names.items():
            text = text.replace(scratch, own)
        return text

    found = tuple(
        replace(
            each,
            message=rename_text(each.message),
            help=rename_text(each.help),
            position=replace(each.position, file=rename_text(each.position.file)) if each.position else None,
        )
        for each in result.diagnostics
    )
    return replace(result, diagnostics=found), {rename_text(file): text for file, text in sources.items()}
