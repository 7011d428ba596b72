"""The fault at a call of a driver, from a file of lines `device method when fault count`."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

SIGNALS = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "hangup": signal.SIGHUP}
"""Faults of the pushing process itself."""


def due_fault(place: str | None, device: str, method: str, when: str) -> str:
    """The fault that strikes at this call, "" for none; it strikes once, at the count-th call."""
    if not place or not Path(place).exists():
        return ""
    struck = ""
    with Path(place).open("r+") as file:
        # All drivers of a push read it, and none may see it half written. The lock ends with the file or the process.
        fcntl.flock(file, fcntl.LOCK_EX)
        lines = [line.split() for line in file]
        for line in lines:
            if line[:3] == [device, method, when] and line[4] != "0":
                line[4] = str(int(line[4]) - 1)
                struck = line[3] if line[4] == "0" else struck
        file.seek(0)
        file.write("".join(f"{' '.join(line)}\n" for line in lines))
        file.truncate()
    if struck in SIGNALS:
        os.kill(os.getpid(), SIGNALS[struck])
        return ""
    return struck
