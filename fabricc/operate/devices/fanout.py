"""The same work on many switches, a bounded number at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

R = TypeVar("R")


def for_each(names: Iterable[str], work: Callable[[str], R], workers: int) -> dict[str, R]:
    """What the work returned for every switch, in the order given.

    Args:
        names: the switches.
        work: called with a name in one of the threads; it must not raise.
        workers: how many at once, which bounds connections and memory.

    Raises:
        Exception: the work raised after all, which is a defect; every other switch was worked on.
    """
    wanted = list(names)
    with ThreadPoolExecutor(max(1, min(workers, len(wanted)))) as pool:
        begun = {name: pool.submit(work, name) for name in wanted}
    return {name: one.result() for name, one in begun.items()}
