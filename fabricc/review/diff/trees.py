"""A built tree as a side of a comparison: facts read from its files, cables from its plan."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import field
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING, Any

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.base.foreign.files import Folder
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass, replace
from fabricc.compiler.write.workers import spread_work, usable_cpus
from fabricc.fabric.facts import Facts, Reading, neighbor_key
from fabricc.fabric.given_identities import Moves, ReplacedDevice
from fabricc.fabric.infiniband import PLATFORM
from fabricc.fabric.routing import Transport
from fabricc.facts.frame import PORT, Contents
from fabricc.facts.paths import first_key, split_list_path
from fabricc.facts.statement import HOST, Device, Kind
from fabricc.proof.invariants.view import sibling_address
from fabricc.proof.tree import DeviceFiles, TreeError, read_consistently, read_manifest, verify_manifest
from fabricc.review.diff.figures import count_cabled_ports, count_figures
from fabricc.review.diff.infiniband import infiniband_side
from fabricc.review.diff.sides import Cluster, Side, merge_networks
from fabricc.review.diff.unread import unread_lines
from fabricc.review.diff.view import DeviceView, PortView, cable_facts, identity_facts, numbered_ports

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.proof.tree import Steps
    from fabricc.tree.manifest import Manifest

_LARGEST = 512 << 20  # bytes of a table; a million cables have 100 MB
_INLINE = 4
"""Steps of a comparison with a manifest that this process does alone."""
_PLAN = re.compile(r"plan/([a-z]+)/fabric\.json")
_TIERS = ("tor", "spine", "core")
_RANK = {"host": 0, "spine": 1, "core": 2, "external": 3, "peer": 0}
Cable = tuple[str, str, str, str, int, str]
"""(own port, role, peer, peer port, length in metres, medium)"""


@dataclass(frozen=True)
class TreeSide(Side):
    """A tree that `build` wrote."""

    plan: Mapping[str, Any]
    cables: Mapping[str, tuple[Cable, ...]]
    read_files: DeviceFiles
    digests: Mapping[str, tuple[tuple[str, str], ...]] = field(repr=False, default_factory=dict)
    with_gpus: frozenset[str] | None = None

    @property
    def _models(self) -> Mapping[str, str]:
        """Models of the switches that have another than their tier."""
        found: Mapping[str, str] = self.plan.get("models", {})
        return found

    @property
    def _systems(self) -> Mapping[str, Mapping[str, str]]:
        """NOS and release of the switches that have another one than their tier, as builds write them."""
        found: Mapping[str, Mapping[str, str]] = self.plan.get("systems", {})
        return found

    def possible_changes(self, other: Side) -> frozenset[str] | None:
        """Return devices whose files or cables differ, if models and NOS of the tiers are the same."""
        if not isinstance(other, TreeSide) or self.plan["tiers"] != other.plan["tiers"]:
            return None
        return frozenset(
            name
            for name in self.kinds
            if self.digests.get(name) != other.digests.get(name)
            or self.cables.get(name) != other.cables.get(name)
            or self._models.get(name) != other._models.get(name)
            or self._systems.get(name) != other._systems.get(name)
        )

    def view(self, name: str) -> DeviceView:
        """Return the device's facts, read from its files, and its cables."""
        kind, files, cables = self.kinds[name], self.files(name), self.cables.get(name, ())
        model, nos, platform = "host", "host", "host"
        unread: tuple[str, ...] = ()
        if kind == "host":
            read = host_files.read(files)
            facts, unread = dict(read.facts), unread_lines("host", files, read)
            ports = {port: PortView("rail", port, end, 0) for port, _, _, end, _, _ in cables}
            for port, _, peer, end, _, _ in cables:
                facts[f"interface[{port}]/peer"] = f"{peer} {end}"
        else:
            tier = self.plan["tiers"][kind]
            nos, release, reading = self._read_switch(name, tier, files)
            platform = f"{nos} {release}".strip()
            facts, model = dict(reading.facts), self._models.get(name, tier["model"])
            unread = unread_lines(nos, files, reading)
            facts.update(identity_facts(model, platform))
            ports = numbered_ports([cable[:4] for cable in cables])
        for port, _, _, _, length, medium in cables:
            facts.update(cable_facts(port, length, medium))
        gpus = self._host_gpus() / max(1, self.plan["shape"]["rails"])
        hosts = {name, *(far for _, _, far, _, _, _ in cables)}
        others = {host: Fraction(0) for host in hosts if not self._has_gpus(host)}
        sessions = sessions_of(facts)
        return DeviceView(
            name, kind, nos, platform, model, facts, ports, sessions, gpus, others, unread=unread
        )

    def read_device(self, name: str) -> Device:
        """Return a device with its facts and their places below the tree."""
        files = self.files(name)
        if self.kinds[name] == HOST:
            paths = {file: f"hosts/{name}/{file}" for file in files}
            return Device(name, Kind.HOST, HOST, files, paths, Contents(host_files.read(files)))
        tier = self.plan["tiers"][self.kinds[name]]
        nos, release, reading = self._read_switch(name, tier, files)
        model = self._models.get(name, tier["model"])
        paths = {file: f"switches/{name}/{file}" for file in files}
        return Device(name, Kind.SWITCH, nos, files, paths, Contents(reading), model, model, release)

    def _read_switch(
        self, name: str, tier: Mapping[str, str], files: Mapping[str, str]
    ) -> tuple[str, str, Reading]:
        """Return the NOS of a switch, its release, "" if unknown, and the reading of its files.

        A tree of an older build states systems of tiers only: there the files show an override's.
        """
        if own := self._systems.get(name):
            return own["nos"], own["release"], back_ends.load(own["nos"]).read(files)
        nos, reading = _recognize_system(tier["nos"], files)
        return nos, tier["release"] if nos == tier["nos"] else "", reading

    def _host_gpus(self) -> Fraction:
        """GPUs of a host that has any."""
        counts = self.plan["counts"]
        return Fraction(counts["gpus"], max(1, counts["hosts"] - counts.get("hosts_without_gpus", 0)))

    def _has_gpus(self, host: str) -> bool:
        return self.with_gpus is None or host in self.with_gpus

    def files(self, name: str) -> Mapping[str, str]:
        """Return the device's files."""
        folder = "hosts" if self.kinds[name] == "host" else "switches"
        texts, wrong = self.read_files.read_verified(f"{folder}/{name}")
        if wrong:  # changed since the tree was compared with its manifest
            raise TreeError.of(wrong)
        return texts

    def figures(self) -> Mapping[str, str]:
        """Return the figures in the plan file."""
        plan, shape = self.plan, self.plan["shape"]
        pools = plan["pools"]
        families = ("hosts4" in pools) + ("hosts6" in pools)
        return count_figures(plan["counts"], shape, families)

    def gpus_of(self, name: str) -> Fraction:
        """GPUs in a host; 0 for a switch."""
        host = self.kinds[name] == "host" and self._has_gpus(name)
        return self._host_gpus() if host else Fraction(0)


def read_tree(tree: Path) -> tuple[Side, Manifest]:
    """Return the side of a tree that is exactly what its manifest states, and this manifest.

    Raises:
        TreeError: as `check` reports it, FAB6010 or FAB6011 for files that are changed, missing or unreadable; its plan
            cannot be read (FAB9021).
    """
    return read_consistently([tree], lambda: _verify_tree(tree), lambda _: False)


def _verify_tree(tree: Path) -> tuple[Side, Manifest]:
    manifest = read_manifest(tree)
    found = verify_manifest(tree, manifest, unstated=(), run=_run_steps)  # unstated files are no errors
    if wrong := [each for each in found if each.severity is Severity.ERROR]:
        raise TreeError.of(wrong)
    return _whole_side(tree, manifest), manifest


def _run_steps(steps: Steps) -> Iterator[list[Diagnostic]]:
    """Yield what steps find; worker processes take those of large trees."""
    workers = 1 if len(steps) <= _INLINE else usable_cpus()
    for _, found in spread_work(workers, len(steps), lambda number: steps[number]()):
        yield found


def _whole_side(tree: Path, manifest: Manifest) -> Side:
    try:
        with Folder(tree) as folder:
            names = [match[1] for path in sorted(manifest.files) if (match := _PLAN.fullmatch(path))]
            plans = {
                name: json.loads(folder.read(f"{_plan_path(name)}/fabric.json")) for name in ["", *names]
            }
            if plans[""].get("fabric") == PLATFORM:
                return _infiniband_side(tree, folder, manifest, plans[""])
            homes = {host: name for name, plan in plans.items() for host in plan.get("own_hosts", ())}
            parts = {
                name: _network_side(tree, folder, _network_manifest(manifest, name, plans, homes), name, plan)
                for name, plan in plans.items()
            }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise TreeError("FAB9021", f"{tree}/plan cannot be read: {error}", "Build the tree again.") from None
    return merge_networks(parts)


def _infiniband_side(tree: Path, folder: Folder, manifest: Manifest, plan: Mapping[str, Any]) -> Side:
    files = DeviceFiles.of(tree, manifest)

    def read(name: str) -> Mapping[str, str]:
        texts, wrong = files.read_verified(name)
        if wrong:  # changed since the tree was compared with its manifest
            raise TreeError.of(wrong)
        return texts

    rows = csv.DictReader(StringIO(folder.read(f"{_plan_path('')}/cabling.csv", limit=_LARGEST).decode()))
    moves = _parse_moves(plan.get("moved", {}))
    return infiniband_side(
        str(tree), plan, rows, sorted(manifest.files), read, _with_gpus(folder), moves, accepted={}
    )


def _plan_path(network: str) -> str:
    return f"plan/{network}".rstrip("/")


def _network_side(
    tree: Path, folder: Folder, own: Manifest, network: str, plan: Mapping[str, Any]
) -> TreeSide:
    """Return the side of one network of a tree, "" for that of the rails, from its own plan and files."""
    rows = list(
        csv.DictReader(StringIO(folder.read(f"{_plan_path(network)}/cabling.csv", limit=_LARGEST).decode()))
    )
    kinds, cables = _read_devices(rows, own)
    with_gpus = _with_gpus(folder) if plan["counts"].get("hosts_without_gpus") else None
    shape, gpus = plan["shape"], plan["counts"]["gpus"]
    cluster = Cluster(
        own.cluster, gpus, count_cabled_ports(shape), shape["spines"], _parse_moves(plan.get("moved", {}))
    )
    read = DeviceFiles.of(tree, own)
    side = TreeSide(str(tree), cluster, kinds, plan, cables, read, _file_digests(own), with_gpus)
    _ = side.figures(), plan["tiers"]
    for system in (*plan["tiers"].values(), *plan.get("systems", {}).values()):
        if system["nos"] not in back_ends.list_names() or not isinstance(system["release"], str):
            raise ValueError(f"{system['nos']!r} is not an installed system")
    return side


def _parse_moves(stated: Mapping[str, Any]) -> Moves:
    boxes = {name: ReplacedDevice(*box) for name, box in stated.get("replaced", {}).items()}
    return Moves(stated.get("renamed", {}), boxes, stated.get("parties", {}), stated.get("network"))


def _network_manifest(
    manifest: Manifest, network: str, networks: Container[str], homes: Mapping[str, str]
) -> Manifest:
    """Return the manifest without files of hosts in another network; `homes`: host -> network of its other files."""

    def of(path: str) -> str:
        _, host, file = path.split("/", 2)
        found = host_files.network_of(file)
        return found if found and found in networks else homes.get(host, "")

    files = manifest.files.items()
    return replace(
        manifest,
        files={path: each for path, each in files if not path.startswith("hosts/") or of(path) == network},
    )


def _with_gpus(folder: Folder) -> frozenset[str]:
    """Return the hosts that jobs run on, where others have no GPUs; none of a tree without jobs."""
    try:
        text = folder.read("jobs/hosts.csv", limit=_LARGEST).decode()
    except FileNotFoundError:
        return frozenset()
    return frozenset(row["host"] for row in csv.DictReader(StringIO(text)))


def _read_devices(
    rows: list[dict[str, str]], manifest: Manifest
) -> tuple[dict[str, str], dict[str, tuple[Cable, ...]]]:
    """Return the kind of every device, and its cables in the order of the plan."""
    kinds: dict[str, str] = {}
    cables: dict[str, list[Cable]] = {}
    lower = {"host": "host", "spine": "tor", "core": "spine", "peer": "tor"}
    ways = {"host": ("rail", "host"), "peer": ("peer", "peer")}
    for row in sorted(rows, key=lambda r: _RANK[r["kind"]]):
        near, far = row["a_device"], row["b_device"]
        if row["kind"] == "external":
            way = (row["a_port"], "external", far, row["b_port"], int(row["length_m"]), row["medium"])
            cables.setdefault(near, []).append(way)
            continue
        kinds[near] = lower[row["kind"]]
        kinds[far] = _TIERS[_RANK[row["kind"]]]
        length, medium = int(row["length_m"]), row["medium"]
        up, down = ways.get(row["kind"], ("up", "down"))
        cables.setdefault(near, []).append((row["a_port"], up, far, row["b_port"], length, medium))
        cables.setdefault(far, []).append((row["b_port"], down, near, row["a_port"], length, medium))
    named = {path.split("/")[1] for path in manifest.files if path.startswith(("switches/", "hosts/"))}
    order = sorted(kinds.items(), key=lambda item: ((*_TIERS, "host").index(item[1]), item[0]))
    return {name: kind for name, kind in order if name in named}, {k: tuple(v) for k, v in cables.items()}


def _file_digests(manifest: Manifest) -> dict[str, tuple[tuple[str, str], ...]]:
    files = ((*path.split("/", 2), digest) for path, digest in sorted(manifest.files.items()))
    of_devices = (each for each in files if len(each) == 4 and each[0] in ("switches", "hosts"))
    found = group_pairs((name, (file, digest)) for _, name, file, digest in of_devices)
    return {name: tuple(pairs) for name, pairs in found.items()}


def _recognize_system(expected: str, files: Mapping[str, str]) -> tuple[str, Reading]:
    """Return the NOS of a switch and its reading: its tier's, or that of an override, which the files show.

    Another system fits only where the tier's reads no hostname, or the other one reads everything and states more:
    an unknown line alone does not make a switch of another system.
    """
    first = back_ends.load(expected).read(files)
    named = "system/hostname" in first.facts
    if named and not first.unknown:
        return expected, first
    for name in back_ends.list_names():
        if name == expected:
            continue
        reading = back_ends.load(name).read(files)
        fits = "system/hostname" in reading.facts and not reading.unknown
        if fits and (not named or len(reading.facts) > len(first.facts)):
            return name, reading
    return expected, first


def sessions_of(facts: Facts) -> dict[str, str]:
    """Neighbor key of some facts -> port: by the other address of a link of two, or the port's own name."""
    found: dict[str, str] = {}
    neighbors = {first_key(path) for path in facts if path.startswith("bgp/neighbor[")}
    for path, value in facts.items():
        if not path.endswith(("]/ipv4", "]/ipv6", "]/unnumbered")) or not path.startswith(PORT):
            continue
        port, leaf = split_list_path(path, "interface")
        if leaf in ("ipv4", "ipv6"):
            other = sibling_address(str(value))
            if other in neighbors:
                found[other] = port
        elif leaf == "unnumbered" and port in neighbors:
            found[neighbor_key(Transport.UNNUMBERED, None, port)] = port
    return found
