"""Random sequences of ordinary changes, each taken in the steps of its migration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc.back import hosts
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.fabric import Fabric
from fabricc.operate.migrate.prepare import prepare_migration
from tests.effort import scale_examples
from tests.operate.migrate.test_migrate import ROOM, check_migration

if TYPE_CHECKING:
    from fabricc.compiler.compiled import Compiled


@dataclass(frozen=True)
class State:
    """The content of a spec in the sequence."""

    dscp: int = 26
    priority: int = 3
    family: str = "ipv4"
    links: str = "10.64.0.0/10"
    spine_asn: str = "shared"
    release: str = "sonic-202505"
    hosts: int = 8
    spines: int = 4
    drained: str = ""
    bare: bool = False
    asn_base: int = 4_200_000_000
    loopbacks: int = 12
    spine: str = "sn5400"

    @property
    def pool(self) -> str:
        if self.bare:
            return ", fabric_links: unnumbered"
        return "" if self.family == "ipv6" else f", links: {self.links}"

    @property
    def system(self) -> str:
        return self.release if self.spine == "sn5400" else "eos-4.32"

    @property
    def text(self) -> str:
        drained = f"overrides: {{{self.drained}: {{drain: true}}}}\n" if self.drained else ""
        return f"""\
cluster: zone
gpus: {{model: dgx-h100, hosts: {self.hosts}, hosts_per_unit: 4}}
tors: {{model: sn5400, nos: {self.release}, uplinks: 8}}
spines: {{model: {self.spine}, nos: {self.system}, count: {self.spines}}}
addressing: {{family: {self.family}, loopbacks: 10.128.0.0/{self.loopbacks}{self.pool}}}
routing: {{spine_asn: {self.spine_asn}, asn_base: {self.asn_base}}}
priorities:
  rdma: {{dscp: {self.dscp}, priority: {self.priority}, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
{drained}"""


NUMBERS = st.one_of(
    st.booleans().map(lambda bare: {"bare": bare}),
    st.sampled_from([4_200_000_000, 4_210_000_000]).map(lambda base: {"asn_base": base}),
    st.sampled_from([11, 12]).map(lambda length: {"loopbacks": length}),
    st.sampled_from(["sn5400", "7060dx5-64s"]).map(lambda model: {"spine": model}),
    st.sampled_from(
        [{"spine": "7060dx5-64s", "bare": True}, {"spine_asn": "unique", "asn_base": 4_210_000_000}]
    ),
)
CHANGES = st.one_of(
    st.sampled_from([18, 26, 34]).map(lambda dscp: {"dscp": dscp}),
    st.sampled_from([3, 4]).map(lambda priority: {"priority": priority}),
    st.sampled_from(["ipv4", "ipv6", "dual"]).map(lambda family: {"family": family}),
    st.sampled_from(["10.64.0.0/10", "100.64.0.0/10"]).map(lambda pool: {"links": pool}),
    st.sampled_from(["shared", "unique"]).map(lambda asn: {"spine_asn": asn}),
    st.sampled_from(["sonic-202505", "sonic-202511"]).map(lambda release: {"release": release}),
    st.sampled_from([12, 16]).map(lambda count: {"hosts": count}),
    st.sampled_from([4, 8]).map(lambda count: {"spines": count}),
    st.sampled_from(["", "spine01a", "su001-tor1a"]).map(lambda name: {"drained": name}),
    NUMBERS,
)


def deployed_files(compiled: Compiled) -> dict[str, Mapping[str, str]]:
    """Every file of every switch and host."""
    fabric = compiled.fabric
    assert isinstance(fabric, Fabric)
    switches = (fabric.switch(at) for at in fabric.switch_ids())
    found: dict[str, Mapping[str, str]] = {switch.name: render_switch(switch) for switch in switches}
    return found | {host.name: hosts.render(host) for host in map(fabric.host, fabric.host_ids())}


def write_pins(folder: Path, state: State, pins: str) -> Compiled:
    """The spec with some pins, and those that it needs besides."""
    folder.mkdir()
    spec = folder / "cluster.yaml"
    spec.write_text(state.text)
    if pins:
        spec.with_name("fabricc.lock").write_text(pins)
    spec.with_name("fabricc.lock").write_text(compile_spec(spec, repin=()).lock_text)
    return check_migration(spec)


def carried_out(folder: Path, states: list[State]) -> None:
    """Take every change in its steps: all prove, and what is deployed is what the spec gives with the same pins."""
    runs = write_pins(folder / "first", states[0], "")
    pins = runs.lock_text
    for number, (_, after) in enumerate(pairwise(states)):
        fresh = write_pins(folder / f"fresh{number}", after, pins)
        found = prepare_migration(runs, fresh, ROOM, folder / f"steps{number}", lambda *_: None)
        assert [stage.number for stage in found.stages] == list(range(1, len(found.stages) + 1))
        last = found.stages[-1].spec
        assert last is not None
        runs, pins = check_migration(last), fresh.lock_text
        assert last.read_text() == after.text
        assert runs.lock_text == pins
        assert deployed_files(runs) == deployed_files(fresh)


def draw_sequence(changes: list[dict[str, object]]) -> list[State]:
    """The states; a fabric with hosts does not shrink."""
    states = [State()]
    for change in changes:
        after = replace(states[-1], **change)  # type: ignore[arg-type]
        if after != states[-1] and after.hosts >= states[-1].hosts:
            states.append(after)
    return states


CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.mark.slow
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=CHECKS)
@given(st.lists(CHANGES, min_size=2, max_size=3))
def test_deployed_steps_end_with_a_build_of_the_last_spec(
    changes: list[dict[str, object]],
) -> None:
    with TemporaryDirectory() as folder:
        carried_out(Path(folder), draw_sequence(changes))


@pytest.mark.slow
@settings(max_examples=scale_examples(60), deadline=None, suppress_health_check=CHECKS)
@given(st.lists(CHANGES, min_size=3, max_size=7))
def test_many_deployed_steps_end_with_a_build_of_the_last_spec(
    changes: list[dict[str, object]],
) -> None:
    with TemporaryDirectory() as folder:
        carried_out(Path(folder), draw_sequence(changes))


@pytest.mark.slow
@settings(max_examples=scale_examples(40), deadline=None, suppress_health_check=CHECKS)
@given(st.lists(NUMBERS, min_size=2, max_size=5))
def test_steps_with_new_numbers_and_models_end_with_a_build_of_the_last_spec(
    changes: list[dict[str, object]],
) -> None:
    with TemporaryDirectory() as folder:
        carried_out(Path(folder), draw_sequence(changes))
