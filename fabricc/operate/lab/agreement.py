"""The results of a trial: predicted and observed facts, and the outcome of each failure."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.operate.lab.flows import Outage


@dataclass(slots=True)
class Check:
    """Facts of one kind.

    Attributes:
        group: part of the trial, such as `steady` or a failure's name.
        name: the kind of fact.
        predicted: the planned value, in words or figures.
        facts, agreed: number of facts compared, and of those that hold in the live network.
        wrong: the others, a sentence each.
    """

    group: str
    name: str
    predicted: str
    facts: int = 0
    agreed: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, agrees: bool, what: str) -> None:
        """Count one fact; `what` describes it when it does not agree."""
        self.facts += 1
        if agrees:
            self.agreed += 1
        else:
            self.wrong.append(what)


@dataclass(frozen=True, slots=True)
class Event:
    """One failure or change, and its way back.

    Attributes:
        name: what was done.
        paths: what remains of the paths where it matters most, as predicted and reached: `1 of 2`.
        settle_s: seconds until every kernel had the predicted next hops; None when they never did.
        outage: what the flows that are to survive saw while it happened.
        return_s, return_outage: the same for the way back; None when there is none.
        notice_s: how long the plan's timers allow it to go unnoticed; 0 when the light goes out.
    """

    name: str
    paths: str
    settle_s: float | None
    outage: Outage
    return_s: float | None
    return_outage: Outage | None
    notice_s: float = 0.0


@dataclass(slots=True)
class Trial:
    """Everything that was compared on one lab."""

    cluster: str
    frr: str
    switches: int
    hosts: int
    boot_s: float | None
    memory_kib: dict[str, int]
    differences: tuple[str, ...] = ()
    overlay: tuple[str, ...] = ()
    checks: list[Check] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def check(self, group: str, name: str, predicted: str) -> Check:
        """Add a kind of fact."""
        made = Check(group, name, predicted)
        self.checks.append(made)
        return made

    def settles(self, group: str, settled_s: float | None, limit_s: float) -> None:
        """Check that the predicted next hops were reached within the limit."""
        check = self.check(group, "next hops settle", "as predicted")
        check.add(settled_s is not None, f"not within {limit_s:.0f} s")

    @property
    def facts(self) -> int:
        """Facts compared."""
        return sum(check.facts for check in self.checks)

    @property
    def agreed(self) -> int:
        """Facts on which plan and live network agree."""
        return sum(check.agreed for check in self.checks)

    @property
    def wrong(self) -> Sequence[Check]:
        """Kinds of fact with a disagreement."""
        return [check for check in self.checks if check.agreed != check.facts]
