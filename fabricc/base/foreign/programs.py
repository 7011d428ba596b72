"""Find programs of the machine, and end them when fabricc ends."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def find_program(name: str) -> str | None:
    """Return the path of a program in the absolute folders of `PATH`, never in the folder that fabricc was started in.

    None where there is none.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    rooted = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    return shutil.which(name, path=rooted)


def end_with_parent() -> Callable[[], None] | None:
    """Return a `preexec_fn` by which Linux kills the child when the calling thread ends, also when fabricc is killed.

    None on other systems, which have no such request: there a child runs until it is done.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: the child must take no lock
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the request
            os._exit(1)

    return ask
