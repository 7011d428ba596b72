"""Tables of identities from outside, CSV files that the spec names: what switches and links are given, by line."""

from __future__ import annotations

import csv
import io
import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import clip, conflict_in
from fabricc.base.foreign import files
from fabricc.base.values import replace
from fabricc.front.spec.device_model import DeviceRow, LinkRow, ManagementRow
from fabricc.front.spec.document import cluster_schema
from fabricc.front.spec.semantics import PRIVATE_ASNS, TWO_BYTE_BASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

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
