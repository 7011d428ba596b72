"""Find changed files that control a push or a review, and run `check` on the committed tree."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.foreign import files
from fabricc.base.foreign.git import Change, Repository
from fabricc.base.foreign.git_objects import SUBMODULE, visible_path
from fabricc.base.foreign.git_process import GitError
from fabricc.base.numbers import group_pairs
from fabricc.compiler.committed_tree import check_committed
from fabricc.review.diff.model import BESIDE, TREE, ControlFile, TreeVerdict
from fabricc.review.diff.other_clusters import clusters_of_changes, list_files_of_trees
from fabricc.tree.exclusive import lock_of
from fabricc.tree.manifest import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from fabricc.base.foreign.git_objects import Entry
    from fabricc.compiler.load.revision import Comparison, SpecHistory
    from fabricc.tree.manifest import Manifest

_MANIFEST = "manifest.json"
_SHOWN = 3
_COMPARED = ("switches", "hosts", "plan")
"""Folders of a tree whose content a review compares, or that repeat it."""
_LARGEST = 1 << 20
_LOGINS = re.compile(rb"(?m)^(username|password|ssh_key|key_file)[ \t]*:")
_PLAYBOOKS = "playbooks and their settings"
_LIST = re.compile(rb"(?:(?:#[^\n]*|---[^\n]*|)\n)*- ")
_PLAY = re.compile(rb"(?m)^[- ] (hosts|import_playbook)[ \t]*:")
_ROLES = tuple(
    (role, re.compile(text, re.IGNORECASE))
    for role, text in (
        ("review policy", r"(.*/)?[^/]*polic(y|ies)[^/]*\.(ya?ml|json)"),
        ("access file", r"(.*/)?[^/]*access[^/]*\.ya?ml"),
        ("code owners", r"(.*/)?(CODEOWNERS|OWNERS|MAINTAINERS)"),
        ("MCP and assistants", r"(.*/)?[^/]*mcp[^/]*\.(json|ya?ml|toml)|(.*/)?(AGENTS|CLAUDE|GEMINI)\.md"),
        ("MCP and assistants", r"(.*/)?\.(vscode|cursor|claude|gemini|codex|windsurf|zed|continue|idea)/.+"),
        ("MCP and assistants", r"(.*/)?(claude_desktop_config\.json|\.cursorrules|\.windsurfrules)"),
        ("CI", r"(.*/)?\.(github|gitlab(-ci)?|circleci|buildkite|forgejo|gitea|woodpecker|builds|tekton|teamcity)/.+"),
        ("CI", r"(.*/)?(\.(azure-)?pipelines|\.semaphore|\.jenkins|jenkins|woodpecker)/.+"),
        ("CI", r"(.*/)?[^/]*\.gitlab-ci\.ya?ml|(.*/)?(azure|bitbucket)-pipelines[^/]*\.ya?ml|(.*/)?Jenkinsfile[^/]*"),
        ("CI", r"\.drone\.ya?ml|(.*/)?\.?ci/.+|(.*/)?action\.ya?ml|(.*/)?\.(travis|woodpecker|cirrus|build)\.ya?ml"),
        ("CI", r"(.*/)?(bitrise|buildkite|codefresh|codemagic|concourse|earthly|screwdriver|shippable|tekton)\.ya?ml"),
        ("CI", r"(.*/)?(wercker|zuul|ci|pipelines?|workflows?|mergify|probot)\.ya?ml"),
        ("CI", r"(.*/)?(\.?appveyor|cloudbuild|buildspec|atlantis|renovate|dependabot)\.(ya?ml|json5?)"),
        ("pinned packages", r"(.*/)?(requirements|constraints)[^/]*(/.+)?\.(txt|in|ya?ml)|(.*/)?[^/]+\.whl"),
        ("pinned packages", r"(.*/)?(pyproject|uv|poetry|pip|mise)\.(toml|lock|conf)|(.*/)?Pipfile(\.lock)?"),
        ("pinned packages", r"(.*/)?(package|package-lock|composer)\.json|(.*/)?(pnpm-lock|environment)\.ya?ml"),
        ("pinned packages", r"(.*/)?(conda-lock\.ya?ml|(deno|devbox|npm-shrinkwrap|bunfig)\.jsonc?)"),
        ("pinned packages", r"(.*/)?(yarn|flake|cargo|Gemfile|Podfile|pixi|pdm|mix|bun|pubspec)\.lock"),
        ("pinned packages", r"(.*/)?(go\.(mod|sum)|setup\.cfg|tox\.ini)"),
        ("allowed signers", r"(.*/)?[^/]*allowed[-_]signers[^/]*"),
        ("signature or key", r"(.*/)?[^/]+\.(sig|minisig|pub|pem|key|crt|cer|der|p12|pfx|jks|kdbx|keytab|age|gpg|asc)"),
        ("signature or key", r"(.*/)?(known_hosts|ssh_config|authorized_keys|id_(rsa|dsa|ecdsa|ed25519)[^/]*)"),
        ("secrets", r"(?!.*\.(md|rst|adoc|html?|png|svg)$)(.*/)?(secrets?|vault|passwords?)([._-][^/]*)?(/.+)?"),
        ("secrets", r"(.*/)?[^/]*(credential|creds|token|login)s?[^/]*\.(ya?ml|json|txt)"),
        ("secrets", r"(.*/)?\.?env(rc|\.[^/]+)?|(.*/)?\.netrc"),
        ("hooks", r"\.pre-commit-(config|hooks)\.ya?ml|(.*/)?\.?(git)?hooks/.+|\.husky/.+|\.?lefthook\.ya?ml"),
        ("templates", r"(.*/)?templates/.+|(.*/)?[^/]+\.j2"),
        ("drivers", r"(.*/)?custom_napalm/.+"),
        ("ledger of accepted lines", r"(.*/)?accepted\.ya?ml"),
        ("table of images", r"(.*/)?[^/]*images?[^/]*\.(csv|ya?ml|json)"),
        ("journal of pushes", r"(.*/)?[^/]+\.sqlite[^/]*"),
        (_PLAYBOOKS, r"(.*/)?ansible\.cfg|(.*/)?(playbooks?/.+|playbook[^/]*\.ya?ml)"),
        (_PLAYBOOKS, r"(.*/)?(group_vars|host_vars|roles)/.+"),
        ("inventory of another tool", r"(.*/)?(inventory|nornir)[^/]*\.(ini|cfg|toml|json|ya?ml)|(.*/)?hosts\.ini"),
        ("inventory of another tool", r"(.*/)?inventory/(hosts|groups|defaults)\.ya?ml"),
        ("settings of Git", r"(.*/)?\.git(attributes|modules|ignore|config)|(.*/)?\.git-blame-ignore-revs"),
        ("program", r"(.*/)?[^/]+\.(sh|bash|zsh|ksh|fish|ps1|bat|cmd|py|pyi|pyx|pth|so|pl|rb|js|mjs|cjs|ts|go|rs|lua)"),
        ("program", r"(.*/)?[^/]+\.(groovy|jar|exe|awk|tcl|exp|expect|php|mk|nix|bzl|tf|tfvars|hcl|service|timer)"),
        ("program", r"(.*/)?(GNU)?Makefile|(.*/)?\.?justfile|(.*/)?(Taskfile|compose|docker-compose)[^/]*\.ya?ml"),
        ("program", r"(.*/)?(Rakefile|Procfile|Tiltfile|Vagrantfile|WORKSPACE|BUILD|crontab)"),
        ("program", r"(.*/)?(Docker|Container)file[^/]*"),
        ("program", r"(.*/)?s?bin/.+"),
        ("program", r"(.*/)?(tsconfig|nx|turbo|lerna|cdk|vercel|dagger)\.json|.+\.tf\.json|(.*/)?CMakeLists\.txt"),
        ("program", r"(.*/)?(kustomization|skaffold|serverless|Chart|Pulumi|tasks|invoke|molecule|galaxy)[^/]*\.ya?ml"),
        ("hidden settings", r"(.*/)?\.(?!editorconfig$|gitkeep$|prettier|markdownlint|yamllint)[^/]+(/.+)?"),
    )
)  # fmt: skip
_DATA = re.compile(
    r"(.*/)?[^/]+\.(md|rst|adoc|txt|html?|css|pdf|docx?|odt|xlsx?|ods|pptx?|csv|tsv|png|jpe?g|gif|webp|svg|ico|drawio|vsdx"
    r"|puml|dot|gv|mmd|ya?ml|json|cfg|conf|lock|log)"
    r"|(.*/)?(\.[^/]+|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|README|CHANGELOG|CHANGES|NEWS|VERSION|NOTES|TODO)",
    re.IGNORECASE,
)
"""Names of texts, pictures, tables and data, which decide nothing if no role names them."""
_UNKNOWN_KIND = "file of an unknown kind"
_OTHER_TREE = "committed tree of another cluster"
_BUILT_ROLES = frozenset({"program", _UNKNOWN_KIND, _OTHER_TREE})
"""The roles of files that a build writes."""
_PROGRAM = b"#!"
"""How a program of any name begins."""


def control_files(
    changes: Iterable[Change],
    trees: Iterable[str],
    repository: Repository,
    commit: str,
    submodules: AbstractSet[str] = frozenset(),
    others: Mapping[str, AbstractSet[str]] | None = None,
    changed_clusters: AbstractSet[str] = frozenset(),
) -> tuple[ControlFile, ...]:
    """Return the changed files that decide what a push or a review does; those of a committed tree as one entry.

    Files that the manifest of another cluster's tree lists are one entry for each folder and role. Its configurations
    count if its spec and lock stay, since no build of a change explains them.

    Args:
        changes: files that differ between the two sides.
        trees: folders of the committed trees of the cluster.
        repository: where the files are read.
        commit: the newer one, "" for the work tree.
        submodules: paths at which a side has a commit of another repository.
        others: folder of a tree of another cluster -> the files in its manifests.
        changed_clusters: names of clusters whose spec or lock changes.
    """
    folders = {f"{tree}/": tree for tree in trees}
    locks = {str(lock_of(Path(tree))) for tree in (*folders.values(), *(others or {}))}
    found: list[ControlFile] = []
    in_trees: list[tuple[str, Change]] = []
    in_others: list[tuple[tuple[str, str], Change]] = []
    for change in changes:
        if change.path in locks:
            continue
        tree = next((name for folder, name in folders.items() if change.path.startswith(folder)), None)
        if tree is not None:
            in_trees.append((tree, change))
        elif change.path in submodules:
            found.append(ControlFile(visible_path(change.path), "submodule", change.kind))
        elif (
            role := _find_role(change.path)
            or _role_by_content(change, repository, commit)
            or role_of(change.path)
        ):
            if folder := _folder_in_tree(change.path, role, others or {}):
                in_others.append(((folder, role), change))
            else:
                found.append(ControlFile(visible_path(change.path), role, change.kind))
        elif (folder := _folder_in_tree(change.path, _OTHER_TREE, others or {})) and (
            posixpath.basename(posixpath.dirname(folder)) not in changed_clusters
        ):
            in_others.append(((folder, _OTHER_TREE), change))
    found += [_join_changes(*at, members) for at, members in group_pairs(in_others).items()]
    found += [_join_changes(tree, TREE, members) for tree, members in group_pairs(in_trees).items()]
    return tuple(found)


def _join_changes(folder: str, role: str, members: Sequence[Change]) -> ControlFile:
    """Return one entry for changed files of a folder."""
    kinds = {each.kind for each in members}
    kind = kinds.pop() if len(kinds) == 1 else "changed"
    return ControlFile(visible_path(folder), role, kind, len(members))


def _folder_in_tree(path: str, role: str, trees: Mapping[str, AbstractSet[str]]) -> str:
    """Return the folder of a tree that has a file which a build writes; "" for any other file.

    Whoever writes a tree writes its manifest too. So a file with a role that no built file has, and each file where
    the place itself decides something, such as `.github`, stay single entries.
    """
    if role not in _BUILT_ROLES:
        return ""
    for tree, listed in trees.items():
        below = path.removeprefix(f"{tree}/")
        folder = below.partition("/")[0]
        if below != path and below in listed and folder in FOLDERS and not role_of(f"{tree}/{_MANIFEST}"):
            return f"{tree}/{folder}"
    return ""


def changed_files_beside(base: Manifest, head: Manifest) -> tuple[ControlFile, ...]:
    """Return the files of two built trees that differ and belong to no device: jobs, acceptance test and exports."""
    before, after = base.files, head.files
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(before.keys() | after.keys()):
        folder = path.partition("/")[0]
        if folder in _COMPARED or before.get(path) == after.get(path):
            continue
        kind = "added" if path not in before else "removed" if path not in after else "changed"
        role = _find_role(path)
        found.setdefault((path if role else folder, role or BESIDE), []).append(kind)
    return tuple(
        ControlFile(visible_path(path), role, kinds[0] if len({*kinds}) == 1 else "changed", len(kinds))
        for (path, role), kinds in found.items()
    )


def role_of(path: str) -> str:
    """Return what a file decides, "" for one that decides nothing by itself."""
    return _find_role(path) or ("" if _DATA.fullmatch(path) else _UNKNOWN_KIND)


def _find_role(path: str) -> str:
    return next((role for role, expression in _ROLES if expression.fullmatch(path)), "")


def _role_by_content(change: Change, repository: Repository, commit: str) -> str:
    """Return the role of a script, and of YAML under another name that states logins or is a playbook."""
    if change.kind == "removed":
        return ""
    try:
        if not commit:
            text = files.read(repository.top / change.path, limit=_LARGEST)
        else:
            entry = repository.entry(commit, change.path)
            text = repository.blob(entry, _LARGEST) if entry else b""
    except (OSError, GitError):
        return ""
    if text.startswith(_PROGRAM):
        return "program"
    if not change.path.endswith((".yaml", ".yml")):
        return ""
    if _LOGINS.search(text):
        return "access file"
    return _PLAYBOOKS if _LIST.match(text) and _PLAY.search(text) else ""


def uncommitted_changes(repository: Repository, commit: str, trees: Iterable[str]) -> list[Change]:
    """Return the files that differ between a commit and the work tree, if they decide something or are in `trees`."""
    folders = tuple(f"{tree}/" for tree in trees)
    before = {entry.path: entry for entry in repository.all_entries(commit)}
    here = {path for path in repository.list_work_files() if os.path.lexists(repository.top / path)}
    found = []
    for path in sorted(before.keys() | here):
        if path not in here:
            found.append(Change(path, before[path].object, "", "removed"))
        elif path not in before:
            found.append(Change(path, "", "", "added"))
        elif _is_control_file(path, folders) and not _same_bytes(repository.top / path, before[path].object):
            found.append(Change(path, before[path].object, "", "changed"))
    return found


def _is_control_file(path: str, folders: tuple[str, ...]) -> bool:
    """Return whether to compare a file by its content; a file without an extension may be a program."""
    known = bool(role_of(path)) or path.startswith(folders) or path.endswith((".yaml", ".yml", ".lock"))
    return known or "." not in posixpath.basename(path)


def _same_bytes(path: Path, name: str) -> bool:
    """Return whether a file has the bytes of an object, except for Windows line ends."""
    try:
        content = os.fsencode(path.readlink()) if path.is_symlink() else files.read(path)
    except OSError:
        return False
    algorithm = "sha1" if len(name) == 40 else "sha256"
    return any(
        hashlib.new(algorithm, b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest() == name
        for text in (content, content.replace(b"\r\n", b"\n"))
    )


def trees_of(paths: Iterable[str], cluster: str) -> list[str]:
    """Return the folders of trees of a cluster, by their manifests."""
    folders = (posixpath.dirname(path) for path in paths if posixpath.basename(path) == _MANIFEST)
    return sorted({folder for folder in folders if posixpath.basename(folder) == cluster})


def tree_verdicts(
    repository: Repository, trees: Iterable[str], revision: str, spec: Path
) -> tuple[TreeVerdict, ...]:
    """Return what `check --committed` reports of each tree of a revision.

    Args:
        repository: the repository of the spec.
        trees: folders below its top.
        revision: the newer revision.
        spec: where the spec is in the work tree.
    """
    found = []
    for tree in trees:
        result, _ = check_committed(repository.top / tree, revision, spec)
        errors = tuple(each for each in result.diagnostics if each.severity is Severity.ERROR)
        found.append(TreeVerdict(visible_path(tree), result.exit_status == 0, errors[:_SHOWN]))
    return tuple(found)


def _files_of_other_trees(
    *sides: tuple[Repository, Iterable[Entry]], changes: Iterable[Change], cluster: str
) -> dict[str, AbstractSet[str]]:
    """Return the folder of each tree of another cluster -> the files that its manifest lists on either side."""
    changed = [change.path for change in changes]
    found: dict[str, AbstractSet[str]] = {}
    for repository, entries in sides:
        by_path = {entry.path: entry for entry in entries}
        for folder, listed in list_files_of_trees(repository, by_path, changed, cluster):
            found[folder] = found.get(folder, frozenset()) | listed
    return found


def find_control_files(
    history: SpecHistory, chosen: Comparison, commit: str, spec: Path, cluster: str, status: int | None
) -> tuple[tuple[ControlFile, ...], tuple[TreeVerdict, ...], list[Change]]:
    """Return the changed files that decide something, the verdicts on the trees of the newer commit, and all changes.

    Args:
        history: the spec's folder in its repository.
        chosen: what is compared.
        commit: the newer commit, "" for the work tree.
        spec: where the spec is in the work tree.
        cluster: its name.
        status: of `check --committed` where it ran already; None to run it if the spec's files or trees changed.
    """
    repository = history.repository
    before = repository.all_entries(chosen.base)
    old = trees_of((entry.path for entry in before), cluster)
    if chosen.head is None:
        trees = trees_of(repository.list_work_files(), cluster)
        changes = uncommitted_changes(repository, chosen.base, (*old, *trees))
        others = _files_of_other_trees((repository, before), changes=changes, cluster=cluster)
        return control_files(changes, (*old, *trees), repository, "", others=others), (), changes
    newer = chosen.head_history.repository
    after = newer.all_entries(chosen.head)
    trees = trees_of((entry.path for entry in after), cluster)
    changes = newer.changes(chosen.base, chosen.head)
    submodules = {entry.path for entry in (*before, *after) if entry.mode == SUBMODULE}
    others = _files_of_other_trees((repository, before), (newer, after), changes=changes, cluster=cluster)
    clusters = clusters_of_changes((repository, before), (newer, after), changes=changes)
    found = control_files(changes, (*old, *trees), newer, chosen.head, submodules, others, clusters)
    own = (history.prefix, *(f"{tree}/" for tree in trees))
    if status is not None:
        return found, tuple(TreeVerdict(visible_path(tree), status == 0) for tree in trees or old), changes
    if not any(change.path.startswith(own) for change in changes):
        return found, (), changes
    return found, tree_verdicts(repository, trees, commit, spec), changes
