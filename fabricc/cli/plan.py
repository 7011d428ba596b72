"""`fabricc plan`: the plan on screen, as JSON or as CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from fabricc.fabric.fabric import Fabric
    from fabricc.spec.model import ClusterSpec


@click.command("plan", short_help="Show topology, addresses, BGP, QoS and the assumptions taken.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Tables for people, or one JSON object with the plan and the findings.")  # fmt: skip
@click.option("--csv", "csv_folder", type=click.Path(path_type=Path), metavar="DIR",
              help="Also write cabling, addresses, sessions and QoS as CSV files into DIR.")  # fmt: skip
def command(spec: Path, format_: str, csv_folder: Path | None) -> int:
    """Show what SPEC becomes, without writing a configuration."""
    from fabricc.build.front import run_front
    from fabricc.build.result import exit_status

    front = run_front(spec)
    fabric, found = front.fabric, front.diagnostics
    if format_ == "json":
        click.echo(_json(fabric, front.spec, found), nl=False)
    else:
        output.tell(found, "text", front.sources)
        if fabric is not None and front.spec is not None:
            _show(fabric, front.spec)
    if csv_folder is not None and fabric is not None:
        names = _write_csv(fabric, csv_folder)
        click.echo(f"{csv_folder}: {', '.join(names)}", err=True)
    return exit_status(found)


def _json(fabric: Fabric | None, spec: ClusterSpec | None, found: Iterable[object]) -> str:
    import dataclasses

    from fabricc.build import tables

    plan = tables.fabric_summary(fabric, spec.assumptions) if fabric and spec else None
    findings = [dataclasses.asdict(d) for d in found]  # type: ignore[call-overload]
    return tables.json_text({"plan": plan, "findings": findings})


def _write_csv(fabric: Fabric, folder: Path) -> list[str]:
    from collections import Counter

    from fabricc.build import tables

    folder.mkdir(parents=True, exist_ok=True)
    profiles: Counter[tables.Row] = Counter()

    def addresses() -> Iterator[tables.Row]:
        for switch_id in fabric.switch_ids():
            switch = fabric.switch(switch_id)
            tables.count_profiles(switch, profiles)
            yield from tables.switch_addresses(switch)
        for host_id in fabric.host_ids():
            yield from tables.host_addresses(fabric.host(host_id))

    def sessions() -> Iterator[tables.Row]:
        for switch_id in fabric.switch_ids():
            yield from tables.switch_sessions(fabric.switch(switch_id))

    parts: list[tuple[str, Sequence[str], Iterator[tables.Row]]] = [
        ("cabling.csv", tables.CABLING, tables.cabling_rows(fabric)),
        ("addresses.csv", tables.ADDRESSES, addresses()),
        ("sessions.csv", tables.SESSIONS, sessions()),
        ("qos.csv", tables.QOS, (row for row in tables.qos_rows(profiles))),
    ]
    for name, head, rows in parts:
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            file.write(tables.csv_text([tuple(head)]))
            file.writelines(tables.in_chunks(rows))
    return [name for name, _, _ in parts]


def _show(fabric: Fabric, spec: ClusterSpec) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    for title, head, rows in _tables(fabric, spec):
        _print(console, title, head, rows)


def _print(console: Console, title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(head):
        numeric = all(isinstance(row[index], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(f"{cell:,}" if type(cell) is int else str(cell)) for cell in row))
    console.print(table)


def _tables(
    fabric: Fabric, spec: ClusterSpec
) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[object]]]]:
    """Every table: title, column names, rows."""
    samples = [fabric.switch(switch_id) for switch_id in fabric.kinds()]
    counts, shape = fabric.counts(), fabric.shape
    hosts, planes = output.plural(counts["hosts"], "host"), output.plural(shape.planes, "plane")
    gpus = f"{counts['gpus']:,} GPUs in {hosts}, {planes}"
    tiers = [
        (tier.value, counts[f"{tier.value}s"], plan.model.title, f"{plan.nos} {plan.release}".strip())
        for tier, plan in fabric.tiers.items()
    ]
    yield f"{fabric.cluster}: {gpus}", ("tier", "switches", "model", "runs"), tiers
    ports = []
    for switch in samples:
        used = [port for port in switch.ports if port.peer]
        for way in ("host", "down", "up"):
            group = [port for port in used if port.direction.value == way]
            for speed in sorted({port.speed_gbps for port in group}):
                number = sum(1 for port in group if port.speed_gbps == speed)
                ports.append((switch.tier.value, switch.name, way, number, speed, number * speed))
    yield "Ports in use", ("tier", "for example", "towards", "ports", "Gb/s", "total Gb/s"), ports
    cables = [
        (kind, counts[f"{kind}_cables"], cable.medium, cable.length_m)
        for kind, cable in fabric.cable_kinds.items()
        if counts.get(f"{kind}_cables")
    ]
    yield "Cables", ("link", "cables", "medium", "length, m"), cables
    names = ("hosts4", "links4", "loopbacks4", "hosts6", "links6", "loopbacks6", "management")
    pools = [(name, str(pool)) for name in names if (pool := getattr(fabric.addresses, name)) is not None]
    yield "Addresses", ("pool", "prefix"), pools
    bgp = [
        (s.tier.value, s.name, str(s.bgp.asn), s.bgp.router_id, len(s.bgp.sessions), s.bgp.maximum_paths)
        for s in samples
    ]
    yield "BGP", ("tier", "for example", "ASN", "router ID", "sessions", "maximum paths"), bgp
    classes = [
        (
            c.name,
            c.priority,
            _ranges(c.dscps),
            _kind(c.lossless, c.strict, c.weight_percent),
            "yes" if c.ecn else "no",
        )
        for c in samples[0].qos.classes
    ]
    yield "Traffic classes", ("class", "priority", "DSCP", "service", "ECN"), classes
    profiles = {
        (s.tier.value, p.name): (
            s.tier.value, p.name, p.headroom.xoff_bytes, p.headroom.size_bytes, p.ecn.min_bytes, p.ecn.max_bytes,
            p.headroom.source,
        )
        for s in samples
        for p in s.qos.profiles
    }  # fmt: skip
    if profiles:
        head = ("tier", "profile", "xoff, bytes", "headroom, bytes", "ECN from", "ECN to", "from")
        yield "Lossless profiles", head, [profiles[key] for key in sorted(profiles)]
    assumed = [(path, str(value)) for path, value in spec.assumptions.items()]
    yield "Assumed, because the spec does not say", ("key", "value"), assumed


def _kind(lossless: bool, strict: bool, weight: int) -> str:
    base = "lossless, " if lossless else ""
    return base + ("strict priority" if strict else f"weight {weight} %")


def _ranges(values: Sequence[int]) -> str:
    """`0-7, 9` for 0…7 and 9."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and runs[-1][1] == value - 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
