"""Group findings of the same kind: the first few in full, then a count."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.rules.findings import without_repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.proof import Finding

SHOWN = 3


@dataclass(slots=True)
class FindingGroups:
    """Findings by code and group; memory does not grow with their number."""

    kept: dict[tuple[str, str], list[Finding]] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        for finding in findings:
            key = (finding.code, finding.group)
            self.counts[key] = self.counts.get(key, 0) + 1
            kept = self.kept.setdefault(key, [])
            kept.append(finding)
            if len(kept) > SHOWN:
                kept.sort(key=_sort_place)
                kept.pop()

    def add_counted(self, findings: list[Finding], more: int) -> None:
        """Add the first findings of one group, and the number of the others."""
        self.add(findings)
        self.counts[findings[0].code, findings[0].group] += more

    def merge(self, other: FindingGroups) -> None:
        """Add the groups of another process."""
        for key, count in other.counts.items():
            self.add(other.kept[key])
            self.counts[key] += count - len(other.kept[key])

    def by_code(self) -> Counter[str]:
        """Return code -> number of findings."""
        found: Counter[str] = Counter()
        for key, rest in self._without_repeats().items():
            found[key[0]] += self.counts[key] - len(self.kept[key]) + len(rest)
        return found

    def _without_repeats(self) -> dict[tuple[str, str], list[Finding]]:
        """Return the first findings of each group of which no other group shows the cause better."""
        rest = without_repeats(each for kept in self.kept.values() for each in kept)
        return group_pairs(((each.code, each.group), each) for each in rest)

    def diagnostics(self, tree: str) -> Iterator[Diagnostic]:
        """Yield the first findings of each group, the last with the number of the others; files are below `tree`.

        The order is that of their places, independent of the workers.
        """
        for key, rest in sorted(self._without_repeats().items()):
            kept = sorted(rest, key=_sort_place)
            more = self.counts[key] - len(self.kept[key])
            for index, finding in enumerate(kept):
                message = finding.message
                if more and index == len(kept) - 1:
                    message += f" (and {more:,} more like it)"
                place = Position(f"{tree}/{finding.file}", finding.line) if finding.line else None
                yield Diagnostic(finding.code, finding.severity, message, place, finding.help)


def _sort_place(finding: Finding) -> tuple[str, int, str]:
    return finding.file, finding.line, finding.message
