r"""Several files of one device as one text, for NAPALM's calls that take one configuration.

A file begins after a line `==> NAME <==`, as head(1) prints several files, and ends before the next such line:

    ==> frr.conf <==
    frr defaults datacenter
    ==> hostname <==
    su001-tor1a
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from fabricc.base.foreign.files import Folder, read

_MARK = re.compile(r"==> ([A-Za-z0-9][\w.+-]*) <==")


def pack_bundle(files: Mapping[str, str]) -> str:
    """Return the files as one text, in order of their names.

    Raises:
        ValueError: a name is not a plain file name, or a text has a line that looks like a mark.
    """
    parts = []
    for name in sorted(files):
        text = files[name]
        if not _MARK.fullmatch(f"==> {name} <=="):
            raise ValueError(f"{name!r} is not a plain file name")
        if any(map(_match_mark, StringIO(text))):
            raise ValueError(f"{name} holds a line that marks the start of a file")
        parts.append(f"==> {name} <==\n{text}" + ("" if text.endswith("\n") or not text else "\n"))
    return "".join(parts)


def _match_mark(line: str) -> re.Match[str] | None:
    """Return the match of a mark. Lines end at a line feed only, not at other line separators of Unicode."""
    return _MARK.fullmatch(line.rstrip("\r\n"))


def unpack_bundle(text: str, alone: str) -> dict[str, str]:
    """Return the files of a bundle; a text without marks is the one file `alone`.

    Raises:
        ValueError: text stands before the first mark, or a name comes twice.
    """
    if not text.startswith("==> ") and "\n==> " not in text:
        return {alone: text}
    files: dict[str, list[str]] = {}
    current: list[str] = []
    before = current
    for line in StringIO(text):
        mark = _match_mark(line)
        if mark is None:
            current.append(line)
            continue
        if mark[1] in files:
            raise ValueError(f"{mark[1]} comes twice in the bundle")
        current = files[mark[1]] = []
    if not files:
        return {alone: text}
    if "".join(before).strip():
        raise ValueError("text before the first file of the bundle")
    return {name: "".join(lines) for name, lines in files.items()}


def candidate_files(filename: str | None, config: str | None, alone: str) -> dict[str, str]:
    """Return the arguments of NAPALM's `load_*_candidate` as files by name.

    Args:
        filename: a folder of files, a file with a bundle, or the file `alone`.
        config: a bundle, or the text of `alone`; used when `filename` is None.
        alone: the name of a text that is no bundle.

    Raises:
        ValueError: neither is given, or the bundle is malformed.
        OSError, UnicodeDecodeError: a file cannot be read as UTF-8.
    """
    if filename is not None:
        place = Path(filename)
        if place.is_dir():
            with Folder(place, root=Path("/")) as folder:
                names = sorted(one.name for one in place.iterdir() if folder.has(one.name))
                return {name: folder.read(name).decode() for name in names}
        return unpack_bundle(read(place, root=Path("/")).decode(), alone)
    if config is None:
        raise ValueError("neither a file name nor a configuration is given")
    return unpack_bundle(config, alone)
