"""A disk of a switch that is full when the files of a candidate are written: the file and the reason are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from napalm.base.exceptions import NapalmException

from fabricc.operate.drivers.bundle import pack_bundle
from tests.operate.drivers.servers.linux_switch import linux_switch

if TYPE_CHECKING:
    from pathlib import Path

CANDIDATES = {
    "sonic": pack_bundle(
        {"config_db.json": json.dumps({"PORT": {"Ethernet0": {"mtu": "9100"}}}), "frr.conf": "hostname a\n"}
    ),
    "cumulus": "- set:\n    system:\n      hostname: a\n",
}
WRITTEN = [
    ("sonic", "config_db.json", "config_db.json"),
    ("sonic", "target.json", "target.json"),
    ("cumulus", "startup.yaml", "startup.yaml on the switch"),
]


@pytest.mark.parametrize(("nos", "file", "name"), WRITTEN)
@pytest.mark.spread
def test_the_file_and_the_reason_are_reported(nos: str, file: str, name: str, tmp_path: Path) -> None:
    with linux_switch(
        tmp_path, nos, json.dumps({"PORT": {}}) if nos == "sonic" else "- header: {}\n", "hostname old\n"
    ) as switch:
        with switch.device.connect() as driver:
            driver.load_replace_candidate(config=CANDIDATES[nos])
            driver.discard_config()
            folders = [path.parent for path in (switch.root / "home").rglob("guard")]
            for folder in {*folders, *(switch.root / "lib").glob("napalm*")}:
                (folder / f"{file}.new").symlink_to("/dev/full")
            with pytest.raises(NapalmException) as refused:
                driver.load_replace_candidate(config=CANDIDATES[nos])
        output = str(refused.value)
    assert "No space left on device" in output
    assert name in output
    assert "None" not in output
