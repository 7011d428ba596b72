"""Vocabulary of SONiC: a switch model's platform and port names, numbers and ranges of them, the names of tiers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Value
    from fabricc.fabric.model import Port
    from fabricc.fabric.qos import PortProfile

ROLES = ("ToRRouter", "LeafRouter", "SpineRouter")
"""`DEVICE_METADATA.type` of ToRs, spines and cores; orchagent derives the ECMP hash seed from it (0, 10, 25)."""
MAP = "AZURE"
"""SONiC's stock name for its maps and its cable table, which its own tools expect."""
DEFAULT_LLDP_S = 30
LLDP_RANGE_S = (5, 254)  # sonic-lldp.yang, hello_time
CERTIFICATES = {
    "ca_crt": "/etc/sonic/telemetry/dsmsroot.cer",
    "server_crt": "/etc/sonic/telemetry/streamingtelemetryserver.cer",
    "server_key": "/etc/sonic/telemetry/streamingtelemetryserver.key",
}
"""Where the gNMI container looks for its certificates (sonic-gnmi.yang; sonic-buildimage, gnmi-native.sh)."""
MODE = re.compile(r"(\d+)x(\d+)G(?:\[([^]]*)\])?(?:\(\d+\))?")
"""A breakout mode of `platform.json`: `NxS[other speeds](lanes)`."""


@lru_cache(maxsize=8192)
def number(text: str) -> Value:
    """An integer as SONiC writes it, or the text itself when it is none."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else text


def ranges(numbers: Sequence[int]) -> list[str]:
    """Ascending numbers as SONiC's keys write them: `[3, 4, 6]` is `3-4` and `6`."""
    runs: list[list[int]] = []
    for each in numbers:
        if runs and each == runs[-1][-1] + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


@lru_cache(maxsize=256)
def expand(numbers: str) -> range:
    """The numbers of a key's last part, `3` or `3-4`; none when it is neither."""
    first, _, last = numbers.partition("-")
    low, high = number(first), number(last or first)
    if isinstance(low, int) and isinstance(high, int) and 0 <= low <= high < 64:
        return range(low, high + 1)
    return range(0)


def lane_list(lanes: str | int | Sequence[int]) -> str:
    """Lanes of a service port, however the catalog writes them, as `PORT.lanes` has them."""
    if isinstance(lanes, str | int):
        return str(lanes)
    return ",".join(map(str, lanes))


def pg_profile_name(profile: PortProfile) -> str:
    """The name buffermgrd (traditional model) would give the profile, so that it takes ours and makes none itself."""
    return f"pg_lossless_{profile.speed_gbps * 1000}_{profile.headroom.cable_m}m_profile"


@dataclass(frozen=True, slots=True)
class Platform:
    """The `nos.sonic` settings of a switch model.

    Attributes:
        platform, hwsku: as in `DEVICE_METADATA`, from the ONIE platform string and its device folder.
        asic_vendor: `mellanox`, `broadcom`, …: what `ASIC_VENDOR` is in the device's containers.
        port_step: how far the number in a port's name advances from cage to cage.
        first_index: number of the first cage in `PORT.index`.
        alias, alias_style: pattern with `{cage}` and `{lane}` (the first, from 1), and what follows a pattern without
            `{lane}` for a part of a cage: `letters` (a, b, …), `lane` (`/` and first lane) or `plain` (`/` and child).
        lanes: ASIC lanes of each cage in panel order.
        breakouts: `children`x`speed` -> key of the port's `breakout_modes` in `platform.json`; empty where the
            platform has no such file.
        service_ports: the ports outside the fabric cages: name, lanes, alias, index, speed (Mb/s).
    """

    platform: str
    hwsku: str
    asic_vendor: str
    port_step: int
    first_index: int
    alias: str
    alias_style: str
    lanes: Sequence[Sequence[int]]
    breakouts: Mapping[str, str]
    service_ports: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, model: SwitchModel) -> Platform:
        """The settings of a model.

        Raises:
            KeyError: the model has no SONiC settings, or they lack a required one.
        """
        settings = model.nos["sonic"]
        return cls(
            platform=settings["platform"],
            hwsku=settings["hwsku"],
            asic_vendor=settings["asic_vendor"],
            port_step=settings["port_step"],
            first_index=settings.get("first_index", 1),
            alias=settings["alias"],
            alias_style=settings["alias_style"],
            lanes=settings["lanes"],
            breakouts=settings.get("breakouts", {}),
            service_ports=settings.get("service_ports", ()),
        )

    @property
    def mellanox(self) -> bool:
        """Whether the ASIC wants per-port profile lists and its own PFC priority map."""
        return self.asic_vendor == "mellanox"

    def cage_name(self, cage: int) -> str:
        """The name under which a cage appears in `platform.json` and `BREAKOUT_CFG`."""
        return f"Ethernet{(cage - 1) * self.port_step}"

    def port_lanes(self, port: Port) -> str:
        """ASIC lanes of a port, comma-joined as `PORT.lanes` has them."""
        first = (port.child - 1) * port.lanes
        return ",".join(map(str, self.lanes[port.cage - 1][first : first + port.lanes]))

    def port_index(self, port: Port) -> int:
        """Number of the port's transceiver, the same for all children of a cage."""
        return port.cage - 1 + self.first_index

    def port_alias(self, port: Port) -> str:
        """The label of a port on the front panel, unique on the switch."""
        lane = (port.child - 1) * port.lanes + 1
        alias = self.alias.format(cage=port.cage, lane=lane)
        if port.children == 1 or "{lane}" in self.alias:
            return alias
        if self.alias_style == "letters":
            return f"{alias}{chr(ord('a') + port.child - 1)}"
        return f"{alias}/{lane if self.alias_style == 'lane' else port.child}"

    def breakout_mode(self, children: int, speed_gbps: int) -> str | None:
        """The `platform.json` key that gives `children` ports of a speed; None when the platform has none."""
        if exact := self.breakouts.get(f"{children}x{speed_gbps}"):
            return exact
        for mode in self.breakouts.values():
            parts = MODE.fullmatch(mode)
            if not parts or int(parts[1]) != children:
                continue
            if f"{speed_gbps}G" in {f"{parts[2]}G", *(parts[3] or "").replace(" ", "").split(",")}:
                return mode
        return None


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """The name of a port: its number is the position of its first lane, in steps of the platform."""
    settings = model.nos["sonic"]
    step: int = settings["port_step"]
    group = next(g for g in model.cages if g.first <= cage < g.first + g.count)
    lanes = max((b.lanes for b in group.breakouts if b.children == children), default=group.lanes // children)
    return f"Ethernet{(cage - 1) * step + (child - 1) * lanes * step // group.lanes}"
