"""Run `fabricc verify`: read switches, compare them with the plan, and print the report in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import SubElement

import click

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.formats import finding_entry
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import Markdown, json_document, xml_document
from fabricc.base.foreign.text import Line, Part, Rendered, Table
from fabricc.base.numbers import group_pairs
from fabricc.cli import logins, output
from fabricc.operate.drivers.lossless import KIND_WORDS, KINDS
from fabricc.operate.push.built_tree import read_source
from fabricc.operate.verify import verify_switch
from fabricc.operate.verify.model import Aspect, Deviation, Report
from fabricc.operate.verify.run import verify
from fabricc.operate.verify.subnets import has_subnets, verify_subnets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def run_verify(tree: Path, spec: Path | None, network: str | None, format_: str, **chosen: Any) -> int:
    """Read, compare and report, with the arguments of the command; return the exit status."""
    names, aspects = chosen.pop("devices"), [Aspect(one) for one in chosen.pop("only")]
    if has_subnets(tree):
        if names:
            raise click.UsageError("--devices is for switches with a configuration; subnets are read whole.")
        with output.progress() as bar:
            report = verify_subnets(tree, aspects, bar or (lambda *_: None))
        _print_report(report, format_)
        return report.exit_status
    source = read_source(tree, spec, network=network)
    access = logins.access(source.spec, chosen.pop("access_file"))
    with output.progress() as bar:
        progress = bar or (lambda *_: None)
        report = verify(source, access, only=names, aspects=aspects, progress=progress, **chosen)
    _print_report(report, format_)
    return report.exit_status


def _print_report(report: Report, format_: str) -> None:
    if format_ == "table":
        output.print_parts(parts(report))
    elif format_ == "markdown":
        output.print_document(as_markdown(report))
    else:
        output.print_document(as_json(report) if format_ == "json" else as_junit(report))


_THINGS = {
    Aspect.IDENTITY: "addresses",
    Aspect.CABLING: "cable ends",
    Aspect.BGP: "sessions",
    Aspect.ROUTES: "prefixes",
    Aspect.TENANTS: "peers",
    Aspect.INTERFACES: "ports",
    Aspect.QOS: "facts",
    Aspect.CONFIG: "facts",
}
_SHOWN = 20
_KINDS = tuple(KIND_WORDS[kind] for kind in KINDS)
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


def table_rows(report: Report) -> Iterator[tuple[str, str, str, str]]:
    """Yield for each aspect the number of switches and of things compared, and the result in words."""
    for aspect in report.aspects:
        counts = report.compared[aspect]
        of = [one for one in report.found if one.aspect is aspect]
        errors = sum(1 for one in of if one.diagnostic.severity is Severity.ERROR)
        words = [f"{errors} wrong"] if errors else []
        words += [f"{len(of) - errors} to look at"] if len(of) > errors else []
        if silent := report.unanswered.get(aspect):
            words.append(f"{plural(len(silent), 'switch')} without it")
        if not counts:
            words.append("not compared")
        elif not any(counts.values()) and not of:
            words.append("nothing planned")
        things = f"{sum(counts.values()):,} {_THINGS[aspect]}"
        yield aspect.value, f"{len(counts):,}", things, "; ".join(words) or "as planned"


def counter_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield each switch with a count above zero and its counts of each kind; the highest counts come first."""
    for name, sums in verify_switch.sum_counters(report.counters):
        if any(sums):
            yield name, *("not stated" if one is None else f"{one:,}" for one in sums)


def format_verdict(report: Report) -> str:
    """Return the result in one line."""
    errors = sum(1 for one in report.found if one.diagnostic.severity is Severity.ERROR)
    moves = sum(len(moves) for moves in report.moves)
    words = ["nothing was compared" if report.empty else "all compared facts are as planned"]
    words = [f"{errors:,} not as planned"] if errors else words
    words += (
        ["one move sets the cabling right" if moves == 1 else f"{moves:,} moves set the cabling right"]
        if moves
        else []
    )
    words += (
        [f"not or only partly read: {len(report.unread):,} of the {report.noun}"] if report.unread else []
    )
    return f"{report.tree}: {', '.join(words)}"


def list_remarks(report: Report) -> list[str]:
    """Return remarks about the comparison itself."""
    lines = f"unknown lines of running configurations, which are not compared: {report.unknown_lines:,}"
    return [*report.remarks, *([lines] if report.unknown_lines else [])]


def list_failures(report: Report) -> Iterator[str]:
    """Yield the reasons why switches, or aspects of them, could not be read."""
    for diagnostics in report.unread.values():
        yield from (one.message for one in diagnostics)


def list_remedies(report: Report) -> list[str]:
    """Return what to do about the switches that could not be read, each remedy once."""
    found = (one.help for diagnostics in report.unread.values() for one in diagnostics if one.help)
    return list(dict.fromkeys(found))


def parts(report: Report) -> Iterator[Part]:
    """Yield the parts of the printed report, with the first findings of each aspect."""
    yield Table("", ("compared", report.noun, "with", "result"), list(table_rows(report)))
    yield from _counter_parts(list(counter_rows(report)))
    for aspect in report.aspects:
        yield from _finding_lines(aspect, [one for one in report.found if one.aspect is aspect])
    if report.moves:
        yield from (Line(), Line("moves", "bold"))
        for number, move in enumerate((move for moves in report.moves for move in moves), 1):
            yield Line(f"  {number}. {move.words}")
    if report.unread:
        yield from (Line(), Line("not read", "bold"))
        for line in list(list_failures(report))[:_SHOWN]:
            yield Line(f"  {line}", "yellow")
        yield from (Line(f"  help: {line}", "dim") for line in list_remedies(report)[:_SHOWN])
    for line in list_remarks(report):
        yield from (Line(), Line(line, "dim"))
    yield from (Line(), Line(format_verdict(report), "bold"))


def _counter_parts(reported: list[tuple[str, ...]]) -> Iterator[Part]:
    if not reported:
        return
    yield Line()
    yield Table("", ("counted since it was cleared", *_KINDS), reported[:_SHOWN])
    if len(reported) > _SHOWN:
        yield Line(f"and {len(reported) - _SHOWN:,} more switches; --format json has them all")


def _finding_lines(aspect: Aspect, found: list[Deviation]) -> Iterator[Line]:
    if not found:
        return
    yield from (Line(), Line(aspect.value, "bold"))
    for one in found[:_SHOWN]:
        message = f"{one.diagnostic.message}{_format_position(one)}"
        yield Line(f"  {one.diagnostic.code} ", _COLORS[one.diagnostic.severity], message)
    if len(found) > _SHOWN:
        yield Line(f"  and {len(found) - _SHOWN:,} more; --format json has them all")


def _format_position(one: Deviation) -> str:
    position = one.diagnostic.position
    return f" ({position.file}:{position.line})" if position else ""


def as_markdown(report: Report) -> Markdown:
    """Return the report as Markdown, for a comment or a ticket."""
    lines = [
        Markdown("**{}**").format(format_verdict(report)),
        Markdown(),
        _markdown_row(("compared", report.noun, "with", "result")),
        Markdown("| --- | ---: | ---: | --- |"),
        *map(_markdown_row, table_rows(report)),
    ]
    if rows := list(counter_rows(report)):
        lines += [Markdown(), _markdown_row(("counted since it was cleared", *_KINDS))]
        lines += [
            Markdown("| --- |") + Markdown("").join([Markdown(" ---: |")] * len(_KINDS)),
            *map(_markdown_row, rows),
        ]
    if report.moves:
        lines += [Markdown(), Markdown("Moves, in this order:"), Markdown()]
        moves = (move for moves in report.moves for move in moves)
        lines += [Markdown("{}. {}").format(number, move.words) for number, move in enumerate(moves, 1)]
    if report.found:
        lines += [Markdown(), Markdown("| code | finding |"), Markdown("| --- | --- |")]
        lines += [
            _markdown_row((one.diagnostic.code, one.diagnostic.message + _format_position(one)))
            for one in report.found
        ]
    if report.unread:
        lines += [Markdown(), Markdown("Not queried:"), Markdown()]
        lines += [Markdown("- {}").format(line) for line in list_failures(report)]
        lines += [Markdown(), *(Markdown("{}").format(line) for line in list_remedies(report))]
    if remarks := list_remarks(report):
        lines += [Markdown(), *(Markdown("{}.").format(line) for line in remarks)]
    return Markdown("\n").join([*lines, Markdown()])


def _markdown_row(cells: Iterable[str]) -> Markdown:
    return Markdown("| {} |").format(Markdown(" | ").join(cells))


def as_json(report: Report) -> Rendered:
    """Return the whole report as JSON; `moves` has a list for each disturbance."""
    answer: dict[str, Any] = {
        "tree": report.tree,
        "exit_status": report.exit_status,
        "compared": {aspect.value: dict(report.compared[aspect]) for aspect in report.aspects},
        "cannot_tell": {aspect.value: list(names) for aspect, names in report.unanswered.items()},
        "findings": [
            {
                "aspect": one.aspect.value,
                "device": one.device,
                # Findings of devices are of whole lines.
                **{key: value for key, value in finding_entry(one.diagnostic).items() if key != "column"},
                **({"port_down": one.port_down} if one.port_down else {}),
            }
            for one in report.found
        ],
        "moves": [
            [
                {"act": move.act.value, "from": list(move.a), "to": list(move.b), "words": move.words}
                for move in moves
            ]
            for moves in report.moves
        ],
        "not_asked": {
            name: [{"code": one.code, "message": one.message} for one in diagnostics]
            for name, diagnostics in report.unread.items()
        },
        "counters": dict(report.counters),
        "unknown_lines": report.unknown_lines,
        "remarks": list(report.remarks),
    }
    return json_document(answer)


def as_junit(report: Report) -> Rendered:
    """Return JUnit XML: a suite for each aspect, a case for each switch, an error for a switch that was not read."""
    root = ElementTree.Element("testsuites", {"name": "fabricc verify"})
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for aspect in report.aspects:
        suite = ElementTree.SubElement(root, "testsuite", {"name": aspect.value})
        counts = dict.fromkeys(totals, 0)
        wrong = group_pairs((one.device, one) for one in report.found if one.aspect is aspect)
        silent = report.unanswered.get(aspect, ())
        names = dict.fromkeys((*report.compared[aspect], *wrong, *silent, *report.unread))
        for name in names:
            named = {"classname": f"fabricc.{aspect.value}", "name": name}
            case = ElementTree.SubElement(suite, "testcase", named)
            counts["tests"] += 1
            if judged := _add_result(case, report, aspect, name, wrong.get(name, [])):
                counts[judged] += 1
        for key, count in counts.items():
            suite.set(key, str(count))
            totals[key] += count
    for key, count in totals.items():
        root.set(key, str(count))
    return xml_document(root)


def _add_result(case: Any, report: Report, aspect: Aspect, name: str, wrong: list[Deviation]) -> str:
    """Add the result of one case; return the name of its count, "" for a case that passes."""
    errors = [one for one in wrong if one.diagnostic.severity is Severity.ERROR]
    text = "\n".join(
        f"{one.diagnostic.code}: {one.diagnostic.message}{_format_position(one)}" for one in wrong
    )
    if errors:
        first = errors[0].diagnostic
        SubElement(case, "failure", {"type": first.code, "message": first.message}).text = text
        return "failures"
    if name in report.unread and name not in report.compared[aspect]:
        first = report.unread[name][0]
        SubElement(case, "error", {"type": first.code, "message": first.message})
        return "errors"
    if name in report.unanswered.get(aspect, ()):
        SubElement(case, "skipped", {"message": "its driver does not report it"})
        return "skipped"
    if wrong:
        SubElement(case, "system-out").text = text
    return ""
