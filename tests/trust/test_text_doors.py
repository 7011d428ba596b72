"""Only the sink prints, and only the escaping module marks a text as escaped: read from the source itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fabricc

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(fabricc.__file__).parent
SINK = "cli/output.py"
ALLOWED = {
    SINK: "the sink itself",
    "cli/bars.py": "the bars of progress, whose words it escapes",
    "cli/drawing.py": "draws into memory what the sink prints",
    "cli/starter/azure.py": "runs in a job of CI and prints the name of the spec, in ASCII",
    "cli/starter/gitlab.py": "runs in a job of CI and prints numbers and the names of Python's exceptions",
    "operate/drivers/frr_agent.py": "runs alone on a switch and prints its answer to the driver, JSON in ASCII",
    "operate/drivers/sonic_agent.py": "runs alone on a switch and prints its answer to the driver, JSON in ASCII",
}
PRINTS = {"echo", "secho", "echo_via_pager", "print", "pprint", "print_json", "print_exc", "print_exception"}
OF = {"", "click", "rich", "console", "traceback", "pprint"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
KINDS = {"SafeText", "Rendered", "Terminal", "Markdown", "Markup"}
MAKERS = {
    "base/foreign/formats.py": "makes what it escapes",
    "review/report/page.py": "gives what was escaped a tag of ours",
}


def find_prints(tree: ast.AST) -> list[int]:
    """Lines that print, or take hold of what prints."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            owner = ast.unparse(node.func).rpartition(".")[0] if name in {*PRINTS, "show"} else ""
            shown = (owner, name) == ("error", "show") and not node.args
            if (name in PRINTS and owner in OF) or name == "Console" or shown:
                found.append(node.lineno)
        elif isinstance(node, ast.Attribute) and node.attr in ("write", "writelines", "buffer"):
            stream = node.value
            if isinstance(stream, ast.Attribute) and stream.attr in STREAMS:
                found.append(node.lineno)
        elif (
            isinstance(node, ast.ImportFrom)
            and node.module == "sys"
            and STREAMS & {each.name for each in node.names}
        ):
            found.append(node.lineno)
    return found


def find_escapes(tree: ast.AST) -> list[int]:
    """Lines that call a text escaped which is not written there in full."""
    found = []
    for node in ast.walk(tree):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in KINDS:
            literal = all(
                isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.args
            )
            if not literal or node.keywords:
                found.append(node.lineno)
    return found


def find_outside(
    finder: Callable[[ast.AST], list[int]], words: set[str], allowed: dict[str, str]
) -> list[str]:
    """Return the lines that `finder` lists outside the allowed modules; `words`: one of them is in each such module."""
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))
    }
    assert allowed.keys() <= texts.keys(), "a reason is given for a file that is not there"
    named = re.compile(rf"\b(?:{'|'.join(words)})\b")
    found = {name: finder(ast.parse(text)) if named.search(text) else [] for name, text in texts.items()}
    for name, reason in allowed.items():
        assert found[name], f"{name} needs no exception: {reason}"
    return [f"{name}:{line}" for name, lines in found.items() if name not in allowed for line in lines]


def test_only_the_sink_prints() -> None:
    assert find_outside(find_prints, {*PRINTS, *STREAMS, "Console", "show"}, ALLOWED) == []


def test_only_the_escapes_call_a_text_escaped() -> None:
    assert find_outside(find_escapes, KINDS, MAKERS) == []


@pytest.mark.parametrize(
    "source",
    [
        "print(x)",
        "click.echo(x)",
        "click.secho(x)",
        "console.print(x)",
        "sys.stdout.write(x)",
        "sys.stderr.buffer.write(x)",
        "from sys import stdout",
        "Console(stderr=True)",
        "rich.console.Console()",
        "rich.print(x)",
        "error.show()",
        "traceback.print_exc()",
    ],
)
def test_each_way_to_print_is_seen(source: str) -> None:
    assert find_prints(ast.parse(source)) != []


@pytest.mark.parametrize(
    "source", ["Markdown(x)", "text.Terminal(f'{x}')", "Rendered(a + b)", "SafeText(*parts)"]
)
def test_each_way_to_call_a_text_escaped_is_seen(source: str) -> None:
    assert find_escapes(ast.parse(source)) == [1]


def test_literals_may_be_declared_safe() -> None:
    assert find_escapes(ast.parse("Markdown('- {}').format(x); Terminal()")) == []
