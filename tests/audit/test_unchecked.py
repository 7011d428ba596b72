"""A topic is proved only if every rule about it had its inputs; otherwise the missing input is named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.coverage import State
from fabricc.audit.rules import invariant_progress
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.facts.statement import HOST
from fabricc.interface import audit_folder
from fabricc.rules.rule import BGP, ECN, HOSTS, INTERFACES, PFC, POLICY, Input
from tests.audit import ours
from tests.audit.faults.fabric import build_texts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabricc.audit.run import Audit


def audit_switches(folder: Path, names: list[str]) -> Audit:
    """Audit these switches of a fabric of SONiC."""
    for name in names:
        write_files(folder / name, build_texts("sonic")[name])
    return audit_folder(folder, jobs=1)


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a device."""
    for file, text in texts.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Return the audit of the whole fabric."""
    return audit_switches(tmp_path_factory.mktemp("whole"), list(build_texts("sonic")))


def test_a_topic_is_proved_if_no_input_of_its_rules_is_missing(whole: Audit) -> None:
    for one in whole.coverage.devices.values():
        proved = {topic for topic, state in one.topics.items() if state is State.PROVED}
        assert not proved & one.unchecked.keys()
        assert {INTERFACES, PFC, ECN} <= proved


def test_a_switch_alone_has_no_links_so_its_topics_are_not_proved(tmp_path: Path) -> None:
    name = next(iter(build_texts("sonic")))
    one = audit_switches(tmp_path, [name]).coverage.devices[name]
    assert one.unchecked[PFC] == Input.LINKS.value
    assert one.topics[PFC] is State.UNPROVED
    assert one.shown_state(PFC) == f"not checked: {Input.LINKS.value}"
    assert one.shown_state("hosts") == State.SILENT.value


def test_settings_beside_bgp_and_pfc_prove_nothing_on_a_switch_without_these(tmp_path: Path) -> None:
    """A ToR that only states BFD and route maps runs no BGP, and one with thresholds alone has no port with PFC."""
    names = list(build_texts("eos"))
    for name in names:
        (file, text), *_ = build_texts("eos")[name].items()
        if name == names[0]:
            text = text[: text.index("router bgp")]
        if name == names[1]:
            text = re.sub(r".*priority-flow-control.*\n", "", text)
        (tmp_path / f"{name}-{file}").write_text(text)
    covered = audit_folder(tmp_path, jobs=1).coverage.devices
    assert [covered[names[0]].shown_state(topic) for topic in (BGP, POLICY)] == ["not checked: no BGP"] * 2
    assert covered[names[1]].unchecked[ECN] == Input.PFC.value
    assert covered[names[2]].topics[BGP] is covered[names[2]].topics[PFC] is State.PROVED


def test_hosts_are_proved_with_the_switches_of_their_links_alone(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(ours.spec_of("eos", hosts=2))
    for switch in ours.switches_of(spec):
        write_files(tmp_path / "all" / switch.name, back_ends.load("eos").render(switch))
    fabric = compile_spec(spec).fabric
    for host in map(fabric.host, fabric.host_ids()):
        for folder in ("all", "alone"):
            write_files(tmp_path / folder / host.name, host_files.render(host))
    for folder, state in (("all", State.PROVED.value), ("alone", f"not checked: {Input.LINKS.value}")):
        covered = audit_folder(tmp_path / folder, jobs=1).coverage.devices
        assert {one.shown_state(HOSTS) for one in covered.values() if one.system == HOST} == {state}


def test_lanes_are_checked_on_a_system_that_counts_ports_from_0(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(ours.spec_of("junos"))
    lanes = next(row for row in invariant_progress(ours.found_in(spec)) if row.number == 1)
    assert lanes.proved > 0
    assert (lanes.unproved, lanes.why) == (0, "")
