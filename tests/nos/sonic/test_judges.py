"""SONiC's own YANG models, and FRR's own parser, accept what is rendered."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.nos.sonic import SONIC
from tests.nos.sonic.test_catalog import CASES, MODELS, full_switch
from tests.nos.sonic.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable

VALIDATOR = Path(__file__).parents[4] / "shared" / "validators" / "sonic_validate.py"


def needs_yang(test: Callable[..., None]) -> Callable[..., None]:
    """Skip where SONiC's models or the library that reads them are missing."""
    there = pytest.mark.skipif(
        not VALIDATOR.exists(), reason="SONiC's YANG models are not beside the repository"
    )
    binding = importlib.util.find_spec("libyang") is None
    return there(pytest.mark.skipif(binding, reason="the libyang binding is not installed")(test))


def judge(release: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(VALIDATOR), "-r", release, "--json", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@needs_yang
@pytest.mark.parametrize("release", SONIC.releases)
def test_every_variant_is_valid(release: str, tmp_path: Path) -> None:
    files = []
    for name, switch in VARIANTS.items():
        if any(gap.fatal for gap in SONIC.gaps(replace(switch, release=release))):
            continue
        file = tmp_path / f"{name}.json"
        file.write_text(SONIC.render(switch)["config_db.json"])
        files.append(file)
    verdict = judge(release, *files)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert "warning" not in verdict.stdout


@needs_yang
@pytest.mark.parametrize("release", SONIC.releases)
def test_every_model_of_the_catalog_is_valid(release: str, tmp_path: Path) -> None:
    files = []
    for name, breakout in dict(CASES).items():
        switch = full_switch(MODELS[name], breakout)
        profile = switch.qos.profiles[0].name
        switch = replace(switch, ports=tuple(replace(port, profile=profile) for port in switch.ports))
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(SONIC.render(switch)["config_db.json"])
    verdict = judge(release, *files)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert "warning" not in verdict.stdout


@needs_yang
def test_the_judge_finds_a_ghost_scheduler(tmp_path: Path) -> None:
    read = json.loads(SONIC.render(VARIANTS["numbered"])["config_db.json"])
    read["QUEUE"]["Ethernet0|3"]["scheduler"] = "ghost"
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(read))
    assert judge("202505", file).returncode == 1


@pytest.mark.skipif(shutil.which("vtysh") is None, reason="FRR's vtysh is not installed")
@pytest.mark.parametrize("name", VARIANTS)
def test_frr_accepts_its_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "frr.conf"
    file.write_text(SONIC.render(VARIANTS[name])["frr.conf"])
    verdict = subprocess.run(["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, check=False)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
