"""The whole simulation of a tree: every subnet brought up from its files, judged, disturbed and judged again."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.infiniband import sm_files as subnet_manager
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.files import Folder
from fabricc.base.values import dataclass
from fabricc.fabric.infiniband_wiring import Subnet
from fabricc.proof import Finding
from fabricc.proof.infiniband.sim import judge, processes
from fabricc.proof.infiniband.subnets import adapter_distances

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.infiniband import InfinibandFabric

_QUIET_S = 0.3

_LARGEST = 1 << 30  # bytes of a file of the subnet manager
_REBUILD = "Build again, or see who changed it."


@dataclass(slots=True)
class Report:
    """The findings of one subnet, and figures of the run.

    Attributes:
        up_s: seconds from the start of opensm until every port had a LID and every switch its tables.
        reroute_s: seconds from an unplugged link to new tables; None when no link could be spared.
        loads: routes by the least and the most used uplink of a leaf.
        ibdm: whether ibdmchk looked for credit loops too.
    """

    adapters: int = 0
    switches: int = 0
    engine: str = ""
    routes: int = 0
    loads: tuple[int, int] = (0, 0)
    up_s: float = 0.0
    reroute_s: float | None = None
    ibdm: bool = False
    findings: list[Finding] = field(default_factory=list)

    def sentence(self) -> str:
        """Return the run in a sentence."""
        loops = "ibdmchk and the walk find" if self.ibdm else "the walk finds"
        moved = (
            "" if self.reroute_s is None else f", a pulled link was routed around in {self.reroute_s:.2f} s"
        )
        return (
            f"opensm brought {self.adapters:,} adapters and {self.switches:,} switches up in {self.up_s:.1f} s by "
            f"{self.engine}: every LID as planned, {self.routes:,} routes arrive, an uplink of a leaf has "
            f"{self.loads[0]} to {self.loads[1]}, {loops} no credit loop{moved}"
        )


def simulate_tree(
    ib: InfinibandFabric, tree: Path, progress: Callable[[str, int, int], None] | None = None
) -> list[Diagnostic]:
    """Simulate every subnet of a tree; findings as errors, and one note (FAB6329) for each subnet that is sound."""
    if lacking := processes.missing_programs():
        message = f"not installed: {', '.join(lacking)}"
        return [
            Diagnostic(
                "FAB8002",
                Severity.ERROR,
                message,
                None,
                f"On Debian or Ubuntu: `sudo apt-get install {processes.PACKAGES}`.",
            )
        ]
    result: list[Diagnostic] = []
    for number in range(ib.subnets):
        if progress is not None:
            progress("subnets simulated", number, ib.subnets)
        folder, files = (
            tree / subnet_manager.subnet_folder(number),
            dict(subnet_manager.sm_files(Subnet(ib, number))),
        )
        if altered := _find_altered(tree, subnet_manager.subnet_folder(number), files):
            message = f"not simulated: {altered} was changed, and opensm runs programs that its files name"
            result.append(
                Diagnostic("FAB6022", Severity.ERROR, message, Position(str(folder / altered), 1), _REBUILD)
            )
            continue
        report = simulate_subnet(ib, files)
        for found in report.findings:
            at = Position(str(folder / found.file), max(1, found.line)) if found.file else None
            result.append(Diagnostic(found.code, found.severity, found.message, at, found.help))
        if not report.findings:
            at = Position(str(folder / subnet_manager.CONF), 1)
            result.append(Diagnostic("FAB6329", Severity.NOTE, report.sentence(), at))
    return result


def _find_altered(tree: Path, folder: str, files: Mapping[str, str]) -> str:
    """Return the first file of a subnet in a tree that differs from a fresh build; "" without one."""
    with Folder(tree) as present:
        for name, text in sorted(files.items()):
            try:
                if present.read(f"{folder}/{name}", limit=_LARGEST) != text.encode():
                    return name
            except OSError:
                return name
    return ""


def simulate_subnet(ib: InfinibandFabric, files: Mapping[str, str]) -> Report:
    """Bring one subnet up from its files and judge it."""
    report = Report()
    if absent := {subnet_manager.CONF, subnet_manager.LIDS, subnet_manager.TOPOLOGY} - files.keys():
        report.findings.append(Finding("FAB6320", f"missing: {', '.join(sorted(absent))}", ""))
        return report
    topology = subnet_manager.read_topology(files[subnet_manager.TOPOLOGY])
    adapters = list(topology.adapters())
    report.adapters, report.switches = len(adapters), len(topology.nodes) - len(adapters)
    with tempfile.TemporaryDirectory(prefix="fabricc-sim-") as name:
        folder = Path(name)
        processes.write_inputs(folder, files)
        wait_s = 120 + report.adapters / 10 + report.adapters**2 / 500_000
        try:
            with processes.SimulatedSubnet(
                folder, processes.Needs.of(topology), processes.adapter_id(adapters[-1].guid), wait_s
            ) as running:
                _judge_subnet(judge.Subject(ib, topology, running), report)
        except processes.SimulationError as error:
            report.findings.append(Finding("FAB6320", str(error), subnet_manager.CONF))
    return report


def _judge_subnet(subject: judge.Subject, report: Report) -> None:
    running, topology = subject.running, subject.topology
    report.up_s = running.up_s
    report.engine = subject.ib.engine.names[0]
    report.findings += judge.report_messages(running)
    report.findings += judge.check_engine(subject)
    report.findings += judge.check_lids(subject)
    result = judge.walk_tables(subject)
    report.routes = result.routes
    if result.loads:
        report.loads = min(result.loads.values()), max(result.loads.values())
    report.findings += judge.check_routes(result)
    adapters = list(topology.adapters())
    if len(adapters) <= judge.CHECKED_BY_IBDM:
        report.ibdm = True
        report.findings += judge.check_loops(subject)
    report.findings += judge.trace_packet(subject, adapters[0], adapters[-1])
    report.findings += judge.check_partitions(subject)
    if (spare := _spare_link(topology)) is not None and not report.findings:
        report.findings += _test_unplugged(subject, spare, report)


def _spare_link(topology: subnet_manager.ReadTopology) -> tuple[str, int] | None:
    """Return the first uplink (switch id, port) of a leaf that has another one, or None."""
    rank = adapter_distances(topology)
    for node in topology.switches():
        ups = [port for port, (peer, _, _) in node.ends.items() if rank.get(peer, 0) > rank.get(node.id, 0)]
        if rank.get(node.id) == 1 and len(ups) > 1:
            return node.id, min(ups)
    return None


def _test_unplugged(subject: judge.Subject, link: tuple[str, int], report: Report) -> list[Finding]:
    """Unplug a link, judge, and plug it in again: no route may need it, and afterwards all routes must be back."""
    running, (node_id, port) = subject.running, link
    peer, peer_port, _ = subject.topology.nodes[node_id].ends[port]
    sweeps = running.count_sweeps()
    running.console(f'Unlink "{node_id}"[{port}]')
    report.reroute_s = running.wait_for_sweep(sweeps)
    _wait_until_settled(running)
    cut = frozenset({link, (peer, peer_port)})
    found = list(judge.check_routes(judge.walk_tables(subject, cut), "FAB6327"))
    sweeps = running.count_sweeps()
    running.console(f'ReLink "{node_id}"[{port}]')
    running.wait_for_sweep(sweeps)
    _wait_until_settled(running)
    return [*found, *judge.check_routes(judge.walk_tables(subject), "FAB6327")]


def _wait_until_settled(running: processes.SimulatedSubnet) -> None:
    """Wait until the subnet manager has stopped sweeping: one link can cause several traps."""
    with suppress(processes.SimulationError):
        while True:
            before = running.count_sweeps()
            time.sleep(_QUIET_S)
            if running.count_sweeps() == before:
                return
