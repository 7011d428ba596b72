"""Imports of modules: no circle, and few imports inside functions, each with its reason."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

ROOT = Path(__file__).parents[1]


def find_modules() -> dict[str, Path]:
    """Dotted name -> file of every module of the package."""
    found = {}
    for path in (ROOT / "fabricc").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = find_modules()


def find_imports(
    node: ast.AST, *, inside: bool = False, typed: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield every import that can run, and whether it is inside a function.

    `typed` adds the imports that only a type checker reads. Imports are statements, so expressions are not searched.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, inside
        elif isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            seen = child.body if typed else []
            yield from find_imports(ast.Module([*seen, *child.orelse], []), inside=inside, typed=typed)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from find_imports(child, inside=inside or function, typed=typed)


@cache
def imports_of(name: str, *, typed: bool) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """Return the imports of a module of the package."""
    return tuple(find_imports(ast.parse(MODULES[name].read_text("utf-8")), typed=typed))


def import_targets(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules of the package that an import names."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            names = [alias.name]
        else:
            assert statement.level == 0, "imports are absolute"
            names = [f"{statement.module}.{alias.name}", str(statement.module)]
        yield from [name for name in names if name in MODULES][:1]


def named_by_each(*, typed: bool) -> dict[str, set[str]]:
    """Module -> those that it imports."""
    return {
        name: {each for one, _ in imports_of(name, typed=typed) for each in import_targets(one)} - {name}
        for name in MODULES
    }


def find_circles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """The modules of which each leads to each of the others, once what is in no circle has been taken away."""
    left = {name: set(wanted) for name, wanted in graph.items()}
    out = set(left)
    while out:
        imported = set().union(*left.values())
        out = {name for name, wanted in left.items() if not wanted or name not in imported}
        left = {name: wanted - out for name, wanted in left.items() if name not in out}
    led = {name: reachable_modules(left, name) for name in left}
    found = {frozenset(other for other in to if name in led[other]) for name, to in led.items()}
    return sorted(sorted(circle) for circle in found if circle)


def reachable_modules(graph: Mapping[str, Set[str]], name: str) -> set[str]:
    """The modules that imports lead to from one."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.mark.slow
def test_no_circle_of_imports() -> None:
    found = named_by_each(typed=False)
    assert found["fabricc.fabric.fabric"], "the waist is looked at too"
    assert find_circles(found) == []


@pytest.mark.slow
def test_no_circle_of_imports_for_a_type_checker_either() -> None:
    """The reading order of modules follows from all imports: types of a circle cannot be read one by one."""
    found = named_by_each(typed=True)
    assert "fabricc.fabric.design" in found["fabricc.fabric.links"], "that is such an import"
    assert find_circles(found) == []


def test_a_circle_is_found_also_when_a_function_hides_it() -> None:
    apart = {
        "a": {"b"},
        "b": {"c"},
        "c": {"a", "f"},
        "d": {"a"},
        "e": set[str](),
        "f": {"g"},
        "g": {"e", "f"},
    }
    assert find_circles(apart) == [["a", "b", "c"], ["f", "g"]]
    (hidden,) = find_imports(ast.parse("def f():\n    import fabricc.base.values"))
    assert (list(import_targets(hidden[0])), hidden[1]) == (["fabricc.base.values"], True)
    only_checked = "if TYPE_CHECKING:\n    import fabricc.base.values\nelse:\n    import fabricc.review.diff"
    for typed, named in (
        (False, {"fabricc.review.diff"}),
        (True, {"fabricc.review.diff", "fabricc.base.values"}),
    ):
        found = find_imports(ast.parse(only_checked), typed=typed)
        assert {each for statement, _ in found for each in import_targets(statement)} == named


INSIDE = {
    "fabricc.compiler.compiled": (
        3,
        "`validate` needs neither readers and rules nor InfiniBand or further networks",
    ),
    "fabricc.compiler.driver": (
        1,
        "a build that finds nothing to do takes half the time without the compiler",
    ),
    "fabricc.compiler.recheck": (1, "no fabric of Ethernet needs InfiniBand"),
    "fabricc.compiler.write.whole_tree": (2, "no fabric of Ethernet needs InfiniBand"),
    "fabricc.cli": (1, "Ctrl-C while the command loads is an exit status too"),
    "fabricc.cli.adopt": (1, "as for `push`"),
    "fabricc.cli.audit": (1, "as for `push`"),
    "fabricc.cli.audit_run": (1, "the report's page, which few audits are asked for"),
    "fabricc.cli.collect": (1, "as for `push`"),
    "fabricc.cli.build": (2, "plans, and a build that finds nothing to do does not"),
    "fabricc.cli.entry": (1, "verbs that are known need no nearest one"),
    "fabricc.cli.maintain": (1, "as for `push`"),
    "fabricc.cli.mcp": (1, "the SDK is an extra"),
    "fabricc.cli.migrate": (1, "as for `push`"),
    "fabricc.cli.drawing": (1, "rich's parser of Markdown is for `docs` alone"),
    "fabricc.cli.output": (4, "rich, where it draws"),
    "fabricc.cli.plan": (3, "InfiniBand, other shapes and bills, which few plans are asked for"),
    "fabricc.cli.push": (1, "what asks switches; `--help` and completion do not"),
    "fabricc.cli.upgrade": (1, "as for `push`"),
    "fabricc.cli.verify": (1, "as for `push`"),
    "fabricc.cli.words": (2, "a press of a key loads the catalog, and plans a spec, only for words of these"),
    "fabricc.operate.devices.login": (
        1,
        "NAPALM takes half a second; a push that shows its plan needs none",
    ),
    "fabricc.operate.devices.secrets": (1, "keyring is an extra"),
    "fabricc.base.documents.schema": (2, "jsonschema explains what does not fit; most documents do"),
    "fabricc.review.diff.inputs": (1, "the rules of `audit`, which only a review of built trees runs"),
    "fabricc.tree.state": (1, "a build that finds nothing to do removes no folder"),
    "fabricc.base.installation": (1, "yaml, for files that few verbs read"),
    "fabricc.base.diagnostics.formats": (1, "text for people needs no XML"),
    "fabricc.base.foreign.formats": (2, "XML, for JUnit and pictures; openpyxl is an extra"),
    "fabricc.back.nos": (
        2,
        "entry points, for back ends of third parties; a build that finds nothing to do needs no vocabulary",
    ),
    "fabricc.back.nos.overlay": (1, "yaml, for overlays of YAML"),
    "fabricc.back.reading.tree": (2, "yaml, for the systems whose files are YAML or JSON"),
    "fabricc.back.nos.templating": (7, "jinja2's compiler; compiled templates need only what runs them"),
}
"""Module -> how many imports stand inside functions at most, and why."""


def test_an_import_inside_a_function_has_its_reason() -> None:
    found = {}
    for name in MODULES:
        number = sum(inside for _, inside in imports_of(name, typed=False))
        if number > INSIDE.get(name, (0, ""))[0]:
            found[name] = number
    assert found == {}, "import at the top, or say here why not"
    assert sum(number for number, _ in INSIDE.values()) <= 54
    assert INSIDE.keys() <= MODULES.keys(), "a reason is given for a module that is not there"
