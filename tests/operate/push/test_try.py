"""`push --try`: each system's real driver lets a server check a candidate, which is always dropped."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back.nos.overlay_text import find_printer
from fabricc.operate.devices import running
from fabricc.operate.push import canary_trial
from tests.operate.lab import specs
from tests.operate.push.network import HITLESS, Network, build_spec
from tests.operate.push.test_drivers import MODELS, NAME, make_bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.operate.push.test_drivers import Bench

FILES = {
    "eos": "running-config.cfg",
    "nxos": "running-config.cfg",
    "junos": "juniper.conf",
    "sonic": "config_db.json",
    "cumulus": "startup.yaml",
}
BAD = {
    "eos": ("timers bgp 3 12", "Invalid input (at token 0: 'timers')", "template eos/bgp.j2"),
    "nxos": ("timers bgp 3 12", "% Invalid command", "template nxos/bgp.j2"),
    "junos": ("hold-time 12;", "syntax error", "template junos/protocols.j2"),
    "sonic": (
        '"hostname": "spine01a",',
        'Invalid value "spine01a" in "hostname"',
        "serializer fabricc.back.nos.sonic",
    ),
    "cumulus": ("hold: 12", "'12' is not valid for 'hold'", "serializer fabricc.back.nos.cumulus"),
}
"""A line of the plan that the device refuses, its words, and what prints the line."""


@pytest.fixture(params=list(MODELS))
def switch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with make_bench(tmp_path, request.param) as found:
        yield found


def left_behind(server: Any) -> object:
    """Return what of a candidate is still on a device."""
    if hasattr(server, "sessions"):
        return server.sessions
    if hasattr(server, "holder"):
        return server.holder or server.candidate != server.running
    if hasattr(server, "files"):
        return server.files
    names = {one.name for one in server.root.glob("lib/napalm-*/*")}
    return (names & {"lock", "config_db.json", "startup.yaml"}) or (server.root / "pending").exists()


@pytest.mark.spread
def test_a_device_takes_all_or_refuses_a_line_and_is_left_as_it_was(switch: Bench) -> None:
    before = switch.running()
    assert "takes all" in switch.push("--try", status=0)
    nos = switch.source.devices[NAME].nos
    planted, words, printed = BAD[nos]
    lines = switch.source.files(NAME)[FILES[nos]].splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if line.strip() == planted]
    assert numbers
    switch.server.faults.planted = (planted,)
    output = " ".join(switch.push("--try", status=1).split())
    assert f"{FILES[nos]}:{numbers[0]}" in output
    assert words in output
    assert printed in output
    if nos != "sonic":
        assert re.search(r"cluster\.yaml:12 routing\.hold_s", output), output
    assert (switch.running(), switch.state(), bool(left_behind(switch.server))) == (before, "", False)


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_candidate_is_discarded_after_every_failure(switch: Bench, error: type[BaseException]) -> None:
    def strike(*_: object, **__: object) -> None:
        raise error

    text = running.pack_files(switch.source.files(NAME))
    with switch.server.device.connect(timeout=20) as driver:
        if switch.source.devices[NAME].nos == "junos":
            driver.device.cu.commit_check = strike
        else:
            driver.compare_config = strike
        with pytest.raises(error):
            driver.check_candidate(text)
        assert not left_behind(switch.server)


@pytest.mark.slow
def test_eos_reports_every_rejected_line_once(tmp_path: Path) -> None:
    with make_bench(tmp_path, "eos") as switch:
        switch.server.faults.planted = ("timers bgp 3 12", "ip routing", "update wait-install")
        planned = [line.strip() for line in switch.source.files(NAME)["running-config.cfg"].splitlines()]
        wanted = [one for one in switch.server.faults.planted if one in planned]
        output = switch.push("--try", status=1)
        assert output.count("FAB9164") == sum(planned.count(one) for one in wanted) == 3


@pytest.mark.slow
def test_a_line_of_an_overlay_is_reported_as_the_users_own(tmp_path: Path) -> None:
    with make_bench(tmp_path, "eos") as switch:
        spec = switch.source.spec
        (spec.parent / "own.conf").write_text("alias mine show version\n")
        spec.write_text(
            spec.read_text() + "overlays:\n  - {file: own.conf, nos: eos, into: running-config.cfg}\n"
        )
        switch.source = build_spec(spec, tmp_path / "out")
        switch.server.faults.planted = ("alias mine show version",)
        output = " ".join(switch.push("--try", status=1).split())
        assert re.search(r"is your own, from an overlay \(\S*own\.conf\)", output), output
        reported = json.loads(switch.push("--try", "--format", "json", status=1))
        (kind,) = reported["kinds"]
        assert (reported["exit_status"], kind["switch"], kind["nos"], kind["refused"]) == (1, NAME, "eos", 1)
        assert "own.conf" in reported["findings"][-1]["help"]


@pytest.mark.slow
def test_junos_checks_the_commit_and_names_its_place(tmp_path: Path) -> None:
    with make_bench(tmp_path, "junos") as switch:
        switch.server.unsound = ("[edit system login user netops]", "class")
        output = " ".join(switch.push("--try", status=1).split())
        lines = switch.source.files(NAME)["juniper.conf"].splitlines()
        at = next(number for number, line in enumerate(lines, 1) if line.strip() == "class super-user;")
        assert f"juniper.conf:{at}" in output
        assert "mgd: Security zone must be defined" in output
        assert (switch.server.checked, len(switch.server.history)) == (1, 1)


@pytest.mark.slow
def test_unreachable_device_is_reported_as_not_tried(tmp_path: Path) -> None:
    with make_bench(tmp_path, "eos") as switch:
        switch.server.faults.refuse_login = True
        output = switch.push("--try", status=3)
        assert "FAB9110" in output
        assert "not tried" in output
        reported = json.loads(switch.push("--try", "--format", "json", status=3))
        assert (reported["kinds"][0]["refused"], reported["findings"][-1]["code"]) == (None, "FAB9110")


def test_a_login_that_a_push_would_lock_out_may_try(tmp_path: Path) -> None:
    """Nothing is committed, so nobody is locked out."""
    with make_bench(tmp_path, "eos") as switch:
        switch.consents = ()
        output = switch.push("--try", status=0)
        assert "warning FAB9160: 1 switch with eos, such as spine01a:" in output
        assert "takes all" in output
        assert "FAB9160" in switch.push(status=1)


def test_the_first_switch_of_each_kind_is_the_canary(tmp_path: Path) -> None:
    source = build_spec(specs.two_tiers(tmp_path / "spec"), tmp_path / "out")
    found = canary_trial.choose_canaries(source, source.devices)
    assert {kind.tier: name for kind, name in found.items()} == {"tor": "su001-tor1a", "spine": "spine01a"}
    assert list(canary_trial.choose_canaries(source, ["spine02a"]).values()) == ["spine02a"]


@pytest.mark.slow
def test_a_driver_that_cannot_check_is_reported(network: Network) -> None:
    network.edit(HITLESS)
    output = network.push("--try", status=3)
    assert "FAB9166" in output.stderr
    assert "not tried" in output.stdout
    assert not network.journal.exists() or network.states() == {}


def test_every_line_of_a_template_is_traced_to_one_that_gives_it(tmp_path: Path) -> None:
    source = build_spec(specs.two_tiers(tmp_path / "spec"), tmp_path / "out")
    for line in source.files(NAME)["frr.conf"].splitlines():
        if len(line.strip()) > 3 and not line.startswith("!"):
            assert find_printer("frr", "frr.conf", line).startswith("template frr/"), line
