"""A remedy names a headroom pool only where the system of the switch sets its size, and what it names plans."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec

SPEC = """\
cluster: long
gpus: {{model: dgx-h100, hosts: 128, hosts_per_unit: 32}}
tors: {{model: sn5600, nos: {nos}}}
spines: {{model: sn5600, nos: {nos}}}
cables: {{spine: {{length_m: {metres}, medium: smf}}}}
priorities: {{rdma: {{dscp: 26, lossless: true}}, cnp: {{dscp: 48, strict: true}}}}
{more}
"""
POOL = "headroom_oversubscription"


def find_errors(folder: Path, nos: str, metres: int, more: str = "") -> dict[str, str]:
    spec = folder / "cluster.yaml"
    spec.write_text(SPEC.format(nos=nos, metres=metres, more=more))
    return {d.code: d.help for d in compile_spec(spec).diagnostics if d.severity is Severity.ERROR}


@pytest.mark.parametrize(("nos", "pooled"), [("sonic", True), ("cumulus-5.15", False)])
def test_suggested_cable_length_can_be_planned(tmp_path: Path, nos: str, pooled: bool) -> None:
    help_ = find_errors(tmp_path, nos, 2000)["FAB4003"]
    assert (POOL in help_) is pooled
    longest = int(re.search(r"cables of (\d+) m", help_)[1])  # type: ignore[index]
    assert "FAB4003" not in find_errors(tmp_path, nos, longest)
    if pooled:
        ratio = re.search(rf"{POOL}: (\d+)", help_)[1]  # type: ignore[index]
        assert "FAB4003" not in find_errors(tmp_path, nos, 2000, f"buffers: {{{POOL}: {ratio}}}")


def test_a_pool_on_cumulus_is_refused_with_the_key_to_remove(tmp_path: Path) -> None:
    assert (
        f"`buffers.{POOL}`" in find_errors(tmp_path, "cumulus-5.15", 40, f"buffers: {{{POOL}: 2}}")["FAB5706"]
    )
