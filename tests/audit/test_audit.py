"""A whole audit: the findings of a folder in every format, and no folder makes the verb crash."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from fabricc.audit import audit_fabric
from fabricc.audit.coverage import TOPICS, State, measure_understood, topic_of
from fabricc.back import nos as back_ends
from fabricc.base.foreign.files import Folder
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.facts import Reading
from fabricc.facts.frame import split_facts
from fabricc.proof.invariants.rules import RULES
from tests.audit.test_gather import CORPORA, MODELS, SPEC, folder_of
from tests.cli.conftest import fabricc as fabricc

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

_LLDPD = "Interface:    {0}, via: LLDP, RID: 1\n  SysName:      {1}\n  PortID:       ifname {2}\n"
LLDP = {
    "cumulus": _LLDPD,
    "frr": _LLDPD,
    "eos": 'Interface {0} detected 1 LLDP neighbors:\n  - System Name: "{1}"\n    Port ID     : "{2}"\n',
    "nxos": "Chassis id: 00aa.bbcc.ddee\nPort id: {2}\nLocal Port id: {0}\nSystem Name: {1}\n",
    "junos": "Local Information:\nLocal Interface    : {0}\nPort ID            : {2}\nSystem name        : {1}\n",
    "sonic": "{0}  {1}  {2}  BR\n",
}
"""The LLDP neighbor in the syntax of each system: local port, neighbor, its port."""
FABRICS: dict[str, Path] = {}


@pytest.fixture(scope="module")
def fabrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each system the folder that somebody would collect: a configuration and an LLDP output for every switch."""
    if not FABRICS:
        for nos, model in MODELS.items():
            folder = tmp_path_factory.mktemp(nos)
            spec = folder / "spec.yaml"
            spec.write_text(SPEC.format(nos=nos, model=model))
            fabric = compile_spec(spec).fabric
            spec.unlink()
            texts = {}
            for switch in map(fabric.switch, fabric.switch_ids()):
                for file, text in back_ends.load(nos).render(switch).items():
                    texts[
                        f"collected/{switch.name}/{file}" if nos in ("sonic", "frr") else f"{switch.name}.txt"
                    ] = text
                rows = [LLDP[nos].format(p.name, p.peer.device, p.peer.port) for p in switch.ports if p.peer]
                head = "LocalPort  RemoteDevice  RemotePortID  Capability\n" if nos == "sonic" else ""
                texts[f"lldp/{switch.name}_show_lldp_neighbors.txt"] = head + "".join(rows)
            FABRICS[nos] = folder_of(folder, texts)
    return FABRICS


@pytest.mark.parametrize("nos", sorted(MODELS))
@pytest.mark.spread
def test_a_fabric_of_ours_is_understood_to_its_last_line(nos: str, fabrics: dict[str, Path]) -> None:
    found = audit_fabric(fabrics[nos], jobs=1)
    assert {device.system for device in found.devices.values()} == {nos}
    assert found.exit_status == 0
    assert {one.code for one in found.findings} <= {"FAB9506", "FAB9507", "FAB9621"}
    assert len(found.found.links) == {"frr": 64}.get(nos, 48), "every cable of the plan, those to hosts too"
    assert found.coverage.unknown == 0
    assert not found.coverage.frequent
    assert all(device.neighbors for device in found.devices.values())
    assert not [
        one
        for one in found.findings
        if one.code.startswith("FAB95") and one.code not in ("FAB9506", "FAB9507")
    ]
    for one in found.coverage.devices.values():
        assert State.UNKNOWN not in one.topics.values()
        assert one.topics["interfaces"] is not State.SILENT
        assert one.counts.understood + one.counts.aside == one.counts.statements


def test_an_unknown_line_takes_the_proof_of_its_topic_away(fabrics: dict[str, Path], tmp_path: Path) -> None:
    path = next(path for path in fabrics["eos"].glob("*.txt") if "tor" in path.name)
    text = path.read_text()
    at = text.index("   neighbor ")
    folder = folder_of(
        tmp_path / "after", {path.name: f"{text[:at]}   neighbor of-no-reader at 17\n{text[at:]}"}
    )
    (before,) = audit_fabric(
        folder_of(tmp_path / "before", {path.name: text}), jobs=1
    ).coverage.devices.values()
    found = audit_fabric(folder, jobs=1)
    one = found.coverage.devices[path.stem]
    assert before.topics["BGP"] is not State.UNKNOWN
    assert one.topics["BGP"] is State.UNKNOWN
    assert one.topics["PFC"] is before.topics["PFC"]
    (line,) = (line for line in found.coverage.frequent if line.file == path.name)
    assert (line.text, line.times, line.line) == ("neighbor of-no-reader at 17", 1, text[:at].count("\n") + 1)


@pytest.mark.parametrize("format_", ["json", "sarif", "junit", "github", "html"])
def test_every_format_is_what_programs_take(
    format_: str, fabrics: dict[str, Path], tmp_path: Path, fabricc: Fabricc
) -> None:
    target = tmp_path / "audit.out"
    ran = fabricc("audit", str(fabrics["eos"]), "--format", format_, "-o", str(target), "--jobs", "1")
    assert ran.status in (0, 1)
    text = target.read_text()
    assert fabricc("audit", str(fabrics["eos"]), "--format", format_, "--jobs", "1").out == text
    if format_ == "json":
        reported = json.loads(text)
        assert reported["devices"].keys() == {path.stem for path in fabrics["eos"].glob("*.txt")}
        assert all(set(one["coverage"]) == set(TOPICS) for one in reported["devices"].values())
        assert reported["unknown"] == []
    elif format_ == "sarif":
        assert json.loads(text)["version"] == "2.1.0"
    elif format_ == "junit":
        assert ElementTree.fromstring(text).tag == "testsuites"
    elif format_ == "html":
        assert text.startswith("<!DOCTYPE html>")
        assert "Fabric audit" in text
        assert "Not understood" in text


def test_text_report_lists_devices_and_the_understood_share(
    fabrics: dict[str, Path], fabricc: Fabricc
) -> None:
    ran = fabricc("audit", str(fabrics["sonic"]), "--jobs", "1")
    assert "switches and 0 hosts" in ran.out
    assert "sonic" in ran.out
    assert "(100 %)" in ran.out


def test_a_folder_without_anything_is_an_error(tmp_path: Path, fabricc: Fabricc) -> None:
    ran = fabricc("audit", str(folder_of(tmp_path, {"README": "nothing\n"})))
    assert ran.status == 1
    assert "FAB9500" in ran.err
    assert fabricc("audit", str(tmp_path / "none")).status == 2


def test_all_lists_every_finding(tmp_path: Path, fabricc: Fabricc) -> None:
    folder = folder_of(tmp_path, {f"note{n}.txt": "nothing\n" for n in range(7)})
    few, every = (
        json.loads(fabricc("audit", str(folder), "--format", "json", *more).out) for more in ((), ("--all",))
    )
    assert len([one for one in few["diagnostics"] if one["code"] == "FAB9501"]) == 3
    assert len([one for one in every["diagnostics"] if one["code"] == "FAB9501"]) == 7


def test_one_file_is_audited_as_well(fabrics: dict[str, Path], fabricc: Fabricc) -> None:
    path = next(fabrics["junos"].glob("*.txt"))
    ran = fabricc("audit", str(path))
    assert "1 switch and 0 hosts" in ran.out
    assert str(path) in ran.err


# --- what others wrote -----------------------------------------------------------------------------------


@pytest.mark.parametrize("nos", sorted(MODELS))
@pytest.mark.spread
def test_no_folder_is_too_garbled(
    nos: str, fabrics: dict[str, Path], tmp_path: Path, fabricc: Fabricc
) -> None:
    chance = random.Random(7)
    texts: dict[str, str | bytes] = {}
    for path in sorted(fabrics[nos].rglob("*.*"))[:10]:
        content = path.read_bytes()
        name = str(path.relative_to(fabrics[nos]))
        texts[f"cut/{name}"] = content[: chance.randrange(len(content))]
        lines = content.split(b"\n")
        texts[f"mixed/{name}"] = b"\n".join(chance.sample(lines, len(lines)))
        bad = bytearray(content)
        for _ in range(50):
            bad[chance.randrange(len(bad))] = chance.randrange(1, 256)
        texts[f"bad/{name}"] = bytes(bad)
    ran = fabricc("audit", str(folder_of(tmp_path, texts)), "--jobs", "1")
    assert ran.status in (0, 1)
    assert "FAB7999" not in ran.err
    assert "FAB9508" not in ran.err


@pytest.mark.skipif(not CORPORA.is_dir(), reason="no corpora here")
@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("nos", sorted(MODELS))
@pytest.mark.spread
def test_audit_reads_foreign_collections_without_defects(nos: str, share: int) -> None:
    """Every so many-th collection of a system."""
    sources = sorted(path for path in (CORPORA / nos).iterdir() if path.is_dir())
    for source in sources[::share]:
        found = audit_fabric(source)
        assert not [one for one in found.findings if one.code == "FAB9508"], source
        for one in found.findings:
            if one.line:
                assert 0 < one.line <= (source / one.file).read_text(errors="replace").count("\n") + 1, one


def test_the_topic_of_a_statement_hangs_on_nothing_that_was_read_before() -> None:
    """Targets of a routing instance are no policy, policies of its sessions are, whichever comes first."""
    targets, policy = "vrf[RED]/import", "vrf[RED]/bgp/neighbor[10.0.0.1]/import"
    for paths in ((targets, policy), (policy, targets)):
        lines = {path: ("config", number) for number, path in enumerate(paths, 1)}
        both, one = (
            Reading(dict.fromkeys(paths, "x"), lines),
            Reading({targets: "x"}, {targets: ("config", 1)}),
        )
        several = measure_understood("eos", split_facts(both), (), frozenset(), 2)
        alone = measure_understood("eos", split_facts(one), (), frozenset(), 1)
        assert (several.stated, alone.stated) == ({"other", "policy"}, {"other"})


def test_topics_of_paths_ignore_no_part_between_brackets() -> None:
    """Paths with the same beginning and end have one topic only if all parts between are the same."""
    stopped, shut = "interface[Ethernet1]/pfc_setting[3]/enabled", "interface[Ethernet1]/enabled"
    assert [topic_of(path) for path in (stopped, shut, stopped)] == ["PFC", "interfaces", "PFC"]


def test_the_evaluated_rules_are_reported(fabrics: dict[str, Path], fabricc: Fabricc) -> None:
    """A topic without findings means something only if switches were checked for it."""
    found = audit_fabric(fabrics["frr"], jobs=1)
    accounts = {one.topic: one for one in found.accounts}
    assert accounts["BGP"].asked == len(found.devices)
    assert "PFC" not in accounts, "no port has any, so there is nothing to ask"
    assert accounts["interfaces"].findings == 0
    assert len(found.progress) == len(RULES)
    reported = json.loads(fabricc("audit", str(fabrics["eos"]), "--format", "json", "--jobs", "1").out)
    assert reported["rules"]["PFC"]["asked"] == len(reported["devices"])
    assert {row["number"] for row in reported["asked"]} == RULES.keys()
    shown = fabricc("audit", str(fabrics["eos"]), "--jobs", "1").out.partition("rules, by topic")[2]
    row = next(line.split() for line in shown.splitlines() if line.startswith("classification"))
    assert row[1:4] == [str(len(reported["devices"])), "0", "0"]


def test_undefined_names_do_not_read_the_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, read = [], Folder.read
    monkeypatch.setattr(Folder, "read", lambda *words, **named: (counts.append(1), read(*words, **named))[1])
    found = []
    for names in (2, 40):
        folder = tmp_path / str(names)
        folder.mkdir()
        maps = (
            f"route-map M{each} permit 10\n match ip address prefix-list P{each}\nexit\n"
            for each in range(names)
        )
        text = "frr version 8.4\nfrr defaults datacenter\nhostname s1\nrouter bgp 65000\nexit\n"
        (folder / "frr.conf").write_text(text + "".join(maps))
        counts.clear()
        audit = audit_fabric(folder, jobs=1)
        found.append((len(counts), sum(each.code == "FAB9605" for each in audit.findings)))
    assert [undefined for _, undefined in found] == [2, 40]
    assert found[0][0] == found[1][0]
