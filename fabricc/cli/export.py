"""`fabricc export`: a fabric in the words of other systems."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.formats import finding_entry
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Table
from fabricc.cli import options, output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.result import exit_status
from fabricc.integrations.inventories import terraform_result, topograph_model
from fabricc.integrations.launch_kit import (
    address_finding,
    identity_tables,
    list_kit_links,
    profile_document,
    split_finding,
    split_tor,
    topology_document,
)
from fabricc.integrations.openconfig import MISSING, export_documents
from fabricc.tree.file import make_folder, write_file

_SHOWN = 12


_INSTEAD = "`plan/` of the built tree has cabling, LIDs and partitions as tables."
"""What does the job for InfiniBand."""


@click.group(cls=options.Group)
def command() -> None:
    """Write a fabric in the formats of other systems."""


@command.command()
@options.spec_argument
@click.option("-o", "--output", "folder", type=options.PATH, default=Path("openconfig"), show_default=True,
              help="Folder for switches/NAME.json and not-carried.json.")  # fmt: skip
@click.option("--only", multiple=True, metavar="SWITCH", help="Only this switch; repeatable.")
@options.network_option
@options.jobs_option
@options.data_option("A table, or one JSON object with the missing facts and the findings.")
def openconfig(
    spec: Path, folder: Path, only: tuple[str, ...], network: str | None, jobs: int | None, format_: str
) -> int:
    """Write interfaces, BGP and LLDP of every switch of SPEC as JSON of OpenConfig's models (RFC 7951).

    Facts that the models do not carry (PFC, ECN, buffers, …) are counted: FAB0081, a table, and not-carried.json.
    """
    compiled = compile_ethernet(spec, _INSTEAD, gaps=False)
    if not compiled.sound:
        output.print_findings(compiled.diagnostics, format_, compiled.sources)
        return exit_status(compiled.diagnostics)
    found = export_documents(compiled, folder, only, network, jobs)
    message = (
        f"OpenConfig has {found.carried:,} of {found.facts:,} facts of {spec}; {len(found.missing)} kinds of fact "
        "are in no document"
    )
    help_ = "The files of `fabricc build` contain them all."
    finding = Diagnostic("FAB0081", Severity.NOTE, message, None, help_)
    if format_ == "json":
        stated = {**found.as_json(), "removed": found.removed, "findings": [finding_entry(finding)]}
        output.print_document(json_document(stated))
        return 0
    rows = [(kind, f"{count:,}") for kind, count in found.missing.items()]
    title = f"Not carried, the {_SHOWN} most frequent of {len(rows)}"
    output.print_parts([Table(title, ("fact", "times"), rows[:_SHOWN])])
    output.print_findings([finding], "text", {})
    gone = f", {found.removed:,} of switches that are gone removed" if found.removed else ""
    output.out(
        f"{folder}: {found.switches:,} documents{gone}; {folder / MISSING} has every kind of fact not carried"
    )
    return 0


@command.command()
@options.spec_argument
@click.option("-o", "--output", "target", type=options.PATH, default=Path("-"), show_default=True,
              help="File to write; - for standard output.")  # fmt: skip
def topograph(spec: Path, target: Path) -> int:
    """Write the hosts of SPEC as a model of NVIDIA Topograph: units as switches, NVLink domains as blocks."""
    compiled = compile_ethernet(spec, _INSTEAD, gaps=False)
    if not compiled.sound:
        output.print_findings(compiled.diagnostics, "text", compiled.sources)
        return exit_status(compiled.diagnostics)
    text = json_document(topograph_model(compiled.fabric))
    if str(target) == "-":
        output.print_document(text)
    else:
        write_file(target, text.encode())
    return 0


@command.command("launch-kit")
@options.spec_argument
@click.option("-o", "--output", "folder", type=options.PATH, default=Path("launch-kit"), show_default=True,
              help="Folder for the files.")  # fmt: skip
@click.option("--first-octet", type=click.IntRange(1, 223), metavar="N",
              help="First octet of host addresses. [default: 172, with cores 10]")  # fmt: skip
def launch_kit(spec: Path, folder: Path, first_octet: int | None) -> int:
    """Write the topology and profile of SPEC for NVIDIA's Kubernetes Launch Kit.

    The kit computes addresses of host links by its own rule. If they are not those of the plan, identity tables are
    written that give the plan the same ones.
    """
    compiled = compile_ethernet(spec, _INSTEAD, gaps=False)
    if not compiled.sound:
        output.print_findings(compiled.diagnostics, "text", compiled.sources)
        return exit_status(compiled.diagnostics)
    fabric = compiled.fabric
    links, split = list_kit_links(fabric, first_octet), split_finding(fabric)
    files = {
        "topology.json": json_document(topology_document(fabric, links)),
        "profile.yaml": yaml.safe_dump(
            profile_document(fabric, "topology.json", first_octet), sort_keys=False
        ),
    }
    found = address_finding(fabric, links, str(folder), first_octet)
    if found is not None and not split_tor(links):
        files |= identity_tables(links)
    make_folder(folder)
    for name, text in files.items():
        write_file(folder / name, text.encode())
    output.out(f"{folder}: {', '.join(files)}")
    if found is None:
        output.out(f"All {len(links):,} host links have the addresses that the kit computes.")
    if findings := [each for each in (found, split) if each]:
        output.print_findings(findings, "text", {})
    return 0


@command.command()
@options.spec_argument
def terraform(spec: Path) -> int:
    """Print devices, links and addresses of SPEC for Terraform's data source `external`."""
    compiled = compile_ethernet(spec, _INSTEAD, gaps=False)
    if not compiled.sound:
        output.print_findings(compiled.diagnostics, "text", compiled.sources)
        return exit_status(compiled.diagnostics)
    fabric = compiled.fabric
    output.print_document(json_document(terraform_result((fabric, *fabric.networks))))
    return 0
