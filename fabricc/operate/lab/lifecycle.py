"""Create a lab, and remove all that is left of one, however it ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back import nos
from fabricc.base.foreign import files
from fabricc.base.values import replace
from fabricc.compiler.load.spec_location import LOCK_NAME
from fabricc.operate.lab import demands, kernel, making, observe, running, state
from fabricc.operate.lab.blueprint import Blueprint, build_blueprint, swap_cables
from fabricc.operate.lab.lab_fabric import FRR, LabFabric, read_source
from fabricc.operate.lab.making import boot_switches, wire_nodes
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.front.spec.model import ClusterSpec
    from fabricc.operate.lab.predict import End

    Progress = Callable[[str, int, int], None]

_NO_NEXT_HOP_GROUPS = "no zebra nexthop kernel enable"
_NO_LLDP = "lldpd is not installed: cables are proved by sessions and datagrams alone"
_GONE_S = 10.0


def overlay_for(frr: str) -> tuple[str, ...]:
    """Return lines added to every `frr.conf`.

    FRR 8.4 leaves a shrunken next-hop group in the kernel after a port flap (corrected upstream by FRRouting pull
    request 13413), so these groups are disabled.
    """
    return (_NO_NEXT_HOP_GROUPS,) if frr.startswith("8.4") else ()


def known_release(frr: str) -> str:
    """Return the nearest release that the FRR back end renders for."""
    back_end = nos.load("frr")
    wanted = ".".join(frr.split(".")[:2])
    return wanted if wanted in back_end.releases else back_end.default_release


def boot_lab(
    spec: Path,
    folder: Path | None,
    *,
    units: int | None = None,
    sample: bool = False,
    network: str | None = None,
    swap: tuple[End, End] | None = None,
    ssh: bool = False,
    progress: Progress | None = None,
) -> tuple[Lab, LabFabric]:
    """Boot a fabric and return once every switch has loaded its configuration.

    Args:
        spec: its spec.
        folder: state folder; None for the default, named after the cluster.
        units: boot only so many units.
        sample: boot a sample, with a part of the spines and cores.
        network: the one to boot, where there are several.
        swap: exchange the far ends of the cables at these two ports: a deliberate miswire.
        ssh: let switches be logged in to, each in a root file system of its own.
        progress: called with what is being done, how much is done, and how much there is.

    Raises:
        UnsoundError: the spec does not plan.
        LabError: the machine does not allow it, or a switch did not take its configuration; nothing is left then.
    """
    demands.require_root()
    demands.require_programs()
    if ssh:
        making.require_sshd()
    frr = demands.frr_version()
    source = read_source(spec, units, known_release(frr), sample=sample, network=network)
    plan, differences = _plan_boot(source, network, frr, swap=swap, ssh=ssh)
    source = replace(source, differences=differences)
    folder = (folder or state.DEFAULT / plan.cluster).absolute()
    running.claim(folder)
    with state.lock_lab(folder):
        if (folder / state.RECORD).exists():
            remedy = "Take it down first with `fabricc lab down`, or use --state."
            raise LabError("FAB8005", f"a lab is in {folder}", remedy)
        record = replace(_make_record(plan, source, folder, frr), network=network, ssh=ssh)
        if ssh:
            record = replace(record, idle_vrfs=_list_spare_vrfs(plan))
        taken = [name for name in record.namespaces if (kernel.NAMESPACES / name).exists()]
        if taken:
            raise LabError("FAB8007", f"namespaces of these names exist: {', '.join(taken[:3])}")
        state.save_record(folder, record)
        lab = Lab(folder, record)
        try:
            copy_spec(folder / state.SPEC, source.compiled.spec, source.compiled.lock_text)
            wire_nodes(lab, plan.nodes, record.cables, plan, progress)
            if ssh:
                making.prepare_logins(lab, plan.switches)
            _start_supervisor(folder)
            boot_switches(lab, plan.booted, progress)
            if ssh:
                making.set_port_speeds(lab, plan.switches, state.ends_of_cables(record.cables))
        except BaseException:
            _remove_lab(lab)
            raise
    return lab, source


def _plan_boot(
    source: LabFabric, network: str | None, frr: str, *, swap: tuple[End, End] | None, ssh: bool
) -> tuple[Blueprint, tuple[str, ...]]:
    """Return what to boot, and how it differs from the plan.

    Raises:
        LabError: the machine lacks what the switches need.
    """
    differences = [*source.differences, *([] if observe.has_lldp() else [_NO_LLDP])]
    if ssh:
        differences += _require_own_system(source, network, known_release(frr))
    if sentence := demands.describe_strain(source.fabric):
        differences.append(sentence)
    demands.require_room(source.fabric)
    plan = build_blueprint(source.fabric)
    if swap:
        plan = swap_cables(plan, *swap)
        words = " and ".join(f"{device}:{port}" for device, port in swap)
        differences.append(f"miswired: the cables at {words} are exchanged")
    return plan, (*differences, *_left_out(plan))


def _left_out(plan: Blueprint) -> list[str]:
    """Name the kernel settings of the plan that belong to the whole machine, which a lab leaves alone."""
    names = {name for node in plan.nodes for name in node.kernel if not kernel.is_own_setting(name)}
    return [f"left alone: {', '.join(sorted(names))}, settings of the whole machine"] if names else []


def _make_record(plan: Blueprint, source: LabFabric, folder: Path, frr: str) -> state.Record:
    spec = source.compiled.spec
    return state.Record(
        cluster=plan.cluster,
        prefix=state.prefix_for(plan.cluster, folder),
        spec=Path(spec.file).name,
        origin=str(Path(spec.file).absolute()),
        units=source.units,
        switches=tuple(node.name for node in plan.switches),
        hosts=tuple(node.name for node in plan.hosts),
        cables=state.cable_ends(plan.cables),
        overlay=overlay_for(frr),
        differences=source.differences,
        frr=frr,
        sample=source.sample,
        lldp=observe.has_lldp(),
        outside=tuple(node.name for node in plan.outside),
        vrfs=list_vrfs(plan),
    )


def list_vrfs(plan: Blueprint) -> tuple[state.Vrf, ...]:
    """Return the VRFs of a plan as a record has them."""
    return tuple((node.name, vrf.name, vrf.ports) for node in plan.switches for vrf in node.vrfs)


def _list_spare_vrfs(plan: Blueprint) -> tuple[tuple[str, str], ...]:
    """Return the VRFs that a switch with hosts does not have yet, and that a push may give it."""
    names = {vrf.name for node in plan.switches for vrf in node.vrfs}
    hosts = {node.name for node in plan.hosts}
    own = {(node.name, vrf.name) for node in plan.switches for vrf in node.vrfs}
    switches = {switch for host, _, switch, _ in state.cable_ends(plan.cables) if host in hosts}
    return tuple(sorted({(switch, name) for switch in switches for name in names} - own))


def _require_own_system(source: LabFabric, network: str | None, release: str) -> list[str]:
    """Return the differences that a push to the lab finds.

    Raises:
        LabError: FAB8019, a switch is of another system than FRR: no driver of that system has anybody to speak to.
    """
    tiers = source.compiled.of_network(network).fabric.tiers.values()
    if others := sorted({plan.nos for plan in tiers} - {FRR}):
        message = f"switches of {', '.join(others)} run FRR in the lab, but `push` would use the driver of {others[0]}"
        remedy = f"Rehearse with a copy of the spec with `nos: {FRR}-{release}` in every tier."
        raise LabError("FAB8019", message, remedy)
    other = sorted({plan.release for plan in tiers} - {release})
    return [
        f"the spec has FRR {one}, and {release} runs: a push sends lines of {one}, which it may refuse, and changes "
        f"every switch at first; `nos: {FRR}-{release}` in every tier rehearses without that"
        for one in other
    ]


def copy_spec(copy: Path, spec: ClusterSpec, lock_text: str) -> None:
    """Keep what a lab is made from: the spec may be edited while the lab runs.

    Raises:
        LabError: FAB8014, a catalog file lies outside the folder of the spec.
    """
    origin = Path(spec.file)
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    overlays = (entry.file for entry in spec.overlays)
    for name in (origin.name, *spec.catalog_files, *overlays, *spec.identity_files):
        target = (copy / name).resolve()
        if not target.is_relative_to(copy.resolve()):
            raise LabError("FAB8014", f"the file {name} lies outside the folder of the spec")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files.read(origin.parent / name))
    (copy / LOCK_NAME).write_text(lock_text)


def _start_supervisor(folder: Path) -> None:
    """Start the process that holds the boxes, and note who it is."""
    with (folder / state.SUPERVISOR_LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "fabricc.operate.lab.supervisor", str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    started = kernel.start_time(process.pid)
    state.write_json(folder / state.SUPERVISOR, {"pid": process.pid, "started": started})


def take_down_lab(folder: Path) -> state.Record:
    """Remove a lab, also one that was killed half made; only what it made is touched.

    Raises:
        LabError: FAB8006, there is no lab in the folder; FAB0086, `up` did not make the folder; FAB8005, another
            command works on it.
    """
    demands.require_root()
    running.require_own(folder)
    with state.lock_lab(folder):
        lab = Lab.open(folder)
        _remove_lab(lab)
    return lab.record


def _remove_lab(lab: Lab) -> None:
    with suppress(OSError, ValueError, KeyError):
        noted = json.loads((lab.folder / state.SUPERVISOR).read_text())
        if noted["started"] and kernel.start_time(noted["pid"]) == noted["started"]:
            _end_process(noted["pid"])
    present = [name for name in lab.record.namespaces if (kernel.NAMESPACES / name).exists()]
    for namespace in present:
        _end_inside(namespace)
    kernel.ip_batch((f"netns del {name}" for name in present), force=True)
    running.release(lab.folder)


def _end_process(pid: int) -> None:
    """End a process of ours and wait for it; its boxes go with it."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
        limit = time.monotonic() + _GONE_S
        while time.monotonic() < limit:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            if kernel.start_time(pid) is None:
                return
            time.sleep(0.02)


def _end_inside(namespace: str) -> None:
    """End what still runs in one of the lab's namespaces."""
    limit = time.monotonic() + _GONE_S
    while time.monotonic() < limit:
        ran = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
        pids = [int(word) for word in ran.stdout.split() if int(word) != os.getpid()]
        if not pids:
            return
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def note_boot(lab: Lab, seconds: float) -> Lab:
    """Record how long the lab took to reach its planned state."""
    record = replace(lab.record, boot_s=round(seconds, 2))
    state.save_record(lab.folder, record)
    return Lab(lab.folder, record)
