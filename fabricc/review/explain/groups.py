"""A unit, a rack, a tenant, an outside party or a traffic class: its members, its numbers, and the keys behind them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural, ranges
from fabricc.front.spec.tenants import fold_names
from fabricc.review.explain.model import Details, Explanation, single_explanation
from fabricc.review.explain.origins import PlanSources, identity_origins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.external import ExternalParty
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.qos import TrafficClass
    from fabricc.fabric.shape import Unit
    from fabricc.fabric.tenants import Tenancy, Tenant


_UNIT_RULE = (
    "Hosts of a unit share its ToRs. The lock pins its coordinate, from which addresses, ASNs and names of its ToRs "
    "follow."
)
_RACK_RULE = "The spec places hosts in racks. A rack is not a coordinate, unless hosts are wired by racks."
_TENANT_RULE = (
    "The tenant's number in the lock, which is never reused, gives its VNI, route target and distinguishers."
)
_CLASS_RULE = (
    "All switches and NICs have the same classes. A code point is in one class, which has one priority."
)


def group_names(fabric: Fabric) -> Iterator[str]:
    """Yield the names of units, racks, tenants and classes of traffic."""
    yield from (unit.name for unit in fabric.units.values())
    yield from dict.fromkeys(fabric.racks.values())
    yield from (tenant.name for tenant in (fabric.tenancy.tenants if fabric.tenancy else ()))
    yield from (each.name for each in _classes(fabric))


def _classes(fabric: Fabric) -> tuple[TrafficClass, ...]:
    return next((qos.classes for qos in fabric.qos.values()), ())


def explain_group(plan: PlanSources, name: str) -> Explanation | None:
    """Explain a unit, a rack, a tenant or a class of traffic; None if nothing has that name."""
    fabric = plan.fabric
    if unit := next((each for each in fabric.units.values() if each.name == name), None):
        return _explain_unit(plan, unit)
    if hosts := [host for host, rack in fabric.racks.items() if rack == name]:
        origins = plan.all_of([f"gpus.racks.{name}", "gpus.racks", "racks"])
        return single_explanation("rack", name, "a rack", _host_details(hosts), _RACK_RULE, origins)
    tenancy = fabric.tenancy
    if tenancy and (tenant := next((each for each in tenancy.tenants if each.name == name), None)):
        return _explain_tenant(plan, tenancy, tenant)
    if each := next((each for each in _classes(fabric) if each.name == name), None):
        return _explain_class(plan, each)
    return None


def _explain_unit(plan: PlanSources, unit: Unit) -> Explanation:
    fabric = plan.fabric
    tors = [fabric.name(at) for at in fabric.tor_ids(unit.home)]
    details = (
        *(("coordinates", f"unit {unit.coordinate}"), ("ToRs", ", ".join(fold_names(tors)))),
        *_host_details([*unit.hosts.values()]),
    )
    keys = [f"gpus.racks.{unit.name}", "gpus.racks", "gpus.hosts_per_unit", "gpus.hosts_per_rack"]
    origins = (*identity_origins(plan, unit.coordinate), *plan.all_of(keys))
    return single_explanation("unit", unit.name, "a unit", details, _UNIT_RULE, origins)


def _explain_tenant(plan: PlanSources, tenancy: Tenancy, tenant: Tenant) -> Explanation:
    at = tenancy.tenants.index(tenant)
    hosts = [host for host, rails in tenancy.of_host.items() if at in rails]
    numbers = (("VNI", str(tenant.vni)), ("route target", tenant.route_target)) if tenancy.tunnels else ()
    ports = sum(rails.count(at) for rails in tenancy.of_host.values())
    vrf = (("VRF", tenant.vrf),) if tenant.own_vrf else ()
    parties = [party for party, index in tenancy.exits.items() if index == at]
    reached = (("reaches", ", ".join(parties)),) if parties else ()
    details = (*vrf, *numbers, ("host ports", f"{ports:,}"), *_host_details(hosts), *reached)
    origins = (
        *plan.all_of([f"tenants.{tenant.name}"]),
        plan.lock_origin(f"tenant {tenant.name}", tenant.number),
    )
    return single_explanation(
        "tenant", tenant.name, "a tenant", details, _TENANT_RULE, origins, docs="fabricc docs tenants"
    )


def _explain_class(plan: PlanSources, each: TrafficClass) -> Explanation:
    share = "strict" if each.strict else f"{each.weight_percent} % of what strict classes leave"
    details = (
        ("priority", str(each.priority)),
        ("code points", ranges(each.dscps)),
        ("senders use", str(each.data_dscp)),
        ("lossless", "yes" if each.lossless else "no"),
        ("bandwidth", share),
    )
    origins = plan.all_of([f"priorities.{each.name}", "priorities"])
    return single_explanation(
        "class", each.name, "a class of traffic", details, _CLASS_RULE, origins, docs="fabricc docs lossless"
    )


def _host_details(hosts: list[str]) -> Details:
    """Return the number of hosts, and their names."""
    return ("hosts", plural(len(hosts), "host")), ("names", ", ".join(fold_names(hosts)) or "none")


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
