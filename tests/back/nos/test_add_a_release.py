"""A release is added by a row, as `docs/add-a-release.md` describes; a newer one takes the files of the nearest."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.catalog.support import nearest_release
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.plan.naming import Naming

if TYPE_CHECKING:
    from fabricc.back.nos import limits

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "add-a-release.md").read_text("utf-8")
SYSTEMS = ("cumulus", "eos", "frr", "junos", "nxos", "sonic")
SPEC = """\
cluster: t
gpus: {{model: dgx-h100, hosts: 16, hosts_per_unit: 16}}
tors: {{model: sn5600, nos: {nos}}}
spines: {{model: sn5600, nos: {nos}}}
priorities: {{rdma: {{dscp: 26, lossless: true}}}}
"""


def test_the_page_names_the_row_of_every_system() -> None:
    named = re.findall(r"`RELEASES` in `(fabricc/back/nos/(\w+)/limits\.py)`", PAGE)
    assert sorted(system for _, system in named) == list(SYSTEMS)
    for path, system in named:
        assert (ROOT / path).is_file()
        assert (
            tuple(import_module(f"fabricc.back.nos.{system}.limits").RELEASES)
            == back_ends.load(system).releases
        )


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_row_more_has_what_the_newest_release_has(system: str) -> None:
    table = import_module(f"fabricc.back.nos.{system}.limits")
    known: limits.System = table.SYSTEM
    new = (
        str(int(known.releases[-1]) + 100)
        if system == "sonic"
        else f"{int(known.releases[-1].split('.')[0]) + 1}.1"
    )
    assert known.release(new) == known.default
    grown = replace(known, releases=(*known.releases, new))
    assert grown.release(new) == new
    newest = known.releases[-1]
    plain = [row for row in known.limits if row.since is None or isinstance(row.since, str)]
    assert [grown.has(new, row) for row in plain] == [known.has(newest, row) for row in plain]


@pytest.mark.parametrize(
    ("requested", "known", "nearest"),
    [
        ("202611", ("202505", "202605"), "202605"),
        ("202507", ("202505", "202605"), "202505"),
        ("202205", ("202505", "202605"), "202505"),
        ("20250", ("202505", "202605"), None),
        ("enterprise-4.4", ("202505", "202605"), None),
        ("4.36.2F", ("4.32", "4.36"), "4.36"),
        ("43.2", ("4.32", "4.36"), None),
        ("10.5(2)F", ("10.4", "10.5", "10.6"), "10.5"),
        ("", ("10.4",), None),
        ("4.32", (), None),
    ],
)
def test_the_nearest_release_is_the_newest_that_is_not_newer(
    requested: str, known: tuple[str, ...], nearest: str | None
) -> None:
    assert nearest_release(requested, known) == nearest


@pytest.mark.parametrize(
    ("nos", "files", "severity"),
    [
        ("cumulus-5.31", "cumulus 5.19", Severity.WARNING),
        ("sonic-202611", "sonic 202605", Severity.WARNING),
        ("cumulus-5.17.0", "cumulus 5.17", Severity.NOTE),
        ("cumulus-5.170", "cumulus 5.19", Severity.WARNING),
    ],
)
def test_an_unknown_release_builds_with_a_finding(
    tmp_path: Path, nos: str, files: str, severity: Severity
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(nos=nos))
    compiled = compile_spec(spec)
    assert compiled.fabric is not None
    found = [each for each in compiled.diagnostics if each.code == "FAB3090"]
    assert {each.severity for each in found} == {severity}
    assert all(each.message.endswith(f"the files are those of {files}") for each in found)
    assert {plan.release for plan in compiled.fabric.tiers.values()} == {files.split()[1]}


def test_a_slip_of_the_pen_is_still_an_error(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(nos="sonic-20250"))
    assert "FAB3015" in {each.code for each in compile_spec(spec).diagnostics}
    with pytest.raises(ValueError, match="Known"):
        Naming().release("sonic", "20250")
