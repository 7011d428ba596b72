"""Weights of traffic classes: shares of what strict classes leave, for Ethernet queues and virtual lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.front.spec.document import join_words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fabricc.front.spec.document import Findings


def check_weights(stated: Mapping[str, int | None], strict: Collection[str], findings: Findings) -> None:
    """FAB2019 for a weight on a strict class, FAB2021 for weights of the others that cannot be shares of 100 %.

    `stated`: percent by class, None where the spec leaves it to be computed. `strict` classes are served before all
    others.
    """
    for name in sorted(strict):
        if stated.get(name) is not None:
            message = f"'{name}' is strict, so a weight means nothing"
            help_ = "Remove `weight_percent` or `strict`."
            findings.error("FAB2019", message, "priorities", name, "weight_percent", help=help_)
    weights = {name: share for name, share in stated.items() if share is not None and name not in strict}
    unweighted = [name for name, share in stated.items() if share is None and name not in strict]
    total = sum(weights.values())
    if total > 100 or (total == 100 and unweighted):
        message = f"the weights add up to {total} %"
        if unweighted:
            message += f" and leave nothing for {join_words([repr(name) for name in unweighted], 'and')}"
        largest = max(weights, key=lambda name: (weights[name], name))
        help_ = f"They may add up to {100 - len(unweighted)} % at most."
        findings.error("FAB2021", message, "priorities", largest, "weight_percent", help=help_)
    elif weights and not unweighted and total < 100:
        message = f"the weights add up to {total} %, not 100 %"
        help_ = f"Raise one by {100 - total}, or leave one out to be computed."
        findings.error("FAB2021", message, "priorities", next(iter(weights)), "weight_percent", help=help_)
