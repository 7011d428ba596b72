"""The final text of a device has no command, open text, invisible character or secret, whatever input it came from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos.templating import set_template_path
from fabricc.base.installation import data_folder
from fabricc.cli.entry import run
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.prove.device_proof import switch_findings
from fabricc.compiler.render.switch_files import holds_secret, render_switch, secret_lines
from fabricc.proof.finding_places import Text
from tests.review.diff.edits import SYSTEMS, spec_with_services
from tests.trust.conftest import SPEC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch

FILES = {"frr": "frr.conf", "sonic": "frr.conf", "cumulus": "startup.yaml", "eos": "running-config.cfg",
         "nxos": "running-config.cfg", "junos": "juniper.conf"}  # fmt: skip
COMMANDS = {
    "frr": ("reload", "wr mem", "configure terminal", "sw# show run", "exit"),
    "sonic": ("write memory", "conf t", "do show ip bgp"),
    "eos": ("reload now", "copy flash:a b", "delete flash:x", "bash sudo reboot", "sw(config)# hostname x"),
    "nxos": ("reload", "copy running-config startup-config", "delete bootflash:x", "run bash", "install all nxos x"),
    "junos": ("request system reboot", "commit;", "set system host-name x", "start shell", "root@sw# commit"),
    "cumulus": ("sudo reboot", "nv config apply", "cumulus@sw:~$ ls"),
}  # fmt: skip
OPEN = {
    "eos": ("banner motd\nhello", "interface Ethernet1/1\n   comment\n   hello"),
    "nxos": ("banner motd ^\nhello", "scheduler job name x\n  copy a b"),
    "junos": ("/* hello", 'system {\n    login {\n        message "hello;\n    }\n}'),
}


@cache
def planned_switch(nos: str) -> Switch:
    spec = Path(mkdtemp(prefix="fabricc-text-")) / "cluster.yaml"
    spec.write_text(spec_with_services(nos), "utf-8")
    fabric = compile_spec(spec).fabric
    assert fabric is not None
    return fabric.switch(next(iter(fabric.switch_ids())))


def found_codes(nos: str, text: str) -> set[tuple[str, int]]:
    """Return the codes, with the line counted from the end of what is rendered."""
    switch = planned_switch(nos)
    files = render_switch(switch)
    name = FILES[nos] if FILES[nos] in files else next(iter(files))
    lines = files[name].removesuffix("end\n").count("\n")
    files[name] = files[name].removesuffix("end\n") + text + "\n"
    wrong = switch_findings(switch, Text(files, back_ends.load(nos).read(files)), fresh=False)
    return {(each.code, each.line - lines) for each in wrong if re.match("FAB0087|FAB605[123]", each.code)}


@pytest.mark.parametrize("nos", SYSTEMS)
def test_text_that_is_rendered_has_none_of_it(nos: str) -> None:
    assert not {*switch_findings(planned_switch(nos), _render_text(nos), fresh=False)}


def _render_text(nos: str) -> Text:
    files = render_switch(planned_switch(nos))
    return Text(files, back_ends.load(nos).read(files))


@pytest.mark.parametrize(("nos", "line"), [(nos, line) for nos, lines in COMMANDS.items() for line in lines])
def test_commands_are_found(nos: str, line: str) -> None:
    assert ("FAB0087", 1) in found_codes(nos, line)


@pytest.mark.parametrize(("nos", "text"), [(nos, text) for nos, texts in OPEN.items() for text in texts])
def test_open_texts_are_found(nos: str, text: str) -> None:
    assert "FAB6051" in {code for code, _ in found_codes(nos, text)}


@pytest.mark.parametrize("nos", SYSTEMS)
def test_invisible_characters_and_secrets_are_found(nos: str) -> None:
    comment = "# " if nos in ("cumulus", "junos") else "! "
    assert found_codes(nos, f"{comment}a\u202eb") == {("FAB6052", 1)}
    assert found_codes(nos, f"{comment}a\rb") == {("FAB6052", 1)}  # a session ends a line here
    assert found_codes(nos, f"{comment}password: hunter2") == {("FAB6053", 1)}


@pytest.mark.parametrize("nos", ["frr", "eos", "nxos"])
def test_a_last_line_that_devices_print_is_no_command(nos: str) -> None:
    assert not found_codes(nos, "end")
    assert found_codes(nos, "end\n! x\nend") == {("FAB0087", 1)}


def test_a_block_of_frr_may_be_empty() -> None:
    assert not found_codes("frr", "route-map X permit 20\nexit\n!\nvrf blue\nexit-vrf")


@pytest.mark.parametrize(
    ("line", "is_secret"),
    [
        ("username a secret *", False),
        ("hashed-password: '*'", False),
        ("username a secret *x", True),
        ("username a password 5 !  role b", False),
        ("username a password 5 !x", True),
    ],
)
def test_a_password_that_nothing_matches_is_no_secret(line: str, is_secret: bool) -> None:
    assert holds_secret(line) is is_secret


@pytest.mark.parametrize(("block", "is_secret"), [("from", False), ("then", False), ("snmp", True)])
def test_a_community_of_a_policy_is_no_secret(block: str, is_secret: bool) -> None:
    text = f"{block} {{\n    a {{\n        b;\n    }}\n    community PEERS;\n}}\n"
    assert bool([*secret_lines(text)]) is is_secret


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "own/frr").mkdir(parents=True)
    (tmp_path / "cluster.yaml").write_text(SPEC)
    yield tmp_path / "own/frr/frr.conf.j2"
    set_template_path([])


@pytest.mark.spread
@pytest.mark.parametrize(
    ("line", "code"), [("reload", "FAB0087"), ("! a\u202e", "FAB6052"), ("! password hunter2", "FAB6053")]
)
def test_a_template_is_rejected_and_so_is_an_edited_tree(
    own: Path, capsys: pytest.CaptureFixture[str], line: str, code: str
) -> None:
    top, built_in = own.parents[2], data_folder("templates") / "frr/frr.conf.j2"
    own.write_text(f"{built_in.read_text()}{line}\n")
    build = ["build", str(top / "cluster.yaml"), "-o", str(top / "build")]
    assert run([*build, "--templates", str(top / "own")]) == 1
    assert f"error {code}" in "".join(capsys.readouterr())
    assert not (top / "build/lab").exists()
    set_template_path([])
    assert run(build) == 0
    file = top / "build/lab/switches/spine01a/frr.conf"
    file.write_text(f"{file.read_text()}{line}\n")
    assert run(["check", str(top / "build/lab")]) == 1
    assert f"error {code}" in "".join(capsys.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize("character", ["\r", "\ud800", "\0", "\x1b"])
def test_a_template_that_computes_such_a_character_is_rejected(
    own: Path, capsys: pytest.CaptureFixture[str], character: str
) -> None:
    top, built_in = own.parents[2], data_folder("templates") / "frr/frr.conf.j2"
    escaped = f"\\u{ord(character):04x}"
    own.write_text(f"{built_in.read_text()}! x{{{{ 'a{escaped}router bgp 1' }}}}\n")
    build = ["build", str(top / "cluster.yaml"), "-o", str(top / "build"), "--templates", str(top / "own")]
    assert run(build) == 1
    shown = "".join(capsys.readouterr())
    assert "error FAB6052" in shown
    assert f"U+{ord(character):04X}" in shown
    assert not (top / "build/lab").exists()


def test_a_tree_with_a_lone_carriage_return_is_rejected(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = own.parents[2]
    assert run(["build", str(top / "cluster.yaml"), "-o", str(top / "build")]) == 0
    file = top / "build/lab/switches/spine01a/frr.conf"
    file.write_bytes(file.read_bytes() + b"! a\rrouter bgp 1\n")
    capsys.readouterr()
    assert run(["check", str(top / "build/lab")]) == 1
    assert "error FAB6052" in "".join(capsys.readouterr())
