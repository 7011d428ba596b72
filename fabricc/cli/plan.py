"""`fabricc plan`: the plan on screen, as JSON or as CSV files."""

from __future__ import annotations

import dataclasses
import subprocess
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabricc.base.diagnostics import Diagnostic, FindingsError
from fabricc.base.diagnostics.wording import ranges
from fabricc.base.foreign import shell
from fabricc.base.foreign.formats import csv_text, json_document
from fabricc.base.foreign.text import Rendered, Table
from fabricc.cli import growth, options, output
from fabricc.cli.options import RepinningCommand, Share, repin_option
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.plan.host_facts import host_facts
from fabricc.compiler.result import counted_hosts, exit_status
from fabricc.fabric.naming import describe_planes
from fabricc.front.planning.quality import QosWorksheet, list_worksheets
from fabricc.front.planning.topology.layout import list_rooms, report_full
from fabricc.front.qos.plot import Panel, draw_svg, panel_of
from fabricc.paperwork import plan_tables as tables
from fabricc.paperwork.plan_tables import (
    out_of_band_summary,
    out_of_band_tables,
)
from fabricc.paperwork.racks import RackLayout, place_rows, propose_places
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from fabricc.cli.bill import BillRequest, BillResult
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch
    from fabricc.front.spec.model import ClusterSpec

    _Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]

_WAYS_OUT = ("party", "routed by", "at", "port", "own address", "far end", "Gb/s", "medium", "metres")
_RENDERERS = (("rsvg-convert", ()), ("magick", ("svg:-", "png:-")), ("convert", ("svg:-", "png:-")))
"""Programs that read SVG and write PNG, first choice first."""


@click.command("plan", cls=RepinningCommand)
@options.spec_argument
@options.data_option("Tables, or one JSON object with the plan and the findings.")
@click.option("--csv", "csv_folder", type=options.PATH, metavar="DIR",
              help="Also write cabling, addresses, sessions and QoS as CSV files into DIR.")  # fmt: skip
@click.option("--qos", is_flag=True,
              help="Show the worksheet of every lossless port: each step, its unit and source.")  # fmt: skip
@click.option("--plot", "picture", type=options.PATH, metavar="FILE",
              help="Draw thresholds against buffer into FILE, .svg or .png.")  # fmt: skip
@click.option("--bom", "bom_file", type=options.PATH, metavar="FILE",
              help="Write the bill of materials, with optics and cables, into FILE, .csv or .xlsx.")  # fmt: skip
@click.option("--labels", "labels_file", type=options.PATH, metavar="FILE",
              help="Write labels for both ends of every cable, and plugged parts, to FILE, .csv.")  # fmt: skip
@click.option("--places", "places_file", type=options.PATH, metavar="FILE",
              help="Read places from a .csv with device, rack, unit and height; labels use them, too.")  # fmt: skip
@click.option("--elevations", "elevations_file", type=options.PATH, metavar="FILE",
              help="Write the content of every unit of every rack of --places to FILE, .csv.")  # fmt: skip
@click.option("--propose-places", "proposal_file", type=options.PATH, metavar="FILE",
              help="Propose places of devices, and write them to FILE, a table for --places.")  # fmt: skip
@click.option("--rack-layout", type=(click.IntRange(1, 72), *[click.IntRange(1, 50)] * 2, click.IntRange(8, 100)),
              metavar="HOSTS HEIGHT SWITCH RACK", default=tuple(RackLayout()), show_default=True,
              help="For --propose-places: hosts in a rack; heights of host, switch and rack, in units.")  # fmt: skip
@click.option("--spares", type=Share(), default="0%", show_default=True,
              help="Spare optics and cables on the bill, rounded up for each line.")  # fmt: skip
@click.option("--alternatives", is_flag=True,
              help="Show other shapes for the same hosts instead: those that no other shape dominates.")  # fmt: skip
@click.option("--prices", "prices_file", type=options.PATH, metavar="FILE",
              help="Prices for --alternatives: a .csv with item, a model or part number, and price.")  # fmt: skip
@click.option("--write", "write", type=(click.IntRange(1), options.PATH), metavar="SHAPE FILE",
              help="Write the numbered shape of --alternatives as a spec to FILE.")  # fmt: skip
@repin_option(
    "Plan with new values for outgrown numbers of fabricc.lock, as few as possible, or only for KEY."
)
def command(
    spec: Path,
    format_: str,
    csv_folder: Path | None,
    qos: bool,
    picture: Path | None,
    bom_file: Path | None,
    labels_file: Path | None,
    places_file: Path | None,
    elevations_file: Path | None,
    proposal_file: Path | None,
    rack_layout: tuple[int, int, int, int],
    spares: Fraction,
    alternatives: bool,
    prices_file: Path | None,
    write: tuple[int, Path] | None,
    repin: tuple[str, ...] | None,
) -> int:
    """Show the plan of SPEC, without writing a configuration."""
    if not alternatives and (prices_file or write):
        raise click.UsageError(f"{'--prices' if prices_file else '--write'} needs --alternatives.")
    if alternatives and (
        qos or any((csv_folder, picture, bom_file, labels_file, elevations_file, proposal_file))
    ):
        raise click.UsageError(
            "--alternatives prints no plan: write a shape with --write, and plan that spec."
        )
    for option, file, *endings in (
        ("--plot", picture, ".svg", ".png"), ("--bom", bom_file, ".csv", ".xlsx"),
        ("--labels", labels_file, ".csv"), ("--elevations", elevations_file, ".csv"),
        ("--propose-places", proposal_file, ".csv"),
    ):  # fmt: skip
        if file is not None and file.suffix not in endings:
            ends = "neither in " if len(endings) > 1 else "not in "
            raise click.BadParameter(f"{file} ends {ends}{' nor in '.join(endings)}", param_hint=option)
    wanted: BillRequest | None = None
    if bom_file or labels_file or elevations_file or places_file:
        from fabricc.cli import bill  # optics and racks, which few plans request

        wanted = bill.BillRequest(bom_file, labels_file, elevations_file, places_file, spares)
    compiled = compile_spec(spec, repin=repin, ethernet_only=alternatives)
    if alternatives:
        from fabricc.cli.alternatives import AlternativesRequest, show_shapes  # few plans request them

        return show_shapes(compiled, AlternativesRequest(prices_file, write), format_)
    if compiled.infiniband is not None:
        from fabricc.cli.plan_infiniband import show_plan  # no fabric of Ethernet needs it

        given = (("--qos", qos), ("--plot", picture), ("--propose-places", proposal_file))
        refused = [option for option, value in given if value]
        return show_plan(compiled, format_, csv_folder, wanted, refused)
    parts = [compiled, *compiled.networks.values()]
    planned = [(part, part.planned) for part in parts if part.planned is not None]
    found = (*compiled.diagnostics, *chain.from_iterable(map(_full_networks, parts)))
    sheets = (
        {_network_name(part): _network_sheets(part) for part in parts} if qos or picture or csv_folder else {}
    )
    bought: BillResult | None = None
    if wanted is not None and compiled.planned is not None:
        owned = [(_table_label(part), part.spec, fabric) for part, fabric in planned]
        bought = bill.list_parts(wanted, owned, "ethernet")
        found = (*found, *bought.findings)
    computed, written = compiled.planned or compiled.draft, []  # before any output: it may fail
    if picture is not None and computed is not None:
        panels = [panel for part in parts for panel in _draw_panels(part, sheets[_network_name(part)])]
        _write_picture(f"{computed.cluster}: lossless thresholds", panels, picture)
        written.append(str(picture))
    if csv_folder is not None and compiled.planned is not None:
        for part, fabric in planned:
            folder = csv_folder / _network_name(part)
            names = _write_csv(fabric, sheets[_network_name(part)], folder)
            written.append(f"{folder}: {', '.join(names)}")
    if wanted is not None and bought is not None:
        written += bill.write_files(wanted, bought)
    if proposal_file is not None and compiled.planned is not None:
        written.append(_propose([fabric for _, fabric in planned], RackLayout(*rack_layout), proposal_file))
    if format_ == "json":
        output.print_document(_render_json(compiled, found, sheets if qos else None))
    else:
        output.print_findings(found, "text", compiled.sources)
        for part in parts:
            output.print_parts(_show_network(part, sheets[_network_name(part)] if qos else None))
            if qos and part.planned is not None and not sheets[_network_name(part)]:
                output.out(f"{_table_label(part)}No class is lossless, so there are no thresholds.")
        if compiled.planned is not None and not qos and compiled.lock_before is None:
            output.out(
                f"There is no {compiled.lock_path.name}: no number is pinned yet, "
                "so every number may still change."
            )
    output.err(*written)
    return exit_status(found)


def _propose(fabrics: Sequence[Fabric], layout: RackLayout, file: Path) -> str:
    """Write a table of places, and return what it assumes."""
    write_file(file, csv_text(list(place_rows(propose_places(fabrics, layout)))).encode())
    return (
        f"{file}: a proposal with {layout.hosts} hosts of {layout.host_units} units to a rack of {layout.units} "
        f"units, and switches of {layout.switch_units}; correct it by the hall"
    )


def _network_name(part: Compiled) -> str:
    """Return the name of a further network; "" for that of the top level."""
    return part.loaded.network.name if part.loaded is not None and part.loaded.network is not None else ""


def _table_label(part: Compiled) -> str:
    """Return the prefix of the titles of a further network's tables."""
    return f"{_network_name(part)}: " if _network_name(part) else ""


def _full_networks(part: Compiled) -> Iterator[Diagnostic]:
    """Report networks in which one more unit would be rejected."""
    if part.planned is not None and part.loaded is not None:
        pinned = part.lock_before is not None
        for each in report_full(part.loaded, part.planned, list_rooms(part.planned), pinned=pinned):
            yield dataclasses.replace(each, message=f"{_table_label(part)}{each.message}")


def _network_sheets(part: Compiled) -> tuple[QosWorksheet, ...]:
    """Return the worksheets of a network, including one with errors."""
    computed = part.planned or part.draft
    return list_worksheets(part.loaded, computed) if computed is not None and part.loaded is not None else ()


def _show_network(part: Compiled, worksheets: Sequence[QosWorksheet] | None) -> Iterator[Table]:
    """Yield the tables of a network: of its worksheets if requested, else of its plan."""
    found: Iterable[_Table] = ()
    if worksheets is not None:
        found = _worksheet_tables(worksheets)
    elif part.planned is not None and part.loaded is not None:
        found = chain(growth.repinned_tables(part), _plan_tables(part.planned, part.loaded))
    for title, head, rows in found:
        yield Table(f"{_table_label(part)}{title}", head, rows)


def _render_json(
    compiled: Compiled, found: Iterable[object], worksheets: Mapping[str, Sequence[QosWorksheet]] | None
) -> Rendered:
    findings = [dataclasses.asdict(d) for d in found]  # type: ignore[call-overload]
    whole = {**_encode_part(compiled, worksheets), "findings": findings}
    if compiled.networks:
        whole["networks"] = {name: _encode_part(each, worksheets) for name, each in compiled.networks.items()}
    return json_document(whole, sort_keys=True)


def _encode_part(
    part: Compiled, worksheets: Mapping[str, Sequence[QosWorksheet]] | None
) -> dict[str, object]:
    fabric, spec = part.planned, part.loaded
    found: dict[str, object] = {
        "plan": tables.fabric_summary(fabric, spec.assumptions) if fabric and spec else None
    }
    if fabric is not None:
        found |= growth.growth_summary(part, list_rooms(fabric))
        found["host_facts"] = [fact._asdict() for fact in host_facts(fabric, spec)] if spec else []
        found["power"] = {what: draw._asdict() for what, draw in growth.power_by_tier(fabric).items()}
    if worksheets is not None:
        found["worksheet"] = tables.worksheet_summary(worksheets[_network_name(part)])
    return found


def _draw_panels(part: Compiled, worksheets: Iterable[QosWorksheet]) -> list[Panel]:
    return [
        panel_of(f"{_table_label(part)}{s.switches}, {s.model.title}: {s.profile.name}", s.profile, s.rows)
        for s in worksheets
    ]


def _write_picture(title: str, panels: Sequence[Panel], file: Path) -> None:
    """Write the picture; an installed program renders a .png.

    Raises:
        FindingsError: FAB3148, no installed program renders SVG.
        EmitError: the file cannot be written.
    """
    text = draw_svg(title, panels)
    write_file(file, text.encode() if file.suffix == ".svg" else _render_png(text))


def _render_png(text: str) -> bytes:
    for program, arguments in _RENDERERS:
        if (found := shell.find_program(program)) is not None:
            done = subprocess.run(
                [found, *arguments], input=text.encode(), capture_output=True, check=False,
                preexec_fn=shell.end_with_parent(),
            )  # fmt: skip
            if done.returncode == 0 and done.stdout:
                return done.stdout
    names = ", ".join(program for program, _ in _RENDERERS)
    message = f"a .png needs one of {names}, and none is installed"
    raise FindingsError("FAB3148", message, "Write a .svg, or install one.")


def _write_csv(fabric: Fabric, worksheets: Sequence[QosWorksheet], folder: Path) -> list[str]:
    make_folder(folder)
    shares: list[tables.Share] = []

    def addresses() -> Iterator[tables.Row]:
        for switch_id in fabric.switch_ids():
            switch = fabric.switch(switch_id)
            shares.append(tables.switch_share(switch))
            yield from tables.switch_addresses(switch)
        for host_id in fabric.host_ids():
            yield from tables.host_addresses(fabric.host(host_id))

    def sessions() -> Iterator[tables.Row]:
        for switch_id in fabric.switch_ids():
            yield from tables.switch_sessions(fabric.switch(switch_id))

    def profiles() -> Iterator[tables.Row]:
        yield from tables.qos_rows(tables.total_ports(shares))

    parts: list[tuple[str, Sequence[str], Iterator[tables.Row]]] = [
        ("cabling.csv", tables.CABLING, tables.cabling_rows(fabric)),
        ("addresses.csv", tables.ADDRESSES, addresses()),
        ("sessions.csv", tables.SESSIONS, sessions()),
        ("qos.csv", tables.QOS, profiles()),
        ("worksheet.csv", tables.WORKSHEET, tables.worksheet_rows(worksheets)),
    ]
    for name, head, rows in parts:
        texts = chain([csv_text([tuple(head)])], tables.in_chunks(rows))
        write_file(folder / name, (text.encode() for text in texts))
    further = dict(out_of_band_tables(fabric))
    for name, text in further.items():
        write_file(folder / name, text.encode())
    return [*(name for name, _, _ in parts), *further]


def _worksheet_tables(worksheets: Iterable[QosWorksheet]) -> Iterator[_Table]:
    """Yield one table per kind of switch and lossless profile."""
    for sheet in worksheets:
        rows = [(line.label, line.value, line.unit, line.source) for line in sheet.rows]
        title = f"{sheet.switches}, {sheet.model.title}: {sheet.profile.name}"
        yield title, ("step", "value", "unit", "rule or source"), rows


def _plan_tables(fabric: Fabric, spec: ClusterSpec) -> Iterator[_Table]:
    """Yield every table: title, column names, rows."""
    samples = [fabric.switch(switch_id) for switch_id in fabric.kinds()]
    counts, shape = fabric.counts(), fabric.shape
    hosts, planes = counted_hosts(counts), describe_planes(len(fabric.planes), shape.planes)
    gpus = f"{counts['gpus']:,} GPUs in {hosts}, {planes}"
    yield f"{fabric.cluster}: {gpus}", ("tier", "switches", "model", "runs"), _tier_rows(fabric)
    yield (
        "Ports in use",
        ("tier", "for example", "towards", "ports", "Gb/s", "total Gb/s"),
        _port_rows(samples),
    )
    yield growth.cable_table(counts, fabric.cable_kinds)
    if fabric.external.exits:
        yield "Ways out", _WAYS_OUT, list(_ways_out(fabric))
    yield growth.power_table(fabric)
    pools = [(name, str(pool)) for name, pool in fabric.addresses.pools().items()]
    yield "Addresses", ("pool", "prefix"), pools
    if evpn := fabric.evpn:
        rows = [
            (each.name, each.vlan, each.vni, each.vrf, str(each.subnet4 or ""), str(each.subnet6 or ""))
            for each in evpn.segments
        ]
        yield "Segments", ("segment", "VLAN", "VNI", "VRF", "subnet", "IPv6 subnet"), rows
    if found := out_of_band_summary(fabric):
        yield "Out of band", ("what", "number", "model"), found
    bgp = [
        (s.tier.value, s.name, str(s.bgp.asn), s.bgp.router_id, len(s.bgp.sessions), s.bgp.maximum_paths)
        for s in samples
    ]
    yield "BGP", ("tier", "for example", "ASN", "router ID", "sessions", "maximum paths"), bgp
    classes = [
        (c.name, c.priority, ranges(c.dscps), _class_kind(c.lossless, c.strict, c.weight_percent),
            "yes" if c.ecn else "no")
        for c in samples[0].qos.classes
    ]  # fmt: skip
    yield "Traffic classes", ("class", "priority", "DSCP", "service", "ECN"), classes
    yield from _profile_tables(samples)
    yield from growth.application_tables(samples)
    yield growth.room_table(list_rooms(fabric))
    yield growth.assumed_table(spec)
    yield from growth.host_facts_tables(fabric, spec)


def _tier_rows(fabric: Fabric) -> list[tuple[object, ...]]:
    """Return the switches of each tier, those with a model or release of their own apart."""
    counts = fabric.counts()
    tiers: list[tuple[object, ...]] = []
    for tier, plan in fabric.tiers.items():
        single = Counter(
            (switch.model.title, f"{switch.nos} {switch.release}".strip())
            for switch in map(fabric.switch, fabric.boxes)
            if switch.tier is tier
        )
        usual = counts[f"{tier.value}s"] - single.total()
        tiers.append((tier.value, usual, plan.model.title, f"{plan.nos} {plan.release}".strip()))
        tiers += [(tier.value, number, *what) for what, number in single.items()]
    return tiers


def _port_rows(samples: Sequence[Switch]) -> list[tuple[object, ...]]:
    """Return the ports in use of each kind of switch, by direction and speed."""
    ports: list[tuple[object, ...]] = []
    for switch in samples:
        used = [port for port in switch.ports if port.peer]
        for way in ("host", "down", "up", "peer", "external"):
            group = [port for port in used if port.direction.value == way]
            for speed in sorted({port.speed_gbps for port in group}):
                number = sum(1 for port in group if port.speed_gbps == speed)
                ports.append((switch.tier.value, switch.name, way, number, speed, number * speed))
    return ports


def _profile_tables(samples: Sequence[Switch]) -> Iterator[_Table]:
    """Yield the table of headroom and marking by speed and cable length, where there is any."""
    profiles = {
        (s.tier.value, p.name): (
            s.tier.value, p.name, *((p.headroom.xoff_bytes, p.headroom.size_bytes) if p.headroom else ("none", "none")),
            p.ecn.min_bytes if p.ecn else "off", p.ecn.max_bytes if p.ecn else "off",
            p.headroom.source if p.headroom else "",
        )
        for s in samples
        for p in s.qos.profiles
    }  # fmt: skip
    if profiles:
        head = (
            "tier",
            "profile",
            "headroom (xoff), bytes",
            "group size, bytes",
            "ECN from",
            "ECN to",
            "from",
        )
        title = "Lossless profiles" if samples[0].qos.lossless else "Marking profiles"
        yield title, head, [profiles[key] for key in sorted(profiles)]


def _ways_out(fabric: Fabric) -> Iterator[tuple[object, ...]]:
    """Yield a row for each link that leaves the fabric."""
    for switch, exits in fabric.external.exits.items():
        for port, (party, link) in exits.items():
            own = ", ".join(address for address in (link.ipv4, link.ipv6) if address)
            routed = f"AS {party.asn}" if party.asn is not None else "static"
            far = f"{link.peer} {link.peer_port}"
            yield party.name, routed, switch, port, own, far, link.speed_gbps, link.medium, link.cable_m


def _class_kind(lossless: bool, strict: bool, weight: int) -> str:
    base = "lossless, " if lossless else ""
    return base + ("strict priority" if strict else f"weight {weight} %")
