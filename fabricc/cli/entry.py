"""Run a verb, and turn every error into a finding and an exit status instead of a traceback."""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.foreign.files import READ_ALSO, READ_BELOW, set_boundary
from fabricc.cli import output
from fabricc.cli.options import require_values
from fabricc.compiler.result import ENVIRONMENT, exit_status
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TASKS = {
    "Design": {
        "init": "Start a Git repository with a spec that builds, and with CI.",
        "validate": "Check a spec and report every problem at once.",
        "fmt": "Format specs: indentation and spacing; comments and meaning stay.",
        "plan": "Show the topology, addresses, BGP, QoS and the assumptions.",
        "catalog": "List the hardware models, or show one with figures and sources.",
    },
    "Build": {
        "build": "Write every configuration, and prove it against the plan.",
        "check": "Prove a built tree: its bytes, its settings, both ends of every link.",
        "lock": "Write the lock of a spec, or check that it is there.",
        "lab": "Boot the compiled fabric in network namespaces with FRR, and test it.",
        "export": "Write the fabric for OpenConfig, Topograph or Terraform.",
    },
    "Review": {
        "diff": "Review a change: risk, affected GPUs, renumbering and diffs.",
        "explain": "Show where an address, ASN, device, threshold, line or code comes from.",
        "report": "Write one HTML page to read, print and sign.",
        "sign": "Sign a built tree, so that push deploys only the reviewed tree.",
    },
    "Deploy": {
        "doctor": "Check versions, packages, logins, clocks, Git and the releases of switches.",
        "trust": "Trust an access file that you have read, so that verbs log in with it.",
        "push": "Deploy a built tree to the switches in waves that keep the fabric up.",
        "verify": "Compare live switches with a built tree; list the fewest cable moves.",
    },
    "Operate": {
        "maintain": "Show how maintenance affects jobs and capacity, and print the steps.",
        "migrate": "Split a change into steps that can be deployed one after another.",
        "upgrade": "Plan another release of an operating system: changes, owners, order.",
        "tenant": "Assign hosts to the tenants of a spec.",
    },
    "Existing fabrics": {
        "collect": "Fetch configurations and state from live switches, read-only.",
        "audit": "Find faults in any fabric, from its own configurations.",
        "adopt": "Write the spec that builds a running fabric as it is.",
        "sync": "Update NetBox or Nautobot from the plan, or write identity tables from it.",
        "import": "Write identity tables from a NetBox that describes the fabric.",
    },
    "Tools": {
        "mcp": "Serve read-only answers over the Model Context Protocol (MCP).",
        "docs": "List the pages of the documentation, or show one.",
        "completion": "Print the script that completes commands in a shell.",
    },
}
"""Verbs by the task that they are for, with a line of help each."""
VERBS = {verb: line for verbs in TASKS.values() for verb, line in verbs.items()}
_MODULES = {"import": "importing"}
"""Verb -> its module, for verbs that are Python keywords."""
INTERRUPTED, BROKEN_PIPE = 130, 141
_OF_CLICK = (click.ClickException, click.exceptions.Exit, click.Abort)


class Verbs(click.Group):
    """The verbs; `fabricc.cli.<verb>.command` is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs, task by task."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the verb of that name."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"fabricc.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        command.short_help = VERBS[cmd_name]
        require_values(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the verbs by task with a line each, without importing them."""
        widest = max(map(len, VERBS))
        for task, verbs in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(f"{verb:<{widest}}", line) for verb, line in verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb meant, or a usage error that suggests the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, 1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; report an error in the requested format."""
        try:
            return super().invoke(ctx)
        except FindingsError as error:
            _report_error(ctx, error.diagnostics, error.sources)
            return exit_status(error.diagnostics) if error.status is None else error.status
        except BrokenPipeError:  # click would end with 1, which means that the input is wrong
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except _OF_CLICK:
            raise
        except Exception as error:
            _report_error(ctx, [_failure_finding(error)])
        return ENVIRONMENT


def _report_error(
    ctx: click.Context, found: Sequence[Diagnostic], sources: Mapping[str, str] | None = None
) -> None:
    """Report the error that ended a verb, in the requested format."""
    output.print_findings(found, ctx.meta.get(output.FORMAT, "text"), sources or {})


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fabricc")
def cli() -> None:
    """Compile a short cluster spec into the configuration of every switch and host, and prove it.

    Exit status: 0 nothing wrong, 1 the input or the result is wrong, 2 bad usage, 3 the environment failed.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    _open_streams()
    _limit_reading()
    try:
        status: Any = cli.main(arguments, prog_name="fabricc", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        output.err(*text.getvalue().splitlines())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.err("fabricc: interrupted; no change is incomplete")
        return INTERRUPTED
    except Exception as error:  # also where standard output takes nothing, be it what is wrong
        output.print_findings([_failure_finding(error)], "text", {})
        return ENVIRONMENT
    return status if isinstance(status, int) else 0


def _limit_reading() -> None:
    """Open nothing outside of the folder that the MCP server which started this process may read."""
    if root := os.environ.pop(READ_BELOW, ""):
        also = os.environ.pop(READ_ALSO, "")
        set_boundary(Path(root), *([Path(also)] if also else []))


def _open_streams() -> None:
    """Open closed standard streams on the null device, so that no other file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _failure_finding(error: Exception) -> Diagnostic:
    """Return a failure of the system, or a defect in one line; its traceback goes to standard error on request."""
    if isinstance(error, OSError):
        place = f"{error.filename!s}: " if error.filename else ""
        return Diagnostic("FAB7001", Severity.ERROR, f"{place}{error.strerror or error}")
    if os.environ.get("FABRICC_DEBUG") == "1":
        output.err(*traceback.format_exc().splitlines())
    reason = str(error).strip().rpartition("\n")[2] or "no message"
    remedy = (
        f"This is a defect of fabricc {__version__}. Report it with the spec and the output of the same command run "
        "with FABRICC_DEBUG=1."
    )
    return Diagnostic(
        "FAB7999", Severity.ERROR, f"internal error, {type(error).__name__}: {reason}", None, remedy
    )
