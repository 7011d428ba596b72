"""Load balancing by system, ASIC, speed and release: `docs/load-balancing.md` compared with the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec

SPEC = """\
cluster: t
gpus: {{model: {host}, hosts: 16, hosts_per_unit: 16}}
tors: {{model: {model}, nos: {nos}{more}}}
spines: {{model: {model}, nos: {nos}}}
load_balancing: {{mode: {mode}}}
priorities: {{rdma: {{dscp: 26, lossless: true}}}}
"""
LOAD_BALANCING = {"FAB5117", "FAB5208", "FAB5324", "FAB5418", "FAB5523", "FAB5525", "FAB5720", "FAB5721"}


def list_findings(folder: Path, mode: str, model: str, nos: str, more: str = "", host: str = "dgx-h100"):
    spec = folder / "cluster.yaml"
    spec.write_text(SPEC.format(host=host, model=model, nos=nos, more=more, mode=mode))
    return compile_spec(spec).diagnostics


@pytest.mark.parametrize(
    ("mode", "model", "nos", "more", "refused"),
    [
        ("packet", "sn5600", "cumulus", "", "FAB5720"),
        ("packet", "sn5600", "cumulus", ", uplink_gbps: 400", ""),
        ("packet", "sn5640", "cumulus-5.18", "", "FAB5720"),
        ("packet", "sn5640", "cumulus-5.19", "", ""),
        ("flowlet", "sn5600", "cumulus", "", "FAB5721"),
        ("packet", "7060x6-64pe", "eos", ", uplink_gbps: 400", ""),
        ("packet", "9364d-gx2a", "nxos-10.5", "", ""),
        ("packet", "9364d-gx2a", "nxos-10.4", "", "FAB5418"),
        ("packet", "9364e-sg2", "nxos", "", "FAB5418"),
        ("packet", "sn5600", "sonic-202605", "", "FAB5324"),
    ],
)
def test_a_mode_is_accepted_or_refused_as_the_page_states(
    tmp_path: Path, mode: str, model: str, nos: str, more: str, refused: str
) -> None:
    found = [each for each in list_findings(tmp_path, mode, model, nos, more) if each.code in LOAD_BALANCING]
    errors = {each.code for each in found if each.severity is Severity.ERROR}
    assert errors == ({refused} if refused else set())
    assert all("`mode: hash`" in each.help or "`hash`" in each.help for each in found if each.code in errors)


def test_a_refused_hash_of_queue_pairs_is_left_out(tmp_path: Path) -> None:
    found = [
        e
        for e in list_findings(tmp_path, "hash, queue_pairs: true", "sn5600", "sonic-202605")
        if e.code == "FAB5324"
    ]
    assert all(each.help.startswith("Leave `queue_pairs` out") for each in found)
    assert "has no field of the RoCE transport header" in found[0].message
    assert not [e for e in list_findings(tmp_path, "hash", "sn5600", "sonic-202605") if e.code == "FAB5324"]


def test_the_refusal_on_800g_names_the_key_that_builds(tmp_path: Path) -> None:
    (first, *_) = [e for e in list_findings(tmp_path, "packet", "sn5600", "cumulus") if e.code == "FAB5720"]
    assert "`tors.uplink_gbps: 400`" in first.help


@pytest.mark.parametrize(
    ("model", "way"),
    [("sn5640", "Use release 5.19 or later, or `mode: hash`."), ("sn4700", "Use `mode: hash`.")],
)
def test_adaptive_routing_leads_to_what_the_asic_has(model: str, way: str, tmp_path: Path) -> None:
    found = [e for e in list_findings(tmp_path, "packet", model, "cumulus-5.18") if e.code == "FAB5720"]
    assert {each.help for each in found} == {way}


@pytest.mark.parametrize(("host", "warned"), [("dgx-h100", False), ("mi355x-thor2", True)])
def test_packet_spreading_requires_nic_reordering(tmp_path: Path, host: str, warned: bool) -> None:
    found = list_findings(tmp_path, "packet", "sn5600", "cumulus", ", uplink_gbps: 400", host)
    assert ("FAB3351" in {each.code for each in found}) is warned


@pytest.mark.parametrize("mode", ["flowlet", "cluster"])
@pytest.mark.parametrize(
    ("model", "nos", "more", "remedy"),
    [
        ("sn4700", "cumulus-5.18", "", "Use `mode: hash`."),
        ("sn5600", "cumulus", "", "Use `mode: hash`, or `packet` with `tors.uplink_gbps` of 200 or 400."),
        ("sn5600", "cumulus", ", uplink_gbps: 400", "Use `mode: packet` or `hash`."),
        ("sn5640", "cumulus-5.18", "", "Use `mode: hash`, or `packet` with release 5.19 or later."),
        ("sn5640", "cumulus-5.19", "", "Use `mode: packet` or `hash`."),
    ],
)
def test_the_modes_of_a_spectrum_in_place_of_another_are_its_own(
    tmp_path: Path, mode: str, model: str, nos: str, more: str, remedy: str
) -> None:
    (first, *_) = [e for e in list_findings(tmp_path, mode, model, nos, more) if e.code == "FAB5721"]
    assert first.help.partition("\n")[0] == remedy


@pytest.mark.parametrize(
    ("model", "nos", "refused"),
    [
        ("qfx5240-64od", "junos-24.4", ""),
        ("qfx5230-64cd", "junos-24.4", "FAB5525"),
        ("7060x6-64pe", "eos", "FAB5117"),
        ("9364d-gx2a", "nxos-10.5", "FAB5418"),
        ("sn5600", "cumulus", "FAB5721"),
        ("sn5600", "sonic-202605", "FAB5324"),
    ],
)
def test_flows_move_without_a_pause_on_switches_that_document_it(
    tmp_path: Path, model: str, nos: str, refused: str
) -> None:
    found = list_findings(tmp_path, "flowlet, reassignment: {}", model, nos)
    errors = {each.code for each in found if each.severity is Severity.ERROR and each.code in LOAD_BALANCING}
    assert errors == ({refused} if refused else set())


@pytest.mark.parametrize(("host", "warned"), [("dgx-h100", False), ("mi355x-thor2", True)])
def test_flowlet_reassignment_without_a_pause_requires_nic_reordering(
    tmp_path: Path, host: str, warned: bool
) -> None:
    found = list_findings(tmp_path, "flowlet, reassignment: {}", "qfx5240-64od", "junos-24.4", "", host)
    assert ("FAB3351" in {each.code for each in found}) is warned
    assert "FAB2043" not in {each.code for each in found}


def test_moves_belong_to_flowlets(tmp_path: Path) -> None:
    found = list_findings(tmp_path, "packet, reassignment: {}", "qfx5240-64od", "junos-24.4")
    assert "FAB2043" in {each.code for each in found}
