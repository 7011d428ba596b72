"""Arista EOS: the complete running configuration of a switch, written and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.eos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.eos.naming import port_name
from fabricc.back.nos.eos.planned import planned
from fabricc.back.nos.eos.view import switch_view
from fabricc.back.nos.single_file import SingleFileNos

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Reading

FILE = "running-config.cfg"
"""The whole running configuration, as loaded with `configure replace`."""


def read(files: Mapping[str, str]) -> Reading:
    """The facts of a switch's files; the reader is loaded when there is something to read."""
    from fabricc.back.nos.eos import reading

    return reading.read(files)


EOS = SingleFileNos(
    name="eos",
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
