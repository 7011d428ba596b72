"""Archives of `make release`: the same bytes on every machine, from the last commit alone, with a list of parts."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from fabricc.version import __version__

ROOT = Path(__file__).parents[2]
TOOLS = ("build", "cyclonedx_py", "hatchling")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (all(map(importlib.util.find_spec, TOOLS)) and shutil.which("git") and (ROOT / ".git").exists()),
        reason=f"one of {', '.join(TOOLS)} is not installed, or this is no clone",
    ),
]
NAMES = {f"fabricc-{__version__}{end}" for end in ("-py3-none-any.whl", ".tar.gz", ".cdx.json")}


def run_release(checkout: Path, out: Path, **environment: str) -> Path:
    subprocess.run(
        [checkout / ".ci/release", out],
        env={**os.environ, "PYTHON": sys.executable, "ENVIRONMENT": sys.executable, **environment},
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_release(ROOT, tmp_path_factory.mktemp("dist"))


def test_archive_bytes_ignore_untracked_files(dist: Path, tmp_path: Path) -> None:
    clone = tmp_path / "somewhere" / "else"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", clone], check=True, timeout=120)
    for name in (
        "build/zone/manifest.json",
        "fabricc/__pycache__/x.pyc",
        "docs/draft.md",
        "fabricc/secret.yaml",
    ):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text("nothing of a release\n")
    os.utime(clone / "README.md", (0, 0))
    (clone / "docs/lock.md").chmod(0o600)
    again = run_release(clone, tmp_path / "again", TZ="Asia/Tokyo", LC_ALL="C", HOME=str(tmp_path))
    for name in sorted(name for name in NAMES if not name.endswith(".json")):
        assert (again / name).read_bytes() == (dist / name).read_bytes(), name


def test_the_checksums_are_of_every_file(dist: Path) -> None:
    stated = dict(line.split()[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert {path.name for path in dist.iterdir()} == {*NAMES, "SHA256SUMS"}
    assert stated == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in NAMES}


def test_the_source_archive_is_what_git_has(dist: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(dist / f"fabricc-{__version__}.tar.gz") as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert held == {*listed.splitlines(), "PKG-INFO"}


def schema_violations(bill: dict[str, object]) -> object:
    """Return what CycloneDX's own schema has against a bill, None for nothing."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SchemaVersion.from_version(bill["specVersion"])).validate_str(json.dumps(bill))


def test_the_bill_of_materials_names_every_dependency(dist: Path) -> None:
    bill = json.loads((dist / f"fabricc-{__version__}.cdx.json").read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "fabricc")
    assert bill["metadata"]["component"]["version"] == __version__
    assert schema_violations(bill) is None
    assert schema_violations({**bill, "components": [{"name": "click"}]}) is not None
    found = {component["name"].lower(): component for component in bill["components"]}
    assert {"click", "jinja2", "napalm", "nornir", "paramiko", "ruamel.yaml"} <= found.keys()
    assert found["click"]["purl"].startswith("pkg:pypi/click@")
