"""Which files of a folder are of one device, by the names in their paths."""

from __future__ import annotations

import re
from functools import cache

from fabricc.audit.texts import collected_systems
from fabricc.back.hosts import recognition as host_files

_WORDS = frozenset({
    "brief", "cfg", "cli", "conf", "config", "configs", "configuration", "current", "detail", "details", "display",
    "dump", "facts", "interface", "interfaces", "json", "lldp", "lldpcli", "lldpctl", "neighbor", "neighbors",
    "neighbour", "neighbours", "nv", "out", "output", "run", "running", "set", "sh", "show", "startup", "summary",
    "switches", "system", "table", "txt", "ver", "version", "yaml",
})  # fmt: skip
"""Words of a file name that describe its content instead of its device."""
_SPLIT = re.compile(r"([\s_.+,|]+|-(?=[A-Za-z]))")


def device_of(path: str) -> str:
    """Return the device name in a path: from the file without words of content, else from the folder above."""
    if (top := host_files.find_root(path)) is not None:
        return top.rpartition("/")[2]
    above, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return _strip_words(stem) or (device_of(above) if above else "")


def _strip_words(stem: str) -> str:
    """Return a file name without words of content at its beginning and end; "" if nothing remains."""
    stem = host_files.NAMED.sub("", stem)
    if not stem or stem in _file_names():
        return ""
    for name in _file_names():
        for apart in "_-.":
            stem = stem.removesuffix(f"{apart}{name}")
    tokens = _SPLIT.split(stem)
    while tokens and (tokens[-1].lower() in _WORDS or not tokens[-1].strip(" _.+,|-")):
        tokens.pop()
    while tokens and (tokens[0].lower() in _WORDS or not tokens[0].strip(" _.+,|-")):
        tokens.pop(0)
    return "".join(tokens)


@cache
def _file_names() -> frozenset[str]:
    return frozenset(
        (*host_files.NAMES, *(name for one in collected_systems().values() for name in one.NAMES))
    )
