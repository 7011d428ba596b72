"""Builds of a system by vendors: a spec names them, and gets the community files with the published differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.catalog.support import explain_release, find_flavor, load_flavors, name_systems, nearest_release
from fabricc.compiler.compiled import compile_spec

SPEC = """\
cluster: t
gpus: {{model: dgx-h100, hosts: 16, hosts_per_unit: 16}}
tors: {{model: {model}, nos: {nos}}}
spines: {{model: {model}, nos: {nos}}}
priorities: {{rdma: {{dscp: 26, lossless: true}}}}
"""


def test_every_flavor_is_of_a_system_and_names_its_differences_with_a_source() -> None:
    words = [word for flavor in load_flavors().values() for word in (flavor.name, *flavor.also)]
    assert len(words) == len(set(words))
    for flavor in load_flavors().values():
        assert flavor.system in back_ends.list_names()
        assert all((flavor.title, flavor.differences, flavor.source))


@pytest.mark.parametrize(
    ("printed", "names"),
    [
        ("enterprise-sonic-4.4", "sonic-enterprise-4.4"),
        ("dell-sonic", "sonic-enterprise"),
        ("enterprise-4.2", "sonic-enterprise-4.2"),
        ("edgecore-sonic-202311", "sonic-edgecore-202311"),
        ("ecsonic-202311", "sonic-edgecore-202311"),
        ("Edgecore-SONiC_202311.3_ec202311_326", "sonic-edgecore-202311"),
        ("SONiC Software Version: SONiC-OS-4.5.0-Enterprise_Premium", "sonic-enterprise-4.5.0"),
        ("4.3.0-Enterprise_Standard", "sonic-enterprise-4.3"),
        ("sonic-4.5.0", "sonic-enterprise-4.5"),
        ("SONiC.20251110.05", "sonic-202511"),
        ("sonic-20261130", "sonic-202611"),
        ("20241110.kw.24", "sonic-202411"),
        ("SONiC Software Version: SONiC.202505.1-abcdef", "sonic-202505"),
        ("SONiC.202411_RC.33-2f37a8a15_Internal", "sonic-202411"),
        ("NXOS: version 10.6(2) [Feature Release]", "nxos-10.6"),
        ("10.6(2)F", "nxos-10.6"),
        ("nxos64-cs.10.6.2.F.bin", "nxos-10.6"),
        ("Junos: 25.4R1-S1-EVO", "junos-25.4"),
        ("junos-evo-install-qfx-ms-x86-64-25.4R1-S1-EVO.iso", "junos-25.4"),
        ("Software image version: 4.36.1F", "eos-4.36"),
        ("EOS64-4.34.2F.swi", "eos-4.34"),
        ("NVIDIA Cumulus Linux 5.17.0", "cumulus-5.17"),
        ("5.17.0", "cumulus-5.17"),
        ("FRRouting 10.6.1 (host) on Linux(6.8.0)", "frr-10.6"),
        ("frr_10.6.1-0~deb12u1", "frr-10.6"),
        ("10.6.1", "frr-10.6 nxos-10.6"),
        ("nvidia", "cumulus sonic-nvidia"),
        ("nvidia-5.18", "cumulus-5.18"),
        ("nvidia-202511", "sonic-nvidia-202511"),
        ("arista-4.35", "eos-4.35"),
        ("cisco-nexus-10.5", "nxos-10.5"),
        ("juniper-25.4", "junos-25.4"),
        ("dell-4.4", "sonic-enterprise-4.4"),
        ("sonic-celestica", "sonic"),
        ("foo-sonic", "sonic"),
        ("banana-7", ""),
        ("x" * 5000, ""),
    ],
)
def test_a_system_as_its_maker_prints_it_leads_to_words_of_the_spec(printed: str, names: str) -> None:
    found = name_systems(printed)
    assert " ".join(found) == names
    for name in found:
        system, _, release = name.partition("-")
        known = back_ends.load(system).releases
        assert not release or find_flavor(system, release) or nearest_release(release, known)


@pytest.mark.parametrize("system", ["sonic", "frr"])
def test_a_moving_branch_leads_to_the_newest_known_release(system: str) -> None:
    assert explain_release(system, "master") == f"Write `{system}-{back_ends.load(system).releases[-1]}`."
    assert explain_release(system, "banana") == ""


@pytest.mark.parametrize(
    ("model", "build", "release"),
    [
        ("z9664f", "enterprise-4.4", "202505"),
        ("z9864f", "enterprise-4.4", "202605"),
        ("sn5600", "nvidia-202511", "202511"),
        ("sn5600", "nvidia-203011", "202605"),
    ],
)
def test_a_build_of_a_vendor_has_community_files_and_a_warning(
    tmp_path: Path, model: str, build: str, release: str
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model=model, nos=f"sonic-{build}"))
    compiled = compile_spec(spec)
    assert compiled.fabric is not None
    assert {plan.release for plan in compiled.fabric.tiers.values()} == {release}
    warnings = [each for each in compiled.diagnostics if each.code == "FAB3092"]
    assert {each.severity for each in warnings} == {Severity.WARNING}
    assert all("Published differences" in each.help for each in warnings)


def test_a_word_of_the_market_is_corrected(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model="z9864f", nos="enterprise-sonic-4.4"))
    (first, *_) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB1006"]
    assert first.help == "Write `sonic-enterprise-4.4`."
    spec.write_text(SPEC.format(model="z9864f", nos="dell-sonic"))
    (first, *_) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB3014"]
    assert first.help == "Write `sonic-enterprise`."
    spec.write_text(SPEC.format(model="z9864f", nos="sonic-4.5.0"))
    (first, *_) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB3015"]
    assert first.help == "Write `sonic-enterprise-4.5`."


@pytest.mark.parametrize(
    ("model", "written", "newest"),
    [
        ("sn5600", "cumulus-6", "cumulus-5.19"),
        ("7060x6-64pe", "eos-4", "eos-4.36"),
        ("sn5600", "frr-11", "frr-10.7"),
    ],
)
def test_the_first_number_of_a_release_leads_to_the_newest(
    model: str, written: str, newest: str, tmp_path: Path
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model=model, nos=written))
    (first, *_) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB3015"]
    assert first.help == f"Write `{newest}`, the newest that fabricc knows."


def test_systems_without_pfc_are_apart_where_a_class_is_lossless(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model="sn5600", nos="junos"))
    (first, *_) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB3016"]
    assert first.help == "NOSes of that model: cumulus, sonic; without lossless classes also frr."
    spec.write_text(spec.read_text().replace("lossless: true", "lossless: false"))
    (first, *_) = [each for each in compile_spec(spec).diagnostics if each.code == "FAB3016"]
    assert first.help == "NOSes of that model: cumulus, frr, sonic."
