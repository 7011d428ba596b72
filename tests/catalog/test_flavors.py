"""Builds of a system by vendors: a spec names them, and gets the community files with the published differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.catalog.support import find_flavor, load_flavors, spell_flavor
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
    ("name", "release", "spelled"),
    [
        ("enterprise", "sonic-4.4", "sonic-enterprise-4.4"),
        ("dell", "sonic", "sonic-enterprise"),
        ("enterprise", "4.2", "sonic-enterprise-4.2"),
        ("edgecore", "sonic-202311", "sonic-edgecore-202311"),
        ("foo", "sonic", ""),
        ("junos", "24.4", ""),
    ],
)
def test_other_words_for_a_build_lead_to_the_one_of_the_spec(name: str, release: str, spelled: str) -> None:
    assert spell_flavor(name, release) == spelled
    if spelled:
        system, _, rest = spelled.partition("-")
        assert find_flavor(system, rest) is not None


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
