"""Read EOS's JSON answers about lossless classes, health and sessions, and write keys of servers as EOS stores them.

A session is open, committed, or waits for its confirmation. EOS stores a key of type 0 as type 7. Type 7 has a salt, so
the same key in clear text may be stored otherwise at each load, and an unchanged key would be a difference. It is
reversible and published; AVD and netutils read and write it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.lossless import ALL, DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS, CounterTotals


def read_pfc(answer: Mapping[str, Any], tally: CounterTotals) -> None:
    """`show priority-flow-control counters`: frames of all priorities together."""
    for port, counts in answer.get("interfaceCounters", {}).items():
        tally.add(PFC_RX, port, ALL, counts.get("rxFrames"))
        tally.add(PFC_TX, port, ALL, counts.get("txFrames"))


def read_watchdog(answer: Mapping[str, Any], tally: CounterTotals) -> None:
    """`show priority-flow-control counters watchdog`: a port is missing until its first storm."""
    if "interfaces" in answer:
        tally.state(STORMS)
    for port, one in answer.get("interfaces", {}).items():
        for queue, counts in one.get("txQueues", {}).items():
            tally.add(STORMS, port, queue, counts.get("stuckCount"))


VRF_ROUTES = ("show ip route vrf all", "show ipv6 route vrf all")


def router_macs(answers: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return VNI -> VTEP -> router MAC of routes by VXLAN, from the routes of all VRFs.

    Raises:
        NotImplementedError: the release does not print router MACs.
    """
    found: dict[str, dict[str, str]] = {}
    vias = [
        via
        for answer in answers
        for vrf in answer.get("vrfs", {}).values()
        for route in vrf.get("routes", {}).values()
        for via in route.get("vias", [])
        if "vtepAddr" in via and "vni" in via
    ]
    if vias and not any("routerMac" in via for via in vias):
        raise NotImplementedError
    for via in vias:
        if address := via.get("routerMac"):
            found.setdefault(str(via["vni"]), {})[str(via["vtepAddr"])] = str(address)
    return found


def read_marks(answer: Mapping[str, Any], tally: CounterTotals) -> None:
    """`show qos interfaces ecn counters queue`: a queue that does not mark has `-`."""
    for port, one in answer.get("intfQueueCounters", {}).items():
        for queue, count in one.get("queueCounters", {}).items():
            tally.add(ECN_MARKED, port, _class_number(queue), count)


def read_drops(answer: Mapping[str, Any], tally: CounterTotals) -> None:
    """`show interfaces counters queue detail`: packets dropped from egress queues of unicast."""
    for port, one in answer.get("egressQueueCounters", {}).get("interfaces", {}).items():
        for queue, counts in one.get("ucastQueues", {}).get("trafficClasses", {}).items():
            for level in counts.get("dropPrecedences", {}).values():
                tally.add(DROPPED, port, _class_number(queue), level.get("droppedPackets"))


def _class_number(queue: str) -> str:
    """`TC3`, `UC3` or `3` as `3`; a range of classes stays as it is."""
    match = re.fullmatch(r"[A-Za-z]*(\d+)", queue)
    return match[1] if match else queue


QUESTIONS: tuple[tuple[str, int, Callable[[Mapping[str, Any], CounterTotals], None]], ...] = (
    ("show priority-flow-control counters", 3, read_pfc),
    ("show priority-flow-control counters watchdog", 1, read_watchdog),
    ("show qos interfaces ecn counters queue", 1, read_marks),
    ("show interfaces counters queue detail", 1, read_drops),
)
"""Command, revision of its JSON, and its reader.

Fields as Arista's ANTA reads them (`VerifyInterfacesPFCCounters`, `VerifyInterfacesECNCounters`,
`VerifyInterfacesEgressQueueDrops`); those of the watchdog as users of it do, assumed for other releases.
"""


_PARTS = ("tempSensors", "cardSlots", "fanTraySlots", "powerSupplySlots")


def _measures(answer: Mapping[str, Any]) -> bool:
    """Return whether a status has a meaning: a virtual switch has no sensor, and an unknown status."""
    unknown = str(answer.get("systemStatus", "")).startswith("unknown")
    return not unknown or any(answer.get(part) for part in _PARTS)


def read_temperature(answer: Mapping[str, Any]) -> Iterator[str]:
    """`show system environment temperature`."""
    if (status := answer["systemStatus"]) != "temperatureOk" and _measures(answer):
        yield f"temperature: {status}"


def read_cooling(answer: Mapping[str, Any]) -> Iterator[str]:
    """`show system environment cooling`."""
    if (status := answer["systemStatus"]) != "coolingOk" and _measures(answer):
        yield f"cooling: {status}"


def read_power(answer: Mapping[str, Any]) -> Iterator[str]:
    """`show system environment power`."""
    for name, supply in answer["powerSupplies"].items():
        if (state := supply.get("state", "unknown")) != "ok":
            yield f"power supply {name}: {state}"


HEALTH: tuple[tuple[str, int, str, Callable[[Mapping[str, Any]], Iterator[str]]], ...] = (
    ("show system environment temperature", 1, "systemStatus", read_temperature),
    ("show system environment cooling", 1, "systemStatus", read_cooling),
    ("show system environment power", 1, "powerSupplies", read_power),
)
"""Command, revision of its JSON, the field that it must have, and its reader; fields as Arista's ANTA reads them."""


QUESTION = "show configuration sessions detail"
_LONGEST_S = 86400
_OPEN = "pending"
_WAITING = "pendingCommitTimer"
_COMMITTED = frozenset({"completed", "committed"})


@dataclass(frozen=True, slots=True)
class Sessions:
    """The configuration sessions of a switch.

    Attributes:
        states: name -> EOS's word for its state.
        waiting: the session whose commit waits for its confirmation, "" for none.
        until: when EOS takes that commit back, seconds of its clock; None where it does not report it.
    """

    states: Mapping[str, str]
    waiting: str = ""
    until: float | None = None

    def list_open(self) -> list[str]:
        """Return the sessions that are edited and not committed."""
        return [name for name, state in self.states.items() if state == _OPEN]

    def left_s(self, version: Mapping[str, Any]) -> float | None:
        """Return the seconds for which the commit still waits; None where they are not known.

        Args:
            version: the answer to `show version`, which has the time of EOS's clock.
        """
        times = version.get("bootupTimestamp"), version.get("uptime"), self.until
        started, uptime, until = (one if isinstance(one, int | float) else None for one in times)
        if started is None or uptime is None or until is None:
            return None
        left = until - started - uptime
        return left if 0 <= left <= _LONGEST_S else None

    def is_committed(self, name: str) -> bool:
        """Return whether the commit of a session took effect and waits for nothing."""
        return self.states.get(name) in _COMMITTED and name != self.waiting


def read_sessions(answer: Any) -> Sessions:
    """Read the JSON of `show configuration sessions detail`.

    Up to EOS 4.31 the session that waits has the state `pendingCommitTimer`. From 4.32 on it is `committed` as all
    others are, and `commitTimerSessionName` next to `sessions` names it while it waits (napalm issue 2166, which has
    both answers). Both forms are read whatever the release.

    Raises:
        AnswerError: it has another form, so nothing is known of the sessions.
    """
    sessions = answer.get("sessions") if isinstance(answer, dict) else None
    if not isinstance(sessions, dict):
        raise AnswerError(f"the answer to `{QUESTION}` has no sessions")
    states = {}
    for name, one in sessions.items():
        state = one.get("state") if isinstance(one, dict) else None
        if not isinstance(state, str):
            raise AnswerError(f"the answer to `{QUESTION}` has no state of session {name}")
        states[name] = state
    named = answer.get("commitTimerSessionName", "")
    if not isinstance(named, str):
        raise AnswerError(f"the answer to `{QUESTION}` has no name in commitTimerSessionName")
    waiting = named or next((name for name, state in states.items() if state == _WAITING), "")
    until = answer.get("commitTimerExpireTime", (sessions.get(waiting) or {}).get("commitBy"))
    return Sessions(states, waiting, until)


_SECRET = r"(?m)^((?:tacacs|radius)-server host \S+(?: vrf \S+)? key|ntp authentication-key \d+ \S+)"
_CLEAR = re.compile(_SECRET + r" 0 (\S+)[ \t]*$")
_STORED = re.compile(_SECRET + r" 7 (\S+)[ \t]*$")
_PAD = b"dsfd;kfoA,.iyewrkldJKDHSUBsgvca69834ncxv9873254k;fg87"
_SALT_DIGITS = 2


def holds_clear_keys(text: str) -> bool:
    """Return whether a configuration has the key of a server in clear text."""
    return _CLEAR.search(text) is not None


def write_stored_forms(plan: str, running: str) -> str:
    """Return a plan with the stored form of each key that the running configuration already has.

    Args:
        plan: the configuration, with keys in clear text.
        running: the running configuration.
    """
    stored = dict(_STORED.findall(running))

    def as_stored(match: re.Match[str]) -> str:
        form = stored.get(match[1], "")
        return f"{match[1]} 7 {form}" if form and decode_key(form) == match[2] else match[0]

    return _CLEAR.sub(as_stored, plan)


def decode_key(stored: str) -> str | None:
    """Return the clear text of a key of type 7; None for a text that is not of that type."""
    salt, digits = stored[:_SALT_DIGITS], stored[_SALT_DIGITS:]
    if not re.fullmatch(r"[0-9]{2}(?:[0-9A-Fa-f]{2})+", stored) or int(salt) >= len(_PAD):
        return None
    found = bytes(byte ^ _PAD[(int(salt) + at) % len(_PAD)] for at, byte in enumerate(bytes.fromhex(digits)))
    return found.decode("latin-1")
