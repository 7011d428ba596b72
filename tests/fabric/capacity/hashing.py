"""Traffic that every switch hashes evenly over its next hops, link by link: an independent check of even hashing."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.model import CableRow


class Hashing:
    """Links between switches, lower and upper, and where traffic goes on them: up, then down, never up again."""

    def __init__(self, cables: Iterable[CableRow]) -> None:
        self.up: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.down: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for cable in cables:
            if cable.kind != "host":
                self.up[cable.a_device][cable.b_device] += 1
                self.down[cable.b_device][cable.a_device] += 1

    def loads(self, source: str, target: str) -> Counter[tuple[str, str]] | None:
        """The load of each link between two switches, for one unit of traffic; None where there is no path."""

        @cache
        def falls(switch: str) -> bool:
            return switch == target or any(falls(below) for below in self.down[switch])

        @cache
        def distance(switch: str) -> int:
            """Hops upward until the target is below."""
            return 0 if falls(switch) else 1 + min((distance(above) for above in self.up[switch]), default=99)

        if distance(source) >= 99:
            return None
        found: Counter[tuple[str, str]] = Counter()
        waiting: list[tuple[str, Fraction]] = [(source, Fraction(1))]
        while waiting:
            switch, amount = waiting.pop()
            if switch == target:
                continue
            if falls(switch):
                hops = {below: n for below, n in self.down[switch].items() if falls(below)}
            else:
                near = min(distance(above) for above in self.up[switch])
                hops = {above: n for above, n in self.up[switch].items() if distance(above) == near}
            for hop, links in hops.items():
                each = amount / sum(hops.values())
                found[switch, hop] += each  # type: ignore[assignment]
                waiting.append((hop, each * links))
        return found


def even_capacity(loads: Counter[tuple[str, str]], links: Iterable[tuple[str, str]]) -> Fraction:
    """The traffic at which the busiest of some links is full, in links; each link of a pair has the same load."""
    return 1 / max(Fraction(loads[pair]) for pair in links)
