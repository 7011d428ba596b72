"""The result of a headroom formula: the figures, and every step to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fractions import Fraction


class Step(NamedTuple):
    """One intermediate result; `source` is the rule, or the origin of the figure."""

    label: str
    value: Fraction | int
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Computed:
    """Headroom by a formula, bytes.

    Attributes:
        name: family and version, for the worksheet.
        steps: the terms in the order of the formula.
        xoff_exact: before rounding.
    """

    name: str
    steps: tuple[Step, ...]
    xoff_exact: Fraction
    xoff_bytes: int
    xon_bytes: int
    size_bytes: int

    def step(self, label: str) -> Fraction | int:
        """Return the value of a step.

        Raises:
            KeyError: the formula has no such step.
        """
        for found in self.steps:
            if found.label == label:
                return found.value
        raise KeyError(label)
