"""Programs of the machine, never one of the folder that fabricc was started in."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def found(name: str) -> str | None:
    """The path of a program in the folders of `PATH` that are named from the root; None where there is none."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    rooted = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    return shutil.which(name, path=rooted)
