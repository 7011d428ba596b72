"""The orders in which command lines print names, addresses and sessions."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.routing import Bgp, Session

_NAMES_LAST = 99  # more than the bytes of any address


def address_order(address: str) -> tuple[int, bytes]:
    """Sorting key of addresses: IPv4 before IPv6, each ascending.

    Raises:
        OSError: the text is no address.
    """
    packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    return len(packed), packed


def in_address_order(addresses: Iterable[str]) -> list[str]:
    """Addresses and networks, IPv4 before IPv6 before names, each ascending."""

    def key(text: str) -> tuple[int, bytes]:
        try:
            return address_order(text.partition("/")[0])
        except OSError:
            return _NAMES_LAST, text.encode()

    return sorted(addresses, key=key)


def numbered_sessions(bgp: Bgp) -> list[Session]:
    """Return the sessions over addresses: IPv4 before IPv6, each ascending."""
    four = [s for s in bgp.sessions if s.remote is not None and ":" not in s.remote]
    six = [s for s in bgp.sessions if s.remote is not None and ":" in s.remote]
    return [*sorted(four, key=_pack_ipv4), *sorted(six, key=_pack_ipv6)]


def _pack_ipv4(session: Session) -> bytes:
    return socket.inet_pton(socket.AF_INET, session.remote or "")


def _pack_ipv6(session: Session) -> bytes:
    return socket.inet_pton(socket.AF_INET6, session.remote or "")


def unnumbered_sessions(bgp: Bgp) -> list[Session]:
    """Return the sessions over link-local addresses, in the order of the ports."""
    return [s for s in bgp.sessions if s.remote is None]
