"""`fabricc push`: a built tree to the switches, in waves that keep the fabric up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fabricc.cli import options
from fabricc.cli.options import Share
from fabricc.cli.words import complete_switches


@click.command("push")
@options.tree_argument
@click.option("--plan", "mode", flag_value="plan",
              help="Show the waves from the journal; contact no switch.")  # fmt: skip
@click.option("--dry-run", "mode", flag_value="dry-run",
              help="Read the diff of every switch; change nothing.")  # fmt: skip
@click.option("--try", "mode", flag_value="try",
              help="Have one switch of each kind check its configuration and discard it; change nothing.")  # fmt: skip
@click.option("--record", is_flag=True, help="With --try: record accepted lines in the ledger.")
@click.option("--ledger", type=options.PATH, metavar="FILE",
              help="The ledger that --record writes. [default: accepted.yaml in the spec's folder]")  # fmt: skip
@click.option("--resume", "mode", flag_value="resume",
              help="Complete the latest run, which was killed or interrupted.")  # fmt: skip
@click.option("--rollback", metavar="RUN", type=int,
              help="Restore the configurations that the switches of a run had before.")  # fmt: skip
@click.option("--status", "mode", flag_value="status",
              help="Show all runs, or with --run one of them by switch.")  # fmt: skip
@click.option("--run", "number", metavar="RUN", type=int, help="The run for --status.")
@click.option("--inventory-out", type=options.PATH, metavar="DIR",
              help="Write Nornir's SimpleInventory, without secrets, and end.")  # fmt: skip
@options.access_option
@options.spec_option
@options.lock_option
@options.network_option
@click.option("--tree-digest", metavar="SHA256",
              help="The expected digest of the tree, in place of a new rendering of the spec.")  # fmt: skip
@click.option("--require-signature", "allowed", type=options.PATH, metavar="ALLOWED",
              help="Push only a tree with a signature of a key in this file; see `fabricc docs sign`.")  # fmt: skip
@options.signature_option
@click.option("--journal", type=options.PATH,
              help="The journal. [default: ~/.local/state/fabricc/push/<cluster>.sqlite]")  # fmt: skip
@click.option("--only", multiple=True, metavar="SWITCH", shell_complete=complete_switches,
              help="Only this switch; repeatable.")  # fmt: skip
@click.option("--keep", type=Share(), default="75%", show_default=True,
              help="Share of its paths that every rail, plane and switch keeps at each step.")  # fmt: skip
@click.option("--wave-size", "most", type=click.IntRange(1), help="Maximum number of switches in one wave.")
@options.parallel_option
@click.option("--settle", "settle_s", type=click.FloatRange(0), default=60.0, show_default=True, metavar="SECONDS",
              help="Time for a switch to become healthy after its change.")  # fmt: skip
@click.option("--drain-wait", "drain_s", type=click.FloatRange(0), default=5.0, show_default=True, metavar="SECONDS",
              help="Time for traffic to leave a drained switch.")  # fmt: skip
@click.option("--confirm-within", "confirm_s", type=click.IntRange(10), default=300, show_default=True,
              metavar="SECONDS",
              help="A switch reverts its change unless it is confirmed within this time.")  # fmt: skip
@click.option("--max-failures", "failures", type=click.IntRange(0), default=0, show_default=True,
              help="Number of switches that may fail and be rolled back before the push stops.")  # fmt: skip
@click.option("--max-errors", "errors", type=click.IntRange(0), default=100, show_default=True,
              help="Additional interface errors that a port may have.")  # fmt: skip
@click.option("--max-drops", "drops", type=click.IntRange(0), default=0, show_default=True,
              help="Packets of lossless classes that a port may drop.")  # fmt: skip
@click.option("--max-pauses", "pauses", type=click.IntRange(0), default=1000, show_default=True,
              help="PFC frames per second, sent and received, above which a port is congested.")  # fmt: skip
@click.option("--max-marks", "marks", type=click.IntRange(0), default=100_000, show_default=True,
              help="Packets marked (ECN) per second above which a port is congested.")  # fmt: skip
@click.option("--congestion", type=click.Choice(["warn", "stop"]), default="warn", show_default=True,
              help="Report more pauses or marks, or stop the push.")  # fmt: skip
@click.option("--allow-alarms", "alarms", is_flag=True,
              help="Push to switches that have alarms; new ones still stop the push.")  # fmt: skip
@click.option("--skip-unreachable", is_flag=True,
              help="Skip switches that do not answer, and push to the others; the exit status is 3.")  # fmt: skip
@click.option("--adopt", is_flag=True,
              help="Accept the running configurations: for the first push, or after drift.")  # fmt: skip
@click.option("--take-over", "taken", multiple=True, metavar="SESSION",
              help="Stop the guard that this dead run of another journal left on a switch; repeatable.")  # fmt: skip
@click.option("--allow-lockout", multiple=True, metavar="ACCOUNT",
              help="Push although this account can no longer log in afterwards; repeatable.")  # fmt: skip
@click.option("--no-drain", is_flag=True, help="Do not drain before a disruptive change: traffic is lost.")
@click.option("--hook", type=options.PATH, metavar="PROGRAM",
              help="Your tool that installs releases on drained switches; see `fabricc docs upgrade`.")  # fmt: skip
@click.option("--hook-timeout", "hook_s", type=click.FloatRange(1), default=3600.0, show_default=True,
              metavar="SECONDS", help="Time limit of the tool for one switch.")  # fmt: skip
@click.option("--images", type=options.PATH, metavar="FILE",
              help="Table of image files for the hook: nos, release, model, file, sha256.")  # fmt: skip
@options.templates_option
@options.data_option("Format of the plan, the trial, the runs or the outcome on standard output.")
def command(mode: str | None, rollback: int | None, inventory_out: Path | None, **chosen: Any) -> int:
    """Deploy the configuration of every switch of TREE (build/<cluster>).

    Exit status: 0 every switch has the configuration of the tree, 1 the push did not start, 3 a switch failed: it was
    then rolled back, or is reported as unknown.
    """
    if sum(what is not None for what in (mode, rollback, inventory_out)) > 1:
        raise click.UsageError(
            "--plan, --dry-run, --try, --resume, --rollback, --status and --inventory-out exclude each other."
        )
    if chosen["lock"] and mode not in ("plan", "dry-run", "try"):
        raise click.UsageError("--lock needs --plan, --dry-run or --try.")
    if chosen["record"] and mode != "try":
        raise click.UsageError("--record saves the results of --try.")
    if chosen["hook"] and (chosen["no_drain"] or mode == "try"):
        raise click.UsageError("--hook needs drained switches: it excludes --no-drain and --try.")
    if chosen["images"] and not chosen["hook"]:
        raise click.UsageError("--images needs --hook.")
    if chosen["format_"] != "text" and inventory_out is not None:
        raise click.UsageError("--inventory-out and --format exclude each other.")
    from fabricc.cli.push_run import run_push  # loads the drivers, unlike `--help`

    return run_push(mode, rollback, inventory_out, chosen)
