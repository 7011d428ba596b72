"""Lines of NX-OS without effect on forwarding or losslessness: accounts, clocks, logs, CPU protection."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import VerbatimText, exec_lines, exec_pattern
from fabricc.back.nos.nxos.words import split_beginnings
from fabricc.back.reading import Block, Document, Reader, Row, Silent, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.facts import Reading

_BELOW: Sequence[Row] = (Block("<rest>", "", (Block("<rest>", "", (Silent("<rest>"),)),)),)
"""All that is below such a line."""


def _whole_blocks(beginning: str) -> tuple[Row, ...]:
    """Return lines that begin so, with all that is below them."""
    return Block(f"{beginning} [<rest>]", "", _BELOW), Silent(f"no {beginning} [<rest>]")


_BEGINNINGS = split_beginnings("""
    aaa, banner, boot, callhome, cdp, cfs, class-map type control-plane, cli, clock, config sync, control-plane,
    copp, crypto, diagnostic, eem, event, fips, flow, gold, grpc, guestshell, hostname-format, icam, ip
    access-list match-local-traffic, ip domain-list, ip domain-lookup, ip domain-name, ip dns, ip ftp, ip host,
    ip http, ip icmp-errors, ip name-server, ip radius, ip scp, ip source, ip ssh, ip tacacs, ip telnet, ip
    tftp, ip sla, ipv6 host, ipv6 name-server, itd, kerberos, key chain, key config-key, license, line, lldp,
    locator-led, logging, logrotate, management, mgmt-policy, monitor, no-logging, ntp, nxapi, nxsdk, ngoam,
    onep, openflow, password, platform, policy-map type control-plane, poweroff, power, privilege, ptp, radius,
    radius-server, resequence, rmon, role, sampler, scheduler, service exclude-bootconfig, service
    unsupported-transceiver, sflow, show, smart-licensing, snmp, snmp-server, ssh, ssl, system admin-vdc, system
    cores, system core, system heartbeat, system hap-reset, system switchover, system trace, tacacs-server,
    tacacs, telemetry, telnet, terminal, time-range, user, username, userpassphrase, vdc, virtual-service,
    watchdog, xml, yang, slot, hw-module, install, username-policy, no-service, reload, catena, nxdb,
    tap-aggregation, analytics, ip rcmd, hardware-clock, cts, dot1x, mac-list-mgmt
""")  # fmt: skip
_OF_PORTS = split_beginnings("""
    cdp, logging, snmp, load-interval, beacon, link-status, ptp, sflow, ip flow, ipv6 flow, flow, packet
    latency, cts, dot1x, counter, rmon, lldp receive, lldp transmit, lldp tlv, vtp, service-policy type
    control-plane, itd, history, inherit port-profile, ip telemetry, ttag, ttag-strip, logging event, ip
    access-group match-local-traffic, l2protocol, locator-led, mgmt
""")  # fmt: skip
_BANNER = re.compile(r"^banner \w+ (\S)(?!.*\1)", re.MULTILINE)


class BannerReader(Reader):
    """Reader of a banner's text, which it ignores up to the delimiter."""

    def read_file(self, file: str, text: str, reading: Reading) -> Document:
        """Read the lines of a file; see `Reader.read_file`."""
        lines = text.split("\n")
        mark = ""
        for number, line in enumerate(lines):
            if mark:
                mark = "" if mark in line else mark
                lines[number] = ""
            elif opened := _BANNER.match(line):
                mark = opened[1]
        return super().read_file(file, "\n".join(lines), reading)


TOPIC = Topic((
    *(row for beginning in _BEGINNINGS for row in _whole_blocks(beginning)),
    Block("interface <rest>", "", tuple(row for beginning in _OF_PORTS for row in _whole_blocks(beginning))),
))  # fmt: skip
_TYPED = exec_pattern(
    "rel~oad wr~ite cop~y sh~ow conf~igure del~ete era~se cle~ar roll~back checkp~oint abor~t logou~t run bash do"
    " who pwd cd dir tail pin~g tracer~oute rena~me mkd~ir rmd~ir attach tcpd~ump move commit tcl~sh pyth~on python3"
    " guestsh~ell",
    "en~able dis~able end comm~it",
    r"exi?t? .+|(?:format \S+:|system switchover|install (?:all|activate|add|commit|deactivate|remove|reset)"
    r"|term\w* (?:len|wid|mon|no\b|dont-ask)) ?.*",
)
"""Lines that a person types at a prompt."""
_JOB = re.compile(r"scheduler job name .*")
EXEC_LINES = partial(
    exec_lines,
    words=_TYPED,
    verbatim_texts=(VerbatimText(re.compile(r"banner \w+ (\S)(?!.*\1).*")), VerbatimText(_JOB, "end-job")),
)
COMMANDS = re.compile(
    r"(?:event manager|cli alias|scheduler|python|guestshell|run|virtual-service|app-hosting|terminal event)\b"
)
"""Beginnings of lines and blocks by which a switch runs a command, at an event, at a time or under another name."""
REFUSED = (
    (r"neighbor \S+ (?:activate|route-map|prefix-list|send-community|next-hop-self|update-source|ebgp-multihop|password"
     r"|peer-group|soft-reconfiguration|route-reflector-client|allowas-in)\b.*",
     "settings of a neighbor are on lines below `neighbor`"),
    (r"(?:remote as|remote-asn|peer-as) \S+", "the number of a neighbor is its `remote-as`"),
    (r"bgp (?:router-id|bestpath|log-neighbor-changes|graceful-restart) ?.*", "`router bgp` has it without `bgp`"),
    (r"address-family (?!(?:ipv4|ipv6|l2vpn|vpnv4|vpnv6|link-state)\b)\S+.*", "the system has no such family"),
    (r"ip prefix-list .* \d+(?:\.\d+){3} \d+(?:\.\d+){3}(?: .*)?", "a prefix needs its length, as in `/24`"),
    (r"pause (?:no-drop )?(?:cos|dscp|priority) .*", "a class pauses by `pause pfc-cos`"),
    (r"(?:service-policy|policy-map) (?:network-qos|queuing) .*", "a policy of this kind needs the word `type`"),
    (r"class type (?:queuing c-(?!(?:in|out)-(?:[48]q-)?q(?:\d|-default)$)"
     r"|network-qos c-(?!(?:[48]q-)?nq(?:\d|-default)$))\S+", "the system has no such class"),
    (r"(?:set (?:system|interfaces|protocols|policy-options|routing-options)|nv set|vrf instance|frr) .*",
     "it is one of another system"),
)  # fmt: skip
"""Lines that NX-OS refuses, and why (Cisco Nexus 9000: Unicast Routing, Quality of Service, and Security guides)."""
