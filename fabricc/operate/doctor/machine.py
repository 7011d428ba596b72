"""Checks of this machine: Python, the packages that fabricc requires, programs that verbs start, and the clock."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, version

from fabricc.base.foreign import programs
from fabricc.base.foreign.git_process import GitError, git_program
from fabricc.catalog.support import release_numbers
from fabricc.operate.doctor.model import Check, State
from fabricc.version import __version__

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
        there = programs.find_program(program)
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
    program = programs.find_program("timedatectl")
    said = ""
    if program is not None:
        try:
            done = subprocess.run(
                [program, "show", "--property=NTPSynchronized", "--value"], stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_CLOCK_S, check=False, text=True,
            )  # fmt: skip
            said = done.stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            said = ""
    if said == "yes":
        return Check("clock", State.OK, "synchronized by a time service", "`timedatectl` shows the source.")
    if said == "no":
        return Check(
            "clock", State.WARNING, "not synchronized: times of pushes and logs may not agree", remedy
        )
    return Check("clock", State.SKIPPED, "timedatectl does not report whether it is synchronized", remedy)
