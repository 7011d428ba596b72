"""`fabricc lab`: boot the compiled fabric for real, break it, heal it, and compare it with its plan."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.shell import shell_path
from fabricc.cli import options, output
from fabricc.cli.words import matching_words
from fabricc.operate.lab import agreement, box, demands, faults, growth, lifecycle, making, observe
from fabricc.operate.lab import state as states
from fabricc.operate.lab.export import export_topology as write
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab
from fabricc.operate.lab.scenarios import SETTLE_S, network_of, trial_of, try_out
from fabricc.operate.lab.steady import Network, compare_steady

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@click.group("lab", cls=options.Group)
def command() -> None:
    """Run the whole compiled fabric on this machine, and compare it with its plan. Needs root."""


def _complete_labs(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete labs of this machine."""
    return matching_words(
        sorted(file.parent.name for file in states.DEFAULT.glob(f"*/{states.RECORD}")), begun
    )


def _complete_nodes(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete switches and hosts of the selected lab."""
    lab = _lab_record(context)
    return matching_words([*lab.switches, *lab.hosts], begun) if lab else []


def _complete_targets(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete targets in the selected lab: switches, and after a colon both ends of each cable."""
    lab = _lab_record(context)
    if lab is None:
        return []
    if ":" not in begun:
        return matching_words(lab.switches, begun)
    ends = chain.from_iterable((cable[0:2], cable[2:4]) for cable in lab.cables)
    return matching_words(sorted(f"{device}:{port}" for device, port in ends), begun)


def _lab_record(context: click.Context) -> states.Record | None:
    named = context.params.get("state")
    try:
        return states.load_record(
            states.folder_of(context.params.get("name"), Path(named) if named else None)
        )
    except (LabError, OSError):
        return None


def _lab_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select a lab."""
    folder = click.option("--state", type=options.PATH, help="State folder of the lab.")
    name = click.option("-l", "--lab", "name", shell_complete=_complete_labs,
                        help="Name of the lab, if there are several.")  # fmt: skip
    return folder(name(verb))


units_option = click.option(
    "--units", type=click.IntRange(1), help="Boot only this number of units, the first ones."
)
sample_option = click.option(
    "--sample", is_flag=True, help="Boot fewer spines and cores too: as few as have every class of prefixes."
)


def _open_lab(name: str | None, folder: Path | None) -> Lab:
    demands.require_root()
    return Lab.open(states.folder_of(name, folder))


@command.command("up")
@options.spec_argument
@units_option
@sample_option
@options.network_option
@click.option("--state", type=options.PATH, help="State folder. [default: /run/fabricc-lab/<cluster>]")
@click.option("--swap", nargs=2, metavar="DEVICE:PORT DEVICE:PORT",
              help="Exchange the cables of two ports, to test wrong cabling.")  # fmt: skip
@click.option(
    "--ssh", is_flag=True, help="Start SSH servers, so that `push` and `verify` can log in to the switches."
)
def up(
    spec: Path,
    units: int | None,
    sample: bool,
    network: str | None,
    state: Path | None,
    swap: tuple[str, str] | None,
    ssh: bool,
) -> int:
    """Boot the fabric of SPEC: every switch runs FRR, every host is a namespace, every cable a veth pair."""
    lab, _ = _boot_lab(spec, units, sample, network, state, swap, ssh=ssh)
    where = f"--state {shell_path(state)}" if state else f"-l {lab.record.cluster}"
    output.out(f"Next: `fabricc lab test {where}` compares it with its plan.")
    if ssh:
        access = shell_path(lab.folder / making.FOLDER / making.ACCESS)
        output.out(
            f"Or: `fabricc lab exec {where} management fabricc push build/{lab.record.cluster} --access {access}`, "
            "as to a fabric."
        )
    return 0


def _boot_lab(
    spec: Path,
    units: int | None,
    sample: bool,
    part: str | None,
    state: Path | None,
    swap: tuple[str, str] | None = None,
    *,
    ssh: bool = False,
) -> tuple[Lab, Network]:
    begin = time.monotonic()
    with output.progress() as bar:
        ends = (_parse_end(swap[0]), _parse_end(swap[1])) if swap else None
        progress = bar or _in_lines()
        lab, source = lifecycle.boot_lab(
            spec, state, units=units, sample=sample, network=part, swap=ends, ssh=ssh, progress=progress
        )
    for sentence in source.differences:
        output.err(f"note: {sentence}")
    network = Network.of(lab, source.fabric)
    output.err(f"waiting for every planned route, {SETTLE_S:.0f} s at most")
    settled = observe.wait_until_settled(lab, network.predict(network.miswired_ports()), SETTLE_S)
    if settled is None:
        raise LabError(
            "FAB8016",
            f"the lab runs and has not come to its planned state within {SETTLE_S:.0f} s",
            "`fabricc lab test` shows the differences; `fabricc lab down` removes the lab.",
        )
    lab = lifecycle.note_boot(lab, time.monotonic() - begin)
    record = lab.record
    output.err(
        f"{record.cluster}: {plural(len(record.switches), 'switch')} with FRR {record.frr}, "
        f"{plural(len(record.hosts), 'host')}, {plural(len(record.cables), 'cable')}; "
        f"every planned route in every kernel after {record.boot_s:.1f} s. State: {lab.folder}"
    )
    return lab, network


def _in_lines() -> Callable[[str, int, int], None]:
    """Progress where there is no terminal: a line on standard error when something begins."""
    begun: set[str] = set()

    def report(what: str, _done: int, total: int) -> None:
        if what not in begun:
            begun.add(what)
            output.err(f"starting {total:,} {what}")

    return report


def _parse_end(text: str) -> tuple[str, str]:
    device, _, port = text.partition(":")
    return device, port


@command.command("down")
@_lab_options
def down(name: str | None, state: Path | None) -> int:
    """Remove a lab, including the remains of a killed run; nothing else is touched."""
    record = lifecycle.take_down_lab(states.folder_of(name, state))
    output.out(f"{record.cluster}: gone")
    return 0


@command.command("status")
@_lab_options
def status(name: str | None, state: Path | None) -> int:
    """Show each node: its state, its sessions, its memory, and what is broken."""
    lab = _open_lab(name, state)
    output.out(f"{lab.record.cluster} in {lab.folder}, from {lab.record.origin}")
    output.out(*output.align_columns(observe.list_status(lab)))
    for broken, fault in sorted(faults.read_faults(lab).items()):
        output.out(f"broken: {broken}{' (silent)' if fault.silent else ''}")
    return 0


@command.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_lab_options
@click.argument("node", shell_complete=_complete_nodes)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(name: str | None, state: Path | None, node: str, words: tuple[str, ...]) -> int:
    """Run a command on NODE, for example `vtysh -c 'show bgp summary'`."""
    command_line = [*_open_lab(name, state).entry(node), *words]
    box.protect_terminal()
    os.execvp(command_line[0], command_line)


@command.command("break")
@_lab_options
@click.argument("target", shell_complete=_complete_targets)
@click.option("--silent", is_flag=True,
              help="Drop every packet and leave the carrier up: only timers notice.")  # fmt: skip
def break_(name: str | None, state: Path | None, target: str, silent: bool) -> int:
    """Take down a link (DEVICE:PORT, either end) or a switch (its name), as when a fiber is cut."""
    lab = _open_lab(name, state)
    with states.lock_lab(lab.folder):
        ends = faults.break_target(lab, target, silent=silent)
    output.out(f"{target}: {plural(len(ends), 'link')} {'silent' if silent else 'down'}")
    return 0


@command.command("heal")
@_lab_options
@click.argument("target", required=False, shell_complete=_complete_targets)
def heal(name: str | None, state: Path | None, target: str | None) -> int:
    """Restore TARGET, or everything that was broken."""
    lab = _open_lab(name, state)
    with states.lock_lab(lab.folder):
        healed = faults.heal_target(lab, target)
    output.out(f"healed: {', '.join(healed) or 'nothing was broken'}")
    return 0


@command.command("test")
@_lab_options
@click.argument("spec", required=False, type=options.PATH)
@units_option
@sample_option
@options.network_option
@click.option("--quick", is_flag=True, help="Only the steady state and the failure of one uplink.")
@options.add_format_option(("text", "json", "junit"))
def test(
    name: str | None,
    state: Path | None,
    spec: Path | None,
    units: int | None,
    sample: bool,
    network: str | None,
    quick: bool,
    format_: str,
) -> int:
    """Compare the running lab with its plan; with SPEC, boot it for the test and take it down again.

    Exit status: 0 all is as predicted, 1 something differs.
    """
    if spec is None and (units is not None or sample or network):
        raise click.UsageError("--units, --sample and --network need SPEC.")
    lab, running = _boot_lab(spec, units, sample, network, state) if spec else (_open_lab(name, state), None)
    try:
        with states.lock_lab(lab.folder), output.progress() as bar:
            trial = try_out(lab, running or network_of(lab), quick=quick, progress=bar)
    finally:
        if spec:
            lifecycle.take_down_lab(lab.folder)
    if format_ == "text":
        output.out(*agreement.table_lines(trial))
    else:
        output.print_document(agreement.as_json(trial) if format_ == "json" else agreement.as_junit(trial))
    return 1 if trial.wrong else 0


@command.command("grow")
@_lab_options
@options.spec_argument
@units_option
@click.option("--cable", is_flag=True,
              help="Only wire and boot new devices; `push` changes the old switches.")  # fmt: skip
def grow(name: str | None, state: Path | None, spec: Path, units: int | None, cable: bool) -> int:
    """Grow the running lab to SPEC: new devices join, old switches reload, and no datagram may be lost."""
    lab = _open_lab(name, state)
    with states.lock_lab(lab.folder):
        step = growth.plan_step(network_of(lab), spec, units, hands=cable)
        if cable:
            growth.add_cables(step)
            joined = len(step.after.lab.nodes) - len(lab.nodes)
            output.out(f"{lab.record.cluster}: {plural(joined, 'new node')} wired and booted")
            if waiting := step.after.unplugged_cables():
                output.out(
                    f"{plural(len(waiting), 'cable')} to move: `fabricc lab recable` takes the worksheet"
                )
            return 0
        trial = trial_of(step.after.lab)
        trial.events.append(growth.grow_lab(step, trial))
        compare_steady(step.after, trial)
        trial.memory_kib = step.after.lab.memory_kib()
    output.out(*agreement.table_lines(trial))
    return 1 if trial.wrong else 0


@command.command("recable")
@_lab_options
@click.argument("worksheet", type=options.PATH)
@click.option("--round", "number", type=click.IntRange(1), help="Only this round. [default: all, in order]")
def recable(name: str | None, state: Path | None, worksheet: Path, number: int | None) -> int:
    """Move the cables of WORKSHEET, a recabling.csv of `migrate`; run `grow --cable` with its spec first."""
    lab = _open_lab(name, state)
    with states.lock_lab(lab.folder):
        after = growth.recable_lab(network_of(lab), growth.read_worksheet(worksheet), number)
    moved = len({*after.lab.record.cables} - {*lab.record.cables})
    output.out(f"{lab.record.cluster}: {plural(moved, 'cable')} moved, {len(after.unplugged_cables())} to go")
    return 0


@command.command("export")
@options.spec_argument
@click.option("--format", "format_", type=click.Choice(("containerlab", "netlab")), required=True,
              help="containerlab runs the emitted files; netlab renders its own from the plan.")  # fmt: skip
@click.option("-o", "--output", "out", type=options.PATH, default=Path("build"), show_default=True,
              help="Folder of output trees; the tree is named <cluster>-<format>.")  # fmt: skip
@options.templates_option
@units_option
@sample_option
@options.network_option
def export(spec: Path, format_: str, out: Path, units: int | None, sample: bool, network: str | None) -> int:
    """Write SPEC as a topology for containerlab or netlab, for users of vendor images. Needs no root."""
    written = write(spec, format_, out, units=units, sample=sample, network=network)
    for sentence in written.notes:
        output.err(f"note: {sentence}")
    output.out(f"{written.topology}: {plural(written.nodes, 'node')}, {plural(written.links, 'link')}")
    return 0
