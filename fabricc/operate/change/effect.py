"""The effect of applying a change to one switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    from fabricc.operate.devices.device import Device


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on one switch.

    Attributes:
        platform: NOS and release.
        impact: the gravest of its statements.
        why: of that statement, for people.
        breaks: switches to which the links are down while only one end has changed.
        way: how the system applies it, where that matters beyond the facts; "" else.
        confined: whether only hosts notice it whose own ports go to another VRF: no drain spares them.
        loses_vrf: whether the switch has a VRF with a VNI less: it then accepts fewer routes of its neighbors.
    """

    platform: str
    impact: Impact
    why: str = ""
    breaks: frozenset[str] = frozenset()
    way: str = ""
    confined: bool = False
    loses_vrf: bool = False

    @property
    def disruptive(self) -> bool:
        """Return whether traffic must leave the switch first."""
        return self.impact >= Impact.SESSION_RESET and not self.confined

    @staticmethod
    def unknown(device: Device) -> Effect:
        """Return the worst case, for a switch whose running configuration is not known."""
        return Effect(
            f"{device.nos} {device.release}".strip(), Impact.RELOAD, "unknown until the switch is read"
        )
