"""Since which release a NOS runs on a box: releases compared as their makers count them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.catalog.model import SwitchModel


@lru_cache(maxsize=256)
def release_numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release in order: `202505`, `4.32.1F`, `10.5(2)F`, `23.4R2`."""
    return tuple(int(part) for part in re.findall(r"[0-9]{1,18}", release))


def runs_release(model: SwitchModel, nos: str, release: str) -> bool:
    """Return whether the release runs on the box; a model without a first release runs all."""
    since = model.support.get(nos)
    return since is None or release_numbers(release) >= release_numbers(since)


def oldest_release(model: SwitchModel, nos: str, releases: Sequence[str]) -> str | None:
    """The first of these releases, in ascending order, that runs on the box; None when none does."""
    return next((release for release in releases if runs_release(model, nos, release)), None)
