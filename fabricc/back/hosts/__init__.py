"""Hosts: operating-system and NIC configuration, written from a `Host` and read back, as a NOS does for a `Switch`.

Each topic (`interfaces`, `qos`, `services`, `nccl`) writes, states and reads its own files; `facts.yaml`
declares their facts.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from ipaddress import ip_interface
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.hosts import interfaces, keyfile, nccl, netplan, outputs, qos, services, words
from fabricc.back.hosts.limits import gaps
from fabricc.back.hosts.nics import GPUS
from fabricc.back.hosts.words import mark_path, similar_key
from fabricc.fabric.facts import Facts, Reading
from fabricc.fabric.vocabulary import Vocabulary, neutral_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from fabricc.back.hosts.words import Reader, Topic
    from fabricc.fabric.model import Host

__all__ = ["gaps", "mode", "network_of", "of_part", "planned", "read", "render", "similar_key", "vocabulary"]

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


_MATCHED = re.compile(r"interface-name:=([^,\s]+)")


@lru_cache(maxsize=1024)
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


APPLY = services.APPLY
"""The script that every host has."""
WITH_GPUS = nccl.FILES
"""Settings of collective libraries, one of which every host with GPUs has."""
MODULES = services.MODULES
"""The list of kernel modules, which a host has once."""
LIMIT_FILES = (services.LIMITS, services.SERVICE_LIMITS)
"""The files that let programs lock memory."""
LOCKED_MEMORY, KERNEL_SETTINGS = words.LOCKED_MEMORY, words.KERNEL_SETTINGS
"""Names by which a spec leaves the limits of memory and the settings of the kernel to other tools."""
NOT_SET = qos.NOT_SET
"""The end of the unknown text that stands for a variable that the script of the NICs lacks, after its name."""
_TOGETHER = ((qos.SCRIPT, qos.UNIT, qos.HOOK), LIMIT_FILES)
"""Files that a host has all of or none of, for each network."""


def limits(names: Collection[str]) -> set[str]:
    """Return the files that let programs lock memory, if a host has one of them."""
    return {*LIMIT_FILES} if {*LIMIT_FILES} & {*names} else set()


def companions(names: Collection[str]) -> set[str]:
    """Return the files that a host must have because it has some others."""
    found = {APPLY}
    for network in sorted({network_of(name) for name in names}):
        mark = f"-{network}" if network else ""
        for group in _TOGETHER:
            paths = {mark_path(path, mark) for path in group}
            found |= paths if paths & {*names} else set()
        own = [name for name in names if network_of(name) == network]
        if any(name.endswith(".link") for name in own):
            found.add(mark_path(interfaces.RDMA_NAMES, mark))
        if any(name.endswith(".nmconnection") for name in own):
            found.add(mark_path(keyfile.DEVICES, mark))
        elif mark_path(qos.SCRIPT, mark) in names and mark_path(keyfile.DEVICES, mark) not in names:
            found.add(mark_path(netplan.FILE, mark))
    return found


def required_beside(names: Collection[str], read: Callable[[str], str]) -> set[str]:
    """Return the files that a host must have because of some others, and of what those contain.

    Args:
        names: of its files.
        read: returns the text of a file.
    """
    found = companions(names)
    if APPLY in names and has_common_files(read(APPLY)):
        found.add(MODULES)
    for name in names:
        if lists_devices(name):
            found |= keyfiles(read(name))
    if MODULES in names:
        found.add(library_settings(read(MODULES)))
    return found - {""}


def listed_modules(modules: str) -> tuple[str, ...]:
    """Return the modules that a list of kernel modules, known by its first line, has in full; none of another list."""
    head = modules.partition("\n")[0]
    texts = [words.read_template(gpu.modules_template) for gpu in GPUS.values()]
    full = next((text for text in texts if text.partition("\n")[0] == head), "")
    return tuple([line for _, line in words.statement_lines(full)])


@lru_cache(maxsize=64)
def has_common_files(apply: str) -> bool:
    """Return whether a host with this script `apply` has its kernel modules and limits in the same tree.

    The script of a host whose rails another spec describes is that of a further network, as is that of some others.
    """
    system = services.system_of(apply)
    return system in interfaces.SYSTEMS and apply in {
        services.apply_script(system, several) for several in (False, True)
    }


def library_settings(modules: str) -> str:
    """Return the path of the collective library's settings by a list of modules; "" for a host without GPUs."""
    head = modules.partition("\n")[0]
    lists = {words.read_template(gpu.modules_template).partition("\n")[0]: gpu for gpu in GPUS.values()}
    return lists[head].settings if head in lists else ""


def lists_devices(name: str) -> bool:
    """Return whether a file lists the ports of a network that NetworkManager has."""
    return fnmatchcase(name, mark_path(keyfile.DEVICES, "*"))


def keyfiles(devices: str) -> set[str]:
    """Return the keyfiles of the ports in the text of such a file."""
    return {f"{keyfile.FOLDER}fabricc-{port}.nmconnection" for port in _MATCHED.findall(devices)}


def is_common_to_kind(name: str) -> bool:
    """Return whether all hosts of a kind have a file, whatever is known about the PCI addresses of their NICs."""
    return not name.endswith(".link") and not is_naming_rules(name)


def is_kernel_settings(name: str) -> bool:
    """Return whether a file has the settings of ports that share a subnet, which not every host of a kind has."""
    return fnmatchcase(name, mark_path(interfaces.SYSCTL, "*"))


def kernel_settings(network: str) -> str:
    """Return the path of the settings of ports that share a subnet; "" for those of the rails."""
    return mark_path(interfaces.SYSCTL, f"-{network}" if network else "")


def shares_subnet(files: Mapping[str, str]) -> bool:
    """Return whether two ports of a host are in one IPv4 subnet, by the text of its files."""
    facts = read(files).facts
    addresses = [
        str(value)
        for path, value in facts.items()
        if path.startswith("interface[") and path.endswith("]/ipv4")
    ]
    subnets = [ip_interface(address).network for address in addresses]
    return len({*subnets}) < len(subnets)


def is_naming_rules(name: str) -> bool:
    """Return whether a file has the udev rules that name the RDMA devices of a network."""
    return fnmatchcase(name, mark_path(interfaces.RDMA_NAMES, "*"))


def count_named_ports(text: str) -> int:
    """Return how many ports such rules name; each of them has a `.link` file."""
    return text.count("NAME_FIXED")


def link_files(ports: Iterable[str]) -> list[str]:
    """Return the `.link` files of ports, also those of second PCI functions."""
    return [f"{interfaces.LINKS}{name}.link" for port in ports for name in (port, f"{port}s")]


def is_settings_script(name: str) -> bool:
    """Return whether a file is the script with the settings of the NICs of a network."""
    return name.startswith(qos.SCRIPT)


@lru_cache(maxsize=64)
def settings_of_script(text: str) -> str:
    """Return the lines of such a script that decide which files a host has: its NIC, and what is left out."""
    return "\n".join(
        line for line in text.splitlines() if line.startswith(("# Configures a port", "LEAVES_OUT="))
    )


def mode(path: str) -> int:
    """Return the mode of a file of a host; programs reject or warn about other modes of keyfiles and netplan files."""
    if path == services.APPLY or path.startswith(qos.SCRIPT):
        return 0o755
    return 0o600 if _find_reader(path) else 0o644
