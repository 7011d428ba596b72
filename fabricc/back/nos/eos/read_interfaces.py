"""Reads interface blocks: own lines, and the facts of the QoS and buffer profiles they use."""

# ruff: noqa: ARG001 (the handlers of a table share one signature)

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.eos import marking
from fabricc.back.nos.eos.read_blocks import nested
from fabricc.back.nos.eos.read_qos import ECN_COUNTER
from fabricc.back.nos.eos.vocabulary import DEFAULT_MTU, MANAGEMENT_VRF, SPEED_OF
from fabricc.back.nos.isolation import state_isolation
from fabricc.fabric.paths import alike, port_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.back.nos.cli_dialect.document import Put
    from fabricc.back.nos.eos.reading import Document
    from fabricc.fabric.facts import Value
    from fabricc.fabric.paths import Alike

    Handler = Callable[["InterfaceBlock", list[str], str, int], bool]

_LOOPBACK = "Loopback0"
_LEAK = re.compile(r"\bleak routes\b|\begress-vrf\b")
_MMU_QUEUE = ["platform", "trident", "mmu", "queue"]
_ECN_DELAY = ["random-detect", "ecn", "delay", "threshold"]
# The words before and after the name of a buffer profile that an interface applies.
_APPLYING: tuple[tuple[list[str], list[str]], ...] = ((["interface-profile"], []), (["profile"], ["apply"]))


class InterfaceBlock:
    """One interface; facts that need other blocks wait for `finish_interfaces`."""

    __slots__ = (
        "delay",
        "delay_count",
        "enabled",
        "facts",
        "ipv4",
        "ipv6",
        "link_local",
        "mmu_profile",
        "number",
        "qos_profile",
        "queue",
        "vrf",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.facts: dict[str, tuple[Value, int]] = {}
        self.delay: tuple[int, int] | None = None
        self.delay_count = 0
        self.enabled = ("true", 0)
        self.ipv4: tuple[str, int] | None = None
        self.ipv6: tuple[str, int] | None = None
        self.link_local: int | None = None
        self.qos_profile: str | None = None
        self.mmu_profile: str | None = None
        self.vrf: str | None = None
        self.queue = ""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """One line of the interface; a deeper one counts the ECN marks of the queue last named."""
        if nested(raw):
            self.facts[f"queue[{self.queue}]/ecn_count"] = ("true", number)
            return " ".join(words) == ECN_COUNTER
        handler = _HANDLERS.get(words[0])
        return handler is not None and handler(self, words, raw, number)


def _description(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.facts["description"] = (raw.strip().partition(" ")[2], number)
    return True


def _shutdown(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.enabled = ("false", number)
    return len(words) == 1


def _no(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if words == ["no", "shutdown"]:
        block.enabled = ("true", number)
        return True
    if words == ["no", "switchport"]:
        block.facts["routed"] = ("true", number)
        return True
    return words == ["no", "error-correction", "encoding"]


def _mtu(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if len(words) != 2 or not words[1].isdecimal():
        return False
    block.facts["mtu"] = (int(words[1]), number)
    return True


def _speed(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if len(words) != 2 or words[1] not in SPEED_OF:
        return False
    gbps, lanes = SPEED_OF[words[1]]
    block.facts["speed_gbps"] = (gbps, number)
    block.facts["lanes"] = (lanes, number)
    return True


def _fec(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if words[1:] != ["encoding", "reed-solomon"]:
        return False
    block.facts["fec"] = ("rs", number)
    return True


def _ip(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if len(words) != 3 or words[1] != "address":
        return False
    block.ipv4 = (words[2], number)
    return True


def _ipv6(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if words == ["ipv6", "enable"]:
        block.link_local = number
        return True
    if len(words) != 3 or words[1] != "address":
        return False
    block.ipv6 = (words[2], number)
    return True


def _service_profile(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.qos_profile = words[-1]
    return len(words) == 2


def _platform(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    """`… interface-profile NAME`, or `… profile NAME apply` as in the global line."""
    if words[:4] != _MMU_QUEUE or len(words) < 6 or (words[4:5], words[6:]) not in _APPLYING:
        return False
    block.mmu_profile = words[5]
    return True


def _random_detect(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    """`random-detect ecn delay threshold N UNIT` of all queues of the port, or the count of its marks."""
    if " ".join(words) == ECN_COUNTER:
        block.delay_count = number
        return True
    if words[:4] != _ECN_DELAY or len(words) != 6 or (threshold_us := marking.read(*words[4:])) is None:
        return False
    block.delay = (threshold_us, number)
    return True


def _vrf(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.vrf = words[-1]
    return len(words) == 2


def _queue(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.queue = words[-1]
    return len(words) == 2 and words[1].isdecimal()


_HANDLERS: dict[str, Handler] = {
    "description": _description,
    "error-correction": _fec,
    "ip": _ip,
    "ipv6": _ipv6,
    "mtu": _mtu,
    "no": _no,
    "platform": _platform,
    "random-detect": _random_detect,
    "service-profile": _service_profile,
    "shutdown": _shutdown,
    "speed": _speed,
    "tx-queue": _queue,
    "uc-tx-queue": _queue,
    "vrf": _vrf,
}


def finish_interfaces(document: Document) -> None:
    """State the facts of all interfaces; a profile's facts carry the profile's lines."""
    put = document.put
    if document.default_mmu:
        name, line = document.default_mmu
        stated = document.mmu_profiles[name].stated() if name in document.mmu_profiles else ()
        for path, value, _ in stated:
            if path == "headroom/xoff_bytes":
                put("platform/default_headroom_bytes", value, line)
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    used: dict[tuple[str, str], _Copied] = {}
    for name, block in document.interfaces.items():
        if name == _LOOPBACK:
            _loopback(block, put)
        elif name.startswith("Management"):
            address = block.ipv4 or block.ipv6
            if block.vrf == MANAGEMENT_VRF and address:
                put("management/address", *address)
                put("management/interface", name, block.number)
            if address:
                apart = block.vrf == MANAGEMENT_VRF and "platform/management_vrf" in document.reading.facts
                state_isolation(document.reading, apart, (document.file, address[1]), _LEAK)
        elif block.facts or block.ipv4 or block.ipv6 or block.link_local or block.qos_profile:
            paths = port_paths(name)
            for leaf, (value, line) in _own_facts(block):
                path = paths[leaf]
                facts[path] = value
                lines[path] = (file, line)
            profiles = (block.qos_profile or "", _mmu_profile(document, block))
            copied = used.get(profiles)
            if copied is None:
                copied = used[profiles] = _copied(document, *profiles)
            facts.update(copied.facts[name])
            lines.update(copied.lines[name])
            if block.delay or block.delay_count:
                _delay(document, name, block)


def _delay(document: Document, name: str, block: InterfaceBlock) -> None:
    """What marking by delay states of the port's queues, in bytes at its speed, and whether its marks are counted."""
    profile = document.qos_profiles.get(block.qos_profile or "")
    queues = profile.queues if profile else {}
    waiting = [
        index
        for index, queue in queues.items()
        if profile and marking.marked(strict=queue.strict, stopped=index in profile.stopped)
    ]
    prefix = f"interface[{name}]/"
    if block.delay_count:
        for index in waiting:
            document.put(f"{prefix}queue[{index}]/ecn_count", "true", block.delay_count)
    if block.delay is None:
        return
    threshold_us, line = block.delay
    document.put(prefix + "ecn_delay_us", threshold_us, line)
    speed = block.facts.get("speed_gbps")
    if speed is None:
        return
    held = marking.thresholds(threshold_us, int(speed[0]))
    for index in waiting:
        document.put(f"{prefix}queue[{index}]/ecn_min_bytes", held.min_bytes, line)
        document.put(f"{prefix}queue[{index}]/ecn_max_bytes", held.max_bytes, line)
        document.put(f"{prefix}queue[{index}]/ecn_max_percent", held.max_percent, line)


class _Copied(NamedTuple):
    """What the profiles of an interface state about it, and where it stands."""

    facts: Alike[Value]
    lines: Alike[tuple[str, int]]


def _copied(document: Document, qos: str, mmu: str) -> _Copied:
    profiles = (document.qos_profiles.get(qos), document.mmu_profiles.get(mmu))
    stated = [each for profile in profiles if profile for each in profile.stated()]
    leaves = tuple([leaf for leaf, _, _ in stated])
    values = tuple([value for _, value, _ in stated])
    places = tuple([(document.file, line) for _, _, line in stated])
    return _Copied(alike(leaves, values), alike(leaves, places))


def _mmu_profile(document: Document, block: InterfaceBlock) -> str:
    """Name of the buffer profile in force: its own, or the default, which matters where PFC is on."""
    if block.mmu_profile or document.default_mmu is None:
        return block.mmu_profile or ""
    profile = document.qos_profiles.get(block.qos_profile or "")
    return document.default_mmu[0] if profile and profile.no_drop else ""


def _own_facts(block: InterfaceBlock) -> list[tuple[str, tuple[Value, int]]]:
    """What the interface's own lines state: the rest of the path, value and line."""
    stated: list[tuple[str, tuple[Value, int]]] = [
        ("enabled", (block.enabled[0], block.enabled[1] or block.number)),
        *block.facts.items(),
    ]
    if block.ipv4:
        stated.append(("ipv4", block.ipv4))
    if block.ipv6:
        stated.append(("ipv6", block.ipv6))
    elif block.link_local:
        stated.append(("unnumbered", ("true", block.link_local)))
    elif block.ipv4 is None and block.link_local is None:
        return stated
    if "mtu" not in block.facts:
        stated.append(("mtu", (DEFAULT_MTU, block.number)))
    return stated


def _loopback(block: InterfaceBlock, put: Put) -> None:
    if block.ipv4:
        put("loopback/ipv4", *block.ipv4)
    if block.ipv6:
        put("loopback/ipv6", *block.ipv6)
