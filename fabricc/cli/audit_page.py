"""An audit as one HTML page, as `fabricc report` draws a plan."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.audit import Audit, run
from fabricc.audit.coverage import State
from fabricc.base.diagnostics import TITLES, Severity, worst_severity
from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.review.report.page import render_page
from fabricc.review.report.values import Figure, Page, Row, Section, Table
from fabricc.rules.answers import ACCOUNT, account_rows
from fabricc.rules.rule import TOPICS
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.foreign.text import Rendered

_STATUS = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def render_audit(audit: Audit) -> Rendered:
    """Return the page; the same folder gives the same text."""
    return render_page(
        Page(
            title=audit.folder.resolve().name,
            summary=f"{run.content_line(audit)}.",
            status=_STATUS.get(worst_severity(audit.diagnostics) or Severity.NOTE, "good"),
            verdict=(f"{run.summary_line(audit)}.",),
            figures=tuple(_page_figures(audit)),
            identity=(("folder", str(audit.folder)), ("files", f"{audit.used:,} of {audit.files:,}"),
                      ("fabricc", __version__)),
            sections=(_findings_section(audit), _coverage_section(audit), _unknown_section(audit),
                _devices_section(audit), _links_section(audit)),
            subject="Fabric audit",
            origin="the files of the folder and the catalog alone",
            signed=False,
        )
    )  # fmt: skip


def _page_figures(audit: Audit) -> Iterator[Figure]:
    counts = Counter(one.severity for one in audit.findings)
    systems = ", ".join(sorted({device.system for device in audit.devices.values()}))
    yield Figure(f"{audit.switches:,}", "switches", systems)
    yield Figure(f"{len(audit.devices) - audit.switches:,}", "hosts")
    yield Figure(f"{len(audit.found.links):,}", "links")
    yield Figure(f"{counts[Severity.ERROR]:,}", "errors", plural(counts[Severity.WARNING], "warning"))
    for _, of in list(audit.coverage.systems())[-1:]:
        note = f"of {of.statements - of.aside:,} statements that matter"
        yield Figure(format_share(of.share), "understood", note)


def _findings_section(audit: Audit) -> Section:
    rows = tuple(
        (one.severity.value, one.code, TITLES.get(one.code, ""), one.message,
         f"{one.position.file}:{one.position.line}" if one.position else "", one.help)
        for one in audit.diagnostics
    )  # fmt: skip
    columns = ("severity", "code", "kind", "finding", "where", "remedy")
    lead = "Faults with their remedies; the first few of each kind." if rows else "No faults."
    table = Table("findings-all", "Findings", columns, rows, codes=(1, 4), severity=True)
    return Section("findings", "Findings", lead, (table,) if rows else ())


def _coverage_section(audit: Audit) -> Section:
    systems = Table("systems", "Statements by system", ("system", "devices", "statements", "understood", "aside",
                    "unknown"), tuple(run.system_rows(audit)), right=(1, 2, 3, 4, 5))  # fmt: skip
    topics = Table("topics", "Devices by topic", ("topic", *State), tuple(run.topic_rows(audit)), right=(1, 2, 3, 4),
                   note="Proved: every rule about the topic ran, had its inputs and found no error.")  # fmt: skip
    heads = ("topic", *ACCOUNT[1:])
    rules = Table("rules", "Rules by topic", heads, tuple(account_rows(audit.accounts)), right=(1, 2, 3),
                  note="Evaluated: switches on which a rule about the topic ran.")  # fmt: skip
    return Section(
        "coverage", "Coverage", "How much of the files was understood, and which rules were evaluated.",
        (systems, topics, rules),
    )  # fmt: skip


def _unknown_section(audit: Audit) -> Section:
    rows = tuple(run.unknown_line_rows(audit, 200))
    table = Table("lines", "Lines that are not understood", ("times", "devices", "line", "for instance"), rows,
                  codes=(2, 3), right=(0, 1), folded=True)  # fmt: skip
    lead = "An unknown line can have any meaning, so its topic is not proved on the devices that have it."
    return Section("unknown", "Not understood", lead, (table,) if rows else ())


def _devices_section(audit: Audit) -> Section:
    rows: list[Row] = []
    for name, one in audit.coverage.devices.items():
        device, place = audit.devices[name], audit.found.places.get(name)
        states = (one.shown_state(topic) for topic in TOPICS)
        box = device.model or device.box
        tier = place.tier.value if place else ""
        rows.append((name, tier, device.system, box, device.release, one.counts.unknown, *states))
    columns = ("device", "tier", "system", "box", "release", "unknown lines", *TOPICS)
    table = Table("devices-all", "Devices", columns, tuple(rows), codes=(0,), folded=True)
    return Section("devices", "Devices", "Every device with the state of each topic.", (table,))


def _links_section(audit: Audit) -> Section:
    links = ((link.a, link.b, ", ".join(each.value for each in link.evidence)) for link in audit.found.links)
    rows = tuple((a.device, a.port, b.device, b.port, shown) for a, b, shown in links)
    columns = ("device", "port", "device", "port", "shown by")
    table = Table("links-all", "Links", columns, rows, codes=(0, 1, 2, 3), folded=True)
    return Section("links", "Links", "Links between devices, and the evidence for each.", (table,))
