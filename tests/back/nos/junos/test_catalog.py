"""A user's catalog file may set what Junos needs of a model, and a wrong word in it is named where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.catalog import load_catalog

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "switches:\n  own:\n    extends: qfx5220-32cd\n    nos:\n      junos:\n"
RIGHT = HEAD + (
    '        assumed: true\n        reason: an older release\n        flavour: classic\n        port: "et-0/0/{cage}"\n'
    '        child: "et-0/0/{cage}:{child}"\n'
    "        lossless_percent: 66\n        headroom_percent: 24\n        lossy_percent: 10\n"
    "        dedicated_ingress_percent: 15\n        dedicated_egress_percent: 30\n        cnp_percent: 5\n"
    "        bfd_least_ms: 1000\n        buffer_monitor: true\n"
)


def test_every_setting_of_the_back_end_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(RIGHT, encoding="utf-8")
    catalog, diagnostics = load_catalog([file])
    assert diagnostics == ()
    settings = catalog.switches["own"].nos["junos"]
    assert settings["flavour"] == "classic"
    assert settings["headroom_percent"] == 24


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("flavour: classic", "flavour: evolved", 8),
        ("flavour: classic", "flavor: classic", 8),
        ("lossy_percent: 10", "lossy_percent: 110", 13),
        ("        lossy_percent: 10\n", "", 5),
        ("dedicated_egress_percent: 30", "dedicated_egress_percent: 10", 15),
        ("        dedicated_egress_percent: 30\n", "", 5),
        ('child: "et-0/0/{cage}:{child}"', 'child: "et-0/0/{port}"', 10),
    ],
)
def test_a_wrong_setting_is_named_where_it_stands(tmp_path: Path, right: str, wrong: str, line: int) -> None:
    file = tmp_path / "own.yaml"
    assert right in RIGHT
    file.write_text(RIGHT.replace(right, wrong), encoding="utf-8")
    _, diagnostics = load_catalog([file])
    assert [(d.code, d.position.line) for d in diagnostics if d.position] == [("FAB2103", line)]
