"""Files that are the same in every fabric: scripts shipped below `templates/jobs/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fabricc import version


@cache
def scripts(folder: str) -> dict[str, str]:
    """Name -> text of the files in `templates/jobs/<folder>`, from the installed package or from a checkout."""
    package = Path(version.__file__).parent
    shipped = package / "_templates"
    root = shipped if shipped.is_dir() else package.parent / "templates"
    files = sorted((root / "jobs" / folder).iterdir())
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".sh")}
