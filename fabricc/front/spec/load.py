"""Load a spec file as `ClusterSpec`, with the problems of every stage."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity, worst_severity
from fabricc.base.documents.document import Document, clip
from fabricc.base.documents.reader import MAX_BYTES, parse_yaml, too_large
from fabricc.base.foreign import files
from fabricc.base.values import dataclass, replace
from fabricc.front.spec import networks
from fabricc.front.spec.assemble import assemble_spec
from fabricc.front.spec.document import Assumptions, Findings, fill_defaults
from fabricc.front.spec.gpus import check_classes, check_network_senders
from fabricc.front.spec.model import ClusterSpec, HostGroup
from fabricc.front.spec.validate import name_problems, schema_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path as FilePath

    from fabricc.front.spec.device_model import Acceptance


STDIN = "<stdin>"
MAX_LISTED = 200
_LONGEST_PATH = 300


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of loading a spec file.

    Attributes:
        spec: None when there is an error.
        diagnostics: problems of every stage, in file order.
        text: the text, for showing source lines; empty when the file could not be read.
    """

    spec: ClusterSpec | None
    diagnostics: tuple[Diagnostic, ...]
    text: str


def load_spec(path: FilePath, numbers: Mapping[str, int] | None = None) -> Loaded:
    """Read, check and type the spec at `path`; `-` reads standard input. Never raises for what it reads.

    `numbers`: those that further networks have in the lock.
    """
    raw = _read_file(path)
    if isinstance(raw, Diagnostic):
        return Loaded(None, (raw,), "")
    return read_spec(raw, STDIN if str(path) == "-" else path.as_posix(), numbers)


def read_spec(raw: bytes, file: str, numbers: Mapping[str, int] | None = None) -> Loaded:
    """Return the spec in `raw`, which diagnostics call `file`. Never raises for what it reads."""
    document = parse_yaml(raw, file)
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    if not document.usable:
        return Loaded(None, in_file_order(document.diagnostics), text)
    problems = schema_problems(document)
    findings = Findings(document)
    findings.diagnostics += [*document.diagnostics, *(diagnostic for _, diagnostic in problems)]
    spec: ClusterSpec | None = None
    accept: tuple[Acceptance, ...] = ()
    if isinstance(document.value, dict) and not any(code.code == "FAB1009" for _, code in problems):
        unfit = {path[0] for path, _ in problems if path} | {path[0] for path in document.broken if path}
        own, network, assumptions = document, None, Assumptions()
        if "network" in document.value and not unfit & {"network", "infiniband", *networks.NUMBERED}:
            own, network = networks.as_network(document, assumptions)
        spec, accept = assemble_spec(own, frozenset(map(str, unfit)), findings, assumptions)
        if spec is not None and network is not None:
            spec = networks.with_network(spec, network, document.value["network"])
        if not unfit & {"networks", "management", *networks.INHERITED}:
            if spec is not None and spec.infiniband is not None and "networks" in document.value:
                message = "`networks` needs an Ethernet fabric, not InfiniBand"
                findings.error("FAB2114", message, "networks", help=BESIDE_INFINIBAND)
            if network is not None and "networks" in document.value:
                message = "a spec of one network has no further networks"
                help_ = "Remove `network`, or write a spec for each network with a `number` of its own."
                findings.error("FAB2116", message, "network", help=help_)
            further = _read_networks(document, spec, numbers or {}, findings)
            spec = spec and replace(spec, networks=further)
    failed = any(each.severity is Severity.ERROR for each in findings.diagnostics)
    ordered = in_file_order(apply_severities(findings.diagnostics, accept))
    if failed:  # other errors may follow from a wrong model, which planning would report only without them
        ordered = (*in_file_order(name_problems(document)), *ordered)
    return Loaded(None if failed else spec, _limit_diagnostics(ordered), text)


BESIDE_INFINIBAND = (
    "Describe each in a spec of its own, with another `cluster` name, `network: {name: NAME}` and the same hosts: its "
    "names, files and pools are not those of the rails."
)
"""What to do with further networks of hosts on InfiniBand rails, which fabricc does not compare with them."""
GAPS = "FAB5"
"""Codes of what a NOS cannot express, or no source supports: even its errors may be accepted, as a lab does."""
BETS = frozenset({"FAB3319", "FAB3321", "FAB4004", "FAB4005", "FAB4010", "FAB4012"})
"""Codes of what is not lossless in the worst case, or that no source confirms, which a spec may bet against."""


def soften_errors(diagnostics: Iterable[Diagnostic], accept: Iterable[Acceptance]) -> list[Diagnostic]:
    """Return the diagnostics, with errors that the spec accepts and may accept as warnings."""
    codes = {entry.code for entry in accept}
    return [
        replace(d, severity=Severity.WARNING)
        if d.severity is Severity.ERROR and d.code in codes and (d.code.startswith(GAPS) or d.code in BETS)
        else d
        for d in diagnostics
    ]


def apply_severities(diagnostics: Iterable[Diagnostic], accept: Iterable[Acceptance]) -> list[Diagnostic]:
    """Return the diagnostics, each warning with the severity that the spec gives it; errors stay errors."""
    known = {each.code: each for each in accept if not each.line}
    result = []
    for each in diagnostics:
        entry = known.get(each.code) if each.severity is Severity.WARNING else None
        if entry is None:
            result.append(each)
        elif entry.severity is Severity.NOTE:
            result.append(replace(each, severity=Severity.NOTE, help=f"Accepted: {entry.reason}"))
        else:
            message = f"{each.help} The spec states: {entry.reason}".strip()
            result.append(replace(each, severity=entry.severity, help=message))
    return result


def in_file_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted by file, line, column and code, duplicates dropped; those without a place come first."""
    nowhere, once = Position("", 0, 0), dict.fromkeys(diagnostics)
    return tuple(sorted(once, key=lambda each: (each.position or nowhere, each.code, each.message)))


def _limit_diagnostics(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return the first 200, and one more that counts the others and has the highest severity of these."""
    if not (rest := diagnostics[MAX_LISTED:]):
        return diagnostics
    gravest = worst_severity(rest) or Severity.NOTE
    message = f"{len(rest)} more problems are not listed"
    more = Diagnostic("FAB1009", gravest, message, rest[0].position, "Repair these first.")
    return (*diagnostics[:MAX_LISTED], more)


def _read_file(path: FilePath) -> bytes | Diagnostic:
    """At most one byte more than the limit, so that the reader refuses what is larger."""

    def refuse_file(code: str, message: str, help: str = "") -> Diagnostic:
        return Diagnostic(code, Severity.ERROR, message, Position(path.as_posix(), 1, 1), help)

    try:
        if str(path) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        return files.read(path, limit=MAX_BYTES)
    except FileNotFoundError:
        return refuse_file("FAB0001", "there is no such file", _suggest_specs(path.parent))
    except files.TooLargeError:
        return too_large(path.as_posix())
    except files.ForeignFileError as error:
        if path.is_dir():
            return refuse_file("FAB0002", "this is a folder, not a spec", _suggest_specs(path))
        return refuse_file(
            "FAB0002", f"this is not a spec: {error.strerror}", "Use `-` to read standard input."
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return refuse_file("FAB0001", f"the file cannot be read: {why}")


def _suggest_specs(folder: FilePath) -> str:
    """Return a remedy that names specs in a folder."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith((".yaml", ".yml")))[:3]
    except (OSError, ValueError):
        return ""
    if not names:
        return "Write one with `fabricc init`."
    return f"Name {' or '.join(clip(str(folder / name), _LONGEST_PATH) for name in names)}."


def _read_networks(
    document: Document, spec: ClusterSpec | None, numbers: Mapping[str, int], findings: Findings
) -> dict[str, ClusterSpec]:
    """Return the specs of the further networks, each read as one of its own."""
    named, moved = document.value.get("networks", {}), document.value.get("moved", {})
    numbers = {moved.get(name, name) if name not in named else name: own for name, own in numbers.items()}
    stated = networks.number_networks(named, numbers)
    sections = [
        networks.section_of(document, name, stated[name]) for name in sorted(stated, key=stated.__getitem__)
    ]
    findings_of = {
        each.network.name: Findings(
            replace(each.document, value=each.document.value | {"groups": each.groups})
        )
        for each in sections
    }
    alone = dict[str, tuple[HostGroup, ...]]()
    if spec is not None:
        parts = [
            networks.StatedGroups(
                name, each.groups, each.wiring, each.network.hosts_per_unit, findings_of[name]
            )
            for each in sections
            for name in [each.network.name]
        ]
        os = fill_defaults({"gpus": document.value["gpus"]}, Assumptions())["gpus"]["os"]
        alone = networks.groups_of(parts, [group.name for group in spec.gpus.groups], os)
    found = {}
    for section in sections:
        gpus, name = None, section.network.name
        if spec is not None:
            rails = section.rails_per_tor
            gpus = replace(spec.gpus, wiring=section.wiring, rails_per_tor=rails, rails_apart=False)
        read, _ = assemble_spec(section.document, frozenset(), findings_of[name], section.assumptions, gpus)
        if read is not None:
            network = replace(section.network, groups=alone[name])
            check_classes(network.groups, read.priorities, findings_of[name])
            if "evpn" not in section.document.value:
                check_network_senders(
                    (*read.gpus.groups, *network.groups), read.priorities, findings_of[name]
                )
            found[name] = replace(read, network=network)
        findings.diagnostics += findings_of[name].diagnostics
    return found
