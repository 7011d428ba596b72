"""The page as a file: well-formed, closed to everything outside, the same on every machine, and escaped throughout."""

from __future__ import annotations

import base64
import hashlib
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.cli.entry import run
from fabricc.review.report.page import is_report, render_report
from tests.effort import scale_examples
from tests.review.report.conftest import INVENTORIES, ROOT, run_command
from tests.review.report.reading import Page, parse_number
from tests.review.report.specs import CORES, SMALL, front_of, lab_spec, two_ports

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from tests.review.report.conftest import Planned

HOSTILE = "<script>alert(1)</script><b title='x\" onload=\"y'>&amp;</b>"


def test_every_tag_is_closed_and_every_link_has_its_target(both: Planned) -> None:
    page = both.page
    assert len(page.ids) == len(set(page.ids))
    for name, value in page.loads:
        assert value == "data:," or (name == "href" and value[1:] in page.ids), (name, value)
    assert page.handlers == []


def test_the_policy_allows_the_one_style_and_the_one_script_and_nothing_else(both: Planned) -> None:
    rules = dict(rule.split(" ", 1) for rule in both.page.policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for block in ("style", "script"):
        (text,) = both.page.blocks[block]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{block}-src"] == f"'sha256-{digest}'"


def test_the_same_spec_gives_the_same_bytes_wherever_it_lies(both: Planned, tmp_path: Path) -> None:
    folder = tmp_path / "another place"
    shutil.copytree(both.spec.parent, folder)
    status, html_ = run_command("report", str(folder / "cluster.yaml"), "-o", "-")
    assert (status, html_) == (0, both.html)
    assert str(tmp_path) not in html_
    assert str(both.spec.parent) not in both.html


def test_user_names_are_escaped(tmp_path: Path) -> None:
    front = front_of(tmp_path, SMALL["single links"])
    fabric, spec = front.fabric, front.spec
    assert fabric is not None
    assert spec is not None
    units = {
        at: replace(unit, name=HOSTILE, hosts=dict.fromkeys(unit.hosts, HOSTILE))
        for at, unit in fabric.units.items()
    }
    found = tuple(replace(each, message=HOSTILE, help=HOSTILE) for each in front.diagnostics)
    named = replace(fabric, cluster=HOSTILE, units=units)
    page = Page(render_report(replace(front, planned=named, diagnostics=found)))
    assert page.blocks["h1"] == [HOSTILE]
    assert len(page.blocks["script"]) == 1
    assert page.handlers == []
    assert HOSTILE in page.tables["found"].rows[0]


def test_reasons_and_titles_of_the_users_own_are_escaped(tmp_path: Path) -> None:
    reason = "<img src=x onerror=alert(1)> & \"quoted\" 'both'"
    text = SMALL["single links"].replace("a lab of namespaces", f'"{reason}"'.replace('\\"', ""), 1)
    text = text.replace(f'"{reason}"', "'" + reason.replace("'", "''") + "'")
    page = Page(render_report(front_of(tmp_path, text)))
    assert any(reason in row[4] for row in page.tables["found"].rows)
    assert not [value for name, value in page.loads if name == "src"]


NAMES = st.text("<>&\"'`{}%#;/ab é😀", min_size=1, max_size=70)
FABRICS = st.one_of(
    st.builds(
        lambda units, per_unit, links, spines: lab_spec(units * per_unit, per_unit, links * spines, spines),
        st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, 2]), st.sampled_from([1, 2, 4]),
    ),
    st.builds(
        lambda units, per_unit, planes, wiring: two_ports(units * per_unit, per_unit, planes, wiring),
        st.integers(1, 4), st.integers(1, 8), st.sampled_from([1, 2]), st.sampled_from(["rail", "rack"]),
    ),
    st.builds(
        lambda units, pod: lab_spec(2 * units, 2, 2, 2, f", units_per_pod: {pod}, uplinks: 4") + CORES,
        st.integers(1, 8), st.integers(1, 3),
    ),
)  # fmt: skip


@settings(max_examples=scale_examples(25))
@given(text=FABRICS, name=NAMES)
def test_any_fabric_and_any_name_gives_a_page_and_the_same_one_twice(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    front = front_of(tmp_path_factory.getbasetemp() / "any", text)
    fabric = front.fabric
    assert fabric is not None
    renamed = {at: replace(unit, name=f"{name}{at}") for at, unit in fabric.units.items()}
    front = replace(front, planned=replace(fabric, cluster=name, units=renamed))
    first = render_report(front)
    assert render_report(front) == first
    page = Page(first)
    assert "".join(page.blocks["h1"]) == name
    shown = sum(parse_number(count) for count in page.tables["cabling"].column("cables"))
    counts = fabric.counts()
    assert shown == counts["host_cables"] + counts["spine_cables"] + counts["core_cables"]


def bench_spec(gpus: int) -> str:
    """Rails of 400 Gb/s below three tiers of 64-port 800G switches."""
    switch = "{model: sn5600, nos: sonic-202505}"
    return (
        f"cluster: large\ngpus: {{model: dgx-h100, hosts: {gpus // 8}, hosts_per_unit: 64}}\n"
        f"tors: {switch}\nspines: {switch}\ncores: {switch}\nmanagement: {{network: 172.16.0.0/12}}\n"
        "priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}\n"
    )


def rows_but_findings(page: str) -> int:
    return sum(len(table.rows) for name, table in Page(page).tables.items() if name != "found")


def test_a_page_grows_with_kinds_and_not_with_devices(tmp_path: Path) -> None:
    small, large = (render_report(front_of(tmp_path, bench_spec(gpus))) for gpus in (24_576, 131_072))
    assert len(large.encode()) < len(small.encode()) * 1.05 < 1_000_000
    assert rows_but_findings(large) == rows_but_findings(small)


@pytest.mark.slow
def test_many_devices_with_cables_of_their_own_stay_readable(tmp_path: Path) -> None:
    """Each has worksheets and switches of its own kind; the page has some and names the place of the rest."""
    changes = "".join(f"  su{u + 1:03d}-tor1a: {{cable_m: {50 + u}}}\n" for u in range(40))
    text = (
        lab_spec(40, 1, 1, 1)
        .replace("linux-16x100, nos: frr", "7816r3, nos: eos")
        .replace("lab-host", "dgx-h100")
    )
    front = front_of(tmp_path, f"{text}overrides:\n{changes}")
    page = Page(render_report(front))
    sheets = [name for name in page.tables if name.startswith("worksheet")]
    assert len(sheets) == 24
    assert "more kinds are in build/lab/plan/worksheet.csv" in "".join(page.text)
    assert len(page.tables["overrides"].rows) == 40


@pytest.fixture(scope="module")
def infiniband(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    text = (ROOT / "inventories" / "quantum2-512" / "cluster.yaml").read_text()
    return front_of(tmp_path_factory.mktemp("ib"), text)


def test_an_infiniband_fabric_has_what_applies_to_it(infiniband: Compiled) -> None:
    page = Page(render_report(infiniband))
    assert {
        "tiers",
        "losses",
        "cabling",
        "lids",
        "rates",
        "routing",
        "classes",
        "partitions",
        "ipoib",
    } <= set(page.tables)
    assert not {"pools", "asns", "profiles", "worksheet1", "hosts"} & set(page.tables)
    assert "hashed evenly" not in "".join(page.text)
    cables = sum(parse_number(count) for count in page.tables["cabling"].column("cables"))
    counts = infiniband.infiniband.counts()  # type: ignore[union-attr]
    assert cables == counts["host_cables"] + counts["spine_cables"]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "inventories" / INVENTORIES[0], tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "repo" / "cluster.yaml"


def test_the_command_writes_one_file_and_leaves_the_lock(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (spec.parent / "fabricc.lock").unlink()
    assert run(["report", "cluster.yaml"]) == 0
    assert sorted(path.name for path in spec.parent.iterdir()) == ["cluster.yaml", "report.html"]
    written = spec.with_name("report.html")
    assert is_report(written.read_bytes()[:4096])
    assert "There is no lock yet" in "".join(Page(written.read_text()).text)
    before = written.stat()
    assert run(["report", "cluster.yaml"]) == 0
    assert (written.stat().st_ino, written.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert "as it was" in capsys.readouterr().out


def test_a_file_that_is_no_report_is_not_replaced(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = spec.read_bytes()
    assert run(["report", "cluster.yaml", "-o", "cluster.yaml"]) == 1
    assert "FAB9301" in capsys.readouterr().err
    assert spec.read_bytes() == before


def test_unwritable_report_is_an_error(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "cluster.yaml", "-o", "missing/report.html"]) == 3
    assert "FAB7001" in capsys.readouterr().err
    assert run(["report", "cluster.yaml", "-o", "."]) == 2
    assert "names no file" in capsys.readouterr().err
    assert not list(spec.parent.glob(".*new"))


def test_a_spec_with_errors_has_no_report(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text(spec.read_text().replace("count: 2", "count: 3"))
    assert run(["report", "cluster.yaml"]) == 1
    assert "FAB3008" in capsys.readouterr().err
    assert not (spec.parent / "report.html").exists()
