"""Cisco NX-OS: the running configuration of a Nexus 9000 switch, written and read back."""

from __future__ import annotations

from fabricc.back.nos.nxos.gaps import gaps
from fabricc.back.nos.nxos.naming import port_name
from fabricc.back.nos.nxos.planned import planned
from fabricc.back.nos.nxos.reading import read
from fabricc.back.nos.nxos.view import switch_view
from fabricc.back.nos.single_file import SingleFileNos

FILE = "running-config.cfg"
"""The whole configuration in the order in which a device prints it."""

NXOS = SingleFileNos(
    name="nxos",
    releases=("10.3", "10.4", "10.5", "10.6"),
    default_release="10.4",
    file=FILE,
    template="running-config.j2",
    port_name=port_name,
    gaps=gaps,
    view=switch_view,
    read=read,
    planned=planned,
)
