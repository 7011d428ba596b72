"""A spec that was read and planned, as values: its fabric, its lock and everything found; below what is made of it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.templating import template_path
from fabricc.base.diagnostics import RULE_CODES, Diagnostic, Severity
from fabricc.base.diagnostics.formats import render_text
from fabricc.base.values import dataclass
from fabricc.front.spec.load import GAPS, apply_severities, soften_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.infiniband import InfinibandFabric
    from fabricc.front.planning.identity.repinning import RepinResult
    from fabricc.front.spec.model import ClusterSpec


class CompileError(Exception):
    """The spec has errors; as text, all that was found, with the lines of the files it points into.

    Attributes:
        diagnostics: everything found, errors and not.
        sources: file name -> text, for snippets.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources = sources
        super().__init__(render_text(self.diagnostics, sources))


@dataclass(frozen=True, slots=True)
class PlannedSpec:
    """A planned spec, or the diagnostics that explain why it has no plan.

    Attributes:
        path: the spec's file.
        loaded, planned: the spec and its fabric, None on an error in the diagnostics; `spec` and `fabric` are the same
            and raise instead of None.
        lock_path, lock_text: the lock file and what it must hold after this build.
        lock_before: its present text; None when there is no such file.
        diagnostics: everything found, the spec's acceptances applied.
        sources: file name -> text, for snippets.
        inputs: file -> SHA-256 of its bytes, of everything that was read.
        draft: the fabric with its errors, to explain them by; None where none took shape.
        infiniband: the fabric of a spec with `fabric: infiniband`, in the place of `planned`.
        networks: name -> further network of the same hosts, planned; its findings are among those of the whole.
        repinned: the changes of a repinning, None if none was requested or none helps.
        templates: the folders with templates of the user's own that the files are rendered with.
    """

    path: Path
    loaded: ClusterSpec | None
    planned: Fabric | None
    lock_path: Path
    lock_text: str
    lock_before: str | None
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    draft: Fabric | None = None
    infiniband: InfinibandFabric | None = None
    repinned: RepinResult | None = None
    networks: Mapping[str, PlannedSpec] = field(default_factory=dict)
    templates: tuple[Path, ...] = field(default_factory=template_path)

    @property
    def sound(self) -> bool:
        """Return whether there is a fabric and no error."""
        planned = self.planned is not None or self.infiniband is not None
        return planned and not any(d.severity is Severity.ERROR for d in self.diagnostics)

    @property
    def spec(self) -> ClusterSpec:
        """The spec as it was read.

        Raises:
            CompileError: it cannot be read.
        """
        if self.loaded is None:
            raise CompileError(self.diagnostics, self.sources)
        return self.loaded

    @property
    def fabric(self) -> Fabric:
        """The fabric of Ethernet that the spec becomes.

        Raises:
            CompileError: the spec has an error; FAB5817, it is of InfiniBand.
        """
        if self.planned is None and self.infiniband is not None:
            raise CompileError([*self.diagnostics, infiniband_unsupported(self.spec)], self.sources)
        if self.planned is None or not self.sound:
            raise CompileError(self.diagnostics, self.sources)
        return self.planned

    def counts(self) -> dict[str, int]:
        """Return the totals of `Fabric.counts`, with the switches and cables of further networks, and their own hosts.

        Raises:
            CompileError: as `fabric`.
        """
        found = self.infiniband.counts() if self.infiniband is not None else self.fabric.counts()
        for network in self.networks.values():
            more = network.fabric.counts()
            of_hosts = ("gpus", "hosts", "hosts_without_gpus", "units")
            found |= {key: found[key] + more[key] for key in found if key not in of_hosts}
            if alone := len(network.fabric.own_hosts()):
                found["hosts"] += alone
                found["hosts_without_gpus"] = found.get("hosts_without_gpus", 0) + alone
        return found


def infiniband_unsupported(spec: ClusterSpec) -> Diagnostic:
    """FAB5817: a command that takes Ethernet alone was given a spec of InfiniBand."""
    help_ = "`validate`, `plan`, `report`, `lock`, `build`, `check`, `diff`, `explain` and `verify` do."
    return spec.error("FAB5817", "this command does not support InfiniBand fabrics", "fabric", help=help_)


LATER = ("FAB6", "FAB7", *RULE_CODES)
"""Codes that only emission and checks can report: their absence earlier proves nothing."""


def apply_acceptances(
    spec: ClusterSpec, diagnostics: Iterable[Diagnostic], *, gaps: bool = True, planned: bool = True
) -> list[Diagnostic]:
    """Return the findings up to planning with accepted warnings and gaps as notes; FAB2900 for an unmatched entry.

    Args:
        spec: contains the acceptances.
        diagnostics: the findings.
        gaps: whether the capability gaps of the back ends are known; if not, accepted gaps are not judged.
        planned: whether there is a plan; without one, a finding that matches an entry may be missing.
    """
    unasked = LATER if gaps else (*LATER, GAPS)
    known = soften_errors(diagnostics, spec.accept)
    result = apply_severities(known, spec.accept)
    present = {d.code for d in known if d.severity is not Severity.ERROR}
    for index, entry in enumerate(spec.accept if planned else ()):
        if entry.code not in present and not entry.line and not entry.code.startswith(unasked):
            message = f"no warning here has the code {entry.code}, so accepting it has no effect"
            result.append(spec.warning("FAB2900", message, "accept", index, help="Remove the entry."))
    return result
