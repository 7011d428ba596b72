"""NVUE's RoCE profile: the settings of `qos roce` on every port, by its mode, unless other lines override them.

Figures are those of the chapter "RDMA over Converged Ethernet - RoCE" of NVIDIA's Cumulus Linux 5.14 user guide; what
it does not state is not stated here: sizes of headroom and pools, and all of the mode `lossy-multi-tc`.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import startup
from fabricc.back.nos.cumulus.foreign.beyond import list_statements
from fabricc.back.nos.cumulus.words import GLOBAL
from fabricc.back.reading.tree import find_node
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.fabric.model import Direction, Switch
from fabricc.fabric.qos import Ecn, TrafficClass, VendorPolicy
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.fabric.facts import Facts, Reading, Value

    _PlacedText = tuple[str, int]

LOSSY, LOSSLESS, ONE_POOL = "lossy", "lossless", "lossless-single-ipool"
ROCE, CNP = 3, 6
"""Switch priorities with a separate traffic class; all others share class 0."""
MARKING = {
    "min-threshold": ("ecn_min_bytes", 150_000), "max-threshold": ("ecn_max_bytes", 1_501_500),
    "probability": ("ecn_max_percent", 100),
}  # fmt: skip
"""Word of a marking profile -> leaf and value of what the class of RoCE has."""
SCHEDULERS = {0: "dwrr 50", ROCE: "dwrr 50", CNP: "strict"}
CABLE_M = 100
_SOURCE = "NVIDIA, Cumulus Linux 5.14, RDMA over Converged Ethernet"
_SHARE = 50
_REST = tuple(dscp for dscp in range(64) if dscp // 8 not in (ROCE, CNP))
VENDOR_POLICY = VendorPolicy(
    command="`qos roce`",
    classes=(
        TrafficClass("default", 0, _REST, 0, False, False, _SHARE, False, False),
        TrafficClass("rdma", ROCE, tuple(range(24, 32)), 26, True, False, _SHARE, True, False),
        TrafficClass("cnp", CNP, tuple(range(48, 56)), 48, False, True, 0, False, True),
    ),
    ecn=Ecn(MARKING["min-threshold"][1], MARKING["max-threshold"][1], MARKING["probability"][1]),
    cable_m=CABLE_M,
    source=_SOURCE,
)
"""Settings of `qos roce` in the mode `lossless`."""
_OFF = (("enable", "off"), ("state", "disabled"))
_PORT = re.compile(r"swp[0-9]+(s[0-9]+)?")
_PARTS = re.compile(r"([248])x.*")
_LEAVES = {
    "pfc": ("pfc", "headroom/", "qos_setting[pfc"), "congestion-control": ("ecn_",), "mapping": ("trust",),
    "egress-scheduler": ("scheduler",),
}  # fmt: skip
"""Feature -> parts of the leaves that a port with its own profile does not take from the global one."""


@dataclass(slots=True)
class _Switch:
    """The statements of a file about the profile, and related ones.

    Attributes:
        words: of the profile -> the words after them.
        ports: with their features that have their own profile.
        priorities: that the global PFC profile names, and the line; `pfc`: its other words.
        marking: (traffic class, word) of the global marking profile.
    """

    words: dict[str, str] = field(default_factory=dict)
    ports: dict[str, set[str]] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    pfc: dict[str, _PlacedText] = field(default_factory=dict)
    marking: dict[tuple[str, str], _PlacedText] = field(default_factory=dict)

    @property
    def mode(self) -> str:
        """The mode that is on; "" for none."""
        off = any(self.words.get(word) == value for word, value in _OFF)
        return "" if off else self.words.get("mode", LOSSLESS)


def vendor_tree(policy: VendorPolicy, ecn: Ecn, release: Release) -> startup.Tree:
    """Return what is below `qos` for the RoCE profile, with only the figures that differ from its own."""
    tree: startup.Tree = {"roce": {release.enable: release.on, "mode": LOSSLESS}}
    if has_own_marking(ecn):
        tree["congestion-control"] = {
            GLOBAL: {
                "traffic-class": {
                    str(ROCE): {
                        "max-threshold": ecn.max_bytes,
                        "min-threshold": ecn.min_bytes,
                        "probability": ecn.max_percent,
                    }
                }
            }
        }
    if policy.cable_m != CABLE_M:
        tree["pfc"] = {GLOBAL: {"cable-length": policy.cable_m}}
    return tree


def has_own_marking(ecn: Ecn) -> bool:
    """Return whether thresholds are others than those of the RoCE profile."""
    return replace(ecn, above_pause=False) != VENDOR_POLICY.ecn


def adjust_to_profile(policy: VendorPolicy, shared: Facts) -> None:
    """Change what ports state to what the RoCE profile sets: sizes of headroom are its own."""
    for path in [path for path in shared if path.startswith("headroom/")]:
        del shared[path]
    shared["headroom/cable_m"] = policy.cable_m


def state_profile(facts: Facts, switch: Switch, policy: VendorPolicy, ecn: Ecn) -> None:
    """Change the facts of the whole switch to those of the RoCE profile, which holds on unused ports too."""
    for path in [path for path in facts if path.startswith("pool/") or path.endswith("/priority_group")]:
        del facts[path]
    facts["qos/roce"] = LOSSLESS
    facts[f"pool[lossless]/priority[{ROCE}]"] = "true"
    if has_own_marking(ecn):
        facts[f"qos/marking[{GLOBAL}]/queue[{ROCE}]"] = "stated"
    for dscp in range(64):
        facts[f"qos/dscp[{dscp}]/traffic_class"] = dscp // 8
    for priority in range(8):
        facts[f"qos/traffic_class[{priority}]/queue"] = priority if priority in (ROCE, CNP) else 0
    every: Facts = {
        "trust": "dscp", "pfc": str(ROCE), "headroom/cable_m": policy.cable_m,
        f"queue[{ROCE}]/ecn_min_bytes": ecn.min_bytes, f"queue[{ROCE}]/ecn_max_bytes": ecn.max_bytes,
        f"queue[{ROCE}]/ecn_max_percent": ecn.max_percent,
        **{f"queue[{queue}]/scheduler": how for queue, how in SCHEDULERS.items()}, "watchdog": "true",
    }  # fmt: skip
    for port in switch.ports:
        if port.direction is Direction.UNUSED:
            paths = port_paths(port.name)
            facts.update((paths[leaf], value) for leaf, value in every.items())


def expand_roce(text: str, file: str, reading: Reading) -> None:
    """Add what the RoCE profile of a configuration sets, at its line."""
    profile = find_node(startup.parse_startup(text).nodes, "set", "qos", "roce")
    if profile is None:
        return
    switch, line = _read_switch(text), profile.line
    if switch.mode not in (LOSSY, LOSSLESS, ONE_POOL):
        return

    def put(path: str, value: Value, line: int = line) -> None:
        if path not in reading.facts:
            reading.put(path, value, file, line)

    for dscp in range(64):
        put(f"qos/dscp[{dscp}]/traffic_class", dscp // 8)
    for priority in range(8):
        put(f"qos/traffic_class[{priority}]/queue", priority if priority in (ROCE, CNP) else 0)
    stated = list(_marking_facts(switch, line))
    if switch.mode != LOSSY:
        priorities = switch.priorities or {str(ROCE): line}
        stated += _pfc_facts(switch, priorities, line)
        for name, at in priorities.items():
            queue = reading.facts.get(f"qos/traffic_class[{name}]/queue", ROCE)
            put(f"qos/pfc_priority[{name}]/queue", queue, at)
    if switch.mode == LOSSLESS:
        put(f"pool[lossless]/priority[{ROCE}]", "true")
    stated += [("trust", "dscp", line)]
    stated += [(f"queue[{queue}]/scheduler", how, line) for queue, how in SCHEDULERS.items()]
    for port, own in switch.ports.items():
        without = tuple(part for feature in own for part in _LEAVES.get(feature, ()))
        for leaf, value, at in stated:
            if not any(part in leaf for part in without):
                put(f"interface[{port}]/{leaf}", value, at)
        watchdog = reading.facts.get(f"interface[{port}]/qos_setting[pfc-watchdog]")
        if watchdog == "state enable" and f"interface[{port}]/pfc" in reading.facts:
            at = reading.lines[f"interface[{port}]/qos_setting[pfc-watchdog]"][1]
            put(f"interface[{port}]/watchdog", "true", at)
        trust = f"interface[{port}]/trust"
        if reading.facts.get(trust) == "both":  # the code point, where there is one
            reading.facts[trust] = "dscp"


def _read_switch(text: str) -> _Switch:
    switch, split = _Switch(), dict[str, int]()
    for node in list_statements(text):
        match node.key:
            case ("qos", "roce", "cable-length", value):  # of releases before 5.4
                switch.pfc["roce cable-length"] = value, node.line
            case ("qos", "roce", word, value):
                switch.words[word] = value
            case ("interface", port, *rest) if _PORT.fullmatch(port):
                own = switch.ports.setdefault(port, set())
                if rest[:2] == ["link", "breakout"] and len(rest) > 2 and (mode := _PARTS.fullmatch(rest[2])):
                    split[port] = int(mode[1])
                if len(rest) > 2 and rest[0] == "qos" and rest[2] == "profile":
                    own.add(rest[1])
            case ("qos", "pfc", "default-global", "switch-priority", key, *_):
                switch.priorities |= {
                    each: node.line for each in startup.expand_members(key) if is_number(each)
                }
            case ("qos", "pfc", "default-global", word, value):
                switch.pfc[word] = value, node.line
            case ("qos", "congestion-control", "default-global", "traffic-class", key, word, value):
                switch.marking |= {(each, word): (value, node.line) for each in startup.expand_members(key)}
    for port, parts in split.items():  # a split port is no port, and its parts may be named nowhere else
        own = switch.ports.pop(port, set())
        for part in range(parts):
            switch.ports.setdefault(f"{port}s{part}", set()).update(own)
    return switch


def _marking_facts(switch: _Switch, line: int) -> Iterator[tuple[str, Value, int]]:
    """Leaf, value and line of how the class of RoCE is marked on every port."""
    stored = {word: at for (queue, word), at in switch.marking.items() if queue == str(ROCE)}
    if stored.get("ecn", ("", 0))[0] == "disable":
        return
    if stored.get("red", ("", 0))[0] == "enable":
        yield f"queue[{ROCE}]/lossy_buffer", "with RED", stored["red"][1]
    for word, (leaf, value) in MARKING.items():
        yield f"queue[{ROCE}]/{leaf}", *_number_or_default(stored.get(word), (value, line))


def _pfc_facts(switch: _Switch, priorities: dict[str, int], line: int) -> Iterator[tuple[str, Value, int]]:
    """Yield leaf, value and line of PFC on every port; a single direction is stated as such."""
    off = [at for way in ("rx", "tx") for value, at in (switch.pfc.get(way, ("", 0)),) if value == "disable"]
    leaf = "qos_setting[pfc one way]" if off else "pfc"
    yield leaf, ",".join(sorted(priorities)), off[0] if off else min(priorities.values())
    stated = switch.pfc.get("cable-length", switch.pfc.get("roce cable-length"))
    yield "headroom/cable_m", *_number_or_default(stated, (CABLE_M, line))


def _number_or_default(placed: _PlacedText | None, usual: tuple[int, int]) -> tuple[int, int]:
    """Return a number and its line from a file, else the defaults."""
    return (int(placed[0]), placed[1]) if placed and is_number(placed[0]) else usual
