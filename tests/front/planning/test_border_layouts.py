"""Border leaves have no ports down, and are a group that the spec does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.cli.entry import run

RACKS = """\
cluster: lab
gpus: {model: gb200-nvl72, racks: [a01, a02, a03], hosts_per_rack: 2, hosts_per_unit: 2}
tors: {model: sn5600, nos: sonic-202505, border: 1%s}
spines: {model: sn5600, nos: sonic-202505}
priorities: {default: {}}
"""
GROUPS = """\
cluster: lab
gpus:
  groups:
    - {name: gpu, model: dgx-b200, hosts: 4, hosts_per_unit: 2, os: dgx-os}
    - {name: aux, model: storage-2x400, hosts: 2, hosts_per_unit: 1}
  capacity: 8
  os: ubuntu-24.04
tors: {model: sn5600, nos: sonic-202505, border: 1, n_minus_1: true}
spines: {model: sn5600, nos: sonic-202505}
priorities: {default: {}}
"""


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        (RACKS % ", n_minus_1: true", 1, "FAB3024"),
        (RACKS % "" + "overrides: {border01a: {model: sn5610}}\n", 0, ""),
        (GROUPS, 1, "FAB3024"),
    ],
)
def test_a_spec_with_border_leaves_is_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, status: int, code: str
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(text, "utf-8")
    assert run(["validate", str(spec)]) == status
    streams = capsys.readouterr()
    assert code in streams.out + streams.err
    assert "FAB7999" not in streams.out + streams.err
