"""The output of `fabricc completion` in real shells: begun words, a tab, and the resulting command line."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMPT = "READY> "
WORDS = [
    ("fabricc comp", "fabricc completion"),
    ("fabricc catalog sn54", "fabricc catalog sn5400"),
    ("fabricc explain FAB915", "FAB9150"),
    ("fabricc explain cluster.yaml spine01", "fabricc explain cluster.yaml spine01a"),
    ("fabricc docs lossl", "fabricc docs lossless"),
    ("fabricc build clus", "fabricc build cluster.yaml"),
]
"""The text before the tab, and the text that the shell shows or runs after it."""
STARTED = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
}
SET_UP = {
    "bash": 'PS1="REA""DY> "; bind "set enable-bracketed-paste off" 2>/dev/null; . ./script',
    "zsh": 'unsetopt PROMPT_SP; PS1="REA""DY> "; autoload -U compinit; compinit -u -D; . ./script',
}
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(repo: Path) -> Path:
    """The folder of a spec, with a `fabricc` that runs this checkout's."""
    program = repo / "bin" / "fabricc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m fabricc "$@"\n')
    program.chmod(0o755)
    return repo


def write_script(folder: Path, shell: str) -> Path:
    made = subprocess.run(["bin/fabricc", "completion", shell], cwd=folder, check=True, capture_output=True)
    (folder / "script").write_bytes(made.stdout)
    return folder / "script"


def make_environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }


class Terminal:
    """A shell that somebody types into."""

    def __init__(self, shell: str, folder: Path) -> None:
        self.ours, theirs = pty.openpty()
        self.shell = subprocess.Popen(
            [shutil.which(shell) or shell, *STARTED[shell]],
            cwd=folder, env=make_environment(folder), stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def until(self, wanted: str) -> str:
        """Return what is shown up to and with some words."""
        shown, late = "", time.monotonic() + 60
        while wanted not in shown:
            assert select.select([self.ours], [], [], max(0, late - time.monotonic()))[0], shown
            shown += os.read(self.ours, 65536).decode("utf-8", "replace")
        return shown

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def close(self) -> None:
        self.shell.kill()
        self.shell.wait()
        with suppress(OSError):
            os.close(self.ours)


@pytest.mark.parametrize("shell", STARTED)
def test_a_tab_completes_what_was_begun(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    write_script(folder, shell)
    terminal = Terminal(shell, folder)
    try:
        terminal.type(f"{SET_UP[shell]}\n")
        terminal.until(PROMPT)
        for begun, completed in WORDS:
            terminal.type(f"{begun}\t\t")
            terminal.until(completed)
            terminal.type("\x15\n")  # the line is taken back
            terminal.until(PROMPT)
    finally:
        terminal.close()


def test_fish_offers_the_same_words(folder: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    write_script(folder, "fish")
    for begun, completed in WORDS:
        words = f"source ./script; complete --do-complete '{begun}'"
        ran = subprocess.run(
            [fish, "--no-config", "-c", words],
            cwd=folder, env=make_environment(folder), capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        offered = [line.partition("\t")[0] for line in ran.stdout.splitlines()]
        assert completed.rpartition(" ")[2] in offered, (begun, ran.stdout)
