"""`fabricc fmt`: one layout, the same meaning, the same comments."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabricc.base.documents.reader import parse_yaml
from fabricc.cli.entry import run
from fabricc.cli.init import STARTER
from fabricc.front.spec.canonical import first_difference, format_spec
from fabricc.front.spec.load import read_spec
from tests.effort import scale_examples

SPECS = sorted((Path(__file__).parents[2] / "inventories").glob("*/cluster.yaml"))
MESSY = """\
# head

cluster:    zone-a   # its name
gpus: {model:   dgx-b200,hosts:  64 ,
   hosts_per_unit: 32}   # two units



tors:
      model: sn5600
      nos: 'sonic-202505'
spines: {model: sn5600, nos: sonic-202505}  \t
priorities:
    rdma: {dscp: [26,  27], lossless: true}
    default: {}
accept:
- {code: FAB2051,   reason: "The storage rail keeps 1500: its filers are old."}
# tail"""
NEAT = """\
# head

cluster: zone-a                                         # its name
gpus: {model: dgx-b200, hosts: 64, hosts_per_unit: 32}  # two units

tors:
  model: sn5600
  nos: 'sonic-202505'
spines: {model: sn5600, nos: sonic-202505}
priorities:
  rdma: {dscp: [26, 27], lossless: true}
  default: {}
accept:
  - {code: FAB2051, reason: "The storage rail keeps 1500: its filers are old."}
# tail
"""


def laid_out(text: str) -> str:
    found, wrong = format_spec(text, "cluster.yaml")
    assert wrong == ()
    return found


def test_fmt_keeps_the_meaning_of_a_spec() -> None:
    assert laid_out(MESSY) == NEAT
    assert read_spec(NEAT.encode(), "c").spec == read_spec(MESSY.encode(), "c").spec is not None


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_every_line_break_that_yaml_knows_ends_a_line(end: str) -> None:
    text = "tors:\n  # why\n  a: b\n  c: d\nspines:\n  mode:\n    a: 1\n"
    assert laid_out(text.replace("\n", end)) == text
    assert first_difference(text.replace("\n", end), text) == 1


def test_comments_stay_with_what_they_belong_to() -> None:
    assert laid_out("a: [1, # one\n # why\n 2]\n") == "a:\n  - 1  # one\n  # why\n  - 2\n"
    assert laid_out("a: {x: 1,\n # why\n y: {z: 2}}\n") == "a:\n  x: 1\n  # why\n  y: {z: 2}\n"
    items = "users:\n- {name: a}\n# the second\n- {name: b}\n\n# end of users\n"
    assert laid_out(items) == "users:\n  - {name: a}\n  # the second\n  - {name: b}\n\n# end of users\n"
    inner = "gpus:\n    model: x\n    # hosts: 4\ntors: y\n"
    assert laid_out(inner) == "gpus:\n  model: x\n  # hosts: 4\ntors: y\n"


def test_a_hash_in_quotes_is_no_comment() -> None:
    assert laid_out("a:   'x # y'\nb:  z#1  # c\n") == "a: 'x # y'\nb: z#1  # c\n"


def test_fmt_turns_wide_mappings_into_blocks() -> None:
    wide = "a: {" + ", ".join(f"key{i:03}: {{value: {i}}}" for i in range(12)) + "}\n"
    after = laid_out(wide)
    assert after.startswith("a:\n  key000: {value: 0}\n")
    assert laid_out(after) == after


def test_the_starter_is_laid_out() -> None:
    for path in STARTER.glob("*.yaml"):
        text = path.read_text("utf-8")
        assert laid_out(text) == text, path.name


def disturb_text(text: str, seed: int) -> str:
    """The text with other indentation, spacing, blank lines and comments, and the same meaning."""
    chance = random.Random(seed)
    wider = chance.choice((1, 2, 3))
    lines = []
    for line in text.splitlines():
        bare = line.lstrip(" ")
        if "#" not in line and "reason" not in line:
            bare = bare.replace(", ", "," + " " * chance.randint(1, 3)).replace(
                ": ", ":" + " " * chance.randint(1, 4)
            )
            bare += chance.choice(("", "  ", "   # why so"))
        lines.append(" " * (wider * (len(line) - len(line.lstrip(" ")))) + bare)
        if chance.random() < 0.2:
            lines.append(chance.choice(("", "\n\n", "# a word")))
    return "\n".join(lines) + chance.choice(("", "\n", "\n\n"))


@settings(max_examples=scale_examples(60))
@given(st.sampled_from(SPECS), st.integers())
def test_any_layout_of_a_spec_comes_to_one_that_loads_the_same(spec: Path, seed: int) -> None:
    before = disturb_text(spec.read_text("utf-8"), seed)
    assume(not parse_yaml(before, "c").diagnostics)
    after = laid_out(before)
    assert laid_out(after) == after
    assert after.count("#") == before.count("#")
    first, second = read_spec(before.encode(), "c"), read_spec(after.encode(), "c")
    assert first.spec == second.spec is not None
    assert first.spec is not None
    assert first.spec.assumptions == second.spec.assumptions


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co", "Zl", "Zp", "Cf"]), max_size=40
)
LEAVES = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXTS
KEYS = st.from_regex(r"[a-zA-Z][a-zA-Z0-9/_.-]{0,12}", fullmatch=True)
VALUES = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=4) | st.dictionaries(KEYS, part, max_size=4), max_leaves=20
)


@pytest.mark.slow
@settings(max_examples=scale_examples(200))
@given(
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=4),
    st.sampled_from((None, True, False)),
    st.integers(2, 6),
)
def test_any_value_survives_or_is_refused(value: dict[str, Any], flow: bool | None, indent: int) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, indent=indent, allow_unicode=True, sort_keys=False)
    before = parse_yaml(text, "c")
    after, wrong = format_spec(text, "c")
    if wrong:
        assert after == text
        return
    assert parse_yaml(after, "c").value == before.value
    assert format_spec(after, "c") == (after, ())


def test_fmt_check_changes_nothing_and_lists_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messy, neat = tmp_path / "messy.yaml", tmp_path / "neat.yaml"
    messy.write_text(MESSY, "utf-8")
    neat.write_text(NEAT, "utf-8")
    messy.chmod(0o640)
    assert run(["fmt", "--check", str(neat)]) == 0
    assert run(["fmt", "--check", str(messy), str(neat), "--format", "github"]) == 1
    assert f"::error file={messy},line=3," in capsys.readouterr().out
    assert messy.read_text("utf-8") == MESSY
    assert run(["fmt", str(messy), str(neat)]) == 0
    assert messy.read_text("utf-8") == NEAT
    assert messy.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["messy.yaml", "neat.yaml"]


def test_fmt_leaves_invalid_yaml_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1,\nb: 2\n", "utf-8")
    assert run(["fmt", str(broken), str(tmp_path / "absent.yaml")]) == 1
    reported = capsys.readouterr().err
    assert "FAB0007" in reported
    assert "FAB0001" in reported
    assert broken.read_text("utf-8") == "a: [1,\nb: 2\n"


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [("cluster:\tzone", 9, "tab"), ("cluster: zone\t# here", 14, "tab"), ("rdma: {dscp:26}", 8, "colon")],
)
def test_a_refused_layout_names_its_place_and_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, column: int, word: str
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(f"# A lab\n{line}\n")
    assert run(["fmt", "--check", str(path)]) == 1
    shown = capsys.readouterr().err
    assert f"{path}:2:{column}: error FAB0041" in shown
    assert word in shown
