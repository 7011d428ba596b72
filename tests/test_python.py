"""The interface for Python users: the examples of docs/python.md run with the printed results."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fabricc
from fabricc import CompileError, FindingsError, compile_spec

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/python.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text("utf-8")

SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: sn5600, nos: sonic}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
management: {network: 172.16.0.0/12}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.yaml").write_text(SPEC)
    (tmp_path / "changed.yaml").write_text(SPEC + "overrides: {su001-tor1a: {drain: true}}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_of_the_page_runs_one_after_another(folder: Path) -> None:
    names: dict[str, object] = {}
    reported = []
    for block in BLOCKS:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(block, "docs/python.md", "exec"), names)
        reported.append(shown.getvalue())
    entry, findings, refused, plan, files, again, why, difference, others = reported
    assert "su001-tor1a/config_db.json: " in entry
    assert findings.startswith("True\n")
    assert refused == "['FAB0001']\n"
    assert plan.startswith("64 ")
    assert files.splitlines()[:2] == ["['config_db.json', 'frr.conf']", "()"]
    assert files.splitlines()[2].startswith("build/zone ")
    assert again == "True 0 0\n0\n"
    assert why.splitlines()[1] == "device su001-tor1a ToR"
    assert why.splitlines()[-1] == "FAB9270"
    assert difference.splitlines()[0] == "True low hitless 1 0"
    assert "('su001-tor1a',) hitless ('overrides.su001-tor1a.drain',)" in difference
    assert others.startswith("switch sonic sn5600 25\n")
    assert "\n17 " in others


@pytest.mark.slow
def test_the_blocks_of_the_page_are_typed(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("".join(BLOCKS))
    command = [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "page.py")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert "No module named mypy" in ran.stderr or (ran.returncode, ran.stdout) == (
        0,
        "Success: no issues found in 1 source file\n",
    )


def test_files_are_those_that_the_command_writes(folder: Path) -> None:
    compiled = compile_spec("cluster.yaml")
    tree = compiled.write(folder / "out").tree
    assert tree is not None
    for kind, devices in (("switches", compiled.switches()), ("hosts", compiled.hosts())):
        for device in devices:
            below = tree / kind / device.name
            written = {str(p.relative_to(below)): p.read_text() for p in below.rglob("*") if p.is_file()}
            assert written == compiled.files(device)


def test_an_error_is_reported_with_the_line_it_is_on(folder: Path) -> None:
    (folder / "cluster.yaml").write_text(SPEC.replace("sn5600", "sn5601", 1))
    compiled = compile_spec("cluster.yaml")
    assert not compiled.sound
    for ask in (
        lambda: compiled.fabric,
        compiled.switches,
        compiled.proof,
        lambda: compiled.device("spine01a"),
    ):
        with pytest.raises(CompileError, match=r"cluster.yaml:3.*\n.*3 \| tors"):
            ask()
    assert compiled.write(folder / "out").exit_status == 1
    assert not (folder / "out").exists()


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_jobs_than_one_are_one(folder: Path, jobs: int) -> None:
    assert fabricc.build("cluster.yaml", jobs=jobs).written > 100
    (folder / "cluster.yaml").write_text((folder / "changed.yaml").read_text())
    changed = fabricc.build("cluster.yaml", jobs=jobs)
    assert (changed.exit_status, 0 < changed.written < 10) == (0, True)
    assert fabricc.check("build/zone", jobs=jobs).exit_status == 0
    assert fabricc.diff("cluster.yaml", "changed.yaml", jobs=jobs).changed == 0


def test_the_fabric_of_infiniband_is_refused_where_one_of_ethernet_is_requested() -> None:
    compiled = compile_spec(ROOT / "inventories/quantum2-512/cluster.yaml")
    assert compiled.sound
    assert compiled.infiniband is not None
    with pytest.raises(CompileError, match="FAB5817"):
        compiled.switches()


def test_a_device_that_there_is_not(folder: Path) -> None:
    compiled = compile_spec("cluster.yaml")
    with pytest.raises(FindingsError, match="no device 'su001-tor9a'") as caught:
        compiled.device("su001-tor9a")
    assert caught.value.code == "FAB3195"
    assert "Did you mean su001-tor8a" in caught.value.diagnostic.help
    with pytest.raises(FindingsError) as caught:
        compiled.device("nothing")
    assert caught.value.diagnostic.help == "`fabricc plan cluster.yaml` shows how devices are named."


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "n" * 300, "cluster.yaml/x"])
def test_a_name_that_no_file_can_have_is_a_finding(folder: Path, name: str) -> None:
    """`read_folder` and `audit_folder` raise an `OSError`, as the page documents."""
    for result in (
        fabricc.build(name),
        fabricc.build("cluster.yaml", name),
        fabricc.check(name),
        compile_spec(name),
    ):
        assert any(each.severity is fabricc.Severity.ERROR for each in result.diagnostics)
    assert compile_spec("cluster.yaml").write(name).exit_status == 3
    for ask in (lambda: fabricc.diff("cluster.yaml", name), lambda: fabricc.explain(name, "su001-tor1a")):
        with pytest.raises(FindingsError):
            ask()
    for read in (fabricc.read_folder, fabricc.audit_folder):
        with pytest.raises(OSError, match=r"(File|file|directory)"):
            read(name)


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    script = "import sys, fabricc; dir(fabricc); print(*[name for name in sys.modules if name.startswith('fabricc.')])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "fabricc.version\n"
    assert all(hasattr(fabricc, name) for name in fabricc.__all__)
    with pytest.raises(AttributeError, match="no attribute 'compile'"):
        fabricc.compile  # noqa: B018


def test_the_first_page_links_it() -> None:
    assert "(docs/python.md)" in README


def test_the_former_spelling_of_neighbors_works_and_warns() -> None:
    from fabricc.fabric.facts import Reading
    from fabricc.facts.frame import Contents
    from fabricc.facts.statement import Device, Kind

    device = Device("leaf1", Kind.SWITCH, "eos", {}, {}, Contents(Reading({}, {})))
    with pytest.warns(DeprecationWarning, match=r"Device\.neighbors"):
        assert device.neighbours == device.neighbors
