"""Changes on SONiC: rows of the image stay, ports change in steps, and a rollback takes the same steps."""

from __future__ import annotations

import copy
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm.base.exceptions import (
    CommandErrorException,
    CommitError,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.back.nos.sonic.config_db import IGNORED
from fabricc.base import sonic_tables
from fabricc.operate.devices.running import find_differences
from fabricc.operate.drivers.bundle import pack_bundle, unpack_bundle
from tests.operate.drivers.servers.linux_switch import LinuxSwitch, linux_switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERE = {
    "hostname": "su001-tor1a",
    "hwsku": "ACS-SN5600",
    "platform": "x86_64-nvidia_sn5600-r0",
    "docker_routing_config_mode": "split-unified",
    "frr_mgmt_framework_config": "false",
}
IMAGE = {
    "FEATURE": {"bgp": {"state": "enabled"}, "snmp": {"state": "disabled"}},
    "CRM": {"Config": {"polling_interval": "60"}},
    "BGP_DEVICE_GLOBAL": {"STATE": {"tsa_enabled": "false"}},
    "PASSW_HARDENING": {"POLICIES": {"state": "disabled"}},
}
OF_IMAGE = {"mac": "1c:34:da:00:00:09", "timezone": "UTC", "default_bgp_status": "up"}
POLLED = {"QUEUE": {"FLEX_COUNTER_STATUS": "enable"}, "PFCWD": {"FLEX_COUNTER_STATUS": "enable"}}
FRR = "hostname su001-tor1a\n"


def planned_tables(*up: str, cable: str = "5m", speed: str = "400000", **more: Any) -> dict[str, Any]:
    """A candidate: of eight ports some are up and lossless."""
    ports = [f"Ethernet{8 * n}" for n in range(8)]
    profile = f"pg_lossless_{speed}_{cable}_profile"
    return {
        "DEVICE_METADATA": {"localhost": HERE},
        "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
        "TACPLUS": {"global": {"passkey": "S3CRETKEY"}},
        "PORT": {
            port: {
                "lanes": f"{8 * n + 1},{8 * n + 2}",
                "speed": speed if port in up else "400000",
                "admin_status": "up" if port in up else "down",
            }
            for n, port in enumerate(ports)
        },
        "CABLE_LENGTH": {"AZURE": {port: cable if port in up else "0m" for port in ports}},
        "PORT_QOS_MAP": {port: {"pfc_enable": "3"} for port in up},
        "QUEUE": {f"{port}|{queue}": {"scheduler": "rdma"} for port in up for queue in range(4)},
        "BUFFER_PROFILE": {profile: {"xoff": "1", "size": "2"}},
        "BUFFER_PG": {f"{port}|3": {"profile": profile} for port in up},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, **{port: {"action": "drop"} for port in up}},
        "FLEX_COUNTER_TABLE": {"WRED_ECN_QUEUE": {"FLEX_COUNTER_STATUS": "enable"}},
        **more,
    }


def run_by(candidate: dict[str, Any]) -> dict[str, Any]:
    """Return the tables that a switch runs with a candidate: including rows of the image."""
    tables = copy.deepcopy({**candidate, **IMAGE})
    tables["DEVICE_METADATA"]["localhost"] |= OF_IMAGE
    tables["FLEX_COUNTER_TABLE"] |= POLLED
    tables["VERSIONS"]["DATABASE"]["VERSION"] = "version_202505_02"
    return tables


def make_bundle(candidate: dict[str, Any]) -> str:
    return pack_bundle({"config_db.json": json.dumps(candidate), "frr.conf": FRR})


def running(switch: LinuxSwitch) -> Any:
    return json.loads(switch.text("running.json"))


TWO, THREE = ("Ethernet0", "Ethernet8"), ("Ethernet0", "Ethernet8", "Ethernet16")


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[LinuxSwitch]:
    with linux_switch(tmp_path, "sonic", json.dumps(run_by(planned_tables(*TWO))), FRR) as one:
        yield one


@pytest.fixture
def driver(switch: LinuxSwitch) -> Iterator[Any]:
    with switch.device.connect(timeout=20) as one:
        yield one


def push(driver: Any, candidate: dict[str, Any], **named: Any) -> str:
    driver.load_replace_candidate(config=make_bundle(candidate))
    difference: str = driver.compare_config()
    driver.commit_config(**named)
    return difference


def test_an_unchanged_switch_has_no_difference(driver: Any) -> None:
    driver.load_replace_candidate(config=make_bundle(planned_tables(*TWO)))
    assert driver.compare_config() == ""


def test_tables_that_are_not_compared_are_the_ones_that_stay() -> None:
    stock = {
        "DEVICE_NEIGHBOR",
        "DEVICE_NEIGHBOR_METADATA",
        "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
        "LOSSLESS_TRAFFIC_PATTERN",
    }
    assert sonic_tables.KEPT_TABLES - {"VERSIONS"} == IGNORED - stock


def test_rows_that_stay_name_no_port_that_goes() -> None:
    """SONiC's models refuse such a row ("points to a non-existing leaf"), and with it the whole configuration."""
    sample = {"admin_state": "up", "sample_rate": "4000"}
    running = {
        "PORT": {"Ethernet0": {}, "Ethernet8": {}},
        "LLDP_PORT": {"Ethernet8": {"enabled": "true"}},
        "SFLOW": {"global": {"admin_state": "up", "agent_id": "Ethernet8"}},
        "SFLOW_SESSION": {"Ethernet0": sample, "Ethernet8": sample, "all": sample},
        "SFLOW_COLLECTOR": {"c1": {"collector_ip": "192.0.2.1"}},
        "DEBUG_COUNTER_DROP_REASON": {"DEBUG_0|L2_ANY": {}},
    }
    target = sonic_tables.merge(running, {"PORT": {"Ethernet0": {}}})
    assert "LLDP_PORT" not in target
    assert target["SFLOW"] == {"global": {"admin_state": "up"}}
    assert target["SFLOW_SESSION"].keys() == {"Ethernet0", "all"}
    assert {"SFLOW_COLLECTOR", "DEBUG_COUNTER_DROP_REASON"} <= target.keys(), "what a kept table needs"
    assert sonic_tables.merge(running, {"PORT": running["PORT"]}) == running


def test_rows_that_verify_reports_do_not_survive_a_replacement() -> None:
    mine, other = {"SNMP_USER": {"monitor": {"a": "1"}}}, {"SNMP_USER": {"monitor": {"a": "2"}, "old": {}}}
    assert sonic_tables.merge(other, mine) == mine, "a rotated password is applied, another user is removed"
    assert sonic_tables.merge(other, {}) == {}
    banner = {"BANNER_MESSAGE": {"global": {"state": "enabled", "login": "by hand", "motd": "hello"}}}
    stock = {"BANNER_MESSAGE": {"global": {**banner["BANNER_MESSAGE"]["global"], "state": "disabled"}}}
    assert sonic_tables.merge(banner, {}) == sonic_tables.merge(stock, {}) == stock
    assert sonic_tables.merge(stock, banner) == banner
    image = {"config_db.json": json.dumps(stock)}
    assert find_differences("sonic", {"config_db.json": json.dumps(banner)}, image)
    assert not find_differences("sonic", image, {"config_db.json": "{}"})


def test_a_kept_version_is_the_one_of_the_running_image() -> None:
    versions = {"VERSIONS": {"DATABASE": {"VERSION": "version_202505_02"}}}
    assert (
        sonic_tables.merge(versions, {"VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}}}) == versions
    )


@pytest.mark.slow
def test_a_port_retires_and_comes_again_and_the_rows_of_the_image_stay(
    switch: LinuxSwitch, driver: Any
) -> None:
    difference = push(driver, planned_tables("Ethernet0"))
    assert "ports in use that are shut, or shut and opened again: Ethernet8" in difference
    assert "S3CRETKEY" not in difference
    assert "FEATURE" not in difference
    assert running(switch) == run_by(planned_tables("Ethernet0"))
    push(driver, planned_tables(*TWO))
    assert running(switch) == run_by(planned_tables(*TWO))
    driver.rollback()
    assert running(switch) == run_by(planned_tables("Ethernet0"))


def test_the_updater_alone_breaks_off_when_a_lossless_port_goes_down(
    switch: LinuxSwitch, driver: Any
) -> None:
    """Proves that the stand-in is as strict as the real updater, whose steps the driver splits."""
    (switch.root / "whole.json").write_text(json.dumps(run_by(planned_tables("Ethernet0"))))
    with pytest.raises(CommandErrorException, match="can't remove a non-existent object"):
        driver.cli([f"config replace {switch.root}/whole.json"])
    assert running(switch) != run_by(planned_tables("Ethernet0"))


@pytest.mark.slow
def test_a_rack_comes_in_steps(switch: LinuxSwitch, driver: Any) -> None:
    many = [f"Ethernet{8 * n}" for n in range(8)]
    assert "in 5 steps" in push(driver, planned_tables(*many), revert_in=60)
    assert running(switch) == run_by(planned_tables(*many))
    driver.confirm_commit()
    assert json.loads(switch.text("etc/sonic/config_db.json")) == run_by(planned_tables(*many))


@pytest.mark.slow
def test_the_speed_of_a_lossless_port_changes_on_a_switch_that_needs_a_reload(switch: LinuxSwitch) -> None:
    """A new profile is refused by the updater's limits; the complete file brings no stock port."""
    faster = planned_tables(*TWO, speed="800000")
    with (
        switch.device.connect(timeout=20) as driver,
        pytest.raises(ReplaceConfigException, match="`reload: true`"),
    ):
        driver.load_replace_candidate(config=make_bundle(faster))
    with switch.device.connect(timeout=20, reload=True) as driver:
        assert "by `config reload`: all services restart" in push(driver, faster, revert_in=60)
        assert running(switch) == run_by(faster)
        driver.rollback()
    assert running(switch) == run_by(planned_tables(*TWO)), (
        "back as it came: the updater would refuse that too"
    )


@pytest.mark.slow
def test_unconfirmed_reload_restores_the_checkpoint(switch: LinuxSwitch) -> None:
    with switch.device.connect(timeout=20, reload=True) as driver:
        push(driver, planned_tables(*TWO, cable="20m"), revert_in=1)
        limit = time.monotonic() + 30
        while driver.commit_state()["phase"] != "reverted" and time.monotonic() < limit:
            time.sleep(0.2)
        assert driver.commit_state() == {"phase": "reverted", "why": "not confirmed in time"}
    assert running(switch) == run_by(planned_tables(*TWO))


@pytest.mark.slow
def test_stock_ports_that_a_reload_adds_are_an_error_and_go_with_the_way_back(switch: LinuxSwitch) -> None:
    before = running(switch)
    switch.faults.updater = ("stock_ports",)
    with switch.device.connect(timeout=20, reload=True) as driver:
        driver.load_replace_candidate(config=make_bundle(planned_tables(*TWO, cable="40m")))
        with pytest.raises(CommitError, match="added 1 stock ports, Ethernet999 for one; reverted"):
            driver.commit_config()
    assert running(switch) == before


def test_configuration_rejected_by_yang_models_is_never_reloaded(switch: LinuxSwitch) -> None:
    wrong = planned_tables(*TWO, BOGUS={"a": {"b": "c"}})
    with (
        switch.device.connect(reload=True) as driver,
        pytest.raises(ReplaceConfigException, match="not valid"),
    ):
        driver.load_replace_candidate(config=make_bundle(wrong))


@pytest.mark.slow
def test_groups_that_buffermgrd_takes_away_come_back(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.updater = ("unlisted_cable",)
    changed = planned_tables(*TWO)
    changed["QUEUE"]["Ethernet0|3"] = {"scheduler": "other"}
    push(driver, changed)
    assert running(switch) == run_by(changed)


@pytest.mark.slow
def test_the_guard_ends_the_replacement_that_it_guards(switch: LinuxSwitch) -> None:
    switch.faults.updater = ("slow=0.3",)
    many = [f"Ethernet{8 * n}" for n in range(8)]
    with switch.device.connect(timeout=20, commit_timeout=3) as driver:
        driver.load_replace_candidate(config=make_bundle(planned_tables(*many)))
        driver._plan["rows"] = 0
        with pytest.raises(CommitError, match=r"not applied within 3 s.*reverted|not confirmed in time"):
            driver.commit_config()
        switch.faults.updater = ()
    time.sleep(1)
    assert running(switch) == run_by(planned_tables(*TWO))


@pytest.mark.slow
def test_commit_stops_when_config_db_changes_after_loading(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=make_bundle(planned_tables(*THREE)))
    other = run_by(planned_tables(*TWO, NTP_SERVER={"192.0.2.1": {}}))
    (switch.root / "running.json").write_text(json.dumps(other))
    with pytest.raises(CommitError, match="another session changed CONFIG_DB after the candidate was loaded"):
        driver.commit_config()
    assert running(switch) == other


def test_commit_stops_when_frr_changes_after_the_comparison(switch: LinuxSwitch, driver: Any) -> None:
    driver.load_replace_candidate(config=pack_bundle({"frr.conf": "hostname new\n"}))
    driver.compare_config()
    (switch.root / "frr").write_text(FRR + "ip route 192.0.2.0/24 blackhole\n")
    with pytest.raises(SessionLockedException, match="FRR's configuration has changed since it was compared"):
        driver.commit_config()
    assert "blackhole" in switch.text("frr")


def test_a_banner_before_each_answer_is_no_part_of_it(switch: LinuxSwitch, driver: Any) -> None:
    switch.faults.banner = "*** Welcome. Your session is recorded ***\n"
    assert not driver.has_pending_commit()
    found = unpack_bundle(driver.get_config("running")["running"], "")
    assert json.loads(found["config_db.json"]) == run_by(planned_tables(*TWO))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        '{"PORT": {"Ethernet0"',
        "[]",
        "{}",
        '{"PORT": []}',
        '{"PORT": {"Ethernet0": "up"}}',
        '{"title": {}}',
    ],
)
def test_an_answer_that_is_no_configuration_is_an_error(
    switch: LinuxSwitch, driver: Any, answer: str
) -> None:
    (switch.root / "running.json").write_text(answer)
    with pytest.raises(
        CommandErrorException,
        match=r"config_db\.json(:|) (is empty|is not JSON|it has no tables|.* is not a (table|row))",
    ):
        driver.get_config("running")


@pytest.mark.slow
def test_numbers_of_a_boot_file_are_the_texts_that_run(switch: LinuxSwitch, driver: Any) -> None:
    """The presets of sonic-cfggen have numbers (config_samples.py), and people write some by hand."""
    row = {"rrclient": 0, "nhopself": True, "asn": "65200"}
    file = switch.root / "etc/sonic/config_db.json"
    file.write_text(json.dumps({"BGP_NEIGHBOR": {"10.0.0.1": row}}))
    saved = json.loads(unpack_bundle(driver.get_config("startup")["startup"], "")["config_db.json"])
    assert saved == {"BGP_NEIGHBOR": {"10.0.0.1": {"rrclient": "0", "nhopself": "True", "asn": "65200"}}}
    numbers = planned_tables(*TWO)
    numbers["PORT"]["Ethernet0"]["speed"] = 400000
    push(driver, numbers)
    assert running(switch)["PORT"]["Ethernet0"]["speed"] == "400000"


@pytest.mark.slow
def test_the_first_push_to_a_factory_switch_reloads_and_goes_back_to_it(tmp_path: Path) -> None:
    factory = {
        **IMAGE,
        "DEVICE_METADATA": {
            "localhost": {
                **OF_IMAGE,
                "hwsku": "ACS-SN5600",
                "platform": HERE["platform"],
                "hostname": "sonic",
            }
        },
        "PORT": {"Ethernet512": {"lanes": "513", "speed": "10000"}},
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65200"}},
        "DEVICE_NEIGHBOR": {"Ethernet512": {"name": "ARISTA01T0"}},
        "FLEX_COUNTER_TABLE": POLLED,
        "VERSIONS": {"DATABASE": {"VERSION": "version_202505_02"}},
    }
    with linux_switch(tmp_path, "sonic", json.dumps(factory), "router bgp 65100\n") as one:
        (one.root / "etc/sonic/frr/frr.conf").unlink()
        (one.root / "bgp_mode").write_text("separated")
        with one.device.connect(timeout=20, reload=True) as driver:
            push(driver, planned_tables(*TWO), revert_in=60)
            assert running(one) == run_by(planned_tables(*TWO))
            assert one.text("frr") == FRR
            driver.rollback()
        assert running(one) == factory
        assert not (one.root / "etc/sonic/frr/frr.conf").exists()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["rollback", "guard"])
def test_the_files_of_an_operator_come_back_with_the_mode_split(tmp_path: Path, way: str) -> None:
    old = run_by(planned_tables(*TWO))
    old["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] = "split"
    with linux_switch(tmp_path, "sonic", json.dumps(old), "router bgp 65100\n") as one:
        folder = one.root / "etc/sonic/frr"
        (folder / "frr.conf").unlink()
        (folder / "bgpd.conf").write_text("router bgp 65100\n")
        (one.root / "bgp_mode").write_text("split")
        with one.device.connect(timeout=20) as driver:
            push(driver, planned_tables(*TWO), revert_in=2 if way == "guard" else 60)
            assert one.text("frr") == FRR
            assert (folder / "bgpd.conf").exists(), "a restart before the confirmation boots from it"
            if way == "rollback":
                driver.rollback()
            until = time.monotonic() + 30
            while driver.commit_state()["phase"] != "reverted" and time.monotonic() < until:
                time.sleep(0.2)
        assert running(one) == old
        assert one.text("frr") == "router bgp 65100\n"


@pytest.mark.slow
def test_the_mode_split_without_its_files_is_refused(switch: LinuxSwitch, driver: Any) -> None:
    wanted = planned_tables(
        *TWO, DEVICE_METADATA={"localhost": {**HERE, "docker_routing_config_mode": "split"}}
    )
    with pytest.raises(ReplaceConfigException, match=r"own bgpd\.conf"):
        driver.load_replace_candidate(config=make_bundle(wanted))
    (switch.root / "etc/sonic/frr/bgpd.conf").write_text("router bgp 65100\n")
    push(driver, wanted)
    assert switch.text("frr") == "router bgp 65100\n"


OTHER_SWITCHES = {
    "smart switch": ({"subtype": "SmartSwitch"}, {}, "it has DPUs of its own"),
    "tables of DPUs": ({}, {"DPUS": {"dpu0": {"midplane_interface": "dpu0"}}}, "it has DPUs of its own"),
    "line card": ({"switch_type": "voq"}, {}, "part of a chassis"),
}


@pytest.mark.parametrize("kind", OTHER_SWITCHES)
def test_a_switch_of_another_kind_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    fields, tables, reason = OTHER_SWITCHES[kind]
    old = {**run_by(planned_tables(*TWO)), **tables}
    old["DEVICE_METADATA"]["localhost"] |= fields
    with (
        linux_switch(tmp_path, "sonic", json.dumps(old), FRR) as one,
        one.device.connect(timeout=20) as driver,
    ):
        with pytest.raises(ReplaceConfigException, match=reason):
            driver.load_replace_candidate(config=make_bundle(planned_tables(*THREE)))
        assert running(one) == old


@pytest.mark.parametrize("count", [1, 6])
def test_a_switch_of_several_asics_is_refused(switch: LinuxSwitch, driver: Any, count: int) -> None:
    package = switch.root / "lib/sonic_py_common"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "multi_asic.py").write_text(f"def is_multi_asic():\n    return {count} > 1\n")
    if count == 1:
        driver.load_replace_candidate(config=make_bundle(planned_tables(*THREE)))
        return
    with pytest.raises(ReplaceConfigException, match="several ASICs"):
        driver.load_replace_candidate(config=make_bundle(planned_tables(*THREE)))
