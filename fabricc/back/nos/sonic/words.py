"""Vocabulary of SONiC: a switch model's platform and port names, numbers and ranges of them, the names of tiers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.catalog.model import CageGroup, SwitchModel
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
"""Paths of certificates of the gNMI container (sonic-gnmi.yang; sonic-buildimage, gnmi-native.sh)."""
MODE = re.compile(r"(\d{1,9})x(\d{1,9})G(?:\[([^]]*)\])?(?:\(\d+\))?")
"""A breakout mode of `platform.json`: `NxS[other speeds](lanes)`."""


@lru_cache(maxsize=8192)
def parse_number(text: str) -> Value:
    """Return an integer as SONiC writes it, or the text itself when it is none."""
    digits = text.removeprefix("-")
    return int(text) if is_number(digits) else text


@lru_cache(maxsize=256)
def expand_range(numbers: str) -> range:
    """Return the numbers of a key's last part, `3` or `3-4`; none when it is neither."""
    first, _, last = numbers.partition("-")
    low, high = parse_number(first), parse_number(last or first)
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
    return f"pg_lossless_{profile.speed_gbps * 1000}_{profile.cable_m}m_profile"


@dataclass(frozen=True, slots=True)
class Run:
    """A run of equal fabric cages, as SONiC numbers and labels them.

    Attributes:
        cages: the run, with the front-panel number of its first cage.
        position: fabric cages before it.
        number, step: number in the name of its first port, and how far it advances from cage to cage.
        alias: pattern of its labels, with `{cage}`, `{lane}` (the first, from 1) and `{child}`.
        modes: `children`x`speed` -> key of the port's `breakout_modes` in `platform.json`; empty where the
            platform has no such file.
    """

    cages: CageGroup
    position: int
    number: int
    step: int
    alias: str
    modes: Mapping[str, str]

    def port_number(self, cage: int, lane: int = 0) -> int:
        """Return the number in the name of the port of a cage that begins at one of its lanes, counted from 0."""
        return self.number + (cage - self.cages.first) * self.step + lane * self.step // self.cages.lanes


def cage_runs(model: SwitchModel) -> tuple[Run, ...]:
    """Return the runs of a model's fabric cages in panel order.

    Raises:
        KeyError: the model has no SONiC settings, or they lack a required one.
    """
    settings = model.nos["sonic"]
    number, position = settings.get("first_port", 0), 0
    found: list[Run] = []
    for index, cages in enumerate(group for group in model.cages if group.fabric):
        step, alias, modes = (_of_run(settings[key], index) for key in ("port_step", "alias", "breakouts"))
        found.append(Run(cages, position, number, step, alias, modes))
        number += cages.count * step
        position += cages.count
    return tuple(found)


def _of_run(setting: Any, index: int) -> Any:
    """Return what a setting is in a run: it is one for all, or a list of one for each."""
    return setting[index] if isinstance(setting, list) else setting


def run_of(found: Sequence[Run], cage: int) -> Run:
    """Return the run that a cage is of; the last one that begins at it or before."""
    return next(run for run in reversed(found) if run.cages.first <= cage)


@dataclass(frozen=True, slots=True)
class Platform:
    """The `nos.sonic` settings of a switch model.

    Attributes:
        platform, hwsku: as in `DEVICE_METADATA`, from the ONIE platform string and its device folder.
        asic_vendor: `mellanox`, `broadcom`, …: what `ASIC_VENDOR` is in the device's containers.
        runs: its fabric cages.
        first_index: number of the first cage in `PORT.index`.
        alias_style: what follows a pattern without `{lane}` for a part of a cage: `letters` (a, b, …), `lane` (`/` and
            first lane) or `plain` (`/` and child).
        lanes: ASIC lanes of each cage in panel order.
        service_ports: the ports outside the fabric cages: name, lanes, alias, index, speed (Mb/s).
    """

    platform: str
    hwsku: str
    asic_vendor: str
    runs: Sequence[Run]
    first_index: int
    alias_style: str
    lanes: Sequence[Sequence[int]]
    service_ports: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, model: SwitchModel) -> Platform:
        """Return the settings of a model.

        Raises:
            KeyError: the model has no SONiC settings, or they lack a required one.
        """
        settings = model.nos["sonic"]
        return cls(
            platform=settings["platform"],
            hwsku=settings["hwsku"],
            asic_vendor=settings["asic_vendor"],
            runs=cage_runs(model),
            first_index=settings.get("first_index", 1),
            alias_style=settings["alias_style"],
            lanes=settings["lanes"],
            service_ports=settings.get("service_ports", ()),
        )

    @property
    def mellanox(self) -> bool:
        """Return whether the ASIC requires per-port profile lists and its own PFC priority map."""
        return self.asic_vendor == "mellanox"

    def cage_name(self, cage: int) -> str:
        """Return the name under which a cage appears in `platform.json` and `BREAKOUT_CFG`."""
        return f"Ethernet{run_of(self.runs, cage).port_number(cage)}"

    def port_lanes(self, port: Port) -> str:
        """ASIC lanes of a port, comma-joined as `PORT.lanes` has them."""
        run, first = run_of(self.runs, port.cage), (port.child - 1) * port.lanes
        lanes = self.lanes[run.position + port.cage - run.cages.first]
        return ",".join(map(str, lanes[first : first + port.lanes]))

    def port_index(self, port: Port) -> int:
        """Number of the port's transceiver, the same for all children of a cage."""
        return port.cage - 1 + self.first_index

    def port_alias(self, port: Port) -> str:
        """Return the label of a port on the front panel, unique on the switch."""
        lane = (port.child - 1) * port.lanes + 1
        pattern = run_of(self.runs, port.cage).alias
        alias = pattern.format(cage=port.cage, lane=lane, child=port.child)
        if port.children == 1 or "{lane}" in pattern or "{child}" in pattern:
            return alias
        if self.alias_style == "letters":
            return f"{alias}{chr(ord('a') + port.child - 1)}"
        return f"{alias}/{lane if self.alias_style == 'lane' else port.child}"

    def modes(self, cage: int) -> Mapping[str, str]:
        """Return the breakout modes of a cage; none where the platform has no `platform.json`."""
        return run_of(self.runs, cage).modes

    def breakout_mode(self, cage: int, children: int, speed_gbps: int) -> str | None:
        """The `platform.json` key that makes `children` ports of a speed of a cage; None when there is none."""
        modes, speed = self.modes(cage), f"{speed_gbps}G"
        if exact := modes.get(f"{children}x{speed_gbps}"):
            return exact
        for mode in modes.values():
            parts = MODE.fullmatch(mode)
            if not parts or int(parts[1]) != children:
                continue
            if speed in {f"{parts[2]}G", *(parts[3] or "").replace(" ", "").split(",")}:
                return mode
        return None


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """Return the name of a port: its number is the position of its first lane, in steps of the platform."""
    run = run_of(cage_runs(model), cage)
    cages = run.cages
    lanes = max((b.lanes for b in cages.breakouts if b.children == children), default=cages.lanes // children)
    return f"Ethernet{run.port_number(cage, (child - 1) * lanes)}"
