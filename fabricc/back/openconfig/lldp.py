"""openconfig-lldp: on every port, with the interval of the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.back.openconfig.interfaces import list_entry

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

TOP = "openconfig-lldp:lldp"


def render(switch: Switch) -> dict[str, Any]:
    """Return LLDP of a switch; the interval in seconds is a text, as RFC 7951 requires for 64-bit numbers."""
    config = {
        "enabled": True,
        "hello-timer": str(switch.management.lldp_interval_s),
        "system-name": switch.name,
    }
    ports = [
        list_entry(("name",), {"name": port.name, "enabled": True})
        for port in switch.ports
        if port.peer is not None
    ]
    return {TOP: {"config": config, **({"interfaces": {"interface": ports}} if ports else {})}}


def read(document: dict[str, Any]) -> Facts:
    """Return the facts of LLDP."""
    return {"lldp/interval_s": int(document[TOP]["config"]["hello-timer"])}
