"""Which fault strikes at a call of a driver, told by a file of lines `device method when fault count`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

SIGNALS = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}
"""Faults of the pushing process itself."""


def due(place: str | None, device: str, method: str, when: str) -> str:
    """The fault that strikes at this call, "" for none; it strikes once, at the count-th call."""
    if not place or not Path(place).exists():
        return ""
    lines = [line.split() for line in Path(place).read_text().splitlines()]
    if not any(line[:3] == [device, method, when] for line in lines):
        return ""
    struck = ""
    for line in lines:
        if line[:3] == [device, method, when] and line[4] != "0":
            line[4] = str(int(line[4]) - 1)
            struck = line[3] if line[4] == "0" else struck
    Path(place).write_text("".join(f"{' '.join(line)}\n" for line in lines))
    if struck in SIGNALS:
        os.kill(os.getpid(), SIGNALS[struck])
        return ""
    return struck
