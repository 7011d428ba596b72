"""Check what a deployment depends on: this machine, the spec and its Git repository, and the switches.

On the machine: Python, required packages, programs that verbs start, and the clock. On a switch: reachability, login,
identity of the release, and the clock.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign import shell
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_history import is_shallow
from fabricc.base.foreign.git_process import GitError, git_program
from fabricc.base.foreign.shell import shell_path
from fabricc.catalog.support import release_numbers
from fabricc.compiler.load.lock_file import lost_lock
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import NAME, Access
from fabricc.operate.devices.connection import Connection, open_connection
from fabricc.operate.devices.fanout import for_each
from fabricc.operate.devices.login import Device, devices_by_name
from fabricc.version import __version__

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric


class State(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


class Check(NamedTuple):
    """One line of the report.

    Attributes:
        subject: the thing that was checked, such as `click` or a switch.
        state: the outcome.
        message: what was found.
        remedy: what to do about it; for `ok`, how to look yourself.
    """

    subject: str
    state: State
    message: str
    remedy: str


LEAST_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9.]+))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([a-z]+)['\"]")
_EXTRAS = {"keyring": "secrets in the keyring", "mcp": "the verb mcp", "xlsx": "bills of materials as .xlsx"}
_PROGRAMS = {
    "ssh-keygen": "signatures with SSH keys; install openssh-client",
    "minisign": "signatures with minisign keys; install minisign",
    "ip": "the verb lab; install iproute2",
    "vtysh": "the verb lab; install frr",
    "ibsim": "check --sim of InfiniBand; install ibsim-utils and opensm",
}
"""Program -> the verbs that need it, and the package of Debian and Ubuntu."""
_CLOCK_S = 10


def check_machine() -> Iterator[Check]:
    """Yield the checks of this machine."""
    yield _python()
    yield from _packages()
    yield _git()
    for program, use in _PROGRAMS.items():
        there = shell.find_program(program)
        purpose, _, package = use.partition("; ")
        message = there or f"not installed; needed for {purpose}"
        remedy = f"`{program} --help` runs it." if there else f"If you need it, {package}."
        yield Check(program, State.OK if there else State.SKIPPED, message, remedy)
    yield _clock()


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    fits = sys.version_info[:2] >= LEAST_PYTHON
    least = ".".join(map(str, LEAST_PYTHON))
    message = f"Python {found}, fabricc {__version__}"
    return Check(
        "fabricc", State.OK if fits else State.ERROR, message, f"fabricc runs on Python {least} or newer."
    )


def _packages() -> Iterator[Check]:
    """Yield whether each required package is installed in a version that is new enough."""
    try:
        requires = distribution("fabricc").requires or []
    except PackageNotFoundError:
        remedy = "Install fabricc with pip, so that pip checks its packages."
        yield Check("packages", State.SKIPPED, "fabricc runs from a folder and is not installed", remedy)
        return
    for text in requires:
        extra = _EXTRA.search(text)
        purpose = _EXTRAS.get(extra[1]) if extra else ""
        stated = _REQUIREMENT.match(text)
        if purpose is None or stated is None:
            continue
        name, least = stated[1], stated[2] or "0"
        pip = f"pip install 'fabricc[{extra[1]}]'" if extra else f"pip install '{name}>={least}'"
        try:
            found = version(name)
        except PackageNotFoundError:
            state = State.SKIPPED if extra else State.ERROR
            yield Check(
                name, state, f"not installed{f'; needed for {purpose}' if purpose else ''}", f"Run `{pip}`."
            )
            continue
        fits = release_numbers(found) >= release_numbers(least)
        message = f"{found}, at least {least} is required"
        yield Check(name, State.OK if fits else State.ERROR, message, f"`{pip}` installs a newer one.")


def _git() -> Check:
    try:
        return Check("Git", State.OK, git_program(), "`git version` shows its release.")
    except GitError as error:
        return Check("Git", State.ERROR, str(error), error.help)


def _clock() -> Check:
    """Return whether the clock of this machine is synchronized: confirmed commits and signatures depend on it."""
    remedy = "Start a time service: `systemctl enable --now systemd-timesyncd`, or chrony."
    program = shell.find_program("timedatectl")
    text = ""
    if program is not None:
        try:
            done = subprocess.run(
                [program, "show", "--property=NTPSynchronized", "--value"], stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_CLOCK_S, check=False, text=True,
            )  # fmt: skip
            text = done.stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            text = ""
    if text == "yes":
        return Check("clock", State.OK, "synchronized by a time service", "`timedatectl` shows the source.")
    if text == "no":
        return Check(
            "clock", State.WARNING, "not synchronized: times of pushes and logs may not agree", remedy
        )
    return Check("clock", State.SKIPPED, "timedatectl does not report whether it is synchronized", remedy)


def check_spec(compiled: Compiled) -> Iterator[Check]:
    """Yield whether the spec compiles, and whether it has a lock."""
    name = str(compiled.path)
    word = shell_path(name)
    errors = sum(each.severity is Severity.ERROR for each in compiled.diagnostics)
    warnings = sum(each.severity is Severity.WARNING for each in compiled.diagnostics)
    counts = f"{plural(errors, 'error')}, {plural(warnings, 'warning')}"
    state = State.ERROR if errors else State.WARNING if warnings else State.OK
    yield Check(name, state, counts, f"`fabricc validate {word}` lists them.")
    pinned = compiled.lock_before is not None
    if not pinned and os.path.lexists(compiled.lock_path):
        message = "not read, because the spec or the lock has errors"
        yield Check(compiled.lock_path.name, State.SKIPPED, message, f"`fabricc validate {word}` lists them.")
        return
    if lost := lost_lock(compiled, [Path("build"), compiled.path.parent / "build"]):
        state = State.ERROR if lost.severity is Severity.ERROR else State.WARNING
        yield Check(compiled.lock_path.name, state, lost.message, lost.help)
        return
    message = "pins addresses and names" if pinned else "missing: no number is pinned, so growth may renumber"
    remedy = (
        f"`fabricc lock --check {word}` compares it."
        if pinned
        else f"Run `fabricc build {word}` and commit it."
    )
    yield Check(compiled.lock_path.name, State.OK if pinned else State.WARNING, message, remedy)


def check_repository(spec: Path) -> Iterator[Check]:
    """Yield the state of the repository that has the spec."""
    try:
        repository = Repository.of(spec.resolve().parent)
        head = repository.commit("HEAD")
    except GitError as error:
        remedy = error.help or "Run `git init`, and commit the spec, the lock and the tree."
        yield Check("repository", State.WARNING, f"{error}: changes cannot be reviewed", remedy)
        return
    yield Check("repository", State.OK, f"at commit {head[:12]}", "`git log` shows its history.")
    try:
        for name, why in (
            (spec.name, "diff has no base"),
            ("fabricc.lock", "other clones renumber"),
        ):
            tracked = repository.tracks(name)
            message = "tracked by Git" if tracked else f"not tracked by Git: {why}"
            yield Check(
                name,
                State.OK if tracked else State.WARNING,
                message,
                f"`git add {shell_path(name)}` adds it.",
            )
        committed = repository.tracks(NAME)
        message = (
            "committed: everyone with the repository can read how to log in" if committed else "not committed"
        )
        remedy = (
            f"`git rm --cached {NAME}`, add it to .gitignore, and commit."
            if committed
            else "Keep it in .gitignore."
        )
        yield Check(NAME, State.ERROR if committed else State.OK, message, remedy)
        shallow = is_shallow(repository)
        message = "shallow: diff may miss the common ancestor" if shallow else "has the whole history"
        yield Check(
            "clone", State.WARNING if shallow else State.OK, message, "`git fetch --unshallow` completes it."
        )
    except GitError as error:
        yield Check("repository", State.WARNING, str(error), error.help or "Repair it: `git fsck`.")


MOST_SKEW_S = 5
"""Seconds between the clocks of a switch and of this machine that logs can still be compared with."""
_PATIENCE_S = 30.0


class _Answer(NamedTuple):
    """The release of a switch and the seconds that its clock is ahead; None where it does not report them."""

    release: str = ""
    ahead_s: float | None = None
    failure: DeviceError | None = None


def check_switches(
    fabric: Fabric, access: Access, workers: int, progress: Callable[[int, int], None] = lambda *_: None
) -> Iterator[Check]:
    """Yield login, release and clock of every switch; nothing on them changes.

    Args:
        fabric: the plan.
        access: how to log in.
        workers: connections at once.
        progress: called with the number of switches that are done, and of all.
    """
    devices = devices_by_name(fabric)
    answers = for_each(
        devices, lambda name: _ask(devices[name], access), workers, progress, patience_s=_PATIENCE_S
    )
    for name, answer in answers.items():
        yield from _checks(devices[name], answer)


def _ask(device: Device, access: Access) -> _Answer:
    try:
        with open_connection(device, access) as connection:
            facts = _read(connection, "get_facts") or {}
            before = time.time()
            clock = _read(connection, "get_clock")
            middle = (before + time.time()) / 2
            ahead = None if clock is None else float(clock) - middle
            return _Answer(str(facts.get("os_version") or ""), ahead)
    except DeviceError as error:
        return _Answer(failure=error)


def _read(connection: Connection, getter: str) -> Any:
    """Return the result of a getter; None where the switch does not answer it, although the login works."""
    try:
        return connection.getter(getter)
    except DeviceError:
        return None


def _checks(device: Device, answer: _Answer) -> Iterator[Check]:
    name = device.name
    if answer.failure is not None:
        found = answer.failure.diagnostic
        yield Check(
            name, State.ERROR, found.message, found.help or f"`fabricc explain {found.code}` shows causes."
        )
        return
    yield Check(name, State.OK, f"login works at {device.address}", "`fabricc verify` compares its state.")
    planned = release_numbers(device.release)
    system = f"{device.nos} {device.release}".strip()
    remedy = f"Set `nos: {device.nos}-RELEASE` in the spec, or plan the change with `fabricc upgrade`."
    runs = release_numbers(answer.release)
    if not runs or not planned:
        yield Check(name, State.SKIPPED, f"the release is not known; the spec has {system}", remedy)
    elif runs[: len(planned)] == planned:
        yield Check(name, State.OK, f"runs {answer.release}, as the spec has it", remedy)
    else:
        yield Check(name, State.WARNING, f"runs {answer.release}, but the spec has {system}", remedy)
    remedy = "Set `management.ntp` in the spec, and check that the servers answer."
    if answer.ahead_s is None:
        yield Check(name, State.SKIPPED, f"the clock of {device.nos} was not read", remedy)
    elif abs(answer.ahead_s) > MOST_SKEW_S:
        ahead = f"{abs(answer.ahead_s):,.0f} s {'ahead of' if answer.ahead_s > 0 else 'behind'} this machine"
        yield Check(name, State.WARNING, f"its clock is {ahead}", remedy)
    else:
        yield Check(name, State.OK, f"its clock is within {MOST_SKEW_S} s of this machine", remedy)
