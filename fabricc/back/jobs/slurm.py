"""Write the files of Slurm (topology in both formats, GPUs of every node), and commands that keep jobs off hosts.

For a time: a reservation of Slurm, or cordon and drain of Kubernetes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.hosts.words import check_word
from fabricc.back.jobs.roster import JobHost, Roster, nvlink_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


_NUMBERED = re.compile(r"(.*?)([0-9]+)")

Row = tuple[str, str, str]
"""A switch of the tree: name, `Nodes` or `Switches`, and the list of these."""


SLURM, BLOCKS = ("topology.conf", "topology.yaml", "gres.conf"), "topology-block.conf"


def slurm_files(hosts: Roster[Any]) -> dict[str, str]:
    """`topology.conf` (topology/tree), `topology.yaml` (Slurm 25.05 and later) and `gres.conf`.

    Where hosts share NVLink also `topology-block.conf` (topology/block, Slurm 24.05 and later), and blocks in the YAML.

    Raises:
        ValueError: a name that Slurm's files cannot hold.
    """
    rows = topology_tree(hosts)
    domains = hosts.hosts_by_domain()
    blocks = [
        (check_word(name), compress_hostlist([check_word(host.name) for host in each]))
        for name, each in domains.items()
    ]
    base = min(map(len, domains.values()), default=0)
    in_blocks = sum(map(len, domains.values())) == len(hosts.hosts)
    files = {
        "topology.conf": "".join(f"SwitchName={name} {what}={names}\n" for name, what, names in rows),
        "topology.yaml": _tree_yaml(rows, not in_blocks),
        "gres.conf": _gres_lines(hosts),
    }
    if blocks:
        lines = [*(f"BlockName={name} Nodes={names}" for name, names in blocks), f"BlockSizes={base}"]
        files[BLOCKS] = "\n".join(lines) + "\n"
        files["topology.yaml"] += _blocks_yaml(blocks, base, in_blocks)
    return files


def topology_tree(hosts: Roster[Any]) -> list[Row]:
    """Return the tree from its leaves up.

    A node may be under one leaf only and a rail-optimized host has a ToR per rail, so Slurm's leaf is the unit, or that
    part of it that shares NVLink; the spines (of a pod) are one switch to it, and the tree has one root. Hosts without
    GPUs are leaves too: Slurm allocates no node that the tree lacks, and only warns of one that it does not know.
    """
    rows: list[Row] = []
    pods: dict[str | None, list[str]] = {}
    units = hosts.units()
    without: dict[str, list[JobHost]] = {}
    for host in hosts.others:
        without.setdefault(host.unit, []).append(host)
    for unit in {**units, **without}:
        leaves = nvlink_parts(unit, units.get(unit, []))
        more = without.get(unit, [])
        members = [*units.get(unit, []), *more]
        if leaves and more:
            leaves[f"{unit}-others"] = more
        for leaf, each in (leaves or {unit: members}).items():
            rows.append(
                (check_word(leaf), "Nodes", compress_hostlist([check_word(host.name) for host in each]))
            )
        if leaves:
            rows.append((check_word(unit), "Switches", compress_hostlist(leaves)))
        pods.setdefault(members[0].pod, []).append(unit)
    tops = [name for name in pods if name is not None]
    rows += [(check_word(pod), "Switches", compress_hostlist(pods[pod])) for pod in tops]
    below = tops + pods.get(None, [])
    if len(below) > 1:
        rows.append(("core" if tops else "spine", "Switches", compress_hostlist(below)))
    return rows


def _tree_yaml(rows: Iterable[Row], default: bool) -> str:
    lines = [*_yaml_head("fabric", default), "  tree:", "    switches:"]
    for name, what, names in rows:
        key = "nodes" if what == "Nodes" else "children"
        lines += [f'    - switch: "{name}"', f'      {key}: "{names}"']
    return "\n".join(lines) + "\n"


def _blocks_yaml(blocks: Iterable[tuple[str, str]], base: int, default: bool) -> str:
    lines = [*_yaml_head("nvlink", default), "  block:", "    block_sizes:", f"      - {base}", "    blocks:"]
    for name, names in blocks:
        lines += [f'    - block: "{name}"', f'      nodes: "{names}"']
    return "\n".join(lines) + "\n"


def _yaml_head(name: str, default: bool) -> list[str]:
    return [f"- topology: {name}", f"  cluster_default: {'true' if default else 'false'}"]


def _gres_lines(hosts: Roster[Any]) -> str:
    """Return a line per unit and number of GPUs; Slurm's AutoDetect finds the device files, which no plan has."""
    alike: dict[tuple[str, int], list[str]] = {}
    for host in hosts.hosts:
        alike.setdefault((host.unit, host.gpus), []).append(host.name)
    return "".join(
        f"NodeName={compress_hostlist(names)} Name=gpu Count={gpus}\n" for (_, gpus), names in alike.items()
    )


def compress_hostlist(names: Iterable[str]) -> str:
    """Return names in Slurm's bracket notation, in the given order: `a[01-03,07],b1`."""
    groups: list[
        tuple[str, list[tuple[str, str]]]
    ] = []  # prefix, ranges (first, last); "" where not numbered
    for name in names:
        match = _NUMBERED.fullmatch(name)
        prefix, digits = (match[1], match[2]) if match else (name, "")
        if not groups or groups[-1][0] != prefix or not digits or not groups[-1][1]:
            groups.append((prefix, [(digits, digits)] if digits else []))
            continue
        ranges = groups[-1][1]
        first, last = ranges[-1]
        if _is_next_number(last, digits):
            ranges[-1] = (first, digits)
        else:
            ranges.append((digits, digits))
    return ",".join(_group_text(prefix, ranges) for prefix, ranges in groups)


def _is_next_number(last: str, digits: str) -> bool:
    """Return whether `digits` is the number after `last` in the same format."""
    same_width = len(last) == len(digits) or "0" not in (last[0], digits[0])
    return same_width and int(digits) == int(last) + 1


def _group_text(prefix: str, ranges: list[tuple[str, str]]) -> str:
    if not ranges:
        return prefix
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return prefix + ranges[0][0]
    spans = (first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{prefix}[{','.join(spans)}]"


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
