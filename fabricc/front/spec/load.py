"""Load a spec file as `ClusterSpec`, with the problems of every stage."""

from __future__ import annotations

import os
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity, worst_severity
from fabricc.base.documents.document import Document, clip
from fabricc.base.documents.reader import MAX_BYTES, parse_yaml, too_large
from fabricc.base.foreign import files
from fabricc.base.values import dataclass, replace
from fabricc.fabric.design import Descriptions
from fabricc.fabric.model import CableKind
from fabricc.fabric.routing import LoadBalancing, Reassignment, Spreading
from fabricc.fabric.tenants import port_mtu
from fabricc.front.spec import semantics
from fabricc.front.spec.classes import build_congestion, build_priorities
from fabricc.front.spec.device_model import Acceptance, NosChoice, OverlayFile, Override, PortOverride
from fabricc.front.spec.document import Assumptions, Findings, fill_defaults, joins_switches
from fabricc.front.spec.evpn import build_evpn, check_subnets
from fabricc.front.spec.external import build_external, own_networks
from fabricc.front.spec.gpus import build_gpus, check_classes, check_network_senders, check_senders
from fabricc.front.spec.infiniband import build_infiniband, forget_ethernet, refuse_infiniband, sections_of
from fabricc.front.spec.model import Cables, ClusterSpec, Congestion, Gpus, HostGroup, Priority, Routing, Tier
from fabricc.front.spec.moves import build_replaced, check_moves
from fabricc.front.spec.networks import (
    INHERITED,
    NUMBERED,
    StatedGroups,
    as_network,
    groups_of,
    number_networks,
    section_of,
    with_network,
)
from fabricc.front.spec.pools import build_addressing, build_management, check_management_overlap
from fabricc.front.spec.tenants import build_tenants
from fabricc.front.spec.validate import name_problems, schema_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path as FilePath

    from fabricc.fabric.external import ExternalParty

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
        if "network" in document.value and not unfit & {"network", "infiniband", *NUMBERED}:
            own, network = as_network(document, assumptions)
        spec, accept = _assemble_spec(own, frozenset(map(str, unfit)), findings, assumptions)
        if spec is not None and network is not None:
            spec = with_network(spec, network, document.value["network"])
        if not unfit & {"networks", "management", *INHERITED}:
            if spec is not None and spec.infiniband is not None and "networks" in document.value:
                message = "`networks` needs an Ethernet fabric, not InfiniBand"
                findings.error("FAB2114", message, "networks", help=BESIDE_INFINIBAND)
            if network is not None and "networks" in document.value:
                message = "a spec of one network has no further networks"
                help_ = "Remove `network`, or write a spec for each network with a `number` of its own."
                findings.error("FAB2116", message, "network", help=help_)
            networks = _read_networks(document, spec, numbers or {}, findings)
            spec = spec and replace(spec, networks=networks)
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
        return refuse_file("FAB0002", f"this is no spec: {error.strerror}", "Use `-` to read standard input.")
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
    stated = number_networks(named, numbers)
    sections = [section_of(document, name, stated[name]) for name in sorted(stated, key=stated.__getitem__)]
    findings_of = {
        each.network.name: Findings(
            replace(each.document, value=each.document.value | {"groups": each.groups})
        )
        for each in sections
    }
    alone = dict[str, tuple[HostGroup, ...]]()
    if spec is not None:
        parts = [
            StatedGroups(name, each.groups, each.wiring, each.network.hosts_per_unit, findings_of[name])
            for each in sections
            for name in [each.network.name]
        ]
        os = fill_defaults({"gpus": document.value["gpus"]}, Assumptions())["gpus"]["os"]
        alone = groups_of(parts, [group.name for group in spec.gpus.groups], os)
    found = {}
    for section in sections:
        gpus, name = None, section.network.name
        if spec is not None:
            rails = section.rails_per_tor
            gpus = replace(spec.gpus, wiring=section.wiring, rails_per_tor=rails, rails_apart=False)
        read, _ = _assemble_spec(section.document, frozenset(), findings_of[name], section.assumptions, gpus)
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


def _assemble_spec(
    document: Document,
    unfit: frozenset[str],
    findings: Findings,
    assumptions: Assumptions | None = None,
    gpus: Gpus | None = None,
) -> tuple[ClusterSpec | None, tuple[Acceptance, ...]]:
    """Type and check every section that fits the schema; the whole spec when all do. Also what is accepted.

    `unfit` are sections that do not fit, `assumptions` defaults taken already, `gpus` the hosts of a spec that names
    none.
    """
    assumptions = assumptions or Assumptions()
    raw = fill_defaults(sections_of(document.value, unfit), assumptions)
    fit = {key: value for key, value in raw.items() if key not in unfit}
    if "gpus" in fit:
        gpus = build_gpus(fit["gpus"], findings, assumptions)
    addressing = (
        build_addressing(fit["addressing"], findings, joined=joins_switches(raw))
        if "addressing" in fit
        else None
    )
    management = build_management(fit["management"], findings, assumptions) if "management" in fit else None
    congestion = build_congestion(fit["congestion"], findings) if "congestion" in fit else Congestion()
    balancing = _load_balancing(fit["load_balancing"]) if "load_balancing" in fit else LoadBalancing()
    semantics.check_load_balancing(balancing, findings)
    priorities: tuple[Priority, ...] = ()
    infiniband = build_infiniband(fit, findings) if fit.get("fabric") == "infiniband" else None
    if fit.get("fabric") == "roce":
        refuse_infiniband(findings)
    if "priorities" in fit and fit.get("fabric") != "infiniband":
        priorities = build_priorities(fit["priorities"], findings, assumptions, congestion)
        if gpus is not None and "gpus" in fit:
            check_classes(gpus.groups, priorities, findings)
            if "evpn" not in document.value:  # segments make a front end, which need not carry RDMA
                check_senders(gpus.groups, priorities, findings)
    if addressing is not None and management is not None:
        check_management_overlap(addressing, management, findings, joined=joins_switches(raw))
    accept = tuple(
        Acceptance(each["code"], each["reason"], Severity(each.get("severity", "note")), each.get("line", ""))
        for each in fit.get("accept", ())
    )
    semantics.check_acceptances(accept, findings)
    if "spines" in fit and "cores" not in document.value:
        semantics.check_spines(_read_tier(fit["spines"]), findings)
    if not unfit:
        semantics.check_tiers(document.value, findings)
    if "planes" in fit and "planes_present" in fit:
        semantics.check_planes(fit["planes"], fit["planes_present"], findings)
    if "planes" in fit and "plane_split" in fit:
        semantics.check_plane_split(fit["planes"], fit["plane_split"], findings)
    if "mtu" in fit:
        semantics.check_mtu(fit["mtu"]["host"], fit["mtu"]["switch"], findings)
    routing = _read_routing(fit["routing"]) if "routing" in fit else None
    if routing is not None:
        semantics.check_routing(routing, findings)
    cables = _read_cables(fit["cables"]) if "cables" in fit else None
    if cables is not None:
        semantics.check_cables(cables, findings)
    external: tuple[ExternalParty, ...] = ()
    if "external" in fit and addressing and management and routing and "mtu" in fit and infiniband is None:
        own = own_networks(addressing, management, joined=joins_switches(raw))
        base, mtu = routing.asn_base, fit["mtu"]["switch"]
        if "tenants" in fit:
            mtu = port_mtu(mtu, tunnels=joins_switches(raw))
        external = build_external(fit["external"], addressing.family, own, base, mtu, findings)
    evpn = build_evpn(fit["evpn"], fit, findings) if "evpn" in fit and infiniband is None else None
    if evpn is not None and addressing and management:
        check_subnets(evpn, own_networks(addressing, management, joined=joins_switches(raw)), findings)
    tenants = build_tenants(fit["tenants"], fit, findings) if "tenants" in fit else ()
    needed = {"cluster", "tors", "mtu", "overrides", "buffers"}
    if unfit or needed - fit.keys() or not (gpus and addressing and management and routing and cables):
        return None, accept
    if {"cores", "spines"} <= fit.keys() and "oversubscription" not in fit["spines"]:
        fit["spines"]["oversubscription"] = 1.0
        assumptions.add_default(1.0, "spines", "oversubscription")
    if "spines" not in fit:
        assumptions.remove_default("tors", "oversubscription")
        assumptions.remove_default("addressing", "fabric_links")
    if infiniband is not None:
        forget_ethernet(assumptions)
    moved, retired = dict(sorted(fit.get("moved", {}).items())), tuple(fit.get("retired", ()))
    replaced = build_replaced(fit.get("replaced", {}))
    if "gpus" in fit:
        check_moves(moved, replaced, retired, findings)
    spec = ClusterSpec(
        cluster=fit["cluster"],
        file=document.file,
        catalog_files=tuple(fit["catalog"]),
        gpus=gpus,
        tors=_read_tier(fit["tors"]),
        spines=_read_tier(fit["spines"]) if "spines" in fit else None,
        cores=_read_tier(fit["cores"]) if "cores" in fit else None,
        planes=fit["planes"],
        planes_present=fit.get("planes_present", 0),
        plane_split=fit.get("plane_split", ""),
        priorities=priorities,
        addressing=addressing,
        routing=routing,
        cables=cables,
        management=management,
        host_mtu=fit["mtu"]["host"],
        switch_mtu=fit["mtu"]["switch"],
        unused_silent=fit.get("unused_ports") == "silent",
        descriptions=Descriptions(**fit.get("descriptions", {})),
        overrides={name: _read_override(fit["overrides"][name]) for name in sorted(fit["overrides"])},
        accept=accept,
        congestion=congestion,
        load_balancing=balancing,
        headroom_oversubscription=_exact_fraction(fit["buffers"].get("headroom_oversubscription")),
        vendor_qos=fit.get("qos") == "vendor",
        infiniband=infiniband,
        overlays=tuple(_read_overlay(each) for each in fit.get("overlays", ())),
        external=external,
        evpn=evpn,
        tenants=tenants,
        identities=dict(fit.get("identities", {})),
        moved=moved,
        replaced=replaced,
        retired=retired,
        positions=document.positions,
        assumptions=assumptions.in_schema_order(),
    )
    return spec, accept


def _exact_fraction(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def _read_tier(raw: Mapping[str, Any]) -> Tier:
    """Return the section with the keys of the schema; a list of units per pod sets two fields."""
    stated = {**raw, "nos": NosChoice.of(raw.get("nos", ""))}
    if isinstance(per_pod := raw.get("units_per_pod"), list):
        stated |= {"units_per_pod": max(per_pod), "pods": tuple(per_pod)}
    if (ratio := raw.get("oversubscription")) is not None:
        stated["oversubscription"] = float(ratio)
    return Tier(**stated)


def _read_routing(raw: Mapping[str, Any]) -> Routing:
    """Return the section with the keys of the schema, but for those of BFD, which are below one of their own."""
    bfd = raw["bfd"] or {"interval_ms": None, "multiplier": 3}
    return Routing(
        **{key: value for key, value in raw.items() if key != "bfd"},
        **{f"bfd_{key}": value for key, value in bfd.items()},
    )


def _load_balancing(raw: Mapping[str, Any]) -> LoadBalancing:
    moves = raw.get("reassignment")
    return LoadBalancing(
        Spreading(raw["mode"]),
        raw["queue_pairs"],
        raw.get("flowlet_idle_us"),
        raw.get("global", False),
        Reassignment(**moves) if moves is not None else None,
    )


def _read_cables(raw: Mapping[str, Any]) -> Cables:
    kinds = {**raw, "peer": {**raw["spine"], **raw.get("peer", {})}}
    return Cables(**{link: CableKind(each["medium"], each["length_m"]) for link, each in kinds.items()})


def _read_overlay(raw: Mapping[str, Any]) -> OverlayFile:
    tiers, devices = tuple(raw.get("tiers", ())), tuple(raw.get("devices", ()))
    removes = raw.get("removes", False)
    return OverlayFile(raw["file"], raw["nos"], raw.get("into", ""), tiers, devices, removes)


def _read_override(raw: Mapping[str, Any]) -> Override:
    ports = {
        port: PortOverride(values.get("cable_m"), values.get("medium"), values["shutdown"])
        for port, values in sorted(raw["ports"].items())
    }
    nos, unnumbered = (
        NosChoice.of(raw["nos"]) if "nos" in raw else None,
        raw.get("fabric_links") == "unnumbered",
    )
    return Override(nos, raw["drain"], raw.get("cable_m"), ports, raw.get("model"), unnumbered)
