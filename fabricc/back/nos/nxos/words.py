"""The words and figures of NX-OS: how it names ports, speeds, breakouts and queues; ranges and defaults."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from fabricc.back.reading import Block, Document, Keep, Row, Scope, Types
from fabricc.back.reading.rows import parse_ports
from fabricc.base.diagnostics.wording import split_ranges
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Facts, Value, join_banner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Port, Switch
    from fabricc.fabric.routing import Bgp

CLOUDSCALE = "cloudscale"
SILICON_ONE = "silicon-one"

DISCARD = "Null0"
"""The next hop of a route that drops its packets."""
FAMILY_SUFFIXES = {"ipv4": "-V4", "ipv6": "-V6"}
"""Of the names of route maps, where each family has its own."""
MANAGEMENT_VRF = "management"
MANAGEMENT_INTERFACE = "mgmt0"

QUEUES = range(8)
NETWORK_QOS = "c-8q-nq"
OUTPUT = "c-out-8q-q"
INPUT = "c-in-q"

SPEEDS_GBPS = (1, 10, 25, 40, 50, 100, 200, 400, 800)
# Cisco's object model (terraform-provider-nxos, imFpP.breakoutMap), as (children, Gb/s) -> word.
BREAKOUTS = {
    (children, gbps): f"{gbps}g-{children}x"
    for children, gbps in (
        (2, 10), (4, 10), (4, 25), (2, 50), (4, 50), (2, 100), (4, 100), (8, 100), (2, 200), (2, 400)
    )
}  # fmt: skip

MTU_RANGE = (576, 9216)
MAXIMUM_PATHS = {CLOUDSCALE: 64, SILICON_ONE: 128}
# Up to this length a lossless class needs no `pause buffer-size`, since the platform's own buffers hold; beyond, the
# command is mandatory (Nexus 9000 QoS guide 10.5, priority flow control, guidelines and limitations).
DEFAULT_PAUSE_M = 100
PAUSE_BUFFER_RANGE = (5_000, 268_435_456)
BFD_INTERVAL_RANGE_MS = (50, 999)
BFD_MULTIPLIER_RANGE = (1, 50)
WATCHDOG_INTERVAL_RANGE_MS = (100, 1000)
MAXIMUM_SHUTDOWN = 10
MAXIMUM_RESTORE = 100
LLDP_RANGE_S = (5, 63)  # `lldp holdtime` takes up to 255 s (Cisco Network as Code, NX-OS data model, lldp)

ONCE = "once"
"""Facts of a defined part of the text, below `structure/`: a renamed part, a repeated one or one in the place of
another is reported at its own line.
"""


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """Return the name of child `child` (from 1) of `children` of front-panel cage `cage` (from 1).

    Raises:
        KeyError: the catalog has no NX-OS settings for the model.
        ValueError: the model has no such cage, or it has fewer lanes than requested children.
    """
    model.split_cage(cage, child, children)
    return str(model.nos["nxos"]["port" if children == 1 else "child"]).format(cage=cage, child=child)


def service_ports(model: SwitchModel) -> list[str]:
    """Return the names of the cages that are not for the fabric, which stay shut."""
    return [port_name(model, cage, 1, 1) for cage in model.service_cages()]


def catalog_settings(switch: Switch) -> Mapping[str, Any]:
    """Return the catalog's NX-OS settings of the switch's model."""
    return switch.model.nos["nxos"]


def asic_family(switch: Switch) -> str:
    """Return the ASIC family: `cloudscale` or `silicon-one`."""
    return str(catalog_settings(switch)["family"])


def breakout_word(port: Port) -> str | None:
    """Return the word for the split of a port's cage; None for a whole cage and where there is no word."""
    return BREAKOUTS.get((port.children, port.speed_gbps)) if port.children > 1 else None


def queue_name(group: int, prefix: str) -> str:
    """Return the class of a qos-group, such as `c-out-8q-q3`; group 0 is `c-out-8q-q-default`, there is no `q0`."""
    return f"{prefix}{group}" if group else f"{prefix}-default"


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers as the command line lists them: `0-7,9,11-63`."""
    return ",".join(split_ranges(numbers))


def queue_classes(prefix: str) -> dict[str, int]:
    """Return the classes of all qos-groups -> qos-group."""
    return {queue_name(group, prefix): group for group in QUEUES}


_KINDS = {
    kind.lower(): kind for kind in ("Ethernet", "Vlan", "port-channel", "loopback", "mgmt", "nve", "tunnel")
} | {"eth": "Ethernet", "po": "port-channel", "lo": "loopback"}  # fmt: skip
_NAME = re.compile(r"([A-Za-z][A-Za-z-]*)(\d.*)")


@lru_cache(maxsize=4096)
def expand_interfaces(text: str) -> str | tuple[str, ...] | None:
    """An interface, or several, by the names that a device prints: `eth1/1-2` is `Ethernet1/1`, `Ethernet1/2`."""
    found = parse_ports(text)
    return tuple(map(interface_name, found)) if isinstance(found, tuple) else found and interface_name(found)


def interface_name(text: str) -> str:
    """Return an interface by the name that a device prints."""
    match = _NAME.fullmatch(text)
    return _KINDS.get(match[1].lower(), match[1]) + match[2] if match else text


def _number_interfaces(kind: str, text: str) -> str | tuple[str, ...] | None:
    return expand_interfaces(kind + text) if is_number(text[0]) else None


TYPES: Types = {
    "interfaces": expand_interfaces,
    "interface": interface_name,
    **{f"{kind} numbers": partial(_number_interfaces, kind) for kind in _KINDS},
}


def interface_blocks(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the blocks of interfaces, also where people put a space before the number."""
    return tuple(Block(pattern, "interface", rows) for pattern in INTERFACES)


INTERFACES = ("interface <interfaces>", *(
    f"interface {words} <{kind} numbers>"
    for kind, words in (
        ("ethernet", "(ethernet|Ethernet)"), ("vlan", "(vlan|Vlan)"), ("port-channel", "(port-channel|Port-channel)"),
        ("loopback", "(loopback|Loopback)"), ("nve", "nve"), ("mgmt", "mgmt"),
    )
))  # fmt: skip


def split_name(head: str, rest: str) -> tuple[str, str]:
    """Name and value of a line by its beginning and the rest of it.

    The first word of the rest belongs to the name, unless it is a figure and all there is.
    """
    word, _, more = " ".join(rest.split()).partition(" ")
    return (f"{head} {word}", more or "on") if more or not is_number(word[0]) else (head, word)


def split_beginnings(text: str) -> tuple[str, ...]:
    """Return what stands between the commas of a text, such as beginnings of lines."""
    return tuple(" ".join(each.split()) for each in text.split(","))


_OPEN_BANNER = re.compile(r"banner motd (\S)(?!.*\1)(.*)$")


def fold_banner(text: str) -> str:
    """Return the text with a login banner of several lines on its first one; the numbers of lines stay."""
    if "\nbanner motd " not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        opened = _OPEN_BANNER.match(line)
        end = next((at for at in range(number + 1, len(lines)) if opened and opened[1] in lines[at]), None)
        if opened and end is not None:
            parts = (opened[2], *lines[number + 1 : end], lines[end].partition(opened[1])[0])
            message = join_banner("\n".join(parts))
            lines[number : end + 1] = [f"banner motd {opened[1]}{message}{opened[1]}", *[""] * (end - number)]
    return "\n".join(lines)


def defined_part(pattern: str, scope: str, rows: Sequence[Row], *, once: bool = False) -> tuple[Row, Row]:
    """Return a block whose first line is stated too; `once` as that of the block."""
    return Block(pattern, scope, rows, once), Keep(pattern, "defined", ONCE)


def state_defined(facts: Facts, path: str, values: Mapping[str, Value] | None = None) -> None:
    """State that a part of the text is defined, with its content."""
    facts |= {
        f"structure/{path}/{leaf}": value for leaf, value in {"defined": ONCE, **(values or {})}.items()
    }


def state_part(document: Document, path: str, scope: Scope, *leaves: str) -> None:
    """State the facts of a part that was read, as `state_defined` does for a planned one."""
    document.put(f"structure/{path}/defined", ONCE, scope.line)
    document.put_leaves(f"structure/{path}/", scope.values, leaves)


def evpn_maps(bgp: Bgp) -> frozenset[str]:
    """Return the route maps of EVPN routes, which have no family of addresses."""
    return frozenset(name for group in bgp.groups if group.evpn for name in group.evpn)


def keeps_next_hop(bgp: Bgp, name: str) -> bool:
    """Return whether a route map leaves next hops of EVPN routes as they are: on export by spines."""
    return bgp.evpn_transit and any(group.evpn and group.evpn[1] == name for group in bgp.groups)
