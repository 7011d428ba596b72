"""The orders in which command lines print names, addresses and sessions.

Static routes of EOS, NX-OS and FRR: a line for each next hop, or one for a discard route.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from fabricc.back.reading import Document, Each, Entry, Keep, Row
from fabricc.fabric.facts import static_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.routing import Bgp, Session, StaticRoute

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


def static_lines(routes: Iterable[StaticRoute], discard: str) -> list[tuple[str, str, str]]:
    """(`ip` or `ipv6`, prefix, next hop or the word that leads nowhere) of each line."""
    return [
        ("ipv6" if ":" in route.prefix else "ip", route.prefix, via)
        for route in routes
        for via in route.via or (discard,)
    ]


def static_rows(discard: str) -> tuple[Row, ...]:
    """Return the rows that read them."""
    return tuple(
        Each(f"{keyword} route <prefix{family}>", "static route", (
            Entry(f"<address{family}>", "via"),
            Keep(discard, "discard"),
        ))
        for keyword, family in (("ip", 4), ("ipv6", 6))
    )  # fmt: skip


def state_static(document: Document) -> None:
    """State each route with its next hops."""
    for prefix, route in document.scope.each("static route").items():
        document.put(f"static_route[{prefix}]", static_text(map(str, route.table("via"))), route.line)
