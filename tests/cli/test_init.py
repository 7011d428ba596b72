"""`fabricc init` with options and with questions: the spec of the answers builds, or nothing is written."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.base.diagnostics import Severity
from fabricc.base.values import replace
from fabricc.catalog.load import load_catalog
from fabricc.cli.entry import run
from fabricc.cli.first_spec import DEFAULTS, fit_spec, systems_of, write_spec
from fabricc.cli.init import STARTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ROOT = Path(__file__).parents[2]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEjhzufzhLoxifVx4AilwD7fumDWzpoa8lsY0YjL3P7x netops"
STATED = (STARTER / "cluster.yaml").read_text("utf-8")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.pub"
    path.write_text(f"{KEY}\n")
    return path


def spec_of(fabricc: Fabricc, folder: Path, *options: str) -> dict[str, object]:
    ran = fabricc("init", str(folder), *options)
    assert ran.status == 0, ran.err
    spec: dict[str, object] = yaml.safe_load((folder / "cluster.yaml").read_text("utf-8"))
    assert fabricc("validate", str(folder / "cluster.yaml")).status == 0
    assert fabricc("fmt", "--check", str(folder / "cluster.yaml")).status == 0
    return spec


def test_without_options_the_starter_is_written_as_it_stands(fabricc: Fabricc, tmp_path: Path) -> None:
    catalog, _ = load_catalog()
    assert fit_spec(STATED, DEFAULTS, catalog) == (STATED, ())
    assert fabricc("init", str(tmp_path / "a")).status == 0
    assert (tmp_path / "a" / "cluster.yaml").read_text("utf-8") == STATED


def test_a_line_in_a_comment_belongs_where_it_stands(fabricc: Fabricc, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(STATED.replace("  # ntp:", "  ntp:"))
    assert yaml.safe_load(spec.read_text())["management"]["ntp"]
    assert fabricc("validate", str(spec)).status == 0


def test_a_quote_for_b300_becomes_a_spec(fabricc: Fabricc, tmp_path: Path, key: Path) -> None:
    options = ["--hosts", "dgx-b300-2x400", "--count", "64", "--switches", "sn5600", "--cluster", "hall-3"]
    spec = spec_of(fabricc, tmp_path / "a", *options, "--network", "storage", "--ssh-key", str(key))
    assert spec["cluster"] == "hall-3"
    assert spec["gpus"]["hosts_per_unit"] == 32  # type: ignore[index]
    assert spec["networks"]["storage"]["tors"]["model"] == "sn5600"  # type: ignore[index]
    assert spec["management"]["users"] == [{"name": "netops", "ssh_key": KEY}]  # type: ignore[index]
    assert "build/hall-3/" in (tmp_path / "a" / "README.md").read_text("utf-8")


def test_ports_that_the_nic_splits_become_planes(fabricc: Fabricc, tmp_path: Path) -> None:
    ran = fabricc("init", str(tmp_path / "a"), "--hosts", "dgx-b300", "--nos", "cumulus")
    assert "FAB3350" not in ran.out + ran.err
    spec = yaml.safe_load((tmp_path / "a" / "cluster.yaml").read_text("utf-8"))
    assert spec["planes"] == 2
    assert fabricc("fmt", "--check", str(tmp_path / "a" / "cluster.yaml")).status == 0


@pytest.mark.slow
def test_several_ports_of_a_nic_become_planes_where_one_fabric_is_too_large() -> None:
    answers = replace(DEFAULTS, hosts="hgx-b300-8x100", count=24, capacity=24, nos="cumulus-5.17")
    text, found = fit_spec(STATED, answers, load_catalog()[0])
    assert not [each for each in found if each.severity is Severity.ERROR]
    assert "FAB5843" not in {each.code for each in found}, "SSH answers the management network alone"
    assert yaml.safe_load(text)["planes"] == 8


def test_ports_become_planes_where_the_switch_has_slower_ports_alone(
    fabricc: Fabricc, tmp_path: Path
) -> None:
    spec = spec_of(
        fabricc, tmp_path / "a", "--hosts", "hgx-b300", "--switches", "sn5640", "--nos", "cumulus-5.18"
    )
    assert spec["planes"] == 2


def test_a_third_tier_joins_more_tors_than_a_spine_reaches(fabricc: Fabricc, tmp_path: Path) -> None:
    options = ["--hosts", "dgx-a100", "--count", "140", "--switches", "sn4700", "--nos", "cumulus-5.13"]
    spec = spec_of(fabricc, tmp_path / "a", *options)
    assert spec["cores"] == spec["spines"] == {"model": "sn4700", "nos": "cumulus-5.13"}


@pytest.mark.parametrize(
    ("hosts", "count", "switches", "nos", "keys"),
    [
        ("hgx-b300", 128, "7060xe7-64ps", "eos-4.36", {"tors": 800}),
        ("hgx-b300", 3000, "7060xe7-64ps", "eos-4.36", {"tors": 800, "spines": 800}),
        ("hgx-h200", 1024, "9364e-sg2", "nxos-10.6", {"core": 100}),
        ("hgx-h200", 64, "7060x6-64pe", "sonic-202505", {"tors": 400}),
        ("hgx-h200", 64, "qfx5240-64od", "junos-24.4", {}),
    ],
)
def test_links_have_a_speed_and_a_length_with_headroom(
    hosts: str, count: int, switches: str, nos: str, keys: dict[str, int]
) -> None:
    answers = replace(
        DEFAULTS, hosts=hosts, count=count, capacity=count, switches=switches, nos=nos, hosts_per_unit=32,
        user="netops", ssh_key=KEY,
    )  # fmt: skip
    text, found = fit_spec(STATED, answers, load_catalog()[0])
    assert not [each for each in found if each.severity is Severity.ERROR]
    assert "FAB5843" not in {each.code for each in found}, "SSH answers the management network alone"
    spec = yaml.safe_load(text)
    written = {name: spec[name]["uplink_gbps"] for name in ("tors", "spines") if "uplink_gbps" in spec[name]}
    written |= {name: cable["length_m"] for name, cable in spec.get("cables", {}).items()}
    assert written == keys


@pytest.mark.parametrize(
    ("switches", "nos", "user", "codes", "password"),
    [
        ("7060x6-64pe", "eos-4.32", "netops", set(), ("netops-hash", "passwd -6")),
        ("9364d-gx2a", "nxos-10.4", "net_ops", {"FAB5685"}, ("account-hash", "passwd -5")),
        ("qfx5240-64od", "junos-24.4", "netops", {"FAB5505", "FAB5507", "FAB5524"}, None),
    ],
)
def test_keys_that_settle_a_warning_are_written(
    switches: str, nos: str, user: str, codes: set[str], password: tuple[str, str] | None
) -> None:
    answers = replace(
        DEFAULTS, count=32, capacity=32, switches=switches, nos=nos, hosts_per_unit=32, user=user, ssh_key=KEY
    )
    text, found = fit_spec(STATED, answers, load_catalog()[0])
    assert {each.code for each in found} == codes, "what is left has no key"
    spec = yaml.safe_load(text)
    (account,) = spec["management"]["users"]
    if password is None:
        assert "password" not in account, "Junos logs in with a key"
        assert spec["routing"] == {"bfd": {"interval_ms": 1000}}
    else:
        secret, command = password
        assert account["password"] == {"secret": secret}
        assert command in text
        assert "routing" not in spec


def test_room_to_grow_gives_way_to_two_tiers(fabricc: Fabricc, tmp_path: Path) -> None:
    options = ["--hosts", "xe9680", "--count", "60", "--switches", "z9432f", "--nos", "sonic-enterprise-4.5"]
    gpus = spec_of(fabricc, tmp_path / "a", *options)["gpus"]
    assert (gpus["capacity"], gpus["hosts_per_unit"]) == (60, 16)  # type: ignore[index]
    spec = spec_of(fabricc, tmp_path / "b", *options, "--capacity", "120")
    assert (spec["gpus"]["capacity"], "cores" in spec) == (120, True)  # type: ignore[index]


def test_a_further_network_takes_the_shape_that_fits(fabricc: Fabricc, tmp_path: Path, key: Path) -> None:
    options = ["--hosts", "hgx-b300-2x400", "--switches", "9364e-sg2", "--network", "storage=9332d-gx2b"]
    spec = spec_of(fabricc, tmp_path / "a", *options, "--ssh-key", str(key))
    storage = spec["networks"]["storage"]  # type: ignore[index]
    assert (storage["hosts_per_unit"], "count" in storage["spines"]) == (8, False)


def test_infiniband_switches_have_a_spec_that_builds(fabricc: Fabricc, tmp_path: Path) -> None:
    options = ["--hosts", "gb300-nvl72", "--count", "72", "--switches", "q3400"]
    spec = spec_of(fabricc, tmp_path / "a", *options)
    assert (spec["fabric"], spec["tors"]) == ("infiniband", {"model": "q3400", "oversubscription": 1.0})


def test_models_may_have_the_spelling_of_a_quote(fabricc: Fabricc, tmp_path: Path) -> None:
    done = fabricc("init", str(tmp_path), "--hosts", "HGX H200", "--switches", "SN5600", "--count", "32")
    spec = yaml.safe_load((tmp_path / "cluster.yaml").read_text())
    assert (spec["gpus"]["model"], spec["tors"]["model"]) == ("hgx-h200", "sn5600")
    assert f"The switches run {spec['tors']['nos']}; --nos also takes cumulus-" in done.out


def test_working_state_of_a_build_is_ignored_in_every_folder(fabricc: Fabricc, tmp_path: Path) -> None:
    assert fabricc("init", str(tmp_path)).status == 0
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    paths = ["build/.zone-a.lock", "halls/north one/build/.zone-a.lock", "halls/build/zone-a/manifest.json"]
    command = ["git", "-C", str(tmp_path), "check-ignore", "--", *paths]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines() == paths[:2]
    )


def test_nvlink_domains_become_racks(fabricc: Fabricc, tmp_path: Path) -> None:
    gpus = spec_of(fabricc, tmp_path / "a", "--hosts", "gb200-nvl72", "--count", "72")["gpus"]
    assert (gpus["racks"], gpus["hosts_per_rack"]) == (["r01", "r02", "r03", "r04"], 18)  # type: ignore[index]
    assert gpus["hosts_per_unit"] == 36, "the largest whole unit, whose ToRs are the fewest"  # type: ignore[index]


@pytest.mark.parametrize(
    ("switches", "nos", "size"), [("q3400", "infiniband", 72), ("sn5400", "sonic-202505", 18)]
)
def test_a_unit_has_as_many_nvlink_domains_as_cables_and_ports_permit(
    switches: str, nos: str, size: int
) -> None:
    answers = replace(DEFAULTS, hosts="gb300-nvl72", count=72, capacity=144, switches=switches, nos=nos)
    text, found = fit_spec(STATED, answers, load_catalog()[0])
    assert yaml.safe_load(text)["gpus"]["hosts_per_unit"] == size
    assert {"FAB3354"}.isdisjoint(each.code for each in found)


@pytest.mark.slow
def test_a_fabric_that_no_cable_fits_has_no_more_tiers_than_it_needs() -> None:
    """No cable joins the ports of these hosts and any switch (FAB3354), so cores do not help."""
    answers = replace(DEFAULTS, hosts="hgx-b300-8x100", count=500, capacity=500)
    text, found = fit_spec(STATED, answers, load_catalog()[0])
    spec = yaml.safe_load(text)
    assert ("cores" in spec, spec["gpus"]["hosts_per_unit"]) == (False, 64)
    assert "FAB3354" in {each.code for each in found}


def test_tenants_get_groups_and_segments(fabricc: Fabricc, tmp_path: Path) -> None:
    words = ["--tenant", "red=32", "--tenant", "blue=16", "--network", "frontend=linux-64x400:frr"]
    spec = spec_of(fabricc, tmp_path / "a", "--hosts", "dgx-b200", *words)
    assert [(each["name"], each["hosts"]) for each in spec["gpus"]["groups"]] == [("red", 32), ("blue", 16)]  # type: ignore[index]
    segments = spec["networks"]["frontend"]["evpn"]["segments"]  # type: ignore[index]
    assert {name: each["groups"] for name, each in segments.items()} == {"red": ["red"], "blue": ["blue"]}


def test_a_unit_takes_the_size_that_fits(fabricc: Fabricc, tmp_path: Path) -> None:
    """A rail of 32 hosts at 400G needs more ports than 32 x 400G gives with uplinks."""
    options = ["--hosts", "dgx-h100", "--count", "32", "--capacity", "32", "--switches", "sn4700"]
    spec = spec_of(fabricc, tmp_path / "a", *options)
    assert spec["gpus"]["hosts_per_unit"] == 16  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (["--hosts", "dgx-b30"], "Did you mean dgx-b300"),
        (["--hosts", "PowerEdge XE9780"], "Did you mean hgx-b300-2x400 or hgx-b300?"),
        (["--hosts", "abc"], "or add a model (`fabricc docs catalog`)"),
        (["--hosts", "L40S"], "a catalog file that extends rtx-pro-8gpu"),
        (["--switches", "Quantum-X800"], "Did you mean q3400 or q3401"),
        (["--hosts", "storage-2x400"], "has no GPUs"),
        (["--switches", "sn6810"], "no system of fabricc runs on sn6810"),
        (["--network", "storage=qm9700"], "has a spec of its own"),
        (["--switches", "qm9700", "--network", "storage=sn5600"], "has a spec of its own"),
        (["--cluster", "Hall 3"], "lower-case letters"),
        (["--network", "backup"], "storage and frontend"),
        (["--tenant", "red=3"], "needs a front end"),
        (["--count", "64", "--capacity", "32"], "less than the 64 hosts"),
        (["--user", "me"], "needs --ssh-key"),
        (["--count", "9", "--tenant", "red=3", "--network", "frontend=linux-64x400:frr"], "Give the other 6"),
    ],
)
def test_an_option_that_does_not_fit_is_bad_usage(
    fabricc: Fabricc, tmp_path: Path, options: list[str], output: str
) -> None:
    ran = fabricc("init", str(tmp_path / "a"), *options)
    assert (ran.status, output in " ".join(ran.err.split())) == (2, True), ran.err
    assert not (tmp_path / "a").exists()


def test_a_private_key_is_not_copied(fabricc: Fabricc, tmp_path: Path, key: Path) -> None:
    key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n")
    ran = fabricc("init", str(tmp_path / "a"), "--ssh-key", str(key))
    assert (ran.status, "is a private key" in ran.err) == (2, True)


def test_a_file_that_is_no_key_is_named_and_not_shown(fabricc: Fabricc, tmp_path: Path, key: Path) -> None:
    key.write_text("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\nhunter2\n")
    ran = fabricc("init", str(tmp_path / "a"), "--ssh-key", str(key))
    assert (ran.status, "is not a public key" in ran.err, "hunter2" in ran.err) == (2, True, False)


def test_a_link_that_leads_out_leaves_the_folder_without_files(fabricc: Fabricc, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "a" / "ci").symlink_to("../other")
    assert fabricc("init", str(tmp_path / "a")).status == 3
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]


def test_answers_that_do_not_build_write_nothing(fabricc: Fabricc, tmp_path: Path) -> None:
    ran = fabricc("init", str(tmp_path / "a"), "--hosts", "xe9680", "--switches", "qfx5240-64od")
    assert '`management: {users: [{name: netops, ssh_key: "ssh-ed25519 …"}]}`' in ran.err
    assert (ran.status, "FAB5513" in ran.err, "--ssh-key" in ran.err) == (1, True, True)
    assert "\ncluster.yaml:" in f"\n{ran.err}"
    assert not (tmp_path / "a").exists()


def test_every_answer_changes_the_starter() -> None:
    """A value that the starter no longer has would stay unnoticed otherwise."""
    catalog, _ = load_catalog()
    with pytest.raises(AssertionError, match="hosts: 64"):
        write_spec(STATED.replace("hosts: 64", "hosts: 65"), DEFAULTS, catalog.hosts["dgx-h100"])


def test_systems_are_releases_that_run_on_the_switch() -> None:
    catalog, _ = load_catalog()
    for model in catalog.switches.values():
        assert all("-" in each or each == "infiniband" for each in systems_of(model))
    assert systems_of(catalog.switches["9364d-gx2a"])[0].startswith("nxos-")


def converse_with(folder: Path, answers: list[str]) -> tuple[int, str]:
    """Run `init` on a terminal, and answer each question."""
    here, there = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"}
    program = subprocess.Popen(
        [sys.executable, "-m", "fabricc", "init", str(folder)], stdin=there, stdout=there, stderr=there,
        env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(there)
    shown = ""
    waiting = list(answers)
    while select.select([here], [], [], 60)[0]:
        try:
            part = os.read(here, 4096).decode()
        except OSError:
            break
        shown += part
        if waiting and shown.endswith(": "):
            os.write(here, f"{waiting.pop(0)}\n".encode())
    os.close(here)
    assert waiting == []
    return program.wait(timeout=60), shown


@pytest.mark.slow
def test_init_prompts_on_a_terminal(tmp_path: Path, key: Path) -> None:
    answers = [
        "hall-3",
        "b300",
        "dgx-b300-2x400",
        "128",
        "64",
        "",
        "sn5600",
        "ios",
        "sonic-999",
        "sonic-enterprise-4.5",
        "y",
        "sn5600:eos",
        "",
        "n",
        str(key),
    ]
    status, shown = converse_with(tmp_path / "a", answers)
    assert status == 0, shown
    assert "Did you mean" in shown, "a wrong answer is asked again"
    assert "ios does not run on sn5600. Systems: cumulus, frr, sonic." in shown
    assert "sonic has no release '999'" in shown
    assert "eos does not run on sn5600" in shown, "nor does the switch of a network"
    assert "128 hosts" in shown, "a capacity below the hosts is asked again"
    spec = yaml.safe_load((tmp_path / "a" / "cluster.yaml").read_text("utf-8"))
    assert (spec["cluster"], spec["gpus"]["hosts"], spec["gpus"]["capacity"]) == ("hall-3", 128, 256)
    assert spec["tors"]["nos"] == "sonic-enterprise-4.5", "a vendor's build is a release"
    assert [*spec["networks"]] == ["storage"]


def test_init_does_not_prompt_on_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init", "a"]) == 0
