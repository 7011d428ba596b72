"""Juniper Junos OS and Junos OS Evolved: the complete configuration of a switch, written and read back."""

from __future__ import annotations

from fabricc.back.nos.junos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.junos.naming import port_name
from fabricc.back.nos.junos.planned import planned
from fabricc.back.nos.junos.reading import read
from fabricc.back.nos.junos.view import switch_view
from fabricc.back.nos.single_file import SingleFileNos

FILE = "juniper.conf"
"""The whole configuration in curly braces, as `load override` takes it; `set` commands are read too."""

JUNOS = SingleFileNos(
    name="junos",
    releases=RELEASES,
    default_release=DEFAULT_RELEASE,
    file=FILE,
    template="juniper.conf.j2",
    port_name=port_name,
    gaps=gaps,
    view=switch_view,
    read=read,
    planned=planned,
)
