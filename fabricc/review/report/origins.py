"""List the origins of the plan: defaults taken, exceptions of single devices, and findings with spec lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.shell import shell_path
from fabricc.base.numbers import is_number
from fabricc.review.report.values import Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.base.diagnostics import Diagnostic, Position
    from fabricc.front.spec.model import ClusterSpec

MOST_ROWS = 200
"""Findings or devices that the page lists one by one."""
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def findings_section(spec: ClusterSpec, found: Sequence[Diagnostic], folder: str) -> Section:
    """Return the section on findings, gravest first; file names are relative to `folder`."""
    if not found:
        return Section("findings", "Findings", "The plan has no findings.", ())
    ordered = sorted(found, key=lambda each: _ORDER.index(each.severity))
    rows = tuple(
        (each.severity.value, each.code, _without_folder(each.message, folder), _format_place(each.position, folder),
         _without_folder(each.help, folder))
        for each in ordered[:MOST_ROWS]
    )  # fmt: skip
    rest = len(ordered) - len(rows)
    lead = f"{count_findings(found)}. What a spec accepts with a reason is a note with the reason."
    note = f"{rest:,} more: `fabricc validate {shell_path(spec_name(spec))}` lists all." if rest else ""
    head = ("severity", "code", "what", "where", "remedy")
    table = Table("found", "Every finding", head, rows, codes=(1, 3), note=note, severity=True)
    return Section("findings", "Findings", lead, (table,))


def count_findings(found: Sequence[Diagnostic]) -> str:
    """Return the numbers of findings."""
    counted = [(sum(1 for each in found if each.severity is severity), severity.value) for severity in _ORDER]
    return ", ".join(plural(count, name) for count, name in counted if count) or "no findings"


def assumptions_section(spec: ClusterSpec, folder: str) -> Section:
    """Return the section on defaults and on devices that differ."""
    taken = tuple(
        (path, _format_value(value), _nearest_place(spec, path, folder))
        for path, value in spec.assumptions.items()
    )
    lead = f"{plural(len(taken), 'default')} taken where the spec has no value. Write the key to choose another one."
    tables = [Table("assumed", "Defaults taken", ("key", "value", "where it belongs"), taken, codes=(0, 1))]
    if spec.overrides:
        names = sorted(spec.overrides)
        rest = len(names) - MOST_ROWS
        rows = tuple(
            (
                name,
                ", ".join(_device_differences(spec, name)),
                _format_place(spec.position("overrides", name), folder),
            )
            for name in names[:MOST_ROWS]
        )
        note = f"{rest:,} more are in the spec under `overrides`." if rest > 0 else ""
        head = ("device", "what differs", "where")
        tables.append(Table("overrides", "Single devices", head, rows, (0, 2), note))
    return Section("assumptions", "Assumptions", lead, tuple(tables))


def _device_differences(spec: ClusterSpec, name: str) -> Iterator[str]:
    """Yield the deviations of a device, in words."""
    change = spec.overrides[name]
    if change.model:
        yield f"is a {change.model}"
    if change.nos:
        yield f"runs {change.nos.name} {change.nos.release or ''}".strip()
    if change.drain:
        yield "drained: announces its routes as last resort"
    if change.cable_m:
        yield f"cables of {change.cable_m} m"
    for port, other in change.ports.items():
        said = [f"{other.cable_m} m"] if other.cable_m else []
        said += [other.medium] if other.medium else []
        said += ["shut"] if other.shutdown else []
        yield f"{port}: {' '.join(said)}"


def _nearest_place(spec: ClusterSpec, path: str, folder: str) -> str:
    """Return the place of the innermost mapping in the spec to which the key would be added."""
    keys = tuple(int(key) if is_number(key) else key for key in path.split("."))
    if not any(keys[:length] in spec.positions for length in range(1, len(keys) + 1)):
        return "the top level" if len(keys) == 1 else f"a new section, {keys[0]}"
    return _format_place(spec.position(*keys), folder)


def _format_place(position: Position | None, folder: str) -> str:
    """Return file and line, the file relative to the spec's folder."""
    return f"{_without_folder(position.file, folder)}:{position.line}" if position else ""


def _without_folder(text: str, folder: str) -> str:
    """Return a text without the folder of the spec, which differs from machine to machine."""
    return text.replace(folder + "/", "") if folder not in ("", ".") else text


def spec_name(spec: ClusterSpec) -> str:
    """Return the spec's file without its folder."""
    return spec.file.rpartition("/")[2]


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
