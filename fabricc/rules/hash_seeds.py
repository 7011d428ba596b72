"""Find switches that hash with the seed of the tier below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.facts.device import Tier
from fabricc.rules.inputs import Input
from fabricc.rules.rule import OTHER, FabricRule, Report
from fabricc.rules.sessions import UPPER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.rules.rule import Switches

SEEDS = "FAB9670"


def _hash_seeds(fabric: Switches) -> Iterator[Report]:
    used = {(each.tier, each.seed[1]) for each in fabric.summaries.values() if each.seed is not None}
    for name, summary in sorted(fabric.summaries.items()):
        if summary.tier not in UPPER or summary.seed is None:
            continue
        path, seed = summary.seed
        lower = Tier.TOR if summary.tier is Tier.SPINE else Tier.SPINE
        if (lower, seed) not in used:
            continue
        below = {
            other.seed[1]: each
            for each in sorted(fabric.linked(name))
            if (other := fabric.summaries.get(each)) and other.tier is lower and other.seed is not None
        }
        if seed in below:
            message = (
                f"{name} hashes with the seed {seed}, as {below[seed]} below it does: flows that one switch puts on a "
                "link are put on one link again"
            )
            remedy = "Give each tier a hash seed of its own."
            yield Report(SEEDS, name, (path,), message, "hash seed", Severity.WARNING, remedy)


RULES = (FabricRule(SEEDS, OTHER, (Input.HASH_SEED,), _hash_seeds),)
