"""The switches and software that terminate the routed VRFs of tenants over VXLAN, with sources."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.installation import load_package_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.catalog.model import SwitchModel

TABLE = Path(__file__).parent / "tenancy.yaml"


class Verdict(StrEnum):
    """The result of the sources for a combination."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    CONTRADICTED = "contradicted"


class Capability(NamedTuple):
    """A row of the table.

    Attributes:
        nos: the software, as specs name it.
        models: catalog names of switches; empty for all of `families`.
        families: ASIC families; with both empty the row is for every switch.
        reason: what is not known or denied, as a message has it; "" where verified.
        source: where this is documented.
    """

    nos: str
    models: tuple[str, ...]
    families: tuple[str, ...]
    verdict: Verdict
    reason: str
    source: str

    def covers(self, nos: str, model: SwitchModel) -> bool:
        """Return whether the row is about a switch with a NOS."""
        if self.nos != nos:
            return False
        if self.models:
            return model.name in self.models
        return not self.families or model.asic_family in self.families


@cache
def load_capabilities() -> Sequence[Capability]:
    """Return the rows; the first that covers a switch counts."""
    raw = load_package_yaml(TABLE)
    sources = raw["sources"]
    return [
        Capability(
            row["nos"],
            tuple(row.get("models", ())),
            tuple(row.get("families", ())),
            Verdict(row["verdict"]),
            row.get("reason", ""),
            sources[row["source"]] if "source" in row else "",
        )
        for row in raw["rows"]
    ]


def find_capability(nos: str, model: SwitchModel) -> Capability:
    """Return the row of a switch with a NOS; unverified where none covers it."""
    for row in load_capabilities():
        if row.covers(nos, model):
            return row
    reason = "no known source states that it terminates a routed VRF"
    return Capability(nos, (), (), Verdict.UNVERIFIED, reason, "")
