"""A spec without the size of a unit: the proposal fits the models at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("tor", "host", "more", "size"),
    [
        ("{model: sn5600, nos: sonic}", "dgx-h100", "", 32),
        ("{model: 7220-h5-32d, nos: sonic}", "dgx-b300", "", 16),
        ("{model: as9737-32db, nos: sonic-edgecore}", "mi325x-pollara", "", 16),
        ("{model: sn5600, nos: sonic}", "gb200-nvl72", "", 18),
        ("{model: 7060dx5-64s, nos: eos}", "dgx-b300", "planes: 2\n", 32),
        ("{model: sn5600, nos: sonic}", "of-a-file", "", 32),
    ],
)
def test_a_missing_size_of_a_unit_is_proposed_for_these_models(
    tor: str, host: str, more: str, size: int, tmp_path: Path
) -> None:
    spec = tmp_path / "cluster.yaml"
    text = f"cluster: x\ngpus: {{model: {host}, hosts: 64}}\ntors: {tor}\nspines: {tor}\n{more}"
    spec.write_text(text)
    (missing,) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB2003"]
    assert missing.help == f"Add `hosts_per_unit: {size}`."
    spec.write_text(text.replace("64}", f"64, hosts_per_unit: {size}}}"))
    assert compile_spec(spec).sound or host == "of-a-file"


@pytest.mark.parametrize(
    ("gpus", "tors", "size"),
    [
        ("hosts: 24", "{model: sn5600, nos: cumulus-5.15}", 24),
        ("hosts: 100, capacity: 144, rails_per_tor: 0", "{model: 7816lr4, nos: eos-4.36}", 144),
        ("hosts: 12, rails_per_tor: 0", "{model: sn5600, nos: cumulus-5.15, peer_links: 16}", 6),
        ("hosts: 12, rails_per_tor: 4", "{model: sn5600, nos: cumulus-5.15, peer_links: 16}", 12),
    ],
)
def test_all_hosts_are_one_unit_where_no_spines_join_several(
    gpus: str, tors: str, size: int, tmp_path: Path
) -> None:
    spec = tmp_path / "cluster.yaml"
    text = f"cluster: x\ngpus: {{model: hgx-h200, {gpus}}}\ntors: {tors}\n"
    spec.write_text(text)
    (missing,) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB2003"]
    assert missing.help == f"Add `hosts_per_unit: {size}`."
    spec.write_text(text.replace(gpus, f"{gpus}, hosts_per_unit: {size}"))
    found = {
        each.code for each in compile_spec(spec, gaps=False).diagnostics if each.severity.value == "error"
    }
    assert found <= {"FAB3052"}, "rails that meet in no switch, where the way out is named"
