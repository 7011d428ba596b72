"""The identities that drivers read from answers that real switches printed, where a copy of those answers is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.operate.devices.identity import identity_of
from fabricc.operate.drivers import nxos_views
from fabricc.operate.drivers.eos_connection import _identity_of_answers
from tests.operate.drivers.servers.eos import EosSwitch, eos_switch
from tests.operate.drivers.servers.nxos import NxosSwitch, nxos_switch

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PLACES = [above / "shared" / "answers" for above in (ROOT, ROOT.parent, ROOT.parent.parent)]
ANSWERS = next((place for place in PLACES if place.is_dir()), PLACES[1])
needed = pytest.mark.skipif(
    not ANSWERS.is_dir(), reason="the published answers are not beside this repository (../shared/answers)"
)


def answer_files(pattern: str) -> list[Path]:
    return sorted(ANSWERS.glob(pattern))


def each_answer(pattern: str) -> Iterator[tuple[str, Any]]:
    for path in answer_files(pattern):
        try:
            yield str(path), json.loads(path.read_text())
        except ValueError:
            continue  # the device did not answer with JSON


@needed
def test_every_version_of_eos_has_the_serial_number_that_it_prints() -> None:
    found = list(each_answer("eos/**/show_version.json"))
    assert len(found) > 3
    for path, version in found:
        identity = _identity_of_answers(version, {"hostname": "localhost", "fqdn": "localhost"})
        assert identity == {"hostname": "localhost", "serial_number": version.get("serialNumber", "")}, path


@needed
def test_a_container_of_eos_has_the_identity_that_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ANSWERS / "eos/napalm-eos"
    version = json.loads((folder / "test_get_environment/ceos430/show_version.json").read_text())
    hostname = json.loads((folder / "test_get_facts/normal/show_hostname.json").read_text())
    reported = {"show version": version, "show hostname": hostname}
    usual = EosSwitch._run

    def run(self: EosSwitch, text: str) -> dict[str, Any]:
        return dict(reported[text]) if text in reported else usual(self, text)

    monkeypatch.setattr(EosSwitch, "_run", run)
    with eos_switch(tmp_path) as server, server.device.connect() as driver:
        found = driver.get_identity()
    assert found == {"hostname": "localhost", "serial_number": "DE5B7D98C24A207BE70876CC0AD5546F"}


@needed
def test_every_inventory_of_nxos_has_a_chassis() -> None:
    found = [
        *each_answer("nxos/napalm-nxos/test_get_facts/*/show_inventory.json"),
        *each_answer("nxos/napalm-nxos_ssh/test_get_facts/*/show_inventory___json.txt"),
    ]
    assert len(found) > 3
    for path, inventory in found:
        serial = nxos_views.chassis_serial(inventory)
        assert serial, path
        expected = Path(path).with_name("expected_result.json")
        if expected.exists():
            assert json.loads(expected.read_text())["serial_number"] == serial, path


@needed
def test_a_hostname_of_nxos_with_its_domain_is_the_switch_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ANSWERS / "nxos/napalm-nxos/test_get_facts"
    hostname = json.loads((folder / "normal/show_hostname.json").read_text())
    inventory = json.loads((folder / "N9000/show_inventory.json").read_text())
    tables = {"show hostname": hostname, "show inventory": inventory}
    usual = NxosSwitch._table
    monkeypatch.setattr(NxosSwitch, "_table", lambda self, text: tables.get(text) or usual(self, text))
    with nxos_switch(tmp_path) as server, server.device.connect() as driver:
        found = driver.get_identity()
    assert found == {"hostname": hostname["hostname"], "serial_number": "TM6017D760B"}
    assert (
        identity_of(found, {}).matching_name(frozenset({"nxos-spine1", "nxos-spine2"}), "") == "nxos-spine1"
    )
