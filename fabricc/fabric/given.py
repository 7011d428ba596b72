"""What single switches and links are given from outside, in the place of what the closed form gives them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.shape import SwitchId


@dataclass(frozen=True, slots=True)
class Given:
    """What a switch is given; None is as computed.

    Attributes:
        loopback4, loopback6, management: offsets in their pools.
    """

    name: str | None = None
    asn: int | None = None
    loopback4: int | None = None
    loopback6: int | None = None
    management: int | None = None


class Ends(NamedTuple):
    """The addresses of a link between switches, upper and lower end; None is as computed."""

    ipv4: tuple[str, str] | None
    ipv6: tuple[str, str] | None


NOTHING = Given()


@dataclass(frozen=True, slots=True)
class Identities:
    """A sparse mapping of exceptions to the closed form.

    Attributes:
        switches: of the switches that are given anything.
        links: offset in the links pool, which the closed form gives a link -> its addresses.
    """

    switches: Mapping[SwitchId, Given] = field(default_factory=dict)
    links: Mapping[int, Ends] = field(default_factory=dict)

    def of(self, at: SwitchId) -> Given:
        """What a switch is given."""
        return self.switches.get(at, NOTHING) if self.switches else NOTHING
