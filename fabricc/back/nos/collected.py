"""Recognize texts that people collect from devices: system, device, release, neighbors, and JSON of any nesting.

Each back end has a module `recognition`, which implements `Collected` and is its attribute `found`. A third party's may
lack it; then an audit does not search for its configurations. Systems without a back end whose configurations look like
those of one are rejected by name.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_DIVIDES = ("begins", "again")
_READ = 1 << 17
"""The number of characters of a text from which its system is determined."""


class FileMatch(NamedTuple):
    """A match of a text with a system: the file name in `Nos.read`, and the score."""

    file: str
    weight: int


class Identity(NamedTuple):
    """The identity that a device states; "" for missing values.

    Attributes:
        name: of the device; `box`: the product as the device names it; `release`: of the system.
        products: names under which a table of products may have the box, the best first.
    """

    name: str = ""
    box: str = ""
    release: str = ""
    products: tuple[str, ...] = ()

    def or_else(self, other: Identity) -> Identity:
        """Return the values stated here, completed from the other; the product names belong to its box."""
        box = self if self.box or not other.box else other
        return Identity(self.name or other.name, box.box, self.release or other.release, box.products)


class SeenNeighbor(NamedTuple):
    """An LLDP neighbor: the local port, the neighbor, its port, and the line that states it."""

    port: str
    device: str
    far_port: str
    line: int


class Output(NamedTuple):
    """The content of a command's output."""

    identity: Identity = Identity()
    neighbors: tuple[SeenNeighbor, ...] = ()


class Collected(Protocol):
    """The module `found` of a back end.

    Attributes:
        FILE: its main file, with the name of `Nos.read`.
        COMMENTS: prefix of comment lines; "" without comments.
        NAMES: of files with the same name on every device, without the suffix.
    """

    FILE: str
    COMMENTS: str
    NAMES: frozenset[str]

    def takes(self, path: str, text: str) -> FileMatch | None:
        """Return whether a text is a configuration of this system; `path` is where it was found."""
        ...

    def identity(self, files: Mapping[str, str]) -> Identity:
        """Return the identity of the device in configurations outside of facts, such as in their first comments."""
        ...

    def output(self, text: str) -> Output | None:
        """Return the version or the neighbors in a command's output; None for any other text."""
        ...

    def products(self, box: str) -> tuple[str, ...]:
        """Return names under which a table of products may list the device's name for its box, the best first."""
        ...

    def port(self, spelling: str) -> str:
        """Return a port as configurations spell it, of how outputs abbreviate it."""
        ...


# --- which system ------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def line_starts(text: str) -> frozenset[str]:
    """The first word and the first two words of each line, after `> ` where it is indented; `indent 2` and the like."""
    lines = [line for line in text.lstrip("\n")[:_READ].split("\n") if line and not line.isspace()]
    below = {line for above, line in pairwise([".", *lines]) if line[0].isspace() and not above[0].isspace()}
    found = {f"indent {len(line) - len(line.lstrip())}" for line in below}
    for line in set(lines):
        words = line.split(None, 2)
        first = f"> {words[0]}" if line[0].isspace() else words[0]
        found.add(first)
        if len(words) > 1:
            found.add(f"{first} {words[1]}")
    return frozenset(found)


def weigh_signs(text: str, signs: Mapping[str, int]) -> int:
    """Return the score of a system by the first words of its lines; indentation alone is not sufficient."""
    found = signs.keys() & line_starts(text)
    if all(start.startswith("indent ") for start in found):
        return 0
    return sum(signs[start] for start in found)


def score_match(file: str, found: int, least: int = 3) -> FileMatch | None:
    """Return a match if there is this much evidence for it."""
    return FileMatch(file, found) if found >= least else None


def by_signs(file: str, signs: Mapping[str, int]) -> Callable[[str, str], FileMatch | None]:
    """Return `Collected.takes` of a system whose texts are recognized by starts of lines that only it prints."""
    return lambda _path, text: score_match(file, weigh_signs(text, signs))


# --- content of outputs --------------------------------------------------------------------------------

_LONGEST = 300
"""Characters of a line of `show version`; a host name has 255 at most."""
_LONGEST_ROW = 1000
"""Characters of a line about neighbors; LLDP limits a name and a port to 255 bytes each (IEEE 802.1AB)."""
_GAP = re.compile(r"\s{80}")
"""Blanks that no table has between two columns. Patterns of rows cost the square of their number."""


@lru_cache(maxsize=2)
def _short_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if len(line) <= _LONGEST)


def _is_row(line: str) -> bool:
    return len(line) <= _LONGEST_ROW and not _GAP.search(line.rstrip())


def match_patterns(text: str, patterns: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
    """Name -> the first thing that its pattern finds, stripped; those that find nothing are absent."""
    short = _short_lines(text)
    found = {name: pattern.search(short) for name, pattern in patterns.items()}
    return {name: match[match.lastindex or 0].strip() for name, match in found.items() if match}


def parse_details(text: str, line: re.Pattern[str]) -> tuple[SeenNeighbor, ...]:
    """Return the neighbors of an output with a block of lines for each.

    Args:
        text: the output.
        line: matches a line without its indent, with a group for its value: `port`, `device`, `far_port`, `chassis`
            (identifies it without a name), `begins` where another neighbor begins, or `again` where it is another
            one of the same port.
    """
    found: list[SeenNeighbor] = []
    block: dict[str, str] = {}
    at = 0

    def end() -> None:
        who = block.get("device") or block.get("chassis", "")
        if block.get("port") and (who or block.get("far_port")):
            found.append(SeenNeighbor(block["port"], who, block.get("far_port", ""), at))

    for number, each in enumerate(text.split("\n"), 1):
        if not _is_row(each) or not (match := line.match(each.strip())) or not (kind := match.lastgroup):
            continue
        if kind in _DIVIDES or (kind == "port" and "port" in block):
            end()
            block = {"port": block["port"]} if kind == "again" and "port" in block else {}
        if kind in ("port", "again"):
            at = number
        block |= {
            name: clean_value(value)
            for name, value in match.groupdict().items()
            if value and name not in _DIVIDES
        }
    end()
    return tuple(found)


def parse_table(text: str, header: re.Pattern[str], row: re.Pattern[str]) -> tuple[SeenNeighbor, ...]:
    """Neighbors of an output with a row for each, below its header; `row` has the groups of `SeenNeighbor`.

    A name too long for its column stands on a line of its own, above the rest of its row.
    """
    found: list[SeenNeighbor] = []
    below, before = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not _is_row(line):
            continue
        line = line.rstrip()
        if not below:
            below = bool(header.search(line))
            continue
        if match := row.match(line) or (row.match(f"{before} {line}") if before else None):
            found.append(
                SeenNeighbor(
                    match["port"], clean_value(match["device"]), clean_value(match["far_port"]), number
                )
            )
        words = line.split()
        before = words[0] if len(words) == 1 else ""
    return tuple(found)


def clean_value(text: str) -> str:
    """Return the value of a column or a field, "" for placeholders of no value."""
    text = text.strip().strip('"')
    return "" if text.lower() in ("not advertised", "-", "none", "null", "n/a") else text


def own_name(box: str) -> tuple[str, ...]:
    """`Collected.products` where tables of products have a box as the device calls it; none for no box."""
    return (box,) if box else ()


def in_full(spelling: str) -> str:
    """`Collected.port` of a system that abbreviates none."""
    return spelling


def expand_port(spelling: str, names: Mapping[str, str]) -> str:
    """Return a port whose kind is abbreviated, in full: `Et1/1` with `{"Et": "Ethernet"}`."""
    letters = re.match(r"[A-Za-z-]+(?=\d)", spelling)
    return names.get(letters[0], letters[0]) + spelling[letters.end() :] if letters else spelling


def parse_json(text: str) -> Any:
    """Parse a text as JSON; return None for any other text."""
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def values_under(value: Any, name: str) -> Iterator[Any]:
    """Yield every value of that name, however deep; a list of values is each of them."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += reversed(each)
        elif isinstance(each, dict):
            if name in each:
                yield from each[name] if isinstance(each[name], list) else (each[name],)
            waiting += [below for key, below in reversed(each.items()) if key != name]


def leaf_text(value: Any, *names: str) -> str:
    """Return the text of the first of these keys that has one, also inside `value`, `data` and lists."""
    for name in names:
        found = value.get(name) if isinstance(value, dict) else None
        while isinstance(found, list | dict):
            found = (
                (found[0] if found else None)
                if isinstance(found, list)
                else found.get("value", found.get("data"))
            )
        if isinstance(found, str | int) and (text := clean_value(str(found))):
            return text
    return ""


def find_neighbors(text: str, found: Iterable[tuple[str, str, str]]) -> tuple[SeenNeighbor, ...]:
    """Neighbors of JSON, as port, device and far port, at the line that first names the port."""
    made = []
    for port, device, far_port in found:
        at = text.find(json.dumps(port)) if port else -1
        if port and (device or far_port):
            made.append(SeenNeighbor(port, device, far_port, text.count("\n", 0, max(at, 0)) + 1))
    return tuple(made)


_SYSTEMS = (
    ("Dell OS10", r"^! Version 10\.\d|^trust dscp-map \S+$|^interface ethernet\d+/\d+/\d+(?::\d+)?\s*$"),
    (
        "the CLI of Enterprise SONiC (give its config_db.json)",
        r"^roce enable\b|^qos map dscp-tc \S|^ *qos-map dscp-tc \S",
    ),
    ("AsterNOS (give its config_db.json)", r"^interface ethernet \d+/\d+\s*$|^qos roce lossless\b"),
    (
        "Cisco IOS",
        r"^!RANCID-CONTENT-TYPE: cisco\s*$|^boot-start-marker|^service timestamps "
        r"|^interface (?:Fast|Gigabit|TenGigabit)Ethernet\d+(?:/\d+)*\s*$",
    ),
    ("Cisco IOS XR", r"^!! IOS XR |^end-policy\s*$|^ ipv4 address \d|^interface \w+GigE\d+(?:/\d+){3}\b"),
    ("HPE Aruba AOS-CX", r"^!Version ArubaOS-CX\b|^interface (?:mgmt|\d+/\d+/\d+)\s*\n {4}\S"),
    ("IP Infusion OcNOS", r"^! .*\bOcNOS\b|^interface [cgx]e\d+(?:/\d+)*\s*$"),
    ("Ruijie RGOS", r"^version .*RGOS\b|^interface \w*GigabitEthernet \d+/\d"),
    ("Dell OS9", r"^! Version 9\.\d|^interface \w*GigE \d+/\d"),
    ("Pica8 PicOS", r"^set interface (?:gigabit|aggregate)-ethernet "),
    (
        "VyOS",
        r"^set interfaces (?:ethernet eth|dummy dum|bonding bond|loopback lo\b)|^// vyos-config-version"
        r"|^ {4}(?:ethernet eth\d+|loopback lo|dummy dum\d+) \{",
    ),
    (
        "Nokia SR Linux",
        r"^set / (?:interface|network-instance|system) |^(?:interface ethernet-|network-instance )\S+ \{",
    ),
    ("Nokia SR OS", r"^# TiMOS-|^ {4}router \"?Base\"?(?: \{)?\s*$"),
    ("Huawei VRP or H3C Comware", r"^ ?sysname \S|^ peer \S+ as-number \d"),
    ("Extreme EXOS", r"^configure snmp sysName |^# Module \S+ configuration"),
    ("FortiOS", r"^config system (?:global|interface)\s*$"),
    ("MikroTik RouterOS", r"^/(?:interface \w+|ip address|routing bgp \w+)\s*$"),
    ("Arrcus ArcOS", r"^ +type +ethernetCsmacd\s*$|^network-instance \S+\s*$|ArcOS \(c\) Arrcus"),
    (
        "HPE ProCurve",
        r"^; \w+ Configuration Editor|^ +(?:un)?tagged (?:vlan )?\d|^ +spanning-tree admin-edge-port",
    ),
    ("Ciena SAOS", r"^system config hostname "),
    ("Cisco ASA", r"^ASA Version |^ +(?:nameif|security-level) \S+\s*$"),
    ("Extreme VOSS", r"^# +box type +:|^vlan create \d+ .*type port-mstprstp"),
    ("Brocade ICX FastIron", r"^ver 0\d\.\d\S*|^ +(?:un)?tagged ethe(?:rnet)? \d"),
    (
        "Ubiquiti EdgeSwitch or Broadcom ICOS",
        r"^vlan database\s*$|^interface 0/\d+\s*$|^!System Software Version",
    ),
    ("Palo Alto PAN-OS", r"^set (?:deviceconfig system|network interface ethernet) "),
    ("OPNsense or pfSense", r"^<(?:opnsense|pfsense)>\s*$"),
)
"""Name -> lines that it prints and that no system with a back end has.

Sources: Dell SmartFabric OS10 user guide (trust maps), dellemc.enterprise_sonic (maps of code points), the AsterNOS
CX864E-N guide (RoCE), running configurations of Cisco IOS, the templates of netlab (IOS XR, AOS-CX, VyOS, SR OS, EXOS,
FortiOS, RouterOS), the manuals of PicOS, SR Linux, VRP, Comware, RGOS and OcNOS.
"""
_PATTERNS = tuple((name, re.compile(f"(?m:{lines})")) for name, lines in _SYSTEMS)


def other_system(text: str) -> str:
    """Return the system without a back end that printed a text; "" for none that is known."""
    return next((name for name, lines in _PATTERNS if lines.search(text)), "")


def read_getter(text: str, products: Callable[[str], tuple[str, ...]]) -> Output | None:
    """Read an answer; return None for any other text. `products`: maps the name of a box, as its system does."""
    if '"remote_system_name"' not in text and '"os_version"' not in text:
        return None
    answer = parse_json(text)
    if not isinstance(answer, dict):
        return None
    answer = answer.get("get_facts") or answer.get("get_lldp_neighbors_detail") or answer
    if isinstance(answer.get("os_version"), str):
        names = products(box) if (box := leaf_text(answer, "model")) else ()
        return Output(
            Identity(leaf_text(answer, "hostname"), box if names else "", answer["os_version"], names)
        )
    rows = [
        (
            port,
            leaf_text(far, "remote_system_name", "remote_chassis_id"),
            leaf_text(far, "remote_port", "remote_port_description"),
        )
        for port, seen in answer.items()
        for far in (seen if isinstance(seen, list) else ())
    ]
    return Output(neighbors=find_neighbors(text, rows))


_LINE = re.compile(
    r"Interface:\s+(?P<port>[^,\s]+), via: LLDP|SysName:\s+(?P<device>.+)|PortID:\s+(?:ifname|local) (?P<far_port>.+)"
    r"|ChassisID:\s+mac (?P<chassis>.+)"
)
_KEY = re.compile(
    r"lldp\.(?P<port>[^=]+?)\.(?:chassis\.name=(?P<device>.+)|chassis\.mac=(?P<chassis>.+)"
    r"|port\.(?:ifname|local)=(?P<far_port>.+))"
)
_SONIC_HEADER = re.compile(r"^LocalPort\s+RemoteDevice\s+RemotePortID")
_SONIC_ROW = re.compile(
    r"(?!Total )(?P<port>\S+) +(?P<device>\S+) +(?P<far_port>\S.*?)(?: {2,}[A-Z]+(?: {2,}.*)?)?\s*$"
)


def parse_lldpd(text: str) -> tuple[SeenNeighbor, ...]:
    """Return the neighbors in an output; empty for any other text."""
    if '"lldp"' in text:
        return find_neighbors(text, _read_json_answer(parse_json(text)))
    if "via: LLDP" in text:
        return parse_details(text, _LINE)
    if "RemotePortID" in text:
        rows = parse_table(text, _SONIC_HEADER, _SONIC_ROW)
        return tuple(row for row in rows if row.port.strip("-") and ":" not in row.port)
    return _of_keys(text) if "lldp." in text else ()


def _read_json_answer(answer: Any) -> Iterator[tuple[str, str, str]]:
    """Read `json` (names are keys, one interface is no list) and `json0` (everything is a list)."""
    for interface in values_under(answer, "interface"):
        if not isinstance(interface, dict):
            continue
        name = interface.get("name")
        for port, fields in [(name, interface)] if isinstance(name, str) else list(interface.items()):
            for chassis, far_port in _parse_ends(fields):
                yield port, chassis, far_port


def _parse_ends(answer: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(answer, dict):
        return
    chassis, port = answer.get("chassis"), answer.get("port")
    chassis = chassis[0] if isinstance(chassis, list) and chassis else chassis
    port = port[0] if isinstance(port, list) and port else port
    if not isinstance(chassis, dict):
        return
    who = leaf_text(chassis, "name")
    if not who and "id" not in chassis and len(chassis) == 1:
        ((who, _),) = chassis.items()
    yield str(who) or leaf_text(chassis, "id"), leaf_text(port, "id") or leaf_text(port, "descr")


def _of_keys(text: str) -> tuple[SeenNeighbor, ...]:
    neighbors: dict[str, dict[str, str]] = {}
    at: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if (match := _KEY.match(line.strip())) and match.lastgroup:
            neighbors.setdefault(match["port"], {})[match.lastgroup] = match[match.lastgroup]
            at.setdefault(match["port"], number)
    return tuple(
        SeenNeighbor(
            port, fields.get("device") or fields.get("chassis", ""), fields.get("far_port", ""), at[port]
        )
        for port, fields in neighbors.items()
    )
