"""Find settings of one switch by which unwanted people log in, and services that it lacks.

A service is missing if others have it, or if a complete configuration would state it.
"""

from __future__ import annotations

import re
from collections import Counter
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos import defaults, service_defaults
from fabricc.back.nos.harmful_settings import guard_of_port_alone
from fabricc.back.nos.management import services_of_fabric, services_without_list
from fabricc.back.nos.packet_filters import accepts_everything
from fabricc.back.nos.ports import PortKind
from fabricc.back.nos.unread_lines import undefined_list
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, outer_key, path_pattern
from fabricc.facts.statement import Tier
from fabricc.proof.compare import Finding
from fabricc.proof.invariants.prefixes import parse_block
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import ADDRESSES, OTHER, POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import is_address
from fabricc.rules.summary import ACCESS, BESIDE, COMMON, NAMES, SERVICES, stray_servers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.rules.records import Summary
    from fabricc.rules.sessions import Sessions

OPEN, UNSAFE, ISOLATED, UNDEFINED = "FAB9671", "FAB9672", "FAB6206", "FAB9605"
_ACCESS = path_pattern("management/access(?:[_])?|access[_]")
_EVERYONE = re.compile(r"\b(?:any|everyone else)\b|(?<![\d.:a-f])(?:0\.0\.0\.0|::)/0")
_HALF = re.compile(
    r"(?<![\d.:a-f])(?:\d+\.){3}\d+/[1-7](?!\d)|(?<![\da-f:])(?!f[c-f])[\da-f:]+::/(?:[1-9]|1[0-5])(?!\d)"
)
"""A network larger than any that one owner has, and not one of local addresses (RFC 4193, RFC 4291)."""
_TELNET = ("management/telnet", "system/feature[telnet]")
_COMMUNITIES = ("public", "private")
_SNMP = re.compile(r"management/snmp/(secret|community\[.*)|snmp/.*community.*")
_VTY = path_pattern("daemon[_]/vty_address")
_LOCAL = ("127.0.0.1", "::1")


def _open_access(statement: Statement, _: Sessions) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for path, value in statement.rest.items():
        found = _EVERYONE.search(str(value)) or _HALF.search(str(value)) if _ACCESS.fullmatch(path) else None
        if found is None:
            continue
        place = statement.lines.get(path, ("", 0))
        if place not in seen:
            seen.add(place)
            message = (
                f"{statement.name} lets everyone reach its management services ({str(value).strip(' ,')})"
            )
            remedy = "Permit the networks of the administrators only."
            rules = statement.facts_below("management/access_list[").items()
            entries = [rule for rule, text in rules if found[0] in str(text)]
            paths, word = (*entries, path), found[0]
            yield finding_at(
                OPEN, statement.device, paths, message, "open access", Severity.WARNING, remedy, word=word
            )
    for name in statement.facts_below("management/snmp/use-ip").values():
        listed = statement.facts_below(f"management/access_list[{name}]/") or statement.facts_below(
            f"access_list[{name}]/"
        )
        at = next((each for each, text in listed.items() if accepts_everything([str(text)])), "")
        if at and statement.lines.get(at) not in seen:
            message = f"{statement.name} lets everyone reach SNMP, by {name}"
            remedy = "Permit the networks of the administrators only."
            yield finding_at(OPEN, statement.device, at, message, "open access", Severity.WARNING, remedy)
    if statement.fars and (path := guard_of_port_alone(statement.facts_below)):
        message = (
            f"{statement.name} filters logins by its management port alone: from the fabric anyone may log in"
        )
        remedy = "Apply the filter to `lo0` too."
        yield finding_at(OPEN, statement.device, path, message, "open access", Severity.WARNING, remedy)
    if defaults.accepts_the_rest(statement.device.system, statement.rest):
        message = (
            f"{statement.name} permits some networks to reach its management services, and drops no others"
        )
        remedy = "Drop what the rule of the administrators does not accept."
        paths = ("management/access_else", ACCESS)
        yield finding_at(OPEN, statement.device, paths, message, "open access", Severity.WARNING, remedy)


def _open_services(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report services of management that answer everyone on a switch that limits SSH."""
    for path, service in services_without_list(statement.rest).items():
        message = f"{statement.name}: {service} answers everyone, whereas an access list guards SSH"
        remedy = "Permit the networks of the administrators on this service too."
        yield finding_at(OPEN, statement.device, path, message, "open access", Severity.WARNING, remedy)


def _unsafe_logins(statement: Statement, _: Sessions) -> Iterator[Finding]:
    for path, value in statement.rest.items():
        if path in _TELNET and value not in ("off", "false"):
            message = f"{statement.name} accepts Telnet, which sends passwords in the clear"
            yield _unsafe_finding(statement, path, message, "Telnet", "Disable Telnet and use SSH.")
        elif path.startswith("user[") and path.endswith("]/password") and value == "none":
            user = first_key(path)
            message = f"{statement.name}: the account {user} has no password"
            yield _unsafe_finding(
                statement, path, message, "no password", "Give the account a key or a password, or remove it."
            )
        elif value in _COMMUNITIES and _SNMP.fullmatch(path):
            message = f"{statement.name} answers SNMP with the community {value}, which everyone tries first"
            yield _unsafe_finding(
                statement,
                path,
                message,
                "SNMP community",
                "Use SNMPv3, or a community that cannot be guessed.",
            )
        elif opened := service_defaults.opens_logins(path, value):
            message = f"{statement.name} {opened}"
            yield _unsafe_finding(statement, path, message, "open login", "Require a password or a key.")
        elif _VTY.fullmatch(path) and value not in _LOCAL:
            message = f"{statement.name}: a daemon listens for Telnet at {value}, not on the loopback alone"
            yield _unsafe_finding(
                statement, path, message, "Telnet", "Configure the daemons to listen on 127.0.0.1 only."
            )


def _unsafe_lines(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report lines that no row reads and that let people log in or query without a secret."""
    for file, line, text in statement.device.unknown:
        found = service_defaults.unsafe_line(text)
        if found and not (found.kind == "logins" and "management/vty/access-class" in statement.rest):
            place = statement.device.paths.get(file, file)
            message = f"{statement.name} {found.words}"
            remedy = "Remove it, or use SSH, HTTPS, SNMPv3 and a secret that cannot be guessed."
            yield Finding(UNSAFE, message, place, line, found.kind, Severity.WARNING, remedy)


def _unsafe_finding(statement: Statement, path: str, message: str, group: str, remedy: str) -> Finding:
    return finding_at(UNSAFE, statement.device, path, message, group, Severity.WARNING, remedy)


def _not_isolated(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that routes lead from the fabric's ports to the management network (invariant 6)."""
    path = "management/isolated"
    inner = str(statement.rest.get("management/address", "")).startswith(
        "169.254."
    )  # a virtual switch's engine
    if _is_joined(statement) and statement.rest.get(path) == "false" and not inner:
        message = (
            f"{statement.name} routes between the fabric and the management network: any host reaches it"
        )
        remedy = "Put the management port into a routing instance of its own."
        yield finding_at(
            ISOLATED, statement.device, path, message, "management isolation", Severity.WARNING, remedy
        )


def _is_joined(statement: Statement) -> bool:
    return bool(statement.fars) or not all(is_address(key[1]) for key in statement.sessions)


def _open_to_fabric(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report services of management that answer in the VRF of the fabric, where management has one of its own."""
    if statement.rest.get("management/isolated") != "true" or not _is_joined(statement):
        return
    for path, service in services_of_fabric(statement.rest).items():
        message = f"{statement.name}: {service} answers in the VRF of the fabric: any host reaches it"
        remedy = "Enable it in the VRF of the management port alone."
        yield finding_at(ISOLATED, statement.device, path, message, "open service", Severity.WARNING, remedy)


_PERMITTED = re.compile(r"permit match (?:.* )?route-filter (\S+)")


def _announced_management(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report prefixes of the management network, which other lines separate, that a switch announces to the fabric."""
    if statement.rest.get("management/isolated") != "true":
        return
    try:
        network = ip_interface(str(statement.rest.get("management/address", ""))).network
    except ValueError:
        return
    maps = {str(values.get("export")) for values in statement.sessions.values()}
    maps.add(str(statement.rest.get("bgp/redistribute_connected")))
    lists = {
        word
        for path, value in statement.facts_below("route_map[").items()
        if first_key(path) in maps
        for word in str(value).split()
    }
    stated = {path: first_key(path) for path in statement.facts_below("bgp/network[")}
    stated |= {
        path: match[1]
        for path, value in statement.facts_below("route_map[").items()
        if first_key(path) in maps and (match := _PERMITTED.match(str(value)))
    }
    stated |= {
        path: str(value).partition(" ")[0]
        for path, value in statement.facts_below("prefix_list[").items()
        if first_key(path) in lists
    }
    whole = parse_block(str(network))
    inside = (parse_block(text) for texts in statement.addresses.values() for text in texts)
    if whole is None or any(each and whole.covers(each) for each in inside):
        return  # which is in-band
    for path, prefix in stated.items():
        mine = parse_block(prefix)
        if mine is not None and whole.covers(mine):
            message = f"{statement.name} announces {prefix}, a part of the management network, to the fabric"
            remedy = "Leave the management network out of BGP."
            group = "management announced"
            yield finding_at(
                ISOLATED, statement.device, path, message, group, Severity.WARNING, remedy, word=prefix
            )
            return


MISSING = "FAB9674"
_FIRST = ("management/ntp",)
"""Services that a switch needs which has another one: without them the times in its log are wrong."""


def _undiscovered(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report that LLDP is off on a switch with links: nothing shows where its cables lead."""
    path = service_defaults.fact_without_lldp(statement.rest)
    complete = any(each.startswith(BESIDE) for each in statement.rest)
    if (
        not path
        and complete
        and service_defaults.lacks_lldp(statement.device.system, statement.device.reading)
    ):
        path = "system/hostname"
    if path and statement.fars:
        message = f"{statement.name} runs no LLDP: nothing shows whether its cables are where they should be"
        yield finding_at(
            MISSING, statement.device, path, message, "no LLDP", Severity.WARNING, "Enable LLDP."
        )


def _hidden_links(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report links to known switches on which LLDP is off."""
    links = [port for port, far in statement.fars.items() if far.known and far.tier is not Tier.HOST]
    stated = {
        port: f"{PORT}{port}]/{leaf}"
        for port in links
        if (leaf := service_defaults.port_fact_without_lldp(statement.ports.get(port, {})))
    }
    lines = {
        port: (file, line)
        for file, line, text in statement.device.unknown
        if (port := service_defaults.port_without_lldp(text)) in links
    }
    message = (
        f"{statement.name} {join_words([*stated, *lines], 2)}: no LLDP: nothing shows where the cable leads"
    )
    remedy, group = "Enable LLDP on the links between switches.", "no LLDP"
    for path in [*stated.values()][:1]:
        yield finding_at(MISSING, statement.device, path, message, group, Severity.WARNING, remedy)
    for file, line in [*lines.values()][:1]:
        place = statement.device.paths.get(file, file)
        yield Finding(MISSING, message, place, line, group, Severity.WARNING, remedy)


def _lost_servers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report servers that a switch looks for in a routing instance which it does not have."""
    if not statement.fars and not any(True for _ in statement.open_ports()):
        return  # an excerpt does not show which routing instances there are
    for file, line, text in statement.device.unknown:
        found = service_defaults.server_instance(text)
        if found and not has_instance(statement, found[1]):
            place = statement.device.paths.get(file, file)
            message = f"{statement.name}: {found[0]} in the VRF {found[1]}, which the switch does not have"
            remedy = "Name the routing instance that leads to the server."
            yield Finding(MISSING, message, place, line, "server VRF", Severity.WARNING, remedy)


_INSTANCES = ("vrf[{}]", "evpn/vrf[{}]/")


def has_instance(statement: Statement, name: str) -> bool:
    """Return whether a switch mentions a routing instance besides its servers."""
    if name in service_defaults.built_in_instances(statement.rest) or any(
        str(values.get("vrf")) == name for values in statement.ports.values()
    ):
        return True
    starts = tuple(each.format(name) for each in _INSTANCES)
    return any(path.startswith(starts) or value == name for path, value in statement.rest.items())


_IMPORTED = re.compile(r"ipv[46] import vrf (?!route-map\b)(\S+)")


def _undefined_instances(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report routing instances from which routes are imported: those that are not there, and that of management."""
    for path in statement.facts_below("bgp/setting["):
        match = _IMPORTED.fullmatch(outer_key(path))
        if match and not has_instance(statement, match[1]):
            message = f"{statement.name} imports routes of the VRF {match[1]}, which the switch does not have"
            remedy = "Create the VRF, or remove the import."
            yield finding_at(
                UNDEFINED, statement.device, path, message, "undefined VRF", Severity.WARNING, remedy
            )
        elif match and statement.parse_name(match[1]).kind is PortKind.MANAGEMENT:
            message = f"{statement.name} takes the routes of the management VRF {match[1]} into the fabric"
            remedy, group = "Remove the import, so that no host finds a way there.", "management route"
            yield finding_at(ISOLATED, statement.device, path, message, group, Severity.WARNING, remedy)


def _undefined_guards(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report access lists in front of management services that a switch does not define."""
    for file, line, text in statement.device.unknown:
        name = undefined_list(text, statement.device.files)
        if name and not statement.facts_below(f"access_list[{name}]"):
            message = f"{statement.name} uses the access list {name}, which is nowhere defined"
            place = statement.device.paths.get(file, file)
            yield Finding(
                UNDEFINED,
                message,
                place,
                line,
                "undefined access list",
                Severity.WARNING,
                "Define it, or remove the reference.",
            )


def _missing_services(fabric: Switches) -> Iterator[Report]:
    """Report a service that most switches have and some lack, or that none has although others are configured.

    Management without a list is a note, but for a switch with a list that no port uses, and beside a tier with lists.
    """
    switches = fabric.summaries
    tiers: dict[Tier, list[bool]] = {}
    for summary in switches.values():
        tiers.setdefault(summary.tier, []).append(ACCESS in summary.services)
    limited = any(all(found) and len(found) > 1 for found in tiers.values())
    counts = Counter(path for summary in switches.values() for path in summary.services)
    for path, service in SERVICES.items():
        if counts[path] == len(switches):
            continue
        most = counts[path] * 2 > len(switches)
        for name, summary in switches.items():
            alone = not counts[path]
            expected = most or (not fabric.planned and _is_expected(summary, path, alone=alone))
            if path in summary.services or not expected:
                continue
            others = f", which {counts[path]:,} of {len(switches):,} switches have" if most else ""
            unbound = [summary.unbound] if path == ACCESS and summary.unbound else []
            around = (*summary.services, *summary.beside, "management/address", "system/hostname")
            code = OPEN if path == ACCESS else MISSING
            noted = path == ACCESS and not (most or unbound or limited)
            severity = Severity.NOTE if noted else Severity.WARNING
            message, remedy = f"{name} has no {service}{others}", f"Configure the {service}."
            yield Report(code, name, (path, *unbound, *around), message, f"no {service}", severity, remedy)


_COMMON = 3
"""How many times as many switches must have a setting as lack it, and at least, before one without is reported."""


def _lacking_switches(fabric: Switches) -> Iterator[Report]:
    """Report ToRs and spines without LLDP, or an instance or address of management, that nearly all of a system have.

    One that lacks all that the others have in common is of another kind, such as a gateway; what all of several
    switches of a tier lack is their design.
    """
    groups: dict[str, list[str]] = {}
    for name, summary in fabric.summaries.items():
        if summary.tier in (Tier.TOR, Tier.SPINE) and not fabric.planned:
            groups.setdefault(summary.system, []).append(name)
    for names in groups.values():
        counts = Counter(path for name in names for path in fabric.summaries[name].common)
        both = sum(times > 1 for times in counts.values())
        twins = len(names) == 1 + 1 and both > _COMMON and len(counts) == both + 1
        shared = {
            path for path, times in counts.items() if twins or times >= _COMMON * max(len(names) - times, 1)
        }
        for name in sorted(names):
            lost = shared - set(fabric.summaries[name].common)
            if len(lost) == len(shared) > 1:
                continue
            peers = [fabric.summaries[each] for each in names if each != name]
            peers = [each for each in peers if each.tier is fabric.summaries[name].tier]
            for path in sorted(lost):
                if peers and not any(path in each.common for each in peers):
                    continue
                what, remedy = COMMON[path]
                others = f"{counts[path]:,} of {len(names):,} switches"
                message = f"{name} has no {what}, which {others} of its system have"
                paths, group = (path, "system/hostname"), f"no {what}"
                yield Report(MISSING, name, paths, message, group, Severity.WARNING, remedy)


_CLOCK = "management/ntp"


def _is_expected(summary: Summary, path: str, *, alone: bool) -> bool:
    """Return whether a switch states what a complete configuration states with a service."""
    if path == ACCESS:
        return bool(summary.services)
    named = alone and path == _CLOCK and bool(summary.beside)  # logs need the time
    beside = any(not each.startswith(NAMES) for each in summary.beside)
    return named or beside or (bool(summary.services) and path in _FIRST)


_SYSLOG = "management/syslog"
_SERVERS = {"management/ntp": "NTP server", _SYSLOG: "log server"}
_ITSELF = re.compile(r"127\.\S+|::1|0\.0\.0\.0|::")


def _own_servers(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report services whose only server is the switch itself, and logins that only the switch may use."""
    for path, service in _SERVERS.items():
        servers = re.split(r"[\s,]+", str(statement.rest.get(path, "")))
        agent = (
            path == _SYSLOG
            and any(map(_ITSELF.fullmatch, servers))
            and not service_defaults.is_log_sender(statement.device.system)
        )  # it may forward the logs
        own = all(_ITSELF.fullmatch(each) or each in sessions.addresses for each in servers)
        if servers != [""] and own and not agent:
            message = f"{statement.name}: its {service} {servers[0]} is the switch itself"
            remedy = f"Name a {service} outside of the switch."
            yield finding_at(
                MISSING, statement.device, path, message, f"own {service}", Severity.WARNING, remedy
            )
    permitted = [each for each in re.split(r"[\s,]+", str(statement.rest.get(ACCESS, ""))) if each]
    inner = [each for each in permitted if _ITSELF.fullmatch(each.removesuffix("/32").removesuffix("/128"))]
    if permitted and permitted == inner:
        message = (
            f"{statement.name}: the access list for login permits {permitted[0]} alone, the switch itself"
        )
        remedy = "Permit the networks of the administrators."
        yield finding_at(
            MISSING,
            statement.device,
            ACCESS,
            message,
            "closed access",
            Severity.WARNING,
            remedy,
            word=permitted[0],
        )


def _stray_servers(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report servers outside of the routing instance of management, which alone leads to them."""
    for each in stray_servers(statement, sessions):
        service = _SERVERS[each.path]
        outside = "is not in the VRF of management, and no route leads there"
        message = f"{statement.name}: the {service} {each.address} {outside}"
        place = statement.device.paths.get(each.file, each.file)
        remedy = f"Name the VRF of management on the line of the {service}."
        yield Finding(MISSING, message, place, each.line, "server VRF", Severity.WARNING, remedy)


RULES = (
    SwitchRule(UNDEFINED, POLICY, (Input.BGP,), _undefined_instances),
    SwitchRule(UNDEFINED, OTHER, (), _undefined_guards),
    SwitchRule(MISSING, OTHER, (), _stray_servers),
    SwitchRule(MISSING, OTHER, (), _own_servers),
    SwitchRule(OPEN, OTHER, (), _open_access),
    SwitchRule(OPEN, OTHER, (), _open_services),
    SwitchRule(UNSAFE, OTHER, (), _unsafe_logins),
    SwitchRule(UNSAFE, OTHER, (), _unsafe_lines),
    SwitchRule(ISOLATED, ADDRESSES, (Input.LINKS,), _not_isolated),
    SwitchRule(ISOLATED, ADDRESSES, (Input.LINKS,), _open_to_fabric),
    SwitchRule(ISOLATED, POLICY, (Input.BGP,), _announced_management),
    SwitchRule(MISSING, OTHER, (Input.LINKS,), _undiscovered),
    SwitchRule(MISSING, OTHER, (Input.LINKS,), _hidden_links),
    SwitchRule(MISSING, OTHER, (), _lost_servers),
    FabricRule(MISSING, OTHER, (), _missing_services),
    FabricRule(MISSING, OTHER, (), _lacking_switches),
)
