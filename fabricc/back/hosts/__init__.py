"""Hosts: operating-system and NIC configuration, written from a `Host` and read back, as a NOS does for a `Switch`.

Each topic (`interfaces`, `qos`, `services`, `nccl`) writes, states and reads its own files; `facts.yaml`
declares their facts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.hosts import interfaces, keyfile, nccl, netplan, qos, services
from fabricc.back.hosts.limits import gaps
from fabricc.fabric.facts import Reading
from fabricc.fabric.vocabulary import waist

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.hosts.base import Reader, Topic
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Host
    from fabricc.fabric.vocabulary import Vocabulary

__all__ = ["gaps", "mode", "planned", "read", "render", "vocabulary"]

_TOPICS: tuple[Topic, ...] = (interfaces, qos, services, nccl)
_OWN: Mapping[str, Reader] = {**netplan.READERS, **keyfile.READERS}
"""Readers of files that no two hosts have alike."""
_COMMON: Mapping[str, Reader] = {file: read for topic in _TOPICS for file, read in topic.READERS.items()}


def render(host: Host) -> dict[str, str]:
    """The host's files, path below its root -> text.

    Raises:
        ValueError: a name that `gaps` reports as unusable.
    """
    files: dict[str, str] = {}
    for topic in _TOPICS:
        files |= topic.render(host)
    return files


def planned(host: Host) -> Facts:
    """The facts of the host, which `read(render(host))` must equal."""
    facts: Facts = {}
    for topic in _TOPICS:
        topic.state(facts, host)
    return facts


@cache
def vocabulary() -> Vocabulary:
    """The facts of hosts."""
    return waist().with_file(Path(__file__).with_name("facts.yaml"))


def read(files: Mapping[str, str]) -> Reading:
    """Facts of rendered or collected host files; lines and files that mean nothing here are listed as unknown."""
    reading = Reading()
    for file, text in files.items():
        if own := _reader(file):
            own(reading, file, text)
            continue
        part = _part(file, text)
        reading.facts.update(part.facts)
        reading.lines.update(part.lines)
        reading.unknown += part.unknown
    return reading


@lru_cache(maxsize=1024)
def _reader(file: str) -> Reader | None:
    return next((reader for pattern, reader in _OWN.items() if fnmatchcase(file, pattern)), None)


@lru_cache(maxsize=1024)
def _part(file: str, text: str) -> Reading:
    """The reading of a file that is the same on many hosts; each text is read once."""
    part = Reading()
    known = [reader for pattern, reader in _COMMON.items() if fnmatchcase(file, pattern)]
    for reader in known:
        reader(part, file, text)
    if not known:
        part.unknown.append((file, 1, "no reader for this file"))
    return part


def mode(path: str) -> int:
    """The mode that a file of a host is to be written with; keyfiles and netplan's are refused or warned of else."""
    if path in (qos.SCRIPT, services.APPLY):
        return 0o755
    return 0o600 if _reader(path) else 0o644
