"""Assigning hosts to a tenant edits their names in the spec, and nothing else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import fabricc
from fabricc.base.documents.reader import parse_yaml
from fabricc.cli.entry import run
from fabricc.front.spec.tenants import AssignmentError, assign_hosts, fold_names

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


def test_a_whole_host_has_no_single_gpus_any_more() -> None:
    text = TEXT.replace("hosts: [su001-host01..16]", "hosts: [su001-host01..16], gpus: {su001-host02: [0-3]}")
    changed = assign_hosts(text, "s", ["su001-host02"], "initech")
    assert changed == assign_hosts(TEXT, "s", ["su001-host02"], "initech")
    assert assign_hosts(text, "s", ["su001-host02"], "acme") == TEXT
    two = text.replace("[0-3]}", "[0-3], su001-host03: [0]}")
    assert "gpus: {su001-host03: [0]}" in assign_hosts(two, "s", ["su001-host02"], "globex")


def test_a_tenant_of_racks_keeps_no_gpus_of_hosts_that_left() -> None:
    text = TEXT.replace("{racks: [rack03]}", "{racks: [rack03], hosts: [su001-host20], gpus: [0-3]}")
    assert "globex: {racks: [rack03]}" in assign_hosts(text, "s", ["su001-host20"], "acme")


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
def test_impossible_tenant_assignment_is_a_finding(text: str, tenant: str, message: str) -> None:
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


def test_one_name_or_a_spec_that_is_no_text_changes_nothing(tmp_path: Path) -> None:
    """The letters of a name are no names, and bytes that are not UTF-8 are not replaced."""
    spec = tmp_path / "cluster.yaml"
    content = TEXT.replace("first", "f\xfcrst").encode("latin-1")
    spec.write_bytes(content)
    with pytest.raises(TypeError, match="a list of names"):
        fabricc.assign_tenant(spec, "a", "globex")
    with pytest.raises(fabricc.FindingsError, match="utf-8"):
        fabricc.assign_tenant(spec, ["su001-host16"], "globex")
    assert spec.read_bytes() == content


def test_assignments_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TEXT)
    hosts = [f"su001-host{number:02}" for number in range(1, 9)]
    with ThreadPoolExecutor(len(hosts)) as pool:
        assert all(pool.map(lambda host: fabricc.assign_tenant(spec, [host], "globex"), hosts))
    assert "hosts: [su001-host01..08]" in spec.read_text()
    assert "hosts: [su001-host09..16]" in spec.read_text()


def test_the_command_edits_the_spec(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TEXT)
    assert run(["tenant", "assign", "su001-host16", "globex", "--spec", str(spec)]) == 0
    assert "hosts: [su001-host16]" in spec.read_text()
    before = spec.read_text()
    assert run(["tenant", "assign", "su001-host16", "nobody", "--spec", str(spec)]) == 1
    assert run(["tenant", "assign", "su001-host16", "acme", "--spec", str(tmp_path / "none.yaml")]) == 1
    assert spec.read_text() == before


@pytest.mark.parametrize(
    ("hosts", "outcome"),
    [
        (["su001-host01..02"], "has 2 hosts moved to globex:"),
        (["su001-host01..16"], "has 16 hosts moved to globex, without acme, which has no hosts now:"),
        (
            ["su002-host01", "su002-host32"],
            "has 2 hosts moved to globex, without initech and shared, which have no hosts now:",
        ),
    ],
)
def test_the_command_counts_hosts_and_names_tenants_that_leave(
    hosts: list[str], outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(TEXT)
    assert run(["tenant", "assign", *hosts, "globex", "--spec", str(spec)]) == 0
    assert f"{spec} {outcome} review it with `fabricc diff" in capsys.readouterr().out


@pytest.mark.parametrize(
    "host",
    [
        "",
        "a: b",
        "a\nb",
        "*x",
        "-x",
        "\x1b[2J",
        "\udcff",
        "\u00e9",
        "x" * 100_000,
        "h1..9x",
        "h2..h4",
        "h4..h2",
        "h9..1",
    ],
)
def test_a_name_that_no_host_can_have_is_a_finding(host: str) -> None:
    with pytest.raises(AssignmentError):
        assign_hosts("tenants:\n  red: {hosts: [a]}\n", "cluster.yaml", [host], "red")


@pytest.mark.parametrize("digits", ["0" * 5_000, "9" * 5_000])
def test_names_of_many_digits_are_findings(digits: str) -> None:
    for hosts in (f"[h{digits}]", f"[h1..{digits}]", f"[h{digits}..9]"):
        text = f"tenants:\n  red: {{hosts: {hosts}}}\n"
        with pytest.raises(AssignmentError):
            assign_hosts(text, "cluster.yaml", [f"h{digits}"], "red")


@pytest.mark.parametrize("hosts", ["{a: 1}", "a", "7", "", "[a..b]", "[x1..x3]"])
def test_hosts_that_are_no_list_of_names_are_a_finding(hosts: str) -> None:
    with pytest.raises(AssignmentError):
        assign_hosts(f"tenants:\n  red: {{hosts: {hosts}}}\n", "cluster.yaml", ["b"], "red")


@pytest.mark.parametrize("name", ["null", "true", "1e3", "123", "0x1", "9" * 60])
def test_a_name_that_looks_like_another_value_stays_a_text(name: str) -> None:
    text = assign_hosts("tenants:\n  red: {hosts: [a]}\n", "cluster.yaml", [name], "red")
    value = parse_yaml(text.encode(), "cluster.yaml").value
    assert name in value["tenants"]["red"]["hosts"]


def test_ranges_on_the_command_line_leave_other_tenants() -> None:
    text = "tenants:\n  red: {hosts: [h1]}\n  blue: {hosts: [h2..4]}\n"
    value = parse_yaml(assign_hosts(text, "c.yaml", ["h2..3"], "red").encode(), "c.yaml").value
    assert value["tenants"] == {"red": {"hosts": ["h1..3"]}, "blue": {"hosts": ["h4"]}}
