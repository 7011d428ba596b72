"""NVIDIA's own object models, release by release, accept what is rendered without a remark."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.base.numbers import natural_key
from fabricc.catalog.library import Library
from fabricc.fabric.model import Direction, Peer, Port, Switch
from tests import outward, samples, tenanted
from tests.back.nos.cumulus.variants import VARIANTS, variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fabricc.catalog.model import Breakout, SwitchModel

VALIDATOR = Path(__file__).parents[5] / "shared" / "validators" / "nvue_validate.py"
LIBRARY = Library()
MODELS = {name: LIBRARY.switch(name) for name in LIBRARY.names("switches")}
CASES = [
    (name, breakout)
    for name, model in MODELS.items()
    if CUMULUS.supports(model)
    for breakout in next(group for group in model.cages if group.fabric).breakouts
]

WORDED = ("5.9", "5.14", "5.15")
"""The oldest, the default and the newest; in the long run those between, each of which renames a word or two."""

needs_models = pytest.mark.skipif(
    not VALIDATOR.exists() or importlib.util.find_spec("nvueschema") is None,
    reason="the validator is not beside the repository, or nvueschema is not installed",
)


def quick_or_slow(release: str) -> object:
    return pytest.param(release, marks=[] if release in WORDED else [pytest.mark.slow])


def run_judge(release: str, files: Iterable[Path]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(VALIDATOR), "-r", release, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def write_switches(folder: Path, switches: dict[str, Switch], release: str) -> list[Path]:
    files = []
    for name, switch in switches.items():
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(CUMULUS.render(replace(switch, release=release))["startup.yaml"])
    return files


def assert_accepted(release: str, files: list[Path], but: str = "") -> None:
    """No remark on any file, but for one remark `but` on each file of which the judge has one."""
    verdict = run_judge(release, files)
    remarks = [line.strip() for line in verdict.stdout.splitlines() if ": ok (" not in line]
    if not but:
        assert (verdict.returncode, remarks) == (0, []), verdict.stdout + verdict.stderr
        return
    invalid = [line for line in remarks if ": INVALID (" in line]
    assert invalid
    assert [line.startswith(but) for line in remarks if line not in invalid] == [True] * len(invalid), (
        verdict.stdout
    )


def of_catalog(wanted: Callable[[str], bool]) -> dict[str, Switch]:
    """The models of these names, each in a breakout."""
    return {name: full_switch(MODELS[name], breakout) for name, breakout in CASES if wanted(name)}


def full_switch(model: SwitchModel, breakout: Breakout) -> Switch:
    """The sample ToR as this model, every fabric port leading to a spine without profile or session."""
    children = breakout.children
    ports = tuple(
        Port(
            CUMULUS.port_name(model, cage, child, children), cage, child, children, breakout.lanes,
            breakout.speed_gbps, Direction.UP, True, 9100, Peer(f"spine{cage}", f"p{child}"),
        )
        for group in model.cages
        if group.fabric
        for cage in range(group.first, group.first + group.count)
        for child in range(1, children + 1)
    )  # fmt: skip
    sample = samples.tor(model=model, nos="cumulus")
    profile = sample.qos.profiles[0].name
    ports = tuple(replace(port, profile=profile) for port in ports)
    return replace(sample, ports=ports, bgp=replace(sample.bgp, sessions=()))


@pytest.mark.spread
@needs_models
@pytest.mark.parametrize("release", [quick_or_slow(release) for release in CUMULUS.releases])
def test_every_variant_way_out_and_family_of_asics_is_valid(release: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(f"nvueschema.models.v{release.replace('.', '_')}") is None:
        pytest.skip(f"nvueschema has no model of {release}")
    switches = {name: variant(name, release) for name in VARIANTS}
    switches |= {f"outward-{at}": switch for at, switch in enumerate(outward.switches("cumulus"))}
    switches |= {f"tenants-{at}": switch for at, switch in enumerate(tenanted.switches("cumulus"))}
    of_family = {MODELS[name].asic_family: name for name, _ in CASES}.values()
    switches |= of_catalog(lambda name: name in of_family)
    # The walk takes every list for a mistake; this one is a list in the model, as the test below shows.
    has_list = natural_key(release) >= natural_key("5.15")
    but = "error: system.aaa.authentication.order: YAML list" if has_list else ""
    assert_accepted(release, write_switches(tmp_path, switches, release), but)


@pytest.mark.slow
@needs_models
def test_the_order_of_login_methods_is_a_list_in_the_model_of_5_15() -> None:
    from nvueschema.models.v5_15 import NvueConfigSystemAaaAuthentication as Authentication

    assert Authentication.model_validate({"order": ["tacacs", "local"]}, strict=True).order == [
        "tacacs",
        "local",
    ]
    with pytest.raises(ValueError, match="order"):
        Authentication.model_validate({"order": {"tacacs": {}, "local": {}}}, strict=True)


@needs_models
@pytest.mark.slow
@pytest.mark.parametrize("release", WORDED)
def test_every_model_of_the_catalog_is_valid(release: str, tmp_path: Path) -> None:
    assert_accepted(release, write_switches(tmp_path, of_catalog(lambda _: True), release))


@needs_models
@pytest.mark.parametrize(
    ("written_for", "judged_by"),
    [pytest.param("5.14", "5.15", marks=pytest.mark.slow), ("5.15", "5.14"), ("5.12", "5.13")],
)
def test_the_judge_knows_the_renames(written_for: str, judged_by: str, tmp_path: Path) -> None:
    files = write_switches(tmp_path, {"dual": VARIANTS["dual"]}, written_for)
    assert run_judge(judged_by, files).returncode == 1


@pytest.mark.spread
@pytest.mark.parametrize(
    ("name", "breakout"), CASES, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_every_model_reads_back_in_every_breakout(name: str, breakout: Breakout) -> None:
    switch = full_switch(MODELS[name], breakout)
    assert {gap.code for gap in CUMULUS.gaps(switch)} == {"FAB5843"}
    reading = CUMULUS.read(CUMULUS.render(switch))
    assert reading.unknown == []
    assert reading.facts == CUMULUS.planned(switch)
    assert len({port.name for port in switch.ports}) == len(switch.ports)
