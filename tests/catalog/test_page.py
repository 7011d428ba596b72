"""The generated page of hardware models has every model, module and part of the catalog."""

from __future__ import annotations

import pytest

from fabricc.catalog.load import load_catalog
from fabricc.catalog.optics import load_optics
from fabricc.cli.reference.models import render_models

CATALOG, _ = load_catalog()
PAGE = render_models()


def test_the_page_has_a_row_for_every_model() -> None:
    names = [*CATALOG.switches, *CATALOG.hosts, *CATALOG.nics]
    assert [name for name in names if f"\n| `{name}` | " not in PAGE] == []


def test_the_page_names_every_transceiver_and_part() -> None:
    table = load_optics()
    named = [module.title for module in table.transceivers]
    parts = (*table.transceivers, *table.assemblies, *table.fibres)
    named += [part.number for item in parts for part in item.parts]
    assert [name for name in named if name not in PAGE] == []


@pytest.mark.parametrize(
    "row",
    [
        "| `sn5600` | NVIDIA SN5600 | Spectrum-4 | 64x800G (2x400 2x200 2x100 4x200 4x100) "
        "| cumulus 5.9, frr 8.4, sonic 202305 | ACS-SN5600* |",
        "| `sn6810` | NVIDIA SN6810-LD | Spectrum-6 | 128x800G (2x400 4x200) | listed |  |",
        "| `q3400` | NVIDIA Quantum-X800 Q3400 (InfiniBand) | Quantum-X800 | 72x2x800G | XDR |",
        "| `mi355x-thor2` | AMD Instinct MI355X 8-GPU server, Thor2 | 8 AMD | 8 | 1x400G | `thor2` |",
        "| MMA1Z00-NS400 | 8 | 9 |",
    ],
)
def test_a_row_has_the_figures_of_the_catalog(row: str) -> None:
    assert f"\n{row}\n" in PAGE


def test_the_page_counts_the_switches() -> None:
    infiniband = sum(model.asic_family == "quantum" for model in CATALOG.switches.values())
    linux = sum(name.startswith("linux-") for name in CATALOG.switches)
    ethernet = len(CATALOG.switches) - infiniband - linux
    assert f"{ethernet} Ethernet switches, {infiniband} InfiniBand switches" in PAGE
