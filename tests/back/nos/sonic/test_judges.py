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
from tests import outward
from tests.back.nos.sonic.test_catalog import CASES, MODELS, full_switch
from tests.back.nos.sonic.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable

VALIDATOR = Path(__file__).parents[5] / "shared" / "validators" / "sonic_validate.py"
MODELS_OF = Path(os.environ.get("SONIC_YANG_MODELS", VALIDATOR.parent / "sonic-yang"))
"""A folder of models for each release; another one can be named in the environment."""
UNMODELLED = {("202305", "SNMP_AGENT_ADDRESS_CONFIG")}
"""Tables that `config reload` of a release takes without a model."""
TABLE = re.compile(r"\b[A-Z][A-Z0-9_]{3,}\b")


def needs_yang(test: Callable[..., None]) -> Callable[..., None]:
    """Skip where SONiC's models or the library that reads them are missing."""
    there = pytest.mark.skipif(
        not VALIDATOR.exists(), reason="SONiC's YANG models are not beside the repository"
    )
    binding = importlib.util.find_spec("libyang") is None
    return there(pytest.mark.skipif(binding, reason="the libyang binding is not installed")(test))


def judge(release: str, *files: Path) -> list[str]:
    """What the release's models do not accept."""
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
        str(p) for p in problems if not any((release, table) in UNMODELLED for table in TABLE.findall(str(p)))
    ]


@needs_yang
@pytest.mark.parametrize("release", SONIC.releases)
def test_every_variant_is_valid(release: str, tmp_path: Path) -> None:
    files = []
    for name, sample in VARIANTS.items():
        switch = replace(sample, release=release)
        if any(gap.fatal for gap in SONIC.gaps(switch)):
            continue
        file = tmp_path / f"{name}.json"
        file.write_text(SONIC.render(switch)["config_db.json"])
        files.append(file)
    assert judge(release, *files) == []


@needs_yang
@pytest.mark.parametrize("release", SONIC.releases)
def test_ways_out_are_valid(release: str, tmp_path: Path) -> None:
    files = []
    for index, switch in enumerate(outward.switches("sonic")):
        files.append(tmp_path / f"{index}.json")
        files[-1].write_text(SONIC.render(replace(switch, release=release))["config_db.json"])
    assert judge(release, *files) == []


@needs_yang
@pytest.mark.parametrize(
    ("release", "all_of_them"),
    [*((release, False) for release in SONIC.releases),
     pytest.param(SONIC.releases[-1], True, marks=pytest.mark.slow)],
)  # fmt: skip
def test_every_model_of_the_catalog_is_valid(release: str, all_of_them: bool, tmp_path: Path) -> None:
    """One of each family of ASICs, and in the long run all of them on the newest release."""
    every = {name: breakout for name, run, breakout in CASES if not run}
    of_family = {MODELS[name].asic_family: name for name in every}
    files = []
    for name in every if all_of_them else of_family.values():
        breakout = every[name]
        switch = replace(full_switch(MODELS[name], breakout), release=release)
        profile = switch.qos.profiles[0].name
        switch = replace(switch, ports=tuple(replace(port, profile=profile) for port in switch.ports))
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(SONIC.render(switch)["config_db.json"])
    assert judge(release, *files) == []


@needs_yang
def test_the_judge_finds_a_ghost_scheduler(tmp_path: Path) -> None:
    read = json.loads(SONIC.render(VARIANTS["numbered"])["config_db.json"])
    read["QUEUE"]["Ethernet0|3"]["scheduler"] = "ghost"
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(read))
    assert judge("202505", file)


@pytest.mark.skipif(shutil.which("vtysh") is None, reason="FRR's vtysh is not installed")
@pytest.mark.parametrize("name", VARIANTS)
def test_frr_accepts_its_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "frr.conf"
    file.write_text(SONIC.render(VARIANTS[name])["frr.conf"])
    verdict = subprocess.run(["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, check=False)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
