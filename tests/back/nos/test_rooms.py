"""Modules of one name have one topic in every back end, by the table below."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from fabricc.back.nos import BUILT_IN

ROOT = Path(__file__).parents[3]
TOPICS = ("interfaces", "qos", "bgp", "services")


ROOMS = {
    "words": "all",
    "limits": "all",
    "interfaces": "all",
    "qos": "all",
    "bgp": "all",
    "services": "all",
    "recognition": "all",
    "evpn": "eos, frr",
    "tenants": "cumulus, eos, junos, nxos, sonic",
    "qos_rows": "cumulus, eos, junos, nxos, sonic",
    "bgp_rows": "cumulus, junos, nxos",
    "services_rows": "cumulus, sonic",
    "policy": "eos, frr, junos, nxos",
    "foreign/igp": "eos, frr, junos, nxos",
    "foreign/switching": "eos, junos, nxos",
    "foreign/instances": "junos, nxos",
    "foreign/routing": "eos, frr",
    "non_forwarding": "eos, junos, nxos",
    "foreign/beyond": "cumulus, sonic",
    "consumers": "cumulus, sonic",
    "control_plane": "sonic",
    "updater": "sonic",
    "foreign/qos": "eos, junos",
    "foreign/interfaces": "eos",
    "foreign/peering": "cumulus, eos",
    "daemons": "frr",
    "sessions": "frr, nxos",
    "filters": "frr, junos",
    "cages": "junos",
    "inheritance": "junos",
    "startup": "cumulus",
    "flat": "cumulus",
    "roce": "cumulus",
    "config_db": "sonic",
    "frr_tables": "sonic",
    "active_policies": "nxos",
    "buffers": "sonic",
    "reclaim": "sonic",
    "odd_rows": "sonic",
    "odd_buffers": "sonic",
    "foreign/port_qos": "cumulus",
    "foreign/idle": "cumulus",
}
"""Module -> the systems that have it. Modules of one name have one topic."""


def declared_systems() -> dict[str, frozenset[str]]:
    """Return module -> the systems that have it."""
    return {
        room: frozenset(BUILT_IN) if who == "all" else frozenset(who.split(", "))
        for room, who in ROOMS.items()
    }


def existing_rooms(nos: str) -> set[str]:
    """Return the modules of a back end; those that read what fabricc never writes are in `foreign`."""
    top = ROOT / "fabricc" / "back" / "nos" / nos
    modules = (path for path in top.rglob("*.py") if path.stem != "__init__")
    return {path.relative_to(top).with_suffix("").as_posix() for path in modules}


@pytest.mark.parametrize("nos", BUILT_IN)
def test_every_module_of_a_back_end_is_a_room_of_the_table(nos: str) -> None:
    assert existing_rooms(nos) == {room for room, who in declared_systems().items() if nos in who}


def test_topics_are_rooms_of_all() -> None:
    assert {"words", "limits", *TOPICS} <= {
        room for room, who in declared_systems().items() if who == frozenset(BUILT_IN)
    }


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("nos", BUILT_IN)
def test_every_topic_module_states_its_facts(nos: str, topic: str) -> None:
    module = import_module(f"fabricc.back.nos.{nos}.{topic}")
    if (nos, topic) == ("frr", "qos"):  # Linux on a switch has no words for any of it
        assert module.DEPARTURES
    else:
        assert callable(module.state)
