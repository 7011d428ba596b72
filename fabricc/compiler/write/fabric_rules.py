"""Run the rules about several switches on the planned switches of a fabric, and find the lines of their findings."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.prove.finding_groups import SHOWN, FindingGroups
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.facts import Reading
from fabricc.fabric.links import switch_links
from fabricc.fabric.model import Host, Switch
from fabricc.fabric.shape import HostId, SwitchId
from fabricc.proof.invariants import Survey
from fabricc.proof.invariants.clos import check_oversubscription
from fabricc.proof.invariants.rules import declared_ratios
from fabricc.proof.invariants.view import make_view
from fabricc.rules.findings import finding_at
from fabricc.rules.planned import compare_neighbors, planned_host, planned_statement
from fabricc.rules.planned_links import LinkEnd, locate_end
from fabricc.rules.registry import run_fabric_rules, run_host_rules, run_switch_rules
from fabricc.rules.rule import Report, Switches
from fabricc.rules.sessions import sessions_of
from fabricc.rules.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.compiler.planned_spec import PlannedSpec
    from fabricc.compiler.write.device import Work
    from fabricc.fabric.fabric import Fabric
    from fabricc.facts.statement import Device, Statement
    from fabricc.proof.compare import Finding
    from fabricc.proof.invariants.policy import Policy
    from fabricc.rules.census import Census
    from fabricc.rules.records import Summary

_OF_A_SIGNATURE, _COMPARED = 2, 128
"""Switches of one signature that are compared with their neighbors, and switches that are read again in all."""


def add_fabric_findings(
    work: Work, summaries: Mapping[str, Summary], census: Census, findings: FindingGroups
) -> None:
    """Add the findings of every rule about several switches.

    Args:
        work: reads the switches again that a finding is about.
        summaries: switch -> what it states that is compared with others.
        census: the digests of the fabric.
        findings: the result.
    """
    policies = {each.name: each.policy for each in census.switches}

    def policy_of(name: str) -> Policy | None:
        return census.policies.get(policies.get(name, b""))

    groups: dict[tuple[str, str], list[Report]] = {}
    for each in run_fabric_rules(planned_switches(work.fabric, summaries, policy_of)):
        groups.setdefault((each.code, each.group), []).append(each)
    if not groups:
        return
    names = {each.device for reports in groups.values() for each in reports[:SHOWN]}
    devices = {each.name: each.device for each in _read_again(work, names)}
    for reports in groups.values():
        shown = [_locate(each, devices[each.device]) for each in reports[:SHOWN]]
        findings.add_counted(shown, len(reports) - len(shown))


def add_neighbor_findings(work: Work, altered: Mapping[str, bytes], findings: FindingGroups) -> None:
    """Add what switches that state more or something else than the plan, and their neighbors, disagree on.

    Between two switches that state exactly the plan, the comparison of all links suffices.

    Args:
        work: reads the switches again.
        altered: switch -> signature; of switches with one signature, the first few are compared.
        findings: the result.
    """
    fabric, chosen, seen = work.fabric, dict[str, None](), Counter[bytes]()
    for name, signature in sorted(altered.items()):
        seen[signature] += 1
        if seen[signature] > _OF_A_SIGNATURE or len(chosen) >= _COMPARED:
            continue
        at = fabric.find(name)
        if isinstance(at, SwitchId):
            chosen |= dict.fromkeys((name, *(link.peer for link in switch_links(fabric, at))))
    if chosen:
        statements = {each.name: each for each in _read_again(work, list(chosen)[:_COMPARED])}
        findings.add(compare_neighbors(statements))


def find_plan_findings(
    plan: PlannedSpec, names: Collection[str] = (), *, located: bool = False
) -> Iterator[Finding]:
    """Yield the findings of all rules on the planned facts of a cluster, from one switch and one host of each kind.

    Files that a build renders and proves state these facts; overlays and templates of the user's own are not included.

    Args:
        plan: the cluster.
        names: further devices to judge, also if another one of their kind is.
        located: whether to render the files, so that findings have their lines.
    """
    if plan.infiniband is not None:
        return  # its switches have no configuration
    for part in (plan, *plan.networks.values()):
        fabric, devices, summaries, survey = part.fabric, {}, {}, Survey()
        named = [at for at in map(fabric.find, names) if at is not None]
        switches = [at for at in named if isinstance(at, SwitchId)]
        for switch in map(fabric.switch, dict.fromkeys((*fabric.kinds(), *switches))):
            back_end = back_ends.load(switch.nos)
            files = render_switch(switch) if located else {}
            reading = back_end.read(files) if located else Reading(back_end.planned(switch))
            statement = planned_statement(switch, reading, files, f"switches/{switch.name}")
            sessions = sessions_of(statement)
            yield from run_switch_rules(statement, sessions)
            devices[switch.name] = statement.device
            summaries[switch.name] = summarize(statement, sessions)
            if fabric.changes:  # the ratio of bandwidths does not count what is shut
                yield from survey.add_switch(make_view(switch, reading), f"switches/{switch.name}")
        yield from check_oversubscription(survey.switches, declared_ratios(part.spec))
        for each in run_fabric_rules(planned_switches(fabric, summaries, lambda _: None)):
            yield _locate(each, devices[each.device])
        hosts = [at for at in named if isinstance(at, HostId)]
        for host in map(fabric.host, dict.fromkeys((*fabric.host_kinds(), *hosts))):
            files = host_files.render(host) if located else {}
            reading = host_files.read(files) if located else Reading(host_files.planned(host))
            yield from run_host_rules(planned_host(host, reading, files, f"hosts/{host.name}"))


def _locate(report: Report, device: Device) -> Finding:
    code, _, paths, message, group, severity, remedy, word = report
    return finding_at(code, device, paths, message, group, severity, remedy, word=word)


def planned_switches(
    fabric: Fabric, summaries: Mapping[str, Summary], policy_of: Callable[[str], Policy | None]
) -> Switches:
    """Return the switches of a planned fabric for rules about several of them; links and addresses are the plan's."""

    @cache
    def find_links() -> Mapping[str, Sequence[str]]:
        return {
            fabric.name(at): [link.peer for link in switch_links(fabric, at)] for at in fabric.switch_ids()
        }

    @cache
    def owners() -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for switch in map(fabric.switch, fabric.switch_ids()):
            texts = [switch.loopback4, switch.loopback6, *(a for p in switch.ports for a in (p.ipv4, p.ipv6))]
            for text in filter(None, texts):
                found.setdefault(text.partition("/")[0], []).append(switch.name)
        return found

    return Switches(
        summaries,
        lambda name: find_links().get(name, ()),
        lambda address: owners().get(address, ()),
        policy_of,
        planned=True,
    )


def locate_ends(work: Work, ends: Iterable[LinkEnd]) -> Iterator[LinkEnd]:
    """Yield ends of links with the files and lines that state them; reads their devices again."""
    by_device: dict[str, list[LinkEnd]] = {}
    for end in ends:
        by_device.setdefault(end.device, []).append(end)
    for device, folder, _, reading in _read_devices(work, by_device):
        for end in (locate_end(each, reading) for each in by_device[device.name]):
            yield end._replace(file=end.file and f"{folder}/{end.file}")


def _read_again(work: Work, names: Iterable[str]) -> Iterator[Statement]:
    """Read the files of some switches."""
    for device, folder, files, reading in _read_devices(work, {*names}):
        if isinstance(device, Switch):
            yield planned_statement(device, reading, files, folder)


def _read_devices(
    work: Work, names: Collection[str]
) -> Iterator[tuple[Switch | Host, str, Mapping[str, str], Reading]]:
    """Yield some devices of the work, each with its folder, its files and what they state."""
    fabric = work.fabric
    for at in (device for piece in work.pieces for device in piece):
        if isinstance(at, HostId):
            name = fabric.units[at[0]].hosts[at[1]]
            if name in names:
                host, folder = fabric.host(at), f"hosts/{name}"
                existing = work.existing(folder)[0] if work.existing else None
                files = host_files.render(host) if existing is None else host_files.of_part(existing, host)
                yield host, folder, files, host_files.read(files)
        elif (name := fabric.name(at)) in names:
            switch, folder = fabric.switch(at), f"switches/{name}"
            files = work.existing(folder)[0] if work.existing else render_switch(switch)
            yield switch, folder, files, back_ends.load(switch.nos).read(files)
