"""Find the transports that a configuration serves, by its facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Facts

_SERVED: Mapping[str, Mapping[str, str]] = {
    "eos": {"https": "platform/http_api", "ssh": "management/ssh"},
    "junos": {"netconf": "platform/netconf"},
    "nxos": {"https": ""},
}
"""Operating system -> transport -> the fact that states it, "" where every configuration serves it.

EOS listens for SSH in the default VRF alone unless `management ssh` names another; `feature nxapi` opens HTTPS alone.
"""


def serves_transport(nos: str, facts: Facts, transport: str) -> bool:
    """Return whether a switch that runs a configuration can be spoken to over a transport."""
    known = _SERVED.get(nos)
    if known is None:
        return True
    return transport in known and (not known[transport] or known[transport] in facts)
