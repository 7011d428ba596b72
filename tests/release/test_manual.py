"""fabricc(1): every verb and option with the program's texts, in a form that formatters accept."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from fabricc.cli.docs import list_item, render_manual
from fabricc.cli.entry import VERBS, cli

PAGE = Path(__file__).parents[2] / "man/fabricc.1"
FORMATTERS = {
    "groff": ["-man", "-ww", "-z", "-K", "utf8"],
    "mandoc": ["-T", "lint", "-W", "error"],
    "man": ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"],
}


def test_manual_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == render_manual(), "run: fabricc docs --man >man/fabricc.1"


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_manual_page_has_no_formatter_warnings(formatter: str) -> None:
    program = shutil.which(formatter)
    if program is None:
        pytest.skip(f"{formatter} is not installed")
    command = [program, *FORMATTERS[formatter], str(PAGE)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert formatter == "man" or ran.stdout == ""


def test_a_reader_finds_every_verb_and_option() -> None:
    program = shutil.which("groff")
    if program is None:
        pytest.skip("groff is not installed")
    command = [program, "-man", "-K", "utf8", "-T", "utf8", "-P-cbou", "-rLL=400n", str(PAGE)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert re.findall(r"^[A-Z][A-Z ]+$", shown, re.MULTILINE) == [
        "NAME", "SYNOPSIS", "DESCRIPTION", "VERBS", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO",
    ]  # fmt: skip
    for verb in VERBS:
        assert re.search(rf"^   fabricc {verb} ", shown, re.MULTILINE), verb
    options = [
        name
        for verb in VERBS
        for parameter in cli.get_command(click.Context(cli), verb).params  # type: ignore[union-attr]
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    assert len(options) > 100
    assert not [name for name in options if not re.search(rf"(^| ){re.escape(name)}\b", shown, re.MULTILINE)]


def test_manual_page_escapes_roff_control_characters() -> None:
    assert list_item("--x", ".SH a \\fB ~ `b`") == (".TP", ".B \\-\\-x", "\\&.SH a \\efB \\(ti \\fBb\\fR")
