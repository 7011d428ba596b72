"""Host keys are learnt from nobody but the user: an opt-out from their verification leaves no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import ConnectionException

from fabricc.operate.devices.login import Login
from tests.operate.drivers.servers.junos import junos_switch
from tests.operate.drivers.servers.linux_switch import linux_switch
from tests.operate.drivers.servers.nxos import nxos_switch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD = "- set: {system: {hostname: old}}\n"
OTHER = "192.0.2.1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
SWITCHES: dict[str, Callable[[Path], Any]] = {
    "cumulus": lambda folder: linux_switch(folder, "cumulus", OLD),
    "nxos": nxos_switch,
    "junos": junos_switch,
}


def use_driver(driver: Any) -> None:
    """Open every connection that the driver has."""
    driver.open()
    try:
        driver.load_replace_candidate(config=OLD)
        driver.discard_config()
    finally:
        driver.close()


@pytest.mark.parametrize("nos", SWITCHES)
def test_an_opt_out_stores_no_key_that_a_verified_login_would_trust(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    known = tmp_path / "mine"
    known.write_text(OTHER)
    with SWITCHES[nos](tmp_path) as switch:
        use_driver(switch.device.connect(alt_key_file=str(known), ssh_strict=False))
        assert known.read_text() == OTHER
        assert list((home / ".ssh").iterdir()) == []
        with pytest.raises(ConnectionException):
            use_driver(switch.device.connect(alt_key_file=str(known), ssh_strict=True))


def test_drivers_of_others_get_no_file_to_store_keys_in() -> None:
    assert Login(known_hosts="mine").arguments()["alt_key_file"] == "mine"
    assert "alt_key_file" not in Login(known_hosts="mine", verify=False).arguments()
