"""Hosts: operating-system and NIC configuration, written from a `Host` and read back, as a NOS does for a `Switch`.

Each topic (`interfaces`, `qos`, `services`, `nccl`) writes, states and reads its own files; `facts.yaml`
declares their facts.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.hosts import interfaces, keyfile, nccl, netplan, outputs, qos, services
from fabricc.back.hosts.limits import gaps
from fabricc.back.hosts.words import mark_path
from fabricc.fabric.facts import Reading
from fabricc.fabric.vocabulary import neutral_vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.back.hosts.words import Reader, Topic
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Host
    from fabricc.fabric.vocabulary import Vocabulary

__all__ = ["gaps", "mode", "network_of", "of_part", "planned", "read", "render", "vocabulary"]

_TOPICS: tuple[Topic, ...] = (interfaces, qos, services, nccl)
_OF_PORTS: tuple[Topic, ...] = (interfaces, qos)
_OF_APART: tuple[Topic, ...] = (interfaces, qos, services)
_OWN: Mapping[str, Reader] = {**netplan.READERS, **keyfile.READERS}
"""Readers of files whose text is different on every host."""
_COMMON: Mapping[str, Reader] = {
    **{file: read for topic in _TOPICS for file, read in topic.READERS.items()},
    **outputs.READERS,
}
READERS = frozenset((*_OWN, *_COMMON))
"""Paths below a host's root that are read, with `*` for anything."""


def render(host: Host) -> dict[str, str]:
    """Return the host's files, path below its root -> text.

    Raises:
        ValueError: a name that `gaps` reports as unusable.
    """
    files: dict[str, str] = {}
    for topic in _select_topics(host):
        files |= topic.render(host)
    return files


def _select_topics(host: Host) -> tuple[Topic, ...]:
    """Return all topics, or those of the ports only if another network or spec has the host's other files."""
    if host.rails_elsewhere:
        return _OF_APART
    return _OF_PORTS if host.guest else _TOPICS


def planned(host: Host) -> Facts:
    """Return the facts of the host, which `read(render(host))` must equal."""
    facts: Facts = {}
    for topic in _select_topics(host):
        topic.state(facts, host)
    return facts


_OF_NETWORK = re.compile(
    "|".join(
        re.escape(mark_path(path, "%")).replace("%", "-([a-z]+)")
        for path in (
            netplan.FILE,
            keyfile.DEVICES,
            interfaces.RDMA_NAMES,
            interfaces.SYSCTL,
            qos.SCRIPT,
            qos.UNIT,
            qos.HOOK,
        )
    )
)
_OF_PORT = re.compile(r".*fabricc-([a-z]+)\d+[a-z]{0,2}\.(?:link|nmconnection)")


def network_of(path: str) -> str:
    """The further network that a file of a host is of; "" for the files of its rails and of the host itself."""
    found = _OF_NETWORK.fullmatch(path) or _OF_PORT.fullmatch(path)
    name = found[found.lastindex or 0] if found else ""
    return "" if name == "rail" else name


def of_part(files: Mapping[str, str], host: Host) -> Mapping[str, str]:
    """Return the files of a part of a host: those of one network, or those of no further network."""
    if not host.guest and not host.beside:
        return files
    return {
        path: text
        for path, text in files.items()
        if (network_of(path) == host.network if host.guest else network_of(path) not in host.beside)
    }


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary of hosts."""
    return neutral_vocabulary().with_file(Path(__file__).with_name("facts.yaml"))


def read(files: Mapping[str, str]) -> Reading:
    """Return the facts of rendered or collected host files; unknown lines and files are listed."""
    reading = Reading()
    for file, text in files.items():
        if own := _find_reader(file):
            own(reading, file, text)
            continue
        part = _read_shared(file, text)
        reading.facts.update(part.facts)
        reading.lines.update(part.lines)
        reading.unknown += part.unknown
    return reading


@lru_cache(maxsize=1024)
def _find_reader(file: str) -> Reader | None:
    return next((reader for pattern, reader in _OWN.items() if fnmatchcase(file, pattern)), None)


@lru_cache(maxsize=1024)
def _read_shared(file: str, text: str) -> Reading:
    """Read a file that many hosts share; each text is read once."""
    part = Reading()
    known = [reader for pattern, reader in _COMMON.items() if fnmatchcase(file, pattern)]
    for reader in known:
        reader(part, file, text)
    if not known:
        part.unknown.append((file, 1, "no reader for this file"))
    return part


def mode(path: str) -> int:
    """Return the mode of a file of a host; programs reject or warn about other modes of keyfiles and netplan files."""
    if path == services.APPLY or path.startswith(qos.SCRIPT):
        return 0o755
    return 0o600 if _find_reader(path) else 0o644
