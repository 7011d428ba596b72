"""The drivers are found by name, outside fabricc too, and hide nobody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from napalm import get_network_driver
from napalm.base.base import NetworkDriver

import custom_napalm
from fabricc.operate.drivers import DRIVERS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("nos", sorted(DRIVERS))
def test_every_driver_is_found_and_states_its_confirm_step(nos: str) -> None:
    found = get_network_driver(DRIVERS[nos])
    assert issubclass(found, NetworkDriver)
    assert found.__module__ == f"fabricc.operate.drivers.{nos}"
    assert found.CONFIRM_STEP >= 0
    assert (ROOT / "fabricc" / "back" / "nos" / nos).is_dir(), "named after the NOS it drives"


@pytest.mark.parametrize("name", ["eos", "nxos", "junos"])
def test_napalms_own_drivers_keep_their_names(name: str) -> None:
    assert get_network_driver(name).__module__.startswith("napalm.")


@pytest.mark.slow
def test_another_distribution_can_add_drivers(tmp_path: Path) -> None:
    assert custom_napalm.__file__ is None, "a namespace package has no __init__.py"
    (tmp_path / "custom_napalm").mkdir()
    (tmp_path / "custom_napalm" / "theirs.py").write_text(
        "from napalm.base import base\nclass TheirDriver(base.NetworkDriver): pass\n"
    )
    program = (
        f"import sys; sys.path.append({str(tmp_path)!r}); from napalm import get_network_driver as get; "
        "print(get('theirs').__name__, get('frr').__name__)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout.split() == ["TheirDriver", "FrrDriver"]


@pytest.mark.parametrize("name", ["frr", "sonic", "cumulus"])
def test_no_getter_of_ours_hides_behind_one_that_napalm_leaves_out(name: str) -> None:
    """NAPALM's base class has every getter, each of which raises that it is missing."""
    driver = get_network_driver(name)
    reported = (
        "get_lldp_neighbors_detail",
        "get_bgp_neighbors",
        "get_interfaces",
        "get_interfaces_counters",
        "get_config",
    )
    assert [one for one in reported if getattr(driver, one) is getattr(NetworkDriver, one)] == []


def test_drivers_stand_alone() -> None:
    program = (
        "import sys; from napalm import get_network_driver as get; "
        "[get(name) for name in ('frr', 'sonic', 'cumulus', 'fabricc_eos', 'fabricc_nxos', 'fabricc_junos')]; "
        "print([name for name in sys.modules if name.startswith('fabricc.') and not name.startswith("
        "('fabricc.operate.drivers', 'fabricc.base.foreign', 'fabricc.base.numbers', 'fabricc.base.secret_words', "
        "'fabricc.base.sonic_tables'))"
        " and name.count('.') > 1])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_revert_script_of_sonic_passes_shellcheck() -> None:
    import shutil

    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    script = ROOT / "fabricc" / "operate" / "drivers" / "sonic_revert.sh"
    ran = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
    assert ran.stdout == ""
