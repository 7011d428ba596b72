"""`fabricc maintain`: devices taken out of service for a time, and what that does to the fabric and its jobs."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import click

from fabricc.cli import options, words
from fabricc.cli.options import Share

_TIME = re.compile(r"(?:(\d{1,3})d)?(?:(\d{1,4})h)?(?:(\d{1,5})m(?:in)?)?")


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A time such as `2h`, `90m`, `1h30m` or `1d`, in minutes."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the minutes."""
        if isinstance(value, int):
            return value
        found = _TIME.fullmatch(str(value).strip())
        days, hours, minutes = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
        if not (total := (days * 24 + hours) * 60 + minutes):
            self.fail(f"{value!r} is not a time such as 2h, 90m or 1h30m", param, ctx)
        return total


class Moment(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A local date and time such as `2026-11-23T22:00`."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time, without a zone."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a time such as 2026-11-23T22:00", param, ctx)
        if found.tzinfo is not None:
            self.fail("the scheduler takes its own local time: leave the zone out", param, ctx)
        return found


@click.command("maintain")
@click.argument(
    "devices", metavar="DEVICE...", nargs=-1, required=True, shell_complete=words.complete_maintained
)
@options.spec_argument
@click.option("--window", "minutes", type=Duration(), required=True, help="Duration, such as 2h or 90m.")
@click.option("--at", "start", type=Moment(), help="Start in the scheduler's local time. [default: now]")
@click.option("--down", multiple=True, metavar="DEVICE", shell_complete=words.complete_maintained,
              help="A device or link that is out of service already; repeatable.")  # fmt: skip
@click.option("--verified", type=options.PATH, metavar="FILE",
              help="Output of `fabricc verify --format json`: everything down in it counts as an outage.")  # fmt: skip
@options.network_option
@click.option(
    "--keep", type=Share(), help="Fail if less than this share of any part, rail or switch is left."
)
@click.option("--write", type=options.PATH, metavar="DIR",
              help="Prove the specs that drain and undrain, and write them to DIR.")  # fmt: skip
@options.data_option()
@options.templates_option
def command(**chosen: Any) -> int:
    """Show the effect of taking DEVICEs out of service: jobs, hosts, GPUs, and the capacity left at every moment.

    A DEVICE is a switch, a host, or a link by one of its ends: spine03a, su001-host07, su001-tor1a:swp3.

    Exit status: 0 it can be done, 1 an error, or existing outages or --keep forbid it.
    """
    from fabricc.cli.maintain_run import run_maintenance  # plans and compares; `--help` and completion do not

    return run_maintenance(**chosen)
