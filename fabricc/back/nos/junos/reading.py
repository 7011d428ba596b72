"""Reads a Junos configuration, rendered or as a device prints it, into facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.isolation import state_isolation
from fabricc.back.nos.junos.read_bgp import read_bgp
from fabricc.back.nos.junos.read_cos import read_cos
from fabricc.back.nos.junos.read_device import read_device
from fabricc.back.nos.junos.read_firewall import read_firewall
from fabricc.back.nos.junos.read_interfaces import read_interfaces
from fabricc.back.nos.junos.read_policy import read_policy
from fabricc.back.nos.junos.read_services import read_services
from fabricc.back.nos.junos.tree import Text
from fabricc.fabric.facts import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Value

_LEAK = re.compile(r"\b(instance-import|rib-groups?|next-table)\b")


class Stating:
    """States facts of one file; line 0 stands for a default that no line says."""

    __slots__ = ("facts", "file", "lines")

    def __init__(self, file: str, reading: Reading) -> None:
        self.file = file
        self.facts = reading.facts
        self.lines = reading.lines

    def __call__(self, path: str, value: Value, line: int) -> None:
        """State one fact; a later statement of the same path replaces the earlier one."""
        self.facts[path] = value
        if line:
            self.lines[path] = (self.file, line)


def read(files: Mapping[str, str]) -> Reading:
    """The facts of a device's files, in curly braces or as `set` commands.

    Statements of no known meaning are listed in `unknown` with their whole path, ascending by line; so are inactive
    ones, and commands that are not `set`. Comments say nothing.
    """
    reading = Reading()
    for file, content in files.items():
        text = Text(content)
        put = Stating(file, reading)
        root = text.root
        if version := root.value("version"):
            put("platform/version", *version)
        read_device(root, put)
        read_services(root, put)
        read_interfaces(root, put)
        policies = read_policy(root, put)
        read_bgp(root, policies, read_firewall(root, put), put)
        read_cos(root, put)
        unknown = sorted([*text.ignored, *root.unread()])
        reading.unknown += [(file, line, statement) for line, statement in unknown]
        _isolation(reading)
    return reading


def _isolation(reading: Reading) -> None:
    """The management port's routes are in an instance of their own, and no statement leaks them."""
    if "management/address" in reading.facts:
        instance = reading.lines.get("platform/management_instance")
        place = instance or reading.lines.get("management/address", ("", 0))
        state_isolation(reading, instance is not None, place, _LEAK)
