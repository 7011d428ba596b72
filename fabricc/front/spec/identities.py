"""Identities that a spec gives from outside: CSV tables by line, and what is moved, replaced or retired."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import clip, conflict_in
from fabricc.base.foreign import files
from fabricc.base.values import dataclass, replace
from fabricc.front.spec.device_model import DeviceRow, LinkRow, ManagementRow, Replacement
from fabricc.front.spec.document import cluster_schema
from fabricc.front.spec.semantics import PRIVATE_ASNS, TWO_BYTE_BASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.base.documents.document import KeyPath
    from fabricc.front.spec.document import Findings
    from fabricc.front.spec.model import ClusterSpec


T = TypeVar("T")
DEVICES = (
    "device", "name", "asn", "loopback4", "loopback6", "management", "hosts4", "hosts6", "rack", "unit", "height",
)  # fmt: skip
LINKS = ("a_device", "a_port", "b_device", "b_port", "a_ipv4", "b_ipv4", "a_ipv6", "b_ipv6")
MANAGEMENT = ("device", "port", "address")
_PLACE = ("rack", "unit", "height")
_PREFIX = "its first address and length"
_LARGEST = 16 * 1024 * 1024
_LAST_TWO_BYTE = 65_534


class Line(NamedTuple):
    """A line of a table: its cells by column, and the place of each."""

    cells: Mapping[str, str]
    positions: Mapping[str, Position]

    @property
    def start(self) -> Position:
        """Return its first cell."""
        return next(iter(self.positions.values()))


class Table(NamedTuple):
    """The lines of a table, what is wrong with it, and its text."""

    lines: tuple[Line, ...]
    findings: tuple[Diagnostic, ...]
    text: str


def with_identities(spec: ClusterSpec, folder: Path) -> tuple[ClusterSpec, list[Diagnostic], dict[str, str]]:
    """Return the spec, and those of its further networks, with what their tables give; findings; file -> text."""
    findings: list[Diagnostic] = []
    sources: dict[str, str] = {}

    def fill_row(each: ClusterSpec) -> ClusterSpec:
        if not each.identities:
            return each
        devices = _read_table(each, folder, "devices", DEVICES, DEVICES[:1], findings, sources)
        links = _read_table(each, folder, "links", LINKS, LINKS[:4], findings, sources)
        management = _read_table(each, folder, "management", MANAGEMENT, MANAGEMENT[:2], findings, sources)
        return replace(
            each,
            given_devices=tuple(_read_devices(devices, findings)),
            given_links=tuple(_read_links(links, findings)),
            given_management=tuple(_read_management(management, findings)),
            given_racks={
                line.cells.get("name", line.cells["device"]): line.cells["rack"]
                for line in devices
                if {"device", "rack"} <= line.cells.keys()
            },
        )

    whole = fill_row(spec)
    if spec.networks:
        whole = replace(whole, networks={name: fill_row(each) for name, each in spec.networks.items()})
    return whole, findings, sources


def _read_table(
    spec: ClusterSpec,
    folder: Path,
    key: str,
    columns: tuple[str, ...],
    needed: tuple[str, ...],
    findings: list[Diagnostic],
    sources: dict[str, str],
) -> tuple[Line, ...]:
    if (name := spec.identities.get(key)) is None:
        return ()
    table = read_table(folder / name, columns, needed, spec.position("identities", key), folder)
    findings += table.findings
    sources[str(folder / name)] = table.text
    return table.lines


def read_table(
    path: Path, columns: tuple[str, ...], needed: tuple[str, ...], named_at: Position, folder: Path
) -> Table:
    """Return the lines of a CSV file whose first line names its columns, some of which it needs.

    Args:
        path: the file.
        columns: names that columns may have.
        needed: those that it must have.
        named_at: where the spec names the file.
        folder: that of the spec, out of which no link may lead.
    """
    try:
        text = files.read(path, root=files.root_below(folder, path), limit=_LARGEST).decode("utf-8-sig")
        if (conflict := conflict_in(text, str(path))) is not None:
            return Table((), (conflict,), text)
        rows = list(_read_rows(text))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is no CSV in UTF-8"
        message = f"the table {path} cannot be read: {reason}"
        return Table(
            (), (_error_at("FAB2145", message, named_at, "Its path counts from the spec's folder."),), ""
        )
    head = [word.strip().lower() for word in rows[0][1]] if rows else []
    unknown = [word for word in head if word not in columns]
    if unknown or len(set(head)) != len(head) or not set(needed) <= set(head) or len(head) == len(needed):
        message = "the first line does not name the columns" + (f": {clip(unknown[0])!r}" if unknown else "")
        help_ = f"It has {', '.join(needed)}, and any of {', '.join(columns[len(needed) :])}."
        return Table((), (_error_at("FAB2146", message, Position(str(path), 1, 1), help_),), text)
    lines = []
    for number, row in rows[1:]:
        if not any(row):
            continue
        column, positions = 1, {}
        for word, cell in zip(head, row, strict=False):
            positions[word] = Position(str(path), number, column)
            column += len(cell) + 1
        cells = {word: cell.strip() for word, cell in zip(head, row, strict=False) if cell.strip()}
        lines.append(Line(cells, positions))
    return Table(tuple(lines), (), text)


def _read_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for row in reader:
        yield reader.line_num, row


def _read_devices(lines: tuple[Line, ...], findings: list[Diagnostic]) -> Iterator[DeviceRow]:
    first: dict[str, Line] = {}
    for line in lines:
        device = line.cells.get("device", "")
        if (other := first.setdefault(device, line)) is not line or not device:
            earlier = f"{clip(device)} is defined in line {other.start.line} already"
            reason = earlier if device else "no device is named"
            findings.append(_error_at("FAB2148", reason, line.start, "Give each device one line."))
            continue
        read = _Cells(line, findings)
        row = DeviceRow(
            device,
            name=read.of("name", _parse_name, f"a name: {_NAME['patternErrorMessage']}"),
            asn=read.of("asn", _parse_asn, f"a private ASN: {_ASNS}"),
            loopback4=read.of("loopback4", _parse_ipv4, "an IPv4 address"),
            loopback6=read.of("loopback6", _parse_ipv6, "an IPv6 address"),
            management=read.of("management", _parse_address, "an address"),
            hosts4=read.of("hosts4", IPv4Network, f"an IPv4 prefix: such as 10.1.0.0/24, {_PREFIX}"),
            hosts6=read.of("hosts6", IPv6Network, f"an IPv6 prefix: such as 2001:db8::/120, {_PREFIX}"),
            positions=line.positions,
        )
        if line.cells.keys() - {"device", *_PLACE}:
            yield row


def _read_links(lines: tuple[Line, ...], findings: list[Diagnostic]) -> Iterator[LinkRow]:
    for line in lines:
        read = _Cells(line, findings)
        ends4 = (
            read.of("a_ipv4", _parse_ipv4, "an IPv4 address"),
            read.of("b_ipv4", _parse_ipv4, "an IPv4 address"),
        )
        ends6 = (
            read.of("a_ipv6", _parse_ipv6, "an IPv6 address"),
            read.of("b_ipv6", _parse_ipv6, "an IPv6 address"),
        )
        a, b = ((line.cells.get(f"{end}_device", ""), line.cells.get(f"{end}_port", "")) for end in "ab")
        yield LinkRow(a, b, ends4, ends6, line.positions)


def _read_management(lines: tuple[Line, ...], findings: list[Diagnostic]) -> Iterator[ManagementRow]:
    first: dict[tuple[str, str], Line] = {}
    for line in lines:
        whose = line.cells.get("device", ""), line.cells.get("port", "")
        if (other := first.setdefault(whose, line)) is not line:
            message = f"{clip(' '.join(whose))} is defined in line {other.start.line} already"
            findings.append(_error_at("FAB2148", message, line.start, "Give each port one line."))
            continue
        address = _Cells(line, findings).of("address", _parse_ipv4, "an IPv4 address")
        if address is not None:
            yield ManagementRow(*whose, address, line.positions)


class _Cells:
    """The cells of a line as values; one that is none is a finding and counts as empty."""

    def __init__(self, line: Line, findings: list[Diagnostic]) -> None:
        self.line = line
        self.findings = findings

    def of(self, column: str, value: Callable[[str], T], expected: str) -> T | None:
        text = self.line.cells.get(column)
        if text is None:
            return None
        try:
            return value(text)
        except ValueError:
            message = f"{column} {clip(text)!r} is not {expected.partition(':')[0]}"
            help_ = f"Write {expected}, or leave it empty for the computed one."
            self.findings.append(_error_at("FAB2147", message, self.line.positions[column], help_))
            return None


_NAME = cluster_schema()["$defs"]["name"]
_ASNS = f"{TWO_BYTE_BASES[0]} to {_LAST_TWO_BYTE}, or {PRIVATE_ASNS[0]} to {PRIVATE_ASNS[1]} (RFC 6996)"


def _parse_name(text: str) -> str:
    if not re.fullmatch(_NAME["pattern"], text):
        raise ValueError(text)
    return text


def _parse_asn(text: str) -> int:
    number = int(text) if re.fullmatch(r"[0-9]{1,10}", text) else 0
    if not (TWO_BYTE_BASES[0] <= number <= _LAST_TWO_BYTE or PRIVATE_ASNS[0] <= number <= PRIVATE_ASNS[1]):
        raise ValueError(text)
    return number


def _parse_address(text: str) -> IPv4Address | IPv6Address:
    return _parse_ipv6(text) if ":" in text else _parse_ipv4(text)


def _parse_ipv4(text: str) -> IPv4Address:
    return IPv4Address(text.partition("/")[0])


def _parse_ipv6(text: str) -> IPv6Address:
    address = IPv6Address(text.partition("/")[0])
    if address.scope_id is not None:
        raise ValueError(text)
    return address


def _error_at(code: str, message: str, at: Position, help: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, at, help)


KINDS = {"networks": "network", "groups": "host group", "racks": "rack", "hosts": "host", "parties": "party",
         "tenants": "tenant"}  # fmt: skip
"""Kinds of things that the spec names, as `Kinds` has them -> in words."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Former name -> present name, by the kind of thing; `devices` are named by the plan and not by the spec."""

    networks: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    racks: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    parties: Mapping[str, str] = field(default_factory=dict)
    tenants: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)


def build_replaced(raw: Mapping[str, Any]) -> dict[str, Replacement]:
    """Return the section as values."""
    return {
        name: Replacement(part.get("by", name), part.get("serial", "")) for name, part in sorted(raw.items())
    }


def check_moves(
    moved: Mapping[str, str], replaced: Mapping[str, Replacement], retired: Iterable[str], findings: Findings
) -> None:
    """Check that every name has one successor, and that no two become one (FAB3400, FAB3405)."""
    stated: list[tuple[str, str, KeyPath]] = [(old, new, ("moved", old)) for old, new in moved.items()]
    stated += [(old, new.by, ("replaced", old)) for old, new in replaced.items()]
    stated += [(old, "", ("retired", index)) for index, old in enumerate(retired)]
    olds: dict[str, KeyPath] = {}
    news: dict[str, str] = {}
    for old, new, path in stated:
        if old in olds:
            message = f"'{old}' is {olds[old][0]} and {path[0]}"
            findings.error("FAB3405", message, *path, help="Keep one of the two entries.")
            continue
        olds[old] = path
        if new and news.setdefault(new, old) != old:
            message = f"'{old}' and '{news[new]}' become '{new}'"
            findings.error("FAB3400", message, *path, help="Keep the entry of the one that it was last.")
    for old, new, path in stated:
        if new and new != old and new in olds:
            message = f"'{old}' becomes '{new}', which {olds[new][0]} has as well"
            help_ = "Write the built name and the new name in one step, and remove entries that are already built."
            findings.error("FAB3400", message, *path, help=help_)
        elif path[0] == "moved" and new == old:
            findings.error("FAB3400", f"'{old}' becomes itself", *path, help="Leave it out.")


def list_renames(spec: ClusterSpec) -> dict[str, str]:
    """Return every former name that the spec gives -> the present one, of what moved and of what was replaced."""
    return {**spec.moved, **{old: new.by for old, new in spec.replaced.items() if new.by != old}}


def path_of(spec: ClusterSpec, old: str) -> KeyPath:
    """Return the path of a former name in the spec."""
    return ("moved", old) if old in spec.moved else ("replaced", old)


def names_of(spec: ClusterSpec) -> dict[str, frozenset[str]]:
    """Return the names that the spec gives, by kind."""
    groups = tuple(group for each in (spec, *spec.networks.values()) for group in each.gpus.groups)
    return {
        "networks": frozenset(spec.networks),
        "groups": frozenset(group.name for group in groups),
        "racks": frozenset(rack for group in groups for rack in (*group.racks, *group.rack_of.values())),
        "hosts": frozenset(
            host
            for group in groups
            for host in (*group.host_names, *(each for hosts in group.racks.values() for each in hosts))
        ),
        "parties": frozenset(
            party.name for each in (spec, *spec.networks.values()) for party in each.external
        ),
        "tenants": frozenset(each.name for each in spec.tenants),
    }


def kinds_of(spec: ClusterSpec) -> Kinds:
    """Return the kind of each renamed thing: what the spec has under the new name, and not under the old one."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in (*KINDS, "devices")}
    names = names_of(spec) if spec.moved or spec.replaced else {}
    for old, new in list_renames(spec).items():
        kind = next(fitting_kinds(names, old, new), "devices")
        found[kind][old] = new
    found["hosts"] |= {
        old + host.removeprefix(new): host
        for old, new in found["racks"].items()
        for group in spec.gpus.groups
        for host, rack in group.rack_of.items()
        if rack == new
        and host.startswith(f"{new}-host")
        and old + host.removeprefix(new) not in list_renames(spec)
    }
    return Kinds(**found)


def fitting_kinds(names: Mapping[str, frozenset[str]], old: str, new: str) -> Iterator[str]:
    """Yield the kinds of things that have the new name and not the old one."""
    return (kind for kind, known in names.items() if new in known and old not in known)
