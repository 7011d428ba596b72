"""A pattern is compiled when it is first used, and then is what `re` makes of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fabricc.base.patterns import pattern

PACKAGE = Path(__file__).parents[2] / "fabricc"


def test_it_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_ = re.compile
    monkeypatch.setattr(re, "compile", lambda *said: compiled.append(said[0]) or compile_(*said))
    one = pattern(r"(a)(b)?", re.IGNORECASE)
    assert compiled == []
    assert one.sub("-", "xAbx") == "x-x"
    assert one.sub("-", "ab") == "-"
    assert compiled == [r"(a)(b)?"]
    standard = compile_(r"(a)(b)?", re.IGNORECASE)
    assert (one.pattern, one.flags, one.groups) == (standard.pattern, standard.flags, standard.groups)
    found = one.fullmatch("Ab")
    assert found is not None
    assert found.groups() == ("A", "b")


def texts() -> list[tuple[str, int, ast.Call]]:
    """Where the package has such patterns."""
    return [
        (str(path.relative_to(PACKAGE)), node.lineno, node)
        for path in sorted(PACKAGE.rglob("*.py"))
        if "from fabricc.base.patterns import pattern" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pattern"
    ]


def test_every_one_that_stands_as_a_text_compiles() -> None:
    plain = [(place, line, call.args[0]) for place, line, call in texts()]
    stated = [(place, line, node.value) for place, line, node in plain if isinstance(node, ast.Constant)]
    assert len(stated) > 30
    for place, line, text in stated:
        try:
            re.compile(text)
        except re.error as error:
            pytest.fail(f"{place}:{line}: {error}")
