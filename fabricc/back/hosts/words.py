"""Common parts of the topics of host files: their interface, names without quotes, statements and placeholders."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Protocol

from fabricc.base.installation import data_folder
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.infiniband import Host as InfinibandHost
    from fabricc.fabric.model import Host, HostPort

    Reader = Callable[[Reading, str, str], None]
    "Adds the facts of a text, and lists the lines that it does not know: (reading, file, text)."

ACCESS_CONTROL, KERNEL_SETTINGS, LOCKED_MEMORY = "access-control", "kernel-settings", "locked-memory"
"""Settings that a spec may leave to somebody else, in addition to kernel modules by name."""

REPRESENTOR = "FABRICC_REPRESENTOR=1"
"""Property in udev of other network devices with the PCI path of a port: representors and subfunctions."""

_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]*")
_KIND = re.compile(r"(@?\.[a-z]+)?$")


def is_word(text: str) -> bool:
    """Return whether `word` takes the text."""
    return _WORD.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def check_word(text: str) -> str:
    """Return the text, which needs no quoting in any host file.

    Raises:
        ValueError: it has a character that some host file would take for syntax; `gaps` reports such names.
    """
    if not is_word(text):
        raise ValueError(f"not usable as a name in host files: {text!r}")
    return text


def parse_decimal(text: str) -> str | int:
    """Return the decimal integer that a text is, or the text itself when it is none or has more than 18 digits."""
    return int(text) if is_number(text) else text


def pci_function(port: HostPort) -> str:
    """PCI address of a port, "" when unknown: port n of a NIC is its function n."""
    return _function_of_port(port.pci, port.on_nic)


def second_pci_function(port: HostPort) -> str:
    """PCI address of the second function of a port, "" without one."""
    return _function_of_port(port.second_pci, port.on_nic)


def _function_of_port(first: str, on_nic: int) -> str:
    if not first or not on_nic:
        return first
    device, _, function = first.rpartition(".")
    return f"{device}.{int(function) + on_nic}"


@lru_cache(maxsize=1024)
def mark_path(path: str, mark: str) -> str:
    """Return the path of a file with a mark at the end of its name, before the suffix."""
    return _KIND.sub(lambda kind: mark + kind[0], path, count=1)


def network_path(path: str, host: Host | InfinibandHost) -> str:
    """Return the path of a file that exists once per network; a further network's name becomes part of it."""
    return mark_path(path, f"-{check_word(host.network)}") if host.network else path


def ports_of(network: str) -> str:
    """Return a description of the ports of a network for people; "" for the rails."""
    return network.capitalize() or "Back-end"


def segment_of(address: str | None) -> IPv4Network | IPv6Network | None:
    """Return the subnet of a port that has room for other hosts; None for a link of two, and without an address."""
    if not address or address.endswith(("/31", "/127")):
        return None
    return ip_interface(address).network


def on_link(address: str, prefix: str) -> bool:
    """Return whether a port reaches a prefix without a gateway: its own subnet, in a segment with other hosts."""
    segment = segment_of(address)
    return segment is not None and str(segment) == prefix


def ignores_carrier(port: HostPort) -> bool:
    """Return whether a port keeps its addresses, rules and routes while its link is down.

    A RoCE device loses the GID of an address with the address, and queue pairs with the GID. A port with routes in
    the main table must give them up, because sockets then use the next port.
    """
    return port.metric is None


def rule_priority(table: int) -> int:
    """Priority of the policy rules that lead to a rail's table: 1000 plus the table's offset from 100."""
    return 1000 + table - 100


def statement_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line that is no comment."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and stripped[0] not in "#;":
            yield number, stripped


def setting_lines(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield line number, `Section.Key`, value and text of each line of a file in sections; without `=` no key."""
    for _, lines in sections_of(text):
        yield from lines


def sections_of(text: str) -> Iterator[tuple[str, list[tuple[int, str, str, str]]]]:
    """Yield name and lines of each section of a file, lines as `setting_lines` does; a name may come again."""
    section, found = "", list[tuple[int, str, str, str]]()
    for number, line in statement_lines(text):
        if line[0] == "[" and line[-1] == "]":
            yield section, found
            section, found = line[1:-1], []
            continue
        key, equals, value = line.partition("=")
        found.append((number, f"{section}.{key.rstrip()}" if equals else "", value.lstrip(), line))
    yield section, found


def each_line(pattern: str, path: str, value: str) -> Reader:
    """Return the reader of a file of uniform lines; `path` and `value` of the fact name groups of the pattern."""
    known = re.compile(pattern)

    def read(reading: Reading, file: str, text: str) -> None:
        for number, line in statement_lines(text):
            if match := known.fullmatch(line):
                reading.put(match.expand(path), parse_decimal(match.expand(value)), file, number)
            else:
                reading.unknown.append((file, number, line))

    return read


@cache
def read_template(name: str) -> str:
    """Return the text of `templates/hosts/<name>`."""
    return (data_folder("templates") / "hosts" / name).read_text(encoding="utf-8")


def fill_template(text: str, /, **values: str | int) -> str:
    """Return the text with its placeholders replaced.

    Raises:
        KeyError: it names a value that is not given.
    """
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


class Topic(Protocol):
    """A module of this package, such as `interfaces`.

    Attributes:
        READERS: path below the host's root, with `*` for anything -> what reads such a file.
    """

    READERS: Mapping[str, Reader]

    def render(self, host: Host) -> dict[str, str]:
        """Return its files, path below the host's root -> text; raise ValueError for a name that `gaps` reports."""
        ...

    def state(self, facts: Facts, host: Host) -> None:
        """Add the facts that these files must state; they follow from the host alone."""
        ...


class Network(Topic, Protocol):
    """A topic in the words of what configures a host's ports: netplan or NetworkManager.

    Attributes:
        ACTIVATION: template of that part of the apply script which makes it take the files.
    """

    ACTIVATION: str
