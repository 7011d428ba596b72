"""The BGP part of the view: one group per direction and transport, and per AS number where links are unnumbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.policy_view import group_name
from fabricc.back.nos.junos.vocabulary import ONE_HOP_TTL, RA_MAX_S, RA_MIN_S, bfd_interval_ms, quoted
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp, PeerGroup, Session


@dataclass(frozen=True, slots=True)
class NeighborView:
    """One numbered session."""

    address: str
    description: str
    peer_as: int


@dataclass(frozen=True, slots=True)
class GroupView:
    """One BGP group; `interfaces` and `as_list` are of unnumbered sessions, `neighbors` of numbered ones."""

    name: str
    import_policy: str
    export_policies: list[str]
    families: list[str]
    prefix_limit: int
    neighbors: list[NeighborView]
    interfaces: list[str]
    as_list: int | None


@dataclass(frozen=True, slots=True)
class BgpView:
    """Routing options and `protocols bgp`.

    Attributes:
        aggregates4, aggregates6: prefixes of `aggregate route`, by table.
        unnumbered: interfaces that announce themselves as routers, which is how neighbours find each other, every
            `ra_min_s` to `ra_max_s` seconds.
        ttl: that of packets sent to neighbours; None for Junos's own, which is 1.
        bfd_interval_ms: None without BFD.
    """

    asn: int
    router_id: str
    hold_s: int
    ttl: int | None
    multiple_as: bool
    bfd_interval_ms: int | None
    bfd_multiplier: int
    aggregates4: list[str]
    aggregates6: list[str]
    ra_max_s: int
    ra_min_s: int
    unnumbered: list[str]
    groups: list[GroupView]


def bgp_view(switch: Switch) -> BgpView:
    """The view of a switch's BGP process."""
    bgp = switch.bgp
    return BgpView(
        asn=bgp.asn,
        router_id=bgp.router_id,
        hold_s=bgp.hold_s,
        ttl=ONE_HOP_TTL if bgp.ttl_security else None,
        multiple_as=bgp.multipath_relax,
        bfd_interval_ms=bfd_interval_ms(switch),
        bfd_multiplier=bgp.bfd_multiplier,
        aggregates4=[prefix for prefix in bgp.aggregates if ":" not in prefix],
        aggregates6=[prefix for prefix in bgp.aggregates if ":" in prefix],
        ra_max_s=RA_MAX_S,
        ra_min_s=RA_MIN_S,
        unnumbered=[f"{s.port}.0" for s in bgp.sessions if s.transport is Transport.UNNUMBERED],
        groups=list(_groups(bgp)),
    )


def _groups(bgp: Bgp) -> Iterator[GroupView]:
    chosen: dict[tuple[str, Transport, int | None], list[Session]] = {}
    for session in bgp.sessions:
        asn = session.remote_asn if session.transport is Transport.UNNUMBERED else None
        chosen.setdefault((session.group, session.transport, asn), []).append(session)
    groups = {group.name: group for group in bgp.groups}
    for (name, transport, asn), sessions in chosen.items():
        yield _group(bgp, groups[name], transport, asn, sessions)


def _group(
    bgp: Bgp, group: PeerGroup, transport: Transport, asn: int | None, sessions: list[Session]
) -> GroupView:
    carried = {Transport.IPV4: ["inet"], Transport.IPV6: ["inet6"]}
    every = [name for name, on in (("inet", bgp.ipv4), ("inet6", bgp.ipv6)) if on]
    numbered = [s for s in sessions if s.remote is not None]
    return GroupView(
        name=group_name(group.name, transport) + (f"-{asn}" if asn is not None else ""),
        import_policy=group.import_map,
        export_policies=[bgp.redistribute_map, group.export_map],
        families=carried.get(transport, every),
        prefix_limit=group.maximum_prefixes,
        neighbors=[NeighborView(str(s.remote), quoted(s.peer), s.remote_asn) for s in numbered],
        interfaces=[f"{s.port}.0" for s in sessions if s.remote is None],
        as_list=asn,
    )
