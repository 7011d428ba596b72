"""Read external links as typed values, and check their addresses, prefixes and AS numbers."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.fabric.addresses import asn_block
from fabricc.fabric.external import ExternalLink, ExternalParty
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.fabric.routing import PrefixRule
from fabricc.front.spec.document import IPV4_POOLS, IPV6_POOLS, Findings, format_path, unused_pools
from fabricc.front.spec.pools import management_networks, parse_network

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.base.documents.document import KeyPath
    from fabricc.front.spec.device_model import Management
    from fabricc.front.spec.model import Addressing

    Interface = IPv4Interface | IPv6Interface
    Network = IPv4Network | IPv6Network

MAXIMUM_PREFIXES = 16
DEFAULT_ROUTES = {4: "0.0.0.0/0", 6: "::/0"}
RESERVED_ASNS = {23456: "RFC 6793", 65535: "RFC 7300", 4294967295: "RFC 7300"}
_BGP_ALONE = ("password", "maximum_prefixes")
_DUAL = "Remove it, or write `addressing: {family: dual}`."


class PartyNetworks(NamedTuple):
    """A party's networks by IP version, and what links of it have by themselves."""

    networks: Mapping[int, Network]
    taken: UsedNetworks


class UsedNetworks:
    """Networks and whose they are; one that overlaps another is found in as many steps as an address has bits."""

    def __init__(self) -> None:
        self._owners: dict[Network, str] = {}
        self._around: dict[Network, Network] = {}

    def add(self, network: Network, owner: str) -> None:
        """Note a network and those around it."""
        self._owners[network] = owner
        while network.prefixlen:
            self._around.setdefault(network, next(reversed(self._owners)))
            network = network.supernet()

    def overlapping(self, network: Network) -> str | None:
        """`whose network` of one that a network lies in, or that lies in it; None when there is none."""
        found = self._around.get(network)
        while found is None and network.prefixlen:
            found = network if network in self._owners else None
            network = network.supernet()
        return None if found is None else f"{self._owners[found]} {found}"


def build_external(
    raw: Mapping[str, Any],
    family: str,
    fabric_pools: Mapping[str, Network],
    asn_base: int,
    switch_mtu: int,
    findings: Findings,
) -> tuple[ExternalParty, ...]:
    """Return the outside parties by name; what they cannot be is a finding.

    `fabric_pools` are the fabric's networks, see `own_networks`; `asn_base` is the first AS number of its block.
    """
    taken = UsedNetworks()
    for key, network in fabric_pools.items():
        taken.add(network, key)
    families = {"ipv4": (4,), "ipv6": (6,), "dual": (4, 6)}[family]
    numbered = {
        name: _link_networks(raw[name], families, taken, ("external", name), findings) for name in sorted(raw)
    }
    found = []
    for name in sorted(raw):
        party, path = raw[name], ("external", name)
        asn = party.get("asn")
        _check_asn(asn, asn_base, path, findings)
        if asn is None:
            _check_static(party, path, findings)
        accept = _accepted_prefixes(party, families, fabric_pools, path, findings)
        inside = numbered[name]
        links = [
            link
            for index, each in enumerate(party["links"])
            if (link := _read_link(each, families, taken, inside, (*path, "links", index), findings))
        ]
        secret, by_bgp = party.get("password"), asn is not None
        found.append(
            ExternalParty(
                name=name,
                asn=asn,
                password=SECRET_PREFIX + secret["secret"] if secret else None,
                accept=accept,
                maximum_prefixes=party.get("maximum_prefixes", MAXIMUM_PREFIXES) if by_bgp else len(accept),
                trusted=party["trust_dscp"] or party["lossless"],
                lossless=party["lossless"],
                mtu=party.get("mtu", switch_mtu),
                links=tuple(links),
                networks=tuple((family, str(network)) for family, network in inside.networks.items()),
            )
        )
    return tuple(found)


def own_networks(addressing: Addressing, management: Management, *, joined: bool) -> dict[str, Network]:
    """Return what the fabric numbers itself, by the spec's key; `joined`: whether switches have links."""
    settings = {"family": addressing.family, "fabric_links": addressing.fabric_links}
    unused = unused_pools(settings, joined=joined)
    pools = {
        f"addressing.{pool}": network
        for pool in IPV4_POOLS + IPV6_POOLS
        if pool not in unused and (network := getattr(addressing, pool)) is not None
    }
    outside = {format_path(path): network for path, network in management_networks(management).items()}
    return {key: ip_network(str(each)) for key, each in (pools | outside).items()}


def _check_asn(asn: int | None, base: int, path: KeyPath, findings: Findings) -> None:
    if asn in RESERVED_ASNS:
        why = f"AS {asn} is reserved ({RESERVED_ASNS[asn]})"
    elif asn is not None and (own := asn_block(base)).first <= asn <= own.last:
        size = own.last - own.first + 1
        why = f"AS {asn} is one of the {size:,} from routing.asn_base {base} on, which are the fabric's"
    else:
        return
    message = f"{format_path(path)}: {why}"
    findings.error("FAB2095", message, *path, "asn", help="Write the AS number of the party's own routers.")


def _check_static(party: Mapping[str, Any], path: KeyPath, findings: Findings) -> None:
    for key in _BGP_ALONE:
        if key in party:
            message = f"{format_path((*path, key))} is a setting of BGP, and the party has no asn"
            help_ = "Remove it, or add `asn` of the party's routers."
            findings.error("FAB2090", message, *path, key, help=help_)


def _accepted_prefixes(
    party: Mapping[str, Any],
    families: tuple[int, ...],
    fabric_pools: Mapping[str, Network],
    path: KeyPath,
    findings: Findings,
) -> tuple[PrefixRule, ...]:
    """Return the prefixes in canonical form, without those that are none."""
    rules: dict[PrefixRule, int] = {}
    for index, text in enumerate(party.get("accept", [DEFAULT_ROUTES[family] for family in families])):
        at = (*path, "accept", index)
        prefix, _, longest = text.partition(" le ")
        network = _parse_network(prefix, at, findings)
        if network is None:
            continue
        rule = PrefixRule(str(network), le=int(longest) if longest else None)
        for wrong, help_ in _explain_rejection(network, rule, "asn" in party, families, fabric_pools):
            findings.error("FAB2092", f"{format_path(at)}: {wrong}", *at, help=help_)
        if (first := rules.setdefault(rule, index)) != index:
            help_ = f"It is accept[{first}] already."
            findings.error("FAB2092", f"{format_path(at)}: {text} appears twice", *at, help=help_)
    return tuple(rules)


def _explain_rejection(
    network: Network,
    rule: PrefixRule,
    by_bgp: bool,
    families: tuple[int, ...],
    fabric_pools: Mapping[str, Network],
) -> Iterator[tuple[str, str]]:
    """Return the problem of an accepted prefix, and its remedy."""
    if network.version not in families:
        yield f"the fabric carries no IPv{network.version}", _DUAL
    if rule.le is not None and not network.prefixlen < rule.le <= network.max_prefixlen:
        help_ = f"It ranges from {network.prefixlen + 1} to {network.max_prefixlen}."
        yield f"a /{network.prefixlen} has no more specific prefixes up to /{rule.le}", help_
    if rule.le is not None and not by_bgp:
        help_ = "Write the prefixes one by one, or add `asn` for BGP."
        yield f"a static route is for {network} itself", help_
    if network.prefixlen == 0 and rule.le is None:
        return
    for key, other in fabric_pools.items():
        if other.version == network.version and network.overlaps(other):
            help_ = "Use prefixes without addresses of the fabric, or a default route."
            yield f"{network} overlaps {key} {other}, which is inside", help_
            return


def _link_networks(
    party: Mapping[str, Any],
    families: tuple[int, ...],
    used_networks: UsedNetworks,
    path: KeyPath,
    findings: Findings,
) -> PartyNetworks:
    """Return the networks that a party's links are numbered from, noted as taken."""
    found: dict[int, Network] = {}
    for family, key in ((4, "network"), (6, "network6")):
        if key not in party:
            continue
        network, at = _parse_network(party[key], (*path, key), findings), (*path, key)
        if network is None:
            continue
        if family not in families:
            findings.error(
                "FAB2093", f"{format_path(at)}: the fabric carries no IPv{family}", *at, help=_DUAL
            )
        elif network.num_addresses < 2:
            findings.error(
                "FAB2093", f"{format_path(at)}: {network} has fewer than two addresses for a link", *at
            )
        elif _claim_subnet(network, used_networks, at, findings):
            found[family] = network
    return PartyNetworks(found, UsedNetworks())


def _read_link(
    raw: Mapping[str, Any],
    families: tuple[int, ...],
    used_networks: UsedNetworks,
    inside: PartyNetworks,
    path: KeyPath,
    findings: Findings,
) -> ExternalLink | None:
    """Return one link; None when an address of it is none."""
    ends: dict[int, tuple[str | None, str | None]] = {4: (None, None), 6: (None, None)}
    for family, local, remote in ((4, "local", "remote"), (6, "local6", "remote6")):
        if local not in raw and remote not in raw and family not in families:
            continue
        if family not in families:
            message = f"{format_path(path)}: the fabric carries no IPv{family}"
            help_ = "Remove the address, or write `addressing: {family: dual}`."
            findings.error("FAB2093", message, *path, local if local in raw else remote, help=help_)
            return None
        if local not in raw and remote not in raw and family in inside.networks:
            continue
        if local not in raw:
            findings.error(
                "FAB2093",
                f"{format_path(path)} has no {local} address, and the fabric carries IPv{family}",
                *path,
                help=f"For example: {local}: {'192.0.2.0/31' if family == 4 else '2001:db8::/127'}, or a "
                f"`network{'6' if family == 6 else ''}` of the party that its links are numbered from.",
            )
            return None
        found = _resolve_ends(raw[local], raw.get(remote), (*path, local), (*path, remote), findings)
        if found is None:
            return None
        subnet, base = found[0].network, inside.networks.get(family)
        within = base is not None and base.prefixlen <= subnet.prefixlen and base.overlaps(subnet)
        if not _claim_subnet(subnet, inside.taken if within else used_networks, (*path, local), findings):
            return None
        ends[family] = (str(found[0]), found[1])
    return ExternalLink(
        raw["at"], raw["port"], raw["speed_gbps"], raw["peer"], raw["peer_port"], raw["length_m"], raw["medium"],
        *ends[4], *ends[6],
    )  # fmt: skip


def _resolve_ends(
    local: str, remote: str | None, at: KeyPath, remote_at: KeyPath, findings: Findings
) -> tuple[Interface, str] | None:
    """Own address, and the far end's: the other one of a subnet of two, or as stated."""
    try:
        own = ip_interface(local)
    except ValueError:
        findings.error("FAB2030", f"{format_path(at)}: '{local}' is not an address with a prefix length", *at)
        return None
    subnet = own.network
    hosts = list(subnet.hosts()) if subnet.num_addresses <= 4 else None
    usable = own.ip in hosts if hosts else own.ip not in (subnet.network_address, subnet.broadcast_address)
    if subnet.prefixlen == subnet.max_prefixlen or not usable:
        help_ = "A link needs two addresses."
        if hosts and len(hosts) > 1:
            help_ = f"Usable in it: {hosts[0]} to {hosts[-1]}."
        message = f"{format_path(at)}: {own.ip} is not a host address of a link in {subnet}"
        findings.error("FAB2093", message, *at, help=help_)
        return None
    if remote is None:
        if hosts is None or len(hosts) != 2:
            help_ = f"Add `{remote_at[-1]}`, an address in {subnet}."
            message = f"{format_path(at)}: the far end has no address in {subnet}"
            findings.error("FAB2093", message, *at, help=help_)
            return None
        return own, str(next(each for each in hosts if each != own.ip))
    try:
        far = ip_address(remote)
    except ValueError:
        findings.error("FAB2030", f"{format_path(remote_at)}: '{remote}' is not an address", *remote_at)
        return None
    if far.version != own.version or far not in subnet or far == own.ip:
        why = "is the switch's own" if far == own.ip else f"is not in {subnet}"
        help_ = f"Write another address of {subnet}."
        findings.error("FAB2093", f"{format_path(remote_at)} {remote} {why}", *remote_at, help=help_)
        return None
    return own, str(far)


def _claim_subnet(subnet: Network, used_networks: UsedNetworks, at: KeyPath, findings: Findings) -> bool:
    """Note the subnet of a link; False when it is somebody's already."""
    if other := used_networks.overlapping(subnet):
        help_ = "Number the link from a network that neither the fabric nor another link has."
        findings.error("FAB2094", f"{format_path(at)}: {subnet} overlaps {other}", *at, help=help_)
        return False
    used_networks.add(subnet, format_path(at))
    return True


def _parse_network(text: str, at: KeyPath, findings: Findings) -> Network | None:
    network = parse_network(text, at, findings)
    return None if network is None else ip_network(str(network))
