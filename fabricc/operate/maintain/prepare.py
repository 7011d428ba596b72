"""Prepare a maintenance: its effect on each network, reviewed specs, and commands that keep jobs away.

Devices and links are named on the command line or read as outages from the result of `fabricc verify`. One spec has
them drained and one in service again, each in a folder that builds.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back.jobs.roster import list_hosts
from fabricc.back.jobs.slurm import kubernetes_commands, slurm_commands
from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.catalog.library import suggestion_remedy
from fabricc.fabric.capacity.wiring import End, Outage, Wiring
from fabricc.front.spec.document import format_path
from fabricc.operate.change.variant import edit_spec, prove_spec, review_variant, write_spec
from fabricc.operate.maintain.plan import NetworkMaintenance, assess_network, check_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
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
    request: MaintenanceRequest
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
    compiled: Compiled, request: MaintenanceRequest, progress: Callable[[str, int, int], None]
) -> MaintenancePlan:
    """Prepare a maintenance; with `write`, prove its specs and write them to that folder.

    Raises:
        FindingsError: what is named is not there, or the spec does not take the words.
        EmitError: a file cannot be written.
    """
    parts = {"": compiled, **compiled.networks}
    if request.network is not None:
        own = compiled.of_network(request.network)
        parts = {name: part for name, part in parts.items() if part is own}
    wirings = {name: Wiring(part.fabric) for name, part in parts.items()}
    target = resolve_names(request.devices, wirings)
    named = [*request.down, *(read_verify_result(request.verified) if request.verified else ())]
    known = [word for word in named if any(_has_element(wiring, word) for wiring in wirings.values())]
    down = resolve_names([*request.down, *(word for word in known if word not in request.down)], wirings)
    concerned = {name: wiring for name, wiring in wirings.items() if _has_target(wiring, target)}
    networks = tuple(assess_network(name, wiring, target, down) for name, wiring in concerned.items())
    found = [
        one for each in networks for one in check_network(each, concerned[each.name], target, request.keep)
    ]
    words = find_drain_keys(target, concerned)
    reviews, written = _review_specs(compiled, request, words, progress)
    jobs, leaving = _find_affected_jobs(compiled, networks)
    found += _note_undrained_hosts(concerned, target)
    name = f"fabricc-{'-'.join(request.devices[:3])}"
    slurm = slurm_commands(name, leaving, request.start, request.minutes) if leaving else {}
    kubernetes = kubernetes_commands(leaving) if leaving else {}
    return MaintenancePlan(
        compiled.fabric.cluster, request, target, down, networks, jobs, leaving, words, reviews, written,
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
        f"draining {', '.join(tors)} moves no traffic of its hosts: each of their ports has an address "
        "on it, so it forwards until it is off"
    )
    return [Diagnostic("FAB9409", Severity.NOTE, message, None, "Let jobs leave these hosts first.")]


def _review_specs(
    compiled: Compiled,
    request: MaintenanceRequest,
    words: DrainKeys,
    progress: Callable[[str, int, int], None],
) -> tuple[dict[str, Review], tuple[Path, ...]]:
    """Return the reviews of the drain and of its reversal, and the files that were written."""
    if not words.keys:
        return {}, ()
    text, file = compiled.sources[str(compiled.path)], str(compiled.path)
    there = {path: None for path, now in words.keys.items() if now}
    with TemporaryDirectory(prefix="fabricc-maintain-") as scratch:
        top = request.write or Path(scratch)
        drained = edit_spec(text, file, dict.fromkeys(words.keys, "true"))
        drain = write_spec(compiled, drained, top / DRAIN)
        require_drain_keys(drain, words)
        undrain = write_spec(compiled, edit_spec(text, file, there), top / UNDRAIN)
        reviews = {
            DRAIN: review_variant(compiled, drain, ("as it is", DRAIN)),
            UNDRAIN: review_variant(drain, undrain, (DRAIN, UNDRAIN)),
        }
        if request.write is None:
            return reviews, ()
        for number, each in enumerate((drain, undrain)):
            progress("proving", number, 2)
            prove_spec(each)
        progress("proving", 2, 2)
        return reviews, (drain.path, undrain.path)


@dataclass(frozen=True, slots=True)
class DrainKeys:
    """Keys of the spec that must be true during maintenance: path -> current value."""

    keys: Mapping[KeyPath, bool]

    @property
    def lines(self) -> list[str]:
        """The keys as lines of a spec."""
        return [f"{format_path(path)}: true" for path in self.keys]


def find_drain_keys(target: Outage, wirings: Mapping[str, Wiring]) -> DrainKeys:
    """Return the keys that drain switches and shut down links; hosts have no such key."""
    keys: dict[KeyPath, bool] = {}
    for network, wiring in wirings.items():
        root: tuple[str, ...] = ("networks", network, "overrides") if network else ("overrides",)
        changes = wiring.fabric.changes
        for name in (each for each in wiring.switches if each in target.gone):
            keys[(*root, name, "drain")] = name in changes and changes[name].drained
        for device, port in _switch_ends(target, wiring):
            known = changes[device].ports.get(port) if device in changes else None
            keys[(*root, device, "ports", port, "shutdown")] = bool(known and known[2])
    return DrainKeys(keys)


def _switch_ends(target: Outage, wiring: Wiring) -> list[End]:
    """Return one switch end of each link; setting it there shuts down both ends."""
    found: dict[frozenset[End], End] = {}
    for end in sorted(end for end in target.ends if end[0] in wiring.switches):
        if (far := wiring.far_end(end)) is not None:
            found.setdefault(frozenset({end, far}), end)
    return list(found.values())


def require_drain_keys(found: Compiled, keys: DrainKeys) -> None:
    """Check that the compiled spec applies the keys: an anchor or a merge may define the same key twice.

    Raises:
        FindingsError: FAB9408, it does not have them.
    """
    parts = {"": found, **found.networks}
    for path in keys.keys:
        network = str(path[1]) if path[0] == "networks" else ""
        rest = path[3:] if network else path[1:]
        change = parts[network].fabric.changes.get(str(rest[0]))
        ports = change.ports if change else {}
        done = change is not None and (change.drained if len(rest) == 2 else ports[str(rest[2])][2])
        if not done:
            message = "the keys that drain the devices cannot be written into this spec"
            raise FindingsError("FAB9408", message, f"Write them by hand: {', '.join(keys.lines)}.")


_LARGEST = 64 << 20
_SILENT = "FAB9110"
"""Code of a switch that does not answer at all."""


class UnknownError(FindingsError):
    """A named device or link is not in the fabric, or an input file cannot be read."""


def resolve_names(words: Sequence[str], wirings: Mapping[str, Wiring]) -> Outage:
    """Return the devices and links that some words name; a link is named by one of its ends (`device:port`).

    A word applies to each network that has such a device.

    Raises:
        UnknownError: FAB9400, FAB9401.
    """
    gone: set[str] = set()
    ends: set[tuple[str, str]] = set()
    wrong: list[Diagnostic] = []
    for text in words:
        device, _, port = text.partition(":")
        having = [each for each in wirings.values() if device in each.switches or device in each.hosts]
        if not having:
            wrong.append(_unknown_device_finding(device, wirings))
        elif not port:
            gone.add(device)
        elif far := [end for each in having if (end := each.far_end((device, port)))]:
            ends |= {(device, port), *far}
        else:
            wrong.append(
                _unknown_port_finding(device, port, [name for each in having for name in each.ports(device)])
            )
    if wrong:
        raise UnknownError.of(wrong)
    return Outage(gone=frozenset(gone), ends=frozenset(ends))


def _unknown_device_finding(name: str, wirings: Mapping[str, Wiring]) -> Diagnostic:
    known = [each for wiring in wirings.values() for each in (*wiring.switches, *wiring.hosts)]
    remedy = suggestion_remedy(name, known, f"Devices are named like {known[0]} and {known[-1]}.")
    return Diagnostic("FAB9400", Severity.ERROR, f"the fabric has no device {clip(name)!r}", None, remedy)


def _unknown_port_finding(device: str, port: str, ports: Sequence[str]) -> Diagnostic:
    remedy = suggestion_remedy(port, ports, f"Its links are at {', '.join(ports[:4])} and so on.")
    message = f"port {clip(port)!r} of {device} has no link"
    return Diagnostic("FAB9401", Severity.ERROR, message, None, remedy)


def read_verify_result(path: Path) -> list[str]:
    """Return the silent devices and the links that are down in a result of `fabricc verify --format json`.

    Raises:
        UnknownError: FAB9405, the file is not such a result.
    """
    try:
        stated = json.loads(files.read(path, limit=_LARGEST))
        return list(dict.fromkeys(_list_outages(stated)))
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        why = "no such result"
    remedy = "Write it with `fabricc verify TREE --format json`."
    raise UnknownError("FAB9405", f"cannot read {path}: {why}", remedy)


def _list_outages(stated: Mapping[str, Any]) -> Iterator[str]:
    silent: Mapping[str, Iterable[Mapping[str, Any]]] = stated["not_asked"]
    for name, reasons in silent.items():
        if any(one["code"] == _SILENT for one in reasons):
            yield str(name)
    for one in stated["findings"]:
        if port := one.get("port_down"):
            yield f"{one['device']}:{port}"
