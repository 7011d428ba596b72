"""Answers that real switches printed, through the drivers, where a copy of those answers is there."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import napalm.junos
from lxml import etree

from fabricc.operate.drivers import eos_views, junos_views, nxos_views
from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.lossless import DROPPED, CounterTotals
from fabricc.operate.drivers.nxos_replace import (
    changing_commands,
    is_verified,
    read_log,
    refuses,
    reports_outcome,
)
from tests.operate.drivers.servers.eos import EosSwitch, eos_switch
from tests.operate.drivers.servers.junos import JunosSwitch, junos_switch
from tests.operate.drivers.servers.nxos import NxosSwitch, nxos_switch
from tests.operate.drivers.test_published_identities import ANSWERS, needed

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

GETTERS = (
    "get_bgp_neighbors",
    "get_lldp_neighbors_detail",
    "get_lldp_neighbors",
    "get_interfaces",
    "get_config",
)


class Case:
    """The answers of one switch: files named after their commands or requests."""

    folder: Path | None = None

    def find(self, command: str, *kinds: str) -> str | None:
        """Return the answer to a command, None where the case has none."""
        if self.folder is None:
            return None
        for name in (re.sub(r"[^A-Za-z0-9]", "_", command), command.replace(" ", "_").replace("/", "_")):
            for kind in kinds:
                if (path := self.folder / f"{name}.{kind}").exists():
                    return path.read_text()
        return None


def compare(case: Case, nos: str, connect: Callable[[], Any]) -> tuple[int, list[str]]:
    """Return how many results are equal to the published ones, and the names of those that are not."""
    equal, others = 0, []
    for getter in GETTERS:
        for folder in sorted((ANSWERS / nos / f"napalm-{nos}" / f"test_{getter}").glob("*")):
            case.folder = None
            expected = folder / "expected_result.json"
            if not expected.exists() or sum(1 for _ in folder.iterdir()) == 1:
                continue
            with connect() as driver:
                case.folder = folder
                try:
                    found = json.loads(json.dumps(getattr(driver, getter)()))
                except Exception as error:
                    found = str(error)
            case.folder = None
            if found == json.loads(expected.read_text()):
                equal += 1
            else:
                others.append(f"{getter}/{folder.name}: {str(found)[:200]}")
    return equal, others


@needed
def test_eos_reads_what_napalm_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, usual = Case(), EosSwitch._run

    def run(self: EosSwitch, text: str) -> dict[str, Any]:
        if (found := case.find(text, "json")) is not None:
            return dict(json.loads(found))
        found = case.find(text, "text")
        return usual(self, text) if found is None else {"output": found}

    monkeypatch.setattr(EosSwitch, "_run", run)
    with eos_switch(tmp_path) as server:
        assert compare(case, "eos", server.device.connect) == (6, [])


@needed
def test_nxos_reads_what_napalm_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, table, run = Case(), NxosSwitch._table, NxosSwitch._run

    def find_table(self: NxosSwitch, command: str) -> Any:
        found = case.find(command, "json")
        with suppress(ValueError):
            return table(self, command) if found is None else json.loads(found)
        return table(self, command)

    def find_text(self: NxosSwitch, command: str) -> str | None:
        found = case.find(command, "txt", "json")
        return run(self, command) if found is None else found

    monkeypatch.setattr(NxosSwitch, "_table", find_table)
    monkeypatch.setattr(NxosSwitch, "_run", find_text)
    with nxos_switch(tmp_path) as server:
        equal, others = compare(case, "nxos", server.device.connect)
    assert equal == 4
    assert [one.partition(":")[0] for one in others] == ["get_config/normal"], "its authors cut it off"


@needed
def test_junos_reads_what_napalm_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, usual = Case(), JunosSwitch._reply

    def reply(self: JunosSwitch, me: object, message: bytes) -> str:
        requested = etree.fromstring(message.strip())[0]
        name = etree.QName(requested).localname
        found = case.find(name + "".join(one.text or "" for one in requested), "xml") or case.find(
            name, "xml"
        )
        if found is None:
            return usual(self, me, message)
        content = "".join(etree.tostring(one).decode() for one in etree.fromstring(f"<a>{found}</a>"))
        answer = usual(self, me, message)
        return f"{answer[: answer.index('>') + 1]}{content}</rpc-reply>"

    monkeypatch.setattr(JunosSwitch, "_reply", reply)
    with junos_switch(tmp_path) as server:
        equal, others = compare(case, "junos", lambda: server.device.connect(timeout=20))
    assert equal == 2
    assert all("syntax error" in one or one.startswith("get_config") for one in others), "answers are missing"


def answer_texts(nos: str) -> list[tuple[Path, str]]:
    paths = [path for kind in ("raw", "txt") for path in ANSWERS.glob(f"{nos}/**/*.{kind}")]
    return [(path, path.read_text("utf-8", "replace")) for path in sorted(paths)]


@needed
def test_no_text_of_nxos_is_taken_for_an_outcome_of_a_replace() -> None:
    found = answer_texts("nxos")
    assert len(found) > 500
    for path, text in found:
        assert read_log(text) is None, path
        assert not is_verified(text), path
        assert not reports_outcome(text, "Configure replace completed"), path
        with suppress(AnswerError):
            assert changing_commands(text), path
    refused = [path.parts[-4] for path, text in found if refuses(text)]
    assert refused == ["ShowNgoamLoopDetectionStatus", "ShowNgoamLoopDetectionSummary"], (
        "they begin with ERROR"
    )


@needed
def test_environments_have_the_alarms_that_they_print() -> None:
    found = {
        path.parts[-2]: nxos_views.read_alarms(json.loads(path.read_text()))
        for path in ANSWERS.glob("nxos/napalm-nxos/test_get_environment/*/show_environment.json")
    }
    assert found.pop("psu_issues_1371_1372") == ["fan Fan_in_PS2: Shutdown", "power supply 2: Shutdown"]
    assert len(found) == 3
    assert not any(found.values())
    shown = []
    for command, _, wanted, read in eos_views.HEALTH:
        for path in ANSWERS.glob(f"eos/**/{command.replace(' ', '_')}.json"):
            answer = json.loads(path.read_text())
            assert wanted in answer, path
            shown += [(path.parts[-2], alarm) for alarm in read(answer)]
    assert shown == [("issue810_7010t", "power supply 2: powerLoss")]


@needed
def test_queues_and_sessions_of_junos_are_read() -> None:
    tally = CounterTotals()
    folder = ANSWERS / "junos"
    junos_views.read_queues(
        (folder / "genieparser/ShowInterfacesQueue/cli/equal/golden_output_output.txt").read_text(), tally
    )
    assert set(tally.counters()[DROPPED]["ge-0/0/2"]) == {"0", "1", "2", "3", "4"}
    family = napalm.junos.JunOSDriver._get_address_family
    path = "napalm-junos/test_get_bgp_neighbors_detail/inet_inet6_inetflow_iss139/get-bgp-neighbor-information.xml"
    answer = etree.fromstring((folder / path).read_bytes())
    found = junos_views.read_sessions(answer, family)
    assert found is not None
    assert {name: one["router_id"] for name, one in found.items()} == {
        "MAGIC": "172.17.17.2",
        "global": "172.17.17.1",
    }
    peer = found["global"]["peers"]["1.2.3.4"]
    assert (peer["is_up"], peer["remote_as"]) == (True, 13335)
    assert peer["address_family"]["ipv4"]["received_prefixes"] == 215
    old = etree.fromstring(
        (
            folder / "napalm-junos/test_get_bgp_neighbors/pr_581/get-bgp-neighbor-informationmaster.xml"
        ).read_bytes()
    )
    assert junos_views.read_sessions(old, family) is None, "Junos 14 prints no instance of a peer"
