"""Services of a switch with FRR: daemons, kernel settings, name, logs, servers, LLDP, logins, nftables' drop rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.frr import evpn
from fabricc.back.nos.frr.filters import state_filters, state_refusal
from fabricc.back.nos.frr.limits import RECOVERING_GROUPS, has
from fabricc.back.nos.frr.words import MANAGEMENT_INTERFACE
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Silent, StoredValue, Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch

LLDP_HOLD = 4  # announcements that may be lost until a neighbor forgets, IEEE 802.1AB msgTxHold
SSH_PORT = 22
LOG_LEVEL = "informational"  # of the frr.conf that the packages of Debian and of the FRR project come with
VTY_ADDRESS = "127.0.0.1"  # where daemons listen for vty sessions: on the switch itself
NETLINK_BYTES = 90_000_000  # what zebra's netlink socket holds of the kernel's messages
OPEN_FILES = 4096  # file descriptors that each daemon may hold
NEXT_HOP_GROUPS = {
    "no zebra nexthop kernel enable": "zebra/kernel_next_hop_groups",
    "no fpm use-next-hop-groups": "zebra/fpm_next_hop_groups",
}
"""Lines that keep zebra from naming next-hop groups to the kernel or over FPM, which it does by default -> the fact."""
_FPM, _KEEP = "fpm address ", "zebra nexthop-group keep "

_PACKAGE = "a package of the Debian installation (FAB5207)"
_HASH = "Linux hashes addresses, protocol and ports (FAB5208)"
DEPARTURES = (
    Departure("user[*]/*", LEFT_OUT, "accounts belong to the installation (FAB5204)"),
    Departure("management/tacacs/*", LEFT_OUT, _PACKAGE),
    Departure("management/radius/*", LEFT_OUT, _PACKAGE),
    Departure("management/ntp_key*", LEFT_OUT, _PACKAGE),
    Departure("management/banner", LEFT_OUT, _PACKAGE),
    Departure("management/snmp/*", LEFT_OUT, _PACKAGE),
    Departure("management/snmp_trap[*]/user", LEFT_OUT, _PACKAGE),
    Departure("management/gnmi_port", LEFT_OUT, _PACKAGE),
    Departure("load_balancing/*", LEFT_OUT, _HASH),
)


# --- what FRR on Linux makes of the Fabric's statements -----------------------------------------------


def next_hop_lines(switch: Switch) -> tuple[str, ...]:
    """Return the lines about next-hop groups for the switch's release.

    FRR 8.4 keeps a shrunken kernel next-hop group for good after a port flap, so they are disabled.
    """
    return () if has(switch, RECOVERING_GROUPS) else ("no zebra nexthop kernel enable",)


def list_daemons(switch: Switch) -> dict[str, str]:
    """Return the FRR daemons the switch starts besides zebra and staticd, which always run."""
    bfd = switch.bgp.bfd_interval_ms is not None
    return {"bgpd": "yes", "bfdd": "yes" if bfd else "no"}


def daemon_options(switch: Switch) -> dict[str, str]:
    """Return the options of each daemon."""
    texts = dict.fromkeys(("zebra", *list_daemons(switch), "staticd"), f"-A {VTY_ADDRESS}")
    texts["zebra"] += f" -s {NETLINK_BYTES}"
    return texts


def router_sysctls(switch: Switch) -> dict[str, int]:
    """Kernel settings of a router of many equal paths.

    The neighbor tables hold two entries per port and family at rest; the hard limit is sixteen times as many and
    at least 8192, because past it the kernel drops sessions' packets silently (Linux ip-sysctl, `gc_thresh3`).
    Sources are not filtered by the route back to them (`rp_filter`): while routes converge, a switch may carry a
    packet before it has learned the way to the packet's sender. Linux applies the greater of `all` and the interface's
    own value (ip-sysctl), and systemd's `50-default.conf`, which Debian 13 installs, writes 2 for each interface. The
    same pattern in a later file replaces that one (sysctl.d(5)).
    """
    settings = {
        "net.ipv4.ip_forward": 1,
        "net.ipv6.conf.all.forwarding": 1,
        "net.ipv4.fib_multipath_hash_policy": 1,
        "net.ipv6.fib_multipath_hash_policy": 1,
        "net.ipv4.conf.all.rp_filter": 0,
        "net.ipv4.conf.default.rp_filter": 0,
        "net.ipv4.conf.*.rp_filter": 0,
        "net.ipv4.conf.all.ignore_routes_with_linkdown": 1,
        "net.ipv4.conf.default.ignore_routes_with_linkdown": 1,
        "net.ipv6.conf.all.ignore_routes_with_linkdown": 1,
        "net.ipv6.conf.default.ignore_routes_with_linkdown": 1,
        "net.ipv6.conf.all.keep_addr_on_down": 1,
        "net.ipv6.conf.default.keep_addr_on_down": 1,
    }
    settings |= evpn.segment_sysctls(switch)
    hard = max(8192, 32 * len(switch.ports))
    for family in ("ipv4", "ipv6"):
        settings[f"net.{family}.neigh.default.gc_thresh1"] = hard // 4
        settings[f"net.{family}.neigh.default.gc_thresh2"] = hard // 2
        settings[f"net.{family}.neigh.default.gc_thresh3"] = hard
    return settings


OPTIONAL = {
    "resolv.conf": "dns",
    "timesyncd.conf": "ntp",
    "rsyslog.conf": "syslog",
    "nftables.conf": "access",
}
"""File -> the setting of the management network without which a switch does not have it."""


def optional_files(switch: Switch) -> dict[str, object]:
    """Return the files that a switch has only if it has these."""
    return {file: getattr(switch.management, setting) for file, setting in OPTIONAL.items()}


def services_view(switch: Switch) -> dict[str, object]:
    """Return what the templates of the services' files print."""
    management = switch.management
    return {
        "switch": switch,
        "management": management,
        "daemons": list_daemons(switch),
        "options": daemon_options(switch),
        "open_files": OPEN_FILES,
        "sysctls": router_sysctls(switch),
        "lldp_hold": LLDP_HOLD,
        "ssh_port": SSH_PORT,
        "collectors": [
            f"[{server}]" if ":" in server and not management.syslog_tls else server
            for server in management.syslog
        ],
    }


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add the daemons that run, the kernel's settings, and what happens to others who log in."""
    facts |= {f"daemon[{name}]": state for name, state in list_daemons(switch).items()}
    facts |= {f"daemon[{name}]/vty_address": VTY_ADDRESS for name in daemon_options(switch)}
    facts |= {f"kernel[{name}]": value for name, value in router_sysctls(switch).items()}
    facts["daemon[vtysh]"] = "yes"
    facts["daemon/open_files"] = OPEN_FILES
    facts["daemon[zebra]/netlink_bytes"] = NETLINK_BYTES
    facts["lldp/hold_intervals"] = LLDP_HOLD
    facts["lldp/port_id"] = "ifname"
    facts["structure/kernel_hostname"] = switch.name
    if switch.management.access:
        facts["management/access_else"] = "drop"


def state_router(facts: Facts, switch: Switch, head: Sequence[str]) -> None:
    """Add the facts of frr.conf's own settings, with these lines at its head."""
    facts["structure/frr_hostname"] = switch.name
    facts["log/syslog"] = LOG_LEVEL
    for line in head:
        if line in NEXT_HOP_GROUPS:
            facts[NEXT_HOP_GROUPS[line]] = "false"
        elif line.startswith(_FPM):
            facts["zebra/fpm_address"] = line.removeprefix(_FPM)
        elif line.startswith(_KEEP):
            facts["zebra/next_hop_groups_kept_s"] = int(line.removeprefix(_KEEP))


# --- and back -----------------------------------------------------------------------------------------

_STARTED = ("zebra", "bgpd", "bfdd", "staticd")
_LOGIN = f'iifname "{MANAGEMENT_INTERFACE}" tcp dport {SSH_PORT}'
_LOGIN_FRAME = (
    "table inet fabricc", "delete table inet fabricc", "table inet fabricc {", "chain input {",
    "type filter hook input priority filter; policy accept;", 'iifname "lo" accept', "}", "}",
)  # fmt: skip


def _daemon_name(text: str) -> str | None:
    return text if text.endswith("d") and text.isalnum() else None


def _other_options(text: str) -> str | None:
    """Return the options of a daemon that no switch here starts."""
    daemon, _, options = text.rpartition("_")
    return text if options == "options" and daemon not in _STARTED else None


def _daemon_facts(daemon: str, state: str) -> dict[str, str]:
    """Return the facts of running and requested daemons; other daemons have no facts."""
    stated = daemon in ("bgpd", "bfdd") or state == "yes"
    return {f"daemon[{daemon}]": state} if stated else {}


def _parse_collector(text: str) -> str | None:
    """Return the server of `@server:514`."""
    server = text.removeprefix("@").removesuffix(":514")
    return server.strip("[]") if f"@{server}:514" == text else None


def _parameter_parser(
    name: str, before: str = "", after: str = "", form: str = "[A-Za-z0-9.:-]+"
) -> Callable[[str], str | None]:
    """Return a parser of one parameter of an rsyslog action; None is the answer to any other word."""
    pattern = re.compile(rf'{re.escape(name)}="{re.escape(before)}({form}){re.escape(after)}"\)?')

    def parse(text: str) -> str | None:
        match = pattern.fullmatch(text)
        return match[1] if match else None

    return parse


def _parse_networks(words: tuple[str, ...]) -> str:
    return ",".join(sorted(word.strip(",") for word in words))


COMMANDS = {
    "frr.conf": re.compile(r"(?:log|banner motd) file\b|.*\b(?:match|on-rib-process) script\b"),
    "nftables.conf": re.compile(r"include\b|.*;\s*include\b"),
    "rsyslog.conf": re.compile(
        r".*(?:\^|omprog|ommail|module\(|include\()|\$(?:ActionExec|IncludeConfig|ModLoad)"
    ),
    "sysctl.conf": re.compile(r"[^=]*=\s*[|/]|kernel\.(?:core_pattern|modprobe|hotplug|poweroff_cmd)\b"),
}
"""Lines of the box's files by which it runs a command, writes a file that is named, or reads another one."""
TYPES = {
    "daemon": _daemon_name,
    "other options": _other_options,
    "collector": _parse_collector,
    "target": _parameter_parser("action(target"),
    "tls port": _parameter_parser("port", form="[1-9][0-9]{0,4}"),
    "ca file": _parameter_parser("StreamDriver.CAFile", "/etc/ssl/certs/", ".pem"),
}
_TLS_ACTION = (
    '<target> type="omfwd" <tls port> protocol="tcp" StreamDriver="gtls" StreamDriverMode="1" '
    'StreamDriverAuthMode="x509/certvalid" <ca file>'
)
"""An action of rsyslog that sends over TLS (rsyslog, omfwd; `StreamDriver.CAFile` since 8.2108)."""


def _finish_hostname(document: Document) -> None:
    """State the name, which a second file states too, and which file has it."""
    for leaf in ("frr_hostname", "kernel_hostname"):
        for name, (_, line) in document.scope.table(leaf).items():
            document.put_also("system/hostname", name, line)
            document.put(f"structure/{leaf}", name, line)


def _kernel_fact(name: str, value: int) -> dict[str, int]:
    """Return a setting of the kernel; names may have slashes in place of dots, and the reverse (sysctl.d(5))."""
    first = name.find("/")
    if first >= 0 and "." not in name[:first]:
        name = name.translate(_SWAPPED)
    return {f"kernel[{name.removeprefix('-')}]": value}


_SWAPPED = str.maketrans("/.", "./")


def place_missing(document: Document, path: str, stated: Mapping[Any, object]) -> None:
    """Place a service that a file does not state at the line that nothing reads, else at the first one."""
    if not stated:
        unread = [line for file, line, _ in document.reading.unknown if file == document.file]
        comments = [
            at
            for at, text in enumerate(document.text.split("\n"), 1)
            if text.startswith(("#NTP", "#*")) or (text.startswith("[") and text.strip() != "[Time]")
        ]
        document.reading.lines[path] = document.file, min([*unread, *comments], default=1)


def _finish_syslog(document: Document) -> None:
    """State the log servers, and of those over TLS the port and the certificate that verifies them."""
    over_tls = document.scope.table("syslog tls")
    place_missing(document, "management/syslog", over_tls or document.scope.table("syslog"))
    authorities: dict[Value, StoredValue] = {}
    document.put_set("management/syslog", {**document.scope.table("syslog"), **over_tls})
    for server, (stored, line) in over_tls.items():
        port, _, ca = str(stored).partition(" ")
        document.put(f"management/syslog_tls[{server}]/port", int(port), line)
        authorities[ca] = "", line
    document.put_set("management/syslog_ca", authorities)


def _finish_servers(document: Document) -> None:
    if document.file == "timesyncd.conf":
        place_missing(document, "management/ntp", document.scope.table("ntp"))
    for kind in ("dns", "ntp"):
        document.put_set(f"management/{kind}", document.scope.table(kind))


def _finish_login(document: Document) -> None:
    """State the networks that may log in over the management port, before everyone else is dropped on any."""
    values = document.scope.values
    document.put_kept("management/access_else", values, "drop")
    place_missing(document, "management/access", {} if "access" not in values else values)
    place_missing(document, "management/access_else", {} if "drop" not in values else values)
    if "access" in values:
        if values.get("drop", values["access"])[1] < values["access"][1]:
            document.reject(values["access"][1])
            document.put("management/access", "", values["drop"][1])
        else:
            document.put("management/access", *values["access"])
    state_filters(document)
    state_refusal(document)
    lines = [line.strip() for line in document.text.split("\n")]
    if [line for line in lines if line in _LOGIN_FRAME] != [*_LOGIN_FRAME]:
        document.reading.unknown.append((document.file, 1, "the chain of the login list is not whole"))


ROUTER = Topic((
    Entry("hostname <word>", "frr_hostname"),
    *(Fact(line, path, "false") for line, path in NEXT_HOP_GROUPS.items()),
    Fact(f"{_FPM}<word>", "zebra/fpm_address"),
    Fact(f"{_KEEP}<integer>", "zebra/next_hop_groups_kept_s"),
    Fact("log syslog <word>", "log/syslog"),
    Fact("no log syslog", "log/syslog", "off"),
    Fact("no log syslog <word>", "log/syslog", "off"),
    Fact("log facility <word>", "log/facility"),
    Silent("log (commands|record-priority|stdout|timestamp precision|unique-id) [<rest>]"),
    Silent("frr version [<rest>]"),
    Silent("service integrated-vtysh-config"),
    Silent("(ip|ipv6) forwarding"),
    Silent("line vty"),
    Silent("Building configuration..."),
    Silent("Current configuration:"),
    Silent("end"),
), _finish_hostname)  # fmt: skip
"""The lines of frr.conf that concern no protocol."""
LINES: Mapping[str, Topic] = {
    "hostname": Topic((Entry("<word>", "kernel_hostname"),), _finish_hostname),
    "resolv.conf": Topic((Entry("nameserver <word>", "dns"),), _finish_servers),
    "rsyslog.conf": Topic((
        Entry("*.* <collector>", "syslog"),
        Entry(f"*.* {_TLS_ACTION}", "syslog tls", "{1} {2}"),
    ), _finish_syslog),
    "lldpd.conf": Topic((
        Fact("configure lldp tx-interval <integer>", "lldp/interval_s"),
        Fact("configure lldp tx-hold <integer>", "lldp/hold_intervals"),
        Fact("configure lldp status disabled", "lldp/enabled", "false"),
        Fact("configure lldp portidsubtype <word>", "lldp/port_id"),
    )),
    "nftables.conf": Topic((
        Keep(f"{_LOGIN} ip saddr {{ <word>... }} accept", "access", _parse_networks),
        Keep(f"{_LOGIN} accept", "access", "0.0.0.0/0"),
        Keep(f"tcp dport {SSH_PORT} drop", "drop", "drop"),
        *map(Silent, sorted({*_LOGIN_FRAME})),
    ), _finish_login),
}  # fmt: skip
"""Files of lines by name."""
ASSIGNMENTS: Mapping[str, Topic] = {
    "daemons": Topic((
        Fact("<daemon> = <yes|no>", _daemon_facts),
        Fact("vtysh_enable = <yes|no>", "daemon[vtysh]"),
        Fact("zebra_options = -A <word> [-s <integer>]",
            {"daemon[zebra]/vty_address": "{0}", "daemon[zebra]/netlink_bytes": "{1}"}),
        *(Fact(f"{name}_options = -A <word>", f"daemon[{name}]/vty_address") for name in _STARTED[1:]),
        Silent("<other options> = [<rest>]"),
        Fact("MAX_FDS = <integer>", "daemon/open_files"),
    )),
    "sysctl.conf": Topic((Fact("<word> = <integer>", _kernel_fact),)),
    "timesyncd.conf": Topic((Block("Time", "", (Entry("NTP = <word>...", "ntp"),)),), _finish_servers),
}  # fmt: skip
"""Files of assignments by name."""
