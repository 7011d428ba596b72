"""Accounts are in one section of the spec: their absence is reported once, not for each tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path

GAPS = {"FAB5843", "FAB5716"}
SPEC = """\
cluster: m
gpus: {{model: dgx-h100, hosts: 16, hosts_per_unit: 8}}
tors: {{model: {tor}, nos: {nos}}}
spines: {{model: {spine}, nos: {nos}}}
priorities: {{rdma: {{dscp: 26, lossless: true}}, cnp: {{dscp: 48, strict: true}}, default: {{}}}}
"""


@pytest.mark.parametrize(
    ("nos", "tor", "spine", "code"),
    [
        ("eos-4.33", "7060x6-64pe", "7060x6-64pe", "FAB5115"),
        ("eos-4.33", "7060x6-64pe", "7060dx5-64s", "FAB5115"),
        ("junos-24.4", "qfx5240-64od", "qfx5240-64od", "FAB5513"),
        ("nxos-10.5", "9364e-sg2", "9364e-sg2", "FAB5415"),
        ("cumulus-5.13", "sn5600", "sn5600", "FAB5716"),
    ],
)
def test_missing_accounts_are_reported_once(
    tmp_path: Path, nos: str, tor: str, spine: str, code: str
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(SPEC.format(nos=nos, tor=tor, spine=spine))
    codes = [each.code for each in compile_spec(path, ethernet_only=True).diagnostics]
    assert codes.count(code) == 1, codes


def test_what_one_section_causes_is_reported_once_for_all_networks(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    tiers = "tors: {model: sn5600, nos: cumulus}, spines: {model: sn5600, nos: cumulus, count: 2}"
    networks = f"networks:\n  storage: {{{tiers}, priorities: {{default: {{}}}}}}\n"
    management = "management:\n  network: 172.16.0.0/16\n"
    path.write_text(SPEC.format(nos="cumulus", tor="sn5600", spine="sn5600") + management + networks)
    found = compile_spec(path, ethernet_only=True).diagnostics
    places = [(each.code, each.position and each.position.line) for each in found if each.code in GAPS]
    assert places == [("FAB5843", 6), ("FAB5716", 6)]
