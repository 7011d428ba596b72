"""Units, tenants, classes and lines of the spec and the lock as subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.driver import build_tree
from fabricc.review.explain.answer import answer_question, plan_sources
from fabricc.review.explain.model import SubjectError
from fabricc.review.explain.questions import explain_name
from tests import tenanted

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.review.explain.model import Explanation


def explain_group(name: str) -> Explanation:
    return explain_name(plan_sources(tenanted.compiled("cumulus")), name)


def test_a_unit_has_its_tors_and_hosts() -> None:
    reported = explain_group("rack002")
    assert (reported.kind, reported.title) == ("unit", "a unit")
    assert dict(reported.details) == {
        "coordinates": "unit 1",
        "ToRs": "rack002-tor1a",
        "hosts": "2 hosts",
        "names": "rack002-host01, rack002-host02",
    }


def test_a_tenant_has_its_numbers_hosts_and_keys() -> None:
    reported = explain_group("shared")
    details = dict(reported.details)
    assert (details["VNI"], details["route target"]) == ("20003", "65000:20003")
    assert (details["host ports"], details["names"]) == ("4", "rack002-host02")
    assert [origin.key for origin in reported.statements[0].origins] == ["tenants.shared", "tenant shared"]


def test_a_class_has_its_priority_and_code_points() -> None:
    details = dict(explain_group("rdma").details)
    assert (details["priority"], details["code points"], details["lossless"]) == ("3", "26", "yes")


def test_a_part_of_a_name_lists_the_names_that_have_it() -> None:
    with pytest.raises(SubjectError) as refused:
        explain_group("tor1")
    assert refused.value.diagnostics[0].help == "Near: rack001-tor1a, rack002-tor1a."


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zone") / "cluster.yaml"
    path.write_text(tenanted.spec_text("cumulus"))
    build_tree(path, path.parent / "build")
    return path


def test_a_line_of_the_spec_has_its_keys(spec: Path) -> None:
    number = next(n for n, line in enumerate(spec.read_text().splitlines(), 1) if "globex" in line)
    reported = answer_question(f"{spec}:{number}").explanation
    assert [each.name for each in reported.statements] == ["tenants.globex", "tenants.globex.hosts"]
    assert reported.statements[1].value == "[rack001-host02]"
    assert reported.statements[1].rule.startswith("Hosts by name")
    assert dict(reported.details)["more"] == f"fabricc explain {spec} globex"


def test_a_line_of_the_lock_has_its_meaning(spec: Path) -> None:
    lock = spec.with_name("fabricc.lock")
    number = next(
        n for n, line in enumerate(lock.read_text().splitlines(), 1) if line.startswith("tenant glob")
    )
    reported = answer_question(f"{lock}:{number}").explanation
    assert [(each.name, each.value) for each in reported.statements] == [("tenant globex", "2")]
    assert dict(reported.details)["more"] == f"fabricc explain {spec} globex"


@pytest.mark.parametrize(
    ("name", "line"), [("cluster.yaml", 1), ("cluster.yaml", 999), ("fabricc.lock", 2), ("fabricc.lock", 999)]
)
def test_a_line_without_a_value_is_a_diagnostic(spec: Path, name: str, line: int) -> None:
    with pytest.raises(SubjectError) as refused:
        answer_question(f"{spec.with_name(name)}:{line}")
    assert [each.code for each in refused.value.diagnostics] == ["FAB9271"]
