"""The sections `addressing` and `management` as typed values: pools, networks, and the rules they keep."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from netaddr import AddrFormatError, IPAddress, IPNetwork, IPSet

from fabricc.base.values import replace
from fabricc.fabric import model
from fabricc.fabric.addresses import Pool
from fabricc.fabric.out_of_band import IN_UNITS, ManagementNetwork, OtherDevices
from fabricc.fabric.shape import TierName
from fabricc.front.spec import document
from fabricc.front.spec.device_model import Management, ManagementRequest, ManagementTier, NosChoice
from fabricc.front.spec.model import Addressing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fabricc.base.documents.document import KeyPath

# RFC 1918, RFC 6598 (shared), RFC 4193 (unique local).
PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
# RFC 6890 and RFC 4291: this network, loopback, link-local, multicast and above.
SPECIAL = ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/8", "fe80::/10", "ff00::/8")
PER_HOST = 8  # a BMC, the host's own port and three DPUs


def build_addressing(
    raw: Mapping[str, Any], findings: document.Findings, *, joined: bool
) -> Addressing | None:
    """Return the pools as values; None when one is no network. `joined`: whether switches have links."""
    pools = {
        pool: network_of(raw[pool], ("addressing", pool), findings)
        for pool in document.IPV4_POOLS + document.IPV6_POOLS
        if pool in raw
    }
    written = findings.document.positions
    unused = document.unused_pools(raw, joined=joined)
    for pool, why in unused.items():
        if ("addressing", pool) in written:
            message = f"addressing.{pool} is not used with {why}"
            help_ = (
                "Add `family: dual`, or remove it."
                if "family" in why
                else "Remove it, or write `fabric_links: numbered`."
                if joined
                else "Remove it, or add `spines`."
            )
            findings.warning("FAB2033", message, "addressing", pool, help=help_)
    _check_overlaps(
        {("addressing", pool): network for pool, network in pools.items() if pool not in unused}, findings
    )
    family = raw["family"]
    hosts, links, loopbacks = pools["hosts"], pools["links"], pools["loopbacks"]
    if hosts is None or links is None or loopbacks is None or None in pools.values():
        return None
    second = (None, None, None) if family == "ipv4" else tuple(pools[pool] for pool in document.IPV6_POOLS)
    length = raw.get("link_prefix_length", 31)
    return Addressing(
        family, raw["fabric_links"], hosts, links, loopbacks, second[0], second[1], second[2], length
    )


def build_management(
    raw: Mapping[str, Any], findings: document.Findings, assumptions: document.Assumptions
) -> Management | None:
    """Return the management section as values; None when an address in it is none."""
    further = raw.get("networks", ())
    networks = build_networks(further, findings, assumptions)
    written = findings.document.positions
    of_switches = any(each["tier"] not in tuple(OtherDevices) for each in further)
    everywhere = not of_switches or any(("management", k) in written for k in ("network", "gateway"))
    network = gateway = None
    if everywhere:
        network = network_of(raw["network"], ("management", "network"), findings)
        gateway = network and _read_gateway(raw, network, ("management",), findings, assumptions)
    else:
        assumptions.remove_default("management", "network")
    servers = {
        service: tuple(
            _parse_server(each, ("management", service, i), findings) for i, each in enumerate(raw[service])
        )
        for service in ("ntp", "dns", "syslog")
    }
    users = tuple(
        model.Account(
            user["name"], user["ssh_key"], _reference_to(user["password"]) if "password" in user else ""
        )
        for user in raw["users"]
    )
    first: dict[str, int] = {}
    for index, user in enumerate(users):
        if first.setdefault(user.name, index) != index:
            message = f"the user '{user.name}' appears twice"
            help_ = f"It is management.users[{first[user.name]}] already."
            findings.error("FAB2060", message, "management", "users", index, "name", help=help_)
    if networks is None or (everywhere and gateway is None):
        return None
    services = model.Services(
        **servers,
        users=users,
        access=_read_access(raw["access"], findings),
        tacacs=_read_login_servers(raw, "tacacs", findings),
        radius=_read_login_servers(raw, "radius", findings),
        snmp=_read_snmp(raw["snmp"], {user.name for user in users}, findings) if "snmp" in raw else None,
        gnmi_port=raw["telemetry"]["gnmi_port"] if "telemetry" in raw else None,
        lldp_interval_s=raw["lldp"]["interval_s"],
        ntp_key=_read_ntp_key(raw, findings) if "ntp_authentication" in raw else None,
        banner=_read_banner(raw.get("banner", "")),
        syslog_tls=_read_syslog_tls(raw, findings) if "syslog_tls" in raw else None,
    )
    switches = build_switches(raw["switches"]) if "switches" in raw else None
    return Management(network, gateway, services, networks, switches)


def build_networks(
    raw: Sequence[Mapping[str, Any]], findings: document.Findings, assumptions: document.Assumptions
) -> tuple[ManagementNetwork, ...] | None:
    """The networks of some switches' management ports, ToRs' with the units that they take; None when one is none."""
    found: list[ManagementNetwork] = []
    for index, each in enumerate(raw):
        path = ("management", "networks", index)
        network = network_of(each["network"], (*path, "network"), findings)
        if network is None:
            continue
        length, tier = each.get("prefix_length", network.prefixlen), _parse_tier(each["tier"])
        if wrong := find_misfit(each, network, length, tier):
            message, key, remedy = wrong
            findings.error("FAB2161", f"{document.format_path(path)}: {message}", *path, key, help=remedy)
            continue
        subnet = IPNetwork(f"{network.network}/{length}")
        if (gateway := _read_gateway(each, subnet, path, findings, assumptions)) is None:
            continue
        pool = Pool(int(network.first), int(network.prefixlen), 4)
        per_host = each.get("per_host", PER_HOST) if tier is OtherDevices.HOST else 0
        one = ManagementNetwork(
            document.format_path(path), pool, length, int(gateway) - pool.first, tier,
            units=each.get("units", 0), per_host=per_host,
        )  # fmt: skip
        found.append(one)
    return in_turn(found, raw, findings) if len(found) == len(raw) else None


def _parse_tier(text: str) -> TierName | OtherDevices:
    return OtherDevices(text) if text in tuple(OtherDevices) else TierName(text)


def _read_access(networks: Sequence[str], findings: document.Findings) -> tuple[str, ...]:
    """Networks in canonical form; any are fine here, the whole Internet included, so only their spelling is checked."""
    for index, text in enumerate(networks):
        parse_network(text, ("management", "access", index), findings)
    return tuple(networks)


def _read_login_servers(
    raw: Mapping[str, Any], protocol: str, findings: document.Findings
) -> model.LoginServers | None:
    """Return the servers of one protocol; FAB2064 for both RADIUS and TACACS+.

    Cumulus Linux tries no RADIUS login where it has both clients (NVIDIA, RADIUS AAA), and SONiC's PAM template has
    no order of both (`common-auth-sonic.j2`).
    """
    if protocol not in raw:
        return None
    if protocol == "radius" and "tacacs" in raw:
        message = "management has both 'tacacs' and 'radius', and not every system can use both for logins"
        findings.error("FAB2064", message, "management", "radius", help="Keep one of the two.")
    section = raw[protocol]
    servers = tuple(
        _parse_server(text, ("management", protocol, "servers", index), findings)
        for index, text in enumerate(section["servers"])
    )
    return model.LoginServers(servers, _reference_to(section["key"]))


def _read_banner(banner: str | list[str]) -> str:
    return banner if isinstance(banner, str) else "\n".join(banner)


def _read_ntp_key(raw: Mapping[str, Any], findings: document.Findings) -> model.NtpKey:
    """Return the key of the time servers; FAB1002 without a server."""
    if not raw["ntp"]:
        message = "management.ntp_authentication needs 'ntp'"
        findings.error(
            "FAB1002", message, "management", "ntp_authentication", help="Add `ntp: [172.16.0.2]`."
        )
    section = raw["ntp_authentication"]
    return model.NtpKey(section["key_id"], section["type"], _reference_to(section["key"]))


def _read_syslog_tls(raw: Mapping[str, Any], findings: document.Findings) -> model.SyslogTls:
    """Return how log servers receive messages over TLS; FAB1002 without a server."""
    if not raw["syslog"]:
        message = "management.syslog_tls needs 'syslog'"
        findings.error("FAB1002", message, "management", "syslog_tls", help="Add `syslog: [172.16.0.4]`.")
    return model.SyslogTls(raw["syslog_tls"]["ca"], raw["syslog_tls"]["port"])


def _read_snmp(raw: Mapping[str, Any], accounts: Collection[str], findings: document.Findings) -> model.Snmp:
    """Return the section; FAB1002 without community and users, FAB2060 for a name that is not the user's alone.

    NX-OS gives a local account and an SNMPv3 user of one name the same password (Cisco, Configuring SNMP).
    """
    users = raw.get("users", ())
    if not users and "community" not in raw:
        help_ = "Add `users`, or `community: {secret: snmp}`."
        message = "management.snmp needs 'community' or 'users'"
        findings.error("FAB1002", message, "management", "snmp", help=help_)
    names = set(accounts)
    for index, user in enumerate(users):
        if user["name"] in names:
            message = f"the SNMP user '{user['name']}' has the name of another user"
            path = ("management", "snmp", "users", index, "name")
            findings.error("FAB2060", message, *path, help="Rename one.")
        names.add(user["name"])
    traps = raw.get("traps")
    if traps and all(user["name"] != traps["user"] for user in users):
        message = f"management.snmp.users has no user '{traps['user']}', whose passwords the traps use"
        findings.error("FAB1002", message, "management", "snmp", "traps", "user", help="Add it to `users`.")
    return model.Snmp(
        _reference_to(raw["community"]) if "community" in raw else "",
        raw.get("location", ""),
        raw.get("contact", ""),
        tuple(
            model.SnmpUser(user["name"], _reference_to(user["auth"]), _reference_to(user["privacy"]))
            for user in users
        ),
        model.SnmpTraps(tuple(traps["servers"]), traps["user"]) if traps else None,
    )


def _reference_to(raw: Mapping[str, str]) -> str:
    """Return what the files hold in the place of a secret."""
    return model.SECRET_PREFIX + raw["secret"]


def check_management_overlap(
    addressing: Addressing, management: Management, findings: document.Findings, *, joined: bool
) -> None:
    """The out-of-band network is none of the fabric's."""
    unused = document.unused_pools(
        {"family": addressing.family, "fabric_links": addressing.fabric_links}, joined=joined
    )
    own = management_networks(management)
    pools: dict[KeyPath, IPNetwork] = {
        ("addressing", pool): getattr(addressing, pool) for pool in document.IPV4_POOLS if pool not in unused
    }
    _check_overlaps(own | pools, findings, only=own.keys())


def management_networks(management: Management) -> dict[KeyPath, IPNetwork]:
    """Return the networks of management ports, by where the spec has them."""
    found: dict[KeyPath, IPNetwork] = {}
    if management.network is not None:
        found["management", "network"] = management.network
    for index, each in enumerate(management.networks):
        found["management", "networks", index, "network"] = IPNetwork(str(each.pool))
    return found


@cache
def _parse_networks(texts: tuple[str, ...]) -> tuple[IPNetwork, ...]:
    return tuple(IPNetwork(text) for text in texts)


def parse_network(text: str, path: KeyPath, findings: document.Findings) -> IPNetwork | None:
    """Return a network, whatever it contains; None after a finding."""
    name = document.format_path(path)
    try:
        network = IPNetwork(text)
    except (AddrFormatError, ValueError):
        help_ = "Each part of an IPv4 address is at most 255, its prefix length at most 32; 128 for IPv6."
        findings.error("FAB2030", f"{name}: '{text}' is not a network", *path, help=help_)
        return None
    if network.ip != network.network:
        message = f"{name}: {text} is not on the boundary of a /{network.prefixlen}"
        findings.error("FAB2031", message, *path, help=f"Write {network.cidr}.")
        return None
    return network


def network_of(text: str, path: KeyPath, findings: document.Findings) -> IPNetwork | None:
    """Return a network that interfaces can have addresses of; None after a finding."""
    name, network = document.format_path(path), parse_network(text, path, findings)
    if network is None:
        return None
    if any(network in special or special in network for special in _parse_networks(SPECIAL)):
        message = f"{name}: {text} holds addresses that no interface can have"
        help_ = "Use a private network, such as 10.0.0.0/10 or fd00::/48."
        findings.error("FAB2034", message, *path, help=help_)
        return None
    if not any(network in private for private in _parse_networks(PRIVATE)):
        help_ = "Use 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 or fc00::/7, or accept this."
        findings.warning("FAB2035", f"{name}: {text} is not private", *path, help=help_)
    return network


def _check_overlaps(
    pools: Mapping[KeyPath, IPNetwork | None],
    findings: document.Findings,
    only: Collection[KeyPath] | None = None,
) -> None:
    named = [(path, network) for path, network in pools.items() if network is not None]
    for index, (path, network) in enumerate(named):
        for earlier_path, earlier in named[:index]:
            if only is not None and path not in only and earlier_path not in only:
                continue
            if network in earlier or earlier in network:
                # Point at the one that the file states; the other may be a default.
                stated, other, its = path, earlier_path, earlier
                if stated not in findings.document.positions and earlier_path in findings.document.positions:
                    stated, other, its = earlier_path, path, network
                mine = pools[stated]
                message = (
                    f"{document.format_path(stated)} {mine} overlaps {document.format_path(other)} {its}"
                )
                help_ = free_pool([network for _, network in named], mine)
                findings.error("FAB2032", message, *stated, help=help_)


def free_pool(used: Iterable[IPNetwork], size: IPNetwork | None) -> str:
    """Return a remedy: the first private network of the wanted size that overlaps nothing."""
    if size is None:
        return ""
    free = IPSet(private for private in _parse_networks(PRIVATE) if private.version == size.version)
    for network in used:
        free.remove(network)
    for block in free.iter_cidrs():
        if block.prefixlen <= size.prefixlen:
            return f"Free and as large: {block.network}/{size.prefixlen}."
    return "Make one of them smaller."


def _read_gateway(
    raw: Mapping[str, Any],
    network: IPNetwork,
    path: KeyPath,
    findings: document.Findings,
    assumptions: document.Assumptions,
) -> IPAddress | None:
    """Return the gateway that a section names, or the first address of its network."""
    first = IPAddress(network.first + (1 if network.size > 2 else 0), network.version)
    if "gateway" not in raw:
        assumptions.add_default(str(first), *path, "gateway")
        return first
    text = raw["gateway"]
    try:
        gateway = IPAddress(text)
    except (AddrFormatError, ValueError):
        message = f"{document.format_path(path)}.gateway: '{text}' is not an address"
        help_ = f"The first address of the network is {first}."
        findings.error("FAB2030", message, *path, "gateway", help=help_)
        return None
    outside = gateway not in network
    if outside or (network.size > 2 and gateway in (network.network, network.broadcast)):
        its = "management.network " if path == ("management",) else ""
        why = f"outside {its}{network}" if outside else f"no host address of {network}"
        findings.error(
            "FAB2036",
            f"{document.format_path(path)}.gateway {gateway} is {why}",
            *path,
            "gateway",
            help=f"Write {first}.",
        )
    return gateway


def _parse_server(text: str, path: KeyPath, findings: document.Findings) -> str:
    """Return a server's address in canonical form, or its name as it stands."""
    looks_like_address = ":" in text or not any(character.isalpha() for character in text)
    if not looks_like_address:
        return text
    try:
        return str(IPAddress(text))
    except (AddrFormatError, ValueError):
        message = f"{document.format_path(path)}: '{text}' is neither an address nor a name"
        findings.error("FAB2030", message, *path, help="For example: 172.16.0.2")
        return text


def find_misfit(
    raw: Mapping[str, Any], network: IPNetwork, length: int, tier: TierName | OtherDevices
) -> tuple[str, str, str] | None:
    """Return conflicting keys of a network: the reason, the key and a remedy."""
    if length < network.prefixlen:
        remedy = f"Write {network.prefixlen} or more, or leave it out for one subnet."
        return f"{network} has no subnets of /{length}", "prefix_length", remedy
    if tier is not OtherDevices.HOST and "per_host" in raw:
        return "`per_host` is of networks with `tier: host`", "per_host", "Remove it."
    if tier not in IN_UNITS:
        if key := next((key for key in ("from", "units") if key in raw), None):
            return f"{_describe_tier(tier)} are in no unit, so `{key}` has no effect", key, "Remove it."
    elif length > network.prefixlen and "units" not in raw:
        remedy = f"Add `units`: how many units' {_describe_tier(tier)} share a subnet."
        return f"no key states which units a /{length} holds", "prefix_length", remedy
    return None


def _describe_tier(tier: TierName | OtherDevices | None) -> str:
    """`ToRs`, `spines`, `hosts`, `management switches`."""
    named: dict[TierName | OtherDevices | None, str] = {
        TierName.TOR: "ToRs",
        OtherDevices.OOB: "management switches",
    }
    return named.get(tier, f"{tier}s")


def in_turn(
    networks: Sequence[ManagementNetwork], raw: Sequence[Mapping[str, Any]], findings: document.Findings
) -> tuple[ManagementNetwork, ...]:
    """Return the networks, those of ToRs and hosts with the units that each takes.

    They begin where the spec defines, or where the one before ends.

    FAB2160 for each that takes what another has.
    """
    found: list[ManagementNetwork] = []
    last: dict[TierName | OtherDevices | None, int] = {}
    for index, (network, section) in enumerate(zip(networks, raw, strict=True)):
        before = found[last[network.tier]] if network.tier in last else None
        first = section["from"] - 1 if "from" in section else before.end if before else 0
        if before and (clash := _find_clash(network, before, first)):
            message, remedy = clash
            findings.error("FAB2160", message, "management", "networks", index, help=remedy)
            continue
        if before and before.end is None:
            found[last[network.tier]] = replace(before, end=first)
        begin = first or 0
        end = begin + network.units * network.subnets if network.units else None
        last[network.tier] = len(found)
        found.append(replace(network, first=begin, end=end))
    return tuple(found)


def _find_clash(
    network: ManagementNetwork, before: ManagementNetwork, first: int | None
) -> tuple[str, str] | None:
    """Why a network cannot follow another of its tier, and a remedy; None where it begins behind that one."""
    whose = _describe_tier(network.tier)
    if network.tier not in IN_UNITS:
        remedy = f"Keep one network of {whose}, cut into subnets by `prefix_length` where it has to be."
        return f"{network.key}: {before.key} has all {whose}", remedy
    message = f"{network.key} takes {whose} of units that {before.key} has"
    if first is None:
        return message, "State in `units` how many units that one has."
    free = before.first + 1 if before.end is None else before.end
    return (
        (message, f"Begin with `from: {free + 1}` or later, in the order of units.") if first < free else None
    )


def build_switches(raw: Mapping[str, Any]) -> ManagementRequest:
    """Return the section `management.switches`, valid and with its defaults, as values."""
    return ManagementRequest(
        _read_tier(raw),
        _read_tier(raw["aggregation"]) if "aggregation" in raw else None,
        by_unit=raw["per"] == "unit",
        row=raw["row"],
        outside=tuple(raw["to"]),
        cable=model.CableKind("copper", raw["cable_m"]),
        uplink=model.CableKind(raw["uplink"]["medium"], raw["uplink"]["length_m"]),
    )


def _read_tier(raw: Mapping[str, Any]) -> ManagementTier:
    nos = NosChoice.of(raw["nos"]) if "nos" in raw else None
    return ManagementTier(raw["model"], nos, raw.get("count"), raw.get("uplinks"))
