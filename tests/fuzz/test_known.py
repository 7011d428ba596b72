"""Inputs that once ended in a traceback or without memory, each named for what it is, through the verbs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.devices.running import pack_files
from tests.fuzz.campaign import open_input
from tests.fuzz.targets import TARGETS, answering, write_journal

if TYPE_CHECKING:
    from tests.fuzz.arena import Arena


def run_in_lab_folder(arena: Arena, lab: str, files: dict[str, str], *words: str) -> tuple[int, str]:
    """Return the output of a verb with these files next to the spec of a lab, without forbidden outputs."""
    with arena.inside(), arena.judged():
        for name, text in files.items():
            arena.put(arena.labs[lab] / name, text.encode("utf-8", "surrogatepass"))
        place = arena.labs[lab]
        return arena.fabricc(*(word.format(lab=place, out=arena.out) for word in words))


def spec_text(arena: Arena, more: str, lab: str = "frr") -> str:
    return (arena.labs[lab] / "cluster.yaml").read_text() + more


def test_a_severity_that_is_a_number_has_a_place(arena: Arena) -> None:
    text = spec_text(arena, "").replace("reason: a lab has no queues", "reason: x, severity: 1", 1)
    status, output = run_in_lab_folder(arena, "frr", {"cluster.yaml": text}, "validate", "{lab}/cluster.yaml")
    assert status == 1
    assert "severity" in output
    assert "cluster.yaml:10:" in output


@pytest.mark.parametrize("value", ["0", "2147483648", "9999999999"])
def test_a_stride_that_no_build_writes_is_a_finding(arena: Arena, value: str) -> None:
    lock = (arena.labs["frr"] / "fabricc.lock").read_text().splitlines()
    names = [line.split()[1] for line in lock if line.startswith("stride ")]
    assert {"unit_digits", "links_per_spine", "host"} <= {*names}
    for name in names:
        text = "\n".join(
            f"stride {name} {value}" if line.startswith(f"stride {name} ") else line for line in lock
        )
        status, output = run_in_lab_folder(arena, "frr", {"fabricc.lock": text}, "plan", "{lab}/cluster.yaml")
        assert status in (0, 1)
        if name in ("unit_digits", "host_digits") or (name, value) == ("links_per_spine", "0"):
            assert "FAB6040" in output
            assert "fabricc.lock:" in output


OVERLAYS = {
    "a second address of the loopback": ("frr.conf", "interface lo\n ip address 10.9.9.9/32\n"),
    "a second address in interfaces": (
        "interfaces",
        "auto lo\niface lo inet loopback\n    address 10.9.9.9/32\n",
    ),
}


@pytest.mark.parametrize("what", OVERLAYS)
def test_an_overlay_may_add_an_address(arena: Arena, what: str) -> None:
    into, text = OVERLAYS[what]
    files = {
        "cluster.yaml": spec_text(arena, f"overlays: [{{file: o.txt, nos: frr, into: {into}}}]\n"),
        "o.txt": text,
    }
    with arena.inside(), arena.judged():
        for name, content in files.items():
            arena.put(arena.labs["frr"] / name, content.encode())
        place = arena.labs["frr"] / "cluster.yaml"
        status, output = arena.fabricc("build", place, "-o", arena.out, "-j", "1")
        assert status == 0, output
        assert "10.9.9.9" in (arena.out / "lab/switches/spine01a" / into).read_text()
        status, output = arena.fabricc("check", arena.out / "lab", "--spec", place, "-j", "1")
        assert status == 0, output


@pytest.mark.parametrize("value", ["!!int x", "!!timestamp x", "2026-13-45", "!!float x", "!!binary é"])
def test_a_value_that_is_none_of_its_tag_makes_no_access_file(arena: Arena, value: str) -> None:
    status, output = run_in_lab_folder(
        arena, "frr", {"fabricc-access.yaml": f"timeout_s: {value}\n"},
        "push", "{lab}/build/lab", "--plan", "--access", "{lab}/fabricc-access.yaml",
    )  # fmt: skip
    assert status == 1
    assert "FAB9101" in output


MODEL = """\
sources: {{x: a test}}
switches:
  mine:
    extends: {model}
    nos:
      {nos}: {{port: "{port}", source: x}}
"""


@pytest.mark.parametrize(
    ("model", "nos", "port"),
    [
        ("7060dx5-64s", "eos", "Ethernet{slot}/{cage}/{lane}"),
        ("7060dx5-64s", "eos", "Ethernet{child}"),
        ("9332d-gx2b", "nxos", "Ethernet{slot}/{cage}"),
        ("sn5600", "cumulus", "swp{slot}"),
        ("linux-16x100", "frr", "eth{slot}"),
    ],
)
def test_a_port_name_of_words_that_ports_do_not_have_is_a_finding(
    arena: Arena, model: str, nos: str, port: str
) -> None:
    text = spec_text(arena, "catalog: [mine.yaml]\n").replace(
        "tors: {model: linux-16x100, nos: frr", f"tors: {{model: mine, nos: {nos}"
    )
    files = {"cluster.yaml": text, "mine.yaml": MODEL.format(model=model, nos=nos, port=port)}
    status, output = run_in_lab_folder(arena, "frr", files, "validate", "{lab}/cluster.yaml")
    status, output = (
        run_in_lab_folder(arena, "frr", files, "plan", "{lab}/cluster.yaml")
        if status == 0
        else (status, output)
    )
    assert status == 1
    assert "slot" in output or "child" in output, output


def test_an_emptied_file_of_networkd_is_a_finding(arena: Arena) -> None:
    tree = arena.labs["infiniband"] / "build" / "lab"
    names = [
        path for path in tree.glob("hosts/*/etc/systemd/network/*") if path.suffix in (".network", ".netdev")
    ]
    assert names
    for path in names[:4]:
        why = open_input(
            arena, TARGETS["tree:hosts"], f"infiniband {path.relative_to(tree)}\n[Match]\n".encode()
        )
        assert why == ""


def test_a_configuration_that_looks_like_several_is_a_finding(arena: Arena) -> None:
    path = "switches/spine01a/frr.conf"
    tree = arena.labs["frr"] / "build" / "lab"
    mark = "==> frr.conf <==\n"
    for text in (mark + mark, (tree / path).read_text() + mark):
        with arena.inside(), arena.judged():
            arena.put(tree / path, text.encode())
            arena.sign(tree, path)
            assert "unknown line '==> frr.conf <=='" in arena.fabricc("check", tree, "-j", "1")[1]
            rows = {
                "device": [
                    [
                        1,
                        "spine01a",
                        "confirmed",
                        "",
                        "",
                        1,
                        0,
                        f"zlib:{mark * 2}",
                        f"zlib:{mark * 2}",
                        "{}",
                        1,
                    ]
                ]
            }
            write_journal(arena.folder / "marks.sqlite", json.dumps(rows).encode())
            status, output = arena.fabricc("push", tree, "--plan", "--journal", arena.folder / "marks.sqlite")
            assert status == 1
            assert any(code in output for code in ("FAB6042", "FAB9120", "FAB9150")), output
            with answering({"get_config": {"running": mark * 2}}):
                status, output = arena.fabricc("verify", tree)
                assert (status, "looks like several files" in output) == (3, True), output


@pytest.mark.slow
def test_half_a_surrogate_pair_by_lldp_is_text(arena: Arena) -> None:
    heard = [{"remote_system_name": "\ud800", "remote_port": "\udcff", "remote_port_description": "x\ud800"}]
    output = {"get_lldp_neighbors_detail": {f"swp{port}": heard for port in range(1, 17)}}
    for number in range(8):  # every format that the input chooses
        data = json.dumps({**output, "get_alarms": [str(number)]}).encode()
        assert open_input(arena, TARGETS["answers"], data) == ""


@pytest.mark.slow
@pytest.mark.parametrize("code", [0xD800, 0xDC80])
@pytest.mark.parametrize(
    ("lab", "switch", "nos"),
    [
        ("frr", "*tor*", "frr"),
        ("eos", "*tor*", "eos"),
        ("eos", "spine*", "nxos"),
        ("sonic", "rack001-tor*", "sonic"),
        ("sonic", "rack003-tor1a", "cumulus"),
        ("sonic", "spine*", "junos"),
    ],
)
def test_half_a_surrogate_pair_in_a_running_configuration_is_text(
    arena: Arena, lab: str, switch: str, nos: str, code: int
) -> None:
    """JSON can carry one, and bytes of a file that are no UTF-8 are such halves."""
    half, place = chr(code), arena.labs[lab]
    folder = next((place / "build" / "lab" / "switches").glob(switch))
    text = pack_files({file.name: file.read_text() for file in sorted(folder.iterdir())})
    answers = {"get_config": {"running": text.replace("\n", f"{half}\n").replace("description ", half)}}
    access = ("--access", place / "fabricc-access.yaml")
    for words in (
        ("verify", place / "build" / "lab", "--only", folder.name, "--format", "json"),
        ("collect", f"{nos}:{folder.name}=192.0.2.1", "-o", arena.folder / nos, "--audit", *access),
        ("push", place / "build" / "lab", "--dry-run", "--journal", arena.folder / "halves.sqlite"),
    ):
        with arena.inside(), arena.judged(), answering(answers):
            arena.fabricc(*words)


@pytest.mark.parametrize(
    "row",
    [
        {"run": [[1, "push", "t", "d", "{", 1.0, None, None]]},
        {"run": [[1, "push", "t", "d", "[]", "x", None, None]]},
        {"run": [[1, None, None, None, None, None, None, None]]},
        {"device": [[1, "spine01a", "nonsense", "", "", 1, 0, None, None, "{}", 1.0]]},
        {"device": [[1, "spine01a", "confirmed", "", "", 1, 0, "not packed", "x", "{}", 1.0]]},
        {"device": [[1, "spine01a", "confirmed", "", "", "x", 0, None, None, "{", 1.0]]},
        {"step": [[1, "spine01a", 1.0, "committed-unconfirmed", "long"]]},
    ],
)
@pytest.mark.spread
def test_a_damaged_row_of_the_journal_is_a_finding(arena: Arena, row: dict[str, list[object]]) -> None:
    rows = {"run": [[1, "push", "t", "d", "{}", 1.0, None, None]], **row}
    assert open_input(arena, TARGETS["journal"], json.dumps(rows).encode()) == ""


def test_the_kinds_are_those_that_the_product_opens() -> None:
    """A new reader comes with a kind of input: one for each system, and for each key of a spec that names a file."""
    from fabricc.back import nos

    assert {f"config:{name}" for name in nos.list_names()} <= TARGETS.keys() | {"config:openconfig"}
    schema = json.loads((Path(__file__).parents[2] / "schemas/cluster.schema.json").read_text())
    named = {key for key in ("catalog", "overlays", "policy", "identities") if key in schema["properties"]}
    assert named == {"catalog", "overlays", "policy", "identities"}
