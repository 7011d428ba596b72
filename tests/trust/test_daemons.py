"""FRR reads its `daemons` file as shell, as root: an overlay or a template puts settings into it, and no command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.back.nos.frr import daemons
from fabricc.back.nos.templating import set_template_path
from fabricc.base import installation
from fabricc.compiler.compiled import compile_spec
from tests.operate.lab import specs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = [
    "touch /var/cache/mark", ". /etc/profile", "source x", "bgpd=yes; touch x", "bgpd=yes touch x", "bgpd=$(touch x)",
    "bgpd=`touch x`", 'zebra_options="-A $(touch x)"', 'zebra_options="-A `touch x`"', "zebra_options='-A 1' touch x",
    'zebra_options="-A 127.0.0.1" && touch x', 'zebra_options="-M /tmp/x.so"', "ospfd_options=$(id)", "bgpd = yes",
    "bgpd=yes &", "bgpd=yes | touch x", "bgpd=yes>x", "bgpd=yes<x", "zebra_wrap=/tmp/x", 'all_wrap="/tmp/x"',
    "PATH=/tmp", "LD_PRELOAD=/tmp/x.so", "export bgpd=yes", "eval x", "bgpd() { touch x; }", "bgpd=yes\\", "bgpd=\\",
    "valgrind=/tmp/x", "frr_profile=$x", "frr_profile=${x:-y}", 'bgpd="yes', "bgpd='yes", "bgpd=y'e's", "bgpd=~",
    "MAX_FDS=1024 x", "MAX_FDS=$((1))", "bgpd+=yes", "[ -e x ] && touch x", "{ touch x; }", "!touch", "bgpd=*",
    "daemon_list=x", "\u00a0bgpd=yes", "bgpd=yes\u00a0touch", "touch\u2028x", "x_options=1", "bgpd_options=-f,/x",
]  # fmt: skip
SETTINGS = [
    "bgpd=yes", "  bfdd=no", "\tbgpd=yes  # comment; $(x)", "# touch x", "", "ospfd=no", "ospfd_instances=1,2",
    'bgpd_options="   -A 127.0.0.1 -M rpki"', "zebra_options='-A ::1 -s 90000000'", "MAX_FDS=4096",
    'watchfrr_options="--netns"', "vtysh_enable=yes", 'frr_profile="datacenter"', "FRR_NO_ROOT=yes", "bgpd=",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _own_templates_end() -> Iterator[None]:
    yield
    set_template_path([])


def error_texts(spec: Path, *, proved: bool = False) -> dict[str, str]:
    compiled = compile_spec(spec)
    found = [*compiled.diagnostics, *(compiled.proof(jobs=1) if proved else [])]
    return {each.code: str(each) for each in found if each.severity.name == "ERROR"}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_an_unknown_line_and_no_fact(line: str) -> None:
    back_end = back_ends.load("frr")
    reading = back_end.read({"daemons": f"bfdd=yes\n{line}\n"})
    assert [each[:2] for each in reading.unknown] == [("daemons", 2)]
    assert reading.facts == {"daemon[bfdd]": "yes"}
    with pytest.raises(daemons.DaemonsError) as refused:
        daemons.read_startup(f"bfdd=yes\n{line}\n")
    assert refused.value.line == 2


@pytest.mark.parametrize("line", SETTINGS)
def test_a_setting_is_none(line: str) -> None:
    assert [*daemons.foreign_lines(f"{line}\n")] == []


def test_default_daemons_file_starts_the_listed_daemons(tmp_path: Path) -> None:
    fabric = compile_spec(specs.two_tiers(tmp_path)).fabric
    files = back_ends.load("frr").render(fabric.switch(next(iter(fabric.switch_ids()))))
    startup = daemons.read_startup(files["daemons"])
    assert startup.open_files == 4096
    assert {*startup.daemons} == {"zebra", "staticd", "bfdd", "bgpd"}
    assert startup.daemons["zebra"] == ("-A", "127.0.0.1", "-s", "90000000")


@pytest.mark.parametrize("line", COMMANDS[:8])
def test_an_overlay_with_a_command_is_refused_at_the_line_of_the_spec(tmp_path: Path, line: str) -> None:
    overlays = "overlays:\n  - {file: own.daemons, nos: frr, into: daemons, tiers: [spine]}\n"
    spec = specs.two_tiers(tmp_path, more=overlays)
    (tmp_path / "own.daemons").write_text(f"ospfd=no\n{line}\n")
    wrong = [each for each in compile_spec(spec).diagnostics if each.code == "FAB6050"]
    assert len(wrong) == 1
    position = wrong[0].position
    assert position is not None
    assert spec.read_text().splitlines()[position.line - 1] == overlays.splitlines()[1]
    assert "line 2 of own.daemons" in wrong[0].message
    assert len(wrong[0].message) < 160


def test_an_overlay_with_settings_alone_is_not(tmp_path: Path) -> None:
    spec = specs.two_tiers(
        tmp_path, more="overlays:\n  - {file: own.daemons, nos: frr, into: daemons, tiers: [spine]}\n"
    )
    (tmp_path / "own.daemons").write_text("# of our own\nospfd=no\nFRR_NO_ROOT=yes\n")
    assert error_texts(spec, proved=True) == {}


def test_a_template_with_a_command_fails_the_proof(tmp_path: Path) -> None:
    own = tmp_path / "own" / "frr"
    own.mkdir(parents=True)
    text = (installation.data_folder("templates") / "frr" / "daemons.j2").read_text()
    (own / "daemons.j2").write_text(f"{text}touch /var/cache/mark\n")
    set_template_path([tmp_path / "own"])
    assert {*error_texts(specs.two_tiers(tmp_path / "spec"), proved=True)} == {"FAB6050"}
