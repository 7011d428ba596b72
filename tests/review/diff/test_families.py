"""A second address family, as every operating system accepts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.review.diff.fact_impact import judge_statement
from fabricc.review.diff.inputs import spec_side
from fabricc.review.diff.model import Impact
from fabricc.review.diff.run import Context, compare_sides

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.diff.model import Group

SPEC = """\
cluster: zone
gpus: {{model: dgx-h100, hosts: 4, hosts_per_unit: 4}}
tors: {{model: {model}, nos: {nos}, uplinks: 4}}
spines: {{model: {model}, nos: {nos}, count: 2}}
addressing: {{{addressing}}}
management:
  users:
    - name: netops
      ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJQ2zVZ1Yx8p0s6N9Y4vEw1H1uH0v0D1x2y3z4w5v6u7"
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
"""
SYSTEMS = [
    ("sn5400", "sonic-202505"),
    ("sn5400", "cumulus-5.11"),
    ("7060x6-64pe", "eos-4.33"),
    ("9364d-gx2a", "nxos-10.4"),
    ("qfx5240-64od", "junos-23.4"),
]


def compare_switches(folder: Path, model: str, nos: str, before: str, after: str) -> list[Group]:
    """Return what changes on switches from one addressing to the other."""
    spec = folder / "cluster.yaml"
    sides = []
    for addressing in (before, after):
        spec.write_text(SPEC.format(model=model, nos=nos, addressing=addressing))
        compiled = compile_spec(spec, repin=())
        assert compiled.sound, compiled.diagnostics
        spec.with_name("fabricc.lock").write_text(compiled.lock_text)
        sides.append(spec_side(addressing, compiled))
    return [group for group in compare_sides(*sides, Context()).groups if group.kind != "host"]


@pytest.mark.parametrize(("model", "nos"), SYSTEMS)
@pytest.mark.spread
def test_a_family_next_to_the_first_is_hitless_on_switches_and_its_end_is_not(
    tmp_path: Path, model: str, nos: str
) -> None:
    both = compare_switches(tmp_path, model, nos, "family: ipv4", "family: dual")
    assert {group.impact for group in both} == {Impact.HITLESS}
    assert not any(group.sessions for group in both)
    subjects = {line.statement.subject for group in both for line in group.lines}
    assert {"session[up] beside", "session[down] beside"} < subjects
    one = compare_switches(tmp_path, model, nos, "family: dual", "family: ipv6")
    assert {group.impact for group in one} == {Impact.TRAFFIC_LOSS}


@pytest.mark.parametrize(("model", "nos"), SYSTEMS)
@pytest.mark.spread
def test_a_family_more_on_an_unnumbered_session_is_agreed_in_a_new_one(
    tmp_path: Path, model: str, nos: str
) -> None:
    unnumbered = "fabric_links: unnumbered, family"
    found = compare_switches(tmp_path, model, nos, f"{unnumbered}: ipv4", f"{unnumbered}: dual")
    carries_both = nos.startswith("nxos")  # its sessions over IPv6 link-local have both from the beginning
    assert {group.impact for group in found} == {Impact.HITLESS if carries_both else Impact.SESSION_RESET}


@pytest.mark.parametrize("setting", ["ttl_security_hops", "families", "remote_asn"])
def test_added_session_settings_reset_the_session(setting: str) -> None:
    assert judge_statement(f"session[up]/{setting}", "+", "frr").impact >= Impact.SESSION_RESET
