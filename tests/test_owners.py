"""Every question has one owner: what a module may decide alone, and which test compares the others with it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CUTTING = re.compile(
    r"""(?:partition|split|index|find|rstrip|lstrip|strip)\("\]?[][]/?"|removesuffix\("[][]|removeprefix\("\w+\["""
    r"""|\b(?:path|leaf|subject)\[len\((?:"[\w/]*\["|_?[A-Z_]+)\) :(?: -1)?\]|\\\[\(?\[\^\\?\]?\[?\\?\*?\][+*]"""
)
COMPARISONS = {
    "FAB9600": "rules/links.py", "FAB9601": "rules/session_pairs.py", "FAB9602": "rules/links.py",
    "FAB9603": "rules/links.py", "FAB9604": "rules/duplicates.py", "FAB9609": "audit/rules/invariant_rules.py",
    "FAB9610": "rules/outliers.py", "FAB9611": "audit/rules/invariant_rules.py",
    "FAB9621": "audit/rules/invariant_rules.py",
}  # fmt: skip
"""Findings that are no row of the registry, because they compare devices of a folder -> the module that makes them."""
ACCOUNTS = {"rules/answers.py", "rules/findings.py"}
CLASSES = {
    "Remainder": "fabric/capacity/remainder.py",
    "LinkShare": "fabric/capacity/remainder.py", "Wave": "operate/change/order.py",
    "SwitchRule": "rules/rule.py", "FabricRule": "rules/rule.py", "HostRule": "rules/rule.py",
}  # fmt: skip
FUNCTIONS = {
    "read_statement": "facts/statement.py", "end_findings": "rules/links.py", "differing_values": "rules/links.py",
    "share_without": "fabric/capacity/remainder.py",
    "describe_share": "fabric/capacity/remainder.py", "review_variant": "operate/change/variant.py",
    "describe_kept_share": "operate/change/order_text.py", "encode_wave": "operate/change/order_text.py",
    "overlapping_blocks": "rules/overlaps.py", "repeated_numbers": "rules/duplicates.py",
    "find_outliers": "rules/outliers.py", "split_list_path": "facts/paths.py",
    "find_placeholders": "facts/substitution.py", "find_lines": "facts/substitution.py",
    "run_switch_rules": "rules/registry.py", "run_fabric_rules": "rules/registry.py",
    "run_host_rules": "rules/registry.py",
}  # fmt: skip
"""The answer to a question -> its only definition."""
GUARDS = {
    "rules run in every verb": "rules/test_verbs.py::test_a_verb_runs_every_rule",
    "rows of rules are in the registry": "rules/test_verbs.py::test_the_registry_has_every_row",
    "topics are proved only where their rules ran": "audit/test_unchecked.py",
    "both ends of a link": "rules/test_neighbors.py::test_check_and_audit_compare_both_ends",
    "what a change does": "review/diff/test_harm.py::test_a_harmful_change_of_all_switches_is_never_low",
    "text without a statement": "review/diff/test_texts.py",
    "capacity": "fabric/capacity/test_capacity.py::test_links_that_carry_are_the_flow_from_a_tor_to_all_others",
    "waves over that capacity": "operate/push/test_plant.py",
    "variants of a spec": "operate/migrate/test_sequences.py",
    "equal devices": "compiler/test_alike.py",
    "substitution in audit": "audit/test_substitution.py",
    "one path of a fact on all systems": "audit/test_accords.py",
    "the outcome of a push is the device's": "operate/drivers/test_nxos.py",
}
"""Question -> the test that compares the verbs or the models."""


@cache
def read_sources() -> dict[str, str]:
    """Return the text of every module, by its path below the package."""
    package = ROOT / "fabricc"
    return {str(path.relative_to(package)): path.read_text("utf-8") for path in package.rglob("*.py")}


def defined(kind: type[ast.ClassDef] | type[ast.FunctionDef], name: str) -> set[str]:
    """Return the modules that define a class or a function of a name at their top."""
    word = "class" if kind is ast.ClassDef else "def"
    return {
        path
        for path, text in read_sources().items()
        if f"{word} {name}" in text
        and any(isinstance(each, kind) and each.name == name for each in ast.parse(text).body)
    }


def test_docstrings_refer_to_names_that_exist() -> None:
    """A reader who follows "see `name`" or "as `name` does" finds a module, a function, a class or an attribute."""
    texts = read_sources()
    defined = {
        word
        for text in texts.values()
        for word in re.findall(r"^\s*(?:def|class) (\w+)|", text, re.MULTILINE)
    }
    defined |= {
        word for text in texts.values() for word in re.findall(r"^\s*(\w+)(?:: .*)? = ", text, re.MULTILINE)
    }
    defined |= {Path(path).stem for path in texts}
    defined |= {"py", "ibnetdiscover"}  # the ending of a file, and a program
    pattern = re.compile(r"\bsee `(?:\w+\.)*(\w+)`|\bas `(?:\w+\.)*(\w+)` does")
    unknown = {
        f"{path}: {first or second}"
        for path, text in texts.items()
        for first, second in pattern.findall(text)
        if (first or second) not in defined
    }
    assert unknown == set()


def test_docstrings_name_exceptions_that_exist() -> None:
    texts = read_sources()
    word = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
    statements = re.compile(r"^\s*(?:class|except|from|import|raise|return|with)\b.*", re.MULTILINE)
    existing = {
        name for text in texts.values() for line in statements.findall(text) for name in word.findall(line)
    }
    raises = re.compile(r"^ +Raises:\n((?: {8,}.*\n)+)", re.MULTILINE)
    entry = re.compile(r"^ +((?:[A-Z]\w+, )*[A-Z]\w+): ", re.MULTILINE)
    unknown = {
        f"{path}: {name}"
        for path, text in texts.items()
        for block in raises.findall(text)
        for names in entry.findall(block)
        for name in word.findall(names)
        if name not in existing
    }
    assert unknown == set()


def test_paths_of_facts_are_cut_by_their_owner_alone() -> None:
    """A module above the back ends takes the parts and the patterns of paths from `facts.paths`."""
    rooms = ("facts/", "fabric/", "back/", "base/", "front/", "catalog/", "operate/drivers/", "cli/")
    found = {
        path for path, text in read_sources().items() if not path.startswith(rooms) and CUTTING.search(text)
    }
    assert found == set()
    assert any(CUTTING.search(text) for text in read_sources().values()), "the pattern finds such places"


def test_a_finding_of_the_rules_is_made_by_one_module() -> None:
    makers: dict[str, set[str]] = {}
    for path, text in read_sources().items():
        for code in re.findall(r'"(FAB96\d\d)"', text) if path not in ACCOUNTS else ():
            makers.setdefault(code, set()).add(path)
    assert {code: paths for code, paths in makers.items() if len(paths) > 1} == {}
    others = {code: next(iter(paths)) for code, paths in makers.items()}
    assert {code: path for code, path in others.items() if not path.startswith("rules/")} == {
        code: path for code, path in COMPARISONS.items() if not path.startswith("rules/")
    }
    assert {code: others[code] for code in COMPARISONS} == COMPARISONS


def test_rules_are_rows_in_rules_alone() -> None:
    made = {path for path, text in read_sources().items() if re.search(r"\b(?:Switch|Fabric)Rule\(", text)}
    assert made
    assert {path for path in made if not path.startswith("rules/")} == set()


@pytest.mark.parametrize("name", CLASSES)
def test_a_model_has_one_definition(name: str) -> None:
    assert defined(ast.ClassDef, name) == {CLASSES[name]}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_answer_has_one_definition(name: str) -> None:
    assert defined(ast.FunctionDef, name) == {FUNCTIONS[name]}


@pytest.mark.parametrize("verb", ["maintain", "migrate", "upgrade"])
def test_a_verb_reviews_variants_by_one_function(verb: str) -> None:
    texts = {
        path: text
        for path, text in read_sources().items()
        if path.startswith((f"operate/{verb}/", f"operate/{verb}.py"))
    }
    assert any("review_variant" in text for text in texts.values())
    assert {path for path, text in texts.items() if re.search(r"\bcompile_(?:spec|text)\(", text)} == set()


@pytest.mark.parametrize("question", GUARDS)
def test_the_test_of_a_question_exists(question: str) -> None:
    path, _, name = GUARDS[question].partition("::")
    text = (ROOT / "tests" / path).read_text("utf-8")
    names = {each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
    assert name in names if name else any(each.startswith("test_") for each in names)
