"""SONiC's own YANG models, and FRR's own parser, accept what is rendered."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.sonic import SONIC
from tests import outward, tenanted
from tests.back.nos.sonic.test_catalog import CASES, MODELS, full_switch
from tests.back.nos.sonic.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.model import Switch

VALIDATOR = Path(__file__).parents[5] / "shared" / "validators" / "sonic_validate.py"
MODELS_OF = Path(os.environ.get("SONIC_YANG_MODELS", VALIDATOR.parent / "sonic-yang"))
"""A folder of models for each release; another one can be named in the environment."""
UNMODELED = {("202305", "SNMP_AGENT_ADDRESS_CONFIG")}
"""Tables that `config reload` of a release takes without a model."""
TABLE = re.compile(r"\b[A-Z][A-Z0-9_]{3,}\b")


def needs_yang(test: Callable[..., None]) -> Callable[..., None]:
    """Skip where SONiC's models or the library that reads them are missing."""
    there = pytest.mark.skipif(
        not VALIDATOR.exists(), reason="SONiC's YANG models are not beside the repository"
    )
    binding = importlib.util.find_spec("libyang") is None
    return there(pytest.mark.skipif(binding, reason="the libyang binding is not installed")(test))


def run_judge(release: str, *files: Path) -> list[str]:
    """Return what the release's models do not accept."""
    models = MODELS_OF / release
    if not models.is_dir():
        pytest.skip(f"no models of SONiC {release} in {MODELS_OF}")
    command = [sys.executable, str(VALIDATOR), "-m", str(models), "-u", "warn", "--json", *map(str, files)]
    verdict = subprocess.run(
        command, capture_output=True, text=True, timeout=300 + 10 * len(files), check=False
    )
    assert verdict.returncode in (0, 1), verdict.stderr
    problems = [problem for file in json.loads(verdict.stdout) for problem in file["problems"]]
    return [
        str(p) for p in problems if not any((release, table) in UNMODELED for table in TABLE.findall(str(p)))
    ]


BREAKOUTS = {name: breakout for name, run, breakout in CASES if not run}
FAMILIES = {MODELS[name].asic_family: name for name in BREAKOUTS}


def of_catalog(name: str) -> Switch:
    """A model with a profile on every port."""
    switch = full_switch(MODELS[name], BREAKOUTS[name])
    profile = switch.qos.profiles[0].name
    return replace(switch, ports=tuple(replace(port, profile=profile) for port in switch.ports))


def write_switches(folder: Path, release: str, switches: dict[str, Switch]) -> list[Path]:
    """Files of switches, as of a release."""
    files = []
    for name, switch in switches.items():
        files.append(folder / f"{name}.json")
        files[-1].write_text(SONIC.render(replace(switch, release=release))["config_db.json"])
    return files


@pytest.mark.spread
@needs_yang
@pytest.mark.parametrize("release", SONIC.releases)
def test_every_variant_way_out_and_family_of_asics_is_valid(release: str, tmp_path: Path) -> None:
    switches = {
        name: sample
        for name, sample in VARIANTS.items()
        if not any(gap.fatal for gap in SONIC.gaps(replace(sample, release=release)))
    }
    switches |= {f"outward-{at}": switch for at, switch in enumerate(outward.switches("sonic"))}
    switches |= {f"tenants-{at}": switch for at, switch in enumerate(tenanted.switches("sonic"))}
    switches |= {name: of_catalog(name) for name in FAMILIES.values()}
    assert run_judge(release, *write_switches(tmp_path, release, switches)) == []


@needs_yang
@pytest.mark.slow
def test_every_model_of_the_catalog_is_valid(tmp_path: Path) -> None:
    every = {name: of_catalog(name) for name in BREAKOUTS}
    assert run_judge(SONIC.releases[-1], *write_switches(tmp_path, SONIC.releases[-1], every)) == []


@needs_yang
def test_the_judge_finds_a_ghost_scheduler(tmp_path: Path) -> None:
    read = json.loads(SONIC.render(VARIANTS["numbered"])["config_db.json"])
    read["QUEUE"]["Ethernet0|3"]["scheduler"] = "ghost"
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(read))
    assert run_judge("202505", file)


@pytest.mark.skipif(shutil.which("vtysh") is None, reason="FRR's vtysh is not installed")
@pytest.mark.parametrize("name", VARIANTS)
def test_frr_accepts_its_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "frr.conf"
    file.write_text(SONIC.render(VARIANTS[name])["frr.conf"])
    verdict = subprocess.run(["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, check=False)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr


@pytest.mark.skipif(shutil.which("vtysh") is None, reason="FRR's vtysh is not installed")
def test_frr_accepts_the_vrfs_of_tenants(tmp_path: Path) -> None:
    for at, switch in enumerate(tenanted.switches("sonic")):
        file = tmp_path / f"{at}.conf"
        file.write_text(SONIC.render(switch)["frr.conf"])
        verdict = subprocess.run(
            ["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, check=False
        )
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr
