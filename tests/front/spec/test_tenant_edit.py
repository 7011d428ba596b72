"""Assigning hosts to a tenant edits their names in the spec, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import fabricc
from fabricc.cli.entry import run
from fabricc.front.spec.tenant_edit import AssignmentError, assign_hosts, fold_names

TEXT = """\
cluster: zone-a
tenants:
  # the first customer
  acme: {hosts: [su001-host01..16], reach: [storage]}  # until March
  globex: {racks: [rack03]}
  initech: {hosts: [su002-host01]}
  shared: {hosts: [su002-host32], gpus: [0-3]}
"""


def test_a_host_leaves_its_tenant_and_joins_another_one() -> None:
    changed = assign_hosts(TEXT, "s", ["su001-host16"], "globex")
    assert changed == TEXT.replace("host01..16", "host01..15").replace(
        "{racks: [rack03]}", "{racks: [rack03], hosts: [su001-host16]}"
    )
    assert assign_hosts(changed, "s", ["su001-host16"], "acme") == TEXT


def test_a_tenant_without_hosts_leaves_the_spec() -> None:
    changed = assign_hosts(TEXT, "s", ["su002-host01"], "acme")
    assert "initech" not in changed
    assert "hosts: [su001-host01..16, su002-host01]" in changed


def test_an_assignment_that_is_there_changes_nothing() -> None:
    assert assign_hosts(TEXT, "s", ["su001-host03"], "acme") == TEXT


def test_a_range_that_loses_a_host_inside_becomes_two() -> None:
    changed = assign_hosts(TEXT, "s", ["su001-host08"], "initech")
    assert "hosts: [su001-host01..07, su001-host09..16]" in changed


def test_names_are_folded_where_three_and_more_ascend() -> None:
    names = ["a1", "a2", "a3", "a10", "b", "c09", "c10", "c11", "c8"]
    assert fold_names(names) == ["a1..3", "a10", "b", "c8", "c09..11"]


@pytest.mark.parametrize(
    ("text", "tenant", "message"),
    [
        (TEXT, "nobody", "no tenant is named nobody"),
        (TEXT, "shared", "shared has GPUs"),
        ("cluster: zone-a\n", "acme", "the spec cannot be read, or has no `tenants`"),
        (TEXT.replace("01..16", "16..01"), "globex", "a range of hosts of acme does not ascend"),
    ],
)
def test_what_cannot_be_assigned_is_a_finding(text: str, tenant: str, message: str) -> None:
    with pytest.raises(AssignmentError) as error:
        assign_hosts(text, "s", ["su001-host16"], tenant)
    assert error.value.diagnostic.message.startswith(message)


def test_the_python_interface_edits_the_spec(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TEXT)
    assert fabricc.assign_tenant(spec, ["su001-host16"], "globex")
    assert not fabricc.assign_tenant(spec, ["su001-host16"], "globex")
    with pytest.raises(fabricc.FindingsError, match="nobody"):
        fabricc.assign_tenant(spec, ["su001-host16"], "nobody")
    with pytest.raises(fabricc.FindingsError):
        fabricc.assign_tenant(tmp_path / "none.yaml", ["su001-host16"], "globex")


def test_the_command_edits_the_spec(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TEXT)
    assert run(["tenant", "assign", "su001-host16", "globex", "--spec", str(spec)]) == 0
    assert "hosts: [su001-host16]" in spec.read_text()
    before = spec.read_text()
    assert run(["tenant", "assign", "su001-host16", "nobody", "--spec", str(spec)]) == 1
    assert run(["tenant", "assign", "su001-host16", "acme", "--spec", str(tmp_path / "none.yaml")]) == 1
    assert spec.read_text() == before
