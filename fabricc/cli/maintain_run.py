"""Run `fabricc maintain`: plan the spec, prepare the maintenance, and print it as text or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.formats import finding_entry
from fabricc.base.diagnostics.wording import format_share, join_words, plural, ranges
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Line, Part, Rendered, Table
from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.cli import output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.recheck import find_obstacles
from fabricc.compiler.result import exit_status
from fabricc.fabric.capacity.hosts import FEWER_PATHS, HOW
from fabricc.fabric.capacity.remainder import LinkShare, describe_share
from fabricc.operate.change.order_text import describe_review, encode_review
from fabricc.operate.maintain.plan import Moment, NetworkMaintenance
from fabricc.operate.maintain.prepare import MaintenanceRequest, prepare_maintenance
from fabricc.review.diff.unread import list_unread_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.operate.maintain.prepare import Job, MaintenancePlan


_INSTEAD = "`fabricc explain SPEC DEVICE` shows what is left while a device of InfiniBand is out."
"""What does the job for InfiniBand."""


def run_maintenance(spec: Path, format_: str, **request: Any) -> int:
    """Prepare and report; return the exit status. Keyword arguments have the names of the command's parameters."""
    compiled = compile_ethernet(spec, _INSTEAD)
    proof = find_obstacles(compiled)
    if exit_status(proof):
        output.print_findings(proof, format_, compiled.sources)
        return exit_status(proof)
    with output.progress() as bars:
        found = prepare_maintenance(compiled, MaintenanceRequest(**request), bars or (lambda *_: None))
    found = replace(found, findings=(*proof, *list_unread_text(compiled), *found.findings))
    if format_ == "json":
        output.print_document(as_json(found))
    else:
        output.print_parts(render_maintenance(found))
        output.print_findings(found.findings, "text", compiled.sources)
    return exit_status(found.findings)


FORMAT = 1
_SHOWN = 12


def render_maintenance(found: MaintenancePlan) -> Iterator[Part]:
    """Render the maintenance as lines and tables."""
    start = found.request.start.isoformat(sep=" ", timespec="minutes") if found.request.start else "at once"
    what = f"{', '.join(found.request.devices)} out for {found.request.minutes} min, {start}"
    yield Line(f"{found.cluster}: {what}", "bold")
    for network in found.networks:
        yield from _render_network(network)
    yield Line()
    yield from _render_jobs(found)
    yield from _render_specs(found)


def _render_network(network: NetworkMaintenance) -> Iterator[Part]:
    label = f"{network.name}: " if network.name else ""
    names = network.moments[Moment.BEFORE].names
    yield Line(f"{label}out already: {join_words(names, 6) or 'nothing'}")
    yield Line()
    head = ("capacity left, hashed evenly", *(moment.value for moment in Moment), "links while out")
    rows = [(part, *_format_shares(shares)) for part, shares in network.parts.items()]
    alike = group_pairs((_format_shares(shares), name) for name, shares in network.switches.items())
    grouped = sorted(alike.items())
    rows += [(_summarize_names(of_group), *cells) for cells, of_group in grouped[:_SHOWN]]
    rows += [
        (f"{rail}, NIC ports", *(format_share(share) for share in shares), "")
        for rail, shares in network.rails.items()
    ]
    yield Table("", head, rows)
    if len(grouped) > _SHOWN:
        yield Line(f"and {len(grouped) - _SHOWN:,} more groups of switches; --format json has them all")
    yield Line()
    for how in HOW:
        of_how = [each for each in network.touched if each.how == how]
        if of_how:
            gpus = sum(each.gpus for each in of_how)
            message = f", {plural(gpus, 'GPU')} without a port" if gpus else ""
            least = describe_share(min(each.links for each in of_how), min(each.kept for each in of_how))
            left = f", {least} left above their ToRs" if how == FEWER_PATHS else ""
            names_ = join_words([each.name for each in of_how], 6)
            yield Line(f"{label}{how}: {plural(len(of_how), 'host')}{message}{left}: {names_}")
    for pair in network.parted:
        one, other = (f"{plural(len(of), 'host')} ({join_words(of, 3)})" for of in pair)
        yield Line(f"{label}no plane in common: NICs of {one} and of {other}")
    if not network.touched:
        yield Line(f"{label}no host is touched")
    yield from _render_next_failure(network, label)


def _render_next_failure(network: NetworkMaintenance, label: str) -> Iterator[Line]:
    now, usual = network.next, network.usual
    if now.narrows:
        more = "" if now.share < usual.share else ", as at any other time"
        left = f"{now.narrows}, which leaves {format_share(now.share)} of {now.at}{more}"
        yield Line(f"{label}worst next failure: {left}")
    if now.gpus:
        more = "" if now.gpus > usual.gpus else ", as many as at any other time"
        yield Line(f"{label}and for GPUs: {now.cuts}, which cuts off {now.gpus:,} more{more}")


def _format_shares(shares: Sequence[LinkShare]) -> tuple[str, ...]:
    out = shares[2]
    return (
        *(format_share(share.capacity) for share in shares),
        f"{out.links:,} of {out.of:,} ({format_share(out.by_links)})",
    )


def _summarize_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names):,} such as {names[0]}"


def _format_ranks(jobs: Sequence[Job]) -> str:
    return ranges(rank for job in jobs for rank in range(job.rank, job.rank + job.gpus))


def _render_jobs(found: MaintenancePlan) -> Iterator[Line]:
    if found.jobs:
        units = list(dict.fromkeys(job.unit for job in found.jobs))
        nodes = f"{plural(len(found.jobs), 'node')} of {join_words(units, 6)}"
        yield Line(f"jobs: {nodes}, ranks {_format_ranks(found.jobs)}")
    if not found.leaving:
        yield Line("no reservation and no cordon is needed: no host loses a port")
        return
    gone = [job for job in found.jobs if job.name in set(found.leaving)]
    yield Line(f"jobs must leave {plural(len(gone), 'node')}, ranks {_format_ranks(gone)}")
    for title, commands in (("Slurm", found.slurm), ("Kubernetes", found.kubernetes)):
        yield from (Line(), Line(title, "bold"))
        *before, after = commands.values()
        yield from (Line(f"  {command}") for command in before)
        yield Line(f"  afterwards: {after}")


def _render_specs(found: MaintenancePlan) -> Iterator[Line]:
    yield Line()
    if not found.words.keys:
        yield Line("no spec changes: hosts announce no routes, so they are not drained")
        return
    yield Line("specs", "bold")
    for name, review in found.reviews.items():
        verdict, *findings = describe_review(review)
        yield Line(f"  {name}: {verdict}")
        yield from (Line(f"  {each}") for each in findings)
    for line in found.words.lines:
        yield Line(f"  {line}")
    for path in found.written:
        yield Line(f"  proved: {path}")


def as_json(found: MaintenancePlan) -> Rendered:
    """Return the maintenance as JSON; shares are numbers from 0 to 1."""
    request = found.request
    answer: dict[str, Any] = {
        "format": FORMAT,
        "cluster": found.cluster,
        "devices": list(request.devices),
        "start": request.start.isoformat(timespec="minutes") if request.start else None,
        "minutes": request.minutes,
        "down": found.down.names,
        "networks": [_encode_network(network) for network in found.networks],
        "jobs": {
            "nodes": [
                {"name": job.name, "unit": job.unit, "first_rank": job.rank, "gpus": job.gpus}
                for job in found.jobs
            ],
            "leave": list(found.leaving),
        },
        "slurm": dict(found.slurm),
        "kubernetes": dict(found.kubernetes),
        "specs": {
            "words": found.words.lines,
            "reviews": {name: encode_review(review) for name, review in found.reviews.items()},
            "written": [str(path) for path in found.written],
        },
        "findings": [finding_entry(one) for one in found.findings],
    }
    return json_document(answer)


def _encode_network(network: NetworkMaintenance) -> dict[str, Any]:
    hosts = [
        {
            "name": each.name,
            "how": each.how,
            "gpus_without_port": each.gpus,
            "gpus_with_fewer": each.reduced,
            "rails": list(each.rails),
            "paths_left": float(each.kept),
            "links_left": float(each.links),
            "ports_left": float(each.ports),
        }
        for each in network.touched
    ]
    return {
        "name": network.name or "compute",
        "out": {moment.value: out.names for moment, out in network.moments.items()},
        "parts": _encode_shares(network.parts),
        "switches": _encode_shares(network.switches),
        "rails": {
            rail: {moment.value: float(share) for moment, share in zip(Moment, shares, strict=True)}
            for rail, shares in network.rails.items()
        },
        "gpus_without_port": dict(zip((moment.value for moment in Moment), network.cut, strict=True)),
        "hosts": hosts,
        "no_common_plane": [{"hosts": pair.hosts, "others": pair.others} for pair in network.parted],
        "worst_next": {
            when: {
                "cuts": each.cuts or None,
                "gpus": each.gpus,
                "narrows": each.narrows or None,
                "at": each.at or None,
                "left": float(each.share),
            }
            for when, each in (("out", network.next), ("usual", network.usual))
        },
    }


def _encode_shares(found: Mapping[str, Sequence[LinkShare]]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {
            moment.value: {"left": float(share.capacity), "links": share.links, "of": share.of}
            for moment, share in zip(Moment, shares, strict=True)
        }
        for name, shares in found.items()
    }
