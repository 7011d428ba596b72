"""Known problems of switches in the field: on which systems and ASICs, under which condition, and the way out."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fabricc.base.documents.package_yaml import load_package_yaml
from fabricc.base.values import dataclass

TABLE = Path(__file__).parent / "field-problems.yaml"

ONE_LOSSLESS_CLASS, MARKED_LOSSLESS_CLASSES = "one-lossless-class", "marked-lossless-classes"
CONDITIONS = (ONE_LOSSLESS_CLASS, MARKED_LOSSLESS_CLASSES)


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A known problem.

    Attributes:
        systems: the network operating systems that have it.
        asics: the families of ASICs that have it; empty for all.
        when: the condition in a fabric, one of `CONDITIONS`.
        problem, way_out: what happens, and what avoids it.
        source: who reports it.
    """

    name: str
    systems: tuple[str, ...]
    asics: tuple[str, ...]
    when: str
    problem: str
    way_out: str
    source: str

    def affects(self, nos: str, asic_family: str) -> bool:
        """Whether a switch of this system and family of ASICs has the problem."""
        return nos in self.systems and (not self.asics or asic_family in self.asics)


@cache
def load_field_problems() -> tuple[FieldProblem, ...]:
    """Return the known problems."""
    return tuple(
        FieldProblem(
            name,
            tuple(raw["systems"]),
            tuple(raw["asics"]),
            raw["when"],
            raw["problem"],
            raw["way_out"],
            raw["source"],
        )
        for name, raw in load_package_yaml(TABLE)["problems"].items()
    )
