"""The wheel carries all that a user needs and nothing else, and works where there is no checkout."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import fabricc.version

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).parents[2]
CARRIED = {
    "fabricc": "fabricc",
    "custom_napalm": "custom_napalm",
    "templates": "fabricc/_templates",
    "schemas": "fabricc/_schemas",
    "docs": "fabricc/_docs",
}
"""Folder of the repository -> where the wheel has it."""
LARGEST = 4_000_000
"""Bytes of the wheel, from docs/release.md."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (made,) = folder.iterdir()
    return made


def own_files(folder: str) -> set[PurePosixPath]:
    files = (
        path for path in (ROOT / folder).rglob("*") if path.is_file() and path.parent.name != "__pycache__"
    )
    return {PurePosixPath(path.relative_to(ROOT / folder)) for path in files}


def test_it_holds_every_file_that_a_user_needs_and_no_other(wheel: Path) -> None:
    version = fabricc.version.__version__
    wanted = {str(place / path) for folder, place in carried_places() for path in own_files(folder)}
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        assert f"Version: {version}\n" in archive.read(f"fabricc-{version}.dist-info/METADATA").decode()
    about = {
        name.partition("/")[2]
        for name in held
        if name.startswith(f"fabricc-{version}.") and name not in wanted
    }
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "data/share/man/man1/fabricc.1"}
    assert {name for name in held if not name.startswith(f"fabricc-{version}.")} == wanted
    assert "fabricc/py.typed" in wanted
    assert "fabricc/_docs/push.md" in wanted
    assert "fabricc/cli/starter/cluster.yaml" in wanted
    assert wheel.stat().st_size < LARGEST


def carried_places() -> list[tuple[str, PurePosixPath]]:
    return [(folder, PurePosixPath(place)) for folder, place in CARRIED.items()]


@pytest.mark.slow
def test_it_works_from_another_folder_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    venv.create(installed, symlinks=True)
    own = Path(sysconfig.get_path("purelib", "venv", {"base": str(installed)}))
    # What fabricc depends on is taken from here; a path alone, so that no editable checkout comes with it.
    theirs = [path for path in sys.path if path.endswith("-packages")]
    (own / "dependencies.pth").write_text("\n".join(theirs) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(installed / "bin/python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True, timeout=120)
    assert (installed / "share/man/man1/fabricc.1").read_bytes() == (ROOT / "man/fabricc.1").read_bytes()
    work = tmp_path / "work"
    work.mkdir()
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def run_program(program: str, *words: str) -> str:
        ran = subprocess.run(
            [installed / "bin" / program, *words],
            cwd=work, env=state, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert run_program("python", "-c", "import fabricc; print(fabricc.__file__)").startswith(str(own))
    assert run_program(
        "python", "-c", "import napalm; print(napalm.get_network_driver('sonic').__module__)"
    ) == ("fabricc.operate.drivers.sonic\n")
    run_program("fabricc", "init", ".")
    assert "every file read back" in run_program("fabricc", "build", "cluster.yaml")
    assert run_program("fabricc", "docs", "lossless") == (ROOT / "docs/lossless.md").read_text("utf-8")
    assert "FAB2040" in run_program("fabricc", "explain", "FAB2040")
    (switches,) = work.glob("build/*/switches")
    assert "understood" in run_program("fabricc", "audit", str(switches))
    assert (
        run_program("fabricc", "--version") == f"fabricc, version {importlib.metadata.version('fabricc')}\n"
    )
