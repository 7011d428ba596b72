"""Commands that messages show can be pasted into a shell: names of files, folders and branches are quoted in them."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import click
import pytest

import fabricc
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.cli.entry import cli, run

SOURCE = Path(fabricc.__file__).parent
_VERBS = "|".join(cli.list_commands(click.Context(cli)))
COMMAND = re.compile(rf"`(?:<\d+>)?(?:fabricc|cd|git|chmod|bash)\b[^`]*`|\bfabricc (?:{_VERBS}) [^`]*")
NAMED = re.compile(r"[`}](?:fabricc|cd|git|chmod|bash)\b|\bfabricc \S")
"""A text of a module that may have such a command."""
VALUE = re.compile(r"<(\d+)>")
SAFE = frozenset((
    "NAME", "MAIN", "BRANCH", "__version__", "code", "found.code", "arguments[0]", "words[0]", "link[2]", "text",
    "verb", "lab.record.cluster", "trial.cluster", "format_share_option(found.request.keep)", "self.executor.run",
    "commit[:12]", "example_repository.MAIN", "example_repository.BRANCH",
))  # fmt: skip
"""Numbers, words of fabricc itself, and names of models and clusters, which have no blanks or signs of a shell."""


def unquoted_values(path: Path) -> list[str]:
    """The values that commands in the texts of a module have without quotes."""
    content = path.read_text("utf-8")
    found: list[str] = []
    if not NAMED.search(content):
        return found
    for node in ast.walk(ast.parse(content)):
        if not isinstance(node, ast.JoinedStr):
            continue
        values = [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
        numbers = iter(range(len(values)))
        text = "".join(
            str(each.value) if isinstance(each, ast.Constant) else f"<{next(numbers)}>"
            for each in node.values
        )
        for number in VALUE.findall("".join(COMMAND.findall(text))):
            value = ast.unparse(values[int(number)])
            quoted = re.search(
                rf"\b{re.escape(value)}\b.* = .*shell_(path|word)\(", content
            ) or value.startswith(("shell_path(", "shell_word("))
            if value not in SAFE and not quoted:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {value}")
    return found


@pytest.mark.slow
def test_every_command_in_a_message_quotes_what_it_names() -> None:
    texts = sorted(SOURCE.rglob("*.py"))
    assert len(texts) > 500
    assert [each for path in texts for each in unquoted_values(path) if "/drivers/" not in str(path)] == []


def test_the_search_finds_a_name_without_quotes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.trust.test_shown_commands.SOURCE", tmp_path)
    module = tmp_path / "module.py"
    module.write_text('x = f"Run `git add {name}` or `fabricc plan {shell_path(spec)}`."\n', "utf-8")
    assert unquoted_values(module) == ["module.py:1 name"]
    module.write_text('x = f"fabricc build {spec} --frozen"\n', "utf-8")
    assert unquoted_values(module) == ["module.py:1 spec"]


def test_messages_use_the_quotes_of_one_module() -> None:
    using = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "shlex" in path.read_text("utf-8")
    ]
    assert [each for each in using if "/drivers/" not in each] == ["base/foreign/shell.py"]


NAMES = (
    "a b", "a;b", "$(id)", "it's", "a&b", "-x", "--help", "~", "#x", "!!", "a`id`b", 'a"b', "a\\b", "a\nb", "\n",
    "a\tb", "\x1b[2J", "\u202ea", "\ufeff", "caf\u00e9", "\udcff\udc80", "'\n'\\", "*", "a=b", "\r", "-\n",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_shell_reads_the_same_name(name: str, tmp_path: Path) -> None:
    word = shell_path(name)
    assert word.isprintable()
    assert "\n" not in word
    text = f"printf '%s\\0' {word}".encode("utf-8", "surrogateescape")
    done = subprocess.run(["bash", "-c", text], capture_output=True, check=True, cwd=tmp_path, env={})
    expected = f"./{name}" if name.startswith("-") else name
    assert done.stdout == expected.encode("utf-8", "surrogateescape") + b"\0"


def test_half_of_a_character_has_a_word_too() -> None:
    assert shell_word("a\ud800b") == "$'a?b'"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "~"], ids=ascii)
def test_the_next_command_of_init_leads_into_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if run(["init", "--", name]) != 0:
        assert not (tmp_path / name).exists()
        return
    command = capsys.readouterr().out.partition("Next: `")[2].partition(" && fabricc ")[0]
    done = subprocess.run(["bash", "-c", f"{command} && ls"], capture_output=True, cwd=tmp_path, check=True)
    assert b"cluster.yaml" in done.stdout.split()
