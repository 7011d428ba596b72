"""Grow a running lab from one spec to the next, and move its cables as the worksheet of a migration lists them.

New devices join, old ones reload, and traffic continues.
"""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.load.spec_location import LOCK_NAME
from fabricc.operate.lab import demands, faults, kernel, lifecycle, making, observe, scenarios, state
from fabricc.operate.lab.agreement import Event, Trial
from fabricc.operate.lab.blueprint import Blueprint, build_blueprint, join_vrf, leave_vrf
from fabricc.operate.lab.flows import Stream
from fabricc.operate.lab.lab_fabric import SIMULATED, UnsoundError, read_source
from fabricc.operate.lab.node import LabError, Node
from fabricc.operate.lab.running import Lab
from fabricc.operate.lab.steady import Network, render_frr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fabricc.operate.lab.endpoints import Endpoint
    from fabricc.operate.lab.predict import Prediction


@dataclass(frozen=True, slots=True)
class Step:
    """A step from one state of a lab to the next.

    Attributes:
        before, after: the lab and its plan.
        plan: everything after.
        reloaded: switches whose configuration changes.
    """

    before: Network
    after: Network
    plan: Blueprint
    reloaded: tuple[str, ...]


def plan_step(before: Network, spec: Path, units: int | None, *, hands: bool = False) -> Step:
    """Plan the next state, with the lab's own lock, so that nothing that runs is renumbered.

    Args:
        before: the lab and its plan.
        spec: the next one.
        units: as for `read_source`.
        hands: cables that move stay where they are, for `recabling`, and the spec's own lock counts, if there is one:
            what runs is renumbered by a push.

    Raises:
        UnsoundError: the new spec does not plan.
        LabError: FAB8017, the new spec takes something away or moves it; FAB8003, it does not fit.
    """
    lab = before.lab
    staged = lab.folder / state.NEXT_SPEC
    compiled = compile_ethernet(spec, SIMULATED, gaps=False)
    if compiled.loaded is None:
        raise UnsoundError.of(compiled.diagnostics, compiled.sources)
    own = hands and compiled.lock_before is not None
    lock = compiled.lock_text if own else (lab.folder / state.SPEC / LOCK_NAME).read_text()
    lifecycle.copy_spec(staged, compiled.spec, lock)
    release = lifecycle.known_release(lab.record.frr)
    source = read_source(
        staged / spec.name, units, release, sample=lab.record.sample, network=lab.record.network
    )
    plan = build_blueprint(source.fabric)
    record = replace(
        lab.record,
        spec=spec.name,
        origin=str(spec.absolute()),
        units=units,
        switches=tuple(node.name for node in plan.switches),
        hosts=tuple(node.name for node in plan.hosts),
        outside=tuple(node.name for node in plan.outside),
        cables=state.cable_ends(plan.cables),
        vrfs=(vrfs := lifecycle.list_vrfs(plan)),
        idle_vrfs=_list_idle_vrfs(lab.record, vrfs),
        differences=source.differences,
    )
    if hands:
        record = replace(record, cables=_move_cables(lab.record.cables, record.cables))
    _require_growth(lab.record, record)
    demands.require_room(source.fabric, sum(lab.memory_kib().values()))
    after = Network.of(Lab(lab.folder, record), source.fabric)
    old = {switch.name: render_frr(switch) for switch in before.switches}
    new = {node.name: node.files["frr.conf"] for node in plan.switches}
    reloaded = (
        name for name in old if old[name] != new[name] or lab.record.vrf_ports(name) != record.vrf_ports(name)
    )
    return Step(before, after, plan, tuple(reloaded))


def _list_idle_vrfs(old: state.Record, vrfs: Iterable[state.Vrf]) -> tuple[tuple[str, str], ...]:
    """Return the VRFs that a switch had and has no longer: FRR keeps their namespaces while it runs."""
    known = {*old.idle_vrfs, *((switch, vrf) for switch, vrf, _ in old.vrfs)}
    return tuple(sorted(known - {(switch, vrf) for switch, vrf, _ in vrfs}))


def _move_cables(old: Sequence[state.Cable], new: Iterable[state.Cable]) -> tuple[state.Cable, ...]:
    """Return the cables of before, and new ones between ports that are free."""
    busy = set(state.ends_of_cables(old))
    return (*old, *(cable for cable in new if busy.isdisjoint(state.ends_of_cables([cable]))))


def _require_growth(old: state.Record, new: state.Record) -> None:
    gone = sorted({*old.switches, *old.hosts, *old.outside} - {*new.switches, *new.hosts, *new.outside})
    more = {cable for cable in set(new.cables) - set(old.cables) if cable[2] in old.outside}
    moved = sorted(set(old.cables) - set(new.cables) | more)
    if old.cluster != new.cluster or gone or moved:
        what = gone[:1] or [" ".join(cable) for cable in moved[:1]] or [new.cluster]
        remedy = (
            "A lab grows by devices and cables; --cable leaves cables that move to `fabricc lab recable`."
        )
        raise LabError("FAB8017", f"not a growth of {old.cluster}: {what[0]} would go or move", remedy)


def grow_lab(step: Step, trial: Trial) -> Event:
    """Carry the step out with traffic between the hosts of before, of which nothing may be lost.

    Raises:
        LabError: FAB8015, something is broken on purpose; FAB8010 or FAB8013, a switch did not take its part.
    """
    lab = step.after.lab
    faults.require_none(lab)
    name = f"growth by {plural(len(lab.record.switches) - len(step.before.switches), 'switch')}"
    before, after = step.before.predict(), step.after.predict()
    with Stream(step.before.lab, _find_lasting_pairs(step, before, after)) as stream:
        stream.start()
        state.save_record(lab.folder, lab.record)
        scenarios.while_running(lambda: _join_nodes(step), stream)
        settled = observe.wait_until_settled(lab, after, scenarios.LIMIT_S, stream.run)
        stream.recover(scenarios.LIMIT_S)
        outage = stream.outage()
    scenarios.compare_lossless(trial, name, settled, outage)
    _adopt_spec(lab)
    return Event(name, "no loss", settled, outage, None, None)


def _find_lasting_pairs(step: Step, before: Prediction, after: Prediction) -> list[tuple[Endpoint, Endpoint]]:
    """Return pairs of hosts that reach each other before and after: not those of a host that changes its tenant."""
    later = {(found.node, found.address): found for found in step.after.rails()}
    return [
        (sender, receiver)
        for sender, receiver in scenarios.surviving_pairs(step.before, before)
        for near, far in [(later[sender.node, sender.address], later[receiver.node, receiver.address])]
        if (near.vrf, far.vrf) == (sender.vrf, receiver.vrf) and after.hops(near, far) is not None
    ]


def add_cables(step: Step) -> None:
    """Wire and boot what is new, and leave what is old to a push.

    Raises:
        LabError: FAB8010, a new switch did not take its configuration.
    """
    lab = step.after.lab
    state.save_record(lab.folder, lab.record)
    _join_nodes(step, reload=False)
    _adopt_spec(lab)


def _join_nodes(step: Step, *, reload: bool = True) -> None:
    """Wire and boot what is new, then `reload` what is old and changes."""
    lab, old = step.after.lab, step.before.lab.record
    known = {*old.switches, *old.hosts, *old.outside}
    nodes = [node for node in step.plan.nodes if node.name not in known]
    had, wired = set(old.cables), set(state.ends_of_cables(old.cables))
    ends = [end for end in state.ends_of_cables(state.cable_ends(step.plan.cables)) if end not in wired]
    making.unplug_ports(lab, [end for end in ends if end[0] in known], dark=False)
    making.wire_nodes(lab, nodes, [cable for cable in lab.record.cables if cable not in had], step.plan)
    if reload:
        _change_vrfs(step)
    kernel.ip_batches(port_commands(lab, [node for node in step.plan.nodes if node.name in known], ends))
    if lab.record.ssh:
        making.prepare_logins(lab, step.plan.switches)
    making.boot_switches(lab, [node for node in nodes if node.files])
    if lab.record.ssh:
        making.set_port_speeds(lab, step.plan.switches, ends)
    if reload:
        files = {node.name: node.files for node in step.plan.switches}
        for switch in step.reloaded:
            lab.reload(switch, files[switch]["frr.conf"])
        _move_vrf_ports(step)


def _change_vrfs(step: Step) -> None:
    """Add and remove VRFs of running switches, as ifupdown2 does on a switch."""
    lab, old = step.after.lab, step.before.lab.record
    for node in step.plan.switches:
        had = {vrf for switch, vrf, _ in old.vrfs if switch == node.name}
        if node.name not in old.switches:
            continue
        for vrf in node.vrfs:
            if vrf.name not in had:
                join_vrf(lab, node, vrf, known=(node.name, vrf.name) in old.idle_vrfs)
    for switch, vrf_name in _lost_vrfs(step):
        leave_vrf(lab, switch, vrf_name)


def _lost_vrfs(step: Step) -> list[tuple[str, str]]:
    """Return the VRFs, each with its switch, that go in this step."""
    new = {(switch, vrf) for switch, vrf, _ in step.after.lab.record.vrfs}
    return [(switch, vrf) for switch, vrf, _ in step.before.lab.record.vrfs if (switch, vrf) not in new]


def _move_vrf_ports(step: Step) -> None:
    """Move ports of running switches that change their VRF; FRR has its new lines by then."""
    lab, old = step.after.lab, step.before.lab.record
    wired = {end for end in state.ends_of_cables(old.cables) if end[0] in old.switches}
    nodes = {node.name: node for node in step.plan.switches}
    for switch, port in sorted(wired):
        if old.vrf_ports(switch).get(port) != lab.record.vrf_ports(switch).get(port):
            place = lab.record.port_namespace(switch, port)
            kernel.ip_batch([f"link set {port} netns {place}"], old.port_namespace(switch, port))
            kernel.ip_batch(_commands_of_port(nodes[switch], port), place)


def _commands_of_port(node: Node, port: str) -> list[str]:
    ports = {port}
    return [*node.at_ports(ports), *(line for vrf in node.vrfs for line in vrf.at_ports(ports))]


def port_commands(
    lab: Lab, nodes: Iterable[Node], ends: Iterable[tuple[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Namespace -> what brings up those of its ports that now have a cable."""
    ports: dict[str, set[str]] = defaultdict(set)
    for device, port in ends:
        ports[device].add(port)
    found: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        found[lab.record.namespace(node.name)] = node.at_ports(ports[node.name])
        for vrf in node.vrfs:
            place = lab.record.namespace(state.vrf_table(node.name, vrf.name))
            found[place] = vrf.at_ports(ports[node.name])
    return found


def _adopt_spec(lab: Lab) -> None:
    """The staged spec becomes the lab's own."""
    kept = lab.folder / state.SPEC
    shutil.rmtree(kept)
    (lab.folder / state.NEXT_SPEC).rename(kept)


_WAS = ("device", "port", "far_device", "far_port")


class Row(NamedTuple):
    """A cable of a worksheet: unplugged at `was`, plugged at `now`."""

    round: int
    was: state.Cable | None
    now: state.Cable | None


def read_worksheet(worksheet: Path) -> list[Row]:
    """Return the rows of a worksheet.

    Raises:
        LabError: FAB9480, it is none.
    """
    try:
        with worksheet.open(newline="") as text:
            return [
                Row(int(row["round"]), _parse_cable(row, ""), _parse_cable(row, "new_"))
                for row in csv.DictReader(text)
            ]
    except (OSError, ValueError, KeyError, csv.Error) as error:
        remedy = "`fabricc migrate --write DIR` writes DIR/N-NAME/recabling.csv."
        raise LabError("FAB9480", f"{worksheet} is not a worksheet of cables: {error}", remedy) from None


def _parse_cable(row: Mapping[str, str | None], which: str) -> state.Cable | None:
    device, port, far, far_port = (row[f"{which}{name}"] for name in _WAS)
    if device and port and far and far_port:
        return device, port, far, far_port
    if device or port or far or far_port:
        raise ValueError(f"only one end of a cable in round {row['round']}")
    return None


def recable_lab(network: Network, rows: Iterable[Row], number: int | None = None) -> Network:
    """Carry out the rounds of a worksheet, or one of them: all its cables are pulled before any is plugged.

    A row that was carried out already costs nothing.

    The lab's plan has the cables as they are to be.

    Raises:
        LabError: FAB8015, something is broken on purpose; FAB9481, the lab's plan has no such cable, or a port of it is
            not free.
    """
    faults.require_none(network.lab)
    plan, lab = build_blueprint(network.fabric), network.lab
    chosen = [row for row in rows if number in (None, row.round)]
    for turn in sorted({row.round for row in chosen}):
        lab = _carry_out_round(lab, plan, [row for row in chosen if row.round == turn])
    return replace(network, lab=lab)


def _carry_out_round(lab: Lab, plan: Blueprint, rows: Sequence[Row]) -> Lab:
    had = set(lab.record.cables)
    pulled = {row.was for row in rows if row.was} & had
    plugged = [row.now for row in rows if row.now and row.now not in had]
    _require_free(plan, had - pulled, plugged)
    for cable in sorted(pulled):
        making.unplug_ports(lab, state.ends_of_cables([cable]))
        lab = _record_cables(lab, [one for one in lab.record.cables if one != cable])
    kernel.ip_batches(port_commands(lab, plan.nodes, state.ends_of_cables(pulled)))
    for cable in plugged:
        ends = state.ends_of_cables([cable])
        making.unplug_ports(lab, ends, dark=False)
        making.plug_cables(lab, [cable])
        kernel.ip_batches(port_commands(lab, plan.nodes, ends))
        lab = _record_cables(lab, [*lab.record.cables, cable])
        if lab.record.ssh:
            making.set_port_speeds(lab, plan.switches, ends)
    return lab


def _require_free(
    plan: Blueprint, other_cables: Iterable[state.Cable], plugged: Sequence[state.Cable]
) -> None:
    """Raise FAB9481 where a cable cannot be plugged as the plan has it."""
    at = {end: cable for cable in other_cables for end in state.ends_of_cables([cable])}
    known = set(state.cable_ends(plan.cables))
    for cable in plugged:
        words = ":".join(cable[:2]) + " to " + ":".join(cable[2:])
        if cable not in known:
            remedy = "Run `fabricc lab grow --cable` with the spec of the worksheet first."
            raise LabError("FAB9481", f"the lab's spec has no cable from {words}", remedy)
        for end in state.ends_of_cables([cable]):
            if end in at:
                message = f"no cable from {words}: {':'.join(end)} has another"
                raise LabError("FAB9481", message, "Carry out the rounds in their order.")


def _record_cables(lab: Lab, cables: Iterable[state.Cable]) -> Lab:
    record = replace(lab.record, cables=tuple(cables))
    state.save_record(lab.folder, record)
    return Lab(lab.folder, record)
