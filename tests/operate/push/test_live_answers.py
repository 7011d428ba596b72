"""A push to real FRR on which one program answers otherwise: exit status, journal, and what the switch runs agree.

A script in the place of `vtysh` or `frr-reload.py` answers one call, or adds words to each, and runs the program itself
otherwise. The words are those of FRR's programs, and of refusals that switches printed where a copy of those is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fabricc.operate.lab import demands, lifecycle
from tests.operate.drivers.test_published_identities import ANSWERS
from tests.operate.push import live_matrix
from tests.operate.push.live import Live
from tests.operate.push.network import DISRUPTIVE
from tests.operate.push.test_injected_answers import PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Iterator
pytestmark = pytest.mark.slow
VICTIM = live_matrix.VICTIM
PROGRAMS = {"vtysh": "/usr/bin/vtysh", "reload": "/usr/lib/frr/frr-reload.py"}
INSIDE = "/etc/fabricc-lab/answer"
"""The folder of the scripts, as the switch sees it."""
RUNNING, SUMMARY = "show running-config", "show bgp vrf all summary json"
NO_DAEMON = "Exiting: failed to connect to any daemons."
REFUSED, LOST, CUT, REPLACED, ADVISED = "exit 1", "exit 124", "half", "exit 0", "before"


class Answer(NamedTuple):
    """Another answer: of which program, to which call with these words, and what it is."""

    program: str
    words: str
    call: int
    kind: str
    output: str
    ends: bool = True
    """Whether the push may fail."""


ANSWERED = [
    Answer(
        "vtysh", "", 0, ADVISED, "% Can't open configuration file /etc/frr/vtysh.conf; failed", ends=False
    ),
    Answer("reload", "", 0, ADVISED, "SyntaxWarning: invalid escape sequence; error ignored", ends=False),
    Answer("vtysh", RUNNING, 1, REFUSED, NO_DAEMON),
    Answer("vtysh", RUNNING, 2, CUT, ""),
    Answer("vtysh", RUNNING, 3, REPLACED, "% Unknown command: show running-config"),
    Answer("vtysh", SUMMARY, 1, REPLACED, "% BGP instance not found"),
    Answer("vtysh", SUMMARY, 2, REPLACED, ""),
    Answer("vtysh", SUMMARY, 2, CUT, ""),
    Answer("vtysh", "-C", 1, REFUSED, "line 3: % Command incomplete: router bgp"),
    Answer("vtysh", "-C", 1, LOST, ""),
    Answer("reload", "--test", 1, REPLACED, "usage: frr-reload.py [-h] (--reload | --test)"),
    Answer("reload", "--test", 2, REPLACED, ""),
    Answer("reload", "--reload", 1, REFUSED, "[12|bgpd] Failed to apply: % Configuration failed."),
    Answer(
        "reload", "--reload", 1, REPLACED, "Waiting for children to finish applying config...", ends=False
    ),
    Answer("reload", "--reload", 2, REPLACED, "", ends=False),
]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a push to a lab needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("answers")
    found: Live | None = None
    try:
        found = Live.start(folder, 2)
        stand_in(found)
        yield found
    finally:
        if found:
            lifecycle.take_down_lab(found.lab.folder)


@pytest.fixture(autouse=True)
def state(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build with the state that the pushes of the lab use."""
    monkeypatch.setenv("XDG_STATE_HOME", str(live.folder / "state"))


def stand_in(live: Live) -> None:
    """Put a script in the place of each program, which runs the program itself unless `answer.sh` answers."""
    folder = script_folder(live)
    folder.mkdir()
    folder.chmod(0o777)
    for name, place in PROGRAMS.items():
        usual = f"{INSIDE}/{name}.py" if name == "reload" else f"{INSIDE}/{name}.real"
        shutil.copy(place, folder / Path(usual).name)
        run = f'usual="{"python3 " * (name == "reload")}{usual}"'
        requested = f'[ ! -e {INSIDE}/{name}.sh ] || . {INSIDE}/{name}.sh\nexec $usual "$@"\n'
        (folder / f"{name}.script").write_text(f"#!/bin/sh\n{run}\n{requested}")
        if name == "reload":  # the driver starts it by `python3`
            (folder / "reload.start").write_text(
                f'import os, sys\nos.execv("/bin/sh", ["sh", "{INSIDE}/reload.script", *sys.argv[1:]])\n'
            )
        for path in folder.iterdir():
            path.chmod(0o755)
        script = f"{INSIDE}/{name}.{'start' if name == 'reload' else 'script'}"
        words = ["nsenter", "-t", str(live.lab.process(VICTIM)), "-m", "mount", "--bind", script, place]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def script_folder(live: Live) -> Path:
    """Return the folder of the scripts as this machine sees it."""
    return live.doors(VICTIM) / "answer"


def install_script(live: Live, answer: Answer) -> Path:
    """Let the script of a program answer; return the file with a line for each call."""
    output, calls, half = (f"{INSIDE}/{name}" for name in ("said", "calls", "half"))
    (script_folder(live) / "said").write_text(f"{answer.output}\n" if answer.output else "")
    found = script_folder(live) / "calls"
    found.write_text("")
    other = {
        ADVISED: f"cat {output} >&2",
        CUT: f'$usual "$@" > {half}; head -c $(($(wc -c < {half}) / 2)) {half}; exit 0',
        REPLACED: f"cat {output}; exit 0",
    }.get(answer.kind, f"cat {output} >&2; {answer.kind}")
    due = f'[ {answer.call} = 0 ] || [ "$(wc -l < {calls})" = {answer.call} ]'
    text = f'case "$*" in *"{answer.words}"*) echo >> {calls}; if {due}; then {other}; fi ;; esac\n'
    (script_folder(live) / f"{answer.program}.sh").write_text(text)
    return found


def push(live: Live, answer: Answer) -> None:
    """Push under the answer, and then without it."""
    texts = {}
    for change in ("", DISRUPTIVE):
        live.edit(change)
        texts[change] = live.source.files(VICTIM)["frr.conf"]
    calls = install_script(live, answer)
    try:
        status, output = live.push(*live_matrix.ONLY)
    finally:
        (script_folder(live) / f"{answer.program}.sh").unlink()
    try:
        assert answer.call <= len(calls.read_text().splitlines()), "the answer was given"
        assert "Traceback" not in output, output
        assert "FAB7999" not in output, output
        assert status == 0 or answer.ends, output
        assert (live.states().get(VICTIM) in live_matrix.NEW) == (status == 0), output
        assert live_matrix._find_untrue(live, texts) == [], output
        status, output = live.push(*live_matrix.ONLY)
        assert status == 0, output
        assert live_matrix._find_untrue(live, texts) == [], output
    finally:
        live_matrix._reset_journal(live)


@pytest.mark.parametrize("answer", ANSWERED, ids=str)
def test_journal_and_switch_agree_after_another_answer(live: Live, answer: Answer) -> None:
    push(live, answer)


@pytest.mark.skipif(not ANSWERS.is_dir(), reason="the published answers are not here (../shared/answers)")
def test_refusals_that_switches_printed_are_no_configuration(live: Live) -> None:
    files = [path for path in sorted(ANSWERS.rglob("*")) if path.suffix in (".raw", ".txt", ".text")]
    words = {one.strip() for path in files for one in PUBLISHED.findall(path.read_text(errors="replace"))}
    steps = [("vtysh", RUNNING), ("vtysh", SUMMARY), ("reload", "--test")]
    chosen = sorted(one for one in words if "'" not in one)[:: max(1, len(words) // len(steps))]
    for (program, step), one in zip(steps, chosen, strict=False):
        push(live, Answer(program, step, 2, REPLACED, one))
