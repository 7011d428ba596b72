"""Commands that messages show can be pasted into a shell: names of files, folders and branches are quoted in them."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

import fabricc
from fabricc.cli.entry import run

SOURCE = Path(fabricc.__file__).parent
COMMAND = re.compile(r"`(?:<\d+>)?(?:fabricc|cd|git|chmod|bash)\b[^`]*`")
VALUE = re.compile(r"<(\d+)>")
SAFE = frozenset((
    "NAME", "MAIN", "BRANCH", "__version__", "code", "found.code", "arguments[0]", "words[0]", "link[2]", "text",
    "verb", "lab.record.cluster", "self.executor.run", "commit[:12]", "example_repository.MAIN",
    "example_repository.BRANCH",
))  # fmt: skip
"""Numbers, words of fabricc itself, and names of models and clusters, which have no blanks or signs of a shell."""


def unquoted(path: Path) -> list[str]:
    """The values that commands in the texts of a module have without quotes."""
    content = path.read_text("utf-8")
    found = []
    for node in ast.walk(ast.parse(content)):
        if not isinstance(node, ast.JoinedStr):
            continue
        values = [ast.unparse(each.value) for each in node.values if isinstance(each, ast.FormattedValue)]
        numbers = iter(range(len(values)))
        text = "".join(
            str(each.value) if isinstance(each, ast.Constant) else f"<{next(numbers)}>"
            for each in node.values
        )
        for number in VALUE.findall("".join(COMMAND.findall(text))):
            value = values[int(number)]
            quoted = (
                re.search(rf"\b{re.escape(value)}\b.* = .*(quote|shlex\.join)\(", content)
                or "shlex." in value
            )
            if value not in SAFE and not quoted:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {value}")
    return found


def test_every_command_in_a_message_quotes_what_it_names() -> None:
    texts = sorted(SOURCE.rglob("*.py"))
    assert len(texts) > 500
    assert [each for path in texts for each in unquoted(path) if "/drivers/" not in str(path)] == []


def test_the_search_finds_a_name_without_quotes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.trust.test_shown_commands.SOURCE", tmp_path)
    module = tmp_path / "module.py"
    module.write_text('x = f"Run `git add {name}` or `fabricc plan {shlex.quote(spec)}`."\n', "utf-8")
    assert unquoted(module) == ["module.py:1 name"]


@pytest.mark.parametrize("name", ["a b", "a;b", "$(id)", "it's", "a&b"])
def test_the_next_command_of_init_leads_into_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", name]) == 0
    said = capsys.readouterr().out
    command = said.partition("Next: `")[2].partition(" && ")[0]
    assert shlex.split(command) == ["cd", name], said
