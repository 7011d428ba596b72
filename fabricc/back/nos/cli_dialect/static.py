"""Static routes of EOS, NX-OS and FRR: a line for each next hop, or one for a discard route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading import Document, Each, Entry, Keep, Row
from fabricc.fabric.facts import static_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.routing import StaticRoute


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
