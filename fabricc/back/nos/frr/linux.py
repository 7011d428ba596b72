"""The files around FRR with which a Debian box boots into the fabric: rendered and read back.

Each reader adds its facts to a `Reading` and lists the lines that it does not know.
"""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.reader import put_also
from fabricc.back.nos.isolation import state_isolation
from fabricc.back.nos.templating import environment
from fabricc.fabric.facts import boolean
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch

MANAGEMENT_INTERFACE = "eth0"
LLDP_HOLD = 4  # announcements that may be lost until a neighbour forgets, IEEE 802.1AB msgTxHold
SSH_PORT = 22
MANAGEMENT_TABLE = 100  # holds the management default route, for the switch's own traffic only
MANAGEMENT_RULE = 40000  # after the main (32766) and default (32767) tables
OWN_RULE, FABRIC_RULE = (
    1000,
    1001,
)  # before the main table, which has the management network as a connected route
MAIN_RULE = 32766  # the kernel's own rule for the main table, ip-rule(8)
_FORWARDING = ("management/ipv4_forwarding", "management/ipv6_forwarding")
_RULE = re.compile(r"\bip (-[46] )?(rule|route) (add|del|replace)\b")
_ACCEPT = rf'iifname "{MANAGEMENT_INTERFACE}" tcp dport {SSH_PORT} ip saddr {{ ([0-9./, ]+) }} accept'
_DROP = f"tcp dport {SSH_PORT} drop"
_NFTABLES_FRAME = (
    "table inet fabricc",
    "delete table inet fabricc",
    "table inet fabricc {",
    "chain input {",
    "type filter hook input priority filter; policy accept;",
    'iifname "lo" accept',
    "}",
    "}",
)
VTY_ADDRESS = "127.0.0.1"  # where daemons listen for vty sessions: on the switch itself
NETLINK_BYTES = 90_000_000  # what zebra's netlink socket holds of the kernel's messages
OPEN_FILES = 4096  # file descriptors that each daemon may hold
_STARTED = ("zebra", "bgpd", "bfdd", "staticd")
_OPTIONS = re.compile(r"-A (\S+)(?: -s (\d{1,10}))?")


def daemons(switch: Switch) -> dict[str, str]:
    """The FRR daemons the switch starts besides zebra and staticd, which always run."""
    bfd = switch.bgp.bfd_interval_ms is not None
    return {"bgpd": "yes", "bfdd": "yes" if bfd else "no"}


def options(switch: Switch) -> dict[str, str]:
    """The options of each daemon."""
    texts = dict.fromkeys(("zebra", *daemons(switch), "staticd"), f"-A {VTY_ADDRESS}")
    texts["zebra"] += f" -s {NETLINK_BYTES}"
    return texts


def sysctls(switch: Switch) -> dict[str, int]:
    """Kernel settings of a router of many equal paths.

    The neighbour tables hold two entries per port and family at rest; the hard limit is sixteen times as many and
    at least 8192, because past it the kernel drops sessions' packets silently (Linux ip-sysctl, `gc_thresh3`).
    Sources are not filtered by the route back to them (`rp_filter`): while routes converge, a switch may carry a
    packet before it has learned the way to the packet's sender.
    """
    settings = {
        "net.ipv4.ip_forward": 1,
        "net.ipv6.conf.all.forwarding": 1,
        "net.ipv4.fib_multipath_hash_policy": 1,
        "net.ipv6.fib_multipath_hash_policy": 1,
        "net.ipv4.conf.all.rp_filter": 0,
        "net.ipv4.conf.default.rp_filter": 0,
        "net.ipv4.conf.all.ignore_routes_with_linkdown": 1,
        "net.ipv4.conf.default.ignore_routes_with_linkdown": 1,
        "net.ipv6.conf.all.ignore_routes_with_linkdown": 1,
        "net.ipv6.conf.default.ignore_routes_with_linkdown": 1,
        "net.ipv6.conf.all.keep_addr_on_down": 1,
        "net.ipv6.conf.default.keep_addr_on_down": 1,
    }
    hard = max(8192, 32 * len(switch.ports))
    for family in ("ipv4", "ipv6"):
        settings[f"net.{family}.neigh.default.gc_thresh1"] = hard // 4
        settings[f"net.{family}.neigh.default.gc_thresh2"] = hard // 2
        settings[f"net.{family}.neigh.default.gc_thresh3"] = hard
    return settings


def network_rules(switch: Switch) -> dict[int, str]:
    """Routing rules by preference that keep the management network to the switch's own packets (ip-rule(8)).

    Linux asks the input port whether it forwards, so that `ip-forward off` on the management port stops what comes
    from there and nothing that goes there.
    """
    network = ip_interface(switch.management.address).network
    return {OWN_RULE: f"to {network} iif lo lookup main", FABRIC_RULE: f"to {network} unreachable"}


def linux_facts(switch: Switch) -> Facts:
    """What only this back end states: the daemons that run and the kernel's settings."""
    facts: Facts = {f"daemon[{name}]": state for name, state in daemons(switch).items()}
    facts |= {f"kernel[{name}]": value for name, value in sysctls(switch).items()}
    facts["management/enabled"] = facts["loopback/enabled"] = "true"
    facts["management/rule"] = f"iif lo lookup {MANAGEMENT_TABLE}"
    facts |= {f"management/rule[{pref}]": rule for pref, rule in network_rules(switch).items()}
    facts["lldp/hold_intervals"] = LLDP_HOLD
    facts["lldp/port_id"] = "ifname"
    facts["daemon[vtysh]"] = "yes"
    facts["daemon/open_files"] = OPEN_FILES
    facts["daemon[zebra]/netlink_bytes"] = NETLINK_BYTES
    facts |= {f"daemon[{name}]/vty_address": VTY_ADDRESS for name in options(switch)}
    facts |= {f"structure/port[{port.name}]/auto": "true" for port in switch.ports if not port.enabled}
    facts["structure/kernel_hostname"] = switch.name
    if switch.management.access:
        facts["management/access_else"] = "drop"
    facts["management/ipv4_forwarding"] = facts["management/ipv6_forwarding"] = "off"
    return facts


def render_linux(switch: Switch) -> dict[str, str]:
    """The files by name, each ending in a newline; those of services without a server are left out."""
    management = switch.management
    view = {
        "switch": switch,
        "daemons": daemons(switch),
        "options": options(switch),
        "open_files": OPEN_FILES,
        "sysctls": sysctls(switch),
        "loopbacks": _loopbacks(switch),
        "management": management,
        "management_interface": MANAGEMENT_INTERFACE,
        "management_table": MANAGEMENT_TABLE,
        "management_rule": MANAGEMENT_RULE,
        "network_rules": network_rules(switch),
        "management_family": "-6" if ":" in management.address else "-4",
        "ports": [
            {
                "name": port.name,
                "mtu": None if port.direction is Direction.UNUSED else port.mtu,
                "enabled": port.enabled,
            }
            for port in switch.ports
        ],
        "lldp_hold": LLDP_HOLD,
        "ssh_port": SSH_PORT,
        "collectors": [f"[{server}]" if ":" in server else server for server in management.syslog],
    }
    names = ["daemons", "hostname", "interfaces", "sysctl.conf"]
    names += ["resolv.conf"] if management.dns else []
    names += ["timesyncd.conf"] if management.ntp else []
    names += ["rsyslog.conf"] if management.syslog else []
    names += ["lldpd.conf"]
    names += ["nftables.conf"] if management.access else []
    templates = environment("frr")
    return {name: templates.get_template(f"{name}.j2").render(view) for name in names}


def _loopbacks(switch: Switch) -> list[str]:
    four = [f"{switch.loopback4}/32"] if switch.loopback4 else []
    return four + ([f"{switch.loopback6}/128"] if switch.loopback6 else [])


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line and not line.startswith("#"):
            yield number, line


def _read_daemons(text: str, file: str, reading: Reading) -> None:
    """What starts, and how; options of daemons that no switch here starts are read over."""
    for number, line in _lines(text):
        if match := re.fullmatch(r"([a-z0-9]+d)=(yes|no)", line):
            if match[1] in ("bgpd", "bfdd") or match[2] == "yes":
                reading.put(f"daemon[{match[1]}]", match[2], file, number)
        elif match := re.fullmatch(r"vtysh_enable=(yes|no)", line):
            reading.put("daemon[vtysh]", match[1], file, number)
        elif match := re.fullmatch(r"MAX_FDS=(\d{1,10})", line):
            reading.put("daemon/open_files", int(match[1]), file, number)
        elif match := re.fullmatch(r'([a-z0-9]+)_options="\s*(.*?)\s*"', line):
            if match[1] in _STARTED and not _options(match[1], match[2], file, number, reading):
                reading.unknown.append((file, number, line))
        else:
            reading.unknown.append((file, number, line))


def _options(daemon: str, text: str, file: str, number: int, reading: Reading) -> bool:
    """Put the facts of a daemon's options; False when one is not known."""
    match = _OPTIONS.fullmatch(text)
    if match is None or (match[2] and daemon != "zebra"):
        return False
    reading.put(f"daemon[{daemon}]/vty_address", match[1], file, number)
    if match[2]:
        reading.put("daemon[zebra]/netlink_bytes", int(match[2]), file, number)
    return True


def _read_sysctl(text: str, file: str, reading: Reading) -> None:
    for number, line in _lines(text):
        if match := re.fullmatch(r"([\w.]+)\s*=\s*(\d{1,10})", line):
            reading.put(f"kernel[{match[1]}]", int(match[2]), file, number)
        else:
            reading.unknown.append((file, number, line))


def _read_hostname(text: str, file: str, reading: Reading) -> None:
    for number, line in _lines(text):
        put_also(reading, "system/hostname", line, file, number)
        reading.put("structure/kernel_hostname", line, file, number)


def _read_resolv(text: str, file: str, reading: Reading) -> None:
    _servers(text, file, reading, r"nameserver (\S+)", "management/dns")


def _read_timesyncd(text: str, file: str, reading: Reading) -> None:
    _servers(text, file, reading, r"NTP=(.+)", "management/ntp", silent="[Time]")


def _read_rsyslog(text: str, file: str, reading: Reading) -> None:
    _servers(text, file, reading, r"\*\.\* @\[?([\w.:-]+?)\]?:514", "management/syslog")


def _read_lldpd(text: str, file: str, reading: Reading) -> None:
    for number, line in _lines(text):
        if match := re.fullmatch(r"configure lldp tx-interval (\d{1,4})", line):
            reading.put("lldp/interval_s", int(match[1]), file, number)
        elif match := re.fullmatch(r"configure lldp tx-hold (\d{1,3})", line):
            reading.put("lldp/hold_intervals", int(match[1]), file, number)
        elif match := re.fullmatch(r"configure lldp portidsubtype (\S+)", line):
            reading.put("lldp/port_id", match[1], file, number)
        else:
            reading.unknown.append((file, number, line))


def _read_nftables(text: str, file: str, reading: Reading) -> None:
    """The networks that may log in over the management port, before everyone else is dropped on any."""
    wanted = 0
    for number, line in _lines(text):
        dropped = "management/access_else" in reading.facts
        if (match := re.fullmatch(_ACCEPT, line)) and not dropped:
            networks = sorted(network.strip() for network in match[1].split(","))
            reading.put("management/access", ",".join(networks), file, number)
        elif line == _DROP:
            reading.put("management/access_else", "drop", file, number)
        elif wanted < len(_NFTABLES_FRAME) and line == _NFTABLES_FRAME[wanted]:
            wanted += 1
        else:
            reading.unknown.append((file, number, line))
    for line in _NFTABLES_FRAME[wanted:]:
        reading.unknown.append((file, 1, f"missing: {line}"))


def _servers(text: str, file: str, reading: Reading, pattern: str, path: str, silent: str = "") -> None:
    found: set[str] = set()
    for number, line in _lines(text):
        if match := re.fullmatch(pattern, line):
            found.update(match[1].split())
            reading.put(path, ",".join(sorted(found)), file, number)
        elif line != silent:
            reading.unknown.append((file, number, line))


def _read_interfaces(text: str, file: str, reading: Reading) -> None:
    automatic: dict[str, int] = {}
    described: set[str] = set()
    name = ""
    for number, line in _lines(text):
        if match := re.fullmatch(r"auto (\S+)", line):
            automatic[match[1]] = number
        elif match := re.fullmatch(r"iface (\S+)( inet loopback)?", line):
            name = match[1]
            described.add(name)
            owner = {"lo": "loopback", MANAGEMENT_INTERFACE: "management"}.get(name, f"interface[{name}]")
            reading.put(f"{owner}/enabled", boolean(name in automatic), file, number)
        elif not _attribute(name, line, file, number, reading):
            reading.unknown.append((file, number, line))
    for name in sorted(described & automatic.keys()):
        if reading.facts.get(f"interface[{name}]/enabled") == "false":
            reading.put(f"structure/port[{name}]/auto", "true", file, automatic[name])
    for name in sorted(automatic.keys() - described):
        reading.unknown.append((file, automatic[name], f"auto {name}"))


def _attribute(name: str, line: str, file: str, number: int, reading: Reading) -> bool:
    """Put the fact of one line below `iface NAME`; False when the line is not known there."""
    if name == "lo":
        if match := re.fullmatch(r"address (\S+)", line):
            put_also(reading, f"loopback/ipv{6 if ':' in match[1] else 4}", match[1], file, number)
        return match is not None
    if name == MANAGEMENT_INTERFACE:
        return _management_attribute(line, file, number, reading)
    if match := re.fullmatch(r"mtu (\d{1,10})", line):
        reading.put(f"interface[{name}]/mtu", int(match[1]), file, number)
    elif line == "link-down yes":
        reading.put(f"interface[{name}]/enabled", "false", file, number)
    else:
        return False
    return True


def _management_attribute(line: str, file: str, number: int, reading: Reading) -> bool:
    default = (
        rf"up ip -[46] route replace default via (\S+) dev {MANAGEMENT_INTERFACE} table {MANAGEMENT_TABLE}"
    )
    pref = f"pref {MANAGEMENT_RULE}"
    rule = rf"up ip (-[46]) rule list {pref} \| grep -q \. \|\| ip \1 rule add {pref} (.+)"
    kept = r"up ip (-[46]) rule del pref (\d{1,5}) 2>/dev/null \|\| true; ip \1 rule add pref \2 (to \S+ .+)"
    if match := re.fullmatch(r"address (\S+)", line):
        put_also(reading, "management/address", match[1], file, number)
    elif match := re.fullmatch(kept, line):
        reading.put(f"management/rule[{match[2]}]", match[3], file, number)
    elif match := re.fullmatch(default, line):
        put_also(reading, "management/gateway", match[1], file, number)
    elif match := re.fullmatch(r"(ip6?)-forward (on|off)", line):
        family = "ipv6" if match[1] == "ip6" else "ipv4"
        reading.put(f"management/{family}_forwarding", match[2], file, number)
    elif match := re.fullmatch(rule, line):
        reading.put("management/rule", match[2], file, number)
    else:
        return False
    return True


def read_isolation(reading: Reading) -> None:
    """State whether rules keep packets of the fabric's ports from the management network and from its gateway.

    A rule is asked before the main table, which has that network as a connected route, when its preference is lower.
    """
    facts = reading.facts
    try:
        network = ip_interface(str(facts["management/address"])).network
    except (KeyError, ValueError):
        return
    rules = {path: str(rule) for path, rule in facts.items() if path.startswith("management/rule")}
    wanted = f"to {network} unreachable"
    kept = [path for path, rule in rules.items() if rule == wanted and _preference(path) < MAIN_RULE]
    open_to_all = [path for path, rule in rules.items() if " lookup " in f" {rule}" and "iif lo " not in rule]
    forwarding = [path for path in _FORWARDING if facts.get(path) != "off"]
    wrong = [*open_to_all, *forwarding]
    place = next((reading.lines[path] for path in (*wrong, *kept) if path in reading.lines), None)
    state_isolation(reading, bool(kept) and not wrong, place or reading.lines["management/address"], _RULE)


def _preference(path: str) -> int:
    """The preference that the path of a rule's fact names."""
    found = re.search(r"\[(\d{1,5})\]", path)
    return int(found[1]) if found else MANAGEMENT_RULE


READERS: dict[str, Callable[[str, str, Reading], None]] = {
    "daemons": _read_daemons,
    "hostname": _read_hostname,
    "interfaces": _read_interfaces,
    "lldpd.conf": _read_lldpd,
    "nftables.conf": _read_nftables,
    "resolv.conf": _read_resolv,
    "rsyslog.conf": _read_rsyslog,
    "sysctl.conf": _read_sysctl,
    "timesyncd.conf": _read_timesyncd,
}
