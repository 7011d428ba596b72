"""The state folder of a lab: what it made and is running, written before it is made, so that any end can be cleaned."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.operate.lab.node import MANAGEMENT_NODE, LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.fabric.model import CableRow

DEFAULT = Path("/run/fabricc-lab")
"""Labs of this machine, a folder each, named after the cluster."""
RECORD, LOCK, FAULTS, SUPERVISOR, SPEC = "lab.json", "lock", "faults.json", "supervisor", "spec"
NEXT_SPEC, BOXES, LOGINS, SUPERVISOR_LOG = "spec.next", "boxes", "ssh", "supervisor.log"
VRFS = "vrfs"
"""File in the folder of a box: a line for each VRF with its name and its namespace."""
FOLDERS = (BOXES, LOGINS, SPEC, NEXT_SPEC)
"""What a lab writes below its state folder."""
_FORMAT = 1

Vrf = tuple[str, str, tuple[str, ...]]
"""Switch, VRF, and the ports of that VRF."""
Cable = tuple[str, str, str, str]
"""Lower device and port, upper device and port."""


@dataclass(frozen=True, slots=True)
class Record:
    """The parts of a lab.

    Attributes:
        prefix: of its namespaces' names.
        spec: file name of the spec below the folder's copy; `origin`: where it came from.
        network: value of `--network`.
        units, sample: values of `--units` and `--sample`.
        switches, hosts: names of the nodes.
        cables: as they are plugged.
        overlay: lines of configuration that the lab adds.
        differences: what it does differently from the spec, a sentence each.
        frr: version of FRR that runs.
        boot_s: seconds until the planned state was reached; None before.
        lldp: whether the switches run lldpd.
        ssh: whether they can be logged in to.
        outside: names of the boxes of outside parties.
        vrfs: switch, its VRF, and the ports of that VRF.
        idle_vrfs: switch, and a VRF that it had, or that a push may give it; the namespace is there, empty.
    """

    cluster: str
    prefix: str
    spec: str
    origin: str
    units: int | None
    switches: tuple[str, ...]
    hosts: tuple[str, ...]
    cables: tuple[Cable, ...]
    overlay: tuple[str, ...]
    differences: tuple[str, ...]
    frr: str
    boot_s: float | None = None
    sample: bool = False
    lldp: bool = False
    network: str | None = None
    ssh: bool = False
    outside: tuple[str, ...] = ()
    vrfs: tuple[Vrf, ...] = ()
    idle_vrfs: tuple[tuple[str, str], ...] = ()

    def namespace(self, node: str) -> str:
        """Return name of a node's network namespace."""
        return f"{self.prefix}.{node}"

    def port_namespace(self, device: str, port: str) -> str:
        """Return the namespace of a port: that of its VRF, or of its node."""
        vrf = self.vrf_ports(device).get(port)
        return self.namespace(vrf_table(device, vrf) if vrf else device)

    def vrf_ports(self, switch: str) -> dict[str, str]:
        """Return the VRF of each port of a switch that is in one."""
        return {port: vrf for name, vrf, ports in self.vrfs if name == switch for port in ports}

    def box_vrfs(self, switch: str) -> list[str]:
        """Return the VRFs whose namespaces the box of a switch has."""
        found = [vrf for name, vrf, _ in self.vrfs if name == switch]
        return found + [vrf for name, vrf in self.idle_vrfs if name == switch]

    @property
    def namespaces(self) -> list[str]:
        """Every namespace of the lab."""
        tables = [vrf_table(switch, vrf) for switch in self.switches for vrf in self.box_vrfs(switch)]
        nodes = (*self.switches, *tables, *self.hosts, *self.outside, MANAGEMENT_NODE)
        return [self.namespace(node) for node in nodes]


def vrf_table(switch: str, vrf: str) -> str:
    """Return the name of the routing table of a VRF; that of the default VRF has the name of the switch."""
    return f"{switch}.{vrf}"


def cable_ends(cables: Iterable[CableRow]) -> tuple[Cable, ...]:
    """Return the cables of a plan as a record has them."""
    return tuple((cable.a_device, cable.a_port, cable.b_device, cable.b_port) for cable in cables)


def ends_of_cables(cables: Iterable[Cable]) -> list[tuple[str, str]]:
    """Device and port of both ends of cables."""
    return [end for cable in cables for end in (cable[:2], cable[2:])]


def prefix_for(cluster: str, state: Path) -> str:
    """Return prefix of namespace names: two labs of one cluster in two folders do not meet."""
    return f"{cluster}-{hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:6]}"


def folder_of(cluster: str | None, state: Path | None) -> Path:
    """Return the state folder meant.

    `state` decides when given; without a name the only lab there is.

    Raises:
        LabError: FAB8006, there is no lab, or more than one.
    """
    if state is not None:
        return state
    if cluster is not None:
        return DEFAULT / cluster
    found = sorted(file.parent for file in DEFAULT.glob(f"*/{RECORD}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise LabError("FAB8006", f"no lab below {DEFAULT}", "Boot one with `fabricc lab up SPEC`.")
    names = ", ".join(folder.name for folder in found)
    raise LabError("FAB8006", f"several labs are running: {names}", "Select one with `--lab NAME`.")


def load_record(state: Path) -> Record:
    """Return the record of a lab.

    Raises:
        LabError: FAB8006, the folder holds no lab or not one of this version.
    """
    try:
        found: dict[str, Any] = json.loads((state / RECORD).read_text())
        if found.pop("format") != _FORMAT:
            raise ValueError
        known = {field.name for field in fields(Record)}
        values = {key: _to_tuples(value) for key, value in found.items() if key in known}
        return Record(**values)
    except FileNotFoundError:
        raise LabError("FAB8006", f"no lab in {state}", "Boot one with `fabricc lab up SPEC`.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LabError("FAB8006", f"{state / RECORD} is not a lab's record of this version") from None


def _to_tuples(value: Any) -> Any:
    return tuple(_to_tuples(item) for item in value) if isinstance(value, list) else value


def save_record(state: Path, record: Record) -> None:
    """Write the record whole or not at all."""
    write_json(state / RECORD, {"format": _FORMAT, **asdict(record)})


def write_json(path: Path, value: Any) -> None:
    """Write a file in one step."""
    new = draft(path)
    new.write_text(json.dumps(value, indent=1) + "\n")
    new.replace(path)


def draft(path: Path) -> Path:
    """Return the place where a file is written before it gets its name."""
    return path.with_name(f".{path.name}.new")


@contextmanager
def lock_lab(state: Path) -> Iterator[None]:
    """Hold a lab alone.

    Raises:
        LabError: FAB8005, another command works on it; FAB8006, there is no such folder.
    """
    if not state.is_dir():
        raise LabError("FAB8006", f"no lab in {state}", "Boot one with `fabricc lab up SPEC`.")
    descriptor = os.open(state / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("FAB8005", f"another command works on the lab in {state}") from None
        yield
    finally:
        os.close(descriptor)
