"""The result of an upgrade equals what the specs of both releases build; a forbidden one is rejected with its
reason.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from fabricc.back import nos as back_ends
from fabricc.back.nos.limits import changed_features, image_step
from fabricc.catalog.library import Library
from fabricc.compiler.compiled import compile_spec
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

ROOT = Path(__file__).parents[3]
SUPERPOD = ROOT / "inventories" / "superpod-b200-4su" / "cluster.yaml"
WHOLE = ROOT / "inventories" / "whole-cluster-256" / "cluster.yaml"
SONIC = """\
cluster: small
gpus: {model: hgx-8gpu, hosts: 4, hosts_per_unit: 2}
tors: {model: sn4700, nos: sonic-202305, uplinks: 4}
spines: {model: sn4700, nos: sonic-202305, count: 4}
routing: {bfd: false}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
management: {dns: [172.16.0.2]}
"""


def read_answer(ran: Ran) -> dict[str, Any]:
    assert ran.status in (0, 1), ran.err
    found: dict[str, Any] = json.loads(ran.out)
    Draft202012Validator(json.loads((ROOT / "schemas" / "upgrade.schema.json").read_text())).validate(found)
    return found


def upgrade(fabricc: Callable[..., Ran], spec: Path, *words: str) -> dict[str, Any]:
    return read_answer(fabricc("upgrade", str(spec), *words, "--format", "json"))


@pytest.mark.slow
def test_the_spec_that_is_written_runs_the_release_everywhere_and_that_of_before_is_as_it_was(
    tmp_path: Path, fabricc: Callable[..., Ran]
) -> None:
    found = upgrade(fabricc, SUPERPOD, "--to", "sonic-202511", "--write", str(tmp_path / "up"))
    assert found["words"] == {"tors.nos": "sonic-202511", "spines.nos": "sonic-202511"}
    after = compile_spec(tmp_path / "up" / "after" / "cluster.yaml")
    assert after.lock_before == after.lock_text == compile_spec(SUPERPOD).lock_text
    assert {(tier.nos, tier.release) for tier in after.fabric.tiers.values()} == {("sonic", "202511")}
    assert (tmp_path / "up" / "before" / "cluster.yaml").read_bytes() == SUPERPOD.read_bytes()
    assert "version_202511_01" in found["return"][0]
    assert "version_202505_01" in found["return"][0]


def test_every_wave_keeps_the_share_and_all_switches_are_in_one(fabricc: Callable[..., Ran]) -> None:
    found = upgrade(fabricc, SUPERPOD, "--to", "sonic-202511", "--keep", "75%")
    waves = found["waves"]["compute"]
    names = [name for wave in waves for name in wave["switches"]]
    assert sorted(names) == sorted(each["name"] for each in found["switches"])
    assert len(names) == len(set(names)) == 48
    assert all(wave["kept"] >= 0.75 for wave in waves)
    tiers = [
        {each["tier"] for each in found["switches"] if each["name"] in wave["switches"]} for wave in waves
    ]
    assert [len(tier) for tier in tiers] == [1] * len(waves)
    assert waves[0]["canary"]
    assert fabricc("upgrade", str(SUPERPOD), "--to", "sonic-202511", "--keep", "99%").status == 1


def test_features_are_those_that_the_capability_rows_give_one_release_and_not_the_other() -> None:
    switches = {}
    for release in ("202305", "202511"):
        fabric = compile_spec(SUPERPOD).fabric
        at = next(iter(fabric.switch_ids()))
        switches[release] = replace(fabric.switch(at), release=release)
    old, new = switches["202305"], switches["202511"]
    up, down = changed_features(old, new), changed_features(new, old)
    assert {each.name for each in up} == {each.name for each in down} != set()
    assert all(each.comes for each in up if "DNS_NAMESERVER" in each.words or "GNMI" in each.words)
    assert any("DNS_NAMESERVER" in each.words for each in up)
    assert not any(each.comes for each in down if "DNS_NAMESERVER" in each.words)
    assert changed_features(new, new) == ()


@pytest.mark.parametrize("nos", sorted(back_ends.BUILT_IN))
def test_every_system_recognizes_its_releases(nos: str) -> None:
    fabric = compile_spec(SUPERPOD).fabric
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    models = {"eos": "7060x6-64pe", "nxos": "9332d-gx2b", "junos": "qfx5240-64od", "frr": "linux-64x400"}
    library = Library()
    model = library.switch(models[nos]) if nos in models else switch.model
    releases = back_ends.load(nos).releases
    old, new = (replace(switch, nos=nos, release=each, model=model) for each in (releases[0], releases[-1]))
    assert all(isinstance(each.name, str) and "{" not in each.name for each in changed_features(old, new))


@pytest.mark.parametrize("nos", sorted(back_ends.BUILT_IN))
def test_every_system_has_image_and_rollback_steps_with_a_source(nos: str) -> None:
    releases = back_ends.load(nos).releases
    step = image_step(nos, releases[-2], releases[-1])
    assert step is not None
    assert all((step.check, step.install, step.back, step.limits, step.sources))
    assert set(step.assumed) <= {"check", "install", "back"}
    assert image_step("openconfig", "1", "2") is None


ASKS = {
    "reload": "now",
    "install all": "non-interruptive",
    "install epld": None,  # no option of it skips the question
    "request system reboot": None,
    "request system software": "reboot",
    "nv action reboot": "no-confirm",
    "apt-get install": "-y",
    "sonic-installer install": "-y",
}
"""Commands that prompt, and the word that prevents it; None: a line of `limits` names the question."""


@pytest.mark.parametrize("nos", sorted(back_ends.BUILT_IN))
def test_no_command_of_an_image_step_waits_for_an_answer(nos: str) -> None:
    releases = back_ends.load(nos).releases
    step = image_step(nos, releases[-2], releases[-1])
    assert step is not None
    for command in (*step.install, *step.back):
        for asking, skipping in ASKS.items():
            if command.startswith(asking):
                assert (
                    skipping in command.split() if skipping else f"`{asking}` asks" in " ".join(step.limits)
                )


def test_commands_of_an_image_step_are_those_that_the_release_has() -> None:
    ways = {
        pair: image_step("cumulus", *pair) for pair in (("5.9", "5.11"), ("5.11", "5.12"), ("5.10", "5.14"))
    }
    assert {pair: (bool(way.install), bool(way.back)) for pair, way in ways.items() if way} == {
        ("5.9", "5.11"): (False, False),
        ("5.11", "5.12"): (True, True),
        ("5.10", "5.14"): (False, True),
    }


def test_the_image_step_of_a_system_is_reported_with_its_return_path(
    fabricc: Callable[..., Ran], tmp_path: Path
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SONIC.replace("sn4700, nos: sonic-202305", "7060dx5-64s, nos: eos-4.31"))
    found = upgrade(fabricc, spec, "--to", "eos-4.32", "--keep", "50%")
    (step,) = found["image_step"]
    assert step["back"] == ["boot system flash:IMAGE-OF-BEFORE", "write memory", "reload now"]
    assert found["return"] == [], "nothing that the spec of before does not bring back"
    reported = fabricc("upgrade", str(spec), "--to", "eos-4.32", "--keep", "50%").out
    assert "on the switch: verify /sha512 flash:IMAGE (assumed" in reported
    assert "boot system flash:IMAGE-OF-BEFORE; write memory; reload now" in reported


def test_some_switches_go_first_by_their_overrides(fabricc: Callable[..., Ran]) -> None:
    found = upgrade(fabricc, SUPERPOD, "--to", "sonic-202511", "--only", "spine01a", "--only", "spine02a")
    assert found["words"] == {
        "overrides.spine01a.nos": "sonic-202511",
        "overrides.spine02a.nos": "sonic-202511",
    }
    assert [each["name"] for each in found["switches"]] == ["spine01a", "spine02a"]
    assert {name for change in found["changes"] for name in change["devices"]} == {"spine01a", "spine02a"}
    assert "--only spine01a --only spine02a" in found["steps"][3]


def test_only_switches_that_run_the_release_to_leave_are_meant(
    tmp_path: Path, fabricc: Callable[..., Ran]
) -> None:
    shutil.copytree(SUPERPOD.parent, tmp_path / "spec")
    spec = tmp_path / "spec" / "cluster.yaml"
    spec.write_text(spec.read_text() + "overrides: {spine01a: {nos: sonic-202411}}\n")
    found = upgrade(fabricc, spec, "--to", "sonic-202511", "--from", "sonic-202411")
    assert found["words"] == {"overrides.spine01a.nos": "sonic-202511"}
    assert len(upgrade(fabricc, spec, "--to", "sonic-202511")["switches"]) == 48


def test_every_network_goes_with_its_own_words_and_waves(fabricc: Callable[..., Ran]) -> None:
    found = upgrade(fabricc, WHOLE, "--to", "sonic-202511", "--keep", "50%")
    assert set(found["words"]) == {
        "tors.nos",
        "spines.nos",
        "networks.storage.tors.nos",
        "networks.storage.spines.nos",
    }
    assert set(found["waves"]) == {"compute", "storage"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--to", "sonic-202305"), "FAB9422"),
        (("--to", "sonic-209901"), "FAB9420"),
        (("--to", "sonik-202505"), "FAB9420"),
        (("--to", "sonic-202505"), "FAB9421"),
        (("--to", "eos-4.33"), "FAB9421"),
        (("--to", "sonic-202511", "--only", "spine99"), "FAB9421"),
        (("--to", "sonic-202511", "--from", "sonic-202405"), "FAB9421"),
    ],
)
def test_impossible_upgrades_are_rejected(
    fabricc: Callable[..., Ran], words: tuple[str, ...], code: str
) -> None:
    ran = fabricc("upgrade", str(SUPERPOD), *words)
    assert (ran.status, code in ran.err) == (1, True), ran.err


@pytest.mark.slow
def test_images_are_held_to_their_checksums(tmp_path: Path, fabricc: Callable[..., Ran]) -> None:
    content = b"an image"
    digest = hashlib.sha256(content).hexdigest()
    table = tmp_path / "images.csv"
    models = sorted(
        {each["model"] for each in upgrade(fabricc, SUPERPOD, "--to", "sonic-202511")["switches"]}
    )
    assert len(models) == 1
    head = "nos,release,model,file,sha256\n"
    table.write_text(f"{head}sonic,202511,*,sonic.bin,{digest}\nsonic,202505,*,old.bin,{digest}\n")
    words = ("--to", "sonic-202511", "--images", str(table))
    found = upgrade(fabricc, SUPERPOD, *words)
    assert found["images"] == {models[0]: {"file": "sonic.bin", "sha256": digest, "present": False}}
    (tmp_path / "sonic.bin").write_bytes(content)
    assert upgrade(fabricc, SUPERPOD, *words)["images"][models[0]]["present"]
    (tmp_path / "sonic.bin").write_bytes(b"another")
    ran = fabricc("upgrade", str(SUPERPOD), *words)
    assert (ran.status, "FAB9425" in ran.err) == (1, True)
    for wrong in (
        "",
        "a,b\n",
        head,
        f"{head}sonic,202511,*,sonic.bin,12\n",
        f"{head}sonic,202505,*,o,{digest}\n",
    ):
        table.write_text(wrong)
        ran = fabricc("upgrade", str(SUPERPOD), *words)
        assert (ran.status, "FAB9424" in ran.err) == (1, True), wrong


def test_upgrade_and_downgrade_list_release_specific_features(
    tmp_path: Path, fabricc: Callable[..., Ran]
) -> None:
    spec = specs.write(tmp_path, SONIC)
    late = {"FAB5327", "FAB5632", "FAB5633", "FAB5635"}
    up = upgrade(fabricc, spec, "--to", "sonic-202505", "--keep", "50%")
    assert (up["gaps"], {gap["code"] for gap in up["gaps_closed"]}) == ([], late)
    coming = {each["name"] for each in up["features"] if each["comes"]}
    assert {"name servers", "packet trimming"} <= coming
    spec.write_text(SONIC.replace("202305", "202505"))
    down = upgrade(fabricc, spec, "--to", "sonic-202305", "--keep", "50%")
    assert ({gap["code"] for gap in down["gaps"]}, down["gaps_closed"]) == (late, [])
    assert coming == {each["name"] for each in down["features"] if not each["comes"]}
    assert up["impact"] == "reload"
    assert {name for change in up["changes"] for name in change["devices"]} == {
        each["name"] for each in up["switches"]
    }
