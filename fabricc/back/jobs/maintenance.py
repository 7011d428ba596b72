"""Keep jobs off some hosts for a time: a reservation of Slurm, and Kubernetes' cordon and drain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.hosts.words import check_word
from fabricc.back.jobs.slurm import compress_hostlist

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_PLAIN = re.compile(r"[^A-Za-z0-9_.-]+")


def slurm_commands(name: str, hosts: Sequence[str], start: datetime | None, minutes: int) -> dict[str, str]:
    """Return the commands that reserve nodes and release them (scontrol(1), SPECIFICATIONS FOR ... RESERVATIONS).

    Slurm rejects a reservation that overlaps a running job, because the flag to ignore jobs is not set.

    Args:
        name: of the reservation.
        hosts: in the order of the fabric.
        start: local time of the scheduler; None for at once.
        minutes: how long.

    Raises:
        ValueError: a name that Slurm cannot hold.
    """
    called = _PLAIN.sub("-", name)
    begins = start.isoformat(timespec="minutes") if start else "now"
    nodes = compress_hostlist([check_word(host) for host in hosts])
    create = (
        f"scontrol create reservation ReservationName={called} StartTime={begins} Duration={minutes} "
        f"Users=root Flags=MAINT Nodes={nodes}"
    )
    return {"create": create, "delete": f"scontrol delete ReservationName={called}"}


def kubernetes_commands(hosts: Sequence[str]) -> dict[str, str]:
    """Return what keeps new pods off the nodes, evicts those that run, and gives the nodes back.

    Raises:
        ValueError: a name that cannot stand on a command line.
    """
    nodes = " ".join(check_word(host) for host in hosts)
    return {
        "cordon": f"kubectl cordon {nodes}",
        "drain": f"kubectl drain {nodes} --ignore-daemonsets",
        "uncordon": f"kubectl uncordon {nodes}",
    }
