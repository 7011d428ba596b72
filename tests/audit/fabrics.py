"""Fabrics of our own as somebody would collect them: rendered, renamed, and without what would give the links away."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc import compile_spec
from fabricc.audit.links import links_of
from fabricc.audit.model import FoundFabric
from fabricc.audit.places import places_of
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.fabric.facts import Reading
from fabricc.fabric.model import Direction
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, End, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.model import Host, Switch

INVENTORIES = Path(__file__).parents[2] / "inventories"
PARTS = {
    "8 racks of rack-zone-512": ("rack-zone-512", ("racks: 32", "racks: 8")),
    "4 racks of gb200-nvl72-su": ("gb200-nvl72-su", (", a05, a06, a07, a08]", "]"), ("capacity: 144", "capacity: 72")),
    "22 hosts of storage-zone": ("storage-zone", ("hosts: 16, hosts_per_unit: 8", "hosts: 12, hosts_per_unit: 6"),
                                 ("hosts: 12, hosts_per_unit: 8", "hosts: 8, hosts_per_unit: 6")),
    "8 hosts of whole-cluster-256": ("whole-cluster-256", ("hosts: 32, hosts_per_unit: 16, capacity: 64",
                                                           "hosts: 8, hosts_per_unit: 4, capacity: 16")),
}  # fmt: skip
"""Inventories with fewer devices of every kind, as good for what hangs on shape alone: of which, and other words."""
_NAMES = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@cache
def compile_inventory(name: str) -> Compiled:
    """An inventory, or one of `PARTS`."""
    whole, *edits = PARTS.get(name, (name,))
    spec = INVENTORIES / whole / "cluster.yaml"
    if not edits:
        return compile_spec(spec)
    text = spec.read_text("utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    with TemporaryDirectory() as folder:
        Path(folder, "cluster.yaml").write_text(text, "utf-8")
        return compile_spec(Path(folder, "cluster.yaml"))


@cache
def read_anonymous(name: str) -> tuple[Compiled, Mapping[str, str], Mapping[str, Device]]:
    """An inventory, other names for its devices, and these under them without a description."""
    compiled = compile_inventory(name)
    names = make_disguise(compiled)
    return compiled, names, collect_devices(compiled, renamed=names, descriptions=False)


def device(name: str, system: str, files: Mapping[str, str]) -> Device:
    """A device of the folder, of its files; `host` for a host's."""
    kind = Kind.HOST if system == "host" else Kind.SWITCH
    reading = host_files.read(files) if kind is Kind.HOST else back_ends.load(system).read(files)
    return Device(name, kind, system, files, {file: f"{name}/{file}" for file in files}, Contents(reading))


def collect_devices(
    compiled: Compiled,
    *,
    hosts: bool = True,
    renamed: Mapping[str, str] | None = None,
    descriptions: bool = True,
) -> dict[str, Device]:
    """The devices of a fabric as if they came from a folder.

    Args:
        hosts: with the hosts' files.
        renamed: planned name -> the one that all files have in its place.
        descriptions: False leaves out all of ports and sessions.
    """
    found: dict[str, Device] = {}
    names = renamed or {}
    for network, each in each_device(compiled, hosts=hosts):
        system = getattr(each, "nos", "host")
        files = {file: with_names(text, names) for file, text in network.files(each).items()}
        made = device(names.get(each.name, each.name), system, files)
        found[made.name] = made if descriptions else drop_facts(made, r".*/description")
    return found


def found_of(devices: Mapping[str, Device]) -> FoundFabric:
    """Return devices as a folder of them, with the links and places from their facts."""
    links = links_of(devices)
    return FoundFabric(devices, links, places_of(devices, links))


def each_device(compiled: Compiled, *, hosts: bool = True) -> Iterator[tuple[Compiled, Switch | Host]]:
    """Every device of all networks, each once, with the network whose it is; a host with the first that it is in."""
    for network in (compiled, *compiled.networks.values()):
        yield from ((network, switch) for switch in network.switches())
        own = set(network.fabric.own_hosts())
        yield from ((network, host) for host in (network.hosts() if hosts else ()) if host.name in own)


def with_names(text: str, names: Mapping[str, str]) -> str:
    return _NAMES.sub(lambda match: names.get(match[0], match[0]), text) if names else text


def make_disguise(compiled: Compiled, seed: int = 1) -> dict[str, str]:
    """A name without meaning for each device."""
    planned = [each.name for _, each in each_device(compiled)]
    numbers = random.Random(seed).sample(range(10_000, 99_999), len(planned))
    return {name: f"x{number}" for name, number in zip(planned, numbers, strict=True)}


def drop_facts(device: Device, path: str) -> Device:
    """The device without the facts that an expression matches whole."""
    known = re.compile(path)
    reading = device.reading
    facts = {each: value for each, value in reading.facts.items() if not known.fullmatch(each)}
    return Device(
        device.name, device.kind, device.system, device.files, device.paths,
        Contents(Reading(facts, reading.lines, reading.unknown)), neighbors=device.neighbors,
    )  # fmt: skip


def planned_cables(
    compiled: Compiled, *, hosts: bool = True, renamed: Mapping[str, str] | None = None
) -> set[tuple[End, End]]:
    """The links that the plan has, an end before the other."""
    names = renamed or {}
    found = set()
    for _, switch in each_device(compiled, hosts=False):
        for port in switch.ports:
            if (
                port.peer is None
                or port.direction is Direction.EXTERNAL
                or not (hosts or port.direction is not Direction.HOST)
            ):
                continue
            ends = (
                End(names.get(switch.name, switch.name), port.name),
                End(names.get(port.peer.device, port.peer.device), port.peer.port),
            )
            found.add((min(ends), max(ends)))
    return found


def planned(compiled: Compiled) -> dict[str, Switch | Host]:
    return {each.name: each for each in (*compiled.switches(), *compiled.hosts())}
