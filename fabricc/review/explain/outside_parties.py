"""Explain an outside party by its routes and links."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.review.explain.model import Explanation, single_explanation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.external import ExternalParty
    from fabricc.fabric.fabric import Fabric
    from fabricc.review.explain.origins import PlanSources

PARTY_RULE = "The spec's `external` states the party, its links and their addresses."
PARTY_DOCS = "fabricc docs external"


class End(NamedTuple):
    """One end of a link that leaves the fabric, the device and port there, and those at the other end."""

    address: IPv4Address | IPv6Address
    own: IPv4Interface | IPv6Interface
    near: tuple[str, str]
    far: tuple[str, str]
    party: str


def link_ends(fabric: Fabric) -> Iterator[End]:
    """Yield both ends of every address of every external link."""
    for device, exits in fabric.external.exits.items():
        for port, (party, link) in exits.items():
            here, there = (device, port), (link.peer, link.peer_port)
            for text, remote in ((link.ipv4, link.remote4), (link.ipv6, link.remote6)):
                if text is not None and remote is not None:
                    own = ip_interface(text)
                    yield End(own.ip, own, here, there, party.name)
                    yield End(ip_address(remote), own, there, here, party.name)


def party_of(fabric: Fabric, name: str) -> ExternalParty | None:
    """Return the outside party of that name."""
    return next((party for party in fabric.external.outsiders if party.name == name), None)


def explain_party(plan: PlanSources, party: ExternalParty) -> Explanation:
    """Return what is known of an outside party."""
    routed = "static routes" if party.asn is None else f"BGP with AS{party.asn}"
    accepted = (rule.prefix + (f" le {rule.le}" if rule.le else "") for rule in party.accept)
    treated = "lossless" if party.lossless else "by its DSCP" if party.trusted else "the default class"
    links = (
        f"{link.at} {link.port} to {link.peer} {link.peer_port}, {link.speed_gbps}G, "
        + ", ".join(each for each in (link.ipv4, link.ipv6) if each)
        for link in party.links
    )
    tenancy = plan.fabric.tenancy
    at = tenancy.exits.get(party.name) if tenancy else None
    vrf = (("VRF", tenancy.tenants[at].vrf),) if tenancy and at is not None else ()
    most = f"{party.maximum_prefixes:,} prefixes of a session and family"
    details = (
        ("routed by", routed),
        *vrf,
        ("leads to it", ", ".join(accepted)),
        *((("at most", most),) if party.asn is not None else ()),
        ("arriving", treated),
        ("MTU", f"{party.mtu} bytes (IP)"),
        *(("link", link) for link in links),
    )
    key = f"external.{party.name}"
    origins, title = plan.all_of([key]), "outside the fabric"
    return single_explanation(
        "party", party.name, title, details, PARTY_RULE, origins, name=key, value=routed, docs=PARTY_DOCS
    )
