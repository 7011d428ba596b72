"""The tutorial and the first hour, command by command, in a new repository: each prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {"tutorial": 20, "first-hour": 15}
"""Page -> commands that it has at least."""
FAILS = "  # fails"


def page_steps(page: str) -> list[tuple[str, list[str]]]:
    """Command and the lines shown below it, of all blocks of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def output_pattern(shown: list[str]) -> str:
    """Return what an output has to be: `…` alone on a line is any lines, within one any text."""
    text = ""
    for line in shown:
        text += r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n"
    return text


def run(command: str, here: Path, environment: dict[str, str], ended: Path) -> tuple[str, int, Path]:
    """Return what a command prints, its status, and the folder that it ends in."""
    script = f'{command}\nstatus=$?; pwd > "{ended}"; exit $status'
    ran = subprocess.run(
        ["bash", "-c", script], cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    return ran.stdout, ran.returncode, Path(ended.read_text().strip())


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tutorial", "first-hour"])
def test_tutorial_commands_print_the_documented_output(page: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "fabricc"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m fabricc "$@"\n')
    program.chmod(0o755)
    who = {
        f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    environment = {
        **os.environ, **who, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "110", "NO_COLOR": "1",
        "GIT_PROGRESS_DELAY": "600",
    }  # fmt: skip
    here = tmp_path
    assert len(page_steps(page)) > PAGES[page]
    for command, shown in page_steps(page):
        reported, status, here = run(command, here, environment, tmp_path / "ended")
        assert (status != 0) is command.endswith(FAILS), (command, reported)
        assert re.fullmatch(output_pattern(shown), reported), f"{command}\n{reported}"


def test_a_page_that_shows_something_else_would_be_noticed() -> None:
    assert re.fullmatch(output_pattern(["a", "…", "c … e"]), "a\nb\nb\nc d e\n")
    assert not re.fullmatch(output_pattern(["a", "…", "c … e"]), "a\nb\nc d f\n")
    assert not re.fullmatch(output_pattern(["a"]), "a\nb\n")
