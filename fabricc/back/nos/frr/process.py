"""Collects what the lines of `router bgp` say and resolves peer groups and defaults into facts."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.defaults import BFD_INTERVAL_MS, BFD_MULTIPLIER
from fabricc.base.values import dataclass
from fabricc.fabric.facts import boolean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Reading, Value

Stated = tuple[str | int, int]  # a value and the line that states it


@dataclass(slots=True)
class Speaker:
    """What is stated of one neighbour or one peer group.

    Attributes:
        line: where it is first named.
        settings: name -> value, for what holds in every address family.
        families: address family -> name -> value.
    """

    line: int
    group: str | None = None
    settings: dict[str, Stated] = field(default_factory=dict)
    families: dict[str, dict[str, Stated]] = field(default_factory=dict)


@dataclass(slots=True)
class BfdProfile:
    """Timers of one BFD profile, milliseconds; FRR's defaults until stated."""

    line: int
    transmit_ms: int = BFD_INTERVAL_MS
    receive_ms: int = BFD_INTERVAL_MS
    multiplier: int = BFD_MULTIPLIER


@dataclass(slots=True)
class Process:
    """One `router bgp` block.

    Attributes:
        line: of `router bgp`.
        default_ipv4: whether sessions carry IPv4 unless told otherwise.
        families: address family -> name -> value, of the process itself.
        speakers: neighbours and peer groups by name; `groups` are the names of the latter.
    """

    asn: int
    line: int
    relax_line: int | None = None
    timers: tuple[int, int, int] | None = None
    router_id: Stated | None = None
    default_ipv4: bool = True
    aggregates: dict[str, Stated] = field(default_factory=dict)
    families: dict[str, dict[str, Stated]] = field(default_factory=dict)
    speakers: dict[str, Speaker] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)

    def speaker(self, name: str, line: int) -> Speaker:
        """The neighbour or group of that name, new at its first mention."""
        return self.speakers.setdefault(name, Speaker(line))

    def state(
        self,
        reading: Reading,
        file: str,
        default_timers: tuple[int, int],
        multipath_limit: int,
        profiles: dict[str, BfdProfile],
    ) -> None:
        """Put the facts of the process, its neighbours and their BFD timers."""
        reading.put("bgp/asn", self.asn, file, self.line)
        if self.router_id:
            reading.put("bgp/router_id", self.router_id[0], file, self.router_id[1])
        keepalive, hold, at = self.timers or (*default_timers, self.line)
        reading.put("bgp/keepalive_s", keepalive, file, at)
        reading.put("bgp/hold_s", hold, file, at)
        relaxed = self.relax_line is not None
        reading.put("bgp/multipath_relax", boolean(relaxed), file, self.relax_line or self.line)
        for prefix, (value, line) in self.aggregates.items():
            reading.put(f"bgp/aggregate[{prefix}]", value, file, line)
        paths = {f: stated.get("paths", (multipath_limit, self.line)) for f, stated in self.families.items()}
        self._put_joint(reading, "bgp/maximum_paths", paths, file)
        connected = {f: stated.get("connected") for f, stated in self.families.items()}
        self._put_joint(reading, "bgp/redistribute_connected", connected, file)
        self._ttl_security(reading, file)
        for name in sorted(self.groups):
            for key in ("bfd_on", "bfd_profile"):
                if stated := self.speakers[name].settings.get(key):
                    reading.put(f"structure/bgp_group[{name}]/{key}", stated[0], file, stated[1])
        used = [self._neighbor(reading, name, file) for name in sorted(self.speakers.keys() - self.groups)]
        self._bfd(reading, file, [stated for stated in used if stated], profiles)

    def _ttl_security(self, reading: Reading, file: str) -> None:
        """State that sessions are guarded when one speaker says so; each neighbour has a fact of its own beside it."""
        for speaker in self.speakers.values():
            if stated := speaker.settings.get("ttl_security_hops"):
                reading.put("bgp/ttl_security", "true", file, stated[1])

    def _neighbor(self, reading: Reading, name: str, file: str) -> Stated | None:
        """Put the facts of one neighbour; its BFD profile ("" for none) when it runs BFD."""
        own = self.speakers[name]
        group = self.speakers.get(own.group) if own.group else None
        sources = [own, group] if group else [own]
        settings = {key: value for source in reversed(sources) for key, value in source.settings.items()}
        prefix = f"bgp/neighbor[{name}]/"
        for key in ("remote_asn", "description", "ttl_security_hops"):
            if stated := settings.get(key):
                reading.put(prefix + key, stated[0], file, stated[1])
        bfd = settings.get("bfd")
        reading.put(prefix + "bfd", boolean(bfd is not None), file, bfd[1] if bfd else own.line)
        names = {"ipv4", *(family for source in sources for family in source.families)}
        default: dict[str, Stated] = {"activate": ("true", own.line)} if self.default_ipv4 else {}
        active: dict[str, dict[str, Stated]] = {}
        for family in sorted(names):
            merged = dict(default) if family == "ipv4" else {}
            for source in reversed(sources):
                merged |= source.families.get(family, {})
            if merged.get("activate", ("false", 0))[0] == "true":
                active[family] = merged
        if active:
            first = next(iter(active.values()))
            reading.put(prefix + "families", ",".join(active), file, first["activate"][1])
        for key in ("import", "export", "maximum_prefixes"):
            self._put_joint(reading, prefix + key, {f: stated.get(key) for f, stated in active.items()}, file)
        return bfd

    @staticmethod
    def _bfd(reading: Reading, file: str, used: list[Stated], profiles: dict[str, BfdProfile]) -> None:
        """Put the BFD timers of the neighbours' profiles, or of all profiles when no neighbour runs BFD."""
        found: dict[tuple[Value, int], int] = {}
        chosen = dict(used) if used else {name: profile.line for name, profile in profiles.items()}
        for name, line in chosen.items():
            profile = profiles.get(str(name), BfdProfile(line))
            interval: Value = profile.transmit_ms
            if profile.receive_ms != profile.transmit_ms:
                interval = f"transmit {profile.transmit_ms} receive {profile.receive_ms}"
            found.setdefault((interval, profile.multiplier), profile.line)
        if not found:
            return
        line = next(iter(found.values()))
        intervals = sorted({interval for interval, _ in found}, key=str)
        multipliers = sorted({multiplier for _, multiplier in found})
        reading.put("bfd/interval_ms", _one_or_all(intervals), file, line)
        reading.put("bfd/multiplier", _one_or_all(multipliers), file, line)

    @staticmethod
    def _put_joint(reading: Reading, path: str, by_family: Mapping[str, Stated | None], file: str) -> None:
        """Put one value for all families, or each family's own where they differ; nothing when none states one."""
        stated = [value for value in by_family.values() if value]
        if not stated:
            return
        values = {value[0] if value else None for value in by_family.values()}
        if len(values) == 1:
            reading.put(path, stated[0][0], file, stated[0][1])
            return
        text = ", ".join(f"{f} {value[0] if value else 'none'}" for f, value in sorted(by_family.items()))
        reading.put(path, text, file, stated[0][1])


def _one_or_all(values: list[Value] | list[int]) -> Value:
    return values[0] if len(values) == 1 else ", ".join(map(str, values))
