"""NVUE's RoCE profile: one command that makes a switch lossless, as the facts that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricc.audit import audit_fabric
from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.words import FILE
from tests.back.nos.cumulus.test_beyond import check_declared

OWN = (Path(__file__).parent / "beyond" / "roce.txt").read_text()
PORTS = (
    "nv set interface swp1-2 type swp\nnv set interface swp1.10 type sub\nnv set interface eth0 type eth\n"
)
LOSSLESS = {
    "interface[swp1]/pfc": "3", "interface[swp1]/headroom/cable_m": 100, "qos/pfc_priority[3]/queue": 3,
    "pool[lossless]/priority[3]": "true",
}  # fmt: skip
EITHER = {
    "interface[swp1]/trust": "dscp", "interface[swp1]/queue[0]/scheduler": "dwrr 50",
    "interface[swp1]/queue[3]/scheduler": "dwrr 50", "interface[swp1]/queue[6]/scheduler": "strict",
    "interface[swp1]/queue[3]/ecn_min_bytes": 150000, "interface[swp1]/queue[3]/ecn_max_bytes": 1501500,
    "interface[swp1]/queue[3]/ecn_max_percent": 100, "qos/dscp[26]/traffic_class": 3, "qos/dscp[48]/traffic_class": 6,
    "qos/traffic_class[2]/queue": 0, "qos/traffic_class[3]/queue": 3, "qos/traffic_class[6]/queue": 6,
}  # fmt: skip


def facts_of(text: str) -> dict[str, str | int]:
    return CUMULUS.read({FILE: text}).facts


@pytest.mark.parametrize("output", ["", " mode lossless", " enable on", " state enabled"])
def test_the_profile_is_lossless_unless_the_spec_sets_another(output: str) -> None:
    facts = facts_of(f"nv set qos roce{output}\n{PORTS}")
    assert facts.items() >= (LOSSLESS | EITHER).items()
    check_declared(facts)


def test_lossy_is_all_of_it_but_what_pauses() -> None:
    facts = facts_of(f"nv set qos roce mode lossy\n{PORTS}")
    assert facts.items() >= EITHER.items()
    assert not facts.keys() & LOSSLESS.keys()


def test_one_pool_pauses_as_well() -> None:
    facts = facts_of(f"nv set qos roce mode lossless-single-ipool\n{PORTS}")
    assert facts["interface[swp1]/pfc"] == "3"
    assert "pool[lossless]/priority[3]" not in facts


@pytest.mark.parametrize("output", ["enable off", "state disabled", "mode lossy-multi-tc"])
def test_a_profile_that_is_off_or_of_unknown_figures_states_nothing(output: str) -> None:
    facts = facts_of(f"nv set qos roce {output}\n{PORTS}")
    assert facts["qos/setting[roce]"] == output
    assert not facts.keys() & (LOSSLESS | EITHER).keys()


def test_it_holds_on_ports_alone() -> None:
    facts = facts_of(f"nv set qos roce\n{PORTS}")
    assert {path for path in facts if path.endswith("/pfc")} == {"interface[swp1]/pfc", "interface[swp2]/pfc"}


def test_facts_stand_at_the_line_of_the_profile() -> None:
    text = "- set:\n    interface:\n      swp1-2:\n        type: swp\n    qos:\n      roce:\n        enable: on\n"
    reading = CUMULUS.read({FILE: text})
    assert reading.facts["interface[swp2]/pfc"] == "3"
    assert {reading.lines[path] for path in (LOSSLESS | EITHER)} == {(FILE, 6)}


def test_another_line_has_priority() -> None:
    reading = CUMULUS.read({FILE: OWN})
    facts = reading.facts
    check_declared(facts)
    assert facts["qos/dscp[26]/traffic_class"] == 2
    assert facts["qos/dscp[48]/traffic_class"] == 6
    assert (facts["qos/traffic_class[2]/queue"], facts["qos/traffic_class[3]/queue"]) == (3, 0)
    assert facts["qos/pfc_priority[2]/queue"] == 3
    assert "qos/pfc_priority[3]/queue" not in facts
    assert facts["interface[swp1]/trust"] == "dscp"
    assert (facts["interface[swp1]/pfc"], reading.lines["interface[swp1]/pfc"]) == ("2", (FILE, 7))
    assert facts["interface[swp1]/headroom/cable_m"] == 40
    assert facts["interface[swp2]/pfc"] == "5", "a profile of the port's own"
    assert "interface[swp2]/headroom/cable_m" not in facts
    assert facts["interface[swp3s0]/queue[6]/scheduler"] == "strict"
    assert "interface[swp3s1]/queue[6]/scheduler" not in facts
    assert facts["interface[swp1]/queue[3]/ecn_min_bytes"] == 200000
    assert facts["interface[swp1]/queue[3]/ecn_max_bytes"] == 1501500


@pytest.mark.parametrize("way", ["rx", "tx"])
def test_pauses_one_way_alone_are_not_pfc(way: str) -> None:
    facts = facts_of(f"nv set qos roce\nnv set qos pfc default-global {way} disable\n{PORTS}")
    assert facts["interface[swp1]/qos_setting[pfc one way]"] == "3"
    assert "interface[swp1]/pfc" not in facts


def test_no_marking_where_it_is_off() -> None:
    facts = facts_of(
        f"nv set qos roce\nnv set qos congestion-control default-global traffic-class 0,3 ecn disable\n{PORTS}"
    )
    assert not [path for path in facts if "/ecn_" in path]


def test_words_that_are_no_numbers_end_nothing() -> None:
    facts = facts_of(
        f"nv set qos roce\nnv set qos pfc default-global cable-length far\nnv set qos roce mode\n{PORTS}"
    )
    assert facts["interface[swp1]/headroom/cable_m"] == 100


def leaf_text(number: int, output: str) -> str:
    return f"""\
nv set system hostname leaf{number}
nv set qos roce {output}
nv set interface swp1 description "spine1 swp{number}"
nv set interface swp1 ip address 10.0.{number}.1/31
"""


SPINE = "nv set system hostname spine1\nnv set qos roce mode lossless\n" + "".join(
    f'nv set interface swp{number} description "leaf{number} swp1"\n'
    f"nv set interface swp{number} ip address 10.0.{number}.0/31\n"
    for number in range(1, 7)
)


@pytest.mark.parametrize("output", ["enable off", "mode lossy"])
def test_an_audit_names_the_one_switch_that_is_not_lossless(output: str, tmp_path: Path) -> None:
    (tmp_path / "spine1.txt").write_text(SPINE)
    for number in range(1, 7):
        (tmp_path / f"leaf{number}.txt").write_text(
            leaf_text(number, output if number == 4 else "mode lossless")
        )
    found = audit_fabric(tmp_path, jobs=1)
    reported = [each for each in found.findings if each.code == "FAB9600"]
    assert {each.file for each in reported} == {"leaf4.txt"}
    assert any("PFC" in each.message for each in reported)
    assert not [each for each in found.findings if "no ECN" in each.group]
