"""The audit of a folder: devices, their links and places, the findings, and the coverage."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fabricc.audit.coverage import coverage_of
from fabricc.audit.gather import gather_devices
from fabricc.audit.links import links_of
from fabricc.audit.model import Found
from fabricc.audit.places import places_of
from fabricc.audit.rules import examine_fabric
from fabricc.base.diagnostics import Diagnostic, Position
from fabricc.compiler.prove.finding_groups import Grouped
from fabricc.compiler.result import exit_status
from fabricc.compiler.write.pieces import usable_cpus
from fabricc.facts.device import Kind
from fabricc.proof.tree import read_consistently, trees_around

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fabricc.audit.gather import Gathered
    from fabricc.audit.rules import Examined
    from fabricc.facts.device import Device


class Audit:
    """The result of an audit.

    Attributes:
        folder: as given.
        found: devices, links and places.
        findings: all findings, with files below the folder, in order of codes and places.
        coverage: the coverage.
        accounts: the results of the rules by topic; `asked`: the progress of each invariant.
        files: number of files in the folder; `used`: number of files with statements about a device.
    """

    def __init__(
        self,
        folder: Path,
        gathered: Gathered,
        found: Found,
        examined: Examined,
    ) -> None:
        self.folder, self.found = folder, found
        reported = (*gathered.findings, *examined.findings)
        self.findings = tuple(sorted(reported, key=lambda one: (one.code, one.file, one.line, one.message)))
        self.coverage = coverage_of(gathered.devices, gathered.understood, self.findings, examined.unchecked)
        self.accounts, self.asked = tuple(examined.accounts), tuple(examined.asked)
        self.files, self.used = gathered.files, gathered.used

    @property
    def devices(self) -> Mapping[str, Device]:
        """The devices by name."""
        return self.found.devices

    @property
    def switches(self) -> int:
        """Return how many switches there are; the other devices are hosts."""
        return sum(device.kind is Kind.SWITCH for device in self.devices.values())

    @property
    def top(self) -> str:
        """The folder that files of findings are below; of a single file the one that it is in."""
        return str(self.folder if self.folder.is_dir() else self.folder.parent)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings, of each kind the first few and how many more there are."""
        grouped = Grouped()
        grouped.add(self.findings)
        return tuple(grouped.diagnostics(self.top))

    @property
    def every(self) -> tuple[Diagnostic, ...]:
        """The findings, each."""
        return tuple(
            Diagnostic(
                one.code, one.severity, one.message,
                Position(f"{self.top}/{one.file}", one.line) if one.line else None, one.help,
            )
            for one in self.findings
        )  # fmt: skip

    @property
    def exit_status(self) -> int:
        """0 where nothing is wrong, 1 where something is."""
        return exit_status(self.diagnostics)


def audit_fabric(
    folder: Path, *, jobs: int | None = None, progress: Callable[[str, int, int], None] | None = None
) -> Audit:
    """Read a folder of collected files and return findings about the fabric; write nothing.

    Args:
        folder: of configurations and outputs; or one file.
        jobs: worker processes; None for one per CPU.
        progress: called with the phase, the number done and the total.

    Raises:
        OSError: the folder is not there or must not be read.
        EmitError: a worker died.
        FindingsError: FAB6020, it is a built tree that a build writes.
    """
    return read_consistently(trees_around(folder), lambda: _audit_folder(folder, jobs, progress))


def _audit_folder(folder: Path, jobs: int | None, progress: Callable[[str, int, int], None] | None) -> Audit:
    gathered = gather_devices(folder, jobs=jobs, progress=progress, packed=True)
    links = links_of(gathered.devices, gathered.placement)
    places = places_of(gathered.devices, links, gathered.placement)
    found = Found(gathered.devices, links, places)
    return Audit(
        folder, gathered, found, examine_fabric(found, jobs=jobs or usable_cpus(), progress=progress)
    )
