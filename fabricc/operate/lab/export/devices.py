"""The devices of an exported topology with their emulation and its port names, and the YAML output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from fabricc.back.nos.emulation import EMULATIONS, Emulation
from fabricc.base.order import group_pairs
from fabricc.base.values import dataclass
from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, Switch
    from fabricc.operate.lab.predict import End

HOST_IMAGE = "ghcr.io/srl-labs/network-multitool"
"""The Linux image with iproute2 that containerlab's documentation uses for hosts."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """A switch and what runs it; `ports`: its cabled ports -> the place of each in panel order, from 1."""

    switch: Switch
    emulation: Emulation
    ports: Mapping[str, int]

    @property
    def group(self) -> str:
        """Return what it shares kind and image with: NOS and release."""
        return f"{self.switch.nos}-{self.switch.release}"

    @property
    def image(self) -> str:
        """The image for its release."""
        return self.emulation.image.format(release=self.switch.release)


@dataclass(frozen=True, slots=True)
class Topology:
    """The contents of a topology file.

    Attributes:
        cables: the cabling plan, lower end first.
    """

    fabric: Fabric
    switches: Mapping[str, Emulated]
    hosts: tuple[Host, ...]
    cables: tuple[tuple[End, End], ...]

    def unverified(self) -> Iterator[str]:
        """Yield the assumptions about each NOS's image."""
        reported = set()
        for found in self.switches.values():
            if found.switch.nos not in reported:
                reported.add(found.switch.nos)
                yield from (f"{found.switch.nos}: {sentence}" for sentence in found.emulation.unverified)


def build_topology(fabric: Fabric) -> Topology:
    """Return the devices and cables of a fabric.

    Raises:
        LabError: FAB8018, a NOS has no emulation.
    """
    cables = tuple(((c.a_device, c.a_port), (c.b_device, c.b_port)) for c in fabric.cables())
    used = group_pairs(end for cable in cables for end in cable)
    switches = {}
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        found = EMULATIONS.get(switch.nos)
        if found is None:
            raise LabError("FAB8018", f"{switch.name}: no image is known that runs {switch.nos}")
        cabled = {*used.get(switch.name, ())}
        places = {port.name: place for place, port in enumerate(switch.ports, 1) if port.name in cabled}
        switches[switch.name] = Emulated(switch, found, places)
    hosts = tuple(fabric.host(at) for at in fabric.host_ids())
    return Topology(fabric, switches, hosts, cables)


def as_yaml(document: Mapping[str, Any], head: Iterable[str]) -> str:
    """Return a document in the order of its keys, one line a device where it is short, below comment lines."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    comments = "".join(f"# {line}\n" for line in head)
    return comments + yaml.dump(
        document, Dumper=dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True
    )
