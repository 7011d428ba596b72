"""Comments on ten changes that people make, word for word but the diffs; `UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.review.diff.markdown import FORGES, render
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.review.diff.model import Review
    from tests.review.diff.conftest import Bench

GOLDEN = Path(__file__).parent / "golden"
POD, ZONE = "superpod-b200-4su", "rack-zone-512"


def add_a_unit(bench: Bench) -> Review:
    base = bench.spec(POD, "base", ("hosts: 128", "hosts: 128\n  capacity: 160"), lock=False)
    write_lock(base)
    head = bench.spec(POD, "head", ("hosts: 128", "hosts: 160\n  capacity: 160"))
    (head.parent / "fabricc.lock").write_text((base.parent / "fabricc.lock").read_text("utf-8"), "utf-8")
    return compare_specs(base, head)


def write_lock(spec: Path) -> None:
    from fabricc.compiler.compiled import compile_spec

    (spec.parent / "fabricc.lock").write_text(compile_spec(spec).lock_text, "utf-8")


def change_a_cable_length(bench: Bench) -> Review:
    return bench.review(ZONE, ("length_m: 40", "length_m: 120"))


def change_the_lossless_dscp(bench: Bench) -> Review:
    return bench.review(POD, ("dscp: 26", "dscp: 34"))


def replace_the_spines(bench: Bench) -> Review:
    return bench.review(
        ZONE, ("7060dx5-64s", "7060x6-64pe"), ("nos: sonic-202411,", "nos: sonic-202411, uplink_gbps: 400,")
    )


def drain(bench: Bench) -> Review:
    return bench.review(ZONE, more="overrides: {spine03a: {drain: true}}\n")


def change_the_asns(bench: Bench) -> Review:
    return bench.review(ZONE, ("addressing:", "routing: {asn_base: 4210000000}\naddressing:"))


def upgrade(bench: Bench) -> Review:
    return bench.review(ZONE, ("sonic-202411", "sonic-202505"))


def reorder(bench: Bench) -> Review:
    text = "tors: {model: sn4700, nos: sonic-202411, oversubscription: 1.0}"
    return bench.review(ZONE, (text, "tors: {oversubscription: 1.0, nos: sonic-202411, model: sn4700}"))


def override_one_port(bench: Bench) -> Review:
    return bench.review(ZONE, more="overrides: {rack003-tor1a: {ports: {Ethernet0: {shutdown: true}}}}\n")


def remove_a_rack(bench: Bench) -> Review:
    def racks(without: int) -> str:
        names = (i for i in range(1, 33) if i != without)
        return "  racks:\n" + "".join(f"    r{i:02d}: [gpu{i:02d}a, gpu{i:02d}b]\n" for i in names)

    base = bench.spec(ZONE, "base", ("  racks: 32\n", racks(0)), lock=False)
    write_lock(base)
    head = bench.spec(ZONE, "head", ("  racks: 32\n", racks(7)))
    (head.parent / "fabricc.lock").write_text((base.parent / "fabricc.lock").read_text("utf-8"), "utf-8")
    return compare_specs(base, head)


CHANGES: list[Callable[[Bench], Review]] = [
    add_a_unit, change_a_cable_length, change_the_lossless_dscp, replace_the_spines, drain, change_the_asns, upgrade,
    reorder, override_one_port, remove_a_rack,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_comment_reads_as_it_should(bench: Bench, change: Callable[[Bench], Review]) -> None:
    review = change(bench)
    assert review.groups or not review.differs
    bare = replace(review, groups=tuple(replace(group, files=()) for group in review.groups))
    comment = render(bare, FORGES["github"]).replace(f"{bench.folder}/", "")
    golden = GOLDEN / f"{change.__name__}.md"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(comment, "utf-8")
    assert comment == golden.read_text("utf-8")
