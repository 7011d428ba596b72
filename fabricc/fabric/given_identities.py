"""Names and numbers that tables give to single switches and links instead of the computed ones."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.shape import PortLayout, SwitchId


@dataclass(frozen=True, slots=True)
class Given:
    """Names and numbers that a table gives to a switch; None is as computed.

    Attributes:
        loopback4, loopback6, management: offsets in their pools.
        hosts4, hosts6: offsets in the hosts pools of a ToR's block for the hosts of its unit.
    """

    name: str | None = None
    asn: int | None = None
    loopback4: int | None = None
    loopback6: int | None = None
    management: int | None = None
    hosts4: int | None = None
    hosts6: int | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """A switch of another model than its tier's: the n-th link of the tier's layout is the n-th of its own.

    Attributes:
        key: of its layout, see `links.layout_key`; no other switch has it.
    """

    model: SwitchModel
    layout: PortLayout
    key: str


class Ends(NamedTuple):
    """The addresses of a link, upper and lower end; a host is below its ToR. None is as computed."""

    ipv4: tuple[str, str] | None
    ipv6: tuple[str, str] | None


NOTHING = Given()
"""What a switch is given that is not in a table."""
COMPUTED = Ends(None, None)
"""What a link is given that is not in a table."""


@dataclass(frozen=True, slots=True)
class Identities:
    """A sparse mapping of exceptions to the closed form.

    Attributes:
        switches: of the switches that are given anything.
        links: offset in the links pool, which the closed form gives a link -> its addresses.
        hosts: ToR -> slot of a port to a host -> addresses of the link.
    """

    switches: Mapping[SwitchId, Given] = field(default_factory=dict)
    links: Mapping[int, Ends] = field(default_factory=dict)
    hosts: Mapping[SwitchId, Mapping[int, Ends]] = field(default_factory=dict)

    def of(self, at: SwitchId) -> Given:
        """Return what a switch is given."""
        return self.switches.get(at, NOTHING) if self.switches else NOTHING
