"""Files of hosts that people collect, by where they stand or by their text."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from fabricc.back.hosts import READERS, nccl, outputs

NAMES = frozenset(("nccl", "netplan", "rccl", *(path for path in READERS if "/" not in path)))
NAMED = outputs.NAMED
COMMENTS = "#"
_ROOTS = ("etc", "usr", "lib", "opt", "run")
_OF_ANY_SYSTEM = ("etc/sysctl.d/*", "etc/modprobe.d/*", "etc/systemd/network/*.network")
_NETPLAN = re.compile(r"^network:\s*(?:#.*)?$", re.MULTILINE)
_NCCL = re.compile(r"^(?:export )?(?:NCCL|RCCL)_[A-Z0-9_]+=", re.MULTILINE)
_KEYFILE = re.compile(r"^\[connection\]\s*$", re.MULTILINE)


@lru_cache(maxsize=4096)
def find_root(path: str) -> str | None:
    """Return the folder that is the host's root, judged by the names below it; None if nothing shows it."""
    parts = path.split("/")
    return next(("/".join(parts[:at]) for at, part in enumerate(parts[:-1]) if part in _ROOTS and at), None)


def host_path(path: str, text: str) -> str | None:
    """Return the path of the file below the host's root; None for a text that no host reader accepts."""
    if (top := find_root(path)) is not None and _has_reader(below := path.removeprefix(f"{top}/")):
        return below
    name = path.rpartition("/")[2]
    if name in READERS:
        return name
    if "network:" in text and _NETPLAN.search(text) and not text.lstrip().startswith("- "):
        return f"etc/netplan/{name}"
    if "[connection]" in text and _KEYFILE.search(text):
        return f"etc/NetworkManager/system-connections/{name}"
    return nccl.FILE if "CCL_" in text and _NCCL.search(text) else outputs.output_path(path, text)


def is_of_any_system(file: str) -> bool:
    """Return whether switches that run Linux have such files too, so that one alone shows no host."""
    return "fabricc" not in file and any(fnmatchcase(file, pattern) for pattern in _OF_ANY_SYSTEM)


@lru_cache(maxsize=4096)
def _has_reader(file: str) -> bool:
    return any(fnmatchcase(file, pattern) for pattern in READERS)
