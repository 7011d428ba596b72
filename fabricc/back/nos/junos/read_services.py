"""Reads the services on the management side: TACACS+, SNMP, gNMI and LLDP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import DEFAULT_LLDP_MULTIPLIER, DEFAULT_LLDP_S, MANAGEMENT_INSTANCE

if TYPE_CHECKING:
    from fabricc.back.nos.junos.read_device import Put
    from fabricc.back.nos.junos.tree import Node


def read_services(root: Node, put: Put) -> None:
    """State the facts of the services that watch the switch and of who may log in."""
    _tacacs(root, put)
    _snmp(root, put)
    _gnmi(root, put)
    _lldp(root, put)


def _tacacs(root: Node, put: Put) -> None:
    servers: list[tuple[str, int]] = []
    keys: dict[str, int] = {}
    for server in root.below("system", "tacplus-server"):
        if instance := server.value("routing-instance"):
            put(f"platform/tacacs[{server.word}]/instance", *instance)
            if instance[0] == MANAGEMENT_INSTANCE:
                servers.append((server.word, server.line))
        if secret := server.value("secret"):
            put(f"platform/tacacs[{server.word}]/secret", *secret)
            keys.setdefault(*secret)
    if servers:
        put("management/tacacs/servers", ",".join(name for name, _ in servers), servers[-1][1])
    if keys:
        put("management/tacacs/secret", next(iter(keys)) if len(keys) == 1 else "", max(keys.values()))
    if order := root.values("system", "authentication-order"):
        put("platform/authentication_order", ",".join(word for word, _ in order), order[-1][1])
    if events := root.values("system", "accounting", "events"):
        put("platform/accounting/events", ",".join(sorted(word for word, _ in events)), events[-1][1])
    for kind, line in root.values("system", "accounting", "destination"):
        put("platform/accounting/destination", kind, line)


def _snmp(root: Node, put: Put) -> None:
    for community in root.below("snmp", "community"):
        if line := community.flag("authorization", "read-only"):
            put("management/snmp/secret", community.word, line)
    for kind in ("location", "contact"):
        if text := root.value("snmp", kind):
            put(f"management/snmp/{kind}", *text)
    if line := root.flag("snmp", "routing-instance-access"):
        put("platform/snmp/instances", "true", line)


def _gnmi(root: Node, put: Put) -> None:
    grpc = root.get("system", "services", "extension-service", "request-response", "grpc")
    if grpc is None:
        return
    if port := grpc.number("ssl", "port"):
        put("management/gnmi_port", *port)
    if certificate := grpc.value("ssl", "local-certificate"):
        put("platform/gnmi/certificate", *certificate)
    if line := grpc.flag("ssl", "use-pki"):
        put("platform/gnmi/pki", "true", line)
    if instance := grpc.value("routing-instance"):
        put("platform/gnmi/instance", *instance)


def _lldp(root: Node, put: Put) -> None:
    lldp = root.get("protocols", "lldp")
    if lldp is None:
        return
    if subtype := lldp.value("port-id-subtype"):
        put("platform/lldp/port_id", *subtype)
    if line := lldp.flag("interface", "all"):
        put("platform/lldp/ports", "all", line)
    interval = lldp.number("advertisement-interval") or (DEFAULT_LLDP_S, lldp.line)
    multiplier = lldp.number("hold-multiplier") or (DEFAULT_LLDP_MULTIPLIER, interval[1])
    put("lldp/interval_s", *interval)
    put("platform/lldp/hold_s", interval[0] * multiplier[0], multiplier[1])
    if delay := lldp.number("transmit-delay"):
        put("platform/lldp/delay_s", *delay)
