"""Known problems of switches in the field: on which systems and ASICs, under which condition, and the way out."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.installation import load_package_yaml
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).parent / "field-problems.yaml"

ONE_LOSSLESS_CLASS, MARKED_LOSSLESS_CLASSES = "one-lossless-class", "marked-lossless-classes"
LOSSLESS_CLASSES, MARKED_LOSSLESS_CLASS, WATCHDOG = "lossless-classes", "marked-lossless-class", "watchdog"
ROUTED_TUNNELS = "routed-tunnels"
ANY_FABRIC = "any-fabric"
CONDITIONS = (
    LOSSLESS_CLASSES,
    ONE_LOSSLESS_CLASS,
    MARKED_LOSSLESS_CLASS,
    MARKED_LOSSLESS_CLASSES,
    WATCHDOG,
    ROUTED_TUNNELS,
    ANY_FABRIC,
)


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A known problem.

    Attributes:
        systems: the network operating systems that have it.
        releases: system -> its releases that have it; a system without a row has it in all.
        asics: the families of ASICs that have it; empty for all.
        when: the condition in a fabric, one of `CONDITIONS`.
        problem, way_out: what happens, and what avoids it.
        source: who reports it.
    """

    name: str
    systems: tuple[str, ...]
    releases: Mapping[str, tuple[str, ...]]
    asics: tuple[str, ...]
    when: str
    problem: str
    way_out: str
    source: str

    def affects(self, nos: str, release: str, asic_family: str) -> bool:
        """Return whether a switch of this system, release and family of ASICs has the problem."""
        if nos not in self.systems or release not in self.releases.get(nos, (release,)):
            return False
        return not self.asics or asic_family in self.asics


@cache
def load_field_problems() -> tuple[FieldProblem, ...]:
    """Return the known problems."""
    return tuple(
        FieldProblem(
            name,
            tuple(raw["systems"]),
            {nos: tuple(releases) for nos, releases in raw.get("releases", {}).items()},
            tuple(raw["asics"]),
            raw["when"],
            raw["problem"],
            raw["way_out"],
            raw["source"],
        )
        for name, raw in load_package_yaml(TABLE)["problems"].items()
    )
