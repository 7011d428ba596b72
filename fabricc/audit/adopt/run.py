"""Adopt a folder: gather and join its devices, find the spec, write it if none is there, and explain the rest."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.audit.adopt.adoption import Adopted, adopt_networks
from fabricc.audit.adopt.pinning import NAME
from fabricc.audit.adopt.trial import DRAFT, LOCK, SPEC
from fabricc.audit.gather import gather_devices
from fabricc.audit.links import links_of
from fabricc.audit.model import FoundFabric
from fabricc.audit.places import places_of
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.nos.exec_commands import command_lines
from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.compiler.load.spec_location import tree_texts
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.facts.paths import replace_keys
from fabricc.facts.statement import Device, Kind, Tier
from fabricc.proof.compare import Finding, Mismatch
from fabricc.proof.tree import read_consistently, trees_around
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_UNREAD = frozenset(("FAB0032", "FAB9502"))
"""Files that may be devices, and which the spec would lack."""
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Adoption:
    """An adopted folder.

    Attributes:
        folder: as given.
        found: its content.
        adopted: the spec, and the differences of its build.
        files: file -> text to write, without the report.
        findings: the findings, with files below the folder.
    """

    folder: Path
    found: FoundFabric
    adopted: Adopted
    files: Mapping[str, str]
    findings: tuple[Finding, ...]

    @property
    def same(self) -> int:
        """Devices whose built files state what theirs do."""
        return sum(1 for each in self.adopted.differences.values() if not each)


def adopt(
    folder: Path,
    name: str | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Adoption:
    """Read a folder of configurations and infer the spec that builds them; nothing is written.

    Args:
        folder: folder of collected files, as for `audit`.
        name: of the cluster; by default that of the folder.
        jobs: worker processes; None for one per CPU.
        progress: called with the phase, the number done and the total.

    Raises:
        OSError: the folder is not there or must not be read.
        FindingsError: FAB9700, the folder holds no leaf-spine fabric.
    """
    return read_consistently(trees_around(folder), lambda: _adopt_folder(folder, name, jobs, progress))


def _adopt_folder(
    folder: Path,
    name: str | None,
    jobs: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> Adoption:
    gathered = gather_devices(folder, jobs=jobs, progress=progress)
    unread = tuple(each for each in gathered.findings if each.code in _UNREAD)
    if errors := [each for each in unread if each.severity is Severity.ERROR]:
        grouped = FindingGroups()
        grouped.add(errors)
        raise FindingsError.of(list(grouped.diagnostics(str(_top_folder(folder)))))
    devices = _with_spec_names(gathered.devices)
    links = links_of(devices)
    places = places_of(devices, links)
    found = FoundFabric(devices, links, places)
    adopted = adopted_of(found, folder, name or _cluster_name(folder))
    return replace(adopted, findings=(*unread, *adopted.findings))


def _with_spec_names(devices: Mapping[str, Device]) -> dict[str, Device]:
    """Return the devices by names that a spec accepts: in lower case where no other device has that name."""
    counted = Counter(name.lower() for name in devices)
    named = (
        each
        if counted[name.lower()] > 1 or not NAME.fullmatch(name.lower())
        else replace(each, name=name.lower())
        for name, each in devices.items()
    )
    return {each.name: each for each in named}


def adopted_of(found: FoundFabric, folder: Path, name: str) -> Adoption:
    """Devices that were found, adopted; see `adopt`."""
    _fabric_wanted(found, folder)
    with TemporaryDirectory(prefix="fabricc-adopt-") as scratch:
        made = adopt_networks(found, name, Path(scratch))
    lock = made.compiled.lock_text
    files = made.draft.files() | ({LOCK: lock} if lock else {})
    if not made.usable:
        files = {
            DRAFT: files[SPEC],
            **{name: text for name, text in files.items() if name not in (SPEC, LOCK)},
        }
    return Adoption(folder, found, made, files, tuple(_adoption_findings(found, made)))


def _cluster_name(folder: Path) -> str:
    return _NAME.sub("-", folder.resolve().name.lower()).strip("-")[:32].strip("-") or "adopted"


def _fabric_wanted(found: FoundFabric, folder: Path) -> None:
    """Raise FAB9700 if a spec could describe nothing of the folder."""
    tors = [name for name, place in found.places.items() if place.tier is Tier.TOR]
    if tors:
        return
    message = f"{folder} holds {plural(len(found.devices), 'device')} and no switch that hosts could be connected to"
    raise FindingsError("FAB9700", message, "Collect the running configurations of a whole fabric into it.")


def write_adoption(adoption: Adoption, target: Path, reports: Mapping[str, str]) -> list[str]:
    """Write the spec with its files, and the reports, into a folder; existing files are not overwritten.

    Raises:
        FindingsError: FAB9701, a file exists already.
        EmitError: a file cannot be written.
    """
    files = {**adoption.files, **reports}
    taken = [name for name in files if os.path.lexists(target / name)]
    if taken:
        message = f"{target} already has {', '.join(sorted(taken))}; nothing was written"
        raise FindingsError("FAB9701", message, "Use a new folder.")
    for name, text in files.items():
        make_folder((target / name).parent)
        write_file(target / name, text.encode())
    return sorted(files)


def _adoption_findings(found: FoundFabric, adopted: Adopted) -> Iterator[Finding]:
    compiled = adopted.compiled
    for one in (
        each for each in compiled.diagnostics if not compiled.sound and each.severity is Severity.ERROR
    ):
        message = f"the spec that fits best cannot be built: {one.code}: {one.message}"
        yield Finding(
            "FAB9702", message, "", 0, one.code, help=one.help or "Change it in the spec, and build it."
        )
    for name in adopted.left if compiled.sound else ():
        yield _left_out_finding(found, name)  # without a spec, the errors above give the reason
    for moved in adopted.moved:
        message = f"{moved.switch}: the link to {moved.peer} is on {moved.port}, and a build has it on {moved.planned}"
        help_ = "Ports of hosts come first, uplinks follow on one run of cages; recable, or keep it out of `push`."
        yield Finding("FAB9708", message, "", 0, f"moved {moved.switch}", Severity.WARNING, help_)
    for name, mismatches in adopted.differences.items():
        for mismatch in mismatches:
            yield _difference_finding(found.devices[name], mismatch)
    for device in found.devices.values():
        if device.kind is Kind.SWITCH:
            yield from _command_findings(device)
    for name, lines in adopted.lost.items():
        device, first = found.devices[name], lines[0]
        message = (
            f"{name}: the spec has no key for {plural(len(lines), 'line')}, so a build leaves that text out"
        )
        help_ = "adoption.txt lists them; keep those that you need in an overlay (`fabricc docs overlays`)."
        path = _finding_path(device, first.file)
        yield Finding("FAB9706", message, path, first.line, "lost", Severity.WARNING, help_)
    for words in adopted.assumed:
        message = f"{words[0].lower()}{words[1:].rstrip('.')}"  # sentences of the report
        yield Finding("FAB9705", message, "", 0, words, Severity.NOTE)


def _command_findings(device: Device) -> Iterator[Finding]:
    """Report FAB6055 for lines that run a command or read another file; overlays do not contain them."""
    lines = sorted(command_lines(back_ends.load(device.system), device.files))
    if lines:
        file, line = lines[0]
        message = f"{device.name}: {plural(len(lines), 'line')} that run commands or read other files are not adopted"
        help_ = "Read them, and write an overlay with those that you want (`fabricc docs overlays`)."
        yield Finding(
            "FAB6055", message, _finding_path(device, file), line, "commands", Severity.WARNING, help_
        )


def _left_out_finding(found: FoundFabric, name: str) -> Finding:
    device, place = found.devices[name], found.places.get(name)
    if not NAME.fullmatch(name):
        where = "a spec has names of lower-case letters, digits and inner hyphens"
    elif place and place.tier is Tier.OTHER:
        where = f"it is in no tier ({place.tier.value})"
    else:
        where = "it has no place in it"
    message = f"{name} is not in the spec: {where}"
    file = next(iter(device.paths.values()), "")
    help_ = "Collect its neighbors as well, or describe it under `external`."
    return Finding("FAB9704", message, file, 1 if file else 0, "left", Severity.WARNING, help_)


def _difference_finding(device: Device, mismatch: Mismatch) -> Finding:
    """Report a fact that a build would change, remove or add, with the reason."""
    path, planned, found, file, line = mismatch
    if found is None:
        code, message = "FAB9707", f"{device.name}: a build adds {path} = {planned}"
    elif planned is None:
        code, message = "FAB9703", f"{device.name}: a build removes {path} = {found}"
    else:
        code, message = "FAB9703", f"{device.name}: a build changes {path} from {found} to {planned}"
    why = mismatch_reason(device, mismatch)
    return Finding(
        code, f"{message}: {why}", _finding_path(device, file), line, replace_keys(path), Severity.WARNING
    )


def _finding_path(device: Device, file: str) -> str:
    return device.paths.get(file, file)


def diagnostics_of(adoption: Adoption, *, every: bool = False) -> list[Diagnostic]:
    """Return the findings at their places: of each kind the first few and how many more there are, or all of them."""
    grouped = FindingGroups()
    for one in adoption.findings:
        grouped.add([one._replace(group=one.message) if every else one])
    return list(grouped.diagnostics(str(_top_folder(adoption.folder))))


def finding_texts(diagnostics: Iterable[Diagnostic], folder: Path) -> dict[str, str]:
    """Return the files of findings, for snippets."""
    return tree_texts(diagnostics, _top_folder(folder))


def _top_folder(folder: Path) -> Path:
    """Return the folder that contains the files of findings; for a single file its folder."""
    return folder if folder.is_dir() else folder.parent


_POLICY = ("route_map[", "prefix_list[", "community_list[")
_NO_WORD = "no key of a spec expresses it, and no overlay keeps it"


def mismatch_reason(device: Device, mismatch: Mismatch) -> str:
    """Return the reason for a mismatch."""
    path = mismatch.path
    if mismatch.planned is None:
        return _NO_WORD if mismatch.line else "no key of a spec expresses it, and no single line states it"
    if path.startswith(_POLICY) or path.endswith(("/import", "/export")):
        return "sessions of a built fabric filter what they send and what they take"
    vocabulary = (
        host_files.vocabulary() if device.kind is Kind.HOST else back_ends.load_vocabulary(device.system)
    )
    row = vocabulary.row(path)
    if row.reason and row.reason.text and "{" not in row.reason.text:
        return row.reason.text.rstrip(".")
    return f"{row.means} follows from the plan" if row.means else "the plan states it"
