"""Fabrics of our own, one for each system, given to the audit as folders of others: devices, links and places."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.audit.links import links_of
from fabricc.audit.model import Evidence, FoundFabric, Link
from fabricc.audit.places import places_of
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.model import Direction
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, End, Kind, Place, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.fabric.model import Switch

MODELS = {
    "eos": ("7060x6-64pe", "eos"), "nxos": ("9364e-sg2", "nxos"), "junos": ("qfx5240-64od", "junos"),
    "sonic": ("sn5600", "sonic-202505"), "cumulus": ("sn5600", "cumulus"), "frr": ("linux-64x400", "frr"),
}  # fmt: skip
"""System -> switch model, and what a spec calls the system."""

SPEC = """\
cluster: su003
gpus: {{model: dgx-b200, hosts: {hosts}, hosts_per_unit: 4}}
tors: {{model: {model}, nos: {nos}, uplinks: 4}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
management:
  users: [{{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample"}}]
accept:
  - {{code: FAB5201, reason: for the test}}
  - {{code: FAB5202, reason: for the test}}
{more}"""


def spec_of(system: str, hosts: int = 8, more: str = "") -> str:
    """A spec of two units of eight rails and two spines."""
    model, nos = MODELS[system]
    return SPEC.format(model=model, nos=nos, hosts=hosts, more=more)


@lru_cache(maxsize=16)
def switches_of(path: Path) -> tuple[Switch, ...]:
    """All switches of a spec."""
    fabric = compile_spec(path).fabric
    return tuple(map(fabric.switch, fabric.switch_ids()))


def switch_device(name: str, system: str, files: Mapping[str, str], model: str | None = None) -> Device:
    """A switch of the folder, read."""
    back_end = back_ends.load(system)
    paths = {file: f"{name}/{file}" for file in files}
    held = Contents(back_end.read(files))
    return Device(name, Kind.SWITCH, back_end.name, files, paths, held, model=model)


def found_in(
    path: Path, files: Mapping[str, Mapping[str, str]] | None = None, hosts: bool = False
) -> FoundFabric:
    """Return the files of a folder for a spec; `files` replace those of a device that the build writes."""
    fabric = compile_spec(path).fabric
    other = files or {}
    devices: dict[str, Device] = {}
    places: dict[str, Place] = {}
    links: list[Link] = []
    for switch in switches_of(path):
        name = switch.name
        texts = other.get(name) or back_ends.load(switch.nos).render(switch)
        devices[name] = switch_device(name, switch.nos, texts, switch.model.name)
        places[name] = Place(Tier(switch.tier.value), switch.unit, switch.plane, switch.pod)
        for port in switch.ports:
            if port.peer and port.direction in (Direction.UP, Direction.HOST):
                a, b = sorted((End(name, port.name), End(*_end_of(port.peer))))
                links.append(Link(a, b, (Evidence.LLDP,)))
    for host in map(fabric.host, fabric.host_ids()) if hosts else ():
        texts = other.get(host.name) or host_files.render(host)
        paths = {file: f"{host.name}/{file}" for file in texts}
        held = Contents(host_files.read(texts))
        devices[host.name] = Device(host.name, Kind.HOST, "host", texts, paths, held)
        places[host.name] = Place(Tier.HOST, host.unit)
    return join_fabric(devices, links, places)


def join_fabric(
    devices: Mapping[str, Device], links: Iterable[Link], places: Mapping[str, Place]
) -> FoundFabric:
    """Devices and links as one value."""
    every = tuple(sorted(links, key=lambda link: (link.a, link.b)))
    return FoundFabric(devices, every, places)


_NAMES = (
    (re.compile(r"su(\d+)-tor(\d+)a"), r"p\1-r\2"), (re.compile(r"spine(\d+)a"), r"x\1"),
    (re.compile(r"su(\d+)-host(\d+)"), r"gpu\1-\2"),
)  # fmt: skip


def disguise_spec(path: Path) -> FoundFabric:
    """Return the spec's switches under foreign names, with the links and places from their facts."""
    devices: dict[str, Device] = {}
    for switch in switches_of(path):
        texts = {
            file: disguise_names(text) for file, text in back_ends.load(switch.nos).render(switch).items()
        }
        name = disguise_names(switch.name)
        devices[name] = switch_device(name, switch.nos, texts, switch.model.name)
    return infer_fabric(devices)


def disguise_names(text: str) -> str:
    """The text with other names of devices."""
    for form, other in _NAMES:
        text = form.sub(other, text)
    return text


def infer_fabric(devices: Mapping[str, Device]) -> FoundFabric:
    """Return devices with the links and places from their facts."""
    links = links_of(devices)
    return join_fabric(devices, links, places_of(devices, links))


def _end_of(peer: object) -> tuple[str, str]:
    return peer.device, peer.port  # type: ignore[attr-defined]
