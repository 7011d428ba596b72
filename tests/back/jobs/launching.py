"""Runs a launch file of a tree as a host does."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.back.jobs.fabrics import files

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [line.split()[0] for line in files("rails")["jobs/hostfile"].splitlines()]


def run(tree: Path, *call: str, host: str = NAMES[2], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a launch file as on this host; the programs it starts are stand-ins that print their arguments."""
    stand_ins = tree / "bin"
    stand_ins.mkdir(exist_ok=True)
    for name in ("torchrun", "ray", "vllm", "docker"):
        (stand_ins / name).write_text('#!/bin/sh\necho "$(basename "$0")"\nprintf "%s\\n" "$@"\n')
        (stand_ins / name).chmod(0o755)
    for interface in ("eno1", "eno3"):
        (tree / "sys/class/net" / interface).mkdir(parents=True, exist_ok=True)
    settings = {
        **os.environ,
        "PATH": f"{stand_ins}:{os.environ['PATH']}",
        "FABRICC_HOST": host,
        "NCCL_CONF_FILE": str(tree / "jobs/nccl.conf"),
        "VLLM_HOST_IP": "192.0.2.7",
        "SYSFS": str(tree / "sys"),
        **environment,
    }
    call = (str(tree / "jobs/launch" / call[0]), *call[1:])
    return subprocess.run(call, capture_output=True, text=True, env=settings, timeout=60, check=False)
