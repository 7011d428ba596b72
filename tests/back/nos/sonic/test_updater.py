"""Refusals and interruptions of SONiC's updater, from the files before and after."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos.base import Application
from fabricc.back.nos.sonic.updater import application, supports_sku


def make_tables(release: str = "202505", hwsku: str = "ACS-SN5600") -> dict[str, Any]:
    return {
        "DEVICE_METADATA": {"localhost": {"hwsku": hwsku}},
        "VERSIONS": {"DATABASE": {"VERSION": f"version_{release}_01"}},
        "PORT": {"Ethernet0": {"admin_status": "up"}, "Ethernet8": {"admin_status": "down"}},
        "PFC_WD": {"Ethernet0": {"action": "drop"}},
        "BUFFER_POOL": {"ingress_lossless_pool": {"size": "1"}},
        "WRED_PROFILE": {"400g": {"green_min_threshold": "1", "ecn": "ecn_all"}},
        "QUEUE": {"Ethernet0|3": {"scheduler": "rdma"}, "Ethernet8|3": {"scheduler": "rdma"}},
    }


def application_of_change(before: dict[str, Any], table: str, key: str, **fields: str) -> Application:
    after = copy.deepcopy(before)
    after[table].setdefault(key, {}).update(fields)
    return application({"config_db.json": json.dumps(before)}, {"config_db.json": json.dumps(after)})


def test_which_models_the_updater_knows() -> None:
    assert supports_sku("ACS-SN5600", "202305")
    assert not supports_sku("ACS-SN5640", "202405")
    assert supports_sku("ACS-SN5640", "202411")
    assert supports_sku("Arista-7060X6-64PE-B-O128", "202411"), "part of the name is enough for Broadcom"
    assert not supports_sku("Accton-AS9716-32D", "202605")


@pytest.mark.parametrize("release", ["202505", "202511", "202605"])
def test_a_port_more_needs_a_reload_where_the_model_is_unknown(release: str) -> None:
    known = application_of_change(make_tables(release), "PFC_WD", "Ethernet8", action="drop")
    assert (known.way, known.reloads, known.interrupts) == ("config replace in 1 step", False, "")
    found = application_of_change(
        make_tables(release, "Accton-AS9716-32D"), "PFC_WD", "Ethernet8", action="drop"
    )
    assert (found.way, found.reloads) == ("config reload (access file: `reload: true`)", True)
    assert "PFC_WD" in found.interrupts


@pytest.mark.parametrize(("release", "reloads"), [("202411", True), ("202505", False), ("202511", False)])
def test_thresholds_of_marking(release: str, reloads: bool) -> None:
    assert (
        application_of_change(make_tables(release), "WRED_PROFILE", "400g", green_min_threshold="2").reloads
        is reloads
    )


@pytest.mark.parametrize(("release", "reloads"), [("202505", False), ("202511", True), ("202605", True)])
def test_sizes_of_pools(release: str, reloads: bool) -> None:
    assert (
        application_of_change(make_tables(release), "BUFFER_POOL", "ingress_lossless_pool", size="2").reloads
        is reloads
    )


def test_a_new_profile_needs_a_reload_where_profiles_are_limited() -> None:
    assert application_of_change(make_tables(), "WRED_PROFILE", "800g", ecn="ecn_all").reloads


def test_ports_in_use_that_are_shut_for_a_change_are_reported() -> None:
    found = application_of_change(make_tables(), "QUEUE", "Ethernet0|3", scheduler="other")
    assert (found.ports, found.interrupts) == (
        ("Ethernet0",),
        "SONiC's updater shuts and opens Ethernet0",
    )
    assert not application_of_change(make_tables(), "QUEUE", "Ethernet8|3", scheduler="other").interrupts


def test_a_restart_of_the_bgp_container_is_reported() -> None:
    found = application_of_change(
        make_tables(), "DEVICE_METADATA", "localhost", docker_routing_config_mode="split-unified"
    )
    assert found.restarts_bgp
    assert found.interrupts == "the bgp container restarts"


def test_a_port_that_is_retired_goes_down_in_a_step_of_its_own() -> None:
    found = application_of_change(make_tables(), "PORT", "Ethernet0", admin_status="down")
    assert (found.way, found.ports) == ("config replace in 2 steps", ())


def test_rows_of_the_image_are_no_change() -> None:
    running = {**make_tables(), "FEATURE": {"bgp": {"state": "enabled"}}, "bgpraw": "hostname x"}
    files = {"config_db.json": json.dumps(make_tables())}
    assert application({"config_db.json": json.dumps(running)}, files) == Application()


@pytest.mark.parametrize("text", ["", "[]", '{"PORT": []}', '{"PORT": {"Ethernet0": 1}}', "[" * 100_000])
def test_invalid_configuration_has_no_application_plan(text: str) -> None:
    whole = {"config_db.json": json.dumps(make_tables())}
    assert back_ends.plan_application("sonic", {"config_db.json": text}, whole) is None
    assert back_ends.plan_application("sonic", whole, {"config_db.json": text}) is None
