"""Compare the lossless tables and pools of the catalog with those that a branch of sonic-buildimage ships."""

from __future__ import annotations

import posixpath
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.foreign.git_process import Answer, GitError, run_git
from fabricc.catalog.importing import sonic_ports
from fabricc.catalog.support import find_own_build, model_at_release, runs_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabricc.catalog.importing.draft import Raw
    from fabricc.catalog.model import HeadroomRow, Pools, SwitchModel

LOOKUP, POOLS = "pg_profile_lookup.ini", "buffers_defaults_t1.j2"
_LARGEST = 64 << 20
_MOST_LINKS = 12
_SKU_FILES = ("sai.profile", "sai.profile.j2", "hwsku.json", "port_config.ini")
_SAME, _NONE = "same", "none on either side"


class Comparison(NamedTuple):
    """One hardware SKU compared with a branch; `table` and `pools` are texts, `differs` if one contradicts it."""

    model: str
    hwsku: str
    table: str
    pools: str
    differs: bool


class Branch:
    """The device files of one commit of a repository, with the symbolic links of the tree followed.

    Attributes:
        commit: name of the commit.
    """

    def __init__(self, repository: Path, revision: str) -> None:
        """Read the list of files.

        Raises:
            GitError: the repository has no such commit, or Git cannot read it.
        """
        run = partial(run_git, repository, f"--git-dir={_git_folder(repository)}")
        found = run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        self.commit = found.out.decode().strip()
        if found.status or not self.commit:
            raise GitError(f"{repository} has no commit {revision!r}", "Name a branch, a tag or a commit.")
        listed = run("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", "device/", limit=_LARGEST)
        self._files: dict[str, tuple[str, str]] = {}
        for row in filter(None, listed.out.split(b"\0")):
            about, _, path = row.partition(b"\t")
            mode, _, name = about.decode().split()
            self._files[path.decode("utf-8", "replace")] = mode, name
        self._read_blob = cache(partial(_read_blob, run))

    def folder(self, platform: str) -> str | None:
        """Return the folder of a platform, `device/MAKER/PLATFORM`; None where the branch has none."""
        found = {path.split("/")[1] for path in self._files if path.split("/")[2:3] == [platform]}
        return f"device/{min(found)}/{platform}" if found else None

    def read(self, path: str) -> str:
        """Return the text of a file; empty where there is none."""
        return self._read_blob(found[1]) if (found := self._find(path)) else ""

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""
        return self._find(path) is not None

    def _find(self, path: str, links: int = 0) -> tuple[str, str] | None:
        parts = posixpath.normpath(path).split("/")
        for end in range(1, len(parts) + 1):
            found = self._files.get("/".join(parts[:end]))
            if found is None:
                continue
            if found[0] != "120000":
                return found if end == len(parts) else None
            if links == _MOST_LINKS:
                return None
            target = posixpath.join("/".join(parts[: end - 1]), self._read_blob(found[1]), *parts[end:])
            return self._find(target, links + 1)
        return None


def _git_folder(repository: Path) -> Path:
    """Return the folder of Git: that of a work tree, or the repository itself where it is a mirror."""
    own = repository / ".git"
    return own if own.exists() else repository


def _read_blob(run: Callable[..., Answer], name: str) -> str:
    return run("cat-file", "blob", name, limit=_LARGEST).out.decode("utf-8", "replace")


def compare_branch(branch: Branch, release: str, switches: Mapping[str, SwitchModel]) -> Iterator[Comparison]:
    """Compare each switch that runs the release with the files of its hardware SKU.

    Args:
        branch: the files.
        release: the release that the branch is for, as in 202605.
        switches: the models by name.
    """
    for name in switches:
        settings = switches[name].nos.get("sonic", {})
        if "hwsku" not in settings or not runs_release(switches[name], "sonic", release):
            continue
        model = model_at_release(switches[name], "sonic", release)
        folder = branch.folder(settings["platform"])
        sku = f"{folder}/{settings['hwsku']}"
        if folder is None or not any(branch.has(f"{sku}/{file}") for file in _SKU_FILES):
            build = find_own_build(model, "sonic")
            missing = f"only in {build.title}" if build else "no such SKU"
            yield Comparison(name, settings["hwsku"], missing, missing, differs=build is None)
            continue
        read = partial(_read_file, branch, sku)
        table, table_differs = _compare_table(model, sonic_ports.read_lossless_table(read))
        pools, pools_differ = _compare_pools(model, sonic_ports.read_pools(read), shipped=bool(read(POOLS)))
        yield Comparison(name, settings["hwsku"], table, pools, table_differs or pools_differ)


def _read_file(branch: Branch, folder: str, name: str) -> str:
    return branch.read(f"{folder}/{name}")


def _compare_table(model: SwitchModel, published: Raw | None) -> tuple[str, bool]:
    """Compare the rows of the SKU's own table; those that the catalog assumes are of other boxes."""
    lookup = model.nos["sonic"].get("sku", {}).get("lookup", "")
    own = {
        (row.speed_gbps, row.cable_m): _figures_of_row(row)
        for row in model.buffers.rows
        if row.table == lookup
    }
    theirs = {(row[0], row[1]): tuple(row[2:]) for row in published["rows"]} if published else {}
    if not own and not theirs:
        return _NONE, False
    if not own or not theirs:
        return ("the branch ships none", True) if own else (f"not in the catalog ({len(theirs)} rows)", True)
    other = sorted(key for key in own.keys() | theirs.keys() if own.get(key) != theirs.get(key))
    if not other:
        return f"{_SAME} ({len(own)} rows)", False
    cells = ", ".join(f"{speed}G {metres} m" for speed, metres in other[:3])
    return f"{len(other)} of {len(own.keys() | theirs.keys())} rows differ: {cells}", True


def _figures_of_row(row: HeadroomRow) -> tuple[int | None, ...]:
    return row.size_bytes, row.xon_bytes, row.xoff_bytes, row.dynamic_th, row.xon_offset_bytes


def _compare_pools(model: SwitchModel, published: Raw | None, *, shipped: bool) -> tuple[str, bool]:
    """Compare sizes of the pools; templates without literals for lossless pools are named."""
    if published is None:
        return ("no literal sizes of lossless pools" if shipped else _NONE), False
    if model.sources.get("buffers.pools", "").startswith("assumed"):
        return "published, not used: the catalog states why", False
    fields = ("ingress_lossless_bytes", "headroom_bytes", "egress_lossless_bytes")
    values = tuple((field, _pool_size(model.buffers.pools, field), published[field]) for field in fields)
    other = [f"{field} {ours:,} beside {theirs:,}" for field, ours, theirs in values if ours != theirs]
    return ("; ".join(other), True) if other else (_SAME, False)


def _pool_size(pools: Pools, field: str) -> int:
    value: int = getattr(pools, field)
    return value
