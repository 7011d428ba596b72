"""`adopt` reads hashed accounts and NTP authentication back as references, and writes no hash and no key anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.audit.adopt import report, run
from tests.audit.adopted import compiled_of
from tests.audit.fabrics import collect_devices, device, found_of

if TYPE_CHECKING:
    from fabricc.audit.adopt.run import Adoption

HASHES = {
    "FABRICC-SECRET-ada-hash": "$6$q8dQvZlw$kAdaHashOfAPasswordThatNobodyMaySee1234567890abcdefghijk.",
    "FABRICC-SECRET-bob-hash": "$6$r9eRwAmx$kBobHashOfAPasswordThatNobodyMaySee1234567890abcdefghijk.",
}
KEY = "FABRICC-SECRET-clock"
SYSTEMS = {
    "eos": ("7060x6-64pe", "eos", {f" 0 {KEY}": " 7 070E234F1F5B4A51"}),
    "nxos": ("9364d-gx2a", "nxos", {f" {KEY} 0": " wawyKey51 7"}),
    "junos": ("qfx5240-64od", "junos", {f"value {KEY}": 'value "$9$Key51aZDjq.5F"'}),
    "cumulus": ("sn5600", "cumulus-5.15", {f"value: {KEY}": "value: '$nvsec$Key51aZDjq'"}),
}
PRINTED = ("HashOfAPassword", "070E234F1F5B4A51", "Key51")
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7example"


@pytest.fixture(
    scope="module",
    params=["eos", *(pytest.param(name, marks=pytest.mark.slow) for name in ("nxos", "junos", "cumulus"))],
)
def adoption(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Adoption:
    """Return what adopting switches comes to that print hashes and keys in the forms of their systems."""
    model, system, forms = SYSTEMS[request.param]
    box = {"model": model, "nos": system}
    management = {
        "ntp": ["172.16.0.2"],
        "ntp_authentication": {"key_id": 4, "type": "md5", "key": {"secret": "clock"}},
        "users": [
            {"name": "ada", "ssh_key": SSH_KEY, "password": {"secret": "ada-hash"}},
            {"name": "bob_the_builder", "ssh_key": SSH_KEY, "password": {"secret": "bob-hash"}},
            {"name": "cy", "ssh_key": SSH_KEY},
        ],
    }
    fabric = {
        "cluster": "zone",
        "gpus": {"model": "dgx-h100", "wiring": "rack", "racks": {"r1": ["h1"]}, "hosts_per_rack": 1},
        "tors": {**box, "uplinks": 8},
        "spines": {**box, "count": 1},
        "priorities": {"default": {}},
        "management": management,
    }
    compiled = compiled_of(fabric, tmp_path_factory.mktemp(request.param))
    assert compiled.sound, [found.message for found in compiled.diagnostics]
    found = {}
    for name, each in collect_devices(compiled, hosts=False).items():
        files = dict(each.files)
        for file, text in files.items():
            for old, new in {**forms, **HASHES}.items():
                assert old in text, f"{name} has no {old}"
                text = text.replace(old, new)
            files[file] = text
        found[name] = device(name, each.system, files)
    return run.adopted_of(found_of(found), Path("folder"), "zone")


@pytest.mark.slow
def test_hashed_accounts_and_keys_of_time_servers_are_references(adoption: Adoption) -> None:
    management = yaml.safe_load(adoption.files["cluster.yaml"])["management"]
    assert management["ntp_authentication"] == {"key_id": 4, "type": "md5", "key": {"secret": "ntp"}}
    passwords = {user["name"]: user.get("password") for user in management["users"]}
    assert passwords == {
        "ada": {"secret": "ada-hash"},
        "bob_the_builder": {"secret": "user-2-hash"},
        "cy": None,
    }
    assert adoption.adopted.compiled.sound
    assert adoption.adopted.differences == {name: [] for name in adoption.adopted.differences}
    assert "overlays" not in adoption.adopted.draft.words


@pytest.mark.slow
def test_no_hash_and_no_key_is_written_anywhere(adoption: Adoption, tmp_path: Path) -> None:
    run.write_adoption(adoption, tmp_path / "out", {})
    written = "".join(path.read_text() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file())
    messages = [f"{found.message} {found.help}" for found in adoption.findings]
    logged = "\n".join([report.as_text(adoption), str(report.as_json(adoption)), *messages])
    facts = [str(value) for each in adoption.found.devices.values() for value in each.reading.facts.values()]
    for secret in PRINTED:
        assert secret not in written
        assert secret not in logged
        assert not [value for value in facts if secret in value], secret
