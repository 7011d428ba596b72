"""Render the page as HTML: its sections, the numbers at its head, and one template with every value escaped.

A content security policy lets nothing else run or load.
"""

from __future__ import annotations

import base64
import hashlib
import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fabricc.base.diagnostics import Diagnostic, Severity, worst_severity
from fabricc.base.diagnostics.wording import format_share, plural
from fabricc.base.foreign.formats import escape_html as escaped
from fabricc.base.foreign.formats import html_document
from fabricc.base.foreign.shell import shell_path
from fabricc.base.installation import data_folder
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.compiler.recheck import breaks_shares, list_proof_findings
from fabricc.compiler.result import counted_hosts
from fabricc.fabric.capacity.remainder import Remainder
from fabricc.fabric.capacity.throughput import OutageRates, measure_throughput
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.front.planning.quality import QosWorksheet, list_worksheets
from fabricc.front.planning.topology.layout import list_rooms, report_full
from fabricc.front.spec.document import join_words
from fabricc.review.report import addressing, materials, quality, topology, values
from fabricc.review.report.addressing import addressing_section, tenants_section
from fabricc.review.report.failures import Failure, describe_kept_bandwidth, hardest_single, single_failures
from fabricc.review.report.materials import materials_section
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.base.foreign.text import Rendered
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec

FOLDER = "report"
GENERATOR = '<meta name="generator" content="fabricc report">'
"""The marker that distinguishes a report from any other file."""


def render_report(compiled: Compiled, found: Sequence[Diagnostic] | None = None) -> Rendered:
    """Return the report of a planned spec; the same inputs give the same text.

    Args:
        compiled: the spec.
        found: the findings of its proof; None to look for them.

    Raises:
        CompileError: the spec has errors.
        FileNotFoundError: the installation lacks the templates.
    """
    return render_page(compose_page(compiled, found))


def render_page(page: values.Page) -> Rendered:
    """Return a page as one HTML file.

    Raises:
        FileNotFoundError: the installation lacks the templates.
    """
    style, script = (_read_template(name) for name in ("page.css", "filter.js"))
    policy = (
        f"default-src 'none'; style-src {_hash_source(style)}; script-src {_hash_source(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _template_environment().get_template("page.html.j2")
    return html_document(template, page=page, style=style, script=script, policy=policy, generator=GENERATOR)


@cache
def _template_environment() -> Environment:
    """Return the templates, in an environment that escapes every value."""
    made = Environment(
        loader=FileSystemLoader(data_folder("templates") / FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters["with_code"] = _with_code
    return made


@cache
def _read_template(name: str) -> str:
    return (data_folder("templates") / FOLDER / name).read_text("utf-8")


def is_report(beginning: bytes) -> bool:
    """Return whether a file that begins so is a report, which another may replace."""
    return GENERATOR.encode() in beginning


def _with_code(text: str) -> Markup:
    """Return a text with what stands between backquotes as code; everything is escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escaped(text))))


def _hash_source(text: str) -> str:
    """Return the source expression of a text between its tags (Content Security Policy Level 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_WORDS: tuple[tuple[str, str], ...] = (
    ("unit", "Hosts and the ToRs that serve them: a scalable unit, or a rack."),
    ("ToR, spine, core", "The tiers of switches from the hosts up."),
    ("rail", "NIC number g of every host, and the ToR that they share."),
    ("plane", "A fabric of its own between one port of every NIC; planes share no switch."),
    ("pod", "Units behind one set of spines, where cores join several."),
    ("oversubscription", "Bandwidth of a switch's ports down over that of its ports up; 1:1 is non-blocking."),
    ("bisection bandwidth",
     "The bandwidth from one half of the hosts to the other: half of the narrowest tier's, one way."),
    ("ECMP", "Equal-cost multipath: a switch spreads flows over all next hops that are equally near."),
    ("PFC", "Priority flow control (IEEE 802.1Q): a full queue pauses its neighbor, for single classes."),
    ("ECN", "Explicit congestion notification (RFC 3168): marks that make senders slow down before PFC has to act."),
    ("headroom", "Buffer for packets that arrive after a pause frame was sent."),
    ("lock", "The file fabricc.lock: numbers that addresses and names follow from, committed with the spec."),
)  # fmt: skip


def compose_page(compiled: Compiled, found: Sequence[Diagnostic] | None = None) -> values.Page:
    """Return the page of a planned spec; see `render_report`.

    Raises:
        CompileError: the spec has errors.
    """
    spec, ib = compiled.spec, compiled.infiniband
    fabric = ib.wiring if ib else compiled.fabric
    folder = spec.file.rpartition("/")[0]
    kinds = values.switch_kinds(fabric)
    pinned = compiled.lock_before is not None
    proved = (*compiled.diagnostics, *(list_proof_findings(compiled) if found is None else found))
    findings = (*proved, *report_full(spec, fabric, list_rooms(fabric), pinned=pinned))
    lost = () if breaks_shares(compiled, proved) else single_failures(fabric, hashed=ib is None)
    sheets = () if ib else list_worksheets(spec, fabric)
    tree = f"build/{fabric.cluster}/plan/{fabric.network}".rstrip("/")
    sections = [
        topology.topology_section(spec, fabric, kinds),
        topology.failure_section(fabric, lost, hashed=ib is None),
        materials.findings_section(spec, findings, folder),
        materials_section(fabric, kinds, values.count_cables(kinds), f"{tree}/cabling.csv"),
    ]
    if ib:
        sections += [addressing.subnets_section(ib, f"{tree}/lids.csv"), addressing.levels_section(ib)]
    else:
        switch = fabric.switch(next(iter(fabric.switch_ids())))
        sections += [
            addressing_section(fabric, f"{tree}/addresses.csv"),
            *([tenants_section(spec, fabric, fabric.tenancy)] if fabric.tenancy else ()),
            quality.classes_section(fabric, switch),
            quality.buffers_section(fabric, kinds, sheets, f"{tree}/worksheet.csv"),
        ]
    sections += [
        materials.assumptions_section(spec, folder),
        _rest_section(spec, fabric, ethernet=ib is None),
    ]
    counts = fabric.counts()
    hosts = sorted({fabric.host_models[unit.group].title for unit in fabric.units.values()})
    summary = f"{counts['gpus']:,} GPUs in {counted_hosts(counts)} ({', '.join(hosts)}) on "
    lossless = not fabric.network or bool(sheets)
    summary += "InfiniBand" if ib else "lossless Ethernet (RoCEv2)" if lossless else "Ethernet"
    return values.Page(
        title=f"{fabric.cluster} {fabric.network}" if fabric.network else fabric.cluster,
        summary=f"{summary}: {_describe_switches(fabric)}.{_other_pages(compiled)}",
        status=_page_status(proved),
        verdict=tuple(_verdict_lines(compiled, proved, lost, sheets)),
        figures=tuple(_page_figures(fabric, kinds, lost)),
        identity=tuple(_identity_rows(compiled, spec, fabric)),
        sections=sections,
    )


def _other_pages(compiled: Compiled) -> str:
    """Return which further networks have a page of their own; "" if there are none."""
    names = [*compiled.networks]
    verb = "has a page of its own" if len(names) == 1 else "have pages of their own"
    return f" This page is of the GPU rails; {join_words(names, 'and')} {verb}." if names else ""


def _describe_switches(fabric: Fabric) -> str:
    counts = fabric.counts()
    named = [plural(counts[f"{tier.value}s"], topology.tier_title(tier)) for tier in fabric.tiers]
    return " and ".join([", ".join(named[:-1]), named[-1]])


def _page_figures(
    fabric: Fabric, found: tuple[values.Kind, ...], lost: tuple[Failure, ...]
) -> Iterator[values.Figure]:
    counts, whole = fabric.counts(), measure_throughput(OutageRates(Remainder(Wiring(fabric), Outage())))
    with_gpus = {fabric.host_models[unit.group].gpus for unit in fabric.units.values()} - {0}
    per_host, without = sorted(with_gpus or {0}), counts.get("hosts_without_gpus", 0)
    others = f", {without:,} without" if without else ""
    each = " to ".join(str(number) for number in {per_host[0]: None, per_host[-1]: None})
    text = f"{plural(counts['hosts'] - without, 'host')} of {each}{others}, {plural(counts['units'], 'unit')}"
    yield values.Figure(f"{counts['gpus']:,}", "GPUs", text)
    switches = sum(counts[f"{tier.value}s"] for tier in fabric.tiers)
    yield values.Figure(f"{switches:,}", "switches", _describe_switches(fabric))
    ways = {"host": "to hosts", "spine": "to spines", "core": "to cores", "peer": "between ToRs"}
    links = {where: number for kind, where in ways.items() if (number := counts.get(f"{kind}_cables", 0))}
    text = ", ".join(f"{number:,} {where}" for where, number in links.items())
    yield values.Figure(f"{sum(links.values()):,}", "links", text)
    ratios = topology.tier_ratios(found)
    if ratios:
        text = ", ".join(
            f"{topology.tier_title(tier)} {values.format_ratio(value)}" for tier, value in ratios.items()
        )
        yield values.Figure(values.format_ratio(max(ratios.values())), "oversubscription", text)
    half = Fraction(whole.hosts_gbps, 2)
    share = format_share(whole.bisection_gbps / half) if half else "0 %"
    text = f"{share} of the bandwidth of half of the NIC ports"
    yield values.Figure(values.format_rate(whole.bisection_gbps), "bisection bandwidth", text)
    if hardest := hardest_single(lost):
        hit = hardest.gpus_cut or hardest.reduced
        label = f"GPUs {'cut off' if hardest.gpus_cut else 'slowed'} at worst"
        yield values.Figure(
            f"{hit:,}", label, f"one {_describe_part(hardest)} lost; {_describe_effect(hardest)}"
        )


def _describe_effect(each: Failure) -> str:
    if not each.gpus_cut:
        return f"they keep {describe_kept_bandwidth(each)}"
    cut = plural(each.hosts_cut, "host")
    return f"{cut} without any port" if each.hosts_cut else "no host loses all its ports"


def _page_status(found: Sequence[Diagnostic]) -> str:
    gravest = worst_severity(found)
    return {Severity.ERROR: "error", Severity.WARNING: "warning"}.get(gravest or Severity.NOTE, "good")


def _verdict_lines(
    compiled: Compiled,
    found: Sequence[Diagnostic],
    lost: tuple[Failure, ...],
    worksheets: Sequence[QosWorksheet],
) -> Iterator[str]:
    """Yield facts that a reader must know before signing."""
    number = sum(1 for each in found if each.severity is Severity.WARNING)
    accepted = sum(1 for each in found if each.severity is Severity.NOTE)
    if any(each.severity is Severity.ERROR for each in found):
        yield "The plan has errors and cannot be built."
    elif number:
        yield f"The plan has no errors; {plural(number, 'warning')} to read first."
    else:
        yield "The plan has no errors and no warnings."
    if accepted:
        yield f"{plural(accepted, 'note')}, accepted findings with their reasons among them."
    if hardest := hardest_single(lost):
        hit = f"{plural(hardest.gpus_cut, 'GPU') if hardest.gpus_cut else 'no GPU'} off the fabric"
        yield f"The loss of any single cable, NIC or switch takes {hit} at most (one {_describe_part(hardest)})."
    assumed = {
        (row.label, row.source)
        for sheet in worksheets
        for row in sheet.rows
        if row.source.startswith("assumed")
    }
    if assumed:
        verb = "is" if len(assumed) == 1 else "are"
        yield f"{plural(len(assumed), 'figure')} behind the thresholds {verb} assumed; the worksheets show why."
    if compiled.lock_before is None:
        yield "There is no lock yet: `fabricc build` or `fabricc lock` writes it, and it has to be committed."
    elif compiled.lock_before != compiled.lock_text:
        yield "The lock does not fit this spec: run `fabricc build` or `fabricc lock`."


def _describe_part(each: Failure) -> str:
    first = each.part.partition(":")[0]
    return first[0].lower() + first[1:] if not first.startswith(("ToR", "NIC")) else first


def _identity_rows(compiled: Compiled, spec: ClusterSpec, fabric: Fabric) -> Iterator[tuple[str, str]]:
    for tier, plan in fabric.tiers.items():
        runs = f", {plan.nos} {plan.release}".rstrip() if compiled.infiniband is None else ""
        yield f"{topology.tier_title(tier)}s", f"{plan.model.title}{runs}"
    systems = sorted({fabric.host_systems[unit.group] for unit in fabric.units.values()})
    yield "hosts", ", ".join(systems)
    yield "spec", materials.spec_name(spec)
    inputs = manifest_inputs(compiled)
    yield "spec, SHA-256 of its meaning", inputs.pop("spec")
    for name, digest in sorted(inputs.items()):
        yield f"{name}, SHA-256", digest
    yield "fabricc", __version__


def _rest_section(spec: ClusterSpec, fabric: Fabric, *, ethernet: bool) -> values.Section:
    """Return the section with the places of everything else, and a glossary."""
    name, folder = shell_path(materials.spec_name(spec)), f"build/{fabric.cluster}"
    tables, words = "cabling, addresses, sessions, QoS", _WORDS
    if not ethernet:
        tables = "cabling, LIDs and GUIDs, partitions, service levels"
        words = tuple(each for each in _WORDS if each[0] not in ("ECMP", "PFC", "ECN", "headroom"))
    whole = "every configuration, proved against this plan, and its manifest"
    files = [
        (f"fabricc build {name}", f"{folder}/", whole),
        (f"fabricc build {name}", f"{folder}/plan/", f"the whole tables: {tables}"),
        (f"fabricc plan {name} --csv DIR", "DIR/", "the same tables without a build"),
        (f"fabricc report {name}", "report.html", "this page; the same inputs give the same bytes"),
    ]
    if ethernet:
        files.insert(3, (f"fabricc plan {name} --qos", "the screen", "the worksheets"))
    head = ("command", "writes", "what")
    commands = values.Table("commands", "Where everything is", head, tuple(files), codes=(0, 1))
    lead = (
        "The digests at the head of the page are in the manifest of the build too: equal digests, equal plan."
    )
    listed = values.Table("words", "Words", ("word", "means here"), words)
    return values.Section("files", "Files and words", lead, (commands, listed))
