"""`fabricc diff` as it is called."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from fabricc.base.documents.schema import schema_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.review.diff.conftest import Bench

POD = "superpod-b200-4su"


@pytest.fixture
def pair(bench: Bench) -> tuple[str, str]:
    base = bench.spec(POD, "base")
    head = bench.spec(POD, "head", ("dscp: 26", "dscp: 34"))
    return str(base), str(head)


def load_schema(name: str) -> Draft202012Validator:
    stated = json.loads(schema_path(name).read_text("utf-8"))
    Draft202012Validator.check_schema(stated)
    return Draft202012Validator(stated)


def test_json_keeps_its_schema(fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str]) -> None:
    status, out, _ = fabricc("diff", *pair, "--format", "json")
    stated = json.loads(out)
    assert status == 0
    assert list(load_schema("diff").iter_errors(stated)) == []
    assert stated["gpus"] == {
        "total": 1024,
        "affected": 1024,
        "at_a_time": 32,
        "hosts": 128,
        "rails": list(range(8)),
    }
    assert stated["renumbered"] == {"addresses": 0, "asns": 0, "ports": 0}
    assert [len(group["devices"]) for group in stated["groups"]] == [32, 16, 128]
    load_schema("policy")


def test_diff_exit_status_reports_changes_only_on_request(
    fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str]
) -> None:
    assert fabricc("diff", *pair)[0] == 0
    assert fabricc("diff", *pair, "--detailed-exitcode")[0] == 2
    assert fabricc("diff", pair[0], pair[0], "--detailed-exitcode")[0] == 0
    assert fabricc("diff", pair[0], "missing.yaml", "--detailed-exitcode")[0] == 1


def test_policy_violation_always_exits_with_1(
    fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str], tmp_path: Path
) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("require_label_for_lossless: lossless-ok\n", "utf-8")
    arguments = ("diff", *pair, "--policy", str(policy), "--detailed-exitcode")
    assert fabricc(*arguments)[0] == 1
    assert fabricc(*arguments, "--label", "lossless-ok")[0] == 2


def test_annotations_stand_on_the_line_of_the_spec(
    fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str], tmp_path: Path
) -> None:
    saved = [f"--save={format_}={tmp_path / format_}" for format_ in ("sarif", "junit")]
    _, out, _ = fabricc("diff", *pair, "--format", "github", *saved)
    assert out.startswith(f"::warning file={pair[1]},line=12,")
    assert "FAB9004" in out
    results = json.loads((tmp_path / "sarif").read_text("utf-8"))["runs"][0]["results"]
    lines = {
        r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results if "locations" in r
    }
    assert lines == {12}
    assert ElementTree.fromstring((tmp_path / "junit").read_text("utf-8")).get("failures") == "0"


@pytest.mark.slow
@pytest.mark.parametrize("edit", [("dscp: 26", "dscp: 34"), ("sn5400", "sn5xxx")], ids=["review", "failure"])
def test_a_saved_document_equals_the_printed_one(
    fabricc: Callable[..., tuple[int, str, str]], bench: Bench, tmp_path: Path, edit: tuple[str, str]
) -> None:
    specs = str(bench.spec(POD, "base")), str(bench.spec(POD, "head", edit))
    formats = ("md", "json", "sarif", "github", "junit", "gitlab", "full")
    saved = [f"--save={format_}={tmp_path / format_}" for format_ in formats]
    status, out, _ = fabricc("diff", *specs, "--format", "md", "--for", "gitlab", *saved)
    texts = {format_: (tmp_path / format_).read_text("utf-8") for format_ in formats}
    assert texts["md"] == out
    assert texts["full"].rstrip().endswith("<!-- fabricc:diff:" + specs[1] + " -->")
    for options in (("json",), ("gitlab",)):
        assert fabricc("diff", *specs, "--format", *options)[:2] == (status, texts[options[0]])


def test_a_saved_format_that_does_not_exist_is_wrong_usage(
    fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str]
) -> None:
    for value in ("text=review", "md=", "md"):
        status, _, err = fabricc("diff", *pair, "--save", value)
        assert status == 2
        assert "is not FORMAT=FILE with one of md, json, sarif, github, junit, gitlab, full" in err


def test_a_saved_review_never_replaces_what_it_reads(
    fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str]
) -> None:
    for spec in pair:
        before = Path(spec).read_bytes()
        status, _, err = fabricc("diff", *pair, "--save", f"md={Path(spec).parent}/./{Path(spec).name}")
        assert (status, Path(spec).read_bytes()) == (2, before)
        assert "--save would overwrite" in err


def test_a_spec_that_does_not_compile_is_reported_as_validate_does(
    fabricc: Callable[..., tuple[int, str, str]], bench: Bench
) -> None:
    base = bench.spec(POD, "base")
    head = bench.spec(POD, "head", ("sn5400", "sn5xxx"))
    status, _, err = fabricc("diff", str(base), str(head))
    assert status == 1
    assert f"{head}:" in err
    status, out, _ = fabricc("diff", str(base), str(head), "--format", "md")
    assert status == 1
    assert out.startswith("### 🔴 fabricc: no comparison was possible")
    assert out.strip().endswith(f"<!-- fabricc:diff:{head} -->")


def test_keys_of_accounts_never_show(
    fabricc: Callable[..., tuple[int, str, str]], bench: Bench, tmp_path: Path
) -> None:
    old = "AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"
    new = old.replace("KXV3Gwr", "KXV3Gws")
    base = bench.spec("meta-24k", "base", ("racks: 1536", "racks: 192"),
                      ("cores: {model: 7060x6-64pe, nos: eos}\n", ""),
                      (", oversubscription: 7, units_per_pod: 192", ""), lock=False)  # fmt: skip
    shutil.copytree(base.parent, bench.folder / "head")
    head = bench.folder / "head" / "cluster.yaml"
    head.write_text(head.read_text("utf-8").replace(old, new), "utf-8")
    formats = ("md", "full", "json", "sarif")
    saved = [f"--save={format_}={tmp_path / format_}" for format_ in formats]
    status, out, err = fabricc("diff", str(base), str(head), *saved)
    assert status == 0, err
    texts = {format_: (tmp_path / format_).read_text("utf-8") for format_ in formats}
    for text in (out, *texts.values()):
        assert old not in text
        assert new not in text
    assert "ssh_key" in texts["json"]


def test_wrong_usage_is_reported(
    fabricc: Callable[..., tuple[int, str, str]], pair: tuple[str, str], tmp_path: Path
) -> None:
    assert fabricc("diff", *pair, "--base", "main")[0] == 2
    assert fabricc("diff", str(tmp_path))[0] == 2
