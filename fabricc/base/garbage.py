"""Pause the cyclic garbage collector while many objects without cycles are created.

An audit, or the ledger of a large build, creates millions of tuples without cycles. Collections that walk all of them
take about as long as creating them.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable the collector within the block, and restore its state afterwards."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
