"""Management services read back: servers, LLDP, TACACS+, SNMP, gNMI and the access lists of the control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import GNMI_SERVER, has
from fabricc.back.nos.cumulus.ports import MANAGEMENT_VRF
from fabricc.back.nos.cumulus.services import (
    ACCESS,
    ITSELF,
    LLDP_HOLD,
    LOGIN_METHODS,
    TACACS_PORT,
    login_switches,
)
from fabricc.back.nos.cumulus.source import Source, number
from fabricc.back.nos.cumulus.words import CONTROL_PLANE_LISTS

if TYPE_CHECKING:
    from fabricc.back.nos.cumulus.yaml_nodes import Node

_SERVERS = {
    "ntp": ("iburst",),
    "dns": (),
    "syslog": ("port", "protocol"),
}


def read_services(source: Source) -> None:
    """Every fact of the services."""
    for name, keys in _SERVERS.items():
        _read_servers(source, name, keys)
    _read_lldp(source)
    _read_tacacs(source)
    _read_snmp(source)
    _read_gnmi(source)
    _read_access(source)


def _read_servers(source: Source, name: str, keys: tuple[str, ...]) -> None:
    release = source.release
    place = getattr(release, name)
    above = source.root.get(place, name, *((MANAGEMENT_VRF,) if place == "service" else ()))
    source.expect(source.root, (place,), f"management/{name}")
    if above is None:
        return
    source.expect(above, ("server",), f"management/{name}")
    servers = dict(above.items("server"))
    for server, node in servers.items():
        source.put(f"management/{name}[{server}]", "asked", node)
    if servers:
        source.put(f"management/{name}", ",".join(sorted(servers)), next(iter(servers.values())))
    vrf_of: list[Node] = []
    if place == "system":
        vrf_of = [above] if name == "ntp" else list(servers.values())
    for node in vrf_of:
        source.require(node, "vrf", MANAGEMENT_VRF)
    for node in servers.values():
        for key in keys:
            words = {"iburst": release.on, "port": "514", "protocol": "udp"}
            source.require(node, key, words[key])


def _read_lldp(source: Source) -> None:
    release = source.release
    above = source.root.get(release.lldp, "lldp")
    if above is None:
        source.lacks(source.root.children.get(release.lldp, source.root), "lldp is missing")
        return
    if release.lldp_state:
        source.require(above, "state", "enabled")
    source.require(above, "tx-hold-multiplier", str(LLDP_HOLD))
    source.scalar("lldp/interval_s", above, "tx-interval")


def _read_tacacs(source: Source) -> None:
    source.expect(source.root, ("system", "aaa", "tacacs", "server"), "management/tacacs/servers")
    tacacs = source.root.get("system", "aaa", "tacacs")
    if tacacs is None:
        return
    source.require_tree(tacacs, login_switches(source.release))
    source.require(tacacs, "vrf", MANAGEMENT_VRF)
    ranked: list[tuple[int, str]] = []
    place = tacacs
    for key, node in tacacs.items("server"):
        rank_node = node.get("priority") if source.release.tacacs_by_address else node
        host_node = node if source.release.tacacs_by_address else node.get("host")
        rank = (rank_node and rank_node.value) if source.release.tacacs_by_address else key
        host = key if source.release.tacacs_by_address else (host_node and host_node.value)
        order = number(rank or "")
        if rank_node is None or host_node is None or not host or not isinstance(order, int):
            source.lacks(node, "a TACACS+ server without its address or priority")
            continue
        source.put(f"management/tacacs_server[{host}]/configured", "true", host_node)
        source.put(f"management/tacacs_server[{host}]/priority", order, rank_node)
        ranked.append((order, host))
        place = rank_node
        source.require(node, "port", str(TACACS_PORT))
        if ":" in host:
            source.require(node, "prefer-ip-version", "6")
        if (secret := node.get("secret")) and secret.value:
            source.agree("management/tacacs/secret", secret.value, secret)
        else:
            source.lacks(node, "secret is missing")
    if ranked:
        source.put("management/tacacs/servers", ",".join(host for _, host in sorted(ranked)), place)
    _read_login_order(source, tacacs)


def _read_login_order(source: Source, tacacs: Node) -> None:
    """TACACS+ is asked first and local accounts when no server answers; another order stays unseen."""
    place = ("authentication", "order") if source.release.login_list else ("authentication-order",)
    order = source.root.get("system", "aaa", *place)
    if order is None:
        aaa = source.root.get("system", "aaa")
        above = aaa.children.get(place[0], aaa) if aaa else tacacs
        source.lacks(above, f"{' '.join(place)} is missing")
        return
    for at, method in enumerate(LOGIN_METHODS):
        if source.release.login_list:
            source.require(order, str(at), method)
        elif order.get(str(at + 1), method) is None:
            source.lacks(order.children.get(str(at + 1)) or order, f"{method} is missing")


def _read_snmp(source: Source) -> None:
    place = (source.release.snmp, "snmp-server")
    source.expect(source.root, (*place, "readonly-community"), "management/snmp/secret", "snmp/answered")
    source.expect(source.root, (*place, "listening-address"), "snmp/listening")
    snmp = source.root.get(*place)
    if snmp is None:
        return
    source.require(snmp, *source.release.snmp_switch)
    _need_address(source, snmp)
    for address, node in snmp.items("listening-address"):
        source.put(f"snmp/listening[{address}]", "true", node)
        source.scalar(f"snmp/listening[{address}]/vrf", node, "vrf")
    for community, node in snmp.items("readonly-community"):
        source.agree("management/snmp/secret", community, node)
        for network, child in node.items("access"):
            source.put(f"snmp/answered[{network}]", "true", child)
    source.scalar("management/snmp/contact", snmp, "system-contact")
    source.scalar("management/snmp/location", snmp, "system-location")


def _need_address(source: Source, service: Node) -> None:
    """Note that a service listens nowhere, or on addresses that are not named."""
    place = service.children.get("listening-address")
    if place is None or not place.children:
        source.lacks(place or service, "an address to listen on is missing")


def _read_gnmi(source: Source) -> None:
    source.expect(source.root, ("system", "gnmi-server"), "management/gnmi_port", "gnmi/listening")
    server = source.root.get("system", "gnmi-server") if has(source.release.name, GNMI_SERVER) else None
    if server is None:
        return
    source.require(server, "state", "enabled")
    source.scalar("management/gnmi_port", server, "port")
    _need_address(source, server)
    for address, node in server.items("listening-address"):
        source.put(f"gnmi/listening[{address}]", "true", node)


def _read_access(source: Source) -> None:
    """The rules of every access list, and whom the one of the control plane lets in."""
    bound = {
        name: (node, node.get("inbound") is not None)
        for name, node in source.root.items("system", "control-plane", "acl")
    }
    for name, node in source.root.items("acl"):
        source.scalar(f"acl[{name}]/type", node, "type")
        source.expect(source.root, ("system", "control-plane", "acl"), f"acl[{name}]/bound")
        source.put(
            f"acl[{name}]/rules", len(node.children["rule"].children) if "rule" in node.children else 0, node
        )
        rules = sorted(node.items("rule"), key=lambda item: (len(item[0]), item[0]))
        networks: dict[str, Node] = {}
        closed = False
        for key, rule in rules:
            source.put(f"acl[{name}]/rule[{key}]/configured", "true", rule)
            source_ip = _read_rule(source, f"acl[{name}]/rule[{key}]/", rule)
            permits = rule.get("action", "permit") is not None
            closed = closed or not (permits or source_ip)
            if permits and source_ip and source_ip.value and source_ip.value != ITSELF["ipv4"]:
                networks.setdefault(source_ip.value, source_ip)
        if name == ACCESS and networks:
            shut = closed and name in bound and bound[name][1]
            value = ",".join(sorted(networks)) + ("" if shut else ", and everyone else")
            source.put("management/access", value, next(iter(networks.values())))
    for name, (node, inbound) in bound.items():
        if name in CONTROL_PLANE_LISTS:
            continue
        source.put(f"acl[{name}]/bound", "inbound" if inbound else "false", node)
        lists = source.root.children.get("acl", source.root)
        if name not in lists.children:
            source.lacks(lists, f"acl {name} is not defined")


def _read_rule(source: Source, prefix: str, rule: Node) -> Node | None:
    """State a rule, and give the node of its source."""
    for word, node in rule.items("action"):
        source.put(prefix + "action", word, node)
    match = rule.get("match", "ip")
    if match is None:
        source.lacks(rule, "match ip is missing")
        return None
    source.scalar(prefix + "protocol", match, "protocol")
    source.scalar(prefix + "source", match, "source-ip")
    for protocol in ("tcp", "udp"):
        for port, node in match.items(protocol, "dest-port"):
            source.put(f"{prefix}{protocol}[{port}]", "true", node)
    return match.get("source-ip")
