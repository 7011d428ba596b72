"""Keep the boxes of one lab alive: start each requested box, and end all of them at the end.

Run as `python -m fabricc.operate.lab.supervisor STATE`. Every box is its child and dies with it, however it ends,
because the kernel kills them then (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from fabricc.operate.lab.kernel import child_processes
from fabricc.operate.lab.state import BOXES

PARALLEL = 4
WANTED, UNSHARE = "wanted", "unshare"
"""Files in a box's folder: the namespace it is to run in, and the process that holds it."""
READY = "run/lab/ready"
_POLL_S = 0.02
_IDLE_S = 0.2


def main(state: Path) -> None:
    """Start boxes as they are requested, until a signal ends the process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    boxes: dict[str, subprocess.Popen[bytes]] = {}
    booting: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while True:
            booting = {
                name: box for name, box in booting.items() if box.poll() is None and not _is_ready(box)
            }
            waiting = [folder for folder in _requested_folders(state) if folder.name not in boxes]
            for folder in waiting[: PARALLEL - len(booting)]:
                boxes[folder.name] = booting[folder.name] = _start_box(folder)
            for box in boxes.values():
                box.poll()
            time.sleep(_POLL_S if waiting or booting else _IDLE_S)
    finally:
        for box in boxes.values():
            box.kill()


def _requested_folders(state: Path) -> list[Path]:
    return sorted(file.parent for file in (state / BOXES).glob(f"*/{WANTED}"))


def _start_box(folder: Path) -> subprocess.Popen[bytes]:
    namespace = (folder / WANTED).read_text().strip()
    program = Path(__file__).with_name("box.py")
    command = [
        "setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", namespace,
        "unshare", "-m", "-u", "-i", "-p", "-f", "--kill-child", "--mount-proc",
        sys.executable, "-I", "-S", str(program), str(folder),
    ]  # fmt: skip
    with (folder / "log" / "console.log").open("wb") as console:
        box = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
    draft = folder / f"{UNSHARE}.new"
    draft.write_text(str(box.pid))
    draft.rename(folder / UNSHARE)
    return box


def _is_ready(box: subprocess.Popen[bytes]) -> bool:
    return any(Path(f"/proc/{pid}/root/{READY}").exists() for pid in child_processes(box.pid))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
