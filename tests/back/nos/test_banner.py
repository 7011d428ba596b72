"""A login banner of several lines: each system's file has them, and its reading is the planned fact."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.facts import join_banner, split_banner

if TYPE_CHECKING:
    from pathlib import Path

LINES = ["Authorized use only.", "All access (by anyone) is logged!", "Call the NOC, 24/7."]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPJVLzJPPfa5JpXKqwIjPVMEKmmRwvUFmwqyOYF1wYhG ops"
MANAGEMENT = {"network": "172.16.0.0/24", "banner": LINES, "users": [{"name": "ops", "ssh_key": KEY}]}


@pytest.mark.parametrize(
    ("model", "nos", "text"),
    [
        ("7060x6-64pe", "eos", "banner login\n{0}\n{1}\n{2}\nEOF\n"),
        ("9364d-gx2a", "nxos", "banner motd @\n{0}\n{1}\n{2}\n@\n"),
        ("qfx5240-64od", "junos", 'message "{0}\\n{1}\\n{2}";\n'),
        ("sn5600", "cumulus", ""),
        ("sn5600", "sonic", '"login": "{0}\\n{1}\\n{2}"'),
    ],
)
def test_a_banner_of_several_lines_is_read_back(model: str, nos: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    host = {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 8, "rails_per_tor": 0}
    spec = {"cluster": "z", "gpus": host, "tors": {"model": model, "nos": nos}, "management": MANAGEMENT}
    path.write_text(json.dumps(spec))
    compiled = compile_spec(path, gaps=False)
    assert compiled.fabric is not None
    switch = next(compiled.switches())
    back_end = back_ends.load(nos)
    files = back_end.render(switch)
    assert any(text.format(*LINES) in content for content in files.values())
    reading = back_end.read(files)
    assert reading.facts["management/banner"] == " | ".join(LINES)
    assert back_end.planned(switch)["management/banner"] == " | ".join(LINES)
    assert not [line for _, _, line in reading.unknown if LINES[2] in line]


@pytest.mark.parametrize("text", ["a\nb", "a\\nb", "\n  a \n b\n"])
def test_the_lines_of_a_banner_are_those_of_its_fact(text: str) -> None:
    assert split_banner(join_banner(text)) == ["a", "b"]
