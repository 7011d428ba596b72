"""Files that `ibnetdiscover` wrote, compared with the subnets of a tree: which is which, and what differs."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.back.infiniband.discovery import compare_topologies, names_of
from fabricc.back.infiniband.sm_files import TOPOLOGY
from fabricc.back.infiniband.topology import read_topology
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.foreign.files import Folder, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from fabricc.back.infiniband.discovery import Difference
    from fabricc.back.infiniband.topology import ReadTopology

MAX_BYTES = 256 * 1024 * 1024
_TOLD = 200
"""The number of differences of one code that are listed; the others are counted."""
_HOW = "Write it with `ibnetdiscover --node-name-map /etc/opensm/node-name-map > FILE`."
_REMEDIES = {
    "FAB6330": "Plug the cable in, or see why the link is down: `ibstat`, `mlxlink`.",
    "FAB6331": "Take it out, or plan it.",
    "FAB6332": "Move the cables to the ports of plan/cabling.csv, and look again.",
    "FAB6333": "Reseat or replace the cable, and see what both ends may run at.",
    "FAB6334": "Correct the file of `infiniband.guids`, and build again: LIDs and partitions go by GUID.",
}


def compare_files(tree: Path, files: Sequence[Path]) -> list[Diagnostic]:
    """What differs between the subnets of a tree and what was found.

    Args:
        tree: what `build` wrote.
        files: output of `ibnetdiscover`, a file for each subnet that is to be looked at; each is compared with the
            subnet that it has most devices of.
    """
    expected = {}
    for path in sorted(tree.glob(f"subnets/*/{TOPOLOGY}")):
        with suppress(OSError), Folder(tree) as folder:
            text = folder.read(path.relative_to(tree).as_posix(), limit=MAX_BYTES)
            expected[path] = read_topology(text.decode(errors="replace"))
    if not expected:
        message = f"{tree} has no InfiniBand subnet to compare with"
        help_ = "Cables of Ethernet are compared by `fabricc verify`."
        return [Diagnostic("FAB6335", Severity.ERROR, message, None, help_)]
    return [each for file in files for each in _file_differences(expected, file)]


def _file_differences(expected: dict[Path, ReadTopology], file: Path) -> Iterator[Diagnostic]:
    try:
        found = read_topology(read(file, limit=MAX_BYTES).decode(errors="replace"))
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        yield Diagnostic("FAB6335", Severity.ERROR, message, None, _HOW)
        return
    shared = {path: len(names_of(planned, found)) for path, planned in expected.items()}
    subnet = max(shared, key=lambda path: shared[path])
    if not shared[subnet]:
        message = "no device of the plan is in this file, neither by GUID nor by name"
        yield Diagnostic("FAB6335", Severity.ERROR, message, Position(str(file), 1, 1), _HOW)
        return
    different = list(compare_topologies(expected[subnet], found))
    yield from _diagnostics_of(different, file, subnet)
    if not different:
        links = sum(len(node.ends) for node in expected[subnet].nodes.values()) // 2
        message = f"{file} is as planned: {shared[subnet]:,} devices, {links:,} links"
        yield Diagnostic("FAB6336", Severity.NOTE, message, Position(str(file), 1, 1))


def _diagnostics_of(different: Iterable[Difference], file: Path, subnet: Path) -> Iterator[Diagnostic]:
    seen: Counter[str] = Counter()
    for each in different:
        seen[each.code] += 1
        if seen[each.code] <= _TOLD:
            at = Position(str(file if each.found else subnet), max(1, each.line), 1)
            yield Diagnostic(each.code, _code_severity(each.code), each.message, at, _REMEDIES[each.code])
    for code, number in seen.items():
        if number > _TOLD:
            message = f"{number - _TOLD:,} more of this kind"
            yield Diagnostic(code, _code_severity(code), message, Position(str(file), 1, 1))


def _code_severity(code: str) -> Severity:
    """Return the severity; a link at another rate still carries traffic."""
    return Severity.WARNING if code == "FAB6333" else Severity.ERROR
