"""A review as JSON, described by `schemas/diff.schema.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.foreign.formats import json_document
from fabricc.review.diff import wording
from fabricc.review.diff.phrases import theme_phrases

if TYPE_CHECKING:
    from fabricc.back.nos.base import Application
    from fabricc.base.diagnostics import Diagnostic, Position
    from fabricc.base.foreign.text import Rendered
    from fabricc.review.diff.model import Fleet, Group, Review

FORMAT = 1


def render(review: Review) -> Rendered:
    """Return the JSON text, the same for the same review."""
    return json_document(as_json(review))


def as_json(review: Review) -> dict[str, Any]:
    """Return the review as plain values."""
    count = review.renumbering
    return {
        "format": FORMAT,
        "cluster": review.cluster,
        "base": review.base,
        "head": review.head,
        "verdict": wording.verdict_line(review),
        "differs": review.differs,
        "risk": review.risk,
        "impact": review.impact.label,
        "devices": review.devices,
        "devices_changed": review.changed,
        "gpus": {
            "total": review.gpus_total,
            "affected": review.gpus_affected,
            "at_a_time": review.gpus_per_step,
            "hosts": review.hosts_affected,
            "rails": list(review.rails_affected),
        },
        "sessions_down": review.sessions,
        "renumbered": {"addresses": count.addresses, "asns": count.asns, "ports": count.ports},
        "drain": wording.drain_steps(review),
        "labels": wording.review_labels(review),
        "labels_known": list(wording.LABELS),
        "marker": wording.comment_marker(review.spec or review.cluster),
        "next": wording.next_command(review),
        **({"tenants": list(review.tenants)} if review.tenants else {}),
        "figures": [{"name": f.name, "before": f.before, "after": f.after} for f in review.figures],
        "spec_changes": [
            {"path": c.path, "before": c.before, "after": c.after, **_place_document(c.position)}
            for c in review.spec_changes
        ],
        "lock": list(review.lock),
        "groups": [_group_document(group) for group in review.groups],
        "added": _fleet_document(review.added),
        "removed": _fleet_document(review.removed),
        **({"renamed": [{"from": old, "to": new} for old, new in review.renamed]} if review.renamed else {}),
        **({"replaced": [box._asdict() for box in review.replaced]} if review.replaced else {}),
        "access_changes": [{"what": what, "devices": count} for what, count in review.access_changes.items()],
        "safeguards_lost": [
            {"what": what, "devices": count} for what, count in review.safeguards_lost.items()
        ],
        "unknown_lines": [{"line": line, "devices": count} for line, count in review.unknown_lines.items()],
        "vouched_lines": [each._asdict() for each in review.vouched_lines],
        "control_files": [each._asdict() for each in review.control_files],
        "committed_trees": [
            {
                "path": tree.path,
                "passes": tree.passes,
                "findings": [_finding_document(d) for d in tree.findings],
            }
            for tree in review.committed_trees
        ],
        "model_figures": [each._asdict() | {"reach": list(each.reach)} for each in review.model_figures],
        "findings": [_finding_document(d) for d in review.findings],
        "violations": [_finding_document(d) for d in review.violations],
    }


def _group_document(group: Group) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "platform": group.platform,
        "impact": group.impact.label,
        "devices": list(group.devices),
        "gpus": group.gpus,
        "hosts": group.hosts,
        "rails": list(group.rails),
        "sessions_down": group.sessions,
        "causes": list(group.causes),
        **(
            {"application": _application_document(group.application)} if group.application is not None else {}
        ),
        "summary": [
            {"theme": phrase.theme, "text": phrase.text, "impact": phrase.impact.label}
            for phrase in theme_phrases(group)
        ],
        "facts": [
            {
                "subject": line.statement.subject,
                "op": {"~": "changed", "+": "added", "-": "removed"}[line.statement.op],
                "before": line.statement.before,
                "after": line.statement.after,
                "count": line.count,
                "impact": line.verdict.impact.label,
                "why": line.verdict.why,
                "source": line.verdict.source,
                "example": line.example,
            }
            for line in group.lines
        ],
        "files": [
            {
                "path": f.path,
                "added": f.added,
                "removed": f.removed,
                "device": group.devices[0],
                "diff": f.text,
            }
            for f in group.files
        ],
    }


def _application_document(application: Application) -> dict[str, Any]:
    return {
        "way": application.way,
        "interrupts": application.interrupts,
        "reloads": application.reloads,
        "ports": list(application.ports),
        "limit_s": application.limit_s,
    }


def _fleet_document(fleet: Fleet) -> dict[str, Any]:
    return {"gpus": fleet.gpus, "devices": {kind: list(names) for kind, names in fleet.names.items()}}


def _finding_document(d: Diagnostic) -> dict[str, Any]:
    stated = {"code": d.code, "severity": d.severity.value, "message": d.message, "help": d.help}
    return stated | _place_document(d.position)


def _place_document(place: Position | None) -> dict[str, Any]:
    return {"file": place.file, "line": place.line} if place else {"file": None, "line": None}
