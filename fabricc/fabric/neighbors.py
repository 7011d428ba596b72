"""A switch from the view of its neighbors, and a link seen from one end: values that a fabric keeps after use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.fabric.evpn import Segment, host_offset
from fabricc.fabric.given_identities import COMPUTED, Ends
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.shape import Attachment, PortLayout, Strides, SwitchId, Unit

    Pairs = Callable[[int], tuple[str, str]]
    """Offset in a pool -> both ends of a link."""
    Values = tuple[
        int, Direction, str, str, str, int, int, str, bool, str | None, str | None, str | None, str | None, bool
    ]  # fmt: skip
    """Of a `Link`, in its order: what is made of each link of a switch looks at them by position."""

_HOST = Direction.HOST  # as `links.HOST`
NO_ENDS = (None, None)
"""The addresses of a link without the family."""


class Link(NamedTuple):
    """A link seen from one switch.

    Attributes:
        slot: index of the local port in the switch's layout.
        local4, local6: own address; remote4, remote6: the peer's; their prefix is a /31 or /127, between switches that
            of the links pool. A port of a segment has none of its own, and the host's has the prefix of the segment's
            subnet.
        peer_asn: 0 for a host.
    """

    slot: int
    direction: Direction
    kind: str
    peer: str
    peer_port: str
    peer_asn: int
    cable_m: int
    medium: str
    shutdown: bool
    local4: str | None
    remote4: str | None
    local6: str | None
    remote6: str | None
    unnumbered: bool


class FarEnd(NamedTuple):
    """A switch as its neighbors know it; `ports` are the names of its slots."""

    at: SwitchId
    name: str
    asn: int
    ports: tuple[str, ...]
    layout: PortLayout
    number: int


class DownlinkTor(NamedTuple):
    """A ToR as the spines above it know it: the first of their ports that are kept for it, and how many have cables."""

    tor: FarEnd
    first: int
    cables: range


@dataclass(frozen=True, slots=True)
class Serving:
    """A ToR as the hosts of a unit know it: what its links to them have in common.

    Attributes:
        down: its ports by the number of the downlink.
        nics: rail -> its number among those of the ToR, where its addresses begin in the block, and the name of the
            host's port.
        block4, block6: offsets in the hosts pools of the ToR's block for the unit.
        pair4, pair6: of the hosts pools, `Pool.pair`; None without the family.
        given: slot -> addresses from outside.
        cable: of each link; None where single ones have another, and `cables` that of each by the slot of its port.
    """

    far: FarEnd
    unit: Unit
    attached: Attachment
    down: tuple[int, ...]
    nics: Mapping[int, tuple[int, int, str]]
    block4: int
    block6: int
    pair4: Pairs | None
    pair6: Pairs | None
    given: Mapping[int, Ends] | None
    segment: Segment | None
    strides: Strides
    cable: tuple[int, str, bool] | None
    cables: Mapping[int, tuple[int, str, bool]]

    def values(self, slot: int, rail: int) -> Values:
        """Return the values of the link to the host in a slot on a rail."""
        attached, pair4, pair6 = self.attached, self.pair4, self.pair6
        number_, (rail_, of_rail, nic) = attached.seat(slot)[1], self.nics[rail]
        position = self.down[attached.first_port + number_ * attached.rails_per_tor + rail_]
        length, medium, shut = self.cable or self.cables[position]
        if self.segment:
            host4, host6 = self._in_segment(self.segment, number_, rail_)
            tor4 = tor6 = None
        else:
            offset = of_rail + 2 * number_  # as `adr.in_block`
            own4, own6 = self.given.get(position, COMPUTED) if self.given else COMPUTED
            tor4, host4 = own4 or (pair4(offset + self.block4) if pair4 else NO_ENDS)
            tor6, host6 = own6 or (pair6(offset + self.block6) if pair6 else NO_ENDS)
        return (
            position, _HOST, "host", self.unit.hosts[slot], nic, 0, length, medium, shut,
            tor4, host4, tor6, host6, False,
        )  # fmt: skip

    def _in_segment(self, segment: Segment, number_: int, rail: int) -> list[str | None]:
        """Return the addresses of a host's port in a segment, IPv4 and IPv6."""
        tor = self.far.at
        offset = host_offset(self.strides, self.unit.coordinate, tor.index, tor.nic_port, number_, rail)
        return [pool.address(offset) if pool else None for pool in (segment.subnet4, segment.subnet6)]
