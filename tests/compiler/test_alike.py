"""Devices that differ in coordinates only are proved by substitution, as strictly as by reading each."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from ipaddress import ip_address
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.prove.likeness import Likeness, survey_device
from fabricc.compiler.prove.substitution import PatternCache
from fabricc.compiler.write.device import Work, pieces_of
from fabricc.compiler.write.outcome import Outcome
from fabricc.fabric.coordinates import Coordinates, restore_host, restore_switch, split_host, split_switch
from fabricc.fabric.model import Host
from fabricc.proof.invariants import Survey
from fabricc.rules.registry import run_switch_rules
from tests import tenanted
from tests.back.nos.mutation import KINDS
from tests.effort import scale_examples
from tests.inventories.test_shapes import BOXES, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.compiler.prove.likeness import CommonFacts
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.facts import Facts, FileContents, Reading
    from fabricc.fabric.model import Switch
    from fabricc.facts.statement import Statement
    from fabricc.proof import Finding
    from fabricc.rules.planned_links import LinkEnd
    from fabricc.rules.sessions import Sessions

    Device = Switch | Host

MUTANTS = scale_examples(160)
"""Of each kind, spread evenly over the files of a device."""
SYSTEMS = sorted(BOXES)
SLOW = ("cumulus", "junos", "sonic")
ADDRESSING = [("ipv4", "numbered"), ("dual", "numbered"), ("ipv6", "unnumbered"), ("ipv6", "numbered")]


@cache
def make_fabric(
    nos: str, shape: str = "rails that meet", family: str = "ipv4", links: str = "numbered"
) -> Fabric:
    spec = spec_of(nos, shape) | {"addressing": {"family": family, "fabric_links": links}}
    if family != "ipv4":
        spec["descriptions"] = {"fabric": "to {peer} at {peer_port}", "session": "{peer}_{peer_port}"}
    return _compile(spec)


def _compile(spec: Mapping[str, Any]) -> Fabric:
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(json.dumps(spec))
        return compile_spec(path).fabric


def all_devices(of: Fabric) -> Iterator[Device]:
    yield from (of.switch(each) for each in of.switch_ids())
    yield from (of.host(each) for each in of.host_ids())


def render_device(device: Device) -> Mapping[str, str]:
    return (
        host_files.render(device) if isinstance(device, Host) else back_ends.load(device.nos).render(device)
    )


def read(device: Device, files: Mapping[str, str]) -> Reading:
    return host_files.read(files) if isinstance(device, Host) else back_ends.load(device.nos).read(files)


def planned_facts(device: Device) -> Facts:
    return (
        host_files.planned(device) if isinstance(device, Host) else back_ends.load(device.nos).planned(device)
    )


def split_device(device: Device) -> tuple[object, Coordinates]:
    return split_host(device) if isinstance(device, Host) else split_switch(device)


def with_coordinates(device: Device, own: Coordinates) -> Device:
    return restore_host(device, own) if isinstance(device, Host) else restore_switch(device, own)


def each_substituted(of: Fabric) -> Iterator[tuple[PatternCache, Device, tuple[FileContents, CommonFacts]]]:
    """The devices that are proved by substitution, the others being read before."""
    alike = PatternCache()
    for device in all_devices(of):
        files = render_device(device)
        if (found := alike.reading(device, files)) is None:
            alike.learn(device, files, read(device, files))
        else:
            yield alike, device, found


def first_of_each(nos: str) -> list[tuple[PatternCache, Device]]:
    """A ToR and a host that are proved by substitution."""
    found = {type(device): (alike, device) for alike, device, _ in each_substituted(make_fabric(nos))}
    assert len(found) == 2
    return list(found.values())


@pytest.mark.parametrize("shape", ["a way out", "all of it"])
@pytest.mark.parametrize("nos", ["sonic", "eos"])
@pytest.mark.spread
def test_coordinates_are_taken_out_and_put_in(nos: str, shape: str) -> None:
    for device in all_devices(make_fabric(nos, shape)):
        rest, own = split_device(device)
        other = own._replace(names=tuple([name and f"{name}x" for name in own.names]))
        for each in (own, other):
            assert split_device(with_coordinates(device, each)) == (rest, each)
        assert planned_facts(with_coordinates(device, own)) == planned_facts(device)


def test_sessions_between_loopbacks_are_coordinates() -> None:
    """So that spines, and ToRs of one tenant, are proved by substitution."""
    (above, beside) = (tenanted.switch("junos", name) for name in ("spine01a", "spine02a"))
    assert above.bgp.overlay
    assert split_device(above)[0] == split_device(beside)[0]
    rest, own = split_device(above)
    assert split_device(with_coordinates(above, own)) == (rest, own)
    assert planned_facts(with_coordinates(above, own)) == planned_facts(above)


@pytest.mark.spread
@pytest.mark.parametrize(("family", "links"), ADDRESSING)
@pytest.mark.parametrize("nos", SYSTEMS)
def test_substitution_gives_what_reading_gives(nos: str, family: str, links: str) -> None:
    found = list(each_substituted(make_fabric(nos, family=family, links=links)))
    assert len(found) >= 16  # of 16 ToRs, 2 spines and 8 hosts
    alone = _compare_with_reading(found)
    assert alone == len(found) - 2  # the first ToR and host, which are looked at as wholes


def _compare_with_reading(
    found: Iterable[tuple[PatternCache, Device, tuple[FileContents, CommonFacts]]],
) -> int:
    """Return of how many devices what they share with their pattern is known."""
    alone = 0
    for _, device, (reading, common) in found:
        full = read(device, render_device(device))
        assert list(reading.facts.items()) == list(full.facts.items())
        assert (reading.lines, []) == (full.lines, full.unknown)
        alone += common.proved and common.add(device, "x", Survey()) is not None
        assert list_results(device, (reading, common)) == list_results(device, (full, None))
    return alone


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["cumulus", "frr"])
def test_tors_of_a_tenant_are_substituted(nos: str) -> None:
    found = [each for each in each_substituted(_compile(_with_tenants(nos))) if not isinstance(each[1], Host)]
    assert len(found) == 16 - 3  # ToRs; two of one tenant and one of the other are read
    _compare_with_reading(found)


def _with_tenants(nos: str) -> dict[str, Any]:
    tenants = {name: {"hosts": [f"su00{unit}-host01..04"]} for unit, name in enumerate("ab", 1)}
    return spec_of(nos, "rails that meet") | {"tenants": tenants}


@pytest.mark.parametrize("nos", SYSTEMS)
def test_two_of_all_tors_are_read_and_the_others_substituted(nos: str) -> None:
    of = make_fabric(nos, "racks")
    found = [device for _, device, _ in each_substituted(of) if not isinstance(device, Host)]
    assert len(found) == of.counts()["tors"] - 2


def test_rules_run_once_on_each_switch_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch that a pattern is made of stands for those that are substituted afterwards."""
    of, seen = _compile(_with_tenants("frr")), list[str]()

    def run(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
        seen.append(statement.device.name)
        return run_switch_rules(statement, sessions)

    monkeypatch.setattr("fabricc.compiler.write.device.run_switch_rules", run)
    work = Work(of, pieces_of(of, 1), None)
    found = [work(number) for number in range(len(work.pieces))]
    alone = {each.name for _, each, _ in each_substituted(of) if not isinstance(each, Host)}
    assert len(seen) == len({*seen} - alone) > 3
    assert len({name for piece in found for name in piece.summaries}) == len(seen) + len(alone)


@pytest.mark.parametrize("nos", SYSTEMS)
@pytest.mark.spread
def test_every_altered_word_and_line_is_left_to_the_reader(nos: str) -> None:
    for alike, device in first_of_each(nos):
        files = render_device(device)
        for _, make in KINDS:
            mutants = [each for file in files for each in make(file, files[file])]
            for each in mutants[:: max(1, len(mutants) // MUTANTS)]:
                assert alike.reading(device, {**files, each.file: each.text}) is None
        for file in files:
            assert alike.reading(device, {name: files[name] for name in files if name != file}) is None
        assert alike.reading(device, {**files, "more": ""}) is None


@pytest.mark.slow
@pytest.mark.parametrize("nos", SYSTEMS)
def test_every_other_coordinate_planned_is_left_to_the_reader(nos: str) -> None:
    for alike, device in first_of_each(nos):
        files, reading = render_device(device), read(device, render_device(device))
        for kind, values in split_device(device)[1]._asdict().items():
            for at in range(0, len(values), 5):
                if not values[at]:
                    continue
                other = (
                    *values[:at],
                    values[at][:-1] + ("1" if values[at][-1] != "1" else "2"),
                    *values[at + 1 :],
                )
                changed = with_coordinates(device, split_device(device)[1]._replace(**{kind: other}))
                if planned_facts(changed) != reading.facts:
                    assert alike.reading(changed, files) is None, (kind, values[at])


@pytest.mark.parametrize("nos", SYSTEMS)
def test_any_other_difference_from_the_pattern_is_left_to_the_reader(nos: str) -> None:
    (alike, switch), _ = first_of_each(nos)
    assert not isinstance(switch, Host)
    port = replace(switch.ports[0], mtu=switch.ports[0].mtu - 1)
    for changed in (
        replace(switch, ports=(port, *switch.ports[1:])),
        replace(switch, bgp=replace(switch.bgp, hold_s=switch.bgp.hold_s + 1)),
        replace(switch, release=""),
    ):
        assert alike.reading(changed, render_device(switch)) is None


@pytest.mark.parametrize("nos", ["cumulus", pytest.param("eos", marks=pytest.mark.slow)])
def test_addresses_may_be_sorted_as_text_or_as_numbers(nos: str) -> None:
    """NVUE sorts them as text: where hexadecimal digits come as letters or not, spines differ in order."""
    found = list(each_substituted(make_fabric(nos, "rails of their own", "ipv6", "numbered")))
    assert sum(isinstance(device, Host) for _, device, _ in found) == 6  # of 8
    assert len(found) >= 26  # of 8 and 32 switches


ODD: Mapping[str, tuple[str, ...]] = {
    "names": (
        "lo0",
        "Ethernet1",
        "swp1s0",
        "no1",
        "a:1",
        "x" * 60 + "1",
        "leaf-01.example.com",
        "spine",
        "Null0",
    ),
    "ports": ("et-0/0/0:1", "Ethernet1/1", "1", "to-x1", "lo"),
    "addresses": (
        "0.0.0.0",
        "255.255.255.255",
        "::",
        "::ffff:1.2.3.4",
        "FD00::1",
        "fd00:0::1",
        "fe80::1",
    ),
    "asns": ("1", "23456", "4294967295", "4294900001", "065001", "0"),
    "labels": ("x: y1", " x1", "a :b1", "no shutdown1", "a  b1", "ab/c:d1", "x1 #"),
}
"""Coordinates that syntax has words for, or that readers may write otherwise."""


@pytest.mark.parametrize(
    "nos", ["eos", *(pytest.param(each, marks=pytest.mark.slow) for each in SYSTEMS if each != "eos")]
)
@pytest.mark.parametrize("family", ["ipv4", "dual"])
def test_odd_coordinates_are_read_or_come_out_as_if_they_were(nos: str, family: str) -> None:
    seen: dict[object, tuple[PatternCache, Device]] = {}
    for alike, device, _ in each_substituted(make_fabric(nos, family=family)):
        seen.setdefault(type(device), (alike, device))
    proved = 0
    for alike, device in seen.values():
        own = split_device(device)[1]
        for kind, odd in ODD.items():
            for at, each in product(dict.fromkeys(filter(None, getattr(own, kind)[::29])), odd):
                values = tuple([each if value == at else value for value in getattr(own, kind)])
                changed = with_coordinates(device, own._replace(**{kind: values}))
                files = render_device(changed)
                if (found := alike.reading(changed, files)) is not None:
                    full, proved = read(changed, files), proved + 1
                    assert planned_facts(changed) == found[0].facts == full.facts, (kind, each)
                    assert (found[0].lines, []) == (full.lines, full.unknown), (kind, each)
    assert proved > 20


BROKEN: Mapping[str, Callable[[Coordinates], Coordinates]] = {
    "a public AS number": lambda own: own._replace(asns=("3320", *own.asns[1:])),
    "a neighbor's AS number": lambda own: own._replace(asns=(own.asns[-1], *own.asns[1:])),
    "a gateway's address": lambda own: own._replace(
        addresses=_replace_at(own.addresses, 2, own.addresses[3])
    ),
    "an address outside": lambda own: own._replace(addresses=_change_address(own.addresses, "198.51.100.2")),
    "one far end twice": lambda own: own._replace(names=_replace_at(own.names, 2, own.names[1])),
}
"""Coordinates of a ToR that no planner should give."""
UNIQUE = ("a public AS number", "an address outside")
"""Replacements that keep equal coordinates equal, and no others: the switch is as similar as before."""


def _replace_at(values: tuple[str, ...], at: int, value: str) -> tuple[str, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _change_address(addresses: tuple[str, ...], address: str) -> tuple[str, ...]:
    """The address of the first link to a host made another one: the first behind what is the switch's own."""
    at = next(at for at in range(9, len(addresses)) if addresses[at] not in ("", *addresses[:9]))
    return _replace_at(addresses, at, address)


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("nos", ["eos", "sonic"])
@pytest.mark.spread
def test_rules_find_the_same_in_coordinates_that_files_and_plan_agree_on(nos: str, broken: str) -> None:
    of = make_fabric(nos)
    (alike, switch), _ = first_of_each(nos)
    assert not isinstance(switch, Host)
    for each in (of.switch(one) for one in of.switch_ids()):  # the first without a breach is for all like it
        assert not list_results(each, alike.reading(each, render_device(each)))[0]
    changed = in_its_place(switch, BROKEN[broken](split_switch(switch)[1]))
    full = read(changed, render_device(changed))
    assert full.facts == planned_facts(changed)
    substitution = alike.reading(changed, render_device(changed))
    assert (substitution is not None) == (broken in UNIQUE)
    found = list_results(changed, substitution)
    assert found[0]
    assert found == list_results(changed, (full, None))


def move_coordinates(own: Coordinates) -> Iterator[Coordinates]:
    """Two that change places everywhere, or an address that becomes its neighbor: as many differ as before."""
    for kind in ("names", "ports", "addresses", "asns"):
        different = list(dict.fromkeys(filter(None, getattr(own, kind))))
        spread = slice(None, None, max(1, len(different) // 12))
        pairs = [pair for pair in pairwise(different) if len({":" in each for each in pair}) == 1][spread]
        if kind == "addresses":
            pairs += [(each, str(ip_address(each) + 1)) for each in different[spread]]
        for one, other in pairs:
            table = {one: other, other: one}
            yield own._replace(**{kind: tuple([table.get(each, each) for each in getattr(own, kind)])})


def in_its_place(device: Device, own: Coordinates) -> Device:
    """The device with other coordinates, where it stands."""
    if isinstance(device, Host):
        return replace(restore_host(device, own), unit=device.unit, slot=device.slot)
    return replace(restore_switch(device, own), plane=device.plane, pod=device.pod, unit=device.unit)


@pytest.mark.parametrize("family", ["dual", pytest.param("ipv4", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "nos", ["eos", *(pytest.param(each, marks=pytest.mark.slow) for each in SYSTEMS if each != "eos")]
)
def test_substitution_reports_the_same_findings_as_reading(nos: str, family: str) -> None:
    """Files and plan agree on them; an address that is not that of its link, or of no aggregate, breaks rules."""
    seen: dict[object, tuple[PatternCache, Device]] = {}
    for alike, device, found in each_substituted(make_fabric(nos, family=family)):
        assert not list_results(device, found)[0]  # the first is looked at as a whole
        seen[type(device)] = alike, device
    findings = alone = 0
    for alike, device in seen.values():
        for own in move_coordinates(split_device(device)[1]):
            changed = in_its_place(device, own)
            files = render_device(changed)
            if (substitution := alike.reading(changed, files)) is not None:
                alone += substitution[1].add(changed, "x", Survey()) is not None
                full = list_results(changed, (read(changed, files), None))
                assert list_results(changed, substitution) == full, own
                findings += bool(full[0])
    assert findings > (nos != "sonic")  # most moves change what its lists join, and are left to the reader
    assert alone > 20


def list_results(
    device: Device, found: tuple[FileContents, CommonFacts | None] | None
) -> tuple[list[Finding], list[LinkEnd], list[object]]:
    """Findings of a device, the ends of its links, and what the census takes of it."""
    reading, common = found or (read(device, render_device(device)), None)
    survey = Survey()
    return *survey_device(device, reading, "x", survey, common), [*survey.switches, *survey.hosts]


def test_a_policy_is_named_by_the_first_switch_that_has_it() -> None:
    """Also if switches of one policy are similar in two ways, each of which meets it anew."""
    survey, switches = Survey(), []
    for _, device, found in each_substituted(make_fabric("eos")):
        list_results(device, found)
        if isinstance(found[1].likeness, Likeness) and found[1].proved:
            found[1].likeness.keys.clear()
            assert found[1].add(device, "x", survey)
            switches.append(device.name)
    assert len(switches) > 2
    assert [policy.name for policy in survey.policies.values()] == switches[:1]


def test_a_back_end_that_does_not_take_letters_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    eos = type(back_ends.load("eos"))
    render = eos.render

    def refused(self: object, switch: Switch) -> dict[str, str]:
        if not switch.name.startswith(("su", "spine")):
            raise KeyError(switch.name)
        return render(self, switch)  # type: ignore[arg-type]

    monkeypatch.setattr(eos, "render", refused)
    assert all(isinstance(device, Host) for _, device, _ in each_substituted(make_fabric("eos")))


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["eos", "nxos", *SLOW])
def test_findings_about_a_tree_are_those_of_reading_every_device(
    nos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One altered file in each of some devices; nothing is known about the others except that they are similar."""
    of = make_fabric(nos)
    tree = {_device_folder(device): dict(render_device(device)) for device in all_devices(of)}
    for number, files in enumerate(list(tree.values())[2::3]):
        file = max(files, key=lambda name: len(files[name]))
        _, make = KINDS[number % 2]
        mutants = list(make(file, files[file]))
        files[file] = mutants[len(mutants) * (number + 1) // 9 % len(mutants)].text
    found = find_diagnostics(of, tree)
    assert len({each.code for each in found}) > 1
    _read_all(monkeypatch)
    assert found == find_diagnostics(of, tree)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["sets of rails", "two planes", "all of it"])
@pytest.mark.parametrize("nos", ["eos", "sonic"])
def test_rules_of_the_whole_and_ends_of_links_see_what_they_see_of_devices_that_are_read(
    nos: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods and planes too, which no file contains."""
    of = make_fabric(nos, shape)
    work = Work(of, pieces_of(of, 1), None)
    found = [work(number) for number in range(len(work.pieces))]
    _read_all(monkeypatch)
    for piece, each in zip(found, map(Work(of, work.pieces, None), range(len(found))), strict=True):
        assert (piece.survey, piece.ends) == (each.survey, each.ends)


def _read_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("reading", "learn"):
        monkeypatch.setattr(PatternCache, name, lambda *_: None)


def _device_folder(device: Device) -> str:
    return f"{'hosts' if isinstance(device, Host) else 'switches'}/{device.name}"


def find_diagnostics(of: Fabric, tree: Mapping[str, Mapping[str, str]]) -> list[Diagnostic]:
    outcome = Outcome(Work(of, pieces_of(of, 1), None, lambda folder: (tree[folder], [])), 1)
    outcome.run(None, "")
    return outcome.diagnostics("tree", {})
