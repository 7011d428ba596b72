"""Cisco NX-OS: the running configuration of a Nexus 9000 switch, written and read back."""

from __future__ import annotations

from fabricc.back.nos.nxos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.nxos.naming import port_name
from fabricc.back.nos.nxos.planned import planned
from fabricc.back.nos.nxos.reading import read
from fabricc.back.nos.nxos.view import switch_view
from fabricc.back.nos.single_file import SingleFileNos

FILE = "running-config.cfg"
"""The whole configuration in the order in which a device prints it."""

NXOS = SingleFileNos(
    name="nxos",
    releases=RELEASES,
    default_release=DEFAULT_RELEASE,
    file=FILE,
    template="running-config.j2",
    port_name=port_name,
    gaps=gaps,
    view=switch_view,
    read=read,
    planned=planned,
)
