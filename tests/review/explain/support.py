"""Specs as documents to what explanations draw on, and the text of a closed form computed again."""

from __future__ import annotations

import ast
import json
import operator
import re
from ipaddress import ip_address
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fabricc.cli.docs import list_pages
from fabricc.compiler.compiled import compile_spec
from fabricc.review.explain.origins import PlanSources

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.compiler.compiled import Compiled
    from fabricc.review.explain.model import Statement

ROOT = Path(__file__).parents[3]
_ADDRESS = re.compile(r"[0-9a-f]*(?:[:.][0-9a-f]*){2,}")
_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def is_page(words: str) -> bool:
    """Return whether `fabricc docs TOPIC` shows a page."""
    command, _, topic = words.partition(",")[0].rpartition(" ")
    return command == "fabricc docs" and topic in list_pages()


def known_of_front(front: Compiled) -> PlanSources:
    assert front.spec is not None, front.diagnostics
    assert front.planned is not None, front.diagnostics
    return PlanSources(front.spec, front.planned, front.sources, str(front.lock_path), front.lock_text)


def known_of(document: dict[str, Any]) -> PlanSources:
    """The plan of a document; its file is called as in a folder that is gone by then."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.yaml"
        path.write_text(json.dumps(document, indent=1))
        return known_of_front(compile_spec(path, gaps=False))


def compute_formula(text: str) -> int:
    """Return what the numbers of a closed form come to; addresses count as the numbers that they are."""
    plain = _ADDRESS.sub(lambda found: str(int(ip_address(found[0]))), text).replace("^", "**")
    return _evaluate_node(ast.parse(plain, mode="eval").body)


def _evaluate_node(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left, operation, right):
            return int(_OPERATIONS[type(operation)](_evaluate_node(left), _evaluate_node(right)))
        case ast.Call(func=ast.Name(id="log2"), args=[argument]):
            return int(log2(_evaluate_node(argument)))
    raise ValueError(ast.dump(node))


def assert_formulas_hold(statement: Statement) -> None:
    """Every formula's numbers give its value, and the last but for a length gives the statement's."""
    for formula in statement.formulas:
        value = formula.value
        expected = int(value) if value.isdigit() else int(ip_address(value))
        assert compute_formula(formula.numbers) == expected, formula
