"""Find management ports, servers, logins and logs by which a switch cannot be managed."""

from __future__ import annotations

import re
from functools import partial
from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, harmful_settings, management, service_defaults
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, path_pattern
from fabricc.facts.statement import Statement
from fabricc.proof.compare import Finding
from fabricc.rules.access import ISOLATED, MISSING, UNDEFINED
from fabricc.rules.findings import finding_at, line_of
from fabricc.rules.next_hops import NEXT_HOP
from fabricc.rules.rule import (
    ADDRESSES,
    OTHER,
    SwitchRule,
)
from fabricc.rules.summary import SERVICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions


_ADDRESS, _GATEWAY = "management/address", "management/gateway"


_SOURCES = ("management/source[", "management/ntp_source", "management/rule")
"""Statements about the management port, without which it may be another one."""


_SMALL, _IPV4 = 30, 4
"""A subnet without room for more than one other device is hardly that of a management network."""


_LOG = "management/syslog"
_SERVERS = {"management/ntp": "NTP server", _LOG: "log server"}


def _source_paths(path: str) -> tuple[str, str]:
    """Return the facts that name the source interface of a service."""
    return f"{path}_source", f"management/source[{path.rpartition('/')[2]}]"


def _lost_management(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a gateway in no subnet of the management port, and servers that nothing leads to.

    Servers are followed where management has a routing instance of its own, which no route of the fabric enters.
    """
    if statement.rest.get("management/enabled") == "false" and _ADDRESS in statement.rest:
        message, remedy = f"{statement.name}: the management port is shut", "Enable the management port."
        path = "management/enabled"
        yield finding_at(MISSING, statement.device, path, message, "shut port", Severity.WARNING, remedy)
    sources = any(statement.facts_below(each) for each in _SOURCES)
    for path, service in _SERVERS.items():
        source = next((each for each in _source_paths(path) if each in statement.rest), "")
        named = (service_defaults.server_of_fabric(text) for *_, text in statement.device.unknown)
        reported = path == "management/ntp" and not statement.rest.keys().isdisjoint(SERVICES)
        lost = path not in statement.rest and not any(found and found[0] == path for found in named)
        if source and lost and not reported:
            message = f"{statement.name} names a port for its {service}, and no {service}"
            remedy = f"Configure the {service}."
            yield finding_at(
                MISSING, statement.device, source, message, f"no {service}", Severity.WARNING, remedy
            )
    gateway = str(statement.rest.get(_GATEWAY, ""))
    if gateway and _ADDRESS not in statement.rest and (sources or _ADDRESS in statement.device.reading.lines):
        message = f"{statement.name}: management has a gateway, and its port has no address"
        remedy = "Set the address of the management port."
        yield finding_at(MISSING, statement.device, _GATEWAY, message, "no address", Severity.WARNING, remedy)
    try:
        subnet = ip_interface(str(statement.rest.get(_ADDRESS, ""))).network
    except ValueError:
        return
    if gateway:
        try:
            address = ip_address(gateway)
            outside = address not in subnet or (subnet.num_addresses > _PAIR and address == subnet[0])
        except ValueError:
            return
        if outside and address.version == subnet.version and subnet.prefixlen < subnet.max_prefixlen:
            message = f"{statement.name}: the gateway of management {gateway} is no host of {subnet}"
            remedy = "Name a gateway in the subnet of the management port."
            small = subnet.prefixlen >= _SMALL and subnet.version == _IPV4
            paths = (_ADDRESS, _GATEWAY) if small else (_GATEWAY, _ADDRESS)
            yield finding_at(NEXT_HOP, statement.device, paths, message, "gateway", Severity.WARNING, remedy)
        return
    if statement.rest.get("management/isolated") != "true":
        return
    for path, service in _SERVERS.items():
        for text in re.split(r"[\s,]+", str(statement.rest.get(path, ""))):
            if _is_outside(text, subnet):
                message = f"{statement.name}: no route of management leads to the {service} {text}"
                remedy = "Configure a gateway for management."
                yield finding_at(
                    MISSING,
                    statement.device,
                    (*_misplaced_defaults(statement, subnet), _ADDRESS, path),
                    message,
                    "no gateway",
                    Severity.WARNING,
                    remedy,
                )
                return


def _joined_management(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a port of the fabric in whose subnet the VRF of management, which has no port, has its gateway."""
    for path, via in statement.facts_below("vrf[").items():
        name = first_key(path)
        if "]/static_route[" not in path or statement.parse_name(name).kind is not PortKind.MANAGEMENT:
            continue
        owners = {port: statement.of(port, "vrf") for port in statement.addresses}
        if name in owners.values():
            return
        for port, texts in statement.addresses.items():
            within = any(
                "/" in each and not _is_outside(str(via), ip_interface(each).network) for each in texts
            )
            if within and owners[port] is None:
                message = f"{statement.name} {port}: in the VRF of the fabric, and the gateway of {name} is behind it"
                remedy = "Put the management port into its VRF."
                leaf = f"{PORT}{port}]/ipv{6 if ':' in str(via) else 4}"
                group = "management isolation"
                word = f"interface {port}"
                yield finding_at(
                    ISOLATED, statement.device, leaf, message, group, Severity.WARNING, remedy, word=word
                )
                return


def _misplaced_defaults(statement: Statement, subnet: object) -> list[str]:
    """Return the default routes of the fabric whose gateway is in the subnet of the management port."""
    found = {
        **statement.facts_below("static_route[0.0.0.0/0]"),
        **{path: via for path, via in statement.facts_below("vrf[").items() if "/static_route[" in path},
    }
    return [path for path, via in found.items() if "." in str(via) and not _is_outside(str(via), subnet)]


def _is_outside(text: str, subnet: object) -> bool:
    """Return whether an address is in no subnet of one family."""
    try:
        address = ip_address(text)
        network = ip_network(str(subnet))
    except ValueError:
        return False
    return address.version == network.version and address not in network


_PAIR = 2


_ACCESS = path_pattern("management/access(?:[_])?")


def _closed_access(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report services of management whose access list permits nobody, or is nowhere defined."""
    for path, value in statement.facts_below("management/access").items():
        if value == "" and _ACCESS.fullmatch(path):
            service = first_key(path) or "login"
            message = f"{statement.name}: the access list for {service} permits nobody, or is not defined"
            remedy = "Permit the networks of the administrators."
            device, group = statement.device, "closed access"
            opens = not line_of(device, path).startswith(" ")  # the list, whose rule is on a line below
            word = "deny" if opens else ""
            yield finding_at(MISSING, device, path, message, group, Severity.WARNING, remedy, word=word)
            return


_SSH = "management/ssh"


_SSH_FEATURE = "system/feature[ssh]"


def _without_login(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that SSH is shut in the default VRF and enabled in no other one, or that NETCONF alone is stated."""
    message, remedy = "", "Enable SSH in the VRF of the management port."
    unread = (text for _, _, text in statement.device.unknown)
    if statement.rest.get(f"{_SSH}[default]") == "off" and _SSH not in statement.rest:
        message = f"{statement.name} shuts SSH in every VRF, so nobody logs in with it"
    elif statement.rest.get(_SSH_FEATURE) == "off":
        message, path = f"{statement.name} has SSH off, so nobody logs in with it", _SSH_FEATURE
    elif path := management.path_without_login(statement.rest, unread):
        message = f"{statement.name} enables NETCONF and no SSH, so nobody logs in"
    if message:
        paths = [*statement.facts_below(f"{_SSH}[")][::-1] or path
        yield finding_at(MISSING, statement.device, paths, message, "no login", Severity.WARNING, remedy)


_AAA = "management/aaa/a"
"""Begins the statements about authentication, authorization and accounting."""


def _unasked_servers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report logins that servers account for, or authorize, and do not authenticate."""
    stated = statement.facts_below(_AAA)
    if stated and not any("authentication login" in path for path in stated):
        message = (
            f"{statement.name} accounts for logins by its servers, and asks none of them for the password"
        )
        remedy = "Authenticate logins by the servers."
        path = next(iter(stated))
        yield finding_at(MISSING, statement.device, path, message, "no AAA", Severity.WARNING, remedy)


_LARGEST, _ALONE = 8, 32
"""Lengths of the largest network of management, and of a port that reaches no gateway by itself."""


def _odd_management(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report a prefix length that no management port has, and services that send from a port which is not there."""
    device, facts = statement.device, statement.rest
    text = str(facts.get("management/address", ""))
    length = text.partition("/")[2]
    alone = length == str(_ALONE) and defaults.names_sources(device.system)
    if ":" not in text and is_number(length) and (int(length) < _LARGEST or alone):
        what = "reaches no gateway" if alone else "takes addresses elsewhere for its neighbors"
        message = f"{device.name}: the management address {text} has the wrong length, so the switch {what}"
        remedy = "Set the length of the management network."
        yield finding_at(
            NEXT_HOP, device, "management/address", message, "management length", Severity.WARNING, remedy
        )
    if facts.get(_GATEWAY) == "discard":
        message = f"{device.name} drops all packets of management that leave its network"
        remedy = "Name the gateway of the management network."
        yield finding_at(NEXT_HOP, device, _GATEWAY, message, "management gateway", Severity.WARNING, remedy)
    sources = {
        **statement.facts_below("management/source["),
        **statement.facts_below("management/ntp_source"),
    }
    if not sources or not sessions.runs_bgp or not defaults.names_sources(device.system):
        return
    known = {each.lower() for each in (*statement.ports, str(facts.get("management/interface", "mgmt0")))}
    known |= {"loopback0"} if "loopback/ipv4" in facts else set()
    for path, value in sources.items():
        name = str(value).lower()
        if re.fullmatch(r"(?:loopback|vlan|ethernet|management)[\d/]+", name) and name not in known:
            message = f"{device.name} sends from {value} to a management server, and has no such port"
            remedy = "Name the management port, or a loopback with an address."
            yield finding_at(UNDEFINED, device, path, message, "lost source", Severity.WARNING, remedy)


def _quiet_logs(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report log servers that get no message of a failed link or session."""
    device = statement.device
    message = f"{statement.name}: its log server gets nothing, or only messages of the gravest levels"
    remedy, group = "Send messages from the level `notice` or `informational` on.", "quiet log"
    servers = not statement.rest.keys().isdisjoint((_LOG, harmful_settings.FRR_LOG))
    paths = (_LOG, harmful_settings.FRR_LOG, *statement.facts_below("platform/syslog["))
    for path in paths if servers else ():
        value = statement.rest.get(path, "")
        if harmful_settings.quiets_log(device.system, path, value, partial(line_of, device, path)):
            yield finding_at(MISSING, device, path, message, group, Severity.WARNING, remedy)
            return
    for file, line, text in device.unknown:
        if harmful_settings.quiets_all_logs(text, servers):
            place = device.paths.get(file, file)
            yield Finding(MISSING, message, place, line, group, Severity.WARNING, remedy)
            return


RULES = (
    SwitchRule(NEXT_HOP, ADDRESSES, (), _lost_management),
    SwitchRule(ISOLATED, ADDRESSES, (), _joined_management),
    SwitchRule(MISSING, OTHER, (), _closed_access),
    SwitchRule(MISSING, OTHER, (), _without_login),
    SwitchRule(UNDEFINED, OTHER, (), _odd_management),
    SwitchRule(MISSING, OTHER, (), _unasked_servers),
    SwitchRule(MISSING, OTHER, (), _quiet_logs),
)
