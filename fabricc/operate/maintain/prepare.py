"""Prepare a maintenance: its effect on each network, reviewed specs, and commands that keep jobs away."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.jobs.maintenance import kubernetes_commands, slurm_commands
from fabricc.back.jobs.roster import list_hosts
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.values import dataclass
from fabricc.fabric.capacity.wiring import Wiring
from fabricc.operate.change.variant import edit_spec, prove_spec, review_variant, write_spec
from fabricc.operate.maintain import outages as downs
from fabricc.operate.maintain import specs
from fabricc.operate.maintain.plan import assess_network, check_network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.capacity.wiring import Outage
    from fabricc.operate.maintain.plan import NetworkMaintenance
    from fabricc.operate.maintain.specs import DrainKeys
    from fabricc.review.diff.model import Review

DRAIN, UNDRAIN = "drain", "undrain"


@dataclass(frozen=True, slots=True)
class MaintenanceRequest:
    """The requested maintenance.

    Attributes:
        devices: and links, as on the command line.
        down: what is out already, in the same words; `verified` is the result of `fabricc verify`.
        network: the one in which devices are looked for; None for all.
        start: when, in the scheduler's local time; None for at once.
        minutes: how long.
        keep: the share of every part and switch that must be left.
        write: folder for the specs.
    """

    devices: tuple[str, ...]
    minutes: int
    start: datetime | None = None
    down: tuple[str, ...] = ()
    verified: Path | None = None
    network: str | None = None
    keep: Fraction | None = None
    write: Path | None = None


class Job(NamedTuple):
    """A host that jobs run on: its first rank where all hosts run, and its GPUs."""

    name: str
    unit: str
    rank: int
    gpus: int


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """A prepared maintenance.

    Attributes:
        target, down: what is maintained, and what is out besides.
        networks: those that have any of it.
        jobs: touched hosts that jobs run on, in the order of ranks; others have no GPUs.
        leaving: those of them, and of the other hosts, that jobs must leave.
        words: keys of the spec that drain.
        reviews: `drain` and `undrain` -> what the change does; none where no switch changes.
        written: the specs that were written.
        slurm, kubernetes: commands, empty where no host must be left.
    """

    cluster: str
    wish: MaintenanceRequest
    target: Outage
    down: Outage
    networks: tuple[NetworkMaintenance, ...]
    jobs: tuple[Job, ...]
    leaving: tuple[str, ...]
    words: DrainKeys
    reviews: Mapping[str, Review]
    written: tuple[Path, ...]
    slurm: Mapping[str, str]
    kubernetes: Mapping[str, str]
    findings: tuple[Diagnostic, ...]


def prepare_maintenance(
    compiled: Compiled, wish: MaintenanceRequest, progress: Callable[[str, int, int], None]
) -> MaintenancePlan:
    """Prepare a maintenance; with `write`, prove its specs and write them to that folder.

    Raises:
        FindingsError: what is named is not there, or the spec does not take the words.
        EmitError: a file cannot be written.
    """
    parts = {"": compiled, **compiled.networks}
    if wish.network is not None:
        own = compiled.of_network(wish.network)
        parts = {name: part for name, part in parts.items() if part is own}
    wirings = {name: Wiring(part.fabric) for name, part in parts.items()}
    target = downs.resolve_names(wish.devices, wirings)
    told = [*wish.down, *(downs.read_verify_result(wish.verified) if wish.verified else ())]
    known = [word for word in told if any(_has_element(wiring, word) for wiring in wirings.values())]
    down = downs.resolve_names([*wish.down, *(word for word in known if word not in wish.down)], wirings)
    concerned = {name: wiring for name, wiring in wirings.items() if _has_target(wiring, target)}
    networks = tuple(assess_network(name, wiring, target, down) for name, wiring in concerned.items())
    found = [one for each in networks for one in check_network(each, concerned[each.name], target, wish.keep)]
    words = specs.find_drain_keys(target, concerned)
    reviews, written = _review_specs(compiled, wish, words, progress)
    jobs, leaving = _find_affected_jobs(compiled, networks)
    found += _note_undrained_hosts(concerned, target)
    name = f"fabricc-{'-'.join(wish.devices[:3])}"
    slurm = slurm_commands(name, leaving, wish.start, wish.minutes) if leaving else {}
    kubernetes = kubernetes_commands(leaving) if leaving else {}
    return MaintenancePlan(
        compiled.fabric.cluster, wish, target, down, networks, jobs, leaving, words, reviews, written,
        slurm, kubernetes, tuple(found),
    )  # fmt: skip


def _has_element(wiring: Wiring, word: str) -> bool:
    device, _, port = word.partition(":")
    if device not in wiring.switches and device not in wiring.hosts:
        return False
    return not port or wiring.far_end((device, port)) is not None


def _has_target(wiring: Wiring, target: Outage) -> bool:
    devices = target.gone | {device for device, _ in target.ends}
    return any(name in wiring.switches or name in wiring.hosts for name in devices)


def _find_affected_jobs(
    compiled: Compiled, networks: Sequence[NetworkMaintenance]
) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Return the affected hosts that run jobs, and the hosts that jobs must leave."""
    touched = {each.name for network in networks for each in network.touched}
    stops = {each.name for network in networks for each in network.touched if each.stops}
    jobs: list[Job] = []
    rank = 0
    for host in list_hosts(compiled.fabric, lambda at: at).hosts:
        if host.name in touched:
            jobs.append(Job(host.name, host.unit, rank, host.gpus))
        rank += host.gpus
    running = [job.name for job in jobs if job.name in stops]
    return tuple(jobs), tuple(running)


def _note_undrained_hosts(wirings: Mapping[str, Wiring], target: Outage) -> list[Diagnostic]:
    """Report FAB9409 for ToRs: a drain does not move host traffic, because each host port has its own address."""
    tors = sorted(
        name
        for wiring in wirings.values()
        for name in target.gone
        if name in wiring.tors and wiring.nics(name)
    )
    if not tors:
        return []
    message = (
        f"draining {', '.join(tors)} moves no traffic of the hosts behind: each of their ports has an address of its "
        "own there, so it carries them until it is off"
    )
    return [Diagnostic("FAB9409", Severity.NOTE, message, None, "Let jobs leave these hosts first.")]


def _review_specs(
    compiled: Compiled, wish: MaintenanceRequest, words: DrainKeys, progress: Callable[[str, int, int], None]
) -> tuple[dict[str, Review], tuple[Path, ...]]:
    """Return the reviews of the drain and of its reversal, and the files that were written."""
    if not words.keys:
        return {}, ()
    text, file = compiled.sources[str(compiled.path)], str(compiled.path)
    there = {path: None for path, now in words.keys.items() if now}
    with TemporaryDirectory(prefix="fabricc-maintain-") as scratch:
        top = wish.write or Path(scratch)
        drained = edit_spec(text, file, dict.fromkeys(words.keys, "true"))
        drain = write_spec(compiled, drained, top / DRAIN)
        specs.require_drain_keys(drain, words)
        undrain = write_spec(compiled, edit_spec(text, file, there), top / UNDRAIN)
        reviews = {
            DRAIN: review_variant(compiled, drain, ("as it is", DRAIN)),
            UNDRAIN: review_variant(drain, undrain, (DRAIN, UNDRAIN)),
        }
        if wish.write is None:
            return reviews, ()
        for number, each in enumerate((drain, undrain)):
            progress("proving", number, 2)
            prove_spec(each)
        progress("proving", 2, 2)
        return reviews, (drain.path, undrain.path)
