"""Merge the results of the workers: digests, findings, link ends and table rows, whose text may come in any order.

Rows stay in memory while there are few, else in a file: those of 1,048,576 GPUs are as many bytes as all else that a
build holds.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from dataclasses import field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import csv_text
from fabricc.base.values import dataclass, replace
from fabricc.compiler.incremental.ledger import Ledger, Outline
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.compiler.write.device import Piece, TreeFiles, Work
from fabricc.compiler.write.fabric_rules import add_fabric_findings, add_neighbor_findings, locate_ends
from fabricc.compiler.write.workers import spread_work
from fabricc.front.planning.quality import list_worksheets
from fabricc.paperwork import plan_tables as tables
from fabricc.paperwork.plan_tables import (
    OUT_OF_BAND_ADDRESS_FILE,
    Fragments,
    out_of_band_address_text,
    out_of_band_tables,
)
from fabricc.proof.invariants.prefixes import endpoint_blocks
from fabricc.rules.census import Census
from fabricc.rules.planned_links import LinkComparison, broken_findings
from fabricc.tree import name_failures
from fabricc.tree.stage import Parts, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec
    from fabricc.proof.invariants.rules import Ratio
    from fabricc.rules.answers import Answers
    from fabricc.rules.records import Summary

_DETAILED = 200


@dataclass(slots=True)
class Outcome:
    """Runs the work over all pieces and keeps what they bring, in the fabric's order where order shows.

    Attributes:
        endpoints: a tree's table of out-of-band addresses; None for that of the plan.
        answers: which rules had their inputs -> number of switches, of existing files.
    """

    work: Work
    jobs: int
    endpoints: str | None = None
    written: TreeFiles = field(default_factory=TreeFiles)
    findings: FindingGroups = field(default_factory=FindingGroups)
    links: LinkComparison = field(default_factory=LinkComparison)
    census: Census = field(default_factory=Census)
    verified: dict[str, list[Diagnostic]] = field(default_factory=dict)
    answers: Counter[Answers] = field(default_factory=Counter)
    _rows: list[Fragments] = field(default_factory=list)
    _texts: list[Spool] = field(default_factory=list)
    _ends: list[list[bytes]] = field(default_factory=list)
    _hosts: list[list[bytes]] = field(default_factory=list)
    _summaries: list[dict[str, Summary]] = field(default_factory=list)
    _altered: dict[str, bytes] = field(default_factory=dict)

    def run(self, progress: Callable[[str, int, int], None] | None, what: str) -> None:
        """Run all pieces; the whole-fabric piece first, because it takes as long as many others."""
        pieces, whole = self.work.pieces, self.work.whole is not None
        total, done, count = sum(len(piece) for piece in pieces), 0, len(pieces) + whole
        self._rows = [Fragments() for _ in range(count)]
        folder = self.work.stage.target.parent if isinstance(self.work.stage, Stage) else None
        self._texts = [Spool(folder) for _ in tables.SIZED]
        self._ends = [[] for _ in range(count)]
        self._hosts = [[] for _ in range(count)]
        self._summaries = [{} for _ in range(count)]
        for turn, piece in spread_work(self.jobs, count, lambda turn: self.work((turn - whole) % count)):
            self._take_piece((turn - whole) % count, piece)
            done += piece.devices
            if progress:
                progress(what, done, total)
        summaries = {name: summary for each in self._summaries for name, summary in each.items()}
        add_fabric_findings(self.work, summaries, self.census, self.findings)
        add_neighbor_findings(self.work, self._altered, self.findings)

    def _take_piece(self, number: int, piece: Piece) -> None:
        self.written.join(piece.written)
        self.findings.merge(piece.findings)
        self.links.add(chain.from_iterable(piece.ends))
        self.census.add(piece.survey)
        self.verified |= piece.verified
        self.answers += piece.answers
        self._altered |= piece.altered
        for kept, text in zip(self._texts, piece.rows.texts, strict=False):  # the whole has none
            kept.put(number, text)
        self._rows[number] = replace(piece.rows, texts=())
        self._ends[number] = [
            _content_digest("\n".join([end.text() for end in ends]).encode()) for ends in piece.ends
        ]
        self._summaries[number] = piece.summaries
        self._hosts[number] = [_content_digest(repr(host).encode()) for host in piece.survey.hosts]

    def ledger(self, of: Outline) -> Ledger:
        """Return every device's contribution for the next build; `of` is the outline of the fabric.

        Where all switches state what is planned, VRFs and segments agree by the plan, and are no part of it: a host
        that moves to another tenant changes them on its ToRs alone.
        """
        rows, planned = self._rows, not self._altered and not self.work.fabric.overlays
        return Ledger(
            of,
            [size for each in rows for size in each.sizes],
            [digest for each in self._ends for digest in each],
            [digest for each in self._hosts for digest in each],
            [
                _content_digest(repr(_without_tenants(summary) if planned else summary).encode())
                for each in self._summaries
                for summary in each.values()
            ],
            [share for each in rows for share in each.shares],
            self.census.compact_census(),
        )

    def rows(self, table: int) -> Iterator[bytes]:
        """Yield the rows of each piece's devices in one of `tables.SIZED`, in order."""
        return self._texts[table].parts()

    def diagnostics(self, tree: str, declared: Mapping[int, Ratio]) -> list[Diagnostic]:
        """Return all findings.

        Args:
            tree: the folder of the files.
            declared: tier -> oversubscription that the spec declares.
        """
        self._compare_links()
        if self.work.check:
            fabric = self.work.fabric
            text = out_of_band_address_text(fabric) if self.endpoints is None else self.endpoints
            file = f"{plan_folder(fabric)}/{OUT_OF_BAND_ADDRESS_FILE}"
            self.census.endpoints = list(endpoint_blocks(text, file))
            counts, wired = fabric.counts(), fabric.wired()
            self.findings.add(self.census.findings(counts, wired, fabric.groups(), declared))
        return list(self.findings.diagnostics(tree))

    def among_themselves(self, tree: str) -> list[Diagnostic]:
        """Return the findings about devices and links, without those about the whole fabric; see `diagnostics`."""
        self.links.waiting.clear()
        self._compare_links()
        return list(self.findings.diagnostics(tree))

    def _compare_links(self) -> None:
        """Add the disagreements of links, a bounded number in full."""
        if wrong := self.links.wrong_ends(_DETAILED):
            self.findings.add(broken_findings(locate_ends(self.work, wrong)))

    def tables(self) -> list[tuple[str, Parts]]:
        """Return path and content of the tables whose rows came from the workers."""
        fabric = self.work.fabric
        first = fabric.switch(next(iter(fabric.switch_ids())))
        shares = [share for rows in self._rows for share in rows.shares]
        found: dict[str, Parts] = {
            "classes": partial(_encode_text, csv_text([tables.CLASSES, *tables.class_rows(first)])),
            "qos": partial(_encode_text, tables.qos_text(shares)),
        }
        for (name, header), rows in zip(tables.SIZED, self._texts, strict=True):
            found[name] = partial(_render_table, csv_text([header]), rows)
        return [(f"{plan_folder(fabric)}/{name}.csv", parts) for name, parts in sorted(found.items())]


def _encode_text(text: str) -> Iterator[bytes]:
    yield text.encode()


def _render_table(header: str, rows: Spool) -> Iterator[bytes]:
    yield header.encode()
    yield from rows.parts()


def plan_texts(spec: ClusterSpec, fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files under `plan/` that belong to no device."""
    summary = tables.fabric_summary(fabric, spec.assumptions)
    sheets = list_worksheets(spec, fabric)
    folder = plan_folder(fabric)
    yield f"{folder}/fabric.json", tables.format_json(summary)
    yield f"{folder}/worksheet.csv", csv_text([tables.WORKSHEET, *tables.worksheet_rows(sheets)])
    yield f"{folder}/worksheet.json", tables.format_json(tables.worksheet_summary(sheets))
    for name, text in out_of_band_tables(fabric):
        yield f"{folder}/{name}", text


def plan_folder(fabric: Fabric) -> str:
    """Return the folder of a network's tables."""
    return f"plan/{fabric.network}" if fabric.network else "plan"


def _without_tenants(summary: Summary) -> Summary:
    return summary._replace(segments=(), overlay=None, distinguishers=())


def _content_digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=8).digest()


_IN_MEMORY = 64 << 20  # bytes


class Spool:
    """The pieces of one text; `folder` is where its nameless file is made, None for the usual place of such."""

    def __init__(self, folder: Path | None) -> None:
        place = None if folder is None else str(folder)
        self._folder = place or tempfile.gettempdir()
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=place)  # noqa: SIM115 - closed with the spool
        self._places: dict[int, tuple[int, int]] = {}
        self._end = 0

    def put(self, number: int, text: str) -> None:
        """Store one piece.

        Raises:
            OSError: there is no room for it.
        """
        content = text.encode()
        with name_failures(self._folder):
            self._file.write(content)
        self._places[number] = self._end, len(content)
        self._end += len(content)

    def parts(self) -> Iterator[bytes]:
        """Yield the pieces in order of their numbers; no more are stored after this.

        Raises:
            OSError: they cannot be read.
        """
        for _, (at, size) in sorted(self._places.items()):
            self._file.seek(at)
            yield self._file.read(size)
