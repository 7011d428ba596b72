"""Files for those who start jobs on the fabric: host order, the scheduler's view of the topology, NCCL settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricc.hosts.templating import word

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)([0-9]+)")


@dataclass(frozen=True, slots=True)
class JobHost:
    """What job files say of a host.

    Attributes:
        model: name of its host model.
        unit: name of its scalable unit, whose hosts share their ToRs.
        pod: name of its pod in a three-tier fabric, else None.
        nccl: the text of its `nccl.conf`.
    """

    name: str
    model: str
    gpus: int
    unit: str
    pod: str | None
    nccl: str


def render_jobs(hosts: Iterable[JobHost]) -> dict[str, str]:
    """`hostfile`, `topology.conf` and `nccl.conf` of a fabric whose hosts come in topological order.

    Where hosts differ in their NCCL settings there is one `nccl-<model>.conf` per host model instead, numbered from
    the second text of one model on.

    Raises:
        ValueError: a name that job files cannot hold.
    """
    lines: list[str] = []
    units: dict[str, list[str]] = {}
    pods: dict[str | None, list[str]] = {}
    settings: dict[str, str] = {}
    for host in hosts:
        lines.append(f"{word(host.name)} slots={host.gpus}\n")
        if host.unit not in units:
            units[host.unit] = []
            pods.setdefault(host.pod, []).append(word(host.unit))
        units[host.unit].append(host.name)
        settings.setdefault(host.nccl, host.model)
    files = {"hostfile": "".join(lines), "topology.conf": _slurm_topology(units, pods)}
    if len(settings) == 1:
        files["nccl.conf"] = next(iter(settings))
        return files
    used: dict[str, int] = {}
    for text, model in settings.items():
        used[model] = used.get(model, 0) + 1
        number = f"-{used[model]}" if used[model] > 1 else ""
        files[f"nccl-{word(model)}{number}.conf"] = text
    return files


def _slurm_topology(units: dict[str, list[str]], pods: dict[str | None, list[str]]) -> str:
    """Slurm's `topology.conf` (topology/tree).

    A node may be under one leaf only and a rail-optimised host has a ToR per rail, so Slurm's leaf is the unit; the
    spines (of a pod) are one switch to it, and the tree has one root.
    """
    lines = [f"SwitchName={unit} Nodes={hostlist(names)}\n" for unit, names in units.items()]
    tops = [name for name in pods if name is not None]
    lines += [f"SwitchName={word(pod)} Switches={hostlist(pods[pod])}\n" for pod in tops]
    loose = pods.get(None, [])
    below = tops + loose
    if len(below) > 1:
        lines.append(f"SwitchName={'core' if tops else 'spine'} Switches={hostlist(below)}\n")
    return "".join(lines)


def hostlist(names: Iterable[str]) -> str:
    """Names in Slurm's bracket notation, in the order given: `a[01-03,07],b1`."""
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
        if _follows(last, digits):
            ranges[-1] = (first, digits)
        else:
            ranges.append((digits, digits))
    return ",".join(_group_text(prefix, ranges) for prefix, ranges in groups)


def _follows(last: str, digits: str) -> bool:
    """Whether `digits` is the number after `last`, written in the same way."""
    same_width = len(last) == len(digits) or "0" not in (last[0], digits[0])
    return same_width and int(digits) == int(last) + 1


def _group_text(prefix: str, ranges: list[tuple[str, str]]) -> str:
    if not ranges:
        return prefix
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return prefix + ranges[0][0]
    spans = (first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{prefix}[{','.join(spans)}]"
