"""The command line: streams, formats, exit statuses, and no traceback for anything."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.catalog import library, load
from fabricc.cli.entry import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ROOT = Path(__file__).parents[2]


def run_fabricc(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabricc", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_help_names_every_verb_and_is_quick() -> None:
    begin = os.times()
    ran = run_fabricc("--help")
    end = os.times()
    assert end.children_user + end.children_system - begin.children_user - begin.children_system < 0.5
    assert ran.returncode == 0
    assert all(verb in ran.stdout for verb in VERBS)


def test_help_loads_nothing_heavy() -> None:
    script = "import sys; from fabricc.cli.entry import run; run(['--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert not loaded & {
        "yaml",
        "rich",
        "netaddr",
        "jinja2",
        "jsonschema",
        "napalm",
        "fabricc.front.planning",
    }


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(fabricc: Fabricc, verb: str) -> None:
    assert fabricc(verb, "--help").status == 0


@pytest.mark.parametrize(
    "arguments",
    [["biuld"], ["build"], ["build", "a", "--frozen", "--repin"], ["plan", "x", "--format", "xml"]],
)
def test_bad_usage_is_2(fabricc: Fabricc, arguments: list[str]) -> None:
    ran = fabricc(*arguments)
    assert ran.status == 2
    assert "Usage" in ran.err or "Error" in ran.err


def test_a_mistyped_verb_is_answered_with_the_nearest(fabricc: Fabricc) -> None:
    assert "Did you mean 'validate'?" in fabricc("valdiate").err


@pytest.mark.slow
def test_init_builds_as_it_stands(tmp_path: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fabricc("init", "repo").status == 0
    monkeypatch.chdir(tmp_path / "repo")
    valid = fabricc("validate", "cluster.yaml")
    assert (valid.status, valid.out, valid.err) == (0, "cluster.yaml: valid, no findings\n", "")
    assert fabricc("plan", "cluster.yaml").err == ""
    assert fabricc("build", "cluster.yaml").status == 0
    assert fabricc("plan", "cluster.yaml").err == "", "there is room for more, and it is pinned"
    assert fabricc("build", "cluster.yaml", "--frozen").status == 0
    again = fabricc("init")
    assert (again.status, "FAB7011" in again.err) == (1, True)


def test_the_spec_of_the_readme_has_no_findings(tmp_path: Path, fabricc: Fabricc) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text((ROOT / "README.md").read_text("utf-8").split("```yaml\n")[1].split("```")[0], "utf-8")
    assert fabricc("validate", str(spec)).out == f"{spec}: valid, no findings\n"


def test_the_commands_of_the_readme_name_the_tree_of_the_spec_that_init_writes() -> None:
    used = (ROOT / "README.md").read_text("utf-8").partition("## Use it")[2].partition("```\n\n")[0]
    starter = (ROOT / "fabricc/cli/starter/cluster.yaml").read_text("utf-8")
    (cluster,) = re.findall(r"^cluster: (\S+)", starter, re.MULTILINE)
    assert set(re.findall(r"\bbuild/([\w-]+)", used)) == {cluster}
    assert set(re.findall(r"^fabricc (\S+)", used, re.MULTILINE)) <= VERBS.keys()


def test_a_sample_of_init_pins_nothing_until_it_is_built(
    tmp_path: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "fabricc.lock" not in fabricc("init", str(tmp_path / "repo")).out.splitlines()[0]
    monkeypatch.chdir(tmp_path / "repo")
    spec = Path("cluster.yaml")
    assert not Path("fabricc.lock").exists()
    frozen = fabricc("lock", "--check", "cluster.yaml")
    assert (frozen.status, "FAB3900" in frozen.err) == (1, True)
    assert "nothing is deployed from this spec yet" in frozen.err
    assert "Run `fabricc build cluster.yaml`" in frozen.err
    assert "no number is pinned yet" in fabricc("plan", "cluster.yaml").out
    spec.write_text(spec.read_text("utf-8").replace("hosts: 64", "hosts: 128"), "utf-8")
    assert fabricc("validate", "cluster.yaml").status == 0
    assert fabricc("lock", "cluster.yaml").status == 0
    assert "no number is pinned yet" not in fabricc("plan", "cluster.yaml").out


def test_validate_separates_results_from_findings(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("validate", "cluster.yaml")
    assert ran.status == 0
    assert ran.out.startswith("cluster.yaml: valid, ")
    (repo / "cluster.yaml").write_text("cluster: lab\ngpu: 3\n")
    ran = fabricc("validate", "cluster.yaml")
    assert ran.status == 1
    assert "cluster.yaml:2:1" in ran.err
    assert "gpus" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["json", "sarif"])
@pytest.mark.parametrize("verb", ["validate", "build"])
def test_machine_formats_are_alone_on_standard_output(
    repo: Path, fabricc: Fabricc, verb: str, format_: str
) -> None:
    json.loads(fabricc(verb, "cluster.yaml", "--format", format_).out)
    (repo / "cluster.yaml").write_text("cluster: 7\n")
    ran = fabricc(verb, "cluster.yaml", "--format", format_)
    assert ran.status == 1
    json.loads(ran.out)


FAILING = {
    "push nope": "FAB6013",
    "verify nope": "FAB6013",
    "migrate nope nope": "FAB0001",
    "upgrade nope --to sonic-202505": "FAB0001",
    "maintain tor01 nope --window 1h": "FAB0001",
    "diff nope nope": "FAB0001",
    "check nope": "FAB6013",
}


@pytest.mark.parametrize("words", FAILING)
def test_failures_are_reported_in_the_requested_format(repo: Path, fabricc: Fabricc, words: str) -> None:
    ran = fabricc(*words.split(), "--format", "json")
    assert (ran.status, ran.err) == (1, "")
    assert [each["code"] for each in json.loads(ran.out)["diagnostics"]] == [FAILING[words]]
    ran = fabricc(*words.split())
    assert (ran.status, FAILING[words] in ran.err) == (1, True)


def test_plan_as_tables_json_and_csv(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("plan", "cluster.yaml", "--csv", "tables")
    assert ran.status == 0
    for words in ("8 GPUs in 4 hosts", "Addresses", "BGP", "Traffic classes", "Assumed"):
        assert words in ran.out
    plan = json.loads(fabricc("plan", "cluster.yaml", "--format", "json").out)["plan"]
    assert plan["counts"]["tors"] == 4
    fabricc("build", "cluster.yaml")
    for name in ("cabling", "addresses", "sessions", "qos", "worksheet"):
        shown, built = (
            (repo / f"tables/{name}.csv").read_text(),
            (repo / f"build/lab/plan/{name}.csv").read_text(),
        )
        assert shown == built
        rows = list(csv.reader(built.splitlines()))
        assert len({len(row) for row in rows}) == 1


def test_plan_shows_the_tables_of_what_a_system_cannot_express(repo: Path, fabricc: Fabricc) -> None:
    spec = repo / "cluster.yaml"
    spec.write_text(f"{spec.read_text('utf-8')}load_balancing: {{mode: packet}}\n", "utf-8")
    ran = fabricc("plan", "cluster.yaml", "--csv", "tables")
    assert ran.status == 1
    assert "error FAB5" in ran.err
    assert "Ports in use" in ran.out
    assert (repo / "tables" / "cabling.csv").exists()


def test_plan_writes_a_bill_and_labels(repo: Path, fabricc: Fabricc) -> None:
    ran = fabricc("plan", "cluster.yaml", "--bom", "bom.csv", "--labels", "labels.csv", "--spares", "10%")
    assert (ran.status, ran.err.splitlines()[-2:]) == (0, ["bom.csv", "labels.csv"])
    with (repo / "bom.csv").open() as file:
        bill = list(csv.DictReader(file))
    cables = [line for line in bill if line["item"] == "cable"]
    assert [(line["title"], line["quantity"], line["spares"], line["total"]) for line in cables] == [
        ("aec 1x100G qsfp28 to qsfp28", "8", "1", "9")
    ]
    with (repo / "labels.csv").open() as file:
        labels = list(csv.DictReader(file))
    assert len(labels) == 2 * (8 + 8)
    assert {label["module"] for label in labels if label["medium"] == "smf"} == {"100GBASE-DR QSFP28"}


def test_a_bill_is_a_workbook_where_it_is_requested(repo: Path, fabricc: Fabricc) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: no workbooks here")
    assert fabricc("plan", "cluster.yaml", "--bom", "bom.xlsx").status == 0
    fabricc("plan", "cluster.yaml", "--bom", "bom.csv")
    book = openpyxl.load_workbook(repo / "bom.xlsx")
    assert book.sheetnames == ["Bill of materials", "Labels"]
    rows = [["" if cell is None else str(cell) for cell in row] for row in book.worksheets[0].values]
    with (repo / "bom.csv").open() as file:
        assert rows == list(csv.reader(file))
    assert book.worksheets[1].max_row == 1 + 2 * (8 + 8)


def test_bill_without_openpyxl_names_the_missing_package(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    ran = fabricc("plan", "cluster.yaml", "--bom", "bom.xlsx")
    assert ran.status == 1
    assert "error FAB0070: a .xlsx needs the Python package openpyxl" in ran.err
    assert "`pip install 'fabricc[xlsx]'`, or write a .csv." in ran.err
    assert not (repo / "bom.xlsx").exists()


@pytest.mark.parametrize(
    "arguments",
    [("--bom", "bom.ods"), ("--labels", "labels.xlsx"), ("--bom", "b.csv", "--spares", "120%")],
)
def test_a_bill_in_no_known_form_is_bad_usage(
    repo: Path, fabricc: Fabricc, arguments: tuple[str, ...]
) -> None:
    assert fabricc("plan", "cluster.yaml", *arguments).status == 2
    assert not list(repo.glob("b.*"))


def test_a_bill_of_infiniband_has_parts_of_infiniband(repo: Path, fabricc: Fabricc) -> None:
    (repo / "cluster.yaml").write_text(
        "cluster: ib\nfabric: infiniband\ngpus: {model: dgx-a100, hosts: 4, hosts_per_unit: 2}\n"
        "tors: {model: qm8700}\nspines: {model: qm8700}\ncables: {host: {medium: mmf, length_m: 20}}\n"
    )
    ran = fabricc("plan", "cluster.yaml", "--bom", "bom.csv", "--labels", "labels.csv")
    assert ran.status == 0, ran.err
    with (repo / "bom.csv").open() as file:
        numbers = {line["part_number"] for line in csv.DictReader(file) if line["item"] == "transceiver"}
    assert "MMA1T00-HS" in numbers
    assert "MMA1T00-VS" not in numbers
    assert (repo / "labels.csv").exists()


PLACES = "device,rack,unit,height\nspine01a,A 1,42,\nsu001-tor1a,A 1,40,2\nsu001-host01,A 1,1,8\n"


def test_plan_draws_racks_of_which_the_places_are_given(repo: Path, fabricc: Fabricc) -> None:
    (repo / "places.csv").write_text(PLACES)
    ran = fabricc(
        "plan", "cluster.yaml", "--places", "places.csv", "--elevations", "racks.csv", "--labels", "labels.csv",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert "FAB3143: 7 of 10 devices have no place" in ran.err
    with (repo / "racks.csv").open() as file:
        units = {int(line["unit"]): line["device"] for line in csv.DictReader(file)}
    assert sorted(units) == list(range(1, 43))
    assert [units[unit] for unit in (42, 41, 40, 39, 9, 8, 1)] == [
        "spine01a", "su001-tor1a", "su001-tor1a", "", "", "su001-host01", "su001-host01",
    ]  # fmt: skip
    with (repo / "labels.csv").open() as file:
        label = next(csv.DictReader(file))
    assert label["line_1"] == "A 1 U1 su001-host01 rail0"
    assert label["line_2"].startswith("to A 1 U40 su001-tor1a ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        ("name,rack,unit\n", 1, "the first line is not device, rack, unit"),
        (PLACES + "su001-tor2,B,1,1\n", 5, "no device is named 'su001-tor2'"),
        (PLACES + "spine01a,B,1,1\n", 5, "spine01a has two places"),
        (PLACES + "spine02a,A 1,8,1\n", 5, "spine02a takes unit 8 of rack A 1 that su001-host01 takes"),
        (PLACES + "spine02a,A 1,0,1\n", 5, "spine02a has no place"),
        (PLACES + "spine02a,A 1,99,3\n", 5, "spine02a has no place"),
        (PLACES + "spine02a,,9,1\n", 5, "spine02a has no place"),
        (PLACES + "spine02a,A 1,seven\n", 5, "spine02a has no place"),
        ('"device,rack', 1, "cannot be read: it is no CSV in UTF-8"),
        ("", 1, "the first line is not"),
    ],
)
def test_a_wrong_table_of_places_is_reported_by_its_line_and_nothing_is_written(
    repo: Path, fabricc: Fabricc, table: str, line: int, words: str
) -> None:
    (repo / "places.csv").write_text(table)
    ran = fabricc(
        "plan", "cluster.yaml", "--places", "places.csv", "--elevations", "racks.csv", "--bom", "bom.csv"
    )
    assert ran.status == 1
    assert f"places.csv:{line}:1: error FAB3142" in ran.err
    assert words in ran.err
    assert not (repo / "racks.csv").exists()
    assert not (repo / "bom.csv").exists()


def test_places_are_read_from_plain_files_inside_the_repository(repo: Path, fabricc: Fabricc) -> None:
    assert fabricc("plan", "cluster.yaml", "--elevations", "racks.csv").status == 2
    (repo / "places.csv").symlink_to("/etc/passwd")
    ran = fabricc("plan", "cluster.yaml", "--places", "places.csv", "--elevations", "racks.csv")
    assert ran.status == 1
    assert "root:" not in ran.err
    ran = fabricc("plan", "cluster.yaml", "--places", "none.csv", "--elevations", "racks.csv")
    assert "none.csv cannot be read: No such file" in ran.err


def test_plan_reports_links_without_a_fitting_cable(repo: Path, fabricc: Fabricc) -> None:
    spec = (repo / "cluster.yaml").read_text() + "cables: {host: {medium: mmf, length_m: 101}}\n"
    (repo / "cluster.yaml").write_text(spec)
    assert "FAB3140" not in fabricc("plan", "cluster.yaml").err
    found = json.loads(fabricc("plan", "cluster.yaml", "--bom", "bom.csv", "--format", "json").out)[
        "findings"
    ]
    (reported,) = [each for each in found if each["code"] == "FAB3140"]
    assert "reaches 100 m" in reported["message"]
    assert "missing,host,mmf,,,101,8,0,8," in (repo / "bom.csv").read_text()


def test_plan_writes_the_lossless_profiles_that_a_build_writes(repo: Path, fabricc: Fabricc) -> None:
    switch = "{model: sn5600, nos: sonic-202505}"
    (repo / "cluster.yaml").write_text(
        "cluster: lab\ngpus: {model: dgx-b200, hosts: 2, hosts_per_unit: 2}\n"
        f"tors: {switch}\nspines: {switch}\n"
    )
    fabricc("plan", "cluster.yaml", "--csv", "tables")
    built = fabricc("build", "cluster.yaml")
    assert built.status == 0, built.err
    shown = (repo / "tables/qos.csv").read_text()
    assert len(shown.splitlines()) > 1
    assert shown == (repo / "build/lab/plan/qos.csv").read_text()


def test_plan_shows_the_worksheet_and_draws_it(repo: Path, fabricc: Fabricc) -> None:
    assert "No class is lossless" in fabricc("plan", "cluster.yaml", "--qos").out
    switch = "{model: sn5600, nos: sonic-202505}"
    (repo / "cluster.yaml").write_text(
        "cluster: lab\ngpus: {model: dgx-b200, hosts: 2, hosts_per_unit: 2}\n"
        f"tors: {switch}\nspines: {switch}\n"
    )
    ran = fabricc("plan", "cluster.yaml", "--qos", "--plot", "thresholds.svg")
    assert ran.status == 0
    for words in ("pause point", "formula: xoff", "Kmin as wanted", "watchdog"):
        assert words in ran.out
    assert (repo / "thresholds.svg").read_text().startswith("<svg ")
    sheets = json.loads(fabricc("plan", "cluster.yaml", "--qos", "--format", "json").out)["worksheet"]
    fabricc("build", "cluster.yaml")
    assert sheets == json.loads((repo / "build/lab/plan/worksheet.json").read_text())
    assert all(step["source"] for sheet in sheets for step in sheet["steps"])


def test_a_failing_plan_shows_the_worksheet_that_explains_it(repo: Path, fabricc: Fabricc) -> None:
    switch = "{model: sn5600, nos: sonic-202505}"
    (repo / "cluster.yaml").write_text(
        "cluster: lab\ngpus: {model: dgx-b200, hosts: 128, hosts_per_unit: 32}\n"
        f"tors: {switch}\nspines: {switch}\ncables: {{spine: {{length_m: 300}}}}\n"
        "priorities: {a: {dscp: 26, lossless: true}, b: {dscp: 34, lossless: true}}\n"
    )
    ran = fabricc("plan", "cluster.yaml", "--qos", "--plot", "thresholds.svg")
    assert ran.status == 1
    assert "FAB4003" in ran.err
    for words in ("spine, NVIDIA SN5600: 800g-300m", "buffer taken", "highest Kmax"):
        assert words in ran.out
    assert (repo / "thresholds.svg").read_text().startswith("<svg ")


def test_a_picture_as_png_is_drawn_by_what_is_installed(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "neither in .svg nor in .png" in fabricc("plan", "cluster.yaml", "--plot", "thresholds.gif").err
    programs = repo / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    missing = fabricc("plan", "cluster.yaml", "--plot", "thresholds.png")
    assert missing.status != 0
    assert "a .png needs one of rsvg-convert" in missing.err
    renderer = programs / "rsvg-convert"
    renderer.write_text('#!/bin/sh\nread first\necho "drawn from $first"\n')
    renderer.chmod(0o755)
    assert fabricc("plan", "cluster.yaml", "--plot", "thresholds.png").status == 0
    assert (repo / "thresholds.png").read_text().startswith("drawn from <svg ")


def test_catalog_lists_and_shows_sources(fabricc: Fabricc) -> None:
    assert "sn5600" in fabricc("catalog").out
    ran = fabricc("catalog", "sn5600")
    assert "cell_bytes" in ran.out
    figures = json.loads(fabricc("catalog", "sn5600", "--format", "json").out)["figures"]
    assert all(figure["source"] for figure in figures if figure["figure"].startswith("buffers.total"))
    assert "Did you mean sn5600?" in fabricc("catalog", "sn5600x").err


def test_a_model_file_under_another_name_is_named(
    tmp_path: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in library.MODELS.iterdir():
        (tmp_path / folder.name).symlink_to(folder)
    (tmp_path / "switches").unlink()
    shutil.copytree(library.MODELS / "switches", tmp_path / "switches")
    shutil.copy(tmp_path / "switches/sn5600.yaml", tmp_path / "switches/sn5699.yaml")
    monkeypatch.setattr(library, "MODELS", tmp_path)
    load._load_builtin.cache_clear()
    try:
        ran = fabricc("catalog", "sn5699")
    finally:
        load._load_builtin.cache_clear()
    assert ran.status == 2
    assert "switches/sn5699.yaml does not define `sn5699`" in ran.err
    assert "Did you mean" not in ran.err


def test_a_model_whose_file_has_errors_is_not_reported_as_unknown(tmp_path: Path, fabricc: Fabricc) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("switches:\n  sn5601: {extends: sn5600, prots: 3}\n")
    ran = fabricc("catalog", "sn5601", "--add", str(mine))
    assert ran.status == 1
    assert "unknown key 'prots'" in ran.err
    assert "no model" not in ran.err


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_scripts(fabricc: Fabricc, shell: str) -> None:
    assert "_FABRICC_COMPLETE" in fabricc("completion", shell).out


@pytest.mark.slow
def test_exit_handlers_run_at_the_end(tmp_path: Path) -> None:
    """A process of fabricc ends at once; a profiler and other exit handlers still run."""
    start = "from fabricc.cli import main; sys.argv[1:] = ['--version']; sys.exit(main())"
    later = "threading.Thread(target=lambda: (time.sleep(0.2), print('later'))).start()"
    for words, reported in (
        (["-c", f"import sys; {start}"], "fabricc, version"),
        (["-m", "cProfile", "-m", "fabricc", "--version"], "function calls"),
        (["-c", f"import atexit, sys; atexit.register(print, 'at last'); {start}"], "at last"),
        (["-c", f"import sys, threading, time; {later}; {start}"], "later"),
    ):
        ran = subprocess.run(
            [sys.executable, *words], env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert reported in ran.stdout


def test_a_closed_pipe_is_silent(tmp_path: Path) -> None:
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m fabricc catalog sn5600 | true; echo ${{PIPESTATUS[0]}}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("141\n", "")


def test_internal_error_is_one_line_unless_debugging(
    repo: Path, fabricc: Fabricc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr("fabricc.cli.validate.compile_spec", broken)
    monkeypatch.delenv("FABRICC_DEBUG", raising=False)
    ran = fabricc("validate", "cluster.yaml")
    assert ran.status == 3
    assert "FAB7999" in ran.err
    assert "Traceback" not in ran.err
    monkeypatch.setenv("FABRICC_DEBUG", "1")
    assert "Traceback" in fabricc("validate", "cluster.yaml").err


@pytest.mark.parametrize("verb", ["validate", "plan", "build"])
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"a: &a [*a]", b"cluster: {", b"\t- x", b"cluster: .nan", None]
)
def test_no_input_gives_a_traceback(repo: Path, fabricc: Fabricc, verb: str, content: bytes | None) -> None:
    if content is None:
        (repo / "cluster.yaml").unlink()
    else:
        (repo / "cluster.yaml").write_bytes(content)
    ran = fabricc(verb, "cluster.yaml")
    assert ran.status in (1, 3)
    assert "FAB" in ran.err
    assert "Traceback" not in ran.err
    assert "FAB7999" not in ran.err


@pytest.mark.parametrize("verb", ["validate", "plan", "build", "lock", "report"])
@pytest.mark.parametrize("place", [".", "/", ".."])
def test_a_folder_is_no_spec_and_the_remedy_names_the_one_in_it(
    repo: Path, fabricc: Fabricc, verb: str, place: str
) -> None:
    ran = fabricc(verb, place)
    assert (ran.status, "FAB0002" in ran.err) == (1, True)
    assert ("Name cluster.yaml." in ran.err) == (place == ".")
    assert "|" not in ran.err, "no line of a file that there is not"


@pytest.mark.parametrize("verb", ["validate", "plan", "build", "lock", "report"])
def test_an_empty_spec_path_is_bad_usage(fabricc: Fabricc, verb: str) -> None:
    ran = fabricc(verb, "")
    assert ran.status == 2
    assert "SPEC" in ran.err
    assert "the value is empty" in ran.err


def test_a_read_only_output_folder_is_3(repo: Path, fabricc: Fabricc) -> None:
    (repo / "taken").write_text("a file")
    ran = fabricc("build", "cluster.yaml", "-o", "taken")
    assert ran.status == 3
    assert "FAB7001" in ran.err


def test_two_specs_do_not_share_one_lock(repo: Path, fabricc: Fabricc) -> None:
    assert fabricc("lock", "cluster.yaml").status == 0
    lock = (repo / "fabricc.lock").read_bytes()
    other = repo / "other.yaml"
    other.write_text((repo / "cluster.yaml").read_text().replace("cluster: lab", "cluster: storage"))
    for words in (["build"], ["lock"], ["lock", "--repin"], ["validate"]):
        ran = fabricc(*words, "other.yaml")
        assert (ran.status, "fabricc.lock:4:1: error FAB2070" in ran.err) == (1, True), ran.err
        assert (repo / "fabricc.lock").read_bytes() == lock
    (repo / "fabricc.lock").write_bytes(lock.replace(b"cluster lab", b"cluster storage"))
    assert fabricc("lock", "--check", "other.yaml").status == 0


def test_two_specs_share_a_folder_each_with_its_lock(repo: Path, fabricc: Fabricc) -> None:
    assert fabricc("build", "cluster.yaml").status == 0
    lock = (repo / "fabricc.lock").read_bytes()
    (repo / "other.yaml").write_text(
        (repo / "cluster.yaml")
        .read_text()
        .replace("cluster: lab", "cluster: storage")
        .replace("hosts: 4", "hosts: 6")
    )
    assert "fabricc lock --own" in fabricc("build", "other.yaml").err
    assert fabricc("lock", "--own", "other.yaml").status == 0
    own = (repo / "other.lock").read_bytes()
    assert b"cluster storage" in own
    for name in ("cluster.yaml", "other.yaml"):
        assert fabricc("build", "--frozen", name).status == 0
        assert fabricc("lock", "--check", name).status == 0
        assert fabricc("lock", "--own", "other.yaml").status == 0
    assert {folder.name for folder in (repo / "build").iterdir() if folder.is_dir()} == {"lab", "storage"}
    assert ((repo / "fabricc.lock").read_bytes(), (repo / "other.lock").read_bytes()) == (lock, own)
    manifest = json.loads((repo / "build" / "storage" / "manifest.json").read_text())
    assert "other.lock" in manifest["inputs"]
    assert fabricc("check", "build/storage").status == 0


@pytest.mark.parametrize("owner", [b"cluster lab\n", b""])
def test_a_cluster_gets_no_second_lock(repo: Path, fabricc: Fabricc, owner: bytes) -> None:
    assert fabricc("lock", "cluster.yaml").status == 0
    lock = repo / "fabricc.lock"
    lock.write_bytes(lock.read_bytes().replace(b"cluster lab\n", owner))
    ran = fabricc("lock", "--own", "cluster.yaml")
    assert (ran.status, "FAB2075" in ran.err, "git mv fabricc.lock cluster.lock" in ran.err) == (
        1,
        True,
        True,
    )
    assert not (repo / "cluster.lock").exists()
    lock.rename(repo / "cluster.lock")
    assert fabricc("lock", "--check", "cluster.yaml").status == 0
    assert not lock.exists()


def test_a_missing_catalog_file_is_reported_where_the_spec_names_it(repo: Path, fabricc: Fabricc) -> None:
    spec = repo / "cluster.yaml"
    spec.write_text(spec.read_text() + "catalog:\n  - there.yaml\n  - gone.yaml\n")
    (repo / "there.yaml").write_text("switches: {}\n")
    ran = fabricc("validate", "cluster.yaml")
    assert ran.status == 1
    assert "cluster.yaml:11:5: error FAB2101: cannot read the catalog file gone.yaml: No such" in ran.err


@pytest.mark.slow
def test_no_page_of_the_catalog_is_in_the_notation_of_python() -> None:
    from fabricc.catalog.load import load_catalog
    from fabricc.cli.catalog import render_model

    catalog, _ = load_catalog()
    for model in (*catalog.switches.values(), *catalog.hosts.values(), *catalog.nics.values()):
        figures = "\n".join(render_model(model)).partition("\nsources\n")[0]
        assert not re.findall(r"[(\[{]['\"(\[{].*|.*\b(?:None|True|False)\b", figures), model.name


def test_piped_tables_have_no_trailing_blanks(repo: Path, fabricc: Fabricc) -> None:
    lossless = str(ROOT / "inventories" / "rack-zone-512" / "cluster.yaml")
    for words in (["plan", "cluster.yaml"], ["plan", lossless, "--qos"], ["catalog", "sn5600"]):
        text = fabricc(*words).out
        assert "  " in text
        assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_a_damaged_lock_is_a_diagnostic(repo: Path, fabricc: Fabricc) -> None:
    (repo / "fabricc.lock").write_bytes(b"\xff\xfe")
    assert fabricc("build", "cluster.yaml").status == 3
    (repo / "fabricc.lock").write_text("<<<<<<< ours\n")
    ran = fabricc("build", "cluster.yaml")
    assert ran.status == 1
    assert "fabricc.lock:1" in ran.err
