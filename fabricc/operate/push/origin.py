"""Record the inputs of a run's tree, for later runs."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Origin(NamedTuple):
    """The inputs of a run's tree.

    Attributes:
        state: digest of all that it is built from.
        unsent: code points that nobody sends by it.
    """

    state: str = ""
    unsent: frozenset[int] = frozenset()

    @staticmethod
    def of(stated: Mapping[str, Any]) -> Origin:
        """As `stated` gives it.

        Raises:
            ValueError: it is no such thing.
        """
        state, unsent = stated.get("state", ""), stated.get("unsent", [])
        points = isinstance(unsent, list) and all(isinstance(one, int) for one in unsent)
        if not isinstance(state, str) or not points:
            raise ValueError("the record of a run about its tree has another form")
        return Origin(state, frozenset(unsent))

    def stated(self) -> dict[str, Any]:
        """As a run keeps it."""
        return {"state": self.state, "unsent": sorted(self.unsent)}


def compute_state(inputs: Mapping[str, str]) -> str:
    """Return one digest (SHA-256, hex) of all that a tree is built from, as its manifest lists it."""
    return hashlib.sha256(json.dumps(sorted(inputs.items())).encode()).hexdigest()
