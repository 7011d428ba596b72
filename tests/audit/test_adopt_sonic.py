"""Overlays of `config_db.json`, key by key, keep the parts of SONiC switches that a spec cannot express."""

from __future__ import annotations

import json

import pytest

from fabricc.audit.adopt.edits import EditScope, FilePair
from fabricc.audit.adopt.json_edits import find_edits, format_edits, laid_out
from fabricc.audit.adopt.run import adopted_of
from fabricc.back.nos.overlay import merge_overlay
from fabricc.base.diagnostics import Severity
from fabricc.fabric.model import Overlay
from tests.audit.adopted import BOX, compiled_of, small_spec
from tests.audit.fabrics import collect_devices, device, found_of

FILE = "config_db.json"


def lines_of(text, *keys):
    return {at for at, line in enumerate(text.split("\n"), 1) if any(f'"{key}"' in line for key in keys)}


def edit_object(built, found, *keys, reach=EditScope.SIMILAR, ignorable=()):
    """The built object with the edits that keys which matter give, and what is added by them."""
    one, two = laid_out(json.dumps(built)), laid_out(json.dumps(found))
    sides = FilePair(one, two, lines_of(one, *keys), lines_of(two, *keys), lines_of(two, *ignorable), reach)
    files, texts = {FILE: one}, {}
    for removes in (True, False):
        if some := [each for each in find_edits(sides) if each.removes is removes]:
            texts[removes] = format_edits(some)
            files = merge_overlay(files, Overlay("", FILE, texts[removes], removes))
    return json.loads(files[FILE]), {removes: json.loads(text) for removes, text in texts.items()}


PORTS = {"PORT": {f"Ethernet{n}": {"mtu": "9100", "fec": "rs"} for n in range(0, 32, 8)}}


def test_a_value_is_taken_out_and_the_other_put_in_and_nothing_else():
    found = json.loads(json.dumps(PORTS))
    found["PORT"]["Ethernet8"] |= {"mtu": "1500", "fec": "none"}
    result, texts = edit_object(PORTS, found, "mtu")
    assert result["PORT"]["Ethernet8"] == {"fec": "rs", "mtu": "1500"}
    assert texts == {
        True: {"PORT": {"Ethernet8": {"mtu": None}}},
        False: {"PORT": {"Ethernet8": {"mtu": "1500"}}},
    }


def test_rows_that_have_one_edit_in_common_have_a_pattern():
    found = {"PORT": {name: row | {"mtu": "1500"} for name, row in PORTS["PORT"].items()}}
    result, texts = edit_object(PORTS, found, "mtu")
    assert result == found
    assert texts[False] == {"PORT": {"Ethernet*": {"mtu": "1500"}}}
    del found["PORT"]["Ethernet0"]
    assert "Ethernet*" not in edit_object(PORTS, found, "mtu")[1][False]["PORT"]


def test_tables_rows_and_items_of_lists_come_and_go():
    built = {
        "NTP_SERVER": {"10.0.0.1": {}, "10.0.0.2": {}},
        "ACL": {"A": {"ports": ["e0", "e1"]}},
        "GONE": {"x": {}},
    }
    found = {
        "NTP_SERVER": {"10.0.0.1": {}},
        "ACL": {"A": {"ports": ["e1", "e2"]}},
        "VLAN": {"Vlan1": {"vlanid": "1"}},
    }
    result, _ = edit_object(built, found, "10.0.0.2", "ports", "x", "vlanid")
    assert result == found


def test_rows_that_refer_to_a_renamed_row_follow_it():
    built = {"PROFILE": {"pg_5m": {"xoff": "1"}}, "PG": {"Ethernet0|3": {"profile": "pg_5m", "other": "x"}}}
    found = {"PROFILE": {"pg_40m": {"xoff": "2"}}, "PG": {"Ethernet0|3": {"profile": "pg_40m", "other": "y"}}}
    result, _ = edit_object(built, found, "xoff")
    assert result == {
        "PROFILE": {"pg_40m": {"xoff": "2"}},
        "PG": {"Ethernet0|3": {"profile": "pg_40m", "other": "x"}},
    }


def test_overlays_contain_no_irrelevant_or_secret_lines():
    found = {
        **PORTS,
        "BANNER": {"global": {"login": "hi"}},
        "TACPLUS": {"global": {"passkey": "s3cret", "timeout": "5"}},
    }
    result, _ = edit_object(PORTS, found, "passkey", "timeout", "global", ignorable=("login",))
    assert result == {**PORTS, "TACPLUS": {"global": {"timeout": "5"}}}


@pytest.fixture(scope="module")
def adoption(tmp_path_factory):
    """A fabric on SONiC with a VLAN that all switches have, and a route that each has for itself."""
    gpus = {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 4}
    words = small_spec(BOX, gpus=gpus, tors={**BOX, "uplinks": 8})
    devices = collect_devices(compiled_of(words, tmp_path_factory.mktemp("zone")))
    switches = [name for name, each in devices.items() if each.system == "sonic"]
    for number, name in enumerate(switches):
        tables = json.loads(devices[name].files[FILE])
        tables |= {"VLAN": {"Vlan100": {"vlanid": "100"}}}
        tables["STATIC_ROUTE"] = {f"default|198.51.100.{number}/32": {"nexthop": "172.16.0.9"}}
        files = {**devices[name].files, FILE: json.dumps(tables, indent=number)}
        devices[name] = device(name, "sonic", files)
    return adopted_of(found_of(devices), tmp_path_factory.getbasetemp(), "zone")


@pytest.mark.slow
def test_a_build_states_what_every_switch_states_with_a_setting_of_each(adoption):
    made = adoption.adopted
    assert made.compiled.sound
    assert {name: each for name, each in made.differences.items() if each} == {}
    assert not [f for f in made.compiled.proof(jobs=1) if f.severity is Severity.ERROR]


@pytest.mark.slow
def test_rows_common_to_all_switches_are_in_one_overlay(adoption):
    assert json.loads(adoption.files["overlays/sonic-all/config_db.json"]) == {
        "VLAN": {"Vlan100": {"vlanid": "100"}}
    }
    own = json.loads(adoption.files["overlays/sonic-spine01a/config_db.json"])
    assert list(own) == ["STATIC_ROUTE"]
