"""Ports of FRR on Linux: ifupdown2's `interfaces` with the management network's rules, and those of frr.conf."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.frr import evpn
from fabricc.back.nos.frr.filters import state_filters
from fabricc.back.nos.frr.foreign import igp
from fabricc.back.nos.frr.words import MANAGEMENT_INTERFACE, RA_INTERVAL_S, repeated_rows, setting_rows
from fabricc.back.nos.management import state_isolation
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Scope, Silent, Topic
from fabricc.fabric.facts import Facts, Reading, format_boolean
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


MANAGEMENT_TABLE = 100  # holds the management default route, for the switch's own traffic only
MANAGEMENT_RULE = 40000  # after the main (32766) and default (32767) tables
# Before the main table, which has the management network as a connected route.
OWN_RULE, FABRIC_RULE = 1000, 1001
MAIN_RULE = 32766  # the kernel's own rule for the main table, ip-rule(8)
FORWARDING = {"ip": "management/ipv4_forwarding", "ip6": "management/ipv6_forwarding"}
"""Setting of ifupdown2 for forwarding of a family -> the fact."""

DEPARTURES = (
    Departure("interface[*]/speed_gbps", LEFT_OUT, "a cage is split and set at installation (FAB5203)"),
)


# --- what FRR on Linux makes of the Fabric's statements -----------------------------------------------


def ports_view(switch: Switch) -> dict[str, object]:
    """Return what `interfaces.j2` prints."""
    lengths = ((switch.loopback4, 32), (switch.loopback6, 128))
    return {
        "loopbacks": [f"{address}/{length}" for address, length in lengths if address],
        "management_interface": MANAGEMENT_INTERFACE,
        "management_table": MANAGEMENT_TABLE,
        "management_rule": MANAGEMENT_RULE,
        "management_family": "-6" if ":" in switch.management.address else "-4",
        "network_rules": network_rules(switch),
        "ports": [
            {
                "name": port.name,
                "mtu": None if port.direction is Direction.UNUSED else port.mtu,
                "enabled": port.enabled,
                "access": port.segment,
                "vrf": port.vrf,
            }
            for port in switch.ports
        ],
        **evpn.segments_view(switch),
    }


def network_rules(switch: Switch) -> dict[int, str]:
    """Routing rules by preference that keep the management network to the switch's own packets (ip-rule(8)).

    Linux checks forwarding on the input port: `ip-forward off` on the management port stops packets from there, but
    none that go there.
    """
    network = ip_interface(switch.management.address).network
    return {OWN_RULE: f"to {network} iif lo lookup main", FABRIC_RULE: f"to {network} unreachable"}


def router_ports(switch: Switch, addressed: bool) -> list[dict[str, object]]:
    """Return the ports in frr.conf; those that advertise themselves alone where another file holds addresses.

    Zebra brings a port up to set an address, unless it has `shutdown` (zebra/interface.c, ip_address_install).
    """
    return [
        {
            "name": port.name,
            "description": port.description if addressed else None,
            "shut": addressed and not port.enabled and bool(port.ipv4 or port.ipv6),
            "ipv4": port.ipv4 if addressed else None,
            "ipv6": port.ipv6 if addressed else None,
            "ra_interval_s": RA_INTERVAL_S if port.unnumbered else None,
        }
        for port in switch.ports
        if addressed or (port.unnumbered and port.direction is not Direction.UNUSED)
    ]


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add who may use the management network, and that unused ports are shut at boot."""
    facts["management/enabled"] = facts["loopback/enabled"] = "true"
    facts["management/rule"] = f"iif lo lookup {MANAGEMENT_TABLE}"
    facts |= {f"management/rule[{pref}]": rule for pref, rule in network_rules(switch).items()}
    facts |= dict.fromkeys(FORWARDING.values(), "off")
    facts |= {f"structure/port[{port.name}]/auto": "true" for port in switch.ports if not port.enabled}
    evpn.state_devices(facts, switch)


# --- and back -----------------------------------------------------------------------------------------

_WORDS = "[A-Za-z0-9:./ _-]+"  # words of `ip rule`, and nothing that a shell obeys
_VIA = rf"ip -[46] route replace default via ([0-9A-Fa-f:.]+) dev {MANAGEMENT_INTERFACE} table {MANAGEMENT_TABLE}"
_LAST = (
    rf"ip (-[46]) rule list pref {MANAGEMENT_RULE} \| grep -q \. \|\| "
    rf"ip \1 rule add pref {MANAGEMENT_RULE} ({_WORDS})"
)
_PREF = rf"ip (-[46]) rule del pref (\d{{1,5}}) 2>/dev/null \|\| true; ip \1 rule add pref \2 (to {_WORDS})"
_RUNS = re.compile(r"(?:pre-|post-)?(?:up|down)|source(?:-directory)?|mapping|script|map")
_RULE = re.compile(r"\bip (-[46] )?(rule|route) (add|del|replace)\b")


def _interpret_command(text: str) -> dict[str, str] | None:
    """Return what a command that comes with the management port does, of those that fabricc writes."""
    if found := re.fullmatch(_VIA, text):
        return {"management/gateway": found[1]}
    if found := re.fullmatch(_LAST, text):
        return {"management/rule": found[2]}
    if found := re.fullmatch(_PREF, text):
        return {f"management/rule[{found[2]}]": found[3]}
    return None


def command_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield file and line of commands that fabricc does not write, and of lines that read other files."""
    for number, line in enumerate(text.split("\n"), 1):
        word, _, rest = line.strip().partition(" ")
        if _RUNS.fullmatch(word) and (word != "up" or not _is_known(rest.strip())):
            yield "interfaces", number


def _is_known(command: str) -> bool:
    """Return whether fabricc writes a command."""
    return _interpret_command(command) is not None or evpn.read_command(command) is not None


_LINK = setting_rows(
    "admin-grp", "affinity", "affinity-mode", "ava-bw", "delay", "delay-variation", "enable", "max-bw", "max-rsv-bw",
    "metric", "neighbor", "packet-loss", "res-bw", "unrsv-bw", "use-bw", "srlg",
)  # fmt: skip


def _in_vrf(text: str) -> dict[str, str] | None:
    """Return the routing instance of `swp9 vrf RED`."""
    words = text.split()
    return {"vrf": words[2]} if len(words) == 3 and words[1] == "vrf" else None


_ROUTER_PORT: tuple[Row, ...] = (
    Entry("ip (address|addr) <prefix4> [label <word>]", "ipv4", "true"),
    Entry("ip (address|addr) <address4> peer <prefix4>", "ipv4"),
    Entry("ipv6 (address|addr) <prefix6>", "ipv6"),
    Keep("description <rest>", "description"),
    Keep("shutdown", "enabled", "false"),
    Keep("no (shutdown|shut)", "enabled", "true"),
    Keep("no ipv6 nd suppress-ra", "unnumbered"),
    Silent("ipv6 nd suppress-ra"),
    Silent(f"ipv6 nd ra-interval {RA_INTERVAL_S}"),
    Silent("link-detect"),
    Keep("evpn mh es-id <word>", "ethernet_segment"),
    Each("vrrp <integer>", "", (Entry("ip <address4>", "gateways"), Entry("ipv6 <address6>", "gateways"))),
    *setting_rows(
        "bandwidth", "evpn mh es-df-pref", "evpn mh es-sys-mac", "evpn mh uplink", "ip igmp", "ip mroute",
        "ip pim", "ip pim passive", "ip pim sm", "ipv6 mld", "ipv6 nd managed-config-flag", "ipv6 nd mtu",
        "ipv6 nd other-config-flag", "ipv6 nd ra-interval", "ipv6 nd ra-lifetime", "ipv6 nd ra-fast-retrans",
        "ipv6 nd ra-hop-limit", "ipv6 nd ra-retrans-interval", "ipv6 nd reachable-time",
        "ipv6 nd router-preference", "ipv6 pim", "mpls", "mpls bgp", "multicast", "pbr-policy", "ip nhrp",
        "tunnel protection", "tunnel source",
    ),
    Keep("vrrp <integer> <word> [<rest>]",
        lambda router, word, rest: {f"setting[vrrp {router} {word}]": rest or "true"}),
    *repeated_rows("ipv6 nd dnssl", "ipv6 nd prefix", "ipv6 nd rdnss"),
    Block("link-params", "", _LINK),
    Silent("exit-link-params"),
    Keep("no link-detect", "setting[link-detect]", "false"),
    *igp.INTERFACE,
)  # fmt: skip
ROUTER_ROWS: Sequence[Row] = (
    Block("(interface|int) <word>", "interface", _ROUTER_PORT),
    Keep("(interface|int) <rest>", _in_vrf),
    Block("(interface|int) <rest>", "interface in", _ROUTER_PORT),
)  # fmt: skip
LINK_ROWS: Sequence[Row] = (
    Keep("link-autoneg (on|yes)", "autoneg", "true"),
    Keep("link-autoneg (off|no)", "autoneg", "false"),
    Keep("link-fec <word>", "fec"),
    Keep("link-speed <integer>", "speed_gbps", lambda mbps: mbps // 1000 if mbps % 1000 == 0 else None),
)  # fmt: skip
"""Lines of ifupdown2 (its addon `ethtool`) about the link of a port."""
ROWS: Sequence[Row] = (
    Entry("auto <word>...", "auto"),
    Block("iface lo [inet loopback]", "loopback", (Entry("address <word>", "addresses"),)),
    Block(f"iface {MANAGEMENT_INTERFACE}", "management", (
        Entry("address <word>", "addresses"),
        *(Fact(f"{word}-forward <on|off>", path) for word, path in FORWARDING.items()),
        Fact("up <rest>", _interpret_command),
        Keep("vrf <word>", "vrf"),
    )),
    Block("iface <word>", "port", (
        Keep("mtu <integer>", "mtu"),
        Keep("link-down yes", "enabled", "false"),
        *LINK_ROWS,
        *evpn.DEVICE_ROWS,
    )),
)  # fmt: skip


def finish_router(document: Document) -> None:
    """State the facts of zebra's interfaces in addition to those of other files: the kernel adds addresses.

    A port with `shutdown` is down, whatever ifupdown2 does (zebra/interface.c, if_shutdown).
    """
    blocks = [*document.scope.each("interface").items(), *document.scope.each("interface in").items()]
    for named, block in blocks:
        name = str(named).split(None, 1)[0]
        paths = port_paths(name)
        for leaf, stored in block.values.items():
            put = document.put if stored[0] == "false" and leaf == "enabled" else document.put_also
            put(paths[leaf], *stored)
        addresses = [*block.table("ipv4").values(), *block.table("ipv6").values()]
        held = f"structure/port[{name}]/auto" in document.reading.facts  # brought up, and then down
        if held and addresses and "enabled" not in block.values:
            why = "zebra brings the port up to set its address, until ifupdown2 runs again"
            down = document.reading.lines.get(paths["enabled"])
            if down is not None and document.reading.facts.get(paths["enabled"]) == "false":
                document.reading.put(f"unread[{name} link-down]", why, *down)
            document.put(paths["enabled"], "true", addresses[0][1])
        for family in ("ipv4", "ipv6"):
            path = f"loopback/{family}" if name == "lo" else paths[family]
            for at, (address, (_, line)) in enumerate(block.table(family).items()):
                if at:
                    document.put(paths[f"secondary[{address}]"], str(address), line)
                else:
                    document.put_also(path, str(address), line)
        for address, (_, line) in block.table("gateways").items():
            document.put(paths[f"gateway[{address}]"], str(address), line)


_PORT = ("mtu", "enabled", "autoneg", "fec", "speed_gbps")


def finish(document: Document) -> None:
    """State the facts of interfaces that come up at boot, and whether the management network is separate."""
    scope = document.scope
    automatic = dict(scope.table("auto"))
    for interface, owner in (("lo", "loopback"), (MANAGEMENT_INTERFACE, "management")):
        for block in scope.each(owner).values():
            document.put(
                f"{owner}/enabled", format_boolean(automatic.pop(interface, None) is not None), block.line
            )
            if "vrf" in block.values:
                document.put(port_paths(interface)["vrf"], *block.values["vrf"])
            for address, (_, line) in block.table("addresses").items():
                family = "address" if owner == "management" else f"ipv{6 if ':' in str(address) else 4}"
                document.put_also(f"{owner}/{family}", str(address), line)
    devices = {
        str(name): port for name, port in scope.each("port").items() if evpn.is_device(str(name), port)
    }
    for at, device in devices.items():
        if automatic.pop(at, None) is None:
            document.reject_all(device)
    evpn.finish_devices(document, devices)
    if evpn.BRIDGE in devices:
        _state_unbridged(document, devices)
    for name, port in scope.each("port").items():
        if str(name) in devices:
            continue
        paths, auto = port_paths(str(name)), automatic.pop(str(name), None)
        document.put(paths["enabled"], format_boolean(auto is not None), port.line)
        if "vrf" in port.values:
            document.put(paths["vrf"], *port.values.pop("vrf"))
        if "access" in port.values:
            document.put(f"evpn/port[{name}]", *port.values.pop("access"))
        for leaf, stored in port.values.items():
            if leaf in _PORT:
                document.put(paths[leaf], *stored)
            else:
                document.reject(stored[1])
        for address, (_, line) in port.table("addresses").items():
            document.put_also(paths["ipv6" if ":" in str(address) else "ipv4"], str(address), line)
        for table in ("ports", "vlans"):
            for line in {line for _, line in port.table(table).values()}:
                document.reject(line)
        if auto and "enabled" in port.values:
            document.put(f"structure/port[{name}]/auto", "true", auto[1])
    lost = {str(name): line for name, (_, line) in automatic.items()}
    for name, port in scope.each("port").items():
        if (
            lost
            and str(name) not in devices
            and not document.reading.lines.get(f"structure/port[{name}]/auto")
        ):
            _state_lone(document, str(name), port, lost)
    below = dict(enumerate(document.text.split("\n")))
    for other, (_, line) in automatic.items():
        document.reject(line)
        stated = f"unread[auto {other}]" in document.reading.facts
        needed = str(other) in ("lo", MANAGEMENT_INTERFACE) and not stated
        if needed and not re.search(rf"^iface {other}\s", document.text, re.MULTILINE):
            # the line below may have its name misspelled
            place = line + below.get(line, "").startswith("iface ")
            document.put(f"unread[auto {other}]", "no interface has its name", place)
    _finish_isolation(document.reading)
    _state_commands(document)
    state_filters(document)


_TRAFFIC = re.compile(
    r"tc qdisc (?:add|replace|change) dev (\S+) (?:root |handle \S+ )*((?:netem|tbf)\b.*)"
    r"|tc filter (?:add|replace) dev (\S+) .{0,500}\b(action (?:drop|police)\b.*|police rate\b.*)"
)
_LINK_COMMAND = re.compile(r"(?:/sbin/)?ip link set (?:dev )?(\S+) (?:mtu (\d{3,5})|(down))")


def _state_commands(document: Document) -> None:
    """State what commands at boot do to ports: queues that drop or slow packets, sizes, and ports that are down."""
    for number, line in enumerate(document.text.split("\n"), 1):
        word, _, command = line.strip().partition(" ")
        if word not in ("up", "post-up", "pre-up"):
            continue
        if match := _TRAFFIC.search(command):
            document.put(f"routing/setting[tc {match[1] or match[3]}]", match[2] or match[4], number)
        elif match := _LINK_COMMAND.fullmatch(command.strip()):
            paths = port_paths(match[1])
            if match[2]:
                document.put(paths["mtu"], int(match[2]), number)
            else:
                document.put(paths["enabled"], "false", number)


def _state_unbridged(document: Document, devices: Mapping[str, Scope]) -> None:
    """State what keeps a VXLAN device out of the bridge, or shortens the packets of the bridge."""
    bridge = devices[evpn.BRIDGE]
    ports, vlans = bridge.table("ports"), bridge.table("vlans")
    size = bridge.values.get("mtu", (0, 0))[0]
    for name, scope in devices.items() if ports and vlans else ():
        if "vni" not in scope.values:
            continue
        vlan, line = scope.values.get("access", (None, 0))
        mtu, at = scope.values.get("mtu", (size, 0))
        if name not in ports:
            document.put(
                f"unread[{name}]", f"{evpn.BRIDGE} does not have it as a port", next(iter(ports.values()))[1]
            )
        elif line and str(vlan) not in map(str, vlans):
            document.put(f"unread[bridge-access of {name}]", f"{evpn.BRIDGE} has no VLAN {vlan}", line)
        if int(str(mtu)) < int(str(size)):
            document.put(
                f"unread[mtu of {evpn.BRIDGE}]", f"packets over {name} are no longer than {mtu} bytes", at
            )


def _state_lone(document: Document, name: str, port: Scope, lost: Mapping[str, int]) -> None:
    """State that no `auto` line names an interface, where other such lines name interfaces that are not there."""
    if document.reading.facts.get(port_paths(name)["enabled"]) == "false" and "enabled" not in port.values:
        document.put(f"unread[interface {name}]", "no `auto` line has its name", port.line)
        for other, line in lost.items():
            document.put(f"unread[auto {other}]", "no interface has its name", line)


def _finish_isolation(reading: Reading) -> None:
    """State whether rules block packets of the fabric's ports from the management network and from its gateway.

    A rule precedes the main table, which has that network as a connected route, if its preference is lower.
    """
    facts = reading.facts
    try:
        network = ip_interface(str(facts["management/address"])).network
    except (KeyError, ValueError):
        return
    rules = {path: str(rule) for path, rule in facts.items() if path.startswith("management/rule")}
    wanted = f"to {network} unreachable"
    kept = [path for path, rule in rules.items() if rule == wanted and _parse_preference(path) < MAIN_RULE]
    open_to_all = [path for path, rule in rules.items() if " lookup " in f" {rule}" and "iif lo " not in rule]
    wrong = [*open_to_all, *(path for path in FORWARDING.values() if facts.get(path) != "off")]
    shared = port_paths(MANAGEMENT_INTERFACE)["vrf"]
    ports = [
        path for path in facts if path.startswith("interface[") and path.endswith("]/vrf") and path != shared
    ]
    wrong = [*([shared] if any(facts[path] == facts.get(shared) for path in ports) else []), *wrong]
    place = next((reading.lines[path] for path in (*wrong, *kept) if path in reading.lines), None)
    state_isolation(reading, bool(kept) and not wrong, place or reading.lines["management/address"], _RULE)


def _parse_preference(path: str) -> int:
    """Return the preference that the path of a rule's fact names."""
    _, bracket, number = path.partition("[")
    return int(number.removesuffix("]")) if bracket else MANAGEMENT_RULE


ROUTER = Topic(ROUTER_ROWS, finish_router)
TOPIC = Topic(ROWS, finish)
