"""Turn a folder of collected files into devices: system, files and facts of each.

Files belong together by the device name in their path. A back end decides what each text is (`back.nos.collected`),
never its place; unknown texts are reported. Worker processes read the devices and return facts, lines and neighbors;
texts stay in the folder until they are needed.
"""

from __future__ import annotations

import errno
import os
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.device import PackedDevice, Texts, collected_systems, devices_of, parts_in, texts_of
from fabricc.audit.substitution import KnownTexts
from fabricc.back.hosts import recognition as host_files
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.foreign.files import Folder
from fabricc.base.foreign.shell import shell_path
from fabricc.base.values import dataclass
from fabricc.catalog.load import load_catalog
from fabricc.compiler.write.workers import spread_work, usable_cpus
from fabricc.facts.frame import unpack_contents
from fabricc.facts.statement import HOST, Device, Kind
from fabricc.proof import Finding
from fabricc.proof.tree import reject_pending, trees_around
from fabricc.tree import manifest as manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.audit.coverage import UnderstoodLines
    from fabricc.audit.ends import Placement
    from fabricc.catalog.model import SwitchModel


_PARTS = re.compile(r"[^a-z0-9]+")
_SETTINGS = ("model", "hwsku", "platform")
"""Settings of a system in the catalog that name the box as the system does."""


class CatalogModels:
    """The models of a catalog by every name that they have there."""

    def __init__(self, models: Mapping[str, SwitchModel]) -> None:
        self._models = models
        self._names = {_name_words(name): name for name in models}
        self._all: Mapping[tuple[str, ...], str] | None = None

    def model(self, products: Iterable[str]) -> str | None:
        """Return the model with one of these names, or whose longest name is contained in one, word for word."""
        wanted = [_name_words(product) for product in products]
        for names in (lambda: self._names, self._all_names):
            for product in wanted:
                if found := _longest_match(product, names()):
                    return found
        return None

    def _all_names(self) -> Mapping[tuple[str, ...], str]:
        """Return all names of models: titles without the maker, and product names of systems."""
        if self._all is None:
            found: dict[tuple[str, ...], str] = {}
            for name, model in self._models.items():
                title = model.title.partition(" (")[0]
                names = [setting.get(key, "") for setting in model.nos.values() for key in _SETTINGS]
                for text in (title, title.partition(" ")[2], *map(str, names)):
                    if parts := _name_words(text):
                        found.setdefault(parts, name)
            self._all = found
        return self._all


def _longest_match(product: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> str | None:
    spans = sorted(
        (
            (end - start, start, end)
            for start in range(len(product))
            for end in range(start + 1, len(product) + 1)
        ),
        key=lambda span: (-span[0], span[1]),
    )
    return next((names[part] for _, start, end in spans if (part := product[start:end]) in names), None)


@lru_cache(maxsize=1 << 12)
def _name_words(text: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(text.lower()) if part)


_WORDS = frozenset({
    "brief", "cfg", "cli", "conf", "config", "configs", "configuration", "current", "detail", "details", "display",
    "dump", "facts", "interface", "interfaces", "json", "lldp", "lldpcli", "lldpctl", "neighbor", "neighbors",
    "neighbour", "neighbours", "nv", "out", "output", "run", "running", "set", "sh", "show", "startup", "summary",
    "switches", "system", "table", "txt", "ver", "version", "yaml",
})  # fmt: skip
"""Words of a file name that describe its content instead of its device."""
_SPLIT = re.compile(r"([\s_.+,|]+|-(?=[A-Za-z]))")


def device_of(path: str) -> str:
    """Return the device name in a path: from the file without words of content, else from the folder above."""
    if (top := host_files.find_root(path)) is not None:
        return top.rpartition("/")[2]
    above, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return _strip_words(stem) or (device_of(above) if above else "")


def _strip_words(stem: str) -> str:
    """Return a file name without words of content at its beginning and end; "" if nothing remains."""
    stem = host_files.NAMED.sub("", stem)
    if not stem or stem in _file_names():
        return ""
    for name in _file_names():
        for apart in "_-.":
            stem = stem.removesuffix(f"{apart}{name}")
    tokens = _SPLIT.split(stem)
    while tokens and (tokens[-1].lower() in _WORDS or not tokens[-1].strip(" _.+,|-")):
        tokens.pop()
    while tokens and (tokens[0].lower() in _WORDS or not tokens[0].strip(" _.+,|-")):
        tokens.pop(0)
    return "".join(tokens)


@cache
def _file_names() -> frozenset[str]:
    return frozenset(
        (*host_files.NAMES, *(name for one in collected_systems().values() for name in one.NAMES))
    )


_TREE_DEVICES, _SUBNETS = ("switches", "hosts"), "subnets"
"""Folders of a built tree that hold devices' files."""
_MOST_FILES = 500_000
_PIECES = 4000


@dataclass(frozen=True, slots=True)
class FolderContents:
    """The content of a folder.

    Attributes:
        devices: by name; `placement`: the statements of each about its place; `understood`: the coverage of each.
        files: number of files; `used`: number of files with statements about a device.
        findings: files without a device, duplicate names, models that the catalog lacks; paths below the
            folder.
    """

    devices: Mapping[str, Device]
    placement: Mapping[str, Placement]
    understood: Mapping[str, UnderstoodLines]
    files: int
    used: int
    findings: tuple[Finding, ...]


class _GroupResult(NamedTuple):
    """The result of a worker for some groups of files."""

    devices: list[PackedDevice]
    findings: list[Finding]
    used: int


def gather_devices(
    folder: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    packed: bool = False,
) -> FolderContents:
    """Read the devices of a folder or of a file; `packed` for thousands that are rarely used.

    Raises:
        OSError: the folder is not there or must not be read.
        EmitError: a worker died.
        TreeError: FAB6020, it is a tree whose files a build moves.
    """
    if not os.path.lexists(folder):  # nor is a text that no file can be called
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    for tree in trees_around(folder):
        reject_pending(tree)
    top, names = (folder, files_below(folder)) if folder.is_dir() else (folder.parent, [folder.name])
    names, infiniband = of_devices(top, names)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(device_of(name), []).append(name)
    work = list(groups.items())
    size = -(-len(work) // _PIECES)
    pieces = [work[at : at + size] for at in range(0, len(work), size)] if work else []
    findings: list[Finding] = []
    read: list[PackedDevice] = []
    alike, shared = KnownTexts(), dict[bytes, bytes]()
    used = done = 0
    with Folder(top) as below:
        spreading = spread_work(
            jobs or usable_cpus(), len(pieces), lambda n: _read_piece(below, pieces[n], alike)
        )
        for number, piece in spreading:
            read += [one._replace(held=one.held.share_contents(shared)) for one in piece.devices]
            findings += piece.findings
            used += piece.used
            done += len(pieces[number])
            if progress:
                progress("devices read", done, len(work))
    named, twice = _name_devices(read)
    devices = _make_devices(top, named, packed=packed)
    findings += [*twice, *_unmatched_models(devices.values())]
    if infiniband:
        message = (
            f"{join_words(infiniband, 2)} is InfiniBand, which `fabricc check` proves: it is not read here"
        )
        severity = Severity.NOTE if devices else Severity.ERROR
        findings.append(
            Finding(
                "FAB9500",
                message,
                "",
                severity=severity,
                help=f"Run `fabricc check {shell_path(infiniband[0])}`.",
            )
        )
    elif not devices:
        findings.append(
            Finding("FAB9500", "the folder holds no configuration of a system that is known", "",
                    help=f"Systems: {', '.join(collected_systems())}, and files of hosts below their `etc`.")
        )  # fmt: skip
    placement = {name: one.placement for name, one in named.items()}
    understood = {name: one.understood for name, one in named.items()}
    return FolderContents(devices, placement, understood, len(names), used, tuple(findings))


def files_below(folder: Path) -> list[str]:
    """Return the files below a folder, sorted, but for hidden ones; links are among them and are not followed.

    Raises:
        OSError: the folder is not there or must not be read.
    """
    found: list[str] = []
    waiting = [""]
    while waiting and len(found) < _MOST_FILES:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                path = f"{below}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                else:
                    found.append(path)
    return sorted(found)


def of_devices(top: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files without those of trees that fabricc built which are for no device: plan, jobs, acceptance.

    Returns:
        The files, and the trees of InfiniBand alone, whose files are left out.
    """
    holding = _folders_with(names, _TREE_DEVICES[0])
    subnets = _folders_with(names, _SUBNETS) - holding
    listed = {name.removesuffix(manifests.NAME) for name in names if name.endswith(manifests.NAME)}
    trees = {below for below in listed & (holding | subnets) if _is_built_tree(top / below)}
    infiniband = trees & subnets
    kept = [name for name in names if not trees or not _is_outside_devices(name, trees)]
    kept = [name for name in kept if not any(name.startswith(below) for below in infiniband)]
    return kept, sorted(str(top / below) for below in infiniband)


def _folders_with(names: Sequence[str], folder: str) -> set[str]:
    """Return the folders, with a slash at their end, that have a folder of this name with files."""
    first = f"{folder}/"
    return {name[:at] for name in names if not (at := name.find(first)) or name[at - 1 : at] == "/"}


def _is_built_tree(top: Path) -> bool:
    """Return whether a folder is a tree that fabricc built."""
    try:
        with Folder(top) as folder:
            return manifests.is_manifest(folder.read(manifests.NAME, limit=manifests.LIMIT))
    except OSError:
        return False


def _is_outside_devices(name: str, trees: Collection[str]) -> bool:
    """Return whether a file is in a tree, but outside its folders of devices."""
    ends = [0, *(at + 1 for at, letter in enumerate(name) if letter == "/")]
    return any(name[:end] in trees and name[end:].partition("/")[0] not in _TREE_DEVICES for end in ends)


def _read_piece(
    folder: Folder, groups: Sequence[tuple[str, Sequence[str]]], known_texts: KnownTexts
) -> _GroupResult:
    found = _GroupResult([], [], 0)
    used = 0
    for key, paths in groups:
        texts, unread = texts_of(folder, paths)
        found.findings.extend(unread)
        if len(texts) == 1 and (read := known_texts.read(key, *texts[0])):
            found.devices.append(read)
            used += 1
            continue
        devices, taken, listed = devices_of(key, parts_in(texts))
        found.devices.extend(devices)
        found.findings.extend(listed)
        used += len(taken)
        if len(devices) == len(texts) == 1 and not listed:
            known_texts.learn(*texts[0], devices[0])
    return found._replace(used=used)


def _name_devices(read: list[PackedDevice]) -> tuple[dict[str, PackedDevice], list[Finding]]:
    """Return devices by name, and a finding for each name that two of them have.

    A copy of a device is left out: what it states would contradict the device itself. Another device takes the name of
    its file.
    """
    named: dict[str, PackedDevice] = {}
    findings: list[Finding] = []
    for device in sorted(read, key=_preference):
        name, path = device.name or _device_path(device), _device_path(device)
        first = named.get(name)
        if first is None:
            named[name] = device
            continue
        both = f"{_device_path(first)} and {path} have the host name {device.name}"
        if _is_copy(first, device):
            message = f"{both} and common addresses: {path} is a copy and is ignored"
            remedy = f"Remove {path}, or the other file if {path} is the present configuration."
        else:
            named[path] = device
            message = f"{both}; this report calls the second one {path}"
            remedy = "Remove duplicates, or rename one of the devices."
        place = _name_place(device)
        findings.append(Finding("FAB9504", message, *place, "twice", Severity.WARNING, remedy))
    return dict(sorted(named.items())), findings


def _preference(device: PackedDevice) -> tuple[bool, int, str]:
    """Return the rank of a device among devices with its name; a file with the device's name is first."""
    path = _device_path(device)
    called = path.rpartition("/")[2].rpartition(".")[0], path.rpartition("/")[0].rpartition("/")[2]
    return device.name not in called, path.count("/"), path


def _is_copy(first: PackedDevice, second: PackedDevice) -> bool:
    """Return whether two devices of one name have nine of ten addresses in common: those of two sites share some."""
    own = [{(row[0], row[4]) for row in one.placement.address_rows()} for one in (first, second)]
    return 10 * len(own[0] & own[1]) >= 9 * max(1, min(map(len, own)))


def _name_place(device: PackedDevice) -> tuple[str, int]:
    """Return the file and line of a device's host name, else the first line of its first file."""
    file, line = unpack_contents(device.held).reading.lines.get("system/hostname", ("", 1))
    return (device.places[file][0], line) if file in device.places else (_device_path(device), 1)


def _device_path(device: PackedDevice) -> str:
    return min(path for path, _ in device.places.values())


def _make_devices(folder: Path, read: Mapping[str, PackedDevice], *, packed: bool) -> dict[str, Device]:
    """Return the devices with their models from the catalog."""
    boxes = CatalogModels(load_catalog(())[0].switches)
    models: dict[tuple[str, ...], str | None] = {}
    made: dict[str, Device] = {}
    for name, one in read.items():
        products = one.identity.products
        if products not in models:
            models[products] = boxes.model(products)
        made[name] = Device(
            name, Kind.HOST if one.system == HOST else Kind.SWITCH, one.system, Texts(folder, one.places),
            {file: path for file, (path, _) in one.places.items()}, one.held if packed else unpack_contents(one.held),
            one.identity.box, models[products], one.identity.release, one.placement.announced,
        )  # fmt: skip
    return made


def _unmatched_models(devices: Iterable[Device]) -> Iterator[Finding]:
    """Report models that the catalog lacks, and switches that do not state their model, once per kind."""
    kinds: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        if device.kind is Kind.SWITCH and device.model is None:
            kinds.setdefault((device.box, "" if device.box else device.system), []).append(device)
    for (box, system), alike in sorted(kinds.items()):
        first = min(alike, key=lambda device: min(device.paths.values()))
        place = _names_itself(first)
        of = f"the buffers of {plural(len(alike), 'switch')} are not checked"
        if box:
            message, remedy = (
                f"the catalog has no {box}: {of}",
                "fabricc does not guess unknown figures of a box; see `fabricc docs catalog`.",
            )
            yield Finding("FAB9506", message, *place, box, Severity.NOTE, remedy)
        else:
            message = f"no file states the switch model of these {system}: {of}"
            remedy = "Add the output of `show version` of each device, in a file named after the device."
            yield Finding("FAB9507", message, *place, system, Severity.NOTE, remedy)


def _names_itself(device: Device) -> tuple[str, int]:
    """Return file and line of a device's own name, else the first line with a statement."""
    lines = device.reading.lines
    file, line = lines.get("system/hostname") or min(lines.values(), default=("", 1))
    return device.paths.get(file) or min(device.paths.values()), line
