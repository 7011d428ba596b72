"""What lines that no row reads state all the same: addresses, names in use, and statements of Junos not in force."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_ON_LINK = re.compile(r"on-?link", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:no )?(?:ip |ipv6 )?(?:address|unnumbered|dhcp client)\b|type: unnumbered"
    r"|(?:logical-systems \S+ )?interfaces? .*\b(?:address|dhcp)\b"
)
_EMPTY_LIST = re.compile(r"access list (\S+)")
_DEFINITION = re.compile(r"firewall(?: family \S+)?(?: filter \S+)?|policy-options(?: \S+ \S+)?")
_SESSIONS = re.compile(r"protocols bgp(?: group \S+)?(?: neighbor (\S+))?(?: (?:peer-as|type) \S+)?")
_PORT = re.compile(r"(?:class-of-service )?interfaces (?!lo0\b|interface-range\b)(\S*\d\S*)(?: .*)?")
_SERVICES = {"system ntp": "management/ntp", "system syslog host": "management/syslog"}
_MARK = "inactive: "
_COMMAND = "deactivate "
_LAST = chr(0x10FFFF)
"""Sorts behind all that begins with the same words."""
_SECTIONS = (
    "protocols bgp",
    "class-of-service",
    "policy-options",
    "routing-options",
    "firewall",
    "forwarding-options",
    "routing-instances mgmt_junos",
    "protocols lldp",
    "system ntp server",
    "system syslog host",
    "system management-instance",
    "interfaces lo0",
)
_PARTS = ("unit", "family", "address", "filter", "mtu", "number-of-sub-ports")
"""Words that follow the name of a port in a statement without which the port is up and carries nothing."""


def allows_on_link(text: str) -> bool:
    """Return whether a line states that next hops of a route need not be in a subnet of the port."""
    return _ON_LINK.search(text) is not None


def begins_address(text: str) -> bool:
    """Return whether a line gives a port an address."""
    return _ADDRESS.match(text.strip()) is not None


def undefined_list(text: str, files: Mapping[str, str]) -> str:
    """Return the access list that a line refers to and that no file defines, "" for none.

    Back ends name a reference to a list without rules among the lines that no row reads.
    """
    match = _EMPTY_LIST.fullmatch(text)
    if match is None:
        return ""
    defined = re.compile(rf"access-list (?:\S+ )?{re.escape(match[1])}\s*$", re.MULTILINE)
    return "" if any(map(defined.search, files.values())) else match[1]


class Inactive(NamedTuple):
    """An inactive statement: its file and line, its words, and how many lines it turns off."""

    file: str
    line: int
    words: str
    lines: int

    @property
    def is_bgp(self) -> bool:
        """Whether it is about BGP."""
        return self.words.startswith("protocols bgp")

    @property
    def defined(self) -> str:
        """The name of the filter or the policy that it defines, "" for anything else."""
        return self.words.split()[-1] if _DEFINITION.fullmatch(self.words) else ""

    @property
    def neighbor(self) -> str | None:
        """The neighbor whose session is down without it, "" for those of a group; None for anything else."""
        match = _SESSIONS.fullmatch(self.words)
        return (match[1] or "") if match else None

    @property
    def service(self) -> str:
        """The fact that another statement about the same service makes, "" for anything else."""
        return next((path for start, path in _SERVICES.items() if self.words.startswith(start)), "")

    @property
    def port(self) -> str:
        """The port that it is about, without its unit; "" for none."""
        match = _PORT.fullmatch(self.words)
        return match[1].partition(".")[0] if match else ""


def find_inactive(
    system: str, files: Mapping[str, str], unknown: Iterable[tuple[str, int, str]]
) -> Iterator[Inactive]:
    """Yield the inactive statements about sessions, policies, classes, filters, and addresses of ports.

    Junos keeps a statement with the tag `inactive:` and commits without it (CLI User Guide, "Deactivate").
    """
    back_end = nos.load(system) if system == "junos" else None
    if back_end is None or not hasattr(back_end, "reversals"):
        return
    inside: dict[str, list[tuple[int, str]]] = {}
    for file, number, text in unknown:
        if text.startswith((_MARK, _COMMAND)):
            inside.setdefault(file, []).append((number, text))
    for file, found in inside.items():
        commands = [(number, text.partition(" ")[2]) for number, text in found if text.startswith(_COMMAND)]
        ordered = sorted(words for _, words in commands)
        for number, words in commands:
            if _carries_traffic(words):
                below = bisect_left(ordered, f"{words}{_LAST}") - bisect_left(ordered, words)
                yield Inactive(file, number, words, below)
        heads = [each.line for each in back_end.reversals(file, files.get(file, ""))] if not commands else []
        for first, after in pairwise((*heads, len(files.get(file, "")) + 1)):
            own = sorted(text.partition(" ")[2] for number, text in found if first <= number < after)
            if words := next(filter(_carries_traffic, own), ""):
                yield Inactive(file, first, words, len(own))


def _carries_traffic(words: str) -> bool:
    section, _, rest = words.partition(" ")
    return words.startswith(_SECTIONS) or (
        section == "interfaces" and not set(_PARTS).isdisjoint(rest.split()[1:])
    )


def inactive_addresses(unknown: Iterable[tuple[str, int, str]], port: str) -> Iterator[str]:
    """Yield the addresses of a port that are inactive."""
    start = f"inactive: interfaces {port} "
    for _, _, text in unknown:
        if text.startswith(start) and " address " in text:
            yield text.rpartition(" ")[2].partition("/")[0]


class Reference(NamedTuple):
    """A use of a name: the kind of what it stands for, and the name."""

    kind: str
    name: str


_COS = "class-of-service "
_FORMS = (
    ("classifier", re.compile(_COS + r"interfaces \S+ unit \S+ classifiers dscp (\S+)")),
    ("scheduler map", re.compile(_COS + r"interfaces \S+(?: unit \S+)? scheduler-map (\S+)")),
    ("profile of PFC", re.compile(_COS + r"interfaces \S+ congestion-notification-profile (\S+)")),
    ("forwarding class", re.compile(_COS + r"scheduler-maps \S+ forwarding-class (\S+) scheduler \S+")),
    ("scheduler", re.compile(_COS + r"scheduler-maps \S+ forwarding-class \S+ scheduler (\S+)")),
    ("drop profile", re.compile(_COS + r"schedulers \S+ drop-profile-map .*drop-profile (\S+)")),
    ("forwarding class", re.compile(_COS + r"classifiers dscp \S+ forwarding-class (\S+) .+")),
    ("group", re.compile(r"apply-groups (\S+)")),
    ("class map", re.compile(r"class (?!class-|copp-|c-)(\S+)")),
)
_BUILT_IN = re.compile(
    r"default|dscp-\S+|ieee8021p-\S+|junos\S*|re[01]|node\d+|member\d+|\S+-(?:effort|forwarding|control)"
)
"""Names that a system defines itself (Junos CLI reference, "Default CoS settings" and `apply-groups`)."""


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the names that a line without a row uses, but those that the system defines."""
    found = ((kind, form.fullmatch(text)) for kind, form in _FORMS)
    return tuple(
        Reference(kind, match[1].strip("[]"))
        for kind, match in found
        if match and not _BUILT_IN.fullmatch(match[1])
    )
