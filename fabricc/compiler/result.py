"""The result of a build or of a check of a tree."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.front.planning.identity.repinning import RepinResult
    from fabricc.rules.answers import TopicResult

OK, WRONG, ENVIRONMENT = 0, 1, 3


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The outcome of one build or check.

    Attributes:
        tree: the output tree, or None when nothing could be written.
        diagnostics: everything found, in order of discovery.
        counts: devices, GPUs and cables, with the names of `Fabric.counts`.
        files: files in the tree; `written`, `removed`: numbers of files written and removed by this build.
        links: links whose two ends were compared.
        up_to_date: True if the inputs and every file are unchanged since the last build.
        proved: devices that this build read back, the others being proved before; None for all devices.
        lock_changed: True when the lock file was written.
        repinned: pins of the lock that this build changed, and the effect; None if none was requested.
        accounts: of a check: the results of the rules by topic.
    """

    cluster: str = ""
    tree: Path | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    written: int = 0
    removed: int = 0
    links: int = 0
    up_to_date: bool = False
    proved: int | None = None
    lock_changed: bool = False
    repinned: RepinResult | None = None
    accounts: tuple[TopicResult, ...] = ()

    @property
    def exit_status(self) -> int:
        """0 nothing wrong, 1 the input or the result is wrong, 3 the environment failed."""
        return exit_status(self.diagnostics)


def exit_status(diagnostics: Iterable[Diagnostic]) -> int:
    """Return the status that the findings call for; failures of the environment have codes FAB7…."""
    codes = {d.code for d in diagnostics if d.severity is Severity.ERROR}
    if any(code.startswith("FAB7") for code in codes):
        return ENVIRONMENT
    return WRONG if codes else OK


def counted_hosts(counts: Mapping[str, int]) -> str:
    """`32 hosts`; where some of all hosts have no GPUs, `32 hosts, 10 hosts without`."""
    without = counts.get("hosts_without_gpus", 0)
    others = f", {plural(without, 'host')} without" if without else ""
    return plural(counts["hosts"] - without, "host") + others
