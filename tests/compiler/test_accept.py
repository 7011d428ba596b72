"""A fabric that is not lossless in the worst case stops a build unless the spec accepts it with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from tests.compiler.test_network_ways_out import MARKED, STORAGE_OUT, spec_text
from tests.compiler.test_networks import compile_text, find_codes

SPEC = """\
cluster: bet
gpus: {{hosts: 64, model: dgx-b200, wiring: rail, hosts_per_unit: 32}}
tors: {{model: {tor}, nos: {nos}, oversubscription: 1.0}}
spines: {{model: {tor}, nos: {nos}}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  storage: {{dscp: 34, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
cables: {{host: {{length_m: 300, medium: smf}}, spine: {{length_m: 300, medium: smf}}}}
catalog: [own.yaml]
{accept}
"""
SMALL = """\
switches:
  small:
    extends: z9664f
    buffers:
      pools:
        source: a sheet
        ingress_lossless_bytes: 113620296
        headroom_bytes: 10000000
        egress_lossless_bytes: 113620296
        egress_lossy_bytes: null
        egress_lossless_static: true
        size_includes_headroom: true
"""
SHORT = """\
tables:
  short:
    source: a sheet
    columns: [speed_gbps, cable_m, size_bytes, xon_bytes, xoff_bytes, dynamic_th, xon_offset_bytes]
    rows: [[400, 300, 9144, 9144, 90000, 0, 9144]]
switches:
  small: {extends: z9664f, buffers: {headroom: [{table: short}]}}
"""
CASES = {"FAB4004": ("sonic-202505", SMALL), "FAB5650": ("sonic-202505", SHORT)}


def find_severities(folder: Path, code: str, accept: str) -> set[Severity]:
    nos, own = CASES[code]
    Path(folder, "own.yaml").write_text(own)
    spec = Path(folder, "cluster.yaml")
    spec.write_text(SPEC.format(tor="small", nos=nos, accept=accept))
    found = compile_spec(spec).diagnostics
    return {d.severity for d in found if d.code == code}


@pytest.mark.parametrize("code", CASES)
def test_it_is_an_error_until_the_spec_accepts_it_with_a_reason(tmp_path: Path, code: str) -> None:
    assert find_severities(tmp_path, code, "") == {Severity.ERROR}
    accept = f"accept: [{{code: {code}, reason: a lab where loss does not matter}}]"
    assert find_severities(tmp_path, code, accept) == {Severity.NOTE}


def test_acceptances_hold_when_a_network_cannot_be_planned(tmp_path: Path) -> None:
    fit = spec_text(STORAGE_OUT)
    unfit = fit.replace(
        "oversubscription: 2.0}\n    spines: {model: 7060", "uplinks: 40}\n    spines: {model: 7060"
    )
    assert find_codes(compile_text(tmp_path, fit + MARKED)) == []
    assert "FAB5725" in find_codes(compile_text(tmp_path, unfit))
    stopped = find_codes(compile_text(tmp_path, unfit + MARKED))
    assert stopped
    assert "FAB5725" not in stopped
