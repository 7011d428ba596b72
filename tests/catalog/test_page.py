"""The tables of switches on the catalog's page are the catalog; `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.catalog import load_catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.catalog.model import CageGroup, SwitchModel

CATALOG, _ = load_catalog()
PAGE = Path(__file__).parents[2] / "docs" / "hardware.md"
HEADS = {
    "### Ethernet switches": (
        "| key | switch | ASIC | fabric cages (splits) | systems, since | SONiC hwsku |"
    ),
    "### InfiniBand switches": "| key | switch | ASIC | cages (splits) | generation |",
}


def cages(group: CageGroup) -> str:
    whole = [use for use in group.breakouts if use.children == 1] or [group.breakouts[0]]
    best = max(whole, key=lambda use: use.speed_gbps)
    splits = " ".join(f"{use.children}x{use.speed_gbps}" for use in group.breakouts if use.children > 1)
    twin = f"{best.children}x" if best.children > 1 else ""
    return f"{group.count}x{twin}{best.speed_gbps}G" + (f" ({splits})" if splits and not twin else "")


def row(name: str, model: SwitchModel) -> str:
    panel = " + ".join(cages(group) for group in model.cages if group.fabric)
    cells = [f"`{name}`", model.title, model.asic, panel]
    if model.asic_family == "quantum":
        generation = model.nos["infiniband"]["generation"] if model.nos else "listed"
        cells.append(generation)
    else:
        systems = ", ".join(f"{nos} {model.support.get(nos, '')}".strip() for nos in sorted(model.nos))
        sonic = model.nos.get("sonic", {})
        table = "*" if "lookup" in sonic.get("sku", {}) else ""
        cells += [systems or "listed", f"{sonic['hwsku']}{table}" if sonic else ""]
    return "| " + " | ".join(cells) + " |"


def table(heading: str) -> list[str]:
    infiniband = "InfiniBand" in heading
    models = [
        row(name, model)
        for name, model in sorted(CATALOG.switches.items())
        if (model.asic_family == "quantum") == infiniband
    ]
    head = HEADS[heading]
    return [head, "|" + "---|" * (head.count("|") - 1), *models]


def stated(heading: str, lines: list[str]) -> tuple[int, int]:
    """The lines of the table under a heading, as (first, behind the last)."""
    first = next(at for at in range(lines.index(heading), len(lines)) if lines[at].startswith("|"))
    return first, next(at for at in range(first, len(lines)) if not lines[at].startswith("|"))


@pytest.mark.parametrize("heading", HEADS)
def test_the_table_is_the_catalog(heading: str) -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    first, last = stated(heading, lines)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text("\n".join([*lines[:first], *table(heading), *lines[last:]]) + "\n", "utf-8")
        return
    assert lines[first:last] == table(heading)


def numbers() -> Iterator[int]:
    infiniband = sum(model.asic_family == "quantum" for model in CATALOG.switches.values())
    linux = sum(name.startswith("linux-") for name in CATALOG.switches)
    yield from (len(CATALOG.switches) - infiniband - linux, infiniband)


def test_the_page_says_how_many_there_are() -> None:
    text = PAGE.read_text("utf-8")
    ethernet, infiniband = numbers()
    assert f"{ethernet} Ethernet and {infiniband} InfiniBand switches" in text
