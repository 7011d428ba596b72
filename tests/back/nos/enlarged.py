"""Samples with more ports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.model import Switch


def enlarge_switch(switch: Switch, place: Callable[[int], Mapping[str, Any]], count: int) -> Switch:
    """Return a numbered sample with that many ports, half to hosts and half up.

    Args:
        place: index of a port -> the fields that name it.
    """
    down, up, session = switch.ports[0], switch.ports[4], switch.bgp.sessions[0]
    ports, sessions = [], []
    for index in range(count):
        fields = place(index)
        if index < count // 2:
            ports.append(replace(down, **fields, ipv4=f"10.1.0.{2 * index % 256}/31"))
        else:
            ports.append(replace(up, **fields, ipv4=f"10.2.0.{2 * index % 256}/31"))
            remote = f"10.2.{index // 128}.{2 * index % 256 + 1}"
            sessions.append(replace(session, port=fields["name"], remote=remote, peer=f"spine{index}"))
    return replace(switch, ports=tuple(ports), bgp=replace(switch.bgp, sessions=tuple(sessions)))
