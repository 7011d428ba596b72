"""Statements of Junos without effect on forwarding or losslessness: accounts, logs, clocks, certificates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.reading import Block, Row, Silent, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence


_SYSTEM = (
    "accounting", "allow-v4mapped-packets", "announcement", "archival", "arp", "authentication-order",
    "auto-configuration", "auto-snapshot", "autoinstallation", "backup-router", "boot-loader-authentication",
    "building", "commit", "compress-configuration-files", "configuration", "configuration-database",
    "default-address-selection", "debugger-on-break", "debugger-on-panic", "diag-port-authentication",
    "domain-name", "domain-search", "dump-device", "dump-on-panic", "encrypt-configuration-files", "extensions",
    "fips", "health-monitor", "host-name", "icmpv4-rate-limit", "icmpv6-rate-limit", "inet6-backup-router",
    "internet-options", "kernel-replication", "license", "location", "login", "management-instance",
    "master-password", "max-cli-sessions", "max-configuration-rollbacks", "max-configurations-on-flash",
    "mirror-flash-on-disk", "name-server", "name-resolution", "no-compress-configuration-files",
    "no-hidden-commands", "no-multicast-echo", "no-ping-record-route", "no-ping-time-stamp", "no-redirects",
    "no-redirects-ipv6", "no-remote-trace", "no-saved-core-context", "node", "ntp", "partition", "password",
    "ports", "processes", "proxy", "radius-options", "radius-server", "regex-additive-logic",
    "root-authentication", "saved-core-context", "saved-core-files", "scripts", "security", "services",
    "static-host-mapping", "syslog", "tacplus-options", "tacplus-server", "time-zone", "tracing",
    "use-imported-time-zones",
)  # fmt: skip
_CHASSIS = (
    "dump-on-panic", "alarm", "auto-image-upgrade", "cluster", "config-button", "craft-lockout",
    "environment-monitor", "fru-poweron-sequence", "high-availability", "lcd", "lcd-menu", "pem", "psu",
    "redundancy", "routing-engine", "satellite-management", "system-domains", "usb", "disk-partition", "power",
)  # fmt: skip
_SECTIONS = (
    "version", "snmp", "security", "event-options", "accounting-options", "applications", "access", "smtp",
    "wlan", "poe", "virtual-chassis", "jsrc", "system", "services", "diameter", "session-limit-group",
    "unified-edge", "tenants",
)  # fmt: skip
_PROTOCOLS = (
    "lldp", "lldp-med", "sflow", "dot1x", "dcbx", "oam", "ptp", "l2-learning", "clock-synchronization",
    "neighbor-discovery", "protection-group", "layer2-control", "uplink-failure-detection", "router-discovery",
    "network-isolation",
)  # fmt: skip
_FORWARDING = (
    "sampling", "port-mirroring", "analyzer", "accounting", "monitoring", "packet-capture", "next-hop-group",
)  # fmt: skip

ROWS: Sequence[Row] = (
    *(Silent(f"{word} [<below>]") for word in _SECTIONS if word != "system"),
    Block("system", "", [Silent(f"{word} [<below>]") for word in _SYSTEM]),
    Block("chassis", "", [Silent(f"{word} [<below>]") for word in _CHASSIS]),
    Block("protocols", "", [
        *(Silent(f"{word} [<below>]") for word in _PROTOCOLS),
        Silent("<word> traceoptions [<below>]"),
    ]),
    Block("forwarding-options", "", [
        Silent(f"{word} [<below>]")
        for word in _FORWARDING
    ]),
    Silent("vlans <word> description <word>"),
    Silent("routing-instances <word> vlans <word> description <word>"),
    Silent("firewall family <word> interface-specific"),
    Silent("(routing-options|policy-options) traceoptions [<below>]"),
    Block("interfaces", "", (Silent("traceoptions [<below>]"), Block("<word>", "", (
        Silent("(traps|no-traps)"), Silent("accounting-profile <word>"),
    )))),
)  # fmt: skip

TOPIC = Topic(ROWS)
COMMANDS = re.compile(
    r"(?:set |activate )?(?:groups \S+ )?(?:system )?(?:services )?"
    r"(?:event-options|scripts|extensions|extension-service|event-script)\b"
)
"""Beginnings of lines and blocks by which a switch runs a command, at an event, at a time or under another name."""
