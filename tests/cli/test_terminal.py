"""Output on terminals: 80 columns, light or dark, and without colors."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLUSTER = "inventories/lab-smallest/cluster.yaml"
VERBS = {
    "help": ("--help",),
    "help of push": ("push", "--help"),
    "catalog": ("catalog",),
    "a model": ("catalog", "sn5600"),
    "plan": ("plan", "inventories/superpod-b200-4su/cluster.yaml"),
    "plan of InfiniBand": ("plan", "inventories/quantum2-512/cluster.yaml"),
    "alternatives": ("plan", "--alternatives", "inventories/rack-zone-512/cluster.yaml"),
    "explain": ("explain", CLUSTER, "tor01"),
    "maintain": ("maintain", "spine01a", "inventories/rack-zone-512/cluster.yaml", "--window", "2h"),
    "an error": ("validate", "tests/cli/test_terminal.py"),
}
ADAPTED = {"", "0", "1", "2", "31", "32", "33", "34", "35", "36"}
"""Styles that terminals show in colors of their own scheme, so that all are legible: never black, white or a number of
the 256 colors, and no background."""
STYLE = re.compile(r"\x1b\[([\d;]*)m")
OTHER = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|\r")


def show_on_terminal(columns: int, words: tuple[str, ...], **environment: str) -> str:
    """Return what fabricc writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "fabricc", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=kept | {"TERM": "xterm-256color"} | environment,
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal is closed when its last writer ends
            break
        output += part
    os.close(ours)
    process.wait(timeout=60)
    return output.decode()


def remove_styles(output: str) -> str:
    return OTHER.sub("", STYLE.sub("", output))


@pytest.mark.spread
@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=[pytest.mark.slow] * (verb == "alternatives")) for verb in VERBS]
)
def test_eighty_columns_are_enough_and_cut_no_word(verb: str) -> None:
    narrow, wide = (
        remove_styles(show_on_terminal(80, VERBS[verb])),
        remove_styles(show_on_terminal(400, VERBS[verb])),
    )
    assert max(map(len, narrow.splitlines())) <= 80
    new = set(narrow.split()) - set(wide.split())
    assert not [word for word in new if word.strip("─") and not word.endswith("…")], (
        "an excerpt of a spec ends in …"
    )


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["plan", "catalog", "explain", "an error"])
def test_colours_are_those_of_the_terminals_scheme(verb: str) -> None:
    output = show_on_terminal(80, VERBS[verb])
    assert {each for style in STYLE.findall(output) for each in style.split(";")} <= ADAPTED
    without = show_on_terminal(80, VERBS[verb], NO_COLOR="1")
    assert not any(int(each or 0) >= 30 for style in STYLE.findall(without) for each in style.split(";"))
    assert remove_styles(without) == remove_styles(output)
