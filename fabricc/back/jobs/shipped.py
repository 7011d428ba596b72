"""Files that are the same in every fabric: scripts shipped below `templates/jobs/`."""

from __future__ import annotations

from functools import cache

from fabricc.base import installation


@cache
def read_scripts(folder: str) -> dict[str, str]:
    """Return name -> text of the files in `templates/jobs/<folder>`."""
    files = sorted((installation.data_folder("templates") / "jobs" / folder).iterdir())
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".sh")}
