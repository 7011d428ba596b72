"""Every inventory compiles as committed, and judges that nobody here tunes accept what comes out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.driver import build_tree

ROOT = Path(__file__).parents[2]
INVENTORIES = ROOT / "inventories"
VALIDATOR = ROOT.parent / "shared" / "validators" / "sonic_validate.py"
NETPLAN = next(
    (p for p in ("/usr/libexec/netplan/generate", "/usr/lib/netplan/generate") if Path(p).exists()), None
)
RELEASES = ("202411", "202505", "202511")

EXPECTED = {
    "lab-smallest": {"gpus": 8, "tors": 4, "spines": 2, "cores": 0},
    "superpod-b200-4su": {"gpus": 1024, "tors": 32, "spines": 16, "cores": 0},
    "rack-zone-512": {"gpus": 512, "tors": 32, "spines": 8, "cores": 0},
    "gb200-nvl72-su": {"gpus": 576, "hosts": 144, "tors": 16, "spines": 5, "cores": 0},
    "storage-zone": {"gpus": 128, "tors": 20, "spines": 3, "cores": 0, "hosts_without_gpus": 14},
    "hpn-dual-plane-pod": {"gpus": 15_360, "tors": 240, "spines": 120, "cores": 8},
    "quantum2-512": {"gpus": 512, "tors": 16, "spines": 8, "cores": 0, "subnets": 1},
    "tenant-front-end": {"gpus": 0, "hosts": 128, "tors": 16, "spines": 2, "cores": 0},
    "whole-cluster-256": {"gpus": 256, "tors": 16, "spines": 8, "cores": 0},
    "superpod-four-networks": {"gpus": 512, "hosts": 64, "tors": 16, "spines": 8, "cores": 0},
    "meta-24k": {"gpus": 24_576, "tors": 1536, "spines": 128, "cores": 28},
}
LARGE = {"hpn-dual-plane-pod", "meta-24k"}


def make_case(name: str) -> object:
    return pytest.param(name, id=name, marks=[pytest.mark.slow] if name in LARGE else [])


@pytest.fixture(scope="module", params=[make_case(name) for name in EXPECTED])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of an inventory, built from a copy with the committed lock frozen and every file read back."""
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(INVENTORIES / request.param, folder / request.param)
    result, _ = build_tree(folder / request.param / "cluster.yaml", folder / "build", frozen=True)
    assert [d for d in result.diagnostics if d.severity is Severity.ERROR] == []
    (built,) = (folder / "build").glob("[!.]*")
    yield built
    shutil.rmtree(folder)


def test_every_inventory_is_listed_here() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in INVENTORIES.iterdir())


def test_the_specs_are_short() -> None:
    """Twenty lines are enough for a real cluster: comments and blank lines do not count."""
    for path in INVENTORIES.glob("*/cluster.yaml"):
        lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
        assert len(lines) <= 27, path.parent.name


@pytest.mark.spread
def test_counts_are_the_published_ones(tree: Path) -> None:
    counts = json.loads((tree / "plan" / "fabric.json").read_text())["counts"]
    name = next(name for name in EXPECTED if tree.parents[1].name.startswith(name))
    assert {key: counts[key] for key in EXPECTED[name]} == EXPECTED[name]
    hosts = counts["hosts"]
    if "subnets" in EXPECTED[name]:
        assert len(list((tree / "subnets").iterdir())) == counts["subnets"]
    else:
        plans = [json.loads(path.read_text()) for path in (tree / "plan").glob("**/fabric.json")]
        switches = sum(plan["counts"][f"{tier}s"] for plan in plans for tier in ("tor", "spine", "core"))
        hosts += sum(len(plan.get("own_hosts", ())) for plan in plans)
        assert len(list((tree / "switches").iterdir())) == switches
    assert len(list((tree / "hosts").iterdir())) == hosts


@pytest.mark.parametrize("name", sorted(LARGE))
def test_counts_of_large_ones_are_the_published_ones_as_planned(name: str) -> None:
    counts = compile_spec(INVENTORIES / name / "cluster.yaml").counts()
    assert {key: counts[key] for key in EXPECTED[name]} == EXPECTED[name]


def one_of_each_kind(files: list[Path]) -> list[Path]:
    """All files of a small tree; of a large one the first and last of every role (ToR, spine, core)."""
    if len(files) <= 12:
        return files
    roles: dict[str, list[Path]] = {}
    for path in files:
        role = next((role for role in ("-tor", "spine", "core") if role in path.parent.name), "host")
        roles.setdefault(role, []).append(path)
    return [path for chosen in roles.values() for path in (chosen[0], chosen[-1])]


of_kinds_or_every = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["of each kind", "every one"]
)


@of_kinds_or_every
@pytest.mark.spread
def test_sonic_models_accept_every_config_db(tree: Path, every: bool) -> None:
    """Of the newest release those of each kind; in the long run every file, of every release."""
    files = sorted((tree / "switches").glob("*/config_db.json"))
    files = files if every else one_of_each_kind(files)
    if not files:
        pytest.skip("no SONiC switch in this inventory")
    if not VALIDATOR.exists():
        pytest.skip("the SONiC YANG validator is not beside the project")
    pytest.importorskip("libyang", reason="the libyang binding is not installed")
    for release in RELEASES if every else RELEASES[-1:]:
        command = [sys.executable, str(VALIDATOR), "-r", release, *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-4000:]
        assert done.stdout.count(": ok") == len(files)
        assert "warning" not in done.stdout


@pytest.mark.spread
@of_kinds_or_every
def test_frr_accepts_every_frr_conf(tree: Path, every: bool) -> None:
    files = sorted((tree / "switches").glob("*/frr.conf"))
    files = files if every else one_of_each_kind(files)
    if not files:
        pytest.skip("no FRR in this inventory")
    if not shutil.which("vtysh"):
        pytest.skip("FRR is not installed")
    for path in files:
        done = subprocess.run(["vtysh", "-C", "-f", str(path)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), path


@pytest.mark.slow
def test_netplan_accepts_the_hosts(tree: Path, tmp_path: Path) -> None:
    if NETPLAN is None:
        pytest.skip("netplan is not installed")
    files = sorted((tree / "hosts").glob("*/etc/netplan/60-fabricc*.yaml"))
    target = tmp_path / "etc" / "netplan"
    target.mkdir(parents=True)
    for path in one_of_each_kind(files):
        shutil.copy(path, target / path.name)
        (target / path.name).chmod(0o600)
        done = subprocess.run(
            [NETPLAN, "--root-dir", str(tmp_path)], capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, ""), path
