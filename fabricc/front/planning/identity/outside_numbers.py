"""Addresses of links that leave the fabric, from networks of their party: each has a number, which the lock pins."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.front.planning.topology.models import UnfitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.external import ExternalLink, ExternalParty
    from fabricc.front.spec.lock import Lock
    from fabricc.front.spec.model import ClusterSpec


class _Given(NamedTuple):
    """Numbers, both included, whose addresses a link of the spec has by itself, and its place there."""

    first: int
    last: int
    place: int


def numbered_outside(spec: ClusterSpec, lock: Lock) -> tuple[ClusterSpec, dict[str, int]]:
    """Return the spec whose external links all have addresses, and the numbers of links as the lock is to pin them.

    Link n of a party has the addresses 2n, at the switch, and 2n + 1 of the party's networks. A link is known by its
    party, switch and port; its number is nobody else's, also after it left.

    Raises:
        UnfitError: a network does not hold the links, or one has addresses of another.
    """
    pinned = dict(lock.links)
    wrong: list[Diagnostic] = []
    parties = [_number_links(spec, outsider, pinned, wrong) for outsider in spec.external]
    if wrong:
        raise UnfitError(*wrong)
    return (replace(spec, external=tuple(parties)) if parties else spec), pinned


def _number_links(
    spec: ClusterSpec, outsider: ExternalParty, pinned: dict[str, int], wrong: list[Diagnostic]
) -> ExternalParty:
    """Return a party with addresses for each of its links; numbers that are new join `pinned`."""
    if not outsider.networks:
        return outsider
    own = {key: number for key, number in pinned.items() if key.startswith(f"{outsider.name}/")}
    given = list(_given_numbers(outsider))
    free = _free_numbers({*own.values()}, given)
    links, numbers = [], {}
    for link in outsider.links:
        if outsider.numbers(link):
            key = f"{outsider.name}/{link.at}/{link.port}".lower()
            numbers[key] = number = own[key] if key in own else next(free)
            wrong += [
                _report_duplicate(spec, outsider, link, each)
                for each in given
                if each.first <= number <= each.last
            ]
            link = _address_link(link, outsider, number)
        links.append(link)
    needed = max((*numbers.values(), -1)) + 1
    if needed > outsider.room:
        wrong.append(_too_small(spec, outsider, needed, len(own.keys() - numbers.keys())))
    pinned |= numbers
    return replace(outsider, links=tuple(links))


def _given_numbers(outsider: ExternalParty) -> Iterator[_Given]:
    """Yield the numbers of links whose own addresses lie in the party's networks."""
    for index, link in enumerate(outsider.links):
        for family, network in outsider.networks:
            address = link.ipv6 if family == 6 else link.ipv4
            if address and (subnet := ip_interface(address).network).overlaps(base := ip_network(network)):
                first = int(subnet.network_address) - int(base.network_address)
                yield _Given(first // 2, (first + subnet.num_addresses - 1) // 2, index)


def _free_numbers(taken: set[int], given: Sequence[_Given]) -> Iterator[int]:
    """Numbers that nobody has or had, ascending."""
    number = 0
    while True:
        over = max((each.last for each in given if each.first <= number <= each.last), default=None)
        if over is None and number not in taken:
            yield number
        number = (number if over is None else over) + 1


def _address_link(link: ExternalLink, outsider: ExternalParty, number: int) -> ExternalLink:
    """A link with the addresses of its number, in each family that the party has a network of and the link none."""
    for family, text in outsider.networks:
        if getattr(link, f"ipv{family}") is None:
            network = ip_network(text)
            here, there = (network.network_address + 2 * number + end for end in (0, 1))
            ends: dict[str, Any] = {
                f"ipv{family}": f"{here}/{network.max_prefixlen - 1}",
                f"remote{family}": str(there),
            }
            link = replace(link, **ends)
    return link


def _report_duplicate(
    spec: ClusterSpec, outsider: ExternalParty, link: ExternalLink, given: _Given
) -> Diagnostic:
    message = (
        f"external.{outsider.name}.links[{given.place}] has addresses of the link at {link.port} of {link.at}, which "
        "the lock pins"
    )
    help_ = "Omit its addresses so that fabricc assigns free ones, or use another network."
    return spec.error("FAB3251", message, "external", outsider.name, "links", given.place, help=help_)


def _too_small(spec: ClusterSpec, outsider: ExternalParty, needed: int, left: int) -> Diagnostic:
    """FAB3250, with the length that holds all links where such a network begins at the same address."""
    family, text = min(outsider.networks, key=lambda each: ip_network(each[1]).num_addresses)
    network = ip_network(text)
    wider = network.supernet(
        new_prefix=network.max_prefixlen - needed.bit_length() - (needed.bit_count() > 1)
    )
    gone = f", with {plural(left, 'number')} of links that left" if left else ""
    ways = [
        f"Take {wider}."
        if wider.network_address == network.network_address
        else "Give further links addresses of another network by `local`; no wider network begins at that address."
    ]
    if left:
        ways.append("Or delete the lines of links that left from the lock: their addresses are free then.")
    return spec.error(
        "FAB3250",
        f"{text} holds {plural(outsider.room, 'link')}, and external.{outsider.name} needs {needed}{gone}",
        "external",
        outsider.name,
        "network6" if family == 6 else "network",
        help=" ".join(ways),
    )
