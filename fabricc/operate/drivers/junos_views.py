"""Read Junos's XML and text answers: routes, lossless classes and the device's own health."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, PFC_RX, PFC_TX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.operate.drivers.lossless import Tally

PORTS = "et-*"
QUEUES = "show interfaces queue"
TABLES = ("inet.0", "inet6.0")
_ACTIVE = ("*", "@")
_PORT = re.compile(r"Physical interface: ([^\s,]+)")
_QUEUE = re.compile(r"\s*Queue: (\d+)")
_COUNT = re.compile(r"\s*(Tail-dropped|RED-dropped|ECN-CE) packets\s*:\s*([\d,]+)")
_KINDS = {"Tail-dropped": DROPPED, "RED-dropped": DROPPED, "ECN-CE": ECN_MARKED}


def _iterate_elements(answer: Any, tag: str) -> Iterator[Any]:
    """Elements of an answer; PyEZ makes True of an empty one."""
    return iter(()) if answer is None or answer is True else answer.iter(tag)


def _element_text(node: Any, path: str) -> str:
    return (node.findtext(path) or "").strip()


def read_identity(answer: Any) -> dict[str, str]:
    """Return hostname and serial number of `show system information`, empty where the device does not report them."""
    if answer is None or answer is True:
        return {"hostname": "", "serial_number": ""}
    found = (next(iter(_iterate_elements(answer, tag)), None) for tag in ("host-name", "serial-number"))
    hostname, serial = ("" if one is None else (one.text or "").strip() for one in found)
    return {"hostname": hostname, "serial_number": serial}


def read_pfc(answer: Any, tally: Tally) -> None:
    """`show interfaces extensive`: the MAC's PFC frames by IEEE 802.1p code point."""
    for port in _iterate_elements(answer, "physical-interface"):
        name = _element_text(port, "name")
        for one in port.iter("ethernet-mac-pfc-statistics"):
            priority = _element_text(one, "mac-pfc-dot1p")
            tally.add(PFC_RX, name, priority, _element_text(one, "input-mac-pfc-frames"))
            tally.add(PFC_TX, name, priority, _element_text(one, "output-mac-pfc-frames"))


def read_queues(text: str, tally: Tally) -> None:
    """`show interfaces queue`: what each queue dropped and marked.

    Taken as text: of packets marked (`ECN-CE packets`), Juniper publishes the words and not the XML tag.
    """
    port = queue = ""
    for line in text.splitlines():
        if match := _PORT.match(line):
            port, queue = match[1], ""
        elif match := _QUEUE.match(line):
            queue = match[1]
        elif port and queue and (match := _COUNT.match(line)):
            tally.add(_KINDS[match[1]], port, queue, match[2])


def ecmp_widths(answer: Any) -> dict[str, int]:
    """Return prefix -> next hops of the active route, from `show route protocol bgp`."""
    found = {}
    for route in _iterate_elements(answer, "rt"):
        for entry in route.iter("rt-entry"):
            if (
                _element_text(entry, "active-tag") in _ACTIVE
                and _element_text(entry, "protocol-name") == "BGP"
            ):
                found[_element_text(route, "rt-destination")] = sum(1 for _ in entry.iter("nh"))
    return found


_REMINDERS = frozenset({"autorecovery", "configuration"})
"""Types of alarms that need a command; a new switch has some."""
_UNLICENSED = re.compile(r"usage requires a license\.?$", re.IGNORECASE)
"""How Junos ends the alarm of a feature without a license, which works all the same."""


def read_alarms(answer: Any) -> Iterator[str]:
    """Read `show chassis alarms` and `show system alarms`, without what is no fault, as a missing rescue configuration.

    Forms: answers of Junos 18 to 23 that others recorded. A missing license has the type `System` there, like faults,
    so only the end of its text differs, as on Juniper's page "show system alarms".
    """
    for one in _iterate_elements(answer, "alarm-detail"):
        text = _element_text(one, "alarm-description")
        if _element_text(one, "alarm-type").casefold() in _REMINDERS or _UNLICENSED.search(text):
            continue
        yield f"{_element_text(one, 'alarm-class')}: {text}"


def line_of(text: str, path: str, element: str) -> int:
    """Return the line of a configuration that an error names: `[edit system login]` and the element below; 0 for none.

    Where the path leads nowhere, the only line that begins with the element.
    """
    wanted = path.removeprefix("[edit").removesuffix("]").split()
    above: list[str] = []
    deepest, alone = 0, []
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.strip().rstrip("{;").split()
        inside = " ".join(above).split()
        if element and element in " ".join(words):
            if inside == wanted:
                return number
            alone.append(number)
        if raw.rstrip().endswith("{"):
            above.append(" ".join(words))
            if " ".join(above).split() == wanted:
                deepest = number
        elif raw.strip().startswith("}") and above:
            above.pop()
    return alone[0] if len(alone) == 1 else deepest
