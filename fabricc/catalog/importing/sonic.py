"""Convert a platform folder of SONiC to a catalog entry: panel, lanes, splits, buffers, lossless table of one SKU."""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.foreign import files
from fabricc.base.foreign.git_process import Answer, GitError, run_git
from fabricc.base.values import dataclass
from fabricc.catalog.importing import draft, sonic_ports
from fabricc.catalog.importing.sonic_ports import OWN_LABEL, NoRuleError, Panel
from fabricc.catalog.library import Library
from fabricc.catalog.support import find_own_build, model_at_release, runs_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.catalog.importing.draft import Raw
    from fabricc.catalog.model import HeadroomRow, Pools, SwitchModel


LIMIT = 4 << 20
ASICS = {
    "th2": "tomahawk2", "th3": "tomahawk3", "th4": "tomahawk4", "th5": "tomahawk5", "th6": "tomahawk6",
    "td3": "trident3", "td4": "trident4", "hx5": "trident3", "jr2": "jericho2", "jr2p": "jericho2",
}  # fmt: skip
"""ASIC by the first word of the name of an SDK configuration."""
SPECTRUM = (
    (r"m?sn2\d", "spectrum"), (r"m?sn3\d", "spectrum2"), (r"m?sn4\d", "spectrum3"), (r"sn5640", "spectrum5"),
    (r"sn5\d", "spectrum4"), (r"sn6\d", "spectrum6"),
)  # fmt: skip
"""ASIC by platform (platform/mellanox/asic_table.j2)."""
WATCHDOG = "sonic-net/sonic-buildimage src/sonic-yang-models/yang-models/sonic-pfcwd.yang (202511)"
TIMERS = {
    "detect_ms": {"least": 100, "most": 5000},
    "restore_ms": {"least": 100, "most": 60000},
    "poll_ms": {"least": 100, "most": 1000},
}
"""The watchdog timers that every SONiC release accepts."""
LOOKUP, POOLS = "pg_profile_lookup.ini", "buffers_defaults_t1.j2"
_MARKS = ("sai.profile", "hwsku.json", "port_config.ini")
_SDK = re.compile(r"(?<![\w.+-])([\w.+-]+\.(?:xml|bcm|ya?ml))")


def platform_folder(path: Path, options: draft.ImportOptions) -> draft.ImportResult:
    """Return the entry of a folder `device/VENDOR/PLATFORM`."""
    folder = path.resolve()
    skus = sorted(each.name for each in folder.iterdir() if any((each / mark).is_file() for mark in _MARKS))
    sku = options.sku or next(iter(_read_text(folder, "default_sku").split()), None)
    if sku is None or sku not in skus:
        message = f"{path} has no SKU {sku!r}" if sku else f"{path} names no default SKU"
        return draft.import_failure(
            "FAB2121", message, f"Name one with `--sku`: {', '.join(skus) or 'the folder has none'}."
        )
    sdk = _sdk_config(folder / sku)
    asic = options.asic or _asic_of_platform(folder.name, sdk)
    if asic not in Library().names("asics"):
        return draft.unknown_asic(asic)
    try:
        panel = sonic_ports.read_cages(partial(_read_text, folder), sku, skus)
        rules = sonic_ports.naming_rules(panel)
    except NoRuleError as failure:
        return draft.contradiction_error(f"{folder.name}/{sku}: {failure}")
    name = options.name or draft.as_name(_model_of_platform(folder.name))
    return _Sku(folder, sku, sdk, str(asic), name, options.since, panel, []).entry(rules)


@dataclass(frozen=True, slots=True)
class _Sku:
    """One SKU of a folder, and findings about the data that it lacks."""

    folder: Path
    sku: str
    sdk: str | None
    asic: str
    name: str
    since: str | None
    panel: Panel
    lacks: list[Diagnostic]

    @property
    def citation(self) -> str:
        return f"sonic-buildimage device/{self.folder.parent.name}/{self.folder.name}"

    def source(self, file: str = "") -> str:
        """Return the citation of the SKU, or of a file of it."""
        release = f" ({self.since})" if self.since else ""
        return f"{self.citation}/{self.sku}{file and '/'}{file}{release}"

    def lack(self, code: str, message: str, remedy: str) -> None:
        self.lacks.append(draft.missing_data(code, f"{self.name}: {message}", remedy))

    def entry(self, rules: draft.Raw) -> draft.ImportResult:
        """Return the whole catalog file; `rules` are the settings that name ports, lanes and splits."""
        read = partial(_read_text, self.folder / self.sku)
        table, pools = sonic_ports.read_lossless_table(read), sonic_ports.read_pools(read)
        buffers: draft.Raw = {}
        tables: draft.Raw = {}
        sources = {"ports": self.source(self.panel.source), "watchdog": WATCHDOG}
        if table is not None and pools is not None:
            sources["buffers"] = self.source(POOLS)
            buffers = sonic_ports.buffer_figures(pools)
            buffers["headroom"] = [*self._asic_tables(table), {"table": self.name}]
            tables = {"tables": {self.name: {"source": self.source(LOOKUP), **table}}}
            if not self.asic.startswith("spectrum"):
                buffers["formula"] = {
                    "family": "table",
                    "version": self.name,
                    "source": "the tables under headroom",
                }
        else:
            lost = " and ".join(file for file, found in ((LOOKUP, table), (POOLS, pools)) if found is None)
            self.lack("FAB2124", f"{self.sku} has no figures in {lost}: buffers are those of {self.asic}",
                      "Take a SKU that ships them with `--sku`, or add `buffers`.")  # fmt: skip
        buffers["limits"] = {key: {**limit, "source": "watchdog"} for key, limit in TIMERS.items()}
        model: draft.Raw = {
            "extends": self.asic,
            "title": f"{self.folder.parent.name} {_model_of_platform(self.folder.name)}",
            "vendor": self.folder.parent.name,
            "cages": draft.render_cages(self.panel.runs, source="ports"),
            "buffers": buffers,
            "nos": {"sonic": self._sonic_settings(rules, own=bool(tables))},
        }
        entry: draft.Raw = {"sources": sources, "switches": {self.name: model}, **tables}
        return draft.finish_entry(self.name, entry, self.lacks)

    def _sonic_settings(self, rules: draft.Raw, *, own: bool) -> draft.Raw:
        """Return the settings of SONiC; missing data is a finding."""
        labels = json.dumps(rules["alias"])
        if OWN_LABEL in labels and not self.panel.rows[0].alias.startswith("etp"):
            self.lack("FAB2125", f"labels such as {self.panel.rows[0].alias} follow no rule: ports are labeled etp1",
                      "Only labels depend on it.")  # fmt: skip
        if not self.panel.split:
            self.lack("FAB2125", "no platform.json: cages are whole",
                      "Add the splits that the maker names to `breakouts`.")  # fmt: skip
        for each in self.panel.left_out:
            remedy = "A cage has children of one speed, and a lane one port."
            self.lack("FAB2125", f"{each} is left out", remedy)
        sonic: draft.Raw = {"source": "ports"}
        if self.since:
            sonic["support"] = {"since": self.since, "source": f"{self.citation}: branch {self.since}"}
        else:
            remedy = "Name it with `--since`, for example 202505."
            self.lack("FAB2126", "no release is known to be the first that runs on it", remedy)
        if self.sdk is None:
            message = f"sai.profile of {self.sku} names no configuration of the SDK"
            self.lack("FAB2127", message, "Add `sku` to its `sonic`.")
        else:
            shipped = {"lookup": self.name, "pools": POOLS} if own else {}
            table = {"port_table": self.panel.source, **shipped, "sdk": self.sdk}
            sonic["sku"] = {"source": self.source(), **table}
        self.lack("FAB2128", "cell, ECMP width and latency are those of the ASIC, and other systems are not known",
                  "Add the figures that the maker publishes.")  # fmt: skip
        maker = (
            "mellanox"
            if self.asic.startswith("spectrum")
            else _read_text(self.folder, "platform_asic").strip()
        )
        vendor = (maker or "broadcom").partition("-")[0]
        return {**sonic, "platform": self.folder.name, "hwsku": self.sku, "asic_vendor": vendor, **rules}

    def _asic_tables(self, table: draft.Raw) -> list[draft.Raw]:
        """Return the tables of the ASIC, assumed, where a port has a speed that the SKU's own table lacks."""
        speeds = {
            int(use.partition("x")[2].partition("/")[0])
            for run in self.panel.runs
            if not run.service
            for use in run.breakouts
        }
        if self.asic.startswith("spectrum") or speeds <= {row[0] for row in table["rows"]}:
            return []
        reason = "speeds that the SKU's own table lacks; of the same ASIC"
        found: list[draft.Raw] = Library().raw("asics", self.asic)["buffers"]["headroom"]
        return [{"table": each["table"], "assumed": True, "reason": reason} for each in found]


def _read_text(folder: Path, name: str) -> str:
    """Return the text of a file of the folder; empty where it has none that can be read."""
    try:
        return files.read(folder / name, limit=LIMIT).decode("utf-8-sig")
    except (OSError, ValueError):
        return ""


def _sdk_config(folder: Path) -> str | None:
    """Return the configuration of the SDK that a SKU starts with, from `sai.profile`."""
    named = _SDK.search(_read_text(folder, "sai.profile") or _read_text(folder, "sai.profile.j2"))
    return named[1] if named else None


def _asic_of_platform(platform: str, sdk: str | None) -> str | None:
    """Return the ASIC from the name of a platform, or of its SDK's configuration."""
    for pattern, name in SPECTRUM:
        if re.search(rf"_{pattern}", platform):
            return name
    return ASICS.get(re.split(r"[-_]", sdk or "")[0])


def _model_of_platform(platform: str) -> str:
    """Return the box of an ONIE platform: `x86_64-dell_z9664f-r0` is the `z9664f`."""
    box = platform.partition("-")[2].removesuffix("-r0")
    return box.partition("_")[2] or box


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
