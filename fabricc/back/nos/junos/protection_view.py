"""The packet filters part of the view: who may log in and ask, and how far a BGP packet may have come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.order import in_address_order
from fabricc.back.nos.junos.vocabulary import (
    FILTERS,
    LOGIN_PORTS,
    NEXT_HEADER,
    ONE_HOP_TTL,
    QUERY_PORT,
    TTL_WORDS,
)
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch

ACCEPT, DISCARD = "accept", "discard"


@dataclass(frozen=True, slots=True)
class FilterTermView:
    """One term: (word, values) of each condition and the action; without conditions it matches every packet."""

    name: str
    conditions: list[tuple[str, list[str]]]
    action: str


@dataclass(frozen=True, slots=True)
class FilterView:
    """One filter of a family, applied to what reaches the switch itself."""

    family: str
    name: str
    terms: list[FilterTermView]


@dataclass(frozen=True, slots=True)
class ProtectionView:
    """The filters; `loopback` has the filter of each family of `lo0`, `management` that of the management port."""

    filters: list[FilterView]
    loopback: dict[str, str]
    management: str | None


def protection_view(switch: Switch) -> ProtectionView:
    """The filters of one switch: none where neither access networks nor TTL security are asked for."""
    if not switch.management.access and not switch.bgp.ttl_security:
        return ProtectionView([], {}, None)
    families = ["inet", "inet6"] if has_ipv6(switch) else ["inet"]
    filters = [FilterView(family, FILTERS[family], list(_terms(switch, family))) for family in families]
    return ProtectionView(
        filters=filters,
        loopback={each.family: each.name for each in filters},
        management=FILTERS["inet"] if switch.management.access else None,
    )


def has_ipv6(switch: Switch) -> bool:
    """Whether the switch answers IPv6 on the fabric's side."""
    unnumbered = any(session.transport is Transport.UNNUMBERED for session in switch.bgp.sessions)
    return unnumbered or switch.bgp.ipv6 or switch.loopback6 is not None


def _terms(switch: Switch, family: str) -> Iterator[FilterTermView]:
    """Terms in the order in which a packet meets them; access networks are IPv4, so no one logs in over IPv6."""
    protocol = NEXT_HEADER[family]
    if switch.bgp.ttl_security:
        far = [(protocol, ["tcp"]), (f"{TTL_WORDS[family]}-except", [str(ONE_HOP_TTL)]), ("port", ["bgp"])]
        yield FilterTermView("TTL-SECURITY", far, DISCARD)
    if switch.management.access:
        if family == "inet":
            networks = in_address_order(switch.management.access)
            yield FilterTermView("ACCESS", [("source-address", networks)], ACCEPT)
        gnmi = switch.management.gnmi_port
        ports = [*LOGIN_PORTS, *([str(gnmi)] if gnmi is not None else [])]
        yield FilterTermView("LOGIN", [(protocol, ["tcp"]), ("destination-port", ports)], DISCARD)
        yield FilterTermView("QUERIES", [(protocol, ["udp"]), ("destination-port", [QUERY_PORT])], DISCARD)
    yield FilterTermView("OTHERS", [], ACCEPT)
