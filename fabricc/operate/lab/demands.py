"""Check the machine before a lab is created: root, programs, memory, space for neighbor entries."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.lab.box import ARCHITECTURES
from fabricc.operate.lab.kernel import available_kib
from fabricc.operate.lab.lab_fabric import sample_fabric, slice_fabric
from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric

_PROGRAMS = ("ip", "setpriv", "unshare", "nsenter", "vtysh")
_DAEMONS = tuple(Path("/usr/lib/frr", name) for name in ("zebra", "bgpd", "bfdd", "staticd"))
_KIB = 1024
# Measured with FRR 8.4.4 on Linux 6.18: proportional set size of zebra, staticd, bfdd and bgpd at rest, and bgpd's
# buffers per neighbor; the kernel's side is namespaces, veth pairs and routes.
_SWITCH_KIB, _SESSION_KIB, _CABLE_KIB, _HOST_KIB = 20 * _KIB, 750, 60, 400
_BFD_SHARE, _BFD_INTERVAL_MS, _MOST_BFD = 0.0008, 300, 0.5
"""Share of a processor that one end of a BFD session takes at that interval, measured as above; how much is well."""
_LIMITS = tuple(f"net.{family}.neigh.default.gc_thresh3" for family in ("ipv4", "ipv6"))
_RESERVE = 0.15
"""Share of the available memory that the lab leaves alone."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The resources that a fabric needs."""

    switches: int
    hosts: int
    sessions: int
    cables: int

    @property
    def memory_kib(self) -> int:
        """Estimate of the memory, KiB."""
        return (
            self.switches * _SWITCH_KIB
            + self.sessions * _SESSION_KIB
            + self.cables * _CABLE_KIB
            + self.hosts * _HOST_KIB
        )

    @property
    def neighbors(self) -> int:
        """Entries of one family in the kernel's neighbor table, which all namespaces share."""
        return 2 * self.cables + self.switches


def estimate_demand(fabric: Fabric) -> Demand:
    """Estimate the resources of a fabric: sessions count both ends, and once per family where links are numbered."""
    counts = fabric.counts()
    between = counts["spine_cables"] + counts["core_cables"] + counts.get("peer_cables", 0)
    addresses = fabric.addresses
    families = (addresses.hosts4 is not None) + (addresses.hosts6 is not None) if addresses.numbered else 1
    switches = counts["tors"] + counts["spines"] + counts["cores"]
    return Demand(switches, counts["hosts"], 2 * between * families, between + counts["host_cables"])


def require_root() -> None:
    """Raise FAB8001 unless this is root: namespaces of all kinds are made."""
    if os.geteuid() != 0:
        message = "the lab makes network, mount and process namespaces: only root may"
        remedy = "Run it with sudo; it changes only the lab's own namespaces."
        raise LabError("FAB8001", message, remedy)


def missing_programs() -> list[str]:
    """Return programs the lab needs and this machine lacks."""
    found = [name for name in _PROGRAMS if shutil.which(name) is None]
    return found + [str(path) for path in _DAEMONS if not path.exists()]


def require_programs() -> None:
    """Raise FAB8002 when a program is missing, FAB8022 when boxes cannot be confined on this kind of machine."""
    if (machine := platform.machine()) not in ARCHITECTURES:
        known = " or ".join(ARCHITECTURES)
        message = f"boxes are not confined on {machine}: its system calls are not known"
        raise LabError("FAB8022", message, f"Run the lab on {known}.")
    if missing := missing_programs():
        remedy = "On Debian or Ubuntu: `apt-get install frr frr-pythontools iproute2 util-linux`."
        raise LabError("FAB8002", f"not installed: {', '.join(missing)}", remedy)


def frr_version() -> str:
    """Return version of the FRR installed, `8.4.4`."""
    ran = subprocess.run([str(_DAEMONS[0]), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+(?:\.\d+)*)", ran.stdout)
    return found[1] if found else "unknown"


def require_room(fabric: Fabric, held_kib: int = 0) -> None:
    """Refuse a fabric that the machine cannot hold.

    `held_kib`: memory that a part of it, already running, holds.

    Raises:
        LabError: FAB8003, too little memory, with the largest slice that fits; FAB8004, too few neighbor entries.
    """
    wanted = estimate_demand(fabric)
    usable = int(available_kib() * (1 - _RESERVE)) + held_kib
    if wanted.memory_kib > usable:
        raise LabError(
            "FAB8003",
            f"{wanted.switches} switches with {wanted.sessions} session ends take about "
            f"{wanted.memory_kib / _KIB / _KIB:.1f} GiB; {usable / _KIB / _KIB:.1f} GiB can be used",
            _suggest_part(fabric, usable),
        )
    _require_neighbors(wanted)


def describe_strain(fabric: Fabric) -> str | None:
    """Return a warning when BFD alone takes most of the processors; None when it does not."""
    interval = fabric.routing.bfd_interval_ms
    if interval is None:
        return None
    processors = os.cpu_count() or 1
    taken = estimate_demand(fabric).sessions * _BFD_SHARE * _BFD_INTERVAL_MS / interval
    if taken < processors * _MOST_BFD:
        return None
    return (
        f"BFD takes about {taken:.1f} of {processors} processors at {interval} ms: sessions may flap and times are "
        "the machine's; a smaller part (--units, --sample) shows the fabric's"
    )


def _count_units(fabric: Fabric) -> int:
    return fabric.counts()["units"]


def largest_slice(fabric: Fabric, usable_kib: int) -> int:
    """Return how many units, with the spines they reach, fit into so much memory; 0 when not one does."""
    return bisect_right(
        range(1, _count_units(fabric) + 1),
        usable_kib,
        key=lambda n: estimate_demand(slice_fabric(fabric, n)).memory_kib,
    )


def _suggest_part(fabric: Fabric, usable_kib: int) -> str:
    """Return the largest part that fits."""
    if fits := largest_slice(fabric, usable_kib):
        return (
            f"The largest slice that fits: --units {fits} of {_count_units(fabric)}. "
            "The smallest with every prefix class: --sample."
        )
    sample = sample_fabric(fabric)
    if estimate_demand(sample).memory_kib > usable_kib:
        return "Not even a sample fits; use a machine with more memory."
    least = _count_units(sample)
    more = range(least + 1, _count_units(fabric) + 1)
    most = least + bisect_right(
        more, usable_kib, key=lambda n: estimate_demand(sample_fabric(fabric, n)).memory_kib
    )
    return (
        "Not even one unit with all its spines fits; the largest sample that does: "
        f"--sample --units {most} of {_count_units(fabric)}."
    )


def _require_neighbors(demand: Demand) -> None:
    """The limit is of the whole machine, and past it the kernel drops packets without a word."""
    needed = 1 << (2 * demand.neighbors).bit_length()
    remedy = " ".join(f"{name}={needed}" for name in _LIMITS)
    for name in _LIMITS:
        try:
            limit = int(Path("/proc/sys", *name.split(".")).read_text())
        except OSError:
            continue
        if demand.neighbors > limit:
            need = f"the lab needs about {demand.neighbors} neighbors, and all namespaces share it"
            raise LabError("FAB8004", f"{name} is {limit}; {need}", f"Raise it: `sysctl -w {remedy}`.")
