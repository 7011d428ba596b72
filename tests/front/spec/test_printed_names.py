"""Names as quotes and makers print them: a refusal gives the name of the catalog, or the word of the spec."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.catalog.library import find_printed_name, list_built_in
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path

BOX = {"model": "sn5600", "nos": "sonic"}


def helps(folder: Path, **sections: Any) -> str:
    path = folder / "cluster.yaml"
    spec = {
        "cluster": "quoted",
        "gpus": {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4},
        "tors": BOX,
        "spines": BOX,
    }
    path.write_text(json.dumps(spec | sections))
    return " ".join(
        each.help for each in compile_spec(path, gaps=False).diagnostics if each.severity.value == "error"
    )


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("DCS-7060X6-64PE-F", "7060x6-64pe"),
        ("DCS-7060X6-64PE-B-R", "7060x6-64pe-b"),
        ("N9K-C9364E-SG2-O", "9364e-sg2"),
        ("N9K-C9332D-GX2B", "9332d-gx2b"),
        ("Z9864F-ON", "z9864f"),
        ("QFX5240-64OD", "qfx5240-64od"),
        ("MSN4700-WS2FC", "sn4700"),
        ("AIS800-64O", ""),
        ("x" * 70, ""),
    ],
)
def test_a_part_number_contains_the_name_of_its_model(printed: str, name: str) -> None:
    assert find_printed_name(printed, list_built_in("switches")) == name


@pytest.mark.parametrize(
    ("sections", "word"),
    [
        ({"tors": {"model": "DCS-7060X6-64PE-F", "nos": "eos"}}, "'7060x6-64pe'"),
        ({"tors": {"model": "dcs-7060x6-64pe-f", "nos": "eos"}}, "Did you mean 7060x6-64pe?"),
        ({"gpus": {"model": "PowerEdge XE9680", "hosts": 8, "hosts_per_unit": 4}}, "'xe9680'"),
        ({"gpus": {"model": "NVIDIA DGX H100", "hosts": 8, "hosts_per_unit": 4}}, "'dgx-h100'"),
        ({"gpus": {"model": "dgx-h100", "nic": "bcm57608", "hosts": 8, "hosts_per_unit": 4}}, "thor2"),
        ({"tors": {"model": "9364d-gx2a", "nos": "nx-os 10.6(3)F"}}, "'nxos-10.6'"),
        ({"tors": {"model": "sn5600", "nos": "Cumulus Linux 5.16.1"}}, "'cumulus-5.16'"),
        ({"tors": {"model": "sn5600", "nos": "SONiC 202511"}}, "'sonic-202511'"),
        ({"load_balancing": {"mode": "adaptive"}}, "`mode: packet`"),
        ({"load_balancing": {"mode": "Packet Spraying"}}, "`mode: packet`"),
        ({"load_balancing": {"mode": "dlb"}}, "`mode: flowlet`"),
        ({"load_balancing": {"mode": "glb"}}, "global: true"),
        ({"load_balancing": {"mode": "ecmp"}}, "`mode: hash`"),
        ({"tors": {"model": "ds5000", "nos": "sonic"}}, "this ASIC: 7060x6-64de"),
    ],
)
def test_a_refusal_has_the_word_that_helps(sections: dict[str, Any], word: str, tmp_path: Path) -> None:
    assert word in helps(tmp_path, **sections)
