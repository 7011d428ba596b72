"""The part of some links that remains: counted by links, and with traffic that is hashed evenly over next hops."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WHOLE = Fraction(1)


class LinkShare(NamedTuple):
    """The remaining part of some links.

    Attributes:
        links, of: links that carry traffic, and all links.
        even: links' worth of traffic that passes without loss when senders hash evenly over the next hops.
    """

    links: int
    of: int
    even: int

    @staticmethod
    def of_counts(counts: Iterable[int], of: int) -> LinkShare:
        """Return the share of `of` links of which some are left, given as the number of links to each next hop."""
        left = [count for count in counts if count]
        return LinkShare(sum(left), of, count_even_links(left))

    @property
    def by_links(self) -> Fraction:
        """The share of the links that carry traffic: the bandwidth if traffic spreads over every link."""
        return Fraction(self.links, self.of) if self.of else WHOLE

    @property
    def capacity(self) -> Fraction:
        """The share of the bandwidth that remains without loss when traffic is hashed evenly over next hops."""
        return Fraction(self.even, self.of) if self.of else WHOLE

    def plus(self, other: LinkShare) -> LinkShare:
        """Add another share."""
        return LinkShare(self.links + other.links, self.of + other.of, self.even + other.even)

    @property
    def text(self) -> str:
        """The share for people, with its unit where links and even hashing differ."""
        return describe_share(self.by_links, self.capacity)


def count_even_links(counts: Iterable[int]) -> int:
    """Return the traffic, in links, that passes if it is hashed evenly over next hops with a link.

    ECMP gives every next hop that announces a route the same share, however many links are left behind it. The
    narrowest next hop therefore limits what all of them carry without loss.
    """
    left = [count for count in counts if count]
    return min(left) * len(left) if left else 0


def describe_share(by_links: Fraction, evenly: Fraction) -> str:
    """Describe a share by its links and by even hashing, as one figure where both agree."""
    if by_links == evenly:
        return format_share(by_links)
    return f"{format_share(by_links)} of the links, {format_share(evenly)} if hashed evenly"


def share_without(count: int, lost: int = 1) -> Fraction:
    """Return the share that is left of `count` equal parts, such as the spines of a plane, when some are lost."""
    return Fraction(max(0, count - lost), count) if count else WHOLE


def count_removable(count: int, keep: Fraction) -> int:
    """Return how many of `count` equal parts may be out at once so that the share `keep` is left; at least one."""
    return max(1, int(count * (1 - keep)))


def find_narrowest(shares: Mapping[str, LinkShare]) -> tuple[Fraction, str]:
    """Return the smallest capacity of some named shares, and its name; all and "" where there is none."""
    return min(((share.capacity, name) for name, share in shares.items()), default=(WHOLE, ""))
